// The optional commands of the NVM command set, and fused Compare and Write.
#include "conformance/cases/nvme/scene.h"

namespace fb::conformance {

namespace {

namespace oncs = nvme::oncs_bits;

constexpr std::uint64_t kLba = 512;

/// A half of a fused pair.
Record<nvme::ReadWriteSqe> fused(Record<nvme::ReadWriteSqe> command, nvme::Fuse fuse) {
  command.set(nvme::sqe::fuse, fuse);
  return command;
}

struct FusedReplies {
  host::RawReply compare;
  host::RawReply write;
};

/// Both halves, one directly after the other.
FusedReplies compare_and_write(IoScene& scene, ByteView expected, ByteView news) {
  const auto blocks = static_cast<std::uint32_t>(news.size() / scene.block_bytes);
  auto first = scene.io.send(fused(host::compare(scene.nsid, scene.at(kLba), blocks), nvme::Fuse::first), expected);
  auto second = scene.io.send(fused(host::write(scene.nsid, scene.at(kLba), blocks), nvme::Fuse::second), news);
  FusedReplies replies{first.wait(), {}};
  replies.write = second.wait();
  return replies;
}

bool is_filled_with(ByteView block, std::uint8_t value) {
  return std::all_of(block.begin(), block.end(), [value](std::uint8_t b) { return b == value; });
}

/// Whether a deallocated block may read like this. Deallocation is a hint: the old data is legal too.
bool legal_after_deallocation(ByteView block, ByteView old, unsigned dlfeat) {
  if (std::equal(block.begin(), block.end(), old.begin(), old.end())) return true;
  const unsigned reads = dlfeat & nvme::dlfeat_bits::read_mask;
  const bool zeroes = is_filled_with(block, 0);
  const bool ones = is_filled_with(block, 0xFF);
  if (reads == nvme::dlfeat_bits::reads_zeroes) return zeroes;
  if (reads == nvme::dlfeat_bits::reads_ones) return ones;
  return zeroes || ones;
}

}  // namespace

CONFORMANCE_CASE(compare_of_equal_data_succeeds, "nvme.compare.equal", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::compare>)) {
  IoScene scene(bench);
  const Bytes data = scene.prepare(check, kLba, 0x21, scene.count(2));
  check.success(scene.compare(kLba, data));
}

CONFORMANCE_CASE(compare_of_unequal_data_fails, "nvme.compare.mismatch", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::compare>)) {
  IoScene scene(bench);
  Bytes data = scene.prepare(check, kLba, 0x22, scene.count(2));
  scene.last_byte(data) ^= 1;
  check.status(scene.compare(kLba, data), sc::compare_failure);
}

CONFORMANCE_CASE(compare_finds_a_difference_far_behind, "nvme.compare.mismatch-far", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::compare>)) {
  constexpr std::uint64_t kLong = 128 * 1024;
  IoScene scene(bench);
  const std::uint64_t limit = bench.declared().transfer_max();
  const std::uint64_t bytes = limit == 0 ? kLong : std::min(limit, kLong);
  Bytes data = scene.prepare(check, 0, 0x29, static_cast<std::size_t>(bytes / scene.block_bytes));
  check.success(scene.compare(0, data), "Compare of equal data");
  scene.last_byte(data) ^= 1;
  check.status(scene.compare(0, data), sc::compare_failure, "Compare with another last byte");
}

CONFORMANCE_CASE(blocks_read_as_zero_after_write_zeroes, "nvme.write-zeroes.reads-zero", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::write_zeroes>)) {
  IoScene scene(bench);
  const std::uint32_t count = scene.count(4);
  const Bytes before = scene.prepare(check, kLba, 0x23, count);
  check.require_success(scene.io.send(host::write_zeroes(scene.nsid, scene.at(kLba + 1), count - 2)).wait());
  const auto after = scene.read(kLba, count);
  check.require_success(after, "Read");
  const Bytes zeroes(scene.data_bytes);
  for (std::size_t i = 1; i + 1 < count; ++i) {
    check.bytes("data of a block of zeroes", scene.block(after.data, i).first(scene.data_bytes), zeroes);
  }
  for (const std::size_t i : {0u, count - 1}) check.bytes("a neighbour", scene.block(after.data, i), scene.block(before, i));
}

