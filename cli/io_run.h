// The I/O of `fabricbench host io`: a seeded pattern written, read back and compared, at a queue depth.
// Writing goes in segments, each closed by a Flush. When the association is lost meanwhile, the segment
// is written again, as an application has to: only what was flushed must have survived.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/host/namespace.h"

namespace fb::cli {

struct IoOptions {
  std::uint64_t bytes = 0;
  std::uint32_t block_bytes = 131072;  ///< of one command
  std::uint16_t queue_depth = 32;
  std::uint64_t seed = 1;
  bool write = true;
  bool verify = false;
  bool show_progress = false;
  std::uint64_t segment_bytes = 64u << 20;
  /// How often the association has been lost so far.
  std::function<unsigned()> losses = {};
};

struct IoFigures {
  std::uint64_t commands = 0;
  std::uint64_t bytes = 0;
  Duration elapsed;
  Duration latency_median, latency_99, latency_max;
  Duration latency_least, latency_mean;
  /// Latencies that so many percent of the commands stayed within: one for each of kPercentiles.
  std::vector<Duration> latency_percentiles;
  struct Bucket {
    Duration below;  ///< and not below the bucket before
    std::uint64_t commands = 0;
  };
  /// Ascending, each twice as wide as the one before; from the first that holds a command to the last.
  std::vector<Bucket> histogram;
};
/// In thousandths of a percent.
inline constexpr std::uint32_t kPercentiles[] = {50'000, 90'000, 95'000, 99'000, 99'900, 99'990};

/// Of commands that took so long; sorts them.
IoFigures figures_of(std::vector<std::int64_t>& latencies_ns, std::uint64_t bytes, Duration elapsed);
/// What a run with that seed writes there.
void fill_pattern(std::uint64_t seed, std::uint64_t lba, MutableBytes data);
/// Tags that the controller made are not the pattern's: those that were read stand in `wanted` then.
void keep_tags(const host::Namespace& space, MutableBytes wanted, ByteView read);

class IoRun {
 public:
  IoRun(World& world, host::Namespace& space, const IoOptions& options);
  ~IoRun();

  /// Writes and flushes the range. Stops at the first command that fails.
  IoFigures write_all();
  /// Reads, and compares with what write_all() wrote when options.verify is set.
  IoFigures read_all();

  bool failed() const { return !failure_.empty(); }
  /// "read of LBA 8: 2/81h Unrecovered Read Error", "LBA 8 differs from byte 17 on".
  const std::string& failure() const { return failure_; }
  /// Segments that were written again after a loss.
  unsigned repeated() const { return repeated_; }

 private:
  class Request;
  void begin(nvme::IoOpcode opcode);
  void transfer(std::uint64_t first, std::uint64_t end, const char* what);
  IoFigures figures();
  bool next(Request& request);
  void done(Request& request, nvme::Status status);
  void progress(const char* what);

  World& world_;
  host::Namespace& space_;
  IoOptions options_;
  std::uint64_t blocks_total_ = 0;
  std::uint32_t blocks_each_ = 0;
  std::vector<std::unique_ptr<Request>> requests_;
  std::uint64_t next_lba_ = 0;
  std::uint64_t end_lba_ = 0;
  std::uint64_t blocks_done_ = 0;
  unsigned in_flight_ = 0;
  nvme::IoOpcode opcode_{};
  std::vector<std::int64_t> latencies_ns_;
  Bytes expected_;
  std::string failure_;
  unsigned repeated_ = 0;
  Instant started_;
  Instant shown_;
};

}  // namespace fb::cli
