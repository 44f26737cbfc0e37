// NVMe-MI data structures, as Read NVMe-MI Data Structure returns them (NVMe-MI, section 5.7).
#pragma once

#include <span>
#include <vector>

#include "wire/mi/message.h"

namespace fb::mi {

enum class DataType : std::uint8_t {
  subsystem_information = 0,
  port_information = 1,
  controller_list = 2,
  controller_information = 3,
  supported_commands = 4,
  buffer_commands = 5,
};

namespace subsystem_info {
inline constexpr Le<"nump", 0, std::uint8_t, ZeroBased<std::uint8_t>> nump{};
inline constexpr Le<"mjr", 1, std::uint8_t> mjr{};
inline constexpr Le<"mnr", 2, std::uint8_t> mnr{};
/// NNSC (1.2): bit 0 is SRE.
inline constexpr LeBits<"sre", 3, std::uint8_t, 0, 0, bool> sre{};
}  // namespace subsystem_info
using SubsystemInfo = Layout<32, subsystem_info::nump, subsystem_info::mjr, subsystem_info::mnr, subsystem_info::sre>;

enum class PortType : std::uint8_t { inactive = 0, pcie = 1, two_wire = 2 };

namespace port_info {
inline constexpr Le<"prttyp", 0, std::uint8_t, PortType> prttyp{};
inline constexpr LeBits<"ciaps", 1, std::uint8_t, 0, 0, bool> ciaps{};
inline constexpr LeBits<"aems", 1, std::uint8_t, 1, 1, bool> aems{};
/// Payload of an MCTP packet at most.
inline constexpr Le<"mmtus", 2, std::uint16_t> mmtus{};
inline constexpr Le<"mebs", 4, std::uint32_t> mebs{};
// PCI Express
inline constexpr Le<"mps", 8, std::uint8_t> mps{};
inline constexpr Le<"slsv", 9, std::uint8_t> slsv{};
inline constexpr Le<"cls", 10, std::uint8_t> cls{};
inline constexpr Le<"mlw", 11, std::uint8_t> mlw{};
inline constexpr Le<"nlw", 12, std::uint8_t> nlw{};
inline constexpr Le<"pn", 13, std::uint8_t> pn{};
// two-wire
inline constexpr Le<"cvpdaddr", 8, std::uint8_t> cvpdaddr{};
inline constexpr Le<"mvpdfreq", 9, std::uint8_t> mvpdfreq{};
inline constexpr Le<"cmeaddr", 10, std::uint8_t> cmeaddr{};
inline constexpr LeBits<"mmefreq", 11, std::uint8_t, 1, 0> mmefreq{};
inline constexpr LeBits<"i3c", 11, std::uint8_t, 7, 7, bool> i3c{};
inline constexpr LeBits<"nvmebms", 12, std::uint8_t, 0, 0, bool> nvmebms{};
}  // namespace port_info
template <auto... Fields>
using PortLayout = Layout<32, port_info::prttyp, port_info::ciaps, port_info::aems, port_info::mmtus, port_info::mebs, Fields...>;
using PortInfo = PortLayout<>;
using PciePortInfo = PortLayout<port_info::mps, port_info::slsv, port_info::cls, port_info::mlw, port_info::nlw, port_info::pn>;
using TwoWirePortInfo =
    PortLayout<port_info::cvpdaddr, port_info::mvpdfreq, port_info::cmeaddr, port_info::mmefreq, port_info::i3c, port_info::nvmebms>;

namespace controller_info {
inline constexpr Le<"portid", 0, std::uint8_t> portid{};
inline constexpr LeBits<"pri_valid", 5, std::uint8_t, 0, 0, bool> pri_valid{};
inline constexpr LeBits<"function", 6, std::uint16_t, 2, 0> function{};
inline constexpr LeBits<"device", 6, std::uint16_t, 7, 3> device{};
inline constexpr LeBits<"bus", 6, std::uint16_t, 15, 8> bus{};
inline constexpr Le<"vid", 8, std::uint16_t> vid{};
inline constexpr Le<"did", 10, std::uint16_t> did{};
inline constexpr Le<"ssvid", 12, std::uint16_t> ssvid{};
inline constexpr Le<"ssid", 14, std::uint16_t> ssid{};
/// 2.x.
inline constexpr Le<"segment", 16, std::uint8_t> segment{};
}  // namespace controller_info
using ControllerInfo = Layout<32, controller_info::portid, controller_info::pri_valid, controller_info::function, controller_info::device,
                              controller_info::bus, controller_info::vid, controller_info::did, controller_info::ssvid,
                              controller_info::ssid, controller_info::segment>;

/// An entry of DTYP 4 and 5.
struct SupportedCommand {
  MessageKind kind = MessageKind::mi_command;
  std::uint8_t opcode = 0;
  auto operator<=>(const SupportedCommand&) const = default;
};

/// A 16-bit count and that many entries.
Bytes make_controller_list(std::span<const std::uint16_t> ids);
Bytes make_command_list(std::span<const SupportedCommand> commands);
/// Nothing when the count says more than there is.
std::optional<std::vector<std::uint16_t>> parse_controller_list(ByteView bytes);
std::optional<std::vector<SupportedCommand>> parse_command_list(ByteView bytes);
inline constexpr std::size_t kControllerListMax = 2047;

}  // namespace fb::mi
