// What the proxies of NVMe/TCP and MCTP have in common on the command line: their fault plan, and findings as they happen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "conformance/runner/runner.h"
#include "sim/fault/plan.h"

namespace fb::cli {

/// Without a file no rules. UserError if it cannot be read, has no faults, or there is a seed without it.
fault::Plan plan_of_proxy(const std::string& file, const std::string& seed);
/// A few lines on standard output, at once; `side` is to blame.
void print_live(const conformance::LiveFinding& found, std::string_view side);
/// Of the same rules as those that were printed.
void print_left_out(std::uint64_t findings);

}  // namespace fb::cli
