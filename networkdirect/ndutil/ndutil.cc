// The functions of ndsupport.h.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "networkdirect/ndutil/resolve.h"
#include "networkdirect/ndutil/state.h"

namespace fb::ndutil {

namespace {

/// Callers may be C: nothing is thrown at them.
template <typename F>
HRESULT guarded(const F& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return ND_NO_MEMORY;
  }
}

/// What NdCheckAddress and NdOpenAdapter say of an address that they cannot even look up.
HRESULT parse(const sockaddr* given, SIZE_T bytes, std::optional<Address>& out) {
  sockaddr head = {};
  if (bytes < sizeof(head)) return ND_INVALID_PARAMETER_2;
  std::memcpy(&head, given, sizeof(head));
  const std::size_t needed = Address::size_of(head.sa_family);
  if (needed == 0) return ND_INVALID_ADDRESS;
  if (bytes < needed) return ND_INVALID_PARAMETER_2;
  out = Address::from(given, bytes);
  return ND_SUCCESS;
}

HRESULT deliver(const std::vector<Address>& addresses, SOCKET_ADDRESS_LIST* list, SIZE_T& bytes) {
  if (addresses.empty()) {
    bytes = 0;
    return ND_SUCCESS;
  }
  const std::size_t head = std::max<std::size_t>(sizeof(SOCKET_ADDRESS_LIST),
                                                 offsetof(SOCKET_ADDRESS_LIST, Address) + addresses.size() * sizeof(SOCKET_ADDRESS));
  std::size_t needed = head;
  for (const Address& address : addresses) needed += address.size();
  const std::size_t room = bytes;
  bytes = needed;
  if (list == nullptr || room < needed) return ND_BUFFER_OVERFLOW;
  list->iAddressCount = static_cast<INT>(addresses.size());
  auto* const start = reinterpret_cast<char*>(list);
  auto* entries = reinterpret_cast<SOCKET_ADDRESS*>(start + offsetof(SOCKET_ADDRESS_LIST, Address));
  char* place = start + head;
  for (const Address& address : addresses) {
    std::memcpy(place, &address.get(), address.size());
    *entries++ = {reinterpret_cast<sockaddr*>(place), static_cast<INT>(address.size())};
    place += address.size();
  }
  return ND_SUCCESS;
}

HRESULT query_list(DWORD flags, SOCKET_ADDRESS_LIST* list, SIZE_T* bytes) {
  const Guard guard;
  State& state = State::instance();
  if (!state.is_started()) return ND_DEVICE_NOT_READY;
  if (bytes == nullptr) return ND_INVALID_PARAMETER_3;
  // There are no addresses of version 1, and none that this library takes for an emulator's: that a provider is
  // software is its own business.
  const bool none = (flags & ND_QUERY_EXCLUDE_NDv2_ADDRESSES) != 0;
  const HRESULT status = state.refresh();
  return FAILED(status) ? status : deliver(none ? std::vector<Address>() : state.addresses(), list, *bytes);
}

HRESULT check(const sockaddr* given, SIZE_T bytes, std::optional<Address>& address, HRESULT none_given) {
  State& state = State::instance();
  if (!state.is_started()) return ND_DEVICE_NOT_READY;
  if (given == nullptr) return none_given;
  HRESULT status = parse(given, bytes, address);
  if (!FAILED(status)) status = state.refresh();
  if (!FAILED(status) && !state.serves(*address)) status = ND_INVALID_ADDRESS;
  return status;
}

HRESULT open_for(REFIID iid, const sockaddr* given, SIZE_T bytes, void** out) {
  std::optional<Address> address;
  {
    const Guard guard;
    if (State::instance().is_started() && out == nullptr) return ND_INVALID_PARAMETER_4;
    if (out != nullptr) *out = nullptr;
    const HRESULT status = check(given, bytes, address, ND_INVALID_PARAMETER_2);
    if (FAILED(status)) return status;
  }
  const HRESULT status = State::open(*address, iid, out);
  if (!FAILED(status)) {
    const Guard guard;
    State::instance().note_opened(*address);
  }
  return status;
}

HRESULT resolve_for(const sockaddr* given, SIZE_T bytes, sockaddr* local, SIZE_T* local_bytes) {
  std::optional<Address> remote;
  Neighbourhood here;
  {
    const Guard guard;
    State& state = State::instance();
    if (!state.is_started()) return ND_DEVICE_NOT_READY;
    if (given == nullptr) return ND_INVALID_PARAMETER_1;
    if (local_bytes == nullptr) return ND_INVALID_PARAMETER_4;
    HRESULT status = parse(given, bytes, remote);
    if (FAILED(status)) return status;
    const SIZE_T room = *local_bytes;
    if (room < remote->size() || local == nullptr) {
      *local_bytes = remote->size();
      return ND_BUFFER_OVERFLOW;
    }
    status = state.refresh();
    if (FAILED(status)) return status;
    here.served = state.addresses();
    here.opened = state.opened();
  }
  std::optional<Address> found;
  here.routed = ask_routing(*remote, here.reachable);
  const HRESULT status = resolve(*remote, here, &State::can_open, found);
  if (FAILED(status)) return status;
  std::memcpy(local, &found->get(), found->size());
  *local_bytes = found->size();
  return ND_SUCCESS;
}

}  // namespace

}  // namespace fb::ndutil

using namespace fb::ndutil;

HRESULT ND_HELPER_API NdStartup() {
  return guarded([] {
    const Guard guard;
    return State::instance().start();
  });
}

HRESULT ND_HELPER_API NdCleanup() {
  return guarded([] {
    const Guard guard;
    return State::instance().stop();
  });
}

VOID ND_HELPER_API NdFlushProviders() {
  guarded([] {
    const Guard guard;
    State::instance().flush();
    return ND_SUCCESS;
  });
}

HRESULT ND_HELPER_API NdQueryAddressList(DWORD flags, SOCKET_ADDRESS_LIST* list, SIZE_T* bytes) {
  return guarded([&] { return query_list(flags, list, bytes); });
}

HRESULT ND_HELPER_API NdResolveAddress(const sockaddr* remote, SIZE_T remote_bytes, sockaddr* local, SIZE_T* local_bytes) {
  return guarded([&] { return resolve_for(remote, remote_bytes, local, local_bytes); });
}

HRESULT ND_HELPER_API NdCheckAddress(const sockaddr* address, SIZE_T bytes) {
  return guarded([&] {
    const Guard guard;
    std::optional<Address> parsed;
    return check(address, bytes, parsed, ND_INVALID_PARAMETER_1);
  });
}

HRESULT ND_HELPER_API NdOpenAdapter(REFIID iid, const sockaddr* local, SIZE_T bytes, VOID** adapter) {
  return guarded([&] { return open_for(iid, local, bytes, adapter); });
}
