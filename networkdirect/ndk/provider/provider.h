// A provider of NDK over any rdma::Device: what the driver of a network card would be, in a world of one thread, in
// virtual or in real time. Nothing of it waits except the close of an adapter.
//
//   ndk::Kernel kernel;
//   ndk::Provider provider(world, kernel, device, {});
//   NDK_ADAPTER* adapter = nullptr;
//   provider.open({2, 1}, &adapter);          // or by name, after provider.add_to(registry, "default", 1)
//   ... adapter->Dispatch->NdkCreateCq(...) ...
//   provider.close(adapter);
//
// Callbacks come from the loop, each from an event of its own, at DISPATCH_LEVEL; with Answers::before_return those of
// functions that may pend come from inside the function, as the interface permits. Consumers are trusted as by a driver:
// a closed object that is used again is memory that is freed.
//
// What the device cannot tell is not told: CM reject reasons become statuses, queue pairs have no numbers. Memory has
// the consumer's virtual addresses on the wire; consumers that want others ask for the extension in
// networkdirect/ndk/kernel/extension.h. Logical addresses (NdkBuildLAM) are no addresses of anything, so that who takes
// them for pointers, or pointers for them, is found out. One fast registration over pages that do not lie side by
// side is kept by copying: see NdkFastRegister in memory.h.
#pragma once

#include <ndisndk.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/world.h"
#include "networkdirect/ndk/kernel/kernel.h"
#include "networkdirect/ndk/kernel/registry.h"
#include "networkdirect/ndk/provider/hooks.h"
#include "sim/rdma/device.h"

namespace fb::ndk {

/// How functions answer that may say STATUS_PENDING. What the network must answer always pends.
enum class Answers : std::uint8_t {
  natural,        ///< creations and closes at once; what a card would do by itself (registrations, resizing) later
  at_once,        ///< never pending where that can be
  later,          ///< always pending, the callback from an event
  before_return,  ///< always pending, the callback before the function returns
  random          ///< each call one of the three, by the world's seed
};

struct ProviderOptions {
  /// Names the random stream and the adapter in findings.
  std::string name = "ndk";
  /// 1.1, 1.2, 2.0 or 2.1. Consumers of major version 1 are served by 2.x as 1.2.
  NDK_VERSION version = {2, 1};
  Answers answers = Answers::natural;
  /// How long an answer that is `later` takes.
  Duration answer_delay;
  /// NdkArmCq calls back from inside, where it can fire at once. Otherwise from an event.
  bool notify_inside_arm = false;
  /// Logical addresses of neighbouring pages are no neighbours.
  bool scattered_logical_pages = false;
  /// What adapters tell; what the device does not reach is cut down to it.
  ULONG max_cq_depth = 8192;
  ULONG max_srq_depth = 4096;
  ULONG max_fast_register_pages = 4096;
  /// Whether connections to the own address work is the device's affair.
  bool loopback = false;
  NDK_RDMA_TECHNOLOGY technology = NdkRoCEv2;
  /// Differences of real providers that are on, and the most that adapters shall tell of fields of NDK_ADAPTER_INFO: for
  /// parse_behaviour().
  std::set<std::string_view> points = {};
  std::vector<std::pair<std::string, std::uint64_t>> limits = {};
  /// Deliberate departures; null is honest. Must outlive the provider.
  ProviderHooks* hooks = nullptr;
};

/// Objects that were alive when their adapter was closed.
struct LeakedObjects {
  NDK_OBJECT_TYPE type = NdkObjectTypeUndefined;
  std::size_t count = 0;
};
using LeakReport = std::vector<LeakedObjects>;

/// "Qp", "Cq" ...
std::string_view name_of(NDK_OBJECT_TYPE type);

class Miniport;

class Provider {
 public:
  /// World, kernel and device must outlive the provider, and it everything that was opened on it. One provider a device:
  /// it has the device's port space.
  Provider(World& world, Kernel& kernel, rdma::Device& device, const ProviderOptions& options);
  ~Provider();
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  /// `version`: the major one, and the lowest minor one that the consumer can live with. The adapter has the highest minor
  /// one of that major. NDIS_STATUS_BAD_VERSION: there is none. At PASSIVE_LEVEL.
  NDIS_STATUS open(NDK_VERSION version, NDK_ADAPTER** adapter);
  /// Steps the world until everything on the adapter is closed and no callback is on its way. When that never comes (the
  /// world falls silent, or its patience passes) or cannot be waited for (inside an event), what is left is a finding
  /// and stays with the provider until its end. At PASSIVE_LEVEL.
  LeakReport close(NDK_ADAPTER* adapter);

  /// How many adapters are open.
  std::size_t open_adapters() const;
  /// All objects of all adapters, adapters aside.
  std::size_t live_objects() const;

  /// Registers it under a name and an interface's index. False when one is taken. The registry must let go of it
  /// (Registry::remove) before the provider ends.
  bool add_to(Registry& registry, std::string_view name, NET_IFINDEX index, bool enabled = true);

 private:
  std::unique_ptr<Miniport> miniport_;
};

}  // namespace fb::ndk
