// A program on the project's consumer of NetworkDirect, for cases that judge it: the verifier stands between the consumer and
// the provider, and says which rules were broken. The peer is a program on a plain device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/runner/embedded.h"
#include "conformance/runner/environment.h"
#include "conformance/runner/nd_bench.h"
#include "conformance/runner/nd_program.h"
#include "conformance/runner/verbs_user.h"
#include "sim/networkdirect/provider/behaviour.h"
#include "sim/networkdirect/verifier/verifier.h"

namespace fb::conformance {

class NdConsumer final : networkdirect::verifier::FindingSink {
 public:
  /// Where the peer listens, and where the program does.
  static constexpr std::uint16_t kPeerPort = 7600, kProgramPort = 7601;

  /// `answers`: of the provider that the program stands on.
  NdConsumer(World& world, const Environment& environment, networkdirect::Answers answers);
  ~NdConsumer();

  /// Made by the first call, with its terms. CannotArrange or UserError when the consumer does not get so far.
  NdProgram& program(const NdProgramTerms& terms = {});
  /// One more device of the same provider, on an adapter of its own.
  std::unique_ptr<rdma::Device> another_device();
  VerbsUser& peer() { return *peer_; }
  VerbsMemory& peer_memory() { return *peer_memory_; }
  /// The peer listens, and answers as it is told the first time.
  void peer_listens(const ListenTerms& terms = {});
  /// The peer asks the program for a connection; its answer is an event of the queue.
  VerbsQueue& peer_asks();
  Endpoint peer_at() const { return {bench_address_, kPeerPort}; }
  /// An established connection of the program's asking. CannotArrange when there is none.
  NdLine& connect(const NdProgramTerms& terms = {});
  /// One of the peer's asking.
  NdLine& connect_from_peer(const NdProgramTerms& terms = {});
  /// A request of one side's memory: where it lies, and what names it.
  rdma::SendRequest towards_peer(rdma::SendOpcode opcode, std::uint64_t offset = 0) const;

  /// The program goes, and the consumer with it; the verifier looks at what was left.
  void end();
  const std::vector<networkdirect::verifier::Finding>& findings() const { return findings_; }
  /// How often the consumer has called a method so far.
  networkdirect::verifier::Called called(std::string_view kind, std::string_view method) const;

 private:
  struct Simulated;
  NdRef<IND2Adapter> open_adapter();
  networkdirect::ConsumerOptions options();
  void found(const networkdirect::verifier::Finding& finding) override { findings_.push_back(finding); }

  World& world_;
  IpAddress bench_address_, product_address_;
  std::vector<networkdirect::verifier::Finding> findings_;
  std::unique_ptr<Simulated> simulated_;
  std::unique_ptr<VerbsUser> peer_;
  VerbsMemory* peer_memory_ = nullptr;
  bool peer_listens_ = false;
  std::unique_ptr<networkdirect::verifier::Verifier> verifier_;
  NdRef<IND2Provider> provider_;
  std::unique_ptr<NdProgram> program_;
};

}  // namespace fb::conformance
