// The straight way through requester, bus, endpoint and subsystem.
#include <gtest/gtest.h>

#include "tests/model/mi/rig.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/logs.h"

namespace fb::mi {
namespace {

using test::kDriveEid;
using test::Rig;

TEST(Path, SubsystemInformation) {
  Rig rig;
  const auto info = rig.requester.read_subsystem(kDriveEid).wait();
  ASSERT_TRUE(info.ok()) << (info.reply.violation ? to_string(*info.reply.violation) : "");
  EXPECT_EQ(info.value->get(subsystem_info::nump).count(), 2u);
  EXPECT_EQ(info.value->get(subsystem_info::mjr), 2);
  EXPECT_EQ(info.value->get(subsystem_info::mnr), 0);
}

TEST(Path, ControllersWithoutAHost) {
  Rig rig;
  const auto list = rig.requester.read_controllers(kDriveEid).wait();
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(*list.value, (std::vector<std::uint16_t>{1, 2}));
  const auto one = rig.requester.read_controller(kDriveEid, 2).wait();
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one.value->get(controller_info::vid), rig.disk.options().vid);
  EXPECT_EQ(one.value->get(controller_info::function), 1u);
}

TEST(Path, HealthOfTheSubsystem) {
  Rig rig;
  const auto health = rig.requester.poll_subsystem(kDriveEid).wait();
  ASSERT_TRUE(health.ok());
  EXPECT_EQ(to_hex(health.value->bytes()), "38ff250000000000");
}

TEST(Path, IdentifyThroughTheTunnel) {
  Rig rig;
  const auto page = rig.requester.identify(kDriveEid, 1, nvme::Cns::controller).wait();
  ASSERT_TRUE(page.ok()) << name_of(page.reply.status());
  ASSERT_EQ(page.value->size(), nvme::kIdentifySize);
  const View<nvme::IdentifyController> view{*page.value};
  EXPECT_EQ(view.get(nvme::id_ctrl::cntlid), 1);
  EXPECT_EQ(view.get(nvme::id_ctrl::vid), rig.disk.options().vid);
  EXPECT_EQ(text_of(view.get(nvme::id_ctrl::sn)), rig.disk.options().serial);
  const auto other = rig.requester.identify(kDriveEid, 2, nvme::Cns::controller).wait();
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(View<nvme::IdentifyController>{*other.value}.get(nvme::id_ctrl::cntlid), 2);
}

TEST(Path, IdentifyTellsOfManagement) {
  Rig rig;
  const auto page = [&] {
    return Record<nvme::IdentifyController>{*rig.requester.identify(kDriveEid, 1, nvme::Cns::controller).wait().value};
  };
  EXPECT_EQ(page().get(nvme::id_ctrl::nvmsr), 1);
  EXPECT_EQ(page().get(nvme::id_ctrl::mec), 1) << "the endpoint is at the two-wire port";
  EXPECT_EQ(page().get(nvme::id_ctrl::vwci), 0x80 | 64);
  const auto tells = [&] { return (page().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::nvme_mi) != 0; };
  EXPECT_FALSE(tells());
  ASSERT_TRUE(rig.requester.write_vpd(kDriveEid, 250, {1}).wait().ok());
  EXPECT_EQ(page().get(nvme::id_ctrl::vwci), 0x80 | 63);
  InBand tunnel(rig.device);
  EXPECT_TRUE(tells());
}

// The same command over fabrics and over the tunnel gives the same bytes.
TEST(Path, TheTunnelIsServedByTheCodeOfTheAdminQueue) {
  Rig rig;
  subsystem::test::ConnectWords words;
  words.cntlid = 1;
  auto session = rig.target_rig.start(words);
  for (const nvme::Cns cns : {nvme::Cns::controller, nvme::Cns::identify_namespace, nvme::Cns::active_namespace_list,
                              nvme::Cns::controller_list, nvme::Cns::namespace_id_descriptors}) {
    const std::uint32_t nsid = cns == nvme::Cns::identify_namespace || cns == nvme::Cns::namespace_id_descriptors ? 1u : 0u;
    const auto fabric = session.admin.fetch(subsystem::test::identify(cns, nsid).bytes(), 4096);
    ASSERT_TRUE(fabric.status().ok());
    const auto tunnel = rig.requester.identify(kDriveEid, 1, cns, nsid).wait();
    ASSERT_TRUE(tunnel.ok());
    EXPECT_EQ(*tunnel.value, fabric.data) << static_cast<unsigned>(cns);
  }
}

// What a host does is seen over management.
TEST(Path, WritesOfAHostMoveTheSmartLog) {
  Rig rig;
  subsystem::test::ConnectWords words;
  words.cntlid = 1;
  auto session = rig.target_rig.start(words);
  auto io = rig.target_rig.start_io(session);
  const auto smart = [&] {
    const auto log = rig.requester.get_log(kDriveEid, 1, 2, 512).wait();
    EXPECT_TRUE(log.ok());
    return Record<nvme::SmartLog>{*log.value};
  };
  const auto written = [&] { return load_le<std::uint64_t>(smart().get(nvme::smart::hwc).data()); };
  EXPECT_EQ(written(), 0u);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(io.send(subsystem::test::rw(nvme::IoOpcode::write, 0, 8).bytes(), Bytes(4096, 0x11)).status().ok());
  }
  EXPECT_EQ(written(), 3u);
  rig.disk.set_temperature(350);
  EXPECT_EQ(smart().get(nvme::smart::ctemp), 350);
  const auto health = rig.requester.poll_subsystem(kDriveEid).wait();
  ASSERT_TRUE(health.ok());
  EXPECT_EQ(health.value->get(subsystem_health::ctemp), 350 - 273);
  EXPECT_EQ(health.value->get(subsystem_health::sw), 0xFF & ~2) << "above the threshold of controller 1";
}

// What management does is seen by a host.
TEST(Path, AFeatureSetOutOfBandIsReadByTheHost) {
  Rig rig;
  subsystem::test::ConnectWords words;
  words.cntlid = 1;
  auto session = rig.target_rig.start(words);
  const Reply set = rig.requester.set_feature(kDriveEid, 1, 0x04, 333).wait();
  ASSERT_TRUE(set.admin_ok());
  EXPECT_EQ(session.admin.send(subsystem::test::get_feature(0x04).bytes()).dw0(), 333u);
  EXPECT_EQ(rig.requester.get_feature(kDriveEid, 1, 0x04).wait().dw0(), 333u);
  EXPECT_NE(rig.requester.get_feature(kDriveEid, 2, 0x04).wait().dw0(), 333u) << "the other controller's";
}

}  // namespace
}  // namespace fb::mi
