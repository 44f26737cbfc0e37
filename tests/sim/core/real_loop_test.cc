// The busy-polling loop asks the descriptors that were busy lately, and forgets none of the others.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fcntl.h>

#include <memory>
#include <vector>

#include "sim/core/loop.h"

namespace fb {
namespace {

/// The reading end of a pipe, which may be asked at any time.
class PolledPipe final : public FdHandler {
 public:
  explicit PolledPipe(RealLoop& loop) : loop_(loop) {
    EXPECT_EQ(pipe2(ends_, O_NONBLOCK | O_CLOEXEC), 0);
    loop_.watch(ends_[0], *this);
  }
  ~PolledPipe() {
    loop_.unwatch(ends_[0]);
    close(ends_[0]);
    close(ends_[1]);
  }
  void put() { EXPECT_EQ(write(ends_[1], "x", 1), 1); }
  void on_readable() override { poll(); }
  bool pollable() const override { return true; }
  bool poll() override {
    ++asked;
    char room[64];
    const ssize_t size = read(ends_[0], room, sizeof room);
    if (size <= 0) return false;
    got += static_cast<int>(size);
    return true;
  }
  int got = 0;
  int asked = 0;

 private:
  RealLoop& loop_;
  int ends_[2] = {-1, -1};
};

struct BusyPolling : ::testing::Test {
  RealLoop loop{true};
  std::vector<std::unique_ptr<PolledPipe>> pipes;
  void make(int count) {
    for (int i = 0; i < count; ++i) pipes.push_back(std::make_unique<PolledPipe>(loop));
  }
  void step(int times) {
    for (int i = 0; i < times; ++i) loop.step(loop.now());
  }
};

TEST_F(BusyPolling, EveryDescriptorIsHeardHoweverManyThereAre) {
  for (const int count : {1, 2, 3, 8}) {
    pipes.clear();
    make(count);
    for (int round = 1; round <= 20; ++round) {
      for (auto& one : pipes) one->put();
      step(2000);
      for (auto& one : pipes) EXPECT_EQ(one->got, round) << count << " descriptors";
    }
  }
}

TEST_F(BusyPolling, AnIdleOneCostsTheBusyOneNothing) {
  make(2);
  for (int i = 0; i < 2000; ++i) {
    pipes[0]->put();
    step(1);
  }
  const int before = pipes[1]->asked;
  for (int i = 0; i < 1000; ++i) {
    pipes[0]->put();
    step(1);
  }
  EXPECT_EQ(pipes[1]->asked, before) << "nothing has come to it for long";
  pipes[1]->put();
  step(100);
  EXPECT_EQ(pipes[1]->got, 1) << "the kernel still tells";
}

}  // namespace
}  // namespace fb
