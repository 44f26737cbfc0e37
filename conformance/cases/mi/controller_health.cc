// Controller Health Status Poll: which controllers are told of, how many, and what of them.
#include <cstdlib>
#include <functional>

#include <fmt/format.h>

#include "conformance/cases/mi/commands.h"
#include "conformance/cases/mi/structures.h"
#include "conformance/runner/arranger.h"
#include "model/drive/drive.h"
#include "wire/nvme/features.h"

namespace fb::conformance {
namespace {

constexpr std::size_t kEntry = mi::ControllerHealth::size;
constexpr std::uint32_t kAll = 1u << 31, kFunctions = 1u << 24, kPhysical = 1u << 25, kVirtual = 1u << 26;
constexpr std::uint32_t kEvery = kFunctions | kPhysical | kVirtual;
constexpr std::uint32_t kMost = 254u << 16;
constexpr std::uint32_t kClear = 1u << 31, kSelectAny = 0x1F;
enum Select : std::uint32_t { status = 1, temperature = 2, life_used = 4, spare = 8, warning = 16 };

MiAnswer poll(EndpointBench& bench, std::uint32_t nmd0, std::uint32_t nmd1 = 0) {
  return bench.command(mi::Opcode::controller_health_poll, nmd0, nmd1);
}

/// The identifiers that came back, the counts being right; the case ends where they are not.
std::vector<std::uint16_t> told(EndpointBench& bench, Check& check, const MiAnswer& answer) {
  check.require(success(check, answer, "Controller Health Status Poll"), "the poll succeeds", answer.describe());
  const std::size_t size = answer.data().size();
  check.require(size % kEntry == 0, "entries have 16 bytes each", words(size) + " bytes");
  const auto entries = static_cast<std::uint32_t>(size / kEntry);
  const std::uint32_t rent = answer.nmresp() >> mi::kRentShift & 0xFF;
  // Before 1.0a it was one less, and both call themselves 1.0.
  const bool may_be_less = !bench.declared().at_least(1, 1) && entries != 0;
  check.that(rent == entries || (may_be_less && rent == entries - 1), "RENT is the number of entries, " + words(entries), words(rent));
  std::vector<std::uint16_t> ids;
  for (std::size_t at = 0; at < size; at += kEntry) ids.push_back(load_le<std::uint16_t>(&answer.data()[at]));
  return ids;
}

std::string list(const std::vector<std::uint16_t>& ids) {
  std::string text;
  for (const std::uint16_t id : ids) text += (text.empty() ? "" : ", ") + std::to_string(id);
  return text.empty() ? "none" : text;
}
void tells(EndpointBench& bench, Check& check, const MiAnswer& answer, const std::vector<std::uint16_t>& expected, std::string_view what) {
  const auto ids = told(bench, check, answer);
  if (ids != expected) check.fails(what, {list(expected)}, list(ids));
  check.equal("entries of " + std::string(what), ids.size(), expected.size());
}

void clear(EndpointBench& bench, Check& check) {
  precondition(check, poll(bench, kAll | kEvery | kMost, kClear), "a poll that clears");
  const MiAnswer rest = poll(bench, kEvery | kMost, kSelectAny);
  precondition(check, rest, "a poll of what has changed");
  check.precondition(rest.data().empty(), "nothing that has changed");
}

/// Controllers of each kind of function: 1 is plain, 2 physical, 3 and 4 virtual.
void every_kind_of_function(EmbeddedSetup& setup) {
  setup.managed->drive.subsystem.static_cntlids = {1, 2, 3, 4};
  setup.managed->drive.device.functions = {
      {2, mi::FunctionKind::physical}, {3, mi::FunctionKind::virtual_function}, {4, mi::FunctionKind::virtual_function}};
}
void five_controllers(EmbeddedSetup& setup) { setup.managed->drive.subsystem.static_cntlids = {1, 2, 5, 8, 300}; }

}  // namespace

CONFORMANCE_CASE(all_controllers_are_told_of, "mi.chsp.all", roles::endpoint) {
  const auto ids = controllers_of(bench);
  for (int i = 0; i < 2; ++i) {
    tells(bench, check, poll(bench, kAll | kEvery | kMost, i == 1 ? kClear : 0), ids, "a poll of all controllers");
  }
  tells(bench, check, poll(bench, kAll | kEvery | kMost), ids, "a poll of all controllers when nothing has changed");
}

CONFORMANCE_CASE(controller_health_counts_its_entries, "mi.chsp.count", roles::endpoint, arranged("five controllers", &five_controllers)) {
  const std::vector<std::uint16_t> ids = {1, 2, 5, 8, 300};
  for (std::size_t n = 0; n <= ids.size(); ++n) {
    const std::uint32_t first = n < ids.size() ? ids[n] : 301u;
    tells(bench, check, poll(bench, kAll | kEvery | kMost | first),
          std::vector<std::uint16_t>(ids.begin() + static_cast<std::ptrdiff_t>(n), ids.end()), "a poll from " + words(first));
  }
}

CONFORMANCE_CASE(reserved_bytes_of_controller_health_are_zero, "mi.chsp.form", roles::endpoint) {
  const MiAnswer answer = poll(bench, kAll | kEvery | kMost);
  const auto ids = told(bench, check, answer);
  check.require(!ids.empty(), "there are controllers", "no entries");
  check.equal("bits 15:0 of NMRESP", answer.nmresp() & 0xFFFF, 0u);
  check.that(std::is_sorted(ids.begin(), ids.end(), std::less_equal<>()), "identifiers ascend", list(ids));
  const bool with_changes = bench.declared().at_least(1, 2);
  for (std::size_t at = 0; at < answer.data().size(); at += kEntry) {
    const ByteView entry = answer.data().subspan(at, kEntry);
    check.equal("bits 15:9 of CSTS", load_le<std::uint16_t>(&entry[2]) & 0xFE00, 0);
    check.that(entry[7] <= 100, "the spare is a percentage", words(entry[7]));
    check.equal("bits 7:6 of CWARN, but for the power state", entry[8] & 0x80, 0);
    zero(check, entry.subspan(with_changes ? 11 : 9), "reserved bytes of an entry");
  }
}

CONFORMANCE_CASE(no_kind_of_function_means_no_controller, "mi.chsp.functions.none", roles::endpoint) {
  tells(bench, check, poll(bench, kAll | kMost), {}, "a poll without INCF, INCPF and INCVF");
  tells(bench, check, poll(bench, kMost, kSelectAny), {}, "a poll of changes without INCF, INCPF and INCVF");
}

CONFORMANCE_CASE(kinds_of_functions_select_controllers, "mi.chsp.functions", roles::endpoint,
                 arranged("controllers of every kind of function", &every_kind_of_function)) {
  for (std::uint32_t kinds = 0; kinds < 8; ++kinds) {
    std::vector<std::uint16_t> expected;
    if ((kinds & 1) != 0) expected.push_back(1);
    if ((kinds & 2) != 0) expected.push_back(2);
    if ((kinds & 4) != 0) expected.insert(expected.end(), {3, 4});
    tells(bench, check, poll(bench, kAll | kMost | kinds << 24), expected, "a poll with INC bits " + words(kinds));
  }
}

CONFORMANCE_CASE(changes_select_controllers, "mi.chsp.selection", roles::endpoint, arranged("health that changes")) {
  const auto ids = controllers_of(bench);
  subsystem::Subsystem& disk = bench.drive().subsystem();
  const struct {
    Select bit;
    std::string what;
    std::function<void()> event;
  } kEvents[] = {{Select::temperature, "the temperature", [&] { disk.set_temperature(319); }},
                 {Select::life_used, "the life used", [&] { disk.set_percentage_used(9); }},
                 {Select::spare, "the spare", [&] { disk.set_available_spare(88); }},
                 {Select::warning, "a warning", [&] { disk.set_critical_warning(4); }},
                 {Select::status, "the controllers' status", [&] { (void)disk.add_namespace({}); }}};
  for (const auto& [bit, what, event] : kEvents) {
    precondition(check, poll(bench, kAll | kEvery | kMost, kClear), "a poll that clears");
    tells(bench, check, poll(bench, kEvery | kMost, kSelectAny), {}, "a poll for changes when there was none");
    event();
    for (std::uint32_t select = 0; select <= kSelectAny; ++select) {
      tells(bench, check, poll(bench, kEvery | kMost, select), (select & bit) != 0 ? ids : std::vector<std::uint16_t>{},
            "a poll for changes " + words(select) + " after one of " + what);
    }
    tells(bench, check, poll(bench, kAll | kEvery | kMost), ids, "a poll of all, changed or not");
  }
}

CONFORMANCE_CASE(too_many_entries_are_refused, "mi.chsp.maxrent.range", roles::endpoint) {
  for (const std::uint32_t flags : {kAll | kEvery, kEvery, 0u}) {
    invalid_parameter(check, poll(bench, flags | 255u << 16, kSelectAny), {10, 0}, "256 entries");
  }
  success(check, poll(bench, kAll | kEvery | kMost), "255 entries");
}

CONFORMANCE_CASE(no_more_entries_come_than_are_asked_for, "mi.chsp.maxrent", roles::endpoint) {
  const auto ids = controllers_of(bench);
  std::vector<std::uint16_t> seen;
  std::uint32_t next = 0;
  while (seen.size() < ids.size()) {
    const auto part = told(bench, check, poll(bench, kAll | kEvery | next));
    if (!check.that(part.size() == 1, "one entry comes where one is asked for", list(part))) return;
    seen.push_back(part[0]);
    next = part[0] + 1u;
  }
  check.that(seen == ids, "going on behind the last entry tells of every controller, " + list(ids), list(seen));
}

CONFORMANCE_CASE(entries_are_limited_and_go_on, "mi.chsp.maxrent.limit", roles::endpoint, arranged("five controllers", &five_controllers)) {
  const std::vector<std::uint16_t> ids = {1, 2, 5, 8, 300};
  for (std::uint32_t most = 1; most <= 6; ++most) {
    const std::size_t n = std::min<std::size_t>(most, ids.size());
    tells(bench, check, poll(bench, kAll | kEvery | (most - 1) << 16),
          std::vector<std::uint16_t>(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n)), "a poll of at most " + words(most));
  }
  for (const std::uint32_t first : {3u, 4u, 5u}) {
    tells(bench, check, poll(bench, kAll | kEvery | 1u << 16 | first), {5, 8}, "a poll of at most two from " + words(first));
  }
}

