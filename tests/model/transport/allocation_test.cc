// Commands cost no heap allocation once the pools are warm.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "tests/model/transport/rdma_bench.h"

namespace {
std::size_t allocations = 0;
}  // namespace

// Not inlined: g++ 12 would warn of free() on what it takes for memory of the library's new.
#define FB_APART __attribute__((noinline))

FB_APART void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
FB_APART void operator delete(void* memory) noexcept { std::free(memory); }
FB_APART void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace fb::transport {
namespace {

struct Quiet final : HostChannelHandler {
  explicit Quiet(HostFabric& fabric) : channel(fabric.make_channel(*this)) {}
  void on_connected(const ChannelFacts&) override { connected = true; }
  void on_response(ByteView cqe, const ResponseFacts& facts) override {
    const std::uint16_t slot = View<nvme::CqeLayout>{cqe}.get(nvme::cqe::cid);
    if (channel->release(slot, facts)) on_released(slot);
  }
  void on_released(std::uint16_t slot) override {
    if (++done < 20000) send(slot);
  }
  void on_end(const ChannelEnd&) override { FAIL(); }
  void send(std::uint16_t slot) {
    // Reads, writes by RDMA READ and writes in the capsule; some invalidated by the host itself.
    const bool read = slot % 3 == 0;
    nvme::Sqe sqe = testing::HostQueue::make(read ? testing::kRead : testing::kWrite, slot, 4096);
    channel->send(slot, sqe.mutable_bytes(),
                  {read ? Direction::from_controller : Direction::to_controller, MutableBytes{data}.subspan(slot * std::size_t{4096}, 4096),
                   slot % 3 == 1, false});
  }
  std::unique_ptr<HostChannel> channel;
  Bytes data = Bytes(32 * 4096);
  bool connected = false;
  int done = 0;
};

struct QuietTarget final : ControllerAcceptor, ControllerChannelHandler {
  void on_channel(std::unique_ptr<ControllerChannel> c) override {
    channel = std::move(c);
    channel->set_handler(this);
  }
  void on_command(ArrivedCommand& command) override {
    channel->stage(command, 4096);
    if (command.sqe[0] == testing::kWrite) return channel->pull(command);
    channel->push(command, 4096);
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

TEST(Allocations, NoneForACommand) {
  for (const bool invalidate : {true, false}) {
    auto world = World::make_virtual(1);
    testing::SoftDevices devices(*world);
    RdmaHostFabric fabric(*world, devices.host());
    QuietTarget target;
    auto controller = RdmaControllerFabric::start(*world, devices.target(), {}, target).value();
    Quiet host(fabric);
    ChannelOptions options;
    options.qid = 1;
    options.in_capsule_bytes = 4096;
    options.remote_invalidate = invalidate;
    host.channel->connect(controller->local(), options);
    world->run_until([&] { return host.connected; }, Duration::s(10));
    for (std::uint16_t slot = 0; slot < 32; ++slot) host.send(slot);
    world->run_until([&] { return host.done >= 2000; }, Duration::s(10));
    const std::size_t before = allocations;
    world->run_until([&] { return host.done >= 20000; }, Duration::s(10));
    EXPECT_GE(host.done, 20000);
    // A pool of the layers below may still grow.
    EXPECT_LE(allocations - before, 100u);
    host.channel.reset();
    target.channel.reset();
  }
}

}  // namespace
}  // namespace fb::transport
