// Queue pairs: requests to the driver and their completions back; and, in connection.cc, their connection.
#pragma once

#include <deque>

#include "sim/rdma/device.h"
#include "sim/rdma/verbs/cm_events.h"
#include "sim/rdma/verbs/completion.h"
#include "sim/rdma/verbs/memory.h"

namespace fb::verbs {

class QueuePair final : public rdma::QueuePair, CmOwner {
 public:
  /// Null when the device has no resources for one. Whatever is given is cut to the device's limits.
  static std::unique_ptr<QueuePair> make(Shared& shared, Domain& domain, const rdma::QueuePairOptions& options);
  ~QueuePair() override;

  std::uint32_t number() const override { return object_->qp_num; }
  rdma::QpState state() const override;
  bool post_send(const rdma::SendRequest& request) override;
  bool post_receive(const rdma::ReceiveRequest& request) override;
  void connect(const Endpoint& to, const rdma::ConnectionParameters& parameters) override;
  void confirm() override;
  void refuse(std::uint16_t reason, ByteView private_data) override;
  void disconnect() override;
  void fail() override;

  /// Takes the identifier of a connection request, and answers it.
  void accept(Owned<rdma_cm_id> id, CmFacts facts, const rdma::ConnectionParameters& parameters);
  rdma::Completion convert(const ibv_wc& completion);
  bool uses(const CompletionQueue& queue) const { return options_.send_queue == &queue || options_.receive_queue == &queue; }
  /// The queue pair is in error by itself.
  void broken();
  /// Data came on a connection that the peer has not confirmed yet: that confirms it.
  void data_came_first();

 private:
  enum class Phase : std::uint8_t { idle, connecting, held, accepting, connected, disconnecting, over };
  struct Report {
    enum class Kind : std::uint8_t { established, accepted, rejected, unreachable, disconnected, failed } kind;
    std::uint16_t reason = 0;
    CmFacts facts;
  };

  QueuePair(Shared& shared, const rdma::QueuePairOptions& options);
  bool open(Domain& domain);
  bool prepare(const rdma::SendRequest& request, ibv_send_wr& work) const;
  void to_error();

  // Connection.
  void on_cm_event(CmEvent event) override;
  void resolve_route();
  void send_request();
  void on_reply(CmEvent& event);
  void complete();
  bool make_ready(std::uint32_t responder_resources, std::uint32_t initiator_depth);
  bool change_state(ibv_qp_state to, std::uint32_t responder_resources, std::uint32_t initiator_depth);
  rdma_conn_param parameters_for_kernel() const;
  void on_failed(Report::Kind kind, std::uint16_t reason = 0, CmFacts facts = {});
  void peer_gone();
  void report(Report::Kind kind, std::uint16_t reason = 0, CmFacts facts = {});
  void deliver();

  Shared& s_;
  rdma::QueuePairOptions options_;
  Owned<ibv_qp> object_;
  rdma::QpState state_ = rdma::QpState::init;

  Phase phase_ = Phase::idle;
  Owned<rdma_cm_id> id_;
  rdma::ConnectionParameters parameters_;
  Bytes private_data_;  // what parameters_ refers to
  CmFacts facts_;
  std::deque<Report> reports_;
  Timer<QueuePair, &QueuePair::deliver> event_{"verbs.qp", *this};
};

}  // namespace fb::verbs
