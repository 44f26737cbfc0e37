// Saved values of features, the timestamp, and limits of namespaces.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/sqe.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
using nvme::FeatureId;
namespace departure = subsystem::departure;

bool is(const CommandContext& command, AdminOpcode opcode) { return is_admin(command, static_cast<std::uint8_t>(opcode)); }
bool concerns(const CommandContext& command, AdminOpcode opcode, FeatureId id) {
  return is(command, opcode) && (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(id);
}
bool reads_timestamp(const CommandContext& command, MutableBytes data) {
  return concerns(command, AdminOpcode::get_features, FeatureId::timestamp) && data.size() == nvme::Timestamp::size;
}
constexpr std::uint32_t kSave = 1u << 31;

std::optional<nvme::Status> hides_timestamp(const CommandContext& command) {
  if (!concerns(command, AdminOpcode::get_features, FeatureId::timestamp)) return {};
  return nvme::sc::invalid_field;
}
void tells_seconds(const CommandContext& command, MutableBytes data) {
  if (reads_timestamp(command, data)) {
    store_le(data.data(), static_cast<std::uint32_t>((load_le<std::uint64_t>(data.data()) & 0xFFFF'FFFF'FFFF) / 1000));
  }
}
/// The clock is what it was when it was first read.
class StandingClock final : public subsystem::SubsystemHooks {
 public:
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!reads_timestamp(command, data)) return;
    if (first_.empty()) first_.assign(data.begin(), data.end());
    std::copy(first_.begin(), first_.end(), data.begin());
  }

 private:
  Bytes first_;
};
/// After a reset the time begins anew, as if a host had set it so.
void keeps_the_origin(const CommandContext& command, MutableBytes data) {
  if (reads_timestamp(command, data)) data[6] = static_cast<std::uint8_t>(nvme::kTimestampOfHost << 1);
}
void sets_reserved_bits(const CommandContext& command, MutableBytes data) {
  if (reads_timestamp(command, data)) data[7] = 1;
}
/// What is to be saved is not set.
std::optional<nvme::Status> saves_alone(const CommandContext& command) {
  if (!is(command, AdminOpcode::set_features) || (cdw10_of(command) & kSave) == 0) return {};
  return nvme::sc::success;
}
/// SEL 1 answers what SEL 2 would.
class DefaultIsSaved final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (is(command, AdminOpcode::set_features) && (cdw10_of(command) & kSave) != 0) saved_ = true;
    return {};
  }
  Answer completion(const CommandContext& command, MutableBytes cqe) override {
    const bool asks = is(command, AdminOpcode::get_features) && (cdw10_of(command) >> 8 & 7) == 1;
    if (asks && saved_) cqe[0] ^= 1;
    return Answer::send;
  }

 private:
  bool saved_ = false;
};
/// SEL 2 answers the current value.
class SavedIsCurrent final : public subsystem::SubsystemHooks {
 public:
  Answer completion(const CommandContext& command, MutableBytes cqe) override {
    if (is(command, AdminOpcode::get_features) && (cdw10_of(command) >> 8 & 7) == 2) cqe[0] ^= 1;
    return Answer::send;
  }
};
class BehaviorIsSaveable final : public subsystem::SubsystemHooks {
 public:
  Answer completion(const CommandContext& command, MutableBytes cqe) override {
    const bool asks = concerns(command, AdminOpcode::get_features, FeatureId::host_behavior_support) && (cdw10_of(command) >> 8 & 7) == 3;
    if (asks) cqe[0] |= 1;
    return Answer::send;
  }
};

bool identifies_namespace(const CommandContext& command, MutableBytes data) {
  return identifies(command, nvme::Cns::identify_namespace) && data.size() == nvme::kIdentifySize;
}
void says_less_than_its_controller(const CommandContext& command, MutableBytes data) {
  if (identifies_namespace(command, data)) store_le(data.data() + nvme::id_ns::nacwu.offset, std::uint16_t{1});
}
void says_small_boundaries(const CommandContext& command, MutableBytes data) {
  if (identifies_namespace(command, data)) store_le(data.data() + nvme::id_ns::nabspf.offset, std::uint16_t{3});
}
void begins_beyond(const CommandContext& command, MutableBytes data) {
  if (identifies_namespace(command, data)) store_le(data.data() + nvme::id_ns::nabo.offset, std::uint16_t{5000});
}
/// What a namespace claims for itself is forgotten: the controller's own limit binds.
std::optional<nvme::Status> small_fused_writes(const CommandContext& command) {
  const bool fused = is_io(command, static_cast<std::uint8_t>(nvme::IoOpcode::compare)) && fuse_of(command) == 1;
  if (!fused || load_le<std::uint16_t>(command.sqe.data() + 48) < 4) return {};
  return nvme::sc::atomic_write_unit_exceeded;
}

}  // namespace

