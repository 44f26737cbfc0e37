// Packets of who sends requests, and what it makes of the packets that come back.
#include "conformance/runner/management_requester_bench.h"

namespace fb::conformance {
namespace {

using mi::Opcode;
using mi::Status;

Op<mi::Reply> ask(ManagementRequesterBench& bench, unsigned slot = 0) {
  return bench.product().command(kPlayedEid, Opcode::vpd_read, 0, 200, {}, {.slot = slot});
}

/// The packets of a good answer of 200 bytes of data.
std::vector<MctpPacket> answer_packets(ManagementRequesterBench& bench, const SeenMessage& request, std::uint8_t fill,
                                       std::size_t unit = mctp::kBaselineUnit) {
  MctpPacket like = bench.endpoint().packet();
  like.owner = false;
  like.tag = request.tag;
  like.destination = request.source;
  return cut(bench.with_check(bench.response_to(request, Status::success, Bytes(200, fill))), like, unit);
}

void send_all(ManagementRequesterBench& bench, const std::vector<MctpPacket>& packets) {
  for (const MctpPacket& packet : packets) bench.endpoint().send(packet);
  bench.endpoint().wait_until_said();
}

void serves(ManagementRequesterBench& bench, Check& check, std::string_view what) {
  auto reply = ask(bench);
  const SeenMessage request = bench.request();
  send_all(bench, answer_packets(bench, request, 0x77));
  const mi::Reply got = reply.wait();
  check.that(got.ok(), "the answer after " + std::string(what) + " is taken");
  check.bytes("its data", got.data(), Bytes(200, 0x77));
}

/// A request with data of many lengths, each as it came.
template <class Look>
void for_many_lengths(ManagementRequesterBench& bench, Check& check, Look&& look) {
  for (const std::size_t length : {0u, 1u, 43u, 44u, 45u, 64u, 108u, 109u, 500u, 4000u}) {
    bench.product().write_vpd(kPlayedEid, 0, Bytes(length, static_cast<std::uint8_t>(length)));
    const auto sent = bench.next_request();
    if (!sent) break;
    const SeenMessage& request = *sent;
    check.equal("bytes of a request with " + std::to_string(length) + " of data", request.body.size(), 16 + length + 4);
    look(request);
    bench.answer(request, bench.response_to(request, Status::internal_error));
  }
  const auto& faults = bench.endpoint().faults();
  check.that(faults.empty(), "every packet belongs to a sound message", faults.empty() ? "" : faults.front());
  check.precondition(!bench.endpoint().packets().empty(), "the requester sends something");
}

}  // namespace

CONFORMANCE_CASE(packets_of_requests_are_sound, "mctp.requester.packets", roles::management_requester) {
  for_many_lengths(bench, check, [&](const SeenMessage& request) {
    for (std::size_t i = 0; i < request.packets.size(); ++i) {
      const MctpPacket& packet = request.packets[i].packet;
      const MctpPacket& first = request.packets.front().packet;
      check.equal("header version", packet.version, 1);
      check.equal("reserved bits", packet.reserved, 0);
      check.equal("destination EID", packet.destination, kPlayedEid);
      check.equal("source EID", packet.source, kRequesterEid);
      check.equal("SOM", packet.som, i == 0);
      check.equal("EOM", packet.eom, i + 1 == request.packets.size());
      check.equal("sequence number", packet.sequence, (first.sequence + i) & 3);
      check.that(packet.owner, "the requester owns the tag");
    }
  });
}

CONFORMANCE_CASE(requests_are_cut_at_the_baseline, "mctp.requester.unit", roles::management_requester) {
  for_many_lengths(bench, check, [&](const SeenMessage& request) {
    for (const SeenPacket& seen : request.packets) {
      const std::size_t size = seen.packet.payload.size();
      if (seen.packet.eom) {
        check.that(size >= 1 && size <= 64, "the last packet has 1 to 64 bytes", std::to_string(size));
      } else {
        check.equal("bytes in a packet that is not the last", size, 64u);
      }
    }
  });
  // What comes may be as large as was agreed.
  constexpr std::uint16_t kUnit = 128;
  auto setting = bench.product().set_unit(kPlayedEid, 0, kUnit);
  const SeenMessage set = bench.request();
  bench.answer(set, bench.response_to(set, Status::success));
  check.precondition(setting.wait().ok(), "the unit is set");
  auto reply = ask(bench);
  send_all(bench, answer_packets(bench, bench.request(), 0x4B, kUnit));
  const mi::Reply got = reply.wait();
  check.that(got.ok(), "an answer in packets of the unit that was set is taken");
  check.bytes("its data", got.data(), Bytes(200, 0x4B));
}

CONFORMANCE_CASE(answers_may_start_at_any_number, "mctp.requester.any-start", roles::management_requester) {
  for (std::uint8_t start = 0; start < 4; ++start) {
    auto reply = ask(bench);
    const SeenMessage request = bench.request();
    auto packets = answer_packets(bench, request, start);
    for (MctpPacket& packet : packets) packet.sequence = static_cast<std::uint8_t>((packet.sequence + start) & 3);
    send_all(bench, packets);
    const mi::Reply got = reply.wait();
    check.that(got.ok(), "an answer that begins with sequence number " + std::to_string(start) + " is taken");
    check.bytes("its data", got.data(), Bytes(200, start));
  }
}

CONFORMANCE_CASE(answers_in_turn_are_both_taken, "mctp.requester.interleaved", roles::management_requester) {
  auto first = ask(bench, 0), second = ask(bench, 1);
  const SeenMessage one = bench.request(), two = bench.request();
  const auto a = answer_packets(bench, one, 0xA1), b = answer_packets(bench, two, 0xB2);
  for (std::size_t i = 0; i < a.size(); ++i) {
    bench.endpoint().send(b[i]);
    bench.endpoint().send(a[i]);
  }
  bench.endpoint().wait_until_said();
  const mi::Reply got = first.wait(), also = second.wait();
  check.that(got.ok() && also.ok(), "both answers are taken");
  check.bytes("data of the first", got.data(), Bytes(200, 0xA1));
  check.bytes("data of the second", also.data(), Bytes(200, 0xB2));
}

CONFORMANCE_CASE(spoiled_answers_are_not_taken, "mctp.requester.spoiled", roles::management_requester) {
  struct Spoil {
    std::string_view what;
    void (*change)(std::vector<MctpPacket>&);
  };
  constexpr Spoil kSpoils[] = {
      {"a missing packet", [](std::vector<MctpPacket>& p) { p.erase(p.begin() + 1); }},
      {"two packets in the wrong order", [](std::vector<MctpPacket>& p) { std::swap(p[1], p[2]); }},
      {"no first packet", [](std::vector<MctpPacket>& p) { p.erase(p.begin()); }},
      {"a wrong sequence number", [](std::vector<MctpPacket>& p) { p[2].sequence ^= 2; }},
  };
  for (const Spoil& spoil : kSpoils) {
    auto reply = ask(bench);
    const SeenMessage request = bench.request();
    auto packets = answer_packets(bench, request, 0x5C);
    spoil.change(packets);
    send_all(bench, packets);
    check.that(!reply.wait().ok(), "an answer with " + std::string(spoil.what) + " is not taken");
    serves(bench, check, spoil.what);
  }
}

CONFORMANCE_CASE(packets_of_other_messages_are_no_part, "mctp.requester.one-message", roles::management_requester) {
  struct Other {
    std::string_view what;
    void (*change)(MctpPacket&);
  };
  constexpr Other kOthers[] = {
      {"another tag", [](MctpPacket& packet) { packet.tag = (packet.tag + 3) & 7; }},
      {"the tag owner bit", [](MctpPacket& packet) { packet.owner = true; }},
      {"another source", [](MctpPacket& packet) { packet.source = 0x41; }},
  };
  for (const Other& other : kOthers) {
    for (const std::size_t which : {1u, 2u}) {
      auto reply = ask(bench);
      const SeenMessage request = bench.request();
      auto packets = answer_packets(bench, request, 0x3D);
      other.change(packets[which]);
      send_all(bench, packets);
      check.that(!reply.wait().ok(), "an answer of which a packet has " + std::string(other.what) + " is not taken");
      serves(bench, check, other.what);
    }
  }
}

CONFORMANCE_CASE(stray_packets_are_dropped, "mctp.requester.strays", roles::management_requester) {
  auto reply = ask(bench);
  const SeenMessage request = bench.request();
  const auto wrong = [&](auto&& change) {
    for (MctpPacket packet : answer_packets(bench, request, 0xEE)) {
      change(packet);
      bench.endpoint().send(packet);
    }
  };
  wrong([](MctpPacket& packet) { packet.tag = (packet.tag + 3) & 7; });
  wrong([](MctpPacket& packet) { packet.destination = 0x40; });
  wrong([](MctpPacket& packet) { packet.version = 2; });
  wrong([](MctpPacket& packet) { packet.owner = true; });
  wrong([](MctpPacket& packet) { packet.source = 0x41; });
  send_all(bench, answer_packets(bench, request, 0x11));
  const mi::Reply got = reply.wait();
  check.that(got.ok(), "the answer after stray packets is taken");
  check.bytes("its data", got.data(), Bytes(200, 0x11));
}

}  // namespace fb::conformance
