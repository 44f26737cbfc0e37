#include "model/deviations/deviation.h"

#include <algorithm>

#include "base/suggest.h"
#include "wire/fabrics/transports.h"

namespace fb::deviations {

std::string_view name_of(Product product) {
  switch (product) {
    case Product::controller:
      return "controller";
    case Product::host:
      return "host";
    case Product::rdma:
      return fabrics::kRdma;
    case Product::cm:
      return "cm";
    case Product::endpoint:
      return "endpoint";
    case Product::management_requester:
      return "management-requester";
    case Product::bus:
      return "bus";
    case Product::nd_provider:
      return "nd-provider";
    case Product::nd_consumer:
      return "nd-consumer";
    case Product::ndk_provider:
      return "ndk-provider";
    case Product::ndk_consumer:
      return "ndk-consumer";
  }
  return "controller";
}

const std::vector<const Deviation*>& all_deviations() {
  static const std::vector<const Deviation*> all = [] {
    std::vector<const Deviation*> found;
    for (auto* d = RegisteredDeviation::first_; d != nullptr; d = d->next_) found.push_back(&d->deviation_);
    std::sort(found.begin(), found.end(), [](auto* a, auto* b) { return a->name < b->name; });
    for (std::size_t i = 1; i < found.size(); ++i) {
      const std::string why = "two deviations are called " + std::string(found[i]->name);
      if (found[i - 1]->name == found[i]->name) assertion_failed("unique", __FILE__, __LINE__, why.c_str());
    }
    return found;
  }();
  return all;
}

bool shows_over(const Deviation& deviation, std::string_view transport) {
  if (!deviation.transport.empty()) return deviation.transport == transport;
  if (deviation.product == Product::rdma || deviation.product == Product::cm) return transport == fabrics::kRdma;
  const auto* point = std::get_if<Departs>(&deviation.effect);
  if (point == nullptr) return true;
  for (const fabrics::Transport& one : fabrics::kTransports) {
    if (point->point.starts_with(one.name) && point->point.substr(one.name.size()).starts_with('.')) {
      return transport == one.name;
    }
  }
  return true;
}

const Deviation* find_deviation(std::string_view name) {
  for (const Deviation* deviation : all_deviations()) {
    if (deviation->name == name) return deviation;
  }
  return nullptr;
}

std::vector<const Deviation*> deviations_of(std::string_view requirement) {
  std::vector<const Deviation*> found;
  for (const Deviation* deviation : all_deviations()) {
    if (deviation->requirement == requirement) found.push_back(deviation);
  }
  return found;
}

namespace {

/// Whether the line for people names that field report: "(F3)", "(F2, F6)".
bool names_report(std::string_view what, std::string_view report) {
  for (std::size_t at = what.find(report); at != std::string_view::npos; at = what.find(report, at + 1)) {
    const bool begins = at > 0 && (what[at - 1] == '(' || what[at - 1] == ' ');
    const std::size_t end = at + report.size();
    if (begins && (end == what.size() || what[end] == ')' || what[end] == ',')) return true;
  }
  return false;
}

/// "F3" for the deviation that was seen in the field under that number, where it is one alone.
Result<const Deviation*> find_by_report(const std::string& report, std::optional<Product> of) {
  std::vector<const Deviation*> found;
  for (const Deviation* one : all_deviations()) {
    if (names_report(one->what, report) && one->product == of.value_or(one->product)) found.push_back(one);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) return Failure{Problem{"no deviation is called '" + report + "'"}};
  std::string names;
  for (const Deviation* one : found) names += (names.empty() ? "" : ", ") + std::string(one->name);
  return Failure{Problem{report + " is several deviations: " + names}};
}

bool is_report(const std::string& name) {
  return name.size() >= 2 && name[0] == 'F' && std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<DeviationSet> DeviationSet::of_names(const std::vector<std::string>& names, std::optional<Product> of) {
  std::vector<const Deviation*> chosen;
  for (const std::string& name : names) {
    const Deviation* deviation = find_deviation(name);
    if (deviation == nullptr && is_report(name)) {
      const auto found = find_by_report(name, of);
      if (!found) return Failure{found.error()};
      deviation = *found;
    }
    if (deviation == nullptr) {
      std::vector<std::string_view> known;
      for (const Deviation* one : all_deviations()) known.push_back(one->name);
      return Failure{
          Problem{"no deviation is called '" + name + "'" + did_you_mean(name, known) + " ('fabricbench list --deviations' shows them)"}};
    }
    if (std::find(chosen.begin(), chosen.end(), deviation) == chosen.end()) chosen.push_back(deviation);
  }
  return DeviationSet(std::move(chosen));
}

std::vector<std::string_view> DeviationSet::points(Product of) const {
  std::vector<std::string_view> points;
  for (const Deviation* deviation : chosen_) {
    const auto* departs = std::get_if<Departs>(&deviation->effect);
    if (departs != nullptr && deviation->product == of) points.push_back(departs->point);
  }
  return points;
}

std::vector<std::string> DeviationSet::names() const {
  std::vector<std::string> names;
  for (const Deviation* deviation : chosen_) names.emplace_back(deviation->name);
  return names;
}

}  // namespace fb::deviations
