// What happens to one message, or to a packet that is dropped, is nothing to the other messages that come in.
#include <fmt/format.h>

#include "conformance/cases/mctp/exchange.h"

namespace fb::conformance {
namespace {

constexpr std::uint8_t kTag = 3, kOtherTag = 6;
constexpr mctp::Eid kNobody = 0x55, kStranger = 0x21;

/// A request of three packets.
std::vector<MctpPacket> three_packets(EndpointBench& bench, std::uint8_t tag, unsigned slot) {
  MctpPacket like = bench.peer().packet();
  like.tag = tag;
  return cut(long_request(bench, 64, 64, slot), like);
}

/// A message comes, and is the answer to that tag.
bool answered(EndpointBench& bench, Check& check, std::uint8_t tag, const std::string& what) {
  bench.peer().wait_until_said();
  const auto answer = bench.peer().next_message(Duration::s(2));
  if (!check.that(answer.has_value(), what + " is answered", "no answer")) return false;
  return check.equal("tag of the answer to " + what, answer->tag, tag);
}

struct Dropped {
  std::string what;
  MctpPacket packet;
};
/// Packets that an endpoint drops, each of them fit to go between two packets of a message with kTag.
std::vector<Dropped> dropped(EndpointBench& bench, const MctpPacket& next) {
  std::vector<Dropped> all;
  const auto like_next = [&](std::string what, auto&& change) {
    MctpPacket packet = next;
    change(packet);
    all.push_back({std::move(what), std::move(packet)});
  };
  like_next("another header version", [](MctpPacket& packet) { packet.version = 2; });
  like_next("another destination", [](MctpPacket& packet) { packet.destination = kNobody; });
  like_next("another source, and no start", [](MctpPacket& packet) { packet.source = kStranger; });
  like_next("another tag, and no start", [](MctpPacket& packet) { packet.tag = kOtherTag; });
  like_next("no tag owner bit", [](MctpPacket& packet) { packet.owner = false; });
  const auto alone = [&](std::string what, Bytes payload) {
    MctpPacket packet = bench.peer().packet(std::move(payload));
    packet.tag = kOtherTag;
    all.push_back({std::move(what), std::move(packet)});
    return &all.back().packet;
  };
  alone("a message type that nobody supports", Bytes{0x55, 0x00, 0x00, 0x00});
  alone("more than the transmission unit", long_request(bench, 64))->eom = true;
  MctpPacket* const response = alone("a response that nobody waits for", kAnyRequest);
  response->owner = false;
  response->tag = kTag;
  return all;
}

}  // namespace

CONFORMANCE_CASE(dropped_packets_end_no_message, "mctp.assembly.owner", roles::endpoint, needs(packets), sends_malformed) {
  const std::size_t kinds = dropped(bench, three_packets(bench, kTag, 0)[1]).size();
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    for (const std::size_t behind : {std::size_t{0}, std::size_t{1}}) {
      const auto packets = three_packets(bench, kTag, static_cast<unsigned>(kind % 2));
      const Dropped between = dropped(bench, packets[behind + 1])[kind];
      for (std::size_t at = 0; at < packets.size(); ++at) {
        bench.peer().send(packets[at]);
        if (at == behind) bench.peer().send(between.packet);
      }
      const std::string what = fmt::format("a message with a packet of {} behind its packet {}", between.what, behind);
      if (!answered(bench, check, kTag, what)) return;
    }
  }
  silence(bench, check, "further answer");
  serves(bench, check, "a good message afterwards");
}

CONFORMANCE_CASE(a_message_that_is_given_up_takes_no_other_with_it, "mctp.assembly.tags", roles::endpoint, needs(packets),
                 sends_malformed) {
  // Of the first message the packet in the middle is wrong; the second comes in beside it.
  struct Wrong {
    std::string what;
    MctpPacket packet;
  };
  for (const bool first_begins : {true, false}) {
    const auto spoiled = three_packets(bench, kTag, 0);
    std::vector<Wrong> wrongs;
    for (const unsigned sequence : {0u, 2u, 3u}) {
      MctpPacket packet = spoiled[1];
      packet.sequence = static_cast<std::uint8_t>(sequence);
      wrongs.push_back({fmt::format("sequence number {} behind 0", sequence), std::move(packet)});
    }
    MctpPacket restart = bench.peer().packet(kAnyRequest);
    restart.tag = kTag;
    wrongs.push_back({"a new start", std::move(restart)});
    for (const Wrong& wrong : wrongs) {
      const auto good = three_packets(bench, kOtherTag, 1);
      bench.peer().send(first_begins ? spoiled[0] : good[0]);
      bench.peer().send(first_begins ? good[0] : spoiled[0]);
      bench.peer().send(good[1]);
      bench.peer().send(wrong.packet);
      const std::string beside = " beside one that ends with " + wrong.what;
      if (wrong.packet.som && !answered(bench, check, kTag, "the message that begins anew")) return;
      bench.peer().send(good[2]);
      if (!answered(bench, check, kOtherTag, "a message" + beside)) return;
      bench.peer().send(spoiled[2]);
      if (!silence(bench, check, "answer to the end of a message that was given up")) return;
    }
  }
  serves(bench, check, "a good message afterwards");
}

}  // namespace fb::conformance
