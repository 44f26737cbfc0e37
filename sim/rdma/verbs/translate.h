// Values of the RDMA interface in the terms of libibverbs, and back.
#pragma once

#include <infiniband/verbs.h>

#include <optional>

#include "sim/rdma/verbs_types.h"

namespace fb::verbs {

/// For ibv_reg_mr(). What the peer may change, the device must be able to write.
int access_flags(rdma::Access access);

/// Nothing for those that a program in user space has not.
std::optional<ibv_wr_opcode> work_opcode(rdma::SendOpcode opcode);

rdma::CompletionStatus completion_status(ibv_wc_status status);
/// Of a completion that succeeded.
rdma::CompletionOpcode completion_opcode(ibv_wc_opcode opcode);
/// The same, with all that it says; `context` is the queue pair's owner.
rdma::Completion completion_of(const ibv_wc& completion, void* context);

rdma::DeviceLimits limits_of(const ibv_device_attr& device, const ibv_port_attr& port, std::uint32_t inline_bytes);

}  // namespace fb::verbs
