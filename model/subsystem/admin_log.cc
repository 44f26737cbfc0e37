// Get Log Page.
#include <algorithm>
#include <map>

#include "model/subsystem/association_fault_points.h"
#include "model/subsystem/admin_table.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/cross_reset_fault_points.h"
#include "model/subsystem/discovery.h"
#include "model/subsystem/kv_fault_points.h"
#include "model/subsystem/placement_fault_points.h"
#include "model/subsystem/registration_fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace gl = nvme::get_log_sqe;
using nvme::LogPage;

bool LogPages::log_supported(std::uint8_t lid) const {
  const bool version_2 = subsystem_.has_version(2, 0);
  const bool discovery = subsystem_.discovery() != nullptr;
  switch (static_cast<LogPage>(lid)) {
    case LogPage::supported_pages:
      return version_2;
    case LogPage::error_information:
      return true;
    case LogPage::commands_effects:
      return !discovery || version_2;
    case LogPage::smart:
    case LogPage::firmware_slot:
    case LogPage::changed_namespaces:
      return !discovery;
    case LogPage::feature_effects:
      return !discovery && version_2;
    case LogPage::self_test:
      return !discovery && subsystem_.options().self_test.supported;
    case LogPage::sanitize_status:
      return !discovery && subsystem_.options().sanitize.supported();
    case LogPage::ana:
      return !discovery && subsystem_.options().ana;
    case LogPage::telemetry_host:
    case LogPage::telemetry_controller:
      return !discovery && subsystem_.options().telemetry.supported;
    case LogPage::persistent_event:
      return !discovery && subsystem_.options().persistent_log.supported;
    case LogPage::lba_status:
      return !discovery && subsystem_.options().lba_status.supported;
    case LogPage::endurance_group:
    case LogPage::endurance_group_events:
      return !discovery && subsystem_.options().endurance.supported();
    case LogPage::fdp_statistics:
      if (departs(departure::fdp_log_missing)) return false;
      [[fallthrough]];
    case LogPage::fdp_configurations:
    case LogPage::reclaim_unit_handle_usage:
    case LogPage::fdp_events:
      return !discovery && version_2 && subsystem_.options().fdp.supported();
    case LogPage::cross_controller_reset:
      return controller_.cross_reset_.supported() && !departs(departure::ccr_log_missing);
    case LogPage::lost_host:
      return controller_.cross_reset_.lost_host_supported() && !departs(departure::ccr_lost_missing);
    case LogPage::lockdown:
      return !discovery && version_2 && subsystem_.options().lockdown.supported;
    case LogPage::reservation_notification:
      return !discovery && subsystem_.options().reservations;
    case LogPage::changed_zones:
      return !discovery && subsystem_.options().zoned.supported;
    default:
      return controller_.registration_.supports_log(lid);
  }
}

/// The namespace, or the command set, that the page is asked of fits it. False: the command has been answered.
bool LogPages::log_of_namespace(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::GetLogPageSqe>();
  const auto page = static_cast<LogPage>(sqe.get(gl::lid));
  const std::uint32_t nsid = command.nsid();
  if (page == LogPage::changed_zones) {
    const Namespace* const ns = controller_.active_namespace(nsid);
    return (ns != nullptr && ns->zoned()) || !queue.refuse(command, check::log_changed_zones);
  }
  if (nsid != 0 && nsid != nvme::kAllNamespaces && queue.refuse(command, check::log_nsid)) return false;
  const bool sets = controller_.zoned_selected() || controller_.key_values_selected();
  const bool has = page != LogPage::commands_effects || !sets || controller_.has_command_set(sqe.get(gl::csi));
  return has || !queue.refuse(command, check::log_csi);
}

