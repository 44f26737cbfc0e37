// Namespace Management and Namespace Attachment.
#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace nm = nvme::namespace_management_sqe;
namespace na = nvme::namespace_attachment_sqe;

namespace {

enum : unsigned { kCreate = 0, kDelete = 1, kAttach = 0, kDetach = 1 };

constexpr auto kNvmCommandSet = static_cast<std::uint8_t>(nvme::CommandSet::nvm);
constexpr auto kKeyValueCommandSet = static_cast<std::uint8_t>(nvme::CommandSet::key_value);
constexpr auto kZonedCommandSet = static_cast<std::uint8_t>(nvme::CommandSet::zoned);

/// The zones of a namespace that a host makes, in blocks of this size.
ZoneOptions zones_of(const ZoneOptions& made, std::uint32_t data_bytes) {
  ZoneOptions zones = made;
  zones.zone_blocks = std::max<std::uint64_t>(made.zone_blocks * 512 / data_bytes, 1);
  zones.capacity = std::min(made.capacity * 512 / data_bytes, zones.zone_blocks);
  return zones;
}

}  // namespace

bool Controller::attached(const Namespace& ns) const { return ns.attachments().has(cntlid_); }

/// Namespaces of a command set that is not selected are as if they were not there.
bool Controller::sees(const Namespace& ns) const {
  return attached(ns) && (!ns.zoned() || zoned_selected()) && (!ns.key_value() || key_values_selected());
}

Namespace* Controller::active_namespace(std::uint32_t nsid) const {
  Namespace* const ns = subsystem_.find_namespace(nsid);
  if (ns == nullptr || sees(*ns)) return ns;
  return departs(departure::nsa_io) ? ns : nullptr;
}

// ---- Namespace Management ----

void NamespaceCommands::namespace_management(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::NamespaceManagementSqe>();
  const unsigned select = sqe.get(nm::sel);
  if (select == kDelete) return delete_namespace(command);
  if (select != kCreate && queue.refuse(command, check::nsm_select)) return;
  if (command.nsid() != 0 && queue.refuse(command, check::nsid_unused)) return;
  const std::uint8_t csi = sqe.get(nm::csi);
  const bool zoned = csi == kZonedCommandSet && subsystem_.options().zoned.supported;
  const bool other_set = subsystem_.has_version(2, 0) && csi != kNvmCommandSet && !zoned;
  if (other_set && queue.refuse(command, check::nsm_command_set)) return;
  if (queue.stage(command, nvme::kIdentifySize)) queue.pull(command);
}

