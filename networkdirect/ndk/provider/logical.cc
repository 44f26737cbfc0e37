#include "networkdirect/ndk/provider/logical.h"

#include <algorithm>

#include "networkdirect/ndk/provider/memory.h"

namespace fb::ndk::provider {

namespace {

/// Fresh pages are given out up to here before old ones come again: who uses a mapping after its release is found out.
constexpr std::size_t kFreshPages = 1u << 16;

}  // namespace

DescribedEnd describe(const MDL* mdl, SIZE_T length, bool chain_unchecked, Described& out) {
  if (mdl == nullptr) return DescribedEnd::too_short;
  auto* const base = static_cast<std::uint8_t*>(MmGetMdlVirtualAddress(mdl));
  out.offset = MmGetMdlByteOffset(mdl);
  out.memory = {base, length};
  SIZE_T described = 0;
  for (; mdl != nullptr && described < length; mdl = mdl->Next) {
    const bool next_to = static_cast<std::uint8_t*>(MmGetMdlVirtualAddress(mdl)) == base + described;
    if (!next_to && !chain_unchecked) return DescribedEnd::not_contiguous;
    if (!next_to) out.memory = out.memory.first(described);
    described += MmGetMdlByteCount(mdl);
    if (!next_to) return DescribedEnd::good;
  }
  return described >= length ? DescribedEnd::good : DescribedEnd::too_short;
}

LogicalSpace::Mapping& LogicalSpace::map(const Described& what) {
  Mapping* mapping = nullptr;
  if (free_.empty()) {
    mapping = all_.emplace_back(std::make_unique<Mapping>()).get();
  } else {
    mapping = free_.back();
    free_.pop_back();
  }
  ++live_;
  mapping->what = what;
  mapping->released = false;
  mapping->pages.clear();
  const std::size_t count = pages_of(what);
  std::uint8_t* data = what.memory.data() - what.offset;
  for (std::size_t i = 0; i < count; ++i, data += PAGE_SIZE) {
    if (pages_.size() >= kFreshPages && !free_pages_.empty()) {
      mapping->pages.push_back(free_pages_.front());
      free_pages_.pop_front();
    } else {
      mapping->pages.push_back(static_cast<std::uint32_t>(pages_.size()));
      pages_.emplace_back();
    }
    pages_[mapping->pages.back()] = {data, mapping};
  }
  if (scattered_ && count > 1) {
    // Backwards: no page is followed by its neighbour.
    std::ranges::reverse(mapping->pages);
    data = what.memory.data() - what.offset;
    for (const std::uint32_t page : mapping->pages) {
      pages_[page].data = data;
      data += PAGE_SIZE;
    }
  }
  return *mapping;
}

void LogicalSpace::unmap(Mapping& mapping) {
  for (const std::uint32_t page : mapping.pages) {
    pages_[page] = {};
    free_pages_.push_back(page);
  }
  mapping.regions.clear();
  mapping.released = true;
  free_.push_back(&mapping);
  --live_;
}

bool LogicalSpace::find(std::uint64_t logical, std::uint32_t length, ProtectionDomain& domain, rdma::Sge& out) {
  const Page* page = page_at(logical);
  if (page == nullptr) return false;
  std::uint8_t* const data = page->data + (logical & (PAGE_SIZE - 1));
  const MutableBytes memory = page->mapping->what.memory;
  if (data < memory.data() || length > memory.size() || data > memory.data() + (memory.size() - length)) return false;
  for (std::uint64_t next = (logical | (PAGE_SIZE - 1)) + 1; next < logical + length; next += PAGE_SIZE) {
    const Page* const follower = page_at(next);
    if (follower == nullptr || follower->mapping != page->mapping || follower->data != page->data + PAGE_SIZE) return false;
    page = follower;
  }
  auto& regions = page->mapping->regions;
  auto found = std::ranges::find_if(regions, [&](const auto& region) { return region.first == &domain; });
  if (found == regions.end()) {
    // Read and write, for ourselves alone.
    regions.emplace_back(&domain, domain.device_domain().register_memory_at(reinterpret_cast<std::uintptr_t>(memory.data()), memory,
                                                                            rdma::Access::local_write));
    found = regions.end() - 1;
  }
  out = {reinterpret_cast<std::uintptr_t>(data), length, found->second->lkey()};
  return true;
}

bool LogicalSpace::collect(const NDK_LOGICAL_ADDRESS* pages, ULONG count, ULONG offset, std::size_t length,
                           std::vector<MutableBytes>& pieces) const {
  pieces.clear();
  for (ULONG i = 0; i < count && length > 0; ++i) {
    const auto logical = static_cast<std::uint64_t>(pages[i].QuadPart);
    const Page* const page = page_at(logical);
    if (page == nullptr || (logical & (PAGE_SIZE - 1)) != 0) return false;
    const std::size_t bytes = std::min<std::size_t>(length, PAGE_SIZE - offset);
    std::uint8_t* const data = page->data + offset;
    const MutableBytes memory = page->mapping->what.memory;
    // What the MDLs do not describe is not the adapter's, though it lies in the same page.
    if (data < memory.data() || data + bytes > memory.data() + memory.size()) return false;
    if (!pieces.empty() && pieces.back().data() + pieces.back().size() == data) {
      pieces.back() = {pieces.back().data(), pieces.back().size() + bytes};
    } else {
      pieces.emplace_back(data, bytes);
    }
    offset = 0;
    length -= bytes;
  }
  return length == 0;
}

void LogicalSpace::forget(ProtectionDomain& domain) {
  for (const auto& mapping : all_) {
    std::erase_if(mapping->regions, [&](const auto& region) { return region.first == &domain; });
  }
}

}  // namespace fb::ndk::provider
