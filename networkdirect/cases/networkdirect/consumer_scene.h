// What the cases on consumers of NetworkDirect share: a use of the consumer, and the verifier's word on one rule.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "conformance/runner/consumer_bench.h"
#include "networkdirect/consumer/networkdirect_device.h"

namespace fb::conformance {

using networkdirect::verifier::Rule;

/// A call that the consumer must have made for the rule to have been put to the test.
struct NdCalled {
  std::string_view kind, method;
  bool pending = false;  ///< that returned ND_PENDING: the rule is about requests that pend
};

/// The use comes to this point, or the case says what was in the way.
inline void must(bool condition, std::string_view what) {
  if (!condition) throw CannotArrange{std::string(what)};
}

/// Lets a program use the consumer and go, and asks the verifier whether the consumer kept to the rule. What the use could not
/// do for a consumer that broke it is not held against anybody.
template <class Use>
void keeps(ConsumerBench& bench, Check& check, Rule rule, std::initializer_list<NdCalled> calls, Use&& use) {
  // Other rules hold whether requests pend or end in their call: the seed draws.
  const bool pend = std::ranges::any_of(calls, &NdCalled::pending);
  NdConsumer& nd = bench.nd(pend ? networkdirect::Answers::pending : networkdirect::Answers::drawn);
  std::string stopped;
  try {
    use(nd);
  } catch (const CannotArrange& cannot) {
    stopped = cannot.why;
  } catch (const UserError& problem) {
    stopped = problem.what();
  }
  nd.end();
  const auto& entry = networkdirect::verifier::entry_of(rule);
  std::string seen;
  std::size_t times = 0;
  for (const auto& finding : nd.findings()) {
    if (finding.rule != &entry) continue;
    if (times++ == 0) seen = finding.object + ": " + finding.text;
  }
  if (times > 1) seen += ", and " + std::to_string(times - 1) + " more";
  if (times == 0) {
    if (!stopped.empty()) check.inconclusive(stopped);
    for (const NdCalled& one : calls) {
      const auto called = nd.called(one.kind, one.method);
      const std::string never = one.pending ? " was never pending" : " was never called";
      check.precondition((one.pending ? called.pending : called.calls) > 0, called.kind + "'s " + called.method + never);
    }
  }
  check.that(times == 0, entry.sentence, seen);
}

/// Messages to and from the peer, on a connection that the program has asked for.
inline void exchange(NdConsumer& nd, NdLine& line) {
  NdProgram& program = nd.program();
  must(program.receive(line), "the consumer takes a Receive");
  must(program.perform(line, {}).status == rdma::CompletionStatus::success, "a Send succeeds");
  VerbsQueue& peer = nd.peer_accepted();
  must(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
  must(peer.post_send({}, nd.peer_memory(), 0, 64), "the peer sends");
  const auto came = program.completion();
  must(came && came->status == rdma::CompletionStatus::success, "a Receive succeeds");
}

/// A Read and a Write of the peer's memory.
inline void access_memory(NdConsumer& nd, NdLine& line) {
  for (const rdma::SendOpcode opcode : {rdma::SendOpcode::rdma_write, rdma::SendOpcode::rdma_read}) {
    must(nd.program().perform(line, nd.towards_peer(opcode)).status == rdma::CompletionStatus::success, "a Read or Write succeeds");
  }
}

}  // namespace fb::conformance
