// A host on namespaces with protection information, whoever makes it.
#include <gtest/gtest.h>

#include "tests/model/host/rig.h"

namespace fb::host::test {
namespace {

using nvme::ProtectionFormat;

struct Protected {
  std::uint32_t data_bytes = 512;
  std::uint16_t metadata_bytes = 8;
  std::uint8_t type = 1;
  ProtectionFormat guard = ProtectionFormat::guard_16;
  ProtectionUse use = ProtectionUse::controller;
};

class HostProtection : public ::testing::TestWithParam<Protected> {
 protected:
  HostProtection() {
    const Protected& p = GetParam();
    subsystem::NamespaceOptions options;
    options.nsid = 9;
    options.blocks = 1024;
    options.block_bytes = p.data_bytes;
    options.metadata_bytes = p.metadata_bytes;
    options.protection_type = p.type;
    options.guard = p.guard;
    EXPECT_TRUE(rig.disk->add_namespace(std::move(options)).ok());
    ConnectOptions connect = rig.to();
    connect.protection = p.use;
    Controller* const controller = rig.connect(connect);
    EXPECT_NE(controller, nullptr);
    ns = &rig.ns(9);
  }
  Bytes data(std::size_t blocks, std::uint8_t mark) const {
    Bytes bytes(blocks * ns->block_bytes());
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(mark + i + i / 253);
    return bytes;
  }
  /// The data of the blocks, whatever is beside it.
  Bytes data_of(ByteView blocks) const {
    Bytes out;
    for (std::size_t at = 0; at < blocks.size(); at += ns->block_bytes()) {
      const ByteView block = blocks.subspan(at, GetParam().data_bytes);
      out.insert(out.end(), block.begin(), block.end());
    }
    return out;
  }

  Rig rig;
  Namespace* ns = nullptr;
};

TEST_P(HostProtection, DataGoesThereAndBack) {
  const Protected& p = GetParam();
  const std::uint32_t tags = p.guard == ProtectionFormat::guard_16 ? 8 : 16;
  const bool strips = p.use == ProtectionUse::controller && p.metadata_bytes == tags;
  EXPECT_EQ(ns->block_bytes(), strips ? p.data_bytes : p.data_bytes + p.metadata_bytes);
  Bytes written = data(300, 1);
  ASSERT_TRUE(ns->write(5, written).wait().ok());
  Bytes read(written.size());
  ASSERT_TRUE(ns->read(5, read).wait().ok());
  EXPECT_EQ(data_of(read), data_of(written));
  EXPECT_TRUE(ns->verify(5, 300).wait().ok());
  EXPECT_TRUE(ns->compare(5, written).wait().ok());
  written[0] ^= 1;
  EXPECT_TRUE(nvme::same_code(ns->compare(5, written).wait(), nvme::sc::compare_failure));
  ASSERT_TRUE(ns->write_zeroes(6, 2).wait().ok());
  Bytes zeroes(2 * ns->block_bytes());
  ASSERT_TRUE(ns->read(6, zeroes).wait().ok());
  EXPECT_EQ(data_of(zeroes), Bytes(2 * p.data_bytes));
  EXPECT_TRUE(ns->deallocate(6, 2).wait().ok());
  EXPECT_TRUE(ns->read(6, zeroes).wait().ok());
}

TEST_P(HostProtection, ComparesAndWrites) {
  Bytes before = data(2, 7), after = data(2, 9), read(before.size());
  ASSERT_TRUE(ns->write(8, before).wait().ok());
  const auto [compared, written] = ns->compare_and_write(8, before, after).wait();
  EXPECT_TRUE(compared.ok() && written.ok());
  ASSERT_TRUE(ns->read(8, read).wait().ok());
  EXPECT_EQ(data_of(read), data_of(after));
  const auto again = ns->compare_and_write(8, before, after).wait();
  EXPECT_FALSE(again.first.ok() || again.second.ok());
}

TEST_P(HostProtection, DamageIsReported) {
  Bytes written = data(4, 3);
  ASSERT_TRUE(ns->write(8, written).wait().ok());
  subsystem::Namespace& medium = *rig.disk->find_namespace(9);
  Bytes block(medium.block_bytes());
  ASSERT_TRUE(medium.read(10, block).ok());
  block[3] ^= 1;
  ASSERT_TRUE(medium.write(10, block).ok());
  Bytes read(written.size());
  EXPECT_TRUE(nvme::same_code(ns->read(8, read).wait(), nvme::sc::guard_check_error));
  EXPECT_TRUE(nvme::same_code(ns->verify(8, 4).wait(), nvme::sc::guard_check_error));
}

constexpr ProtectionUse kHost = ProtectionUse::host;
INSTANTIATE_TEST_SUITE_P(
    , HostProtection,
    ::testing::Values(Protected{}, Protected{.type = 2}, Protected{.type = 3}, Protected{.use = kHost},
                      Protected{.data_bytes = 4096, .type = 2, .use = kHost}, Protected{.data_bytes = 4096, .metadata_bytes = 64},
                      Protected{.data_bytes = 4096, .metadata_bytes = 64, .type = 3, .use = kHost},
                      Protected{.data_bytes = 4096, .metadata_bytes = 16, .guard = ProtectionFormat::guard_64},
                      Protected{.data_bytes = 4096, .metadata_bytes = 16, .guard = ProtectionFormat::guard_64, .use = kHost}));

}  // namespace
}  // namespace fb::host::test
