// Queue pairs: requests to NetworkDirect's and their results back; and, in connection.cc, their connection.
#pragma once

#include <algorithm>

#include "networkdirect/consumer/completion.h"
#include "networkdirect/consumer/translate.h"

namespace fb::networkdirect::consumer {

/// What a connection's other end told. Private data is as long as the provider gives it, which may be the transport's
/// whole area.
struct Facts {
  rdma::ConnectionFacts facts;
  Bytes private_data;
  void fetch(IND2Connector& connector);
  /// The same, with the view on the private data set.
  rdma::ConnectionFacts get() const;
};

/// What signaled Reads fetch, oldest first: results do not say it. Grows to the most that were ever on their way.
class ReadLengths {
 public:
  void push(std::uint32_t length) {
    if (tail_ - head_ == ring_.size()) grow();
    ring_[tail_++ % ring_.size()] = length;
  }
  /// The last push did not count.
  void take_back() { --tail_; }
  /// 0 when there is none.
  std::uint32_t pop() { return head_ == tail_ ? 0 : ring_[head_++ % ring_.size()]; }

 private:
  void grow() {
    std::vector<std::uint32_t> larger(std::max<std::size_t>(2 * ring_.size(), 16));
    for (std::uint64_t at = head_; at != tail_; ++at) larger[at % larger.size()] = ring_[at % ring_.size()];
    ring_ = std::move(larger);
  }
  std::vector<std::uint32_t> ring_;
  std::uint64_t head_ = 0, tail_ = 0;
};

class QueuePair final : public rdma::QueuePair, RequestOwner {
 public:
  /// Whatever is given is cut to the adapter's limits. object() is null when the provider makes none.
  QueuePair(Shared& shared, const rdma::QueuePairOptions& options);
  ~QueuePair() override;

  std::uint32_t number() const override { return number_; }
  rdma::QpState state() const override { return state_; }
  bool post_send(const rdma::SendRequest& request) override;
  bool post_receive(const rdma::ReceiveRequest& request) override;
  void connect(const Endpoint& to, const rdma::ConnectionParameters& parameters) override;
  void confirm() override;
  void refuse(std::uint16_t reason, ByteView private_data) override;
  void disconnect() override;
  void fail() override;

  IND2QueuePair* object() { return object_.get(); }
  void accept(Com<IND2Connector> connector, Facts facts, const rdma::ConnectionParameters& parameters);
  /// A result of this queue pair as a completion; false when it is none of the user's.
  bool convert(const ND2_RESULT& result, rdma::Completion& completion);
  /// The queue pair is in error by itself.
  void broken();

 private:
  enum class Phase : std::uint8_t { idle, connecting, held, completing, accepting, connected, disconnecting, over };
  struct Report {
    enum class Kind : std::uint8_t { established, accepted, rejected, unreachable, disconnected, failed } kind;
    std::uint16_t reason = 0;
    Facts facts;
  };

  bool has_queues() const;
  void create();
  // Requests.
  HRESULT post(const rdma::SendRequest& request, const SgeList& sges);
  void push_flushed(std::uint64_t id, rdma::CompletionOpcode opcode);
  rdma::Completion completion_of(std::uint64_t id, rdma::CompletionOpcode opcode, rdma::CompletionStatus status) const;
  void to_error();

  // Connection.
  void on_done(unsigned what, HRESULT status) override;
  void on_connect(HRESULT status);
  void complete();
  void established();
  void on_failed(HRESULT status);
  void peer_gone();
  void give_up_connector();
  void report(Report::Kind kind, std::uint16_t reason = 0, Facts facts = {});
  void deliver();

  // Departures, in misdeeds.cc.
  IUnknown* receive_queue_for_creation();
  void depart_before_accept();
  void depart_before_connect(const SocketAddress& to);
  void depart_after_post(const rdma::SendRequest& request);
  void depart_after_connect(const SocketAddress& to);
  void depart_established();
  void depart_after_accept(const rdma::ConnectionParameters& parameters);
  void depart_disconnected();
  void depart_refused();
  bool depart_receive(const rdma::ReceiveRequest& request);

  Shared& s_;
  rdma::QueuePairOptions options_;
  CompletionQueue* send_queue_;
  CompletionQueue* receive_queue_;
  SharedQueue* shared_queue_;
  std::uint32_t number_;
  void* context_;
  Com<IND2QueuePair> object_;
  rdma::QpState state_ = rdma::QpState::init;
  ReadLengths read_lengths_;

  Phase phase_ = Phase::idle;
  Com<IND2Connector> connector_;
  Endpoint to_;
  bool hold_reply_ = false;
  Facts facts_;
  std::vector<std::pair<std::uint64_t, std::vector<rdma::Sge>>> receives_kept_back_;  // by a departure
  std::deque<Report> reports_;
  Timer<QueuePair, &QueuePair::deliver> event_{"networkdirect.qp", *this};
};

}  // namespace fb::networkdirect::consumer
