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

constexpr std::uint8_t kSend = 0x79, kReceive = 0x7A, kAppend = 0x7D, kSetFeatures = 0x09;
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
    if (one->nsid() == kNsid && !one->paths().all().empty()) return *one;
  }
  check.inconclusive("the host does not use the zoned namespace");
}

/// So many zones that no report of one command has them all, and so large that most begin above LBA 2^32.
constexpr std::uint64_t kLargeZone = std::uint64_t{1} << 25;
constexpr std::size_t kZones = 700;
const arranged many_large_zones{
    "a namespace of many zones, and a user who asks for every action", [](EmbeddedSetup& setup) {
      setup.subsystem.zoned = {.supported = true};
      setup.namespaces.push_back({.nsid = kNsid, .blocks = kLargeZone * kZones, .zones = {.zone_blocks = kLargeZone}});
    }};

void compare_zones(Check& check, const std::vector<nvme::ZoneFacts>& told, const subsystem::ZoneTable& table, std::size_t first,
                   const std::string& which) {
  check.equal("zones of " + which, told.size(), table.count() - first);
  if (told.size() != table.count() - first) return;
  for (std::size_t i = 0; i < told.size(); ++i) {
    const nvme::ZoneFacts there = table.facts(first + i);
    const bool same = told[i].start == there.start && told[i].capacity == there.capacity && told[i].state == there.state &&
                      told[i].write_pointer == there.write_pointer && told[i].attributes == there.attributes;
    check.that(same, "zone " + std::to_string(first + i) + " of " + which + " as it is", "another state, place or capacity");
  }
}

/// One action of Zone Management Send, and the state that it leads to.
struct ZoneAct {
  nvme::ZoneSendAction action;
  std::size_t zone;
  bool all;
  nvme::ZoneState then;  ///< of the zone
};
using ZoneSend = nvme::ZoneSendAction;
using nvme::ZoneState;
constexpr ZoneAct kActs[] = {{ZoneSend::open, 690, false, ZoneState::explicitly_opened},
                             {ZoneSend::close, 300, false, ZoneState::closed},
                             {ZoneSend::finish, 690, false, ZoneState::full},
                             {ZoneSend::open, 5, false, ZoneState::explicitly_opened},
                             {ZoneSend::open, 0, true, ZoneState::empty},
                             {ZoneSend::close, 0, true, ZoneState::empty},
                             {ZoneSend::finish, 300, false, ZoneState::full},
                             {ZoneSend::reset, 690, false, ZoneState::empty},
                             {ZoneSend::reset, 0, true, ZoneState::empty}};

std::vector<const SeenCommand*> zone_writes(const HostBench& bench) {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand* seen : io_commands(bench, opcode::kWrite)) {
    if (seen->nsid() == kNsid) found.push_back(seen);
  }
  return found;
}

/// What cannot be: it ends with an error, and no command of that opcode is sent for it.
template <class T>
void cannot_be(HostBench& bench, Check& check, std::uint8_t which, std::string_view what, Op<T> op) {
  const std::size_t before = io_commands(bench, which).size();
  const auto ended = op.wait_for(60_s);
  check.require(ended.has_value(), std::string(what) + " ends", "it does not");
  if constexpr (requires { ended->status; }) {
    check.that(!ended->status.ok(), std::string(what) + " fails", "it succeeds");
  } else {
    check.that(!ended->ok(), std::string(what) + " fails", "it succeeds");
  }
  check.equal("commands that are sent for " + std::string(what), io_commands(bench, which).size(), before);
}

