// Each source's share of the module.
#pragma once

#include <pybind11/pybind11.h>

namespace fb::python {

namespace py = pybind11;

void bind_world(py::module_& m);
void bind_faults(py::module_& m);
void bind_recorders(py::module_& m);
void bind_commands(py::module_& m);
void bind_management(py::module_& m);
void bind_raw_peers(py::module_& m);
void bind_suite(py::module_& m);
void bind_campaign(py::module_& m);

}  // namespace fb::python
