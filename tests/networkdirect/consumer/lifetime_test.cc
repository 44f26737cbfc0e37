// What the consumer leaves behind, and what it does when it is told to break rules.
#include "tests/networkdirect/consumer/rig.h"

#include "base/result.h"
#include "networkdirect/consumer/fault_points.h"

namespace fb::networkdirect::testing {
namespace {

using rdma::CompletionStatus;
using rdma::SendOpcode;

/// Most of what a device does, in one go.
void work(Rig& rig) {
  rig.a->parameters.hold_reply = true;
  if (rig.a->qp == nullptr) rig.a->make_qp();
  rig.a->post(SendOpcode::send, 0, 0, 100);  // too early
  rig.ask();
  rig.a->qp->confirm();
  rig.run();
  rig.a->post(SendOpcode::send, 1, 0, 100, [](auto& request) { request.solicited = true; });
  rig.run();
  rig.a->post_to(*rig.b, SendOpcode::rdma_write, 2, 0, 100, 0, [](auto& request) { request.solicited = true; });
  rig.a->post_to(*rig.b, SendOpcode::rdma_read, 3, 0, 100, 0);
  rig.a->qp->post_receive({});
  if (rig.a->shared != nullptr) rig.a->shared->arm_limit(3);
  rig.run();
  rig.a->qp->disconnect();
  rig.run();
  rig.a->make_qp();
  rig.b->refuse = true;
  rig.ask();
  rig.b->refuse = false;
  rig.b->keep_request = true;
  rig.ask();
  rig.b->kept.clear();
  rig.run();
  rig.b->keep_request = false;
  rig.a->parameters.hold_reply = false;
  rig.ask();
}

/// The rest: windows, memory that goes, a request that fails, a reply that nobody answers.
void work_on(Rig& rig) {
  const auto window = create_memory_window(rig.a->device);
  const bool bound = window != nullptr && window->bind(*rig.a->qp, 11, *rig.a->region, 0, 4096, rdma::Access::remote_read);
  rig.run();
  const auto first = std::move(rig.a->qp);
  rig.a->make_qp();
  // An address of the other family: the call fails.
  if (rig.a->qp != nullptr) rig.a->qp->connect({IpAddress::v6({0xFD, 1}), Rig::kPort}, {});
  if (bound) window->invalidate(*first, 12);
  rig.run();
  Bytes more(4096);
  rig.a->domain->register_memory(more, End::kAll).reset();
  rig.a->make_qp();
  rig.ask();
  rig.a->post_to(*rig.b, SendOpcode::rdma_write, 13, 0, 100, 0, [](auto& request) { request.rkey ^= 0xFF00; });
  rig.run();
  rig.a->post(SendOpcode::send, 14, 0, 100);
  rig.run();
  rig.a->make_qp();
  rig.a->parameters.hold_reply = true;
  rig.ask();
  rig.a->qp.reset();
  rig.run();
}

TEST(Lifetime, NothingIsLeft) {
  const std::size_t before = living_objects();
  {
    Rig rig;
    work(rig);
    EXPECT_GT(living_objects(), before);
    work_on(rig);
  }
  EXPECT_EQ(living_objects(), before);
}

/// Objects and the device go while everything is under way, at many different instants.
TEST(Lifetime, EndsAtAnyInstant) {
  const std::size_t before = living_objects();
  for (int steps = 0; steps < 120; ++steps) {
    {
      Rig rig;
      rig.a->make_qp();
      rig.a->then = [&] {
        for (std::uint64_t i = 0; i < 4; ++i) rig.a->post_to(*rig.b, SendOpcode::rdma_write, i, 0, 8000, 0);
        if (steps % 3 == 0) rig.a->qp->disconnect();
      };
      rig.a->qp->connect({rig.host_b.address(), Rig::kPort}, {});
      for (int i = 0; i < steps; ++i) rig.world->loop().step(rig.world->now() + Duration::ms(1));
      if (steps % 2 == 0) rig.b.reset();
    }
    EXPECT_EQ(living_objects(), before) << steps;
  }
}

TEST(Lifetime, AnEventMayDestroyItsQueuePair) {
  Rig rig;
  rig.a->then = [&] { rig.a->qp.reset(); };
  rig.ask();
  rig.run();
  EXPECT_EQ(rig.a->established, 1);
  EXPECT_EQ(rig.b->disconnected, 1);
}

TEST(Lifetime, TheDeviceSaysWhatItCannotDo) {
  Rig rig;
  const rdma::DeviceLimits limits = rig.a->device.limits();
  EXPECT_FALSE(limits.fast_registration || limits.chosen_key_bytes || limits.remote_invalidation || limits.immediate_data ||
               limits.atomics);
  EXPECT_GE(limits.max_sges, 4u);
  EXPECT_GE(limits.max_message_bytes, 64u << 20);
  EXPECT_THROW(rig.a->domain->allocate_fast_region(4096), UserError);
  EXPECT_FALSE(rig.station_b.device().listen(Rig::kPort, *rig.b).ok());  // is taken
  rig.connect();
  for (const SendOpcode opcode : {SendOpcode::send_with_immediate, SendOpcode::send_with_invalidate, SendOpcode::fast_register,
                                  SendOpcode::local_invalidate, SendOpcode::compare_and_swap}) {
    EXPECT_FALSE(rig.a->post(opcode, 1, 0, 8));
  }
  rig.a->request_data = Bytes(57);
  rig.a->make_qp();
  rig.a->parameters.private_data = rig.a->request_data;
  EXPECT_THROW(rig.a->qp->connect({rig.host_b.address(), Rig::kPort}, rig.a->parameters), UserError);
}

TEST(Lifetime, AddressesAreNoPointersAndComeAgain) {
  const auto addresses = [] {
    Rig rig;
    Bytes more(10000);
    const auto second = rig.a->domain->register_memory(more, rdma::Access::none);
    return std::pair(rig.a->region->address(), second->address());
  };
  const auto first = addresses();
  EXPECT_EQ(first, addresses());
  EXPECT_LT(first.second, 1u << 24);
}

TEST(Lifetime, AnAddressThatTheAdapterHasNot) {
  Rig rig;
  ConsumerOptions options;
  options.address = IpAddress::v4(10, 0, 0, 99);
  EXPECT_THROW(make_networkdirect_device(*rig.world, *rig.station_a.adapter, options), UserError);
}

/// Every point is asked for somewhere in honest work.
TEST(Departures, AllAreReached) {
  Hooks hooks;
  for (const bool shared : {false, true}) {
    RigOptions options;
    options.hooks_a = options.hooks_b = &hooks;
    options.ends.shared_queue = shared;
    Rig rig(options);
    work(rig);
    work_on(rig);
  }
  for (const FaultPoint& departure : kConsumerFaultPoints) {
    EXPECT_TRUE(hooks.asked.contains(departure.name)) << departure.name;
  }
  std::set<std::string, std::less<>> known;
  for (const FaultPoint& departure : kConsumerFaultPoints) EXPECT_TRUE(known.emplace(departure.name).second) << departure.name;
  for (const std::string& point : hooks.asked) EXPECT_TRUE(known.contains(point)) << point;
}

/// Our provider survives all that does not touch freed memory, and says no where it can.
TEST(Departures, TheProviderSurvivesThem) {
  for (const FaultPoint& departure : kConsumerFaultPoints) {
    if (departure.dangerous) continue;
    SCOPED_TRACE(departure.name);
    for (const bool shared : {false, true}) {
      Hooks hooks;
      try {
        RigOptions options;
        options.hooks_a = options.hooks_b = &hooks;
        options.ends.shared_queue = shared;
        hooks.points.emplace(departure.name);
        Rig rig(options);
        if (rig.a->cq == nullptr || rig.b->cq == nullptr) continue;
        if (shared && rig.b->shared == nullptr) continue;
        rig.b->receives = departure.name.starts_with("post.") ? 0 : 4;
        rig.a->make_qp();
        if (rig.a->qp == nullptr) continue;
        work(rig);
        work_on(rig);
      } catch (const UserError&) {
        // The refusal of a registration or of the adapter is told in this way.
      }
    }
  }
}

}  // namespace
}  // namespace fb::networkdirect::testing
