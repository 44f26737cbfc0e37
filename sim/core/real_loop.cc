#include <algorithm>

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
// Busy polling looks at the descriptors every time; a sleep is cut into pieces of this length so
// that a limit is never overslept by more.
constexpr std::int64_t kSleepMax_ms = 1000;

// With more busy descriptors than this, one question to the kernel is cheaper: then it is asked so many
// times before handlers are polled again.
constexpr std::size_t kHotMax = 2;
constexpr unsigned kCrowdedSteps = 128;
// One of several handlers that is polled in vain so often is left to the kernel's next report: each
// question costs the others a system call.
constexpr unsigned kIdleMax = 256;
// While handlers are polled, every so many times the kernel is asked instead.
constexpr unsigned kPollsOfHandlers = 16;
// Due events that run before input is looked for again, at most: input is never starved.
constexpr std::size_t kEventsOfTurn = 64;

}  // namespace

RealLoop::RealLoop(bool busy_poll) : start_ns_(monotonic_ns()), busy_poll_(busy_poll) {
  epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
  wake_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  BENCH_ASSERT(epoll_fd_ >= 0 && wake_fd_ >= 0,
               "the kernel gives an epoll and an event descriptor");
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
  event.events = (readable ? static_cast<std::uint32_t>(EPOLLIN) : 0u) |
                 (writable ? static_cast<std::uint32_t>(EPOLLOUT) : 0u);
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

// Something has come to a pollable descriptor.
void RealLoop::heat(int fd) {
  for (Hot& hot : hot_) {
    if (hot.fd != fd) continue;
    hot.idle = 0;
    return;
  }
  if (hot_.size() < kHotMax) {
    hot_.push_back({fd, 0});
  } else {
    crowded_ = kCrowdedSteps;
  }
}

void RealLoop::cool(int fd) {
  std::erase_if(hot_, [fd](const Hot& hot) { return hot.fd == fd; });
}

// Asks the hot handlers themselves, which saves the kernel's report that they are readable. False when it
// is time to ask the kernel, about the other descriptors too.
bool RealLoop::poll_handlers() {
  if (!busy_poll_ || hot_.empty()) return false;
  if (crowded_ > 0) {
    --crowded_;
    return false;
  }
  if (++polls_ % kPollsOfHandlers == 0) return false;
  for (std::size_t i = 0; i < hot_.size();) {
    const int fd = hot_[i].fd;
    const bool found = handlers_[static_cast<std::size_t>(fd)]->poll();
    if (i >= hot_.size() || hot_[i].fd != fd) continue;  // it has cooled
    Hot& hot = hot_[i];
    hot.idle = found ? 0 : hot.idle + 1;
    if (hot.idle >= kIdleMax && hot_.size() > 1) {
      cool(fd);
    } else {
      ++i;
    }
  }
  return true;
}

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

// Runs what is due, oldest first, with what that makes due, and then what was put off to the end of the
// turn. True when there was anything.
bool RealLoop::finish_turn() {
  std::size_t left = std::max(events_pending(), kEventsOfTurn);
  bool any = !turn_end_.empty();
  while (left > 0 && next_deadline() <= now_) {
    run_first();
    any = true;
    --left;
  }
  while (!turn_end_.empty()) {
    TurnEndHandler* const handler = turn_end_.back();
    turn_end_.pop_back();
    handler->on_turn_end();
  }
  return any;
}

Loop::Step RealLoop::step(Instant limit) {
  BENCH_ASSERT(!inside_event(), "the loop is not pumped from inside an event");
  refresh_now();
  // What was started from outside the loop, and timers.
  const bool busy = finish_turn();
  std::int64_t sleep_ms = 0;
  if (!busy && !busy_poll_ && now_ < limit) {
    const Duration until = std::min(next_deadline(), limit) - now_;
    sleep_ms = std::clamp<std::int64_t>((until.count_ns() + 999'999) / 1'000'000, 0, kSleepMax_ms);
  }
  const bool input = poll_descriptors(static_cast<int>(sleep_ms));
  if (input) finish_turn();
  if (busy || now_ < limit) return Step::ran;
  // Handlers that are polled do not say whether they found anything: the limit then stands.
  return input && !busy_poll_ ? Step::ran : Step::limit;
}

}  // namespace fb
