// The whole stack for benchmarks: a host and a target, each on a software RDMA device of its own. In one
// virtual world (Stack), or each in a real one.
#pragma once

#include <memory>
#include <vector>

#include "base/assert.h"
#include "model/host/queue.h"
#include "model/host/raw_queue.h"
#include "model/subsystem/target.h"
#include "model/transport/rdma_controller.h"
#include "model/transport/rdma_host.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"
#include "tests/bench/machine.h"

namespace fb::bench {

inline constexpr std::string_view kHostNqn =
    "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-0000-0000-000000000001";

inline std::unique_ptr<softroce::SoftRoceDevice> make_device(World& world, net::DatagramHost& host,
                                                             const char* name,
                                                             const IpAddress& address) {
  softroce::SoftRoceOptions options;
  options.name = name;
  options.address = address;
  auto device = softroce::make_softroce(world, host, options);
  BENCH_ASSERT(device.ok(), "UDP port 4791 of the address is free");
  return std::move(device).value();
}

/// A subsystem with one namespace of 4 KiB blocks behind a listener.
struct TargetSide {
  struct Options {
    std::uint64_t blocks = 65536;
    std::uint64_t blocks_written = 0;  ///< with a pattern, from the first on
    std::uint16_t io_queues_max = 16;
  };
  TargetSide(World& w, net::DatagramHost& host, const IpAddress& address, const Options& options)
      : world(w), device(make_device(world, host, "target", address)) {
    subsystem::SubsystemOptions system;
    system.io_queues_max = options.io_queues_max;
    disk = &target.add_subsystem(system);
    subsystem::NamespaceOptions space;
    space.block_bytes = 4096;
    space.blocks = options.blocks;
    subsystem::Namespace& made = *disk->add_namespace(std::move(space)).value();
    Bytes block(4096);
    for (std::uint64_t lba = 0; lba < options.blocks_written; ++lba) {
      std::fill(block.begin(), block.end(), static_cast<std::uint8_t>(lba * 7 + 1));
      BENCH_ASSERT(made.write(lba, block).ok(), "the namespace takes its pattern");
    }
    subsystem::PortOptions port;
    port.traddr = to_string(address);
    target.add_port(port);
    transport::ControllerFabricOptions fabric;
    fabric.io_queues_max = options.io_queues_max;
    listener =
        transport::RdmaControllerFabric::start(world, *device, fabric, target.acceptor()).value();
    target.set_listener(1, *listener);
  }

  World& world;
  std::unique_ptr<softroce::SoftRoceDevice> device;
  std::unique_ptr<transport::RdmaControllerFabric> listener;  // outlives the target's channels
  subsystem::Target target{world};
  subsystem::Subsystem* disk = nullptr;
};

/// A host with one admin queue.
struct HostSide {
  HostSide(World& w, net::DatagramHost& host, const IpAddress& address, const Endpoint& target)
      : world(w),
        to(target),
        device(make_device(world, host, "host", address)),
        fabric(std::make_unique<transport::RdmaHostFabric>(world, *device)) {}

  /// Admin queue connected, controller enabled.
  void enable() {
    admin = std::make_unique<host::RawQueue>(world, *fabric, host::RawQueueOptions{.to = to});
    BENCH_ASSERT(admin->connect_transport().wait().connected, "the transport connects");
    const auto reply = admin->send(host::connect({.hostid = {1},
                                                  .hostnqn = kHostNqn,
                                                  .subnqn = subsystem::kDefaultSubsystemNqn}))
                           .wait();
    BENCH_ASSERT(reply.ok(), "Connect succeeds");
    cntlid = static_cast<std::uint16_t>(reply.dw0() & 0xFFFF);
    constexpr std::uint32_t kEnable = 6u << 16 | 4u << 20 | 1;
    BENCH_ASSERT(admin->send(host::property_set(0x14, kEnable)).wait().ok(), "CC is written");
    world.run_until(
        [&] { return (admin->send(host::property_get(0x1C)).wait().value() & 1) != 0; },
        Duration::s(1));
  }

  /// Number of Queues: true when the controller grants so many I/O queues.
  bool request_queues(std::uint16_t count) {
    const std::uint32_t asked = count - 1u;
    const auto reply = admin->send(host::set_features(7, asked << 16 | asked)).wait();
    return reply.ok() && (reply.dw0() & 0xFFFF) >= asked && reply.dw0() >> 16 >= asked;
  }

  World& world;
  Endpoint to;
  std::unique_ptr<softroce::SoftRoceDevice> device;
  std::unique_ptr<transport::RdmaHostFabric> fabric;
  std::unique_ptr<host::RawQueue> admin;
  std::uint16_t cntlid = 0;
};

/// Both sides in one virtual world.
struct Stack {
  explicit Stack(const TargetSide::Options& options = {})
      : target_side(*world, target_end, target_end.address(), options),
        host_side(*world, host_end, host_end.address(), target_side.listener->local()) {}

