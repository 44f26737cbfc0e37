// Capture files come from anywhere: any bytes are read to their end or to a Problem, also when they arrive in pieces, and
// compressed ones as well.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/assert.h"
#include "conformance/evidence/capture_source.h"

namespace {

struct Reading {
  std::uint64_t frames = 0, packets = 0, sum = 0;
  std::size_t keys = 0;
  bool whole = false;
  bool operator==(const Reading&) const = default;
};

Reading read(fb::capture::CaptureReader& reader) {
  fb::capture::CapturedPacket packet;
  Reading done;
  for (;;) {
    const fb::Result<bool> got = reader.next(packet);
    done.whole = static_cast<bool>(got);
    if (!got || !*got) break;
    ++done.packets;
    // Touches every byte that is given out.
    for (const std::uint8_t byte : packet.carried.payload) done.sum += byte;
    for (const std::uint8_t byte : packet.carried.ip_packet) done.sum += byte;
    for (const char byte : packet.comment) done.sum += static_cast<std::uint8_t>(byte);
    const fb::TraceEvent event = packet.as_event(1);
    BENCH_ASSERT(event.tcp == nullptr || event.tcp->window_shift <= 14, "a shift that can be applied");
  }
  done.frames = reader.frames();
  done.keys = reader.tls_keys().size();
  return done;
}

class InPieces final : public fb::capture::ByteSource {
 public:
  InPieces(fb::ByteView bytes, std::size_t piece) : bytes_(bytes), piece_(piece) {}
  fb::Result<std::size_t> read(fb::MutableBytes into) override {
    const std::size_t count = std::min({piece_, into.size(), bytes_.size()});
    std::copy_n(bytes_.begin(), count, into.begin());
    bytes_ = bytes_.subspan(count);
    return count;
  }

 private:
  fb::ByteView bytes_;
  std::size_t piece_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fb::ByteView bytes{data, size};
  fb::capture::CaptureReader at_once(bytes);
  const Reading one = read(at_once);
  BENCH_ASSERT(one.sum <= size * 255 * 3, "views lie in the file");
  InPieces pieces(bytes, 1 + size % 61);
  fb::capture::CaptureReader as_it_comes(pieces);
  BENCH_ASSERT(one == read(as_it_comes), "the same file, however it arrives");
  // Decompressed it may be much more than it was; a bound on what a fuzzer waits for.
  if (size > 64 << 10) return 0;
  auto source = fb::evidence::decompressed(std::make_unique<InPieces>(bytes, 1 + size % 17));
  if (!source) return 0;
  fb::Bytes piece(4096);
  for (int i = 0; i < 4096; ++i) {
    const fb::Result<std::size_t> got = (*source)->read(piece);
    if (!got || *got == 0) break;
    BENCH_ASSERT(*got <= piece.size(), "no more than there is room for");
  }
  return 0;
}
