#include "networkdirect/library/device_thread.h"

#include <algorithm>

namespace fb::networkdirect {

ThreadStrand::ThreadStrand(std::uint64_t seed, bool busy_poll) : world_(World::make_real(seed, busy_poll)) {
  world_->real_loop()->watch(signal_.descriptor(), *this);
  thread_ = std::thread([this] { live(); });
}

ThreadStrand::~ThreadStrand() {
  {
    const std::lock_guard lock(lock_);
    stopping_ = true;
  }
  signal();
  thread_.join();
  world_->real_loop()->unwatch(signal_.descriptor());
}

void ThreadStrand::live() {
  for (;;) {
    {
      const std::lock_guard lock(lock_);
      if (stopping_) return;
    }
    world_->real_loop()->step(Instant::never());
  }
}

/// Wakes the thread, unless it is about to look anyway.
void ThreadStrand::signal() {
  if (signalled_.exchange(true, std::memory_order_acq_rel)) return;
  signal_.set();
}

void ThreadStrand::on_readable() {
  signal_.clear();
  answer_all();
}

bool ThreadStrand::poll() {
  if (!signalled_.load(std::memory_order_acquire)) return false;
  on_readable();
  return true;
}

void ThreadStrand::answer_all() {
  signalled_.store(false, std::memory_order_release);
  for (;;) {
    Doorbell* bell = nullptr;
    Waiting* waiting = nullptr;
    {
      const std::lock_guard lock(lock_);
      // Bells first: what a caller posted before it called is done before the call.
      if (!bells_.empty()) {
        bell = bells_.front();
        bells_.erase(bells_.begin());
        bell->ringing_ = false;
      } else if (!tasks_.empty()) {
        waiting = tasks_.front();
        tasks_.erase(tasks_.begin());
      } else {
        return;
      }
    }
    if (bell != nullptr) {
      bell->answer();
      continue;
    }
    waiting->task->run();
    const std::lock_guard lock(lock_);
    waiting->done.tell();
  }
}

void ThreadStrand::run(Task& task) {
  if (std::this_thread::get_id() == thread_.get_id()) return task.run();
  Waiting waiting{&task};
  {
    const std::lock_guard lock(lock_);
    tasks_.push_back(&waiting);
  }
  signal();
  waiting.done.wait();
  const std::lock_guard lock(lock_);  // the other side may still be about to tell
}

void ThreadStrand::ring(Doorbell& bell) {
  {
    const std::lock_guard lock(lock_);
    if (bell.ringing_) return;
    bell.ringing_ = true;
    bells_.push_back(&bell);
  }
  signal();
}

void ThreadStrand::silence(Doorbell& bell) {
  const std::lock_guard lock(lock_);
  if (!bell.ringing_) return;
  bell.ringing_ = false;
  std::erase(bells_, &bell);
}

}  // namespace fb::networkdirect
