#include "model/subsystem/endurance.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/endurance.h"

namespace fb::subsystem {

namespace eg = nvme::endurance_group;

EnduranceGroups::EnduranceGroups(Subsystem& subsystem, const EnduranceOptions& options, std::uint64_t capacity)
    : subsystem_(subsystem), options_(options), capacity_(capacity) {
  for (std::uint16_t id = 1; id <= options.groups; ++id) {
    const std::uint64_t bytes = options.group_bytes != 0 ? options.group_bytes : capacity / options.groups;
    groups_[id].capacity = bytes;
    if (options.nvm_sets) sets_[id] = {id, bytes};
  }
}

template <class Chosen>
std::uint64_t EnduranceGroups::namespace_bytes(Chosen&& chosen) const {
  std::uint64_t bytes = 0;
  for (const auto& [nsid, ns] : subsystem_.namespaces()) {
    if (chosen(*ns)) bytes += subsystem_.bytes_of(*ns);
  }
  return bytes;
}

std::uint64_t EnduranceGroups::unallocated() const {
  std::uint64_t taken = 0;
  for (const auto& [id, group] : groups_) taken += group.capacity;
  return capacity_ - std::min(capacity_, taken);
}

std::uint64_t EnduranceGroups::unallocated_of(std::uint16_t group) const {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return 0;
  std::uint64_t taken = 0;
  if (options_.nvm_sets) {
    for (const auto& [id, set] : sets_) taken += set.group == group ? set.capacity : 0;
  } else {
    taken = namespace_bytes([group](const Namespace& ns) { return ns.endurance_group() == group; });
  }
  return found->second.capacity - std::min(found->second.capacity, taken);
}

std::uint64_t EnduranceGroups::unallocated_of_set(std::uint16_t set) const {
  const auto found = sets_.find(set);
  if (found == sets_.end()) return 0;
  const std::uint64_t taken = namespace_bytes([set](const Namespace& ns) { return ns.nvm_set() == set; });
  return found->second.capacity - std::min(found->second.capacity, taken);
}

namespace {

/// The lowest that is free, at most `last`; 0: there is none.
template <class Map>
std::uint16_t free_identifier(const Map& used, std::uint16_t last) {
  for (std::uint16_t id = 1; id <= last; ++id) {
    if (!used.contains(id)) return id;
  }
  return 0;
}

}  // namespace

std::uint16_t EnduranceGroups::make_group(std::uint64_t bytes) {
  const std::uint16_t id = free_identifier(groups_, options_.groups_max);
  if (id != 0) groups_[id].capacity = bytes;
  return id;
}

std::uint16_t EnduranceGroups::make_set(std::uint16_t group, std::uint64_t bytes) {
  const std::uint16_t id = free_identifier(sets_, options_.groups_max);
  if (id != 0) sets_[id] = {group, bytes};
  return id;
}

template <class Chosen>
void EnduranceGroups::remove_namespaces(Chosen&& chosen) {
  std::vector<std::uint32_t> gone;
  for (const auto& [nsid, ns] : subsystem_.namespaces()) {
    if (chosen(*ns)) gone.push_back(nsid);
  }
  for (const std::uint32_t nsid : gone) subsystem_.remove_namespace(nsid);
}

void EnduranceGroups::remove_group(std::uint16_t group) {
  if (!subsystem_.departs(departure::endurance_orphans)) {
    remove_namespaces([group](const Namespace& ns) { return ns.endurance_group() == group; });
  }
  std::erase_if(sets_, [group](const auto& entry) { return entry.second.group == group; });
  groups_.erase(group);
  subsystem_.placement().forget_group(group);
}

void EnduranceGroups::remove_set(std::uint16_t set) {
  remove_namespaces([set](const Namespace& ns) { return ns.nvm_set() == set; });
  sets_.erase(set);
}

void EnduranceGroups::set_warning(std::uint16_t group, std::uint8_t bits) {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return;
  const auto news = static_cast<std::uint8_t>(bits & ~found->second.warning);
  found->second.warning = bits;
  if (news == 0 || subsystem_.departs(departure::endurance_silent)) return;
  for (const auto& [id, controller] : subsystem_.controllers()) controller->on_endurance_warning(group, news);
}

std::uint8_t EnduranceGroups::warnings() const {
  unsigned bits = 0;
  for (const auto& [id, group] : groups_) bits |= group.warning;
  return static_cast<std::uint8_t>(bits);
}

std::uint8_t EnduranceGroups::common_warnings() const {
  unsigned bits = groups_.empty() ? 0 : nvme::endurance_warning_bits::all;
  for (const auto& [id, group] : groups_) bits &= group.warning;
  return static_cast<std::uint8_t>(bits);
}

void EnduranceGroups::note_removed(const Namespace& ns) {
  const auto found = groups_.find(ns.endurance_group());
  if (found != groups_.end()) found->second.deleted += ns.totals();
}

std::uint16_t EnduranceGroups::first_set_of(std::uint16_t group) const {
  for (const auto& [id, set] : sets_) {
    if (set.group == group) return id;
  }
  return 0;
}

Bytes EnduranceGroups::log(std::uint16_t group) const {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return Bytes(nvme::EnduranceGroupLog::size);
  const Group& it = found->second;
  IoTotals totals = it.deleted;
  for (const auto& [nsid, ns] : subsystem_.namespaces()) {
    if (ns->endurance_group() == group) totals += ns->totals();
  }
  Record<nvme::EnduranceGroupLog> log;
  log.set(eg::cw, it.warning).set(eg::avsp, it.available_spare).set(eg::avspt, 10u).set(eg::pused, it.percentage_used);
  const MutableBytes bytes = log.mutable_bytes();
  const auto counter = [&](std::size_t offset, std::uint64_t value) { store_le(bytes.data() + offset, value); };
  // Billions of bytes, rounded up; zero stands for what is not reported.
  constexpr std::uint64_t kUnit = 1'000'000'000;
  const auto units = [](std::uint64_t amount) { return (amount + kUnit - 1) / kUnit; };
  counter(eg::ee.offset, units(it.capacity) * 1000);
  counter(eg::dur.offset, units(totals.bytes_read));
  counter(eg::duw.offset, units(totals.bytes_written));
  counter(eg::muw.offset, units(totals.bytes_written));
  counter(eg::hrc.offset, subsystem_.departs(departure::endurance_counts) ? 0 : totals.reads);
  counter(eg::hwc.offset, totals.writes);
  counter(eg::tegcap.offset, it.capacity);
  counter(eg::uegcap.offset, unallocated_of(group));
  return Bytes(bytes.begin(), bytes.end());
}

void EnduranceGroups::fill_group_list(MutableBytes page, std::uint16_t from) const {
  std::uint16_t count = 0;
  for (const auto& [id, group] : groups_) {
    if (id < from || count == nvme::kEnduranceGroupsMax) continue;
    ++count;
    store_le(page.data() + std::size_t{2} * count, id);
  }
  store_le(page.data(), count);
}

void EnduranceGroups::fill_set_list(MutableBytes page, std::uint16_t from) const {
  std::size_t count = 0;
  for (const auto& [id, set] : sets_) {
    if (id < from || count == nvme::kNvmSetsMax) continue;
    const MutableBytes entry = page.subspan(nvme::kNvmSetEntriesAt + count * nvme::NvmSetEntry::size, nvme::NvmSetEntry::size);
    MutableView<nvme::NvmSetEntry>{entry}.set(nvme::nvm_set::nvmsetid, id).set(nvme::nvm_set::endgid, set.group);
    store_le(entry.data() + nvme::nvm_set::tnvmsetcap.offset, set.capacity);
    store_le(entry.data() + nvme::nvm_set::unvmsetcap.offset, unallocated_of_set(id));
    ++count;
  }
  page[0] = static_cast<std::uint8_t>(count);
}

}  // namespace fb::subsystem
