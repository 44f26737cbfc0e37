// What every case has at hand: its own fresh world. Benches for a role (controller_bench.h,
// host_bench.h, rdma_bench.h, endpoint_bench.h ...) add the product under test and the side that the bench plays.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "conformance/runner/role.h"
#include "sim/core/op.h"
#include "sim/core/world.h"

namespace fb::conformance {

class Bench {
 public:
  explicit Bench(World& world) : world_(world) {}
  virtual ~Bench() = default;
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  World& world() { return world_; }
  /// False when the product runs in real time, outside of this process.
  bool virtual_time() { return world_.real_loop() == nullptr; }
  /// Why the product itself is no more, in words; empty while it is there.
  virtual std::string product_gone() const { return {}; }
  /// True when the product is the emulated one: its marks can be seen.
  virtual bool embedded() const { return true; }
  /// After the case: ends what is still connected, so that the next case finds a quiet product.
  virtual void finish() {}
  /// Names the part of the case that begins: a comment in the capture, a line in the ladder.
  void step(std::string_view text);
  /// The case has got to a point that it must get to; see reaches{}.
  void mark(std::string_view name) { world_.trace().mark(name); }
  /// Random numbers of the case's own, the same in every run with the same seed.
  Rng random(std::string_view name) const { return world_.stream(name); }

 private:
  World& world_;
};

class ControllerBench;
class HostBench;
class RdmaBench;
class EndpointBench;
class ManagementRequesterBench;
class BusBench;
class ProviderBench;
class ConsumerBench;

/// The bench that a case of a role is given.
template <Role R>
struct BenchOf {
  using Type = Bench;
};
template <>
struct BenchOf<Role::controller> {
  using Type = ControllerBench;
};
template <>
struct BenchOf<Role::cdc> {
  using Type = ControllerBench;
};
template <>
struct BenchOf<Role::ddc> {
  using Type = ControllerBench;
};
template <>
struct BenchOf<Role::host> {
  using Type = HostBench;
};
template <>
struct BenchOf<Role::requester> {
  using Type = RdmaBench;
};
template <>
struct BenchOf<Role::responder> {
  using Type = RdmaBench;
};

template <>
struct BenchOf<Role::endpoint> {
  using Type = EndpointBench;
};
template <>
struct BenchOf<Role::management_requester> {
  using Type = ManagementRequesterBench;
};
template <>
struct BenchOf<Role::bus> {
  using Type = BusBench;
};
template <>
struct BenchOf<Role::provider> {
  using Type = ProviderBench;
};
template <>
struct BenchOf<Role::consumer> {
  using Type = ConsumerBench;
};

}  // namespace fb::conformance
