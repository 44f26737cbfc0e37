#include "wire/fabrics/nqn.h"

#include <algorithm>

namespace fb::fabrics {

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool hex_digit(char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool alphanumeric(char c) { return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    if (hyphen ? text[i] != '-' : !hex_digit(text[i])) return false;
  }
  return true;
}

/// "yyyy-mm.": a year, a hyphen, a month and a point.
bool is_date(std::string_view text) {
  if (text.size() < 8) return false;
  for (const std::size_t at : {0u, 1u, 2u, 3u, 5u, 6u}) {
    if (!digit(text[at])) return false;
  }
  const int month = (text[5] - '0') * 10 + (text[6] - '0');
  return text[4] == '-' && text[7] == '.' && month >= 1 && month <= 12;
}

/// Labels of letters, digits and inner hyphens, joined by points.
bool is_domain(std::string_view text) {
  std::size_t label = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.') {
      if (label == 0 || text[i - 1] == '-') return false;
      label = 0;
    } else if (alphanumeric(c) || (c == '-' && label > 0)) {
      if (++label > 63) return false;
    } else {
      return false;
    }
  }
  return label > 0 && text.back() != '-';
}

/// Length of the UTF-8 sequence at `at`; 0 when it is not well formed.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(at);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) return 0;
  for (std::size_t i = at + 1; i < at + length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const std::uint8_t second = byte(at + 1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool outside = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return overlong || outside ? 0 : length;
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0 || text[at] == '\0') return false;
    at += length;
  }
  return true;
}

}  // namespace

bool valid_nqn(std::string_view text) {
  if (text.size() > kNqnBytesMax || !is_utf8(text)) return false;
  if (text == kDiscoveryNqn) return true;
  if (text.starts_with(kUuidNqnPrefix)) return is_uuid(text.substr(kUuidNqnPrefix.size()));
  constexpr std::string_view kStart = "nqn.";
  if (!text.starts_with(kStart)) return false;
  const std::string_view dated = text.substr(kStart.size());
  if (!is_date(dated)) return false;
  const std::string_view rest = dated.substr(8);
  const std::size_t colon = rest.find(':');
  return colon != std::string_view::npos && is_domain(rest.substr(0, colon)) && colon + 1 < rest.size();
}

std::optional<std::string> terminated_text(ByteView field) {
  const auto end = std::find(field.begin(), field.end(), std::uint8_t{0});
  if (end == field.end()) return std::nullopt;
  return std::string{field.begin(), end};
}

}  // namespace fb::fabrics
