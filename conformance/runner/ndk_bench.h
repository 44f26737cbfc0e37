// A consumer of NDK on the project's provider, for cases that judge the provider: two of its adapters with a device each,
// what is made on them, and connections between them. Whatever a case makes stays until the bench ends: a provider that
// comes back late must not meet something else there.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ndkpi.h>

#include "base/bytes.h"
#include "base/ip.h"
#include "conformance/runner/case_memory.h"
#include "conformance/runner/check.h"
#include "conformance/runner/environment.h"
#include "networkdirect/ndk/kernel/kernel.h"
#include "networkdirect/ndk/provider/provider.h"

namespace fb::conformance {

/// A status of the interface; in reports by its name.
struct NdkStatus {
  NTSTATUS code = STATUS_SUCCESS;
  constexpr NdkStatus() = default;
  constexpr NdkStatus(NTSTATUS c) : code(c) {}  // NOLINT: it is one
  constexpr bool failed() const { return code < 0; }
  constexpr bool operator==(const NdkStatus&) const = default;
};
std::string words(NdkStatus status);

/// A call that may pend: what the function said, and what its callback said.
struct NdkAnswer {
  NTSTATUS said = STATUS_PENDING;
  int calls = 0;
  NTSTATUS status = STATUS_PENDING;
  NDK_OBJECT_HEADER* object = nullptr;
  KIRQL irql = PASSIVE_LEVEL;
  std::function<void()> then;  ///< inside of the callback
  const ndk::Kernel* kernel = nullptr;

  virtual ~NdkAnswer() = default;
  bool done() const { return said != STATUS_PENDING || calls > 0; }
  /// STATUS_PENDING when it has not ended.
  NdkStatus end() const { return said != STATUS_PENDING ? said : status; }
  static VOID on_request(PVOID context, NTSTATUS status) { static_cast<NdkAnswer*>(context)->called(status, nullptr); }
  static VOID on_create(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER* made) { static_cast<NdkAnswer*>(context)->called(status, made); }
  static VOID on_close(PVOID context) { static_cast<NdkAnswer*>(context)->called(STATUS_SUCCESS, nullptr); }
  void called(NTSTATUS s, NDK_OBJECT_HEADER* made);
};

/// The same of a creation.
template <class T>
struct NdkCreation final : NdkAnswer {
  T* place = nullptr;  ///< what the function was given to fill
  T* made() const {
    if (end() != STATUS_SUCCESS) return nullptr;
    return said == STATUS_SUCCESS ? place : reinterpret_cast<T*>(object);
  }
};

/// An address as the interface takes it.
class NdkAddress {
 public:
  NdkAddress() = default;
  explicit NdkAddress(const IpAddress& address, std::uint16_t port = 0);
  PSOCKADDR get() { return reinterpret_cast<PSOCKADDR>(&storage_); }
  std::uint16_t port() const;
  IpAddress address() const;
  ULONG length = sizeof(SOCKADDR_STORAGE);

 private:
  SOCKADDR_STORAGE storage_ = {};
};

constexpr ULONG kNdkAllRights = NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE;

struct NdkMemory {
  explicit NdkMemory(MutableBytes pages);
  MutableBytes bytes;
  MDL mdl = {};  ///< all of it
  NDK_MR* region = nullptr;
  UINT32 local = 0, remote = 0;
  NDK_SGE sge(std::size_t offset, ULONG length) const;
  UINT64 address(std::size_t offset = 0) const { return reinterpret_cast<std::uintptr_t>(bytes.data()) + offset; }
  PVOID at(std::size_t offset) const { return bytes.data() + offset; }
};

struct NdkQueue {
  NDK_CQ* cq = nullptr;
  int notified = 0;
  NTSTATUS status = STATUS_PENDING;  ///< of the last callback
  KIRQL irql = PASSIVE_LEVEL;
  std::function<void()> then;  ///< inside of the callback
  const ndk::Kernel* kernel = nullptr;
  std::deque<NDK_RESULT_EX> results;
  void arm(ULONG type) { cq->Dispatch->NdkArmCq(cq, type); }
  /// What the queue has now goes to `results`.
  void look();
  static VOID on_notify(PVOID context, NTSTATUS status);
};

struct NdkShared {
  NDK_SRQ* srq = nullptr;
  int notified = 0;
  KIRQL irql = PASSIVE_LEVEL;
  const ndk::Kernel* kernel = nullptr;
  static VOID on_notify(PVOID context, NTSTATUS status);
};

struct NdkListening {
  NDK_LISTENER* listener = nullptr;
  std::deque<NDK_CONNECTOR*> asked;
  KIRQL irql = PASSIVE_LEVEL;
  std::function<void(NDK_CONNECTOR*)> then;  ///< instead of keeping the connector
  const ndk::Kernel* kernel = nullptr;
  static VOID on_connect(PVOID context, NDK_CONNECTOR* connector);
};

struct NdkQueueTerms {
  ULONG depth = 16;
  ULONG sges = 2;
  ULONG inline_bytes = 0;
  PVOID context = nullptr;
  NdkShared* shared = nullptr;
};

class NdkBench;

/// One adapter. What it makes for a case cannot be made: INCONCLUSIVE.
class NdkEnd {
 public:
  NdkEnd(NdkBench& bench, ndk::Provider& provider, const IpAddress& address, NDK_VERSION version);
  NdkEnd(const NdkEnd&) = delete;
  NdkEnd& operator=(const NdkEnd&) = delete;

