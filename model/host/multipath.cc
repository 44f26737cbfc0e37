#include "model/host/multipath.h"

#include <algorithm>

namespace fb::host {

PathState path_state(const Controller& controller, std::uint32_t ana_group) {
  switch (controller.state()) {
    case ControllerState::live:
      break;
    case ControllerState::shutting_down:
    case ControllerState::closing:
    case ControllerState::gone:
      return PathState::lost;
    default:
      return PathState::down;
  }
  switch (controller.ana_state(ana_group)) {
    case nvme::AnaState::optimized:
      return PathState::optimized;
    case nvme::AnaState::non_optimized:
      return PathState::non_optimized;
    case nvme::AnaState::change:
      return PathState::change;
    case nvme::AnaState::persistent_loss:
      return PathState::lost;
    default:
      return PathState::inaccessible;
  }
}

Path* PathSet::find(const Controller& controller) {
  for (Path& path : paths_) {
    if (path.controller == &controller) return &path;
  }
  return nullptr;
}

void PathSet::add(Controller& controller, std::uint32_t ana_group) {
  if (Path* const known = find(controller)) {
    known->ana_group = ana_group;
    known->state = path_state(controller, ana_group);
    return;
  }
  paths_.push_back({&controller, ana_group, path_state(controller, ana_group)});
}

bool PathSet::remove(const Controller& controller) {
  return std::erase_if(paths_, [&](const Path& path) { return path.controller == &controller; }) > 0;
}

bool PathSet::refresh() {
  bool changed = false;
  for (Path& path : paths_) {
    const PathState now = path_state(*path.controller, path.ana_group);
    changed = changed || now != path.state;
    path.state = now;
  }
  return changed;
}

Path* PathSet::choose(const Controller* avoid) {
  if (paths_.size() == 1) {
    Path& only = paths_.front();
    return only.state <= PathState::non_optimized ? &only : nullptr;
  }
  Path* best = nullptr;
  Path* avoided = nullptr;
  std::size_t best_at = 0;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const std::size_t step = policy_ == PathPolicy::numa ? 0 : 1;
    const std::size_t at = (turn_ + step + i) % paths_.size();
    Path& path = paths_[at];
    if (path.state > PathState::non_optimized) continue;
    if (path.controller == avoid) {
      avoided = &path;
      continue;
    }
    const bool better =
        best == nullptr || path.state < best->state ||
        (policy_ == PathPolicy::queue_depth && path.state == best->state && path.controller->io_load() < best->controller->io_load());
    if (better) {
      best = &path;
      best_at = at;
    }
  }
  if (best == nullptr) return avoided;
  turn_ = best_at;
  return best;
}

bool PathSet::usable() const { return any(PathState::optimized) || any(PathState::non_optimized); }

bool PathSet::any(PathState state) const {
  return std::any_of(paths_.begin(), paths_.end(), [state](const Path& path) { return path.state == state; });
}

bool PathSet::hope() const {
  return std::any_of(paths_.begin(), paths_.end(), [](const Path& path) { return path.state != PathState::lost; });
}

Duration PathSet::transition_time() const {
  Duration longest = Duration::s(1);
  for (const Path& path : paths_) {
    longest = std::max(longest, path.controller->facts().ana_transition);
  }
  return longest;
}

}  // namespace fb::host
