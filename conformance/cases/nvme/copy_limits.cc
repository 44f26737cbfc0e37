// Copy beside other things: limits that are reached and not passed, FUA, and reservations of other hosts.
#include <fmt/format.h>

#include "conformance/cases/nvme/copy_scene.h"
#include "conformance/cases/nvme/reservation_scene.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {

namespace {

constexpr std::size_t kHolder = 0, kStranger = 1;

const arranges with_power_losses{
    {Request::power_cycle}, [](EmbeddedSetup& setup) { setup.subsystem.volatile_write_cache = setup.subsystem.power_loss_forgets = true; }};

/// The host may name source namespaces.
void enable_across(Check& check, RawAssociation& association) {
  Record<nvme::HostBehavior> behavior;
  behavior.set(nvme::host_behavior::cdfe, 0xCu);
  const auto set = host::set_features(nvme::FeatureId::host_behavior_support, 0);
  check.precondition_success(association.admin().send(set, behavior.bytes()).wait(), "Set Features of CDFE");
}

/// Blocks of a namespace, written by one that may.
Bytes prepare(Check& check, host::RawQueue& io, std::uint32_t nsid, std::uint64_t lba, std::uint8_t mark, std::uint32_t block_bytes) {
  const Bytes data = pattern(mark, kCount, block_bytes);
  check.precondition_success(io.send(host::write(nsid, lba, kCount), data).wait(), "Write");
  return data;
}

}  // namespace

CONFORMANCE_CASE(copy_reaches_its_limits, "nvme.copy.limits-reached", roles::controller, needs(has_namespace), copies,
                 needs(has_copy_format<0>)) {
  CopyScene scene(bench, check);
  if (std::uint64_t{2} * scene.range_blocks > scene.blocks || scene.range_blocks > 65536) {
    throw CannotArrange{"the namespace holds no two such ranges"};
  }
  const Bytes last = scene.prepare(check, scene.range_blocks - 1, 0x91, 1);
  if (check.success(scene.copy_to(scene.range_blocks, {{.slba = 0, .blocks = scene.range_blocks}}), "as many blocks as MSSRL says")) {
    const auto reply = scene.read(std::uint64_t{2} * scene.range_blocks - 1, 1);
    if (check.success(reply, "Read")) check.bytes("the last block of the destination", reply.data, last);
  }
  check.success(scene.copy_to(scene.range_blocks, ranges_of(scene, scene.total_blocks)), "as many blocks as MCL says");
}

CONFORMANCE_CASE(copy_checks_each_source_range, "nvme.copy.every-range", roles::controller, needs(has_namespace), copies,
                 needs(has_copy_format<0>)) {
  CopyScene scene(bench, check);
  if (scene.ranges < 2) throw CannotArrange{"the product copies one range at once"};
  const std::uint32_t count = std::min({scene.ranges, scene.total_blocks / 2, 16u});
  const std::uint64_t damaged = kFrom + 8;
  scene.prepare(check, kFrom, 0x97, kCount);
  const bool marks = (bench.declared().identify().get(nvme::id_ctrl::oncs) & nvme::oncs_bits::write_uncorrectable) != 0;
  if (marks) {
    const auto mark = host::write_uncorrectable(scene.nsid, scene.at(damaged), 1);
    check.precondition_success(scene.io.send(mark).wait(), "Write Uncorrectable");
  }
  const bool bounded = scene.range_blocks < 65536 && scene.range_blocks < scene.blocks;
  for (std::uint32_t place = 0; place < count; ++place) {
    const auto judge = [&](const CopySource& wrong, nvme::Status status, std::string_view what) {
      std::vector<CopySource> sources(count, {.slba = kFrom, .blocks = 1});
      sources[place] = wrong;
      check.status(scene.copy_to(kTo, sources), status, fmt::format("range {} of {} {}", place, count, what));
    };
    judge({.slba = scene.blocks - 1, .blocks = 2}, sc::lba_out_of_range, "goes beyond the end");
    if (bounded) judge({.slba = 0, .blocks = scene.range_blocks + 1}, sc::command_size_limit_exceeded, "has a block more than MSSRL");
    if (marks) judge({.slba = damaged, .blocks = 1}, sc::unrecovered_read_error, "cannot be read");
  }
  if (marks) scene.prepare(check, damaged, 0x98, 1);
}

