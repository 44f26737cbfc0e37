#pragma once
// The NetworkDirect service provider interface, version 2: what a consumer calls and a provider implements.
// Interfaces are tables of methods in the manner of COM, without its runtime: from C++ an abstract class,
// from C (or with CINTERFACE) a structure behind lpVtbl. The numbers on the right are the slots, counted from
// 0: to the other side a method is its slot, whatever compiled it.
//
// A method that takes an OVERLAPPED may return ND_PENDING and finish later; all others finish at once.
// An implementation adds virtual functions, a destructor included, only in a class derived from these.

#include "nddef.h"
#include "ndstatus.h"

#include <unknwn.h>

// Every interface begins with the methods of its base: in C++ it inherits them, in C they are named again.
#if defined(__cplusplus) && !defined(CINTERFACE)
#define ND_UNKNOWN_SLOTS
#define ND_OVERLAPPED_SLOTS
#else
#define ND_UNKNOWN_SLOTS                                                \
  STDMETHOD(QueryInterface)(THIS_ REFIID riid, VOID * *ppvObject) PURE; \
  STDMETHOD_(ULONG, AddRef)(THIS) PURE;                                 \
  STDMETHOD_(ULONG, Release)(THIS) PURE;
#define ND_OVERLAPPED_SLOTS                       \
  ND_UNKNOWN_SLOTS                                \
  STDMETHOD(CancelOverlappedRequests)(THIS) PURE; \
  STDMETHOD(GetOverlappedResult)(THIS_ OVERLAPPED * pOverlapped, BOOL wait) PURE;
#endif

DEFINE_GUID(IID_IND2Overlapped, 0xABF72719, 0xB016, 0x4A40, 0xA6, 0xF7, 0x62, 0x27, 0x91, 0xA7, 0x04, 0x4C);
DEFINE_GUID(IID_IND2CompletionQueue, 0x20CC445E, 0x64A0, 0x4CBB, 0xAA, 0x75, 0xF6, 0xA7, 0x25, 0x1F, 0xDA, 0x9E);
DEFINE_GUID(IID_IND2SharedReceiveQueue, 0xAABD67DC, 0x459A, 0x4DB1, 0x82, 0x6B, 0x56, 0xCF, 0xCC, 0x27, 0x88, 0x83);
DEFINE_GUID(IID_IND2MemoryWindow, 0x070FE1F5, 0x0AB5, 0x4361, 0x88, 0xDB, 0x97, 0x4B, 0xA7, 0x04, 0xD4, 0xB9);
DEFINE_GUID(IID_IND2MemoryRegion, 0x55DFEA2F, 0xBC56, 0x4982, 0x8A, 0x45, 0x03, 0x01, 0xBE, 0x46, 0xC4, 0x13);
DEFINE_GUID(IID_IND2QueuePair, 0xEEF2F332, 0xB75D, 0x4063, 0xBC, 0xE3, 0x3A, 0x0B, 0xAD, 0x2D, 0x02, 0xCE);
DEFINE_GUID(IID_IND2Connector, 0x7DD615C4, 0x6B4C, 0x4866, 0x95, 0x0C, 0xF3, 0xB1, 0xD2, 0x5A, 0x53, 0x02);
DEFINE_GUID(IID_IND2Listener, 0x65D23D83, 0x3A57, 0x4E02, 0x86, 0xA4, 0x35, 0x01, 0x65, 0xC2, 0xD1, 0x30);
DEFINE_GUID(IID_IND2Adapter, 0xD89C798C, 0x4823, 0x4D69, 0x84, 0x6C, 0xDF, 0xDC, 0xCF, 0xF9, 0xE5, 0xF3);
DEFINE_GUID(IID_IND2Provider, 0x49EAE6C1, 0x76C4, 0x46D0, 0x80, 0x03, 0x5C, 0x2E, 0xAA, 0x2C, 0x9A, 0x8E);