DEVIATION(saved_value_is_not_set, "nvme.saved.current", Product::controller, "says success to what is to be saved and does not set it",
          hooks<Answering, &saves_alone>());
DEVIATION(saved_value_reads_as_default, "nvme.saved.read", Product::controller, "reads the default where the saved value is asked for",
          Departs{departure::feature_saved_default});
DEVIATION(saved_value_is_lost, "nvme.saved.reset", Product::controller, "keeps no saved value", Departs{departure::feature_save_lost});
DEVIATION(set_saves, "nvme.saved.set-alone", Product::controller, "saves every value that is set", Departs{departure::feature_save_always});
DEVIATION(set_outlives_resets, "nvme.saved.unsaved", Product::controller, "keeps what was set through resets",
          Departs{departure::reset_keeps_features});
DEVIATION(default_follows_saved, "nvme.saved.default", Product::controller, "changes its defaults when values are saved",
          hooks<DefaultIsSaved>());
DEVIATION(saved_value_of_the_unsaveable, "nvme.saved.not-saveable", Product::controller,
          "has a saved value of its own where nothing can be saved", hooks<SavedIsCurrent>());
DEVIATION(host_behavior_saveable, "nvme.saved.host-behavior", Product::controller, "says that Host Behavior Support can be saved",
          hooks<BehaviorIsSaveable>());
DEVIATION(host_behavior_saved, "nvme.saved.host-behavior", Product::controller, "saves Host Behavior Support", Tolerate{"feature.save"});
DEVIATION(saved_value_ends_with_the_association, "nvme.saved.association", Product::controller, "loses saved values with the association",
          Departs{departure::feature_save_leaves});
DEVIATION(saved_value_ends_with_the_subsystem, "nvme.saved.subsystem-reset", Product::controller,
          "loses saved values with an NVM subsystem reset", Departs{departure::feature_save_leaves});
DEVIATION(timestamp_claimed_alone, "nvme.timestamp.claim", Product::controller, "claims a timestamp that it does not have",
          hooks<Answering, &hides_timestamp>());
DEVIATION(timestamp_in_seconds, "nvme.timestamp.set", Product::controller, "tells seconds", hooks<AlteringDataOut, &tells_seconds>());
DEVIATION(timestamp_stands, "nvme.timestamp.advances", Product::controller, "has a clock that stands", hooks<StandingClock>());
DEVIATION(timestamp_without_origin, "nvme.timestamp.origin", Product::controller, "never says that a host set the timestamp",
          Departs{departure::timestamp_origin});
DEVIATION(timestamp_origin_outlives_resets, "nvme.timestamp.reset", Product::controller,
          "begins anew after a reset and says that a host set it so", hooks<AlteringDataOut, &keeps_the_origin>());
DEVIATION(timestamp_sets_reserved_bits, "nvme.timestamp.reserved", Product::controller, "sets reserved bits",
          hooks<AlteringDataOut, &sets_reserved_bits>());
DEVIATION(namespace_less_atomic, "nvme.limits.atomic", Product::controller, "says less of a namespace than of all",
          hooks<AlteringDataOut, &says_less_than_its_controller>());
DEVIATION(boundary_within_a_write, "nvme.limits.boundary", Product::controller, "says boundaries that are closer than atomic writes",
          hooks<AlteringDataOut, &says_small_boundaries>());
DEVIATION(boundary_begins_beyond, "nvme.limits.boundary", Product::controller, "says an offset beyond the first boundary",
          hooks<AlteringDataOut, &begins_beyond>());
DEVIATION(namespace_limit_torn, "nvme.limits.power-fail", Product::controller, "tears writes within NAWUPF",
          Departs{departure::power_tears});
DEVIATION(namespace_limit_refused, "nvme.limits.compare-write", Product::controller, "refuses fused writes within NACWU",
          hooks<Answering, &small_fused_writes>());

}  // namespace fb::deviations
