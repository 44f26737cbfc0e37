// Listeners and the connection requests that come to them.
#pragma once

#include "sim/rdma/verbs/queue_pair.h"

namespace fb::verbs {

class Listener final : public rdma::Listener, CmOwner {
 public:
  Listener(Shared& shared, rdma::ListenHandler& handler) : s_(shared), handler_(handler) {}
  /// 0, or why not.
  int open(std::uint16_t port);
  Endpoint local() const override { return local_; }

 private:
  void on_cm_event(CmEvent event) override;

  Shared& s_;
  rdma::ListenHandler& handler_;
  Owned<rdma_cm_id> id_;
  Endpoint local_;
};

class ConnectionRequest final : public rdma::ConnectionRequest, CmOwner {
 public:
  ConnectionRequest(Owned<rdma_cm_id> id, CmFacts facts);
  ~ConnectionRequest() override;
  const rdma::ConnectionFacts& facts() const override { return shown_; }
  void accept(rdma::QueuePair& qp, const rdma::ConnectionParameters& parameters) override;
  void reject(std::uint16_t reason, ByteView private_data) override;

 private:
  /// The peer has given up: an answer will come to nothing.
  void on_cm_event(CmEvent) override {}

  Owned<rdma_cm_id> id_;  // until it is answered
  CmFacts facts_;
  rdma::ConnectionFacts shown_;
};

}  // namespace fb::verbs
