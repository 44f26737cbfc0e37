// Zone Management Receive.
#include "conformance/cases/nvme/zone_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {

namespace {

constexpr std::size_t kShown = 8;
constexpr std::size_t kReportRoom = nvme::ZoneReportHeader::size + kShown * nvme::ZoneDescriptor::size;

std::vector<nvme::ZoneFacts> zones_in(Check& check, const host::RawReply& reply) {
  check.require_success(reply, "Zone Management Receive");
  std::vector<nvme::ZoneFacts> list = nvme::read_zone_report(reply.data);
  check.require(!list.empty(), "zones are reported", "none is");
  return list;
}

std::uint64_t count_in(Check& check, const host::RawReply& reply) {
  check.require_success(reply, "Zone Management Receive");
  return load_le<std::uint64_t>(reply.data.data());
}

}  // namespace

CONFORMANCE_CASE(zones_are_reported_in_order, "nvme.zones.report.order", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  std::uint64_t expected = 0;
  for (const nvme::ZoneFacts& zone : zones_in(check, scene.report(0, kReportRoom))) {
    check.equal("ZSLBA of the next zone", zone.start, expected);
    expected = zone.start + scene.size();
  }
}

CONFORMANCE_CASE(report_begins_where_it_is_told, "nvme.zones.report.start", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  const std::uint64_t second = scene.size();
  const auto from_start = zones_in(check, scene.report(second, kReportRoom));
  check.equal("first zone of a report from the start of a zone", from_start.front().start, second);
  const auto from_within = zones_in(check, scene.report(second + 5, kReportRoom));
  check.equal("first zone of a report from within a zone", from_within.front().start, second);
}

CONFORMANCE_CASE(report_options_choose_states, "nvme.zones.report.option", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check, plainly_zoned, 4);
  scene.open(scene.zone(0));
  scene.fill(scene.zone(1), 2);
  scene.fill(scene.zone(2), 2);
  scene.close(scene.zone(2));
  scene.finish(scene.zone(3));
  const auto only = [&](ZoneReporting option, std::uint64_t start, ZoneState state) {
    const auto list = zones_in(check, scene.report(0, kReportRoom, option));
    for (const nvme::ZoneFacts& zone : list) check.equal("state of a zone that is reported", zone.state, state);
    const bool has = std::any_of(list.begin(), list.end(), [&](const auto& zone) { return zone.start == start; });
    check.that(has || list.size() == kShown, "the zone in that state is reported", "it is not");
  };
  only(ZoneReporting::explicitly_opened, scene.zone(0), ZoneState::explicitly_opened);
  only(ZoneReporting::closed, scene.zone(2), ZoneState::closed);
  only(ZoneReporting::full, scene.zone(3), ZoneState::full);
}

CONFORMANCE_CASE(each_state_has_its_report, "nvme.zones.report.option.each", roles::controller, failing_zones, zones) {
  ZoneScene scene(bench, check, plainly_zoned, 7);
  subsystem::Namespace& ns = *bench.subsystem().find_namespace(scene.nsid());
  scene.fill(scene.zone(1), 2);
  scene.open(scene.zone(2));
  scene.fill(scene.zone(3), 2);
  scene.close(scene.zone(3));
  scene.finish(scene.zone(4));
  bench.subsystem().make_zone_read_only(ns, ns.zones()->index_of(scene.zone(5)));
  bench.subsystem().take_zone_offline(ns, ns.zones()->index_of(scene.zone(6)));
  const struct {
    ZoneReporting option;
    ZoneState state;
  } kinds[] = {{ZoneReporting::empty, ZoneState::empty},
               {ZoneReporting::implicitly_opened, ZoneState::implicitly_opened},
               {ZoneReporting::explicitly_opened, ZoneState::explicitly_opened},
               {ZoneReporting::closed, ZoneState::closed},
               {ZoneReporting::full, ZoneState::full},
               {ZoneReporting::read_only, ZoneState::read_only},
               {ZoneReporting::offline, ZoneState::offline}};
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    const std::string name(nvme::name_of(kinds[i].state));
    scene.precondition(scene.zone(i), kinds[i].state);
    const auto reply = scene.report(scene.zone(i), kReportRoom, kinds[i].option);
    check.require_success(reply, "Zone Management Receive");
    const auto list = nvme::read_zone_report(reply.data);
    check.that(!list.empty() && list.front().start == scene.zone(i), "the zone that is " + name + " is reported first",
               list.empty() ? "no zone is" : "another one is");
    for (const nvme::ZoneFacts& zone : list) check.equal("state of a zone that is reported", zone.state, kinds[i].state);
  }
}

