#include "model/deviations/shown.h"

#include <algorithm>

namespace fb::deviations {

namespace {

Failure<Problem> no_effect(const Deviation& deviation, const std::string& why) {
  return {Problem{"'" + std::string(deviation.name) + "' would have no effect: " + why}};
}

}  // namespace

Result<void> can_be_shown(const DeviationSet& chosen, const std::vector<Product>& products, const std::vector<std::string>& transports) {
  for (const Deviation* one : chosen.chosen()) {
    if (std::find(products.begin(), products.end(), one->product) == products.end()) {
      return no_effect(*one, "it is a deviation of product '" + std::string(name_of(one->product)) + "', not of '" +
                                 std::string(name_of(products.front())) + "'");
    }
    const auto shows = [&](const std::string& transport) { return shows_over(*one, transport); };
    if (std::none_of(transports.begin(), transports.end(), shows)) {
      return no_effect(*one, "it does not show over " + transports.front());
    }
  }
  return {};
}

}  // namespace fb::deviations
