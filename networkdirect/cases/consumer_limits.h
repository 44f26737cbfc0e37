// What a consumer's device declares of providers with smaller limits, and that it keeps to them.
#pragma once

#include <string>
#include <string_view>

#include "networkdirect/cases/consumer_trouble.h"

namespace fb::conformance {

/// A provider with one limit lowered, and what its consumer's device declares of it.
struct DeclaredLimit {
  std::string_view behaviour;
  std::string_view what;
  std::uint64_t (*declared)(const rdma::DeviceLimits&);
  std::uint64_t expected;
};

/// A program that asks for deeper queues than there can be has those that there are; it connects, and a message crosses.
inline void sweep_declared(ConsumerStage& stage, Check& check, const DeclaredLimit& limit) {
  const std::string at = " with " + std::string(limit.behaviour);
  // Shared receives need a provider that has them.
  const bool shares = limit.behaviour.find("Depth=0") == std::string_view::npos;
  NdProgram& program = stage.program({.queue_entries = 1u << 20, .sges = 64, .shared_receives = shares});
  const rdma::DeviceLimits limits = program.device().limits();
  check.equal(std::string(limit.what) + at, limit.declared(limits), limit.expected);
  check.that(!limits.atomics && !limits.immediate_data && !limits.chosen_key_bytes,
             "the device declares nothing that its interface does not have", "it does");
  if (!shares)
    check.that(program.device().create_shared_receive_queue(program.domain(), 4, nullptr) == nullptr, "there is no shared queue",
               "there is");
  NdLine& line = stage.connect();
  VerbsQueue& peer = stage.peer_accepted();
  check.require(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected" + at);
  check.require(program.receive(line, 100, 200), "a receive is taken" + at, "it is refused");
  if (shares) program.shared().arm_limit(1);
  check.require(peer.post_send({}, stage.peer_memory(), 50, 150), "the peer sends");
  const auto came = program.completion();
  check.require(came && came->status == rdma::CompletionStatus::success, "a message comes" + at, "it does not");
  check.bytes("the message" + at, ByteView(program.memory()).subspan(100, 150), ByteView(stage.peer_memory().bytes).subspan(50, 150));
  const std::uint32_t most = std::min(limits.max_sges, 4u);  // as many as the peer's queues take
  for (const rdma::SendOpcode opcode : {rdma::SendOpcode::rdma_write, rdma::SendOpcode::rdma_read}) {
    std::vector<rdma::Sge> list;
    for (std::uint32_t i = 0; i < most; ++i) list.push_back(program.region().sge(1000 + 10 * i, 10));
    rdma::SendRequest request = stage.towards_peer(opcode, 4096);
    request.sges = list;
    check.require(line.qp().post_send(request), "a request with as many buffers as declared is taken" + at, "it is refused");
    const auto done = program.completion();
    check.that(done && done->status == rdma::CompletionStatus::success, "it succeeds" + at, "it does not");
  }
  const std::vector<rdma::Sge> many(limits.max_sges + 1, program.region().sge(0, 1));
  rdma::SendRequest request = stage.towards_peer(rdma::SendOpcode::rdma_write);
  request.sges = many;
  check.that(!line.qp().post_send(request), "a request with one buffer more is refused" + at, "it is taken");
  rdma::ReceiveRequest receive{7, many};
  check.that(!(shares ? program.shared().post_receive(receive) : line.qp().post_receive(receive)),
             "a receive with one buffer more is refused" + at, "it is taken");
  if (limits.max_inline_bytes > 0) {
    rdma::SendRequest copied = stage.towards_peer(rdma::SendOpcode::rdma_write, 8192);
    copied.inline_data = true;
    check.require(program.post(line, copied, 300, limits.max_inline_bytes), "as many inline data as declared are taken" + at,
                  "they are refused");
    const auto done = program.completion();
    check.that(done && done->status == rdma::CompletionStatus::success, "they are written" + at, "they are not");
    check.bytes("inline data" + at, ByteView(stage.peer_memory().bytes).subspan(8192, limits.max_inline_bytes),
                ByteView(program.memory()).subspan(300, limits.max_inline_bytes));
  }
}

}  // namespace fb::conformance