void NamespaceCommands::namespace_management_data(const Command& command) {
  namespace id = nvme::id_ns;
  Queue& queue = *command.queue;
  const SubsystemOptions& options = subsystem_.options();
  Bytes data(command.data().begin(), command.data().end());
  data.resize(nvme::kIdentifySize);  // a deviation took less
  const View<nvme::IdentifyNamespace> asked{data};
  NamespaceOptions made;
  made.blocks = asked.get(id::nsze);
  made.capacity = asked.get(id::ncap);
  const unsigned index = nvme::format_in_use(data);
  const std::size_t formats = options.format ? subsystem_.block_formats() : 1;
  const BlockFormat& format = kBlockFormats[index < formats ? index : 0];
  const unsigned dps = asked.get(id::dps);
  const unsigned type = dps & nvme::dps_bits::type_mask;
  const bool tags_fit = type == 0 || (type <= 3 && format.metadata_bytes >= format.layout(1).tuple_bytes());
  // Fabrics carry no metadata but with the data.
  const bool metadata_ok = format.metadata_bytes == 0 || asked.get(id::flbas_extended);
  const bool format_ok = index < formats && tags_fit && metadata_ok;
  if (!format_ok && queue.refuse(command, check::nsm_format)) return;
  const bool enabled = controller_.features_.extended_formats != 0;
  if (index >= kExtendedFormats && !enabled && queue.refuse(command, check::format_extended)) return;
  const nvme::BlockLayout layout = format.layout(static_cast<std::uint8_t>(tags_fit ? type : 0), (dps & nvme::dps_bits::first_bytes) != 0);
  made.block_bytes = layout.data_bytes;
  made.metadata_bytes = layout.metadata_bytes;
  made.protection_type = layout.protection_type;
  made.protection_first = layout.tuple_first;
  made.guard = layout.guard;
  made.storage_tag_bits = layout.storage_tag_bits;
  const std::uint8_t sharing = asked.get(id::nmic);
  if ((sharing & ~nvme::nmic_bits::shared) != 0 && queue.refuse(command, check::nsm_sharing)) return;
  made.shared = (sharing & nvme::nmic_bits::shared) != 0;
  const bool zoned = command.as<nvme::NamespaceManagementSqe>().get(nm::csi) == kZonedCommandSet && subsystem_.has_version(2, 0) &&
                     options.zoned.supported;
  if (zoned && !departs(departure::zone_created_plain)) made.zones = zones_of(options.zoned.made, layout.data_bytes);
  const bool whole = made.zones.zone_blocks == 0 || made.blocks % made.zones.zone_blocks == 0;
  const bool size_ok = made.capacity != 0 && made.capacity <= made.blocks && whole;
  if (!size_ok && queue.refuse(command, check::nsm_size)) return;
  const bool thin = options.namespace_management.thin_provisioning && !zoned;
  if (made.capacity < made.blocks && !thin && queue.refuse(command, check::nsm_thin)) {
    return;
  }
  const std::uint32_t group = asked.get(id::anagrpid);
  const bool group_ok = group <= (options.ana ? options.ana_groups_max : 0);
  if (!group_ok && queue.refuse(command, check::nsm_ana_group)) return;
  if (group != 0 && group_ok) made.ana_group = group;
  if (options.endurance.supported() && !endurance_fits(command, asked, made)) return;
  if (options.fdp.supported() && !controller_.placement_.namespace_fits(command, data, made)) return;
  const std::uint64_t room = room_for(made);
  const bool possible = made.blocks <= (std::uint64_t{1} << 62) / layout.bytes();
  const bool fits = possible && made.capacity <= room / layout.bytes() && subsystem_.bytes_taken(made.capacity * layout.bytes()) <= room;
  if (!fits && queue.refuse(command, check::nsm_capacity)) return;
  const std::uint64_t step = options.namespace_management.granularity_bytes;
  if (departs(departure::nsm_granularity) && step != 0 && made.blocks * layout.bytes() % step != 0) {
    return queue.complete(command, sc::invalid_field);
  }
  made.nsid = subsystem_.free_nsid();
  if (made.nsid == 0 && queue.refuse(command, check::nsm_identifier)) return;
  // What a deviation let through must still be possible here.
  if (made.nsid == 0 || !fits || !size_ok) return queue.complete(command, sc::success, 1);
  if (departs(departure::nsm_size) && !zoned) {
    made.blocks = std::max<std::uint64_t>(made.blocks / 2, 1);
    made.capacity = std::min(made.capacity, made.blocks);
  }
  if (!departs(departure::nsm_names)) made.incarnation = subsystem_.incarnations(made.nsid);
  made.attached = false;
  const Result<Namespace*> added = subsystem_.add_namespace(std::move(made));
  if (!added) return queue.complete(command, sc::internal_error);
  Namespace& ns = **added;
  if (departs(departure::nsm_attached)) subsystem_.set_attached(ns, controller_, true);
  controller_.logs_.record_namespace(command, &ns);
  queue.complete(command, sc::success, ns.nsid() + (departs(departure::nsm_nsid) ? 1u : 0u));
}

/// The endurance group and the NVM set that a namespace is to be in. False: the command has been answered.
bool NamespaceCommands::endurance_fits(const Command& command, const View<nvme::IdentifyNamespace>& asked, NamespaceOptions& made) {
  Queue& queue = *command.queue;
  const EnduranceGroups& groups = subsystem_.endurance();
  const std::uint16_t group = asked.get(nvme::id_ns::endgid), set = asked.get(nvme::id_ns::nvmsetid);
  const auto found = groups.sets().find(set);
  const bool set_ok = set == 0 || (found != groups.sets().end() && (group == 0 || group == found->second.group));
  const bool group_ok = group == 0 ? groups.first_group() != 0 : groups.has(group);
  if ((!set_ok || !group_ok) && queue.refuse(command, check::nsm_endurance_group)) return false;
  made.endurance_group = group_ok && group != 0 ? group : groups.first_group();
  if (set != 0 && found != groups.sets().end()) made.endurance_group = found->second.group;
  made.nvm_set = set_ok && set != 0 ? set : groups.first_set_of(made.endurance_group);
  return true;
}

