// What a proxy on the command line carries: NVMe/TCP by connections, NVMe/RDMA by packets.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/live/live_judge.h"
#include "model/proxy/tcp_proxy.h"
#include "sim/net/udp_port.h"

namespace fb::cli {

class ProxyCarrier {
 public:
  virtual ~ProxyCarrier() = default;
  /// Where hosts connect to and where that leads, in the order of the routes: "tcp://192.0.2.1:4420 -> tcp://192.0.2.7:4420".
  virtual std::vector<std::string> ways() const = 0;
  /// Ends every connection in order, on both sides.
  virtual void close() = 0;
  /// "2 connections, 4 MiB to controllers, ...": what passed, and what did not.
  virtual std::string summary(const live::LiveJudge& judge) const = 0;
};

/// "l2:PATH,PEER" or "packet:INTERFACE": an Ethernet link instead of an address.
bool is_link(std::string_view text);

using Remark = std::function<void(const std::string&)>;

/// Connects once to each controller: a wrong --to is better known before the first host comes. UserError with the reason.
void probe_controllers(World& world, net::RealHost& machine, std::string_view transport, const std::vector<proxy::Route>& routes);

/// UserError if an address cannot be had.
std::unique_ptr<ProxyCarrier> carry_tcp(World& world, net::RealHost& machine, const proxy::ProxyOptions& options, const Remark& remark);
/// Of the options those of TLS are not for this transport.
std::unique_ptr<ProxyCarrier> carry_rdma(World& world, net::RealHost& machine, const proxy::ProxyOptions& options, const Remark& remark);

/// Between two Ethernet links, as is_link() has them. UserError if one cannot be had.
std::unique_ptr<ProxyCarrier> carry_frames(World& world, const std::string& hosts, const std::string& controllers, fault::Points* faults);

}  // namespace fb::cli
