// What an rdma::Device does, on softroce itself and on NetworkDirect over it.
#include "tests/networkdirect/consumer/rig.h"

namespace fb::networkdirect::testing {
namespace {

using rdma::CompletionOpcode;
using rdma::CompletionStatus;
using rdma::QpState;
using rdma::SendOpcode;

/// Both ends stacked, either, none.
struct Ways {
  Kind a, b;
};

class Devices : public ::testing::TestWithParam<Ways> {
 protected:
  RigOptions options(const EndOptions& ends = {}) const { return {.a = GetParam().a, .b = GetParam().b, .ends = ends}; }
};

INSTANTIATE_TEST_SUITE_P(All, Devices,
                         ::testing::Values(Ways{Kind::plain, Kind::plain}, Ways{Kind::stacked, Kind::stacked},
                                           Ways{Kind::stacked, Kind::plain}, Ways{Kind::plain, Kind::stacked}),
                         [](const auto& way) { return name_of(way.param.a) + "To" + name_of(way.param.b); });

bool begins_with(const Bytes& all, const Bytes& start) {
  return all.size() >= start.size() && std::equal(start.begin(), start.end(), all.begin());
}

TEST_P(Devices, ConnectWithPrivateDataAndReadLimits) {
  Rig rig(options());
  rig.a->request_data = pattern(1, 40);
  rig.b->reply_data = pattern(2, 30);
  rig.connect();
  EXPECT_TRUE(begins_with(rig.b->asked, rig.a->request_data));
  EXPECT_TRUE(begins_with(rig.a->told, rig.b->reply_data));
  EXPECT_EQ(rig.b->asked_reads, std::pair(4, 8));
  EXPECT_EQ(rig.b->asked_by.address, rig.host_a.address());
  EXPECT_EQ(rig.a->facts.peer, (Endpoint{rig.host_b.address(), Rig::kPort}));
  EXPECT_EQ(rig.a->qp->state(), QpState::ready_to_send);
  EXPECT_EQ(rig.b->qp->state(), QpState::ready_to_send);
}

TEST_P(Devices, SendAndReceive) {
  Rig rig(options());
  rig.connect();
  rig.a->fill(3);
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 0xFEDCBA9876543210, 512, 3000));
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 8, 0, 100, [](auto& request) {
    request.inline_data = true;
    request.signaled = false;
  }));
  rig.a->memory[0] ^= 0xFF;  // was copied
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 9, 0, 0));
  rig.run();
  ASSERT_EQ(rig.a->all.size(), 2u);
  EXPECT_EQ(rig.a->all[0].id, 0xFEDCBA9876543210);
  EXPECT_EQ(rig.a->all[0].opcode, CompletionOpcode::send);
  EXPECT_EQ(rig.a->all[0].qp_context, rig.a.get());
  EXPECT_EQ(rig.a->all[0].qp_number, rig.a->qp->number());
  EXPECT_EQ(rig.a->all[1].id, 9u);
  ASSERT_EQ(rig.b->all.size(), 3u);
  EXPECT_EQ(rig.b->all[0].id, 100u);
  EXPECT_EQ(rig.b->all[0].opcode, CompletionOpcode::receive);
  EXPECT_EQ(rig.b->all[0].byte_length, 3000u);
  EXPECT_EQ(rig.b->all[1].byte_length, 100u);
  EXPECT_EQ(rig.b->all[2].byte_length, 0u);
  EXPECT_EQ(rig.b->memory[4096] ^ 0xFF, rig.a->memory[0]);
  EXPECT_EQ(rig.b->memory[4096 + 50], rig.a->memory[50]);
  EXPECT_EQ(rig.b->memory[0], rig.a->memory[512]);
}

TEST_P(Devices, WriteAndRead) {
  Rig rig(options());
  rig.connect();
  rig.a->fill(3);
  const Bytes before = rig.a->memory;
  ASSERT_TRUE(rig.a->post_to(*rig.b, SendOpcode::rdma_write, 1, 100, 20000, 8192));
  ASSERT_TRUE(rig.a->post_to(*rig.b, SendOpcode::rdma_read, 2, 30000, 20000, 8192, [](auto& request) { request.fence = true; }));
  rig.run();
  ASSERT_EQ(rig.a->count(CompletionStatus::success), 2u);
  EXPECT_EQ(rig.a->all[0].opcode, CompletionOpcode::rdma_write);
  EXPECT_EQ(rig.a->all[1].opcode, CompletionOpcode::rdma_read);
  EXPECT_EQ(rig.a->all[1].byte_length, 20000u);
  EXPECT_TRUE(std::equal(before.begin() + 100, before.begin() + 20100, rig.b->memory.begin() + 8192));
  EXPECT_TRUE(std::equal(before.begin() + 100, before.begin() + 20100, rig.a->memory.begin() + 30000));
}

