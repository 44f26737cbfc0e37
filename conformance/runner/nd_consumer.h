// A program on the project's consumer of NetworkDirect, for cases that judge it: the verifier stands between the consumer and
// the provider, and says which rules were broken. The peer is a program on a plain device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/runner/consumer_stage.h"
#include "conformance/runner/embedded.h"
#include "conformance/runner/nd_bench.h"
#include "networkdirect/provider/behaviour.h"
#include "networkdirect/verifier/verifier.h"

namespace fb::conformance {

/// The provider that the program stands on.
struct NdConsumerTerms {
  networkdirect::Behaviour behaviour = {};
  std::uint64_t refuses = 0;  ///< the request of this number, from 1, is refused for want of resources
};

class NdConsumer final : public ConsumerStage, networkdirect::verifier::FindingSink {
 public:
  /// `number`: of those of one world. Their devices draw different identifiers.
  NdConsumer(World& world, const Environment& environment, const NdConsumerTerms& terms, unsigned number);
  ~NdConsumer() override;

  /// The verifier looks at what was left.
  void end() override;
  std::string complaint() const override;
  bool refused() const override;
  bool counts_reads() const override { return true; }
  const std::vector<networkdirect::verifier::Finding>& findings() const { return findings_; }
  /// How often the consumer has called a method so far.
  networkdirect::verifier::Called called(std::string_view kind, std::string_view method) const;

 private:
  struct Simulated;
  std::unique_ptr<rdma::Device> make_device() override;
  void found(const networkdirect::verifier::Finding& finding) override { findings_.push_back(finding); }

  std::vector<networkdirect::verifier::Finding> findings_;
  std::unique_ptr<Simulated> simulated_;
  std::unique_ptr<networkdirect::verifier::Verifier> verifier_;
  NdRef<IND2Provider> provider_;
};

}  // namespace fb::conformance
