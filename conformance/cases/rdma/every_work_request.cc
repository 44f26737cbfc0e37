// Every kind of work request on the side that asks: each field of each packet, at lengths on both sides of each packet border,
// from one piece of memory and from several, alone and many at once.
#include <numeric>

#include "conformance/cases/rdma/asker.h"

namespace fb::conformance {
namespace {

using namespace asker;

}  // namespace

CONFORMANCE_CASE(every_work_request_is_said_in_its_packets, "rdma.requester.every-request", roles::requester, sends_malformed,
                 beyond_interfaces(kAllKinds), furnished(&on_a_near_network)) {
  for (std::uint8_t code = 1; code <= 5; ++code) {
    bench.step("another path MTU");
    const std::size_t mtu = roce::mtu_bytes(code);
    Asker asker(bench, check, bench.connect_to_product({}, patient(code)), mtu);
    bench.peer().inbox().clear();
    std::size_t pieces = 0;
    for (const SendOpcode opcode : kOpcodes) {
      for (const std::size_t length : lengths_around(mtu)) {
        pieces = pieces % 4 + 1;
        const Posted posted = asker.post(opcode, length, std::min(pieces, std::max<std::size_t>(length, 1)), pieces != 3, pieces % 2 == 0);
        if (!asker.asked(posted, "a work request")) return;
        asker.answer(posted);
        if (!asker.completed(posted, "its completion") || !asker.rest("after the answer")) return;
        if (is_atomic(opcode)) break;
      }
    }
  }
}

CONFORMANCE_CASE(work_requests_that_follow_at_once_keep_their_order, "rdma.requester.pipelined", roles::requester, sends_malformed,
                 beyond_interfaces(kAllKinds)) {
  Drawn drawn(5);
  Asker asker(bench, check, bench.connect_to_product({}, kPatient), kSmallMtu);
  bench.peer().inbox().clear();
  for (int round = 0; round < 40; ++round) {
    std::vector<Posted> burst;
    const std::uint32_t count = 1 + drawn.below(6);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::size_t length = lengths_around(kSmallMtu)[drawn.below(13)];
      const std::size_t pieces = 1 + drawn.below(static_cast<std::uint32_t>(std::clamp<std::size_t>(length, 1, 4)));
      const SendOpcode opcode = kOpcodes[drawn.below(8)];
      // The last one wants to hear of it, so that nothing is left open.
      const bool signaled = drawn.below(2) == 0 || i + 1 == count;
      const bool solicited = drawn.below(2) == 0;
      burst.push_back(asker.post(opcode, length, pieces, signaled, solicited));
    }
    for (const Posted& posted : burst) {
      if (!asker.asked(posted, "a work request among others")) return;
    }
    const bool coalesce = drawn.below(2) == 0;
    for (std::size_t i = 0; i < burst.size(); ++i) {
      const bool before_plain = i + 1 < burst.size() && !is_answered(burst[i].request.opcode);
      if (coalesce && before_plain) {
        asker.skip_message();  // the next answer stands for it as well
      } else {
        asker.answer(burst[i]);
      }
    }
    for (const Posted& posted : burst) {
      if (!asker.completed(posted, "completion of a work request among others")) return;
    }
    if (!asker.rest("after all answers")) return;
  }
}

CONFORMANCE_CASE(what_is_lost_is_sent_again_as_it_was, "rdma.requester.every-loss", roles::requester, sends_malformed,
                 beyond_interfaces(kAllKinds), furnished(&on_a_near_network)) {
  RawRequest request = kSmallPackets;
  request.ack_timeout = 12;
  const Duration limit = roce::ack_timeout(request.ack_timeout) * 6;
  Asker asker(bench, check, bench.connect_to_product({}, request), kSmallMtu);
  bench.peer().inbox().clear();
  for (const SendOpcode opcode : kOpcodes) {
    for (const std::size_t length : {std::size_t{7}, 3 * kSmallMtu + 5}) {
      const std::uint32_t packets = is_atomic(opcode) ? 1 : roce::packets_of(length, kSmallMtu);
      for (std::uint32_t known = 0; known < packets; ++known) {
        const Posted posted = asker.post(opcode, length, 2);
        if (!asker.asked(posted, "a work request")) return;
        const Bytes data = pattern(length, static_cast<std::uint8_t>(posted.first));
        bench.step("a part of it is answered");
        for (std::uint32_t i = 0; i < known; ++i) {
          if (opcode == SendOpcode::rdma_read) {
            asker.respond(posted, i, data, asker.messages() + 1);
          } else {
            acknowledge(bench, asker.c, posted.first + i, asker.messages());
          }
        }
        const auto again = bench.peer().wait_packet(limit);
        if (!expect(check, again.has_value(), "a request of which a part is not answered", "that part again", "silence")) return;
        bench.peer().inbox().push_front(*again);
        if (!asker.asked(posted, "the rest of the request again", known)) return;
        if (opcode == SendOpcode::rdma_read) {
          // Answered as a READ of its own.
          asker.skip_message();
          for (std::uint32_t i = known; i < packets; ++i) {
            const bool begins = i == known, ends = i + 1 == packets;
            const Opcode form = ends ? (begins ? Opcode::read_response_only : Opcode::read_response_last)
                                     : (begins ? Opcode::read_response_first : Opcode::read_response_middle);
            const std::size_t offset = i * kSmallMtu;
            bench.peer().send(response(asker.c, form, posted.first + i, copy(part(data, offset, std::min(kSmallMtu, length - offset))),
                                       asker.messages()));
          }
          asker.store(posted, data);
        } else {
          asker.answer(posted);
        }
        if (!asker.completed(posted, "its completion") || !asker.rest("after the answer")) return;
      }
    }
  }
}

