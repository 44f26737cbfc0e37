// NVM Subsystem Health Status Poll: its form, what it agrees with, and what counts as changed.
#include <functional>

#include <fmt/format.h>

#include "conformance/cases/mi/commands.h"
#include "conformance/cases/mi/structures.h"
#include "conformance/runner/arranger.h"
#include "model/drive/drive.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {
namespace {

namespace bits = mi::change_bits;

constexpr std::uint32_t kClear = 0x80000000;

MiAnswer poll(EndpointBench& bench, bool clear = false) { return bench.command(mi::Opcode::subsystem_health_poll, 0, clear ? kClear : 0); }
/// The eight bytes; the case ends without them.
Bytes health_of(EndpointBench& bench, Check& check, bool clear = false) {
  const MiAnswer answer = poll(bench, clear);
  check.require(answer.ok() && answer.data().size() == mi::SubsystemHealth::size, "the poll has eight bytes",
                answer.describe() + ", " + words(answer.data().size()) + " bytes");
  return Bytes(answer.data().begin(), answer.data().end());
}
std::uint16_t changes_of(EndpointBench& bench, Check& check, bool clear = false) {
  return load_le<std::uint16_t>(&health_of(bench, check, clear)[4]);
}

/// CTEMP as the documents number it.
std::uint8_t celsius_of(int kelvins) {
  const int celsius = kelvins - 273;
  return static_cast<std::uint8_t>(celsius >= 127 ? 0x7F : celsius <= -60 ? 0xC4 : celsius);
}

std::uint8_t warnings_of(EndpointBench& bench) {
  std::uint8_t warnings = 0;
  for (const std::uint16_t id : controllers_of(bench)) warnings = static_cast<std::uint8_t>(warnings | smart_log(bench, id)[0]);
  return warnings;
}

constexpr std::uint16_t kWatched = bits::nac | bits::ctemp | bits::pdlu | bits::spare | bits::cwarn;

/// What an event does to the composite status: its bit alone among those that are watched.
void changes(EndpointBench& bench, Check& check, std::uint16_t bit, std::string_view what, const std::function<void(Arranger&)>& event) {
  clear_changed_flags(bench, check);
  changes_of(bench, check, true);
  check.precondition((changes_of(bench, check) & kWatched) == 0, "a composite status that is clear");
  event(bench.arranger());
  check.equal("what has changed with " + std::string(what), changes_of(bench, check) & kWatched, bit);
}

}  // namespace

CONFORMANCE_CASE(subsystem_health_is_eight_bytes, "mi.health.form", roles::endpoint) {
  for (const bool clear : {false, true}) {
    const MiAnswer answer = poll(bench, clear);
    if (!success(check, answer, "the subsystem's health")) return;
    check.equal("bytes of the subsystem's health", answer.data().size(), mi::SubsystemHealth::size);
    check.equal("NMRESP", answer.nmresp(), 0u);
    check.require(answer.data().size() == mi::SubsystemHealth::size, "there are eight bytes");
    const ByteView data = answer.data();
    check.equal("bit 0 of the subsystem status", data[0] & 0x01, 0);
    check.equal("bit 7 of the inverted warnings", data[1] & 0x80, 0x80);
    check.that(data[2] < 0x82 || data[2] > 0xC3, "CTEMP is no reserved value", words(data[2]));
    const auto ccs = load_le<std::uint16_t>(&data[4]);
    check.equal("bits 3, 14 and 15 of the composite status", ccs & 0xC008, 0);
    zero(check, data.subspan(6), "bytes 6 and 7");
  }
}

