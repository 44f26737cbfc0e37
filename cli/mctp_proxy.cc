#include "cli/mctp_proxy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <optional>

#include "base/wrap.h"
#include "cli/live_output.h"
#include "cli/tls_options.h"
#include "cli/usage.h"
#include "conformance/live/bus_judge.h"
#include "conformance/report/report.h"
#include "sim/fault/frame_faults.h"
#include "sim/fault/plan.h"
#include "sim/mctp/serial_fd.h"
#include "wire/mctp/packet.h"

namespace fb::cli {

namespace {

constexpr std::uint64_t kSeedDefault = 1;
constexpr std::size_t kQueueMax = 256;  // packets that wait for a slow line; then the oldest is lost, as on a line that is too slow
const std::vector<fault::Place> kPlaces = {{fault::Site::frame, "bus"}};

struct MctpProxyArguments {
  std::string serial;
  std::string to_serial;
  std::string plan;
  std::string seed;
  std::string report;
  std::string capture;
  bool json = false;
};

/// What both lines pass: asked about every frame in the order of arrival.
struct Passing {
  World& world;
  live::BusJudge& judge;
  fault::FrameFaults* faults = nullptr;
  std::uint64_t frames = 0;
};

/// Takes what arrives on one line to the other.
class Direction final : public mctp::PacketSink {
 public:
  Direction(Passing& passing, mctp::SerialFd& from, std::uint32_t line) : passing_(passing), line_(line) { from.set_sink(this); }
  void lead_to(mctp::SerialFd& to, Direction& back) {
    to_ = &to;
    back_ = &back;
  }

 private:
  struct Waiting {
    Bytes bytes;
    bool whole = true;  ///< a packet; otherwise a frame as a fault has left it
  };

  void on_packet(const mctp::PhysicalAddress&, ByteView packet) override {
    if (packet.size() >= mctp::kHeaderSize) passing_.judge.speaks(line_, View<mctp::PacketHeader>{packet}.get(mctp::packet::source));
    Bytes frame;
    mctp::serial::encode(frame, packet);
    mctp::FrameVerdict verdict;
    if (passing_.faults != nullptr) {
      mctp::FrameContext context{
          "bus", line_ == live::kRequesterLine ? "requester" : "endpoint", passing_.frames++, passing_.world.now(), {}, frame};
      verdict = passing_.faults->on_frame(context);
    }
    if (verdict.drop || verdict.nack) return;
    Waiting one{verdict.corrupted ? std::move(frame) : Bytes(packet.begin(), packet.end()), !verdict.corrupted};
    for (std::uint32_t copy = 0; copy < verdict.duplicates; ++copy) waiting_.push_back(one);
    waiting_.push_back(std::move(one));
    while (waiting_.size() > kQueueMax) waiting_.pop_front();
    next();
  }
  // Noise is not passed on: what crosses the proxy are frames.
  void on_damaged() override {}
  // Of what the other direction has put on this line.
  void on_packet_sent(bool) override {
    back_->busy_ = false;
    back_->next();
  }
  void next() {
    if (busy_ || waiting_.empty()) return;
    busy_ = true;
    const Waiting one = std::move(waiting_.front());
    waiting_.pop_front();
    if (one.whole) {
      to_->send({}, one.bytes);
      return;
    }
    mctp::trace_fault(passing_.world, mctp::kTraceDamaged, "proxy", "changed by a fault", one.bytes);
    to_->send_frame(one.bytes);
  }

