// Queue pairs: requests to NDK's and their completions back; and, in connection.cc, their connection.
#pragma once

#include "networkdirect/ndk/consumer/completion.h"

namespace fb::ndk::consumer {

/// What a connection's end tells of the other one. Private data is the transport's whole area, as NDK gives it.
struct Facts {
  rdma::ConnectionFacts facts;
  Bytes private_data;
  void fetch(NDK_CONNECTOR& connector);
  /// The same, with the view on the private data set.
  rdma::ConnectionFacts get() const;
};

class QueuePair;

class QueuePairCore final : public Object {
 public:
  QueuePairCore(std::shared_ptr<DomainCore> domain, std::shared_ptr<Shared> shared, const rdma::QueuePairOptions& options);
  void open();
  /// Its user has destroyed it: nothing of it is heard any more.
  void abandon();

  bool post_send(const rdma::SendRequest& request);
  bool post_receive(const rdma::ReceiveRequest& request);
  /// A result of this queue pair as a completion; false when nobody is to see it.
  bool convert(const NDK_RESULT_EX& result, bool extended, rdma::Completion& completion);

  void connect(const Endpoint& to, const rdma::ConnectionParameters& parameters);
  void confirm();
  void refuse(ByteView private_data);
  void accept(NDK_CONNECTOR& connector, const Facts& facts, const rdma::ConnectionParameters& parameters);
  void disconnect();
  void fail();
  /// Its completion queue is dead, or a completion says that the queue pair is in error.
  void broken(bool flushed = false);

  std::uint32_t number() const { return number_; }
  rdma::QpState state() const { return state_; }
  QueuePair* owner = nullptr;

 private:
  enum class Phase : std::uint8_t { idle, connecting, held, confirming, accepting, connected, disconnecting, over };

  /// A request that the provider has, oldest first in works_.
  struct Work {
    std::uint64_t id = 0;
    rdma::CompletionOpcode opcode = rdma::CompletionOpcode::send;
    std::shared_ptr<Lam> released;  ///< local_invalidate: what the region was mapped by until then
  };
  /// What a request needs beside itself.
  struct Parts {
    ByteView inlined;
    std::shared_ptr<RegionCore> region;
    std::shared_ptr<Lam> lam;
  };
  /// A request with copies of what it refers to, while it waits.
  struct LateSend {
    rdma::SendRequest request;
    std::vector<rdma::Sge> sges;
    Bytes inlined;
    Parts parts;
  };
  struct Report {
    /// flushed: requests came back cancelled before anybody said why.
    enum class Kind : std::uint8_t { established, accepted, rejected, unreachable, disconnected, failed, flushed } kind;
    std::uint16_t reason = 0;
    Facts facts = {};
  };

  void begin_close() override;
  void close_queue_pair();
  void create_queue_pair();
  /// While a callback of the connector's is to come, the object stays.
  void hold() { ++holds_; }
  void unhold();

  // Requests.
  bool possible(const rdma::SendRequest& request) const;
  bool gather(std::span<const rdma::Sge> sges);
  bool issue(const rdma::SendRequest& request, Parts& parts, const SgeList& sges);
  NTSTATUS call(const rdma::SendRequest& request, const Parts& parts, const SgeList& sges, PVOID context, ULONG flags);
  NTSTATUS call_fast_register(const rdma::SendRequest& request, const Parts& parts, PVOID context, ULONG flags);
  Object* missing(const Parts& parts, const SgeList& sges) const;
  void go_on_sending();
  void go_on_receiving();
  bool issue_receive(std::uint64_t id, const SgeList& sges);
  void depart_after_post(const rdma::SendRequest& request, const Parts& parts);
  void flush_late();
  void push_own(std::uint64_t id, rdma::CompletionOpcode opcode, rdma::CompletionStatus status);
  void push_flushed(std::uint64_t id, rdma::CompletionOpcode opcode) { push_own(id, opcode, rdma::CompletionStatus::flushed); }
  void retire(std::uint64_t sequence, Work& work);
  void to_error();
  void flush();

  // Connection.
  void start_connect();
  void on_connect(NTSTATUS status);
  void complete();
  void on_complete(NTSTATUS status);
  void start_accept();
  void on_accept(NTSTATUS status);
  void on_failed(NTSTATUS status, bool active);
  void peer_gone();
  void give_up_connector();
  void reconnect();
  void ask_again();
  bool with_connector(NDK_CONNECTOR& connector, bool active);
  static VOID on_disconnect_event(PVOID context);
  static VOID on_disconnect_event_ex(PVOID context, ULONG reason);
  void report(Report report);
  void deliver();

  std::shared_ptr<DomainCore> domain_;
  std::shared_ptr<CompletionCore> send_queue_;
  std::shared_ptr<CompletionCore> receive_queue_;
  std::shared_ptr<SharedQueueCore> shared_queue_;
  rdma::QueuePairOptions options_;
  std::uint32_t number_;
  NDK_QP* qp_ = nullptr;
  rdma::QpState state_ = rdma::QpState::init;

  std::deque<Work> works_;
  std::uint64_t first_work_ = 1;  ///< the sequence number of works_.front()
  ReceiveNames receives_;
  std::size_t receives_posted_ = 0;
  std::deque<LateSend> late_sends_;
  Bytes scratch_;
  std::deque<LateReceive> late_receives_;

  Phase phase_ = Phase::idle;
  unsigned holds_ = 0;
  bool may_close_ = false;
  NDK_CONNECTOR* connector_ = nullptr;
  bool unanswered_ = false;   ///< the connector has a request that nobody has accepted or rejected
  bool answer_owed_ = false;  ///< the connector has a request, or a reply, that is neither accepted nor rejected
  Endpoint to_;
  rdma::ConnectionParameters parameters_;
  Bytes private_data_;
  Facts facts_;
  std::deque<Report> reports_;
  Timer<QueuePairCore, &QueuePairCore::deliver> event_{"ndk.qp.report", *this};
};

class QueuePair final : public rdma::QueuePair {
 public:
  explicit QueuePair(std::shared_ptr<QueuePairCore> core) : core_(std::move(core)) { core_->owner = this; }
  ~QueuePair() override { core_->abandon(); }
  std::uint32_t number() const override { return core_->number(); }
  rdma::QpState state() const override { return core_->state(); }
  bool post_send(const rdma::SendRequest& request) override { return core_->post_send(request); }
  bool post_receive(const rdma::ReceiveRequest& request) override { return core_->post_receive(request); }
  void connect(const Endpoint& to, const rdma::ConnectionParameters& parameters) override { core_->connect(to, parameters); }
  void confirm() override { core_->confirm(); }
  void refuse(std::uint16_t, ByteView private_data) override { core_->refuse(private_data); }
  void disconnect() override { core_->disconnect(); }
  void fail() override { core_->fail(); }
  const std::shared_ptr<QueuePairCore>& core() const { return core_; }

 private:
  std::shared_ptr<QueuePairCore> core_;
};

}  // namespace fb::ndk::consumer
