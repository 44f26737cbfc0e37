#include "model/deviations/deviation.h"

#include <gtest/gtest.h>

namespace fb::deviations {
namespace {

using subsystem::CommandContext;
using subsystem::Refusal;
namespace sc = nvme::sc;

class SendsTwice : public subsystem::SubsystemHooks {
 public:
  Answer completion(const CommandContext&, MutableBytes) override { return Answer::send_twice; }
};
class Scribbles : public softroce::SoftHooks {
 public:
  void packet_out(MutableBytes packet) override { packet[0] = 0xEE; }
};

DEVIATION(test_tolerates, "t.t.a", Product::controller, "w", Tolerate{"check.a"});
DEVIATION(test_answers, "t.t.a", Product::controller, "w", AnswerWith{"check.b", sc::invalid_opcode});
DEVIATION(test_departs, "t.t.b", Product::host, "w", Departs{"point"});
DEVIATION(test_by_hand, "t.t.b", Product::controller, "w", hooks<SendsTwice>());
DEVIATION(test_device, "t.t.c", Product::rdma, "w", hooks<Scribbles>());

TEST(Deviations, AreFoundByNameAndRequirement) {
  ASSERT_NE(find_deviation("test_departs"), nullptr);
  EXPECT_EQ(find_deviation("no_such"), nullptr);
  EXPECT_EQ(deviations_of("t.t.a").size(), 2u);
  const auto wrong = DeviationSet::of_names({"test_departs", "no_such"});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().text.find("no_such"), std::string::npos);
}

TEST(Deviations, CombineIntoOneObjectOfHooks) {
  const auto set = DeviationSet::of_names({"test_tolerates", "test_answers", "test_by_hand"}).value();
  EXPECT_EQ(set.host_hooks(), nullptr);
  EXPECT_EQ(set.soft_hooks(), nullptr);
  const auto hooks = set.subsystem_hooks();
  ASSERT_NE(hooks, nullptr);
  Refusal refusal{"check.a", sc::invalid_field};
  EXPECT_FALSE(hooks->refuses({}, refusal));
  refusal = {"check.b", sc::invalid_field};
  EXPECT_TRUE(hooks->refuses({}, refusal));
  EXPECT_EQ(refusal.status, sc::invalid_opcode);
  refusal = {"check.c", sc::invalid_field};
  EXPECT_TRUE(hooks->refuses({}, refusal));
  EXPECT_EQ(refusal.status, sc::invalid_field);
  EXPECT_EQ(hooks->completion({}, {}), subsystem::SubsystemHooks::Answer::send_twice);
  EXPECT_FALSE(hooks->departs("point")) << "the point belongs to the host";
}

TEST(Deviations, OfEachProductAlone) {
  const auto set = DeviationSet::of_names({"test_departs", "test_device"}).value();
  EXPECT_EQ(set.subsystem_hooks(), nullptr);
  EXPECT_TRUE(set.host_hooks()->departs("point"));
  std::uint8_t packet[4] = {};
  set.soft_hooks()->packet_out(packet);
  EXPECT_EQ(packet[0], 0xEE);
  EXPECT_FALSE(set.soft_hooks()->departs("point"));
}

}  // namespace
}  // namespace fb::deviations
