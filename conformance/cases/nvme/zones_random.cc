// Zone Random Write Areas: what Identify states, how they are allocated, and how many there are.
#include "conformance/cases/nvme/zones_random.h"

namespace fb::conformance {

namespace {

View<nvme::IdentifyNamespaceZoned> page_of_zones(Check& check, ZoneScene& scene, Bytes& page) {
  const auto reply = scene.admin().send(identify_zoned(nvme::Cns::command_set_namespace, scene.nsid()), nvme::kIdentifySize).wait();
  check.precondition_success(reply, "Identify");
  page = reply.data;
  page.resize(nvme::kIdentifySize);
  return View<nvme::IdentifyNamespaceZoned>{page};
}

/// Areas that NUMZRWA may mean. Products differ in whether it is one less than their number.
OneOf<std::uint32_t> areas_of(const host::NamespaceFacts& facts) { return one_of(facts.zones.zrwa_max, facts.zones.zrwa_max + 1); }

std::optional<std::string> two_namespaces_with_areas(const Declared& declared) {
  if (!declared.known) return {};
  const auto count = std::count_if(declared.zoned_namespaces.begin(), declared.zoned_namespaces.end(), has_random_areas);
  if (count > 1) return {};
  return "Zone Random Write Areas in fewer than two namespaces";
}

}  // namespace

CONFORMANCE_CASE(random_area_has_a_size, "nvme.zones.zrwa.identify.size", roles::controller, random_zones, random_areas) {
  ZoneScene scene(bench, check, has_random_areas);
  Bytes page;
  const auto zoned = page_of_zones(check, scene, page);
  const unsigned size = zoned.get(nvme::id_ns_zoned::zrwasz), granularity = zoned.get(nvme::id_ns_zoned::zrwafg);
  check.that(size != 0, "ZRWASZ is not 0", "it is");
  if (!check.that(granularity != 0, "ZRWAFG is not 0", "it is")) return;
  check.equal("blocks of ZRWASZ behind the last multiple of ZRWAFG", size % granularity, 0u);
}

CONFORMANCE_CASE(namespace_without_random_areas_has_no_size, "nvme.zones.zrwa.identify.unsupported", roles::controller, random_zones,
                 needs(has_zoned<has_no_random_areas>)) {
  ZoneScene scene(bench, check, has_no_random_areas);
  Bytes page;
  const auto zoned = page_of_zones(check, scene, page);
  check.equal("NUMZRWA", zoned.get(nvme::id_ns_zoned::numzrwa), 0u);
  check.equal("ZRWAFG", zoned.get(nvme::id_ns_zoned::zrwafg), 0u);
  check.equal("ZRWASZ", zoned.get(nvme::id_ns_zoned::zrwasz), 0u);
  check.equal("ZRWACAP", zoned.get(nvme::id_ns_zoned::zrwacap), 0u);
}

CONFORMANCE_CASE(open_allocates_a_random_area, "nvme.zones.zrwa.open.allocates", roles::controller, random_zones, random_areas) {
  RandomScene scene(bench, check);
  for (const std::size_t i : {0u, 1u}) {
    if (i != 0 && scene.facts.zones.zrwa_max == 0) break;
    if (!check.success(scene.open_random(scene.zone(i)), "Open Zone with ZRWAA")) return;
    check.that(scene.has_area(scene.zone(i)), "ZRWAV is 1", "it is 0");
    scene.is(scene.zone(i), ZoneState::explicitly_opened);
    check.equal("write pointer", scene.pointer(scene.zone(i)), scene.zone(i));
  }
  check.that(!scene.has_area(scene.zone(2)), "ZRWAV of another zone is 0", "it is 1");
}

CONFORMANCE_CASE(plain_open_allocates_no_random_area, "nvme.zones.zrwa.open.plain", roles::controller, random_zones, random_areas) {
  RandomScene scene(bench, check);
  scene.open(scene.zone(0));
  check.that(!scene.has_area(scene.zone(0)), "ZRWAV is 0", "it is 1");
}

CONFORMANCE_CASE(open_without_random_areas_allocates_none, "nvme.zones.zrwa.open.unsupported", roles::controller, random_zones,
                 needs(has_zoned<has_no_random_areas>)) {
  RandomScene scene(bench, check, has_no_random_areas);
  scene.open_random(scene.zone(0));
  check.that(!scene.has_area(scene.zone(0)), "ZRWAV is 0", "it is 1");
}

CONFORMANCE_CASE(written_zone_gets_no_random_area, "nvme.zones.zrwa.open.state", roles::controller, random_zones, random_areas) {
  RandomScene scene(bench, check);
  scene.fill(scene.zone(0), 1);
  scene.close(scene.zone(0));
  const auto reply = scene.open_random(scene.zone(0));
  check.that(!scene.has_area(scene.zone(0)), "ZRWAV is 0", "it is 1 after " + nvme::to_string(reply.status()));
  check.equal("write pointer", scene.pointer(scene.zone(0)), scene.zone(0) + 1);
}

CONFORMANCE_CASE(extension_allocates_a_random_area, "nvme.zones.zrwa.extension.allocates", roles::controller, random_zones,
                 needs(has_zoned<extends_random_areas>)) {
  RandomScene scene(bench, check, extends_random_areas);
  auto command = host::zone_send(scene.nsid(), ZoneSendAction::set_descriptor_extension, scene.zone(0));
  command.set(nvme::zone_send_sqe::zrwaa, true);
  const auto reply = scene.io->send(command, pattern(0x27, 1, scene.facts.zones.extension_bytes)).wait();
  if (!check.success(reply, "Set Zone Descriptor Extension with ZRWAA")) return;
  scene.is(scene.zone(0), ZoneState::closed);
  check.that(scene.has_area(scene.zone(0)), "ZRWAV is 1", "it is 0");
}

// ---- resources ----

CONFORMANCE_CASE(random_areas_are_limited, "nvme.zones.zrwa.resources.limit", roles::controller, random_zones, few_random_areas) {
  const host::NamespaceFacts& facts = zoned_of(bench.declared(), limits_random);
  RandomScene scene(bench, check, limits_random, facts.zones.zrwa_max + 2);
  host::RawReply refusal;
  check.equal("zones that get an area", scene.use_up(refusal), areas_of(facts));
  check.status(refusal, sc::zrwa_resources_unavailable, "Open Zone with ZRWAA of one more");
}

CONFORMANCE_CASE(zone_without_random_area_stays_empty, "nvme.zones.zrwa.resources.refused", roles::controller, random_zones,
                 few_random_areas) {
  const host::NamespaceFacts& facts = zoned_of(bench.declared(), limits_random);
  RandomScene scene(bench, check, limits_random, facts.zones.zrwa_max + 2);
  host::RawReply refusal;
  const std::uint32_t count = scene.use_up(refusal);
  check.precondition(count < scene.usable(), "the areas are used up");
  scene.is(scene.zone(count), ZoneState::empty, "state of the zone that got no area");
  check.that(!scene.has_area(scene.zone(count)), "ZRWAV is 0", "it is 1");
}

CONFORMANCE_CASE(finished_zone_gives_its_random_area_back, "nvme.zones.zrwa.resources.finish", roles::controller, random_zones,
                 few_random_areas) {
  const host::NamespaceFacts& facts = zoned_of(bench.declared(), limits_random);
  RandomScene scene(bench, check, limits_random, facts.zones.zrwa_max + 2);
  host::RawReply refusal;
  const std::uint32_t count = scene.use_up(refusal);
  check.precondition(count != 0 && count < scene.usable(), "the areas are used up");
  scene.finish(scene.zone(0));
  check.success(scene.open_random(scene.zone(count)), "Open Zone with ZRWAA after another zone was finished");
}

CONFORMANCE_CASE(reset_zone_gives_its_random_area_back, "nvme.zones.zrwa.resources.reset", roles::controller, random_zones,
                 few_random_areas) {
  const host::NamespaceFacts& facts = zoned_of(bench.declared(), limits_random);
  RandomScene scene(bench, check, limits_random, facts.zones.zrwa_max + 2);
  host::RawReply refusal;
  const std::uint32_t count = scene.use_up(refusal);
  check.precondition(count != 0 && count < scene.usable(), "the areas are used up");
  scene.done(scene.send(ZoneSendAction::reset, scene.zone(0)), "Reset Zone");
  check.success(scene.open_random(scene.zone(count)), "Open Zone with ZRWAA after another zone was reset");
}

CONFORMANCE_CASE(random_areas_are_of_their_namespace, "nvme.zones.zrwa.resources.namespace", roles::controller, random_zones,
                 few_random_areas, needs(two_namespaces_with_areas)) {
  const host::NamespaceFacts& facts = zoned_of(bench.declared(), limits_random);
  RandomScene scene(bench, check, limits_random, facts.zones.zrwa_max + 2);
  std::uint32_t other = 0;
  for (const host::NamespaceFacts& one : bench.declared().zoned_namespaces) {
    if (one.nsid != scene.nsid() && has_random_areas(one)) other = one.nsid;
  }
  check.precondition(other != 0, "another namespace has Zone Random Write Areas");
  scene.done(scene.io->send(host::zone_send(other, ZoneSendAction::reset, 0, true)).wait(), "Reset Zone of all zones");
  host::RawReply refusal;
  scene.use_up(refusal);
  auto command = host::zone_send(other, ZoneSendAction::open, 0);
  command.set(nvme::zone_send_sqe::zrwaa, true);
  check.success(scene.io->send(command).wait(), "Open Zone with ZRWAA in another namespace");
  scene.io->send(host::zone_send(other, ZoneSendAction::reset, 0, true)).wait();
}

}  // namespace fb::conformance
