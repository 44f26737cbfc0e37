// What carries other commands: NVMe Admin commands (NMIMT 2), PCIe commands (NMIMT 4), and the in-band
// form of MI commands in NVMe-MI Send and Receive (NVMe-MI, chapters 4.3, 6 and 7).
#pragma once

#include "wire/mi/message.h"
#include "wire/nvme/status.h"

namespace fb::mi {

// ---- NVMe Admin commands ----

namespace admin_request {
inline constexpr LeBits<"dlenv", 5, std::uint8_t, 0, 0, bool> dlenv{};    ///< 1.1; ignored later
inline constexpr LeBits<"dofstv", 5, std::uint8_t, 1, 1, bool> dofstv{};  ///< 1.1; ignored later
inline constexpr LeBits<"ish", 5, std::uint8_t, 2, 2, bool> ish{};        ///< 2.x
inline constexpr Le<"ctlid", 6, std::uint16_t> ctlid{};
inline constexpr Le<"nsid", 8, std::uint32_t> nsid{};
inline constexpr Le<"cdw2", 12, std::uint32_t> cdw2{};
inline constexpr Le<"cdw3", 16, std::uint32_t> cdw3{};
inline constexpr Le<"cdw4", 20, std::uint32_t> cdw4{};
inline constexpr Le<"cdw5", 24, std::uint32_t> cdw5{};
inline constexpr Le<"dofst", 28, std::uint32_t> dofst{};
inline constexpr Le<"dlen", 32, std::uint32_t> dlen{};
inline constexpr Le<"cdw10", 44, std::uint32_t> cdw10{};
inline constexpr Le<"cdw11", 48, std::uint32_t> cdw11{};
inline constexpr Le<"cdw12", 52, std::uint32_t> cdw12{};
inline constexpr Le<"cdw13", 56, std::uint32_t> cdw13{};
inline constexpr Le<"cdw14", 60, std::uint32_t> cdw14{};
inline constexpr Le<"cdw15", 64, std::uint32_t> cdw15{};
}  // namespace admin_request
using AdminRequest =
    MessageLayout<68, request::opcode, admin_request::dlenv, admin_request::dofstv, admin_request::ish, admin_request::ctlid,
                  admin_request::nsid, admin_request::cdw2, admin_request::cdw3, admin_request::cdw4, admin_request::cdw5,
                  admin_request::dofst, admin_request::dlen, admin_request::cdw10, admin_request::cdw11, admin_request::cdw12,
                  admin_request::cdw13, admin_request::cdw14, admin_request::cdw15>;

namespace admin_response {
inline constexpr Le<"dw0", 8, std::uint32_t> dw0{};
inline constexpr Le<"dw1", 12, std::uint32_t> dw1{};
inline constexpr Le<"cid", 16, std::uint16_t> cid{};
inline constexpr LeBits<"phase", 18, std::uint16_t, 0, 0> phase{};
inline constexpr LeBits<"nvme_status", 18, std::uint16_t, 15, 1, nvme::Status> nvme_status{};
}  // namespace admin_response
using AdminResponse = MessageLayout<20, response::status, admin_response::dw0, admin_response::dw1, admin_response::cid,
                                    admin_response::phase, admin_response::nvme_status>;

/// What may be asked of a management endpoint.
enum class Policy : std::uint8_t { mandatory, optional, prohibited };
Policy admin_policy(std::uint8_t opcode);
/// Features are never mandatory; the metadata features of 1.2 are among the optional ones.
Policy feature_policy(std::uint8_t fid);
/// Log pages that an endpoint of a storage device has to serve.
inline constexpr std::uint8_t kMandatoryLogs[] = {0x00, 0x01, 0x02, 0x03, 0x12};

// ---- PCIe commands ----

enum class PcieOpcode : std::uint8_t {
  configuration_read = 0,
  configuration_write = 1,
  memory_read = 2,
  memory_write = 3,
  io_read = 4,
  io_write = 5,
};
std::string_view name_of(PcieOpcode opcode);

namespace pcie_request {
inline constexpr Le<"ctlid", 6, std::uint16_t> ctlid{};
inline constexpr Le<"length", 8, std::uint16_t> length{};
inline constexpr LeBits<"bar", 10, std::uint8_t, 2, 0> bar{};
/// Configuration space uses its low 12 bits only.
inline constexpr Le<"offset", 12, std::uint64_t> offset{};
}  // namespace pcie_request
using PcieRequest = MessageLayout<20, request::opcode, pcie_request::ctlid, pcie_request::length, pcie_request::bar, pcie_request::offset>;

// ---- in band ----

/// CDW10 of NVMe-MI Send and Receive are the first four bytes of a message.
namespace in_band {
inline constexpr Le<"opcode", 4, std::uint8_t> opcode{};
inline constexpr Le<"nmd0", 8, std::uint32_t> nmd0{};
inline constexpr Le<"nmd1", 12, std::uint32_t> nmd1{};
}  // namespace in_band

}  // namespace fb::mi
