// Values of the RDMA interface, in the field's terms (InfiniBand verbs, RDMA CM).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/ip.h"

namespace fb::rdma {

/// Access rights, combined with |.
enum class Access : std::uint8_t {
  none = 0,
  local_write = 1,
  remote_write = 2,
  remote_read = 4,
  remote_atomic = 8,
};
constexpr Access operator|(Access a, Access b) { return static_cast<Access>(static_cast<unsigned>(a) | static_cast<unsigned>(b)); }
constexpr bool allows(Access granted, Access wanted) {
  return (static_cast<unsigned>(granted) & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

/// A piece of registered local memory. `address` lies in the region's I/O virtual addresses, which
/// the device hands out; it is not a pointer (so that packets do not depend on where memory lies).
struct Sge {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
};

enum class SendOpcode : std::uint8_t {
  send,
  send_with_immediate,
  send_with_invalidate,
  rdma_write,
  rdma_write_with_immediate,
  rdma_read,
  compare_and_swap,
  fetch_and_add,
  fast_register,     ///< makes a fast-registration region valid under a new key (FRWR)
  local_invalidate,  ///< makes a fast-registration region free again
};

class MemoryRegion;

/// A work request for the send queue. The SGE list is copied at post time.
struct SendRequest {
  std::uint64_t id = 0;
  SendOpcode opcode = SendOpcode::send;
  std::span<const Sge> sges;
  bool signaled = true;
  bool solicited = false;
  bool fence = false;        ///< wait for earlier reads and atomics
  bool inline_data = false;  ///< copy the data at post time; lkeys are not looked at
  std::uint64_t remote_address = 0;
  std::uint32_t rkey = 0;
  std::uint32_t immediate = 0;        ///< as a number; big-endian on the wire
  std::uint32_t invalidate_rkey = 0;  ///< send_with_invalidate, local_invalidate
  std::uint64_t compare = 0;          ///< compare_and_swap
  std::uint64_t swap_or_add = 0;      ///< compare_and_swap, fetch_and_add
  /// fast_register: the region, the memory it shall cover, its I/O address, rights and new key
  /// byte.
  MemoryRegion* region = nullptr;
  MutableBytes memory;
  std::uint64_t iova = 0;
  Access access = Access::none;
  std::uint8_t key_byte = 0;
  /// fast_register: the key is good for requests of this queue pair's peer alone, as that of a memory window.
  bool this_queue_only = false;
};

/// A receive buffer.
struct ReceiveRequest {
  std::uint64_t id = 0;
  std::span<const Sge> sges;
};

/// Completion status; the numbers are those of ibv_wc_status.
enum class CompletionStatus : std::uint8_t {
  success = 0,
  local_length_error = 1,
  local_qp_operation_error = 2,
  local_protection_error = 4,
  flushed = 5,
  memory_window_bind_error = 6,
  bad_response = 7,
  local_access_error = 8,
  remote_invalid_request = 9,
  remote_access_error = 10,
  remote_operation_error = 11,
  retry_exceeded = 12,
  rnr_retry_exceeded = 13,
  fatal = 19,
  general_error = 21,
};
std::string_view name_of(CompletionStatus status);

enum class CompletionOpcode : std::uint8_t {
  send,
  rdma_write,
  rdma_read,
  compare_and_swap,
  fetch_and_add,
  fast_register,
  local_invalidate,
  receive,
  receive_rdma_with_immediate,
};

struct Completion {
  std::uint64_t id = 0;
  CompletionStatus status = CompletionStatus::success;
  CompletionOpcode opcode = CompletionOpcode::send;
  std::uint32_t qp_number = 0;
  std::uint32_t byte_length = 0;  ///< receives, reads and atomics
  bool has_immediate = false;
  bool has_invalidate = false;
  bool solicited = false;
  std::uint32_t immediate = 0;
  std::uint32_t invalidated_rkey = 0;
  /// The owner's pointer given at QP creation, so that no table is needed to find the queue.
  void* qp_context = nullptr;
};

enum class QpState : std::uint8_t { reset, init, ready_to_receive, ready_to_send, drained, error };
std::string_view name_of(QpState state);

struct DeviceLimits {
  std::uint32_t max_sges = 32;
  std::uint32_t max_reads = 128;  ///< reads and atomics in flight, either direction
  std::uint32_t max_message_bytes = 1u << 31;
  std::uint32_t max_inline_bytes = 256;
  std::uint32_t max_queue_entries = 16384;
  std::uint32_t max_fast_register_bytes = 16u << 20;
  // What devices under other programming interfaces lack.
  bool fast_registration = true;    ///< allocate_fast_region(), SendOpcode::fast_register and local_invalidate
  bool chosen_key_bytes = true;     ///< SendRequest::key_byte is heeded; otherwise a region's key stays
  bool remote_invalidation = true;  ///< SendOpcode::send_with_invalidate, Completion::has_invalidate
  bool immediate_data = true;       ///< SendOpcode::send_with_immediate, rdma_write_with_immediate
  bool atomics = true;              ///< SendOpcode::compare_and_swap, fetch_and_add
};

/// RDMA CM reject reasons that programs look at (InfiniBand 12.6.7.2).
namespace reject_reason {
inline constexpr std::uint16_t no_qp = 1;
inline constexpr std::uint16_t no_resources = 3;
inline constexpr std::uint16_t timeout = 4;
inline constexpr std::uint16_t unsupported = 5;
inline constexpr std::uint16_t invalid_comm_id = 6;
inline constexpr std::uint16_t invalid_service_id = 8;
inline constexpr std::uint16_t invalid_transport_type = 9;
inline constexpr std::uint16_t stale_connection = 10;
inline constexpr std::uint16_t invalid_gid = 12;
inline constexpr std::uint16_t invalid_mtu = 26;
inline constexpr std::uint16_t insufficient_responder_resources = 27;
inline constexpr std::uint16_t consumer_defined = 28;
inline constexpr std::uint16_t duplicate_local_comm_id = 30;
}  // namespace reject_reason

/// What either side says of its connection. Depths are counted in reads and atomics.
struct ConnectionParameters {
  ByteView private_data;                 ///< at most 56 bytes on connect, 196 on accept
  std::uint8_t responder_resources = 0;  ///< reads that this side will serve
  std::uint8_t initiator_depth = 0;      ///< reads that this side will have in flight
  std::uint8_t retry_count = 7;          ///< connect only
  std::uint8_t rnr_retry_count = 7;      ///< 7 = for ever
  bool flow_control = true;
  std::uint16_t source_port = 0;  ///< connect only: what the peer is told; 0 = the device chooses
  /// Connect only: the peer's reply waits for QueuePair::confirm() or refuse().
  bool hold_reply = false;
};

/// What the other side said. The private data is valid only during the call.
struct ConnectionFacts {
  Endpoint peer;
  ByteView private_data;
  std::uint8_t responder_resources = 0;  ///< reads the peer serves
  std::uint8_t initiator_depth = 0;      ///< reads the peer may have in flight
  std::uint8_t rnr_retry_count = 0;
};

}  // namespace fb::rdma
