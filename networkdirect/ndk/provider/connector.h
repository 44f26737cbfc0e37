// Connectors: one connection each, active or passive. And shared endpoints: local ends for several connectors.
#pragma once

#include "networkdirect/ndk/provider/adapter.h"

namespace fb::ndk::provider {

class Listener;

class SharedEndpoint final : public NDK_SHARED_ENDPOINT, public Object {
 public:
  SharedEndpoint(Adapter& adapter, std::uint16_t port);
  std::uint16_t port() const { return port_; }

  static NTSTATUS create(NDK_ADAPTER* adapter, PSOCKADDR address, ULONG length, NDK_FN_CREATE_COMPLETION completion, PVOID context,
                         NDK_SHARED_ENDPOINT** place);
  static NTSTATUS local_address(NDK_SHARED_ENDPOINT* endpoint, PSOCKADDR address, ULONG* length);

 private:
  void take_down() override;
  std::uint16_t port_;
};

class Connector final : public NDK_CONNECTOR, public Object {
 public:
  explicit Connector(Adapter& adapter);

  /// A peer's request, which the consumer hears of with this connector.
  void take(std::unique_ptr<rdma::ConnectionRequest> request, Listener& listener);

  // Of the queue pair.
  void on_established(const rdma::ConnectionFacts& facts);
  void on_accepted(const rdma::ConnectionFacts& facts);
  void on_rejected(std::uint16_t reason, ByteView private_data);
  void on_unreachable();
  void on_disconnected();
  void queue_pair_closes();
  /// The connection ends by a failure here.
  void queue_pair_breaks() { broken_ = true; }

  static NTSTATUS create(NDK_ADAPTER* adapter, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_CONNECTOR** place);
  static NTSTATUS connect(NDK_CONNECTOR* connector, NDK_QP* qp, PSOCKADDR from, ULONG from_length, PSOCKADDR to, ULONG to_length,
                          ULONG inbound, ULONG outbound, PVOID data, ULONG bytes, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS connect_shared(NDK_CONNECTOR* connector, NDK_QP* qp, NDK_SHARED_ENDPOINT* endpoint, PSOCKADDR to, ULONG to_length,
                                 ULONG inbound, ULONG outbound, PVOID data, ULONG bytes, NDK_FN_REQUEST_COMPLETION completion,
                                 PVOID context);
  static NTSTATUS complete_connect(NDK_CONNECTOR* connector, NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context,
                                   NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS complete_connect_ex(NDK_CONNECTOR* connector, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context,
                                      NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS accept(NDK_CONNECTOR* connector, NDK_QP* qp, ULONG inbound, ULONG outbound, PVOID data, ULONG bytes,
                         NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS accept_ex(NDK_CONNECTOR* connector, NDK_QP* qp, ULONG inbound, ULONG outbound, PVOID data, ULONG bytes,
                            NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context, NDK_FN_REQUEST_COMPLETION completion,
                            PVOID context);
  static NTSTATUS reject(NDK_CONNECTOR* connector, PVOID data, ULONG bytes);
  static NTSTATUS connection_data(NDK_CONNECTOR* connector, ULONG* inbound, ULONG* outbound, PVOID data, ULONG* bytes);
  static NTSTATUS local_address(NDK_CONNECTOR* connector, PSOCKADDR address, ULONG* length);
  static NTSTATUS peer_address(NDK_CONNECTOR* connector, PSOCKADDR address, ULONG* length);
  static NTSTATUS disconnect(NDK_CONNECTOR* connector, NDK_FN_REQUEST_COMPLETION completion, PVOID context);

 private:
  enum class State : std::uint8_t {
    idle,
    connecting,  ///< our request is on its way
    replied,     ///< the peer accepted: CompleteConnect or Reject
    completing,
    requested,  ///< holds a peer's request: Accept or Reject
    accepting,
    connected,
    disconnecting,
    over  ///< was connected, or never will be
  };
  /// A call that has pended: the one that a connector can have.
  struct Pending {
    NDK_FN_REQUEST_COMPLETION completion = nullptr;
    PVOID context = nullptr;
  };
  struct DisconnectEvent {
    NDK_FN_DISCONNECT_EVENT_CALLBACK plain = nullptr;
    NDK_FN_DISCONNECT_EVENT_CALLBACK_EX extended = nullptr;
    PVOID context = nullptr;
  };
  ~Connector() override;

  NTSTATUS begin_connect(QueuePair& qp, std::optional<std::uint16_t> shared_port, const Endpoint& from, PSOCKADDR to, ULONG to_length,
                         ULONG inbound, ULONG outbound, ByteView data, const Pending& pending);
  NTSTATUS begin_complete(const DisconnectEvent& event, const Pending& pending);
  NTSTATUS begin_accept(NDK_QP* qp, ULONG inbound, ULONG outbound, ByteView data, const DisconnectEvent& event, const Pending& pending);
  NTSTATUS usable(const QueuePair& qp) const;
  NTSTATUS give_address(const Endpoint& endpoint, PSOCKADDR address, ULONG* length) const;
  void keep(ByteView data);
  void hold(QueuePair& qp);
  void let_queue_pair_go();
  void pend(const Pending& pending);
  void complete_pending(NTSTATUS status);
  void attempt_failed(NTSTATUS status);
  void give_up() { attempt_failed(STATUS_IO_TIMEOUT); }
  void spent(NTSTATUS status);
  void over();
  void tell_disconnect(ULONG reason);
  void release_address();
  void begin_close() override;
  void take_down() override;

  State state_ = State::idle;
  QueuePair* queue_pair_ = nullptr;  ///< while the connector has to do with it
  QueuePair* stood_ = nullptr;       ///< until the connector ends
  SharedEndpoint* endpoint_ = nullptr;
  std::unique_ptr<rdma::ConnectionRequest> request_;
  Endpoint local_, peer_;
  bool owns_port_ = false;
  bool owns_connection_ = false;
  Bytes private_data_;
  bool has_data_ = false;
  ULONG inbound_ = 0, outbound_ = 0;
  bool broken_ = false;   ///< the connection ends by a failure of ours
  bool refused_ = false;  ///< and nothing else will come of it, where a card has it so
  Instant asked_at_;
  Timer<Connector, &Connector::give_up> giving_up_{"ndk.connect.give_up", *this};
  Pending pending_;
  DisconnectEvent event_;
};

/// What NdkAcceptEx and NdkCompleteConnectEx's callbacks are told.
namespace disconnect_reason {
inline constexpr ULONG kUnknown = 0;
inline constexpr ULONG kPeer = 1;     ///< the peer disconnected
inline constexpr ULONG kFailure = 2;  ///< a request failed here, or a completion queue overran
}  // namespace disconnect_reason

}  // namespace fb::ndk::provider
