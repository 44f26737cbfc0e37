#include "conformance/report/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "conformance/report/page_parts.h"
#include "conformance/runner/lane.h"
#include "sim/capture/reader.h"

namespace fb::conformance {

namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

using Group = std::tuple<std::string, std::string, std::string>;  // suite, role, transport
using CaseKey = std::pair<std::string, std::string>;              // name, transport

constexpr std::string_view kVerdicts[] = {"pass", "fail", "skip", "waived", "inconclusive", "error"};

struct Run {
  Json head;  ///< what the column says
  std::map<Group, std::map<std::string, std::size_t>> counts;
  std::map<CaseKey, std::string> verdicts;
};

/// A text of the document; throws out_of_range or type_error of the JSON library where there is none.
std::string text_at(const Json& json, const char* key) { return json.at(key).get<std::string>(); }

/// What a page shows: a waived failure is no failure.
std::string shown_verdict(const Json& one) {
  const std::string verdict = text_at(one, "disposition") == "waived" ? "waived" : text_at(one, "verdict");
  if (std::find(std::begin(kVerdicts), std::end(kVerdicts), verdict) == std::end(kVerdicts)) {
    throw std::runtime_error("'" + verdict + "' is no verdict");
  }
  return verdict;
}

std::string percent_encoded(const std::string& path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-_.~/").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

/// From the folder of `output` to the page of a run.
std::string link_to(const std::string& folder, const std::string& output) {
  const fs::path from = fs::weakly_canonical(fs::absolute(output)).parent_path();
  const fs::path to = fs::weakly_canonical(fs::absolute(folder)) / "index.html";
  const std::string link = to.lexically_relative(from).string();
  // A relative path may begin with a colon in its first part, which a browser would take for a scheme.
  return "./" + percent_encoded(link);
}

std::string name_of_folder(const std::string& folder) {
  const fs::path path = fs::weakly_canonical(fs::absolute(folder));
  return path.filename().empty() ? path.string() : path.filename().string();
}

bool is_red(const Json& json) {
  const Json& summary = json.at("summary");
  for (const char* key : {"fail", "error", "regression", "unexpected_pass"}) {
    if (summary.at(key).get<std::uint64_t>() > 0) return true;
  }
  const bool unjudged = text_at(json, "dut") == "embedded" && summary.value("inconclusive", std::uint64_t{0}) > 0;
  return unjudged || text_at(json, "canary") == "missed";
}

Run read_run(const Json& json, const std::string& folder, const std::string& output) {
  Run run;
  run.head = {{"name", name_of_folder(folder)},
              {"href", link_to(folder, output)},
              {"dut", text_at(json, "dut")},
              {"seed", std::to_string(json.at("seed").get<std::uint64_t>())},
              {"digest", text_at(json, "digest")},
              {"canary", text_at(json, "canary")},
              {"red", is_red(json)}};
  for (const Json& one : json.at("cases")) {
    const std::string verdict = shown_verdict(one);
    ++run.counts[{text_at(one, "suite"), text_at(one, "role"), text_at(one, "transport")}][verdict];
    // Where a case ran, as the page of the run names it. Reports of older versions have no lanes.
    const std::string lane = one.value("lane", std::string(plain_lane().name));
    const std::string place = text_at(one, "transport") + (lane == plain_lane().name ? "" : "/" + lane);
    run.verdicts[{text_at(one, "name"), place}] = verdict;
  }
  return run;
}

Result<Run> read_folder(const std::string& folder, const std::string& output) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return Failure{Problem{folder + ": there is no such folder"}};
  const std::string path = (fs::path(folder) / "results.json").string();
  if (!fs::exists(path, error)) {
    return Failure{Problem{folder + ": not a report of a run (it has no results.json)"}};
  }
  const Result<Bytes> bytes = capture::read_file(path);
  if (!bytes) return Failure{bytes.error()};
  const Json json = Json::parse(bytes.value().begin(), bytes.value().end(), nullptr, false);
  if (json.is_discarded()) return Failure{Problem{path + ": this is no JSON"}};
  try {
    return read_run(json, folder, output);
  } catch (const Json::exception& wrong) {
    return Failure{Problem{path + ": not the results of a run: " + wrong.what()}};
  } catch (const std::runtime_error& wrong) {
    return Failure{Problem{path + ": not the results of a run: " + wrong.what()}};
  }
}

Json counts_json(const Run& run, const Group& group) {
  const auto found = run.counts.find(group);
  if (found == run.counts.end()) return nullptr;
  Json counts;
  for (const std::string_view verdict : kVerdicts) {
    const auto count = found->second.find(std::string(verdict));
    counts[std::string(verdict)] = count == found->second.end() ? 0 : count->second;
  }
  return counts;
}

Json groups_json(const std::vector<Run>& runs) {
  std::map<Group, bool> groups;
  for (const Run& run : runs) {
    for (const auto& [group, counts] : run.counts) groups[group] = true;
  }
  Json all = Json::array();
  for (const auto& [group, present] : groups) {
    Json cells = Json::array();
    for (const Run& run : runs) cells.push_back(counts_json(run, group));
    const auto& [suite, role, transport] = group;
    all.push_back({{"suite", suite}, {"role", role}, {"transport", transport}, {"cells", std::move(cells)}});
  }
  return all;
}

/// Cases that several runs hold and that did not come to the same in all of them.
Json differences_json(const std::vector<Run>& runs) {
  std::map<CaseKey, bool> cases;
  for (const Run& run : runs) {
    for (const auto& [key, verdict] : run.verdicts) cases[key] = true;
  }
  Json all = Json::array();
  for (const auto& [key, present] : cases) {
    Json verdicts = Json::array();
    std::string first;
    bool differ = false;
    for (const Run& run : runs) {
      const auto found = run.verdicts.find(key);
      const std::string verdict = found == run.verdicts.end() ? "" : found->second;
      if (first.empty()) first = verdict;
      differ = differ || (!verdict.empty() && verdict != first);
      verdicts.push_back(verdict);
    }
    if (differ) all.push_back({{"name", key.first}, {"transport", key.second}, {"verdicts", std::move(verdicts)}});
  }
  return all;
}

}  // namespace

Result<std::string> matrix_html(const std::vector<std::string>& folders, const std::string& output) {
  std::vector<Run> runs;
  std::map<fs::path, bool> given;
  for (const std::string& folder : folders) {
    if (!given.try_emplace(fs::weakly_canonical(fs::absolute(folder)), true).second) {
      return Failure{Problem{folder + ": this folder is given twice"}};
    }
    Result<Run> run = read_folder(folder, output);
    if (!run) return Failure{run.error()};
    runs.push_back(std::move(run).value());
  }
  Json json;
  json["runs"] = Json::array();
  for (const Run& run : runs) json["runs"].push_back(run.head);
  json["groups"] = groups_json(runs);
  json["differences"] = differences_json(runs);
  return put_page_together("matrix.html", {"page.css", "ladder.css"}, {"base.js", "words.js", "matrix.js"},
                           json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace fb::conformance
