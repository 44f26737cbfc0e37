// fabricbench replay: the same case again, byte for byte.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/rdma_device.h"
#include "cli/replay_world.h"
#include "cli/usage.h"
#include "conformance/report/gatherer.h"
#include "conformance/report/report.h"
#include "conformance/runner/driven_host.h"
#include "conformance/runner/json_problem.h"
#include "conformance/runner/library_product.h"
#include "conformance/runner/replay.h"
#include "conformance/runner/waivers.h"
#include "sim/net/resolve.h"

namespace fb::cli {

namespace {

using namespace conformance;

struct ReplayArguments {
  std::string what;
  std::string case_name;
  std::string local;
  RdmaDeviceArguments device;
  std::string report;
  unsigned times = 1;
  bool json = false;
};

/// A token, and the digest that it once gave (empty: not known).
struct Wanted {
  ReplayToken token;
  std::string digest;
};

/// From results.json: what failed or broke; everything when nothing did.
std::vector<Wanted> read_results(const std::string& path, const std::string& case_name) {
  std::ifstream file(path);
  if (!file) throw UserError("'" + path + "' is neither a replay token nor a file that can be read");
  std::vector<Wanted> all, failed;
  try {
    const nlohmann::json results = nlohmann::json::parse(file);
    for (const auto& one : results.at("cases")) {
      if (!case_name.empty() && one.at("name") != case_name) continue;
      all.push_back({or_throw(parse_replay_token(one.at("replay").get<std::string>())), one.at("digest")});
      if (one.at("verdict") == "fail" || one.at("verdict") == "error") failed.push_back(all.back());
    }
  } catch (const nlohmann::json::exception& problem) {
    throw UserError(path + " is no results.json of fabricbench: " + json_problem(problem));
  }
  if (all.empty()) throw UserError(path + " holds no case" + (case_name.empty() ? "" : " '" + case_name + "'"));
  return failed.empty() ? all : failed;
}

std::vector<Wanted> wanted_of(const ReplayArguments& arguments) {
  if (arguments.what.starts_with("fb1:")) return {{or_throw(parse_replay_token(arguments.what)), ""}};
  return read_results(arguments.what, arguments.case_name);
}

RunResult run_again(const Wanted& wanted, const ReplayArguments& arguments, const std::optional<ReportFolder>& folder, Gatherer& gathered,
                    Interrupter& interrupter) {
  const ReplayToken& token = wanted.token;
  if (token.version != tool_version()) {
    std::fprintf(stderr, "fabricbench: the token is of version %s, this is %s: the bytes may differ\n", token.version.c_str(),
                 std::string(tool_version()).c_str());
  }
  Selection selection;
  selection.cases = {token.case_name};
  const auto cases = or_throw(select(all_cases(), selection));
  RunOptions options;
  std::string local = arguments.local;
  const bool at_address = !token.dut.starts_with(kHostProduct) && token.dut.find("://") != std::string::npos;
  if (at_address && local.empty()) {
    local = to_string(or_throw(net::local_address_towards(or_throw(parse_fabric_url(token.dut)).to)));
  }
  options.product = or_throw(parse_product(token.dut, local));
  choose_own_device(arguments.device, options.product);
  const bool host = options.product.is_host();
  if (is_library(options.product)) load_library(options.product);
  if (is_virtual(options.product) || host) options.product.transport = token.transport;
  if (!options.product.embedded) {
    options.product.nonce = nonce();
    options.product.slow = true;
    if (host) options.product.abilities = meet_host(options.product);
    if (at_address) name_subsystem(options.product);
  }
  options.deviations = or_throw(deviations::DeviationSet::of_names(token.deviations));
  options.seed = token.seed;
  if (!token.lane.empty()) options.lanes = or_throw(select_lanes({token.lane}, options.product));
  options.interrupter = &interrupter;
  if (folder) {
    options.watch = [&](const CaseInfo& info, std::string_view transport, std::string_view lane) {
      return gathered.watch(info, transport, lane);
    };
    options.keep_capture = [&](const CaseResult& result, std::string_view transport, std::string_view lane,
                               const capture::PcapngWriter& writer) { return folder->keep_capture(result, transport, lane, writer); };
  }
  RunResult run = run_cases(cases, options);
  for (CaseResult& result : run.cases) dispose(result, {}, today());
  return run;
}

/// A file of a campaign's world; what cannot be read is not.
bool is_world(const std::string& path) {
  std::ifstream file(path);
  return file && conformance::is_replay_file(read_text(path));
}

int replay(const ReplayArguments& arguments) {
  if (!arguments.what.starts_with("fb1:") && is_world(arguments.what)) {
    return replay_world(arguments.what, arguments.report, arguments.json, arguments.times);
  }
  if (arguments.times != 1) throw UserError("--times is for the worlds of a campaign; a case is the same each time");
  const std::vector<Wanted> all = wanted_of(arguments);  // read before the folder, which may be the same, is emptied
  std::optional<ReportFolder> folder;
  if (!arguments.report.empty()) folder = or_throw(ReportFolder::open(arguments.report));
  Interrupter interrupter;
  const SignalWatcher watcher([&] { interrupter.fire(); });
  bool red = false;
  for (const Wanted& wanted : all) {
    Gatherer gathered(wanted.token.dut == "embedded" || wanted.token.dut.starts_with(kLibraryProduct));
    RunResult run = run_again(wanted, arguments, folder, gathered, interrupter);
    if (run.interrupted) return exit_code::interrupted;
    const ReportFacts facts{wanted.token.seed, wanted.token.dut, wanted.token.deviations, now_text(), 0};
    const Result<void> written = folder ? folder->write(run, facts, &gathered) : Result<void>();
    if (arguments.json) {
      std::fputs(results_json(run, facts).c_str(), stdout);
    } else {
      const CaseResult& result = run.cases.front();
      std::fputs(terminal_summary(run, facts, arguments.report, true).c_str(), stdout);
      const std::string digest = digest_text(result.digest);
      std::printf("%s: %s, digest %s%s\n", wanted.token.case_name.c_str(), std::string(name_of(result.verdict)).c_str(), digest.c_str(),
                  wanted.digest.empty()     ? ""
                  : wanted.digest == digest ? " (as in the report)"
                                            : " (the report has another digest)");
    }
    or_throw(written);
    red = red || summarize(run).red;
  }
  return red ? exit_code::red : exit_code::good;
}

}  // namespace

void add_replay(CLI::App& app, Outcome& outcome) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* command =
      app.add_subcommand("replay", "Run a case again from its replay token or a results.json, or a world from a campaign's file");
  set_help(*command,
           "  fabricbench replay fb1:connect_refuses_sqsize_zero:v=0.2.0:seed=1:dut=embedded:...\n"
           "  fabricbench replay report/results.json --case connect_refuses_sqsize_zero\n"
           "  fabricbench replay campaign/data-stale-17.json --report report\n"
           "  fabricbench replay campaign/rule-tcp-plen-controller-4.json --times 20\n",
           exit_codes("as expected", "a FAIL, an ERROR, or a world that fails"));
  command->add_option("what", arguments->what, "A replay token, a results.json, or a file that a campaign or shrink left")
      ->required()
      ->type_name("TOKEN|FILE");
  command->add_option("--case", arguments->case_name, "Only this case of the file")->type_name("NAME");
  command
      ->add_option("--local", arguments->local,
                   "The bench's own address, or l2:PATH,PEER,ADDRESS or packet:INTERFACE,ADDRESS, for a product at an address")
      ->type_name("HOST");
  command
      ->add_option("--device", arguments->device.name, "The bench's own RDMA device, for a product at rdma://...: softroce or verbs:NAME")
      ->type_name("DEVICE")
      ->capture_default_str();
  add_report_folder(*command, arguments->report);
  command->add_option("--times", arguments->times, "Run a campaign's world so often, and say in how many runs it fails again")
      ->type_name("N")
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Print the results as one JSON document");
  command->callback([arguments, &outcome] { outcome.code = replay(*arguments); });
}

}  // namespace fb::cli
