// What cases on the side that asks share: requests that the product makes, and what the bench answers them with.
#pragma once

#include "conformance/cases/rdma/exchange.h"

namespace fb::conformance {

inline constexpr std::uint64_t kThere = 0x5000;
inline constexpr std::uint32_t kKey = 0x1234;

inline rdma::SendRequest to_there(rdma::SendOpcode opcode, std::uint64_t id) {
  rdma::SendRequest request;
  request.id = id;
  request.opcode = opcode;
  request.remote_address = kThere;
  request.rkey = kKey;
  return request;
}

inline VerbsMemory& post(RdmaBench& bench, const RcConnection& c, const rdma::SendRequest& request, std::uint32_t length) {
  auto& memory = bench.product().memory(length);
  c.queue->post_send(request, memory, 0, length);
  return memory;
}

inline void acknowledge(RdmaBench& bench, const RcConnection& c, std::uint32_t ordinal, std::uint32_t messages,
                        std::uint8_t syndrome = roce::kAckSyndrome) {
  bench.peer().send(c.facts.acknowledge(roce::psn_add(c.facts.receive_psn, ordinal), messages, syndrome));
}

inline RocePacket response(const RcConnection& c, roce::Opcode opcode, std::uint32_t ordinal, Bytes payload, std::uint32_t messages = 1) {
  RocePacket packet = c.facts.acknowledge(roce::psn_add(c.facts.receive_psn, ordinal), messages);
  packet.opcode = opcode;
  if (opcode == roce::Opcode::read_response_middle) packet.aeth.reset();
  packet.payload = std::move(payload);
  return packet;
}

}  // namespace fb::conformance
