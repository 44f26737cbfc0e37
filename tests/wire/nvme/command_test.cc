#include <gtest/gtest.h>

#include "wire/nvme/sqe.h"

namespace fb::nvme {
namespace {

// A keyed descriptor as a Linux host sends it: address, 24-bit length, key, 4Fh.
TEST(Sgl, KeyedDescriptorBytes) {
  constexpr SglDescriptor made = SglDescriptor::keyed(0x00000001A2B3C000, 0x001000, 0x80706050, true);
  EXPECT_EQ(to_hex(made.bytes()),
            "00c0b3a201000000"
            "001000"
            "50607080"
            "4f");
  EXPECT_EQ(SglDescriptor::parse(made.bytes()), made);
  static_assert(SglDescriptor::keyed(0, 0, 0).type_byte() == 0x40);
  static_assert(SglDescriptor::in_capsule(0, 4096).type_byte() == 0x01);
  static_assert(SglDescriptor::list_in_capsule(0, 2).type_byte() == 0x31);
  static_assert(SglDescriptor::list_in_capsule(0, 2).length == 32);
  static_assert(SglDescriptor::transport(512).type_byte() == 0x5A);
}

TEST(Sgl, KeyedLengthIsCutTo24Bits) {
  const SglDescriptor read = SglDescriptor::parse(SglDescriptor::keyed(1, 0x01000002, 3).bytes());
  EXPECT_EQ(read.length, 2u);
  EXPECT_EQ(read.key, 3u);
}

TEST(Sgl, OffsetDescriptorBytes) {
  EXPECT_EQ(to_hex(SglDescriptor::in_capsule(0x10, 0x12345678).bytes()),
            "1000000000000000"
            "78563412"
            "000000"
            "01");
}

TEST(Sgl, AnyBytesAreADescriptor) {
  for (unsigned top = 0; top < 256; ++top) {
    Bytes bytes(16, 0xEE);
    bytes[15] = static_cast<std::uint8_t>(top);
    EXPECT_EQ(SglDescriptor::parse(bytes).type_byte(), top);
  }
}

TEST(Sqe, ReadBytes) {
  Record<ReadWriteSqe> read;
  read.set(sqe::opcode, IoOpcode::read).set(sqe::psdt, Psdt::sgl).set(sqe::cid, 0x0102);
  read.set(sqe::nsid, 1).set(rw_sqe::slba, 0x1122334455667788).set(rw_sqe::nlb, ZeroBased<std::uint16_t>::of(8));
  read.set(rw_sqe::fua, true).set(rw_sqe::prchk_ref, true);
  read.set(sqe::sgl1, SglDescriptor::keyed(0x1000, 4096, 7).bytes());
  EXPECT_EQ(to_hex(read.bytes()),
            "02400201"
            "01000000"
            "0000000000000000"
            "0000000000000000"
            "0010000000000000"
            "001000"
            "07000000"
            "40"
            "8877665544332211"
            "07000044"
            "00000000"
            "00000000"
            "00000000");
  const Sqe any{read.bytes()};
  EXPECT_EQ(any.as<ReadWriteSqe>().get(rw_sqe::nlb).count(), 8u);
  EXPECT_EQ(any.get(sqe::cdw12), 0x44000007u);
}

TEST(Sqe, EditReachesTheCommandsOwnFields) {
  Sqe any;
  any.set(sqe::opcode, AdminOpcode::abort);
  any.edit<AbortSqe>().set(abort_sqe::sqid, 3).set(abort_sqe::abort_cid, 0xBEEF);
  EXPECT_EQ(any.get(sqe::cdw10), 0xBEEF0003u);
}

TEST(Sqe, IdentifyAndFeatureFields) {
  Sqe any;
  any.edit<IdentifySqe>().set(identify_sqe::cns, 0x1C).set(identify_sqe::cntid, 0xFFFF).set(identify_sqe::csi, 2);
  EXPECT_EQ(any.get(sqe::cdw10), 0xFFFF001Cu);
  EXPECT_EQ(any.get(sqe::cdw11), 0x02000000u);
  Sqe feature;
  feature.edit<GetFeaturesSqe>().set(features_sqe::fid, 0x0F).set(features_sqe::sel, FeatureSelect::capabilities);
  EXPECT_EQ(feature.get(sqe::cdw10), 0x0000030Fu);
  Sqe saved;
  saved.edit<SetFeaturesSqe>().set(features_sqe::fid, 7).set(features_sqe::sv, true);
  EXPECT_EQ(saved.get(sqe::cdw10), 0x80000007u);
}

TEST(Sqe, LogRangeIsSplit) {
  Record<GetLogPageSqe> command;
  set_log_range(command, 0x1'0000'0400, 0x40004);
  command.set(get_log_sqe::lid, 0x70).set(get_log_sqe::rae, true).set(get_log_sqe::lsp, 1);
  const Sqe any{command.bytes()};
  EXPECT_EQ(any.get(sqe::cdw10), 0x00008170u);
  EXPECT_EQ(any.get(sqe::cdw11), 1u);
  EXPECT_EQ(any.get(sqe::cdw12), 0x400u);
  EXPECT_EQ(any.get(sqe::cdw13), 1u);
  EXPECT_EQ(log_length(command), 0x40004u);
  EXPECT_EQ(log_offset(command), 0x1'0000'0400u);
  set_log_range(command, 0, 4);
  EXPECT_EQ(log_length(command), 4u);
  Record<GetLogPageSqe> largest;
  largest.set(get_log_sqe::numdl, 0xFFFF).set(get_log_sqe::numdu, 0xFFFF);
  EXPECT_EQ(log_length(largest), std::uint64_t{1} << 34);
}

TEST(Sqe, DataDirectionIsInTheOpcode) {
  EXPECT_EQ(direction_of(std::uint8_t(AdminOpcode::identify)), DataDirection::controller_to_host);
  EXPECT_EQ(direction_of(std::uint8_t(IoOpcode::write)), DataDirection::host_to_controller);
  EXPECT_EQ(direction_of(std::uint8_t(IoOpcode::flush)), DataDirection::none);
  EXPECT_EQ(direction_of(std::uint8_t(FabricsType::connect)), DataDirection::host_to_controller);
}

TEST(Sqe, DatasetManagementBytes) {
  Sqe any;
  any.edit<DatasetManagementSqe>().set(dsm_sqe::nr, ZeroBased<std::uint8_t>::of(256)).set(dsm_sqe::ad, true);
  EXPECT_EQ(any.get(sqe::cdw10), 0xFFu);
  EXPECT_EQ(any.get(sqe::cdw11), 4u);
  Record<DsmRange> range;
  range.set(dsm_range::length, 16).set(dsm_range::slba, 0x100);
  EXPECT_EQ(to_hex(range.bytes()),
            "00000000"
            "10000000"
            "0001000000000000");
}

}  // namespace
}  // namespace fb::nvme
