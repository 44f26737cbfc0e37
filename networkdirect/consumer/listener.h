// Listeners, which keep several requests for connections pending, and what comes of those.
#pragma once

#include <memory>
#include <vector>

#include "networkdirect/consumer/queue_pair.h"

namespace fb::networkdirect::consumer {

class Listener final : public rdma::Listener {
 public:
  Listener(Shared& shared, rdma::ListenHandler& handler) : s_(shared), handler_(handler) {}
  ~Listener() override;
  HRESULT open(std::uint16_t port);
  Endpoint local() const override { return local_; }

 private:
  /// A connector that waits for a request.
  class Slot final : public RequestOwner {
   public:
    explicit Slot(Listener& listener) : listener_(listener) {}
    void ask();
    void close();

   private:
    void on_done(unsigned what, HRESULT status) override;
    Listener& listener_;
    Com<IND2Connector> connector_;
  };

  Shared& s_;
  rdma::ListenHandler& handler_;
  Com<IND2Listener> object_;
  Endpoint local_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

class ConnectionRequest final : public rdma::ConnectionRequest {
 public:
  ConnectionRequest(Shared& shared, Com<IND2Connector> connector);
  ~ConnectionRequest() override;
  const rdma::ConnectionFacts& facts() const override { return shown_; }
  void accept(rdma::QueuePair& qp, const rdma::ConnectionParameters& parameters) override;
  void reject(std::uint16_t reason, ByteView private_data) override;

 private:
  Shared& s_;
  Com<IND2Connector> connector_;  // until it is answered
  Facts facts_;
  rdma::ConnectionFacts shown_;
};

}  // namespace fb::networkdirect::consumer
