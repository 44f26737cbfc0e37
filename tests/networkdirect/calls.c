// NetworkDirect as a C program sees it: every call through lpVtbl, the tables' places by number, and an object
// written in C.
#include "tests/networkdirect/calls.h"

#include <stddef.h>

static const GUID iid_one = {1, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}};

#define IID_ONE (&iid_one)
#define CALLS(name, Interface) int c_calls_##name(Interface* object)
#define CALL(Method, ...) object->lpVtbl->Method(object, __VA_ARGS__)
#define CALL_PLAIN(Method) object->lpVtbl->Method(object)
#include "tests/networkdirect/calls.inc"

#define PLACE(Interface, Method, slot) \
  _Static_assert(offsetof(Interface##Vtbl, Method) == (slot) * sizeof(void*), #Interface "::" #Method)
#define PLACES(Interface, slots) _Static_assert(sizeof(Interface##Vtbl) == (slots) * sizeof(void*), #Interface)
#define UNKNOWN_PLACES(Interface)     \
  PLACE(Interface, QueryInterface, 0); \
  PLACE(Interface, AddRef, 1);         \
  PLACE(Interface, Release, 2)
#define OVERLAPPED_PLACES(Interface)             \
  UNKNOWN_PLACES(Interface);                      \
  PLACE(Interface, CancelOverlappedRequests, 3);  \
  PLACE(Interface, GetOverlappedResult, 4)

OVERLAPPED_PLACES(IND2Overlapped);
PLACES(IND2Overlapped, 5);
OVERLAPPED_PLACES(IND2CompletionQueue);
PLACE(IND2CompletionQueue, GetNotifyAffinity, 5);
PLACE(IND2CompletionQueue, Resize, 6);
PLACE(IND2CompletionQueue, Notify, 7);
PLACE(IND2CompletionQueue, GetResults, 8);
PLACES(IND2CompletionQueue, 9);
OVERLAPPED_PLACES(IND2SharedReceiveQueue);
PLACE(IND2SharedReceiveQueue, GetNotifyAffinity, 5);
PLACE(IND2SharedReceiveQueue, Modify, 6);
PLACE(IND2SharedReceiveQueue, Notify, 7);
PLACE(IND2SharedReceiveQueue, Receive, 8);
PLACES(IND2SharedReceiveQueue, 9);
UNKNOWN_PLACES(IND2MemoryWindow);
PLACE(IND2MemoryWindow, GetRemoteToken, 3);
PLACES(IND2MemoryWindow, 4);
OVERLAPPED_PLACES(IND2MemoryRegion);
PLACE(IND2MemoryRegion, Register, 5);
PLACE(IND2MemoryRegion, Deregister, 6);
PLACE(IND2MemoryRegion, GetLocalToken, 7);
PLACE(IND2MemoryRegion, GetRemoteToken, 8);
PLACES(IND2MemoryRegion, 9);
UNKNOWN_PLACES(IND2QueuePair);
PLACE(IND2QueuePair, Flush, 3);
PLACE(IND2QueuePair, Send, 4);
PLACE(IND2QueuePair, Receive, 5);
PLACE(IND2QueuePair, Bind, 6);
PLACE(IND2QueuePair, Invalidate, 7);
PLACE(IND2QueuePair, Read, 8);
PLACE(IND2QueuePair, Write, 9);
PLACES(IND2QueuePair, 10);
OVERLAPPED_PLACES(IND2Connector);
PLACE(IND2Connector, Bind, 5);
PLACE(IND2Connector, Connect, 6);
PLACE(IND2Connector, CompleteConnect, 7);
PLACE(IND2Connector, Accept, 8);
PLACE(IND2Connector, Reject, 9);
PLACE(IND2Connector, GetReadLimits, 10);
PLACE(IND2Connector, GetPrivateData, 11);
PLACE(IND2Connector, GetLocalAddress, 12);
PLACE(IND2Connector, GetPeerAddress, 13);
PLACE(IND2Connector, NotifyDisconnect, 14);
PLACE(IND2Connector, Disconnect, 15);
PLACES(IND2Connector, 16);
OVERLAPPED_PLACES(IND2Listener);
PLACE(IND2Listener, Bind, 5);
PLACE(IND2Listener, Listen, 6);
PLACE(IND2Listener, GetLocalAddress, 7);
PLACE(IND2Listener, GetConnectionRequest, 8);
PLACES(IND2Listener, 9);
UNKNOWN_PLACES(IND2Adapter);
PLACE(IND2Adapter, CreateOverlappedFile, 3);
PLACE(IND2Adapter, Query, 4);
PLACE(IND2Adapter, QueryAddressList, 5);
PLACE(IND2Adapter, CreateCompletionQueue, 6);
PLACE(IND2Adapter, CreateMemoryRegion, 7);
PLACE(IND2Adapter, CreateMemoryWindow, 8);
PLACE(IND2Adapter, CreateSharedReceiveQueue, 9);
PLACE(IND2Adapter, CreateQueuePair, 10);
PLACE(IND2Adapter, CreateQueuePairWithSrq, 11);
PLACE(IND2Adapter, CreateConnector, 12);
PLACE(IND2Adapter, CreateListener, 13);
PLACES(IND2Adapter, 14);
UNKNOWN_PLACES(IND2Provider);
PLACE(IND2Provider, QueryAddressList, 3);
PLACE(IND2Provider, ResolveAddress, 4);
PLACE(IND2Provider, OpenAdapter, 5);
PLACES(IND2Provider, 6);

static HRESULT STDMETHODCALLTYPE query_interface(IND2MemoryRegion* object, REFIID iid, void** out) {
  (void)object, (void)iid, (void)out;
  return answer_base + 0;
}
static ULONG STDMETHODCALLTYPE add_ref(IND2MemoryRegion* object) {
  (void)object;
  return answer_base + 1;
}
static ULONG STDMETHODCALLTYPE release(IND2MemoryRegion* object) {
  (void)object;
  return answer_base + 2;
}
static HRESULT STDMETHODCALLTYPE cancel(IND2MemoryRegion* object) {
  (void)object;
  return answer_base + 3;
}
static HRESULT STDMETHODCALLTYPE result(IND2MemoryRegion* object, OVERLAPPED* request, BOOL wait) {
  (void)object, (void)request, (void)wait;
  return answer_base + 4;
}
static HRESULT STDMETHODCALLTYPE register_memory(IND2MemoryRegion* object, const VOID* buffer, SIZE_T size, ULONG flags,
                                                 OVERLAPPED* request) {
  (void)object, (void)buffer, (void)size, (void)flags, (void)request;
  return answer_base + 5;
}
static HRESULT STDMETHODCALLTYPE deregister(IND2MemoryRegion* object, OVERLAPPED* request) {
  (void)object, (void)request;
  return answer_base + 6;
}
static UINT32 STDMETHODCALLTYPE local_token(IND2MemoryRegion* object) {
  (void)object;
  return answer_base + 7;
}
static UINT32 STDMETHODCALLTYPE remote_token(IND2MemoryRegion* object) {
  (void)object;
  return answer_base + 8;
}

IND2MemoryRegion* c_memory_region(void) {
  static IND2MemoryRegionVtbl table = {query_interface, add_ref,    release,     cancel,      result,
                                       register_memory, deregister, local_token, remote_token};
  static IND2MemoryRegion region = {&table};
  return &region;
}

unsigned c_status_codes(const HRESULT** codes) {
  static const HRESULT all[] = {
#define CODE(name, value) name,
#include "tests/networkdirect/status_codes.inc"
#undef CODE
  };
  *codes = all;
  return sizeof(all) / sizeof(all[0]);
}

unsigned c_identifiers(GUID identifiers[], unsigned room) {
  unsigned count = 0;
#define IDENTIFIER(name, text) \
  if (count < room) identifiers[count++] = name;
#include "tests/networkdirect/identifiers.inc"
#undef IDENTIFIER
  return count;
}
