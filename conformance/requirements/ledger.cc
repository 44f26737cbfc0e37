#include "conformance/requirements/ledger.h"

#include <algorithm>

namespace fb::conformance {

const Requirement* find_requirement(std::string_view id) {
  const auto all = ledger();
  const auto found = std::lower_bound(
      all.begin(), all.end(), id, [](const Requirement& r, std::string_view key) { return r.id < key; });
  return found != all.end() && found->id == id ? &*found : nullptr;
}

std::string_view suite_of(std::string_view requirement) {
  return requirement.substr(0, requirement.find('.'));
}

}  // namespace fb::conformance
