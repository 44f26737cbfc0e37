// The connections that pass a proxy for RoCEv2: the numbers of each end, and what the other end sees in place of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/ip.h"

namespace fb::proxy {

/// What a host has requested of a discovery log page.
struct LogPageRequest {
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;  ///< in the host's memory, of the first byte
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  ///< of the first byte in the page
};

/// A WRITE of the controller.
struct SeenWrite {
  std::uint32_t first_psn = 0;
  std::uint32_t first_bytes = 0;  ///< of payload; every packet but the last has as many
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;
};

struct RdmaConnection {
  IpAddress host;
  std::uint32_t host_comm_id = 0, comm_id = 0;  ///< communication ID of the host, and what the controller sees in place of it
  std::uint32_t host_qpn = 0, qpn = 0;          ///< likewise
  std::optional<std::uint32_t> controller_comm_id = {}, controller_qpn = {};
  bool is_admin = false;
  bool ended = false;                                      ///< it is kept for messages that are repeated; see end()
  std::map<std::uint16_t, LogPageRequest> log_pages = {};  ///< by command identifier
  std::optional<SeenWrite> write = {};

  bool established() const { return controller_qpn && !ended; }
};

/// Those of one address that hosts connect to. Hosts choose their numbers without knowledge of each other: each keeps its own as
/// long as no other host has it. The number of connections is bounded; those that are not established are forgotten first.
/// References are valid until the next begin().
class RdmaConnections {
 public:
  /// A request of a host; one that is repeated gives the same connection. The flag: it is a new one.
  std::pair<RdmaConnection*, bool> begin(const IpAddress& host, std::uint32_t comm_id, std::uint32_t qpn);
  /// The controller has accepted.
  void accepted(RdmaConnection& connection, std::uint32_t controller_comm_id, std::uint32_t controller_qpn);

  void end(RdmaConnection& connection);

  RdmaConnection* of_host(const IpAddress& host, std::uint32_t host_comm_id);
  RdmaConnection* by_comm_id(std::uint32_t comm_id) { return found(by_comm_id_, comm_id); }
  RdmaConnection* by_qpn(std::uint32_t qpn) { return found(by_qpn_, qpn); }
  RdmaConnection* by_controller_qpn(std::uint32_t qpn) { return found(by_controller_qpn_, qpn); }
  const std::map<std::uint64_t, RdmaConnection>& all() const { return all_; }

 private:
  template <class Key>
  using Index = std::map<Key, std::uint64_t>;
  template <class Key>
  RdmaConnection* found(const Index<Key>& index, const Key& key) {
    const auto entry = index.find(key);
    return entry == index.end() ? nullptr : &all_.at(entry->second);
  }
  void forget(std::uint64_t which);

  std::map<std::uint64_t, RdmaConnection> all_;  // in the order of their requests
  std::set<std::uint64_t> loose_;                // of these: those that are not established, or no more
  std::uint64_t next_ = 0;
  std::uint32_t last_comm_id_ = 0, last_qpn_ = 0;  // of those that were made
  Index<std::pair<IpAddress, std::uint32_t>> of_host_, by_host_qpn_;
  Index<std::uint32_t> by_comm_id_, by_qpn_, by_controller_qpn_;
};

}  // namespace fb::proxy
