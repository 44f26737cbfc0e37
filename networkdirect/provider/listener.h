// Listeners: connection requests wait here until a consumer asks for them.
#pragma once

#include <deque>

#include "networkdirect/provider/adapter_core.h"
#include "networkdirect/provider/connector.h"
#include "networkdirect/provider/requests.h"

namespace fb::networkdirect {

/// On the device's thread, all of it.
class ListenerCore final : public Core, rdma::ListenHandler {
 public:
  static constexpr Kind kKind = Kind::listener;
  ListenerCore(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file)
      : adapter_(std::move(adapter)), requests_(std::move(file)) {}
  ~ListenerCore() override { close(); }

  AdapterCore& adapter() { return *adapter_; }
  const std::shared_ptr<AdapterCore>& shared_adapter() const { return adapter_; }

  HRESULT bind(const struct sockaddr* address, ULONG length);
  HRESULT listen(ULONG backlog);
  HRESULT local_address(struct sockaddr* out, ULONG* length) const;
  HRESULT get_connection_request(IUnknown* connector, OVERLAPPED* overlapped);
  HRESULT cancel();
  void close();
  Requests& requests() { return requests_; }

 private:
  void on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) override;
  void match();

  std::shared_ptr<AdapterCore> adapter_;
  Requests requests_;
  Endpoint local_;
  bool bound_ = false;
  std::size_t backlog_ = 0;
  std::unique_ptr<rdma::Listener> device_listener_;
  std::deque<std::unique_ptr<rdma::ConnectionRequest>> arrived_;
  std::deque<std::shared_ptr<ConnectorCore>> waiting_;  // one a pending request
  std::vector<std::weak_ptr<ConnectorCore>> filled_;    // for a departure
};

class Listener final : public Object<IND2Listener> {
 public:
  Listener(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file);

  HRESULT STDMETHODCALLTYPE CancelOverlappedRequests() override;
  HRESULT STDMETHODCALLTYPE GetOverlappedResult(OVERLAPPED* overlapped, BOOL wait) override;
  HRESULT STDMETHODCALLTYPE Bind(const struct sockaddr* address, ULONG length) override;
  HRESULT STDMETHODCALLTYPE Listen(ULONG backlog) override;
  HRESULT STDMETHODCALLTYPE GetLocalAddress(struct sockaddr* address, ULONG* length) override;
  HRESULT STDMETHODCALLTYPE GetConnectionRequest(IUnknown* connector, OVERLAPPED* overlapped) override;

 private:
  bool answers(REFIID iid) const override { return iid == IID_IND2Listener || iid == IID_IND2Overlapped; }
  void released() override;
  std::shared_ptr<ListenerCore> core_;
};

}  // namespace fb::networkdirect
