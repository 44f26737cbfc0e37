// The switches of mutated sources: one program holds many defects, of which the environment turns on one. Included first by
// every source that tests/mutation/mutate.py has rewritten; part of no other build.
//
// FABRICBENCH_MUTANT=N turns on mutant N. FABRICBENCH_MUTANTS_MET=FILE: at the end the cases and lanes are written there in which
// each mutant would have made a difference at its place (a comparison came out otherwise, a statement was left out).
// FABRICBENCH_MUTANT_CASES=FILE: only these cases are run, each a line "LANE CASE". With a mutant on, the first red case is printed and
// ends the run, and a case that takes long ends it by SIGPROF.
#pragma once

#include <sys/time.h>

#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace fb_mutation {

inline constexpr int kMutantsMax = 1 << 16;
inline constexpr int kCaseSeconds = 15;  // of processor time; the longest takes less than one

class State {
 public:
  State() {
    if (const char* number = std::getenv("FABRICBENCH_MUTANT")) active_ = std::atoi(number);
    path_ = std::getenv("FABRICBENCH_MUTANTS_MET");
    if (const char* cases = std::getenv("FABRICBENCH_MUTANT_CASES")) read(cases);
  }
  ~State() {
    if (path_ == nullptr) return;
    std::FILE* const file = std::fopen(path_, "w");
    if (file == nullptr) return;
    for (std::size_t at = 0; at < names_.size(); ++at) std::fprintf(file, "name %s\n", names_[at].c_str());
    for (const auto& [number, places] : met_) {
      std::fprintf(file, "met %d", number);
      for (const auto& [lane, name] : places) std::fprintf(file, " %d:%d", lane, name);
      std::fprintf(file, "\n");
    }
    std::fclose(file);
  }
  bool pass(int number) {
    if (path_ != nullptr && last_[number] != epoch_) {
      last_[number] = epoch_;
      met_[number].insert(here_);
    }
    return active_ == number;
  }

  /// Whether this case is not wanted; if it is, its time begins.
  bool leaves_out(std::string_view lane, std::string_view name) {
    if (!cases_.empty() && !cases_.contains(std::string(lane) + " " + std::string(name))) return true;
    if (active_ != 0) limit_time();
    return false;
  }
  void is_red(std::string_view name, std::string_view requirement) const {
    if (active_ == 0) return;
    std::printf("red %.*s %.*s\n", static_cast<int>(name.size()), name.data(), static_cast<int>(requirement.size()), requirement.data());
    std::fflush(stdout);
    std::_Exit(1);
  }

  using Here = std::pair<int, int>;  // lane, case
  Here here() const { return here_; }
  void enter(Here here) {
    here_ = here;
    ++epoch_;
  }
  int number_of(std::string_view name) {
    const auto [entry, added] = numbers_.try_emplace(std::string(name), static_cast<int>(names_.size()));
    if (added) names_.emplace_back(name);
    return entry->second;
  }

 private:
  void read(const char* path) {
    std::FILE* const file = std::fopen(path, "r");
    char line[256];
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
      const std::string_view text = line;
      cases_.emplace(text.substr(0, text.find('\n')));
    }
    if (file != nullptr) std::fclose(file);
  }
  static void limit_time() {
    const itimerval limit = {{0, 0}, {kCaseSeconds, 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);
  }

  int active_ = 0;
  std::set<std::string> cases_ = {};
  const char* path_ = nullptr;
  std::vector<std::string> names_ = {"*"};  // outside of every case
  std::map<std::string, int> numbers_ = {{"*", 0}};
  Here here_ = {0, 0};
  unsigned epoch_ = 1;
  unsigned last_[kMutantsMax] = {};
  std::map<int, std::set<Here>> met_;
};
inline State state;

