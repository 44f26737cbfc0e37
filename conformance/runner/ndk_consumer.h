// A program on the project's consumer of NDK, for cases that judge it: the verifier stands between
// the consumer and the provider, and says which rules were broken. The peer is a program on a plain
// device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/runner/consumer_stage.h"
#include "networkdirect/ndk/provider/provider.h"
#include "networkdirect/ndk/verifier/verifier.h"

namespace fb::conformance {

struct NdkConsumerTerms {
  std::string_view behaviour = "answers=drawn";  ///< for ndk::parse_behaviour()
  NDK_VERSION version = {2, 1};                  ///< of the provider
  bool notify_inside_arm = false;
  bool scattered = false;     ///< logical addresses of neighbouring pages are no neighbours
  std::uint64_t refuses = 0;  ///< the request of this number, from 1, is refused for want of resources
};

class NdkConsumer final : public ConsumerStage, ndk::verifier::FindingSink {
 public:
  /// `number`: of those of one world. Their devices draw different identifiers.
  NdkConsumer(World& world, const Environment& environment, const NdkConsumerTerms& terms, unsigned number);
  ~NdkConsumer() override;

  void end() override;
  std::string complaint() const override;
  bool refused() const override;
  const std::vector<ndk::verifier::Finding>& findings() const { return findings_; }

 private:
  struct Simulated;
  std::unique_ptr<rdma::Device> make_device() override;
  void found(const ndk::verifier::Finding& finding) override { findings_.push_back(finding); }
  void close_adapters();

  std::vector<ndk::verifier::Finding> findings_;
  std::unique_ptr<Simulated> simulated_;
  std::vector<NDK_ADAPTER*> open_;  // as the consumer has them
};

}  // namespace fb::conformance
