// Identify.
#include <algorithm>
#include <bit>
#include <string>

#include "model/subsystem/controller.h"
#include "model/subsystem/cross_reset_fault_points.h"
#include "model/subsystem/kv_fault_points.h"
#include "model/subsystem/placement_fault_points.h"
#include "model/subsystem/registration_fault_points.h"
#include "model/subsystem/discovery.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/reservation.h"
#include "wire/nvme/sqe.h"
#include "wire/nvme/zones.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
using nvme::Cns;

namespace {

/// The last NSID that a list may start behind.
constexpr std::uint32_t kListStartMax = 0xFFFFFFFD;

constexpr auto kNvmCommandSet = static_cast<std::uint8_t>(nvme::CommandSet::nvm);
constexpr auto kKeyValueCommandSet = static_cast<std::uint8_t>(nvme::CommandSet::key_value);
constexpr auto kZonedCommandSet = static_cast<std::uint8_t>(nvme::CommandSet::zoned);

/// A list or a page of those that each command set has for itself.
bool names_command_set(Cns cns) {
  return cns == Cns::command_set_namespace || cns == Cns::command_set_allocated_namespace ||
         cns == Cns::command_set_active_namespace_list || cns == Cns::command_set_allocated_namespace_list;
}

/// RESCAP: all types, and IEKEY as revision 1.3 defines it.
std::uint8_t reservation_capabilities(const SubsystemOptions& options) {
  if (!options.reservations) return 0;
  constexpr unsigned kAll = 0xFF;
  return static_cast<std::uint8_t>(options.reservations_persist ? kAll : kAll & ~unsigned{nvme::rescap_bits::ptpl});
}

void set_text(MutableBytes page, std::size_t offset, std::size_t size, std::string_view text, char pad) {
  put_text(page.subspan(offset, size), text, pad);
}

}  // namespace

void IdentifyCommand::identify(const Command& command) {
  Queue& queue = *command.queue;
  Bytes& page = subsystem_.scratch();
  page.assign(nvme::kIdentifySize, 0);
  if (!identify_page(command, page)) return;
  if (!queue.stage(command, page.size())) return;
  std::copy(page.begin(), page.end(), command.data().begin());
  queue.complete_with_data(command, page.size() - (departs(departure::identify_short) ? 4 : 0));
}

