// NVMe-MI messages: the header, the forms of requests and responses, the message integrity check. Offsets
// count from the first byte of the MCTP message, the one with IC and type. All little endian
// (NVMe-MI, chapters 3 and 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wire/layout.h"

namespace fb::mi {

/// What a message is about (NMIMT).
enum class MessageKind : std::uint8_t {
  control_primitive = 0,
  mi_command = 1,
  admin_command = 2,
  pcie_command = 4,
  async_event = 5,
};

/// The message type and its integrity bit, as the first byte carries them.
inline constexpr std::uint8_t kNvmeMiType = 0x04;
inline constexpr std::uint8_t kIntegrityBit = 0x80;

namespace header {
/// The message ends with a check. Clear in band only.
inline constexpr LeBits<"ic", 0, std::uint8_t, 7, 7, bool> ic{};
inline constexpr LeBits<"mt", 0, std::uint8_t, 6, 0> mt{};
/// Response, not request.
inline constexpr LeBits<"ror", 1, std::uint8_t, 7, 7, bool> ror{};
inline constexpr LeBits<"nmimt", 1, std::uint8_t, 6, 3, MessageKind> nmimt{};
/// Command slot.
inline constexpr LeBits<"csi", 1, std::uint8_t, 0, 0> csi{};
/// Command initiated auto pause (1.2).
inline constexpr LeBits<"ciap", 2, std::uint8_t, 1, 1, bool> ciap{};
/// The data stands in the management endpoint buffer (1.1).
inline constexpr LeBits<"meb", 2, std::uint8_t, 0, 0, bool> meb{};
}  // namespace header
template <std::size_t Size, auto... Fields>
using MessageLayout = Layout<Size, header::ic, header::mt, header::ror, header::nmimt, header::csi, header::ciap, header::meb, Fields...>;
using MessageHeader = MessageLayout<4>;
inline constexpr std::size_t kHeaderSize = 4;
inline constexpr std::size_t kMicSize = 4;
/// A whole message with its check: 4,096 bytes of data and room for headers.
inline constexpr std::size_t kMessageMax = 4224;
/// Data in a message.
inline constexpr std::size_t kDataMax = 4096;
/// The shortest response: header, status and three bytes.
inline constexpr std::size_t kResponseMin = 8;

/// Response status, byte 4.
enum class Status : std::uint8_t {
  success = 0x00,
  more_processing = 0x01,
  internal_error = 0x02,
  invalid_opcode = 0x03,
  invalid_parameter = 0x04,
  invalid_command_size = 0x05,
  invalid_data_size = 0x06,
  access_denied = 0x07,
  unable_to_abort = 0x08,
  vpd_updates_exceeded = 0x20,
  pcie_inaccessible = 0x21,
  buffer_cleared = 0x22,
  enclosure_services_failure = 0x23,
  enclosure_transfer_failure = 0x24,
  enclosure_failure = 0x25,
  enclosure_transfer_refused = 0x26,
  enclosure_function_unsupported = 0x27,
  enclosure_unavailable = 0x28,
  enclosure_degraded = 0x29,
  sanitize_in_progress = 0x2A,
};
/// "Invalid Parameter"; "Reserved" or "Vendor Specific" for others.
std::string_view name_of(Status status);
/// Whether a response may say so at all.
bool is_defined(Status status);

// ---- every request and every response ----

namespace request {
inline constexpr Le<"opcode", 4, std::uint8_t> opcode{};
}
using AnyRequest = MessageLayout<8, request::opcode>;

namespace response {
inline constexpr Le<"status", 4, std::uint8_t, Status> status{};
/// Invalid Parameter: the lowest bit and byte of the field that is wrong, counted in the request.
inline constexpr LeBits<"pel_bit", 5, std::uint8_t, 2, 0> pel_bit{};
inline constexpr Le<"pel_byte", 6, std::uint16_t> pel_byte{};
/// More Processing Required: the time still needed at most, in units of 100 ms.
inline constexpr Le<"mprt", 6, std::uint16_t> mprt{};
/// MI commands: the management response.
inline constexpr Le<"nmresp", 5, U24> nmresp{};
}  // namespace response
using AnyResponse = MessageLayout<8, response::status>;
using ErrorResponse = MessageLayout<8, response::status, response::pel_bit, response::pel_byte>;
using MoreProcessing = MessageLayout<8, response::status, response::mprt>;
using MiResponse = MessageLayout<8, response::status, response::nmresp>;

/// Where a parameter is wrong.
struct ParameterError {
  std::uint16_t byte = 0;
  std::uint8_t bit = 0;
  bool operator==(const ParameterError&) const = default;
};
/// "byte 8 bit 0".
std::string to_string(const ParameterError& at);

// ---- MI commands ----

enum class Opcode : std::uint8_t {
  read_data_structure = 0x00,
  subsystem_health_poll = 0x01,
  controller_health_poll = 0x02,
  configuration_set = 0x03,
  configuration_get = 0x04,
  vpd_read = 0x05,
  vpd_write = 0x06,
  reset = 0x07,
  ses_receive = 0x08,
  ses_send = 0x09,
  buffer_read = 0x0A,
  buffer_write = 0x0B,
  shutdown = 0x0C,
};
std::string_view name_of(Opcode opcode);

namespace mi_request {
inline constexpr Le<"nmd0", 8, std::uint32_t> nmd0{};
inline constexpr Le<"nmd1", 12, std::uint32_t> nmd1{};
}  // namespace mi_request
using MiRequest = MessageLayout<16, request::opcode, mi_request::nmd0, mi_request::nmd1>;

/// Read NVMe-MI Data Structure.
namespace read_ds {
inline constexpr Le<"ctrlid", 8, std::uint16_t> ctrlid{};
inline constexpr Le<"portid", 10, std::uint8_t> portid{};
inline constexpr Le<"dtyp", 11, std::uint8_t> dtyp{};
inline constexpr Le<"iocsi", 12, std::uint8_t> iocsi{};
}  // namespace read_ds
using ReadDataStructure = MessageLayout<16, request::opcode, read_ds::ctrlid, read_ds::portid, read_ds::dtyp, read_ds::iocsi>;

namespace subsystem_poll {
/// Clear the composite controller status.
inline constexpr LeBits<"cs", 12, std::uint32_t, 31, 31, bool> cs{};
}  // namespace subsystem_poll
using SubsystemHealthPoll = MessageLayout<16, request::opcode, subsystem_poll::cs>;

namespace controller_poll {
inline constexpr Le<"sctlid", 8, std::uint16_t> sctlid{};
/// Most entries, minus one.
inline constexpr Le<"maxrent", 10, std::uint8_t, ZeroBased<std::uint8_t>> maxrent{};
inline constexpr LeBits<"incf", 8, std::uint32_t, 24, 24, bool> incf{};
inline constexpr LeBits<"incpf", 8, std::uint32_t, 25, 25, bool> incpf{};
inline constexpr LeBits<"incvf", 8, std::uint32_t, 26, 26, bool> incvf{};
inline constexpr LeBits<"all", 8, std::uint32_t, 31, 31, bool> all{};
inline constexpr LeBits<"csts", 12, std::uint32_t, 0, 0, bool> csts{};
inline constexpr LeBits<"ctemp", 12, std::uint32_t, 1, 1, bool> ctemp{};
inline constexpr LeBits<"pdlu", 12, std::uint32_t, 2, 2, bool> pdlu{};
inline constexpr LeBits<"spare", 12, std::uint32_t, 3, 3, bool> spare{};
inline constexpr LeBits<"cwarn", 12, std::uint32_t, 4, 4, bool> cwarn{};
inline constexpr LeBits<"ccf", 12, std::uint32_t, 31, 31, bool> ccf{};
}  // namespace controller_poll
using ControllerHealthPoll =
    MessageLayout<16, request::opcode, controller_poll::sctlid, controller_poll::maxrent, controller_poll::incf, controller_poll::incpf,
                  controller_poll::incvf, controller_poll::all, controller_poll::csts, controller_poll::ctemp, controller_poll::pdlu,
                  controller_poll::spare, controller_poll::cwarn, controller_poll::ccf>;

/// NMRESP of the controller health poll: entries in bits 23:16.
inline constexpr unsigned kRentShift = 16;

enum class ConfigurationId : std::uint8_t {
  smbus_frequency = 0x01,
  health_status_change = 0x02,
  transmission_unit = 0x03,
  async_event = 0x04,
};

/// Configuration Get and Set.
namespace configuration {
inline constexpr Le<"id", 8, std::uint8_t> id{};
inline constexpr LeBits<"sfreq", 9, std::uint8_t, 3, 0> sfreq{};
inline constexpr Le<"portid", 11, std::uint8_t> portid{};
inline constexpr Le<"unit", 12, std::uint16_t> unit{};
/// Bits to clear, numbered without gaps: not the places of the composite status.
inline constexpr Le<"clear", 12, std::uint32_t> clear{};
/// Async event: retry delay in 100 ms, delay in s, and who is told of whom.
inline constexpr Le<"aerd", 9, std::uint8_t> aerd{};
inline constexpr Le<"aemd", 10, std::uint8_t> aemd{};
inline constexpr LeBits<"encfa", 11, std::uint8_t, 0, 0, bool> encfa{};
inline constexpr LeBits<"enpfa", 11, std::uint8_t, 1, 1, bool> enpfa{};
inline constexpr LeBits<"envfa", 11, std::uint8_t, 2, 2, bool> envfa{};
}  // namespace configuration
using Configuration = MessageLayout<16, request::opcode, configuration::id>;
using FrequencyConfiguration = MessageLayout<16, request::opcode, configuration::id, configuration::sfreq, configuration::portid>;
using HealthConfiguration = MessageLayout<16, request::opcode, configuration::id, configuration::clear>;
using UnitConfiguration = MessageLayout<16, request::opcode, configuration::id, configuration::portid, configuration::unit>;
using EventConfiguration = MessageLayout<16, request::opcode, configuration::id, configuration::aerd, configuration::aemd,
                                         configuration::encfa, configuration::enpfa, configuration::envfa>;

/// VPD Read and Write.
namespace vpd_access {
inline constexpr Le<"dofst", 8, std::uint16_t> dofst{};
inline constexpr Le<"dlen", 12, std::uint16_t> dlen{};
}  // namespace vpd_access
using VpdAccess = MessageLayout<16, request::opcode, vpd_access::dofst, vpd_access::dlen>;

/// Reset and Shutdown: what kind.
namespace reset_request {
inline constexpr Le<"type", 11, std::uint8_t> type{};
}
using ResetRequest = MessageLayout<16, request::opcode, reset_request::type>;

namespace ses_request {
inline constexpr Le<"pcode", 8, std::uint8_t> pcode{};
/// Receive: bytes to return at most. Send: bytes that follow.
inline constexpr Le<"length", 12, std::uint16_t> length{};
}  // namespace ses_request
using SesRequest = MessageLayout<16, request::opcode, ses_request::pcode, ses_request::length>;

/// Management Endpoint Buffer Read and Write.
namespace buffer_access {
inline constexpr Le<"dofst", 8, std::uint32_t> dofst{};
inline constexpr Le<"dlen", 12, std::uint32_t> dlen{};
}  // namespace buffer_access
using BufferAccess = MessageLayout<16, request::opcode, buffer_access::dofst, buffer_access::dlen>;

// ---- the integrity check ----

/// CRC-32C over `bytes`.
std::uint32_t mic_of(ByteView bytes);
/// Appends the check of what is there.
void append_mic(Bytes& message);
/// Whether the last four bytes are the check of those before.
bool mic_ok(ByteView message);

/// One line: "MI request slot 0 Configuration Get nmd0=... ". Any bytes can be described; with or without
/// their check.
std::string describe(ByteView message);
/// What a request asks for: the name of the primitive, or of the command.
std::string request_name(MessageKind kind, std::uint8_t opcode);

}  // namespace fb::mi
