#include "conformance/runner/nd_simulated.h"

#include <algorithm>

#include "sim/networkdirect/provider/provider.h"

namespace fb::conformance {

namespace nd = networkdirect;

namespace {

/// The hooks of both providers.
class BenchHooks final : public nd::ProviderHooks {
 public:
  BenchHooks(std::vector<std::string_view> points, const CaseMemory& memory) : points_(std::move(points)), memory_(memory) {}
  bool departs(std::string_view point) override { return std::ranges::find(points_, point) != points_.end(); }
  std::uint64_t on_the_wire(std::uint64_t address) override { return memory_.on_the_wire(address); }

 private:
  std::vector<std::string_view> points_;
  const CaseMemory& memory_;
};

/// Two devices, each with a provider over it.
class TwoDevices final : public NdSimulated {
 public:
  TwoDevices(World& world, const Environment& environment, const CaseMemory& memory)
      : network_(world, environment.setup()),
        hooks_(environment.deviations->points(deviations::Product::nd_provider), memory),
        a_(open_device(world, network_.bench, {"active", environment.setup().bench_address}, setup(environment))),
        b_(open_device(world, network_.product, {"passive", environment.setup().product_address}, setup(environment))) {
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

std::unique_ptr<NdSimulated> make_simulated(World& world, const Environment& environment, const CaseMemory& memory) {
  return std::make_unique<TwoDevices>(world, environment, memory);
}

}  // namespace fb::conformance
