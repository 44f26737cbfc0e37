// Lockdown, and what log page 14h tells of it (base specification, Command and Feature Lockdown).
#pragma once

#include "wire/layout.h"
#include "wire/nvme/sqe.h"

namespace fb::nvme {

enum class LockdownScope : std::uint8_t {
  admin_command = 0,
  set_features = 2,
  management_command = 3,
  pcie_command = 4,
};

enum class LockdownInterface : std::uint8_t { admin_queue = 0, both = 1, out_of_band = 2 };

namespace lockdown_sqe {
inline constexpr LeBits<"scp", 40, std::uint32_t, 3, 0, LockdownScope> scp{};
inline constexpr LeBits<"prhbt", 40, std::uint32_t, 4, 4, bool> prhbt{};
inline constexpr LeBits<"ifc", 40, std::uint32_t, 6, 5, LockdownInterface> ifc{};
/// Opcode or feature identifier.
inline constexpr LeBits<"ofi", 40, std::uint32_t, 15, 8> ofi{};
inline constexpr LeBits<"uidx", 56, std::uint32_t, 6, 0> uidx{};
}  // namespace lockdown_sqe
using LockdownSqe = CommandSqe<lockdown_sqe::scp, lockdown_sqe::prhbt, lockdown_sqe::ifc, lockdown_sqe::ofi, lockdown_sqe::uidx>;

/// What the list holds: bits 5:4 of the log specific parameter and of the first byte; the scope stands in 3:0.
enum class LockdownContents : std::uint8_t { prohibitable = 0, prohibited_in_band = 1, prohibited_out_of_band = 2 };

namespace lockdown_log {
inline constexpr LeBits<"ss", 0, std::uint8_t, 3, 0, LockdownScope> ss{};
inline constexpr LeBits<"cs", 0, std::uint8_t, 5, 4, LockdownContents> cs{};
/// Bytes of the list, which ascends.
inline constexpr Le<"lngth", 3, std::uint8_t> lngth{};
inline constexpr BytesField<"cfil", 4, 508> cfil{};
}  // namespace lockdown_log
using LockdownLog = Layout<512, lockdown_log::ss, lockdown_log::cs, lockdown_log::lngth, lockdown_log::cfil>;

}  // namespace fb::nvme
