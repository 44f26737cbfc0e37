#include "model/subsystem/admin_registration.h"

#include <algorithm>
#include <utility>

#include "model/subsystem/controller.h"
#include "model/subsystem/discovery.h"
#include "model/subsystem/registration_fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/sgl.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace rg = fabrics::registration;
namespace de = fabrics::discovery_entry;
namespace ee = fabrics::extended_entry;
using fabrics::AttributeType;
using fabrics::EntityType;
using fabrics::EntryFormat;
using fabrics::EntryKeyType;
using fabrics::RegistrationTask;
using nvme::LogPage;

namespace {

/// What is taken of one command: a thousand basic entries.
constexpr std::size_t kDataMax = std::size_t{1} << 20;

RegistrationTask task_of(const Command& command) {
  return static_cast<RegistrationTask>(command.as<fabrics::RegistrationSqe>().get(fabrics::registration_sqe::tas));
}

/// The command has no length but that of its data pointer.
std::size_t data_length(const Command& command) {
  return nvme::SglDescriptor::parse(command.as<nvme::SqeLayout>().get(nvme::sqe::sgl1)).length;
}

bool is_null(ByteView field) { return field[0] == 0; }

}  // namespace

// ---- the command ----

void RegistrationCommands::manage(const Command& command) {
  Queue& queue = *command.queue;
  if (task_of(command) > RegistrationTask::update && queue.refuse(command, check::registration_task)) return;
  if (subsystem_.discovery() == nullptr) return queue.complete(command, sc::success);  // a deviation went on
  const std::size_t bytes = data_length(command);
  const bool fits = bytes >= fabrics::RegistrationHeader::size && bytes <= kDataMax && controller_.transfer_fits(bytes);
  if (!fits && queue.refuse(command, check::registration_length)) return;
  if (!fits) return queue.complete(command, sc::success);
  if (queue.stage(command, bytes)) queue.pull(command);
}

bool RegistrationCommands::header_ok(const Command& command, View<fabrics::RegistrationHeader> header, std::size_t bytes) const {
  Queue& queue = *command.queue;
  const std::uint32_t length = header.get(rg::tdl);
  if ((length > bytes || length < fabrics::RegistrationHeader::size) && queue.refuse(command, check::registration_length)) return false;
  const EntryFormat format = header.get(rg::entfmt);
  const bool known_format = format == EntryFormat::basic || format == EntryFormat::extended;
  if (!known_format && queue.refuse(command, check::registration_format)) return false;
  const EntityType type = header.get(rg::etype);
  const bool known_type = type == EntityType::host || type == EntityType::direct || type == EntityType::centralized;
  if (!known_type && queue.refuse(command, check::registration_type)) return false;
  const bool direct = type == EntityType::direct;
  if (header.get(rg::portlcl) != 0 && !direct && queue.refuse(command, check::registration_port_local)) return false;
  const EntryKeyType key = header.get(rg::ektype);
  const bool known_key = key == EntryKeyType::port_id || key == EntryKeyType::address;
  if (!known_key && queue.refuse(command, check::registration_key)) return false;
  if (known_key && !direct && key != EntryKeyType::address && queue.refuse(command, check::registration_host_key)) return false;
  const std::uint64_t count = header.get(rg::nument);
  switch (task_of(command)) {
    case RegistrationTask::register_entries:
      if (count == 0 && queue.refuse(command, check::registration_none)) return false;
      break;
    case RegistrationTask::deregister_entries:
      if (count == 0 && queue.refuse(command, check::registration_none_removed)) return false;
      break;
    case RegistrationTask::update:
      if (count != 2 && queue.refuse(command, check::registration_update_two)) return false;
      break;
  }
  return direct || format == EntryFormat::extended || !queue.refuse(command, check::registration_host_format);
}

bool RegistrationCommands::attributes_ok(const Command& command, ByteView entry, bool of_host) const {
  Queue& queue = *command.queue;
  const unsigned count = View<fabrics::ExtendedEntry>{entry}.get(ee::numexat);
  if (count == 0 && of_host && queue.refuse(command, check::registration_no_attribute)) return false;
  // One that ends beyond the entry is of no length that can be judged.
  std::size_t at = fabrics::ExtendedEntry::size;
  for (unsigned i = 0; i < count && entry.size() - at >= fabrics::ExtendedAttribute::size; ++i) {
    const std::size_t length = View<fabrics::ExtendedAttribute>{entry.subspan(at)}.get(fabrics::extended_attribute::exatlen);
    if ((length == 0 || length % 4 != 0) && queue.refuse(command, check::registration_attribute_length)) return false;
    at = std::min(entry.size(), at + fabrics::ExtendedAttribute::size + length);
  }
  const auto attributes = fabrics::attributes_of(entry);
  if (!attributes) return !queue.refuse(command, check::registration_entry_length);
  const bool identified = std::ranges::any_of(*attributes, [](const fabrics::Attribute& one) {
    return one.type == AttributeType::host_identifier && one.value.size() == fabrics::kHostIdentifierSize;
  });
  if (of_host && count != 0 && !identified && queue.refuse(command, check::registration_host_identifier)) return false;
  return of_host || !identified || !queue.refuse(command, check::registration_subsystem_identifier);
}

