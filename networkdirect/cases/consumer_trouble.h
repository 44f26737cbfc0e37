// What a consumer of a programming interface makes of trouble: a provider that has no room for a request, ends at every moment of a
// connection, requests at and beyond each limit, and notices in any order.
#pragma once

#include <array>
#include <utility>

#include "base/rng.h"
#include "networkdirect/cases/consumer_sweep.h"

namespace fb::conformance {

/// A sweep on a stage, and what watches has the last word: also where a consumer that broke a rule got no further.
template <class Sweep>
void judge_sweep(ConsumerStage& stage, Check& check, Sweep&& sweep) {
  std::string stopped;
  try {
    sweep(stage);
  } catch (const NeverCame& never) {
    check.that(false, "what a program waits for comes", never.why);
  } catch (const CannotArrange& cannot) {
    stopped = cannot.why;
  }
  ends_well(stage, check);
  if (!stopped.empty()) throw CannotArrange{stopped};
}

/// Runs a step of a program whose provider may refuse it for want of resources; what was awaited must come all the same. With
/// `again` it is tried once more, and must succeed then.
template <class Step>
auto try_step(Check& check, std::string_view what, bool again, Step&& step) {
  const auto heard = [&] {
    try {
      return step();
    } catch (const NeverCame& never) {
      check.require(false, "a program hears what became of " + std::string(what), never.why);
      throw;
    }
  };
  if (!again) return heard();
  try {
    return heard();
  } catch (const CannotArrange&) {
  } catch (const UserError&) {
  }
  std::string why;
  try {
    return heard();
  } catch (const CannotArrange& cannot) {
    why = cannot.why;
  } catch (const UserError& problem) {
    why = problem.what();
  }
  check.require(false, std::string(what) + " succeeds when it is tried again", why);
  throw CannotArrange{why};
}

/// Everything once, over all objects. `memory`: what the interface has beside regions, on a connection that works.
template <class Memory>
void use_everything(ConsumerStage& stage, Check& check, bool again, Memory&& memory) {
  using rdma::SendOpcode;
  const auto step = [&](std::string_view what, auto&& made) { return try_step(check, what, again, made); };
  const auto succeeds = [&](const rdma::Completion& done) {
    if (done.status != rdma::CompletionStatus::success) throw CannotArrange{std::string(rdma::name_of(done.status))};
    return true;
  };
  NdProgram& program = *step("the beginning of a program", [&] { return &stage.program({.shared_receives = true}); });
  stage.peer_listens();
  NdLine& line = *step("a connection", [&] { return &stage.connect(); });
  VerbsQueue& peer = stage.peer_accepted();
  check.require(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
  // More than once, since what was refused must not be counted.
  for (std::uint32_t round = 0; round < 3; ++round) {
    const std::uint32_t length = 100 + round;
    step("a Send", [&] { return succeeds(program.perform(line, {}, 256 * round, length)); });
    const auto came = peer.wait_receive(Duration::s(10));
    check.require(came.has_value(), "a message comes", "it does not");
    check.bytes("the message", stage.peer().received(came->id, length), ByteView(program.memory()).subspan(256 * round, length));
    step("a Receive", [&] {
      if (!program.receive(line, 8192, 1024)) throw CannotArrange{"a Receive is not taken"};
      return true;
    });
    check.require(peer.post_send({}, stage.peer_memory(), 77 * round, length), "the peer sends");
    check.require(peer.wait_send(Duration::s(10)).has_value(), "the peer's Send completes", "it does not");
    const auto received = program.completion();
    check.require(received && received->opcode == rdma::CompletionOpcode::receive, "a message comes", "it does not");
    check.equal("its length", received->byte_length, length);
    check.bytes("the message", ByteView(program.memory()).subspan(8192, length),
                ByteView(stage.peer_memory().bytes).subspan(77 * round, length));
    for (const SendOpcode opcode : {SendOpcode::rdma_write, SendOpcode::rdma_read}) {
      const auto done = step("an access to the peer's memory", [&] {
        const auto ended = program.perform(line, stage.towards_peer(opcode, 4096), 512, length);
        succeeds(ended);
        return ended;
      });
      if (opcode == SendOpcode::rdma_read && stage.counts_reads()) check.equal("the length of a Read", done.byte_length, length);
    }
  }
  memory(line, step);
  step("another region", [&] { return program.another_region()->rkey() != 0; });
  step("a listener", [&] { return &program.listen(ConsumerStage::kProgramPort); });
  std::size_t asked = 0;
  for (std::uint32_t round = 0; round < 3; ++round) {
    NdLine& passive = *step("a connection of the peer's asking", [&] {
      stage.peer_asks();
      program.wait_requests(++asked);
      NdLine& accepted = program.accepted();
      program.wait("the end of Accept", [&] { return accepted.answered() || accepted.failed > 0; });
      if (accepted.established == 0) throw CannotArrange{"the program is not connected"};
      return &accepted;
    });
    step("a Send", [&] {
      VerbsQueue& other = *stage.newest_asked();
      if (!other.post_receive(stage.peer_memory(), 7, 30000, 256)) throw CannotArrange{"the peer takes no Receive"};
      return succeeds(program.perform(passive, {}, 64, 64));
    });
    step("a disconnection", [&] {
      passive.qp().disconnect();
      program.wait("the end of Disconnect", [&] { return passive.disconnected > 0; });
      return true;
    });
  }
}

/// The same, with each of its requests refused once: `make` has a stage whose provider refuses the request of a number, and
/// `use(stage, again)` the use. Either each step is tried again, or all of it by another program.
template <class Make, class Use>
void sweep_refusals(Check& check, bool steps, Make&& make, Use&& use) {
  constexpr std::uint64_t kMost = 400;
  std::uint64_t number = 1;
  for (; number <= kMost; ++number) {
    const auto stage = make(number);
    std::string why;
    try {
      use(*stage, steps);
    } catch (const CannotArrange& cannot) {
      why = cannot.why;
    } catch (const UserError& problem) {
      why = problem.what();
    }
    if (!why.empty()) {
      check.require(!steps && stage->refused(), "a program works whose provider refuses nothing", why);
      stage->let_program_go();
      use(*stage, true);
    }
    const bool refused = stage->refused();
    ends_well(*stage, check);
    if (!refused) break;
  }
  check.that(number > 10, "the provider has requests to refuse", "it has " + std::to_string(number - 1));
}

/// Ends of a connection, of either side, at each moment of it.
inline void sweep_endings(ConsumerStage& stage, Check& check) {
  enum class Moment : std::uint8_t { idle, asked, held, connected, busy, failed };
  enum class End : std::uint8_t { disconnect, fail, let_go, peer };
  NdProgram& program = stage.program();
  ListenTerms holding;
  holding.hold = true;
  stage.peer_listens(holding);
  constexpr std::array<std::string_view, 6> kMoments = {"before it is connected", "while the peer is asked",   "while a reply is held",
                                                        "when it is connected",   "with requests in progress", "after a failure"};
  constexpr std::array<std::string_view, 4> kEnds = {"disconnect()", "fail()", "the destruction of the queue pair", "the peer's end"};
  for (const Moment moment : {Moment::idle, Moment::asked, Moment::held, Moment::connected, Moment::busy, Moment::failed}) {
    for (const End end : {End::disconnect, End::fail, End::let_go, End::peer}) {
      if (moment == Moment::idle && end == End::peer) continue;
      const std::string what =
          std::string(kEnds[static_cast<std::size_t>(end)]) + " " + std::string(kMoments[static_cast<std::size_t>(moment)]);
      NdLine& line = program.line();
      for (int i = 0; i < 2; ++i) check.require(program.receive(line, 2048, 64), "the program posts a receive");
      rdma::ConnectionParameters parameters = nd_parameters();
      parameters.hold_reply = moment == Moment::held;
      std::unique_ptr<rdma::ConnectionRequest> request;
      VerbsQueue* peer = nullptr;
      if (moment != Moment::idle) {
        line.qp().connect(stage.peer_at(), parameters);
        program.wait("the request", [&] { return !stage.peer().requests().empty(); });
        request = std::move(stage.peer().requests().front());
        stage.peer().requests().pop_front();
      }
      if (moment > Moment::asked) {
        peer = &stage.peer().make_queue();
        check.require(peer->post_receive(stage.peer_memory(), 1, 4096, 4096), "the peer posts a receive");
        request->accept(peer->qp(), nd_parameters());
        program.wait("an answer", [&] { return line.answered(); });
        if (moment != Moment::held) check.require(peer->wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
      }
      std::size_t expected = 2;  // receives that come back
      if (moment == Moment::busy) {
        for (int i = 0; i < 3; ++i, ++expected) {
          check.require(program.post(line, stage.towards_peer(rdma::SendOpcode::rdma_read), 0, 4096), "a Read is taken");
        }
      }
      if (moment == Moment::failed) {
        rdma::SendRequest astray = stage.towards_peer(rdma::SendOpcode::rdma_write);
        astray.rkey ^= 0x5500;
        check.require(program.post(line, astray), "a Write is taken");
        ++expected;
        program.pass(Duration::ms(50));
      }
      const int ends_before = line.disconnected;
      switch (end) {
        case End::disconnect:
          line.qp().disconnect();
          break;
        case End::fail:
          line.qp().fail();
          break;
        case End::let_go:
          program.let_go(line);
          break;
        case End::peer:
          if (peer == nullptr)
            request->reject(rdma::reject_reason::consumer_defined, {});
          else
            peer->qp().disconnect();
          break;
      }
      request.reset();
      program.pass(Duration::ms(200));
      if (moment == Moment::held && end == End::peer) {
        // An interface may tell of it when the program answers.
        line.qp().confirm();
        program.pass(Duration::ms(200));
      }
      if (end == End::let_go) {
        while (program.completion(Duration::ms(1))) {  // what had completed before
        }
      } else {
        const bool rejected = end == End::peer && moment == Moment::asked;
        if (end == End::disconnect) {
          const bool told = moment == Moment::failed ? line.disconnected <= 1 : line.disconnected == ends_before + 1;
          check.that(told, "one end is reported of " + what, std::to_string(line.disconnected) + " are");
        } else if (rejected) {
          check.equal("refusals that are reported of " + what, line.rejected, 1);
        } else if (end == End::peer && moment != Moment::failed) {
          check.equal("ends that are reported of " + what, line.disconnected + line.rejected + line.unreachable, 1);
        }
        if (rejected) {
          // Nothing was agreed: what is posted stays until the queue pair goes.
          program.let_go(line);
          while (program.completion(Duration::ms(1))) {
          }
          continue;
        }
        // Everything that was posted comes back, once.
        std::size_t back = 0;
        while (const auto done = program.completion(Duration::ms(1))) {
          ++back;
          check.that(done->qp_context == &line, "a completion after " + what + " is of its queue pair", "it is of another");
        }
        check.equal("requests that come back after " + what, back, expected);
        check.that(line.qp().state() == rdma::QpState::error, "the queue pair is in error after " + what,
                   std::string(rdma::name_of(line.qp().state())));
        // Whatever is said to it now changes nothing.
        if (end != End::fail) {
          const int established = line.established, ended = line.disconnected + line.rejected + line.unreachable;
          line.qp().confirm();
          line.qp().connect(stage.peer_at(), nd_parameters());
          line.qp().fail();
          line.qp().disconnect();
          program.pass(Duration::ms(50));
          check.equal("connections that are reported after " + what, line.established, established);
          check.that(stage.peer().requests().empty(), "nobody is asked after " + what, "the peer is");
          check.equal("ends that are reported in the end, after " + what, line.disconnected + line.rejected + line.unreachable, ended);
        }
        check.require(program.receive(line, 2048, 64), "a receive is taken after " + what);
        const auto late = program.completion();
        check.that(late && late->status == rdma::CompletionStatus::flushed, "it is flushed", "it is not");
        program.let_go(line);
      }
      if (peer != nullptr) {
        check.that(peer->wait_event(ConnectionEvent::disconnected, Duration::s(10)) || peer->happened(ConnectionEvent::rejected) ||
                       peer->happened(ConnectionEvent::queue_error),
                   "the peer hears of " + what, "it does not");
      }
    }
  }
}

/// Attempts to reach nobody: each has its end, also when it is given up before, and the next one works.
inline void sweep_unreachable(ConsumerStage& stage, Check& check, bool same_queue_pair) {
  NdProgram& program = stage.program();
  stage.peer_listens();
  const bool v4 = stage.peer_at().address.is_v4();
  const IpAddress of_v6 = IpAddress::v6({0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x99});
  auto bytes = stage.peer_at().address.bytes();
  bytes[15] ^= 0x40;
  const IpAddress nobody = IpAddress::v6(bytes), other_family = v4 ? of_v6 : IpAddress::v4(192, 0, 2, 99);
  enum class End : std::uint8_t { waits, disconnects, lets_go };
  struct Try {
    std::string_view what;
    Endpoint to;
    End end;
    bool refused;
  };
  for (const Try& one : {Try{"an address where nobody is", {nobody, 7600}, End::waits, false},
                         Try{"an address of another family", {other_family, 7600}, End::waits, false},
                         Try{"a port where nobody listens", {stage.peer_at().address, 7999}, End::waits, true},
                         Try{"an address where nobody is, given up", {nobody, 7600}, End::disconnects, false},
                         Try{"an address where nobody is, with its queue pair gone", {nobody, 7600}, End::lets_go, false}}) {
    const std::string what = "a connection to " + std::string(one.what);
    NdLine& line = program.line();
    check.require(program.receive(line), "the program posts a receive");
    line.qp().connect(one.to, nd_parameters());
    if (one.end == End::waits) {
      program.wait(
          "the end of " + what, [&] { return line.answered(); }, Duration::s(200));
      check.equal("reports that " + what + " is not to be had", one.refused ? line.rejected : line.unreachable, 1);
    } else {
      program.pass(Duration::ms(500));
      if (one.end == End::disconnects) {
        line.qp().disconnect();
        program.wait("the end of " + what, [&] { return line.disconnected > 0; });
      } else {
        program.let_go(line);
      }
      program.pass(Duration::s(200));
    }
    if (one.end == End::lets_go) continue;
    check.equal("reports of " + what, line.rejected + line.unreachable + line.disconnected, 1);
    if (same_queue_pair && one.end == End::waits) {
      // It may try again.
      program.ask(line, stage.peer_at(), nd_parameters());
      program.wait("a second attempt", [&] { return line.established > 0; });
      check.require(program.post(line, {}), "a Send is taken", "it is refused");
      const auto sent = program.completion();
      check.that(sent && sent->status == rdma::CompletionStatus::success, "it succeeds", "it does not");
    }
    program.let_go(line);
    while (program.completion(Duration::ms(1))) {
    }
  }
  check.equal("connections after all that", program.ask(stage.peer_at()).established, 1);
}

/// Requests at a limit of the device and beyond it, and such as it does not have.
inline void sweep_limits(ConsumerStage& stage, Check& check) {
  using rdma::SendOpcode;
  NdProgram& program = stage.program();
  NdLine& line = stage.connect();
  VerbsQueue& queue = stage.peer_accepted();
  check.require(queue.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
  const rdma::DeviceLimits limits = program.device().limits();
  std::uint64_t id = 1000;
  const auto post = [&](SendOpcode opcode, const std::vector<rdma::Sge>& sges, bool copied) {
    rdma::SendRequest request = stage.towards_peer(opcode, 8192);
    request.id = ++id;
    request.sges = sges;
    request.inline_data = copied;
    return line.qp().post_send(request);
  };
  const auto good = [&](std::string_view what, bool taken) {
    check.require(taken, std::string(what) + " is taken", "it is refused");
    const auto done = program.completion();
    check.require(done.has_value(), std::string(what) + " completes", "it does not");
    check.that(done->status == rdma::CompletionStatus::success, std::string(what) + " succeeds", std::string(rdma::name_of(done->status)));
    check.equal("its request", done->id, id);
  };
  const auto bad = [&](std::string_view what, bool taken) {
    check.that(!taken, std::string(what) + " is refused", "it is taken");
    check.that(!program.completion(Duration::ms(1)), std::string(what) + " has no completion", "it has");
  };
  rdma::MemoryRegion& region = program.region();
  const std::uint32_t most = limits.max_inline_bytes;
  if (most > 0) {
    good("an inline Write of as much as there can be", post(SendOpcode::rdma_write, {region.sge(5, most)}, true));
    check.bytes("what it wrote", ByteView(stage.peer_memory().bytes).subspan(8192, most), ByteView(program.memory()).subspan(5, most));
    good("an inline Write of two pieces", post(SendOpcode::rdma_write, {region.sge(300, most - 1), region.sge(9, 1)}, true));
    check.bytes("what it wrote", ByteView(stage.peer_memory().bytes).subspan(8192, most - 1),
                ByteView(program.memory()).subspan(300, most - 1));
    check.equal("its last byte", stage.peer_memory().bytes[8192 + most - 1], program.memory()[9]);
    good("an inline Write of nothing", post(SendOpcode::rdma_write, {}, true));
    bad("an inline Write of a byte too many", post(SendOpcode::rdma_write, {region.sge(5, most + 1)}, true));
    bad("an inline Write of two pieces, a byte too many", post(SendOpcode::rdma_write, {region.sge(5, most), region.sge(0, 1)}, true));
    bad("an inline Read", post(SendOpcode::rdma_read, {region.sge(5, 1)}, true));
    rdma::Sge nowhere = region.sge(0, 8);
    nowhere.address = region.address() + region.length() - 7;
    bad("inline data beyond their region", post(SendOpcode::rdma_write, {nowhere}, true));
    nowhere.address = region.address() - 1;
    bad("inline data before their region", post(SendOpcode::rdma_write, {nowhere}, true));
    nowhere.address = ~std::uint64_t{0} - 3;
    bad("inline data at the end of all addresses", post(SendOpcode::rdma_write, {nowhere}, true));
    nowhere = region.sge(0, 8);
    nowhere.lkey ^= 0x7F00;
    bad("inline data of no region", post(SendOpcode::rdma_write, {nowhere}, true));
    nowhere.length = 0;
    good("an empty piece of no region as inline data", post(SendOpcode::rdma_write, {nowhere}, true));
    nowhere = region.sge(region.length() - 8, 8);
    good("inline data at the end of their region", post(SendOpcode::rdma_write, {nowhere}, true));
  }
  // Lists: the queue pair was made for four.
  constexpr std::uint32_t kSges = NdProgramTerms().sges;
  const std::uint32_t sges = std::min(kSges, limits.max_sges);
  std::vector<rdma::Sge> list;
  for (std::uint32_t i = 0; i < sges; ++i) list.push_back(region.sge(100 * i, 3 + i));
  good("a Write of as many buffers as there can be", post(SendOpcode::rdma_write, list, false));
  good("a Read of as many buffers as there can be", post(SendOpcode::rdma_read, list, false));
  check.that(line.qp().post_receive({++id, list}), "a receive of as many buffers as there can be is taken", "it is refused");
  check.require(queue.post_send({}, stage.peer_memory(), 40, 11), "the peer sends");
  const auto came = program.completion();
  check.require(came.has_value(), "the message comes", "it does not");
  check.equal("its length", came->byte_length, 11u);
  list.push_back(region.sge(1000, 1));
  bad("a Write of a buffer too many", post(SendOpcode::rdma_write, list, false));
  bad("a Read of a buffer too many", post(SendOpcode::rdma_read, list, false));
  bad("a receive of a buffer too many", line.qp().post_receive({++id, list}));
  for (const SendOpcode opcode :
       {SendOpcode::send_with_immediate, SendOpcode::rdma_write_with_immediate, SendOpcode::compare_and_swap, SendOpcode::fetch_and_add}) {
    const bool has = opcode == SendOpcode::compare_and_swap || opcode == SendOpcode::fetch_and_add ? limits.atomics : limits.immediate_data;
    if (!has) bad("a request of a kind that the device does not have", post(opcode, {region.sge(0, 8)}, false));
  }
  // As many as the queues were made for, and again when there is room.
  constexpr std::uint32_t kEntries = NdProgramTerms().queue_entries;
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < kEntries; ++i) {
      check.require(post(SendOpcode::rdma_write, {region.sge(0, 1)}, false), "a queue takes as many requests as it was made for",
                    "it is refused");
    }
    for (std::uint32_t i = 0; i < kEntries; ++i) {
      const auto done = program.completion();
      check.require(done.has_value(), "every request completes", "one does not");
      check.that(done->status == rdma::CompletionStatus::success, "it succeeds", std::string(rdma::name_of(done->status)));
    }
    good("a Read afterwards", post(SendOpcode::rdma_read, {region.sge(64, 9)}, false));
  }
  for (std::uint32_t i = 0; i < kEntries; ++i) {
    check.require(program.receive(line, 0, 64), "a queue takes as many receives as it was made for", "it is refused");
  }
  for (std::uint32_t i = 0; i < kEntries; ++i) {
    check.require(queue.post_send({}, stage.peer_memory(), 0, 8), "the peer sends");
    check.require(program.completion().has_value(), "every receive completes", "one does not");
    check.require(queue.wait_send(Duration::s(10)).has_value(), "the peer's Send completes", "it does not");
  }
  check.that(limits.max_reads > 0 && limits.max_message_bytes > 0, "the device declares its limits", "one is 0");
}

/// Notices, in any order of requests, messages and looks.
inline void sweep_any_notices(ConsumerStage& stage, Check& check) {
  NdProgram& program = stage.program();
  NdLine& line = stage.connect();
  VerbsQueue& queue = stage.peer_accepted();
  check.require(queue.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
  enum class Armed : std::uint8_t { no, solicited, all };
  Armed armed = Armed::no;
  int expected = program.told();
  std::size_t present = 0;
  bool told = false;          // of all that is present
  Rng rng(0x6E6F7469636573);  // always the same turns
  for (int turn = 0; turn < 300; ++turn) {
    switch (rng.next() % 6) {
      case 0:
      case 1: {
        if (present > 8) break;
        rdma::SendRequest request;
        request.solicited = rng.next() % 2 == 0;
        check.require(program.receive(line), "the program posts a receive");
        check.require(queue.post_send(request, stage.peer_memory(), 0, 16), "the peer sends");
        check.require(queue.wait_send(Duration::s(10)).has_value(), "the message is sent");
        ++present;
        if (armed == Armed::all || (armed == Armed::solicited && request.solicited)) {
          ++expected;
          armed = Armed::no;
          told = true;
        } else {
          told = false;
        }
        break;
      }
      case 2:
        // Whether it hears of the same once more is the interface's affair.
        if (present > 0 && told) break;
        program.watch();
        armed = Armed::all;
        if (present > 0) {
          ++expected;
          armed = Armed::no;
          told = true;
        }
        break;
      case 3:
        // Only where it is clear what it waits for: some interfaces tell of everything once they were asked to.
        if (present > 0 || armed != Armed::no) break;
        program.watch(true);
        armed = Armed::solicited;
        break;
      case 4:
        for (; present > 0; --present)
          check.require(program.completion(Duration::ms(1)).has_value(), "the completions are there", "one is missing");
        check.that(!program.completion(Duration::ms(1)), "there are no more", "there are");
        break;
      default:
        if (rng.next() % 4 != 0) break;
        program.queue().cancel_notify();
        armed = Armed::no;
        break;
    }
    program.pass(Duration::ms(1));
    if (!check.equal("notices after turn " + std::to_string(turn), program.told(), expected)) return;
  }
}

/// A shared receive queue that is asked for its limit again and again.
inline void sweep_low_limits(ConsumerStage& stage, Check& check) {
  NdProgram& program = stage.program({.shared_receives = true});
  stage.peer_listens();
  NdLine& line = program.ask(stage.peer_at());
  check.require(line.established > 0, "there is a connection");
  VerbsQueue& queue = stage.peer_accepted();
  check.require(queue.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
  const rdma::Sge sge = program.region().sge(0, 64);
  check.that(!line.qp().post_receive({1, {&sge, 1}}), "a receive beside the shared queue is refused", "it is taken");
  const auto sent = performed(check, program, line, {}, 0, 16);
  check.that(sent.status == rdma::CompletionStatus::success, "a Send beside shared receives succeeds",
             std::string(rdma::name_of(sent.status)));
  std::uint32_t there = 0;
  int low = 0;
  const auto fill = [&](std::uint32_t wanted) {
    for (; there < wanted; ++there) check.require(program.receive(line), "a shared receive is taken");
  };
  const auto hears = [&](std::string_view what, int more) {
    program.pass(Duration::ms(1));
    low += more;
    check.equal("times that the queue said it runs low, " + std::string(what), program.low(), low);
  };
  const auto use = [&] {
    check.require(queue.post_send({}, stage.peer_memory(), 0, 8), "the peer sends");
    check.require(program.completion().has_value(), "a message comes", "it does not");
    --there;
  };
  for (const std::uint32_t limit : {1u, 3u, 7u}) {
    fill(9);
    use();
    hears("when nothing was asked", 0);
    program.shared().arm_limit(limit);
    while (there > limit) use(), hears("above the limit", 0);
    hears("at the limit", 0);
    use();
    hears("below the limit", 1);
    if (there > 0) use();
    hears("further below", 0);
    fill(9);
    hears("when it is full again", 0);
  }
  program.shared().arm_limit(4);
  program.shared().arm_limit(0);
  while (there > 1) use();
  hears("when the request was taken back", 0);
  fill(6);
  program.shared().arm_limit(2);
  program.shared().arm_limit(5);
  while (there > 4) use();
  hears("at the later one of two requests", 1);
}

}  // namespace fb::conformance
