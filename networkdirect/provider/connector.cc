#include "networkdirect/provider/connector.h"

#include <algorithm>

#include "networkdirect/provider/fault_points.h"
#include "networkdirect/provider/queue_pair.h"

namespace fb::networkdirect {

namespace {

// Tags of pending requests.
enum : unsigned { kConnect, kCompleteConnect, kAccept, kNotifyDisconnect, kDisconnect };

// What programs find in place of codes of the interface's own.
constexpr HRESULT kAlreadyAssociated = static_cast<HRESULT>(0xC0000238);  // STATUS_ADDRESS_ALREADY_ASSOCIATED
constexpr HRESULT kBadNetworkName = static_cast<HRESULT>(0xC00000CC);     // STATUS_BAD_NETWORK_NAME

// A queue pair without a receive must fail its sender in the end; one on a shared queue must not.
constexpr std::uint8_t kFiniteRnrRetries = 6;
constexpr std::uint8_t kRnrForEver = 7;

// Departures: patience that has an end, and a port that is not among those for the purpose.
constexpr Duration kPatience = Duration::s(15);
constexpr std::uint16_t kLowPort = 2049;
// How long a measured card waits for an address where nobody is.
constexpr Duration kLongPatience = Duration::s(99);

constexpr ULONG kRefusalData = 148;

std::uint8_t clipped(ULONG limit, ULONG most) { return static_cast<std::uint8_t>(std::min({limit, most, ULONG{255}})); }

std::uint8_t rnr_retries(AdapterCore& adapter, bool shares) {
  if (shares) return adapter.departs(departure::kSrqBreaks) ? kFiniteRnrRetries : kRnrForEver;
  return adapter.departs(departure::kNoReceiveForEver) ? kRnrForEver : kFiniteRnrRetries;
}

bool unspecified(const IpAddress& address) { return address == IpAddress::v4(0, 0, 0, 0) || address == IpAddress(); }

}  // namespace

ConnectorCore::~ConnectorCore() { release_address(); }

HRESULT ConnectorCore::bind(const struct sockaddr* address, ULONG length) {
  if (adapter_->refuses()) return ND_INSUFFICIENT_RESOURCES;
  const auto endpoint = endpoint_of(address, length);
  if (address == nullptr) return ND_INVALID_PARAMETER_1;
  if (!endpoint) return length < sizeof(sockaddr_in) ? ND_INVALID_PARAMETER_2 : ND_INVALID_ADDRESS;
  if (state_ != State::idle && !adapter_->departs(departure::kBindTwice)) return kAlreadyAssociated;
  if (endpoint->address != adapter_->address() && !unspecified(endpoint->address)) {
    if (!adapter_->departs(departure::kBindAnywhere)) return ND_INVALID_ADDRESS;
  }
  const bool low = endpoint->port == 0 && adapter_->departs(departure::kEphemeralLow);
  const auto port = adapter_->ports().take_for_connector(low ? kLowPort : endpoint->port);
  if (!port) return adapter_->departs(departure::kPortsExhaustedCode) ? ND_SHARING_VIOLATION : ND_TOO_MANY_ADDRESSES;
  local_ = {adapter_->address(), *port};
  owns_port_ = true;
  state_ = State::bound;
  return ND_SUCCESS;
}

HRESULT ConnectorCore::usable(const std::shared_ptr<QueuePairCore>& queue_pair) const {
  if (queue_pair == nullptr || &queue_pair->adapter() != adapter_.get()) return ND_INVALID_PARAMETER_1;
  if (queue_pair->phase() == QueuePairCore::Phase::ended) {  // never again
    return adapter_->departs(departure::kSpentPairTaken) ? ND_SUCCESS : ND_INVALID_PARAMETER_1;
  }
  if (queue_pair->phase() == QueuePairCore::Phase::idle) return ND_SUCCESS;
  return adapter_->departs(departure::kPairBusyCode) ? ND_INVALID_DEVICE_STATE : ND_CONNECTION_ACTIVE;
}

HRESULT ConnectorCore::unconnected() const { return adapter_->departs(departure::kIdleAccepted) ? ND_SUCCESS : ND_CONNECTION_INVALID; }

HRESULT ConnectorCore::judge(const void* data, ULONG bytes, ULONG most) const {
  if (bytes > most) return ND_INVALID_BUFFER_SIZE;
  if (bytes > 0 && !is_mapped(data, bytes)) return ND_ACCESS_VIOLATION;
  return ND_SUCCESS;
}

HRESULT ConnectorCore::connect(IUnknown* queue_pair, const struct sockaddr* to, ULONG length, ULONG inbound, ULONG outbound,
                               const void* data, ULONG bytes, OVERLAPPED* overlapped) {
  if (adapter_->refuses()) return ND_INSUFFICIENT_RESOURCES;
  const auto endpoint = endpoint_of(to, length);
  if (!endpoint) return ND_INVALID_PARAMETER_2;
  if (state_ == State::idle && adapter_->departs(departure::kConnectUnbound)) state_ = State::bound;
  if (state_ == State::idle) return ND_INVALID_DEVICE_STATE;
  if (state_ != State::bound) {
    return adapter_->departs(departure::kConnectTwiceCode) ? ND_INVALID_DEVICE_STATE : ND_CONNECTION_ACTIVE;
  }
  const auto qp = core_of<QueuePairCore>(queue_pair);
  if (const HRESULT status = usable(qp); FAILED(status)) return status;
  if (adapter_->departs(departure::kCallerDataUnchecked)) bytes = std::min(bytes, adapter_->info().MaxCallerData);
  if (const HRESULT status = judge(data, bytes, adapter_->info().MaxCallerData); FAILED(status)) return status;
  const bool nowhere = unspecified(endpoint->address);
  if (nowhere && !adapter_->departs(departure::kNowhereReached)) return kBadNetworkName;
  const bool ourselves = endpoint->address == adapter_->address();
  if (ourselves && adapter_->departs(departure::kLoopbackRefused)) return ND_HOST_UNREACHABLE;
  if (endpoint->address.is_v4() != adapter_->address().is_v4()) return ND_NETWORK_UNREACHABLE;
  if (!endpoint->address.is_v4() && adapter_->departs(departure::kIpv6Refused)) return ND_NETWORK_UNREACHABLE;
  owns_connection_ = adapter_->ports().take_connection(local_.port, *endpoint);
  if (!owns_connection_ && !adapter_->departs(departure::kPortsShared)) return ND_ADDRESS_ALREADY_EXISTS;
  peer_ = *endpoint;
  asked_at_ = adapter_->world().now();
  if (!requests_.begin(overlapped, kConnect)) {
    release_connection();
    return ND_INVALID_PARAMETER_8;
  }
  if (nowhere) {  // a departure
    requests_.complete(kConnect, ND_SUCCESS);
    return ND_PENDING;
  }
  const ND2_ADAPTER_INFO& info = adapter_->info();
  inbound_ = std::min(inbound, info.MaxInboundReadLimit);
  outbound_ = std::min(outbound, info.MaxOutboundReadLimit);
  rdma::ConnectionParameters parameters;
  parameters.private_data = {static_cast<const std::uint8_t*>(data), bytes};
  if (adapter_->departs(departure::kConnectDataLost)) parameters.private_data = {};
  parameters.responder_resources = clipped(inbound, info.MaxInboundReadLimit);
  parameters.initiator_depth = clipped(outbound, info.MaxOutboundReadLimit);
  parameters.rnr_retry_count = rnr_retries(*adapter_, qp->shares_receives());
  parameters.source_port = local_.port;
  parameters.hold_reply = true;
  queue_pair_ = qp.get();
  state_ = State::connecting;
  has_data_ = false;
  qp->attach(*this, shared_from_this()).connect(peer_, parameters);
  return ND_PENDING;
}

HRESULT ConnectorCore::complete_connect(OVERLAPPED* overlapped) {
  if (adapter_->refuses()) return ND_INSUFFICIENT_RESOURCES;
  if (state_ == State::over && adapter_->departs(departure::kCompletesAfterEnd)) return ND_SUCCESS;
  if (timed_out_) return ND_IO_TIMEOUT;
  if (state_ != State::replied) return unconnected();
  const bool impatient = adapter_->departs(departure::kImpatientComplete);
  if (impatient && adapter_->world().now() - waiting_since_ > kPatience) return ND_IO_TIMEOUT;
  if (!requests_.begin(overlapped, kCompleteConnect)) return ND_INVALID_PARAMETER_1;
  state_ = State::completing;
  queue_pair_->give_receives();
  if (adapter_->departs(departure::kCompleteConnectNeverCompletes)) return ND_PENDING;
  queue_pair_->device_queue_pair()->confirm();
  return ND_PENDING;
}

void ConnectorCore::take(std::unique_ptr<rdma::ConnectionRequest> request, const Endpoint& local) {
  request_ = std::move(request);
  state_ = State::requested;
  passive_ = true;
  waiting_since_ = adapter_->world().now();
  local_ = local;
  const rdma::ConnectionFacts& facts = request_->facts();
  peer_ = facts.peer;
  if (adapter_->departs(departure::kPeerAddressWrong)) ++peer_.port;
  inbound_ = std::min<ULONG>(facts.initiator_depth, adapter_->info().MaxInboundReadLimit);
  outbound_ = std::min<ULONG>(facts.responder_resources, adapter_->info().MaxOutboundReadLimit);
  keep(facts.private_data);
}

HRESULT ConnectorCore::accept(IUnknown* queue_pair, ULONG inbound, ULONG outbound, const void* data, ULONG bytes, OVERLAPPED* overlapped) {
  if (adapter_->refuses()) return ND_INSUFFICIENT_RESOURCES;
  if (state_ != State::requested) return unconnected();
  const bool impatient = adapter_->departs(departure::kImpatientAccept);
  if (impatient && adapter_->world().now() - waiting_since_ > kPatience) return ND_IO_TIMEOUT;
  const auto qp = core_of<QueuePairCore>(queue_pair);
  if (const HRESULT status = usable(qp); FAILED(status)) return status;
  if (adapter_->departs(departure::kCalleeDataUnchecked)) bytes = std::min(bytes, adapter_->info().MaxCalleeData);
  if (const HRESULT status = judge(data, bytes, adapter_->info().MaxCalleeData); FAILED(status)) return status;
  if (!requests_.begin(overlapped, kAccept)) return ND_INVALID_PARAMETER_6;
  // Never more than the peer offered.
  if (!adapter_->departs(departure::kReadLimitsUnclipped)) {
    inbound_ = std::min(inbound, inbound_);
    outbound_ = std::min(outbound, outbound_);
  } else {
    inbound_ = inbound;
    outbound_ = outbound;
  }
  rdma::ConnectionParameters parameters;
  parameters.private_data = {static_cast<const std::uint8_t*>(data), bytes};
  if (adapter_->departs(departure::kAcceptDataLost)) parameters.private_data = {};
  parameters.responder_resources = clipped(inbound_, 255);
  parameters.initiator_depth = clipped(outbound_, 255);
  parameters.rnr_retry_count = rnr_retries(*adapter_, qp->shares_receives());
  queue_pair_ = qp.get();
  state_ = State::accepting;
  auto& device_queue_pair = qp->attach(*this, shared_from_this());
  qp->give_receives();
  request_->accept(device_queue_pair, parameters);
  request_.reset();
  if (adapter_->departs(departure::kAcceptCompletesEarly)) requests_.complete(kAccept, ND_SUCCESS);
  return ND_PENDING;
}

HRESULT ConnectorCore::reject(const void* data, ULONG bytes) {
  if (state_ != State::requested && state_ != State::replied) {
    return state_ == State::over && adapter_->departs(departure::kRejectTwice) ? ND_SUCCESS : unconnected();
  }
  // A refusal has less room than a reply.
  const ULONG most = std::min(adapter_->info().MaxCalleeData, kRefusalData);
  if (const HRESULT status = judge(data, bytes, most); FAILED(status)) return status;
  ByteView said{static_cast<const std::uint8_t*>(data), bytes};
  if (adapter_->departs(departure::kRejectDataLost)) said = {};
  if (state_ == State::requested) {
    request_->reject(rdma::reject_reason::consumer_defined, said);
    request_.reset();
  } else {
    queue_pair_->device_queue_pair()->refuse(rdma::reject_reason::consumer_defined, said);
    queue_pair_->detach();
    queue_pair_ = nullptr;
  }
  state_ = State::over;
  release_address();
  return ND_SUCCESS;
}

HRESULT ConnectorCore::read_limits(ULONG* inbound, ULONG* outbound) const {
  if (!has_peer(state_) && !adapter_->departs(departure::kLimitsBeforeConnecting)) return ND_CONNECTION_INVALID;
  const bool late = passive_ && state_ >= State::accepting;
  if (late && adapter_->departs(departure::kLimitsLateRefused)) return ND_INVALID_DEVICE_STATE;
  const bool swapped = adapter_->departs(departure::kReadLimitsSwapped);
  if (inbound != nullptr) *inbound = swapped ? outbound_ : inbound_;
  if (outbound != nullptr) *outbound = swapped ? inbound_ : outbound_;
  return ND_SUCCESS;
}

HRESULT ConnectorCore::private_data(void* out, ULONG* bytes) const {
  if (bytes == nullptr) return ND_INVALID_PARAMETER_2;
  if ((!has_data_ || state_ >= State::connected) && adapter_->departs(departure::kDataAnytime)) {
    *bytes = 0;
    return ND_SUCCESS;
  }
  if (!has_data_ && !adapter_->departs(departure::kDataBeforeConnecting)) return ND_CONNECTION_INVALID;
  const ULONG given = out == nullptr ? 0 : *bytes;
  const auto length = static_cast<ULONG>(private_data_.size());
  if (out != nullptr || !adapter_->departs(departure::kDataSizeUnsaid)) *bytes = length;
  if (out != nullptr && !adapter_->departs(departure::kPrivateDataNotCut)) {
    std::copy_n(private_data_.begin(), std::min(given, length), static_cast<std::uint8_t*>(out));
  }
  return given < length ? ND_BUFFER_OVERFLOW : ND_SUCCESS;
}

HRESULT ConnectorCore::local_address(struct sockaddr* out, ULONG* length) const {
  if (state_ == State::idle || state_ == State::bound || state_ == State::over) {
    if (!adapter_->departs(departure::kAddressBeforeConnecting)) return ND_CONNECTION_INVALID;
  }
  Endpoint said = local_;
  if (adapter_->departs(departure::kLocalPortHidden)) said.port = 0;
  const HRESULT status = put_endpoint(said, out, length);
  if (!said.address.is_v4() && adapter_->departs(departure::kIpv6AddressCut)) *length = sizeof(sockaddr_in);
  if (FAILED(status) && out != nullptr && adapter_->departs(departure::kShortAddressTouched)) out->sa_family = AF_INET;
  return status;
}

HRESULT ConnectorCore::peer_address(struct sockaddr* out, ULONG* length) const {
  if (state_ == State::idle || state_ == State::bound || state_ == State::over) return ND_CONNECTION_INVALID;
  return put_endpoint(peer_, out, length);
}

HRESULT ConnectorCore::notify_disconnect(OVERLAPPED* overlapped) {
  if (!was_connected_ && !adapter_->departs(departure::kNotifyBeforeConnecting)) return ND_CONNECTION_INVALID;
  if (!requests_.begin(overlapped, kNotifyDisconnect)) return ND_INVALID_PARAMETER_1;
  const bool late = was_connected_ && state_ != State::connected;
  if (late && !adapter_->departs(departure::kLateNotifyLost)) requests_.complete_each(kNotifyDisconnect, ND_SUCCESS);
  return ND_PENDING;
}

HRESULT ConnectorCore::disconnect(OVERLAPPED* overlapped) {
  if (state_ == State::replied) {
    if (!requests_.begin(overlapped, kDisconnect)) return ND_INVALID_PARAMETER_1;
    reject(nullptr, 0);
    requests_.complete(kDisconnect, ND_SUCCESS);
    return ND_PENDING;
  }
  if (!was_connected_) return unconnected();
  if (disconnect_asked_) return adapter_->departs(departure::kDisconnectTwice) ? ND_SUCCESS : unconnected();
  const bool ended = state_ != State::connected || queue_pair_ == nullptr;
  if (ended && adapter_->departs(departure::kDisconnectAfterPeerRefused)) return ND_CONNECTION_INVALID;
  if (!requests_.begin(overlapped, kDisconnect)) return ND_INVALID_PARAMETER_1;
  disconnect_asked_ = true;
  if (ended) {  // by the peer, or by a queue pair that was released: this end says so too, once
    on_disconnected_locally();
    return ND_PENDING;
  }
  state_ = State::disconnecting;
  queue_pair_->device_queue_pair()->disconnect();
  queue_pair_->ended();
  return ND_PENDING;
}

HRESULT ConnectorCore::cancel() {
  if (adapter_->departs(departure::kConnectorCancelIgnored)) return ND_SUCCESS;
  if (state_ == State::connecting) {
    attempt_failed(ND_CANCELED);
  } else if (state_ == State::completing || state_ == State::accepting) {
    spent(state_ == State::completing ? kCompleteConnect : kAccept, ND_CANCELED);
  }
  requests_.cancel_all();
  return ND_SUCCESS;
}

/// An attempt of the active side came to nothing: it may try again.
void ConnectorCore::attempt_failed(HRESULT status) {
  adapter_->world().loop().cancel(giving_up_);
  release_connection();
  const bool final = status == ND_CONNECTION_REFUSED && adapter_->departs(departure::kRefusalSpends);
  state_ = final ? State::over : State::bound;
  queue_pair_->detach();
  if (adapter_->departs(departure::kFailedConnectDropsReceives)) queue_pair_->flush();
  queue_pair_ = nullptr;
  requests_.complete(kConnect, status);
}

/// The handshake failed when both sides had agreed: nobody can try again with this connector.
void ConnectorCore::spent(unsigned request, HRESULT status) {
  state_ = State::over;
  QueuePairCore* const queue_pair = std::exchange(queue_pair_, nullptr);
  if (rdma::QueuePair* device = queue_pair->device_queue_pair()) device->fail();
  queue_pair->ended();
  release_address();
  requests_.complete(request, status);
}

void ConnectorCore::keep(ByteView data) {
  private_data_.assign(data.begin(), data.end());
  has_data_ = true;
}

void ConnectorCore::on_accepted(rdma::QueuePair&, const rdma::ConnectionFacts& facts) {
  if (state_ != State::connecting) return;
  inbound_ = std::min<ULONG>(inbound_, facts.initiator_depth);
  outbound_ = std::min<ULONG>(outbound_, facts.responder_resources);
  keep(facts.private_data);
  state_ = State::replied;
  waiting_since_ = adapter_->world().now();
  if (!adapter_->departs(departure::kConnectNeverCompletes)) requests_.complete(kConnect, ND_SUCCESS);
}

void ConnectorCore::on_established(rdma::QueuePair&, const rdma::ConnectionFacts&) {
  if (state_ != State::completing && state_ != State::accepting) return;
  const unsigned request = state_ == State::completing ? kCompleteConnect : kAccept;
  state_ = State::connected;
  was_connected_ = true;
  queue_pair_->connected();
  requests_.complete(request, ND_SUCCESS);
}

void ConnectorCore::on_rejected(rdma::QueuePair&, std::uint16_t reason, ByteView private_data) {
  if (state_ == State::connecting) {
    keep(private_data);
    const bool timeout = reason == rdma::reject_reason::timeout;
    HRESULT status = timeout ? ND_IO_TIMEOUT : ND_CONNECTION_REFUSED;
    if (adapter_->departs(departure::kRefusedIsTimeout)) status = ND_IO_TIMEOUT;
    attempt_failed(status);
  } else if (state_ == State::accepting) {
    // A timeout is of one who went before our reply could reach him.
    const HRESULT refused = reason == rdma::reject_reason::timeout ? ND_CONNECTION_ABORTED : ND_CONNECTION_REFUSED;
    spent(kAccept, adapter_->departs(departure::kRefusedAcceptSucceeds) ? ND_SUCCESS : refused);
  } else if (state_ == State::completing) {
    spent(kCompleteConnect, ND_CONNECTION_ABORTED);
  } else if (state_ == State::replied) {
    timed_out_ = reason == rdma::reject_reason::timeout;
    on_reply_withdrawn();
  }
}

/// CompleteConnect will find no connection.
void ConnectorCore::on_reply_withdrawn() {
  state_ = State::over;
  std::exchange(queue_pair_, nullptr)->ended();
  release_address();
}

void ConnectorCore::on_unreachable(rdma::QueuePair&) {
  if (state_ == State::connecting) {
    const Instant end = asked_at_ + kLongPatience;
    if (adapter_->departs(departure::kUnreachablePatient) && adapter_->world().now() < end) {
      adapter_->world().loop().schedule(giving_up_, end);
    } else {
      attempt_failed(ND_IO_TIMEOUT);
    }
  } else if (state_ == State::accepting) {
    spent(kAccept, ND_IO_TIMEOUT);
  }
}

void ConnectorCore::give_up() {
  if (state_ == State::connecting) attempt_failed(ND_IO_TIMEOUT);
}

void ConnectorCore::on_disconnected(rdma::QueuePair&) {
  switch (state_) {
    case State::replied:
      return on_reply_withdrawn();
    case State::completing:
      return spent(kCompleteConnect, ND_CONNECTION_ABORTED);
    case State::accepting:
      return spent(kAccept, ND_CONNECTION_ABORTED);
    case State::connected:
      if (adapter_->departs(departure::kDisconnectUnnoticed)) return;
      on_disconnected_locally();
      return;
    case State::disconnecting:
      on_disconnected_locally();
      return;
    default:
      return;
  }
}

void ConnectorCore::on_disconnected_locally() {
  const bool watched = requests_.pending(kNotifyDisconnect);
  state_ = State::over;
  release_address();
  if (QueuePairCore* const queue_pair = std::exchange(queue_pair_, nullptr)) queue_pair->ended();
  requests_.complete_each(kNotifyDisconnect, adapter_->departs(departure::kNotifyDisconnectFails) ? ND_CANCELED : ND_SUCCESS);
  if (adapter_->departs(departure::kDisconnectNeverCompletes)) return;
  const bool fails = watched && adapter_->departs(departure::kDisconnectsMeetBadly);
  requests_.complete_each(kDisconnect, fails ? ND_CONNECTION_ABORTED : ND_SUCCESS);
}

void ConnectorCore::on_queue_error(rdma::QueuePair&) {
  // A request failed: the connection is of no use any more, and the peer should know.
  if (state_ != State::connected || adapter_->departs(departure::kFailureKeptFromPeer)) return;
  queue_pair_->device_queue_pair()->disconnect();
  queue_pair_->ended();
}

void ConnectorCore::queue_pair_gone() {
  queue_pair_ = nullptr;
  if (state_ == State::connecting) {
    adapter_->world().loop().cancel(giving_up_);
    release_connection();
    state_ = State::bound;
    requests_.complete(kConnect, ND_CANCELED);
    return;
  }
  if (!has_peer(state_) || state_ == State::requested) return;
  state_ = State::over;
  release_address();
  requests_.complete(kCompleteConnect, ND_CANCELED);
  requests_.complete(kAccept, ND_CANCELED);
  requests_.complete_each(kNotifyDisconnect, ND_SUCCESS);
  requests_.complete_each(kDisconnect, ND_SUCCESS);
}

void ConnectorCore::close() {
  if (adapter_->departs(departure::kConnectorReleaseForgets)) requests_.forget();
  request_.reset();  // rejects it
  if (queue_pair_ != nullptr) {
    rdma::QueuePair* const device = queue_pair_->device_queue_pair();
    switch (state_) {
      case State::connecting:
        attempt_failed(ND_CANCELED);
        break;
      case State::replied:
        reject(nullptr, 0);
        break;
      case State::connected:
        device->disconnect();
        std::exchange(queue_pair_, nullptr)->ended();
        break;
      case State::completing:
      case State::accepting:
        spent(state_ == State::completing ? kCompleteConnect : kAccept, ND_CANCELED);
        break;
      default:
        break;
    }
  }
  state_ = State::over;
  release_address();
  requests_.cancel_all();
}

void ConnectorCore::release_connection() {
  if (std::exchange(owns_connection_, false)) adapter_->ports().free_connection(local_.port, peer_);
}

void ConnectorCore::release_address() {
  release_connection();
  if (std::exchange(owns_port_, false)) adapter_->ports().free_connector(local_.port);
}

void release_queue_pair(QueuePairCore& queue_pair) {
  if (const auto connector = queue_pair.connector()) connector->queue_pair_gone();
}

}  // namespace fb::networkdirect
