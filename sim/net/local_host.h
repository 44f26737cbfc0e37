// Where our side of a real network is: an address of this machine, or a host of our own on an Ethernet
// link over unix sockets.
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
  std::string path = {};  ///< of our unix socket; empty: this machine's own network
  std::string peer = {};
  std::size_t mtu = 9000;
};

/// "192.0.2.8", or "l2:PATH,PEER,ADDRESS[,mtu=N]". The Problem names the text.
Result<LocalHost> parse_local_host(std::string_view text);

/// The datagram host at that place, in real time.
Result<std::unique_ptr<DatagramHost>> open_local_host(World& world, const LocalHost& local);

/// Streams from there. Only this machine's own network has TCP.
Result<std::unique_ptr<StreamHost>> open_local_streams(World& world, const LocalHost& local);

}  // namespace fb::net
