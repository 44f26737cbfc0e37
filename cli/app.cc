#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

#include "cli/common.h"
#include "cli/usage.h"
#include "conformance/report/document.h"
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
    if (const std::string unknown = unknown_command(app, words); !unknown.empty()) throw UserError(unknown);
    if (const std::string wrong = empty_element(app, words); !wrong.empty()) throw UserError(wrong);
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
    complain(explain(app, wrong));
    return exit_code::wrong_use;
  }
}

int guarded(CLI::App& app, Outcome& outcome, int argc, const char* const* argv) {
  try {
    return parse_and_run(app, outcome, argc, argv);
  } catch (const UserError& problem) {
    complain(problem.what());
    return exit_code::wrong_use;
  } catch (const WaitFailure& failure) {
    if (failure.end() == WaitEnd::interrupted) return exit_code::interrupted;
    complain(failure.what());
    return exit_code::red;
  } catch (const std::exception& broken) {
    // fmt::print() throws when a stream takes no more; close_output() says so.
    if (std::ferror(stdout) != 0) return exit_code::wrong_use;
    complain(std::string("the bench broke: ") + broken.what());
    return exit_code::red;
  }
}

/// What could not be written to standard output did not reach anybody: that is no success. A reader that has gone, as
/// `head` does, wants no more.
int close_output(int code) {
  std::cout.flush();
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  int error = errno;
  if (flushed && std::ferror(stdout) == 0) return code;
  if (flushed) {
    // An earlier write failed, and its reason is lost: one more byte has the same.
    error = ::write(STDOUT_FILENO, "\n", 1) < 0 ? errno : EIO;
  }
  if (error == EPIPE) return code;
  if (code == exit_code::wrong_use) return code;  // which a line has explained
  complain(std::string("standard output cannot be written: ") + std::strerror(error));
  return code == exit_code::good ? exit_code::wrong_use : code;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  block_signals();
  CLI::App app("A simulator and conformance test bench for NVMe over Fabrics and NVMe-MI.");
  app.name("fabricbench");
  app.set_version_flag("--version", conformance::version_text(), "Show version, commit, ledger and compiler, and exit");
  app.require_subcommand(1);
  app.fallthrough(false);
  set_help(app,
           "  fabricbench run --suite fabrics --report report\n"
           "  fabricbench run --dut tcp://192.0.2.7:4420 --report report\n");
  Outcome outcome;
  add_run(app, outcome);
  add_init(app, outcome);
  add_selftest(app, outcome);
  add_list(app, outcome);
  add_requirements(app, outcome);
  add_report(app, outcome);
  add_statement(app, outcome);
  add_catalogue(app, outcome);
  add_replay(app, outcome);
  add_campaign(app, outcome);
  add_shrink(app, outcome);
  add_check(app, outcome);
  add_devices(app, outcome);
  add_target(app, outcome);
  add_host(app, outcome);
  add_proxy(app, outcome);
  add_ctl(app, outcome);
  add_mctp(app, outcome);
  add_networkdirect(app, outcome);
  take_one_value_each(app);
  finish_commands(app);
  return close_output(guarded(app, outcome, argc, argv));
}

}  // namespace fb::cli
