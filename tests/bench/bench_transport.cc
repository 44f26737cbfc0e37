// NVMe/RDMA between a host channel and a controller channel: commands a second of one core in virtual
// time over softroce with ICRC and a simulated link, trace off; and the memory of many queues.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>

#include "model/transport/rdma_controller.h"
#include "model/transport/rdma_host.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"

namespace fb::transport {
namespace {

constexpr std::uint8_t kWrite = 1, kRead = 2;

/// Answers at once: reads with whatever the staging memory holds.
class Target final : public ControllerAcceptor {
 public:
  struct Queue final : ControllerChannelHandler {
    explicit Queue(std::unique_ptr<ControllerChannel> c) : channel(std::move(c)) { channel->set_handler(this); }
    void on_command(ArrivedCommand& command) override {
      const View<nvme::SqeLayout> sqe{command.sqe};
      const std::uint32_t bytes = sqe.get(nvme::sqe::cdw10);
      channel->stage(command, bytes);
      if (sqe.get(nvme::sqe::opcode) == kWrite) return channel->pull(command);
      channel->push(command, bytes);
      on_pulled(command);
    }
    void on_pulled(ArrivedCommand& command) override {
      nvme::Cqe cqe;
      cqe.set(nvme::cqe::cid, View<nvme::SqeLayout>{command.sqe}.get(nvme::sqe::cid));
      channel->respond(command, cqe.bytes());
    }
    void on_end(std::string_view) override {}
    std::unique_ptr<ControllerChannel> channel;
  };
  void on_channel(std::unique_ptr<ControllerChannel> channel) override { queues.push_back(std::make_unique<Queue>(std::move(channel))); }
  std::vector<std::unique_ptr<Queue>> queues;
};

/// Keeps `depth` commands of one kind going.
class Host final : public HostChannelHandler {
 public:
  Host(HostFabric& fabric, std::uint8_t opcode, std::size_t depth, std::size_t bytes)
      : channel(fabric.make_channel(*this)), opcode_(opcode), data_(depth, Bytes(bytes)) {}
  void on_connected(const ChannelFacts&) override { connected = true; }
  void on_response(ByteView cqe, const ResponseFacts& facts) override {
    const std::uint16_t slot = View<nvme::CqeLayout>{cqe}.get(nvme::cqe::cid);
    ++done;
    if (done >= limit) return;
    if (channel->release(slot, facts)) on_released(slot);
  }
  void on_released(std::uint16_t slot) override { send(slot); }
  void on_end(const ChannelEnd&) override { ended = true; }
  void start() {
    for (std::size_t slot = 0; slot < data_.size(); ++slot) send(static_cast<std::uint16_t>(slot));
  }
  void send(std::uint16_t slot) {
    nvme::Sqe sqe;
    sqe.set(nvme::sqe::opcode, opcode_).set(nvme::sqe::cid, slot);
    sqe.set(nvme::sqe::cdw10, static_cast<std::uint32_t>(data_[slot].size()));
    const Direction direction = opcode_ == kWrite ? Direction::to_controller : Direction::from_controller;
    channel->send(slot, sqe.mutable_bytes(), {direction, data_[slot], false, false});
  }
  std::unique_ptr<HostChannel> channel;
  std::uint64_t done = 0;
  std::uint64_t limit = ~std::uint64_t{0};
  bool connected = false;
  bool ended = false;

 private:
  std::uint8_t opcode_;
  std::vector<Bytes> data_;
};

struct Setup {
  explicit Setup(ControllerFabricOptions options = {}) {
    const auto make = [&](const char* name, std::uint8_t last) {
      softroce::SoftRoceOptions soft;
      soft.name = name;
      soft.address = IpAddress::v4(10, 0, 0, last);
      return softroce::make_softroce(*world, network.add_host(name, soft.address), soft).value();
    };
    host_device = make("host", 1);
    target_device = make("target", 2);
    host_fabric = std::make_unique<RdmaHostFabric>(*world, *host_device);
    controller = RdmaControllerFabric::start(*world, *target_device, options, target).value();
  }
  void connect(Host& host, std::uint16_t qid, std::uint16_t entries) {
    ChannelOptions options;
    options.qid = qid;
    options.entries = entries;
    options.in_capsule_bytes = 4096;
    host.channel->connect(controller->local(), options);
    world->run_until([&] { return host.connected || host.ended; }, Duration::s(10));
  }
  std::unique_ptr<World> world = World::make_virtual(1);
  net::SimNetwork network{*world};
  std::unique_ptr<softroce::SoftRoceDevice> host_device, target_device;
  std::unique_ptr<RdmaHostFabric> host_fabric;
  std::unique_ptr<RdmaControllerFabric> controller;
  Target target;
};

void transfer(benchmark::State& state, std::uint8_t opcode) {
  const auto depth = static_cast<std::size_t>(state.range(0));
  const auto bytes = static_cast<std::size_t>(state.range(1));
  Setup setup;
  Host host(*setup.host_fabric, opcode, depth, bytes);
  setup.connect(host, 1, 128);
  host.start();
  for (auto _ : state) {
    const std::uint64_t until = host.done + 1000;
    setup.world->run_until([&] { return host.done >= until || host.ended; }, Duration::s(100));
    if (host.ended) return state.SkipWithError("the connection was lost");
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * 1000);
  state.SetBytesProcessed(state.items_processed() * static_cast<std::int64_t>(bytes));
}
void reads(benchmark::State& state) { transfer(state, kRead); }
void writes(benchmark::State& state) { transfer(state, kWrite); }
BENCHMARK(reads)->Args({1, 4096})->Args({32, 512})->Args({32, 4096})->Args({32, 131072});
BENCHMARK(writes)->Args({32, 4096})->Args({32, 131072});

/// Heap that a thousand queues of 128 entries take: connected, after each had every entry in use, and
/// what the target alone holds of it (the hosts gone, the target's channels still there).
void thousand_queues(benchmark::State& state) {
  for (auto _ : state) {
    ControllerFabricOptions options;
    options.io_queues_max = 1000;
    Setup setup(options);
    const auto used = [] {
      const auto info = ::mallinfo2();
      return info.uordblks + info.hblkhd;
    };
    const std::size_t before = used();
    std::vector<std::unique_ptr<Host>> hosts;
    for (std::uint16_t q = 1; q <= 1000; ++q) {
      hosts.push_back(std::make_unique<Host>(*setup.host_fabric, kRead, 128, 512));
      setup.connect(*hosts.back(), q, 128);
    }
    const std::size_t connected = used();
    std::uint64_t done = 0;
    for (auto& host : hosts) {
      host->limit = 1;
      host->start();
      setup.world->run_until([&] { return host->done >= 128 || host->ended; }, Duration::s(1));
      done += host->done;
    }
    const std::size_t busy = used();
    hosts.clear();
    setup.world->run_for(Duration::ms(1));
    const std::size_t without_hosts = used();
    const auto mib = [](std::size_t bytes) { return static_cast<double>(bytes >> 10) / 1024; };
    state.counters["both_connected_MiB"] = mib(connected - before);
    state.counters["both_busy_MiB"] = mib(busy - before);
    state.counters["target_left_MiB"] = mib(without_hosts - std::min(before, without_hosts));
    state.counters["fabric_MiB"] = mib(setup.controller->memory_held());
    state.counters["commands"] = static_cast<double>(done);
  }
}
BENCHMARK(thousand_queues)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fb::transport
