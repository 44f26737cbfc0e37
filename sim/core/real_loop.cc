// The turns of a loop in real time. What asks the system is in real_loop_linux.cc and real_loop_windows.cc.
#include <algorithm>

#include "sim/core/loop.h"

namespace fb {

namespace {

// Busy polling looks at the descriptors every time; a sleep is cut into pieces of this length so
// that a limit is never overslept by more.
constexpr std::int64_t kSleepMax_ms = 1000;

// With more busy descriptors than this, one question to the kernel is cheaper: then it is asked so many
// times before handlers are polled again.
constexpr std::size_t kHotMax = 2;
constexpr unsigned kCrowdedSteps = 128;
// One of several handlers that is polled in vain so often is left to the kernel's next report: each
// question costs the others a system call.
constexpr unsigned kIdleMax = 256;
// While handlers are polled, every so many times the kernel is asked instead.
constexpr unsigned kPollsOfHandlers = 16;
// Due events that run before input is looked for again, at most: input is never starved.
constexpr std::size_t kEventsOfTurn = 64;

}  // namespace

// Something has come to a pollable descriptor.
void RealLoop::heat(int fd) {
  for (Hot& hot : hot_) {
    if (hot.fd != fd) continue;
    hot.idle = 0;
    return;
  }
  if (hot_.size() < kHotMax) {
    hot_.push_back({fd, 0});
  } else {
    crowded_ = kCrowdedSteps;
  }
}

void RealLoop::cool(int fd) {
  std::erase_if(hot_, [fd](const Hot& hot) { return hot.fd == fd; });
}

// Asks the hot handlers themselves, which saves the kernel's report that they are readable. False when it
// is time to ask the kernel, about the other descriptors too.
bool RealLoop::poll_handlers() {
  if (!busy_poll_ || hot_.empty()) return false;
  if (crowded_ > 0) {
    --crowded_;
    return false;
  }
  if (++polls_ % kPollsOfHandlers == 0) return false;
  for (std::size_t i = 0; i < hot_.size();) {
    const int fd = hot_[i].fd;
    const bool found = handlers_[static_cast<std::size_t>(fd)]->poll();
    if (i >= hot_.size() || hot_[i].fd != fd) continue;  // it has cooled
    Hot& hot = hot_[i];
    hot.idle = found ? 0 : hot.idle + 1;
    if (hot.idle >= kIdleMax && hot_.size() > 1) {
      cool(fd);
    } else {
      ++i;
    }
  }
  return true;
}

// Runs what is due, oldest first, with what that makes due, and then what was put off to the end of the
// turn. True when there was anything.
bool RealLoop::finish_turn() {
  std::size_t left = std::max(events_pending(), kEventsOfTurn);
  bool any = !turn_end_.empty();
  while (left > 0 && next_deadline() <= now_) {
    run_first();
    any = true;
    --left;
  }
  while (!turn_end_.empty()) {
    TurnEndHandler* const handler = turn_end_.back();
    turn_end_.pop_back();
    handler->on_turn_end();
  }
  return any;
}

Loop::Step RealLoop::step(Instant limit) {
  BENCH_ASSERT(!inside_event(), "the loop is not pumped from inside an event");
  refresh_now();
  // What was started from outside the loop, and timers.
  const bool busy = finish_turn();
  std::int64_t sleep_ms = 0;
  if (!busy && !busy_poll_ && now_ < limit) {
    // Cut before it is rounded up: "never" has no room for that.
    const Duration until = std::min(std::min(next_deadline(), limit) - now_, Duration::ms(kSleepMax_ms));
    sleep_ms = std::max<std::int64_t>((until.count_ns() + 999'999) / 1'000'000, 0);
  }
  const bool input = poll_descriptors(static_cast<int>(sleep_ms));
  if (input) finish_turn();
  if (busy || now_ < limit) return Step::ran;
  // Handlers that are polled do not say whether they found anything: the limit then stands.
  return input && !busy_poll_ ? Step::ran : Step::limit;
}

}  // namespace fb
