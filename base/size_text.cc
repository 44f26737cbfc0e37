#include "base/size_text.h"

#include <charconv>

namespace fb {

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto wrong = [&] { return Failure{Problem{"'" + std::string(text) + "' is no size; sizes look like 512, 4K, 64M, 1G, 2T"}}; };
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return wrong();
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.ends_with("iB")) {
    unit.remove_suffix(2);
  } else if (unit.ends_with("B")) {
    unit.remove_suffix(1);
  }
  unsigned shift = 0;
  if (!unit.empty()) {
    constexpr std::string_view kUnits = "KMGT";
    const char letter = unit[0] >= 'a' ? static_cast<char>(unit[0] - 32) : unit[0];
    const std::size_t at = kUnits.find(letter);
    if (unit.size() != 1 || at == std::string_view::npos) return wrong();
    shift = static_cast<unsigned>(at + 1) * 10;
  }
  if (value == 0 || value > (~std::uint64_t{0} >> shift)) return wrong();
  return value << shift;
}

std::string size_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  std::uint64_t whole = bytes, rest = 0;
  while (whole >= 1024 && unit < 4) {
    rest = whole % 1024;
    whole /= 1024;
    ++unit;
  }
  std::string text = std::to_string(whole);
  if (rest > 0 && whole < 100) text += "." + std::to_string(rest * 10 / 1024);
  return text + " " + kUnits[unit];
}

Result<Duration> parse_duration(std::string_view text) {
  std::uint32_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  if (error == std::errc{} && unit == "us") return Duration::us(number);
  if (error == std::errc{} && unit == "ms") return Duration::ms(number);
  if (error == std::errc{} && unit == "s") return Duration::s(number);
  // Years would not fit into nanoseconds.
  constexpr std::uint32_t kMost = 1'000'000;
  if (error == std::errc{} && unit == "m" && number <= kMost) return Duration::s(std::int64_t{number} * 60);
  if (error == std::errc{} && unit == "h" && number <= kMost) return Duration::s(std::int64_t{number} * 3600);
  return Failure{Problem{"'" + std::string(text) + "' is no time; times look like 250ms, 2s, 30m, 2h"}};
}

}  // namespace fb
