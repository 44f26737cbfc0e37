#include "base/lifetime.h"

namespace fb {

Lifetime::~Lifetime() {
  for (Watch* watch = innermost_; watch != nullptr; watch = watch->outer_) watch->gone_ = true;
}

// Out of line: g++ 12 does not follow that every watch leaves the list, and warns wherever it can see.
Lifetime::Watch::Watch(Lifetime& of) : of_(of), outer_(of.innermost_) { of_.innermost_ = this; }

Lifetime::Watch::~Watch() {
  if (!gone_) of_.innermost_ = outer_;
}

}  // namespace fb
