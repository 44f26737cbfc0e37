// Subsystems and hosts of a world.
#include <fabricbench/host.h>
#include <fabricbench/subsystem.h>
#include <fmt/format.h>

#include "api/parts.h"
#include "base/or_throw.h"
#include "base/rng.h"
#include "model/subsystem/check_options.h"
#include "model/transport/rdma_controller.h"
#include "model/transport/rdma_host.h"
#include "model/transport/tcp_controller.h"
#include "model/transport/tcp_host.h"

namespace fabricbench {

namespace {

constexpr std::uint16_t kPort = 4420;
using Product = fb::deviations::Product;

std::string place(const char* verb, std::uint32_t nsid, std::uint64_t lba) {
  return fmt::format("{} at block {} of namespace {}", verb, lba, nsid);
}

/// Whole blocks alone.
fb::Bytes blocks_of(const Bytes& data, std::uint32_t block) {
  if (data.empty() || data.size() % block != 0) throw Error(fmt::format("data: {} bytes are no whole blocks of {}", data.size(), block));
  return fb::Bytes(data.begin(), data.end());
}

/// The same for each name in every run.
std::string nqn_of(std::string_view name) {
  const std::uint64_t a = fb::mix64(fb::hash_name(name)), b = fb::mix64(a);
  return fmt::format("nqn.2014-08.org.nvmexpress:uuid:{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", a >> 32, a >> 16 & 0xFFFF, a & 0xFFF,
                     b >> 48 & 0xFFF, b & 0xFFFFFFFFFFFF);
}

}  // namespace

struct Subsystem::Part {
  fb::deviations::DeviationSet deviations;
  std::unique_ptr<Machine> machine;
  std::unique_ptr<fb::subsystem::SubsystemHooks> hooks;
  std::vector<std::unique_ptr<fb::transport::ControllerFabric>> listeners;  // outlive the target's channels
  std::unique_ptr<fb::subsystem::Target> target;
  fb::subsystem::Subsystem* subsystem = nullptr;

