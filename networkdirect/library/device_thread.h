// A thread with a world in real time of its own, for the devices of a loadable provider: the one place in the project where a
// world is reached from other threads, through a queue.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "sim/core/loop.h"
#include "networkdirect/library/signal.h"
#include "networkdirect/provider/strand.h"

namespace fb::networkdirect {

class ThreadStrand final : public Strand, FdHandler {
 public:
  /// With `busy_poll` the thread never sleeps: shorter answers for a whole processor.
  ThreadStrand(std::uint64_t seed, bool busy_poll);
  ~ThreadStrand() override;

  /// To be used on the device's thread alone.
  World& world() { return *world_; }

  void ring(Doorbell& bell) override;
  void silence(Doorbell& bell) override;
  bool runs_by_itself() const override { return true; }

 private:
  struct Waiting {
    Task* task;
    Done done{};
  };
  void run(Task& task) override;
  void live();
  void on_readable() override;
  bool pollable() const override { return true; }
  bool poll() override;
  void answer_all();
  void signal();

  std::mutex lock_;
  std::vector<Doorbell*> bells_;
  std::vector<Waiting*> tasks_;
  std::atomic<bool> signalled_{false};
  bool stopping_ = false;
  Signal signal_;
  std::unique_ptr<World> world_;
  std::thread thread_;
};

}  // namespace fb::networkdirect
