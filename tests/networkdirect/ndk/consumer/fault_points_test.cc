// The table of fault points and the questions that the code asks are the same set; and what an honest answer to all
// of them costs: nothing.
#include <set>

#include "networkdirect/ndk/consumer/fault_points.h"
#include "tests/networkdirect/ndk/consumer/rig.h"

namespace fb::ndk {
namespace {

using rdma::SendOpcode;
using testing::DeviceRig;
using testing::End;
using testing::kWays;
using testing::pattern;

struct Recorder final : ConsumerHooks {
  bool departs(std::string_view point) override {
    asked.insert(std::string(point));
    return false;
  }
  std::set<std::string, std::less<>> asked;
};

void use_everything(DeviceRig& rig) {
  rig.connect();
  auto fast = rig.a->domain->allocate_fast_region(1 << 16);
  Bytes data(5000);
  rig.a->post(SendOpcode::fast_register, 1, 0, 0, [&](auto& request) {
    request.region = fast.get();
    request.memory = data;
    request.iova = 0x5000000;
    request.access = rdma::Access::local_write;
  });
  rig.a->post(SendOpcode::local_invalidate, 2, 0, 0, [&](auto& request) { request.invalidate_rkey = fast->rkey(); });
  rig.a->post(SendOpcode::send, 3, 0, 100);
  rig.b->post(SendOpcode::send, 3, 0, 100);
  rig.run();
  rig.a->post(SendOpcode::rdma_read, 4, 0, 100, [&](auto& request) {
    request.remote_address = rig.b->region->address();
    request.rkey = rig.b->region->rkey();
  });
  rig.run();
  rig.a->qp->disconnect();
  rig.run();
  rig.b->refuse = true;
  End refused(rig.a->device);
  refused.make_qp();
  refused.connect({rig.b->device.address(), 4420});
  rig.run();
  // One that is destroyed while it is connected.
  rig.b->refuse = false;
  End left(rig.a->device);
  left.make_qp();
  left.connect({rig.b->device.address(), 4420});
  rig.run();
}

TEST(NdkDepartures, EachIsAskedFor) {
  Recorder recorder;
  for (const bool shared : {false, true}) {
    for (const testing::Way& way : kWays) {
      DeviceRig rig(way, {.shared_queue = shared, .hooks = &recorder});
      use_everything(rig);
    }
  }
  std::set<std::string, std::less<>> listed;
  for (const FaultPoint& departure : kConsumerFaultPoints) listed.emplace(departure.name);
  EXPECT_EQ(listed.size(), std::size(kConsumerFaultPoints));
  for (const auto& name : recorder.asked) EXPECT_TRUE(listed.contains(name)) << name << " is not listed";
  for (const auto& name : listed) EXPECT_TRUE(recorder.asked.contains(name)) << name << " is not asked for";
}

}  // namespace
}  // namespace fb::ndk