  NDK_ADAPTER* adapter() { return adapter_; }
  ndk::Provider& provider() { return provider_; }
  const IpAddress& address() const { return address_; }
  NDK_ADAPTER_INFO info();
  /// Its protection domain, made when it is first asked for.
  NDK_PD* pd();

  NdkQueue& queue(ULONG depth = 64);
  /// A region that nothing is registered with.
  NDK_MR* region(bool fast = false);
  /// A fast one, initialized.
  NDK_MR* fast_region(ULONG pages = 8, bool remote = true);
  /// Bytes of the index (0, 1 ... 255, 0 ...), registered.
  NdkMemory& memory(std::size_t bytes = 1 << 16, ULONG flags = kNdkAllRights);
  /// The same, not registered.
  NdkMemory& plain_memory(std::size_t bytes);
  NDK_MW* window();
  NDK_QP* queue_pair(NdkQueue& queue, const NdkQueueTerms& terms = {});
  NdkShared& shared_receive_queue(ULONG depth = 16, ULONG threshold = 0);
  NDK_CONNECTOR* connector();
  NdkListening& idle_listener();
  NdkListening& listener(std::uint16_t port);
  NDK_SHARED_ENDPOINT* endpoint(std::uint16_t port);

 private:
  NdkBench& bench_;
  ndk::Provider& provider_;
  IpAddress address_;
  NDK_ADAPTER* adapter_ = nullptr;
  NDK_PD* pd_ = nullptr;
};

/// One side of a connection. Its SGEs are of its own memory.
struct NdkSide {
  NdkEnd* end = nullptr;
  NdkQueue* queue = nullptr;
  NdkMemory* memory = nullptr;
  NdkShared* shared = nullptr;
  NDK_QP* qp = nullptr;
  NDK_CONNECTOR* connector = nullptr;
  int disconnected = 0;
  KIRQL event_irql = PASSIVE_LEVEL;
  const ndk::Kernel* kernel = nullptr;
  static VOID on_disconnect(PVOID context);
  static VOID on_disconnect_ex(PVOID context, ULONG reason);

  NdkStatus receive(std::uintptr_t tag, std::size_t offset = 0, ULONG length = 256);
  NdkStatus send(std::uintptr_t tag, std::size_t offset = 0, ULONG length = 16, ULONG flags = 0);
  NdkStatus read(std::uintptr_t tag, std::size_t offset, ULONG length, UINT64 from, UINT32 token, ULONG flags = 0);
  NdkStatus write(std::uintptr_t tag, std::size_t offset, ULONG length, UINT64 to, UINT32 token, ULONG flags = 0);
};

/// A connection in the making, or made; `a` is the active side.
struct NdkConnection {
  NdkSide a, b;
  NdkListening* listening = nullptr;
  std::uint16_t port = 0;
  NdkAnswer *connecting = nullptr, *accepting = nullptr, *completing = nullptr;
};

struct NdkConnectTerms {
  NdkQueueTerms a = {}, b = {};
  ULONG queue_depth = 64;
  ULONG inbound_a = 8, outbound_a = 8, inbound_b = 8, outbound_b = 8;
  std::string request_data = {}, reply_data = {};
  std::uint16_t source_port = 0;
};

/// How the providers are made.
struct NdkTerms {
  ndk::Answers answers = ndk::Answers::natural;
  NDK_VERSION version = {2, 1};     ///< of the provider, and asked for
  bool ipv6 = false;                ///< at IPv6 addresses
  std::string_view behaviour = {};  ///< changes, for ndk::parse_behaviour()
};

class NdkBench {
 public:
  NdkBench(World& world, const Environment& environment, const NdkTerms& terms);
  ~NdkBench();

  NdkEnd& a() { return *a_; }
  NdkEnd& b() { return *b_; }
  World& world() { return world_; }
  CaseMemory& memory() { return memory_; }
  ndk::Kernel& kernel() { return kernel_; }
  std::uint16_t fresh_port() { return next_port_++; }
  const NdkTerms& terms() const { return terms_; }

  /// Lets the world work until `done`, or the limit has passed.
  template <class Done>
  bool wait_until(Done&& done, Duration limit = Duration::s(60)) {
    const Instant end = world_.now() + limit;
    while (!done()) {
      if (world_.now() >= end || world_.step_towards(end) != Loop::Step::ran) return done();
    }
    return true;
  }
  void pass(Duration time) { world_.run_for(time); }

