// Targets that answer some reservation commands otherwise than ours does, and are right too, or known for it: no case
// that blocks a product may find fault with them.
#include <gtest/gtest.h>

#include "conformance/requirements/ledger.h"
#include "conformance/runner/embedded.h"
#include "conformance/runner/runner.h"
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "wire/nvme/reservation.h"

namespace fb::conformance {
namespace {

namespace sc = nvme::sc;
using deviations::AnswerWith;
using deviations::Deviation;
using deviations::Product;

/// Of all holders the first one alone is reported, and generations count more than one.
void first_holder(const deviations::CommandContext& command, MutableBytes data) {
  if (!deviations::is_io(command, 0x0E) || data.size() < nvme::ReservationStatus::size) return;
  store_le<std::uint32_t>(data.data(), 3 * load_le<std::uint32_t>(data.data()));
  const std::size_t each = nvme::RegisteredController::size;
  for (std::size_t at = 2 * each; at + each <= data.size(); at += each) {
    const bool of_all = data[4] >= 5;
    if (of_all) data[at + 2] = 0;
  }
}

const Deviation kLinux[] = {
    {"reserved_actions_are_opcodes", "", Product::controller, "", AnswerWith{"reservation.action", sc::invalid_opcode.with_dnr()}},
    {"release_of_another_type_conflicts", "", Product::controller, "",
     AnswerWith{"reservation.release.type", sc::reservation_conflict.with_dnr()}},
};
const Deviation kSpdk[] = {
    {"key_zero_conflicts", "", Product::controller, "", AnswerWith{"reservation.preempt.zero", sc::reservation_conflict}},
    {"conflicts_may_be_tried_again", "", Product::controller, "", AnswerWith{"reservation.access", sc::reservation_conflict}},
    {"report_names_one_of_all", "", Product::controller, "", deviations::hooks<deviations::AlteringDataOut, &first_holder>()},
};

template <std::size_t N>
void run_as(const Deviation (&answers)[N], bool persist) {
  RunOptions options;
  options.evidence = false;
  std::vector<const Deviation*> chosen;
  for (const Deviation& one : answers) chosen.push_back(&one);
  options.deviations = deviations::DeviationSet(std::move(chosen));
  if (!persist) options.product.vary = [](EmbeddedSetup& setup) { setup.subsystem.reservations_persist = false; };
  std::vector<const CaseInfo*> cases = all_cases();
  std::erase_if(cases, [](const CaseInfo* info) {
    if (!info->requirement.starts_with("nvme.reservation.")) return true;
    const auto* const requirement = find_requirement(info->requirement);
    return requirement == nullptr || requirement->level != "mandatory";
  });
  const RunResult run = run_cases(cases, options);
  std::size_t passed = 0;
  for (const CaseResult& result : run.cases) {
    passed += result.verdict == Verdict::pass;
    const bool fine = result.verdict == Verdict::pass || result.verdict == Verdict::skip || result.verdict == Verdict::inconclusive;
    EXPECT_TRUE(fine) << result.info->name << " over " << result.transport << ": " << result.reason;
  }
  EXPECT_GT(passed, run.cases.size() * 3 / 4);
}

TEST(ReservationAnswers, OfLinux) { run_as(kLinux, false); }
TEST(ReservationAnswers, OfSpdk) { run_as(kSpdk, true); }

}  // namespace
}  // namespace fb::conformance