/// Bytes that are left where the namespace is to be.
std::uint64_t NamespaceCommands::room_for(const NamespaceOptions& made) const {
  const EnduranceOptions& endurance = subsystem_.options().endurance;
  if (!endurance.supported()) return subsystem_.capacity_bytes() - subsystem_.allocated_bytes();
  const EnduranceGroups& groups = subsystem_.endurance();
  return endurance.nvm_sets ? groups.unallocated_of_set(made.nvm_set) : groups.unallocated_of(made.endurance_group);
}

void NamespaceCommands::delete_namespace(const Command& command) {
  Queue& queue = *command.queue;
  const std::uint32_t nsid = command.nsid();
  const bool all = nsid == nvme::kAllNamespaces;
  const Namespace* const one = all ? nullptr : subsystem_.find_namespace(nsid);
  if (!all && one == nullptr) {
    const bool valid = nsid != 0 && nsid <= subsystem_.options().namespaces_max;
    if (queue.refuse(command, valid ? check::nsm_delete_unallocated : check::nsm_delete_nsid)) return;
    return queue.complete(command, sc::success);
  }
  std::vector<std::uint32_t> chosen;
  for (const auto& [id, ns] : subsystem_.namespaces()) {
    if (!all && ns.get() != one) continue;
    if (ns->write_protection() != 0 && queue.refuse(command, check::nsm_write_protected)) return;
    if (!controller_.reservations_.reservation_allows(command, *ns, Access::write)) return;
    chosen.push_back(id);
  }
  if (all && departs(departure::nsm_one) && chosen.size() > 1) chosen.resize(1);
  if (departs(departure::nsm_kept)) chosen.clear();
  // The host of this controller knows, unless a management endpoint asked.
  const Controller* const by = queue.out_of_band() ? nullptr : &controller_;
  controller_.logs_.record_namespace(command, one);
  queue.complete(command, sc::success);
  for (const std::uint32_t id : chosen) subsystem_.remove_namespace(id, by);
}

// ---- Namespace Attachment ----

void NamespaceCommands::namespace_attachment(const Command& command) {
  Queue& queue = *command.queue;
  const unsigned select = command.as<nvme::NamespaceAttachmentSqe>().get(na::sel);
  if (select != kAttach && select != kDetach && queue.refuse(command, check::nsa_select)) return;
  const std::uint32_t nsid = command.nsid();
  if (subsystem_.find_namespace(nsid) == nullptr) {
    const bool valid = nsid != 0 && nsid <= subsystem_.options().namespaces_max;
    if (queue.refuse(command, valid ? check::nsa_unallocated : check::nsa_nsid)) return;
    return queue.complete(command, sc::success);
  }
  if (queue.stage(command, nvme::kIdentifySize)) queue.pull(command);
}

/// False: the command has been answered. What stands before in its list has been done then.
bool NamespaceCommands::attach_one(const Command& command, Namespace& ns, std::uint16_t cntlid) {
  Queue& queue = *command.queue;
  const bool detach = command.as<nvme::NamespaceAttachmentSqe>().get(na::sel) == kDetach;
  Controller* const controller = subsystem_.find_controller(cntlid);
  if (controller == nullptr) return !queue.refuse(command, check::nsa_list);
  const bool has = controller->attached(ns);
  if (detach) {
    if (!has && queue.refuse(command, check::nsa_not_attached)) return false;
    if (departs(departure::nsa_erases)) (void)ns.erase();
    if (!departs(departure::nsa_stays)) subsystem_.set_attached(ns, *controller, false);
    return true;
  }
  if (has) return !queue.refuse(command, check::nsa_attached);
  const bool restricted = (ns.zoned() || ns.key_value()) && controller->profile_restricts();
  if (restricted && queue.refuse(command, check::nsa_command_set)) return false;
  if (!ns.shared() && !ns.attachments().none() && queue.refuse(command, check::nsa_private)) return false;
  const SubsystemOptions& options = subsystem_.options();
  const Port* const port = controller->port();
  const bool lost =
      options.ana && port != nullptr && subsystem_.ana_state(ns.ana_group(), port->options().portid) == nvme::AnaState::persistent_loss;
  if (lost && queue.refuse(command, check::nsa_ana)) return false;
  const std::uint32_t limit = options.namespace_management.attachments_max;
  const auto count = std::count_if(subsystem_.namespaces().begin(), subsystem_.namespaces().end(),
                                   [&](const auto& entry) { return controller->attached(*entry.second); });
  if (limit != 0 && static_cast<std::uint64_t>(count) >= limit && queue.refuse(command, check::nsa_limit)) return false;
  if (departs(departure::nsa_ineffective)) return true;
  subsystem_.set_attached(ns, *controller, true);
  if (!departs(departure::nsa_all)) return true;
  for (const auto& [id, other] : subsystem_.controllers()) subsystem_.set_attached(ns, *other, true);
  return true;
}

