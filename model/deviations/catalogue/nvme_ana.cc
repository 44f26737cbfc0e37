// Asymmetric namespace access, claimed and kept wrongly.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/sqe.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
namespace departure = subsystem::departure;
namespace id = nvme::id_ctrl;

bool is(const CommandContext& command, AdminOpcode opcode) { return is_admin(command, static_cast<std::uint8_t>(opcode)); }
bool reads_ana(const CommandContext& command) {
  return is(command, AdminOpcode::get_log_page) && (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(nvme::LogPage::ana);
}
bool asks_for_groups_only(const CommandContext& command) {
  return reads_ana(command) && (cdw10_of(command) >> 8 & nvme::kAnaGroupsOnly) != 0;
}
/// What Identify Controller claims at `offset`; null in answers to other commands.
std::uint8_t* claim(const CommandContext& command, MutableBytes data, std::size_t offset) {
  return identifies(command, nvme::Cns::controller) && data.size() == nvme::kIdentifySize ? data.data() + offset : nullptr;
}
constexpr std::uint32_t kNotices = nvme::event_config_bits::ana_change;

void has_no_optimized_state(const CommandContext& command, MutableBytes data) {
  if (auto* const anacap = claim(command, data, id::anacap.offset)) *anacap &= static_cast<std::uint8_t>(~nvme::anacap_bits::optimized);
}
void has_no_transition_time(const CommandContext& command, MutableBytes data) {
  if (auto* const anatt = claim(command, data, id::anatt.offset)) *anatt = 0;
}
void has_more_groups_than_identifiers(const CommandContext& command, MutableBytes data) {
  if (auto* const groups = claim(command, data, id::nanagrpid.offset)) {
    store_le(groups, load_le<std::uint32_t>(data.data() + id::anagrpmax.offset) + 1);
  }
}
void announces_nothing(const CommandContext& command, MutableBytes data) {
  if (auto* const oaes = claim(command, data, id::oaes.offset)) store_le(oaes, load_le<std::uint32_t>(oaes) & ~kNotices);
}
void has_a_time_all_the_same(const CommandContext& command, MutableBytes data) {
  if (auto* const anatt = claim(command, data, id::anatt.offset)) *anatt = 10;
}
/// Identify Namespace says this ANA group.
template <std::uint32_t Group>
void is_in_group(const CommandContext& command, MutableBytes data) {
  if (identifies(command, nvme::Cns::identify_namespace) && data.size() == nvme::kIdentifySize) {
    store_le(data.data() + nvme::id_ns::anagrpid.offset, Group);
  }
}
/// The first group's state, where the log has one.
void set_first_state(MutableBytes data, std::uint8_t state) {
  constexpr std::size_t kState = nvme::AnaHeader::size + nvme::ana_group::state.offset;
  if (data.size() > kState) data[kState] = state;
}
void is_in_a_reserved_state(const CommandContext& command, MutableBytes data) {
  if (reads_ana(command)) set_first_state(data, 5);
}
void is_better_alone(const CommandContext& command, MutableBytes data) {
  if (asks_for_groups_only(command)) set_first_state(data, static_cast<std::uint8_t>(nvme::AnaState::non_optimized));
}
void is_always_optimized(const CommandContext& command, MutableBytes data) {
  if (reads_ana(command)) set_first_state(data, static_cast<std::uint8_t>(nvme::AnaState::optimized));
}
bool compares_all_the_same(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "io.ana.inaccessible" || !is_io(command, static_cast<std::uint8_t>(nvme::IoOpcode::compare));
}
bool zeroes_all_the_same(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "io.ana.change" || !is_io(command, static_cast<std::uint8_t>(nvme::IoOpcode::write_zeroes));
}
bool tells_reservation_features(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "io.ana.inaccessible" || !is(command, AdminOpcode::get_features);
}
bool sets_reservation_features(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "io.ana.change" || !is(command, AdminOpcode::set_features);
}
bool sets_features_of_all(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "io.ana.inaccessible" || !is(command, AdminOpcode::set_features) ||
         load_le<std::uint32_t>(command.sqe.data() + 4) != nvme::kAllNamespaces;
}

}  // namespace

DEVIATION(ana_without_the_optimized_state, "nvme.ana.claims", Product::controller, "reports ANA and does not claim the optimized state",
          hooks<AlteringDataOut, &has_no_optimized_state>());
