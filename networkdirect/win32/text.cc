#include "networkdirect/win32/kernel.h"

namespace fb::win32 {

namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kLast = 0x10FFFF;

bool is_character(char32_t c) { return c <= kLast && (c < 0xD800 || c > 0xDFFF); }

void append(std::string& text, char32_t c) {
  const auto tail = [c](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | c >> 6);
    text += tail(0);
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | c >> 12);
    (text += tail(6)) += tail(0);
  } else {
    text += static_cast<char>(0xF0 | c >> 18);
    ((text += tail(12)) += tail(6)) += tail(0);
  }
}

// The character at `at`, which is moved behind it; a bad byte is one replacement.
char32_t next(const std::string& text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  const int more = first >= 0xF0 && first < 0xF8 ? 3 : first >= 0xE0 ? 2 : first >= 0xC2 ? 1 : 0;
  if (more == 0 || first >= 0xF8) return kReplacement;
  char32_t c = first & (0x3Fu >> more);
  std::size_t end = at;
  for (int i = 0; i < more; ++i, ++end) {
    if (end >= text.size() || (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80) return kReplacement;
    c = c << 6 | (static_cast<unsigned char>(text[end]) & 0x3F);
  }
  constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  if (c < kLeast[more] || !is_character(c)) return kReplacement;
  at = end;
  return c;
}

}  // namespace

std::string to_narrow(const wchar_t* text) {
  std::string narrow;
  for (; *text != 0; ++text) {
    const auto c = static_cast<char32_t>(*text);
    append(narrow, is_character(c) ? c : kReplacement);
  }
  return narrow;
}

std::wstring to_wide(const std::string& text) {
  std::wstring wide;
  for (std::size_t at = 0; at < text.size();) wide += static_cast<wchar_t>(next(text, at));
  return wide;
}

}  // namespace fb::win32
