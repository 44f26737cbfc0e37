// How long a run waits for a real product that does not answer: a broken one costs a bounded time. In virtual time waits cost
// nothing, and nothing here has an effect.
#pragma once

#include <string>

#include "sim/core/world.h"

namespace fb::conformance {

/// Waits of one case for an answer. The trace of its world counts the seconds that were waited in vain.
namespace waits {

/// A shorter wait is not for an answer, but a look for what must not come.
inline constexpr Duration kCounted = Duration::s(5);
/// After so much in vain the rest of a case is not tried: it was going to show the same again and again.
inline constexpr Duration kOfACase = Duration::s(20);

Duration in_vain(World& world);
void ran_out(World& world, Duration waited);
/// The run grants less than the usual patience; an answer that does not come in that says nothing about the product.
bool shortened(World& world);
std::string why_shortened(World& world);

/// CannotArrange when the case has waited enough.
void require_left(World& world);
/// What is left of `limit` in this run.
Duration granted(World& world, Duration limit);
/// A wait of `granted` ended without its answer; CannotArrange when it was a shortened one.
void note(World& world, Duration granted);

/// World::run_until() for an answer: false when it does not come within `limit`.
template <class Done>
bool until(World& world, Done&& done, Duration limit) {
  if (world.real_loop() == nullptr || limit < kCounted || done()) return world.run_until(done, limit);
  require_left(world);
  const Duration longest = granted(world, limit);
  if (world.run_until(done, longest)) return true;
  note(world, longest);
  return false;
}

}  // namespace waits

/// Of one run against one real product.
class WaitBudget {
 public:
  /// Before a case: it gets the patience that is left.
  void begin(World& world) const;
  /// After it.
  void end(World& world, bool passed);
  /// For the report; empty unless waits were shortened.
  std::string remark() const;

 private:
  Duration patience() const;
  Duration spent_;
  unsigned in_a_row_ = 0;   ///< cases that waited in vain, since one passed
  unsigned shortened_ = 0;  ///< cases with less than the usual patience that waited in vain
};

}  // namespace fb::conformance
