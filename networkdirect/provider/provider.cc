#include "networkdirect/provider/provider.h"

#include <algorithm>

#include "networkdirect/provider/adapter.h"
#include "networkdirect/provider/addresses.h"
#include "networkdirect/provider/fault_points.h"

namespace fb::networkdirect {

namespace {

// Adapter ids are the places of the addresses in the fabric's list, from here on.
constexpr UINT64 kFirstAdapterId = 0xFAB0000000000001;

/// The core of an adapter goes on its device's thread, wherever its last user is.
std::shared_ptr<AdapterCore> make_core(const std::shared_ptr<Place>& place, UINT64 id) {
  return {new AdapterCore(place, id), [place](AdapterCore* core) { place->strand().call([&] { delete core; }); }};
}

class Provider final : public Object<IND2Provider> {
 public:
  explicit Provider(std::shared_ptr<Fabric> fabric) : fabric_(std::move(fabric)) { live(Kind::provider, nullptr); }

  HRESULT STDMETHODCALLTYPE QueryAddressList(SOCKET_ADDRESS_LIST* list, ULONG* bytes) override {
    const HRESULT status = put_address_list(fabric_->addresses(), list, bytes);
    if (status == ND_BUFFER_OVERFLOW && list != nullptr && departs(departure::kShortListTouched)) list->iAddressCount = 0;
    return status;
  }
  HRESULT STDMETHODCALLTYPE ResolveAddress(const struct sockaddr* address, ULONG length, UINT64* id) override {
    if (address == nullptr) return ND_INVALID_PARAMETER_1;
    if (id == nullptr) return ND_INVALID_PARAMETER_3;
    const auto endpoint = endpoint_of(address, length);
    if (!endpoint) return ND_INVALID_ADDRESS;
    const auto addresses = fabric_->addresses();
    const auto at = std::ranges::find(addresses, endpoint->address);
    if (at == addresses.end() && departs(departure::kResolveAnything)) {
      *id = kFirstAdapterId;
      return ND_SUCCESS;
    }
    if (at == addresses.end()) return ND_INVALID_ADDRESS;
    if (endpoint->port != 0 && departs(departure::kResolveMindsPort)) return ND_INVALID_ADDRESS;
    *id = kFirstAdapterId + static_cast<UINT64>(at - addresses.begin());
    return ND_SUCCESS;
  }
  HRESULT STDMETHODCALLTYPE OpenAdapter(REFIID iid, UINT64 id, VOID** out) override {
    if (out == nullptr) return ND_INVALID_PARAMETER_3;
    *out = nullptr;
    const auto addresses = fabric_->addresses();
    const bool known = id >= kFirstAdapterId && id - kFirstAdapterId < addresses.size();
    if (!known && departs(departure::kOpensAnyId)) id = kFirstAdapterId;
    if (id < kFirstAdapterId || id - kFirstAdapterId >= addresses.size()) return ND_INVALID_PARAMETER;
    const auto place = fabric_->open(addresses[static_cast<std::size_t>(id - kFirstAdapterId)]);
    if (!place) return ND_DEVICE_NOT_READY;
    HRESULT status = ND_SUCCESS;
    (*place)->strand().call([&] { status = give(new Adapter(make_core(*place, id)), iid, out); });
    return status;
  }

 private:
  bool answers(REFIID iid) const override { return iid == IID_IND2Provider; }
  bool departs(std::string_view point) const override {
    ProviderHooks* const hooks = fabric_->hooks();
    return hooks != nullptr && hooks->departs(point);
  }
  std::shared_ptr<Fabric> fabric_;
};

class Factory final : public Object<IClassFactory> {
 public:
  explicit Factory(std::shared_ptr<Fabric> fabric) : fabric_(std::move(fabric)) { live(Kind::factory, nullptr); }

  HRESULT STDMETHODCALLTYPE CreateInstance(IUnknown* outer, REFIID iid, VOID** out) override {
    if (out == nullptr) return E_POINTER;
    *out = nullptr;
    if (outer != nullptr) return CLASS_E_NOAGGREGATION;
    return give(new Provider(fabric_), iid, out);
  }
  // Objects alone keep the library loaded.
  HRESULT STDMETHODCALLTYPE LockServer(BOOL) override { return S_OK; }

 private:
  bool answers(REFIID iid) const override { return iid == IID_IClassFactory; }
  std::shared_ptr<Fabric> fabric_;
};

}  // namespace

HRESULT make_provider(std::shared_ptr<Fabric> fabric, REFIID iid, VOID** out) {
  if (out == nullptr) return E_POINTER;
  *out = nullptr;
  if (iid == IID_IClassFactory) return give(new Factory(std::move(fabric)), iid, out);
  return give(new Provider(std::move(fabric)), iid, out);
}

std::size_t living_objects() { return LiveObjects::instance().count(); }

}  // namespace fb::networkdirect
