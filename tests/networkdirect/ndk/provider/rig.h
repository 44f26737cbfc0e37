// Two providers over two soft devices on a simulated link, and consumers that write NDK by hand, whatever way the
// provider answers.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "networkdirect/ndk/kernel/extension.h"
#include "networkdirect/ndk/provider/fault_points.h"
#include "networkdirect/ndk/provider/provider.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::ndk::testing {

/// One answer to one call: at once, or by a callback.
struct Answer {
  NTSTATUS inline_status = STATUS_PENDING;
  NTSTATUS status = STATUS_PENDING;
  int calls = 0;
  KIRQL irql = PASSIVE_LEVEL;
  NDK_OBJECT_HEADER* object = nullptr;
  Kernel* kernel = nullptr;
  std::function<void()> then;

  bool done() const { return inline_status != STATUS_PENDING || calls > 0; }
  NTSTATUS end() const { return inline_status != STATUS_PENDING ? inline_status : status; }

  static VOID on_request(PVOID context, NTSTATUS status) { static_cast<Answer*>(context)->called(status, nullptr); }
  static VOID on_create(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER* object) {
    static_cast<Answer*>(context)->called(status, object);
  }
  static VOID on_close(PVOID context) { static_cast<Answer*>(context)->called(STATUS_SUCCESS, nullptr); }
  void called(NTSTATUS s, NDK_OBJECT_HEADER* o) {
    ++calls;
    status = s;
    object = o;
    if (kernel != nullptr) irql = kernel->irql();
    if (then) then();
  }
};

inline ProviderOptions options_of(Answers answers) {
  ProviderOptions options;
  options.answers = answers;
  return options;
}

struct Departs final : ProviderHooks {
  bool departs(std::string_view point) override { return points.contains(std::string(point)); }
  std::set<std::string> points;
};

struct Address {
  SOCKADDR_STORAGE storage = {};
  ULONG length = sizeof(SOCKADDR_STORAGE);
  Address() = default;
  Address(const IpAddress& address, std::uint16_t port) {
    SOCKADDR_IN v4 = {};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, &address.bytes()[12], 4);
    std::memcpy(&storage, &v4, length = sizeof v4);
  }
  PSOCKADDR get() { return reinterpret_cast<PSOCKADDR>(&storage); }
  std::uint16_t port() const {
    SOCKADDR_IN v4;
    std::memcpy(&v4, &storage, sizeof v4);
    return ntohs(v4.sin_port);
  }
};

inline const IpAddress kAddressA = IpAddress::v4(10, 0, 0, 1);
inline const IpAddress kAddressB = IpAddress::v4(10, 0, 0, 2);
inline constexpr std::uint16_t kPort = 4420;

/// A side: a device, a provider, an open adapter, and whatever a test makes on it.
class Side {
 public:
  Side(World& w, net::SimHost& host, const std::string& name, ProviderOptions options) : world(w) {
    softroce::SoftRoceOptions device_options;
    device_options.name = name;
    device_options.address = host.address();
    device = std::move(softroce::make_softroce(w, host, device_options)).value();
    options.name = name;
    provider = std::make_unique<Provider>(w, kernel, *device, options);
  }
  ~Side() {
    if (adapter == nullptr || left) return;
    EXPECT_TRUE(provider->close(adapter).empty());
  }
  void open(NDK_VERSION version = {2, 1}) { ASSERT_EQ(provider->open(version, &adapter), NDIS_STATUS_SUCCESS); }

