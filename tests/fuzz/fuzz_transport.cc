// Any bytes as CM private data of a queue, and as a command capsule with its SGL.
#include <cstdint>

#include "base/assert.h"
#include "model/transport/rdma_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fb::transport;
  const fb::ByteView bytes(data, size);
  ControllerFabricOptions options;
  const auto refusal = check_queue_request(bytes, 16, options, 0, nullptr);
  BENCH_ASSERT(refusal || read_queue_request(bytes).entries >= 2, "a queue that cannot be");
  if (size < 66) return 0;
  const std::size_t wanted = fb::load_le<std::uint16_t>(data);
  const fb::ByteView sqe = bytes.subspan(2, 64);
  const fb::ByteView behind = bytes.subspan(66);
  for (const std::uint32_t room : {0u, 4096u}) {
    SglPlan plan;
    const fb::ByteView in_capsule = room == 0 ? fb::ByteView{} : behind;
    if (!read_sgl(sqe, in_capsule, {room, 16}, wanted, nullptr, plan).ok()) continue;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < plan.segments; ++i) sum += segment_of(plan, in_capsule, i).length;
    const bool carried = plan.kind == SglPlan::Kind::in_capsule;
    BENCH_ASSERT(!carried || plan.offset + wanted <= in_capsule.size(), "data outside the capsule");
    BENCH_ASSERT(carried || sum >= wanted, "less memory than the transfer needs");
  }
  return 0;
}
