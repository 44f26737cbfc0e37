#pragma once
// An object for each interface whose methods do nothing but note which slot was called with what.

#include <ndspi.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "tests/networkdirect/calls.h"

namespace nd_test {

struct Call {
  unsigned slot;
  std::vector<std::uint64_t> arguments;
};

inline std::uint64_t number(const GUID& identifier) { return identifier.Data1; }
template <class T>
std::uint64_t number(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uintptr_t>(value);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

// The slots of IUnknown. The interface comes first, so that its table is the object's.
template <class Interface>
class Unknown : public Interface {
 public:
  std::vector<Call> calls;

  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override { return note(0, iid, out); }
  ULONG STDMETHODCALLTYPE AddRef() override { return count(1); }
  ULONG STDMETHODCALLTYPE Release() override { return count(2); }

 protected:
  template <class... Arguments>
  std::uint32_t count(unsigned slot, const Arguments&... arguments) {
    calls.push_back({slot, {number(arguments)...}});
    return answer_base + slot;
  }
  template <class... Arguments>
  HRESULT note(unsigned slot, const Arguments&... arguments) {
    return static_cast<HRESULT>(count(slot, arguments...));
  }
};

template <class Interface>
class Overlapped : public Unknown<Interface> {
 public:
  HRESULT STDMETHODCALLTYPE CancelOverlappedRequests() override { return this->note(3); }
  HRESULT STDMETHODCALLTYPE GetOverlappedResult(OVERLAPPED* request, BOOL wait) override { return this->note(4, request, wait); }
};

class CompletionQueue final : public Overlapped<IND2CompletionQueue> {
 public:
  HRESULT STDMETHODCALLTYPE GetNotifyAffinity(USHORT* group, KAFFINITY* affinity) override { return note(5, group, affinity); }
  HRESULT STDMETHODCALLTYPE Resize(ULONG depth) override { return note(6, depth); }
  HRESULT STDMETHODCALLTYPE Notify(ULONG type, OVERLAPPED* request) override { return note(7, type, request); }
  ULONG STDMETHODCALLTYPE GetResults(ND2_RESULT results[], ULONG room) override { return count(8, results, room); }
};

class SharedReceiveQueue final : public Overlapped<IND2SharedReceiveQueue> {
 public:
  HRESULT STDMETHODCALLTYPE GetNotifyAffinity(USHORT* group, KAFFINITY* affinity) override { return note(5, group, affinity); }
  HRESULT STDMETHODCALLTYPE Modify(ULONG depth, ULONG threshold) override { return note(6, depth, threshold); }
  HRESULT STDMETHODCALLTYPE Notify(OVERLAPPED* request) override { return note(7, request); }
  HRESULT STDMETHODCALLTYPE Receive(VOID* context, const ND2_SGE sge[], ULONG n) override { return note(8, context, sge, n); }
};

class MemoryWindow final : public Unknown<IND2MemoryWindow> {
 public:
  UINT32 STDMETHODCALLTYPE GetRemoteToken() override { return count(3); }
};

class MemoryRegion final : public Overlapped<IND2MemoryRegion> {
 public:
  HRESULT STDMETHODCALLTYPE Register(const VOID* buffer, SIZE_T size, ULONG flags, OVERLAPPED* request) override {
    return note(5, buffer, size, flags, request);
  }
  HRESULT STDMETHODCALLTYPE Deregister(OVERLAPPED* request) override { return note(6, request); }
  UINT32 STDMETHODCALLTYPE GetLocalToken() override { return count(7); }
  UINT32 STDMETHODCALLTYPE GetRemoteToken() override { return count(8); }
};

class QueuePair final : public Unknown<IND2QueuePair> {
 public:
  HRESULT STDMETHODCALLTYPE Flush() override { return note(3); }
  HRESULT STDMETHODCALLTYPE Send(VOID* context, const ND2_SGE sge[], ULONG n, ULONG flags) override {
    return note(4, context, sge, n, flags);
  }
  HRESULT STDMETHODCALLTYPE Receive(VOID* context, const ND2_SGE sge[], ULONG n) override { return note(5, context, sge, n); }
  HRESULT STDMETHODCALLTYPE Bind(VOID* context, IUnknown* region, IUnknown* window, const VOID* buffer, SIZE_T size, ULONG flags) override {
    return note(6, context, region, window, buffer, size, flags);
  }
  HRESULT STDMETHODCALLTYPE Invalidate(VOID* context, IUnknown* window, ULONG flags) override { return note(7, context, window, flags); }
  HRESULT STDMETHODCALLTYPE Read(VOID* context, const ND2_SGE sge[], ULONG n, UINT64 address, UINT32 token, ULONG flags) override {
    return note(8, context, sge, n, address, token, flags);
  }
  HRESULT STDMETHODCALLTYPE Write(VOID* context, const ND2_SGE sge[], ULONG n, UINT64 address, UINT32 token, ULONG flags) override {
    return note(9, context, sge, n, address, token, flags);
  }
};

class Connector final : public Overlapped<IND2Connector> {
 public:
  HRESULT STDMETHODCALLTYPE Bind(const sockaddr* address, ULONG size) override { return note(5, address, size); }
  HRESULT STDMETHODCALLTYPE Connect(IUnknown* queue_pair, const sockaddr* address, ULONG size, ULONG inbound, ULONG outbound,
                                    const VOID* data, ULONG data_size, OVERLAPPED* request) override {
    return note(6, queue_pair, address, size, inbound, outbound, data, data_size, request);
  }
  HRESULT STDMETHODCALLTYPE CompleteConnect(OVERLAPPED* request) override { return note(7, request); }
  HRESULT STDMETHODCALLTYPE Accept(IUnknown* queue_pair, ULONG inbound, ULONG outbound, const VOID* data, ULONG data_size,
                                   OVERLAPPED* request) override {
    return note(8, queue_pair, inbound, outbound, data, data_size, request);
  }
  HRESULT STDMETHODCALLTYPE Reject(const VOID* data, ULONG data_size) override { return note(9, data, data_size); }
  HRESULT STDMETHODCALLTYPE GetReadLimits(ULONG* inbound, ULONG* outbound) override { return note(10, inbound, outbound); }
  HRESULT STDMETHODCALLTYPE GetPrivateData(VOID* data, ULONG* size) override { return note(11, data, size); }
  HRESULT STDMETHODCALLTYPE GetLocalAddress(sockaddr* address, ULONG* size) override { return note(12, address, size); }
  HRESULT STDMETHODCALLTYPE GetPeerAddress(sockaddr* address, ULONG* size) override { return note(13, address, size); }
  HRESULT STDMETHODCALLTYPE NotifyDisconnect(OVERLAPPED* request) override { return note(14, request); }
  HRESULT STDMETHODCALLTYPE Disconnect(OVERLAPPED* request) override { return note(15, request); }
};

class Listener final : public Overlapped<IND2Listener> {
 public:
  HRESULT STDMETHODCALLTYPE Bind(const sockaddr* address, ULONG size) override { return note(5, address, size); }
  HRESULT STDMETHODCALLTYPE Listen(ULONG backlog) override { return note(6, backlog); }
  HRESULT STDMETHODCALLTYPE GetLocalAddress(sockaddr* address, ULONG* size) override { return note(7, address, size); }
  HRESULT STDMETHODCALLTYPE GetConnectionRequest(IUnknown* connector, OVERLAPPED* request) override { return note(8, connector, request); }
};

class Adapter final : public Unknown<IND2Adapter> {
 public:
  HRESULT STDMETHODCALLTYPE CreateOverlappedFile(HANDLE* file) override { return note(3, file); }
  HRESULT STDMETHODCALLTYPE Query(ND2_ADAPTER_INFO* info, ULONG* size) override { return note(4, info, size); }
  HRESULT STDMETHODCALLTYPE QueryAddressList(SOCKET_ADDRESS_LIST* list, ULONG* size) override { return note(5, list, size); }
  HRESULT STDMETHODCALLTYPE CreateCompletionQueue(REFIID iid, HANDLE file, ULONG depth, USHORT group, KAFFINITY affinity,
                                                  VOID** out) override {
    return note(6, iid, file, depth, group, affinity, out);
  }
  HRESULT STDMETHODCALLTYPE CreateMemoryRegion(REFIID iid, HANDLE file, VOID** out) override { return note(7, iid, file, out); }
  HRESULT STDMETHODCALLTYPE CreateMemoryWindow(REFIID iid, VOID** out) override { return note(8, iid, out); }
  HRESULT STDMETHODCALLTYPE CreateSharedReceiveQueue(REFIID iid, HANDLE file, ULONG depth, ULONG max_sge, ULONG threshold, USHORT group,
                                                     KAFFINITY affinity, VOID** out) override {
    return note(9, iid, file, depth, max_sge, threshold, group, affinity, out);
  }
  HRESULT STDMETHODCALLTYPE CreateQueuePair(REFIID iid, IUnknown* receive, IUnknown* initiator, VOID* context, ULONG receive_depth,
                                            ULONG initiator_depth, ULONG receive_sge, ULONG initiator_sge, ULONG inline_size,
                                            VOID** out) override {
    return note(10, iid, receive, initiator, context, receive_depth, initiator_depth, receive_sge, initiator_sge, inline_size, out);
  }
  HRESULT STDMETHODCALLTYPE CreateQueuePairWithSrq(REFIID iid, IUnknown* receive, IUnknown* initiator, IUnknown* srq, VOID* context,
                                                   ULONG initiator_depth, ULONG initiator_sge, ULONG inline_size, VOID** out) override {
    return note(11, iid, receive, initiator, srq, context, initiator_depth, initiator_sge, inline_size, out);
  }
  HRESULT STDMETHODCALLTYPE CreateConnector(REFIID iid, HANDLE file, VOID** out) override { return note(12, iid, file, out); }
  HRESULT STDMETHODCALLTYPE CreateListener(REFIID iid, HANDLE file, VOID** out) override { return note(13, iid, file, out); }
};

class Provider final : public Unknown<IND2Provider> {
 public:
  HRESULT STDMETHODCALLTYPE QueryAddressList(SOCKET_ADDRESS_LIST* list, ULONG* size) override { return note(3, list, size); }
  HRESULT STDMETHODCALLTYPE ResolveAddress(const sockaddr* address, ULONG size, UINT64* id) override { return note(4, address, size, id); }
  HRESULT STDMETHODCALLTYPE OpenAdapter(REFIID iid, UINT64 id, VOID** out) override { return note(5, iid, id, out); }
};

}  // namespace nd_test
