// Management: an MCTP network with drives on it, and a requester.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <map>

#include "base/or_throw.h"
#include "bindings/errors.h"
#include "bindings/chosen_deviations.h"
#include "bindings/hooks.h"
#include "bindings/limits.h"
#include "bindings/machine.h"
#include "bindings/names.h"
#include "bindings/op.h"
#include "bindings/parts.h"
#include "bindings/product_options.h"
#include "bindings/records.h"
#include "model/deviations/deviation.h"
#include "conformance/runner/managed_setup.h"
#include "conformance/runner/raw_mctp.h"
#include "model/drive/drive.h"
#include "model/drive/variants.h"
#include "model/mi/requester.h"
#include "model/subsystem/check_options.h"
#include "sim/fault/frame_faults.h"
#include "sim/mctp/network.h"

namespace fb::python {

namespace {

struct DriveSide {
  std::unique_ptr<subsystem::SubsystemHooks> subsystem_hooks;
  std::unique_ptr<mi::EndpointHooks> endpoint_hooks;
  std::unique_ptr<mctp::EndpointHooks> mctp_hooks;
  std::unique_ptr<mi::Drive> drive;
};

/// A network with what hangs on it; requesters are parts of the box made later, and go earlier.
class BusSide {
 public:
  explicit BusSide(World& world) : world_(world), network_(world) {}

  World& world() { return world_; }
  mctp::Network& network() { return network_; }

  std::size_t add_segment(const std::string& medium, const std::string& name, fault::Points* points) {
    const auto take = [&](std::size_t segment, fault::FrameShape shape) {
      if (points != nullptr) {
        filters_.push_back(std::make_unique<fault::FrameFaults>(*points, name, shape));
        network_.segment(segment).set_filter(filters_.back().get());
      }
      return segment;
    };
    if (medium == "smbus") return take(network_.add_smbus({.name = name}), fault::FrameShape::smbus);
    if (medium == "pcie") return take(network_.add_pcie({.name = name}), fault::FrameShape::pcie);
    if (medium == "serial") return take(network_.add_serial({.name = name}), fault::FrameShape::serial);
    throw py::value_error("medium: '" + medium + "'; there are smbus, pcie and serial");
  }

  DriveSide& add_drive(Box& box, std::size_t segment, const mctp::PhysicalAddress& address, mi::DriveOptions options,
                       const py::object& product, const py::object& target_product, const std::vector<std::string>& names) {
    using enum deviations::Product;
    const auto deviations = chosen_deviations(names, {endpoint, controller});
    auto side = std::make_unique<DriveSide>();
    deviations.alter(options);
    side->subsystem_hooks = deviations.subsystem_hooks();
    if (!target_product.is_none()) side->subsystem_hooks = scripted_subsystem(box, target_product, std::move(side->subsystem_hooks));
    side->endpoint_hooks = deviations.endpoint_hooks();
    if (!product.is_none()) side->endpoint_hooks = scripted_endpoint(box, product, std::move(side->endpoint_hooks));
    side->mctp_hooks = deviations.mctp_hooks(deviations::Product::endpoint);
    mctp::SimpleDevice& node = network_.add_endpoint(segment, address, options.node, options.end);
    side->drive = std::make_unique<mi::Drive>(
        world_, node, std::move(options), mi::DriveHooks{side->subsystem_hooks.get(), side->endpoint_hooks.get(), side->mctp_hooks.get()});
    drives_.push_back(std::move(side));
    return *drives_.back();
  }

  mctp::BridgeNode& add_bridge(std::size_t segment, const mctp::PhysicalAddress& address, const std::string& name) {
    return network_.add_bridge(segment, address, {.name = name});
  }

