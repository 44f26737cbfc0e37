#include "bindings/op.h"

#include <frameobject.h>

#include <fmt/format.h>

#include "bindings/convert.h"

namespace fb::python {

void throw_wait_error(WaitEnd end, const std::string& what, World* world, std::optional<Duration> limit) {
  switch (end) {
    case WaitEnd::deadlock:
      throw WaitError(end, "deadlock: nothing can happen any more; " + (world != nullptr ? world->describe_pending() : what));
    case WaitEnd::timed_out:
      throw WaitError(end, fmt::format("no answer within {}: {}", to_string(limit.value_or(world->patience())), what));
    case WaitEnd::cancelled:
      throw WaitError(end, "cancelled: " + what);
    default:
      throw WaitError(end, "abandoned: " + what);
  }
}

namespace {

/// The file and line of the script that is running; nothing from inside a callback of the world.
std::pair<std::string, int> script_line(const std::string& package) {
  auto frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    auto* const raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
    const auto file = code.attr("co_filename").cast<std::string>();
    if (!file.starts_with(package)) return {file, PyFrame_GetLineNumber(raw)};
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  return {};
}

}  // namespace

std::uint64_t OpWatch::begin(PyOp& op) {
  auto [file, line] = script_line(package_);
  entries_[++count_] = {.op = &op, .settled = {}, .outcome = {}, .what = {}, .file = std::move(file), .line = line};
  return count_;
}

void OpWatch::waited(std::uint64_t number) {
  if (const auto found = entries_.find(number); found != entries_.end()) found->second.waited = true;
}

void OpWatch::left(std::uint64_t number, std::function<bool()> settled, std::function<py::object()> outcome) {
  const auto found = entries_.find(number);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.what = entry.op->what();
  entry.op = nullptr;
  entry.settled = std::move(settled);
  entry.outcome = std::move(outcome);
}

/// Empty: it went well, or is not over.
std::string OpWatch::error_of(const Entry& entry) {
  try {
    if (entry.op != nullptr && entry.op->done()) entry.op->result();
    if (entry.op == nullptr && entry.settled && entry.settled()) entry.outcome();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

py::list OpWatch::report() {
  py::list all;
  const auto left = std::exchange(entries_, {});
  for (const auto& [number, entry] : left) {
    const std::string what = entry.op != nullptr ? entry.op->what() : entry.what;
    const std::string error = error_of(entry);
    all.append(py::make_tuple(entry.file, entry.line, what, error.empty() ? py::object(py::none()) : py::str(error), entry.waited));
  }
  return all;
}

void PyOp::taken() {
  if (OpWatch* const asks = watch()) asks->taken(watched_);
}

void PyOp::waited() {
  if (OpWatch* const asks = watch()) asks->waited(watched_);
}

py::object PyOp::wait(std::optional<Duration> limit) {
  taken();
  if (!over()) {
    const auto end = box_->run([this] { return over(); }, box_->after(limit));
    if (end) throw_wait_error(*end, what(), &box_->world(), limit);
  }
  return result();
}

py::object PyOp::result() {
  if (over()) taken();
  if (value_) return value_;
  if (raised_) raised_->again();
  if (closed_ && !done_before_) throw ClosedError("the world was closed before this was done: " + what());
  if (const auto end = ended()) throw_wait_error(*end, what(), nullptr, {});
  if (!settled()) throw BusyError("not done yet: " + what());
  try {
    py::object made = value();
    for (const py::function& call : calls_) made = call(made);
    value_ = std::move(made);
  } catch (py::error_already_set& error) {
    raised_.emplace(error);
    throw;
  }
  return value_;
}

std::shared_ptr<PyObject> hold(py::object object) {
  return {object.release().ptr(), [](PyObject* held) {
            if (Py_IsInitialized() == 0) return;
            const py::gil_scoped_acquire lock;
            Py_DECREF(held);
          }};
}

Memory memory_of(const py::handle& object, bool writable, const char* what) {
  auto* view = new Py_buffer;
  if (PyObject_CheckBuffer(object.ptr()) == 0) {
    delete view;
    throw py::type_error(fmt::format("{}: bytes, or something with a buffer, are wanted, not {}", what, type_name(object)));
  }
  if (PyObject_GetBuffer(object.ptr(), view, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0) {
    delete view;
    PyErr_Clear();
    throw py::value_error(fmt::format("{}: the buffer must be contiguous{}", what, writable ? " and writable" : ""));
  }
  Memory memory;
  memory.bytes = {static_cast<std::uint8_t*>(view->buf), static_cast<std::size_t>(view->len)};
  memory.view = {view, [](Py_buffer* held) {
                   if (Py_IsInitialized() != 0) {
                     const py::gil_scoped_acquire lock;
                     PyBuffer_Release(held);
                   }
                   delete held;
                 }};
  return memory;
}

namespace {

/// What a value could be asked, and an operation cannot: it would be true, and equal to nothing, whatever the value is.
[[noreturn]] void no_value(const py::args&) { throw py::type_error("an operation, not its value: call .wait()"); }

}  // namespace

void bind_op(py::module_& m) {
  py::class_<PyOp> exposed(m, "Op",
                           "An operation that was started: a value that will be there. ``wait()`` for it, or ``await`` it in a scenario.");
  // In front of __eq__, which would take it away.
  exposed.def("__hash__", [](const PyOp& self) { return reinterpret_cast<std::uintptr_t>(&self); });
  for (const char* name :
       {"__bool__", "__len__",  "__iter__", "__contains__", "__getitem__", "__bytes__", "__int__",  "__float__", "__eq__",
        "__ne__",   "__lt__",   "__le__",   "__gt__",       "__ge__",      "__add__",   "__radd__", "__sub__",   "__rsub__",
        "__mul__",  "__rmul__", "__mod__",  "__and__",      "__or__",      "__xor__",   "__enter__"}) {
    exposed.def(name, [](const py::args& all) -> py::object { no_value(all); });
  }
  // What a value has, and an operation has not.
  exposed.def("__getattr__", [](const PyOp&, const std::string& name) -> py::object {
    throw py::attribute_error(fmt::format("an operation has no '{}'; if its value has one: call .wait() first", name));
  });
  exposed
      .def(
          "wait", [](PyOp& op, const py::object& limit) { return op.wait(optional_duration(limit, "limit")); },
          py::arg("limit") = py::none(),
          "Runs the world until it is over: its value, or why there is none. The limit is the world's patience "
          "otherwise.")
      .def("result", &PyOp::result, "The value of one that is over; Busy while it is not.")
      .def(
          "then",
          [](py::object self, py::function call) {
            self.cast<PyOp&>().then(std::move(call));
            return self;
          },
          py::arg("call"), "The value goes through `call` before anybody gets it. The operation itself, so that calls can be chained.")
      .def(
          "cancel",
          [](PyOp& op) {
            op.taken();
            op.give_up();
          },
          "Nobody waits for it any more: Cancelled. What it has set going goes on.")
      .def_property_readonly(
          "done",
          [](PyOp& op) {
            op.waited();
            return op.done();
          },
          "It has a value.")
      .def_property_readonly(
          "over",
          [](PyOp& op) {
            op.waited();
            return op.over();
          },
          "It will not change any more: it has a value, or never will.")
      .def_property_readonly("what", &PyOp::what, "In words; a deadlock names it so.")
      // An async scenario hands it to the world that runs it, and is gone on with when it is over.
      .def("__await__", [](py::object self) { return py::module_::import("fabricbench._tasks").attr("awaited")(std::move(self)); })
      .def("__repr__",
           [](const PyOp& op) {
             const char* state = op.done() ? "done" : op.over() ? "given up" : "pending";
             return fmt::format("<Op {}: {}>", state, op.what());
           })
      .def_static("__class_getitem__", [](const py::object&) { return py::type::of<PyOp>(); });
}

}  // namespace fb::python
