// The RDMA devices that this machine's kernel has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "base/result.h"
#include "sim/rdma/verbs/owned.h"

namespace fb::verbs {

struct DeviceFacts {
  std::string name;
  std::uint64_t node_guid = 0;
  std::string transport;             ///< "RoCE", "InfiniBand", "iWARP"
  bool active = false;               ///< its first port is up
  std::uint32_t mtu_bytes = 0;       ///< the path MTU that the port has now
  std::vector<IpAddress> addresses;  ///< of RoCE ports: what connections can leave from
};

/// Nothing is not an error: a machine may have none. The Problem says why one of them cannot be looked at.
Result<std::vector<DeviceFacts>> list_devices();

/// What a machine without the device that was asked for needs: both commands, on one line.
std::string_view how_to_make_one();

/// Opens the device of that name. The Problem names it, the devices that there are, and what is missing.
Result<Owned<ibv_context>> open_context(std::string_view name);

/// The facts of an open device.
Result<DeviceFacts> facts_of(ibv_context& context);

/// "no permission", "no such device": an errno in the middle of a line.
std::string words_of(int error);

}  // namespace fb::verbs
