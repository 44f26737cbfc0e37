// The entries that a host builds: identifiers, namespaces, reserved fields, and what is asked of the controller.
#include <algorithm>
#include <optional>

#include "conformance/cases/nvme/host_scene.h"
#include "model/subsystem/subsystem.h"
#include "wire/fabrics/connect.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kFabrics = 0x7F, kFlush = 0x00, kAbort = 0x08, kSetFeatures = 0x09, kKeepAlive = 0x18;
constexpr std::uint64_t kLba = 1000;

bool is_identify_controller(const CommandContext& command) {
  return command.qid == 0 && command.sqe[0] == opcode::kIdentify && command.sqe[40] == 0x01;
}

/// Everything that a host does by itself, and a few blocks. Whether it succeeds is for other cases.
void let_it_work(HostBench& bench) {
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  if (!outcome || !outcome->ok) return;
  attempt(bench, opcode::kWrite, 1, kLba, 8192);
  attempt(bench, opcode::kRead, 1, kLba, 8192);
  bench.product().flush(bench.nsid()).wait_for(10_s);
}

/// Without those of Fabrics.
std::vector<const SeenCommand*> commands_seen(const HostBench& bench) {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand& seen : bench.commands()) {
    if (seen.opcode() != kFabrics) found.push_back(&seen);
  }
  return found;
}

bool is_admin(const SeenCommand& seen, std::uint8_t which) { return seen.qid == 0 && seen.opcode() == which; }

bool zero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t one) { return one == 0; });
}

}  // namespace

CONFORMANCE_CASE(host_tells_admin_commands_from_event_requests, "nvme.host.cid-admin", roles::host) {
  UnderWay under_way([](const CommandContext& command) { return command.qid == 0; });
  follow(bench, under_way);
  bench.product().connect({}).wait_for(10_s);
  bench.run_until([&] { return under_way.most() >= 2; }, 10_s);  // a Keep Alive comes in any case
  check.precondition(under_way.most() >= 2, "an event request waits while other commands come");
  check.equal("commands with the identifier of one that was outstanding", under_way.twice(), 0u);
}

CONFORMANCE_CASE(host_has_no_command_ffffh, "nvme.host.cid-reserved", roles::host) {
  let_it_work(bench);
  check.precondition(!bench.commands().empty(), "commands arrive");
  for (const SeenCommand& seen : bench.commands()) {
    check.that(seen.cid() != 0xFFFF, "an identifier other than FFFFh", "FFFFh");
  }
}

CONFORMANCE_CASE(host_sends_single_commands_as_such, "nvme.host.fuse", roles::host) {
  let_it_work(bench);
  const auto commands = commands_seen(bench);
  check.precondition(!commands.empty(), "commands arrive");
  for (const SeenCommand* seen : commands) {
    check.equal("FUSE", static_cast<unsigned>(seen->sqe.get(nvme::sqe::fuse)), 0u);
  }
}

CONFORMANCE_CASE(host_names_no_namespace_where_none_is_meant, "nvme.host.nsid.unused", roles::host) {
  // Time for a Keep Alive or two.
  bench.product().connect({.kato_ms = 5000}).wait_for(30_s);
  bench.run_until([] { return false; }, 10_s);
  std::size_t looked = 0;
  for (const SeenCommand* seen : commands_seen(bench)) {
    const bool unused = is_admin(*seen, kKeepAlive) || is_admin(*seen, kAbort) || is_admin(*seen, opcode::kEventRequest) ||
                        (is_admin(*seen, opcode::kIdentify) && (seen->cdw(10) & 0xFF) == 0x01);
    if (!unused) continue;
    ++looked;
    check.equal("NSID", seen->nsid(), 0u);
  }
  check.precondition(looked > 0, "commands without a use for NSID arrive");
}

CONFORMANCE_CASE(host_names_a_namespace_that_is_there, "nvme.host.nsid.active", roles::host) {
  let_it_work(bench);
  std::size_t looked = 0;
  for (const SeenCommand* seen : commands_seen(bench)) {
    if (seen->qid == 0) continue;
    ++looked;
    const bool there = bench.subsystem().namespaces().contains(seen->nsid());
    const bool all = seen->opcode() == kFlush && seen->nsid() == nvme::kAllNamespaces;
    check.that(there || all, "an active namespace", "NSID " + std::to_string(seen->nsid()));
  }
  check.precondition(looked > 0, "I/O commands arrive");
}

