// Flexible Data Placement: feature 1Eh and log page 23h.
#include <fmt/format.h>

#include "conformance/cases/nvme/fdp_scene.h"

namespace fb::conformance {

namespace {

using nvme::FdpEventType;
namespace fe = nvme::fdp_event;

/// The placement handles of the namespace of a case.
constexpr std::uint16_t kBoth[] = {0, 1};

/// A namespace with two placement handles that hosts may direct writes to.
std::uint32_t prepared(FdpScene& scene) {
  (void)scene.group(2);
  const std::uint32_t nsid = scene.made({0, 1});
  scene.directed(nsid);
  return nsid;
}
/// A write that makes the event of an invalid placement identifier.
void write_invalid(FdpScene& scene, std::uint32_t nsid) { scene.written(nsid, 0, 8, scene.invalid_handle(2)); }
std::vector<Record<nvme::FdpEvent>> of_type(const std::vector<Record<nvme::FdpEvent>>& events, FdpEventType type, std::uint32_t nsid) {
  std::vector<Record<nvme::FdpEvent>> found;
  for (const auto& event : events) {
    const bool ours = !event.get(fe::nsidv) || event.get(fe::nsid) == nsid;
    if (event.get(fe::etyp) == type && ours) found.push_back(event);
  }
  return found;
}
std::size_t count_of(const std::vector<Record<nvme::FdpEvent>>& events, FdpEventType type) {
  return static_cast<std::size_t>(std::count_if(events.begin(), events.end(), [type](const auto& e) { return e.get(fe::etyp) == type; }));
}

/// A type of event that the product has.
FdpEventType first_type(FdpScene& scene, Check& check, std::uint32_t nsid, std::uint16_t handle) {
  const auto types = scene.types(nsid, handle);
  check.precondition(!types.empty(), "the product has a type of event");
  return types.front().get(nvme::fdp_event_support::fdpet);
}

}  // namespace

// ---- feature 1Eh ----

CONFORMANCE_CASE(fdp_event_types_are_listed_in_order, "nvme.fdp.events.types.order", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  std::vector<unsigned> types;
  for (const auto& one : scene.types(nsid, 0)) types.push_back(static_cast<unsigned>(one.get(nvme::fdp_event_support::fdpet)));
  check.that(std::adjacent_find(types.begin(), types.end(), std::greater_equal<>()) == types.end(), "the types of events ascend");
}

CONFORMANCE_CASE(fdp_event_types_are_counted, "nvme.fdp.events.types.count", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  const auto reply = scene.get_types(nsid, 0);
  check.require_success(reply, "Get Features 1Eh");
  const std::size_t counted = reply.dw0() & 0xFF;
  bool any = false;  // type 0h that is disabled looks like nothing
  for (std::size_t i = 2 * counted; i < reply.data.size(); ++i) any = any || reply.data[i] != 0;
  check.that(!any, "NOET in DW0 counts every type that is listed", std::to_string(counted));
}

CONFORMANCE_CASE(fdp_events_can_be_enabled, "nvme.fdp.events.enable", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  for (const auto& one : scene.types(nsid, 1)) {
    const FdpEventType type = one.get(nvme::fdp_event_support::fdpet);
    check.success(scene.enable_event(nsid, 1, type), fmt::format("Set Features 1Eh of type {:02X}h", static_cast<unsigned>(type)));
    check.that(scene.enabled(nsid, 1, type), fmt::format("type {:02X}h is enabled", static_cast<unsigned>(type)));
  }
  // Types that were enabled one by one are enabled together.
  for (const auto& one : scene.types(nsid, 1)) {
    const FdpEventType type = one.get(nvme::fdp_event_support::fdpet);
    check.that(scene.enabled(nsid, 1, type), fmt::format("type {:02X}h is enabled in the end", static_cast<unsigned>(type)));
  }
}

CONFORMANCE_CASE(fdp_events_can_be_disabled, "nvme.fdp.events.disable", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  const FdpEventType type = first_type(scene, check, nsid, 0);
  check.precondition_success(scene.enable_event(nsid, 0, type), "Set Features 1Eh");
  check.success(scene.enable_event(nsid, 0, type, false), "Set Features 1Eh, disabling");
  check.that(!scene.enabled(nsid, 0, type), "the type is disabled");
}

CONFORMANCE_CASE(fdp_events_are_of_one_handle, "nvme.fdp.events.handle", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  const FdpEventType type = first_type(scene, check, nsid, 0);
  check.precondition(!scene.enabled(nsid, 1, type), "the type is disabled on placement handle 1");
  check.precondition_success(scene.enable_event(nsid, 0, type), "Set Features 1Eh");
  check.that(!scene.enabled(nsid, 1, type), "the type stays disabled on placement handle 1");
}

CONFORMANCE_CASE(fdp_events_of_a_shared_handle_are_shared, "nvme.fdp.events.shared", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene), other = scene.made({1});
  const FdpEventType type = first_type(scene, check, nsid, 1);
  check.precondition_success(scene.enable_event(nsid, 1, type), "Set Features 1Eh");
  check.that(scene.enabled(other, 0, type), "the type is enabled for the other namespace of the reclaim unit handle");
}

