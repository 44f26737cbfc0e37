#include "bindings/host.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "base/or_throw.h"
#include "bindings/chosen_deviations.h"
#include "bindings/completion.h"
#include "bindings/errors.h"
#include "bindings/found_connect.h"
#include "bindings/hooks.h"
#include "bindings/host_key_values.h"
#include "bindings/limits.h"
#include "bindings/names.h"
#include "bindings/op.h"
#include "bindings/product_options.h"
#include "bindings/records.h"
#include "model/transport/rdma_host.h"
#include "wire/fabrics/transports.h"

namespace fb::python {

namespace {

host::PathPolicy policy_of(const std::string& name) {
  if (name == "round_robin") return host::PathPolicy::round_robin;
  if (name == "queue_depth") return host::PathPolicy::queue_depth;
  if (name == "numa") return host::PathPolicy::numa;
  throw py::value_error("policy: '" + name + "'; there are round_robin, queue_depth and numa");
}

/// A name of its own for each host of a world, the same in every run.
std::string nqn_of(std::string_view name) {
  const std::uint64_t a = mix64(hash_name(name)), b = mix64(a);
  return fmt::format("nqn.2014-08.org.nvmexpress:uuid:{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", a >> 32, a >> 16 & 0xFFFF, a & 0xFFF,
                     b >> 48 & 0xFFF, b & 0xFFFFFFFFFFFF);
}

host::HostId id_of(std::string_view nqn) {
  host::HostId id{};
  store_le(&id[0], mix64(hash_name(nqn)));
  store_le(&id[8], mix64(mix64(hash_name(nqn))));
  return id;
}

}  // namespace

/// Lives until it is answered.
class HostSide::IoCall final : public host::Command {
 public:
  IoCall(HostSide& side, Bytes room, Promise<host::AdminReply> promise)
      : data(std::move(room)), side_(side), promise_(std::move(promise)) {}
  void on_complete(const nvme::Cqe& cqe, bool answered) override {
    Promise<host::AdminReply> promise = std::move(promise_);
    host::AdminReply reply{answered, cqe, std::move(data), nvme::status_family(sqe.get(nvme::sqe::opcode))};
    side_.calls_.remove_if([this](const auto& call) { return call.get() == this; });  // ends this object
    promise.settle(std::move(reply));
  }
  Bytes data;

