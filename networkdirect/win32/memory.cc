// Heaps and pages.
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

#include "networkdirect/win32/kernel.h"

using namespace fb::win32;

HANDLE GetProcessHeap() {
  Kernel& k = kernel();
  const Lock lock(k.lock);
  if (k.process_heap == nullptr) k.process_heap = give_handle(*new Heap);
  return k.process_heap;
}

HANDLE HeapCreate(DWORD, SIZE_T, SIZE_T) {
  auto* heap = new Heap;
  const Lock lock(kernel().lock);
  return give_handle(*heap);
}

BOOL HeapDestroy(HANDLE handle) {
  Kernel& k = kernel();
  const Lock lock(k.lock);
  auto* heap = find_as<Heap>(handle, Kind::heap);
  if (heap == nullptr) return FALSE;
  if (handle == k.process_heap) return fail(ERROR_INVALID_PARAMETER);
  for (const auto& block : heap->blocks) std::free(block.first);
  k.handles.erase(reinterpret_cast<std::uintptr_t>(handle));
  drop_reference(heap);
  return TRUE;
}

LPVOID HeapAlloc(HANDLE handle, DWORD flags, SIZE_T bytes) {
  Kernel& k = kernel();
  const Lock lock(k.lock);
  auto* heap = find_as<Heap>(handle, Kind::heap);
  if (heap == nullptr) return nullptr;
  const SIZE_T asked = bytes == 0 ? 1 : bytes;
  void* memory = (flags & HEAP_ZERO_MEMORY) != 0 ? std::calloc(1, asked) : std::malloc(asked);
  if (memory == nullptr) {
    SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    return nullptr;
  }
  // The map may throw where malloc says no; the process heap keeps no books.
  if (handle != k.process_heap) heap->blocks.emplace(memory, bytes);
  return memory;
}

BOOL HeapFree(HANDLE handle, DWORD, LPVOID memory) {
  Kernel& k = kernel();
  const Lock lock(k.lock);
  auto* heap = find_as<Heap>(handle, Kind::heap);
  if (heap == nullptr) return FALSE;
  if (memory == nullptr) return TRUE;
  if (handle != k.process_heap && heap->blocks.erase(memory) == 0) return fail(ERROR_INVALID_PARAMETER);
  std::free(memory);
  return TRUE;
}

// Pages come committed, whatever was asked for: reserving alone is a promise about addresses that this keeps as well.
LPVOID VirtualAlloc(LPVOID address, SIZE_T bytes, DWORD kind, DWORD protection) {
  Kernel& k = kernel();
  const Lock lock(k.lock);
  if (address != nullptr) {
    // Committing what was reserved before.
    const auto after = k.regions.upper_bound(address);
    if ((kind & MEM_COMMIT) != 0 && after != k.regions.begin()) {
      const auto& [start, size] = *std::prev(after);
      const auto offset = static_cast<SIZE_T>(static_cast<char*>(address) - static_cast<char*>(start));
      if (offset <= size && bytes <= size - offset) return address;
    }
    SetLastError(ERROR_INVALID_ADDRESS);
    return nullptr;
  }
  if (bytes == 0 || (kind & (MEM_COMMIT | MEM_RESERVE)) == 0) {
    SetLastError(ERROR_INVALID_PARAMETER);
    return nullptr;
  }
  const int rights = protection == PAGE_READONLY ? PROT_READ : protection == PAGE_NOACCESS ? PROT_NONE : PROT_READ | PROT_WRITE;
  const bool reserved_only = (kind & MEM_COMMIT) == 0;
  void* memory = mmap(nullptr, bytes, reserved_only ? PROT_READ | PROT_WRITE : rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    return nullptr;
  }
  k.regions.emplace(memory, bytes);
  return memory;
}

BOOL VirtualFree(LPVOID address, SIZE_T bytes, DWORD kind) {
  Kernel& k = kernel();
  const Lock lock(k.lock);
  if (kind != MEM_RELEASE || bytes != 0) return fail(ERROR_INVALID_PARAMETER);
  const auto at = k.regions.find(address);
  if (at == k.regions.end()) return fail(ERROR_INVALID_ADDRESS);
  munmap(at->first, at->second);
  k.regions.erase(at);
  return TRUE;
}

void* _aligned_malloc(size_t bytes, size_t alignment) {
  void* memory = nullptr;
  const size_t least = alignment < sizeof(void*) ? sizeof(void*) : alignment;
  return posix_memalign(&memory, least, bytes) == 0 ? memory : nullptr;
}

void _aligned_free(void* memory) { std::free(memory); }