CONFORMANCE_CASE(fdp_events_are_not_of_all_namespaces, "nvme.fdp.events.broadcast", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp, reaches{"feature.fdp_events.nsid"}) {
  FdpScene scene(bench, check);
  (void)prepared(scene);
  check.status(scene.enable_event(nvme::kAllNamespaces, 0, FdpEventType::not_fully_written), sc::invalid_field, "Set Features 1Eh");
  check.status(scene.get_types(nvme::kAllNamespaces, 0), sc::invalid_field, "Get Features 1Eh");
}

CONFORMANCE_CASE(fdp_events_need_a_handle_of_the_namespace, "nvme.fdp.events.unknown-handle", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp, reaches{"feature.fdp_events.handle"}) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  check.status(scene.enable_event(nsid, 2, FdpEventType::not_fully_written), sc::invalid_field, "Set Features 1Eh");
  check.status(scene.get_types(nsid, 2), sc::invalid_field, "Get Features 1Eh");
}

// ---- log page 23h ----

CONFORMANCE_CASE(fdp_invalid_identifier_makes_an_event, "nvme.fdp.event.invalid", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  for (const std::uint16_t handle : kBoth) scene.listen(nsid, handle, FdpEventType::invalid_placement_id);
  write_invalid(scene, nsid);
  check.equal("events of type 03h", of_type(scene.events(), FdpEventType::invalid_placement_id, nsid).size(), std::size_t{1});
}

CONFORMANCE_CASE(fdp_event_has_the_identifier_of_the_write, "nvme.fdp.event.invalid.identifier", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  for (const std::uint16_t handle : kBoth) scene.listen(nsid, handle, FdpEventType::invalid_placement_id);
  write_invalid(scene, nsid);
  const auto events = of_type(scene.events(), FdpEventType::invalid_placement_id, nsid);
  check.require(!events.empty(), "an event comes");
  if (!events[0].get(fe::piv)) return;
  check.equal("PID", events[0].get(fe::pid), scene.invalid_handle(2));
}

CONFORMANCE_CASE(fdp_event_names_its_namespace, "nvme.fdp.event.namespace", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  for (const std::uint16_t handle : kBoth) scene.listen(nsid, handle, FdpEventType::invalid_placement_id);
  const std::size_t before = scene.events().size();
  write_invalid(scene, nsid);
  const auto events = scene.events();
  check.require(events.size() == before + 1, "an event comes");
  const auto& event = events.back();
  check.equal("NSID, 0 where NSIDV is clear", event.get(fe::nsid), event.get(fe::nsidv) ? nsid : 0u);
}

CONFORMANCE_CASE(fdp_event_has_no_location_without_lv, "nvme.fdp.event.location", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  for (const std::uint16_t handle : kBoth) scene.listen(nsid, handle, FdpEventType::invalid_placement_id);
  write_invalid(scene, nsid);
  const auto events = scene.events();
  check.require(!events.empty(), "an event comes");
  const auto& event = events.back();
  if (event.get(fe::lv)) {
    check.that(event.get(fe::ruhid) < 2, "RUHID is a handle of the namespace", std::to_string(event.get(fe::ruhid)));
    check.that(event.get(fe::rgid) < scene.configuration.reclaim_groups, "RGID is a reclaim group", std::to_string(event.get(fe::rgid)));
  } else {
    check.equal("RGID where LV is clear", event.get(fe::rgid), 0u);
    check.equal("RUHID where LV is clear", event.get(fe::ruhid), 0u);
  }
}