  /// A call with a request completion.
  template <class Call>
  NdkAnswer& begin(Call&& call) {
    NdkAnswer& made = answer<NdkAnswer>();
    made.said = call(&NdkAnswer::on_request, static_cast<PVOID>(&made));
    return made;
  }
  /// Until its end; STATUS_PENDING when there is none.
  NdkStatus finish(const NdkAnswer& answer, Duration limit = Duration::s(60)) {
    wait_until([&] { return answer.done(); }, limit);
    return answer.end();
  }
  template <class Call>
  NdkStatus request(Call&& call) {
    return finish(begin(call));
  }
  /// A call with a creation completion, which is waited for.
  template <class T, class Call>
  NdkCreation<T>& create(Call&& call) {
    auto& made = answer<NdkCreation<T>>();
    made.said = call(&NdkAnswer::on_create, static_cast<PVOID>(static_cast<NdkAnswer*>(&made)), &made.place);
    finish(made);
    return made;
  }
  /// The object of one that must work; a place that was filled though the answer pends is not looked at.
  template <class T, class Call>
  T* make(std::string_view what, Call&& call) {
    const NdkCreation<T>& made = create<T>(call);
    if (made.made() == nullptr) throw CannotArrange{std::string(what) + " answered " + words(made.end())};
    return made.made();
  }
  template <class T>
  NdkAnswer& close(T* object) {
    NdkAnswer& made = answer<NdkAnswer>();
    made.said = close_of(object)(&object->Header, &NdkAnswer::on_close, &made);
    return made;
  }

  /// The next result of a side; nothing after the limit.
  std::optional<NDK_RESULT_EX> result(NdkSide& side, Duration limit = Duration::s(60));
  bool quiet(NdkSide& side, Duration span = Duration::ms(50)) { return !result(side, span); }

  /// Queue pairs, memory, and a listener; nothing asked yet.
  NdkConnection& prepare(const NdkConnectTerms& terms = {});
  NdkAnswer& begin_connect(NdkConnection& connection, const NdkConnectTerms& terms = {});
  NdkAnswer& begin_accept(NdkConnection& connection, const NdkConnectTerms& terms = {});
  NdkAnswer& begin_complete(NdkConnection& connection);
  /// The next connector of its listener becomes that of the passive side. False: none comes.
  bool asked(NdkConnection& connection);
  /// Up to the request at the passive side.
  NdkConnection& ask(const NdkConnectTerms& terms = {});
  /// Up to the reply at the active side; Accept is pending.
  NdkConnection& reply(const NdkConnectTerms& terms = {});
  NdkConnection& connect(const NdkConnectTerms& terms = {});

  template <class T>
  T& keep(std::unique_ptr<T> thing) {
    T& kept = *thing;
    kept_.push_back(std::shared_ptr<T>(std::move(thing)));
    return kept;
  }

 private:
  struct Simulated;
  template <class T>
  T& answer() {
    T& made = keep(std::make_unique<T>());
    made.kernel = &kernel_;
    return made;
  }
  static NDK_FN_CLOSE_OBJECT close_of(const NDK_PD* o) { return o->Dispatch->NdkClosePd; }
  static NDK_FN_CLOSE_OBJECT close_of(const NDK_CQ* o) { return o->Dispatch->NdkCloseCq; }
  static NDK_FN_CLOSE_OBJECT close_of(const NDK_MR* o) { return o->Dispatch->NdkCloseMr; }
  static NDK_FN_CLOSE_OBJECT close_of(const NDK_MW* o) { return o->Dispatch->NdkCloseMw; }
  static NDK_FN_CLOSE_OBJECT close_of(const NDK_SRQ* o) { return o->Dispatch->NdkCloseSrq; }
  static NDK_FN_CLOSE_OBJECT close_of(const NDK_QP* o) { return o->Dispatch->NdkCloseQp; }
  static NDK_FN_CLOSE_OBJECT close_of(const NDK_CONNECTOR* o) { return o->Dispatch->NdkCloseConnector; }
  static NDK_FN_CLOSE_OBJECT close_of(const NDK_LISTENER* o) { return o->Dispatch->NdkCloseListener; }
  static NDK_FN_CLOSE_OBJECT close_of(const NDK_SHARED_ENDPOINT* o) { return o->Dispatch->NdkCloseSharedEndpoint; }

  World& world_;
  NdkTerms terms_;
  CaseMemory memory_;
  ndk::Kernel kernel_;
  std::deque<std::shared_ptr<void>> kept_;  // outlives the providers
  std::unique_ptr<Simulated> simulated_;
  std::unique_ptr<NdkEnd> a_, b_;
  std::uint16_t next_port_ = 7600;
};

/// A number as a context pointer.
inline PVOID ndk_tag(std::uintptr_t number) { return reinterpret_cast<PVOID>(number); }

}  // namespace fb::conformance
