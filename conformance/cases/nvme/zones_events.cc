// Zones that change by themselves: events, and the list of changed zones.
#include <functional>

#include "conformance/cases/nvme/zone_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/events.h"

namespace fb::conformance {

namespace {

constexpr nvme::Event kEvent{nvme::EventType::notice, nvme::event_info::notice_zone_descriptor, lid_of(nvme::LogPage::changed_zones)};

nvme::ChangedZones changed_zones(Check& check, ZoneScene& scene, std::uint32_t nsid) {
  const auto bytes = static_cast<std::uint32_t>(nvme::kChangedZonesBytes);
  const auto reply = scene.admin().send(host::get_log(lid_of(nvme::LogPage::changed_zones), bytes, 0, nsid), bytes).wait();
  check.require_success(reply, "Get Log Page BFh");
  return nvme::read_changed_zones(reply.data);
}
nvme::ChangedZones changed_zones(Check& check, ZoneScene& scene) { return changed_zones(check, scene, scene.nsid()); }

/// The host asks for these events, or for none.
void listen(Check& check, ZoneScene& scene, std::uint32_t events) {
  check.precondition_success(scene.admin().send(host::set_features(nvme::FeatureId::async_event_configuration, events)).wait(),
                             "Set Features");
}

bool has_more_zones_than_a_list(const host::NamespaceFacts& facts) {
  return plainly_zoned(facts) && facts.blocks / facts.zones.zone_blocks > nvme::kChangedZonesMax + 1;
}
const arranged many_failing_zones{"zones that fail", [](EmbeddedSetup& setup) {
                                    add_zoned_namespaces(setup);
                                    setup.namespaces.push_back({.blocks = 16 * 520, .zones = {.zone_blocks = 16}});
                                  }};

void fail_zone(ControllerBench& bench, const ZoneScene& scene, std::uint64_t start) {
  subsystem::Namespace& ns = *bench.subsystem().find_namespace(scene.nsid());
  bench.subsystem().make_zone_read_only(ns, ns.zones()->index_of(start));
}

std::optional<std::string> announces_zones(const Declared& declared) {
  const auto bit = nvme::event_config_bits::zone_descriptor;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oaes) & bit) != 0) return {};
  return "OAES bit 27 (Zone Descriptor Changed) is clear";
}
const needs announced{announces_zones};

}  // namespace

CONFORMANCE_CASE(changed_zone_is_announced, "nvme.zones.events.changed", roles::controller, failing_zones, zones, announced) {
  ZoneScene scene(bench, check);
  listen(check, scene, nvme::event_config_bits::zone_descriptor);
  auto request = scene.admin().send(host::async_event_request());
  fail_zone(bench, scene, scene.zone(1));
  const auto reply = request.wait_for(kSoon);
  check.require(reply.has_value(), "an event comes");
  check.require_success(*reply);
  check.equal("event", nvme::Event::from_dw0(reply->dw0()), kEvent);
  check.equal("NSID of the event", reply->value() >> 32, scene.nsid());
}

