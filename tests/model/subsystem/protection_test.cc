// Random commands on namespaces of every layout against a plain list of blocks.
#include <gtest/gtest.h>

#include "tests/model/subsystem/protection_session.h"

namespace fb::subsystem::test {
namespace {

using nvme::BlockLayout;
using nvme::IoOpcode;
using nvme::ProtectionChecks;
using nvme::ProtectionTags;
using Order = ProtectedSpace::Order;

struct ProtectedIo : ::testing::TestWithParam<int> {};

/// What the medium holds, block by block; an empty one was never written.
class Mirror {
 public:
  explicit Mirror(const BlockLayout& layout) : layout_(layout) {}

  Bytes block(std::uint64_t lba) const {
    if (const auto at = blocks_.find(lba); at != blocks_.end()) return at->second;
    Bytes fresh(layout_.bytes());
    std::fill_n(fresh.begin() + layout_.tuple_at(), layout_.tuple_bytes(), std::uint8_t{0xFF});
    return fresh;
  }
  void put(std::uint64_t lba, ByteView block) { blocks_[lba] = Bytes(block.begin(), block.end()); }
  void forget(std::uint64_t lba) { blocks_.erase(lba); }

  nvme::Status check(std::uint64_t lba, std::uint32_t count, const Order& order) const {
    ProtectionTags tags = order.tags;
    for (std::uint32_t i = 0; i < count; ++i) {
      const nvme::Status status = nvme::check_protection(layout_, block(lba + i), order.checks, tags);
      if (!status.ok()) return status;
      nvme::advance_tags(layout_, tags);
    }
    return nvme::sc::success;
  }

 private:
  BlockLayout layout_;
  std::map<std::uint64_t, Bytes> blocks_;
};

TEST_P(ProtectedIo, IsWhatTheMirrorSays) {
  Rng rng(static_cast<std::uint64_t>(GetParam()), "protected I/O");
  Rig rig;
  Line admin = rig.open();
  const Reply connected = Rig::connect(admin, {});
  rig.enable(admin);
  Line io = rig.open(1);
  ConnectWords words;
  words.qid = 1;
  words.cntlid = static_cast<std::uint16_t>(connected.dw0());
  Rig::connect(io, words);
  Bytes behavior(512);
  behavior[2] = 1;
  admin.send(set_feature(0x16, 0).bytes(), behavior);

  const BlockFormat& format = kBlockFormats[kPlainFormats + rng.below(kBlockFormats.size() - kPlainFormats)];
  ProtectedSpace space(rig, io,
                       {.block_bytes = format.data_bytes,
                        .metadata_bytes = format.metadata_bytes,
                        .protection_type = static_cast<std::uint8_t>(1 + rng.below(3)),
                        .protection_first = rng.chance(1, 2),
                        .guard = format.guard,
                        .storage_tag_bits = format.storage_tag_bits});
  const BlockLayout& layout = space.layout();
  Mirror mirror(layout);
  for (int step = 0; step < 300; ++step) {
    const std::uint64_t lba = rng.below(20);
    const auto count = static_cast<std::uint32_t>(1 + rng.below(4));
    Order order;
    order.checks = {.guard = rng.chance(1, 2), .application = rng.chance(1, 2), .reference = rng.chance(1, 2), .storage = rng.chance(1, 4)};
    order.tags = {.application = static_cast<std::uint16_t>(rng.chance(1, 8) ? 0xFFFF : rng.below(3)),
                  .application_mask = static_cast<std::uint16_t>(rng.chance(1, 2) ? 0xFFFF : 2),
                  .storage = layout.storage_tag_bits != 0 ? rng.below(2) : 0,
                  .reference = (layout.protection_type == 1 || rng.chance(1, 2) ? lba : rng.below(30)) & layout.reference_mask()};
    switch (rng.below(5)) {
      case 0: {  // Write, tags inserted
        order.act = true;
        const Bytes data = counted(count * space.bytes(order), static_cast<std::uint8_t>(step));
        ASSERT_TRUE(space.write(lba, data, order).status().ok());
        ProtectionTags tags = order.tags;
        for (std::uint32_t i = 0; i < count; ++i) {
          Bytes block(layout.bytes());
          std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(i * space.bytes(order)), space.bytes(order), block.begin());
          nvme::protect(layout, block, tags);
          nvme::advance_tags(layout, tags);
          mirror.put(lba + i, block);
        }
        break;
      }
      case 1: {  // Write, tags of the host, at times wrong ones
        Bytes data = space.whole(static_cast<std::uint8_t>(step), count, order.tags);
        if (rng.chance(1, 3)) data[rng.below(data.size())] ^= 1;
        Mirror trial(layout);
        for (std::uint32_t i = 0; i < count; ++i) {
          trial.put(lba + i, ByteView{data}.subspan(i * layout.bytes(), layout.bytes()));
        }
        const nvme::Status expected = trial.check(lba, count, order);
        const Reply reply = space.write(lba, data, order);
        ASSERT_TRUE(nvme::same_code(reply.status(), expected)) << step;
        for (std::uint32_t i = 0; i < count && expected.ok(); ++i) mirror.put(lba + i, trial.block(lba + i));
        break;
      }
      case 2: {  // Read
        order.act = rng.chance(1, 2);
        const nvme::Status expected = mirror.check(lba, count, order);
        const Reply reply = space.read(lba, count, order);
        ASSERT_TRUE(nvme::same_code(reply.status(), expected)) << step;
        if (!expected.ok()) break;
        Bytes wanted;
        for (std::uint32_t i = 0; i < count; ++i) {
          const Bytes block = mirror.block(lba + i);
          wanted.insert(wanted.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(space.bytes(order)));
        }
        ASSERT_EQ(reply.data, wanted) << step;
        break;
      }
      case 3: {  // Verify
        const nvme::Status expected = mirror.check(lba, count, order);
        ASSERT_TRUE(nvme::same_code(space.bare(IoOpcode::verify, lba, count, order).status(), expected)) << step;
        break;
      }
      default: {  // Write Zeroes
        order.act = rng.chance(1, 2);
        nvme::Sqe zero = space.command(IoOpcode::write_zeroes, lba, count, order);
        const bool deallocates = rng.chance(1, 3);
        zero.edit<nvme::ReadWriteSqe>().set(nvme::rw_sqe::deac, deallocates);
        ASSERT_TRUE(io.send(zero.bytes()).status().ok());
        ProtectionTags tags = order.tags;
        for (std::uint32_t i = 0; i < count; ++i) {
          Bytes block(layout.bytes());
          if (order.act) nvme::protect(layout, block, tags);
          nvme::advance_tags(layout, tags);
          mirror.put(lba + i, block);
          if (deallocates) mirror.forget(lba + i);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ProtectedIo, ::testing::Range(1, 61));

}  // namespace
}  // namespace fb::subsystem::test
