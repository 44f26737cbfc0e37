// Small misbehaviours that show at one limit, with one of many, or in one bit.
#include <map>

#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/controller.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/reservation.h"
#include "wire/nvme/sqe.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
using nvme::FeatureId;
using nvme::IoOpcode;

bool is(const CommandContext& command, AdminOpcode opcode) { return is_admin(command, static_cast<std::uint8_t>(opcode)); }
bool is(const CommandContext& command, IoOpcode opcode) { return is_io(command, static_cast<std::uint8_t>(opcode)); }
std::uint32_t dword_of(const CommandContext& command, std::size_t at) { return load_le<std::uint32_t>(command.sqe.data() + at); }
std::uint32_t cdw11_of(const CommandContext& command) { return dword_of(command, 44); }
std::uint32_t nlb_of(const CommandContext& command) { return (dword_of(command, 48) & 0xFFFF) + 1; }
/// Length in the SGL descriptor.
std::uint32_t length_of(const CommandContext& command) { return dword_of(command, 32); }
bool concerns(const CommandContext& command, AdminOpcode opcode, FeatureId id) {
  return is(command, opcode) && (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(id);
}
bool is_log(const CommandContext& command, nvme::LogPage page) {
  return is(command, AdminOpcode::get_log_page) && (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(page);
}

// ---- commands and ranges ----

bool verifies_one_too_many(const CommandContext& command, Refusal& refusal) {
  return !(refusal.check == "io.lba.range" && is(command, IoOpcode::verify));
}
bool cuts_addresses(const CommandContext& command, Refusal& refusal) {
  return !(refusal.check == "io.lba.range" && slba_of(command) >> 48 != 0);
}
bool copies_from_anywhere(const CommandContext& command, Refusal& refusal) {
  return !(refusal.check == "io.lba.range" && is(command, IoOpcode::copy));
}
bool forgets_marks_far_behind(const CommandContext& command, Refusal& refusal) {
  return !(refusal.check == "io.uncorrectable" && slba_of(command) >= 64);
}
/// 1 MiB in blocks of 512 and of 4,096 bytes.
std::optional<nvme::Status> compares_less(const CommandContext& command) {
  const bool most = nlb_of(command) == 2048 || nlb_of(command) == 256;
  if (!is(command, IoOpcode::compare) || !most) return {};
  return nvme::sc::invalid_field;
}
std::optional<nvme::Status> has_a_fixed_bound(const CommandContext& command) {
  if (!is(command, IoOpcode::write) || nlb_of(command) * std::uint64_t{512} <= 1u << 20) return {};
  return nvme::sc::invalid_field;
}
void forgets_the_last_range(const CommandContext& command, MutableBytes data) {
  const bool many = is(command, IoOpcode::dataset_management) && (cdw10_of(command) & 0xFF) == 255;
  if (many) store_le(data.data() + 255 * nvme::DsmRange::size + nvme::dsm_range::length.offset, std::uint32_t{0});
}
void cuts_range_addresses(const CommandContext& command, MutableBytes data) {
  if (!is(command, IoOpcode::dataset_management)) return;
  for (std::size_t at = 0; at + nvme::DsmRange::size <= data.size(); at += nvme::DsmRange::size) {
    store_le(data.data() + at + nvme::dsm_range::slba.offset + 4, std::uint32_t{0});
  }
}
void cuts_source_addresses(const CommandContext& command, MutableBytes data) {
  if (is(command, IoOpcode::copy) && data.size() >= 16) store_le(data.data() + 12, std::uint32_t{0});
}
/// Compare is not completed where the pair was too long.
Answer forgets_long_compares(const CommandContext& command, MutableBytes cqe) {
  const bool exceeds = (load_le<std::uint16_t>(cqe.data() + 14) >> 1 & 0xFF) == nvme::sc::atomic_write_unit_exceeded.sc();
  return command.qid != 0 && fuse_of(command) == 1 && exceeds ? Answer::withhold : Answer::send;
}
std::optional<nvme::Status> wants_no_more_than_ranges(const CommandContext& command) {
  if (!is(command, IoOpcode::dataset_management)) return {};
  const std::uint32_t ranges = ((cdw10_of(command) & 0xFF) + 1) * nvme::DsmRange::size;
  if ((length_of(command) & 0xFFFFFF) <= ranges) return {};
  return nvme::sc::data_sgl_length_invalid;
}
std::optional<nvme::Status> fuses_less(const CommandContext& command) {
  if (command.qid == 0 || fuse_of(command) == 0 || nlb_of(command) < 128) return {};
  return nvme::sc::atomic_write_unit_exceeded;
}

// ---- features ----

bool knows_vendor_features(const CommandContext&, Refusal& refusal) { return refusal.check != "feature.fid"; }

/// The value that was set last, whatever happened since; of one feature.
class KeepsValue final : public subsystem::SubsystemHooks {
 public:
  /// `everywhere`: for all controllers; else for the saved value too.
  explicit KeepsValue(bool everywhere) : everywhere_(everywhere) {}
  Answer completion(const CommandContext& command, MutableBytes cqe) override {
    if (concerns(command, AdminOpcode::set_features, FeatureId::error_recovery)) {
      (everywhere_ ? any_ : values_[command.controller]) = cdw11_of(command) & 0xFFFF;
    }
    const bool asks = concerns(command, AdminOpcode::get_features, FeatureId::error_recovery) && (cdw10_of(command) >> 8 & 7) == 0;
    const auto known = values_.find(command.controller);
    if (asks && (everywhere_ || known != values_.end())) store_le(cqe.data(), everywhere_ ? any_ : known->second);
    return Answer::send;
  }

 private:
  bool everywhere_;
  std::uint32_t any_ = 0;
  std::map<const subsystem::Controller*, std::uint32_t> values_;  // looked up, never walked
};
/// The saved under temperature threshold is that of heat.
Answer saves_one_threshold(const CommandContext& command, MutableBytes cqe) {
  const bool saved = concerns(command, AdminOpcode::get_features, FeatureId::temperature_threshold) && (cdw10_of(command) >> 8 & 7) == 2 &&
                     (cdw11_of(command) >> 20 & 3) == 1;
  if (saved) store_le(cqe.data(), std::uint32_t{0x157});
  return Answer::send;
}
void forgets_copy_formats(const CommandContext& command, MutableBytes data) {
  if (!concerns(command, AdminOpcode::get_features, FeatureId::host_behavior_support)) return;
  if (data.size() == nvme::HostBehavior::size) store_le(data.data() + nvme::host_behavior::cdfe.offset, std::uint16_t{0});
}
/// Protection of any namespace is told of all.
class ProtectsAll final : public subsystem::SubsystemHooks {
 public:
  Answer completion(const CommandContext& command, MutableBytes cqe) override {
    if (concerns(command, AdminOpcode::set_features, FeatureId::namespace_write_protection)) state_ = cdw11_of(command) & 7;
    if (concerns(command, AdminOpcode::get_features, FeatureId::namespace_write_protection)) store_le(cqe.data(), state_);
    return Answer::send;
  }

 private:
  std::uint32_t state_ = 0;
};

// ---- log pages and lists ----

bool knows_vendor_logs(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "log.lid" || (cdw10_of(command) & 0xFF) < 0xC0;
}
void offsets_are_small(const CommandContext& command, MutableBytes data) {
  if (is_log(command, nvme::LogPage::feature_effects) && dword_of(command, 48) >= 512 && !data.empty()) data[0] ^= 1;
}
void gives_up_early(const CommandContext& command, MutableBytes data) {
  if (!is_log(command, nvme::LogPage::changed_namespaces) || data.size() < 4096) return;
  if (load_le<std::uint32_t>(data.data() + 4092) == 0) return;
  std::fill(data.begin(), data.end(), std::uint8_t{0});
  store_le(data.data(), nvme::kTooManyChangedNamespaces);
}
void begins_with_the_start(const CommandContext& command, MutableBytes data) {
  const std::uint32_t start = dword_of(command, 4);
  if (!identifies(command, nvme::Cns::allocated_namespace_list) || start != 2) return;
  store_le(data.data(), start);
}
void begins_after_the_start(const CommandContext& command, MutableBytes data) {
  const auto start = static_cast<std::uint16_t>(cdw10_of(command) >> 16);
  if (!identifies(command, nvme::Cns::controller_list)) return;
  auto ids = nvme::read_controller_list(data);
  std::erase(ids, start);
  std::fill(data.begin(), data.end(), std::uint8_t{0});
  nvme::write_controller_list(data, ids);
}
void loses_one_between_lists(const CommandContext& command, MutableBytes data) {
  if (identifies(command, nvme::Cns::active_namespace_list)) store_le(data.data() + 4092, std::uint32_t{0});
}
bool knows_the_last_structure(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "identify.cns" || (cdw10_of(command) & 0xFF) != 0xFF;
}

// ---- near misses ----

Answer aborts_by_the_low_byte(const CommandContext& command, MutableBytes cqe) {
  if (is(command, AdminOpcode::abort) && (cdw10_of(command) >> 16 & 0xFF) == 0x2B && (cdw10_of(command) >> 24) != 0x1A) {
    store_le(cqe.data(), std::uint32_t{0});
  }
  return Answer::send;
}
bool releases_with_any_key(const CommandContext& command, Refusal& refusal) {
  return !(refusal.check == "reservation.key" && is(command, IoOpcode::reservation_release) && (cdw10_of(command) & 7) == 0);
}

/// Of the sixteen that it grants.
std::optional<nvme::Status> connects_fifteen_queues(const CommandContext& command) {
  const bool connects =
      opcode_of(command) == nvme::kFabricsOpcode && command.sqe[4] == static_cast<std::uint8_t>(nvme::FabricsType::connect);
  if (!connects || load_le<std::uint16_t>(command.sqe.data() + 42) != 16) return {};
  return nvme::sc::connect_invalid_parameters;
}

// ---- temperature and events ----

/// Equal is not yet too hot.
class NotYetHot final : public subsystem::SubsystemHooks {
 public:
  Answer completion(const CommandContext& command, MutableBytes) override {
    if (concerns(command, AdminOpcode::set_features, FeatureId::temperature_threshold)) last_ = cdw11_of(command) & 0xFFFF;
    return Answer::send;
  }
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!is_log(command, nvme::LogPage::smart) || data.size() < nvme::SmartLog::size) return;
    MutableView<nvme::SmartLog> log{data.first(nvme::SmartLog::size)};
    if (log.get(nvme::smart::ctemp) == last_) {
      log.set(nvme::smart::cw, log.get(nvme::smart::cw) & ~unsigned{nvme::smart_warning_bits::temperature});
    }
  }

 private:
  std::uint32_t last_ = 0;
};
Answer never_tells_of_heat(const CommandContext& command, MutableBytes cqe) {
  const bool heat = is(command, AdminOpcode::async_event_request) && (load_le<std::uint32_t>(cqe.data()) & 0xFFFF) == 0x0101;
  return heat ? Answer::withhold : Answer::send;
}
Answer calls_every_event_a_notice(const CommandContext& command, MutableBytes cqe) {
  const std::uint32_t dw0 = load_le<std::uint32_t>(cqe.data());
  const bool spare = is(command, AdminOpcode::async_event_request) && (dw0 & 7) == 1;
  if (spare) store_le(cqe.data(), (dw0 & ~7u) | 2u);
  return Answer::send;
}

