// A program on a NetworkDirect provider, for cases that judge the provider: two of its adapters, what is made on them, and
// connections between them. In a simulated world an adapter has a software device each; a real provider gives two of its
// addresses, or one twice.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <ndspi.h>
#include <ws2tcpip.h>

#include "base/bytes.h"
#include "base/ip.h"
#include "conformance/runner/case_memory.h"
#include "conformance/runner/check.h"
#include "conformance/runner/environment.h"

namespace fb::conformance {

/// A status of the interface; in reports by its name.
struct NdStatus {
  HRESULT code = ND_SUCCESS;
  constexpr NdStatus() = default;
  constexpr NdStatus(HRESULT c) : code(c) {}  // NOLINT: it is one
  constexpr bool failed() const { return FAILED(code); }
  constexpr bool operator==(const NdStatus&) const = default;
};
std::string words(NdStatus status);

/// A reference to an object of the provider, given back at the end.
template <class T>
class NdRef {
 public:
  NdRef() = default;
  NdRef(NdRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  NdRef& operator=(NdRef&& other) noexcept {
    if (this != &other) {
      release();
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }
  ~NdRef() { release(); }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  T* get() const { return object_; }
  void** out() {
    release();
    return reinterpret_cast<void**>(&object_);
  }
  /// What Release returned.
  ULONG release() { return object_ == nullptr ? 0 : std::exchange(object_, nullptr)->Release(); }

 private:
  T* object_ = nullptr;
};

/// An address as the interface takes it.
class NdAddress {
 public:
  NdAddress() = default;
  explicit NdAddress(const IpAddress& address, std::uint16_t port = 0);
  const struct sockaddr* get() const { return reinterpret_cast<const struct sockaddr*>(&storage_); }
  struct sockaddr* room() {
    return reinterpret_cast<struct sockaddr*>(&storage_);
  }
  ULONG length() const { return length_; }
  ULONG capacity() const { return sizeof storage_; }
  std::uint16_t port() const;
  IpAddress address() const;

 private:
  sockaddr_storage storage_ = {};
  ULONG length_ = 0;
};

/// An overlapped request that a case makes. One that never ends stays in memory when its case is over: a provider that
/// comes back to it late must not meet something else there.
class NdRequest {
 public:
  NdRequest();
  ~NdRequest();
  NdRequest(const NdRequest&) = delete;
  NdRequest& operator=(const NdRequest&) = delete;
  /// As the calls of the interface take it.
  OVERLAPPED* operator&() { return overlapped_.get(); }
  OVERLAPPED* operator->() { return overlapped_.get(); }
  bool pending() const { return static_cast<HRESULT>(overlapped_->Internal) == ND_PENDING; }

 private:
  std::unique_ptr<OVERLAPPED> overlapped_;
};

/// A packet of a completion port.
struct NdPacket {
  bool good = false;
  const OVERLAPPED* overlapped = nullptr;
};

constexpr ULONG kNdAllRights = ND_MR_FLAG_ALLOW_REMOTE_READ | ND_MR_FLAG_ALLOW_REMOTE_WRITE | ND_MR_FLAG_RDMA_READ_SINK;

struct NdQueueTerms {
  ULONG depth = 16;
  ULONG sges = 2;
  ULONG inline_bytes = 0;
  void* context = nullptr;
  IND2SharedReceiveQueue* shared = nullptr;
};

class NdBench;

/// Memory that a case registered.
struct NdMemory {
  MutableBytes bytes;
  NdRef<IND2MemoryRegion> region;
  ND2_SGE sge(std::size_t offset, ULONG length) { return {bytes.data() + offset, length, region->GetLocalToken()}; }
  UINT64 address(std::size_t offset = 0) const { return reinterpret_cast<std::uintptr_t>(bytes.data()) + offset; }
};

/// One adapter with a file and a completion port. What it makes for a case cannot be made: INCONCLUSIVE.
class NdEnd {
 public:
  NdEnd(NdBench& bench, IND2Provider& provider, const IpAddress& address);
  ~NdEnd();
  NdEnd(const NdEnd&) = delete;
  NdEnd& operator=(const NdEnd&) = delete;

  IND2Adapter& adapter() { return *adapter_; }
  const IpAddress& address() const { return address_; }
  HANDLE file() const { return file_; }
  ND2_ADAPTER_INFO info();

  NdRef<IND2CompletionQueue> completion_queue(ULONG depth = 64);
  /// Bytes of the index (0, 1 ... 255, 0 ...).
  std::unique_ptr<NdMemory> memory(std::size_t bytes = 1 << 16, ULONG flags = kNdAllRights);
  NdRef<IND2MemoryRegion> empty_region();
  NdRef<IND2MemoryWindow> window();
  NdRef<IND2QueuePair> queue_pair(IND2CompletionQueue& queue, const NdQueueTerms& terms = {});
  NdRef<IND2Connector> connector();
  NdRef<IND2Connector> bound_connector();
  NdRef<IND2Listener> listener(std::uint16_t port, ULONG backlog = 0);
  NdRef<IND2SharedReceiveQueue> shared_receive_queue(ULONG depth = 16, ULONG threshold = 0);

  /// The packets that the port has now; waits for `least` of them.
  std::vector<NdPacket> packets(std::size_t least = 0);

 private:
  NdBench& bench_;
  IpAddress address_;
  NdRef<IND2Adapter> adapter_;
  HANDLE file_ = nullptr, port_ = nullptr;
};

/// A connection in the making, or made, between the bench's two ends; `a` is the active side.
struct NdConnection {
  struct Side {
    NdEnd* end = nullptr;
    NdRef<IND2CompletionQueue> queue;
    std::unique_ptr<NdMemory> memory;
    NdRef<IND2QueuePair> qp;
    NdRef<IND2Connector> connector;
    std::deque<ND2_RESULT> results;
  };
  Side a, b;
  NdRef<IND2Listener> listener;
  std::uint16_t port = 0;
  NdRequest connecting, accepting;
};

struct NdConnectTerms {
  NdQueueTerms a = {}, b = {};
  ULONG queue_depth = 64;
  ULONG reads = 8;  ///< both limits of both sides
  std::string request_data, reply_data;
};

/// How a provider is made that is simulated; of a product it is what it is.
struct NdTerms {
  std::string_view behaviour = "document";  ///< for networkdirect::parse_behaviour()
  bool ipv6 = false;                        ///< at IPv6 addresses
};

class NdSimulated;

class NdBench {
 public:
  NdBench(World& world, const Environment& environment, const NdTerms& terms);
  ~NdBench();

  IND2Provider& provider() { return *provider_; }
  NdEnd& a() { return *a_; }
  NdEnd& b() { return *b_; }
  World& world() { return world_; }
  CaseMemory& memory() { return memory_; }
  /// A port that nobody listens on.
  std::uint16_t fresh_port() { return next_port_++; }

  /// Lets the provider work until `done`, or the limit has passed.
  template <class Done>
  bool wait_until(Done&& done, Duration limit = Duration::s(60)) {
    const Instant end = world_.now() + limit;
    while (!done()) {
      if (world_.now() >= end || !step(end)) return done();
    }
    return true;
  }
  void pass(Duration time);
  /// The end of a request: what the call said, or what its result is. ND_PENDING when it never ended.
  NdStatus finish(HRESULT called, NdRequest& request, IND2Overlapped& on, Duration limit = Duration::s(60));
  /// The next result of a side's queue; nothing after the limit.
  std::optional<ND2_RESULT> result(NdConnection::Side& side, Duration limit = Duration::s(60));
  /// True when the queue stays empty for that long.
  bool quiet(NdConnection::Side& side, Duration span = Duration::ms(50));

  /// Queue pairs, memory and a listener; nothing asked yet.
  std::unique_ptr<NdConnection> prepare(const NdConnectTerms& terms = {});
  /// Up to the request at the passive side, which its connector holds.
  std::unique_ptr<NdConnection> ask(const NdConnectTerms& terms = {});
  /// Up to the reply at the active side; Accept is pending.
  std::unique_ptr<NdConnection> reply(const NdConnectTerms& terms = {});
  std::unique_ptr<NdConnection> connect(const NdConnectTerms& terms = {});

 private:
  friend void check_provider(const Product& product);
  struct Loaded;
  bool step(Instant limit);

  World& world_;
  CaseMemory memory_;
  std::unique_ptr<NdSimulated> simulated_;
  std::unique_ptr<Loaded> loaded_;
  NdRef<IND2Provider> provider_;
  std::unique_ptr<NdEnd> a_, b_;
  std::uint16_t next_port_ = 7600;
};

/// UserError when the product's library is no provider, or has no adapter where the user wants one.
void check_provider(const Product& product);

/// A number as a context pointer.
inline void* nd_tag(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

}  // namespace fb::conformance
