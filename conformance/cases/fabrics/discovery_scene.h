// What the cases of the discovery service share: an association with it, its log and the entries of that.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "conformance/cases/fabrics/common.h"
#include "conformance/runner/embedded.h"
#include "wire/fabrics/discovery_log.h"

namespace fb::conformance::fabrics_cases {

namespace dh = fabrics::discovery_header;
namespace de = fabrics::discovery_entry;

inline std::optional<std::string> discovery_service(const Declared& declared) {
  if (!declared.known || declared.discovery) return std::nullopt;
  return "there is no discovery service at this port";
}

/// A referral beside the entries of the service's own ports.
inline const furnished with_a_referral{
    [](EmbeddedSetup& setup) { setup.referrals.push_back({.traddr = "192.0.2.9", .trsvcid = "8009", .portid = 9}); }};

inline constexpr std::size_t kPiece = fabrics::DiscoveryEntry::size;
inline constexpr std::size_t kEntriesMost = 1024;

inline RawAssociation& connect_discovery(ControllerBench& bench, std::optional<std::uint32_t> kato_ms = {}) {
  return bench.associate({.kato_ms = kato_ms, .subnqn = std::string(fabrics::kDiscoveryNqn)});
}

inline host::RawReply read_part(Check& check, RawAssociation& association, std::uint64_t offset, std::size_t bytes) {
  const auto command = host::get_log(nvme::LogPage::discovery, static_cast<std::uint32_t>(bytes), offset);
  return answered(check, association.admin().send(command, bytes).wait(), "the discovery log");
}

inline Bytes read_header(Check& check, RawAssociation& association) {
  const host::RawReply reply = read_part(check, association, 0, kPiece);
  check.require_success(reply, "Get Log Page of the discovery log");
  return reply.data;
}

inline std::uint64_t genctr(const Bytes& log) { return View<fabrics::DiscoveryHeader>{log}.get(dh::genctr); }

/// The whole log, in one read where MDTS has room for it.
inline Bytes read_log(ControllerBench& bench, Check& check, RawAssociation& association) {
  const Bytes header = read_header(check, association);
  const std::uint64_t records = View<fabrics::DiscoveryHeader>{header}.get(dh::numrec);
  check.precondition(records <= kEntriesMost, "the discovery log is of a size that the bench reads");
  const std::size_t whole = static_cast<std::size_t>(records + 1) * kPiece;
  const std::uint64_t most = bench.declared().transfer_max();
  const std::size_t step = most == 0 ? whole : static_cast<std::size_t>(std::min<std::uint64_t>(whole, most));
  Bytes log;
  while (log.size() < whole) {
    const host::RawReply reply = read_part(check, association, log.size(), std::min(step, whole - log.size()));
    check.require_success(reply, "Get Log Page of the whole discovery log");
    log.insert(log.end(), reply.data.begin(), reply.data.end());
  }
  return log;
}

inline std::vector<View<fabrics::DiscoveryEntry>> entries_of(const Bytes& log) {
  std::vector<View<fabrics::DiscoveryEntry>> entries;
  for (std::size_t at = kPiece; at + kPiece <= log.size(); at += kPiece) {
    entries.emplace_back(ByteView{log}.subspan(at, kPiece));
  }
  return entries;
}

inline std::string name_in(const View<fabrics::DiscoveryEntry>& entry) {
  return fabrics::terminated_text(entry.get(de::subnqn)).value_or("");
}

}  // namespace fb::conformance::fabrics_cases
