// The health polls in band: their form, what they agree with, and what counts as changed.
#include <fmt/ranges.h>

#include "conformance/cases/mi/in_band.h"

namespace fb::conformance {
namespace {

using mi::Opcode;
using mi::Status;
namespace bits = mi::change_bits;

/// The selection of changes by state alone: a temperature may change at any time.
constexpr std::uint32_t kStates = 1;
/// What a controller that was disabled and enabled shows. CECO of its health data may have been 1 before, and then does not change.
constexpr std::uint16_t kRestarted = bits::rdy | bits::csts;

Bytes smart_of(InBandScene& scene, Check& check) {
  const auto reply = scene.association.admin().send(host::get_log(nvme::LogPage::smart, nvme::SmartLog::size), nvme::SmartLog::size).wait();
  check.precondition_success(reply, "Get Log Page of SMART / Health");
  return reply.data;
}
/// CTEMP of the subsystem is in degrees Celsius. That it is the temperature of the SMART log is a "should": give or take 15 degrees.
bool is_celsius(std::uint8_t code, int kelvins) {
  for (int off = -15; off <= 15; ++off) {
    const int celsius = kelvins + off - 273;
    if (code == static_cast<std::uint8_t>(celsius >= 127 ? 0x7F : celsius <= -60 ? 0xC4 : celsius)) return true;
  }
  return false;
}

/// Entries of a poll, the counts being right; the case ends where they are not.
std::vector<Bytes> entries_of(InBandScene& scene, Check& check, std::uint32_t nmd0, std::uint32_t nmd1, const std::string& what) {
  const InBandAnswer answer = scene.receive(Opcode::controller_health_poll, nmd0, nmd1);
  check.require(tunneled_success(check, answer, what), what + " succeeds", answer.describe());
  const std::size_t count = answer.nmresp() >> 16;
  std::vector<Bytes> entries;
  for (std::size_t i = 0; i < count; ++i) {
    const ByteView one = answer.data((i + 1) * chsp::kEntry).subspan(i * chsp::kEntry);
    entries.emplace_back(one.begin(), one.end());
  }
  const ByteView rest = ByteView{answer.reply.data}.subspan(count * chsp::kEntry);
  const bool untouched = std::all_of(rest.begin(), rest.end(), [](std::uint8_t byte) { return byte == kUntouched; });
  check.that(untouched, fmt::format("there are no more entries than the {} that are counted of {}", count, what), words(rest.first(16)));
  return entries;
}
std::vector<std::uint16_t> ids_of(const std::vector<Bytes>& entries) {
  std::vector<std::uint16_t> ids;
  for (const Bytes& one : entries) ids.push_back(load_le<std::uint16_t>(one.data()));
  return ids;
}
void tells(Check& check, const std::vector<Bytes>& entries, const std::vector<std::uint16_t>& expected, const std::string& what) {
  const auto ids = ids_of(entries);
  check.that(ids == expected, fmt::format("{} returns {}", what, fmt::join(expected, ", ")), fmt::format("{}", fmt::join(ids, ", ")));
}
/// Whose entries there are, which says all controllers.
std::vector<std::uint16_t> everybody(InBandScene& scene, Check& check) {
  const auto ids = ids_of(entries_of(scene, check, chsp::kAll | chsp::kEvery | chsp::kMost, 0, "a poll of all controllers"));
  check.precondition(ids.size() >= 3, "three controllers");
  return ids;
}

}  // namespace

CONFORMANCE_CASE(subsystem_health_in_band_is_that_of_smart, "mi.in-band.health.form", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  const Bytes smart = smart_of(scene, check);
  for (const bool clear : {false, true}) {
    const InBandAnswer answer = scene.receive(Opcode::subsystem_health_poll, 0, clear ? kClearStatus : 0, {.room = 64});
    if (!tunneled_success(check, answer, "the subsystem's health")) return;
    const ByteView data = answer.reply.data;
    check.bytes("the buffer behind eight bytes", data.subspan(8), Bytes(56, kUntouched));
    check.equal("bit 0 of the subsystem status", data[0] & 0x01, 0);
    check.equal("bits 3, 14 and 15 of the composite status", load_le<std::uint16_t>(&data[4]) & 0xC008, 0);
    check.equal("bytes 6 and 7", load_le<std::uint16_t>(&data[6]), 0);
    check.equal("bit 7 of the inverted warnings", data[1] & 0x80, 0x80);
    // Other controllers may have warnings of their own.
    check.equal("warnings of the SMART log that are not told", data[1] & smart[0] & 0x3F, 0);
    // How near the two of a real product are is not specified.
    if (!bench.embedded()) continue;
    const int kelvins = load_le<std::uint16_t>(&smart[1]);
    check.that(is_celsius(data[2], kelvins), fmt::format("CTEMP is in degrees Celsius, near the {} kelvins of the SMART log", kelvins),
               words(data[2]));
  }
}

CONFORMANCE_CASE(a_restart_shows_in_band, "mi.in-band.health.changes", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench), second(bench);
  // What a product has told before nobody knows; the embedded one has told nothing.
  for (InBandScene* one : {&scene, &second}) {
    if (!bench.embedded()) break;
    check.equal(fmt::format("RDY and CSTS in the first composite status of controller {}", one->association.cntlid()),
                composite_of(*one, check) & kRestarted, kRestarted);
  }
  for (InBandScene* one : {&scene, &second, &scene}) {
    clear_changed_flags(*one, check);
    composite_of(*one, check, true);
    restart(one->association);
    const std::string of = fmt::format(" after controller {} was disabled and enabled", one->association.cntlid());
    for (int round = 0; round < 3; ++round) {
      check.equal("RDY and CSTS in the composite status" + of, composite_of(*one, check) & kRestarted, kRestarted);
    }
  }
}

