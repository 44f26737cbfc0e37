#include "conformance/runner/provider_bench.h"

namespace fb::conformance {

ProviderBench::ProviderBench(World& world, const Environment& environment) : Bench(world), environment_(environment) {}

ProviderBench::~ProviderBench() = default;

}  // namespace fb::conformance
