#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "networkdirect/library/signal.h"

namespace fb::networkdirect {

Signal::Signal() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  BENCH_ASSERT(descriptor_ >= 0, "the kernel gives an event descriptor");
}

Signal::~Signal() { close(descriptor_); }

void Signal::set() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(descriptor_, &one, sizeof one);
}

void Signal::clear() {
  std::uint64_t drained = 0;
  [[maybe_unused]] const auto got = read(descriptor_, &drained, sizeof drained);
}

void Done::wait() { done_.wait(false, std::memory_order_acquire); }

void Done::tell() {
  done_.store(true, std::memory_order_release);
  done_.notify_one();
}

}  // namespace fb::networkdirect
