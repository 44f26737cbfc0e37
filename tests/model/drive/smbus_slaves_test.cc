// The drive's plain slaves on its SMBus: the basic management command and the memory of the vital product data.
#include "model/drive/smbus_slaves.h"

#include <gtest/gtest.h>

#include "tests/model/mi/rig.h"
#include "wire/mctp/crc.h"

namespace fb::mi {
namespace {

using test::Rig;
using test::RigOptions;

constexpr std::uint8_t kBasic = 0xD4, kMemory = 0xA6;

struct SlaveRig : Rig {
  explicit SlaveRig(RigOptions options = {}) : Rig(options), slaves(segment, device, 1, options.hooks) {}
  std::optional<Bytes> read(std::uint8_t address, Bytes write, std::size_t count) {
    std::optional<Bytes> result;
    side->transact(address, write, count, [&](const std::optional<Bytes>& came) { result = came; });
    world.run_for(Duration::ms(50));
    return result;
  }
  std::unique_ptr<mctp::SmbusPort> side = segment.attach("side", 0x24);
  SmbusSlaves slaves;
};

TEST(SmbusSlaves, BasicManagement) {
  SlaveRig rig;
  rig.disk.set_temperature(300);
  const auto status = rig.read(kBasic, {0}, 8);
  ASSERT_TRUE(status);
  EXPECT_EQ((*status)[0], 6);
  EXPECT_EQ((*status)[3], 27);
  const Bytes before = {0xD4, 0x00, 0xD5};
  EXPECT_EQ((*status)[7], mctp::pec(ByteView{*status}.first(7), mctp::pec(before)));
  const auto identity = rig.read(kBasic, {8}, 24);
  EXPECT_EQ((*identity)[0], 22);
  EXPECT_EQ(to_hex(ByteView{*identity}.subspan(1, 2)), "fb0e");
  const auto whole = rig.read(kBasic, {0}, 33);
  EXPECT_EQ(Bytes(whole->begin() + 8, whole->begin() + 32), *identity);
  EXPECT_EQ(whole->back(), 0xFF) << "nothing is behind them";
}

TEST(SmbusSlaves, MemoryIsTheVpd) {
  SlaveRig rig;
  const Bytes& image = rig.device.vpd();
  EXPECT_EQ(*rig.read(kMemory, {0}, 256), image);
  EXPECT_EQ(*rig.read(kMemory, {100}, 3), Bytes(image.begin() + 100, image.begin() + 103));
  EXPECT_EQ(*rig.read(kMemory, {}, 2), Bytes(image.begin() + 103, image.begin() + 105)) << "it goes on";
  EXPECT_EQ((*rig.read(kMemory, {255}, 2))[1], image[0]) << "around its end";
}

TEST(SmbusSlaves, LargeMemoriesHaveTwoBytesOfAddress) {
  RigOptions options;
  options.device.vpd.size = 1024;
  SlaveRig rig(options);
  ASSERT_TRUE(rig.device.write_vpd(0x102, Bytes{0x77}));
  EXPECT_EQ((*rig.read(kMemory, {0x01, 0x02}, 1))[0], 0x77);
  EXPECT_EQ((*rig.read(kMemory, {0x00, 0x00}, 1))[0], 0x01);
}

TEST(SmbusSlaves, OnlyWhereThePortSaysSo) {
  RigOptions options;
  options.device.ports[1].basic_management = false;
  options.device.ports[1].vpd_address = 0;
  SlaveRig rig(options);
  EXPECT_FALSE(rig.read(kBasic, {0}, 8));
  EXPECT_FALSE(rig.read(kMemory, {0}, 8));
}

TEST(SmbusSlaves, TheyLeaveTheBus) {
  Rig rig;
  {
    SmbusSlaves slaves(rig.segment, rig.device, 1);
    EXPECT_FALSE(rig.segment.is_free(kBasic));
  }
  EXPECT_TRUE(rig.segment.is_free(kBasic));
  EXPECT_TRUE(rig.segment.is_free(kMemory));
}

}  // namespace
}  // namespace fb::mi
