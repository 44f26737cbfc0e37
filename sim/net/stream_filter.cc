#include "sim/net/stream_filter.h"

#include <algorithm>
#include <bit>
#include <string>

#include "sim/core/world.h"

namespace fb::net {

SegmentVerdict RandomSegmentation::on_segment(const SegmentContext& segment) {
  if (streams_.size() <= segment.link_index) streams_.resize(segment.link_index + 1);
  auto& stream = streams_[segment.link_index];
  if (!stream) stream = world_.stream("link/" + std::string(segment.link) + "/segments");
  Rng& rng = *stream;
  // All are drawn whatever the first ones say: a change of one ratio moves no other fault.
  const bool split = rng.chance(options_.split.numerator, options_.split.denominator);
  const bool delay = rng.chance(options_.delay.numerator, options_.delay.denominator);
  const bool lose = rng.chance(options_.lose.numerator, options_.lose.denominator);
  const std::uint64_t length = rng.next();
  const std::uint64_t late = rng.next();
  SegmentVerdict verdict;
  if (split && segment.size > 1) {
    // The magnitude first, then the length: 1 to 2 bytes come as often as 1000 to 2000.
    const auto magnitudes = static_cast<std::uint64_t>(std::bit_width(segment.size));
    const std::uint64_t most = std::uint64_t{2} << length % magnitudes;
    const auto cut = static_cast<std::size_t>(1 + (length >> 8) % most);
    verdict.size = std::min(cut, segment.size);
  }
  const auto span = static_cast<std::uint64_t>(options_.max_delay.count_ns());
  if (delay && span > 0) verdict.delay = Duration::ns(static_cast<std::int64_t>(1 + late % span));
  if (lose) verdict.lost = 1;
  return verdict;
}

}  // namespace fb::net
