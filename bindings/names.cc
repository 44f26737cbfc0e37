#include "bindings/names.h"

#include <fmt/format.h>

#include <map>

namespace fb::python {

namespace {

const std::map<std::string_view, nvme::Status>& statuses() {
  static const std::map<std::string_view, nvme::Status> all = {
#define FB_STATUS_ROW(type, code, id, name) {#id, nvme::sc::id},
      FB_NVME_GENERIC_STATUS(FB_STATUS_ROW) FB_NVME_COMMAND_STATUS(FB_STATUS_ROW) FB_NVME_FABRICS_STATUS(FB_STATUS_ROW)
          FB_NVME_FABRICS_COMMON_STATUS(FB_STATUS_ROW) FB_NVME_COMMAND_SET_STATUS(FB_STATUS_ROW)
              FB_NVME_MEDIA_AND_PATH_STATUS(FB_STATUS_ROW)
#undef FB_STATUS_ROW
  };
  return all;
}

std::string represent(nvme::Status status) {
  std::string text = "<Status " + nvme::to_string(status);
  if (status.dnr()) text += " DNR";
  if (status.more()) text += " More";
  if (status.crd() != 0) text += fmt::format(" CRD {}", status.crd());
  return text + ">";
}

}  // namespace

nvme::Status status_of(const py::handle& value, std::string_view field) {
  if (py::isinstance<nvme::Status>(value)) return value.cast<nvme::Status>();
  if (PyUnicode_Check(value.ptr()) != 0) {
    const auto name = value.cast<std::string>();
    const auto found = statuses().find(name);
    if (found == statuses().end())
      throw py::value_error(fmt::format("{}: no status is called '{}'; fabricbench.sc has them all", field, name));
    return found->second;
  }
  return nvme::Status::from_raw(static_cast<std::uint16_t>(integer_of(value, field, 0, 0x7FFF)));
}

void bind_names(py::module_& m) {
  py::class_<nvme::Status>(m, "Status", "A status of a command. Two are equal when type and code are; a status is true when it is Success.")
      .def(py::init([](const py::object& value, bool dnr, bool more, unsigned crd) {
             return status_of(value, "status").with_dnr(dnr).with_more(more).with_crd(crd);
           }),
           py::arg("value"), py::kw_only(), py::arg("dnr") = false, py::arg("more") = false, py::arg("crd") = 0)
      .def_property_readonly("raw", &nvme::Status::raw, "The status field as the wire carries it, without the phase bit.")
      .def_property_readonly("sct", &nvme::Status::sct, "Status Code Type.")
      .def_property_readonly("sc", &nvme::Status::sc, "Status Code.")
      .def_property_readonly("crd", &nvme::Status::crd, "Command Retry Delay: 0 for none, or which of the controller's three.")
      .def_property_readonly("more", &nvme::Status::more, "The Error Information log has more about it.")
      .def_property_readonly("dnr", &nvme::Status::dnr, "Do Not Retry.")
      .def_property_readonly("ok", &nvme::Status::ok, "Success.")
      .def_property_readonly(
          "name", [](nvme::Status status) { return nvme::name_of(status); },
          "Its name in the specification, by the command that it answers: some codes have two.")
      .def_property_readonly(
          "fabrics_name", [](nvme::Status status) { return nvme::name_of(status.of(nvme::StatusFamily::fabrics)); },
          "Its name where it answers a Fabrics command: some codes mean something else there.")
      .def("__eq__",
           [](nvme::Status status, const py::object& other) {
             if (py::isinstance<nvme::Status>(other)) return nvme::same_code(status, other.cast<nvme::Status>());
             // As a field of a completion has it: More, DNR and the retry delay are not part of the code.
             if (PyLong_Check(other.ptr()) == 0) return false;
             const auto field = py::reinterpret_borrow<py::int_>(other);
             if (field < py::int_(0) || field > py::int_(0x7FFF)) return false;
             return nvme::same_code(status, nvme::Status::from_raw(field.cast<std::uint16_t>()));
           })
      .def("__index__", &nvme::Status::raw)
      .def("__hash__", [](nvme::Status status) { return status.code().raw(); })
      .def("__bool__", &nvme::Status::ok)
      .def("__repr__", &represent)
      .def("__str__", [](nvme::Status status) { return nvme::to_string(status); });
  py::dict all;
  for (const auto& [name, status] : statuses()) all[py::str(std::string(name))] = status;
  m.attr("statuses") = all;
}

}  // namespace fb::python