CONFORMANCE_CASE(copy_with_fua_survives_a_loss_of_power, "nvme.copy.fua", roles::controller, with_power_losses, copies,
                 needs(has_copy_format<0>), reaches{"subsystem.power_cycle"}) {
  // So many that a product that forgets some of them is not lucky with all.
  constexpr unsigned kCopies = 32;
  constexpr std::uint64_t kFirst = 512;
  Bytes data;
  {
    CopyScene scene(bench, check);
    if (scene.blocks < kFirst + kCopies * kCount) throw CannotArrange{"the namespace is too small"};
    data = scene.prepare(check, kFrom, 0x92, kCount);
    for (unsigned i = 0; i < kCopies; ++i) scene.prepare(check, kFirst + i * kCount, 0x11, kCount);
    check.precondition_success(scene.io.send(host::flush(scene.nsid)).wait(), "Flush");
    for (unsigned i = 0; i < kCopies; ++i) {
      std::vector<CopySource> sources{{.slba = kFrom, .blocks = kCount}};
      // FUA is one of all ranges.
      if (i % 2 == 1 && scene.ranges > 1) sources = {{.slba = kFrom, .blocks = 1}, {.slba = kFrom + 1, .blocks = kCount - 1}};
      check.precondition_success(scene.copy_to(kFirst + i * kCount, sources, {.fua = true}), "Copy with FUA");
    }
  }
  bench.arranger().power_cycle();
  IoScene scene(bench);
  for (unsigned i = 0; i < kCopies; ++i) {
    const auto reply = scene.read(kFirst + i * kCount, kCount);
    if (!check.success(reply, "Read")) return;
    check.bytes("what copy " + std::to_string(i) + " has written", reply.data, data);
  }
}

CONFORMANCE_CASE(strangers_do_not_copy_to_what_is_reserved, "nvme.copy.reservation", roles::controller, copies, needs(has_copy_format<0>),
                 reservations) {
  ReservationScene scene(bench, check, 2);
  const BlockLayout layout = bench.declared().namespaces.front().layout;
  unsigned looked = 0;
  for (const ReservationType type : kReservationTypes) {
    if (!claims_type(bench.declared(), type)) continue;
    ++looked;
    scene.held(type);
    prepare(check, scene.io(kHolder), scene.nsid(), kFrom, 0x93, scene.block_bytes());
    const Bytes old = prepare(check, scene.io(kHolder), scene.nsid(), kTo, 0x94, scene.block_bytes());
    const std::vector<CopySource> sources{{.slba = kFrom, .blocks = kCount}};
    check.status(copy(scene.io(kStranger), scene.nsid(), layout, kTo, sources), sc::reservation_conflict,
                 "Copy of a host that is not registered, " + std::string(name_of(type)));
    const auto read = scene.io(kHolder).send(host::read(scene.nsid(), kTo, kCount), old.size()).wait();
    if (check.success(read, "Read of the holder")) check.bytes("the destination", read.data, old);
    check.precondition_success(scene.clear(kHolder, scene.key(kHolder)), "Clear");
  }
  check.precondition(looked > 0, "the product has a type of reservation");
}

CONFORMANCE_CASE(strangers_do_not_copy_from_what_is_exclusive, "nvme.copy.across.reservation", roles::controller, more_namespaces, copies,
                 copies_across, needs(has_another_like_the_first), needs(claims_types<ReservationType::exclusive_access>)) {
  ReservationScene scene(bench, check, 2);
  const BlockLayout layout = bench.declared().namespaces.front().layout;
  const std::uint32_t other = second_of(bench);
  enable_across(check, scene.association(kStranger));
  scene.held(ReservationType::exclusive_access);
  prepare(check, scene.io(kHolder), scene.nsid(), kFrom, 0x95, scene.block_bytes());
  const Bytes old = prepare(check, scene.io(kStranger), other, kTo, 0x96, scene.block_bytes());
  const std::vector<CopySource> sources{{.nsid = scene.nsid(), .slba = kFrom, .blocks = kCount}};
  check.status(copy(scene.io(kStranger), other, layout, kTo, sources, {.format = 2}), sc::reservation_conflict,
               "Copy from a namespace that is exclusive to another host");
  const auto read = scene.io(kStranger).send(host::read(other, kTo, kCount), old.size()).wait();
  if (check.success(read, "Read of the destination")) check.bytes("the destination", read.data, old);
}

}  // namespace fb::conformance