CONFORMANCE_CASE(clearing_is_of_the_controllers_that_were_told_of, "mi.chsp.clear", roles::endpoint,
                 arranged("five controllers whose temperature changes", &five_controllers)) {
  precondition(check, poll(bench, kAll | kEvery | kMost, kClear), "a poll that clears");
  bench.drive().subsystem().set_temperature(321);
  const std::vector<std::uint16_t> ids = {1, 2, 5, 8, 300};
  tells(bench, check, poll(bench, kEvery | kMost, Select::temperature), ids, "a poll without CCF");
  tells(bench, check, poll(bench, kEvery | 1u << 16, kClear | Select::temperature), {1, 2}, "a poll of two with CCF");
  tells(bench, check, poll(bench, kEvery | kMost, Select::temperature), {5, 8, 300}, "the next poll");
  tells(bench, check, poll(bench, kAll | kEvery | kMost, kClear), ids, "a poll of all with CCF");
  tells(bench, check, poll(bench, kEvery | kMost, Select::temperature), {}, "a poll after all were cleared");
  bench.drive().subsystem().set_temperature(322);
  tells(bench, check, poll(bench, kEvery | kMost, Select::temperature), ids, "a poll after another change");
}

CONFORMANCE_CASE(changed_flags_are_told_with_the_entry, "mi.chsp.changes", roles::endpoint, needs(revision_2_0),
                 arranged("health that changes")) {
  constexpr std::uint16_t kWatched = mi::change_bits::ctemp | mi::change_bits::pdlu | mi::change_bits::spare | mi::change_bits::cwarn |
                                     mi::change_bits::nac | mi::change_bits::ceco | mi::change_bits::fa;
  constexpr std::uint16_t kInStatus = mi::change_bits::nac | mi::change_bits::ceco | mi::change_bits::fa;
  clear(bench, check);
  bench.drive().subsystem().set_temperature(323);
  bench.drive().subsystem().set_percentage_used(11);
  const auto judge = [&](const MiAnswer& answer, std::uint16_t expected, std::string_view when) {
    check.require(!told(bench, check, answer).empty(), "there are controllers", "no entries");
    for (std::size_t at = 0; at < answer.data().size(); at += kEntry) {
      // Of what is watched, CSTS tells CECO, NAC and FA too, at the same places.
      check.equal("CECO, NAC and FA in CSTS of an entry " + std::string(when), load_le<std::uint16_t>(&answer.data()[at + 2]) & kInStatus,
                  expected & kInStatus);
      check.equal("changes of an entry " + std::string(when), load_le<std::uint16_t>(&answer.data()[at + 9]) & kWatched, expected);
    }
  };
  constexpr std::uint16_t kBoth = mi::change_bits::ctemp | mi::change_bits::pdlu;
  judge(poll(bench, kAll | kEvery | kMost), kBoth, "after two events");
  judge(poll(bench, kAll | kEvery | kMost, kClear), kBoth, "in the poll that clears them");
  judge(poll(bench, kAll | kEvery | kMost), 0, "behind it");
  (void)bench.drive().subsystem().add_namespace({});
  judge(poll(bench, kAll | kEvery | kMost), mi::change_bits::nac, "after a namespace came");
  judge(poll(bench, kAll | kEvery | kMost, kClear), mi::change_bits::nac, "in the poll that clears it");
  judge(poll(bench, kAll | kEvery | kMost), 0, "behind that");
  for (const auto& [change, bit] :
       {std::pair{subsystem::Change::firmware, mi::change_bits::fa}, std::pair{subsystem::Change::enable, mi::change_bits::ceco}}) {
    bench.drive().subsystem().tell(change, 0);
    judge(poll(bench, kAll | kEvery | kMost, kClear), bit, "after another change of status");
    judge(poll(bench, kAll | kEvery | kMost), 0, "when it was cleared");
  }
}

