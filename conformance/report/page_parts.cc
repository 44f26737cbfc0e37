#include "conformance/report/page_parts.h"

#include <zlib.h>

#include <algorithm>

#include "base/assert.h"
#include "base/bytes.h"

namespace fb::conformance {

namespace {

std::string_view part(std::string_view name) {
  for (const PagePart& one : page_parts()) {
    if (one.name == name) return one.text;
  }
  BENCH_ASSERT(false, "the page is made of parts that the build knows");
  return {};
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += part(name);
  return text;
}

/// In JSON these stand in strings alone, where \u003c means the same; so the text can neither end the
/// script element nor begin a comment.
void append_harmless(std::string& out, std::string_view json) {
  for (const char c : json) {
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
}

/// Five characters for four bytes, the most significant first, none of which means anything in HTML; a last group of n bytes
/// has n + 1. A fifteenth shorter than base64.
std::string to_base85(ByteView bytes) {
  static constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%()*+,-./:;=?@[]^_{|";
  static_assert(kDigits.size() == 85);
  std::string text;
  text.reserve(bytes.size() / 4 * 5 + 5);
  for (std::size_t at = 0; at < bytes.size(); at += 4) {
    const std::size_t count = std::min<std::size_t>(4, bytes.size() - at);
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | (i < count ? bytes[at + i] : 0u);
    char group[5];
    for (std::size_t i = 5; i-- > 0; value /= 85) group[i] = kDigits[value % 85];
    text.append(group, count + 1);
  }
  return text;
}

}  // namespace

std::string put_page_together(std::string_view frame, const std::vector<std::string_view>& styles,
                              const std::vector<std::string_view>& scripts, std::string_view json, std::string_view packs) {
  std::string out;
  out.reserve(json.size() + json.size() / 16 + packs.size() + (96 << 10));
  std::string_view rest = part(frame);
  for (std::size_t at = rest.find("{{"); at != rest.npos; at = rest.find("{{")) {
    const std::size_t end = rest.find("}}", at);
    const std::string_view name = rest.substr(at + 2, end - at - 2);
    out += rest.substr(0, at);
    rest.remove_prefix(end + 2);
    if (name == "style") {
      out += joined(styles);
    } else if (name == "script") {
      out += joined(scripts);
    } else if (name == "packs") {
      out += packs;
    } else {
      append_harmless(out, json);
    }
  }
  out += rest;
  return out;
}

std::string pack(std::string_view name, const std::string& text) {
  uLongf size = compressBound(static_cast<uLong>(text.size()));
  Bytes compressed(size);
  const int done =
      compress2(compressed.data(), &size, reinterpret_cast<const Bytef*>(text.data()), static_cast<uLong>(text.size()), Z_BEST_COMPRESSION);
  BENCH_ASSERT(done == Z_OK, "there is room for whatever zlib makes of it");
  compressed.resize(size);
  return "<script type=\"text/plain\" id=\"packed-" + std::string(name) + "\">" + to_base85(compressed) + "</script>\n";
}

}  // namespace fb::conformance
