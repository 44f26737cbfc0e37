// Stands between NVMe/TCP hosts and controllers: each connection of a host is joined with one of its own to the controller, and
// bytes pass both ways as they come, with back-pressure, half-closes and resets.
//
// What passes is shown in the world's trace as what each side said and heard, with the actors below; who judges and captures
// listens there. In a quiet proxy both sides hear what the other says, and one connection is shown: the host's. Under faults
// they do not, and both connections are shown, each as its product knows it.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/proxy/discovery_rewriter.h"
#include "sim/core/world.h"
#include "sim/fault/points.h"
#include "sim/net/stream.h"

namespace fb::proxy {

/// Who sends a segment in the trace.
namespace actors {
inline constexpr std::string_view host = "host";
inline constexpr std::string_view controller = "controller";
inline constexpr std::string_view towards_host = "proxy to host";
inline constexpr std::string_view towards_controller = "proxy to controller";
}  // namespace actors

/// Hosts that come to `listen` are led to `to`.
struct Route {
  Endpoint listen;
  Endpoint to;
};

struct ProxyOptions {
  std::vector<Route> routes;
  IpAddress from = {};              ///< of the connections to controllers; all zeroes: as the machine chooses
  bool keep_discovery = false;      ///< log pages pass as they are, and may lead hosts past the proxy
  fault::Points* faults = nullptr;  ///< null: a quiet proxy. Outlives the proxy.
  /// Where hosts come from; null: plain streams. With TLS, streams of hosts have an identity.
  net::StreamHost* from_hosts = nullptr;
  /// How to go on to the controller for a host of this identity; empty: by plain streams.
  std::function<Result<net::StreamHost*>(std::string_view identity)> towards = {};
};

struct ProxyCounters {
  std::uint64_t connections = 0;
  std::uint64_t unreachable = 0;  ///< of those: no connection to the controller came about
  std::uint64_t to_controller_bytes = 0;
  std::uint64_t to_host_bytes = 0;
  std::uint64_t renamed_entries = 0;  ///< of discovery log pages
};

class Pair;
struct FaultSites;

class TcpProxy final : net::StreamAcceptor {
 public:
  /// Listens for every route. The Problem names the first address that cannot be had.
  static Result<std::unique_ptr<TcpProxy>> start(World& world, net::StreamHost& streams, const ProxyOptions& options);
  ~TcpProxy();

  /// Where hosts come to, in the order of the routes; port 0 was given a number.
  Endpoint at(std::size_t route) const { return listeners_[route]->local(); }
  const ProxyCounters& counters() const { return counters_; }
  std::size_t open() const { return pairs_.size(); }
  /// Ends every connection in order, on both sides.
  void close();

  /// A connection to a controller did not come about, or a discovery entry leads past the proxy: words for the user.
  std::function<void(const std::string&)> on_remark;

 private:
  friend class Pair;
  TcpProxy(World& world, net::StreamHost& streams, const ProxyOptions& options);
  void on_stream(std::unique_ptr<net::Stream> stream) override;
  const Route& route_of(const Endpoint& local) const;
  std::vector<Renamed> names_for(const Endpoint& local) const;
  void remark(const std::string& text);
  void bury();

  World& world_;
  net::StreamHost& streams_;
  ProxyOptions options_;
  ProxyCounters counters_;
  std::unique_ptr<FaultSites> faults_;
  std::vector<std::unique_ptr<net::StreamListener>> listeners_;
  std::list<std::unique_ptr<Pair>> pairs_;
  std::vector<std::string> told_;
  Bytes room_;  // what is on its way, for one call
  Timer<TcpProxy, &TcpProxy::bury> bury_{"proxy.bury", *this};
};

}  // namespace fb::proxy