// Version 1, only to be recognised and refused. INDMemoryWindow shares its identifier with IND2MemoryWindow.
DEFINE_GUID(IID_INDOverlapped, 0xC859E15E, 0x75E2, 0x4FE3, 0x8D, 0x6D, 0x0D, 0xFF, 0x36, 0xF0, 0x24, 0x42);
DEFINE_GUID(IID_INDCompletionQueue, 0x1245A633, 0x2A32, 0x473A, 0x83, 0x0C, 0xE0, 0x5D, 0x1F, 0x86, 0x9D, 0x02);
DEFINE_GUID(IID_INDMemoryWindow, 0x070FE1F5, 0x0AB5, 0x4361, 0x88, 0xDB, 0x97, 0x4B, 0xA7, 0x04, 0xD4, 0xB9);
DEFINE_GUID(IID_INDEndpoint, 0xDBD00EAB, 0xB679, 0x44A9, 0xBD, 0x65, 0xE8, 0x2F, 0x3D, 0xE1, 0x2D, 0x1A);
DEFINE_GUID(IID_INDConnector, 0x1BCAF2D1, 0xE274, 0x4AEB, 0xAC, 0x57, 0xCD, 0x5D, 0x43, 0x76, 0xE0, 0xB7);
DEFINE_GUID(IID_INDListen, 0xBB902588, 0xBA3F, 0x4441, 0x9F, 0xE1, 0x3B, 0x67, 0x95, 0xE4, 0xE6, 0x68);
DEFINE_GUID(IID_INDAdapter, 0xA023C5A0, 0x5B73, 0x43BC, 0x8D, 0x20, 0x33, 0xAA, 0x07, 0xE9, 0x51, 0x0F);
DEFINE_GUID(IID_INDProvider, 0x0C5DD316, 0x5FDF, 0x47E6, 0xB2, 0xD0, 0x2A, 0x6E, 0xDA, 0x8D, 0x39, 0xDD);

// What every object with asynchronous methods can do about the requests made on it.
#undef INTERFACE
#define INTERFACE IND2Overlapped
DECLARE_INTERFACE_(IND2Overlapped, IUnknown) {
  ND_UNKNOWN_SLOTS
  STDMETHOD(CancelOverlappedRequests)(THIS) PURE;                                  // 3
  STDMETHOD(GetOverlappedResult)(THIS_ OVERLAPPED * pOverlapped, BOOL wait) PURE;  // 4
};

#undef INTERFACE
#define INTERFACE IND2CompletionQueue
DECLARE_INTERFACE_(IND2CompletionQueue, IND2Overlapped) {
  ND_OVERLAPPED_SLOTS
  STDMETHOD(GetNotifyAffinity)(THIS_ USHORT * pGroup, KAFFINITY * pAffinity) PURE;  // 5
  STDMETHOD(Resize)(THIS_ ULONG queueDepth) PURE;                                   // 6
  STDMETHOD(Notify)(THIS_ ULONG type, OVERLAPPED * pOverlapped) PURE;               // 7
  STDMETHOD_(ULONG, GetResults)(THIS_ ND2_RESULT results[], ULONG nResults) PURE;   // 8
};

#undef INTERFACE
#define INTERFACE IND2SharedReceiveQueue
DECLARE_INTERFACE_(IND2SharedReceiveQueue, IND2Overlapped) {
  ND_OVERLAPPED_SLOTS
  STDMETHOD(GetNotifyAffinity)(THIS_ USHORT * pGroup, KAFFINITY * pAffinity) PURE;        // 5
  STDMETHOD(Modify)(THIS_ ULONG queueDepth, ULONG notifyThreshold) PURE;                  // 6
  STDMETHOD(Notify)(THIS_ OVERLAPPED * pOverlapped) PURE;                                 // 7
  STDMETHOD(Receive)(THIS_ VOID * requestContext, const ND2_SGE sge[], ULONG nSge) PURE;  // 8
};

#undef INTERFACE
#define INTERFACE IND2MemoryWindow
DECLARE_INTERFACE_(IND2MemoryWindow, IUnknown) {
  ND_UNKNOWN_SLOTS
  STDMETHOD_(UINT32, GetRemoteToken)(THIS) PURE;  // 3
};

