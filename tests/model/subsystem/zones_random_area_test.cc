// Zone Random Write Areas: random commands against a model that knows only the rules, and what is left of areas after resets.
#include <gtest/gtest.h>

#include "model/subsystem/check_options.h"
#include "model/subsystem/zones.h"
#include "tests/model/subsystem/zone_session.h"

namespace fb::subsystem::test {
namespace {

namespace sc = nvme::sc;
using nvme::IoOpcode;
using nvme::ZoneSendAction;
using nvme::ZoneState;

constexpr std::uint64_t kSize = 32, kCapacity = 26, kArea = 8, kGranule = 4;
constexpr std::size_t kZones = 4, kAreas = 2;

nvme::Sqe open_random(std::uint64_t slba, std::uint32_t nsid = 2) {
  nvme::Sqe made = zone_send(ZoneSendAction::open, slba, false, nsid);
  made.set(nvme::sqe::cdw13, made.get(nvme::sqe::cdw13) | 1u << 9);
  return made;
}

/// What is to happen to zones that are opened with areas, written and committed; without limits of open zones.
struct Rules {
  struct Zone {
    bool area = false, full = false, open = false;
    std::uint64_t pointer = 0;
    std::vector<std::uint8_t> marks = std::vector<std::uint8_t>(kCapacity);
    bool empty() const { return !area && !full && !open && pointer == 0; }
  };
  std::vector<Zone> zones = std::vector<Zone>(kZones);

  std::size_t areas() const {
    return static_cast<std::size_t>(std::count_if(zones.begin(), zones.end(), [](const Zone& zone) { return zone.area; }));
  }
  static void advance(Zone& zone, std::uint64_t blocks) {
    zone.pointer = std::min(zone.pointer + blocks, kCapacity);
    if (zone.pointer == kCapacity) zone = {.full = true, .pointer = kCapacity, .marks = zone.marks};
  }
  nvme::Status write(Zone& zone, std::uint64_t offset, std::uint64_t blocks, std::uint8_t mark) {
    if (zone.full) return sc::zone_is_full;
    if (offset + blocks > kCapacity) return sc::zone_boundary_error;
    const std::uint64_t end = offset + blocks;
    const bool fits = zone.area ? offset >= zone.pointer && end <= zone.pointer + 2 * kArea : offset == zone.pointer;
    if (!fits) return sc::zone_invalid_write;
    std::fill_n(zone.marks.begin() + static_cast<std::ptrdiff_t>(offset), blocks, mark);
    zone.open = true;
    std::uint64_t moves = zone.area ? 0 : blocks;
    while (zone.area && end > zone.pointer + moves + kArea) moves += kGranule;
    advance(zone, moves);
    return sc::success;
  }
  nvme::Status flush(Zone& zone, std::uint64_t last) {
    if (!zone.area) return sc::invalid_zone_operation_request;
    if (last < zone.pointer || last >= std::min(zone.pointer + kArea, kCapacity)) return sc::invalid_zone_operation_request;
    const std::uint64_t blocks = last + 1 - zone.pointer;
    if (blocks % kGranule != 0 && last + 1 != kCapacity) return sc::invalid_field;
    advance(zone, blocks);
    return sc::success;
  }
  nvme::Status open(Zone& zone) {
    if (zone.full) return sc::invalid_zone_state_transition;
    if (!zone.empty()) return sc::invalid_zone_operation_request;
    if (areas() == kAreas) return sc::zrwa_resources_unavailable;
    zone.area = zone.open = true;
    return sc::success;
  }
};

class RandomAreas : public ::testing::TestWithParam<int> {
 protected:
  RandomAreas() : rng_(static_cast<std::uint64_t>(GetParam()), "areas"), rig_(zoned_options()) {
    NamespaceOptions options;
    options.blocks = kSize * kZones;
    options.zones = {.zone_blocks = kSize, .capacity = kCapacity, .zrwa_blocks = kArea, .zrwa_granularity = kGranule, .zrwa_count = kAreas};
    (void)rig_.disk->add_namespace(std::move(options));
    host_.emplace(rig_, out_);
  }

  void compare(const std::string& what) {
    const auto seen = nvme::read_zone_report(host_->io.fetch(zone_report(0, 64 + kZones * 64).bytes(), 64 + kZones * 64).data);
    ASSERT_EQ(seen.size(), kZones) << what;
    for (std::size_t i = 0; i < kZones; ++i) {
      const Rules::Zone& zone = rules_.zones[i];
      ASSERT_EQ((seen[i].attributes & nvme::zone_attribute_bits::zrwa_valid) != 0, zone.area) << what << ", zone " << i;
      ASSERT_EQ(seen[i].state == ZoneState::full, zone.full) << what << ", zone " << i;
      ASSERT_EQ(seen[i].state == ZoneState::empty, zone.empty()) << what << ", zone " << i;
      const std::uint64_t pointer = zone.full ? nvme::kNoWritePointer : i * kSize + zone.pointer;
      ASSERT_EQ(seen[i].write_pointer, pointer) << what << ", zone " << i;
    }
    const auto index = static_cast<std::size_t>(rng_.below(kZones));
    const Reply reply = host_->io.fetch(rw(IoOpcode::read, index * kSize, kCapacity, 2).bytes(), kCapacity * 512);
    ASSERT_TRUE(reply.status().ok()) << what;
    for (std::size_t i = 0; i < kCapacity; ++i) ASSERT_EQ(reply.data[i * 512 + 3], rules_.zones[index].marks[i]) << what << ", block " << i;
  }

