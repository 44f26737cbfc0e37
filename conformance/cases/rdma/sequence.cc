// Packet sequence numbers and acknowledgements, on the side that executes.
#include "conformance/cases/rdma/exchange.h"

namespace fb::conformance {

using roce::Opcode;

CONFORMANCE_CASE(a_gap_is_answered_by_one_sequence_nak, "rdma.psn.gap", roles::responder, reaches{"rc.nak.sequence.sent"}) {
  const auto c = bench.connect_to_product();
  for (const std::uint32_t ordinal : {2u, 3u, 4u}) {
    bench.peer().send(c.request(Opcode::send_only, ordinal, pattern(16)));
  }
  const auto nak = next_packet(bench, check, "answer to the gap", "NAK 60h");
  if (!nak) return;
  check.equal("syndrome of the answer", nak->syndrome(), kSequenceNak);
  check.equal("PSN of the NAK", nak->psn, c.facts.send_psn);
  silence(bench, check, "further answers to the same gap");
  nothing_received(check, c, "packets behind the gap are not delivered");
  serves_send(bench, check, c, 0, 0, "the missing packet");
}

CONFORMANCE_CASE(a_second_gap_is_answered_again, "rdma.psn.gap-rearmed", roles::responder, reaches{"rc.nak.sequence.sent"}) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  bench.peer().send(c.request(Opcode::send_only, 1, pattern(16)));
  refused_with(bench, check, {kSequenceNak}, "answer to the first gap");
  bench.peer().inbox().clear();
  serves_send(bench, check, c, 0, 0, "the missing packet");
  bench.peer().send(c.request(Opcode::send_only, 2, pattern(16)));
  refused_with(bench, check, {kSequenceNak}, "answer to the second gap");
  bench.peer().inbox().clear();
  serves_send(bench, check, c, 1, 1, "the packet that was missing then");
  bench.step("two gaps inside one message");
  auto& memory = bench.product().memory(4096 * 4);
  const std::size_t mtu = roce::mtu_bytes(kSmallPackets.mtu_code);
  const auto length = static_cast<std::uint32_t>(4 * mtu);
  const Bytes bytes = pattern(length);
  const auto send = [&](std::uint32_t i) {
    const Opcode opcode = i == 0 ? Opcode::write_first : i == 3 ? Opcode::write_last : Opcode::write_middle;
    RocePacket packet = c.request(opcode, 2 + i, copy(part(bytes, i * mtu, mtu)));
    packet.ackreq = i == 3;
    bench.peer().send(i == 0 ? with_reth(packet, {memory.address(), memory.rkey(), length}) : packet);
  };
  send(0);
  send(2);
  refused_with(bench, check, {kSequenceNak}, "answer to the first gap in a message");
  send(1);
  send(3);
  refused_with(bench, check, {kSequenceNak}, "answer to the second gap in the same message");
  send(2);
  send(3);
  acknowledged(bench, check, c, 5, "the message, now that it is complete");
  check.bytes("its bytes", part(memory.bytes, 0, length), bytes);
}

CONFORMANCE_CASE(a_duplicate_send_is_acknowledged_and_not_delivered, "rdma.psn.duplicate-send", roles::responder,
                 reaches{"rc.duplicate.acknowledged"}) {
  const auto c = bench.connect_to_product();
  serves_send(bench, check, c, 0, 0, "the first SEND");
  serves_send(bench, check, c, 1, 1, "the second SEND");
  bench.peer().send(c.request(Opcode::send_only, 0, pattern(32)));
  acknowledged(bench, check, c, 1, "the answer to the duplicate has the newest PSN");
  nothing_received(check, c, "the duplicate is not delivered");
  serves_send(bench, check, c, 2, 2, "the next SEND");
}

CONFORMANCE_CASE(a_duplicate_write_leaves_memory_alone, "rdma.psn.duplicate-write", roles::responder,
                 reaches{"rc.duplicate.acknowledged"}) {
  const auto c = bench.connect_to_product();
  auto& memory = bench.product().memory(64);
  bench.peer().send(write_only(c, 0, all_of(memory), pattern(64)));
  acknowledged(bench, check, c, 0, "the WRITE");
  std::fill(memory.bytes.begin(), memory.bytes.end(), std::uint8_t{0x5A});  // its owner goes on
  bench.peer().send(write_only(c, 0, all_of(memory), pattern(64)));
  const auto ack = next_packet(bench, check, "answer to the duplicate", "an ACK");
  if (ack) {
    expect(check, roce::kind_of_syndrome(ack->syndrome()) == roce::SyndromeKind::ack, "answer to the duplicate", "an ACK", ack->describe());
  }
  check.bytes("memory after the duplicate", memory.bytes, Bytes(64, 0x5A));
}

