// NVMe over RDMA over NDK: a host, or both ends, on the consumer's device.
#include <deque>

#include "model/host/host.h"
#include "model/subsystem/target.h"
#include "model/transport/rdma_controller.h"
#include "model/transport/rdma_host.h"
#include "tests/networkdirect/ndk/consumer/rig.h"

namespace fb::ndk {
namespace {

using testing::AnyProvider;
using testing::kWays;
using testing::Pender;
using testing::Way;

struct NvmeRig {
  NvmeRig(const Way& way, bool both, ConsumerHooks* hooks = nullptr) {
    if (way.delay_us > 0) pender.emplace(*world, Duration::us(way.delay_us));
    for (int i = 0; i < 2; ++i) {
      softroce::SoftRoceOptions soft;
      soft.name = i == 0 ? "host" : "target";
      soft.address = IpAddress::v4(10, 0, 0, static_cast<std::uint8_t>(i + 1));
      devices[i] = softroce::make_softroce(*world, network.add_host(soft.name, soft.address), soft).value();
      if (i == 1 && !both) break;
      providers[i] = std::make_unique<AnyProvider>(*world, kernel, *devices[i], way, pender ? &*pender : nullptr);
      ndk[i] = make_ndk_device(*world, providers[i]->adapter(), {.address = soft.address, .version = way.version, .hooks = hooks});
    }
    disk = &target.add_subsystem({});
    subsystem::NamespaceOptions space;
    space.blocks = 16384;
    BENCH_ASSERT(disk->add_namespace(std::move(space)).ok(), "room for a namespace");
    subsystem::PortOptions port;
    port.traddr = "10.0.0.2";
    target.add_port(port);
    rdma::Device& target_device = both ? *ndk[1] : *devices[1];
    listener = transport::RdmaControllerFabric::start(*world, target_device, {}, target.acceptor()).value();
    target.set_listener(1, *listener);
    fabric = std::make_unique<transport::RdmaHostFabric>(*world, *ndk[0]);
    host = std::make_unique<host::Host>(*world, *fabric, host::HostOptions{});
  }
  host::Controller* connect() {
    host::ConnectOptions options;
    options.to = listener->local();
    options.subnqn = disk->options().nqn;
    options.io_queues = 2;
    const host::Controller::Outcome outcome = host->connect(options).wait();
    if (!outcome.ok()) error = outcome.error().text;
    return outcome.ok() ? outcome.value() : nullptr;
  }
  host::Namespace& ns() { return *host->find(disk->options().nqn, 1); }

  std::unique_ptr<World> world = World::make_virtual(1);
  net::SimNetwork network{*world};
  std::optional<Pender> pender;
  std::unique_ptr<softroce::SoftRoceDevice> devices[2];
  Kernel kernel;
  std::unique_ptr<AnyProvider> providers[2];
  std::unique_ptr<rdma::Device> ndk[2];
  /// Behind all that uses the devices: what they close comes to its end, and nothing is left with the providers.
  struct Rest {
    NvmeRig& rig;
    ~Rest() {
      rig.world->run_until_idle(Duration::s(300));
      for (const auto& provider : rig.providers) {
        EXPECT_EQ(provider == nullptr ? 0u : provider->close(), 0u);
      }
    }
  } rest{*this};
  std::unique_ptr<transport::RdmaControllerFabric> listener;
  subsystem::Target target{*world};
  std::unique_ptr<transport::RdmaHostFabric> fabric;
  std::unique_ptr<host::Host> host;
  subsystem::Subsystem* disk = nullptr;
  std::string error;
};

/// Writes and reads of any size, several at once, against a copy of the disk.
void exercise(NvmeRig& rig, int rounds) {
  Rng rng(7, "work");
  Bytes disk(16384 * 512);
  ASSERT_TRUE(rig.ns().write_zeroes(0, 16384).wait().ok());
  for (int round = 0; round < rounds; ++round) {
    std::deque<Bytes> memory;
    std::vector<Op<nvme::Status>> ops;
    std::uint64_t at = 0;
    for (int i = 0; i < 6; ++i) {
      const std::uint64_t blocks = rng.between(1, rng.chance(1, 6) ? 2000 : 64);
      at += rng.below(600);
      Bytes& data = memory.emplace_back(blocks * 512);
      rng.fill(data);
      std::copy(data.begin(), data.end(), disk.begin() + static_cast<std::ptrdiff_t>(at * 512));
      ops.push_back(rig.ns().write(at, data));
      at += blocks;
    }
    for (auto& op : ops) ASSERT_TRUE(op.wait().ok());
  }
  Bytes back(disk.size());
  ASSERT_TRUE(rig.ns().read(0, back).wait().ok());
  ASSERT_TRUE(back == disk);
}

class NvmeOverNdk : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, NvmeOverNdk, ::testing::ValuesIn(kWays), [](const auto& way) { return std::string(way.param.name); });

void run(const Way& way, bool both) {
  NvmeRig rig(way, both);
  host::Controller* controller = rig.connect();
  ASSERT_NE(controller, nullptr) << rig.error;
  exercise(rig, 5);
  EXPECT_TRUE(controller->shutdown().wait().ok());
}

TEST_P(NvmeOverNdk, HostAloneWritesAndReads) { run(GetParam(), false); }
TEST_P(NvmeOverNdk, BothEndsWriteAndRead) { run(GetParam(), true); }

/// What crosses the wire, to see who invalidates.
struct Invalidations final : net::LinkFilter {
  net::Verdict on_packet(net::PacketContext& packet) override {
    constexpr std::uint8_t kSendLastInvalidate = 0x16, kSendOnlyInvalidate = 0x17;
    const std::uint8_t opcode = packet.payload.empty() ? 0 : packet.payload[0];
    seen += opcode == kSendLastInvalidate || opcode == kSendOnlyInvalidate ? 1 : 0;
    return net::Verdict::pass();
  }
  std::size_t seen = 0;
};

TEST_P(NvmeOverNdk, KeysAreInvalidatedByTheControllerWhereTheHostHearsOfIt) {
  NvmeRig rig(GetParam(), true);
  Invalidations filter;
  rig.network.set_filter(&filter);
  ASSERT_NE(rig.connect(), nullptr) << rig.error;
  Bytes data(4096);
  ASSERT_TRUE(rig.ns().read(0, data).wait().ok());
  const bool told = rig.ndk[0]->limits().remote_invalidation;
  EXPECT_EQ(filter.seen > 0, told);
  rig.network.set_filter(nullptr);
}

TEST(NvmeOverNdkWorld, SameSeedSameRun) {
  const auto digest = [](std::size_t shift) {
    const Bytes shifted(shift);  // other memory, the same run
    NvmeRig rig(kWays[0], true);
    EXPECT_NE(rig.connect(), nullptr);
    Bytes data(9000 / 512 * 512);
    EXPECT_TRUE(rig.ns().write(3, data).wait().ok());
    return rig.world->digest();
  };
  EXPECT_EQ(digest(0), digest(777));
}

}  // namespace
}  // namespace fb::ndk
