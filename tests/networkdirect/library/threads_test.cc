// The provider as its loadable library runs it: devices on threads of their own, callers on any. Real UDP on the loopback
// interface; addresses that no other test uses.
#include <atomic>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>
#include <ndspi.h>

#include "base/rng.h"
#include "networkdirect/library/machine_fabric.h"
#include "networkdirect/provider/provider.h"

namespace fb::networkdirect {
namespace {

const IpAddress kHere = IpAddress::v4(127, 0, 0, 41);
const IpAddress kThere = IpAddress::v4(127, 0, 0, 42);

sockaddr_in address_of(const IpAddress& ip, std::uint16_t port) {
  sockaddr_in at = {};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  std::memcpy(&at.sin_addr, &ip.bytes()[12], 4);
  return at;
}

const struct sockaddr* plain(const sockaddr_in& at) { return reinterpret_cast<const struct sockaddr*>(&at); }

struct Request : OVERLAPPED {
  Request() : OVERLAPPED{} { hEvent = CreateEventW(nullptr, FALSE, FALSE, nullptr); }
  ~Request() { CloseHandle(hEvent); }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
};

IND2Adapter* open_adapter(IND2Provider& provider, const IpAddress& ip) {
  const sockaddr_in at = address_of(ip, 0);
  UINT64 id = 0;
  EXPECT_EQ(provider.ResolveAddress(plain(at), sizeof at, &id), ND_SUCCESS);
  void* adapter = nullptr;
  EXPECT_EQ(provider.OpenAdapter(IID_IND2Adapter, id, &adapter), ND_SUCCESS);
  return static_cast<IND2Adapter*>(adapter);
}

class Threads : public testing::Test {
 protected:
  Threads() {
    void* made = nullptr;
    EXPECT_EQ(make_provider(make_machine_fabric({.addresses = {kHere, kThere}}), IID_IND2Provider, &made), ND_SUCCESS);
    provider = static_cast<IND2Provider*>(made);
    here = open_adapter(*provider, kHere);
    there = open_adapter(*provider, kThere);
  }
  ~Threads() override {
    here->Release();
    there->Release();
    provider->Release();
    EXPECT_EQ(living_objects(), 0u);
  }
  IND2Provider* provider = nullptr;
  IND2Adapter* here = nullptr;
  IND2Adapter* there = nullptr;
};

/// A queue pair with everything under it.
struct Pair {
  explicit Pair(IND2Adapter& adapter) {
    adapter.CreateOverlappedFile(&file);
    make(adapter.CreateCompletionQueue(IID_IND2CompletionQueue, file, 256, 0, 0, out(queue)));
    make(adapter.CreateMemoryRegion(IID_IND2MemoryRegion, file, out(region)));
    make(adapter.CreateQueuePair(IID_IND2QueuePair, queue, queue, this, 64, 64, 2, 2, 0, out(qp)));
    make(adapter.CreateConnector(IID_IND2Connector, file, out(connector)));
    Request request;
    EXPECT_EQ(region->Register(memory.data(), memory.size(), ND_MR_FLAG_ALLOW_REMOTE_WRITE | ND_MR_FLAG_ALLOW_REMOTE_READ, &request),
              ND_PENDING);
    EXPECT_EQ(region->GetOverlappedResult(&request, TRUE), ND_SUCCESS);
  }
  ~Pair() {
    connector->Release();
    qp->Release();
    region->Release();
    queue->Release();
    CloseHandle(file);
  }
  template <class T>
  static void** out(T*& object) {
    return reinterpret_cast<void**>(&object);
  }
  static void make(HRESULT status) { EXPECT_EQ(status, ND_SUCCESS); }
  ND2_SGE sge(ULONG length) { return {memory.data(), length, region->GetLocalToken()}; }
  ND2_RESULT wait() {
    ND2_RESULT result = {};
    while (queue->GetResults(&result, 1) == 0) {
      Request request;
      if (queue->Notify(ND_CQ_NOTIFY_ANY, &request) == ND_PENDING) queue->GetOverlappedResult(&request, TRUE);
    }
    return result;
  }

