// What a set reserved bit means, by what the product declares.
#include "conformance/cases/reserved.h"

#include <gtest/gtest.h>

namespace fb::conformance {
namespace {

constexpr ReservedBits kTable[] = {{"FIRST", 2, 2, 0xF00F}, reserved_bytes(8, 19)};
constexpr std::uint32_t kOld = fabrics::version(1, 4, 0), kNewest = fabrics::version(2, 2, 0), kLater = fabrics::version(2, 3, 0);

/// The verdict on a page of zeroes with one bit set.
Verdict verdict_of(std::size_t byte, unsigned bit, std::uint32_t vs) {
  Bytes page(24);
  page[byte] = static_cast<std::uint8_t>(1u << bit);
  Check check;
  try {
    check_reserved(check, "a page", page, kTable, vs);
  } catch (const LeaveCase&) {
  }
  return check.verdict();
}

bool is_reserved(std::size_t byte, unsigned bit) {
  if (byte == 2) return bit < 4;
  if (byte == 3) return bit >= 4;
  return byte >= 8 && byte <= 19;
}

TEST(ReservedBits, AreFaultsOfRevisionsThatReserveThem) {
  for (std::size_t byte = 0; byte < 24; ++byte) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      const Verdict bad = is_reserved(byte, bit) ? Verdict::fail : Verdict::pass;
      const Verdict unknown = is_reserved(byte, bit) ? Verdict::inconclusive : Verdict::pass;
      EXPECT_EQ(verdict_of(byte, bit, kOld), bad) << byte << "." << bit;
      EXPECT_EQ(verdict_of(byte, bit, kNewest), bad) << byte << "." << bit;
      EXPECT_EQ(verdict_of(byte, bit, kLater), unknown) << byte << "." << bit;
    }
  }
}

TEST(ReservedBits, AreNotLookedForBehindAShortPage) {
  Check check;
  check_reserved(check, "a page", Bytes(10), kTable, kOld);
  EXPECT_EQ(check.verdict(), Verdict::pass);
}

TEST(ReservedBits, AreToldFieldByField) {
  Bytes page(24);
  page[2] = 0x01;
  page[12] = 0xAB;
  Check check;
  check_reserved(check, "a page", page, kTable, kOld);
  ASSERT_EQ(check.findings().size(), 2u);
  EXPECT_EQ(check.findings()[0].what, "reserved bits of FIRST of a page");
  EXPECT_EQ(check.findings()[0].seen, "byte 2 is 01h");
  EXPECT_EQ(check.findings()[1].what, "reserved bytes 8 to 19 of a page");
  EXPECT_EQ(check.findings()[1].seen, "byte 12 is ABh");
}

}  // namespace
}  // namespace fb::conformance
