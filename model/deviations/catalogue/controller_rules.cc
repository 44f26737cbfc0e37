// Controllers that are wrong in small ways: completions, namespaces and ranges of the less usual commands, logs that say
// what is not.
#include <algorithm>
#include <map>
#include <utility>

#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/sqe.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
using nvme::IoOpcode;

constexpr std::uint8_t code(IoOpcode opcode) { return static_cast<std::uint8_t>(opcode); }
bool is(const CommandContext& command, AdminOpcode opcode) { return is_admin(command, static_cast<std::uint8_t>(opcode)); }
bool is_log(const CommandContext& command, nvme::LogPage page) {
  return is(command, AdminOpcode::get_log_page) && (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(page);
}
std::uint32_t nsid_of(const CommandContext& command) { return load_le<std::uint32_t>(command.sqe.data() + 4); }
View<nvme::ReadWriteSqe> transfer_of(const CommandContext& command) { return View<nvme::ReadWriteSqe>{command.sqe}; }

// ---- completions ----

Answer success_final(const CommandContext& command, MutableBytes cqe) {
  MutableView<nvme::CqeLayout> entry{cqe};
  const nvme::Status status = entry.get(nvme::cqe::status);
  if (identifies(command, nvme::Cns::controller) && status.ok()) entry.set(nvme::cqe::status, status.with_dnr());
  return Answer::send;
}
Answer success_delayed(const CommandContext& command, MutableBytes cqe) {
  MutableView<nvme::CqeLayout> entry{cqe};
  const nvme::Status status = entry.get(nvme::cqe::status);
  if (is(command, AdminOpcode::get_features) && status.ok()) entry.set(nvme::cqe::status, status.with_crd(1));
  return Answer::send;
}
Answer more_queues_than_granted(const CommandContext& command, MutableBytes cqe) {
  constexpr auto kQueues = static_cast<std::uint32_t>(nvme::FeatureId::number_of_queues);
  const bool ours = is(command, AdminOpcode::get_features) && (cdw10_of(command) & 0xFF) == kQueues;
  if (ours) store_le(cqe.data(), load_le<std::uint32_t>(cqe.data()) + 1);
  return Answer::send;
}
Answer keeps_heat_to_itself(const CommandContext& command, MutableBytes cqe) {
  const auto event = nvme::Event::from_dw0(load_le<std::uint32_t>(cqe.data()));
  const bool ours = is(command, AdminOpcode::async_event_request) && event.type == nvme::EventType::smart;
  return ours ? Answer::withhold : Answer::send;
}

// ---- data of Identify and of logs ----

void other_nguid(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::namespace_id_descriptors)) return;
  for (std::size_t at = 0; at + 20 < data.size() && data[at + 1] != 0; at += 4u + data[at + 1]) {
    if (data[at] == static_cast<std::uint8_t>(nvme::NamespaceIdType::nguid)) data[at + 19] ^= 0x55;
  }
}
void uuid_as_nguid(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::namespace_id_descriptors)) return;
  for (std::size_t at = 0; at + 20 < data.size() && data[at + 1] != 0; at += 4u + data[at + 1]) {
    if (data[at] != static_cast<std::uint8_t>(nvme::NamespaceIdType::uuid)) continue;
    data[at] = static_cast<std::uint8_t>(nvme::NamespaceIdType::nguid);
  }
}
void never_warns_of_heat(const CommandContext& command, MutableBytes data) {
  if (is_log(command, nvme::LogPage::smart) && !data.empty()) {
    data[nvme::smart::cw.offset] &= static_cast<std::uint8_t>(~unsigned{nvme::smart_warning_bits::temperature});
  }
}
template <class Change>
void change_errors(const CommandContext& command, MutableBytes data, Change&& change) {
  if (!is_log(command, nvme::LogPage::error_information)) return;
  for (std::size_t at = 0; at + nvme::ErrorEntry::size <= data.size(); at += nvme::ErrorEntry::size) {
    MutableView<nvme::ErrorEntry> entry{data.subspan(at, nvme::ErrorEntry::size)};
    if (entry.get(nvme::error_entry::error_count) != 0) change(entry);
  }
}
void one_error_count(const CommandContext& command, MutableBytes data) {
  change_errors(command, data, [](auto& entry) { entry.set(nvme::error_entry::error_count, 1u); });
}
void errors_of_admin_queue(const CommandContext& command, MutableBytes data) {
  change_errors(command, data, [](auto& entry) { entry.set(nvme::error_entry::sqid, 0u); });
}
void counters_stand(const CommandContext& command, MutableBytes data) {
  if (!is_log(command, nvme::LogPage::smart) || data.size() < nvme::SmartLog::size) return;
  store_le<std::uint64_t>(data.data() + nvme::smart::hrc.offset, 7);
  store_le<std::uint64_t>(data.data() + nvme::smart::hwc.offset, 7);
}
void units_of_blocks(const CommandContext& command, MutableBytes data) {
  if (!is_log(command, nvme::LogPage::smart) || data.size() < nvme::SmartLog::size) return;
  for (const std::size_t at : {nvme::smart::dur.offset, nvme::smart::duw.offset}) {
    store_le<std::uint64_t>(data.data() + at, load_le<std::uint64_t>(data.data() + at) * 1000);
  }
}
class CountsDown final : public subsystem::SubsystemHooks {
 public:
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!is_log(command, nvme::LogPage::smart) || data.size() < nvme::SmartLog::size) return;
    store_le<std::uint64_t>(data.data() + nvme::smart::hwc.offset, left_--);
  }

 private:
  std::uint64_t left_ = 1'000'000;
};
bool offset_has_32_bits(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "log.offset" || load_le<std::uint32_t>(command.sqe.data() + 52) == 0;
}

