// Seeds of a campaign that run on a Dask cluster: Python hands them out there, since Dask is Python's, and gives the
// outcomes back in the order of seeds.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/program.h"
#include "conformance/campaign/campaign.h"

namespace fb::cli {

class RemoteSeeds {
 public:
  /// `scheduler` is its address; `note` is given what a person should know. Both options and note outlive this.
  RemoteSeeds(std::string scheduler, const conformance::CampaignOptions& options, std::function<void(const std::string&)> note);
  /// What still runs there is cancelled.
  ~RemoteSeeds();
  RemoteSeeds(const RemoteSeeds&) = delete;
  RemoteSeeds& operator=(const RemoteSeeds&) = delete;

  /// CampaignOptions::elsewhere. The first call begins, from `first` on to the end of the campaign.
  std::vector<conformance::SeedOutcome> next(std::uint64_t first, std::uint64_t count);

 private:
  /// The program's end of a pipe and ours.
  struct Stream {
    OpenFile file;
    std::string rest;  ///< of a line that is not whole yet
  };

  void start(std::uint64_t first);
  void send_campaign(std::uint64_t first);
  /// Waits until something was read, or a while. False: the program has closed its output.
  bool read_more();
  bool read_errors();
  bool read_from(Stream& stream, const std::function<void(const std::string&)>& take_line);
  void take_line(const std::string& line);
  /// The program is over without having been asked to: nothing where somebody interrupted it.
  void over();
  void end();

  std::string scheduler_;
  const conformance::CampaignOptions& options_;
  std::function<void(const std::string&)> note_;
  std::string interpreter_;
  pid_t program_ = 0;
  Stream input_, output_, errors_;
  std::deque<conformance::SeedOutcome> outcomes_;
  std::string last_error_line_;
};

}  // namespace fb::cli
