#include "conformance/runner/profiles.h"

#include <fnmatch.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/suggest.h"
#include "conformance/requirements/ledger.h"
#include "model/deviations/shown.h"

namespace fb::conformance {

namespace {

constexpr const char *kPlays = "plays", *kUnplayed = "unplayed";

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
                         {"source", &KnownDeviation::source, true},
                         {kPlays, nullptr, false},
                         {kUnplayed, nullptr, false}};

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
    if (known->field != nullptr) made.*(known->field) = entry.second.as<std::string>();
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

namespace {

struct NamedText {
  std::string file, text;
};

Result<NamedText> text_of_profile(const std::string& name) {
  if (name.ends_with(".yaml")) {
    std::ifstream file(name);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) return Failure{Problem{"cannot read " + name}};
    return NamedText{name, text.str()};
  }
  std::string known;
  std::vector<std::string_view> names;
  for (const BuiltInProfile& profile : built_in_profiles()) {
    names.push_back(profile.name);
    if (profile.name == name) return NamedText{name + ".yaml", std::string(profile.text)};
    known += (known.empty() ? "" : ", ") + std::string(profile.name);
  }
  return Failure{Problem{"no profile '" + name + "'; known are " + known + ", or a file NAME.yaml" + did_you_mean(name, names)}};
}

/// Of a text that add_profile() takes.
std::vector<PlayedLine> lines_of(const std::string& text) {
  std::vector<PlayedLine> lines;
  for (const YAML::Node& node : YAML::Load(text)["deviations"]) {
    PlayedLine line{node["requirement"].as<std::string>(), {}, node[kUnplayed] ? node[kUnplayed].as<std::string>() : ""};
    std::istringstream names(node[kPlays] ? node[kPlays].as<std::string>() : "");
    for (std::string one; std::getline(names, one, ',');) {
      one.erase(0, one.find_first_not_of(' '));
      line.plays.push_back(one);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

Result<void> add_named_profile(const std::string& name, Expectations& to) {
  auto found = text_of_profile(name);
  if (!found) return Failure{found.error()};
  return add_profile(found->text, found->file, to);
}

Result<std::vector<PlayedLine>> played_lines(const std::string& profile) {
  auto found = text_of_profile(profile);
  if (!found) return Failure{found.error()};
  Expectations checked;
  if (auto added = add_profile(found->text, found->file, checked); !added) return Failure{added.error()};
  std::vector<PlayedLine> lines = lines_of(found->text);
  for (const PlayedLine& line : lines) {
    if (line.plays.empty() == line.unplayed.empty()) {
      return Failure{Problem{found->file + ": " + line.requirement + ": a line that is played has 'plays', any other 'unplayed'"}};
    }
    if (auto known = deviations::DeviationSet::of_names(line.plays); !known) {
      return Failure{Problem{found->file + ": " + line.requirement + ": " + known.error().text}};
    }
  }
  return lines;
}

Result<deviations::DeviationSet> personality(const std::string& profile, const std::vector<deviations::Product>& products,
                                             const std::vector<std::string>& transports) {
  auto lines = played_lines(profile);
  if (!lines) return Failure{lines.error()};
  std::vector<std::string> names;
  for (const PlayedLine& line : *lines) {
    for (const std::string& one : line.plays) {
      if (std::find(names.begin(), names.end(), one) != names.end()) continue;
      const auto alone = deviations::DeviationSet::of_names({one});
      if (alone && deviations::can_be_shown(*alone, products, transports)) names.push_back(one);
    }
  }
  if (names.empty()) return Failure{Problem{profile + ": none of its lines is about such a product"}};
  return deviations::DeviationSet::of_names(names);
}

Result<deviations::DeviationSet> with_personality(std::vector<std::string> names, const std::string& profile,
                                                  const std::vector<deviations::Product>& products,
                                                  const std::vector<std::string>& transports) {
  if (!profile.empty()) {
    const auto played = personality(profile, products, transports);
    if (!played) return Failure{played.error()};
    const std::vector<std::string> more = played->names();
    names.insert(names.end(), more.begin(), more.end());
  }
  return deviations::DeviationSet::of_names(names);
}

}  // namespace fb::conformance
