// Features field by field, events of health, and details of commands.
#include <algorithm>
#include <optional>

#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/association_fault_points.h"
#include "model/subsystem/controller.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/logs.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
using nvme::FeatureId;
using nvme::IoOpcode;
namespace departure = subsystem::departure;

bool is(const CommandContext& command, AdminOpcode opcode) { return is_admin(command, static_cast<std::uint8_t>(opcode)); }
bool concerns(const CommandContext& command, AdminOpcode opcode, FeatureId id) {
  return is(command, opcode) && (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(id);
}
std::uint32_t cdw11_of(const CommandContext& command) { return load_le<std::uint32_t>(command.sqe.data() + 44); }
bool reads_log(const CommandContext& command, nvme::LogPage page) {
  return is(command, AdminOpcode::get_log_page) && (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(page);
}

/// What was set last of a feature, whichever part of it was meant.
template <FeatureId Id, std::uint32_t Unit>
class LastIsAll final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (concerns(command, AdminOpcode::set_features, Id)) last_ = (cdw11_of(command) & 0xFFFF) / Unit * Unit;
    return {};
  }
  Answer completion(const CommandContext& command, MutableBytes cqe) override {
    if (concerns(command, AdminOpcode::get_features, Id) && last_) store_le(cqe.data(), *last_);
    return Answer::send;
  }

 private:
  std::optional<std::uint32_t> last_;
};

Answer half_a_limit(const CommandContext& command, MutableBytes cqe) {
  if (concerns(command, AdminOpcode::get_features, FeatureId::error_recovery)) cqe[1] = 0;
  return Answer::send;
}
Answer reliability_for_spare(const CommandContext& command, MutableBytes cqe) {
  if (!is(command, AdminOpcode::async_event_request)) return Answer::send;
  if (cqe[0] == 1 && cqe[1] == nvme::event_info::smart_spare) cqe[1] = nvme::event_info::smart_reliability;
  return Answer::send;
}
void hides_protection(const CommandContext& command, MutableBytes data) {
  if (identifies(command, nvme::Cns::identify_namespace)) data[nvme::id_ns::nsattr.offset] = 0;
}
void no_group(const CommandContext& command, MutableBytes data) {
  if (identifies(command, nvme::Cns::independent_namespace)) {
    store_le(data.data() + nvme::id_ns_independent::anagrpid.offset, 0xFFFFu);
  }
}
void uuids_of_controllers(const CommandContext& command, MutableBytes data) {
  if (identifies(command, nvme::Cns::namespace_id_descriptors) && command.controller != nullptr) {
    data[4] ^= static_cast<std::uint8_t>(command.controller->cntlid());
  }
}
void errors_of_no_namespace(const CommandContext& command, MutableBytes data) {
  if (!reads_log(command, nvme::LogPage::error_information)) return;
  for (std::size_t at = 0; at + nvme::ErrorEntry::size <= data.size(); at += nvme::ErrorEntry::size) {
    store_le(data.data() + at + nvme::error_entry::nsid.offset, std::uint32_t{0});
  }
}
void counts_no_errors(const CommandContext& command, MutableBytes data) {
  if (reads_log(command, nvme::LogPage::smart) && data.size() == nvme::SmartLog::size) {
    store_le(data.data() + nvme::smart::neile.offset, std::uint64_t{0});
  }
}
void spare_for_wear(const CommandContext& command, MutableBytes data) {
  if (reads_log(command, nvme::LogPage::smart) && data.size() == nvme::SmartLog::size) {
    data[nvme::smart::pused.offset] = data[nvme::smart::avsp.offset];
  }
}
void reads_are_writes(const CommandContext& command, MutableBytes data) {
  if (reads_log(command, nvme::LogPage::smart) && data.size() == nvme::SmartLog::size) {
    std::copy_n(data.begin() + nvme::smart::hrc.offset, 16, data.begin() + nvme::smart::hwc.offset);
  }
}
void never_cold(const CommandContext& command, MutableBytes data) {
  if (reads_log(command, nvme::LogPage::smart)) data[0] &= ~nvme::smart_warning_bits::temperature & 0xFF;
}

bool guards_writes_alone(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "io.write_protected" || is_io(command, static_cast<std::uint8_t>(IoOpcode::write));
}
bool compares_spoilt_blocks(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "io.uncorrectable" || !is_io(command, static_cast<std::uint8_t>(IoOpcode::compare));
}

