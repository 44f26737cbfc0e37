// The canary: a case that must FAIL in every run. It goes through everything that a real case goes
// through, and expects what no controller can answer. If it ever passes, no verdict can be trusted.
#include "conformance/runner/controller_bench.h"
#include "conformance/runner/runner.h"

namespace fb::conformance {

namespace {

constexpr std::string_view kSong = "canary: version of the controller";

void sing(Bench& any, Check& check) {
  auto* bench = dynamic_cast<ControllerBench*>(&any);
  if (bench == nullptr) throw CannotArrange{"the canary needs the bench of a controller"};
  RawAssociation& association = bench->associate({.enable = false});
  // A value of VS that was never assigned.
  check.equal(kSong, association.property(fabrics::property::vs), 0xFFFFFFFFu);
}

}  // namespace

const CaseInfo& canary_case() {
  static const CaseInfo info{"canary", "bench.canary.fails", Role::controller, &sing, {}, __FILE__};
  return info;
}

bool canary_caught(const CaseResult& result) {
  return result.verdict == Verdict::fail && !result.findings.empty() &&
         result.findings.front().what == kSong;
}

}  // namespace fb::conformance
