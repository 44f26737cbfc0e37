// Where the bytes of a namespace lie: in sparse memory, in a file, or nowhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/rng.h"

namespace fb::subsystem {

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
  /// Power fails: of what was not flushed, part is gone where the store forgets. A write of at most `atomic_blocks`
  /// blocks is there wholly or not at all, a larger one by blocks.
  virtual void lose_power(Rng& rng, std::uint32_t block_bytes, std::uint32_t atomic_blocks) {
    (void)rng;
    (void)block_bytes;
    (void)atomic_blocks;
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
