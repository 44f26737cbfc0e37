#include "sim/fault/plan.h"

#include <algorithm>

#include "base/rng.h"

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

}  // namespace fb::fault
