// What NDK costs on top of the device: posting and polling. The figure is a difference within one run.
#include <benchmark/benchmark.h>
#include <ndkpi.h>
#include <ndk_dispatch.h>

#include <stdexcept>

#include "networkdirect/ndk/kernel/kernel.h"
#include "networkdirect/ndk/provider/provider.h"
#include "tests/bench/direct_rdma.h"

namespace fb::ndk {
namespace {

using bench::kBatch;
using bench::kBytes;
using bench::Network;

/// Writes through the interface.
struct Provided {
  Provided() {
    for (End* end : {&a, &b}) {
      made(end->provider.open({2, 1}, &end->adapter));
      NDK_ADAPTER* const adapter = end->adapter;
      made(adapter->Dispatch->NdkCreatePd(adapter, &on_created, nullptr, &end->pd));
      NDK_PD* const pd = end->pd;
      made(adapter->Dispatch->NdkCreateCq(adapter, 1024, &on_notify, nullptr, nullptr, &on_created, nullptr, &end->cq));
      made(pd->Dispatch->NdkCreateMr(pd, 0, &on_created, nullptr, &end->mr));
      MDL mdl;
      MmInitializeMdl(&mdl, end->memory.data(), end->memory.size());
      constexpr ULONG kRights = NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_WRITE;
      made(end->mr->Dispatch->NdkRegisterMr(end->mr, &mdl, end->memory.size(), kRights, &on_done, nullptr));
      made(pd->Dispatch->NdkCreateQp(pd, end->cq, end->cq, end, 64, 64, 2, 2, 0, &on_created, nullptr, &end->qp));
    }
    NDK_ADAPTER* const passive = b.adapter;
    made(passive->Dispatch->NdkCreateListener(passive, &on_request, this, &on_created, nullptr, &listener));
    SOCKADDR_IN from = address(network.a->address(), 0), to = address(network.b->address(), 7000);
    made(listener->Dispatch->NdkListen(listener, plain(to), sizeof to, &on_done, nullptr));
    made(a.adapter->Dispatch->NdkCreateConnector(a.adapter, &on_created, nullptr, &a.connector));
    Waits connecting, completing;
    const auto& active = *a.connector->Dispatch;
    active.NdkConnect(a.connector, a.qp, plain(from), sizeof from, plain(to), sizeof to, 0, 0, nullptr, 0, &Waits::on_done, &connecting);
    network.world->run_until([&] { return b.connector != nullptr; }, Duration::s(10));
    b.connector->Dispatch->NdkAccept(b.connector, b.qp, 0, 0, nullptr, 0, &on_disconnect, nullptr, &Waits::on_done, &accepting);
    connecting.finish(*network.world);
    active.NdkCompleteConnect(a.connector, &on_disconnect, nullptr, &Waits::on_done, &completing);
    completing.finish(*network.world);
    accepting.finish(*network.world);
  }
  ~Provided() {
    close(listener->Dispatch->NdkCloseListener, listener->Header);
    for (End* end : {&a, &b}) {
      close(end->connector->Dispatch->NdkCloseConnector, end->connector->Header);
      close(end->qp->Dispatch->NdkCloseQp, end->qp->Header);
      close(end->mr->Dispatch->NdkCloseMr, end->mr->Header);
      close(end->cq->Dispatch->NdkCloseCq, end->cq->Header);
      close(end->pd->Dispatch->NdkClosePd, end->pd->Header);
      end->provider.close(end->adapter);
    }
  }
  Provided(const Provided&) = delete;
  Provided& operator=(const Provided&) = delete;

  void batch() {
    NDK_SGE sge = {};
    sge.VirtualAddress = a.memory.data();
    sge.Length = kBytes;
    sge.MemoryRegionToken = a.mr->Dispatch->NdkGetLocalTokenFromMr(a.mr);
    const auto there = reinterpret_cast<std::uintptr_t>(b.memory.data());
    const UINT32 token = b.mr->Dispatch->NdkGetRemoteTokenFromMr(b.mr);
    for (std::uint32_t i = 0; i < kBatch; ++i) a.qp->Dispatch->NdkWrite(a.qp, nullptr, &sge, 1, there, token, 0);
    NDK_RESULT_EX results[kBatch];
    for (ULONG done = 0; done < kBatch; done += a.cq->Dispatch->NdkGetCqResultsEx(a.cq, results, kBatch)) {
      network.world->loop().step(Instant::never());
    }
  }

  /// A call that has to wait for the network.
  struct Waits {
    NTSTATUS status = STATUS_PENDING;
    static VOID on_done(PVOID context, NTSTATUS status) { static_cast<Waits*>(context)->status = status; }
    void finish(World& world) {
      world.run_until([&] { return status != STATUS_PENDING; }, Duration::s(10));
      made(status);
    }
  };
  struct End {
    End(World& world, Kernel& kernel, rdma::Device& device) : provider(world, kernel, device, at_once()) {}
    static ProviderOptions at_once() {
      ProviderOptions options;
      options.answers = Answers::at_once;
      return options;
    }
    Provider provider;
    Bytes memory = Bytes(4096);
    NDK_ADAPTER* adapter = nullptr;
    NDK_PD* pd = nullptr;
    NDK_CQ* cq = nullptr;
    NDK_MR* mr = nullptr;
    NDK_QP* qp = nullptr;
    NDK_CONNECTOR* connector = nullptr;
  };

  static void made(NTSTATUS status) {
    if (status != STATUS_SUCCESS) throw std::runtime_error("NDK answered " + std::to_string(status));
  }
  static VOID on_created(PVOID, NTSTATUS, NDK_OBJECT_HEADER*) {}
  static VOID on_done(PVOID, NTSTATUS) {}
  static VOID on_notify(PVOID, NTSTATUS) {}
  static VOID on_disconnect(PVOID) {}
  static VOID on_request(PVOID context, NDK_CONNECTOR* connector) { static_cast<Provided*>(context)->b.connector = connector; }
  static SOCKADDR_IN address(const IpAddress& ip, std::uint16_t port) {
    SOCKADDR_IN made = {};
    made.sin_family = AF_INET;
    made.sin_port = htons(port);
    std::memcpy(&made.sin_addr, &ip.bytes()[12], 4);
    return made;
  }
  static PSOCKADDR plain(SOCKADDR_IN& address) { return reinterpret_cast<PSOCKADDR>(&address); }
  void close(NDK_FN_CLOSE_OBJECT function, NDK_OBJECT_HEADER& header) {
    bool closed = false;
    const auto on_closed = [](PVOID context) { *static_cast<bool*>(context) = true; };
    if (function(&header, on_closed, &closed) != STATUS_PENDING) return;
    network.world->run_until([&] { return closed; }, Duration::s(300));
  }

  Network network;
  Kernel kernel;
  End a{*network.world, kernel, *network.a}, b{*network.world, kernel, *network.b};
  NDK_LISTENER* listener = nullptr;
  Waits accepting;
};

void write_of_64_bytes(benchmark::State& state) { bench::compare_writes<Provided>(state); }
BENCHMARK(write_of_64_bytes);

}  // namespace
}  // namespace fb::ndk