#undef INTERFACE
#define INTERFACE IND2MemoryRegion
DECLARE_INTERFACE_(IND2MemoryRegion, IND2Overlapped) {
  ND_OVERLAPPED_SLOTS
  STDMETHOD(Register)(THIS_ const VOID* pBuffer, SIZE_T cbBuffer, ULONG flags, OVERLAPPED* pOverlapped) PURE;  // 5
  STDMETHOD(Deregister)(THIS_ OVERLAPPED * pOverlapped) PURE;                                                  // 6
  STDMETHOD_(UINT32, GetLocalToken)(THIS) PURE;                                                                // 7
  STDMETHOD_(UINT32, GetRemoteToken)(THIS) PURE;                                                               // 8
};

// A list of buffers is read during the call alone; it may be empty. Remote addresses are in host order,
// remote tokens are passed on as GetRemoteToken gave them.
#undef INTERFACE
#define INTERFACE IND2QueuePair
DECLARE_INTERFACE_(IND2QueuePair, IUnknown) {
  ND_UNKNOWN_SLOTS
  STDMETHOD(Flush)(THIS) PURE;                                                                      // 3
  STDMETHOD(Send)(THIS_ VOID * requestContext, const ND2_SGE sge[], ULONG nSge, ULONG flags) PURE;  // 4
  STDMETHOD(Receive)(THIS_ VOID * requestContext, const ND2_SGE sge[], ULONG nSge) PURE;            // 5
  STDMETHOD(Bind)
  (THIS_ VOID * requestContext, IUnknown * pMemoryRegion, IUnknown * pMemoryWindow,  // 6
   const VOID* pBuffer, SIZE_T cbBuffer, ULONG flags) PURE;
  STDMETHOD(Invalidate)(THIS_ VOID * requestContext, IUnknown * pMemoryWindow, ULONG flags) PURE;  // 7
  STDMETHOD(Read)
  (THIS_ VOID * requestContext, const ND2_SGE sge[], ULONG nSge, UINT64 remoteAddress,  // 8
   UINT32 remoteToken, ULONG flags) PURE;
  STDMETHOD(Write)
  (THIS_ VOID * requestContext, const ND2_SGE sge[], ULONG nSge, UINT64 remoteAddress,  // 9
   UINT32 remoteToken, ULONG flags) PURE;
};

#undef INTERFACE
#define INTERFACE IND2Connector
DECLARE_INTERFACE_(IND2Connector, IND2Overlapped) {
  ND_OVERLAPPED_SLOTS
  STDMETHOD(Bind)(THIS_ const struct sockaddr* pAddress, ULONG cbAddress) PURE;  // 5
  STDMETHOD(Connect)
  (THIS_ IUnknown * pQueuePair, const struct sockaddr* pDestinationAddress,  // 6
   ULONG cbDestinationAddress, ULONG inboundReadLimit, ULONG outboundReadLimit, const VOID* pPrivateData, ULONG cbPrivateData,
   OVERLAPPED* pOverlapped) PURE;
  STDMETHOD(CompleteConnect)(THIS_ OVERLAPPED * pOverlapped) PURE;  // 7
  STDMETHOD(Accept)
  (THIS_ IUnknown * pQueuePair, ULONG inboundReadLimit, ULONG outboundReadLimit,  // 8
   const VOID* pPrivateData, ULONG cbPrivateData, OVERLAPPED* pOverlapped) PURE;
  STDMETHOD(Reject)(THIS_ const VOID* pPrivateData, ULONG cbPrivateData) PURE;                 // 9
  STDMETHOD(GetReadLimits)(THIS_ ULONG * pInboundReadLimit, ULONG * pOutboundReadLimit) PURE;  // 10
  STDMETHOD(GetPrivateData)(THIS_ VOID * pPrivateData, ULONG * pcbPrivateData) PURE;           // 11
  STDMETHOD(GetLocalAddress)(THIS_ struct sockaddr * pAddress, ULONG * pcbAddress) PURE;       // 12
  STDMETHOD(GetPeerAddress)(THIS_ struct sockaddr * pAddress, ULONG * pcbAddress) PURE;        // 13
  STDMETHOD(NotifyDisconnect)(THIS_ OVERLAPPED * pOverlapped) PURE;                            // 14
  STDMETHOD(Disconnect)(THIS_ OVERLAPPED * pOverlapped) PURE;                                  // 15
};