  void step(int number) {
    const auto index = static_cast<std::size_t>(rng_.below(kZones));
    Rules::Zone& zone = rules_.zones[index];
    const std::uint64_t start = index * kSize, offset = std::min(zone.pointer + rng_.below(2 * kArea + 2), kSize - 5);
    const std::uint64_t blocks = rng_.between(1, 4);
    const auto mark = static_cast<std::uint8_t>(1 + number % 250);
    Reply reply;
    nvme::Status wanted = sc::success;
    switch (rng_.below(10)) {
      case 0:
      case 1:
        reply = host_->io.send(open_random(start).bytes());
        wanted = rules_.open(zone);
        break;
      case 2: {
        const std::uint64_t last = rng_.chance(1, 2) ? zone.pointer + kGranule - 1 : offset;
        reply = host_->io.send(zone_send(ZoneSendAction::flush_explicit_zrwa, start + last).bytes());
        wanted = rules_.flush(zone, last);
        break;
      }
      case 3:
        if (!rng_.chance(1, 3)) return;
        reply = host_->io.send(zone_send(ZoneSendAction::reset, start).bytes());
        zone = {};
        break;
      case 4:
        if (!rng_.chance(1, 4)) return;
        reply = host_->io.send(zone_send(ZoneSendAction::finish, start).bytes());
        zone = {.full = true, .pointer = kCapacity, .marks = zone.marks};
        break;
      case 5: {
        reply = host_->io.send(rw(IoOpcode::zone_append, start, 1, 2).bytes(), Bytes(512, mark));
        const std::uint64_t at = zone.pointer;
        wanted = zone.area ? nvme::Status(sc::invalid_zone_operation_request) : rules_.write(zone, at, 1, mark);
        break;
      }
      case 6:
        reply = host_->io.send(zone_send(ZoneSendAction::close, start).bytes());
        if (zone.full || zone.empty()) wanted = sc::invalid_zone_state_transition;
        break;
      default:
        reply =
            host_->io.send(rw(IoOpcode::write, start + offset, static_cast<std::uint32_t>(blocks), 2).bytes(), Bytes(blocks * 512, mark));
        wanted = rules_.write(zone, offset, blocks, mark);
        break;
    }
    ASSERT_EQ(nvme::to_string(reply.code()), nvme::to_string(wanted)) << "step " << number;
    compare("step " + std::to_string(number));
  }

  Rng rng_;
  Rig rig_;
  Transcript out_;
  std::optional<ZonedHost> host_;
  Rules rules_;
};

TEST_P(RandomAreas, FollowTheRules) {
  for (int i = 0; i < 400; ++i) {
    step(i);
    if (HasFatalFailure()) return;
    if (rng_.chance(1, 60)) {
      rig_.disk->reset_subsystem();
      rig_.world->run_for(Duration::ms(1));
      // A zone that was opened and holds neither blocks nor an area is empty again.
      for (Rules::Zone& zone : rules_.zones) zone.open = zone.open && (zone.area || zone.pointer != 0);
      host_.emplace(rig_, out_);
      compare("after a reset");
    }
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomAreas, ::testing::Range(1, 41));

TEST(RandomAreaTable, CountsItsAreas) {
  ZoneTable table({.zone_blocks = 16, .zrwa_blocks = 4, .zrwa_granularity = 2, .zrwa_count = 2}, 64);
  for (const std::size_t i : {0u, 1u}) {
    EXPECT_FALSE(table.lacks_random());
    table.open_zone(i);
    table.allocate_random(i);
  }
  EXPECT_TRUE(table.lacks_random());
  table.take_offline(0);
  EXPECT_EQ(table.random(), 1u);
  EXPECT_FALSE(table.has_random(0));
  table.make_read_only(1);
  EXPECT_EQ(table.random(), 0u);
  table.open_zone(2);
  table.allocate_random(2);
  table.initialize(true);
  EXPECT_EQ(table.random(), 0u);
}

TEST(RandomAreaTable, EndsWithAnExcursion) {
  ZoneTable table({.zone_blocks = 16, .excursions = true, .zrwa_blocks = 4}, 64);
  table.open_zone(1);
  table.allocate_random(1);
  EXPECT_TRUE(table.excursion(1));
  EXPECT_EQ(table.facts(1).attributes, nvme::zone_attribute_bits::finished_by_controller);
  EXPECT_EQ(table.random(), 0u);
}

TEST(RandomAreaOptions, AreChecked) {
  const auto fits = [](ZoneOptions zones) {
    NamespaceOptions options;
    options.blocks = 128;
    options.zones = zones;
    return check_options(options).ok();
  };
  EXPECT_TRUE(fits({.zone_blocks = 32, .zrwa_blocks = 8, .zrwa_granularity = 4}));
  EXPECT_FALSE(fits({.zone_blocks = 32, .zrwa_blocks = 8, .zrwa_granularity = 3}));
  EXPECT_FALSE(fits({.zone_blocks = 32, .zrwa_blocks = 8, .zrwa_granularity = 0}));
  EXPECT_FALSE(fits({.zone_blocks = 32, .capacity = 6, .zrwa_blocks = 8}));
  EXPECT_FALSE(fits({.zone_blocks = 32, .max_active = 2, .zrwa_blocks = 8, .zrwa_count = 3}));
}

}  // namespace
}  // namespace fb::subsystem::test
