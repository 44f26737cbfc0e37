// fabricbench campaign: many worlds under faults, and what the failures among them have in common.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/common.h"
#include "cli/document.h"
#include "cli/host_session.h"
#include "cli/remote_seeds.h"
#include "cli/usage.h"
#include "conformance/campaign/campaign.h"
#include "conformance/report/document.h"
#include "conformance/report/report.h"
#include "conformance/runner/json_problem.h"
#include "wire/fabrics/transports.h"

namespace fb::cli {

namespace {

using namespace conformance;

struct CampaignArguments {
  std::string workload = "mixed";
  std::string dut;
  std::string time;
  std::string plan;
  std::string seeds = "1..1000";
  std::string out = "campaign";
  std::string resume;
  std::optional<std::string> dask;
  std::vector<std::string> deviations;
  std::size_t steps = 60;
  std::size_t failures_max = 0;
  unsigned jobs = default_jobs();
  bool twice = false;
  bool json = false;
  bool list_faults = false;
  bool print_plan = false;
  bool keep = false;  ///< --out was given
};

std::string_view transport_of(const CampaignArguments& arguments) {
  return fabrics::transport_named(or_throw(parse_fabric_url(arguments.dut)).transport).name;
}

fault::Plan plan_of(const CampaignArguments& arguments) {
  if (arguments.plan.empty()) return arguments.dut.empty() ? standard_plan() : product_plan(transport_of(arguments));
  if (arguments.plan == "none") return {};
  return or_throw(fault::parse_plan(read_text(arguments.plan), arguments.plan));
}

/// An amount that a plan gives, with its unit where that is not a time (10us) or plain.
const char* amount_word(fault::Unit unit) {
  switch (unit) {
    case fault::Unit::bytes:
      return "AMOUNT bytes";
    case fault::Unit::nanoseconds:
      return "AMOUNT (a time)";
    case fault::Unit::rate:
      return "AMOUNT kB/s";
    default:
      return "AMOUNT";
  }
}

void list_faults() {
  std::printf("%-17s %-11s %s\n", "KIND", "WHERE", "WHAT");
  for (const fault::KindFacts& facts : fault::all_kinds()) {
    std::string what(facts.story);
    for (const auto& [from, to] : {std::pair{"{thing}", "it"}, std::pair{"{amount}", amount_word(facts.unit)}}) {
      if (const std::size_t at = what.find(from); at != std::string::npos) what.replace(at, std::string_view(from).size(), to);
    }
    if (facts.lies) what += " *";
    std::printf("%-17s %-11s %s\n", std::string(facts.name).c_str(), std::string(fault::name_of(facts.site)).c_str(), what.c_str());
  }
  std::puts("* cannot be detected: a world with this fault is inconclusive instead of failed");
}

void print_faults_json() {
  nlohmann::ordered_json kinds = nlohmann::ordered_json::array();
  for (const fault::KindFacts& facts : fault::all_kinds()) {
    kinds.push_back({{"kind", facts.name}, {"where", fault::name_of(facts.site)}, {"what", facts.story}, {"undetectable", facts.lies}});
  }
  print_document({{"faults", kinds}});
}

/// "data: stale" -> "data-stale".
std::string slug_of(const std::string& signature) {
  std::string slug;
  for (const char c : signature.substr(0, 48)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      slug += c;
    else if (!slug.empty() && slug.back() != '-')
      slug += '-';
  }
  while (slug.ends_with('-')) slug.pop_back();
  return slug;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) throw UserError(path.parent_path().string() + ": " + error.message());
  or_throw(capture::write_atomically(path.string(), Bytes(text.begin(), text.end())));
}

/// The file of each failure, in the same order.
std::vector<std::string> replay_names(const CampaignArguments& arguments, const CampaignResult& result) {
  std::vector<std::string> names;
  for (const CampaignFailure& failure : result.state.failures) {
    const auto path = std::filesystem::path(arguments.out) / fmt::format("{}-{}.json", slug_of(failure.signature), failure.seed);
    names.push_back(path.string());
  }
  return names;
}

/// Writes them, behind the result itself. What is wrong with the folder, if anything: the verdict is printed all the same.
std::string write_files(const std::string& file, const std::string& json, const CampaignOptions& options, const CampaignResult& result,
                        const std::vector<std::string>& replays) {
  try {
    write_file(file, json);
    for (std::size_t i = 0; i < replays.size(); ++i) write_file(replays[i], to_json(replay_of(options, result.state.failures[i])));
  } catch (const UserError& problem) {
    return problem.what();
  }
  return {};
}

std::string plan_digest(const fault::Plan& plan) { return digest_text(hash_name(fault::to_yaml(plan))); }

nlohmann::ordered_json result_json(const CampaignOptions& options, const CampaignResult& result, const std::vector<std::string>& replays) {
  nlohmann::ordered_json json;
  json["workload"] = options.workload;
  if (!options.product.empty()) json["product"] = options.product;
  json["version"] = tool_version();
  json["plan"] = options.plan.name;
  json["plan_digest"] = plan_digest(options.plan);
  json["seeds"] = fmt::format("{}..{}", options.seeds.first, options.seeds.last);
  json["steps"] = options.steps;
  json["deviations"] = options.deviations;
  json["worlds"] = result.worlds;
  json["inconclusive"] = result.state.inconclusive;
  json["strikes"] = result.state.strikes;
  json["failures"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < result.state.failures.size(); ++i) {
    const CampaignFailure& failure = result.state.failures[i];
    json["failures"].push_back({{"signature", failure.signature},
                                {"text", failure.text},
                                {"seed", failure.seed},
                                {"count", failure.count},
                                {"digest", digest_text(failure.digest)},
                                {"replay", replays[i]}});
  }
  json["canary"] = result.canary;
  json["interrupted"] = result.interrupted;
  json["next"] = result.state.next;
  json["rate_per_s"] = result.rate();
  json["seconds"] = result.seconds;
  json["digest"] = digest_text(result.state.digest);
  return json;
}

/// Where an earlier run of the same campaign stopped.
CampaignState read_state(const std::string& path, const CampaignOptions& options) {
  CampaignState state;
  try {
    const nlohmann::json json = nlohmann::json::parse(read_text(path));
    const std::string seeds = fmt::format("{}..{}", options.seeds.first, options.seeds.last);
    const bool same = json.at("workload") == options.workload && json.value("product", "") == options.product &&
                      json.at("version") == tool_version() && json.at("plan_digest") == plan_digest(options.plan) &&
                      json.at("seeds") == seeds && json.at("steps") == options.steps && json.at("deviations") == options.deviations;
    if (!same) throw UserError(path + ": it is of another campaign (workload, plan, seeds, steps, deviations or version differ)");
    state.next = json.at("next");
    state.digest = std::stoull(json.at("digest").get<std::string>(), nullptr, 16);
    state.inconclusive = json.at("inconclusive");
    state.strikes = json.at("strikes");
    for (const auto& one : json.at("failures")) {
      state.failures.push_back({one.at("signature"), one.at("text"), one.at("seed"), one.at("count"),
                                std::stoull(one.at("digest").get<std::string>(), nullptr, 16)});
    }
  } catch (const nlohmann::json::exception& problem) {
    throw UserError(path + " is no result of a campaign: " + json_problem(problem));
  } catch (const std::logic_error&) {
    throw UserError(path + " is no result of a campaign: it contains an invalid digest");
  }
  return state;
}

void print_result(const CampaignOptions& options, const CampaignResult& result, const std::vector<std::string>& replays) {
  for (std::size_t i = 0; i < result.state.failures.size(); ++i) {
    const CampaignFailure& failure = result.state.failures[i];
    fmt::print("FAIL  {}\n      {}, first with seed {}\n      {}\n      fabricbench shrink {}\n", failure.signature,
               counted(failure.count, "world", "worlds"), failure.seed, failure.text, replays[i]);
  }
  const CampaignState& state = result.state;
  fmt::print("{} of {} under plan {}, {}\n", counted(result.worlds, "world", "worlds"),
             options.product.empty() ? options.workload : options.product, options.plan.name,
             counted(state.strikes, "fault occurred", "faults occurred"));
  fmt::print("{}, {} inconclusive\n", counted(state.failures.size(), "distinct failure", "distinct failures"), state.inconclusive);
  fmt::print("canary {}, {:.0f} worlds a second, digest {}{}\n", result.canary, result.rate(), digest_text(state.digest),
             result.interrupted ? ", INTERRUPTED" : "");
  if (result.canary == "missed") {
    std::puts("The planted defect was not found: the results of this campaign do not count.");
  }
}

/// `before` of them were done when this run began.
std::string progress_text(const CampaignOptions& options, std::uint64_t done, std::uint64_t before, std::size_t failures, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(done - before) / seconds : 0;
  const double left = rate > 0 ? static_cast<double>(options.seeds.count() - done) / rate : 0;
  return fmt::format("{} of {} worlds, {:.0f}/s, {:.0f} s left, {} distinct failures", done, options.seeds.count(), rate, left, failures);
}

/// What a cluster that is lost on the way has done is kept; `lost` says why it ended.
void run_elsewhere(CampaignOptions& options, RemoteSeeds& remote, std::string& lost) {
  options.elsewhere = [&remote, &lost, any = false](std::uint64_t first, std::uint64_t count) mutable {
    try {
      auto outcomes = remote.next(first, count);
      any = true;
      return outcomes;
    } catch (const UserError& problem) {
      if (!any) throw;
      lost = problem.what();
      return std::vector<SeedOutcome>();
    }
  };
}

/// "90s", "30m", "2h"; 0 where there is none.
double seconds_of(const std::string& text) {
  if (text.empty()) return 0;
  const auto time = parse_duration(text);
  if (!time || *time <= Duration{}) throw UserError("--time " + text + ": not a time such as 90s, 30m or 2h");
  return static_cast<double>(time->count_ns()) / 1e9;
}

/// A product at an address: what its URL names, or what its discovery service lists.
void take_product(const CampaignArguments& arguments, CampaignOptions& options) {
  const std::string transport(transport_of(arguments));
  if (arguments.workload != "mixed" && arguments.workload != transport) {
    throw UserError("--dut " + arguments.dut + ": it is tested by the workload " + transport + ", not " + arguments.workload);
  }
  if (!arguments.deviations.empty()) throw UserError("--deviation is for the embedded products; --dut tests another one");
  if (arguments.twice) throw UserError("--twice compares digests, which a product in real time does not have");
  if (arguments.dask) throw UserError("--dask shares out simulated worlds; the product of --dut is here");
  HostArguments host;
  host.url = arguments.dut;
  HostSession session(host);
  options.product = url_text(transport, session.url().to) + "/" + session.subsystem_nqn();
  options.workload = transport;
}

int campaign(const CampaignArguments& arguments) {
  if (arguments.list_faults) {
    arguments.json ? print_faults_json() : list_faults();
    return exit_code::good;
  }
  CampaignOptions options;
  options.plan = plan_of(arguments);
  if (arguments.print_plan) {
    std::fputs(fault::to_yaml(options.plan).c_str(), stdout);
    return exit_code::good;
  }
  options.workload = arguments.workload;
  if (!arguments.dut.empty()) take_product(arguments, options);
  options.seconds_max = seconds_of(arguments.time);
  options.seeds = or_throw(parse_seeds(arguments.seeds));
  options.steps = arguments.steps;
  options.jobs = arguments.jobs;
  options.deviations = or_throw(deviations::DeviationSet::of_names(arguments.deviations)).names();
  options.twice = arguments.twice;
  options.failures_max = arguments.failures_max;
  CampaignState state;
  if (!arguments.resume.empty()) {
    state = read_state(arguments.resume, options);
    options.resume = &state;
  }
  Interrupter interrupter;
  const SignalWatcher watcher([&] { interrupter.fire(); });
  options.interrupter = &interrupter;
  ProgressLine progress;
  const auto began = std::chrono::steady_clock::now();
  options.progress = [&](std::uint64_t done, std::size_t failures) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const std::uint64_t before = options.resume == nullptr ? 0 : state.next - options.seeds.first;
    progress.show(progress_text(options, done, before, failures, seconds));
  };
  std::optional<RemoteSeeds> remote;
  std::string lost;
  if (arguments.dask) {
    remote.emplace(*arguments.dask, options, [&progress](const std::string& note) {
      progress.clear();
      std::fprintf(stderr, "fabricbench: %s\n", note.c_str());
    });
    run_elsewhere(options, *remote, lost);
  }
  const CampaignResult result = run_campaign(options);
  remote.reset();
  progress.clear();
  const std::vector<std::string> replays = replay_names(arguments, result);
  const std::string json = versioned(result_json(options, result, replays)).dump(1) + "\n";
  const std::string file = (std::filesystem::path(arguments.out) / "campaign.json").string();
  const bool keep = arguments.keep || result.interrupted || !replays.empty();
  const std::string problem = keep ? write_files(file, json, options, result, replays) : std::string();
  if (arguments.json) {
    std::fputs(json.c_str(), stdout);
  } else {
    print_result(options, result, replays);
    if (keep && problem.empty()) std::printf("result in %s\n", file.c_str());
    if (result.interrupted && problem.empty()) std::printf("continue with the same options and --resume %s\n", file.c_str());
  }
  if (!problem.empty()) throw UserError(problem);
  if (!lost.empty()) throw UserError(lost);
  if (result.interrupted) return exit_code::interrupted;
  if (replays.empty() && result.state.strikes == 0 && !options.plan.rules.empty()) {
    throw UserError(
        fmt::format("no fault of plan {} occurred in {}, so nothing was tested under faults; check 'from', 'to' and 'every' of its "
                    "rules, or run more seeds ('--faults none' is a campaign without faults)",
                    options.plan.name, counted(result.worlds, "world", "worlds")));
  }
  return replays.empty() && result.canary == "caught" ? exit_code::good : exit_code::red;
}

}  // namespace

