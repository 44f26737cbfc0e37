// Requests that are nearly right: each is refused as the transport says, on a connection of its own, and changes nothing.
#include "conformance/cases/rdma/conversation.h"

namespace fb::conformance {
namespace {

using roce::Opcode;
using roce::OpcodeKind;
/// Memory, receives and a fresh connection for one refusal; what nobody may touch is looked at.
class Attempt {
 public:
  Attempt(RdmaBench& bench, Check& check, VerbsMemory& memory, const RawRequest& request = kSmallPackets)
      : c(bench.connect_to_product({.receives = 2, .receive_bytes = 2048}, request)),
        bench_(bench),
        check_(check),
        memory_(memory),
        before_(memory.bytes) {
    bench.peer().inbox().clear();
  }
  RcConnection c;

  /// The packets before the last are accepted in silence; the last is refused. Afterwards the queue pair is dead.
  void refused(const std::vector<RocePacket>& packets, std::initializer_list<std::uint8_t> syndromes, const std::string& what,
               bool memory_stays = true) {
    for (std::size_t i = 0; i < packets.size(); ++i) {
      RocePacket packet = packets[i];
      packet.ackreq = i + 1 == packets.size();
      bench_.peer().send(packet);
    }
    const auto nak = next_packet(bench_, check_, what, "a NAK");
    if (!nak) return;
    const bool holds = nak->opcode == Opcode::acknowledge && nak->psn == packets.back().psn;
    if (!expect(check_, holds, what, "a NAK with " + words_of_psn(packets.back().psn), nak->describe())) return;
    check_.equal(what, nak->syndrome(), OneOf<std::uint8_t>{syndromes});
    if (memory_stays) check_.bytes("memory after " + what, memory_.bytes, before_);
    const auto receive = c.queue->wait_receive(Duration::ms(1));
    check_.that(!receive || receive->status != rdma::CompletionStatus::success, "no receive completes with success after " + what,
                "one does");
    const auto last = static_cast<std::uint32_t>(roce::psn_distance(packets.back().psn, c.facts.send_psn));
    RocePacket next = c.request(Opcode::send_only, last + 1u, pattern(4));
    bench_.peer().send(next);
    expect(check_, bench_.peer().silent_for(Duration::ms(5)), "after " + what, "silence", "a packet");
  }

