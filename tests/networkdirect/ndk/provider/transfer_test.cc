// Requests between two connected queue pairs, in every way of the provider to answer.
#include "tests/networkdirect/ndk/provider/rig.h"

namespace fb::ndk {
namespace {

using testing::options_of;
using testing::Rig;

class Transfer : public ::testing::TestWithParam<Answers> {
 protected:
  Rig rig{options_of(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Ways, Transfer,
                         ::testing::Values(Answers::natural, Answers::at_once, Answers::later, Answers::before_return, Answers::random));

TEST_P(Transfer, SendsAndReceives) {
  rig.make_and_connect();
  ASSERT_EQ(rig.b.receive(100, 0, 4096), STATUS_SUCCESS);
  std::fill_n(rig.a.memory.begin() + 512, 3000, std::uint8_t{0x5A});
  ASSERT_EQ(rig.a.send(7, 512, 3000), STATUS_SUCCESS);
  rig.settle();
  const auto sent = rig.a.results();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].Status, STATUS_SUCCESS);
  EXPECT_EQ(sent[0].Type, NdkOperationTypeSend);
  EXPECT_EQ(sent[0].RequestContext, testing::Side::word(7));
  EXPECT_EQ(sent[0].QPContext, &rig.a);
  const auto received = rig.b.results();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].BytesTransferred, 3000u);
  EXPECT_EQ(received[0].Type, NdkOperationTypeReceive);
  EXPECT_EQ(rig.b.memory[2999], 0x5A);
  EXPECT_EQ(rig.b.memory[3000], 0);
  rig.close();
}

TEST_P(Transfer, WritesAndReads) {
  rig.make_and_connect();
  for (std::size_t i = 0; i < 1000; ++i) rig.a.memory[i] = static_cast<std::uint8_t>(i * 7);
  ASSERT_EQ(rig.a.write(1, 0, 1000, rig.b.at(8192), rig.b.remote), STATUS_SUCCESS);
  ASSERT_EQ(rig.a.read(2, 4096, 1000, rig.b.at(8192), rig.b.remote, NDK_OP_FLAG_READ_FENCE), STATUS_SUCCESS);
  rig.settle();
  const auto done = rig.a.results();
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].Type, NdkOperationTypeWrite);
  EXPECT_EQ(done[1].Type, NdkOperationTypeRead);
  EXPECT_EQ(done[1].Status, STATUS_SUCCESS);
  EXPECT_TRUE(std::equal(rig.a.memory.begin(), rig.a.memory.begin() + 1000, rig.b.memory.begin() + 8192));
  EXPECT_TRUE(std::equal(rig.a.memory.begin(), rig.a.memory.begin() + 1000, rig.a.memory.begin() + 4096));
  rig.close();
}

}  // namespace
}  // namespace fb::ndk
