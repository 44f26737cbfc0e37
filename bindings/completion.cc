#include "bindings/completion.h"

#include <fmt/format.h>

#include "bindings/convert.h"
#include "bindings/errors.h"
#include "bindings/records.h"

namespace fb::python {

Completion completion_of(const host::RawReply& reply) {
  Completion made;
  made.family = reply.family;
  made.cqe = reply.cqe;
  made.data = reply.data;
  made.at = seconds(reply.at);
  if (reply.end) made.end = reply.end->text, made.answered = false;
  if (reply.facts.invalidated) made.invalidated = reply.facts.invalidated_key;
  return made;
}

Completion completion_of(const host::AdminReply& reply) {
  Completion made;
  made.family = reply.family;
  made.cqe = reply.cqe;
  made.data = reply.data;
  made.answered = reply.answered;
  if (!reply.answered) made.end = "the connection ended first";
  return made;
}

namespace {

std::string represent(const Completion& answer) {
  if (!answer.answered) return fmt::format("<Completion none: {}>", answer.end);
  const nvme::Status status = answer.status();
  std::string text = "<Completion " + nvme::to_string(status);
  if (status.dnr()) text += " DNR";
  text += fmt::format(", CID {}, SQHD {}", answer.cqe.get(nvme::cqe::cid), answer.cqe.get(nvme::cqe::sqhd));
  const std::uint32_t dw0 = answer.cqe.get(nvme::cqe::dw0), dw1 = answer.cqe.get(nvme::cqe::dw1);
  if (dw0 != 0 || dw1 != 0) text += fmt::format(", DW0 {:#x}", dw0);
  if (dw1 != 0) text += fmt::format(", DW1 {:#x}", dw1);
  if (!answer.data.empty()) text += fmt::format(", {} bytes", answer.data.size());
  return text + ">";
}

}  // namespace

void bind_completion(py::module_& m) {
  py::class_<Completion>(m, "Completion", "The answer to a command; true when it is there and says Success.")
      .def_readonly("answered", &Completion::answered, "False: the connection ended first.")
      .def_readonly("end", &Completion::end, "Why the connection ended first; empty when the command was answered.")
      .def_readonly("at", &Completion::at, "When it came: seconds of the world's time. 0 where the host keeps no time of it.")
      .def_readonly("invalidated", &Completion::invalidated, "RDMA: the key that came invalidated with it.")
      .def_property_readonly("status", &Completion::status, "Its status.")
      .def_property_readonly(
          "ok", [](const Completion& c) { return c.answered && c.status().ok(); }, "Answered, and with Success.")
      .def_property_readonly(
          "cid", [](const Completion& c) { return c.cqe.get(nvme::cqe::cid); }, "Command Identifier.")
      .def_property_readonly(
          "sqhd", [](const Completion& c) { return c.cqe.get(nvme::cqe::sqhd); }, "SQ Head Pointer.")
      .def_property_readonly(
          "sqid", [](const Completion& c) { return c.cqe.get(nvme::cqe::sqid); }, "SQ Identifier.")
      .def_property_readonly(
          "dw0", [](const Completion& c) { return c.cqe.get(nvme::cqe::dw0); }, "What the command itself says, Dword 0.")
      .def_property_readonly(
          "value", [](const Completion& c) { return std::uint64_t{c.cqe.get(nvme::cqe::dw1)} << 32 | c.cqe.get(nvme::cqe::dw0); },
          "Dword 0 with Dword 1 above it: the value of a property.")
      .def_property_readonly(
          "data", [](const Completion& c) { return to_python(c.data); }, "The command's buffer afterwards: what came with the answer.")
      .def_property_readonly(
          "cqe", [](const Completion& c) { return record_object("Cqe", c.cqe); }, "The completion queue entry.")
      .def(
          "as_record", [](const Completion& c, const py::object& type) { return type(to_python(c.data)); }, py::arg("type"),
          "The data as a structure: ``answer.as_record(wire.SmartLog)``.")
      .def(
          "check",
          [](py::object self, const std::string& what) {
            const auto& answer = self.cast<const Completion&>();
            if (!answer.answered) throw_error("ConnectionLost", (what.empty() ? "" : what + ": ") + answer.end);
            check_status(answer.status(), what.empty() ? "command" : what);
            return self;
          },
          py::arg("what") = "", "Itself when it is Success; CommandError or ConnectionLost that names `what` otherwise.")
      .def("__bool__", [](const Completion& c) { return c.answered && c.status().ok(); })
      .def("__repr__", &represent);
}

}  // namespace fb::python
