// A capture that is on disk while it grows: whoever reads the file, or finds it after a crash, has whole packets.
#pragma once

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
  /// Why no more is written; empty: all is well. What follows is only counted.
  const std::string& problem() const { return problem_; }
  std::uint64_t packets() const { return writer_.packets(); }

 private:
  GrowingFile(int descriptor, std::string path, const PcapngOptions& options);
  void write(ByteView bytes);

  int descriptor_;
  std::string path_;
  PcapngWriter writer_;
  std::size_t gathered_ = 0;
  std::string problem_;
};

}  // namespace fb::capture
