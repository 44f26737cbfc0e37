// index.html: the whole report of a run as one page that needs neither a network nor another file.
#pragma once

#include <string>
#include <vector>

#include "conformance/report/gatherer.h"
#include "conformance/report/report.h"

namespace fb::conformance {

/// Without `gathered` the page has no exchanges and no coverage of transitions and edges.
std::string page_html(const RunResult& run, const ReportFacts& facts, const Gatherer* gathered = nullptr);

/// One world of a campaign, run again from its file.
struct WorldFacts {
  std::string name;  ///< of the file
  std::string verdict;
  std::string signature;
  std::string text;                ///< what went wrong, in words
  std::vector<std::string> story;  ///< the workload and the faults, in sentences
  std::string command;             ///< that runs it again
  std::string digest;
  bool as_recorded = false;  ///< the digest is that of the file
  std::int64_t virtual_ns = 0;
  std::string capture;  ///< relative to the page
};
std::string world_html(const WorldFacts& facts, const Ladder& ladder);

}  // namespace fb::conformance