// ---- formats ----

void forgets_the_format(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::identify_namespace) || data.size() < nvme::kIdentifySize) return;
  MutableView<nvme::IdentifyNamespace> ns{data};
  if (ns.get(nvme::id_ns::dps) == 3) ns.set(nvme::id_ns::dps, 1u);
}
bool passes_a_second_guard(const CommandContext& command, Refusal& refusal) {
  return !(refusal.check == "protection.guard" && is(command, IoOpcode::read) && slba_of(command) == 100);
}

bool verifies_no_storage_tag(const CommandContext& command, Refusal& refusal) {
  return !(refusal.check == "protection.storage_tag" && is(command, IoOpcode::verify));
}
bool compares_with_any_reference(const CommandContext& command, Refusal& refusal) {
  return !(refusal.check == "protection.reference_tag" && is(command, IoOpcode::compare));
}

std::optional<nvme::Status> formats_no_type_3(const CommandContext& command) {
  if (!is(command, AdminOpcode::format_nvm) || (cdw10_of(command) >> 5 & 7) != 3) return {};
  return nvme::sc::invalid_format;
}

// ---- beside the first ----

void mixes_slots_up(const CommandContext& command, MutableBytes data) {
  if (!is_log(command, nvme::LogPage::firmware_slot) || data.size() < nvme::FirmwareSlots::size) return;
  const auto slot = data.subspan(nvme::firmware_slots::frs.offset);
  std::copy_n(slot.begin() + 8, 8, slot.begin() + 16);
}
void counts_in_percent(const CommandContext& command, MutableBytes data) {
  if (!is_log(command, nvme::LogPage::sanitize_status) || data.size() < nvme::SanitizeLog::size) return;
  MutableView<nvme::SanitizeLog> log{data.first(nvme::SanitizeLog::size)};
  const std::uint32_t progress = log.get(nvme::sanitize_log::sprog);
  if (progress != nvme::kSanitizeNoProgress) log.set(nvme::sanitize_log::sprog, progress * 100 / 65536);
}
void logs_short_addresses(const CommandContext& command, MutableBytes data) {
  if (!is_log(command, nvme::LogPage::error_information)) return;
  for (std::size_t at = 0; at + nvme::ErrorEntry::size <= data.size(); at += nvme::ErrorEntry::size) {
    store_le(data.data() + at + nvme::error_entry::lba.offset + 4, std::uint32_t{0});
  }
}
Answer tells_the_first_controller(const CommandContext& command, MutableBytes) {
  const bool other = is(command, AdminOpcode::async_event_request) && command.controller != nullptr && command.controller->cntlid() > 1;
  return other ? Answer::withhold : Answer::send;
}
void has_one_state_everywhere(const CommandContext& command, MutableBytes data) {
  if (!is_log(command, nvme::LogPage::ana) || data.size() < nvme::AnaHeader::size) return;
  const unsigned groups = load_le<std::uint16_t>(data.data() + nvme::ana_header::nagd.offset);
  std::size_t at = nvme::AnaHeader::size;
  for (unsigned i = 0; i < groups && at + nvme::AnaGroupHeader::size <= data.size(); ++i) {
    data[at + nvme::ana_group::state.offset] = static_cast<std::uint8_t>(nvme::AnaState::optimized);
    at += nvme::AnaGroupHeader::size + 4 * std::size_t{load_le<std::uint32_t>(data.data() + at + nvme::ana_group::nnv.offset)};
  }
}
void forgets_the_third(const CommandContext& command, MutableBytes data) {
  if (is(command, AdminOpcode::namespace_attachment) && load_le<std::uint16_t>(data.data()) > 2) store_le(data.data(), std::uint16_t{2});
}
void has_64_records(const CommandContext& command, MutableBytes data) {
  constexpr std::uint64_t kEnd = 65 * 1024;
  const std::uint64_t offset = dword_of(command, 48);
  if (!is_log(command, nvme::LogPage::discovery) || offset + data.size() <= kEnd) return;
  const std::size_t kept = offset >= kEnd ? 0 : static_cast<std::size_t>(kEnd - offset);
  std::fill(data.begin() + static_cast<std::ptrdiff_t>(kept), data.end(), std::uint8_t{0});
}
void counts_no_generations(const CommandContext& command, MutableBytes data) {
  if (is_log(command, nvme::LogPage::discovery) && dword_of(command, 48) == 0 && data.size() >= 8) store_le(data.data(), std::uint64_t{7});
}

}  // namespace

