// The commands of a host: identifiers, data pointers, sizes, and what becomes of errors.
#include <algorithm>

#include "conformance/cases/nvme/host_scene.h"

namespace fb::conformance {

namespace {

constexpr std::uint64_t kLba = 1000;

/// Every read of the block is answered with this status; counts them.
void refuse_reads(HostBench& bench, nvme::Status status, unsigned& attempts) {
  bench.script.admission = [&bench, &attempts, status](const CommandContext& command) -> std::optional<nvme::Status> {
    if (!is_io(command, opcode::kRead) || lba_of(command.sqe) != kLba) return std::nullopt;
    bench.mark("bench.refused");
    ++attempts;
    return status;
  };
}

}  // namespace

CONFORMANCE_CASE(host_does_not_repeat_what_has_dnr, "nvme.host.dnr", roles::host, reaches{"bench.refused"}) {
  bench.connect_product();
  unsigned attempts = 0;
  refuse_reads(bench, sc::internal_error.with_dnr(), attempts);
  Bytes& block = bench.keep(Bytes(512));
  const auto read = bench.product().read(bench.nsid(), kLba, block).wait_for(60_s);
  check.require(read.has_value(), "the read ends", "it does not");
  check.refused(*read, "what the host reports");
  check.equal("attempts", attempts, 1u);
}

CONFORMANCE_CASE(host_repeats_no_admin_command_that_has_dnr, "nvme.host.dnr", roles::host) {
  // What a host sends once in an association.
  struct Kind {
    std::uint8_t opcode, what;  ///< CNS, LID or FID
  };
  std::size_t refused = 0;
  for (const Kind& kind : {Kind{0x06, 0x01}, Kind{0x02, 0x0C}, Kind{0x09, 0x07}, Kind{0x09, 0x0B}}) {
    unsigned attempts = 0, most = 0;
    bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
      if (command.qid != 0) return std::nullopt;
      if (command.sqe[0] == 0x7F && command.sqe[4] == 0x01) attempts = 0;  // another association
      if (command.sqe[0] != kind.opcode || command.sqe[40] != kind.what) return std::nullopt;
      most = std::max(most, ++attempts);
      return sc::internal_error.with_dnr();
    };
    bench.product().connect({}).wait_for(10_s);
    bench.product().disconnect().wait_for(60_s);
    bench.script.admission = {};
    refused += most;
    check.that(most <= 1, "no second attempt of a command with opcode " + words(kind.opcode) + " and " + words(kind.what) + " in dword 10",
               std::to_string(most) + " in one association");
  }
  check.precondition(refused > 0, "the host sends one of the commands");
}

CONFORMANCE_CASE(host_flushes_the_namespace_that_was_meant, "nvme.host.flush", roles::host) {
  constexpr std::uint8_t kFlush = 0x00;
  bench.connect_product();
  std::size_t looked = 0;
  for (const auto& [nsid, space] : bench.subsystem().namespaces()) {
    bench.forget_seen();
    const auto flushed = bench.product().flush(nsid).wait_for(60_s);
    const auto flushes = io_commands(bench, kFlush);
    if (flushes.empty()) continue;  // without a volatile write cache there is nothing to flush
    ++looked;
    for (const SeenCommand* seen : flushes) {
      check.that(seen->nsid() == nsid || seen->nsid() == nvme::kAllNamespaces, "Flush of namespace " + std::to_string(nsid),
                 "of namespace " + std::to_string(seen->nsid()));
    }
    check.that(flushed.has_value() && flushed->ok(), "Flush of namespace " + std::to_string(nsid) + " succeeds");
    bench.step("Flush fails");
    bench.script.admission = [](const CommandContext& command) -> std::optional<nvme::Status> {
      if (!is_io(command, kFlush)) return std::nullopt;
      return sc::write_fault.with_dnr();
    };
    bench.forget_seen();
    const auto failed = bench.product().flush(nsid).wait_for(60_s);
    bench.script.admission = {};
    if (io_commands(bench, kFlush).empty()) continue;
    check.that(failed.has_value() && !failed->ok(), "a Flush that failed is reported as failed", "as success");
  }
  check.precondition(looked > 0, "the host sends Flush");
}

CONFORMANCE_CASE(host_gives_a_transient_error_up, "nvme.host.retry-bound", roles::host, reaches{"bench.refused"}) {
  // Common hosts try three to six times.
  constexpr unsigned kMost = 20;
  bench.connect_product();
  unsigned attempts = 0;
  refuse_reads(bench, sc::transient_transport_error, attempts);
  Bytes& block = bench.keep(Bytes(512));
  Op<nvme::Status> read = bench.product().read(bench.nsid(), kLba, block);
  bench.run_until([&] { return read.settled() || attempts > kMost; }, 600_s);
  check.between("attempts", attempts, 1u, kMost);
  check.that(read.settled(), "the read ends", "it does not");
  bench.script = {};
  read.wait_for(60_s);
}

