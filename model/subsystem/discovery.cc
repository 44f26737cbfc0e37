#include "model/subsystem/discovery.h"

#include <algorithm>
#include <utility>

#include "model/subsystem/registration_fault_points.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/discovery_log.h"

namespace fb::subsystem {

namespace {

namespace dh = fabrics::discovery_header;
namespace de = fabrics::discovery_entry;

SubsystemOptions subsystem_options(const DiscoveryOptions& options) {
  SubsystemOptions made;
  made.nqn = options.unique_nqn.empty() ? std::string(fabrics::kDiscoveryNqn) : options.unique_nqn;
  made.model = "fabricbench discovery controller";
  made.io_queues_max = 0;
  made.individual_queue_deletion = false;
  made.subsystem_reset = false;
  made.ana = false;
  made.authentication = options.authentication;
  if (!options.persistent) made.kas = 0;
  return made;
}

constexpr std::uint16_t kSmallestAdminQueue = 32;

}  // namespace

DiscoveryService::DiscoveryService(World& world, DiscoveryOptions options, SubsystemHooks* hooks)
    : options_(std::move(options)), subsystem_(world, subsystem_options(options_), hooks, *this) {}

/// An association that ends tells the registry.
DiscoveryService::~DiscoveryService() { subsystem_.end_associations("the discovery service stops"); }

bool DiscoveryService::answers_to(std::string_view nqn) const {
  return nqn == fabrics::kDiscoveryNqn || (!options_.unique_nqn.empty() && nqn == options_.unique_nqn);
}

void DiscoveryService::add_port(Port& port) { ports_.push_back(&port); }

void DiscoveryService::remove_port(Port& port) {
  if (std::erase(ports_, &port) > 0) changed();
}

void DiscoveryService::add_referral(Referral referral) {
  referrals_.push_back(std::move(referral));
  changed();
}

void DiscoveryService::clear_referrals() {
  referrals_.clear();
  changed();
}

void DiscoveryService::changed() {
  if (!subsystem_.departs(departure::genctr_stays)) ++generation_;
  for (const auto& [id, controller] : subsystem_.controllers()) controller->on_discovery_changed();
}

std::uint64_t DiscoveryService::generation() { return subsystem_.departs(departure::genctr_runs) ? ++generation_ : generation_; }

void DiscoveryService::append_entry(Bytes& log, const Port& port, Subsystem& subsystem) {
  const PortOptions& at = port.options();
  const SubsystemOptions& facts = subsystem.options();
  const bool self = subsystem.discovery() == this;
  Record<fabrics::RdmaDiscoveryEntry> entry;
  auto subtype = self ? fabrics::SubsystemType::current_discovery : fabrics::SubsystemType::nvm;
  if (subsystem_.departs(departure::discovery_subtype)) subtype = fabrics::SubsystemType::referral;
  const bool dynamic = facts.controllers == ControllerModel::dynamic_controllers;
  std::uint16_t cntlid = dynamic ? fabrics::kAnyController : fabrics::kAnyStaticController;
  if (subsystem_.departs(departure::discovery_cntlid)) cntlid = 0;
  std::uint16_t asqsz = std::max(facts.admin_entries_max, kSmallestAdminQueue);
  if (subsystem_.departs(departure::discovery_asqsz)) asqsz = 16;
  const bool tcp = at.facts.trtype == static_cast<std::uint8_t>(fabrics::TransportType::tcp);
  const bool tls = at.facts.security != transport::ChannelSecurity::none;
  const bool required = at.facts.security == transport::ChannelSecurity::required && !subsystem_.departs(departure::discovery_tls_treq);
  // Nothing is said of a channel that is not there: to nvme-cli 2.3 "not required" means that it is offered.
  unsigned treq = required ? fabrics::treq_bits::secure_channel_required : tls ? fabrics::treq_bits::secure_channel_not_required : 0u;
  if (facts.flow_control_may_be_off) treq |= fabrics::treq_bits::disable_sq_flow_control;
  if (facts.allow_zero_hostid) treq |= fabrics::treq_bits::zero_host_id;
  if (facts.authentication.enabled() && facts.authentication.required) {
    treq |= facts.authentication.secure_channel ? fabrics::treq_bits::authentication_required_for_tls
                                                : fabrics::treq_bits::authentication_required;
  }
  const bool reserved = subsystem_.departs(departure::discovery_trtype);
  entry.set(de::trtype, reserved ? 0x55u : at.facts.trtype)
      .set(de::adrfam, at.family)
      .set(de::subtype, subtype)
      .set(de::treq, treq)
      .set(de::portid, at.portid)
      .set(de::cntlid, cntlid)
      .set(de::asqsz, asqsz);
  if (self && options_.persistent) {
    entry.set(de::eflags, fabrics::eflags_bits::persistent_connections);
  }
  if (subsystem_.departs(departure::log_ncc)) entry.set(de::eflags, entry.get(de::eflags) | fabrics::eflags_bits::no_cdc_connectivity);
  const bool words = subsystem_.departs(departure::discovery_trsvcid);
  fb::set_text(entry, de::trsvcid, words ? "nvme" : at.trsvcid, ' ');
  fb::set_text(entry, de::subnqn, facts.nqn, '\0');
  fb::set_text(entry, de::traddr, at.traddr, ' ');
  if (at.facts.trtype == static_cast<std::uint8_t>(fabrics::TransportType::rdma)) {
    entry.set(de::qptype, fabrics::RdmaQpType::reliable_connected)
        .set(de::prtype, fabrics::RdmaProvider::roce_v2)
        .set(de::cms, fabrics::RdmaCms::rdma_cm);
  }
  if (tcp && tls && !subsystem_.departs(departure::discovery_tls_sectype)) {
    entry.mutable_bytes()[de::sectype.offset] = static_cast<std::uint8_t>(fabrics::TcpSecurity::tls_1_3);
  }
  log.insert(log.end(), entry.bytes().begin(), entry.bytes().end());
}

void DiscoveryService::append_referral(Bytes& log, const Referral& referral) {
  Record<fabrics::RdmaDiscoveryEntry> entry;
  entry.set(de::trtype, referral.trtype)
      .set(de::adrfam, referral.family)
      .set(de::subtype, fabrics::SubsystemType::referral)
      .set(de::treq, referral.secure_channel_required ? fabrics::treq_bits::secure_channel_required : 0)
      .set(de::portid, referral.portid)
      .set(de::cntlid, fabrics::kAnyController)
      .set(de::asqsz, kSmallestAdminQueue);
  fb::set_text(entry, de::trsvcid, referral.trsvcid, ' ');
  fb::set_text(entry, de::subnqn, referral.subnqn, '\0');
  fb::set_text(entry, de::traddr, referral.traddr, ' ');
  if (referral.trtype == static_cast<std::uint8_t>(fabrics::TransportType::rdma)) {
    entry.set(de::qptype, fabrics::RdmaQpType::reliable_connected)
        .set(de::prtype, fabrics::RdmaProvider::roce_v2)
        .set(de::cms, fabrics::RdmaCms::rdma_cm);
  }
  log.insert(log.end(), entry.bytes().begin(), entry.bytes().end());
}

void DiscoveryService::extend_entries(Bytes& log) {
  Bytes made(log.begin(), log.begin() + fabrics::DiscoveryHeader::size);
  for (std::size_t at = fabrics::DiscoveryHeader::size; at < log.size(); at += fabrics::DiscoveryEntry::size) {
    const Bytes entry = fabrics::extended(ByteView{log}.subspan(at, fabrics::DiscoveryEntry::size), {});
    made.insert(made.end(), entry.begin(), entry.end());
  }
  log = std::move(made);
}

bool DiscoveryService::honors(const Reader& reader, std::uint8_t bit) const {
  const CentralizedOptions& central = central_;
  const bool can = bit == fabrics::discovery_lsp_bits::extended     ? central.extended_entries
                   : bit == fabrics::discovery_lsp_bits::port_local ? central.port_local && !central.centralized
                                                                    : central.unfiltered;
  return can && (reader.lsp & bit) != 0;
}

bool DiscoveryService::lists(const Reader& reader, const Port& port, Subsystem& subsystem) {
  const bool all = honors(reader, fabrics::discovery_lsp_bits::all_subsystems);
  bool local = honors(reader, fabrics::discovery_lsp_bits::port_local);
  if (local && all && subsystem_.departs(departure::log_all_local)) local = false;
  if (reader.lsp == 0 && subsystem_.departs(departure::log_port_local_unasked)) local = true;
  const Port* const here = subsystem_.departs(departure::log_port_local_own) && !ports_.empty() ? ports_.front() : reader.port;
  if (local && here != nullptr && &port != here && !subsystem_.departs(departure::log_port_local)) return false;
  if (subsystem.discovery() != nullptr) return options_.list_itself;
  if (all && !subsystem_.departs(departure::log_all)) return true;
  if (reader.lsp == 0 && subsystem_.departs(departure::log_all_unasked)) return true;
  return subsystem.host_allowed(reader.hostnqn) || subsystem_.departs(departure::discovery_filter);
}

std::uint8_t DiscoveryService::flags_for(const Reader& reader) {
  unsigned flags = 0;
  const auto set = [&](std::uint8_t lsp, std::uint8_t dlpf, std::string_view missing, std::string_view always) {
    if ((honors(reader, lsp) && !subsystem_.departs(missing)) || (!always.empty() && subsystem_.departs(always))) flags |= dlpf;
  };
  using namespace fabrics;
  set(discovery_lsp_bits::port_local, dlpf_bits::port_local, departure::log_port_local_flag, departure::log_port_local_always);
  set(discovery_lsp_bits::all_subsystems, dlpf_bits::all_subsystems, departure::log_all_flag, departure::log_all_always);
  if (registry_.any_extended()) set(discovery_lsp_bits::extended, dlpf_bits::extended, departure::log_extended_flag, {});
  return static_cast<std::uint8_t>(flags);
}

Bytes DiscoveryService::log_for(const Reader& reader) {
  Bytes log(fabrics::DiscoveryHeader::size);
  for (const Port* port : ports_) {
    for (Subsystem* subsystem : port->subsystems()) {
      if (lists(reader, *port, *subsystem) && !subsystem->moved()) append_entry(log, *port, *subsystem);
    }
  }
  for (const Referral& referral : referrals_) append_referral(log, referral);
  std::uint64_t records = log.size() / fabrics::DiscoveryEntry::size - 1;
  // A reader tells entries by their length: where one is extended, all are.
  if ((flags_for(reader) & fabrics::dlpf_bits::extended) != 0) extend_entries(log);
  // What others have registered is at no port of ours.
  if (!honors(reader, fabrics::discovery_lsp_bits::port_local)) {
    records += registry_.append_subsystems(log, honors(reader, fabrics::discovery_lsp_bits::extended));
  }
  const std::size_t basic = static_cast<std::size_t>(records + 1) * fabrics::DiscoveryEntry::size;
  if (subsystem_.departs(departure::numrec_wrong)) ++records;
  MutableView<fabrics::DiscoveryHeader>{log}.set(dh::genctr, generation()).set(dh::numrec, records).set(dh::dlpf, flags_for(reader));
  if (central_.registers) {
    const std::size_t length = subsystem_.departs(departure::log_extended_length) ? basic : log.size();
    MutableView<fabrics::DiscoveryHeader>{log}.set(dh::tdlpl, static_cast<std::uint32_t>(length));
  }
  return log;
}

void DiscoveryService::registered(const DiscoveryRegistry::Changes& changes, bool added) {
  if (changes.hosts) {
    if (added || !subsystem_.departs(departure::host_log_genctr_removed)) registry_.count_hosts();
    if (!subsystem_.departs(added ? departure::host_event : departure::host_event_removed)) {
      for (const auto& [id, controller] : subsystem_.controllers()) controller->on_hosts_changed();
    }
  }
  if (!changes.subsystems) return;
  if (!subsystem_.departs(departure::reg_genctr)) ++generation_;
  if (subsystem_.departs(added ? departure::reg_event : departure::reg_event_removed)) return;
  for (const auto& [id, controller] : subsystem_.controllers()) controller->on_discovery_changed();
}

void DiscoveryService::connectivity_changed(std::string_view hostnqn) {
  if (!central_.centralized) return;
  const auto associations = std::ranges::count_if(
      subsystem_.controllers(), [&](const auto& one) { return one.second->in_association() && one.second->host().hostnqn == hostnqn; });
  // Another one beside the first changes nothing that a log tells of.
  if (associations > 1) return;
  const DiscoveryRegistry::Changes changes = registry_.of_entity(hostnqn);
  if (changes.hosts || changes.subsystems) registered(changes, true);
}

}  // namespace fb::subsystem