CONFORMANCE_CASE(deallocated_blocks_read_as_announced, "nvme.deallocate.reads", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::dataset_management>)) {
  IoScene scene(bench);
  const Bytes before = scene.prepare(check, kLba, 0x24, 4);
  const auto range = host::dsm_range(scene.at(kLba + 1), 2);
  check.require_success(scene.io.send(host::deallocate(scene.nsid, 1), range.bytes()).wait());
  const unsigned dlfeat = bench.declared().identify_namespace().get(nvme::id_ns::dlfeat);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto after = scene.read(kLba + i, 1);
    if (i == 0 || i == 3) {
      check.require_success(after, "Read of a neighbour");
      check.bytes("a neighbour of the range", after.data, scene.block(before, i));
    } else if (check.status(after, one_of(sc::success, sc::deallocated_or_unwritten)) && after.ok()) {
      check.that(
          legal_after_deallocation(ByteView{after.data}.first(scene.data_bytes), scene.block(before, i).first(scene.data_bytes), dlfeat),
          "a deallocated block reads as DLFEAT says, or as before", words(after.data));
    }
  }
}

CONFORMANCE_CASE(deallocation_beyond_the_end, "nvme.deallocate.out-of-range", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::dataset_management>)) {
  IoScene scene(bench);
  const Bytes last = scene.prepare(check, 0, 0x25, 1);
  const auto range = host::dsm_range(scene.at(scene.blocks), 8);
  check.status(scene.io.send(host::deallocate(scene.nsid, 1), range.bytes()).wait(),
               one_of(sc::lba_out_of_range, sc::invalid_field, sc::internal_error, sc::success));
  const auto first = scene.read(0, 1);
  check.require_success(first, "Read of the first block");
  check.bytes("the first block", first.data, last);
}

CONFORMANCE_CASE(uncorrectable_blocks_cannot_be_read, "nvme.write-uncorrectable.unreadable", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::write_uncorrectable>)) {
  IoScene scene(bench);
  const std::uint32_t count = scene.count(2);
  scene.prepare(check, kLba, 0x26, count);
  check.require_success(scene.io.send(host::write_uncorrectable(scene.nsid, scene.at(kLba), count)).wait());
  check.status(scene.read(kLba + count - 2, 1), sc::unrecovered_read_error, "Read of a spoilt block");
  const Bytes data = pattern(0x27, count, scene.block_bytes);
  check.require_success(scene.write(kLba, data), "Write");
  const auto after = scene.read(kLba, count);
  check.require_success(after, "Read of the blocks that were written again");
  check.bytes("what was written", after.data, data);
}

CONFORMANCE_CASE(verify_beyond_the_end_is_refused, "nvme.verify.out-of-range", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::verify>), reaches{"io.lba.range"}) {
  IoScene scene(bench);
  check.status(scene.io.send(host::verify(scene.nsid, scene.at(scene.blocks - 1), 2)).wait(), sc::lba_out_of_range);
}

CONFORMANCE_CASE(fused_write_of_equal_data_is_executed, "nvme.fused.equal", roles::controller, needs(has_namespace),
                 needs(fuses_compare_and_write)) {
  IoScene scene(bench);
  const Bytes before = scene.prepare(check, kLba, 0x31, 1);
  const Bytes news = pattern(0x32, 1, scene.block_bytes);
  const FusedReplies replies = compare_and_write(scene, before, news);
  check.success(replies.compare, "Compare");
  check.success(replies.write, "Write");
  const auto after = scene.read(kLba, 1);
  check.require_success(after, "Read");
  check.bytes("the new data", after.data, news);
  // A second pair comes before the first one has ended.
  constexpr std::uint64_t kOther = kLba + 8;
  const Bytes other = scene.prepare(check, kOther, 0x3C, 1);
  std::vector<Op<host::RawReply>> halves;
  for (const auto& [lba, expected] : {std::pair{kLba, &news}, {kOther, &other}}) {
    halves.push_back(scene.io.send(fused(host::compare(scene.nsid, scene.at(lba), 1), nvme::Fuse::first), *expected));
    halves.push_back(scene.io.send(fused(host::write(scene.nsid, scene.at(lba), 1), nvme::Fuse::second), before));
  }
  for (auto& half : halves) check.success(half.wait(), "a half of two pairs in a row");
  for (const std::uint64_t lba : {kLba, kOther}) {
    const auto twice = scene.read(lba, 1);
    if (check.success(twice, "Read")) check.bytes("the data of two pairs in a row", twice.data, before);
  }
}

