// What the cases of centralized discovery share: products that take part in it, entries to register, and the logs that tell
// of them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/cases/fabrics/common.h"
#include "wire/fabrics/registration.h"
#include "wire/nvme/features.h"

namespace fb::conformance::discovery_cases {

using namespace fabrics_cases;

namespace de = fabrics::discovery_entry;
namespace dh = fabrics::discovery_header;
namespace ee = fabrics::extended_entry;
namespace hh = fabrics::host_log_header;
namespace rg = fabrics::registration;
using fabrics::EntityType;
using fabrics::EntryFormat;
using fabrics::EntryKeyType;
using fabrics::RegistrationTask;
using fabrics::SubsystemType;

inline void make_cdc(EmbeddedSetup& setup) {
  setup.central = {.centralized = true, .registers = true, .extended_entries = true, .unfiltered = true};
  setup.central.aves = {
      {"nqn.2026-11.org.fabricbench:ave.1", {{IpAddress::v4(192, 0, 2, 91), 4433}}},
      {"nqn.2026-11.org.fabricbench:ave.2",
       {{IpAddress::v4(192, 0, 2, 92), 4434}, {IpAddress::v6({0xFD, 0x0B, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}), 4435}}}};
}
inline void make_ddc(EmbeddedSetup& setup) {
  setup.central = {.registers = true, .extended_entries = true, .port_local = true, .unfiltered = true};
}
/// The embedded product is one; a real product is used as it is.
inline const furnished a_cdc{&make_cdc};
inline const furnished a_ddc{&make_ddc};

/// Who takes part.
struct Party {
  std::string_view nqn;
  std::uint8_t id;  ///< all sixteen bytes of its Host Identifier
  host::HostId hostid() const {
    host::HostId made;
    made.fill(id);
    return made;
  }
};
inline constexpr Party kHost{"nqn.2014-08.org.nvmexpress:uuid:8f1d2c3b-0a11-4e5f-9a01-000000000071", 0x71};
inline constexpr Party kOther{"nqn.2014-08.org.nvmexpress:uuid:8f1d2c3b-0a11-4e5f-9a01-000000000072", 0x72};
inline constexpr Party kDirect{"nqn.2014-08.org.nvmexpress:uuid:8f1d2c3b-0a11-4e5f-9a01-000000000073", 0x73};
inline constexpr std::string_view kDisk = "nqn.2026-11.org.fabricbench:registered.1";
inline constexpr std::string_view kDisk2 = "nqn.2026-11.org.fabricbench:registered.2";
inline constexpr std::uint32_t kKato = 60000;

struct EntryFacts {
  std::string_view nqn;
  std::string_view traddr = "192.0.2.71";
  std::string_view trsvcid = "4420";
  std::uint16_t portid = 0;
  SubsystemType subtype = SubsystemType::nvm;
  std::uint16_t asqsz = 32;
};

inline Bytes entry_of(const ControllerBench& bench, const EntryFacts& facts, bool of_host) {
  Record<fabrics::DiscoveryEntry> entry;
  entry.set(de::trtype, fabrics::transport_named(bench.transport()).type).set(de::adrfam, fabrics::AddressFamily::ipv4);
  if (!of_host) {
    entry.set(de::subtype, facts.subtype)
        .set(de::portid, facts.portid)
        .set(de::cntlid, fabrics::kAnyController)
        .set(de::asqsz, facts.asqsz);
  }
  fb::set_text(entry, de::trsvcid, facts.trsvcid, ' ');
  fb::set_text(entry, de::subnqn, facts.nqn, '\0');
  fb::set_text(entry, de::traddr, facts.traddr, ' ');
  return Bytes(entry.bytes().begin(), entry.bytes().end());
}

inline fabrics::Attribute identifier_of(const Party& party) {
  return {fabrics::AttributeType::host_identifier, Bytes(fabrics::kHostIdentifierSize, party.id)};
}
/// An extended entry of a host, with its Host Identifier.
inline Bytes host_entry(const ControllerBench& bench, const Party& party, std::string_view traddr = "192.0.2.71",
                        std::vector<fabrics::Attribute> more = {}) {
  more.insert(more.begin(), identifier_of(party));
  return fabrics::extended(entry_of(bench, {.nqn = party.nqn, .traddr = traddr}, true), more);
}
/// A basic entry of an NVM subsystem.
inline Bytes disk_entry(const ControllerBench& bench, const EntryFacts& facts) { return entry_of(bench, facts, false); }

inline fabrics::RegistrationData of_host(const Party& party, std::vector<Bytes> entries) {
  return {.eid = std::string(party.nqn), .ename = "fabricbench", .ever = "1", .entries = std::move(entries)};
}
inline fabrics::RegistrationData of_direct(std::vector<Bytes> entries, EntryFormat format = EntryFormat::basic,
                                           EntryKeyType key = EntryKeyType::address) {
  return {.entfmt = format,
          .etype = EntityType::direct,
          .ektype = key,
          .eid = std::string(kDirect.nqn),
          .ename = "fabricbench",
          .ever = "1",
          .entries = std::move(entries)};
}

inline host::RawReply send_task(Check& check, RawAssociation& association, RegistrationTask task, const Bytes& data) {
  auto command = host::any_command(static_cast<std::uint8_t>(nvme::AdminOpcode::discovery_information_management));
  command.edit<fabrics::RegistrationSqe>().set(fabrics::registration_sqe::tas, task);
  return answered(check, association.admin().send(command, data).wait(), "Discovery Information Management");
}
inline host::RawReply send_task(Check& check, RawAssociation& association, RegistrationTask task, const fabrics::RegistrationData& data) {
  return send_task(check, association, task, data.bytes());
}
/// What a case needs to be registered, and does not judge.
inline void registered(Check& check, RawAssociation& association, const fabrics::RegistrationData& data) {
  check.precondition_success(send_task(check, association, RegistrationTask::register_entries, data), "Register");
}
inline void deregistered(Check& check, RawAssociation& association, const fabrics::RegistrationData& data) {
  check.precondition_success(send_task(check, association, RegistrationTask::deregister_entries, data), "De-Register");
}

/// An association with the discovery service as `party`. What earlier cases of a run left there is taken away.
inline RawAssociation& join(ControllerBench& bench, Check& check, const Party& party, std::uint32_t kato_ms = kKato) {
  RawAssociation& association = bench.associate(
      {.kato_ms = kato_ms, .hostnqn = std::string(party.nqn), .hostid = party.hostid(), .subnqn = std::string(fabrics::kDiscoveryNqn)});
  if (bench.embedded()) return association;
  for (const std::string_view address : {"192.0.2.71", "192.0.2.72", "192.0.2.73"}) {
    if (party.nqn != kDirect.nqn) {
      (void)send_task(check, association, RegistrationTask::deregister_entries, of_host(party, {host_entry(bench, party, address)}));
      continue;
    }
    for (const std::string_view disk : {kDisk, kDisk2}) {
      for (const std::string_view service : {"4420", "8009"}) {
        const auto entries = of_direct({disk_entry(bench, {.nqn = disk, .traddr = address, .trsvcid = service})});
        (void)send_task(check, association, RegistrationTask::deregister_entries, entries);
      }
    }
  }
  return association;
}

/// What that party has registered is there still.
inline void return_of(ControllerBench& bench, const Party& party) {
  (void)bench.associate(
      {.kato_ms = kKato, .hostnqn = std::string(party.nqn), .hostid = party.hostid(), .subnqn = std::string(fabrics::kDiscoveryNqn)});
}

// ---- logs ----

inline host::RawReply ask_log(Check& check, RawAssociation& association, nvme::LogPage page, std::size_t bytes, std::uint8_t lsp = 0) {
  auto command = host::get_log(page, static_cast<std::uint32_t>(bytes));
  command.set(nvme::get_log_sqe::lsp, lsp);
  return answered(check, association.admin().send(command, bytes).wait(), "Get Log Page");
}
inline Bytes read_page(Check& check, RawAssociation& association, nvme::LogPage page, std::size_t bytes, std::uint8_t lsp = 0) {
  host::RawReply reply = ask_log(check, association, page, bytes, lsp);
  check.require_success(reply, "Get Log Page");
  return std::move(reply.data);
}

inline constexpr std::size_t kLogMost = 65536;
/// The log from its beginning, with as many bytes as its length field at `at` says.
inline Bytes read_by_length(Check& check, RawAssociation& association, nvme::LogPage page, std::size_t at, std::uint8_t lsp = 0) {
  const Bytes header = read_page(check, association, page, 1024, lsp);
  const std::size_t length = load_le<std::uint32_t>(&header[at]);
  check.precondition(length <= kLogMost, "a log of at most 64 KiB");
  if (length <= header.size()) return header;
  return read_page(check, association, page, (length + 3) / 4 * 4, lsp);
}
/// LIDSP of a log page, where Supported Log Pages lists it.
inline std::optional<std::uint32_t> parameter_of(Check& check, RawAssociation& association, nvme::LogPage page) {
  const Bytes pages = read_page(check, association, nvme::LogPage::supported_pages, nvme::SupportedPages::size);
  const View<nvme::SupportedPage> one{ByteView{pages}.subspan(static_cast<std::size_t>(page) * 4, 4)};
  if (!one.get(nvme::supported_page::lsupp)) return std::nullopt;
  return static_cast<std::uint32_t>(one.get(nvme::supported_page::lidsp));
}

/// What zones hide of a host is theirs to decide: with `all` the log has every host, or the case ends.
inline Bytes read_hosts(Check& check, RawAssociation& association, bool all = true) {
  if (all) check.precondition(parameter_of(check, association, nvme::LogPage::host_discovery).value_or(0) != 0, "ALLHOSTES is 1");
  return read_by_length(check, association, nvme::LogPage::host_discovery, hh::thdlpl.offset,
                        all ? fabrics::host_log_lsp_bits::all_hosts : std::uint8_t{0});
}

/// The records of a log in which entries tell their own length at `at`; the case ends where one does not fit.
inline std::vector<Bytes> records_of(Check& check, const Bytes& log, std::size_t at, std::size_t least) {
  std::vector<Bytes> records;
  const std::uint64_t count = load_le<std::uint64_t>(&log[hh::numrec.offset]);
  std::size_t from = 1024;
  for (std::uint64_t i = 0; i < count; ++i) {
    check.require(log.size() - from >= least, "record " + std::to_string(i) + " lies within the log");
    const std::size_t length = load_le<std::uint32_t>(&log[from + at]);
    check.require(length >= least && length <= log.size() - from, "TEL of record " + std::to_string(i) + " fits the log",
                  std::to_string(length));
    records.emplace_back(log.begin() + static_cast<std::ptrdiff_t>(from), log.begin() + static_cast<std::ptrdiff_t>(from + length));
    from += length;
  }
  return records;
}
inline std::vector<Bytes> host_records(Check& check, const Bytes& log) {
  return records_of(check, log, ee::tel.offset, fabrics::HostEntry::size);
}

/// The text of a field that is filled up with spaces or zeroes.
inline std::string text_in(ByteView field) {
  std::string text(field.begin(), std::find(field.begin(), field.end(), std::uint8_t{0}));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}
inline std::string nqn_in(ByteView record) { return text_in(View<fabrics::DiscoveryEntry>{record}.get(de::subnqn)); }
inline std::string address_in(ByteView record) { return text_in(View<fabrics::DiscoveryEntry>{record}.get(de::traddr)); }

/// Those of one name.
inline std::vector<Bytes> named(const std::vector<Bytes>& records, std::string_view nqn) {
  std::vector<Bytes> found;
  std::copy_if(records.begin(), records.end(), std::back_inserter(found), [&](const Bytes& one) { return nqn_in(one) == nqn; });
  return found;
}
inline std::vector<Bytes> hosts_named(Check& check, RawAssociation& association, std::string_view nqn) {
  return named(host_records(check, read_hosts(check, association)), nqn);
}
/// The one record of that host; the case ends without it.
inline Bytes host_record(Check& check, RawAssociation& association, std::string_view nqn) {
  const auto found = hosts_named(check, association, nqn);
  check.require(found.size() == 1, "the Host Discovery log has one record of the host", std::to_string(found.size()) + " records");
  return found.front();
}

/// The basic entries of the Discovery log.
inline std::vector<Bytes> subsystems(Check& check, RawAssociation& association, std::uint8_t lsp = 0) {
  const Bytes header = read_page(check, association, nvme::LogPage::discovery, 1024, lsp);
  const std::uint64_t count = View<fabrics::DiscoveryHeader>{header}.get(dh::numrec);
  check.precondition(count < 64, "a Discovery log of fewer than 64 entries");
  const Bytes log = read_page(check, association, nvme::LogPage::discovery, static_cast<std::size_t>(count + 1) * 1024, lsp);
  std::vector<Bytes> records;
  for (std::size_t at = 1024; at < log.size(); at += 1024) {
    records.emplace_back(log.begin() + static_cast<std::ptrdiff_t>(at), log.begin() + static_cast<std::ptrdiff_t>(at + 1024));
  }
  return records;
}
inline std::vector<Bytes> disks_named(Check& check, RawAssociation& association, std::string_view nqn, std::uint8_t lsp = 0) {
  return named(subsystems(check, association, lsp), nqn);
}
/// Entries of a registered subsystem, whatever zones hide of them from this reader.
inline std::vector<Bytes> registered_disks(Check& check, RawAssociation& association, std::string_view nqn) {
  constexpr std::uint8_t kAll = fabrics::discovery_lsp_bits::all_subsystems;
  const auto parameter = parameter_of(check, association, nvme::LogPage::discovery);
  check.precondition((parameter.value_or(0) & kAll) != 0, "ALLSUBES is 1");
  return disks_named(check, association, nqn, kAll);
}
/// A reader is not notified of a change that its log does not show.
inline void needs_a_view(const ControllerBench& bench, Check& check, RawAssociation& association, std::string_view nqn) {
  if (bench.embedded()) return;
  check.precondition(!disks_named(check, association, nqn).empty(), "the log of this reader has the registered subsystem");
}
inline void needs_a_view_of_hosts(const ControllerBench& bench, Check& check, RawAssociation& association, std::string_view nqn) {
  if (bench.embedded()) return;
  const auto records = host_records(check, read_hosts(check, association, false));
  check.precondition(!named(records, nqn).empty(), "the log of this reader has the registered host");
}
inline std::uint64_t genctr_of(Check& check, RawAssociation& association, nvme::LogPage page) {
  return load_le<std::uint64_t>(read_page(check, association, page, 1024).data());
}

// ---- events ----

/// Enables the notices of the discovery logs.
inline void want_events(Check& check, RawAssociation& association, std::uint32_t bits) {
  const auto command = host::set_features(nvme::FeatureId::async_event_configuration, bits);
  check.precondition_success(answered(check, association.admin().send(command).wait()), "Set Features of event configuration");
}
inline constexpr std::uint32_t kLogEvents = nvme::event_config_bits::discovery_log | nvme::event_config_bits::host_discovery;

}  // namespace fb::conformance::discovery_cases