bool RegistrationCommands::entry_ok(const Command& command, ByteView entry, bool of_host) const {
  if (!attributes_ok(command, entry, of_host)) return false;
  const View<fabrics::ExtendedEntry> fixed{entry};
  const bool uses_others = of_host && (static_cast<unsigned>(fixed.get(de::subtype)) != 0 || fixed.get(de::treq) != 0 ||
                                       fixed.get(de::portid) != 0 || fixed.get(de::cntlid) != 0 || fixed.get(de::asqsz) != 0);
  return !uses_others || !command.queue->refuse(command, check::registration_host_fields);
}

/// A TRADDR of NULL stands for the address that the command comes from.
bool RegistrationCommands::addresses_ok(const Command& command, std::vector<RegisteredEntry>& entries) const {
  Queue& queue = *command.queue;
  std::size_t null = 0;
  for (RegisteredEntry& one : entries) {
    const MutableBytes field = MutableBytes{one.bytes}.subspan(de::traddr.offset, de::traddr.size);
    if (!one.extended || !is_null(field)) continue;
    ++null;
    if (departs(departure::reg_address_lost)) continue;
    put_text(field, to_string(queue.channel().peer().address), ' ');
  }
  const bool updates = task_of(command) == RegistrationTask::update;
  return null < 2 || updates || !entries.front().of_host() || !queue.refuse(command, check::registration_address_twice);
}

bool RegistrationCommands::entries_from(const Command& command, ByteView data, std::vector<RegisteredEntry>& entries) const {
  Queue& queue = *command.queue;
  const View<fabrics::RegistrationHeader> header{data};
  const bool of_host = header.get(rg::etype) != EntityType::direct;
  const bool extended = header.get(rg::entfmt) == EntryFormat::extended;
  const std::string eid = fabrics::terminated_text(header.get(rg::eid)).value_or("");
  std::size_t at = fabrics::RegistrationHeader::size;
  for (std::uint64_t i = 0; i < header.get(rg::nument); ++i) {
    const std::size_t length = fabrics::entry_length(data, at, extended ? EntryFormat::extended : EntryFormat::basic);
    if (length == 0) {
      if (queue.refuse(command, check::registration_entry_length)) return false;
      break;
    }
    const ByteView entry = data.subspan(at, length);
    if (extended && !entry_ok(command, entry, of_host)) return false;
    entries.push_back(
        {eid, controller_.host_.hostnqn, header.get(rg::etype), header.get(rg::ektype), extended, Bytes(entry.begin(), entry.end())});
    at += length;
  }
  return entries.empty() || addresses_ok(command, entries);
}

void RegistrationCommands::manage_data(const Command& command) {
  Bytes data(command.data().begin(), command.data().end());
  data.resize(std::max<std::size_t>(data.size(), fabrics::RegistrationHeader::size));  // a deviation took less
  const View<fabrics::RegistrationHeader> header{data};
  if (!header_ok(command, header, command.data().size())) return;
  const std::size_t length = header.get(rg::tdl);
  const bool whole = length >= fabrics::RegistrationHeader::size && length <= data.size();
  std::vector<RegisteredEntry> entries;
  if (!entries_from(command, ByteView{data}.first(whole ? length : data.size()), entries)) return;
  carry_out(command, entries);
}

void RegistrationCommands::carry_out(const Command& command, const std::vector<RegisteredEntry>& entries) {
  Queue& queue = *command.queue;
  DiscoveryService& discovery = *subsystem_.discovery();
  DiscoveryRegistry& registry = discovery.registry();
  const RegistrationTask task = task_of(command);
  const bool adds = task == RegistrationTask::register_entries;
  if (adds && !registry.has_room(entries) && queue.refuse(command, check::registration_capacity)) return;
  DiscoveryRegistry::Changes changes;
  if (adds) {
    changes = registry.add(entries);
  } else if (task == RegistrationTask::deregister_entries) {
    changes = registry.remove(entries);
  } else if (task == RegistrationTask::update && entries.size() == 2) {
    changes = registry.update(entries[0], entries[1]);
  }
  queue.complete(command, sc::success);
  // Whoever hears of the change finds the command done.
  discovery.registered(changes, task != RegistrationTask::deregister_entries);
}

