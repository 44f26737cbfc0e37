#include "conformance/campaign/block_truth.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/rng.h"

namespace fb::conformance {

namespace {

/// The first eight bytes name the write, the rest follow from it and the block.
constexpr std::uint64_t kMark = 0xFB00'0000'0000'0000u;

std::uint64_t word_of(BlockTruth::Id id, std::uint64_t lba, std::size_t index) {
  if (index == 0) return kMark | id;
  return mix64((std::uint64_t{id} << 32 ^ lba) + index);
}

bool all_zero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

BlockTruth::BlockTruth(std::uint64_t blocks, std::uint32_t block_bytes) : block_bytes_(block_bytes) {
  Write blank;
  blank.zeroes = blank.durable = true;
  blank.end = now();
  blank.blocks = static_cast<std::uint32_t>(blocks);
  writes_.push_back(blank);
  history_.assign(blocks, {Layer{}});
}

BlockTruth::Id BlockTruth::begin_write(std::uint64_t lba, std::uint32_t blocks, bool zeroes, bool atomic) {
  BENCH_ASSERT(lba + blocks <= history_.size(), "writes keep to the blocks that are watched");
  const auto id = static_cast<Id>(writes_.size());
  Write write;
  write.start = now();
  write.lba = lba;
  write.blocks = blocks;
  write.zeroes = zeroes;
  write.atomic = atomic;
  writes_.push_back(write);
  for (std::uint32_t i = 0; i < blocks; ++i) history_[lba + i].push_back({id});
  return id;
}

void BlockTruth::fill(Id id, std::uint64_t lba, MutableBytes data) const {
  for (std::size_t at = 0; at < data.size(); at += 8) {
    const std::uint64_t block = at / block_bytes_;
    store_le<std::uint64_t>(&data[at], word_of(id, lba + block, at % block_bytes_ / 8));
  }
}

void BlockTruth::narrow(ByteView blocks, MutableBytes data) const {
  const std::size_t count = data.size() / block_bytes_, each = blocks.size() / count;
  for (std::size_t i = 0; i < count; ++i) std::copy_n(&blocks[i * each], block_bytes_, &data[i * block_bytes_]);
}

void BlockTruth::acknowledge(Id id) { writes_[id].end = now(); }

void BlockTruth::withdraw(Id id) { writes_[id].withdrawn = true; }

std::optional<BlockTruth::Id> BlockTruth::owner(std::uint64_t lba, ByteView block) const {
  const auto first = load_le<std::uint64_t>(block.data());
  const auto id = static_cast<Id>(first & 0xFFFF'FFFFu);
  if ((first & ~std::uint64_t{0xFFFF'FFFFu}) != kMark || id == 0 || id >= writes_.size()) return std::nullopt;
  for (std::size_t at = 0; at < block.size(); at += 8) {
    if (load_le<std::uint64_t>(&block[at]) != word_of(id, lba, at / 8)) return std::nullopt;
  }
  return id;
}

/// Something else was seen there; or some other write began after this one had ended. Both before the read began.
bool BlockTruth::gone(const Layer& layer, std::uint64_t lba, Tick started) const {
  const Write& write = writes_[layer.id];
  if (write.end == 0) return false;
  if (layer.replaced != 0 && layer.replaced < started) return true;
  for (const Layer& other : history_[lba]) {
    const Write& later = writes_[other.id];
    if (!later.withdrawn && !later.weak && later.end != 0 && later.start > write.end && later.end < started) return true;
  }
  return false;
}

bool BlockTruth::possible(std::uint64_t lba, const Layer& layer, Tick started) const {
  return !writes_[layer.id].withdrawn && !gone(layer, lba, started);
}

bool BlockTruth::same(const Layer& layer, std::optional<Id> seen) const { return writes_[layer.id].zeroes ? !seen : seen == layer.id; }

const BlockTruth::Layer* BlockTruth::find(std::uint64_t lba, Id id) const {
  for (const Layer& layer : history_[lba]) {
    if (layer.id == id) return &layer;
  }
  return nullptr;
}

bool BlockTruth::zero_possible(std::uint64_t lba, Tick started) const {
  for (const Layer& layer : history_[lba]) {
    if (writes_[layer.id].zeroes && possible(lba, layer, started)) return true;
  }
  return false;
}

std::string BlockTruth::tell(Id id) const {
  const Write& write = writes_[id];
  return fmt::format("write {} (LBA {} +{})", id, write.lba, write.blocks);
}

std::optional<std::string> BlockTruth::check(std::uint64_t lba, ByteView data, Tick started) const {
  std::vector<std::optional<Id>> seen(data.size() / block_bytes_);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const ByteView block = data.subspan(i * block_bytes_, block_bytes_);
    if (all_zero(block)) {
      if (!zero_possible(lba + i, started)) return fmt::format("stale: LBA {} reads as zeroes", lba + i);
      continue;
    }
    seen[i] = owner(lba + i, block);
    if (!seen[i]) return fmt::format("corrupt: LBA {} holds what nobody wrote there", lba + i);
    const Layer* const layer = find(lba + i, *seen[i]);
    if (layer != nullptr && possible(lba + i, *layer, started)) continue;
    const char* const what = writes_[*seen[i]].withdrawn ? "refused" : "stale";
    return fmt::format("{}: LBA {} holds {}", what, lba + i, tell(*seen[i]));
  }
  // One command is there wholly or not at all.
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i]) continue;
    const Write& write = writes_[*seen[i]];
    for (std::size_t k = 0; k < seen.size(); ++k) {
      if (!write.atomic || !seen[k] || lba + k < write.lba || lba + k >= write.lba + write.blocks) continue;
      const Write& older = writes_[*seen[k]];
      if (older.end != 0 && older.end < write.start) {
        return fmt::format("torn: LBA {} holds {}, LBA {} what it replaced", lba + i, tell(*seen[i]), lba + k);
      }
    }
  }
  return std::nullopt;
}

void BlockTruth::observe(std::uint64_t lba, ByteView data, Tick started) {
  // What was read before the power was lost says nothing about what is there now.
  if (started < power_lost_) return;
  for (std::size_t i = 0; i * block_bytes_ < data.size(); ++i) {
    const ByteView block = data.subspan(i * block_bytes_, block_bytes_);
    const std::optional<Id> seen = all_zero(block) ? std::nullopt : owner(lba + i, block);
    for (Layer& layer : history_[lba + i]) {
      const Tick end = writes_[layer.id].end;
      if (layer.replaced == 0 && end != 0 && end < started && !same(layer, seen)) layer.replaced = now();
    }
  }
}

bool BlockTruth::may_differ(std::uint64_t lba, ByteView data, Tick started) const {
  for (std::size_t i = 0; i * block_bytes_ < data.size(); ++i) {
    const ByteView block = data.subspan(i * block_bytes_, block_bytes_);
    const std::optional<Id> seen = all_zero(block) ? std::nullopt : owner(lba + i, block);
    for (const Layer& layer : history_[lba + i]) {
      if (!same(layer, seen) && possible(lba + i, layer, started)) return true;
    }
  }
  return false;
}

void BlockTruth::likely(std::uint64_t lba, MutableBytes data) const {
  for (std::size_t i = 0; i * block_bytes_ < data.size(); ++i) {
    const MutableBytes block = data.subspan(i * block_bytes_, block_bytes_);
    Id last = 0;
    for (const Layer& layer : history_[lba + i]) {
      if (!writes_[layer.id].withdrawn) last = layer.id;
    }
    if (writes_[last].zeroes) {
      std::fill(block.begin(), block.end(), std::uint8_t{0});
    } else {
      fill(last, lba + i, block);
    }
  }
}

void BlockTruth::flushed(Tick started) {
  for (Write& write : writes_) {
    if (write.end != 0 && write.end < started) write.durable = true;
  }
}

void BlockTruth::power_lost() {
  for (Write& write : writes_) {
    if (write.durable) continue;
    write.weak = true;     // one that is not acknowledged yet too: the answer may be on its way
    write.atomic = false;  // only single blocks are promised to be whole then
  }
  for (std::vector<Layer>& layers : history_) {
    for (Layer& layer : layers) layer.replaced = 0;
  }
  power_lost_ = now();
}

}  // namespace fb::conformance
