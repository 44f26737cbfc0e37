// The reading side: a world asks at each decision point what happens to the thing that is there now.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/fault/schedule.h"

namespace fb {
class World;
}

namespace fb::fault {

/// A decision that was read and has taken effect.
struct Strike {
  Decision decision;
  Instant at;
};

class Points;

/// One decision point's place: counts what passes.
class Point {
 public:
  /// What is to happen to the next thing here; mostly nothing.
  std::span<const Decision> next();
  /// The decision has taken effect: it is kept, and stands in the trace. One that cannot be carried out where it
  /// stands (a digest that is not there) is not told of.
  void struck(const Decision& decision);

 private:
  friend class Points;
  Point(Points& points, std::vector<Decision> decisions) : points_(points), decisions_(std::move(decisions)) {}
  Points& points_;
  std::vector<Decision> decisions_;  // by ordinal
  std::size_t read_ = 0;
  std::uint64_t ordinal_ = 0;
};

class Points {
 public:
  Points(World& world, const Schedule& schedule);
  /// Asked once for each place, when the world first comes to it: what is decided there, by ordinal.
  using Decide = std::function<std::vector<Decision>(const Place&)>;
  Points(World& world, Decide decide);
  Points(const Points&) = delete;
  Points& operator=(const Points&) = delete;

  /// The point stays valid as long as this object.
  Point& at(const Place& place);
  /// From now on nothing strikes any more.
  void disarm() { armed_ = false; }
  bool armed() const { return armed_; }
  /// In the order in which they struck.
  const std::vector<Strike>& strikes() const { return strikes_; }

 private:
  friend class Point;
  World& world_;
  bool armed_ = true;
  Decide decide_;
  std::map<Place, std::unique_ptr<Point>> points_;
  std::vector<Strike> strikes_;
};

}  // namespace fb::fault
