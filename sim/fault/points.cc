#include "sim/fault/points.h"

#include "sim/core/world.h"

namespace fb::fault {

std::span<const Decision> Point::next() {
  const std::uint64_t ordinal = ordinal_++;
  const std::size_t first = read_;
  while (read_ < decisions_.size() && decisions_[read_].ordinal == ordinal) ++read_;
  if (!points_.armed_ || first == read_) return {};
  return std::span<const Decision>(decisions_).subspan(first, read_ - first);
}

void Point::struck(const Decision& decision) {
  World& world = points_.world_;
  points_.strikes_.push_back({decision, world.now()});
  world.loop().fold(hash_name(name_of(decision.kind)) ^ decision.ordinal);
  if (!world.trace().hears_wire()) return;
  const std::string text = tell(decision);
  TraceEvent event;
  event.kind = TraceKind::fault;
  event.time = world.now();
  event.actor = "fault";
  event.label = "fault";
  event.text = text;
  world.trace().emit(event);
}

Points::Points(World& world, const Schedule& schedule)
    : Points(world, [schedule](const Place& place) {
        std::vector<Decision> here;
        for (const Decision& decision : schedule.decisions) {
          if (decision.place == place) here.push_back(decision);
        }
        return here;
      }) {}

Points::Points(World& world, Decide decide) : world_(world), decide_(std::move(decide)) {}

Point& Points::at(const Place& place) {
  std::unique_ptr<Point>& point = points_[place];
  if (point == nullptr) point.reset(new Point(*this, decide_(place)));
  return *point;
}

}  // namespace fb::fault
