// Completion queue entries.
#pragma once

#include "wire/layout.h"
#include "wire/nvme/status.h"

namespace fb::nvme {

namespace cqe {
inline constexpr Le<"dw0", 0, std::uint32_t> dw0{};
inline constexpr Le<"dw1", 4, std::uint32_t> dw1{};
inline constexpr Le<"sqhd", 8, std::uint16_t> sqhd{};
inline constexpr Le<"sqid", 10, std::uint16_t> sqid{};
inline constexpr Le<"cid", 12, std::uint16_t> cid{};
inline constexpr LeBits<"phase", 14, std::uint16_t, 0, 0> phase{};
inline constexpr LeBits<"status", 14, std::uint16_t, 15, 1, Status> status{};
}  // namespace cqe

using CqeLayout = Layout<16, cqe::dw0, cqe::dw1, cqe::sqhd, cqe::sqid, cqe::cid, cqe::phase, cqe::status>;
using Cqe = Record<CqeLayout>;

/// The end of every completion; `Fields` lie in its first eight bytes.
template <auto... Fields>
using CommandCqe = Layout<16, Fields..., cqe::sqhd, cqe::sqid, cqe::cid, cqe::phase, cqe::status>;

/// SQHD of a Connect response that agrees to run without SQ flow control.
inline constexpr std::uint16_t kSqFlowControlDisabled = 0xFFFF;

}  // namespace fb::nvme
