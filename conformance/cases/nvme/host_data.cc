// Every block and every byte that a host moves: short and long, at the beginning of a namespace, across LBA 2^32 and far above it.
// The bench makes the data from the LBA of each command, so that a block from anywhere else shows.
#include <algorithm>
#include <array>

#include "conformance/cases/nvme/host_scene.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {

namespace {

/// Above LBA 2^34 and byte offset 2^43; nothing of it lies in memory before it is written.
constexpr std::uint64_t kManyBlocks = std::uint64_t{1} << 35;
/// More than a page, and as much as hosts commonly use.
constexpr std::uint32_t kLargeCapsule = 16384;

void large_namespaces(EmbeddedSetup& setup) {
  setup.subsystem.namespace_management.capacity_bytes = kManyBlocks * 2 * 4096;
  for (auto& space : setup.namespaces) space.blocks = kManyBlocks;
  setup.fabric.in_capsule_bytes = kLargeCapsule;
}

/// What the block at this LBA of this namespace holds.
void stamp(MutableBytes block, std::uint32_t nsid, std::uint64_t lba) {
  std::uint64_t value = (lba + 1) * 0x9E3779B97F4A7C15u ^ std::uint64_t{nsid} << 40;
  for (std::size_t i = 0; i + 8 <= block.size(); i += 8) {
    store_le<std::uint64_t>(block.data() + i, value);
    value = value * 0xD1342543DE82EF95u + 1;
  }
}
Bytes stamped(std::uint32_t nsid, std::uint64_t lba, std::size_t bytes, std::size_t block_bytes) {
  Bytes made(bytes);
  for (std::size_t at = 0; at + block_bytes <= bytes; at += block_bytes) {
    stamp(MutableBytes{made}.subspan(at, block_bytes), nsid, lba++);
  }
  return made;
}

std::string first_difference(const Bytes& seen, const Bytes& expected) {
  const auto [at, other] = std::mismatch(seen.begin(), seen.end(), expected.begin(), expected.end());
  if (at == seen.end() && other == expected.end()) return {};
  return "byte " + std::to_string(at - seen.begin()) + " of " + std::to_string(expected.size());
}

struct Transfer {
  std::uint64_t lba;
  std::size_t blocks;
};

/// The first, those around LBA 2^32, those around byte offset 2^32, and the last, each with another length; two fit into a capsule.
std::vector<Transfer> transfers(std::size_t block_bytes) {
  constexpr std::uint64_t k32 = std::uint64_t{1} << 32;
  const std::size_t long_one = 65536 / block_bytes + 1, longer = (std::size_t{1} << 20) / block_bytes + 3;
  return {{0, 1},
          {k32 / block_bytes - 2, 5},
          {7, long_one},
          {k32 - 2, 5},
          {k32 + 7, 1},
          {99, 8192 / block_bytes + 1},
          {77, kLargeCapsule / block_bytes},
          {k32 - 11, long_one},
          {k32 * 5 + 3, longer},
          {kManyBlocks - long_one, long_one}};
}

/// One write and one read; what the commands carry has to be what their LBAs say.
void move(HostBench& bench, Check& check, std::uint32_t nsid, std::size_t block_bytes, const Transfer& transfer) {
  const std::size_t bytes = transfer.blocks * block_bytes;
  const std::string where =
      std::to_string(transfer.blocks) + " blocks at LBA " + std::to_string(transfer.lba) + " of namespace " + std::to_string(nsid);
  bench.forget_seen();
  Bytes& out = bench.keep(stamped(nsid, transfer.lba, bytes, block_bytes));
  check.success(bench.product().write(nsid, transfer.lba, out).wait(), "write of " + where);
  std::vector<bool> written(transfer.blocks);
  for (const SeenCommand* seen : io_commands(bench, opcode::kWrite)) {
    if (seen->nsid() != nsid) continue;
    const std::uint64_t lba = lba_of(seen->sqe.bytes());
    const std::string differs = first_difference(seen->data, stamped(nsid, lba, blocks_of(*seen) * block_bytes, block_bytes));
    check.that(differs.empty(), "the data of each Write belong to its LBA: " + where, differs + " at LBA " + std::to_string(lba));
    for (std::uint64_t i = lba; i < lba + blocks_of(*seen); ++i) {
      const bool meant = i >= transfer.lba && i - transfer.lba < transfer.blocks;
      check.that(meant, "no other block is written: " + where, "LBA " + std::to_string(i));
      if (meant) written[static_cast<std::size_t>(i - transfer.lba)] = true;
    }
  }
  check.that(std::find(written.begin(), written.end(), false) == written.end(), "each block is written: " + where, "one is not");
  Bytes& in = bench.keep(Bytes(bytes, 0xEE));
  check.success(bench.product().read(nsid, transfer.lba, in).wait(), "read of " + where);
  const std::string differs = first_difference(in, out);
  check.that(differs.empty(), "the data that were read are those of the blocks: " + where, differs);
}

/// Statuses of each type that no host may take for success; those that announce something else to do are not among them.
constexpr std::array kStatuses = {
    nvme::Status::make(0, 0x01), nvme::Status::make(0, 0x02), nvme::Status::make(0, 0x04), nvme::Status::make(0, 0x06),
    nvme::Status::make(0, 0x07), nvme::Status::make(0, 0x0B), nvme::Status::make(0, 0x0C), nvme::Status::make(0, 0x0D),
    nvme::Status::make(0, 0x0F), nvme::Status::make(0, 0x10), nvme::Status::make(0, 0x11), nvme::Status::make(0, 0x13),
    nvme::Status::make(0, 0x15), nvme::Status::make(0, 0x1A), nvme::Status::make(0, 0x20), nvme::Status::make(0, 0x21),
    nvme::Status::make(0, 0x22), nvme::Status::make(0, 0x80), nvme::Status::make(0, 0x81), nvme::Status::make(0, 0x82),
    nvme::Status::make(0, 0x83), nvme::Status::make(0, 0x84), nvme::Status::make(1, 0x80), nvme::Status::make(1, 0x81),
    nvme::Status::make(1, 0x82), nvme::Status::make(2, 0x80), nvme::Status::make(2, 0x81), nvme::Status::make(2, 0x82),
    nvme::Status::make(2, 0x83), nvme::Status::make(2, 0x84), nvme::Status::make(2, 0x85), nvme::Status::make(2, 0x86),
    nvme::Status::make(2, 0x87), nvme::Status::make(7, 0x01), nvme::Status::make(7, 0x80)};

constexpr std::uint16_t kDoNotRetry = 0x8000;

}  // namespace

