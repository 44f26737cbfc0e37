#include "wire/rdma/opcodes.h"

#include <array>

#include "wire/rdma/headers.h"

namespace fb::roce {

namespace {

using K = OpcodeKind;

constexpr OpcodeFacts sized(OpcodeFacts f) {
  std::size_t bytes = Bth::size;
  if (f.deth) bytes += Deth::size;
  if (f.reth) bytes += Reth::size;
  if (f.atomic_eth) bytes += AtomicEth::size;
  if (f.aeth) bytes += Aeth::size;
  if (f.atomic_ack_eth) bytes += AtomicAckEth::size;
  if (f.immdt) bytes += ImmDt::size;
  if (f.ieth) bytes += Ieth::size;
  f.header_bytes = static_cast<std::uint8_t>(bytes);
  return f;
}

constexpr std::array<OpcodeFacts, 256> make_table() {
  std::array<OpcodeFacts, 256> table{};
  const auto put = [&](Opcode opcode, const OpcodeFacts& facts) { table[static_cast<std::uint8_t>(opcode)] = sized(facts); };
  using O = Opcode;
  put(O::send_first, {.name = "SEND First", .kind = K::send, .first = true, .payload = true});
  put(O::send_middle, {.name = "SEND Middle", .kind = K::send, .payload = true});
  put(O::send_last, {.name = "SEND Last", .kind = K::send, .last = true, .payload = true});
  put(O::send_last_with_immediate, {.name = "SEND Last with Immediate", .kind = K::send, .last = true, .immdt = true, .payload = true});
  put(O::send_only, {.name = "SEND Only", .kind = K::send, .first = true, .last = true, .payload = true});
  put(O::send_only_with_immediate,
      {.name = "SEND Only with Immediate", .kind = K::send, .first = true, .last = true, .immdt = true, .payload = true});
  put(O::write_first, {.name = "RDMA WRITE First", .kind = K::write, .first = true, .reth = true, .payload = true});
  put(O::write_middle, {.name = "RDMA WRITE Middle", .kind = K::write, .payload = true});
  put(O::write_last, {.name = "RDMA WRITE Last", .kind = K::write, .last = true, .payload = true});
  put(O::write_last_with_immediate,
      {.name = "RDMA WRITE Last with Immediate", .kind = K::write, .last = true, .immdt = true, .payload = true});
  put(O::write_only, {.name = "RDMA WRITE Only", .kind = K::write, .first = true, .last = true, .reth = true, .payload = true});
  put(O::write_only_with_immediate, {.name = "RDMA WRITE Only with Immediate",
                                     .kind = K::write,
                                     .first = true,
                                     .last = true,
                                     .reth = true,
                                     .immdt = true,
                                     .payload = true});
  put(O::read_request, {.name = "RDMA READ Request", .kind = K::read_request, .first = true, .last = true, .reth = true});
  put(O::read_response_first, {.name = "RDMA READ Response First", .kind = K::read_response, .first = true, .aeth = true, .payload = true});
  put(O::read_response_middle, {.name = "RDMA READ Response Middle", .kind = K::read_response, .payload = true});
  put(O::read_response_last, {.name = "RDMA READ Response Last", .kind = K::read_response, .last = true, .aeth = true, .payload = true});
  put(O::read_response_only,
      {.name = "RDMA READ Response Only", .kind = K::read_response, .first = true, .last = true, .aeth = true, .payload = true});
  put(O::acknowledge, {.name = "Acknowledge", .kind = K::acknowledge, .first = true, .last = true, .aeth = true});
  put(O::atomic_acknowledge,
      {.name = "Atomic Acknowledge", .kind = K::atomic_acknowledge, .first = true, .last = true, .aeth = true, .atomic_ack_eth = true});
  put(O::compare_and_swap, {.name = "CmpSwap", .kind = K::atomic_request, .first = true, .last = true, .atomic_eth = true});
  put(O::fetch_and_add, {.name = "FetchAdd", .kind = K::atomic_request, .first = true, .last = true, .atomic_eth = true});
  put(O::send_last_with_invalidate, {.name = "SEND Last with Invalidate", .kind = K::send, .last = true, .ieth = true, .payload = true});
  put(O::send_only_with_invalidate,
      {.name = "SEND Only with Invalidate", .kind = K::send, .first = true, .last = true, .ieth = true, .payload = true});
  put(O::ud_send_only, {.name = "UD SEND Only", .kind = K::datagram, .first = true, .last = true, .deth = true, .payload = true});
  put(O::ud_send_only_with_immediate, {.name = "UD SEND Only with Immediate",
                                       .kind = K::datagram,
                                       .first = true,
                                       .last = true,
                                       .deth = true,
                                       .immdt = true,
                                       .payload = true});
  put(O::congestion_notification, {.name = "CNP", .kind = K::congestion_notification, .first = true, .last = true, .payload = true});
  return table;
}

constexpr std::array<OpcodeFacts, 256> kTable = make_table();

// Immediate data and an invalidated key never travel together.
static_assert([] {
  for (const OpcodeFacts& f : kTable) {
    if (f.immdt && f.ieth) return false;
  }
  return true;
}());

}  // namespace

const OpcodeFacts& facts_of(std::uint8_t opcode) { return kTable[opcode]; }

}  // namespace fb::roce