/// False: the command has been answered.
bool IdentifyCommand::identify_page(const Command& command, MutableBytes page) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::IdentifySqe>();
  const Cns cns = static_cast<Cns>(sqe.get(nvme::identify_sqe::cns));
  const bool version_2 = subsystem_.has_version(2, 0);
  const bool allocates = subsystem_.options().namespace_management.supported;
  const bool zoned = subsystem_.options().zoned.supported;
  const bool pairs = subsystem_.options().key_value.supported;
  if (subsystem_.discovery() != nullptr && cns != Cns::controller) {
    return !queue.refuse(command, check::identify_cns);
  }
  switch (cns) {
    case Cns::controller:
      if (command.nsid() != 0 && queue.refuse(command, check::nsid_unused)) return false;
      fill_identify_controller(page);
      return true;
    case Cns::identify_namespace:
    case Cns::namespace_id_descriptors:
      return identify_namespace_page(command, page);
    case Cns::active_namespace_list:
      return identify_list_page(command, page);
    case Cns::controller_list:
      return identify_controllers_page(command, page);
    case Cns::allocated_namespace_list:
      if (allocates) return identify_list_page(command, page);
      break;
    case Cns::allocated_namespace:
      if (allocates) return identify_allocated_page(command, page);
      break;
    case Cns::namespace_controller_list:
      if (allocates) return identify_controllers_page(command, page);
      break;
    case Cns::command_set_namespace:
    case Cns::independent_namespace:
      if (version_2) return identify_namespace_page(command, page);
      break;
    case Cns::namespace_user_data_format:
    case Cns::command_set_user_data_format:
      if (version_2) return identify_format_page(command, page);
      break;
    case Cns::namespace_granularity_list:
      if (!allocates || subsystem_.options().namespace_management.granularity_bytes == 0) break;
      fill_granularity(page);
      return true;
    case Cns::allocated_independent_namespace:
      if (subsystem_.has_version(2, 1) && allocates) return identify_allocated_page(command, page);
      break;
    case Cns::command_set_active_namespace_list:
      if (version_2) return identify_list_page(command, page);
      break;
    case Cns::command_set_allocated_namespace_list:
      if (version_2 && allocates) return identify_list_page(command, page);
      break;
    case Cns::command_set_allocated_namespace:
      if (version_2 && allocates) return identify_allocated_page(command, page);
      break;
    case Cns::command_set_controller: {
      if (!version_2) break;
      if (command.nsid() != 0 && queue.refuse(command, check::nsid_unused)) return false;
      const std::uint8_t csi = sqe.get(nvme::identify_sqe::csi);
      if (!controller_.has_command_set(csi)) return !queue.refuse(command, check::identify_csi);
      const SubsystemOptions& options = subsystem_.options();
      if (csi == kKeyValueCommandSet) {
        if (departs(departure::kv_controller_page)) page[0] = 1;
        return true;
      }
      if (csi == kZonedCommandSet) {
        MutableView<nvme::IdentifyControllerZoned>{page}.set(nvme::id_ctrl_zoned::zasl, options.zoned.append_limit);
        return true;
      }
      MutableView<nvme::IdentifyControllerNvm>{page}
          .set(nvme::id_ctrl_nvm::vsl, options.verify ? options.verify_limit : 0u)
          .set(nvme::id_ctrl_nvm::wzsl, options.write_zeroes ? options.write_zeroes_limit : 0u);
      return true;
    }
    case Cns::nvm_set_list:
      if (!subsystem_.options().endurance.nvm_sets) break;
      subsystem_.endurance().fill_set_list(page, sqe.get(nvme::identify_sqe::cnssid));
      return true;
    case Cns::endurance_group_list:
      if (!version_2 || !subsystem_.options().endurance.supported()) break;
      subsystem_.endurance().fill_group_list(page, sqe.get(nvme::identify_sqe::cnssid));
      return true;
    case Cns::command_set_combinations: {
      if (!version_2) break;
      // The first has all there is: it is in force where a host selects nothing.
      const unsigned all =
          1u | (zoned ? 1u << kZonedCommandSet : 0u) | (pairs && !departs(departure::kv_combination) ? 1u << kKeyValueCommandSet : 0u);
      nvme::set_command_set_combination(page, 0, all);
      if (zoned || pairs) nvme::set_command_set_combination(page, 1, 1);
      return true;
    }
    default:
      break;
  }
  return !queue.refuse(command, check::identify_cns);
}