/// Fabric Zoning Send, Receive and Lookup: this controller has no zones.
void RegistrationCommands::zoning(const Command& command) {
  Queue& queue = *command.queue;
  if (!queue.refuse(command, check::zoning_disabled)) queue.complete(command, sc::success);
}

// ---- what goes on around them ----

void RegistrationCommands::begin_association() {
  genctr_known_ = false;
  if (DiscoveryService* const discovery = subsystem_.discovery()) discovery->connectivity_changed(controller_.host_.hostnqn);
}

void RegistrationCommands::end_association() {
  DiscoveryService* const discovery = subsystem_.discovery();
  if (discovery == nullptr) return;
  if (departs(departure::reg_dropped)) discovery->registry().forget(controller_.host_.hostnqn);
  discovery->connectivity_changed(controller_.host_.hostnqn);
}

void RegistrationCommands::on_reset() {
  DiscoveryService* const discovery = subsystem_.discovery();
  if (discovery != nullptr && departs(departure::reg_reset)) discovery->registry().forget(controller_.host_.hostnqn);
}

// ---- log pages ----

bool RegistrationCommands::supports_log(std::uint8_t lid) const {
  const DiscoveryService* const discovery = subsystem_.discovery();
  const auto page = static_cast<LogPage>(lid);
  if (discovery == nullptr) {
    if (page == LogPage::host_discovery) return departs(departure::io_host_log);
    return page == LogPage::discovery && departs(departure::io_discovery_log);
  }
  const CentralizedOptions& central = discovery->central();
  switch (page) {
    case LogPage::discovery:
      return true;
    case LogPage::host_discovery:
      return central.registers;
    case LogPage::ave_discovery:
      return !central.aves.empty();
    case LogPage::pull_model_request:
      return central.centralized ? !departs(departure::cdc_pull_log_missing) : departs(departure::ddc_pull_log);
    default:
      return false;
  }
}

std::uint16_t RegistrationCommands::log_parameter(std::uint8_t lid) const {
  const DiscoveryService* const discovery = subsystem_.discovery();
  if (discovery == nullptr) return 0;
  const CentralizedOptions& central = discovery->central();
  const auto page = static_cast<LogPage>(lid);
  if (page == LogPage::host_discovery) return central.unfiltered && !departs(departure::host_log_supported) ? 1 : 0;
  if (page != LogPage::discovery || departs(departure::log_parameter)) return 0;
  unsigned bits = 0;
  if (central.extended_entries && !(central.centralized && departs(departure::cdc_extended_missing))) {
    bits |= fabrics::discovery_lsp_bits::extended;
  }
  if (central.centralized ? departs(departure::cdc_port_local) : central.port_local) bits |= fabrics::discovery_lsp_bits::port_local;
  if (central.unfiltered) bits |= fabrics::discovery_lsp_bits::all_subsystems;
  return static_cast<std::uint16_t>(bits);
}

bool RegistrationCommands::host_log_is_stale(std::uint64_t offset) {
  const std::uint64_t now = subsystem_.discovery()->registry().host_generation();
  const bool stale = offset != 0 && genctr_known_ && genctr_seen_ != now;
  if (offset == 0) {
    genctr_seen_ = now;
    genctr_known_ = true;
  }
  return stale;
}

Bytes RegistrationCommands::log(const Command& command) const {
  DiscoveryService* const discovery = subsystem_.discovery();
  if (discovery == nullptr) return Bytes(fabrics::DiscoveryHeader::size);  // a deviation has the page
  const auto sqe = command.as<nvme::GetLogPageSqe>();
  const std::uint8_t lsp = sqe.get(nvme::get_log_sqe::lsp);
  const std::string& hostnqn = controller_.host_.hostnqn;
  DiscoveryRegistry& registry = discovery->registry();
  switch (static_cast<LogPage>(sqe.get(nvme::get_log_sqe::lid))) {
    case LogPage::host_discovery:
      if (departs(departure::host_log_genctr_runs)) registry.count_hosts();
      return registry.host_log(hostnqn, (lsp & fabrics::host_log_lsp_bits::all_hosts) != 0);
    case LogPage::ave_discovery:
      return registry.ave_log();
    case LogPage::pull_model_request: {
      Bytes page = DiscoveryRegistry::pull_request_log();
      if (departs(departure::cdc_pull_log_length)) page[fabrics::pull_request_log::tpdrpl.offset] = 0;
      return page;
    }
    default:
      return discovery->log_for({hostnqn, lsp, controller_.port_});
  }
}

}  // namespace fb::subsystem