  void add_port(std::uint16_t portid) {
    fb::subsystem::PortOptions port;
    port.portid = portid;
    port.traddr = machine->address_text;
    port.trsvcid = std::to_string(kPort);
    port.family = fb::fabrics::AddressFamily::ipv4;
    target->add_port(port);
  }
  void listen(fb::World& world) {
    fb::transport::ControllerFabricOptions options;
    options.port = kPort;
    add_port(1);
    listeners.push_back(
        fb::or_throw(fb::transport::RdmaControllerFabric::start(world, *machine->device, options, target->acceptor(1), hooks.get())));
    target->set_listener(1, *listeners.back());
    add_port(2);
    listeners.push_back(fb::or_throw(
        fb::transport::TcpControllerFabric::start(world, machine->host, machine->address, options, {}, target->acceptor(2), hooks.get())));
    target->set_listener(2, *listeners.back());
  }
  fb::subsystem::Namespace& space(std::uint32_t nsid) const {
    fb::subsystem::Namespace* const found = subsystem->find_namespace(nsid);
    if (found == nullptr) throw Error(fmt::format("the subsystem has no namespace {}", nsid));
    return *found;
  }
  void check_range(std::uint32_t nsid, std::uint64_t lba, std::uint64_t blocks) const {
    if (!space(nsid).in_range(lba, blocks)) throw Error(fmt::format("blocks {} to {} are beyond namespace {}", lba, lba + blocks, nsid));
  }
};

Subsystem World::add_subsystem(const SubsystemOptions& options) {
  return guarded([&] {
    auto made = std::make_unique<Subsystem::Part>();
    made->deviations = deviations_named(options.deviations, {Product::controller, Product::rdma, Product::cm}, {"rdma", "tcp"});
    made->machine = part_->make_machine(options.name, made->deviations.soft_hooks());
    made->hooks = made->deviations.subsystem_hooks();
    if (part_->faults.points() != nullptr) {
      made->hooks =
          std::make_unique<fb::faults::FaultySubsystem>(*part_->world, *part_->faults.points(), options.name, std::move(made->hooks));
    }
    made->target = std::make_unique<fb::subsystem::Target>(*part_->world, made->hooks.get());
    fb::subsystem::SubsystemOptions chosen;
    if (!options.nqn.empty()) chosen.nqn = options.nqn;
    if (!options.serial.empty()) chosen.serial = options.serial;
    if (!options.model.empty()) chosen.model = options.model;
    if (const auto good = fb::subsystem::check_options(chosen); !good) throw Error("subsystem." + good.error().text);
    made->subsystem = &made->target->add_subsystem(std::move(chosen));
    made->listen(*part_->world);
    for (const std::uint16_t portid : {std::uint16_t{1}, std::uint16_t{2}})
      made->target->expose(made->target->port(portid), *made->subsystem);
    return Subsystem(part_->keep(std::move(made)));
  });
}

const std::string& Subsystem::nqn() const { return part_->subsystem->options().nqn; }
const std::string& Subsystem::address() const { return part_->machine->address_text; }

std::uint32_t Subsystem::add_namespace(const NamespaceOptions& options) {
  return guarded([&] {
    fb::subsystem::NamespaceOptions chosen;
    chosen.blocks = options.blocks;
    chosen.block_bytes = options.block_bytes;
    if (const auto good = fb::subsystem::check_options(chosen); !good) throw Error("namespace." + good.error().text);
    chosen.incarnation = part_->subsystem->incarnations(part_->subsystem->free_nsid());
    return fb::or_throw(part_->subsystem->add_namespace(std::move(chosen)))->nsid();
  });
}

void Subsystem::remove_namespace(std::uint32_t nsid) {
  part_->space(nsid);
  part_->subsystem->remove_namespace(nsid);
}

Bytes Subsystem::stored(std::uint32_t nsid, std::uint64_t lba, std::uint64_t blocks) const {
  part_->check_range(nsid, lba, blocks);
  fb::subsystem::Namespace& space = part_->space(nsid);
  fb::Bytes data(blocks * space.block_bytes());
  check_status(space.read(lba, data), place("what is stored", nsid, lba));
  return Bytes(data.begin(), data.end());
}

void Subsystem::store(std::uint32_t nsid, std::uint64_t lba, const Bytes& data) {
  fb::subsystem::Namespace& space = part_->space(nsid);
  fb::Bytes copy = blocks_of(data, space.block_bytes());
  part_->check_range(nsid, lba, copy.size() / space.block_bytes());
  check_status(space.write(lba, copy), place("store", nsid, lba));
}

struct Host::Part {
  World::Part* world = nullptr;
  fb::deviations::DeviationSet deviations;
  std::string transport;
  std::unique_ptr<Machine> machine;
  std::unique_ptr<fb::host::HostHooks> hooks;
  std::unique_ptr<fb::transport::HostFabric> fabric;
  std::unique_ptr<fb::host::Host> host;
};

Host World::add_host(const HostOptions& options) {
  return guarded([&] {
    if (options.transport != "tcp" && options.transport != "rdma")
      throw Error("transport: '" + options.transport + "'; there are tcp and rdma");
    auto made = std::make_unique<Host::Part>();
    made->world = part_.get();
    made->transport = options.transport;
    made->deviations = deviations_named(options.deviations, {Product::host, Product::rdma, Product::cm}, {options.transport});
    made->machine = part_->make_machine(options.name, made->deviations.soft_hooks());
    made->hooks = made->deviations.host_hooks();
    if (part_->faults.points() != nullptr) {
      made->hooks = std::make_unique<fb::faults::FaultyHost>(*part_->faults.points(), options.name, std::move(made->hooks));
    }
    if (options.transport == "rdma") {
      if (options.header_digest || options.data_digest) throw Error("digests are of NVMe/TCP");
      made->fabric = std::make_unique<fb::transport::RdmaHostFabric>(*part_->world, *made->machine->device, made->hooks.get());
    } else {
      fb::transport::TcpHostOptions tcp;
      tcp.header_digest = options.header_digest;
      tcp.data_digest = options.data_digest;
      made->fabric = std::make_unique<fb::transport::TcpHostFabric>(*part_->world, made->machine->host, made->machine->address, tcp,
                                                                    made->hooks.get());
    }
    fb::host::HostOptions chosen;
    chosen.hooks = made->hooks.get();
    chosen.actor = options.name;
    chosen.hostnqn = options.hostnqn.empty() ? nqn_of(options.name) : options.hostnqn;
    const std::uint64_t id = fb::mix64(fb::hash_name(chosen.hostnqn));
    fb::store_le(&chosen.hostid[0], id);
    fb::store_le(&chosen.hostid[8], fb::mix64(id));
    made->host = std::make_unique<fb::host::Host>(*part_->world, *made->fabric, chosen);
    return Host(part_->keep(std::move(made)));
  });
}

struct Association::Part {
  fb::host::Host* host = nullptr;
  fb::host::Controller* controller = nullptr;