  Answer& answer() {
    Answer& made = answers.emplace_back();
    made.kernel = &kernel;
    return made;
  }
  void wait(const Answer& a) {
    world.run_until([&] { return a.done(); }, Duration::s(300));
    EXPECT_TRUE(a.done());
  }
  /// A call with a request completion, until its end.
  template <class Call>
  NTSTATUS request(Call&& call) {
    Answer& a = answer();
    a.inline_status = call(&Answer::on_request, static_cast<PVOID>(&a));
    wait(a);
    return a.end();
  }
  /// The same, left alone.
  template <class Call>
  Answer& begin(Call&& call) {
    Answer& a = answer();
    a.inline_status = call(&Answer::on_request, static_cast<PVOID>(&a));
    return a;
  }
  template <class T, class Call>
  T* create(Call&& call, NTSTATUS expected = STATUS_SUCCESS) {
    Answer& a = answer();
    T* place = nullptr;
    a.inline_status = call(&Answer::on_create, static_cast<PVOID>(&a), &place);
    EXPECT_TRUE(a.inline_status == STATUS_SUCCESS || place == nullptr);
    wait(a);
    EXPECT_EQ(a.end(), expected);
    if (a.end() != STATUS_SUCCESS) return nullptr;
    return a.inline_status == STATUS_SUCCESS ? place : reinterpret_cast<T*>(a.object);
  }
  Answer& begin_close(NDK_FN_CLOSE_OBJECT function, NDK_OBJECT_HEADER& header) {
    Answer& a = answer();
    a.inline_status = function(&header, &Answer::on_close, &a);
    EXPECT_TRUE(a.inline_status == STATUS_SUCCESS || a.inline_status == STATUS_PENDING);
    return a;
  }
  Answer& begin_close(NDK_PD* o) { return begin_close(o->Dispatch->NdkClosePd, o->Header); }
  Answer& begin_close(NDK_CQ* o) { return begin_close(o->Dispatch->NdkCloseCq, o->Header); }
  Answer& begin_close(NDK_MR* o) { return begin_close(o->Dispatch->NdkCloseMr, o->Header); }
  Answer& begin_close(NDK_MW* o) { return begin_close(o->Dispatch->NdkCloseMw, o->Header); }
  Answer& begin_close(NDK_SRQ* o) { return begin_close(o->Dispatch->NdkCloseSrq, o->Header); }
  Answer& begin_close(NDK_QP* o) { return begin_close(o->Dispatch->NdkCloseQp, o->Header); }
  Answer& begin_close(NDK_CONNECTOR* o) { return begin_close(o->Dispatch->NdkCloseConnector, o->Header); }
  Answer& begin_close(NDK_LISTENER* o) { return begin_close(o->Dispatch->NdkCloseListener, o->Header); }
  Answer& begin_close(NDK_SHARED_ENDPOINT* o) { return begin_close(o->Dispatch->NdkCloseSharedEndpoint, o->Header); }
  template <class T>
  void close(T* object) {
    Answer& a = begin_close(object);
    wait(a);
  }

  // ---- makers

  NDK_PD* make_pd() {
    return create<NDK_PD>([&](auto c, PVOID x, NDK_PD** p) { return adapter->Dispatch->NdkCreatePd(adapter, c, x, p); });
  }
  NDK_CQ* make_cq(ULONG depth, NTSTATUS expected = STATUS_SUCCESS) {
    return create<NDK_CQ>(
        [&](auto c, PVOID x, NDK_CQ** p) {
          return adapter->Dispatch->NdkCreateCq(adapter, depth, &Side::on_notify, this, nullptr, c, x, p);
        },
        expected);
  }
  NDK_MR* make_mr(bool fast = false) {
    return create<NDK_MR>([&](auto c, PVOID x, NDK_MR** p) { return pd->Dispatch->NdkCreateMr(pd, fast ? 1 : 0, c, x, p); });
  }
  NDK_MW* make_mw() {
    return create<NDK_MW>([&](auto c, PVOID x, NDK_MW** p) { return pd->Dispatch->NdkCreateMw(pd, c, x, p); });
  }
  NDK_SRQ* make_srq(ULONG depth, ULONG threshold) {
    return create<NDK_SRQ>([&](auto c, PVOID x, NDK_SRQ** p) {
      return pd->Dispatch->NdkCreateSrq(pd, depth, 4, threshold, &Side::on_srq, this, nullptr, c, x, p);
    });
  }
  NDK_QP* make_qp(ULONG depth = 32) {
    return create<NDK_QP>([&](auto c, PVOID x, NDK_QP** p) {
      if (srq != nullptr) return pd->Dispatch->NdkCreateQpWithSrq(pd, cq, cq, srq, this, depth, 4, 64, c, x, p);
      return pd->Dispatch->NdkCreateQp(pd, cq, cq, this, depth, depth, 4, 4, 64, c, x, p);
    });
  }
  NDK_CONNECTOR* make_connector() {
    return create<NDK_CONNECTOR>(
        [&](auto c, PVOID x, NDK_CONNECTOR** p) { return adapter->Dispatch->NdkCreateConnector(adapter, c, x, p); });
  }
  NDK_LISTENER* make_listener() {
    return create<NDK_LISTENER>(
        [&](auto c, PVOID x, NDK_LISTENER** p) { return adapter->Dispatch->NdkCreateListener(adapter, &Side::on_connect, this, c, x, p); });
  }
  NDK_SHARED_ENDPOINT* make_endpoint(std::uint16_t port, NTSTATUS expected = STATUS_SUCCESS) {
    Address at(device->address(), port);
    return create<NDK_SHARED_ENDPOINT>(
        [&](auto c, PVOID x, NDK_SHARED_ENDPOINT** p) {
          return adapter->Dispatch->NdkCreateSharedEndpoint(adapter, at.get(), at.length, c, x, p);
        },
        expected);
  }
  NTSTATUS listen(std::uint16_t port) {
    Address at(device->address(), port);
    return request([&](auto c, PVOID x) { return listener->Dispatch->NdkListen(listener, at.get(), at.length, c, x); });
  }
  /// A region over `memory` at its own addresses.
  NTSTATUS register_mr(NDK_MR* region, MutableBytes bytes, ULONG flags) {
    MDL mdl;
    MmInitializeMdl(&mdl, bytes.data(), bytes.size());
    return request([&](auto c, PVOID x) { return region->Dispatch->NdkRegisterMr(region, &mdl, bytes.size(), flags, c, x); });
  }
  static constexpr ULONG kAllRights = NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE;
  /// The usual: a domain, a queue, a region over all of memory, a queue pair.
  void make_usual(ULONG cq_depth = 128) {
    pd = make_pd();
    cq = make_cq(cq_depth);
    mr = make_mr();
    ASSERT_EQ(register_mr(mr, memory, kAllRights), STATUS_SUCCESS);
    local = mr->Dispatch->NdkGetLocalTokenFromMr(mr);
    remote = mr->Dispatch->NdkGetRemoteTokenFromMr(mr);
    qp = make_qp();
  }
  void close_usual() {
    if (connector != nullptr) close(std::exchange(connector, nullptr));
    if (listener != nullptr) close(std::exchange(listener, nullptr));
    if (qp != nullptr) close(std::exchange(qp, nullptr));
    if (srq != nullptr) close(std::exchange(srq, nullptr));
    if (mr != nullptr) close(std::exchange(mr, nullptr));
    if (cq != nullptr) close(std::exchange(cq, nullptr));
    if (pd != nullptr) close(std::exchange(pd, nullptr));
  }

