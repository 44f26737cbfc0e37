#include "conformance/runner/nd_simulated.h"

#include "base/result.h"

namespace fb::conformance {

std::unique_ptr<NdSimulated> make_simulated(World&, const Environment&, const CaseMemory&, const NdTerms&) {
  throw UserError("on Windows providers are libraries: nothing is simulated");
}

}  // namespace fb::conformance
