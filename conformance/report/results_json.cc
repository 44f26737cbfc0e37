#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>

#include "conformance/report/document.h"
#include "conformance/report/finding_json.h"
#include "conformance/report/report.h"
#include "conformance/requirements/ledger.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/replay.h"
#include "conformance/runner/waivers.h"

namespace fb::conformance {

namespace {

using Json = nlohmann::ordered_json;

std::string document_of(const Requirement* requirement) {
  return requirement == nullptr ? "" : fmt::format("{} {}", requirement->document, requirement->revision);
}

std::vector<std::string_view> names_of(const std::vector<const CaseInfo*>& cases) {
  std::vector<std::string_view> names;
  for (const CaseInfo* info : cases) names.push_back(info->name);
  return names;
}

Json case_json(const CaseResult& result, const ReportFacts& facts) {
  const CaseInfo& info = *result.info;
  const Requirement* requirement = find_requirement(info.requirement);
  Json findings = Json::array();
  for (const Finding& one : result.findings) {
    findings.push_back({{"what", one.what}, {"expected", one.expected}, {"seen", one.seen}});
  }
  const Finding* first = result.findings.empty() ? nullptr : &result.findings.front();
  Json json;
  json["name"] = info.name;
  json["title"] = title_of(info);
  json["requirement"] = info.requirement;
  json["section"] = requirement == nullptr ? "" : requirement->section;
  json["section_title"] = requirement == nullptr ? "" : requirement->section_title;
  json["document"] = document_of(requirement);
  json["level"] = requirement == nullptr ? "" : requirement->level;
  json["suite"] = info.suite();
  json["role"] = name_of(info.role);
  json["transport"] = result.transport;
  json["lane"] = result.lane;
  json["verdict"] = name_of(result.verdict);
  json["disposition"] = name_of(result.disposition);
  json["reason"] = result.reason;
  json["expected"] = first == nullptr ? std::vector<std::string>{} : first->expected;
  json["seen"] = first == nullptr ? "" : first->seen;
  json["signature"] = first == nullptr ? "" : signature_of(*first);
  json["findings"] = std::move(findings);
  json["waiver"] = result.waiver;
  json["rules_broken"] = broken_rules(result);
  if (!result.shown_by.empty()) json["shown_by"] = names_of(result.shown_by);
  json["waiver_owner"] = result.waiver_owner;
  json["waiver_link"] = result.waiver_link;
  json["waiver_expires"] = result.waiver_expires;
  json["waiver_problem"] = result.waiver_problem;
  json["duration_virtual_ns"] = result.duration_virtual_ns;
  json["duration_wall_us"] = result.duration_wall_us;
  json["digest"] = digest_text(result.digest);
  json["capture"] = result.capture;
  json["sends_malformed"] = info.options.malformed;
  json["replay"] = replay_text(result, facts);
  return json;
}

std::vector<std::string_view> deviation_names(std::string_view requirement) {
  std::vector<std::string_view> names;
  for (const auto* deviation : deviations::deviations_of(requirement)) names.push_back(deviation->name);
  return names;
}

struct Coverage {
  std::string state;
  std::vector<std::string_view> cases;
};

Coverage coverage_of(const Requirement& requirement, const std::vector<const CaseInfo*>& cases) {
  Coverage found;
  for (const CaseInfo* info : cases) {
    if (info->requirement == requirement.id) found.cases.push_back(info->name);
  }
  if (!found.cases.empty()) {
    found.state = "covered";
  } else {
    found.state = requirement.state.empty() ? "todo" : requirement.state;
  }
  return found;
}

std::string text_of(Json content) { return versioned(std::move(content)).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

Summary summarize(const RunResult& run) {
  Summary summary;
  for (const CaseResult& result : run.cases) {
    switch (result.verdict) {
      case Verdict::pass:
        ++summary.pass;
        break;
      case Verdict::skip:
        ++summary.skip;
        break;
      case Verdict::inconclusive:
        ++summary.inconclusive;
        break;
      case Verdict::fail:
        ++(result.disposition == Disposition::waived ? summary.waived : summary.fail);
        break;
      default:
        ++summary.error;
        break;
    }
    summary.regression += result.disposition == Disposition::regression ? 1 : 0;
    summary.unexpected_pass += result.disposition == Disposition::unexpected_pass ? 1 : 0;
    summary.red = summary.red || is_red(result);
  }
  summary.red = summary.red || run.stopped || (!run.canary_caught && !run.canary_not_run());
  return summary;
}

std::string digest_text(std::uint64_t digest) {
  std::uint8_t bytes[8];
  store_be(bytes, digest);
  return to_hex(bytes);
}

std::string name_in_lane(const CaseResult& result) {
  std::string text(result.info->name);
  if (result.lane != plain_lane().name) text += " [" + std::string(result.lane) + "]";
  return text;
}

std::string replay_text(const CaseResult& result, const ReportFacts& facts) {
  if (!facts.replayable) return {};
  const CaseInfo& shows = result.shown_by.empty() ? *result.info : *result.shown_by.front();
  return to_string(ReplayToken{std::string(shows.name), std::string(tool_version()), facts.seed, facts.dut, facts.deviations,
                               std::string(result.transport), result.lane == plain_lane().name ? "" : std::string(result.lane)});
}

std::string results_json(const RunResult& run, const ReportFacts& facts) {
  const Summary summary = summarize(run);
  Json json;
  json["tool"] = tool_json();
  json["seed"] = facts.seed;
  json["dut"] = facts.dut;
  if (!facts.product.empty()) {
    json["product"] = Json::object();
    for (const auto& [name, value] : facts.product) json["product"][name] = value;
  }
  json["deviations"] = facts.deviations;
  json["started"] = facts.started;
  json["duration_s"] = facts.duration_s;
  json["digest"] = digest_text(run.digest);
  json["interrupted"] = run.interrupted;
  json["summary"] = {{"pass", summary.pass},
                     {"fail", summary.fail},
                     {"skip", summary.skip},
                     {"waived", summary.waived},
                     {"inconclusive", summary.inconclusive},
                     {"error", summary.error},
                     {"regression", summary.regression},
                     {"unexpected_pass", summary.unexpected_pass}};
  json["canary"] = run.canary_caught ? "caught" : run.canary_not_run() ? "not run" : "missed";
  if (run.stopped) json["stopped"] = {{"after", run.stopped->after}, {"why", run.stopped->why}, {"not_run", run.stopped->not_run}};
  json["remarks"] = run.remarks;
  if (run.live) {
    json["findings"] = Json::array();
    for (const LiveFinding& one : *run.live) {
      Json found = finding_json(one.finding);
      found["side"] = name_of(one.side);
      json["findings"].push_back(std::move(found));
    }
  }
  json["cases"] = Json::array();
  for (const CaseResult& result : run.cases) json["cases"].push_back(case_json(result, facts));
  return text_of(std::move(json));
}

std::string selftest_json(const SelftestResult& result) {
  Json json;
  json["cases"] = Json::array();
  for (const SelftestCase& one : result.cases) {
    Json outcomes = Json::array();
    for (const DeviationOutcome& outcome : one.deviations) {
      outcomes.push_back({{"name", outcome.deviation->name},
                          {"verdict", name_of(outcome.verdict)},
                          {"reason", outcome.reason},
                          {"caught_by", outcome.caught_by}});
    }
    json["cases"].push_back({{"name", one.info->name},
                             {"requirement", one.info->requirement},
                             {"honest", name_of(one.honest)},
                             {"reason", one.reason},
                             {"deviations", std::move(outcomes)}});
  }
  json["summary"] = {{"cases", result.cases.size()},
                     {"deviations", result.deviations},
                     {"caught", result.caught},
                     {"missed", result.missed},
                     {"without_deviation", result.without_deviation}};
  json["interrupted"] = result.interrupted;
  json["deviations_without_case"] = result.without_case;
  json["broken"] = result.broken;
  return text_of(std::move(json));
}

std::string list_json(const std::vector<const CaseInfo*>& cases) {
  Json json;
  json["cases"] = Json::array();
  for (const CaseInfo* info : cases) {
    json["cases"].push_back({{"name", info->name},
                             {"title", title_of(*info)},
                             {"requirement", info->requirement},
                             {"suite", info->suite()},
                             {"role", name_of(info->role)},
                             {"transports", info->options.transports},
                             {"requests", requests_of(info->options)},
                             {"deviations", deviation_names(info->requirement)}});
  }
  return text_of(std::move(json));
}

std::string coverage_json(const std::vector<const CaseInfo*>& cases) {
  Json json;
  json["requirements"] = Json::array();
  for (const Requirement& one : ledger()) {
    const Coverage coverage = coverage_of(one, cases);
    json["requirements"].push_back({{"id", one.id},
                                    {"document", one.document},
                                    {"revision", one.revision},
                                    {"section", one.section},
                                    {"section_title", one.section_title},
                                    {"section_checked", one.section_checked},
                                    {"document_name", one.document_name},
                                    {"since", one.since.empty() ? Json(nullptr) : Json(one.since)},
                                    {"subject", one.subject},
                                    {"level", one.level},
                                    {"roles", one.roles},
                                    {"profile", one.profile},
                                    {"see", one.see},
                                    {"text", one.text},
                                    {"answers", one.answers},
                                    {"confidence", one.confidence},
                                    {"state", coverage.state},
                                    {"reason", one.reason},
                                    {"cases", coverage.cases},
                                    {"deviations", deviation_names(one.id)}});
  }
  return text_of(std::move(json));
}

std::string coverage_text(const std::vector<const CaseInfo*>& cases) {
  struct Count {
    std::size_t all = 0, covered = 0, exception = 0;
  };
  std::map<std::string, Count> counts;
  std::size_t confirmed = 0, read = 0, memory = 0, unchecked = 0;
  std::string text;
  for (const Requirement& one : ledger()) {
    const Coverage coverage = coverage_of(one, cases);
    Count& count = counts[fmt::format("{} {}", suite_of(one.id), one.roles.front())];
    ++count.all;
    ++(one.confidence == "confirmed" ? confirmed : one.confidence == "read" ? read : memory);
    unchecked += one.section_checked ? 0 : 1;
    count.covered += coverage.state == "covered" ? 1 : 0;
    count.exception += coverage.state == "exception" ? 1 : 0;
    text += fmt::format("{:<9} {} ({})\n", coverage.state, one.id, citation(one));
    if (!one.reason.empty()) text += fmt::format("          {}\n", one.reason);
  }
  text += "\nsuite role             required  covered  exception   todo\n";
  Count sum;
  const auto line = [&](const std::string& name, const Count& count) {
    char buffer[96];
    std::snprintf(buffer, sizeof buffer, "%-22s %8zu %8zu %10zu %6zu\n", name.c_str(), count.all, count.covered, count.exception,
                  count.all - count.covered - count.exception);
    text += buffer;
    sum.all += count.all;
    sum.covered += count.covered;
    sum.exception += count.exception;
  };
  for (const auto& [name, count] : counts) line(name, count);
  const Count total = sum;
  line("together", total);
  text += fmt::format(
      "\nconfirmed in the text at that place {}, read earlier {}, from memory {}\n"
      "of documents whose contents could not be read {}\n",
      confirmed, read, memory, unchecked);
  return text;
}

}  // namespace fb::conformance
