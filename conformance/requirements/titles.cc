#include "conformance/requirements/titles.h"

#include <algorithm>

namespace fb::conformance {

std::string_view title_of(std::string_view name) {
  const auto all = case_titles();
  const auto found = std::ranges::lower_bound(all, name, {}, &CaseTitle::name);
  return found != all.end() && found->name == name ? found->title : name;
}

}  // namespace fb::conformance
