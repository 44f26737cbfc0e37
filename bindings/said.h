// Evidence as plain Python values.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "conformance/evidence/said.h"
#include "conformance/monitors/finding.h"

namespace fb::python {

namespace py = pybind11;

/// (time, from, to, actor, layer, label, packet, struck, fields) each.
py::list said_list(const std::vector<evidence::Said>& said);
py::list finding_list(const std::vector<monitors::Finding>& findings);

}  // namespace fb::python
