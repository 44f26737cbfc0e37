// Deviations as scripts name them.
#pragma once

#include <string>
#include <vector>

#include "base/or_throw.h"
#include "model/deviations/shown.h"
#include "wire/fabrics/transports.h"

namespace fb::python {

/// UserError for a name that there is none of, and for a deviation that would have no effect in these products.
inline deviations::DeviationSet chosen_deviations(const std::vector<std::string>& names, const std::vector<deviations::Product>& products,
                                                  const std::vector<std::string>& transports = {
                                                      std::string(fabrics::kRdma), std::string(fabrics::kTcp), "smbus", "pcie", "serial"}) {
  deviations::DeviationSet chosen = or_throw(deviations::DeviationSet::of_names(names));
  if (const auto shown = deviations::can_be_shown(chosen, products, transports); !shown) {
    throw UserError("deviations: " + shown.error().text);
  }
  return chosen;
}

}  // namespace fb::python