CONFORMANCE_CASE(fdp_update_of_a_unit_with_room_makes_an_event, "nvme.fdp.event.update", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  scene.listen(nsid, 1, FdpEventType::not_fully_written);
  const std::uint16_t id = scene.id(0, 1);
  scene.written(nsid, 0, 8, id);
  check.precondition(scene.left(nsid, id) != 0, "the unit is not full");
  check.precondition_success(scene.update(nsid, {id}), "I/O Management Send");
  check.equal("events of type 00h", of_type(scene.events(), FdpEventType::not_fully_written, nsid).size(), std::size_t{1});
}

CONFORMANCE_CASE(fdp_events_come_where_they_are_enabled_alone, "nvme.fdp.event.disabled", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  for (const std::uint16_t handle : kBoth) {
    check.precondition(!scene.enabled(nsid, handle, FdpEventType::invalid_placement_id), "the type is disabled");
  }
  const std::size_t before = count_of(scene.events(), FdpEventType::invalid_placement_id);
  write_invalid(scene, nsid);
  check.equal("events of type 03h", count_of(scene.events(), FdpEventType::invalid_placement_id), before);
}

CONFORMANCE_CASE(fdp_events_are_listed_oldest_first, "nvme.fdp.event.order", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  for (const std::uint16_t handle : kBoth) scene.listen(nsid, handle, FdpEventType::invalid_placement_id);
  scene.listen(nsid, 1, FdpEventType::not_fully_written);
  scene.written(nsid, 0, 8, scene.id(0, 1));
  check.precondition_success(scene.update(nsid, {scene.id(0, 1)}), "I/O Management Send");
  write_invalid(scene, nsid);
  const auto events = scene.events();
  check.require(events.size() >= 2, "two events come");
  check.equal("type of the last event but one", static_cast<unsigned>(events[events.size() - 2].get(fe::etyp)), 0u);
  check.equal("type of the last event", static_cast<unsigned>(events.back().get(fe::etyp)), 3u);
}

CONFORMANCE_CASE(fdp_events_of_hosts_and_controllers_are_apart, "nvme.fdp.event.kinds", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  for (const std::uint16_t handle : kBoth) scene.listen(nsid, handle, FdpEventType::invalid_placement_id);
  write_invalid(scene, nsid);
  for (const auto& event : scene.events(true)) check.that(nvme::is_host_event(event.get(fe::etyp)), "events of the host are below 80h");
  for (const auto& event : scene.events(false))
    check.that(!nvme::is_host_event(event.get(fe::etyp)), "events of the controller are 80h or above");
}

CONFORMANCE_CASE(fdp_events_begin_anew, "nvme.fdp.event.cleared", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  for (const std::uint16_t handle : kBoth) scene.listen(nsid, handle, FdpEventType::invalid_placement_id);
  write_invalid(scene, nsid);
  check.precondition(!scene.events().empty(), "there is an event");
  const std::uint16_t group = scene.group();
  const auto index = scene.value(group) >> 8 & 0xFF;
  scene.remove(nsid);
  check.precondition(!Manager::holds(scene.used_groups(), group), "the endurance group has no namespaces");
  check.precondition(scene.configurations(group).configurations.size() > 1, "there is another configuration");
  check.precondition_success(scene.set(group, true, index == 0 ? 1u : 0u), "Set Features 1Dh with another configuration");
  check.equal("NUMFDPE after the change", scene.events().size(), std::size_t{0});
}

namespace {

const arranged with_few_events{"a log of four events", [](EmbeddedSetup& setup) {
                                 set_up_fdp(setup);
                                 setup.subsystem.fdp.events_max = 4;
                               }};

}  // namespace

CONFORMANCE_CASE(fdp_oldest_event_makes_room, "nvme.fdp.event.full", roles::controller, with_few_events) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = prepared(scene);
  for (const std::uint16_t handle : kBoth) scene.listen(nsid, handle, FdpEventType::invalid_placement_id);
  constexpr unsigned kWrites = 6;
  for (unsigned i = 0; i < kWrites; ++i) scene.written(nsid, 0, 8, scene.id(0, 2 + i));
  const auto events = scene.events();
  check.require(events.size() == 4, "the log has four events", std::to_string(events.size()));
  check.equal("PID of the last event", events.back().get(fe::pid), scene.id(0, 2 + kWrites - 1));
  check.equal("PID of the first event", events.front().get(fe::pid), scene.id(0, 2 + kWrites - 4));
}

}  // namespace fb::conformance
