// READs, atomics, and their replay; receive buffers that are not there; the end of a queue pair.
#include "conformance/cases/rdma/exchange.h"

namespace fb::conformance {
namespace {

using roce::Opcode;

/// Checks the responses to a READ of `expected` whose first response has this ordinal.
void read_answered(RdmaBench& bench, Check& check, const RcConnection& c, std::uint32_t ordinal, ByteView expected) {
  const std::uint32_t packets = roce::packets_of(expected.size(), kSmallMtu);
  for (std::uint32_t i = 0; i < packets; ++i) {
    const auto packet = next_packet(bench, check, "a read response", "a read response");
    if (!packet) return;
    const bool first = i == 0, last = i + 1 == packets;
    const Opcode opcode = last ? (first ? Opcode::read_response_only : Opcode::read_response_last)
                               : (first ? Opcode::read_response_first : Opcode::read_response_middle);
    expect(check, packet->opcode == opcode, "opcode of a read response", std::string(roce::facts_of(opcode).name), packet->describe());
    check.equal("PSN of a read response", packet->psn, roce::psn_add(c.facts.send_psn, ordinal + i));
    const std::size_t offset = i * kSmallMtu;
    check.bytes("data of a read response", packet->payload, expected.subspan(offset, std::min(kSmallMtu, expected.size() - offset)));
  }
}

}  // namespace

CONFORMANCE_CASE(a_read_is_answered_with_memory, "rdma.read.response", roles::responder) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  auto& memory = bench.product().memory(1024);
  std::uint32_t ordinal = 0;
  for (const std::uint32_t length : {1024u, 4u, 257u, 256u, 512u, 0u}) {
    bench.step("READ");
    bench.peer().send(read_request(c, ordinal, {memory.address(), memory.rkey(), length}));
    read_answered(bench, check, c, ordinal, part(memory.bytes, 0, length));
    ordinal += roce::packets_of(length, kSmallMtu);
  }
  silence(bench, check, "anything beside the responses");
}

CONFORMANCE_CASE(a_repeated_read_is_answered_again, "rdma.read.replay", roles::responder, reaches{"rc.read.replayed"}) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  auto& memory = bench.product().memory(1024);
  for (int time = 0; time < 2; ++time) {
    bench.peer().send(read_request(c, 0, all_of(memory)));
    read_answered(bench, check, c, 0, memory.bytes);
  }
  bench.step("the second half alone");
  bench.peer().send(read_request(c, 2, {memory.address() + 512, memory.rkey(), 512}));
  read_answered(bench, check, c, 2, part(memory.bytes, 512, 512));
}

CONFORMANCE_CASE(a_late_duplicate_of_a_read_ends_nothing, "rdma.read.late-duplicate", roles::responder, reaches{"bench.duplicate"},
                 needs(registers_by_requests), beyond_networkdirect("NetworkDirect has no fast registration")) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  auto& memory = bench.product().fast_memory(600);
  const Remote from = fast_registered(check, c, memory);
  const RocePacket read = read_request(c, 0, from);
  bench.peer().send(read);
  read_answered(bench, check, c, 0, memory.bytes);
  bench.peer().send(invalidating_send(c, 3, from.rkey));
  acknowledged(bench, check, c, 3, "a SEND with invalidate");
  check.precondition(c.queue->wait_receive(kAnswerTime).has_value(), "the SEND is delivered");
  bench.step("a duplicate of the READ that was long on its way");
  bench.peer().send(read);
  if (const auto late = bench.peer().wait_packet(kAnswerTime)) {
    const auto kind = roce::facts_of(late->opcode).kind;
    expect(check, kind == roce::OpcodeKind::read_response, "answer to the late duplicate", "silence, or the data", late->describe());
    while (bench.peer().wait_packet(kAnswerTime)) {
    }
  }
  if (bench.counted(&softroce::SoftCounters::duplicate_requests)) bench.mark("bench.duplicate");
  serves_send(bench, check, c, 4, 1, "a SEND after the late duplicate");
}