#undef INTERFACE
#define INTERFACE IND2Listener
DECLARE_INTERFACE_(IND2Listener, IND2Overlapped) {
  ND_OVERLAPPED_SLOTS
  STDMETHOD(Bind)(THIS_ const struct sockaddr* pAddress, ULONG cbAddress) PURE;                 // 5
  STDMETHOD(Listen)(THIS_ ULONG backlog) PURE;                                                  // 6
  STDMETHOD(GetLocalAddress)(THIS_ struct sockaddr * pAddress, ULONG * pcbAddress) PURE;        // 7
  STDMETHOD(GetConnectionRequest)(THIS_ IUnknown * pConnector, OVERLAPPED * pOverlapped) PURE;  // 8
};

#undef INTERFACE
#define INTERFACE IND2Adapter
DECLARE_INTERFACE_(IND2Adapter, IUnknown) {
  ND_UNKNOWN_SLOTS
  STDMETHOD(CreateOverlappedFile)(THIS_ HANDLE * phOverlappedFile) PURE;                               // 3
  STDMETHOD(Query)(THIS_ ND2_ADAPTER_INFO * pInfo, ULONG * pcbInfo) PURE;                              // 4
  STDMETHOD(QueryAddressList)(THIS_ SOCKET_ADDRESS_LIST * pAddressList, ULONG * pcbAddressList) PURE;  // 5
  STDMETHOD(CreateCompletionQueue)
  (THIS_ REFIID iid, HANDLE hOverlappedFile, ULONG queueDepth, USHORT group,  // 6
   KAFFINITY affinity, VOID * *ppCompletionQueue) PURE;
  STDMETHOD(CreateMemoryRegion)(THIS_ REFIID iid, HANDLE hOverlappedFile, VOID * *ppMemoryRegion) PURE;  // 7
  STDMETHOD(CreateMemoryWindow)(THIS_ REFIID iid, VOID * *ppMemoryWindow) PURE;                          // 8
  STDMETHOD(CreateSharedReceiveQueue)
  (THIS_ REFIID iid, HANDLE hOverlappedFile, ULONG queueDepth,  // 9
   ULONG maxRequestSge, ULONG notifyThreshold, USHORT group, KAFFINITY affinity, VOID * *ppSharedReceiveQueue) PURE;
  STDMETHOD(CreateQueuePair)
  (THIS_ REFIID iid, IUnknown * pReceiveCompletionQueue,  // 10
   IUnknown * pInitiatorCompletionQueue, VOID * context, ULONG receiveQueueDepth, ULONG initiatorQueueDepth, ULONG maxReceiveRequestSge,
   ULONG maxInitiatorRequestSge, ULONG inlineDataSize, VOID * *ppQueuePair) PURE;
  STDMETHOD(CreateQueuePairWithSrq)
  (THIS_ REFIID iid, IUnknown * pReceiveCompletionQueue,  // 11
   IUnknown * pInitiatorCompletionQueue, IUnknown * pSharedReceiveQueue, VOID * context, ULONG initiatorQueueDepth,
   ULONG maxInitiatorRequestSge, ULONG inlineDataSize, VOID * *ppQueuePair) PURE;
  STDMETHOD(CreateConnector)(THIS_ REFIID iid, HANDLE hOverlappedFile, VOID * *ppConnector) PURE;  // 12
  STDMETHOD(CreateListener)(THIS_ REFIID iid, HANDLE hOverlappedFile, VOID * *ppListener) PURE;    // 13
};

#undef INTERFACE
#define INTERFACE IND2Provider
DECLARE_INTERFACE_(IND2Provider, IUnknown) {
  ND_UNKNOWN_SLOTS
  STDMETHOD(QueryAddressList)(THIS_ SOCKET_ADDRESS_LIST * pAddressList, ULONG * pcbAddressList) PURE;          // 3
  STDMETHOD(ResolveAddress)(THIS_ const struct sockaddr* pAddress, ULONG cbAddress, UINT64* pAdapterId) PURE;  // 4
  STDMETHOD(OpenAdapter)(THIS_ REFIID iid, UINT64 adapterId, VOID * *ppAdapter) PURE;                          // 5
};
#undef INTERFACE
