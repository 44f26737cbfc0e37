#include "networkdirect/consumer/listener.h"

#include <algorithm>

namespace fb::networkdirect::consumer {

HRESULT Listener::open(std::uint16_t port) {
  HRESULT status = s_.adapter.CreateListener(IID_IND2Listener, s_.mailbox->file(), object_.out());
  if (FAILED(status)) return status;
  const SocketAddress at({s_.address, port});
  if (!s_.departs("listener.not_bound")) {
    status = object_->Bind(at.get(), at.length);
    if (FAILED(status)) return status;
    if (s_.departs("listener.bound_twice")) object_->Bind(at.get(), at.length);
  }
  if (s_.departs("listener.asked_early")) {
    Com<IND2Connector> unused;
    s_.adapter.CreateConnector(IID_IND2Connector, s_.mailbox->file(), unused.out());
    s_.mailbox->start_unheard([&](OVERLAPPED* o) { return object_->GetConnectionRequest(unused.get(), o); });
  }
  status = object_->Listen(0);
  if (FAILED(status)) return status;
  if (s_.departs("listener.listens_twice")) object_->Listen(0);
  SocketAddress local;
  local_ = {s_.address, port};
  if (object_->GetLocalAddress(local.get(), &local.length) == ND_SUCCESS) local_ = local.endpoint();
  for (std::uint32_t i = 0; i < std::max(s_.options.waiting_connectors, 1u); ++i) {
    slots_.push_back(std::make_unique<Slot>(*this));
    slots_.back()->ask();
  }
  return ND_SUCCESS;
}

Listener::~Listener() {
  // What has come meanwhile is refused by the release of its connector.
  for (const auto& slot : slots_) slot->close();
  s_.release(object_, "listener.leaked", "listener.used_after_release",
             [](IND2Listener& stale) { stale.GetLocalAddress(nullptr, nullptr); });
}

void Listener::Slot::ask() {
  Shared& s = listener_.s_;
  const HRESULT status = s.adapter.CreateConnector(IID_IND2Connector, s.mailbox->file(), connector_.out());
  if (FAILED(status)) return;
  const auto call = [&](OVERLAPPED* overlapped) { return listener_.object_->GetConnectionRequest(connector_.get(), overlapped); };
  s.mailbox->start(*this, *listener_.object_, 0, call);
  if (s.departs("listener.connector_in_use")) s.mailbox->start_unheard(call);
}

void Listener::Slot::close() { forget_requests(); }

void Listener::Slot::on_done(unsigned, HRESULT status) {
  // A listener that fails once would do so for ever.
  if (status != ND_SUCCESS) return;
  auto request = std::make_unique<ConnectionRequest>(listener_.s_, std::move(connector_));
  ask();
  listener_.handler_.on_connection_request(std::move(request));
}

ConnectionRequest::ConnectionRequest(Shared& shared, Com<IND2Connector> connector) : s_(shared), connector_(std::move(connector)) {
  facts_.fetch(*connector_);
  shown_ = facts_.get();
}

ConnectionRequest::~ConnectionRequest() {
  if (!connector_) return;
  if (s_.departs("connector.unanswered")) return;
  reject(rdma::reject_reason::no_resources, {});
}

void ConnectionRequest::accept(rdma::QueuePair& qp, const rdma::ConnectionParameters& parameters) {
  if (connector_) static_cast<QueuePair&>(qp).accept(std::move(connector_), facts_, parameters);
}

void ConnectionRequest::reject(std::uint16_t, ByteView private_data) {
  if (!connector_) return;
  const auto length = static_cast<ULONG>(std::min<std::size_t>(private_data.size(), s_.info.MaxCalleeData));
  connector_->Reject(private_data.data(), length);
  if (s_.departs("connector.rejected_twice")) connector_->Reject(private_data.data(), length);
  s_.release(connector_, "connector.leaked", "connector.used_after_release",
             [](IND2Connector& stale) { stale.GetReadLimits(nullptr, nullptr); });
}

}  // namespace fb::networkdirect::consumer
