// Connectors: one connection each, active or passive.
#pragma once

#include "networkdirect/provider/adapter_core.h"
#include "networkdirect/provider/addresses.h"
#include "networkdirect/provider/requests.h"

namespace fb::networkdirect {

class QueuePairCore;

/// On the device's thread, all of it.
class ConnectorCore final : public Core, public rdma::ConnectionHandler, public std::enable_shared_from_this<ConnectorCore> {
 public:
  static constexpr Kind kKind = Kind::connector;
  ConnectorCore(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file)
      : adapter_(std::move(adapter)), requests_(std::move(file)) {}
  ~ConnectorCore() override;

  AdapterCore& adapter() { return *adapter_; }
  const std::shared_ptr<AdapterCore>& shared_adapter() const { return adapter_; }

  HRESULT bind(const struct sockaddr* address, ULONG length);
  HRESULT connect(IUnknown* queue_pair, const struct sockaddr* to, ULONG length, ULONG inbound, ULONG outbound, const void* data,
                  ULONG bytes, OVERLAPPED* overlapped);
  HRESULT complete_connect(OVERLAPPED* overlapped);
  HRESULT accept(IUnknown* queue_pair, ULONG inbound, ULONG outbound, const void* data, ULONG bytes, OVERLAPPED* overlapped);
  HRESULT reject(const void* data, ULONG bytes);
  HRESULT read_limits(ULONG* inbound, ULONG* outbound) const;
  HRESULT private_data(void* out, ULONG* bytes) const;
  HRESULT local_address(struct sockaddr* out, ULONG* length) const;
  HRESULT peer_address(struct sockaddr* out, ULONG* length) const;
  HRESULT notify_disconnect(OVERLAPPED* overlapped);
  HRESULT disconnect(OVERLAPPED* overlapped);
  HRESULT cancel();

  Requests& requests() { return requests_; }

  /// Nobody has used it yet: a listener may fill it.
  bool unused() const { return state_ == State::idle; }
  /// A listener's request is this connector's now.
  void take(std::unique_ptr<rdma::ConnectionRequest> request, const Endpoint& local);
  /// The last reference is gone: whatever is going on ends.
  void close();
  /// The queue pair is being destroyed.
  void queue_pair_gone();

 private:
  enum class State : std::uint8_t {
    idle,
    bound,       ///< has a local address; the active side before and after attempts
    connecting,  ///< our request is on its way
    replied,     ///< the peer accepted: CompleteConnect or Reject
    completing,
    requested,  ///< holds a peer's request: Accept or Reject
    accepting,
    connected,
    disconnecting,
    over
  };
  static bool has_peer(State state) { return state >= State::replied && state <= State::disconnecting; }

  void on_established(rdma::QueuePair& qp, const rdma::ConnectionFacts& facts) override;
  void on_accepted(rdma::QueuePair& qp, const rdma::ConnectionFacts& facts) override;
  void on_rejected(rdma::QueuePair& qp, std::uint16_t reason, ByteView private_data) override;
  void on_unreachable(rdma::QueuePair& qp) override;
  void on_disconnected(rdma::QueuePair& qp) override;
  void on_queue_error(rdma::QueuePair& qp) override;

  /// What a request of the wrong state is answered.
  HRESULT unconnected() const;
  HRESULT usable(const std::shared_ptr<QueuePairCore>& queue_pair) const;
  /// What a peer's data may be; ND_SUCCESS or the status.
  HRESULT judge(const void* data, ULONG bytes, ULONG most) const;
  void keep(ByteView data);
  void attempt_failed(HRESULT status);
  void spent(unsigned request, HRESULT status);
  void on_disconnected_locally();
  void on_reply_withdrawn();
  void release_connection();
  void release_address();
  void give_up();

  std::shared_ptr<AdapterCore> adapter_;
  Requests requests_;
  State state_ = State::idle;
  bool passive_ = false;
  bool was_connected_ = false;
  bool timed_out_ = false;         // for the peer, before CompleteConnect
  bool disconnect_asked_ = false;  // by this end, which may do so once, before or after the peer
  Instant asked_at_;
  Timer<ConnectorCore, &ConnectorCore::give_up> giving_up_{"networkdirect.connect.give_up", *this};
  Instant waiting_since_;  // for the consumer's Accept or CompleteConnect
  QueuePairCore* queue_pair_ = nullptr;
  std::unique_ptr<rdma::ConnectionRequest> request_;
  Endpoint local_, peer_;
  bool owns_port_ = false;
  bool owns_connection_ = false;
  Bytes private_data_;
  bool has_data_ = false;
  ULONG inbound_ = 0, outbound_ = 0;
};

/// Before a queue pair goes: its connector hears of it.
void release_queue_pair(QueuePairCore& queue_pair);

class Connector final : public Object<IND2Connector> {
 public:
  Connector(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file);

  HRESULT STDMETHODCALLTYPE CancelOverlappedRequests() override;
  HRESULT STDMETHODCALLTYPE GetOverlappedResult(OVERLAPPED* overlapped, BOOL wait) override;
  HRESULT STDMETHODCALLTYPE Bind(const struct sockaddr* address, ULONG length) override;
  HRESULT STDMETHODCALLTYPE Connect(IUnknown* queue_pair, const struct sockaddr* to, ULONG length, ULONG inbound, ULONG outbound,
                                    const VOID* data, ULONG bytes, OVERLAPPED* overlapped) override;
  HRESULT STDMETHODCALLTYPE CompleteConnect(OVERLAPPED* overlapped) override;
  HRESULT STDMETHODCALLTYPE Accept(IUnknown* queue_pair, ULONG inbound, ULONG outbound, const VOID* data, ULONG bytes,
                                   OVERLAPPED* overlapped) override;
  HRESULT STDMETHODCALLTYPE Reject(const VOID* data, ULONG bytes) override;
  HRESULT STDMETHODCALLTYPE GetReadLimits(ULONG* inbound, ULONG* outbound) override;
  HRESULT STDMETHODCALLTYPE GetPrivateData(VOID* data, ULONG* bytes) override;
  HRESULT STDMETHODCALLTYPE GetLocalAddress(struct sockaddr* address, ULONG* length) override;
  HRESULT STDMETHODCALLTYPE GetPeerAddress(struct sockaddr* address, ULONG* length) override;
  HRESULT STDMETHODCALLTYPE NotifyDisconnect(OVERLAPPED* overlapped) override;
  HRESULT STDMETHODCALLTYPE Disconnect(OVERLAPPED* overlapped) override;

 private:
  bool departs(std::string_view point) const override { return core_->adapter().departs(point); }
  bool answers(REFIID iid) const override { return iid == IID_IND2Connector || iid == IID_IND2Overlapped; }
  void released() override;
  template <class Work>
  HRESULT run(Work&& work) {
    return on_device(core_->adapter(), std::forward<Work>(work));
  }
  template <class Work>
  HRESULT request(OVERLAPPED* overlapped, Work&& work) {
    return run([&] {
      Requests::Call call(core_->requests(), overlapped, core_->adapter());
      return call.answer(work());
    });
  }
  std::shared_ptr<ConnectorCore> core_;
};

}  // namespace fb::networkdirect
