// fabricbench check: checks a packet capture against the protocol rules of every run.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/wrap.h"
#include "cli/common.h"
#include "cli/document.h"
#include "conformance/evidence/capture_source.h"
#include "conformance/evidence/tls_opener.h"
#include "conformance/monitors/monitors.h"
#include "conformance/report/finding_json.h"

namespace fb::cli {

namespace {

using monitors::Finding;

struct CheckArguments {
  std::string file;
  bool json = false;
  std::vector<std::uint16_t> tcp_ports;
  std::string keylog;
  bool reads_standard_input() const { return file == "-"; }
  std::string name() const { return reads_standard_input() ? "standard input" : file; }
};

/// How a file was read, and what stopped it.
struct Reading {
  std::uint64_t frames = 0;
  capture::SkippedFrames skipped;
  std::string problem;  ///< empty: read to its end
  bool interrupted = false;
};

// ------------------------------------------------------------------------------------------- output

double seconds_of(Instant time) { return static_cast<double>(time.count_ns()) / 1e9; }
void print_wrapped(std::string_view text, std::size_t indent) { std::fputs(wrap(text, indent).c_str(), stdout); }

void print_finding(const Finding& found) {
  const monitors::RuleFacts& rule = monitors::facts_of(found.rule);
  std::printf("packet %llu  %.6f s  %s\n", static_cast<unsigned long long>(found.packet), seconds_of(found.time),
              to_string(found.blamed).c_str());
  print_wrapped((monitors::only_advises(found.rule) ? "    advice: " : "    ") + found.text, 4);
  print_wrapped(fmt::format("    {}: {} ({})", rule.name, rule.sentence, rule.requirement), 4);
}

/// What was understood, by name, and what was not.
std::vector<std::pair<std::string, std::uint64_t>> decoded(const evidence::Dissector& dissector, const Reading& reading) {
  const evidence::Counts& counts = dissector.counts();
  const evidence::UnreadConnections unread = dissector.unread_connections();
  return {{"roce_packets", counts.roce},
          {"rdma_connections", counts.rdma_connections},
          {"rdma_messages", counts.rdma_messages},
          {"cm_messages", counts.cm},
          {"tcp_segments", counts.tcp},
          {"nvme_tcp_connections", counts.tcp_connections},
          {"nvme_tcp_pdus", counts.pdus},
          {"tls_connections", counts.encrypted},
          {"tls_connections_opened", counts.decrypted},
          {"tcp_connections_not_recognised", unread.other + unread.unknown},
          {"commands", counts.commands},
          {"completions", counts.completions},
          {"mctp_packets", counts.mctp},
          {"mctp_messages", counts.mctp_messages},
          {"nvme_mi_messages", counts.mi_messages},
          {"other_protocols", counts.other + reading.skipped.other_protocol},
          {"not_readable", counts.broken + reading.skipped.malformed + reading.skipped.unknown_link},
          {"fragments_not_followed", reading.skipped.fragments},
          {"cut_short", reading.skipped.cut_short}};
}

/// What the capture does not show, a sentence each.
std::vector<std::string> missing_of(const evidence::Dissector& dissector, const Reading& reading) {
  std::vector<std::string> missing = dissector.remarks();
  const evidence::UnreadConnections unread = dissector.unread_connections();
  const auto say = [&](std::uint64_t count, std::string_view what, std::string_view why) {
    if (count != 0) missing.push_back(fmt::format("{} {}", counted(count, what), why));
  };
  say(reading.skipped.cut_short, "packet", "cut short: capture whole packets (tcpdump -s 0)");
  say(reading.skipped.fragments, "IP fragment", "not put together");
  say(reading.skipped.malformed, "packet", "malformed");
  say(reading.skipped.unknown_link, "packet", "of a link type that is not supported");
  say(dissector.counts().broken, "RoCEv2, MCTP or NVMe packet", "not readable");
  say(unread.unknown, "TCP connection",
      "not recognised: the beginning is not in the capture, and no chain of NVMe/TCP PDUs is in the rest");
  return missing;
}

/// Why no verdict can be had; empty where there is one.
std::string why_nothing(const monitors::Monitors& judges, const Reading& reading) {
  const evidence::Counts& counts = judges.dissector().counts();
  // Of packets that are cut short the small ones remain: acknowledgements, responses. No verdict stands on them.
  const bool remains = counts.commands + counts.mctp_messages == 0 && reading.skipped.cut_short > 0;
  if (!judges.judged().empty() && !remains) return {};
  std::string why = "nothing to check: no NVMe traffic recognised";
  if (reading.skipped.cut_short > 0) why += fmt::format(" ({} cut short)", counted(reading.skipped.cut_short, "packet"));
  if (const std::uint64_t closed = counts.encrypted - std::min(counts.encrypted, counts.decrypted); closed > 0) {
    why += fmt::format(" ({} not opened)", counted(closed, "TLS connection"));
  }
  return why;
}

void print_json(const monitors::Monitors& judges, const Reading& reading, const std::string& nothing) {
  nlohmann::ordered_json json = {
      {"packets", reading.frames}, {"decoded", nlohmann::ordered_json::object()}, {"findings", nlohmann::ordered_json::array()}};
  for (const auto& [name, value] : decoded(judges.dissector(), reading)) json["decoded"][name] = value;
  for (const Finding& found : judges.findings()) {
    json["findings"].push_back(conformance::finding_json(found));
  }
  json["findings_left_out"] = judges.findings_left_out();
  json["missing"] = missing_of(judges.dissector(), reading);
  json["rules"] = monitors::catalogue().size();
  json["rules_judged"] = judges.judged().size();
  json["judged"] = nlohmann::ordered_json::array();
  for (const monitors::Rule rule : judges.judged()) json["judged"].push_back(monitors::facts_of(rule).name);
  const std::string& problem = reading.problem.empty() ? nothing : reading.problem;
  json["complete"] = problem.empty() && json["missing"].empty();
  if (!problem.empty()) json["problem"] = problem;
  print_document(std::move(json));
}

/// What is said behind the findings.
void print_summary(const monitors::Monitors& judges, const Reading& reading, const std::string& nothing) {
  if (judges.findings_left_out() > 0) {
    std::printf("(%llu more findings of the same rules)\n", static_cast<unsigned long long>(judges.findings_left_out()));
  }
  if (!judges.findings().empty()) std::puts("");
  std::string summary = counted(reading.frames, "packet");
  for (const auto& [name, value] : decoded(judges.dissector(), reading)) {
    if (value == 0) continue;
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    summary += fmt::format(", {} {}", value, words);
  }
  print_wrapped(summary, 2);
  if (const auto unread = judges.dissector().unread_connections(); unread.other > 0) {
    print_wrapped(fmt::format("{} not recognised, beginning with another protocol", counted(unread.other, "TCP connection")), 2);
  }
  for (const std::string& remark : missing_of(judges.dissector(), reading)) print_wrapped("missing: " + remark, 2);
  if (!nothing.empty()) return;
  const auto& findings = judges.findings();
  const auto advices = static_cast<std::uint64_t>(
      std::count_if(findings.begin(), findings.end(), [](const Finding& found) { return monitors::only_advises(found.rule); }));
  const std::uint64_t broken = findings.size() - advices;
  std::string verdict =
      fmt::format("{} of {} rules that had something to check ({} in all)", broken == 0 ? "no findings" : counted(broken, "finding"),
                  judges.judged().size(), monitors::catalogue().size());
  if (advices > 0) verdict += fmt::format(", {} piece{} of advice", advices, advices == 1 ? "" : "s");
  print_wrapped(verdict, 2);
}

// ------------------------------------------------------------------------------------------- reading

/// Becomes readable when somebody asks the program to end: what has arrived is still judged.
class EndOfInput {
 public:
  EndOfInput() {
    if (::pipe(ends_) != 0) throw UserError("a pipe cannot be created");
    block_signals();
    signals_ = std::make_unique<SignalWatcher>([this] { ask(); });
  }
  ~EndOfInput() {
    signals_.reset();
    for (const int end : ends_) ::close(end);
  }
  EndOfInput(const EndOfInput&) = delete;
  EndOfInput& operator=(const EndOfInput&) = delete;
  int descriptor() const { return ends_[0]; }
  /// Whether a signal asked to end, even one that came with the end of the input and is not handled yet. Stops watching.
  bool finish() {
    signals_.reset();
    sigset_t waiting;
    sigpending(&waiting);
    return asked_ || sigismember(&waiting, SIGINT) == 1 || sigismember(&waiting, SIGTERM) == 1;
  }