bool IdentifyCommand::identify_namespace_page(const Command& command, MutableBytes page) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::IdentifySqe>();
  const Cns cns = static_cast<Cns>(sqe.get(nvme::identify_sqe::cns));
  const std::uint32_t nsid = command.nsid();
  const std::uint8_t csi = sqe.get(nvme::identify_sqe::csi);
  if (names_command_set(cns) && !controller_.has_command_set(csi)) return !queue.refuse(command, check::identify_csi);
  const bool zoned_page = cns == Cns::command_set_namespace && csi == kZonedCommandSet;
  const bool pairs_page = cns == Cns::command_set_namespace && csi == kKeyValueCommandSet;
  // The capabilities that all namespaces share can be asked for by who may make one; nothing else of all of them.
  if (nsid == nvme::kAllNamespaces && cns != Cns::namespace_id_descriptors) {
    const bool offered = subsystem_.options().namespace_management.supported;
    if (!offered) return !queue.refuse(command, check::identify_broadcast);
    if (zoned_page) fill_zoned_namespace(nullptr, page);
    if (cns == Cns::identify_namespace) fill_common_namespace(page);
    if (pairs_page) fill_key_value_namespace(nullptr, page);
    if (cns == Cns::command_set_namespace && !zoned_page && !pairs_page) fill_nvm_namespace(nullptr, page);
    return true;
  }
  const bool valid = nsid != 0 && nsid <= subsystem_.options().namespaces_max;
  if (!valid && queue.refuse(command, check::identify_nsid)) return false;
  const Namespace* ns = controller_.active_namespace(nsid);
  if (ns == nullptr && departs(departure::identify_inactive) && !subsystem_.namespaces().empty()) {
    ns = subsystem_.namespaces().begin()->second.get();
  }
  if (ns == nullptr) {
    // An inactive NSID gets zeroes; but it has no names.
    return cns != Cns::namespace_id_descriptors || !queue.refuse(command, check::identify_inactive);
  }
  if (departs(departure::reservation_guards_all) && !controller_.reservations_.reservation_allows(command, *ns, Access::read)) return false;
  if (cns == Cns::command_set_namespace && (ns->key_value() || pairs_page)) return key_value_page(command, *ns, page);
  if (cns == Cns::identify_namespace && ns->key_value() && queue.refuse(command, check::kv_identify_blocks)) return false;
  if (cns == Cns::identify_namespace) fill_identify_namespace(*ns, page);
  if (cns == Cns::namespace_id_descriptors) fill_namespace_ids(*ns, page);
  if (cns == Cns::independent_namespace) fill_independent(*ns, page);
  if (zoned_page && !ns->zoned()) return !queue.refuse(command, check::identify_csi_namespace);
  if (zoned_page) fill_zoned_namespace(ns, page);
  if (cns == Cns::command_set_namespace && !zoned_page) fill_nvm_namespace(ns, page);
  return true;
}

bool IdentifyCommand::identify_list_page(const Command& command, MutableBytes page) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::IdentifySqe>();
  const Cns cns = static_cast<Cns>(sqe.get(nvme::identify_sqe::cns));
  const std::uint8_t csi = sqe.get(nvme::identify_sqe::csi);
  const bool of_set = names_command_set(cns);
  if (of_set && !controller_.has_command_set(csi)) return !queue.refuse(command, check::identify_csi);
  if (command.nsid() > kListStartMax && queue.refuse(command, check::identify_list_start)) {
    return false;
  }
  const bool allocated = cns == Cns::allocated_namespace_list || cns == Cns::command_set_allocated_namespace_list;
  const bool any_set = !of_set || departs(departure::zone_list_all);
  const bool all = allocated ? !departs(departure::nsa_active) : departs(departure::nsa_listed);
  std::vector<std::uint32_t> ids;
  for (const auto& [nsid, ns] : subsystem_.namespaces()) {
    if (!all && !controller_.sees(*ns)) continue;
    const bool of_pairs = csi == kKeyValueCommandSet;
    if (of_pairs && departs(departure::kv_list_first) && !ids.empty()) break;
    const bool every = any_set || (of_pairs && departs(departure::kv_list_all));
    if (!every && static_cast<std::uint8_t>(ns->command_set()) != csi) continue;
    if (nsid > command.nsid() || departs(departure::identify_list_start)) ids.push_back(nsid);
  }
  if (departs(departure::identify_list_order)) std::reverse(ids.begin(), ids.end());
  nvme::write_namespace_list(page, ids);
  return true;
}

