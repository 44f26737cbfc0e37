// Flexible Data Placement: from enabling to the write amplification.
#include <gtest/gtest.h>

#include "model/host/commands.h"
#include "tests/model/subsystem/rig.h"
#include "wire/nvme/fdp.h"
#include "wire/nvme/identify_namespace.h"

namespace fb::subsystem::test {
namespace {

namespace sc = nvme::sc;
using nvme::FdpEventType;
using nvme::IoOpcode;
using nvme::LogPage;

constexpr std::uint16_t kGroup = 2;
constexpr std::uint64_t kUnit = 1 << 16;  // 128 blocks of 512 bytes
constexpr std::uint64_t kUnitBlocks = kUnit / 512;

SubsystemOptions options() {
  SubsystemOptions made;
  made.version = fabrics::version(2, 1, 0);
  made.namespace_management.capacity_bytes = 1 << 24;
  made.endurance = {.groups = 2, .group_bytes = 1 << 20};
  FdpConfiguration first{.reclaim_groups = 2, .group_bits = 4, .handles = 4, .unit_bytes = kUnit, .identifiers_max = 3, .spare_units = 2};
  made.fdp.configurations = {first, {.reclaim_groups = 1, .group_bits = 0, .handles = 2, .unit_bytes = kUnit, .identifiers_max = 2}};
  return made;
}

class PlacementTest : public ::testing::Test {
 protected:
  explicit PlacementTest(SubsystemOptions made = options()) : rig_(std::move(made)) {}

  template <class L>
  static Bytes bytes(const Record<L>& command) {
    return Bytes(command.bytes().begin(), command.bytes().end());
  }
  Reply enable(unsigned index = 0) { return admin_.send(bytes(host::set_fdp(kGroup, true, index))); }
  std::uint32_t create(std::vector<std::uint16_t> handles, std::uint64_t blocks = 512) {
    Bytes data(nvme::kIdentifySize);
    MutableView<nvme::IdentifyNamespace>{data}
        .set(nvme::id_ns::nsze, blocks)
        .set(nvme::id_ns::ncap, blocks)
        .set(nvme::id_ns::nmic, nvme::nmic_bits::shared)
        .set(nvme::id_ns::endgid, kGroup);
    nvme::write_placement_handles(data, handles);
    created_ = admin_.send(bytes(host::create_namespace()), data);
    if (!created_.status().ok()) return 0;
    Bytes list(nvme::kIdentifySize);
    store_le(list.data(), std::uint16_t{1});
    store_le(list.data() + 2, session_.cntlid);
    EXPECT_TRUE(admin_.send(bytes(host::attach_namespace(created_.dw0())), list).status().ok());
    return created_.dw0();
  }
  Reply write(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks, std::optional<std::uint16_t> id = {}) {
    auto command = host::write(nsid, lba, blocks);
    if (id) command.set(nvme::rw_sqe::dtype, 2u).set(nvme::rw_sqe::dspec, *id);
    return io_.send(bytes(command), Bytes(std::size_t{blocks} * 512, 0x5A));
  }
  std::vector<nvme::HandleStatus> statuses(std::uint32_t nsid) {
    const Reply reply = io_.fetch(bytes(host::reclaim_unit_handle_status(nsid, 1024)), 1024);
    EXPECT_TRUE(reply.status().ok()) << nvme::to_string(reply.status());
    return nvme::read_handle_statuses(reply.data);
  }
  void direct(std::uint32_t nsid) {
    EXPECT_TRUE(admin_.send(bytes(host::enable_directive(nsid, nvme::DirectiveType::data_placement, true))).status().ok());
  }
  std::uint64_t counter(std::size_t offset) {
    const Reply reply = admin_.fetch(bytes(host::get_fdp_log(LogPage::fdp_statistics, kGroup, 64)), 64);
    EXPECT_TRUE(reply.status().ok());
    return load_le<std::uint64_t>(reply.data.data() + offset);
  }
  void listen(std::uint32_t nsid, std::uint16_t handle, FdpEventType type) {
    const Reply reply = admin_.send(bytes(host::set_fdp_events(nsid, handle, 1, true)), Bytes{static_cast<std::uint8_t>(type)});
    EXPECT_TRUE(reply.status().ok()) << nvme::to_string(reply.status());
  }
  std::vector<Record<nvme::FdpEvent>> events(bool of_host) {
    const Reply reply =
        admin_.fetch(bytes(host::get_fdp_log(LogPage::fdp_events, kGroup, 4096, of_host ? nvme::kFdpHostEvents : 0u)), 4096);
    EXPECT_TRUE(reply.status().ok());
    std::vector<Record<nvme::FdpEvent>> found;
    for (std::size_t i = 0; i < load_le<std::uint32_t>(reply.data.data()); ++i) {
      found.emplace_back(ByteView{reply.data}.subspan(64 + 64 * i, 64));
    }
    return found;
  }

