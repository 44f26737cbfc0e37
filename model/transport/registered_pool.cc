#include "model/transport/registered_pool.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace fb::transport {

struct RegisteredPool::Slab {
  std::unique_ptr<std::uint8_t[]> memory;
  std::unique_ptr<rdma::MemoryRegion> region;
  std::vector<Buffer> buffers;
  Buffer* free = nullptr;
  std::size_t used = 0;
  std::size_t bytes = 0;
  SizeClass* size_class = nullptr;
  Slab* previous = nullptr;
  Slab* next = nullptr;
};

RegisteredPool::RegisteredPool(rdma::ProtectionDomain& domain, std::size_t largest) : domain_(domain) {
  for (std::size_t bytes = kSmallest; classes_.empty() || classes_.back().bytes < largest; bytes *= 2) {
    classes_.push_back({bytes, nullptr});
  }
}

RegisteredPool::~RegisteredPool() = default;

RegisteredPool::Buffer* RegisteredPool::acquire(std::size_t bytes) {
  const std::size_t wanted = std::bit_ceil(std::max(bytes, kSmallest));
  const auto index = static_cast<std::size_t>(std::countr_zero(wanted / kSmallest));
  BENCH_ASSERT(index < classes_.size(), "a buffer larger than the pool was made for");
  SizeClass& size_class = classes_[index];
  Slab* slab = size_class.open != nullptr ? size_class.open : add_slab(size_class);
  Buffer* buffer = slab->free;
  slab->free = buffer->next_free;
  ++slab->used;
  bytes_used_ += size_class.bytes;
  if (slab->free == nullptr) unlink(*slab);
  return buffer;
}

void RegisteredPool::release(Buffer* buffer) {
  Slab& slab = *buffer->slab;
  if (slab.free == nullptr) link(slab);
  buffer->next_free = slab.free;
  slab.free = buffer;
  --slab.used;
  bytes_used_ -= slab.size_class->bytes;
  if (slab.used > 0 || bytes_held_ - bytes_used_ <= kKeepBytes) return;
  unlink(slab);
  bytes_held_ -= slab.bytes;
  const auto found = std::find_if(slabs_.begin(), slabs_.end(), [&](const auto& owned) { return owned.get() == &slab; });
  std::swap(*found, slabs_.back());
  slabs_.pop_back();
}

RegisteredPool::Slab* RegisteredPool::add_slab(SizeClass& size_class) {
  constexpr std::size_t kSlabBytes = 256u << 10;
  const std::size_t count = std::clamp<std::size_t>(kSlabBytes / size_class.bytes, 1, 64);
  auto slab = std::make_unique<Slab>();
  slab->bytes = count * size_class.bytes;
  slab->size_class = &size_class;
  // Not zeroed: the pages of a buffer that is never used are never touched.
  slab->memory = std::make_unique_for_overwrite<std::uint8_t[]>(slab->bytes);
  const MutableBytes all{slab->memory.get(), slab->bytes};
  slab->region = domain_.register_memory(all, rdma::Access::local_write);
  slab->buffers.resize(count);
  for (std::size_t i = count; i-- > 0;) {
    Buffer& buffer = slab->buffers[i];
    buffer.memory = all.subspan(i * size_class.bytes, size_class.bytes);
    buffer.address = slab->region->address() + i * size_class.bytes;
    buffer.lkey = slab->region->lkey();
    buffer.slab = slab.get();
    buffer.next_free = slab->free;
    slab->free = &buffer;
  }
  bytes_held_ += slab->bytes;
  slabs_.push_back(std::move(slab));
  link(*slabs_.back());
  return slabs_.back().get();
}

void RegisteredPool::link(Slab& slab) {
  Slab*& open = slab.size_class->open;
  slab.previous = nullptr;
  slab.next = open;
  if (open != nullptr) open->previous = &slab;
  open = &slab;
}

void RegisteredPool::unlink(Slab& slab) {
  Slab*& open = slab.size_class->open;
  if (slab.previous != nullptr) slab.previous->next = slab.next;
  if (slab.next != nullptr) slab.next->previous = slab.previous;
  if (open == &slab) open = slab.next;
  slab.previous = slab.next = nullptr;
}

}  // namespace fb::transport
