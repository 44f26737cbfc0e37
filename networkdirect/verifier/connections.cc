#include "networkdirect/verifier/connections.h"

#include <fmt/format.h>

#include "networkdirect/verifier/probe.h"
#include "networkdirect/verifier/queue_pair.h"

namespace fb::networkdirect::verifier {

// A consumer may learn from its port, unseen by us, that a request has ended. A request that the system no longer shows as
// pending counts as a success until its result, or the next call's, says otherwise.

namespace {

using Link = QueuePairState::Link;

unsigned port_of(const struct sockaddr* address, ULONG length) {
  if (length < sizeof(sockaddr_in)) return 0;
  // Both families have it in the same place.
  return ntohs(reinterpret_cast<const sockaddr_in*>(address)->sin_port);
}

/// What a call changes before it is made, for another thread may have its completion before it returns. A call that fails has
/// changed nothing.
class Attempt {
 public:
  Attempt(const ConnectorState& connector, const QueuePairState& queue_pair)
      : connector_(connector),
        link_(queue_pair.link),
        owner_(queue_pair.connector),
        attached_(queue_pair.ever_attached),
        no_reads_(queue_pair.no_reads) {}
  void undo(ConnectorState& connector, QueuePairState& queue_pair) const {
    connector = connector_;
    queue_pair.link = link_;
    queue_pair.connector = owner_;
    queue_pair.ever_attached = attached_;
    queue_pair.no_reads = no_reads_;
  }

 private:
  ConnectorState connector_;
  Link link_;
  std::uint64_t owner_;
  bool attached_, no_reads_;
};

}  // namespace

Connector::Connector(Session& session, std::shared_ptr<AdapterState> adapter, IND2Connector& inner)
    : OverlappedFacade(session, Kind::connector, std::move(adapter), inner), state_(std::make_shared<ConnectorState>()) {}

bool Connector::waiting() {
  const auto pending = [&](Method method) { return session().still_pending(state_->waiting_for, method, state_.get()); };
  switch (state_->phase) {
    case Phase::connecting:
      return pending(Method::connect);
    case Phase::completing:
      return pending(Method::complete_connect);
    case Phase::accepting:
      return pending(Method::accept);
    case Phase::filling:
      return pending(Method::get_connection_request);
    default:
      return false;
  }
}

void Connector::judge_data(Call& call, const VOID* data, ULONG bytes, ULONG most) {
  if (bytes > 0 && data == nullptr) call.find(Rule::argument_null, "the private data are null, their length is not");
  if (adapter()->info_known && bytes > most) {
    call.find(Rule::private_data_too_long, fmt::format("{} bytes; at most {}", bytes, most));
  }
}

void Connector::judge_queue_pair(Call& call, const QueuePairState& queue_pair) {
  const std::string name = fmt::format("{} {}", name_of(Kind::queue_pair), queue_pair.number);
  if (queue_pair.link == Link::ended) call.find(Rule::queue_pair_reused, name + " was connected before");
}

void Connector::attach(std::shared_ptr<QueuePairState> queue_pair, ULONG outbound) {
  queue_pair->link = Link::attached;
  queue_pair->connector = number();
  queue_pair->ever_attached = true;
  queue_pair->no_reads = outbound == 0;
  state_->queue_pair = std::move(queue_pair);
}

HRESULT Connector::Bind(const struct sockaddr* address, ULONG length) {
  Call call(*this, "Bind");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!call.given(address, "the address")) return ND_INVALID_PARAMETER_1;
  if (state_->phase != Phase::fresh) call.find(Rule::bound_twice);
  const HRESULT status = call.inner([&] { return inner().Bind(address, length); });
  if (!FAILED(status) && state_->phase == Phase::fresh) {
    state_->phase = Phase::bound;
    if (const unsigned port = port_of(address, length); port != 0) state_->from = fmt::format("{}", port);
  }
  return status;
}

