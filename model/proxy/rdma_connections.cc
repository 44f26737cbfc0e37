#include "model/proxy/rdma_connections.h"

namespace fb::proxy {

namespace {

constexpr std::size_t kMost = 16384;
constexpr std::uint32_t kQpnMask = 0xFFFFFF;
constexpr std::uint32_t kFirst = 2;  // queue pairs 0 and 1 are for management

/// The number itself, or else the next free one behind the last that was made.
std::uint32_t free_number(const std::map<std::uint32_t, std::uint64_t>& taken, std::uint32_t wanted, std::uint32_t mask,
                          std::uint32_t& last) {
  if (wanted >= kFirst && !taken.contains(wanted)) return wanted;
  do {
    last = (last + 1) & mask;
  } while (last < kFirst || taken.contains(last));
  return last;
}

}  // namespace

std::pair<RdmaConnection*, bool> RdmaConnections::begin(const IpAddress& host, std::uint32_t comm_id, std::uint32_t qpn) {
  if (RdmaConnection* const known = of_host(host, comm_id)) {
    if (known->host_qpn == qpn && !known->ended) return {known, false};
    forget(of_host_.at({host, comm_id}));
  }
  if (const auto reused = by_host_qpn_.find({host, qpn}); reused != by_host_qpn_.end()) forget(reused->second);
  if (all_.size() >= kMost) forget(loose_.empty() ? all_.begin()->first : *loose_.begin());
  const std::uint64_t which = next_++;
  loose_.insert(which);
  RdmaConnection& made = all_[which];
  made.host = host;
  made.host_comm_id = comm_id;
  made.host_qpn = qpn;
  made.comm_id = free_number(by_comm_id_, comm_id, UINT32_MAX, last_comm_id_);
  made.qpn = free_number(by_qpn_, qpn, kQpnMask, last_qpn_);
  of_host_[{host, comm_id}] = by_host_qpn_[{host, qpn}] = by_comm_id_[made.comm_id] = by_qpn_[made.qpn] = which;
  return {&made, true};
}

void RdmaConnections::accepted(RdmaConnection& connection, std::uint32_t controller_comm_id, std::uint32_t controller_qpn) {
  connection.controller_comm_id = controller_comm_id;
  connection.controller_qpn = controller_qpn;
  const std::uint64_t which = by_qpn_.at(connection.qpn);
  by_controller_qpn_[controller_qpn] = which;
  loose_.erase(which);
}

void RdmaConnections::end(RdmaConnection& connection) {
  connection.ended = true;
  loose_.insert(by_qpn_.at(connection.qpn));
}

RdmaConnection* RdmaConnections::of_host(const IpAddress& host, std::uint32_t host_comm_id) {
  return found(of_host_, {host, host_comm_id});
}

void RdmaConnections::forget(std::uint64_t which) {
  const auto entry = all_.find(which);
  const RdmaConnection& gone = entry->second;
  of_host_.erase({gone.host, gone.host_comm_id});
  by_host_qpn_.erase({gone.host, gone.host_qpn});
  by_comm_id_.erase(gone.comm_id);
  by_qpn_.erase(gone.qpn);
  if (gone.controller_qpn) {
    const auto last = by_controller_qpn_.find(*gone.controller_qpn);
    if (last != by_controller_qpn_.end() && last->second == which) by_controller_qpn_.erase(last);
  }
  loose_.erase(which);
  all_.erase(entry);
}

}  // namespace fb::proxy