CONFORMANCE_CASE(controller_health_agrees_with_smart, "mi.chsp.smart", roles::endpoint) {
  const MiAnswer answer = poll(bench, kAll | kEvery | kMost);
  const auto ids = told(bench, check, answer);
  check.require(!ids.empty(), "there are controllers", "no entries");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string of = " of controller " + words(ids[i]);
    const ByteView entry = answer.data().subspan(i * kEntry, kEntry);
    const Bytes smart = smart_log(bench, ids[i]);
    const int here = load_le<std::uint16_t>(&entry[4]), there = load_le<std::uint16_t>(&smart[1]);
    check.that(std::abs(here - there) <= (bench.embedded() ? 0 : 2), "the temperature" + of + " is that of the SMART log, " + words(there),
               words(here));
    check.equal("PDLU" + of, entry[6], smart[5]);
    check.equal("the spare" + of, entry[7], smart[3]);
    check.equal("the warnings" + of, entry[8], smart[0]);
  }
}

CONFORMANCE_CASE(controller_health_follows_smart, "mi.chsp.smart", roles::endpoint,
                 arranges{{Request::temperature, Request::percentage_used, Request::available_spare, Request::critical_warning}}) {
  Arranger& drive = bench.arranger();
  for (const auto kelvins : std::initializer_list<std::uint16_t>{250, 273, 330, 420}) {
    drive.temperature(kelvins);
    drive.percentage_used(static_cast<std::uint8_t>(kelvins - 200));
    drive.available_spare(static_cast<std::uint8_t>(kelvins % 100));
    drive.critical_warning(static_cast<std::uint8_t>(kelvins % 0x3F));
    const MiAnswer answer = poll(bench, kAll | kEvery | kMost);
    const auto ids = told(bench, check, answer);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const ByteView entry = answer.data().subspan(i * kEntry, kEntry);
      const Bytes smart = smart_log(bench, ids[i]);
      check.bytes("temperature at " + words(kelvins) + " K", entry.subspan(4, 2), ByteView{smart}.subspan(1, 2));
      check.equal("PDLU", entry[6], smart[5]);
      check.equal("the spare", entry[7], smart[3]);
      check.equal("the warnings", entry[8], smart[0]);
    }
  }
}