/// What is passed while it lives belongs to this case in this lane; `*` is whatever all cases share.
class Scope {
 public:
  Scope(std::string_view lane, std::string_view name) : outer_(state.here()) {
    state.enter({state.number_of(lane), state.number_of(name)});
  }
  ~Scope() { state.enter(outer_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  State::Here outer_;
};

/// Whether this mutant is on; never at compile time.
constexpr bool on(int number) {
  if (std::is_constant_evaluated()) return false;
  return state.pass(number);
}

/// A result, or that of the defect when the mutant is on.
constexpr bool either(int number, bool right, bool wrong) { return right != wrong && on(number) ? wrong : right; }

/// A part of a condition that never holds, or always, when the mutant is on.
template <class T>
constexpr bool never(int number, T&& held) {
  return either(number, static_cast<bool>(held), false);
}
template <class T>
constexpr bool always(int number, T&& held) {
  return either(number, static_cast<bool>(held), true);
}

/// A literal: one more when the mutant is on. A boolean: its opposite.
template <class T>
constexpr T value(int number, T literal) {
  if (!on(number)) return literal;
  if constexpr (std::is_same_v<T, bool>) {
    return !literal;
  } else {
    return static_cast<T>(literal + 1);
  }
}

/// An index: the first when the mutant is on.
template <class T>
constexpr decltype(auto) index(int number, T&& from) {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (std::is_integral_v<Plain>) {
    return from != 0 && on(number) ? Plain{0} : static_cast<Plain>(from);
  } else {
    return std::forward<T>(from);
  }
}

/// A mask: lets every bit through when the mutant is on.
template <class T>
constexpr decltype(auto) mask(int number, T&& from) {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (std::is_integral_v<Plain>) {
    return on(number) ? static_cast<Plain>(~Plain{0}) : static_cast<Plain>(from);
  } else {
    return std::forward<T>(from);
  }
}

/// `a << border(N) < b` is `a < b`, or `a <= b` when the mutant is on; likewise for the other three.
struct Border {
  int number;
};
template <class T>
struct Bordered {
  const T& left;
  int number;
  template <class U>
  friend constexpr bool operator<(const Bordered& a, const U& b) {
    return either(a.number, a.left < b, a.left <= b);
  }
  template <class U>
  friend constexpr bool operator<=(const Bordered& a, const U& b) {
    return either(a.number, a.left <= b, a.left < b);
  }
  template <class U>
  friend constexpr bool operator>(const Bordered& a, const U& b) {
    return either(a.number, a.left > b, a.left >= b);
  }
  template <class U>
  friend constexpr bool operator>=(const Bordered& a, const U& b) {
    return either(a.number, a.left >= b, a.left > b);
  }
};
template <class T>
constexpr Bordered<T> operator<<(const T& left, Border border) {
  return {left, border.number};
}
constexpr Border border(int number) { return {number}; }

/// `a << coarse(N) == b` is `a == b`; when the mutant is on the last element of ranges, or the lowest bit of integers, does
/// not count.
struct Coarse {
  int number;
};
template <class T, class U>
constexpr bool alike(const T& a, const U& b) {
  if constexpr (std::integral<T> && std::integral<U>) {
    return (static_cast<unsigned long long>(a) | 1U) == (static_cast<unsigned long long>(b) | 1U);
  } else if constexpr (std::ranges::sized_range<const T> && std::ranges::sized_range<const U>) {
    auto one = std::ranges::begin(a);
    auto other = std::ranges::begin(b);
    const std::size_t most = std::ranges::size(a) < std::ranges::size(b) ? std::ranges::size(a) : std::ranges::size(b);
    for (std::size_t at = 0; at + 1 < most; ++at, ++one, ++other)
      if (!(*one == *other)) return false;
    return true;
  } else {
    return a == b;
  }
}
template <class T>
struct Coarsened {
  const T& left;
  int number;
  template <class U>
  friend constexpr bool operator==(const Coarsened& a, const U& b) {
    return either(a.number, a.left == b, alike(a.left, b));
  }
  template <class U>
  friend constexpr bool operator!=(const Coarsened& a, const U& b) {
    return either(a.number, a.left != b, !alike(a.left, b));
  }
};
template <class T>
constexpr Coarsened<T> operator<<(const T& left, Coarse coarse) {
  return {left, coarse.number};
}
constexpr Coarse coarse(int number) { return {number}; }

}  // namespace fb_mutation
