#include "conformance/runner/nd_simulated.h"

#include <algorithm>

#include "networkdirect/provider/provider.h"

namespace fb::conformance {

namespace nd = networkdirect;

namespace {

const IpAddress kBenchAddress6 = *IpAddress::parse("fd00::1"), kProductAddress6 = *IpAddress::parse("fd00::2");

/// The hooks of both providers.
class BenchHooks final : public nd::ProviderHooks {
 public:
  BenchHooks(std::vector<std::string_view> points, const CaseMemory& memory, nd::Behaviour behaviour)
      : points_(std::move(points)), memory_(memory), behaviour_(std::move(behaviour)) {}
  bool departs(std::string_view point) override { return std::ranges::find(points_, point) != points_.end(); }
  nd::Behaviour behaviour() override { return behaviour_; }
  std::uint64_t on_the_wire(std::uint64_t address) override { return memory_.on_the_wire(address); }

 private:
  std::vector<std::string_view> points_;
  const CaseMemory& memory_;
  const nd::Behaviour behaviour_;
};

nd::Behaviour behaviour(const Environment& environment, const NdTerms& terms) {
  auto made = nd::parse_behaviour(terms.behaviour);
  if (!made) throw UserError(made.error().text);
  // A case that has terms of its own keeps them, in each lane.
  if (terms.behaviour == NdTerms().behaviour) made.value().answers = static_cast<nd::Answers>(environment.around().answers);
  return std::move(made).value();
}

/// Two devices, each with a provider over it.
class TwoDevices final : public NdSimulated {
 public:
  TwoDevices(World& world, const Environment& environment, const CaseMemory& memory, const NdTerms& terms)
      : network_(world, environment.setup()),
        hooks_(environment.deviations->points(deviations::Product::nd_provider), memory, behaviour(environment, terms)),
        a_(open(world, environment, terms, "active", network_.bench, environment.setup().bench_address, kBenchAddress6)),
        b_(open(world, environment, terms, "passive", network_.product, environment.setup().product_address, kProductAddress6)) {
    std::vector<std::shared_ptr<nd::Place>> places = {nd::make_inline_place(world, *a_, &hooks_),
                                                      nd::make_inline_place(world, *b_, &hooks_)};
    fabric_ = nd::make_fixed_fabric(std::move(places));
  }
  const std::shared_ptr<nd::Fabric>& fabric() const override { return fabric_; }

 private:
  std::unique_ptr<softroce::SoftRoceDevice> open(World& world, const Environment& environment, const NdTerms& terms, const char* name,
                                                 net::SimHost& host, const IpAddress& at, const IpAddress& at6) {
    if (!terms.ipv6 || !at.is_v4()) return open_device(world, host, {name, at}, setup(environment));
    return open_device(world, network_.network.add_host(std::string(name) + "6", at6), {name, at6}, setup(environment));
  }
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

std::unique_ptr<NdSimulated> make_simulated(World& world, const Environment& environment, const CaseMemory& memory, const NdTerms& terms) {
  return std::make_unique<TwoDevices>(world, environment, memory, terms);
}

}  // namespace fb::conformance
