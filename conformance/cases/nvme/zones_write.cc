// Writes to zones and reads from them.
#include "conformance/cases/nvme/copy_scene.h"
#include "conformance/cases/nvme/zone_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/copy.h"

namespace fb::conformance {

namespace {

/// Makes a zone of the emulated product what no command makes it.
void fail_zone(ControllerBench& bench, const ZoneScene& scene, std::uint64_t start, ZoneState state) {
  subsystem::Namespace& ns = *bench.subsystem().find_namespace(scene.nsid());
  const std::size_t index = ns.zones()->index_of(start);
  if (state == ZoneState::read_only) bench.subsystem().make_zone_read_only(ns, index);
  if (state == ZoneState::offline) bench.subsystem().take_zone_offline(ns, index);
}

host::RawReply deallocate(ZoneScene& scene, std::uint64_t lba, std::uint32_t count) {
  const auto range = host::dsm_range(lba, count);
  return scene.io->send(host::deallocate(scene.nsid(), 1), range.bytes()).wait();
}

host::RawReply copy(ZoneScene& scene, std::uint64_t from, std::uint32_t count, std::uint64_t to) {
  const Bytes range = nvme::write_copy_source({.slba = from, .blocks = count}, 0, scene.facts.layout);
  return scene.io->send(host::copy(scene.nsid(), to, 1), range).wait();
}

/// A command without data begins where the zone has been written to, and nowhere else.
template <class Make>
void begins_at_the_pointer(Check& check, ZoneScene& scene, Make make) {
  const std::uint64_t start = scene.zone(0);
  scene.fill(start, 4);
  check.status(scene.io->send(make(scene.nsid(), start + 6, 2)).wait(), sc::zone_invalid_write, "behind the pointer");
  check.status(scene.io->send(make(scene.nsid(), start, 2)).wait(), sc::zone_invalid_write, "before the pointer");
  if (!check.success(scene.io->send(make(scene.nsid(), start + 4, 2)).wait(), "at the pointer")) return;
  check.equal("write pointer", scene.pointer(start), start + 6);
}

}  // namespace

CONFORMANCE_CASE(write_moves_the_write_pointer, "nvme.zones.write.pointer", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  const std::uint64_t start = scene.zone(0);
  if (!check.success(scene.write(start, 5), "Write")) return;
  check.equal("write pointer after five blocks", scene.pointer(start), start + 5);
  if (!check.success(scene.write(start + 5, 3), "Write")) return;
  check.equal("write pointer after eight blocks", scene.pointer(start), start + 8);
}

CONFORMANCE_CASE(zone_holds_what_was_written, "nvme.zones.write.data", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  const std::uint64_t start = scene.zone(0);
  scene.fill(start, 4, 0x51);
  scene.fill(start + 4, 4, 0x52);
  const auto reply = scene.read(start, 8);
  if (!check.success(reply, "Read")) return;
  Bytes expected = scene.data(0x51, 4);
  const Bytes more = scene.data(0x52, 4);
  expected.insert(expected.end(), more.begin(), more.end());
  check.bytes("what was written", reply.data, expected);
}

CONFORMANCE_CASE(write_opens_an_empty_zone, "nvme.zones.write.opens", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(0), 2);
  scene.is_implicit(scene.zone(0));
}

CONFORMANCE_CASE(write_opens_a_closed_zone, "nvme.zones.write.reopens", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  const std::uint64_t start = scene.zone(0);
  scene.fill(start, 2);
  scene.close(start);
  scene.precondition(start, ZoneState::closed);
  scene.fill(start + 2, 2);
  scene.is_implicit(start);
}

CONFORMANCE_CASE(zone_becomes_full, "nvme.zones.write.fills", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  const std::uint64_t last = scene.fill_but(0, 1);
  scene.is_implicit(scene.zone(0), "state of a zone with room for a block");
  scene.fill(last, 1);
  scene.is(scene.zone(0), ZoneState::full);
}

