// A program on a consumer's device: what it has is made when a case asks for it, and goes in a fixed order. What cannot be
// made, or does not come, is told as CannotArrange, for the case to judge why.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "conformance/runner/check.h"
#include "sim/core/world.h"
#include "sim/rdma/device.h"

namespace fb::conformance {

/// What the program waited for did not come.
struct NeverCame : CannotArrange {};

/// One queue pair of the program, and what it was told.
class NdLine final : public rdma::ConnectionHandler {
 public:
  rdma::QueuePair& qp() { return *qp_; }
  int established = 0, accepted = 0, rejected = 0, unreachable = 0, disconnected = 0, failed = 0;
  rdma::ConnectionFacts facts;  ///< of the last report, without its data
  Bytes data;                   ///< private data of the last report
  std::uint16_t reason = 0;     ///< of a refusal
  /// The attempt has come to some end.
  bool answered() const { return established + accepted + rejected + unreachable + disconnected > 0; }

 private:
  friend class NdProgram;
  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts& told) override { keep(told, established); }
  void on_accepted(rdma::QueuePair&, const rdma::ConnectionFacts& told) override { keep(told, accepted); }
  void on_rejected(rdma::QueuePair&, std::uint16_t why, ByteView told) override {
    ++rejected;
    reason = why;
    data.assign(told.begin(), told.end());
  }
  void on_unreachable(rdma::QueuePair&) override { ++unreachable; }
  void on_disconnected(rdma::QueuePair&) override { ++disconnected; }
  void on_queue_error(rdma::QueuePair&) override { ++failed; }
  void keep(const rdma::ConnectionFacts& told, int& count) {
    ++count;
    facts = told;
    facts.private_data = {};
    data.assign(told.private_data.begin(), told.private_data.end());
  }

  std::unique_ptr<rdma::QueuePair> qp_;
};

/// How the program is laid out.
struct NdProgramTerms {
  std::uint32_t queue_entries = 16;  ///< of each queue of a queue pair
  std::uint32_t sges = 4;            ///< of a request, and of a receive
  bool shared_receives = false;
};

/// Read limits of 8 in both directions, no private data.
inline rdma::ConnectionParameters nd_parameters() {
  rdma::ConnectionParameters made;
  made.responder_resources = made.initiator_depth = 8;
  return made;
}

/// What the program does with a request for a connection.
enum class NdAnswer : std::uint8_t { accept, reject, keep };

class NdProgram final : rdma::ListenHandler, rdma::CompletionHandler, rdma::SharedReceiveHandler {
 public:
  static constexpr std::size_t kBytes = 1 << 16;
  static constexpr auto kAll = rdma::Access::local_write | rdma::Access::remote_write | rdma::Access::remote_read;

  NdProgram(World& world, std::unique_ptr<rdma::Device> device, const NdProgramTerms& terms);
  ~NdProgram();
  NdProgram(const NdProgram&) = delete;
  NdProgram& operator=(const NdProgram&) = delete;

  rdma::Device& device() { return *device_; }
  /// Bytes of the index (0, 1 ... 255, 0 ...).
  MutableBytes memory() { return memory_; }
  rdma::MemoryRegion& region() { return *region_; }
  rdma::CompletionQueue& queue() { return *queue_; }
  bool shares() const { return shared_ != nullptr; }
  rdma::SharedReceiveQueue& shared() { return *shared_; }
  /// A further region, over the program's memory, that goes with whoever has it.
  std::unique_ptr<rdma::MemoryRegion> another_region(rdma::Access access = kAll);
  rdma::ProtectionDomain& domain() { return *domain_; }

  /// A queue pair that nobody has connected.
  NdLine& line();
  /// Asks for a connection, and waits for the answer.
  NdLine& ask(const Endpoint& to, const rdma::ConnectionParameters& parameters = nd_parameters());
  void ask(NdLine& line, const Endpoint& to, const rdma::ConnectionParameters& parameters);
  void let_go(NdLine& line);

  rdma::Listener& listen(std::uint16_t port, NdAnswer answer = NdAnswer::accept);
  /// With what requests are accepted, or refused, from now on.
  void answer_with(const rdma::ConnectionParameters& parameters, ByteView data) {
    accepts_with_ = parameters;
    answer_data_.assign(data.begin(), data.end());
  }
  /// From now on.
  void answer(NdAnswer answer) { answer_ = answer; }
  /// Waits until so many requests have come since the beginning.
  void wait_requests(std::size_t count);
  std::vector<std::unique_ptr<rdma::ConnectionRequest>>& requests() { return requests_; }
  /// Of the newest request that was accepted. CannotArrange when there is none.
  NdLine& accepted();

  bool receive(NdLine& line, std::uint64_t offset = 0, std::uint32_t length = 1024);
  /// Posts a request over a piece of the program's memory.
  bool post(NdLine& line, rdma::SendRequest request, std::uint64_t offset = 0, std::uint32_t length = 64);
  /// The same, and waits for its completion.
  rdma::Completion perform(NdLine& line, rdma::SendRequest request, std::uint64_t offset = 0, std::uint32_t length = 64);
  /// The next completion of any queue pair.
  std::optional<rdma::Completion> completion(Duration limit = Duration::s(10));
  /// Has the device tell of completions, once.
  void watch(bool solicited_only = false) { queue_->request_notify(*this, solicited_only); }
  int told() const { return told_; }
  /// How often the shared queue said that it runs low.
  int low() const { return low_; }

  /// Waits for something that the program is told of.
  void wait(std::string_view what, const std::function<bool()>& done, Duration limit = Duration::s(10));
  void pass(Duration time) { world_.run_for(time); }
  /// Lets go of everything.
  void close();

 private:
  /// Null when the consumer makes none.
  NdLine* make_line();
  void on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) override;
  void on_completions() override { ++told_; }
  void on_limit(rdma::SharedReceiveQueue&) override { ++low_; }

  World& world_;
  NdProgramTerms terms_;
  Bytes memory_;
  std::unique_ptr<rdma::Device> device_;
  std::unique_ptr<rdma::ProtectionDomain> domain_;
  std::unique_ptr<rdma::CompletionQueue> queue_;
  std::unique_ptr<rdma::MemoryRegion> region_;
  std::unique_ptr<rdma::SharedReceiveQueue> shared_;
  std::unique_ptr<rdma::Listener> listener_;
  std::vector<std::unique_ptr<rdma::ConnectionRequest>> requests_;
  std::vector<std::unique_ptr<NdLine>> lines_;
  NdLine* accepted_ = nullptr;
  NdAnswer answer_ = NdAnswer::accept;
  rdma::ConnectionParameters accepts_with_ = nd_parameters();
  Bytes answer_data_;
  std::size_t requests_seen_ = 0;
  int told_ = 0, low_ = 0;
  std::uint64_t next_id_ = 1;
  std::deque<rdma::Completion> completions_;
};

}  // namespace fb::conformance
