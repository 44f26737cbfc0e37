#include "networkdirect/provider/listener.h"

#include <algorithm>

#include "networkdirect/provider/fault_points.h"

namespace fb::networkdirect {

namespace {

constexpr HRESULT kAlreadyAssociated = static_cast<HRESULT>(0xC0000238);  // STATUS_ADDRESS_ALREADY_ASSOCIATED
constexpr unsigned kGetConnectionRequest = 0;
constexpr std::size_t kLargestBacklog = 1024;
constexpr std::uint16_t kLowPort = 2050;  // a departure

}  // namespace

HRESULT ListenerCore::bind(const struct sockaddr* address, ULONG length) {
  if (adapter_->refuses()) return ND_INSUFFICIENT_RESOURCES;
  if (address == nullptr) return ND_INVALID_PARAMETER_1;
  const auto endpoint = endpoint_of(address, length);
  if (!endpoint) return length < sizeof(sockaddr_in) ? ND_INVALID_PARAMETER_2 : ND_INVALID_ADDRESS;
  if (bound_) return adapter_->departs(departure::kListenerBindTwice) ? ND_SUCCESS : kAlreadyAssociated;
  const bool any = endpoint->address == IpAddress::v4(0, 0, 0, 0) || endpoint->address == IpAddress();
  if (any && adapter_->departs(departure::kAnyAddressRefused)) return ND_INVALID_ADDRESS;
  const bool foreign = !any && endpoint->address != adapter_->address();
  if (foreign && !adapter_->departs(departure::kBindAnywhere)) return ND_INVALID_ADDRESS;
  const bool low = endpoint->port == 0 && adapter_->departs(departure::kListenerEphemeralLow);
  const auto port = adapter_->ports().take_for_listener(low ? kLowPort : endpoint->port);
  if (!port) {
    if (endpoint->port != 0 && adapter_->departs(departure::kListenerPortShared)) return ND_SUCCESS;
    const bool none_left = endpoint->port == 0 && !adapter_->departs(departure::kListenerPortsExhaustedCode);
    return none_left ? ND_TOO_MANY_ADDRESSES : ND_SHARING_VIOLATION;
  }
  local_ = {adapter_->address(), *port};
  bound_ = true;
  return ND_SUCCESS;
}

HRESULT ListenerCore::listen(ULONG backlog) {
  if (adapter_->refuses()) return ND_INSUFFICIENT_RESOURCES;
  if (!bound_) return adapter_->departs(departure::kListenUnbound) ? ND_SUCCESS : ND_INVALID_DEVICE_STATE;
  if (device_listener_ != nullptr) {
    return adapter_->departs(departure::kListenTwice) ? ND_SUCCESS : ND_INVALID_DEVICE_STATE;
  }
  auto listener = adapter_->device().listen(local_.port, *this);
  if (!listener) return ND_SHARING_VIOLATION;  // somebody besides us uses the device
  device_listener_ = std::move(listener).value();
  backlog_ = backlog == 0 ? kLargestBacklog : std::min<std::size_t>(backlog, kLargestBacklog);
  return ND_SUCCESS;
}

HRESULT ListenerCore::local_address(struct sockaddr* out, ULONG* length) const {
  if (device_listener_ == nullptr && !adapter_->departs(departure::kListenerAddressEarly)) return ND_INVALID_DEVICE_STATE;
  Endpoint said = local_;
  if (adapter_->departs(departure::kListenerPortHidden)) said.port = 0;
  return put_endpoint(said, out, length);
}

HRESULT ListenerCore::get_connection_request(IUnknown* connector, OVERLAPPED* overlapped) {
  if (adapter_->refuses()) return ND_INSUFFICIENT_RESOURCES;
  if (device_listener_ == nullptr && !adapter_->departs(departure::kRequestBeforeListen)) return ND_INVALID_DEVICE_STATE;
  auto core = core_of<ConnectorCore>(connector);
  if (core == nullptr || &core->adapter() != adapter_.get()) return ND_INVALID_PARAMETER_1;
  const bool used = !core->unused() || std::ranges::find(waiting_, core) != waiting_.end();
  if (used && !adapter_->departs(departure::kUsedConnectorTaken)) return ND_CONNECTION_ACTIVE;
  if (!requests_.begin(overlapped, kGetConnectionRequest)) return ND_INVALID_PARAMETER_2;
  waiting_.push_back(std::move(core));
  match();
  return ND_PENDING;
}

void ListenerCore::on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) {
  if (waiting_.empty() && arrived_.size() >= backlog_ && !adapter_->departs(departure::kBacklogIgnored)) {
    request->reject(rdma::reject_reason::no_resources, {});
    return;
  }
  arrived_.push_back(std::move(request));
  match();
}

void ListenerCore::match() {
  while (!arrived_.empty() && !waiting_.empty()) {
    // The oldest request for the one who asked first.
    const bool backwards = adapter_->departs(departure::kRequestsOutOfOrder);
    auto request = std::move(backwards ? arrived_.back() : arrived_.front());
    backwards ? arrived_.pop_back() : arrived_.pop_front();
    const auto connector = std::move(waiting_.front());
    waiting_.pop_front();
    connector->take(std::move(request), local_);
    if (adapter_->departs(departure::kListenerTakesConnections)) filled_.push_back(connector);
    requests_.complete(kGetConnectionRequest, ND_SUCCESS);
    if (adapter_->departs(departure::kRequestAnswersAll)) requests_.complete_all(ND_SUCCESS);
  }
}

HRESULT ListenerCore::cancel() {
  if (adapter_->departs(departure::kListenerCancelIgnored)) return ND_SUCCESS;
  waiting_.clear();
  requests_.cancel_all();
  return ND_SUCCESS;
}

void ListenerCore::close() {
  device_listener_.reset();
  arrived_.clear();  // refused
  waiting_.clear();
  for (const auto& filled : filled_) {
    if (const auto connector = filled.lock()) connector->close();
  }
  if (adapter_->departs(departure::kListenerCloseForgets)) requests_.forget();
  requests_.cancel_all();
  if (bound_ && !adapter_->departs(departure::kPortStaysTaken)) adapter_->ports().free_listener(local_.port);
  bound_ = false;
}

Listener::Listener(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file)
    : core_(std::make_shared<ListenerCore>(std::move(adapter), std::move(file))) {
  live(Kind::listener, core_);
}

HRESULT Listener::CancelOverlappedRequests() {
  return on_device(core_->adapter(), [&] { return core_->cancel(); });
}

HRESULT Listener::GetOverlappedResult(OVERLAPPED* overlapped, BOOL wait) { return overlapped_result(core_->adapter(), overlapped, wait); }

HRESULT Listener::Bind(const struct sockaddr* address, ULONG length) {
  return on_device(core_->adapter(), [&] { return core_->bind(address, length); });
}

HRESULT Listener::Listen(ULONG backlog) {
  return on_device(core_->adapter(), [&] { return core_->listen(backlog); });
}

HRESULT Listener::GetLocalAddress(struct sockaddr* address, ULONG* length) {
  return on_device(core_->adapter(), [&] { return core_->local_address(address, length); });
}

HRESULT Listener::GetConnectionRequest(IUnknown* connector, OVERLAPPED* overlapped) {
  return on_device(core_->adapter(), [&] {
    Requests::Call call(core_->requests(), overlapped, core_->adapter());
    return call.answer(core_->get_connection_request(connector, overlapped));
  });
}

void Listener::released() {
  const auto adapter = core_->shared_adapter();
  adapter->strand().call([&] {
    core_->close();
    core_.reset();
  });
}

}  // namespace fb::networkdirect
