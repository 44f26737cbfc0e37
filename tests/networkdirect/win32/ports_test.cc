// Completion ports and overlapped files.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "networkdirect/win32/overlapped_file.h"
#include "windows.h"

namespace {

using fb::win32::OverlappedFile;

class Ports : public ::testing::Test {
 protected:
  Ports() : file_(OverlappedFile::create(handle_)), port_(CreateIoCompletionPort(handle_, nullptr, 77, 0)) {}
  ~Ports() override {
    CloseHandle(port_);
    CloseHandle(handle_);
  }

  struct Got {
    BOOL ok = FALSE;
    DWORD bytes = 0;
    ULONG_PTR key = 0;
    OVERLAPPED* overlapped = nullptr;
    DWORD error = 0;
  };
  Got get(DWORD milliseconds = 0) const {
    Got got;
    SetLastError(0);
    got.ok = GetQueuedCompletionStatus(port_, &got.bytes, &got.key, &got.overlapped, milliseconds);
    got.error = GetLastError();
    return got;
  }
  void run(OVERLAPPED& overlapped, LONG status, ULONG_PTR bytes) const {
    ASSERT_TRUE(file_.begin(overlapped));
    EXPECT_FALSE(HasOverlappedIoCompleted(&overlapped));
    file_.complete(overlapped, status, bytes);
  }

