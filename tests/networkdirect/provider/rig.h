// Two adapters of our own provider on a simulated link, in virtual time, and what a consumer keeps beside each object.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <ndspi.h>

#include "sim/net/network.h"
#include "networkdirect/provider/provider.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::networkdirect {

/// Departs at the points that it was given.
struct Hooks final : ProviderHooks {
  std::set<std::string, std::less<>> points;
  bool departs(std::string_view point) override { return points.contains(point); }
};

/// A reference of COM.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    reset();
    object_ = std::exchange(other.object_, nullptr);
    return *this;
  }
  ~Ref() { reset(); }
  T* operator->() const { return object_; }
  T* get() const { return object_; }
  void** out() {
    reset();
    return reinterpret_cast<void**>(&object_);
  }
  ULONG reset() { return object_ == nullptr ? 0 : std::exchange(object_, nullptr)->Release(); }
  T* leave() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

struct Address {
  explicit Address(const IpAddress& ip, std::uint16_t port = 0) {
    if (ip.is_v4()) {
      v4.sin_family = AF_INET;
      v4.sin_port = htons(port);
      std::memcpy(&v4.sin_addr, &ip.bytes()[12], 4);
      length = sizeof v4;
    } else {
      v6.sin6_family = AF_INET6;
      v6.sin6_port = htons(port);
      std::memcpy(&v6.sin6_addr, ip.bytes().data(), 16);
      length = sizeof v6;
    }
  }
  const struct sockaddr* get() const { return reinterpret_cast<const struct sockaddr*>(this); }
  union {
    sockaddr_in v4;
    sockaddr_in6 v6 = {};
  };
  ULONG length = 0;
};

/// An OVERLAPPED with an event, or with none.
struct Request : OVERLAPPED {
  Request() : OVERLAPPED{} {}
  HRESULT status() const { return static_cast<HRESULT>(Internal); }
};

/// One side: a device, a provider, an open adapter.
struct Side {
  Side(World& w, net::SimHost& host, const std::string& name) : world(w) {
    softroce::SoftRoceOptions options;
    options.name = name;
    options.address = host.address();
    options.limits.max_fast_register_bytes = 1u << 30;
    device = std::move(softroce::make_softroce(w, host, options)).value();
    std::vector<std::shared_ptr<Place>> places = {make_inline_place(w, *device, &hooks)};
    EXPECT_EQ(make_provider(make_fixed_fabric(std::move(places)), IID_IND2Provider, provider.out()), ND_SUCCESS);
    UINT64 id = 0;
    EXPECT_EQ(provider->ResolveAddress(Address(ip()).get(), Address(ip()).length, &id), ND_SUCCESS);
    EXPECT_EQ(provider->OpenAdapter(IID_IND2Adapter, id, adapter.out()), ND_SUCCESS);
    EXPECT_EQ(adapter->CreateOverlappedFile(&file), ND_SUCCESS);
    port = CreateIoCompletionPort(file, nullptr, 7, 0);
  }
  ~Side() {
    CloseHandle(file);
    CloseHandle(port);
  }
  IpAddress ip() const { return device->address(); }

  Ref<IND2CompletionQueue> completion_queue(ULONG depth = 64) {
    Ref<IND2CompletionQueue> made;
    EXPECT_EQ(adapter->CreateCompletionQueue(IID_IND2CompletionQueue, file, depth, 0, 0, made.out()), ND_SUCCESS);
    return made;
  }
  Ref<IND2MemoryRegion> region(void* memory, std::size_t bytes, ULONG flags) {
    Ref<IND2MemoryRegion> made;
    EXPECT_EQ(adapter->CreateMemoryRegion(IID_IND2MemoryRegion, file, made.out()), ND_SUCCESS);
    Request request;
    EXPECT_EQ(made->Register(memory, bytes, flags, &request), ND_PENDING);
    EXPECT_EQ(made->GetOverlappedResult(&request, TRUE), ND_SUCCESS);
    drain_port();
    return made;
  }
  Ref<IND2QueuePair> queue_pair(IND2CompletionQueue& queue, void* context = nullptr, ULONG depth = 16, ULONG sges = 4,
                                ULONG inline_bytes = 64) {
    Ref<IND2QueuePair> made;
    EXPECT_EQ(adapter->CreateQueuePair(IID_IND2QueuePair, &queue, &queue, context, depth, depth, sges, sges, inline_bytes, made.out()),
              ND_SUCCESS);
    return made;
  }
  Ref<IND2Connector> connector() {
    Ref<IND2Connector> made;
    EXPECT_EQ(adapter->CreateConnector(IID_IND2Connector, file, made.out()), ND_SUCCESS);
    return made;
  }
  Ref<IND2Listener> listener(std::uint16_t listen_port, ULONG backlog = 0) {
    Ref<IND2Listener> made;
    EXPECT_EQ(adapter->CreateListener(IID_IND2Listener, file, made.out()), ND_SUCCESS);
    const Address at(ip(), listen_port);
    EXPECT_EQ(made->Bind(at.get(), at.length), ND_SUCCESS);
    EXPECT_EQ(made->Listen(backlog), ND_SUCCESS);
    return made;
  }

