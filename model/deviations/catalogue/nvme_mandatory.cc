// What every I/O controller has, and data that is where it was written.
#include <algorithm>
#include <vector>

#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/logs.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
using nvme::FeatureId;
using nvme::IoOpcode;
namespace departure = subsystem::departure;

constexpr std::uint8_t code(IoOpcode opcode) { return static_cast<std::uint8_t>(opcode); }
bool is(const CommandContext& command, AdminOpcode opcode) { return is_admin(command, static_cast<std::uint8_t>(opcode)); }
bool identifies_all(const CommandContext& command, nvme::Cns cns, MutableBytes data) {
  return identifies(command, cns) && data.size() == nvme::kIdentifySize;
}
std::uint32_t nsid_of(const CommandContext& command) { return load_le<std::uint32_t>(command.sqe.data() + 4); }
std::uint64_t end_of(const CommandContext& command) { return slba_of(command) + load_le<std::uint16_t>(command.sqe.data() + 48) + 1u; }

void is_no_io_controller(const CommandContext& command, MutableBytes data) {
  if (identifies_all(command, nvme::Cns::controller, data)) data[nvme::id_ctrl::cntrltype.offset] = 3;
}
void has_no_namespaces(const CommandContext& command, MutableBytes data) {
  if (identifies_all(command, nvme::Cns::controller, data)) store_le(data.data() + nvme::id_ctrl::nn.offset, 0u);
}
std::optional<nvme::Status> no_command_set_pages(const CommandContext& command) {
  if (!identifies(command, nvme::Cns::command_set_controller)) return {};
  return nvme::sc::invalid_field;
}
void no_combinations(const CommandContext& command, MutableBytes data) {
  if (identifies_all(command, nvme::Cns::command_set_combinations, data)) std::fill_n(data.begin(), 64, std::uint8_t{0});
}
void no_names(const CommandContext& command, MutableBytes data) {
  if (identifies_all(command, nvme::Cns::identify_namespace, data)) {
    std::fill_n(data.begin() + nvme::id_ns::nguid.offset, 24, std::uint8_t{0});
  }
  if (identifies_all(command, nvme::Cns::namespace_id_descriptors, data)) {
    std::fill(data.begin(), data.end(), std::uint8_t{0});
  }
}
void one_name(const CommandContext& command, MutableBytes data) {
  if (identifies_all(command, nvme::Cns::identify_namespace, data)) {
    std::fill_n(data.begin() + nvme::id_ns::nguid.offset, 24, std::uint8_t{7});
  }
}
void claims_no_arbitration(const CommandContext& command, MutableBytes data) {
  const bool reads =
      is(command, AdminOpcode::get_log_page) && (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(nvme::LogPage::feature_effects);
  if (reads && data.size() >= 8) data[4] = 0;
}
std::optional<nvme::Status> short_logs_refused(const CommandContext& command) {
  if (!is(command, AdminOpcode::get_log_page) || (cdw10_of(command) >> 16) >= 15) return {};
  return nvme::sc::invalid_field;
}
template <FeatureId Id>
std::optional<nvme::Status> has_feature(const CommandContext& command) {
  if (!is(command, AdminOpcode::get_features) || (cdw10_of(command) & 0xFF) != static_cast<std::uint32_t>(Id)) return {};
  return nvme::sc::success;
}
std::optional<nvme::Status> no_flush_of_all(const CommandContext& command) {
  if (!is_io(command, code(IoOpcode::flush)) || nsid_of(command) != 0xFFFFFFFF) return {};
  return nvme::sc::invalid_namespace_or_format;
}
void odd_writes_end_wrong(const CommandContext& command, MutableBytes data) {
  if (is_io(command, code(IoOpcode::write)) && data.size() == std::size_t{17} * 512) data.back() ^= 1;
}

/// Does something to the medium when a command of that opcode has succeeded.
class Spoiling : public subsystem::SubsystemHooks {
 public:
  Answer completion(const CommandContext& command, MutableBytes cqe) override {
    const bool fine = View<nvme::CqeLayout>{cqe}.get(nvme::cqe::status).ok();
    if (fine && command.controller != nullptr && command.qid != 0) spoil(command, command.controller->subsystem());
    return Answer::send;
  }

 protected:
  virtual void spoil(const CommandContext& command, subsystem::Subsystem& disk) = 0;
  /// Garbage in one block, if it is there.
  static void scribble(subsystem::Namespace* ns, std::uint64_t lba) {
    if (ns == nullptr || !ns->in_range(lba, 1)) return;
    Bytes garbage(ns->block_bytes(), 0xEE);
    (void)ns->write(lba, garbage);
  }
};
/// The block behind those of a command goes with them.
template <IoOpcode Opcode>
class TakesOneMore final : public Spoiling {
  void spoil(const CommandContext& command, subsystem::Subsystem& disk) override {
    if (is_io(command, code(Opcode))) scribble(disk.find_namespace(nsid_of(command)), end_of(command));
  }
};
class WritesEverywhere final : public Spoiling {
  void spoil(const CommandContext& command, subsystem::Subsystem& disk) override {
    if (!is_io(command, code(IoOpcode::write)) || nsid_of(command) != 1) return;
    scribble(disk.find_namespace(2), slba_of(command));
  }
};
/// What lies between the ranges goes too.
class DeallocatesBetween final : public subsystem::SubsystemHooks {
 public:
  void data_in(const CommandContext& command, MutableBytes data) override {
    if (!is_io(command, code(IoOpcode::dataset_management)) || data.size() < 32) return;
    const auto first = load_le<std::uint64_t>(data.data() + 8), last = load_le<std::uint64_t>(data.data() + 24);
    if (last > first) store_le(data.data() + 4, static_cast<std::uint32_t>(last - first));
  }
};
/// Compare looks at a block more than it was told.
class ComparesOneMore final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    const bool ours = is_io(command, code(IoOpcode::compare)) && fuse_of(command) == 0 && end_of(command) > 64;
    if (!ours || slba_of(command) != 70) return {};
    return nvme::sc::compare_failure;
  }
};
/// Each queue has a cache of its own for reads.
class QueuesHaveCaches final : public subsystem::SubsystemHooks {
 public:
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!is_io(command, code(IoOpcode::read)) || command.qid != 2) return;
    if (cache_.size() != data.size()) cache_.assign(data.begin(), data.end());
    std::copy(cache_.begin(), cache_.end(), data.begin());
  }

 private:
  Bytes cache_;
};
/// Where many reads are under way, one gets the data of the one before.
class MixesReadsUp final : public subsystem::SubsystemHooks {
 public:
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!is_io(command, code(IoOpcode::read))) return;
    const Bytes mine(data.begin(), data.end());
    if (++reads_ == 20 && last_.size() == data.size()) std::copy(last_.begin(), last_.end(), data.begin());
    last_ = mine;
  }

 private:
  unsigned reads_ = 0;
  Bytes last_;
};
/// The third Write to one place is not done.
class LosesAWrite final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (!is_io(command, code(IoOpcode::write))) return {};
    same_ = slba_of(command) == last_ ? same_ + 1 : 0;
    last_ = slba_of(command);
    if (same_ >= 2) return nvme::sc::success;
    return {};
  }

 private:
  std::uint64_t last_ = ~std::uint64_t{0};
  unsigned same_ = 0;
};
/// A reset brings back what was there before the last Write.
class ForgetsAtReset final : public subsystem::SubsystemHooks {
 public:
  void data_in(const CommandContext& command, MutableBytes) override {
    if (!is_io(command, code(IoOpcode::write))) return;
    lba_ = slba_of(command);
    nsid_ = nsid_of(command);
  }
  bool property_write(std::uint32_t offset, std::uint64_t& value) override {
    if (offset == 0x14 && (value & 1) == 0) reset_ = true;
    return true;
  }
  void data_out(const CommandContext& command, MutableBytes data) override {
    const bool ours = is_io(command, code(IoOpcode::read)) && slba_of(command) == lba_ && nsid_of(command) == nsid_;
    if (ours && reset_) std::fill(data.begin(), data.end(), std::uint8_t{0});
  }

