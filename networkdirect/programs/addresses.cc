#include "addresses.h"

#include <cstring>

namespace {

// Lists come in two steps: how long, then the list, which may have grown in between.
template <typename Size, typename Query>
std::vector<Address> list(const char* call, Query query) {
  Size bytes = 0;
  std::vector<ULONGLONG> memory;
  for (;;) {
    auto* const addresses = memory.empty() ? nullptr : reinterpret_cast<SOCKET_ADDRESS_LIST*>(memory.data());
    const HRESULT status = query(addresses, &bytes);
    if (status == ND_SUCCESS && (addresses == nullptr || bytes == 0)) return {};
    if (status == ND_SUCCESS) break;
    if (status != ND_BUFFER_OVERFLOW) check(status, call);
    memory.assign((bytes + sizeof(ULONGLONG) - 1) / sizeof(ULONGLONG), 0);
  }
  const auto* const addresses = reinterpret_cast<const SOCKET_ADDRESS_LIST*>(memory.data());
  std::vector<Address> all;
  const SOCKET_ADDRESS* const entries = addresses->Address;
  for (INT i = 0; i < addresses->iAddressCount; ++i) {
    Address address;
    address.length = static_cast<ULONG>(entries[i].iSockaddrLength);
    if (address.length > sizeof(address.storage)) fail(call, "an address of no known family");
    memcpy(&address.storage, entries[i].lpSockaddr, address.length);
    all.push_back(address);
  }
  return all;
}

}  // namespace

std::vector<Address> all_addresses() {
  std::vector<Address> all = list<SIZE_T>("NdQueryAddressList", [](SOCKET_ADDRESS_LIST* addresses, SIZE_T* bytes) {
    return NdQueryAddressList(ND_QUERY_EXCLUDE_NDv1_ADDRESSES, addresses, bytes);
  });
  if (all.empty()) throw Failure{"NdQueryAddressList", ND_SUCCESS, "but no provider has an address"};
  return all;
}

std::vector<Address> adapter_addresses(IND2Adapter* adapter) {
  return list<ULONG>("QueryAddressList",
                     [adapter](SOCKET_ADDRESS_LIST* addresses, ULONG* bytes) { return adapter->QueryAddressList(addresses, bytes); });
}

Address said_or_first(const Options& options) { return options.address.length != 0 ? options.address : all_addresses().front(); }
