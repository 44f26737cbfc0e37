#include "conformance/runner/consumer_bench.h"

namespace fb::conformance {

ConsumerBench::ConsumerBench(World& world, const Environment& environment) : Bench(world) {
  if (!environment.product->embedded) {
    throw UserError("no way to run a consumer from here: put the verifier's library between it and its provider");
  }
  if (environment.transport == kProviderTransport) nd_ = std::make_unique<NdConsumer>(world, environment);
}

ConsumerBench::~ConsumerBench() = default;

}  // namespace fb::conformance
