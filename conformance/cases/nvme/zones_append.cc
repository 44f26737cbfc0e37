// Zone Append.
#include "conformance/cases/nvme/zone_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {

namespace {

/// Blocks with good tags that count from `reference`.
Bytes tagged(const ZoneScene& scene, std::uint8_t mark, std::size_t count, std::uint64_t reference) {
  const nvme::BlockLayout& layout = scene.facts.layout;
  Bytes data = scene.data(mark, count);
  nvme::ProtectionTags tags{.application = 7, .reference = reference & layout.reference_mask()};
  for (std::size_t i = 0; i < count; ++i) {
    nvme::protect(layout, MutableBytes{data}.subspan(i * layout.bytes(), layout.bytes()), tags);
    nvme::advance_tags(layout, tags);
  }
  return data;
}

host::RawReply append_tagged(ZoneScene& scene, std::uint64_t start, std::uint32_t count, bool remaps) {
  auto command = host::zone_append(scene.nsid(), start, count);
  command.set(nvme::zone_append_sqe::piremap, remaps)
      .set(nvme::rw_sqe::prchk_guard, true)
      .set(nvme::rw_sqe::prchk_ref, true)
      .set(nvme::rw_sqe::ilbrt, start & 0xFFFFFFFF);
  return scene.io->send(command, tagged(scene, 0x51, count, start)).wait();
}

}  // namespace

CONFORMANCE_CASE(append_says_where_it_wrote, "nvme.zones.append.address", roles::controller, zoned_namespaces, zones, appends) {
  ZoneScene scene(bench, check);
  const std::uint64_t start = scene.zone(1);
  for (const std::uint32_t count : {3u, 2u, 1u}) {
    const std::uint64_t pointer = scene.pointer(start);
    const auto reply = scene.append(start, count);
    if (!check.success(reply, "Zone Append")) return;
    check.equal("ALBA", reply.value(), pointer);
    check.equal("write pointer", scene.pointer(start), pointer + count);
  }
}

CONFORMANCE_CASE(append_writes, "nvme.zones.append.data", roles::controller, zoned_namespaces, zones, appends) {
  ZoneScene scene(bench, check);
  const std::uint64_t start = scene.zone(0);
  scene.fill(start, 3);
  const auto reply = scene.append(start, 4, 0x77);
  if (!check.success(reply, "Zone Append")) return;
  const auto there = scene.read(reply.value(), 4);
  if (check.success(there, "Read")) check.bytes("what was appended", there.data, scene.data(0x77, 4));
}

CONFORMANCE_CASE(append_names_the_start_of_a_zone, "nvme.zones.append.start", roles::controller, zoned_namespaces, zones, appends) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(0), 2);
  check.status(scene.append(scene.zone(0) + 2, 1), sc::invalid_field, "the write pointer in place of the start");
}

CONFORMANCE_CASE(append_ends_with_the_zone, "nvme.zones.append.boundary", roles::controller, zoned_namespaces, zones, appends) {
  ZoneScene scene(bench, check);
  scene.fill_but(0, 2);
  check.status(scene.append(scene.zone(0), 3), sc::zone_boundary_error, "a block more than is left");
  check.success(scene.append(scene.zone(0), 2), "as many blocks as are left");
  scene.is(scene.zone(0), ZoneState::full, "state of the zone that is filled");
}

CONFORMANCE_CASE(append_to_a_full_zone_is_refused, "nvme.zones.append.full", roles::controller, zoned_namespaces, zones, appends) {
  ZoneScene scene(bench, check);
  scene.finish(scene.zone(0));
  check.status(scene.append(scene.zone(0), 1), sc::zone_is_full, "Zone Append to a full zone");
}

CONFORMANCE_CASE(append_to_an_offline_zone_is_refused, "nvme.zones.append.offline", roles::controller, failing_zones, zones, appends) {
  ZoneScene scene(bench, check);
  subsystem::Namespace& ns = *bench.subsystem().find_namespace(scene.nsid());
  bench.subsystem().take_zone_offline(ns, ns.zones()->index_of(scene.zone(0)));
  check.status(scene.append(scene.zone(0), 1), sc::zone_is_offline, "Zone Append to an offline zone");
}

CONFORMANCE_CASE(append_keeps_to_its_limit, "nvme.zones.append.size", roles::controller, zoned_namespaces, zones, appends) {
  ZoneScene scene(bench, check);
  const auto page = scene.admin().send(identify_zoned(nvme::Cns::command_set_controller), nvme::kIdentifySize).wait();
  check.precondition_success(page, "Identify");
  const unsigned zasl = View<nvme::IdentifyControllerZoned>{page.data}.get(nvme::id_ctrl_zoned::zasl);
  if (zasl == 0 || zasl > 8) throw CannotArrange{"ZASL says no limit that a case can pass"};
  const unsigned page_shift = 12 + static_cast<unsigned>(bench.declared().capabilities().get(fabrics::cap::mpsmin));
  const std::uint64_t most = (std::uint64_t{1} << (zasl + page_shift)) / scene.facts.layout.bytes();
  if (scene.capacity(0) <= most) throw CannotArrange{"a zone holds no more than ZASL"};
  const auto count = static_cast<std::uint32_t>(most);
  check.status(scene.append(scene.zone(0), count + 1), sc::invalid_field, "a block more than ZASL");
  check.success(scene.append(scene.zone(0), count), "as much as ZASL says");
}

CONFORMANCE_CASE(append_needs_remapping_with_type_1, "nvme.zones.append.remap", roles::controller, zoned_namespaces,
                 needs(has_zoned<zoned_with_tags>), appends) {
  ZoneScene scene(bench, check, zoned_with_tags);
  check.status(append_tagged(scene, scene.zone(0), 1, false), sc::invalid_protection_information, "without PIREMAP");
}

CONFORMANCE_CASE(append_tells_tags_where_they_are, "nvme.zones.append.tags", roles::controller, zoned_namespaces,
                 needs(has_zoned<zoned_with_tags>), appends) {
  ZoneScene scene(bench, check, zoned_with_tags);
  const nvme::BlockLayout& layout = scene.facts.layout;
  const std::uint64_t start = scene.zone(1);
  for (const std::uint32_t count : {2u, 3u}) {
    const auto reply = append_tagged(scene, start, count, true);
    if (!check.success(reply, "Zone Append")) return;
    const auto medium = scene.read(reply.value(), count);
    if (!check.success(medium, "Read")) return;
    for (std::uint32_t i = 0; i < count; ++i) {
      const ByteView block = ByteView{medium.data}.subspan(i * layout.bytes(), layout.bytes());
      const nvme::ProtectionTuple tuple = nvme::read_tuple(layout, block);
      check.equal("reference tag", tuple.tags.reference, (reply.value() + i) & layout.reference_mask());
      check.equal("application tag", tuple.tags.application, 7u);
      check.equal("guard", tuple.guard, nvme::guard_of(layout, block));
    }
  }
}

}  // namespace fb::conformance
