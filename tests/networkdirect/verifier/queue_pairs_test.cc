#include "tests/networkdirect/verifier/rig.h"

namespace fb::networkdirect::verifier {
namespace {

void* tag(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

class QueuePairs : public Watched {
 protected:
  QueuePairs() {
    make_ends();
    there = reinterpret_cast<std::uintptr_t>(b.memory.data());
  }
  UINT64 there = 0;
};

TEST_F(QueuePairs, UsedBeforeTheyAreConnected) {
  EXPECT_EQ(a.qp->Send(nullptr, nullptr, 0, 0), ND_CONNECTION_INVALID);
  EXPECT_EQ(found(), Names{"post_unconnected"});
}

TEST_F(QueuePairs, FlagsOfOtherMethods) {
  join();
  ND2_SGE sge = a.sge(0, 8);
  EXPECT_EQ(a.qp->Send(nullptr, &sge, 1, ND_OP_FLAG_ALLOW_READ), ND_INVALID_PARAMETER_4);
  EXPECT_EQ(found(), Names{"flags_unknown"});
  EXPECT_EQ(a.qp->Read(nullptr, &sge, 1, there, b.region->GetRemoteToken(), ND_OP_FLAG_INLINE), ND_INVALID_PARAMETER_6);
  EXPECT_EQ(found(), Names{"flags_unknown"});
}

TEST_F(QueuePairs, MoreBuffersThanAskedFor) {
  join();
  const ND2_SGE one = a.sge(0, 8);
  const ND2_SGE five[5] = {one, one, one, one, one};
  // Our provider has room for one more than asked for: legal to it, and no excuse.
  EXPECT_EQ(a.qp->Write(nullptr, five, 5, there, b.region->GetRemoteToken(), 0), ND_SUCCESS);
  EXPECT_EQ(found(), Names{"sge_count_exceeded"});
  EXPECT_EQ(a.qp->Receive(nullptr, five, 5), ND_SUCCESS);
  EXPECT_EQ(found(), Names{"sge_count_exceeded"});
}

TEST_F(QueuePairs, InlineData) {
  join();
  std::uint8_t mine[65] = {};
  ND2_SGE sge = {mine, 64, 0};
  const ND2_SGE five[5] = {{mine, 1, 0}, {mine, 1, 0}, {mine, 1, 0}, {mine, 1, 0}, {mine, 1, 0}};
  EXPECT_EQ(a.qp->Write(nullptr, &sge, 1, there, b.region->GetRemoteToken(), ND_OP_FLAG_INLINE), ND_SUCCESS);
  EXPECT_EQ(a.qp->Write(nullptr, five, 5, there, b.region->GetRemoteToken(), ND_OP_FLAG_INLINE), ND_SUCCESS);
  EXPECT_EQ(story(), "");
  sge.BufferLength = 65;
  EXPECT_EQ(a.qp->Write(nullptr, &sge, 1, there, b.region->GetRemoteToken(), ND_OP_FLAG_INLINE), ND_BUFFER_OVERFLOW);
  EXPECT_EQ(found(), Names{"inline_too_long"});
}

TEST_F(QueuePairs, FilledBeyondTheirDepth) {
  for (int i = 0; i < 16; ++i) ASSERT_EQ(a.qp->Receive(nullptr, nullptr, 0), ND_SUCCESS);
  EXPECT_EQ(story(), "");
  EXPECT_EQ(a.qp->Receive(nullptr, nullptr, 0), ND_NO_MORE_ENTRIES);
  EXPECT_EQ(found(), Names{"queue_depth_exceeded"});
}

TEST_F(QueuePairs, FilledWithoutLookingAtResults) {
  join();
  for (int i = 0; i < 17; ++i) {
    ASSERT_EQ(a.qp->Write(nullptr, nullptr, 0, there, b.region->GetRemoteToken(), 0), ND_SUCCESS);
    rig.settle();
  }
  EXPECT_EQ(findings.all.at(0).rule->severity, Severity::advice);
  EXPECT_EQ(found(), Names{"queue_depth_presumed"});
}

TEST_F(QueuePairs, ReceivesBesideASharedQueue) {
  Ref<IND2SharedReceiveQueue> shared;
  ASSERT_EQ(rig.b.adapter->CreateSharedReceiveQueue(IID_IND2SharedReceiveQueue, rig.b.file, 8, 2, 0, 0, 0, shared.out()), ND_SUCCESS);
  ASSERT_EQ(
      rig.b.adapter->CreateQueuePairWithSrq(IID_IND2QueuePair, b.queue.get(), b.queue.get(), shared.get(), nullptr, 8, 2, 0, b.qp.out()),
      ND_SUCCESS);
  EXPECT_TRUE(FAILED(b.qp->Receive(nullptr, nullptr, 0)));
  EXPECT_EQ(found(), Names{"receive_on_shared"});
  const ND2_SGE one = b.sge(0, 8);
  const ND2_SGE three[3] = {one, one, one};
  EXPECT_EQ(shared->Receive(nullptr, three, 3), ND_SUCCESS);
  EXPECT_EQ(found(), Names{"sge_count_exceeded"});
}

TEST_F(QueuePairs, ReadsThatWereRuledOut) {
  join(0);
  a.qp->Read(nullptr, nullptr, 0, there, b.region->GetRemoteToken(), 0);
  EXPECT_EQ(found(), Names{"read_without_limit"});
}

TEST_F(QueuePairs, UsedAfterAFailure) {
  join();
  ND2_SGE sge = a.sge(0, 8);
  ASSERT_EQ(a.qp->Write(tag(1), &sge, 1, there + b.memory.size(), b.region->GetRemoteToken(), 0), ND_SUCCESS);
  rig.settle(Duration::s(10));
  const auto done = rig.a.results(*a.queue.get());
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].RequestContext, tag(1));
  EXPECT_EQ(done[0].Status, ND_ACCESS_VIOLATION);
  EXPECT_EQ(story(), "");
  EXPECT_EQ(a.qp->Send(nullptr, nullptr, 0, 0), ND_SUCCESS);
  EXPECT_EQ(found(), Names{"post_after_failure"});
}

TEST_F(QueuePairs, MoreResultsThanTheirQueueHolds) {
  auto small = rig.a.completion_queue(2);
  auto qp = rig.a.queue_pair(*small.get());
  for (int i = 0; i < 3; ++i) ASSERT_EQ(qp->Receive(nullptr, nullptr, 0), ND_SUCCESS);
  ASSERT_EQ(findings.all.size(), 1u);
  EXPECT_EQ(findings.all[0].object, "completion queue 3");
  EXPECT_EQ(found(), Names{"completion_queue_shallow"});
  qp.reset();
}

TEST_F(QueuePairs, QueuesWithoutRoomAndThresholdsBeyondTheDepth) {
  Ref<IND2CompletionQueue> none;
  EXPECT_TRUE(FAILED(rig.a.adapter->CreateCompletionQueue(IID_IND2CompletionQueue, rig.a.file, 0, 0, 0, none.out())));
  EXPECT_EQ(found(), Names{"completion_queue_empty"});
  Ref<IND2SharedReceiveQueue> shared;
  EXPECT_TRUE(FAILED(rig.a.adapter->CreateSharedReceiveQueue(IID_IND2SharedReceiveQueue, rig.a.file, 8, 2, 9, 0, 0, shared.out())));
  EXPECT_EQ(found(), Names{"adapter_limit_exceeded"});
  ASSERT_EQ(rig.a.adapter->CreateSharedReceiveQueue(IID_IND2SharedReceiveQueue, rig.a.file, 8, 2, 8, 0, 0, shared.out()), ND_SUCCESS);
  EXPECT_EQ(story(), "");
  EXPECT_TRUE(FAILED(shared->Modify(0, 9)));
  EXPECT_EQ(found(), Names{"adapter_limit_exceeded"});
}

TEST_F(QueuePairs, RequestsLongerThanTheAdapterCarries) {
  join();
  const ND2_SGE huge = {a.memory.data(), 0xFFFFFFFF, a.region->GetLocalToken()};
  EXPECT_EQ(a.qp->Write(nullptr, &huge, 1, there, b.region->GetRemoteToken(), 0), ND_BUFFER_OVERFLOW);
  EXPECT_EQ(found(), (Names{"adapter_limit_exceeded", "sge_outside_region"}));
}

}  // namespace
}  // namespace fb::networkdirect::verifier
