#include "conformance/runner/ndk_consumer.h"

#include <algorithm>

#include "conformance/runner/check.h"
#include "conformance/runner/embedded.h"
#include "networkdirect/ndk/consumer/ndk_device.h"
#include "networkdirect/ndk/provider/behaviour.h"

namespace fb::conformance {

namespace {

class Points final : public ndk::ConsumerHooks {
 public:
  explicit Points(std::vector<std::string_view> points) : points_(std::move(points)) {}
  bool departs(std::string_view point) override { return std::ranges::find(points_, point) != points_.end(); }

 private:
  std::vector<std::string_view> points_;
};

/// One request is refused.
class Scarce final : public ndk::ProviderHooks {
 public:
  explicit Scarce(std::uint64_t refuses) : refuses_(refuses) {}
  bool refuses() override { return ++asked_ == refuses_; }
  bool refused() const { return refuses_ != 0 && asked_ >= refuses_; }

 private:
  const std::uint64_t refuses_;
  std::uint64_t asked_ = 0;
};

std::string named(const char* end, unsigned number) { return number == 1 ? end : end + std::to_string(number); }

ndk::ProviderOptions provider_options(const NdkConsumerTerms& terms, ndk::ProviderHooks& hooks) {
  ndk::ProviderOptions made;
  made.name = "below";
  made.version = terms.version;
  made.hooks = &hooks;
  made = ndk::parse_behaviour(terms.behaviour, made).value();
  made.notify_inside_arm = made.notify_inside_arm || terms.notify_inside_arm;
  made.scattered_logical_pages = made.scattered_logical_pages || terms.scattered;
  return made;
}

}  // namespace

struct NdkConsumer::Simulated {
  Simulated(World& world, const Environment& environment, const NdkConsumerTerms& terms, unsigned number, ndk::verifier::FindingSink& sink)
      : version(terms.version),
        below(terms.refuses),
        network(world, environment.setup()),
        hooks(environment.deviations->points(deviations::Product::ndk_consumer)),
        bench(open_device(world, network.bench, {named("bench", number), environment.setup().bench_address}, environment.setup())),
        product(open_device(world, network.product, {named("product", number), environment.setup().product_address}, environment.setup())),
        verifier(kernel, ndk::verifier::VerifierOptions{}, sink),
        provider(world, kernel, *product, provider_options(terms, below)) {}
  NDK_VERSION version;
  Scarce below;
  EmbeddedNetwork network;
  Points hooks;
  std::unique_ptr<softroce::SoftRoceDevice> bench, product;
  ndk::Kernel kernel;
  ndk::verifier::Verifier verifier;  // wrappers outlive the provider's last callback
  ndk::Provider provider;
};

NdkConsumer::NdkConsumer(World& world, const Environment& environment, const NdkConsumerTerms& terms, unsigned number)
    : ConsumerStage(world, environment),
      simulated_(std::make_unique<Simulated>(world, environment, terms, number, static_cast<ndk::verifier::FindingSink&>(*this))) {
  set_peer(*simulated_->bench);
}

NdkConsumer::~NdkConsumer() {
  drop_program();
  close_adapters();
  drop_peer();
}

std::unique_ptr<rdma::Device> NdkConsumer::make_device() {
  NDK_ADAPTER* inner = nullptr;
  // The lowest version that the consumer can live with, of the provider's own major one.
  const NDK_VERSION wanted = {simulated_->version.Major, simulated_->version.Major == 1 ? USHORT{1} : USHORT{0}};
  if (simulated_->provider.open(wanted, &inner) != NDIS_STATUS_SUCCESS) throw CannotArrange{"the provider opens no adapter"};
  NDK_ADAPTER& adapter = simulated_->verifier.wrap(*inner);
  open_.push_back(&adapter);
  ndk::ConsumerOptions options;
  options.address = product_address_;
  options.version = simulated_->version;
  options.hooks = &simulated_->hooks;
  return ndk::make_ndk_device(world_, adapter, options);
}

void NdkConsumer::close_adapters() {
  for (NDK_ADAPTER* adapter : std::exchange(open_, {})) {
    simulated_->verifier.close(*adapter, [this](NDK_ADAPTER& inner) { simulated_->provider.close(&inner); });
  }
}

bool NdkConsumer::refused() const { return simulated_->below.refused(); }

void NdkConsumer::end() {
  let_program_go();
  close_adapters();
  simulated_->verifier.finish();
}

std::string NdkConsumer::complaint() const {
  for (const auto& finding : findings_) {
    if (finding.rule->severity == ndk::verifier::Severity::violation) {
      return std::string(finding.rule->name) + ": " + finding.object + ": " + finding.text;
    }
  }
  return {};
}

}  // namespace fb::conformance