void IdentifyCommand::fill_identify_controller(MutableBytes page) const {
  namespace id = nvme::id_ctrl;
  const SubsystemOptions& options = subsystem_.options();
  DiscoveryService* const discovery = subsystem_.discovery();
  MutableView<nvme::IdentifyController> out{page};
  set_text(page, id::sn.offset, id::sn.size, options.serial, ' ');
  set_text(page, id::mn.offset, id::mn.size, options.model, ' ');
  const bool stays = departs(departure::firmware_fr_stays);
  set_text(page, id::fr.offset, id::fr.size, stays ? options.firmware : subsystem_.firmware().running(), ' ');
  const bool other = departs(departure::cntlid_other_in_identify);
  auto type = discovery != nullptr ? nvme::ControllerType::discovery : nvme::ControllerType::io;
  if (departs(departure::identify_type)) type = nvme::ControllerType::administrative;
  out.set(id::vid, options.vid).set(id::ssvid, options.ssvid);
  out.set(id::cntlid, other ? controller_.cntlid_ + 1u : controller_.cntlid_)
      .set(id::ver, options.version)
      .set(id::oaes, optional_events() & ~nvme::event_config_bits::telemetry)  // LPA says that there is telemetry
      .set(id::cntrltype, type)
      .set(id::mdts, options.mdts)
      .set(id::elpe, std::max(options.error_entries, std::uint16_t{1}) - 1u)
      .set(id::lpa, nvme::lpa_bits::extended_data)
      .set(id::sgls, controller_.port_ != nullptr ? controller_.port_->options().facts.sgls : 0)
      .set(id::maxcmd, departs(departure::identify_maxcmd) ? 0u : options.io_entries_max);
  std::string subnqn = options.nqn;
  if (departs(departure::identify_subnqn)) subnqn += ".other";
  set_text(page, id::subnqn.offset, id::subnqn.size, subnqn, '\0');
  const bool keep_alive = discovery == nullptr || discovery->options().persistent;
  std::uint32_t ctratt = nvme::ctratt_bits::host_id_128;
  if (options.traffic_based_keep_alive && keep_alive) {
    ctratt |= nvme::ctratt_bits::traffic_based_keep_alive;
  }
  if (discovery == nullptr && subsystem_.block_formats() > kExtendedFormats) {
    ctratt |= nvme::ctratt_bits::extended_lba_formats;
  }
  out.set(id::ctratt, ctratt);
  if (keep_alive) {
    out.set(id::kas, options.kas).set(id::cqt, options.cqt_ms);
    out.set(id::aerl, std::max(options.aer_limit, std::uint8_t{1}) - 1u);
  }
  if (departs(departure::ccr_cqt_zero)) out.set(id::cqt, 0u);
  const CrossControllerReset& resets = controller_.cross_reset_;
  out.set(id::ciu, resets.uniquifier()).set(id::cirn, resets.random_number()).set(id::ccrl, resets.limit());
  const transport::ControllerFabricFacts facts =
      controller_.port_ != nullptr ? controller_.port_->options().facts : transport::ControllerFabricFacts{};
  const bool is_static = options.controllers == ControllerModel::static_controllers;
  const bool deletion = options.individual_queue_deletion && discovery == nullptr;
  std::uint32_t ioccsz = (64 + facts.in_capsule_bytes) / 16;
  if (departs(departure::identify_ioccsz)) ioccsz = 2;
  out.set(id::ioccsz, ioccsz)
      .set(id::iorcsz, 1u)
      .set(id::fcatt, is_static ? nvme::fcatt_bits::static_controllers : 0u)
      .set(id::msdbd, facts.msdbd)
      .set(id::ofcs, deletion ? nvme::ofcs_bits::disconnect : 0u);
  if (discovery != nullptr) {
    const bool centralized = discovery->central().centralized ? !departs(departure::cdc_type) : departs(departure::ddc_type);
    out.set(id::dctype, centralized ? nvme::DiscoveryControllerType::central : nvme::DiscoveryControllerType::direct);
  } else {
    fill_io_controller(page);
  }
}

std::uint32_t Controller::sanitize_capabilities() const {
  const SanitizeOptions& sanitize = subsystem_.options().sanitize;
  std::uint32_t sanicap = 0;
  if (sanitize.crypto_erase) sanicap |= nvme::sanicap_bits::crypto_erase;
  if (sanitize.block_erase) sanicap |= nvme::sanicap_bits::block_erase;
  if (sanitize.overwrite) sanicap |= nvme::sanicap_bits::overwrite;
  if (sanitize.supported()) {
    sanicap |= nvme::sanicap_bits::modified_after;
    if (sanitize.no_deallocate_inhibited) sanicap |= nvme::sanicap_bits::no_deallocate_inhibited;
    if (sanitize_.verifies_sanitized_media()) sanicap |= nvme::sanicap_bits::verification;
  }
  return sanicap;
}

