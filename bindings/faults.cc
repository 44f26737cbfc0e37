// Plans and schedules of faults.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "base/or_throw.h"
#include "bindings/between.h"
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
std::string misplaced(const Faults& faults) {
  const std::vector<fault::Place>& places = faults.places;
  for (const fault::Decision& decision : faults.schedule.decisions) {
    if (std::find(places.begin(), places.end(), decision.place) == places.end()) {
      return fmt::format("there was no place '{}'", to_string(decision.place));
    }
  }
  fault::Plan named = faults.plan;
  named.source.clear();
  std::erase_if(named.rules, [](const fault::Rule& rule) { return rule.where.empty(); });
  const auto fitting = fault::fits(named, places);
  return fitting ? std::string() : fitting.error().text;
}

void bind_faults(py::module_& m) {
  py::class_<Faults>(m, "Faults");
  py::class_<Between>(m, "Between").def_property_readonly("faults", &Between::faults, py::return_value_policy::reference);
  m.def(
      "make_between",
      [](const std::shared_ptr<Box>& box, const py::object& plan, std::uint64_t seed) {
        return &box->keep_below(std::make_unique<Between>(*box, make_faults(box->world(), plan, seed)));
      },
      py::return_value_policy::reference);
  m.def("misplaced", [](const Faults& faults) { return misplaced(faults); });
  m.def("strikes", [](const std::shared_ptr<Box>& box, const Faults& faults) {
    box->check();
    py::list all;
    for (const fault::Strike& strike : faults.points->strikes()) {
      all.append(py::make_tuple(seconds(strike.at), fault::to_string(strike.decision), fault::tell(strike.decision)));
    }
    return all;
  });
  m.def("disarm", [](const std::shared_ptr<Box>& box, Faults& faults) {
    box->check();
    faults.points->disarm();
  });
  m.def("remarks", [](Between& between) { return between.remarks(); });
  m.def("entrance", [](const std::shared_ptr<Box>& box, Between& between, const Held<Machine>& machine, const std::string& address,
                       std::uint16_t port, const std::string& transport) {
    box->check();
    const Endpoint at = between.entrance({address_of(py::str(address), "address"), port}, *machine, transport);
    return py::make_tuple(to_string(at.address), at.port);
  });
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
