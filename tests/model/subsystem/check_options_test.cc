#include "model/subsystem/check_options.h"

#include <gtest/gtest.h>

#include <functional>

namespace fb::subsystem {
namespace {

template <class Options>
std::string problem(const std::function<void(Options&)>& change) {
  Options options;
  change(options);
  const auto result = check_options(options);
  return result ? "" : result.error().text;
}

using Sub = SubsystemOptions;
using Space = NamespaceOptions;

TEST(CheckOptions, TheDefaultsAreAProduct) {
  EXPECT_EQ(problem<Sub>([](Sub&) {}), "");
  EXPECT_EQ(problem<Space>([](Space&) {}), "");
}

TEST(CheckOptions, EveryLimitHasTwoSides) {
  EXPECT_EQ(problem<Sub>([](Sub& s) { s.mdts = 0; }), "");
  EXPECT_EQ(problem<Sub>([](Sub& s) { s.mdts = 19; }), "");
  EXPECT_EQ(problem<Sub>([](Sub& s) { s.mdts = 20; }), "mdts: 20 is outside 0 to 19");
  EXPECT_EQ(problem<Sub>([](Sub& s) { s.verify_limit = 99; }), "verify_limit: 99 is outside 0 to 19");
  EXPECT_EQ(problem<Sub>([](Sub& s) { s.aer_limit = 0; }), "aer_limit: 0 is outside 1 to 255");
  EXPECT_EQ(problem<Sub>([](Sub& s) { s.error_entries = 257; }), "error_entries: 257 is outside 1 to 256");
  EXPECT_EQ(problem<Sub>([](Sub& s) { s.io_entries_max = 1; }), "io_entries_max: 1 is outside 2 to 65535");
  EXPECT_EQ(problem<Sub>([](Sub& s) { s.serial = std::string(21, 'x'); }).find("serial: "), 0u);
  EXPECT_EQ(problem<Sub>([](Sub& s) { s.nqn = "testnqn"; }).find("nqn: 'testnqn' is not an NVMe qualified name"), 0u);
  EXPECT_EQ(problem<Sub>([](Sub& s) { s.nqn = fabrics::kDiscoveryNqn; }), "nqn: that is the name of the discovery service");
  EXPECT_EQ(problem<Sub>([](Sub& s) { s.version = 5; }).find("version: 0x5 is not supported"), 0u);
  EXPECT_EQ(problem<Sub>([](Sub& s) { s.version = fabrics::version(2, 1, 0); }), "");
}

TEST(CheckOptions, StaticControllersHaveIdentifiersOfTheirOwn) {
  const auto with = [](std::vector<std::uint16_t> ids) {
    return problem<Sub>([ids](Sub& s) {
      s.controllers = ControllerModel::static_controllers;
      s.static_cntlids = ids;
    });
  };
  EXPECT_EQ(with({1, 7}), "");
  EXPECT_EQ(with({}), "static_cntlids: at least one");
  EXPECT_EQ(with({3, 1, 3}), "static_cntlids: one occurs twice");
  EXPECT_EQ(with({0xFFF0}), "static_cntlids: 65520 is outside 1 to 65519");
}

TEST(CheckOptions, NamespacesHoldTogether) {
  EXPECT_EQ(problem<Space>([](Space& s) { s.blocks = 0; }).find("blocks: 0 is outside 1"), 0u);
  EXPECT_EQ(problem<Space>([](Space& s) { s.blocks = ~0ull; }).find("blocks: "), 0u);
  EXPECT_EQ(problem<Space>([](Space& s) { s.block_bytes = 520; }), "block_bytes: 520 is neither 512 nor 4096");
  EXPECT_EQ(problem<Space>([](Space& s) { s.capacity = s.blocks + 1; }).find("capacity: "), 0u);
  EXPECT_EQ(problem<Space>([](Space& s) { s.protection_type = 1; }).find("protection_type: "), 0u);
  EXPECT_EQ(problem<Space>([](Space& s) { s.zones.zone_blocks = 3; }).find("zones.zone_blocks: "), 0u);
  EXPECT_EQ(problem<Space>([](Space& s) {
              s.zones.zone_blocks = 1024;
              s.zones.capacity = 1025;
            }),
            "zones.capacity: 1025 is more than a zone has (1024)");
}

}  // namespace
}  // namespace fb::subsystem
