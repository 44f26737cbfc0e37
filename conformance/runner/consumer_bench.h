// The bench of cases on consumers: the product is a program on a programming interface, watched by a verifier of that
// interface. Under it lies the project's provider; at the other end of its connections is a program of the bench's.
#pragma once

#include <memory>

#include "conformance/runner/case.h"
#include "conformance/runner/environment.h"
#include "conformance/runner/nd_consumer.h"

namespace fb::conformance {

using namespace fb::literals;

class NdkConsumer;
struct NdkConsumerTerms;

class ConsumerBench final : public Bench {
 public:
  ConsumerBench(World& world, const Environment& environment);
  ~ConsumerBench() override;

  /// Of cases of the suite networkdirect; made by the first call. Below it requests that could end in their call do so, or pend.
  NdConsumer& nd(networkdirect::Answers answers = networkdirect::Answers::drawn);
  /// Another one each time.
  std::unique_ptr<NdConsumer> make_nd(const NdConsumerTerms& terms);
  /// Of cases of the suite ndk; another one each time.
  std::unique_ptr<NdkConsumer> make_ndk(const NdkConsumerTerms& terms);

 private:
  const Environment& environment_;
  unsigned nd_made_ = 0, ndk_made_ = 0;
  std::unique_ptr<NdConsumer> nd_;
};

}  // namespace fb::conformance