CONFORMANCE_CASE(changed_zone_is_listed, "nvme.zones.events.list", roles::controller, many_failing_zones, zones, announced) {
  ZoneScene scene(bench, check);
  listen(check, scene, nvme::event_config_bits::zone_descriptor);
  auto request = scene.admin().send(host::async_event_request());
  fail_zone(bench, scene, scene.zone(1));
  check.precondition(request.wait_for(kSoon).has_value(), "an event comes");
  const nvme::ChangedZones zones_told = changed_zones(check, scene);
  check.equal("zones in the list", zones_told.starts.size(), 1u);
  check.that(zones_told.starts == std::vector<std::uint64_t>{scene.zone(1)}, "the list has the zone that changed", "it has not");
  check.that(changed_zones(check, scene).starts.empty(), "the list is empty once it was read", "it is not");
  // Two that change before it is read, the later one first, and one of them twice.
  subsystem::Namespace& ns = *bench.subsystem().find_namespace(scene.nsid());
  fail_zone(bench, scene, scene.zone(2));
  fail_zone(bench, scene, scene.zone(0));
  bench.subsystem().take_zone_offline(ns, ns.zones()->index_of(scene.zone(2)));
  const std::vector<std::uint64_t> both = {scene.zone(0), scene.zone(2)};
  check.that(changed_zones(check, scene).starts == both, "the list has each zone that changed, once and in ascending order", "it has not");
  // More than the list has room for.
  const host::NamespaceFacts* const large = find_zoned(bench.declared(), has_more_zones_than_a_list);
  if (large == nullptr) return;
  subsystem::Namespace& many = *bench.subsystem().find_namespace(large->nsid);
  // Not the first, whose ZSLBA is 0.
  for (std::size_t i = 1; i <= nvme::kChangedZonesMax + 1; ++i) bench.subsystem().make_zone_read_only(many, i);
  const auto bytes = static_cast<std::uint32_t>(nvme::kChangedZonesBytes);
  const auto page = scene.admin().send(host::get_log(lid_of(nvme::LogPage::changed_zones), bytes, 0, large->nsid), bytes).wait();
  check.require_success(page, "Get Log Page BFh");
  check.equal("NRZID after 512 zones have changed", load_le<std::uint16_t>(page.data.data()), nvme::kTooManyChangedZones);
  const bool zero = std::all_of(page.data.begin() + 2, page.data.end(), [](std::uint8_t byte) { return byte == 0; });
  check.that(zero, "the bytes behind NRZID FFFFh are 0", "they are not");
}

CONFORMANCE_CASE(zones_are_announced_on_demand, "nvme.zones.events.asked", roles::controller, failing_zones, zones) {
  ZoneScene scene(bench, check);
  listen(check, scene, 0);
  auto request = scene.admin().send(host::async_event_request());
  fail_zone(bench, scene, scene.zone(1));
  check.that(!request.wait_for(kSilence).has_value(), "no event comes", "one came");
}

CONFORMANCE_CASE(changes_by_commands_are_not_announced, "nvme.zones.events.commands", roles::controller, zoned_namespaces, zones,
                 announced) {
  ZoneScene scene(bench, check);
  listen(check, scene, nvme::event_config_bits::zone_descriptor);
  changed_zones(check, scene);
  auto request = scene.admin().send(host::async_event_request());
  scene.fill(scene.zone(0), 2);
  scene.finish(scene.zone(0));
  scene.open(scene.zone(1));
  scene.done(scene.send(ZoneSendAction::reset, scene.zone(0)), "Reset Zone");
  const auto reply = request.wait_for(kSilence);
  const bool told = reply && reply->ok() && nvme::Event::from_dw0(reply->dw0()) == kEvent;
  check.that(!told, "no event comes", "one came");
}

CONFORMANCE_CASE(changed_zones_are_of_one_namespace, "nvme.zones.events.list", roles::controller, failing_zones, zones, announced) {
  ZoneScene scene(bench, check);
  listen(check, scene, nvme::event_config_bits::zone_descriptor);
  const auto& all = bench.declared().zoned_namespaces;
  const auto other = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.nsid != scene.nsid(); });
  check.precondition(other != all.end(), "there are two zoned namespaces");
  const auto request = scene.admin().send(host::async_event_request());
  subsystem::Namespace& ns = *bench.subsystem().find_namespace(other->nsid);
  constexpr std::size_t kZone = 2;
  bench.subsystem().make_zone_read_only(ns, kZone);
  fail_zone(bench, scene, scene.zone(1));
  bench.world().run_for(kSilence);
  const auto own = changed_zones(check, scene).starts;
  check.that(own == std::vector<std::uint64_t>{scene.zone(1)}, "the list of a namespace has its own zone", "it has not");
  const auto others = changed_zones(check, scene, other->nsid).starts;
  check.that(others == std::vector<std::uint64_t>{ns.zones()->start_of(kZone)},
             "the list of the other namespace has its zone after the first was read", "it has not");
  // Nor does reading the one list acknowledge the event of the other.
  auto first = scene.admin().send(host::async_event_request());
  bench.subsystem().make_zone_read_only(ns, kZone + 1);
  check.precondition(first.wait_for(kSoon).has_value(), "an event comes");
  fail_zone(bench, scene, scene.zone(2));
  auto second = scene.admin().send(host::async_event_request());
  bench.world().run_for(kSilence);
  changed_zones(check, scene, other->nsid);
  const auto told = second.wait_for(kSoon);
  check.require(told.has_value(), "an event of the namespace comes once that of the other was read", "none comes");
  check.equal("NSID of the event", told->value() >> 32, scene.nsid());
}

