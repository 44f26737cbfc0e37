// What each conformance case does, in the words of the specifications: "stimulus: result". The titles are YAML files in titles/.
#pragma once

#include <span>
#include <string_view>

namespace fb::conformance {

struct CaseTitle {
  std::string_view name;   ///< of the case: "connect_refuses_sqsize_zero"
  std::string_view title;  ///< "Connect with SQSIZE 0: Connect Invalid Parameters"
};

/// Every title, by the name of its case.
std::span<const CaseTitle> case_titles();

/// The title of a case; its name, if it has none.
std::string_view title_of(std::string_view name);

}  // namespace fb::conformance
