// A provider's library, and what is asked of it. Not guarded: the caller sees to it that one thread at a time loads,
// unloads and counts; a library with users stays loaded and may be called by many.
#pragma once

#include <memory>
#include <vector>

#include "networkdirect/ndutil/address.h"
#include "networkdirect/ndutil/catalogue.h"

namespace fb::ndutil {

struct Releaser {
  void operator()(IUnknown* object) const { object->Release(); }
};
using ProviderPointer = std::unique_ptr<IND2Provider, Releaser>;

class Library {
 public:
  explicit Library(ProviderEntry entry) : entry_(std::move(entry)) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const ProviderEntry& entry() const { return entry_; }
  /// Loads it if it is not. ND_DEVICE_NOT_READY: there is no such library, or it cannot be loaded;
  /// ND_INVALID_DEVICE_REQUEST: it is no provider, as it does not export DllGetClassObject.
  HRESULT load();
  bool is_loaded() const { return module_ != nullptr; }
  /// Unloads it if nobody uses it and DllCanUnloadNow says S_OK. A library that cannot say so stays.
  void unload_if_unused();

  /// An object of its class: from the library itself, otherwise from the factory that it gives. Loaded only.
  HRESULT provider(ProviderPointer& out) const;

  /// Calls under way.
  unsigned users = 0;

 private:
  ProviderEntry entry_;
  HMODULE module_ = nullptr;
  ND_DLL_GET_CLASS_OBJECT get_class_object_ = nullptr;
  ND_DLL_CAN_UNLOAD_NOW can_unload_now_ = nullptr;
};

/// All addresses that the provider has; those that are no IP addresses are left out.
HRESULT query_addresses(IND2Provider& provider, std::vector<Address>& out);
/// An adapter for one of them.
HRESULT open_adapter(const Library& library, const Address& address, REFIID iid, void** out);

}  // namespace fb::ndutil
