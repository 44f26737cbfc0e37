// fabricbench proxy: between somebody's hosts and somebody's controllers, with judgement and faults, live.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/wrap.h"
#include "cli/common.h"
#include "cli/live_output.h"
#include "cli/proxy_carriers.h"
#include "cli/real_session.h"
#include "cli/tls_options.h"
#include "cli/usage.h"
#include "conformance/live/live_judge.h"
#include "conformance/report/report.h"
#include "conformance/runner/product.h"
#include "model/proxy/faults.h"
#include "sim/capture/growing_file.h"
#include "sim/net/udp_port.h"
#include "wire/fabrics/transports.h"

namespace fb::cli {

namespace {

using conformance::LiveFinding;

constexpr Duration kTurn = Duration::ms(100);  // a capture on disk is at most so old
constexpr std::uint64_t kSeedDefault = 1;

struct ProxyArguments {
  std::vector<std::string> listen;
  std::vector<std::string> to;
  std::string plan;
  std::string seed;
  std::string report;
  std::string capture;
  TlsArguments tls;
  bool keep_discovery = false;
  bool busy_poll = false;
  bool json = false;
};

// ------------------------------------------------------------------------------------------- arguments

/// What hosts and controllers speak: that of the first URL, and of all others.
std::string_view transport_of(const ProxyArguments& arguments) {
  if (is_link(arguments.listen.front())) return fabrics::kRdma;
  const auto url = or_throw(conformance::parse_fabric_url(arguments.listen.front(), conformance::UrlPort::chosen));
  return fabrics::transport_named(url.transport).name;
}

Endpoint proxied_endpoint(const std::string& option, const std::string& text, std::string_view transport) {
  const auto port = option == "--listen" && transport == fabrics::kTcp ? conformance::UrlPort::chosen : conformance::UrlPort::needed;
  const conformance::FabricUrl url = or_throw(conformance::parse_fabric_url(text, port));
  if (url.transport != transport) {
    throw UserError(fmt::format("{} {}: a proxy carries one transport; the first URL begins with {}://", option, text, transport));
  }
  if (!url.nqn.empty()) throw UserError(option + " " + text + ": a proxy takes an address and a port, no NQN");
  return url.to;
}

/// Both sides of an RDMA proxy use UDP port 4791.
void check_addresses(const proxy::Route& route, const std::string& listen) {
  if (route.listen.address.is_v4() != route.to.address.is_v4()) {
    throw UserError("--listen " + listen + ": a proxy for NVMe/RDMA has IPv4 on both sides, or IPv6 on both");
  }
  if (route.listen.address != route.to.address) return;
  throw UserError("--listen " + listen + ": a proxy for NVMe/RDMA needs an address of its own, such as 127.0.0.2 on this machine");
}

std::vector<proxy::Route> routes_of(const ProxyArguments& arguments) {
  if (is_link(arguments.listen.front())) {
    if (arguments.listen.size() == 1 && arguments.to.size() == 1 && is_link(arguments.to.front())) return {};
    throw UserError("--listen " + arguments.listen.front() +
                    ": an Ethernet link leads to one other link, --to l2:PATH,PEER or packet:INTERFACE");
  }
  if (arguments.listen.size() != arguments.to.size()) {
    throw UserError(fmt::format("{} --listen and {} --to: they come in pairs, the first --listen leads to the first --to",
                                arguments.listen.size(), arguments.to.size()));
  }
  const std::string_view transport = transport_of(arguments);
  std::vector<proxy::Route> routes;
  for (std::size_t i = 0; i < arguments.listen.size(); ++i) {
    const proxy::Route route{proxied_endpoint("--listen", arguments.listen[i], transport),
                             proxied_endpoint("--to", arguments.to[i], transport)};
    if (transport == fabrics::kRdma) check_addresses(route, arguments.listen[i]);
    const auto same = [&](const proxy::Route& one) {
      return (one.listen == route.listen && route.listen.port != 0) || one.listen == route.to || one.to == route.listen;
    };
    if (route.listen == route.to || std::ranges::any_of(routes, same)) {
      throw UserError("--listen " + arguments.listen[i] + ": each --listen is an address of its own, and none leads to another");
    }
    routes.push_back(route);
  }
  return routes;
}

fault::Plan proxy_plan(const ProxyArguments& arguments) {
  fault::Plan plan = plan_of_proxy(arguments.plan, arguments.seed);
  or_throw(proxy::reaches(plan, transport_of(arguments)));
  return plan;
}

// ---------------------------------------------------------------------------------------------- output

void print_end(const live::LiveJudge& judge, const conformance::RunResult& run, const ProxyCarrier& between, const fault::Points* points) {
  std::string text = between.summary(judge);
  if (points != nullptr) text += fmt::format(", {}", counted(points->strikes().size(), "fault"));
  std::fputs(wrap(text, 2).c_str(), stdout);
  print_left_out(judge.left_out());
  const auto& findings = judge.findings();
  const auto count_of = [&](auto&& holds) { return static_cast<std::uint64_t>(std::ranges::count_if(findings, holds)); };
  std::string verdict = findings.empty() ? "no findings" : counted(findings.size(), "finding");
  if (!findings.empty()) {
    const std::uint64_t of_host = count_of([](const LiveFinding& one) { return one.side == conformance::Side::host; });
    verdict += fmt::format(" ({} of the host, {} of the controller", of_host, findings.size() - of_host);
    const std::uint64_t advices = count_of([](const LiveFinding& one) { return monitors::only_advises(one.finding.rule); });
    verdict += advices == 0 ? ")" : fmt::format("; {} advice)", advices);
  }
  verdict += fmt::format(" of {} that had something to check", counted(run.cases.size(), "rule"));
  std::fputs(wrap(verdict, 2).c_str(), stdout);
}

// ------------------------------------------------------------------------------------------------ TLS

/// Opens the TLS of hosts and closes it again towards controllers, with the key of the names that the host has shown.
class OpenedTls {
 public:
  OpenedTls(World& world, net::StreamHost& streams, auth::PskStore keys, const TlsArguments& arguments)
      : keys_(std::move(keys)), side_(world, streams, keys_, options_of(arguments)) {
    side_.on_refused([](const Endpoint& peer, const std::string& why) {
      std::fprintf(stderr, "fabricbench: refused %s: %s\n", to_string(peer).c_str(), why.c_str());
    });
  }
  void give_to(proxy::ProxyOptions& options) {
    options.from_hosts = &side_.listening();
    options.towards = [this](std::string_view identity) { return towards(identity); };
  }

