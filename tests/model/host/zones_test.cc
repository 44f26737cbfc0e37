// A host on a zoned namespace.
#include <gtest/gtest.h>

#include "tests/model/host/rig.h"

namespace fb::host::test {
namespace {

using nvme::ZoneSendAction;
using nvme::ZoneState;

subsystem::SubsystemOptions zoned() {
  subsystem::SubsystemOptions options;
  options.zoned = {.supported = true, .append_limit = 2};
  options.mdts = 4;
  return options;
}

class HostZones : public ::testing::Test {
 protected:
  HostZones() : rig(zoned()) {
    rig.add_namespace();
    subsystem::NamespaceOptions options;
    options.blocks = 1024;
    options.zones = {.zone_blocks = 64, .capacity = 60, .max_active = 6, .max_open = 4, .extension_units = 2};
    model = *rig.disk->add_namespace(std::move(options));
    EXPECT_NE(rig.connect(rig.to()), nullptr);
    ns = &rig.ns(2);
  }
  Bytes data(std::size_t blocks, std::uint8_t mark) const {
    Bytes bytes(blocks * 512);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(mark + i + i / 509);
    return bytes;
  }

  Rig rig;
  subsystem::Namespace* model = nullptr;
  Namespace* ns = nullptr;
};

TEST_F(HostZones, AreKnown) {
  EXPECT_FALSE(rig.ns(1).facts().zoned());
  ASSERT_TRUE(ns->facts().zoned());
  const ZoneGeometry expected{.zone_blocks = 64, .max_active = 6, .max_open = 4, .extension_bytes = 128};
  EXPECT_EQ(ns->facts().zones, expected);
  EXPECT_EQ(ns->max_append(), 16384u);
}

TEST_F(HostZones, WithoutAreasRefuseThem) {
  EXPECT_EQ(ns->zone_send(ZoneSendAction::open, 0, false, true).wait(), nvme::Status(nvme::sc::invalid_field));
  EXPECT_EQ(ns->zone_send(ZoneSendAction::flush_explicit_zrwa, 0).wait(), nvme::Status(nvme::sc::invalid_field));
}

TEST_F(HostZones, HaveRandomWriteAreas) {
  subsystem::NamespaceOptions options;
  options.blocks = 256;
  options.zones = {.zone_blocks = 64, .zrwa_blocks = 8, .zrwa_granularity = 4, .zrwa_count = 2};
  ASSERT_TRUE(rig.disk->add_namespace(std::move(options)).ok());
  rig.world->run_for(Duration::ms(10));
  Namespace& random = rig.ns(3);
  EXPECT_EQ(random.facts().zones,
            (ZoneGeometry{.zone_blocks = 64, .zrwa_blocks = 8, .zrwa_granularity = 4, .zrwa_max = 1, .zrwa_flush = true}));
  ASSERT_TRUE(random.zone_send(ZoneSendAction::open, 64, false, true).wait().ok());
  Bytes block = data(1, 3);
  for (const std::uint64_t lba : {67u, 64u}) ASSERT_TRUE(random.write(lba, block).wait().ok());
  ASSERT_TRUE(random.zone_send(ZoneSendAction::flush_explicit_zrwa, 67).wait().ok());
  const nvme::ZoneFacts zone = random.report_zones(64).wait().zones.front();
  EXPECT_EQ(zone.write_pointer, 68u);
  EXPECT_EQ(zone.attributes, nvme::zone_attribute_bits::zrwa_valid);
}

TEST_F(HostZones, AreReportedInFull) {
  const ZoneReport all = ns->report_zones().wait();
  ASSERT_TRUE(all.status.ok());
  ASSERT_EQ(all.zones.size(), 16u);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(all.zones[i].start, i * 64);
    EXPECT_EQ(all.zones[i].capacity, 60u);
    EXPECT_EQ(all.zones[i].state, ZoneState::empty);
  }
  EXPECT_EQ(ns->report_zones(700).wait().zones.size(), 6u);
  EXPECT_TRUE(ns->report_zones(0, nvme::ZoneReporting::full).wait().zones.empty());
}

TEST_F(HostZones, AreAppendedTo) {
  Bytes first = data(3, 1), second = data(20, 9);
  const ZoneAppended one = ns->zone_append(128, first).wait();
  ASSERT_TRUE(one.status.ok());
  EXPECT_EQ(one.lba, 128u);
  const ZoneAppended two = ns->zone_append(128, second).wait();
  EXPECT_EQ(two.lba, 131u);
  Bytes back(second.size());
  ASSERT_TRUE(ns->read(131, back).wait().ok());
  EXPECT_EQ(back, second);
  Bytes large = data(33, 1), odd(100);
  EXPECT_EQ(ns->zone_append(128, large).wait().status, nvme::Status(nvme::sc::invalid_field));
  EXPECT_EQ(ns->zone_append(128, odd).wait().status, nvme::Status(nvme::sc::invalid_field));
  EXPECT_EQ(rig.ns(1).zone_append(0, first).wait().status, nvme::Status(nvme::sc::invalid_opcode));
}

TEST_F(HostZones, AreWrittenInPieces) {
  Bytes all = data(60, 5);
  ASSERT_TRUE(ns->write(0, all).wait().ok());
  Bytes back(all.size());
  ASSERT_TRUE(ns->read(0, back).wait().ok());
  EXPECT_EQ(back, all);
  EXPECT_EQ(model->zones()->state(0), ZoneState::full);
  // A read over a boundary is two.
  Bytes across(8 * 512);
  EXPECT_TRUE(ns->read(60, across).wait().ok());
  // What does not fit ends where it meets the first refusal.
  Bytes more = data(64, 7);
  EXPECT_TRUE(nvme::same_code(ns->write(64, more).wait(), nvme::sc::zone_boundary_error));
  EXPECT_FALSE(ns->write(0, all).wait().ok());
}

TEST_F(HostZones, DoWhatTheyAreTold) {
  const auto state = [&](std::uint64_t start) { return ns->report_zones(start).wait().zones.front().state; };
  ASSERT_TRUE(ns->zone_send(ZoneSendAction::open, 64).wait().ok());
  EXPECT_EQ(state(64), ZoneState::explicitly_opened);
  ASSERT_TRUE(ns->zone_send(ZoneSendAction::close, 64).wait().ok());
  EXPECT_EQ(state(64), ZoneState::closed);
  ASSERT_TRUE(ns->zone_send(ZoneSendAction::finish, 0, true).wait().ok());
  EXPECT_EQ(state(64), ZoneState::full);
  EXPECT_EQ(state(0), ZoneState::empty);
  ASSERT_TRUE(ns->zone_send(ZoneSendAction::reset, 0, true).wait().ok());
  EXPECT_EQ(state(64), ZoneState::empty);
  EXPECT_TRUE(nvme::same_code(ns->zone_send(ZoneSendAction::offline, 64).wait(), nvme::sc::invalid_zone_state_transition));
  Bytes extension(128, 0x3C);
  ASSERT_TRUE(ns->set_zone_extension(192, extension).wait().ok());
  const ZoneReport report = ns->report_zones(192, nvme::ZoneReporting::all, true).wait();
  EXPECT_EQ(report.zones.front().extension, extension);
  EXPECT_EQ(report.zones.front().state, ZoneState::closed);
}

TEST_F(HostZones, AreAppendedToWithTags) {
  for (const ProtectionUse use : {ProtectionUse::controller, ProtectionUse::host}) {
    for (const std::uint8_t type : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
      Rig other(zoned());
      other.add_namespace();
      subsystem::NamespaceOptions options;
      options.blocks = 256;
      options.metadata_bytes = 8;
      options.protection_type = type;
      options.zones = {.zone_blocks = 64};
      ASSERT_TRUE(other.disk->add_namespace(std::move(options)).ok());
      ConnectOptions connect = other.to();
      connect.protection = use;
      ASSERT_NE(other.connect(connect), nullptr);
      Namespace& tagged = other.ns(2);
      Bytes block(3 * tagged.block_bytes(), static_cast<std::uint8_t>(type));
      for (const std::uint64_t expected : {std::uint64_t{64}, std::uint64_t{67}}) {
        const ZoneAppended done = tagged.zone_append(64, block).wait();
        EXPECT_TRUE(done.status.ok()) << nvme::to_string(done.status);
        EXPECT_EQ(done.lba, expected);
      }
      Bytes back(6 * tagged.block_bytes());
      const nvme::Status read = tagged.read(64, back).wait();
      EXPECT_TRUE(read.ok()) << nvme::to_string(read) << ", type " << int{type};
      EXPECT_EQ(back[5], type);
      EXPECT_TRUE(tagged.verify(64, 6).wait().ok());
    }
  }
}

TEST(HostZonesWithoutAppend, SayThatThereIsNone) {
  subsystem::SubsystemOptions without = zoned();
  without.zoned.append = false;
  Rig rig(std::move(without));
  subsystem::NamespaceOptions options;
  options.blocks = 256;
  options.zones = {.zone_blocks = 64};
  ASSERT_TRUE(rig.disk->add_namespace(std::move(options)).ok());
  ASSERT_NE(rig.connect(rig.to()), nullptr);
  Bytes block(512);
  EXPECT_EQ(rig.ns(1).zone_append(0, block).wait().status, nvme::Status(nvme::sc::invalid_opcode));
  EXPECT_TRUE(rig.ns(1).write(0, block).wait().ok());
}

TEST_F(HostZones, AreReadAboutWhenTheyChange) {
  rig.disk->make_zone_read_only(*model, 3);
  rig.world->run_for(Duration::ms(10));
  Bytes block = data(1, 1);
  EXPECT_TRUE(nvme::same_code(ns->write(192, block).wait(), nvme::sc::zone_is_read_only));
  EXPECT_TRUE(ns->zone_send(ZoneSendAction::offline, 192).wait().ok());
}

}  // namespace
}  // namespace fb::host::test
