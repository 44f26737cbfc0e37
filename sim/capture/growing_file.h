// A capture that is on disk while it grows: whoever reads the file, or finds it after a crash, has whole packets.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sim/capture/pcapng.h"

namespace fb::capture {

class GrowingFile final : public TraceSink {
 public:
  /// Replaces the file at `path`; the Problem names it. `options.bytes_max` bounds what waits to be written.
  static Result<std::unique_ptr<GrowingFile>> create(const std::string& path, const PcapngOptions& options);
  /// Writes the end.
  ~GrowingFile() override;

  void on_event(const TraceEvent& event) override;
  /// Writes what has gathered.
  void flush();
  /// Why no more is written; empty: all is well. What follows is only counted. On a full disk the file then ends with a whole
  /// packet, and a part of it was given up: other files of the same run, verdicts above all, need room too.
  const std::string& problem() const { return problem_; }
  /// Called when that happens, with the problem.
  void on_problem(std::function<void(const std::string&)> call) { on_problem_ = std::move(call); }
  std::uint64_t packets() const { return writer_.packets(); }

 private:
  GrowingFile(int descriptor, std::string path, const PcapngOptions& options);
  void write(ByteView bytes);
  void cut_back(ByteView chunk);

  int descriptor_;
  std::string path_;
  PcapngWriter writer_;
  std::size_t gathered_ = 0;
  std::size_t written_ = 0;  // by whole chunks, each of which ends with a packet
  std::string problem_;
  std::function<void(const std::string&)> on_problem_;
};

}  // namespace fb::capture
