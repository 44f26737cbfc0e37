// Flexible Data Placement when the media are full: what is still valid is moved, and everything written is accounted for.
#include <fmt/format.h>

#include "conformance/cases/nvme/fdp_scene.h"

namespace fb::conformance {

namespace {

using nvme::FdpEventType;
namespace fe = nvme::fdp_event;
namespace mr = nvme::media_reallocated;
namespace fs = nvme::fdp_statistics;

constexpr std::uint64_t kUnit = 1 << 18;
constexpr std::uint64_t kBlocks = 6'000;
constexpr std::uint32_t kTimeLimit = 5;

void small_group(EmbeddedSetup& setup, std::uint32_t time_limit_s) {
  set_up_fdp(setup);
  setup.namespaces.clear();
  for (const std::uint32_t nsid : {1u, 2u}) setup.namespaces.push_back({.nsid = nsid, .blocks = 1024});
  setup.subsystem.endurance = {.groups = 2, .group_bytes = std::uint64_t{1} << 22};
  setup.subsystem.fdp.configurations = {{.reclaim_groups = 2,
                                         .group_bits = 1,
                                         .handles = 4,
                                         .unit_bytes = kUnit,
                                         .identifiers_max = 4,
                                         .namespaces_max = 4,
                                         .time_limit_s = time_limit_s}};
}
const arranged media_that_are_full{"media that are full after a few writes", [](EmbeddedSetup& setup) { small_group(setup, 0); }};
const arranged units_with_a_time_limit{"reclaim units that are left after five seconds",
                                       [](EmbeddedSetup& setup) { small_group(setup, kTimeLimit); }};

/// Zeroes need no transfer, and are placed as data is.
host::RawReply zero(FdpScene& scene, std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks, std::uint16_t where) {
  auto command = host::write_zeroes(nsid, lba, blocks);
  command.set(nvme::rw_sqe::dtype, 2u).set(nvme::rw_sqe::dspec, where);
  return scene.io().send(command).wait();
}

/// What the events of moved blocks say, since the beginning.
class Moves {
 public:
  Moves(FdpScene& scene, Check& check) : scene_(scene), check_(check) {}
  /// Looks at those that are new; false: something was wrong.
  bool look(std::uint32_t nsid, const std::string& when) {
    const auto events = scene_.events(false);
    for (; seen_ < events.size(); ++seen_) {
      const auto& event = events[seen_];
      const Record<nvme::MediaReallocated> specific{event.get(fe::etsp).first(nvme::MediaReallocated::size)};
      const std::string which = fmt::format("event {} {}", seen_, when);
      if (!check_.equal("type of " + which, event.get(fe::etyp), FdpEventType::media_reallocated)) return false;
      if (!check_.equal("NSID of " + which, event.get(fe::nsid), nsid)) return false;
      if (!check_.that(event.get(fe::ruhid) < 2 && event.get(fe::rgid) < 2, "RUHID and RGID are those of writes, " + which, "others"))
        return false;
      if (!check_.that(specific.get(mr::lbav), "LBAV is set, " + which, "it is not")) return false;
      if (!check_.between("NLBAM of " + which, std::uint64_t{specific.get(mr::nlbam)}, std::uint64_t{1}, kUnit / kFirstBlockBytes))
        return false;
      if (!check_.that(specific.get(mr::lba) < kBlocks, "the LBA is in the namespace, " + which, "it is not")) return false;
      blocks += specific.get(mr::nlbam);
    }
    return true;
  }
  std::uint64_t blocks = 0;
  bool nearly_full() const { return seen_ + 6 >= nvme::kFdpEventsMax; }
  bool any() const { return seen_ != 0; }

