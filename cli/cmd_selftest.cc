// fabricbench selftest: see every case fail on a product that deserves it.
#include <cstdio>

#include "cli/suite_options.h"
#include "cli/usage.h"
#include "conformance/report/report.h"

namespace fb::cli {

namespace {

using namespace conformance;

struct SelftestArguments {
  Selection selection;
  SelftestOptions options;
  bool named_only = false;
  bool json = false;
};

int run_selftest(SelftestArguments& arguments) {
  const auto cases = or_throw(select(all_cases(), arguments.selection));
  Interrupter interrupter;
  const SignalWatcher watcher([&] { interrupter.fire(); });
  ProgressLine progress;
  SelftestOptions options = arguments.options;
  options.cross = !arguments.named_only;
  options.interrupter = &interrupter;
  options.transport = arguments.selection.transport;
  options.progress = [&](std::size_t done, std::size_t all) {
    progress.show(std::to_string(done) + " of " + std::to_string(all) + " runs");
  };
  SelftestResult result = selftest(cases, options);
  progress.clear();
  if (cases.size() != all_cases().size()) result.without_case.clear();  // it may be among the others
  std::fputs((arguments.json ? selftest_json(result) : selftest_summary(result)).c_str(), stdout);
  if (result.interrupted) return exit_code::interrupted;
  return result.good() ? exit_code::good : exit_code::red;
}

}  // namespace

void add_selftest(CLI::App& app, Outcome& outcome) {
  auto arguments = std::make_shared<SelftestArguments>();
  arguments->options.jobs = default_jobs();
  CLI::App* command =
      app.add_subcommand("selftest", "Run every case against the correct product, and against one with each matching defect");
  set_help(*command, "  fabricbench selftest\n  fabricbench selftest --suite rdma --json\n",
           exit_codes("every deviation was caught", "a deviation was missed, or a case failed on the correct product"));
  add_selection(*command, arguments->selection);
  command->add_option("--seed", arguments->options.seed, "Seed of every random choice")
      ->check(check_seed)
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--jobs", arguments->options.jobs, "Runs at a time")
      ->check(CLI::Range(1u, 256u))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--named-only", arguments->named_only, "Run deviations only against the cases that name their requirement");
  command->add_flag("--json", arguments->json, "Print the results as one JSON document");
  command->callback([arguments, &outcome] { outcome.code = run_selftest(*arguments); });
}

}  // namespace fb::cli