 private:
  static transport::TlsSideOptions options_of(const TlsArguments& arguments) {
    transport::TlsSideOptions options{.name = "proxy.tls", .identity_version = arguments.identity_version};
    options.tls.handshake_timeout = kHandshakePatience;
    return options;
  }
  Result<net::StreamHost*> towards(std::string_view identity) {
    const auto names = auth::PskIdentity::parse(identity);
    if (!names) return Failure{Problem{"the host shows a key without names: " + std::string(identity)}};
    net::StreamHost*& streams = as_[{names->hostnqn, names->subnqn}];
    if (streams == nullptr) streams = &side_.streams_as(names->hostnqn, names->subnqn);
    return streams;
  }
  auth::PskStore keys_;
  transport::TlsSide side_;
  std::map<std::pair<std::string, std::string>, net::StreamHost*> as_;
};

// ------------------------------------------------------------------------------------------------ run

std::unique_ptr<capture::GrowingFile> open_capture(World& world, const std::string& path) {
  if (path.empty()) return nullptr;
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t wall_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(wall).count();
  return or_throw(capture::GrowingFile::create(
      path,
      {.title = "fabricbench proxy", .interface = "fabric", .epoch_ns = wall_ns - world.now().count_ns(), .decoders = &world.trace()}));
}

/// Dissectors know NVMe/TCP by its port alone: in the capture the ends of controllers have it, whatever they listen on.
class ShownOnKnownPort final : public TraceSink {
 public:
  explicit ShownOnKnownPort(TraceSink& to) : to_(to) {}
  void on_event(const TraceEvent& event) override {
    TraceEvent shown = event;
    const bool by_controller = event.actor == proxy::actors::controller || event.actor == proxy::actors::towards_host;
    if (event.tcp != nullptr) (by_controller ? shown.source : shown.destination).port = kKnownPort;
    to_.on_event(shown);
  }