  /// The same without waiting, all but the queue.
  void close_usual_inside() {
    begin_close(std::exchange(connector, nullptr));
    if (listener != nullptr) begin_close(std::exchange(listener, nullptr));
    begin_close(std::exchange(qp, nullptr));
    begin_close(std::exchange(mr, nullptr));
    begin_close(std::exchange(pd, nullptr));
  }

  // ---- requests

  NDK_SGE sge(std::size_t offset, ULONG length) {
    NDK_SGE made = {};
    made.VirtualAddress = memory.data() + offset;
    made.Length = length;
    made.MemoryRegionToken = local;
    return made;
  }
  static PVOID word(std::uintptr_t number) { return reinterpret_cast<PVOID>(number); }
  NTSTATUS receive(std::uintptr_t id, std::size_t offset, ULONG length) {
    const NDK_SGE one = sge(offset, length);
    if (srq != nullptr) return srq->Dispatch->NdkSrqReceive(srq, word(id), &one, 1);
    return qp->Dispatch->NdkReceive(qp, word(id), &one, 1);
  }
  NTSTATUS send(std::uintptr_t id, std::size_t offset, ULONG length, ULONG flags = 0) {
    const NDK_SGE one = sge(offset, length);
    return qp->Dispatch->NdkSend(qp, word(id), &one, 1, flags);
  }
  NTSTATUS write(std::uintptr_t id, std::size_t offset, ULONG length, std::uint64_t to, UINT32 token, ULONG flags = 0) {
    const NDK_SGE one = sge(offset, length);
    return qp->Dispatch->NdkWrite(qp, word(id), &one, 1, to, token, flags);
  }
  NTSTATUS read(std::uintptr_t id, std::size_t offset, ULONG length, std::uint64_t from, UINT32 token, ULONG flags = 0) {
    const NDK_SGE one = sge(offset, length);
    return qp->Dispatch->NdkRead(qp, word(id), &one, 1, from, token, flags);
  }
  std::uint64_t at(std::size_t offset) const { return reinterpret_cast<std::uintptr_t>(memory.data() + offset); }
  /// Everything that has completed.
  std::vector<NDK_RESULT_EX> results() {
    std::vector<NDK_RESULT_EX> all;
    NDK_RESULT_EX some[5];
    for (ULONG n = cq->Dispatch->NdkGetCqResultsEx(cq, some, 5); n > 0; n = cq->Dispatch->NdkGetCqResultsEx(cq, some, 5)) {
      all.insert(all.end(), some, some + n);
    }
    return all;
  }

