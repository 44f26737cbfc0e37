// The invariant CRC of RoCEv2: CRC-32 over a dummy LRH, the IP and UDP headers and the packet from
// the BTH to the pad, with the fields that routers may change masked to ones. It stands
// little-endian in the last four bytes of the UDP payload.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/ip.h"
#include "sim/core/trace.h"

namespace fb::softroce {

/// The masked headers before the BTH for one (source, destination); only length, identification and
/// flags differ from packet to packet.
class IcrcPath {
 public:
  IcrcPath() = default;
  IcrcPath(const Endpoint& source, const Endpoint& destination);

  /// `packet` runs from the BTH to the pad, without the ICRC. At least 12 bytes.
  std::uint32_t compute(ByteView packet, const IpFacts& ip) const;

 private:
  // Dummy LRH (8), IPv4 or IPv6 header (20 or 40), UDP header (8).
  std::array<std::uint8_t, 56> masked_ = {};
  std::size_t size_ = 0;
  bool v4_ = true;
};

/// Computes and stores the ICRC in the last four bytes of a UDP payload.
void seal_icrc(const IcrcPath& path, MutableBytes udp_payload, const IpFacts& ip);
/// The same for a packet of a simulated link, whose IP header is the usual one: after a fault that is to stay unnoticed.
void reseal(const Endpoint& source, const Endpoint& destination, MutableBytes udp_payload);

/// Checks received packets, also where the IPv4 identification is not known. The ICRC is affine in
/// the 16 identification bits, so the identification that explains a difference can be solved for;
/// that leaves an undetected-error rate of 2^-16 instead of 2^-32.
class IcrcChecker {
 public:
  /// `udp_payload` with the ICRC at its end, at least 16 bytes. Without `ip`, IPv4 packets are
  /// assumed to carry DF.
  bool check(const Endpoint& source, const Endpoint& destination, ByteView udp_payload, const std::optional<IpFacts>& ip);
  /// The IPv4 identification that explains the ICRC, if there is one.
  std::optional<std::uint16_t> solve_identification(const IcrcPath& path, ByteView udp_payload);

 private:
  // What each identification bit does to the CRC of a packet of one length, in echelon form.
  struct Basis {
    std::array<std::uint32_t, 16> effect;  ///< reduced; 0 when the row vanished
    std::array<std::uint32_t, 16> pivot;   ///< the one bit that no later row has
    std::array<std::uint16_t, 16> bits;    ///< identification bits that make the row
  };
  const Basis& basis_for(std::size_t packet_bytes);

  std::vector<std::unique_ptr<Basis>> by_length_;
  Endpoint source_;
  Endpoint destination_;
  IcrcPath path_;
};

}  // namespace fb::softroce