  struct Packet {
    bool good = false;
    OVERLAPPED* overlapped = nullptr;
  };
  std::vector<Packet> drain_port() {
    std::vector<Packet> found;
    for (;;) {
      DWORD bytes = 0;
      ULONG_PTR key = 0;
      OVERLAPPED* overlapped = nullptr;
      const BOOL good = GetQueuedCompletionStatus(port, &bytes, &key, &overlapped, 0);
      if (overlapped == nullptr) return found;
      EXPECT_EQ(key, 7u);
      found.push_back({good != FALSE, overlapped});
    }
  }
  std::vector<ND2_RESULT> results(IND2CompletionQueue& queue) {
    std::vector<ND2_RESULT> all(64);
    all.resize(queue.GetResults(all.data(), static_cast<ULONG>(all.size())));
    return all;
  }

  World& world;
  Hooks hooks;
  std::unique_ptr<softroce::SoftRoceDevice> device;
  Ref<IND2Provider> provider;
  Ref<IND2Adapter> adapter;
  HANDLE file = nullptr, port = nullptr;
};

struct Rig {
  explicit Rig(std::uint64_t seed = 1, net::LinkOptions link = {})
      : world(World::make_virtual(seed)),
        network(*world, link),
        host_a(network.add_host("a", IpAddress::v4(10, 0, 0, 1))),
        host_b(network.add_host("b", IpAddress::v4(10, 0, 0, 2))),
        a(*world, host_a, "a"),
        b(*world, host_b, "b") {}
  /// Until the request has ended, at most an hour; its status.
  HRESULT finish(Request& request) {
    world->run_until([&] { return request.status() != ND_PENDING; }, Duration::s(3600));
    return request.status();
  }
  void settle(Duration span = Duration::ms(10)) { world->run_for(span); }

  std::unique_ptr<World> world;
  net::SimNetwork network;
  net::SimHost& host_a;
  net::SimHost& host_b;
  Side a, b;
};

/// A connection between the two sides, a active, with a queue pair, a queue and a region on each.
struct Connection {
  static constexpr std::uint16_t kPort = 7000;
  struct End {
    std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(1 << 16);
    Ref<IND2CompletionQueue> queue;
    Ref<IND2MemoryRegion> region;
    Ref<IND2QueuePair> qp;
    Ref<IND2Connector> connector;
    ND2_SGE sge(std::size_t offset, ULONG length) { return {memory.data() + offset, length, region->GetLocalToken()}; }
  };
  static constexpr ULONG kAll = ND_MR_FLAG_ALLOW_REMOTE_READ | ND_MR_FLAG_ALLOW_REMOTE_WRITE | ND_MR_FLAG_RDMA_READ_SINK;

  explicit Connection(Rig& r, ULONG queue_depth = 64) : rig(r) {
    for (auto [end, side] : {std::pair{&a, &r.a}, std::pair{&b, &r.b}}) {
      end->queue = side->completion_queue(queue_depth);
      end->region = side->region(end->memory.data(), end->memory.size(), kAll);
      end->qp = side->queue_pair(*end->queue.get(), end);
      end->connector = side->connector();
    }
    listener = r.b.listener(kPort);
  }
  /// Up to the passive side's request; the active side's Connect is pending.
  void ask(Request& connect, const std::string& data = "", ULONG reads = 8) {
    const Address from(rig.a.ip());
    EXPECT_EQ(a.connector->Bind(from.get(), from.length), ND_SUCCESS);
    const Address to(rig.b.ip(), kPort);
    EXPECT_EQ(a.connector->Connect(a.qp.get(), to.get(), to.length, reads, reads, data.data(), static_cast<ULONG>(data.size()), &connect),
              ND_PENDING);
    Request request;
    EXPECT_EQ(listener->GetConnectionRequest(b.connector.get(), &request), ND_PENDING);
    EXPECT_EQ(rig.finish(request), ND_SUCCESS);
  }
  void connect() {
    Request connecting, accept, complete;
    ask(connecting);
    EXPECT_EQ(b.connector->Accept(b.qp.get(), 8, 8, nullptr, 0, &accept), ND_PENDING);
    EXPECT_EQ(rig.finish(connecting), ND_SUCCESS);
    EXPECT_EQ(a.connector->CompleteConnect(&complete), ND_PENDING);
    EXPECT_EQ(rig.finish(complete), ND_SUCCESS);
    EXPECT_EQ(rig.finish(accept), ND_SUCCESS);
    rig.a.drain_port();
    rig.b.drain_port();
  }

  Rig& rig;
  End a, b;
  Ref<IND2Listener> listener;
};

}  // namespace fb::networkdirect