CONFORMANCE_CASE(changes_in_band_are_cleared_when_asked, "mi.in-band.health.clear", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  composite_of(scene, check);
  for (int round = 0; round < 2; ++round) {
    clear_changed_flags(scene, check);
    restart(scene.association);
    check.precondition((composite_of(scene, check) & kRestarted) == kRestarted, "changes");
    check.equal("the composite status, read once more", composite_of(scene, check) & kRestarted, kRestarted);
    check.equal("the composite status that is returned as it is cleared", composite_of(scene, check, true) & kRestarted, kRestarted);
    check.equal("the composite status once it was cleared", composite_of(scene, check) & kRestarted, 0);
  }
}

CONFORMANCE_CASE(changes_in_band_are_cleared_one_by_one, "mi.in-band.health.clear.each", roles::controller, needs(tunnels),
                 having_in_band) {
  InBandScene scene(bench);
  composite_of(scene, check);
  for (unsigned position = 0; position < mi::kClearBits - 1; ++position) {
    clear_changed_flags(scene, check);
    restart(scene.association);
    const InBandAnswer answer = scene.send(Opcode::configuration_set, 2, 1u << position);
    if (answer.missing()) return;
    const std::string what = fmt::format("Configuration Set that clears by bit {}", position);
    if (!tunneled_success(check, answer, what)) return;
    check.equal("NMRESP of " + what, answer.nmresp(), 0u);
    check.equal("the composite status after " + what, composite_of(scene, check) & kRestarted,
                kRestarted & ~mi::change_bit_of_clear(position));
  }
  clear_changed_flags(scene, check);
  restart(scene.association);
  tunneled_success(check, scene.send(Opcode::configuration_set, 2, 0), "Configuration Set that clears nothing");
  check.equal("the composite status after that", composite_of(scene, check) & kRestarted, kRestarted);
  tunneled_success(check, scene.send(Opcode::configuration_set, 2, 0xFFF), "Configuration Set that clears all");
  check.equal("the composite status after that", composite_of(scene, check) & kRestarted, 0);
}

CONFORMANCE_CASE(controller_entries_in_band_agree_with_smart, "mi.in-band.poll.entries", roles::controller, needs(tunnels),
                 having_in_band) {
  InBandScene scene(bench), second(bench);
  InBandScene disabled(bench, {.enable = false});
  for (const InBandScene* asked : {&scene, &second}) {
    InBandScene by = *asked;
    const auto entries = entries_of(by, check, chsp::kAll | chsp::kEvery | chsp::kMost, 0, "a poll of all controllers");
    for (InBandScene* one : {&scene, &second, &disabled}) {
      const std::uint16_t id = one->association.cntlid();
      const auto found =
          std::find_if(entries.begin(), entries.end(), [&](const Bytes& e) { return load_le<std::uint16_t>(e.data()) == id; });
      if (!check.that(found != entries.end(), fmt::format("there is an entry of controller {}", id))) continue;
      const Bytes& entry = *found;
      const std::string of = fmt::format(" of controller {}", id);
      const auto csts = static_cast<std::uint16_t>(one->association.property(fabrics::property::csts));
      check.equal("RDY, CFS and SHST" + of, entry[2] & 0x0F, csts & 0x0F);
      check.equal("bits 15:9 of CSTS" + of, load_le<std::uint16_t>(&entry[2]) & 0xFE00, 0);
      check.that(std::all_of(entry.begin() + 11, entry.end(), [](std::uint8_t b) { return b == 0; }), "reserved bytes" + of + " are zero",
                 words(entry));
      if (one == &disabled) continue;
      const Bytes smart = smart_of(*one, check);
      const int kelvins = load_le<std::uint16_t>(&smart[1]);
      check.between("CTEMP" + of, int{load_le<std::uint16_t>(&entry[4])}, kelvins - 2, kelvins + 2);
      check.equal("PDLU" + of, entry[6], smart[5]);
      check.equal("SPARE" + of, entry[7], smart[3]);
      check.equal("CWARN" + of, entry[8] & 0x1F, smart[0] & 0x1F);
    }
  }
}

