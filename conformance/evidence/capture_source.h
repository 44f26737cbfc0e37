// Where a capture comes from: a file or a pipe, plain or compressed with gzip or zstd, which its first bytes tell.
#pragma once

#include <memory>
#include <string>

#include "sim/capture/reader.h"

namespace fb::evidence {

/// Bytes of a file descriptor, as they come.
class DescriptorSource final : public capture::ByteSource {
 public:
  /// `wake`: a descriptor that becomes readable when no more is to be waited for; -1 for none. What has arrived by then is
  /// still read. Neither is closed.
  explicit DescriptorSource(int descriptor, int wake = -1) : descriptor_(descriptor), wake_(wake) {}
  Result<std::size_t> read(MutableBytes into) override;

 private:
  bool wait() const;
  int descriptor_, wake_;
};

/// A file that is closed with its source. The Problem names the path.
Result<std::unique_ptr<capture::ByteSource>> open_file(const std::string& path);

/// What `source` holds, decompressed where it is compressed. Reads its first bytes.
Result<std::unique_ptr<capture::ByteSource>> decompressed(std::unique_ptr<capture::ByteSource> source);

}  // namespace fb::evidence