void NamespaceCommands::namespace_attachment_data(const Command& command) {
  Queue& queue = *command.queue;
  // Things may have changed while the list was on its way.
  Namespace* const ns = subsystem_.find_namespace(command.nsid());
  if (ns == nullptr) {
    if (!queue.refuse(command, check::nsa_unallocated)) queue.complete(command, sc::success);
    return;
  }
  if (!controller_.reservations_.reservation_allows(command, *ns, Access::write)) return;
  const std::size_t count = command.data().size() < 2 ? 0 : load_le<std::uint16_t>(command.data().data());
  if ((count == 0 || count > nvme::kControllerListMax) && queue.refuse(command, check::nsa_list)) return;
  for (const std::uint16_t cntlid : nvme::read_controller_list(command.data())) {
    if (!attach_one(command, *ns, cntlid)) return;
  }
  queue.complete(command, sc::success);
}

// ---- Identify of what is allocated ----

bool IdentifyCommand::identify_allocated_page(const Command& command, MutableBytes page) {
  Queue& queue = *command.queue;
  const std::uint32_t nsid = command.nsid();
  const bool valid = nsid != 0 && nsid <= subsystem_.options().namespaces_max;
  if (!valid && queue.refuse(command, check::identify_nsid)) return false;
  // Zeroes where there is none.
  const Namespace* const ns = subsystem_.find_namespace(nsid);
  const auto sqe = command.as<nvme::IdentifySqe>();
  const auto cns = static_cast<nvme::Cns>(sqe.get(nvme::identify_sqe::cns));
  if (cns != nvme::Cns::command_set_allocated_namespace) {
    const bool independent = cns == nvme::Cns::allocated_independent_namespace;
    if (ns != nullptr && ns->key_value() && !independent && queue.refuse(command, check::kv_identify_blocks)) return false;
    if (ns != nullptr) independent ? fill_independent(*ns, page) : fill_identify_namespace(*ns, page);
    return true;
  }
  const std::uint8_t csi = sqe.get(nvme::identify_sqe::csi);
  if (!controller_.has_command_set(csi)) return !queue.refuse(command, check::identify_csi);
  if (ns == nullptr) return true;
  if (ns->key_value() || csi == kKeyValueCommandSet) return key_value_page(command, *ns, page);
  if (csi == kNvmCommandSet || !ns->zoned()) {
    if (csi != kNvmCommandSet && queue.refuse(command, check::identify_csi_namespace)) return false;
    fill_nvm_namespace(ns, page);
  } else {
    fill_zoned_namespace(ns, page);
  }
  return true;
}

/// The controllers of the subsystem, or those that a namespace is attached to.
bool IdentifyCommand::identify_controllers_page(const Command& command, MutableBytes page) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::IdentifySqe>();
  const bool attached = static_cast<nvme::Cns>(sqe.get(nvme::identify_sqe::cns)) == nvme::Cns::namespace_controller_list;
  const Namespace* ns = nullptr;
  if (attached) {
    const std::uint32_t nsid = command.nsid();
    ns = subsystem_.find_namespace(nsid);
    const bool valid = nsid != 0 && nsid <= subsystem_.options().namespaces_max;
    if (ns == nullptr) return !queue.refuse(command, valid ? check::identify_unallocated : check::identify_nsid);
  }
  std::vector<std::uint16_t> ids;
  for (const auto& [id, controller] : subsystem_.controllers()) {
    const bool listed = ns == nullptr || controller->attached(*ns) || departs(departure::nsa_controllers);
    if (listed && id >= sqe.get(nvme::identify_sqe::cntid)) ids.push_back(id);
  }
  nvme::write_controller_list(page, ids);
  return true;
}

}  // namespace fb::subsystem
