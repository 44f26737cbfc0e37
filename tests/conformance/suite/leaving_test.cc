// Cases that leave early, at whatever point, and products that never answer: what is under way then outlives the body of the
// case, and must find its memory. The sanitizers see what does not; an ERROR is a bench that noticed by itself.
#include <gtest/gtest.h>

#include "conformance/runner/runner.h"
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"

namespace fb::conformance {
namespace {

using deviations::Deviation;
using deviations::Product;

/// From an instant on nobody in this world waits for anything: the next wait ends the case, with what it waited for under way.
class Impatient final : public TraceSink {
 public:
  void begin(World& world, Duration after) {
    world_ = &world;
    after_ = after;
    world.trace().add_sink(*this);
  }
  void on_event(const TraceEvent& event) override {
    if (event.time >= Instant{} + after_) world_->set_patience(Duration{});
  }

 private:
  World* world_ = nullptr;
  Duration after_;
};

Duration leave_after;

std::unique_ptr<Bench> make_impatient(World& world, Role role, const Environment& environment) {
  static Impatient impatient;  // one job, so one world at a time
  impatient.begin(world, leave_after);
  return make_bench(world, role, environment);
}

struct Outcome {
  std::size_t failed = 0, all = 0;
};

Outcome none_breaks(const RunOptions& options, const std::vector<const CaseInfo*>& cases) {
  Outcome outcome;
  for (const CaseResult& result : run_cases(cases, options).cases) {
    EXPECT_NE(result.verdict, Verdict::error) << result.info->name << " over " << result.transport << ": " << result.reason;
    outcome.failed += result.verdict == Verdict::fail;
    ++outcome.all;
  }
  return outcome;
}

class Leaving : public testing::TestWithParam<Duration> {};

TEST_P(Leaving, FindsItsMemory) {
  leave_after = GetParam();
  RunOptions options;
  options.evidence = false;
  options.factory = &make_impatient;
  const Outcome outcome = none_breaks(options, all_cases());
  EXPECT_GT(outcome.failed, outcome.all / 50) << "hardly a case was left early";
}

INSTANTIATE_TEST_SUITE_P(After, Leaving,
                         testing::Values(Duration::us(50), Duration::us(300), Duration::ms(1), Duration::ms(5), Duration::ms(50)),
                         [](const auto& one) { return std::to_string(one.param.count_ns() / 1000) + "us"; });

std::vector<const CaseInfo*> cases_of(Role role) {
  std::vector<const CaseInfo*> cases = all_cases();
  std::erase_if(cases, [&](const CaseInfo* info) { return info->role != role; });
  return cases;
}

/// Executes the commands of I/O queues, and keeps the answers to itself.
class AnswersNothing final : public subsystem::SubsystemHooks {
 public:
  Answer completion(const subsystem::CommandContext& command, MutableBytes) override {
    const bool fabrics = command.sqe[0] == nvme::kFabricsOpcode;
    return command.qid == 0 || fabrics ? Answer::send : Answer::withhold;
  }
};

/// Takes what it is asked to read and write, and sends no command for it: none of it ever ends by an answer.
class SendsNothing final : public host::HostHooks {
 public:
  void pdus_out(std::uint16_t qid, std::vector<Bytes>& pdus) override {
    constexpr std::uint8_t kCapsuleCmd = 0x04;
    std::erase_if(pdus,
                  [&](const Bytes& pdu) { return qid != 0 && pdu.size() > 8 && pdu[0] == kCapsuleCmd && pdu[8] != nvme::kFabricsOpcode; });
  }
};

TEST(NeverAnswering, ControllersAreJudged) {
  static const Deviation silent{"answers_nothing", "", Product::controller, "", deviations::hooks<AnswersNothing>()};
  RunOptions options;
  options.evidence = false;
  options.deviations = deviations::DeviationSet({&silent});
  EXPECT_GT(none_breaks(options, cases_of(Role::controller)).failed, 50u);
}

TEST(NeverAnswering, HostsAreJudged) {
  static const Deviation silent{"sends_nothing", "", Product::host, "", deviations::hooks<SendsNothing>()};
  RunOptions options;
  options.evidence = false;
  options.deviations = deviations::DeviationSet({&silent});
  options.product.transport = "tcp";
  EXPECT_GT(none_breaks(options, cases_of(Role::host)).failed, 20u);
}

}  // namespace
}  // namespace fb::conformance