  fb::host::Namespace& space(std::uint32_t nsid) const {
    fb::host::Namespace* const found = host->find(*controller, nsid);
    if (found == nullptr) throw Error(fmt::format("the host knows no namespace {}", nsid));
    return *found;
  }
};

const std::string& Host::hostnqn() const { return part_->host->options().hostnqn; }
const std::string& Host::address() const { return part_->machine->address_text; }

Association Host::connect(const Subsystem& subsystem, const ConnectOptions& options) {
  return guarded([&] {
    fb::host::ConnectOptions chosen;
    chosen.to = {subsystem.part_->machine->address, kPort};
    chosen.subnqn = subsystem.nqn();
    chosen.io_queues = options.io_queues;
    chosen.queue_entries = options.queue_entries;
    chosen.admin_entries = options.admin_entries;
    chosen.kato_ms = static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(options.keep_alive).count());
    const auto outcome = part_->host->connect(std::move(chosen)).wait();
    if (!outcome) throw CommandError(outcome.error().text, status_of(outcome.error().status));
    auto made = std::make_unique<Association::Part>();
    made->host = part_->host.get();
    made->controller = *outcome;
    return Association(part_->world->keep(std::move(made)));
  });
}

std::string Association::state() const { return std::string(fb::host::name_of(part_->controller->state())); }
bool Association::live() const { return part_->controller->state() == fb::host::ControllerState::live; }
std::uint16_t Association::cntlid() const { return part_->controller->facts().cntlid; }

Bytes Association::identify() const { return part_->controller->facts().identify; }

std::vector<std::uint32_t> Association::namespaces() const {
  std::vector<std::uint32_t> all;
  for (const fb::host::NamespaceFacts& one : part_->controller->namespaces()) all.push_back(one.nsid);
  return all;
}

std::uint32_t Association::block_bytes(std::uint32_t nsid) const { return part_->space(nsid).block_bytes(); }

Bytes Association::read(std::uint32_t nsid, std::uint64_t lba, std::uint64_t blocks) {
  return guarded([&] {
    if (blocks == 0 || blocks > (std::uint64_t{1} << 20)) throw Error(fmt::format("read: {} blocks; 1 to 1048576 are possible", blocks));
    fb::host::Namespace& space = part_->space(nsid);
    fb::Bytes data(blocks * space.block_bytes());
    check_status(space.read(lba, data).wait(), place("read", nsid, lba));
    return Bytes(data.begin(), data.end());
  });
}

void Association::write(std::uint32_t nsid, std::uint64_t lba, const Bytes& data) {
  guarded([&] {
    fb::host::Namespace& space = part_->space(nsid);
    fb::Bytes copy = blocks_of(data, space.block_bytes());
    check_status(space.write(lba, copy).wait(), place("write", nsid, lba));
  });
}

void Association::compare(std::uint32_t nsid, std::uint64_t lba, const Bytes& data) {
  guarded([&] {
    fb::host::Namespace& space = part_->space(nsid);
    fb::Bytes copy = blocks_of(data, space.block_bytes());
    check_status(space.compare(lba, copy).wait(), place("compare", nsid, lba));
  });
}

void Association::flush(std::uint32_t nsid) {
  guarded([&] { check_status(part_->space(nsid).flush().wait(), fmt::format("flush of namespace {}", nsid)); });
}

Completion Association::admin(const Command& command, std::size_t room) {
  return guarded([&] {
    const fb::nvme::Sqe sqe = sqe_of(command);
    const fb::host::AdminReply reply = (room == 0 ? part_->controller->admin(sqe) : part_->controller->admin(sqe, room)).wait();
    return completion_of(reply, reply.answered, reply.answered ? "" : "the connection ended");
  });
}

