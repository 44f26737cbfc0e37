#include "tests/networkdirect/ndk/verifier/rig.h"

namespace fb::ndk::verifier {
namespace {

class Queues : public Watched {
 protected:
  using Watched::Watched;
  NTSTATUS resize(ULONG depth) {
    return a.request([&](auto c, PVOID x) { return a.cq->Dispatch->NdkResizeCq(a.cq, depth, c, x); });
  }
  void try_qp(ULONG receives, ULONG initiators, ULONG receive_sges, ULONG initiator_sges, ULONG inline_bytes) {
    a.create<NDK_QP>(
        [&](auto c, PVOID x, NDK_QP** place) {
          return a.pd->Dispatch->NdkCreateQp(a.pd, a.cq, a.cq, nullptr, receives, initiators, receive_sges, initiator_sges, inline_bytes, c,
                                             x, place);
        },
        STATUS_INVALID_PARAMETER);
  }
  void try_srq(ULONG depth, ULONG sges, ULONG threshold) {
    a.create<NDK_SRQ>(
        [&](auto c, PVOID x, NDK_SRQ** place) {
          return a.pd->Dispatch->NdkCreateSrq(a.pd, depth, sges, threshold, &Side::on_srq, &a, nullptr, c, x, place);
        },
        STATUS_INVALID_PARAMETER);
  }
};

TEST_F(Queues, DepthsThatThereAreNot) {
  a.make_cq(0, STATUS_INVALID_PARAMETER);
  EXPECT_EQ(found(), Names{"cq_depth_exceeded"});
  a.make_cq(1 << 20, STATUS_INVALID_PARAMETER);
  EXPECT_EQ(found(), Names{"cq_depth_exceeded"});
  a.cq = a.make_cq(8);
  EXPECT_NE(resize(1 << 20), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"cq_depth_exceeded"});
  EXPECT_NE(resize(0), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"cq_depth_exceeded"});
  a.pd = a.make_pd();
  try_qp(1 << 20, 8, 1, 1, 0);
  EXPECT_EQ(found(), Names{"qp_depth_exceeded"});
  try_qp(8, 1 << 20, 1, 1, 0);
  EXPECT_EQ(found(), Names{"qp_depth_exceeded"});
  try_qp(8, 8, 1000, 1, 0);
  EXPECT_EQ(found(), Names{"qp_sges_exceeded"});
  try_qp(8, 8, 1, 1000, 0);
  EXPECT_EQ(found(), Names{"qp_sges_exceeded"});
  try_qp(8, 8, 1, 1, 1 << 20);
  EXPECT_EQ(found(), Names{"qp_inline_exceeded"});
  try_srq(0, 1, 0);
  EXPECT_EQ(found(), Names{"srq_depth_exceeded"});
  try_srq(8, 1000, 0);
  EXPECT_EQ(found(), Names{"srq_sges_exceeded"});
  try_srq(8, 1, 9);
  EXPECT_EQ(found(), Names{"srq_threshold_exceeded"});
}

TEST_F(Queues, SharedOnesAreModifiedWithinLimits) {
  a.pd = a.make_pd();
  NDK_SRQ* const srq = a.make_srq(8, 0);
  const auto modify = [&](ULONG depth, ULONG threshold) {
    return a.request([&](auto c, PVOID x) { return srq->Dispatch->NdkModifySrq(srq, depth, threshold, c, x); });
  };
  EXPECT_NE(modify(0, 9), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"srq_threshold_exceeded"});
  EXPECT_EQ(modify(16, 9), STATUS_SUCCESS);
  EXPECT_NE(modify(1 << 20, 0), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"srq_depth_exceeded"});
}

TEST_F(Queues, ThresholdsThatNobodyHearsOf) {
  a.pd = a.make_pd();
  a.create<NDK_SRQ>([&](auto c, PVOID x, NDK_SRQ** place) {
    return a.pd->Dispatch->NdkCreateSrq(a.pd, 8, 1, 4, nullptr, nullptr, nullptr, c, x, place);
  });
  EXPECT_EQ(found(), Names{"threshold_without_callback"});
}

