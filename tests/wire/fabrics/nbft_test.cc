// The boot table: what is written is read again, and bytes that are none are refused with the reason.
#include "wire/fabrics/nbft.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/rng.h"

namespace fb::nbft {
namespace {

Table example() {
  Table table;
  table.oem_id = "OEM";
  table.oem_table_id = "BOOT";
  table.host_id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  table.host_nqn = "nqn.2014-08.org.nvmexpress:uuid:01020304-0506-0708-090a-0b0c0d0e0f10";
  table.host_id_configured = true;
  Interface first;
  first.mac = {2, 0, 0, 0, 0, 1};
  first.vlan = 7;
  first.origin = 3;
  first.address = IpAddress::v4(192, 0, 2, 9);
  first.prefix = 24;
  first.gateway = IpAddress::v4(192, 0, 2, 1);
  first.dhcp_server = IpAddress::v4(192, 0, 2, 2);
  first.host_name = "lab";
  first.default_route = true;
  Interface second;
  second.index = 2;
  second.address = *IpAddress::parse("2001:db8::9");
  second.prefix = 64;
  second.pci_routing_id = 0x00010203;
  second.route_metric = 500;
  table.interfaces = {first, second};
  table.services = {{1, 2, "nvme+tcp://[2001:db8::7]:8009/", "nqn.2014-08.org.nvmexpress.discovery"}};
  BootNamespace one;
  one.address = IpAddress::v4(192, 0, 2, 7);
  one.service = "4420";
  one.nqn = "nqn.2026-01.org.example:boot";
  one.port_id = 3;
  one.nsid = 270;
  one.nid_type = 3;
  one.nid = {0xAA, 0xBB};
  one.more_interfaces = {2};
  one.header_digest = true;
  one.availability = BootNamespace::Availability::available;
  one.cntlid = 38;
  one.asqsz = 31;
  BootNamespace other = one;
  other.index = 300;
  other.address = *IpAddress::parse("2001:db8::7");
  other.host_interface = 2;
  other.more_interfaces = {};
  other.discovery = 1;
  other.header_digest = false;
  other.data_digest = true;
  other.discovered = true;
  other.availability = BootNamespace::Availability::unavailable;
  other.asqsz = std::nullopt;
  other.dhcp_root_path = "nvme+tcp://192.0.2.7:4420/nqn/0";
  table.namespaces = {one, other};
  return table;
}

void seal(Bytes& bytes) {
  bytes[9] = 0;
  bytes[9] = static_cast<std::uint8_t>(-std::accumulate(bytes.begin(), bytes.end(), 0));
}

TEST(Nbft, WhatIsWrittenIsReadAgain) {
  const Table wanted = example();
  const Bytes bytes = build(wanted);
  EXPECT_EQ(std::accumulate(bytes.begin(), bytes.end(), 0u) % 256, 0u);
  EXPECT_EQ(load_le<std::uint32_t>(&bytes[4]), bytes.size());
  const auto read = parse(bytes);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->oem_id, wanted.oem_id);
  EXPECT_EQ(read->oem_table_id, wanted.oem_table_id);
  EXPECT_EQ(read->host_id, wanted.host_id);
  EXPECT_EQ(read->host_nqn, wanted.host_nqn);
  EXPECT_TRUE(read->host_id_configured);
  EXPECT_FALSE(read->host_nqn_configured);
  EXPECT_EQ(read->interfaces, wanted.interfaces);
  EXPECT_EQ(read->services, wanted.services);
  EXPECT_EQ(read->namespaces, wanted.namespaces);
  EXPECT_EQ(read->remarks, std::vector<std::string>{});
}

TEST(Nbft, ATableMayHoldNothingButAHost) {
  Table table;
  table.host_nqn = "nqn.2026-01.org.example:host";
  const auto read = parse(build(table));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->host_nqn, table.host_nqn);
  EXPECT_TRUE(read->namespaces.empty() && read->remarks.empty());
}

struct Damage {
  const char* hint;
  void (*make)(Bytes&);
  bool sealed = true;
};

