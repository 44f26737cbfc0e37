#include "wire/nvme/status.h"

#include <gtest/gtest.h>

#include "wire/nvme/cqe.h"

namespace fb::nvme {
namespace {

static_assert(sc::connect_invalid_parameters.sct() == 1 &&
              sc::connect_invalid_parameters.sc() == 0x82);
static_assert(sc::write_to_read_only_range == sc::connect_invalid_parameters);
static_assert(sc::success.ok() && !sc::invalid_field.ok());
static_assert(sc::invalid_field.with_dnr().raw() == 0x4002);
static_assert(sc::namespace_not_ready.with_crd(3).raw() == 0x1882);
static_assert(same_code(sc::invalid_field.with_dnr().with_more(), sc::invalid_field));
static_assert(sc::invalid_field.with_dnr() != sc::invalid_field);
static_assert(!sc::invalid_field.with_dnr().with_dnr(false).dnr());

TEST(Status, NamesFollowTheKindOfCommand) {
  EXPECT_EQ(to_string(sc::connect_invalid_parameters), "Connect Invalid Parameters (1/82h)");
  EXPECT_EQ(to_string(sc::connect_invalid_parameters, false),
            "Attempted Write to Read Only Range (1/82h)");
  EXPECT_EQ(name_of(sc::zone_is_full), "Zone Is Full");
  EXPECT_EQ(name_of(sc::discover_restart, false), "Discover Restart");
  EXPECT_EQ(name_of(sc::success.with_dnr()), "Success");
  EXPECT_EQ(name_of(Status::make(0, 0x17)), "Reserved");
  EXPECT_EQ(name_of(Status::make(1, 0xC0)), "Vendor Specific");
  EXPECT_EQ(name_of(Status::make(7, 0x01)), "Vendor Specific");
}

TEST(Status, EveryCodeIsNamedOnce) {
  unsigned named = 0;
  for (unsigned sct = 0; sct < 7; ++sct) {
    for (unsigned code = 0; code < 0xC0; ++code) {
      const std::string_view name = name_of(Status::make(sct, code));
      if (name != "Reserved" && name != "Vendor Specific") ++named;
    }
  }
  unsigned declared = 0;
#define FB_COUNT(type, code, id, name) ++declared;
  FB_NVME_GENERIC_STATUS(FB_COUNT)
  FB_NVME_COMMAND_STATUS(FB_COUNT)
  FB_NVME_FABRICS_STATUS(FB_COUNT)
  FB_NVME_MEDIA_AND_PATH_STATUS(FB_COUNT)
  FB_NVME_NVM_STATUS(FB_COUNT)
#undef FB_COUNT
  constexpr unsigned kSharedWithFabrics = 5;  // 80h to 85h without 84h
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

TEST(Cqe, EveryBitHasAField) {
  EXPECT_EQ(first_reserved_set<CqeLayout>(Bytes(16, 0xFF)), std::nullopt);
}

}  // namespace
}  // namespace fb::nvme
