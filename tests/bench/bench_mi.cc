// NVMe-MI commands a second over a simulated SMBus segment without its timing, on one core.
#include <benchmark/benchmark.h>

#include "model/mi/endpoint.h"
#include "model/mi/requester.h"
#include "model/subsystem/subsystem.h"
#include "sim/mctp/endpoint.h"
#include "sim/mctp/smbus_segment.h"

namespace fb::mi {
namespace {

constexpr mctp::Eid kDrive = 9;

struct Stack {
  Stack() {
    bmc.set_route(kDrive, kDrive, mctp::smbus_address(0x3A));
    drive.set_route(8, 8, mctp::smbus_address(0x20));
  }
  std::unique_ptr<World> world = World::make_virtual(1);
  subsystem::Subsystem disk{*world, drive_options()};
  Device device{disk, {}};
  mctp::SmbusSegment segment{*world, {.timing = false}};
  std::unique_ptr<mctp::SmbusPort> bmc_port = segment.attach("bmc", 0x20);
  std::unique_ptr<mctp::SmbusPort> drive_port = segment.attach("drive", 0x3A);
  mctp::Endpoint bmc{*world, *bmc_port, {.name = "bmc", .eid = 8}};
  mctp::Endpoint drive{*world, *drive_port, {.name = "drive", .eid = kDrive}};
  Endpoint endpoint{*world, device, drive, {}};
  Requester requester{*world, bmc};
};

void health_poll(benchmark::State& state) {
  Stack stack;
  for (auto _ : state) {
    const auto health = stack.requester.poll_subsystem(kDrive).wait();
    BENCH_ASSERT(health.ok(), "a poll succeeds");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(health_poll);

void identify_controller(benchmark::State& state) {
  Stack stack;
  for (auto _ : state) {
    const auto page = stack.requester.identify(kDrive, 1, nvme::Cns::controller).wait();
    BENCH_ASSERT(page.ok(), "Identify succeeds");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(identify_controller);

}  // namespace
}  // namespace fb::mi
