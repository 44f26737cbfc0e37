// A host that has the controller copy blocks.
#include <gtest/gtest.h>

#include "tests/model/host/rig.h"

namespace fb::host::test {
namespace {

Bytes blocks_of(std::size_t count, std::uint8_t mark, std::size_t block_bytes = 512) {
  Bytes bytes(count * block_bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(mark + i + i / 507);
  return bytes;
}

subsystem::SubsystemOptions small_copies() {
  subsystem::SubsystemOptions options;
  options.copy = {.formats = 3, .range_blocks = 8, .total_blocks = 20, .ranges = 3};
  return options;
}

TEST(HostCopy, KeepsToTheLimits) {
  Rig rig(small_copies());
  rig.add_namespace();
  ASSERT_NE(rig.connect(rig.to()), nullptr);
  Namespace& ns = rig.ns(1);
  const CopyLimits limits{.range_blocks = 8, .total_blocks = 20, .ranges = 3};
  EXPECT_EQ(ns.facts().copy, limits);
  Bytes data = blocks_of(100, 3);
  ASSERT_TRUE(ns.write(0, data).wait().ok());
  // Runs that fit no limit: 41, 1 and 30 blocks.
  ASSERT_TRUE(ns.copy({{0, 41}, {50, 1}, {60, 30}}, 200).wait().ok());
  Bytes back(72 * 512);
  ASSERT_TRUE(ns.read(200, back).wait().ok());
  Bytes expected(data.begin(), data.begin() + 41 * 512);
  expected.insert(expected.end(), data.begin() + 50 * 512, data.begin() + 51 * 512);
  expected.insert(expected.end(), data.begin() + 60 * 512, data.begin() + 90 * 512);
  EXPECT_EQ(back, expected);
}

TEST(HostCopy, RefusesWhatOverlaps) {
  Rig rig;
  rig.add_namespace();
  ASSERT_NE(rig.connect(rig.to()), nullptr);
  EXPECT_EQ(rig.ns(1).copy({{0, 8}, {20, 4}}, 7).wait(), nvme::Status(nvme::sc::overlapping_io_range));
  EXPECT_EQ(rig.ns(1).copy({{0, 8}, {20, 4}}, 12).wait(), nvme::Status(nvme::sc::overlapping_io_range));
  EXPECT_TRUE(rig.ns(1).copy({}, 12).wait().ok());
}

TEST(HostCopy, AsksNobodyWhoDoesNotClaimIt) {
  subsystem::SubsystemOptions options;
  options.copy.formats = 0;
  Rig rig(options);
  rig.add_namespace();
  ASSERT_NE(rig.connect(rig.to()), nullptr);
  EXPECT_EQ(rig.ns(1).copy({{0, 8}}, 100).wait(), nvme::Status(nvme::sc::invalid_opcode));
}

TEST(HostCopy, MakesNewTags) {
  constexpr std::uint8_t kTypes[] = {1, 2, 3};
  for (const std::uint8_t type : kTypes) {
    Rig rig(small_copies());
    subsystem::NamespaceOptions options;
    options.blocks = 1024;
    options.metadata_bytes = 8;
    options.protection_type = type;
    ASSERT_TRUE(rig.disk->add_namespace(std::move(options)));
    ASSERT_NE(rig.connect(rig.to()), nullptr);
    Namespace& ns = rig.ns(1);
    Bytes data = blocks_of(30, 9);
    ASSERT_TRUE(ns.write(40, data).wait().ok());
    ASSERT_TRUE(ns.copy({{40, 30}}, 500).wait().ok()) << int{type};
    Bytes back(data.size());
    ASSERT_TRUE(ns.read(500, back).wait().ok()) << int{type};
    EXPECT_EQ(back, data);
  }
}

}  // namespace
}  // namespace fb::host::test
