#include <fabricbench/suite.h>

#include "api/parts.h"
#include "base/or_throw.h"
#include "conformance/report/report.h"
#include "conformance/runner/runner.h"

namespace fabricbench {

std::vector<CaseResult> run_suite(const SuiteOptions& options) {
  return guarded([&] {
    namespace conformance = fb::conformance;
    conformance::RunOptions chosen;
    chosen.seed = options.seed;
    chosen.deviations = fb::or_throw(fb::deviations::DeviationSet::of_names(options.deviations));
    const auto cases = fb::or_throw(conformance::select(conformance::all_cases(), {options.suites, options.cases, options.roles, ""}));
    conformance::ReportFacts facts;
    facts.seed = options.seed;
    facts.deviations = chosen.deviations.names();
    std::vector<CaseResult> all;
    for (const conformance::CaseResult& one : conformance::run_cases(cases, chosen).cases) {
      all.push_back({std::string(one.info->name), std::string(one.info->requirement), std::string(one.transport),
                     std::string(name_of(one.verdict)), one.reason, conformance::replay_text(one, facts)});
    }
    return all;
  });
}

}  // namespace fabricbench
