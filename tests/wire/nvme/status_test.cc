#include "wire/nvme/status.h"

#include <gtest/gtest.h>

#include "wire/nvme/cqe.h"
#include "wire/nvme/opcodes.h"

namespace fb::nvme {
namespace {

static_assert(sc::connect_invalid_parameters.sct() == 1 && sc::connect_invalid_parameters.sc() == 0x82);
static_assert(sc::write_to_read_only_range == sc::connect_invalid_parameters);
static_assert(sc::success.ok() && !sc::invalid_field.ok());
static_assert(sc::invalid_field.with_dnr().raw() == 0x4002);
static_assert(sc::namespace_not_ready.with_crd(3).raw() == 0x1882);
static_assert(same_code(sc::invalid_field.with_dnr().with_more(), sc::invalid_field));
static_assert(sc::invalid_field.with_dnr() != sc::invalid_field);
static_assert(!sc::invalid_field.with_dnr().with_dnr(false).dnr());

constexpr std::uint8_t kCopy = 0x19, kWrite = 0x01, kFormat = 0x80, kGetLogPage = 0x02;

struct Meaning {
  std::uint8_t opcode;
  unsigned code;
  std::string_view text;
};
const Meaning kMeanings[] = {
    {kFabricsOpcode, 0x80, "Incompatible Format (1/80h)"},
    {kFabricsOpcode, 0x81, "Controller Busy (1/81h)"},
    {kFabricsOpcode, 0x82, "Connect Invalid Parameters (1/82h)"},
    {kFabricsOpcode, 0x83, "Connect Restart Discovery (1/83h)"},
    {kFabricsOpcode, 0x84, "Connect Invalid Host (1/84h)"},
    {kFabricsOpcode, 0x85, "Invalid Queue Type (1/85h)"},
    {kFabricsOpcode, 0x86, "Reserved (1/86h)"},
    {kFabricsOpcode, 0xB9, "Reserved (1/B9h)"},
    {kWrite, 0x80, "Conflicting Attributes (1/80h)"},
    {kWrite, 0x81, "Invalid Protection Information (1/81h)"},
    {kWrite, 0x82, "Attempted Write to Read Only Range (1/82h)"},
    {kFormat, 0x82, "Attempted Write to Read Only Range (1/82h)"},
    {kCopy, 0x83, "Command Size Limit Exceeded (1/83h)"},
    {kCopy, 0x84, "Invalid Command ID (1/84h)"},
    {kCopy, 0x85, "Incompatible Namespace or Format (1/85h)"},
    {kWrite, 0xB9, "Zone Is Full (1/B9h)"},
    {kGetLogPage, 0x90, "Discover Restart (1/90h)"},
    {kWrite, 0x91, "Authentication Required (1/91h)"},
    {kFabricsOpcode, 0x91, "Authentication Required (1/91h)"},
    {kFabricsOpcode, 0x01, "Invalid Queue Identifier (1/01h)"},
    {kWrite, 0xC0, "Vendor Specific (1/C0h)"},
};

TEST(Status, IsNamedByTheCommandThatItAnswers) {
  for (const Meaning& one : kMeanings) {
    EXPECT_EQ(to_string(Status::make(1, one.code).of(one.opcode)), one.text) << unsigned{one.opcode};
    EXPECT_EQ(to_string(Status::make(1, one.code).of(one.opcode).with_dnr().with_more().with_crd(2)), one.text);
  }
}

TEST(Status, ConstantsKnowWhoseTheyAre) {
  EXPECT_EQ(to_string(sc::connect_invalid_parameters), "Connect Invalid Parameters (1/82h)");
  EXPECT_EQ(to_string(sc::write_to_read_only_range), "Attempted Write to Read Only Range (1/82h)");
  EXPECT_EQ(to_string(sc::command_size_limit_exceeded.with_dnr()), "Command Size Limit Exceeded (1/83h)");
}

TEST(Status, OfNoKnownCommandHasBothNames) {
  EXPECT_EQ(to_string(Status::make(1, 0x82)), "Connect Invalid Parameters or Attempted Write to Read Only Range (1/82h)");
  EXPECT_EQ(name_of(Status::make(1, 0xB9)), "Zone Is Full");
  EXPECT_EQ(name_of(sc::success.with_dnr()), "Success");
  EXPECT_EQ(name_of(Status::make(0, 0x17)), "Reserved");
  EXPECT_EQ(name_of(Status::make(7, 0x01)), "Vendor Specific");
}

TEST(Status, EveryCodeIsNamedOnce) {
  unsigned named = 0;
  for (unsigned sct = 0; sct < 7; ++sct) {
    for (unsigned code = 0; code < 0xC0; ++code) {
      const std::string name = name_of(Status::make(sct, code));
      if (name != "Reserved" && name != "Vendor Specific") ++named;
    }
  }
  unsigned declared = 0;
#define FB_COUNT(type, code, id, name) ++declared;
  FB_NVME_GENERIC_STATUS(FB_COUNT)
  FB_NVME_COMMAND_STATUS(FB_COUNT)
  FB_NVME_FABRICS_STATUS(FB_COUNT)
  FB_NVME_FABRICS_COMMON_STATUS(FB_COUNT)
  FB_NVME_MEDIA_AND_PATH_STATUS(FB_COUNT)
  FB_NVME_COMMAND_SET_STATUS(FB_COUNT)
#undef FB_COUNT
  constexpr unsigned kSharedWithFabrics = 6;  // 80h to 85h
  EXPECT_EQ(named, declared - kSharedWithFabrics);
}

// The status word of the wire is the status one bit up, with the phase tag below.
TEST(Cqe, StatusStandsAboveThePhase) {
  Cqe entry;
  entry.set(cqe::dw0, 0x00010010u).set(cqe::sqhd, 5).set(cqe::cid, 0x1234);
  entry.set(cqe::status, sc::connect_invalid_parameters.with_dnr());
  EXPECT_EQ(to_hex(entry.bytes()),
            "10000100"
            "00000000"
            "0500"
            "0000"
            "3412"
            "0483");
  entry.set(cqe::phase, 1);
  EXPECT_EQ(entry.bytes()[14], 0x05);
  EXPECT_EQ(entry.get(cqe::status), sc::connect_invalid_parameters.with_dnr());
}

TEST(Cqe, EveryBitHasAField) { EXPECT_EQ(first_reserved_set<CqeLayout>(Bytes(16, 0xFF)), std::nullopt); }

}  // namespace
}  // namespace fb::nvme
