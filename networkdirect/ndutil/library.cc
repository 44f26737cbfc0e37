#include "networkdirect/ndutil/library.h"

#include <cstddef>

namespace fb::ndutil {

namespace {

template <typename F>
F* function(HMODULE module, const char* name) {
  // By way of the one type of function that compilers let be cast to any other without a word.
  return reinterpret_cast<F*>(reinterpret_cast<void (*)()>(GetProcAddress(module, name)));
}

/// What `ask` fills in, as the interface that was asked for. Success with nothing to show for it is none.
template <typename T, typename Ask>
HRESULT take(std::unique_ptr<T, Releaser>& out, const Ask& ask) {
  void* object = nullptr;
  const HRESULT status = ask(&object);
  if (FAILED(status)) return status;
  if (object == nullptr) return ND_INTERNAL_ERROR;
  out.reset(static_cast<T*>(object));
  return ND_SUCCESS;
}

}  // namespace

HRESULT Library::load() {
  if (module_ != nullptr) return ND_SUCCESS;
  const HMODULE module = LoadLibraryExW(entry_.library.c_str(), nullptr, LOAD_WITH_ALTERED_SEARCH_PATH);
  if (module == nullptr) return ND_DEVICE_NOT_READY;
  get_class_object_ = function<std::remove_pointer_t<ND_DLL_GET_CLASS_OBJECT>>(module, "DllGetClassObject");
  can_unload_now_ = function<std::remove_pointer_t<ND_DLL_CAN_UNLOAD_NOW>>(module, "DllCanUnloadNow");
  if (get_class_object_ == nullptr) {
    FreeLibrary(module);
    return ND_INVALID_DEVICE_REQUEST;
  }
  module_ = module;
  return ND_SUCCESS;
}

void Library::unload_if_unused() {
  if (module_ == nullptr || users != 0 || can_unload_now_ == nullptr || can_unload_now_() != S_OK) return;
  FreeLibrary(module_);
  module_ = nullptr;
}

HRESULT Library::provider(ProviderPointer& out) const {
  const HRESULT direct = take(out, [this](void** object) { return get_class_object_(entry_.id, IID_IND2Provider, object); });
  if (!FAILED(direct)) return direct;
  std::unique_ptr<IClassFactory, Releaser> factory;
  if (FAILED(take(factory, [this](void** object) { return get_class_object_(entry_.id, IID_IClassFactory, object); }))) return direct;
  return take(out, [&factory](void** object) { return factory->CreateInstance(nullptr, IID_IND2Provider, object); });
}

HRESULT query_addresses(IND2Provider& provider, std::vector<Address>& out) {
  // The list may grow between a call that asks for its size and the next, though not for ever.
  constexpr int kTriesMax = 16;
  std::vector<SOCKET_ADDRESS_LIST> buffer;
  HRESULT status = ND_BUFFER_OVERFLOW;
  ULONG bytes = 0;
  for (int i = 0; i < kTriesMax && status == ND_BUFFER_OVERFLOW; ++i) {
    if (bytes > buffer.size() * sizeof(SOCKET_ADDRESS_LIST)) buffer.resize(bytes / sizeof(SOCKET_ADDRESS_LIST) + 1);
    bytes = static_cast<ULONG>(buffer.size() * sizeof(SOCKET_ADDRESS_LIST));
    status = provider.QueryAddressList(buffer.empty() ? nullptr : buffer.data(), &bytes);
  }
  if (FAILED(status)) return status;
  if (buffer.empty() || bytes < sizeof(INT)) return ND_SUCCESS;
  const std::size_t room = (buffer.size() * sizeof(SOCKET_ADDRESS_LIST) - offsetof(SOCKET_ADDRESS_LIST, Address)) / sizeof(SOCKET_ADDRESS);
  const auto* entries =
      reinterpret_cast<const SOCKET_ADDRESS*>(reinterpret_cast<const char*>(buffer.data()) + offsetof(SOCKET_ADDRESS_LIST, Address));
  for (std::size_t i = 0; i < room && static_cast<INT>(i) < buffer.front().iAddressCount; ++i) {
    const INT length = entries[i].iSockaddrLength;
    const auto address = Address::from(entries[i].lpSockaddr, length > 0 ? static_cast<std::size_t>(length) : 0);
    if (address) out.push_back(*address);
  }
  return ND_SUCCESS;
}

HRESULT open_adapter(const Library& library, const Address& address, REFIID iid, void** out) {
  ProviderPointer provider;
  HRESULT status = library.provider(provider);
  if (FAILED(status)) return status;
  SOCKADDR_INET local = address.get();
  UINT64 id = 0;
  status = provider->ResolveAddress(reinterpret_cast<const sockaddr*>(&local), static_cast<ULONG>(address.size()), &id);
  return FAILED(status) ? status : provider->OpenAdapter(iid, id, out);
}

}  // namespace fb::ndutil
