// Spelling suggestions: "did you mean 'fabrics'?".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fb {

/// The word of `known` that is nearest to what was typed; empty if none is near.
std::string_view nearest_word(std::string_view typed, const std::vector<std::string_view>& known);

/// "; did you mean 'fabrics'?", or nothing.
std::string did_you_mean(std::string_view typed, const std::vector<std::string_view>& known);

/// The same for any range of texts.
template <class Range>
std::string did_you_mean(std::string_view typed, const Range& known) {
  std::vector<std::string_view> words;
  for (const auto& word : known) words.emplace_back(word);
  return did_you_mean(typed, words);
}

}  // namespace fb
