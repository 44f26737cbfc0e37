#include <gtest/gtest.h>

#include "tests/sim/rdma/softroce/property_run.h"

namespace fb::softroce {
namespace {

TEST(Property, EveryByteOnceOrErrorOnBothSides) {
  int broken = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const PropertyResult result = run_property(seed);
    EXPECT_EQ(result.wrong, "") << "seed " << seed;
    broken += result.failed_connection;
  }
  // The runs reach both ends of the property.
  EXPECT_GT(broken, 5);
  EXPECT_LT(broken, 150);
}

TEST(Property, SameSeedSameDigest) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(run_property(seed).digest, run_property(seed).digest) << "seed " << seed;
  }
  EXPECT_NE(run_property(1).digest, run_property(2).digest);
}

struct OneDeparture final : SoftHooks {
  explicit OneDeparture(std::string_view n) : name(n) {}
  bool departs(std::string_view point) override { return point == name; }
  std::string_view name;
};

TEST(Property, FailsForDevicesThatMisbehave) {
  for (const char* name : {"rc.responder.duplicate_executed", "rc.responder.replay_wrong_data", "rc.responder.atomic_executed_twice",
                           "rc.packet.accept_bad_icrc", "rc.requester.completes_twice", "rc.requester.flush_missing",
                           "rc.responder.read_wrong_data", "rc.responder.write_stray_byte"}) {
    OneDeparture hooks{name};
    int wrong = 0;
    for (std::uint64_t seed = 1; seed <= 400 && wrong == 0; ++seed) {
      wrong += run_property(seed, &hooks).wrong.empty() ? 0 : 1;
    }
    EXPECT_EQ(wrong, 1) << name;
  }
}

}  // namespace
}  // namespace fb::softroce
