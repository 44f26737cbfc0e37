#include <gtest/gtest.h>

#include "tests/wire/nvme/places.h"
#include "wire/fabrics/discovery_log.h"

namespace fb::fabrics {
namespace {

TEST(Discovery, Places) {
  expect_places<DiscoveryHeader>({{"genctr", 0, 8}, {"numrec", 8, 8}, {"recfmt", 16, 2}, {"dlpf", 18, 1}, {"tdlpl", 20, 4}});
  expect_places<RdmaDiscoveryEntry>({{"trtype", 0, 1},
                                     {"adrfam", 1, 1},
                                     {"subtype", 2, 1},
                                     {"treq", 3, 1},
                                     {"portid", 4, 2},
                                     {"cntlid", 6, 2},
                                     {"asqsz", 8, 2},
                                     {"eflags", 10, 2},
                                     {"trsvcid", 32, 32},
                                     {"subnqn", 256, 256},
                                     {"traddr", 512, 256},
                                     {"qptype", 768, 1},
                                     {"prtype", 769, 1},
                                     {"cms", 770, 1},
                                     {"pkey", 776, 2}});
  expect_places<TcpDiscoveryEntry>({{"sectype", 768, 1}});
}

TEST(Discovery, EntriesFollowTheHeader) {
  Bytes log(3 * 1024);
  MutableView<DiscoveryEntry>{MutableBytes{log}.subspan(2048)}.set(discovery_entry::portid, 7);
  EXPECT_EQ(View<DiscoveryEntry>{discovery_entry_at(log, 1)}.get(discovery_entry::portid), 7);
  EXPECT_TRUE(discovery_entry_at(log, 2).empty());
  EXPECT_TRUE(discovery_entry_at(log, ~std::uint64_t{0}).empty());
  EXPECT_TRUE(discovery_entry_at(ByteView{log}.first(2047), 0).empty());
  EXPECT_TRUE(discovery_entry_at({}, 0).empty());
}

TEST(Discovery, Ports) {
  Record<DiscoveryEntry> entry;
  set_text(entry, discovery_entry::trsvcid, "4420", ' ');
  EXPECT_EQ(decimal_port(entry.get(discovery_entry::trsvcid)), 4420);
  set_text(entry, discovery_entry::trsvcid, "4420", '\0');
  EXPECT_EQ(decimal_port(entry.get(discovery_entry::trsvcid)), 4420);
  for (const char* text : {"", "44a0", "65536", " 4420", "-1", "0", "99999999999999999999"}) {
    set_text(entry, discovery_entry::trsvcid, text, ' ');
    EXPECT_EQ(decimal_port(entry.get(discovery_entry::trsvcid)), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace fb::fabrics
