// A world: a loop, a trace, a random root. Passed by reference; no globals. A run is a pure
// function of what is built in it and of its seed.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/rng.h"
#include "sim/core/loop.h"
#include "sim/core/trace.h"

namespace fb {

/// Why a wait ended without its value.
enum class WaitEnd {
  deadlock,    ///< virtual time: nothing can ever happen again
  timed_out,   ///< patience ran out
  cancelled,   ///< cancel() was called
  abandoned,   ///< whoever was to settle it is gone
  interrupted  ///< the user asked to stop
};

/// Thrown by Op::wait(). what() names every pending operation in a deadlock.
class WaitFailure : public std::runtime_error {
 public:
  WaitFailure(WaitEnd end, const std::string& text) : std::runtime_error(text), end_(end) {}
  WaitEnd end() const { return end_; }

 private:
  WaitEnd end_;
};

/// An operation that somebody may wait for; kept in a list so that a deadlock names them all.
class PendingOperation {
 public:
  explicit PendingOperation(std::string what) : what_(std::move(what)) {}
  PendingOperation(const PendingOperation&) = delete;
  PendingOperation& operator=(const PendingOperation&) = delete;
  const std::string& what() const { return what_; }

 protected:
  ~PendingOperation();

 private:
  friend class World;
  std::string what_;
  class World* world_ = nullptr;
  PendingOperation* previous_ = nullptr;
  PendingOperation* next_ = nullptr;
};

class World {
 public:
  World(std::unique_ptr<Loop> loop, std::uint64_t seed);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  static std::unique_ptr<World> make_virtual(std::uint64_t seed);
  static std::unique_ptr<World> make_real(std::uint64_t seed, bool busy_poll = false);

  Loop& loop() { return *loop_; }
  /// The loop as a RealLoop, or nullptr in virtual time.
  RealLoop* real_loop() { return real_loop_; }
  Trace& trace() { return trace_; }
  Instant now() const { return loop_->now(); }
  std::uint64_t seed() const { return seed_; }
  /// The random stream that belongs to `name`. Asking twice gives the same draws twice.
  Rng stream(std::string_view name) const { return Rng(seed_, name); }
  std::uint64_t digest() const { return loop_->digest(); }

  /// Longest wait() of an operation: an hour of virtual, twenty seconds of real time.
  Duration patience() const { return patience_; }
  void set_patience(Duration patience) { patience_ = patience; }

  /// Runs everything due in the next `span`, and lets that time pass.
  void run_for(Duration span);
  /// Virtual time: runs until nothing can happen any more, at most until `limit` from now.
  /// True when the world fell silent.
  bool run_until_idle(Duration limit = Duration::s(3600));
  /// Steps until done() or `limit` from now.
  template <class Done>
  bool run_until(Done&& done, Duration limit) {
    const Instant end = now() + limit;
    while (!done()) {
      if (step_towards(end) != Loop::Step::ran) return done();
    }
    return true;
  }
  /// One step; throws WaitFailure(interrupted) after interrupt().
  Loop::Step step_towards(Instant limit);

  /// Makes the running or next step throw WaitFailure(interrupted). Safe in a signal handler.
  void interrupt();

  void add_pending(PendingOperation& operation);
  void remove_pending(PendingOperation& operation);
  /// "waiting for: a; b; c", oldest first.
  std::string describe_pending() const;

 private:
  std::unique_ptr<Loop> loop_;
  RealLoop* real_loop_ = nullptr;
  Trace trace_;
  std::uint64_t seed_;
  Duration patience_;
  PendingOperation* first_pending_ = nullptr;
  PendingOperation* last_pending_ = nullptr;
  volatile bool interrupted_ = false;
};

}  // namespace fb
