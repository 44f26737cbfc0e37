// The connection of a queue pair: a connector from its creation to its close.
#include <algorithm>

#include "networkdirect/ndk/consumer/misdeeds.h"
#include "networkdirect/ndk/consumer/queue_pair.h"
#include "networkdirect/ndk/consumer/translate.h"

namespace fb::ndk::consumer {

using rdma::QpState;
namespace reject_reason = rdma::reject_reason;

namespace {

constexpr std::uint16_t kPortForAll = 50999;  // of a departure

std::uint8_t clip(ULONG reads) { return static_cast<std::uint8_t>(std::min<ULONG>(reads, 255)); }

bool says_something(ByteView private_data) {
  return std::any_of(private_data.begin(), private_data.end(), [](std::uint8_t byte) { return byte != 0; });
}

}  // namespace

void Facts::fetch(NDK_CONNECTOR& connector) {
  ULONG inbound = 0;
  ULONG outbound = 0;
  ULONG length = 0;
  const NDK_CONNECTOR_DISPATCH& table = *connector.Dispatch;
  private_data.clear();
  if (table.NdkGetConnectionData(&connector, &inbound, &outbound, nullptr, &length) == STATUS_SUCCESS && length > 0) {
    private_data.resize(length);
    table.NdkGetConnectionData(&connector, nullptr, nullptr, private_data.data(), &length);
    private_data.resize(std::min<std::size_t>(private_data.size(), length));
  }
  // Ours outbound are what the peer serves, ours inbound what it may have in flight.
  facts.responder_resources = clip(outbound);
  facts.initiator_depth = clip(inbound);
  SocketAddress peer;
  if (table.NdkGetPeerAddress(&connector, peer.get(), &peer.length) == STATUS_SUCCESS) facts.peer = peer.endpoint();
}

rdma::ConnectionFacts Facts::get() const {
  rdma::ConnectionFacts made = facts;
  made.private_data = private_data;
  return made;
}

// ---- the active side ----

void QueuePairCore::connect(const Endpoint& to, const rdma::ConnectionParameters& parameters) {
  if (phase_ != Phase::idle) return;
  phase_ = Phase::connecting;
  to_ = to;
  parameters_ = parameters;
  private_data_.assign(parameters.private_data.begin(), parameters.private_data.end());
  when_settled([this] { start_connect(); });
}

/// A connector was made, or was not: true when it is still wanted.
bool QueuePairCore::with_connector(NDK_CONNECTOR& connector, bool active) {
  connector_ = &connector;
  if (!closing() && phase_ == (active ? Phase::connecting : Phase::accepting)) return true;
  give_up_connector();
  return false;
}

void QueuePairCore::start_connect() {
  if (!ready() || phase_ != Phase::connecting) return;
  hold();
  create<NDK_CONNECTOR>(
      [&](auto completion, PVOID context, NDK_CONNECTOR** place) {
        return s.adapter.Dispatch->NdkCreateConnector(&s.adapter, completion, context, place);
      },
      [this](NTSTATUS status, NDK_OBJECT_HEADER* object) {
        if (object == nullptr) {
          if (!closing()) on_failed(status, true);
        } else if (with_connector(*reinterpret_cast<NDK_CONNECTOR*>(object), true)) {
          SocketAddress from({s.options.address, s.departs("connect.port_shared") ? kPortForAll : parameters_.source_port});
          SocketAddress to(to_);
          if (s.departs("connect.too_much_data")) private_data_.resize(s.info.MaxCallerData + 1);
          if (s.departs("disconnect.unconnected")) {
            request([this](auto done, PVOID context) { return connector_->Dispatch->NdkDisconnect(connector_, done, context); },
                    [](NTSTATUS, NDK_OBJECT_HEADER*) {});
          }
          const auto connect = [&](auto done, PVOID context) {
            return connector_->Dispatch->NdkConnect(connector_, qp_, from.get(), from.length, to.get(), to.length,
                                                    parameters_.responder_resources, parameters_.initiator_depth, private_data_.data(),
                                                    static_cast<ULONG>(private_data_.size()), done, context);
          };
          request(connect, [this](NTSTATUS end, NDK_OBJECT_HEADER*) { on_connect(end); });
          if (connector_ != nullptr && s.departs("connect.twice")) request(connect, [](NTSTATUS, NDK_OBJECT_HEADER*) {});
        }
        unhold();
      });
}

void QueuePairCore::on_connect(NTSTATUS status) {
  if (closing() || phase_ != Phase::connecting) return;
  if (status != STATUS_SUCCESS) return on_failed(status, true);
  facts_.fetch(*connector_);
  if (!parameters_.hold_reply) return complete();
  phase_ = Phase::held;
  report({.kind = Report::Kind::accepted, .facts = facts_});
}

void QueuePairCore::confirm() {
  if (phase_ == Phase::held) complete();
}

void QueuePairCore::complete() {
  phase_ = Phase::confirming;
  if (s.departs("connect.not_completed")) return on_complete(STATUS_SUCCESS);
  const auto call = [this](auto done, PVOID context) {
    const NDK_CONNECTOR_DISPATCH& table = *connector_->Dispatch;
    if (s.knows(2, 1)) {
      return table.NdkCompleteConnectEx(connector_, &QueuePairCore::on_disconnect_event_ex, this, done, context);
    }
    return table.NdkCompleteConnect(connector_, &QueuePairCore::on_disconnect_event, this, done, context);
  };
  request(call, [this](NTSTATUS status, NDK_OBJECT_HEADER*) { on_complete(status); });
  if (connector_ != nullptr && s.departs("connect.completed_twice")) request(call, [](NTSTATUS, NDK_OBJECT_HEADER*) {});
}

void QueuePairCore::on_complete(NTSTATUS status) {
  if (closing() || phase_ != Phase::confirming) return;
  if (status != STATUS_SUCCESS) {
    // The peer has gone while it was being answered.
    if (connect_failure(status) == ConnectFailure::unreachable) return on_failed(status, true);
    return peer_gone();
  }
  phase_ = Phase::connected;
  if (state_ != QpState::error) state_ = QpState::ready_to_send;
  if (s.departs("connect.data_asked_late")) {
    ULONG length = 0;
    connector_->Dispatch->NdkGetConnectionData(connector_, nullptr, nullptr, nullptr, &length);
  }
  if (s.departs("receive.late")) go_on_receiving();
  report({.kind = Report::Kind::established, .facts = facts_});
}

void QueuePairCore::refuse(ByteView private_data) {
  if (phase_ != Phase::held) return;
  private_data_.assign(private_data.begin(), private_data.end());
  connector_->Dispatch->NdkReject(connector_, private_data_.data(), static_cast<ULONG>(private_data_.size()));
  phase_ = Phase::over;
  give_up_connector();
  to_error();
}

// ---- the passive side ----

void QueuePairCore::accept(NDK_CONNECTOR& connector, const Facts& facts, const rdma::ConnectionParameters& parameters) {
  connector_ = &connector;
  unanswered_ = true;
  facts_ = facts;
  facts_.private_data.clear();
  parameters_ = parameters;
  private_data_.assign(parameters.private_data.begin(), parameters.private_data.end());
  if (phase_ != Phase::idle || closing()) return give_up_connector();
  phase_ = Phase::accepting;
  when_settled([this] { start_accept(); });
}

void QueuePairCore::start_accept() {
  if (!ready() || phase_ != Phase::accepting) return;
  const auto ask = [this](auto done, PVOID context) {
    const NDK_CONNECTOR_DISPATCH& table = *connector_->Dispatch;
    const auto length = static_cast<ULONG>(private_data_.size());
    if (s.knows(2, 1)) {
      return table.NdkAcceptEx(connector_, qp_, parameters_.responder_resources, parameters_.initiator_depth, private_data_.data(), length,
                               &QueuePairCore::on_disconnect_event_ex, this, done, context);
    }
    return table.NdkAccept(connector_, qp_, parameters_.responder_resources, parameters_.initiator_depth, private_data_.data(), length,
                           &QueuePairCore::on_disconnect_event, this, done, context);
  };
  const auto call = [this, ask](auto done, PVOID context) {
    unanswered_ = false;
    const NTSTATUS status = ask(done, context);
    // A call that fails leaves the request as it was.
    unanswered_ = status != STATUS_PENDING && status != STATUS_SUCCESS;
    return status;
  };
  if (s.departs("accept.too_much_data")) private_data_.resize(s.info.MaxCalleeData + 1);
  request(call, [this](NTSTATUS status, NDK_OBJECT_HEADER*) { on_accept(status); });
  if (connector_ != nullptr && s.departs("accept.twice")) request(ask, [](NTSTATUS, NDK_OBJECT_HEADER*) {});
  if (connector_ != nullptr && s.departs("accept.then_reject")) connector_->Dispatch->NdkReject(connector_, nullptr, 0);
}

void QueuePairCore::on_accept(NTSTATUS status) {
  if (closing() || phase_ != Phase::accepting) return;
  if (status != STATUS_SUCCESS) return on_failed(status, false);
  phase_ = Phase::connected;
  if (state_ != QpState::error) state_ = QpState::ready_to_send;
  if (s.departs("receive.late")) go_on_receiving();
  report({.kind = Report::Kind::established, .facts = facts_});
}

// ---- ends ----

void QueuePairCore::on_failed(NTSTATUS status, bool active) {
  phase_ = Phase::over;
  Report end{Report::Kind::rejected, reject_reason::no_resources, {}};
  switch (connect_failure(status)) {
    case ConnectFailure::refused:
      if (active && connector_ != nullptr) end.facts.fetch(*connector_);
      end.reason = active && !says_something(end.facts.private_data) ? reject_reason::invalid_service_id : reject_reason::consumer_defined;
      if (active && connector_ != nullptr && s.departs("connect.refused_reused")) ask_again();
      break;
    case ConnectFailure::unreachable:
      end.kind = Report::Kind::unreachable;
      break;
    case ConnectFailure::cancelled:
      end.kind = Report::Kind::disconnected;
      break;
    case ConnectFailure::no_resources:
      break;
  }
  give_up_connector();
  to_error();
  report(std::move(end));
}

void QueuePairCore::disconnect() {
  switch (phase_) {
    case Phase::connected:
      phase_ = Phase::disconnecting;
      if (state_ != QpState::error) {
        state_ = QpState::error;  // the provider flushes by itself
        flush_late();
      }
      if (s.departs("disconnect.twice")) {
        request([this](auto done, PVOID context) { return connector_->Dispatch->NdkDisconnect(connector_, done, context); },
                [](NTSTATUS, NDK_OBJECT_HEADER*) {});
      }
      request([this](auto done, PVOID context) { return connector_->Dispatch->NdkDisconnect(connector_, done, context); },
              [this](NTSTATUS, NDK_OBJECT_HEADER*) {
                phase_ = Phase::over;
                if (closing()) return begin_close();
                if (s.departs("qp.connected_again")) return reconnect();
                give_up_connector();
                report({.kind = Report::Kind::disconnected});
              });
      return;
    case Phase::idle:
      // Never connected. One that is in error has had its report.
      if (state_ == QpState::error) return;
      break;
    case Phase::disconnecting:
    case Phase::over:
      return;
    default:
      break;
  }
  phase_ = Phase::over;
  give_up_connector();
  to_error();
  report({.kind = Report::Kind::disconnected});
}

/// A deviation: the same connector for another attempt.
void QueuePairCore::ask_again() {
  SocketAddress from({s.options.address, 0}), to(to_);
  request(
      [&](auto done, PVOID context) {
        return connector_->Dispatch->NdkConnect(connector_, qp_, from.get(), from.length, to.get(), to.length, 0, 0, nullptr, 0, done,
                                                context);
      },
      [](NTSTATUS, NDK_OBJECT_HEADER*) {});
}

/// A deviation: the same queue pair for another connection.
void QueuePairCore::reconnect() {
  give_up_connector();
  phase_ = Phase::connecting;
  start_connect();
}

VOID QueuePairCore::on_disconnect_event(PVOID context) { static_cast<QueuePairCore*>(context)->peer_gone(); }
VOID QueuePairCore::on_disconnect_event_ex(PVOID context, ULONG) { static_cast<QueuePairCore*>(context)->peer_gone(); }

/// NDK leaves the flush to us.
void QueuePairCore::peer_gone() {
  if (closing() || phase_ == Phase::over || phase_ == Phase::disconnecting) return;
  const bool flushed = !reports_.empty() && reports_.back().kind == Report::Kind::flushed;
  const bool failed = !reports_.empty() && reports_.back().kind == Report::Kind::failed;
  phase_ = Phase::over;
  to_error();
  give_up_connector();
  // Completions that were flushed by the peer's farewell came first: that is the reason, not an error. The other way
  // round, the end of the connection is what comes of an error.
  if (flushed) reports_.pop_back();
  if (!failed) report({.kind = Report::Kind::disconnected});
}

void QueuePairCore::give_up_connector() {
  NDK_CONNECTOR* connector = std::exchange(connector_, nullptr);
  const bool unanswered = std::exchange(unanswered_, false);
  if (connector == nullptr || s.departs("connector.leaked")) return;
  if (unanswered) connector->Dispatch->NdkReject(connector, nullptr, 0);
  hold();
  close_object(s, "connector", connector->Dispatch->NdkCloseConnector, connector->Header, [this] { unhold(); });
}

// ---- reports ----

void QueuePairCore::report(Report report) {
  if (owner == nullptr || options_.handler == nullptr) return;
  reports_.push_back(std::move(report));
  if (!event_.scheduled()) s.world.loop().schedule(event_, s.world.now());
}

void QueuePairCore::deliver() {
  if (owner == nullptr || reports_.empty()) return;
  const Report report = std::move(reports_.front());
  reports_.pop_front();
  if (!reports_.empty()) s.world.loop().schedule(event_, s.world.now());
  rdma::ConnectionHandler& handler = *options_.handler;
  // The handler may destroy this queue pair: nothing is touched after it.
  switch (report.kind) {
    case Report::Kind::established:
      return handler.on_established(*owner, report.facts.get());
    case Report::Kind::accepted:
      return handler.on_accepted(*owner, report.facts.get());
    case Report::Kind::rejected:
      return handler.on_rejected(*owner, report.reason, report.facts.private_data);
    case Report::Kind::unreachable:
      return handler.on_unreachable(*owner);
    case Report::Kind::disconnected:
      return handler.on_disconnected(*owner);
    case Report::Kind::failed:
    case Report::Kind::flushed:
      return handler.on_queue_error(*owner);
  }
}

}  // namespace fb::ndk::consumer
