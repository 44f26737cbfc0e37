// The connection of a queue pair. All that a provider says comes through on_done(), all that the user hears through
// deliver().
#include <algorithm>

#include <fmt/format.h>

#include "base/result.h"
#include "networkdirect/consumer/queue_pair.h"

namespace fb::networkdirect::consumer {

using rdma::QpState;
namespace reject_reason = rdma::reject_reason;

namespace {

constexpr std::uint16_t kPortForAll = 50999;  // of a departure

enum : unsigned { kConnect, kComplete, kAccept, kNotifyDisconnect, kDisconnect };

bool says_something(ByteView data) {
  return std::ranges::any_of(data, [](std::uint8_t byte) { return byte != 0; });
}

void check_private_data(ByteView data, ULONG most) {
  if (data.size() > most) {
    throw UserError(fmt::format("the NetworkDirect adapter takes {} bytes of private data, not {}", most, data.size()));
  }
}

}  // namespace

// ---------------------------------------------------------------- what the other end told

void Facts::fetch(IND2Connector& connector) {
  SocketAddress peer;
  if (connector.GetPeerAddress(peer.get(), &peer.length) == ND_SUCCESS) facts.peer = peer.endpoint();
  ULONG inbound = 0, outbound = 0;
  if (connector.GetReadLimits(&inbound, &outbound) == ND_SUCCESS) {
    // Seen from here: what comes in is what the peer may have in flight.
    facts.initiator_depth = static_cast<std::uint8_t>(std::min<ULONG>(inbound, 255));
    facts.responder_resources = static_cast<std::uint8_t>(std::min<ULONG>(outbound, 255));
  }
  private_data.assign(512, 0);
  auto length = static_cast<ULONG>(private_data.size());
  HRESULT status = connector.GetPrivateData(private_data.data(), &length);
  if (status == ND_BUFFER_OVERFLOW) {
    private_data.assign(length, 0);
    status = connector.GetPrivateData(private_data.data(), &length);
  }
  private_data.resize(status == ND_SUCCESS ? length : 0);
}

rdma::ConnectionFacts Facts::get() const {
  rdma::ConnectionFacts made = facts;
  made.private_data = private_data;
  return made;
}

// ---------------------------------------------------------------- active side

void QueuePair::connect(const Endpoint& to, const rdma::ConnectionParameters& parameters) {
  check_private_data(parameters.private_data, s_.info.MaxCallerData);
  if (phase_ != Phase::idle) return;
  phase_ = Phase::connecting;
  to_ = to;
  hold_reply_ = parameters.hold_reply;
  HRESULT status = s_.adapter.CreateConnector(IID_IND2Connector, s_.mailbox->file(), connector_.out());
  if (FAILED(status)) return on_failed(status);
  const SocketAddress local({s_.address, s_.departs("connector.port_shared") ? kPortForAll : parameters.source_port});
  if (!s_.departs("connector.not_bound")) {
    status = connector_->Bind(local.get(), local.length);
    if (FAILED(status)) return on_failed(status);
    if (s_.departs("connector.bound_twice")) connector_->Bind(local.get(), local.length);
  }
  const SocketAddress peer(to);
  depart_before_connect(peer);
  Bytes data(parameters.private_data.begin(), parameters.private_data.end());
  if (s_.departs("connector.too_much_data")) data.resize(s_.info.MaxCallerData + 1);
  s_.mailbox->start(*this, *connector_, kConnect, [&](OVERLAPPED* overlapped) {
    const ULONG reads = s_.departs("connector.no_reads") ? 0 : parameters.initiator_depth;
    return connector_->Connect(object_.get(), peer.get(), peer.length, parameters.responder_resources, reads, data.data(),
                               static_cast<ULONG>(data.size()), overlapped);
  });
  depart_after_connect(peer);
}

void QueuePair::on_connect(HRESULT status) {
  if (phase_ != Phase::connecting) return;
  if (status != ND_SUCCESS) return on_failed(status);
  facts_.fetch(*connector_);
  if (!hold_reply_) return complete();
  phase_ = Phase::held;
  report(Report::Kind::accepted, 0, facts_);
}

void QueuePair::confirm() {
  if (phase_ == Phase::held) complete();
}

void QueuePair::complete() {
  phase_ = Phase::completing;
  if (s_.departs("connector.not_completed")) return established();
  const auto call = [&](OVERLAPPED* overlapped) { return connector_->CompleteConnect(overlapped); };
  s_.mailbox->start(*this, *connector_, kComplete, call);
  if (s_.departs("connector.completed_twice")) s_.mailbox->start_unheard(call);
}

void QueuePair::refuse(std::uint16_t, ByteView private_data) {
  if (phase_ != Phase::held) return;
  check_private_data(private_data, s_.info.MaxCalleeData);
  phase_ = Phase::over;
  connector_->Reject(private_data.data(), static_cast<ULONG>(private_data.size()));
  give_up_connector();
  to_error();
}

// ---------------------------------------------------------------- passive side

void QueuePair::accept(Com<IND2Connector> connector, Facts facts, const rdma::ConnectionParameters& parameters) {
  check_private_data(parameters.private_data, s_.info.MaxCalleeData);
  if (phase_ != Phase::idle) {
    connector->Reject(nullptr, 0);
    return;
  }
  phase_ = Phase::accepting;
  connector_ = std::move(connector);
  facts_ = std::move(facts);
  depart_before_accept();
  s_.mailbox->start(*this, *connector_, kAccept, [&](OVERLAPPED* overlapped) {
    return connector_->Accept(object_.get(), parameters.responder_resources, parameters.initiator_depth, parameters.private_data.data(),
                              static_cast<ULONG>(parameters.private_data.size()), overlapped);
  });
  depart_after_accept(parameters);
}

// ---------------------------------------------------------------- both

void QueuePair::on_done(unsigned what, HRESULT status) {
  switch (what) {
    case kConnect:
      return on_connect(status);
    case kComplete:
    case kAccept:
      if (phase_ != Phase::completing && phase_ != Phase::accepting) return;
      return status == ND_SUCCESS ? established() : on_failed(status);
    case kNotifyDisconnect:
      if (status != ND_CANCELED) peer_gone();
      return;
    default:
      if (phase_ != Phase::disconnecting) return;
      phase_ = Phase::over;
      depart_disconnected();
      give_up_connector();
      return report(Report::Kind::disconnected);
  }
}

void QueuePair::established() {
  phase_ = Phase::connected;
  if (state_ == QpState::init) state_ = QpState::ready_to_send;
  if (!s_.departs("connector.not_watched")) {
    s_.mailbox->start(*this, *connector_, kNotifyDisconnect,
                      [&](OVERLAPPED* overlapped) { return connector_->NotifyDisconnect(overlapped); });
  }
  depart_established();
  report(Report::Kind::established, 0, facts_);
}

/// An attempt came to nothing. The active side may try again with the same queue pair; once the peer has accepted, nobody.
void QueuePair::on_failed(HRESULT status) {
  const bool attempt = phase_ == Phase::connecting;
  const bool active = phase_ != Phase::accepting;
  phase_ = attempt ? Phase::idle : Phase::over;
  Facts told;
  const ConnectFailure failure = connect_failure(status);
  if (failure == ConnectFailure::refused && attempt && connector_) told.fetch(*connector_);
  if (attempt && connector_) depart_refused();
  give_up_connector();
  if (!attempt) to_error();
  switch (failure) {
    case ConnectFailure::refused: {
      const bool word = !active || says_something(told.private_data);
      return report(Report::Kind::rejected, word ? reject_reason::consumer_defined : reject_reason::invalid_service_id, std::move(told));
    }
    case ConnectFailure::unreachable:
      return report(Report::Kind::unreachable);
    case ConnectFailure::gone:
      return report(Report::Kind::disconnected);
    case ConnectFailure::no_resources:
      return report(Report::Kind::rejected, reject_reason::no_resources);
  }
}

void QueuePair::disconnect() {
  switch (phase_) {
    case Phase::connected:
      phase_ = Phase::disconnecting;
      state_ = QpState::error;  // the provider flushes by itself
      s_.mailbox->start(*this, *connector_, kDisconnect, [&](OVERLAPPED* overlapped) { return connector_->Disconnect(overlapped); });
      if (s_.departs("connector.disconnected_twice")) {
        s_.mailbox->start_unheard([&](OVERLAPPED* overlapped) { return connector_->Disconnect(overlapped); });
      }
      return;
    case Phase::idle:
      // Never connected. One that is in error has had its report.
      if (state_ == QpState::error) return;
      break;
    case Phase::disconnecting:
    case Phase::over:
      return;
    case Phase::held:
      connector_->Reject(nullptr, 0);
      break;
    default:
      break;
  }
  phase_ = Phase::over;
  give_up_connector();
  to_error();
  report(Report::Kind::disconnected);
}

void QueuePair::peer_gone() {
  if (phase_ != Phase::connected) return;
  phase_ = Phase::over;
  give_up_connector();
  to_error();  // a provider may leave the flush to us
  report(Report::Kind::disconnected);
}

void QueuePair::give_up_connector() {
  forget_requests();
  s_.release(connector_, "connector.leaked", "connector.used_after_release",
             [](IND2Connector& stale) { stale.GetReadLimits(nullptr, nullptr); });
}

// ---------------------------------------------------------------- reports

void QueuePair::report(Report::Kind kind, std::uint16_t reason, Facts facts) {
  if (options_.handler == nullptr) return;
  reports_.push_back({kind, reason, std::move(facts)});
  if (!event_.scheduled()) s_.world.loop().schedule(event_, s_.world.now());
}

void QueuePair::deliver() {
  const Report report = std::move(reports_.front());
  reports_.pop_front();
  if (!reports_.empty()) s_.world.loop().schedule(event_, s_.world.now());
  rdma::ConnectionHandler& handler = *options_.handler;
  // The handler may destroy this queue pair: nothing is touched after it.
  switch (report.kind) {
    case Report::Kind::established:
      return handler.on_established(*this, report.facts.get());
    case Report::Kind::accepted:
      return handler.on_accepted(*this, report.facts.get());
    case Report::Kind::rejected:
      return handler.on_rejected(*this, report.reason, report.facts.private_data);
    case Report::Kind::unreachable:
      return handler.on_unreachable(*this);
    case Report::Kind::disconnected:
      return handler.on_disconnected(*this);
    case Report::Kind::failed:
      return handler.on_queue_error(*this);
  }
}

}  // namespace fb::networkdirect::consumer
