// The RDMA interface of the whole project: protection domains, memory regions, completion queues,
// queue pairs, shared receive queues, listeners and connections. softroce, rdma-core and the
// Windows providers implement it. Everything happens on the loop of one world: callbacks come from
// the loop, never from inside a call into the device.
//
// Lifetimes: an object must be destroyed before the one that made it. Destroying a queue pair
// discards what is posted on it without completions, and disconnects.
#pragma once

#include <memory>

#include "base/result.h"
#include "sim/rdma/verbs_types.h"

namespace fb::rdma {

/// Registered memory. Keys: the high 24 bits are the device's index, the low byte is the owner's.
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
  virtual std::uint32_t lkey() const = 0;
  virtual std::uint32_t rkey() const = 0;
  /// The I/O address of the first byte.
  virtual std::uint64_t address() const = 0;
  virtual std::size_t length() const = 0;
  /// Local access to `length` bytes at `offset`.
  Sge sge(std::uint64_t offset, std::uint32_t length) const { return {address() + offset, length, lkey()}; }
};

class ProtectionDomain {
 public:
  virtual ~ProtectionDomain() = default;
  /// Registers `memory`, which must outlive the region.
  virtual std::unique_ptr<MemoryRegion> register_memory(MutableBytes memory, Access access) = 0;
  /// The same at an I/O address of the caller's choice.
  virtual std::unique_ptr<MemoryRegion> register_memory_at(std::uint64_t iova, MutableBytes memory, Access access) = 0;
  /// A region in the state free, for SendOpcode::fast_register of up to `max_bytes`.
  virtual std::unique_ptr<MemoryRegion> allocate_fast_region(std::size_t max_bytes) = 0;
};

class CompletionHandler {
 public:
  /// There is something to poll. One-shot: armed again by request_notify().
  virtual void on_completions() = 0;

 protected:
  ~CompletionHandler() = default;
};

class CompletionQueue {
 public:
  virtual ~CompletionQueue() = default;
  /// Takes up to completions.size() completions, oldest first; returns how many.
  virtual std::size_t poll(std::span<Completion> completions) = 0;
  /// Calls the handler, from the loop, when the queue next has something (at once when it has).
  /// With `solicited_only`, for solicited receives and errors alone.
  virtual void request_notify(CompletionHandler& handler, bool solicited_only = false) = 0;
  virtual void cancel_notify() = 0;
};

class SharedReceiveQueue {
 public:
  virtual ~SharedReceiveQueue() = default;
  virtual bool post_receive(const ReceiveRequest& request) = 0;
  /// Asks for one on_limit() call when fewer than `entries` are left.
  virtual void arm_limit(std::uint32_t entries) = 0;
};

class SharedReceiveHandler {
 public:
  virtual void on_limit(SharedReceiveQueue& queue) = 0;

 protected:
  ~SharedReceiveHandler() = default;
};

class QueuePair;

/// Events of one connection, called from the loop.
class ConnectionHandler {
 public:
  /// Active side: the peer accepted. Passive side: the connection may be used.
  virtual void on_established(QueuePair& qp, const ConnectionFacts& facts) = 0;
  /// Active side, with ConnectionParameters::hold_reply: the peer accepted, and waits for confirm() or refuse().
  virtual void on_accepted(QueuePair& qp, const ConnectionFacts& facts) {
    (void)qp;
    (void)facts;
  }
  /// Refused: active side the request, passive side the reply. `reason` is a CM reject reason.
  virtual void on_rejected(QueuePair& qp, std::uint16_t reason, ByteView private_data) = 0;
  /// The peer never answered: active side the request, passive side the reply.
  virtual void on_unreachable(QueuePair& qp) = 0;
  /// The peer disconnected, or a disconnect() of ours is done. The queue pair is in error.
  virtual void on_disconnected(QueuePair& qp) = 0;
  /// The queue pair went into error by itself (bad packet, retries exceeded ...).
  virtual void on_queue_error(QueuePair& qp) = 0;

 protected:
  ~ConnectionHandler() = default;
};

struct QueuePairOptions {
  CompletionQueue* send_queue = nullptr;
  CompletionQueue* receive_queue = nullptr;
  SharedReceiveQueue* shared_receive_queue = nullptr;
  std::uint32_t send_entries = 128;
  std::uint32_t receive_entries = 128;
  std::uint32_t max_send_sges = 4;
  std::uint32_t max_receive_sges = 4;
  void* context = nullptr;  ///< given back in each Completion
  ConnectionHandler* handler = nullptr;
};

class QueuePair {
 public:
  virtual ~QueuePair() = default;
  virtual std::uint32_t number() const = 0;
  virtual QpState state() const = 0;

  /// False when the queue is full or the request is not possible in this state. In the error state
  /// requests are accepted and flushed at once.
  virtual bool post_send(const SendRequest& request) = 0;
  virtual bool post_receive(const ReceiveRequest& request) = 0;

  /// Active open to an IP address and TCP-space port. The answer comes to the handler.
  virtual void connect(const Endpoint& to, const ConnectionParameters& parameters) = 0;
  /// After on_accepted(), once: the connection may be used, on_established() follows.
  virtual void confirm() = 0;
  /// After on_accepted() instead: the peer hears on_rejected(), here nothing follows. The queue pair is in error.
  virtual void refuse(std::uint16_t reason, ByteView private_data) = 0;
  /// Orderly end (DREQ/DREP); all posted work is flushed. on_disconnected() follows.
  virtual void disconnect() = 0;
  /// Moves the queue pair into the error state without a word to the peer.
  virtual void fail() = 0;
};

/// A connection that somebody asks for. Answer with accept() or reject(), once; dropping it
/// unanswered rejects it. Outlives the callback when moved out of it.
class ConnectionRequest {
 public:
  virtual ~ConnectionRequest() = default;
  virtual const ConnectionFacts& facts() const = 0;  ///< private data valid as long as the request
  virtual void accept(QueuePair& qp, const ConnectionParameters& parameters) = 0;
  virtual void reject(std::uint16_t reason, ByteView private_data) = 0;
};

class ListenHandler {
 public:
  virtual void on_connection_request(std::unique_ptr<ConnectionRequest> request) = 0;

 protected:
  ~ListenHandler() = default;
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual Endpoint local() const = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceLimits limits() const = 0;
  virtual IpAddress address() const = 0;
  virtual std::unique_ptr<ProtectionDomain> allocate_protection_domain() = 0;
  virtual std::unique_ptr<CompletionQueue> create_completion_queue(std::uint32_t entries) = 0;
  virtual std::unique_ptr<SharedReceiveQueue> create_shared_receive_queue(ProtectionDomain& domain, std::uint32_t entries,
                                                                          SharedReceiveHandler* handler) = 0;
  virtual std::unique_ptr<QueuePair> create_queue_pair(ProtectionDomain& domain, const QueuePairOptions& options) = 0;
  /// Listens on a TCP-space port of the device's address. Fails when it is taken.
  virtual Result<std::unique_ptr<Listener>> listen(std::uint16_t port, ListenHandler& handler) = 0;
};

}  // namespace fb::rdma
