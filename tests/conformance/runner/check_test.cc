#include "conformance/runner/check.h"

#include <gtest/gtest.h>

namespace fb::conformance {
namespace {

namespace sc = nvme::sc;

TEST(Ladder, OnlyClimbs) {
  Check check;
  EXPECT_EQ(check.verdict(), Verdict::none);
  EXPECT_TRUE(check.equal("answer", 1, 1));
  EXPECT_EQ(check.verdict(), Verdict::pass);
  EXPECT_THROW(check.inconclusive("no second path"), LeaveCase);
  EXPECT_EQ(check.verdict(), Verdict::inconclusive);
  EXPECT_EQ(check.reason(), "no second path");
  EXPECT_FALSE(check.equal("answer", 17, 3));
  EXPECT_EQ(check.verdict(), Verdict::fail);
  check.equal("answer", 3, 3);
  EXPECT_EQ(check.verdict(), Verdict::fail);
  check.raise(Verdict::error, "the bench broke");
  EXPECT_EQ(check.verdict(), Verdict::error);
  EXPECT_EQ(check.reason(), "the bench broke");
  check.raise(Verdict::fail, "later");
  EXPECT_EQ(check.reason(), "the bench broke");
}

TEST(Check, CollectsExpectedSetsAndWhatWasSeen) {
  Check check;
  EXPECT_FALSE(check.status(sc::success, one_of(sc::invalid_field, sc::invalid_opcode), "reply"));
  EXPECT_FALSE(check.equal("depth", 17u, one_of(1, 2)));
  EXPECT_FALSE(check.between("delay", Duration::ms(3), Duration::ms(4), Duration::ms(5)));
  EXPECT_FALSE(check.bytes("data", Bytes{1, 2, 3}, Bytes{1, 9, 3}));
  EXPECT_EQ(check.performed(), 4u);
  ASSERT_EQ(check.findings().size(), 4u);
  EXPECT_EQ(check.findings()[0].expected.size(), 2u);
  EXPECT_NE(check.findings()[0].expected[0].find("0/02h"), std::string::npos);
  EXPECT_EQ(check.findings()[1].seen, "17 (11h)");
  EXPECT_EQ(check.findings()[3].expected[0], "0903 at byte 1");
  EXPECT_EQ(check.reason(), "reply: " + check.findings()[0].seen) << "the first failure is the reason";
}

TEST(Check, StatusComparesTheCodeAlone) {
  Check check;
  EXPECT_TRUE(check.status(sc::invalid_field.with_dnr(), sc::invalid_field));
  EXPECT_TRUE(check.refused(sc::invalid_field));
  EXPECT_FALSE(check.refused(sc::success));
}

TEST(Check, RequirementsLeaveTheCase) {
  Check check;
  EXPECT_THROW(check.require_success(sc::invalid_field, "Connect"), LeaveCase);
  EXPECT_EQ(check.verdict(), Verdict::fail);
  Check other;
  EXPECT_THROW(other.precondition_success(sc::invalid_field, "Connect"), LeaveCase);
  EXPECT_EQ(other.verdict(), Verdict::inconclusive);
}

}  // namespace
}  // namespace fb::conformance
