#include "bindings/errors.h"

#include "base/assert.h"
#include "base/result.h"
#include "bindings/box.h"
#include "bindings/op.h"

namespace fb::python {

namespace {

py::object error_class(const char* name) { return py::module_::import("fabricbench._errors").attr(name); }

void set_error(const char* name, const std::string& text) { PyErr_SetString(error_class(name).ptr(), text.c_str()); }

const char* class_of(WaitEnd end) {
  switch (end) {
    case WaitEnd::deadlock:
      return "Deadlock";
    case WaitEnd::timed_out:
      return "TimedOut";
    case WaitEnd::cancelled:
      return "Cancelled";
    default:
      return "Abandoned";
  }
}

}  // namespace

void throw_error(const char* name, const std::string& text, const py::dict& attributes) {
  const py::object type = error_class(name);
  const py::object error = type(text);
  for (const auto& [key, value] : attributes) py::setattr(error, key, value);
  PyErr_SetObject(type.ptr(), error.ptr());
  throw py::error_already_set();
}

Raised::Raised(const py::error_already_set& error) : value_(hold(error.value())) {
  if (error.trace()) PyException_SetTraceback(value_.get(), error.trace().ptr());
}

void Raised::again() const {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value_.get())), value_.get());
  throw py::error_already_set();
}

void check_status(nvme::Status status, const std::string& what) {
  if (status.ok()) return;
  py::dict attributes;
  attributes["status"] = status;
  throw_error("CommandError", what + ": " + nvme::to_string(status), attributes);
}

void bind_errors() {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const WaitError& error) {
      set_error(class_of(error.end()), error.what());
    } catch (const WaitFailure& error) {
      set_error(class_of(error.end()), error.what());
    } catch (const ClosedError& error) {
      set_error("Closed", error.what());
    } catch (const EndedError& error) {
      set_error("Ended", error.what());
    } catch (const BusyError& error) {
      set_error("Busy", error.what());
    } catch (const UserError& error) {
      set_error("SetupError", error.what());
    } catch (const AssertionFailure& error) {
      set_error("BenchBroken", error.what());
    }
  });
}

}  // namespace fb::python
