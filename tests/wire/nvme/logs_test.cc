#include "wire/nvme/logs.h"

#include <gtest/gtest.h>

#include "tests/wire/nvme/places.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/reservation.h"

namespace fb::nvme {
namespace {

TEST(Logs, Places) {
  expect_places<ErrorEntry>({{"error_count", 0, 8},
                             {"sqid", 8, 2},
                             {"cid", 10, 2},
                             {"status", 12, 2},
                             {"pel", 14, 2},
                             {"lba", 16, 8},
                             {"nsid", 24, 4},
                             {"vsia", 28, 1},
                             {"trtype", 29, 1},
                             {"csinfo", 32, 8},
                             {"ttsi", 40, 2}});
  expect_places<SmartLog>({{"cw", 0, 1},
                           {"ctemp", 1, 2},
                           {"avsp", 3, 1},
                           {"avspt", 4, 1},
                           {"pused", 5, 1},
                           {"dur", 32, 16},
                           {"hrc", 64, 16},
                           {"hwc", 80, 16},
                           {"poh", 128, 16},
                           {"neile", 176, 16},
                           {"wctt", 192, 4},
                           {"tsen", 200, 16},
                           {"ttftmt2", 228, 4}});
  expect_places<SelfTestResult>({{"segment", 1, 1}, {"poh", 4, 8}, {"nsid", 12, 4}, {"flba", 16, 8}, {"sct", 24, 1}, {"sc", 25, 1}});
  expect_places<SanitizeLog>({{"sprog", 0, 2}, {"scdw10", 4, 4}, {"eto", 8, 4}, {"etcend", 28, 4}});
  expect_places<ReservationNotification>({{"lpc", 0, 8}, {"rnlpt", 8, 1}, {"nalp", 9, 1}, {"nsid", 12, 4}});
  expect_places<RegisteredController>({{"cntlid", 0, 2}, {"rkey", 8, 8}, {"hostid", 16, 16}});
  expect_places<ShortRegisteredController>({{"cntlid", 0, 2}, {"hostid", 8, 8}, {"rkey", 16, 8}});
  EXPECT_EQ(ShortReservationStatus::size, 24u);
  expect_places<ReservationStatus>({{"gen", 0, 4}, {"rtype", 4, 1}, {"regstrnt", 5, 2}, {"ptpls", 9, 1}});
}

TEST(Logs, EffectBits) {
  Record<CommandEffects> log;
  edit_element<CommandEffect>(log.mutable_bytes(), command_effects::iocs, 1)
      .set(command_effect::csupp, true)
      .set(command_effect::lbcc, true)
      .set(command_effect::cse, SubmissionRule::alone);
  EXPECT_EQ(to_hex(log.bytes().subspan(1024 + 4, 4)), "03000200");
  Record<FeatureEffect> feature;
  feature.set(feature_effect::fsupp, true).set(feature_effect::fsp, scope_bits::controller);
  EXPECT_EQ(integer_of(feature), 0x00200001u);
  Record<SupportedPage> page;
  page.set(supported_page::lsupp, true).set(supported_page::lidsp, 3);
  EXPECT_EQ(integer_of(page), 0x00030001u);
}

TEST(Logs, SmartCounters) {
  Record<SmartLog> log;
  set_counter(log, smart::hrc, 0x1122334455667788);
  EXPECT_EQ(to_hex(log.get(smart::hrc)),
            "8877665544332211"
            "0000000000000000");
}

AnaGroup group(std::uint32_t id, AnaState state, std::vector<std::uint32_t> namespaces) { return {id, state, 7, std::move(namespaces)}; }

TEST(Ana, LogBytes) {
  const std::vector<AnaGroup> groups = {group(1, AnaState::optimized, {1, 2})};
  EXPECT_EQ(to_hex(make_ana_log(3, groups)),
            "0300000000000000"
            "0100"
            "000000000000"
            "01000000"
            "02000000"
            "0700000000000000"
            "01"
            "000000000000000000000000000000"
            "01000000"
            "02000000");
  EXPECT_EQ(make_ana_log(3, groups, true).size(), 48u);
}

TEST(Ana, WalkReadsWhatWasMade) {
  const std::vector<AnaGroup> groups = {group(1, AnaState::optimized, {1, 2}), group(9, AnaState::change, {}),
                                        group(10, AnaState::inaccessible, {3})};
  const Bytes log = make_ana_log(3, groups);
  AnaWalk walk{log};
  AnaGroup read;
  for (const AnaGroup& expected : groups) {
    ASSERT_TRUE(walk.next(read));
    EXPECT_EQ(read.id, expected.id);
    EXPECT_EQ(read.state, expected.state);
    EXPECT_EQ(read.namespaces, expected.namespaces);
  }
  EXPECT_FALSE(walk.next(read));
  EXPECT_FALSE(walk.damaged());
  EXPECT_EQ(walk.change_count(), 3u);
}

TEST(Ana, WalkSurvivesEveryCutAndAHugeCount) {
  const std::vector<AnaGroup> groups = {group(1, AnaState::optimized, {1, 2})};
  Bytes log = make_ana_log(3, groups);
  AnaGroup read;
  for (std::size_t size = 0; size < log.size(); ++size) {
    AnaWalk walk{ByteView{log}.first(size)};
    while (walk.next(read)) {
    }
    EXPECT_TRUE(walk.damaged()) << size;
  }
  store_le(log.data() + 16 + 4, std::uint32_t{0xFFFFFFFF});
  AnaWalk walk{log};
  EXPECT_FALSE(walk.next(read));
  EXPECT_TRUE(walk.damaged());
}

TEST(Lists, Namespaces) {
  Bytes data(kIdentifySize, 0xFF);
  const std::vector<std::uint32_t> ids = {1, 5, 0x01020304};
  write_namespace_list(data, ids);
  EXPECT_EQ(to_hex(ByteView{data}.first(16)),
            "01000000"
            "05000000"
            "04030201"
            "00000000");
  EXPECT_EQ(read_namespace_list(data), ids);
  EXPECT_EQ(read_namespace_list(ByteView{data}.first(7)), (std::vector<std::uint32_t>{1}));
  const std::vector<std::uint32_t> many(2000, 9);
  write_namespace_list(data, many);
  EXPECT_EQ(read_namespace_list(data).size(), kNamespaceListMax);
}

TEST(Lists, Controllers) {
  Bytes data(kIdentifySize, 0xFF);
  const std::vector<std::uint16_t> ids = {1, 0x0203};
  write_controller_list(data, ids);
  EXPECT_EQ(to_hex(ByteView{data}.first(8)),
            "0200"
            "0100"
            "0302"
            "0000");
  EXPECT_EQ(read_controller_list(data), ids);
  data[0] = data[1] = 0xFF;  // a count larger than the data
  EXPECT_EQ(read_controller_list(data).size(), kControllerListMax);
  EXPECT_TRUE(read_controller_list(Bytes{1}).empty());
}

TEST(Lists, NamespaceDescriptors) {
  Bytes data(kIdentifySize);
  std::size_t at = 0;
  EXPECT_TRUE(append_namespace_id(data, at, NamespaceIdType::uuid, Bytes(16, 0xA5)));
  EXPECT_TRUE(append_namespace_id(data, at, NamespaceIdType::csi, Bytes{0}));
  EXPECT_EQ(at, 25u);
  EXPECT_EQ(to_hex(ByteView{data}.first(26)),
            "03100000"
            "a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5"
            "04010000"
            "00"
            "00");
  NamespaceIdWalk walk{data};
  NamespaceId id;
  ASSERT_TRUE(walk.next(id));
  EXPECT_EQ(id.type, NamespaceIdType::uuid);
  EXPECT_EQ(id.id.size(), namespace_id_length(id.type));
  ASSERT_TRUE(walk.next(id));
  EXPECT_EQ(id.type, NamespaceIdType::csi);
  EXPECT_FALSE(walk.next(id));
  EXPECT_FALSE(walk.damaged());

  at = kIdentifySize - 5;
  EXPECT_FALSE(append_namespace_id(data, at, NamespaceIdType::eui64, Bytes(8)));
  EXPECT_EQ(at, kIdentifySize - 5);

  const Bytes cut = from_hex(
      "01080000"
      "0011");
  NamespaceIdWalk damaged{cut};
  EXPECT_FALSE(damaged.next(id));
  EXPECT_TRUE(damaged.damaged());
}

TEST(Lists, CommandSetCombinations) {
  Bytes data(kIdentifySize);
  set_command_set_combination(data, 511, 5);
  EXPECT_EQ(data[4088], 5);
  EXPECT_EQ(command_set_combination(data, 511), 5u);
  EXPECT_THROW(command_set_combination(data, 512), AssertionFailure);
}

TEST(Features, DwordBits) {
  EXPECT_EQ(integer_of(Record<NumberOfQueues>{}
                           .set(number_of_queues::nsqr, ZeroBased<std::uint16_t>::of(8))
                           .set(number_of_queues::ncqr, ZeroBased<std::uint16_t>::of(4))),
            0x00030007u);
  EXPECT_EQ(integer_of(Record<TemperatureThreshold>{}
                           .set(temperature_threshold::tmpth, 343)
                           .set(temperature_threshold::tmpsel, 2)
                           .set(temperature_threshold::thsel, 1)),
            0x00120157u);
  EXPECT_EQ(integer_of(Record<Arbitration>{}.set(arbitration::ab, 7).set(arbitration::hpw, 1)), 0x01000007u);
  EXPECT_EQ(integer_of(Record<ReservationMask>{}.set(reservation_mask::respre, true)), 8u);
  EXPECT_EQ(integer_of(Record<ErrorRecovery>{}.set(error_recovery::dulbe, true)), 0x10000u);
}

TEST(Events, Dw0) {
  constexpr Event ana{EventType::notice, event_info::notice_ana_change, static_cast<std::uint8_t>(LogPage::ana)};
  static_assert(ana.dw0() == 0x000C0302);
  static_assert(Event::from_dw0(0x000C0302) == ana);
  EXPECT_EQ(to_string(ana), "ANA change (2/03h, log 0Ch)");
  Record<EventReply> reply;
  reply.set(event_reply::type, ana.type).set(event_reply::info, ana.info).set(event_reply::lid, ana.lid);
  EXPECT_EQ(Cqe{reply.bytes()}.get(cqe::dw0), ana.dw0());
}

TEST(Names, OfSelectors) {
  EXPECT_EQ(log_page_name(0x02), "SMART / Health Information");
  EXPECT_EQ(log_page_name(0x55), "Reserved");
  EXPECT_EQ(log_page_name(0xC1), "Vendor Specific");
  EXPECT_EQ(feature_name(0x07), "Number of Queues");
  EXPECT_EQ(cns_name(0x1C), "I/O Command Set Combinations");
}

}  // namespace
}  // namespace fb::nvme