TEST_P(Devices, SeveralBuffersOfSeveralRegions) {
  Rig rig(options());
  rig.connect();
  Bytes other = pattern(7, 1000);
  rig.a->fill(3);
  const auto second = rig.a->domain->register_memory(other, rdma::Access::none);
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 1, 0, 10, [&](rdma::SendRequest& request) {
    static rdma::Sge list[3];
    list[0] = rig.a->region->sge(100, 10);
    list[1] = second->sge(990, 10);
    list[2] = rig.a->region->sge(65530, 6);
    request.sges = list;
  }));
  rig.run();
  ASSERT_EQ(rig.b->all.size(), 1u);
  EXPECT_EQ(rig.b->all[0].byte_length, 26u);
  EXPECT_TRUE(std::equal(other.begin() + 990, other.end(), rig.b->memory.begin() + 10));
  EXPECT_TRUE(std::equal(rig.a->memory.end() - 6, rig.a->memory.end(), rig.b->memory.begin() + 20));
  ASSERT_EQ(rig.a->all.size(), 1u);
  EXPECT_EQ(rig.a->all[0].status, CompletionStatus::success);
}

TEST_P(Devices, MemoryAtAnAddressOfChoice) {
  Rig rig(options());
  rig.connect();
  Bytes target(5000);
  const auto at = rig.b->domain->register_memory_at(0x7000000123, target, rdma::Access::local_write | rdma::Access::remote_write);
  EXPECT_EQ(at->address(), 0x7000000123u);
  rig.a->fill(5);
  ASSERT_TRUE(rig.a->post(SendOpcode::rdma_write, 1, 0, 4000, [&](rdma::SendRequest& request) {
    request.remote_address = 0x7000000123 + 1000;
    request.rkey = at->rkey();
  }));
  rig.run();
  EXPECT_TRUE(std::equal(target.begin() + 1000, target.end(), rig.a->memory.begin()));
  // The same local names for ourselves.
  ASSERT_TRUE(rig.a->post_receive(3));
  const rdma::Sge sge = at->sge(1000, 64);
  ASSERT_TRUE(rig.b->post(SendOpcode::send, 2, 0, 64, [&](rdma::SendRequest& request) { request.sges = {&sge, 1}; }));
  rig.run();
  ASSERT_NE(rig.a->find(3), nullptr);
  EXPECT_EQ(rig.a->find(3)->byte_length, 64u);
}

TEST_P(Devices, SharedReceiveQueueWithItsLimit) {
  Rig rig(options({.shared_queue = true}));
  rig.b->receives = 8;
  rig.connect();
  rig.b->shared->arm_limit(7);
  rig.run();
  EXPECT_EQ(rig.b->limits, 0);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(rig.a->post(SendOpcode::send, i, 0, 64));
  rig.run();
  ASSERT_EQ(rig.b->all.size(), 4u);
  EXPECT_EQ(rig.b->find(103)->byte_length, 64u);
  EXPECT_EQ(rig.b->all[0].qp_context, rig.b.get());
  EXPECT_EQ(rig.b->limits, 1);
  rig.b->shared->arm_limit(5);  // fewer at once
  rig.run();
  EXPECT_EQ(rig.b->limits, 2);
  rig.b->shared->arm_limit(100);  // more than there can be
  rig.run();
  EXPECT_EQ(rig.b->limits, 3);
  EXPECT_FALSE(rig.b->qp->post_receive({}));
}