CONFORMANCE_CASE(host_splits_transfers_to_mdts, "nvme.host.mdts", roles::host) {
  constexpr std::uint8_t kMdts = 2;  // 16 KiB with pages of 4 KiB
  constexpr std::uint32_t kBlock = 512, kMost = 4096u << kMdts, kBlocks = 200;
  bench.script.data_out = [](const CommandContext& command, MutableBytes data) {
    const bool controller = command.qid == 0 && command.sqe[0] == opcode::kIdentify && command.sqe[40] == 0x01;
    if (controller && data.size() > 77) data[77] = kMdts;
  };
  bench.connect_product();
  bench.forget_seen();
  Bytes& data = bench.keep(host_pattern(kBlocks * kBlock));
  Bytes& back = bench.keep(Bytes(data.size()));
  check.require_success(bench.product().write(bench.nsid(), kLba, data).wait(), "write of 100 KiB");
  check.require_success(bench.product().read(bench.nsid(), kLba, back).wait(), "read of 100 KiB");
  check.bytes("data read back", back, data);
  needs_one_association(bench, check, 0);
  for (const std::uint8_t which : {opcode::kWrite, opcode::kRead}) {
    std::vector<unsigned> covered(kBlocks);
    for (const SeenCommand* seen : io_commands(bench, which)) {
      const std::uint32_t blocks = blocks_of(*seen);
      check.that(blocks * kBlock <= kMost, "at most 16 KiB in a command", std::to_string(blocks * kBlock) + " bytes");
      const std::uint64_t lba = lba_of(seen->sqe.bytes());
      for (std::uint64_t i = lba; i < lba + blocks; ++i) {
        if (i >= kLba && i < kLba + kBlocks) ++covered[i - kLba];
      }
    }
    const bool once = std::all_of(covered.begin(), covered.end(), [](unsigned times) { return times == 1; });
    check.that(once, "each block is transferred once");
  }
}

CONFORMANCE_CASE(host_points_to_data_with_sgls, "nvme.host.psdt", roles::host) {
  // A controller that looks away: what the host says is judged here, not there.
  bench.script.refuses = [](const CommandContext&, subsystem::Refusal&) { return false; };
  bench.product().connect({}).wait_for(10_s);
  Bytes& data = bench.keep(host_pattern(16384));
  bench.product().write(bench.nsid(), 0, data).wait_for(60_s);
  bench.product().read(bench.nsid(), 0, data).wait_for(60_s);
  const auto identifies = admin_commands(bench, opcode::kIdentify);
  const auto reads = io_commands(bench, opcode::kRead);
  check.precondition(!identifies.empty(), "Identify arrives");
  check.precondition(!reads.empty(), "a read arrives");
  for (const auto& list : {identifies, admin_commands(bench, opcode::kGetLog), reads, io_commands(bench, opcode::kWrite)}) {
    for (const SeenCommand* seen : list) {
      check.equal("PSDT", static_cast<unsigned>(seen->sqe.bytes()[1] >> 6), 1u);
    }
  }
}

CONFORMANCE_CASE(host_uses_an_identifier_once_at_a_time, "nvme.host.cid-unique", roles::host) {
  UnderWay under_way([](const CommandContext&) { return true; });
  follow(bench, under_way);
  bench.connect_product();
  std::vector<Op<nvme::Status>> writes;
  for (std::size_t i = 0; i < 40; ++i) {
    writes.push_back(bench.product().write(bench.nsid(), 128 * i, bench.keep(host_pattern(65536))));
  }
  for (auto& write : writes) write.wait_for(120_s);
  check.precondition(under_way.most() >= 8, "several commands at once");
  check.equal("commands with the identifier of one that was outstanding", under_way.twice(), 0u);
}

CONFORMANCE_CASE(host_completes_nothing_by_an_unknown_identifier, "nvme.host.unknown-cid", roles::host, reaches{"bench.unknown_cid"}) {
  bench.connect_product();
  // Another identifier, and near ones: each of its bytes counts.
  for (const unsigned other : {0xAA55u, 0x0100u, 0x8000u, 0x0001u}) {
    // A write: over TCP the end of a read may be said with its data, and no response follows.
    bool once = false;
    bench.script.completion = [&](const CommandContext& command, MutableBytes cqe) {
      if (!is_io(command, opcode::kWrite) || lba_of(command.sqe) != kLba || once) return Answer::send;
      once = true;
      bench.mark("bench.unknown_cid");
      cqe[12] ^= static_cast<std::uint8_t>(other);
      cqe[13] ^= static_cast<std::uint8_t>(other >> 8);
      return Answer::send;
    };
    bench.forget_seen();
    Bytes& block = bench.keep(Bytes(512));
    const auto write = bench.product().write(bench.nsid(), kLba, block).wait_for(300_s);
    check.precondition(once, "the write arrives");
    const std::size_t attempts = io_commands(bench, opcode::kWrite).size();
    check.that(!write || !write->ok() || attempts > 1, "a write without an answer of its own is not done", "it was reported as done");
  }
}

}  // namespace fb::conformance
