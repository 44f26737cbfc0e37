// Zones: the table of their states, random commands against a model that knows only the rules, and what is left after
// resets and losses of power.
#include <gtest/gtest.h>

#include <map>

#include "model/subsystem/zones.h"
#include "tests/model/subsystem/zone_session.h"

namespace fb::subsystem::test {
namespace {

namespace sc = nvme::sc;
using nvme::IoOpcode;
using nvme::ZoneSendAction;
using nvme::ZoneState;

constexpr ZoneState kStates[] = {
    ZoneState::empty,  ZoneState::implicitly_opened, ZoneState::explicitly_opened, ZoneState::closed, ZoneState::full, ZoneState::read_only,
    ZoneState::offline};

bool is_open(ZoneState state) { return state == ZoneState::implicitly_opened || state == ZoneState::explicitly_opened; }
bool is_active(ZoneState state) { return is_open(state) || state == ZoneState::closed; }

// ---- the table ----

TEST(ZoneStates, ActionsOfOneZone) {
  using S = ZoneState;
  const std::map<ZoneSendAction, std::pair<std::vector<S>, std::vector<S>>> changes_and_stays = {
      {ZoneSendAction::close, {{S::implicitly_opened, S::explicitly_opened}, {S::closed}}},
      {ZoneSendAction::finish, {{S::empty, S::implicitly_opened, S::explicitly_opened, S::closed}, {S::full}}},
      {ZoneSendAction::open, {{S::empty, S::implicitly_opened, S::closed}, {S::explicitly_opened}}},
      {ZoneSendAction::reset, {{S::implicitly_opened, S::explicitly_opened, S::closed, S::full}, {S::empty}}},
      {ZoneSendAction::offline, {{S::read_only}, {S::offline}}},
      {ZoneSendAction::set_descriptor_extension, {{S::empty}, {}}},
      {ZoneSendAction::flush_explicit_zrwa, {{S::implicitly_opened, S::explicitly_opened, S::closed}, {}}},
  };
  for (const auto& [action, steps] : changes_and_stays) {
    const auto holds = [](const std::vector<S>& list, S state) { return std::find(list.begin(), list.end(), state) != list.end(); };
    for (const S state : kStates) {
      const ZoneStep expected = holds(steps.first, state)    ? ZoneStep::change
                                : holds(steps.second, state) ? ZoneStep::none
                                                             : ZoneStep::refused;
      EXPECT_EQ(step_of(state, action), expected) << static_cast<int>(action) << " " << nvme::name_of(state);
    }
  }
  EXPECT_EQ(step_of(S::empty, static_cast<ZoneSendAction>(0x55)), ZoneStep::refused);
}

TEST(ZoneStates, ActionsOfAllZones) {
  for (const ZoneState state : kStates) {
    EXPECT_EQ(all_takes(state, ZoneSendAction::close), is_open(state));
    EXPECT_EQ(all_takes(state, ZoneSendAction::finish), is_active(state));
    EXPECT_EQ(all_takes(state, ZoneSendAction::open), state == ZoneState::closed);
    EXPECT_EQ(all_takes(state, ZoneSendAction::reset), is_active(state) || state == ZoneState::full);
    EXPECT_EQ(all_takes(state, ZoneSendAction::offline), state == ZoneState::read_only);
    EXPECT_FALSE(all_takes(state, ZoneSendAction::set_descriptor_extension));
  }
}

TEST(ZoneTable, CapacityChangesWithResetsWhereItMay) {
  ZoneTable table({.zone_blocks = 8, .capacity = 6, .variable_capacity = true}, 32);
  EXPECT_TRUE(table.reset(1));
  EXPECT_EQ(table.capacity(1), 5u);
  EXPECT_EQ(table.capacity(0), 6u);
  for (int i = 0; i < 3; ++i) table.reset(1);
  EXPECT_EQ(table.capacity(1), 6u);
  ZoneTable steady({.zone_blocks = 8, .capacity = 6}, 32);
  EXPECT_FALSE(steady.reset(1));
}

TEST(ZoneTable, FollowsItsNamespace) {
  ZoneTable table({.zone_blocks = 8, .max_active = 2}, 32);
  table.write(24, 1);
  table.reshape(8, 8, 24);
  EXPECT_EQ(table.count(), 3u);
  EXPECT_EQ(table.active(), 0u);
  table.write(0, 1);
  table.reshape(8, 8, 40);
  EXPECT_EQ(table.count(), 5u);
  EXPECT_EQ(table.active(), 1u);
  table.reshape(4, 4, 40);
  EXPECT_EQ(table.count(), 10u);
  EXPECT_EQ(table.active(), 0u);
}

// ---- random commands against the rules ----

constexpr std::uint64_t kSize = 16, kCapacity = 12, kZones = 6;
constexpr std::size_t kMaxActive = 4, kMaxOpen = 3;

/// What the specification says, as plainly as possible; which zone is closed for want of resources is left open.
struct Rules {
  struct Zone {
    ZoneState state = ZoneState::empty;
    std::uint64_t written = 0;
    bool extension = false;
    std::vector<std::uint8_t> marks = std::vector<std::uint8_t>(kSize);
  };
  std::vector<Zone> zones = std::vector<Zone>(kZones);
  bool one_may_have_closed = false;

