// Any frame may reach a host on a raw Ethernet link: it must neither crash nor answer with more than
// it was asked.
//
// The input is a list of frames: a length (two bytes), a flag byte, the bytes. Flags let a frame get past
// the first checks: 1 makes it ours, 2 mends the IPv4 header's checksum, 4 asks the IPv6 host, 8 lets time
// pass, 16 sends a datagram first.
#include <cstdlib>

#include "sim/net/l2_link.h"
#include "tests/fuzz/input.h"

namespace fb::net {
namespace {

class Target {
 public:
  void step(std::uint8_t flags, Bytes frame) {
    L2Link& link = (flags & 4) != 0 ? v6_ : v4_;
    if ((flags & 8) != 0) now_ = now_ + Duration::ms(300);
    if ((flags & 16) != 0) link.send(now_, link.take(100), 4791, {peer_of(link), 4791});
    if ((flags & 1) != 0 && frame.size() >= 14) {
      std::copy(link.mac().begin(), link.mac().end(), frame.begin());
    }
    if ((flags & 2) != 0 && frame.size() >= 34) {
      const MutableBytes ip = MutableBytes(frame).subspan(14);
      store_be<std::uint16_t>(&ip[10], 0);
      store_be<std::uint16_t>(&ip[10], internet_checksum(internet_sum(ip.first(20))));
    }
    drain(link);
    const std::size_t waiting = 64;  // frames that knowing the neighbour may set free
    if (const auto datagram = link.on_frame(now_, frame)) {
      if (datagram->payload.size() > frame.size()) std::abort();
    }
    if (link.outputs() > waiting + 1) std::abort();
    drain(link);
    link.on_deadline(now_);
    drain(link);
  }

 private:
  static IpAddress peer_of(const L2Link& link) {
    return link.address().is_v4() ? IpAddress::v4(192, 168, 78, 2) : *IpAddress::parse("fd78::2");
  }
  static void drain(L2Link& link) {
    while (link.has_output()) {
      if (link.output().size() < 42) std::abort();
      link.pop_output();
    }
  }

  Instant now_;
  L2Link v4_{IpAddress::v4(192, 168, 78, 1), mac_for(IpAddress::v4(192, 168, 78, 1))};
  L2Link v6_{*IpAddress::parse("fd78::1"), mac_for(*IpAddress::parse("fd78::1"))};
};

}  // namespace
}  // namespace fb::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fb::net::Target target;
  fb::fuzz::Input input(data, size);
  while (!input.empty()) {
    const std::uint16_t length = input.word();
    const std::uint8_t flags = input.byte();
    target.step(flags, input.bytes(length));
  }
  return 0;
}
