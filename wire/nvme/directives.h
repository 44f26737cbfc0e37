// Directive Send and Directive Receive, and what they carry (base specification, Directives).
#pragma once

#include "wire/layout.h"
#include "wire/nvme/sqe.h"

namespace fb::nvme {

enum class DirectiveType : std::uint8_t { identify = 0x00, streams = 0x01, data_placement = 0x02, vendor = 0x0F };

/// Operations have numbers of their own for each type and direction.
namespace directive_operation {
inline constexpr std::uint8_t identify_return_parameters = 0x01;  // Receive
inline constexpr std::uint8_t identify_enable = 0x01;             // Send
inline constexpr std::uint8_t streams_return_parameters = 0x01;   // Receive
inline constexpr std::uint8_t streams_get_status = 0x02;          // Receive
inline constexpr std::uint8_t streams_allocate = 0x03;            // Receive
inline constexpr std::uint8_t streams_release_identifier = 0x01;  // Send
inline constexpr std::uint8_t streams_release_resources = 0x02;   // Send
}  // namespace directive_operation

namespace directive_sqe {
inline constexpr Le<"numd", 40, std::uint32_t, ZeroBased<std::uint32_t>> numd{};
inline constexpr Le<"doper", 44, std::uint8_t> doper{};
inline constexpr Le<"dtype", 45, std::uint8_t, DirectiveType> dtype{};
inline constexpr Le<"dspec", 46, std::uint16_t> dspec{};
/// Enable Directive.
inline constexpr LeBits<"endir", 48, std::uint32_t, 0, 0, bool> endir{};
inline constexpr LeBits<"tdtype", 48, std::uint32_t, 15, 8, DirectiveType> tdtype{};
/// Allocate Resources: how many streams are wanted.
inline constexpr Le<"nsr", 48, std::uint16_t> nsr{};
}  // namespace directive_sqe
using DirectiveSqe = CommandSqe<directive_sqe::numd, directive_sqe::doper, directive_sqe::dtype, directive_sqe::dspec>;
using EnableDirectiveSqe = CommandSqe<directive_sqe::numd, directive_sqe::doper, directive_sqe::dtype, directive_sqe::dspec,
                                      directive_sqe::endir, directive_sqe::tdtype>;
using AllocateStreamsSqe =
    CommandSqe<directive_sqe::numd, directive_sqe::doper, directive_sqe::dtype, directive_sqe::dspec, directive_sqe::nsr>;

/// What the Identify directive returns: a bit for each type.
namespace directive_parameters {
inline constexpr BytesField<"supported", 0, 32> supported{};
inline constexpr BytesField<"enabled", 32, 32> enabled{};
inline constexpr BytesField<"persistent", 64, 32> persistent{};
}  // namespace directive_parameters
using DirectiveParameters = Layout<4096, directive_parameters::supported, directive_parameters::enabled, directive_parameters::persistent>;

/// What the Streams directive returns.
namespace stream_parameters {
inline constexpr Le<"msl", 0, std::uint16_t> msl{};
inline constexpr Le<"nssa", 2, std::uint16_t> nssa{};
inline constexpr Le<"nsso", 4, std::uint16_t> nsso{};
inline constexpr Le<"nssc", 6, std::uint8_t> nssc{};
inline constexpr Le<"sws", 16, std::uint32_t> sws{};
inline constexpr Le<"sgs", 20, std::uint16_t> sgs{};
inline constexpr Le<"nsa", 22, std::uint16_t> nsa{};
inline constexpr Le<"nso", 24, std::uint16_t> nso{};
}  // namespace stream_parameters
using StreamParameters = Layout<32, stream_parameters::msl, stream_parameters::nssa, stream_parameters::nsso, stream_parameters::nssc,
                                stream_parameters::sws, stream_parameters::sgs, stream_parameters::nsa, stream_parameters::nso>;

}  // namespace fb::nvme
