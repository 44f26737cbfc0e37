// What the commands of a host move: lengths, blocks, and the limits that a controller announces.
#include <algorithm>

#include "conformance/cases/nvme/host_scene.h"
#include "conformance/evidence/behind_the_wire.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/copy.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kFabrics = 0x7F, kSetFeatures = 0x09;
constexpr std::uint8_t kCompare = 0x05, kWriteZeroes = 0x08, kVerify = 0x0C, kCopy = 0x19;
constexpr std::uint64_t kLba = 200;

nvme::SglDescriptor sgl_of(const SeenCommand& seen) {
  return nvme::SglDescriptor::parse(seen.sqe.bytes().subspan(nvme::sqe::sgl1.offset, 16));
}
/// A list says how long it is, not how much its descriptors hold.
bool is_list(const nvme::SglDescriptor& sgl) { return sgl.type == nvme::SglType::segment || sgl.type == nvme::SglType::last_segment; }

/// Data of a feature that goes to the controller with Set Features.
std::uint32_t feature_bytes(std::uint32_t fid) {
  switch (fid) {
    case 0x0E:
      return 8;
    case 0x16:
      return 512;
    default:
      return 0;
  }
}

/// The least that a command moves, where that is known.
std::uint64_t bytes_of(const SeenCommand& seen, HostBench& bench) {
  if (seen.fctype() == 0x01) return 1024;
  if (seen.opcode() == kFabrics) return 0;
  if (seen.qid == 0) {
    if (seen.opcode() == opcode::kIdentify) return 4096;
    if (seen.opcode() == opcode::kGetLog) return nvme::log_length(seen.as<nvme::GetLogPageSqe>());
    if (seen.opcode() == kSetFeatures) return feature_bytes(seen.cdw(10) & 0xFF);
    return 0;
  }
  if (seen.opcode() != opcode::kRead && seen.opcode() != opcode::kWrite && seen.opcode() != kCompare) return 0;
  const auto& all = bench.subsystem().namespaces();
  const auto found = all.find(seen.nsid());
  return found == all.end() ? 0 : std::uint64_t{blocks_of(seen)} * found->second->layout().data_bytes;
}

/// Of this namespace the format in use is the one with this index, and all others have blocks of another size.
void show_format(const CommandContext& command, MutableBytes data, std::uint32_t nsid, unsigned index) {
  constexpr std::uint8_t kNamespace = 0x00, kController = 0x01;
  constexpr unsigned kFormats = 64, kSmall = 9, kLarge = 12;
  if (command.qid != 0 || command.sqe[0] != opcode::kIdentify || data.size() < nvme::kIdentifySize) return;
  if (command.sqe[40] == kController) {
    const std::uint32_t attributes = View<nvme::IdentifyController>{data}.get(nvme::id_ctrl::ctratt);
    MutableView<nvme::IdentifyController>{data}.set(nvme::id_ctrl::ctratt, attributes | nvme::ctratt_bits::extended_lba_formats);
  }
  if (command.sqe[40] != kNamespace || load_le<std::uint32_t>(&command.sqe[4]) != nsid) return;
  const unsigned used = nvme::lba_format_at(data, nvme::format_in_use(data)).get(nvme::lba_format::lbads);
  for (unsigned i = 0; i < kFormats; ++i) {
    const unsigned other = used == kSmall ? kLarge : kSmall;
    nvme::edit_lba_format(data, i)
        .set(nvme::lba_format::ms, 0u)
        .set(nvme::lba_format::lbads, i == index ? used : other)
        .set(nvme::lba_format::rp, 0u);
  }
  MutableView<nvme::IdentifyNamespace>{data}
      .set(nvme::id_ns::nlbaf, ZeroBased<std::uint8_t>::of(kFormats))
      .set(nvme::id_ns::flbas_low, index & 0xF)
      .set(nvme::id_ns::flbas_high, index >> 4);
}