TEST_P(Devices, DisconnectFlushesBothEnds) {
  Rig rig(options());
  rig.connect();
  ASSERT_TRUE(rig.a->post_receive(1));
  rig.a->qp->disconnect();
  rig.run();
  EXPECT_EQ(rig.a->disconnected, 1);
  EXPECT_EQ(rig.b->disconnected, 1);
  EXPECT_EQ(rig.a->errors + rig.b->errors, 0);
  EXPECT_EQ(rig.a->count(CompletionStatus::flushed), 1u);
  EXPECT_EQ(rig.b->count(CompletionStatus::flushed), 4u);
  EXPECT_EQ(rig.a->qp->state(), QpState::error);
  EXPECT_EQ(rig.b->qp->state(), QpState::error);
  // Whatever comes later is flushed at once, in its order.
  ASSERT_TRUE(rig.b->post(SendOpcode::send, 50, 0, 10));
  ASSERT_TRUE(rig.b->post_receive(51));
  rig.run();
  EXPECT_EQ(rig.b->find(50)->status, CompletionStatus::flushed);
  EXPECT_EQ(rig.b->find(51)->opcode, CompletionOpcode::receive);
}

TEST_P(Devices, BothDisconnectAtOnce) {
  Rig rig(options());
  rig.connect();
  rig.a->qp->disconnect();
  rig.b->qp->disconnect();
  EXPECT_TRUE(rig.settle());
  EXPECT_EQ(rig.a->disconnected, 1);
  EXPECT_EQ(rig.b->disconnected, 1);
}

TEST_P(Devices, RefusalsComeWithTheirPrivateData) {
  Rig rig(options());
  rig.b->refuse = true;
  rig.b->reply_data = pattern(4, 20);
  rig.ask();
  EXPECT_EQ(rig.a->rejected, rdma::reject_reason::consumer_defined);
  EXPECT_TRUE(begins_with(rig.a->told, rig.b->reply_data));
  // The queue pair may try again.
  rig.b->refuse = false;
  rig.ask();
  EXPECT_EQ(rig.a->established, 1);
}

TEST_P(Devices, NobodyListens) {
  Rig rig(options());
  rig.b->listener.reset();
  rig.ask();
  EXPECT_EQ(rig.a->rejected, rdma::reject_reason::invalid_service_id);
  EXPECT_EQ(rig.a->established, 0);
}

TEST_P(Devices, NobodyAnswers) {
  Rig rig(options());
  rig.a->make_qp();
  rig.a->qp->connect({IpAddress::v4(10, 0, 0, 77), 4420}, {});
  EXPECT_TRUE(rig.settle());
  EXPECT_EQ(rig.a->unreachable, 1);
}

TEST_P(Devices, UnansweredRequestsAreRefused) {
  Rig rig(options());
  rig.b->keep_request = true;
  rig.ask();
  ASSERT_EQ(rig.b->kept.size(), 1u);
  EXPECT_EQ(rig.a->rejected, 0);
  rig.b->kept.clear();
  rig.run();
  EXPECT_NE(rig.a->rejected, 0);
}

TEST_P(Devices, AReplyIsHeldAndConfirmed) {
  Rig rig(options());
  rig.b->reply_data = pattern(9, 16);
  rig.a->parameters.hold_reply = true;
  rig.ask();
  EXPECT_EQ(rig.a->accepted, 1);
  EXPECT_EQ(rig.a->established + rig.b->established, 0);
  EXPECT_TRUE(begins_with(rig.a->told, rig.b->reply_data));
  EXPECT_FALSE(rig.a->post(SendOpcode::send, 1, 0, 10));
  rig.a->qp->confirm();
  rig.run();
  EXPECT_EQ(rig.a->established, 1);
  EXPECT_EQ(rig.b->established, 1);
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 1, 0, 10));
  rig.run();
  EXPECT_EQ(rig.b->all.size(), 1u);
}

TEST_P(Devices, AHeldReplyIsRefused) {
  Rig rig(options());
  const Bytes why = pattern(11, 12);
  rig.a->parameters.hold_reply = true;
  rig.ask();
  ASSERT_EQ(rig.a->accepted, 1);
  rig.a->qp->refuse(rdma::reject_reason::consumer_defined, why);
  EXPECT_TRUE(rig.settle());
  EXPECT_EQ(rig.a->qp->state(), QpState::error);
  EXPECT_EQ(rig.a->established + rig.b->established, 0);
  EXPECT_EQ(rig.a->disconnected + rig.a->rejected, 0);
  EXPECT_EQ(rig.b->rejected, rdma::reject_reason::consumer_defined);
}