void IdentifyCommand::fill_io_controller(MutableBytes page) const {
  namespace id = nvme::id_ctrl;
  namespace oncs = nvme::oncs_bits;
  const SubsystemOptions& options = subsystem_.options();
  MutableView<nvme::IdentifyController> out{page};
  const bool many = options.controllers_max > 1;
  std::uint8_t cmic = nvme::cmic_bits::multiple_ports;
  if (many) cmic |= nvme::cmic_bits::multiple_controllers;
  if (options.ana) cmic |= nvme::cmic_bits::ana_reporting;
  unsigned commands = oncs::save_and_select;
  if (options.compare) commands |= oncs::compare;
  if (options.write_uncorrectable) commands |= oncs::write_uncorrectable;
  if (options.dataset_management) commands |= oncs::dataset_management;
  // Claimed here as well, a command's size limit would be a recommendation alone.
  const bool limits = subsystem_.has_version(2, 0);
  if (options.write_zeroes && (!limits || options.write_zeroes_limit == 0)) commands |= oncs::write_zeroes;
  if (options.verify && (!limits || options.verify_limit == 0)) commands |= oncs::verify;
  if (options.copy.formats != 0) commands |= oncs::copy;
  if (options.timestamp) commands |= oncs::timestamp;
  if (options.reservations) commands |= oncs::reservations;
  unsigned lpa = nvme::lpa_bits::extended_data | nvme::lpa_bits::commands_effects;
  if (subsystem_.has_version(2, 0)) lpa |= nvme::lpa_bits::supported_pages;
  if (options.telemetry.supported) lpa |= nvme::lpa_bits::telemetry;
  if (options.persistent_log.supported) {
    lpa |= nvme::lpa_bits::persistent_event;
    out.set(id::pels, options.persistent_log.size);
  }
  unsigned vwc = options.volatile_write_cache ? nvme::vwc_bits::present : 0u;
  vwc |= nvme::vwc_bits::flush_all_supported;
  const bool few = departs(departure::identify_nn);
  const FirmwareOptions& firmware = options.firmware_update;
  unsigned frmw = std::max<unsigned>(firmware.slots, 1) << nvme::frmw_bits::slots_shift;
  if (firmware.slot_1_read_only || firmware.slots == 0) frmw |= nvme::frmw_bits::slot_1_read_only;
  if (firmware.slots != 0 && firmware.activates_at_once) frmw |= nvme::frmw_bits::activation_without_reset;
  unsigned oacs = subsystem_.in_band_management() != nullptr ? nvme::oacs_bits::nvme_mi : 0u;
  if (firmware.slots != 0) oacs |= nvme::oacs_bits::firmware;
  if (options.format) oacs |= nvme::oacs_bits::format_nvm;
  if (options.security) oacs |= nvme::oacs_bits::security;
  if (options.self_test.supported) oacs |= nvme::oacs_bits::self_test;
  if (options.directives.supported) oacs |= nvme::oacs_bits::directives;
  if (options.lba_status.supported) oacs |= nvme::oacs_bits::get_lba_status;
  if (controller_.admin_supported(static_cast<std::uint8_t>(nvme::AdminOpcode::lockdown))) oacs |= nvme::oacs_bits::lockdown;
  if (options.namespace_management.supported) {
    oacs |= nvme::oacs_bits::namespace_management;
    out.set(id::maxcna, options.namespace_management.attachments_max);
  }
  if (options.namespace_management.supported && options.namespace_management.granularity_bytes != 0) {
    out.set(id::ctratt, out.get(id::ctratt) | nvme::ctratt_bits::namespace_granularity);
  }
  if (options.namespace_management.supported || options.endurance.supported()) {
    const bool stays = departs(departure::nsm_capacity_stays);
    const std::uint64_t used = stays ? 0 : subsystem_.allocated_bytes();
    store_le(page.data() + id::tnvmcap.offset, subsystem_.capacity_bytes());
    // What is in a group can no longer be made one of.
    store_le(page.data() + id::unvmcap.offset,
             options.endurance.supported() ? subsystem_.endurance().unallocated() : subsystem_.capacity_bytes() - used);
  }
  if (options.endurance.supported()) {
    std::uint32_t ctratt = out.get(id::ctratt) | nvme::ctratt_bits::endurance_groups;
    if (options.endurance.nvm_sets) ctratt |= nvme::ctratt_bits::nvm_sets;
    if (options.endurance.managed) {
      ctratt |= nvme::ctratt_bits::variable_capacity_management | nvme::ctratt_bits::delete_endurance_group;
      if (options.endurance.nvm_sets) ctratt |= nvme::ctratt_bits::delete_nvm_set;
      store_le(page.data() + id::megcap.offset, subsystem_.capacity_bytes());
    }
    if (options.fdp.supported() && !departs(departure::fdp_unclaimed)) ctratt |= nvme::ctratt_bits::flexible_data_placement;
    if (options.fdp.supported() && departs(departure::fdp_fixed_capacity)) ctratt |= nvme::ctratt_bits::fixed_capacity_management;
    out.set(id::ctratt, ctratt)
        .set(id::endgidmax, options.endurance.groups_max)
        .set(id::nsetidmax, options.endurance.nvm_sets ? options.endurance.groups_max : std::uint16_t{0});
  }
  out.set(id::sanicap, controller_.sanitize_capabilities());
  if (options.self_test.supported) {
    out.set(id::edstt, options.self_test.extended_minutes).set(id::dsto, nvme::dsto_bits::one_in_subsystem);
  }
  out.set(id::cmic, cmic)
      .set(id::rab, 3u)
      .set(id::acl, std::max(options.abort_limit, std::uint8_t{1}) - 1u)
      .set(id::frmw, frmw)
      .set(id::fwug, firmware.slots != 0 ? firmware.granularity : std::uint8_t{0})
      .set(id::mtfa, firmware.slots != 0 && firmware.activates_at_once ? 1u : 0u)
      .set(id::lpa, lpa)
      .set(id::wctemp, kWarningTemperature)
      .set(id::cctemp, kCriticalTemperature)
      .set(id::sqes_min, 6u)
      .set(id::sqes_max, 6u)
      .set(id::cqes_min, 4u)
      .set(id::cqes_max, 4u)
      .set(id::nn, few ? 0u : options.namespaces_max)
      .set(id::mnan, options.namespaces_max)
      .set(id::oncs, commands)
      .set(id::fuses, options.fused_compare_and_write ? nvme::fuses_bits::compare_and_write : 0u)
      .set(id::vwc, vwc)
      .set(id::nwpc, options.namespace_write_protect ? nvme::nwpc_bits::write_protect : 0u)
      .set(id::cdfs, options.copy.formats)
      .set(id::awun, 0xFFFFu)
      .set(id::awupf, options.atomic_power_fail_blocks - 1u);
  const ManagementFacts& management = subsystem_.management_facts();
  out.set(id::nvmsr, management.nvmsr)
      .set(id::vwci, management.vwci)
      .set(id::mec, management.mec)
      .set(id::oacs, oacs)
      .set(id::fna, options.format ? nvme::fna_bits::crypto_erase : std::uint8_t{0});
  if (options.fused_compare_and_write) {
    out.set(id::acwu, std::max(options.atomic_compare_write_blocks, std::uint16_t{1}) - 1u);
  }
  if (options.ana) {
    out.set(id::anatt, options.ana_transition_s)
        .set(id::anacap, nvme::anacap_bits::optimized | nvme::anacap_bits::non_optimized | nvme::anacap_bits::inaccessible |
                             nvme::anacap_bits::persistent_loss | nvme::anacap_bits::change | nvme::anacap_bits::group_id_fixed |
                             (options.namespace_management.supported ? nvme::anacap_bits::group_id_managed : 0u))
        .set(id::anagrpmax, options.ana_groups_max)
        .set(id::nanagrpid, options.ana_groups_max);
  }
  MutableView<nvme::PowerState>{page.subspan(id::psd.offset, nvme::PowerState::size)}.set(nvme::power_state::mp, 2500u);
}

