// Where the bytes of a namespace lie: in sparse memory, in a file, or nowhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/rng.h"

namespace fb::subsystem {

/// What a loss of power does not tear: a write of so many blocks at most that crosses no boundary.
struct AtomicUnit {
  std::uint32_t block_bytes = 512;
  std::uint32_t blocks = 1;
  std::uint32_t boundary = 0;  ///< in blocks; 0: none
  std::uint32_t boundary_offset = 0;

  /// Both in bytes.
  bool holds(std::uint64_t offset, std::uint64_t length) const {
    const std::uint64_t first = offset / block_bytes;
    const std::uint64_t last = (offset + length - 1) / block_bytes;
    if (last - first >= blocks) return false;
    return boundary == 0 || part_of(first) == part_of(last);
  }

 private:
  std::uint64_t part_of(std::uint64_t block) const { return block < boundary_offset ? 0 : 1 + (block - boundary_offset) / boundary; }
};

/// A run of bytes. Callers keep to [0, bytes()). What was never written reads as zeroes.
class BlockStore {
 public:
  virtual ~BlockStore() = default;

  virtual std::uint64_t bytes() const = 0;
  virtual Result<void> read(std::uint64_t offset, MutableBytes to) = 0;
  /// The range in memory that nobody ever changes or frees; empty where there is no such memory.
  virtual ByteView constant(std::uint64_t offset, std::size_t length) const {
    (void)offset;
    (void)length;
    return {};
  }
  virtual Result<void> write(std::uint64_t offset, ByteView from) = 0;
  /// The range reads as zeroes afterwards; its space is given up where the store can.
  virtual Result<void> zero(std::uint64_t offset, std::uint64_t length) = 0;
  /// What was written before survives whatever happens to this process.
  virtual Result<void> flush() = 0;
  /// The same of what lies in the range; of more, where the store knows no ranges.
  virtual Result<void> flush_range(std::uint64_t offset, std::uint64_t length) {
    (void)offset;
    (void)length;
    return flush();
  }
  /// Power fails: of what was not flushed, part is gone where the store forgets. An atomic write is there wholly or
  /// not at all, another one by blocks.
  virtual void lose_power(Rng& rng, const AtomicUnit& atomic) {
    (void)rng;
    (void)atomic;
  }
  /// Space in use, at most bytes().
  virtual std::uint64_t bytes_held() const = 0;
};

/// Costs what is written, in pages of 4 KiB.
std::unique_ptr<BlockStore> make_memory_store(std::uint64_t bytes);

/// Takes every write and reads as zeroes.
std::unique_ptr<BlockStore> make_null_store(std::uint64_t bytes);

/// A file, made (sparse) or grown to `bytes` when it is smaller.
Result<std::unique_ptr<BlockStore>> open_file_store(const std::string& path, std::uint64_t bytes);

}  // namespace fb::subsystem
