// A host with a zoned namespace.
#include "conformance/cases/nvme/host_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/zones.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kAppend = 0x7D, kSetFeatures = 0x09;
constexpr std::uint64_t kZone = 64;
constexpr std::uint32_t kNsid = 3;

/// NSID 3 has zones of 64 blocks of 512 bytes; a transfer moves at most sixteen.
void with_zones(EmbeddedSetup& setup) {
  setup.subsystem.zoned = {.supported = true, .append_limit = 1};
  setup.subsystem.mdts = 1;
  setup.namespaces.push_back({.nsid = kNsid, .blocks = 1024, .zones = {.zone_blocks = kZone}});
}
constexpr host_with a_zoned_namespace{"zones", &with_zones};
/// Whose user asks for what a HostUnderTest does not offer.
const arranged a_zoned_namespace_of_the_emulated_host{"a zoned namespace", &with_zones};

host::Namespace& zoned_of(HostBench& bench, Check& check) {
  for (host::Namespace* one : bench.emulated_host().namespaces()) {
    if (one->nsid() == kNsid) return *one;
  }
  check.inconclusive("the host does not use the zoned namespace");
}

std::vector<const SeenCommand*> zone_writes(const HostBench& bench) {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand* seen : io_commands(bench, opcode::kWrite)) {
    if (seen->nsid() == kNsid) found.push_back(seen);
  }
  return found;
}

}  // namespace

CONFORMANCE_CASE(host_selects_zones, "nvme.host.zones.profile", roles::host, a_zoned_namespace) {
  // Combination 0 lacks zones, 1 has them.
  bench.script.data_out = [](const CommandContext& command, MutableBytes data) {
    const bool combinations = command.qid == 0 && command.sqe[0] == opcode::kIdentify && command.sqe[40] == 0x1C;
    if (!combinations || data.size() < nvme::kIdentifySize) return;
    nvme::set_command_set_combination(data, 0, 1);
    nvme::set_command_set_combination(data, 1, 5);
  };
  bench.connect_product();
  const auto all = admin_commands(bench, kSetFeatures);
  const auto profile = static_cast<std::uint32_t>(nvme::FeatureId::io_command_set_profile);
  const bool selected = std::any_of(all.begin(), all.end(), [&](const SeenCommand* seen) {
    return (seen->cdw(10) & 0xFF) == profile && (seen->cdw(11) & 0x1FF) == 1;
  });
  check.that(selected, "the combination with zones is selected", "it is not");
}

CONFORMANCE_CASE(host_writes_zones_in_order, "nvme.host.zones.sequential", roles::host, a_zoned_namespace) {
  bench.connect_product();
  // The commands end in the opposite of the order in which a careless host sends them all.
  std::uint64_t answered = 0, early = 0;
  bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
    if (is_io(command, opcode::kWrite) && lba_of(command.sqe) > answered) ++early;
    return std::nullopt;
  };
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (is_io(command, opcode::kWrite)) {
      answered = lba_of(command.sqe) + (load_le<std::uint16_t>(command.sqe.data() + 48) + 1u);
    }
    return Answer::send;
  };
  Bytes& data = bench.keep(host_pattern(48 * 512));
  const std::size_t connections = bench.connections();
  const auto written = bench.product().write(kNsid, 0, data).wait_for(60_s);
  check.require(written.has_value(), "the write ends", "it does not");
  needs_one_association(bench, check, connections);
  check.success(*written, "what the host reports");
  std::uint64_t expected = 0;
  for (const SeenCommand* seen : zone_writes(bench)) {
    check.equal("first block of the next Write", lba_of(seen->sqe.bytes()), expected);
    expected = lba_of(seen->sqe.bytes()) + blocks_of(*seen);
  }
  check.equal("Writes that were sent before the one before them was answered", early, 0u);
}

CONFORMANCE_CASE(host_keeps_to_zones, "nvme.host.zones.boundary", roles::host, a_zoned_namespace) {
  bench.connect_product();
  Bytes& data = bench.keep(host_pattern(60 * 512));
  check.precondition(bench.product().write(kNsid, 0, data).wait_for(60_s).has_value(), "a first write ends");
  bench.forget_seen();
  // Over the boundary between the first zone and the second.
  bench.product().write(kNsid, 60, data).wait_for(60_s);
  const auto writes = zone_writes(bench);
  check.require(!writes.empty(), "a Write is sent", "none");
  for (const SeenCommand* seen : writes) {
    const std::uint64_t first = lba_of(seen->sqe.bytes());
    check.equal("zone of the last block of a Write", (first + blocks_of(*seen) - 1) / kZone, first / kZone);
  }
}

CONFORMANCE_CASE(host_appends_within_the_limit, "nvme.host.zones.append-limit", roles::host,
                 arranged("a zoned namespace", [](EmbeddedSetup& setup) {
                   with_zones(setup);
                   setup.subsystem.mdts = 4;
                 })) {
  bench.connect_product();
  host::Namespace& space = zoned_of(bench, check);
  Bytes& data = bench.keep(host_pattern(20 * 512));
  space.zone_append(0, data).wait_for(60_s);
  Bytes& less = bench.keep(host_pattern(16 * 512));
  const auto fits = space.zone_append(0, less).wait_for(60_s);
  check.precondition(fits && fits->status.ok(), "as much as ZASL says is appended");
  for (const SeenCommand* seen : io_commands(bench, kAppend)) {
    check.that(blocks_of(*seen) <= 16, "a Zone Append moves at most ZASL", "it moves more");
  }
}

CONFORMANCE_CASE(host_appends_once, "nvme.host.zones.append-once", roles::host, a_zoned_namespace_of_the_emulated_host,
                 reaches{"bench.lost"}) {
  bench.connect_product();
  host::Namespace& space = zoned_of(bench, check);
  bool lost = false;
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (!is_io(command, kAppend) || std::exchange(lost, true)) return Answer::send;
    bench.mark("bench.lost");
    return Answer::disconnect_instead;
  };
  Bytes& data = bench.keep(host_pattern(512));
  const auto done = space.zone_append(0, data).wait_for(600_s);
  check.require(done.has_value(), "the append ends", "it does not");
  check.that(!done->status.ok(), "the host does not know that it was carried out", "it says so");
  bench.world().run_for(60_s);
  check.equal("Zone Appends that were sent", io_commands(bench, kAppend).size(), 1u);
}

CONFORMANCE_CASE(host_reads_the_changed_zones, "nvme.host.zones.changed", roles::host, a_zoned_namespace) {
  unsigned events = 0;
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (command.qid == 0 && command.sqe[0] == opcode::kEventRequest) ++events;
    return Answer::send;
  };
  bench.connect_product();
  bench.forget_seen();
  subsystem::Namespace& ns = *bench.subsystem().find_namespace(kNsid);
  bench.subsystem().make_zone_read_only(ns, 2);
  check.precondition(bench.run_until([&] { return events > 0; }, 10_s), "the host wants to hear of zones");
  const auto reads = [&] {
    std::size_t count = 0;
    for (const SeenCommand* seen : admin_commands(bench, opcode::kGetLog)) {
      const bool page = (seen->cdw(10) & 0xFF) == 0xBF && (seen->cdw(10) >> 15 & 1) == 0;
      if (page && seen->nsid() == kNsid) ++count;
    }
    return count;
  };
  check.that(bench.run_until([&] { return reads() > 0; }, 30_s),
             "the changed zone list of the namespace is read with RAE 0", "it is not");
}

}  // namespace fb::conformance