CONFORMANCE_CASE(subsystem_status_tells_of_the_links, "mi.health.links", roles::endpoint) {
  const Bytes health = health_of(bench, check);
  std::vector<bool> up;
  const MiAnswer info = read_structure(bench, mi::DataType::subsystem_information);
  precondition(check, info, "subsystem information");
  for (unsigned port = 0; port <= info.data()[0]; ++port) {
    const MiAnswer answer = read_structure(bench, mi::DataType::port_information, 0, static_cast<std::uint8_t>(port));
    precondition(check, answer, "port information");
    check.precondition(answer.data().size() == 32, "port information of 32 bytes");
    if (answer.data()[0] == static_cast<std::uint8_t>(mi::PortType::pcie)) up.push_back(answer.data()[12] != 0);
  }
  const View<mi::SubsystemHealth> view{health};
  if (!up.empty())
    check.equal("P0LA, where the link of the first PCI Express port says the width", view.get(mi::subsystem_health::p0la), up[0]);
  check.equal("P1LA", view.get(mi::subsystem_health::p1la), up.size() > 1 && up[1]);
}

CONFORMANCE_CASE(a_link_that_goes_down_is_told, "mi.health.links.down", roles::endpoint, arranges{{Request::link}}) {
  const auto port = bench.declared().port_of(mi::PortType::pcie);
  if (!port) throw NotOffered{"no PCI Express port"};
  for (const bool active : {false, true}) {
    bench.arranger().link(*port, active);
    check.equal("P0LA", View<mi::SubsystemHealth>{health_of(bench, check)}.get(mi::subsystem_health::p0la), active);
  }
}

CONFORMANCE_CASE(a_drive_that_fails_says_so, "mi.health.functional", roles::endpoint, arranged("a drive that fails, and one to be reset")) {
  const auto judge = [&](bool functional, bool reset_required) {
    bench.drive().device().set_functional(functional);
    bench.drive().device().set_reset_required(reset_required);
    const Bytes health = health_of(bench, check);
    const View<mi::SubsystemHealth> view{health};
    check.equal("DF", view.get(mi::subsystem_health::df), functional);
    check.equal("RNR", view.get(mi::subsystem_health::rnr), !reset_required);
  };
  judge(true, false);
  judge(false, false);
  judge(true, true);
  judge(false, true);
  if (!bench.declared().supports({mi::MessageKind::mi_command, static_cast<std::uint8_t>(mi::Opcode::reset)})) return;
  reset_and_return(bench, check);
  check.that(View<mi::SubsystemHealth>{health_of(bench, check)}.get(mi::subsystem_health::rnr), "RNR is set after the reset");
}

CONFORMANCE_CASE(subsystem_warnings_are_those_of_smart_inverted, "mi.health.warnings", roles::endpoint) {
  const std::uint8_t warnings = warnings_of(bench);
  check.equal("SMART warnings, inverted", health_of(bench, check)[1], static_cast<std::uint8_t>(~warnings));
}

CONFORMANCE_CASE(each_warning_clears_its_bit, "mi.health.warnings.each", roles::endpoint, arranges{{Request::critical_warning}}) {
  for (unsigned bit = 0; bit < 6; ++bit) {
    bench.arranger().critical_warning(static_cast<std::uint8_t>(1u << bit));
    check.equal("SMART warnings, inverted, with bit " + words(bit), health_of(bench, check)[1], static_cast<std::uint8_t>(~(1u << bit)));
    check.equal("warnings of the SMART log", warnings_of(bench), 1u << bit);
  }
  bench.arranger().critical_warning(0x3F);
  check.equal("SMART warnings, inverted, with all", health_of(bench, check)[1], 0xC0);
}

CONFORMANCE_CASE(subsystem_temperature_is_that_of_smart, "mi.health.temperature", roles::endpoint) {
  const Bytes smart = smart_log(bench, controllers_of(bench).front());
  const int kelvins = load_le<std::uint16_t>(&smart[1]);
  const std::uint8_t code = health_of(bench, check)[2];
  check.precondition(code != mi::kTemperatureStale && code != mi::kTemperatureFailed, "a temperature");
  bool close = false;
  for (int off = -2; off <= 2; ++off) close = close || code == celsius_of(kelvins + off);
  check.that(close, "CTEMP is the " + words(kelvins) + " kelvins of the SMART log in degrees Celsius, give or take two", words(code));
}

