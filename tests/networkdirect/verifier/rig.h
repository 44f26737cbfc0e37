// Consumers over our own provider, watched: the sides of the provider's rig with everything wrapped.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "networkdirect/provider/extension.h"
#include "networkdirect/verifier/verifier.h"
#include "tests/networkdirect/provider/rig.h"

namespace fb::networkdirect::verifier {

struct Findings final : FindingSink {
  std::vector<Finding> all;
  void found(const Finding& finding) override { all.push_back(finding); }
};

/// An OVERLAPPED with an event of its own.
struct Waitable : networkdirect::Request {
  Waitable() { hEvent = CreateEventW(nullptr, FALSE, FALSE, nullptr); }
  ~Waitable() { CloseHandle(hEvent); }
};

/// One end of a connection, as an honest consumer keeps it.
struct End {
  explicit End(Side& s) : side(s) {}
  Side& side;
  std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(1 << 16);
  Ref<IND2CompletionQueue> queue;
  Ref<IND2MemoryRegion> region;
  Ref<IND2QueuePair> qp;
  Ref<IND2Connector> connector;
  Waitable disconnected;
  ND2_SGE sge(std::size_t offset, ULONG length) { return {memory.data() + offset, length, region->GetLocalToken()}; }
};

class Watched : public testing::Test {
 protected:
  static constexpr std::uint16_t kPort = 7000;
  static constexpr ULONG kAll = ND_MR_FLAG_ALLOW_REMOTE_READ | ND_MR_FLAG_ALLOW_REMOTE_WRITE | ND_MR_FLAG_RDMA_READ_SINK;

  // Most tests post Receives where they need them.
  static VerifierOptions usual() { return {.without = {Rule::receives_late}}; }
  explicit Watched(const VerifierOptions& options = usual()) : verifier(std::make_unique<Verifier>(options, findings)) {
    for (Side* side : {&rig.a, &rig.b}) {
      Ref<IND2Provider> inner = std::move(side->provider);
      side->adapter.reset();
      CloseHandle(side->file);
      CloseHandle(side->port);
      EXPECT_EQ(verifier->wrap_provider(*inner.get(), IID_IND2Provider, side->provider.out()), ND_SUCCESS);
      side->adapter = open(*side);
      EXPECT_EQ(side->adapter->CreateOverlappedFile(&side->file), ND_SUCCESS);
      side->port = CreateIoCompletionPort(side->file, nullptr, 7, 0);
    }
  }
  ~Watched() override {
    for (End* end : {&a, &b}) release(*end);
    listener.reset();
    for (Side* side : {&rig.a, &rig.b}) {
      side->adapter.reset();
      side->provider.reset();
    }
    verifier.reset();  // lets go of what a test has left behind, while the world stands
  }
  void release(End& end) {
    end.connector.reset();
    end.qp.reset();
    end.region.reset();
    end.queue.reset();
  }
  Ref<IND2Adapter> open(Side& side) {
    UINT64 id = 0;
    Ref<IND2Adapter> adapter;
    EXPECT_EQ(side.provider->ResolveAddress(Address(side.ip()).get(), Address(side.ip()).length, &id), ND_SUCCESS);
    EXPECT_EQ(side.provider->OpenAdapter(IID_IND2Adapter, id, adapter.out()), ND_SUCCESS);
    return adapter;
  }

  /// The names of the rules of which something was found since the last time, in order, each once.
  std::vector<std::string> found() {
    std::set<Rule> rules;
    for (const Finding& finding : findings.all) rules.insert(finding.rule->rule);
    findings.all.clear();
    std::vector<std::string> names;
    for (const Rule rule : rules) names.emplace_back(entry_of(rule).name);
    return names;
  }
  std::string story() const {
    std::string text;
    for (const Finding& finding : findings.all) {
      text += std::string(finding.rule->name) + ": " + finding.object + ": " + finding.text + "\n";
    }
    return text;
  }
  using Names = std::vector<std::string>;

