#include <algorithm>
#include <cstdio>
#include <exception>

#include "cli/common.h"
#include "conformance/runner/runner.h"
#include "sim/core/world.h"

namespace fb::cli {

namespace {

/// One line, whatever the text holds.
void complain(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  std::fprintf(stderr, "fabricbench: %s\n", text.c_str());
}

/// CLI11 would say that a command is missing; better to name the word that is none.
void check_command_names(const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const auto commands = at->get_subcommands([](const CLI::App*) { return true; });
    if (commands.empty()) return;
    std::string known;
    const CLI::App* found = nullptr;
    for (const CLI::App* command : commands) {
      if (command->get_name() == argv[i]) found = command;
      known += (known.empty() ? "" : ", ") + command->get_name();
    }
    if (found == nullptr) {
      throw UserError("no command '" + std::string(argv[i]) + "'; known are: " + known);
    }
    at = found;
  }
}

/// For commands that run a program: what stands behind its name is its own, as if `--` stood in front of it.
std::vector<std::string> with_program_marked(const CLI::App& app, std::vector<std::string> words) {
  const CLI::App* at = &app;
  std::size_t i = 0;
  for (; i < words.size(); ++i) {
    const auto named = at->get_subcommands([&](const CLI::App* command) { return command->get_name() == words[i]; });
    if (named.empty()) break;
    at = named.front();
  }
  if (at->get_option_no_throw("program") == nullptr) return words;
  for (; i < words.size() && words[i].starts_with('-'); ++i) {
    if (words[i] == "--") return words;
    const std::size_t equals = words[i].find('=');
    const CLI::Option* const option = at->get_option_no_throw(words[i].substr(0, equals));
    if (option == nullptr) return words;
    if (option->get_items_expected_min() > 0 && equals == std::string::npos) ++i;
  }
  if (i < words.size()) words.insert(words.begin() + static_cast<std::ptrdiff_t>(i), "--");
  return words;
}

/// For the same commands: an option that may be given several times takes one value each time. CLI11 would let `--` end
/// a list of values, and then look for options of ours in the program's words.
void take_one_value_each(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) take_one_value_each(*command);
  if (app.get_option_no_throw("program") == nullptr) return;
  for (CLI::Option* option : app.get_options()) {
    if (!option->get_lnames().empty() && option->get_items_expected_max() > 1) option->allow_extra_args(false);
  }
}

int parse_and_run(CLI::App& app, Outcome& outcome, int argc, const char* const* argv) {
  try {
    auto words = with_program_marked(app, {argv + std::min(argc, 1), argv + argc});
    std::reverse(words.begin(), words.end());  // as it wants them
    app.parse(std::move(words));
    return outcome.code;
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& wrong) {
    complain(std::string(wrong.what()) + " (fabricbench --help shows the use)");
    return exit_code::wrong_use;
  }
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  block_signals();
  CLI::App app("A simulator and conformance test bench for NVMe over Fabrics.\n"
               "Example: fabricbench run --suite fabrics --report report");
  app.name("fabricbench");
  app.set_version_flag("--version", "fabricbench " + std::string(conformance::tool_version()));
  app.require_subcommand(1);
  app.fallthrough(false);
  Outcome outcome;
  add_run(app, outcome);
  add_selftest(app, outcome);
  add_list(app, outcome);
  add_requirements(app, outcome);
  add_report(app, outcome);
  add_replay(app, outcome);
  add_campaign(app, outcome);
  add_shrink(app, outcome);
  add_check(app, outcome);
  add_devices(app, outcome);
  add_target(app, outcome);
  add_host(app, outcome);
  add_mctp(app, outcome);
  add_networkdirect(app, outcome);
  take_one_value_each(app);
  try {
    check_command_names(app, argc, argv);
    return parse_and_run(app, outcome, argc, argv);
  } catch (const UserError& problem) {
    complain(problem.what());
    return exit_code::wrong_use;
  } catch (const WaitFailure& failure) {
    if (failure.end() == WaitEnd::interrupted) return exit_code::interrupted;
    complain(failure.what());
    return exit_code::red;
  } catch (const std::exception& broken) {
    complain(std::string("the bench broke: ") + broken.what());
    return exit_code::red;
  }
}

}  // namespace fb::cli
