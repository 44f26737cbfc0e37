// fabricbench networkdirect verify: somebody's own program, with the verifier between it and the provider.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/suggest.h"
#include "cli/document.h"
#include "cli/networkdirect.h"
#include "cli/program.h"
#include "cli/usage.h"
#include "cli/verifier_report.h"
#include "networkdirect/verifier/rules.h"

namespace fb::cli {

namespace {

constexpr char kCatalogueVariable[] = "FABRICBENCH_PROVIDERS";

struct VerifyArguments {
  std::string provider;
  std::string guid;
  std::vector<std::string> without;
  bool json = false;
  std::vector<std::string> program;
};

std::vector<std::string_view> rule_names() {
  std::vector<std::string_view> names;
  for (const auto& rule : networkdirect::verifier::rules()) names.push_back(rule.name);
  return names;
}

/// A catalogue with the verifier alone, for the class of the provider behind it.
void make_catalogue(const std::filesystem::path& path, const std::filesystem::path& verifier, const ndutil::ProviderEntry& behind) {
  setenv(kCatalogueVariable, path.c_str(), 1);
  ndutil::ProviderEntry entry = behind;
  entry.path = verifier.wstring();
  entry.name = L"NetworkDirect verifier";
  if (entry.path.size() >= MAX_PATH) throw UserError(verifier.string() + ": the catalogue accepts paths of up to 259 characters");
  if (const int error = put_into_catalogue(entry)) {
    throw UserError(path.string() + ": the catalogue cannot be created here (Winsock error " + std::to_string(error) + ")");
  }
}

std::vector<std::string> environment_with(const std::filesystem::path& catalogue, const std::filesystem::path& report,
                                          const ndutil::ProviderEntry& behind, const std::vector<std::string>& without) {
  std::vector<std::string> made = own_environment();
  set_variable(made, kCatalogueVariable, catalogue);
  set_variable(made, narrow(ndutil::kLibrariesVariable), "");  // providers that would not be watched
  set_variable(made, "FABRICBENCH_ND_VERIFY_INNER", narrow(behind.library));
  set_variable(made, "FABRICBENCH_ND_VERIFY_REPORT", report);
  set_variable(made, "FABRICBENCH_ND_VERIFY_WITHOUT", fmt::format("{}", fmt::join(without, ",")));
  return made;
}

/// Signals of ours are the program's. A terminal has sent it Ctrl-C already.
ProgramEnd run_to_end(const VerifyArguments& arguments, std::vector<std::string> environment) {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&watched, signal);
  pthread_sigmask(SIG_BLOCK, &watched, nullptr);
  signal(SIGCHLD, SIG_DFL);  // whoever started us may ignore it, and then nobody is told of the program's end
  std::fflush(stdout);
  // Its output would spoil the document.
  const ProgramStreams streams{.output = arguments.json ? STDERR_FILENO : -1};
  const pid_t child = start_program(arguments.program, std::move(environment), streams);
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      return WIFSIGNALED(status) ? ProgramEnd{.signal = WTERMSIG(status)} : ProgramEnd{.code = WEXITSTATUS(status)};
    }
    siginfo_t info = {};
    const int signal = sigwaitinfo(&watched, &info);
    if (signal == SIGTERM || (signal == SIGINT && info.si_code != SI_KERNEL)) kill(child, signal);
  }
}

int verify(const VerifyArguments& arguments) {
  for (const std::string& name : arguments.without) {
    if (networkdirect::verifier::find_rule(name) == nullptr)
      throw UserError("--without " + name + ": no such rule" + did_you_mean(name, rule_names()));
  }
  const auto verifier = library_of_project(ndutil::kVerifierLibrary);
  const ndutil::ProviderEntry behind = provider_named(arguments.provider, arguments.guid);
  std::error_code none;
  if (std::filesystem::equivalent(behind.library, verifier, none)) {
    throw UserError(narrow(behind.library) + ": this is the verifier itself; name the provider behind it");
  }
  check_library(behind, !arguments.guid.empty());
  const PrivateDirectory directory("verify");
  const auto catalogue = directory.path() / "providers", path = directory.path() / "report";
  make_catalogue(catalogue, verifier, behind);
  const ProgramEnd end = run_to_end(arguments, environment_with(catalogue, path, behind, arguments.without));
  const VerifierReport report = read_verifier_report(path);
  if (arguments.json) {
    auto json = json_of(report, end);
    json["provider"] = narrow(behind.library);
    print_document(std::move(json));
  } else {
    std::fputs(text_of(report, end).c_str(), stdout);
  }
  std::fflush(stdout);
  if (report.violations() > 0) return exit_code::red;
  if (report.processes.empty()) throw UserError(arguments.program.front() + ": the program never opened the provider");
  const bool stopped = end.signal == SIGINT || end.signal == SIGTERM;
  return end.signal == 0 || stopped ? exit_code::good : exit_code::wrong_use;
}

}  // namespace

void add_networkdirect_verify(CLI::App& group, Outcome& outcome) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* command = group.add_subcommand("verify", "Run a program and check its use of the interface");
  set_help(*command,
           "  fabricbench networkdirect verify ./my-server --port 7000\n"
           "  fabricbench networkdirect verify --provider ./vendor.so -- ./my-client\n",
           "Exit codes: 0 no violation; 1 violations; 2 wrong use, or nothing to check: a program that cannot be run, never opens the "
           "provider, or "
           "crashes. With --json the program writes to standard error.");
  command->add_option("--provider", arguments->provider, "Library of the provider behind the verifier; default: the project's own")
      ->type_name("PATH");
  command->add_option("--guid", arguments->guid, "Class to request from its DllGetClassObject")->type_name("GUID");
  command->add_option("--without", arguments->without, "Skip this rule; may be repeated")->type_name("RULE")->allow_extra_args(false);
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->add_option("program", arguments->program, "The program and its arguments")->required()->type_name("PROGRAM");
  command->callback([&outcome, arguments] { outcome.code = verify(*arguments); });
}

}  // namespace fb::cli
