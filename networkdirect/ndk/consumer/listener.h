// Listeners and the requests that come to them.
#pragma once

#include "networkdirect/ndk/consumer/queue_pair.h"

namespace fb::ndk::consumer {

class ListenerCore final : public Object {
 public:
  ListenerCore(std::shared_ptr<Shared> shared, std::uint16_t port, rdma::ListenHandler& handler)
      : Object(std::move(shared)), port_(port), handler_(&handler) {}
  void open();
  /// No request is handed out any more; those that wait are refused.
  void abandon();
  Endpoint local() const { return local_; }

 private:
  static VOID on_connect_event(PVOID context, NDK_CONNECTOR* connector);
  void begin_close() override;
  void listen();
  void deliver();

  std::uint16_t port_;
  rdma::ListenHandler* handler_;
  NDK_LISTENER* listener_ = nullptr;
  Endpoint local_;
  std::deque<NDK_CONNECTOR*> waiting_;
  Timer<ListenerCore, &ListenerCore::deliver> event_{"ndk.listener.request", *this};
};

class Listener final : public rdma::Listener {
 public:
  explicit Listener(std::shared_ptr<ListenerCore> core) : core_(std::move(core)) {}
  ~Listener() override { core_->abandon(); }
  Endpoint local() const override { return core_->local(); }

 private:
  std::shared_ptr<ListenerCore> core_;
};

class ConnectionRequest final : public rdma::ConnectionRequest {
 public:
  ConnectionRequest(std::shared_ptr<Shared> shared, NDK_CONNECTOR& connector);
  ~ConnectionRequest() override { reject(rdma::reject_reason::no_resources, {}); }
  const rdma::ConnectionFacts& facts() const override { return shown_; }
  void accept(rdma::QueuePair& qp, const rdma::ConnectionParameters& parameters) override;
  void reject(std::uint16_t reason, ByteView private_data) override;

 private:
  std::shared_ptr<Shared> shared_;
  NDK_CONNECTOR* connector_;
  Facts facts_;
  rdma::ConnectionFacts shown_;
};

/// Refuses and closes a connector that nobody has taken.
void refuse_connector(std::shared_ptr<Shared> shared, NDK_CONNECTOR& connector, ByteView private_data);

}  // namespace fb::ndk::consumer