  Rig rig_;
  Rig::Session session_ = rig_.start();
  Line& admin_ = session_.admin;
  Line io_ = rig_.start_io(session_);
  Reply created_;
};

TEST_F(PlacementTest, WritesGoWhereTheyAreDirected) {
  ASSERT_TRUE(enable().status().ok());
  EXPECT_EQ(admin_.send(bytes(host::get_features(nvme::FeatureId::flexible_data_placement, nvme::FeatureSelect::current, kGroup))).dw0(),
            1u);
  const std::uint32_t nsid = create({3, 1});
  ASSERT_NE(nsid, 0u) << nvme::to_string(created_.status());
  direct(nsid);
  const auto before = statuses(nsid);
  ASSERT_EQ(before.size(), 4u);
  EXPECT_EQ(before[0].id, 0x0000);
  EXPECT_EQ(before[1].id, 0x1000);
  EXPECT_EQ(before[2].id, 0x0001);
  EXPECT_EQ(before[3].id, 0x1001);
  EXPECT_EQ(before[0].handle, 3u);
  EXPECT_EQ(before[2].handle, 1u);
  EXPECT_EQ(before[0].blocks_left, kUnitBlocks);
  ASSERT_TRUE(write(nsid, 0, 8, 0x1001).status().ok());
  const auto after = statuses(nsid);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(after[i].blocks_left, kUnitBlocks - (i == 3 ? 8 : 0)) << i;
}

TEST_F(PlacementTest, AreRefusedWhereNothingIsEnabled) {
  EXPECT_EQ(admin_.fetch(bytes(host::get_fdp_log(LogPage::fdp_statistics, kGroup, 64)), 64).code(), sc::fdp_disabled.code());
  EXPECT_EQ(io_.fetch(bytes(host::reclaim_unit_handle_status(1, 64)), 64).code(), sc::fdp_disabled.code());
  EXPECT_EQ(admin_.send(bytes(host::set_fdp(1, true))).code(), sc::command_sequence_error.code());
  EXPECT_EQ(enable(2).code(), sc::invalid_field.code());
}

TEST_F(PlacementTest, HandlesOfTheControllerAreItsOwn) {
  ASSERT_TRUE(enable().status().ok());
  ASSERT_NE(create({0, 1}), 0u);
  ASSERT_NE(create({}), 0u);
  EXPECT_EQ(create({2}), 0u);
  EXPECT_EQ(created_.code(), sc::invalid_placement_handle_list.code());
  EXPECT_EQ(create({3, 3}), 0u);
  EXPECT_EQ(create({4}), 0u);
  const Reply usage = admin_.fetch(bytes(host::get_fdp_log(LogPage::reclaim_unit_handle_usage, kGroup, 40)), 40);
  ASSERT_TRUE(usage.status().ok());
  EXPECT_EQ(load_le<std::uint16_t>(usage.data.data()), 4u);
  const std::uint8_t expected[] = {1, 1, 2, 0};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(usage.data[8 + 8 * i], expected[i]);
}

TEST_F(PlacementTest, AmplificationFollowsFromUse) {
  ASSERT_TRUE(enable().status().ok());
  const std::uint32_t nsid = create({0, 1}, 2048);  // all of the group
  ASSERT_NE(nsid, 0u);
  direct(nsid);
  // Two streams that share units: every second block is overwritten soon.
  for (unsigned round = 0; round < 3; ++round) {
    for (std::uint64_t lba = 0; lba < 1024; lba += 8) ASSERT_TRUE(write(nsid, lba, 8, 0).status().ok());
    for (std::uint64_t lba = 0; lba < 1024; lba += 16) ASSERT_TRUE(write(nsid, lba, 8, 0).status().ok());
  }
  const std::uint64_t host = counter(0), media = counter(16);
  EXPECT_EQ(host, 3u * (1024 + 512) * 512);
  EXPECT_GT(media, host);
  EXPECT_GT(counter(32), 0u);
  // What is deallocated whole costs nothing.
  ASSERT_TRUE(admin_.send(bytes(host::delete_namespace(nsid))).status().ok());
  EXPECT_EQ(counter(0), host);
}

TEST_F(PlacementTest, EventsAreToldWhereTheyAreEnabled) {
  ASSERT_TRUE(enable().status().ok());
  const std::uint32_t nsid = create({0, 1});
  ASSERT_NE(nsid, 0u);
  direct(nsid);
  ASSERT_TRUE(write(nsid, 0, 8, 0x0007).status().ok());
  EXPECT_TRUE(events(true).empty());
  listen(nsid, 0, FdpEventType::invalid_placement_id);
  ASSERT_TRUE(write(nsid, 0, 8, 0x0007).status().ok());
  ASSERT_EQ(events(true).size(), 1u);
  EXPECT_EQ(events(true)[0].get(nvme::fdp_event::pid), 7u);
  EXPECT_EQ(events(true)[0].get(nvme::fdp_event::nsid), nsid);
  listen(nsid, 1, FdpEventType::not_fully_written);
  ASSERT_TRUE(write(nsid, 8, 8, 0x0001).status().ok());
  Bytes list(2);
  store_le(list.data(), std::uint16_t{1});
  ASSERT_TRUE(io_.send(bytes(host::reclaim_unit_handle_update(nsid, 1)), list).status().ok());
  ASSERT_EQ(events(true).size(), 2u);
  EXPECT_EQ(events(true)[1].get(nvme::fdp_event::etyp), FdpEventType::not_fully_written);
  EXPECT_EQ(events(true)[1].get(nvme::fdp_event::ruhid), 1u);
  EXPECT_EQ(statuses(nsid)[2].blocks_left, kUnitBlocks);
  listen(nsid, 1, FdpEventType::implicitly_modified);
  ASSERT_TRUE(write(nsid, 16, 200, 0x0001).status().ok());
  ASSERT_EQ(events(false).size(), 1u);
}

class TimedPlacementTest : public PlacementTest {
 protected:
  static SubsystemOptions timed() {
    SubsystemOptions made = options();
    made.fdp.configurations.front().time_limit_s = 60;
    return made;
  }
  TimedPlacementTest() : PlacementTest(timed()) {}
};

TEST_F(TimedPlacementTest, UnitsAreNotReferredToForEver) {
  ASSERT_TRUE(enable().status().ok());
  const std::uint32_t nsid = create({0});
  ASSERT_NE(nsid, 0u);
  listen(nsid, 0, FdpEventType::time_limit_exceeded);
  ASSERT_TRUE(write(nsid, 0, 8).status().ok());
  rig_.world->run_for(Duration::s(20));
  const auto soon = statuses(nsid);
  EXPECT_EQ(std::min(soon[0].time_left_s, soon[1].time_left_s), 40u);
  rig_.world->run_for(Duration::s(41));
  EXPECT_EQ(events(true).size(), 1u);
  EXPECT_EQ(statuses(nsid)[0].blocks_left, kUnitBlocks);
}

}  // namespace
}  // namespace fb::subsystem::test
