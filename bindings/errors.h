// Exceptions: the classes stand in fabricbench._errors, what C++ throws becomes them here.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "wire/nvme/status.h"

namespace fb::python {

namespace py = pybind11;

/// Raises fabricbench.NAME(text) with these attributes.
[[noreturn]] void throw_error(const char* name, const std::string& text, const py::dict& attributes = {});
/// An exception that Python raised, kept to be raised any number of times: pybind11's own object can be raised once only.
class Raised {
 public:
  explicit Raised(const py::error_already_set& error);
  [[noreturn]] void again() const;

 private:
  std::shared_ptr<PyObject> value_;
};
/// CommandError, where the status is no success.
void check_status(nvme::Status status, const std::string& what);

void bind_errors();

}  // namespace fb::python