CONFORMANCE_CASE(write_begins_at_the_write_pointer, "nvme.zones.write.sequential", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  const std::uint64_t start = scene.zone(0);
  check.status(scene.write(start + 1, 1), sc::zone_invalid_write, "behind the start of an empty zone");
  scene.fill(start, 4);
  check.status(scene.write(start + 5, 1), sc::zone_invalid_write, "behind the pointer");
  check.status(scene.write(start + 2, 1), sc::zone_invalid_write, "before the pointer");
  check.equal("write pointer afterwards", scene.pointer(start), start + 4);
}

CONFORMANCE_CASE(write_ends_with_the_zone, "nvme.zones.write.boundary", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint64_t at = scene.fill_but(i, 2);
    check.status(scene.write(at, 3), sc::zone_boundary_error, "a block more than is left in zone " + std::to_string(i));
    check.success(scene.write(at, 2), "Write of all that is left in zone " + std::to_string(i));
  }
}

CONFORMANCE_CASE(full_zone_is_not_written, "nvme.zones.write.full", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(0), 2);
  scene.finish(scene.zone(0));
  check.status(scene.write(scene.zone(0) + 2, 1), sc::zone_is_full, "a write to a full zone");
}

CONFORMANCE_CASE(read_only_zone_is_not_written, "nvme.zones.write.read-only", roles::controller, failing_zones, zones) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(0), 2);
  fail_zone(bench, scene, scene.zone(0), ZoneState::read_only);
  check.status(scene.write(scene.zone(0) + 2, 1), sc::zone_is_read_only, "a write to a read only zone");
}

CONFORMANCE_CASE(offline_zone_is_not_written, "nvme.zones.write.offline", roles::controller, failing_zones, zones) {
  ZoneScene scene(bench, check);
  fail_zone(bench, scene, scene.zone(0), ZoneState::offline);
  check.status(scene.write(scene.zone(0), 1), sc::zone_is_offline, "a write to an offline zone");
}

CONFORMANCE_CASE(write_zeroes_begins_at_the_write_pointer, "nvme.zones.write.zeroes", roles::controller, zoned_namespaces, zones,
                 needs(claims_oncs<nvme::oncs_bits::write_zeroes>)) {
  ZoneScene scene(bench, check);
  begins_at_the_pointer(check, scene, host::write_zeroes);
}

CONFORMANCE_CASE(write_uncorrectable_begins_at_the_write_pointer, "nvme.zones.write.uncorrectable", roles::controller, zoned_namespaces,
                 zones, needs(claims_oncs<nvme::oncs_bits::write_uncorrectable>)) {
  ZoneScene scene(bench, check);
  begins_at_the_pointer(check, scene, host::write_uncorrectable);
}

CONFORMANCE_CASE(copy_begins_at_the_write_pointer, "nvme.zones.write.copy", roles::controller, zoned_namespaces, zones,
                 needs(claims_oncs<nvme::oncs_bits::copy>)) {
  ZoneScene scene(bench, check);
  const std::uint64_t from = scene.zone(0), to = scene.zone(1);
  scene.fill(from, 4, 0x61);
  check.status(copy(scene, from, 2, to + 3), sc::zone_invalid_write, "behind the pointer");
  if (!check.success(copy(scene, from, 4, to), "at the pointer")) return;
  check.equal("write pointer", scene.pointer(to), to + 4);
  check.bytes("what was copied", scene.read(to, 4).data, scene.data(0x61, 4));
}

CONFORMANCE_CASE(read_ends_with_the_zone, "nvme.zones.read.boundary", roles::controller, zoned_namespaces,
                 needs(has_zoned<keeps_reads_apart>)) {
  ZoneScene scene(bench, check, keeps_reads_apart);
  const std::uint64_t boundary = scene.size();
  check.status(scene.read(boundary - 1, 2), sc::zone_boundary_error, "a read of blocks of two zones");
}

CONFORMANCE_CASE(read_crosses_where_it_may, "nvme.zones.read.across", roles::controller, zoned_namespaces, needs(has_zoned<reads_across>)) {
  ZoneScene scene(bench, check, reads_across);
  scene.precondition(0, ZoneState::empty);
  scene.precondition(scene.size(), ZoneState::empty);
  check.success(scene.read(scene.size() - 1, 2), "a read of blocks of two zones");
}