CONFORMANCE_CASE(host_moves_every_byte_of_every_block, "nvme.host.data.everywhere", roles::host, furnished{&large_namespaces}) {
  bench.connect_product();
  bench.script.data_out = [&](const CommandContext& command, MutableBytes data) {
    if (command.qid == 0 || command.sqe[0] != opcode::kRead) return;
    const auto nsid = load_le<std::uint32_t>(command.sqe.data() + 4);
    const auto found = bench.subsystem().namespaces().find(nsid);
    if (found == bench.subsystem().namespaces().end()) return;
    const Bytes made = stamped(nsid, lba_of(command.sqe), data.size(), found->second->layout().data_bytes);
    std::copy(made.begin(), made.end(), data.begin());
  };
  unsigned looked = 0;
  for (const auto& [nsid, space] : bench.subsystem().namespaces()) {
    if (space->zoned() || space->blocks() < kManyBlocks || space->layout().metadata_bytes != 0) continue;
    ++looked;
    for (const Transfer& transfer : transfers(space->layout().data_bytes)) {
      move(bench, check, nsid, space->layout().data_bytes, transfer);
    }
  }
  check.precondition(looked > 0, "a namespace of blocks");
}

CONFORMANCE_CASE(host_reports_every_error_status, "nvme.host.status.every", roles::host) {
  bench.connect_product();
  const std::uint32_t nsid = bench.nsid();
  nvme::Status answer;
  std::uint8_t failing = 0;
  bench.script.completion = [&](const CommandContext& command, MutableBytes cqe) {
    if (command.qid != 0 && command.sqe[0] == failing) {
      store_le<std::uint16_t>(cqe.data() + 14, static_cast<std::uint16_t>(answer.sct() << 9 | answer.sc() << 1 | kDoNotRetry));
    }
    return Answer::send;
  };
  const std::size_t bytes = bench.subsystem().namespaces().at(nsid)->layout().data_bytes;
  Bytes& data = bench.keep(Bytes(bytes));
  const auto reported = [&](Op<nvme::Status> doing, std::string_view what) {
    const auto status = doing.wait_for(60_s);
    check.that(status.has_value(), std::string(what) + " ends", "it does not");
    if (!status) return;
    check.that(!status->ok(), std::string(what) + " that failed with " + nvme::to_string(answer) + " is reported as failed", "as success");
  };
  for (const nvme::Status& status : kStatuses) {
    answer = status;
    failing = opcode::kRead;
    reported(bench.product().read(nsid, 0, data), "a read");
    failing = opcode::kWrite;
    reported(bench.product().write(nsid, 0, data), "a write");
  }
  failing = 0;
  check.success(bench.product().read(nsid, 0, data).wait(), "a read without an error");
}

}  // namespace fb::conformance
