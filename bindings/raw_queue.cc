// The raw level of a host: one queue that says anything.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "bindings/completion.h"
#include "bindings/errors.h"
#include "bindings/host.h"
#include "bindings/op.h"
#include "bindings/product_options.h"
#include "bindings/records.h"
#include "model/host/raw_queue.h"

namespace fb::python {

namespace {

using HeldQueue = Held<host::RawQueue>;

py::object shown(const host::RawReply& reply) { return py::cast(completion_of(reply)); }

host::RawCommand command_of(const py::handle& command, const py::object& data, std::size_t room, bool in_capsule, bool keep_sgl,
                            bool keep_cid) {
  host::RawCommand made;
  if (const WireRecord* const record = as_record(command); record != nullptr && record->bytes->size() == nvme::kSqeSize) {
    made.sqe = nvme::Sqe{*record->bytes};
  } else {
    const Bytes bytes = record_bytes(command, "command");
    if (bytes.size() != nvme::kSqeSize) throw py::value_error(fmt::format("command: {} bytes, an entry has 64", bytes.size()));
    made.sqe = nvme::Sqe{bytes};
  }
  if (!data.is_none()) {
    if (room != 0) throw py::value_error("send: data goes there, or room for what comes back, not both");
    made.data = record_bytes(data, "data");
    made.direction = transport::Direction::to_controller;
  } else if (room != 0) {
    if (room > (1u << 30)) throw py::value_error(fmt::format("room: {} is outside 0 to {}", room, 1u << 30));
    made.data.resize(room);
    made.direction = transport::Direction::from_controller;
  }
  made.allow_in_capsule = in_capsule;
  made.keep_dptr = keep_sgl;
  made.keep_cid = keep_cid;
  return made;
}

}  // namespace

void bind_raw_queue(py::module_& m) {
  py::class_<HeldQueue>(m, "RawQueue")
      .def("connect",
           [](const HeldQueue& self) {
             return make_py_op(self.box, self->connect_transport(), [](const host::RawConnection& connection) -> py::object {
               if (!connection.connected) {
                 py::dict attributes;
                 attributes["kind"] = "transport";
                 attributes["cm_reason"] = connection.end.cm_reason;
                 attributes["transport_status"] = connection.end.status;
                 throw_error("ConnectError", connection.end.text, attributes);
               }
               return py::none();
             });
           })
      .def(
          "send",
          [](const HeldQueue& self, const py::object& command, const py::object& data, std::size_t room, bool in_capsule, bool keep_sgl,
             bool keep_cid) {
            host::RawCommand made = command_of(command, data, room, in_capsule, keep_sgl, keep_cid);
            return make_py_op(self.box, self->send_command(std::move(made)), shown);
          },
          py::arg("command"), py::arg("data") = py::none(), py::arg("room") = 0, py::kw_only(), py::arg("in_capsule") = true,
          py::arg("keep_sgl") = false, py::arg("keep_cid") = false)
      .def(
          "post",
          [](const HeldQueue& self, const py::object& command, const py::object& data, std::size_t room, bool in_capsule, bool keep_sgl,
             bool keep_cid) { self->post(command_of(command, data, room, in_capsule, keep_sgl, keep_cid)); },
          py::arg("command"), py::arg("data") = py::none(), py::arg("room") = 0, py::kw_only(), py::arg("in_capsule") = true,
          py::arg("keep_sgl") = false, py::arg("keep_cid") = false)
      .def("send_capsule",
           [](const HeldQueue& self, const py::object& capsule, std::uint16_t cid) {
             const Bytes bytes = bytes_of(capsule, "capsule");
             return make_py_op(self.box, self->send_capsule(bytes, cid), shown);
           })
      .def("post_capsule",
           [](const HeldQueue& self, const py::object& capsule) { return self->post_capsule(bytes_of(capsule, "capsule")); })
      .def("next_response", [](const HeldQueue& self) { return make_py_op(self.box, self->next_response(), shown, false); })
      .def("ended",
           [](const HeldQueue& self) {
             return make_py_op(self.box, self->ended(), [](const transport::ChannelEnd& end) -> py::object { return py::str(end.text); });
           })
      .def("disconnect", [](const HeldQueue& self) { self->disconnect(); })
      .def("expose",
           [](const HeldQueue& self, const py::object& data) {
             const host::RawQueue::Exposed& exposed = self->expose(bytes_of(data, "data"));
             return py::make_tuple(exposed.address, exposed.key, exposed.data.size());
           })
      .def_property_readonly("connected", [](const HeldQueue& self) { return self->connected(); })
      .def_property_readonly("outstanding", [](const HeldQueue& self) { return self->outstanding(); })
      .def_property_readonly("qid", [](const HeldQueue& self) { return self->options().qid; });

  m.def("make_raw_queue",
        [](const Held<HostSide>& host, const std::string& address, std::uint16_t port, const py::dict& options, const std::string& subnqn) {
          host::RawQueueOptions chosen;
          set_options(chosen, options, "raw_queue");
          chosen.to = {address_of(py::str(address), "address"), port};
          chosen.hostnqn = host->host().options().hostnqn;
          chosen.subnqn = subnqn;
          return HeldQueue{host.box, &host.box->keep(std::make_unique<host::RawQueue>(host.box->world(), host->fabric(), chosen))};
        });
}

}  // namespace fb::python
