// Endurance groups and NVM sets: log pages 09h and 0Fh, their lists (CNS 19h and 04h), and Capacity Management.
#pragma once

#include <span>

#include "wire/layout.h"
#include "wire/nvme/sqe.h"

namespace fb::nvme {

/// Log page 09h; the log specific identifier names the group.
namespace endurance_group {
inline constexpr Le<"cw", 0, std::uint8_t> cw{};
inline constexpr Le<"egfeat", 1, std::uint8_t> egfeat{};
inline constexpr Le<"avsp", 3, std::uint8_t> avsp{};
inline constexpr Le<"avspt", 4, std::uint8_t> avspt{};
inline constexpr Le<"pused", 5, std::uint8_t> pused{};
inline constexpr Le<"did", 6, std::uint16_t> did{};
inline constexpr BytesField<"ee", 32, 16> ee{};
inline constexpr BytesField<"dur", 48, 16> dur{};
inline constexpr BytesField<"duw", 64, 16> duw{};
inline constexpr BytesField<"muw", 80, 16> muw{};
inline constexpr BytesField<"hrc", 96, 16> hrc{};
inline constexpr BytesField<"hwc", 112, 16> hwc{};
inline constexpr BytesField<"mdie", 128, 16> mdie{};
inline constexpr BytesField<"neile", 144, 16> neile{};
inline constexpr BytesField<"tegcap", 160, 16> tegcap{};
inline constexpr BytesField<"uegcap", 176, 16> uegcap{};
}  // namespace endurance_group
using EnduranceGroupLog = Layout<512, endurance_group::cw, endurance_group::egfeat, endurance_group::avsp, endurance_group::avspt,
                                 endurance_group::pused, endurance_group::did, endurance_group::ee, endurance_group::dur,
                                 endurance_group::duw, endurance_group::muw, endurance_group::hrc, endurance_group::hwc,
                                 endurance_group::mdie, endurance_group::neile, endurance_group::tegcap, endurance_group::uegcap>;

/// Bits of the group's critical warning, and of the event configuration (feature 18h).
namespace endurance_warning_bits {
inline constexpr std::uint8_t spare = 1u << 0;
inline constexpr std::uint8_t reliability = 1u << 2;
inline constexpr std::uint8_t read_only = 1u << 3;
inline constexpr std::uint8_t all = spare | reliability | read_only;
}  // namespace endurance_warning_bits

/// Feature 18h, CDW11.
namespace endurance_event {
inline constexpr LeBits<"endgid", 0, std::uint32_t, 15, 0> endgid{};
inline constexpr LeBits<"warnings", 0, std::uint32_t, 23, 16> warnings{};
}  // namespace endurance_event
using EnduranceEventConfiguration = Layout<4, endurance_event::endgid, endurance_event::warnings>;

/// CNS 04h: a count, then from byte 128 on entries of 128 bytes by ascending identifier.
namespace nvm_set {
inline constexpr Le<"nvmsetid", 0, std::uint16_t> nvmsetid{};
inline constexpr Le<"endgid", 2, std::uint16_t> endgid{};
inline constexpr Le<"r4krt", 8, std::uint32_t> r4krt{};
inline constexpr Le<"ows", 12, std::uint32_t> ows{};
inline constexpr BytesField<"tnvmsetcap", 16, 16> tnvmsetcap{};
inline constexpr BytesField<"unvmsetcap", 32, 16> unvmsetcap{};
}  // namespace nvm_set
using NvmSetEntry = Layout<128, nvm_set::nvmsetid, nvm_set::endgid, nvm_set::r4krt, nvm_set::ows, nvm_set::tnvmsetcap, nvm_set::unvmsetcap>;
inline constexpr std::size_t kNvmSetsMax = 31;
inline constexpr std::size_t kNvmSetEntriesAt = 128;

/// CNS 19h: a count of 16 bits, then identifiers in ascending order.
inline constexpr std::size_t kEnduranceGroupsMax = 2047;

enum class CapacityOperation : std::uint8_t {
  select_configuration = 0,
  create_endurance_group = 1,
  delete_endurance_group = 2,
  create_nvm_set = 3,
  delete_nvm_set = 4,
};

namespace capacity_sqe {
inline constexpr LeBits<"oper", 40, std::uint32_t, 3, 0, CapacityOperation> oper{};
inline constexpr LeBits<"elid", 40, std::uint32_t, 31, 16> elid{};
/// Bytes.
inline constexpr Le<"cap", 44, std::uint64_t> cap{};
}  // namespace capacity_sqe
using CapacityManagementSqe = CommandSqe<capacity_sqe::oper, capacity_sqe::elid, capacity_sqe::cap>;

}  // namespace fb::nvme