CONFORMANCE_CASE(every_change_of_a_zone_is_announced, "nvme.zones.events.changed", roles::controller, failing_zones, zones, announced) {
  namespace za = nvme::zone_attribute_bits;
  ZoneScene scene(bench, check, plainly_zoned, 6);
  listen(check, scene, nvme::event_config_bits::zone_descriptor);
  subsystem::Subsystem& subsystem = bench.subsystem();
  subsystem::Namespace& ns = *subsystem.find_namespace(scene.nsid());
  struct Change {
    std::string_view name;
    std::size_t zone;
    std::function<void(std::size_t)> make;
    ZoneState state;
    unsigned attributes;
  };
  const Change changes[] = {
      {"a zone that is read only", 0, [&](std::size_t at) { subsystem.make_zone_read_only(ns, at); }, ZoneState::read_only, 0},
      {"a zone that is offline", 1, [&](std::size_t at) { subsystem.take_zone_offline(ns, at); }, ZoneState::offline, 0},
      {"a zone that is finished", 2,
       [&](std::size_t at) { check.precondition(subsystem.zone_excursion(ns, at), "the zone becomes full by itself"); }, ZoneState::full,
       za::finished_by_controller},
      {"a zone to be finished", 3, [&](std::size_t at) { subsystem.recommend_zone(ns, at, za::finish_recommended); },
       ZoneState::implicitly_opened, za::finish_recommended},
      {"a zone to be reset", 3, [&](std::size_t at) { subsystem.recommend_zone(ns, at, za::reset_recommended); },
       ZoneState::implicitly_opened, za::reset_recommended},
      {"a zone that may stay as it is", 3, [&](std::size_t at) { subsystem.recommend_zone(ns, at, 0); }, ZoneState::implicitly_opened, 0},
  };
  for (const std::size_t zone : {std::size_t{2}, std::size_t{3}}) scene.fill(scene.zone(zone), 2);
  for (const Change& change : changes) {
    const std::uint64_t start = scene.zone(change.zone);
    const std::string which = " of " + std::string(change.name);
    auto request = scene.admin().send(host::async_event_request());
    change.make(ns.zones()->index_of(start));
    const auto reply = request.wait_for(kSoon);
    check.require(reply.has_value(), "an event" + which + " comes", "none comes");
    check.equal("event" + which, nvme::Event::from_dw0(reply->dw0()), kEvent);
    check.equal("NSID of the event" + which, reply->value() >> 32, scene.nsid());
    check.that(changed_zones(check, scene).starts == std::vector<std::uint64_t>{start}, "the list has the zone, after the event" + which,
               "it has not");
    const nvme::ZoneFacts now = scene.look(start);
    constexpr unsigned kTold = za::finished_by_controller | za::finish_recommended | za::reset_recommended;
    check.equal("state" + which, now.state, change.state);
    check.equal("attributes" + which, now.attributes & kTold, change.attributes);
  }
  // What is empty does not become full by itself, and nothing is announced of it.
  check.that(!subsystem.zone_excursion(ns, ns.zones()->index_of(scene.zone(4))), "an empty zone stays empty", "it becomes full");
  scene.is(scene.zone(4), ZoneState::empty);
  check.that(changed_zones(check, scene).starts.empty(), "the list is empty", "it is not");
}

}  // namespace fb::conformance
