// Segments that never arrive, however often they are sent: a path whose MTU is smaller than both its ends take it for.
#pragma once

#include <cstdint>
#include <limits>

namespace fb::net {

/// In SegmentVerdict::lost: the segment is lost now, and asked about again each time that it is sent again. What is behind it waits.
inline constexpr std::uint32_t kVanishes = std::numeric_limits<std::uint32_t>::max();

}  // namespace fb::net
