// What a queue pair does beside its work when it is told to depart: steps that need calls of their own.
#include "networkdirect/consumer/memory.h"
#include "networkdirect/consumer/queue_pair.h"

namespace fb::networkdirect::consumer {

/// As it should be, or what stands in its place when the queue pair is created.
IUnknown* QueuePair::receive_queue_for_creation() {
  if (s_.departs("queue_pair.without_queue")) return nullptr;
  if (s_.departs("queue_pair.foreign_queue")) return &s_.adapter;
  if (!s_.departs("queue_pair.released_queue")) return receive_queue_->object();
  Com<IND2CompletionQueue> gone;
  s_.adapter.CreateCompletionQueue(IID_IND2CompletionQueue, s_.mailbox->file(), 16, 0, 0, gone.out());
  IUnknown* const stale = gone.get();
  gone.reset();
  return stale;
}

/// On a connector without a request.
void QueuePair::depart_before_accept() {
  if (!s_.departs("connector.accepted_unasked")) return;
  Com<IND2Connector> unasked;
  if (FAILED(s_.adapter.CreateConnector(IID_IND2Connector, s_.mailbox->file(), unasked.out()))) return;
  s_.mailbox->start_unheard([&](OVERLAPPED* overlapped) { return unasked->Accept(object_.get(), 0, 0, nullptr, 0, overlapped); });
}

void QueuePair::depart_before_connect(const SocketAddress& to) {
  if (s_.departs("connector.completed_early")) {
    s_.mailbox->start_unheard([&](OVERLAPPED* overlapped) { return connector_->CompleteConnect(overlapped); });
  }
  if (s_.departs("connector.disconnected_unconnected")) {
    s_.mailbox->start_unheard([&](OVERLAPPED* overlapped) { return connector_->Disconnect(overlapped); });
  }
  if (s_.departs("connector.notified_unconnected")) {
    s_.mailbox->start_unheard([&](OVERLAPPED* overlapped) { return connector_->NotifyDisconnect(overlapped); });
  }
  if (s_.departs("connector.asked_unconnected")) connector_->GetReadLimits(nullptr, nullptr);
  if (s_.departs("connector.without_queue_pair")) {
    s_.mailbox->start_unheard(
        [&](OVERLAPPED* overlapped) { return connector_->Connect(nullptr, to.get(), to.length, 0, 0, nullptr, 0, overlapped); });
  }
}

void QueuePair::depart_after_connect(const SocketAddress& to) {
  if (connector_ && s_.departs("connector.connected_twice")) {
    s_.mailbox->start_unheard(
        [&](OVERLAPPED* overlapped) { return connector_->Connect(object_.get(), to.get(), to.length, 0, 0, nullptr, 0, overlapped); });
  }
}

void QueuePair::depart_after_accept(const rdma::ConnectionParameters& parameters) {
  if (s_.departs("connector.accepted_twice")) {
    s_.mailbox->start_unheard([&](OVERLAPPED* overlapped) {
      return connector_->Accept(object_.get(), parameters.responder_resources, parameters.initiator_depth, nullptr, 0, overlapped);
    });
  }
  if (s_.departs("connector.rejected_after_accept")) connector_->Reject(nullptr, 0);
}

void QueuePair::depart_established() {
  if (s_.departs("connector.rejected_connected")) connector_->Reject(nullptr, 0);
  if (s_.departs("connector.asked_late")) connector_->GetReadLimits(nullptr, nullptr);
  for (const auto& [id, sges] : std::exchange(receives_kept_back_, {})) post_receive({id, sges});
}

/// Kept until there is a connection: true.
bool QueuePair::depart_receive(const rdma::ReceiveRequest& request) {
  if (phase_ == Phase::connected) return false;
  receives_kept_back_.emplace_back(request.id, std::vector<rdma::Sge>(request.sges.begin(), request.sges.end()));
  return true;
}

/// Once more with the same connector.
void QueuePair::depart_refused() {
  if (!s_.departs("connector.refused_reused")) return;
  const SocketAddress to(to_);
  s_.mailbox->start_unheard(
      [&](OVERLAPPED* overlapped) { return connector_->Connect(object_.get(), to.get(), to.length, 0, 0, nullptr, 0, overlapped); });
}

/// The queue pair for another connection.
void QueuePair::depart_disconnected() {
  if (!s_.departs("queue_pair.connected_again")) return;
  Com<IND2Connector> again;
  if (FAILED(s_.adapter.CreateConnector(IID_IND2Connector, s_.mailbox->file(), again.out()))) return;
  const SocketAddress local({s_.address, 0}), to(to_);
  again->Bind(local.get(), local.length);
  s_.mailbox->start_unheard(
      [&](OVERLAPPED* overlapped) { return again->Connect(object_.get(), to.get(), to.length, 0, 0, nullptr, 0, overlapped); });
}

void QueuePair::depart_after_post(const rdma::SendRequest& request) {
  if (request.sges.empty() || request.inline_data) return;
  const rdma::Sge& sge = request.sges.front();
  const RegionTable::Entry* const entry = s_.regions.find(sge.lkey);
  if (entry == nullptr || !s_.regions.covers(sge)) return;
  if (s_.departs("post.buffer_changed") && request.opcode != rdma::SendOpcode::rdma_read && sge.length > 0) {
    entry->data[sge.address - entry->base] ^= 0xFF;
  }
  if (s_.departs("region.deregistered_in_flight")) entry->region->deregister_early();
}

}  // namespace fb::networkdirect::consumer