HRESULT Connector::Connect(IUnknown* queue_pair, const struct sockaddr* to, ULONG length, ULONG inbound, ULONG outbound, const VOID* data,
                           ULONG bytes, OVERLAPPED* overlapped) {
  Call call(*this, "Connect");
  if (!call.alive()) return ND_INVALID_HANDLE;
  auto* const with = static_cast<QueuePair*>(call.argument(queue_pair, Kind::queue_pair, "the queue pair"));
  if (with == nullptr) return ND_INVALID_PARAMETER_1;
  if (!call.given(to, "the address")) return ND_INVALID_PARAMETER_2;
  judge_data(call, data, bytes, adapter()->info.MaxCallerData);
  if (state_->phase == Phase::fresh) {
    call.find(Rule::connect_before_bind);
  } else if (state_->phase != Phase::bound && !past(Phase::connecting)) {
    call.find(Rule::connector_reused);
  } else if (state_->attempted) {
    call.find(Rule::connector_refused_reused);
  }
  judge_port(call, to, length);
  const auto pair = with->state();
  judge_queue_pair(call, *pair);
  const Attempt attempt(*state_, *pair);
  attach(pair, outbound);
  state_->attempted = true;
  begin(Phase::connecting, overlapped);
  const HRESULT status = call.request(
      overlapped, Method::connect, [&] { return inner().Connect(&with->inner(), to, length, inbound, outbound, data, bytes, overlapped); },
      [&](Request& request) { request.connector = state_; });
  if (FAILED(status)) {
    attempt.undo(*state_, *pair);
    if (status == ND_CONNECTION_ACTIVE && pair->link == Link::attached && pair->connector != number()) {
      call.find(Rule::queue_pair_reused, fmt::format("{} is connector {}'s", with->name(), pair->connector));
    }
  }
  if (status == ND_SUCCESS) succeeded(Phase::connecting, Phase::replied);
  return status;
}

HRESULT Connector::CompleteConnect(OVERLAPPED* overlapped) {
  Call call(*this, "CompleteConnect");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!has_reply()) call.find(Rule::complete_connect_misplaced, waiting() ? "Connect is pending" : "");
  const ConnectorState before = *state_;
  begin(Phase::completing, overlapped);
  state_->reached = true;
  state_->answered = true;
  note_receives();
  const HRESULT status = call.request(
      overlapped, Method::complete_connect, [&] { return inner().CompleteConnect(overlapped); },
      [&](Request& request) { request.connector = state_; });
  if (FAILED(status)) *state_ = before;
  if (status == ND_SUCCESS) succeeded(Phase::completing, Phase::connected);
  return status;
}

HRESULT Connector::Accept(IUnknown* queue_pair, ULONG inbound, ULONG outbound, const VOID* data, ULONG bytes, OVERLAPPED* overlapped) {
  Call call(*this, "Accept");
  if (!call.alive()) return ND_INVALID_HANDLE;
  auto* const with = static_cast<QueuePair*>(call.argument(queue_pair, Kind::queue_pair, "the queue pair"));
  if (with == nullptr) return ND_INVALID_PARAMETER_1;
  judge_data(call, data, bytes, adapter()->info.MaxCalleeData);
  if (!has_request()) {
    const bool before = state_->phase == Phase::accepting || state_->phase == Phase::connected || state_->phase == Phase::ended;
    call.find(before ? Rule::connector_reused : Rule::accept_without_request);
  }
  const auto pair = with->state();
  judge_queue_pair(call, *pair);
  const Attempt attempt(*state_, *pair);
  attach(pair, outbound);
  begin(Phase::accepting, overlapped);
  state_->reached = true;
  state_->answered = true;
  note_receives();
  const HRESULT status = call.request(
      overlapped, Method::accept, [&] { return inner().Accept(&with->inner(), inbound, outbound, data, bytes, overlapped); },
      [&](Request& request) { request.connector = state_; });
  if (FAILED(status)) {
    attempt.undo(*state_, *pair);
    if (status == ND_CONNECTION_ACTIVE && pair->link == Link::attached) {
      call.find(Rule::queue_pair_reused, fmt::format("{} is connector {}'s", with->name(), pair->connector));
    }
  }
  if (status == ND_SUCCESS) succeeded(Phase::accepting, Phase::connected);
  return status;
}