  /// The end of a pending request, and its result as the interface asks for it.
  template <class Object>
  HRESULT finish(Ref<Object>& object, networkdirect::Request& request) {
    rig.finish(request);
    return object->GetOverlappedResult(&request, FALSE);
  }
  Ref<IND2MemoryRegion> empty_region(Side& side) {
    Ref<IND2MemoryRegion> made;
    EXPECT_EQ(side.adapter->CreateMemoryRegion(IID_IND2MemoryRegion, side.file, made.out()), ND_SUCCESS);
    return made;
  }
  Ref<IND2MemoryRegion> region(Side& side, void* memory, std::size_t bytes, ULONG flags = kAll) {
    auto made = empty_region(side);
    networkdirect::Request request;
    EXPECT_EQ(made->Register(memory, bytes, flags, &request), ND_PENDING);
    EXPECT_EQ(finish(made, request), ND_SUCCESS);
    return made;
  }
  void deregister(Ref<IND2MemoryRegion>& region) {
    networkdirect::Request request;
    EXPECT_EQ(region->Deregister(&request), ND_PENDING);
    EXPECT_EQ(finish(region, request), ND_SUCCESS);
  }
  Ref<IND2MemoryWindow> window(Side& side) {
    Ref<IND2MemoryWindow> made;
    EXPECT_EQ(side.adapter->CreateMemoryWindow(IID_IND2MemoryWindow, made.out()), ND_SUCCESS);
    return made;
  }
  void make(End& end) {
    end.queue = end.side.completion_queue(64);
    end.region = region(end.side, end.memory.data(), end.memory.size());
    end.qp = end.side.queue_pair(*end.queue.get(), &end);
    end.connector = end.side.connector();
  }
  void make_ends() {
    make(a);
    make(b);
    listener = rig.b.listener(kPort);
  }
  HRESULT bind(Ref<IND2Connector>& connector, Side& side) {
    const Address from(side.ip());
    return connector->Bind(from.get(), from.length);
  }
  HRESULT connect(Ref<IND2Connector>& connector, IUnknown* qp, OVERLAPPED* overlapped, ULONG reads = 8, ULONG data = 0) {
    static const char bytes[256] = {};
    const Address to(rig.b.ip(), kPort);
    return connector->Connect(qp, to.get(), to.length, reads, reads, bytes, data, overlapped);
  }
  /// Up to the passive side's request; Connect is pending.
  void ask(networkdirect::Request& connecting, ULONG reads = 8) {
    EXPECT_EQ(bind(a.connector, rig.a), ND_SUCCESS);
    EXPECT_EQ(connect(a.connector, a.qp.get(), &connecting, reads), ND_PENDING);
    networkdirect::Request request;
    EXPECT_EQ(listener->GetConnectionRequest(b.connector.get(), &request), ND_PENDING);
    EXPECT_EQ(finish(listener, request), ND_SUCCESS);
  }
  void join(ULONG reads = 8) {
    networkdirect::Request connecting, accepting, completing;
    ask(connecting, reads);
    EXPECT_EQ(b.connector->Accept(b.qp.get(), 8, 8, nullptr, 0, &accepting), ND_PENDING);
    EXPECT_EQ(finish(a.connector, connecting), ND_SUCCESS);
    EXPECT_EQ(a.connector->CompleteConnect(&completing), ND_PENDING);
    EXPECT_EQ(finish(a.connector, completing), ND_SUCCESS);
    EXPECT_EQ(finish(b.connector, accepting), ND_SUCCESS);
    for (End* end : {&a, &b}) EXPECT_EQ(end->connector->NotifyDisconnect(&end->disconnected), ND_PENDING);
  }
  void part() {
    networkdirect::Request disconnecting;
    EXPECT_EQ(a.connector->Disconnect(&disconnecting), ND_PENDING);
    EXPECT_EQ(finish(a.connector, disconnecting), ND_SUCCESS);
    for (End* end : {&a, &b}) EXPECT_EQ(finish(end->connector, end->disconnected), ND_SUCCESS);
  }
  void leave() {
    for (End* end : {&a, &b}) {
      rig.a.results(*end->queue.get());
      deregister(end->region);
      release(*end);
    }
    listener.reset();
  }

  Findings findings;
  Rig rig;
  std::unique_ptr<Verifier> verifier;
  End a{rig.a}, b{rig.b};
  Ref<IND2Listener> listener;
};

}  // namespace fb::networkdirect::verifier