TEST(Nbft, WhatIsNoTableIsRefusedWithTheReason) {
  const Damage damages[] = {
      {"too short", [](Bytes& bytes) { bytes.resize(127); }, false},
      {"signature", [](Bytes& bytes) { bytes[0] = 'X'; }},
      {"checksum", [](Bytes& bytes) { bytes[200] ^= 1; }, false},
      {"bytes", [](Bytes& bytes) { store_le<std::uint32_t>(&bytes[4], static_cast<std::uint32_t>(bytes.size() + 1)); }},
      {"revision 2", [](Bytes& bytes) { bytes[8] = 2; }},
      {"heap", [](Bytes& bytes) { store_le<std::uint32_t>(&bytes[40], 0xFFFFFFFF); }},
      {"control descriptor", [](Bytes& bytes) { bytes[64] = 9; }},
      {"host descriptor does not lie",
       [](Bytes& bytes) { store_le<std::uint32_t>(&bytes[72], static_cast<std::uint32_t>(bytes.size() - 31)); }},
      {"host descriptor does not lie", [](Bytes& bytes) { store_le<std::uint32_t>(&bytes[72], 127); }},
      {"no valid host", [](Bytes& bytes) { bytes[129] &= 0xFE; }},
  };
  for (const Damage& damage : damages) {
    Bytes bytes = build(example());
    damage.make(bytes);
    if (damage.sealed) seal(bytes);
    const auto read = parse(bytes);
    ASSERT_FALSE(read) << damage.hint;
    EXPECT_NE(read.error().text.find(damage.hint), std::string::npos) << read.error().text;
  }
}

TEST(Nbft, OneBrokenDescriptorDoesNotHideTheOthers) {
  const std::size_t first_namespace = 64 + 64 + 32 + 2 * 32;
  const std::pair<const char*, void (*)(Bytes&, std::size_t)> damages[] = {
      {"structure ID", [](Bytes& bytes, std::size_t at) { bytes[at] = 9; }},
      {"transport type 1", [](Bytes& bytes, std::size_t at) { bytes[at + 5] = 1; }},
      {"its address", [](Bytes& bytes, std::size_t at) { bytes[at + 14] = 4; }},
      {"does not lie in the heap", [](Bytes& bytes, std::size_t at) { store_le<std::uint32_t>(&bytes[at + 54], 64); }},
  };
  for (const auto& [hint, make] : damages) {
    Bytes bytes = build(example());
    make(bytes, first_namespace);
    seal(bytes);
    const auto read = parse(bytes);
    ASSERT_TRUE(read) << hint;
    ASSERT_EQ(read->namespaces.size(), 1u) << hint;
    EXPECT_EQ(read->namespaces[0].index, 300);
    ASSERT_FALSE(read->remarks.empty());
    EXPECT_NE(read->remarks[0].find("namespace descriptor 1"), std::string::npos) << read->remarks[0];
    EXPECT_TRUE(std::ranges::any_of(read->remarks, [&](const std::string& one) { return one.find(hint) != std::string::npos; })) << hint;
  }
}

TEST(Nbft, LongerDescriptorsOfLaterRevisionsAreRead) {
  // The list of services is the last before the heap: its descriptors become 40 bytes long.
  Bytes bytes = build(example());
  Table two = example();
  two.services.push_back(two.services[0]);
  two.services[1].index = 2;
  bytes = build(two);
  const std::uint32_t list = load_le<std::uint32_t>(&bytes[64 + 40]);
  const Bytes first(bytes.begin() + list, bytes.begin() + list + 32);
  // The second descriptor is overwritten by what a longer first one has at its end: the stride alone tells.
  store_le<std::uint16_t>(&bytes[64 + 44], 64);
  bytes[64 + 47] = 1;
  seal(bytes);
  const auto read = parse(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->services, example().services);
}

TEST(Nbft, AnyByteMayBeWrong) {
  const Bytes whole = build(example());
  Rng rng(1, "nbft");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Bytes bytes = whole;
    bytes[at] = static_cast<std::uint8_t>(rng.next());
    seal(bytes);
    const auto read = parse(bytes);
    if (read) {
      EXPECT_LE(read->namespaces.size(), 255u);
    }
  }
  for (std::size_t length = 0; length < whole.size(); ++length) EXPECT_FALSE(parse(ByteView(whole).first(length)));
}

}  // namespace
}  // namespace fb::nbft
