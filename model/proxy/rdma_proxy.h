// Stands between NVMe/RDMA hosts and controllers on RoCEv2, packet by packet. Hosts connect to an address of the proxy; what they
// send goes on to the controller's address, as if the proxy's were their only device, and answers come back. Addresses, service
// IDs and the numbers that hosts chose are translated, and the integrity check is made anew.
//
// What passes is shown in the world's trace with proxy::actors, as TcpProxy shows it: in a quiet proxy the hosts' side alone,
// under faults both sides, each with what it said and heard.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/proxy/tcp_proxy.h"
#include "sim/fault/network_faults.h"
#include "sim/net/datagram.h"

namespace fb::proxy {

struct RdmaProxyOptions {
  /// `listen.port` and `to.port` are ports of the RDMA connection manager; packets use UDP port 4791. An address to listen at
  /// leads to one address only, of the same version of IP.
  std::vector<Route> routes;
  bool keep_discovery = false;      ///< log pages pass as they are, and may lead hosts past the proxy
  fault::Points* faults = nullptr;  ///< null: a quiet proxy. Outlives the proxy.
};

struct RdmaProxyCounters {
  std::uint64_t connections = 0;  ///< that hosts requested
  std::uint64_t to_controller_bytes = 0;
  std::uint64_t to_host_bytes = 0;
  std::uint64_t renamed_entries = 0;  ///< of discovery log pages
  std::uint64_t damaged = 0;          ///< packets that arrived with a wrong integrity check; not passed on
  std::uint64_t strangers = 0;        ///< packets of no connection, or of no format that is known; not passed on
  std::uint64_t too_long = 0;         ///< packets that do not fit into the MTU of the other side; not passed on
};

class RdmaProxy {
 public:
  /// Opens UDP port 4791 of every address to listen at. The Problem names the first that cannot be had, or the route that
  /// contradicts another.
  static Result<std::unique_ptr<RdmaProxy>> start(World& world, net::DatagramHost& host, const RdmaProxyOptions& options);
  ~RdmaProxy();

  const RdmaProxyCounters& counters() const { return counters_; }
  /// Connections that were established and have not ended.
  std::size_t open() const;
  /// Disconnects both ends of every connection (DREQ).
  void close();

  /// A discovery entry leads past the proxy, or a log page could not be changed: words for the user.
  std::function<void(const std::string&)> on_remark;

 private:
  class Way;
  /// A direction, which all ways share.
  struct Link {
    std::string name;  ///< as schedules call it
    std::size_t index = 0;
    std::uint64_t ordinal = 0;
  };
  RdmaProxy(World& world, const RdmaProxyOptions& options);
  void remark(const std::string& text);

  World& world_;
  RdmaProxyOptions options_;
  RdmaProxyCounters counters_;
  std::optional<fault::NetworkFaults> network_;  // under faults
  bool forged_ = false;                          // the fault at hand
  Link to_controller_{.name = "host->target", .index = 0};
  Link to_host_{.name = "target->host", .index = 1};
  std::vector<std::unique_ptr<Way>> ways_;  // one for each address to listen at
  std::vector<std::string> remarks_;
};

}  // namespace fb::proxy
