// What goes wrong in a world: by a plan, or by hand.
#pragma once

#include <fabricbench/types.h>

#include <string>
#include <vector>

namespace fabricbench {

class FABRICBENCH_API Faults {
 public:
  struct FABRICBENCH_INSIDE Part;
  /// A plan in YAML, as for `fabricbench campaign --faults`. Before the first subsystem and host of the world.
  void plan(const std::string& yaml);
  /// Single faults, such as "packet:host->target#7 drop", in place of a plan.
  void schedule(const std::vector<std::string>& decisions);
  /// The next packets or TCP segments on the way from one machine to another are lost.
  void drop(const std::string& from, const std::string& to, std::uint64_t count = 1);
  /// Nothing passes on that way for so long.
  void cut(const std::string& from, const std::string& to, Duration span);
  void restore(const std::string& from, const std::string& to);
  /// How many were lost there by drop() and cut().
  std::uint64_t dropped(const std::string& from, const std::string& to) const;
  /// What has occurred by plan or schedule, a sentence each.
  std::vector<std::string> occurred() const;

 private:
  friend class World;
  explicit Faults(Part& part) : part_(&part) {}
  Part* part_;
};

}  // namespace fabricbench
