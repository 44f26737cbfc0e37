#include "conformance/runner/consumer_bench.h"

namespace fb::conformance {

ConsumerBench::ConsumerBench(World& world, const Environment& environment) : Bench(world), environment_(environment) {
  if (!environment.product->embedded) {
    throw UserError("no way to run a consumer from here: put the verifier's library between it and its provider");
  }
}

ConsumerBench::~ConsumerBench() = default;

NdConsumer& ConsumerBench::nd(networkdirect::Answers answers) {
  if (nd_ == nullptr) nd_ = make_nd({.behaviour = {.answers = answers, .order = networkdirect::Order::drawn}});
  return *nd_;
}

std::unique_ptr<NdConsumer> ConsumerBench::make_nd(const NdConsumerTerms& terms) {
  return std::make_unique<NdConsumer>(world(), environment_, terms, ++nd_made_);
}

}  // namespace fb::conformance
