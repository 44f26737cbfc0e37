#include "conformance/campaign/reservation_truth.h"

#include <gtest/gtest.h>

namespace fb::conformance {
namespace {

class ReservationTruthTest : public testing::Test {
 protected:
  ReservationTruth truth{2};
  ReservationTruth::Tick tick = 0;

  ReservationTruth::Tick now() { return ++tick; }
  void acquire(std::size_t host, bool acknowledged = true) {
    const auto began = now();
    truth.begin_acquire(host, began);
    truth.end_acquire(host, acknowledged, began, now());
  }
  void release(std::size_t host, bool acknowledged = true) {
    const auto began = now();
    truth.begin_release(host);
    truth.end_release(host, acknowledged, began, now());
  }
  bool may_write(std::size_t host) { return !truth.check_written(host, now()); }
  bool may_be_refused(std::size_t host) { return !truth.check_refused(host, now()); }
};

TEST_F(ReservationTruthTest, NobodyIsRefusedInTheBeginning) {
  EXPECT_TRUE(may_write(0));
  EXPECT_FALSE(may_be_refused(0));
}

TEST_F(ReservationTruthTest, TheHolderWritesAndTheOtherDoesNot) {
  acquire(0);
  EXPECT_TRUE(may_write(0));
  EXPECT_FALSE(may_be_refused(0));
  EXPECT_FALSE(may_write(1));
  EXPECT_TRUE(may_be_refused(1));
  release(0);
  EXPECT_TRUE(may_write(1));
  EXPECT_FALSE(may_be_refused(1));
}

TEST_F(ReservationTruthTest, WhatBeganBeforeMayEndEitherWay) {
  const auto began = now();
  acquire(0);
  EXPECT_FALSE(truth.check_written(1, began));
  EXPECT_FALSE(truth.check_refused(1, began));
  const auto during = now();
  release(0);
  EXPECT_FALSE(truth.check_refused(1, during));
}

TEST_F(ReservationTruthTest, WhatWasNotAcknowledgedSaysNothing) {
  acquire(0, false);
  EXPECT_TRUE(may_write(1));
  EXPECT_TRUE(may_be_refused(1));
  release(0);
  EXPECT_TRUE(may_be_refused(1)) << "the acquire may be executed late";
  acquire(1);
  release(1, false);
  acquire(1);
  EXPECT_TRUE(may_write(0)) << "the release may be executed late";
}

TEST_F(ReservationTruthTest, AReleaseThatLastsTakesAwayWhatIsAcquiredMeanwhile) {
  const auto began = now();
  truth.begin_release(0);
  acquire(0);
  EXPECT_TRUE(may_write(1));
  truth.end_release(0, true, began, now());
  EXPECT_TRUE(may_write(1));
  EXPECT_TRUE(may_be_refused(1));
}

TEST_F(ReservationTruthTest, PowerEndsThem) {
  acquire(0);
  truth.power_lost(now());
  EXPECT_TRUE(may_write(1));
  EXPECT_FALSE(may_be_refused(1));
}

}  // namespace
}  // namespace fb::conformance
