// The interface of connectors: every call goes to the device's thread.
#include "networkdirect/provider/connector.h"

namespace fb::networkdirect {

Connector::Connector(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file)
    : core_(std::make_shared<ConnectorCore>(std::move(adapter), std::move(file))) {
  live(Kind::connector, core_);
}

HRESULT Connector::CancelOverlappedRequests() {
  return run([&] { return core_->cancel(); });
}

HRESULT Connector::GetOverlappedResult(OVERLAPPED* overlapped, BOOL wait) { return overlapped_result(core_->adapter(), overlapped, wait); }

HRESULT Connector::Bind(const struct sockaddr* address, ULONG length) {
  return run([&] { return core_->bind(address, length); });
}

HRESULT Connector::Connect(IUnknown* queue_pair, const struct sockaddr* to, ULONG length, ULONG inbound, ULONG outbound, const VOID* data,
                           ULONG bytes, OVERLAPPED* overlapped) {
  return request(overlapped, [&] { return core_->connect(queue_pair, to, length, inbound, outbound, data, bytes, overlapped); });
}

HRESULT Connector::CompleteConnect(OVERLAPPED* overlapped) {
  return request(overlapped, [&] { return core_->complete_connect(overlapped); });
}

HRESULT Connector::Accept(IUnknown* queue_pair, ULONG inbound, ULONG outbound, const VOID* data, ULONG bytes, OVERLAPPED* overlapped) {
  return request(overlapped, [&] { return core_->accept(queue_pair, inbound, outbound, data, bytes, overlapped); });
}

HRESULT Connector::Reject(const VOID* data, ULONG bytes) {
  return run([&] { return core_->reject(data, bytes); });
}

HRESULT Connector::GetReadLimits(ULONG* inbound, ULONG* outbound) {
  return run([&] { return core_->read_limits(inbound, outbound); });
}

HRESULT Connector::GetPrivateData(VOID* data, ULONG* bytes) {
  return run([&] { return core_->private_data(data, bytes); });
}

HRESULT Connector::GetLocalAddress(struct sockaddr* address, ULONG* length) {
  return run([&] { return core_->local_address(address, length); });
}

HRESULT Connector::GetPeerAddress(struct sockaddr* address, ULONG* length) {
  return run([&] { return core_->peer_address(address, length); });
}

HRESULT Connector::NotifyDisconnect(OVERLAPPED* overlapped) {
  return request(overlapped, [&] { return core_->notify_disconnect(overlapped); });
}

HRESULT Connector::Disconnect(OVERLAPPED* overlapped) {
  return request(overlapped, [&] { return core_->disconnect(overlapped); });
}

void Connector::released() {
  const auto adapter = core_->shared_adapter();
  adapter->strand().call([&] {
    core_->close();
    core_.reset();
  });
}

}  // namespace fb::networkdirect