CONFORMANCE_CASE(fused_write_of_unequal_data_is_not_executed, "nvme.fused.mismatch", roles::controller, needs(has_namespace),
                 needs(fuses_compare_and_write)) {
  IoScene scene(bench);
  const Bytes before = scene.prepare(check, kLba, 0x33, 1);
  const FusedReplies replies = compare_and_write(scene, pattern(0x34, 1, scene.block_bytes), pattern(0x35, 1, scene.block_bytes));
  check.status(replies.compare, sc::compare_failure, "Compare");
  check.status(replies.write, sc::aborted_failed_fused, "Write");
  const auto after = scene.read(kLba, 1);
  check.require_success(after, "Read");
  check.bytes("the old data", after.data, before);
}

CONFORMANCE_CASE(lone_first_half_is_aborted, "nvme.fused.lone-first", roles::controller, needs(has_namespace),
                 needs(fuses_compare_and_write), reaches{"fused.missing"}) {
  IoScene scene(bench);
  const Bytes data = scene.prepare(check, kLba, 0x36, 1);
  auto first = scene.io.send(fused(host::compare(scene.nsid, scene.at(kLba), 1), nvme::Fuse::first), data);
  check.success(scene.read(kLba + 8, 1), "Read in place of the second half");
  const auto reply = first.wait_for(kSoon);
  check.require(reply.has_value(), "the first half is completed once its partner cannot come");
  check.status(*reply, sc::aborted_missing_fused);
}

CONFORMANCE_CASE(fused_halves_are_next_to_each_other_on_their_queue, "nvme.fused.equal", roles::controller, needs(has_namespace),
                 needs(fuses_compare_and_write)) {
  // What other queues bring comes between no two commands of this one.
  IoScene scene(bench);
  host::RawQueue& other = scene.association.open_io(bench.io_qid(1));
  const Bytes before = scene.prepare(check, kLba, 0x39, 1);
  const Bytes news = pattern(0x3B, 1, scene.block_bytes);
  auto compare = scene.io.send(fused(host::compare(scene.nsid, scene.at(kLba), 1), nvme::Fuse::first), before);
  bench.world().run_for(1_ms);
  const auto between = other.send(host::flush(scene.nsid)).wait_for(kSoon);
  check.require(between && between->answered(), "Flush on another queue is answered while a Compare waits for its Write");
  check.success(*between, "Flush on another queue");
  auto write = scene.io.send(fused(host::write(scene.nsid, scene.at(kLba), 1), nvme::Fuse::second), news);
  const auto compared = compare.wait_for(kSoon), written = write.wait_for(kSoon);
  check.require(compared && written, "both halves are completed");
  check.success(*compared, "Compare, with a command on another queue before its Write");
  check.success(*written, "Write");
  const auto after = scene.read(kLba, 1);
  if (check.success(after, "Read")) check.bytes("the new data", after.data, news);
}

CONFORMANCE_CASE(lone_second_half_is_aborted, "nvme.fused.lone-second", roles::controller, needs(has_namespace),
                 needs(fuses_compare_and_write), reaches{"fused.missing"}) {
  IoScene scene(bench);
  const Bytes before = scene.prepare(check, kLba, 0x37, 1);
  const Bytes news = pattern(0x38, 1, scene.block_bytes);
  check.status(scene.io.send(fused(host::write(scene.nsid, scene.at(kLba), 1), nvme::Fuse::second), news).wait(),
               sc::aborted_missing_fused);
  const auto after = scene.read(kLba, 1);
  check.require_success(after, "Read");
  check.bytes("the old data", after.data, before);
}

}  // namespace fb::conformance
