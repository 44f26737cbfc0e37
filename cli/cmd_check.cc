// fabricbench check: the rules of every run, held against somebody's capture.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/wrap.h"
#include "cli/common.h"
#include "conformance/monitors/monitors.h"
#include "sim/capture/reader.h"

namespace fb::cli {

namespace {

using monitors::Finding;

/// How a file was read, and what stopped it.
struct Reading {
  std::uint64_t frames = 0;
  capture::SkippedFrames skipped;
  std::string problem;  ///< empty: read to its end
};

Reading read_packets(ByteView file, monitors::Monitors& judges) {
  capture::CaptureReader reader(file);
  capture::CapturedPacket packet;
  Reading done;
  for (;;) {
    const Result<bool> got = reader.next(packet);
    if (!got) done.problem = got.error().text;
    if (!got || !*got) break;
    judges.on_packet(packet);
  }
  judges.finish();
  done.frames = reader.frames();
  done.skipped = reader.skipped();
  return done;
}

/// What was understood, by name, and what was not.
std::vector<std::pair<std::string, std::uint64_t>> decoded(const evidence::Counts& counts, const Reading& reading) {
  return {{"roce_packets", counts.roce},
          {"rdma_connections", counts.rdma_connections},
          {"rdma_messages", counts.rdma_messages},
          {"cm_messages", counts.cm},
          {"tcp_segments", counts.tcp},
          {"nvme_tcp_connections", counts.tcp_connections},
          {"nvme_tcp_pdus", counts.pdus},
          {"tls_connections", counts.encrypted},
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

double seconds_of(Instant time) { return static_cast<double>(time.count_ns()) / 1e9; }

void print_json(const monitors::Monitors& judges, const Reading& reading) {
  nlohmann::ordered_json json = {{"packets", reading.frames}, {"decoded", nlohmann::ordered_json::object()},
                                 {"findings", nlohmann::ordered_json::array()}};
  for (const auto& [name, value] : decoded(judges.dissector().counts(), reading)) json["decoded"][name] = value;
  for (const Finding& found : judges.findings()) {
    const monitors::RuleFacts& rule = monitors::facts_of(found.rule);
    json["findings"].push_back({{"rule", rule.name},
                                {"requirement", rule.requirement},
                                {"packet", found.packet},
                                {"time", seconds_of(found.time)},
                                {"text", found.text},
                                {"from", to_string(found.blamed)},
                                {"layer", monitors::name_of(rule.layer)},
                                {"sentence", rule.sentence}});
  }
  json["findings_left_out"] = judges.findings_left_out();
  json["missing"] = judges.dissector().remarks();
  json["rules"] = monitors::catalogue().size();
  json["complete"] = reading.problem.empty();
  if (!reading.problem.empty()) json["problem"] = reading.problem;
  std::puts(json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void print_wrapped(std::string_view text, std::size_t indent) { std::fputs(wrap(text, indent).c_str(), stdout); }

void print_words(const monitors::Monitors& judges, const Reading& reading) {
  for (const Finding& found : judges.findings()) {
    const monitors::RuleFacts& rule = monitors::facts_of(found.rule);
    std::printf("packet %llu  %.6f s  %s\n", static_cast<unsigned long long>(found.packet), seconds_of(found.time),
                to_string(found.blamed).c_str());
    print_wrapped("    " + found.text, 4);
    print_wrapped(fmt::format("    {}: {} ({})", rule.name, rule.sentence, rule.requirement), 4);
  }
  if (judges.findings_left_out() > 0) std::printf("(%llu more findings of the same rules)\n",
                                                  static_cast<unsigned long long>(judges.findings_left_out()));
  if (!judges.findings().empty()) std::puts("");
  std::string summary = fmt::format("{} packets", reading.frames);
  for (const auto& [name, value] : decoded(judges.dissector().counts(), reading)) {
    if (value == 0) continue;
    std::string words = name;
    for (char& c : words) c = c == '_' ? ' ' : c;
    summary += fmt::format(", {} {}", value, words);
  }
  print_wrapped(summary, 2);
  for (const std::string& remark : judges.dissector().remarks()) print_wrapped("missing: " + remark, 2);
  const std::size_t findings = judges.findings().size();
  print_wrapped(findings == 0 ? fmt::format("no findings of {} rules", monitors::catalogue().size())
                              : fmt::format("{} finding{} of {} rules", findings, findings == 1 ? "" : "s", monitors::catalogue().size()),
                2);
}

struct CheckArguments {
  std::string file;
  bool json = false;
};

int check_file(const CheckArguments& arguments) {
  const Bytes file = or_throw(capture::read_file(arguments.file));
  monitors::Monitors judges;
  const Reading reading = read_packets(file, judges);
  const bool nothing_read = reading.frames == 0 && !reading.problem.empty();
  if (nothing_read) throw UserError(arguments.file + ": " + reading.problem);
  arguments.json ? print_json(judges, reading) : print_words(judges, reading);
  std::fflush(stdout);
  if (!reading.problem.empty()) {
    throw UserError(fmt::format("{}: {}; judged are the {} packets before", arguments.file, reading.problem, reading.frames));
  }
  return judges.findings().empty() ? exit_code::good : exit_code::red;
}

}  // namespace

void add_check(CLI::App& app, Outcome& outcome) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand("check", "Hold the monitors' rules against a capture (pcap or pcapng)");
  command->footer("Exit code 0: no findings; 1: findings; 2: the file is not readable, or not to its end.\n"
                  "Example:\n  fabricbench check lab.pcapng");
  command->add_option("file", arguments->file, "A capture of RoCEv2, NVMe/TCP or MCTP")->required()->type_name("FILE");
  command->add_flag("--json", arguments->json, "Print the result as one JSON document");
  command->callback([arguments, &outcome] { outcome.code = check_file(*arguments); });
}

}  // namespace fb::cli
