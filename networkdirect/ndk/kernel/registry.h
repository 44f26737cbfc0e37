// NDIS and WSK as NDK knows them: miniports register what they are, consumers open adapters of them by name, the
// Windows Sockets kernel by interface index. Every call needs PASSIVE_LEVEL.
#pragma once

#include <ndisndk.h>
#include <wskndk.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "networkdirect/ndk/kernel/kernel.h"

namespace fb::ndk {

class Registry {
 public:
  /// The kernel must outlive the registry.
  explicit Registry(Kernel& kernel);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// A miniport adapter comes up: `characteristics` with the handlers that open and close, `attributes` with what it
  /// can do and whether NDK is on, `context` for the handlers. Names and indices are unique. Fails with a sentence
  /// when one is taken or a structure is not what it says it is.
  Result<void> add(std::string_view name, NET_IFINDEX index, const NDIS_NDK_PROVIDER_CHARACTERISTICS& characteristics,
                   const NDIS_MINIPORT_ADAPTER_NDK_ATTRIBUTES& attributes, NDIS_HANDLE context);
  /// The miniport adapter goes. False, and nothing happens, while adapters of it are open.
  bool remove(std::string_view name);

  struct Miniport {
    std::string name;
    NET_IFINDEX index = 0;
    bool enabled = false;
    bool disabling = false;  ///< waits for `open` to become 0
    std::size_t open = 0;
    NDIS_NDK_CAPABILITIES capabilities = {};
  };
  /// In the order of their names.
  std::vector<Miniport> miniports() const;

  /// OID_NDK_SET_STATE. STATUS_SUCCESS: done; STATUS_PENDING: switching off waits until the last adapter is closed, then
  /// `done` runs (with true when it is off, with false when it was switched on again meanwhile). From the first
  /// moment on nothing can be opened. STATUS_INVALID_PARAMETER: nobody has that name.
  NTSTATUS set_state(std::string_view name, bool enabled, std::function<void(bool off)> done = {});

  /// Opens and closes by name. NDIS_STATUS_ADAPTER_NOT_READY: NDK is off, or nobody has that name.
  NDIS_STATUS open(std::string_view name, NDK_VERSION version, NDK_ADAPTER** adapter);
  /// Returns when everything on the adapter is closed. A finding when it was not opened with open().
  void close(NDK_ADAPTER* adapter);

  /// For a consumer that comes by the Windows Sockets kernel: the first argument of the functions and the functions, as
  /// WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH gives them. They know adapters by the interface's index.
  PWSK_CLIENT wsk_client() { return this; }
  static const WSK_PROVIDER_NDK_DISPATCH& wsk_dispatch();

 private:
  struct Entry {
    Miniport facts;
    NDIS_NDK_PROVIDER_CHARACTERISTICS characteristics = {};
    NDIS_HANDLE context = nullptr;
    std::function<void(bool)> on_disabled;
  };
  enum class Way : std::uint8_t { name, wsk };
  struct Opened {
    Entry* entry;
    Way way;
  };
  NDIS_STATUS open(Entry* entry, NDK_VERSION version, Way way, NDK_ADAPTER** adapter);
  void close(NDK_ADAPTER* adapter, Way way, std::string_view function);
  Entry* find(std::string_view name);
  Entry* find(NET_IFINDEX index);
  static NTSTATUS WINAPI wsk_open(PWSK_CLIENT client, NDK_VERSION version, NET_IFINDEX index, NDK_ADAPTER** adapter);
  static VOID WINAPI wsk_close(PWSK_CLIENT client, NDK_ADAPTER* adapter);

  Kernel& kernel_;
  std::map<std::string, std::unique_ptr<Entry>, std::less<>> entries_;
  std::map<NDK_ADAPTER*, Opened> opened_;  // looked up, never walked
};

/// The name of the project's own provider; others are named NDK:NAME on command lines.
inline constexpr std::string_view kDefaultProvider = "default";

}  // namespace fb::ndk