bool enables_all_formats(const HostBench& bench) {
  const auto features = admin_commands(bench, kSetFeatures);
  return std::any_of(features.begin(), features.end(), [](const SeenCommand* seen) {
    return feature_bytes(seen->cdw(10) & 0xFF) == nvme::HostBehavior::size && seen->data.size() > 2 && seen->data[2] == 1;
  });
}

/// A user of the emulated host, who may ask for more than a HostUnderTest can.
host::Namespace& namespace_of(HostBench& bench) {
  bench.connect_product();
  const auto all = bench.emulated_host().namespaces();
  if (all.empty()) throw CannotArrange{"the host finds no namespace"};
  return *all.front();
}

}  // namespace

CONFORMANCE_CASE(host_has_room_for_what_it_asks_for, "nvme.host.sgl-length", roles::host) {
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  if (outcome.has_value() && outcome->ok) {
    attempt(bench, opcode::kWrite, 1, kLba, 16384);
    attempt(bench, opcode::kRead, 1, kLba, 16384);
  }
  std::size_t looked = 0;
  for (const SeenCommand& seen : bench.commands()) {
    const std::uint64_t needed = bytes_of(seen, bench);
    const nvme::SglDescriptor sgl = sgl_of(seen);
    if (needed == 0 || is_list(sgl)) continue;
    ++looked;
    check.that(sgl.length >= needed,
               "room for " + std::to_string(needed) + " bytes of command " + std::to_string(seen.opcode()) + " on queue " +
                   std::to_string(seen.qid),
               std::to_string(sgl.length));
  }
  check.precondition(looked > 0, "commands with data arrive");
}

CONFORMANCE_CASE(host_describes_no_data_where_there_is_none, "nvme.host.no-data", roles::host) {
  const auto outcome = bench.product().connect({.kato_ms = 5000}).wait_for(30_s);
  if (outcome.has_value() && outcome->ok) bench.product().flush(bench.nsid()).wait_for(10_s);
  bench.run_until([] { return false; }, 6_s);
  std::size_t looked = 0;
  for (const SeenCommand& seen : bench.commands()) {
    if (seen.opcode() == kFabrics || (seen.opcode() & 3) != 0) continue;
    ++looked;
    check.equal("length of the data of command " + std::to_string(seen.opcode()), sgl_of(seen).length, 0u);
  }
  check.precondition(looked > 0, "commands without data arrive");
}

CONFORMANCE_CASE(host_writes_to_the_blocks_that_were_meant, "nvme.host.blocks", roles::host) {
  constexpr std::uint64_t kBlocks = 3;
  bench.connect_product();
  for (const auto& [nsid, space] : bench.subsystem().namespaces()) {
    if (space->zoned() || space->blocks() < kLba + 64) continue;
    bench.forget_seen();
    Bytes& data = bench.keep(host_pattern(kBlocks * space->layout().data_bytes));
    check.success(bench.product().write(nsid, kLba, data).wait(), "write of three blocks");
    std::vector<unsigned> covered(kBlocks);
    for (const SeenCommand* seen : io_commands(bench, opcode::kWrite)) {
      if (seen->nsid() != nsid) continue;
      const std::uint64_t from = lba_of(seen->sqe.bytes()), to = from + blocks_of(*seen);
      check.that(from >= kLba && to <= kLba + kBlocks, "blocks 200 to 202", std::to_string(from) + " to " + std::to_string(to - 1));
      for (std::uint64_t i = std::max(from, kLba); i < std::min(to, kLba + kBlocks); ++i) ++covered[i - kLba];
    }
    const bool whole = std::all_of(covered.begin(), covered.end(), [](unsigned times) { return times > 0; });
    check.that(whole, "each block is written", "one is not");
  }
}