// ---- namespaces and ranges ----

template <IoOpcode Opcode>
bool namespace_unchecked(const CommandContext& command, Refusal& refusal) {
  return !refusal.check.starts_with("io.nsid") || !is_io(command, code(Opcode));
}
template <IoOpcode Opcode>
bool end_unchecked(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "io.lba.range" || !is_io(command, code(Opcode));
}
bool wrap_unchecked(const CommandContext& command, Refusal& refusal) {
  const bool far = slba_of(command) >= std::uint64_t{1} << 63;
  return refusal.check != "io.lba.range" || !is_io(command, code(IoOpcode::write)) || !far;
}
bool first_is_invalid(const CommandContext& command, Refusal& refusal) {
  if (nsid_of(command) == 1 && refusal.check == "io.nsid.inactive") refusal.status = nvme::sc::invalid_namespace_or_format;
  return true;
}
/// I/O commands to a namespace that is not there are not answered.
class LosesOrphans final : public subsystem::SubsystemHooks {
 public:
  bool refuses(const CommandContext& command, Refusal& refusal) override {
    orphan_ = command.qid != 0 && refusal.check.starts_with("io.nsid");
    return true;
  }
  Answer completion(const CommandContext&, MutableBytes) override {
    return std::exchange(orphan_, false) ? Answer::withhold : Answer::send;
  }

 private:
  bool orphan_ = false;
};
bool second_namespace_unbounded(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "io.lba.range" || nsid_of(command) != 2;
}
std::optional<nvme::Status> second_namespace_short(const CommandContext& command) {
  if (!is_io(command, code(IoOpcode::read)) || nsid_of(command) != 2 || command.controller == nullptr) return {};
  const subsystem::Namespace* const ns = command.controller->subsystem().find_namespace(2);
  if (ns == nullptr || slba_of(command) + 1 != ns->blocks()) return {};
  return nvme::sc::lba_out_of_range;
}

