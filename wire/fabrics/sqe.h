// What all Fabrics commands share: opcode 7Fh and the command type in byte 4.
#pragma once

#include "wire/layout.h"
#include "wire/nvme/opcodes.h"
#include "wire/nvme/sqe.h"

namespace fb::fabrics {

using nvme::FabricsType;
using nvme::kFabricsOpcode;

namespace sqe {
using nvme::sqe::cid;
using nvme::sqe::fuse;
using nvme::sqe::opcode;
using nvme::sqe::psdt;
using nvme::sqe::sgl1;
inline constexpr Le<"fctype", 4, std::uint8_t, FabricsType> fctype{};
}  // namespace sqe

/// `Fields` lie in the last 24 bytes.
template <auto... Fields>
using FabricsSqe = Layout<nvme::kSqeSize, sqe::opcode, sqe::fuse, sqe::psdt, sqe::cid, sqe::fctype, sqe::sgl1, Fields...>;

/// Any Fabrics command, to find out which.
using AnyFabricsSqe = FabricsSqe<>;

}  // namespace fb::fabrics
