// Messages of several packets, on their way in: what ends them, what must not.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/cases/mctp/exchange.h"

namespace fb::conformance {
namespace {

std::vector<MctpPacket> parts(EndpointBench& bench, ByteView body, std::uint8_t tag = 0, std::uint8_t first = 0) {
  MctpPacket like = bench.peer().packet();
  like.tag = tag;
  like.sequence = first;
  return cut(body, like);
}

/// A message comes, and is the answer to that tag.
bool answered(EndpointBench& bench, Check& check, std::string_view what, std::uint8_t tag = 0) {
  bench.peer().wait_until_said();
  const auto answer = bench.peer().next_message(Duration::s(2));
  if (!check.that(answer.has_value(), std::string(what) + " is answered", "no answer")) return false;
  return check.equal("tag of the answer to " + std::string(what), answer->tag, tag);
}

/// A message of three packets is answered: the scene of cases that then spoil such a message.
void three_are_taken(EndpointBench& bench, Check& check) {
  for (const MctpPacket& packet : parts(bench, long_request(bench, 64, 64))) bench.peer().send(packet);
  bench.peer().wait_until_said();
  check.precondition(bench.peer().next_message(Duration::s(2)).has_value(), "a message of three packets is answered");
}

/// A request from that EID is answered.
bool answers_to(EndpointBench& bench, mctp::Eid eid) {
  MctpPacket request = bench.peer().packet(kAnyRequest);
  request.source = eid;
  bench.peer().send(request);
  bench.peer().wait_until_said();
  return bench.peer().next_message(bench.answer_within() * 4).has_value();
}

void send(EndpointBench& bench, const std::vector<MctpPacket>& packets) {
  for (const MctpPacket& packet : packets) bench.peer().send(packet);
}

}  // namespace

CONFORMANCE_CASE(a_lone_middle_packet_is_dropped, "mctp.assembly.stray-middle", roles::endpoint, needs(packets)) {
  for (const std::uint8_t tag : octets<0, 3, 7>) {
    // Were it taken for a start, the end behind it would make a whole request.
    auto packets = parts(bench, long_request(bench, 64), tag);
    packets[0].som = false;
    send(bench, packets);
    MctpPacket middle = bench.peer().packet(kAnyRequest);
    middle.som = middle.eom = false;
    middle.tag = tag;
    bench.peer().send(middle);
    if (!silence(bench, check, "answer to packets without a start")) break;
  }
  serves(bench, check, "a good message afterwards");
}

CONFORMANCE_CASE(a_lone_end_packet_is_dropped, "mctp.assembly.stray-end", roles::endpoint, needs(packets)) {
  for (const std::uint8_t tag : octets<0, 3, 7>) {
    for (const std::uint8_t sequence : octets<0, 1, 2, 3>) {
      MctpPacket end = bench.peer().packet(kAnyRequest);
      end.som = false;
      end.tag = tag;
      end.sequence = sequence;
      bench.peer().send(end);
    }
    if (!silence(bench, check, "answer to an end without a start")) break;
  }
  serves(bench, check, "a good message afterwards");
}

CONFORMANCE_CASE(any_first_number_is_taken, "mctp.assembly.first-number", roles::endpoint, needs(packets)) {
  for (const std::uint8_t first : octets<0, 1, 2, 3>) {
    send(bench, parts(bench, long_request(bench, 64, 128), 0, first));
    answered(bench, check, fmt::format("a message whose numbers begin with {}", first));
  }
}

CONFORMANCE_CASE(a_new_start_begins_the_message_anew, "mctp.assembly.restart", roles::endpoint, needs(packets)) {
  const auto half = parts(bench, long_request(bench, 64, 64), 2);
  bench.peer().send(half[0]);
  bench.peer().send(half[1]);
  send(bench, parts(bench, long_request(bench, 64), 2));
  if (!answered(bench, check, "a message that begins where another had begun", 2)) return;
  silence(bench, check, "second answer");
  // The end of the first is nobody's.
  bench.peer().send(half[0]);
  MctpPacket whole = bench.peer().packet(kAnyRequest);
  whole.tag = 2;
  bench.peer().send(whole);
  if (!answered(bench, check, "a message of one packet behind the start of another", 2)) return;
  bench.peer().send(half[1]);
  bench.peer().send(half[2]);
  silence(bench, check, "answer to the rest of a message that another has ended");
  serves(bench, check, "a good message afterwards");
}

CONFORMANCE_CASE(a_gap_in_the_numbers_ends_the_message, "mctp.assembly.sequence", roles::endpoint, needs(packets)) {
  three_are_taken(bench, check);
  for (const std::uint8_t wrong : octets<0, 2, 3>) {
    auto packets = parts(bench, long_request(bench, 64));
    packets[1].sequence = wrong;
    send(bench, packets);
    if (!silence(bench, check, fmt::format("answer to a message with the numbers 0 and {}", wrong))) break;
    // Nor does the right number behind it bring the message back.
    packets[1].sequence = 1;
    bench.peer().send(packets[1]);
    if (!silence(bench, check, "answer to the right number behind a wrong one")) break;
  }
  // The numbers may begin anywhere, and wrap.
  for (const std::uint8_t first : octets<1, 2, 3>) {
    for (const std::uint8_t ahead : octets<0, 2, 3>) {
      auto packets = parts(bench, long_request(bench, 64), 0, first);
      packets[1].sequence = static_cast<std::uint8_t>((first + ahead) & 3);
      send(bench, packets);
      if (!silence(bench, check, fmt::format("answer to a message with the numbers {} and {}", first, packets[1].sequence))) break;
    }
  }
  auto missing = parts(bench, long_request(bench, 64, 128));
  missing.erase(missing.begin() + 1);
  send(bench, missing);
  silence(bench, check, "answer to a message with a packet missing");
  serves(bench, check, "a good message afterwards");
  send(bench, parts(bench, long_request(bench, 64)));
  answered(bench, check, "a good message of two packets afterwards");
}

CONFORMANCE_CASE(a_slow_message_is_taken, "mctp.assembly.slow", roles::endpoint, needs(packets)) {
  for (const auto gap : {Duration::ms(10), Duration::ms(40)}) {
    const auto packets = parts(bench, long_request(bench, 64, 320));
    for (const MctpPacket& packet : packets) {
      bench.peer().send(packet);
      bench.peer().wait_until_said();
      if (&packet != &packets.back()) bench.world().run_for(gap);
    }
    answered(bench, check, fmt::format("a message of {} packets, {} apart", packets.size(), to_string(gap)));
  }
}

CONFORMANCE_CASE(a_packet_that_comes_twice_ends_the_message, "mctp.assembly.duplicate", roles::endpoint, needs(packets)) {
  three_are_taken(bench, check);
  auto packets = parts(bench, long_request(bench, 64, 64));
  packets.insert(packets.begin() + 1, packets[1]);
  send(bench, packets);
  silence(bench, check, "answer to a message with a packet that came twice");
  serves(bench, check, "a good message afterwards");
  send(bench, parts(bench, long_request(bench, 64)));
  answered(bench, check, "a good message of two packets afterwards");
}

CONFORMANCE_CASE(a_middle_packet_of_another_size_does_no_harm, "mctp.assembly.size", roles::endpoint, needs(packets)) {
  for (const std::size_t second : {60u, 32u, 4u}) {
    const Bytes body = long_request(bench, 64, 128);
    auto packets = parts(bench, body);
    const auto at = [&](std::size_t from, std::size_t size) {
      return Bytes(body.begin() + static_cast<std::ptrdiff_t>(from), body.begin() + static_cast<std::ptrdiff_t>(from + size));
    };
    packets[1].payload = at(64, second);
    packets[2].payload = at(64 + second, 64);
    packets[3].payload = at(128 + second, body.size() - 128 - second);
    if (packets[3].payload.size() > 64) packets[3].payload.resize(64);
    send(bench, packets);
    bench.peer().wait_until_said();
    // It may be taken or dropped.
    if (const auto answer = bench.peer().next_message(bench.answer_within() * 4)) {
      check.equal("type of what came", answer->type(), mi::kNvmeMiType);
      check.equal("tag of what came", answer->tag, 0);
    }
    serves(bench, check, fmt::format("a good message behind one with a part of {} bytes", second));
    send(bench, parts(bench, long_request(bench, 64)));
    answered(bench, check, "a good message of two packets behind one with unequal parts");
  }
}

CONFORMANCE_CASE(senders_are_assembled_apart, "mctp.assembly.sources", roles::endpoint, needs(packets)) {
  // Another EID, and all that differ in one bit.
  std::vector<mctp::Eid> others = {kOtherBenchEid};
  for (unsigned bit = 0; bit < 8; ++bit) others.push_back(static_cast<mctp::Eid>(kBenchEid ^ 1u << bit));
  for (const mctp::Eid eid : others) {
    if (eid < mctp::kFirstEid || eid == bench.eid()) continue;
    if (eid != kOtherBenchEid && !answers_to(bench, eid)) continue;  // a product may know no way to it
    // The same tag from two EIDs; a slot each, so that the two may be worked on at once.
    auto one = parts(bench, long_request(bench, 64, 0, 0), 4);
    auto other = parts(bench, long_request(bench, 64, 0, 1), 4);
    for (MctpPacket& packet : other) packet.source = eid;
    send(bench, {one[0], other[0], one[1], other[1]});
    bench.peer().wait_until_said();
    std::vector<mctp::Eid> answered_to;
    for (int at = 0; at < 2; ++at) {
      if (const auto answer = bench.peer().next_message(Duration::s(2))) answered_to.push_back(answer->destination);
    }
    std::sort(answered_to.begin(), answered_to.end());
    const bool both = check.equal(fmt::format("EIDs that were answered, of {} and {}", kBenchEid, eid), answered_to,
                                  std::vector<mctp::Eid>{std::min(kBenchEid, eid), std::max(kBenchEid, eid)});
    if (!both) return;
  }
  check.that(bench.peer().faults().empty(), "the answers are whole", bench.peer().faults().empty() ? "" : bench.peer().faults().front());
}

CONFORMANCE_CASE(tags_are_assembled_apart, "mctp.assembly.tags", roles::endpoint, needs(packets)) {
  const auto one = parts(bench, long_request(bench, 64, 0, 0), 0);
  for (const std::uint8_t tag : octets<1, 2, 4, 6, 7>) {
    const auto other = parts(bench, long_request(bench, 64, 0, 1), tag);
    send(bench, {one[0], other[0], one[1], other[1]});
    bench.peer().wait_until_said();
    std::vector<std::uint8_t> tags;
    for (int at = 0; at < 2; ++at) {
      if (const auto answer = bench.peer().next_message(Duration::s(2))) tags.push_back(answer->tag);
    }
    std::sort(tags.begin(), tags.end());
    if (!check.equal("tags that were answered", tags, std::vector<std::uint8_t>{0, tag})) return;
  }
  // And a message of another type in the middle of one.
  MctpPacket between = bench.peer().packet(kAnyRequest);
  between.tag = 1;
  send(bench, {one[0], between});
  if (!answered(bench, check, "a control request in the middle of a message", 1)) return;
  bench.peer().send(one[1]);
  answered(bench, check, "a message with a control request in its middle", 0);
}

CONFORMANCE_CASE(packets_of_answers_join_no_request, "mctp.assembly.owner", roles::endpoint, needs(packets)) {
  auto packets = parts(bench, long_request(bench, 64), 5);
  MctpPacket foreign = packets[1];
  foreign.owner = false;
  foreign.payload.assign(8, 0xEE);
  send(bench, {packets[0], foreign, packets[1]});
  answered(bench, check, "a message with a packet of the same tag and the owner bit clear in its middle", 5);
}

CONFORMANCE_CASE(an_unfinished_message_is_given_up, "mctp.assembly.timeout", roles::endpoint, needs(packets), lasts{Duration::s(8)}) {
  // Several at once: none of them may stay because of another.
  std::vector<std::vector<MctpPacket>> begun;
  for (const std::uint8_t tag : octets<3, 5, 6>) begun.push_back(parts(bench, long_request(bench, 64, 0, tag == 3 ? 0 : 1), tag));
  for (const auto& packets : begun) bench.peer().send(packets[0]);
  bench.peer().wait_until_said();
  // Longer than any binding lets a message wait.
  bench.world().run_for(Duration::ms(6500));
  for (std::size_t at = 0; at < begun.size(); ++at) {
    bench.peer().send(begun[at][1]);
    silence(bench, check, fmt::format("answer to the end of message {} that came far too late", at));
  }
  send(bench, parts(bench, long_request(bench, 64), 0));
  answered(bench, check, "a message behind those that were never finished", 0);
  serves(bench, check, "a good message afterwards");
}

CONFORMANCE_CASE(unfinished_messages_use_nothing_up, "mctp.assembly.unfinished", roles::endpoint, needs(packets), lasts{Duration::s(8)}) {
  const Bytes body = long_request(bench, 64);
  for (unsigned at = 0; at < 96; ++at) {
    MctpPacket start = parts(bench, body, static_cast<std::uint8_t>(at & 7))[0];
    start.source = static_cast<mctp::Eid>(0x40 + at / 8);
    bench.peer().send(start);
  }
  bench.peer().wait_until_said();
  bench.world().run_for(Duration::ms(6500));
  bench.peer().forget();
  send(bench, parts(bench, body, 1));
  answered(bench, check, "a message behind many that were never finished", 1);
  serves(bench, check, "a control request afterwards");
}

CONFORMANCE_CASE(message_types_that_are_not_supported_are_ignored, "mctp.message.type", roles::endpoint, needs(packets)) {
  const auto& known = bench.declared().message_types;
  unsigned said = 0;
  for (unsigned type = 1; type < 128; ++type) {
    if (std::find(known.begin(), known.end(), type) != known.end() || type == mi::kNvmeMiType) continue;
    for (const Bytes& like : {kAnyRequest, long_request(bench, 64)}) {
      Bytes body = like;
      body[0] = static_cast<std::uint8_t>((body[0] & 0x80) | type);
      bench.peer().send_message(body, {.tag = static_cast<std::uint8_t>(type & 7)});
    }
    if (++said % 16 == 0 && !silence(bench, check, "answer to a message of a type that is not supported")) return;
  }
  silence(bench, check, "answer to a message of a type that is not supported");
  serves(bench, check, "a control request afterwards");
  bench.peer().send_message(long_request(bench, 64));
  answered(bench, check, "an NVMe-MI request afterwards");
}

CONFORMANCE_CASE(any_packets_are_survived, "mctp.packet.noise", roles::endpoint, needs(packets), sends_malformed) {
  Rng draw = bench.world().stream("case.noise");
  for (unsigned round = 0; round < 12; ++round) {
    for (unsigned at = 0; at < 16; ++at) {
      Bytes packet(1 + draw.below(68));
      draw.fill(packet);
      // What could be a good message of a type without a check is none: it might be answered, or give the
      // product another EID.
      const bool checked = packet.size() > 4 && (packet[4] & 0x7F) == mi::kNvmeMiType;
      if (packet.size() > 4 && !checked) packet[4] = 0x55;
      if (packet.size() > 4 && draw.chance(1, 2)) {
        packet[0] = 1;
        packet[1] = bench.eid();
      }
      bench.peer().send_bytes(packet);
    }
    bench.peer().wait_until_said();
    if (!silence(bench, check, "answer to noise")) return;
    if (!serves(bench, check, "a good message behind noise")) return;
  }
}

}  // namespace fb::conformance
