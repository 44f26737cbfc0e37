#include "sim/net/local_host.h"

#include <charconv>
#include <vector>

#include "sim/net/l2_host.h"
#include "sim/net/resolve.h"
#include "sim/net/udp_port.h"

namespace fb::net {

namespace {

constexpr std::string_view kL2 = "l2:", kPacket = "packet:";
constexpr std::size_t kMtuMin = 1280, kMtuMax = 65'000;

Failure<Problem> wrong(std::string_view text, std::string_view why) {
  return {Problem{"'" + std::string(text) + "': " + std::string(why)}};
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<LocalHost> parse_local_host(std::string_view text) {
  const bool sockets = text.starts_with(kL2);
  if (!sockets && !text.starts_with(kPacket)) {
    const auto address = resolve_host(text);
    if (!address)
      return Failure{Problem{address.error().text + "; our own side is an address, l2:PATH,PEER,ADDRESS or packet:INTERFACE,ADDRESS"}};
    return LocalHost{.address = *address};
  }
  const auto parts = split(text.substr(text.find(':') + 1));
  const std::size_t places = sockets ? 2 : 1;
  if (parts.size() < places + 1 || parts.size() > places + 2 || parts[0].empty() || parts[places - 1].empty()) {
    return wrong(text, sockets ? "takes the form l2:PATH,PEER,ADDRESS[,mtu=N]" : "takes the form packet:INTERFACE,ADDRESS[,mtu=N]");
  }
  const auto address = IpAddress::parse(parts[places]);
  if (!address) return wrong(text, "no IP address: '" + std::string(parts[places]) + "'");
  LocalHost made{.address = *address};
  (sockets ? made.path : made.link) = parts[0];
  if (sockets) made.peer = parts[1];
  if (sockets && made.path == made.peer) return wrong(text, "PATH and PEER are two sockets");
  if (parts.size() == places + 1) return made;
  std::string_view digits = parts[places + 1];
  if (!digits.starts_with("mtu=")) return wrong(text, "behind the address stands mtu=N");
  digits.remove_prefix(4);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), made.mtu);
  if (error != std::errc() || end != digits.data() + digits.size() || made.mtu < kMtuMin || made.mtu > kMtuMax) {
    return wrong(text, "an MTU is a number from 1280 to 65000");
  }
  return made;
}

Result<std::unique_ptr<DatagramHost>> open_local_host(World& world, const LocalHost& local) {
  if (!local.own_link()) return std::unique_ptr<DatagramHost>(std::make_unique<RealHost>(world));
  auto host = L2Host::start(world, {local.path, local.peer, local.address, local.mtu, local.link});
  if (!host) return Failure{host.error()};
  return std::unique_ptr<DatagramHost>(std::move(host).value());
}

Result<std::unique_ptr<StreamHost>> open_local_streams(World& world, const LocalHost& local) {
  if (!local.own_link()) return std::unique_ptr<StreamHost>(std::make_unique<RealHost>(world));
  return wrong(local.path.empty() ? "packet:" + local.link : "l2:" + local.path, "a raw Ethernet link has no TCP; use an IP address");
}

}  // namespace fb::net
