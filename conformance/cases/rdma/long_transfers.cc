// Messages of hundreds of packets, over a wrap of the PSNs too: the last byte counts as the first, and what is lost or asked for
// again anywhere in them is made good.
#include <set>

#include "conformance/cases/rdma/asking.h"
#include "conformance/cases/rdma/conversation.h"

namespace fb::conformance {
namespace {

using roce::Opcode;
using roce::OpcodeKind;

constexpr std::uint32_t kPackets = 301;
constexpr std::size_t kBytes = (kPackets - 1) * kSmallMtu + 77;
constexpr std::uint32_t kBurst = 64;  // that no device need store more of
constexpr std::size_t kPlace = 5;
constexpr std::uint32_t kStarts[] = {0x10, 0xFFFF80};

RawRequest starting_at(std::uint32_t psn) {
  RawRequest request = kSmallPackets;
  request.psn = psn;
  request.ack_timeout = 20;  // which nobody waits for
  return request;
}

Bytes long_pattern() {
  Bytes bytes(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  return bytes;
}

/// Sends a message in bursts, each of which is acknowledged.
bool sent_in_bursts(RdmaBench& bench, Check& check, const RcConnection& c, std::uint32_t first, const Message& message) {
  const auto packets = packets_for(c, first, message, kSmallMtu);
  for (std::uint32_t i = 0; i < packets.size(); ++i) {
    RocePacket packet = packets[i];
    packet.ackreq = (i + 1) % kBurst == 0 || i + 1 == packets.size();
    bench.peer().send(packet);
    if (packet.ackreq && !acknowledged(bench, check, c, first + i, "a part of a long message")) return false;
  }
  return true;
}

unsigned seen_rep_depth(const RcConnection& c) { return cm::message_of<cm::Rep>(c.facts.reply.bytes()).get(cm::rep::responder_resources); }

/// The bytes of response `i` of a READ of everything.
Bytes response_bytes(const Bytes& all, std::uint32_t i) {
  const std::size_t offset = std::size_t{i} * kSmallMtu;
  return copy(part(all, offset, std::min(kSmallMtu, all.size() - offset)));
}

}  // namespace

CONFORMANCE_CASE(long_messages_are_taken_to_their_last_byte, "rdma.message.long", roles::responder) {
  const Bytes bytes = long_pattern();
  auto& memory = bench.product().memory(kBytes + 64);
  auto& buffer = bench.product().memory(kBytes + 64);
  Bytes expected = memory.bytes, received = buffer.bytes;
  std::copy(bytes.begin(), bytes.end(), expected.begin() + kPlace);
  std::copy(bytes.begin(), bytes.end(), received.begin() + kPlace);
  const auto c = bench.connect_to_product({.receives = 0}, starting_at(0x10));
  bench.peer().inbox().clear();
  c.queue->post_receive(buffer, 9, kPlace, kBytes);
  const Remote to{memory.address() + kPlace, memory.rkey(), kBytes};
  if (!sent_in_bursts(bench, check, c, 0, {.write = true, .bytes = bytes, .to = to})) return;
  check.bytes("memory after a long WRITE", memory.bytes, expected);
  if (!sent_in_bursts(bench, check, c, kPackets, {.bytes = bytes})) return;
  const auto completion = c.queue->wait_receive(kAnswerTime);
  check.require(completion.has_value(), "a long SEND completes its receive", "no completion");
  check.equal("its status", completion->status, rdma::CompletionStatus::success);
  check.equal("its length", completion->byte_length, static_cast<std::uint32_t>(kBytes));
  check.bytes("memory after a long SEND", buffer.bytes, received);
  bench.peer().send(read_request(c, 2 * kPackets, to));
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    const auto packet = next_packet(bench, check, "a response of a long READ", "a read response");
    if (!packet) return;
    const Opcode opcode = i == 0              ? Opcode::read_response_first
                          : i + 1 == kPackets ? Opcode::read_response_last
                                              : Opcode::read_response_middle;
    const std::uint32_t psn = roce::psn_add(c.facts.send_psn, 2 * kPackets + i);
    if (!expect(check, packet->opcode == opcode && packet->psn == psn, "a response of a long READ", words_of_psn(psn), packet->describe()))
      return;
    if (packet->aeth) check.equal("its MSN", packet->msn(), 3u);
    if (!check.bytes("its bytes", packet->payload, response_bytes(bytes, i))) return;
  }
  silence(bench, check, "after the last response");
}

CONFORMANCE_CASE(a_long_read_is_asked_for_again_while_it_is_answered, "rdma.read.long-replay", roles::responder) {
  const Bytes bytes = long_pattern();
  for (const std::uint32_t again : {0u, 1u, 40u, kBurst - 1, kBurst, kBurst + 1, 150u, kPackets - 1}) {
    bench.step("a connection of its own");
    auto& memory = bench.product().memory(kBytes + 64);
    std::copy(bytes.begin(), bytes.end(), memory.bytes.begin() + kPlace);
    const auto c = bench.connect_to_product({.receives = 0}, starting_at(0x10));
    bench.peer().inbox().clear();
    const auto served = seen_rep_depth(c);
    check.precondition(served >= 2, "the product serves no two READs");
    const std::uint64_t at = memory.address() + kPlace;
    // Two READs of everything, and the first again from one of its responses on, before or after that one has left.
    bench.peer().send(read_request(c, 0, {at, memory.rkey(), kBytes}));
    bench.peer().send(read_request(c, kPackets, {at, memory.rkey(), kBytes}));
    const auto offset = static_cast<std::uint32_t>(again * kSmallMtu);
    bench.peer().send(read_request(c, again, {at + offset, memory.rkey(), static_cast<std::uint32_t>(kBytes) - offset}));
    std::uint32_t expected = 0;  // the response that the requester waits for
    std::set<std::uint32_t> seen;
    while (expected < 2 * kPackets) {
      const auto packet = next_packet(bench, check, "READs of which one is asked for again", "all their responses");
      if (!packet) return;
      const auto i = static_cast<std::uint32_t>(roce::psn_distance(packet->psn, c.facts.send_psn));
      if (!expect(check, roce::facts_of(packet->opcode).kind == OpcodeKind::read_response && i < 2 * kPackets && i <= expected,
                  "READs of which one is asked for again", "responses in the order of their PSNs", packet->describe()))
        return;
      const bool last = i % kPackets + 1 == kPackets;
      check.equal("the response is the last of its READ", roce::facts_of(packet->opcode).last, last);
      if (!check.bytes("its bytes", packet->payload, response_bytes(bytes, i % kPackets))) return;
      seen.insert(i);
      expected = std::max(expected, i + 1);
    }
    check.equal("responses of both READs", seen.size(), std::size_t{2 * kPackets});
    // Once more when all is answered.
    bench.world().run_for(Duration::ms(2));
    bench.peer().inbox().clear();
    bench.peer().send(read_request(c, kPackets + again, {at + offset, memory.rkey(), static_cast<std::uint32_t>(kBytes) - offset}));
    for (std::uint32_t i = again; i < kPackets; ++i) {
      const auto packet = next_packet(bench, check, "the second READ again", "a read response");
      if (!packet) return;
      const std::uint32_t psn = roce::psn_add(c.facts.send_psn, kPackets + i);
      if (!expect(check, packet->psn == psn, "the second READ again", words_of_psn(psn), packet->describe())) return;
      if (!check.bytes("its bytes", packet->payload, response_bytes(bytes, i))) return;
    }
  }
}

CONFORMANCE_CASE(long_requests_are_sent_to_their_last_byte, "rdma.requester.long", roles::requester, sends_malformed,
                 beyond_interfaces("the interface cuts long requests to its own limits")) {
  const Bytes bytes = long_pattern();
  for (const std::uint32_t start : kStarts) {
    for (const bool write : {false, true}) {
      bench.step("a connection of its own");
      const auto c = bench.connect_to_product({.receives = 0}, starting_at(start));
      bench.peer().inbox().clear();
      auto& memory = bench.product().memory(kBytes + 64);
      std::copy(bytes.begin(), bytes.end(), memory.bytes.begin() + kPlace);
      c.queue->post_send(to_there(write ? rdma::SendOpcode::rdma_write : rdma::SendOpcode::send, 21), memory, kPlace, kBytes);
      // Each of these is taken for lost once: it and what follows comes again.
      std::set<std::uint32_t> lost = {0, 1, kBurst, 128, 200, kPackets - 1};
      const std::string what = write ? "a long WRITE" : "a long SEND";
      for (std::uint32_t i = 0; i < kPackets;) {
        const auto packet = next_packet(bench, check, what, "its next packet");
        if (!packet) return;
        const std::uint32_t psn = roce::psn_add(c.facts.receive_psn, i);
        if (packet->psn != psn) continue;  // behind one that was lost, or a copy
        if (lost.erase(i) != 0) {
          bench.peer().send(c.facts.acknowledge(psn, 0, kSequenceNak));
          continue;
        }
        const Opcode opcode = opcode_at(write, Extra::none, i == 0, i + 1 == kPackets);
        if (!expect(check, packet->opcode == opcode, what, std::string(roce::facts_of(opcode).name) + ", " + words_of_psn(psn),
                    packet->describe()))
          return;
        if (!check.bytes("bytes of a packet", packet->payload, response_bytes(bytes, i))) return;
        const bool done = i + 1 == kPackets;
        if (packet->ackreq || done) acknowledge(bench, c, i, done ? 1 : 0);
        ++i;
      }
      const auto completion = c.queue->wait_send(kAnswerTime);
      check.require(completion.has_value(), what + " completes", "no completion");
      check.equal("its status", completion->status, rdma::CompletionStatus::success);
      check.equal("its request", completion->id, 21);
    }
    bench.step("a READ");
    const auto c = bench.connect_to_product({.receives = 0}, starting_at(start));
    bench.peer().inbox().clear();
    auto& memory = bench.product().memory(kBytes + 64);
    Bytes expected = memory.bytes;
    std::copy(bytes.begin(), bytes.end(), expected.begin() + kPlace);
    c.queue->post_send(to_there(rdma::SendOpcode::rdma_read, 22), memory, kPlace, kBytes);
    std::uint32_t from = 0;
    for (const std::uint32_t missing : {1u, kBurst, 200u, kPackets - 1, kPackets}) {
      const auto packet = next_packet(bench, check, "a long READ", "a READ request");
      if (!packet) return;
      check.require(packet->reth.has_value(), "the request is a READ", packet->describe());
      const std::size_t offset = std::size_t{from} * kSmallMtu;
      check.equal("PSN of the request", packet->psn, roce::psn_add(c.facts.receive_psn, from));
      check.equal("its address", packet->reth->get(roce::reth::va), kThere + offset);
      check.equal("its length", packet->reth->get(roce::reth::dmalen), static_cast<std::uint32_t>(kBytes - offset));
      for (std::uint32_t i = from; i < missing; ++i) {
        const bool begins = i == from, ends = i + 1 == kPackets;
        const Opcode opcode = ends ? (begins ? Opcode::read_response_only : Opcode::read_response_last)
                                   : (begins ? Opcode::read_response_first : Opcode::read_response_middle);
        bench.peer().send(response(c, opcode, i, response_bytes(bytes, i)));
      }
      // One that is missing shows by the one behind it.
      if (missing + 1 < kPackets)
        bench.peer().send(response(c, Opcode::read_response_middle, missing + 1, response_bytes(bytes, missing + 1)));
      if (missing + 1 == kPackets) bench.peer().send(c.facts.acknowledge(roce::psn_add(c.facts.receive_psn, missing), 1, kSequenceNak));
      from = missing;
    }
    const auto completion = c.queue->wait_send(kAnswerTime);
    check.require(completion.has_value(), "a long READ completes", "no completion");
    check.equal("its status", completion->status, rdma::CompletionStatus::success);
    check.equal("its length", completion->byte_length, static_cast<std::uint32_t>(kBytes));
    check.bytes("memory after a long READ", memory.bytes, expected);
  }
}

CONFORMANCE_CASE(connections_share_receives, "rdma.receive.shared", roles::responder, sends_malformed,
                 beyond_interfaces("interfaces have shared receive queues of their own")) {
  const auto connect = [&] { return bench.connect_to_product({.queue = {.shared_receives = true}, .receives = 0}, kSmallPackets); };
  const RcConnection one = connect(), two = connect();
  bench.peer().inbox().clear();
  auto& memory = bench.product().memory(16 * 1024);
  const auto post = [&](std::uint64_t id) {
    check.require(one.queue->post_receive(memory, id, 1024 * id, 1024), "a shared receive is taken");
  };
  std::uint32_t ordinal[2] = {0, 0};
  const RcConnection* const both[2] = {&one, &two};
  const auto send = [&](std::size_t k, bool first, bool last, std::size_t length) {
    RocePacket packet = both[k]->request(opcode_at(false, Extra::none, first, last), ordinal[k]++,
                                         pattern(length, static_cast<std::uint8_t>(0x11 + 0x40 * k)));
    packet.ackreq = last;
    bench.peer().send(packet);
    return !last || acknowledged(bench, check, *both[k], ordinal[k] - 1, "a SEND to a shared receive");
  };
  const auto completes = [&](std::size_t k, std::uint64_t id, std::uint32_t length) {
    const auto completion = both[k]->queue->wait_receive(kAnswerTime);
    if (!expect(check, completion.has_value(), "a SEND to a shared receive", "a completion", "none")) return false;
    check.equal("its status", completion->status, rdma::CompletionStatus::success);
    check.equal("the receive that it takes", completion->id, id);
    check.equal("its length", completion->byte_length, length);
    check.equal("its queue pair", completion->qp_number, both[k]->queue->qp().number());
    return nothing_received(check, *both[1 - k], "nothing completes on the other connection");
  };
  for (std::uint64_t id = 0; id < 4; ++id) post(id);
  // The oldest receive goes to the message that begins first, wherever that ends.
  if (!send(0, true, false, kSmallMtu) || !send(1, true, false, kSmallMtu) || !send(1, false, true, 10) || !completes(1, 1, 266) ||
      !send(0, false, true, 30) || !completes(0, 0, 286) || !send(1, true, true, 7) || !completes(1, 2, 7) || !send(0, true, true, 9) ||
      !completes(0, 3, 9)) {
    return;
  }
  bench.step("none is left");
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    const RocePacket packet = both[k]->request(Opcode::send_only, ordinal[k], pattern(5));
    bench.peer().send(packet);
    const auto nak = next_packet(bench, check, "a SEND without a shared receive", "RNR NAK");
    if (!nak) return;
    check.equal("kind of the syndrome", nak->syndrome() >> 5, 1);
    post(4 + k);
    bench.world().run_for(Duration::ms(1));
    bench.peer().send(packet);
    if (!acknowledged(bench, check, *both[k], ordinal[k]++, "the SEND again") || !completes(k, 4 + k, 5)) return;
  }
  bench.step("one of them fails");
  for (const std::uint64_t id : {6u, 7u}) post(id);
  bench.peer().send(write_only(one, ordinal[0], {1, 2, 3}, pattern(3)));
  refused_with(bench, check, {kAccessError}, "a WRITE under a key that is none");
  nothing_received(check, one, "shared receives stay when a queue pair fails");
  for (const std::uint64_t id : {6u, 7u}) {
    if (!send(1, true, true, 20) || !completes(1, id, 20)) return;
  }
}

}  // namespace fb::conformance
