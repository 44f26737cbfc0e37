#include "wire/fabrics/discovery_log.h"

#include "wire/fabrics/transports.h"

namespace fb::fabrics {

std::string_view name_of(TransportType type) {
  switch (type) {
    case TransportType::rdma:
      return kRdma;
    case TransportType::fibre_channel:
      return "fc";
    case TransportType::tcp:
      return kTcp;
    case TransportType::intra_host:
      return "loop";
  }
  return "reserved";
}

std::string_view name_of(AddressFamily family) {
  switch (family) {
    case AddressFamily::ipv4:
      return "ipv4";
    case AddressFamily::ipv6:
      return "ipv6";
    case AddressFamily::infiniband:
      return "ib";
    case AddressFamily::fibre_channel:
      return "fc";
    case AddressFamily::intra_host:
      return "loop";
  }
  return "reserved";
}

std::string_view name_of(SubsystemType type) {
  switch (type) {
    case SubsystemType::referral:
      return "discovery subsystem referral";
    case SubsystemType::nvm:
      return "nvm subsystem";
    case SubsystemType::current_discovery:
      return "current discovery subsystem";
  }
  return "reserved";
}

std::optional<std::uint16_t> decimal_port(ByteView trsvcid) {
  const std::string text = text_of(trsvcid);
  std::uint32_t port = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    port = port * 10 + static_cast<std::uint32_t>(c - '0');
    if (port > 0xFFFF) return std::nullopt;
  }
  if (port == 0) return std::nullopt;
  return static_cast<std::uint16_t>(port);
}

}  // namespace fb::fabrics
