// What a program may rely on beyond single requests: a completion queue for each direction, ports and rights that it chose, results
// that it takes late or many at once, and requests made from inside an event.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "networkdirect/cases/consumer_trouble.h"

namespace fb::conformance {

/// Queue pairs of a program whose Sends and Receives end in different completion queues.
class DividedQueues final : public rdma::ConnectionHandler, private rdma::CompletionHandler {
 public:
  DividedQueues(NdProgram& program, Check& check, std::uint32_t entries, std::uint32_t results = 64)
      : program_(program),
        sends_(program.device().create_completion_queue(results)),
        receives_(program.device().create_completion_queue(results)) {
    if (sends_ == nullptr || receives_ == nullptr) throw CannotArrange{"the consumer makes no completion queue"};
    rdma::QueuePairOptions options;
    options.send_queue = sends_.get();
    options.receive_queue = receives_.get();
    options.send_entries = options.receive_entries = entries;
    options.handler = this;
    options.context = this;
    qp_ = program.device().create_queue_pair(program.domain(), options);
    check.require(qp_ != nullptr, "the consumer makes a queue pair", "it does not");
  }
  rdma::QueuePair& qp() { return *qp_; }
  rdma::CompletionQueue& sends() { return *sends_; }
  rdma::CompletionQueue& receives() { return *receives_; }
  int established = 0, ended = 0, notices = 0;

  void connect(ConsumerStage& stage) {
    qp_->connect(stage.peer_at(), nd_parameters());
    program_.wait("the connection", [&] { return established + ended > 0; });
    if (established == 0) throw CannotArrange{"the program is not connected"};
  }
  bool receive(std::uint64_t id, std::uint64_t offset, std::uint32_t length) {
    const rdma::Sge sge = program_.region().sge(offset, length);
    return qp_->post_receive({id, {&sge, 1}});
  }
  bool post(rdma::SendRequest request, std::uint64_t offset, std::uint32_t length) {
    const rdma::Sge sge = program_.region().sge(offset, length);
    request.sges = {&sge, length > 0 ? 1u : 0u};
    return qp_->post_send(request);
  }
  void watch(rdma::CompletionQueue& queue, bool solicited_only = false) { queue.request_notify(*this, solicited_only); }
  /// What there is, of at most so many in one call.
  static std::vector<rdma::Completion> take(rdma::CompletionQueue& queue, std::size_t most) {
    std::vector<rdma::Completion> found(most);
    found.resize(queue.poll(found));
    return found;
  }

 private:
  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts&) override { ++established; }
  void on_rejected(rdma::QueuePair&, std::uint16_t, ByteView) override { ++ended; }
  void on_unreachable(rdma::QueuePair&) override { ++ended; }
  void on_disconnected(rdma::QueuePair&) override { ++ended; }
  void on_queue_error(rdma::QueuePair&) override { ++ended; }
  void on_completions() override { ++notices; }

  NdProgram& program_;
  std::unique_ptr<rdma::CompletionQueue> sends_, receives_;
  std::unique_ptr<rdma::QueuePair> qp_;
};

