// Windows has no Ethernet links over unix sockets.
#include "sim/net/local_host.h"

#include "sim/net/udp_port.h"

namespace fb::net {

Result<LocalHost> parse_local_host(std::string_view text) {
  const auto address = IpAddress::parse(text);
  if (!address) return Failure{Problem{"'" + std::string(text) + "': no IP address"}};
  return LocalHost{.address = *address};
}

Result<std::unique_ptr<DatagramHost>> open_local_host(World& world, const LocalHost&) {
  return std::unique_ptr<DatagramHost>(std::make_unique<RealHost>(world));
}

Result<std::unique_ptr<StreamHost>> open_local_streams(World& world, const LocalHost&) {
  return std::unique_ptr<StreamHost>(std::make_unique<RealHost>(world));
}

}  // namespace fb::net
