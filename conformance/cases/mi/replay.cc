// Replay: which answer is sent again, from which packet on, and when there is nothing to send.
#include "conformance/cases/mi/commands.h"
#include "conformance/cases/mi/long_answer.h"

namespace fb::conformance {
namespace {

using mi::Primitive;

constexpr std::uint8_t kReplayTag = 5;

struct Replayed {
  MiAnswer primitive;
  std::optional<SeenMessage> message;
};

/// Replay, and the message that it brings about, if any.
Replayed replay(EndpointBench& bench, unsigned slot, std::uint16_t offset, std::uint8_t tag = kReplayTag) {
  Replayed made{.primitive = bench.primitive(Primitive::replay, slot, offset, 0x66, {.tag = tag}), .message = {}};
  made.message = bench.messages().next_message(Duration::s(1));
  return made;
}

bool promised(Check& check, const Replayed& replayed, std::string_view what) {
  if (!success(check, replayed.primitive, what)) return false;
  check.equal("kind of the first message after " + std::string(what), replayed.primitive.body[1] & 0x78, 0);
  check.equal("RR of " + std::string(what), replayed.primitive.cpsr() & 1u, 1u);
  return check.that(replayed.message.has_value(), std::string(what) + " brings an answer again", "none came");
}

bool nothing_again(Check& check, const Replayed& replayed, std::string_view what) {
  if (!success(check, replayed.primitive, what)) return false;
  check.equal("RR of " + std::string(what), replayed.primitive.cpsr() & 1u, 0u);
  return check.that(!replayed.message.has_value(), std::string(what) + " brings no answer", "a message came");
}

/// A good answer of five packets.
SeenMessage five_packets(EndpointBench& bench, Check& check, unsigned slot, std::uint8_t tag = 2) {
  const MiTerms terms{.slot = slot, .tag = tag};
  const MiAnswer answer = bench.request(vpd_request(terms), terms);
  precondition(check, answer, "VPD Read");
  check.precondition(answer.message->packets.size() >= 5, "an answer of five packets");
  return *answer.message;
}

/// What packets from `first` on hold.
Bytes from_packet(const SeenMessage& message, std::size_t first) {
  Bytes rest;
  for (std::size_t i = first; i < message.packets.size(); ++i) {
    const Bytes& payload = message.packets[i].packet.payload;
    rest.insert(rest.end(), payload.begin(), payload.end());
  }
  return rest;
}

}  // namespace

CONFORMANCE_CASE(replay_sends_the_last_answer_again, "mi.replay.whole", roles::endpoint, needs(packets)) {
  for (const unsigned slot : {0u, 1u}) {
    const SeenMessage first = five_packets(bench, check, slot);
    for (int i = 0; i < 2; ++i) {
      const Replayed again = replay(bench, slot, 0);
      if (!promised(check, again, "Replay")) return;
      check.bytes("the answer that was sent again", again.message->body, first.body);
      check.equal("its packets", again.message->packets.size(), first.packets.size());
    }
    bench.step("The answer of one packet");
    const MiAnswer small = bench.command(mi::Opcode::subsystem_health_poll, 0, 0, {}, {.slot = slot, .tag = 3});
    precondition(check, small, "the subsystem's health");
    const Replayed again = replay(bench, slot, 0);
    if (promised(check, again, "Replay of an answer of one packet")) {
      check.bytes("the answer that was sent again", again.message->body, small.message->body);
    }
    serves(bench, check, "a command afterwards", slot);
  }
}

CONFORMANCE_CASE(an_error_is_an_answer_to_be_replayed, "mi.replay.error", roles::endpoint, needs(packets)) {
  for (const unsigned slot : {0u, 1u}) {
    five_packets(bench, check, slot);
    const MiAnswer error = bench.request(mi_message(0x5A, 0, 0, {}, {.slot = slot}), {.slot = slot, .tag = 3});
    check.precondition(error.answered(), "an answer to a reserved opcode");
    const Replayed again = replay(bench, slot, 0);
    if (promised(check, again, "Replay of an error")) {
      check.bytes("the error that was sent again", again.message->body, error.message->body);
    }
  }
}

CONFORMANCE_CASE(replay_begins_at_the_packet_that_is_asked_for, "mi.replay.offset", roles::endpoint, needs(packets)) {
  for (const unsigned slot : {0u, 1u}) {
    const SeenMessage first = five_packets(bench, check, slot);
    for (std::size_t offset = 1; offset < first.packets.size(); ++offset) {
      const std::string what = "Replay from packet " + std::to_string(offset);
      const Replayed again = replay(bench, slot, static_cast<std::uint16_t>(offset));
      if (!promised(check, again, what)) return;
      check.equal("packets of " + what, again.message->packets.size(), first.packets.size() - offset);
      // What the message begins with is looked at elsewhere.
      const Bytes expected = from_packet(first, offset);
      const Bytes& body = again.message->body;
      check.that(body.size() >= expected.size() && std::equal(expected.rbegin(), expected.rend(), body.rbegin()),
                 what + " ends with what packets from that one on had", words(body.size()) + " bytes: " + words(body));
    }
  }
}

CONFORMANCE_CASE(replay_counts_packets_of_larger_units, "mi.replay.offset", roles::endpoint, needs(packets), needs(larger_units)) {
  const unsigned largest = bench.declared().port_info(bench.port()).get(mi::port_info::mmtus);
  const std::uint16_t cntlid = controllers_of(bench).front();
  for (const unsigned unit : {largest, std::min(96u, largest), std::min(128u, largest)}) {
    precondition(check, configure(bench, mi::ConfigurationId::transmission_unit, port_bits(bench.port()), unit), "Set of the unit");
    for (const unsigned slot : {0u, 1u}) {
      const MiTerms terms{.slot = slot, .tag = 2};
      const MiAnswer answer = bench.request(long_request(cntlid, terms), terms);
      precondition(check, answer, "Identify Controller");
      const SeenMessage first = *answer.message;
      const std::size_t count = first.packets.size();
      check.precondition(count > 3, "an answer of several packets");
      for (const std::size_t offset : std::initializer_list<std::size_t>{1, 2, count / 2, count - 1}) {
        const std::string what = fmt::format("Replay from packet {} at {} bytes", offset, unit);
        const Replayed again = replay(bench, slot, static_cast<std::uint16_t>(offset));
        if (!promised(check, again, what)) return;
        const Bytes expected = from_packet(first, offset);
        const Bytes& body = again.message->body;
        check.that(body.size() >= expected.size() && std::equal(expected.rbegin(), expected.rend(), body.rbegin()),
                   what + " ends with what packets from that one on had", words(body.size()) + " bytes");
        // With the message header before it, and nothing else.
        check.that(body.size() <= expected.size() + mi::kHeaderSize, what + " has nothing before that but a header", words(body.size()));
      }
    }
  }
}

CONFORMANCE_CASE(a_replay_begins_with_the_message_header, "mi.replay.header", roles::endpoint, needs(packets)) {
  for (const unsigned slot : {0u, 1u}) {
    const SeenMessage first = five_packets(bench, check, slot);
    for (std::size_t offset = 0; offset < first.packets.size(); ++offset) {
      const std::string what = "Replay from packet " + std::to_string(offset);
      const std::size_t heard = bench.peer().packets().size();
      const MiAnswer primitive = bench.primitive(Primitive::replay, slot, static_cast<std::uint16_t>(offset), 0x66, {.tag = kReplayTag});
      if (!success(check, primitive, what)) return;
      bench.world().run_for(Duration::ms(300));
      const auto& packets = bench.peer().packets();
      check.require(packets.size() > heard + 1, what + " brings packets", "none came");
      const MctpPacket& begin = packets[heard + 1].packet;
      check.equal("SOM of the first packet of " + what, begin.som, true);
      check.require(begin.payload.size() >= mi::kHeaderSize, "the first packet holds a header", packets[heard + 1].describe());
      check.bytes("message header at the beginning of " + what, ByteView{begin.payload}.first(mi::kHeaderSize),
                  ByteView{first.body}.first(mi::kHeaderSize));
      bench.peer().forget();
    }
  }
}

CONFORMANCE_CASE(replayed_packets_carry_the_tag_of_the_replay, "mi.replay.tag", roles::endpoint, needs(packets)) {
  for (std::uint8_t tag = 0; tag < 8; ++tag) {
    five_packets(bench, check, tag % 2u, static_cast<std::uint8_t>((tag + 1) & 7));
    for (const std::uint16_t offset : {std::uint16_t{0}, std::uint16_t{2}}) {
      const std::size_t heard = bench.peer().packets().size();
      const Replayed again = replay(bench, tag % 2u, offset, tag);
      if (!success(check, again.primitive, "Replay with tag " + words(tag))) return;
      const auto& packets = bench.peer().packets();
      check.require(packets.size() > heard + 1, "Replay brings packets", "none came");
      for (std::size_t i = heard; i < packets.size(); ++i) {
        check.that(packets[i].packet.tag == tag && !packets[i].packet.owner,
                   "packets of Replay carry its tag " + words(tag) + ", and TO is clear", packets[i].describe());
      }
    }
  }
}

CONFORMANCE_CASE(after_abort_there_is_nothing_to_replay, "mi.replay.nothing", roles::endpoint, needs(packets), sends_malformed) {
  for (const unsigned slot : {0u, 1u}) {
    five_packets(bench, check, slot);
    precondition(check, bench.primitive(Primitive::abort, slot), "Abort");
    nothing_again(check, replay(bench, slot, 0), "Replay after Abort");
    nothing_again(check, replay(bench, slot, 1), "Replay from packet 1 after Abort");
    serves(bench, check, "a command afterwards", slot);
  }
  bench.step("While a command comes in");
  five_packets(bench, check, 0);
  MctpPacket begin = bench.peer().packet(mi_message(0));
  begin.payload.resize(mctp::kBaselineUnit);
  begin.eom = false;
  bench.peer().send(begin);
  nothing_again(check, replay(bench, 0, 0), "Replay while a command comes in");
}

CONFORMANCE_CASE(a_command_that_lasts_replays_what_it_has_said, "mi.replay.process", roles::endpoint, needs(revision_1_2), needs(packets),
                 arranged("a VPD Read that takes 600 ms", &slow_vpd<600>)) {
  for (const unsigned slot : {0u, 1u}) {
    const MiTerms terms{.slot = slot, .tag = 1};
    bench.say(vpd_request(terms, 16), terms);
    bench.world().run_for(Duration::ms(20));
    const MiAnswer before = bench.primitive(Primitive::replay, slot, 0, 0x66, {.tag = kReplayTag});
    success(check, before, "Replay before there was an answer");
    check.equal("RR before there was an answer", before.cpsr() & 1u, 0u);
    const auto more = bench.messages().next_message(Duration::ms(200));
    check.precondition(more.has_value() && more->tag == terms.tag, "More Processing Required");
    const MiAnswer after = bench.primitive(Primitive::replay, slot, 0, 0x66, {.tag = kReplayTag});
    success(check, after, "Replay of More Processing Required");
    check.equal("RR behind More Processing Required", after.cpsr() & 1u, 1u);
    const auto again = bench.messages().next_message(Duration::ms(200));
    const bool asked = again.has_value() && again->tag == kReplayTag && again->body.size() > 4 &&
                       again->body[4] == static_cast<std::uint8_t>(mi::Status::more_processing);
    check.that(asked, "More Processing Required comes again, with the tag of Replay", again ? mi::describe(again->body) : "nothing came");
    success(check, bench.answer(terms), "VPD Read, with the tag of its request");
    serves(bench, check, "a command afterwards", slot);
  }
}

CONFORMANCE_CASE(replay_beyond_the_last_packet_is_refused, "mi.replay.range", roles::endpoint, needs(packets)) {
  for (const unsigned slot : {0u, 1u}) {
    const SeenMessage first = five_packets(bench, check, slot);
    for (const std::size_t offset : {first.packets.size(), first.packets.size() + 1, std::size_t{0xFF}}) {
      const Replayed again = replay(bench, slot, static_cast<std::uint16_t>(offset));
      status_is(check, again.primitive, mi::Status::invalid_parameter, "Replay from packet " + words(offset) + " of five");
      check.that(!again.message.has_value(), "a Replay that is refused brings no answer", "a message came");
    }
    promised(check, replay(bench, slot, static_cast<std::uint16_t>(first.packets.size() - 1)), "Replay of the last packet");
    serves(bench, check, "a command afterwards", slot);
  }
}

CONFORMANCE_CASE(each_slot_replays_its_own_answer, "mi.replay.slot", roles::endpoint, needs(packets)) {
  const SeenMessage zero = five_packets(bench, check, 0);
  const MiAnswer one = bench.command(mi::Opcode::read_data_structure, 0, 0, {}, {.slot = 1, .tag = 3});
  precondition(check, one, "Read NVMe-MI Data Structure");
  for (int i = 0; i < 2; ++i) {
    const Replayed again_one = replay(bench, 1, 0), again_zero = replay(bench, 0, 0);
    if (promised(check, again_zero, "Replay of slot 0")) {
      check.bytes("the answer of slot 0", again_zero.message->body, zero.body);
    }
    if (promised(check, again_one, "Replay of slot 1")) {
      check.bytes("the answer of slot 1", again_one.message->body, one.message->body);
    }
  }
  // Abort is of one slot: the other keeps what it has to replay.
  if (!success(check, bench.primitive(mi::Primitive::abort, 1), "Abort of slot 1")) return;
  const Replayed again_zero = replay(bench, 0, 0);
  if (promised(check, again_zero, "Replay of slot 0 after Abort of slot 1")) {
    check.bytes("the answer of slot 0 after Abort of slot 1", again_zero.message->body, zero.body);
  }
}

CONFORMANCE_CASE(replay_ends_a_pause, "mi.replay.pause", roles::endpoint, needs(revision_2_0), needs(packets)) {
  const std::uint16_t cntlid = controllers_of(bench).front();
  for (const unsigned slot : {0u, 1u}) {
    const MiTerms terms{.slot = slot, .tag = static_cast<std::uint8_t>(1 + slot)};
    const Begun begun = begin_answer(bench, long_request(cntlid, terms), terms);
    precondition(check, primitive_amidst(bench, check, Primitive::pause, begun), "Pause");
    const Replayed again = replay(bench, slot, 0);
    if (!promised(check, again, "Replay of an answer that is paused")) return;
    check.that(mi::mic_ok(again.message->body), "the answer that is sent again is whole", words(again.message->body.size()) + " bytes");
    const MiAnswer state = bench.primitive(Primitive::get_state, slot);
    success(check, state, "Get State");
    check.equal("PFLG after Replay", record_from_integer<mi::SlotStatus>(state.cpsr()).get(mi::slot_status::pflg), false);
    check.that(bench.silent(Duration::ms(300)), "the answer is sent again once", "something else came");
    bench.peer().forget();
  }
}

CONFORMANCE_CASE(replay_counts_every_packet_of_a_long_answer, "mi.replay.offset.far", roles::endpoint, needs(packets)) {
  const std::uint16_t cntlid = controllers_of(bench).front();
  const MiTerms terms{.tag = 2};
  const MiAnswer answer = bench.request(long_request(cntlid, terms), terms);
  precondition(check, answer, "Identify Controller");
  const SeenMessage first = *answer.message;
  const std::size_t count = first.packets.size();
  check.precondition(count > 1, "an answer of several packets");
  for (std::size_t offset : std::initializer_list<std::size_t>{15, 16, 17, 31, 32, 33, 63, 64}) {
    if (offset >= count) offset = count - 1;
    const std::string what = "Replay from packet " + std::to_string(offset);
    const Replayed again = replay(bench, 0, static_cast<std::uint16_t>(offset));
    if (!promised(check, again, what)) return;
    check.equal("packets of " + what, again.message->packets.size(), count - offset);
    const Bytes expected = from_packet(first, offset);
    const Bytes& body = again.message->body;
    check.that(body.size() >= expected.size() && std::equal(expected.rbegin(), expected.rend(), body.rbegin()),
               what + " ends with what packets from that one on had", words(body.size()) + " bytes");
  }
}

}  // namespace fb::conformance
