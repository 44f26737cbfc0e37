// Objects may be closed in any order: a close that must wait says so, and ends when what stands on it has ended.
#include <algorithm>
#include <array>

#include "tests/networkdirect/ndk/provider/rig.h"

namespace fb::ndk {
namespace {

using testing::Answer;
using testing::options_of;
using testing::Rig;
using testing::Side;

/// The objects of one connected side, and who stands on whom.
enum Which { kPd, kCq, kMr, kQp, kConnector, kListener, kWindow, kCount };
constexpr std::array<std::pair<Which, Which>, 6> kStandsOn = {
    {{kMr, kPd}, {kQp, kPd}, {kQp, kCq}, {kConnector, kQp}, {kConnector, kListener}, {kWindow, kPd}}};

Answer& begin_close(Side& side, Which which, NDK_MW* window) {
  switch (which) {
    case kPd:
      return side.begin_close(std::exchange(side.pd, nullptr));
    case kCq:
      return side.begin_close(std::exchange(side.cq, nullptr));
    case kMr:
      return side.begin_close(std::exchange(side.mr, nullptr));
    case kQp:
      return side.begin_close(std::exchange(side.qp, nullptr));
    case kConnector:
      return side.begin_close(std::exchange(side.connector, nullptr));
    case kListener:
      return side.begin_close(std::exchange(side.listener, nullptr));
    default:
      return side.begin_close(window);
  }
}

class Closing : public ::testing::TestWithParam<Answers> {};
INSTANTIATE_TEST_SUITE_P(Ways, Closing, ::testing::Values(Answers::at_once, Answers::later, Answers::before_return, Answers::random));

TEST_P(Closing, AnyOrderEndsInTheOrderOfDependence) {
  std::array<Which, kCount> order;
  for (int i = 0; i < kCount; ++i) order[static_cast<std::size_t>(i)] = static_cast<Which>(i);
  do {
    Rig rig(options_of(GetParam()));
    rig.make_and_connect();
    NDK_MW* window = rig.b.make_mw();
    ASSERT_EQ(rig.b.qp->Dispatch->NdkBind(rig.b.qp, nullptr, rig.b.mr, window, rig.b.memory.data(), 100, NDK_OP_FLAG_ALLOW_REMOTE_READ),
              STATUS_SUCCESS);
    ASSERT_EQ(rig.b.receive(1, 0, 10), STATUS_SUCCESS);
    rig.settle();
    std::array<int, kCount> ended = {};
    int clock = 0;
    std::array<Answer*, kCount> answers = {};
    for (const Which which : order) {
      Answer& answer = begin_close(rig.b, which, window);
      answers[which] = &answer;
      if (answer.inline_status == STATUS_SUCCESS || answer.calls > 0) {
        ended[which] = ++clock;
      } else {
        answer.then = [&ended, &clock, which] { ended[which] = ++clock; };
      }
    }
    rig.settle();
    for (int i = 0; i < kCount; ++i) {
      ASSERT_GT(ended[static_cast<std::size_t>(i)], 0) << "object " << i << " never ended";
      ASSERT_EQ(answers[static_cast<std::size_t>(i)]->calls, answers[static_cast<std::size_t>(i)]->inline_status == STATUS_PENDING);
    }
    for (const auto& [upper, lower] : kStandsOn) ASSERT_LT(ended[upper], ended[lower]) << upper << " stands on " << lower;
    // A window stands on its region as long as it is bound: until it goes, or the queue pair.
    ASSERT_GT(ended[kMr], std::min(ended[kWindow], ended[kQp]));
    ASSERT_EQ(rig.b.provider->live_objects(), 0u);
    rig.a.close_usual();
    rig.settle();
    ASSERT_EQ(rig.a.provider->live_objects(), 0u);
    ASSERT_EQ(rig.a.disconnected, 1);
    // A sample of the orders is enough where the way to answer is drawn.
    if (GetParam() != Answers::at_once) std::next_permutation(order.begin() + 3, order.end());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_P(Closing, AQueuePairCancelsWhatIsOutstanding) {
  Rig rig(options_of(GetParam()));
  rig.make_and_connect();
  for (std::uintptr_t i = 0; i < 3; ++i) ASSERT_EQ(rig.b.receive(i, 0, 10), STATUS_SUCCESS);
  rig.b.begin_close(std::exchange(rig.b.qp, nullptr));
  const auto flushed = rig.b.results();
  ASSERT_EQ(flushed.size(), 3u);
  EXPECT_EQ(flushed[2].Status, STATUS_CANCELLED);
  EXPECT_EQ(flushed[2].QPContext, &rig.b);
  rig.close();
}

TEST_P(Closing, AnAntecedentEndsAfterTheCallbackOfWhatStoodOnIt) {
  Rig rig(options_of(GetParam()));
  rig.a.make_usual();
  Answer& pd = rig.a.begin_close(std::exchange(rig.a.pd, nullptr));
  EXPECT_EQ(pd.inline_status, STATUS_PENDING);
  rig.a.close(std::exchange(rig.a.mr, nullptr));
  rig.settle();
  EXPECT_EQ(pd.calls, 0);
  Answer& qp = rig.a.begin_close(std::exchange(rig.a.qp, nullptr));
  qp.then = [&] { EXPECT_EQ(pd.calls, 0); };
  EXPECT_EQ(pd.calls, 0);  // not inside of another's close
  rig.settle();
  EXPECT_EQ(pd.calls, 1);
  rig.close();
}

TEST_P(Closing, InsideItsOwnNotification) {
  Rig rig(options_of(GetParam()));
  rig.make_and_connect();
  rig.b.receive(1, 0, 10);
  rig.b.cq->Dispatch->NdkArmCq(rig.b.cq, NDK_CQ_NOTIFY_ANY);
  Answer* closing = nullptr;
  rig.b.then_notified = [&] {
    rig.b.close_usual_inside();
    closing = &rig.b.begin_close(std::exchange(rig.b.cq, nullptr));
    EXPECT_EQ(closing->inline_status, STATUS_PENDING);
  };
  rig.a.send(1, 0, 10);
  rig.settle();
  ASSERT_NE(closing, nullptr);
  EXPECT_EQ(closing->calls, 1);
  EXPECT_EQ(rig.b.notified, 1);
  rig.close();
}

}  // namespace
}  // namespace fb::ndk
