// Statuses and enumerations by name.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/convert.h"
#include "wire/nvme/status.h"

namespace fb::python {

/// {name: [(member, value), ...]}.
py::dict enum_tables();
/// A Status, an int (type << 8 | code), or the name of one as in fabricbench.sc.
nvme::Status status_of(const py::handle& value, std::string_view field);

void bind_names(py::module_& m);

}  // namespace fb::python
