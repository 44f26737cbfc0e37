// What came of a world, and who says so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/fault/points.h"

namespace fb::conformance {

enum class WorldVerdict : std::uint8_t {
  pass,
  inconclusive,  ///< it went wrong, and the faults were more than a product has to get over
  fail
};
std::string_view name_of(WorldVerdict verdict);

struct WorldOutcome {
  WorldVerdict verdict = WorldVerdict::pass;
  /// What went wrong, the same for every world in which it is the same: "data: stale".
  std::string signature;
  std::string text;  ///< what was seen in this one
  std::uint64_t digest = 0;
  std::int64_t virtual_ns = 0;
  std::vector<fault::Strike> strikes;
};

/// Keeps the first thing of each kind that went wrong, and weighs it against the faults that truly struck.
class Judge {
 public:
  /// Something that no fault excuses, unless bytes were changed behind every check.
  void fails(std::string signature, std::string text) { keep(failure_, std::move(signature), std::move(text)); }
  /// Something that no fault excuses at all: it is about the fault itself, as it was seen.
  void fails_at_fault(std::string signature, std::string text) { keep(answer_, std::move(signature), std::move(text)); }
  /// A promise that holds for a bounded number of faults.
  void breaks_promise(std::string signature, std::string text) { keep(promise_, std::move(signature), std::move(text)); }
  bool failed() const { return !answer_.signature.empty() || !failure_.signature.empty() || !promise_.signature.empty(); }
  /// The verdict, in the light of the strikes that the outcome holds.
  void tell(WorldOutcome& outcome) const;

 private:
  struct Fault {
    std::string signature, text;
  };
  static void keep(Fault& first, std::string signature, std::string text) {
    if (first.signature.empty()) first = {std::move(signature), std::move(text)};
  }
  Fault answer_, failure_, promise_;
};

/// Numbers become "#", so that two failures of one kind have one name.
std::string without_numbers(std::string_view text);

}  // namespace fb::conformance