CONFORMANCE_CASE(temperatures_saturate, "mi.health.temperature.range", roles::endpoint, arranges{{Request::temperature}}) {
  for (const auto kelvins : std::initializer_list<std::uint16_t>{180, 212, 213, 214, 272, 273, 274, 310, 398, 399, 400, 401, 600}) {
    bench.arranger().temperature(kelvins);
    check.equal("CTEMP at " + words(kelvins) + " K", health_of(bench, check)[2], celsius_of(kelvins));
  }
}

CONFORMANCE_CASE(a_sensor_that_fails_is_told, "mi.health.sensor", roles::endpoint, arranged("a temperature sensor that fails")) {
  const struct {
    mi::Sensor sensor;
    std::uint8_t code;
    std::string what;
  } kSensors[] = {{mi::Sensor::stale, 0x80, "no reading for more than 5 s"},
                  {mi::Sensor::failed, 0x81, "a failed sensor"},
                  {mi::Sensor::good, celsius_of(310), "a good sensor"}};
  bench.drive().subsystem().set_temperature(310);
  for (const auto& [sensor, code, what] : kSensors) {
    bench.drive().device().set_sensor(sensor);
    check.equal("CTEMP with " + what, health_of(bench, check)[2], code);
  }
}

CONFORMANCE_CASE(subsystem_life_used_is_that_of_smart, "mi.health.life-used", roles::endpoint) {
  const Bytes smart = smart_log(bench, controllers_of(bench).front());
  check.equal("PDLU", health_of(bench, check)[3], smart[5]);
}

CONFORMANCE_CASE(life_used_passes_a_hundred, "mi.health.life-used.range", roles::endpoint, arranges{{Request::percentage_used}}) {
  for (const auto percent : std::initializer_list<std::uint8_t>{0, 1, 50, 99, 100, 101, 200, 254, 255}) {
    bench.arranger().percentage_used(percent);
    check.equal("PDLU", health_of(bench, check)[3], percent);
  }
}

CONFORMANCE_CASE(another_temperature_is_a_change, "mi.health.changes.temperature", roles::endpoint, arranges{{Request::temperature}}) {
  changes(bench, check, bits::ctemp, "the temperature", [](Arranger& drive) { drive.temperature(313); });
}
CONFORMANCE_CASE(more_life_used_is_a_change, "mi.health.changes.life-used", roles::endpoint, arranges{{Request::percentage_used}}) {
  changes(bench, check, bits::pdlu, "the life used", [](Arranger& drive) { drive.percentage_used(7); });
}
CONFORMANCE_CASE(less_spare_is_a_change, "mi.health.changes.spare", roles::endpoint, arranges{{Request::available_spare}}) {
  changes(bench, check, bits::spare, "the spare", [](Arranger& drive) { drive.available_spare(93); });
}
CONFORMANCE_CASE(a_warning_is_a_change, "mi.health.changes.warning", roles::endpoint, arranges{{Request::critical_warning}}) {
  changes(bench, check, bits::cwarn, "a warning", [](Arranger& drive) { drive.critical_warning(4); });
}
CONFORMANCE_CASE(another_namespace_is_a_change, "mi.health.changes.namespace", roles::endpoint, arranged("a namespace that comes")) {
  changes(bench, check, bits::nac, "a namespace", [&bench](Arranger&) { (void)bench.drive().subsystem().add_namespace({}); });
}

CONFORMANCE_CASE(changes_are_told_until_they_are_cleared, "mi.health.clear.kept", roles::endpoint, arranges{{Request::temperature}}) {
  clear_changed_flags(bench, check);
  changes_of(bench, check, true);
  bench.arranger().temperature(315);
  for (int i = 0; i < 3; ++i) {
    check.equal("CTEMP among the changes, poll " + words(i), changes_of(bench, check) & bits::ctemp, bits::ctemp);
  }
}