 private:
  RdmaBench& bench_;
  Check& check_;
  VerbsMemory& memory_;
  Bytes before_;
};

/// A packet of any request opcode, with headers that are right for `to`.
RocePacket any_request(const RcConnection& c, std::uint32_t ordinal, Opcode opcode, const Remote& to, std::size_t payload) {
  const roce::OpcodeFacts& facts = roce::facts_of(opcode);
  RocePacket packet = c.request(opcode, ordinal, facts.payload ? pattern(payload) : Bytes{});
  if (facts.reth) packet = with_reth(packet, to);
  if (facts.atomic_eth) {
    packet.atomic.emplace();
    packet.atomic->set(roce::atomiceth::va, to.address).set(roce::atomiceth::rkey, to.rkey).set(roce::atomiceth::swapdt, 3);
  }
  if (facts.immdt) packet.immediate.emplace();
  if (facts.ieth) packet.ieth.emplace();
  return packet;
}

constexpr Opcode kRequests[] = {Opcode::send_first,
                                Opcode::send_middle,
                                Opcode::send_last,
                                Opcode::send_last_with_immediate,
                                Opcode::send_only,
                                Opcode::send_only_with_immediate,
                                Opcode::write_first,
                                Opcode::write_middle,
                                Opcode::write_last,
                                Opcode::write_last_with_immediate,
                                Opcode::write_only,
                                Opcode::write_only_with_immediate,
                                Opcode::read_request,
                                Opcode::compare_and_swap,
                                Opcode::fetch_and_add,
                                Opcode::send_last_with_invalidate,
                                Opcode::send_only_with_invalidate};

std::string name_of(Opcode opcode) { return std::string(roce::facts_of(opcode).name); }

/// What a message is in the middle of.
enum class Inside : std::uint8_t { nothing, send, write };

bool continues(Inside inside, const roce::OpcodeFacts& facts) {
  if (inside == Inside::nothing) return facts.first || (facts.kind != OpcodeKind::send && facts.kind != OpcodeKind::write);
  return !facts.first && facts.kind == (inside == Inside::send ? OpcodeKind::send : OpcodeKind::write);
}

}  // namespace

CONFORMANCE_CASE(no_opcode_is_taken_out_of_its_place, "rdma.message.every-opcode", roles::responder, sends_malformed,
                 beyond_interfaces(kAllKinds)) {
  auto& memory = bench.product().memory(4 * kSmallMtu);
  const Remote to{memory.address(), memory.rkey(), 2 * kSmallMtu + 16};
  for (const Inside inside : {Inside::nothing, Inside::send, Inside::write}) {
    for (const Opcode opcode : kRequests) {
      const roce::OpcodeFacts& facts = roce::facts_of(opcode);
      if (continues(inside, facts)) continue;
      Attempt attempt(bench, check, memory);
      std::vector<RocePacket> packets;
      if (inside == Inside::send) packets.push_back(any_request(attempt.c, 0, Opcode::send_first, to, kSmallMtu));
      if (inside == Inside::write) packets.push_back(any_request(attempt.c, 0, Opcode::write_first, to, kSmallMtu));
      const bool whole = facts.kind == OpcodeKind::read_request || facts.kind == OpcodeKind::atomic_request || facts.last;
      const auto at = static_cast<std::uint32_t>(packets.size());
      packets.push_back(any_request(attempt.c, at, opcode, whole ? Remote{to.address, to.rkey, 16} : to, whole ? 16 : kSmallMtu));
      const std::string where = inside == Inside::nothing ? " outside a message"
                                : inside == Inside::send  ? " inside a SEND"
                                                          : " inside a WRITE";
      attempt.refused(packets, {kInvalidRequest}, name_of(opcode) + where, inside != Inside::write);
    }
  }
}

CONFORMANCE_CASE(no_packet_of_another_length_is_taken, "rdma.message.every-length", roles::responder, sends_malformed,
                 beyond_interfaces(kAllKinds)) {
  auto& memory = bench.product().memory(8 * kSmallMtu);
  const auto remote = [&](std::size_t length) { return Remote{memory.address() + 3, memory.rkey(), static_cast<std::uint32_t>(length)}; };
  constexpr std::size_t m = kSmallMtu;
  struct Row {
    bool write;
    std::vector<std::size_t> payloads;  ///< of each packet; the last of them is wrong
    bool ends;                          ///< the wrong one is a Last or Only
    std::size_t announced;
  };
  std::vector<Row> rows;
  for (const bool write : {false, true}) {
    for (const std::size_t wrong : {std::size_t{0}, std::size_t{1}, m - 4, m - 1, m + 1, m + 4}) {
      rows.push_back({write, {wrong}, false, 3 * m});        // First
      rows.push_back({write, {m, wrong}, false, 4 * m});     // Middle
      rows.push_back({write, {m, m, wrong}, false, 5 * m});  // second Middle
    }
    for (const std::size_t wrong : {m + 1, m + 4, 2 * m}) {
      rows.push_back({write, {wrong}, true, wrong});         // Only
      rows.push_back({write, {m, wrong}, true, m + wrong});  // Last
    }
  }
  // Of a WRITE the packet before it is wrong already.
  rows.push_back({false, {m, 0}, true, m});
  rows.push_back({false, {m, m, 0}, true, 2 * m});
  for (const std::size_t announced : {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{17}, std::size_t{20}, m + 16})
    rows.push_back({true, {16}, true, announced});
  for (const std::size_t announced : {m + 15, m + 17, m + 20, 2 * m + 16}) rows.push_back({true, {m, 16}, true, announced});
  for (const std::size_t announced : {2 * m + 15, 2 * m + 17, m + 16, 3 * m + 16}) {
    if (announced > 2 * m) rows.push_back({true, {m, m, 16}, true, announced});
  }
  // A First or Middle that leaves nothing, or that is more than what is left.
  for (const std::size_t announced : {std::size_t{1}, m - 1, m}) rows.push_back({true, {m}, false, announced});
  for (const std::size_t announced : {m + 1, 2 * m - 1, 2 * m}) rows.push_back({true, {m, m}, false, announced});
  for (const Row& row : rows) {
    Attempt attempt(bench, check, memory);
    std::vector<RocePacket> packets;
    std::string what = row.write ? "a WRITE of " + std::to_string(row.announced) + " bytes in packets of" : "a SEND in packets of";
    for (std::size_t i = 0; i < row.payloads.size(); ++i) {
      const Opcode opcode = opcode_at(row.write, Extra::none, i == 0, row.ends && i + 1 == row.payloads.size());
      packets.push_back(any_request(attempt.c, static_cast<std::uint32_t>(i), opcode, remote(row.announced), row.payloads[i]));
      what += " " + std::to_string(row.payloads[i]);
    }
    attempt.refused(packets, {kInvalidRequest}, what + (row.ends ? ", then its end" : ""), row.payloads.size() == 1);
  }
}

CONFORMANCE_CASE(no_message_is_longer_than_2_to_the_31, "rdma.message.longest", roles::responder, sends_malformed) {
  auto& memory = bench.product().memory(64);
  for (const std::uint32_t length : {0x80000001u, 0xFFFFFFFFu}) {
    const Remote to{memory.address(), memory.rkey(), length};
    Attempt reading(bench, check, memory, {.mtu_code = 5});
    reading.refused({read_request(reading.c, 0, to)}, {kInvalidRequest, kAccessError}, "a READ of more than 2^31 bytes");
    Attempt writing(bench, check, memory, {.mtu_code = 5});
    writing.refused({any_request(writing.c, 0, Opcode::write_first, to, 4096)}, {kInvalidRequest, kAccessError},
                    "a WRITE of more than 2^31 bytes");
  }
}

CONFORMANCE_CASE(a_key_counts_in_all_its_bits, "rdma.key.every-bit", roles::responder, beyond_interfaces(kAllKinds)) {
  bench.product().memory(4096);
  auto& memory = bench.product().memory(4096);
  bench.product().memory(4096);
  for (const Opcode opcode : {Opcode::write_only, Opcode::read_request, Opcode::compare_and_swap, Opcode::fetch_and_add}) {
    for (unsigned bit = 0; bit < 32; ++bit) {
      Attempt attempt(bench, check, memory);
      const Remote to{memory.address(), memory.rkey() ^ 1u << bit, 16};
      attempt.refused({any_request(attempt.c, 0, opcode, to, 16)}, {kAccessError},
                      name_of(opcode) + " under a key that differs in bit " + std::to_string(bit));
    }
  }
}

CONFORMANCE_CASE(a_region_has_two_ends, "rdma.key.both-ends", roles::responder, sends_malformed) {
  bench.product().memory(4096);
  auto& memory = bench.product().memory(3 * kSmallMtu + 10);
  bench.product().memory(4096);
  const std::uint64_t at = memory.address();
  const std::uint64_t size = memory.bytes.size();
  struct Range {
    std::uint64_t address, length;
  };
  const Range outside[] = {{at - 1, 1},
                           {at - 1, 2},
                           {at - 1, size},
                           {at - 1, size + 1},
                           {at + size, 1},
                           {at + size - 1, 2},
                           {at, size + 1},
                           {at + 1, size},
                           {at - size, size},
                           {at + size, size},
                           {at + (std::uint64_t{1} << 32), 4},
                           {at - (std::uint64_t{1} << 32), 4},
                           {at ^ std::uint64_t{1} << 63, 4},
                           {~std::uint64_t{0}, 1},
                           {~std::uint64_t{0}, 2},
                           {~std::uint64_t{0} - 3, 8},
                           {0, 1}};
  for (const Range& range : outside) {
    const Remote to{range.address, memory.rkey(), static_cast<std::uint32_t>(range.length)};
    const std::string what =
        std::to_string(range.length) + " bytes at offset " + std::to_string(static_cast<std::int64_t>(range.address - at));
    Attempt reading(bench, check, memory);
    reading.refused({read_request(reading.c, 0, to)}, {kAccessError}, "a READ of " + what);
    Attempt writing(bench, check, memory);
    const bool one = range.length <= kSmallMtu;
    writing.refused({any_request(writing.c, 0, one ? Opcode::write_only : Opcode::write_first, to, one ? to.length : kSmallMtu)},
                    {kAccessError}, "a WRITE of " + what);
  }
  bench.step("what lies inside, up to both ends");
  const RcConnection c = bench.connect_to_product({}, kSmallPackets);
  bench.peer().inbox().clear();
  std::uint32_t ordinal = 0;
  for (const Range& range : {Range{at, 1}, Range{at + size - 1, 1}, Range{at, size}, Range{at + 1, size - 1}, Range{at + size, 0}}) {
    bench.peer().send(read_request(c, ordinal, {range.address, memory.rkey(), static_cast<std::uint32_t>(range.length)}));
    for (std::uint32_t i = roce::packets_of(range.length, kSmallMtu); i > 0; --i, ++ordinal) {
      const auto packet = next_packet(bench, check, "a READ inside the region", "a read response");
      if (!packet) return;
      if (!expect(check, roce::facts_of(packet->opcode).kind == OpcodeKind::read_response, "a READ inside the region", "a read response",
                  packet->describe()))
        return;
    }
  }
}

CONFORMANCE_CASE(each_right_counts, "rdma.key.every-right", roles::responder, beyond_interfaces(kAllKinds)) {
  using rdma::Access;
  const Opcode opcodes[] = {Opcode::write_only, Opcode::read_request, Opcode::compare_and_swap, Opcode::fetch_and_add};
  for (unsigned rights = 0; rights < 16; ++rights) {
    const auto access = static_cast<Access>(rights);
    // Verbs grant remote writes and atomics only together with local writes.
    if ((rights & 0b1010) != 0 && !rdma::allows(access, Access::local_write)) continue;
    auto& memory = bench.product().memory(64, access);
    for (const Opcode opcode : opcodes) {
      const Access wanted = opcode == Opcode::write_only     ? Access::remote_write
                            : opcode == Opcode::read_request ? Access::remote_read
                                                             : Access::remote_atomic;
      Attempt attempt(bench, check, memory);
      const RocePacket packet = any_request(attempt.c, 0, opcode, all_of(memory), 64);
      const std::string what = name_of(opcode) + " to a region with rights " + std::to_string(rights);
      if (!rdma::allows(access, wanted)) {
        attempt.refused({packet}, {kAccessError}, what);
        continue;
      }
      bench.peer().send(packet);
      const auto answer = next_packet(bench, check, what, "no NAK");
      if (!answer) return;
      check.equal("kind of the syndrome after " + what, answer->syndrome() >> 5, 0);
    }
  }
}

CONFORMANCE_CASE(a_key_ends_with_its_registration, "rdma.key.generations", roles::responder, needs(registers_by_requests),
                 beyond_interfaces("keys of the interface are its own")) {
  auto& memory = bench.product().fast_memory(kSmallMtu + 40);
  const RcConnection c = bench.connect_to_product({.receives = 40}, kSmallPackets);
  bench.peer().inbox().clear();
  std::uint32_t ordinal = 0;
  std::uint64_t receive = 0;
  const auto register_under = [&](std::uint8_t key_byte) {
    rdma::SendRequest request;
    request.opcode = rdma::SendOpcode::fast_register;
    request.region = memory.region.get();
    request.memory = memory.bytes;
    request.iova = 0x12345000 + key_byte;
    request.access = kAllRights;
    request.key_byte = key_byte;
    c.queue->post_send(request);
    const auto done = c.queue->wait_send(kAnswerTime);
    check.precondition(done && done->status == rdma::CompletionStatus::success, "the product could not register memory");
    return Remote{request.iova, (memory.rkey() & ~0xFFu) | key_byte, static_cast<std::uint32_t>(memory.bytes.size())};
  };
  const auto stale = [&](const Remote& to, const std::string& what) {
    for (const Opcode opcode : {Opcode::write_only, Opcode::read_request, Opcode::send_only_with_invalidate}) {
      Attempt attempt(bench, check, memory);
      RocePacket packet = any_request(attempt.c, 0, opcode, {to.address, to.rkey, 8}, 8);
      if (opcode != Opcode::send_only_with_invalidate) {
        attempt.refused({packet}, {kAccessError}, name_of(opcode) + what);
        continue;
      }
      packet.ieth->set(roce::ieth::rkey, to.rkey);
      bench.peer().send(packet);
      const auto completion = attempt.c.queue->wait_receive(kAnswerTime);
      check.that(!completion || completion->status != rdma::CompletionStatus::success,
                 "a SEND with invalidate" + what + " does not succeed", "it does");
    }
  };
  std::uint8_t key_byte = 0xFD;
  for (int round = 0; round < 6; ++round, ++key_byte) {
    const Remote to = register_under(key_byte);
    const Bytes bytes = pattern(to.length, key_byte);
    for (const RocePacket& packet : packets_for(c, ordinal, {.write = true, .bytes = bytes, .to = to}, kSmallMtu))
      bench.peer().send(packet);
    ordinal += 2;
    if (!acknowledged(bench, check, c, ordinal - 1, "a WRITE under the key of this registration")) return;
    check.bytes("what it wrote", memory.bytes, bytes);
    stale({to.address, (to.rkey & ~0xFFu) | static_cast<std::uint8_t>(key_byte - 1), 0}, " under the key of the registration before");
    const bool by_peer = round % 2 == 0;
    if (by_peer) {
      const std::size_t length = round == 0 ? 16 : kSmallMtu + 8;
      const auto packets = packets_for(c, ordinal, {.extra = Extra::invalidate, .bytes = pattern(length), .word = to.rkey}, kSmallMtu);
      for (const RocePacket& packet : packets) bench.peer().send(packet);
      ordinal += static_cast<std::uint32_t>(packets.size());
      if (!acknowledged(bench, check, c, ordinal - 1, "a SEND with invalidate")) return;
      const auto completion = c.queue->wait_receive(kAnswerTime);
      check.require(completion.has_value(), "it completes a receive", "no completion");
      check.equal("its receive", completion->id, receive++);
      check.equal("its status", completion->status, rdma::CompletionStatus::success);
      check.equal("its length", completion->byte_length, static_cast<std::uint32_t>(length));
      check.that(completion->has_invalidate, "the completion reports an invalidated key", "it does not");
      check.equal("the key", completion->invalidated_rkey, to.rkey);
    } else {
      rdma::SendRequest request;
      request.id = 77;
      request.opcode = rdma::SendOpcode::local_invalidate;
      request.invalidate_rkey = to.rkey;
      c.queue->post_send(request);
      const auto done = c.queue->wait_send(kAnswerTime);
      check.require(done.has_value(), "the local invalidation completes", "no completion");
      check.equal("its status", done->status, rdma::CompletionStatus::success);
      check.that(done->opcode == rdma::CompletionOpcode::local_invalidate, "the completion reports the operation", "another one");
    }
    stale(to, by_peer ? " under a key that the peer invalidated" : " under a key that the product invalidated");
  }
}

CONFORMANCE_CASE(each_bit_of_a_header_counts, "rdma.bth.every-bit", roles::responder, reaches{"bench.dropped"}, sends_malformed) {
  const auto c = bench.connect_to_product();
  bench.peer().inbox().clear();
  const RocePacket good = c.request(roce::Opcode::send_only, 0, pattern(16));
  const auto all_dropped = [&](std::string_view what) { return silence(bench, check, what); };
  for (unsigned bit = 0; bit < 24; ++bit) {
    RocePacket packet = good;
    packet.qpn ^= 1u << bit;
    bench.peer().send(packet);
  }
  all_dropped("packets whose destination differs in one bit of the queue pair number");
  for (unsigned bit = 0; bit < 15; ++bit) {
    RocePacket packet = good;
    packet.pkey ^= static_cast<std::uint16_t>(1u << bit);
    bench.peer().send(packet);
    packet.pkey &= 0x7FFF;
    bench.peer().send(packet);
  }
  all_dropped("packets whose P_Key differs in one bit");
  for (std::uint8_t version = 1; version < 16; ++version) {
    RocePacket packet = good;
    packet.tver = version;
    bench.peer().send(packet);
  }
  all_dropped("packets of other transport versions");
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    // Those of the reliable connected service have cases of their own.
    if (opcode < 0x18 && opcode != 0x15) continue;
    bench.peer().send(c.request(static_cast<Opcode>(opcode), 0, pattern(64)));
  }
  all_dropped("packets of reserved opcodes and of other services");
  nothing_received(check, c, "none of them is delivered");
  mark_dropped(bench, &softroce::SoftCounters::drop_unknown_qp);
  serves_send(bench, check, c, 0, 0, "the right packet afterwards");
  RocePacket limited = c.request(Opcode::send_only, 1, pattern(16));
  limited.pkey = 0x7FFF;
  bench.peer().send(limited);
  acknowledged(bench, check, c, 1, "a packet of a limited member of the partition");
}