DEVIATION(verify_one_block_too_many, "nvme.range.boundary", Product::controller, "takes a Verify beyond the last block",
          hooks<Refusing, &verifies_one_too_many>());
DEVIATION(addresses_of_48_bits, "nvme.range.upper-bits", Product::controller, "ignores the upper 16 bits of SLBA",
          hooks<Refusing, &cuts_addresses>());
DEVIATION(copy_sources_unchecked, "nvme.range.descriptor-bits", Product::controller, "takes any source and destination of Copy",
          hooks<Refusing, &copies_from_anywhere>());
DEVIATION(dataset_ranges_of_32_bits, "nvme.range.no-alias", Product::controller, "cuts SLBA of Dataset Management ranges to 32 bits",
          hooks<AlteringDataIn, &cuts_range_addresses>());
DEVIATION(copy_sources_of_32_bits, "nvme.range.no-alias", Product::controller, "cuts SLBA of the first source range of Copy to 32 bits",
          hooks<AlteringDataIn, &cuts_source_addresses>());
DEVIATION(marks_of_few_blocks, "nvme.write-uncorrectable.extent", Product::controller, "marks no blocks beyond block 63",
          hooks<Refusing, &forgets_marks_far_behind>());
DEVIATION(marks_outlast_writes, "nvme.write-uncorrectable.rewritten", Product::controller, "keeps the marks of blocks that are written",
          Departs{"sub.io.uncorrectable.stays"});
