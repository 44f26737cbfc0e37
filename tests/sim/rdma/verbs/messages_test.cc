// What is said where there is no device of that name.
#include <gtest/gtest.h>

#include "sim/rdma/verbs/device_list.h"
#include "sim/rdma/verbs/verbs_device.h"

namespace fb::verbs {
namespace {

TEST(NoDevice, TheDeviceAndBothCommandsAreNamed) {
  auto world = World::make_real(1);
  const auto device = open_device(*world, {.name = "nonesuch0", .address = IpAddress::v4(192, 0, 2, 1)});
  ASSERT_FALSE(device);
  const std::string& text = device.error().text;
  EXPECT_NE(text.find("verbs:nonesuch0"), std::string::npos) << text;
  EXPECT_NE(text.find("modprobe rdma_rxe"), std::string::npos) << text;
  EXPECT_NE(text.find("rdma link add rxe0 type rxe netdev eth0"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

TEST(NoDevice, AnErrnoReadsWellInALine) {
  EXPECT_EQ(words_of(EACCES), "permission denied");
  EXPECT_EQ(words_of(EIO)[0], 'i') << "an ordinary word";
}

}  // namespace
}  // namespace fb::verbs
