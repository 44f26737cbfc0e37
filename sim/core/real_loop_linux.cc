#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "sim/core/loop.h"

namespace fb {

namespace {

std::int64_t monotonic_ns() {
  timespec t = {};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// Ready descriptors taken from the kernel at once.
constexpr int kReadyMax = 64;

}  // namespace

RealLoop::RealLoop(bool busy_poll) : start_ns_(monotonic_ns()), busy_poll_(busy_poll) {
  epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
  wake_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  BENCH_ASSERT(epoll_fd_ >= 0 && wake_fd_ >= 0, "the kernel gives an epoll and an event descriptor");
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = wake_fd_;
  epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event);
}

RealLoop::~RealLoop() {
  close(wake_fd_);
  close(epoll_fd_);
}

void RealLoop::watch(int fd, FdHandler& handler, bool writable, bool readable) {
  epoll_event event = {};
  event.events = (readable ? static_cast<std::uint32_t>(EPOLLIN) : 0u) | (writable ? static_cast<std::uint32_t>(EPOLLOUT) : 0u);
  event.data.fd = fd;
  const auto slot = static_cast<std::size_t>(fd);
  if (handlers_.size() <= slot) handlers_.resize(slot + 1);
  handlers_[slot] = &handler;
  if (readable && handler.pollable()) {
    heat(fd);
  } else {
    cool(fd);
  }
  if (epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, fd, &event) != 0) {
    epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);
  }
}

void RealLoop::unwatch(int fd) {
  const auto slot = static_cast<std::size_t>(fd);
  if (slot < handlers_.size()) handlers_[slot] = nullptr;
  cool(fd);
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
}

void RealLoop::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_fd_, &one, sizeof one);
}

void RealLoop::refresh_now() { now_ = Instant::at_ns(monotonic_ns() - start_ns_); }

bool RealLoop::poll_descriptors(int timeout_ms) {
  if (poll_handlers()) return true;
  epoll_event ready[kReadyMax];
  const int count = epoll_wait(epoll_fd_, ready, kReadyMax, timeout_ms);
  if (count <= 0) return false;
  refresh_now();
  for (int i = 0; i < count; ++i) {
    const int fd = ready[i].data.fd;
    if (fd == wake_fd_) {
      std::uint64_t drained = 0;
      [[maybe_unused]] const auto got = read(wake_fd_, &drained, sizeof drained);
      continue;
    }
    // Looked up each time: an earlier handler of this round may have closed this descriptor.
    const auto handler = [this, fd] { return handlers_[static_cast<std::size_t>(fd)]; };
    if ((ready[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0 && handler() != nullptr) {
      if (busy_poll_ && (ready[i].events & EPOLLIN) != 0 && handler()->pollable()) heat(fd);
      handler()->on_readable();
    }
    if ((ready[i].events & EPOLLOUT) != 0 && handler() != nullptr) handler()->on_writable();
  }
  return true;
}

}  // namespace fb
