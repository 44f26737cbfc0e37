// An rdma::Device on rdma-core: libibverbs moves the data, librdmacm makes the connections, the kernel's driver does the
// work - rdma_rxe, or that of a card. In real time alone. Queue pairs are made with libibverbs and brought through their
// states here, so that a reply can be held back; the library's own queue pairs could not do that.
//
// What differs from other devices, and what the limits say of it:
//  - A region's address is its pointer: register_memory_at() throws UserError for any other.
//  - There is no fast registration in user space. Hosts register memory for each command instead.
//  - Memory that is registered is pinned: register_memory() throws UserError when this process may not have so much.
//  - refuse() and reject() say "consumer defined" (28) whatever reason they are given.
//  - Of a completion that failed verbs do not say what it was: its opcode is `send` always.
//  - Completions do not say whether they were solicited: request_notify() with solicited_only may call once too often.
//  - A peer that is gone is noticed when the driver gives up. rdma_rxe takes a retry count of 7 for "for ever".
#pragma once

#include <memory>
#include <string>

#include "base/ip.h"
#include "base/result.h"
#include "sim/core/world.h"
#include "sim/rdma/device.h"

namespace fb::verbs {

struct VerbsOptions {
  std::string name;   ///< "rxe0", as list_devices() and `rdma link` have it
  IpAddress address;  ///< one of the device's, which connections leave from and listeners stand on
};

/// The world has a real loop. The Problem names the device and what can be done: how one is made, who may open it,
/// which addresses it has.
Result<std::unique_ptr<rdma::Device>> open_device(World& world, const VerbsOptions& options);

}  // namespace fb::verbs
