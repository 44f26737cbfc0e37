// The transports of NVMe over Fabrics that are here, one row each. Everything else refers to a transport by these names: what a
// new one needs is listed in docs/adding-a-transport.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/fabrics/discovery_log.h"

namespace fb::fabrics {

inline constexpr std::string_view kRdma = "rdma";
inline constexpr std::string_view kTcp = "tcp";

struct Transport {
  std::string_view name;         ///< in URLs, options, results, and in the kernel's own interfaces
  TransportType type;            ///< TRTYPE of discovery log entries (Base 2.1, 5.1.12.3.1)
  std::uint16_t discovery_port;  ///< where discovery services listen: 8009 is registered for NVMe/TCP, 4420 for NVMe/RDMA
};

inline constexpr Transport kTransports[] = {
    {kRdma, TransportType::rdma, 4420},
    {kTcp, TransportType::tcp, 8009},
};

/// The row of that name; the first where there is none.
constexpr const Transport& transport_named(std::string_view name) {
  for (const Transport& one : kTransports) {
    if (one.name == name) return one;
  }
  return kTransports[0];
}

}  // namespace fb::fabrics