HRESULT Connector::Reject(const VOID* data, ULONG bytes) {
  Call call(*this, "Reject");
  if (!call.alive()) return ND_INVALID_HANDLE;
  judge_data(call, data, bytes, adapter()->info.MaxCalleeData);
  if (!has_request() && !has_reply()) call.find(Rule::reject_misplaced);
  const HRESULT status = call.inner([&] { return inner().Reject(data, bytes); });
  if (FAILED(status)) return status;
  state_->phase = Phase::spent;
  state_->waiting_for = nullptr;
  if (state_->queue_pair != nullptr) state_->queue_pair->link = Link::fresh;
  state_->queue_pair.reset();
  return status;
}

void Connector::judge_early(Call& call) {
  // After a refusal there is what the peer said with it.
  const bool never = state_->phase == Phase::fresh || (state_->phase == Phase::bound && !state_->attempted);
  const bool early = never || ((state_->phase == Phase::connecting || state_->phase == Phase::filling) && waiting());
  if (early) call.find(Rule::connection_data_early);
  if (state_->answered) call.find(Rule::connection_data_late);
}

/// One connection from a port to a place, as far as the consumer named the port.
void Connector::judge_port(Call& call, const struct sockaddr* to, ULONG length) {
  if (state_->from.empty()) return;
  state_->attempt = state_->from + " to " + std::string(reinterpret_cast<const char*>(to), length);
  const auto [at, alone] = adapter()->attempts.emplace(state_->attempt, number());
  if (!alone && at->second != number()) call.find(Rule::ports_shared, fmt::format("connector {} has it too", at->second));
}

void Connector::note_receives() {
  if (state_->queue_pair == nullptr || state_->queue_pair->shared) return;
  state_->queue_pair->agreed_bare = state_->queue_pair->receives->outstanding == 0;
}

HRESULT Connector::GetReadLimits(ULONG* inbound, ULONG* outbound) {
  Call call(*this, "GetReadLimits");
  if (!call.alive()) return ND_INVALID_HANDLE;
  judge_early(call);
  return call.inner([&] { return inner().GetReadLimits(inbound, outbound); });
}

HRESULT Connector::GetPrivateData(VOID* data, ULONG* bytes) {
  Call call(*this, "GetPrivateData");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!call.given(bytes, "the place for the length")) return ND_INVALID_PARAMETER_2;
  judge_early(call);
  return call.inner([&] { return inner().GetPrivateData(data, bytes); });
}

// Connecting is enough for the addresses.
HRESULT Connector::GetLocalAddress(struct sockaddr* address, ULONG* length) {
  Call call(*this, "GetLocalAddress");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!call.given(length, "the place for the length")) return ND_INVALID_PARAMETER_2;
  return call.inner([&] { return inner().GetLocalAddress(address, length); });
}

HRESULT Connector::GetPeerAddress(struct sockaddr* address, ULONG* length) {
  Call call(*this, "GetPeerAddress");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!call.given(length, "the place for the length")) return ND_INVALID_PARAMETER_2;
  return call.inner([&] { return inner().GetPeerAddress(address, length); });
}

HRESULT Connector::NotifyDisconnect(OVERLAPPED* overlapped) {
  Call call(*this, "NotifyDisconnect");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!has_connection()) call.find(Rule::disconnect_unconnected);
  state_->notify_asked = true;
  state_->notifying = overlapped;
  return call.request(
      overlapped, Method::notify_disconnect, [&] { return inner().NotifyDisconnect(overlapped); },
      [&](Request& request) { request.connector = state_; });
}

HRESULT Connector::Disconnect(OVERLAPPED* overlapped) {
  Call call(*this, "Disconnect");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (state_->disconnect_asked) {
    call.find(Rule::disconnect_unconnected, "Disconnect was called before");
  } else if (!has_connection() && !has_reply()) {
    call.find(Rule::disconnect_unconnected);
  }
  const auto queue_pair = state_->queue_pair;
  const HRESULT status = call.request(
      overlapped, Method::disconnect, [&] { return inner().Disconnect(overlapped); },
      [&](Request& request) { request.connector = state_; });
  if (FAILED(status)) return status;
  state_->disconnect_asked = true;
  state_->phase = Phase::ended;
  state_->waiting_for = nullptr;
  session().end_link(queue_pair);
  return status;
}

