// Get Features and Set Features.
#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/departures.h"
#include "model/subsystem/discovery.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace fs = nvme::features_sqe;
using nvme::FeatureId;
using nvme::FeatureSelect;

namespace {

constexpr std::uint8_t id_of(FeatureId fid) { return static_cast<std::uint8_t>(fid); }

constexpr bool is_namespace_feature(std::uint8_t fid) {
  return nvme::is_namespace_feature(static_cast<FeatureId>(fid));
}

/// Set for all namespaces at once where the NSID says so.
constexpr bool is_reservation_feature(std::uint8_t fid) {
  return fid == id_of(FeatureId::reservation_notification_mask) || fid == id_of(FeatureId::reservation_persistence);
}

constexpr bool changeable(std::uint8_t fid) { return fid != id_of(FeatureId::host_identifier); }

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
    case FeatureId::sanitize_configuration:
      return !discovery && options.sanitize.supported();
    case FeatureId::io_command_set_profile:
      return !discovery && subsystem_.has_version(2, 0);
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
bool Controller::feature_addresses_namespace(const Command& command, std::uint8_t fid) {
  Queue& queue = *command.queue;
  const std::uint32_t nsid = command.nsid();
  const Namespace* const ns = active_namespace(nsid);
  const bool set = command.opcode() == static_cast<std::uint8_t>(nvme::AdminOpcode::set_features);
  if (set && nsid == nvme::kAllNamespaces && is_reservation_feature(fid)) return true;
  if (is_namespace_feature(fid)) {
    if (ns == nullptr) return !queue.refuse(command, check::feature_nsid);
    return check_path(command, *ns);
  }
  if (nsid == 0 || nsid == nvme::kAllNamespaces) return true;
  if (ns == nullptr) return !queue.refuse(command, check::feature_nsid);
  // The NVM command set lets error recovery be said of one namespace; here all share it.
  return !set || fid == id_of(FeatureId::error_recovery) ||
         !queue.refuse(command, check::feature_not_namespace);
}

std::uint32_t Controller::feature_value(const Features& from, std::uint8_t fid, std::uint32_t cdw11,
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
    case FeatureId::sanitize_configuration:
      return &from == &features_ && subsystem_.sanitizer().warns() ? 1 : 0;
    case FeatureId::namespace_write_protection: {
      const Namespace* const ns = active_namespace(nsid);
      return ns != nullptr ? ns->write_protection() : 0;
    }
    case FeatureId::reservation_notification_mask: {
      const Namespace* const ns = active_namespace(nsid);
      return ns != nullptr ? ns->reservations().mask() : 0;
    }
    case FeatureId::reservation_persistence: {
      const Namespace* const ns = active_namespace(nsid);
      return ns != nullptr && ns->reservations().persists() ? 1 : 0;
    }
    default:
      return 0;
  }
}