/// Of 1 MiB, in blocks of 512 bytes: as the emulated product has it.
constexpr std::uint64_t kMdtsBlocks = 2048;
std::optional<nvme::Status> writes_above_mdts(const CommandContext& command) {
  if (!is_io(command, code(IoOpcode::write)) || transfer_of(command).get(nvme::rw_sqe::nlb).count() <= kMdtsBlocks) return {};
  return nvme::sc::success;
}
/// Every namespace identifier that is no namespace means the first one.
class IdentifiesAnything final : public subsystem::SubsystemHooks {
 public:
  bool refuses(const CommandContext&, Refusal& refusal) override { return refusal.check != "identify.nsid"; }
  bool departs(std::string_view point) override { return point == "sub.identify.inactive"; }
};

// ---- Write Zeroes, Dataset Management, hints ----

std::optional<nvme::Status> largest_count_is_none(const CommandContext& command) {
  const bool ours = is_io(command, code(IoOpcode::write_zeroes)) && transfer_of(command).get(nvme::rw_sqe::nlb).raw() == 0xFFFF;
  if (!ours) return {};
  return nvme::sc::success;
}
std::optional<nvme::Status> deac_is_nothing(const CommandContext& command) {
  if (!is_io(command, code(IoOpcode::write_zeroes)) || !transfer_of(command).get(nvme::rw_sqe::deac)) return {};
  return nvme::sc::success;
}
std::optional<nvme::Status> no_limited_retry(const CommandContext& command) {
  const bool moves = is_io(command, code(IoOpcode::read)) || is_io(command, code(IoOpcode::write));
  if (!moves || !transfer_of(command).get(nvme::rw_sqe::lr)) return {};
  return nvme::sc::invalid_field;
}
std::optional<nvme::Status> no_force_unit_access(const CommandContext& command) {
  const bool moves = is_io(command, code(IoOpcode::read)) || is_io(command, code(IoOpcode::write));
  if (!moves || !transfer_of(command).get(nvme::rw_sqe::fua)) return {};
  return nvme::sc::invalid_field;
}
void hints_deallocate(const CommandContext& command, MutableBytes data) {
  const bool ours = is_io(command, code(IoOpcode::dataset_management)) && data.size() >= nvme::DsmRange::size;
  if (!ours || command.controller == nullptr) return;
  subsystem::Namespace* const ns = command.controller->subsystem().find_namespace(nsid_of(command));
  const View<nvme::DsmRange> range{ByteView{data}.first(nvme::DsmRange::size)};
  const std::uint64_t slba = range.get(nvme::dsm_range::slba);
  const std::uint32_t length = range.get(nvme::dsm_range::length);
  if (ns != nullptr && length != 0 && ns->in_range(slba, length)) (void)ns->deallocate(slba, length);
}
void empty_range_is_long(const CommandContext& command, MutableBytes data) {
  const bool ours = is_io(command, code(IoOpcode::dataset_management)) && data.size() >= nvme::DsmRange::size;
  if (ours && load_le<std::uint32_t>(data.data() + 4) == 0) store_le<std::uint32_t>(data.data() + 4, 64);
}

// ---- what differs from controller to controller ----

void names_of_controllers(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::identify_namespace) || command.controller == nullptr) return;
  data[nvme::id_ns::nguid.offset] ^= static_cast<std::uint8_t>(command.controller->cntlid());
}
class SerialsCount final : public subsystem::SubsystemHooks {
 public:
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!identifies(command, nvme::Cns::controller)) return;
    data[nvme::id_ctrl::sn.offset] = static_cast<std::uint8_t>('A' + count_++ % 26);
  }

 private:
  unsigned count_ = 0;
};
void more_namespaces_than_nn(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::controller)) return;
  const auto nn = load_le<std::uint32_t>(data.data() + nvme::id_ctrl::nn.offset);
  store_le(data.data() + nvme::id_ctrl::mnan.offset, nn + 1);
}
void power_fail_above_normal(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::controller)) return;
  store_le<std::uint16_t>(data.data() + nvme::id_ctrl::awun.offset, 0);
  store_le<std::uint16_t>(data.data() + nvme::id_ctrl::awupf.offset, 7);
}
/// Asynchronous Event Configuration is one value for all controllers.
class SharesEvents final : public subsystem::SubsystemHooks {
 public:
  Answer completion(const CommandContext& command, MutableBytes cqe) override {
    constexpr auto kEvents = static_cast<std::uint32_t>(nvme::FeatureId::async_event_configuration);
    if (command.qid != 0 || (cdw10_of(command) & 0xFF) != kEvents) return Answer::send;
    if (is(command, AdminOpcode::set_features)) shared_ = load_le<std::uint32_t>(command.sqe.data() + 44);
    if (is(command, AdminOpcode::get_features) && shared_) store_le(cqe.data(), *shared_);
    return Answer::send;
  }

