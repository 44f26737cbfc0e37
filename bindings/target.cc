#include "bindings/target.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <bit>

#include "base/or_throw.h"
#include "bindings/chosen_deviations.h"
#include "bindings/errors.h"
#include "bindings/hooks.h"
#include "bindings/limits.h"
#include "bindings/names.h"
#include "bindings/product_options.h"
#include "model/subsystem/check_options.h"
#include "model/transport/rdma_controller.h"
#include "model/transport/tcp_controller.h"
#include "model/transport/transfer_limit.h"
#include "wire/fabrics/transports.h"

namespace fb::python {

TargetSide::TargetSide(const std::shared_ptr<Box>& box, const py::object& product, const std::vector<std::string>& deviations,
                       Fabric* fabric, const std::string& name)
    : box_(*box),
      deviations_(chosen_deviations(deviations, {deviations::Product::controller, deviations::Product::rdma, deviations::Product::cm})) {
  hooks_ = deviations_.subsystem_hooks();
  if (!product.is_none()) hooks_ = scripted_subsystem(*box, product, std::move(hooks_));
  if (fabric != nullptr && fabric->points() != nullptr) {
    hooks_ = std::make_unique<faults::FaultySubsystem>(box->world(), *fabric->points(), name, std::move(hooks_));
  }
  target_ = std::make_unique<subsystem::Target>(box->world(), hooks_.get());
}

namespace {

void check_listener(const transport::ControllerFabricOptions& options) {
  const auto within = [](const char* field, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
    if (value < low || value > high) throw py::value_error(fmt::format("listen.{}: {} is outside {} to {}", field, value, low, high));
  };
  within("admin_entries_max", options.admin_entries_max, 32, 4096);
  within("io_entries_max", options.io_entries_max, 2, 65535);
  within("io_queues_max", options.io_queues_max, 1, 65534);
  within("in_capsule_bytes", options.in_capsule_bytes, 0, 1u << 20);
  if (options.in_capsule_bytes % 16 != 0)
    throw py::value_error(fmt::format("listen.in_capsule_bytes: {} is no multiple of 16", options.in_capsule_bytes));
  within("transfer_bytes_max", options.transfer_bytes_max, 4096, transport::kLargestTransfer);
  within("msdbd", options.msdbd, 1, 16);
  within("connections_max", options.connections_max, 1, 1u << 20);
}

}  // namespace

/// What a subsystem says of its transfers holds through every listener.
void TargetSide::bound_transfers(std::uint64_t bytes) {
  if (bytes == transport::kLargestTransfer) return;
  if (transfer_claimed_ > bytes) {
    throw py::value_error(fmt::format("listen.transfer_bytes_max: {} is below what a subsystem of the target allows ({}: its mdts)", bytes,
                                      transfer_claimed_));
  }
  transfer_most_ = transfer_most_ == 0 ? bytes : std::min(transfer_most_, bytes);
}

subsystem::Subsystem& TargetSide::add_subsystem(subsystem::SubsystemOptions options) {
  if (const auto good = subsystem::check_options(options); !good) throw py::value_error("subsystem." + good.error().text);
  if (target_->find_subsystem(options.nqn) != nullptr) {
    throw py::value_error("subsystem.nqn: the target has " + options.nqn + " already");
  }
  if (transfer_most_ != 0) {
    const auto bound = static_cast<std::uint8_t>(std::bit_width(transfer_most_ / 4096) - 1);
    if (bound == 0) {
      throw py::value_error(
          fmt::format("subsystem.mdts: no value stands for the {} bytes that a listener moves (transfer_bytes_max): 8192 is the least",
                      transfer_most_));
    }
    options.mdts = options.mdts == 0 ? bound : std::min(options.mdts, bound);
  }
  transfer_claimed_ =
      std::max(transfer_claimed_, options.mdts == 0 ? std::uint64_t{transport::kLargestTransfer} : std::uint64_t{4096} << options.mdts);
  return target_->add_subsystem(std::move(options));
}

const Endpoint& TargetSide::listen(Machine& machine, const std::string& transport, std::uint16_t portid, const py::dict& options,
                                   const py::dict& tcp, const Tls& tls) {
  transport::ControllerFabricOptions chosen;
  chosen.transfer_bytes_max = transport::kLargestTransfer;
  set_options(chosen, options, "listen");
  check_listener(chosen);
  bound_transfers(chosen.transfer_bytes_max);
  subsystem::PortOptions port;
  port.portid = portid;
  port.traddr = to_string(machine.address());
  port.trsvcid = std::to_string(chosen.port);
  port.family = machine.address().is_v4() ? fabrics::AddressFamily::ipv4 : fabrics::AddressFamily::ipv6;
  std::unique_ptr<transport::ControllerFabric> listener;
  World& world = box_.world();
  target_->add_port(port);
  if (transport == fabrics::kRdma) {
    if (!tls.security.empty()) throw py::value_error("listen: TLS is of NVMe/TCP");
    if (tcp.size() != 0) throw py::value_error("listen: options of TCP for a listener over RDMA");
    rdma::Device& device = machine.rdma(deviations_.soft_hooks());
    listener = or_throw(transport::RdmaControllerFabric::start(world, device, chosen, target_->acceptor(portid), hooks_.get()));
  } else {
    transport::TcpControllerOptions own;
    set_options(own, tcp, "listen");
    require_dwords("listen.r2t_bytes", own.r2t_bytes);
    require_dwords("listen.c2h_data_bytes", own.c2h_data_bytes);
    if (!tls.security.empty()) {
      if (tls.security != "offered" && tls.security != "required")
        throw py::value_error("tls: '" + tls.security + "'; there are offered and required");
      own.security = tls.security == "required" ? transport::ChannelSecurity::required : transport::ChannelSecurity::offered;
      tls_.push_back(std::make_unique<TlsEnd>(machine, tls.psks, machine.name() + ".tls", own.security));
    }
    net::StreamHost& streams = tls.security.empty() ? machine.streams() : tls_.back()->side->listening();
    listener = or_throw(
        transport::TcpControllerFabric::start(world, streams, machine.address(), chosen, own, target_->acceptor(portid), hooks_.get()));
  }
  target_->set_listener(portid, *listener);
  endpoints_.push_back(std::make_unique<Endpoint>(listener->local()));
  listeners_.push_back(std::move(listener));
  return *endpoints_.back();
}

namespace {

using HeldTarget = Held<TargetSide>;
using HeldSubsystem = Held<subsystem::Subsystem>;

/// A namespace by its number: it may be deleted while Python holds it.
struct TargetNamespace {
  HeldSubsystem subsystem;
  std::uint32_t nsid = 0;