 private:
  void ask() {
    asked_ = true;
    if (::write(ends_[1], "", 1) < 0) std::abort();  // one byte fits an empty pipe
  }
  int ends_[2] = {-1, -1};
  std::atomic<bool> asked_ = false;
  std::unique_ptr<SignalWatcher> signals_;
};

Reading read_packets(capture::ByteSource& source, monitors::Monitors& judges, evidence::TlsKeys& keys, bool print) {
  capture::CaptureReader reader(source);
  capture::CapturedPacket packet;
  Reading done;
  std::size_t secrets = 0, printed = 0;
  for (;;) {
    const Result<bool> got = reader.next(packet);
    if (reader.tls_keys().size() != secrets) {
      keys.add(std::string_view(reader.tls_keys()).substr(secrets));
      secrets = reader.tls_keys().size();
    }
    if (!got) done.problem = got.error().text;
    if (!got || !*got) break;
    judges.on_packet(packet);
    if (!print || printed == judges.findings().size()) continue;
    while (printed < judges.findings().size()) print_finding(judges.findings()[printed++]);
    std::fflush(stdout);
  }
  // In their order from here on; those that were printed are first no more.
  std::vector<Finding> told(judges.findings().begin(), judges.findings().begin() + static_cast<std::ptrdiff_t>(printed));
  judges.finish();
  for (const Finding& found : judges.findings()) {
    if (!print) break;
    const auto same = [&](const Finding& one) { return one.rule == found.rule && one.packet == found.packet && one.text == found.text; };
    const auto known = std::find_if(told.begin(), told.end(), same);
    if (known == told.end()) {
      print_finding(found);
    } else {
      told.erase(known);
    }
  }
  done.frames = reader.frames();
  done.skipped = reader.skipped();
  return done;
}

/// Whether some line has the label of a secret of TLS 1.3 or earlier.
bool holds_secret(std::string_view log) {
  for (const std::string_view label : {"_TRAFFIC_SECRET", "CLIENT_RANDOM ", "EXPORTER_SECRET ", "RSA "}) {
    if (log.find(label) != std::string_view::npos) return true;
  }
  return false;
}

std::unique_ptr<capture::ByteSource> source_of(const CheckArguments& arguments, const EndOfInput* end) {
  std::unique_ptr<capture::ByteSource> plain;
  if (!arguments.reads_standard_input()) {
    plain = or_throw(evidence::open_file(arguments.file));
  } else if (::isatty(STDIN_FILENO) != 0) {
    throw UserError("standard input is a terminal: pipe a capture into it (tcpdump -U -w - | fabricbench check -)");
  } else {
    plain = std::make_unique<evidence::DescriptorSource>(STDIN_FILENO, end->descriptor());
  }
  auto source = evidence::decompressed(std::move(plain));
  if (!source) throw UserError(arguments.name() + ": " + source.error().text);
  return std::move(source).value();
}

int check_file(const CheckArguments& arguments) {
  evidence::TlsKeys keys;
  if (!arguments.keylog.empty()) {
    const std::string log = read_text(arguments.keylog);
    keys.add(log);
    const bool grows = arguments.reads_standard_input();
    if (!grows && !holds_secret(log)) {
      throw UserError("--keylog " + arguments.keylog + ": no line of a TLS key log is in it (SSLKEYLOGFILE)");
    }
    // While packets arrive the log may grow.
    if (grows) keys.reload_by([path = arguments.keylog] { return read_text(path); });
  }
  std::unique_ptr<EndOfInput> end;
  if (arguments.reads_standard_input()) end = std::make_unique<EndOfInput>();
  const auto source = source_of(arguments, end.get());
  monitors::Monitors judges({.capture = true, .tcp_ports = arguments.tcp_ports, .tls_keys = &keys});
  Reading reading = read_packets(*source, judges, keys, !arguments.json);
  reading.interrupted = end != nullptr && end->finish();
  // Asked to end, a packet may be there in part.
  if (reading.interrupted) reading.problem.clear();
  if (reading.frames == 0 && !reading.problem.empty()) throw UserError(arguments.name() + ": " + reading.problem);
  const std::string nothing = why_nothing(judges, reading);
  arguments.json ? print_json(judges, reading, nothing) : print_summary(judges, reading, nothing);
  std::fflush(stdout);
  if (!reading.problem.empty()) {
    throw UserError(fmt::format("{}: {}; the {} packets before it were checked", arguments.name(), reading.problem, reading.frames));
  }
  if (!nothing.empty()) throw UserError(arguments.name() + ": " + nothing);
  if (reading.interrupted) return exit_code::interrupted;
  const auto& findings = judges.findings();
  const bool red = std::any_of(findings.begin(), findings.end(), [](const Finding& found) { return !monitors::only_advises(found.rule); });
  return red ? exit_code::red : exit_code::good;
}

}  // namespace

void add_check(CLI::App& app, Outcome& outcome) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand("check", "Check a packet capture (pcap or pcapng) against the protocol rules");
  command->footer(
      "Exit code 0: no findings; 1: findings; 2: nothing to check, or the file is not\n"
      "completely readable; 130: interrupted (standard input).\n"
      "Examples:\n"
      "  fabricbench check lab.pcapng.zst\n"
      "  fabricbench check --tcp-port 4421 --keylog keys.txt lab.pcap\n"
      "  tcpdump -U -w - | fabricbench check -");
  command
      ->add_option("file", arguments->file,
                   "A capture of RoCEv2, NVMe/TCP or MCTP, also compressed with gzip or zstd; - for standard input")
      ->required()
      ->type_name("FILE");
  command->add_option("--tcp-port", arguments->tcp_ports, "Ports of NVMe/TCP, beside 4420 and 8009")
      ->delimiter(',')
      ->check(CLI::Range(1, 65535))
      ->allow_extra_args(false)
      ->type_name("PORT,...");
  command->add_option("--keylog", arguments->keylog, "A TLS key log (SSLKEYLOGFILE), beside the secrets in a pcapng file")
      ->type_name("FILE");
  command->add_flag("--json", arguments->json, "Print the result as one JSON document");
  command->callback([arguments, &outcome] { outcome.code = check_file(*arguments); });
}

}  // namespace fb::cli
