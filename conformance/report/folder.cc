#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "conformance/report/page.h"
#include "conformance/report/report.h"

namespace fb::conformance {

namespace {

constexpr const char* kFiles[] = {"results.json", "junit.xml", "results.tap", "results.sarif", "summary.md", "index.html"};
constexpr std::size_t kWithoutPage = std::size(kFiles) - 1;  // these hold the verdicts

/// Whether a run of some version could have left that capture: what else lies there is somebody's.
bool is_of_a_case(const std::string& stem) {
  return std::ranges::any_of(all_cases(), [&](const CaseInfo* info) {
    return stem == info->name || (stem.starts_with(info->name) && stem[info->name.size()] == '-');
  });
}

/// What an earlier run left would be taken for this one's.
void remove_earlier(const std::string& path) {
  std::error_code ignored;
  const bool was_report = std::filesystem::exists(path + "/results.json", ignored);
  for (const auto& entry : std::filesystem::directory_iterator(path + "/captures", ignored)) {
    const std::filesystem::path& file = entry.path();
    const bool is_capture = file.extension() == ".pcapng" && (was_report || is_of_a_case(file.stem().string()));
    if (is_capture || file.extension() == ".partial") std::filesystem::remove(file, ignored);
  }
  for (const char* name : kFiles) {
    if (was_report) std::filesystem::remove(path + "/" + name, ignored);
  }
}

bool is_lack_of_space(const Problem& problem) {
  return problem.text.ends_with(std::strerror(ENOSPC)) || problem.text.ends_with(std::strerror(EDQUOT));
}

}  // namespace

/// Captures come from several threads.
struct ReportFolder::Stopped {
  std::mutex mutex;
  std::string why;
  std::string page;
};

ReportFolder::ReportFolder(std::string path, Captures kept) : path_(std::move(path)), kept_(kept), stopped_(std::make_shared<Stopped>()) {}

Result<ReportFolder> ReportFolder::open(const std::string& path, Captures kept) {
  if (path.empty()) return Failure{Problem{"the report folder has an empty name"}};
  std::error_code error;
  std::filesystem::create_directories(path + "/captures", error);
  if (error) return Failure{Problem{"cannot create the report folder " + path + ": " + error.message()}};
  if (access(path.c_str(), W_OK) != 0 || access((path + "/captures").c_str(), W_OK) != 0) {
    return Failure{Problem{"cannot write to the report folder " + path + ": " + std::strerror(errno)}};
  }
  remove_earlier(path);
  return ReportFolder(path, kept);
}

std::string ReportFolder::keep_capture(const CaseResult& result, std::string_view transport, std::string_view lane,
                                       const capture::PcapngWriter& writer) const {
  if (writer.packets() == 0 || kept_ == Captures::none) return "";
  if (kept_ == Captures::failures && result.verdict == Verdict::pass) return "";
  {
    const std::lock_guard lock(stopped_->mutex);
    if (!stopped_->why.empty()) return "";
  }
  // The first of a case's transports and the plain lane need no word; the others have a file beside it.
  const CaseInfo& info = *result.info;
  const bool first = transport == info.options.transports.front();
  const std::string variant = (first ? "" : "-" + std::string(transport)) + (lane == plain_lane().name ? "" : "-" + std::string(lane));
  const std::string name = "captures/" + std::string(info.name) + variant + ".pcapng";
  const auto written = writer.write_file(path_ + "/" + name);
  if (written) return name;
  const std::lock_guard lock(stopped_->mutex);
  if (stopped_->why.empty()) stopped_->why = written.error().text;
  return "";
}

std::string ReportFolder::page_problem() const {
  const std::lock_guard lock(stopped_->mutex);
  return stopped_->page;
}

std::string ReportFolder::capture_problem() const {
  const std::lock_guard lock(stopped_->mutex);
  return stopped_->why;
}

/// Removes captures of passed cases, or else of all; false: there are none left.
bool ReportFolder::make_room(RunResult& run) const {
  for (const bool passed : {true, false}) {
    std::size_t removed = 0;
    for (CaseResult& result : run.cases) {
      if (result.capture.empty() || (passed && result.verdict != Verdict::pass)) continue;
      std::error_code ignored;
      std::filesystem::remove(path_ + "/" + result.capture, ignored);
      result.capture.clear();
      ++removed;
    }
    if (removed == 0) continue;
    run.remarks.push_back(std::to_string(removed) + " captures " + (passed ? "of passed cases " : "") +
                          "were removed to make room for the results");
    return true;
  }
  return false;
}

Result<void> ReportFolder::write(RunResult& run, const ReportFacts& facts, const Gatherer* gathered) const {
  if (const std::string why = capture_problem(); !why.empty()) {
    run.remarks.push_back("no more captures are kept after this: " + why);
  }
  std::optional<Problem> first;
  for (std::size_t i = 0; i < std::size(kFiles); ++i) {
    for (;;) {
      const std::string text = i == 0   ? results_json(run, facts)
                               : i == 1 ? junit_xml(run, facts)
                               : i == 2 ? tap_text(run, facts)
                               : i == 3 ? sarif_json(run, facts)
                               : i == 4 ? summary_markdown(run, facts)
                                        : page_html(run, facts, gathered);
      const auto written = capture::write_atomically(path_ + "/" + kFiles[i], Bytes(text.begin(), text.end()));
      if (written) break;
      if (is_lack_of_space(written.error()) && make_room(run)) {
        // What they say of captures is different now; the former ones only take room.
        for (std::error_code ignored; i > 0; --i) std::filesystem::remove(path_ + "/" + kFiles[i - 1], ignored);
        continue;
      }
      if (i < kWithoutPage) {
        if (!first) first = written.error();
      } else if (is_lack_of_space(written.error())) {
        const std::lock_guard lock(stopped_->mutex);
        stopped_->page = std::string(kFiles[i]) + " does not fit on the disk";
      } else if (!first) {
        first = written.error();
      }
      break;
    }
  }
  if (first) return Failure{*first};
  return {};
}

}  // namespace fb::conformance