CONFORMANCE_CASE(gaps_and_duplicates_are_half_of_all_psns_each, "rdma.psn.halves", roles::responder, sends_malformed) {
  const auto c = bench.connect_to_product({.receives = 40});
  bench.peer().inbox().clear();
  std::uint32_t ordinal = 0;
  constexpr std::uint32_t kHalf = 0x800000;
  for (const std::uint32_t ahead : {1u, 2u, 3u, 255u, 256u, 0x10000u, kHalf - 2, kHalf - 1}) {
    bench.step("a gap");
    bench.peer().send(c.request(Opcode::send_only, ordinal + ahead, pattern(16)));
    const auto nak = next_packet(bench, check, "answer to a gap", "NAK 60h");
    if (!nak) return;
    check.equal("syndrome of the answer", nak->syndrome(), kSequenceNak);
    check.equal("PSN of the NAK", nak->psn, roce::psn_add(c.facts.send_psn, ordinal));
    check.equal("MSN of the NAK", nak->msn(), ordinal);
    bench.peer().send(c.request(Opcode::send_only, ordinal + ahead, pattern(16)));
    silence(bench, check, "answer to the same gap again");
    if (!serves_send(bench, check, c, ordinal, ordinal, "the packet that was missing")) return;
    ++ordinal;
  }
  for (const std::uint32_t behind : {1u, 2u, 8u, 9u, 256u, 0x10000u, kHalf - 1, kHalf}) {
    bench.step("a duplicate");
    bench.peer().send(c.request(Opcode::send_only, ordinal - behind, pattern(16)));
    const auto ack = next_packet(bench, check, "answer to a duplicate", "an ACK");
    if (!ack) return;
    check.equal("kind of the syndrome", ack->syndrome() >> 5, 0);
    check.equal("PSN of the ACK", ack->psn, roce::psn_add(c.facts.send_psn, ordinal - 1));
    check.equal("MSN of the ACK", ack->msn(), ordinal);
    RocePacket quiet = c.request(Opcode::send_only, ordinal - behind, pattern(16));
    bench.peer().send(unacknowledged(quiet));
    silence(bench, check, "answer to a duplicate that asks for no acknowledgement");
    nothing_received(check, c, "a duplicate is not delivered");
  }
  serves_send(bench, check, c, ordinal, ordinal, "the next SEND");
}

