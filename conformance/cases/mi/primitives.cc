// Control primitives: their form, and Pause, Resume and Abort.
#include "conformance/cases/mi/long_answer.h"

namespace fb::conformance {
namespace {

using mi::Primitive;
using mi::SlotState;

constexpr std::uint8_t kPrimitiveTag = 7;
constexpr Duration kCrossing = Duration::ms(10);

MiAnswer primitive_of(EndpointBench& bench, std::uint8_t opcode, std::uint8_t tag = 0x5A, unsigned slot = 0) {
  return bench.request(primitive_message(opcode, slot, 0, tag), {.tag = kPrimitiveTag});
}

mi::SlotState state_of(EndpointBench& bench, unsigned slot) { return bench.state(slot).get(mi::slot_status::ssta); }
bool paused(EndpointBench& bench, unsigned slot = 0) { return bench.state(slot).get(mi::slot_status::pflg); }

/// Identify Controller under way in a slot, and paused.
struct Held {
  MiTerms terms;
  std::uint16_t cntlid = 0;
  MiAnswer pause;
};
Held hold_answer(EndpointBench& bench, Check& check, unsigned slot = 0) {
  Held held{.terms = {.slot = slot, .tag = static_cast<std::uint8_t>(1 + slot)}, .cntlid = controllers_of(bench).front(), .pause = {}};
  const Begun begun = begin_answer(bench, long_request(held.cntlid, held.terms), held.terms);
  held.pause = primitive_amidst(bench, check, Primitive::pause, begun);
  return held;
}

}  // namespace

CONFORMANCE_CASE(primitives_bring_their_tag_back, "mi.primitive.tag", roles::endpoint) {
  for (unsigned tag = 0; tag < 256; ++tag) {
    const MiAnswer answer = bench.primitive(Primitive::get_state, tag % 2, 0, static_cast<std::uint8_t>(tag));
    if (!success(check, answer, "Get State with TAG " + words(tag))) return;
    if (!check.equal("TAG of the answer", unsigned{answer.primitive_tag()}, tag)) return;
  }
  for (const Primitive what : {Primitive::pause, Primitive::resume, Primitive::abort, Primitive::replay}) {
    const MiAnswer answer = bench.primitive(what, 0, 0, 0xC3);
    success(check, answer, name_of(what));
    check.equal("TAG of the answer to " + std::string(name_of(what)), answer.primitive_tag(), 0xC3);
    bench.primitive(Primitive::resume);
  }
}

CONFORMANCE_CASE(reserved_primitives_are_invalid, "mi.primitive.opcode", roles::endpoint) {
  for (unsigned opcode = 0x05; opcode < 0xF0; ++opcode) {
    const MiAnswer answer = primitive_of(bench, static_cast<std::uint8_t>(opcode), 0x5A, opcode % 2);
    if (!status_is(check, answer, mi::Status::invalid_opcode, "primitive " + words(opcode))) return;
  }
  serves(bench, check, "a command afterwards");
}

CONFORMANCE_CASE(answers_of_primitives_are_eight_bytes, "mi.primitive.form", roles::endpoint) {
  serves(bench, check, "a command");
  const struct {
    Primitive what;
    unsigned reserved;  ///< bits of CPSR; early revisions set some of the last two
  } kForms[] = {{Primitive::get_state, 0x0004},
                {Primitive::abort, 0xFFFC},
                {Primitive::replay, 0xFFFE},
                {Primitive::pause, 0},
                {Primitive::resume, 0}};
  for (const auto& [what, reserved] : kForms) {
    const std::string name(name_of(what));
    const MiAnswer answer = bench.primitive(what);
    success(check, answer, name);
    check.equal("bytes of the answer to " + name + ", without the check", answer.body.size(), mi::kResponseMin);
    check.equal("reserved bits in the answer to " + name, answer.cpsr() & reserved, 0u);
  }
}

CONFORMANCE_CASE(primitives_are_answered_in_time, "mi.primitive.time", roles::endpoint, needs(packets)) {
  const std::uint16_t cntlid = controllers_of(bench).front();
  const auto judge = [&](std::string_view when) {
    const MiAnswer answer = bench.primitive(Primitive::get_state, 1);
    if (!success(check, answer, "Get State " + std::string(when))) return;
    check.that(answer.took() <= bench.answer_within() + kCrossing,
               "Get State " + std::string(when) + " is answered within " + to_string(bench.answer_within()), to_string(answer.took()));
  };
  judge("at rest");
  const MiTerms terms{.tag = 1};
  begin_answer(bench, long_request(cntlid, terms), terms);
  judge("amidst a long answer");
  success(check, bench.answer(terms), "Identify");
}

CONFORMANCE_CASE(pause_stops_between_two_packets, "mi.pause.boundary", roles::endpoint, needs(packets)) {
  for (const unsigned slot : {0u, 1u}) {
    const Held held = hold_answer(bench, check, slot);
    success(check, held.pause, "Pause");
    stopped(bench, check, {held.terms.tag}, "no packet of an answer after Pause, but what was on its way");
    success(check, bench.primitive(Primitive::resume), "Resume");
    bench.answer(held.terms);
    serves(bench, check, "a command afterwards", slot);
  }
}

CONFORMANCE_CASE(pause_holds_both_slots, "mi.pause.both", roles::endpoint, needs(packets)) {
  const std::uint16_t cntlid = controllers_of(bench).front();
  const MiTerms zero{.slot = 0, .tag = 1}, one{.slot = 1, .tag = 2};
  const Begun other = say_long(bench, long_request(cntlid, one), one);
  const Begun begun = begin_answer(bench, long_request(cntlid, zero), zero);
  success(check, primitive_amidst(bench, check, Primitive::pause, begun), "Pause");
  if (ended(bench, other)) check.inconclusive("the answer of slot 1 was whole before Pause was answered");
  stopped(bench, check, {zero.tag, one.tag}, "no packet of either answer after Pause, but what was on its way");
  success(check, bench.primitive(Primitive::resume), "Resume");
  success(check, bench.answer(zero), "Identify in slot 0 after Resume");
  success(check, bench.answer(one), "Identify in slot 1 after Resume");
}

CONFORMANCE_CASE(pause_may_be_repeated, "mi.pause.twice", roles::endpoint, needs(packets)) {
  const Held held = hold_answer(bench, check);
  precondition(check, held.pause, "Pause");
  for (int i = 0; i < 2; ++i) success(check, bench.primitive(Primitive::pause), "Pause while paused");
  stopped(bench, check, {held.terms.tag}, "no packet of an answer after Pause, but what was on its way");
  success(check, bench.primitive(Primitive::resume), "Resume");
  success(check, bench.answer(held.terms), "the answer after one Resume");
}

CONFORMANCE_CASE(get_state_tells_of_a_pause, "mi.pause.flag", roles::endpoint, needs(packets)) {
  for (const unsigned slot : {0u, 1u}) {
    const Held held = hold_answer(bench, check, slot);
    precondition(check, held.pause, "Pause");
    const MiAnswer during = bench.primitive(Primitive::get_state, slot);
    success(check, during, "Get State while paused");
    check.equal("PFLG while paused", record_from_integer<mi::SlotStatus>(during.cpsr()).get(mi::slot_status::pflg), true);
    precondition(check, bench.primitive(Primitive::resume), "Resume");
    const MiAnswer after = bench.primitive(Primitive::get_state, slot);
    success(check, after, "Get State after Resume");
    check.equal("PFLG after Resume", record_from_integer<mi::SlotStatus>(after.cpsr()).get(mi::slot_status::pflg), false);
    success(check, bench.answer(held.terms), "Identify");
  }
}

CONFORMANCE_CASE(primitives_are_answered_while_paused, "mi.pause.primitives", roles::endpoint, needs(packets)) {
  const Held held = hold_answer(bench, check);
  precondition(check, held.pause, "Pause");
  for (const unsigned slot : {0u, 1u}) success(check, bench.primitive(Primitive::get_state, slot), "Get State while paused");
  status_is(check, primitive_of(bench, 0x42), mi::Status::invalid_opcode, "a reserved primitive while paused");
  // Of another EID, with the tag of the answer that waits.
  constexpr mctp::Eid kOther = 0x21;
  const mctp::Eid own = bench.peer().eid();
  bench.peer().set_eid(kOther);
  success(check, bench.request(primitive_message(static_cast<std::uint8_t>(Primitive::get_state)), {.tag = held.terms.tag}),
          "Get State of another EID while paused");
  bench.peer().set_eid(own);
  success(check, bench.primitive(Primitive::resume), "Resume");
  success(check, bench.answer(held.terms), "the answer after Resume");
}

CONFORMANCE_CASE(nothing_asks_for_time_while_paused, "mi.pause.more-processing", roles::endpoint, needs(revision_1_2),
                 arranged("a VPD Read that takes 700 ms", &slow_vpd<700>)) {
  for (const unsigned slot : {0u, 1u}) {
    const MiTerms terms{.slot = slot, .tag = 1};
    bench.say(vpd_request(terms), terms);
    bench.world().run_for(Duration::ms(20));
    precondition(check, bench.primitive(Primitive::pause), "Pause");
    check.that(bench.silent(Duration::s(2)), "nothing, More Processing Required included, comes while paused", "something came");
    success(check, bench.primitive(Primitive::resume), "Resume");
    const MiAnswer answer = bench.answer(terms);
    success(check, answer, "VPD Read after Resume");
    check.equal("More Processing Required for what was done when Resume came", answer.more.size(), std::size_t{0});
  }
}

CONFORMANCE_CASE(pause_and_resume_take_no_slot, "mi.pause.csi", roles::endpoint, needs(revision_2_0)) {
  for (const Primitive what : {Primitive::pause, Primitive::resume}) {
    status_is(check, bench.primitive(what, 1), mi::Status::invalid_parameter, std::string(name_of(what)) + " with CSI 1");
    check.equal("PFLG afterwards", paused(bench), false);
  }
  serves(bench, check, "a command afterwards");
}

CONFORMANCE_CASE(resume_goes_on_with_the_next_packet, "mi.resume.next", roles::endpoint, needs(packets)) {
  const MiAnswer whole = identify_controller(bench, controllers_of(bench).front());
  precondition(check, whole, "Identify");
  for (const unsigned slot : {0u, 1u}) {
    const Held held = hold_answer(bench, check, slot);
    precondition(check, held.pause, "Pause");
    bench.world().run_for(Duration::ms(250));
    success(check, bench.primitive(Primitive::resume), "Resume");
    const MiAnswer answer = bench.answer(held.terms);
    if (!success(check, answer, "Identify that was paused")) return;
    check.bytes("its data", answer.admin_data(), whole.admin_data());
    check.equal("its packets", answer.message->packets.size(), whole.message->packets.size());
    check.that(bench.peer().faults().empty(), "every packet follows the one before it",
               bench.peer().faults().empty() ? "" : bench.peer().faults().front());
    check.that(bench.silent(), "nothing follows the answer", "something came");
  }
}

CONFORMANCE_CASE(resume_without_a_pause_succeeds, "mi.resume.idle", roles::endpoint) {
  for (int i = 0; i < 2; ++i) success(check, bench.primitive(Primitive::resume), "Resume when nothing is paused");
  serves(bench, check, "a command afterwards");
}

CONFORMANCE_CASE(abort_of_an_idle_slot_has_nothing_to_do, "mi.abort.idle", roles::endpoint) {
  for (const unsigned slot : {0u, 1u}) {
    for (const bool used : {false, true}) {
      if (used) serves(bench, check, "a command", slot);
      const MiAnswer answer = bench.primitive(Primitive::abort, slot);
      success(check, answer, "Abort of an idle slot");
      check.equal("CPAS of an idle slot", answer.cpsr() & 3u, static_cast<unsigned>(mi::AbortResult::nothing));
    }
    serves(bench, check, "a command afterwards", slot);
  }
}

CONFORMANCE_CASE(abort_ends_a_command_that_comes_in, "mi.abort.receive", roles::endpoint, needs(packets), sends_malformed) {
  for (const unsigned slot : {0u, 1u}) {
    Bytes message = mi_message(0, 0, 0, {}, {.slot = slot});
    message.resize(200);
    mi::append_mic(message);
    MctpPacket like = bench.peer().packet();
    like.tag = 1;
    const auto parts = cut(message, like);
    bench.peer().send(parts[0]);
    bench.peer().send(parts[1]);
    const MiAnswer answer = bench.primitive(Primitive::abort, slot);
    success(check, answer, "Abort while a command comes in");
    check.equal("CPAS while a command comes in", answer.cpsr() & 3u, static_cast<unsigned>(mi::AbortResult::before));
    check.equal("state of the slot", state_of(bench, slot), SlotState::idle);
    for (std::size_t i = 2; i < parts.size(); ++i) bench.peer().send(parts[i]);
    silence(bench, check, "answer to a command that was aborted");
    serves(bench, check, "a command afterwards", slot);
  }
}

CONFORMANCE_CASE(abort_ends_a_command_that_lasts, "mi.abort.process", roles::endpoint,
                 arranged("a VPD Read that takes 400 ms", &slow_vpd<400>)) {
  for (const unsigned slot : {0u, 1u}) {
    const MiTerms terms{.slot = slot, .tag = 1};
    bench.say(vpd_request(terms), terms);
    bench.world().run_for(Duration::ms(20));
    const MiAnswer answer = bench.primitive(Primitive::abort, slot);
    success(check, answer, "Abort of a command that lasts");
    check.equal("CPAS of a command that lasts", static_cast<mi::AbortResult>(answer.cpsr() & 3),
                one_of(mi::AbortResult::before, mi::AbortResult::part_way));
    check.equal("state of the slot", state_of(bench, slot), SlotState::idle);
    check.that(bench.silent(Duration::s(1)), "no answer to a command that was aborted", "something came");
    serves(bench, check, "a command afterwards", slot);
  }
}

CONFORMANCE_CASE(abort_ends_an_answer, "mi.abort.transmit", roles::endpoint, needs(packets)) {
  const std::uint16_t cntlid = controllers_of(bench).front();
  for (const unsigned slot : {0u, 1u}) {
    const MiTerms terms{.slot = slot, .tag = static_cast<std::uint8_t>(1 + slot)};
    const Begun begun = begin_answer(bench, long_request(cntlid, terms), terms);
    const MiAnswer answer = primitive_amidst(bench, check, Primitive::abort, begun, slot);
    success(check, answer, "Abort amidst an answer");
    stopped(bench, check, {terms.tag}, "no packet of an answer after Abort, but what was on its way");
    check.equal("state of the slot", state_of(bench, slot), SlotState::idle);
    serves(bench, check, "a command afterwards", slot);
  }
}

CONFORMANCE_CASE(abort_leaves_the_other_slot_alone, "mi.abort.other", roles::endpoint,
                 arranged("a VPD Read that takes 400 ms", &slow_vpd<400>)) {
  for (const unsigned slot : {0u, 1u}) {
    const MiTerms gone{.slot = slot, .tag = 1}, kept{.slot = slot ^ 1, .tag = 2};
    bench.say(vpd_request(kept), kept);
    bench.say(vpd_request(gone), gone);
    bench.world().run_for(Duration::ms(30));
    precondition(check, bench.primitive(Primitive::abort, slot), "Abort");
    check.equal("state of the other slot", state_of(bench, slot ^ 1), SlotState::process);
    success(check, bench.answer(kept), "the command in the other slot");
  }
}

CONFORMANCE_CASE(abort_ends_a_pause, "mi.abort.pause", roles::endpoint, needs(packets)) {
  // Before 2.0 each slot has a flag of its own.
  const bool of_both = bench.declared().at_least(2, 0);
  for (const unsigned slot : {0u, 1u}) {
    const Held held = hold_answer(bench, check, slot);
    precondition(check, held.pause, "Pause");
    success(check, bench.primitive(Primitive::abort, slot ^ 1), "Abort of the other slot while paused");
    check.equal("PFLG of the slot that was aborted", paused(bench, slot ^ 1), false);
    check.equal("PFLG of the other slot after Abort", paused(bench, slot), !of_both);
    if (!of_both) {
      stopped(bench, check, {held.terms.tag}, "no packet of the answer that is still paused");
      success(check, bench.primitive(Primitive::resume), "Resume");
    }
    success(check, bench.answer(held.terms), "the answer of the slot that was not aborted");
    bench.step("Abort of the slot that is paused");
    const Held gone = hold_answer(bench, check, slot);
    precondition(check, gone.pause, "Pause");
    success(check, bench.primitive(Primitive::abort, slot), "Abort of the slot whose answer is paused");
    check.equal("PFLG of that slot", paused(bench, slot), false);
    success(check, bench.primitive(Primitive::resume), "Resume");
    for (const unsigned one : {0u, 1u}) serves(bench, check, "a command afterwards", one);
  }
}

}  // namespace fb::conformance
