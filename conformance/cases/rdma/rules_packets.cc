// Packets, further rules: where they go, from whom they are taken, what NAKs and duplicates do.
#include "conformance/cases/rdma/exchange.h"

namespace fb::conformance {
namespace {

using roce::Opcode;
using softroce::SoftCounters;

/// A packet of the product's is addressed as it must be.
void addressed(Check& check, const RcConnection& c, const RocePacket& packet) {
  check.equal("queue pair that the packet is for", packet.qpn, c.facts.local_qpn);
  check.equal("P_Key", packet.pkey, one_of(0xFFFF, 0x7FFF));
  check.equal("transport version", unsigned{packet.tver}, 0u);
}

RocePacket send_with_immediate(const RcConnection& c, std::uint32_t ordinal, std::uint32_t value) {
  RocePacket packet = c.request(Opcode::send_only_with_immediate, ordinal, pattern(16));
  packet.immediate.emplace();
  packet.immediate->set(roce::immdt::immdt, value);
  return packet;
}

}  // namespace

CONFORMANCE_CASE(answers_go_to_the_queue_pair_that_asked, "rdma.bth.sent", roles::responder) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  auto& memory = bench.product().memory(600);
  bench.peer().send(c.request(Opcode::send_only, 0, pattern(16)));
  if (const auto ack = next_packet(bench, check, "answer to a SEND", "an ACK")) addressed(check, c, *ack);
  bench.peer().send(read_request(c, 1, all_of(memory)));
  for (int i = 0; i < 3; ++i) {
    if (const auto data = next_packet(bench, check, "answer to a READ", "a read response")) addressed(check, c, *data);
  }
}

CONFORMANCE_CASE(requests_go_to_the_connected_queue_pair, "rdma.bth.sent", roles::requester) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  auto& memory = bench.product().memory(600);
  c.queue->post_send({}, memory, 0, 600);
  for (int i = 0; i < 3; ++i) {
    if (const auto packet = next_packet(bench, check, "the product's SEND", "a SEND")) addressed(check, c, *packet);
  }
}

CONFORMANCE_CASE(packets_from_another_address_are_dropped, "rdma.bth.address", roles::responder, reaches{"bench.dropped"}) {
  const auto c = bench.connect_to_product();
  for (const std::size_t byte : {15u, 14u, 12u}) {
    if (byte != 15 && !bench.embedded()) continue;
    RawRoce& elsewhere = bench.another_peer(byte);
    elsewhere.send(c.request(Opcode::send_only, 0, pattern(32)));
    const auto astray = elsewhere.wait_packet(kAnswerTime);
    expect(check, !astray, "answer to a packet from an address that differs from the peer's in byte " + std::to_string(byte), "silence",
           astray ? astray->describe() : "");
    silence(bench, check, "answer to the peer");
  }
  nothing_received(check, c, "such a packet is not delivered");
  mark_dropped(bench, &SoftCounters::drop_foreign_address);
  serves_send(bench, check, c, 0, 0, "a good packet with that PSN");
}

CONFORMANCE_CASE(a_fatal_nak_names_the_request, "rdma.nak.psn", roles::responder, reaches{"rc.nak.fatal.sent"}) {
  const auto c = bench.connect_to_product();
  bench.peer().send(unacknowledged(c.request(Opcode::send_only, 0, pattern(16))));
  bench.peer().send(write_only(c, 1, {0x1000, 0xDEADBE00, 16}, pattern(16)));
  // An acknowledgement of the SEND alone may come first.
  auto nak = next_packet(bench, check, "answer to a bad WRITE", "a NAK");
  if (nak && roce::kind_of_syndrome(nak->syndrome()) == roce::SyndromeKind::ack) {
    nak = next_packet(bench, check, "answer to a bad WRITE", "a NAK");
  }
  if (!nak) return;
  expect(check, roce::kind_of_syndrome(nak->syndrome()) == roce::SyndromeKind::nak, "answer to a bad WRITE", "a NAK", nak->describe());
  check.equal("PSN of the NAK", nak->psn, roce::psn_add(c.facts.send_psn, 1));
}

