#include "networkdirect/cases/ndk/consumer_scene.h"

#include <algorithm>

namespace fb::conformance {

namespace {

struct Kind {
  NdkConsumerTerms terms;
  bool shared;
};

/// Providers that answer at once and call back from inside NdkArmCq, that pend, and that do either
/// as it comes.
constexpr std::array<Kind, 5> kKinds = {{
    {{.behaviour = "answers=at-once", .notify_inside_arm = true}, false},
    {{.behaviour = "answers=later", .scattered = true}, true},
    {{.behaviour = "connectx-3,answers=later"}, false},
    {{.behaviour = "answers=before-return"}, false},
    {{.behaviour = "strict"}, true},
}};

/// Registered, and invalidated again.
void register_fast(NdProgram& program, NdLine& line) {
  const auto region = program.domain().allocate_fast_region(1 << 16);
  Bytes data(4096);
  rdma::SendRequest request;
  request.opcode = rdma::SendOpcode::fast_register;
  request.region = region.get();
  request.memory = data;
  request.iova = 0x5000000;
  request.access = rdma::Access::local_write | rdma::Access::remote_write;
  program.perform(line, request, 0, 0);
  request = {};
  request.opcode = rdma::SendOpcode::local_invalidate;
  request.invalidate_rkey = region->rkey();
  program.perform(line, request, 0, 0);
}

/// Goes on where a consumer that broke a rule got no further.
template <class Step>
void as_far_as_it_gets(std::string& stopped, Step&& step) {
  try {
    step();
  } catch (const CannotArrange& cannot) {
    if (stopped.empty()) stopped = cannot.why;
  } catch (const UserError& problem) {
    if (stopped.empty()) stopped = problem.what();
  }
}

/// With a receive before the peer may send.
NdLine& ask(NdkConsumer& ndk) {
  NdLine& line = ndk.program().line();
  ndk.program().receive(line);
  ndk.program().ask(line, ndk.peer_at(), nd_parameters());
  if (line.established == 0) throw CannotArrange{"the program is not connected"};
  return line;
}

void use_connection(NdkConsumer& ndk, NdLine& line) {
  NdProgram& program = ndk.program();
  register_fast(program, line);
  program.perform(line, {}, 0, 100);
  for (const auto opcode : {rdma::SendOpcode::rdma_read, rdma::SendOpcode::rdma_write})
    program.perform(line, ndk.towards_peer(opcode), 0, 100);
  // A queue that is armed when it has results already.
  program.queue().cancel_notify();
  program.post(line, {}, 0, 8);
  program.pass(Duration::ms(1));
  program.watch();
  program.pass(Duration::ms(1));
  line.qp().disconnect();
  program.pass(Duration::ms(20));
}

}  // namespace

std::string use_ndk_consumer(NdkConsumer& ndk, bool shared) {
  std::string stopped;
  const auto step = [&](auto&& what) { as_far_as_it_gets(stopped, what); };
  step([&] {
    NdProgram& program = ndk.program({.shared_receives = shared});
    ndk.peer_listens();
    if (shared) program.shared().arm_limit(2);
    step([&] { use_connection(ndk, ask(ndk)); });
    step([&] {  // two side by side
      NdLine &one = ask(ndk), &other = ask(ndk);
      program.let_go(one);
      program.let_go(other);
    });
    step([&] { ndk.connect_from_peer(); });
    step([&] {  // refused by the program, and refused by nobody at the other end
      program.answer(NdAnswer::reject);
      ndk.peer_asks().wait_event(ConnectionEvent::rejected, Duration::s(10));
      program.ask({ndk.peer_at().address, 7999});
    });
    step([&] {  // left without an answer
      program.answer(NdAnswer::keep);
      ndk.peer_asks();
      program.pass(Duration::ms(20));
      program.requests().clear();
      program.pass(Duration::ms(20));
    });
    step([&] {  // destroyed while it is connected, with a receive outstanding
      program.let_go(ask(ndk));
    });
    step([&] {  // ended by the peer; then the memory of a receive goes before the queue pair
      NdLine& line = program.line();
      auto region = program.another_region();
      const rdma::Sge sge = region->sge(0, 64);
      line.qp().post_receive({1000, {&sge, 1}});
      program.ask(line, ndk.peer_at(), nd_parameters());
      if (line.established == 0) throw CannotArrange{"the program is not connected"};
      VerbsQueue& peer = ndk.peer_accepted();
      peer.wait_event(ConnectionEvent::established, Duration::s(10));
      peer.qp().disconnect();
      program.wait("the end", [&] { return line.disconnected > 0; });
      region.reset();
      program.let_go(line);
    });
  });
  return stopped;
}

void keeps_ndk(ConsumerBench& bench, Check& check, NdkRule rule) {
  const auto& entry = ndk::verifier::entry_of(rule);
  std::string stopped;
  for (const Kind& kind : kKinds) {
    const auto ndk = bench.make_ndk(kind.terms);
    const std::string here = use_ndk_consumer(*ndk, kind.shared);
    if (stopped.empty()) stopped = here;
    ndk->end();
    const auto found = std::ranges::find_if(ndk->findings(), [&](const auto& one) { return one.rule == &entry; });
    if (found != ndk->findings().end()) {
      check.that(false, entry.sentence, found->object + ": " + found->text);
      return;
    }
  }
  if (!stopped.empty()) check.inconclusive(stopped);
  check.that(true, entry.sentence);
}

}  // namespace fb::conformance
