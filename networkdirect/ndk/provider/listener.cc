#include "networkdirect/ndk/provider/listener.h"

#include "networkdirect/ndk/provider/addresses.h"
#include "networkdirect/ndk/provider/connector.h"

namespace fb::ndk::provider {

Listener::Listener(Adapter& adapter, NDK_FN_CONNECT_EVENT_CALLBACK event, PVOID context)
    : NDK_LISTENER{}, Object(adapter, NdkObjectTypeListener), event_(event), context_(context) {
  begin_header(Header, adapter, NdkObjectTypeListener);
  Dispatch = &adapter.tables().listener;
}

Listener::~Listener() = default;

NTSTATUS Listener::create(NDK_ADAPTER* ndk, NDK_FN_CONNECT_EVENT_CALLBACK event, PVOID event_context, NDK_FN_CREATE_COMPLETION completion,
                          PVOID context, NDK_LISTENER** place) {
  auto& adapter = of<Adapter>(ndk);
  if (event == nullptr) return STATUS_INVALID_PARAMETER;
  return adapter.answer_creation(STATUS_SUCCESS, new Listener(adapter, event, event_context), completion, context, place);
}

NTSTATUS Listener::listen(NDK_LISTENER* ndk, PSOCKADDR address, ULONG length, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& listener = of<Listener>(ndk);
  Adapter& a = listener.adapter();
  if (a.refuses()) return a.answer(listener, completion, context, [] { return STATUS_INSUFFICIENT_RESOURCES; });
  const auto where = endpoint_of(address, length);
  if (!where) return STATUS_INVALID_ADDRESS;
  const bool ours = where->address == a.device().address() || unspecified(where->address);
  if (!ours && !a.departs(departure::kListenAddressUnchecked)) {
    return a.departs(departure::kListenAddressCode) ? STATUS_SHARING_VIOLATION : STATUS_INVALID_ADDRESS;
  }
  if (listener.bound_ || listener.busy_) return a.departs(departure::kListenTwice) ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_STATE;
  listener.busy_ = true;
  return a.answer(listener, completion, context, [&listener, at = *where] {
    listener.busy_ = false;
    return listener.do_listen(at);
  });
}

NTSTATUS Listener::do_listen(const Endpoint& where) {
  Ports& ports = adapter().miniport().ports;
  const auto port = ports.take_for_listener(where.port);
  const bool other_code = adapter().departs(departure::kPortsExhaustedCode);
  if (!port) return where.port == 0 && !other_code ? STATUS_TOO_MANY_ADDRESSES : STATUS_SHARING_VIOLATION;
  local_ = {adapter().device().address(), *port};
  bound_ = true;
  auto made = adapter().device().listen(*port, *this);
  if (made) {
    device_ = std::move(made).value();
    return STATUS_SUCCESS;
  }
  // Somebody besides us uses the device, or a departure has taken the port twice.
  if (adapter().departs(departure::kListenPortShared)) return STATUS_SUCCESS;
  ports.free_listener(*port);
  bound_ = false;
  return STATUS_SHARING_VIOLATION;
}

NTSTATUS Listener::local_address(NDK_LISTENER* ndk, PSOCKADDR address, ULONG* length) {
  auto& listener = of<Listener>(ndk);
  if (!listener.bound_) return STATUS_INVALID_DEVICE_STATE;
  Endpoint said = listener.local_;
  if (listener.adapter().departs(departure::kListenPortHidden)) said.port = 0;
  if (!said.address.is_v4() && listener.adapter().departs(departure::kIpv6AddressWrong)) said.address = IpAddress();
  return put_endpoint(said, address, length);
}

VOID Listener::control_connect_events(NDK_LISTENER* ndk, BOOLEAN pause) {
  auto& listener = of<Listener>(ndk);
  const Adapter& a = listener.adapter();
  if (pause != 0 ? a.departs(departure::kPauseIgnored) : a.departs(departure::kPauseForEver)) return;
  listener.paused_ = pause != 0;
}

void Listener::on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) {
  // As if nobody listened.
  if (paused_ || closing()) return request->reject(rdma::reject_reason::invalid_service_id, {});
  arrived_.push_back(std::move(request));
  if (!deliver_event_.scheduled()) adapter().world().loop().schedule(deliver_event_, adapter().world().now());
}

void Listener::deliver() {
  auto request = std::move(arrived_.front());
  arrived_.pop_front();
  if (adapter().departs(departure::kRequestLost)) arrived_.clear();  // refused
  if (!arrived_.empty()) adapter().world().loop().schedule(deliver_event_, adapter().world().now());
  auto* const connector = new Connector(adapter());
  connector->take(std::move(request), *this);
  const Pin pin(*this);
  adapter().bring_copies_up_to_date();
  adapter().call_back([&] { event_(context_, connector); });
}

void Listener::begin_close() {
  device_.reset();
  adapter().world().loop().cancel(deliver_event_);
  arrived_.clear();  // refused
  if (bound_ && adapter().departs(departure::kListenerFreedEarly)) take_down();
}

void Listener::take_down() {
  if (bound_) adapter().miniport().ports.free_listener(local_.port);
  bound_ = false;
}

}  // namespace fb::ndk::provider
