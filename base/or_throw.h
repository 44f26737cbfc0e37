// For those who answer to a user: a Result's value, or what was wrong as a UserError.
#pragma once

#include <utility>

#include "base/result.h"

namespace fb {

template <class T>
T or_throw(Result<T> result) {
  if (!result) throw UserError(result.error().text);
  return std::move(result).value();
}
inline void or_throw(const Result<void>& result) {
  if (!result) throw UserError(result.error().text);
}

}  // namespace fb
