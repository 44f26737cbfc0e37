// What cases that were written for virtual time need in real time.
#pragma once

#include <algorithm>

#include "sim/core/world.h"

namespace fb::conformance {

/// How long a bench waits for what takes no time at all in a virtual world: a real product, and this machine, may be busy
/// for a while.
inline Duration wait_limit(World& world, Duration limit) {
  constexpr Duration kAtLeast = Duration::ms(300);
  constexpr std::int64_t kLonger = 2;
  if (world.real_loop() == nullptr || limit > Duration::s(3600)) return limit;
  return std::max(limit * kLonger, kAtLeast);
}

}  // namespace fb::conformance
