// What may be read from a block device that several callers use at once, some of whose commands failed and whose
// power may have been lost: a write counts from its beginning; it is certain when it was acknowledged, and what was
// written before it is gone then. One that failed may take effect at any time, or never.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace fb::conformance {

class BlockTruth {
 public:
  using Tick = std::uint64_t;  ///< the order of beginnings and ends
  /// A write of the history; 0 is the state in the beginning, all zeroes.
  using Id = std::uint32_t;

  BlockTruth(std::uint64_t blocks, std::uint32_t block_bytes);

  std::uint64_t blocks() const { return history_.size(); }
  std::uint32_t block_bytes() const { return block_bytes_; }
  Tick now() { return ++tick_; }

  /// `zeroes`: what it leaves reads as zeroes. `atomic`: one command that is not torn.
  Id begin_write(std::uint64_t lba, std::uint32_t blocks, bool zeroes = false, bool atomic = true);
  /// The data out of blocks that are longer, with something behind it.
  void narrow(ByteView blocks, MutableBytes data) const;
  /// Its bytes: each block says whose it is.
  void fill(Id id, std::uint64_t lba, MutableBytes data) const;
  void acknowledge(Id id);
  /// It certainly has not happened, and will not: a fused write whose compare failed.
  void withdraw(Id id);

  /// Why what was read since `started` cannot be; nothing when it can.
  std::optional<std::string> check(std::uint64_t lba, ByteView data, Tick started) const;
  /// A read that began at `started` and has ended gave this: what had been written and acknowledged before it began is
  /// known to be overwritten now, where something else was seen.
  void observe(std::uint64_t lba, ByteView data, Tick started);
  /// Whether other bytes than these may have been there since `started`.
  bool may_differ(std::uint64_t lba, ByteView data, Tick started) const;
  /// Bytes that are likely to be there now: those of the last write that began.
  void likely(std::uint64_t lba, MutableBytes data) const;

  /// Everything acknowledged before `started` outlives a loss of power.
  void flushed(Tick started);
  /// What was not flushed may be gone.
  void power_lost();

 private:
  struct Write {
    Tick start = 0;
    Tick end = 0;  ///< 0: not acknowledged
    std::uint64_t lba = 0;
    std::uint32_t blocks = 0;
    bool zeroes = false;
    bool atomic = true;
    bool durable = false;
    bool weak = false;  ///< a loss of power may have undone it
    bool withdrawn = false;
  };
  /// A write as one block knows it.
  struct Layer {
    Id id = 0;
    Tick replaced = 0;  ///< something else has been seen there by then; 0: not so
  };
  /// The write that a block's bytes name; nothing when they are nobody's.
  std::optional<Id> owner(std::uint64_t lba, ByteView block) const;
  bool gone(const Layer& layer, std::uint64_t lba, Tick started) const;
  bool possible(std::uint64_t lba, const Layer& layer, Tick started) const;
  /// Whether a block that holds this (nothing: zeroes) holds what the write left there.
  bool same(const Layer& layer, std::optional<Id> seen) const;
  const Layer* find(std::uint64_t lba, Id id) const;
  bool zero_possible(std::uint64_t lba, Tick started) const;
  std::string tell(Id id) const;

  std::uint32_t block_bytes_;
  Tick tick_ = 0;
  Tick power_lost_ = 0;
  std::vector<Write> writes_;
  std::vector<std::vector<Layer>> history_;  ///< by block, in the order of their beginning
};

}  // namespace fb::conformance
