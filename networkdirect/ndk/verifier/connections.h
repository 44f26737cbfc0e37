// Connectors, listeners and shared endpoints.
#pragma once

#include "networkdirect/ndk/verifier/queues.h"

namespace fb::ndk::verifier {

class SharedEndpoint final : public Shell<NDK_SHARED_ENDPOINT, NdkObjectTypeSharedEndpoint, &Tables::shared_endpoint,
                                          &NDK_SHARED_ENDPOINT_DISPATCH::NdkCloseSharedEndpoint> {
 public:
  using Shell::Shell;
  static NTSTATUS local_address(NDK_SHARED_ENDPOINT* endpoint, PSOCKADDR address, ULONG* length);
};

class Connector final
    : public Shell<NDK_CONNECTOR, NdkObjectTypeConnector, &Tables::connector, &NDK_CONNECTOR_DISPATCH::NdkCloseConnector> {
 public:
  using Shell::Shell;
  enum class Phase : std::uint8_t {
    fresh,
    connecting,
    replied,
    completing,
    requested,
    accepting,
    connected,
    disconnecting,
    disconnected,  ///< by the consumer
    left,          ///< by the peer, or because it failed
    rejected
  };
  Phase phase = Phase::fresh;

  static NTSTATUS connect(NDK_CONNECTOR* connector, NDK_QP* qp, PSOCKADDR from, ULONG from_length, PSOCKADDR to, ULONG to_length,
                          ULONG inbound, ULONG outbound, PVOID data, ULONG bytes, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS connect_shared(NDK_CONNECTOR* connector, NDK_QP* qp, NDK_SHARED_ENDPOINT* endpoint, PSOCKADDR to, ULONG to_length,
                                 ULONG inbound, ULONG outbound, PVOID data, ULONG bytes, NDK_FN_REQUEST_COMPLETION completion,
                                 PVOID context);
  static NTSTATUS complete(NDK_CONNECTOR* connector, NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context,
                           NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS complete_ex(NDK_CONNECTOR* connector, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context,
                              NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS complete_ex_too_early(NDK_CONNECTOR* connector, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context,
                                        NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS accept(NDK_CONNECTOR* connector, NDK_QP* qp, ULONG inbound, ULONG outbound, PVOID data, ULONG bytes,
                         NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS accept_ex(NDK_CONNECTOR* connector, NDK_QP* qp, ULONG inbound, ULONG outbound, PVOID data, ULONG bytes,
                            NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context, NDK_FN_REQUEST_COMPLETION completion,
                            PVOID context);
  static NTSTATUS accept_ex_too_early(NDK_CONNECTOR* connector, NDK_QP* qp, ULONG inbound, ULONG outbound, PVOID data, ULONG bytes,
                                      NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context, NDK_FN_REQUEST_COMPLETION completion,
                                      PVOID context);
  static NTSTATUS reject(NDK_CONNECTOR* connector, PVOID data, ULONG bytes);
  static NTSTATUS connection_data(NDK_CONNECTOR* connector, ULONG* inbound, ULONG* outbound, PVOID data, ULONG* bytes);
  static NTSTATUS local_address(NDK_CONNECTOR* connector, PSOCKADDR address, ULONG* length);
  static NTSTATUS peer_address(NDK_CONNECTOR* connector, PSOCKADDR address, ULONG* length);
  static NTSTATUS disconnect(NDK_CONNECTOR* connector, NDK_FN_REQUEST_COMPLETION completion, PVOID context);

 private:
  struct DisconnectEvent {
    NDK_FN_DISCONNECT_EVENT_CALLBACK plain = nullptr;
    NDK_FN_DISCONNECT_EVENT_CALLBACK_EX extended = nullptr;
    PVOID context = nullptr;
    bool given() const { return plain != nullptr || extended != nullptr; }
  };
  static VOID on_disconnect(PVOID context);
  static VOID on_disconnect_ex(PVOID context, ULONG reason);
  void peer_left();
  bool judge_connect(Call& call, const QueuePair& qp, PVOID data, ULONG bytes) const;
  void judge_port(Call& call, PSOCKADDR from, PSOCKADDR to);
  template <class Work>
  NTSTATUS begin_connect(Call& call, QueuePair& qp, ULONG outbound, PVOID data, ULONG bytes, NDK_FN_REQUEST_COMPLETION completion,
                         PVOID context, Work&& work);
  template <class Work>
  NTSTATUS begin_complete(Call& call, const DisconnectEvent& event, NDK_FN_REQUEST_COMPLETION completion, PVOID context, Work&& work);
  template <class Work>
  NTSTATUS begin_accept(Call& call, NDK_QP* qp, ULONG outbound, PVOID data, ULONG bytes, const DisconnectEvent& event,
                        NDK_FN_REQUEST_COMPLETION completion, PVOID context, Work&& work);
  void agreed(Phase expected, NTSTATUS status);
  void ended(Phase how);
  void closing(Call& call) override;

  QueuePair* queue_pair_ = nullptr;
  bool attempted_ = false;  ///< there has been a Connect
  bool completed_ = false;  ///< and a CompleteConnect
  bool accepted_ = false;
  std::pair<std::uint16_t, Endpoint> attempt_;  ///< among the adapter's
  DisconnectEvent event_;
};

class Listener final : public Shell<NDK_LISTENER, NdkObjectTypeListener, &Tables::listener, &NDK_LISTENER_DISPATCH::NdkCloseListener> {
 public:
  Listener(Session& session, Adapter& adapter, NDK_FN_CONNECT_EVENT_CALLBACK event, PVOID context)
      : Shell(session, adapter), event_(event), context_(context) {}
  static VOID on_connect(PVOID context, NDK_CONNECTOR* connector);
  static NTSTATUS listen(NDK_LISTENER* listener, PSOCKADDR address, ULONG length, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS local_address(NDK_LISTENER* listener, PSOCKADDR address, ULONG* length);
  static VOID control_events(NDK_LISTENER* listener, BOOLEAN pause);

 private:
  enum class Phase : std::uint8_t { fresh, beginning, listening };
  const NDK_FN_CONNECT_EVENT_CALLBACK event_;
  const PVOID context_;
  Phase phase_ = Phase::fresh;
};

}  // namespace fb::ndk::verifier
