// NVMe-MI from GoogleTest: a management controller and drives on an MCTP bus.
#include <fabricbench/gtest.h>

namespace {

class Management : public fabricbench::Test {};

constexpr std::uint8_t kReadDataStructure = 0x00;
constexpr std::uint8_t kHealthPoll = 0x01;

TEST_F(Management, EachDriveAnswers) {
  const std::uint8_t first = bus().add_drive(), second = bus().add_drive();
  EXPECT_NE(first, second);
  for (const std::uint8_t eid : {first, second}) {
    const auto reply = bus().command(eid, kReadDataStructure);
    EXPECT_TRUE(reply.ok()) << reply.text;
    EXPECT_TRUE(bus().command(eid, kHealthPoll).ok());
  }
}

TEST_F(Management, AnUnknownCommandIsRefused) {
  const auto reply = bus().command(bus().add_drive(), 0xBF);
  EXPECT_TRUE(reply.answered);
  EXPECT_EQ(reply.status, 0x03) << reply.text;  // Invalid Command Opcode
}

TEST_F(Management, NobodyAnswersForADriveThatIsNotThere) {
  bus().add_drive();
  EXPECT_FALSE(bus().command(0x7F, kHealthPoll).answered);
}

}  // namespace
