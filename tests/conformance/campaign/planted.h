// The defects that a campaign is known to find: one of each engine's ways to go wrong.
#pragma once

namespace fb::conformance {

struct Planted {
  const char* engine;
  const char* deviation;
  const char* workload;
};

inline constexpr Planted kPlanted[] = {
    {"RC", "rdma_executes_duplicates", "rdma"},
};

}  // namespace fb::conformance
