#include "wire/nvme/protection.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace fb::nvme {
namespace {

/// Bit by bit, as the polynomial is written down.
std::uint16_t slow_16(ByteView data) {
  std::uint16_t crc = 0;
  for (const std::uint8_t byte : data) {
    crc = static_cast<std::uint16_t>(crc ^ byte << 8);
    for (int i = 0; i < 8; ++i) crc = static_cast<std::uint16_t>(crc & 0x8000 ? crc << 1 ^ 0x8BB7 : crc << 1);
  }
  return crc;
}

std::uint64_t reversed(std::uint64_t value) {
  std::uint64_t out = 0;
  for (int i = 0; i < 64; ++i) out |= (value >> i & 1) << (63 - i);
  return out;
}

std::uint64_t slow_64(ByteView data) {
  std::uint64_t crc = ~std::uint64_t{0};
  for (const std::uint8_t byte : data) {
    for (int i = 0; i < 8; ++i) {
      const bool bit = ((crc >> 63) ^ (byte >> i & 1)) != 0;
      crc = crc << 1 ^ (bit ? 0xAD93D23594C93659 : 0);
    }
  }
  return ~reversed(crc);
}

Bytes counting(bool up) {
  Bytes data(4096);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(up ? i : ~i);
  return data;
}

TEST(Guard, KnownValues) {
  const std::string_view digits = "123456789";
  const Bytes text(digits.begin(), digits.end());
  EXPECT_EQ(guard_16(text), 0xD0DB);
  EXPECT_EQ(guard_32(text), 0xE3069283u);
  EXPECT_EQ(guard_64(text), 0xAE8B14860A799888u);
  // The examples of the NVM command set: 4 KiB of zeroes, of ones, counting up, counting down.
  EXPECT_EQ(guard_32(Bytes(4096)), 0x98F94189u);
  EXPECT_EQ(guard_32(Bytes(4096, 0xFF)), 0x25C1FE13u);
  EXPECT_EQ(guard_32(counting(true)), 0x9C71FE32u);
  EXPECT_EQ(guard_32(counting(false)), 0x214941A8u);
  EXPECT_EQ(guard_64(Bytes(4096)), 0x6482D367EB22B64Eu);
  EXPECT_EQ(guard_64(Bytes(4096, 0xFF)), 0xC0DDBA7302ECA3ACu);
  EXPECT_EQ(guard_64(counting(true)), 0x3E729F5F6750449Cu);
  EXPECT_EQ(guard_64(counting(false)), 0x9A2DF64B8E9E517Eu);
}

TEST(Guard, AgreesWithThePolynomial) {
  Rng rng(7, "guard");
  for (int i = 0; i < 200; ++i) {
    Bytes data(rng.below(300));
    rng.fill(data);
    EXPECT_EQ(guard_16(data), slow_16(data));
    EXPECT_EQ(guard_64(data), slow_64(data));
  }
}

BlockLayout any_layout(Rng& rng) {
  BlockLayout layout{.data_bytes = rng.chance(1, 2) ? 512u : 4096u};
  layout.protection_type = static_cast<std::uint8_t>(1 + rng.below(3));
  layout.guard = static_cast<ProtectionFormat>(rng.below(3));
  layout.metadata_bytes = static_cast<std::uint16_t>(layout.tuple_bytes() + 8 * rng.below(4));
  layout.tuple_first = rng.chance(1, 2);
  const unsigned least = layout.guard == ProtectionFormat::guard_32 ? 16 : 0;
  const unsigned most = layout.guard == ProtectionFormat::guard_32 ? 64 : layout.space_bits();
  layout.storage_tag_bits = static_cast<std::uint8_t>(least + rng.below(most - least + 1));
  return layout;
}

ProtectionTags any_tags(Rng& rng, const BlockLayout& layout) {
  const unsigned bits = layout.storage_tag_bits;
  return {.application = static_cast<std::uint16_t>(rng.below(0xFFFF)),
          .application_mask = 0xFFFF,
          .storage = bits == 0 ? 0 : rng.next() >> (64 - bits),
          .reference = rng.next() & layout.reference_mask()};
}

TEST(Protection, WhatIsWrittenIsFound) {
  Rng rng(11, "protection");
  for (int i = 0; i < 500; ++i) {
    const BlockLayout layout = any_layout(rng);
    const ProtectionTags tags = any_tags(rng, layout);
    Bytes block(layout.bytes());
    rng.fill(block);
    const Bytes before = block;
    protect(layout, block, tags);
    const ProtectionTuple tuple = read_tuple(layout, block);
    EXPECT_EQ(tuple.tags.application, tags.application);
    EXPECT_EQ(tuple.tags.storage, tags.storage);
    EXPECT_EQ(tuple.tags.reference, tags.reference);
    const ProtectionChecks all{.guard = true, .application = true, .reference = true, .storage = true};
    EXPECT_TRUE(check_protection(layout, block, all, tags).ok());
    // Nothing but the tuple was touched.
    for (std::size_t at = 0; at < block.size(); ++at) {
      if (at < layout.tuple_at() || at >= layout.tuple_at() + layout.tuple_bytes()) {
        ASSERT_EQ(block[at], before[at]);
      }
    }
    // The command says the same tags.
    Sqe sqe;
    set_command_tags(sqe.edit<SqeLayout>(), layout, tags);
    const ProtectionTags said = command_tags(sqe.as<SqeLayout>(), layout);
    EXPECT_EQ(said.application, tags.application);
    EXPECT_EQ(said.storage, tags.storage);
    EXPECT_EQ(said.reference, tags.reference);
  }
}

TEST(Protection, EachDamageHasItsStatus) {
  Rng rng(13, "damage");
  const ProtectionChecks all{.guard = true, .application = true, .reference = true, .storage = true};
  for (int i = 0; i < 300; ++i) {
    const BlockLayout layout = any_layout(rng);
    const ProtectionTags tags = any_tags(rng, layout);
    Bytes block(layout.bytes());
    rng.fill(block);
    protect(layout, block, tags);
    block[rng.below(layout.data_bytes)] ^= 0x10;
    EXPECT_EQ(check_protection(layout, block, all, tags), sc::guard_check_error);
    EXPECT_TRUE(check_protection(layout, block, {.application = true, .reference = true}, tags).ok());
    protect(layout, block, tags);
    ProtectionTags other = tags;
    other.application ^= 0x0100;
    EXPECT_EQ(check_protection(layout, block, all, other), sc::application_tag_check_error);
    other.application_mask = 0xFEFF;
    EXPECT_TRUE(check_protection(layout, block, all, other).ok());
    if (layout.storage_tag_bits != 0) {
      other = tags;
      other.storage ^= 1;
      EXPECT_EQ(check_protection(layout, block, all, other), sc::storage_tag_check_error);
    }
    if (layout.reference_mask() == 0) continue;
    other = tags;
    other.reference ^= 1;
    const Status status = check_protection(layout, block, all, other);
    EXPECT_EQ(status, layout.protection_type == 3 ? sc::success : sc::reference_tag_check_error);
  }
}

TEST(Protection, OnesTurnChecksOff) {
  const ProtectionChecks all{.guard = true, .application = true, .reference = true};
  for (const std::uint8_t type : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    const BlockLayout layout{.metadata_bytes = 8, .protection_type = type};
    Bytes block(layout.bytes(), 0x77);
    write_tuple(layout, block, 0, {.application = 0xFFFF, .reference = 5});
    EXPECT_EQ(check_protection(layout, block, all, {}).ok(), type != 3);
    write_tuple(layout, block, 0, {.application = 0xFFFF, .reference = 0xFFFFFFFF});
    EXPECT_TRUE(check_protection(layout, block, all, {}).ok());
  }
}

TEST(Protection, BytesOnTheWire) {
  const BlockLayout layout{.metadata_bytes = 8, .protection_type = 1};
  Bytes block(520);
  protect(layout, block, {.application = 0x1234, .reference = 0x01020304});
  EXPECT_EQ(to_hex(ByteView{block}.subspan(512)), "0000123401020304");
  const BlockLayout wide{.data_bytes = 4096, .metadata_bytes = 16, .protection_type = 1, .guard = ProtectionFormat::guard_64};
  Bytes large(4112);
  protect(wide, large, {.application = 0x1234, .reference = 0x010203040506});
  EXPECT_EQ(to_hex(ByteView{large}.subspan(4096)), "6482d367eb22b64e1234010203040506");
}

}  // namespace
}  // namespace fb::nvme
