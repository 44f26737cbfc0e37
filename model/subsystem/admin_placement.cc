// Flexible Data Placement on the admin queue: log pages 20h to 23h, features 1Dh and 1Eh, and namespaces with placement handles.
#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/placement_fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace fs = nvme::features_sqe;
using nvme::FdpEventType;
using nvme::FeatureSelect;
using nvme::LogPage;

// ---- log pages ----

bool PlacementCommands::log_ok(const Command& command, LogPage page) {
  Queue& queue = *command.queue;
  const std::uint16_t group = command.as<nvme::GetLogPageSqe>().get(nvme::get_log_sqe::lsi);
  if (!subsystem_.endurance().has(group) && queue.refuse(command, check::log_fdp_group)) return false;
  if (page == LogPage::fdp_configurations || subsystem_.placement().enabled(group)) return true;
  const Check& disabled = page == LogPage::reclaim_unit_handle_usage ? check::log_fdp_usage
                          : page == LogPage::fdp_statistics          ? check::log_fdp_statistics
                                                                     : check::log_fdp_events;
  return !queue.refuse(command, disabled);
}

Bytes PlacementCommands::log(const Command& command, LogPage page) {
  const auto sqe = command.as<nvme::GetLogPageSqe>();
  const std::uint16_t group = sqe.get(nvme::get_log_sqe::lsi);
  Placement& placement = subsystem_.placement();
  if (page == LogPage::fdp_configurations) return placement.configurations();
  if (!placement.enabled(group)) return Bytes(nvme::kFdpEventsSize);  // a deviation omitted the check
  placement.expire(group, time());
  if (page == LogPage::reclaim_unit_handle_usage) return placement.usage(group);
  if (page == LogPage::fdp_statistics) return placement.statistics(group);
  return placement.events(group, (sqe.get(nvme::get_log_sqe::lsp) & nvme::kFdpHostEvents) != 0);
}

// ---- feature 1Dh ----

void PlacementCommands::get_fdp(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::GetFeaturesSqe>();
  auto group = static_cast<std::uint16_t>(sqe.get(fs::cdw11) & 0xFFFF);
  if (!subsystem_.endurance().has(group) && queue.refuse(command, check::feature_fdp_group)) return;
  if (departs(departure::fdp_first_group)) group = subsystem_.endurance().first_group();
  const FeatureSelect select = sqe.get(fs::sel);
  std::uint32_t value = subsystem_.placement().value(group);
  if (select == FeatureSelect::default_value && !departs(departure::fdp_default)) value = 0;
  if (select == FeatureSelect::saved && departs(departure::fdp_not_saved)) value = 0;
  if (departs(departure::fdp_index_lost)) value &= 1;
  queue.complete(command, sc::success, value);
}

void PlacementCommands::set_fdp(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::SetFeaturesSqe>();
  const auto group = static_cast<std::uint16_t>(sqe.get(fs::cdw11) & 0xFFFF);
  const auto asked = record_from_integer<nvme::FdpFeature>(sqe.get(fs::cdw12));
  const bool on = asked.get(nvme::fdp_feature::fdpe);
  const auto index = static_cast<unsigned>(asked.get(nvme::fdp_feature::fdpcidx));
  if (!sqe.get(fs::sv) && queue.refuse(command, check::feature_fdp_save)) return;
  if (!subsystem_.endurance().has(group)) {
    if (!queue.refuse(command, check::feature_fdp_group)) queue.complete(command, sc::success);
    return;
  }
  const bool known = !on || index < subsystem_.options().fdp.configurations.size();
  if (!known && queue.refuse(command, check::feature_fdp_index)) return;
  Placement& placement = subsystem_.placement();
  const std::uint32_t value = (on ? 1u : 0u) | index << 8;
  const bool same = value == placement.value(group) && !departs(departure::fdp_same_value);
  if (same) return queue.complete(command, sc::success);
  const bool used = std::any_of(subsystem_.namespaces().begin(), subsystem_.namespaces().end(),
                                [group](const auto& entry) { return entry.second->endurance_group() == group; });
  if (used) {
    // Who left the check out has namespaces that are placed nowhere.
    if (!queue.refuse(command, check::feature_fdp_namespaces)) queue.complete(command, sc::success);
    return;
  }
  const bool ineffective = on ? departs(departure::fdp_not_enabled) : departs(departure::fdp_stays_enabled);
  if (!ineffective) placement.set(group, on, known ? index : 0);
  queue.complete(command, sc::success);
}

