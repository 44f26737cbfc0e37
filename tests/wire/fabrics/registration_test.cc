#include "wire/fabrics/registration.h"

#include <gtest/gtest.h>

namespace fb::fabrics {
namespace {

namespace de = discovery_entry;
namespace ee = extended_entry;
namespace rg = registration;

Bytes basic(std::uint16_t portid, std::string_view traddr) {
  Record<DiscoveryEntry> entry;
  entry.set(de::trtype, TransportType::tcp).set(de::adrfam, AddressFamily::ipv4).set(de::portid, portid);
  set_text(entry, de::traddr, traddr, ' ');
  return Bytes(entry.bytes().begin(), entry.bytes().end());
}

TEST(Registration, an_entry_is_extended_by_its_attributes) {
  const Attribute attributes[] = {{AttributeType::host_identifier, Bytes(16, 7)}, label("abcde")};
  const Bytes entry = extended(basic(1, "192.0.2.1"), attributes);
  // 1,032 bytes, four and sixteen, four and eight.
  ASSERT_EQ(entry.size(), 1032u + 20 + 12);
  EXPECT_EQ(load_le<std::uint32_t>(&entry[1024]), entry.size());
  EXPECT_EQ(load_le<std::uint16_t>(&entry[1028]), 2u);
  EXPECT_EQ(load_le<std::uint16_t>(&entry[1032]), 1u);
  EXPECT_EQ(load_le<std::uint16_t>(&entry[1034]), 16u);
  EXPECT_EQ(entry[1036], 7u);
  EXPECT_EQ(load_le<std::uint16_t>(&entry[1052]), 2u);
  EXPECT_EQ(load_le<std::uint16_t>(&entry[1054]), 8u);
  const auto found = attributes_of(entry);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, std::vector<Attribute>(std::begin(attributes), std::end(attributes)));
}

TEST(Registration, attributes_that_do_not_fill_their_entry_are_none) {
  const Attribute one = label("abcd");
  Bytes entry = extended(basic(1, "192.0.2.1"), {&one, 1});
  EXPECT_FALSE(attributes_of(ByteView{entry}.first(entry.size() - 4)).has_value());
  entry[1028] = 2;
  EXPECT_FALSE(attributes_of(entry).has_value());
  entry[1028] = 1;
  entry[1034] = 8;
  EXPECT_FALSE(attributes_of(entry).has_value());
  EXPECT_FALSE(attributes_of(basic(1, "")).has_value());
}

TEST(Registration, a_key_has_the_address_or_the_port) {
  const Bytes one = basic(1, "192.0.2.1"), other_port = basic(2, "192.0.2.1"), other_address = basic(1, "192.0.2.2");
  EXPECT_TRUE(same_key(one, other_port, EntryKeyType::address));
  EXPECT_FALSE(same_key(one, other_port, EntryKeyType::port_id));
  EXPECT_FALSE(same_key(one, other_address, EntryKeyType::address));
  EXPECT_TRUE(same_key(one, other_address, EntryKeyType::port_id));
}

TEST(Registration, the_data_counts_its_entries) {
  RegistrationData data{.entfmt = EntryFormat::basic, .etype = EntityType::direct, .eid = "nqn.2026-11.org.example:ddc"};
  data.entries = {basic(1, "192.0.2.1"), basic(2, "192.0.2.1")};
  const Bytes bytes = data.bytes();
  ASSERT_EQ(bytes.size(), 3072u);
  EXPECT_EQ(load_le<std::uint32_t>(&bytes[0]), 3072u);
  EXPECT_EQ(load_le<std::uint64_t>(&bytes[8]), 2u);
  EXPECT_EQ(load_le<std::uint16_t>(&bytes[16]), 1u);
  EXPECT_EQ(load_le<std::uint16_t>(&bytes[18]), 2u);
  EXPECT_EQ(bytes[20], 0u);
  EXPECT_EQ(load_le<std::uint16_t>(&bytes[22]), 0x5Fu);
  EXPECT_EQ(bytes[24], 'n');
  EXPECT_EQ(entry_length(bytes, 1024, EntryFormat::basic), 1024u);
  EXPECT_EQ(entry_length(bytes, 2560, EntryFormat::basic), 0u);
  EXPECT_EQ(entry_length(bytes, 1024, EntryFormat::extended), 0u);
}

}  // namespace
}  // namespace fb::fabrics
