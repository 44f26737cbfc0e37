// Text in the pages that the program writes itself.
#pragma once

#include <string>
#include <string_view>

namespace fb::conformance {

/// `text` as the content or a quoted attribute of an HTML element.
inline std::string html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace fb::conformance
