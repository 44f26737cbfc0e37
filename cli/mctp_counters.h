// What programs have asked of the drives of a bus, as JSON: how often a BMC polls, and what of it was discarded.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "cli/mctp_bus.h"

namespace fb::cli {

/// One object a drive: its EID, serial number, packets, messages of NVMe-MI, requests by name, drops by reason.
std::string counters_json(const std::vector<MctpDrive*>& drives);
/// The same in a file, which is opened at once, so that nobody's run is for nothing; throws UserError where that cannot
/// be. Without a name it is nothing.
class CountersFile {
 public:
  explicit CountersFile(const std::string& path);
  void write(const std::vector<MctpDrive*>& drives);

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace fb::cli
