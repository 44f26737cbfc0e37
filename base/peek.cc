#include "base/peek.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#endif

namespace fb {

#if defined(_WIN32)

bool peek_memory(const void* at, MutableBytes into) {
  SIZE_T read = 0;
  return ReadProcessMemory(GetCurrentProcess(), at, into.data(), into.size(), &read) && read == into.size();
}

#else

bool peek_memory_through_a_pipe(const void* at, MutableBytes into) {
  std::array<int, 2> ends = {};
  if (pipe(ends.data()) != 0) return false;
  // Less than a pipe holds at least.
  constexpr std::size_t kStep = 4096;
  bool whole = true;
  for (std::size_t done = 0; whole && done < into.size(); done += kStep) {
    const std::size_t size = std::min(kStep, into.size() - done);
    whole = write(ends[1], static_cast<const std::uint8_t*>(at) + done, size) == static_cast<ssize_t>(size) &&
            read(ends[0], into.data() + done, size) == static_cast<ssize_t>(size);
  }
  close(ends[0]);
  close(ends[1]);
  return whole;
}

bool peek_memory(const void* at, MutableBytes into) {
  const iovec to = {into.data(), into.size()};
  const iovec from = {const_cast<void*>(at), into.size()};
  const ssize_t read = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
  if (read < 0 && errno != EFAULT) return peek_memory_through_a_pipe(at, into);
  return read == static_cast<ssize_t>(into.size());
}

#endif

}  // namespace fb
