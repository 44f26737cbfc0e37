// The bench of cases on providers: the product is a NetworkDirect or an NDK provider, the bench is the program that calls
// it, at both ends of its connections.
#pragma once

#include <memory>

#include "conformance/runner/case.h"
#include "conformance/runner/environment.h"
#include "conformance/runner/nd_bench.h"

namespace fb::conformance {

using namespace fb::literals;

class NdkBench;
struct NdkTerms;

class ProviderBench final : public Bench {
 public:
  ProviderBench(World& world, const Environment& environment);
  ~ProviderBench() override;

  bool embedded() const override { return environment_.product->embedded; }
  /// Of cases of the suite networkdirect; made by the first call, with its terms.
  NdBench& nd() { return nd({}); }
  NdBench& nd(const NdTerms& terms) {
    if (nd_ == nullptr) nd_ = std::make_unique<NdBench>(world(), environment_, terms);
    return *nd_;
  }
  /// Of cases of the suite ndk; made by the first call, with its terms.
  NdkBench& ndk();
  NdkBench& ndk(const NdkTerms& terms);

 private:
  const Environment& environment_;
  std::unique_ptr<NdBench> nd_;
  std::shared_ptr<NdkBench> ndk_;  // shared: programs without that bench need not know it
};

}  // namespace fb::conformance
