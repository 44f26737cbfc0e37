#include "conformance/runner/nd_simulated.h"

#include <algorithm>

#include "conformance/runner/nd_bench.h"
#include "sim/networkdirect/provider/provider.h"

namespace fb::conformance {

namespace nd = networkdirect;

namespace {

/// The hooks of both providers. Regions stand on the wire at addresses in the order of their registration.
class BenchHooks final : public nd::ProviderHooks {
 public:
  explicit BenchHooks(std::vector<std::string_view> points) : points_(std::move(points)) {}
  bool departs(std::string_view point) override { return std::ranges::find(points_, point) != points_.end(); }

  std::uint64_t registered_as(std::uint64_t pointer, std::uint64_t bytes) override {
    // What lay there before was freed.
    std::erase_if(regions_, [&](const Region& r) { return r.pointer < pointer + bytes && pointer < r.pointer + r.bytes; });
    const Region made{pointer, bytes, next_};
    next_ += (bytes / kGrain + 2) * kGrain;
    regions_.push_back(made);
    return made.wire;
  }
  std::uint64_t on_the_wire(std::uint64_t address) override {
    for (const Region& r : regions_) {
      // A little outside is an address of that region too: cases ask for it.
      if (address + NdMemory::kMargin - r.pointer < r.bytes + 2 * NdMemory::kMargin) return r.wire + (address - r.pointer);
    }
    return address;
  }

 private:
  static constexpr std::uint64_t kGrain = 1 << 16;
  struct Region {
    std::uint64_t pointer, bytes, wire;
  };
  std::vector<std::string_view> points_;
  std::vector<Region> regions_;
  std::uint64_t next_ = std::uint64_t{1} << 44;
};

/// Two devices, each with a provider over it.
class TwoDevices final : public NdSimulated {
 public:
  TwoDevices(World& world, const Environment& environment)
      : network_(world, environment.setup()),
        hooks_(environment.deviations->points(deviations::Product::nd_provider)),
        a_(open_device(world, network_.bench, {"active", kBenchAddress}, setup(environment))),
        b_(open_device(world, network_.product, {"passive", kProductAddress}, setup(environment))) {
    std::vector<std::shared_ptr<nd::Place>> places = {nd::make_inline_place(world, *a_, &hooks_),
                                                      nd::make_inline_place(world, *b_, &hooks_)};
    fabric_ = nd::make_fixed_fabric(std::move(places));
  }
  const std::shared_ptr<nd::Fabric>& fabric() const override { return fabric_; }

 private:
  static EmbeddedSetup setup(const Environment& environment) {
    EmbeddedSetup made = environment.setup();
    made.limits.max_fast_register_bytes = 1u << 30;
    return made;
  }
  EmbeddedNetwork network_;
  BenchHooks hooks_;
  std::unique_ptr<softroce::SoftRoceDevice> a_, b_;
  std::shared_ptr<nd::Fabric> fabric_;
};

}  // namespace

std::unique_ptr<NdSimulated> make_simulated(World& world, const Environment& environment) {
  return std::make_unique<TwoDevices>(world, environment);
}

}  // namespace fb::conformance
