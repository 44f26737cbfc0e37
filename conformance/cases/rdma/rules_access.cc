// WRITEs, READs and atomics, further rules.
#include "conformance/cases/rdma/exchange.h"

namespace fb::conformance {
namespace {

using roce::Opcode;

/// Says `bytes` as one WRITE with packets of the small MTU; returns the ordinal behind it.
std::uint32_t write_message(RdmaBench& bench, const RcConnection& c, std::uint32_t ordinal, const Remote& to, const Bytes& bytes) {
  const std::uint32_t packets = roce::packets_of(bytes.size(), kSmallMtu);
  for (std::uint32_t i = 0; i < packets; ++i) {
    const std::size_t offset = i * kSmallMtu;
    const bool first = i == 0, last = i + 1 == packets;
    const Opcode opcode = last ? (first ? Opcode::write_only : Opcode::write_last) : (first ? Opcode::write_first : Opcode::write_middle);
    RocePacket packet = c.request(opcode, ordinal + i, copy(part(bytes, offset, std::min(kSmallMtu, bytes.size() - offset))));
    packet.ackreq = last;
    bench.peer().send(first ? with_reth(packet, to) : packet);
  }
  return ordinal + packets;
}

/// How many READs and atomics the product says that it serves.
unsigned served_by(const RcConnection& c) { return cm::message_of<cm::Rep>(c.facts.reply.bytes()).get(cm::rep::responder_resources); }

RocePacket with_immediate(RocePacket packet, std::uint32_t value) {
  packet.immediate.emplace();
  packet.immediate->set(roce::immdt::immdt, value);
  return packet;
}

RocePacket compare_and_swap(const RcConnection& c, std::uint32_t ordinal, const Remote& at, std::uint64_t compare, std::uint64_t swap) {
  RocePacket packet = c.request(Opcode::compare_and_swap, ordinal);
  packet.atomic.emplace();
  packet.atomic->set(roce::atomiceth::va, at.address)
      .set(roce::atomiceth::rkey, at.rkey)
      .set(roce::atomiceth::swapdt, swap)
      .set(roce::atomiceth::cmpdt, compare);
  return packet;
}

}  // namespace

CONFORMANCE_CASE(writes_of_every_length_arrive_complete, "rdma.write.sizes", roles::responder) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  auto& memory = bench.product().memory(4096);
  std::uint32_t ordinal = 0;
  for (const std::size_t size : {1u, 3u, 255u, 256u, 257u, 513u, 2047u}) {
    bench.step("WRITE");
    Bytes image = memory.bytes;
    const Bytes bytes = pattern(size, static_cast<std::uint8_t>(size));
    const std::uint64_t offset = 5 + size % 3;
    const Remote to{memory.address() + offset, memory.rkey(), static_cast<std::uint32_t>(size)};
    ordinal = write_message(bench, c, ordinal, to, bytes);
    acknowledged(bench, check, c, ordinal - 1, "a WRITE");
    std::copy(bytes.begin(), bytes.end(), image.begin() + static_cast<std::ptrdiff_t>(offset));
    check.bytes("memory after the WRITE, and around it", memory.bytes, image);
  }
  nothing_received(check, c, "a WRITE without immediate data takes no receive");
  serves_send(bench, check, c, ordinal, 0, "a SEND after the WRITEs takes the first receive");
}

CONFORMANCE_CASE(a_write_with_immediate_completes_a_receive, "rdma.write.immediate", roles::responder,
                 beyond_interfaces("the interface has no immediate data")) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  auto& memory = bench.product().memory(512);
  const Bytes bytes = pattern(kSmallMtu + 40);
  constexpr std::uint32_t kValue = 0x55667788;
  const Remote to{memory.address(), memory.rkey(), static_cast<std::uint32_t>(bytes.size())};
  bench.peer().send(unacknowledged(with_reth(c.request(Opcode::write_first, 0, copy(part(bytes, 0, kSmallMtu))), to)));
  bench.world().run_for(Duration::ms(1));
  nothing_received(check, c, "nothing is completed before the last packet");
  bench.peer().send(with_immediate(c.request(Opcode::write_last_with_immediate, 1, copy(part(bytes, kSmallMtu, 40))), kValue));
  acknowledged(bench, check, c, 1, "a WRITE with immediate data");
  const auto completion = c.queue->wait_receive(kAnswerTime);
  check.require(completion.has_value(), "the WRITE completes a receive", "no receive completion");
  check.equal("status", completion->status, rdma::CompletionStatus::success);
  check.that(completion->has_immediate, "the completion says that there is immediate data", "it does not");
  check.equal("immediate data", completion->immediate, kValue);
  check.equal("length of the WRITE", completion->byte_length, static_cast<std::uint32_t>(bytes.size()));
  check.bytes("memory after the WRITE", part(memory.bytes, 0, bytes.size()), bytes);
}

