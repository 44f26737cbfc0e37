// A host and a target on two devices of one world, for tests of NVMe/RDMA over any device.
#pragma once

#include <gtest/gtest.h>

#include "model/transport/rdma_controller.h"
#include "model/transport/rdma_host.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"
#include "tests/model/transport/channel_bench.h"
#include "tests/model/transport/fake_rdma.h"

namespace fb::transport::testing {

/// The devices of a bench.
class Devices {
 public:
  virtual ~Devices() = default;
  virtual rdma::Device& host() = 0;
  virtual rdma::Device& target() = 0;
  virtual fake::Network* network() { return nullptr; }
};

class FakeDevices final : public Devices {
 public:
  explicit FakeDevices(World& world) : network_(world) {}
  rdma::Device& host() override { return host_; }
  rdma::Device& target() override { return target_; }
  fake::Network* network() override { return &network_; }

 private:
  fake::Network network_;
  fake::FakeDevice host_{network_, IpAddress::v4(10, 0, 0, 1)};
  fake::FakeDevice target_{network_, IpAddress::v4(10, 0, 0, 2)};
};

class SoftDevices final : public Devices {
 public:
  explicit SoftDevices(World& world) : network_(world) {
    const auto make = [&](const char* name, std::uint8_t last) {
      softroce::SoftRoceOptions options;
      options.name = name;
      options.address = IpAddress::v4(10, 0, 0, last);
      net::SimHost& host = network_.add_host(name, options.address);
      return softroce::make_softroce(world, host, options).value();
    };
    host_ = make("host", 1);
    target_ = make("target", 2);
  }
  rdma::Device& host() override { return *host_; }
  rdma::Device& target() override { return *target_; }

  net::SimNetwork& sim() { return network_; }

 private:
  net::SimNetwork network_;
  std::unique_ptr<softroce::SoftRoceDevice> host_, target_;
};

using MakeDevices = std::unique_ptr<Devices> (*)(World&);

inline std::unique_ptr<Devices> make_fake(World& world) { return std::make_unique<FakeDevices>(world); }

inline std::unique_ptr<Devices> make_soft(World& world) { return std::make_unique<SoftDevices>(world); }

struct RdmaBench {
  explicit RdmaBench(MakeDevices make = make_fake, ControllerFabricOptions o = {}) : options(o) {
    world->set_patience(Duration::s(600));
    devices = make(*world);
    host_fabric = std::make_unique<RdmaHostFabric>(*world, devices->host(), &host_hooks);
    controller = RdmaControllerFabric::start(*world, devices->target(), options, target, &target_hooks).value();
  }
  /// Everything that is going to happen within half a minute.
  void run() { world->run_until_idle(Duration::s(30)); }

  std::unique_ptr<HostQueue> connect(std::uint16_t qid, std::uint16_t entries = 32, bool remote_invalidate = true) {
    auto queue = std::make_unique<HostQueue>(*host_fabric);
    ChannelOptions channel;
    channel.qid = qid;
    channel.entries = entries;
    channel.in_capsule_bytes = qid == 0 ? 0 : options.in_capsule_bytes;
    channel.remote_invalidate = remote_invalidate;
    queue->slots = entries;
    queue->channel->connect(controller->local(), channel);
    run();
    return queue;
  }
  TargetQueue& last_queue() { return *target.queues.back(); }

  ControllerFabricOptions options;
  std::unique_ptr<World> world = World::make_virtual(1);
  std::unique_ptr<Devices> devices;
  TestHooks host_hooks, target_hooks;
  std::unique_ptr<RdmaHostFabric> host_fabric;
  std::unique_ptr<RdmaControllerFabric> controller;
  Target target;
};

}  // namespace fb::transport::testing
