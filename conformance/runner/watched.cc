#include "conformance/runner/watched.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "conformance/runner/library_product.h"

namespace fb::conformance {

namespace {

std::string what_of(const monitors::Finding& found) {
  const monitors::RuleFacts& rule = monitors::facts_of(found.rule);
  return fmt::format("{} ({})", rule.requirement, rule.name);
}

std::string told(const monitors::Finding& found) {
  return fmt::format("{}: packet {} at {}, {}: {}", what_of(found), found.packet, to_string(found.time), to_string(found.blamed),
                     found.text);
}

/// A rule is about many fields and commands: who waives what is known of one of them wants to hear of the next.
void add_way(std::vector<Finding>& ways, const monitors::Finding& found) {
  constexpr std::size_t kWaysMax = 32;
  Finding way{what_of(found), {std::string(monitors::facts_of(found.rule).sentence)}, found.text};
  const std::string signature = signature_of(way);
  const bool known = std::any_of(ways.begin(), ways.end(), [&](const Finding& other) { return signature_of(other) == signature; });
  if (!known && ways.size() < kWaysMax) ways.push_back(std::move(way));
}

}  // namespace

// Simulated hosts and endpoints are named, those of the bench by these words; sockets call the other side the peer.
bool blames_product(const monitors::Finding& finding, Role role, bool embedded) {
  if (!embedded) return finding.actor == "peer";
  // A serial line's ends have names of their own: the owner of the bus is on the left.
  const bool left = finding.actor.ends_with(".left");
  if (left || finding.actor.ends_with(".right")) return left != (role == Role::endpoint);
  for (const std::string_view ours : {"bench", "middle", "played", "second owner"}) {
    if (finding.actor.starts_with(ours)) return false;
  }
  return true;
}

/// What the oracle says of hosts and management endpoints: a bench that plays one does what its case asks for.
bool is_for_products(monitors::Rule rule) {
  const std::string_view requirement = monitors::facts_of(rule).requirement;
  return monitors::judges_hosts(rule) || requirement.starts_with("oracle.mi.") || requirement.starts_with("oracle.mctp.");
}

/// "no response, the connection ended: a PDU of a reserved type": it is the bench that ended it, for what the product sent.
bool ended_by_bench(const CaseResult& result) {
  constexpr std::string_view kEnded = "the connection ended: ";
  if (result.findings.empty()) return false;
  const std::string_view seen = result.findings.front().seen;
  const std::size_t at = seen.find(kEnded);
  if (at == std::string_view::npos) return false;
  const std::string_view why = seen.substr(at + kEnded.size());
  return !why.starts_with("the peer") && !why.starts_with("the controller") && !why.starts_with("C2HTermReq");
}

/// What a case makes of a buffer that was never filled, or of a connection that could not go on, is no verdict on its own rule:
/// the rule of the transport that was broken is reported for the run.
void excuse_consequences(CaseResult& result) {
  constexpr std::string_view kNothingCame = "no C2HData with LAST_PDU came; 0 of ";
  constexpr std::string_view kTransport = "tcp.";
  if (result.verdict != Verdict::fail) return;
  const bool ended = ended_by_bench(result) && !result.info->requirement.starts_with(kTransport);
  for (std::size_t i = 0; i < result.monitored.size(); ++i) {
    const monitors::Finding& found = result.monitored[i];
    const std::string_view broken = monitors::facts_of(found.rule).requirement;
    if (!result.blamed[i] || broken == result.info->requirement) continue;
    const bool empty = found.rule == monitors::Rule::tcp_c2h_last && found.text.find(kNothingCame) != std::string::npos;
    if (!empty && !(ended && broken.starts_with(kTransport))) continue;
    result.verdict = Verdict::inconclusive;
    result.reason = (empty ? "the data did not come: " : "the connection could not go on: ") + told(found);
    result.findings.clear();
    return;
  }
}

void judge_by_monitors(const std::vector<monitors::Finding>& all, bool embedded, CaseResult& result, bool simulated) {
  const bool named = embedded || simulated;
  const CaseInfo& info = *result.info;
  for (const monitors::Finding& found : all) {
    if (blames_product(found, info.role, named) || !is_for_products(found.rule)) result.monitored.push_back(found);
  }
  const std::vector<monitors::Finding>& findings = result.monitored;
  // What is only advised against breaks nothing in a third-party product.
  for (const monitors::Finding& found : findings) {
    result.blamed.push_back(blames_product(found, info.role, named) && (embedded || !monitors::only_advises(found.rule)));
  }
  if (!embedded) excuse_consequences(result);
  // A bench may be misled by a product that breaks rules, and a real one has answers that nobody foresaw.
  if (!embedded || result.verdict != Verdict::pass || !broken_rules(result).empty()) return;
  const auto ours = std::find_if(findings.begin(), findings.end(), [&](const monitors::Finding& found) {
    return !info.options.malformed && !on_purpose(info.name, found.rule) && !monitors::only_advises(found.rule);
  });
  if (ours == findings.end()) return;
  result.verdict = Verdict::error;
  result.reason = "the bench itself broke a rule: " + told(*ours);
}

std::vector<std::string_view> broken_rules(const CaseResult& result) {
  std::set<monitors::Rule> rules;
  for (std::size_t i = 0; i < result.monitored.size(); ++i) {
    if (result.blamed[i]) rules.insert(result.monitored[i].rule);
  }
  std::vector<std::string_view> names;
  for (const monitors::Rule rule : rules) names.push_back(monitors::facts_of(rule).name);
  return names;
}

const CaseInfo& rule_case(monitors::Rule rule, Role role) {
  static std::mutex mutex;
  static std::map<std::pair<monitors::Rule, Role>, std::pair<std::string, CaseInfo>> made;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = made.try_emplace({rule, role});
  auto& [name, info] = entry->second;
  if (is_new) {
    const monitors::RuleFacts& facts = monitors::facts_of(rule);
    name = "rule_" + std::string(facts.name);
    info.name = name;
    info.requirement = facts.requirement;
    info.role = role;
    info.file = __FILE__;
  }
  return info;
}

std::vector<CaseResult> results_of_rules(const std::vector<CaseResult>& cases, const std::vector<monitors::Finding>& beforehand,
                                         const Product& product) {
  struct Broken {
    const monitors::Finding* first = nullptr;
    Role role = Role::controller;
    std::string_view transport;
    std::vector<const CaseInfo*> shown_by = {};
    std::string capture = {};
    std::vector<Finding> ways = {};  ///< of breaking it: their signatures differ
  };
  std::map<monitors::Rule, Broken> broken;
  for (const monitors::Finding& found : beforehand) {
    if (!blames_product(found, Role::controller, is_virtual(product))) continue;
    const auto [one, is_new] = broken.try_emplace(found.rule);
    if (is_new) one->second = {&found, Role::controller, product.transport};
    add_way(one->second.ways, found);
  }
  for (const CaseResult& result : cases) {
    for (std::size_t i = 0; i < result.monitored.size(); ++i) {
      if (!result.blamed[i]) continue;
      const auto [one, is_new] = broken.try_emplace(result.monitored[i].rule);
      if (is_new) one->second = {&result.monitored[i], result.info->role, result.transport, {}, result.capture};
      add_way(one->second.ways, result.monitored[i]);
      auto& shown_by = one->second.shown_by;
      if (shown_by.empty() || shown_by.back() != result.info) shown_by.push_back(result.info);
    }
  }
  std::vector<CaseResult> results;
  for (auto& [rule, one] : broken) {
    const monitors::RuleFacts& facts = monitors::facts_of(rule);
    const bool said = std::any_of(cases.begin(), cases.end(), [&](const CaseResult& result) {
      return result.info->requirement == facts.requirement && result.verdict == Verdict::fail;
    });
    if (said) continue;
    CaseResult result;
    result.info = &rule_case(rule, one.role);
    result.transport = one.transport;
    result.verdict = Verdict::fail;
    result.findings = std::move(one.ways);
    result.reason =
        told(*one.first) + (one.shown_by.empty() ? " (before the first case)" : fmt::format(" (in {})", one.shown_by.front()->name));
    if (one.shown_by.empty() && !cases.empty()) one.shown_by = {cases.front().info};  // any case shows it again
    result.shown_by = std::move(one.shown_by);
    result.capture = std::move(one.capture);
    result.finished = true;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace fb::conformance
