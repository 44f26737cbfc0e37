// What the cases on the RDMA layer share: requests as the raw peer says them, and verifiers of what
// comes back.
#pragma once

#include <initializer_list>
#include <string>

#include "conformance/runner/rdma_bench.h"

namespace fb::conformance {

/// For cases about time or path MTUs: the usual latency, and a port that carries packets of 4,096 bytes.
inline void on_a_near_network(EmbeddedSetup& setup) {
  setup.link = {};
  setup.mtu_code_max = 5;
}

/// An answer that has not come by then does not come.
inline constexpr Duration kAnswerTime = Duration::ms(50);
/// Path MTU of 256 bytes, so that short messages take several packets.
inline constexpr RawRequest kSmallPackets = {.mtu_code = 1};
inline constexpr std::size_t kSmallMtu = 256;

/// `size` bytes that differ from those of fresh memory.
inline Bytes pattern(std::size_t size, std::uint8_t first = 0x81) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(first + i * 7);
  return bytes;
}
inline ByteView part(const Bytes& bytes, std::size_t offset, std::size_t length) { return ByteView(bytes).subspan(offset, length); }
inline Bytes copy(ByteView bytes) { return {bytes.begin(), bytes.end()}; }

/// Where a WRITE or READ goes.
struct Remote {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  std::uint32_t length = 0;
};
inline Remote all_of(const VerbsMemory& memory) {
  return {memory.address(), memory.rkey(), static_cast<std::uint32_t>(memory.bytes.size())};
}

inline RocePacket with_reth(RocePacket packet, const Remote& to) {
  packet.reth.emplace();
  packet.reth->set(roce::reth::va, to.address).set(roce::reth::rkey, to.rkey).set(roce::reth::dmalen, to.length);
  return packet;
}
inline RocePacket unacknowledged(RocePacket packet) {
  packet.ackreq = false;
  return packet;
}
inline RocePacket write_only(const RcConnection& c, std::uint32_t ordinal, const Remote& to, Bytes payload) {
  return with_reth(c.request(roce::Opcode::write_only, ordinal, std::move(payload)), to);
}
inline RocePacket read_request(const RcConnection& c, std::uint32_t ordinal, const Remote& from) {
  return with_reth(c.request(roce::Opcode::read_request, ordinal), from);
}
inline RocePacket fetch_and_add(const RcConnection& c, std::uint32_t ordinal, std::uint64_t address, std::uint32_t rkey,
                                std::uint64_t add) {
  RocePacket packet = c.request(roce::Opcode::fetch_and_add, ordinal);
  packet.atomic.emplace();
  packet.atomic->set(roce::atomiceth::va, address).set(roce::atomiceth::rkey, rkey).set(roce::atomiceth::swapdt, add);
  return packet;
}

inline RocePacket invalidating_send(const RcConnection& c, std::uint32_t ordinal, std::uint32_t rkey) {
  RocePacket packet = c.request(roce::Opcode::send_only_with_invalidate, ordinal, pattern(16));
  packet.ieth.emplace();
  packet.ieth->set(roce::ieth::rkey, rkey);
  return packet;
}

inline std::optional<std::string> registers_by_requests(const Declared& declared) {
  if (declared.rdma.fast_registration) return std::nullopt;
  return "the device has no fast registration";
}

/// Memory that the product registers by a work request on its queue, so that it can be invalidated.
inline Remote fast_registered(Check& check, const RcConnection& c, VerbsMemory& memory) {
  rdma::SendRequest registration;
  registration.opcode = rdma::SendOpcode::fast_register;
  registration.region = memory.region.get();
  registration.memory = memory.bytes;
  registration.iova = 0x10000;
  registration.access = kAllRights;
  registration.key_byte = 0x42;
  c.queue->post_send(registration);
  const auto registered = c.queue->wait_send(kAnswerTime);
  check.precondition(registered && registered->status == rdma::CompletionStatus::success, "the product could not register memory");
  return {registration.iova, memory.rkey(), static_cast<std::uint32_t>(memory.bytes.size())};
}

/// One statement on a packet; `expected` in words.
inline bool expect(Check& check, bool holds, std::string_view what, std::string expected, std::string_view seen) {
  if (holds) return check.that(true, what);
  check.fails(what, {std::move(expected)}, seen);
  return false;
}

inline std::string words_of_psn(std::uint32_t psn) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "PSN ";
  for (int shift = 20; shift >= 0; shift -= 4) text += kDigits[psn >> shift & 15];
  return text + "h";
}

