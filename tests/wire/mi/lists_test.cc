#include <gtest/gtest.h>

#include "wire/mi/basic.h"
#include "wire/mi/events.h"
#include "wire/mi/vpd.h"

namespace fb::mi {
namespace {

TEST(Events, EnableList) {
  const std::vector<EventState> events = {{0x06, true}, {0x09, false}};
  const Bytes made = make_event_list(events);
  EXPECT_EQ(to_hex(made),
            "02000b0005"
            "030680"
            "030900");
  std::optional<ListFault> fault;
  EXPECT_EQ(parse_event_list(made, fault), events);
  EXPECT_FALSE(fault);
  EXPECT_EQ(to_hex(make_event_list({})), "0000050005");
}

TEST(Events, EnableListFaults) {
  const Bytes good = make_event_list({{1, true}});
  const std::tuple<std::size_t, std::uint8_t, std::size_t> cases[] = {{0, 2, 0}, {0, 0, 0}, {1, 1, 1}, {2, 9, 2}, {4, 6, 4}, {5, 4, 5}};
  for (const auto& [at, value, expected] : cases) {
    Bytes bad = good;
    bad[at] = value;
    std::optional<ListFault> fault;
    EXPECT_TRUE(parse_event_list(bad, fault).empty());
    ASSERT_TRUE(fault) << at;
    EXPECT_EQ(fault->offset, expected) << fault->what;
  }
  std::optional<ListFault> fault;
  (void)parse_event_list(ByteView{good}.first(4), fault);
  EXPECT_TRUE(fault);
}

TEST(Events, OccurrenceList) {
  OccurrenceList list;
  list.generation = 3;
  list.retry = 1;
  list.items = {{0x00, 2, EventScope::controller, {}}, {0x06, 0, EventScope::subsystem, {0xAA, 0xBB}}};
  const Bytes made = make_occurrence_list(list);
  EXPECT_EQ(to_hex(made),
            "02001b00000719"
            "090000000200000001"
            "0902000600000000"
            "00aabb");
  std::optional<ListFault> fault;
  const OccurrenceList read = parse_occurrence_list(made, fault);
  ASSERT_FALSE(fault);
  EXPECT_EQ(read.generation, 3);
  EXPECT_EQ(read.retry, 1);
  EXPECT_EQ(read.items, list.items);
  for (std::size_t size = 0; size < made.size(); ++size) {
    (void)parse_occurrence_list(ByteView{made}.first(size), fault);
    EXPECT_TRUE(fault) << size;
  }
}

TEST(Vpd, FactoryImage) {
  VpdFacts facts;
  facts.serial = "FB0000000001";
  facts.capacity_bytes = 0x123456789A;
  const Bytes image = make_vpd(facts);
  ASSERT_EQ(image.size(), 256u);
  EXPECT_EQ(to_hex(ByteView{image}.first(8)), "01000000011000ee");
  const auto fault = check_vpd(image);
  EXPECT_FALSE(fault) << fault->what;
  const auto texts = vpd_product_texts(image);
  ASSERT_EQ(texts.size(), 7u);
  EXPECT_EQ(texts[0], "fbench");
  EXPECT_EQ(texts[4], "FB0000000001");
  const auto records = vpd_records(image);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].size(), 64u);
  const View<NvmeRecord> nvme{records[0]};
  EXPECT_EQ(nvme.get(record::type), RecordType::nvme);
  EXPECT_EQ(nvme.get(record::length), 0x3B);
  EXPECT_EQ(to_hex(ByteView{nvme.get(nvme_record::capacity)}.first(6)), "9a7856341200");
  EXPECT_EQ(View<PciePortRecord>{records[1]}.get(record::length), 0x0B);
  EXPECT_TRUE(View<PciePortRecord>{records[1]}.get(record::last));
}

TEST(Vpd, TopologyAndNoPorts) {
  VpdFacts facts;
  facts.ports.clear();
  facts.topology = {{7, 0, {1, 2, 3}}, {4, 1, {}}};
  facts.size = 512;
  const Bytes image = make_vpd(facts);
  EXPECT_FALSE(check_vpd(image));
  const auto records = vpd_records(image);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(to_hex(records[1].subspan(5)),
            "000002"
            "070006010203"
            "040103");
}

// Every byte that a checksum covers is covered: a change anywhere in header, product area or records shows.
TEST(Vpd, EveryChangeShows) {
  const Bytes image = make_vpd({});
  std::size_t end = 128;
  for (const ByteView record : vpd_records(image)) end += record.size();
  for (std::size_t at = 0; at < end; ++at) {
    Bytes changed = image;
    changed[at] = static_cast<std::uint8_t>(changed[at] + 1);
    EXPECT_TRUE(check_vpd(changed)) << at;
  }
}

TEST(Vpd, AnyBytesCanBeChecked) {
  for (std::size_t size = 0; size < 300; ++size) {
    for (const unsigned fill : {0x00u, 0x01u, 0x10u, 0xFFu}) {
      const Bytes bytes(size, static_cast<std::uint8_t>(fill));
      (void)check_vpd(bytes);
      (void)vpd_records(bytes);
      (void)vpd_product_texts(bytes);
    }
  }
}

TEST(Basic, Bits) {
  Record<BasicStatus> status;
  status.set(basic_status::length, 6u).set(basic_status::ones, 3u).set(basic_status::df, true);
  status.set(basic_status::rnr, true).set(basic_status::p0la, true);
  EXPECT_EQ(to_hex(status.view().bytes().first(2)), "063b");
}

}  // namespace
}  // namespace fb::mi
