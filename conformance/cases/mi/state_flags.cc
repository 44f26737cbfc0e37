// The error flags of Get State: each is set by its cause, and stays until it is cleared.
#include "conformance/cases/mi/structures.h"
#include "wire/mctp/serial.h"
#include "wire/mctp/smbus.h"

namespace fb::conformance {
namespace {

namespace flag = mi::error_flag;

constexpr std::uint16_t kFlags = 0x7FF8;

/// What Get State says of either slot: which flags are a slot's own the revisions say differently.
std::uint16_t flags_of(EndpointBench& bench, Check& check, bool clear = false) {
  std::uint16_t flags = 0;
  for (const unsigned slot : {0u, 1u}) {
    const MiAnswer answer = bench.primitive(mi::Primitive::get_state, slot, clear ? 1 : 0);
    check.require(answer.ok(), "Get State is answered", answer.describe());
    flags = static_cast<std::uint16_t>(flags | (answer.cpsr() & kFlags));
  }
  return flags;
}
void clear_flags(EndpointBench& bench, Check& check) {
  flags_of(bench, check, true);
  check.precondition(flags_of(bench, check) == 0, "flags that are clear");
}

bool flag_is_set(EndpointBench& bench, Check& check, std::uint16_t bit, std::string_view name) {
  bench.world().run_for(Duration::ms(5));
  const std::uint16_t flags = flags_of(bench, check);
  return check.that((flags & bit) != 0, std::string(name) + " is set", "the flags are " + words(flags));
}

Bytes get_state_with_check() {
  Bytes message = primitive_message(static_cast<std::uint8_t>(mi::Primitive::get_state));
  mi::append_mic(message);
  return message;
}
MctpPacket get_state_packet(EndpointBench& bench) { return bench.peer().packet(get_state_with_check()); }

/// A packet in the middle of a message that has not begun.
MctpPacket stray(EndpointBench& bench, bool last) {
  MctpPacket packet = bench.peer().packet(Bytes(mctp::kBaselineUnit, 0x5A));
  packet.som = false;
  packet.eom = last;
  packet.tag = 3;
  return packet;
}

/// A long message of any content, in packets of that size.
std::vector<MctpPacket> parts(EndpointBench& bench, std::size_t unit = mctp::kBaselineUnit) {
  Bytes message = mi_message(0);
  message.resize(4 * unit - mi::kMicSize);
  mi::append_mic(message);
  MctpPacket like = bench.peer().packet();
  like.tag = 2;
  return cut(message, like, unit);
}

void send_damaged_frame(EndpointBench& bench) {
  const Bytes packet = to_bytes(get_state_packet(bench));
  Bytes frame;
  if (bench.medium() == "serial") {
    mctp::serial::encode(frame, packet);
    frame[frame.size() - 2] ^= 0x01;  // of the FCS
  } else {
    mctp::smbus::encode(frame, bench.address().bytes[0], bench_address_on(bench.medium()).bytes[0], packet);
    frame.back() ^= 0x01;  // the PEC
  }
  bench.peer().send_frame(std::move(frame));
}

std::optional<std::string> units_of_128(const Declared& declared) {
  if (declared.endpoint.unit_max() >= 2 * mctp::kBaselineUnit) return std::nullopt;
  return "MMTUS is below 128";
}

}  // namespace

CONFORMANCE_CASE(a_stray_packet_sets_umep, "mi.state.umep", roles::endpoint, needs(packets), sends_malformed) {
  for (const bool last : {false, true}) {
    clear_flags(bench, check);
    bench.peer().send(stray(bench, last));
    flag_is_set(bench, check, flag::umep, last ? "UMEP after an end without a beginning" : "UMEP after a stray middle");
  }
  serves(bench, check, "a command afterwards");
}

CONFORMANCE_CASE(a_gap_in_a_message_sets_ospsn, "mi.state.ospsn", roles::endpoint, needs(packets), sends_malformed) {
  for (const auto sequence : std::initializer_list<std::uint8_t>{0, 2, 3}) {
    clear_flags(bench, check);
    auto packets = parts(bench);
    packets[1].sequence = sequence;
    bench.peer().send(packets[0]);
    bench.peer().send(packets[1]);
    flag_is_set(bench, check, flag::ospsn, "OSPSN after sequence " + words(sequence) + " behind 0");
  }
  serves(bench, check, "a command afterwards");
}

CONFORMANCE_CASE(another_header_version_sets_bhvs, "mi.state.bhvs", roles::endpoint, needs(packets), sends_malformed) {
  for (const auto version : std::initializer_list<std::uint8_t>{0, 2, 15}) {
    clear_flags(bench, check);
    MctpPacket packet = get_state_packet(bench);
    packet.version = version;
    bench.peer().send(packet);
    flag_is_set(bench, check, flag::bhvs, "BHVS after header version " + words(version));
  }
}

CONFORMANCE_CASE(an_unknown_destination_sets_udstid, "mi.state.udstid", roles::endpoint, needs(packets)) {
  for (const auto eid : std::initializer_list<mctp::Eid>{0x55, 0xFE}) {
    clear_flags(bench, check);
    MctpPacket packet = get_state_packet(bench);
    packet.destination = eid;
    bench.peer().send(packet);
    flag_is_set(bench, check, flag::udstid, "UDSTID after a packet for EID " + words(eid));
  }
}

CONFORMANCE_CASE(an_unexpected_tag_sets_buemt, "mi.state.buemt", roles::endpoint, needs(packets), sends_malformed) {
  for (const auto tag : std::initializer_list<std::uint8_t>{0, 7}) {
    clear_flags(bench, check);
    MctpPacket packet = get_state_packet(bench);
    packet.owner = false;
    packet.tag = tag;
    bench.peer().send(packet);
    flag_is_set(bench, check, flag::buemt, "BUEMT after an answer to nothing, tag " + words(tag));
  }
}

CONFORMANCE_CASE(a_unit_above_the_agreed_one_sets_utunt, "mi.state.utunt", roles::endpoint, needs(packets), sends_malformed) {
  clear_flags(bench, check);
  bench.peer().send(parts(bench, mctp::kBaselineUnit + 16)[0]);
  flag_is_set(bench, check, flag::utunt, "UTUNT after a packet of 80 bytes");
  serves(bench, check, "a command afterwards");
}

CONFORMANCE_CASE(another_unit_within_a_message_sets_itu, "mi.state.itu", roles::endpoint, needs(packets), needs(units_of_128),
                 sends_malformed) {
  const std::uint32_t id = static_cast<std::uint32_t>(mi::ConfigurationId::transmission_unit) | std::uint32_t{bench.port()} << 24;
  constexpr std::uint32_t kUnit = 2 * mctp::kBaselineUnit;
  precondition(check, bench.command(mi::Opcode::configuration_set, id, kUnit), "a unit of 128 bytes");
  clear_flags(bench, check);
  auto packets = parts(bench, kUnit);
  packets[1].payload.resize(mctp::kBaselineUnit);
  bench.peer().send(packets[0]);
  bench.peer().send(packets[1]);
  flag_is_set(bench, check, flag::itu, "ITU after packets of 128 and 64 bytes");
  serves(bench, check, "a command afterwards");
}

CONFORMANCE_CASE(a_damaged_frame_sets_bpopl, "mi.state.bpopl", roles::endpoint, needs(frames), transports{"smbus", "serial"},
                 sends_malformed) {
  clear_flags(bench, check);
  send_damaged_frame(bench);
  flag_is_set(bench, check, flag::bpopl, "BPOPL after a frame with a wrong check");
  serves(bench, check, "a command afterwards");
}

CONFORMANCE_CASE(a_wrong_integrity_check_sets_bmice, "mi.state.bmice", roles::endpoint, sends_malformed) {
  for (const bool of_command : {true, false}) {
    clear_flags(bench, check);
    Bytes message = of_command ? mi_message(0) : primitive_message(static_cast<std::uint8_t>(mi::Primitive::get_state));
    mi::append_mic(message);
    message.back() ^= 0x40;
    bench.messages().send_message(message, {.tag = 3});
    flag_is_set(bench, check, flag::bmice, of_command ? "BMICE after a command" : "BMICE after a primitive");
  }
}

CONFORMANCE_CASE(good_traffic_sets_no_flag, "mi.state.flags.none", roles::endpoint) {
  clear_flags(bench, check);
  for (const unsigned slot : {0u, 1u}) {
    serves(bench, check, "a command", slot);
    bench.request(mi_message(0x5A, 0, 0, {}, {.slot = slot}));
    bench.request(vpd_request({.slot = slot}), {.slot = slot});
    bench.primitive(mi::Primitive::abort, slot);
    bench.primitive(mi::Primitive::replay, slot);
  }
  if (bench.declared().control) bench.control(mctp::control::Command::get_endpoint_id);
  check.equal("flags after messages without a fault", flags_of(bench, check), 0);
}

CONFORMANCE_CASE(flags_stay_until_they_are_cleared, "mi.state.flags.stay", roles::endpoint, sends_malformed) {
  clear_flags(bench, check);
  Bytes message = mi_message(0);
  message.resize(message.size() + mi::kMicSize, 0x5A);
  bench.messages().send_message(message, {.tag = 3});
  bench.world().run_for(Duration::ms(5));
  for (unsigned i = 0; i < 3; ++i) {
    if (!check.that((flags_of(bench, check) & flag::bmice) != 0, "BMICE stays while CESF is clear", "it has gone")) return;
    serves(bench, check, "a command in between", i % 2);
  }
}

CONFORMANCE_CASE(cesf_tells_the_flags_and_clears_them, "mi.state.flags.clear", roles::endpoint, sends_malformed) {
  clear_flags(bench, check);
  Bytes message = mi_message(0);
  message.resize(message.size() + mi::kMicSize, 0x5A);
  bench.messages().send_message(message, {.tag = 3});
  bench.world().run_for(Duration::ms(5));
  check.that((flags_of(bench, check, true) & flag::bmice) != 0, "Get State with CESF tells BMICE before it is cleared", "it does not");
  check.equal("flags after CESF", flags_of(bench, check), 0);
}

CONFORMANCE_CASE(cesf_clears_every_flag, "mi.state.flags.clear.all", roles::endpoint, needs(packets), sends_malformed) {
  clear_flags(bench, check);
  bench.peer().send(stray(bench, true));
  MctpPacket packet = get_state_packet(bench);
  packet.version = 2;
  bench.peer().send(packet);
  packet.version = 1;
  packet.destination = 0x55;
  bench.peer().send(packet);
  packet = get_state_packet(bench);
  packet.owner = false;
  bench.peer().send(packet);
  bench.peer().send(parts(bench, mctp::kBaselineUnit + 16)[0]);
  Bytes message = mi_message(0);
  message.resize(message.size() + mi::kMicSize, 0x5A);
  bench.messages().send_message(message, {.tag = 3});
  bench.world().run_for(Duration::ms(20));
  constexpr std::uint16_t kCaused = flag::umep | flag::bhvs | flag::udstid | flag::buemt | flag::utunt | flag::bmice;
  check.equal("flags, of those that were caused", flags_of(bench, check, true) & kCaused, kCaused);
  check.equal("flags after CESF", flags_of(bench, check), 0);
}

}  // namespace fb::conformance
