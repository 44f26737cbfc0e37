#include "model/transport/staging_pool.h"

#include <bit>

#include "base/assert.h"

namespace fb::transport {

std::size_t StagingPool::class_of(std::size_t bytes) {
  return bytes <= kSmallest ? 0 : static_cast<std::size_t>(std::bit_width((bytes - 1) / kSmallest));
}

MutableBytes StagingPool::acquire(std::size_t bytes) {
  const std::size_t size_class = class_of(bytes);
  BENCH_ASSERT(size_class < idle_.size(), "more data than any command moves");
  const std::size_t size = kSmallest << size_class;
  used_ += size;
  auto& idle = idle_[size_class];
  if (idle.empty()) return {std::make_unique_for_overwrite<std::uint8_t[]>(size).release(), bytes};
  std::uint8_t* const memory = idle.back().release();
  idle.pop_back();
  idle_bytes_ -= size;
  return {memory, bytes};
}

void StagingPool::release(MutableBytes memory) {
  if (memory.data() == nullptr) return;
  const std::size_t size_class = class_of(memory.size());
  const std::size_t size = kSmallest << size_class;
  used_ -= size;
  std::unique_ptr<std::uint8_t[]> owned(memory.data());
  if (idle_bytes_ + size > kKeepBytes) return;
  idle_bytes_ += size;
  idle_[size_class].push_back(std::move(owned));
}

}  // namespace fb::transport
