#include "wire/fabrics/describe.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/property.h"

namespace fb::fabrics {
namespace {

using nvme::Sqe;

TEST(Describe, Connect) {
  Record<ConnectSqe> command;
  command.set(sqe::opcode, kFabricsOpcode).set(sqe::psdt, nvme::Psdt::sgl).set(sqe::cid, 2);
  command.set(sqe::fctype, FabricsType::connect).set(connect_sqe::qid, 1);
  command.set(connect_sqe::sqsize, ZeroBased<std::uint16_t>::of(32));
  command.set(sqe::sgl1, nvme::SglDescriptor::keyed(0x1000, 1024, 7, true).bytes());
  EXPECT_EQ(describe_command(command.bytes(), false), "Connect qid=1 sqsize=31 cid=2 keyed(addr=0x1000 len=1024 key=0x7 invalidate)");
}

TEST(Describe, PropertySet) {
  Record<PropertySetSqe> command;
  command.set(sqe::opcode, kFabricsOpcode).set(sqe::fctype, FabricsType::property_set);
  command.set(sqe::psdt, nvme::Psdt::sgl);
  command.set(property_sqe::ofst, property::cc).set(property_sqe::value, 0x460001u);
  EXPECT_EQ(describe_command(command.bytes(), true), "Property Set CC ofst=20 value=0x460001 cid=0");
}

TEST(Describe, AdminAndIo) {
  Sqe identify;
  identify.set(nvme::sqe::opcode, nvme::AdminOpcode::identify).set(nvme::sqe::psdt, nvme::Psdt::sgl);
  identify.edit<nvme::IdentifySqe>().set(nvme::identify_sqe::cns, 1);
  EXPECT_EQ(describe_command(identify.bytes(), true), "Identify cns=01h (Controller) cid=0");
  Record<nvme::GetLogPageSqe> log;
  log.set(nvme::sqe::opcode, nvme::AdminOpcode::get_log_page).set(nvme::sqe::psdt, nvme::Psdt::sgl);
  log.set(nvme::get_log_sqe::lid, 0x70);
  nvme::set_log_range(log, 1024, 2048);
  EXPECT_EQ(describe_command(log.bytes(), true), "Get Log Page lid=70h (Discovery) length=2048 offset=1024 cid=0");
  Sqe write;
  write.set(nvme::sqe::opcode, nvme::IoOpcode::write).set(nvme::sqe::nsid, 1).set(nvme::sqe::cid, 9);
  write.set(nvme::sqe::fuse, nvme::Fuse::second);
  write.set(nvme::sqe::sgl1, nvme::SglDescriptor::in_capsule(0, 512).bytes());
  EXPECT_EQ(describe_command(write.bytes(), false), "Write nsid=1 slba=0 nlb=0 cid=9 fused-second psdt=0 in-capsule(offset=0 len=512)");
  EXPECT_EQ(command_name(Sqe{}.bytes(), false), "Flush");
  EXPECT_EQ(command_name(Sqe{}.bytes(), true), "Delete I/O Submission Queue");
}

TEST(Describe, Completion) {
  nvme::Cqe entry;
  entry.set(nvme::cqe::cid, 2).set(nvme::cqe::sqhd, 1).set(nvme::cqe::dw0, 1u);
  EXPECT_EQ(describe_completion(entry.bytes()), "cid=2 sqhd=1 Success dw0=0x1");
  entry.set(nvme::cqe::status, nvme::sc::connect_invalid_parameters.with_dnr().with_more());
  entry.set(nvme::cqe::dw0, 0x2Cu);
  EXPECT_EQ(describe_completion(entry.bytes(), nvme::StatusFamily::fabrics),
            "cid=2 sqhd=1 Connect Invalid Parameters (1/82h) M DNR dw0=0x2c");
  EXPECT_EQ(describe_completion(entry.bytes(), nvme::StatusFamily::command_set),
            "cid=2 sqhd=1 Attempted Write to Read Only Range (1/82h) M DNR dw0=0x2c");
}

TEST(Describe, AnyBytes) {
  Rng rng{1};
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes(rng.below(70));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(rng.next());
    if (round % 3 == 0 && !bytes.empty()) bytes[0] = kFabricsOpcode;
    EXPECT_FALSE(describe_command(bytes, round % 2 == 0).empty());
    EXPECT_FALSE(describe_completion(bytes).empty());
  }
}

}  // namespace
}  // namespace fb::fabrics