/// The log page of the Zoned Namespace command set that was sent does not list Zone Append.
void list_no_append(const CommandContext& command, MutableBytes data) {
  const bool effects = command.qid == 0 && command.sqe[0] == opcode::kGetLog && command.sqe[40] == 0x05 && command.sqe[59] == 2;
  const std::uint64_t offset = load_le<std::uint64_t>(command.sqe.data() + 48), at = 1024 + 4 * std::uint64_t{kAppend};
  if (effects && at >= offset && at < offset + data.size()) data[static_cast<std::size_t>(at - offset)] &= 0xFE;
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
  const bool selected = std::any_of(
      all.begin(), all.end(), [&](const SeenCommand* seen) { return (seen->cdw(10) & 0xFF) == profile && (seen->cdw(11) & 0x1FF) == 1; });
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
  cannot_be(bench, check, kAppend, "Zone Append of nothing", space.zone_append(0, bench.keep(Bytes())));
  cannot_be(bench, check, kAppend, "Zone Append of a block and a half", space.zone_append(0, bench.keep(Bytes(768))));
  bench.step("a controller without Zone Append");
  bench.product().disconnect().wait_for(30_s);
  bench.emulated_host().forget_gone();
  bench.script.data_out = &list_no_append;
  const auto again = bench.product().connect({}).wait_for(60_s);
  check.precondition(again.has_value() && again->ok, "the host connects again");
  cannot_be(bench, check, kAppend, "Zone Append that is not listed", zoned_of(bench, check).zone_append(0, less));
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

CONFORMANCE_CASE(host_reports_every_zone, "nvme.host.zones.report", roles::host, many_large_zones) {
  bench.connect_product();
  host::Namespace& space = zoned_of(bench, check);
  const subsystem::ZoneTable& table = *bench.subsystem().find_namespace(kNsid)->zones();
  Bytes& data = bench.keep(host_pattern(3 * 512));
  for (const std::size_t zone : {0u, 255u, 256u, 511u, 699u}) {
    check.precondition_success(space.write(table.start_of(zone), data).wait(), "write to a zone");
  }
  for (const std::size_t first : {0u, 1u, 444u, 699u}) {
    const auto report = space.report_zones(table.start_of(first)).wait_for(120_s);
    const std::string which = "the report from zone " + std::to_string(first) + " on";
    check.require(report.has_value() && report->status.ok(), which + " is made");
    compare_zones(check, report->zones, table, first, which);
  }
  const auto opened = space.report_zones(0, nvme::ZoneReporting::implicitly_opened).wait_for(120_s);
  check.require(opened.has_value() && opened->status.ok(), "a report of the opened zones is made");
  check.equal("opened zones", opened->zones.size(), std::size_t{5});
  // There are no descriptor extensions.
  cannot_be(bench, check, kReceive, "a report with extensions", space.report_zones(0, nvme::ZoneReporting::all, true));
  bench.script.admission = [](const CommandContext& command) -> std::optional<nvme::Status> {
    return is_io(command, kReceive) && lba_of(command.sqe) != 0 ? std::optional(sc::unrecovered_read_error.with_dnr()) : std::nullopt;
  };
  for (const std::size_t first : {0u, 1u}) {
    const auto report = space.report_zones(table.start_of(first)).wait_for(120_s);
    const std::string which = "a report from zone " + std::to_string(first) + " on, of which a command fails";
    check.require(report.has_value(), which + " ends", "it does not");
    check.status(report->status, sc::unrecovered_read_error, which);
  }
}

CONFORMANCE_CASE(host_carries_out_every_zone_action, "nvme.host.zones.actions", roles::host, many_large_zones) {
  bench.connect_product();
  host::Namespace& space = zoned_of(bench, check);
  subsystem::Namespace& medium = *bench.subsystem().find_namespace(kNsid);
  const subsystem::ZoneTable& table = *medium.zones();
  std::uint64_t next = table.start_of(300);
  for (const std::size_t blocks : {1u, 3u, 7u}) {
    Bytes& data = bench.keep(host_pattern(blocks * 512));
    const auto appended = space.zone_append(table.start_of(300), data).wait_for(60_s);
    check.require(appended.has_value() && appended->status.ok(), "Zone Append succeeds");
    check.equal("LBA of Zone Append", appended->lba, next);
    Bytes& back = bench.keep(Bytes(data.size()));
    check.success(space.read(appended->lba, back).wait(), "read of what was appended");
    check.bytes("what was appended", back, data);
    next += blocks;
  }
  std::vector<ZoneState> expected(table.count(), ZoneState::empty);
  expected[300] = ZoneState::implicitly_opened;
  for (const ZoneAct& act : kActs) {
    const std::string name = "action " + std::to_string(static_cast<unsigned>(act.action)) +
                             (act.all ? " of all zones" : " of zone " + std::to_string(act.zone));
    const auto sent = space.zone_send(act.action, act.all ? 0 : table.start_of(act.zone), act.all).wait_for(60_s);
    check.require(sent.has_value(), name + " ends", "it does not");
    check.success(*sent, name);
    if (!act.all) expected[act.zone] = act.then;
    for (std::size_t i = 0; act.all && i < expected.size(); ++i) {
      ZoneState& state = expected[i];
      const bool opened = state == ZoneState::explicitly_opened || state == ZoneState::implicitly_opened;
      if (act.action == ZoneSend::close && opened) state = ZoneState::closed;
      if (act.action == ZoneSend::open && state == ZoneState::closed) state = ZoneState::explicitly_opened;
      if (act.action == ZoneSend::reset) state = ZoneState::empty;
    }
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) wrong += table.state(i) != expected[i];
    check.equal("zones in another state than expected after " + name, wrong, std::size_t{0});
  }
  // It takes data, which zone_send() has none of; and there are no random write areas.
  cannot_be(bench, check, kSend, "an extension without data", space.zone_send(ZoneSend::set_descriptor_extension, 0));
  cannot_be(bench, check, kSend, "an open with a random write area", space.zone_send(ZoneSend::open, 0, false, true));
  cannot_be(bench, check, kSend, "a flush of a random write area", space.zone_send(ZoneSend::flush_explicit_zrwa, 0));
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
  check.that(bench.run_until([&] { return reads() > 0; }, 30_s), "the changed zone list of the namespace is read with RAE 0", "it is not");
}

}  // namespace fb::conformance
