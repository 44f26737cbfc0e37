// Completion queues and shared receive queues.
#include "tests/networkdirect/ndk/provider/rig.h"

namespace fb::ndk {
namespace {

using testing::options_of;
using testing::Rig;
using testing::Side;

struct Arming {
  Rig rig;
  Arming() {
    rig.make_and_connect();
    for (std::uintptr_t i = 0; i < 20; ++i) EXPECT_EQ(rig.b.receive(100 + i, 0, 100), STATUS_SUCCESS);
  }
  void arm(ULONG type) { rig.b.cq->Dispatch->NdkArmCq(rig.b.cq, type); }
  void send(ULONG flags = 0) {
    EXPECT_EQ(rig.a.send(1, 0, 10, flags), STATUS_SUCCESS);
    rig.settle();
  }
};

TEST(CompletionQueue, OneCallbackForOneArm) {
  Arming t;
  t.send();
  EXPECT_EQ(t.rig.b.notified, 0);
  t.arm(NDK_CQ_NOTIFY_ANY);  // newer than the last callback: at once
  EXPECT_EQ(t.rig.b.notified, 0);
  t.rig.settle();
  EXPECT_EQ(t.rig.b.notified, 1);
  t.send();
  EXPECT_EQ(t.rig.b.notified, 1);
  t.arm(NDK_CQ_NOTIFY_ANY);
  t.rig.settle();
  EXPECT_EQ(t.rig.b.notified, 2);
  EXPECT_EQ(t.rig.b.results().size(), 2u);
  t.arm(NDK_CQ_NOTIFY_ANY);
  t.rig.settle();
  EXPECT_EQ(t.rig.b.notified, 2);
  t.send();
  t.send();
  EXPECT_EQ(t.rig.b.notified, 3);
  EXPECT_EQ(t.rig.b.notify_status, STATUS_SUCCESS);
  t.rig.close();
}

TEST(CompletionQueue, SolicitedAndErrors) {
  Arming t;
  t.arm(NDK_CQ_NOTIFY_SOLICITED);
  t.send();
  EXPECT_EQ(t.rig.b.notified, 0);
  t.send(NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT);
  EXPECT_EQ(t.rig.b.notified, 1);
  t.rig.b.results();
  t.arm(NDK_CQ_NOTIFY_ERRORS);
  t.send(NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT);
  EXPECT_EQ(t.rig.b.notified, 1);
  t.rig.b.results();
  t.arm(NDK_CQ_NOTIFY_SOLICITED);  // more than errors
  t.arm(NDK_CQ_NOTIFY_ERRORS);
  t.send();
  EXPECT_EQ(t.rig.b.notified, 1);
  t.arm(NDK_CQ_NOTIFY_ANY);  // more than both; what is there already counts
  t.arm(NDK_CQ_NOTIFY_SOLICITED);
  t.rig.settle();
  EXPECT_EQ(t.rig.b.notified, 2);
  t.rig.b.results();
  t.arm(NDK_CQ_NOTIFY_SOLICITED);
  t.rig.b.qp->Dispatch->NdkFlush(t.rig.b.qp);  // errors match
  t.rig.settle();
  EXPECT_EQ(t.rig.b.notified, 3);
  t.rig.close();
}

TEST(CompletionQueue, ArmingInTheCallbackLosesNothing) {
  for (const bool inside : {false, true}) {
    ProviderOptions options;
    options.notify_inside_arm = inside;
    Rig rig(options);
    rig.make_and_connect();
    std::size_t seen = 0;
    rig.b.then_notified = [&] {
      seen += rig.b.results().size();
      rig.b.cq->Dispatch->NdkArmCq(rig.b.cq, NDK_CQ_NOTIFY_ANY);
    };
    for (std::uintptr_t i = 0; i < 30; ++i) rig.b.receive(i, 0, 100);
    rig.b.cq->Dispatch->NdkArmCq(rig.b.cq, NDK_CQ_NOTIFY_ANY);
    for (int i = 0; i < 30; ++i) {
      rig.a.send(1, 0, 10);
      if (i % 7 == 0) rig.settle();
    }
    rig.settle();
    EXPECT_EQ(seen, 30u);
    rig.b.then_notified = {};
    rig.close();
  }
}

TEST(CompletionQueue, CallsFromInsideArmWhereThatIsWanted) {
  ProviderOptions options;
  options.notify_inside_arm = true;
  Rig rig(options);
  rig.make_and_connect();
  rig.b.receive(1, 0, 100);
  rig.a.send(1, 0, 10);
  rig.settle();
  rig.b.cq->Dispatch->NdkArmCq(rig.b.cq, NDK_CQ_NOTIFY_ANY);
  EXPECT_EQ(rig.b.notified, 1);
  rig.close();
}

TEST(CompletionQueue, OverrunKillsQueueAndQueuePairs) {
  Rig rig;
  rig.a.make_usual();
  rig.b.make_usual(4);
  rig.connect();
  for (std::uintptr_t i = 0; i < 6; ++i) ASSERT_EQ(rig.b.receive(i, 0, 100), STATUS_SUCCESS);
  rig.b.cq->Dispatch->NdkArmCq(rig.b.cq, NDK_CQ_NOTIFY_ERRORS);
  for (int i = 0; i < 4; ++i) rig.a.send(1, 0, 10);
  rig.settle();
  EXPECT_EQ(rig.b.notified, 0);
  rig.a.send(1, 0, 10);
  rig.settle();
  EXPECT_EQ(rig.b.notified, 1);
  EXPECT_EQ(rig.b.notify_status, STATUS_BUFFER_OVERFLOW);
  EXPECT_EQ(rig.a.disconnected, 1);
  EXPECT_EQ(rig.b.disconnected, 1);
  EXPECT_EQ(rig.b.reason, 2u);
  EXPECT_EQ(rig.b.results().size(), 4u);  // what was there
  rig.close();
}

TEST(CompletionQueue, ResizesWithoutLoss) {
  for (const Answers answers : {Answers::at_once, Answers::later}) {
    Rig rig(options_of(answers));
    rig.a.make_usual();
    rig.b.make_usual(6);
    rig.connect();
    const auto resize = [&](ULONG depth) {
      return rig.b.request([&](auto c, PVOID x) { return rig.b.cq->Dispatch->NdkResizeCq(rig.b.cq, depth, c, x); });
    };
    for (std::uintptr_t i = 0; i < 20; ++i) ASSERT_EQ(rig.b.receive(i, 0, 100), STATUS_SUCCESS);
    for (int i = 0; i < 5; ++i) rig.a.send(1, 0, 10);
    rig.settle();
    EXPECT_EQ(resize(4), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(resize(0), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(resize(1u << 30), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(resize(20), STATUS_SUCCESS);
    for (int i = 0; i < 15; ++i) rig.a.send(1, 0, 10);
    rig.settle();
    const auto all = rig.b.results();
    ASSERT_EQ(all.size(), 20u);
    for (std::uintptr_t i = 0; i < 20; ++i) EXPECT_EQ(all[i].RequestContext, Side::word(i));
    rig.close();
  }
}

TEST(CompletionQueue, Moderation) {
  Arming t;
  const auto moderate = [&](ULONG us, ULONG count) { return t.rig.b.cq->Dispatch->NdkControlCqInterruptModeration(t.rig.b.cq, us, count); };
  constexpr ULONG kInfinite = ~ULONG{0};
  EXPECT_EQ(moderate(kInfinite, kInfinite), STATUS_INVALID_PARAMETER_MIX);
  EXPECT_EQ(moderate(1000, 3), STATUS_SUCCESS);
  t.arm(NDK_CQ_NOTIFY_ANY);
  t.rig.a.send(1, 0, 10);
  t.rig.world->run_for(Duration::us(500));
  EXPECT_EQ(t.rig.b.notified, 0);
  t.rig.world->run_for(Duration::us(1000));
  EXPECT_EQ(t.rig.b.notified, 1);
  t.rig.b.results();
  t.arm(NDK_CQ_NOTIFY_ANY);
  for (int i = 0; i < 3; ++i) t.rig.a.send(1, 0, 10);
  t.rig.world->run_for(Duration::us(500));
  EXPECT_EQ(t.rig.b.notified, 2);
  t.rig.b.results();
  EXPECT_EQ(moderate(0, 0), STATUS_SUCCESS);
  t.arm(NDK_CQ_NOTIFY_ANY);
  t.send();
  EXPECT_EQ(t.rig.b.notified, 3);
  t.rig.close();
}

TEST(CompletionQueue, DepthIsLimited) {
  Rig rig;
  EXPECT_EQ(rig.a.make_cq(8193, STATUS_INVALID_PARAMETER), nullptr);
  EXPECT_EQ(rig.a.make_cq(0, STATUS_INVALID_PARAMETER), nullptr);
  rig.a.close(rig.a.make_cq(8192));
}

TEST(SharedReceiveQueue, ServesItsQueuePairsAndTellsWhenItRunsLow) {
  for (const Answers answers : {Answers::natural, Answers::later, Answers::before_return}) {
    Rig rig(options_of(answers));
    rig.a.make_usual();
    rig.b.pd = rig.b.make_pd();
    rig.b.cq = rig.b.make_cq(128);
    rig.b.mr = rig.b.make_mr();
    ASSERT_EQ(rig.b.register_mr(rig.b.mr, rig.b.memory, Side::kAllRights), STATUS_SUCCESS);
    rig.b.local = rig.b.mr->Dispatch->NdkGetLocalTokenFromMr(rig.b.mr);
    rig.b.srq = rig.b.make_srq(8, 3);
    rig.b.qp = rig.b.make_qp();
    rig.settle();
    EXPECT_EQ(rig.b.srq_notified, 0);  // never had more
    for (std::uintptr_t i = 0; i < 8; ++i) ASSERT_EQ(rig.b.receive(i, 0, 100), STATUS_SUCCESS);
    EXPECT_EQ(rig.b.receive(8, 0, 100), STATUS_NO_MORE_ENTRIES);
    EXPECT_EQ(rig.b.qp->Dispatch->NdkReceive(rig.b.qp, nullptr, nullptr, 0), STATUS_INVALID_DEVICE_REQUEST);
    rig.connect();
    for (int i = 0; i < 5; ++i) rig.a.send(1, 0, 10);
    rig.settle();
    EXPECT_EQ(rig.b.srq_notified, 0);  // three are left
    rig.a.send(1, 0, 10);
    rig.settle();
    EXPECT_EQ(rig.b.srq_notified, 1);
    rig.a.send(1, 0, 10);
    rig.settle();
    EXPECT_EQ(rig.b.srq_notified, 1);  // until it is set again
    EXPECT_EQ(rig.b.results().size(), 7u);
    const auto modify = [&](ULONG depth, ULONG threshold) {
      return rig.b.request([&](auto c, PVOID x) { return rig.b.srq->Dispatch->NdkModifySrq(rig.b.srq, depth, threshold, c, x); });
    };
    EXPECT_EQ(modify(0, 9), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(modify(1u << 20, 0), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(modify(0, 2), STATUS_SUCCESS);
    rig.settle();
    EXPECT_EQ(rig.b.srq_notified, 2);  // fewer already
    // Deeper than the device's was made.
    EXPECT_EQ(modify(1000, 0), STATUS_SUCCESS);
    for (std::uintptr_t i = 0; i < 999; ++i) ASSERT_EQ(rig.b.receive(100 + i, 0, 100), STATUS_SUCCESS);
    EXPECT_EQ(rig.b.receive(0, 0, 100), STATUS_NO_MORE_ENTRIES);
    EXPECT_EQ(modify(500, 0), STATUS_BUFFER_OVERFLOW);
    std::size_t seen = 0;
    for (int i = 0; i < 1000; ++i) {
      ASSERT_EQ(rig.a.send(1, 0, 10), STATUS_SUCCESS);
      if (i % 20 != 19) continue;
      rig.settle();
      rig.a.results();
      seen += rig.b.results().size();
    }
    EXPECT_EQ(seen, 1000u);
    rig.close();
  }
}

}  // namespace
}  // namespace fb::ndk
