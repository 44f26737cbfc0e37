// What real-time benchmarks ask of the machine: cores of their own, a thread for the far side, what a
// process takes of memory.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fb::bench {

/// Binds the calling thread to the `index`th of the cores that this process may use; with fewer cores
/// the scheduler decides.
inline void pin_to_core(int index) {
  // Asked for once: threads inherit what the first pin leaves.
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(getpid(), sizeof set, &set);
    return set;
  }();
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || index-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    return;
  }
}

/// A thread, on the second core, that runs `turn()` until it is destroyed.
class Peer {
 public:
  explicit Peer(std::function<void()> turn)
      : thread_([this, turn = std::move(turn)] {
          pin_to_core(1);
          runs_.store(true);
          while (!stop_.load(std::memory_order_relaxed)) turn();
        }) {
    while (!runs_.load()) std::this_thread::yield();
  }
  ~Peer() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false, runs_ = false;
  std::thread thread_;
};

inline double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// MiB of memory that a process has at the moment ("VmRSS") or had at most ("VmHWM").
inline double resident_mib(pid_t pid, const std::string& kind = "VmRSS") {
  const std::string path = "/proc/" + std::to_string(pid) + "/status";
  std::FILE* const file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return 0;
  long kib = 0;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::string(line).starts_with(kind + ":")) kib = std::atol(line + kind.size() + 1);
  }
  std::fclose(file);
  return static_cast<double>(kib) / 1024;
}

}  // namespace fb::bench
