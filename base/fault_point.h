// A place at which a product asks its hooks whether to misbehave. Products list theirs in tables of these; a deviation of the
// catalogue names one and so breaks the requirement that belongs to it.
#pragma once

#include <string_view>

namespace fb {

struct FaultPoint {
  std::string_view name;    ///< "sub.kato.never": product, subject, what is wrong
  std::string_view breaks;  ///< what the product then does wrong, or the rule that it breaks
  /// The product touches what has been freed, unless something that judges stands between it and its peer.
  bool dangerous = false;
};

}  // namespace fb