  HANDLE handle_ = nullptr;
  OverlappedFile file_;
  HANDLE port_;
};

TEST_F(Ports, PacketHasKeyRequestAndBytes) {
  OVERLAPPED overlapped = {};
  run(overlapped, STATUS_SUCCESS, 123);
  const Got got = get();
  EXPECT_TRUE(got.ok);
  EXPECT_EQ(got.bytes, 123u);
  EXPECT_EQ(got.key, 77u);
  EXPECT_EQ(got.overlapped, &overlapped);
  EXPECT_EQ(overlapped.Internal, 0u);
  EXPECT_EQ(overlapped.InternalHigh, 123u);
}

TEST_F(Ports, EmptyPortTimesOut) {
  for (const DWORD milliseconds : {0u, 5u}) {
    const Got got = get(milliseconds);
    EXPECT_FALSE(got.ok);
    EXPECT_EQ(got.overlapped, nullptr);
    EXPECT_EQ(got.error, DWORD{WAIT_TIMEOUT});
  }
}

TEST_F(Ports, FailedRequestsSayWhyAndComeInOrder) {
  const std::pair<LONG, DWORD> failures[] = {{STATUS_CANCELLED, ERROR_OPERATION_ABORTED},
                                             {STATUS_CONNECTION_REFUSED, ERROR_CONNECTION_REFUSED},
                                             {STATUS_BUFFER_OVERFLOW, ERROR_MORE_DATA},
                                             {STATUS_CONNECTION_INVALID, ERROR_CONNECTION_INVALID},
                                             {STATUS_IO_TIMEOUT, ERROR_SEM_TIMEOUT},
                                             {STATUS_DEVICE_REMOVED, ERROR_DEVICE_REMOVED},
                                             {static_cast<LONG>(0xC0FFFFFF), ERROR_MR_MID_NOT_FOUND}};
  OVERLAPPED overlapped[std::size(failures)] = {};
  for (std::size_t i = 0; i < std::size(failures); ++i) run(overlapped[i], failures[i].first, 0);
  for (std::size_t i = 0; i < std::size(failures); ++i) {
    const Got got = get();
    EXPECT_FALSE(got.ok);
    EXPECT_EQ(got.overlapped, &overlapped[i]);
    EXPECT_EQ(got.error, failures[i].second);
    EXPECT_EQ(static_cast<LONG>(overlapped[i].Internal), failures[i].first);
    DWORD bytes = 0;
    EXPECT_FALSE(GetOverlappedResult(handle_, &overlapped[i], &bytes, FALSE));
    EXPECT_EQ(GetLastError(), failures[i].second);
  }
}

TEST_F(Ports, LowBitOfTheEventKeepsThePacketBack) {
  const HANDLE event = CreateEventW(nullptr, TRUE, TRUE, nullptr);
  OVERLAPPED overlapped = {};
  overlapped.hEvent = reinterpret_cast<HANDLE>(reinterpret_cast<ULONG_PTR>(event) | 1);
  ASSERT_TRUE(file_.begin(overlapped));
  EXPECT_EQ(WaitForSingleObject(event, 0), DWORD{WAIT_TIMEOUT}) << "beginning resets the event";
  file_.complete(overlapped, STATUS_SUCCESS, 1);
  EXPECT_EQ(WaitForSingleObject(event, 0), WAIT_OBJECT_0);
  EXPECT_EQ(get().error, DWORD{WAIT_TIMEOUT});
  overlapped.hEvent = event;
  run(overlapped, STATUS_SUCCESS, 1);
  EXPECT_EQ(WaitForSingleObject(event, 0), WAIT_OBJECT_0);
  EXPECT_TRUE(get().ok) << "without the bit both are told";
  CloseHandle(event);
}

TEST_F(Ports, SuccessWithinTheCallSkipsThePort) {
  OVERLAPPED overlapped = {};
  ASSERT_TRUE(file_.begin(overlapped));
  file_.complete_in_call(overlapped, STATUS_SUCCESS, 4);
  EXPECT_EQ(get().error, DWORD{WAIT_TIMEOUT});
  EXPECT_EQ(overlapped.InternalHigh, 4u);

  HANDLE plain = nullptr;
  const OverlappedFile telling = OverlappedFile::create(plain, 0);
  ASSERT_EQ(CreateIoCompletionPort(plain, port_, 78, 0), port_);
  ASSERT_TRUE(telling.begin(overlapped));
  EXPECT_EQ(WaitForSingleObject(plain, 0), DWORD{WAIT_TIMEOUT});
  telling.complete_in_call(overlapped, STATUS_SUCCESS, 4);
  EXPECT_EQ(get().key, 78u);
  EXPECT_EQ(WaitForSingleObject(plain, 0), WAIT_OBJECT_0) << "the file itself is signalled";
  EXPECT_TRUE(SetFileCompletionNotificationModes(plain, FILE_SKIP_COMPLETION_PORT_ON_SUCCESS));
  ASSERT_TRUE(telling.begin(overlapped));
  telling.complete_in_call(overlapped, STATUS_SUCCESS, 4);
  EXPECT_EQ(get().error, DWORD{WAIT_TIMEOUT});
  EXPECT_FALSE(SetFileCompletionNotificationModes(plain, 0x80));
  CloseHandle(plain);
}

TEST_F(Ports, ResultWaitsForTheRequest) {
  OVERLAPPED overlapped = {};
  ASSERT_TRUE(file_.begin(overlapped));
  DWORD bytes = 0;
  EXPECT_FALSE(GetOverlappedResult(handle_, &overlapped, &bytes, FALSE));
  EXPECT_EQ(GetLastError(), ERROR_IO_INCOMPLETE);
  EXPECT_FALSE(GetOverlappedResultEx(handle_, &overlapped, &bytes, 5, FALSE));
  EXPECT_EQ(GetLastError(), DWORD{WAIT_TIMEOUT});
  std::thread later([&] {
    Sleep(10);
    file_.complete(overlapped, STATUS_SUCCESS, 9);
  });
  EXPECT_TRUE(GetOverlappedResult(handle_, &overlapped, &bytes, TRUE));
  EXPECT_EQ(bytes, 9u);
  later.join();
}

TEST_F(Ports, AutomaticEventIsTakenByTheWaitForTheResult) {
  const HANDLE event = CreateEventW(nullptr, FALSE, FALSE, nullptr);
  OVERLAPPED overlapped = {};
  overlapped.hEvent = event;
  ASSERT_TRUE(file_.begin(overlapped));
  std::thread later([&] {
    Sleep(10);
    file_.complete(overlapped, STATUS_SUCCESS, 0);
  });
  DWORD bytes = 0;
  EXPECT_TRUE(GetOverlappedResult(handle_, &overlapped, &bytes, TRUE));
  later.join();
  EXPECT_EQ(WaitForSingleObject(event, 0), DWORD{WAIT_TIMEOUT});
  EXPECT_TRUE(GetOverlappedResult(handle_, &overlapped, &bytes, TRUE)) << "it does not wait a second time";
  CloseHandle(event);
}

TEST_F(Ports, BadEventRefusesTheRequest) {
  OVERLAPPED overlapped = {};
  overlapped.Internal = 5;
  overlapped.hEvent = port_;
  EXPECT_FALSE(file_.begin(overlapped));
  EXPECT_EQ(overlapped.Internal, 5u);
}

TEST_F(Ports, FileIsServedAfterTheClientClosedIt) {
  OVERLAPPED overlapped = {};
  ASSERT_TRUE(file_.begin(overlapped));
  EXPECT_TRUE(CloseHandle(handle_));
  EXPECT_FALSE(OverlappedFile::of(handle_).has_value());
  file_.complete(overlapped, STATUS_SUCCESS, 1);
  EXPECT_EQ(get().overlapped, &overlapped);
}

TEST_F(Ports, PortClosedMeanwhileEndsTheWait) {
  const HANDLE port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, nullptr, 0, 0);
  std::thread waiting([port] {
    DWORD bytes = 0;
    ULONG_PTR key = 0;
    OVERLAPPED* overlapped = nullptr;
    EXPECT_FALSE(GetQueuedCompletionStatus(port, &bytes, &key, &overlapped, INFINITE));
    EXPECT_EQ(overlapped, nullptr);
    EXPECT_EQ(GetLastError(), ERROR_ABANDONED_WAIT_0);
  });
  Sleep(20);
  CloseHandle(port);
  waiting.join();
  EXPECT_FALSE(PostQueuedCompletionStatus(port, 0, 0, nullptr));
}

