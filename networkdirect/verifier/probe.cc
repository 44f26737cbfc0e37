#include "networkdirect/verifier/probe.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#if defined(_WIN32)
#include <memoryapi.h>
#else
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#endif

namespace fb::networkdirect::verifier {

// The system reads, not this code: a consumer may have freed the memory, which sanitizers would be right to complain of.
std::optional<OVERLAPPED> peek(const OVERLAPPED* at) {
  OVERLAPPED copy = {};
#if defined(_WIN32)
  SIZE_T read = 0;
  if (!ReadProcessMemory(GetCurrentProcess(), at, &copy, sizeof copy, &read) || read != sizeof copy) return std::nullopt;
#else
  const iovec to = {&copy, sizeof copy};
  const iovec from = {const_cast<OVERLAPPED*>(at), sizeof copy};
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != static_cast<ssize_t>(sizeof copy)) return std::nullopt;
#endif
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