  subsystem::Namespace& operator*() const {
    subsystem::Namespace* const found = subsystem->find_namespace(nsid);
    if (found == nullptr) throw ClosedError(fmt::format("namespace {} is no more", nsid));
    return *found;
  }
  subsystem::Namespace* operator->() const { return &**this; }
};

/// A controller of the subsystem, by its identifier.
struct TargetController {
  HeldSubsystem subsystem;
  std::uint16_t cntlid = 0;

  subsystem::Controller& operator*() const {
    subsystem::Controller* const found = subsystem->find_controller(cntlid);
    if (found == nullptr) throw ClosedError(fmt::format("controller {} is no more", cntlid));
    return *found;
  }
  subsystem::Controller* operator->() const { return &**this; }
};

nvme::AnaState ana_of(const py::handle& value) {
  const auto raw = integer_of(value, "state", 1, 15);
  return static_cast<nvme::AnaState>(raw);
}

HeldSubsystem add_subsystem(const HeldTarget& target, const py::dict& options, const py::object& secrets, bool required) {
  subsystem::SubsystemOptions chosen;
  set_options(chosen, options, "subsystem");
  if (!secrets.is_none()) {
    chosen.authentication.secrets = or_throw(auth::parse_secrets(string_of(secrets, "secrets"), "secrets"));
    chosen.authentication.required = required;
  }
  return {target.box, &target->add_subsystem(std::move(chosen))};
}

TargetNamespace add_namespace(const HeldSubsystem& subsystem, const py::dict& options, const py::object& file) {
  subsystem::NamespaceOptions chosen;
  set_options(chosen, options, "namespace");
  if (const auto good = subsystem::check_options(chosen); !good) throw py::value_error("namespace." + good.error().text);
  if (!file.is_none()) {
    const std::uint64_t bytes = chosen.blocks * (chosen.block_bytes + chosen.metadata_bytes);
    chosen.store = or_throw(subsystem::open_file_store(string_of(py::str(file), "file"), bytes));
  }
  // Names are not used again: a host could take the new namespace for the old one.
  chosen.incarnation = subsystem->incarnations(chosen.nsid != 0 ? chosen.nsid : subsystem->free_nsid());
  subsystem::Namespace* const made = or_throw(subsystem->add_namespace(std::move(chosen)));
  return {subsystem, made->nsid()};
}

Bytes stored(const TargetNamespace& space, std::uint64_t lba, std::uint64_t blocks) {
  if (!space->in_range(lba, blocks))
    throw py::value_error(fmt::format("lba: blocks {} to {} are beyond {}", lba, lba + blocks, space->blocks()));
  Bytes data(blocks * space->block_bytes());
  check_status(space->read(lba, data), "what is stored");
  return data;
}

void store(const TargetNamespace& space, std::uint64_t lba, const py::handle& data) {
  Bytes bytes = bytes_of(data, "data");
  if (bytes.empty() || bytes.size() % space->block_bytes() != 0) {
    throw py::value_error(fmt::format("data: {} bytes are no whole blocks of {}", bytes.size(), space->block_bytes()));
  }
  if (!space->in_range(lba, bytes.size() / space->block_bytes())) throw py::value_error("lba: beyond the namespace");
  check_status(space->write(lba, bytes), "store");
}

}  // namespace

void bind_target(py::module_& m) {
  py::class_<HeldTarget>(m, "Target")
      .def("listen",
           [](const HeldTarget& self, const Held<Machine>& machine, const std::string& transport, std::uint16_t portid,
              const py::dict& options, const py::dict& tcp, const std::string& security, const std::string& psks) {
             const Endpoint& at = self->listen(*machine, transport, portid, options, tcp, {security, psks});
             return py::make_tuple(to_string(at.address), at.port);
           })
      .def("add_subsystem", &add_subsystem)
      .def("expose", [](const HeldTarget& self, std::uint16_t portid,
                        const HeldSubsystem& shown) { self->target().expose(self->target().port(portid), *shown); })
      .def("hide",
           [](const HeldTarget& self, std::uint16_t portid, const HeldSubsystem& hidden) {
             self->target().port(portid);
             self.box->change([=] { self->target().hide(self->target().port(portid), *hidden); });
           })
      .def("add_referral", [](const HeldTarget& self, const std::string& address, std::uint16_t port, const std::string& transport) {
        subsystem::Referral referral;
        referral.traddr = to_string(address_of(py::str(address), "address"));
        referral.trsvcid = std::to_string(port);
        referral.trtype = static_cast<std::uint8_t>(fabrics::transport_named(transport).type);
        self->target().discovery().add_referral(referral);
      });

  py::class_<HeldSubsystem>(m, "Subsystem")
      .def_property_readonly("nqn", [](const HeldSubsystem& self) { return self->options().nqn; })
      .def("add_namespace", &add_namespace)
      .def("remove_namespace",
           [](const HeldSubsystem& self, std::uint32_t nsid) {
             const bool there = self->find_namespace(nsid) != nullptr;
             self.box->change([=] { self->remove_namespace(nsid); });
             return there;
           })
      .def("namespaces",
           [](const HeldSubsystem& self) {
             std::vector<TargetNamespace> all;
             for (const auto& [nsid, space] : self->namespaces()) all.push_back({self, nsid});
             return all;
           })
      .def("controllers",
           [](const HeldSubsystem& self) {
             std::vector<TargetController> all;
             for (const auto& [cntlid, controller] : self->controllers()) all.push_back({self, cntlid});
             return all;
           })
      .def("set_ana_state",
           [](const HeldSubsystem& self, std::uint32_t group, const py::object& state, std::uint16_t portid) {
             self.box->change([=, to = ana_of(state)] { self->set_ana_state(group, to, portid); });
           })
      .def("ana_state", [](const HeldSubsystem& self, std::uint32_t group,
                           std::uint16_t portid) { return static_cast<int>(self->ana_state(group, portid)); })
      .def("set_temperature", [](const HeldSubsystem& self, std::uint16_t kelvins) { self->set_temperature(kelvins); })
      .def("temperature", [](const HeldSubsystem& self) { return self->temperature(); })
      .def("set_critical_warning", [](const HeldSubsystem& self, std::uint8_t bits) { self->set_critical_warning(bits); })
      .def("critical_warning", [](const HeldSubsystem& self) { return self->critical_warning(); })
      .def("set_percentage_used", [](const HeldSubsystem& self, std::uint8_t percent) { self->set_percentage_used(percent); })
      .def("percentage_used", [](const HeldSubsystem& self) { return self->percentage_used(); })
      .def("set_available_spare", [](const HeldSubsystem& self, std::uint8_t percent) { self->set_available_spare(percent); })
      .def("available_spare", [](const HeldSubsystem& self) { return self->available_spare(); })
      .def("allow_any_host", [](const HeldSubsystem& self, bool on) { self->allow_any_host(on); })
      .def("allow_host", [](const HeldSubsystem& self, const std::string& nqn) { self->allow_host(nqn); })
      .def("disallow_host", [](const HeldSubsystem& self, const std::string& nqn) { self->disallow_host(nqn); })
      .def("set_moved", [](const HeldSubsystem& self, bool moved) { self->set_moved(moved); })
      .def("reset", [](const HeldSubsystem& self) { self->reset_subsystem_later(); })
      .def("power_cycle", [](const HeldSubsystem& self) { self.box->change([=] { self->power_cycle(); }); })
      .def("end_associations",
           [](const HeldSubsystem& self, const std::string& why) { self.box->change([=] { self->end_associations(why); }); })
      .def("firmware_active", [](const HeldSubsystem& self) { return self->firmware().active(); })
      .def("firmware_revision", [](const HeldSubsystem& self) { return self->firmware().running(); })
      .def("sanitizing", [](const HeldSubsystem& self) { return self->sanitizer().running(); })
      .def("__eq__", [](const HeldSubsystem& self, const HeldSubsystem& other) { return self == other; })
      .def("__hash__", [](const HeldSubsystem& self) { return reinterpret_cast<std::uintptr_t>(self.thing); });

  py::class_<TargetNamespace>(m, "TargetNamespace")
      .def_readonly("nsid", &TargetNamespace::nsid)
      .def_property_readonly("blocks", [](const TargetNamespace& self) { return self->blocks(); })
      .def_property_readonly("block_bytes", [](const TargetNamespace& self) { return self->block_bytes(); })
      .def_property_readonly(
          "alive",
          [](const TargetNamespace& self) { return !self.subsystem.box->closed() && self.subsystem->find_namespace(self.nsid) != nullptr; })
      .def_property_readonly("uuid", [](const TargetNamespace& self) { return to_python(self->uuid()); })
      .def_property_readonly("nguid", [](const TargetNamespace& self) { return to_python(self->nguid()); })
      .def_property_readonly("totals",
                             [](const TargetNamespace& self) {
                               const subsystem::IoTotals& totals = self->totals();
                               py::dict all;
                               all["reads"] = totals.reads;
                               all["writes"] = totals.writes;
                               all["bytes_read"] = totals.bytes_read;
                               all["bytes_written"] = totals.bytes_written;
                               return all;
                             })
      .def("stored",
           [](const TargetNamespace& self, std::uint64_t lba, std::uint64_t blocks) { return to_python(stored(self, lba, blocks)); })
      .def("store", &store)
      .def("resize",
           [](const TargetNamespace& self, std::uint64_t blocks) {
             const std::uint64_t most = self->store().bytes() / self->block_bytes();
             if (blocks == 0 || blocks > most) throw py::value_error(fmt::format("blocks: {} is outside 1 to {}", blocks, most));
             self.subsystem.box->change([=] { self.subsystem->resize_namespace(self.nsid, blocks); });
           })
      .def("remove",
           [](const TargetNamespace& self) {
             const bool there = self.subsystem->find_namespace(self.nsid) != nullptr;
             self.subsystem.box->change([=] { self.subsystem->remove_namespace(self.nsid); });
             return there;
           })
      .def("set_write_protected", [](const TargetNamespace& self, bool on) { self->set_write_protection(on ? 1 : 0); })
      .def("set_uncorrectable", [](const TargetNamespace& self, std::uint64_t lba, std::uint64_t blocks) {
        if (!self->in_range(lba, blocks)) throw py::value_error("lba: beyond the namespace");
        if (self->write_uncorrectable(lba, blocks)) self.subsystem->lba_status_changed(*self);
      });

  py::class_<TargetController>(m, "TargetController",
                               "A controller of an emulated subsystem, by its identifier: Closed once there is none with it.")
      .def_readonly("cntlid", &TargetController::cntlid, "Controller identifier.")
      .def_property_readonly(
          "state", [](const TargetController& self) { return std::string(subsystem::name_of(self->state())); },
          "Of the controller: by name.")
      .def_property_readonly(
          "in_association", [](const TargetController& self) { return self->in_association(); }, "A host is connected to it.")
      .def_property_readonly(
          "hostnqn", [](const TargetController& self) { return self->host().hostnqn; }, "Of the host that is, or was last.")
      .def_property_readonly(
          "hostid", [](const TargetController& self) { return to_python(self->host().hostid); }, "Of the same host, 16 bytes.")
      .def_property_readonly(
          "kato_ms", [](const TargetController& self) { return self->kato_ms(); }, "Keep Alive Timeout in milliseconds; 0 for none.")
      .def_property_readonly(
          "io_queues", [](const TargetController& self) { return self->io_queues().size(); }, "I/O queues that are connected.")
      .def_property_readonly(
          "csts", [](const TargetController& self) { return self->csts(); }, "The property Controller Status.")
      .def(
          "end_association",
          [](const TargetController& self, const std::string& why) {
            self->cntlid();
            self.subsystem.box->change([=] {
              if (self.subsystem->find_controller(self.cntlid) != nullptr) self->end_association(why);
            });
          },
          "Closes every connection of its host.")
      .def(
          "fail",
          [](const TargetController& self, const std::string& why) {
            self->cntlid();
            self.subsystem.box->change([=] {
              if (self.subsystem->find_controller(self.cntlid) != nullptr) self->fail_association(why);
            });
          },
          "A fatal error: CSTS.CFS is set, and the association ends.")
      .def(
          "drop_io_queue",
          [](const TargetController& self, std::uint16_t qid) {
            subsystem::Queue* const queue = self->io_queue(qid);
            if (queue == nullptr) throw py::value_error(fmt::format("qid: no I/O queue {}", qid));
            self.subsystem.box->change([=] {
              subsystem::Controller* const controller = self.subsystem->find_controller(self.cntlid);
              subsystem::Queue* const found = controller == nullptr ? nullptr : controller->io_queue(qid);
              if (found != nullptr) controller->drop_queue(*found, "a script dropped it");
            });
          },
          "Closes the connection of one I/O queue.");

  m.def("make_target", [](const std::shared_ptr<Box>& box, Fabric* fabric, const py::object& product,
                          const std::vector<std::string>& deviations, const std::string& name) {
    box->check();
    return HeldTarget{box, &box->keep(std::make_unique<TargetSide>(box, product, deviations, fabric, name))};
  });
}

}  // namespace fb::python