DEVIATION(compare_below_mdts, "nvme.transfer.mdts-every", Product::controller, "refuses a Compare of exactly MDTS",
          hooks<Answering, &compares_less>());
DEVIATION(fixed_transfer_bound, "nvme.transfer.unlimited", Product::controller, "refuses 2 MiB though MDTS is 0",
          hooks<Answering, &has_a_fixed_bound>());
DEVIATION(last_range_kept, "nvme.deallocate.every-range", Product::controller, "ignores the last of 256 ranges",
          hooks<AlteringDataIn, &forgets_the_last_range>());
DEVIATION(long_range_data_refused, "nvme.deallocate.number", Product::controller, "refuses more data than its ranges have",
          hooks<Answering, &wants_no_more_than_ranges>());
DEVIATION(fused_pairs_below_the_limit, "nvme.fused.limit", Product::controller, "refuses a fused pair of ACWU + 1 blocks",
          hooks<Answering, &fuses_less>());
DEVIATION(long_fused_compare_forgotten, "nvme.fused.above-limit", Product::controller,
          "does not complete the Compare of a fused pair that is too long", hooks<AlteringCompletions, &forgets_long_compares>());
DEVIATION(vendor_features_unlisted, "nvme.features.every-identifier", Product::controller, "answers for features that it does not list",
          hooks<Refusing, &knows_vendor_features>());
