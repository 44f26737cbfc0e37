// The exchange of one case as its page shows it: what was said, bounded, every text kept once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "conformance/evidence/said.h"

namespace fb::conformance {

/// How much of a long exchange is kept; what is left out in between is counted.
struct LadderLimits {
  std::size_t head = 0;
  std::size_t around = 0;  ///< on either side of the first check that failed
  std::size_t tail = 0;
  std::size_t by_faults = 0;  ///< on either side of what a fault struck, for the first hundred of them
  bool states = true;         ///< false: changes of state only where everything fits
};
inline constexpr LadderLimits kLadderOfPass{16, 0, 18, 0, false};
inline constexpr LadderLimits kLadderOfFailure{150, 60, 150, 4, true};
inline constexpr LadderLimits kLadderOfOneOfMany{12, 8, 12, 0, true};
inline constexpr LadderLimits kLadderOfWorld{100, 0, 400, 4, true};

/// Texts and sets of fields are numbers into the tables beside the rows.
struct Ladder {
  struct Row {
    std::int64_t wait_ns = 0;  ///< since the row before
    std::uint32_t layer = 0, label = 0, struck = 0;
    std::int32_t from = -1, to = -1;  ///< lanes; to = -1: words between arrows
    std::uint64_t packet = 0;
    std::uint32_t fields = 0;  ///< 0: none
    std::uint64_t gap = 0;     ///< left out in front of it
  };
  std::vector<std::string> texts;                  ///< [0] is empty
  std::vector<std::vector<std::uint32_t>> fields;  ///< name, value, name, value ...; [0] is empty
  std::vector<std::uint32_t> lanes;
  std::vector<Row> rows;
  std::uint64_t rest = 0;  ///< left out behind the last row
};

/// `unseen` were said after the last of them, and not kept.
Ladder make_ladder(std::vector<evidence::Said> said, std::uint64_t unseen, const LadderLimits& limits);

/// The same with less of it: for the many failures of a product that does little right.
Ladder shortened(const Ladder& ladder, const LadderLimits& limits);

}  // namespace fb::conformance
