// A provider with threads of its own, as a loadable one is, in real time: registrations block, packets come from elsewhere.
#include "tests/networkdirect/consumer/rig.h"

#include "networkdirect/library/machine_fabric.h"

namespace fb::networkdirect::testing {
namespace {

using rdma::CompletionStatus;
using rdma::SendOpcode;

class Threads : public ::testing::TestWithParam<bool> {
 protected:
  Threads() : world(World::make_real(1, GetParam())) {
    MachineOptions machine;
    machine.addresses = addresses;
    EXPECT_EQ(make_provider(make_machine_fabric(machine), IID_IND2Provider, reinterpret_cast<void**>(&provider)), ND_SUCCESS);
    for (std::size_t i = 0; i < 2; ++i) {
      IND2Adapter* adapter = nullptr;
      EXPECT_EQ(provider->OpenAdapter(IID_IND2Adapter, 0xFAB0000000000001 + i, reinterpret_cast<void**>(&adapter)), ND_SUCCESS);
      devices.push_back(make_networkdirect_device(*world, *adapter));
      adapter->Release();
      ends.push_back(std::make_unique<End>(*devices.back(), EndOptions{}));
    }
    b().listener = devices[1]->listen(4420, b()).value();
  }
  ~Threads() override {
    ends.clear();
    devices.clear();
    provider->Release();
    EXPECT_EQ(living_objects(), objects_before);
  }
  End& a() { return *ends[0]; }
  End& b() { return *ends[1]; }
  template <class Done>
  bool until(Done&& done) {
    return world->run_until(done, Duration::s(20));
  }
  void connect() {
    a().make_qp();
    a().qp->connect({addresses[1], 4420}, a().parameters);
    ASSERT_TRUE(until([&] { return a().established > 0 && b().established > 0; }));
  }

  const std::size_t objects_before = living_objects();  // departures elsewhere leave some
  // Nobody else's, so that test programs may run beside each other.
  const std::vector<IpAddress> addresses = {IpAddress::v4(127, 77, 0, 1), IpAddress::v4(127, 77, 0, 2)};
  std::unique_ptr<World> world;
  IND2Provider* provider = nullptr;
  std::vector<std::unique_ptr<rdma::Device>> devices;
  std::vector<std::unique_ptr<End>> ends;
};

INSTANTIATE_TEST_SUITE_P(Loops, Threads, ::testing::Bool(), [](const auto& busy) { return std::string(busy.param ? "Busy" : "Sleeping"); });

TEST_P(Threads, DataBothWays) {
  connect();
  a().fill(3);
  const Bytes before = a().memory;
  for (std::uint64_t i = 0; i < 16; ++i) ASSERT_TRUE(a().post_to(b(), SendOpcode::rdma_write, i, i * 1000, 1000, i * 1000));
  ASSERT_TRUE(until([&] { return a().count(CompletionStatus::success) == 16; }));
  ASSERT_TRUE(a().post_to(b(), SendOpcode::rdma_read, 20, 30000, 16000, 0));
  ASSERT_TRUE(a().post(SendOpcode::send, 21, 0, 100));
  ASSERT_TRUE(until([&] { return a().all.size() == 18 && b().all.size() == 1; }));
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 16000, a().memory.begin() + 30000));
  EXPECT_EQ(b().all[0].byte_length, 100u);
  a().qp->disconnect();
  EXPECT_TRUE(until([&] { return a().disconnected == 1 && b().disconnected == 1; }));
  EXPECT_TRUE(until([&] { return b().count(CompletionStatus::flushed) == 3; }));
}

TEST_P(Threads, RegistrationsByTheThousand) {
  for (int i = 0; i < 1000; ++i) {
    Bytes memory(1000);
    const auto region = a().domain->register_memory(memory, End::kAll);
    ASSERT_NE(region->rkey(), 0u);
  }
}

TEST_P(Threads, PingPong) {
  connect();
  constexpr std::size_t kRounds = 300;
  for (std::size_t i = 0; i < kRounds; ++i) {
    ASSERT_TRUE(a().post(SendOpcode::send, i, 0, 64));
    ASSERT_TRUE(until([&] { return b().count(CompletionStatus::success) == i + 1; }));
    ASSERT_TRUE(b().post_receive(i));
  }
}

TEST_P(Threads, EverythingGoesInTheMiddle) {
  for (int round = 0; round < 20; ++round) {
    connect();
    for (std::uint64_t i = 0; i < 16; ++i) a().post_to(b(), SendOpcode::rdma_write, i, 0, 4000, 0);
    for (int i = 0; i < round; ++i) world->run_for(Duration::us(20));
    a().qp.reset();
    const int wanted = round + 1;
    ASSERT_TRUE(until([&] { return b().disconnected == wanted; }));
    b().qp.reset();
    a().established = b().established = 0;
  }
  // And the fixture while a request to connect is pending.
  a().make_qp();
  a().qp->connect({addresses[1], 4420}, {});
}

}  // namespace
}  // namespace fb::networkdirect::testing