 private:
  static constexpr std::uint16_t kKnownPort = 4420;
  TraceSink& to_;
};

/// Until a signal comes.
void pass_on(World& world, capture::GrowingFile* capture) {
  std::string told;
  try {
    for (;;) {
      world.run_for(kTurn);
      if (capture == nullptr) continue;
      capture->flush();
      if (capture->problem() == told) continue;
      told = capture->problem();
      std::fprintf(stderr, "fabricbench: %s; the capture ends here\n", told.c_str());
    }
  } catch (const WaitFailure&) {
    // A signal: the caller closes the connections in order.
  }
}

int run_proxy(const ProxyArguments& arguments) {
  const std::vector<proxy::Route> routes = routes_of(arguments);
  const fault::Plan plan = proxy_plan(arguments);
  const std::string_view transport = transport_of(arguments);
  check_tls_transport(arguments.tls, std::string(transport), arguments.listen.front());
  std::optional<auth::PskStore> keys = tls_keys(arguments.tls);
  const bool with_faults = !plan.rules.empty();
  const std::uint64_t seed = arguments.seed.empty() ? kSeedDefault : std::stoull(arguments.seed);
  std::optional<conformance::ReportFolder> folder;
  if (!arguments.report.empty()) folder = or_throw(conformance::ReportFolder::open(arguments.report));

  // Both connections of a pair are shown by the proxy, as one where nothing comes between them.
  const bool on_links = routes.empty();
  RealSession session("proxy", {.address = on_links ? IpAddress{} : routes.front().listen.address}, {});
  World& world = session.world();
  net::RealHostOptions host_options;
  host_options.streams_traced = host_options.datagrams_traced = false;
  net::RealHost machine(world, host_options);
  if (arguments.busy_poll) world.real_loop()->set_busy_poll(true);
  const SignalWatcher signals([&] { world.interrupt(); });
  probe_controllers(world, machine, transport, routes);

  live::LiveJudgeOptions judge_options{.both_connections = with_faults, .tcp_ports = {}, .transport = transport};
  for (const proxy::Route& route : routes) {
    for (const Endpoint& at : {route.listen, route.to}) judge_options.tcp_ports.push_back(at.port);
  }
  live::LiveJudge judge(judge_options);
  if (!arguments.json) judge.on_finding = [](const LiveFinding& found) { print_live(found, name_of(found.side)); };
  std::optional<fault::Points> points;
  if (with_faults) points.emplace(world, fault::generate(plan, seed, proxy::places_of_proxy(transport)));

  const std::unique_ptr<capture::GrowingFile> capture = open_capture(world, arguments.capture);
  std::optional<ShownOnKnownPort> shown;
  if (capture != nullptr) world.trace().add_sink(shown.emplace(*capture));
  world.trace().add_sink(judge, TraceSink::Hears::wire);
  proxy::ProxyOptions options{.routes = routes, .keep_discovery = arguments.keep_discovery, .faults = points ? &*points : nullptr};
  std::optional<OpenedTls> tls;
  if (keys) tls.emplace(world, machine, std::move(*keys), arguments.tls).give_to(options);
  const Remark remark = [](const std::string& words) { std::fprintf(stderr, "fabricbench: %s\n", words.c_str()); };
  const std::unique_ptr<ProxyCarrier> between = on_links
                                                    ? carry_frames(world, arguments.listen.front(), arguments.to.front(), options.faults)
                                                : transport == fabrics::kRdma ? carry_rdma(world, machine, options, remark)
                                                                              : carry_tcp(world, machine, options, remark);
  for (const std::string& way : between->ways()) std::fprintf(arguments.json ? stderr : stdout, "listening %s\n", way.c_str());
  flush_output();

  conformance::ReportFacts facts;
  facts.seed = seed;
  facts.dut = on_links ? arguments.to.front() : conformance::url_text(transport, routes.front().to);
  facts.started = now_text();
  facts.replayable = false;
  const Instant begun = world.now();
  pass_on(world, capture.get());
  between->close();
  judge.finish();
  world.trace().remove_sink(judge);
  if (shown) world.trace().remove_sink(*shown);
  facts.duration_s = static_cast<double>((world.now() - begun).count_ns()) / 1e9;

  conformance::RunResult run = judge.result();
  run.remarks = judge.remarks();
  if (with_faults) {
    for (const fault::Strike& strike : points->strikes()) run.remarks.push_back("fault: " + fault::tell(strike.decision));
    if (points->strikes().empty()) run.remarks.push_back("none of the plan's faults occurred");
  }
  if (!arguments.json) print_end(judge, run, *between, points ? &*points : nullptr);
  if (folder) or_throw(folder->write(run, facts));
  if (arguments.json) std::fputs(conformance::results_json(run, facts).c_str(), stdout);
  return judge.findings().empty() ? exit_code::good : exit_code::red;
}

}  // namespace

void add_proxy(CLI::App& app, Outcome& outcome) {
  auto* command =
      app.add_subcommand("proxy", "Stand between hosts and controllers of NVMe/TCP or NVMe/RDMA: judge what passes, and break it by plan");
  set_help(*command,
           "  fabricbench proxy --listen tcp://192.0.2.1:4420 --to tcp://192.0.2.7:4420 --report report\n"
           "  fabricbench proxy --listen tcp://192.0.2.1:4420 --to tcp://192.0.2.7:4420 --faults plan.yaml --seed 7 "
           "--capture lab.pcapng\n"
           "  fabricbench proxy --listen tcp://192.0.2.1:8009 --to tcp://192.0.2.7:8009 "
           "--listen tcp://192.0.2.1:4420 --to tcp://192.0.2.7:4420\n"
           "  fabricbench proxy --listen rdma://192.0.2.1:4420 --to rdma://192.0.2.7:4420\n",
           exit_codes("ended by SIGINT or SIGTERM without findings", "there are findings, advice among them"));
  auto arguments = std::make_shared<ProxyArguments>();
  command
      ->add_option("--listen", arguments->listen,
                   "Where hosts connect to, tcp://ADDRESS:PORT (0: the system chooses) or rdma://ADDRESS:PORT; may be "
                   "repeated, each with its --to. Or the Ethernet link of RDMA hosts: packet:INTERFACE, l2:PATH,PEER")
      ->required()
      ->type_name("URL")
      ->allow_extra_args(false);
  command
      ->add_option("--to", arguments->to,
                   "The controller or discovery service behind it, with the same transport; or the link of controllers")
      ->required()
      ->type_name("URL")
      ->allow_extra_args(false);
  command->add_option("--faults", arguments->plan, "A fault plan (YAML); campaign --list-faults lists the kinds")->type_name("PLAN");
  command->add_option("--seed", arguments->seed, "Seed of the faults; default 1")->check(&check_seed)->type_name("N");
  command->add_flag("--keep-discovery", arguments->keep_discovery,
                    "Pass discovery log pages as they are: hosts may connect past the proxy");
  add_tls_proxy(*command, arguments->tls);
  add_report_folder(*command, arguments->report);
  command->add_option("--capture", arguments->capture, "Write a capture (pcapng) while it runs")->type_name("FILE");
  command->add_flag("--busy-poll", arguments->busy_poll, "Never sleep: lower latency, one core fully used");
  command->add_flag("--json", arguments->json, "Print the results as one JSON document at the end");
  command->callback([arguments, &outcome] { outcome.code = run_proxy(*arguments); });
}

}  // namespace fb::cli
