// A consumer of a programming interface at work, whatever the interface: the product is an rdma::Device on a simulated provider,
// with a program on it; the peer is a program on a plain device.
#pragma once

#include <memory>

#include "conformance/runner/environment.h"
#include "conformance/runner/nd_program.h"
#include "conformance/runner/verbs_user.h"

namespace fb::conformance {

class ConsumerStage {
 public:
  /// Where the peer listens, and where the program does.
  static constexpr std::uint16_t kPeerPort = 7600, kProgramPort = 7601;

  virtual ~ConsumerStage();
  ConsumerStage(const ConsumerStage&) = delete;
  ConsumerStage& operator=(const ConsumerStage&) = delete;

  World& world() { return world_; }
  /// Made by the first call, with its terms. CannotArrange or UserError when the consumer does not get so far.
  NdProgram& program(const NdProgramTerms& terms = {});
  /// One more device of the same provider, on an adapter of its own.
  std::unique_ptr<rdma::Device> another_device() { return make_device(); }
  VerbsUser& peer() { return *peer_; }
  VerbsMemory& peer_memory() { return *peer_memory_; }
  /// The peer listens, and answers as it is told the first time.
  void peer_listens(const ListenTerms& terms = {});
  /// The connection that the peer accepted last. CannotArrange when there is none.
  VerbsQueue& peer_accepted();
  /// The peer asks the program for a connection; its answer is an event of the queue.
  VerbsQueue& peer_asks() { return peer_asks(nd_parameters()); }
  VerbsQueue& peer_asks(const rdma::ConnectionParameters& parameters);
  /// Of the last connection that the peer asked for.
  VerbsQueue* newest_asked() { return asked_; }
  Endpoint peer_at() const { return {bench_address_, kPeerPort}; }
  Endpoint program_at() const { return {product_address_, kProgramPort}; }
  /// An established connection of the program's asking. CannotArrange when there is none.
  NdLine& connect(const NdProgramTerms& terms = {});
  /// One of the peer's asking.
  NdLine& connect_from_peer(const NdProgramTerms& terms = {});
  /// A request of one side's memory: where it lies, and what names it.
  rdma::SendRequest towards_peer(rdma::SendOpcode opcode, std::uint64_t offset = 0) const;
  /// The program goes, and the consumer with it; program() makes another.
  void let_program_go();
  /// The same, for good: what watches looks at what was left.
  virtual void end() = 0;
  /// What was found against the consumer so far, in words; empty when there is nothing.
  virtual std::string complaint() const = 0;
  /// Whether the provider has refused the request that its terms name.
  virtual bool refused() const = 0;
  /// Whether completions of Reads have a length.
  virtual bool counts_reads() const { return false; }

 protected:
  ConsumerStage(World& world, const Environment& environment);
  /// To be called once there is a device for the peer.
  void set_peer(rdma::Device& device);
  virtual std::unique_ptr<rdma::Device> make_device() = 0;
  /// The same without waiting, for destructors.
  void drop_program() { program_.reset(); }
  /// To be called by destructors before the device of set_peer() goes.
  void drop_peer() { peer_.reset(); }

  World& world_;
  IpAddress bench_address_, product_address_;

 private:
  std::unique_ptr<VerbsUser> peer_;
  VerbsMemory* peer_memory_ = nullptr;
  VerbsQueue* asked_ = nullptr;
  bool peer_listens_ = false;
  std::unique_ptr<NdProgram> program_;
};

}  // namespace fb::conformance
