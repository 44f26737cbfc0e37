#include "conformance/runner/waits.h"

#include <algorithm>

#include "conformance/runner/check.h"

namespace fb::conformance {

namespace {

/// Counted once for each second.
constexpr std::string_view kSecond = "bench.waits.second-in-vain";
constexpr std::string_view kShort = "bench.waits.shortened";

/// Of a run: with the usual patience, and then with a second for each wait. Whatever a product needs to answer on a network is
/// below the last.
constexpr Duration kUsual = Duration::s(240);
constexpr Duration kMore = Duration::s(60);
constexpr Duration kSecondPatience = Duration::s(1);
constexpr Duration kLastPatience = Duration::ms(250);
/// A product that answers nothing at all is known for it sooner.
constexpr unsigned kInARow = 6;

}  // namespace

namespace waits {

Duration in_vain(World& world) { return Duration::s(static_cast<std::int64_t>(world.trace().marks(kSecond))); }

void ran_out(World& world, Duration waited) {
  if (world.real_loop() == nullptr) return;
  for (Duration left = waited; left > Duration(); left = left - Duration::s(1)) world.trace().mark(kSecond);
}

bool shortened(World& world) { return world.trace().marks(kShort) != 0; }

std::string why_shortened(World& world) {
  return "no answer within " + to_string(world.patience()) + ", and no longer wait was made: too many of this run ran out";
}

void require_left(World& world) {
  if (in_vain(world) < kOfACase) return;
  throw CannotArrange{"the rest of the case was not tried: " + to_string(in_vain(world)) + " of waits for an answer ran out in it"};
}

Duration granted(World& world, Duration limit) { return shortened(world) ? std::min(limit, world.patience()) : limit; }

void note(World& world, Duration granted) {
  ran_out(world, granted);
  if (shortened(world)) throw CannotArrange{why_shortened(world)};
}

}  // namespace waits

Duration WaitBudget::patience() const {
  if (spent_ >= kUsual + kMore || in_a_row_ >= 2 * kInARow) return kLastPatience;
  if (spent_ >= kUsual || in_a_row_ >= kInARow) return kSecondPatience;
  return Duration::forever();
}

void WaitBudget::begin(World& world) const {
  if (world.real_loop() == nullptr || patience() >= world.patience()) return;
  world.set_patience(patience());
  world.trace().mark(kShort);
}

void WaitBudget::end(World& world, bool passed) {
  const Duration waited = waits::in_vain(world);
  spent_ = spent_ + waited;
  if (passed) in_a_row_ = 0;
  if (waited == Duration()) return;
  if (!passed) ++in_a_row_;
  if (waits::shortened(world)) ++shortened_;
}

std::string WaitBudget::remark() const {
  if (shortened_ == 0) return "";
  return std::to_string(shortened_) + " cases are inconclusive because the product left too many waits of the run unanswered (" +
         to_string(spent_) + " in all): after that a wait was " + to_string(kSecondPatience) + " or less";
}

}  // namespace fb::conformance