CONFORMANCE_CASE(report_counts_all_zones, "nvme.zones.report.count", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  const std::uint64_t all = scene.facts.blocks / scene.size();
  const std::size_t one = nvme::ZoneReportHeader::size + nvme::ZoneDescriptor::size;
  check.equal("zones in all, of a report with room for one", count_in(check, scene.report(0, one)), all);
  check.equal("zones in all, of a report with room for none", count_in(check, scene.report(0, nvme::ZoneReportHeader::size)), all);
}

CONFORMANCE_CASE(partial_report_counts_what_it_has, "nvme.zones.report.partial", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  const std::size_t two = nvme::ZoneReportHeader::size + 2 * nvme::ZoneDescriptor::size;
  const auto partial = [&](std::size_t bytes) { return count_in(check, scene.report(0, bytes, ZoneReporting::all, true)); };
  check.equal("zones of a partial report with room for two", partial(two), 2u);
  check.equal("the same with room for two and a half", partial(two + 32), 2u);
}

CONFORMANCE_CASE(zone_descriptors_make_sense, "nvme.zones.report.descriptor", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  for (const nvme::ZoneFacts& zone : zones_in(check, scene.report(0, kReportRoom))) {
    check.equal("type of a zone", zone.type, nvme::kSequentialWriteRequired);
    check.between("capacity of a zone", zone.capacity, std::uint64_t{0}, scene.size());
  }
}

CONFORMANCE_CASE(empty_zone_begins_at_its_start, "nvme.zones.report.pointer", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  scene.precondition(scene.zone(0), ZoneState::empty);
  check.equal("write pointer of an empty zone", scene.pointer(scene.zone(0)), scene.zone(0));
}

CONFORMANCE_CASE(reserved_receive_action_is_refused, "nvme.zones.report.action", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  auto command = host::zone_report(scene.nsid(), 0, kReportRoom);
  command.set(nvme::zone_receive_sqe::zra, static_cast<nvme::ZoneReceiveAction>(0x42));
  check.refused(scene.io->send(command, kReportRoom).wait(), "Zone Receive Action 42h");
}

CONFORMANCE_CASE(extended_report_needs_extensions, "nvme.zones.report.extended.unsupported", roles::controller, zoned_namespaces,
                 needs(has_zoned<has_no_extensions>)) {
  ZoneScene scene(bench, check, has_no_extensions);
  auto command = host::zone_report(scene.nsid(), 0, kReportRoom);
  command.set(nvme::zone_receive_sqe::zra, nvme::ZoneReceiveAction::extended_report);
  check.status(scene.io->send(command, kReportRoom).wait(), sc::invalid_field, "an extended report without extensions");
}

CONFORMANCE_CASE(reserved_report_option_is_refused, "nvme.zones.report.option.reserved", roles::controller, zoned_namespaces, zones,
                 reaches{"zone.receive.option"}) {
  ZoneScene scene(bench, check);
  check.refused(scene.report(0, kReportRoom, static_cast<ZoneReporting>(0xFF)), "Reporting Options FFh");
}

CONFORMANCE_CASE(report_from_beyond_the_namespace_is_refused, "nvme.zones.report.range", roles::controller, zoned_namespaces, zones,
                 reaches{"zone.receive.range"}) {
  ZoneScene scene(bench, check);
  check.refused(scene.report(scene.facts.blocks, kReportRoom), "SLBA of NSZE");
}

}  // namespace fb::conformance