CONFORMANCE_CASE(host_counts_in_the_format_in_use, "nvme.host.identify.lba-format", roles::host) {
  const subsystem::Namespace* const space = bench.subsystem().find_namespace(bench.nsid());
  check.precondition(space != nullptr && !space->zoned() && space->layout().metadata_bytes == 0 && space->blocks() > kLba + 64,
                     "a namespace of blocks without metadata");
  const std::uint32_t block = space->layout().data_bytes;
  std::size_t looked = 0;
  for (const unsigned index : {1u, 7u, 8u, 15u, 16u, 33u, 47u, 63u}) {
    evidence::behind_the_wire(bench.world());  // another format, without a Format NVM
    bench.script.data_out = [&](const CommandContext& command, MutableBytes data) { show_format(command, data, bench.nsid(), index); };
    bench.forget_seen();
    const auto connected = bench.product().connect({}).wait_for(60_s);
    // Formats behind the sixteenth are for hosts that have enabled them.
    const bool knows = connected && connected->ok && (index < 16 || enables_all_formats(bench));
    if (knows) {
      ++looked;
      bench.forget_seen();
      Bytes& data = bench.keep(host_pattern(std::size_t{8} * block));
      const std::string which = " with LBA format " + std::to_string(index);
      check.success(bench.product().write(bench.nsid(), kLba, data).wait(), "write of eight blocks" + which);
      std::uint32_t blocks = 0;
      for (const SeenCommand* seen : io_commands(bench, opcode::kWrite)) {
        if (seen->nsid() == bench.nsid()) blocks += blocks_of(*seen);
      }
      check.equal("blocks of the Write commands" + which, blocks, 8u);
    }
    bench.product().disconnect().wait_for(60_s);
  }
  check.precondition(looked > 0, "the host connects");
}

CONFORMANCE_CASE(host_stays_within_its_namespace, "nvme.host.lba-range", roles::host) {
  bench.connect_product();
  const subsystem::Namespace& space = *bench.subsystem().namespaces().rbegin()->second;
  check.precondition(!space.zoned() && space.blocks() >= 3, "a namespace of blocks");
  const std::size_t bytes = 3 * std::size_t{space.layout().data_bytes};
  attempt(bench, opcode::kWrite, space.nsid(), space.blocks() - 3, bytes);
  attempt(bench, opcode::kRead, space.nsid(), space.blocks() - 3, bytes);
  std::size_t looked = 0;
  for (const std::uint8_t which : {opcode::kWrite, opcode::kRead}) {
    for (const SeenCommand* seen : io_commands(bench, which)) {
      if (seen->nsid() != space.nsid()) continue;
      ++looked;
      const std::uint64_t end = lba_of(seen->sqe.bytes()) + blocks_of(*seen);
      check.that(end <= space.blocks(), "blocks that are there", std::to_string(end - space.blocks()) + " behind the last");
    }
  }
  check.precondition(looked > 0, "reads or writes arrive");
}

CONFORMANCE_CASE(host_does_not_send_what_is_not_claimed, "nvme.host.optional-commands", roles::host,
                 arranged("a controller without optional commands, and a user who asks for them", [](EmbeddedSetup& setup) {
                   setup.subsystem.compare = setup.subsystem.write_uncorrectable = false;
                   setup.subsystem.dataset_management = setup.subsystem.write_zeroes = false;
                   setup.subsystem.verify = setup.subsystem.fused_compare_and_write = false;
                   setup.subsystem.copy.formats = 0;
                 })) {
  host::Namespace& space = namespace_of(bench);
  Bytes& data = bench.keep(host_pattern(space.block_bytes()));
  Bytes& other = bench.keep(data);
  space.write_zeroes(0, 8).wait_for(30_s);
  space.verify(0, 8).wait_for(30_s);
  space.write_uncorrectable(0, 8).wait_for(30_s);
  space.deallocate(0, 8).wait_for(30_s);
  space.compare(0, data).wait_for(30_s);
  space.compare_and_write(0, data, other).wait_for(30_s);
  const auto read = bench.product().read(bench.nsid(), 0, data).wait_for(30_s);
  check.precondition(read.has_value() && read->ok(), "the host reads");
  for (const SeenCommand& seen : bench.commands()) {
    if (seen.qid == 0 || seen.opcode() == kFabrics) continue;
    check.that(seen.opcode() <= opcode::kRead, "Flush, Write and Read alone", "command " + std::to_string(seen.opcode()));
    check.that((seen.sqe.bytes()[1] & 3) == 0, "no fused commands", "FUSE is set");
  }
}

