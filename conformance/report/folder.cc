#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "conformance/report/page.h"
#include "conformance/report/report.h"

namespace fb::conformance {

Result<ReportFolder> ReportFolder::open(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path + "/captures", error);
  if (error) return Failure{Problem{"cannot make the report folder " + path + ": " + error.message()}};
  if (access((path + "/captures").c_str(), W_OK) != 0) {
    return Failure{Problem{"cannot write to the report folder " + path + ": " + std::strerror(errno)}};
  }
  return ReportFolder(path);
}

std::string ReportFolder::keep_capture(const CaseInfo& info, std::string_view transport, std::string_view lane,
                                       const capture::PcapngWriter& writer) const {
  if (writer.packets() == 0) return "";
  // The first of a case's transports and the plain lane need no word; the others have a file beside it.
  const bool first = transport == info.options.transports.front();
  const std::string variant = (first ? "" : "-" + std::string(transport)) +
                              (lane == plain_lane().name ? "" : "-" + std::string(lane));
  const std::string name = "captures/" + std::string(info.name) + variant + ".pcapng";
  const auto written = writer.write_file(path_ + "/" + name);
  if (!written) throw UserError(written.error().text);
  return name;
}

Result<void> ReportFolder::write(const RunResult& run, const ReportFacts& facts, const Gatherer* gathered) const {
  const std::pair<const char*, std::string> files[] = {{"results.json", results_json(run, facts)},
                                                       {"junit.xml", junit_xml(run, facts)},
                                                       {"results.tap", tap_text(run, facts)},
                                                       {"index.html", page_html(run, facts, gathered)}};
  for (const auto& [name, text] : files) {
    const Bytes bytes(text.begin(), text.end());
    auto written = capture::write_atomically(path_ + "/" + name, bytes);
    if (!written) return written;
  }
  return {};
}

}  // namespace fb::conformance
