// Capture files come from anywhere: any bytes are read to their end or to a Problem.
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "sim/capture/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fb::capture::CaptureReader reader({data, size});
  fb::capture::CapturedPacket packet;
  std::size_t sum = 0;
  for (;;) {
    const fb::Result<bool> got = reader.next(packet);
    if (!got || !*got) break;
    // Touches every byte that is given out.
    for (const std::uint8_t byte : packet.carried.payload) sum += byte;
    for (const std::uint8_t byte : packet.carried.ip_packet) sum += byte;
    for (const char byte : packet.comment) sum += static_cast<std::uint8_t>(byte);
    const fb::TraceEvent event = packet.as_event(1);
    BENCH_ASSERT(event.tcp == nullptr || event.tcp->window_shift <= 14, "a shift that can be applied");
    BENCH_ASSERT(event.bytes.size() <= 65'527, "a datagram's length is 16 bits with its header");
  }
  BENCH_ASSERT(sum <= size * 255 * 3, "views lie in the file");
  return 0;
}