/// Results of Sends and of Receives in queues of their own, while the connection works and after it has ended.
inline void sweep_divided_queues(ConsumerStage& stage, Check& check) {
  NdProgram& program = stage.program();
  stage.peer_listens();
  DividedQueues own(program, check, 16);
  check.require(own.receive(700, 0, 64), "a Receive is taken", "it is refused");
  own.connect(stage);
  VerbsQueue& peer = stage.peer_accepted();
  check.require(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected", "it is not");
  const auto only = [&](std::string_view what, rdma::CompletionQueue& queue, std::uint64_t id, rdma::CompletionStatus status) {
    rdma::CompletionQueue& other = &queue == &own.sends() ? own.receives() : own.sends();
    program.pass(Duration::ms(20));
    const auto found = DividedQueues::take(queue, 4);
    check.require(found.size() == 1, "the queue of " + std::string(what) + " has its result", "it has " + std::to_string(found.size()));
    check.equal("the request of " + std::string(what), found[0].id, id);
    check.that(found[0].status == status, std::string(what) + " ends as it should", std::string(rdma::name_of(found[0].status)));
    check.that(found[0].qp_context == &own && found[0].qp_number == own.qp().number(), "the result is of its queue pair",
               "it is of another");
    check.equal("results of " + std::string(what) + " in the other queue", DividedQueues::take(other, 4).size(), 0u);
  };
  using enum rdma::CompletionStatus;
  own.watch(own.receives());
  rdma::SendRequest send;
  send.id = 701;
  check.require(own.post(send, 0, 32), "a Send is taken", "it is refused");
  only("a Send", own.sends(), 701, success);
  check.equal("notices of the queue of Receives after a Send", own.notices, 0);
  own.watch(own.sends());
  check.require(peer.post_send({}, stage.peer_memory(), 0, 33), "the peer sends");
  only("a Receive", own.receives(), 700, success);
  check.equal("notices after a message", own.notices, 1);
  // Flushed by the end, and whatever is posted later.
  check.require(own.receive(702, 0, 64), "a Receive is taken", "it is refused");
  own.qp().fail();
  only("a flushed Receive", own.receives(), 702, flushed);
  check.require(own.receive(703, 0, 64), "a Receive is taken after the end", "it is refused");
  only("a later Receive", own.receives(), 703, flushed);
  send.id = 704;
  check.require(own.post(send, 0, 32), "a Send is taken after the end", "it is refused");
  only("a later Send", own.sends(), 704, flushed);
}

/// Results that wait: they come in their order, as many as there is room for, and are announced as long as one is there. `again`: also
/// of those that were announced before.
inline void sweep_waiting_results(ConsumerStage& stage, Check& check, bool again) {
  NdProgram& program = stage.program();
  constexpr std::uint64_t kMany = 40;
  stage.peer_listens();
  DividedQueues own(program, check, 64, 128);
  for (std::uint64_t i = 0; i < kMany; ++i) check.require(own.receive(i, 64 * i, 64), "a Receive is taken", "it is refused");
  own.connect(stage);
  VerbsQueue& peer = stage.peer_accepted();
  check.require(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected", "it is not");
  const auto message = [&] {
    check.require(peer.post_send({}, stage.peer_memory(), 0, 16), "the peer sends");
    check.require(peer.wait_send(Duration::s(10)).has_value(), "the peer's Send completes", "it does not");
  };
  std::uint64_t next = 0;
  const auto take = [&](std::size_t most, std::size_t expected) {
    const auto found = DividedQueues::take(own.receives(), most);
    check.require(found.size() == expected, "a look at a queue takes " + std::to_string(expected) + " results",
                  "it takes " + std::to_string(found.size()));
    for (const rdma::Completion& one : found) check.equal("the next Receive", one.id, next++);
  };
  const auto announced = [&](std::string_view what, int notices) {
    program.pass(Duration::ms(1));
    check.equal("notices " + std::string(what), std::exchange(own.notices, 0), notices);
  };
  own.watch(own.receives());
  message();
  announced("of the first message", 1);
  for (std::uint64_t i = 1; i < kMany - 1; ++i) message();
  take(5, 5);
  own.watch(own.receives());
  announced("of results that are still there", 1);
  if (again) {
    own.watch(own.receives());
    announced("of results that were announced before", 1);
    // Who waits for solicited messages alone hears of no other, whatever was asked before.
    own.watch(own.sends());
    own.sends().cancel_notify();
    own.watch(own.sends(), true);
    rdma::SendRequest plain;
    check.require(peer.post_receive(stage.peer_memory(), 5, 30000, 64) && own.post(plain, 0, 16), "a Send is taken", "it is refused");
    announced("of a Send, for solicited messages alone", 0);
    own.sends().cancel_notify();
  }
  message();
  program.pass(Duration::ms(1));
  take(1, 1);
  take(64, kMany - 6);
  own.watch(own.receives());
  announced("of an empty queue", 0);
  own.receives().cancel_notify();
}

/// Where connections come from, and where listeners stand, as the program chose or as the provider did.
inline void sweep_ports(ConsumerStage& stage, Check& check) {
  NdProgram& program = stage.program();
  stage.peer_listens({.hold = true});
  for (const std::uint16_t port : {std::uint16_t{50123}, std::uint16_t{0}}) {
    rdma::ConnectionParameters asked = nd_parameters();
    asked.source_port = port;
    NdLine& line = program.line();
    line.qp().connect(stage.peer_at(), asked);
    auto& requests = stage.peer().requests();
    program.wait("the request", [&] { return !requests.empty(); });
    const Endpoint from = requests.front()->facts().peer;
    check.equal("where the connection comes from", to_string(from.address), to_string(stage.program_at().address));
    if (port != 0) check.equal("the port that the program chose", unsigned{from.port}, unsigned{port});
    if (port == 0) check.that(from.port != 0, "the provider chooses a port", "it chooses none");
    requests.front()->reject(rdma::reject_reason::consumer_defined, {});
    requests.pop_front();
    program.wait("an answer", [&] { return line.answered(); });
    program.let_go(line);
  }
  rdma::Listener& listener = program.listen(0, NdAnswer::keep);
  const Endpoint at = listener.local();
  check.equal("where a listener stands", to_string(at.address), to_string(stage.program_at().address));
  check.require(at.port != 0, "a listener has a port when the program chose none", "it has none");
  VerbsQueue& asking = stage.peer().connect(at, nd_parameters());
  program.wait_requests(1);
  program.requests().clear();
  check.that(asking.wait_event(ConnectionEvent::rejected, Duration::s(10)), "the peer hears of a refusal", "it does not");
}

/// Connection requests in their order where one callback brings each, and more of them in the end than can wait at once.
inline void sweep_request_order(ConsumerStage& stage, Check& check, bool ordered) {
  constexpr std::uint8_t kAtOnce = 12;
  NdProgram& program = stage.program();
  program.listen(ConsumerStage::kProgramPort, NdAnswer::keep);
  std::size_t seen = 0;
  for (int round = 0; round < 8; ++round) {
    std::vector<VerbsQueue*> asking;
    for (std::uint8_t i = 0; i < kAtOnce; ++i) {
      const Bytes word(8, static_cast<std::uint8_t>(i + 1));
      rdma::ConnectionParameters asked = nd_parameters();
      asked.private_data = word;
      asking.push_back(&stage.peer_asks(asked));
    }
    program.wait_requests(seen += kAtOnce);
    for (std::uint8_t i = 0; ordered && i < kAtOnce; ++i) {
      const ByteView word = program.requests()[i]->facts().private_data;
      check.that(!word.empty() && word[0] == i + 1, "requests for connections come in their order",
                 "number " + std::to_string(i) + " is another");
    }
    if (round == 0) {
      // Each is refused with a word of its own.
      for (std::uint8_t i = 0; i < kAtOnce; ++i) {
        program.requests()[i]->reject(rdma::reject_reason::consumer_defined, pattern_of(140, i));
      }
    }
    program.requests().clear();
    for (std::uint8_t i = 0; i < kAtOnce; ++i) {
      check.that(asking[i]->wait_event(ConnectionEvent::rejected, Duration::s(10)), "each peer hears of its refusal", "one does not");
      if (round == 0) begins_with(check, "the word of a refusal", asking[i]->private_data(), pattern_of(140, i));
    }
  }
}

/// A reply that the program refuses: what it posted comes back. One that it answers at once, after one that it held.
inline void sweep_held_replies(ConsumerStage& stage, Check& check, bool same_queue_pair) {
  NdProgram& program = stage.program();
  stage.peer_listens({.hold = true});
  const auto request = [&] {
    auto& requests = stage.peer().requests();
    program.wait("the request", [&] { return !requests.empty(); });
    auto taken = std::move(requests.front());
    requests.pop_front();
    return taken;
  };
  {
    NdLine& line = program.line();
    for (int i = 0; i < 3; ++i) check.require(program.receive(line), "a Receive is taken", "it is refused");
    rdma::ConnectionParameters asked = nd_parameters();
    asked.hold_reply = true;
    line.qp().connect(stage.peer_at(), asked);
    VerbsQueue& peer = stage.peer().make_queue();
    const auto held = request();
    line.qp().confirm();                     // before there is a reply: of no effect
    const Bytes word = pattern_of(196, 40);  // as much as a reply has room for
    rdma::ConnectionParameters given = nd_parameters();
    given.private_data = word;
    held->accept(peer.qp(), given);
    program.wait("a reply", [&] { return line.answered(); });
    begins_with(check, "the private data of the longest reply", line.data, word);
    program.pass(Duration::ms(5));
    check.equal("connections before the program answers", line.established, 0);
    line.qp().refuse(rdma::reject_reason::consumer_defined, {});
    check.that(peer.wait_event(ConnectionEvent::rejected, Duration::s(10)), "the peer hears of a refusal", "it does not");
    program.pass(Duration::ms(20));
    check.that(line.qp().state() == rdma::QpState::error, "a queue pair is in error after its program refused a reply",
               std::string(rdma::name_of(line.qp().state())));
    for (int i = 0; i < 3; ++i) {
      const auto back = program.completion(Duration::ms(1));
      check.require(back.has_value(), "every Receive comes back after a refusal", "one does not");
      check.that(back->status == rdma::CompletionStatus::flushed, "it is flushed", std::string(rdma::name_of(back->status)));
    }
    program.let_go(line);
  }
  if (!same_queue_pair) return;
  NdLine& line = program.line();
  for (const bool hold : {true, false}) {
    rdma::ConnectionParameters asked = nd_parameters();
    asked.hold_reply = hold;
    line.qp().connect(stage.peer_at(), asked);
    const auto asking = request();
    if (hold) {
      asking->reject(rdma::reject_reason::consumer_defined, {});
      program.wait("a refusal", [&] { return line.rejected > 0; });
      continue;
    }
    VerbsQueue& peer = stage.peer().make_queue();
    asking->accept(peer.qp(), nd_parameters());
    program.wait("an answer", [&] { return line.established + line.accepted > 0; });
    check.equal("replies that wait although the program asked for none", line.accepted, 0);
  }
}

/// Regions with each set of rights, and what the peer may do in them.
inline void sweep_region_rights(ConsumerStage& stage, Check& check) {
  using rdma::Access;
  using rdma::SendOpcode;
  NdProgram& program = stage.program();
  for (const Access rights : {Access::none, Access::local_write, Access::remote_read, Access::local_write | Access::remote_read,
                              Access::local_write | Access::remote_write, NdProgram::kAll}) {
    const auto region = program.another_region(rights);
    for (const SendOpcode opcode : {SendOpcode::rdma_read, SendOpcode::rdma_write}) {
      const bool reads = opcode == SendOpcode::rdma_read;
      NdLine& line = stage.connect();
      VerbsQueue& peer = stage.peer_accepted();
      check.require(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected", "it is not");
      const Bytes before(program.memory().begin(), program.memory().end());
      rdma::SendRequest request;
      request.opcode = opcode;
      request.remote_address = region->address() + 500;
      request.rkey = region->rkey();
      check.require(peer.post_send(request, stage.peer_memory(), 21000, 64), "the peer asks");
      const auto done = peer.wait_send(Duration::s(20));
      check.require(done.has_value(), "the peer's request ends", "it does not");
      const bool granted = rdma::allows(rights, reads ? Access::remote_read : Access::remote_write);
      check.equal(std::string(reads ? "a Read" : "a Write") + " of the peer succeeds in a region with the rights " +
                      std::to_string(static_cast<unsigned>(rights)),
                  done->status == rdma::CompletionStatus::success, granted);
      Bytes expected = before;
      if (granted && !reads) std::copy_n(stage.peer_memory().bytes.begin() + 21000, 64, expected.begin() + 500);
      program.pass(Duration::ms(1));
      check.bytes("the memory afterwards", ByteView(program.memory()), expected);
      std::copy(before.begin(), before.end(), program.memory().begin());
      program.let_go(line);
      while (program.completion(Duration::ms(1))) {
      }
    }
  }
  // The key of a region that is gone names nothing, however many have come since.
  NdLine& line = stage.connect();
  if (program.device().limits().max_inline_bytes < 8) return;
  rdma::Sge former = {};
  std::vector<std::unique_ptr<rdma::MemoryRegion>> later;
  {
    const auto region = program.another_region();
    former = region->sge(0, 8);
  }
  for (int i = 0; i < 200; ++i) {
    later.push_back(program.another_region());
    if (i % 2 == 0) later.pop_back();
  }
  rdma::SendRequest copied;
  copied.inline_data = true;
  copied.sges = {&former, 1};
  bool taken = false;
  for (const auto& region : later) {
    former.address = region->address();
    taken = line.qp().post_send(copied) || taken;
  }
  check.that(!taken, "inline data of a region that is gone are refused", "they are taken");
}

/// Messages that are longer than the Receive for them, and such as find none.
inline void sweep_unfit_messages(ConsumerStage& stage, Check& check) {
  using enum rdma::CompletionStatus;
  NdProgram& program = stage.program();
  stage.peer_listens({.hold = true});
  struct Connected {
    NdLine& line;
    VerbsQueue& peer;
  };
  const auto connected = [&](bool receives) -> Connected {
    NdLine& line = program.line();
    check.require(program.receive(line, 4096, 100), "a Receive is taken", "it is refused");
    line.qp().connect(stage.peer_at(), nd_parameters());
    auto& requests = stage.peer().requests();
    program.wait("the request", [&] { return !requests.empty(); });
    VerbsQueue& peer = stage.peer().make_queue();
    if (receives) check.require(peer.post_receive(stage.peer_memory(), 1, 4096, 100), "the peer posts a receive");
    rdma::ConnectionParameters given = nd_parameters();
    given.rnr_retry_count = 3;
    requests.front()->accept(peer.qp(), given);
    requests.pop_front();
    program.wait("an answer", [&] { return line.answered(); });
    check.require(line.established == 1, "the program is connected", "it is not");
    check.require(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected", "it is not");
    return {line, peer};
  };
  const auto first_of = [&](std::string_view what, rdma::CompletionOpcode opcode) {
    std::optional<rdma::Completion> wanted;
    while (const auto done = program.completion(Duration::s(60))) {
      if (done->opcode == opcode && !wanted) wanted = done;
      if (wanted) break;
    }
    check.require(wanted.has_value(), std::string(what) + " ends", "it does not");
    return *wanted;
  };
  {
    const Connected c = connected(true);
    check.require(c.peer.post_send({}, stage.peer_memory(), 0, 101), "the peer sends");
    const auto came = first_of("a Receive that is too short for its message", rdma::CompletionOpcode::receive);
    check.that(came.status != success && came.status != flushed, "a Receive that is too short for its message fails",
               std::string(rdma::name_of(came.status)));
    check.that(c.line.qp().state() == rdma::QpState::error, "its queue pair is in error", std::string(rdma::name_of(c.line.qp().state())));
    program.let_go(c.line);
  }
  for (const bool receives : {true, false}) {
    const Connected c = connected(receives);
    check.require(program.post(c.line, {}, 0, 101), "a Send is taken", "it is refused");
    const std::string what = receives ? "a Send that is too long for the peer's Receive" : "a Send for which the peer has no Receive";
    const auto done = first_of(what, rdma::CompletionOpcode::send);
    // A provider may have reported it before the peer answered.
    if (!receives) check.that(done.status != success, what + " does not succeed", "it does");
    check.that(done.status != flushed, what + " is not reported as flushed", "it is");
    program.wait(
        "the end of the connection", [&] { return c.line.failed + c.line.disconnected > 0; }, Duration::s(60));
    program.let_go(c.line);
  }
  while (program.completion(Duration::ms(1))) {
  }
}

/// Marks of messages as the peer sees them, and Reads whose lengths are reported in their order.
inline void sweep_marks(ConsumerStage& stage, Check& check) {
  NdProgram& program = stage.program({.queue_entries = 40});
  NdLine& line = stage.connect();
  VerbsQueue& peer = stage.peer_accepted();
  check.require(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected", "it is not");
  for (const bool solicited : {true, false}) {
    for (const bool copied : {true, false}) {
      for (const bool signaled : {true, false}) {
        if (copied && program.device().limits().max_inline_bytes < 16) continue;
        rdma::SendRequest request;
        request.solicited = solicited;
        request.inline_data = copied;
        request.signaled = signaled;
        check.require(peer.post_receive(stage.peer_memory(), 9, 30000, 64), "the peer posts a receive");
        check.require(program.post(line, request, 0, 16), "a Send is taken", "it is refused");
        const auto came = peer.wait_receive(Duration::s(10));
        check.require(came.has_value(), "a message comes", "it does not");
        check.equal("whether a message solicits an event", came->solicited, solicited);
        const auto done = program.completion(Duration::ms(5));
        check.equal("whether a Send is reported", done.has_value(), signaled);
      }
    }
  }
  // What is fenced waits for the Read before it.
  for (std::uint8_t turn = 1; turn < 4; ++turn) {
    const std::size_t at = 9000;
    program.memory()[at] = 0;
    stage.peer_memory().bytes[100] = turn;
    check.require(peer.post_receive(stage.peer_memory(), 9, 30000, 64), "the peer posts a receive");
    rdma::SendRequest fenced;
    fenced.fence = true;
    check.require(program.post(line, stage.towards_peer(rdma::SendOpcode::rdma_read, 100), at, 1) && program.post(line, fenced, at, 1),
                  "a Read and a fenced Send are taken", "one is refused");
    const auto came = peer.wait_receive(Duration::s(10));
    check.require(came.has_value(), "a message comes", "it does not");
    // The receives of the peer's Accept are used first.
    const bool own = came->id == 9;
    check.equal("the byte of a fenced Send", own ? stage.peer_memory().bytes[30000] : stage.peer().received(came->id, 1)[0], turn);
    for (int i = 0; i < 2; ++i) check.require(program.completion().has_value(), "each request completes", "one does not");
  }
  if (!stage.counts_reads()) return;
  std::uint32_t length = 1;
  for (const std::uint32_t many : {10u, 40u, 7u, 40u}) {
    const std::uint32_t first = length;
    for (std::uint32_t i = 0; i < many; ++i) {
      check.require(program.post(line, stage.towards_peer(rdma::SendOpcode::rdma_read, 100), 8192, length++), "a Read is taken",
                    "it is refused");
    }
    for (std::uint32_t i = 0; i < many; ++i) {
      const auto done = program.completion();
      check.require(done.has_value(), "a Read completes", "it does not");
      check.equal("the length of a Read", done->byte_length, first + i);
    }
  }
}

/// Something that a program does inside an event, where nobody can wait for what pends.
class InsideEvent final : public Event {
 public:
  explicit InsideEvent(std::function<void()> what) : Event("case.inside-event"), what_(std::move(what)) {}
  static void run(NdProgram& program, World& world, std::function<void()> what) {
    bool done = false;
    InsideEvent event([&] {
      what();
      done = true;
    });
    world.loop().schedule(event, world.now());
    program.wait("an event", [&] { return done; });
  }

 private:
  void fire() override { what_(); }
  std::function<void()> what_;
};

/// Requests whose memory is being registered: those behind them wait too, and have the bytes of their own time.
inline void sweep_late_memory(ConsumerStage& stage, Check& check) {
  NdProgram& program = stage.program();
  NdLine& line = stage.connect();
  VerbsQueue& peer = stage.peer_accepted();
  check.require(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected", "it is not");
  const bool copies = program.device().limits().max_inline_bytes >= 16;
  for (int round = 0; round < 3; ++round) {
    std::unique_ptr<rdma::MemoryRegion> late;
    bool taken = true;
    const Bytes before(program.memory().begin(), program.memory().begin() + 16);
    InsideEvent::run(program, stage.world(), [&] {
      late = program.another_region();
      const auto receive = [&](std::uint64_t id, rdma::MemoryRegion& in) {
        const rdma::Sge sge = in.sge(8192 + 64 * (id - 800), 64);
        taken = line.qp().post_receive({id, {&sge, 1}}) && taken;
      };
      receive(800, *late);
      receive(801, program.region());
      const auto send = [&](std::uint64_t id, rdma::MemoryRegion& of, std::uint32_t length, bool copied) {
        const rdma::Sge sge = of.sge(0, length);
        rdma::SendRequest request;
        request.id = id;
        request.inline_data = copied;
        request.sges = {&sge, 1};
        taken = line.qp().post_send(request) && taken;
      };
      send(810, *late, 40, false);
      send(811, program.region(), 16, copies);
      if (copies) std::fill_n(program.memory().begin(), 16, std::uint8_t{0xEE});
    });
    check.require(taken, "requests whose memory is being registered are taken", "one is refused");
    std::vector<rdma::Completion> came;
    for (int i = 0; i < 2; ++i) {
      const auto got = peer.wait_receive(Duration::s(10));
      check.require(got.has_value(), "a message comes", "it does not");
      came.push_back(*got);
    }
    check.equal("the length of the first message", came[0].byte_length, 40u);
    check.equal("the length of the second message", came[1].byte_length, 16u);
    check.bytes("the second message", stage.peer().received(came[1].id, 16), before);
    if (copies) std::copy(before.begin(), before.end(), program.memory().begin());
    for (std::uint32_t i = 0; i < 2; ++i) {
      check.require(peer.post_send({}, stage.peer_memory(), 0, 20 + i), "the peer sends");
      check.require(peer.wait_send(Duration::s(10)).has_value(), "the peer's Send completes", "it does not");
    }
    std::vector<std::uint64_t> sent, received;
    for (int i = 0; i < 4; ++i) {
      const auto done = program.completion();
      check.require(done && done->status == rdma::CompletionStatus::success, "each request succeeds", "one does not");
      (done->opcode == rdma::CompletionOpcode::receive ? received : sent).push_back(done->id);
    }
    check.that(sent == std::vector<std::uint64_t>{810, 811}, "Sends complete in their order", "they do not");
    check.that(received == std::vector<std::uint64_t>{800, 801}, "Receives complete in their order", "they do not");
  }
  // What waits when the connection ends comes back too.
  std::unique_ptr<rdma::MemoryRegion> late;
  InsideEvent::run(program, stage.world(), [&] {
    late = program.another_region();
    const rdma::Sge sge = late->sge(0, 64);
    line.qp().post_receive({820, {&sge, 1}});
    rdma::SendRequest request;
    request.id = 821;
    request.sges = {&sge, 1};
    line.qp().post_send(request);
    line.qp().fail();
  });
  program.pass(Duration::ms(50));
  std::size_t back = 0;
  while (const auto done = program.completion(Duration::ms(1))) back += done->id == 820 || done->id == 821 ? 1 : 0;
  check.equal("requests that come back", back, 2u);
}

}  // namespace fb::conformance
