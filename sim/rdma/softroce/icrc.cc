#include "sim/rdma/softroce/icrc.h"

#include <algorithm>

#include <isa-l/crc.h>

#include "base/assert.h"
#include "wire/rdma/headers.h"

namespace fb::softroce {

namespace {

constexpr std::size_t kLrh = 8;
constexpr std::size_t kIdentification = kLrh + 4;  // in an IPv4 path's masked bytes
constexpr std::uint16_t kDontFragment = 0x4000;
constexpr std::uint8_t kUdpProtocol = 17;
constexpr std::size_t kUdpHeader = 8;

}  // namespace

IcrcPath::IcrcPath(const Endpoint& source, const Endpoint& destination) : v4_(destination.address.is_v4()) {
  std::fill_n(masked_.begin(), kLrh, std::uint8_t{0xFF});
  std::uint8_t* ip = masked_.data() + kLrh;
  const auto& from = source.address.bytes();
  const auto& to = destination.address.bytes();
  if (v4_) {
    ip[0] = 0x45;
    ip[1] = 0xFF;  // TOS
    ip[8] = 0xFF;  // TTL
    ip[9] = kUdpProtocol;
    ip[10] = ip[11] = 0xFF;  // header checksum
    std::copy_n(from.begin() + 12, 4, ip + 12);
    std::copy_n(to.begin() + 12, 4, ip + 16);
  } else {
    ip[0] = 0x6F;  // version; the rest of traffic class and flow label masked
    ip[1] = ip[2] = ip[3] = 0xFF;
    ip[6] = kUdpProtocol;
    ip[7] = 0xFF;  // hop limit
    std::copy_n(from.begin(), 16, ip + 8);
    std::copy_n(to.begin(), 16, ip + 24);
  }
  std::uint8_t* udp = ip + (v4_ ? 20 : 40);
  store_be<std::uint16_t>(udp, source.port);
  store_be<std::uint16_t>(udp + 2, destination.port);
  udp[6] = udp[7] = 0xFF;  // checksum
  size_ = kLrh + (v4_ ? 20u : 40u) + kUdpHeader;
}

std::uint32_t IcrcPath::compute(ByteView packet, const IpFacts& ip) const {
  std::array<std::uint8_t, 56 + roce::Bth::size> head;
  std::copy_n(masked_.begin(), size_, head.begin());
  const std::size_t udp_length = kUdpHeader + packet.size() + roce::kIcrcBytes;
  if (v4_) {
    store_be<std::uint16_t>(&head[kLrh + 2], static_cast<std::uint16_t>(20 + udp_length));
    store_be<std::uint16_t>(&head[kIdentification], ip.id);
    store_be<std::uint16_t>(&head[kLrh + 6], ip.dont_fragment ? kDontFragment : std::uint16_t{0});
  } else {
    store_be<std::uint16_t>(&head[kLrh + 4], static_cast<std::uint16_t>(udp_length));
  }
  store_be<std::uint16_t>(&head[size_ - 4], static_cast<std::uint16_t>(udp_length));
  std::copy_n(packet.begin(), roce::Bth::size, head.begin() + static_cast<std::ptrdiff_t>(size_));
  head[size_ + 4] = 0xFF;  // FECN, BECN and six reserved bits
  const std::uint32_t crc = crc32_gzip_refl(0, head.data(), size_ + roce::Bth::size);
  const ByteView rest = packet.subspan(roce::Bth::size);
  return rest.empty() ? crc : crc32_gzip_refl(crc, rest.data(), rest.size());
}

void seal_icrc(const IcrcPath& path, MutableBytes udp_payload, const IpFacts& ip) {
  const std::size_t packet_bytes = udp_payload.size() - roce::kIcrcBytes;
  store_le<std::uint32_t>(&udp_payload[packet_bytes], path.compute(udp_payload.first(packet_bytes), ip));
}

void reseal(const Endpoint& source, const Endpoint& destination, MutableBytes udp_payload) {
  seal_icrc(IcrcPath(source, destination), udp_payload, IpFacts{});
}

bool IcrcChecker::check(const Endpoint& source, const Endpoint& destination, ByteView udp_payload, const std::optional<IpFacts>& ip) {
  if (source != source_ || destination != destination_) {
    source_ = source;
    destination_ = destination;
    path_ = IcrcPath(source, destination);
  }
  if (!ip && destination.address.is_v4()) {
    return solve_identification(path_, udp_payload).has_value();
  }
  const std::size_t packet_bytes = udp_payload.size() - roce::kIcrcBytes;
  const std::uint32_t received = load_le<std::uint32_t>(&udp_payload[packet_bytes]);
  return path_.compute(udp_payload.first(packet_bytes), ip.value_or(IpFacts{})) == received;
}

std::optional<std::uint16_t> IcrcChecker::solve_identification(const IcrcPath& path, ByteView udp_payload) {
  const std::size_t packet_bytes = udp_payload.size() - roce::kIcrcBytes;
  const std::uint32_t received = load_le<std::uint32_t>(&udp_payload[packet_bytes]);
  std::uint32_t difference = received ^ path.compute(udp_payload.first(packet_bytes), IpFacts{});
  if (difference == 0) return std::uint16_t{0};
  const Basis& basis = basis_for(packet_bytes);
  std::uint16_t id = 0;
  for (std::size_t row = 0; row < 16; ++row) {
    if ((difference & basis.pivot[row]) == 0) continue;
    difference ^= basis.effect[row];
    id = static_cast<std::uint16_t>(id ^ basis.bits[row]);
  }
  if (difference != 0) return std::nullopt;
  return id;
}

const IcrcChecker::Basis& IcrcChecker::basis_for(std::size_t packet_bytes) {
  // Everything behind the identification: 14 more bytes of IPv4 header, UDP, the packet.
  const std::size_t behind = 14 + kUdpHeader + packet_bytes;
  if (by_length_.size() <= packet_bytes) by_length_.resize(packet_bytes + 1);
  auto& slot = by_length_[packet_bytes];
  if (slot) return *slot;
  slot = std::make_unique<Basis>();
  Bytes string(2 + behind, std::uint8_t{0});
  const std::uint32_t nothing = crc32_gzip_refl(0, string.data(), string.size());
  for (unsigned bit = 0; bit < 16; ++bit) {
    const auto id = static_cast<std::uint16_t>(1u << bit);
    store_be<std::uint16_t>(string.data(), id);
    std::uint32_t effect = crc32_gzip_refl(0, string.data(), string.size()) ^ nothing;
    std::uint16_t bits = id;
    for (unsigned row = 0; row < bit; ++row) {
      if ((effect & slot->pivot[row]) == 0) continue;
      effect ^= slot->effect[row];
      bits = static_cast<std::uint16_t>(bits ^ slot->bits[row]);
    }
    BENCH_ASSERT(effect != 0, "a CRC-32 tells any two bursts of 16 bits apart");
    slot->effect[bit] = effect;
    slot->pivot[bit] = effect & (~effect + 1);
    slot->bits[bit] = bits;
  }
  return *slot;
}

}  // namespace fb::softroce
