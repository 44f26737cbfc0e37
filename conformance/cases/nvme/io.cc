// Read and Write: ranges, sizes, and that data stays what it was.
#include "conformance/cases/nvme/scene.h"

namespace fb::conformance {

namespace {

constexpr std::uint64_t kLba = 256;

/// Blocks of a transfer of the longest kind; leaves the case where there is no room for it.
std::uint32_t blocks_of_longest(const Declared& declared, const IoScene& scene, Check& check) {
  const std::uint64_t blocks = declared.transfer_max() / scene.block_bytes;
  check.precondition(blocks > 0 && blocks < 65536 && blocks < scene.blocks, "MDTS allows longer transfers than a command can ask for here");
  return static_cast<std::uint32_t>(blocks);
}

}  // namespace

CONFORMANCE_CASE(io_to_a_missing_namespace_is_refused, "nvme.namespace.invalid", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  const auto list = scene.association.admin().send(host::identify(nvme::Cns::active_namespace_list), 4096).wait();
  check.precondition_success(list, "Identify, active namespace list");
  const std::uint32_t missing = lowest_inactive(list.data);
  const auto expected = one_of(sc::invalid_namespace_or_format, sc::invalid_field);
  for (const std::uint32_t nsid : {missing, 0xFFFFFFFEu, 0u}) {
    check.status(scene.io.send(host::read(nsid, 0, 1), scene.block_bytes).wait(), expected, "Read, namespace " + words(nsid));
  }
}

CONFORMANCE_CASE(read_beyond_the_end_is_refused, "nvme.read.out-of-range", roles::controller, needs(has_namespace),
                 reaches{"io.lba.range"}) {
  IoScene scene(bench);
  check.success(scene.read(scene.blocks - 1, 1), "Read of the last block");
  check.status(scene.read(scene.blocks, 1), sc::lba_out_of_range, "Read behind the last block");
  check.status(scene.read(scene.blocks - 1, 2), sc::lba_out_of_range, "Read across the end");
}

CONFORMANCE_CASE(read_range_does_not_wrap_around, "nvme.read.range-overflow", roles::controller, needs(has_namespace),
                 reaches{"io.lba.range"}) {
  IoScene scene(bench);
  check.status(scene.read(0xFFFFFFFFFFFFFFFF, 2), sc::lba_out_of_range, "Read of two blocks");
  const std::uint64_t most = bench.declared().transfer_max();
  if (most != 0 && most < std::uint64_t{16} * scene.block_bytes) return;  // too much, wherever it lies
  check.status(scene.read(0xFFFFFFFFFFFFFFF8, 16), sc::lba_out_of_range, "Read of 16 blocks");
}

CONFORMANCE_CASE(write_beyond_the_end_is_refused_as_a_whole, "nvme.write.out-of-range", roles::controller, needs(has_namespace),
                 reaches{"io.lba.range"}) {
  IoScene scene(bench);
  const std::uint64_t last = scene.blocks - 1;
  const Bytes before = scene.prepare(check, last, 0x11, 1);
  check.status(scene.write(last, pattern(0x77, 2, scene.block_bytes)), sc::lba_out_of_range);
  const auto after = scene.read(last, 1);
  check.require_success(after, "Read of the last block");
  check.bytes("the last block", after.data, before);
}

CONFORMANCE_CASE(written_data_reads_back, "nvme.write.read-back", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  std::uint8_t mark = 1;
  std::vector<std::uint32_t> counts{1, 3, 16, 64};
  if (scene.count(1) > counts.back()) counts = {scene.count(1)};
  for (const std::uint32_t count : counts) {
    const std::uint64_t most = bench.declared().transfer_max();
    if (most != 0 && count * std::uint64_t{scene.block_bytes} > most) continue;
    const Bytes data = pattern(mark++, count, scene.block_bytes);
    check.require_success(scene.write(kLba + count, data), "Write");
    const auto back = scene.read(kLba + count, count);
    check.require_success(back, "Read");
    check.bytes("what was written, " + std::to_string(count) + " blocks", back.data, data);
  }
}

CONFORMANCE_CASE(transfer_above_mdts_is_refused, "nvme.transfer.mdts", roles::controller, needs(has_namespace), needs(limits_transfers)) {
  IoScene scene(bench);
  const std::uint32_t blocks = blocks_of_longest(bench.declared(), scene, check);
  check.status(scene.read(0, blocks + 1), sc::invalid_field);
}

CONFORMANCE_CASE(transfer_of_mdts_is_accepted, "nvme.transfer.mdts-limit", roles::controller, needs(has_namespace),
                 needs(limits_transfers)) {
  IoScene scene(bench);
  const std::uint32_t blocks = blocks_of_longest(bench.declared(), scene, check);
  const Bytes data = pattern(9, blocks, scene.block_bytes);
  check.success(scene.write(0, data), "Write");
  const auto back = scene.read(0, blocks);
  if (check.success(back, "Read")) check.bytes("what was written", back.data, data);
}

CONFORMANCE_CASE(flush_succeeds, "nvme.flush.succeeds", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  scene.prepare(check, kLba, 5, 1);
  check.success(scene.io.send(host::flush(scene.nsid)).wait());
}

CONFORMANCE_CASE(each_command_is_completed_once_by_its_identifier, "nvme.completion.identity", roles::controller, needs(has_namespace)) {
  constexpr std::uint16_t kFirstCid = 0x4100;
  constexpr std::uint32_t kMost = 12;
  // A queue holds one command less than it has entries.
  const auto commands = static_cast<std::uint16_t>(std::min(bench.declared().queue_entries_max() - 1, kMost));
  IoScene scene(bench);
  const std::uint64_t mdts = bench.declared().transfer_max();
  const auto lengths = static_cast<std::uint32_t>(mdts == 0 ? 3 : std::clamp<std::uint64_t>(mdts / scene.block_bytes, 1, 3));
  const std::uint64_t before = scene.io.responses();
  std::vector<Op<host::RawReply>> reads;
  for (std::uint16_t i = 0; i < commands; ++i) {
    const std::uint32_t blocks = 1 + i % lengths;
    auto command = host::read(scene.nsid, scene.at(kLba + i), blocks);
    // Scattered, so that an identifier made by counting is not the right one.
    command.set(nvme::sqe::cid, kFirstCid + i * 37 % 64);
    reads.push_back(scene.io.send(command, std::size_t{blocks} * scene.block_bytes));
  }
  for (auto& read : reads) {
    const auto reply = read.wait_for(kSoon);
    check.require(reply.has_value(), "each command is completed by its identifier");
    check.success(*reply);
  }
  bench.world().run_for(kSilence);
  check.equal("completions", scene.io.responses() - before, commands);
}

CONFORMANCE_CASE(reserved_fields_of_completions_are_zero, "nvme.completion.reserved", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  const auto read = scene.read(0, 1);
  const auto identify = scene.association.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait();
  const auto judge = [&](const host::RawReply& reply) {
    check.equal("phase", reply.cqe.get(nvme::cqe::phase), 0);
    check.equal("SQID", reply.cqe.get(nvme::cqe::sqid), 0);
  };
  for (const host::RawReply* reply : {&read, &identify}) {
    check.require_success(*reply);
    judge(*reply);
  }
  // So it is in the answers to Connect, whatever they say.
  const std::uint16_t qid = bench.io_qid(1);
  for (const auto& reply : {bench.raw_queue().send(bench.connect_command()).wait(),
                            scene.association.io_transport(qid).send(scene.association.io_connect(qid)).wait()}) {
    check.precondition(reply.answered(), "Connect is answered");
    judge(reply);
  }
}

}  // namespace fb::conformance
