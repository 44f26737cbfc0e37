#include "conformance/runner/nd_consumer.h"

#include <algorithm>

#include "networkdirect/consumer/networkdirect_device.h"
#include "networkdirect/provider/provider.h"

namespace fb::conformance {

namespace nd = networkdirect;

namespace {

class Points final : public nd::ConsumerHooks {
 public:
  explicit Points(std::vector<std::string_view> points) : points_(std::move(points)) {}
  bool departs(std::string_view point) override { return std::ranges::find(points_, point) != points_.end(); }

 private:
  std::vector<std::string_view> points_;
};

/// A behaviour, and one request that is refused.
class Scarce final : public nd::ProviderHooks {
 public:
  explicit Scarce(const NdConsumerTerms& terms) : terms_(terms) {}
  nd::Behaviour behaviour() override { return terms_.behaviour; }
  bool refuses() override { return ++asked_ == terms_.refuses; }
  bool refused() const { return terms_.refuses != 0 && asked_ >= terms_.refuses; }

 private:
  const NdConsumerTerms terms_;
  std::uint64_t asked_ = 0;
};

std::string named(const char* end, unsigned number) { return number == 1 ? end : end + std::to_string(number); }

EmbeddedSetup with_windows(const Environment& environment) {
  EmbeddedSetup made = environment.setup();
  made.limits.max_fast_register_bytes = 1u << 30;
  return made;
}

}  // namespace

struct NdConsumer::Simulated {
  Simulated(World& world, const Environment& environment, const NdConsumerTerms& terms, unsigned number)
      : network(world, environment.setup()),
        hooks(environment.deviations->points(deviations::Product::nd_consumer)),
        below(terms),
        bench(open_device(world, network.bench, {named("bench", number), environment.setup().bench_address}, environment.setup())),
        product(open_device(world, network.product, {named("product", number), environment.setup().product_address},
                            with_windows(environment))) {}
  EmbeddedNetwork network;
  Points hooks;
  Scarce below;
  std::unique_ptr<softroce::SoftRoceDevice> bench, product;
};

NdConsumer::NdConsumer(World& world, const Environment& environment, const NdConsumerTerms& terms, unsigned number)
    : ConsumerStage(world, environment),
      simulated_(std::make_unique<Simulated>(world, environment, terms, number)),
      verifier_(std::make_unique<nd::verifier::Verifier>(nd::verifier::VerifierOptions{}, static_cast<nd::verifier::FindingSink&>(*this))) {
  set_peer(*simulated_->bench);
  NdRef<IND2Provider> below;
  if (FAILED(nd::make_provider(nd::make_fixed_fabric({nd::make_inline_place(world, *simulated_->product, &simulated_->below)}),
                               IID_IND2Provider, below.out())) ||
      FAILED(verifier_->wrap_provider(*below, IID_IND2Provider, provider_.out()))) {
    throw CannotArrange{"there is no provider to stand on"};
  }
}

NdConsumer::~NdConsumer() {
  drop_program();
  provider_.release();
  drop_peer();
}

/// The device has a reference of its own.
std::unique_ptr<rdma::Device> NdConsumer::make_device() {
  const NdAddress at(product_address_);
  UINT64 id = 0;
  NdRef<IND2Adapter> adapter;
  if (FAILED(provider_->ResolveAddress(at.get(), at.length(), &id)) || FAILED(provider_->OpenAdapter(IID_IND2Adapter, id, adapter.out()))) {
    throw CannotArrange{"the provider opens no adapter"};
  }
  nd::ConsumerOptions options;
  options.hooks = &simulated_->hooks;
  return nd::make_networkdirect_device(world_, *adapter, options);
}

bool NdConsumer::refused() const { return simulated_->below.refused(); }

void NdConsumer::end() {
  let_program_go();
  provider_.release();
  verifier_->finish();
}

std::string NdConsumer::complaint() const {
  for (const auto& finding : findings_) {
    if (finding.rule->severity == nd::verifier::Severity::violation) {
      return std::string(finding.rule->name) + ": " + finding.object + ": " + finding.text;
    }
  }
  return {};
}

nd::verifier::Called NdConsumer::called(std::string_view kind, std::string_view method) const {
  for (const nd::verifier::Called& one : verifier_->tally()) {
    if (one.kind == kind && one.method == method) return one;
  }
  return {std::string(kind), std::string(method)};
}

}  // namespace fb::conformance