CONFORMANCE_CASE(polls_in_band_begin_and_end_where_asked, "mi.in-band.poll.range", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench), second(bench), third(bench);
  const auto ids = everybody(scene, check);
  check.that(std::is_sorted(ids.begin(), ids.end(), std::less_equal<>()), "controllers ascend", fmt::format("{}", fmt::join(ids, ", ")));
  for (std::size_t from = 0; from < ids.size(); ++from) {
    for (std::size_t most = 1; most <= ids.size() + 1; ++most) {
      const auto nmd0 = chsp::kAll | chsp::kEvery | static_cast<std::uint32_t>(most - 1) << 16 | ids[from];
      const std::size_t end = std::min(ids.size(), from + most);
      const std::string what = fmt::format("a poll of {} controllers from {}", most, ids[from]);
      tells(check, entries_of(scene, check, nmd0, 0, what),
            {ids.begin() + static_cast<std::ptrdiff_t>(from), ids.begin() + static_cast<std::ptrdiff_t>(end)}, what);
    }
  }
  const std::uint32_t behind = chsp::kAll | chsp::kEvery | chsp::kMost | (ids.back() + 1u);
  if (ids.back() < 0xFFFF)
    tells(check, entries_of(scene, check, behind, 0, "a poll from behind the last controller"), {}, "a poll from behind the last");
  const InBandAnswer full = scene.receive(Opcode::controller_health_poll, chsp::kAll | chsp::kEvery | 255u << 16);
  tunneled_is(check, full, one_of(Status::invalid_parameter), "a poll of 256 controllers");
}

CONFORMANCE_CASE(polls_in_band_are_filtered, "mi.in-band.poll.filter", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench), second(bench), third(bench);
  everybody(scene, check);
  tells(check, entries_of(scene, check, chsp::kAll | chsp::kMost, 0, "a poll without kinds"), {},
        "a poll of all without INCF, INCPF and INCVF");
  tells(check, entries_of(scene, check, chsp::kEvery | chsp::kMost, 0, "a poll of no changes"), {}, "a poll of changes that selects none");
  entries_of(scene, check, chsp::kAll | chsp::kEvery | chsp::kMost, chsp::kClear, "a poll that clears");
  restart(second.association);
  constexpr std::uint32_t kSpare = 8;
  const auto id = second.association.cntlid();
  tells(check, entries_of(scene, check, chsp::kEvery | chsp::kMost, kSpare, "a poll of spares"), {},
        "a poll of spares, none of which changed,");
  const auto changed = ids_of(entries_of(scene, check, chsp::kEvery | chsp::kMost, kStates, "a poll of states"));
  check.that(std::find(changed.begin(), changed.end(), id) != changed.end(), "the controller that was disabled and enabled is told of",
             fmt::format("{}", fmt::join(changed, ", ")));
}

CONFORMANCE_CASE(polls_in_band_clear_whom_they_return, "mi.in-band.poll.clear", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench), second(bench), third(bench);
  everybody(scene, check);
  constexpr std::uint32_t kSelected = chsp::kEvery | chsp::kMost;
  const auto changed = [&](std::uint32_t nmd1) { return ids_of(entries_of(scene, check, kSelected, nmd1, "a poll of changes")); };
  entries_of(scene, check, chsp::kAll | kSelected, chsp::kClear, "a poll that clears");
  check.require(changed(kStates).empty(), "no controller has changed after a poll of all that clears");
  for (InBandScene* one : {&second, &third}) restart(one->association);
  std::vector<std::uint16_t> ids = {second.association.cntlid(), third.association.cntlid()};
  std::sort(ids.begin(), ids.end());
  check.that(changed(kStates) == ids, "two controllers have changed", fmt::format("{}", fmt::join(changed(kStates), ", ")));
  // The first alone is returned, and cleared.
  const auto first = ids_of(entries_of(scene, check, chsp::kEvery, kStates | chsp::kClear, "a poll of one controller"));
  check.that(first == std::vector{ids[0]}, "the first of them is returned", fmt::format("{}", fmt::join(first, ", ")));
  check.that(changed(kStates) == std::vector{ids[1]}, "the other one stays", fmt::format("{}", fmt::join(changed(kStates), ", ")));
  changed(kStates | chsp::kClear);
  check.that(changed(kStates).empty(), "then none is left", fmt::format("{}", fmt::join(changed(kStates), ", ")));
}

}  // namespace fb::conformance
