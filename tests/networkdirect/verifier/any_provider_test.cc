// A provider of another make: it ends its requests in the call, and knows nothing of ours. Called from several threads.
#include <functional>
#include <thread>

#include "tests/networkdirect/verifier/rig.h"

namespace fb::networkdirect::verifier {
namespace {

template <class Interface>
struct Stub : Interface {
  std::atomic<ULONG> references{1};
  std::atomic<int>& living;
  explicit Stub(std::atomic<int>& count) : living(count) { ++living; }
  virtual ~Stub() { --living; }
  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID, void** out) override { return *out = nullptr, E_NOINTERFACE; }
  ULONG STDMETHODCALLTYPE AddRef() override { return ++references; }
  ULONG STDMETHODCALLTYPE Release() override {
    const ULONG left = --references;
    if (left == 0) delete this;
    return left;
  }
};

struct StubRegion final : Stub<IND2MemoryRegion> {
  using Stub::Stub;
  static inline std::function<void()> during_deregister;
  HRESULT STDMETHODCALLTYPE CancelOverlappedRequests() override { return ND_SUCCESS; }
  HRESULT STDMETHODCALLTYPE GetOverlappedResult(OVERLAPPED*, BOOL) override { return ND_SUCCESS; }
  HRESULT STDMETHODCALLTYPE Register(const VOID*, SIZE_T, ULONG, OVERLAPPED*) override { return ND_SUCCESS; }
  HRESULT STDMETHODCALLTYPE Deregister(OVERLAPPED* overlapped) override {
    if (!during_deregister) return ND_SUCCESS;
    overlapped->Internal = ND_SUCCESS;
    std::exchange(during_deregister, nullptr)();
    return ND_PENDING;
  }
  UINT32 STDMETHODCALLTYPE GetLocalToken() override { return 5; }
  UINT32 STDMETHODCALLTYPE GetRemoteToken() override { return 6; }
};

struct StubAdapter final : Stub<IND2Adapter> {
  using Stub::Stub;
  HRESULT STDMETHODCALLTYPE CreateOverlappedFile(HANDLE* file) override { return *file = this, ND_SUCCESS; }
  HRESULT STDMETHODCALLTYPE Query(ND2_ADAPTER_INFO*, ULONG*) override { return ND_UNSUCCESSFUL; }
  HRESULT STDMETHODCALLTYPE QueryAddressList(SOCKET_ADDRESS_LIST*, ULONG*) override { return ND_NOT_SUPPORTED; }
  HRESULT STDMETHODCALLTYPE CreateCompletionQueue(REFIID, HANDLE, ULONG, USHORT, KAFFINITY, VOID**) override { return ND_NO_MEMORY; }
  HRESULT STDMETHODCALLTYPE CreateMemoryRegion(REFIID, HANDLE, VOID** out) override {
    *out = new StubRegion(living);
    return ND_SUCCESS;
  }
  HRESULT STDMETHODCALLTYPE CreateMemoryWindow(REFIID, VOID**) override { return ND_NO_MEMORY; }
  HRESULT STDMETHODCALLTYPE CreateSharedReceiveQueue(REFIID, HANDLE, ULONG, ULONG, ULONG, USHORT, KAFFINITY, VOID**) override {
    return ND_NOT_SUPPORTED;
  }
  HRESULT STDMETHODCALLTYPE CreateQueuePair(REFIID, IUnknown*, IUnknown*, VOID*, ULONG, ULONG, ULONG, ULONG, ULONG, VOID**) override {
    return ND_NO_MEMORY;
  }
  HRESULT STDMETHODCALLTYPE CreateQueuePairWithSrq(REFIID, IUnknown*, IUnknown*, IUnknown*, VOID*, ULONG, ULONG, ULONG, VOID**) override {
    return ND_NOT_SUPPORTED;
  }
  HRESULT STDMETHODCALLTYPE CreateConnector(REFIID, HANDLE, VOID**) override { return ND_NO_MEMORY; }
  HRESULT STDMETHODCALLTYPE CreateListener(REFIID, HANDLE, VOID**) override { return ND_NO_MEMORY; }
};

struct StubProvider final : Stub<IND2Provider> {
  using Stub::Stub;
  HRESULT STDMETHODCALLTYPE QueryAddressList(SOCKET_ADDRESS_LIST*, ULONG*) override { return ND_NOT_SUPPORTED; }
  HRESULT STDMETHODCALLTYPE ResolveAddress(const struct sockaddr*, ULONG, UINT64*) override { return ND_INVALID_ADDRESS; }
  HRESULT STDMETHODCALLTYPE OpenAdapter(REFIID, UINT64 id, VOID** out) override {
    if (id != 1) return ND_INVALID_PARAMETER;
    *out = new StubAdapter(living);
    return ND_SUCCESS;
  }
};

class AnyProvider : public testing::Test {
 protected:
  AnyProvider() {
    auto* const inner = new StubProvider(living);
    EXPECT_EQ(verifier->wrap_provider(*inner, IID_IND2Provider, provider.out()), ND_SUCCESS);
    inner->Release();
    EXPECT_EQ(provider->OpenAdapter(IID_IND2Adapter, 1, adapter.out()), ND_SUCCESS);
    EXPECT_EQ(adapter->CreateOverlappedFile(&file), ND_SUCCESS);
  }
  Ref<IND2MemoryRegion> region() {
    Ref<IND2MemoryRegion> made;
    EXPECT_EQ(adapter->CreateMemoryRegion(IID_IND2MemoryRegion, file, made.out()), ND_SUCCESS);
    return made;
  }
  std::atomic<int> living{0};
  Findings findings;
  std::unique_ptr<Verifier> verifier = std::make_unique<Verifier>(VerifierOptions{.without = {}, .repeats = 100000}, findings);
  Ref<IND2Provider> provider;
  Ref<IND2Adapter> adapter;
  HANDLE file = nullptr;
  std::uint8_t memory[64] = {};
};

TEST_F(AnyProvider, ACallThatSucceededHasNoResult) {
  auto made = region();
  networkdirect::Request request;
  ASSERT_EQ(made->Register(memory, sizeof memory, 0, &request), ND_SUCCESS);
  EXPECT_EQ(made->GetLocalToken(), 5u);
  EXPECT_TRUE(findings.all.empty());
  made->GetOverlappedResult(&request, FALSE);
  ASSERT_EQ(findings.all.size(), 1u);
  EXPECT_EQ(findings.all[0].rule->name, "result_of_inline_success");
  EXPECT_EQ(made->Deregister(&request), ND_SUCCESS);
}

TEST_F(AnyProvider, ItsOwnStatusesComeBackAndItsObjectsGo) {
  void* out = this;
  EXPECT_EQ(provider->OpenAdapter(IID_IND2Adapter, 2, &out), ND_INVALID_PARAMETER);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(adapter->CreateMemoryWindow(IID_IND2MemoryWindow, &out), ND_NO_MEMORY);
  // An extension that this provider does not have.
  EXPECT_EQ(adapter->CreateMemoryRegion(IID_IFabricbenchMemoryRegion, file, &out), E_NOINTERFACE);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(living, 2);
  region().leave();
  EXPECT_EQ(living, 3);
  adapter.reset();
  provider.reset();
  EXPECT_EQ(living, 1);
  EXPECT_EQ(verifier->finish().size(), 1u);
  verifier.reset();
  EXPECT_EQ(living, 0);
}

/// The completion reaches another thread, which goes on with the region, before the call has returned.
TEST_F(AnyProvider, ACompletionOvertakesItsCall) {
  auto made = region();
  networkdirect::Request first, second, third;
  ASSERT_EQ(made->Register(memory, sizeof memory, 0, &first), ND_SUCCESS);
  StubRegion::during_deregister = [&] {
    EXPECT_EQ(made->GetOverlappedResult(&second, FALSE), ND_SUCCESS);
    EXPECT_EQ(made->Register(memory, sizeof memory, 0, &third), ND_SUCCESS);
  };
  EXPECT_EQ(made->Deregister(&second), ND_PENDING);
  EXPECT_EQ(made->GetLocalToken(), 5u);
  EXPECT_EQ(made->Deregister(&first), ND_SUCCESS);
  EXPECT_TRUE(findings.all.empty());
}

TEST_F(AnyProvider, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::uint8_t mine[64];
      for (int i = 0; i < 500; ++i) {
        auto made = region();
        networkdirect::Request request;
        EXPECT_EQ(made->Register(mine, sizeof mine, 0, &request), ND_SUCCESS);
        EXPECT_EQ(made->Deregister(&request), ND_SUCCESS);
        made->GetLocalToken();  // too late: one finding each
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(findings.all.size(), 2000u);
  EXPECT_EQ(living, 2);
  std::set<std::uint64_t> calls;
  for (const Finding& finding : findings.all) calls.insert(finding.call);
  EXPECT_EQ(calls.size(), 2000u);
}

}  // namespace
}  // namespace fb::networkdirect::verifier