  std::size_t active() const { return count(is_active); }
  std::size_t count(bool (*which)(ZoneState)) const {
    return static_cast<std::size_t>(std::count_if(zones.begin(), zones.end(), [&](const Zone& zone) { return which(zone.state); }));
  }
  nvme::Status resources(const Zone& zone, bool opens, std::size_t more = 0) const {
    if (!is_active(zone.state) && active() + more >= kMaxActive) return sc::too_many_active_zones;
    const auto explicitly = count([](ZoneState state) { return state == ZoneState::explicitly_opened; });
    if (opens && !is_open(zone.state) && explicitly + more >= kMaxOpen) return sc::too_many_open_zones;
    return sc::success;
  }
  void open(Zone& zone, ZoneState as) {
    if (!is_open(zone.state) && count(is_open) >= kMaxOpen) one_may_have_closed = true;
    zone.state = as;
  }

  nvme::Status write(std::size_t index, std::uint64_t offset, std::uint64_t blocks, std::uint8_t mark) {
    Zone& zone = zones[index];
    if (zone.state == ZoneState::full) return sc::zone_is_full;
    if (zone.state == ZoneState::read_only) return sc::zone_is_read_only;
    if (zone.state == ZoneState::offline) return sc::zone_is_offline;
    if (offset + blocks > kCapacity) return sc::zone_boundary_error;
    if (offset != zone.written) return sc::zone_invalid_write;
    if (const nvme::Status lacking = resources(zone, true); !lacking.ok()) return lacking;
    if (!is_open(zone.state)) open(zone, ZoneState::implicitly_opened);
    std::fill_n(zone.marks.begin() + static_cast<std::ptrdiff_t>(offset), blocks, mark);
    zone.written += blocks;
    if (zone.written == kCapacity) zone.state = ZoneState::full;
    return sc::success;
  }
  void reset(Zone& zone) { zone = Zone{}; }
  nvme::Status act(std::size_t index, ZoneSendAction action) {
    Zone& zone = zones[index];
    const ZoneState s = zone.state;
    const bool dead = s == ZoneState::read_only || s == ZoneState::offline;
    const nvme::Status wrong = sc::invalid_zone_state_transition;
    switch (action) {
      case ZoneSendAction::close:
        if (!is_active(s)) return wrong;
        zone.state = ZoneState::closed;
        return sc::success;
      case ZoneSendAction::finish:
        if (dead) return wrong;
        zone.state = ZoneState::full;
        return sc::success;
      case ZoneSendAction::open: {
        if (dead || s == ZoneState::full) return wrong;
        if (s == ZoneState::explicitly_opened) return sc::success;
        if (const nvme::Status lacking = resources(zone, true); !lacking.ok()) return lacking;
        open(zone, ZoneState::explicitly_opened);
        return sc::success;
      }
      case ZoneSendAction::reset:
        if (dead) return wrong;
        reset(zone);
        return sc::success;
      case ZoneSendAction::offline:
        if (!dead) return wrong;
        zone.state = ZoneState::offline;
        zone.extension = false;
        return sc::success;
      case ZoneSendAction::set_descriptor_extension: {
        if (s != ZoneState::empty) return wrong;
        if (const nvme::Status lacking = resources(zone, false); !lacking.ok()) return lacking;
        zone.state = ZoneState::closed;
        zone.extension = true;
        return sc::success;
      }
      case ZoneSendAction::flush_explicit_zrwa:  // zones_random_area_test.cc
        break;
    }
    return sc::invalid_field;
  }
  nvme::Status act_on_all(ZoneSendAction action) {
    const Rules before = *this;
    std::size_t more = 0;
    for (std::size_t i = 0; i < kZones; ++i) {
      const ZoneState s = before.zones[i].state;
      const bool taken = action == ZoneSendAction::close     ? is_open(s)
                         : action == ZoneSendAction::finish  ? is_active(s)
                         : action == ZoneSendAction::open    ? s == ZoneState::closed
                         : action == ZoneSendAction::reset   ? is_active(s) || s == ZoneState::full
                         : action == ZoneSendAction::offline ? s == ZoneState::read_only
                                                             : false;
      if (!taken) continue;
      if (action == ZoneSendAction::open) {
        if (const nvme::Status lacking = before.resources(before.zones[i], true, more++); !lacking.ok()) {
          *this = before;
          return lacking;
        }
      }
      act(i, action);
    }
    return sc::success;
  }
  void subsystem_reset() {
    for (Zone& zone : zones) {
      if (is_active(zone.state)) zone.state = zone.written != 0 || zone.extension ? ZoneState::closed : ZoneState::empty;
    }
  }
};

class RandomZones : public ::testing::TestWithParam<int> {
 protected:
  RandomZones() : rng_(static_cast<std::uint64_t>(GetParam()), "zones"), rig_(zoned_options()) {
    NamespaceOptions options;
    options.blocks = kSize * kZones;
    options.zones = {.zone_blocks = kSize, .capacity = kCapacity, .max_active = kMaxActive, .max_open = kMaxOpen, .extension_units = 1};
    (void)rig_.disk->add_namespace(std::move(options));
    host_.emplace(rig_, out_);
  }