CONFORMANCE_CASE(a_repeated_atomic_is_executed_once, "rdma.atomic.once", roles::responder, reaches{"rc.atomic.replayed"},
                 beyond_interfaces("the interface has no atomics")) {
  const auto c = bench.connect_to_product();
  auto& memory = bench.product().memory(16);
  const std::uint64_t before = load_le<std::uint64_t>(memory.bytes.data());
  for (int time = 0; time < 2; ++time) {
    bench.peer().send(fetch_and_add(c, 0, memory.address(), memory.rkey(), 5));
    const auto answer = next_packet(bench, check, "answer to the atomic", "an atomic acknowledge");
    if (!answer) return;
    check.require(answer->atomic_ack.has_value(), "the answer is an atomic acknowledge", answer->describe());
    check.equal("original value", answer->atomic_ack->get(roce::atomicacketh::origremdt), before);
    check.equal("memory", load_le<std::uint64_t>(memory.bytes.data()), before + 5);
  }
  bench.step("several atomics, each of them again");
  const std::uint32_t remembered =
      std::min<std::uint32_t>(cm::message_of<cm::Rep>(c.facts.reply.bytes()).get(cm::rep::responder_resources), 4);
  const std::uint64_t address = memory.address() + 8;
  const std::uint64_t second = load_le<std::uint64_t>(&memory.bytes[8]);
  for (int time = 0; time < 2; ++time) {
    for (std::uint32_t i = 0; i < remembered; ++i) {
      bench.peer().send(fetch_and_add(c, 1 + i, address, memory.rkey(), 3 + i));
      const auto answer = next_packet(bench, check, "answer to one of several atomics", "an atomic acknowledge");
      if (!answer) return;
      check.require(answer->atomic_ack.has_value(), "the answer is an atomic acknowledge", answer->describe());
      check.equal("its PSN", answer->psn, roce::psn_add(c.facts.send_psn, 1 + i));
      check.equal("original value", answer->atomic_ack->get(roce::atomicacketh::origremdt), second + 3 * i + i * (i - 1) / 2);
    }
    check.equal("memory after all of them", load_le<std::uint64_t>(&memory.bytes[8]),
                second + 3 * remembered + remembered * (remembered - 1) / 2);
  }
}

CONFORMANCE_CASE(an_unaligned_atomic_is_refused, "rdma.atomic.alignment", roles::responder) {
  const auto c = bench.connect_to_product();
  auto& memory = bench.product().memory(64);
  const Bytes before = memory.bytes;
  bench.peer().send(fetch_and_add(c, 0, memory.address() + 4, memory.rkey(), 5));
  refused_with(bench, check, {kInvalidRequest}, "answer to an atomic at an unaligned address");
  check.bytes("memory", memory.bytes, before);
}

CONFORMANCE_CASE(a_send_without_a_receive_is_told_to_wait, "rdma.rnr.no-receive", roles::responder, reaches{"rc.rnr.sent"}) {
  const auto c = bench.connect_to_product({.receives = 0});
  const Bytes bytes = pattern(32);
  bench.peer().send(c.request(Opcode::send_only, 0, bytes));
  const auto nak = next_packet(bench, check, "answer without a receive", "an RNR NAK");
  if (!nak) return;
  expect(check, roce::kind_of_syndrome(nak->syndrome()) == roce::SyndromeKind::rnr_nak, "answer without a receive", "an RNR NAK",
         nak->describe());
  check.equal("PSN of the RNR NAK", nak->psn, c.facts.send_psn);
  if (bench.embedded()) {
    check.equal("timer code", roce::value_of_syndrome(nak->syndrome()), softroce::CmOptions{}.min_rnr_timer_code);
  }
  auto& buffer = bench.product().memory(64);
  c.queue->post_receive(buffer, 7, 0, 64);
  bench.world().run_for(roce::rnr_delay(roce::value_of_syndrome(nak->syndrome())));
  bench.peer().send(c.request(Opcode::send_only, 0, bytes));
  acknowledged(bench, check, c, 0, "the same SEND when there is a receive");
  const auto completion = c.queue->wait_receive(kAnswerTime);
  check.require(completion.has_value(), "the SEND is delivered", "no receive completion");
  check.equal("its receive", completion->id, 7);
  check.bytes("its bytes", part(buffer.bytes, 0, 32), bytes);
}

CONFORMANCE_CASE(a_queue_pair_is_silent_after_a_fatal_nak, "rdma.error.qp-dead", roles::responder, reaches{"rc.nak.fatal.sent"}) {
  const auto c = bench.connect_to_product();
  bench.peer().send(write_only(c, 0, {0x1000, 0xDEADBE00, 16}, pattern(16)));
  const auto nak = next_packet(bench, check, "answer to a bad WRITE", "a NAK");
  if (!nak) return;
  expect(check, roce::kind_of_syndrome(nak->syndrome()) == roce::SyndromeKind::nak, "answer to a bad WRITE", "a NAK", nak->describe());
  bench.peer().send(c.request(Opcode::send_only, 1, pattern(16)));
  bench.peer().send(c.request(Opcode::send_only, 0, pattern(16)));
  silence(bench, check, "answer of the queue pair in error");
  // Programs behind an interface hear of it when the connection ends.
  if (bench.bare()) check.equal("state of the queue pair", c.queue->state(), rdma::QpState::error);
}

}  // namespace fb::conformance
