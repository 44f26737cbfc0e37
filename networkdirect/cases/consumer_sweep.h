// What programs get of a device that stands on a consumer of a programming interface: their bytes,
// their completions and their connections, whatever the interface below. The peer is a program on a
// plain device.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "conformance/cases/access_sweep.h"
#include "conformance/cases/transfer_sweep.h"
#include "conformance/runner/consumer_stage.h"

namespace fb::conformance {

/// For TransferSweep: end 0 is the program on the consumer, end 1 the peer.
class ConsumerSweep {
 public:
  explicit ConsumerSweep(ConsumerStage& stage, bool shared = false, bool from_peer = false) : stage_(stage) {
    const rdma::DeviceLimits limits = stage.program(terms(shared)).device().limits();
    limits_.sges = limits_.read_sges = limits_.receive_sges = std::min(limits.max_sges, kSges);
    limits_.inline_bytes = std::min(limits.max_inline_bytes, kSweepInline);
    line_ = from_peer ? &stage.connect_from_peer() : &stage.connect();
    if (from_peer) {
      VerbsQueue& asked = *stage.newest_asked();
      queue_ = &asked;
      // A receive that the program posts when it accepts: a message for it.
      rdma::SendRequest first;
      queue_->post_send(first);
      if (!stage.program().completion() || !queue_->wait_send(Duration::s(10))) throw CannotArrange{"no message comes"};
    } else {
      queue_ = &stage.peer_accepted();
    }
    program_bytes_.resize(kSweepBytes);
    program_region_ = stage.program().domain().register_memory(program_bytes_, NdProgram::kAll);
    peer_memory_ = &stage.peer().memory(kSweepBytes);
    // The receives that the peer posted when it accepted are used up first.
    if (!from_peer) {
      for (std::uint32_t i = 0; i < ListenTerms().receives; ++i) {
        stage.program().perform(*line_, {}, 0, 1);
        if (!queue_->wait_receive(Duration::s(10))) throw CannotArrange{"no message comes"};
      }
    }
  }

  NdLine& line() { return *line_; }
  VerbsQueue& queue() { return *queue_; }
  MutableBytes memory(int end) { return end == 0 ? MutableBytes(program_bytes_) : MutableBytes(peer_memory_->bytes); }
  SweepLimits limits() const { return limits_; }

  bool receive(int end, std::uint64_t tag, const std::vector<SweepPiece>& pieces) {
    const auto sges = list(end, pieces);
    const rdma::ReceiveRequest request{tag, sges};
    if (end == 1) return queue_->qp().post_receive(request);
    NdProgram& program = stage_.program();
    return shared() ? program.shared().post_receive(request) : line_->qp().post_receive(request);
  }
  bool post(int end, const SweepRequest& asked) {
    const auto sges = list(end, asked.pieces);
    rdma::SendRequest request;
    request.id = asked.tag;
    request.opcode = asked.kind == SweepKind::send    ? rdma::SendOpcode::send
                     : asked.kind == SweepKind::write ? rdma::SendOpcode::rdma_write
                                                      : rdma::SendOpcode::rdma_read;
    request.sges = sges;
    request.signaled = !asked.silent;
    request.solicited = asked.solicited;
    request.fence = asked.fence;
    request.inline_data = asked.copied;
    request.remote_address = region(1 - end).address() + asked.remote;
    request.rkey = region(1 - end).rkey();
    return (end == 0 ? line_->qp() : queue_->qp()).post_send(request);
  }
  std::optional<SweepResult> result(int end, bool of_receive) {
    const auto found = end == 0     ? stage_.program().completion()
                       : of_receive ? queue_->wait_receive(Duration::s(10))
                                    : queue_->wait_send(Duration::s(10));
    if (!found) return std::nullopt;
    SweepResult made;
    made.tag = found->id;
    made.good = found->status == rdma::CompletionStatus::success;
    made.status = std::string(rdma::name_of(found->status));
    if (end == 0) made.own_queue_pair = found->qp_context == line_ && found->qp_number == line_->qp().number();
    switch (found->opcode) {
      case rdma::CompletionOpcode::send:
        made.kind = SweepKind::send;
        break;
      case rdma::CompletionOpcode::rdma_write:
        made.kind = SweepKind::write;
        break;
      case rdma::CompletionOpcode::rdma_read:
        made.kind = SweepKind::read;
        if (end == 1 || stage_.counts_reads()) made.bytes = found->byte_length;
        break;
      case rdma::CompletionOpcode::receive:
        made.bytes = found->byte_length;
        break;
      default:
        made.own_queue_pair = false;
        break;
    }
    return made;
  }
  bool quiet() { return !stage_.program().completion(Duration::ms(1)) && queue_->quiet_for(Duration::ms(1)); }

