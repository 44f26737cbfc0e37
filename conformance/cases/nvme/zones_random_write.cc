// Zone Random Write Areas: what writes to them do, and Flush Explicit ZRWA Range.
#include <fmt/format.h>

#include "conformance/cases/nvme/zones_random.h"

namespace fb::conformance {

CONFORMANCE_CASE(random_area_is_written_in_any_order, "nvme.zones.zrwa.write.order", roles::controller, random_zones, random_areas) {
  RandomScene scene(bench, check);
  scene.holds(1);
  const std::uint64_t start = scene.zone(0);
  scene.take(start);
  const std::uint64_t places[] = {scene.area() - 1, 0, scene.area() / 2};
  std::uint8_t mark = 0x51;
  for (const std::uint64_t at : places) {
    if (!check.success(scene.write(start + at, 1, mark++), fmt::format("Write of block {} of the area", at))) return;
    check.equal("write pointer", scene.pointer(start), start);
  }
  if (scene.area() < 3) return;
  mark = 0x51;
  for (const std::uint64_t at : places) {
    const auto reply = scene.read(start + at, 1);
    if (check.success(reply, "Read")) check.bytes("what was written", reply.data, scene.data(mark, 1));
    ++mark;
  }
}

CONFORMANCE_CASE(random_area_is_overwritten, "nvme.zones.zrwa.write.overwrite", roles::controller, random_zones, random_areas) {
  RandomScene scene(bench, check);
  const std::uint64_t start = scene.zone(0);
  scene.take(start);
  for (const std::uint8_t mark : {std::uint8_t{0x61}, std::uint8_t{0x62}, std::uint8_t{0x63}}) {
    if (!check.success(scene.write(start, 1, mark), "Write")) return;
    const auto reply = scene.read(start, 1);
    if (check.success(reply, "Read")) check.bytes("what was written last", reply.data, scene.data(mark, 1));
  }
}

CONFORMANCE_CASE(write_behind_random_area_moves_the_pointer, "nvme.zones.zrwa.write.slides", roles::controller, random_zones,
                 random_areas) {
  RandomScene scene(bench, check);
  scene.holds(2);
  for (const std::size_t i : {0u, 1u}) {
    if (i != 0 && scene.facts.zones.zrwa_max == 0) break;
    const std::uint64_t start = scene.zone(i);
    const std::uint64_t last = start + (i == 0 ? scene.area() : 2 * scene.area() - 1);
    scene.take(start);
    if (!check.success(scene.write(last, 1, 0x71), "Write behind the area")) return;
    check.between("write pointer", scene.pointer(start), last + 1 - scene.area(), last);
    const auto reply = scene.read(last, 1);
    if (check.success(reply, "Read")) check.bytes("what was written", reply.data, scene.data(0x71, 1));
  }
}

CONFORMANCE_CASE(random_area_moves_by_its_granularity, "nvme.zones.zrwa.write.slides.granularity", roles::controller, random_zones,
                 random_areas) {
  RandomScene scene(bench, check);
  scene.holds(2);
  const std::uint64_t start = scene.zone(0);
  scene.take(start);
  for (const std::uint64_t step : {1u, 2u}) {
    const std::uint64_t at = start + scene.area() + (step - 1) * scene.granule();
    if (!check.success(scene.write(at, 1), "Write behind the area")) return;
    check.equal("write pointer", scene.pointer(start), start + step * scene.granule());
  }
}

CONFORMANCE_CASE(committed_blocks_are_not_written, "nvme.zones.zrwa.write.behind", roles::controller, random_zones, random_areas) {
  RandomScene scene(bench, check);
  scene.holds(2);
  const std::uint64_t start = scene.zone(0);
  scene.take(start);
  scene.fill(start, 1, 0x75);
  scene.fill(start + scene.area(), 1);
  const std::uint64_t pointer = scene.pointer(start);
  check.precondition(pointer > start, "the write pointer has moved");
  check.status(scene.write(start, 1, 0x76), sc::zone_invalid_write, "Write of the first block of the zone");
  check.status(scene.write(pointer - 1, 1, 0x77), sc::zone_invalid_write, "Write of the block before the write pointer");
  const auto reply = scene.read(start, 1);
  if (check.success(reply, "Read")) check.bytes("what was committed", reply.data, scene.data(0x75, 1));
  check.success(scene.write(pointer, 1), "Write at the write pointer");
}

CONFORMANCE_CASE(write_far_behind_random_area_is_refused, "nvme.zones.zrwa.write.beyond", roles::controller, random_zones, random_areas) {
  RandomScene scene(bench, check);
  scene.holds(2);
  const std::uint64_t start = scene.zone(0), end = start + 2 * scene.area();
  scene.take(start);
  check.status(scene.write(end, 1), sc::zone_invalid_write, "Write behind twice ZRWASZ");
  check.equal("write pointer", scene.pointer(start), start);
  check.success(scene.write(end - 1, 1), "Write of the last block of twice ZRWASZ");
}

CONFORMANCE_CASE(random_area_ends_with_the_zone, "nvme.zones.zrwa.write.boundary", roles::controller, random_zones, random_areas) {
  RandomScene scene(bench, check);
  scene.holds(2);
  scene.take(scene.zone(0));
  scene.advance(0);
  const std::uint64_t end = scene.zone(0) + scene.capacity(0);
  check.status(scene.write(end - 1, 2), one_of(sc::zone_boundary_error, sc::zone_invalid_write), "Write of a block behind the capacity");
  check.success(scene.write(end - 1, 1), "Write of the last block");
}

CONFORMANCE_CASE(write_opens_a_closed_zone_with_random_area, "nvme.zones.zrwa.write.opens", roles::controller, random_zones, random_areas) {
  RandomScene scene(bench, check);
  const std::uint64_t start = scene.zone(0);
  scene.take(start);
  scene.close(start);
  scene.precondition(start, ZoneState::closed);
  if (!check.success(scene.write(start, 1), "Write")) return;
  scene.is(start, ZoneState::implicitly_opened);
  check.that(scene.has_area(start), "ZRWAV is 1", "it is 0");
}

CONFORMANCE_CASE(zone_with_random_area_counts_as_open, "nvme.zones.limits.counted", roles::controller, random_zones,
                 needs(has_zoned<limits_open_random>)) {
  const std::uint32_t most = zoned_of(bench.declared(), limits_open_random).zones.max_open;
  RandomScene scene(bench, check, limits_open_random, most + 1);
  scene.take(scene.zone(0));
  scene.close(scene.zone(0));
  // The controller closes one that it has opened by itself, or refuses the last write.
  for (std::uint32_t i = 1; i <= most; ++i) scene.fill(scene.zone(i), 1);
  (void)scene.write(scene.zone(0), 1);
  std::uint32_t open = 0;
  for (std::uint32_t i = 0; i <= most; ++i) {
    const ZoneState state = scene.state(scene.zone(i));
    if (state == ZoneState::implicitly_opened || state == ZoneState::explicitly_opened) ++open;
  }
  check.between("zones that are open", open, 1u, most);
}

CONFORMANCE_CASE(random_area_takes_write_zeroes, "nvme.zones.zrwa.write.zeroes", roles::controller, random_zones, random_areas,
                 needs(claims_oncs<nvme::oncs_bits::write_zeroes>)) {
  RandomScene scene(bench, check);
  if (scene.area() < 2) throw CannotArrange{"an area is one block"};
  const std::uint64_t start = scene.zone(0);
  scene.take(start);
  scene.fill(start + 1, 1, 0x79);
  if (!check.success(scene.io->send(host::write_zeroes(scene.nsid(), start + 1, 1)).wait(), "Write Zeroes")) return;
  check.equal("write pointer", scene.pointer(start), start);
  const auto reply = scene.read(start + 1, 1);
  if (check.success(reply, "Read")) check.bytes("the block", reply.data, Bytes(scene.facts.layout.bytes()));
}

CONFORMANCE_CASE(random_area_is_written_by_two_queues, "nvme.zones.zrwa.write.queues", roles::controller, random_zones, random_areas) {
  RandomScene scene(bench, check);
  scene.holds(1);
  const std::uint64_t start = scene.zone(0);
  scene.take(start);
  host::RawQueue* const queues[] = {&scene.association.open_io(bench.io_qid(1)), scene.io};
  for (std::uint64_t at = std::min<std::uint64_t>(scene.area(), 4); at-- != 0;) {
    const auto command = host::write(scene.nsid(), start + at, 1);
    const auto reply = queues[at % 2]->send(command, scene.data(static_cast<std::uint8_t>(0x81 + at), 1)).wait();
    if (!check.success(reply, fmt::format("Write of block {} of the area", at))) return;
  }
  const auto reply = scene.read(start, 1);
  if (check.success(reply, "Read")) check.bytes("what was written", reply.data, scene.data(0x81, 1));
}

// ---- Flush Explicit ZRWA Range ----

CONFORMANCE_CASE(flush_of_random_area_moves_the_pointer, "nvme.zones.zrwa.flush.pointer", roles::controller, random_zones, random_flushes) {
  RandomScene scene(bench, check, flushes_random_areas);
  scene.holds(1);
  const std::uint64_t start = scene.zone(0), last = start + scene.granule() - 1;
  scene.take(start);
  scene.fill(start, 1, 0x91);
  if (!check.success(scene.flush_to(last), "Flush Explicit ZRWA Range")) return;
  check.equal("write pointer", scene.pointer(start), last + 1);
  const auto reply = scene.read(start, 1);
  if (check.success(reply, "Read")) check.bytes("what was committed", reply.data, scene.data(0x91, 1));
  check.refused(scene.write(last, 1), "Write of a block that was committed");
}

CONFORMANCE_CASE(flush_takes_a_whole_random_area, "nvme.zones.zrwa.flush.whole", roles::controller, random_zones, random_flushes) {
  RandomScene scene(bench, check, flushes_random_areas);
  scene.holds(1);
  const std::uint64_t start = scene.zone(0);
  scene.take(start);
  if (!check.success(scene.flush_to(start + scene.area() - 1), "Flush Explicit ZRWA Range")) return;
  check.equal("write pointer", scene.pointer(start), start + scene.area());
}

CONFORMANCE_CASE(flush_is_of_one_random_area, "nvme.zones.zrwa.flush.zone", roles::controller, random_zones, random_flushes) {
  RandomScene scene(bench, check, flushes_random_areas);
  scene.holds(1);
  if (scene.facts.zones.zrwa_max == 0) throw CannotArrange{"one zone may have an area"};
  scene.take(scene.zone(0));
  scene.take(scene.zone(1));
  scene.fill(scene.zone(0), 1);
  scene.fill(scene.zone(1), 1);
  if (!check.success(scene.flush_to(scene.zone(1) + scene.granule() - 1), "Flush Explicit ZRWA Range")) return;
  check.equal("write pointer of the other zone", scene.pointer(scene.zone(0)), scene.zone(0));
}

CONFORMANCE_CASE(flush_beyond_random_area_is_refused, "nvme.zones.zrwa.flush.range", roles::controller, random_zones, random_flushes) {
  RandomScene scene(bench, check, flushes_random_areas);
  scene.holds(2);
  const std::uint64_t start = scene.zone(0);
  scene.take(start);
  check.refused(scene.flush_to(start + scene.area() + scene.granule() - 1), "Flush Explicit ZRWA Range behind the area");
  check.equal("write pointer", scene.pointer(start), start);
  scene.done(scene.flush_to(start + scene.granule() - 1), "Flush Explicit ZRWA Range");
  check.refused(scene.flush_to(start + scene.granule() - 1), "Flush Explicit ZRWA Range of what was committed");
  check.equal("write pointer", scene.pointer(start), start + scene.granule());
}

CONFORMANCE_CASE(flush_keeps_to_the_granularity, "nvme.zones.zrwa.flush.granularity", roles::controller, random_zones, random_flushes) {
  RandomScene scene(bench, check, flushes_random_areas);
  scene.holds(1);
  if (scene.granule() == 1) throw CannotArrange{"ZRWAFG is one block"};
  const std::uint64_t start = scene.zone(0);
  scene.take(start);
  scene.fill(start, 1);
  for (const std::uint64_t blocks : {std::uint64_t{1}, scene.granule() - 1}) {
    check.refused(scene.flush_to(start + blocks - 1), fmt::format("Flush Explicit ZRWA Range of {} blocks", blocks));
    check.equal("write pointer", scene.pointer(start), start);
  }
}

CONFORMANCE_CASE(flush_needs_a_random_area, "nvme.zones.zrwa.flush.none", roles::controller, random_zones, random_flushes) {
  RandomScene scene(bench, check, flushes_random_areas);
  scene.open(scene.zone(0));
  scene.fill(scene.zone(0), 1);
  check.refused(scene.flush_to(scene.zone(0)), "Flush Explicit ZRWA Range in an open zone");
  check.refused(scene.flush_to(scene.zone(1)), "Flush Explicit ZRWA Range in an empty zone");
  // Where it would be in order if there were an area.
  check.refused(scene.flush_to(scene.zone(0) + scene.granule()), "Flush Explicit ZRWA Range of a whole ZRWAFG in an open zone");
  check.refused(scene.flush_to(scene.zone(1) + scene.granule() - 1), "Flush Explicit ZRWA Range of a whole ZRWAFG in an empty zone");
  scene.is(scene.zone(1), ZoneState::empty, "state of the zone that was empty");
  check.equal("write pointer", scene.pointer(scene.zone(0)), scene.zone(0) + 1);
}

CONFORMANCE_CASE(flush_that_is_not_claimed_is_refused, "nvme.zones.zrwa.flush.unsupported", roles::controller, random_zones,
                 needs(has_zoned<flushes_no_random_areas>)) {
  RandomScene scene(bench, check, flushes_no_random_areas);
  scene.take(scene.zone(0));
  check.refused(scene.flush_to(scene.zone(0) + scene.granule() - 1), "Flush Explicit ZRWA Range");
}

CONFORMANCE_CASE(flush_to_the_end_fills_the_zone, "nvme.zones.zrwa.flush.fills", roles::controller, random_zones, random_flushes) {
  RandomScene scene(bench, check, flushes_random_areas);
  scene.holds(2);
  scene.take(scene.zone(0));
  scene.advance(0);
  const std::uint64_t last = scene.zone(0) + scene.capacity(0) - 1;
  scene.fill(last, 1, 0x95);
  if (!check.success(scene.flush_to(last), "Flush Explicit ZRWA Range")) return;
  scene.is(scene.zone(0), ZoneState::full);
  check.that(!scene.has_area(scene.zone(0)), "ZRWAV is 0", "it is 1");
  const auto reply = scene.read(last, 1);
  if (check.success(reply, "Read")) check.bytes("the last block", reply.data, scene.data(0x95, 1));
}

}  // namespace fb::conformance