  Passing& passing_;
  std::uint32_t line_;
  mctp::SerialFd* to_ = nullptr;
  Direction* back_ = nullptr;
  std::deque<Waiting> waiting_;
  bool busy_ = false;
};

std::unique_ptr<mctp::SerialFd> open_line(World& world, const std::string& option, const std::string& path, std::uint32_t line) {
  const mctp::SerialFdOptions options{
      .name = line == live::kRequesterLine ? "requester's line" : "endpoint's line", .bus = line, .unit_max = mctp::serial::kUnitMax};
  auto opened = path == "pty" ? mctp::SerialFd::open_pty(world, options) : mctp::SerialFd::open(world, path, options);
  if (!opened) throw UserError(option + " " + opened.error().text);
  return std::move(opened).value();
}

fault::Plan plan_of(const MctpProxyArguments& arguments) {
  fault::Plan plan = plan_of_proxy(arguments.plan, arguments.seed);
  for (const fault::Rule& rule : plan.rules) {
    if (fault::facts_of(rule.kind).site == fault::Site::frame) continue;
    throw UserError(
        fmt::format("{}:{}: a proxy of MCTP cannot reach '{}': it reaches frame_*", arguments.plan, rule.line, fault::name_of(rule.kind)));
  }
  or_throw(fault::fits(plan, kPlaces));
  return plan;
}

void print_finding(const conformance::LiveFinding& found) {
  print_live(found, found.side == conformance::Side::host ? "requester" : "endpoint");
}

void print_end(const live::BusJudge& judge, const conformance::RunResult& run, const fault::Points* points) {
  std::string text = fmt::format("{} on both lines", counted(judge.packets(), "packet"));
  if (points != nullptr) text += fmt::format(", {}", counted(points->strikes().size(), "fault"));
  std::fputs(wrap(text, 2).c_str(), stdout);
  print_left_out(judge.left_out());
  const auto& findings = judge.findings();
  std::string verdict = findings.empty() ? "no findings" : counted(findings.size(), "finding");
  verdict += fmt::format(" of {} that had something to check", counted(run.cases.size(), "rule"));
  std::fputs(wrap(verdict, 2).c_str(), stdout);
}

int run_mctp_proxy(const MctpProxyArguments& arguments) {
  if (arguments.serial == arguments.to_serial && arguments.serial != "pty") {
    throw UserError("--serial and --to-serial are the same line: " + arguments.serial);
  }
  const fault::Plan plan = plan_of(arguments);
  const std::uint64_t seed = arguments.seed.empty() ? kSeedDefault : std::stoull(arguments.seed);
  std::optional<conformance::ReportFolder> folder;
  if (!arguments.report.empty()) folder = or_throw(conformance::ReportFolder::open(arguments.report));
  const auto world = World::make_real(seed);
  const SignalWatcher signals([&] { world->interrupt(); });
  const CaptureFile capture(*world, arguments.capture, "fabricbench mctp proxy");
  const auto requester = open_line(*world, "--serial", arguments.serial, live::kRequesterLine);
  const auto endpoint = open_line(*world, "--to-serial", arguments.to_serial, live::kEndpointLine);

  live::BusJudge judge;
  if (!arguments.json) judge.on_finding = &print_finding;
  std::optional<fault::Points> points;
  std::optional<fault::FrameFaults> faults;
  if (!plan.rules.empty()) {
    points.emplace(*world, fault::generate(plan, seed, kPlaces));
    faults.emplace(*points, "bus", fault::FrameShape::serial);
  }
  Passing passing{*world, judge, faults ? &*faults : nullptr};
  Direction there(passing, *requester, live::kRequesterLine), back(passing, *endpoint, live::kEndpointLine);
  there.lead_to(*endpoint, back);
  back.lead_to(*requester, there);
  world->trace().add_sink(judge, TraceSink::Hears::wire);
  const auto path_of = [](const mctp::SerialFd& line, const std::string& path) { return path == "pty" ? line.peer_path() : path; };
  std::fprintf(arguments.json ? stderr : stdout, "between serial:%s -> serial:%s\n", path_of(*requester, arguments.serial).c_str(),
               path_of(*endpoint, arguments.to_serial).c_str());
  flush_output();

  conformance::ReportFacts facts;
  facts.seed = seed;
  facts.dut = "serial:" + path_of(*endpoint, arguments.to_serial);
  facts.started = now_text();
  facts.replayable = false;
  const Instant begun = world->now();
  try {
    for (;;) world->run_for(Duration::s(3600));
  } catch (const WaitFailure&) {
    // A signal: the end.
  }
  judge.finish();
  world->trace().remove_sink(judge);
  facts.duration_s = static_cast<double>((world->now() - begun).count_ns()) / 1e9;
  conformance::RunResult run = judge.result();
  if (points) {
    for (const fault::Strike& strike : points->strikes()) run.remarks.push_back("fault: " + fault::tell(strike.decision));
    if (points->strikes().empty()) run.remarks.push_back("none of the plan's faults occurred");
  }
  if (!arguments.json) print_end(judge, run, points ? &*points : nullptr);
  if (folder) or_throw(folder->write(run, facts));
  if (arguments.json) std::fputs(conformance::results_json(run, facts).c_str(), stdout);
  return judge.findings().empty() ? exit_code::good : exit_code::red;
}

}  // namespace

void add_mctp_proxy(CLI::App& group, Outcome& outcome) {
  auto* command =
      group.add_subcommand("proxy", "Stand between a requester and a drive on serial lines: judge what passes, break it by plan");
  set_help(*command,
           "  fabricbench mctp proxy --serial pty --to-serial /dev/ttyUSB0\n"
           "  fabricbench mctp proxy --serial /dev/ttyUSB0 --to-serial /dev/ttyUSB1 --faults plan.yaml --seed 7 --report report\n",
           exit_codes("ended by SIGINT or SIGTERM without findings", "there are findings, advice among them"));
  auto arguments = std::make_shared<MctpProxyArguments>();
  command->add_option("--serial", arguments->serial, "The requester's line: a serial port, a unix stream socket, or pty for a new one")
      ->required()
      ->type_name("PATH");
  command->add_option("--to-serial", arguments->to_serial, "The drive's line")->required()->type_name("PATH");
  command->add_option("--faults", arguments->plan, "A fault plan (YAML) of frame_* kinds; campaign --list-faults lists them")
      ->type_name("PLAN");
  command->add_option("--seed", arguments->seed, "Seed of the faults; default 1")->check(&check_seed)->type_name("N");
  add_report_folder(*command, arguments->report);
  command->add_option("--capture", arguments->capture, "Write a capture (pcapng) while it runs")->type_name("FILE");
  command->add_flag("--json", arguments->json, "Print the results as one JSON document at the end");
  command->callback([arguments, &outcome] { outcome.code = run_mctp_proxy(*arguments); });
}

}  // namespace fb::cli
