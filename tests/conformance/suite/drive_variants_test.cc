// Drives that differ from the usual one in what the specifications leave to them: no case may find fault with any.
#include "conformance/runner/managed_setup.h"
#include "model/drive/variants.h"
#include "tests/conformance/suite/legal_variant.h"

namespace fb::conformance {
namespace {

/// What the media may be like.
struct Media {
  std::string_view name;
  void (*vary)(ManagedSetup&);
};

constexpr Media kMedia[] = {
    {"fast",
     [](ManagedSetup& s) {
       s.smbus.clock_hz = 1'000'000;
       s.serial.baud = 3'000'000;
     }},
    {"slow",
     [](ManagedSetup& s) {
       s.smbus.stretch_per_byte = Duration::us(50);
       s.serial.baud = 57'600;
     }},
    {"without_timing", [](ManagedSetup& s) { s.smbus.timing = s.serial.timing = s.pcie.timing = false; }},
};

bool concerns(const CaseInfo& info) { return info.role == Role::endpoint; }

class DriveVariants : public ::testing::TestWithParam<mi::DriveVariant> {};

TEST_P(DriveVariants, HaveNoFault) {
  expect_no_fault(
      GetParam().name, [](EmbeddedSetup& setup) { GetParam().vary(setup.managed->drive); }, concerns, 0.6);
}

INSTANTIATE_TEST_SUITE_P(, DriveVariants, ::testing::ValuesIn(mi::drive_variants().begin(), mi::drive_variants().end()),
                         [](const auto& variant) { return std::string(variant.param.name); });

class DrivesOnMedia : public ::testing::TestWithParam<Media> {};

TEST_P(DrivesOnMedia, HaveNoFault) {
  expect_no_fault(
      GetParam().name, [](EmbeddedSetup& setup) { GetParam().vary(*setup.managed); }, concerns, 0.6);
}

INSTANTIATE_TEST_SUITE_P(, DrivesOnMedia, ::testing::ValuesIn(kMedia), [](const auto& media) { return std::string(media.param.name); });

}  // namespace
}  // namespace fb::conformance
