#include "model/subsystem/placement.h"

#include <algorithm>
#include <limits>

#include "model/subsystem/placement_fault_points.h"
#include "model/subsystem/subsystem.h"

namespace fb::subsystem {

using nvme::FdpEventType;

Placement::Placement(Subsystem& subsystem) : subsystem_(subsystem) {
  for (const std::uint16_t group : subsystem.options().fdp.enabled) set(group, true, 0);
}

Placement::Group& Placement::at(std::uint16_t group) { return groups_.at(group); }
const Placement::Group& Placement::at(std::uint16_t group) const { return groups_.at(group); }
const FdpConfiguration& Placement::configuration(std::uint16_t group) const { return *at(group).configuration; }
const FdpCounters& Placement::counters(std::uint16_t group) const { return at(group).counters; }

bool Placement::persistent(const Group& group, std::uint16_t handle) const {
  return handle + group.configuration->persistent_handles >= group.configuration->handles;
}

// ---- feature 1Dh ----

std::uint32_t Placement::value(std::uint16_t group) const {
  if (const auto found = groups_.find(group); found != groups_.end()) return 1u | found->second.index << 8;
  const auto disabled = disabled_values_.find(group);
  return disabled == disabled_values_.end() ? 0 : disabled->second;
}

void Placement::set(std::uint16_t group, bool on, unsigned index) {
  const FdpOptions& options = subsystem_.options().fdp;
  const auto before = groups_.find(group);
  Group kept;
  if (before != groups_.end()) kept = std::move(before->second);
  groups_.erase(group);
  std::erase_if(namespaces_, [group](const auto& entry) { return entry.second.group == group; });
  disabled_values_[group] = index << 8;
  if (!on) return;
  Group made;
  made.index = index;
  made.configuration = &options.configurations[std::min<std::size_t>(index, options.configurations.size() - 1)];
  const FdpConfiguration& configuration = *made.configuration;
  const auto& groups = subsystem_.endurance().groups();
  const auto found = groups.find(group);
  const std::uint64_t capacity = found == groups.end() ? 0 : found->second.capacity;
  const std::uint64_t share = capacity / configuration.reclaim_groups / configuration.unit_bytes + configuration.spare_units;
  made.units_max = static_cast<std::uint32_t>(std::min<std::uint64_t>(share, std::numeric_limits<std::uint32_t>::max()));
  made.reclaim_groups.resize(configuration.reclaim_groups);
  if (subsystem_.departs(departure::fdp_statistics_kept)) made.counters = kept.counters;
  if (subsystem_.departs(departure::fdp_events_kept)) {
    made.host_events = std::move(kept.host_events);
    made.controller_events = std::move(kept.controller_events);
  }
  groups_[group] = std::move(made);
}

void Placement::forget_group(std::uint16_t group) {
  groups_.erase(group);
  disabled_values_.erase(group);
}

// ---- namespaces ----

const Placement::Handles* Placement::handles_of(std::uint32_t nsid) const {
  const auto found = namespaces_.find(nsid);
  return found == namespaces_.end() ? nullptr : &found->second;
}

std::vector<std::uint32_t> Placement::users_of(std::uint16_t group, std::uint16_t handle) const {
  std::vector<std::uint32_t> users;
  for (const auto& [nsid, one] : namespaces_) {
    if (one.group == group && std::find(one.list.begin(), one.list.end(), handle) != one.list.end()) users.push_back(nsid);
  }
  return users;
}

std::size_t Placement::namespaces_in(std::uint16_t group) const {
  return static_cast<std::size_t>(
      std::count_if(namespaces_.begin(), namespaces_.end(), [group](const auto& entry) { return entry.second.group == group; }));
}

bool Placement::controller_specified(std::uint16_t group, std::uint16_t handle) const {
  return std::any_of(namespaces_.begin(), namespaces_.end(), [&](const auto& entry) {
    return entry.second.group == group && !entry.second.host_specified && entry.second.list.front() == handle;
  });
}

std::uint16_t Placement::chosen_handle(std::uint16_t group) const {
  const std::uint16_t count = configuration(group).handles;
  if (subsystem_.departs(departure::fdp_handle_zero)) return 0;
  if (!subsystem_.departs(departure::fdp_handle_each)) {
    for (std::uint16_t handle = 0; handle < count; ++handle) {
      if (controller_specified(group, handle)) return handle;
    }
  }
  for (std::uint16_t handle = 0; handle < count; ++handle) {
    if (users_of(group, handle).empty()) return handle;
  }
  return count;
}

std::string Placement::objection(std::uint16_t group, const std::vector<std::uint16_t>& handles) const {
  if (handles.empty()) return {};
  if (!enabled(group)) return "placement handles need Flexible Data Placement in its endurance group";
  for (const std::uint16_t handle : handles) {
    if (handle >= configuration(group).handles) return "there is no reclaim unit handle " + std::to_string(handle);
    if (std::count(handles.begin(), handles.end(), handle) > 1) return "reclaim unit handle " + std::to_string(handle) + " occurs twice";
    if (controller_specified(group, handle))
      return "reclaim unit handle " + std::to_string(handle) + " is the subsystem's choice for others";
  }
  return {};
}

void Placement::add(const Namespace& ns, const std::vector<std::uint16_t>& handles) {
  const std::uint16_t group = ns.endurance_group();
  if (!enabled(group)) return;
  Handles made{group, handles, !handles.empty()};
  if (handles.empty()) made.list = {std::min(chosen_handle(group), static_cast<std::uint16_t>(configuration(group).handles - 1))};
  if (subsystem_.departs(departure::fdp_handles_swapped)) std::sort(made.list.begin(), made.list.end());
  namespaces_[ns.nsid()] = std::move(made);
}

void Placement::remove(std::uint32_t nsid) {
  const Handles* const handles = handles_of(nsid);
  if (handles == nullptr) return;
  discard(nsid);
  const std::uint16_t group = handles->group;
  if (subsystem_.departs(departure::fdp_statistics_gone)) at(group).counters = {};
  if (!subsystem_.departs(departure::fdp_usage_kept)) namespaces_.erase(nsid);
}

// ---- units ----

Placement::Reference& Placement::reference(Group& group, std::uint32_t reclaim_group, std::uint16_t handle, const PlacementTime& time) {
  ReclaimGroup& in = group.reclaim_groups[reclaim_group];
  if (const auto found = in.open.find(handle); found != in.open.end()) return found->second;
  // What cannot be collected is taken from media that nobody knows of.
  while (in.units.size() >= group.units_max && collect(group, reclaim_group, time)) continue;
  const std::uint32_t unit = in.next++;
  in.units[unit] = {};
  return in.open[handle] = {unit, time.now};
}

void Placement::close(Group& group, std::uint32_t reclaim_group, std::uint16_t handle) {
  ReclaimGroup& in = group.reclaim_groups[reclaim_group];
  const auto found = in.open.find(handle);
  if (found == in.open.end()) return;
  const std::uint32_t unit = found->second.unit;
  in.open.erase(found);
  in.units[unit].open = false;
  release_if_empty(group, reclaim_group, unit);
}

void Placement::release_if_empty(Group& group, std::uint32_t reclaim_group, std::uint32_t unit) {
  const auto found = group.reclaim_groups[reclaim_group].units.find(unit);
  if (found != group.reclaim_groups[reclaim_group].units.end() && !found->second.open && found->second.valid == 0) {
    erase(group, reclaim_group, unit);
  }
}

void Placement::erase(Group& group, std::uint32_t reclaim_group, std::uint32_t unit) {
  group.reclaim_groups[reclaim_group].units.erase(unit);
  group.counters.erased_bytes += group.configuration->unit_bytes;
}

void Placement::move(Group& group, const BlockKey& key, Extent extent) {
  ReclaimGroup& in = group.reclaim_groups[extent.reclaim_group];
  constexpr std::uint16_t kShared = 0xFFFF;
  const std::uint16_t by = persistent(group, extent.handle) ? extent.handle : kShared;
  std::uint64_t lba = key.second;
  while (extent.blocks != 0) {
    auto collector = in.collectors.find(by);
    if (collector != in.collectors.end()) {
      Unit& unit = in.units[collector->second];
      const std::uint64_t left = (group.configuration->unit_bytes - unit.written) / extent.block_bytes;
      if (left == 0) {
        unit.open = false;
        in.collectors.erase(collector);
        continue;
      }
      Extent part = extent;
      part.blocks = std::min(left, extent.blocks);
      part.unit = collector->second;
      unit.written += part.blocks * part.block_bytes;
      unit.valid += part.blocks * part.block_bytes;
      group.counters.media_bytes += part.blocks * part.block_bytes;
      group.extents[{key.first, lba}] = part;
      lba += part.blocks;
      extent.blocks -= part.blocks;
    } else {
      in.units[in.next] = {};
      in.collectors[by] = in.next++;
    }
  }
}

/// Moves what is valid out of the full unit with the least of it. False: nothing would come of that.
bool Placement::collect(Group& group, std::uint32_t reclaim_group, const PlacementTime& time) {
  ReclaimGroup& in = group.reclaim_groups[reclaim_group];
  std::uint32_t victim = 0;
  std::uint64_t least = group.configuration->unit_bytes;
  for (const auto& [id, unit] : in.units) {
    if (!unit.open && unit.valid < least) victim = id, least = unit.valid;
  }
  if (victim == 0) return false;
  std::vector<std::pair<BlockKey, Extent>> moved;
  for (const auto& [key, extent] : group.extents) {
    if (extent.reclaim_group == reclaim_group && extent.unit == victim) moved.emplace_back(key, extent);
  }
  std::map<std::uint16_t, Event> told;
  for (const auto& [key, extent] : moved) {
    group.extents.erase(key);
    move(group, key, extent);
    if (persistent(group, extent.handle)) continue;
    Event& event = told[extent.handle];
    if (event.moved == 0) {
      event = {FdpEventType::media_reallocated,
               key.first,
               identifier(key.first, reclaim_group, extent.handle),
               reclaim_group,
               extent.handle,
               key.second,
               0};
    }
    event.moved += extent.blocks;
  }
  erase(group, reclaim_group, victim);
  for (const auto& [handle, event] : told) record(group, event, time);
  return true;
}

void Placement::invalidate(Group& group, std::uint32_t nsid, std::uint64_t lba, std::uint64_t blocks) {
  const std::uint64_t end = lba + blocks;
  auto at = group.extents.upper_bound({nsid, lba});
  if (at != group.extents.begin()) {
    const auto before = std::prev(at);
    if (before->first.first == nsid && before->first.second + before->second.blocks > lba) at = before;
  }
  while (at != group.extents.end() && at->first.first == nsid && at->first.second < end) {
    const std::uint64_t first = at->first.second;
    const Extent extent = at->second;
    const std::uint64_t last = first + extent.blocks;
    at = group.extents.erase(at);
    const std::uint64_t from = std::max(first, lba), to = std::min(last, end);
    if (first < from) {
      Extent head = extent;
      head.blocks = from - first;
      group.extents[{nsid, first}] = head;
    }
    if (to < last) {
      Extent tail = extent;
      tail.blocks = last - to;
      at = group.extents.emplace(BlockKey{nsid, to}, tail).first;
    }
    group.reclaim_groups[extent.reclaim_group].units[extent.unit].valid -= (to - from) * extent.block_bytes;
    release_if_empty(group, extent.reclaim_group, extent.unit);
    if (to < last) break;
  }
}

// ---- data ----

bool Placement::group_valid(const Handles& handles, std::uint16_t id) const {
  const FdpConfiguration& configuration = *at(handles.group).configuration;
  // With one reclaim group the bits that would name it are ignored.
  return configuration.reclaim_groups == 1 || nvme::reclaim_group_of(id, configuration.group_bits) < configuration.reclaim_groups;
}

bool Placement::handle_valid(const Handles& handles, std::uint16_t id) const {
  return nvme::placement_handle_of(id, configuration(handles.group).group_bits) < handles.list.size();
}

std::uint64_t Placement::room(const Group& group, std::uint32_t reclaim_group, std::uint16_t handle) const {
  const ReclaimGroup& in = group.reclaim_groups[reclaim_group];
  const auto found = in.open.find(handle);
  const std::uint64_t written = found == in.open.end() ? 0 : in.units.at(found->second.unit).written;
  return group.configuration->unit_bytes - written;
}

std::uint32_t Placement::roomiest(const Group& group, std::uint16_t handle) const {
  std::uint32_t best = 0;
  for (std::uint32_t one = 1; one < group.configuration->reclaim_groups; ++one) {
    if (room(group, one, handle) > room(group, best, handle)) best = one;
  }
  return best;
}

std::uint16_t Placement::identifier(std::uint32_t nsid, std::uint32_t reclaim_group, std::uint16_t handle) const {
  const Handles* const handles = handles_of(nsid);
  if (handles == nullptr) return 0;
  const auto found = std::find(handles->list.begin(), handles->list.end(), handle);
  const auto index = found == handles->list.end() ? 0 : found - handles->list.begin();
  return nvme::placement_id(reclaim_group, static_cast<unsigned>(index), configuration(handles->group).group_bits);
}

void Placement::write(const Write& write, const PlacementTime& time) {
  const Handles* const handles = handles_of(write.nsid);
  if (handles == nullptr || write.blocks == 0) return;
  Group& group = at(handles->group);
  const FdpConfiguration& configuration = *group.configuration;
  expire(handles->group, time);
  invalidate(group, write.nsid, write.lba, write.blocks);
  const bool valid = write.directed && group_valid(*handles, write.id) && handle_valid(*handles, write.id);
  unsigned index = valid ? nvme::placement_handle_of(write.id, configuration.group_bits) : 0u;
  if (subsystem_.departs(departure::fdp_write_handle)) index = 0;
  if (!write.directed && subsystem_.departs(departure::fdp_write_undirected)) index = static_cast<unsigned>(handles->list.size() - 1);
  const std::uint16_t handle = handles->list[index];
  const bool one = configuration.reclaim_groups == 1;
  std::uint32_t in = valid && !one ? nvme::reclaim_group_of(write.id, configuration.group_bits) : one ? 0 : roomiest(group, handle);
  if (subsystem_.departs(departure::fdp_write_group)) in = 0;
  if (write.directed && !valid && !subsystem_.departs(departure::fdp_event_invalid_missing)) {
    record(group, {FdpEventType::invalid_placement_id, write.nsid, write.id, in, handle, 0, 0}, time);
  }
  const std::uint64_t bytes = write.blocks * write.block_bytes;
  if (!subsystem_.departs(departure::fdp_statistics_host)) group.counters.host_bytes += bytes;
  if (!subsystem_.departs(departure::fdp_statistics_media)) group.counters.media_bytes += bytes;
  std::uint64_t lba = write.lba, left = write.blocks;
  while (left != 0) {
    const Reference& to = reference(group, in, handle, time);
    Unit& unit = group.reclaim_groups[in].units[to.unit];
    const std::uint64_t fits = (configuration.unit_bytes - unit.written) / write.block_bytes;
    const std::uint64_t blocks = std::min(fits, left);
    unit.written += blocks * write.block_bytes;
    unit.valid += blocks * write.block_bytes;
    if (blocks != 0) group.extents[{write.nsid, lba}] = {blocks, write.block_bytes, in, to.unit, handle};
    lba += blocks;
    left -= blocks;
    if (configuration.unit_bytes - unit.written >= write.block_bytes) continue;
    close(group, in, handle);
    const std::uint16_t id = identifier(write.nsid, in, handle);
    if (left != 0) record(group, {FdpEventType::implicitly_modified, write.nsid, id, in, handle, 0, 0}, time);
  }
}

void Placement::deallocate(std::uint32_t nsid, std::uint64_t lba, std::uint64_t blocks) {
  const Handles* const handles = handles_of(nsid);
  if (handles != nullptr) invalidate(at(handles->group), nsid, lba, blocks);
}

void Placement::discard(std::uint32_t nsid) { deallocate(nsid, 0, std::numeric_limits<std::uint64_t>::max()); }

void Placement::update(std::uint32_t nsid, std::uint16_t id, const PlacementTime& time) {
  const Handles* const handles = handles_of(nsid);
  if (handles == nullptr || subsystem_.departs(departure::fdp_update_ignored)) return;
  Group& group = at(handles->group);
  const FdpConfiguration& configuration = *group.configuration;
  const unsigned index = nvme::placement_handle_of(id, configuration.group_bits);
  if (!handle_valid(*handles, id)) return;  // a deviation let it through
  const std::uint16_t handle = handles->list[index];
  std::uint32_t in = configuration.reclaim_groups == 1 ? 0 : nvme::reclaim_group_of(id, configuration.group_bits);
  if (in >= configuration.reclaim_groups || subsystem_.departs(departure::fdp_update_group)) in = 0;
  expire(handles->group, time);
  const bool empty = room(group, in, handle) == configuration.unit_bytes;
  if (!empty) close(group, in, handle);
  if (!empty && !subsystem_.departs(departure::fdp_event_update_missing)) {
    record(group, {FdpEventType::not_fully_written, nsid, id, in, handle, 0, 0}, time);
  }
  if (!subsystem_.departs(departure::fdp_update_all)) return;
  for (const std::uint16_t other : handles->list) close(group, in, other);
}

void Placement::expire(std::uint16_t group_id, const PlacementTime& time) {
  Group& group = at(group_id);
  const std::uint32_t limit = group.configuration->time_limit_s;
  if (limit == 0) return;
  for (std::uint32_t in = 0; in < group.configuration->reclaim_groups; ++in) {
    std::vector<std::uint16_t> late;
    for (auto& [handle, to] : group.reclaim_groups[in].open) {
      if (time.now - to.since >= Duration::s(limit)) late.push_back(handle);
    }
    for (const std::uint16_t handle : late) {
      close(group, in, handle);
      const std::vector<std::uint32_t> users = users_of(group_id, handle);
      const std::uint32_t nsid = users.empty() ? 0 : users.front();
      record(group, {FdpEventType::time_limit_exceeded, nsid, identifier(nsid, in, handle), in, handle, 0, 0}, time);
    }
  }
}

std::vector<nvme::HandleStatus> Placement::statuses(std::uint32_t nsid, std::uint32_t block_bytes, const PlacementTime& time) {
  std::vector<nvme::HandleStatus> all;
  const Handles* const handles = handles_of(nsid);
  if (handles == nullptr) return all;
  Group& group = at(handles->group);
  const FdpConfiguration& configuration = *group.configuration;
  expire(handles->group, time);
  for (std::size_t index = 0; index < handles->list.size(); ++index) {
    for (std::uint32_t in = 0; in < configuration.reclaim_groups; ++in) {
      const std::uint16_t handle = handles->list[index];
      nvme::HandleStatus one;
      one.id = nvme::placement_id(in, static_cast<unsigned>(index), configuration.group_bits);
      one.handle = subsystem_.departs(departure::fdp_receive_ruhid) ? static_cast<std::uint16_t>(index) : handle;
      const std::uint64_t bytes = subsystem_.departs(departure::fdp_receive_room) ? configuration.unit_bytes : room(group, in, handle);
      one.blocks_left = subsystem_.departs(departure::fdp_receive_bytes) ? bytes : bytes / block_bytes;
      if (configuration.time_limit_s != 0) {
        const auto open = group.reclaim_groups[in].open.find(handle);
        const std::int64_t used = open == group.reclaim_groups[in].open.end() ? 0 : (time.now - open->second.since).count_ms() / 1000;
        one.time_left_s = static_cast<std::uint32_t>(std::max<std::int64_t>(configuration.time_limit_s - used, 1));
      }
      all.push_back(one);
    }
  }
  return all;
}

}  // namespace fb::subsystem