/// What all namespaces have, those too that are to be made.
void IdentifyCommand::fill_common_namespace(MutableBytes page) const {
  namespace id = nvme::id_ns;
  const SubsystemOptions& options = subsystem_.options();
  MutableView<nvme::IdentifyNamespace> out{page};
  const unsigned zeroes = options.write_zeroes ? nvme::dlfeat_bits::write_zeroes_deallocates : 0u;
  const bool thin = options.namespace_management.thin_provisioning;
  out.set(id::nsfeat, thin ? nvme::nsfeat_bits::thin_provisioning : 0u).set(id::dlfeat, nvme::dlfeat_bits::reads_zeroes | zeroes);
  out.set(id::rescap, reservation_capabilities(options));
  if (options.copy.formats != 0) {
    out.set(id::mssrl, options.copy.range_blocks).set(id::mcl, options.copy.total_blocks).set(id::msrc, options.copy.ranges - 1u);
  }
  const std::size_t formats = subsystem_.block_formats();
  if (formats > kPlainFormats) {
    out.set(id::mc, nvme::mc_bits::extended)
        .set(id::dpc, nvme::dpc_bits::type_1 | nvme::dpc_bits::type_2 | nvme::dpc_bits::type_3 | nvme::dpc_bits::first_bytes |
                          nvme::dpc_bits::last_bytes);
  }
  const std::size_t shown = options.format ? formats : 1;
  out.set(id::nlbaf, shown - 1u);
  for (unsigned i = 0; i < shown; ++i) {
    nvme::edit_lba_format(page, i)
        .set(nvme::lba_format::lbads, std::countr_zero(kBlockFormats[i].data_bytes))
        .set(nvme::lba_format::ms, kBlockFormats[i].metadata_bytes);
  }
}