/// The connection stands for certain: the word of its end, which was asked for, has not come.
bool Connector::surely_connected() {
  if (state_->phase != Phase::connected || state_->notifying == nullptr) return false;
  const Request* const request = session().request_of(state_->notifying);
  if (request == nullptr || request->object != this || request->fate != Request::Fate::pending) return false;
  const auto seen = peek(state_->notifying);
  return seen && static_cast<HRESULT>(seen->Internal) == ND_PENDING;
}

void Connector::last_release(Call& call) {
  if (const auto at = adapter()->attempts.find(state_->attempt); at != adapter()->attempts.end() && at->second == number()) {
    adapter()->attempts.erase(at);
  }
  if (surely_connected()) call.find(Rule::connection_abandoned);
  // A Connect that is no longer pending may have failed without our hearing of it.
  if (state_->phase == Phase::replied) call.find(Rule::reply_abandoned);
  if (state_->phase == Phase::requested) call.find(Rule::request_abandoned);
  // One whose completion has not been asked for may not have been known to the consumer.
  const bool had_connection = state_->phase == Phase::connected || state_->phase == Phase::ended;
  if (had_connection && !state_->notify_asked) call.find(Rule::notify_disconnect_missing);
  const auto queue_pair = std::move(state_->queue_pair);
  if (queue_pair == nullptr) return;
  if (state_->reached) {
    session().end_link(queue_pair);
  } else {
    queue_pair->link = Link::fresh;
  }
}

HRESULT Listener::Bind(const struct sockaddr* address, ULONG length) {
  Call call(*this, "Bind");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!call.given(address, "the address")) return ND_INVALID_PARAMETER_1;
  if (bound_) call.find(Rule::bound_twice);
  const HRESULT status = call.inner([&] { return inner().Bind(address, length); });
  if (!FAILED(status)) bound_ = true;
  return status;
}

HRESULT Listener::Listen(ULONG backlog) {
  Call call(*this, "Listen");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!bound_) call.find(Rule::listen_before_bind);
  if (listening_) call.find(Rule::listen_twice);
  const HRESULT status = call.inner([&] { return inner().Listen(backlog); });
  if (!FAILED(status)) listening_ = true;
  return status;
}

HRESULT Listener::GetLocalAddress(struct sockaddr* address, ULONG* length) {
  Call call(*this, "GetLocalAddress");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!call.given(length, "the place for the length")) return ND_INVALID_PARAMETER_2;
  if (!listening_) call.find(Rule::request_before_listen);
  return call.inner([&] { return inner().GetLocalAddress(address, length); });
}

HRESULT Listener::GetConnectionRequest(IUnknown* connector, OVERLAPPED* overlapped) {
  Call call(*this, "GetConnectionRequest");
  if (!call.alive()) return ND_INVALID_HANDLE;
  auto* const into = static_cast<Connector*>(call.argument(connector, Kind::connector, "the connector"));
  if (into == nullptr) return ND_INVALID_PARAMETER_1;
  if (!listening_) call.find(Rule::request_before_listen);
  const auto state = into->state();
  using Phase = ConnectorState::Phase;
  // A request that was cancelled has left the connector as it was; whether it was, only its result tells us.
  const bool again =
      state->phase == Phase::filling && !session().still_pending(state->waiting_for, Method::get_connection_request, state.get());
  if (state->phase != Phase::fresh && !again) call.find(Rule::connector_reused, into->name());
  const ConnectorState before = *state;
  state->phase = Phase::filling;
  state->waiting_for = overlapped;
  const HRESULT status = call.request(
      overlapped, Method::get_connection_request, [&] { return inner().GetConnectionRequest(&into->inner(), overlapped); },
      [&](Request& request) { request.connector = state; });
  if (FAILED(status)) *state = before;
  if (status == ND_SUCCESS && state->phase == Phase::filling) {
    state->phase = Phase::requested;
    state->waiting_for = nullptr;
  }
  return status;
}

}  // namespace fb::networkdirect::verifier
