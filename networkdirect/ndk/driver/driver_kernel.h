// What drivers' sources find behind ntddk.h and wsk.h: see there. A driver calls plain functions, which belong to nobody; so there is
// one DriverKernel in a process at a time.
//
//   World& world = ...;
//   ndk::Kernel kernel;
//   ndk::Registry registry(kernel);
//   provider.add_to(registry, "default", 1);
//   ndk::DriverKernel driver(world, kernel, registry);
//   DriverEntry(&object, &path);        // or any other function of the driver: its waits run the world
//   object.DriverUnload(&object);
//   driver.pool_left();                 // bytes that it did not give back
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/core/world.h"
#include "networkdirect/ndk/kernel/kernel.h"
#include "networkdirect/ndk/kernel/registry.h"

namespace fb::ndk {

/// Names of rules in findings of drivers.
namespace driver_rule {
/// A wait for something that never happens.
inline constexpr std::string_view kEndlessWait = "ndk.driver.endless_wait";
/// A lock is taken that is held, or released that is not.
inline constexpr std::string_view kLock = "ndk.driver.lock";
/// Memory is freed that is not allocated, or with another tag.
inline constexpr std::string_view kPool = "ndk.driver.pool";
/// An NT_ASSERT of the driver does not hold.
inline constexpr std::string_view kAssert = "ndk.driver.assert";
}  // namespace driver_rule

class DriverKernel {
 public:
  /// All three must outlive it.
  DriverKernel(World& world, Kernel& kernel, Registry& registry);
  ~DriverKernel();
  DriverKernel(const DriverKernel&) = delete;
  DriverKernel& operator=(const DriverKernel&) = delete;

  /// The one that there is.
  static DriverKernel& current();

  World& world() { return world_; }
  Kernel& kernel() { return kernel_; }
  Registry& registry() { return registry_; }

  /// Runs what is due, then until `done`, at most for `limit`; false when it is not done then.
  bool wait(const std::function<bool()>& done, Duration limit);
  /// Calls once, `delay` from now, at that level; a second call for the same key replaces the first.
  void schedule(const void* key, Duration delay, KIRQL level, std::function<void()> call);
  /// Whether it was to be called.
  bool cancel(const void* key);
  bool scheduled(const void* key) const { return later_.contains(key); }
  /// By the driver itself: up, and back to a level from before.
  void raise(KIRQL level);
  void lower(KIRQL level);

  void* allocate(std::size_t bytes, ULONG tag, bool zeroed);
  void free(void* memory, ULONG tag);
  /// What DbgPrint says goes to standard error.
  void print_messages(bool on) { prints_messages_ = on; }
  bool prints_messages() const { return prints_messages_; }

  /// Bytes that are allocated.
  std::size_t pool_left() const;

 private:
  struct Later;
  struct Block {
    std::size_t bytes;
    ULONG tag;
  };
  World& world_;
  Kernel& kernel_;
  Registry& registry_;
  std::vector<std::unique_ptr<IrqlRaiser>> raised_;      // by the driver itself
  std::map<const void*, std::unique_ptr<Later>> later_;  // looked up, never walked while events are made
  std::map<const void*, Block> pool_;
  bool prints_messages_ = false;
};

}  // namespace fb::ndk
