#include "sim/net/local_host.h"

#include <charconv>
#include <vector>

#include "sim/net/l2_host.h"
#include "sim/net/udp_port.h"

namespace fb::net {

namespace {

constexpr std::string_view kL2 = "l2:";
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
  if (!text.starts_with(kL2)) {
    const auto address = IpAddress::parse(text);
    if (!address) return wrong(text, "no IP address, and not l2:PATH,PEER,ADDRESS");
    return LocalHost{.address = *address};
  }
  const auto parts = split(text.substr(kL2.size()));
  if (parts.size() < 3 || parts.size() > 4 || parts[0].empty() || parts[1].empty()) {
    return wrong(text, "takes the form l2:PATH,PEER,ADDRESS[,mtu=N]");
  }
  const auto address = IpAddress::parse(parts[2]);
  if (!address) return wrong(text, "no IP address: '" + std::string(parts[2]) + "'");
  LocalHost made{.address = *address, .path = std::string(parts[0]), .peer = std::string(parts[1])};
  if (made.path == made.peer) return wrong(text, "PATH and PEER are two sockets");
  if (parts.size() == 3) return made;
  std::string_view digits = parts[3];
  if (!digits.starts_with("mtu=")) return wrong(text, "behind the address stands mtu=N");
  digits.remove_prefix(4);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), made.mtu);
  if (error != std::errc() || end != digits.data() + digits.size() || made.mtu < kMtuMin ||
      made.mtu > kMtuMax) {
    return wrong(text, "an MTU is a number from 1280 to 65000");
  }
  return made;
}

Result<std::unique_ptr<DatagramHost>> open_local_host(World& world, const LocalHost& local) {
  if (local.path.empty()) return std::unique_ptr<DatagramHost>(std::make_unique<RealHost>(world));
  auto host = L2Host::start(world, {local.path, local.peer, local.address, local.mtu});
  if (!host) return Failure{host.error()};
  return std::unique_ptr<DatagramHost>(std::move(host).value());
}

Result<std::unique_ptr<StreamHost>> open_local_streams(World& world, const LocalHost& local) {
  if (local.path.empty()) return std::unique_ptr<StreamHost>(std::make_unique<RealHost>(world));
  return wrong("l2:" + local.path, "an Ethernet link over unix sockets has no TCP; use an IP address");
}

}  // namespace fb::net
