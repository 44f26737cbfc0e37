// Drives that differ from the usual one in what the specifications leave to them: no case may find fault with any.
#include <gtest/gtest.h>

#include "conformance/runner/managed_setup.h"
#include "conformance/runner/runner.h"
#include "model/drive/variants.h"

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

void expect_no_fault(const std::function<void(EmbeddedSetup&)>& vary) {
  RunOptions options;
  options.evidence = false;
  options.product.vary = vary;
  std::vector<const CaseInfo*> cases = all_cases();
  std::erase_if(cases, [](const CaseInfo* info) { return info->role != Role::endpoint; });
  const RunResult run = run_cases(cases, options);
  std::size_t passed = 0;
  for (const CaseResult& result : run.cases) {
    passed += result.verdict == Verdict::pass;
    const bool fine = result.verdict == Verdict::pass || result.verdict == Verdict::skip ||
                      result.verdict == Verdict::inconclusive;
    EXPECT_TRUE(fine) << result.info->name << " over " << result.transport << ": " << result.reason;
  }
  EXPECT_GT(passed, run.cases.size() * 3 / 5);
}

class DriveVariants : public ::testing::TestWithParam<mi::DriveVariant> {};

TEST_P(DriveVariants, HaveNoFault) {
  expect_no_fault([](EmbeddedSetup& setup) { GetParam().vary(setup.managed->drive); });
}

INSTANTIATE_TEST_SUITE_P(, DriveVariants,
                         ::testing::ValuesIn(mi::drive_variants().begin(), mi::drive_variants().end()),
                         [](const auto& variant) { return std::string(variant.param.name); });

class DrivesOnMedia : public ::testing::TestWithParam<Media> {};

TEST_P(DrivesOnMedia, HaveNoFault) {
  expect_no_fault([](EmbeddedSetup& setup) { GetParam().vary(*setup.managed); });
}

INSTANTIATE_TEST_SUITE_P(, DrivesOnMedia, ::testing::ValuesIn(kMedia),
                         [](const auto& media) { return std::string(media.param.name); });

}  // namespace
}  // namespace fb::conformance
