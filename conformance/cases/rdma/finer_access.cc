// Finer rules of access: where a region ends, who may change it by atomics, what a duplicate may ask for.
#include "conformance/cases/rdma/exchange.h"

namespace fb::conformance {
namespace {

using roce::Opcode;

constexpr std::string_view kNoAtomics = "the interface has no atomics";

/// An atomic is refused with a remote access error, on a connection of its own.
void atomic_refused(RdmaBench& bench, Check& check, VerbsMemory& memory, std::uint64_t address, std::uint32_t rkey, std::string_view what) {
  bench.step(what);
  const auto c = bench.connect_to_product();
  bench.peer().inbox().clear();
  const Bytes before = memory.bytes;
  bench.peer().send(fetch_and_add(c, 0, address, rkey, 5));
  refused_with(bench, check, {kAccessError}, what);
  check.bytes("memory after it", memory.bytes, before);
}

/// The answer to a READ of at most one packet.
void read_seen(RdmaBench& bench, Check& check, const RcConnection& c, std::uint32_t ordinal, ByteView expected, std::string_view what) {
  const auto packet = next_packet(bench, check, what, "a read response");
  if (!packet) return;
  if (!expect(check, packet->opcode == Opcode::read_response_only, what, "RC READ response Only", packet->describe())) return;
  check.equal("its PSN", packet->psn, roce::psn_add(c.facts.send_psn, ordinal));
  check.bytes("its data", packet->payload, expected);
}

/// The answer to an atomic.
void atomic_seen(RdmaBench& bench, Check& check, const RcConnection& c, std::uint32_t ordinal, std::uint64_t original,
                 std::string_view what) {
  const auto packet = next_packet(bench, check, what, "an atomic acknowledge");
  if (!packet) return;
  if (!expect(check, packet->atomic_ack.has_value(), what, "an atomic acknowledge", packet->describe())) return;
  check.equal("its PSN", packet->psn, roce::psn_add(c.facts.send_psn, ordinal));
  check.equal("the original value", packet->atomic_ack->get(roce::atomicacketh::origremdt), original);
}

}  // namespace

CONFORMANCE_CASE(a_region_ends_behind_its_last_byte, "rdma.key.range.end", roles::responder) {
  auto& memory = bench.product().memory(64);
  const auto c = bench.connect_to_product();
  bench.peer().send(write_only(c, 0, {memory.address() + 62, memory.rkey(), 2}, pattern(2)));
  acknowledged(bench, check, c, 0, "a WRITE of the last two bytes");
  bench.peer().send(write_only(c, 1, {memory.address() + 62, memory.rkey(), 3}, pattern(3)));
  refused_with(bench, check, {kAccessError}, "answer to a WRITE of one byte more");
  const auto reading = bench.connect_to_product();
  bench.peer().inbox().clear();
  bench.peer().send(read_request(reading, 0, {memory.address() + 1, memory.rkey(), 64}));
  refused_with(bench, check, {kAccessError}, "answer to a READ of one byte behind the region");
}

CONFORMANCE_CASE(a_read_is_refused_as_a_whole, "rdma.key.range.whole", roles::responder) {
  auto& memory = bench.product().memory(kSmallMtu + 64);
  const auto c = bench.connect_to_product({}, kSmallPackets);
  bench.peer().send(read_request(c, 0, {memory.address(), memory.rkey(), 2 * kSmallMtu}));
  const auto nak = next_packet(bench, check, "answer to a READ that ends outside the region", "a NAK");
  if (!nak) return;
  if (!expect(check, nak->opcode == Opcode::acknowledge, "answer to a READ that ends outside the region", "a NAK, and no data",
              nak->describe()))
    return;
  check.equal("its syndrome", nak->syndrome(), kAccessError);
  check.equal("its PSN", nak->psn, c.facts.send_psn);
}

CONFORMANCE_CASE(a_deregistered_region_gives_no_access, "rdma.key.deregistered", roles::responder) {
  auto& memory = bench.product().memory(64);
  const Remote at = all_of(memory);
  const auto c = bench.connect_to_product();
  bench.peer().send(write_only(c, 0, at, pattern(64)));
  acknowledged(bench, check, c, 0, "a WRITE to a registered region");
  memory.region.reset();
  const Bytes before = memory.bytes;
  bench.peer().send(write_only(c, 1, at, pattern(64, 0x11)));
  refused_with(bench, check, {kAccessError}, "answer to a WRITE behind the deregistration");
  check.bytes("memory after it", memory.bytes, before);
  const auto reading = bench.connect_to_product();
  bench.peer().inbox().clear();
  bench.peer().send(read_request(reading, 0, at));
  refused_with(bench, check, {kAccessError}, "answer to a READ behind the deregistration");
}

CONFORMANCE_CASE(a_duplicate_read_asks_for_no_more, "rdma.read.replay-bounds", roles::responder, reaches{"bench.duplicate"}) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  auto& memory = bench.product().memory(1024);
  auto& other = bench.product().memory(1024);
  const Remote half{memory.address(), memory.rkey(), 2 * kSmallMtu};
  bench.peer().send(read_request(c, 0, half));
  for (int i = 0; i < 2; ++i) {
    if (!next_packet(bench, check, "a read response", "a read response")) return;
  }
  bench.peer().send(read_request(c, 0, {memory.address(), memory.rkey(), 1024}));
  silence(bench, check, "answer to a duplicate that asks for more");
  bench.peer().send(read_request(c, 1, {memory.address() + kSmallMtu, memory.rkey(), 2 * kSmallMtu}));
  silence(bench, check, "answer to a duplicate of the second half that asks for more");
  bench.peer().send(read_request(c, 0, {other.address(), other.rkey(), 2 * kSmallMtu}));
  silence(bench, check, "answer to a duplicate under another key");
  bench.peer().send(read_request(c, 0, {memory.address(), other.rkey(), 2 * kSmallMtu}));
  bench.peer().send(read_request(c, 1, {memory.address() + kSmallMtu, memory.rkey() ^ 1, kSmallMtu}));
  silence(bench, check, "answer to a duplicate under a key that differs alone");
  bench.peer().send(read_request(c, 0, {memory.address() + 4, memory.rkey(), 2 * kSmallMtu}));
  bench.peer().send(read_request(c, 1, {memory.address(), memory.rkey(), kSmallMtu}));
  silence(bench, check, "answer to a duplicate of another address");
  if (bench.counted(&softroce::SoftCounters::duplicate_requests)) bench.mark("bench.duplicate");
  serves_send(bench, check, c, 2, 0, "a SEND after the duplicates");
}