  static VOID on_notify(PVOID context, NTSTATUS status) {
    auto* self = static_cast<Side*>(context);
    ++self->notified;
    self->notify_status = status;
    self->notify_irql = self->kernel.irql();
    if (self->then_notified) self->then_notified();
  }
  static VOID on_srq(PVOID context, NTSTATUS) { ++static_cast<Side*>(context)->srq_notified; }
  static VOID on_connect(PVOID context, NDK_CONNECTOR* connector) {
    auto* self = static_cast<Side*>(context);
    ++self->asked;
    self->connect_irql = self->kernel.irql();
    if (self->then_asked) return self->then_asked(connector);
    self->connector = connector;
  }
  static VOID on_disconnect(PVOID context) { ++static_cast<Side*>(context)->disconnected; }
  static VOID on_disconnect_ex(PVOID context, ULONG reason) {
    ++static_cast<Side*>(context)->disconnected;
    static_cast<Side*>(context)->reason = reason;
  }

  World& world;
  Kernel kernel;
  std::unique_ptr<softroce::SoftRoceDevice> device;
  std::unique_ptr<Provider> provider;
  NDK_ADAPTER* adapter = nullptr;
  bool left = false;
  std::deque<Answer> answers;
  Bytes memory = Bytes(1 << 16);
  NDK_PD* pd = nullptr;
  NDK_CQ* cq = nullptr;
  NDK_MR* mr = nullptr;
  NDK_SRQ* srq = nullptr;
  NDK_QP* qp = nullptr;
  NDK_CONNECTOR* connector = nullptr;
  NDK_LISTENER* listener = nullptr;
  UINT32 local = 0, remote = 0;
  int notified = 0, srq_notified = 0, asked = 0, disconnected = 0;
  ULONG reason = 0;
  NTSTATUS notify_status = STATUS_PENDING;
  KIRQL notify_irql = PASSIVE_LEVEL, connect_irql = PASSIVE_LEVEL;
  std::function<void()> then_notified;
  std::function<void(NDK_CONNECTOR*)> then_asked;
};

struct Rig {
  explicit Rig(const ProviderOptions& options = {}, NDK_VERSION version = {2, 1})
      : world(World::make_virtual(1)),
        network(*world, {}),
        a(*world, network.add_host("a", kAddressA), "a", options),
        b(*world, network.add_host("b", kAddressB), "b", options) {
    a.open(version);
    b.open(version);
  }
  void settle() { world->run_until_idle(Duration::s(600)); }
  Answer& begin_connect(std::uint16_t port = kPort, std::uint16_t source = 0, ByteView data = {}) {
    if (a.connector == nullptr) a.connector = a.make_connector();
    Address from(kAddressA, source);
    Address to(kAddressB, port);
    return a.begin([&](auto c, PVOID x) {
      return a.connector->Dispatch->NdkConnect(a.connector, a.qp, from.get(), from.length, to.get(), to.length, 4, 8,
                                               const_cast<std::uint8_t*>(data.data()), static_cast<ULONG>(data.size()), c, x);
    });
  }
  Answer& begin_accept(ULONG inbound = 16, ULONG outbound = 16, ByteView data = {}) {
    return b.begin([&](auto c, PVOID x) {
      return b.connector->Dispatch->NdkAcceptEx(b.connector, b.qp, inbound, outbound, const_cast<std::uint8_t*>(data.data()),
                                                static_cast<ULONG>(data.size()), &Side::on_disconnect_ex, &b, c, x);
    });
  }
  Answer& begin_complete() {
    return a.begin([&](auto c, PVOID x) { return a.connector->Dispatch->NdkCompleteConnect(a.connector, &Side::on_disconnect, &a, c, x); });
  }
  void listen() {
    b.listener = b.make_listener();
    ASSERT_EQ(b.listen(kPort), STATUS_SUCCESS);
  }
  /// Until b has been asked.
  Answer& ask(ByteView data = {}) {
    Answer& connecting = begin_connect(kPort, 0, data);
    const int before = b.asked;
    world->run_until([&] { return b.asked > before; }, Duration::s(5));
    return connecting;
  }
  void connect() {
    listen();
    Answer& connecting = ask();
    ASSERT_NE(b.connector, nullptr);
    Answer& accepting = begin_accept();
    ASSERT_EQ(accepting.inline_status, STATUS_PENDING);
    a.wait(connecting);
    ASSERT_EQ(connecting.end(), STATUS_SUCCESS);
    Answer& completing = begin_complete();
    a.wait(completing);
    b.wait(accepting);
    ASSERT_EQ(completing.end(), STATUS_SUCCESS);
    ASSERT_EQ(accepting.end(), STATUS_SUCCESS);
  }
  void make_and_connect() {
    a.make_usual();
    b.make_usual();
    connect();
  }
  void close() {
    a.close_usual();
    b.close_usual();
    settle();
    EXPECT_EQ(a.provider->live_objects(), 0u);
    EXPECT_EQ(b.provider->live_objects(), 0u);
  }

  std::unique_ptr<World> world;
  net::SimNetwork network;
  Side a, b;
};

}  // namespace fb::ndk::testing