CONFORMANCE_CASE(offline_zone_is_not_read, "nvme.zones.read.offline", roles::controller, failing_zones, zones) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(0), 2);
  fail_zone(bench, scene, scene.zone(0), ZoneState::offline);
  check.status(scene.read(scene.zone(0), 1), sc::zone_is_offline, "a read from an offline zone");
  // What cannot be read cannot be copied either.
  if (claims_oncs<nvme::oncs_bits::copy>(bench.declared()) || has_copy_format<0>(bench.declared())) return;
  check.refused(copy(scene, scene.zone(0), 1, scene.zone(1)), "a copy from an offline zone");
  check.equal("write pointer of the destination", scene.pointer(scene.zone(1)), scene.zone(1));
}

CONFORMANCE_CASE(reads_do_not_reach_into_offline_zones, "nvme.zones.read.offline", roles::controller, failing_zones,
                 needs(has_zoned<reads_across>)) {
  ZoneScene scene(bench, check, reads_across);
  scene.fill(scene.zone(0), 2);
  const std::uint64_t next = scene.zone(0) + scene.size();
  check.precondition(scene.zone(1) == next, "the zones follow each other");
  fail_zone(bench, scene, next, ZoneState::offline);
  check.status(scene.read(next - 1, 2), sc::zone_is_offline, "a read whose last block is in an offline zone");
  check.status(scene.read(next - 2, 8), sc::zone_is_offline, "a read that ends within an offline zone");
}

CONFORMANCE_CASE(read_only_zone_is_read, "nvme.zones.read.read-only", roles::controller, failing_zones, zones) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(0), 2, 0x71);
  fail_zone(bench, scene, scene.zone(0), ZoneState::read_only);
  const auto reply = scene.read(scene.zone(0), 2);
  if (check.success(reply, "Read")) check.bytes("what was written", reply.data, scene.data(0x71, 2));
}

CONFORMANCE_CASE(unwritten_blocks_are_read, "nvme.zones.read.unwritten", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(0), 2);
  check.success(scene.read(scene.zone(0) + 4, 2), "a read behind the write pointer");
  check.success(scene.read(scene.zone(1), 2), "a read from an empty zone");
}

CONFORMANCE_CASE(offline_zone_is_not_deallocated, "nvme.zones.deallocate.offline", roles::controller, failing_zones, zones,
                 needs(claims_oncs<nvme::oncs_bits::dataset_management>)) {
  ZoneScene scene(bench, check);
  fail_zone(bench, scene, scene.zone(0), ZoneState::offline);
  check.status(deallocate(scene, scene.zone(0), 1), sc::zone_is_offline, "Dataset Management of an offline zone");
}

CONFORMANCE_CASE(deallocation_leaves_the_write_pointer, "nvme.zones.deallocate.pointer", roles::controller, zoned_namespaces, zones,
                 needs(claims_oncs<nvme::oncs_bits::dataset_management>)) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(0), 6);
  check.precondition_success(deallocate(scene, scene.zone(0), 4), "Dataset Management");
  check.equal("write pointer", scene.pointer(scene.zone(0)), scene.zone(0) + 6);
}

CONFORMANCE_CASE(zones_have_no_fused_operations, "nvme.zones.fused", roles::controller, zoned_namespaces, zones,
                 needs(fuses_compare_and_write)) {
  ZoneScene scene(bench, check);
  const std::uint64_t start = scene.zone(0);
  auto compare = host::compare(scene.nsid(), start, 1);
  auto write = host::write(scene.nsid(), start, 1);
  compare.set(nvme::sqe::fuse, nvme::Fuse::first);
  write.set(nvme::sqe::fuse, nvme::Fuse::second);
  auto first = scene.io->send(compare, Bytes(scene.facts.layout.bytes()));
  auto second = scene.io->send(write, scene.data(0x42, 1));
  check.refused(first.wait(), "the Compare");
  check.refused(second.wait(), "the Write");
  check.equal("write pointer", scene.pointer(start), start);
}

}  // namespace fb::conformance