CONFORMANCE_CASE(a_write_with_immediate_waits_for_a_receive, "rdma.rnr.write-immediate", roles::responder, reaches{"rc.rnr.sent"},
                 beyond_interfaces("the interface has no immediate data")) {
  const auto c = bench.connect_to_product({.receives = 0});
  auto& memory = bench.product().memory(64);
  const RocePacket write =
      with_immediate(with_reth(c.request(Opcode::write_only_with_immediate, 0, pattern(64)), all_of(memory)), 0x01020304);
  bench.peer().send(write);
  const auto nak = next_packet(bench, check, "answer without a receive", "an RNR NAK");
  if (!nak) return;
  const bool holds = roce::kind_of_syndrome(nak->syndrome()) == roce::SyndromeKind::rnr_nak;
  if (!expect(check, holds, "answer without a receive", "an RNR NAK", nak->describe())) return;
  check.equal("PSN of the RNR NAK", nak->psn, c.facts.send_psn);
  auto& buffer = bench.product().memory(64);
  c.queue->post_receive(buffer, 7, 0, 64);
  bench.world().run_for(roce::rnr_delay(roce::value_of_syndrome(nak->syndrome())));
  bench.peer().send(write);
  acknowledged(bench, check, c, 0, "the same WRITE when there is a receive");
  const auto completion = c.queue->wait_receive(kAnswerTime);
  check.require(completion.has_value(), "the WRITE completes a receive", "no receive completion");
  check.equal("its receive", completion->id, 7);
  check.bytes("memory after the WRITE", memory.bytes, pattern(64));
}

CONFORMANCE_CASE(a_read_of_nothing_needs_no_key, "rdma.read.zero-length", roles::responder) {
  const auto c = bench.connect_to_product();
  bench.peer().send(read_request(c, 0, {0x1234, 0xDEADBE00, 0}));
  const auto data = next_packet(bench, check, "answer to a READ of length 0", "a read response without payload");
  if (!data) return;
  expect(check, data->opcode == Opcode::read_response_only, "answer to a READ of length 0", "RC READ response Only", data->describe());
  check.equal("bytes that it carries", data->payload.size(), 0);
  check.equal("its PSN", data->psn, c.facts.send_psn);
}

CONFORMANCE_CASE(a_read_counts_when_it_begins, "rdma.ack.msn-of-read", roles::responder) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  auto& memory = bench.product().memory(3 * kSmallMtu);
  bench.peer().send(read_request(c, 0, all_of(memory)));
  const auto first = next_packet(bench, check, "answer to a READ", "a read response");
  if (!first) return;
  check.require(first->aeth.has_value(), "the first response has an AETH", first->describe());
  check.equal("MSN of the first response", first->msn(), 1);
}

CONFORMANCE_CASE(a_queue_pair_without_reads_serves_none, "rdma.qp.rights", roles::responder) {
  const auto c = bench.connect_to_product({.responder_resources = 0});
  check.precondition(served_by(c) == 0, "the product serves READs although its program wants none");
  auto& memory = bench.product().memory(64);
  bench.peer().send(read_request(c, 0, all_of(memory)));
  refused_with(bench, check, {kInvalidRequest, kAccessError}, "answer to a READ where none was agreed");
}

CONFORMANCE_CASE(compare_and_swap_compares_and_swaps, "rdma.atomic.compare-and-swap", roles::responder,
                 beyond_interfaces("the interface has no atomics")) {
  const auto c = bench.connect_to_product();
  auto& memory = bench.product().memory(16);
  const std::uint64_t before = load_le<std::uint64_t>(memory.bytes.data());
  constexpr std::uint64_t kSwap = 0xA1A2A3A4A5A6A7A8;
  const auto swapped = [&](std::uint32_t ordinal, std::uint64_t compare, std::uint64_t original, std::uint64_t afterwards) {
    bench.peer().send(compare_and_swap(c, ordinal, all_of(memory), compare, kSwap));
    const auto answer = next_packet(bench, check, "answer to the atomic", "an atomic acknowledge");
    if (!answer) return;
    check.require(answer->atomic_ack.has_value(), "the answer is an atomic acknowledge", answer->describe());
    check.equal("original value", answer->atomic_ack->get(roce::atomicacketh::origremdt), original);
    check.equal("memory", load_le<std::uint64_t>(memory.bytes.data()), afterwards);
  };
  swapped(0, before + 1, before, before);
  swapped(1, before, before, kSwap);
}

CONFORMANCE_CASE(an_invalidation_is_reported, "rdma.key.invalidate-reported", roles::responder, needs(registers_by_requests),
                 beyond_networkdirect("NetworkDirect has no fast registration")) {
  const auto c = bench.connect_to_product();
  const Remote at = fast_registered(check, c, bench.product().fast_memory(64));
  bench.peer().send(invalidating_send(c, 0, at.rkey));
  acknowledged(bench, check, c, 0, "a SEND with invalidate");
  const auto completion = c.queue->wait_receive(kAnswerTime);
  check.require(completion.has_value(), "the SEND is delivered", "no receive completion");
  check.that(completion->has_invalidate, "the completion says that a key was invalidated", "it does not");
  check.equal("key that was invalidated", completion->invalidated_rkey, at.rkey);
}

}  // namespace fb::conformance
