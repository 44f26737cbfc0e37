#include "conformance/runner/case.h"

#include <algorithm>

#include "conformance/requirements/ledger.h"

namespace fb::conformance {

namespace {

std::vector<const CaseInfo*> sorted(std::vector<const CaseInfo*> cases) {
  std::sort(cases.begin(), cases.end(), [](const CaseInfo* a, const CaseInfo* b) { return a->name < b->name; });
  const auto twin = std::adjacent_find(cases.begin(), cases.end(), [](const auto* a, const auto* b) { return a->name == b->name; });
  if (twin != cases.end()) {
    const std::string why = "two cases are called " + std::string((*twin)->name);
    assertion_failed("unique names", __FILE__, __LINE__, why.c_str());
  }
  return cases;
}

}  // namespace

const std::vector<const CaseInfo*>& all_cases() {
  static const std::vector<const CaseInfo*> cases = [] {
    std::vector<const CaseInfo*> found;
    for (const RegisteredCase* c = RegisteredCase::first_; c != nullptr; c = c->next_) {
      found.push_back(&c->info_);
    }
    return sorted(std::move(found));
  }();
  return cases;
}

std::string why_unconfirmed(const CaseInfo& info) {
  const Requirement* const rule = find_requirement(info.requirement);
  if (rule == nullptr || rule->confidence != "memory") return {};
  return "the rule was not confirmed in its document (" + citation(*rule) + "): a person should look";
}

}  // namespace fb::conformance
