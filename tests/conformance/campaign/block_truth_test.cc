#include "conformance/campaign/block_truth.h"

#include <gtest/gtest.h>

namespace fb::conformance {
namespace {

constexpr std::uint32_t kBlock = 512;

class BlockTruthTest : public testing::Test {
 protected:
  BlockTruth truth{16, kBlock};

  BlockTruth::Id write(std::uint64_t lba, std::uint32_t blocks, bool acknowledged = true) {
    const auto id = truth.begin_write(lba, blocks);
    if (acknowledged) truth.acknowledge(id);
    return id;
  }
  Bytes holds(BlockTruth::Id id, std::uint64_t lba, std::uint32_t blocks = 1) {
    Bytes data(std::size_t{blocks} * kBlock);
    truth.fill(id, lba, data);
    return data;
  }
  /// What is said of a read that begins and ends now: "" or the word before the colon.
  std::string said(std::uint64_t lba, const Bytes& data) {
    const auto why = truth.check(lba, data, truth.now());
    return why ? why->substr(0, why->find(':')) : "";
  }
  const Bytes zeroes = Bytes(kBlock);
};

TEST_F(BlockTruthTest, BeginsWithZeroes) {
  EXPECT_EQ(said(3, zeroes), "");
  EXPECT_EQ(said(3, Bytes(kBlock, 1)), "corrupt");
}

TEST_F(BlockTruthTest, AnAcknowledgedWriteIsThere) {
  const auto id = write(2, 2);
  EXPECT_EQ(said(2, holds(id, 2, 2)), "");
  EXPECT_EQ(said(2, zeroes), "stale");
  EXPECT_EQ(said(4, zeroes), "");
  EXPECT_EQ(said(4, holds(id, 4)), "stale") << "it was not written there";
  EXPECT_EQ(said(2, holds(id, 3)), "corrupt") << "the bytes of another block";
}

TEST_F(BlockTruthTest, AnyFlippedBitIsSeen) {
  const auto id = write(2, 1);
  for (std::size_t bit = 0; bit < std::size_t{kBlock} * 8; bit += 37) {
    Bytes data = holds(id, 2);
    data[bit / 8] = static_cast<std::uint8_t>(data[bit / 8] ^ 1u << bit % 8);
    EXPECT_NE(said(2, data), "");
  }
}

TEST_F(BlockTruthTest, AFailedWriteMayBeThereOrNot) {
  const auto old = write(2, 1);
  const auto failed = write(2, 1, false);
  EXPECT_EQ(said(2, holds(old, 2)), "");
  EXPECT_EQ(said(2, holds(failed, 2)), "");
  EXPECT_EQ(said(2, zeroes), "stale");
}

TEST_F(BlockTruthTest, ConcurrentWritesEndInAnyOrder) {
  const auto first = truth.begin_write(2, 1);
  const auto second = truth.begin_write(2, 1);
  truth.acknowledge(second);
  truth.acknowledge(first);
  EXPECT_EQ(said(2, holds(first, 2)), "");
  EXPECT_EQ(said(2, holds(second, 2)), "");
  const auto third = write(2, 1);
  EXPECT_EQ(said(2, holds(first, 2)), "stale");
  EXPECT_EQ(said(2, holds(second, 2)), "stale");
  EXPECT_EQ(said(2, holds(third, 2)), "");
}

TEST_F(BlockTruthTest, AReadSeesWhatWasThereAtAnyTimeWhileItLasted) {
  const auto before = write(2, 1);
  const auto began = truth.now();
  const auto after = write(2, 1);
  EXPECT_FALSE(truth.check(2, holds(before, 2), began));
  EXPECT_FALSE(truth.check(2, holds(after, 2), began));
  EXPECT_EQ(said(2, holds(before, 2)), "stale");
}

TEST_F(BlockTruthTest, WhatWasSeenToBeReplacedDoesNotComeBack) {
  const auto first = truth.begin_write(2, 1);
  const auto second = truth.begin_write(2, 1);
  truth.acknowledge(first);
  truth.acknowledge(second);
  truth.observe(2, holds(second, 2), truth.now());
  EXPECT_EQ(said(2, holds(second, 2)), "");
  EXPECT_EQ(said(2, holds(first, 2)), "stale");
}

TEST_F(BlockTruthTest, AnObservationSaysNothingOfWritesThatWereNotDone) {
  const auto first = truth.begin_write(2, 1);
  const auto failed = write(2, 1, false);
  truth.observe(2, holds(failed, 2), truth.now());
  truth.acknowledge(first);
  EXPECT_EQ(said(2, holds(first, 2)), "") << "it may have come after the other";
}

TEST_F(BlockTruthTest, PowerTakesWhatWasNotFlushed) {
  const auto durable = write(2, 1);
  truth.flushed(truth.now());
  const auto cached = write(2, 1);
  truth.observe(2, holds(cached, 2), truth.now());
  const auto before = truth.now();
  truth.power_lost();
  EXPECT_EQ(said(2, holds(durable, 2)), "");
  EXPECT_EQ(said(2, holds(cached, 2)), "");
  EXPECT_EQ(said(2, zeroes), "stale");
  truth.observe(2, holds(cached, 2), before);
  EXPECT_EQ(said(2, holds(durable, 2)), "") << "that read began before the loss";
  truth.observe(2, holds(durable, 2), truth.now());
  EXPECT_EQ(said(2, holds(cached, 2)), "stale") << "it is known to be gone";
}

TEST_F(BlockTruthTest, AFlushThatBeganBeforeAWriteEndedDoesNotKeepIt) {
  const auto old = write(2, 1);
  truth.flushed(truth.now());
  const auto id = truth.begin_write(2, 1);
  const auto tick = truth.now();
  truth.acknowledge(id);
  truth.flushed(tick);
  truth.power_lost();
  EXPECT_EQ(said(2, holds(old, 2)), "");
}

TEST_F(BlockTruthTest, ARefusedWriteIsNowhere) {
  const auto id = truth.begin_write(2, 1);
  truth.withdraw(id);
  EXPECT_EQ(said(2, holds(id, 2)), "refused");
  EXPECT_EQ(said(2, zeroes), "");
}

TEST_F(BlockTruthTest, ACommandIsThereWhollyOrNotAtAll) {
  const auto old = write(2, 2);
  const auto id = truth.begin_write(2, 2);
  Bytes torn = holds(id, 2), rest = holds(old, 3);
  torn.insert(torn.end(), rest.begin(), rest.end());
  EXPECT_EQ(said(2, torn), "torn");
  EXPECT_EQ(said(2, holds(id, 2, 2)), "");
  EXPECT_EQ(said(2, holds(old, 2, 2)), "");
}

TEST_F(BlockTruthTest, ComparesDifferOnlyWhereSomethingElseMayBe) {
  const auto id = write(2, 1);
  EXPECT_FALSE(truth.may_differ(2, holds(id, 2), truth.now()));
  EXPECT_TRUE(truth.may_differ(2, zeroes, truth.now()));
  const auto failed = write(2, 1, false);
  EXPECT_TRUE(truth.may_differ(2, holds(id, 2), truth.now()));
  EXPECT_TRUE(truth.may_differ(2, holds(failed, 2), truth.now()));
}

TEST_F(BlockTruthTest, ZeroesAreAWriteToo) {
  write(2, 1);
  const auto id = truth.begin_write(2, 1, true);
  EXPECT_EQ(said(2, zeroes), "");
  truth.acknowledge(id);
  EXPECT_EQ(said(2, zeroes), "");
  EXPECT_FALSE(truth.may_differ(2, zeroes, truth.now()));
  Bytes likely(kBlock, 7);
  truth.likely(2, likely);
  EXPECT_EQ(likely, zeroes);
}

}  // namespace
}  // namespace fb::conformance
