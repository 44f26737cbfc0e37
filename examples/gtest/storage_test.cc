// NVMe over Fabrics from GoogleTest: what a host, a subsystem and the network between them do, in virtual time.
#include <fabricbench/gtest.h>

#include <numeric>

namespace {

using fabricbench::Bytes;
using fabricbench::Command;

class Storage : public fabricbench::Test {};

Bytes pattern(std::size_t size) {
  Bytes bytes(size);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
  return bytes;
}

TEST_F(Storage, KeepsWhatWasWritten) {
  auto association = connect();
  association.write(1, 8, pattern(4096));
  EXPECT_EQ(association.read(1, 8, 8), pattern(4096));
  EXPECT_EQ(subsystem().stored(1, 8, 8), pattern(4096));
}

TEST_F(Storage, ReportsItsSerialNumber) {
  auto target = world().add_subsystem({.name = "array", .serial = "ACME0001"});
  auto association = host().connect(target);
  const Bytes identify = association.identify();
  EXPECT_EQ(std::string(identify.begin() + 4, identify.begin() + 12), "ACME0001");
}

TEST_F(Storage, RefusesAConnectWithSqsizeZero) {
  requirement("fabrics.connect.sqsize.minimum");
  auto queue = host().open_raw_queue(subsystem());
  queue.connect();
  const auto completion = queue.fabrics_connect(std::uint16_t{0});
  EXPECT_EQ(completion.status.text, "Connect Invalid Parameters (1/82h)");
}

TEST_F(Storage, SurvivesLostPackets) {
  auto over_rdma = world().add_host({.name = "initiator", .transport = "rdma"});
  auto association = over_rdma.connect(subsystem());
  faults().drop("initiator", "target", 2);
  association.write(1, 0, pattern(512));
  EXPECT_EQ(association.read(1, 0), pattern(512));
  EXPECT_EQ(faults().dropped("initiator", "target"), 2U);
}

TEST_F(Storage, EndsAnAssociationWithoutKeepAlive) {
  auto association = connect();
  faults().cut("host", "target", std::chrono::minutes(2));
  faults().cut("target", "host", std::chrono::minutes(2));
  world().run_for(std::chrono::minutes(1));
  EXPECT_FALSE(association.live());
  world().run_for(std::chrono::minutes(5));  // it costs no time
  EXPECT_TRUE(association.live()) << association.state();
}

TEST_F(Storage, AnswersAnUnknownAdminCommand) {
  auto association = connect();
  const auto completion = association.admin(Command(0xBF));
  EXPECT_EQ(completion.status.type, 0);
  EXPECT_EQ(completion.status.code, 1) << completion.status.text;
}

TEST_F(Storage, HasTheSameDigestAgain) {
  const auto digest_of = [](std::uint64_t seed) {
    fabricbench::World world(seed);
    auto target = world.add_subsystem();
    target.add_namespace();
    world.add_host().connect(target).write(1, 0, pattern(512));
    return world.digest();
  };
  EXPECT_EQ(digest_of(7), digest_of(7));
}

TEST_F(Storage, IsHeldAgainstTheSuite) {
  const auto results = fabricbench::run_suite({.cases = {"connect_refuses_sqsize_zero"}});
  ASSERT_FALSE(results.empty());
  for (const auto& one : results) EXPECT_EQ(one.verdict, "pass") << one.reason;
}

}  // namespace
