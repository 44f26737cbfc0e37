#include "sim/fault/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rng.h"
#include "base/suggest.h"

namespace fb::fault {

namespace {

void write_rule(const Rule& rule, const Place& place, Rng rng, std::vector<Decision>& out) {
  std::uint64_t at = rule.from;
  for (unsigned n = 0; n < rule.most; ++n) {
    at += rng.below(2 * rule.every - 1);
    const std::uint64_t amount = rng.between(rule.low, rule.high);
    if (at >= rule.to) return;
    out.push_back({place, at, rule.kind, amount});
    ++at;
  }
}

}  // namespace

Schedule generate(const Plan& plan, std::uint64_t seed, const std::vector<Place>& places) {
  Schedule schedule;
  for (std::size_t index = 0; index < plan.rules.size(); ++index) {
    const Rule& rule = plan.rules[index];
    const std::string name = "fault/" + std::to_string(index) + "/" + std::string(name_of(rule.kind));
    if (plan.swarm && Rng(seed, name + "/swarm").below(2) == 0) continue;
    for (const Place& place : places) {
      if (place.site != facts_of(rule.kind).site) continue;
      if (!rule.where.empty() && rule.where != place.where) continue;
      write_rule(rule, place, Rng(seed, name + "/" + place.where), schedule.decisions);
    }
  }
  std::sort(schedule.decisions.begin(), schedule.decisions.end());
  const auto end = std::unique(schedule.decisions.begin(), schedule.decisions.end());
  schedule.decisions.erase(end, schedule.decisions.end());
  return schedule;
}

Result<void> fits(const Plan& plan, const std::vector<Place>& places) {
  bool any = plan.rules.empty();
  for (const Rule& rule : plan.rules) {
    const Site site = facts_of(rule.kind).site;
    bool fitting = false;
    std::string known;
    std::vector<std::string_view> names;
    for (const Place& place : places) {
      if (place.site != site) continue;
      names.push_back(place.where);
      fitting = fitting || rule.where.empty() || rule.where == place.where;
      known += (known.empty() ? "" : ", ") + place.where;
    }
    any = any || fitting;
    if (fitting || rule.where.empty()) continue;
    const std::string at = plan.source.empty() ? "" : fmt::format("{}:{}: ", plan.source, rule.line);
    const std::string why = known.empty() ? fmt::format("{} does not exist in these worlds", name_of(rule.kind))
                                          : fmt::format("{} can occur at: {}", name_of(rule.kind), known);
    return Failure{Problem{fmt::format("{}no place '{}': {}{}", at, rule.where, why, did_you_mean(rule.where, names))}};
  }
  if (any) return {};
  const std::string which = plan.source.empty() ? plan.name : plan.source;
  return Failure{Problem{which + ": none of its faults can occur in worlds of this workload"}};
}

}  // namespace fb::fault
