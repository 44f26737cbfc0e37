#include <array>
#include <cstring>

#include <fmt/format.h>

#include "networkdirect/ndk/verifier/connections.h"

namespace fb::ndk::verifier {

namespace {

/// Of either family, whose form was judged before.
Endpoint endpoint_of(PSOCKADDR address) {
  if (address->sa_family == AF_INET) {
    SOCKADDR_IN v4;
    std::memcpy(&v4, address, sizeof v4);
    std::array<std::uint8_t, 4> bytes;
    std::memcpy(bytes.data(), &v4.sin_addr, bytes.size());
    return {IpAddress::v4(bytes[0], bytes[1], bytes[2], bytes[3]), ntohs(v4.sin_port)};
  }
  SOCKADDR_IN6 v6;
  std::memcpy(&v6, address, sizeof v6);
  std::array<std::uint8_t, 16> bytes;
  std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
  return {IpAddress::v6(bytes), ntohs(v6.sin6_port)};
}

}  // namespace

// ---------------------------------------------------------------- the active side

bool Connector::judge_connect(Call& call, const QueuePair& qp, PVOID data, ULONG bytes) const {
  if (phase == Phase::requested) {
    call.find(Rule::connect_of_request);
  } else if (phase != Phase::fresh) {
    call.find(Rule::connect_twice);
  } else if (attempted_) {
    call.find(Rule::connector_refused_reused);
  }
  if (qp.link != QueuePair::Link::fresh) call.find(Rule::queue_pair_reused, qp.name());
  call.limit(Rule::private_data_too_long, "the private data", bytes, adapter()->info().MaxCallerData);
  return bytes == 0 || call.given(data, "the private data");
}

template <class Work>
NTSTATUS Connector::begin_connect(Call& call, QueuePair& qp, ULONG outbound, PVOID data, ULONG bytes, NDK_FN_REQUEST_COMPLETION completion,
                                  PVOID context, Work&& work) {
  if (!judge_connect(call, qp, data, bytes)) return STATUS_INVALID_PARAMETER;
  const bool mine = phase == Phase::fresh;
  const bool takes = mine && qp.link == QueuePair::Link::fresh;
  const bool before = attempted_;
  if (mine) {
    phase = Phase::connecting;
    attempted_ = true;
    queue_pair_ = &qp;
  }
  if (takes) {
    qp.link = QueuePair::Link::attached;
    qp.no_reads = outbound == 0;
  }
  const NTSTATUS called = call.request(completion, context, work, [this, &qp, mine, takes](NTSTATUS status) {
    if (mine && phase == Phase::connecting) phase = status == STATUS_SUCCESS ? Phase::replied : Phase::fresh;
    // Another attempt may be made with it.
    if (takes && status != STATUS_SUCCESS && qp.link == QueuePair::Link::attached) qp.link = QueuePair::Link::fresh;
  });
  // The provider did not even try.
  if (mine && called != STATUS_PENDING && called != STATUS_SUCCESS && called != STATUS_CONNECTION_REFUSED) attempted_ = before;
  return called;
}

/// One connection from a port to a place, as far as the consumer named the port.
void Connector::judge_port(Call& call, PSOCKADDR from, PSOCKADDR to) {
  const auto source = endpoint_of(from), peer = endpoint_of(to);
  if (source.port == 0) return;
  attempt_ = {source.port, peer};
  const auto [at, alone] = adapter()->attempts.emplace(attempt_, this);
  if (!alone && at->second != this) call.find(Rule::ports_shared, at->second->name() + " has it too");
}

NTSTATUS Connector::connect(NDK_CONNECTOR* ndk, NDK_QP* ndk_qp, PSOCKADDR from, ULONG from_length, PSOCKADDR to, ULONG to_length,
                            ULONG inbound, ULONG outbound, PVOID data, ULONG bytes, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& connector = of<Connector>(ndk);
  Call call(connector, "NdkConnect");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  auto* const qp = call.argument<QueuePair>(ndk_qp, "the queue pair");
  if (qp == nullptr) return STATUS_INVALID_PARAMETER;
  if (!call.address(from, from_length, "the source") || !call.address(to, to_length, "the destination")) return STATUS_INVALID_ADDRESS;
  connector.judge_port(call, from, to);
  return connector.begin_connect(call, *qp, outbound, data, bytes, completion, context, [&](auto done, PVOID ours) {
    return connector.inner().Dispatch->NdkConnect(&connector.inner(), &qp->inner(), from, from_length, to, to_length, inbound, outbound,
                                                  data, bytes, done, ours);
  });
}

NTSTATUS Connector::connect_shared(NDK_CONNECTOR* ndk, NDK_QP* ndk_qp, NDK_SHARED_ENDPOINT* ndk_endpoint, PSOCKADDR to, ULONG to_length,
                                   ULONG inbound, ULONG outbound, PVOID data, ULONG bytes, NDK_FN_REQUEST_COMPLETION completion,
                                   PVOID context) {
  auto& connector = of<Connector>(ndk);
  Call call(connector, "NdkConnectWithSharedEndpoint");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  auto* const qp = call.argument<QueuePair>(ndk_qp, "the queue pair");
  auto* const endpoint = call.argument<SharedEndpoint>(ndk_endpoint, "the shared endpoint");
  if (qp == nullptr || endpoint == nullptr) return STATUS_INVALID_PARAMETER;
  if (!call.address(to, to_length, "the destination")) return STATUS_INVALID_ADDRESS;
  return connector.begin_connect(call, *qp, outbound, data, bytes, completion, context, [&](auto done, PVOID ours) {
    return connector.inner().Dispatch->NdkConnectWithSharedEndpoint(&connector.inner(), &qp->inner(), &endpoint->inner(), to, to_length,
                                                                    inbound, outbound, data, bytes, done, ours);
  });
}

template <class Work>
NTSTATUS Connector::begin_complete(Call& call, const DisconnectEvent& event, NDK_FN_REQUEST_COMPLETION completion, PVOID context,
                                   Work&& work) {
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  const bool mine = phase == Phase::replied;
  if (mine) {
    if (!event.given()) call.find(Rule::disconnect_event_missing);
    phase = Phase::completing;
    completed_ = true;
    event_ = event;
    queue_pair_->answered = true;
    queue_pair_->note_receives();
  } else {
    call.find(completed_ ? Rule::complete_connect_twice : Rule::complete_connect_misplaced);
  }
  return call.request(completion, context, work, [this, mine](NTSTATUS status) {
    if (mine) agreed(Phase::completing, status);
  });
}

NTSTATUS Connector::complete(NDK_CONNECTOR* ndk, NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context,
                             NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& connector = of<Connector>(ndk);
  Call call(connector, "NdkCompleteConnect");
  const auto ours_event = event == nullptr ? nullptr : &Connector::on_disconnect;
  return connector.begin_complete(call, {event, nullptr, event_context}, completion, context, [&](auto done, PVOID ours) {
    return connector.inner().Dispatch->NdkCompleteConnect(&connector.inner(), ours_event, &connector, done, ours);
  });
}

NTSTATUS Connector::complete_ex(NDK_CONNECTOR* ndk, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context,
                                NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& connector = of<Connector>(ndk);
  Call call(connector, "NdkCompleteConnectEx");
  const auto ours_event = event == nullptr ? nullptr : &Connector::on_disconnect_ex;
  return connector.begin_complete(call, {nullptr, event, event_context}, completion, context, [&](auto done, PVOID ours) {
    return connector.inner().Dispatch->NdkCompleteConnectEx(&connector.inner(), ours_event, &connector, done, ours);
  });
}

NTSTATUS Connector::complete_ex_too_early(NDK_CONNECTOR* ndk, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX, PVOID, NDK_FN_REQUEST_COMPLETION,
                                          PVOID) {
  Call(of<Connector>(ndk), "NdkCompleteConnectEx").find(Rule::function_of_later_version);
  return STATUS_NOT_SUPPORTED;
}

// ---------------------------------------------------------------- the passive side

template <class Work>
NTSTATUS Connector::begin_accept(Call& call, NDK_QP* ndk_qp, ULONG outbound, PVOID data, ULONG bytes, const DisconnectEvent& event,
                                 NDK_FN_REQUEST_COMPLETION completion, PVOID context, Work&& work) {
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  auto* const qp = call.argument<QueuePair>(ndk_qp, "the queue pair");
  if (qp == nullptr || (bytes > 0 && !call.given(data, "the private data"))) return STATUS_INVALID_PARAMETER;
  call.limit(Rule::private_data_too_long, "the private data", bytes, adapter()->info().MaxCalleeData);
  const bool mine = phase == Phase::requested;
  const bool takes = mine && qp->link == QueuePair::Link::fresh;
  if (!mine) {
    call.find(accepted_ ? Rule::accept_twice : Rule::accept_misplaced);
  } else {
    if (!takes) call.find(Rule::queue_pair_reused, qp->name());
    if (!event.given()) call.find(Rule::disconnect_event_missing);
    phase = Phase::accepting;
    accepted_ = true;
    event_ = event;
    queue_pair_ = qp;
  }
  if (takes) {
    qp->link = QueuePair::Link::attached;
    qp->answered = true;
    qp->note_receives();
    qp->no_reads = outbound == 0;
  }
  const auto call_inner = [&](auto done, PVOID ours) { return work(*qp, done, ours); };
  const NTSTATUS status = call.request(completion, context, call_inner, [this, mine](NTSTATUS end) {
    if (mine) agreed(Phase::accepting, end);
  });
  // Refused at once: the request is still to be answered.
  if (mine && status != STATUS_PENDING && status != STATUS_SUCCESS) {
    phase = Phase::requested;
    accepted_ = false;
    queue_pair_ = nullptr;
    if (takes) {
      qp->link = QueuePair::Link::fresh;
      qp->answered = false;
    }
  }
  return status;
}

NTSTATUS Connector::accept(NDK_CONNECTOR* ndk, NDK_QP* ndk_qp, ULONG inbound, ULONG outbound, PVOID data, ULONG bytes,
                           NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context, NDK_FN_REQUEST_COMPLETION completion,
                           PVOID context) {
  auto& connector = of<Connector>(ndk);
  Call call(connector, "NdkAccept");
  const auto ours_event = event == nullptr ? nullptr : &Connector::on_disconnect;
  return connector.begin_accept(call, ndk_qp, outbound, data, bytes, {event, nullptr, event_context}, completion, context,
                                [&](QueuePair& qp, auto done, PVOID ours) {
                                  return connector.inner().Dispatch->NdkAccept(&connector.inner(), &qp.inner(), inbound, outbound, data,
                                                                               bytes, ours_event, &connector, done, ours);
                                });
}

NTSTATUS Connector::accept_ex(NDK_CONNECTOR* ndk, NDK_QP* ndk_qp, ULONG inbound, ULONG outbound, PVOID data, ULONG bytes,
                              NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context, NDK_FN_REQUEST_COMPLETION completion,
                              PVOID context) {
  auto& connector = of<Connector>(ndk);
  Call call(connector, "NdkAcceptEx");
  const auto ours_event = event == nullptr ? nullptr : &Connector::on_disconnect_ex;
  return connector.begin_accept(call, ndk_qp, outbound, data, bytes, {nullptr, event, event_context}, completion, context,
                                [&](QueuePair& qp, auto done, PVOID ours) {
                                  return connector.inner().Dispatch->NdkAcceptEx(&connector.inner(), &qp.inner(), inbound, outbound, data,
                                                                                 bytes, ours_event, &connector, done, ours);
                                });
}

NTSTATUS Connector::accept_ex_too_early(NDK_CONNECTOR* ndk, NDK_QP*, ULONG, ULONG, PVOID, ULONG, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX, PVOID,
                                        NDK_FN_REQUEST_COMPLETION, PVOID) {
  Call(of<Connector>(ndk), "NdkAcceptEx").find(Rule::function_of_later_version);
  return STATUS_NOT_SUPPORTED;
}

NTSTATUS Connector::reject(NDK_CONNECTOR* ndk, PVOID data, ULONG bytes) {
  auto& connector = of<Connector>(ndk);
  Call call(connector, "NdkReject");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (bytes > 0 && !call.given(data, "the private data")) return STATUS_INVALID_PARAMETER;
  call.limit(Rule::private_data_too_long, "the private data", bytes, connector.adapter()->info().MaxCalleeData);
  const bool reply = connector.phase == Phase::replied;
  if (!reply && connector.phase != Phase::requested) {
    const Rule answered = connector.accepted_ || connector.completed_ ? Rule::reject_after_accept : Rule::reject_misplaced;
    call.find(connector.phase == Phase::rejected ? Rule::rejected_twice : answered);
    return connector.inner().Dispatch->NdkReject(&connector.inner(), data, bytes);
  }
  const NTSTATUS status = connector.inner().Dispatch->NdkReject(&connector.inner(), data, bytes);
  if (status != STATUS_SUCCESS) return status;
  connector.phase = Phase::rejected;
  if (reply) connector.queue_pair_->link = QueuePair::Link::fresh;
  return status;
}

// ---------------------------------------------------------------- what consumers ask

NTSTATUS Connector::connection_data(NDK_CONNECTOR* ndk, ULONG* inbound, ULONG* outbound, PVOID data, ULONG* bytes) {
  auto& connector = of<Connector>(ndk);
  Call call(connector, "NdkGetConnectionData");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  switch (connector.phase) {
    case Phase::replied:
    case Phase::requested:
      break;
    case Phase::fresh:
      // A refusal may have said something.
      if (!connector.attempted_) call.find(Rule::connection_data_early);
      break;
    case Phase::connecting:
      call.find(Rule::connection_data_early);
      break;
    default:
      call.find(Rule::connection_data_late);
      break;
  }
  return connector.inner().Dispatch->NdkGetConnectionData(&connector.inner(), inbound, outbound, data, bytes);
}

NTSTATUS Connector::local_address(NDK_CONNECTOR* ndk, PSOCKADDR address, ULONG* length) {
  auto& connector = of<Connector>(ndk);
  Call call(connector, "NdkGetLocalAddress");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (!call.given(length, "the place for the length")) return STATUS_INVALID_PARAMETER;
  return connector.inner().Dispatch->NdkGetLocalAddress(&connector.inner(), address, length);
}

NTSTATUS Connector::peer_address(NDK_CONNECTOR* ndk, PSOCKADDR address, ULONG* length) {
  auto& connector = of<Connector>(ndk);
  Call call(connector, "NdkGetPeerAddress");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (!call.given(length, "the place for the length")) return STATUS_INVALID_PARAMETER;
  return connector.inner().Dispatch->NdkGetPeerAddress(&connector.inner(), address, length);
}

// ---------------------------------------------------------------- ends

/// NdkCompleteConnect or NdkAccept has ended, unless the connection's own end was faster.
void Connector::agreed(Phase expected, NTSTATUS status) {
  if (phase != expected) return;
  if (status != STATUS_SUCCESS) return ended(Phase::left);
  phase = Phase::connected;
  if (queue_pair_->alive()) queue_pair_->link = QueuePair::Link::connected;
}

void Connector::ended(Phase how) {
  phase = how;
  if (queue_pair_ != nullptr) queue_pair_->end();
}

NTSTATUS Connector::disconnect(NDK_CONNECTOR* ndk, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& connector = of<Connector>(ndk);
  Call call(connector, "NdkDisconnect");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  const bool mine = connector.phase == Phase::connected || connector.phase == Phase::left;
  QueuePair* const qp = connector.queue_pair_;
  if (mine) {
    if (qp != nullptr) qp->judge_deferred(call);
    connector.ended(Phase::disconnecting);
  } else {
    const bool before = connector.phase == Phase::disconnecting || connector.phase == Phase::disconnected;
    call.find(before ? Rule::disconnected_twice : Rule::disconnect_unconnected);
  }
  const NTSTATUS status = call.request(
      completion, context, [&](auto done, PVOID ours) { return connector.inner().Dispatch->NdkDisconnect(&connector.inner(), done, ours); },
      [&connector, mine](NTSTATUS) {
        if (mine) connector.phase = Phase::disconnected;
      });
  // It flushes by itself.
  const bool done = status == STATUS_SUCCESS || status == STATUS_PENDING;
  if (mine && done && qp != nullptr) connector.session().cease(*qp);
  return status;
}

void Connector::peer_left() {
  if (phase == Phase::completing || phase == Phase::accepting || phase == Phase::connected) ended(Phase::left);
}

VOID Connector::on_disconnect(PVOID context) {
  auto& connector = *static_cast<Connector*>(context);
  connector.peer_left();
  if (connector.event_.plain == nullptr) return;
  connector.session().call_back([&] { connector.event_.plain(connector.event_.context); });
}

VOID Connector::on_disconnect_ex(PVOID context, ULONG reason) {
  auto& connector = *static_cast<Connector*>(context);
  connector.peer_left();
  if (connector.event_.extended == nullptr) return;
  connector.session().call_back([&] { connector.event_.extended(connector.event_.context, reason); });
}

void Connector::closing(Call& call) {
  if (const auto at = adapter()->attempts.find(attempt_); at != adapter()->attempts.end() && at->second == this) {
    adapter()->attempts.erase(at);
  }
  if (phase == Phase::requested) call.find(Rule::request_unanswered);
  if (phase == Phase::replied) call.find(Rule::reply_unanswered);
  if (queue_pair_ == nullptr) return;
  QueuePair& qp = *queue_pair_;
  if (phase == Phase::connected && qp.link == QueuePair::Link::connected && !qp.failed) call.find(Rule::closed_connected);
  const bool unmade = phase == Phase::replied || phase == Phase::rejected;
  if (unmade && qp.link == QueuePair::Link::attached) qp.link = QueuePair::Link::fresh;
  if (phase == Phase::completing || phase == Phase::accepting || phase == Phase::connected) ended(Phase::left);
}

// ---------------------------------------------------------------- listeners and shared endpoints

VOID Listener::on_connect(PVOID context, NDK_CONNECTOR* inner) {
  auto& listener = *static_cast<Listener*>(context);
  Session& session = listener.session();
  auto& connector = session.make<Connector>(*listener.adapter());
  connector.born(*inner);
  connector.phase = Connector::Phase::requested;
  session.call_back([&] { listener.event_(listener.context_, &connector); });
}

NTSTATUS Listener::listen(NDK_LISTENER* ndk, PSOCKADDR address, ULONG length, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& listener = of<Listener>(ndk);
  Call call(listener, "NdkListen");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (!call.address(address, length, "the address")) return STATUS_INVALID_ADDRESS;
  const bool mine = listener.phase_ == Phase::fresh;
  if (!mine) call.find(Rule::listen_twice);
  if (mine) listener.phase_ = Phase::beginning;
  return call.request(
      completion, context,
      [&](auto done, PVOID ours) { return listener.inner().Dispatch->NdkListen(&listener.inner(), address, length, done, ours); },
      [&listener, mine](NTSTATUS status) {
        if (mine) listener.phase_ = status == STATUS_SUCCESS ? Phase::listening : Phase::fresh;
      });
}

NTSTATUS Listener::local_address(NDK_LISTENER* ndk, PSOCKADDR address, ULONG* length) {
  auto& listener = of<Listener>(ndk);
  Call call(listener, "NdkGetLocalAddress");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (!call.given(length, "the place for the length")) return STATUS_INVALID_PARAMETER;
  if (listener.phase_ != Phase::listening) call.find(Rule::listener_address_early);
  return listener.inner().Dispatch->NdkGetLocalAddress(&listener.inner(), address, length);
}

VOID Listener::control_events(NDK_LISTENER* ndk, BOOLEAN pause) {
  auto& listener = of<Listener>(ndk);
  Call call(listener, "NdkControlConnectEvents");
  if (call.alive()) listener.inner().Dispatch->NdkControlConnectEvents(&listener.inner(), pause);
}

NTSTATUS SharedEndpoint::local_address(NDK_SHARED_ENDPOINT* ndk, PSOCKADDR address, ULONG* length) {
  auto& endpoint = of<SharedEndpoint>(ndk);
  Call call(endpoint, "NdkGetLocalAddress");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (!call.given(length, "the place for the length")) return STATUS_INVALID_PARAMETER;
  return endpoint.inner().Dispatch->NdkGetLocalAddress(&endpoint.inner(), address, length);
}

}  // namespace fb::ndk::verifier