  std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(4096);
  HANDLE file = nullptr;
  IND2CompletionQueue* queue = nullptr;
  IND2MemoryRegion* region = nullptr;
  IND2QueuePair* qp = nullptr;
  IND2Connector* connector = nullptr;
};

void connect(IND2Adapter& there, Pair& active, Pair& passive, std::uint16_t port) {
  IND2Listener* listener = nullptr;
  ASSERT_EQ(there.CreateListener(IID_IND2Listener, passive.file, Pair::out(listener)), ND_SUCCESS);
  const sockaddr_in at = address_of(kThere, port), from = address_of(kHere, 0);
  ASSERT_EQ(listener->Bind(plain(at), sizeof at), ND_SUCCESS);
  ASSERT_EQ(listener->Listen(0), ND_SUCCESS);
  Request connecting, request, accepting, completing;
  ASSERT_EQ(active.connector->Bind(plain(from), sizeof from), ND_SUCCESS);
  ASSERT_EQ(active.connector->Connect(active.qp, plain(at), sizeof at, 4, 4, nullptr, 0, &connecting), ND_PENDING);
  ASSERT_EQ(listener->GetConnectionRequest(passive.connector, &request), ND_PENDING);
  ASSERT_EQ(listener->GetOverlappedResult(&request, TRUE), ND_SUCCESS);
  ASSERT_EQ(passive.connector->Accept(passive.qp, 4, 4, nullptr, 0, &accepting), ND_PENDING);
  ASSERT_EQ(active.connector->GetOverlappedResult(&connecting, TRUE), ND_SUCCESS);
  ASSERT_EQ(active.connector->CompleteConnect(&completing), ND_PENDING);
  ASSERT_EQ(active.connector->GetOverlappedResult(&completing, TRUE), ND_SUCCESS);
  ASSERT_EQ(passive.connector->GetOverlappedResult(&accepting, TRUE), ND_SUCCESS);
  listener->Release();
}

TEST_F(Threads, APingPongBetweenTwoThreads) {
  Pair active(*here), passive(*there);
  connect(*there, active, passive, 7801);
  constexpr int kRounds = 500;
  std::thread answering([&] {
    for (int i = 0; i < kRounds; ++i) {
      ND2_SGE sge = passive.sge(64);
      ASSERT_EQ(passive.qp->Receive(nullptr, &sge, 1), ND_SUCCESS);
      ND2_RESULT result = passive.wait();
      if (result.RequestType == Nd2RequestTypeSend) result = passive.wait();
      ASSERT_EQ(result.Status, ND_SUCCESS);
      ASSERT_EQ(passive.qp->Send(nullptr, &sge, 1, 0), ND_SUCCESS);
    }
    ASSERT_EQ(passive.wait().Status, ND_SUCCESS);
  });
  for (int i = 0; i < kRounds; ++i) {
    std::memset(active.memory.data(), i & 0xFF, 64);
    ND2_SGE sge = active.sge(64);
    ASSERT_EQ(active.qp->Receive(nullptr, &sge, 1), ND_SUCCESS);
    ASSERT_EQ(active.qp->Send(nullptr, &sge, 1, 0), ND_SUCCESS);
    ASSERT_EQ(active.wait().Status, ND_SUCCESS);
    ASSERT_EQ(active.wait().Status, ND_SUCCESS);
    ASSERT_EQ(active.memory[63], i & 0xFF);
  }
  answering.join();
}

/// What four threads do to the objects of one adapter: anything, in any order, with any argument.
class Chaos {
 public:
  Chaos(IND2Adapter& adapter, Pair& pair, std::uint64_t seed) : adapter_(adapter), pair_(pair), random_(seed, "chaos") {}

  void step() {
    ND2_SGE sge = pair_.sge(static_cast<ULONG>(random_.below(5000)));
    if (random_.below(8) == 0) sge.MemoryRegionToken ^= static_cast<UINT32>(random_.next());
    ND2_RESULT results[4];
    ULONG number = 0;
    const sockaddr_in at = address_of(random_.below(2) == 0 ? kHere : kThere, static_cast<std::uint16_t>(7900 + random_.below(4)));
    switch (random_.below(20)) {
      case 0:
        pair_.qp->Send(this, &sge, static_cast<ULONG>(random_.below(2)), static_cast<ULONG>(random_.below(64)));
        break;
      case 1:
        pair_.qp->Receive(this, &sge, 1);
        break;
      case 2:
        pair_.qp->Write(this, &sge, 1, random_.next(), static_cast<UINT32>(random_.next()), 0);
        break;
      case 3:
        pair_.queue->GetResults(results, static_cast<ULONG>(random_.below(5)));
        break;
      case 4:
        request(*pair_.queue, [&](Request& r) { return pair_.queue->Notify(static_cast<ULONG>(random_.below(4)), &r); });
        break;
      case 5:
        pair_.queue->CancelOverlappedRequests();
        break;
      case 6:
        pair_.queue->Resize(static_cast<ULONG>(random_.below(5000)));
        break;
      case 7:
        pair_.connector->Bind(plain(at), sizeof at);
        break;
      case 8:
        request(*pair_.connector, [&](Request& r) { return pair_.connector->Connect(pair_.qp, plain(at), sizeof at, 1, 1, "x", 1, &r); });
        break;
      case 9:
        pair_.connector->CancelOverlappedRequests();
        break;
      case 10:
        request(*pair_.connector, [&](Request& r) { return pair_.connector->Disconnect(&r); });
        break;
      case 11:
        request(*pair_.connector, [&](Request& r) { return pair_.connector->NotifyDisconnect(&r); });
        break;
      case 12:
        pair_.connector->Reject("no", 2);
        break;
      case 13:
        pair_.connector->GetReadLimits(&number, nullptr);
        break;
      case 14:
        churn_region();
        break;
      case 15:
        churn_window();
        break;
      case 16:
        churn_listener(at);
        break;
      case 17:
        request(*pair_.connector, [&](Request& r) { return pair_.connector->Accept(pair_.queue, 0, 0, nullptr, 0, &r); });
        break;
      case 18:
        pair_.qp->AddRef();
        pair_.qp->Release();
        break;
      default:
        pair_.qp->Bind(this, pair_.region, pair_.region, &sge, sizeof sge, 0);
        break;
    }
  }