// ---- feature 1Eh ----

/// The namespace and the reclaim unit handle that a command for the feature is about. False: it has been answered.
bool PlacementCommands::events_address(const Command& command, const Namespace*& ns, std::uint16_t& handle) {
  Queue& queue = *command.queue;
  const std::uint32_t nsid = command.nsid();
  const bool set = command.opcode() == static_cast<std::uint8_t>(nvme::AdminOpcode::set_features);
  if (nsid == nvme::kAllNamespaces && queue.refuse(command, check::feature_fdp_events_nsid)) return false;
  ns = controller_.active_namespace(nsid);
  if (ns == nullptr) {
    if (!queue.refuse(command, check::feature_nsid)) queue.complete(command, sc::success);
    return false;
  }
  const Placement::Handles* const handles = subsystem_.placement().handles_of(nsid);
  if (handles == nullptr) {
    const Check& disabled = set ? check::feature_fdp_events_set_disabled : check::feature_fdp_events_get_disabled;
    if (!queue.refuse(command, disabled)) queue.complete(command, sc::success);
    return false;
  }
  const auto asked = record_from_integer<nvme::FdpEventsFeature>(command.as<nvme::SetFeaturesSqe>().get(fs::cdw11));
  const std::size_t index = asked.get(nvme::fdp_events_feature::phndl);
  if (index >= handles->list.size() && queue.refuse(command, check::feature_fdp_events_handle)) return false;
  handle = handles->list[index < handles->list.size() ? index : 0];
  return true;
}

void PlacementCommands::get_events(const Command& command) {
  Queue& queue = *command.queue;
  const Namespace* ns = nullptr;
  std::uint16_t handle = 0;
  if (!events_address(command, ns, handle)) return;
  const std::uint16_t group = ns->endurance_group();
  std::vector<FdpEventType> types = subsystem_.placement().event_types(group);
  if (departs(departure::fdp_events_types_order)) std::reverse(types.begin(), types.end());
  const std::vector<std::uint32_t> users = subsystem_.placement().users_of(group, handle);
  const bool split = departs(departure::fdp_events_split) && !users.empty() && users.front() != ns->nsid();
  const bool defaults = command.as<nvme::GetFeaturesSqe>().get(fs::sel) == FeatureSelect::default_value;
  Bytes data;
  for (const FdpEventType type : types) {
    Record<nvme::FdpEventSupport> one;
    one.set(nvme::fdp_event_support::fdpet, type)
        .set(nvme::fdp_event_support::fdpee, !defaults && !split && subsystem_.placement().event_enabled(group, handle, type));
    data.insert(data.end(), one.bytes().begin(), one.bytes().end());
  }
  if (!queue.stage(command, data.size())) return;
  std::copy(data.begin(), data.end(), command.data().begin());
  queue.complete_with_data(command, data.size(), departs(departure::fdp_events_types_count) ? 0 : types.size());
}

void PlacementCommands::set_events(const Command& command) {
  Queue& queue = *command.queue;
  const Namespace* ns = nullptr;
  std::uint16_t handle = 0;
  if (!events_address(command, ns, handle)) return;
  const auto asked = record_from_integer<nvme::FdpEventsFeature>(command.as<nvme::SetFeaturesSqe>().get(fs::cdw11));
  const std::size_t count = asked.get(nvme::fdp_events_feature::noet);
  if (count == 0) return queue.complete(command, sc::success);
  if (queue.stage(command, count)) queue.pull(command);
}

void PlacementCommands::set_events_data(const Command& command) {
  Queue& queue = *command.queue;
  const Namespace* ns = nullptr;
  std::uint16_t handle = 0;
  if (!events_address(command, ns, handle)) return;
  const std::uint16_t group = ns->endurance_group();
  const std::vector<FdpEventType> types = subsystem_.placement().event_types(group);
  for (const std::uint8_t byte : command.data()) {
    const bool known = std::find(types.begin(), types.end(), static_cast<FdpEventType>(byte)) != types.end();
    if (!known && queue.refuse(command, check::feature_fdp_events_type)) return;
  }
  const bool on = (command.as<nvme::SetFeaturesSqe>().get(fs::cdw12) & 1) != 0;
  const bool ineffective = on ? departs(departure::fdp_events_not_enabled) : departs(departure::fdp_events_stay);
  for (const std::uint8_t byte : command.data()) {
    if (!ineffective) subsystem_.placement().enable_event(group, handle, static_cast<FdpEventType>(byte), on);
  }
  queue.complete(command, sc::success);
}

