// The BTH opcodes of RC, and those of UD and CNP that a RoCEv2 port sees, with what each carries.
#pragma once

#include <cstdint>
#include <string_view>

namespace fb::roce {

enum class Opcode : std::uint8_t {
  send_first = 0x00,
  send_middle = 0x01,
  send_last = 0x02,
  send_last_with_immediate = 0x03,
  send_only = 0x04,
  send_only_with_immediate = 0x05,
  write_first = 0x06,
  write_middle = 0x07,
  write_last = 0x08,
  write_last_with_immediate = 0x09,
  write_only = 0x0A,
  write_only_with_immediate = 0x0B,
  read_request = 0x0C,
  read_response_first = 0x0D,
  read_response_middle = 0x0E,
  read_response_last = 0x0F,
  read_response_only = 0x10,
  acknowledge = 0x11,
  atomic_acknowledge = 0x12,
  compare_and_swap = 0x13,
  fetch_and_add = 0x14,
  send_last_with_invalidate = 0x16,
  send_only_with_invalidate = 0x17,
  ud_send_only = 0x64,
  ud_send_only_with_immediate = 0x65,
  congestion_notification = 0x81,
};

enum class OpcodeKind : std::uint8_t {
  unknown,
  send,
  write,
  read_request,
  read_response,
  acknowledge,
  atomic_request,
  atomic_acknowledge,
  datagram,
  congestion_notification,
};

/// What a packet of one opcode is made of.
struct OpcodeFacts {
  std::string_view name;
  OpcodeKind kind = OpcodeKind::unknown;
  bool first = false;  ///< begins a message (First, Only)
  bool last = false;   ///< ends a message (Last, Only)
  bool deth = false;
  bool reth = false;
  bool atomic_eth = false;
  bool aeth = false;
  bool atomic_ack_eth = false;
  bool immdt = false;
  bool ieth = false;
  bool payload = false;
  /// Bytes before the payload, with the BTH.
  std::uint8_t header_bytes = 0;

  constexpr bool known() const { return kind != OpcodeKind::unknown; }
  constexpr bool is_response() const {
    return kind == OpcodeKind::read_response || kind == OpcodeKind::acknowledge || kind == OpcodeKind::atomic_acknowledge;
  }
};

const OpcodeFacts& facts_of(std::uint8_t opcode);
inline const OpcodeFacts& facts_of(Opcode opcode) { return facts_of(static_cast<std::uint8_t>(opcode)); }

}  // namespace fb::roce
