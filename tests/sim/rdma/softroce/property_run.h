// Random work on both sides of a connection over a link that loses, duplicates, delays and
// corrupts: every byte arrives once and in order, or the queue pairs end in error with all work
// accounted for.
#pragma once

#include <cstdint>
#include <string>

#include "sim/rdma/softroce/hooks.h"

namespace fb::softroce {

struct PropertyResult {
  std::string wrong;  ///< empty: the property holds
  std::uint64_t digest = 0;
  std::uint64_t packets = 0;
  bool failed_connection = false;  ///< the queue pairs ended in error, as they may
};

/// `hooks` act on both devices.
PropertyResult run_property(std::uint64_t seed, SoftHooks* hooks = nullptr);

}  // namespace fb::softroce
