// Time as integer nanoseconds. An Instant counts from the start of its world, never from a
// calendar.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>

namespace fb {

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration ns(std::int64_t n) { return Duration{n}; }
  static constexpr Duration us(std::int64_t n) { return Duration{n * 1000}; }
  static constexpr Duration ms(std::int64_t n) { return Duration{n * 1'000'000}; }
  static constexpr Duration s(std::int64_t n) { return Duration{n * 1'000'000'000}; }
  static constexpr Duration forever() { return Duration{std::numeric_limits<std::int64_t>::max()}; }

  constexpr std::int64_t count_ns() const { return ns_; }
  constexpr std::int64_t count_ms() const { return ns_ / 1'000'000; }

  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration other) const { return Duration{ns_ + other.ns_}; }
  constexpr Duration operator-(Duration other) const { return Duration{ns_ - other.ns_}; }
  constexpr Duration operator*(std::int64_t factor) const { return Duration{ns_ * factor}; }
  constexpr Duration operator/(std::int64_t divisor) const { return Duration{ns_ / divisor}; }

 private:
  constexpr explicit Duration(std::int64_t ns) : ns_(ns) {}
  std::int64_t ns_ = 0;
};

class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant at_ns(std::int64_t ns) { return Instant{ns}; }
  static constexpr Instant never() { return Instant{std::numeric_limits<std::int64_t>::max()}; }

  constexpr std::int64_t count_ns() const { return ns_; }

  constexpr auto operator<=>(const Instant&) const = default;
  constexpr Duration operator-(Instant other) const { return Duration::ns(ns_ - other.ns_); }
  /// Saturates at never(), so that "now + forever" is never.
  constexpr Instant operator+(Duration d) const {
    const std::int64_t room = std::numeric_limits<std::int64_t>::max() - d.count_ns();
    return Instant{d.count_ns() > 0 && ns_ > room ? std::numeric_limits<std::int64_t>::max() : ns_ + d.count_ns()};
  }

 private:
  constexpr explicit Instant(std::int64_t ns) : ns_(ns) {}
  std::int64_t ns_ = 0;
};

namespace literals {
constexpr Duration operator""_ns(unsigned long long n) { return Duration::ns(static_cast<std::int64_t>(n)); }
constexpr Duration operator""_us(unsigned long long n) { return Duration::us(static_cast<std::int64_t>(n)); }
constexpr Duration operator""_ms(unsigned long long n) { return Duration::ms(static_cast<std::int64_t>(n)); }
constexpr Duration operator""_s(unsigned long long n) { return Duration::s(static_cast<std::int64_t>(n)); }
}  // namespace literals

/// "1.500 ms", "2 s", "never": the shortest unit that reads well.
std::string to_string(Duration duration);
std::string to_string(Instant instant);

}  // namespace fb
