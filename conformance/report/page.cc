#include "conformance/report/page.h"

#include <nlohmann/json.hpp>

#include <map>
#include <optional>

#include "conformance/report/document.h"
#include "conformance/report/page_parts.h"
#include "conformance/report/page_tables.h"
#include "conformance/requirements/ledger.h"
#include "conformance/runner/waivers.h"

namespace fb::conformance {

namespace {

using Json = nlohmann::ordered_json;

Json requirement_json(const Requirement& one, std::string_view state) {
  Json json{{"id", one.id},           {"document", one.document},     {"revision", one.revision},
            {"section", one.section}, {"citation", citation(one)},    {"level", one.level},
            {"text", one.text},       {"confidence", one.confidence}, {"state", state}};
  json["answers"] = one.answers;
  if (!one.profile.empty()) json["profile"] = one.profile;
  if (!one.reason.empty()) json["reason"] = one.reason;
  return json;
}

/// The whole ledger, and places for what a case names and the ledger does not hold.
class RequirementTable {
 public:
  RequirementTable() {
    std::map<std::string_view, bool> covered;
    for (const CaseInfo* info : all_cases()) covered[info->requirement] = true;
    for (const Requirement& one : ledger()) {
      const bool has_case = covered.contains(one.id);
      add(one, has_case ? "covered" : one.state.empty() ? "todo" : one.state);
    }
  }

  std::size_t of(std::string_view id) {
    const auto found = places_.find(id);
    if (found != places_.end()) return found->second;
    Requirement unknown{};
    unknown.id = id;
    unknown.document = "no ledger";
    unknown.section = "-";
    return add(unknown, "covered");
  }
  Json take() { return std::move(json_); }

 private:
  std::size_t add(const Requirement& one, std::string_view state) {
    places_[one.id] = json_.size();
    json_.push_back(requirement_json(one, state));
    return json_.size() - 1;
  }
  Json json_ = Json::array();
  std::map<std::string_view, std::size_t> places_;
};

/// A replay token with a hole where the name of its case stands, which the page has beside it: many tokens are nearly one text then.
std::string without_name(std::string token, std::string_view name) {
  if (const std::size_t at = token.find(name); at != token.npos) token.replace(at, name.size(), "{}");
  return token;
}

Json case_json(const CaseResult& result, const ReportFacts& facts, RequirementTable& requirements) {
  const CaseInfo& info = *result.info;
  Json json{{"name", info.name},
            {"title", title_of(info)},
            {"requirement", requirements.of(info.requirement)},
            {"role", name_of(info.role)},
            {"transport", result.transport},
            {"verdict", name_of(result.verdict)},
            {"disposition", name_of(result.disposition)},
            {"reason", headline_of(result)},
            {"virtual_ns", result.duration_virtual_ns},
            {"wall_us", result.duration_wall_us},
            {"digest", digest_text(result.digest)},
            {"replay", without_name(replay_text(result, facts), info.name)}};
  if (result.lane != plain_lane().name) json["lane"] = result.lane;
  for (const Finding& one : result.findings) json["findings"].push_back({one.what, one.expected, one.seen});
  if (!result.waiver.empty()) {
    json["waiver"] = {
        {"reason", result.waiver}, {"owner", result.waiver_owner}, {"link", result.waiver_link}, {"expires", result.waiver_expires}};
  }
  if (!result.waiver_problem.empty()) json["waiver_problem"] = result.waiver_problem;
  for (const std::string_view rule : broken_rules(result)) json["rules"].push_back(rule);
  for (const CaseInfo* shown : result.shown_by) json["shown_by"].push_back(shown->name);
  if (!result.capture.empty()) json["capture"] = result.capture;
  if (info.options.malformed) json["malformed"] = true;
  return json;
}

Json transitions_json(const TransitionCounts& counts) {
  Json all = Json::array();
  for (const StateMachine& machine : state_machines()) {
    Json rows = Json::array();
    for (const auto& [from, to] : machine.allowed) rows.push_back({from, to, counts.of(machine.label, from, to)});
    all.push_back({{"name", machine.name}, {"what", machine.what}, {"rows", std::move(rows)}});
  }
  return all;
}

Json edges_json(const EdgeCounts& counts) {
  Json all = Json::array();
  for (std::size_t field = 0; field < kEdgeFields; ++field) {
    const auto id = static_cast<EdgeFieldId>(field);
    const EdgeFieldFacts facts = facts_of(id);
    Json values = Json::array();
    for (std::size_t edge = 0; edge < kEdgesOfField; ++edge) {
      values.push_back({edge_text(facts.bits, edge), counts.of(id, edge)});
    }
    all.push_back({{"where", facts.where}, {"name", facts.name}, {"values", std::move(values)}});
  }
  return all;
}

void add_run(Json& json, const RunResult& run, const ReportFacts& facts) {
  const Summary s = summarize(run);
  json["tool"] = tool_json();
  json["seed"] = std::to_string(facts.seed);  // numbers in the page's script hold 53 bits
  json["dut"] = facts.dut;
  json["deviations"] = facts.deviations;
  json["started"] = facts.started;
  json["duration_s"] = facts.duration_s;
  json["digest"] = digest_text(run.digest);
  json["interrupted"] = run.interrupted;
  json["canary"] = run.canary_caught ? "caught" : run.canary_not_run() ? "not run" : "missed";
  json["red"] = s.red;
  json["remarks"] = run.remarks;
  if (run.stopped) {
    json["remarks"].push_back(run.stopped->text() + "; " + std::to_string(run.stopped->not_run) + " cases were not run");
  }
  json["counts"] = {{"pass", s.pass},
                    {"fail", s.fail},
                    {"skip", s.skip},
                    {"waived", s.waived},
                    {"error", s.error},
                    {"inconclusive", s.inconclusive},
                    {"regression", s.regression},
                    {"unexpected_pass", s.unexpected_pass}};
}

/// The exchanges of a page, within bounds: when much has failed, those behind the first ones are shorter.
class Ladders {
 public:
  Ladders(const Gatherer& gathered, PageTables& tables) : gathered_(gathered), tables_(tables) {}