DEVIATION(one_saved_threshold, "nvme.saved.every", Product::controller, "saves one of two temperature thresholds",
          hooks<AlteringCompletions, &saves_one_threshold>());
DEVIATION(feature_outlives_resets, "nvme.features.every-reset", Product::controller, "keeps Error Recovery through a reset",
          hooks<KeepsValue, false>());
DEVIATION(host_behavior_without_copies, "nvme.features.host-behavior", Product::controller, "returns CDFE 0 whatever was set",
          hooks<AlteringDataOut, &forgets_copy_formats>());
DEVIATION(feature_of_all_controllers, "nvme.features.every-controller", Product::controller, "has one Error Recovery for all controllers",
          hooks<KeepsValue, true>());
DEVIATION(protection_of_all_namespaces, "nvme.write-protection.each", Product::controller,
          "tells the protection of one namespace for every other", hooks<ProtectsAll>());
DEVIATION(vendor_logs_unlisted, "nvme.log.every-identifier", Product::controller, "answers log pages from C0h on that it does not list",
          hooks<Refusing, &knows_vendor_logs>());
DEVIATION(far_pieces_of_a_log_differ, "nvme.log.every-piece", Product::controller, "corrupts a log page beyond an offset of 512",
          hooks<AlteringDataOut, &offsets_are_small>());
DEVIATION(logs_above_mdts, "nvme.log.mdts", Product::controller, "takes Get Log Page above MDTS", Tolerate{"log.length"});
DEVIATION(changed_list_full_too_early, "nvme.log.changed-namespaces-full", Product::controller,
          "has FFFFFFFFh in the changed list of exactly 1,024 namespaces", hooks<AlteringDataOut, &gives_up_early>());
DEVIATION(allocated_list_with_its_start, "nvme.identify.list-starts", Product::controller, "includes NSID in the allocated list",
          hooks<AlteringDataOut, &begins_with_the_start>());
DEVIATION(controller_list_after_its_start, "nvme.identify.controller-list-starts", Product::controller,
          "leaves CNTID out of the controller list", hooks<AlteringDataOut, &begins_after_the_start>());
DEVIATION(long_list_cut, "nvme.identify.long-list", Product::controller, "has 1,023 identifiers in a full list",
          hooks<AlteringDataOut, &loses_one_between_lists>());
DEVIATION(last_structure_known, "nvme.identify.every-reserved", Product::controller, "answers CNS FFh",
          hooks<Refusing, &knows_the_last_structure>());