void add_campaign(CLI::App& app, Outcome& outcome) {
  auto arguments = std::make_shared<CampaignArguments>();
  CLI::App* command = app.add_subcommand("campaign", "Run many seeded worlds under faults and collect the failures");
  std::string known;
  for (const WorkloadFacts& facts : workloads()) known += (known.empty() ? "" : ", ") + std::string(facts.name);
  set_help(*command,
           "  fabricbench campaign --seeds 1..10000\n"
           "  fabricbench campaign --workload tcp --faults plan.yaml --seeds 1..500 --output nightly\n"
           "  fabricbench campaign --print-plan > plan.yaml\n"
           "  fabricbench campaign --deviation rdma_executes_duplicates --seeds 1..200\n"
           "  fabricbench campaign --seeds 1..1000000 --dask tcp://scheduler:8786\n"
           "  fabricbench campaign --dut tcp://192.0.2.7:4420 --seeds 1..10000 --time 2h --output nightly\n",
           exit_codes("no failure", "a failure, or a missed canary"));
  command->add_option("--workload", arguments->workload, "What the worlds do: " + known)->type_name("NAME")->capture_default_str();
  command
      ->add_option("--dut", arguments->dut,
                   "A controller to test in real time: tcp://HOST:PORT[/NQN] or rdma://HOST:PORT[/NQN]. Data at the start of its "
                   "first namespace is lost")
      ->type_name("URL");
  command->add_option("--time", arguments->time, "Begin no further world after this time: 90s, 30m, 2h")->type_name("TIME");
  command->add_option("--faults", arguments->plan, "Fault plan; default: the standard plan; none: no faults")->type_name("FILE");
  command->add_option("--seeds", arguments->seeds, "One world for each seed: a number or a range")
      ->type_name("A..B")
      ->capture_default_str();
  command->add_option("--steps", arguments->steps, "Commands of one world")
      ->check(CLI::Range(1u, 100000u))
      ->type_name("N")
      ->capture_default_str();
  CLI::Option* jobs = command->add_option("--jobs", arguments->jobs, "Worlds at a time")
                          ->check(CLI::Range(1u, 256u))
                          ->type_name("N")
                          ->capture_default_str();
  command->add_option("--dask", arguments->dask, "Run them on the workers of this Dask scheduler")->type_name("URL")->excludes(jobs);
  command->add_option("--deviation", arguments->deviations, "Make the products misbehave in this way (list --deviations)")
      ->type_name("NAME")
      ->delimiter(',')
      ->allow_extra_args(false);
  CLI::Option* out = add_output(*command, arguments->out, "Folder for the result and the files to replay", "DIR");
  add_hidden_name(*command, "--report", *out);
  command->add_option("--resume", arguments->resume, "Continue where this result (campaign.json) ended")->type_name("FILE");
  command->add_option("--stop-after", arguments->failures_max, "Stop after this many distinct failures; 0: never")
      ->check(check_number)
      ->type_name("N");
  command->add_flag("--twice", arguments->twice, "Run each world twice and compare the digests");
  command->add_flag("--list-faults", arguments->list_faults, "Print the kinds of faults and stop");
  command->add_flag("--print-plan", arguments->print_plan, "Print the plan as YAML and stop");
  command->add_flag("--json", arguments->json, "Print the result as one JSON document");
  command->callback([arguments, out, &outcome] {
    arguments->keep = out->count() > 0;
    outcome.code = campaign(*arguments);
  });
}

}  // namespace fb::cli
