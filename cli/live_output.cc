#include "cli/live_output.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/wrap.h"
#include "cli/common.h"
#include "conformance/monitors/monitors.h"

namespace fb::cli {

fault::Plan plan_of_proxy(const std::string& file, const std::string& seed) {
  if (file.empty()) {
    if (!seed.empty()) throw UserError("--seed goes with --faults: without faults nothing is random");
    return {};
  }
  fault::Plan plan = or_throw(fault::parse_plan(read_text(file), file));
  if (plan.rules.empty()) throw UserError(file + ": the plan has no faults; leave out --faults for a quiet proxy");
  return plan;
}

void print_live(const conformance::LiveFinding& found, std::string_view side) {
  const monitors::Finding& finding = found.finding;
  const monitors::RuleFacts& rule = monitors::facts_of(finding.rule);
  fmt::print("packet {}  {:.6f} s  {} {}\n", finding.packet, static_cast<double>(finding.time.count_ns()) / 1e9, side,
             to_string(finding.blamed));
  std::fputs(wrap((monitors::only_advises(finding.rule) ? "    advice: " : "    ") + finding.text, 4).c_str(), stdout);
  std::fputs(wrap(fmt::format("    {}: {} ({})", rule.name, rule.sentence, rule.requirement), 4).c_str(), stdout);
  std::fflush(stdout);
}

void print_left_out(std::uint64_t findings) {
  if (findings > 0) fmt::print("({} more findings of the same rules)\n", findings);
}

}  // namespace fb::cli
