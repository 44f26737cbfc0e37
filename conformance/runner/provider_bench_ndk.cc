// Apart from the rest, which is used where there is no NDK.
#include "conformance/runner/ndk_bench.h"
#include "conformance/runner/provider_bench.h"

namespace fb::conformance {

NdkBench& ProviderBench::ndk() {
  NdkTerms terms;
  // A case that has terms of its own keeps them, in each lane.
  terms.answers = static_cast<ndk::Answers>(environment_.around().answers);
  return ndk(terms);
}

NdkBench& ProviderBench::ndk(const NdkTerms& terms) {
  if (ndk_ == nullptr) ndk_ = std::make_shared<NdkBench>(world(), environment_, terms);
  return *ndk_;
}

}  // namespace fb::conformance
