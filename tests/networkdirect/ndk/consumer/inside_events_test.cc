// What a provider that pends means to callers inside an event, where nobody can wait.
#include "tests/networkdirect/ndk/consumer/rig.h"

namespace fb::ndk {
namespace {

using testing::DeviceRig;
using testing::kWays;
using testing::Way;

/// Runs something inside an event.
struct Inside {
  explicit Inside(World& world, std::function<void()> w) : what(std::move(w)) {
    world.loop().schedule(timer, world.now());
    world.run_until([this] { return done; }, Duration::s(1));
    EXPECT_TRUE(done);
  }
  void fire() {
    what();
    done = true;
  }
  std::function<void()> what;
  bool done = false;
  Timer<Inside, &Inside::fire> timer{"test.inside", *this};
};

const Way& pending() {
  return *std::find_if(std::begin(kWays), std::end(kWays), [](const Way& way) { return way.delay_us > 0; });
}

TEST(NdkInsideEvents, KeysOfTheReserveAreThereAndOthersAreAnError) {
  DeviceRig rig(pending());
  std::vector<std::unique_ptr<rdma::MemoryRegion>> regions;
  Inside(*rig.world, [&] {
    for (int i = 0; i < 4; ++i) {
      regions.push_back(rig.a->domain->allocate_fast_region(4096));
      EXPECT_NE(regions.back()->rkey(), 0u);
    }
    regions.push_back(rig.a->domain->allocate_fast_region(4096));
    EXPECT_THROW(regions.back()->rkey(), UserError);
  });
  // Later, or where one can wait, they are.
  rig.run();
  EXPECT_NE(regions.back()->rkey(), 0u);
  EXPECT_NE(rig.a->domain->allocate_fast_region(4096)->rkey(), 0u);
}

TEST(NdkInsideEvents, LocalKeysAreAlwaysThereAndRemoteOnesLater) {
  DeviceRig rig(pending());
  Bytes memory(4096);
  std::unique_ptr<rdma::MemoryRegion> region;
  Inside(*rig.world, [&] {
    region = rig.a->domain->register_memory(memory, testing::End::kAll);
    EXPECT_NE(region->lkey(), 0u);
    EXPECT_THROW(region->rkey(), UserError);
  });
  EXPECT_NE(region->rkey(), 0u);
}

TEST(NdkInsideEvents, ListeningIsAProblem) {
  DeviceRig rig(pending());
  Inside(*rig.world, [&] {
    const auto listener = rig.a->device.listen(4420, *rig.a);
    EXPECT_FALSE(listener.ok());
  });
  rig.run();
  // Nothing stays of the attempt.
  EXPECT_TRUE(rig.a->device.listen(4420, *rig.a).ok());
}

TEST(NdkInsideEvents, RequestsWaitForWhatTheyNeed) {
  DeviceRig rig(pending());
  rig.connect();
  Bytes memory(4096, 7), target(4096);
  std::unique_ptr<rdma::MemoryRegion> region, fast;
  Inside(*rig.world, [&] {
    // Memory that is being registered, and a mapping that is being built, in one line of requests.
    region = rig.a->domain->register_memory(memory, rdma::Access::local_write);
    fast = rig.a->domain->allocate_fast_region(4096);
    const rdma::Sge sge = region->sge(0, 4096);
    rdma::SendRequest request;
    request.id = 1;
    request.opcode = rdma::SendOpcode::fast_register;
    request.region = fast.get();
    request.memory = target;
    request.iova = 0x7000010;
    request.access = rdma::Access::local_write | rdma::Access::remote_write;
    EXPECT_TRUE(rig.a->qp->post_send(request));
    rdma::SendRequest send;
    send.id = 2;
    send.sges = {&sge, 1};
    EXPECT_TRUE(rig.a->qp->post_send(send));
    EXPECT_TRUE(
        rig.a->post(rdma::SendOpcode::local_invalidate, 3, 0, 0, [&](auto& invalidate) { invalidate.invalidate_rkey = fast->rkey(); }));
  });
  rig.run();
  ASSERT_EQ(rig.a->all.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rig.a->all[i].id, i + 1);
    EXPECT_EQ(rig.a->all[i].status, rdma::CompletionStatus::success);
  }
  EXPECT_EQ(rig.b->memory[100], 7);
}

}  // namespace
}  // namespace fb::ndk
