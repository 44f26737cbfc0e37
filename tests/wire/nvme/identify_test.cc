#include <gtest/gtest.h>

#include "tests/wire/nvme/places.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"

namespace fb::nvme {
namespace {

TEST(IdentifyController, Places) {
  expect_places<IdentifyController>(
      {{"vid", 0, 2},         {"ssvid", 2, 2},      {"sn", 4, 20},       {"mn", 24, 40},        {"fr", 64, 8},        {"rab", 72, 1},
       {"ieee", 73, 3},       {"cmic", 76, 1},      {"mdts", 77, 1},     {"cntlid", 78, 2},     {"ver", 80, 4},       {"rtd3r", 84, 4},
       {"rtd3e", 88, 4},      {"oaes", 92, 4},      {"ctratt", 96, 4},   {"cntrltype", 111, 1}, {"fguid", 112, 16},   {"crdt1", 128, 2},
       {"crdt3", 132, 2},     {"mec", 255, 1},      {"oacs", 256, 2},    {"acl", 258, 1},       {"aerl", 259, 1},     {"frmw", 260, 1},
       {"lpa", 261, 1},       {"elpe", 262, 1},     {"npss", 263, 1},    {"wctemp", 266, 2},    {"cctemp", 268, 2},   {"tnvmcap", 280, 16},
       {"unvmcap", 296, 16},  {"kas", 320, 2},      {"sanicap", 328, 4}, {"anatt", 342, 1},     {"anacap", 343, 1},   {"anagrpmax", 344, 4},
       {"nanagrpid", 348, 4}, {"domainid", 356, 2}, {"megcap", 368, 16}, {"cqt", 386, 2},       {"sqes_min", 512, 1}, {"cqes_max", 513, 1},
       {"maxcmd", 514, 2},    {"nn", 516, 4},       {"oncs", 520, 2},    {"fuses", 522, 2},     {"fna", 524, 1},      {"vwc", 525, 1},
       {"awun", 526, 2},      {"awupf", 528, 2},    {"nwpc", 531, 1},    {"acwu", 532, 2},      {"cdfs", 534, 2},     {"sgls", 536, 4},
       {"mnan", 540, 4},      {"subnqn", 768, 256}, {"ioccsz", 1792, 4}, {"iorcsz", 1796, 4},   {"icdoff", 1800, 2},  {"fcatt", 1802, 1},
       {"msdbd", 1803, 1},    {"ofcs", 1804, 2},    {"dctype", 1806, 1}, {"psd", 2048, 1024},   {"vs", 3072, 1024}});
}

TEST(IdentifyNamespace, Places) {
  expect_places<IdentifyNamespace>({{"nsze", 0, 8},       {"ncap", 8, 8},     {"nuse", 16, 8},    {"nsfeat", 24, 1},   {"nlbaf", 25, 1},
                                    {"flbas_low", 26, 1}, {"mc", 27, 1},      {"dpc", 28, 1},     {"dps", 29, 1},      {"nmic", 30, 1},
                                    {"rescap", 31, 1},    {"dlfeat", 33, 1},  {"nvmcap", 48, 16}, {"npwg", 64, 2},     {"nows", 72, 2},
                                    {"mssrl", 74, 2},     {"mcl", 76, 4},     {"msrc", 80, 1},    {"anagrpid", 92, 4}, {"nsattr", 99, 1},
                                    {"nvmsetid", 100, 2}, {"endgid", 102, 2}, {"nguid", 104, 16}, {"eui64", 120, 8},   {"lbaf", 128, 256},
                                    {"vs", 384, 3712}});
  expect_places<IdentifyNamespaceNvm>({{"lbstm", 0, 8}, {"pic", 8, 1}, {"elbaf", 12, 256}});
  expect_places<IdentifyNamespaceIndependent>({{"nsfeat", 0, 1},
                                               {"nmic", 1, 1},
                                               {"rescap", 2, 1},
                                               {"fpi", 3, 1},
                                               {"anagrpid", 4, 4},
                                               {"nsattr", 8, 1},
                                               {"nvmsetid", 10, 2},
                                               {"endgid", 12, 2},
                                               {"nstat", 14, 1}});
  expect_places<IdentifyControllerNvm>({{"vsl", 0, 1}, {"wzsl", 1, 1}, {"wusl", 2, 1}, {"dmrl", 3, 1}, {"dmrsl", 4, 4}, {"dmsl", 8, 8}});
}

TEST(IdentifyNamespace, FormatsAreElements) {
  Bytes data(kIdentifySize);
  edit_lba_format(data, 63).set(lba_format::ms, 8).set(lba_format::lbads, 12);
  EXPECT_EQ(to_hex(ByteView{data}.subspan(128 + 63 * 4, 4)), "08000c00");
  EXPECT_EQ(lba_format_at(data, 63).get(lba_format::lbads), 12);
  EXPECT_THROW(lba_format_at(data, 64), AssertionFailure);
  data[26] = 0x3F | 0x40;  // high bits 11b, extended, low 1111b
  EXPECT_EQ(format_in_use(data), 63u);
  data[26] = 0x20;
  EXPECT_EQ(format_in_use(data), 16u);
}

TEST(IdentifyNamespace, ExtendedFormatBits) {
  Bytes data(kIdentifySize);
  edit_element<ExtendedLbaFormat>(data, id_ns_nvm::elbaf, 1)
      .set(extended_lba_format::sts, 0x30)
      .set(extended_lba_format::pif, ProtectionFormat::guard_64);
  EXPECT_EQ(to_hex(ByteView{data}.subspan(16, 4)), "30010000");
}

TEST(IdentifyController, TextsArePadded) {
  Record<IdentifyController> data;
  set_text(data, id_ctrl::sn, "FB1", ' ');
  EXPECT_EQ(to_hex(data.get(id_ctrl::sn)),
            "46423120"
            "20202020202020202020202020202020");
  EXPECT_EQ(text_of(data.get(id_ctrl::sn)), "FB1");
  element<PowerState>(data.bytes(), id_ctrl::psd, 31);
  EXPECT_THROW(element<PowerState>(data.bytes(), id_ctrl::psd, 32), AssertionFailure);
}

}  // namespace
}  // namespace fb::nvme