// ---- namespaces ----

bool PlacementCommands::list_fits(const Command& command, std::uint16_t group, const std::vector<std::uint16_t>& list) {
  Queue& queue = *command.queue;
  const Placement& placement = subsystem_.placement();
  const std::uint16_t count = placement.configuration(group).handles;
  for (const std::uint16_t handle : list) {
    if (handle >= count && queue.refuse(command, check::nsm_placement_range)) return false;
    if (std::count(list.begin(), list.end(), handle) > 1 && queue.refuse(command, check::nsm_placement_twice)) return false;
    if (placement.controller_specified(group, handle) && queue.refuse(command, check::nsm_placement_taken)) return false;
  }
  return true;
}

/// The placement handles that Namespace Management asks for, in a group that has them. False: the command has been answered.
bool PlacementCommands::namespace_fits(const Command& command, ByteView data, NamespaceOptions& made) {
  Queue& queue = *command.queue;
  const Placement& placement = subsystem_.placement();
  const std::uint16_t group = made.endurance_group;
  if (!placement.enabled(group)) {
    const bool listed = load_le<std::uint16_t>(data.data() + nvme::kPlacementHandleCountAt) != 0;
    if (listed && departs(departure::fdp_list_counts)) queue.complete(command, sc::invalid_placement_handle_list);
    return !listed || !departs(departure::fdp_list_counts);
  }
  if (made.zones.zone_blocks != 0 && queue.refuse(command, check::nsm_placement_csi)) return false;
  const FdpConfiguration& configuration = placement.configuration(group);
  if (placement.namespaces_in(group) >= configuration.namespaces_max && queue.refuse(command, check::nsm_placement_limit)) return false;
  std::size_t count = load_le<std::uint16_t>(data.data() + nvme::kPlacementHandleCountAt);
  const std::size_t less = departs(departure::fdp_list_short) ? 1 : 0;
  const std::size_t most = std::min<std::size_t>(configuration.handles, nvme::kPlacementHandlesMax) - less;
  if (count > most && queue.refuse(command, check::nsm_placement_count)) return false;
  count = std::min(count, most);
  std::vector<std::uint16_t> list(count);
  for (std::size_t i = 0; i < count; ++i) list[i] = load_le<std::uint16_t>(data.data() + nvme::kPlacementHandlesAt + 2 * i);
  if (!list_fits(command, group, list)) return false;
  const std::uint16_t chosen = count == 0 ? placement.chosen_handle(group) : std::uint16_t{0};
  if (chosen == configuration.handles && queue.refuse(command, check::nsm_placement_none)) return false;
  const auto last = static_cast<std::uint16_t>(configuration.handles - 1);
  for (std::uint16_t& handle : list) handle = std::min(handle, last);
  std::vector<std::uint16_t> used = list;
  if (used.empty()) used.push_back(std::min(chosen, last));
  for (const std::uint16_t handle : used) {
    if (departs(departure::fdp_unshared) && count != 0 && !placement.users_of(group, handle).empty()) {
      queue.complete(command, sc::invalid_placement_handle_list);
      return false;
    }
    for (const std::uint32_t nsid : placement.users_of(group, handle)) {
      const Namespace* const other = subsystem_.find_namespace(nsid);
      const bool differs =
          other != nullptr && (other->layout().data_bytes != made.block_bytes || other->layout().metadata_bytes != made.metadata_bytes);
      if (differs && queue.refuse(command, check::nsm_placement_format)) return false;
    }
  }
  made.placement_handles = std::move(list);
  return true;
}

/// Namespaces that share a reclaim unit handle have one format. False: the command has been answered.
bool PlacementCommands::format_fits(const Command& command, const Namespace& ns, const nvme::BlockLayout& layout) {
  const Placement& placement = subsystem_.placement();
  const Placement::Handles* const handles = placement.handles_of(ns.nsid());
  if (handles == nullptr) return true;
  for (const std::uint16_t handle : handles->list) {
    for (const std::uint32_t nsid : placement.users_of(handles->group, handle)) {
      const Namespace* const other = subsystem_.find_namespace(nsid);
      const bool differs = other != nullptr && other != &ns &&
                           (other->layout().data_bytes != layout.data_bytes || other->layout().metadata_bytes != layout.metadata_bytes);
      if (differs && command.queue->refuse(command, check::format_placement)) return false;
    }
  }
  return true;
}

}  // namespace fb::subsystem