  std::vector<nvme::ZoneFacts> report() {
    const std::size_t bytes = 64 + kZones * 128;
    return nvme::read_zone_report(host_->io.fetch(zone_report(0, bytes, 0, false, 1).bytes(), bytes).data, 64);
  }

  /// The zones are as the rules say; one that was open implicitly may have been closed for another.
  void compare(const std::string& what) {
    const std::vector<nvme::ZoneFacts> seen = report();
    ASSERT_EQ(seen.size(), kZones) << what;
    bool closed = false;
    for (std::size_t i = 0; i < kZones; ++i) {
      Rules::Zone& zone = rules_.zones[i];
      const bool gave_way = zone.state == ZoneState::implicitly_opened && seen[i].state == ZoneState::closed;
      if (gave_way && rules_.one_may_have_closed && !closed) {
        closed = true;
        zone.state = ZoneState::closed;
      }
      ASSERT_EQ(nvme::name_of(seen[i].state), nvme::name_of(zone.state)) << what << ", zone " << i;
      if (zone.state == ZoneState::empty || is_active(zone.state)) {
        ASSERT_EQ(seen[i].write_pointer, i * kSize + zone.written) << what << ", zone " << i;
      }
      ASSERT_EQ((seen[i].attributes & nvme::zone_attribute_bits::descriptor_extension) != 0, zone.extension) << what;
    }
    ASSERT_EQ(closed, rules_.one_may_have_closed) << what;
    rules_.one_may_have_closed = false;
    ASSERT_LE(rules_.count(is_open), kMaxOpen) << what;
    ASSERT_LE(rules_.active(), kMaxActive) << what;
  }

