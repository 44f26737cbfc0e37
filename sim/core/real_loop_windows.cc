// Here a descriptor is the handle of an automatic event; handles have 32 significant bits. Whoever owns it sets it when there
// is something to read, and again when something is left afterwards.
#include <vector>

#include <windows.h>

#include "sim/core/loop.h"

namespace fb {

namespace {

std::int64_t monotonic_ns() {
  LARGE_INTEGER now = {}, frequency = {};
  QueryPerformanceCounter(&now);
  QueryPerformanceFrequency(&frequency);
  const std::int64_t seconds = now.QuadPart / frequency.QuadPart;
  return seconds * 1'000'000'000 + now.QuadPart % frequency.QuadPart * 1'000'000'000 / frequency.QuadPart;
}

HANDLE handle_of(int fd) { return reinterpret_cast<HANDLE>(static_cast<std::intptr_t>(fd)); }

}  // namespace

RealLoop::RealLoop(bool busy_poll) : start_ns_(monotonic_ns()), busy_poll_(busy_poll) {
  const HANDLE event = CreateEventW(nullptr, FALSE, FALSE, nullptr);
  BENCH_ASSERT(event != nullptr, "the system gives an event");
  wake_fd_ = static_cast<int>(reinterpret_cast<std::intptr_t>(event));
}

RealLoop::~RealLoop() { CloseHandle(handle_of(wake_fd_)); }

void RealLoop::watch(int fd, FdHandler& handler, bool, bool readable) {
  const auto slot = static_cast<std::size_t>(fd);
  if (handlers_.size() <= slot) handlers_.resize(slot + 1);
  handlers_[slot] = &handler;
  if (readable && handler.pollable()) {
    heat(fd);
  } else {
    cool(fd);
  }
}

void RealLoop::unwatch(int fd) {
  const auto slot = static_cast<std::size_t>(fd);
  if (slot < handlers_.size()) handlers_[slot] = nullptr;
  cool(fd);
}

void RealLoop::wake() { SetEvent(handle_of(wake_fd_)); }

void RealLoop::refresh_now() { now_ = Instant::at_ns(monotonic_ns() - start_ns_); }

bool RealLoop::poll_descriptors(int timeout_ms) {
  if (poll_handlers()) return true;
  std::vector<int> watched = {wake_fd_};
  for (std::size_t slot = 0; slot < handlers_.size(); ++slot) {
    if (handlers_[slot] != nullptr) watched.push_back(static_cast<int>(slot));
  }
  std::vector<HANDLE> handles;
  for (const int fd : watched) handles.push_back(handle_of(fd));
  BENCH_ASSERT(handles.size() <= MAXIMUM_WAIT_OBJECTS, "Windows waits for 64 handles at most");
  bool any = false;
  // The answer is the first that is set: the ones behind it are asked for as well, or they might starve.
  for (std::size_t at = 0; at < handles.size(); ++at) {
    const auto left = static_cast<DWORD>(handles.size() - at);
    const DWORD found = WaitForMultipleObjects(left, &handles[at], FALSE, any ? 0 : static_cast<DWORD>(timeout_ms));
    if (found >= WAIT_OBJECT_0 + left) break;
    if (!any) refresh_now();
    any = true;
    at += found - WAIT_OBJECT_0;
    const int fd = watched[at];
    // Looked up each time: an earlier handler of this round may have closed this descriptor.
    const auto handler = [this, fd] { return handlers_[static_cast<std::size_t>(fd)]; };
    if (fd == wake_fd_ || handler() == nullptr) continue;
    if (busy_poll_ && handler()->pollable()) heat(fd);
    handler()->on_readable();
    if (handler() != nullptr) handler()->on_writable();
  }
  return any;
}

}  // namespace fb