/// The next packet within `limit`; a FAIL that says `expected` when none comes.
inline std::optional<RocePacket> next_packet_within(RdmaBench& bench, Check& check, std::string_view what, std::string expected,
                                                    Duration limit) {
  std::optional<RocePacket> packet = bench.peer().wait_packet(limit);
  if (!packet) check.fails(what, {std::move(expected)}, "silence");
  return packet;
}

inline std::optional<RocePacket> next_packet(RdmaBench& bench, Check& check, std::string_view what, std::string expected) {
  return next_packet_within(bench, check, what, std::move(expected), kAnswerTime);
}

/// The next packet acknowledges everything up to the request with this ordinal.
inline bool acknowledged(RdmaBench& bench, Check& check, const RcConnection& c, std::uint32_t ordinal, std::string_view what) {
  const std::uint32_t psn = roce::psn_add(c.facts.send_psn, ordinal);
  const std::string expected = "ACK, " + words_of_psn(psn);
  const auto packet = next_packet(bench, check, what, expected);
  if (!packet) return false;
  const bool holds = packet->opcode == roce::Opcode::acknowledge && roce::kind_of_syndrome(packet->syndrome()) == roce::SyndromeKind::ack &&
                     packet->psn == psn;
  return expect(check, holds, what, expected, packet->describe());
}

/// The next packet is a NAK with one of these syndromes.
inline bool refused_with(RdmaBench& bench, Check& check, std::initializer_list<std::uint8_t> syndromes, std::string_view what) {
  const auto packet = next_packet(bench, check, what, "a NAK");
  if (!packet) return false;
  if (packet->opcode != roce::Opcode::acknowledge) {
    return expect(check, false, what, "a NAK", packet->describe());
  }
  return check.equal(what, packet->syndrome(), OneOf<std::uint8_t>{syndromes});
}
inline constexpr std::uint8_t kSequenceNak = roce::nak_syndrome(roce::NakCode::psn_sequence_error);
inline constexpr std::uint8_t kInvalidRequest = roce::nak_syndrome(roce::NakCode::invalid_request);
inline constexpr std::uint8_t kAccessError = roce::nak_syndrome(roce::NakCode::remote_access_error);
inline constexpr std::uint8_t kOperationalError = roce::nak_syndrome(roce::NakCode::remote_operational_error);

/// The product says nothing for a while.
inline bool silence(RdmaBench& bench, Check& check, std::string_view what) {
  const auto packet = bench.peer().wait_packet(kAnswerTime);
  return expect(check, !packet, what, "silence", packet ? packet->describe() : "");
}

/// Nothing has come into the product's receive buffers.
inline bool nothing_received(Check& check, const RcConnection& c, std::string_view what) {
  return expect(check, !c.queue->wait_receive(Duration::ms(1)), what, "no receive completion", "a receive completion");
}

/// One good receive of exactly these bytes in buffer `id`.
inline bool received(RdmaBench& bench, Check& check, const RcConnection& c, std::uint64_t id, ByteView expected, std::string_view what) {
  const auto completion = c.queue->wait_receive(kAnswerTime);
  if (!completion) return expect(check, false, what, "a receive completion", "none");
  if (!check.equal(what, completion->status, rdma::CompletionStatus::success)) return false;
  if (!check.equal(what, completion->byte_length, static_cast<std::uint32_t>(expected.size()))) {
    return false;
  }
  return check.bytes(what, bench.product().received(id, expected.size()), expected);
}

/// The queue pair serves a SEND with this ordinal as if nothing had been.
inline bool serves_send(RdmaBench& bench, Check& check, const RcConnection& c, std::uint32_t ordinal, std::uint64_t receive_id,
                        std::string_view what) {
  const Bytes bytes = pattern(32, static_cast<std::uint8_t>(0x40 + ordinal));
  bench.peer().send(c.request(roce::Opcode::send_only, ordinal, bytes));
  return acknowledged(bench, check, c, ordinal, what) && received(bench, check, c, receive_id, bytes, what);
}

/// Marks "bench.dropped" when the product has counted a drop of this kind: silence alone would also
/// be the answer to a packet that never arrived.
inline void mark_dropped(RdmaBench& bench, std::uint64_t softroce::SoftCounters::*counter) {
  if (bench.counted(counter)) bench.mark("bench.dropped");
}

/// The next packet of a side that asks. It sends again what was acknowledged late, which in real time the bench or its machine
/// may cause: copies of what came before `psn` say nothing there.
inline std::optional<RocePacket> next_request(RdmaBench& bench, std::uint32_t psn, Duration limit) {
  auto packet = bench.peer().wait_packet(limit);
  if (bench.world().real_loop() == nullptr) return packet;
  while (packet && roce::psn_before(packet->psn, psn)) packet = bench.peer().wait_packet(limit);
  return packet;
}

}  // namespace fb::conformance
