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
  deliver,         ///< bus to program, without a pipe: a message
  send,            ///< a message to eid, or to where the socket is connected with eid_given 0
  bind,            ///< network, eid, type
  connect,
  allocate_tag,    ///< network (any: the first), eid; the answer has the tag with its flags
  release_tag,
  extended,        ///< value: physical addresses are told, and may be given
  is_extended,
  name,            ///< where the socket is bound
  peer,            ///< where it is connected
};

/// Before the payload, which has no type byte: the type stands here.
struct SocketFrame {
  SocketCall call = SocketCall::deliver;
  std::int32_t error = 0;          ///< of an answer: an errno, or 0
  std::uint32_t network = 0;
  std::int32_t value = 0;
  std::uint32_t interface = 0;
  std::uint8_t eid = 0;
  std::uint8_t type = 0;           ///< with the integrity check bit
  std::uint8_t tag = 0;            ///< with the kernel's flags
  std::uint8_t eid_given = 0;
  std::uint8_t address_given = 0;
  std::uint8_t address_size = 0;
  std::array<std::uint8_t, 2> address = {};
};
static_assert(sizeof(SocketFrame) == 28);

/// Largest payload of a message.
inline constexpr std::size_t kSocketPayloadMax = 65535;

}  // namespace fb::mctp