CONFORMANCE_CASE(host_leaves_reserved_fields_of_commands_alone, "nvme.host.reserved", roles::host) {
  // Where guards are wider, storage tags reach into dwords 2 and 3.
  const auto& first = *bench.subsystem().namespaces().begin()->second;
  const bool plain = first.layout().guard == nvme::ProtectionFormat::guard_16;
  let_it_work(bench);
  const auto commands = commands_seen(bench);
  check.precondition(!commands.empty(), "commands arrive");
  for (const SeenCommand* seen : commands) {
    const ByteView entry = seen->sqe.bytes();
    check.equal("bits 5:2 of byte 1", entry[1] >> 2 & 0xF, 0);
    const bool identify = is_admin(*seen, opcode::kIdentify);
    const bool event = is_admin(*seen, opcode::kEventRequest) || is_admin(*seen, kKeepAlive);
    const bool feature = is_admin(*seen, kSetFeatures), log = is_admin(*seen, opcode::kGetLog);
    const bool flush = seen->qid != 0 && seen->opcode() == kFlush;
    const bool moves = seen->qid != 0 && (seen->opcode() == opcode::kRead || seen->opcode() == opcode::kWrite);
    if (identify || event || feature || log || flush || (moves && plain)) {
      check.that(zero(entry.subspan(8, 8)), "dwords 2 and 3 are 0", "they are not");
    }
    if (event || flush) check.that(zero(entry.subspan(40, 24)), "dwords 10 to 15 are 0", "they are not");
    if (identify) {
      check.equal("bits 15:8 of dword 10 of Identify", entry[41], 0);
      check.that(zero(entry.subspan(48, 8)), "dwords 12 and 13 of Identify are 0", "they are not");
      check.that(zero(entry.subspan(60, 4)), "dword 15 of Identify is 0", "it is not");
    }
  }
}

CONFORMANCE_CASE(host_has_no_metadata_pointer, "nvme.host.mptr", roles::host) {
  let_it_work(bench);
  const auto commands = commands_seen(bench);
  const bool io = std::any_of(commands.begin(), commands.end(), [](const SeenCommand* seen) { return seen->qid != 0; });
  check.precondition(io, "I/O commands arrive");
  for (const SeenCommand* seen : commands) check.equal("MPTR", seen->sqe.get(nvme::sqe::mptr), 0u);
}

CONFORMANCE_CASE(host_asks_for_a_possible_number_of_queues, "nvme.host.number-of-queues.value", roles::host) {
  bench.product().connect({.io_queues = 2}).wait_for(10_s);
  std::size_t looked = 0;
  for (const SeenCommand* seen : admin_commands(bench, kSetFeatures)) {
    if ((seen->cdw(10) & 0xFF) != 0x07) continue;
    ++looked;
    check.that((seen->cdw(11) & 0xFFFF) != 0xFFFF, "NSQR below 65,535", "65,535");
    check.that(seen->cdw(11) >> 16 != 0xFFFF, "NCQR below 65,535", "65,535");
  }
  check.precondition(looked > 0, "the host sets the number of queues");
}

CONFORMANCE_CASE(host_sets_the_number_of_queues_in_time, "nvme.host.number-of-queues.time", roles::host) {
  let_it_work(bench);
  bool connected = false;
  std::size_t looked = 0;
  for (const SeenCommand& seen : bench.commands()) {
    if (seen.fctype() == 0x01) {
      // The Connect of an admin queue begins another association.
      connected = seen.as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::qid) != 0;
      looked += connected;
    }
    const bool sets = is_admin(seen, kSetFeatures) && (seen.cdw(10) & 0xFF) == 0x07;
    check.that(!sets || !connected, "Number of Queues before the first I/O Connect", "one came behind");
  }
  check.precondition(looked > 0, "I/O queues are connected");
}

CONFORMANCE_CASE(host_reads_logs_as_they_can_be_read, "nvme.host.log.extended", roles::host) {
  bench.script.data_out = [](const CommandContext& command, MutableBytes data) {
    if (is_identify_controller(command) && data.size() > 261) data[261] = 0;  // LPA
  };
  let_it_work(bench);
  const auto logs = admin_commands(bench, opcode::kGetLog);
  check.precondition(!logs.empty(), "the host reads a log page");
  for (const SeenCommand* seen : logs) {
    check.equal("NUMDU", seen->cdw(11) & 0xFFFF, 0u);
    check.equal("LPOL", seen->cdw(12), 0u);
    check.equal("LPOU", seen->cdw(13), 0u);
  }
}

CONFORMANCE_CASE(host_saves_features_where_it_can, "nvme.host.features.save", roles::host) {
  bench.script.data_out = [](const CommandContext& command, MutableBytes data) {
    if (is_identify_controller(command) && data.size() > 520) data[520] &= static_cast<std::uint8_t>(~0x10u);  // ONCS
  };
  let_it_work(bench);
  const auto features = admin_commands(bench, kSetFeatures);
  check.precondition(!features.empty(), "the host sets a feature");
  for (const SeenCommand* seen : features) check.equal("SV", seen->cdw(10) >> 31, 0u);
}

}  // namespace fb::conformance
