// Endurance groups, NVM sets and Capacity Management.
#include <algorithm>

#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "wire/nvme/endurance.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/logs.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
using nvme::LogPage;
namespace departure = subsystem::departure;

bool is(const CommandContext& command, AdminOpcode opcode) { return is_admin(command, static_cast<std::uint8_t>(opcode)); }
bool reads(const CommandContext& command, LogPage page) {
  return is(command, AdminOpcode::get_log_page) && (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(page);
}
std::optional<nvme::Status> no_information(const CommandContext& command) {
  if (!reads(command, LogPage::endurance_group)) return {};
  return nvme::sc::invalid_log_page;
}
void lists_from_the_first(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::endurance_group_list) || data.size() < 8) return;
  store_le(data.data(), std::uint16_t{2});
  store_le(data.data() + 2, std::uint16_t{1});
  store_le(data.data() + 4, std::uint16_t{2});
}
void is_in_no_group(const CommandContext& command, MutableBytes data) {
  if (identifies(command, nvme::Cns::identify_namespace) && data.size() == nvme::kIdentifySize) {
    store_le(data.data() + nvme::id_ns::endgid.offset, std::uint16_t{0});
  }
}
void is_in_no_set(const CommandContext& command, MutableBytes data) {
  if (identifies(command, nvme::Cns::identify_namespace) && data.size() == nvme::kIdentifySize) {
    store_le(data.data() + nvme::id_ns::nvmsetid.offset, std::uint16_t{30});
  }
}
void has_more_left_than_there_is(const CommandContext& command, MutableBytes data) {
  if (reads(command, LogPage::endurance_group) && data.size() == nvme::EnduranceGroupLog::size) {
    store_le(data.data() + nvme::endurance_group::uegcap.offset, std::uint64_t{1} << 60);
  }
}
void lists_a_group_for_ever(const CommandContext& command, MutableBytes data) {
  if (reads(command, LogPage::endurance_group_events) && data.size() >= 10) {
    store_le(data.data(), std::uint64_t{1});
    store_le(data.data() + 8, std::uint16_t{2});
  }
}
void sums_nothing_up(const CommandContext& command, MutableBytes data) {
  if (reads(command, LogPage::smart) && data.size() == nvme::SmartLog::size) data[nvme::smart::egcws.offset] = 0;
}
void sets_of_no_group(const CommandContext& command, MutableBytes data) {
  if (identifies(command, nvme::Cns::nvm_set_list) && data.size() == nvme::kIdentifySize) {
    store_le(data.data() + nvme::kNvmSetEntriesAt + nvme::nvm_set::endgid.offset, std::uint16_t{77});
  }
}

/// All of each set, whatever namespaces take.
void sets_stay_empty(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::nvm_set_list) || data.size() != nvme::kIdentifySize) return;
  for (std::size_t i = 0; i < data[0]; ++i) {
    const auto entry = data.begin() + static_cast<std::ptrdiff_t>(nvme::kNvmSetEntriesAt + i * nvme::NvmSetEntry::size);
    std::copy_n(entry + nvme::nvm_set::tnvmsetcap.offset, nvme::nvm_set::tnvmsetcap.size, entry + nvme::nvm_set::unvmsetcap.offset);
  }
}

}  // namespace

DEVIATION(endurance_without_information, "nvme.endurance.claim", Product::controller, "has no information of its endurance groups",
          hooks<Answering, &no_information>());
DEVIATION(endurance_list_from_the_first, "nvme.endurance.list", Product::controller, "lists all endurance groups whatever is asked",
          hooks<AlteringDataOut, &lists_from_the_first>());
DEVIATION(namespace_in_no_group, "nvme.endurance.namespace", Product::controller, "has namespaces in no endurance group",
          hooks<AlteringDataOut, &is_in_no_group>());
DEVIATION(endurance_of_nothing, "nvme.endurance.unknown", Product::controller, "gives information of groups that do not exist",
          Tolerate{"log.endurance.group"});
DEVIATION(endurance_events_of_nothing, "nvme.endurance.event.unknown", Product::controller, "configures events of groups that do not exist",
          Tolerate{"feature.endurance.group"});
DEVIATION(endurance_uncounted, "nvme.endurance.counts", Product::controller, "counts no reads", Departs{departure::endurance_counts});
DEVIATION(endurance_more_left, "nvme.endurance.capacity", Product::controller, "has more unallocated than in all",
          hooks<AlteringDataOut, &has_more_left_than_there_is>());
DEVIATION(namespace_made_in_no_group, "nvme.endurance.create", Product::controller, "makes namespaces in groups that do not exist",
          Tolerate{"namespace.create.endurance_group"});
DEVIATION(endurance_warnings_silent, "nvme.endurance.event", Product::controller, "does not announce warnings",
          Departs{departure::endurance_silent});
DEVIATION(endurance_warnings_forced, "nvme.endurance.event.disabled", Product::controller, "announces warnings whether asked to or not",
          Departs{departure::event_mask_ignored});
DEVIATION(endurance_events_stay, "nvme.endurance.event.read", Product::controller, "lists groups that have been read",
          hooks<AlteringDataOut, &lists_a_group_for_ever>());
DEVIATION(endurance_not_summed_up, "nvme.endurance.smart", Product::controller, "does not sum warnings up",
          hooks<AlteringDataOut, &sums_nothing_up>());
DEVIATION(endurance_apart_from_health, "nvme.endurance.smart.all", Product::controller, "does not warn of what all groups warn of",
          Departs{departure::endurance_apart});
DEVIATION(nvm_sets_in_no_group, "nvme.nvm-sets.list", Product::controller, "has NVM sets in groups that do not exist",
          hooks<AlteringDataOut, &sets_of_no_group>());
DEVIATION(nvm_sets_stay_empty, "nvme.nvm-sets.capacity", Product::controller, "has all of an NVM set unallocated with namespaces in it",
          hooks<AlteringDataOut, &sets_stay_empty>());
DEVIATION(namespace_in_no_set, "nvme.nvm-sets.namespace", Product::controller, "has namespaces in NVM sets that do not exist",
          hooks<AlteringDataOut, &is_in_no_set>());
DEVIATION(capacity_halved, "nvme.capacity.create", Product::controller, "makes groups smaller than asked",
          Departs{departure::capacity_half});
DEVIATION(capacity_without_limit, "nvme.capacity.room", Product::controller, "says success to more capacity than it has",
          Tolerate{"capacity.room"});
DEVIATION(capacity_without_identifiers, "nvme.capacity.identifier", Product::controller, "says success where no identifier is left",
          Tolerate{"capacity.identifier"});
DEVIATION(capacity_of_nothing, "nvme.capacity.unknown", Product::controller, "says success to deleting what does not exist",
          Tolerate{"capacity.element"});
DEVIATION(capacity_of_any_kind, "nvme.capacity.operation", Product::controller, "says success to reserved operations",
          Tolerate{"capacity.operation"});
DEVIATION(capacity_deleted_alone, "nvme.capacity.delete", Product::controller, "leaves the namespaces of a deleted group",
          Departs{departure::endurance_orphans});
DEVIATION(capacity_not_deleted, "nvme.capacity.delete", Product::controller, "says success to deletions and deletes nothing",
          Departs{departure::capacity_kept});
DEVIATION(nvm_sets_halved, "nvme.capacity.set.create", Product::controller, "makes NVM sets smaller than asked",
          Departs{departure::capacity_half});
DEVIATION(nvm_sets_not_deleted, "nvme.capacity.set.delete", Product::controller, "says success to deletions and deletes nothing",
          Departs{departure::capacity_kept});

}  // namespace fb::deviations
