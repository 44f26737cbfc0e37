#include "base/suggest.h"

#include <algorithm>

namespace fb {

namespace {

char folded(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c == '-' ? '_' : c; }

/// Insertions, removals, replacements and swaps of neighbours that lead from one word to the other.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (folded(a[i - 1]) == folded(b[j - 1]) ? 0 : 1);
      row[j] = std::min({row[j - 1] + 1, last[j] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last.back();
}

}  // namespace

std::string_view nearest_word(std::string_view typed, const std::vector<std::string_view>& known) {
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(2, typed.size() / 3 + 1);
  if (typed.size() < 2) return nearest;
  for (const std::string_view word : known) {
    if (const std::size_t away = edits(typed, word); away < least || (away == least && nearest.empty() && away < typed.size() / 2)) {
      least = away;
      nearest = word;
    }
  }
  if (!nearest.empty()) return nearest;
  // The beginning of exactly one word.
  std::size_t count = 0;
  for (const std::string_view word : known) {
    if (typed.size() < 3 || !word.starts_with(typed)) continue;
    nearest = word;
    ++count;
  }
  if (count == 1) return nearest;
  // Exactly one word that has two letters more: "sed" for "seeds".
  count = 0;
  for (const std::string_view word : known) {
    if (typed.size() < 3 || word.size() > typed.size() + 2 || edits(typed, word) != word.size() - typed.size()) continue;
    nearest = word;
    ++count;
  }
  return count == 1 ? nearest : std::string_view{};
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string_view>& known) {
  const std::string_view nearest = nearest_word(typed, known);
  return nearest.empty() ? std::string() : "; did you mean '" + std::string(nearest) + "'?";
}

}  // namespace fb
