// What a driver has changed, and how it becomes what it was.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fb::drive {

class Undo {
 public:
  /// Of each thing the first counts: it is about how the thing was before the session.
  void once(const std::string& thing, std::function<void()> back) {
    if (things_.insert(thing).second) steps_.emplace_back(std::move(back));
  }
  /// Whether once() has seen the thing: then nobody need look how it was.
  bool knows(const std::string& thing) const { return things_.contains(thing); }

  /// The latest first. What went wrong, in one line; the other steps are done all the same.
  std::string run() {
    std::string wrong;
    while (!steps_.empty()) {
      const std::function<void()> step = std::move(steps_.back());
      steps_.pop_back();
      try {
        step();
      } catch (const std::exception& problem) {
        wrong += (wrong.empty() ? "" : "; ") + std::string(problem.what());
      }
    }
    things_.clear();
    return wrong;
  }

 private:
  std::set<std::string> things_;
  std::vector<std::function<void()>> steps_;
};

}  // namespace fb::drive
