// Get ControllerFeatures and Set Features.
#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/discovery.h"
#include "model/subsystem/kv_fault_points.h"
#include "model/subsystem/placement_fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/endurance.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace fs = nvme::features_sqe;
using nvme::FeatureId;
using nvme::FeatureSelect;

namespace {

constexpr std::uint8_t id_of(FeatureId fid) { return static_cast<std::uint8_t>(fid); }

constexpr bool is_namespace_feature(std::uint8_t fid) { return nvme::is_namespace_feature(static_cast<FeatureId>(fid)); }

/// Set for all namespaces at once where the NSID says so.
constexpr bool is_reservation_feature(std::uint8_t fid) {
  return fid == id_of(FeatureId::reservation_notification_mask) || fid == id_of(FeatureId::reservation_persistence);
}

constexpr bool changeable(std::uint8_t fid) { return fid != id_of(FeatureId::host_identifier); }

/// What store_feature() stores.
constexpr bool is_plain(std::uint8_t fid) {
  switch (static_cast<FeatureId>(fid)) {
    case FeatureId::arbitration:
    case FeatureId::power_management:
    case FeatureId::temperature_threshold:
    case FeatureId::error_recovery:
    case FeatureId::write_atomicity:
    case FeatureId::async_event_configuration:
    case FeatureId::volatile_write_cache:
    case FeatureId::lba_status_information:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool Controller::feature_supported(std::uint8_t fid) const {
  const SubsystemOptions& options = subsystem_.options();
  const bool discovery = subsystem_.discovery() != nullptr;
  switch (static_cast<FeatureId>(fid)) {
    case FeatureId::async_event_configuration:
      return true;
    case FeatureId::keep_alive_timer:
      return options.kas != 0;
    case FeatureId::arbitration:
    case FeatureId::power_management:
    case FeatureId::temperature_threshold:
    case FeatureId::error_recovery:
    case FeatureId::number_of_queues:
    case FeatureId::write_atomicity:
    case FeatureId::host_behavior_support:
    case FeatureId::host_identifier:
      return !discovery;
    case FeatureId::volatile_write_cache:
      return !discovery && options.volatile_write_cache;
    case FeatureId::timestamp:
      return !discovery && options.timestamp;
    case FeatureId::endurance_group_event:
      return !discovery && options.endurance.supported();
    case FeatureId::flexible_data_placement:
    case FeatureId::fdp_events:
      return !discovery && options.fdp.supported() && subsystem_.has_version(2, 0);
    case FeatureId::lba_status_information:
      return !discovery && options.lba_status.supported;
    case FeatureId::sanitize_configuration:
      return !discovery && options.sanitize.supported();
    case FeatureId::io_command_set_profile:
      return !discovery && subsystem_.has_version(2, 0);
    case FeatureId::key_value_configuration:
      return !discovery && key_values_selected() && !departs(departure::kv_feature_missing);
    case FeatureId::namespace_write_protection:
      return !discovery && options.namespace_write_protect;
    case FeatureId::reservation_notification_mask:
    case FeatureId::reservation_persistence:
      return !discovery && options.reservations;
    default:
      return false;
  }
}

/// Answers what is wrong with the NSID of a features command; false then.
bool FeatureCommands::feature_addresses_namespace(const Command& command, std::uint8_t fid) {
  Queue& queue = *command.queue;
  const std::uint32_t nsid = command.nsid();
  const Namespace* const ns = controller_.active_namespace(nsid);
  const bool set = command.opcode() == static_cast<std::uint8_t>(nvme::AdminOpcode::set_features);
  if (set && nsid == nvme::kAllNamespaces && is_reservation_feature(fid)) {
    const Namespace* const unreachable = controller_.io_.unreachable_namespace();
    return unreachable == nullptr || controller_.io_.check_path(command, *unreachable);
  }
  if (is_namespace_feature(fid)) {
    const bool of_pairs = fid == id_of(FeatureId::key_value_configuration);
    if (ns == nullptr || (of_pairs && !ns->key_value())) return !queue.refuse(command, check::feature_nsid);
    // The others stay what they are to this controller; where access is lost for ever, nothing can be set.
    const bool lost = set && controller_.io_.ana_state_of(*ns) == nvme::AnaState::persistent_loss;
    return !(is_reservation_feature(fid) || lost) || controller_.io_.check_path(command, *ns);
  }
  if (nsid == 0 || nsid == nvme::kAllNamespaces) return true;
  if (ns == nullptr) return !queue.refuse(command, check::feature_nsid);
  // The NVM command set lets error recovery be said of one namespace; here all share it.
  return !set || fid == id_of(FeatureId::error_recovery) || !queue.refuse(command, check::feature_not_namespace);
}

std::uint32_t FeatureCommands::feature_value(const ControllerFeatures& from, std::uint8_t fid, std::uint32_t cdw11,
                                             std::uint32_t nsid) const {
  switch (static_cast<FeatureId>(fid)) {
    case FeatureId::arbitration:
      return from.arbitration;
    case FeatureId::power_management:
      return from.power;
    case FeatureId::temperature_threshold: {
      const auto asked = record_from_integer<nvme::TemperatureThreshold>(cdw11);
      const bool under = asked.get(nvme::temperature_threshold::thsel) == 1;
      return under ? from.temperature_under : from.temperature_over;
    }
    case FeatureId::error_recovery:
      return from.recovery;
    case FeatureId::volatile_write_cache:
      return from.write_cache;
    case FeatureId::number_of_queues: {
      const std::uint32_t zero_based = std::max<std::uint32_t>(from.queues, 1) - 1;
      return zero_based | zero_based << 16;
    }
    case FeatureId::write_atomicity:
      return from.atomicity;
    case FeatureId::async_event_configuration:
      return from.events;
    case FeatureId::keep_alive_timer:
      return from.kato_ms;
    case FeatureId::io_command_set_profile:
      return from.command_sets;
    case FeatureId::lba_status_information:
      return controller_.lba_status_.lba_status_attributes(from);
    case FeatureId::sanitize_configuration:
      return &from == &controller_.features_ && subsystem_.sanitizer().warns() ? 1 : 0;
    case FeatureId::key_value_configuration: {
      const Namespace* const ns = controller_.active_namespace(nsid);
      return ns != nullptr && ns->key_value() && ns->pairs()->delete_fails() && !departs(departure::kv_feature_kept) ? 1 : 0;
    }
    case FeatureId::namespace_write_protection: {
      const Namespace* const ns = controller_.active_namespace(nsid);
      return ns != nullptr ? ns->write_protection() : 0;
    }
    case FeatureId::reservation_notification_mask: {
      const Namespace* const ns = controller_.active_namespace(nsid);
      return ns != nullptr ? ns->reservations().mask() : 0;
    }
    case FeatureId::reservation_persistence: {
      const Namespace* const ns = controller_.active_namespace(nsid);
      return ns != nullptr && ns->reservations().persists() ? 1 : 0;
    }
    default:
      return 0;
  }
}

/// Of a controller that lives on between associations, or between resets of one.
bool FeatureCommands::saveable(std::uint8_t fid) const {
  if (nvme::is_endurance_group_feature(static_cast<FeatureId>(fid))) return true;
  return subsystem_.discovery() == nullptr && subsystem_.options().saveable_features && is_plain(fid);
}

Record<nvme::Timestamp> Controller::timestamp() const {
  auto value = timestamp_.read(subsystem_.world().now());
  if (departs(departure::timestamp_origin)) value.set(nvme::timestamp::to, nvme::kTimestampSinceReset);
  return value;
}

void FeatureCommands::get_features(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::GetFeaturesSqe>();
  const std::uint8_t fid = sqe.get(fs::fid);
  const FeatureSelect select = sqe.get(fs::sel);
  if (!controller_.feature_supported(fid) && queue.refuse(command, check::feature_fid)) return;
  if (select > FeatureSelect::capabilities && queue.refuse(command, check::feature_select)) return;
  if (select == FeatureSelect::capabilities) {
    std::uint32_t capabilities = 0;
    if (changeable(fid)) capabilities |= nvme::feature_capability_bits::changeable;
    const bool denied = fid == id_of(FeatureId::flexible_data_placement) && departs(departure::fdp_capability);
    if (saveable(fid) && !denied) capabilities |= nvme::feature_capability_bits::saveable;
    if (is_namespace_feature(fid)) capabilities |= nvme::feature_capability_bits::namespace_specific;
    return queue.complete(command, sc::success, capabilities);
  }
  if (fid == id_of(FeatureId::fdp_events)) return controller_.placement_.get_events(command);
  if (!feature_addresses_namespace(command, fid)) return;
  if (fid == id_of(FeatureId::flexible_data_placement)) return controller_.placement_.get_fdp(command);
  const std::uint32_t cdw11 = sqe.get(fs::cdw11);
  if (fid == id_of(FeatureId::temperature_threshold) && !temperature_ok(command, cdw11)) return;
  const bool current = select == FeatureSelect::current || departs(departure::feature_default_wrong);
  const ControllerFeatures defaults = controller_.default_features();
  const bool saved = select == FeatureSelect::saved && !departs(departure::feature_saved_default);
  const ControllerFeatures& from = current ? controller_.features_ : saved ? controller_.saved_ : defaults;
  if (fid == id_of(FeatureId::host_identifier)) {
    const auto asked = record_from_integer<nvme::HostIdentifier>(cdw11);
    if (!asked.get(nvme::host_identifier::exhid) && queue.refuse(command, check::feature_hostid_exhid)) {
      return;
    }
    if (!queue.stage(command, nvme::kHostIdentifierSize)) return;
    std::copy(controller_.host_.hostid.begin(), controller_.host_.hostid.end(), command.data().begin());
    return queue.complete_with_data(command, nvme::kHostIdentifierSize);
  }
  if (fid == id_of(FeatureId::host_behavior_support)) {
    if (!queue.stage(command, nvme::HostBehavior::size)) return;
    std::fill_n(command.data().begin(), nvme::HostBehavior::size, std::uint8_t{0});
    MutableView<nvme::HostBehavior>{command.data().first(nvme::HostBehavior::size)}
        .set(nvme::host_behavior::acre, from.retry_delays)
        .set(nvme::host_behavior::lbafee, from.extended_formats)
        .set(nvme::host_behavior::cdfe, from.copy_formats);
    return queue.complete_with_data(command, nvme::HostBehavior::size);
  }
  if (fid == id_of(FeatureId::timestamp)) {
    if (!queue.stage(command, nvme::Timestamp::size)) return;
    const Record<nvme::Timestamp> value = current ? controller_.timestamp() : Record<nvme::Timestamp>{};
    std::copy(value.bytes().begin(), value.bytes().end(), command.data().begin());
    return queue.complete_with_data(command, nvme::Timestamp::size);
  }
  if (fid == id_of(FeatureId::endurance_group_event)) {
    const auto group = static_cast<std::uint16_t>(cdw11 & 0xFFFF);
    if (!subsystem_.endurance().has(group) && queue.refuse(command, check::feature_endurance_group)) return;
    const auto wanted = controller_.endurance_wanted_.find(group);
    const bool known = current && wanted != controller_.endurance_wanted_.end();
    return queue.complete(command, sc::success, group | (known ? std::uint32_t{wanted->second} << 16 : 0u));
  }
  const std::uint32_t namespace_default = current ? command.nsid() : 0;
  queue.complete(command, sc::success, feature_value(from, fid, cdw11, namespace_default));
}

bool FeatureCommands::temperature_ok(const Command& command, std::uint32_t cdw11) {
  const auto asked = record_from_integer<nvme::TemperatureThreshold>(cdw11);
  const auto sensor = asked.get(nvme::temperature_threshold::tmpsel);
  // One composite temperature, no sensors; Fh addresses all there are, when setting.
  const bool set = command.opcode() == static_cast<std::uint8_t>(nvme::AdminOpcode::set_features);
  const bool known = sensor == 0 || (sensor == 0xF && set);
  return (known && asked.get(nvme::temperature_threshold::thsel) <= 1) || !command.queue->refuse(command, check::feature_temperature);
}

void FeatureCommands::set_features(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::SetFeaturesSqe>();
  const std::uint8_t fid = sqe.get(fs::fid);
  if (!controller_.feature_supported(fid) && queue.refuse(command, check::feature_fid)) return;
  if (!controller_.lockdown_.lockdown_permits(command, nvme::LockdownScope::set_features, fid)) return;
  if (sqe.get(fs::sv) && !saveable(fid) && queue.refuse(command, check::feature_save)) return;
  if (fid == id_of(FeatureId::fdp_events)) return controller_.placement_.set_events(command);
  if (!feature_addresses_namespace(command, fid)) return;
  if (fid == id_of(FeatureId::flexible_data_placement)) return controller_.placement_.set_fdp(command);
  // Connect has set it, and it stays for the life of the association.
  if (!changeable(fid) && queue.refuse(command, check::feature_hostid_set)) return;
  if (departs(departure::feature_not_kept)) return queue.complete(command, sc::success);
  if (fid == id_of(FeatureId::host_behavior_support)) {
    if (queue.stage(command, nvme::HostBehavior::size)) queue.pull(command);
    return;
  }
  if (fid == id_of(FeatureId::timestamp)) {
    if (queue.stage(command, nvme::Timestamp::size)) queue.pull(command);
    return;
  }
  set_feature_value(command, fid);
}

void FeatureCommands::set_features_data(const Command& command) {
  const std::uint8_t fid = command.as<nvme::SetFeaturesSqe>().get(fs::fid);
  if (fid == id_of(FeatureId::timestamp)) return set_timestamp(command);
  if (fid == id_of(FeatureId::fdp_events)) return controller_.placement_.set_events_data(command);
  if (command.data().size() < nvme::HostBehavior::size) return command.queue->complete(command, sc::success);
  const View<nvme::HostBehavior> asked{ByteView{command.data()}.first(nvme::HostBehavior::size)};
  const bool extends = subsystem_.options().metadata;
  const unsigned acre = asked.get(nvme::host_behavior::acre), lbafee = asked.get(nvme::host_behavior::lbafee);
  controller_.features_.retry_delays = static_cast<std::uint8_t>(acre & 1);
  controller_.features_.extended_formats = static_cast<std::uint8_t>(extends ? lbafee & 1 : 0);
  // Formats 2h and 3h; the others need not be enabled.
  const unsigned copy = subsystem_.options().copy.formats & 0xCu;
  controller_.features_.copy_formats = static_cast<std::uint16_t>(asked.get(nvme::host_behavior::cdfe) & copy);
  controller_.logs_.record_feature(command);
  command.queue->complete(command, sc::success);
}

void FeatureCommands::set_timestamp(const Command& command) {
  namespace te = nvme::timestamp_event;
  const Instant now = subsystem_.world().now();
  if (command.data().size() >= nvme::Timestamp::size) {
    const View<nvme::Timestamp> asked{ByteView{command.data()}.first(nvme::Timestamp::size)};
    const std::uint64_t low = asked.get(nvme::timestamp::low), high = asked.get(nvme::timestamp::high);
    Record<nvme::TimestampEvent> event;
    event.set(te::previous, ByteView{controller_.timestamp().bytes()}).set(te::since_reset_ms, controller_.timestamp_.since_reset_ms(now));
    controller_.timestamp_.set(high << 32 | low, now);
    controller_.logs_.record(nvme::PersistentEventType::timestamp_change, event.bytes());
    if (departs(departure::persistent_timestamp_feature)) controller_.logs_.record_feature(command);
  }
  command.queue->complete(command, sc::success);
}

/// False: the command has been answered.
bool FeatureCommands::feature_acceptable(const Command& command, std::uint8_t fid, std::uint32_t value) {
  Queue& queue = *command.queue;
  switch (static_cast<FeatureId>(fid)) {
    case FeatureId::power_management:
      return record_from_integer<nvme::PowerManagement>(value).get(nvme::power_management::ps) == 0 ||
             !queue.refuse(command, check::feature_power_state);
    case FeatureId::temperature_threshold:
      return temperature_ok(command, value);
    case FeatureId::error_recovery:
      return !record_from_integer<nvme::ErrorRecovery>(value).get(nvme::error_recovery::dulbe) ||
             !queue.refuse(command, check::feature_recovery);
    default:
      return true;
  }
}

/// Of those that are nothing but a value.
void Controller::store_feature(ControllerFeatures& to, std::uint8_t fid, std::uint32_t value) {
  switch (static_cast<FeatureId>(fid)) {
    case FeatureId::arbitration:
      to.arbitration = value;
      break;
    case FeatureId::power_management:
      to.power = value & 0xFF;
      break;
    case FeatureId::temperature_threshold: {
      const auto asked = record_from_integer<nvme::TemperatureThreshold>(value);
      const bool under = asked.get(nvme::temperature_threshold::thsel) == 1;
      (under ? to.temperature_under : to.temperature_over) = static_cast<std::uint16_t>(asked.get(nvme::temperature_threshold::tmpth));
      break;
    }
    case FeatureId::error_recovery:
      to.recovery = value & 0xFFFF;
      break;
    case FeatureId::volatile_write_cache:
      to.write_cache = value & 1;
      break;
    case FeatureId::write_atomicity:
      to.atomicity = value & 1;
      break;
    case FeatureId::async_event_configuration:
      to.events = value;
      break;
    case FeatureId::lba_status_information:
      to.lba_status_interval = static_cast<std::uint16_t>(value & 0xFFFF);
      break;
    default:
      break;
  }
}

void FeatureCommands::set_feature_value(const Command& command, std::uint8_t fid) {
  Queue& queue = *command.queue;
  std::uint32_t value = command.as<nvme::SetFeaturesSqe>().get(fs::cdw11);
  switch (static_cast<FeatureId>(fid)) {
    case FeatureId::number_of_queues:
      return set_queues(command, value);
    case FeatureId::keep_alive_timer:
      return set_kato(command, value);
    case FeatureId::io_command_set_profile: {
      const SubsystemOptions& options = subsystem_.options();
      const std::uint32_t combinations = options.zoned.supported || options.key_value.supported ? 2 : 1;
      const std::uint32_t index = value & 0x1FF;
      if (index >= combinations && queue.refuse(command, check::feature_command_set)) return;
      controller_.features_.command_sets = index < combinations ? index : 0;
      return queue.complete(command, sc::success);
    }
    case FeatureId::sanitize_configuration:
      subsystem_.sanitizer().set_warns((value & 1) != 0);
      controller_.logs_.record_feature(command);
      return queue.complete(command, sc::success);
    case FeatureId::endurance_group_event:
      return set_endurance_events(command, value);
    case FeatureId::lba_status_information:
      return controller_.lba_status_.set_lba_status_attributes(command, value);
    case FeatureId::key_value_configuration: {
      Namespace* const ns = controller_.active_namespace(command.nsid());
      if (ns != nullptr && ns->key_value()) controller_.key_values_.set_delete_fails(*ns, (value & 1) != 0);
      controller_.logs_.record_feature(command);
      return queue.complete(command, sc::success);
    }
    case FeatureId::namespace_write_protection:
      return set_write_protection(command, value);
    case FeatureId::reservation_notification_mask:
    case FeatureId::reservation_persistence:
      return set_reservation_feature(command, static_cast<FeatureId>(fid), value);
    default:
      break;
  }
  if (!feature_acceptable(command, fid, value)) return;
  nvme::Status status = sc::success;
  if (static_cast<FeatureId>(fid) == FeatureId::volatile_write_cache) status = controller_.io_.set_write_cache((value & 1) != 0);
  if (static_cast<FeatureId>(fid) == FeatureId::async_event_configuration) {
    value &= controller_.identify_.optional_events() | nvme::event_config_bits::smart_mask;
  }
  keep_feature(command, fid, value);
  controller_.logs_.record_feature(command);
  queue.complete(command, status);
  controller_.on_temperature();
}

/// For now, and for later where the host says so.
void FeatureCommands::keep_feature(const Command& command, std::uint8_t fid, std::uint32_t value) {
  controller_.store_feature(controller_.features_, fid, value);
  const bool saves = command.as<nvme::SetFeaturesSqe>().get(fs::sv) && !departs(departure::feature_save_lost);
  if (saves || departs(departure::feature_save_always)) controller_.store_feature(controller_.saved_, fid, value);
}

void FeatureCommands::set_endurance_events(const Command& command, std::uint32_t value) {
  namespace ee = nvme::endurance_event;
  Queue& queue = *command.queue;
  const auto asked = record_from_integer<nvme::EnduranceEventConfiguration>(value);
  const auto group = static_cast<std::uint16_t>(asked.get(ee::endgid));
  if (!subsystem_.endurance().has(group) && queue.refuse(command, check::feature_endurance_group)) return;
  controller_.endurance_wanted_[group] = static_cast<std::uint8_t>(asked.get(ee::warnings) & nvme::endurance_warning_bits::all);
  queue.complete(command, sc::success);
}

void FeatureCommands::set_queues(const Command& command, std::uint32_t value) {
  Queue& queue = *command.queue;
  const auto asked = record_from_integer<nvme::NumberOfQueues>(value);
  const auto submission = asked.get(nvme::number_of_queues::nsqr);
  const auto completion = asked.get(nvme::number_of_queues::ncqr);
  const bool reserved = submission.raw() == 0xFFFF || completion.raw() == 0xFFFF;
  if (reserved && queue.refuse(command, check::feature_queues_reserved)) return;
  if (!controller_.io_queues_.empty() && queue.refuse(command, check::feature_queues_sequence)) return;
  const std::uint64_t limit = subsystem_.options().io_queues_max;
  const std::uint64_t pairs = std::min(submission.count(), completion.count());
  controller_.features_.queues = static_cast<std::uint16_t>(std::min(pairs, limit));
  const std::uint64_t extra = departs(departure::feature_queues_excess) ? limit : 0;
  const std::uint64_t zero_based = std::max<std::uint64_t>(controller_.features_.queues, 1) - 1 + extra;
  controller_.logs_.record_feature(command, static_cast<std::uint32_t>(zero_based | zero_based << 16));
  queue.complete(command, sc::success, zero_based | zero_based << 16);
}

void FeatureCommands::set_kato(const Command& command, std::uint32_t kato_ms) {
  Queue& queue = *command.queue;
  if (kato_ms == 0 && queue.refuse(command, check::feature_kato_zero)) return;
  if (kato_ms > subsystem_.options().kato_max_ms && queue.refuse(command, check::feature_kato_maximum)) {
    return;
  }
  controller_.features_.kato_ms = controller_.keep_alive_.rounded_kato(kato_ms);
  if (!departs(departure::kato_set_ignored)) controller_.keep_alive_.restart_keep_alive();
  queue.complete(command, sc::success);
}

void FeatureCommands::set_write_protection(const Command& command, std::uint32_t value) {
  Queue& queue = *command.queue;
  const std::uint32_t state = value & 7;
  if (state > 1 && queue.refuse(command, check::feature_write_protect)) return;
  Namespace* const ns = controller_.active_namespace(command.nsid());
  const bool protects = ns != nullptr && state != 0 && ns->write_protection() == 0;
  if (ns != nullptr) ns->set_write_protection(state);
  if (ns != nullptr && state != 0) subsystem_.directives().release_all(ns->nsid());
  queue.complete(command, sc::success);
  if (protects && ns->zoned() && !departs(departure::zone_protected_stays)) {
    for (const std::size_t zone : ns->zones()->on_write_protected()) subsystem_.zone_changed(*ns, zone);
  }
  if (ns != nullptr) subsystem_.namespace_changed(ns->nsid());
}

}  // namespace fb::subsystem
