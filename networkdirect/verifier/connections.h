// Wrappers of connectors and listeners.
#pragma once

#include "networkdirect/verifier/session.h"

namespace fb::networkdirect::verifier {

class Connector final : public OverlappedFacade<IND2Connector> {
 public:
  Connector(Session& session, std::shared_ptr<AdapterState> adapter, IND2Connector& inner);
  std::shared_ptr<ConnectorState> state() const { return state_; }

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
  using Phase = ConnectorState::Phase;
  bool answers(REFIID iid) const override { return iid == IID_IND2Connector || iid == IID_IND2Overlapped; }
  void last_release(Call& call) override;
  /// The request that ends this phase is pending still: what comes next is too early.
  bool waiting();
  /// The phase is that one, and its request is no longer pending: it succeeded, for all that is known.
  bool past(Phase phase) { return state_->phase == phase && !waiting(); }
  bool has_reply() { return state_->phase == Phase::replied || past(Phase::connecting); }
  bool has_request() { return state_->phase == Phase::requested || past(Phase::filling); }
  bool has_connection() {
    return state_->phase == Phase::connected || state_->phase == Phase::ended || past(Phase::accepting) || past(Phase::completing);
  }
  bool surely_connected();
  void judge_data(Call& call, const VOID* data, ULONG bytes, ULONG most);
  void judge_queue_pair(Call& call, const QueuePairState& queue_pair);
  void judge_early(Call& call);
  void judge_port(Call& call, const struct sockaddr* to, ULONG length);
  void note_receives();
  void attach(std::shared_ptr<QueuePairState> queue_pair, ULONG outbound);
  void begin(Phase phase, OVERLAPPED* overlapped) {
    state_->phase = phase;
    state_->waiting_for = overlapped;
  }
  /// The request that began a phase ended in its call.
  void succeeded(Phase phase, Phase next) {
    if (state_->phase == phase) begin(next, nullptr);
  }

  std::shared_ptr<ConnectorState> state_;
};

class Listener final : public OverlappedFacade<IND2Listener> {
 public:
  Listener(Session& session, std::shared_ptr<AdapterState> adapter, IND2Listener& inner)
      : OverlappedFacade(session, Kind::listener, std::move(adapter), inner) {}

  HRESULT STDMETHODCALLTYPE Bind(const struct sockaddr* address, ULONG length) override;
  HRESULT STDMETHODCALLTYPE Listen(ULONG backlog) override;
  HRESULT STDMETHODCALLTYPE GetLocalAddress(struct sockaddr* address, ULONG* length) override;
  HRESULT STDMETHODCALLTYPE GetConnectionRequest(IUnknown* connector, OVERLAPPED* overlapped) override;

 private:
  bool answers(REFIID iid) const override { return iid == IID_IND2Listener || iid == IID_IND2Overlapped; }
  bool bound_ = false;
  bool listening_ = false;
};

}  // namespace fb::networkdirect::verifier