 private:
  std::optional<std::uint32_t> shared_;
};
/// A controller reads from its cache what was there when it read first.
class ControllersHaveCaches final : public subsystem::SubsystemHooks {
 public:
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!is_io(command, code(IoOpcode::read)) || command.controller == nullptr) return;
    const auto [at, fresh] = caches_.try_emplace({command.controller->cntlid(), slba_of(command)}, data.begin(), data.end());
    if (!fresh && at->second.size() == data.size()) std::copy(at->second.begin(), at->second.end(), data.begin());
  }
  void data_in(const CommandContext& command, MutableBytes) override {
    if (!is_io(command, code(IoOpcode::write)) || command.controller == nullptr) return;
    caches_.erase({command.controller->cntlid(), slba_of(command)});
  }

 private:
  std::map<std::pair<std::uint16_t, std::uint64_t>, Bytes> caches_;
};

// ---- Verify and Write Uncorrectable ----

bool verifies_anything(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "io.uncorrectable" || !is_io(command, code(IoOpcode::verify));
}
class VerifiesNothing final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (!is_io(command, code(IoOpcode::verify))) return {};
    return nvme::sc::unrecovered_read_error;
  }
};
class SpoilsOneMore final : public subsystem::SubsystemHooks {
 public:
  Answer completion(const CommandContext& command, MutableBytes cqe) override {
    const bool fine = View<nvme::CqeLayout>{cqe}.get(nvme::cqe::status).ok();
    if (!fine || !is_io(command, code(IoOpcode::write_uncorrectable)) || command.controller == nullptr) return Answer::send;
    subsystem::Namespace* const ns = command.controller->subsystem().find_namespace(nsid_of(command));
    const std::uint64_t end = slba_of(command) + transfer_of(command).get(nvme::rw_sqe::nlb).count();
    if (ns != nullptr && ns->in_range(end, 1)) ns->write_uncorrectable(end, 1);
    return Answer::send;
  }
};

}  // namespace

DEVIATION(errors_never_permanent, "nvme.status.permanent", Product::controller, "DNR is never set", Departs{"sub.cqe.dnr"});
DEVIATION(success_with_dnr, "nvme.status.success", Product::controller, "DNR is set in a success",
          hooks<AlteringCompletions, &success_final>());
DEVIATION(success_with_delay, "nvme.status.success", Product::controller, "CRD is 1 in a success",
          hooks<AlteringCompletions, &success_delayed>());
DEVIATION(abort_knows_one_queue, "nvme.abort.queue", Product::controller, "Abort looks on the admin queue whatever it is told",
          Departs{"sub.abort.queue"});
DEVIATION(unused_namespace_taken, "nvme.nsid.unused", Product::controller, "takes a namespace in commands that have none",
          Tolerate{"command.nsid.unused"});
DEVIATION(event_requests_answered_at_once, "nvme.aer.waits", Product::controller, "event requests complete without an event",
          Departs{"sub.aer.at_once"});
DEVIATION(events_lost_without_request, "nvme.aer.kept", Product::controller, "an event without a request is lost",
          Departs{"sub.event.lost"});
