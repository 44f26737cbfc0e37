// fabricbench shrink: the least that still fails.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/document.h"
#include "cli/replay_world.h"
#include "cli/usage.h"
#include "conformance/campaign/shrink.h"
#include "conformance/runner/runner.h"
#include "sim/capture/pcapng.h"

namespace fb::cli {

namespace {

using namespace conformance;

struct ShrinkArguments {
  std::string file;
  std::string out;
  double seconds = 25;
  unsigned times = 3;
  bool json = false;
};

/// "a/b.json" -> "a/b.min.json".
std::string smaller_name(const std::string& path) {
  std::filesystem::path made(path);
  return made.replace_extension(".min.json").string();
}

int shrink_file(const ShrinkArguments& arguments) {
  const ReplayFile file = read_replay_file(arguments.file);
  Interrupter interrupter;
  const SignalWatcher watcher([&] { interrupter.fire(); });
  ProgressLine progress;
  ShrinkOptions options;
  options.seconds_max = arguments.seconds;
  options.repetitions = arguments.times;
  options.interrupter = &interrupter;
  options.progress = [&](std::size_t faults, std::size_t steps) {
    progress.show(fmt::format("{} faults and {} steps are left", faults, steps));
  };
  const ShrinkResult result = or_throw(shrink(file, options));
  progress.clear();
  const std::string out = arguments.out.empty() ? smaller_name(arguments.file) : arguments.out;
  const std::string text = to_json(result.smallest);
  or_throw(capture::write_atomically(out, Bytes(text.begin(), text.end())));
  if (arguments.json) {
    nlohmann::ordered_json json = {{"decisions_before", result.decisions_before},
                                   {"decisions_after", result.decisions_after},
                                   {"steps_before", result.steps_before},
                                   {"steps_after", result.steps_after},
                                   {"worlds", result.worlds},
                                   {"runs", result.runs},
                                   {"shown", result.shown},
                                   {"seconds", result.seconds},
                                   {"story", result.story},
                                   {"replay", out}};
    print_document(std::move(json));
  } else {
    for (const std::string& sentence : result.story) std::puts(sentence.c_str());
    std::printf("faults: %zu of %zu are left, steps: %zu of %zu (%zu worlds in %.1f s)\n", result.decisions_after, result.decisions_before,
                result.steps_after, result.steps_before, result.worlds, result.seconds);
    if (result.runs > 1) std::printf("the failure shows in %u of %u runs\n", result.shown, result.runs);
    std::printf("fabricbench replay %s\n", out.c_str());
  }
  return result.interrupted ? exit_code::interrupted : exit_code::good;
}

}  // namespace

void add_shrink(CLI::App& app, Outcome& outcome) {
  auto arguments = std::make_shared<ShrinkArguments>();
  CLI::App* command = app.add_subcommand("shrink", "Reduce a failing world to the faults and steps that it needs to fail");
  set_help(*command, "  fabricbench shrink campaign/data-stale-17.json\n", exit_codes("the smaller file was written", "not used"));
  command->add_option("file", arguments->file, "A file that a campaign left")->required()->type_name("FILE");
  add_output(*command, arguments->out, "The smaller file; default: FILE.min.json", "FILE");
  command->add_option("--seconds", arguments->seconds, "Stop after this time")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_option("--times", arguments->times, "Run each recipe so often where it is of a product in real time; most runs must fail")
      ->type_name("N")
      ->check(CLI::Range(1u, 100u))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Print the result as one JSON document");
  command->callback([arguments, &outcome] { outcome.code = shrink_file(*arguments); });
}

}  // namespace fb::cli