 private:
  std::uint64_t lba_ = ~std::uint64_t{0};
  std::uint32_t nsid_ = 0;
  bool reset_ = false;
};

}  // namespace

DEVIATION(controller_of_another_type, "nvme.identify.controller-type", Product::controller, "says that it is an administrative controller",
          hooks<AlteringDataOut, &is_no_io_controller>());
DEVIATION(namespaces_beyond_nn, "nvme.identify.namespace-count", Product::controller, "has namespaces and says NN 0",
          hooks<AlteringDataOut, &has_no_namespaces>());
DEVIATION(command_set_not_identified, "nvme.identify.command-set", Product::controller, "does not know CNS 06h",
          hooks<Answering, &no_command_set_pages>());
DEVIATION(command_set_in_no_combination, "nvme.identify.command-set-vector", Product::controller, "lists no combination",
          hooks<AlteringDataOut, &no_combinations>());
DEVIATION(command_sets_of_any_kind, "nvme.identify.command-set-unknown", Product::controller, "identifies command sets that nobody has",
          Tolerate{"identify.csi"});
DEVIATION(namespaces_without_names, "nvme.identify.names", Product::controller, "has namespaces without names",
          hooks<AlteringDataOut, &no_names>());
DEVIATION(namespaces_of_one_name, "nvme.identify.names-unique", Product::controller, "gives all namespaces one name",
          hooks<AlteringDataOut, &one_name>());
