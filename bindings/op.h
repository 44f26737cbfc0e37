// Op<T> as Python sees it: a value that will be there, waited for with the interpreter's lock free.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "bindings/box.h"
#include "sim/core/op.h"

namespace fb::python {

/// The operation that somebody waits for came to no value.
class WaitError : public std::runtime_error {
 public:
  WaitError(WaitEnd end, const std::string& text) : std::runtime_error(text), end_(end) {}
  WaitEnd end() const { return end_; }

 private:
  WaitEnd end_;
};

class PyOp;

/// The operations of a world whose value nobody has taken yet, with the line of the script that started each: what the end
/// of a test looks through.
class OpWatch {
 public:
  /// Frames of sources in `package` are not the script's.
  explicit OpWatch(std::string package) : package_(std::move(package)) {}
  /// A number for the operation that begins.
  std::uint64_t begin(PyOp& op);
  /// Its value, or why there is none, reached the script.
  void taken(std::uint64_t number) { entries_.erase(number); }
  /// The script waited for it, or looked whether it is over.
  void waited(std::uint64_t number);
  /// Its Python object is gone. `settled` and `outcome` (which may raise) stand for it; null where it cannot be asked any more.
  void left(std::uint64_t number, std::function<bool()> settled, std::function<py::object()> outcome);
  /// (file, line, what, error or None, waited) of each, in the order of their start.
  py::list report();

 private:
  struct Entry {
    PyOp* op = nullptr;
    std::function<bool()> settled;
    std::function<py::object()> outcome;
    std::string what, file;
    int line = 0;
    bool waited = false;
  };
  std::string error_of(const Entry& entry);

  std::string package_;
  std::uint64_t count_ = 0;
  std::map<std::uint64_t, Entry> entries_;
};

class PyOp : private Told {
 public:
  explicit PyOp(std::shared_ptr<Box> box) : box_(std::move(box)) {
    box_->tell(*this);
    if (OpWatch* const watch = box_->op_watch()) watched_ = watch->begin(*this);
  }
  ~PyOp() override { box_->forget(*this); }

  virtual bool settled() const = 0;
  virtual std::optional<WaitEnd> ended() const = 0;
  virtual const std::string& what() const = 0;
  virtual void give_up() = 0;
  /// It has a value. What the end of the world did to it does not count.
  bool done() const { return closed_ ? done_before_ : settled(); }
  /// Will never change any more.
  bool over() const { return closed_ || finished(); }

  /// The value; throws WaitError. `limit` without: the world's patience.
  py::object wait(std::optional<Duration> limit);
  /// Of one that is over: its value, or WaitError.
  py::object result();
  /// The value goes through `call` before anybody gets it; may raise.
  void then(py::function call) { calls_.push_back(std::move(call)); }

  const std::shared_ptr<Box>& box() const { return box_; }

  /// For the watch: the script has its value, or has looked whether it is over.
  void taken();
  void waited();

 protected:
  /// The watch that asks for what becomes of it once it is gone; null: none does.
  OpWatch* watch() const { return watched_ == 0 ? nullptr : box_->op_watch(); }
  std::uint64_t watched() const { return watched_; }
  const std::vector<py::function>& calls() const { return calls_; }

  virtual py::object value() const = 0;
  /// settled() or ended(), asked after each event of a run.
  virtual bool finished() const = 0;

  std::shared_ptr<Box> box_;

 private:
  void on_closing() override {
    closed_ = true;
    done_before_ = settled();
  }
  bool closed_ = false;
  bool done_before_ = false;
  std::uint64_t watched_ = 0;
  std::vector<py::function> calls_;
  py::object value_;
  std::optional<Raised> raised_;
};

[[noreturn]] void throw_wait_error(WaitEnd end, const std::string& what, World* world, std::optional<Duration> limit);

/// `convert` makes a Python object of the value.
template <class T, class Convert>
class OpOf final : public PyOp {
 public:
  OpOf(std::shared_ptr<Box> box, Op<T> op, Convert convert, bool may_linger)
      : PyOp(std::move(box)), op_(std::make_shared<Op<T>>(std::move(op))), convert_(std::move(convert)), may_linger_(may_linger) {}
  ~OpOf() override {
    if (OpWatch* const asks = watch()) leave(*asks);
    box_->dispose(std::move(op_));
  }

  bool settled() const override { return op_->settled(); }
  std::optional<WaitEnd> ended() const override { return op_->ended(); }
  const std::string& what() const override { return op_->what(); }
  void give_up() override {
    box_->check();
    op_->cancel();
  }

 private:
  py::object value() const override { return convert_(op_->value()); }
  bool finished() const override { return op_->settled() || op_->ended().has_value(); }
  void leave(OpWatch& watch) {
    // Who settles some operations looks whether they are held, and gives the value to the next otherwise.
    if (!may_linger_ && !op_->settled()) return watch.left(watched(), {}, {});
    watch.left(
        watched(), [op = op_] { return op->settled(); },
        [op = op_, convert = std::move(convert_), then = calls()]() -> py::object {
          py::object made = convert(op->value());
          for (const py::function& call : then) made = call(made);
          return made;
        });
  }

  std::shared_ptr<Op<T>> op_;
  Convert convert_;
  bool may_linger_;
};

template <class T, class Convert>
std::unique_ptr<PyOp> make_py_op(const std::shared_ptr<Box>& box, Op<T> op, Convert convert, bool may_linger = true) {
  return std::make_unique<OpOf<T, Convert>>(box, std::move(op), std::move(convert), may_linger);
}

/// A Python object that C++ holds for a while, from whatever thread it lets go.
std::shared_ptr<PyObject> hold(py::object object);

/// Memory of a Python object, for as long as the operation runs.
struct Memory {
  MutableBytes bytes;
  std::shared_ptr<Py_buffer> view;
};
/// Throws TypeError and ValueError that name `what`.
Memory memory_of(const py::handle& object, bool writable, const char* what);

/// The operation lets go of `what` when it settles.
template <class T, class Thing>
void keep_until_settled(Op<T>& op, Thing what) {
  if (!op.settled()) op.on_settled([what = std::move(what)](const T&) { (void)what; });
}

void bind_op(py::module_& m);

}  // namespace fb::python

/// Python knows the base alone: no looking for the type of each operation, which is on the path of every command.
template <>
struct pybind11::polymorphic_type_hook<fb::python::PyOp> {
  static const void* get(const fb::python::PyOp* op, const std::type_info*& type) {
    type = nullptr;
    return op;
  }
};
