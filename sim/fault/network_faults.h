// Schedules on simulated links: one object is the filter of a whole network, for datagrams and for streams.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/fault/points.h"
#include "sim/net/link_filter.h"
#include "sim/net/stream_filter.h"

namespace fb::fault {

/// Makes the integrity check of a datagram right again.
using Reseal = std::function<void(const Endpoint& source, const Endpoint& destination, MutableBytes payload)>;

class NetworkFaults final : public net::LinkFilter, public net::StreamFilter {
 public:
  /// Without `reseal`, a forge is no more than a corruption.
  explicit NetworkFaults(Points& points, Reseal reseal = nullptr) : points_(points), reseal_(std::move(reseal)) {}

  net::Verdict on_packet(net::PacketContext& packet) override;
  net::SegmentVerdict on_segment(const net::SegmentContext& segment) override;

 private:
  struct Link {
    Point* packets = nullptr;
    Point* segments = nullptr;
    Instant cut_until;               // nothing passes
    Instant held_until;              // nothing arrives before
    Instant slow_until;              // no more than `rate` passes
    Instant free_at;                 // while it is slow: when what was sent has passed
    std::uint64_t rate = 0;          // bytes a millisecond
    std::uint64_t mtu = UINT64_MAX;  // a larger IP packet vanishes: a path whose MTU is smaller than both ends think
    std::size_t back = 0;            // the other direction's index, plus one
  };
  Link& link_of(std::size_t index, std::string_view name);
  void cut(Link& link, Instant until);
  static void throttle(Link& link, Instant now, std::uint64_t rate);
  /// How long so many bytes have to wait for their turn and take to pass.
  static Duration wait_of(Link& link, Instant now, std::size_t bytes);
  void apply(const Decision& decision, net::PacketContext& packet, Link& link, net::Verdict& verdict);

  Points& points_;
  Reseal reseal_;
  std::vector<Link> links_;  // by the network's dense number
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

/// Flips one bit, counted from the first; whole bytes are counted round.
void flip_bit(MutableBytes bytes, std::uint64_t bit);

}  // namespace fb::fault
