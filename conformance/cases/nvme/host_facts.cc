// What a host says to its user of the namespaces that it has found, and after they have changed.
#include <algorithm>

#include "conformance/cases/nvme/host_scene.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {

namespace {

/// Sizes, formats, protection and groups that all differ; NSIDs with gaps.
void unequal_namespaces(EmbeddedSetup& setup) {
  setup.subsystem.metadata = true;
  setup.subsystem.namespace_management.capacity_bytes = std::uint64_t{1} << 50;
  setup.namespaces.clear();
  setup.namespaces.push_back({.nsid = 1, .blocks = (std::uint64_t{1} << 34) + 3});
  setup.namespaces.push_back({.nsid = 2, .block_bytes = 4096, .blocks = 1001, .ana_group = 3});
  setup.namespaces.push_back({.nsid = 3, .blocks = 77, .metadata_bytes = 8, .protection_type = 1});
  setup.namespaces.push_back(
      {.nsid = 6, .blocks = 78, .shared = false, .metadata_bytes = 16, .protection_type = 2, .protection_first = true});
  setup.namespaces.push_back({.nsid = 7, .block_bytes = 4096, .blocks = 79, .ana_group = 2, .metadata_bytes = 64});
  setup.subsystem.zoned.supported = true;
  setup.subsystem.version = std::max(setup.subsystem.version, fabrics::version(2, 0, 0));  // the first with several command sets
  subsystem::ZoneOptions zones[3] = {{.zone_blocks = 64, .max_active = 5, .max_open = 3}, {.zone_blocks = 32}, {.zone_blocks = 128}};
  zones[0].read_across = true;
  zones[0].extension_units = 2;
  zones[1].variable_capacity = true;
  zones[1].zrwa_blocks = zones[2].zrwa_blocks = 8;
  zones[1].zrwa_granularity = 4;
  zones[1].zrwa_flush = false;
  for (std::uint32_t i = 0; i < 3; ++i) setup.namespaces.push_back({.nsid = 9 + i, .blocks = 1024, .zones = zones[i]});
}
const arranged a_host_that_says_what_it_found{"namespaces of all formats, and a user who asks the host what it has found",
                                              &unequal_namespaces};

/// The strongest identifier, its type first.
Bytes identity_of(const subsystem::Namespace& space) {
  constexpr std::uint8_t kUuid = 3;
  Bytes made(1 + space.uuid().size());
  made[0] = kUuid;
  std::copy(space.uuid().begin(), space.uuid().end(), made.begin() + 1);
  return made;
}

/// Zones as the host has them.
void knows_zones(Check& check, const host::ZoneGeometry& told, const subsystem::ZoneOptions& there, const std::string& which) {
  check.equal("blocks of a zone" + which, told.zone_blocks, there.zone_blocks);
  check.equal("zones that may be active" + which, told.max_active, there.max_active);
  check.equal("zones that may be open" + which, told.max_open, there.max_open);
  check.equal("bytes of an extension" + which, told.extension_bytes, there.extension_units * 64u);
  check.equal("reads across boundaries" + which, told.read_across, there.read_across);
  check.equal("zones of another capacity after a reset" + which, told.variable_capacity, there.variable_capacity);
  check.equal("blocks of a random write area" + which, told.zrwa_blocks, std::uint32_t{there.zrwa_blocks});
  if (there.zrwa_blocks == 0) return;
  check.equal("granularity of a random write area" + which, told.zrwa_granularity, std::uint32_t{there.zrwa_granularity});
  check.equal("Flush Explicit ZRWA Range" + which, told.zrwa_flush, there.zrwa_flush);
}

/// Each namespace of the bench as the host has it, and no other.
void knows_them(HostBench& bench, Check& check, const std::string& when) {
  const auto controllers = bench.emulated_host().controllers();
  check.require(!controllers.empty(), "there is a controller " + when, "none");
  const std::vector<host::NamespaceFacts>& found = controllers.front()->namespaces();
  const auto& there = bench.subsystem().namespaces();
  check.equal("namespaces " + when, found.size(), there.size());
  for (const auto& [nsid, space] : there) {
    const std::uint32_t number = nsid;
    const auto at = std::find_if(found.begin(), found.end(), [&](const host::NamespaceFacts& facts) { return facts.nsid == number; });
    const std::string which = " of namespace " + std::to_string(nsid) + " " + when;
    check.that(at != found.end(), "namespace " + std::to_string(nsid) + " is found " + when, "it is not");
    if (at == found.end()) continue;
    check.equal("blocks" + which, at->blocks, space->blocks());
    check.that(at->layout == space->layout(), "the layout of the blocks" + which, "another one");
    check.equal("block size" + which, at->block_bytes, at->strips() ? space->layout().data_bytes : space->block_bytes());
    check.equal("ANA group" + which, at->ana_group, bench.subsystem().options().ana ? space->ana_group() : 0u);
    check.equal("sharing" + which, at->shared, space->shared());
    check.bytes("identifier" + which, at->identity, identity_of(*space));
    const auto& copy = bench.subsystem().options().copy;
    check.equal("MSSRL" + which, at->copy.range_blocks, std::uint32_t{copy.range_blocks});
    check.equal("MCL" + which, at->copy.total_blocks, copy.total_blocks);
    check.equal("MSRC + 1" + which, at->copy.ranges, std::uint32_t{copy.ranges});
    if (space->zones() != nullptr) knows_zones(check, at->zones, space->zones()->options(), which);
    const host::Namespace* const space_of_user = bench.emulated_host().find(*controllers.front(), nsid);
    check.that(space_of_user != nullptr, "the user has namespace " + std::to_string(nsid) + " " + when, "none");
    if (space_of_user != nullptr) check.equal("blocks for the user" + which, space_of_user->blocks(), space->blocks());
  }
}

bool is_live(HostBench& bench) {
  const auto controllers = bench.emulated_host().controllers();
  return !controllers.empty() && controllers.front()->live();
}

/// Another namespace of the same NSID, size and format.
void replace_namespace(HostBench& bench, Check& check, std::uint32_t nsid) {
  const subsystem::Namespace* const former = bench.subsystem().find_namespace(nsid);
  check.precondition(former != nullptr, "the namespace is there");
  subsystem::NamespaceOptions other{.nsid = nsid, .block_bytes = former->layout().data_bytes, .blocks = former->blocks()};
  other.ana_group = former->ana_group();
  other.metadata_bytes = former->layout().metadata_bytes;
  other.incarnation = 1;
  check.precondition(bench.subsystem().remove_namespace(nsid), "the namespace goes");
  check.precondition(bench.subsystem().add_namespace(std::move(other)).ok(), "another one comes");
}

/// A user of the former namespace does not reach the one that has its NSID now.
void leaves_former(HostBench& bench, Check& check, host::Namespace& former, const std::string& when) {
  bench.forget_seen();
  Bytes& data = bench.keep(host_pattern(former.block_bytes()));
  const auto written = former.write(0, data).wait_for(120_s);
  check.that(written.has_value() && !written->ok(), "a write to the former namespace fails " + when, "it succeeds");
  check.equal("Write commands for the former namespace " + when, io_commands(bench, opcode::kWrite).size(), 0u);
}

/// More than one list of Identify holds.
void many_namespaces(EmbeddedSetup& setup) {
  constexpr std::uint32_t kMany = 1030;
  setup.subsystem.namespaces_max = 3 * kMany;
  setup.namespaces.clear();
  // With gaps and without: where a list ends, the next one begins with the very next number.
  for (std::uint32_t i = 0; i < kMany; ++i) setup.namespaces.push_back({.nsid = i < 1000 ? 1 + i * 2 : 1001 + i, .blocks = 8 + i});
}

}  // namespace