  /// null: there is none.
  Json of(const CaseResult& result) {
    const Ladder* const ladder = gathered_.ladder_of(result);
    if (ladder == nullptr) return nullptr;
    const bool is_long = ladder->rows.size() > kLadderOfPass.head + kLadderOfPass.tail;
    if (is_long && rows_ + ladder->rows.size() > kRowsInFull) return tables_.ladder_json(shortened(*ladder, kLadderOfOneOfMany));
    if (is_long) rows_ += ladder->rows.size();
    return tables_.ladder_json(*ladder);
  }

 private:
  static constexpr std::size_t kRowsInFull = 30'000;
  const Gatherer& gathered_;
  PageTables& tables_;
  std::size_t rows_ = 0;  // of long ones
};

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Data of a page up to which it stands in it as it is: a page has at most 3 MB, a third of them for the ledger.
constexpr std::size_t kPlainMax = 5 << 19;

}  // namespace

std::string page_html(const RunResult& run, const ReportFacts& facts, const Gatherer* gathered) {
  Json json;
  add_run(json, run, facts);
  RequirementTable requirements;
  PageTables tables;
  std::optional<Ladders> ladders;
  if (gathered != nullptr) ladders.emplace(*gathered, tables);
  // What is shown at once, what the list needs, and what an opened case needs.
  Json list{{"cases", Json::array()}}, exchange{{"ladders", Json::array()}};
  for (const CaseResult& result : run.cases) {
    list["cases"].push_back(case_json(result, facts, requirements));
    exchange["ladders"].push_back(ladders ? ladders->of(result) : Json(nullptr));
  }
  json["count"] = run.cases.size();
  list["requirements"] = requirements.take();
  list["transitions"] = gathered == nullptr ? Json::array() : transitions_json(gathered->transitions());
  list["edges"] = gathered == nullptr ? Json::array() : edges_json(gathered->edges());
  tables.finish(exchange);
  std::string packs, list_text = dumped(list), exchange_text = dumped(exchange);
  if (list_text.size() + exchange_text.size() <= kPlainMax) {
    json.update(list);
    for (std::size_t i = 0; i < run.cases.size(); ++i) {
      if (Json& ladder = exchange["ladders"][i]; !ladder.is_null()) json["cases"][i]["ladder"] = std::move(ladder);
    }
    exchange.erase("ladders");
    json.update(exchange);
  } else {
    put_by_columns(exchange);
    packs = pack("list", list_text) + pack("exchange", dumped(exchange));
  }
  return put_page_together("page.html", {"page.css", "ladder.css"},
                           {"base.js", "words.js", "ladder.js", "case.js", "list.js", "coverage.js", "start.js"}, dumped(json), packs);
}

std::string world_html(const WorldFacts& facts, const Ladder& ladder) {
  PageTables tables;
  Json json{{"tool", tool_json()},
            {"name", facts.name},
            {"verdict", facts.verdict},
            {"signature", facts.signature},
            {"reason", facts.text},
            {"story", facts.story},
            {"command", facts.command},
            {"digest", facts.digest},
            {"as_recorded", facts.as_recorded},
            {"virtual_ns", facts.virtual_ns},
            {"capture", facts.capture},
            {"ladder", tables.ladder_json(ladder)}};
  tables.finish(json);
  return put_page_together("world.html", {"page.css", "ladder.css"}, {"base.js", "words.js", "ladder.js", "world.js"}, dumped(json));
}

}  // namespace fb::conformance
