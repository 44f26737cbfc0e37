#include "wire/layout.h"

#include <fmt/format.h>

namespace fb {

namespace {
constexpr std::size_t kPrintedBytesMax = 32;
}

void append_field(std::string& out, std::string_view name, std::uint64_t raw) {
  if (!out.empty()) out += ' ';
  out += raw < 10 ? fmt::format("{}={}", name, raw) : fmt::format("{}=0x{:x}", name, raw);
}

void append_field(std::string& out, std::string_view name, ByteView bytes) {
  if (!out.empty()) out += ' ';
  const bool printable = !bytes.empty() && bytes[0] >= 0x20 && bytes[0] < 0x7F &&
                         std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b == 0 || (b >= 0x20 && b < 0x7F); });
  if (printable) {
    out += fmt::format("{}=\"{}\"", name, text_of(bytes));
    return;
  }
  const ByteView shown = bytes.first(std::min(bytes.size(), kPrintedBytesMax));
  out += fmt::format("{}={}{}", name, to_hex(shown), shown.size() < bytes.size() ? "..." : "");
}

std::string text_of(ByteView field) {
  std::size_t length = 0;
  while (length < field.size() && field[length] != 0) ++length;
  while (length > 0 && field[length - 1] == ' ') --length;
  return {field.begin(), field.begin() + static_cast<std::ptrdiff_t>(length)};
}

void put_text(MutableBytes field, std::string_view text, char pad) {
  for (std::size_t i = 0; i < field.size(); ++i) {
    field[i] = static_cast<std::uint8_t>(i < text.size() ? text[i] : pad);
  }
}

}  // namespace fb
