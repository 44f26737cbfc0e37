// What becomes of connections: the device's answers, the ends, the close; and shared endpoints.
#include <algorithm>

#include "networkdirect/ndk/provider/addresses.h"
#include "networkdirect/ndk/provider/connector.h"
#include "networkdirect/ndk/provider/queue_pair.h"

namespace fb::ndk::provider {

namespace {

/// Of a card that does not give up when the connection manager does.
constexpr Duration kLongPatience = Duration::s(99);

}  // namespace

void Connector::keep(ByteView data) {
  private_data_.assign(data.begin(), data.end());
  has_data_ = true;
}

void Connector::hold(QueuePair& qp) {
  queue_pair_ = &qp;
  // Until the connector's end: a close of the queue pair waits for it.
  if (stood_ == &qp) return;
  if (stood_ != nullptr) let_go(*stood_);
  stood_ = &qp;
  stand_on(qp);
}

void Connector::pend(const Pending& pending) {
  pending_ = pending;
  pin();
}

void Connector::complete_pending(NTSTATUS status) {
  const Pending pending = std::exchange(pending_, {});
  if (pending.completion == nullptr) return;
  adapter().complete(*this, pending.completion, pending.context, status);
  unpin();  // complete() holds it now
}

/// An attempt of the active side came to nothing: connector and queue pair are as they were before.
void Connector::attempt_failed(NTSTATUS status) {
  adapter().world().loop().cancel(giving_up_);
  release_address();
  state_ = State::idle;
  refused_ = status == STATUS_CONNECTION_REFUSED && adapter().departs(departure::kRefusalSpends);
  if (QueuePair* const qp = std::exchange(queue_pair_, nullptr)) qp->detach();
  complete_pending(status);
}

/// The handshake failed when both sides had agreed: nobody can try again with this connector.
void Connector::spent(NTSTATUS status) {
  state_ = State::over;
  if (QueuePair* const qp = std::exchange(queue_pair_, nullptr)) {
    qp->leave();
    qp->end(QueuePair::Outstanding::cancelled);
  }
  complete_pending(status);
}

void Connector::on_accepted(const rdma::ConnectionFacts& facts) {
  if (state_ != State::connecting) return;
  const bool unclipped = adapter().departs(departure::kReadLimitsUnclipped);
  inbound_ = unclipped ? inbound_ : std::min<ULONG>(inbound_, facts.initiator_depth);
  outbound_ = unclipped ? outbound_ : std::min<ULONG>(outbound_, facts.responder_resources);
  keep(facts.private_data);
  state_ = State::replied;
  if (!adapter().departs(departure::kConnectNeverCompletes)) complete_pending(STATUS_SUCCESS);
}

void Connector::on_established(const rdma::ConnectionFacts&) {
  if (state_ != State::completing && state_ != State::accepting) return;
  state_ = State::connected;
  queue_pair_->connected();
  complete_pending(STATUS_SUCCESS);
}

void Connector::on_rejected(std::uint16_t reason, ByteView private_data) {
  if (state_ == State::connecting) {
    keep(private_data);
    const bool timeout = reason == rdma::reject_reason::timeout || adapter().departs(departure::kRefusedIsTimeout);
    attempt_failed(timeout ? STATUS_IO_TIMEOUT : STATUS_CONNECTION_REFUSED);
  } else {
    on_disconnected();
  }
}

void Connector::on_unreachable() {
  if (state_ == State::connecting) {
    const Instant end = asked_at_ + kLongPatience;
    if (adapter().departs(departure::kUnreachablePatient) && adapter().world().now() < end) {
      adapter().world().loop().schedule(giving_up_, end);
    } else {
      give_up();
    }
  } else if (state_ == State::accepting || state_ == State::completing) {
    spent(STATUS_IO_TIMEOUT);
  }
}

void Connector::on_disconnected() {
  switch (state_) {
    case State::connecting:
      return attempt_failed(STATUS_CONNECTION_ABORTED);
    case State::replied:  // the peer took its word back: CompleteConnect finds no connection
    case State::completing:
    case State::accepting:
      return spent(adapter().departs(departure::kAbortedAcceptSucceeds) ? STATUS_SUCCESS : STATUS_CONNECTION_ABORTED);
    case State::connected: {
      state_ = State::over;
      queue_pair_->leave();
      const bool flushes = broken_ || adapter().departs(departure::kPeerDisconnectFlushes);
      queue_pair_->end(flushes ? QueuePair::Outstanding::cancelled : QueuePair::Outstanding::kept);
      tell_disconnect(broken_ ? disconnect_reason::kFailure : disconnect_reason::kPeer);
      return;
    }
    case State::disconnecting:
      over();
      complete_pending(STATUS_SUCCESS);
      if (adapter().departs(departure::kOwnDisconnectTold)) tell_disconnect(disconnect_reason::kPeer);
      return;
    default:
      return;
  }
}

void Connector::over() {
  state_ = State::over;
  if (QueuePair* const qp = std::exchange(queue_pair_, nullptr)) qp->leave();
}

void Connector::tell_disconnect(ULONG reason) {
  if (adapter().departs(departure::kDisconnectEventLost)) return;
  const DisconnectEvent event = std::exchange(event_, {});
  if (event.plain == nullptr && event.extended == nullptr) return;
  if (event.extended != nullptr && adapter().departs(departure::kExtendedEventLost)) return;
  const int times = adapter().departs(departure::kDisconnectEventTwice) ? 2 : 1;
  pin();
  adapter().miniport().later([this, event, reason, times] {
    // A consumer that has closed it meanwhile waits for this callback, not the callback for him.
    for (int i = 0; i < times && !closing(); ++i) {
      adapter().call_back([&] {
        if (event.plain != nullptr) {
          event.plain(event.context);
        } else {
          event.extended(event.context, reason);
        }
      });
    }
    unpin();
  });
}

/// The consumer closes the queue pair before the connector.
void Connector::queue_pair_closes() {
  switch (state_) {
    case State::connecting:
      return attempt_failed(STATUS_CANCELLED);
    case State::replied:
      queue_pair_->device_queue_pair()->refuse(rdma::reject_reason::consumer_defined, {});
      return spent(STATUS_CANCELLED);
    case State::completing:
    case State::accepting:
      return spent(STATUS_CANCELLED);
    default:
      return;
  }
}

void Connector::begin_close() {
  request_.reset();  // rejects it
  QueuePair* const qp = queue_pair_;
  switch (state_) {
    case State::connecting:
      return attempt_failed(STATUS_CANCELLED);
    case State::replied:
      qp->device_queue_pair()->refuse(rdma::reject_reason::consumer_defined, {});
      std::exchange(queue_pair_, nullptr)->detach();
      break;
    case State::completing:
    case State::accepting:
      return spent(STATUS_CANCELLED);
    case State::connected:
      over();
      qp->device_queue_pair()->disconnect();
      qp->end(QueuePair::Outstanding::cancelled);
      break;
    case State::disconnecting:
      over();
      complete_pending(STATUS_SUCCESS);
      break;
    case State::over:
      if (qp != nullptr) std::exchange(queue_pair_, nullptr)->release_kept();
      break;
    default:
      break;
  }
  state_ = State::over;
}

void Connector::take_down() { release_address(); }

void Connector::release_address() {
  Ports& ports = adapter().miniport().ports;
  if (owns_connection_) ports.free_connection(local_.port, peer_);
  if (owns_port_) ports.free_end(local_.port);
  owns_connection_ = owns_port_ = false;
}

// ---------------------------------------------------------------- shared endpoints

SharedEndpoint::SharedEndpoint(Adapter& adapter, std::uint16_t port)
    : NDK_SHARED_ENDPOINT{}, Object(adapter, NdkObjectTypeSharedEndpoint), port_(port) {
  begin_header(Header, adapter, NdkObjectTypeSharedEndpoint);
  Dispatch = &adapter.tables().shared_endpoint;
}

NTSTATUS SharedEndpoint::create(NDK_ADAPTER* ndk, PSOCKADDR address, ULONG length, NDK_FN_CREATE_COMPLETION completion, PVOID context,
                                NDK_SHARED_ENDPOINT** place) {
  auto& adapter = of<Adapter>(ndk);
  const auto where = endpoint_of(address, length);
  if (!where) return STATUS_INVALID_ADDRESS;
  const bool ours = where->address == adapter.device().address() || unspecified(where->address);
  if (!ours && !adapter.departs(departure::kListenAddressUnchecked)) return STATUS_INVALID_ADDRESS;
  const auto port = adapter.miniport().ports.take_for_end(where->port);
  if (!port) return where->port == 0 ? STATUS_TOO_MANY_ADDRESSES : STATUS_SHARING_VIOLATION;
  return adapter.answer_creation(STATUS_SUCCESS, new SharedEndpoint(adapter, *port), completion, context, place);
}

NTSTATUS SharedEndpoint::local_address(NDK_SHARED_ENDPOINT* ndk, PSOCKADDR address, ULONG* length) {
  auto& endpoint = of<SharedEndpoint>(ndk);
  return put_endpoint({endpoint.adapter().device().address(), endpoint.port_}, address, length);
}

void SharedEndpoint::take_down() { adapter().miniport().ports.free_end(port_); }

}  // namespace fb::ndk::provider