CONFORMANCE_CASE(no_more_reads_than_agreed_are_in_flight, "rdma.requester.every-depth", roles::requester, beyond_interfaces(kAllKinds)) {
  for (const std::uint8_t depth : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}, std::uint8_t{7}, std::uint8_t{16}}) {
    RawRequest request = kPatient;
    request.responder_resources = depth;
    const RcConnection c = bench.connect_to_product({}, request);
    Asker asker(bench, check, c, kSmallMtu);
    bench.peer().inbox().clear();
    const unsigned wanted = std::min<unsigned>(depth, cm::message_of<cm::Rep>(c.facts.reply.bytes()).get(cm::rep::initiator_depth));
    std::vector<Posted> posted;
    for (unsigned i = 0; i < 2u * depth + 3; ++i)
      posted.push_back(asker.post(i % 3 == 2 ? SendOpcode::fetch_and_add : SendOpcode::rdma_read, kSmallMtu + i, 1));
    unsigned seen = 0;
    for (unsigned answered = 0; answered < posted.size(); ++answered) {
      while (seen < posted.size() && seen < answered + wanted) {
        if (!asker.asked(posted[seen++], "READs and atomics up to the depth")) return;
      }
      expect(check, bench.peer().silent_for(Duration::ms(1)), "READs and atomics beyond the depth", "silence", "one more");
      asker.answer(posted[answered]);
      if (!asker.completed(posted[answered], "completion of a READ or atomic")) return;
    }
    asker.rest("after all of them");
  }
}

CONFORMANCE_CASE(a_fence_waits_for_all_reads_and_atomics, "rdma.requester.every-fence", roles::requester, beyond_interfaces(kAllKinds)) {
  const RcConnection c = bench.connect_to_product({}, kPatient);
  bench.peer().inbox().clear();
  auto& memory = bench.product().memory(64);
  std::uint32_t ordinal = 0;
  for (const SendOpcode fenced : kOpcodes) {
    for (const SendOpcode before : {SendOpcode::rdma_read, SendOpcode::fetch_and_add, SendOpcode::compare_and_swap}) {
      for (std::uint64_t id = 0; id < 2; ++id) c.queue->post_send(to_there(before, id), memory, 8 * id, 8);
      rdma::SendRequest request = to_there(fenced, 2);
      request.fence = true;
      c.queue->post_send(request, memory, 16, 8);
      for (std::uint32_t i = 0; i < 2; ++i) {
        if (!next_packet(bench, check, "a READ or atomic", "a request")) return;
      }
      for (std::uint32_t i = 0; i < 3; ++i) {
        const bool read = i < 2 ? before == SendOpcode::rdma_read : fenced == SendOpcode::rdma_read;
        if (i == 2 && !next_packet(bench, check, "the fenced request behind the last answer", "a request")) return;
        if (i < 2)
          expect(check, bench.peer().silent_for(Duration::ms(2)), "a fenced request behind an open READ or atomic", "silence", "a packet");
        RocePacket answer = response(c, read ? Opcode::read_response_only : Opcode::atomic_acknowledge, ordinal + i,
                                     read ? pattern(8) : Bytes{}, ordinal + i + 1);
        if (!read) answer.atomic_ack.emplace();
        if (i == 2 && !is_answered(fenced)) {
          acknowledge(bench, c, ordinal + i, ordinal + i + 1);
        } else {
          bench.peer().send(answer);
        }
        const auto end = c.queue->wait_send(kAnswerTime);
        if (!expect(check, end.has_value(), "after an answer", "a completion", "none")) return;
        check.equal("its request", end->id, std::uint64_t{i});
      }
      ordinal += 3;
    }
  }
}

CONFORMANCE_CASE(connections_ask_apart_from_each_other, "rdma.requester.several-connections", roles::requester, sends_malformed,
                 beyond_interfaces(kAllKinds), furnished(&on_a_near_network)) {
  std::deque<Asker> askers;
  for (std::uint32_t k = 0; k < 3; ++k) {
    RawRequest request = patient(static_cast<std::uint8_t>(k + 1));
    request.psn = 0x1000 * (k + 1);
    askers.emplace_back(bench, check, bench.connect_to_product({}, request), roce::mtu_bytes(k + 1));
  }
  bench.peer().inbox().clear();
  Drawn drawn(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<Posted> posted;
    for (std::uint32_t k = 0; k < 3; ++k) {
      const SendOpcode opcode = kOpcodes[drawn.below(8)];
      const std::size_t length = lengths_around(roce::mtu_bytes(k + 1))[drawn.below(13)];
      posted.push_back(askers[k].post(opcode, length, 1));
    }
    bench.world().run_for(Duration::ms(1));
    const std::deque<RocePacket> all = std::exchange(bench.peer().inbox(), {});
    for (std::uint32_t k : {2u, 0u, 1u}) {
      for (const RocePacket& packet : all) {
        if (packet.qpn == askers[k].c.facts.local_qpn) bench.peer().inbox().push_back(packet);
      }
      if (!askers[k].asked(posted[k], "a work request beside those of other connections")) return;
      askers[k].answer(posted[k]);
      if (!askers[k].completed(posted[k], "its completion") || !askers[k].rest("after its answer")) return;
    }
  }
}

}  // namespace fb::conformance
