// Consumers on completion queues of their own: those that go while they tell, and those that die; and memory at its
// own address.
#pragma once

#include <functional>
#include <utility>

#include "networkdirect/cases/consumer_trouble.h"

namespace fb::conformance {

/// A queue pair of the program on a completion queue that nobody else has.
class ApartLine final : rdma::ConnectionHandler, rdma::CompletionHandler {
 public:
  ApartLine(ConsumerStage& stage, std::uint32_t entries) : stage_(stage) {
    NdProgram& program = stage.program();
    queue_ = program.device().create_completion_queue(entries);
    rdma::QueuePairOptions options;
    options.send_queue = options.receive_queue = queue_.get();
    options.send_entries = options.receive_entries = 16;
    options.handler = this;
    options.context = this;
    qp_ = program.device().create_queue_pair(program.domain(), options);
    if (qp_ == nullptr) throw CannotArrange{"the consumer makes no queue pair"};
  }
  rdma::QueuePair& qp() { return *qp_; }
  bool receive(std::uint64_t id) {
    const rdma::Sge sge = stage_.program().region().sge(0, 64);
    return qp_->post_receive({id, {&sge, 1}});
  }
  /// Asks the peer for a connection, with so many receives posted before.
  VerbsQueue& connect(Check& check, std::uint64_t receives) {
    for (std::uint64_t i = 0; i < receives; ++i) check.require(receive(i), "a receive is taken", "it is refused");
    qp_->connect(stage_.peer_at(), nd_parameters());
    stage_.program().wait("a connection", [&] { return established > 0; });
    VerbsQueue& peer = stage_.peer_accepted();
    check.require(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
    return peer;
  }
  void watch(bool solicited_only) { queue_->request_notify(*this, solicited_only); }
  void drop() {
    qp_.reset();
    queue_.reset();
  }
  std::function<void()> then;  ///< inside of a notice
  int established = 0, ended = 0, told = 0;

 private:
  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts&) override { ++established; }
  void on_rejected(rdma::QueuePair&, std::uint16_t, ByteView) override { ++ended; }
  void on_unreachable(rdma::QueuePair&) override { ++ended; }
  void on_disconnected(rdma::QueuePair&) override { ++ended; }
  void on_queue_error(rdma::QueuePair&) override { ++ended; }
  void on_completions() override {
    ++told;
    if (then) then();
  }

  ConsumerStage& stage_;
  std::unique_ptr<rdma::CompletionQueue> queue_;
  std::unique_ptr<rdma::QueuePair> qp_;
};

/// A completion queue that its user destroys inside of its notice, whatever it was asked to tell of.
inline void sweep_end_in_notice(ConsumerStage& stage, Check& check) {
  stage.program();
  stage.peer_listens();
  for (const auto& [first, second] : {std::pair{true, true}, std::pair{true, false}, std::pair{false, true}, std::pair{false, false}}) {
    ApartLine line(stage, 16);
    VerbsQueue& peer = line.connect(check, 2);
    line.then = [&] { line.drop(); };
    line.watch(first);
    line.watch(second);
    rdma::SendRequest request;
    request.solicited = true;
    check.require(peer.post_send(request, stage.peer_memory(), 0, 16), "the peer sends");
    stage.program().pass(Duration::ms(50));
    check.equal("notices of a queue that goes when it tells", line.told, 1);
    check.that(peer.wait_event(ConnectionEvent::disconnected, Duration::s(10)), "the peer hears of the end", "it does not");
  }
}

/// A completion queue that dies with completions that nobody has taken: its queue pair ends, and its user hears of that.
inline void sweep_dead_queue(ConsumerStage& stage, Check& check, std::uint32_t entries) {
  stage.program();
  stage.peer_listens();
  ApartLine line(stage, entries);
  VerbsQueue& peer = line.connect(check, 8);
  line.watch(false);
  for (int i = 0; i < 8; ++i) check.require(peer.post_send({}, stage.peer_memory(), 0, 16), "the peer sends");
  stage.program().pass(Duration::ms(50));
  line.watch(false);
  stage.program().pass(Duration::ms(200));
  check.that(line.ended > 0, "the end of a queue pair whose completion queue is dead is reported", "it is not");
  check.that(line.qp().state() == rdma::QpState::error, "the queue pair is in error", std::string(rdma::name_of(line.qp().state())));
}

/// A provider that registers memory at its own address alone, as all but the bench's do. Nobody else accesses any here: where it
/// lies differs from run to run.
inline void sweep_own_addresses(ConsumerStage& stage, Check& check) {
  NdLine& line = stage.connect();
  NdProgram& program = stage.program();
  VerbsQueue& peer = stage.peer_accepted();
  check.require(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
  const auto another = program.another_region();
  for (std::uint32_t round = 0; round < 3; ++round) {
    const std::uint32_t length = 100 + round;
    const auto sent = performed(check, program, line, {}, 256 * round, length);
    check.that(sent.status == rdma::CompletionStatus::success, "a Send succeeds", std::string(rdma::name_of(sent.status)));
    const auto came = peer.wait_receive(Duration::s(10));
    check.require(came.has_value(), "a message comes", "it does not");
    check.bytes("the message", stage.peer().received(came->id, length), ByteView(program.memory()).subspan(256 * round, length));
    const rdma::Sge sge = another->sge(8192, 1024);
    check.require(line.qp().post_receive({900 + round, {&sge, 1}}), "a Receive is taken", "it is refused");
    check.require(peer.post_send({}, stage.peer_memory(), 77 * round, length), "the peer sends");
    const auto received = program.completion();
    check.require(received && received->id == 900 + round, "a message comes", "it does not");
    check.bytes("the message", ByteView(program.memory()).subspan(8192, length),
                ByteView(stage.peer_memory().bytes).subspan(77 * round, length));
  }
  bool refused = false;
  try {
    program.domain().register_memory_at(0x5000'0000, program.memory(), NdProgram::kAll);
  } catch (const UserError&) {
    refused = true;
  }
  check.that(refused, "memory at an address of the program's choice is refused", "it is registered");
}

}  // namespace fb::conformance
