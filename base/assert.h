// Assertions are always on. A broken invariant of the bench is never blamed on a product: the
// runner catches AssertionFailure at the frame of a case and reports the verdict ERROR.
#pragma once

#include <stdexcept>
#include <string>

namespace fb {

class AssertionFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line, const char* why);

}  // namespace fb

/// BENCH_ASSERT(condition, "why it must hold").
#define BENCH_ASSERT(condition, why)                               \
  do {                                                             \
    if (!(condition)) [[unlikely]]                                 \
      ::fb::assertion_failed(#condition, __FILE__, __LINE__, why); \
  } while (false)
