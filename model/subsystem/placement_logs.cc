// What the subsystem tells of Flexible Data Placement: log pages 20h to 23h, and the events that fill the last.
#include <algorithm>

#include "model/subsystem/placement.h"
#include "model/subsystem/placement_fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/logs.h"

namespace fb::subsystem {

using nvme::FdpEventType;
using nvme::ReclaimUnitHandleUse;

Bytes Placement::configurations() const {
  std::vector<nvme::FdpConfigurationFacts> all;
  for (const FdpConfiguration& one : subsystem_.options().fdp.configurations) {
    nvme::FdpConfigurationFacts facts;
    facts.group_bits = subsystem_.departs(departure::fdp_config_groups) ? 0u : one.group_bits;
    facts.valid = true;
    facts.write_cache = subsystem_.options().volatile_write_cache || subsystem_.departs(departure::fdp_config_cache);
    facts.reclaim_groups = one.reclaim_groups;
    const std::uint64_t product = std::uint64_t{one.reclaim_groups} * one.handles;
    facts.identifiers_max = subsystem_.departs(departure::fdp_config_identifiers) ? product + 1 : one.identifiers_max;
    facts.namespaces = subsystem_.departs(departure::fdp_config_namespaces) ? subsystem_.options().namespaces_max + 1 : one.namespaces_max;
    facts.unit_bytes = one.unit_bytes;
    facts.time_limit_s = one.time_limit_s;
    for (std::uint16_t handle = 0; handle < one.handles; ++handle) {
      const bool persists = handle + one.persistent_handles >= one.handles;
      facts.handles.push_back(persists ? nvme::ReclaimUnitHandleType::persistently_isolated
                                       : nvme::ReclaimUnitHandleType::initially_isolated);
      if (subsystem_.departs(departure::fdp_config_type)) facts.handles.back() = nvme::ReclaimUnitHandleType{};
    }
    if (subsystem_.departs(departure::fdp_config_empty)) facts.handles.clear();
    all.push_back(facts);
  }
  Bytes log = nvme::make_fdp_configurations(all);
  MutableView<nvme::FdpConfigurationsHeader> header{MutableBytes{log}.first(nvme::FdpConfigurationsHeader::size)};
  if (subsystem_.departs(departure::fdp_config_size)) {
    header.set(nvme::fdp_configurations::sze, log.size() - nvme::FdpConfigurationsHeader::size);
  }
  if (subsystem_.departs(departure::fdp_config_version)) header.set(nvme::fdp_configurations::ver, 1u);
  if (subsystem_.departs(departure::fdp_config_count)) header.set(nvme::fdp_configurations::numfdpc, all.size());
  if (subsystem_.departs(departure::fdp_config_descriptor)) {
    store_le(log.data() + nvme::FdpConfigurationsHeader::size, static_cast<std::uint16_t>(nvme::FdpConfigurationDescriptor::size));
  }
  return log;
}

Bytes Placement::usage(std::uint16_t group) const {
  const std::uint16_t count = configuration(group).handles;
  Bytes log(nvme::HandleUsageHeader::size + count * nvme::HandleUsageDescriptor::size);
  std::uint16_t used = 0;
  for (std::uint16_t handle = 0; handle < count; ++handle) {
    ReclaimUnitHandleUse use = ReclaimUnitHandleUse::unused;
    if (!users_of(group, handle).empty()) {
      use = controller_specified(group, handle) ? ReclaimUnitHandleUse::controller_specified : ReclaimUnitHandleUse::host_specified;
      ++used;
    }
    if (use == ReclaimUnitHandleUse::host_specified && subsystem_.departs(departure::fdp_usage_host)) {
      use = ReclaimUnitHandleUse::controller_specified;
    } else if (use == ReclaimUnitHandleUse::controller_specified && subsystem_.departs(departure::fdp_usage_controller)) {
      use = ReclaimUnitHandleUse::host_specified;
    } else if (use == ReclaimUnitHandleUse::unused && subsystem_.departs(departure::fdp_usage_unused)) {
      use = ReclaimUnitHandleUse::host_specified;
    }
    log[nvme::HandleUsageHeader::size + handle * nvme::HandleUsageDescriptor::size] = static_cast<std::uint8_t>(use);
  }
  store_le(log.data(), subsystem_.departs(departure::fdp_usage_count) ? used : count);
  return log;
}

Bytes Placement::statistics(std::uint16_t group) const {
  const FdpCounters& counters = at(group).counters;
  Bytes log(nvme::FdpStatistics::size);
  store_le(log.data() + nvme::fdp_statistics::hbmw.offset, counters.host_bytes);
  store_le(log.data() + nvme::fdp_statistics::mbmw.offset, counters.media_bytes);
  store_le(log.data() + nvme::fdp_statistics::mbe.offset, counters.erased_bytes);
  return log;
}

Bytes Placement::events(std::uint16_t group, bool of_host) const {
  const Group& of = at(group);
  const bool mixed = subsystem_.departs(departure::fdp_events_mixed);
  std::deque<Bytes> list = of_host || mixed ? of.host_events : of.controller_events;
  if (subsystem_.departs(departure::fdp_events_order)) std::reverse(list.begin(), list.end());
  Bytes log(nvme::kFdpEventsSize);
  const std::uint32_t less = subsystem_.departs(departure::fdp_events_count) && !list.empty() ? 1 : 0;
  store_le(log.data(), static_cast<std::uint32_t>(list.size()) - less);
  std::size_t at = nvme::FdpEventsHeader::size;
  for (const Bytes& event : list) {
    std::copy(event.begin(), event.end(), log.begin() + static_cast<std::ptrdiff_t>(at));
    at += nvme::FdpEvent::size;
  }
  return log;
}

std::vector<FdpEventType> Placement::event_types(std::uint16_t group) const {
  std::vector<FdpEventType> types = {FdpEventType::not_fully_written};
  if (configuration(group).time_limit_s != 0) types.push_back(FdpEventType::time_limit_exceeded);
  types.insert(types.end(), {FdpEventType::invalid_placement_id, FdpEventType::media_reallocated, FdpEventType::implicitly_modified});
  return types;
}

bool Placement::event_enabled(std::uint16_t group, std::uint16_t handle, FdpEventType type) const {
  const auto found = at(group).wanted.find(handle);
  return found != at(group).wanted.end() && found->second.contains(type);
}

void Placement::enable_event(std::uint16_t group, std::uint16_t handle, FdpEventType type, bool on) {
  const bool all = subsystem_.departs(departure::fdp_events_all);
  for (std::uint16_t one = 0; one < configuration(group).handles; ++one) {
    if (one != handle && !all) continue;
    if (on) {
      at(group).wanted[one].insert(type);
    } else {
      at(group).wanted[one].erase(type);
    }
  }
}

void Placement::record(Group& group, const Event& event, const PlacementTime& time) {
  namespace fe = nvme::fdp_event;
  const auto wanted = group.wanted.find(event.handle);
  const bool asked = wanted != group.wanted.end() && wanted->second.contains(event.type);
  if (!asked && !subsystem_.departs(departure::fdp_events_unasked)) return;
  Record<nvme::FdpEvent> out;
  const bool located = !subsystem_.departs(departure::fdp_event_location);
  const std::uint32_t nsid = subsystem_.departs(departure::fdp_event_nsid) ? 1 : event.nsid;
  out.set(fe::etyp, event.type)
      .set(fe::piv, event.nsid != 0)
      .set(fe::nsidv, event.nsid != 0)
      .set(fe::lv, located)
      .set(fe::pid, subsystem_.departs(departure::fdp_event_pid) ? std::uint16_t{0} : event.id)
      .set(fe::nsid, nsid)
      .set(fe::rgid, event.reclaim_group)
      .set(fe::ruhid, located ? event.handle : event.handle + 1u);
  out.set(fe::etmsp, ByteView{time.stamp.bytes()});
  if (event.type == FdpEventType::media_reallocated) {
    Record<nvme::MediaReallocated> specific;
    specific.set(nvme::media_reallocated::lbav, true)
        .set(nvme::media_reallocated::nlbam, std::min<std::uint64_t>(event.moved, 0xFFFF))
        .set(nvme::media_reallocated::lba, event.lba);
    out.set(fe::etsp, ByteView{specific.bytes()});
  }
  std::deque<Bytes>& list = nvme::is_host_event(event.type) ? group.host_events : group.controller_events;
  const std::size_t most = std::clamp<std::size_t>(subsystem_.options().fdp.events_max, 1, nvme::kFdpEventsMax);
  if (list.size() >= most) {
    if (subsystem_.departs(departure::fdp_events_newest)) return;
    list.pop_front();
  }
  list.emplace_back(out.bytes().begin(), out.bytes().end());
}

}  // namespace fb::subsystem