void Controller::get_features(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::GetFeaturesSqe>();
  const std::uint8_t fid = sqe.get(fs::fid);
  const FeatureSelect select = sqe.get(fs::sel);
  if (!feature_supported(fid) && queue.refuse(command, check::feature_fid)) return;
  if (select > FeatureSelect::capabilities && queue.refuse(command, check::feature_select)) return;
  if (select == FeatureSelect::capabilities) {
    std::uint32_t capabilities = 0;
    if (changeable(fid)) capabilities |= nvme::feature_capability_bits::changeable;
    if (is_namespace_feature(fid)) capabilities |= nvme::feature_capability_bits::namespace_specific;
    return queue.complete(command, sc::success, capabilities);
  }
  if (!feature_addresses_namespace(command, fid)) return;
  const std::uint32_t cdw11 = sqe.get(fs::cdw11);
  if (fid == id_of(FeatureId::temperature_threshold) && !temperature_ok(command, cdw11)) return;
  const bool current = select == FeatureSelect::current || departs(departure::feature_default_wrong);
  // Nothing can be saved, so that the saved value is the default.
  const Features defaults = default_features();
  const Features& from = current ? features_ : defaults;
  if (fid == id_of(FeatureId::host_identifier)) {
    const auto asked = record_from_integer<nvme::HostIdentifier>(cdw11);
    if (!asked.get(nvme::host_identifier::exhid) &&
        queue.refuse(command, check::feature_hostid_exhid)) {
      return;
    }
    if (!queue.stage(command, nvme::kHostIdentifierSize)) return;
    std::copy(host_.hostid.begin(), host_.hostid.end(), command.data().begin());
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
  const std::uint32_t namespace_default = current ? command.nsid() : 0;
  queue.complete(command, sc::success, feature_value(from, fid, cdw11, namespace_default));
}

bool Controller::temperature_ok(const Command& command, std::uint32_t cdw11) {
  const auto asked = record_from_integer<nvme::TemperatureThreshold>(cdw11);
  const auto sensor = asked.get(nvme::temperature_threshold::tmpsel);
  // One composite temperature, no sensors; Fh addresses all there are, when setting.
  const bool set = command.opcode() == static_cast<std::uint8_t>(nvme::AdminOpcode::set_features);
  const bool known = sensor == 0 || (sensor == 0xF && set);
  return (known && asked.get(nvme::temperature_threshold::thsel) <= 1) ||
         !command.queue->refuse(command, check::feature_temperature);
}

void Controller::set_features(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::SetFeaturesSqe>();
  const std::uint8_t fid = sqe.get(fs::fid);
  if (!feature_supported(fid) && queue.refuse(command, check::feature_fid)) return;
  if (sqe.get(fs::sv) && queue.refuse(command, check::feature_save)) return;
  if (!feature_addresses_namespace(command, fid)) return;
  // Connect has set it, and it stays for the life of the association.
  if (!changeable(fid) && queue.refuse(command, check::feature_hostid_set)) return;
  if (departs(departure::feature_not_kept)) return queue.complete(command, sc::success);
  if (fid == id_of(FeatureId::host_behavior_support)) {
    if (queue.stage(command, nvme::HostBehavior::size)) queue.pull(command);
    return;
  }
  set_feature_value(command, fid);
}

void Controller::set_features_data(const Command& command) {
  // Host Behavior Support is the only feature that comes with data.
  if (command.data().size() < nvme::HostBehavior::size) return command.queue->complete(command, sc::success);
  const View<nvme::HostBehavior> asked{ByteView{command.data()}.first(nvme::HostBehavior::size)};
  const bool extends = subsystem_.options().metadata;
  const unsigned acre = asked.get(nvme::host_behavior::acre), lbafee = asked.get(nvme::host_behavior::lbafee);
  features_.retry_delays = static_cast<std::uint8_t>(acre & 1);
  features_.extended_formats = static_cast<std::uint8_t>(extends ? lbafee & 1 : 0);
  // Formats 2h and 3h; the others need not be enabled.
  const unsigned copy = subsystem_.options().copy.formats & 0xCu;
  features_.copy_formats = static_cast<std::uint16_t>(asked.get(nvme::host_behavior::cdfe) & copy);
  command.queue->complete(command, sc::success);
}

void Controller::set_feature_value(const Command& command, std::uint8_t fid) {
  Queue& queue = *command.queue;
  const std::uint32_t value = command.as<nvme::SetFeaturesSqe>().get(fs::cdw11);
  switch (static_cast<FeatureId>(fid)) {
    case FeatureId::arbitration:
      features_.arbitration = value;
      break;
    case FeatureId::power_management: {
      const auto asked = record_from_integer<nvme::PowerManagement>(value);
      if (asked.get(nvme::power_management::ps) != 0 &&
          queue.refuse(command, check::feature_power_state)) {
        return;
      }
      features_.power = value & 0xFF;
      break;
    }
    case FeatureId::temperature_threshold: {
      if (!temperature_ok(command, value)) return;
      const auto asked = record_from_integer<nvme::TemperatureThreshold>(value);
      const bool under = asked.get(nvme::temperature_threshold::thsel) == 1;
      (under ? features_.temperature_under : features_.temperature_over) =
          static_cast<std::uint16_t>(asked.get(nvme::temperature_threshold::tmpth));
      queue.complete(command, sc::success);
      return on_temperature();
    }
    case FeatureId::error_recovery: {
      const auto asked = record_from_integer<nvme::ErrorRecovery>(value);
      if (asked.get(nvme::error_recovery::dulbe) &&
          queue.refuse(command, check::feature_recovery)) {
        return;
      }
      features_.recovery = value & 0xFFFF;
      break;
    }
    case FeatureId::volatile_write_cache:
      return queue.complete(command, set_write_cache((value & 1) != 0));
    case FeatureId::number_of_queues:
      return set_queues(command, value);
    case FeatureId::write_atomicity:
      features_.atomicity = value & 1;
      break;
    case FeatureId::async_event_configuration:
      features_.events = value & (optional_events() | nvme::event_config_bits::smart_mask);
      queue.complete(command, sc::success);
      return on_temperature();
    case FeatureId::keep_alive_timer:
      return set_kato(command, value);
    case FeatureId::io_command_set_profile:
      if ((value & 0x1FF) != 0 && queue.refuse(command, check::feature_command_set)) return;
      features_.command_sets = 0;
      break;
    case FeatureId::sanitize_configuration:
      subsystem_.sanitizer().set_warns((value & 1) != 0);
      break;
    case FeatureId::namespace_write_protection:
      return set_write_protection(command, value);
    case FeatureId::reservation_notification_mask:
    case FeatureId::reservation_persistence:
      return set_reservation_feature(command, static_cast<FeatureId>(fid), value);
    default:
      break;
  }
  queue.complete(command, sc::success);
}

void Controller::set_queues(const Command& command, std::uint32_t value) {
  Queue& queue = *command.queue;
  const auto asked = record_from_integer<nvme::NumberOfQueues>(value);
  const auto submission = asked.get(nvme::number_of_queues::nsqr);
  const auto completion = asked.get(nvme::number_of_queues::ncqr);
  const bool reserved = submission.raw() == 0xFFFF || completion.raw() == 0xFFFF;
  if (reserved && queue.refuse(command, check::feature_queues_reserved)) return;
  if (!io_queues_.empty() && queue.refuse(command, check::feature_queues_sequence)) return;
  const std::uint64_t limit = subsystem_.options().io_queues_max;
  const std::uint64_t pairs = std::min(submission.count(), completion.count());
  features_.queues = static_cast<std::uint16_t>(std::min(pairs, limit));
  const std::uint64_t extra = departs(departure::feature_queues_excess) ? limit : 0;
  const std::uint64_t zero_based = std::max<std::uint64_t>(features_.queues, 1) - 1 + extra;
  queue.complete(command, sc::success, zero_based | zero_based << 16);
}

void Controller::set_kato(const Command& command, std::uint32_t kato_ms) {
  Queue& queue = *command.queue;
  if (kato_ms == 0 && queue.refuse(command, check::feature_kato_zero)) return;
  if (kato_ms > subsystem_.options().kato_max_ms &&
      queue.refuse(command, check::feature_kato_maximum)) {
    return;
  }
  features_.kato_ms = rounded_kato(kato_ms);
  restart_keep_alive();
  queue.complete(command, sc::success);
}

void Controller::set_write_protection(const Command& command, std::uint32_t value) {
  Queue& queue = *command.queue;
  const std::uint32_t state = value & 7;
  if (state > 1 && queue.refuse(command, check::feature_write_protect)) return;
  Namespace* const ns = active_namespace(command.nsid());
  if (ns != nullptr) ns->set_write_protection(state);
  queue.complete(command, sc::success);
  if (ns != nullptr) subsystem_.namespace_changed(ns->nsid());
}

}  // namespace fb::subsystem
