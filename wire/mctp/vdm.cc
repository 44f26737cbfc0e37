#include "wire/mctp/vdm.h"

#include <algorithm>

#include "wire/mctp/packet.h"

namespace fb::mctp::vdm {

std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::too_short:
      return "shorter than a header";
    case Fault::route:
      return "routing";
    case Fault::message_code:
      return "message code";
    case Fault::vendor:
      return "vendor id";
    case Fault::vdm_code:
      return "VDM code";
    case Fault::digest:
      return "TD or EP";
    case Fault::length:
      return "length";
    case Fault::padding:
      return "padding";
  }
  return "unknown";
}

void encode(Bytes& out, Route route, std::uint16_t requester, std::uint16_t target, ByteView packet) {
  BENCH_ASSERT(packet.size() <= mctp::kHeaderSize + kUnitMax, "a TLP holds the packet");
  // The packet's header is a part of the TLP's: what is missing of it is zero.
  const std::size_t payload = packet.size() - std::min(packet.size(), mctp::kHeaderSize);
  const std::size_t dwords = (payload + 3) / 4;
  out.assign(kPacketOffset, 0);
  out.insert(out.end(), packet.begin(), packet.end());
  out.resize(kHeaderSize + dwords * 4);
  MutableView<Header>{out}
      .set(header::route, route)
      .set(header::length_high, dwords >> 8)
      .set(header::length_low, dwords & 0xFF)
      .set(header::requester, requester)
      .set(header::pad, dwords * 4 - payload)
      .set(header::message_code, kMessageCode)
      .set(header::target, target)
      .set(header::vendor, kVendorId);
}

Result<Frame, Fault> decode(ByteView frame) {
  if (frame.size() < kHeaderSize) return Failure{Fault::too_short};
  const View<Header> head{frame};
  const Route route = head.get(header::route);
  if (route != Route::to_root && route != Route::by_id && route != Route::broadcast) {
    return Failure{Fault::route};
  }
  if (head.get(header::message_code) != kMessageCode) return Failure{Fault::message_code};
  if (head.get(header::vendor) != kVendorId) return Failure{Fault::vendor};
  if (head.get(header::vdm_code) != 0) return Failure{Fault::vdm_code};
  if (head.get(header::td) || head.get(header::ep)) return Failure{Fault::digest};
  std::size_t dwords = std::size_t{head.get(header::length_high)} << 8 | head.get(header::length_low);
  if (dwords == 0) dwords = 1024;
  const std::size_t payload = frame.size() - kHeaderSize;
  if (dwords * 4 != payload) return Failure{Fault::length};
  const std::size_t pad = head.get(header::pad);
  const View<PacketHeader> mctp_header{frame.subspan(kPacketOffset)};
  if (pad > 0 && (!mctp_header.get(packet::eom) || pad >= payload)) return Failure{Fault::padding};
  return Frame{route, head.get(header::requester), head.get(header::target),
               frame.subspan(kPacketOffset, mctp::kHeaderSize + payload - pad)};
}

}  // namespace fb::mctp::vdm