namespace {

/// 0's based, where there is something to say.
std::uint16_t zero_based(std::uint32_t count) { return static_cast<std::uint16_t>(count == 0 ? 0 : count - 1); }

void fill_limits(const NamespaceLimits& limits, MutableView<nvme::IdentifyNamespace>& out) {
  namespace id = nvme::id_ns;
  unsigned nsfeat = out.get(id::nsfeat);
  if (limits.atomic()) nsfeat |= nvme::nsfeat_bits::atomic_fields;
  if (limits.write_granularity != 0) nsfeat |= nvme::nsfeat_bits::optimal_io_fields;
  out.set(id::nsfeat, nsfeat).set(id::noiob, limits.optimal_boundary);
  if (limits.atomic()) {
    out.set(id::nawun, zero_based(limits.atomic_write))
        .set(id::nawupf, zero_based(limits.atomic_power_fail))
        .set(id::nacwu, zero_based(limits.atomic_compare_write))
        .set(id::nabsn, zero_based(limits.boundary))
        .set(id::nabspf, zero_based(limits.boundary_power_fail))
        .set(id::nabo, limits.boundary_offset);
  }
  if (limits.write_granularity != 0) {
    out.set(id::npwg, zero_based(limits.write_granularity))
        .set(id::npwa, zero_based(limits.write_alignment))
        .set(id::npdg, zero_based(limits.deallocate_granularity))
        .set(id::npda, zero_based(limits.deallocate_alignment))
        .set(id::nows, zero_based(limits.optimal_write));
  }
}

}  // namespace

