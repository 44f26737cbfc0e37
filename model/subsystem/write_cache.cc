#include "model/subsystem/write_cache.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace fb::subsystem {

namespace {

/// A write, or a zeroing, that is not on the medium.
struct Pending {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  Bytes data;  ///< empty: zeroes

  std::uint64_t end() const { return offset + length; }
  bool overlaps(std::uint64_t from, std::uint64_t to) const { return offset < to && from < end(); }
};

class WriteCache final : public BlockStore {
 public:
  WriteCache(std::unique_ptr<BlockStore> medium, const WriteCacheLimits& limits) : medium_(std::move(medium)), limits_(limits) {}

  std::uint64_t bytes() const override { return medium_->bytes(); }
  std::uint64_t bytes_held() const override { return std::min(bytes(), medium_->bytes_held() + bytes_pending_); }

  Result<void> read(std::uint64_t offset, MutableBytes to) override {
    if (Result<void> done = medium_->read(offset, to); !done) return done;
    const std::uint64_t end = offset + to.size();
    for (const Pending& one : pending_) {
      if (!one.overlaps(offset, end)) continue;
      const std::uint64_t first = std::max(offset, one.offset);
      const auto length = static_cast<std::size_t>(std::min(end, one.end()) - first);
      const auto at = to.begin() + static_cast<std::ptrdiff_t>(first - offset);
      if (one.data.empty()) {
        std::fill_n(at, length, std::uint8_t{0});
      } else {
        std::copy_n(one.data.begin() + static_cast<std::ptrdiff_t>(first - one.offset), length, at);
      }
    }
    return {};
  }

  Result<void> write(std::uint64_t offset, ByteView from) override {
    if (from.empty()) return {};
    return take({offset, from.size(), Bytes(from.begin(), from.end())});
  }

  Result<void> zero(std::uint64_t offset, std::uint64_t length) override {
    if (length == 0) return {};
    return take({offset, length, {}});
  }

  Result<void> flush() override {
    while (!pending_.empty()) {
      if (Result<void> done = destage_oldest(); !done) return done;
    }
    return medium_->flush();
  }

  Result<void> flush_range(std::uint64_t offset, std::uint64_t length) override {
    // What is older and lies under something that goes to the medium goes there before it: later it would cover it.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges{{offset, offset + length}};
    std::vector<bool> chosen(pending_.size());
    for (std::size_t i = pending_.size(); i-- > 0;) {
      const Pending& one = pending_[i];
      chosen[i] = std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) { return one.overlaps(range.first, range.second); });
      if (chosen[i]) ranges.emplace_back(one.offset, one.end());
    }
    std::deque<Pending> rest;
    Result<void> outcome;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i] && outcome) outcome = store(pending_[i]);
      if (chosen[i] && outcome) {
        bytes_pending_ -= pending_[i].data.size();
      } else {
        rest.push_back(std::move(pending_[i]));
      }
    }
    pending_ = std::move(rest);
    if (!outcome) return outcome;
    return medium_->flush();
  }

  void lose_power(Rng& rng, const AtomicUnit& atomic) override {
    // What the medium does not take now is lost like the rest.
    for (const Pending& one : pending_) {
      const std::uint64_t blocks = (one.length + atomic.block_bytes - 1) / atomic.block_bytes;
      const std::uint64_t fate = rng.below(atomic.holds(one.offset, one.length) ? 2 : 3);
      if (fate == 1) (void)store(one);
      if (fate == 2) store_part(one, rng, atomic.block_bytes, blocks);
    }
    pending_.clear();
    bytes_pending_ = 0;
    (void)medium_->flush();
    medium_->lose_power(rng, atomic);
  }

 private:
  Result<void> take(Pending one) {
    while (!pending_.empty() && (pending_.size() >= limits_.writes || bytes_pending_ + one.data.size() > limits_.bytes)) {
      if (Result<void> done = destage_oldest(); !done) return done;
    }
    bytes_pending_ += one.data.size();
    pending_.push_back(std::move(one));
    return {};
  }

  Result<void> destage_oldest() {
    if (Result<void> done = store(pending_.front()); !done) return done;
    bytes_pending_ -= pending_.front().data.size();
    pending_.pop_front();
    return {};
  }

  Result<void> store(const Pending& one) {
    return one.data.empty() ? medium_->zero(one.offset, one.length) : medium_->write(one.offset, one.data);
  }

  /// Some of the blocks: any where there are few, a run of them where there are many.
  void store_part(const Pending& one, Rng& rng, std::uint32_t block_bytes, std::uint64_t blocks) {
    constexpr std::uint64_t kFew = 64;
    if (blocks > kFew) {
      const std::uint64_t first = rng.below(blocks);
      const std::uint64_t count = rng.between(1, blocks - first);
      return store_blocks(one, block_bytes, first, count);
    }
    for (std::uint64_t i = 0; i < blocks; ++i) {
      if (rng.chance(1, 2)) store_blocks(one, block_bytes, i, 1);
    }
  }

  void store_blocks(const Pending& one, std::uint32_t block_bytes, std::uint64_t first, std::uint64_t count) {
    const std::uint64_t from = first * block_bytes;
    const std::uint64_t length = std::min(one.length - from, count * block_bytes);
    if (one.data.empty()) {
      (void)medium_->zero(one.offset + from, length);
    } else {
      const ByteView data = one.data;
      const ByteView part = data.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(length));
      (void)medium_->write(one.offset + from, part);
    }
  }

  std::unique_ptr<BlockStore> medium_;
  WriteCacheLimits limits_;
  std::deque<Pending> pending_;  ///< the oldest first
  std::uint64_t bytes_pending_ = 0;
};

}  // namespace

std::unique_ptr<BlockStore> make_write_cache(std::unique_ptr<BlockStore> medium, const WriteCacheLimits& limits) {
  return std::make_unique<WriteCache>(std::move(medium), limits);
}

}  // namespace fb::subsystem