DEVIATION(abort_by_low_byte, "nvme.abort.every-bit", Product::controller, "compares the low byte of a command identifier alone",
          hooks<AlteringCompletions, &aborts_by_the_low_byte>());
DEVIATION(release_with_any_key, "nvme.reservation.every-key-byte", Product::controller, "compares no key in Release",
          hooks<Refusing, &releases_with_any_key>());
DEVIATION(equal_is_below_the_threshold, "nvme.temperature.equal", Product::controller,
          "does not warn at a temperature equal to its threshold", hooks<NotYetHot>());
DEVIATION(equal_heat_is_not_announced, "nvme.temperature.event-equal", Product::controller, "sends no event of a temperature",
          hooks<AlteringCompletions, &never_tells_of_heat>());
DEVIATION(health_told_as_notice, "nvme.aer.every-type", Product::controller, "sends health events with the type of a notice",
          hooks<AlteringCompletions, &calls_every_event_a_notice>());
DEVIATION(type_3_told_as_1, "nvme.formats.every", Product::controller, "identifies protection type 3 as type 1",
          hooks<AlteringDataOut, &forgets_the_format>());
DEVIATION(guard_unchecked_at_100, "nvme.protection.every", Product::controller, "checks no guard when a Read starts at block 100",
          hooks<Refusing, &passes_a_second_guard>());
DEVIATION(storage_tag_not_verified, "nvme.protection.every", Product::controller, "checks no storage tag in Verify",
          hooks<Refusing, &verifies_no_storage_tag>());
DEVIATION(reference_tag_not_compared, "nvme.protection.every", Product::controller, "checks no reference tag in Compare",
          hooks<Refusing, &compares_with_any_reference>());

DEVIATION(subnqn_compared_in_part, "fabrics.connect.subnqn.near", Product::controller, "takes every SUBNQN for its own",
          Tolerate{"connect.subnqn.known"});
DEVIATION(hostnqn_compared_in_part, "fabrics.connect.hostnqn.near", Product::controller, "takes every HOSTNQN for an allowed one",
          Tolerate{"connect.host.allowed"});
DEVIATION(io_hostid_compared_in_part, "fabrics.connect.io-near", Product::controller, "compares no HOSTID in Connect of an I/O queue",
          Tolerate{"connect.io.hostid"});
DEVIATION(last_queue_refused, "fabrics.connect.qid.every", Product::controller, "refuses the last I/O queue that it granted",
          hooks<Answering, &connects_fifteen_queues>());

DEVIATION(type_3_not_formatted, "nvme.format.every", Product::controller, "formats no namespace with protection type 3",
          hooks<Answering, &formats_no_type_3>());
DEVIATION(slot_3_told_as_2, "nvme.firmware.every-slot", Product::controller, "tells the revision of slot 2 for slot 3",
          hooks<AlteringDataOut, &mixes_slots_up>());
DEVIATION(sanitize_percent, "nvme.sanitize.log.progress-unit", Product::controller, "counts SPROG in percent",
          hooks<AlteringDataOut, &counts_in_percent>());
DEVIATION(error_lba_of_32_bits, "nvme.log.error-every", Product::controller, "logs the lower half of an LBA",
          hooks<AlteringDataOut, &logs_short_addresses>());
DEVIATION(events_for_one_controller, "nvme.aer.every-controller", Product::controller, "sends events to its first controller alone",
          hooks<AlteringCompletions, &tells_the_first_controller>());
DEVIATION(ana_log_of_one_state, "nvme.ana.every-port", Product::controller, "tells every group as optimized",
          hooks<AlteringDataOut, &has_one_state_everywhere>());
DEVIATION(third_controller_not_attached, "nvme.namespace.attach.every", Product::controller, "attaches two controllers of a longer list",
          hooks<AlteringDataIn, &forgets_the_third>());
DEVIATION(discovery_of_64_records, "fabrics.discovery.many", Product::controller, "has 64 records in its discovery log",
          hooks<AlteringDataOut, &has_64_records>());
DEVIATION(discovery_generation_stands, "fabrics.discovery.genctr-every", Product::controller, "never changes GENCTR",
          hooks<AlteringDataOut, &counts_no_generations>());

}  // namespace fb::deviations
