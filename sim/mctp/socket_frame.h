// What passes between a program with our preload library and the bus that serves it: one frame a message on
// a unix socket (SOCK_SEQPACKET), one connection for each AF_MCTP socket, whoever inherits it. Both ends are
// on this machine: numbers are in its own byte order.
//
// A request of the program carries the writing end of a pipe (SCM_RIGHTS), into which the bus writes the
// frame that answers it. So answers never mix with the messages that the socket receives, and poll(),
// select() and epoll see of the connection what they would see of an AF_MCTP socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fb::mctp {

/// Names the unix socket of the bus in the environment of a program that uses it.
inline constexpr char kSocketVariable[] = "FABRICBENCH_MCTP";

enum class SocketCall : std::uint32_t {
  deliver,       ///< bus to program, without a pipe: a message
  send,          ///< a message to the address
  bind,          ///< network, eid, type
  connect,       ///< the same: the only peer that a bind to come takes messages from
  allocate_tag,  ///< network, eid; the answer has the tag with its flags
  release_tag,
  extended,  ///< value: physical addresses are told, and may be given
  is_extended,
};

/// Before the payload, which has no type byte: the type stands here.
struct SocketFrame {
  SocketCall call = SocketCall::deliver;
  std::int32_t error = 0;  ///< of an answer: an errno, or 0
  std::uint32_t network = 0;
  /// Of send, bind and connect: what is wrong with the program's address (an errno). Only the bus knows whether the
  /// kernel that it plays would get so far.
  std::int32_t value = 0;
  std::uint32_t interface = 0;
  std::uint8_t eid = 0;
  std::uint8_t type = 0;  ///< with the integrity check bit
  std::uint8_t tag = 0;   ///< with the kernel's flags
  std::uint8_t eid_given = 0;
  std::uint8_t address_given = 0;  ///< the address is an extended one
  std::uint8_t address_size = 0;
  std::array<std::uint8_t, 2> address = {};
};
static_assert(sizeof(SocketFrame) == 28);

/// Largest payload of a message.
inline constexpr std::size_t kSocketPayloadMax = 65535;

}  // namespace fb::mctp
