// Zone Random Write Areas: Zone Append, and what ends an area or leaves it.
#include "conformance/cases/nvme/reset.h"
#include "conformance/cases/nvme/zones_random.h"

namespace fb::conformance {

namespace {

/// A zone with an area, whose blocks 0 and 1 are written.
std::uint64_t use_area(RandomScene& scene) {
  if (scene.area() < 2) throw CannotArrange{"an area is one block"};
  scene.take(scene.zone(0));
  scene.fill(scene.zone(0) + 1, 1, 0xA2);
  scene.fill(scene.zone(0), 1, 0xA1);
  return scene.zone(0);
}

void holds_data(RandomScene& scene, Check& check, std::uint64_t start) {
  const auto reply = scene.read(start, 2);
  if (!check.success(reply, "Read")) return;
  Bytes expected = scene.data(0xA1, 1);
  const Bytes second = scene.data(0xA2, 1);
  expected.insert(expected.end(), second.begin(), second.end());
  check.bytes("what was written", reply.data, expected);
}

}  // namespace

CONFORMANCE_CASE(append_to_random_area_is_refused, "nvme.zones.zrwa.append", roles::controller, random_zones, random_areas, appends) {
  RandomScene scene(bench, check);
  const std::uint64_t start = use_area(scene);
  check.status(scene.append(start, 1), sc::invalid_zone_operation_request, "Zone Append");
  check.equal("write pointer", scene.pointer(start), start);
  check.success(scene.append(scene.zone(1), 1), "Zone Append to a zone without an area");
}

CONFORMANCE_CASE(close_leaves_the_random_area, "nvme.zones.zrwa.close", roles::controller, random_zones, random_areas) {
  RandomScene scene(bench, check);
  const std::uint64_t start = use_area(scene);
  if (!check.success(scene.send(ZoneSendAction::close, start), "Close Zone")) return;
  scene.is(start, ZoneState::closed);
  check.that(scene.has_area(start), "ZRWAV is 1", "it is 0");
  check.equal("write pointer", scene.pointer(start), start);
  holds_data(scene, check, start);
}

CONFORMANCE_CASE(finish_ends_the_random_area, "nvme.zones.zrwa.finish", roles::controller, random_zones, random_areas) {
  RandomScene scene(bench, check);
  const std::uint64_t start = use_area(scene);
  if (!check.success(scene.send(ZoneSendAction::finish, start), "Finish Zone")) return;
  scene.is(start, ZoneState::full);
  check.that(!scene.has_area(start), "ZRWAV is 0", "it is 1");
}

CONFORMANCE_CASE(finish_commits_the_random_area, "nvme.zones.zrwa.finish.data", roles::controller, random_zones, random_areas) {
  RandomScene scene(bench, check);
  const std::uint64_t start = use_area(scene);
  scene.finish(start);
  holds_data(scene, check, start);
}

CONFORMANCE_CASE(reset_ends_the_random_area, "nvme.zones.zrwa.reset", roles::controller, random_zones, random_areas) {
  RandomScene scene(bench, check);
  const std::uint64_t start = use_area(scene);
  if (!check.success(scene.send(ZoneSendAction::reset, start), "Reset Zone")) return;
  scene.is(start, ZoneState::empty);
  check.that(!scene.has_area(start), "ZRWAV is 0", "it is 1");
  check.equal("write pointer", scene.pointer(start), start);
}

CONFORMANCE_CASE(reset_clears_the_random_area, "nvme.zones.zrwa.reset.data", roles::controller, random_zones, random_areas) {
  RandomScene scene(bench, check);
  const std::uint64_t start = use_area(scene);
  for (const bool finished : {false, true}) {
    if (finished) {
      use_area(scene);
      scene.finish(start);
    }
    scene.done(scene.send(ZoneSendAction::reset, start), "Reset Zone");
    const auto reply = scene.read(start + 1, 1);
    const bool there = reply.ok() && reply.data == scene.data(0xA2, 1);
    check.that(!there, finished ? "the data of the area of a finished zone is gone" : "the data of the area is gone", "a Read returns it");
  }
}

CONFORMANCE_CASE(controller_reset_leaves_the_random_area, "nvme.zones.zrwa.controller-reset", roles::controller, random_zones,
                 random_areas) {
  RandomScene scene(bench, check);
  const std::uint64_t start = use_area(scene);
  scene.association.disable();
  let_go(bench, *scene.io);
  scene.association.enable();
  select_zones(scene.association);
  scene.io = &scene.association.open_io();
  check.that(scene.has_area(start), "ZRWAV is 1", "it is 0");
  check.equal("write pointer", scene.pointer(start), start);
  holds_data(scene, check, start);
}

}  // namespace fb::conformance