CONFORMANCE_CASE(host_splits_compare_to_mdts, "nvme.host.mdts-compare", roles::host,
                 arranged("a controller that moves 16 KiB at most, and a user who compares",
                          [](EmbeddedSetup& setup) { setup.subsystem.mdts = 2; })) {
  constexpr std::size_t kMost = 16384;
  host::Namespace& space = namespace_of(bench);
  const std::size_t block = space.block_bytes();
  Bytes& data = bench.keep(host_pattern(100 * block));
  for (std::size_t i = 0; i < 100; i += 10) {
    const auto piece = MutableBytes(data).subspan(i * block, 10 * block);
    check.precondition_success(space.write(i, piece).wait(), "write of ten blocks");
  }
  check.success(space.compare(0, data).wait(), "Compare of 100 blocks");
  const auto compares = io_commands(bench, kCompare);
  check.precondition(!compares.empty(), "a Compare arrives");
  for (const SeenCommand* seen : compares) {
    const std::size_t bytes = blocks_of(*seen) * block;
    check.that(bytes <= kMost, "at most 16 KiB in a command", std::to_string(bytes) + " bytes");
  }
}

CONFORMANCE_CASE(host_keeps_to_the_limits_of_commands, "nvme.host.command-limits", roles::host,
                 arranged("a controller that zeroes and verifies 8 KiB at most, and a user who wants more", [](EmbeddedSetup& setup) {
                   setup.subsystem.write_zeroes_limit = 1;
                   setup.subsystem.verify_limit = 1;
                 })) {
  constexpr std::size_t kMost = 8192;
  check.precondition(bench.subsystem().options().version >= fabrics::version(2, 0, 0), "a controller that says its limits");
  host::Namespace& space = namespace_of(bench);
  check.success(space.write_zeroes(0, 100).wait(), "Write Zeroes of 100 blocks");
  check.success(space.verify(0, 100).wait(), "Verify of 100 blocks");
  for (const std::uint8_t which : {kWriteZeroes, kVerify}) {
    const auto commands = io_commands(bench, which);
    check.precondition(!commands.empty(), "the command arrives");
    for (const SeenCommand* seen : commands) {
      const std::size_t bytes = blocks_of(*seen) * std::size_t{space.block_bytes()};
      check.that(bytes <= kMost, "at most 8 KiB in a command", std::to_string(bytes) + " bytes");
    }
  }
}

CONFORMANCE_CASE(host_keeps_to_the_limits_of_copy, "nvme.host.copy-limits", roles::host,
                 arranged("a namespace that copies 12 blocks at most, and a user who wants more", [](EmbeddedSetup& setup) {
                   setup.subsystem.copy = {.formats = 1, .range_blocks = 8, .total_blocks = 12, .ranges = 2};
                 })) {
  host::Namespace& space = namespace_of(bench);
  check.success(space.copy({{0, 20}, {100, 3}, {120, 30}}, 500).wait(), "Copy of 53 blocks");
  const auto copies = io_commands(bench, kCopy);
  check.precondition(!copies.empty(), "a Copy arrives");
  for (const SeenCommand* seen : copies) {
    const std::uint32_t ranges = (seen->cdw(12) & 0xFF) + 1;
    check.that(ranges <= 2, "at most two ranges", std::to_string(ranges));
    check.precondition(seen->data.size() >= 32 * std::size_t{ranges}, "the ranges of the Copy");
    std::uint32_t whole = 0;
    for (std::uint32_t i = 0; i < ranges; ++i) {
      const std::uint32_t blocks = load_le<std::uint16_t>(&seen->data[32 * std::size_t{i} + 16]) + 1u;
      check.that(blocks <= 8, "at most eight blocks in a range", std::to_string(blocks));
      whole += blocks;
    }
    check.that(whole <= 12, "at most twelve blocks in all", std::to_string(whole));
  }
}

}  // namespace fb::conformance
