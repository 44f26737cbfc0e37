// Single packets: their header, both ways, and what a packet may hold.
#include <fmt/format.h>

#include "conformance/cases/mctp/exchange.h"

namespace fb::conformance {
namespace {

/// Sends what `make` says of a good request for each of the values, and holds that nothing comes.
template <class Values, class Make>
void nothing_for_each(EndpointBench& bench, Check& check, const Values& values, Make&& make, std::string_view what) {
  unsigned said = 0;
  for (const auto value : values) {
    MctpPacket packet = bench.peer().packet(kAnyRequest);
    make(packet, value);
    bench.peer().send(packet);
    if (++said % 32 == 0 && !silence(bench, check, what)) return;
  }
  silence(bench, check, what);
}

std::vector<std::uint8_t> numbers(unsigned first, unsigned last) {
  std::vector<std::uint8_t> made;
  for (unsigned value = first; value <= last; ++value) made.push_back(static_cast<std::uint8_t>(value));
  return made;
}

/// A short answer and a long one.
std::vector<SeenPacket> short_and_long(EndpointBench& bench, Check& check) {
  std::vector<SeenPacket> seen = packets_of_answer(bench, check, kAnyRequest, 1);
  const auto more = packets_of_answer(bench, check, long_request(bench), 2);
  seen.insert(seen.end(), more.begin(), more.end());
  return seen;
}

}  // namespace

CONFORMANCE_CASE(every_packet_has_header_version_1, "mctp.packet.version", roles::endpoint, needs(packets), as_found) {
  for (const SeenPacket& seen : short_and_long(bench, check)) {
    check.equal("header version of a " + seen.describe(), seen.packet.version, 1);
  }
}

CONFORMANCE_CASE(reserved_bits_of_packets_are_zero, "mctp.packet.reserved", roles::endpoint, needs(packets), as_found) {
  for (const SeenPacket& seen : short_and_long(bench, check)) {
    check.equal("bits 7 to 4 of byte 0 of a " + seen.describe(), seen.packet.reserved, 0);
  }
}

CONFORMANCE_CASE(packets_of_other_header_versions_are_dropped, "mctp.packet.version-checked", roles::endpoint, needs(packets),
                 sends_malformed) {
  std::vector<std::uint8_t> versions = numbers(2, 15);
  versions.insert(versions.begin(), 0);
  nothing_for_each(
      bench, check, versions, [](MctpPacket& packet, std::uint8_t version) { packet.version = version; },
      "answer to a packet of another header version");
  serves(bench, check, "a good packet afterwards");
}

CONFORMANCE_CASE(reserved_bits_of_requests_do_not_matter, "mctp.packet.reserved-ignored", roles::endpoint, needs(packets),
                 sends_malformed) {
  for (const std::uint8_t bits : numbers(1, 15)) {
    MctpPacket packet = bench.peer().packet(kAnyRequest);
    packet.reserved = bits;
    bench.peer().send(packet);
    const auto answer = bench.peer().next_message(Duration::s(1));
    check.that(answer.has_value(), fmt::format("a request with reserved bits {:X}h is answered", bits), "no answer");
  }
}

CONFORMANCE_CASE(packets_to_other_eids_are_dropped, "mctp.packet.destination", roles::endpoint, needs(packets)) {
  std::vector<std::uint8_t> others = numbers(0x01, 0xFE);
  std::erase(others, bench.eid());
  nothing_for_each(
      bench, check, others, [](MctpPacket& packet, std::uint8_t eid) { packet.destination = eid; }, "answer to a packet for another EID");
  serves(bench, check, "a packet to its own EID afterwards");
}

CONFORMANCE_CASE(the_null_eid_reaches_a_physical_address, "mctp.packet.null-destination", roles::endpoint, needs(packets), as_found) {
  bench.peer().set_product(mctp::kNullEid, bench.address());
  for (const std::uint8_t instance : octets<0, 1, 2>) {
    const ControlAnswer answer = bench.control(Command::get_endpoint_id, {}, {.instance = instance});
    if (!completion_is(check, answer, Completion::success, "a request to EID 0")) return;
    check.require(!answer.data().empty(), "Get Endpoint ID says an EID", answer.describe());
    check.equal("source EID of the answer to EID 0", answer.message->source, answer.data()[0]);
    check.equal("destination EID of the answer to EID 0", answer.message->destination, bench.peer().eid());
  }
}

CONFORMANCE_CASE(the_assigned_eid_is_served, "mctp.packet.own-eid", roles::endpoint, needs(packets)) {
  for (const mctp::Eid eid : octets<0x08, 0x7F, 0x80, 0xFE, 0x09>) {
    bench.assign(eid);
    const ControlAnswer answer = bench.control(Command::get_endpoint_id, {}, {.destination = eid});
    if (!completion_is(check, answer, Completion::success, fmt::format("a request to EID {}", eid))) continue;
    check.equal("source EID of the answer", answer.message->source, eid);
    check.equal("destination EID of the answer", answer.message->destination, bench.peer().eid());
  }
}

CONFORMANCE_CASE(the_former_eid_is_no_longer_served, "mctp.packet.former-eid", roles::endpoint, needs(packets)) {
  bench.assign(0x31);
  bench.assign(0x32);
  for (const mctp::Eid eid : {kProductEid, mctp::Eid{0x31}}) {
    MctpPacket packet = bench.peer().packet(kAnyRequest);
    packet.destination = eid;
    bench.peer().send(packet);
    silence(bench, check, fmt::format("answer to a packet for its former EID {}", eid));
  }
  serves(bench, check, "a packet to its new EID");
}

CONFORMANCE_CASE(who_has_no_eid_is_answered_at_its_address, "mctp.packet.null-source", roles::endpoint, needs(packets)) {
  MctpPacket packet = bench.peer().packet(kAnyRequest);
  packet.source = mctp::kNullEid;
  bench.peer().send(packet);
  const auto answer = bench.peer().next_message(Duration::s(1));
  check.require(answer.has_value(), "a request from EID 0 is answered", "no answer");
  check.equal("destination EID of the answer", answer->destination, mctp::kNullEid);
  check.equal("source EID of the answer", answer->source, bench.eid());
  serves(bench, check, "a request from an EID afterwards");
}

CONFORMANCE_CASE(packets_without_a_message_are_ignored, "mctp.packet.short", roles::endpoint, needs(packets), transports{"smbus", "serial"},
                 sends_malformed) {
  for (const std::size_t size : {4u, 3u, 2u, 1u}) {
    // What is missing is what the good packet before it had in its place.
    serves(bench, check, "a good packet before a short one");
    Bytes packet = to_bytes(bench.peer().packet(kAnyRequest));
    packet.resize(size);
    bench.peer().send_bytes(packet);
    silence(bench, check, fmt::format("answer to a packet of {} bytes", size));
  }
  serves(bench, check, "a good packet afterwards");
}

CONFORMANCE_CASE(packets_of_every_size_up_to_64_are_taken, "mctp.packet.unit.baseline", roles::endpoint, needs(packets)) {
  // Two packets of 64 and 8 bytes; of 64 and 64; single ones from 3 bytes on.
  for (const std::size_t more : {0u, 4u, 32u, 52u, 56u}) {
    bench.peer().send_message(long_request(bench, 64, more), {});
    const auto answer = bench.peer().next_message(Duration::s(1));
    check.that(answer.has_value(), fmt::format("a message of 64 and {} bytes is answered", 8 + more), "no answer");
  }
  for (std::size_t size = 0; size <= 61; ++size) {
    const Bytes data(size);
    bench.peer().send_message(control_message(0xEF, data), {});
    const auto answer = bench.peer().next_message(Duration::s(1));
    check.that(answer.has_value(), fmt::format("a packet of {} bytes is answered", 3 + size), "no answer");
  }
}

CONFORMANCE_CASE(packets_above_the_unit_are_dropped, "mctp.packet.unit.above", roles::endpoint, needs(packets)) {
  for (const std::size_t more : {0u, 4u, 56u}) {
    MctpPacket packet = bench.peer().packet(long_request(bench, 64, more));
    bench.peer().send(packet);
    silence(bench, check, fmt::format("answer to a packet of {} bytes while 64 are agreed", 72 + more));
  }
  // One that is refused as well if it is read: of a command that is unknown, from one byte too many on.
  for (const std::size_t size : {65u, 66u, 68u, 72u, 128u}) {
    const Bytes data(size - mctp::control::kRequestHeader);
    bench.peer().send(bench.peer().packet(control_message(0xEF, data)));
    silence(bench, check, fmt::format("answer to a packet of {} bytes while 64 are agreed", size));
  }
  // A control message may be dropped for its own length too; one of NVMe-MI is answered, if it is read, with an error.
  for (const std::size_t size : {65u, 66u, 68u}) {
    Bytes body = mi_message(0, 0, 0);
    body.resize(size - mi::kMicSize);
    mi::append_mic(body);
    bench.peer().send(bench.peer().packet(body));
    silence(bench, check, fmt::format("answer to an NVMe-MI packet of {} bytes while 64 are agreed", size));
  }
  serves(bench, check, "a packet of an agreed size afterwards");
}

CONFORMANCE_CASE(parts_below_64_bytes_are_no_message, "mctp.packet.unit.below", roles::endpoint, needs(packets), sends_malformed) {
  for (const std::size_t unit : {63u, 62u, 61u, 60u, 36u, 4u}) {
    if (unit % 4 != 0 && bench.medium() == "pcie") continue;  // only the last packet may be padded
    bench.peer().send_message(long_request(bench, 64), {.unit = unit});
    silence(bench, check, fmt::format("answer to a message in parts of {} bytes", unit));
  }
  serves(bench, check, "a good message afterwards");
}

CONFORMANCE_CASE(messages_are_cut_into_equal_parts, "mctp.packet.unit.sent", roles::endpoint, needs(packets)) {
  for (const std::uint32_t dlen : {512u, 256u, 128u, 40u}) {
    const auto seen = packets_of_answer(bench, check, long_request(bench, dlen), 1);
    const std::size_t unit = seen.front().packet.payload.size();
    const std::size_t whole = 20 + dlen + 4;
    std::size_t sum = 0;
    for (std::size_t at = 0; at < seen.size(); ++at) {
      const std::size_t size = seen[at].packet.payload.size();
      sum += size;
      if (at + 1 < seen.size()) {
        check.equal("payload of a packet that is not the last", size, mctp::kBaselineUnit);
      } else {
        check.between("payload of the last packet", size, std::size_t{1}, std::max(unit, std::size_t{1}));
      }
    }
    check.equal("bytes of all packets of the answer", sum, whole);
  }
}

CONFORMANCE_CASE(numbers_of_packets_go_up_by_one, "mctp.packet.sequence", roles::endpoint, needs(packets)) {
  const auto seen = packets_of_answer(bench, check, long_request(bench), 6);
  for (std::size_t at = 1; at < seen.size(); ++at) {
    check.equal(fmt::format("sequence number of packet {}, behind {}", at, seen[at - 1].packet.sequence), seen[at].packet.sequence,
                (seen[at - 1].packet.sequence + 1) & 3);
  }
}

CONFORMANCE_CASE(the_first_packet_says_som_and_the_last_eom, "mctp.packet.start-end", roles::endpoint, needs(packets), as_found) {
  for (const Bytes& request : {kAnyRequest, long_request(bench)}) {
    // An answer of an odd length without EOM has no place on PCI Express; the long one is seen everywhere.
    const auto seen = packets_of_answer(bench, check, request, request.size() > 64 ? 1 : 0);
    for (std::size_t at = 0; at < seen.size(); ++at) {
      check.equal(fmt::format("SOM of packet {}", at), seen[at].packet.som, at == 0);
      check.equal(fmt::format("EOM of packet {} of {}", at, seen.size()), seen[at].packet.eom, at + 1 == seen.size());
    }
  }
}

}  // namespace fb::conformance
