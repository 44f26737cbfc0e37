// Integrity and headers of single packets: what is dropped silently, and what must not matter.
#include "conformance/cases/rdma/exchange.h"

namespace fb::conformance {
namespace {

using roce::Opcode;
using softroce::SoftCounters;

void over_ipv6(EmbeddedSetup& setup) {
  setup.bench_address = IpAddress::v6({0xFD, 0x0C, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x03});
  setup.product_address = IpAddress::v6({0xFD, 0x0C, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x04});
}

/// An ACK and a READ response of three packets.
void answers_have_good_icrcs(RdmaBench& bench, Check& check) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  auto& memory = bench.product().memory(600);
  const RocePacket requests[] = {c.request(Opcode::send_only, 0, pattern(33)), read_request(c, 1, all_of(memory))};
  for (int i = 0; i < 4; ++i) {
    if (i < 2) bench.peer().send(requests[i]);
    const auto packet = next_packet(bench, check, "an answer", "an ACK or a read response");
    if (!packet) return;
    expect(check, packet->icrc_good, "ICRC of the answer", "the value computed from the packet", "another value in " + packet->describe());
  }
  check.equal("packets with a wrong ICRC, management datagrams included", bench.peer().bad_icrc(), 0);
}

}  // namespace

CONFORMANCE_CASE(every_packet_has_a_good_icrc, "rdma.icrc.sent", roles::responder) { answers_have_good_icrcs(bench, check); }

CONFORMANCE_CASE(every_ipv6_packet_has_a_good_icrc, "rdma.icrc.sent", roles::responder, furnished{&over_ipv6}) {
  answers_have_good_icrcs(bench, check);
}

CONFORMANCE_CASE(bits_that_change_on_the_way_are_not_in_the_icrc, "rdma.icrc.masked-fields", roles::responder) {
  const auto c = bench.connect_to_product();
  const std::uint8_t kByte4[] = {0x01, 0x20, 0x3F, 0x80, 0x40};
  std::uint32_t ordinal = 0;
  for (const std::uint8_t value : kByte4) {
    Bytes packet = to_bytes(c.request(Opcode::send_only, ordinal, pattern(32)));
    packet[4] = value;
    bench.peer().send_bytes(packet);
    acknowledged(bench, check, c, ordinal, "a packet with other bits in the masked byte of the BTH");
    ++ordinal;
  }
}

CONFORMANCE_CASE(another_transport_version_is_dropped, "rdma.bth.tver", roles::responder, reaches{"bench.dropped"}, sends_malformed) {
  const auto c = bench.connect_to_product();
  for (const std::uint8_t version : {std::uint8_t{1}, std::uint8_t{15}}) {
    RocePacket packet = c.request(Opcode::send_only, 0, pattern(32));
    packet.tver = version;
    bench.peer().send(packet);
    silence(bench, check, "answer to a packet of another transport version");
  }
  nothing_received(check, c, "such a packet is not delivered");
  mark_dropped(bench, &SoftCounters::drop_bad_version);
  serves_send(bench, check, c, 0, 0, "a good packet with that PSN");
}

CONFORMANCE_CASE(reserved_opcodes_are_dropped, "rdma.bth.unknown-opcode", roles::responder, reaches{"bench.dropped"}, sends_malformed) {
  const auto c = bench.connect_to_product();
  // Reserved within RC, and Send Only of the unreliable connected service.
  for (const int opcode : {0x15, 0x18, 0x1F, 0x24}) {
    bench.peer().send(c.request(static_cast<Opcode>(opcode), 0, pattern(32)));
    silence(bench, check, "answer to a reserved opcode");
  }
  mark_dropped(bench, &SoftCounters::drop_unknown_opcode);
  serves_send(bench, check, c, 0, 0, "a good packet afterwards");
}

CONFORMANCE_CASE(packets_for_unknown_queue_pairs_are_dropped, "rdma.bth.unknown-qp", roles::responder, reaches{"bench.dropped"}) {
  const auto c = bench.connect_to_product();
  for (const std::uint32_t flip : {0x800000u, 0x001000u, 0x000001u}) {
    RocePacket packet = c.request(Opcode::send_only, 0, pattern(32));
    packet.qpn ^= flip;
    bench.peer().send(packet);
    silence(bench, check, "answer to a packet for a queue pair that does not exist");
  }
  nothing_received(check, c, "such a packet reaches no other queue pair");
  mark_dropped(bench, &SoftCounters::drop_unknown_qp);
  serves_send(bench, check, c, 0, 0, "a good packet afterwards");
}

CONFORMANCE_CASE(only_packets_of_our_partition_are_served, "rdma.bth.pkey", roles::responder, reaches{"bench.dropped"}) {
  const auto c = bench.connect_to_product();
  RocePacket packet = c.request(Opcode::send_only, 0, pattern(32));
  packet.pkey = 0x1234;
  bench.peer().send(packet);
  silence(bench, check, "answer to a packet of partition 1234h");
  mark_dropped(bench, &SoftCounters::drop_bad_pkey);
  packet.pkey = 0x7FFF;
  bench.peer().send(packet);
  acknowledged(bench, check, c, 0, "a packet of a limited member of our partition");
}

CONFORMANCE_CASE(payload_is_padded_to_four_bytes, "rdma.bth.pad", roles::responder) {
  const auto c = bench.connect_to_product();
  auto& memory = bench.product().memory(64);
  for (std::uint32_t length = 1; length <= 4; ++length) {
    bench.peer().send(read_request(c, length - 1, {memory.address(), memory.rkey(), length}));
    const auto packet = next_packet(bench, check, "answer to a READ", "a read response");
    if (!packet) return;
    check.equal("pad count of the response", packet->padcnt.value_or(0xFF), (4 - length % 4) % 4);
    check.bytes("pad bytes", packet->pad, Bytes((4 - length % 4) % 4, 0));
    check.bytes("data before the pad", packet->payload, part(memory.bytes, 0, length));
  }
}

CONFORMANCE_CASE(migration_bit_and_congestion_marks_do_not_matter, "rdma.bth.migreq", roles::responder) {
  const auto c = bench.connect_to_product();
  std::uint32_t ordinal = 0;
  for (const bool migreq : {true, false}) {
    for (const bool congestion : {false, true}) {
      RocePacket packet = c.request(Opcode::send_only, ordinal, pattern(16));
      packet.migreq = migreq;
      packet.fecn = packet.becn = congestion;
      bench.peer().send(packet);
      acknowledged(bench, check, c, ordinal, "a packet with either MigReq, with or without marks");
      ++ordinal;
    }
  }
}

CONFORMANCE_CASE(packets_too_short_for_their_opcode_are_dropped, "rdma.bth.too-short", roles::responder, reaches{"bench.dropped"},
                 sends_malformed) {
  const auto c = bench.connect_to_product();
  // Without the headers that their opcode wants.
  for (const Opcode opcode : {Opcode::write_only, Opcode::read_request, Opcode::fetch_and_add}) {
    bench.peer().send(c.request(opcode, 0, pattern(8)));
    silence(bench, check, "answer to a packet that lacks headers");
  }
  // A pad count beyond the payload.
  RocePacket padded = c.request(Opcode::send_only, 0);
  padded.padcnt = 3;
  bench.peer().send(padded);
  // Cut within the BTH.
  bench.peer().send(c.request(Opcode::send_only, 0), {.good_icrc = true, .cut = 8});
  silence(bench, check, "answer to a packet that is cut");
  mark_dropped(bench, &SoftCounters::drop_bad_length);
  serves_send(bench, check, c, 0, 0, "a good packet afterwards");
}

}  // namespace fb::conformance