  std::unique_ptr<World> world = World::make_virtual(1);
  net::SimNetwork network{*world};
  net::SimHost& host_end = network.add_host("host", IpAddress::v4(10, 0, 0, 1));
  net::SimHost& target_end = network.add_host("target", IpAddress::v4(10, 0, 0, 2));
  TargetSide target_side;
  HostSide host_side;
};

/// An I/O queue that keeps `depth` reads of `bytes` in flight, without allocation.
class IoLoop final : host::QueueHandler {
 public:
  /// The reads go round the first `blocks` of the namespace.
  IoLoop(HostSide& side, std::uint16_t depth, std::uint32_t bytes, std::uint64_t blocks,
         std::uint16_t qid = 1)
      : side_(side),
        bytes_(bytes),
        blocks_(blocks),
        queue_(side.world, *side.fabric, *this,
               {.qid = qid, .entries = 128, .cntlid = side.cntlid, .in_capsule_bytes = 4096}) {
    queue_.open(side_.to);
    side_.world.run_until([&] { return queue_.connected(); }, Duration::s(1));
    BENCH_ASSERT(queue_.connected(), "the I/O queue's transport connects");
    Connector connector;
    const host::ConnectCommand command = host::connect({.qid = qid,
                                                        .entries = 128,
                                                        .cntlid = side_.cntlid,
                                                        .hostid = {1},
                                                        .hostnqn = kHostNqn,
                                                        .subnqn = subsystem::kDefaultSubsystemNqn});
    Bytes data(command.data.bytes().begin(), command.data.bytes().end());
    connector.sqe = host::as_sqe(command.sqe);
    connector.transfer = {transport::Direction::to_controller, data, false, false};
    queue_.submit(connector);
    side_.world.run_until([&] { return connector.done; }, Duration::s(1));
    BENCH_ASSERT(connector.ok, "I/O Connect succeeds");
    set_depth(depth);
  }

  /// Between runs.
  void set_depth(std::uint16_t depth) {
    reads_.clear();
    for (std::uint16_t i = 0; i < depth; ++i) reads_.push_back(std::make_unique<Read>(*this, i));
  }

  /// Runs until `count` more have completed; a read that is done starts the next. Puts down how long
  /// each took where that is asked for, in seconds.
  void run(std::uint64_t count, std::vector<double>* seconds = nullptr) {
    const std::uint64_t goal = completed_ + count;
    seconds_ = seconds;
    left_ = count;
    for (auto& read : reads_) {
      if (!read->pending()) start(*read);
    }
    side_.world.run_until([&] { return completed_ >= goal; }, Duration::s(3600));
    BENCH_ASSERT(completed_ >= goal && failed_ == 0, "every read succeeds");
  }

  /// Whether the last reads brought what TargetSide wrote.
  bool holds_pattern() const {
    for (const auto& read : reads_) {
      for (std::size_t at = 0; at < read->data.size(); at += 512) {
        const std::uint64_t lba = read->lba + at / 4096;
        if (read->data[at] != static_cast<std::uint8_t>(lba * 7 + 1)) return false;
      }
    }
    return true;
  }

 private:
  struct Connector final : host::Command {
    void on_complete(const nvme::Cqe& cqe, bool answered) override {
      done = true;
      ok = answered && cqe.get(nvme::cqe::status).ok();
    }
    bool done = false, ok = false;
  };
  struct Read final : host::Command {
    Read(IoLoop& l, std::uint16_t index) : loop(l), data(l.bytes_), lba(index) {}
    void on_complete(const nvme::Cqe& cqe, bool answered) override {
      ++loop.completed_;
      if (loop.seconds_ != nullptr) loop.seconds_->push_back(seconds_now() - started);
      if (!answered || !cqe.get(nvme::cqe::status).ok()) ++loop.failed_;
      if (loop.left_ > 0) loop.start(*this);
    }
    IoLoop& loop;
    Bytes data;
    std::uint64_t lba;
    double started = 0;
  };
  void start(Read& read) {
    if (left_ == 0) return;
    --left_;
    read.lba = (read.lba + 128) % (blocks_ - bytes_ / 4096 + 1);
    read.sqe = host::as_sqe(host::read(1, read.lba, bytes_ / 4096));
    read.transfer = {transport::Direction::from_controller, read.data, true, false};
    if (seconds_ != nullptr) read.started = seconds_now();
    queue_.submit(read);
  }
  void on_queue_connected(host::Queue&, const transport::ChannelFacts&) override {}
  void on_queue_end(host::Queue&, const transport::ChannelEnd&) override {}
  Duration on_queue_timeout(host::Queue&, host::Command&) override { return Duration::s(30); }
  void on_queue_violation(host::Queue&, std::string_view) override { ++failed_; }

  HostSide& side_;
  std::uint32_t bytes_;
  std::uint64_t blocks_;
  host::Queue queue_;
  std::vector<std::unique_ptr<Read>> reads_;
  std::uint64_t completed_ = 0, failed_ = 0, left_ = 0;
  std::vector<double>* seconds_ = nullptr;
};

}  // namespace fb::bench
