// Apart from the rest, which is used where there is no NDK.
#include "conformance/runner/consumer_bench.h"
#include "conformance/runner/ndk_consumer.h"

namespace fb::conformance {

std::unique_ptr<NdkConsumer> ConsumerBench::make_ndk(const NdkConsumerTerms& terms) {
  return std::make_unique<NdkConsumer>(world(), environment_, terms, ++ndk_made_);
}

}  // namespace fb::conformance
