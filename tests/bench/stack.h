// A whole stack in one virtual world, for benchmarks: host and target on two software RDMA devices.
#pragma once

#include <memory>

#include "base/assert.h"
#include "model/host/queue.h"
#include "model/host/raw_queue.h"
#include "model/subsystem/target.h"
#include "model/transport/rdma_controller.h"
#include "model/transport/rdma_host.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::bench {

inline constexpr std::string_view kHostNqn =
    "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-0000-0000-000000000001";

struct Stack {
  Stack() {
    subsystem::Subsystem& disk = target.add_subsystem({});
    subsystem::NamespaceOptions space;
    space.block_bytes = 4096;
    space.blocks = 65536;
    (void)disk.add_namespace(std::move(space)).value();
    subsystem::PortOptions port;
    port.traddr = "10.0.0.2";
    target.add_port(port);
    host_device = device(host_end, "host", IpAddress::v4(10, 0, 0, 1));
    target_device = device(target_end, "target", IpAddress::v4(10, 0, 0, 2));
    listener =
        transport::RdmaControllerFabric::start(*world, *target_device, {}, target.acceptor()).value();
    target.set_listener(1, *listener);
    fabric = std::make_unique<transport::RdmaHostFabric>(*world, *host_device);
  }

  std::unique_ptr<softroce::SoftRoceDevice> device(net::SimHost& host, const char* name,
                                                   const IpAddress& address) {
    softroce::SoftRoceOptions options;
    options.name = name;
    options.address = address;
    return softroce::make_softroce(*world, host, options).value();
  }

  /// Admin queue connected, controller enabled.
  void enable() {
    admin = std::make_unique<host::RawQueue>(*world, *fabric,
                                             host::RawQueueOptions{.to = listener->local()});
    BENCH_ASSERT(admin->connect_transport().wait().connected, "the transport connects");
    const auto reply = admin->send(host::connect({.hostid = {1},
                                                  .hostnqn = kHostNqn,
                                                  .subnqn = subsystem::kDefaultSubsystemNqn}))
                           .wait();
    BENCH_ASSERT(reply.ok(), "Connect succeeds");
    cntlid = static_cast<std::uint16_t>(reply.dw0() & 0xFFFF);
    constexpr std::uint32_t kEnable = 6u << 16 | 4u << 20 | 1;
    BENCH_ASSERT(admin->send(host::property_set(0x14, kEnable)).wait().ok(), "CC is written");
    world->run_until(
        [&] { return (admin->send(host::property_get(0x1C)).wait().value() & 1) != 0; },
        Duration::s(1));
  }

  std::unique_ptr<World> world = World::make_virtual(1);
  net::SimNetwork network{*world};
  net::SimHost& host_end = network.add_host("host", IpAddress::v4(10, 0, 0, 1));
  net::SimHost& target_end = network.add_host("target", IpAddress::v4(10, 0, 0, 2));
  std::unique_ptr<softroce::SoftRoceDevice> host_device, target_device;
  std::unique_ptr<transport::RdmaControllerFabric> listener;  // outlives the target's channels
  subsystem::Target target{*world};
  std::unique_ptr<transport::RdmaHostFabric> fabric;
  std::unique_ptr<host::RawQueue> admin;
  std::uint16_t cntlid = 0;
};

/// An I/O queue that keeps `depth` reads or writes of `bytes` in flight, without allocation.
class IoLoop final : host::QueueHandler {
 public:
  IoLoop(Stack& stack, std::uint16_t depth, std::uint32_t bytes)
      : stack_(stack),
        bytes_(bytes),
        queue_(*stack.world, *stack.fabric, *this,
               {.qid = 1, .entries = 128, .cntlid = stack.cntlid, .in_capsule_bytes = 4096}) {
    queue_.open(stack.listener->local());
    stack.world->run_until([&] { return queue_.connected(); }, Duration::s(1));
    Connector connector;
    const host::ConnectCommand command = host::connect({.qid = 1,
                                                        .entries = 128,
                                                        .cntlid = stack.cntlid,
                                                        .hostid = {1},
                                                        .hostnqn = kHostNqn,
                                                        .subnqn = subsystem::kDefaultSubsystemNqn});
    Bytes data(command.data.bytes().begin(), command.data.bytes().end());
    connector.sqe = host::as_sqe(command.sqe);
    connector.transfer = {transport::Direction::to_controller, data, false, false};
    queue_.submit(connector);
    stack.world->run_until([&] { return connector.done; }, Duration::s(1));
    BENCH_ASSERT(connector.ok, "I/O Connect succeeds");
    for (std::uint16_t i = 0; i < depth; ++i) {
      reads_.push_back(std::make_unique<Read>(*this, i));
    }
  }

  /// Runs until `count` more have completed.
  void run(std::uint64_t count) {
    const std::uint64_t goal = completed_ + count;
    left_ = count;
    for (auto& read : reads_) {
      if (!read->pending()) start(*read);
    }
    stack_.world->run_until([&] { return completed_ >= goal; }, Duration::s(3600));
    BENCH_ASSERT(completed_ >= goal && failed_ == 0, "every read succeeds");
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
      if (!answered || !cqe.get(nvme::cqe::status).ok()) ++loop.failed_;
      if (loop.left_ > 0) loop.start(*this);
    }
    IoLoop& loop;
    Bytes data;
    std::uint64_t lba;
  };
  void start(Read& read) {
    if (left_ == 0) return;
    --left_;
    read.lba = (read.lba + 128) % 32768;
    read.sqe = host::as_sqe(host::read(1, read.lba, bytes_ / 4096));
    read.transfer = {transport::Direction::from_controller, read.data, true, false};
    queue_.submit(read);
  }
  void on_queue_connected(host::Queue&, const transport::ChannelFacts&) override {}
  void on_queue_end(host::Queue&, const transport::ChannelEnd&) override {}
  Duration on_queue_timeout(host::Queue&, host::Command&) override { return Duration::s(30); }
  void on_queue_violation(host::Queue&, std::string_view) override { ++failed_; }

  Stack& stack_;
  std::uint32_t bytes_;
  host::Queue queue_;
  std::vector<std::unique_ptr<Read>> reads_;
  std::uint64_t completed_ = 0, failed_ = 0, left_ = 0;
};

}  // namespace fb::bench
