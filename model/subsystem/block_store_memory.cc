#include <algorithm>
#include <array>
#include <map>

#include "model/subsystem/block_store.h"

namespace fb::subsystem {

namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kPagesPerLeaf = 512;

/// Pages in two levels: an ordered map of leaves, each a table of 512 pages (2 MiB).
class MemoryStore final : public BlockStore {
 public:
  explicit MemoryStore(std::uint64_t bytes) : bytes_(bytes) {}

  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t bytes_held() const override { return std::min(bytes_, pages_held_ * kPageBytes); }
  Result<void> flush() override { return {}; }

  Result<void> read(std::uint64_t offset, MutableBytes to) override {
    for_pages(offset, to.size(), [&](std::uint64_t page, std::size_t in, std::size_t n) {
      const Page* found = find(page);
      std::uint8_t* const out = to.data();
      if (found != nullptr) {
        std::copy_n(found->data() + in, n, out);
      } else {
        std::fill_n(out, n, std::uint8_t{0});
      }
      to = to.subspan(n);
    });
    return {};
  }

  Result<void> write(std::uint64_t offset, ByteView from) override {
    for_pages(offset, from.size(), [&](std::uint64_t page, std::size_t in, std::size_t n) {
      std::copy_n(from.data(), n, make(page).data() + in);
      from = from.subspan(n);
    });
    return {};
  }

  Result<void> zero(std::uint64_t offset, std::uint64_t length) override {
    const std::uint64_t end = offset + length;
    std::uint64_t at = offset;
    while (at < end) {
      const std::uint64_t leaf_index = at / (kPageBytes * kPagesPerLeaf);
      const auto leaf = leaves_.lower_bound(leaf_index);
      if (leaf == leaves_.end()) break;
      // Nothing is held between here and the next leaf.
      at = std::max(at, leaf->first * kPageBytes * kPagesPerLeaf);
      if (at >= end) break;
      at = zero_in_leaf(leaf->first, *leaf->second, at, end);
      if (leaf->second->used == 0) {
        last_ = nullptr;
        leaves_.erase(leaf);
      }
    }
    return {};
  }

 private:
  using Page = std::array<std::uint8_t, kPageBytes>;
  struct Leaf {
    std::array<std::unique_ptr<Page>, kPagesPerLeaf> pages;
    std::uint64_t used = 0;
  };

  template <class Visit>
  static void for_pages(std::uint64_t offset, std::size_t length, Visit&& visit) {
    while (length > 0) {
      const std::size_t in = static_cast<std::size_t>(offset % kPageBytes);
      const std::size_t n = std::min<std::size_t>(length, kPageBytes - in);
      visit(offset / kPageBytes, in, n);
      offset += n;
      length -= n;
    }
  }

  Leaf* find_leaf(std::uint64_t index) {
    if (last_ != nullptr && last_index_ == index) return last_;
    const auto found = leaves_.find(index);
    if (found == leaves_.end()) return nullptr;
    last_index_ = index;
    return last_ = found->second.get();
  }
  const Page* find(std::uint64_t page) {
    Leaf* const leaf = find_leaf(page / kPagesPerLeaf);
    return leaf == nullptr ? nullptr : leaf->pages[page % kPagesPerLeaf].get();
  }
  Page& make(std::uint64_t page) {
    Leaf* leaf = find_leaf(page / kPagesPerLeaf);
    if (leaf == nullptr) {
      leaf = (leaves_[page / kPagesPerLeaf] = std::make_unique<Leaf>()).get();
      last_index_ = page / kPagesPerLeaf;
      last_ = leaf;
    }
    std::unique_ptr<Page>& slot = leaf->pages[page % kPagesPerLeaf];
    if (slot == nullptr) {
      slot = std::make_unique<Page>();
      ++leaf->used;
      ++pages_held_;
    }
    return *slot;
  }

  /// Returns where to go on: the end of the leaf, or of the range.
  std::uint64_t zero_in_leaf(std::uint64_t index, Leaf& leaf, std::uint64_t at, std::uint64_t end) {
    const std::uint64_t leaf_end = (index + 1) * kPageBytes * kPagesPerLeaf;
    end = std::min(end, leaf_end);
    while (at < end) {
      const std::uint64_t in = at % kPageBytes;
      const std::uint64_t n = std::min(end - at, kPageBytes - in);
      std::unique_ptr<Page>& slot = leaf.pages[at / kPageBytes % kPagesPerLeaf];
      if (slot != nullptr && n == kPageBytes) {
        slot.reset();
        --leaf.used;
        --pages_held_;
      } else if (slot != nullptr) {
        std::fill_n(slot->data() + in, n, std::uint8_t{0});
      }
      at += n;
    }
    return at;
  }

  std::uint64_t bytes_;
  std::map<std::uint64_t, std::unique_ptr<Leaf>> leaves_;
  std::uint64_t pages_held_ = 0;
  std::uint64_t last_index_ = 0;
  Leaf* last_ = nullptr;
};

class NullStore final : public BlockStore {
 public:
  explicit NullStore(std::uint64_t bytes) : bytes_(bytes) {}
  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t bytes_held() const override { return 0; }
  Result<void> read(std::uint64_t, MutableBytes to) override {
    std::fill(to.begin(), to.end(), std::uint8_t{0});
    return {};
  }
  ByteView constant(std::uint64_t, std::size_t length) const override {
    static std::array<std::uint8_t, 1u << 20> zeroes = {};
    return length <= zeroes.size() ? ByteView(zeroes).first(length) : ByteView{};
  }
  Result<void> write(std::uint64_t, ByteView) override { return {}; }
  Result<void> zero(std::uint64_t, std::uint64_t) override { return {}; }
  Result<void> flush() override { return {}; }

 private:
  std::uint64_t bytes_;
};

}  // namespace

std::unique_ptr<BlockStore> make_memory_store(std::uint64_t bytes) { return std::make_unique<MemoryStore>(bytes); }

std::unique_ptr<BlockStore> make_null_store(std::uint64_t bytes) { return std::make_unique<NullStore>(bytes); }

}  // namespace fb::subsystem
