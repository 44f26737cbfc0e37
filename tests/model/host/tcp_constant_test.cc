// Data that a namespace never changes goes out from where it lies: whatever the pieces, digests and
// sizes, the host reads the same as from any namespace.
#include <gtest/gtest.h>

#include "tests/model/host/tcp_rig.h"

namespace fb::host {
namespace {

struct CountingNull final : subsystem::BlockStore {
  std::unique_ptr<BlockStore> inner = subsystem::make_null_store(std::uint64_t{64} << 20);
  int copies = 0;
  std::uint64_t bytes() const override { return inner->bytes(); }
  Result<void> read(std::uint64_t offset, MutableBytes to) override {
    ++copies;
    return inner->read(offset, to);
  }
  ByteView constant(std::uint64_t offset, std::size_t length) const override { return inner->constant(offset, length); }
  Result<void> write(std::uint64_t offset, ByteView from) override { return inner->write(offset, from); }
  Result<void> zero(std::uint64_t offset, std::uint64_t n) override { return inner->zero(offset, n); }
  Result<void> flush() override { return inner->flush(); }
  std::uint64_t bytes_held() const override { return 0; }
};

TEST(TcpConstantData, IsReadWithoutACopyAndSpoilsNoOther) {
  for (const bool digests : {false, true}) {
    TcpRig rig({.controller = {.c2h_data_bytes = 3072}, .host = {.header_digest = digests, .data_digest = digests}});
    auto store = std::make_unique<CountingNull>();
    CountingNull& null = *store;
    subsystem::NamespaceOptions second;
    second.blocks = 131072;
    second.store = std::move(store);
    ASSERT_TRUE(rig.disk->add_namespace(std::move(second)));
    ASSERT_NE(rig.connect(), nullptr);
    Namespace* const zeroes = rig.host->find(rig.disk->options().nqn, 2);
    ASSERT_NE(zeroes, nullptr);
    Bytes pattern(65536);
    rig.world->stream("pattern").fill(pattern);
    ASSERT_TRUE(rig.ns().write(0, pattern).wait().ok());
    ASSERT_TRUE(zeroes->write(0, pattern).wait().ok());
    for (const std::size_t bytes : {std::size_t{512}, std::size_t{4096}, std::size_t{65536}}) {
      Bytes nothing(bytes, 7), something(bytes, 7);
      auto first = zeroes->read(8, nothing);
      auto other = rig.ns().read(0, something);
      ASSERT_TRUE(first.wait().ok());
      ASSERT_TRUE(other.wait().ok());
      EXPECT_EQ(nothing, Bytes(bytes));
      EXPECT_EQ(something, Bytes(pattern.begin(), pattern.begin() + static_cast<std::ptrdiff_t>(bytes)));
    }
    EXPECT_EQ(null.copies, 0);
  }
}

}  // namespace
}  // namespace fb::host