CONFORMANCE_CASE(reads_and_atomics_keep_their_kind, "rdma.read.among-atomics", roles::responder, beyond_interfaces(kNoAtomics)) {
  const auto c = bench.connect_to_product({.responder_resources = 2}, kSmallPackets);
  auto& numbers = bench.product().memory(16);
  auto& memory = bench.product().memory(64);
  std::uint64_t value = load_le<std::uint64_t>(numbers.bytes.data());
  constexpr std::uint32_t kAtomics = 0b101101110010;
  std::uint64_t originals[12] = {};
  // More of either kind than there are places to remember them.
  for (std::uint32_t i = 0; i < 12; ++i) {
    originals[i] = value;
    if ((kAtomics >> i & 1) != 0) {
      for (int time = 0; time < 2; ++time) {
        bench.peer().send(fetch_and_add(c, i, numbers.address(), numbers.rkey(), 3));
        atomic_seen(bench, check, c, i, value, time == 0 ? "answer to an atomic" : "answer to the atomic again");
      }
      value += 3;
    } else {
      for (int time = 0; time < 2; ++time) {
        bench.peer().send(read_request(c, i, all_of(memory)));
        read_seen(bench, check, c, i, memory.bytes, time == 0 ? "answer to a READ" : "answer to the READ again");
      }
    }
    if (i == 0) continue;
    // There are two places: the one before is remembered as well.
    const std::uint32_t before = i - 1;
    if ((kAtomics >> before & 1) != 0) {
      bench.peer().send(fetch_and_add(c, before, numbers.address(), numbers.rkey(), 3));
      atomic_seen(bench, check, c, before, originals[before], "answer to the atomic before it, again");
    } else {
      bench.peer().send(read_request(c, before, all_of(memory)));
      read_seen(bench, check, c, before, memory.bytes, "answer to the READ before it, again");
    }
  }
  check.equal("the number after all atomics", load_le<std::uint64_t>(numbers.bytes.data()), value);
}

CONFORMANCE_CASE(an_atomic_needs_a_key, "rdma.atomic.key", roles::responder, beyond_interfaces(kNoAtomics)) {
  auto& memory = bench.product().memory(64);
  const auto c = bench.connect_to_product();
  const std::uint64_t last = load_le<std::uint64_t>(&memory.bytes[56]);
  bench.peer().send(fetch_and_add(c, 0, memory.address() + 56, memory.rkey(), 5));
  atomic_seen(bench, check, c, 0, last, "answer to an atomic on the last eight bytes");
  atomic_refused(bench, check, memory, memory.address(), memory.rkey() ^ 0x00F00000u, "an atomic under an unknown key");
  atomic_refused(bench, check, memory, memory.address(), memory.rkey() ^ 1u, "an atomic under another key byte");
  atomic_refused(bench, check, memory, memory.address() + 64, memory.rkey(), "an atomic behind the region");
  atomic_refused(bench, check, memory, memory.address() - 8, memory.rkey(), "an atomic before the region");
  auto& readable = bench.product().memory(64, rdma::Access::local_write | rdma::Access::remote_write | rdma::Access::remote_read);
  atomic_refused(bench, check, readable, readable.address(), readable.rkey(), "an atomic without the right");
}

CONFORMANCE_CASE(an_atomic_acknowledge_is_an_acknowledgement, "rdma.atomic.response", roles::responder, beyond_interfaces(kNoAtomics)) {
  const auto c = bench.connect_to_product();
  auto& memory = bench.product().memory(16);
  for (std::uint32_t i = 0; i < 2; ++i) {
    bench.peer().send(fetch_and_add(c, i, memory.address(), memory.rkey(), 1));
    const auto answer = next_packet(bench, check, "answer to an atomic", "an atomic acknowledge");
    if (!answer) return;
    check.require(answer->opcode == Opcode::atomic_acknowledge, "the answer is an atomic acknowledge", answer->describe());
    expect(check, roce::kind_of_syndrome(answer->syndrome()) == roce::SyndromeKind::ack, "its syndrome", "that of an ACK",
           answer->describe());
    check.equal("its PSN", answer->psn, roce::psn_add(c.facts.send_psn, i));
    check.equal("its MSN", answer->msn(), i + 1);
  }
}

}  // namespace fb::conformance
