#include "conformance/report/page_parts.h"

#include <zlib.h>

#include "base/assert.h"

#include "base/assert.h"
#include "model/auth/key_text.h"

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
  return "<script type=\"text/plain\" id=\"packed-" + std::string(name) + "\">" + auth::to_base64(compressed) + "</script>\n";
}

}  // namespace fb::conformance