  void read(std::size_t index) {
    const Reply reply = host_->io.fetch(rw(IoOpcode::read, index * kSize, kSize, 2).bytes(), kSize * 512);
    if (rules_.zones[index].state == ZoneState::offline) {
      ASSERT_EQ(reply.code(), nvme::Status(sc::zone_is_offline));
      return;
    }
    ASSERT_TRUE(reply.status().ok());
    for (std::size_t i = 0; i < kSize; ++i) ASSERT_EQ(reply.data[i * 512 + 7], rules_.zones[index].marks[i]);
  }

  void step(int number) {
    const auto index = static_cast<std::size_t>(rng_.below(kZones));
    const auto mark = static_cast<std::uint8_t>(1 + number % 250);
    const std::uint64_t blocks = rng_.between(1, 5);
    const std::uint64_t start = index * kSize;
    const auto expect = [&](const Reply& reply, nvme::Status wanted, const std::string& what) {
      ASSERT_EQ(nvme::to_string(reply.code()), nvme::to_string(wanted)) << what;
    };
    switch (rng_.below(10)) {
      case 0:
      case 1: {  // mostly where it has to be
        const std::uint64_t offset = rng_.chance(4, 5) ? rules_.zones[index].written : rng_.below(kSize);
        if (offset + blocks > kSize) return;
        const Reply reply =
            host_->io.send(rw(IoOpcode::write, start + offset, static_cast<std::uint32_t>(blocks), 2).bytes(), Bytes(blocks * 512, mark));
        expect(reply, rules_.write(index, offset, blocks, mark), "Write");
        break;
      }
      case 2:
      case 3: {
        const std::uint64_t at = rules_.zones[index].written;
        const Reply reply =
            host_->io.send(rw(IoOpcode::zone_append, start, static_cast<std::uint32_t>(blocks), 2).bytes(), Bytes(blocks * 512, mark));
        const nvme::Status wanted = rules_.write(index, at, blocks, mark);
        expect(reply, wanted, "Zone Append");
        if (wanted.ok()) {
          ASSERT_EQ(reply.dw0(), start + at);
        }
        break;
      }
      case 4: {
        const std::uint64_t offset = rules_.zones[index].written;
        if (offset + blocks > kSize) return;
        const Reply reply = host_->io.send(rw(IoOpcode::write_zeroes, start + offset, static_cast<std::uint32_t>(blocks), 2).bytes());
        expect(reply, rules_.write(index, offset, blocks, 0), "Write Zeroes");
        break;
      }
      case 5:
        return read(index);
      default: {
        constexpr ZoneSendAction kActions[] = {ZoneSendAction::close, ZoneSendAction::finish,  ZoneSendAction::open,
                                               ZoneSendAction::open,  ZoneSendAction::reset,   ZoneSendAction::reset,
                                               ZoneSendAction::open,  ZoneSendAction::offline, ZoneSendAction::set_descriptor_extension};
        const ZoneSendAction action = kActions[rng_.below(std::size(kActions))];
        const bool all = rng_.chance(1, 12) && action != ZoneSendAction::set_descriptor_extension;
        const Reply reply = host_->io.send(zone_send(action, start, all).bytes(), Bytes(64, mark), 64);
        expect(reply, all ? rules_.act_on_all(action) : rules_.act(index, action),
               "action " + std::to_string(static_cast<int>(action)) + (all ? " of all" : ""));
        break;
      }
    }
    compare("step " + std::to_string(number));
  }

  /// What no command does.
  void befall() {
    Namespace& ns = *rig_.disk->find_namespace(2);
    const auto index = static_cast<std::size_t>(rng_.below(kZones));
    switch (rng_.below(4)) {
      case 0:
        if (rng_.chance(1, 3) && rules_.zones[index].state != ZoneState::offline) {
          rig_.disk->make_zone_read_only(ns, index);
          rules_.zones[index].state = ZoneState::read_only;
        }
        return;
      case 1:
        host_->io.send(command(IoOpcode::flush, 2).bytes());
        rig_.disk->power_cycle();
        break;
      default:
        rig_.disk->reset_subsystem();
        break;
    }
    rig_.world->run_for(Duration::ms(1));
    rules_.subsystem_reset();
    host_.emplace(rig_, out_);
  }

