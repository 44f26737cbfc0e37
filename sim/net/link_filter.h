// What may happen to a packet on a simulated link. A filter sees each packet once, in the order of
// sending, and says what becomes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ip.h"
#include "base/rng.h"
#include "base/time.h"

namespace fb {
class World;
}

namespace fb::net {

/// A packet that is about to enter one direction of a link.
struct PacketContext {
  std::string_view link;       ///< "host->target": sender's and receiver's names
  std::size_t link_index = 0;  ///< dense number of the direction, in the order of first creation
  std::uint64_t ordinal = 0;   ///< counts this direction's packets from 0
  Instant now;
  Endpoint source;
  Endpoint destination;
  MutableBytes payload;  ///< may be changed in place; then say so in Verdict::corrupted
};

struct Verdict {
  bool drop = false;
  bool corrupted = false;         ///< the filter has changed the payload
  std::size_t cut = 0;            ///< so many bytes are missing at its end
  std::uint32_t duplicates = 0;   ///< further copies, sent right behind the packet
  Duration delay = {};            ///< extra time on the link: later packets overtake
  Duration duplicate_delay = {};  ///< extra time of the copies

  static Verdict pass() { return {}; }
  static Verdict dropped() { return {.drop = true}; }
  static Verdict duplicated(Duration after = {}) { return {.duplicates = 1, .duplicate_delay = after}; }
  static Verdict delayed(Duration by) { return {.delay = by}; }
  static Verdict mutated() { return {.corrupted = true}; }
};

class LinkFilter {
 public:
  virtual Verdict on_packet(PacketContext& packet) = 0;

 protected:
  ~LinkFilter() = default;
};

/// A chance as a ratio; {0, 1} is never.
struct Ratio {
  std::uint32_t numerator = 0;
  std::uint32_t denominator = 1;
};

struct RandomLossOptions {
  Ratio drop;
  Ratio duplicate;
  Ratio delay;
  Ratio corrupt;
  Duration max_delay = Duration::us(200);  ///< a delay is uniform in (0, max_delay]
};

/// Independent chances for each packet. Every direction has a random stream of its own, so that
/// traffic on one does not shift another's faults.
class RandomLoss final : public LinkFilter {
 public:
  RandomLoss(World& world, const RandomLossOptions& options) : world_(world), options_(options) {}
  Verdict on_packet(PacketContext& packet) override;

 private:
  Rng& stream_of(const PacketContext& packet);

  World& world_;
  RandomLossOptions options_;
  std::vector<std::optional<Rng>> streams_;  // by link index
};

}  // namespace fb::net
