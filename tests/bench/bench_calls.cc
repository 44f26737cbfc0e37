// Calls as a script makes them, one waited for after the other, in the world that Python's World().subsystem() and host()
// make: what tests/python/bench_calls.py holds the same calls from Python against.
#include <benchmark/benchmark.h>

#include "base/or_throw.h"
#include "model/host/host.h"
#include "model/host/raw_queue.h"
#include "model/subsystem/target.h"
#include "model/transport/rdma_controller.h"
#include "model/transport/rdma_host.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::bench {
namespace {

struct Scene {
  Scene() {
    subsystem::Subsystem& disk = target.add_subsystem({});
    or_throw(disk.add_namespace({.blocks = 131072}));
    target.add_port({.traddr = to_string(target_end.address())});
    listener = or_throw(transport::RdmaControllerFabric::start(*world, *target_device, {}, target.acceptor(1)));
    target.set_listener(1, *listener);
    or_throw(controller());
  }
  ~Scene() { host.shutdown_all().wait(); }

  std::unique_ptr<softroce::SoftRoceDevice> open(net::SimHost& machine, const char* name) {
    softroce::SoftRoceOptions options;
    options.name = name;
    options.address = machine.address();
    return or_throw(softroce::make_softroce(*world, machine, options));
  }
  Result<host::Controller*> controller() {
    auto outcome = host.connect({.to = listener->local(), .subnqn = subsystem::kDefaultSubsystemNqn}).wait();
    if (!outcome) return Failure{Problem{outcome.error().text}};
    return *outcome;
  }

  std::unique_ptr<World> world = World::make_virtual(1);
  net::SimNetwork network{*world};
  net::SimHost& host_end = network.add_host("host", IpAddress::v4(10, 0, 0, 1));
  net::SimHost& target_end = network.add_host("target", IpAddress::v4(10, 0, 1, 1));
  std::unique_ptr<softroce::SoftRoceDevice> host_device = open(host_end, "host");
  std::unique_ptr<softroce::SoftRoceDevice> target_device = open(target_end, "target");
  std::unique_ptr<transport::ControllerFabric> listener;
  subsystem::Target target{*world};
  transport::RdmaHostFabric fabric{*world, *host_device};
  host::Host host{*world, fabric, {}};
};

// A raw command: an entry made of named fields, sent, waited for.
void raw_command(benchmark::State& state) {
  Scene scene;
  host::RawQueue queue(*scene.world, scene.fabric, {.to = scene.listener->local(), .hostnqn = "nqn.2026-11.x:h"});
  queue.connect_transport().wait();
  queue.send(host::connect({.hostnqn = "nqn.2026-11.x:h", .subnqn = subsystem::kDefaultSubsystemNqn})).wait();
  for (auto _ : state) {
    const auto reply = queue.send(host::property_get(0x1C)).wait();
    benchmark::DoNotOptimize(reply.value());
  }
}
BENCHMARK(raw_command)->Unit(benchmark::kMicrosecond);

void read_in_bulk(benchmark::State& state) {
  Scene scene;
  Bytes data(static_cast<std::size_t>(state.range(0)));
  host::Namespace& space = *scene.host.namespaces().at(0);
  for (auto _ : state) benchmark::DoNotOptimize(space.read(0, data).wait());
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(read_in_bulk)->Arg(4096)->Arg(1 << 20)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace fb::bench
