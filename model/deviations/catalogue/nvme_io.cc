// The NVM command set: ranges, data that goes wrong, fused commands, completions.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"

namespace fb::deviations {

namespace {

using nvme::Fuse;
using nvme::IoOpcode;

constexpr std::uint8_t code(IoOpcode opcode) { return static_cast<std::uint8_t>(opcode); }
constexpr std::uint64_t kFar = std::uint64_t{1} << 63;

bool is_fuse(const CommandContext& command, Fuse fuse) { return fuse_of(command) == static_cast<unsigned>(fuse); }

// ---- ranges ----

bool missing_namespace_taken(const CommandContext&, Refusal& refusal) { return !refusal.check.starts_with("io.nsid"); }
bool reads_past_the_end(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "io.lba.range" || !is_io(command, code(IoOpcode::read)) || slba_of(command) >= kFar;
}
bool reads_wrap_around(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "io.lba.range" || !is_io(command, code(IoOpcode::read)) || slba_of(command) < kFar;
}
template <IoOpcode Opcode>
bool range_unchecked(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "io.lba.range" || !is_io(command, code(Opcode));
}
bool deallocation_breaks(const CommandContext& command, Refusal& refusal) {
  if (refusal.check == "io.lba.range" && is_io(command, code(IoOpcode::dataset_management))) {
    refusal.status = nvme::sc::data_transfer_error;
  }
  return true;
}

// ---- data ----

constexpr std::size_t kLong = 8192;

void long_reads_end_wrong(const CommandContext& command, MutableBytes data) {
  if (is_io(command, code(IoOpcode::read)) && data.size() >= kLong) data.back() ^= 1;
}
void long_writes_end_wrong(const CommandContext& command, MutableBytes data) {
  if (is_io(command, code(IoOpcode::write)) && data.size() >= kLong) data.back() ^= 1;
}
void fused_writes_go_wrong(const CommandContext& command, MutableBytes data) {
  const bool ours = is_io(command, code(IoOpcode::write)) && is_fuse(command, Fuse::second);
  if (ours && !data.empty()) data[0] ^= 1;
}

/// Blocks of 512 bytes that a Read or Write moves; 0 for other commands.
std::uint64_t blocks_moved(const CommandContext& command) {
  const bool moves = is_io(command, code(IoOpcode::read)) || is_io(command, code(IoOpcode::write));
  return moves ? View<nvme::ReadWriteSqe>{command.sqe}.get(nvme::rw_sqe::nlb).count() : 0;
}
constexpr std::uint64_t kMdtsBlocks = 2048;

std::optional<nvme::Status> half_of_mdts(const CommandContext& command) {
  const std::uint64_t blocks = blocks_moved(command);
  if (blocks <= kMdtsBlocks / 2 || blocks > kMdtsBlocks) return {};
  return nvme::sc::invalid_field;
}
/// Neither the command set nor the transport has a limit.
bool takes_long_transfers(const CommandContext&, Refusal& refusal) { return refusal.check != "io.mdts" && refusal.check != "command.sgl"; }
std::optional<nvme::Status> beyond_mdts_done(const CommandContext& command) {
  if (blocks_moved(command) <= kMdtsBlocks) return {};
  return nvme::sc::success;
}

std::optional<nvme::Status> compare_never_equal(const CommandContext& command) {
  if (!is_io(command, code(IoOpcode::compare)) || !is_fuse(command, Fuse::normal)) return {};
  return nvme::sc::compare_failure;
}
bool compare_always_equal(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "compare.mismatch" || !is_fuse(command, Fuse::normal);
}
bool long_compare_equal(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "compare.mismatch" || View<nvme::ReadWriteSqe>{command.sqe}.get(nvme::rw_sqe::nlb).count() <= 8;
}
Answer flush_fails(const CommandContext& command, MutableBytes cqe) {
  MutableView<nvme::CqeLayout> entry{cqe};
  if (is_io(command, code(IoOpcode::flush)) && entry.get(nvme::cqe::status).ok()) {
    entry.set(nvme::cqe::status, nvme::sc::internal_error);
  }
  return Answer::send;
}

// ---- fused commands ----

bool lone_first_executed(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "fused.missing" || !is_fuse(command, Fuse::first);
}
bool lone_second_executed(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "fused.missing" || !is_fuse(command, Fuse::second);
}

// ---- completions ----

constexpr std::uint16_t kHighBit = 0x4000;

Answer high_bit_lost(const CommandContext& command, MutableBytes cqe) {
  const std::uint16_t cid = cid_of(command);
  if (command.qid != 0 && (cid & kHighBit) != 0) {
    MutableView<nvme::CqeLayout>{cqe}.set(nvme::cqe::cid, cid & ~kHighBit);
  }
  return Answer::send;
}
Answer high_ones_twice(const CommandContext& command, MutableBytes) {
  const bool ours = command.qid != 0 && (cid_of(command) & kHighBit) != 0;
  return ours ? Answer::send_twice : Answer::send;
}
Answer phase_set(const CommandContext& command, MutableBytes cqe) {
  if (is_io(command, code(IoOpcode::read))) {
    MutableView<nvme::CqeLayout>{cqe}.set(nvme::cqe::phase, 1);
  }
  return Answer::send;
}

}  // namespace

DEVIATION(io_to_any_namespace, "nvme.namespace.invalid", Product::controller,
          "I/O to a namespace that does not exist goes to the first one", hooks<Refusing, &missing_namespace_taken>());
DEVIATION(read_past_the_end, "nvme.read.out-of-range", Product::controller, "reads beyond the end give zeroes",
          hooks<Refusing, &reads_past_the_end>());
DEVIATION(read_wraps_around, "nvme.read.range-overflow", Product::controller, "a range that wraps around passes",
          hooks<Refusing, &reads_wrap_around>());
DEVIATION(write_past_the_end, "nvme.write.out-of-range", Product::controller, "writes beyond the end succeed",
          hooks<Refusing, &range_unchecked<IoOpcode::write>>());
DEVIATION(read_ends_wrong, "nvme.write.read-back", Product::controller, "the last byte of a long read is wrong",
          hooks<AlteringDataOut, &long_reads_end_wrong>());
DEVIATION(write_ends_wrong, "nvme.write.read-back", Product::controller, "the last byte of a long write is stored wrong",
          hooks<AlteringDataIn, &long_writes_end_wrong>());
DEVIATION(transfer_too_long_is_done, "nvme.transfer.mdts", Product::controller, "a transfer above MDTS is reported as done",
          hooks<Answering, &beyond_mdts_done>());
DEVIATION(transfer_too_long_is_carried_out, "nvme.transfer.mdts", Product::controller, "carries out transfers above MDTS",
          hooks<Refusing, &takes_long_transfers>());
DEVIATION(log_too_long_is_read, "nvme.transfer.mdts-commands", Product::controller, "carries out Get Log Page above MDTS",
          Tolerate{"log.length"});
DEVIATION(security_data_too_long_is_sent, "nvme.transfer.mdts-commands", Product::controller, "carries out Security Receive above MDTS",
          Tolerate{"security.length"});
DEVIATION(directive_data_too_long_is_sent, "nvme.transfer.mdts-commands", Product::controller, "carries out Directive Receive above MDTS",
          Tolerate{"directive.length"});
DEVIATION(reservation_report_too_long_is_sent, "nvme.transfer.mdts-commands", Product::controller,
          "carries out Reservation Report above MDTS", Tolerate{"reservation.report.length"});
DEVIATION(transfer_too_long_is_an_error, "nvme.transfer.mdts", Product::controller, "a transfer above MDTS fails with another status",
          AnswerWith{"io.mdts", nvme::sc::data_transfer_error});
DEVIATION(transfer_of_half_the_length, "nvme.transfer.mdts-limit", Product::controller, "transfers are refused from half of MDTS on",
          hooks<Answering, &half_of_mdts>());
DEVIATION(compare_never_succeeds, "nvme.compare.equal", Product::controller, "Compare of equal data fails",
          hooks<Answering, &compare_never_equal>());
DEVIATION(compare_of_the_first_part, "nvme.compare.mismatch-far", Product::controller,
          "a Compare of many blocks succeeds whatever they hold", hooks<Refusing, &long_compare_equal>());
DEVIATION(compare_always_succeeds, "nvme.compare.mismatch", Product::controller, "Compare of unequal data succeeds",
          hooks<Refusing, &compare_always_equal>());
DEVIATION(write_zeroes_does_nothing, "nvme.write-zeroes.reads-zero", Product::controller, "Write Zeroes leaves the blocks as they are",
          Departs{"sub.io.write_zeroes"});
DEVIATION(deallocate_leaves_garbage, "nvme.deallocate.reads", Product::controller,
          "deallocated blocks read as FFh although DLFEAT says zero", Departs{"sub.io.deallocate"});
DEVIATION(deallocate_beyond_the_end_breaks, "nvme.deallocate.out-of-range", Product::controller,
          "a deallocation beyond the end fails as a data transfer", hooks<Refusing, &deallocation_breaks>());
DEVIATION(uncorrectable_has_no_effect, "nvme.write-uncorrectable.unreadable", Product::controller,
          "blocks marked uncorrectable can be read", Departs{"sub.io.uncorrectable"});
DEVIATION(uncorrectable_for_ever, "nvme.write-uncorrectable.unreadable", Product::controller, "a write does not mend a spoilt block",
          Departs{"sub.io.uncorrectable.stays"});
DEVIATION(verify_past_the_end, "nvme.verify.out-of-range", Product::controller, "Verify beyond the end succeeds",
          hooks<Refusing, &range_unchecked<IoOpcode::verify>>());
DEVIATION(flush_reports_an_error, "nvme.flush.succeeds", Product::controller, "Flush reports an error",
          hooks<AlteringCompletions, &flush_fails>());
DEVIATION(fused_write_goes_wrong, "nvme.fused.equal", Product::controller, "the first byte of a fused write is stored wrong",
          hooks<AlteringDataIn, &fused_writes_go_wrong>());
DEVIATION(fused_write_in_any_case, "nvme.fused.mismatch", Product::controller, "a fused write is executed although the compare failed",
          Tolerate{"fused.failed"});
DEVIATION(fused_first_alone, "nvme.fused.lone-first", Product::controller, "a lone first half is executed",
          hooks<Refusing, &lone_first_executed>());
DEVIATION(fused_second_alone, "nvme.fused.lone-second", Product::controller, "a lone second half is executed",
          hooks<Refusing, &lone_second_executed>());
DEVIATION(completion_loses_identifier_bits, "nvme.completion.identity", Product::controller,
          "bit 14 of a command identifier is lost in the completion", hooks<AlteringCompletions, &high_bit_lost>());
DEVIATION(completion_sent_twice, "nvme.completion.identity", Product::controller, "some commands are completed twice",
          hooks<AlteringCompletions, &high_ones_twice>());
DEVIATION(completion_names_its_queue, "nvme.completion.reserved", Product::controller, "SQID is filled in", Departs{"sub.cqe.sqid"});
DEVIATION(completion_with_phase, "nvme.completion.reserved", Product::controller, "the phase tag is set",
          hooks<AlteringCompletions, &phase_set>());

}  // namespace fb::deviations