CONFORMANCE_CASE(host_finds_more_namespaces_than_one_list_holds, "nvme.host.namespaces.many", roles::host,
                 arranged("more namespaces than one list holds, and a user who asks the host what it has found", &many_namespaces)) {
  bench.connect_product();
  const auto controllers = bench.emulated_host().controllers();
  check.require(!controllers.empty(), "there is a controller", "none");
  const std::vector<host::NamespaceFacts>& found = controllers.front()->namespaces();
  std::size_t right = 0;
  for (const host::NamespaceFacts& facts : found) {
    const subsystem::Namespace* const space = bench.subsystem().find_namespace(facts.nsid);
    right += space != nullptr && space->blocks() == facts.blocks;
  }
  check.equal("namespaces that are found", found.size(), bench.subsystem().namespaces().size());
  check.equal("namespaces with their size", right, bench.subsystem().namespaces().size());
}

CONFORMANCE_CASE(host_hears_of_a_change_while_it_looks, "nvme.host.namespaces.again", roles::host, a_host_that_says_what_it_found) {
  bench.connect_product();
  constexpr std::uint8_t kActiveList = 0x02;
  std::uint32_t next = 601;
  unsigned lists = 0;
  bool added = true;
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    const bool list = command.qid == 0 && command.sqe[0] == opcode::kIdentify && command.sqe[40] == kActiveList;
    // The list that the host gets does not have this one.
    if (list && ++lists <= 3) added = added && bench.subsystem().add_namespace({.nsid = next++, .blocks = 100 + lists}).ok();
    return Answer::send;
  };
  check.precondition(bench.subsystem().add_namespace({.nsid = 600, .blocks = 4242}).ok(), "one more namespace");
  bench.run_until([] { return false; }, 5_s);
  bench.script = {};
  check.precondition(added && lists > 0, "the host reads the list of namespaces, and others come");
  knows_them(bench, check, "after others have come while it read the list");
}

