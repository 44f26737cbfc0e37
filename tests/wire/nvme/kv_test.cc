// The Key Value command set on the wire: places of fields, keys in commands, and lists of keys.
#include "wire/nvme/kv.h"

#include <gtest/gtest.h>

namespace fb::nvme {
namespace {

KvKey numbered(std::size_t length) {
  Bytes bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::uint8_t>(0x10 + i);
  return KvKey::of(bytes);
}

TEST(KeyValue, opcodes_stand_where_the_command_set_has_them) {
  EXPECT_EQ(opcode_of(KvOpcode::store), 0x01);
  EXPECT_EQ(opcode_of(KvOpcode::retrieve), 0x02);
  EXPECT_EQ(opcode_of(KvOpcode::list), 0x06);
  EXPECT_EQ(opcode_of(KvOpcode::remove), 0x10);
  EXPECT_EQ(opcode_of(KvOpcode::exist), 0x14);
  EXPECT_EQ(kv_opcode_name(0x10), "Delete");
  EXPECT_TRUE(kv_opcode_name(0x05).empty());
}

TEST(KeyValue, the_bytes_of_a_key_are_in_dwords_2_3_14_and_15) {
  Record<KvSqe> sqe;
  set_key(sqe, numbered(16));
  const ByteView bytes = sqe.bytes();
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(bytes[8 + i], 0x10 + i);
    EXPECT_EQ(bytes[56 + i], 0x18 + i);
  }
  EXPECT_EQ(bytes[44], 16);
  EXPECT_EQ(key_of(View<KvSqe>{bytes}), numbered(16));
}

TEST(KeyValue, a_key_is_as_long_as_the_command_says) {
  Record<KvSqe> sqe;
  set_key(sqe, numbered(16));
  sqe.set(kv_sqe::kl, 3u);
  EXPECT_EQ(key_of(View<KvSqe>{sqe.bytes()}), numbered(3));
  sqe.set(kv_sqe::kl, 200u);
  EXPECT_EQ(key_of(View<KvSqe>{sqe.bytes()}), numbered(16));
}

TEST(KeyValue, sizes_and_options_are_in_dwords_10_and_11) {
  Record<KvSqe> sqe;
  sqe.set(kv_sqe::size, 0x01020304u).set(kv_sqe::kl, 5u).set(kv_sqe::options, store_bits::must_not_exist);
  EXPECT_EQ(load_le<std::uint32_t>(sqe.bytes().data() + 40), 0x01020304u);
  EXPECT_EQ(load_le<std::uint32_t>(sqe.bytes().data() + 44), 1u << 9 | 5u);
}

TEST(KeyValue, the_page_of_a_namespace_has_the_places_of_the_specification) {
  EXPECT_EQ(id_ns_kv::nsze.offset, 0u);
  EXPECT_EQ(id_ns_kv::nuse.offset, 16u);
  EXPECT_EQ(id_ns_kv::nsfeat.offset, 24u);
  EXPECT_EQ(id_ns_kv::nkvf.offset, 25u);
  EXPECT_EQ(id_ns_kv::nmic.offset, 26u);
  EXPECT_EQ(id_ns_kv::rescap.offset, 27u);
  EXPECT_EQ(id_ns_kv::fpi.offset, 28u);
  EXPECT_EQ(id_ns_kv::novg.offset, 32u);
  EXPECT_EQ(id_ns_kv::anagrpid.offset, 36u);
  EXPECT_EQ(id_ns_kv::nsattr.offset, 43u);
  EXPECT_EQ(id_ns_kv::nvmsetid.offset, 44u);
  EXPECT_EQ(id_ns_kv::endgid.offset, 46u);
  EXPECT_EQ(id_ns_kv::nguid.offset, 48u);
  EXPECT_EQ(id_ns_kv::eui64.offset, 64u);
  EXPECT_EQ(id_ns_kv::kvf.offset, 72u);
  EXPECT_EQ(id_ns_kv::kvf.offset + id_ns_kv::kvf.size, 328u);
  EXPECT_EQ(kv_format::vml.offset, 4u);
  EXPECT_EQ(kv_format::mnk.offset, 8u);
  EXPECT_EQ(KvFormat::size, 16u);
}

TEST(KeyValue, keys_differ_by_length_and_by_their_last_byte) {
  const std::uint8_t zero[] = {1, 0};
  EXPECT_NE(KvKey::of(ByteView{zero}.first(1)), KvKey::of(zero));
  KvKey other = numbered(16);
  other.bytes[15] ^= 1;
  EXPECT_NE(other, numbered(16));
}

TEST(KeyValue, a_list_is_read_as_it_was_written) {
  const std::vector<KvKey> keys = {numbered(1), numbered(2), numbered(3), numbered(16)};
  Bytes list(100, 0xFF);
  EXPECT_EQ(write_kv_list(list, keys), 4u);
  const KvList read = read_kv_list(list);
  EXPECT_TRUE(read.whole);
  EXPECT_EQ(read.count, 4u);
  EXPECT_EQ(read.keys, keys);
  // Lengths stand at multiples of 4 bytes.
  EXPECT_EQ(load_le<std::uint16_t>(list.data() + 4), 1);
  EXPECT_EQ(load_le<std::uint16_t>(list.data() + 8), 2);
  EXPECT_EQ(load_le<std::uint16_t>(list.data() + 12), 3);
  EXPECT_EQ(load_le<std::uint16_t>(list.data() + 20), 16);
}

TEST(KeyValue, a_list_has_keys_that_fit_and_no_other) {
  const std::vector<KvKey> keys = {numbered(4), numbered(2), numbered(4)};
  Bytes exact(4 + 8 + 4);
  EXPECT_EQ(write_kv_list(exact, keys), 2u);
  Bytes short_by_one(4 + 8 + 3);
  EXPECT_EQ(write_kv_list(short_by_one, keys), 1u);
  Bytes header(4);
  EXPECT_EQ(write_kv_list(header, keys), 0u);
  Bytes nothing;
  EXPECT_EQ(write_kv_list(nothing, keys), 0u);
}

TEST(KeyValue, a_list_that_promises_more_is_not_whole) {
  Bytes list(16);
  write_kv_list(list, {numbered(4)});
  store_le(list.data(), std::uint32_t{9});
  EXPECT_FALSE(read_kv_list(list).whole);
  store_le(list.data() + 4, std::uint16_t{17});
  EXPECT_TRUE(read_kv_list(list).keys.empty());
  EXPECT_TRUE(read_kv_list(ByteView{list}.first(3)).keys.empty());
}

}  // namespace
}  // namespace fb::nvme