CONFORMANCE_CASE(a_receive_is_filled_to_its_last_byte, "rdma.message.receive-border", roles::responder) {
  for (const std::uint32_t room : {1u, 4u, 255u, 256u, 257u, 512u, 515u}) {
    for (const std::uint32_t over : {0u, 1u, 256u}) {
      auto& memory = bench.product().memory(2048);
      const Bytes before = memory.bytes;
      const RcConnection c = bench.connect_to_product({.receives = 0}, kSmallPackets);
      bench.peer().inbox().clear();
      c.queue->post_receive(memory, 9, 64, room);
      const Bytes bytes = pattern(room + over);
      const auto packets = packets_for(c, 0, {.bytes = bytes}, kSmallMtu);
      for (const RocePacket& packet : packets) bench.peer().send(packet);
      if (over == 0) {
        acknowledged(bench, check, c, static_cast<std::uint32_t>(packets.size() - 1), "a SEND that fills the receive");
        check.bytes("the receive", part(memory.bytes, 64, room), bytes);
      } else {
        refused_with(bench, check, {kInvalidRequest, kOperationalError}, "a SEND that is longer than the receive");
      }
      const auto completion = c.queue->wait_receive(kAnswerTime);
      check.require(completion.has_value(), "the receive completes", "no completion");
      check.equal("its buffer", completion->id, 9);
      check.equal("success", completion->status == rdma::CompletionStatus::success, over == 0);
      check.bytes("memory before the receive", part(memory.bytes, 0, 64), part(before, 0, 64));
      check.bytes("memory behind the receive", part(memory.bytes, 64 + room, 512), part(before, 64 + room, 512));
    }
  }
}

}  // namespace fb::conformance