void LogPages::get_log_page(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::GetLogPageSqe>();
  const std::uint8_t lid = sqe.get(gl::lid);
  const std::uint64_t length = nvme::log_length(sqe);
  std::uint64_t offset = nvme::log_offset(sqe);
  if (!log_supported(lid) && queue.refuse(command, check::log_lid)) return;
  if (!log_of_namespace(command)) return;
  if (departs(departure::ana_admin_refused) && controller_.io_.unreachable_namespace() != nullptr) {
    return queue.complete(command, sc::ana_inaccessible);
  }
  if (sqe.get(gl::ot) && queue.refuse(command, check::log_offset_type)) return;
  if (offset % 4 != 0 && queue.refuse(command, check::log_offset_dword)) return;
  const std::uint8_t mdts = subsystem_.options().mdts;
  const std::uint64_t limit = mdts == 0 ? 1u << 24 : std::uint64_t{4096} << mdts;
  if (length > limit) {
    if (!queue.refuse(command, check::log_length)) queue.complete(command, sc::success);
    return;
  }
  DiscoveryService* const discovery = subsystem_.discovery();
  const bool discovery_log = lid == static_cast<std::uint8_t>(LogPage::discovery) && discovery;
  if (discovery_log) {
    const std::uint64_t genctr = discovery->generation();
    const bool stale = offset != 0 && controller_.genctr_known_ && controller_.genctr_seen_ != genctr;
    if (stale && queue.refuse(command, check::log_restart)) return;
    if (offset == 0) {
      controller_.genctr_seen_ = genctr;
      controller_.genctr_known_ = true;
    }
  }
  const bool hosts = lid == static_cast<std::uint8_t>(LogPage::host_discovery) && discovery;
  if (hosts && controller_.registration_.host_log_is_stale(offset) && queue.refuse(command, check::log_restart)) return;
  if (!log_request_ok(command, static_cast<LogPage>(lid))) return;
  const Bytes page = log_page(command, lid);
  if (offset > page.size() && queue.refuse(command, check::log_offset)) return;
  if (departs(departure::log_offset_ignored)) offset = 0;
  if (!queue.stage(command, static_cast<std::size_t>(length))) return;
  const MutableBytes out = command.data().first(static_cast<std::size_t>(length));
  const std::size_t from = static_cast<std::size_t>(std::min<std::uint64_t>(offset, page.size()));
  const std::size_t copied = std::min(out.size(), page.size() - from);
  std::copy_n(page.begin() + static_cast<std::ptrdiff_t>(from), copied, out.begin());
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(copied), out.end(), std::uint8_t{0});
  const bool retain = sqe.get(gl::rae) && !departs(departure::event_rae_clears);
  const bool out_of_band = queue.out_of_band();
  const std::uint16_t group = sqe.get(gl::lsi);  // the command is gone once it is answered
  const std::uint32_t nsid = command.nsid();
  queue.complete_with_data(command, out.size());
  // Out of band nothing is ever acknowledged, whatever RAE says (NVMe-MI 1.2).
  if (!retain && !out_of_band)
    acknowledge_log(lid, group, nsid);
  else if (lid == static_cast<std::uint8_t>(LogPage::lost_host) && departs(departure::lost_host_rae))
    controller_.cross_reset_.clear_lost_hosts();
}

void LogPages::acknowledge_log(std::uint8_t lid, std::uint16_t group, std::uint32_t nsid) {
  if (!controller_.associated_) return;
  const auto page = static_cast<LogPage>(lid);
  if (page == LogPage::telemetry_controller && !departs(departure::telemetry_available_stays)) {
    subsystem_.telemetry().acknowledge();
  }
  if (page == LogPage::endurance_group) controller_.endurance_pending_.erase(group);
  if (page == LogPage::lost_host) controller_.cross_reset_.clear_lost_hosts();
  if (page == LogPage::lba_status) controller_.lba_status_.release_lba_status();
  const bool zones = page == LogPage::changed_zones;
  if (zones) controller_.changed_zones_.erase(nsid);
  if (lid == static_cast<std::uint8_t>(LogPage::changed_namespaces) && !departs(departure::changed_list_kept)) {
    controller_.changed_namespaces_.clear();
  }
  if (lid == static_cast<std::uint8_t>(LogPage::reservation_notification) && !departs(departure::reservation_log_kept)) {
    controller_.reservation_log_.pop();
  }
  if (!departs(departure::event_not_rearmed)) controller_.events_.clear(lid, zones ? nsid : 0);
  if (departs(departure::event_any_log)) {
    for (unsigned any = 0; any < 256; ++any) controller_.events_.clear(static_cast<std::uint8_t>(any));
  }
  controller_.deliver_events();
}

