// What is wrong with a JSON file, for its user.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace fb::conformance {

/// The text of an exception of the JSON library, without the library's name and number in front of it.
inline std::string json_problem(const std::exception& problem) {
  std::string_view text = problem.what();
  if (text.starts_with("[json.exception.")) {
    if (const std::size_t end = text.find("] "); end != std::string_view::npos) text.remove_prefix(end + 2);
  }
  return std::string(text);
}

}  // namespace fb::conformance
