// Control primitives: one packet, answered at once, whatever the command slots are doing (NVMe-MI,
// section 4.2.1).
#pragma once

#include "wire/mi/message.h"

namespace fb::mi {

enum class Primitive : std::uint8_t {
  pause = 0x00,
  resume = 0x01,
  abort = 0x02,
  get_state = 0x03,
  replay = 0x04,
};
std::string_view name_of(Primitive primitive);

namespace primitive {
inline constexpr Le<"cpo", 4, std::uint8_t> cpo{};
/// The requester's own; comes back in the answer.
inline constexpr Le<"tag", 5, std::uint8_t> tag{};
inline constexpr Le<"cpsp", 6, std::uint16_t> cpsp{};
/// Get State: clear the error flags after they were told.
inline constexpr LeBits<"cesf", 6, std::uint16_t, 0, 0, bool> cesf{};
/// Replay: the first packet to send again, counted from 0.
inline constexpr LeBits<"rro", 6, std::uint16_t, 7, 0> rro{};
}  // namespace primitive
using PrimitiveRequest = MessageLayout<8, primitive::cpo, primitive::tag, primitive::cpsp>;
using GetStateRequest = MessageLayout<8, primitive::cpo, primitive::tag, primitive::cesf>;
using ReplayRequest = MessageLayout<8, primitive::cpo, primitive::tag, primitive::rro>;

namespace primitive_response {
inline constexpr Le<"cpsr", 6, std::uint16_t> cpsr{};
}
using PrimitiveResponse = MessageLayout<8, response::status, primitive::tag, primitive_response::cpsr>;

enum class SlotState : std::uint8_t { idle = 0, receive = 1, process = 2, transmit = 3 };
std::string_view name_of(SlotState state);

/// What Get State says (CPSR).
namespace slot_status {
inline constexpr LeBits<"ssta", 0, std::uint16_t, 1, 0, SlotState> ssta{};
inline constexpr LeBits<"cmnics", 0, std::uint16_t, 3, 3, bool> cmnics{};
inline constexpr LeBits<"bmice", 0, std::uint16_t, 4, 4, bool> bmice{};
inline constexpr LeBits<"twpkt", 0, std::uint16_t, 5, 5, bool> twpkt{};
inline constexpr LeBits<"utunt", 0, std::uint16_t, 6, 6, bool> utunt{};
inline constexpr LeBits<"bhvs", 0, std::uint16_t, 7, 7, bool> bhvs{};
inline constexpr LeBits<"udstid", 0, std::uint16_t, 8, 8, bool> udstid{};
inline constexpr LeBits<"itu", 0, std::uint16_t, 9, 9, bool> itu{};
inline constexpr LeBits<"umep", 0, std::uint16_t, 10, 10, bool> umep{};
inline constexpr LeBits<"ospsn", 0, std::uint16_t, 11, 11, bool> ospsn{};
inline constexpr LeBits<"buemt", 0, std::uint16_t, 12, 12, bool> buemt{};
inline constexpr LeBits<"bpopl", 0, std::uint16_t, 13, 13, bool> bpopl{};
inline constexpr LeBits<"nssro", 0, std::uint16_t, 14, 14, bool> nssro{};
inline constexpr LeBits<"pflg", 0, std::uint16_t, 15, 15, bool> pflg{};
}  // namespace slot_status
using SlotStatus = Layout<2, slot_status::ssta, slot_status::cmnics, slot_status::bmice, slot_status::twpkt, slot_status::utunt,
                          slot_status::bhvs, slot_status::udstid, slot_status::itu, slot_status::umep, slot_status::ospsn,
                          slot_status::buemt, slot_status::bpopl, slot_status::nssro, slot_status::pflg>;

/// The error flags among them, as bits of the word.
namespace error_flag {
inline constexpr std::uint16_t cmnics = 1u << 3;
inline constexpr std::uint16_t bmice = 1u << 4;
inline constexpr std::uint16_t twpkt = 1u << 5;  ///< timeout waiting for a packet; early revisions
inline constexpr std::uint16_t utunt = 1u << 6;
inline constexpr std::uint16_t bhvs = 1u << 7;
inline constexpr std::uint16_t udstid = 1u << 8;
inline constexpr std::uint16_t itu = 1u << 9;
inline constexpr std::uint16_t umep = 1u << 10;
inline constexpr std::uint16_t ospsn = 1u << 11;
inline constexpr std::uint16_t buemt = 1u << 12;
inline constexpr std::uint16_t bpopl = 1u << 13;
inline constexpr std::uint16_t nssro = 1u << 14;
}  // namespace error_flag

/// What Abort says (CPSR 1:0).
enum class AbortResult : std::uint8_t {
  nothing = 0,   ///< nothing to abort, or aborted after it was complete
  before = 1,    ///< before processing had begun
  part_way = 2,  ///< processing had begun
};

/// Replay's answer: a response will be sent again.
inline constexpr std::uint16_t kReplayResponds = 1;

}  // namespace fb::mi