Bytes LogPages::log_page(const Command& command, std::uint8_t lid) {
  switch (static_cast<LogPage>(lid)) {
    case LogPage::supported_pages:
      return log_supported_pages();
    case LogPage::error_information:
      return controller_.error_log_.log_errors();
    case LogPage::smart:
      return controller_.log_smart();
    case LogPage::firmware_slot:
      return log_firmware();
    case LogPage::changed_namespaces:
      return log_changed_namespaces();
    case LogPage::commands_effects:
      return log_effects(controller_.zoned_selected() || controller_.key_values_selected() ? command.as<nvme::GetLogPageSqe>().get(gl::csi)
                                                                                           : std::uint8_t{0});
    case LogPage::changed_zones:
      return log_changed_zones(command.nsid());
    case LogPage::ana: {
      const auto lsp = command.as<nvme::GetLogPageSqe>().get(gl::lsp);
      const bool groups_only = (lsp & nvme::kAnaGroupsOnly) != 0;
      return log_ana(groups_only && !departs(departure::ana_rgo_ignored));
    }
    case LogPage::feature_effects:
      return log_feature_effects();
    case LogPage::reservation_notification:
      return controller_.reservation_log_.page(!departs(departure::reservation_log_count));
    case LogPage::self_test:
      return controller_.self_test_.log_self_test();
    case LogPage::sanitize_status:
      return controller_.sanitize_.log_sanitize();
    case LogPage::telemetry_host:
      return subsystem_.telemetry().host_log();
    case LogPage::telemetry_controller:
      return subsystem_.telemetry().controller_log();
    case LogPage::persistent_event:
      return log_persistent(command);
    case LogPage::lba_status:
      return controller_.lba_status_.log_lba_status(command);
    case LogPage::endurance_group:
      return subsystem_.endurance().log(command.as<nvme::GetLogPageSqe>().get(gl::lsi));
    case LogPage::endurance_group_events:
      return log_endurance_events();
    case LogPage::fdp_configurations:
    case LogPage::reclaim_unit_handle_usage:
    case LogPage::fdp_statistics:
    case LogPage::fdp_events:
      return controller_.placement_.log(command, static_cast<LogPage>(lid));
    case LogPage::lockdown:
      return log_lockdown(command);
    case LogPage::cross_controller_reset:
      return controller_.cross_reset_.log((command.as<nvme::GetLogPageSqe>().get(gl::lsp) & nvme::kRemoveCompleted) != 0);
    case LogPage::lost_host:
      return controller_.cross_reset_.lost_host_log();
    case LogPage::discovery:
    case LogPage::host_discovery:
    case LogPage::ave_discovery:
    case LogPage::pull_model_request:
      return controller_.registration_.log(command);
    default:
      break;
  }
  return Bytes(nvme::kIdentifySize);
}

Bytes LogPages::log_supported_pages() const {
  Bytes page(nvme::SupportedPages::size);
  for (unsigned lid = 0; lid < 256; ++lid) {
    if (!log_supported(static_cast<std::uint8_t>(lid))) continue;
    edit_element<nvme::SupportedPage>(page, nvme::supported_pages::lids, lid)
        .set(nvme::supported_page::lsupp, true)
        .set(nvme::supported_page::lidsp, controller_.registration_.log_parameter(static_cast<std::uint8_t>(lid)));
  }
  return page;
}

std::uint8_t Controller::smart_warning() const {
  unsigned warning = subsystem_.critical_warning();
  if (!departs(departure::endurance_apart)) warning |= subsystem_.endurance().common_warnings();
  if (temperature_alarm_) warning |= nvme::smart_warning_bits::temperature;
  return static_cast<std::uint8_t>(warning);
}

