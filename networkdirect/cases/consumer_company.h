// Consumers with several connections at once, and with attempts that they give up.
#pragma once

#include "networkdirect/cases/consumer_trouble.h"

namespace fb::conformance {

/// Connections side by side: what becomes of one is no matter of the others, whichever goes first, and however.
inline void sweep_neighbours(ConsumerStage& stage, Check& check) {
  constexpr std::size_t kLines = 3;
  NdProgram& program = stage.program();
  stage.peer_listens();
  for (std::size_t turn = 0; turn < 2 * kLines; ++turn) {
    const std::size_t first = turn % kLines;
    const bool destroyed = turn >= kLines;
    std::array<NdLine*, kLines> lines = {};
    std::array<VerbsQueue*, kLines> peers = {};
    for (std::size_t i = 0; i < kLines; ++i) {
      lines[i] = &stage.connect();
      peers[i] = &stage.peer_accepted();
      check.require(peers[i]->wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
    }
    if (destroyed) {
      program.let_go(*std::exchange(lines[first], nullptr));
    } else {
      lines[first]->qp().disconnect();
      program.wait("the end of a connection", [&] { return lines[first]->disconnected > 0; });
      program.let_go(*std::exchange(lines[first], nullptr));
    }
    program.pass(Duration::ms(1));
    for (std::size_t i = 0; i < kLines; ++i) {
      if (lines[i] == nullptr) continue;
      check.equal("ends of a neighbour", lines[i]->disconnected + lines[i]->failed, 0);
      const auto sent = program.perform(*lines[i], {}, 0, 64);
      check.that(sent.status == rdma::CompletionStatus::success, "a neighbour sends", std::string(rdma::name_of(sent.status)));
      check.require(program.receive(*lines[i], 8192, 256), "a neighbour posts a receive");
      check.require(peers[i]->post_send({}, stage.peer_memory(), 5 * i, 64), "the peer sends");
      const auto came = program.completion();
      check.require(came && came->status == rdma::CompletionStatus::success, "a neighbour receives", "it does not");
      check.that(came->qp_context == lines[i], "the completion is the neighbour's", "it is another's");
      check.bytes("the message", ByteView(program.memory()).subspan(8192, 64), ByteView(stage.peer_memory().bytes).subspan(5 * i, 64));
    }
    for (std::size_t i = 0; i < kLines; ++i) {
      if (lines[i] == nullptr) continue;
      peers[i]->qp().disconnect();
      program.wait("the end of a neighbour", [&] { return lines[i]->disconnected > 0; });
      program.pass(Duration::ms(1));
      check.equal("ends of a neighbour", lines[i]->disconnected, 1);
      program.let_go(*std::exchange(lines[i], nullptr));
    }
  }
}

/// Attempts that are given up before anybody has answered: the receives come back, and nothing else comes.
inline void sweep_withdrawals(ConsumerStage& stage, Check& check) {
  NdProgram& program = stage.program();
  stage.peer_listens({.hold = true});
  {  // before anything of it is ready
    NdLine& line = program.line();
    const auto region = program.another_region();
    const rdma::Sge sge = region->sge(0, 64);
    check.require(line.qp().post_receive({900, {&sge, 1}}), "a program posts a receive");
    program.let_go(line);
    check.that(!program.completion(Duration::ms(20)), "nothing comes of a queue pair that is gone", "there is a completion");
  }
  for (const Duration moment : {Duration(), Duration::us(1), Duration::ms(20)}) {
    NdLine& line = program.line();
    for (int i = 0; i < 2; ++i) check.require(program.receive(line, 0, 64), "a program posts a receive");
    line.qp().connect(stage.peer_at(), nd_parameters());
    program.pass(moment);
    line.qp().disconnect();
    program.wait("the end of an attempt", [&] { return line.disconnected > 0; });
    check.that(line.qp().state() == rdma::QpState::error, "a queue pair that gave up is of no more use", "it is");
    for (int i = 0; i < 2; ++i) {
      const auto came = program.completion();
      check.require(came.has_value(), "a receive comes back", "it does not");
      check.that(came->status == rdma::CompletionStatus::flushed && came->qp_context == &line, "it was flushed, and is of this queue pair",
                 std::string(rdma::name_of(came->status)));
    }
    program.pass(Duration::ms(20));
    check.equal("ends that the program is told of", line.disconnected, 1);
    check.equal("connections that the program is told of", line.established, 0);
    program.let_go(line);
    check.that(!program.completion(Duration::ms(1)), "nothing else comes", "there is another completion");
  }
}

}  // namespace fb::conformance
