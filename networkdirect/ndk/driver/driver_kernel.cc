#include "networkdirect/ndk/driver/driver_kernel.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "base/assert.h"

namespace fb::ndk {

namespace {

/// Drivers call by plain functions.
DriverKernel* the_only_one = nullptr;

}  // namespace

struct DriverKernel::Later final : Event {
  Later(DriverKernel& of, const void* as, KIRQL at, std::function<void()> what)
      : Event("ndk.driver.later"), owner(of), key(as), level(at), call(std::move(what)) {}
  void fire() override {
    // It may be scheduled again from inside.
    const auto self = owner.later_.extract(key);
    const IrqlRaiser raiser(owner.kernel_, level);
    call();
  }
  DriverKernel& owner;
  const void* key;
  KIRQL level;
  std::function<void()> call;
};

DriverKernel::DriverKernel(World& world, Kernel& kernel, Registry& registry) : world_(world), kernel_(kernel), registry_(registry) {
  BENCH_ASSERT(the_only_one == nullptr, "one kernel of drivers in a process at a time");
  the_only_one = this;
}

DriverKernel::~DriverKernel() {
  for (auto& [key, later] : later_) world_.loop().cancel(*later);
  for (const auto& [memory, block] : pool_) std::free(const_cast<void*>(memory));
  the_only_one = nullptr;
}

DriverKernel& DriverKernel::current() {
  BENCH_ASSERT(the_only_one != nullptr, "a driver runs in a DriverKernel");
  return *the_only_one;
}

bool DriverKernel::wait(const std::function<bool()>& done, Duration limit) {
  world_.run_for({});
  const Instant end = world_.now() + limit;
  if (world_.run_until(done, limit)) return true;
  // A world in which nothing happens has let no time pass.
  if (world_.now() < end) world_.run_for(end - world_.now());
  return done();
}

void DriverKernel::schedule(const void* key, Duration delay, KIRQL level, std::function<void()> call) {
  cancel(key);
  auto& later = later_[key] = std::make_unique<Later>(*this, key, level, std::move(call));
  world_.loop().schedule_after(*later, delay);
}

bool DriverKernel::cancel(const void* key) {
  const auto found = later_.find(key);
  if (found == later_.end()) return false;
  world_.loop().cancel(*found->second);
  later_.erase(found);
  return true;
}

void DriverKernel::raise(KIRQL level) { raised_.push_back(std::make_unique<IrqlRaiser>(kernel_, level)); }

void DriverKernel::lower(KIRQL level) {
  while (!raised_.empty() && kernel_.irql() > level) raised_.pop_back();
}

void* DriverKernel::allocate(std::size_t bytes, ULONG tag, bool zeroed) {
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) return nullptr;
  // Pool that nobody cleared holds what was there before; the same each time here.
  std::memset(memory, zeroed ? 0 : 0xCD, bytes);
  pool_[memory] = {bytes, tag};
  return memory;
}

void DriverKernel::free(void* memory, ULONG tag) {
  const auto found = pool_.find(memory);
  if (found == pool_.end()) {
    kernel_.report(driver_rule::kPool, "ExFreePool", "memory is freed that is not allocated");
    return;
  }
  if (tag != 0 && found->second.tag != 0 && tag != found->second.tag) {
    kernel_.report(driver_rule::kPool, "ExFreePoolWithTag", "memory is freed with another tag than it was allocated with");
  }
  pool_.erase(found);
  std::free(memory);
}

std::size_t DriverKernel::pool_left() const {
  std::size_t bytes = 0;
  for (const auto& [memory, block] : pool_) bytes += block.bytes;
  return bytes;
}

}  // namespace fb::ndk
