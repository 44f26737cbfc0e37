// The ways to one namespace: a controller each, with the ANA state of the namespace's group there.
#pragma once

#include <vector>

#include "model/host/controller.h"

namespace fb::host {

enum class PathPolicy : std::uint8_t {
  round_robin,  ///< in turn over the best paths
  queue_depth,  ///< the one of the best paths with the fewest commands
  numa          ///< one of the best paths as long as it is one: the nearest, where all are equally near
};

enum class PathState : std::uint8_t {
  optimized,
  non_optimized,
  change,  ///< ANA change: wait, at most ANATT
  inaccessible,
  down,  ///< the controller is being reset or connected again
  lost   ///< persistent loss, or the controller is leaving or gone
};

struct Path {
  Controller* controller = nullptr;
  std::uint32_t ana_group = 0;
  PathState state = PathState::down;
};

/// The state of a path, from its controller's.
PathState path_state(const Controller& controller, std::uint32_t ana_group);

class PathSet {
 public:
  explicit PathSet(PathPolicy policy) : policy_(policy) {}

  void add(Controller& controller, std::uint32_t ana_group);
  bool remove(const Controller& controller);
  /// Looks at every controller again. True when something changed.
  bool refresh();

  /// The path for the next command: optimized before non-optimized; never one of the others.
  /// `avoid` is taken only when there is no other. Null: no path now.
  Path* choose(const Controller* avoid = nullptr);
  /// Whether choose() would find one.
  bool usable() const;
  /// Whether waiting may help at all.
  bool hope() const;
  /// Whether a controller is being connected again: then its own limits bound the wait.
  bool any(PathState state) const;
  /// Longest ANATT of the paths.
  Duration transition_time() const;

  std::vector<Path>& all() { return paths_; }
  const std::vector<Path>& all() const { return paths_; }
  Path* find(const Controller& controller);

 private:
  PathPolicy policy_;
  std::vector<Path> paths_;
  std::size_t turn_ = 0;
};

}  // namespace fb::host