void IdentifyCommand::fill_identify_namespace(const Namespace& ns, MutableBytes page) const {
  namespace id = nvme::id_ns;
  const SubsystemOptions& options = subsystem_.options();
  const nvme::AnaState state = controller_.io_.ana_state_of(ns);
  const bool untold =
      (state == nvme::AnaState::inaccessible || state == nvme::AnaState::persistent_loss) && !departs(departure::ana_capacity_kept);
  std::uint64_t in_use = untold ? 0 : ns.blocks_in_use();
  if (departs(departure::identify_nuse)) in_use = ns.blocks() + 1;
  fill_common_namespace(page);
  MutableView<nvme::IdentifyNamespace> out{page};
  if (!untold) store_le(page.data() + id::nvmcap.offset, subsystem_.bytes_of(ns));
  out.set(id::nsze, ns.blocks())
      .set(id::ncap, ns.capacity())
      .set(id::nuse, in_use)
      .set(id::nmic, ns.shared() ? nvme::nmic_bits::shared : 0u)
      .set(id::nsattr, ns.write_protection() != 0 ? nvme::nsattr_bits::write_protected : 0u)
      .set(id::anagrpid, options.ana ? ns.ana_group() : 0u)
      .set(id::nvmsetid, ns.nvm_set())
      .set(id::endgid, ns.endurance_group())
      .set(id::nguid, ByteView{ns.nguid()})
      .set(id::eui64, ByteView{ns.eui64()});
  fill_limits(ns.limits(), out);
  const nvme::BlockLayout& layout = ns.layout();
  if (layout.metadata_bytes != 0) out.set(id::mc, nvme::mc_bits::extended);
  if (layout.is_protected() && !departs(departure::protection_not_identified)) {
    out.set(id::dps, layout.protection_type | (layout.tuple_first ? nvme::dps_bits::first_bytes : 0u));
  }
  out.set(id::flbas_extended, layout.metadata_bytes != 0);
  if (!options.format) {
    nvme::edit_lba_format(page, 0)
        .set(nvme::lba_format::lbads, std::countr_zero(layout.data_bytes))
        .set(nvme::lba_format::ms, layout.metadata_bytes);
    return;
  }
  out.set(id::flbas_low, find_format(layout));
}

void IdentifyCommand::fill_namespace_ids(const Namespace& ns, MutableBytes page) const {
  std::size_t at = 0;
  nvme::append_namespace_id(page, at, nvme::NamespaceIdType::uuid, ns.uuid());
  nvme::append_namespace_id(page, at, nvme::NamespaceIdType::nguid, ns.nguid());
  nvme::append_namespace_id(page, at, nvme::NamespaceIdType::eui64, ns.eui64());
  if (subsystem_.has_version(2, 0) && !departs(departure::identify_no_csi)) {
    const bool zoned = ns.zoned() && !departs(departure::zone_csi_nvm);
    const bool pairs = ns.key_value() && !departs(departure::kv_csi_nvm);
    const std::uint8_t csi[] = {zoned ? kZonedCommandSet : pairs ? kKeyValueCommandSet : kNvmCommandSet};
    nvme::append_namespace_id(page, at, nvme::NamespaceIdType::csi, csi);
  }
  if (departs(departure::identify_descriptors)) page[1] = 15;
}

/// What all namespaces have of it.
void IdentifyCommand::fill_common_independent(MutableBytes page) const {
  MutableView<nvme::IdentifyNamespaceIndependent>{page}.set(nvme::id_ns_independent::rescap,
                                                            reservation_capabilities(subsystem_.options()));
}

void IdentifyCommand::fill_independent(const Namespace& ns, MutableBytes page) const {
  namespace id = nvme::id_ns_independent;
  fill_common_independent(page);
  // NSFEAT has other bits here than in the NVM command set's page, and none of them holds.
  MutableView<nvme::IdentifyNamespaceIndependent>{page}
      .set(id::nmic, ns.shared() ? nvme::nmic_bits::shared : 0u)
      .set(id::anagrpid, subsystem_.options().ana ? ns.ana_group() : 0u)
      .set(id::nsattr, ns.write_protection() != 0 ? nvme::nsattr_bits::write_protected : 0u)
      .set(id::nvmsetid, ns.nvm_set())
      .set(id::endgid, ns.endurance_group())
      .set(id::nstat, nvme::kNstatReady);
}

}  // namespace fb::subsystem
