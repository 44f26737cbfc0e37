// What stands between Python and a world: who may touch it and when, what it ends with, and what has to outlive it.
//
// Everything that Python holds of a world holds its Box. A box is closed once: its parts go in the reverse order of
// their making, then the world; after that every use is the exception Closed. While a thread runs the world without
// the interpreter's lock, the others may not touch it.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bindings/errors.h"
#include "sim/core/world.h"

namespace fb::python {

namespace py = pybind11;

/// The world, or what was asked of it, is no more.
class ClosedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
/// A callback raised earlier, or the bench broke: this world does not go on.
class EndedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
/// The world is being run: by another thread, or by who is called back now.
class BusyError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Something that Python holds and that has to know when the world is closed: a link of the box's list.
class Told {
 public:
  Told() = default;
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
  /// The world is about to be closed.
  virtual void on_closing() = 0;

 protected:
  virtual ~Told() = default;

 private:
  friend class Box;
  Told* previous_ = nullptr;
  Told* next_ = nullptr;
};

class OpWatch;

class Box : public std::enable_shared_from_this<Box> {
 public:
  Box(std::uint64_t seed, bool real, bool busy_poll);
  ~Box();
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;

  /// The world, for who may touch it now; throws one of the three above otherwise.
  World& world();
  /// The same, nothing done with it.
  void check() { world(); }
  /// For who only looks: at a world that does not go on as well.
  World& look();
  bool closed() const { return world_ == nullptr; }
  bool closing() const { return closing_; }

  /// Keeps a part until the box is closed; parts go in the reverse order.
  template <class T>
  T& keep(std::unique_ptr<T> part) {
    return keep_in(parts_, std::move(part));
  }
  /// The same for what others stand on, whenever they came: networks, machines. It goes after all of keep().
  template <class T>
  T& keep_below(std::unique_ptr<T> part) {
    return keep_in(foundations_, std::move(part));
  }
  void close();

  /// Runs until `done`, the end of time, or `until`. Nothing: it is done. The interpreter's lock is free meanwhile, and
  /// signals are looked at between; an exception of a callback is thrown here.
  std::optional<WaitEnd> run(const std::function<bool()>& done, Instant until);
  /// Calls what steps the world by itself: in a thread of its own, with the lock free, while this one looks at signals.
  void run_blocking(const std::function<void()>& call);
  /// The instant after a span, for run().
  Instant after(std::optional<Duration> span);

  /// Does it at once; from inside a callback as an event of its own, for the models do not expect to be changed in the
  /// middle of what they do.
  void change(std::function<void()> what);

  /// Inside a callback: its exception ends the world at the end of this event.
  void fail(py::error_already_set& error);
  /// Whether a hook is to be asked at all.
  bool callable() const { return !closing_ && !failure_; }
  /// While Python is called back.
  class Calling {
   public:
    explicit Calling(Box& box) : box_(box) { ++box_.calling_; }
    ~Calling() { --box_.calling_; }
    Calling(const Calling&) = delete;
    Calling& operator=(const Calling&) = delete;

   private:
    Box& box_;
  };

  void tell(Told& told);
  void forget(Told& told);

  /// Null unless a test watches its operations.
  OpWatch* op_watch() { return op_watch_.get(); }
  void watch_ops(std::shared_ptr<OpWatch> watch) { op_watch_ = std::move(watch); }

  /// Drops something that may reach into the world: now, or when nobody runs it.
  void dispose(std::shared_ptr<void> thing);

 private:
  class Running;
  class Changes;
  using Parts = std::vector<std::shared_ptr<void>>;
  template <class T>
  static T& keep_in(Parts& parts, std::unique_ptr<T> part) {
    T& kept = *part;
    parts.push_back(std::shared_ptr<void>(std::move(part)));
    return kept;
  }
  void rethrow();

  std::unique_ptr<World> world_;
  Told* first_told_ = nullptr;
  Parts foundations_;
  Parts parts_;
  Parts disposed_;
  std::optional<Raised> failure_;
  bool raised_ = false;  ///< somebody has got the failure; it may come from outside of any run
  std::string ended_;    ///< why the world does not go on
  std::unique_ptr<Changes> changes_;
  std::shared_ptr<OpWatch> op_watch_;
  unsigned calling_ = 0;
  bool closing_ = false;
  bool running_ = false;
  std::thread::id runner_;
};

/// Something of a world that Python holds; it lives as long as the box is open.
template <class T>
struct Held {
  std::shared_ptr<Box> box;
  T* thing = nullptr;

  T& operator*() const {
    box->check();
    return *thing;
  }
  T* operator->() const { return &**this; }
  /// Only to be looked at; see Box::look().
  T& look() const {
    box->look();
    return *thing;
  }
  bool operator==(const Held& other) const { return thing == other.thing; }
};

/// Calls into Python from inside the world: with the lock, and with what it raises kept for the one who runs it.
template <class Call>
void call_back(Box& box, Call&& call) {
  if (!box.callable()) return;
  const py::gil_scoped_acquire lock;
  const Box::Calling calling(box);
  try {
    call();
  } catch (py::error_already_set& error) {
    box.fail(error);
  } catch (const py::cast_error& wrong) {
    PyErr_SetString(PyExc_TypeError, wrong.what());
    py::error_already_set error;
    box.fail(error);
  } catch (const py::builtin_exception& wrong) {
    wrong.set_error();
    py::error_already_set error;
    box.fail(error);
  }
}

}  // namespace fb::python
