// A program on an rdma::Device, for cases that judge the device: memory, queue pairs, completions and
// connection events, all kept for the case to look at.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/world.h"
#include "sim/rdma/device.h"

namespace fb::conformance {

inline constexpr rdma::Access kAllRights =
    rdma::Access::local_write | rdma::Access::remote_write | rdma::Access::remote_read | rdma::Access::remote_atomic;

/// Registered memory that belongs to the case.
struct VerbsMemory {
  Bytes bytes;
  std::unique_ptr<rdma::MemoryRegion> region;
  std::uint64_t address() const { return region->address(); }
  std::uint32_t rkey() const { return region->rkey(); }
};

enum class ConnectionEvent : std::uint8_t { established, rejected, unreachable, disconnected, queue_error };
std::string_view name_of(ConnectionEvent event);

struct QueueTerms {
  std::uint32_t send_entries = 64;
  std::uint32_t receive_entries = 64;
  bool shared_receives = false;
  std::uint32_t receive_completions = 0;  ///< 0: more than there are receives
};

/// One queue pair with its own completion queues.
class VerbsQueue final : public rdma::ConnectionHandler, private rdma::CompletionHandler {
 public:
  VerbsQueue(World& world, rdma::Device& device, rdma::ProtectionDomain& domain, const QueueTerms& terms, rdma::SharedReceiveQueue* shared);

  rdma::QueuePair& qp() { return *qp_; }
  rdma::QpState state() const { return qp_->state(); }
  rdma::CompletionQueue& send_queue() { return *send_queue_; }
  rdma::CompletionQueue& receive_queue() { return *receive_queue_; }

  bool post_receive(VerbsMemory& memory, std::uint64_t id, std::uint64_t offset, std::uint32_t length);
  /// One request over a piece of `memory`; `request` says the rest.
  bool post_send(rdma::SendRequest request, VerbsMemory& memory, std::uint64_t offset, std::uint32_t length);
  bool post_send(const rdma::SendRequest& request) { return qp_->post_send(request); }

  /// The next completion of the send or the receive queue.
  std::optional<rdma::Completion> wait_send(Duration limit) { return wait(*send_queue_, sends_, limit); }
  std::optional<rdma::Completion> wait_receive(Duration limit) { return wait(*receive_queue_, receives_, limit); }
  /// True when neither has a completion in `span`.
  bool quiet_for(Duration span);
  bool wait_state(rdma::QpState wanted, Duration limit);
  /// Waits for the event (or takes it when it has happened already).
  bool wait_event(ConnectionEvent event, Duration limit);
  bool happened(ConnectionEvent event) const;

  const rdma::ConnectionFacts& facts() const { return facts_; }  ///< without private data
  const Bytes& private_data() const { return private_data_; }
  std::uint16_t reject_reason() const { return reject_reason_; }

 private:
  void on_established(rdma::QueuePair& qp, const rdma::ConnectionFacts& facts) override;
  void on_rejected(rdma::QueuePair& qp, std::uint16_t reason, ByteView private_data) override;
  void on_unreachable(rdma::QueuePair& qp) override;
  void on_disconnected(rdma::QueuePair& qp) override;
  void on_queue_error(rdma::QueuePair& qp) override;
  void on_completions() override {}  // the loop has woken, and somebody looks
  std::optional<rdma::Completion> wait(rdma::CompletionQueue& queue, std::deque<rdma::Completion>& kept, Duration limit);

  World& world_;
  std::unique_ptr<rdma::CompletionQueue> send_queue_;
  std::unique_ptr<rdma::CompletionQueue> receive_queue_;
  std::unique_ptr<rdma::QueuePair> qp_;
  rdma::SharedReceiveQueue* shared_;
  std::deque<rdma::Completion> sends_, receives_;
  std::vector<ConnectionEvent> events_;
  rdma::ConnectionFacts facts_;
  Bytes private_data_;
  std::uint16_t reject_reason_ = 0;
};

/// What the program does with a connection request.
struct ListenTerms {
  bool accept = true;
  std::uint16_t reject_reason = rdma::reject_reason::consumer_defined;
  bool hold = false;  ///< neither: the case takes it from requests()
  Bytes private_data = {};
  std::uint8_t responder_resources = 16;
  std::uint8_t initiator_depth = 16;
  std::uint8_t rnr_retry_count = 7;
  QueueTerms queue = {};
  /// Receive buffers that are posted before the connection is accepted; their ids count from 0.
  std::uint32_t receives = 8;
  std::uint32_t receive_bytes = 4096;
};

class VerbsUser final : private rdma::ListenHandler, private rdma::SharedReceiveHandler {
 public:
  VerbsUser(World& world, rdma::Device& device);
  ~VerbsUser();

  rdma::Device& device() { return device_; }
  rdma::ProtectionDomain& domain() { return *domain_; }
  /// Registered memory filled with bytes of the index (0, 1, 2 ... 255, 0 ...).
  VerbsMemory& memory(std::size_t bytes, rdma::Access access = kAllRights);
  /// The same in a protection domain of its own.
  VerbsMemory& foreign_memory(std::size_t bytes, rdma::Access access = kAllRights);
  /// A region for SendOpcode::fast_register, with `bytes` of memory to put behind it.
  VerbsMemory& fast_memory(std::size_t bytes);
  rdma::SharedReceiveQueue& shared_receives(std::uint32_t entries = 64);
  /// Events of its limit.
  std::uint64_t limits_reached() const { return limits_reached_; }
  VerbsQueue& make_queue(const QueueTerms& terms = {});

  /// Throws UserError when the port is taken.
  void listen(std::uint16_t port, const ListenTerms& terms = {});
  /// The queue of the newest connection that listen() accepted; null before.
  VerbsQueue* accepted() { return accepted_; }
  /// Where receive buffer `id` of an accepted connection lies.
  ByteView received(std::uint64_t id, std::size_t bytes) const;
  std::deque<std::unique_ptr<rdma::ConnectionRequest>>& requests() { return requests_; }
  std::uint64_t requests_seen() const { return requests_seen_; }
  /// Accepts a held request.
  VerbsQueue& accept(rdma::ConnectionRequest& request);
  /// An active connection from a fresh queue; its answer is an event of the queue.
  VerbsQueue& connect(const Endpoint& to, const rdma::ConnectionParameters& parameters, const QueueTerms& terms = {});

 private:
  void on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) override;
  void on_limit(rdma::SharedReceiveQueue&) override { ++limits_reached_; }

  World& world_;
  rdma::Device& device_;
  std::unique_ptr<rdma::ProtectionDomain> domain_;
  std::unique_ptr<rdma::ProtectionDomain> foreign_;
  std::list<VerbsMemory> memories_;
  std::unique_ptr<rdma::SharedReceiveQueue> shared_;
  std::list<std::unique_ptr<VerbsQueue>> queues_;
  std::vector<std::unique_ptr<rdma::Listener>> listeners_;
  std::deque<std::unique_ptr<rdma::ConnectionRequest>> requests_;
  std::uint64_t requests_seen_ = 0;
  std::uint64_t limits_reached_ = 0;
  ListenTerms terms_;
  VerbsQueue* accepted_ = nullptr;
  VerbsMemory* receive_memory_ = nullptr;
};

}  // namespace fb::conformance
