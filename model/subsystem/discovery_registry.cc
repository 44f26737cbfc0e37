#include "model/subsystem/discovery_registry.h"

#include <algorithm>
#include <utility>

#include "model/subsystem/controller.h"
#include "model/subsystem/registration_fault_points.h"
#include "model/subsystem/subsystem.h"

namespace fb::subsystem {

namespace {

namespace de = fabrics::discovery_entry;
namespace ee = fabrics::extended_entry;
namespace hh = fabrics::host_log_header;
namespace ah = fabrics::ave_log_header;
using fabrics::EntryKeyType;

std::string nqn_of(const RegisteredEntry& entry) {
  return fabrics::terminated_text(View<fabrics::DiscoveryEntry>{entry.bytes}.get(de::subnqn)).value_or("");
}

}  // namespace

bool DiscoveryRegistry::departs(std::string_view point) const { return subsystem_.departs(point); }

RegisteredEntry* DiscoveryRegistry::find(const RegisteredEntry& like) {
  const bool both = departs(departure::reg_key_port) || departs(departure::reg_key_address);
  for (RegisteredEntry& one : entries_) {
    if (one.eid != like.eid || one.of_host() != like.of_host()) continue;
    if (departs(departure::reg_entity)) return &one;
    if (!fabrics::same_key(one.bytes, like.bytes, like.ektype)) continue;
    if (both && !fabrics::same_key(one.bytes, like.bytes, EntryKeyType::port_id)) continue;
    if (both && !fabrics::same_key(one.bytes, like.bytes, EntryKeyType::address)) continue;
    return &one;
  }
  return nullptr;
}

std::size_t DiscoveryRegistry::news_in(const std::vector<RegisteredEntry>& entries) const {
  return static_cast<std::size_t>(std::ranges::count_if(entries, [&](const RegisteredEntry& one) { return find(one) == nullptr; }));
}

bool DiscoveryRegistry::has_room(const std::vector<RegisteredEntry>& entries) const {
  return entries_.size() + news_in(entries) <= options_.entries_max;
}

DiscoveryRegistry::Changes DiscoveryRegistry::add(const std::vector<RegisteredEntry>& entries) {
  Changes changes;
  std::size_t taken = 0;
  for (const RegisteredEntry& one : entries) {
    if (departs(departure::reg_first) && taken == 1) break;
    if (departs(departure::reg_last_lost) && entries_.size() + 1 == options_.entries_max) break;
    ++taken;
    const bool lost = one.of_host()  ? departs(departure::reg_lost)
                      : one.extended ? departs(departure::reg_lost_extended)
                                     : departs(departure::reg_lost_basic);
    if (lost) continue;
    RegisteredEntry* const known = departs(departure::reg_twice) ? nullptr : find(one);
    if (known == nullptr) {
      entries_.push_back(one);
    } else {
      if (known->bytes == one.bytes && known->ektype == one.ektype) continue;
      if (departs(departure::reg_stale)) continue;
      *known = one;
    }
    changes.add(one);
  }
  return changes;
}

DiscoveryRegistry::Changes DiscoveryRegistry::remove(const std::vector<RegisteredEntry>& entries) {
  Changes changes;
  if (departs(departure::reg_remove_ignored)) return changes;
  for (const RegisteredEntry& one : entries) {
    const RegisteredEntry* const known = find(one);
    if (known == nullptr) continue;
    if (departs(departure::reg_remove_whole) && known->bytes != one.bytes) continue;
    changes.add(*known);
    if (departs(departure::reg_remove_all)) {
      std::erase_if(entries_, [&](const RegisteredEntry& other) { return other.eid == one.eid; });
    } else {
      entries_.erase(entries_.begin() + (known - entries_.data()));
    }
    if (departs(departure::reg_remove_first)) break;
  }
  return changes;
}

DiscoveryRegistry::Changes DiscoveryRegistry::update(const RegisteredEntry& old, const RegisteredEntry& now) {
  Changes changes;
  RegisteredEntry* const known = find(old);
  if (known == nullptr) return changes;
  if (departs(departure::reg_update_key) && known->bytes != old.bytes) return changes;
  changes.add(now);
  // The new entry may have the key of another record: they are one from now on.
  if (const RegisteredEntry* const other = find(now); other != nullptr && other != known) {
    *known = now;
    entries_.erase(entries_.begin() + (other - entries_.data()));
  } else if (departs(departure::reg_update_adds)) {
    entries_.push_back(now);
  } else {
    *known = now;
  }
  return changes;
}

DiscoveryRegistry::Changes DiscoveryRegistry::replace(std::string_view eid, const std::vector<RegisteredEntry>& entries) {
  Changes changes;
  for (const RegisteredEntry& one : entries_) {
    if (one.eid == eid) changes.add(one);
  }
  std::erase_if(entries_, [&](const RegisteredEntry& one) { return one.eid == eid; });
  for (const RegisteredEntry& one : entries) {
    entries_.push_back(one);
    changes.add(one);
  }
  return changes;
}

DiscoveryRegistry::Changes DiscoveryRegistry::of_entity(std::string_view hostnqn) const {
  Changes changes;
  for (const RegisteredEntry& one : entries_) {
    if ((one.of_host() ? nqn_of(one) : one.hostnqn) == hostnqn) changes.add(one);
  }
  return changes;
}

void DiscoveryRegistry::forget(std::string_view hostnqn) {
  std::erase_if(entries_, [&](const RegisteredEntry& one) { return one.hostnqn == hostnqn; });
}

void DiscoveryRegistry::count_hosts() {
  if (departs(departure::host_log_genctr)) return;
  host_generation_ += departs(departure::host_log_genctr_start) ? 2 : 1;
}

/// Who registered a subsystem, or the host that an entry describes, has an association with this controller's subsystem.
bool DiscoveryRegistry::is_connected(const RegisteredEntry& entry) const {
  const std::string name = entry.of_host() ? nqn_of(entry) : entry.hostnqn;
  return std::ranges::any_of(subsystem_.controllers(),
                             [&](const auto& one) { return one.second->in_association() && one.second->host().hostnqn == name; });
}

bool DiscoveryRegistry::any_extended() const {
  return std::ranges::any_of(entries_, [](const RegisteredEntry& one) { return !one.of_host() && one.extended; });
}

std::size_t DiscoveryRegistry::append_subsystems(Bytes& log, bool extended) const {
  std::size_t count = 0;
  for (const RegisteredEntry& one : entries_) {
    if (one.of_host()) continue;
    Bytes bytes = one.bytes;
    const bool whole = one.extended && (extended || departs(departure::log_extended_unasked));
    if (!whole) bytes.resize(fabrics::DiscoveryEntry::size);
    if (extended && !one.extended && any_extended()) bytes = fabrics::extended(bytes, {});
    MutableView<fabrics::DiscoveryEntry> entry{bytes};
    unsigned flags = entry.get(de::eflags) & ~unsigned{fabrics::eflags_bits::no_cdc_connectivity};
    if (!is_connected(one) && !departs(departure::reg_ncc)) flags |= fabrics::eflags_bits::no_cdc_connectivity;
    entry.set(de::eflags, flags);
    if (departs(departure::reg_subtype)) entry.set(de::subtype, fabrics::SubsystemType::nvm);
    if (departs(departure::reg_fields_cut)) std::fill_n(bytes.begin() + de::trsvcid.offset, de::trsvcid.size, std::uint8_t{' '});
    if (whole && departs(departure::log_extended_attributes)) bytes = fabrics::extended(bytes, {});
    if (whole && departs(departure::log_extended_tel)) store_le(&bytes[ee::tel.offset], std::uint32_t{1024});
    log.insert(log.end(), bytes.begin(), bytes.end());
    ++count;
  }
  return count;
}

Bytes DiscoveryRegistry::host_log(std::string_view hostnqn, bool all) const {
  Bytes log(fabrics::HostLogHeader::size);
  const bool everyone = all && options_.unfiltered && !departs(departure::host_log_filter);
  std::uint64_t records = departs(departure::host_log_count) ? 1 : 0;
  for (const RegisteredEntry& one : entries_) {
    if (!one.of_host() || (!everyone && nqn_of(one) != hostnqn)) continue;
    Bytes bytes = one.bytes;
    auto attributes = fabrics::attributes_of(bytes).value_or(std::vector<fabrics::Attribute>{});
    if (departs(departure::host_log_attributes)) attributes.resize(std::min<std::size_t>(attributes.size(), 1));
    for (fabrics::Attribute& attribute : attributes) {
      if (attribute.type != fabrics::AttributeType::host_identifier || !departs(departure::host_log_identifier)) continue;
      std::ranges::fill(attribute.value, std::uint8_t{0});
    }
    bytes = fabrics::extended(bytes, attributes);
    // SUBTYPE to ASQSZ and TRSVCID are of subsystems alone.
    std::fill(bytes.begin() + 2, bytes.begin() + 12, std::uint8_t{0});
    if (!departs(departure::host_log_reserved)) std::fill_n(bytes.begin() + de::trsvcid.offset, de::trsvcid.size, std::uint8_t{0});
    MutableView<fabrics::HostEntry> entry{bytes};
    const bool gone = is_connected(one) ? departs(departure::host_log_ncc_set) : !departs(departure::host_log_ncc);
    entry.set(de::eflags, gone && options_.centralized ? fabrics::eflags_bits::no_cdc_connectivity : 0u);
    if (departs(departure::host_log_tel)) entry.set(ee::tel, std::uint32_t{fabrics::HostEntry::size});
    if (departs(departure::host_log_name)) std::fill_n(bytes.begin() + de::subnqn.offset + 40, de::subnqn.size - 40, std::uint8_t{0});
    if (departs(departure::host_log_address)) std::fill_n(bytes.begin() + de::traddr.offset, de::traddr.size, std::uint8_t{' '});
    log.insert(log.end(), bytes.begin(), bytes.end());
    ++records;
  }
  const bool flag = (everyone && !departs(departure::host_log_flag)) || departs(departure::host_log_flag_always);
  const std::size_t length = log.size() - (departs(departure::host_log_length) ? fabrics::HostLogHeader::size : 0);
  MutableView<fabrics::HostLogHeader>{log}
      .set(hh::genctr, host_generation_)
      .set(hh::numrec, records)
      .set(hh::recfmt, departs(departure::host_log_format) ? 1u : 0u)
      .set(hh::hdlpf, flag ? fabrics::hdlpf_bits::all_hosts : 0u)
      .set(hh::thdlpl, static_cast<std::uint32_t>(length));
  return log;
}

Bytes DiscoveryRegistry::ave_log() const {
  namespace ae = fabrics::ave_entry;
  namespace ar = fabrics::ave_record;
  Bytes log(fabrics::AveLogHeader::size);
  for (const AveOptions& ave : options_.aves) {
    Record<fabrics::AveEntry> entry;
    const std::size_t length = fabrics::AveEntry::size + ave.at.size() * fabrics::AveRecord::size;
    entry.set(ae::tel, static_cast<std::uint32_t>(departs(departure::ave_entry) ? fabrics::AveEntry::size : length))
        .set(ae::numatr, departs(departure::ave_records) ? 0u : ave.at.size());
    fb::set_text(entry, ae::avenqn, ave.nqn, '\0');
    log.insert(log.end(), entry.bytes().begin(), entry.bytes().end());
    for (const Endpoint& at : ave.at) {
      Record<fabrics::AveRecord> record;
      const bool v4 = at.address.is_v4();
      record.set(ar::aveadrfam, v4 || departs(departure::ave_family) ? AddressFamily::ipv4 : AddressFamily::ipv6)
          .set(ar::avetrsvcid, at.port);
      const ByteView whole{at.address.bytes()};
      const ByteView bytes = v4 ? whole.last(4) : whole;
      std::copy(bytes.begin(), bytes.end(), record.mutable_bytes().begin() + ar::avetraddr.offset);
      log.insert(log.end(), record.bytes().begin(), record.bytes().end());
    }
  }
  const std::size_t length = log.size() - (departs(departure::ave_length) ? fabrics::AveLogHeader::size : 0);
  MutableView<fabrics::AveLogHeader>{log}
      .set(ah::numrec, options_.aves.size() + (departs(departure::ave_count) ? 1 : 0))
      .set(ah::tadlpl, static_cast<std::uint32_t>(length));
  return log;
}

/// No pull model DDC has asked for anything.
Bytes DiscoveryRegistry::pull_request_log() {
  Record<fabrics::PullRequestLog> log;
  log.set(fabrics::pull_request_log::tpdrpl, std::uint32_t{fabrics::PullRequestLog::size});
  return Bytes(log.bytes().begin(), log.bytes().end());
}

}  // namespace fb::subsystem