  Rng rng_;
  Rig rig_;
  Transcript out_;
  std::optional<ZonedHost> host_;
  Rules rules_;
};

TEST_P(RandomZones, FollowTheRules) {
  for (int i = 0; i < 400; ++i) {
    step(i);
    if (HasFatalFailure()) return;
    if (rng_.chance(1, 40)) {
      befall();
      compare("after what befell the zones");
    }
    if (HasFatalFailure()) return;
  }
  for (std::size_t i = 0; i < kZones; ++i) read(i);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomZones, ::testing::Range(1, 121));

// ---- losses of power ----

TEST(ZonesAndPower, WritePointersStayBehindWhatWasAnswered) {
  Rig rig(zoned_options());
  add_zoned(*rig.disk);
  Transcript out;
  {
    ZonedHost host(rig, out);
    host.write(0, 5, 0x11);
    host.io.send(command(IoOpcode::flush, 2).bytes());
    host.write(5, 4, 0x22);  // in the cache alone
    host.send(ZoneSendAction::open, 64);
  }
  rig.disk->power_cycle();
  rig.world->run_for(Duration::ms(1));
  const ZoneTable& zones = *rig.disk->find_namespace(2)->zones();
  EXPECT_EQ(zones.state(0), ZoneState::closed);
  EXPECT_EQ(zones.state(1), ZoneState::empty);
  EXPECT_EQ(zones.write_pointer(0), 9u);
  ZonedHost host(rig, out);
  const Reply reply = host.io.fetch(rw(IoOpcode::read, 0, 9, 2).bytes(), 9 * 512);
  ASSERT_TRUE(reply.status().ok());
  for (std::size_t i = 0; i < 9; ++i) {
    const std::uint8_t byte = reply.data[i * 512];
    EXPECT_TRUE(i < 5 ? byte == 0x11 : byte == 0x22 || byte == 0) << i;
  }
}

TEST(ZonesAndPower, ResetDataDoesNotComeBack) {
  Rig rig(zoned_options());
  add_zoned(*rig.disk);
  Transcript out;
  {
    ZonedHost host(rig, out);
    host.write(0, 8, 0x33);
    host.io.send(command(IoOpcode::flush, 2).bytes());
    host.send(ZoneSendAction::reset, 0);
  }
  rig.disk->power_cycle();
  rig.world->run_for(Duration::ms(1));
  ZonedHost host(rig, out);
  const Reply reply = host.io.fetch(rw(IoOpcode::read, 0, 8, 2).bytes(), 8 * 512);
  EXPECT_EQ(reply.data, Bytes(8 * 512));
}

TEST(ZonesOfSeveralHosts, AreOneNamespace) {
  Rig rig(zoned_options());
  add_zoned(*rig.disk);
  Transcript out;
  ZonedHost one(rig, out);
  ZonedHost two(rig, out);
  one.append(0, 2, 0x44);
  const Reply reply = two.io.send(rw(IoOpcode::zone_append, 0, 1, 2).bytes(), Bytes(512, 0x55));
  ASSERT_TRUE(reply.status().ok());
  EXPECT_EQ(reply.dw0(), 2u);
}

TEST(ZonesWithoutTheirSet, AreNotThere) {
  Rig rig(zoned_options());
  add_zoned(*rig.disk);
  Transcript out;
  ZonedHost host(rig, out, 0x00460001);
  EXPECT_EQ(host.io.fetch(zone_report(0, 256).bytes(), 256).code(), nvme::Status(sc::invalid_opcode));
  EXPECT_EQ(host.io.fetch(rw(IoOpcode::read, 0, 1, 2).bytes(), 512).code(), nvme::Status(sc::invalid_field));
  const Reply list = host.admin.fetch(identify(nvme::Cns::active_namespace_list).bytes(), 4096);
  EXPECT_EQ(nvme::read_namespace_list(list.data), std::vector<std::uint32_t>{1});
}

TEST(ZonedNamespaces, NeedASubsystemThatHasThem) {
  Rig rig;
  NamespaceOptions options;
  options.blocks = 64;
  options.zones = {.zone_blocks = 16};
  EXPECT_FALSE(rig.disk->add_namespace(std::move(options)).ok());
}

}  // namespace
}  // namespace fb::subsystem::test
