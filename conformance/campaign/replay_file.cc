#include "conformance/campaign/replay_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/or_throw.h"
#include "conformance/campaign/shapes.h"
#include "conformance/runner/json_problem.h"
#include "conformance/runner/runner.h"

namespace fb::conformance {

namespace {

constexpr const char* kFormat = "fabricbench-world-1";

std::uint64_t hex_of(const std::string& text) {
  std::uint64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 16 || end.ec != std::errc{} || end.ptr != text.data() + text.size()) {
    throw UserError("'" + text + "' is no digest");
  }
  return value;
}

constexpr std::array<std::string_view, 10> kFields = {"format",     "version",   "workload", "product", "seed",
                                                      "deviations", "signature", "digest",   "faults",  "steps"};

/// Steps and faults have a place in the world, or they are a mistake.
void check_fits(const Recipe& recipe) {
  const WorldKind kind = or_throw(world_kind(recipe.workload, recipe.seed));
  const bool management = kind == WorldKind::management;
  const bool simulated = recipe.product.empty();
  if (!simulated && management) throw UserError("a product is of the workload tcp or rdma");
  const FabricShape shape = simulated ? fabric_shape(kind, recipe.seed) : product_shape(recipe.seed);
  const std::vector<fault::Place> places = management  ? places_of(management_shape(recipe.seed))
                                           : simulated ? places_of(shape)
                                                       : places_before_product(recipe.workload);
  for (const fault::Decision& decision : recipe.schedule.decisions) {
    if (std::find(places.begin(), places.end(), decision.place) != places.end()) continue;
    throw UserError(fmt::format("'{}': this world has no {}", fault::to_string(decision), fault::to_string(decision.place)));
  }
  for (const Step& step : recipe.steps) {
    const std::uint64_t end = management ? step.count + 1 : step.at + step.count;
    const std::uint64_t limit = management ? kVpdBytes : shape.blocks;
    if (is_management(step.deed) == management && end <= limit) continue;
    throw UserError(fmt::format("'{}': this world has no room for that step", to_string(step)));
  }
}

ReplayFile read(const nlohmann::json& json) {
  for (const auto& field : json.items()) {
    if (std::find(kFields.begin(), kFields.end(), field.key()) == kFields.end()) {
      throw UserError("unknown field '" + field.key() + "'");
    }
  }
  ReplayFile file;
  file.recipe.workload = json.at("workload");
  file.recipe.product = json.value("product", "");
  file.recipe.seed = json.at("seed");
  file.recipe.deviations = json.at("deviations").get<std::vector<std::string>>();
  for (const auto& step : json.at("steps")) file.recipe.steps.push_back(or_throw(parse_step(step.get<std::string>())));
  for (const auto& fault : json.at("faults")) {
    file.recipe.schedule.decisions.push_back(or_throw(fault::parse_decision(fault.get<std::string>())));
  }
  file.signature = json.at("signature");
  file.digest = hex_of(json.at("digest"));
  std::sort(file.recipe.schedule.decisions.begin(), file.recipe.schedule.decisions.end());
  check_fits(file.recipe);
  return file;
}

}  // namespace

std::string to_json(const ReplayFile& file) {
  nlohmann::ordered_json json;
  json["format"] = kFormat;
  json["version"] = tool_version();
  json["workload"] = file.recipe.workload;
  if (!file.recipe.product.empty()) json["product"] = file.recipe.product;
  json["seed"] = file.recipe.seed;
  json["deviations"] = file.recipe.deviations;
  json["signature"] = file.signature;
  json["digest"] = fmt::format("{:016x}", file.digest);
  json["faults"] = nlohmann::ordered_json::array();
  for (const fault::Decision& decision : file.recipe.schedule.decisions) json["faults"].push_back(fault::to_string(decision));
  json["steps"] = nlohmann::ordered_json::array();
  for (const Step& step : file.recipe.steps) json["steps"].push_back(to_string(step));
  return json.dump(1) + "\n";
}

bool is_replay_file(std::string_view text) { return text.find("fabricbench-world-") != std::string_view::npos; }

Result<ReplayFile> parse_replay_file(std::string_view text, const std::string& source) {
  const auto wrong = [&](const std::string& why) { return Failure{Problem{source + ": " + why}}; };
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    if (json.value("format", "") != kFormat) return wrong(fmt::format("not a file of the form {}", kFormat));
    const std::string version = json.value("version", "");
    if (version != tool_version()) {
      return wrong(fmt::format("written by version {}, this is {}: the world would differ", version, tool_version()));
    }
    return read(json);
  } catch (const nlohmann::json::exception& problem) {
    return wrong(json_problem(problem));
  } catch (const UserError& problem) {
    return wrong(problem.what());
  }
}

}  // namespace fb::conformance
