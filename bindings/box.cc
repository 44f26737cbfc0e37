#include "bindings/box.h"

#include <chrono>
#include <future>

namespace fb::python {

namespace {

/// Steps between two looks at signals: less than a tenth of a second of the busiest world.
constexpr unsigned kSteps = 2048;
/// And so long at most on a real loop, which sleeps.
constexpr Duration kSleep = Duration::ms(50);

}  // namespace

/// One thread at a time runs a world, and not from inside itself.
class Box::Running {
 public:
  explicit Running(Box& box) : box_(box) {
    box_.check();
    if (box_.running_) throw BusyError("the world cannot be run from inside a callback: start what you want, and wait outside");
    box_.running_ = true;
    box_.runner_ = std::this_thread::get_id();
  }
  ~Running() {
    box_.running_ = false;
    box_.disposed_.clear();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Box& box_;
};

/// What callbacks have asked for, in order, in an event at the same time.
class Box::Changes final : public Event {
 public:
  explicit Changes(World& world) : Event("python.change"), world_(world) {}
  void add(std::function<void()> what) {
    waiting_.push_back(std::move(what));
    world_.loop().schedule_after(*this, {});
  }

 private:
  void fire() override {
    for (const auto& what : std::exchange(waiting_, {})) what();
  }
  World& world_;
  std::vector<std::function<void()>> waiting_;
};

Box::~Box() { close(); }

void Box::change(std::function<void()> what) {
  if (calling_ == 0) return what();
  if (changes_ == nullptr) changes_ = std::make_unique<Changes>(world());
  changes_->add(std::move(what));
}

Box::Box(std::uint64_t seed, bool real, bool busy_poll) : world_(real ? World::make_real(seed, busy_poll) : World::make_virtual(seed)) {}

World& Box::look() {
  if (world_ == nullptr || closing_) throw ClosedError("the world is closed");
  if (running_ && runner_ != std::this_thread::get_id()) throw BusyError("another thread is running this world");
  return *world_;
}

World& Box::world() {
  look();
  if (failure_ && !raised_ && !running_) rethrow();
  if (!ended_.empty()) throw EndedError("the world has ended: " + ended_);
  return *world_;
}

void Box::close() {
  if (world_ == nullptr) return;
  if (running_) throw BusyError("the world cannot be closed while it runs");
  closing_ = true;
  op_watch_.reset();
  for (Told* told = first_told_; told != nullptr; told = told->next_) told->on_closing();
  while (!parts_.empty()) parts_.pop_back();
  disposed_.clear();
  while (!foundations_.empty()) foundations_.pop_back();
  changes_.reset();
  world_.reset();
  failure_.reset();
}

Instant Box::after(std::optional<Duration> span) { return world().now() + span.value_or(world().patience()); }

std::optional<WaitEnd> Box::run(const std::function<bool()>& done, Instant until) {
  const auto self = shared_from_this();  // nobody ends it meanwhile
  const Running running(*this);
  World& world = *world_;
  while (!done()) {
    Loop::Step step = Loop::Step::ran;
    bool finished = false;
    try {
      const py::gil_scoped_release free;
      const bool real = world.real_loop() != nullptr;
      const Instant look = world.now() + kSleep;
      for (unsigned n = 0; n < kSteps && step == Loop::Step::ran && !finished && !failure_; ++n) {
        const Instant limit = real ? std::min(until, look) : until;
        step = world.step_towards(limit);
        finished = done();
        if (step == Loop::Step::limit && limit < until) step = Loop::Step::ran;
        if (real && world.now() >= look) break;
      }
    } catch (const WaitFailure&) {
      throw;
    } catch (const std::exception& broken) {
      ended_ = broken.what();
      throw;
    }
    if (failure_) rethrow();
    if (finished) return std::nullopt;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (step == Loop::Step::idle) return WaitEnd::deadlock;
    if (step == Loop::Step::limit) return WaitEnd::timed_out;
  }
  return std::nullopt;
}

void Box::run_blocking(const std::function<void()>& call) {
  const auto self = shared_from_this();
  const Running running(*this);
  auto done = std::async(std::launch::async, [&] {
    runner_ = std::this_thread::get_id();
    call();
  });
  bool interrupted = false;
  for (;;) {
    std::future_status status;
    {
      const py::gil_scoped_release free;
      status = done.wait_for(std::chrono::milliseconds(20));
    }
    if (status == std::future_status::ready) break;
    if (!interrupted && PyErr_CheckSignals() != 0) {
      interrupted = true;
      world_->interrupt();
    }
  }
  try {
    done.get();
  } catch (const WaitFailure&) {
    if (!interrupted) throw;
  } catch (const AssertionFailure& broken) {
    ended_ = broken.what();
    throw;
  }
  if (interrupted) throw py::error_already_set();
  if (failure_) rethrow();
}

void Box::fail(py::error_already_set& error) {
  if (failure_) return;
  ended_ = std::string("a callback raised ") + error.what();
  ended_ = ended_.substr(0, ended_.find('\n'));
  failure_.emplace(error);
}

void Box::rethrow() {
  raised_ = true;
  const Raised failure = *failure_;
  failure.again();
}

void Box::tell(Told& told) {
  told.next_ = first_told_;
  if (first_told_ != nullptr) first_told_->previous_ = &told;
  first_told_ = &told;
}

void Box::forget(Told& told) {
  (told.previous_ != nullptr ? told.previous_->next_ : first_told_) = told.next_;
  if (told.next_ != nullptr) told.next_->previous_ = told.previous_;
}

void Box::dispose(std::shared_ptr<void> thing) {
  if (running_ && runner_ != std::this_thread::get_id()) disposed_.push_back(std::move(thing));
}

}  // namespace fb::python