TEST_P(Devices, AHeldReplyEndsWithItsQueuePair) {
  Rig rig(options());
  rig.a->parameters.hold_reply = true;
  rig.ask();
  rig.a->qp.reset();
  EXPECT_TRUE(rig.settle());
  EXPECT_EQ(rig.b->established, 0);
  EXPECT_EQ(rig.b->rejected > 0 || rig.b->disconnected > 0, true);
}

TEST_P(Devices, AForeignKeyEndsTheConnection) {
  Rig rig(options());
  rig.connect();
  ASSERT_TRUE(rig.a->post_to(*rig.b, SendOpcode::rdma_write, 1, 0, 100, 0, [](auto& request) { request.rkey ^= 0x100; }));
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 2, 0, 100));
  rig.run();
  ASSERT_NE(rig.a->find(1), nullptr);
  EXPECT_EQ(rig.a->find(1)->status, CompletionStatus::remote_access_error);
  ASSERT_NE(rig.a->find(2), nullptr);
  EXPECT_EQ(rig.a->find(2)->status, CompletionStatus::flushed);
  EXPECT_EQ(rig.a->errors, 1);
  EXPECT_EQ(rig.a->qp->state(), QpState::error);
}

TEST_P(Devices, ALocalErrorComesAsACompletion) {
  Rig rig(options());
  rig.station_a.complaints.but = verifier::Rule::sge_token_unknown;
  rig.connect();
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 1, 0, 10, [](rdma::SendRequest& request) {
    static rdma::Sge wild;
    wild = {0x1234, 10, 0xABCD00};
    request.sges = {&wild, 1};
  }));
  rig.run();
  ASSERT_NE(rig.a->find(1), nullptr);
  EXPECT_EQ(rig.a->find(1)->status, CompletionStatus::local_protection_error);
  EXPECT_EQ(rig.a->errors, 1);
}

TEST_P(Devices, AMessageThatIsTooLong) {
  Rig rig(options());
  rig.connect();
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 1, 0, 5000));
  rig.run();
  ASSERT_NE(rig.a->find(1), nullptr);
  EXPECT_EQ(rig.a->find(1)->status, CompletionStatus::remote_invalid_request);
  ASSERT_NE(rig.b->find(100), nullptr);
  EXPECT_EQ(rig.b->find(100)->status, CompletionStatus::local_length_error);
}

TEST_P(Devices, FailFlushesAndSaysNothing) {
  Rig rig(options());
  rig.connect();
  rig.b->qp->fail();
  rig.run(Duration::us(100));
  EXPECT_EQ(rig.b->count(CompletionStatus::flushed), 4u);
  EXPECT_EQ(rig.b->qp->state(), QpState::error);
  EXPECT_EQ(rig.a->disconnected + rig.b->disconnected + rig.b->errors, 0);
  rig.b->qp->disconnect();
  rig.run();
  EXPECT_EQ(rig.a->disconnected, 1);
  EXPECT_EQ(rig.b->disconnected, 1);
}

TEST_P(Devices, DestroyedQueuePairsTellThePeerAndKeepWhatWasDone) {
  Rig rig(options());
  rig.b->notifies = false;
  rig.connect();
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 1, 0, 10));
  rig.run();
  rig.b->qp.reset();
  rig.run();
  rig.b->take();
  ASSERT_EQ(rig.b->all.size(), 1u);  // what was done is told, what was not is not
  EXPECT_EQ(rig.b->all[0].id, 100u);
  EXPECT_EQ(rig.a->disconnected, 1);
}

TEST_P(Devices, PostsThatCannotBe) {
  Rig rig(options());
  rig.a->make_qp();
  EXPECT_FALSE(rig.a->post(SendOpcode::send, 1, 0, 10));  // not connected
  EXPECT_TRUE(rig.a->post_receive(2));
  rig.connect();
  const std::vector<rdma::Sge> many(5, rig.a->region->sge(0, 1));
  EXPECT_FALSE(rig.a->post(SendOpcode::send, 3, 0, 10, [&](auto& request) { request.sges = many; }));
  EXPECT_FALSE(rig.a->qp->post_receive({4, many}));
  EXPECT_FALSE(rig.a->post(SendOpcode::send, 5, 0, 10000, [](auto& request) { request.inline_data = true; }));
}