CONFORMANCE_CASE(host_tells_namespaces_of_one_nsid_apart, "nvme.host.namespaces.identity", roles::host, a_host_that_says_what_it_found) {
  bench.connect_product();
  const auto space_of = [&](std::uint32_t nsid) -> host::Namespace& {
    const auto controllers = bench.emulated_host().controllers();
    host::Namespace* const found = controllers.empty() ? nullptr : bench.emulated_host().find(*controllers.front(), nsid);
    if (found == nullptr) check.inconclusive("the host does not have the namespace");
    return *found;
  };
  bench.step("another namespace, with a notice");
  host::Namespace& noticed = space_of(7);
  replace_namespace(bench, check, 7);
  bench.run_until([] { return false; }, 3_s);
  leaves_former(bench, check, noticed, "after a notice");
  knows_them(bench, check, "after another one has come");
  bench.step("another namespace, while the host is away");
  host::Namespace& missed = space_of(2);
  bench.subsystem().end_associations("the bench ends the association");
  replace_namespace(bench, check, 2);
  bench.run_until([&] { return !is_live(bench); }, 10_s);
  check.precondition(bench.run_until([&] { return is_live(bench); }, 120_s), "the host connects again");
  bench.run_until([] { return false; }, 3_s);
  leaves_former(bench, check, missed, "after the host has come back");
  knows_them(bench, check, "after the host has come back to another one");
}

CONFORMANCE_CASE(host_knows_its_namespaces, "nvme.host.namespaces.facts", roles::host, a_host_that_says_what_it_found) {
  bench.connect_product();
  knows_them(bench, check, "after it has connected");
  bench.step("a namespace comes, one goes, and one becomes smaller, one notice after the other");
  check.precondition(bench.subsystem().add_namespace({.nsid = 500, .blocks = 4242, .ana_group = 9}).ok(), "one more namespace");
  bench.run_until([] { return false; }, 3_s);
  knows_them(bench, check, "after one has come");
  check.precondition(bench.subsystem().remove_namespace(3), "one namespace less");
  bench.run_until([] { return false; }, 3_s);
  knows_them(bench, check, "after one has gone");
  check.precondition(bench.subsystem().resize_namespace(2, 999), "a smaller namespace");
  bench.run_until([] { return false; }, 3_s);
  knows_them(bench, check, "after one has become smaller");
  bench.step("changes while the host is away");
  bench.subsystem().end_associations("the bench ends the association");
  check.precondition(bench.subsystem().remove_namespace(7), "one namespace less");
  check.precondition(bench.subsystem().add_namespace({.nsid = 8, .blocks = 11}).ok(), "one more namespace");
  bench.run_until([&] { return !is_live(bench); }, 10_s);
  check.precondition(bench.run_until([&] { return is_live(bench); }, 120_s), "the host connects again");
  bench.run_until([] { return false; }, 3_s);
  knows_them(bench, check, "after the host has come back");
}

}  // namespace fb::conformance
