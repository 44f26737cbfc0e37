// A queue pair of the soft device: its state, both engines, its queues and its connection's
// reports.
#pragma once

#include <deque>

#include "sim/net/datagram.h"
#include "sim/rdma/softroce/icrc.h"
#include "sim/rdma/softroce/requester.h"
#include "sim/rdma/softroce/responder.h"

namespace fb::softroce {

class SoftQueuePair;

/// What a queue pair asks of its device.
class QueuePairOwner {
 public:
  virtual net::DatagramPort& port() = 0;
  virtual CmCore& connections() = 0;
  virtual std::uint8_t mtu_code() const = 0;
  virtual std::string_view name() const = 0;
  virtual void schedule_work(SoftQueuePair& qp) = 0;
  virtual void forget(SoftQueuePair& qp) = 0;

 protected:
  ~QueuePairOwner() = default;
};

class SoftQueuePair final : public rdma::QueuePair, public CmQueuePair, public QpCore {
 public:
  SoftQueuePair(QueuePairOwner& owner, const QpCore::Surroundings& surroundings, std::uint32_t number,
                const rdma::QueuePairOptions& options, const rdma::DeviceLimits& limits);
  ~SoftQueuePair() override;

  // rdma::QueuePair and CmQueuePair
  std::uint32_t number() const override { return number_; }
  rdma::QpState state() const override { return state_; }
  bool post_send(const rdma::SendRequest& request) override;
  bool post_receive(const rdma::ReceiveRequest& request) override;
  void connect(const Endpoint& to, const rdma::ConnectionParameters& parameters) override;
  void confirm() override { owner_.connections().confirm(*this); }
  void refuse(std::uint16_t reason, ByteView private_data) override { owner_.connections().refuse(*this, reason, private_data); }
  void disconnect() override;
  void fail() override;

  void to_ready_to_receive(const PathFacts& facts) override;
  void to_ready_to_send(const PathFacts& facts) override;
  void to_error() override;
  void established(const rdma::ConnectionFacts& facts) override;
  void accepted(const rdma::ConnectionFacts& facts) override;
  void rejected(std::uint16_t reason, ByteView private_data) override;
  void unreachable() override;
  void disconnected() override;

  // QpCore
  MutableBytes begin_packet(std::size_t bytes) override;
  void commit_packet() override;
  void complete_send(rdma::Completion completion) override;
  void complete_receive(rdma::Completion completion) override;
  bool take_receive(ReceiveEntry& entry, std::span<rdma::Sge> sges) override;
  void enter_error(std::string_view why) override;
  void want_work() override { owner_.schedule_work(*this); }

  /// A packet that passed the device's checks.
  void on_packet(const InPacket& packet);
  /// The engines' turn: requests first, then answers.
  void work();
  bool takes_packets() const { return state_ == rdma::QpState::ready_to_receive || state_ == rdma::QpState::ready_to_send; }
  /// A deviation: what the honest device drops is answered with NAK invalid request.
  void depart_answer_unknown(std::uint32_t psn);

  bool in_work_list = false;  ///< the device's

 private:
  struct Report {
    enum class Kind : std::uint8_t { established, accepted, rejected, unreachable, disconnected, failed };
    Kind kind;
    std::uint16_t reason = 0;
    rdma::ConnectionFacts facts;
    Bytes private_data;
  };
  void set_state(rdma::QpState state, std::string_view why);
  void stop_and_flush(std::string_view why);
  void report(Report report);
  void deliver();
  bool depart_completion(rdma::Completion& completion);
  void push(rdma::CompletionQueue* queue, rdma::Completion& completion);

  QueuePairOwner& owner_;
  std::uint32_t number_;
  rdma::QpState state_ = rdma::QpState::init;
  SoftCompletionQueue* send_queue_;
  SoftCompletionQueue* receive_queue_;
  SoftSharedReceiveQueue* shared_;
  void* context_;
  rdma::ConnectionHandler* handler_;
  ReceiveRing receives_;
  RcRequester requester_;
  RcResponder responder_;
  bool established_ = false;
  bool overrun_ = false;
  unsigned completions_[2] = {};  // of requests and of receives; only departures ask

  Endpoint peer_;
  IcrcPath icrc_;
  net::Outgoing outgoing_;
  std::deque<Report> reports_;
  Timer<SoftQueuePair, &SoftQueuePair::deliver> deliver_event_{"softroce.report", *this};
};

}  // namespace fb::softroce
