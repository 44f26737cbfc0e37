// The provider that is simulated in the case's own world.
#pragma once

#include <memory>

#include "conformance/runner/case_memory.h"
#include "conformance/runner/environment.h"
#include "conformance/runner/nd_bench.h"
#include "networkdirect/provider/fabric.h"

namespace fb::conformance {

class NdSimulated {
 public:
  virtual ~NdSimulated() = default;
  virtual const std::shared_ptr<networkdirect::Fabric>& fabric() const = 0;
};

std::unique_ptr<NdSimulated> make_simulated(World& world, const Environment& environment, const CaseMemory& memory, const NdTerms& terms);

}  // namespace fb::conformance
