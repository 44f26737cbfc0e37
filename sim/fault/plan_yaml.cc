// Plans as YAML. What is wrong is told with the file's line.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <set>

#include "base/suggest.h"
#include "sim/fault/plan.h"

namespace fb::fault {

namespace {

/// What is wrong, and in which line.
struct PlanFault {
  int line;
  std::string text;
};

[[noreturn]] void fail(const YAML::Node& node, std::string text) { throw PlanFault{node.Mark().line + 1, std::move(text)}; }

const std::vector<std::string_view> kRuleFields = {"kind", "where", "every", "most", "from", "to", "amount"};
const std::vector<std::string_view> kPlanFields = {"name", "swarm", "faults"};

/// The keys of a map, each once: the library takes the last of several without a word.
class Keys {
 public:
  std::string next(const YAML::Node& key) {
    if (!key.IsScalar()) fail(key, "a field has a name");
    if (!seen_.insert(key.Scalar()).second) fail(key, fmt::format("'{}' occurs twice here", key.Scalar()));
    return key.Scalar();
  }
  bool seen(const std::string& key) const { return seen_.contains(key); }

 private:
  std::set<std::string> seen_;
};

std::string text_of(const YAML::Node& node, const char* what) {
  if (!node.IsScalar() || node.Scalar().empty()) fail(node, fmt::format("{} is a text", what));
  return node.Scalar();
}

std::uint64_t whole(const YAML::Node& node, const char* what, std::uint64_t low, std::uint64_t high) {
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  std::uint64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end.ec != std::errc{} || end.ptr != text.data() + text.size() || value < low || value > high) {
    fail(node, fmt::format("{} is a number from {} to {}, not '{}'", what, low, high, text));
  }
  return value;
}

/// "200us", "2 ms", "17".
std::uint64_t amount_of(const YAML::Node& node, const KindFacts& facts) {
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  std::uint64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view suffix(end.ptr, static_cast<std::size_t>(text.data() + text.size() - end.ptr));
  while (suffix.starts_with(' ')) suffix.remove_prefix(1);
  std::uint64_t factor = 0;
  if (suffix.empty()) factor = 1;
  if (facts.unit == Unit::nanoseconds) {
    if (suffix == "ns") factor = 1;
    if (suffix == "us") factor = 1000;
    if (suffix == "ms") factor = 1'000'000;
    if (suffix == "s") factor = 1'000'000'000;
  }
  if (end.ec != std::errc{} || factor == 0 || value > ~std::uint64_t{0} / factor) {
    fail(node,
         fmt::format("'{}' is not a valid amount of {}{}", text, facts.name, facts.unit == Unit::nanoseconds ? " (2ms, 30us, 400ns)" : ""));
  }
  value *= factor;
  if (value < facts.low || value > facts.high) {
    fail(node, fmt::format("the amount of {} lies between {} and {}", facts.name, facts.low, facts.high));
  }
  return value;
}

void read_amount(const YAML::Node& node, const KindFacts& facts, Rule& rule) {
  if (facts.unit == Unit::none) fail(node, fmt::format("{} has no amount", facts.name));
  if (node.IsSequence()) {
    if (node.size() != 2) fail(node, "an amount is one value, or [lowest, highest]");
    rule.low = amount_of(node[0], facts);
    rule.high = amount_of(node[1], facts);
    if (rule.low > rule.high) fail(node, "the lowest amount is above the highest");
  } else {
    rule.low = rule.high = amount_of(node, facts);
  }
}

Rule read_rule(const YAML::Node& node) {
  if (!node.IsMap()) fail(node, "a fault is a map with 'kind'");
  const YAML::Node kind = node["kind"];
  if (!kind) fail(node, "a fault has a 'kind'");
  const KindFacts* const facts = find_kind(kind.IsScalar() ? kind.Scalar() : "");
  if (facts == nullptr) {
    const std::string typed = kind.IsScalar() ? kind.Scalar() : "?";
    std::vector<std::string_view> names;
    for (const KindFacts& one : all_kinds()) names.push_back(one.name);
    fail(kind,
         fmt::format("unknown kind of fault '{}'{} (fabricbench campaign --list-faults lists them)", typed, did_you_mean(typed, names)));
  }
  Rule rule;
  rule.kind = facts->kind;
  rule.line = node.Mark().line + 1;
  rule.low = facts->low;
  rule.high = facts->high;
  Keys keys;
  for (const auto& entry : node) {
    const std::string name = keys.next(entry.first);
    const YAML::Node& value = entry.second;
    if (name == "kind") continue;
    if (name == "where")
      rule.where = text_of(value, "where");
    else if (name == "every")
      rule.every = whole(value, "every", 1, 1'000'000'000);
    else if (name == "most")
      rule.most = static_cast<unsigned>(whole(value, "most", 1, 100'000));
    else if (name == "from")
      rule.from = whole(value, "from", 0, 1'000'000'000);
    else if (name == "to")
      rule.to = whole(value, "to", 1, 1'000'000'000);
    else if (name == "amount")
      read_amount(value, *facts, rule);
    else
      fail(entry.first, fmt::format("a fault has no field '{}'; known are kind, where, every, most, from, to, amount{}", name,
                                    did_you_mean(name, kRuleFields)));
  }
  if (rule.from >= rule.to)
    fail(node, fmt::format("from {} to {} is empty: 'to' is the first that is no longer affected", rule.from, rule.to));
  return rule;
}

Plan read_plan(const YAML::Node& root) {
  if (!root.IsMap()) fail(root, "a plan is a map with 'faults'");
  Plan plan;
  Keys keys;
  for (const auto& entry : root) {
    const std::string name = keys.next(entry.first);
    const YAML::Node& value = entry.second;
    if (name == "name") {
      plan.name = text_of(value, "name");
    } else if (name == "swarm") {
      if (!value.IsScalar() || (value.Scalar() != "true" && value.Scalar() != "false")) fail(value, "swarm is true or false");
      plan.swarm = value.Scalar() == "true";
    } else if (name == "faults") {
      if (!value.IsSequence()) fail(value, "'faults' is a list");
      for (const YAML::Node& rule : value) plan.rules.push_back(read_rule(rule));
    } else {
      fail(entry.first, fmt::format("a plan has no field '{}'; known are name, swarm, faults{}", name, did_you_mean(name, kPlanFields)));
    }
  }
  if (!keys.seen("faults")) fail(root, "a plan without 'faults' lists none ('faults: []' if that is intended)");
  return plan;
}

}  // namespace

Result<Plan> parse_plan(std::string_view text, const std::string& source) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() > 1) fail(documents[1], "a second document: a plan is one");
    Plan plan = read_plan(documents.empty() ? YAML::Node() : documents.front());
    plan.source = source;
    return plan;
  } catch (const PlanFault& fault) {
    return Failure{Problem{fmt::format("{}:{}: {}", source, std::max(fault.line, 1), fault.text)}};
  } catch (const YAML::Exception& broken) {
    return Failure{Problem{fmt::format("{}:{}: {}", source, broken.mark.line + 1, broken.msg)}};
  }
}

std::string to_yaml(const Plan& plan) {
  std::string text = fmt::format("name: {}\nswarm: {}\nfaults:{}\n", plan.name, plan.swarm, plan.rules.empty() ? " []" : "");
  for (const Rule& rule : plan.rules) {
    const KindFacts& facts = facts_of(rule.kind);
    text += fmt::format("  - kind: {}\n", facts.name);
    if (!rule.where.empty()) text += fmt::format("    where: {}\n", rule.where);
    text += fmt::format("    every: {}\n    most: {}\n", rule.every, rule.most);
    if (rule.from != 0) text += fmt::format("    from: {}\n", rule.from);
    if (rule.to != Rule{}.to) text += fmt::format("    to: {}\n", rule.to);
    if (facts.unit != Unit::none) text += fmt::format("    amount: [{}, {}]\n", rule.low, rule.high);
  }
  return text;
}

}  // namespace fb::fault