TEST_F(Queues, TooShallowForWhatMayCome) {
  a.make_usual(4);
  b.make_usual();
  rig.connect();
  a.cq->Dispatch->NdkArmCq(a.cq, NDK_CQ_NOTIFY_ERRORS);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(a.write(1, 0, 8, b.at(0), b.remote), STATUS_SUCCESS);
  EXPECT_EQ(findings.story(), "");
  ASSERT_EQ(a.write(1, 0, 8, b.at(0), b.remote), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"cq_shallow"});
  rig.settle();
  EXPECT_EQ(a.notify_status, STATUS_BUFFER_OVERFLOW);
  EXPECT_EQ(found(), Names{"cq_overrun"});
}

TEST_F(Queues, ArmedAsThereIsNoWay) {
  a.cq = a.make_cq(8);
  a.cq->Dispatch->NdkArmCq(a.cq, 3);
  EXPECT_EQ(found(), Names{"arm_type_unknown"});
}

class Inside : public Queues {
 protected:
  static ProviderOptions options() {
    ProviderOptions made;
    made.notify_inside_arm = true;
    return made;
  }
  Inside() : Queues(options()) {}
};

TEST_F(Inside, ReadWhileTheyAreArmed) {
  rig.make_and_connect();
  ASSERT_EQ(a.write(1, 0, 8, b.at(0), b.remote), STATUS_SUCCESS);
  rig.settle();
  a.then_notified = [&] { a.results(); };
  a.cq->Dispatch->NdkArmCq(a.cq, NDK_CQ_NOTIFY_ANY);
  ASSERT_EQ(a.notified, 1);
  EXPECT_EQ(found(), Names{"cq_calls_overlap"});
}

class Later : public Queues {
 protected:
  Later() : Queues(options_of(Answers::later)) {}
};

TEST_F(Later, ResizedOneAfterTheOther) {
  a.cq = a.make_cq(8);
  Answer& first = a.begin([&](auto c, PVOID x) { return a.cq->Dispatch->NdkResizeCq(a.cq, 16, c, x); });
  EXPECT_EQ(resize(32), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"resize_overlap"});
  a.wait(first);
  EXPECT_EQ(resize(16), STATUS_SUCCESS);
  EXPECT_EQ(findings.story(), "");
}

TEST_F(Queues, ResizedBelowWhatIsInThem) {
  rig.make_and_connect();
  for (int i = 0; i < 4; ++i) ASSERT_EQ(a.write(1, 0, 8, b.at(0), b.remote), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(resize(2), STATUS_BUFFER_OVERFLOW);
  EXPECT_EQ(found(), Names{"resize_too_small"});
}

TEST_F(Queues, ModeratedWithoutEnd) {
  a.cq = a.make_cq(8);
  a.cq->Dispatch->NdkControlCqInterruptModeration(a.cq, ~0u, ~0u);
  EXPECT_EQ(found(), Names{"moderation_infinite"});
}

TEST_F(Queues, NeverArmed) {
  rig.make_and_connect();
  ASSERT_EQ(a.write(1, 0, 8, b.at(0), b.remote), STATUS_SUCCESS);
  rig.settle();
  NDK_CQ* const idle = a.make_cq(8);
  a.close(idle);
  EXPECT_EQ(findings.story(), "") << "nothing was to come";
  for (const bool armed : {false, true}) {
    Side& side = armed ? b : a;
    ASSERT_EQ(side.receive(2, 0, 64), STATUS_SUCCESS);
    if (armed) side.cq->Dispatch->NdkArmCq(side.cq, NDK_CQ_NOTIFY_ERRORS);
    side.close(std::exchange(side.connector, nullptr));
    side.close(std::exchange(side.qp, nullptr));
    found();
    side.close(std::exchange(side.cq, nullptr));
    EXPECT_EQ(found(), armed ? Names{} : Names{"cq_never_armed"});
  }
}

class Simple : public Lacking<NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED | NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED> {};

TEST_F(Simple, WhatTheAdapterDoesNotDo) {
  a.cq = a.make_cq(8);
  a.request([&](auto c, PVOID x) { return a.cq->Dispatch->NdkResizeCq(a.cq, 16, c, x); });
  EXPECT_EQ(found(), Names{"resize_unsupported"});
  a.cq->Dispatch->NdkControlCqInterruptModeration(a.cq, 10, 4);
  EXPECT_EQ(found(), Names{"moderation_unsupported"});
}

}  // namespace
}  // namespace fb::ndk::verifier
