// Listeners.
#pragma once

#include "networkdirect/ndk/provider/adapter.h"

namespace fb::ndk::provider {

class Listener final : public NDK_LISTENER, public Object, public rdma::ListenHandler {
 public:
  Listener(Adapter& adapter, NDK_FN_CONNECT_EVENT_CALLBACK event, PVOID context);
  Endpoint local() const { return local_; }

  static NTSTATUS create(NDK_ADAPTER* adapter, NDK_FN_CONNECT_EVENT_CALLBACK event, PVOID event_context,
                         NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_LISTENER** place);
  static NTSTATUS listen(NDK_LISTENER* listener, PSOCKADDR address, ULONG length, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS local_address(NDK_LISTENER* listener, PSOCKADDR address, ULONG* length);
  static VOID control_connect_events(NDK_LISTENER* listener, BOOLEAN pause);

 private:
  ~Listener() override;
  void on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) override;
  NTSTATUS do_listen(const Endpoint& where);
  void deliver();
  void begin_close() override;
  void take_down() override;

  NDK_FN_CONNECT_EVENT_CALLBACK event_;
  PVOID context_;
  std::unique_ptr<rdma::Listener> device_;
  Endpoint local_;
  bool bound_ = false;
  bool busy_ = false;
  bool paused_ = false;
  std::deque<std::unique_ptr<rdma::ConnectionRequest>> arrived_;
  Timer<Listener, &Listener::deliver> deliver_event_{"ndk.listener.connect", *this};
};

}  // namespace fb::ndk::provider
