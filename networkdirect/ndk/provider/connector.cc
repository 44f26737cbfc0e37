#include "networkdirect/ndk/provider/connector.h"

#include <algorithm>
#include <cstring>

#include "networkdirect/ndk/provider/addresses.h"
#include "networkdirect/ndk/provider/listener.h"
#include "networkdirect/ndk/provider/queue_pair.h"

namespace fb::ndk::provider {

namespace {

// A queue pair without a receive must fail its sender in the end; one on a shared queue must not.
constexpr std::uint8_t kFiniteRnrRetries = 6;
constexpr std::uint8_t kRnrForEver = 7;
constexpr ULONG kRefusalData = 148;

std::uint8_t clipped(ULONG limit) { return static_cast<std::uint8_t>(std::min<ULONG>(limit, 255)); }

ByteView view(const void* data, ULONG bytes) { return {static_cast<const std::uint8_t*>(data), data == nullptr ? 0 : bytes}; }

}  // namespace

Connector::Connector(Adapter& adapter) : NDK_CONNECTOR{}, Object(adapter, NdkObjectTypeConnector) {
  begin_header(Header, adapter, NdkObjectTypeConnector);
  Dispatch = &adapter.tables().connector;
}

Connector::~Connector() = default;

NTSTATUS Connector::create(NDK_ADAPTER* ndk, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_CONNECTOR** place) {
  auto& adapter = of<Adapter>(ndk);
  return adapter.answer_creation(STATUS_SUCCESS, new Connector(adapter), completion, context, place);
}

// ---------------------------------------------------------------- the active side

NTSTATUS Connector::usable(const QueuePair& qp) const {
  if (&qp.adapter() != &adapter()) return STATUS_INVALID_PARAMETER;
  if (qp.phase() == QueuePair::Phase::idle || adapter().departs(departure::kQueuePairServesTwo)) return STATUS_SUCCESS;
  return STATUS_CONNECTION_ACTIVE;  // a queue pair serves one connection
}

NTSTATUS Connector::connect(NDK_CONNECTOR* ndk, NDK_QP* qp, PSOCKADDR from, ULONG from_length, PSOCKADDR to, ULONG to_length, ULONG inbound,
                            ULONG outbound, PVOID data, ULONG bytes, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& connector = of<Connector>(ndk);
  Adapter& a = connector.adapter();
  const auto source = endpoint_of(from, from_length);
  if (!source) return STATUS_INVALID_ADDRESS;
  if (source->address != a.device().address() && !unspecified(source->address) && !a.departs(departure::kConnectSourceUnchecked)) {
    return STATUS_INVALID_ADDRESS;
  }
  if (qp == nullptr || (data == nullptr && bytes > 0)) return STATUS_INVALID_PARAMETER;
  if (bytes > a.info().MaxCallerData && !a.departs(departure::kConnectDataUnchecked)) return STATUS_INVALID_BUFFER_SIZE;
  return connector.begin_connect(of<QueuePair>(qp), std::nullopt, *source, to, to_length, inbound, outbound,
                                 view(data, std::min(bytes, a.info().MaxCallerData)), {completion, context});
}

NTSTATUS Connector::connect_shared(NDK_CONNECTOR* ndk, NDK_QP* qp, NDK_SHARED_ENDPOINT* endpoint, PSOCKADDR to, ULONG to_length,
                                   ULONG inbound, ULONG outbound, PVOID data, ULONG bytes, NDK_FN_REQUEST_COMPLETION completion,
                                   PVOID context) {
  auto& connector = of<Connector>(ndk);
  Adapter& a = connector.adapter();
  if (qp == nullptr || endpoint == nullptr || (data == nullptr && bytes > 0)) return STATUS_INVALID_PARAMETER;
  if (bytes > a.info().MaxCallerData && !a.departs(departure::kConnectDataUnchecked)) return STATUS_INVALID_BUFFER_SIZE;
  auto& shared = of<SharedEndpoint>(endpoint);
  const Endpoint from{a.device().address(), shared.port()};
  const NTSTATUS status = connector.begin_connect(of<QueuePair>(qp), shared.port(), from, to, to_length, inbound, outbound,
                                                  view(data, std::min(bytes, a.info().MaxCallerData)), {completion, context});
  if (status == STATUS_PENDING && connector.endpoint_ == nullptr && !a.departs(departure::kEndpointFreedEarly)) {
    connector.endpoint_ = &shared;
    connector.stand_on(shared);
  }
  return status;
}

NTSTATUS Connector::begin_connect(QueuePair& qp, std::optional<std::uint16_t> shared_port, const Endpoint& from, PSOCKADDR to,
                                  ULONG to_length, ULONG inbound, ULONG outbound, ByteView data, const Pending& pending) {
  Adapter& a = adapter();
  if (a.refuses()) return STATUS_INSUFFICIENT_RESOURCES;
  const auto peer = endpoint_of(to, to_length);
  if (!peer || unspecified(peer->address) || peer->port == 0) return STATUS_INVALID_ADDRESS;
  if (peer->address.is_v4() != a.device().address().is_v4()) return STATUS_NETWORK_UNREACHABLE;
  if (!peer->address.is_v4() && a.departs(departure::kIpv6Refused)) return STATUS_NETWORK_UNREACHABLE;
  if (state_ == State::over || state_ == State::requested) return STATUS_INVALID_DEVICE_STATE;
  if (state_ != State::idle || refused_) return STATUS_CONNECTION_ACTIVE;
  if (const NTSTATUS status = usable(qp); status != STATUS_SUCCESS) return status;
  Ports& ports = a.miniport().ports;
  const auto port = shared_port ? shared_port : ports.take_for_end(from.port);
  if (!port) return from.port == 0 ? STATUS_TOO_MANY_ADDRESSES : STATUS_SHARING_VIOLATION;
  local_ = {a.device().address(), *port};
  owns_port_ = !shared_port;
  if (!ports.take_connection(*port, *peer)) {
    release_address();
    return STATUS_ADDRESS_ALREADY_EXISTS;
  }
  owns_connection_ = true;
  peer_ = *peer;
  rdma::QueuePair* const device = qp.attach(*this);
  if (device == nullptr) {
    release_address();
    return STATUS_INSUFFICIENT_RESOURCES;
  }
  hold(qp);
  inbound_ = std::min(inbound, a.info().MaxInboundReadLimit);
  outbound_ = std::min(outbound, a.info().MaxOutboundReadLimit);
  rdma::ConnectionParameters parameters;
  if (!a.departs(departure::kConnectDataLost)) parameters.private_data = data;
  parameters.responder_resources = clipped(inbound_);
  parameters.initiator_depth = clipped(outbound_);
  parameters.rnr_retry_count = qp.shares_receives() ? kRnrForEver : kFiniteRnrRetries;
  parameters.source_port = local_.port;
  parameters.hold_reply = true;
  state_ = State::connecting;
  asked_at_ = a.world().now();
  has_data_ = false;
  pend(pending);
  device->connect(peer_, parameters);
  return STATUS_PENDING;
}

NTSTATUS Connector::complete_connect(NDK_CONNECTOR* ndk, NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context,
                                     NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  return of<Connector>(ndk).begin_complete({event, nullptr, event_context}, {completion, context});
}

NTSTATUS Connector::complete_connect_ex(NDK_CONNECTOR* ndk, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context,
                                        NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  return of<Connector>(ndk).begin_complete({nullptr, event, event_context}, {completion, context});
}

NTSTATUS Connector::begin_complete(const DisconnectEvent& event, const Pending& pending) {
  Adapter& a = adapter();
  if (a.refuses()) return STATUS_INSUFFICIENT_RESOURCES;
  if (state_ != State::replied) return a.departs(departure::kCompleteWithoutReply) ? STATUS_SUCCESS : STATUS_CONNECTION_INVALID;
  event_ = event;
  state_ = State::completing;
  pend(pending);
  queue_pair_->give_receives();
  if (a.departs(departure::kDispatchChanges)) {
    static const NDK_CONNECTOR_DISPATCH another = a.tables().connector;
    Dispatch = &another;
  }
  if (a.departs(departure::kCompleteConnectNeverCompletes)) return STATUS_PENDING;
  queue_pair_->device_queue_pair()->confirm();
  return STATUS_PENDING;
}

// ---------------------------------------------------------------- the passive side

void Connector::take(std::unique_ptr<rdma::ConnectionRequest> request, Listener& listener) {
  stand_on(listener);
  request_ = std::move(request);
  state_ = State::requested;
  local_ = listener.local();
  const rdma::ConnectionFacts& facts = request_->facts();
  peer_ = facts.peer;
  inbound_ = std::min<ULONG>(facts.initiator_depth, adapter().info().MaxInboundReadLimit);
  outbound_ = std::min<ULONG>(facts.responder_resources, adapter().info().MaxOutboundReadLimit);
  keep(facts.private_data);
}

NTSTATUS Connector::accept(NDK_CONNECTOR* ndk, NDK_QP* qp, ULONG inbound, ULONG outbound, PVOID data, ULONG bytes,
                           NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context, NDK_FN_REQUEST_COMPLETION completion,
                           PVOID context) {
  return of<Connector>(ndk).begin_accept(qp, inbound, outbound, {static_cast<std::uint8_t*>(data), bytes}, {event, nullptr, event_context},
                                         {completion, context});
}

NTSTATUS Connector::accept_ex(NDK_CONNECTOR* ndk, NDK_QP* qp, ULONG inbound, ULONG outbound, PVOID data, ULONG bytes,
                              NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context, NDK_FN_REQUEST_COMPLETION completion,
                              PVOID context) {
  return of<Connector>(ndk).begin_accept(qp, inbound, outbound, {static_cast<std::uint8_t*>(data), bytes}, {nullptr, event, event_context},
                                         {completion, context});
}

NTSTATUS Connector::begin_accept(NDK_QP* ndk, ULONG inbound, ULONG outbound, ByteView data, const DisconnectEvent& event,
                                 const Pending& pending) {
  Adapter& a = adapter();
  if (a.refuses()) return STATUS_INSUFFICIENT_RESOURCES;
  if (ndk == nullptr || (data.data() == nullptr && !data.empty())) return STATUS_INVALID_PARAMETER;
  if (state_ != State::requested) return STATUS_CONNECTION_INVALID;
  auto& qp = of<QueuePair>(ndk);
  if (const NTSTATUS status = usable(qp); status != STATUS_SUCCESS) return status;
  if (data.size() > a.info().MaxCalleeData) {
    if (!a.departs(departure::kConnectDataUnchecked)) return STATUS_INVALID_BUFFER_SIZE;
    data = data.first(a.info().MaxCalleeData);
  }
  rdma::QueuePair* const device = qp.attach(*this);
  if (device == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
  hold(qp);
  // Never more than the peer offered.
  const bool unclipped = a.departs(departure::kReadLimitsUnclipped);
  inbound_ = unclipped ? inbound : std::min(inbound, inbound_);
  outbound_ = unclipped ? outbound : std::min(outbound, outbound_);
  rdma::ConnectionParameters parameters;
  if (!a.departs(departure::kAcceptDataLost)) parameters.private_data = data;
  parameters.responder_resources = clipped(inbound_);
  parameters.initiator_depth = clipped(outbound_);
  parameters.rnr_retry_count = qp.shares_receives() ? kRnrForEver : kFiniteRnrRetries;
  event_ = event;
  state_ = State::accepting;
  pend(pending);
  qp.give_receives();
  std::exchange(request_, nullptr)->accept(*device, parameters);
  if (a.departs(departure::kAcceptCompletesEarly)) complete_pending(STATUS_SUCCESS);
  return STATUS_PENDING;
}

NTSTATUS Connector::reject(NDK_CONNECTOR* ndk, PVOID data, ULONG bytes) {
  auto& connector = of<Connector>(ndk);
  Adapter& a = connector.adapter();
  if (data == nullptr && bytes > 0) return STATUS_INVALID_PARAMETER;
  if (connector.state_ != State::requested && connector.state_ != State::replied) {
    return a.departs(departure::kRejectTwice) ? STATUS_SUCCESS : STATUS_CONNECTION_INVALID;
  }
  if (const ULONG most = std::min(a.info().MaxCalleeData, kRefusalData); bytes > most) {
    if (!a.departs(departure::kConnectDataUnchecked)) return STATUS_INVALID_BUFFER_SIZE;
    bytes = most;
  }
  const ByteView said = a.departs(departure::kRejectDataLost) ? ByteView{} : view(data, bytes);
  if (connector.state_ == State::requested) {
    std::exchange(connector.request_, nullptr)->reject(rdma::reject_reason::consumer_defined, said);
  } else {
    connector.queue_pair_->device_queue_pair()->refuse(rdma::reject_reason::consumer_defined, said);
    std::exchange(connector.queue_pair_, nullptr)->detach();
  }
  connector.state_ = State::over;
  return STATUS_SUCCESS;
}

// ---------------------------------------------------------------- what consumers ask

NTSTATUS Connector::connection_data(NDK_CONNECTOR* ndk, ULONG* inbound, ULONG* outbound, PVOID data, ULONG* bytes) {
  auto& connector = of<Connector>(ndk);
  const Adapter& a = connector.adapter();
  const State state = connector.state_;
  const bool answered = state != State::replied && state != State::requested && !(state == State::idle && connector.has_data_);
  if (!connector.has_data_) return STATUS_CONNECTION_INVALID;
  if (answered && !a.departs(departure::kDataAfterAccept)) return STATUS_INVALID_DEVICE_STATE;
  const bool swapped = a.departs(departure::kReadLimitsSwapped);
  if (inbound != nullptr) *inbound = swapped ? connector.outbound_ : connector.inbound_;
  if (outbound != nullptr) *outbound = swapped ? connector.inbound_ : connector.outbound_;
  if (bytes == nullptr) return data == nullptr ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
  const ULONG given = *bytes;
  const auto length = static_cast<ULONG>(connector.private_data_.size());
  *bytes = given > length && a.departs(departure::kDataLengthZero) ? 0 : length;
  if (data == nullptr) return a.departs(departure::kDataQueryFails) ? STATUS_BUFFER_TOO_SMALL : STATUS_SUCCESS;
  std::copy_n(connector.private_data_.begin(), std::min(given, length), static_cast<std::uint8_t*>(data));
  return given < length && !a.departs(departure::kDataCutSucceeds) ? STATUS_BUFFER_TOO_SMALL : STATUS_SUCCESS;
}

NTSTATUS Connector::give_address(const Endpoint& endpoint, PSOCKADDR address, ULONG* length) const {
  if (state_ == State::idle || endpoint.port == 0) return STATUS_CONNECTION_INVALID;
  const NTSTATUS status = put_endpoint(endpoint, address, length);
  return status == STATUS_BUFFER_TOO_SMALL && adapter().departs(departure::kAddressCutSucceeds) ? STATUS_SUCCESS : status;
}

NTSTATUS Connector::local_address(NDK_CONNECTOR* ndk, PSOCKADDR address, ULONG* length) {
  auto& connector = of<Connector>(ndk);
  Endpoint said = connector.local_;
  if (connector.adapter().departs(departure::kLocalAddressWrong)) ++said.port;
  return connector.give_address(said, address, length);
}

NTSTATUS Connector::peer_address(NDK_CONNECTOR* ndk, PSOCKADDR address, ULONG* length) {
  auto& connector = of<Connector>(ndk);
  Endpoint said = connector.peer_;
  if (connector.adapter().departs(departure::kPeerAddressWrong)) ++said.port;
  return connector.give_address(said, address, length);
}

NTSTATUS Connector::disconnect(NDK_CONNECTOR* ndk, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& connector = of<Connector>(ndk);
  Adapter& a = connector.adapter();
  QueuePair* const qp = connector.queue_pair_;
  if (connector.state_ == State::over && qp != nullptr) {
    // The peer was first: what is left is to flush.
    std::exchange(connector.queue_pair_, nullptr)->release_kept();
    return STATUS_SUCCESS;
  }
  if (connector.state_ != State::connected) return STATUS_CONNECTION_INVALID;
  connector.state_ = State::disconnecting;
  connector.pend({completion, context});
  qp->device_queue_pair()->disconnect();
  const bool flushes = !a.departs(departure::kDisconnectDoesNotFlush);
  qp->end(flushes ? QueuePair::Outstanding::cancelled : QueuePair::Outstanding::kept);
  return STATUS_PENDING;
}

}  // namespace fb::ndk::provider
