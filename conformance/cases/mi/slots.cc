// The two command slots: their states as Get State tells them, and commands side by side.
#include "conformance/cases/mi/long_answer.h"

namespace fb::conformance {
namespace {

using mi::SlotState;

constexpr std::uint8_t kTag = 2;

void state_is(EndpointBench& bench, Check& check, unsigned slot, SlotState expected, std::string_view when) {
  const MiAnswer answer = bench.primitive(mi::Primitive::get_state, slot);
  if (!success(check, answer, "Get State of slot " + std::to_string(slot))) return;
  check.equal("state of slot " + std::to_string(slot) + " " + std::string(when),
              record_from_integer<mi::SlotStatus>(answer.cpsr()).get(mi::slot_status::ssta), expected);
}

/// The packets of a command that is never right: its size is wrong.
std::vector<MctpPacket> long_command(EndpointBench& bench, unsigned slot, std::uint8_t tag = kTag) {
  Bytes message = mi_message(0, 0, 0, {}, {.slot = slot});
  message.resize(message.size() + 160);
  mi::append_mic(message);
  MctpPacket like = bench.peer().packet();
  like.tag = tag;
  return cut(message, like);
}

/// Another controller can be put onto the product's medium.
bool second_controller(EndpointBench& bench) { return bench.embedded() && bench.medium() != "serial" && bench.medium() != "kernel"; }

/// That controller's control primitive is answered at its own address.
void asks_beside(EndpointBench& bench, Check& check, mi::Primitive what, unsigned slot, std::string_view name) {
  RawMctp& other = bench.another_peer();
  other.forget();
  Bytes body = primitive_message(static_cast<std::uint8_t>(what), slot);
  mi::append_mic(body);
  other.send_message(body, {.tag = 4});
  const auto answer = other.next_message(Duration::s(1));
  check.that(answer.has_value() && answer->body.size() >= 5 && answer->body[4] == 0, std::string(name) + " is answered at its address",
             answer ? mi::describe(answer->body) : "nothing came there");
}

bool wrong_size(Check& check, const MiAnswer& answer, std::string_view what) {
  return status_is(check, answer, one_of(mi::Status::invalid_command_size, mi::Status::invalid_data_size), what);
}

}  // namespace

CONFORMANCE_CASE(slots_at_rest_are_idle_without_flags, "mi.state.idle", roles::endpoint) {
  for (const unsigned slot : {0u, 1u}) {
    precondition(check, bench.primitive(mi::Primitive::get_state, slot, 1), "Get State");
    serves(bench, check, "a command", slot);
  }
  for (const unsigned slot : {0u, 1u}) {
    const MiAnswer answer = bench.primitive(mi::Primitive::get_state, slot);
    if (!success(check, answer, "Get State")) return;
    check.equal("what Get State says of slot " + std::to_string(slot) + " after good commands", answer.cpsr(), 0);
  }
}

CONFORMANCE_CASE(a_slot_is_in_receive_while_a_command_comes_in, "mi.state.receive", roles::endpoint, needs(packets), sends_malformed) {
  for (const unsigned slot : {0u, 1u}) {
    const auto packets = long_command(bench, slot);
    for (std::size_t i = 0; i + 1 < packets.size(); ++i) {
      bench.peer().send(packets[i]);
      state_is(bench, check, slot, SlotState::receive, "behind packet " + std::to_string(i) + " of a command");
      state_is(bench, check, slot ^ 1, SlotState::idle, "meanwhile");
    }
    bench.peer().send(packets.back());
    wrong_size(check, bench.answer({.tag = kTag}), "a command of a wrong size");
    state_is(bench, check, slot, SlotState::idle, "behind the answer");
  }
}

CONFORMANCE_CASE(a_slot_is_in_process_while_a_command_lasts, "mi.state.process", roles::endpoint,
                 arranged("a VPD Read that takes 300 ms", &slow_vpd<300>)) {
  for (const unsigned slot : {0u, 1u}) {
    const MiTerms terms{.slot = slot, .tag = kTag};
    bench.say(vpd_request(terms), terms);
    bench.world().run_for(Duration::ms(20));
    state_is(bench, check, slot, SlotState::process, "20 ms after its command");
    state_is(bench, check, slot ^ 1, SlotState::idle, "meanwhile");
    if (second_controller(bench)) asks_beside(bench, check, mi::Primitive::get_state, slot, "Get State of another controller");
    success(check, bench.answer(terms), "VPD Read");
    state_is(bench, check, slot, SlotState::idle, "behind the answer");
    if (!second_controller(bench)) continue;
    // Whoever requests a Replay has the tag that it is sent with.
    asks_beside(bench, check, mi::Primitive::replay, slot, "Replay of another controller");
    const auto again = bench.another_peer().next_message(Duration::s(1));
    check.that(again.has_value(), "the answer is sent again to the controller that requested Replay", "nothing came there");
    check.that(bench.silent(), "nothing is sent again to the controller that did not", "something came");
  }
}

CONFORMANCE_CASE(a_slot_is_in_transmit_while_its_answer_leaves, "mi.state.transmit", roles::endpoint, needs(packets)) {
  const std::uint16_t cntlid = controllers_of(bench).front();
  for (const unsigned slot : {0u, 1u}) {
    const MiTerms terms{.slot = slot, .tag = static_cast<std::uint8_t>(kTag + slot)};
    const Begun begun = begin_answer(bench, long_request(cntlid, terms), terms);
    precondition(check, primitive_amidst(bench, check, mi::Primitive::pause, begun), "Pause");
    state_is(bench, check, slot, SlotState::transmit, "while its answer is paused");
    state_is(bench, check, slot ^ 1, SlotState::idle, "meanwhile");
    precondition(check, bench.primitive(mi::Primitive::resume), "Resume");
    success(check, bench.answer(terms), "Identify");
    state_is(bench, check, slot, SlotState::idle, "behind the answer");
  }
}

CONFORMANCE_CASE(both_slots_serve_commands, "mi.slot.both", roles::endpoint) {
  const std::uint16_t cntlid = controllers_of(bench).front();
  for (const unsigned slot : {1u, 0u, 1u, 1u}) {
    serves(bench, check, "a command in slot " + std::to_string(slot), slot);
    success(check, bench.request(admin_message(cntlid, identify_controller_sqe(), 0, 64, {}, {.slot = slot})),
            "an Admin command in slot " + std::to_string(slot));
    if (bench.declared().supports({mi::MessageKind::pcie_command, static_cast<std::uint8_t>(mi::PcieOpcode::configuration_read)})) {
      const MiAnswer answer = bench.pcie(cntlid, mi::PcieOpcode::configuration_read, 0, 4, 0, {}, {.slot = slot});
      const bool blocked = answer.answered() && answer.mic_good &&
                           (answer.status() == mi::Status::access_denied || answer.status() == mi::Status::pcie_inaccessible);
      if (!blocked) success(check, answer, "a PCIe command in slot " + std::to_string(slot));
    }
  }
}

CONFORMANCE_CASE(commands_of_both_slots_are_answered_with_their_own_tags, "mi.slot.tag", roles::endpoint) {
  const std::uint16_t cntlid = controllers_of(bench).front();
  const Bytes reference = vpd_request();
  const MiAnswer vpd = bench.request(reference), identify = identify_controller(bench, cntlid);
  precondition(check, vpd, "VPD Read");
  precondition(check, identify, "Identify");
  for (std::uint8_t tag = 0; tag < 8; ++tag) {
    const MiTerms first{.slot = tag % 2u, .tag = tag}, second{.slot = first.slot ^ 1, .tag = static_cast<std::uint8_t>((tag + 3) & 7)};
    bench.say(long_request(cntlid, first), first);
    bench.say(vpd_request(second), second);
    const MiAnswer short_one = bench.answer(second), long_one = bench.answer(first);
    success(check, short_one, "VPD Read beside Identify, tag " + words(second.tag));
    success(check, long_one, "Identify beside VPD Read, tag " + words(tag));
    check.bytes("data of VPD Read", short_one.data(), vpd.data());
    check.bytes("data of Identify", long_one.admin_data(), identify.admin_data());
  }
}

CONFORMANCE_CASE(both_slots_work_at_the_same_time, "mi.slot.parallel", roles::endpoint,
                 arranged("a VPD Read that takes 400 ms", &slow_vpd<400>)) {
  const MiTerms zero{.slot = 0, .tag = 1}, one{.slot = 1, .tag = 2};
  const Instant begin = bench.world().now();
  bench.say(vpd_request(zero, 16), zero);
  bench.say(vpd_request(one, 16), one);
  success(check, bench.answer(zero), "VPD Read in slot 0");
  success(check, bench.answer(one), "VPD Read in slot 1");
  const Duration taken = bench.world().now() - begin;
  check.that(taken < Duration::ms(600), "two commands of 400 ms last no longer than one and a half", to_string(taken));
  bench.step("A fast command beside a slow one");
  bench.say(vpd_request(zero, 16), zero);
  const MiAnswer fast = bench.command(mi::Opcode::read_data_structure, 0, 0, {}, one);
  if (success(check, fast, "a fast command in slot 1")) {
    check.that(fast.took() < Duration::ms(200), "it does not wait for slot 0", to_string(fast.took()));
  }
  success(check, bench.answer(zero), "VPD Read in slot 0");
}

// What two commands in one slot do is undefined, but for this: one that is discarded is flagged.
CONFORMANCE_CASE(a_command_that_a_busy_slot_discards_is_flagged, "mi.slot.busy.flag", roles::endpoint,
                 arranged("a VPD Read that takes 300 ms", &slow_vpd<300>)) {
  for (const unsigned slot : {0u, 1u}) {
    const MiTerms first{.slot = slot, .tag = 1}, second{.slot = slot, .tag = 2, .within = Duration::ms(500)};
    precondition(check, bench.primitive(mi::Primitive::get_state, slot, 1), "Get State");
    bench.say(vpd_request(first), first);
    bench.world().run_for(Duration::ms(20));
    bench.say(mi_message(0, 0, 0, {}, second), second);
    const MiAnswer late = bench.answer(second), early = bench.answer({.slot = slot, .tag = 1, .within = Duration::s(1)});
    if (late.ok() && early.ok()) continue;
    const MiAnswer state = bench.primitive(mi::Primitive::get_state, slot);
    success(check, state, "Get State");
    check.that((state.cpsr() & mi::error_flag::cmnics) != 0, "CMNICS is set when one of two commands in a slot is discarded",
               "Get State says " + words(state.cpsr()));
    serves(bench, check, "a command afterwards", slot);
  }
}

CONFORMANCE_CASE(a_busy_slot_answers_with_no_error, "mi.slot.busy.silent", roles::endpoint,
                 arranged("a VPD Read that takes 300 ms", &slow_vpd<300>)) {
  for (const unsigned slot : {0u, 1u}) {
    const MiTerms first{.slot = slot, .tag = 1}, second{.slot = slot, .tag = 2, .within = Duration::ms(500)};
    bench.say(vpd_request(first), first);
    bench.world().run_for(Duration::ms(20));
    bench.say(mi_message(0, 0, 0, {}, second), second);
    const MiAnswer late = bench.answer(second), early = bench.answer({.slot = slot, .tag = 1, .within = Duration::s(1)});
    for (const MiAnswer* answer : {&late, &early}) {
      check.that(!answer->answered() || answer->ok(), "each of two commands in a slot is executed, or discarded silently",
                 answer->describe());
    }
    check.that(late.answered() || early.answered(), "one of two commands in a slot is executed", "no answer to either");
    serves(bench, check, "a command afterwards", slot);
  }
}

CONFORMANCE_CASE(a_command_that_breaks_off_leaves_its_slot, "mi.slot.abandoned", roles::endpoint, needs(packets), sends_malformed) {
  for (const unsigned slot : {0u, 1u}) {
    auto packets = long_command(bench, slot);
    bench.step("A packet out of sequence");
    bench.peer().send(packets[0]);
    packets[1].sequence = 3;
    bench.peer().send(packets[1]);
    silence(bench, check, "answer to a message with a gap");
    state_is(bench, check, slot, SlotState::idle, "after a message with a gap");
    serves(bench, check, "a command afterwards", slot);
    bench.step("A wrong check at the end");
    auto spoilt = long_command(bench, slot);
    spoilt.back().payload.back() ^= 0x01;
    for (const MctpPacket& packet : spoilt) bench.peer().send(packet);
    silence(bench, check, "answer to a message with a wrong check");
    state_is(bench, check, slot, SlotState::idle, "after a message with a wrong check");
    serves(bench, check, "a command afterwards", slot);
    bench.step("A new message with the same tag");
    bench.peer().send(long_command(bench, slot)[0]);
    success(check, bench.command(mi::Opcode::read_data_structure, 0, 0, {}, {.slot = slot, .tag = kTag}),
            "a command that begins before the one before it has ended");
    state_is(bench, check, slot, SlotState::idle, "after both");
  }
}

CONFORMANCE_CASE(auto_pause_holds_the_answer, "mi.slot.auto-pause", roles::endpoint, needs(auto_pause)) {
  const MiAnswer plain = bench.request(vpd_request());
  precondition(check, plain, "VPD Read");
  for (const unsigned slot : {0u, 1u}) {
    const MiTerms terms{.slot = slot, .tag = kTag, .auto_pause = true};
    bench.say(vpd_request(terms), terms);
    if (!check.that(bench.silent(), "no answer to a command with CIAP before Resume", "something came")) return;
    const MiAnswer state = bench.primitive(mi::Primitive::get_state, slot);
    success(check, state, "Get State");
    const auto status = record_from_integer<mi::SlotStatus>(state.cpsr());
    check.equal("PFLG", status.get(mi::slot_status::pflg), true);
    check.equal("SSTA of a command that is done and paused", status.get(mi::slot_status::ssta), SlotState::transmit);
    success(check, bench.primitive(mi::Primitive::resume), "Resume");
    const MiAnswer answer = bench.answer(terms);
    success(check, answer, "the command with CIAP after Resume");
    check.bytes("its data", answer.data(), plain.data());
    state_is(bench, check, slot, SlotState::idle, "behind the answer");
  }
}

}  // namespace fb::conformance
