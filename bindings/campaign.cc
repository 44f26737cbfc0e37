// Campaigns from Python: seeds in, outcomes out, so that any machine can run any of them.
#include "conformance/campaign/campaign.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "base/or_throw.h"
#include "bindings/convert.h"
#include "bindings/long_run.h"
#include "bindings/parts.h"
#include "conformance/campaign/shrink.h"
#include "conformance/report/report.h"

namespace fb::python {

namespace {

using namespace conformance;

CampaignOptions options_of(const std::string& workload, const py::object& plan, std::uint64_t steps,
                           const std::vector<std::string>& deviations, bool twice) {
  CampaignOptions options;
  options.workload = workload;
  if (plan.is_none()) {
    options.plan = standard_plan();
  } else {
    options.plan = or_throw(fault::parse_plan(string_of(plan, "plan"), "plan"));
  }
  options.steps = steps;
  options.deviations = or_throw(deviations::DeviationSet::of_names(deviations)).names();
  options.twice = twice;
  check_options(options);
  return options;
}

py::tuple as_tuple(const SeedOutcome& outcome) {
  return py::make_tuple(outcome.seed, std::string(name_of(outcome.verdict)), outcome.signature, outcome.text, outcome.digest,
                        outcome.strikes);
}

/// Outcomes in the order of their seeds, as a whole.
class Fold {
 public:
  explicit Fold(std::uint64_t first) { state_.next = first; }
  void take(const py::tuple& outcome) {
    SeedOutcome one;
    one.seed = outcome[0].cast<std::uint64_t>();
    if (one.seed != state_.next) throw py::value_error(fmt::format("seed {} is wanted next, not {}", state_.next, one.seed));
    const auto verdict = outcome[1].cast<std::string>();
    one.verdict = verdict == "pass" ? WorldVerdict::pass : verdict == "fail" ? WorldVerdict::fail : WorldVerdict::inconclusive;
    one.signature = outcome[2].cast<std::string>();
    one.text = outcome[3].cast<std::string>();
    one.digest = outcome[4].cast<std::uint64_t>();
    one.strikes = outcome[5].cast<std::uint64_t>();
    conformance::take(state_, one);
  }
  py::dict result() const {
    py::list failures;
    for (const CampaignFailure& failure : state_.failures) {
      py::dict one;
      one["signature"] = failure.signature;
      one["text"] = failure.text;
      one["seed"] = failure.seed;
      one["count"] = failure.count;
      one["digest"] = failure.digest;
      failures.append(one);
    }
    py::dict all;
    all["next"] = state_.next;
    all["digest"] = digest_text(state_.digest);
    all["inconclusive"] = state_.inconclusive;
    all["strikes"] = state_.strikes;
    all["failures"] = failures;
    return all;
  }

 private:
  CampaignState state_;
};

}  // namespace

void bind_campaign(py::module_& m) {
  py::class_<Fold>(m, "CampaignFold").def(py::init<std::uint64_t>()).def("take", &Fold::take).def("result", &Fold::result);
  m.def("run_seeds", [](const std::string& workload, const py::object& plan, std::uint64_t first, std::uint64_t count, std::uint64_t steps,
                        const std::vector<std::string>& deviations, bool twice, unsigned jobs) {
    CampaignOptions options = options_of(workload, plan, steps, deviations, twice);
    Interrupter interrupter;
    options.interrupter = &interrupter;
    const auto outcomes = run_interruptibly(interrupter, [&] {
      std::vector<SeedOutcome> made(count);
      for_each_parallel(count, jobs, [&](std::size_t index) { made[index] = run_seed(options, first + index); });
      return made;
    });
    py::list all;
    for (const SeedOutcome& outcome : outcomes) all.append(as_tuple(outcome));
    return all;
  });
  m.def("look_for_canaries", [](const std::string& workload, const py::object& plan, std::uint64_t steps, std::uint64_t first) {
    CampaignOptions options = options_of(workload, plan, steps, {}, false);
    options.seeds.first = first;
    Interrupter interrupter;
    options.interrupter = &interrupter;
    return run_interruptibly(interrupter, [&] { return look_for_canaries(options); });
  });
  m.def("replay_file",
        [](const std::string& workload, const py::object& plan, std::uint64_t steps, const std::vector<std::string>& deviations,
           std::uint64_t seed, const std::string& signature, std::uint64_t digest) {
          const CampaignOptions options = options_of(workload, plan, steps, deviations, false);
          CampaignFailure failure;
          failure.seed = seed;
          failure.signature = signature;
          failure.digest = digest;
          return to_json(replay_of(options, failure));
        });
  m.def("workloads", [] {
    py::list all;
    for (const WorkloadFacts& facts : workloads()) all.append(py::make_tuple(std::string(facts.name), std::string(facts.what)));
    return all;
  });
  m.def("shrink", [](const std::string& text, double seconds_max) {
    const ReplayFile file = or_throw(parse_replay_file(text, "replay"));
    Interrupter interrupter;
    ShrinkOptions options;
    options.seconds_max = seconds_max;
    options.interrupter = &interrupter;
    const ShrinkResult result = or_throw(run_interruptibly(interrupter, [&] { return shrink(file, options); }));
    py::dict all;
    all["replay"] = to_json(result.smallest);
    all["decisions_before"] = result.decisions_before;
    all["decisions_after"] = result.decisions_after;
    all["steps_before"] = result.steps_before;
    all["steps_after"] = result.steps_after;
    all["seconds"] = result.seconds;
    all["story"] = result.story;
    return all;
  });
}

}  // namespace fb::python
