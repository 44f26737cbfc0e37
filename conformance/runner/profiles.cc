#include "conformance/runner/profiles.h"

#include <fnmatch.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/suggest.h"
#include "conformance/requirements/ledger.h"

namespace fb::conformance {

namespace {

struct Key {
  const char* name;
  std::string KnownDeviation::*field;
  bool needed;
};
constexpr Key kKeys[] = {{"requirement", &KnownDeviation::requirement, true},
                         {"case", &KnownDeviation::case_glob, false},
                         {"transport", &KnownDeviation::transport, false},
                         {"shows", &KnownDeviation::shows, false},
                         {"seen", &KnownDeviation::signature, true},
                         {"reason", &KnownDeviation::reason, true},
                         {"source", &KnownDeviation::source, true}};

Failure<Problem> wrong(const std::string& name, const YAML::Node& node, const std::string& why) {
  return {Problem{name + ":" + std::to_string(node.Mark().line + 1) + ": " + why}};
}

Result<KnownDeviation> parse_deviation(const YAML::Node& node, const std::string& name) {
  if (!node.IsMap()) return wrong(name, node, "a deviation is a mapping");
  KnownDeviation made;
  for (const auto& entry : node) {
    const std::string key = entry.first.as<std::string>();
    const auto known = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const Key& one) { return key == one.name; });
    if (known == std::end(kKeys)) return wrong(name, entry.first, "a deviation has no '" + key + "'");
    if (!entry.second.IsScalar()) return wrong(name, entry.second, "'" + key + "' is a text");
    made.*(known->field) = entry.second.as<std::string>();
  }
  for (const Key& key : kKeys) {
    if (key.needed && (made.*(key.field)).empty()) {
      return wrong(name, node, std::string("a deviation without '") + key.name + "'");
    }
  }
  const auto ids = ledger();
  if (std::none_of(ids.begin(), ids.end(),
                   [&](const Requirement& one) { return fnmatch(made.requirement.c_str(), std::string(one.id).c_str(), 0) == 0; })) {
    return wrong(name, node, "no requirement '" + made.requirement + "'");
  }
  if (!made.shows.empty() && made.shows != kSometimes) {
    return wrong(name, node, "a deviation shows 'sometimes', or always and does not say so");
  }
  return made;
}

Result<void> parse_profile(const YAML::Node& root, const std::string& name, Expectations& to) {
  if (!root.IsMap()) return wrong(name, root, "a profile has 'peer' and 'deviations'");
  for (const auto& entry : root) {
    const std::string key = entry.first.as<std::string>();
    if (key == "peer" && entry.second.IsScalar()) {
      to.product = entry.second.as<std::string>();
    } else if (key == "deviations" && entry.second.IsSequence()) {
      for (const YAML::Node& node : entry.second) {
        auto deviation = parse_deviation(node, name);
        if (!deviation) return Failure{deviation.error()};
        to.deviations.push_back(std::move(deviation).value());
      }
    } else {
      return wrong(name, entry.first, "'" + key + "' is not 'peer' (text) or 'deviations' (a list)");
    }
  }
  return {};
}

}  // namespace

Result<void> add_profile(const std::string& text, const std::string& name, Expectations& to) {
  try {
    return parse_profile(YAML::Load(text), name, to);
  } catch (const YAML::Exception& problem) {
    return Failure{Problem{name + ":" + std::to_string(problem.mark.line + 1) + ": " + problem.msg}};
  }
}

Result<void> add_named_profile(const std::string& name, Expectations& to) {
  if (name.ends_with(".yaml")) {
    std::ifstream file(name);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) return Failure{Problem{"cannot read " + name}};
    return add_profile(text.str(), name, to);
  }
  std::string known;
  std::vector<std::string_view> names;
  for (const BuiltInProfile& profile : built_in_profiles()) {
    names.push_back(profile.name);
    if (profile.name == name) return add_profile(std::string(profile.text), name + ".yaml", to);
    known += (known.empty() ? "" : ", ") + std::string(profile.name);
  }
  return Failure{Problem{"no profile '" + name + "'; known are " + known + ", or a file NAME.yaml" + did_you_mean(name, names)}};
}

}  // namespace fb::conformance