Bytes Controller::log_smart() const {
  namespace sm = nvme::smart;
  Record<nvme::SmartLog> log;
  log.set(sm::cw, smart_warning())
      .set(sm::ctemp, subsystem_.temperature())
      .set(sm::avsp, subsystem_.available_spare())
      .set(sm::avspt, 10u)
      .set(sm::pused, subsystem_.percentage_used())
      .set(sm::egcws, subsystem_.endurance().warnings());
  // Data units are thousands of 512 bytes, rounded up.
  constexpr std::uint64_t kDataUnit = 512'000;
  nvme::set_counter(log, sm::dur, (counters_.bytes_read + kDataUnit - 1) / kDataUnit);
  nvme::set_counter(log, sm::duw, (counters_.bytes_written + kDataUnit - 1) / kDataUnit);
  nvme::set_counter(log, sm::hrc, counters_.reads);
  nvme::set_counter(log, sm::hwc, counters_.writes);
  nvme::set_counter(log, sm::pwrc, 1);
  nvme::set_counter(log, sm::poh, subsystem_.power_on_hours());
  nvme::set_counter(log, sm::neile, error_log_.error_count_);
  return Bytes(log.bytes().begin(), log.bytes().end());
}

Bytes LogPages::log_firmware() const {
  Record<nvme::FirmwareSlots> log;
  const FirmwareSlots& slots = subsystem_.firmware();
  log.set(nvme::firmware_slots::cafsi, slots.active())
      .set(nvme::firmware_slots::nrafsi, departs(departure::firmware_log_silent) ? 0u : slots.next());
  constexpr std::size_t kRevisionSize = 8;
  for (unsigned slot = 1; slots.exists(slot) || slot == 1; ++slot) {
    if (slots.revision(slot).empty()) continue;  // zeroes where there is no image
    const std::size_t at = nvme::firmware_slots::frs.offset + (slot - 1) * kRevisionSize;
    put_text(log.mutable_bytes().subspan(at, kRevisionSize), slots.revision(slot), ' ');
  }
  return Bytes(log.bytes().begin(), log.bytes().end());
}

Bytes LogPages::log_changed_namespaces() const {
  Bytes page(nvme::kNamespaceListMax * 4);
  if (controller_.changed_namespaces_.size() > nvme::kNamespaceListMax && !departs(departure::changed_list_cut)) {
    const std::uint32_t too_many[] = {nvme::kTooManyChangedNamespaces};
    nvme::write_namespace_list(page, too_many);
  } else {
    nvme::write_namespace_list(page, controller_.changed_namespaces_);
  }
  return page;
}

