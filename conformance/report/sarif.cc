// SARIF 2.1.0 as code scanning services read it: a rule for each requirement, a result for each case that did not simply pass.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "conformance/report/document.h"
#include "conformance/report/report.h"
#include "conformance/requirements/ledger.h"
#include "conformance/runner/waivers.h"

namespace fb::conformance {

namespace {

using Json = nlohmann::ordered_json;

/// A capture, a path of the report, as a URI.
std::string uri_of(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    const bool plain = alphanumeric || std::string_view("-._~/").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

/// What did not hold may be a recommendation.
std::string_view level_of(const CaseResult& result, const Requirement* rule) {
  if (result.verdict == Verdict::inconclusive) return "note";
  const bool mandatory = rule == nullptr || rule->level == "mandatory";
  return mandatory || result.verdict == Verdict::error ? "error" : "warning";
}

bool worth_a_result(const CaseResult& result) {
  return is_red(result) || result.verdict == Verdict::fail || result.verdict == Verdict::error || result.verdict == Verdict::inconclusive;
}

Json rule_json(std::string_view id, const Requirement* rule) {
  Json json{{"id", id}};
  if (rule == nullptr) return json;
  json["shortDescription"] = {{"text", citation(*rule)}};
  json["fullDescription"] = {{"text", rule->text}};
  json["help"] = {{"text", fmt::format("{}\n{} ({})", rule->text, citation(*rule), rule->level)}};
  json["defaultConfiguration"] = {{"level", rule->level == "mandatory" ? "error" : "warning"}};
  json["properties"] = {{"tags", {suite_of(id), rule->level}}};
  return json;
}

std::string message_of(const CaseResult& result) {
  if (result.disposition == Disposition::unexpected_pass)
    return fmt::format("{}: {}; passed, but {}", name_in_lane(result), title_of(*result.info), result.waiver_problem);
  return fmt::format("{}: {}; {}", name_in_lane(result), title_of(*result.info), headline_of(result));
}

Json result_json(const CaseResult& result, const ReportFacts& facts, std::size_t rule_index) {
  const CaseInfo& info = *result.info;
  Json json{{"ruleId", info.requirement}, {"ruleIndex", rule_index}};
  json["kind"] = result.verdict == Verdict::inconclusive ? "open" : "fail";
  // Whatever is open has no level.
  json["level"] = result.verdict == Verdict::inconclusive ? "none" : level_of(result, find_requirement(info.requirement));
  json["message"] = {{"text", message_of(result)}};
  // A product has no source here: what there is to look at is the traffic, or else the results.
  const std::string file = result.capture.empty() ? "results.json" : uri_of(result.capture);
  const std::string name = fmt::format("{}/{}/{}/{}", info.suite(), name_of(info.role), result.transport, name_in_lane(result));
  json["locations"] =
      Json::array({{{"physicalLocation", {{"artifactLocation", {{"uri", file}, {"uriBaseId", "REPORT"}}}, {"region", {{"startLine", 1}}}}},
                    {"logicalLocations", Json::array({{{"fullyQualifiedName", name}}})}}});
  const std::string signature = result.findings.empty() ? "" : signature_of(result.findings.front());
  json["partialFingerprints"] = {{"case/v1", fmt::format("{}/{}/{}: {}", info.name, result.transport, result.lane, signature)}};
  if (result.disposition == Disposition::waived) {
    json["suppressions"] = Json::array({{{"kind", "external"}, {"status", "accepted"}, {"justification", result.waiver}}});
  }
  json["properties"] = {{"verdict", name_of(result.verdict)}, {"disposition", name_of(result.disposition)}};
  if (const std::string replay = replay_text(result, facts); !replay.empty()) {
    json["properties"]["replay"] = "fabricbench replay " + replay;
  }
  return json;
}

}  // namespace

std::string sarif_json(const RunResult& run, const ReportFacts& facts) {
  Json rules = Json::array(), results = Json::array();
  std::map<std::string_view, std::size_t> index;
  for (const CaseResult& result : run.cases) {
    const std::string_view id = result.info->requirement;
    const auto [at, fresh] = index.emplace(id, rules.size());
    if (fresh) rules.push_back(rule_json(id, find_requirement(id)));
    if (worth_a_result(result)) results.push_back(result_json(result, facts, at->second));
  }
  Json invocation{{"executionSuccessful", !run.interrupted && !run.stopped}, {"startTimeUtc", facts.started}};
  if (run.stopped) {
    invocation["toolExecutionNotifications"] = Json::array({{{"level", "error"}, {"message", {{"text", run.stopped->text()}}}}});
  }
  Json driver{{"name", kToolName}, {"version", tool_version()}, {"semanticVersion", tool_version()}};
  driver["properties"] = {{"commit", tool_commit()}, {"ledger", ledger_version()}};
  driver["rules"] = std::move(rules);
  Json one{{"tool", {{"driver", std::move(driver)}}}};
  one["automationDetails"] = {{"id", fmt::format("fabricbench/{}", facts.dut)}};
  one["originalUriBaseIds"] = {{"REPORT", {{"description", {{"text", "the folder of the report"}}}}}};
  one["invocations"] = Json::array({std::move(invocation)});
  one["results"] = std::move(results);
  one["properties"] = {{"seed", facts.seed}, {"dut", facts.dut}, {"deviations", facts.deviations}, {"digest", digest_text(run.digest)}};
  const Json json{
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}, {"runs", Json::array({std::move(one)})}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fb::conformance
