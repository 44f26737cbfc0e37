#include "wire/layout.h"

#include <gtest/gtest.h>

namespace fb {
namespace {

inline constexpr Le<"opcode", 0, std::uint8_t> opcode{};
inline constexpr LeBits<"fuse", 1, std::uint8_t, 1, 0> fuse{};
inline constexpr LeBits<"psdt", 1, std::uint8_t, 7, 6> psdt{};
inline constexpr Le<"sqsize", 2, std::uint16_t, ZeroBased<std::uint16_t>> sqsize{};
inline constexpr Be<"psn", 4, U24> psn{};
inline constexpr BytesField<"tail", 8, 4> tail{};
using Sample = Layout<12, opcode, fuse, psdt, sqsize, psn, tail>;

static_assert(Sample::reserved_bits(1) == 0x3C);
static_assert(Sample::reserved_bits(7) == 0xFF);

TEST(Layout, WritesWhatItReads) {
  Record<Sample> record;
  record.set(opcode, 0x7F).set(psdt, 1).set(sqsize, ZeroBased<std::uint16_t>::of(32)).set(psn, 0x123456);
  record.set(tail, Bytes{'a', 'b'});
  EXPECT_EQ(to_hex(record.bytes()),
            "7f401f00123456006162"
            "0000");
  EXPECT_EQ(record.get(sqsize).count(), 32u);
  EXPECT_EQ(record.get(psn), 0x123456u);
  EXPECT_EQ(record.get(fuse), 0);
}

TEST(Layout, SettingOneBitFieldKeepsItsNeighbours) {
  Record<Sample> record;
  record.set(fuse, 3).set(psdt, 2).set(fuse, 1);
  EXPECT_EQ(record.get(psdt), 2);
  EXPECT_EQ(record.get(fuse), 1);
}

TEST(Layout, ReservedBitsAreFound) {
  Record<Sample> record;
  EXPECT_EQ(first_reserved_set<Sample>(record.bytes()), std::nullopt);
  record.mutable_bytes()[1] = 0x04;
  EXPECT_EQ(first_reserved_set<Sample>(record.bytes()), 1u);
}

TEST(Layout, DescribesEveryField) {
  Record<Sample> record;
  record.set(opcode, 0x7F).set(tail, Bytes{'a', 'b'});
  EXPECT_EQ(describe<Sample>(record.bytes()), "opcode=0x7f fuse=0 psdt=0 sqsize=0 psn=0 tail=\"ab\"");
  EXPECT_EQ(describe<Sample>(record.bytes().first(3)), "(truncated)");
}

TEST(Layout, TooFewBytesAreRefused) {
  const Bytes few(11);
  EXPECT_FALSE(View<Sample>::over(few).has_value());
  EXPECT_THROW(View<Sample>{few}, AssertionFailure);
}

}  // namespace
}  // namespace fb