 private:
  FdpScene& scene_;
  Check& check_;
  std::size_t seen_ = 0;
};

}  // namespace

CONFORMANCE_CASE(fdp_accounts_for_what_it_moves, "nvme.fdp.statistics.moved", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 media_that_are_full) {
  constexpr unsigned kSteps = 150;
  FdpScene scene(bench, check);
  (void)scene.group(2);
  const std::uint32_t nsid = scene.made({0, 1}, {.nsze = kBlocks, .ncap = kBlocks});
  scene.directed(nsid);
  for (const std::uint16_t handle : {std::uint16_t{0}, std::uint16_t{1}}) scene.listen(nsid, handle, FdpEventType::media_reallocated);
  Rng draw = bench.random("case.fdp");
  Moves moves(scene, check);
  const std::uint64_t host_before = scene.counter(fs::hbmw), media_before = scene.counter(fs::mbmw);
  std::uint64_t written = 0;
  for (unsigned step = 1; step <= kSteps && !moves.nearly_full(); ++step) {
    const auto blocks = static_cast<std::uint32_t>(1 + draw.below(256));
    const std::uint64_t lba = draw.below(kBlocks - blocks);
    const auto group = draw.below(4) == 0 ? 1u : 0u;
    const auto handle = static_cast<unsigned>(draw.below(2));
    const std::string when = fmt::format("after write {}", step);
    if (!check.success(zero(scene, nsid, lba, blocks, scene.id(group, handle)), "Write Zeroes " + std::to_string(step))) return;
    written += std::uint64_t{blocks} * kFirstBlockBytes;
    if (!moves.look(nsid, when)) return;
    const std::uint64_t host = scene.counter(fs::hbmw) - host_before, media = scene.counter(fs::mbmw) - media_before;
    if (!check.equal("HBMW " + when, host, written)) return;
    if (!check.equal("MBMW without HBMW " + when, media - host, moves.blocks * kFirstBlockBytes)) return;
  }
  check.precondition(moves.any(), "blocks are moved");
  // Nothing is valid any more, and every unit is left: all that was written is erased, but for units that blocks were moved to.
  Bytes range(16);
  store_le(range.data() + 4, static_cast<std::uint32_t>(kBlocks));
  check.precondition_success(scene.io().send(host::deallocate(nsid, 1), range).wait(), "Dataset Management");
  check.precondition_success(scene.update(nsid, {scene.id(0, 0), scene.id(0, 1), scene.id(1, 0), scene.id(1, 1)}), "I/O Management Send");
  const std::uint64_t erased = scene.counter(fs::mbe), media = scene.counter(fs::mbmw);
  check.that(erased + 2 * kUnit >= media, "MBE is at least MBMW without two units", fmt::format("MBE {}, MBMW {}", erased, media));
  check.equal("MBE in units", erased % kUnit, std::uint64_t{0});
}

CONFORMANCE_CASE(fdp_units_are_left_when_their_time_is_over, "nvme.fdp.time-limit", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), units_with_a_time_limit) {
  FdpScene scene(bench, check);
  (void)scene.group(2);
  const std::uint32_t nsid = scene.made({0, 1});
  scene.directed(nsid);
  for (const std::uint16_t handle : {std::uint16_t{0}, std::uint16_t{1}}) scene.listen(nsid, handle, FdpEventType::time_limit_exceeded);
  const std::uint64_t whole = scene.left(nsid, scene.id(1, 1));
  std::size_t expected = 0;
  std::uint64_t earlier = 0;
  for (const auto& [group, handle] : {std::pair{1u, 1u}, std::pair{0u, 0u}}) {
    const std::uint16_t where = scene.id(group, handle);
    const std::string which = fmt::format(" of handle {} in reclaim group {}", handle, group);
    const auto status = [&] {
      const auto all = scene.statuses(nsid);
      return *std::find_if(all.begin(), all.end(), [&](const nvme::HandleStatus& one) { return one.id == where; });
    };
    scene.written(nsid, 0, 8, where);
    check.equal("RUAMW" + which, status().blocks_left, whole - 8);
    check.between("EARUTR at first" + which, status().time_left_s, kTimeLimit - 1, kTimeLimit);
    bench.world().run_for(3_s);
    check.between("EARUTR after three seconds" + which, status().time_left_s, kTimeLimit - 4, kTimeLimit - 3);
    check.equal("RUAMW within the time" + which, status().blocks_left, whole - 8);
    check.equal("events within the time" + which, scene.events().size(), expected);
    bench.world().run_for(3_s);
    check.equal("RUAMW after the time" + which, status().blocks_left, whole);
    const auto events = scene.events();
    check.equal("events after the time" + which, events.size(), ++expected);
    if (events.size() != expected) return;
    const auto& event = events.back();
    check.equal("type of the event" + which, event.get(fe::etyp), FdpEventType::time_limit_exceeded);
    check.equal("RUHID" + which, unsigned{event.get(fe::ruhid)}, handle);
    check.equal("RGID" + which, unsigned{event.get(fe::rgid)}, group);
    check.equal("NSID" + which, event.get(fe::nsid), nsid);
    check.equal("PID" + which, event.get(fe::pid), where);
    const std::uint64_t stamp = load_le<std::uint64_t>(event.get(fe::etmsp).data()) & 0xFFFF'FFFF'FFFF;  // milliseconds
    check.that(stamp >= earlier + 5000, "the timestamp" + which + " is 5 s or more after " + std::to_string(earlier),
               std::to_string(stamp));
    earlier = stamp;
  }
  // A unit without data has all its time left, however long it waits.
  bench.world().run_for(7_s);
  (void)scene.statuses(nsid);
  check.equal("events of units without data", scene.events().size(), expected);
}

}  // namespace fb::conformance