 private:
  World& world_;
  mctp::Network network_;
  std::vector<std::unique_ptr<fault::FrameFaults>> filters_;
  std::vector<std::unique_ptr<DriveSide>> drives_;
};

/// Packets by hand, on an attachment of its own.
struct MctpPeer {
  MctpPeer(World& world, mctp::Segment& segment, mctp::Binding& binding, mctp::Eid eid)
      : raw(world, binding, eid, [&segment, &binding](Bytes frame) { conformance::send_frame_on(segment, binding, std::move(frame)); }) {}
  conformance::RawMctp raw;
  std::size_t taken = 0;
};

using HeldBus = Held<BusSide>;
using HeldPeer = Held<MctpPeer>;
using HeldDrive = Held<DriveSide>;
using HeldRequester = Held<mi::Requester>;
using HeldBridge = Held<mctp::BridgeNode>;

/// Where a device is put: a value that the medium has and nobody has taken, or for None the next one.
std::uint8_t smbus_address_on(const mctp::SmbusSegment& bus, const py::handle& value) {
  const auto good = [&](unsigned address) {
    return mctp::smbus::assignable(static_cast<std::uint8_t>(address)) && bus.is_free(static_cast<std::uint8_t>(address));
  };
  if (value.is_none()) {
    constexpr unsigned kFirst = 0x3A;  // as drives have it
    for (unsigned step = 0; step < 256; step += 2) {
      if (good((kFirst + step) % 256)) return static_cast<std::uint8_t>((kFirst + step) % 256);
    }
    throw py::value_error("address: the bus has no address left");
  }
  const auto address = integer_as<std::uint8_t>(value, "address");
  if (!mctp::smbus::assignable(address)) {
    throw py::value_error(fmt::format("address: {:#x} is odd or reserved; the 8-bit form of a device's is wanted, as 0x3a", address));
  }
  if (!bus.is_free(address)) throw py::value_error(fmt::format("address: {:#x} is taken", address));
  return address;
}

std::uint16_t pcie_address_on(const mctp::PcieFabric& fabric, const py::handle& value) {
  constexpr unsigned kBus = 0x100;
  if (value.is_none()) {
    for (unsigned bdf = kBus; bdf < 0x10000; bdf += kBus) {
      if (fabric.is_free(static_cast<std::uint16_t>(bdf))) return static_cast<std::uint16_t>(bdf);
    }
    throw py::value_error("address: the fabric has no bus number left");
  }
  const auto bdf = integer_as<std::uint16_t>(value, "address");
  if (bdf == 0 || bdf == mctp::bdf_of(mctp::kToRoot)) throw py::value_error(fmt::format("address: {:#x} is that of the root complex", bdf));
  if (!fabric.is_free(bdf)) throw py::value_error(fmt::format("address: {:#x} is taken", bdf));
  return bdf;
}

mctp::PhysicalAddress address_on(mctp::Segment& segment, const py::handle& value) {
  if (const auto* bus = segment.smbus()) return mctp::smbus_address(smbus_address_on(*bus, value));
  if (const auto* fabric = segment.pcie()) return mctp::pcie_address(pcie_address_on(*fabric, value));
  if (!segment.addresses().empty()) throw py::value_error("address: a serial line has two ends, and both are taken");
  return {};
}

void check_segment(const HeldBus& self, std::size_t segment) {
  if (segment >= self->network().segments())
    throw py::value_error(fmt::format("segment: {} is outside 0 to {}", segment, self->network().segments() - 1));
}

/// What came back, in Python.
struct MiReply {
  mi::Reply reply;
};

const char* name_of_outcome(mi::Outcome outcome) {
  return outcome == mi::Outcome::answered ? "answered" : outcome == mi::Outcome::timed_out ? "timed_out" : "violation";
}

std::string describe(const MiReply& held) {
  const mi::Reply& reply = held.reply;
  if (reply.outcome == mi::Outcome::timed_out) return "<MiReply none: timed out>";
  if (reply.violation) return "<MiReply violation: " + mi::to_string(*reply.violation) + ">";
  return fmt::format("<MiReply {}, {} bytes>", mi::name_of(reply.status()), reply.message.size());
}

/// Raises where there is no answer, or none that says Success.
void check_reply(const mi::Reply& reply, const std::string& what) {
  py::dict attributes;
  attributes["reply"] = py::cast(MiReply{reply});
  attributes["outcome"] = name_of_outcome(reply.outcome);
  attributes["status"] = static_cast<int>(reply.status());
  if (reply.outcome == mi::Outcome::timed_out) throw_error("MiError", what + ": no answer", attributes);
  if (reply.violation) throw_error("MiError", what + ": " + mi::to_string(*reply.violation), attributes);
  if (!reply.ok()) {
    std::string text = what + ": " + std::string(mi::name_of(reply.status()));
    if (reply.status() == mi::Status::invalid_parameter) text += " at " + mi::to_string(reply.error_at());
    throw_error("MiError", text, attributes);
  }
}

void check_admin(const mi::Reply& reply, const std::string& what) {
  check_reply(reply, what);
  check_status(reply.nvme_status(), what);
}

std::unique_ptr<PyOp> reply_op(const HeldRequester& self, Op<mi::Reply> op) {
  return make_py_op(self.box, std::move(op), [](const mi::Reply& reply) { return py::cast(MiReply{reply}); });
}

/// An operation whose value is a structure.
template <class T>
std::unique_ptr<PyOp> record_op(const HeldRequester& self, Op<mi::Answer<T>> op, const char* layout, const char* what) {
  return make_py_op(self.box, std::move(op), [layout, what](const mi::Answer<T>& answer) {
    check_reply(answer.reply, what);
    return make_record(*find_layout(layout), answer.value->bytes());
  });
}

std::unique_ptr<PyOp> bytes_op(const HeldRequester& self, Op<mi::Answer<Bytes>> op, const std::string& what) {
  return make_py_op(
      self.box, std::move(op),
      [what](const mi::Answer<Bytes>& answer) -> py::object {
        if (!answer.value) check_admin(answer.reply, what);
        if (!answer.value) check_reply(answer.reply, what);
        return to_python(*answer.value);
      },
      false);
}

std::unique_ptr<PyOp> done_op(const HeldRequester& self, Op<mi::Reply> op, const char* what) {
  return make_py_op(self.box, std::move(op), [what](const mi::Reply& reply) -> py::object {
    check_reply(reply, what);
    return py::cast(MiReply{reply});
  });
}

nvme::Sqe sqe_of(const py::handle& command) {
  const Bytes bytes = record_bytes(command, "command");
  if (bytes.size() != nvme::kSqeSize) throw py::value_error(fmt::format("command: {} bytes, an entry has 64", bytes.size()));
  return nvme::Sqe{bytes};
}

void bind_reply(py::module_& m) {
  py::class_<MiReply>(m, "MiReply", "The answer to a management request; true when it is there and says Success.")
      .def_property_readonly(
          "outcome", [](const MiReply& self) { return name_of_outcome(self.reply.outcome); }, "What came of the request.")
      .def_property_readonly(
          "message", [](const MiReply& self) { return to_python(self.reply.message); },
          "The response from its header on, without its check.")
      .def_property_readonly(
          "status_code", [](const MiReply& self) { return static_cast<int>(self.reply.status()); }, "NVMe-MI status: a number of MiStatus.")
      .def_property_readonly(
          "status_name", [](const MiReply& self) { return std::string(mi::name_of(self.reply.status())); }, "The same by name.")
      .def_property_readonly(
          "ok", [](const MiReply& self) { return self.reply.ok(); }, "Answered, and with Success.")
      .def_property_readonly(
          "nmresp", [](const MiReply& self) { return self.reply.nmresp(); }, "NVMe Management Response, 24 bits.")
      .def_property_readonly(
          "data", [](const MiReply& self) { return to_python(self.reply.data()); }, "Response data of an MI command.")
      .def_property_readonly(
          "admin_data", [](const MiReply& self) { return to_python(self.reply.admin_data()); },
          "Response data of an Admin command through the tunnel.")
      .def_property_readonly(
          "nvme_status", [](const MiReply& self) { return self.reply.nvme_status(); }, "Status of an Admin command through the tunnel.")
      .def_property_readonly(
          "dw0", [](const MiReply& self) { return self.reply.dw0(); }, "Of an Admin response: Completion Dword 0.")
      .def_property_readonly(
          "more_processing", [](const MiReply& self) { return self.reply.more_processing; },
          "How many More Processing Required responses came before.")
      .def_property_readonly(
          "more_time", [](const MiReply& self) { return self.reply.more_time * 0.1; }, "Seconds that the last of them asked for.")
      .def_property_readonly(
          "violation", [](const MiReply& self) { return self.reply.violation ? mi::to_string(*self.reply.violation) : std::string(); },
          "What of the answer breaks the specification; empty for nothing.")
      .def_property_readonly(
          "error_at",
          [](const MiReply& self) {
            const mi::ParameterError at = self.reply.error_at();
            return py::make_tuple(at.byte, at.bit);
          },
          "Invalid Parameter: byte and bit of the request.")
      .def_property_readonly(
          "sent", [](const MiReply& self) { return seconds(self.reply.sent); }, "Seconds of the world's time.")
      .def_property_readonly(
          "answered", [](const MiReply& self) { return seconds(self.reply.answered); }, "Seconds of the world's time.")
      .def("__bool__", [](const MiReply& self) { return self.reply.ok(); })
      .def("__repr__", &describe);
}

void bind_bus(py::module_& m) {
  py::class_<HeldBus>(m, "MctpBus")
      .def("add_segment", [](const HeldBus& self, const std::string& medium, const std::string& name,
                             Fabric* fabric) { return self->add_segment(medium, name, fabric == nullptr ? nullptr : fabric->points()); })
      .def("add_drive",
           [](const HeldBus& self, std::size_t segment, const py::object& address, const std::string& variant, const py::dict& device,
              const py::dict& endpoint, const py::dict& subsystem, const py::list& namespaces, const py::object& product,
              const py::object& target_product, const std::vector<std::string>& deviations, std::uint8_t static_eid) {
             check_segment(self, segment);
             mi::DriveOptions options;
             if (!variant.empty()) {
               const mi::DriveVariant* const found = mi::find_drive_variant(variant);
               if (found == nullptr) throw py::value_error("variant: no kind of drive is called '" + variant + "'");
               found->vary(options);
             }
             set_options(options.device, device, "device");
             mctp::Segment& medium = self->network().segment(segment);
             options.endpoint.port = medium.pcie() != nullptr ? 0 : 1;
             set_options(options.endpoint, endpoint, "endpoint");
             require_within("endpoint.port", std::size_t{options.endpoint.port}, std::size_t{0}, options.device.ports.size() - 1);
             set_options(options.subsystem, subsystem, "subsystem");
             if (const auto good = subsystem::check_options(options.subsystem); !good)
               throw py::value_error("subsystem." + good.error().text);
             if (namespaces.size() != 0) {
               options.namespaces.clear();
               for (const auto& one : namespaces) {
                 options.namespaces.emplace_back();
                 set_options(options.namespaces.back(), py::reinterpret_borrow<py::dict>(one), "namespace");
                 const auto good = subsystem::check_options(options.namespaces.back());
                 if (!good) throw py::value_error("namespace." + good.error().text);
               }
             }
             options.node.static_eid = static_eid;
             return HeldDrive{self.box, &self->add_drive(*self.box, segment, address_on(medium, address), std::move(options), product,
                                                         target_product, deviations)};
           })
      .def("add_bridge",
           [](const HeldBus& self, std::size_t segment, const py::object& address, const std::string& name) {
             check_segment(self, segment);
             return HeldBridge{self.box, &self->add_bridge(segment, address_on(self->network().segment(segment), address), name)};
           })
      .def("add_segment_behind",
           [](const HeldBus& self, const HeldBridge& bridge, const std::string& medium, const std::string& name) {
             if (medium == "smbus") return self->network().add_smbus_behind(*bridge, {.name = name});
             if (medium == "pcie") return self->network().add_pcie_behind(*bridge, {.name = name});
             throw py::value_error("medium: '" + medium + "'; behind a bridge there are smbus and pcie");
           })
      .def("known",
           [](const HeldBus& self) {
             py::list all;
             for (const auto& [eid, known] : self->network().known()) {
               py::dict one;
               one["eid"] = eid;
               one["bus"] = known.bus;
               one["bridge"] = known.is_bridge;
               one["behind"] = known.behind;
               one["types"] = py::cast(known.types);
               all.append(one);
             }
             return all;
           })
      // Steps the world by itself: in a thread of its own, so that the caller's looks at signals.
      .def("enumerate", [](const HeldBus& self) {
        mctp::EnumerationReport report;
        self.box->run_blocking([&] { report = self->network().enumerate(); });
        py::dict all;
        all["assigned"] = report.assigned;
        return all;
      });
  py::class_<HeldBridge>(m, "MctpBridge")
      .def_property_readonly("eid", [](const HeldBridge& self) { return self->bridge->eid(); })
      .def_property_readonly("forwarded", [](const HeldBridge& self) { return self->bridge->counters().forwarded; })
      .def_property_readonly("no_route", [](const HeldBridge& self) { return self->bridge->counters().no_route; })
      .def("forget_routes", [](const HeldBridge& self) {
        for (const auto& entry : self->bridge->routes()) self->bridge->remove_routes(entry.first, entry.size);
      });
  py::class_<HeldDrive>(m, "Drive")
      .def_property_readonly("eid", [](const HeldDrive& self) { return self->drive->node().endpoint().eid(); })
      .def_property_readonly("subsystem",
                             [](const HeldDrive& self) {
                               return Held<subsystem::Subsystem>{self.box, &self->drive->subsystem()};
                             })
      .def("reset_endpoint", [](const HeldDrive& self) { self->drive->endpoint().reset(); })
      .def("power_cycle", [](const HeldDrive& self) {
        self->drive->subsystem().power_cycle();
        self->drive->node().reset();
      });
  m.def("make_bus", [](const std::shared_ptr<Box>& box) { return HeldBus{box, &box->keep(std::make_unique<BusSide>(box->world()))}; });
  m.def("drive_variants", [] {
    py::list all;
    for (const auto& variant : mi::drive_variants()) all.append(py::make_tuple(std::string(variant.name), std::string(variant.what)));
    return all;
  });
}

conformance::MctpPacket packet_of(const HeldPeer& self, const py::dict& given) {
  conformance::MctpPacket packet = self->raw.packet();
  for (const auto& [key, value] : given) {
    const auto name = key.cast<std::string>();
    if (name == "payload")
      packet.payload = record_bytes(value, name);
    else if (name == "destination")
      packet.destination = integer_as<std::uint8_t>(value, name);
    else if (name == "source")
      packet.source = integer_as<std::uint8_t>(value, name);
    else if (name == "version")
      packet.version = static_cast<std::uint8_t>(integer_of(value, name, 0, 15));
    else if (name == "reserved")
      packet.reserved = static_cast<std::uint8_t>(integer_of(value, name, 0, 15));
    else if (name == "sequence")
      packet.sequence = static_cast<std::uint8_t>(integer_of(value, name, 0, 3));
    else if (name == "tag")
      packet.tag = static_cast<std::uint8_t>(integer_of(value, name, 0, 7));
    else if (name == "som")
      packet.som = bool_of(value, name);
    else if (name == "eom")
      packet.eom = bool_of(value, name);
    else if (name == "owner")
      packet.owner = bool_of(value, name);
    else
      throw py::type_error("an MCTP packet has no field '" + name + "'");
  }
  return packet;
}

py::dict dict_of(const conformance::SeenPacket& seen) {
  py::dict all;
  all["at"] = seconds(seen.at);
  all["version"] = seen.packet.version;
  all["destination"] = seen.packet.destination;
  all["source"] = seen.packet.source;
  all["som"] = seen.packet.som;
  all["eom"] = seen.packet.eom;
  all["sequence"] = seen.packet.sequence;
  all["owner"] = seen.packet.owner;
  all["tag"] = seen.packet.tag;
  all["payload"] = to_python(seen.packet.payload);
  return all;
}

void bind_peer(py::module_& m) {
  py::class_<HeldPeer>(m, "RawMctp")
      .def("send", [](const HeldPeer& self, const py::dict& packet) { self->raw.send(packet_of(self, packet)); })
      .def("send_bytes", [](const HeldPeer& self, const py::object& packet) { self->raw.send_bytes(record_bytes(packet, "packet")); })
      .def("send_frame", [](const HeldPeer& self, const py::object& frame) { self->raw.send_frame(record_bytes(frame, "frame")); })
      .def("send_message",
           [](const HeldPeer& self, const py::object& body, std::uint8_t tag, bool owner, std::size_t unit) {
             if (tag > 7) throw py::value_error(fmt::format("tag: {} is outside 0 to 7", tag));
             if (unit == 0) throw py::value_error("unit: at least one byte");
             conformance::MctpTerms terms;
             terms.tag = tag;
             terms.owner = owner;
             terms.unit = unit;
             self->raw.send_message(record_bytes(body, "body"), terms);
           })
      .def("next_packet",
           [](const HeldPeer& self, const py::object& limit) -> py::object {
             MctpPeer& peer = *self;
             const auto come = [&] { return peer.raw.packets().size() > peer.taken; };
             self.box->run(come, self.box->after(duration_of(limit, "limit")));
             if (!come()) return py::none();
             return dict_of(peer.raw.packets()[peer.taken++]);
           })
      .def_property_readonly("eid", [](const HeldPeer& self) { return self->raw.eid(); })
      .def_property_readonly("damaged", [](const HeldPeer& self) { return self->raw.damaged(); })
      .def_property_readonly("undelivered", [](const HeldPeer& self) { return self->raw.undelivered(); });
  m.def("make_raw_mctp",
        [](const HeldBus& bus, std::size_t segment, const py::object& address, std::uint8_t eid, const HeldDrive& towards) {
          check_segment(bus, segment);
          mctp::Segment& medium = bus->network().segment(segment);
          mctp::Binding& binding = medium.attach("peer", address_on(medium, address));
          auto made = std::make_unique<MctpPeer>(bus->world(), medium, binding, eid);
          mctp::Endpoint& end = towards->drive->node().endpoint();
          made->raw.set_product(end.eid(), end.binding().address());
          return HeldPeer{bus.box, &bus.box->keep(std::move(made))};
        });
}

using Held_ = HeldRequester;

void bind_requester(py::module_& m) {
  py::class_<HeldRequester>(m, "MiRequester")
      .def("request",
           [](const Held_& self, mctp::Eid eid, const py::object& body, const py::object& timeout) {
             return reply_op(self, self->request(eid, record_bytes(body, "body"), optional_duration(timeout, "timeout")));
           })
      .def(
          "send_raw",
          [](const Held_& self, mctp::Eid eid, const py::object& message, const py::object& tag, unsigned answers, const py::object& wait) {
            mi::RawRequest request;
            request.peer = eid;
            request.message = record_bytes(message, "message");
            if (!tag.is_none()) request.tag = mctp::Tag{static_cast<std::uint8_t>(integer_of(tag, "tag", 0, 7)), true};
            request.answers = answers;
            request.wait = duration_of(wait, "wait");
            return make_py_op(self.box, self->send_raw(std::move(request)), [](const std::vector<Bytes>& messages) -> py::object {
              py::list all;
              for (const Bytes& one : messages) all.append(to_python(one));
              return all;
            });
          })
      .def("command",
           [](const Held_& self, mctp::Eid eid, std::uint8_t opcode, std::uint32_t nmd0, std::uint32_t nmd1, const py::object& data,
              unsigned slot, const py::object& timeout) {
             mi::CommandTerms terms;
             terms.slot = slot;
             terms.timeout = optional_duration(timeout, "timeout");
             return reply_op(self, self->command(eid, static_cast<mi::Opcode>(opcode), nmd0, nmd1, bytes_of(data, "data"), terms));
           })
      .def("primitive",
           [](const Held_& self, mctp::Eid eid, std::uint8_t opcode, unsigned slot, std::uint16_t parameter) {
             return reply_op(self, self->primitive(eid, static_cast<mi::Primitive>(opcode), slot, parameter));
           })
      .def("admin",
           [](const Held_& self, mctp::Eid eid, std::uint16_t cntlid, const py::object& command, const py::object& data,
              std::uint32_t offset, std::uint32_t length) {
             mi::Requester::AdminTerms terms;
             terms.dofst = offset;
             terms.dlen = length;
             return reply_op(self, self->admin(eid, cntlid, sqe_of(command), terms, data.is_none() ? Bytes{} : bytes_of(data, "data")));
           })
      .def("subsystem_info",
           [](const Held_& self, mctp::Eid eid) {
             return record_op(self, self->read_subsystem(eid), "SubsystemInfo", "read subsystem information");
           })
      .def("port_info", [](const Held_& self, mctp::Eid eid,
                           std::uint8_t port) { return record_op(self, self->read_port(eid, port), "PortInfo", "read port information"); })
      .def("controller_info",
           [](const Held_& self, mctp::Eid eid, std::uint16_t cntlid) {
             return record_op(self, self->read_controller(eid, cntlid), "ControllerInfo", "read controller information");
           })
      .def("controllers",
           [](const Held_& self, mctp::Eid eid) {
             return make_py_op(
                 self.box, self->read_controllers(eid),
                 [](const mi::Answer<std::vector<std::uint16_t>>& answer) -> py::object {
                   check_reply(answer.reply, "read controller list");
                   return py::cast(*answer.value);
                 },
                 false);
           })
      .def("health",
           [](const Held_& self, mctp::Eid eid, bool clear) {
             return record_op(self, self->poll_subsystem(eid, clear), "SubsystemHealth", "subsystem health poll");
           })
      .def("controller_health",
           [](const Held_& self, mctp::Eid eid, bool clear) {
             mi::Requester::PollTerms terms;
             terms.clear = clear;
             return make_py_op(
                 self.box, self->poll_controllers(eid, terms),
                 [](const mi::Answer<std::vector<Record<mi::ControllerHealth>>>& answer) -> py::object {
                   check_reply(answer.reply, "controller health poll");
                   py::list all;
                   for (const auto& one : *answer.value) all.append(make_record(*find_layout("ControllerHealth"), one.bytes()));
                   return all;
                 },
                 false);
           })
      .def("read_vpd", [](const Held_& self, mctp::Eid eid, std::uint16_t offset,
                          std::uint16_t length) { return bytes_op(self, self->read_vpd(eid, offset, length), "VPD read"); })
      .def("write_vpd",
           [](const Held_& self, mctp::Eid eid, std::uint16_t offset, const py::object& data) {
             return done_op(self, self->write_vpd(eid, offset, bytes_of(data, "data")), "VPD write");
           })
      .def("reset_subsystem", [](const Held_& self, mctp::Eid eid) { return done_op(self, self->reset_subsystem(eid), "reset"); })
      .def("shut_down",
           [](const Held_& self, mctp::Eid eid, bool abrupt) { return done_op(self, self->shut_down(eid, abrupt), "shutdown"); })
      .def("get_configuration",
           [](const Held_& self, mctp::Eid eid, std::uint8_t id, std::uint8_t port) {
             return done_op(self, self->get_configuration(eid, static_cast<mi::ConfigurationId>(id), port), "get configuration");
           })
      .def("set_unit", [](const Held_& self, mctp::Eid eid, std::uint8_t port,
                          std::uint16_t unit) { return done_op(self, self->set_unit(eid, port, unit), "set transmission unit"); })
      .def("identify",
           [](const Held_& self, mctp::Eid eid, std::uint16_t cntlid, std::uint8_t cns, std::uint32_t nsid) {
             return bytes_op(self, self->identify(eid, cntlid, static_cast<nvme::Cns>(cns), nsid), "identify");
           })
      .def("get_log", [](const Held_& self, mctp::Eid eid, std::uint16_t cntlid, std::uint8_t lid,
                         std::size_t length) { return bytes_op(self, self->get_log(eid, cntlid, lid, length), "get log page"); })
      .def("get_feature",
           [](const Held_& self, mctp::Eid eid, std::uint16_t cntlid, std::uint8_t fid) {
             return make_py_op(self.box, self->get_feature(eid, cntlid, fid), [](const mi::Reply& reply) -> py::object {
               check_admin(reply, "get features");
               return py::int_(reply.dw0());
             });
           })
      .def("set_feature",
           [](const Held_& self, mctp::Eid eid, std::uint16_t cntlid, std::uint8_t fid, std::uint32_t cdw11) {
             return make_py_op(self.box, self->set_feature(eid, cntlid, fid, cdw11), [](const mi::Reply& reply) -> py::object {
               check_admin(reply, "set features");
               return py::none();
             });
           })
      .def_property_readonly("strays", [](const Held_& self) { return self->strays(); });
  m.def("make_requester", [](const HeldBus& bus, const py::dict& options) {
    mi::RequesterOptions chosen;
    set_options(chosen, options, "requester");
    return HeldRequester{bus.box, &bus.box->keep(std::make_unique<mi::Requester>(bus->world(), bus->network().port(), chosen))};
  });
}

}  // namespace

void bind_management(py::module_& m) {
  bind_reply(m);
  bind_bus(m);
  bind_peer(m);
  bind_requester(m);
}

}  // namespace fb::python