Bytes LogPages::log_effects(std::uint8_t command_set) const {
  namespace ce = nvme::command_effect;
  const bool zoned = command_set == static_cast<std::uint8_t>(nvme::CommandSet::zoned);
  Bytes page(nvme::CommandEffects::size);
  const bool has_io = subsystem_.discovery() == nullptr;
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const auto code = static_cast<std::uint8_t>(opcode);
    auto admin = edit_element<nvme::CommandEffect>(page, nvme::command_effects::acs, opcode);
    const bool extra =
        departs(departure::effects_too_many) && code == static_cast<std::uint8_t>(nvme::AdminOpcode::virtualization_management);
    const auto is = [code](nvme::AdminOpcode one) { return code == static_cast<std::uint8_t>(one); };
    const bool missing = (departs(departure::effects_missing) && is(nvme::AdminOpcode::identify)) ||
                         (departs(departure::ccr_effects_missing) && is(nvme::AdminOpcode::cross_controller_reset)) ||
                         (departs(departure::cdc_command_missing) && is(nvme::AdminOpcode::discovery_information_management));
    if ((controller_.admin_supported(code) || extra) && !missing) {
      const AdminCommand* const known = AdminCommand::find(code);
      const AdminEffects effects = known != nullptr ? known->effects : AdminEffects{};
      admin.set(ce::csupp, true)
          .set(ce::lbcc, effects.content)
          .set(ce::ncc, effects.capability)
          .set(ce::nic, effects.inventory)
          .set(ce::ccc, effects.controller)
          .set(ce::cse, effects.alone ? nvme::SubmissionRule::one_in_namespace : nvme::SubmissionRule::none);
    }
    if (command_set == static_cast<std::uint8_t>(nvme::CommandSet::key_value)) {
      edit_element<nvme::CommandEffect>(page, nvme::command_effects::iocs, opcode)
          .set(ce::csupp, controller_.key_values_.supported(code))
          .set(ce::lbcc, code == nvme::opcode_of(nvme::KvOpcode::store) || code == nvme::opcode_of(nvme::KvOpcode::remove));
      continue;
    }
    if (departs(departure::kv_effects_nvm) && code == nvme::opcode_of(nvme::KvOpcode::list) && controller_.key_values_selected()) {
      edit_element<nvme::CommandEffect>(page, nvme::command_effects::iocs, opcode).set(ce::csupp, true);
    }
    if (!has_io || !controller_.io_.io_supported(code)) continue;
    const auto io = static_cast<nvme::IoOpcode>(code);
    if (io == nvme::IoOpcode::io_management_send && departs(departure::fdp_command_missing)) continue;
    const bool changes_zones = io == nvme::IoOpcode::zone_append || io == nvme::IoOpcode::zone_management_send;
    const bool of_zones = changes_zones || io == nvme::IoOpcode::zone_management_receive;
    if (of_zones && (!zoned || departs(departure::zone_effects_missing))) continue;
    const bool changes = changes_zones || io == nvme::IoOpcode::write || io == nvme::IoOpcode::write_zeroes ||
                         io == nvme::IoOpcode::write_uncorrectable || io == nvme::IoOpcode::copy ||
                         io == nvme::IoOpcode::dataset_management;
    edit_element<nvme::CommandEffect>(page, nvme::command_effects::iocs, opcode).set(ce::csupp, true).set(ce::lbcc, changes);
  }
  return page;
}

Bytes LogPages::log_ana(bool groups_only) const {
  std::map<std::uint32_t, nvme::AnaGroup> groups;
  const std::uint16_t portid = controller_.port_ != nullptr ? controller_.port_->options().portid : std::uint16_t{0};
  for (const auto& [nsid, ns] : subsystem_.namespaces()) {
    if (!controller_.sees(*ns) && !departs(departure::nsa_ana_log)) continue;
    nvme::AnaGroup& group = groups[ns->ana_group()];
    group.id = ns->ana_group();
    group.state = subsystem_.ana_state(group.id, portid);
    group.change_count = subsystem_.ana_group_change_count(group.id);
    group.namespaces.push_back(nsid);
  }
  std::vector<nvme::AnaGroup> ordered;
  for (auto& [id, group] : groups) {
    if (departs(departure::ana_order)) std::reverse(group.namespaces.begin(), group.namespaces.end());
    ordered.push_back(std::move(group));
  }
  return nvme::make_ana_log(subsystem_.ana_change_count(), ordered, groups_only);
}

Bytes LogPages::log_feature_effects() const {
  namespace fe = nvme::feature_effect;
  Bytes page(nvme::FeatureEffects::size);
  for (unsigned fid = 0; fid < 256; ++fid) {
    if (!controller_.feature_supported(static_cast<std::uint8_t>(fid))) continue;
    const bool of_namespace = nvme::is_namespace_feature(static_cast<nvme::FeatureId>(fid));
    const bool of_subsystem = fid == static_cast<unsigned>(nvme::FeatureId::sanitize_configuration);
    const bool of_group = fid == static_cast<unsigned>(nvme::FeatureId::flexible_data_placement) && !departs(departure::fdp_scope);
    if (fid == static_cast<unsigned>(nvme::FeatureId::fdp_events) && departs(departure::fdp_feature_missing)) continue;
    edit_element<nvme::FeatureEffect>(page, nvme::feature_effects::fids, fid)
        .set(fe::fsupp, true)
        .set(fe::nic, of_namespace)
        .set(fe::fsp, of_namespace   ? nvme::scope_bits::namespace_scope
                      : of_subsystem ? nvme::scope_bits::nvm_subsystem
                      : of_group     ? nvme::scope_bits::endurance_group
                                     : nvme::scope_bits::controller);
  }
  return page;
}

}  // namespace fb::subsystem
