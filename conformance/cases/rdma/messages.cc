// SEND and WRITE messages: their packets in order, their lengths.
#include "conformance/cases/rdma/exchange.h"

namespace fb::conformance {
namespace {

using roce::Opcode;

/// Says `bytes` as one SEND with packets of the small MTU; returns the ordinal behind it.
std::uint32_t send_message(RdmaBench& bench, const RcConnection& c, std::uint32_t ordinal, const Bytes& bytes) {
  const std::uint32_t packets = roce::packets_of(bytes.size(), kSmallMtu);
  for (std::uint32_t i = 0; i < packets; ++i) {
    const std::size_t offset = i * kSmallMtu;
    const bool first = i == 0, last = i + 1 == packets;
    const Opcode opcode = last ? (first ? Opcode::send_only : Opcode::send_last) : (first ? Opcode::send_first : Opcode::send_middle);
    RocePacket packet = c.request(opcode, ordinal + i, copy(part(bytes, offset, std::min(kSmallMtu, bytes.size() - offset))));
    packet.ackreq = last;
    bench.peer().send(packet);
  }
  return ordinal + packets;
}

/// Packets of which only the last one is wrong are refused as an invalid request.
void refused(RdmaBench& bench, Check& check, std::initializer_list<RocePacket> good, const RocePacket& wrong, std::string_view what,
             std::initializer_list<std::uint8_t> syndromes = {kInvalidRequest}) {
  for (const RocePacket& packet : good) bench.peer().send(unacknowledged(packet));
  bench.peer().send(wrong);
  refused_with(bench, check, syndromes, what);
}

}  // namespace

// Malformed to tshark alone, which takes very short SENDs for RPC over RDMA.
CONFORMANCE_CASE(sends_of_every_length_arrive_complete, "rdma.message.sizes", roles::responder, sends_malformed) {
  const auto c = bench.connect_to_product({.receives = 12}, kSmallPackets);
  std::uint32_t ordinal = 0;
  std::uint64_t id = 0;
  for (const std::size_t size : {0u, 1u, 3u, 4u, 255u, 256u, 257u, 512u, 513u, 2047u, 4096u}) {
    const Bytes bytes = pattern(size, static_cast<std::uint8_t>(id));
    ordinal = send_message(bench, c, ordinal, bytes);
    acknowledged(bench, check, c, ordinal - 1, "a SEND");
    received(bench, check, c, id, bytes, "the bytes of a SEND");
    ++id;
  }
}

CONFORMANCE_CASE(a_middle_without_a_first_is_refused, "rdma.message.middle-without-first", roles::responder) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  refused(bench, check, {}, c.request(Opcode::send_middle, 0, pattern(kSmallMtu)), "answer to a SEND Middle without a First");
}

CONFORMANCE_CASE(a_last_without_a_first_is_refused, "rdma.message.middle-without-first", roles::responder) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  refused(bench, check, {}, c.request(Opcode::send_last, 0, pattern(16)), "answer to a SEND Last without a First");
}

CONFORMANCE_CASE(a_first_inside_a_message_is_refused, "rdma.message.first-inside", roles::responder) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  refused(bench, check, {c.request(Opcode::send_first, 0, pattern(kSmallMtu))}, c.request(Opcode::send_only, 1, pattern(16)),
          "answer to a SEND Only inside a SEND");
}

CONFORMANCE_CASE(a_first_that_is_not_full_is_refused, "rdma.message.first-short", roles::responder) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  refused(bench, check, {}, c.request(Opcode::send_first, 0, pattern(kSmallMtu - 4)),
          "answer to a SEND First that is shorter than the path MTU");
}

CONFORMANCE_CASE(a_middle_that_is_not_full_is_refused, "rdma.message.first-short", roles::responder) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  refused(bench, check, {c.request(Opcode::send_first, 0, pattern(kSmallMtu))}, c.request(Opcode::send_middle, 1, pattern(kSmallMtu - 4)),
          "answer to a SEND Middle that is shorter than the path MTU");
}

CONFORMANCE_CASE(a_send_longer_than_the_receive_is_refused, "rdma.message.too-long", roles::responder) {
  const auto c = bench.connect_to_product({.receives = 2, .receive_bytes = 128}, kSmallPackets);
  refused(bench, check, {}, c.request(Opcode::send_only, 0, pattern(132)), "answer to a SEND that is longer than the receive buffer",
          {kInvalidRequest, kOperationalError});
  check.bytes("the buffer behind that one", bench.product().received(1, 4), Bytes{0x80, 0x81, 0x82, 0x83});
}

CONFORMANCE_CASE(a_write_shorter_than_announced_is_refused, "rdma.write.length-mismatch", roles::responder) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  auto& memory = bench.product().memory(1024);
  const Remote to{memory.address(), memory.rkey(), 600};
  refused(bench, check, {with_reth(c.request(Opcode::write_first, 0, pattern(kSmallMtu)), to)},
          c.request(Opcode::write_last, 1, pattern(16)), "answer to a WRITE that ends too early");
}

CONFORMANCE_CASE(a_write_longer_than_announced_is_refused, "rdma.write.length-mismatch", roles::responder) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  auto& memory = bench.product().memory(1024);
  const Bytes before = copy(part(memory.bytes, 300, 512));
  const Remote to{memory.address(), memory.rkey(), 300};
  refused(bench, check, {with_reth(c.request(Opcode::write_first, 0, pattern(kSmallMtu)), to)},
          c.request(Opcode::write_last, 1, pattern(128)), "answer to a WRITE that does not end");
  check.bytes("memory behind the announced length", part(memory.bytes, 300, 512), before);
}

CONFORMANCE_CASE(a_write_that_ends_with_nothing_is_refused, "rdma.write.length-mismatch", roles::responder) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  auto& memory = bench.product().memory(1024);
  const Remote to{memory.address(), memory.rkey(), kSmallMtu};
  bench.peer().send(unacknowledged(with_reth(c.request(Opcode::write_first, 0, pattern(kSmallMtu)), to)));
  bench.peer().send(c.request(Opcode::write_last, 1));
  refused_with(bench, check, {kInvalidRequest}, "answer to a WRITE whose last packet is empty");
}

CONFORMANCE_CASE(a_write_of_nothing_needs_no_key, "rdma.write.zero-length", roles::responder) {
  const auto c = bench.connect_to_product();
  bench.peer().send(write_only(c, 0, {0x1234, 0xDEADBE00, 0}, {}));
  acknowledged(bench, check, c, 0, "a WRITE of length 0 under a key that does not exist");
}

}  // namespace fb::conformance
