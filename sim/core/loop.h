// The loop: one thread, one total order of events by (deadline in nanoseconds, sequence number).
// VirtualLoop jumps to the next event; RealLoop runs the same engines on the monotonic clock.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/rng.h"
#include "base/time.h"

namespace fb {

class Loop;

/// Something that will happen. Intrusive: scheduling allocates nothing (beyond the heap's growth).
/// An event is on at most one loop; destroying it takes it off.
class Event {
 public:
  /// `kind` names the event in the digest and in deadlock reports; it must outlive the event.
  explicit Event(std::string_view kind) : kind_(kind), kind_hash_(hash_name(kind)) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  virtual ~Event();

  bool scheduled() const { return loop_ != nullptr; }
  /// When it will fire; never() when it is not scheduled.
  Instant deadline() const;
  std::string_view kind() const { return kind_; }

 protected:
  virtual void fire() = 0;

 private:
  friend class Loop;
  Loop* loop_ = nullptr;
  std::size_t heap_index_ = 0;
  std::string_view kind_;
  std::uint64_t kind_hash_;
};

/// An event that calls a member function: `Timer<Engine, &Engine::on_timer> timer_{"rc.retry",
/// *this};`
template <class Owner, void (Owner::*Method)()>
class Timer final : public Event {
 public:
  Timer(std::string_view kind, Owner& owner) : Event(kind), owner_(owner) {}

 private:
  void fire() override { (owner_.*Method)(); }
  Owner& owner_;
};

class Loop {
 public:
  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  virtual ~Loop();

  virtual Instant now() const = 0;
  virtual bool is_virtual() const = 0;

  /// Schedules, or moves, `event` to `when` (not before now).
  void schedule(Event& event, Instant when);
  void schedule_after(Event& event, Duration delay) { schedule(event, now() + delay); }
  void cancel(Event& event);

  enum class Step {
    ran,   ///< an event was run (or, on a real loop, input was looked for)
    idle,  ///< virtual only: nothing can ever happen again
    limit  ///< the next event lies beyond the limit; now() has advanced to the limit
  };
  /// Runs the next event that is due at or before `limit`. Not to be called from inside an event.
  virtual Step step(Instant limit) = 0;
  /// Virtual: nothing happens until then, and now() says so. A real clock moves by itself.
  virtual void pass_time(Instant until) { (void)until; }

  /// Folds a word into the digest of this run: 64 bits that two equal runs share.
  void fold(std::uint64_t word) { digest_ = mix64(digest_ ^ word) + word; }
  std::uint64_t digest() const { return digest_; }
  std::uint64_t events_run() const { return events_run_; }
  std::size_t events_pending() const { return heap_.size(); }
  /// An event is being run: the loop must not be stepped.
  bool inside_event() const { return inside_event_; }

 protected:
  Instant next_deadline() const { return heap_.empty() ? Instant::never() : Instant::at_ns(heap_[0].deadline_ns); }
  /// Takes the first event off the heap and runs it.
  void run_first();

 private:
  friend class Event;
  struct Entry {
    std::int64_t deadline_ns;
    std::uint64_t sequence;
    Event* event;
    bool before(const Entry& other) const {
      return deadline_ns != other.deadline_ns ? deadline_ns < other.deadline_ns : sequence < other.sequence;
    }
  };
  void place(std::size_t index, const Entry& entry);
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);

  std::vector<Entry> heap_;
  std::uint64_t sequence_ = 0;
  std::uint64_t digest_ = 0;
  std::uint64_t events_run_ = 0;
  bool inside_event_ = false;
};

/// Virtual time: step() jumps to the next event.
class VirtualLoop final : public Loop {
 public:
  Instant now() const override { return now_; }
  bool is_virtual() const override { return true; }
  Step step(Instant limit) override;
  void pass_time(Instant until) override;

 private:
  Instant now_;
};

/// Told that a file descriptor has become readable (or writable, when asked for).
class FdHandler {
 public:
  virtual void on_readable() = 0;
  virtual void on_writable() {}
  /// True when on_readable() may be called at any time, neither blocks nor costs much when there is
  /// nothing: a busy-polling loop then asks the handler instead of the kernel.
  virtual bool pollable() const { return false; }
  /// on_readable() of a pollable handler; false when there was nothing.
  virtual bool poll() {
    on_readable();
    return true;
  }

 protected:
  ~FdHandler() = default;
};

/// Called at the end of the turn of a real loop in which it asked for it: input has been given out and
/// what it made due has run, so that everything that is to be sent is together.
class TurnEndHandler {
 public:
  virtual void on_turn_end() = 0;

 protected:
  ~TurnEndHandler() = default;
};

/// Real time on the monotonic clock, with epoll. now() is read once a step. With busy polling the
/// loop never sleeps, and looks for input at every step: it asks the few pollable handlers to which
/// something has come lately, and now and then the kernel about all descriptors.
class RealLoop final : public Loop {
 public:
  explicit RealLoop(bool busy_poll = false);
  ~RealLoop() override;

  Instant now() const override { return now_; }
  bool is_virtual() const override { return false; }
  Step step(Instant limit) override;

  /// Again for the same descriptor: changes what is watched for. Errors and hang-ups are always told
  /// of, as on_readable().
  void watch(int fd, FdHandler& handler, bool writable = false, bool readable = true);
  void unwatch(int fd);
  /// Calls the handler once, at the end of this turn or of the next.
  void at_turn_end(TurnEndHandler& handler) { turn_end_.push_back(&handler); }
  void cancel_turn_end(TurnEndHandler& handler) { std::erase(turn_end_, &handler); }
  void set_busy_poll(bool on) { busy_poll_ = on; }
  /// Makes a sleeping or later step return soon; callable from a signal handler.
  void wake();

 private:
  void refresh_now();
  bool poll_descriptors(int timeout_ms);
  bool poll_handlers();
  void heat(int fd);
  void cool(int fd);
  bool finish_turn();

  Instant now_;
  std::int64_t start_ns_ = 0;
  int epoll_fd_ = -1;
  int wake_fd_ = -1;
  std::vector<FdHandler*> handlers_;  // by descriptor
  struct Hot {
    int fd;
    unsigned idle;  // polls in a row that found nothing
  };
  std::vector<Hot> hot_;  // pollable, and polled
  unsigned crowded_ = 0;  // steps that ask the kernel, since more were busy than are polled
  std::vector<TurnEndHandler*> turn_end_;
  unsigned polls_ = 0;
  bool busy_poll_;
};

}  // namespace fb