DEVIATION(ana_without_a_transition_time, "nvme.ana.claims", Product::controller, "reports ANA with a transition time of 0",
          hooks<AlteringDataOut, &has_no_transition_time>());
DEVIATION(ana_groups_beyond_identifiers, "nvme.ana.claims", Product::controller, "has more ANA groups than ANAGRPMAX allows",
          hooks<AlteringDataOut, &has_more_groups_than_identifiers>());
DEVIATION(ana_without_notices, "nvme.ana.notices", Product::controller, "reports ANA and cannot announce its changes",
          hooks<AlteringDataOut, &announces_nothing>());
DEVIATION(ana_namespace_without_group, "nvme.ana.group-id", Product::controller, "reports ANA, and its namespaces are in no group",
          hooks<AlteringDataOut, &is_in_group<0>>());
DEVIATION(ana_log_of_other_groups, "nvme.ana.membership", Product::controller, "Identify Namespace says another ANA group than the log",
          hooks<AlteringDataOut, &is_in_group<7>>());
DEVIATION(ana_reserved_state, "nvme.ana.states", Product::controller, "an ANA group is in a reserved state",
          hooks<AlteringDataOut, &is_in_a_reserved_state>());
DEVIATION(ana_groups_alone_differ, "nvme.ana.groups-only", Product::controller,
          "an ANA group has another state when it is told without its namespaces", hooks<AlteringDataOut, &is_better_alone>());
DEVIATION(ana_time_without_ana, "nvme.ana.not-claimed", Product::controller, "names a transition time although it does not report ANA",
          hooks<AlteringDataOut, &has_a_time_all_the_same>());
DEVIATION(ana_group_without_ana, "nvme.ana.not-claimed", Product::controller,
          "its namespaces are in ANA groups although it does not report ANA", hooks<AlteringDataOut, &is_in_group<7>>());
DEVIATION(ana_log_is_stale, "nvme.ana.log-state", Product::controller, "the ANA log says optimized whatever happens",
          hooks<AlteringDataOut, &is_always_optimized>());
DEVIATION(ana_change_count_stays, "nvme.ana.change-count", Product::controller, "changes of ANA states are not counted in the log",
          Departs{departure::ana_count_stays});
DEVIATION(ana_group_count_stays, "nvme.ana.change-count", Product::controller, "changes of ANA states are not counted for their group",
          Departs{departure::ana_group_count_stays});
DEVIATION(ana_loses_access_in_silence, "nvme.ana.entry", Product::controller, "does not announce that a group becomes inaccessible",
          Departs{departure::ana_notice_missing});
DEVIATION(ana_refuses_non_optimized, "nvme.ana.non-optimized", Product::controller, "refuses commands where access is merely not optimized",
          Departs{departure::ana_non_optimized_refused});
DEVIATION(ana_state_of_the_subsystem, "nvme.ana.other-group", Product::controller,
          "every ANA group is in the state of the one that changed last", Departs{departure::ana_whole_subsystem});
DEVIATION(ana_compares_without_access, "nvme.ana.commands", Product::controller, "compares in an inaccessible group",
          hooks<Refusing, &compares_all_the_same>());
DEVIATION(ana_zeroes_in_transition, "nvme.ana.commands", Product::controller, "writes zeroes during an ANA transition",
          hooks<Refusing, &zeroes_all_the_same>());
DEVIATION(ana_refuses_log_pages, "nvme.ana.admin", Product::controller, "refuses log pages while a group is inaccessible",
          Departs{departure::ana_admin_refused});
DEVIATION(ana_tells_capacity_without_access, "nvme.ana.capacity", Product::controller,
          "Identify says how much of an inaccessible namespace is in use", Departs{departure::ana_capacity_kept});
DEVIATION(ana_tells_reservation_features, "nvme.ana.features", Product::controller,
          "tells reservation features of an inaccessible namespace", hooks<Refusing, &tells_reservation_features>());
DEVIATION(ana_sets_reservation_features, "nvme.ana.features", Product::controller, "sets reservation features during an ANA transition",
          hooks<Refusing, &sets_reservation_features>());
DEVIATION(ana_sets_features_of_all, "nvme.ana.features.all", Product::controller,
          "sets a feature for all namespaces although one is inaccessible", hooks<Refusing, &sets_features_of_all>());

}  // namespace fb::deviations