/// Has room for one event request, whatever it says.
class OneRequest final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (!is(command, AdminOpcode::async_event_request) || ++requests_ < 2) return {};
    return nvme::sc::async_event_request_limit_exceeded;
  }

 private:
  unsigned requests_ = 0;
};

}  // namespace

DEVIATION(thresholds_are_one, "nvme.features.thresholds-apart", Product::controller, "has one temperature threshold for heat and for cold",
          hooks<LastIsAll<FeatureId::temperature_threshold, 1>>());
DEVIATION(cold_without_warning, "nvme.temperature.cold", Product::controller, "never warns of cold", hooks<AlteringDataOut, &never_cold>());
DEVIATION(keep_alive_cut_to_ten_seconds, "nvme.features.keep-alive-set", Product::controller, "cuts a keep alive timeout that is set",
          hooks<LastIsAll<FeatureId::keep_alive_timer, 10'000>>());
DEVIATION(error_recovery_limit_cut, "nvme.features.kept-whole", Product::controller, "keeps a byte of the error recovery limit",
          hooks<AlteringCompletions, &half_a_limit>());
DEVIATION(write_protection_untold, "nvme.write-protection.attribute", Product::controller,
          "does not say that a namespace is write protected", hooks<AlteringDataOut, &hides_protection>());
DEVIATION(write_protection_of_write_alone, "nvme.write-protection.all-writes", Product::controller, "protects from Write alone",
          hooks<Refusing, &guards_writes_alone>());
DEVIATION(events_after_any_log, "nvme.aer.other-log", Product::controller, "reading any log page lets events through again",
          Departs{departure::event_any_log});
DEVIATION(events_outlive_their_log, "nvme.aer.read-first", Product::controller, "reports events whose log page was read before",
          Departs{departure::event_not_rearmed});
DEVIATION(events_masked_through_resets, "nvme.aer.after-reset", Product::controller,
          "waits through a controller reset for a log page to be read", Departs{departure::event_reset});
DEVIATION(spare_told_as_reliability, "nvme.aer.health-kinds", Product::controller, "announces a low spare as a degraded reliability",
          hooks<AlteringCompletions, &reliability_for_spare>());
DEVIATION(event_requests_refused_early, "nvme.aer.limit", Product::controller, "refuses requests within the limit that it names",
          hooks<OneRequest>());
DEVIATION(errors_without_namespace, "nvme.log.error-namespace", Product::controller, "error log entries name no namespace",
          hooks<AlteringDataOut, &errors_of_no_namespace>());
DEVIATION(health_tells_spare_for_wear, "nvme.log.smart-values", Product::controller, "has Available Spare in Percentage Used",
          hooks<AlteringDataOut, &spare_for_wear>());
DEVIATION(health_counts_no_errors, "nvme.log.error-entries-counted", Product::controller, "the health log counts no error log entries",
          hooks<AlteringDataOut, &counts_no_errors>());
DEVIATION(health_mixes_counters_up, "nvme.log.smart-counts", Product::controller, "Host Write Commands counts what reads",
          hooks<AlteringDataOut, &reads_are_writes>());
DEVIATION(uuid_of_each_controller, "nvme.identify.names-last", Product::controller, "a namespace has another UUID for each controller",
          hooks<AlteringDataOut, &uuids_of_controllers>());
DEVIATION(independent_page_of_another_group, "nvme.identify.independent-namespace", Product::controller,
          "the pages of a namespace name different ANA groups", hooks<AlteringDataOut, &no_group>());
DEVIATION(fused_lengths_differ, "nvme.fused.lengths", Product::controller, "a fused Write may have more blocks than were compared",
          Tolerate{"fused.range"});
DEVIATION(spoilt_blocks_compare, "nvme.compare.unreadable", Product::controller, "compares blocks that cannot be read",
          hooks<Refusing, &compares_spoilt_blocks>());
DEVIATION(traffic_once_is_for_ever, "fabrics.keep-alive.silence", Product::controller, "a command once takes the timer off for ever",
          Departs{departure::traffic_stays});
DEVIATION(queue_one_short, "fabrics.flow-control.capacity", Product::controller, "a queue holds one command less than it should",
          Departs{departure::queue_short});

}  // namespace fb::deviations
