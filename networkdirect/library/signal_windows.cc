#include <cstdint>

#include <windows.h>

#include "base/assert.h"
#include "networkdirect/library/signal.h"

namespace fb::networkdirect {

namespace {

HANDLE handle_of(int descriptor) { return reinterpret_cast<HANDLE>(static_cast<std::intptr_t>(descriptor)); }

}  // namespace

Signal::Signal() {
  const HANDLE event = CreateEventW(nullptr, FALSE, FALSE, nullptr);
  BENCH_ASSERT(event != nullptr, "the system gives an event");
  descriptor_ = static_cast<int>(reinterpret_cast<std::intptr_t>(event));
}

Signal::~Signal() { CloseHandle(handle_of(descriptor_)); }

void Signal::set() { SetEvent(handle_of(descriptor_)); }

void Signal::clear() { ResetEvent(handle_of(descriptor_)); }

// Not atomic::wait(): where there is no futex, that of g++ 12 looks at the value and then falls asleep without looking again.
void Done::wait() {
  bool undone = false;
  while (!done_.load(std::memory_order_acquire)) WaitOnAddress(&done_, &undone, sizeof undone, INFINITE);
}

void Done::tell() {
  done_.store(true, std::memory_order_release);
  WakeByAddressAll(&done_);
}

}  // namespace fb::networkdirect