 private:
  static constexpr std::uint32_t kSges = 4;  // as many as the peer's queues take
  static NdProgramTerms terms(bool shared) {
    NdProgramTerms made;
    made.queue_entries = kSweepDepth;
    made.sges = kSges;
    made.shared_receives = shared;
    return made;
  }
  bool shared() const { return stage_.program().shares(); }
  rdma::MemoryRegion& region(int end) { return end == 0 ? *program_region_ : *peer_memory_->region; }
  std::vector<rdma::Sge> list(int end, const std::vector<SweepPiece>& pieces) {
    std::vector<rdma::Sge> made;
    for (const SweepPiece& piece : pieces) made.push_back(region(end).sge(piece.offset, piece.length));
    return made;
  }

  ConsumerStage& stage_;
  SweepLimits limits_;
  NdLine* line_ = nullptr;
  VerbsQueue* queue_ = nullptr;
  Bytes program_bytes_;
  std::unique_ptr<rdma::MemoryRegion> program_region_;
  VerbsMemory* peer_memory_ = nullptr;
};

/// The program is gone, and nothing was found against the consumer below it.
inline void ends_well(ConsumerStage& stage, Check& check) {
  stage.end();
  const std::string found = stage.complaint();
  check.that(found.empty(), "the consumer keeps to the rules of the interface", found);
}

/// NdProgram::perform() for requests that the consumer has to take.
inline rdma::Completion performed(Check& check, NdProgram& program, NdLine& line, const rdma::SendRequest& request, std::uint64_t offset,
                                  std::uint32_t length) {
  check.require(program.post(line, request, offset, length), "the consumer takes a request", "it is refused");
  const auto done = program.completion();
  check.require(done.has_value(), "the request completes", "it does not");
  return *done;
}

inline Bytes pattern_of(std::size_t length, unsigned first) {
  Bytes made(length);
  for (std::size_t i = 0; i < length; ++i) made[i] = static_cast<std::uint8_t>(first + i % 89);
  return made;
}

inline void begins_with(Check& check, std::string_view what, ByteView got, ByteView sent) {
  if (!check.that(got.size() >= sent.size(), std::string(what) + " is whole", "it has " + std::to_string(got.size()) + " bytes")) return;
  check.bytes(what, got.first(sent.size()), sent);
  const bool padded = std::all_of(got.begin() + static_cast<std::ptrdiff_t>(sent.size()), got.end(), [](std::uint8_t b) { return b == 0; });
  check.that(padded, "what follows " + std::string(what) + " is zero", "it is not");
}

inline void has_facts(Check& check, std::string_view what, const rdma::ConnectionFacts& facts, const IpAddress& peer, unsigned resources,
                      unsigned depth) {
  check.equal(std::string(what) + ": address of the peer", to_string(facts.peer.address), to_string(peer));
  check.equal(std::string(what) + ": Reads that the peer serves", unsigned{facts.responder_resources}, resources);
  check.equal(std::string(what) + ": Reads that the peer makes", unsigned{facts.initiator_depth}, depth);
}

/// Private data, read limits and addresses of connections that the program asks for, and those that
/// it is asked for.
inline void sweep_connections(ConsumerStage& stage, Check& check) {
  NdProgram& program = stage.program();
  const IpAddress peer = stage.peer_at().address;
  ListenTerms held;
  held.hold = true;
  stage.peer_listens(held);
  unsigned turn = 0;
  for (const std::size_t length : {0u, 1u, 32u, 55u, 56u}) {
    const Bytes request = pattern_of(length, 20 + ++turn), reply = pattern_of(3 * length + turn, 120);
    rdma::ConnectionParameters asked;
    asked.responder_resources = static_cast<std::uint8_t>(turn + 2);
    asked.initiator_depth = static_cast<std::uint8_t>(9 - turn);
    asked.private_data = request;
    NdLine& line = program.line();
    line.qp().connect(stage.peer_at(), asked);
    program.wait("the request", [&] { return !stage.peer().requests().empty(); });
    auto held_request = std::move(stage.peer().requests().front());
    stage.peer().requests().pop_front();
    const rdma::ConnectionFacts seen = held_request->facts();
    begins_with(check, "the private data of a request of " + std::to_string(length) + " bytes", seen.private_data, request);
    check.equal("Reads that a request offers to serve", unsigned{seen.responder_resources}, unsigned{asked.responder_resources});
    check.equal("Reads that a request offers to make", unsigned{seen.initiator_depth}, unsigned{asked.initiator_depth});
    check.that(!line.answered(), "nothing is reported before the peer answers", "something is");
    VerbsQueue& queue = stage.peer().make_queue();
    rdma::ConnectionParameters given;
    given.responder_resources = static_cast<std::uint8_t>(turn + 1);
    given.initiator_depth = static_cast<std::uint8_t>(turn);
    given.private_data = reply;
    held_request->accept(queue.qp(), given);
    program.wait("an answer", [&] { return line.answered(); });
    check.equal("connections that are established", line.established, 1);
    begins_with(check, "the private data of a reply of " + std::to_string(reply.size()) + " bytes", line.data, reply);
    has_facts(check, "a reply", line.facts, peer, std::min(given.responder_resources, asked.initiator_depth),
              std::min(given.initiator_depth, asked.responder_resources));
    check.that(queue.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected too", "it is not");
    // It carries messages, and ends once: by the one side or the other.
    VerbsMemory& memory = stage.peer_memory();
    check.require(queue.post_receive(memory, 7, 4096, 64), "the peer posts a receive");
    const auto sent = program.perform(line, {}, 100, 64);
    check.that(sent.status == rdma::CompletionStatus::success, "a message is sent", std::string(rdma::name_of(sent.status)));
    check.that(queue.wait_receive(Duration::s(10)).has_value(), "it comes", "it does not");
    check.bytes("the message", ByteView(memory.bytes).subspan(4096, 64), ByteView(program.memory()).subspan(100, 64));
    check.require(program.receive(line, 0, 64), "the program posts a receive");
    check.require(queue.post_send({}, memory, 5, 33), "the peer sends");
    const auto came = program.completion();
    check.require(came.has_value(), "the message comes", "it does not");
    check.equal("its length", came->byte_length, 33u);
    check.bytes("the message", ByteView(program.memory()).first(33), ByteView(memory.bytes).subspan(5, 33));
    if (turn % 3 == 0) {
      queue.qp().disconnect();
    } else if (turn % 3 == 1) {
      line.qp().disconnect();
    }
    if (turn % 3 != 2) {
      program.wait("the end", [&] { return line.disconnected > 0; });
      program.pass(Duration::ms(20));
      check.equal("ends that are reported", line.disconnected, 1);
      check.that(line.qp().state() == rdma::QpState::error, "the queue pair is in error", std::string(rdma::name_of(line.qp().state())));
    }
    program.let_go(line);
    check.that(queue.wait_event(ConnectionEvent::disconnected, Duration::s(10)), "the peer hears of the end", "it does not");
  }
  // Refused with a word, and by nobody.
  for (const std::size_t length : {0u, 1u, 100u, 148u}) {
    const Bytes word = pattern_of(length, 30);
    NdLine& line = program.line();
    line.qp().connect(stage.peer_at(), nd_parameters());
    program.wait("the request", [&] { return !stage.peer().requests().empty(); });
    stage.peer().requests().front()->reject(rdma::reject_reason::consumer_defined, word);
    stage.peer().requests().pop_front();
    program.wait("an answer", [&] { return line.answered(); });
    check.equal("refusals that are reported", line.rejected, 1);
    begins_with(check, "the private data of a refusal", line.data, word);
    if (length > 0) check.equal("the reason", line.reason, rdma::reject_reason::consumer_defined);
  }
  NdLine& nobody = program.line();
  nobody.qp().connect({peer, 7999}, nd_parameters());
  program.wait("an answer", [&] { return nobody.answered(); });
  check.equal("refusals by nobody", nobody.rejected, 1);
  check.equal("the reason", nobody.reason, rdma::reject_reason::invalid_service_id);
  // The program holds the reply: it confirms it, or refuses.
  for (const bool confirms : {true, false}) {
    NdLine& line = program.line();
    rdma::ConnectionParameters asked = nd_parameters();
    asked.hold_reply = true;
    line.qp().connect(stage.peer_at(), asked);
    program.wait("the request", [&] { return !stage.peer().requests().empty(); });
    VerbsQueue& queue = stage.peer().make_queue();
    const Bytes reply = pattern_of(20, 60);
    rdma::ConnectionParameters given = nd_parameters();
    given.private_data = reply;
    stage.peer().requests().front()->accept(queue.qp(), given);
    stage.peer().requests().pop_front();
    program.wait("a reply", [&] { return line.answered(); });
    check.equal("replies that are reported", line.accepted, 1);
    check.equal("connections before the program answers", line.established, 0);
    begins_with(check, "the private data of a reply that is held", line.data, reply);
    program.pass(Duration::ms(5));
    check.that(!queue.happened(ConnectionEvent::established), "the peer is not connected before the program answers", "it is");
    if (confirms) {
      line.qp().confirm();
      program.wait("the connection", [&] { return line.established > 0; });
      check.that(queue.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected", "it is not");
    } else {
      line.qp().refuse(rdma::reject_reason::consumer_defined, reply);
      check.that(queue.wait_event(ConnectionEvent::rejected, Duration::s(10)), "the peer hears of a refusal", "it does not");
      begins_with(check, "the private data of the program's refusal", queue.private_data(), reply);
    }
    program.let_go(line);
  }
}

/// The program is asked: with data, several at once, refused, and left alone.
inline void sweep_listening(ConsumerStage& stage, Check& check) {
  NdProgram& program = stage.program();
  VerbsUser& peer = stage.peer();
  rdma::Listener& listener = program.listen(ConsumerStage::kProgramPort, NdAnswer::keep);
  check.equal("where the listener stands", to_string(listener.local()), to_string(stage.program_at()));
  unsigned turn = 0;
  for (const std::size_t length : {0u, 1u, 39u, 56u}) {
    const Bytes request = pattern_of(length, 10 + ++turn), reply = pattern_of(2 * length + 1, 80);
    rdma::ConnectionParameters asked;
    asked.responder_resources = static_cast<std::uint8_t>(turn + 3);
    asked.initiator_depth = static_cast<std::uint8_t>(8 - turn);
    asked.private_data = request;
    VerbsQueue& queue = stage.peer_asks(asked);
    program.wait("a request", [&] { return program.requests().size() == 1; });
    const rdma::ConnectionFacts facts = program.requests().front()->facts();
    begins_with(check, "the private data of a request", facts.private_data, request);
    has_facts(check, "a request", facts, stage.peer_at().address, asked.responder_resources, asked.initiator_depth);
    rdma::ConnectionParameters given;
    given.responder_resources = static_cast<std::uint8_t>(turn);
    given.initiator_depth = static_cast<std::uint8_t>(turn + 1);
    given.private_data = reply;
    NdLine& line = program.line();
    check.require(program.receive(line, 0, 64), "the program posts a receive");
    program.requests().front()->accept(line.qp(), given);
    program.requests().clear();
    check.require(queue.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected", "it is not");
    begins_with(check, "the private data of a reply", queue.private_data(), reply);
    check.equal("Reads that the program serves", unsigned{queue.facts().responder_resources},
                std::min<unsigned>(given.responder_resources, asked.initiator_depth));
    check.equal("Reads that the program makes", unsigned{queue.facts().initiator_depth},
                std::min<unsigned>(given.initiator_depth, asked.responder_resources));
    program.wait("the connection", [&] { return line.answered(); });
    check.equal("connections that are established", line.established, 1);
    check.require(queue.post_send({}, stage.peer_memory(), 9, 21), "the peer sends");
    const auto came = program.completion();
    check.require(came.has_value(), "a message comes", "it does not");
    check.equal("its length", came->byte_length, 21u);
    if (turn % 2 == 0) {
      queue.qp().disconnect();
      program.wait("the end", [&] { return line.disconnected > 0; });
    }
    program.let_go(line);
    check.that(queue.wait_event(ConnectionEvent::disconnected, Duration::s(10)), "the peer hears of the end", "it does not");
  }
  // More at once than one.
  std::vector<VerbsQueue*> queues;
  std::vector<Bytes> words;
  for (unsigned i = 0; i < 12; ++i) {
    words.push_back(pattern_of(8, i));
    rdma::ConnectionParameters asked = nd_parameters();
    asked.private_data = words.back();
    queues.push_back(&stage.peer_asks(asked));
  }
  program.wait("every request", [&] { return program.requests().size() == queues.size(); });
  std::map<std::uint8_t, unsigned> seen;
  for (const auto& request : program.requests()) ++seen[request->facts().private_data[0]];
  check.equal("different requests", seen.size(), queues.size());
  const Bytes word = pattern_of(30, 3);
  for (std::size_t i = 0; i < program.requests().size(); ++i) {
    if (i % 2 == 0) program.requests()[i]->reject(rdma::reject_reason::consumer_defined, word);
  }
  program.requests().clear();  // the others are refused by that
  for (VerbsQueue* queue : queues) {
    check.that(queue->wait_event(ConnectionEvent::rejected, Duration::s(10)), "each peer hears of its refusal", "one does not");
    if (!queue->private_data().empty() && queue->private_data()[0] != 0)
      begins_with(check, "the word of a refusal", queue->private_data(), word);
  }
  rdma::DeviceLimits limits = program.device().limits();
  check.that(limits.max_sges > 0 && limits.max_queue_entries > 0 && limits.max_message_bytes > 0, "the device declares its limits",
             "one is 0");
  check.equal("address of the device", to_string(program.device().address()), to_string(stage.program_at().address));
  static_cast<void>(peer);
}

/// How requests end that cannot be served, and what comes of those behind them.
inline void sweep_failures(ConsumerStage& stage, Check& check) {
  using rdma::CompletionStatus;
  using rdma::SendOpcode;
  NdProgram& program = stage.program();
  stage.peer_listens();
  struct Try {
    std::string_view what;
    SendOpcode opcode;
    std::uint64_t offset;
    std::uint32_t key_bits;
    std::uint32_t length;
    bool good;
  };
  for (const Try& one : {Try{"within the peer's memory", SendOpcode::rdma_write, NdProgram::kBytes - 64, 0, 64, true},
                         Try{"beyond the peer's memory", SendOpcode::rdma_write, NdProgram::kBytes - 63, 0, 64, false},
                         Try{"before the peer's memory", SendOpcode::rdma_read, ~std::uint64_t{0}, 0, 64, false},
                         Try{"with another key", SendOpcode::rdma_write, 0, 0x100, 64, false},
                         Try{"with another low byte of the key", SendOpcode::rdma_read, 0, 1, 64, false},
                         Try{"with a high bit of the key turned round", SendOpcode::rdma_read, 0, 0x80000000u, 64, false}}) {
    NdLine& line = program.ask(stage.peer_at());
    check.require(line.established > 0, "there is a connection");
    check.require(program.receive(line), "the program posts a receive");
    rdma::SendRequest request = stage.towards_peer(one.opcode, one.offset);
    request.rkey ^= one.key_bits;
    const auto done = performed(check, program, line, request, 4096, one.length);
    const std::string name = "an access " + std::string(one.what);
    check.that(
        done.opcode == (one.opcode == SendOpcode::rdma_read ? rdma::CompletionOpcode::rdma_read : rdma::CompletionOpcode::rdma_write),
        name + " is reported as what it was", "it is not");
    if (one.good) {
      check.that(done.status == CompletionStatus::success, name + " succeeds", std::string(rdma::name_of(done.status)));
      program.let_go(line);
      continue;
    }
    check.that(done.status == CompletionStatus::remote_access_error || done.status == CompletionStatus::remote_operation_error,
               name + " is refused by the peer", std::string(rdma::name_of(done.status)));
    // The receive is flushed, and so is whatever is posted from now on.
    const auto flushed = program.completion();
    check.require(flushed.has_value(), "the receive comes back", "it does not");
    check.that(flushed->status == CompletionStatus::flushed && flushed->opcode == rdma::CompletionOpcode::receive, "it is flushed",
               std::string(rdma::name_of(flushed->status)));
    check.that(line.qp().state() == rdma::QpState::error, "the queue pair is in error", std::string(rdma::name_of(line.qp().state())));
    check.require(program.post(line, {}) && program.receive(line), "requests are taken afterwards");
    for (int i = 0; i < 2; ++i) {
      const auto after = program.completion();
      check.require(after.has_value(), "a later request comes back", "it does not");
      check.that(after->status == CompletionStatus::flushed, "it is flushed", std::string(rdma::name_of(after->status)));
      check.that(after->qp_context == &line, "it is of its queue pair", "it is of another");
    }
    program.wait("a report", [&] { return line.failed + line.disconnected > 0; });
    program.let_go(line);
  }
  // Lists that are too long.
  NdLine& line = program.ask(stage.peer_at());
  const std::vector<rdma::Sge> many(program.device().limits().max_sges + 1, program.region().sge(0, 1));
  rdma::SendRequest request;
  request.sges = many;
  check.that(!line.qp().post_send(request), "a request with too many buffers is refused", "it is taken");
  check.that(!line.qp().post_receive({1, many}), "a receive with too many buffers is refused", "it is taken");
  // fail() flushes what is posted.
  for (int i = 0; i < 3; ++i) check.require(program.receive(line), "the program posts a receive");
  line.qp().fail();
  for (int i = 0; i < 3; ++i) {
    const auto done = program.completion();
    check.require(done.has_value(), "every receive comes back", "one does not");
    check.that(done->status == CompletionStatus::flushed, "it is flushed", std::string(rdma::name_of(done->status)));
  }
  check.that(!program.completion(Duration::ms(20)), "nothing more comes", "something does");
  // Queue pairs that nobody has connected take no requests, but receives.
  NdLine& idle = program.line();
  check.that(!program.post(idle, {}), "a request without a connection is refused", "it is taken");
  check.that(program.receive(idle), "a receive without a connection is taken", "it is refused");
}

/// When the device tells of completions, and when not.
inline void sweep_notices(ConsumerStage& stage, Check& check) {
  NdProgram& program = stage.program();
  NdLine& line = stage.connect();
  VerbsQueue& queue = stage.peer_accepted();
  check.require(queue.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
  const auto message = [&](bool solicited) {
    check.require(program.receive(line), "the program posts a receive");
    rdma::SendRequest request;
    request.solicited = solicited;
    check.require(queue.post_send(request, stage.peer_memory(), 0, 16), "the peer sends");
    check.require(queue.wait_send(Duration::s(10)).has_value(), "the message is sent");
    program.pass(Duration::ms(1));
  };
  const auto take = [&](int count) {
    for (int i = 0; i < count; ++i)
      check.require(program.completion(Duration::ms(1)).has_value(), "the completions are there", "one is missing");
    check.that(!program.completion(Duration::ms(1)), "there are no more", "there are");
  };
  int told = program.told();
  const auto hears = [&](std::string_view what, int more) {
    program.pass(Duration::ms(1));
    told += more;
    check.equal("notices " + std::string(what), program.told(), told);
  };
  message(false);
  hears("without a request", 0);
  program.watch();
  hears("for what is there", 1);
  take(1);
  program.watch();
  hears("for an empty queue", 0);
  message(false);
  hears("for a message", 1);
  message(false);
  hears("for another, without a request", 0);
  take(2);
  program.watch(true);
  message(false);
  hears("for a message that solicits nothing", 0);
  message(true);
  hears("for one that does", 1);
  take(2);
  program.watch(true);
  program.watch();  // everything, from now on
  message(false);
  hears("for a message, when everything was asked for at last", 1);
  take(1);
  program.watch();
  program.queue().cancel_notify();
  message(true);
  hears("after the request was taken back", 0);
  take(1);
  program.watch();
  hears("for what was taken", 0);
  // A failure is worth a notice, whatever was asked for.
  program.queue().cancel_notify();
  program.watch(true);
  rdma::SendRequest astray = stage.towards_peer(rdma::SendOpcode::rdma_write);
  astray.rkey ^= 0x5500;
  check.require(program.post(line, astray), "a Write is taken");
  program.pass(Duration::ms(50));
  check.that(program.told() > told, "a failure ends a notification request for solicited completions", "it is not");
}

/// A shared receive queue of the device.
inline void sweep_shared(ConsumerStage& stage, Check& check) {
  NdProgram& program = stage.program({.shared_receives = true});
  stage.peer_listens();
  NdLine* lines[2] = {};
  VerbsQueue* queues[2] = {};
  for (int i = 0; i < 2; ++i) {
    lines[i] = &program.ask(stage.peer_at());
    check.require(lines[i]->established > 0, "the program is connected");
    queues[i] = &stage.peer_accepted();
    check.require(queues[i]->wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
  }
  const rdma::Sge sge = program.region().sge(0, 64);
  check.that(!lines[0]->qp().post_receive({1, {&sge, 1}}), "a receive beside the shared queue is refused", "it is taken");
  for (std::uint64_t id = 100; id < 110; ++id) {
    const rdma::Sge place = program.region().sge(64 * (id - 100), 64);
    check.require(program.shared().post_receive({id, {&place, 1}}), "a shared receive is taken");
  }
  program.shared().arm_limit(6);
  for (unsigned i = 0; i < 7; ++i) {
    check.equal("times that the queue said it runs low, with " + std::to_string(10 - i) + " receives", program.low(), 10 - i < 6 ? 1 : 0);
    check.require(queues[i % 2]->post_send({}, stage.peer_memory(), 31 * i, 20 + i), "the peer sends");
    const auto came = program.completion();
    check.require(came.has_value(), "a message comes", "it does not");
    check.that(came->qp_context == lines[i % 2], "it is of its queue pair", "it is of another");
    check.equal("its length", came->byte_length, 20 + i);
    check.equal("its receive", came->id, std::uint64_t{100 + i});
    check.bytes("the message", ByteView(program.memory()).subspan(64 * i, 20 + i),
                ByteView(stage.peer_memory().bytes).subspan(31 * i, 20 + i));
    program.pass(Duration::ms(1));
  }
  program.shared().arm_limit(9);  // there are fewer already
  program.pass(Duration::ms(1));
  check.equal("times that the queue said it runs low, in the end", program.low(), 2);
  // The send queue is the queue pair's own.
  const auto sent = performed(check, program, *lines[0], {}, 0, 16);
  check.that(sent.status == rdma::CompletionStatus::success, "a Send beside shared receives succeeds",
             std::string(rdma::name_of(sent.status)));
}

}  // namespace fb::conformance
