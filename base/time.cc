#include "base/time.h"

#include <fmt/format.h>

namespace fb {

std::string to_string(Duration duration) {
  const std::int64_t ns = duration.count_ns();
  if (duration == Duration::forever()) return "forever";
  const std::int64_t magnitude = ns < 0 ? -ns : ns;
  const char* sign = ns < 0 ? "-" : "";
  if (magnitude < 1'000) return fmt::format("{}{} ns", sign, magnitude);
  if (magnitude < 1'000'000) {
    return fmt::format("{}{}.{:03} us", sign, magnitude / 1'000, magnitude % 1'000);
  }
  if (magnitude < 1'000'000'000) {
    return fmt::format("{}{}.{:03} ms", sign, magnitude / 1'000'000, magnitude / 1'000 % 1'000);
  }
  return fmt::format("{}{}.{:03} s", sign, magnitude / 1'000'000'000, magnitude / 1'000'000 % 1'000);
}

std::string to_string(Instant instant) {
  if (instant == Instant::never()) return "never";
  return to_string(instant - Instant{});
}

}  // namespace fb
