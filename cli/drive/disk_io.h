// Reading and writing a namespace as programs do: through its block device, past the page cache.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace fb::drive {

Bytes read_disk(const std::string& node, std::uint64_t lba, std::size_t bytes);
void write_disk(const std::string& node, std::uint64_t lba, ByteView data);
/// The Flush command itself: fsync() sends none where the controller has no write cache.
void flush_disk(const std::string& node, std::uint32_t nsid);
/// Opens the device and lets it go: whoever opens one waits until the kernel has looked for partitions.
void look_at_disk(const std::string& node);

}  // namespace fb::drive
