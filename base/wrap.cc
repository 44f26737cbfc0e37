#include "base/wrap.h"

#include <algorithm>

namespace fb {

namespace {
constexpr std::size_t kColumns = 80;
}

std::string wrap(std::string_view text, std::size_t indent) {
  std::string lines, line;
  for (bool first = true; !text.empty(); first = false) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!first && line.size() + 1 + word.size() > kColumns && line.find_first_not_of(' ') != std::string::npos) {
      lines += line + '\n';
      line.assign(indent, ' ');
    } else if (!first) {
      line += ' ';
    }
    line += word;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return line.empty() ? lines : lines + line + '\n';
}

}  // namespace fb