 private:
  HostSide& side_;
  Promise<host::AdminReply> promise_;
};

Op<host::AdminReply> HostSide::send_io(host::Controller& controller, const nvme::Sqe& sqe, Bytes data, transport::Direction direction) {
  auto [promise, op] = make_op<host::AdminReply>(world_, fmt::format("{}: I/O command {:02X}h", machine_.name(), sqe.bytes()[0]));
  calls_.push_back(std::make_unique<IoCall>(*this, std::move(data), std::move(promise)));
  IoCall& call = *calls_.back();
  call.sqe = sqe;
  call.transfer.direction = direction;
  call.transfer.data = call.data;
  if (!controller.submit(call)) call.on_complete({}, false);
  return op;
}

HostSide::HostSide(const std::shared_ptr<Box>& box, Machine& machine, const Settings& settings)
    : world_(box->world()), machine_(machine), transport_(settings.transport) {
  using enum deviations::Product;
  const auto deviations = chosen_deviations(settings.deviations, {host, rdma, cm}, {transport_});
  hooks_ = deviations.host_hooks();
  if (!settings.product.is_none()) hooks_ = scripted_host(*box, settings.product, std::move(hooks_));
  Fabric* const fabric = machine.fabric();
  if (fabric != nullptr && fabric->points() != nullptr) {
    hooks_ = std::make_unique<faults::FaultyHost>(*fabric->points(), machine.name(), std::move(hooks_));
  }
  if (transport_ == fabrics::kRdma) {
    if (!settings.psks.empty()) throw py::value_error("host: TLS is of NVMe/TCP");
    if (settings.tcp.size() != 0) throw py::value_error("host: options of TCP for a host over RDMA");
    fabric_ = std::make_unique<transport::RdmaHostFabric>(world_, machine.rdma(deviations.soft_hooks()), hooks_.get());
  } else {
    transport::TcpHostOptions tcp;
    set_options(tcp, settings.tcp, "host.tcp");
    auto made = std::make_unique<transport::TcpHostFabric>(world_, machine.streams(), machine.address(), tcp, hooks_.get());
    if (!settings.psks.empty()) {
      tls_ = std::make_unique<TlsEnd>(machine, settings.psks, machine.name() + ".tls", transport::ChannelSecurity::required);
      made->set_secure_streams(tls_->side.get());
    }
    fabric_ = std::move(made);
  }
  host::HostOptions options;
  options.hooks = hooks_.get();
  options.actor = machine.name();
  options.hostnqn = settings.hostnqn.empty() ? nqn_of(machine.name()) : settings.hostnqn;
  options.hostid = id_of(options.hostnqn);
  host_ = std::make_unique<host::Host>(world_, *fabric_, options, policy_of(settings.policy));
  host_->add_listener(*this);
}

HostSide::~HostSide() = default;

void HostSide::on_state(host::Controller& controller, host::ControllerState state) {
  history_[&controller].push_back({seconds(world_.now()), state});
}

void HostSide::on_event(host::Controller& controller, const nvme::Event& event, ByteView log) {
  HostEvent made{seconds(world_.now()), &controller, event, Bytes(log.begin(), log.end())};
  while (!waiting_.empty()) {
    Promise<HostEvent> promise = std::move(waiting_.front());
    waiting_.pop_front();
    if (!promise.wanted()) continue;
    promise.settle(std::move(made));
    return;
  }
  events_.push_back(std::move(made));
}

Op<HostEvent> HostSide::next_event() {
  auto [promise, op] = make_op<HostEvent>(world_, machine_.name() + ": an asynchronous event");
  if (events_.empty()) {
    waiting_.push_back(std::move(promise));
  } else {
    promise.settle(std::move(events_.front()));
    events_.pop_front();
  }
  return op;
}

namespace {

using HeldHost = Held<HostSide>;

/// Controllers and namespaces of a host live as long as it does.
struct HostController {
  HeldHost host;
  host::Controller* controller = nullptr;
  host::Controller* operator->() const {
    host.box->check();
    return controller;
  }
  host::Controller& operator*() const { return *operator->(); }
};

struct HostNamespace {
  HeldHost host;
  host::Namespace* space = nullptr;
  host::Namespace* operator->() const {
    host.box->check();
    return space;
  }
};

const char* name_of_kind(host::HostError::Kind kind) {
  constexpr const char* kNames[] = {"transport", "refused", "command", "timeout", "violation", "authentication", "unsupported", "closed"};
  return kNames[static_cast<std::size_t>(kind)];
}

[[noreturn]] void throw_host_error(const host::HostError& error) {
  py::dict attributes;
  attributes["kind"] = name_of_kind(error.kind);
  attributes["status"] = error.status;
  attributes["permanent"] = error.permanent;
  attributes["parameter_offset"] = error.parameter.offset;
  attributes["parameter_in_data"] = error.parameter.in_data;
  std::string text = error.text;
  if (error.kind == host::HostError::Kind::refused || error.kind == host::HostError::Kind::command) {
    const std::string status = nvme::to_string(error.status);
    if (text.find(nvme::name_of(error.status)) == std::string::npos) text += ": " + status;
  }
  throw_error("ConnectError", text, attributes);
}

auto plain_result(const char*) {
  return [](const Result<void, host::HostError>& result) -> py::object {
    if (!result) throw_host_error(result.error());
    return py::none();
  };
}

std::unique_ptr<PyOp> connect(const HeldHost& self, const std::string& address, std::uint16_t port, const std::string& nqn,
                              const py::dict& options, const py::object& secret, const py::object& controller_secret, bool tls) {
  host::ConnectOptions chosen;
  chosen.tls = tls ? host::TlsUse::always : host::TlsUse::never;
  if (tls && !self->fabric().secures()) throw py::value_error("connect: TLS needs a host with keys (psks)");
  set_options(chosen, options, "connect");
  require_within("connect.queue_entries", chosen.queue_entries, std::uint16_t{2});
  require_within("connect.admin_entries", chosen.admin_entries, std::uint16_t{2});
  require_within("connect.transfer_max_bytes", chosen.transfer_max_bytes, std::uint32_t{4096});
  chosen.to = {address_of(py::str(address), "address"), port};
  chosen.subnqn = nqn;
  const auto parsed = [](const py::object& text) { return or_throw(auth::Secret::parse(string_of(text, "secret"))); };
  if (!secret.is_none()) chosen.authentication.secret = parsed(secret);
  if (!controller_secret.is_none()) chosen.authentication.controller_secret = parsed(controller_secret);
  auto begun = nqn.empty() ? connect_to_found(*self.box, *self, std::move(chosen)) : self->host().connect(std::move(chosen));
  return make_py_op(self.box, std::move(begun), [self](const host::Controller::Outcome& outcome) -> py::object {
    if (!outcome) throw_host_error(outcome.error());
    return py::cast(HostController{self, *outcome});
  });
}

nvme::Sqe sqe_of(const py::handle& command) {
  const Bytes bytes = record_bytes(command, "command");
  if (bytes.size() != nvme::kSqeSize) throw py::value_error(fmt::format("command: {} bytes, an entry has 64", bytes.size()));
  return nvme::Sqe{bytes};
}

/// An admin or an I/O command with data, or room for some.
template <class Send>
std::unique_ptr<PyOp> command_op(const HostController& self, const py::object& data, std::size_t room, Send&& send) {
  if (!data.is_none() && room != 0) throw py::value_error("command: data goes there, or room for what comes back, not both");
  if (room > (1u << 30)) throw py::value_error(fmt::format("room: {} is outside 0 to {}", room, 1u << 30));
  auto op = !data.is_none() ? send(record_bytes(data, "data"), transport::Direction::to_controller)
            : room != 0     ? send(Bytes(room), transport::Direction::from_controller)
                            : send(Bytes{}, transport::Direction::none);
  return make_py_op(self.host.box, std::move(op), [](const host::AdminReply& reply) { return py::cast(completion_of(reply)); });
}

std::unique_ptr<PyOp> io(const HostController& self, const py::object& command, const py::object& data, std::size_t room) {
  const nvme::Sqe sqe = sqe_of(command);
  return command_op(self, data, room, [&](Bytes bytes, transport::Direction direction) {
    return self.host->send_io(*self, sqe, std::move(bytes), direction);
  });
}

std::unique_ptr<PyOp> admin(const HostController& self, const py::object& command, const py::object& data, std::size_t room) {
  const nvme::Sqe sqe = sqe_of(command);
  return command_op(self, data, room, [&](const Bytes& bytes, transport::Direction direction) {
    if (direction == transport::Direction::to_controller) return self->admin(sqe, ByteView(bytes));
    return direction == transport::Direction::none ? self->admin(sqe) : self->admin(sqe, bytes.size());
  });
}

std::unique_ptr<PyOp> io_op(const HostNamespace& self, Op<nvme::Status> op, const std::string& what) {
  return make_py_op(self.host.box, std::move(op), [what](const nvme::Status& status) -> py::object {
    check_status(status, what);
    return py::none();
  });
}

std::string place(const char* verb, const HostNamespace& self, std::uint64_t lba) {
  return fmt::format("{} at block {} of namespace {}", verb, lba, self.space->nsid());
}

void check_blocks(std::uint64_t blocks) {
  if (blocks == 0) throw py::value_error("blocks: at least one");
}

/// `first` and `count` are checked here and not by their types: a wrong one is named in one line, at no cost of a read.
std::unique_ptr<PyOp> read(const HostNamespace& self, const py::object& first, const py::object& count, const py::object& into) {
  constexpr std::uint64_t kAny = ~std::uint64_t{0};
  const std::uint64_t lba = integer_of(first, "lba", 0, kAny), blocks = integer_of(count, "blocks", 0, kAny);
  const std::uint32_t block = self->block_bytes();
  if (!into.is_none()) {
    Memory memory = memory_of(into, true, "into");
    if (memory.bytes.empty() || memory.bytes.size() % block != 0) {
      throw py::value_error(fmt::format("into: {} bytes are no whole blocks of {}", memory.bytes.size(), block));
    }
    Op<nvme::Status> op = self->read(lba, memory.bytes);
    keep_until_settled(op, memory.view);
    return make_py_op(self.host.box, std::move(op),
                      [what = place("read", self, lba), view = memory.view, into](const nvme::Status& status) {
                        check_status(status, what);
                        return into;
                      });
  }
  check_blocks(blocks);
  if (blocks > (std::uint64_t{1} << 34) / block) throw py::value_error("blocks: more than 16 GiB at once");
  // Nobody else sees the new object before it is filled.
  py::object made = py::reinterpret_steal<py::object>(PyBytes_FromStringAndSize(nullptr, static_cast<py::ssize_t>(blocks * block)));
  if (!made) throw py::error_already_set();
  auto* const memory = reinterpret_cast<std::uint8_t*>(PyBytes_AS_STRING(made.ptr()));
  Op<nvme::Status> op = self->read(lba, {memory, blocks * block});
  auto held = hold(made);
  keep_until_settled(op, held);
  return make_py_op(self.host.box, std::move(op), [what = place("read", self, lba), held](const nvme::Status& status) {
    check_status(status, what);
    return py::reinterpret_borrow<py::object>(held.get());
  });
}

/// Data on its way to the controller. Where the host writes tags into it, it is a copy.
using SendsData = Op<nvme::Status> (host::Namespace::*)(std::uint64_t, MutableBytes);
std::unique_ptr<PyOp> send(const HostNamespace& self, std::uint64_t lba, const py::object& data, const char* verb, SendsData call) {
  host::Namespace& space = *self.operator->();
  const std::uint32_t block = space.block_bytes();
  const std::string what = place(verb, self, lba);
  Memory memory = memory_of(data, false, "data");
  if (memory.bytes.empty() || memory.bytes.size() % block != 0) {
    throw py::value_error(fmt::format("data: {} bytes are no whole blocks of {}", memory.bytes.size(), block));
  }
  if (space.facts().protection == host::ProtectionUse::host && space.facts().layout.is_protected()) {
    auto copy = std::make_shared<Bytes>(memory.bytes.begin(), memory.bytes.end());
    Op<nvme::Status> op = (space.*call)(lba, *copy);
    keep_until_settled(op, copy);
    return io_op(self, std::move(op), what);
  }
  Op<nvme::Status> op = (space.*call)(lba, memory.bytes);
  keep_until_settled(op, memory.view);
  return io_op(self, std::move(op), what);
}

std::unique_ptr<PyOp> compare_and_write(const HostNamespace& self, std::uint64_t lba, const py::object& expected, const py::object& data) {
  auto both = std::make_shared<std::pair<Bytes, Bytes>>(bytes_of(expected, "expected"), bytes_of(data, "data"));
  if (both->first.size() != both->second.size()) throw py::value_error("data: as long as what is expected");
  auto op = self->compare_and_write(lba, both->first, both->second);
  keep_until_settled(op, both);
  return make_py_op(self.host.box, std::move(op),
                    [what = place("compare and write", self, lba)](const std::pair<nvme::Status, nvme::Status>& status) -> py::object {
                      check_status(status.first, what + " (compare)");
                      check_status(status.second, what + " (write)");
                      return py::none();
                    });
}

std::unique_ptr<PyOp> append(const HostNamespace& self, std::uint64_t start, const py::object& data) {
  auto copy = std::make_shared<Bytes>(bytes_of(data, "data"));
  auto op = self->zone_append(start, *copy);
  keep_until_settled(op, copy);
  return make_py_op(self.host.box, std::move(op), [what = place("zone append", self, start)](const host::ZoneAppended& done) -> py::object {
    check_status(done.status, what);
    return py::int_(done.lba);
  });
}

std::unique_ptr<PyOp> report_zones(const HostNamespace& self, std::uint64_t lba) {
  return make_py_op(self.host.box, self->report_zones(lba),
                    [what = place("report zones", self, lba)](const host::ZoneReport& report) -> py::object {
                      check_status(report.status, what);
                      py::list zones;
                      for (const nvme::ZoneFacts& zone : report.zones) {
                        py::dict one;
                        one["start"] = zone.start;
                        one["capacity"] = zone.capacity;
                        one["write_pointer"] = zone.write_pointer;
                        one["state"] = static_cast<int>(zone.state);
                        one["attributes"] = zone.attributes;
                        zones.append(one);
                      }
                      return zones;
                    });
}

py::list paths_of(const HostNamespace& self) {
  constexpr const char* kStates[] = {"optimized", "non_optimized", "change", "inaccessible", "down", "lost"};
  py::list all;
  for (const host::Path& path : self->paths().all()) {
    all.append(py::make_tuple(py::cast(HostController{self.host, path.controller}), kStates[static_cast<std::size_t>(path.state)]));
  }
  return all;
}

host::ControllerState state_named(const std::string& name) {
  for (unsigned i = 0; i <= static_cast<unsigned>(host::ControllerState::gone); ++i) {
    const auto state = static_cast<host::ControllerState>(i);
    if (host::name_of(state) == name) return state;
  }
  throw py::value_error("state: '" + name + "' is none of a controller");
}

std::unique_ptr<PyOp> discover(const HeldHost& self, const std::string& address, std::uint16_t port, bool follow) {
  host::DiscoveryOptions options;
  options.to = {address_of(py::str(address), "address"), port};
  options.follow_referrals = follow;
  auto client = std::make_shared<host::DiscoveryClient>(self->host());
  auto op = client->discover(options);
  // It must not outlive its host, nor end inside a call of its own: the box lets it go.
  self.box->keep(std::make_unique<std::shared_ptr<host::DiscoveryClient>>(client));
  return make_py_op(self.box, std::move(op), [](const host::DiscoveryClient::Outcome& outcome) -> py::object {
    if (!outcome) throw_host_error(outcome.error());
    py::list all;
    for (const host::DiscoveredEntry& entry : outcome->entries) {
      py::dict one;
      one["subnqn"] = entry.subnqn;
      one["traddr"] = entry.traddr;
      one["trsvcid"] = entry.trsvcid;
      one["transport"] = entry.trtype == fabrics::TransportType::tcp ? fabrics::kTcp : fabrics::kRdma;
      one["portid"] = entry.portid;
      one["cntlid"] = entry.cntlid;
      one["subtype"] = static_cast<int>(entry.subtype);
      one["usable"] = entry.usable;
      all.append(one);
    }
    return all;
  });
}

}  // namespace

void bind_host(py::module_& m) {
  py::class_<HeldHost>(m, "Host")
      .def_property_readonly("name", [](const HeldHost& self) { return self->machine().name(); })
      .def_property_readonly("hostnqn", [](const HeldHost& self) { return self->host().options().hostnqn; })
      .def_property_readonly("hostid", [](const HeldHost& self) { return to_python(self->host().options().hostid); })
      .def_property_readonly("transport", [](const HeldHost& self) { return self->transport(); })
      .def("connect", &connect)
      .def("discover", &discover)
      .def("shutdown",
           [](const HeldHost& self) {
             return make_py_op(self.box, self->host().shutdown_all(), [](const bool&) -> py::object { return py::none(); });
           })
      .def("controllers",
           [](const HeldHost& self) {
             std::vector<HostController> all;
             for (host::Controller* one : self->host().controllers()) all.push_back({self, one});
             return all;
           })
      .def("namespaces",
           [](const HeldHost& self) {
             std::vector<HostNamespace> all;
             for (host::Namespace* one : self->host().namespaces()) {
               if (!one->paths().all().empty()) all.push_back({self, one});
             }
             return all;
           })
      .def("next_event",
           [](const HeldHost& self) {
             return make_py_op(
                 self.box, self->next_event(),
                 [self](const HostEvent& event) {
                   py::dict one;
                   one["at"] = event.at;
                   one["controller"] = py::cast(HostController{self, event.controller});
                   one["type"] = static_cast<int>(event.event.type);
                   one["info"] = event.event.info;
                   one["log_page"] = event.event.lid;
                   one["log"] = to_python(event.log);
                   return one;
                 },
                 false);
           })
      .def_property_readonly("events_waiting", [](const HeldHost& self) { return self->events_waiting(); });

  py::class_<HostController>(m, "HostController")
      .def_property_readonly("cntlid", [](const HostController& self) { return self->facts().cntlid; })
      .def_property_readonly("state", [](const HostController& self) { return std::string(host::name_of(self->state())); })
      .def_property_readonly("live", [](const HostController& self) { return self->live(); })
      .def_property_readonly("attempts", [](const HostController& self) { return self->attempts(); })
      .def_property_readonly("keep_alives_sent", [](const HostController& self) { return self->keep_alives_sent(); })
      .def_property_readonly("error", [](const HostController& self) { return self->error().text; })
      .def_property_readonly("error_kind", [](const HostController& self) { return name_of_kind(self->error().kind); })
      .def_property_readonly("subnqn", [](const HostController& self) { return self->options().subnqn; })
      .def_property_readonly("io_queues", [](const HostController& self) { return self->io_queue_count(); })
      .def_property_readonly("facts",
                             [](const HostController& self) {
                               const host::ControllerFacts& facts = self->facts();
                               py::dict all;
                               all["cap"] = facts.cap;
                               all["vs"] = facts.vs;
                               all["cntlid"] = facts.cntlid;
                               all["max_transfer"] = facts.max_transfer;
                               all["io_entries"] = facts.io_entries;
                               all["io_queues"] = facts.io_queues;
                               all["in_capsule_bytes"] = facts.in_capsule_bytes;
                               all["traffic_keep_alive"] = facts.traffic_keep_alive;
                               all["keep_alive_time"] = seconds(facts.keep_alive_time);
                               all["ana"] = facts.ana;
                               return all;
                             })
      .def_property_readonly("history",
                             [](const HostController& self) {
                               py::list all;
                               for (const auto& change : self.host->history(*self)) {
                                 all.append(py::make_tuple(change.at, std::string(host::name_of(change.state))));
                               }
                               return all;
                             })
      .def("ana_state", [](const HostController& self, std::uint32_t group) { return static_cast<int>(self->ana_state(group)); })
      .def("admin", &admin, py::arg("command"), py::arg("data") = py::none(), py::arg("room") = 0)
      .def("io", &io, py::arg("command"), py::arg("data") = py::none(), py::arg("room") = 0)
      .def("read_log",
           [](const HostController& self, std::uint8_t page, std::uint32_t length, std::uint8_t lsp) {
             return make_py_op(self.host.box, self->read_log(static_cast<nvme::LogPage>(page), length, lsp),
                               [](const host::AdminReply& reply) { return py::cast(completion_of(reply)); });
           })
      .def("shutdown", [](const HostController& self) { return make_py_op(self.host.box, self->shutdown(), plain_result("shutdown")); })
      .def("reset", [](const HostController& self) { return make_py_op(self.host.box, self->reset(), plain_result("reset")); })
      .def("reauthenticate",
           [](const HostController& self) { return make_py_op(self.host.box, self->reauthenticate(), plain_result("reauthenticate")); })
      .def("disconnect",
           [](const HostController& self) {
             self->state();
             self.host.box->change([=] { self->disconnect(); });
           })
      .def("rescan", [](const HostController& self) { self->rescan(); })
      .def("reached",
           [](const HostController& self, const std::string& state) {
             return make_py_op(self.host.box, self->reached(state_named(state)), [](const host::ControllerState& reached) -> py::object {
               return py::str(std::string(host::name_of(reached)));
             });
           })
      .def("namespaces",
           [](const HostController& self) {
             std::vector<HostNamespace> all;
             for (host::Namespace* one : self.host->host().namespaces()) {
               if (one->has_path(*self)) all.push_back({self.host, one});
             }
             return all;
           })
      .def("__eq__", [](const HostController& self, const HostController& other) { return self.controller == other.controller; })
      .def("__hash__", [](const HostController& self) { return reinterpret_cast<std::uintptr_t>(self.controller); });

  py::class_<HostNamespace>(m, "HostNamespace")
      .def_property_readonly("nsid", [](const HostNamespace& self) { return self->nsid(); })
      .def_property_readonly("blocks", [](const HostNamespace& self) { return self->blocks(); })
      .def_property_readonly("block_bytes", [](const HostNamespace& self) { return self->block_bytes(); })
      .def_property_readonly("subnqn", [](const HostNamespace& self) { return self->subnqn(); })
      .def_property_readonly("max_transfer", [](const HostNamespace& self) { return self->max_transfer(); })
      .def_property_readonly("waiting", [](const HostNamespace& self) { return self->waiting(); })
      .def_property_readonly("retries", [](const HostNamespace& self) { return self->retries(); })
      .def_property_readonly("command_set", [](const HostNamespace& self) { return static_cast<int>(self->facts().command_set); })
      .def_property_readonly("identity", [](const HostNamespace& self) { return to_python(self->facts().identity); })
      .def("paths", &paths_of)
      .def("read", &read, py::arg("lba"), py::arg("blocks") = 1, py::arg("into") = py::none())
      .def("write", [](const HostNamespace& self, std::uint64_t lba,
                       const py::object& data) { return send(self, lba, data, "write", &host::Namespace::write); })
      .def("compare", [](const HostNamespace& self, std::uint64_t lba,
                         const py::object& data) { return send(self, lba, data, "compare", &host::Namespace::compare); })
      .def("flush", [](const HostNamespace& self) { return io_op(self, self->flush(), place("flush", self, 0)); })
      .def("write_zeroes",
           [](const HostNamespace& self, std::uint64_t lba, std::uint64_t blocks) {
             check_blocks(blocks);
             return io_op(self, self->write_zeroes(lba, blocks), place("write zeroes", self, lba));
           })
      .def("verify",
           [](const HostNamespace& self, std::uint64_t lba, std::uint64_t blocks) {
             check_blocks(blocks);
             return io_op(self, self->verify(lba, blocks), place("verify", self, lba));
           })
      .def("write_uncorrectable",
           [](const HostNamespace& self, std::uint64_t lba, std::uint64_t blocks) {
             check_blocks(blocks);
             return io_op(self, self->write_uncorrectable(lba, blocks), place("write uncorrectable", self, lba));
           })
      .def("set_placement", [](const HostNamespace& self, std::optional<std::uint16_t> identifier) { self->set_placement(identifier); })
      .def("deallocate",
           [](const HostNamespace& self, std::uint64_t lba, std::uint64_t blocks) {
             check_blocks(blocks);
             return io_op(self, self->deallocate(lba, blocks), place("deallocate", self, lba));
           })
      .def("copy",
           [](const HostNamespace& self, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& from, std::uint64_t to) {
             std::vector<host::BlockRun> runs;
             for (const auto& [lba, blocks] : from) runs.push_back({lba, blocks});
             if (runs.empty()) throw py::value_error("copy: at least one source range");
             return io_op(self, self->copy(runs, to), place("copy", self, to));
           })
      .def("compare_and_write", &compare_and_write)
      .def("key_value",
           [](const HostNamespace& self, std::uint8_t opcode, const py::object& key, const py::object& value, std::size_t room,
              std::uint8_t options) {
             return key_value_op(self.host.box, *self.operator->(),
                                 {static_cast<nvme::KvOpcode>(opcode), bytes_of(key, "key"), bytes_of(value, "value"), room, options});
           })
      .def("zone_append", &append)
      .def("report_zones", &report_zones)
      .def("zone_send",
           [](const HostNamespace& self, std::uint8_t action, std::uint64_t start, bool all, bool random) {
             return io_op(self, self->zone_send(static_cast<nvme::ZoneSendAction>(action), start, all, random),
                          place("zone send", self, start));
           })
      .def("__eq__", [](const HostNamespace& self, const HostNamespace& other) { return self.space == other.space; })
      .def("__hash__", [](const HostNamespace& self) { return reinterpret_cast<std::uintptr_t>(self.space); });

  m.def("make_host", [](const std::shared_ptr<Box>& box, const Held<Machine>& machine, const std::string& transport,
                        const std::string& hostnqn, const std::string& policy, const py::dict& tcp, const py::object& product,
                        const std::vector<std::string>& deviations, const std::string& psks) {
    box->check();
    HostSide::Settings settings{transport, hostnqn, policy, tcp, product, deviations, psks};
    return HeldHost{box, &box->keep(std::make_unique<HostSide>(box, *machine, settings))};
  });
}

}  // namespace fb::python