DEVIATION(events_name_the_next_log, "nvme.aer.namespace-changed", Product::controller, "events name the log page behind theirs",
          Departs{"sub.aer.log_page"});
DEVIATION(controllers_all_administrative, "nvme.identify.controller-type", Product::controller,
          "an I/O controller says that it is an administrative one", Departs{"sub.identify.cntrltype"});
DEVIATION(namespaces_above_nn, "nvme.identify.namespace-count", Product::controller, "NN is below an active NSID",
          Departs{"sub.identify.nn"});
DEVIATION(descriptor_of_another_nguid, "nvme.identify.names-agree", Product::controller,
          "the descriptor of the NGUID differs from Identify Namespace", hooks<AlteringDataOut, &other_nguid>());
DEVIATION(descriptors_of_one_type, "nvme.identify.names-agree", Product::controller, "two descriptors say that they are the NGUID",
          hooks<AlteringDataOut, &uuid_as_nguid>());
DEVIATION(heat_without_warning, "nvme.temperature.warning", Product::controller, "the critical warning says nothing of the temperature",
          hooks<AlteringDataOut, &never_warns_of_heat>());
DEVIATION(heat_is_not_announced, "nvme.temperature.event", Product::controller, "no event tells of the temperature",
          hooks<AlteringCompletions, &keeps_heat_to_itself>());

DEVIATION(log_offset_of_single_bytes, "nvme.log.offset-dword", Product::controller, "log pages are read from any byte on",
          Tolerate{"log.offset.dword"});
DEVIATION(log_offset_of_32_bits, "nvme.log.offset-upper", Product::controller, "the upper half of a log page offset is ignored",
          hooks<Refusing, &offset_has_32_bits>());
DEVIATION(error_log_begins_with_the_oldest, "nvme.log.error-order", Product::controller, "the error log begins with the oldest entry",
          Departs{"sub.log.error.order"});
DEVIATION(error_counts_stand, "nvme.log.error-order", Product::controller, "all errors have one count",
          hooks<AlteringDataOut, &one_error_count>());
DEVIATION(errors_all_of_the_admin_queue, "nvme.log.error-queue", Product::controller, "error log entries carry SQID 0",
          hooks<AlteringDataOut, &errors_of_admin_queue>());
DEVIATION(health_counts_down, "nvme.log.smart-monotonic", Product::controller, "Host Write Commands count down", hooks<CountsDown>());
DEVIATION(health_counts_nothing, "nvme.log.smart-counts", Product::controller, "Host Read and Write Commands stand",
          hooks<AlteringDataOut, &counters_stand>());
DEVIATION(health_counts_blocks, "nvme.log.smart-counts", Product::controller, "data units are blocks, not thousands of them",
          hooks<AlteringDataOut, &units_of_blocks>());

DEVIATION(features_set_without_effect, "nvme.features.takes-effect", Product::controller, "Set Features succeeds without effect",
          Departs{"sub.feature.not_kept"});
DEVIATION(default_is_the_current_value, "nvme.features.default", Product::controller, "the default value of a feature is its current one",
          Departs{"sub.feature.default"});
DEVIATION(selections_of_any_kind, "nvme.features.select-reserved", Product::controller, "a reserved SEL is taken",
          Tolerate{"feature.select"});

DEVIATION(writes_to_missing_namespaces, "nvme.namespace.invalid-commands", Product::controller, "Write does not look at its namespace",
          hooks<Refusing, &namespace_unchecked<IoOpcode::write>>());
DEVIATION(flushes_of_missing_namespaces, "nvme.namespace.invalid-commands", Product::controller, "Flush does not look at its namespace",
          hooks<Refusing, &namespace_unchecked<IoOpcode::flush>>());
DEVIATION(deallocates_missing_namespaces, "nvme.namespace.invalid-commands", Product::controller,
          "Dataset Management does not look at its namespace", hooks<Refusing, &namespace_unchecked<IoOpcode::dataset_management>>());
