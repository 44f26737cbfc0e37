#include "networkdirect/verifier/probe.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#if defined(_WIN32)
#include <memoryapi.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "base/peek.h"

namespace fb::networkdirect::verifier {

std::optional<OVERLAPPED> peek(const OVERLAPPED* at) {
  OVERLAPPED copy = {};
  if (!peek_memory(at, {reinterpret_cast<std::uint8_t*>(&copy), sizeof copy})) return std::nullopt;
  return copy;
}

bool mapped(const void* memory, SIZE_T bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  if (bytes == 0) return true;
  const std::uintptr_t end = first + bytes;
  if (memory == nullptr || end < first) return false;
#if defined(_WIN32)
  for (std::uintptr_t at = first; at < end;) {
    MEMORY_BASIC_INFORMATION found = {};
    if (VirtualQuery(reinterpret_cast<const void*>(at), &found, sizeof found) == 0 || found.State != MEM_COMMIT) return false;
    at = reinterpret_cast<std::uintptr_t>(found.BaseAddress) + found.RegionSize;
  }
  return true;
#else
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char residency[256];
  for (std::uintptr_t at = first & ~(page - 1); at < end; at += page * std::size(residency)) {
    const std::size_t piece = std::min<std::uintptr_t>(end - at, page * std::size(residency));
    if (mincore(reinterpret_cast<void*>(at), piece, residency) != 0) return false;
  }
  return true;
#endif
}

}  // namespace fb::networkdirect::verifier
