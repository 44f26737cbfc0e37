// The benchmarks' stack over software RDMA: each side on a device of its own, both in one virtual world
// (Stack), or each in a real one.
#pragma once

#include <memory>

#include "model/transport/rdma_controller.h"
#include "model/transport/rdma_host.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"
#include "tests/bench/stack.h"

namespace fb::bench {

struct Device {
  Device(World& world, net::DatagramHost& host, const char* name, const IpAddress& address) {
    softroce::SoftRoceOptions options;
    options.name = name;
    options.address = address;
    auto made = softroce::make_softroce(world, host, options);
    BENCH_ASSERT(made.ok(), "UDP port 4791 of the address is free");
    device = std::move(made).value();
  }
  std::unique_ptr<softroce::SoftRoceDevice> device;
};

struct RdmaTargetSide : private Device, TargetSide {
  RdmaTargetSide(World& w, net::DatagramHost& host, const IpAddress& address, const Options& options)
      : Device(w, host, "target", address), TargetSide(w, address, options, [&](const auto& fabric, auto& acceptor) {
          return transport::RdmaControllerFabric::start(w, *device, fabric, acceptor).value();
        }) {}
};

struct RdmaHostSide : private Device, HostSide {
  RdmaHostSide(World& w, net::DatagramHost& host, const IpAddress& address, const Endpoint& target)
      : Device(w, host, "host", address), HostSide(w, target, std::make_unique<transport::RdmaHostFabric>(w, *device)) {}
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
  RdmaTargetSide target_side;
  RdmaHostSide host_side;
};

}  // namespace fb::bench