Completion Association::admin(const Command& command, const Bytes& data) {
  return guarded([&] {
    const fb::host::AdminReply reply = part_->controller->admin(sqe_of(command), fb::ByteView(data)).wait();
    return completion_of(reply, reply.answered, reply.answered ? "" : "the connection ended");
  });
}

void Association::reset() {
  guarded([&] {
    const auto done = part_->controller->reset().wait();
    if (!done) throw CommandError(done.error().text, status_of(done.error().status));
  });
}

void Association::shut_down() {
  guarded([&] {
    const auto done = part_->controller->shutdown().wait();
    if (!done) throw CommandError(done.error().text, status_of(done.error().status));
  });
}

struct RawQueue::Part {
  std::unique_ptr<fb::host::RawQueue> queue;
  RawQueueOptions options;
  std::string hostnqn, subnqn;
  fb::host::HostId hostid{};

  Completion send(fb::host::RawCommand command) { return completion(queue->send_command(std::move(command)).wait()); }
  static Completion completion(const fb::host::RawReply& reply) {
    return completion_of(reply, reply.answered(), reply.answered() ? std::string() : reply.end->text);
  }
};

RawQueue Host::open_raw_queue(const Subsystem& subsystem, const RawQueueOptions& options) {
  auto made = std::make_unique<RawQueue::Part>();
  made->options = options;
  made->hostnqn = hostnqn();
  made->hostid = part_->host->options().hostid;
  made->subnqn = subsystem.nqn();
  fb::host::RawQueueOptions chosen;
  chosen.to = {subsystem.part_->machine->address, kPort};
  chosen.qid = options.qid;
  chosen.entries = options.entries;
  chosen.cntlid = options.cntlid;
  chosen.hostnqn = made->hostnqn;
  chosen.subnqn = made->subnqn;
  made->queue = std::make_unique<fb::host::RawQueue>(*part_->world->world, *part_->fabric, chosen);
  return RawQueue(part_->world->keep(std::move(made)));
}

void RawQueue::connect() {
  guarded([&] {
    const fb::host::RawConnection connection = part_->queue->connect_transport().wait();
    if (!connection.connected) throw CommandError("connect: " + connection.end.text, {});
  });
}

Completion RawQueue::fabrics_connect(std::optional<std::uint16_t> sqsize) {
  return guarded([&] {
    fb::host::ConnectCommand command = fb::host::connect({.qid = part_->options.qid,
                                                          .entries = part_->options.entries,
                                                          .cntlid = part_->options.cntlid,
                                                          .hostid = part_->hostid,
                                                          .hostnqn = part_->hostnqn,
                                                          .subnqn = part_->subnqn});
    constexpr std::size_t kSqsizeAt = 44;
    fb::nvme::Sqe sqe = fb::host::as_sqe(command.sqe);
    if (sqsize) fb::store_le(&sqe.mutable_bytes()[kSqsizeAt], *sqsize);
    const fb::ByteView data = command.data.bytes();
    return part_->send({.sqe = sqe, .data = fb::Bytes(data.begin(), data.end()), .direction = fb::transport::Direction::to_controller});
  });
}

Completion RawQueue::send(const Command& command, std::size_t room) {
  return guarded([&] {
    const auto direction = room == 0 ? fb::transport::Direction::none : fb::transport::Direction::from_controller;
    return part_->send({.sqe = sqe_of(command), .data = fb::Bytes(room), .direction = direction});
  });
}

Completion RawQueue::send(const Command& command, const Bytes& data) {
  return guarded([&] {
    return part_->send(
        {.sqe = sqe_of(command), .data = fb::Bytes(data.begin(), data.end()), .direction = fb::transport::Direction::to_controller});
  });
}

Completion RawQueue::send_capsule(const Bytes& capsule, std::uint16_t cid) {
  return guarded([&] { return Part::completion(part_->queue->send_capsule(fb::ByteView(capsule), cid).wait()); });
}

bool RawQueue::connected() const { return part_->queue->connected(); }
void RawQueue::disconnect() { part_->queue->disconnect(); }

}  // namespace fabricbench
