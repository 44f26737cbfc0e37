#include "base/assert.h"

#include <string_view>

#include <fmt/format.h>

namespace fb {

void assertion_failed(const char* expression, const char* file, int line, const char* why) {
  throw AssertionFailure(fmt::format("{}:{}: {} ({})", file, line, why, expression));
}

}  // namespace fb
