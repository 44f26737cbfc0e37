// Plans and schedules of faults.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "base/or_throw.h"
#include "bindings/convert.h"
#include "bindings/machine.h"
#include "bindings/parts.h"
#include "conformance/campaign/recipe.h"
#include "sim/fault/plan.h"

namespace fb::python {

std::unique_ptr<Faults> make_faults(World& world, const py::object& plan, std::uint64_t seed) {
  if (plan.is_none()) return nullptr;
  auto made = std::make_unique<Faults>();
  if (PyUnicode_Check(plan.ptr()) != 0) {
    made->plan = or_throw(fault::parse_plan(plan.cast<std::string>(), "plan"));
    made->points = std::make_unique<fault::Points>(world, [faults = made.get(), seed](const fault::Place& place) {
      faults->places.push_back(place);
      return fault::generate(faults->plan, seed, {place}).decisions;
    });
    return made;
  }
  auto& decisions = made->schedule.decisions;
  for (const auto& one : plan) decisions.push_back(or_throw(fault::parse_decision(string_of(one, "schedule"))));
  std::sort(decisions.begin(), decisions.end());
  made->points = std::make_unique<fault::Points>(world, [faults = made.get()](const fault::Place& place) {
    faults->places.push_back(place);
    std::vector<fault::Decision> here = faults->schedule.decisions;
    std::erase_if(here, [&](const fault::Decision& decision) { return decision.place != place; });
    return here;
  });
  return made;
}

/// A rule or a decision that names a place which the world never came to, in words; empty where there is none.
std::string misplaced(Fabric& fabric) {
  if (fabric.faults() == nullptr) return {};
  const std::vector<fault::Place>& places = fabric.faults()->places;
  for (const fault::Decision& decision : fabric.faults()->schedule.decisions) {
    if (std::find(places.begin(), places.end(), decision.place) == places.end()) {
      return fmt::format("there was no place '{}'", to_string(decision.place));
    }
  }
  fault::Plan named = fabric.faults()->plan;
  named.source.clear();
  std::erase_if(named.rules, [](const fault::Rule& rule) { return rule.where.empty(); });
  const auto fitting = fault::fits(named, places);
  return fitting ? std::string() : fitting.error().text;
}

void bind_faults(py::module_& m) {
  m.def("misplaced", [](Fabric& fabric) { return misplaced(fabric); });
  m.def("fault_kinds", [] {
    constexpr const char* kUnits[] = {"none", "nanoseconds", "count", "bit", "bytes", "rate", "status", "state"};
    py::list all;
    for (const fault::KindFacts& facts : fault::all_kinds()) {
      py::dict one;
      one["name"] = std::string(facts.name);
      one["site"] = std::string(fault::name_of(facts.site));
      one["unit"] = kUnits[static_cast<std::size_t>(facts.unit)];
      one["low"] = facts.low;
      one["high"] = facts.high;
      one["lies"] = facts.lies;
      one["story"] = std::string(facts.story);
      all.append(one);
    }
    return all;
  });
  // Reads a plan, and says it again in its usual form; the Problem names what is wrong.
  m.def("plan_yaml",
        [](const std::string& text, const std::string& source) { return fault::to_yaml(or_throw(fault::parse_plan(text, source))); });
  m.def("standard_plan", [] { return fault::to_yaml(conformance::standard_plan()); });
  m.def("generate_schedule", [](const std::string& plan, std::uint64_t seed, const std::vector<std::string>& places) {
    std::vector<fault::Place> where;
    for (const std::string& text : places) {
      const std::size_t colon = text.find(':');
      bool known = false;
      for (std::size_t site = 0; site < fault::kSites && colon != std::string::npos; ++site) {
        if (fault::name_of(static_cast<fault::Site>(site)) != text.substr(0, colon)) continue;
        where.push_back({static_cast<fault::Site>(site), text.substr(colon + 1)});
        known = true;
      }
      if (!known) throw py::value_error("places: '" + text + "' is none; write 'packet:host->target'");
    }
    std::vector<std::string> decisions;
    for (const auto& decision : fault::generate(or_throw(fault::parse_plan(plan, "plan")), seed, where).decisions) {
      decisions.push_back(fault::to_string(decision));
    }
    return decisions;
  });
  m.def("tell_decision", [](const std::string& text) { return fault::tell(or_throw(fault::parse_decision(text))); });
}

}  // namespace fb::python
