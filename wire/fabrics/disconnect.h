// Disconnect.
#pragma once

#include "wire/fabrics/sqe.h"

namespace fb::fabrics {

namespace disconnect_sqe {
inline constexpr Le<"recfmt", 40, std::uint16_t> recfmt{};
}  // namespace disconnect_sqe
using DisconnectSqe = FabricsSqe<disconnect_sqe::recfmt>;

inline constexpr std::uint16_t kDisconnectRecordFormat = 0;

}  // namespace fb::fabrics
