// Peers by hand: PDUs on a TCP connection, packets on UDP port 4791, packets on an MCTP medium. They validate nothing.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "bindings/convert.h"
#include "bindings/errors.h"
#include "bindings/machine.h"
#include "bindings/op.h"
#include "bindings/parts.h"
#include "bindings/records.h"
#include "conformance/runner/raw_roce.h"
#include "conformance/runner/raw_tcp.h"
#include "wire/rdma/opcodes.h"

namespace fb::python {

namespace {

using conformance::RawRoce;
using conformance::RawTcp;
using conformance::RocePacket;

struct TcpPeer {
  TcpPeer(World& world, Machine& machine) : raw(world, machine.streams(), machine.address()) {}
  RawTcp raw;
  std::size_t taken = 0;
};

struct RocePeer {
  RocePeer(World& world, Machine& machine, const IpAddress& peer) : raw(world, machine.datagrams(), machine.address(), peer) {}
  RawRoce raw;
};

using HeldTcp = Held<TcpPeer>;
using HeldRoce = Held<RocePeer>;

/// Waits for something that comes; None when nothing does.
template <class There>
bool wait_until_there(Box& box, const py::object& limit, There&& there) {
  const Duration span = duration_of(limit, "limit");
  return !box.run(there, box.after(span)).has_value();
}

py::object next_pdu(const HeldTcp& self, const py::object& limit) {
  TcpPeer& peer = *self;
  wait_until_there(*self.box, limit, [&] { return peer.raw.seen().size() > peer.taken || peer.raw.closed(); });
  if (peer.raw.seen().size() <= peer.taken) return py::none();
  return to_python(peer.raw.seen()[peer.taken++].bytes);
}

void bind_tcp(py::module_& m) {
  py::class_<HeldTcp>(m, "RawTcp")
      .def("connect",
           [](const HeldTcp& self, const std::string& address, std::uint16_t port) {
             const Endpoint to{address_of(py::str(address), "address"), port};
             self.box->run_blocking([&] { self.thing->raw.connect(to); });
           })
      .def("greet",
           [](const HeldTcp& self, const std::string& address, std::uint16_t port, const py::object& request) {
             const Endpoint to{address_of(py::str(address), "address"), port};
             auto ask = RawTcp::ic_req();
             if (!request.is_none()) ask = Record<tcp::IcReq>{record_bytes(request, "request")};
             self.box->run_blocking([&] { self.thing->raw.greet(to, ask); });
             self->taken = self->raw.seen().size();  // ICResp is the answer of this call
             return record_object("IcResp", self->raw.greeting());
           })
      .def("send", [](const HeldTcp& self, const py::object& bytes) { self->raw.send(ByteView(record_bytes(bytes, "bytes"))); })
      .def("build",
           [](const HeldTcp& self, const py::object& header, const py::object& data) {
             return to_python(self->raw.build(record_bytes(header, "header"), data.is_none() ? Bytes{} : bytes_of(data, "data")));
           })
      .def("send_command",
           [](const HeldTcp& self, const py::object& command, const py::object& data) {
             const Bytes bytes = record_bytes(command, "command");
             if (bytes.size() != nvme::kSqeSize) throw py::value_error("command: an entry has 64 bytes");
             self->raw.send_command(nvme::Sqe{bytes}, data.is_none() ? Bytes{} : record_bytes(data, "data"));
           })
      .def("next_pdu", &next_pdu)
      .def_property_readonly("closed", [](const HeldTcp& self) { return self->raw.closed(); })
      .def("finish", [](const HeldTcp& self) { self->raw.finish(); })
      .def("close", [](const HeldTcp& self) { self->raw.close(); });
  m.def("make_raw_tcp", [](const Held<Machine>& machine) {
    return HeldTcp{machine.box, &machine.box->keep(std::make_unique<TcpPeer>(machine.box->world(), *machine))};
  });
  m.def("describe_pdu", [](const py::object& bytes) { return tcp::describe_pdu(record_bytes(bytes, "pdu")); });
}

RocePacket packet_of(const py::dict& given) {
  RocePacket packet;
  for (const auto& [key, value] : given) {
    const auto name = key.cast<std::string>();
    if (name == "opcode")
      packet.opcode = static_cast<roce::Opcode>(integer_as<std::uint8_t>(value, name));
    else if (name == "qpn")
      packet.qpn = static_cast<std::uint32_t>(integer_of(value, name, 0, 0xFFFFFF));
    else if (name == "psn")
      packet.psn = static_cast<std::uint32_t>(integer_of(value, name, 0, 0xFFFFFF));
    else if (name == "ackreq")
      packet.ackreq = bool_of(value, name);
    else if (name == "se")
      packet.se = bool_of(value, name);
    else if (name == "migreq")
      packet.migreq = bool_of(value, name);
    else if (name == "tver")
      packet.tver = static_cast<std::uint8_t>(integer_of(value, name, 0, 15));
    else if (name == "pkey")
      packet.pkey = integer_as<std::uint16_t>(value, name);
    else if (name == "padcnt")
      packet.padcnt = static_cast<std::uint8_t>(integer_of(value, name, 0, 3));
    else if (name == "reth")
      packet.reth = Record<roce::Reth>{record_bytes(value, name)};
    else if (name == "aeth")
      packet.aeth = Record<roce::Aeth>{record_bytes(value, name)};
    else if (name == "deth")
      packet.deth = Record<roce::Deth>{record_bytes(value, name)};
    else if (name == "immediate")
      packet.immediate = Record<roce::ImmDt>{record_bytes(value, name)};
    else if (name == "ieth")
      packet.ieth = Record<roce::Ieth>{record_bytes(value, name)};
    else if (name == "payload")
      packet.payload = bytes_of(value, name);
    else
      throw py::type_error("a RoCE packet has no field '" + name + "'");
  }
  return packet;
}

py::dict dict_of(const RocePacket& packet) {
  py::dict all;
  all["opcode"] = static_cast<int>(packet.opcode);
  all["qpn"] = packet.qpn;
  all["psn"] = packet.psn;
  all["ackreq"] = packet.ackreq;
  all["payload"] = to_python(packet.payload);
  if (packet.aeth) all["aeth"] = record_object("Aeth", *packet.aeth);
  if (packet.reth) all["reth"] = record_object("Reth", *packet.reth);
  if (packet.ieth) all["ieth"] = record_object("Ieth", *packet.ieth);
  all["icrc_good"] = packet.icrc_good;
  all["text"] = packet.describe();
  return all;
}

py::dict dict_of(const conformance::RawConnectionFacts& facts) {
  py::dict all;
  all["local_qpn"] = facts.local_qpn;
  all["remote_qpn"] = facts.remote_qpn;
  all["send_psn"] = facts.send_psn;
  all["receive_psn"] = facts.receive_psn;
  return all;
}

void bind_roce(py::module_& m) {
  py::class_<HeldRoce>(m, "RawRoce")
      .def("connect",
           [](const HeldRoce& self, std::uint16_t port, const py::object& private_data) {
             conformance::RawRequest request;
             request.port = port;
             request.private_data = record_bytes(private_data, "private_data");
             std::optional<conformance::RawConnectionFacts> made;
             self.box->run_blocking([&] { made = self.thing->raw.connect(request); });
             if (!made) throw_error("ConnectError", "the connection manager did not answer with a REP");
             return dict_of(*made);
           })
      .def("send", [](const HeldRoce& self, const py::dict& packet, bool good_icrc,
                      std::size_t cut) { self->raw.send(packet_of(packet), {.good_icrc = good_icrc, .cut = cut}); })
      .def("send_bytes",
           [](const HeldRoce& self, const py::object& packet, bool good_icrc, std::size_t cut) {
             self->raw.send_bytes(record_bytes(packet, "packet"), {.good_icrc = good_icrc, .cut = cut});
           })
      .def("next_packet",
           [](const HeldRoce& self, const py::object& limit) -> py::object {
             RawRoce& raw = self->raw;
             if (!wait_until_there(*self.box, limit, [&] { return !raw.inbox().empty(); })) return py::none();
             const RocePacket packet = raw.inbox().front();
             raw.inbox().pop_front();
             return dict_of(packet);
           })
      .def_property_readonly("received", [](const HeldRoce& self) { return self->raw.received(); });
  m.def("make_raw_roce", [](const Held<Machine>& machine, const std::string& peer) {
    const IpAddress to = address_of(py::str(peer), "peer");
    return HeldRoce{machine.box, &machine.box->keep(std::make_unique<RocePeer>(machine.box->world(), *machine, to))};
  });
}

}  // namespace

void bind_raw_peers(py::module_& m) {
  bind_tcp(m);
  bind_roce(m);
}

}  // namespace fb::python