DEVIATION(arbitration_not_claimed, "nvme.log.feature-effects", Product::controller, "does not claim Arbitration in log page 12h",
          hooks<AlteringDataOut, &claims_no_arbitration>());
DEVIATION(indexes_taken_for_offsets, "nvme.log.offset-type", Product::controller, "takes indexes where it knows none",
          Tolerate{"log.offset_type"});
DEVIATION(short_logs_not_read, "nvme.log.length", Product::controller, "refuses to give less than 64 bytes of a log",
          hooks<Answering, &short_logs_refused>());
DEVIATION(controller_features_of_namespaces, "nvme.features.not-namespace-specific", Product::controller,
          "sets features of the controller for a namespace", Tolerate{"feature.namespace_specific"});
DEVIATION(host_memory_wanted, "nvme.features.host-memory-buffer", Product::controller, "has a host memory buffer",
          hooks<Answering, &has_feature<FeatureId::host_memory_buffer>>());
DEVIATION(interrupts_coalesced, "nvme.features.interrupts", Product::controller, "coalesces interrupts",
          hooks<Answering, &has_feature<FeatureId::interrupt_coalescing>>());
DEVIATION(flush_of_all_refused, "nvme.flush.all", Product::controller, "claims Flush of all namespaces and refuses it",
          hooks<Answering, &no_flush_of_all>());
DEVIATION(odd_writes_damaged, "nvme.write.sizes", Product::controller, "damages writes of seventeen blocks",
          hooks<AlteringDataIn, &odd_writes_end_wrong>());
DEVIATION(writes_one_block_more, "nvme.write.neighbours", Product::controller, "writes a block too many",
          hooks<TakesOneMore<IoOpcode::write>>());
DEVIATION(writes_to_two_namespaces, "nvme.write.namespace", Product::controller, "writes to the second namespace too",
          hooks<WritesEverywhere>());
DEVIATION(zeroes_one_block_more, "nvme.write-zeroes.neighbours", Product::controller, "zeroes a block too many",
          hooks<TakesOneMore<IoOpcode::write_zeroes>>());
DEVIATION(deallocates_between_ranges, "nvme.deallocate.ranges", Product::controller, "deallocates what lies between two ranges",
          hooks<DeallocatesBetween>());
DEVIATION(compares_one_block_more, "nvme.compare.neighbours", Product::controller, "compares a block too many", hooks<ComparesOneMore>());
DEVIATION(queues_with_caches, "nvme.queues.data", Product::controller, "reads old data through the second queue",
          hooks<QueuesHaveCaches>());
DEVIATION(reads_mixed_up, "nvme.queues.depth", Product::controller, "gives a read the data of another one", hooks<MixesReadsUp>());
DEVIATION(writes_once_and_again, "nvme.write.last-wins", Product::controller, "does not do a third Write to one place",
          hooks<LosesAWrite>());
DEVIATION(writes_undone_by_resets, "nvme.write.survives-reset", Product::controller, "loses the last Write in a controller reset",
          hooks<ForgetsAtReset>());

}  // namespace fb::deviations
