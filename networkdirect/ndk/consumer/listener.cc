#include "networkdirect/ndk/consumer/listener.h"

#include "networkdirect/ndk/consumer/misdeeds.h"
#include "networkdirect/ndk/consumer/translate.h"

namespace fb::ndk::consumer {

void ListenerCore::open() {
  create<NDK_LISTENER>(
      [&](auto completion, PVOID context, NDK_LISTENER** place) {
        return s.adapter.Dispatch->NdkCreateListener(&s.adapter, &ListenerCore::on_connect_event, this, completion, context, place);
      },
      [this](NTSTATUS status, NDK_OBJECT_HEADER* object) {
        listener_ = reinterpret_cast<NDK_LISTENER*>(object);
        if (status != STATUS_SUCCESS || closing()) return settle(status != STATUS_SUCCESS ? status : STATUS_CANCELLED);
        listen();
      });
}

void ListenerCore::listen() {
  SocketAddress address({s.options.address, port_});
  const auto call = [&](auto completion, PVOID context) {
    return listener_->Dispatch->NdkListen(listener_, address.get(), address.length, completion, context);
  };
  request(call, [this](NTSTATUS status, NDK_OBJECT_HEADER*) {
    if (status == STATUS_SUCCESS) {
      SocketAddress got;
      if (listener_->Dispatch->NdkGetLocalAddress(listener_, got.get(), &got.length) == STATUS_SUCCESS) local_ = got.endpoint();
      if (s.departs("listener.listens_twice")) {
        SocketAddress again({s.options.address, port_});
        request([&](auto completion,
                    PVOID context) { return listener_->Dispatch->NdkListen(listener_, again.get(), again.length, completion, context); },
                [](NTSTATUS, NDK_OBJECT_HEADER*) {});
      }
    }
    settle(status);
  });
}

void ListenerCore::abandon() {
  handler_ = nullptr;
  s.world.loop().cancel(event_);
  for (NDK_CONNECTOR* connector : std::exchange(waiting_, {})) refuse_connector(shared_, *connector, {});
}

void ListenerCore::begin_close() {
  if (listener_ == nullptr || s.departs("listener.leaked")) return gone();
  close_object(s, "listener", listener_->Dispatch->NdkCloseListener, listener_->Header, [this] { gone(); });
}

VOID ListenerCore::on_connect_event(PVOID context, NDK_CONNECTOR* connector) {
  auto* self = static_cast<ListenerCore*>(context);
  if (self->handler_ == nullptr) return refuse_connector(self->shared_, *connector, {});
  self->waiting_.push_back(connector);
  if (!self->event_.scheduled()) self->s.world.loop().schedule(self->event_, self->s.world.now());
}

void ListenerCore::deliver() {
  NDK_CONNECTOR* connector = waiting_.front();
  waiting_.pop_front();
  if (!waiting_.empty()) s.world.loop().schedule(event_, s.world.now());
  // The handler may destroy the listener: nothing is touched after it.
  handler_->on_connection_request(std::make_unique<ConnectionRequest>(shared_, *connector));
}

ConnectionRequest::ConnectionRequest(std::shared_ptr<Shared> shared, NDK_CONNECTOR& connector)
    : shared_(std::move(shared)), connector_(&connector) {
  facts_.fetch(connector);
  shown_ = facts_.get();
}

void ConnectionRequest::accept(rdma::QueuePair& qp, const rdma::ConnectionParameters& parameters) {
  if (NDK_CONNECTOR* connector = std::exchange(connector_, nullptr)) {
    static_cast<QueuePair&>(qp).core()->accept(*connector, facts_, parameters);
  }
}

void ConnectionRequest::reject(std::uint16_t, ByteView private_data) {
  if (NDK_CONNECTOR* connector = std::exchange(connector_, nullptr)) refuse_connector(shared_, *connector, private_data);
}

void refuse_connector(std::shared_ptr<Shared> shared, NDK_CONNECTOR& connector, ByteView private_data) {
  Bytes data(private_data.begin(), private_data.end());
  Shared& s = *shared;
  if (!s.departs("request.unanswered")) {
    connector.Dispatch->NdkReject(&connector, data.data(), static_cast<ULONG>(data.size()));
    if (s.departs("request.rejected_twice")) connector.Dispatch->NdkReject(&connector, data.data(), static_cast<ULONG>(data.size()));
  }
  if (s.departs("connector.leaked")) return;
  close_object(s, "connector", connector.Dispatch->NdkCloseConnector, connector.Header, [shared = std::move(shared)] {});
}

}  // namespace fb::ndk::consumer