TEST_P(Devices, AFullQueueTakesNoMore) {
  Rig rig(options({.entries = 4}));
  rig.station_a.complaints.but = verifier::Rule::queue_depth_exceeded;
  rig.connect();
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(rig.a->post(SendOpcode::send, i, 0, 10));
  EXPECT_FALSE(rig.a->post(SendOpcode::send, 9, 0, 10));
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(rig.a->post_receive(i));
  EXPECT_FALSE(rig.a->post_receive(9));
  rig.run();
  EXPECT_EQ(rig.a->count(CompletionStatus::success), 4u);
  EXPECT_TRUE(rig.a->post(SendOpcode::send, 10, 0, 0));
}

TEST_P(Devices, NotificationsAreForOnceAndForAll) {
  Rig rig(options());
  rig.b->notifies = rig.b->polls = false;
  rig.connect();
  rig.b->cq->request_notify(*rig.b);
  rig.run();
  EXPECT_EQ(rig.b->notified, 0);
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 1, 0, 10));
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 2, 0, 10));
  rig.run();
  EXPECT_EQ(rig.b->notified, 1);
  rig.b->cq->request_notify(*rig.b);  // there is something already
  rig.run();
  EXPECT_EQ(rig.b->notified, 2);
  rig.b->take();
  EXPECT_EQ(rig.b->all.size(), 2u);
  rig.b->cq->request_notify(*rig.b);
  rig.run();
  EXPECT_EQ(rig.b->notified, 2);
  rig.b->cq->cancel_notify();
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 3, 0, 10));
  rig.run();
  EXPECT_EQ(rig.b->notified, 2);
  rig.b->cq->request_notify(*rig.b);
  rig.run();
  EXPECT_EQ(rig.b->notified, 3);
}

TEST_P(Devices, NotificationsOfSolicitedReceivesAlone) {
  Rig rig(options());
  rig.b->notifies = rig.b->polls = false;
  rig.connect();
  rig.b->cq->request_notify(*rig.b, false);
  rig.b->cq->request_notify(*rig.b, true);  // instead
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 1, 0, 10));
  rig.run();
  EXPECT_EQ(rig.b->notified, 0);
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 2, 0, 10, [](auto& request) { request.solicited = true; }));
  rig.run();
  EXPECT_EQ(rig.b->notified, 1);
  rig.b->take();
  rig.b->cq->request_notify(*rig.b, true);
  rig.a->qp->disconnect();  // the flushed count as well
  rig.run();
  EXPECT_EQ(rig.b->notified, 2);
}

TEST_P(Devices, ManyConnectionsOneAfterAnother) {
  Rig rig(options());
  for (int round = 1; round <= 20; ++round) {
    rig.ask();
    ASSERT_EQ(rig.a->established, round);
    ASSERT_TRUE(rig.a->post(SendOpcode::send, 1, 0, 10));
    rig.run();
    ASSERT_EQ(rig.b->count(CompletionStatus::success), static_cast<std::size_t>(round));
    rig.a->qp.reset();
    rig.run();
    ASSERT_EQ(rig.b->disconnected, round);
  }
}

TEST_P(Devices, ManyRequestsAtOnce) {
  Rig rig(options());
  rig.b->keep_request = true;
  std::vector<std::unique_ptr<End>> ends;
  for (int i = 0; i < 20; ++i) {
    ends.push_back(std::make_unique<End>(rig.station_a.device(), EndOptions{}));
    ends.back()->make_qp();
    ends.back()->qp->connect({rig.host_b.address(), Rig::kPort}, {});
  }
  rig.run();
  ASSERT_EQ(rig.b->kept.size(), 20u);
  for (auto& request : rig.b->kept) request->reject(rdma::reject_reason::consumer_defined, {});
  rig.run();
  for (const auto& end : ends) EXPECT_NE(end->rejected, 0);
}

TEST_P(Devices, TwoRunsAreTheSame) {
  const auto run = [&] {
    RigOptions with = options();
    with.seed = 77;
    Rig rig(with);
    rig.connect();
    rig.a->fill(1);
    for (std::uint64_t i = 0; i < 20; ++i) {
      rig.a->post_to(*rig.b, i % 2 == 0 ? SendOpcode::rdma_write : SendOpcode::rdma_read, i, 100 * i, 3000, 50 * i);
      rig.run(Duration::us(10));
    }
    rig.a->qp->disconnect();
    rig.settle();
    return rig.world->digest();
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace fb::networkdirect::testing
