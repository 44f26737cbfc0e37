// The status of controllers, as the two health polls tell it.
#include <fmt/ranges.h>

#include <map>

#include "conformance/cases/mi/commands.h"
#include "model/drive/drive.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/fabrics/property.h"
#include "wire/mi/health.h"

namespace fb::conformance {
namespace {

namespace bits = mi::change_bits;
namespace entry_field = mi::controller_health;

constexpr std::size_t kEntry = mi::ControllerHealth::size;
constexpr std::uint32_t kAll = 1u << 31, kEvery = 7u << 24, kMost = 254u << 16;
constexpr std::uint32_t kClear = 1u << 31, kStatus = 1, kTemperature = 2;

/// What is polled, by controller.
std::map<std::uint16_t, Bytes> entries(EndpointBench& bench, Check& check, std::uint32_t nmd0, std::uint32_t nmd1 = 0) {
  const MiAnswer answer = bench.command(mi::Opcode::controller_health_poll, nmd0 | kEvery | kMost, nmd1);
  check.require(success(check, answer, "Controller Health Status Poll") && answer.data().size() % kEntry == 0, "the poll has whole entries",
                answer.describe());
  std::map<std::uint16_t, Bytes> told;
  for (std::size_t at = 0; at < answer.data().size(); at += kEntry) {
    const ByteView entry = answer.data().subspan(at, kEntry);
    told[load_le<std::uint16_t>(entry.data())] = {entry.begin(), entry.end()};
  }
  return told;
}
void clear_all(EndpointBench& bench, Check& check) {
  entries(bench, check, kAll, kClear);
  health(bench, check, true);
}
std::uint16_t composite(EndpointBench& bench, Check& check, bool clear = false) {
  return View<mi::SubsystemHealth>{health(bench, check, clear)}.get(mi::subsystem_health::ccs);
}

subsystem::Controller& controller(EndpointBench& bench, std::uint16_t id) {
  subsystem::Controller* const found = bench.drive().subsystem().find_controller(id);
  if (found == nullptr) throw CannotArrange{"no controller of that identifier"};
  return *found;
}
/// A driver enables the controller, or disables it, and waits as long as it takes.
void enable(EndpointBench& bench, std::uint16_t id, bool on) {
  constexpr std::uint32_t kQueueEntries = 6u << 16 | 4u << 20;
  controller(bench, id).write_register(fabrics::property::cc, on ? kQueueEntries | 1u : 0u);
  bench.world().run_for(Duration::s(2));
}
void shut_down(EndpointBench& bench, std::uint16_t id) {
  controller(bench, id).shut_down();
  bench.world().run_for(Duration::s(2));
}

/// Every entry tells the state of its controller.
void as_registers(EndpointBench& bench, Check& check, std::string_view when) {
  for (const auto& [id, entry] : entries(bench, check, kAll)) {
    const auto csts = record_from_integer<fabrics::Csts>(controller(bench, id).csts());
    const View<mi::ControllerHealth> told{entry};
    const std::string of = fmt::format(" of controller {} {}", id, when);
    check.equal("RDY" + of, told.get(entry_field::rdy), csts.get(fabrics::csts::rdy));
    check.equal("CFS" + of, told.get(entry_field::cfs), csts.get(fabrics::csts::cfs));
    check.equal("SHST" + of, told.get(entry_field::shst), csts.get(fabrics::csts::shst));
    check.equal("NSSRO" + of, told.get(entry_field::nssro), csts.get(fabrics::csts::nssro));
  }
}

std::vector<std::uint16_t> changed(EndpointBench& bench, Check& check, std::uint32_t select) {
  std::vector<std::uint16_t> ids;
  for (const auto& [id, entry] : entries(bench, check, 0, select)) ids.push_back(id);
  return ids;
}
std::string list(const std::vector<std::uint16_t>& ids) { return fmt::format("{}", fmt::join(ids, ", ")); }
void are(Check& check, const std::vector<std::uint16_t>& ids, const std::vector<std::uint16_t>& expected, std::string_view what) {
  if (ids != expected) check.fails(what, {list(expected)}, list(ids));
  check.equal("controllers of " + std::string(what), ids.size(), expected.size());
}

void three_controllers(EmbeddedSetup& setup) { setup.managed->drive.subsystem.static_cntlids = {1, 4, 9}; }

}  // namespace

CONFORMANCE_CASE(entries_have_the_status_of_their_controllers, "mi.chsp.status", roles::endpoint,
                 arranged("controllers in different states", &three_controllers)) {
  as_registers(bench, check, "at first");
  enable(bench, 4, true);
  check.precondition((controller(bench, 4).csts() & 1) != 0, "a controller that is ready");
  as_registers(bench, check, "when the second is ready");
  enable(bench, 9, true);
  shut_down(bench, 9);
  as_registers(bench, check, "when the third is shut down");
  enable(bench, 4, false);
  as_registers(bench, check, "when the second is disabled");
  // A subsystem reset is of every controller.
  if (!bench.declared().supports({mi::MessageKind::mi_command, static_cast<std::uint8_t>(mi::Opcode::reset)})) return;
  reset_and_return(bench, check);
  as_registers(bench, check, "after a subsystem reset");
  if (record_from_integer<fabrics::Csts>(controller(bench, 4).csts()).get(fabrics::csts::nssro)) {
    are(check, changed(bench, check, kStatus), {1, 4, 9}, "a poll for changes of status after a subsystem reset");
  }
}

CONFORMANCE_CASE(a_change_is_of_one_controller, "mi.chsp.status.own", roles::endpoint,
                 arranged("controllers in different states", &three_controllers)) {
  clear_all(bench, check);
  are(check, changed(bench, check, kStatus), {}, "a poll for changes when there was none");
  enable(bench, 4, true);
  are(check, changed(bench, check, kStatus), {4}, "a poll for changes after one became ready");
  shut_down(bench, 9);
  are(check, changed(bench, check, kStatus), {4, 9}, "a poll for changes after another was shut down");
}

CONFORMANCE_CASE(a_ready_controller_is_a_change, "mi.health.changes.status", roles::endpoint,
                 arranged("controllers in different states", &three_controllers)) {
  clear_all(bench, check);
  check.precondition((composite(bench, check) & (bits::rdy | bits::shst)) == 0, "a composite status that is clear");
  enable(bench, 4, true);
  check.equal("RDY after a controller became ready", composite(bench, check) & bits::rdy, bits::rdy);
  clear_all(bench, check);
  shut_down(bench, 9);
  check.equal("SHST after a controller was shut down", composite(bench, check) & bits::shst, bits::shst);
  clear_all(bench, check);
  // Entry sizes that no queue can have.
  controller(bench, 1).write_register(fabrics::property::cc, 0);
  bench.world().run_for(Duration::s(2));
  clear_all(bench, check);
  controller(bench, 1).write_register(fabrics::property::cc, 1);
  bench.world().run_for(Duration::s(2));
  check.precondition(record_from_integer<fabrics::Csts>(controller(bench, 1).csts()).get(fabrics::csts::cfs), "the controller fails");
  check.equal("CFS after a controller failed", composite(bench, check) & bits::cfs, bits::cfs);
}

CONFORMANCE_CASE(either_clearing_is_its_own, "mi.health.clear.composite", roles::endpoint,
                 arranged("a temperature that changes", &three_controllers)) {
  clear_all(bench, check);
  bench.drive().subsystem().set_temperature(320);
  entries(bench, check, kAll, kClear);
  check.equal("CTEMP of the composite status after a poll with CCF", composite(bench, check) & bits::ctemp, bits::ctemp);
  bench.drive().subsystem().set_temperature(321);
  composite(bench, check, true);
  are(check, changed(bench, check, kTemperature), {1, 4, 9}, "a poll for changes after one with CS");
}

}  // namespace fb::conformance