CONFORMANCE_CASE(a_duplicate_inside_a_message_changes_nothing, "rdma.psn.duplicate-inside", roles::responder, reaches{"bench.duplicate"}) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  const Bytes bytes = pattern(2 * kSmallMtu);
  const RocePacket first = unacknowledged(c.request(Opcode::send_first, 0, copy(part(bytes, 0, kSmallMtu))));
  bench.peer().send(first);
  bench.peer().send(first);
  bench.peer().send(c.request(Opcode::send_last, 1, copy(part(bytes, kSmallMtu, kSmallMtu))));
  // The duplicate may be acknowledged too; what counts is the end.
  auto ack = next_packet(bench, check, "answer to the SEND", "an ACK");
  while (const auto more = bench.peer().wait_packet(kAnswerTime)) ack = more;
  if (bench.counted(&softroce::SoftCounters::duplicate_requests)) bench.mark("bench.duplicate");
  if (!ack) return;
  expect(check, roce::kind_of_syndrome(ack->syndrome()) == roce::SyndromeKind::ack, "answer to the SEND", "an ACK", ack->describe());
  check.equal("PSN of the last ACK", ack->psn, roce::psn_add(c.facts.send_psn, 1));
  received(bench, check, c, 0, bytes, "the SEND with a packet that came twice");
  nothing_received(check, c, "it is delivered once");
}

CONFORMANCE_CASE(behind_an_rnr_nak_there_is_silence, "rdma.rnr.then-silent", roles::responder, reaches{"rc.rnr.sent"}) {
  const auto c = bench.connect_to_product({.receives = 0});
  for (const std::uint32_t ordinal : {0u, 1u, 2u}) {
    bench.peer().send(c.request(Opcode::send_only, ordinal, pattern(16)));
  }
  const auto nak = next_packet(bench, check, "answer without a receive", "an RNR NAK");
  if (!nak) return;
  expect(check, roce::kind_of_syndrome(nak->syndrome()) == roce::SyndromeKind::rnr_nak, "answer without a receive", "an RNR NAK",
         nak->describe());
  silence(bench, check, "answers to what follows the refused request");
}

CONFORMANCE_CASE(an_empty_last_is_refused, "rdma.message.last-empty", roles::responder) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  bench.peer().send(unacknowledged(c.request(Opcode::send_first, 0, pattern(kSmallMtu))));
  bench.peer().send(c.request(Opcode::send_last, 1));
  refused_with(bench, check, {kInvalidRequest}, "answer to a SEND Last without payload");
}

CONFORMANCE_CASE(immediate_data_arrives_as_it_was_sent, "rdma.message.immediate", roles::responder,
                 beyond_interfaces("the interface has no immediate data")) {
  const auto c = bench.connect_to_product();
  constexpr std::uint32_t kValue = 0x11223344;
  bench.peer().send(send_with_immediate(c, 0, kValue));
  acknowledged(bench, check, c, 0, "a SEND with immediate data");
  const auto completion = c.queue->wait_receive(kAnswerTime);
  check.require(completion.has_value(), "the SEND is delivered", "no receive completion");
  check.that(completion->has_immediate, "the completion says that there is immediate data", "it does not");
  check.equal("immediate data", completion->immediate, kValue);
  check.equal("length", completion->byte_length, 16u);
}

CONFORMANCE_CASE(posted_receives_are_flushed, "rdma.error.receives-flushed", roles::responder, reaches{"rc.nak.fatal.sent"}) {
  constexpr std::uint32_t kReceives = 40;
  const auto c = bench.connect_to_product({.receives = kReceives});
  bench.peer().send(write_only(c, 0, {0x1000, 0xDEADBE00, 16}, pattern(16)));
  if (!next_packet(bench, check, "answer to a bad WRITE", "a NAK")) return;
  for (std::uint64_t id = 0; id < kReceives; ++id) {
    const auto completion = c.queue->wait_receive(kAnswerTime);
    if (!expect(check, completion.has_value(), "a receive of the queue pair in error", "a completion", "none")) return;
    check.equal("receive that is flushed", completion->id, id);
    check.equal("its status", completion->status, rdma::CompletionStatus::flushed);
  }
}

}  // namespace fb::conformance
