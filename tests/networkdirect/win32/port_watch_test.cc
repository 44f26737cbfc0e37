// Packets of a completion port for somebody who does not wait for them.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <poll.h>

#include "networkdirect/win32/overlapped_file.h"
#include "networkdirect/win32/port_watch.h"

namespace {

using fb::win32::OverlappedFile;
using fb::win32::PortPacket;
using fb::win32::PortWatch;

class PortWatches : public ::testing::Test {
 protected:
  PortWatches() : file_(OverlappedFile::create(handle_)), port_(CreateIoCompletionPort(handle_, nullptr, 5, 0)) {}
  ~PortWatches() override {
    watch_.reset();
    CloseHandle(port_);
    CloseHandle(handle_);
  }
  void watch() {
    watch_ = std::make_unique<PortWatch>(
        port_, [](void* self) { static_cast<PortWatches*>(self)->on_call(); }, this);
  }
  void on_call() {
    ++calls_;
    if (takes_) {
      while (const auto packet = watch_->take()) taken_.push_back(*packet);
    }
    if (leaves_) watch_.reset();
  }
  void end(OVERLAPPED& overlapped, LONG status = STATUS_SUCCESS) const {
    ASSERT_TRUE(file_.begin(overlapped));
    file_.complete(overlapped, status, 9);
  }

  HANDLE handle_ = nullptr;
  OverlappedFile file_;
  HANDLE port_;
  std::unique_ptr<PortWatch> watch_;
  std::atomic<int> calls_{0};
  bool takes_ = false, leaves_ = false;
  std::vector<PortPacket> taken_;
};

TEST_F(PortWatches, TellsOfEachPacketWhenTheKernelIsFree) {
  takes_ = true;  // taking needs the kernel's lock
  watch();
  EXPECT_EQ(calls_, 0);
  OVERLAPPED good = {}, bad = {};
  end(good);
  end(bad, STATUS_CANCELLED);
  EXPECT_EQ(calls_, 2);
  ASSERT_EQ(taken_.size(), 2u);
  EXPECT_EQ(taken_[0].overlapped, &good);
  EXPECT_EQ(taken_[0].key, 5u);
  EXPECT_EQ(taken_[0].bytes, 9u);
  EXPECT_EQ(taken_[1].overlapped, &bad);
  EXPECT_FALSE(watch_->take());
}

TEST_F(PortWatches, TellsOfWhatWasThereBefore) {
  OVERLAPPED early = {};
  end(early);
  watch();
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(watch_->take()->overlapped, &early);
}

TEST_F(PortWatches, PostedPacketsWithoutARequestArePassedOver) {
  watch();
  OVERLAPPED posted = {};
  PostQueuedCompletionStatus(port_, 0, 1, nullptr);
  PostQueuedCompletionStatus(port_, 3, 2, &posted);
  EXPECT_EQ(calls_, 2);
  EXPECT_EQ(watch_->take()->key, 2u);
  EXPECT_FALSE(watch_->take());
}

TEST_F(PortWatches, SuppressedAndImmediateEndsTellNothing) {
  watch();
  const HANDLE event = CreateEventW(nullptr, TRUE, FALSE, nullptr);
  OVERLAPPED quiet = {};
  quiet.hEvent = reinterpret_cast<HANDLE>(reinterpret_cast<std::uintptr_t>(event) | 1);
  end(quiet);
  OVERLAPPED immediate = {};
  ASSERT_TRUE(file_.begin(immediate));
  file_.complete_in_call(immediate, STATUS_SUCCESS, 0);
  EXPECT_EQ(calls_, 0);
  CloseHandle(event);
}

TEST_F(PortWatches, NothingAfterItsEnd) {
  watch();
  watch_.reset();
  OVERLAPPED late = {};
  end(late);
  EXPECT_EQ(calls_, 0);
  watch();  // another one may follow
  EXPECT_EQ(calls_, 1);
}

TEST_F(PortWatches, EndsInsideItsOwnCall) {
  leaves_ = true;
  watch();
  OVERLAPPED one = {}, two = {};
  end(one);
  end(two);
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(watch_, nullptr);
}

bool readable(int descriptor) {
  pollfd asked = {descriptor, POLLIN, 0};
  return ::poll(&asked, 1, 0) == 1;
}

TEST_F(PortWatches, OtherThreadsMakeTheDescriptorReadable) {
  watch();
  const int descriptor = watch_->descriptor();
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(watch_->descriptor(), descriptor);
  OVERLAPPED own = {};
  end(own);
  EXPECT_FALSE(readable(descriptor));
  EXPECT_FALSE(watch_->told());
  OVERLAPPED first = {}, second = {};
  std::thread([&] {
    end(first);
    end(second);
  }).join();
  EXPECT_EQ(calls_, 1);
  EXPECT_TRUE(readable(descriptor));
  EXPECT_TRUE(watch_->told());
  watch_->clear();
  EXPECT_FALSE(readable(descriptor));
  EXPECT_FALSE(watch_->told());
  for (OVERLAPPED* expected : {&own, &first, &second}) EXPECT_EQ(watch_->take()->overlapped, expected);
}

TEST_F(PortWatches, NoRingIsLost) {
  watch();
  const int descriptor = watch_->descriptor();
  constexpr int kPackets = 20000;
  std::thread other([&] {
    OVERLAPPED posted = {};
    for (int i = 0; i < kPackets; ++i) PostQueuedCompletionStatus(port_, 0, 0, &posted);
  });
  int taken = 0;
  while (taken < kPackets) {
    pollfd asked = {descriptor, POLLIN, 0};
    ASSERT_EQ(::poll(&asked, 1, 20000), 1) << taken;
    watch_->clear();
    while (watch_->take()) ++taken;
  }
  other.join();
}

TEST_F(PortWatches, EndsWhileOthersRing) {
  for (int round = 0; round < 200; ++round) {
    watch();
    watch_->descriptor();
    std::thread other([&] {
      for (int i = 0; i < 20; ++i) PostQueuedCompletionStatus(port_, 0, 0, nullptr);
    });
    watch_.reset();
    other.join();
  }
}

TEST_F(PortWatches, ARetiredOneIsDoneAtOnceOrWithTheLastThatCounts) {
  struct Late {
    OVERLAPPED counted = {}, other = {};
    PortWatch* watch = nullptr;
    int done = 0;
  } late;
  const auto counts = [](void* context, OVERLAPPED* overlapped) { return overlapped == &static_cast<Late*>(context)->counted; };
  const auto done = [](void* context) {
    auto& self = *static_cast<Late*>(context);
    ++self.done;
    delete self.watch;
  };
  const auto ignore = [](void*) { FAIL(); };
  late.watch = new PortWatch(port_, ignore, nullptr);
  late.watch->retire(0, counts, &late, done);
  EXPECT_EQ(late.done, 1);
  late.watch = new PortWatch(port_, ignore, nullptr);
  late.watch->retire(2, counts, &late, done);
  end(late.counted);
  end(late.other);
  EXPECT_EQ(late.done, 1);
  std::thread([&] { end(late.counted); }).join();
  EXPECT_EQ(late.done, 2);
  end(late.other);
  EXPECT_EQ(late.done, 2);
}

}  // namespace
