// fabricbench run: the suite against a product.
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/authentication.h"
#include "cli/common.h"
#include "cli/document.h"
#include "cli/rdma_device.h"
#include "cli/run_config.h"
#include "cli/suite_options.h"
#include "cli/tls_options.h"
#include "cli/usage.h"
#include "conformance/report/gatherer.h"
#include "conformance/report/report.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/driven_host.h"
#include "conformance/runner/embedded.h"
#include "conformance/runner/library_product.h"
#include "conformance/runner/nd_bench.h"
#include "conformance/runner/profiles.h"
#include "wire/fabrics/transports.h"
#include "sim/net/resolve.h"

namespace fb::cli {

namespace {

using namespace conformance;

struct RunArguments {
  Selection selection;
  RdmaDeviceArguments device;
  std::string dut = "embedded";
  std::string local;
  AuthenticationArguments authentication;
  std::vector<std::string> deviations;
  std::uint64_t seed = 1;
  std::string report;
  Captures captures = Captures::all;
  bool captures_given = false;
  std::string waivers;
  std::string profile;
  std::string date;
  unsigned jobs = default_jobs();
  std::vector<std::string> lanes;
  bool list_lanes = false;
  bool twice = false;
  bool slow = false;
  std::string arrange;
  std::string annotations;
  std::string config;
  bool no_config = false;
  bool json = false;
  bool verbose = false;
  TlsArguments tls;
};

/// What a host, or a library, speaks with the bench.
std::string fabric_named(const std::string& transport, const std::string& product) {
  if (transport == fabrics::kTcp || transport == fabrics::kRdma) return transport;
  throw UserError("--transport " + transport + ": " + product + " is tested over tcp or rdma");
}

/// Nothing runs against a product that says nothing.
void check_answers(const Product& product) {
  DeclarationCache declarations;
  const Declared& declared = declarations.of(product, nullptr, product.transport);
  if (!declared.known) throw UserError(product.url + ": " + declared.why);
}

Product product_of(const RunArguments& arguments) {
  std::string local = arguments.local;
  const bool host = arguments.dut.starts_with(kHostProduct);
  if (!host && arguments.dut.find("://") != std::string::npos && local.empty()) {
    local = to_string(or_throw(net::local_address_towards(or_throw(parse_fabric_url(arguments.dut)).to)));
  }
  Product product = or_throw(parse_product(arguments.dut, local));
  product.slow = arguments.slow;
  if (product.is_host() && !arguments.selection.transport.empty())
    product.transport = fabric_named(arguments.selection.transport, "a host");
  std::optional<auth::PskStore> keys = tls_keys(arguments.tls);
  if (keys && is_library(product)) throw UserError("--tls is for a product at tcp://...; a library has no transport of its own");
  if (keys && product.embedded) {
    throw UserError("--tls is for a product at tcp://...; the embedded one uses TLS if a case requires it");
  }
  if (keys) {
    check_tls_transport(arguments.tls, product.transport, product.url);
    product.tls = true;
    product.keys = std::move(*keys);
    product.identity_version = arguments.tls.identity_version;
  }
  if (product.embedded) {
    product.transport = arguments.selection.transport;
    product.layer = or_throw(parse_device_layer(arguments.device.name));
    return product;
  }
  if (is_library(product)) {
    load_library(product);
    if (!arguments.selection.transport.empty()) choose_transport(product, arguments.selection.transport);
  }
  choose_own_device(arguments.device, product);
  product.nonce = nonce();
  if (product.is_host() || !product.device.empty() || product.transport == kProviderTransport || is_medium(product.transport)) {
    return product;
  }
  product.secrets = arguments.authentication.secrets();
  if (!product.secrets.empty() && auth::secrets_of(product.secrets, kBenchHostNqn) == nullptr) {
    throw UserError(arguments.authentication.secret_file + ": no secret for " + std::string(kBenchHostNqn));
  }
  return product;
}

/// For the report: what the controller declares. Nothing where it does not answer any more.
std::vector<std::pair<std::string, std::string>> ask_product(const Product& product) {
  DeclarationCache declarations;
  const Declared& declared = declarations.of(product, nullptr, product.transport);
  if (!declared.known) return {};
  return facts_of_product(declared);
}

void check_date(const std::string& date) {
  if (!is_date(date)) throw UserError("'" + date + "': --today takes a date like 2027-01-31");
}

/// Cases that a product can be held against.
std::vector<const CaseInfo*> cases_for(const Product& product, const Selection& selection) {
  Selection wanted = selection;
  const std::vector<std::string> are = roles_of(product);
  if (!product.embedded && wanted.roles.empty()) wanted.roles = usual_roles_of(product);
  // The rest is about the fabric or about MCTP, which are the bench's here.
  if (is_library(product) && wanted.suites.empty() && wanted.cases.empty()) wanted.suites = {is_medium(product.transport) ? "mi" : "nvme"};
  for (const std::string& role : product.embedded ? std::vector<std::string>{} : wanted.roles) {
    if (std::ranges::find(are, role) != are.end()) continue;
    throw UserError("a product at " + product.url + " has the role " + fmt::format("{}", fmt::join(are, " or ")) +
                    "; other roles have no adapter yet");
  }
  if (!product.embedded) {
    if (!wanted.transport.empty() && wanted.transport != product.transport) {
      throw UserError("--transport " + wanted.transport + ": the product is at " + product.url);
    }
    wanted.transport = product.transport;
  }
  return or_throw(select(all_cases(), wanted));
}

/// A product that is no controller at an address; UserError where it says nothing.
void meet_other(Product& product) {
  if (product.is_host()) {
    product.abilities = meet_host(product);
  } else if (product.transport == kProviderTransport) {
    check_provider(product);
  } else if (!product.device.empty() || is_medium(product.transport)) {
    check_answers(product);
  }
}

/// Asks the program of --arrange what it can do to the product.
void meet_program(const RunArguments& arguments, Product& product) {
  if (arguments.arrange.empty()) return;
  if (product.is_host() || is_library(product) || !product.device.empty() || product.transport == kProviderTransport) {
    throw UserError("--arrange is for a controller or a management endpoint, not for " + product.url);
  }
  product.arranger = arguments.arrange;
  product.arrangeable = meet_arranger(product);
}

/// What the product is, before the first case: whether it is there, and the name of its subsystem where none was given.
/// Whatever else is wrong with it is for the cases to say. A report is written even if nobody is there.
std::optional<Stopped> meet(Product& product, bool report) {
  if (is_virtual(product)) return std::nullopt;
  if (!is_real_controller(product)) {
    try {
      meet_other(product);
    } catch (const UserError& problem) {
      if (!report) throw;
      return Stopped{{}, problem.what()};
    }
    return std::nullopt;
  }
  if (const auto down = why_absent(product)) return Stopped{{}, *down};
  name_subsystem(product);
  return std::nullopt;
}

/// How run_cases() begins its remark about a controller that a well-behaved host could not use; the second where what it declares
/// could be read all the same.
constexpr std::string_view kUndecided = "not all cases could be decided: ", kByHand = "the product was read by hand: ";

/// Deviations that no case of this run could have caught: a run that passes says nothing about them.
std::vector<std::string> deviations_without_effect(const deviations::DeviationSet& chosen, const RunResult& run) {
  std::vector<std::string> lines;
  for (const deviations::Deviation* one : chosen.chosen()) {
    const bool concerned = std::ranges::any_of(run.cases, [&](const CaseResult& result) {
      return result.info->requirement == one->requirement && result.verdict != Verdict::skip &&
             (result.transport.empty() || deviations::shows_over(*one, result.transport));
    });
    if (concerned) continue;
    std::string line = fmt::format("deviation '{}' could have no effect: no case of this run checks {}", one->name, one->requirement);
    std::string cases;
    for (const CaseInfo* info : all_cases()) {
      if (info->requirement == one->requirement) cases += (cases.empty() ? "" : ", ") + std::string(info->name);
    }
    lines.push_back(line + (cases.empty() ? "" : " (" + cases + (cases.find(',') == std::string::npos ? " does)" : " do)")));
  }
  return lines;
}

int finish(const RunArguments& arguments, RunResult& run, const ReportFacts& facts, const std::optional<ReportFolder>& folder,
           const Gatherer& gathered) {
  // The verdicts reach the terminal whatever becomes of the folder.
  const Result<void> written = folder ? folder->write(run, facts, &gathered) : Result<void>();
  if (arguments.json) {
    std::fputs(results_json(run, facts).c_str(), stdout);
  } else {
    std::fputs(terminal_summary(run, facts, arguments.report, arguments.verbose).c_str(), stdout);
    if (folder && written) {
      const std::string page = folder->page_problem();
      std::printf("report in %s%s\n", arguments.report.c_str(), page.empty() ? "/index.html" : (": " + page).c_str());
    }
  }
  if (!arguments.annotations.empty()) std::fputs(github_annotations(run, facts).c_str(), stdout);
  or_throw(written);
  if (run.interrupted) return exit_code::interrupted;
  // Nobody is there: what is left of a report says so, and so does this line.
  if (run.stopped && run.stopped->after.empty()) {
    const std::string& why = run.stopped->why;
    throw UserError(why.starts_with(facts.dut) ? why : facts.dut + ": " + why);
  }
  const Summary summary = summarize(run);
  // Nothing but INCONCLUSIVE is no good news.
  const bool decided = std::ranges::any_of(
      run.cases, [](const CaseResult& result) { return result.verdict != Verdict::inconclusive && result.verdict != Verdict::skip; });
  const auto open = std::ranges::find(run.cases, Verdict::inconclusive, &CaseResult::verdict);
  if (!decided && open != run.cases.end() && !summary.red) {
    throw UserError(fmt::format("{}: no case could be decided; {}: {}", facts.dut, open->info->name, open->reason));
  }
  // Nor is a product that no host can use, if no case says which rule it breaks.
  for (const std::string& remark : run.remarks) {
    const bool by_hand = remark.starts_with(kByHand) && open != run.cases.end();
    if (summary.red || (!by_hand && !remark.starts_with(kUndecided))) continue;
    throw UserError(facts.dut + ": " + std::string(kUndecided) + remark.substr(by_hand ? kByHand.size() : kUndecided.size()));
  }
  return summary.red ? exit_code::red : exit_code::good;
}

int list_lanes(bool json) {
  nlohmann::ordered_json all{{"lanes", nlohmann::ordered_json::array()}};
  for (const Lane& lane : all_lanes()) {
    if (!json) std::printf("%-20s  %s\n", std::string(lane.name).c_str(), std::string(lane.text).c_str());
    all["lanes"].push_back({{"name", lane.name}, {"text", lane.text}});
  }
  if (json) print_document(std::move(all));
  return exit_code::good;
}

/// Options that would have no effect.
void check_company(const RunArguments& arguments) {
  if (arguments.captures_given && arguments.report.empty()) throw UserError("--captures is about a report: add --report DIR");
  if (arguments.json && !arguments.annotations.empty()) throw UserError("--annotations and --json both need standard output");
  if (arguments.slow && arguments.dut.starts_with(kLibraryProduct)) {
    throw UserError("--slow is for a product in real time (--dut URL); in virtual time every case is run");
  }
  if (arguments.dut != "embedded") return;
  if (!arguments.local.empty()) throw UserError("--local is for a product at an address (--dut URL); the embedded one needs none");
  if (!arguments.arrange.empty()) throw UserError("--arrange is for a product at an address (--dut URL); the embedded one needs none");
  if (arguments.slow) throw UserError("--slow is for a product in real time (--dut URL); in virtual time every case is run");
}

int run_suite(const RunArguments& arguments) {
  if (arguments.list_lanes) return list_lanes(arguments.json);
  check_company(arguments);
  Expectations expectations;
  if (!arguments.waivers.empty()) expectations = or_throw(read_expectations(arguments.waivers));
  if (!arguments.profile.empty()) or_throw(add_named_profile(arguments.profile, expectations));
  const std::string date = arguments.date.empty() ? today() : arguments.date;
  check_date(date);
  RunOptions options;
  options.deviations = or_throw(deviations::DeviationSet::of_names(arguments.deviations));
  std::optional<ReportFolder> folder;
  if (!arguments.report.empty()) folder = or_throw(ReportFolder::open(arguments.report, arguments.captures));
  if (!arguments.deviations.empty() && arguments.dut != "embedded") {
    throw UserError("--deviation makes the embedded product misbehave; it cannot change " + arguments.dut);
  }

  if (!arguments.authentication.secret_file.empty() && arguments.dut == "embedded") {
    throw UserError("--dhchap-secret-file is for a product at an address; the embedded one has its own secrets");
  }

  Interrupter interrupter;
  const SignalWatcher watcher([&] { interrupter.fire(); });
  options.product = product_of(arguments);
  options.stopped = meet(options.product, folder.has_value());
  if (!options.stopped) meet_program(arguments, options.product);
  const auto cases = cases_for(options.product, arguments.selection);
  if (!arguments.lanes.empty()) options.lanes = or_throw(select_lanes(arguments.lanes, options.product));
  options.seed = arguments.seed;
  options.jobs = arguments.jobs;
  options.twice = arguments.twice;
  options.interrupter = &interrupter;
  Gatherer gathered(is_virtual(options.product));
  std::atomic_flag warned = ATOMIC_FLAG_INIT;
  if (folder) {
    options.watch = [&](const CaseInfo& info, std::string_view transport, std::string_view lane) {
      return gathered.watch(info, transport, lane);
    };
    // Without captures there is nothing to record.
    if (folder->kept() != Captures::none) {
      options.keep_capture = [&](const CaseResult& result, std::string_view transport, std::string_view lane,
                                 const capture::PcapngWriter& writer) {
        std::string name = folder->keep_capture(result, transport, lane, writer);
        if (name.empty() && !warned.test() && !folder->capture_problem().empty() && !warned.test_and_set()) {
          std::fprintf(stderr, "fabricbench: no more captures are kept: %s\n", folder->capture_problem().c_str());
        }
        return name;
      };
    }
  }
  ProgressLine progress;
  options.progress = [&](const CaseResult& result, std::size_t done, std::size_t all) {
    progress.show(std::to_string(done) + " of " + std::to_string(all) + "  " + name_in_lane(result));
  };
  ReportFacts facts{arguments.seed, arguments.dut, options.deviations.names(), now_text(), 0};
  const auto start = std::chrono::steady_clock::now();
  RunResult run = run_cases(cases, options);
  facts.duration_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress.clear();
  const bool declares = is_real_controller(options.product) || (is_library(options.product) && !is_medium(options.product.transport));
  if (folder && declares && !run.stopped && !run.interrupted) facts.product = ask_product(options.product);
  if (!run.interrupted && !run.stopped) {
    for (std::string& line : deviations_without_effect(options.deviations, run)) {
      std::fprintf(stderr, "fabricbench: %s\n", line.c_str());
      run.remarks.push_back(std::move(line));
    }
  }
  for (CaseResult& result : run.cases) dispose(result, expectations, date);
  for (std::string& remark : remarks_on(expectations, all_cases(), date)) run.remarks.push_back(std::move(remark));
  return finish(arguments, run, facts, folder, gathered);
}

/// What a configuration says, where the command line does not: the one that is named, or that of this folder.
void configure(CLI::App& command, RunArguments& arguments) {
  if (arguments.no_config || arguments.list_lanes) return;
  std::error_code error;
  if (arguments.config.empty() && !std::filesystem::exists(kRunConfigName, error)) return;
  const std::string path = arguments.config.empty() ? kRunConfigName : arguments.config;
  apply_run_config(command, path);
  if (!arguments.json) std::printf("configuration: %s\n", path.c_str());
}

}  // namespace

void add_selection(CLI::App& command, conformance::Selection& selection) {
  command.add_option("--suite", selection.suites, "Only these suites (fabrics, nvme, rdma, cm, tcp, auth, mctp, mi, networkdirect, ndk)")
      ->type_name("NAME")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--case", selection.cases, "Only cases that match the pattern ('connect_*')")
      ->type_name("GLOB")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--role", selection.roles, "Only cases of this role (controller, host, endpoint, provider, consumer, ...)")
      ->type_name("ROLE")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--transport", selection.transport, "Only over this transport (rdma, tcp, smbus, serial, pcie, nd, ndk)")
      ->type_name("NAME");
}

void add_run(CLI::App& app, Outcome& outcome) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Run the conformance suite against a product");
  set_help(*command,
           "  fabricbench run --report report\n"
           "  fabricbench run --suite fabrics --role controller --seed 7\n"
           "  fabricbench run --lanes all\n"
           "  fabricbench run --dut rdma://192.0.2.7:4420 --report report\n"
           "  fabricbench run --dut rdma://192.0.2.7:4420 --device verbs:rxe0\n"
           "  fabricbench run --dut verbs:rxe0 --local packet:veth1,192.0.2.9\n"
           "  fabricbench run --dut 'host:ssh root@lab fabricbench host drive' --local 192.0.2.1 --transport tcp\n"
           "  fabricbench run --dut lib:./engine.so --suite nvme --twice\n"
           "  fabricbench run --dut lib:./engine.so --transport smbus\n"
           "  fabricbench run --dut tcp://127.0.0.1:4420 --arrange 'fabricbench target drive --control unix:disk.sock'\n"
           "  fabricbench run --case connect_refuses_sqsize_zero --deviation connect_takes_sqsize_zero\n",
           exit_codes("all as expected", "a FAIL, an ERROR, an unexpected pass or a missed canary"));
  CLI::Option* const config =
      command
          ->add_option("--config", arguments->config, "Read options from this file; without it from fabricbench.toml, if there is one here")
          ->type_name("FILE");
  command->add_flag("--no-config", arguments->no_config, "Read no fabricbench.toml")->excludes(config);
  add_selection(*command, arguments->selection);
  command
      ->add_option("--dut", arguments->dut,
                   "The product: embedded, tcp://HOST:PORT[/NQN], rdma://HOST:PORT[/NQN], mctp:NET,EID, serial:PATH, ND:LIBRARY, "
                   "verbs:NAME, host:COMMAND (a host, and the program that drives it), or lib:FILE (a library of fabricbench/product.h)")
      ->type_name("URL")
      ->capture_default_str();
  command
      ->add_option("--device", arguments->device.name,
                   "RDMA device: softroce; ND:default or NDK:default (embedded); verbs:NAME (the bench's side of rdma://...)")
      ->type_name("DEVICE")
      ->capture_default_str();
  command
      ->add_option("--local", arguments->local,
                   "The bench's own address, l2:PATH,PEER,ADDRESS or packet:INTERFACE,ADDRESS, for a product that is not embedded; "
                   "the adapter of ND:LIBRARY")
      ->type_name("HOST");
  add_secret_file(*command, arguments->authentication);
  add_tls_host(*command, arguments->tls);
  command->add_option("--deviation", arguments->deviations, "Make the embedded product misbehave in this way (list --deviations)")
      ->type_name("NAME")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--seed", arguments->seed, "Seed of every random choice")->check(check_seed)->type_name("N")->capture_default_str();
  add_report_folder(*command, arguments->report);
  CLI::Option* const captures =
      command
          ->add_option("--captures", arguments->captures,
                       "Which captures the report keeps: all, failures (all but those of passed cases) or none [all; failures with "
                       "several lanes]")
          ->transform(one_of_words<Captures>({{"all", Captures::all}, {"failures", Captures::failures}, {"none", Captures::none}}))
          ->type_name("WHICH");
  command->add_option("--waivers", arguments->waivers, "Known failures of the product (YAML)")->type_name("FILE");
  command->add_option("--profile", arguments->profile, "A known peer: linux-6.1, or a file NAME.yaml")->type_name("NAME");
  command->add_option("--today", arguments->date, "Date for the expiry of waivers, for example 2027-01-31")->type_name("DATE");
  command->add_option("--jobs", arguments->jobs, "Cases at a time (embedded products)")
      ->check(CLI::Range(1u, 256u))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--lanes", arguments->lanes,
                   "Run the cases in these lanes (other queues, namespaces, ports ...; 'plain' is the usual run), or in all")
      ->type_name("LIST|all")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--list-lanes", arguments->list_lanes, "List the lanes");
  command->add_flag("--twice", arguments->twice, "Run each case twice and compare the digests");
  command->add_flag("--slow", arguments->slow, "Also run cases that take long in real time");
  command
      ->add_option("--arrange", arguments->arrange,
                   "The program that makes happen to the product what no host can: ANA states, temperatures, a loss of power ...")
      ->type_name("COMMAND");
  command->add_option("--annotations", arguments->annotations, "Also print failures as annotations of this CI system: github")
      ->check(one_of_texts({"github"}))
      ->type_name("SYSTEM");
  command->add_flag("--json", arguments->json, "Print the results as one JSON document");
  command->add_flag("--verbose", arguments->verbose, "Show why cases were skipped or waived");
  command->callback([arguments, captures, command, &outcome] {
    configure(*command, *arguments);
    arguments->captures_given = captures->count() > 0;
    // All lanes are tens of thousands of runs and gigabytes of captures.
    const auto& lanes = arguments->lanes;
    const bool several_lanes = lanes.size() > 1 || (!lanes.empty() && lanes.front() == "all");
    if (several_lanes && !arguments->captures_given) arguments->captures = Captures::failures;
    outcome.code = run_suite(*arguments);
  });
}

}  // namespace fb::cli
