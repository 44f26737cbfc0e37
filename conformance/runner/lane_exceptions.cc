// Cases that cannot run in a lane, and why. A row is for a case whose subject is what the lane changes, or which arranges what
// the lane would: never for one that fails because it takes a number for granted that its bench could have supplied.
#include "conformance/runner/lane.h"

namespace fb::conformance {

const std::vector<LaneException>& lane_exceptions() {
  static const std::vector<LaneException> rows = {
  };
  return rows;
}

}  // namespace fb::conformance