TEST_F(Ports, CompletionAfterThePortWasClosedIsHarmless) {
  OVERLAPPED overlapped = {};
  ASSERT_TRUE(file_.begin(overlapped));
  CloseHandle(port_);
  file_.complete(overlapped, STATUS_SUCCESS, 1);
  EXPECT_TRUE(HasOverlappedIoCompleted(&overlapped));
}

TEST_F(Ports, AssociationRules) {
  EXPECT_EQ(CreateIoCompletionPort(handle_, port_, 1, 0), nullptr) << "a file has one port for ever";
  EXPECT_EQ(GetLastError(), ERROR_INVALID_PARAMETER);
  EXPECT_EQ(CreateIoCompletionPort(INVALID_HANDLE_VALUE, port_, 1, 0), nullptr);
  EXPECT_EQ(CreateIoCompletionPort(port_, nullptr, 1, 0), nullptr);
  EXPECT_EQ(GetLastError(), ERROR_INVALID_HANDLE);
}

TEST_F(Ports, ExTakesSeveral) {
  OVERLAPPED overlapped[3] = {};
  for (OVERLAPPED& o : overlapped) run(o, &o == &overlapped[1] ? STATUS_CANCELLED : STATUS_SUCCESS, 2);
  PostQueuedCompletionStatus(port_, 5, 6, nullptr);
  OVERLAPPED_ENTRY entries[3] = {};
  ULONG count = 0;
  ASSERT_TRUE(GetQueuedCompletionStatusEx(port_, entries, 3, &count, 0, FALSE));
  ASSERT_EQ(count, 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(entries[i].lpOverlapped, &overlapped[i]);
  EXPECT_EQ(static_cast<LONG>(entries[1].Internal), STATUS_CANCELLED);
  ASSERT_TRUE(GetQueuedCompletionStatusEx(port_, entries, 3, &count, 0, FALSE));
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(entries[0].dwNumberOfBytesTransferred, 5u);
  EXPECT_EQ(entries[0].lpCompletionKey, 6u);
  EXPECT_FALSE(GetQueuedCompletionStatusEx(port_, entries, 3, &count, 1, FALSE));
  EXPECT_EQ(GetLastError(), DWORD{WAIT_TIMEOUT});
  EXPECT_FALSE(GetQueuedCompletionStatusEx(port_, entries, 0, &count, 1, FALSE));
}

TEST_F(Ports, WakesAThreadThatWaits) {
  OVERLAPPED overlapped = {};
  ASSERT_TRUE(file_.begin(overlapped));
  std::thread later([&] {
    Sleep(10);
    file_.complete(overlapped, STATUS_CANCELLED, 0);
  });
  const Got got = get(INFINITE);
  EXPECT_EQ(got.overlapped, &overlapped);
  EXPECT_EQ(got.error, ERROR_OPERATION_ABORTED);
  later.join();
}

TEST_F(Ports, CancelAsksWhoeverServesTheFile) {
  OVERLAPPED overlapped = {};
  EXPECT_FALSE(CancelIoEx(handle_, &overlapped));
  EXPECT_EQ(GetLastError(), ERROR_NOT_FOUND);
  struct Served {
    const OverlappedFile& file;
    OVERLAPPED& pending;
  } served = {file_, overlapped};
  file_.on_cancel(
      [](void* context, OVERLAPPED* asked) {
        const auto& s = *static_cast<Served*>(context);
        if (asked != nullptr && asked != &s.pending) return false;
        s.file.complete(s.pending, STATUS_CANCELLED, 0);
        return true;
      },
      &served);
  ASSERT_TRUE(file_.begin(overlapped));
  OVERLAPPED other = {};
  EXPECT_FALSE(CancelIoEx(handle_, &other));
  EXPECT_TRUE(CancelIoEx(handle_, &overlapped));
  EXPECT_EQ(get().error, ERROR_OPERATION_ABORTED);
  file_.on_cancel(nullptr, nullptr);
}

struct Called {
  OVERLAPPED overlapped = {};
  HANDLE event = nullptr;
  DWORD error = 0;
  DWORD bytes = 0;
};

VOID CALLBACK record(DWORD error, DWORD bytes, LPOVERLAPPED overlapped) {
  auto* called = CONTAINING_RECORD(overlapped, Called, overlapped);
  called->error = error;
  called->bytes = bytes;
  SetEvent(called->event);
}

TEST(Callbacks, GetErrorAndBytes) {
  HANDLE handle = nullptr;
  const OverlappedFile file = OverlappedFile::create(handle);
  ASSERT_TRUE(BindIoCompletionCallback(handle, record, 0));
  EXPECT_FALSE(BindIoCompletionCallback(handle, record, 0));
  Called called;
  called.event = CreateEventW(nullptr, FALSE, FALSE, nullptr);
  for (const LONG status : {STATUS_SUCCESS, STATUS_CONNECTION_REFUSED}) {
    ASSERT_TRUE(file.begin(called.overlapped));
    file.complete(called.overlapped, status, 3);
    EXPECT_EQ(WaitForSingleObject(called.event, 10'000), WAIT_OBJECT_0);
    EXPECT_EQ(called.error, status == STATUS_SUCCESS ? ERROR_SUCCESS : ERROR_CONNECTION_REFUSED);
    EXPECT_EQ(called.bytes, 3u);
  }
  CloseHandle(called.event);
  CloseHandle(handle);
}

// Two threads complete requests on several files, two take packets from one port; each request is begun again when its packet
// has come. Every packet comes exactly once.
TEST(Stress, NothingIsLostOrDoubled) {
  constexpr int kFiles = 3;
  constexpr int kRequests = 64;
  constexpr unsigned kRounds = 20'000;
  struct Request {
    OVERLAPPED overlapped = {};
    std::atomic<unsigned> begun{0};
    std::atomic<unsigned> seen{0};
    std::atomic<bool> pending{false};
    LONG status = 0;
  };
  const HANDLE port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, nullptr, 0, 0);
  const HANDLE event = CreateEventW(nullptr, FALSE, FALSE, nullptr);
  std::vector<OverlappedFile> files;
  std::vector<HANDLE> handles(kFiles);
  for (int i = 0; i < kFiles; ++i) {
    files.push_back(OverlappedFile::create(handles[static_cast<std::size_t>(i)]));
    ASSERT_EQ(CreateIoCompletionPort(handles[static_cast<std::size_t>(i)], port, static_cast<ULONG_PTR>(i), 0), port);
  }
  std::vector<Request> requests(kRequests);
  for (std::size_t i = 0; i < requests.size(); i += 2) requests[i].overlapped.hEvent = event;
  std::atomic<unsigned> left{kRounds};
  std::atomic<unsigned> taken{0};
  std::atomic<bool> wrong{false};

  const auto produce = [&](std::uint64_t seed) {
    fb::Rng rng(seed, "stress");
    while (left.load() > 0) {
      Request& request = requests[rng.below(kRequests)];
      bool free = false;
      if (!request.pending.compare_exchange_strong(free, true)) {
        SwitchToThread();
        continue;
      }
      unsigned n = left.load();
      while (n > 0 && !left.compare_exchange_weak(n, n - 1)) {
      }
      if (n == 0) {
        request.pending = false;
        return;
      }
      const OverlappedFile& file = files[n % kFiles];
      request.status = rng.below(4) == 0 ? STATUS_CANCELLED : STATUS_SUCCESS;
      ++request.begun;
      if (!file.begin(request.overlapped)) wrong = true;
      file.complete(request.overlapped, request.status, n);
    }
  };
  const auto consume = [&](bool several) {
    while (taken.load() < kRounds) {
      OVERLAPPED_ENTRY entries[8] = {};
      ULONG count = 0;
      if (several) {
        if (!GetQueuedCompletionStatusEx(port, entries, 8, &count, 20, FALSE)) continue;
      } else {
        const BOOL ok = GetQueuedCompletionStatus(port, &entries[0].dwNumberOfBytesTransferred, &entries[0].lpCompletionKey,
                                                  &entries[0].lpOverlapped, 20);
        if (entries[0].lpOverlapped == nullptr) continue;
        entries[0].Internal = ok ? 0 : static_cast<ULONG>(STATUS_CANCELLED);
        count = 1;
      }
      for (ULONG i = 0; i < count; ++i) {
        auto* request = CONTAINING_RECORD(entries[i].lpOverlapped, Request, overlapped);
        if (static_cast<LONG>(entries[i].Internal) != request->status) wrong = true;
        if (entries[i].dwNumberOfBytesTransferred % kFiles != entries[i].lpCompletionKey) wrong = true;
        if (++request->seen != request->begun) wrong = true;
        request->pending = false;
        ++taken;
      }
    }
  };
  std::vector<std::thread> threads;
  threads.emplace_back(produce, 1);
  threads.emplace_back(produce, 2);
  threads.emplace_back(consume, false);
  threads.emplace_back(consume, true);
  for (std::thread& thread : threads) thread.join();

  EXPECT_FALSE(wrong);
  EXPECT_EQ(taken, kRounds);
  unsigned begun = 0;
  for (const Request& request : requests) {
    EXPECT_EQ(request.begun, request.seen);
    begun += request.begun;
  }
  EXPECT_EQ(begun, kRounds);
  OVERLAPPED_ENTRY rest = {};
  ULONG count = 0;
  EXPECT_FALSE(GetQueuedCompletionStatusEx(port, &rest, 1, &count, 0, FALSE));
  for (const HANDLE handle : handles) CloseHandle(handle);
  CloseHandle(event);
  CloseHandle(port);
}

/// A thread that waits at a port, and what it gets.
class WaitingThread {
 public:
  explicit WaitingThread(HANDLE port, std::atomic<int>& at_the_port)
      : thread_([this, port, &at_the_port] {
          DWORD bytes = 0;
          OVERLAPPED* overlapped = nullptr;
          ++at_the_port;
          if (GetQueuedCompletionStatus(port, &bytes, &key_, &overlapped, 20'000)) got_ = true;
        }) {}
  ~WaitingThread() { join(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  bool got() const { return got_; }
  ULONG_PTR key() const { return key_; }

 private:
  std::atomic<bool> got_{false};
  ULONG_PTR key_ = 0;
  std::thread thread_;
};

void wait_for(std::atomic<int>& count, int wanted) {
  while (count < wanted) Sleep(1);
  Sleep(30);  // from the count into the wait
}

TEST_F(Ports, APacketIsForWhoWaitsAndNotForWhoPostsAndPolls) {
  std::atomic<int> waiting{0};
  WaitingThread thread(port_, waiting);
  wait_for(waiting, 1);
  ASSERT_TRUE(PostQueuedCompletionStatus(port_, 0, 5, nullptr));
  EXPECT_EQ(get().error, DWORD{WAIT_TIMEOUT});
  thread.join();
  EXPECT_TRUE(thread.got());
  EXPECT_EQ(thread.key(), 5u);
}

TEST_F(Ports, WhoBeganToWaitLastIsServedFirst) {
  std::atomic<int> waiting{0};
  WaitingThread first(port_, waiting);
  wait_for(waiting, 1);
  WaitingThread second(port_, waiting);
  wait_for(waiting, 2);
  PostQueuedCompletionStatus(port_, 0, 1, nullptr);
  second.join();
  EXPECT_TRUE(second.got());
  EXPECT_FALSE(first.got());
  PostQueuedCompletionStatus(port_, 0, 2, nullptr);
  first.join();
  EXPECT_EQ(second.key(), 1u);
  EXPECT_EQ(first.key(), 2u);
}

TEST(Port, OneThreadAtATimeWhereThePortSaysSo) {
  const HANDLE port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, nullptr, 0, 1);
  const auto poll = [port] {
    DWORD bytes = 0;
    ULONG_PTR key = 0;
    OVERLAPPED* overlapped = nullptr;
    return GetQueuedCompletionStatus(port, &bytes, &key, &overlapped, 0) ? key : ULONG_PTR{0};
  };
  EXPECT_EQ(poll(), 0u);  // from now on this thread runs for the port
  std::atomic<int> waiting{0};
  WaitingThread thread(port, waiting);
  while (waiting < 1) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  PostQueuedCompletionStatus(port, 0, 7, nullptr);
  EXPECT_EQ(poll(), 7u) << "it runs, so nobody else does";
  PostQueuedCompletionStatus(port, 0, 8, nullptr);
  Sleep(30);  // while it waits for something else, another may
  thread.join();
  EXPECT_EQ(thread.key(), 8u);
  CloseHandle(port);
}

}  // namespace
