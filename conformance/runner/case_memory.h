// The memory that cases register with a provider. Peers name memory by its address, so the packets of a case would depend on
// where the heap put it. Here one piece lies behind the other in the order in which the case takes them, and a byte stands on
// the wire by its place in the whole: the same in every run of a seed, whatever was freed or is no region any more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/result.h"

namespace fb::conformance {

class CaseMemory {
 public:
  static constexpr std::size_t kPage = 4096;

  CaseMemory() : room_(std::make_unique_for_overwrite<std::uint8_t[]>(kBytes + kPage)) {
    start_ = (reinterpret_cast<std::uintptr_t>(room_.get()) + kPage - 1) / kPage * kPage;
  }

  /// Whole pages, zeroed, with a page on each side that is nobody's: what goes astray by a little does no harm. There as long
  /// as this is; UserError when a case wants more than there is.
  MutableBytes take(std::size_t bytes) {
    const std::size_t first = taken_ + kPage;
    const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
    if (bytes > kBytes || first + whole > kBytes) throw UserError("a case asks for more memory than its bench has");
    taken_ = first + whole;
    const MutableBytes pages = {room_.get() + (start_ - reinterpret_cast<std::uintptr_t>(room_.get())) + first, whole};
    std::ranges::fill(pages, std::uint8_t{0});
    return pages.first(bytes);
  }

  /// How an address in this memory stands on the wire; another one stands for itself.
  std::uint64_t on_the_wire(std::uint64_t address) const { return address - start_ < kBytes ? kWire + (address - start_) : address; }

 private:
  static constexpr std::size_t kBytes = std::size_t{16} << 20;
  static constexpr std::uint64_t kWire = std::uint64_t{1} << 44;
  std::unique_ptr<std::uint8_t[]> room_;
  std::uintptr_t start_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace fb::conformance