 private:
  /// The request ends before its memory does.
  template <class Call>
  void request(IND2Overlapped& on, Call&& call) {
    Request made;
    if (call(made) != ND_PENDING) return;
    while (on.GetOverlappedResult(&made, FALSE) == ND_PENDING) {
      on.CancelOverlappedRequests();
      std::this_thread::yield();
    }
  }
  void churn_region() {
    IND2MemoryRegion* region = nullptr;
    if (adapter_.CreateMemoryRegion(IID_IND2MemoryRegion, pair_.file, Pair::out(region)) != ND_SUCCESS) return;
    std::uint8_t memory[64];
    request(*region, [&](Request& r) { return region->Register(memory, random_.below(2) == 0 ? 64 : 0, 0, &r); });
    region->Release();
  }
  void churn_window() {
    IND2MemoryWindow* window = nullptr;
    if (adapter_.CreateMemoryWindow(IID_IND2MemoryWindow, Pair::out(window)) != ND_SUCCESS) return;
    pair_.qp->Bind(this, pair_.region, window, pair_.memory.data(), 64, ND_OP_FLAG_ALLOW_READ);
    pair_.qp->Invalidate(this, window, 0);
    window->Release();
  }
  void churn_listener(const sockaddr_in& at) {
    IND2Listener* listener = nullptr;
    if (adapter_.CreateListener(IID_IND2Listener, pair_.file, Pair::out(listener)) != ND_SUCCESS) return;
    listener->Bind(plain(at), sizeof at);
    listener->Listen(1);
    request(*listener, [&](Request& r) { return listener->GetConnectionRequest(pair_.connector, &r); });
    listener->Release();
  }
  IND2Adapter& adapter_;
  Pair& pair_;
  Rng random_;
};

TEST_F(Threads, FourThreadsCallAtRandom) {
  constexpr int kSteps = 4000;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Pair pair(*here), peer(*there);
    if (seed % 2 == 0) connect(*there, pair, peer, static_cast<std::uint16_t>(7810 + seed));
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        Chaos chaos(*here, pair, seed * 100 + i);
        for (int step = 0; step < kSteps; ++step) chaos.step();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_F(Threads, APortHearsFromManyRequestsOfManyThreads) {
  Pair pair(*here);
  const HANDLE port = CreateIoCompletionPort(pair.file, nullptr, 3, 0);
  constexpr int kEach = 2000, kThreads = 4;
  std::atomic<int> heard{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int each = 0; each < kEach; ++each) {
        OVERLAPPED request = {};
        IND2MemoryRegion* region = nullptr;
        ASSERT_EQ(here->CreateMemoryRegion(IID_IND2MemoryRegion, pair.file, Pair::out(region)), ND_SUCCESS);
        ASSERT_EQ(region->Register(&request, sizeof request, 0, &request), ND_PENDING);
        DWORD bytes = 0;
        ULONG_PTR key = 0;
        OVERLAPPED* ended = nullptr;
        // Anybody's: the port is everybody's.
        ASSERT_TRUE(GetQueuedCompletionStatus(port, &bytes, &key, &ended, 10000));
        ++heard;
        while (region->GetOverlappedResult(&request, FALSE) == ND_PENDING) std::this_thread::yield();
        region->Release();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heard, kThreads * kEach);
  CloseHandle(port);
}

}  // namespace
}  // namespace fb::networkdirect
