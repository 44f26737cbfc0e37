// A load on a namespace as fio's users know it: reads and writes side by side, in sequence or at random, for a time or an
// amount, at a rate. What was written in the run is compared when it is read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "cli/io_run.h"

namespace fb::cli {

struct LoadOptions {
  std::uint64_t bytes = 0;             ///< the range from the first block on; without `time`, also how much is moved
  std::uint32_t block_bytes = 131072;  ///< of one command
  std::uint16_t queue_depth = 32;
  std::uint64_t seed = 1;
  bool random = false;
  unsigned read_percent = 100;
  Duration time = {};      ///< 0: until `bytes` have been moved
  std::uint64_t rate = 0;  ///< commands a second; 0: as many as there can be
  bool verify = false;
};

struct LoadFigures {
  IoFigures reads, writes;
  struct Second {
    std::uint64_t reads = 0, writes = 0, bytes = 0;
  };
  std::vector<Second> timeline;  ///< from the beginning, by when commands ended
  std::uint64_t verified = 0;    ///< reads that were compared
};

class LoadRun {
 public:
  LoadRun(World& world, host::Namespace& space, const LoadOptions& options);
  ~LoadRun();

  /// Stops at the first command that fails, and when the world is interrupted.
  LoadFigures run();
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }

 private:
  class Request;
  bool over() const;
  void start(Request& request);
  /// The request goes on, at once or when the rate lets it.
  void next(Request& request);
  void done(Request& request, nvme::Status status);
  void compare(const Request& request);
  void on_pace();

  World& world_;
  host::Namespace& space_;
  LoadOptions options_;
  std::uint64_t pieces_ = 0;  ///< of the range, each of a command
  std::uint32_t blocks_each_ = 0;
  std::uint64_t commands_most_ = 0;
  Rng draws_;
  std::vector<std::unique_ptr<Request>> requests_;
  std::vector<Request*> waiting_;
  std::vector<bool> written_;  ///< by piece, in this run
  std::uint64_t next_piece_ = 0;
  std::uint64_t started_commands_ = 0;
  unsigned in_flight_ = 0;
  std::vector<std::int64_t> read_latencies_ns_, write_latencies_ns_;
  LoadFigures figures_;
  std::string failure_;
  Instant began_;
  Instant due_;  ///< of the next command, where there is a rate
  Timer<LoadRun, &LoadRun::on_pace> pace_{"io.rate", *this};
};

}  // namespace fb::cli
