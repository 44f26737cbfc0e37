// Where our side of a real network is: an address of this machine, or a host of our own on an Ethernet link, over unix
// sockets or on an interface of this machine.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/core/world.h"
#include "sim/net/datagram.h"
#include "sim/net/stream.h"

namespace fb::net {

struct LocalHost {
  IpAddress address;
  std::string path = {};  ///< of our unix socket
  std::string peer = {};
  std::string link = {};  ///< an interface of the machine, whose link we are on as one more
  std::size_t mtu = 9000;

  /// False: this machine's own network.
  bool own_link() const { return !path.empty() || !link.empty(); }
};

/// "192.0.2.8", "l2:PATH,PEER,ADDRESS[,mtu=N]" or "packet:INTERFACE,ADDRESS[,mtu=N]". The Problem names the text.
Result<LocalHost> parse_local_host(std::string_view text);

/// The datagram host at that place, in real time.
Result<std::unique_ptr<DatagramHost>> open_local_host(World& world, const LocalHost& local);

/// Streams from there. Only this machine's own network has TCP.
Result<std::unique_ptr<StreamHost>> open_local_streams(World& world, const LocalHost& local);

}  // namespace fb::net
