#include "conformance/runner/consumer_bench.h"

namespace fb::conformance {

ConsumerBench::ConsumerBench(World& world, const Environment& environment) : Bench(world), environment_(environment) {
  if (!environment.product->embedded) {
    throw UserError("no way to run a consumer from here: put the verifier's library between it and its provider");
  }
}

ConsumerBench::~ConsumerBench() = default;

NdConsumer& ConsumerBench::nd(networkdirect::Answers answers) {
  if (nd_ == nullptr) nd_ = std::make_unique<NdConsumer>(world(), environment_, answers);
  return *nd_;
}

}  // namespace fb::conformance
