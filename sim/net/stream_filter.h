// What may happen to a stream on a simulated link: where its bytes are cut into segments, and which
// of these are late, lost, or the connection's last. TCP hides loss and disorder from its user, so
// that all a fault can cause above it is time, or the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "base/rng.h"
#include "base/time.h"
#include "sim/net/link_filter.h"

namespace fb::net {

/// A segment that is about to enter one direction of a link: data, SYN or FIN. Plain acknowledgements
/// are not asked about; they keep their place in the order.
struct SegmentContext {
  std::string_view link;       ///< "host->target": sender's and receiver's names
  std::size_t link_index = 0;  ///< dense number of the direction
  std::uint64_t ordinal = 0;   ///< counts this direction's segments from 0
  Instant now;
  Endpoint source;
  Endpoint destination;
  std::uint8_t flags = 0;    ///< TcpFlag bits
  std::uint64_t offset = 0;  ///< of its first byte in the stream
  std::size_t size = 0;      ///< bytes that would leave in it; 0 for SYN and FIN
};

struct SegmentVerdict {
  std::size_t size = 0;    ///< cut it to so many bytes; 0 leaves it. The rest is asked about next.
  Duration delay = {};     ///< late by so much, and with it all behind it on the connection
  std::uint32_t lost = 0;  ///< lost so many times before it arrives: each costs a retransmission timeout
  Duration hold = {};      ///< the direction of the link stands still for so long, for every stream
  bool reset = false;      ///< the connection breaks here: both ends see a reset
};

class StreamFilter {
 public:
  virtual SegmentVerdict on_segment(const SegmentContext& segment) = 0;

 protected:
  ~StreamFilter() = default;
};

struct RandomSegmentationOptions {
  Ratio split{1, 2};  ///< the segment is cut somewhere; short pieces are as likely as long ones
  Ratio delay{0, 1};
  Ratio lose{0, 1};
  Duration max_delay = Duration::us(200);  ///< a delay is uniform in (0, max_delay]
};

/// Cuts streams at any byte, down to pieces of one. Every direction has a random stream of its own.
class RandomSegmentation final : public StreamFilter {
 public:
  RandomSegmentation(World& world, const RandomSegmentationOptions& options) : world_(world), options_(options) {}
  SegmentVerdict on_segment(const SegmentContext& segment) override;

 private:
  World& world_;
  RandomSegmentationOptions options_;
  std::vector<std::optional<Rng>> streams_;  // by link index
};

}  // namespace fb::net