CONFORMANCE_CASE(clearing_tells_the_changes_first, "mi.health.clear", roles::endpoint,
                 arranges{{Request::temperature, Request::available_spare}}) {
  clear_changed_flags(bench, check);
  changes_of(bench, check, true);
  bench.arranger().temperature(316);
  bench.arranger().available_spare(90);
  check.equal("changes in the poll that clears them", changes_of(bench, check, true) & kWatched, bits::ctemp | bits::spare);
  check.equal("changes afterwards", changes_of(bench, check), 0);
  clear_changed_flags(bench, check);
  bench.arranger().temperature(317);
  check.equal("changes after another event", changes_of(bench, check) & kWatched, bits::ctemp);
}

CONFORMANCE_CASE(endpoints_keep_their_own_changes, "mi.health.endpoints", roles::endpoint, over_buses,
                 arranged("a second endpoint", [](EmbeddedSetup& setup) { setup.managed->second_endpoint = true; })) {
  const auto use = [&](bool second) {
    bench.peer().set_product(second ? kSecondEndpointEid : bench.eid(), product_address_on(bench.medium(), second ? 1 : 0));
  };
  for (const bool second : {false, true}) {
    use(second);
    clear_changed_flags(bench, check);
    changes_of(bench, check, true);
  }
  bench.drive().subsystem().set_temperature(318);
  use(true);
  check.equal("changes at the second endpoint, cleared", changes_of(bench, check, true) & kWatched, bits::ctemp);
  use(false);
  check.equal("changes at the first endpoint", changes_of(bench, check, true) & kWatched, bits::ctemp);
  use(true);
  check.equal("changes at the second endpoint afterwards", changes_of(bench, check), 0);
}

CONFORMANCE_CASE(each_port_has_its_own_link, "mi.health.links.second", roles::endpoint,
                 arranged("two PCI Express ports",
                          [](EmbeddedSetup& setup) { setup.managed->drive.device.ports.push_back({.type = mi::PortType::pcie}); })) {
  constexpr std::uint8_t kFirst = 0, kSecond = 2;
  for (const auto& [first, second] : {std::pair{true, false}, {false, true}, {false, false}, {true, true}}) {
    bench.drive().device().set_link(kFirst, first);
    bench.drive().device().set_link(kSecond, second);
    const Bytes bytes = health_of(bench, check);
    const View<mi::SubsystemHealth> view{bytes};
    check.equal("P0LA", view.get(mi::subsystem_health::p0la), first);
    check.equal("P1LA", view.get(mi::subsystem_health::p1la), second);
    for (const auto& [port, active] : {std::pair{kFirst, first}, {kSecond, second}}) {
      const MiAnswer answer = read_structure(bench, mi::DataType::port_information, 0, port);
      check.require(success(check, answer, "port information") && answer.data().size() == mi::PciePortInfo::size,
                    "port information is read", answer.describe());
      const View<mi::PciePortInfo> info{answer.data()};
      check.equal(fmt::format("a speed of the link of port {}", port), info.get(mi::port_info::cls) != 0, active);
      check.equal(fmt::format("a width of the link of port {}", port), info.get(mi::port_info::nlw) != 0, active);
    }
  }
}

CONFORMANCE_CASE(a_sanitize_that_failed_is_told, "mi.health.sanitize", roles::endpoint, needs(revision_2_0),
                 arranged("a drive that could not be sanitized")) {
  for (const bool failed : {false, true, false}) {
    bench.drive().device().set_sanitize_failed(failed);
    const Bytes bytes = health_of(bench, check);
    check.equal("SFM", View<mi::SubsystemHealth>{bytes}.get(mi::subsystem_health::sfm), failed);
  }
}

}  // namespace fb::conformance