DEVIATION(io_to_all_namespaces, "nvme.namespace.broadcast", Product::controller, "I/O to all namespaces goes to the first",
          Tolerate{"io.nsid.broadcast"});
DEVIATION(second_namespace_without_end, "nvme.namespace.each-size", Product::controller, "the second namespace has no end",
          hooks<Refusing, &second_namespace_unbounded>());
DEVIATION(second_namespace_ends_early, "nvme.namespace.each-size", Product::controller,
          "the last block of the second namespace cannot be read", hooks<Answering, &second_namespace_short>());
DEVIATION(write_wraps_around, "nvme.write.range-overflow", Product::controller, "a range of a Write that wraps around passes",
          hooks<Refusing, &wrap_unchecked>());
DEVIATION(compare_past_the_end, "nvme.compare.out-of-range", Product::controller, "Compare beyond the end succeeds",
          hooks<Refusing, &end_unchecked<IoOpcode::compare>>());
DEVIATION(write_zeroes_past_the_end, "nvme.write-zeroes.out-of-range", Product::controller, "Write Zeroes beyond the end succeeds",
          hooks<Refusing, &end_unchecked<IoOpcode::write_zeroes>>());
DEVIATION(write_uncorrectable_past_the_end, "nvme.write-uncorrectable.out-of-range", Product::controller,
          "Write Uncorrectable beyond the end succeeds", hooks<Refusing, &end_unchecked<IoOpcode::write_uncorrectable>>());
DEVIATION(write_zeroes_of_all_is_none, "nvme.write-zeroes.largest", Product::controller, "a Write Zeroes of 65,536 blocks is one of none",
          hooks<Answering, &largest_count_is_none>());
DEVIATION(deallocating_zeroes_do_nothing, "nvme.write-zeroes.deallocated", Product::controller, "Write Zeroes with DEAC leaves the blocks",
          hooks<Answering, &deac_is_nothing>());
DEVIATION(dataset_hints_deallocate, "nvme.dataset.hints", Product::controller, "Dataset Management deallocates whatever its attributes",
          hooks<AlteringDataIn, &hints_deallocate>());
DEVIATION(empty_range_takes_64_blocks, "nvme.dataset.empty-range", Product::controller,
          "an empty range of Dataset Management takes 64 blocks", hooks<AlteringDataIn, &empty_range_is_long>());
DEVIATION(limited_retry_refused, "nvme.read.hints", Product::controller, "limited retry is refused", hooks<Answering, &no_limited_retry>());
DEVIATION(fuse_reserved_taken, "nvme.fused.reserved", Product::controller, "FUSE 11b is taken for 00b", Tolerate{"command.fuse.reserved"});
DEVIATION(psdt_reserved_taken, "nvme.psdt.reserved", Product::controller, "PSDT is not looked at", Tolerate{"command.psdt"});
DEVIATION(fused_halves_apart, "nvme.fused.lone-first", Product::controller, "waits for the second half behind other commands",
          Departs{"sub.io.fused.adjacent"});
DEVIATION(reads_end_early, "nvme.write.read-back", Product::controller, "the last block of a read is not sent", Departs{"sub.io.short"});

DEVIATION(identify_of_anything, "nvme.identify.namespace-invalid", Product::controller, "Identify Namespace of 0 shows the first namespace",
          hooks<IdentifiesAnything>());
DEVIATION(descriptors_of_inactive_namespaces, "nvme.identify.descriptors-inactive", Product::controller,
          "an inactive namespace has the names of another", Departs{"sub.identify.inactive"});
DEVIATION(descriptors_without_any, "nvme.identify.descriptors-inactive", Product::controller,
          "an inactive namespace has a list of no names", Tolerate{"identify.nsid.inactive"});
DEVIATION(identify_of_all_without_management, "nvme.identify.namespace-broadcast", Product::controller,
          "Identify of all namespaces succeeds with zeroes", Tolerate{"identify.nsid.broadcast"});
