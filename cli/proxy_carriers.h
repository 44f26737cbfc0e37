// What a proxy on the command line carries: NVMe/TCP by connections, NVMe/RDMA by packets.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "conformance/live/live_judge.h"
#include "model/proxy/tcp_proxy.h"
#include "sim/net/udp_port.h"

namespace fb::cli {

class ProxyCarrier {
 public:
  virtual ~ProxyCarrier() = default;
  /// Where hosts connect to, in the order of the routes; port 0 was given a number.
  virtual Endpoint at(std::size_t route) const = 0;
  /// Ends every connection in order, on both sides.
  virtual void close() = 0;
  /// "2 connections, 4 MiB to controllers, ...": what passed, and what did not.
  virtual std::string summary(const live::LiveJudge& judge) const = 0;
};

using Remark = std::function<void(const std::string&)>;

/// Connects once to each controller: a wrong --to is better known before the first host comes. UserError with the reason.
void probe_controllers(World& world, net::RealHost& machine, std::string_view transport, const std::vector<proxy::Route>& routes);

/// UserError if an address cannot be had.
std::unique_ptr<ProxyCarrier> carry_tcp(World& world, net::RealHost& machine, const proxy::ProxyOptions& options, const Remark& remark);
/// Of the options those of TLS are not for this transport.
std::unique_ptr<ProxyCarrier> carry_rdma(World& world, net::RealHost& machine, const proxy::ProxyOptions& options, const Remark& remark);

}  // namespace fb::cli