CONFORMANCE_CASE(psns_wrap_at_2_to_the_24, "rdma.psn.wrap", roles::responder,
                 arranged("a queue pair set up without the connection manager"),
                 beyond_interfaces("queue pairs of the interface are connected by the connection manager alone")) {
  // The product announces its first PSN itself; a queue pair set up without the connection manager
  // may start where the case wants.
  RcConnection c;
  c.queue = &bench.product().make_queue();
  c.facts.local_qpn = 0x777;
  c.facts.remote_qpn = c.queue->qp().number();
  c.facts.send_psn = 0xFFFFFE;
  softroce::PathFacts path;
  path.peer = bench.peer_address();
  path.peer_qpn = c.facts.local_qpn;
  path.receive_psn = c.facts.send_psn;
  path.send_psn = 0xFFFFFF;
  path.mtu_code = 1;
  path.responder_resources = path.initiator_depth = 4;
  softroce::CmQueuePair& seam = bench.device().seam_of(c.queue->qp());
  seam.to_ready_to_receive(path);
  seam.to_ready_to_send(path);
  auto& memory = bench.product().memory(1024);
  const Bytes bytes = pattern(3 * kSmallMtu);
  const Opcode opcodes[] = {Opcode::write_first, Opcode::write_middle, Opcode::write_last};
  for (std::uint32_t i = 0; i < 3; ++i) {
    RocePacket packet = c.request(opcodes[i], i, copy(part(bytes, i * kSmallMtu, kSmallMtu)));
    packet.ackreq = i == 2;
    if (i == 0) packet = with_reth(packet, {memory.address(), memory.rkey(), 3 * kSmallMtu});
    bench.peer().send(packet);
  }
  acknowledged(bench, check, c, 2, "a WRITE across the wrap");
  check.bytes("what it wrote", part(memory.bytes, 0, bytes.size()), bytes);
  bench.peer().send(read_request(c, 3, {memory.address(), memory.rkey(), 4}));
  const auto data = next_packet(bench, check, "a READ behind the wrap", "a read response");
  if (data) check.equal("PSN of the read response", data->psn, 1);
}

CONFORMANCE_CASE(a_request_with_ackreq_is_acknowledged, "rdma.ack.requested", roles::responder) {
  const auto c = bench.connect_to_product({.receives = 24});
  for (std::uint32_t first = 0; first < 24; first += 3) {
    bench.peer().send(unacknowledged(c.request(Opcode::send_only, first, pattern(16))));
    bench.peer().send(unacknowledged(c.request(Opcode::send_only, first + 1, pattern(16))));
    bench.peer().send(c.request(Opcode::send_only, first + 2, pattern(16)));
    std::optional<RocePacket> newest = next_packet(bench, check, "answer to AckReq", "an ACK");
    // Acknowledgements that nobody asked for are legal; the newest one counts.
    while (auto more = bench.peer().wait_packet(kAnswerTime)) newest = more;
    if (!newest) return;
    expect(check, roce::kind_of_syndrome(newest->syndrome()) == roce::SyndromeKind::ack, "answer to AckReq", "an ACK", newest->describe());
    check.equal("PSN of the ACK", newest->psn, roce::psn_add(c.facts.send_psn, first + 2));
  }
}

CONFORMANCE_CASE(the_msn_counts_messages, "rdma.ack.msn", roles::responder) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  auto& memory = bench.product().memory(kSmallMtu);
  const auto msn_of = [&](const RocePacket& request) -> std::uint32_t {
    bench.peer().send(request);
    const auto answer = next_packet(bench, check, "answer", "an ACK or a read response");
    return answer ? answer->msn() : 0xFFFFFFFF;
  };
  check.equal("MSN after one SEND", msn_of(c.request(Opcode::send_only, 0, pattern(16))), 1);
  bench.peer().send(unacknowledged(c.request(Opcode::send_first, 1, pattern(kSmallMtu))));
  check.equal("MSN after a SEND of two packets", msn_of(c.request(Opcode::send_last, 2, pattern(16))), 2);
  check.equal("MSN after a WRITE", msn_of(write_only(c, 3, all_of(memory), pattern(kSmallMtu))), 3);
  check.equal("MSN of a READ", msn_of(read_request(c, 4, all_of(memory))), 4);
  // What is refused has not been completed.
  const Remote unknown{memory.address(), memory.rkey() ^ 0x00FFFF00u, 16};
  check.equal("MSN of the NAK for a WRITE with an unknown key", msn_of(write_only(c, 5, unknown, pattern(16))), 4);
}

}  // namespace fb::conformance
