// A host and an emulated subsystem on the loopback fabric, in virtual time.
#pragma once

#include <functional>
#include <memory>

#include "model/host/fault_points.h"
#include "model/host/host.h"
#include "model/subsystem/target.h"
#include "model/transport/loopback.h"

namespace fb::host {

/// Hooks of the subsystem as functions that a test sets.
class ScriptedSubsystem : public subsystem::SubsystemHooks {
 public:
  bool departs(std::string_view point) override { return point == departure; }
  std::optional<nvme::Status> admission(const subsystem::CommandContext& command) override {
    commands.push_back({command.qid, nvme::Sqe{command.sqe}});
    return on_admission ? on_admission(command.qid, commands.back().second) : std::nullopt;
  }
  void property_read(std::uint32_t offset, std::uint64_t& value) override {
    if (on_property_read) on_property_read(offset, value);
  }
  void data_out(const subsystem::CommandContext& command, MutableBytes data) override {
    if (on_data_out) on_data_out(nvme::Sqe{command.sqe}, data);
  }
  void data_in(const subsystem::CommandContext&, MutableBytes data) override {
    if (on_data_in) on_data_in(data);
  }
  Answer completion(const subsystem::CommandContext& command, MutableBytes cqe) override {
    return on_completion ? on_completion(command.qid, nvme::Sqe{command.sqe}, cqe) : Answer::send;
  }

  std::string_view departure;
  std::vector<std::pair<std::uint16_t, nvme::Sqe>> commands;
  std::function<std::optional<nvme::Status>(std::uint16_t, const nvme::Sqe&)> on_admission;
  std::function<void(std::uint32_t, std::uint64_t&)> on_property_read;
  std::function<void(const nvme::Sqe&, MutableBytes)> on_data_out;
  std::function<void(ByteView)> on_data_in;
  std::function<Answer(std::uint16_t, const nvme::Sqe&, MutableBytes)> on_completion;

  std::size_t count(std::uint16_t qid, std::uint8_t opcode) const {
    std::size_t n = 0;
    for (const auto& [queue, sqe] : commands) {
      n += queue == qid && sqe.get(nvme::sqe::opcode) == opcode;
    }
    return n;
  }
  std::size_t count_admin(nvme::AdminOpcode opcode) const { return count(0, static_cast<std::uint8_t>(opcode)); }
  std::size_t count_fabrics(fabrics::FabricsType type) const {
    std::size_t n = 0;
    for (const auto& [queue, sqe] : commands) {
      n += sqe.get(nvme::sqe::opcode) == nvme::kFabricsOpcode && sqe.as<fabrics::AnyFabricsSqe>().get(fabrics::sqe::fctype) == type;
    }
    return n;
  }
  std::vector<nvme::Sqe> io(nvme::IoOpcode opcode) const {
    std::vector<nvme::Sqe> found;
    for (const auto& [queue, sqe] : commands) {
      if (queue != 0 && sqe.get(nvme::sqe::opcode) == static_cast<std::uint8_t>(opcode)) {
        found.push_back(sqe);
      }
    }
    return found;
  }
};

/// Hooks of the host: one departure, or none.
class HostScript : public HostHooks {
 public:
  bool departs(std::string_view asked) override { return asked == departure; }
  std::string_view departure;
};

struct Rig {
  explicit Rig(subsystem::SubsystemOptions options = {}, std::uint64_t seed = 1)
      : world(World::make_virtual(seed)), fabric(*world, {}, &host_hooks) {
    target = std::make_unique<subsystem::Target>(*world, &hooks);
    disk = &target->add_subsystem(std::move(options));
    HostOptions host_options;
    host_options.hooks = &host_hooks;
    host = std::make_unique<Host>(*world, fabric, host_options);
    add_port(1);
  }
  ~Rig() {
    host.reset();
    listeners.clear();
  }

  /// A namespace of `blocks` blocks of 512 bytes in ANA group `group`.
  void add_namespace(std::uint64_t blocks = 131072, std::uint32_t group = 1) {
    subsystem::NamespaceOptions options;
    options.blocks = blocks;
    options.ana_group = group;
    BENCH_ASSERT(disk->add_namespace(std::move(options)).ok(), "room for a namespace");
  }
  static Endpoint endpoint(std::uint16_t portid) { return {IpAddress::v4(192, 0, 2, static_cast<std::uint8_t>(portid)), 4420}; }
  void add_port(std::uint16_t portid) {
    subsystem::PortOptions port;
    port.portid = portid;
    port.traddr = to_string(endpoint(portid).address);
    target->add_port(port);
    listen(portid);
  }
  void listen(std::uint16_t portid) {
    auto listener = fabric.listen(endpoint(portid), target->acceptor(portid), &hooks);
    target->port(portid).set_facts(listener.value()->facts());
    listeners[portid] = std::move(listener).value();
  }
  ConnectOptions to(std::uint16_t portid = 1) const {
    ConnectOptions options;
    options.to = endpoint(portid);
    options.subnqn = disk->options().nqn;
    return options;
  }
  Controller* connect(ConnectOptions options) {
    Controller::Outcome outcome = host->connect(std::move(options)).wait();
    last_error = outcome.ok() ? HostError{} : outcome.error();
    return outcome.ok() ? outcome.value() : nullptr;
  }
  Controller* connect() { return connect(to()); }
  Namespace& ns(std::uint32_t nsid = 1) {
    Namespace* found = host->find(disk->options().nqn, nsid);
    BENCH_ASSERT(found != nullptr, "the test has such a namespace");
    return *found;
  }
  Bytes random(std::size_t bytes, std::string_view name) const {
    Bytes data(bytes);
    world->stream(name).fill(data);
    return data;
  }

  std::unique_ptr<World> world;
  ScriptedSubsystem hooks;
  HostScript host_hooks;
  transport::LoopbackFabric fabric;
  std::unique_ptr<subsystem::Target> target;
  subsystem::Subsystem* disk = nullptr;
  std::map<std::uint16_t, std::unique_ptr<transport::ControllerFabric>> listeners;
  std::unique_ptr<Host> host;
  HostError last_error;
};

}  // namespace fb::host
