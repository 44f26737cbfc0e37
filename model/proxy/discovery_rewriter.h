// Keeps hosts on the proxy's side: entries and referrals of discovery log pages that name the controller behind it are made to
// name the proxy. Works on the PDUs of one admin queue of NVMe/TCP.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "wire/fabrics/discovery_log.h"
#include "wire/tcp/pdu.h"

namespace fb::proxy {

/// An entry that names `from` names `to` afterwards.
struct Renamed {
  Endpoint from;
  Endpoint to;
};

/// Rewrites the part of a discovery log page that begins at `offset` of the page. Only entries that lie in it as wholes are
/// touched, and of those only TRADDR, TRSVCID and ADRFAM. Returns how many were. Entries of other transports stay as they are.
/// `past`, if given, gains the addresses that lead past the proxy, "192.0.2.8:4420".
std::size_t rename_entries(MutableBytes page, std::uint64_t offset, fabrics::TransportType of, const std::vector<Renamed>& names,
                           std::vector<std::string>* past = nullptr);

/// The part of the discovery log page that a command requests.
struct DiscoveryLogRange {
  std::uint16_t cid = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
/// Nothing for other commands, for extended entries, and for parts that are too long to be changed.
std::optional<DiscoveryLogRange> discovery_log_range(ByteView sqe);

class DiscoveryRewriter {
 public:
  explicit DiscoveryRewriter(std::vector<Renamed> names) : names_(std::move(names)) {}

  /// Of each admin command that the host sends, before it passes on.
  void on_command(ByteView sqe);
  /// A log page has been asked for and is not whole yet: the PDUs of the controller go through take().
  bool waiting() const { return !open_.empty(); }
  /// A PDU of the controller. What may pass on is appended to `out`: data of a log page waits until it is whole, and with it
  /// what follows, so that the order stays.
  void take(Bytes pdu, std::vector<Bytes>& out);
  /// No more comes: what waits, as it is.
  void release(std::vector<Bytes>& out);

  std::uint64_t renamed() const { return renamed_; }
  const std::vector<std::string>& past() const { return past_; }

 private:
  struct Log {
    std::uint64_t offset = 0;  ///< of its first byte in the page
    std::size_t bytes = 0;     ///< that were asked for
    std::size_t arrived = 0;
  };
  void finish(std::uint16_t cid);

  std::vector<Renamed> names_;
  std::map<std::uint16_t, Log> open_;  // by command identifier
  std::vector<Bytes> waiting_;
  std::uint64_t renamed_ = 0;
  std::vector<std::string> past_;
};

}  // namespace fb::proxy