DEVIATION(fused_admin_commands_taken, "nvme.fused.admin", Product::controller, "FUSE is not looked at in Admin commands",
          Tolerate{"admin.fuse"});
DEVIATION(number_of_queues_reads_higher, "nvme.features.number-of-queues-get", Product::controller,
          "Get Features reads one queue more than was granted", hooks<AlteringCompletions, &more_queues_than_granted>());
DEVIATION(power_states_of_any_number, "nvme.features.power-state", Product::controller, "power states above NPSS are taken",
          Tolerate{"feature.power_state"});
DEVIATION(thresholds_of_any_kind, "nvme.features.temperature-reserved", Product::controller, "reserved temperature thresholds are taken",
          Tolerate{"feature.temperature"});
DEVIATION(namespace_features_without_one, "nvme.features.namespace", Product::controller, "features of namespaces are set for none",
          Tolerate{"feature.nsid"});
DEVIATION(write_protection_of_any_kind, "nvme.features.write-protection-reserved", Product::controller,
          "reserved states of write protection are taken", Tolerate{"feature.write_protect"});
DEVIATION(force_unit_access_refused, "nvme.read.fua", Product::controller, "FUA is refused", hooks<Answering, &no_force_unit_access>());
DEVIATION(writes_above_mdts_done, "nvme.write.mdts", Product::controller, "a Write above MDTS is reported as done",
          hooks<Answering, &writes_above_mdts>());
DEVIATION(size_limits_not_kept, "nvme.limits.command-size", Product::controller, "VSL and WZSL are not kept", Tolerate{"io.size_limit"});
DEVIATION(fused_ranges_unequal, "nvme.fused.ranges", Product::controller, "the halves of a fused operation may be of different ranges",
          Tolerate{"fused.range"});
DEVIATION(fused_operation_of_any_kind, "nvme.fused.operation", Product::controller,
          "a Read is executed as the first half of a fused operation", Tolerate{"fused.operation"});

DEVIATION(names_of_each_controller, "nvme.identify.names-last", Product::controller, "a namespace has another NGUID for each controller",
          hooks<AlteringDataOut, &names_of_controllers>());
DEVIATION(serial_number_counts, "nvme.identify.names-last", Product::controller, "the serial number changes from read to read",
          hooks<SerialsCount>());
DEVIATION(mnan_above_nn, "nvme.identify.limits", Product::controller, "MNAN is above NN",
          hooks<AlteringDataOut, &more_namespaces_than_nn>());
DEVIATION(awupf_above_awun, "nvme.identify.limits", Product::controller, "AWUPF is above AWUN",
          hooks<AlteringDataOut, &power_fail_above_normal>());
DEVIATION(events_configured_for_all, "nvme.features.controllers", Product::controller,
          "all controllers share Asynchronous Event Configuration", hooks<SharesEvents>());
DEVIATION(controllers_with_caches, "nvme.write.controllers", Product::controller, "each controller reads from a cache of its own",
          hooks<ControllersHaveCaches>());
DEVIATION(verify_finds_nothing, "nvme.verify.finds", Product::controller, "Verify of a spoilt block succeeds",
          hooks<Refusing, &verifies_anything>());
DEVIATION(verify_always_fails, "nvme.verify.finds", Product::controller, "Verify fails whatever it looks at", hooks<VerifiesNothing>());
DEVIATION(uncorrectable_one_block_more, "nvme.write-uncorrectable.neighbours", Product::controller,
          "Write Uncorrectable spoils one block more", hooks<SpoilsOneMore>());
DEVIATION(first_namespace_is_another_kind, "nvme.nsid.alike", Product::controller, "takes an inactive namespace 1 for an invalid one",
          hooks<Refusing, &first_is_invalid>());
DEVIATION(commands_go_with_their_namespace, "nvme.namespace.gone-meanwhile", Product::controller,
          "does not complete commands whose namespace has gone", hooks<LosesOrphans>());

}  // namespace fb::deviations