namespace {

constexpr std::uint8_t kTemperature = 1u << 1;  // of the warnings
constexpr std::uint32_t kNever = 0xFFFF;        // a threshold that no temperature reaches

auto several_controllers(EndpointBench& bench, Check& check) {
  const auto ids = controllers_of(bench);
  check.precondition(ids.size() >= 2, "two controllers");
  return ids;
}

void limit_temperature(EndpointBench& bench, Check& check, std::uint16_t cntlid, std::uint32_t kelvins) {
  nvme::Sqe sqe;
  sqe.set(nvme::sqe::opcode, nvme::AdminOpcode::set_features)
      .set(nvme::sqe::cdw10, static_cast<std::uint32_t>(nvme::FeatureId::temperature_threshold))
      .set(nvme::sqe::cdw11, kelvins);
  check.precondition(bench.admin(cntlid, sqe, 0, 0).admin_ok(), "a temperature threshold can be set");
}

}  // namespace

CONFORMANCE_CASE(warnings_are_of_their_controller, "mi.chsp.warning.own", roles::endpoint,
                 arranged("a temperature threshold of each controller")) {
  const auto ids = several_controllers(bench, check);
  const auto limit = [&](std::uint16_t cntlid, std::uint32_t kelvins) { limit_temperature(bench, check, cntlid, kelvins); };
  const std::uint16_t now = bench.drive().subsystem().temperature();
  for (const std::uint16_t id : ids) limit(id, kNever);
  for (const std::uint16_t warm : ids) {
    precondition(check, poll(bench, kAll | kEvery | kMost, kClear), "a poll that clears");
    limit(warm, now - 10u);
    const MiAnswer answer = poll(bench, kAll | kEvery | kMost);
    const auto all = told(bench, check, answer);
    for (std::size_t i = 0; i < all.size(); ++i) {
      check.equal(fmt::format("the temperature warning of controller {} when {} is above its threshold", all[i], warm),
                  (answer.data()[i * kEntry + 8] & kTemperature) != 0, all[i] == warm);
    }
    tells(bench, check, poll(bench, kEvery | kMost, Select::warning), {warm},
          fmt::format("a poll of warnings that changed, when {} is above its threshold", warm));
    limit(warm, kNever);
  }
}

CONFORMANCE_CASE(a_warning_of_any_controller_is_the_subsystems, "mi.health.warnings", roles::endpoint,
                 arranged("a temperature threshold of each controller")) {
  const auto ids = several_controllers(bench, check);
  const std::uint16_t now = bench.drive().subsystem().temperature();
  const auto told_as = [&](bool warns, const std::string& what) {
    const std::uint8_t inverted = View<mi::SubsystemHealth>{health(bench, check)}.get(mi::subsystem_health::sw);
    check.equal("the temperature warning, inverted, " + what, (inverted & kTemperature) != 0, !warns);
  };
  for (const std::uint16_t id : ids) limit_temperature(bench, check, id, kNever);
  told_as(false, "when no controller is above its threshold");
  for (const std::uint16_t warm : ids) {
    limit_temperature(bench, check, warm, now - 10u);
    told_as(true, fmt::format("when controller {} is above its threshold", warm));
    limit_temperature(bench, check, warm, kNever);
  }
}

}  // namespace fb::conformance
