#include "wire/mctp/smbus.h"

#include "wire/mctp/crc.h"
#include "wire/mctp/packet.h"

namespace fb::mctp::smbus {

namespace {
constexpr std::size_t kCountOffset = 3;  // what stands before the counted bytes
}

std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::too_short:
      return "shorter than a packet";
    case Fault::command:
      return "command code";
    case Fault::count:
      return "byte count";
    case Fault::pec:
      return "PEC";
    case Fault::source:
      return "source address";
  }
  return "unknown";
}

void encode(Bytes& out, std::uint8_t destination, std::uint8_t source, ByteView packet) {
  BENCH_ASSERT(packet.size() <= mctp::kHeaderSize + kUnitMax, "a block write holds the packet");
  out.resize(kHeaderSize);
  MutableView<Header>{out}
      .set(header::destination, destination)
      .set(header::command, kCommandCode)
      .set(header::count, packet.size() + 1)
      .set(header::source, source | 1);
  out.insert(out.end(), packet.begin(), packet.end());
  out.push_back(pec(out));
}

Result<Frame, Fault> decode(ByteView frame) {
  if (frame.size() < kHeaderSize + mctp::kHeaderSize + kPecSize) return Failure{Fault::too_short};
  const View<Header> head{frame};
  if (head.get(header::command) != kCommandCode) return Failure{Fault::command};
  if (head.get(header::count) != frame.size() - kCountOffset - kPecSize) {
    return Failure{Fault::count};
  }
  const ByteView covered = frame.first(frame.size() - kPecSize);
  if (pec(covered) != frame.back()) return Failure{Fault::pec};
  const std::uint8_t source = head.get(header::source);
  if ((source & 1) == 0) return Failure{Fault::source};
  return Frame{head.get(header::destination), static_cast<std::uint8_t>(source & ~1u), covered.subspan(kHeaderSize)};
}

}  // namespace fb::mctp::smbus
