// What NetworkDirect costs on top of the device: posting and polling, and the end of overlapped requests at a port. Each
// figure is a difference within one run.
#include <cstring>
#include <vector>

#include <benchmark/benchmark.h>
#include <ndspi.h>

#include "networkdirect/provider/provider.h"
#include "tests/bench/direct_rdma.h"
#include "tests/bench/machine.h"

namespace fb::networkdirect {
namespace {

using bench::kBatch;
using bench::kBytes;
using bench::Network;

/// The same program on the interface.
template <class Net>
struct Provided {
  Provided() {
    make_provider(make_fixed_fabric({make_inline_place(*network.world, *network.a), make_inline_place(*network.world, *network.b)}),
                  IID_IND2Provider, reinterpret_cast<void**>(&provider));
    for (End* end : {&a, &b}) {
      const IpAddress address = (end == &a ? *network.a : *network.b).address();
      end->address.sin_family = AF_INET;
      std::memcpy(&end->address.sin_addr, &address.bytes()[12], 4);
      UINT64 id = 0;
      provider->ResolveAddress(plain(end->address), sizeof end->address, &id);
      provider->OpenAdapter(IID_IND2Adapter, id, out(end->adapter));
      end->adapter->CreateOverlappedFile(&end->file);
      end->adapter->CreateCompletionQueue(IID_IND2CompletionQueue, end->file, 512, 0, 0, out(end->queue));
      end->adapter->CreateQueuePair(IID_IND2QueuePair, end->queue, end->queue, end, 64, 64, 2, 2, 0, out(end->qp));
      end->adapter->CreateConnector(IID_IND2Connector, end->file, out(end->connector));
      end->adapter->CreateMemoryRegion(IID_IND2MemoryRegion, end->file, out(end->region));
      OVERLAPPED request = {};
      end->region->Register(end->memory.data(), end->memory.size(), ND_MR_FLAG_ALLOW_REMOTE_WRITE, &request);
    }
    b.adapter->CreateListener(IID_IND2Listener, b.file, out(listener));
    sockaddr_in at = b.address;
    at.sin_port = htons(7000);
    listener->Bind(plain(at), sizeof at);
    listener->Listen(0);
    OVERLAPPED connecting = {}, request = {}, accepting = {}, completing = {};
    a.connector->Bind(plain(a.address), sizeof a.address);
    a.connector->Connect(a.qp, plain(at), sizeof at, 0, 0, nullptr, 0, &connecting);
    listener->GetConnectionRequest(b.connector, &request);
    listener->GetOverlappedResult(&request, TRUE);
    b.connector->Accept(b.qp, 0, 0, nullptr, 0, &accepting);
    a.connector->GetOverlappedResult(&connecting, TRUE);
    a.connector->CompleteConnect(&completing);
    a.connector->GetOverlappedResult(&completing, TRUE);
    b.connector->GetOverlappedResult(&accepting, TRUE);
    network.world->run_for(Duration::ms(1));
  }
  ~Provided() {
    for (End* end : {&a, &b}) {
      end->connector->Release();
      end->qp->Release();
      end->region->Release();
      end->queue->Release();
      end->adapter->Release();
      CloseHandle(end->file);
    }
    listener->Release();
    provider->Release();
  }
  template <class T>
  static void** out(T*& object) {
    return reinterpret_cast<void**>(&object);
  }
  static const struct sockaddr* plain(const sockaddr_in& at) { return reinterpret_cast<const struct sockaddr*>(&at); }
  void batch() {
    const ND2_SGE sge = {a.memory.data(), kBytes, a.region->GetLocalToken()};
    const UINT64 there = reinterpret_cast<std::uintptr_t>(b.memory.data());
    const UINT32 token = b.region->GetRemoteToken();
    for (std::uint32_t i = 0; i < kBatch; ++i) a.qp->Write(nullptr, &sge, 1, there, token, 0);
    ND2_RESULT results[kBatch];
    for (ULONG done = 0; done < kBatch; done += a.queue->GetResults(results, kBatch)) network.world->loop().step(Instant::never());
  }
  void round_trip() {
    message(a, b);
    message(b, a);
  }
  struct End {
    Bytes memory = Bytes(4096);
    sockaddr_in address = {};
    HANDLE file = nullptr;
    IND2Adapter* adapter = nullptr;
    IND2CompletionQueue* queue = nullptr;
    IND2QueuePair* qp = nullptr;
    IND2Connector* connector = nullptr;
    IND2MemoryRegion* region = nullptr;
  };
  void message(End& from, End& to) {
    const UINT32 token = from.region->GetLocalToken();
    const ND2_SGE out = {from.memory.data(), kBytes, token}, into = {to.memory.data() + kBytes, kBytes, to.region->GetLocalToken()};
    to.qp->Receive(nullptr, &into, 1);
    from.qp->Send(nullptr, &out, 1, 0);
    ND2_RESULT taken[1];
    for (bool received = false; !received; network.world->step_towards(network.world->now())) {
      while (to.queue->GetResults(taken, 1) != 0) received |= taken[0].RequestType == Nd2RequestTypeReceive;
    }
  }
  Net network;
  IND2Provider* provider = nullptr;
  IND2Listener* listener = nullptr;
  End a, b;
};

void write_of_64_bytes(benchmark::State& state) { bench::compare_writes<Provided<Network>>(state); }
BENCHMARK(write_of_64_bytes);

// Round trips over real UDP sockets, by turns, and the medians of both. Wanted: ratio at most 1.3.
void real_ping_pong(benchmark::State& state) {
  bench::Direct<bench::Loopback<41>> direct;
  Provided<bench::Loopback<43>> provided;
  std::vector<double> direct_ns, provided_ns;
  const auto timed = [](std::vector<double>& into, auto& ends) {
    const auto start = std::chrono::steady_clock::now();
    ends.round_trip();
    into.push_back(bench::nanoseconds(std::chrono::steady_clock::now() - start));
  };
  for (auto _ : state) {
    timed(direct_ns, direct);
    timed(provided_ns, provided);
  }
  state.counters["direct_us"] = bench::median(direct_ns) / 1000;
  state.counters["provided_us"] = bench::median(provided_ns) / 1000;
  state.counters["ratio"] = bench::median(provided_ns) / bench::median(direct_ns);
}
BENCHMARK(real_ping_pong)->UseRealTime();

// Overlapped requests that end at a completion port, and are taken there.
void overlapped_requests(benchmark::State& state) {
  Provided<Network> provided;
  const HANDLE port = CreateIoCompletionPort(provided.a.file, nullptr, 1, 0);
  for (;;) {  // what was there before
    DWORD bytes = 0;
    ULONG_PTR key = 0;
    OVERLAPPED* ended = nullptr;
    if (!GetQueuedCompletionStatus(port, &bytes, &key, &ended, 0) && ended == nullptr) break;
  }
  for (auto _ : state) {
    OVERLAPPED request = {};
    provided.a.region->Deregister(&request);
    DWORD bytes = 0;
    ULONG_PTR key = 0;
    OVERLAPPED* ended = nullptr;
    GetQueuedCompletionStatus(port, &bytes, &key, &ended, INFINITE);
    provided.a.region->Register(provided.a.memory.data(), provided.a.memory.size(), ND_MR_FLAG_ALLOW_LOCAL_WRITE, &request);
    GetQueuedCompletionStatus(port, &bytes, &key, &ended, INFINITE);
  }
  state.SetItemsProcessed(state.iterations() * 2);
  CloseHandle(port);
}
BENCHMARK(overlapped_requests);

}  // namespace
}  // namespace fb::networkdirect
