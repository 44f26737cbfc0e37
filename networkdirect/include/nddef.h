#pragma once
// Structures and flags of the NetworkDirect service provider interface, version 2, as they lie in memory
// between a consumer and a provider. For C and C++; natural alignment, no packing.

#include <winsock2.h>

#include <stddef.h>

#define ND_VERSION_1 0x1
#define ND_VERSION_2 0x20000

// ND2_ADAPTER_INFO::AdapterFlags
#define ND_ADAPTER_FLAG_IN_ORDER_DMA_SUPPORTED 0x00000001
#define ND_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED 0x00000004
#define ND_ADAPTER_FLAG_MULTI_ENGINE_SUPPORTED 0x00000008
#define ND_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED 0x00000100
#define ND_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED 0x00010000

// IND2CompletionQueue::Notify
#define ND_CQ_NOTIFY_ERRORS 0
#define ND_CQ_NOTIFY_ANY 1
#define ND_CQ_NOTIFY_SOLICITED 2

// IND2MemoryRegion::Register. The local side may always read. Remote write includes local write, so a test
// for it compares both bits.
#define ND_MR_FLAG_ALLOW_LOCAL_WRITE 0x00000001
#define ND_MR_FLAG_ALLOW_REMOTE_READ 0x00000002
#define ND_MR_FLAG_ALLOW_REMOTE_WRITE 0x00000005
#define ND_MR_FLAG_RDMA_READ_SINK 0x00000008
#define ND_MR_FLAG_DO_NOT_SECURE_VM 0x80000000

// Requests of a queue pair. The NDK's flags of the same names have other values.
#define ND_OP_FLAG_SILENT_SUCCESS 0x00000001
#define ND_OP_FLAG_READ_FENCE 0x00000002
#define ND_OP_FLAG_SEND_AND_SOLICIT_EVENT 0x00000004
#define ND_OP_FLAG_ALLOW_READ 0x00000008
#define ND_OP_FLAG_ALLOW_WRITE 0x00000010
#define ND_OP_FLAG_INLINE 0x00000020

// What an adapter can do. On input InfoVersion says which form the caller knows: ND_VERSION_2 is what
// programs pass; the interface's documentation asks for 1, so a provider takes both.
typedef struct _ND2_ADAPTER_INFO {
  ULONG InfoVersion;
  UINT16 VendorId;
  UINT16 DeviceId;
  UINT64 AdapterId;
  SIZE_T MaxRegistrationSize;
  SIZE_T MaxWindowSize;
  ULONG MaxInitiatorSge;
  ULONG MaxReceiveSge;
  ULONG MaxReadSge;
  ULONG MaxTransferLength;
  ULONG MaxInlineDataSize;
  ULONG MaxInboundReadLimit;
  ULONG MaxOutboundReadLimit;
  ULONG MaxReceiveQueueDepth;
  ULONG MaxInitiatorQueueDepth;
  ULONG MaxSharedReceiveQueueDepth;  // 0: no shared receive queues
  ULONG MaxCompletionQueueDepth;
  ULONG InlineRequestThreshold;
  ULONG LargeRequestThreshold;
  ULONG MaxCallerData;
  ULONG MaxCalleeData;
  ULONG AdapterFlags;
} ND2_ADAPTER_INFO;

// The same for a 32-bit caller of a 64-bit driver.
typedef struct _ND2_ADAPTER_INFO32 {
  ULONG InfoVersion;
  UINT16 VendorId;
  UINT16 DeviceId;
  UINT64 AdapterId;
  ULONG MaxRegistrationSize;
  ULONG MaxWindowSize;
  ULONG MaxInitiatorSge;
  ULONG MaxReceiveSge;
  ULONG MaxReadSge;
  ULONG MaxTransferLength;
  ULONG MaxInlineDataSize;
  ULONG MaxInboundReadLimit;
  ULONG MaxOutboundReadLimit;
  ULONG MaxReceiveQueueDepth;
  ULONG MaxInitiatorQueueDepth;
  ULONG MaxSharedReceiveQueueDepth;
  ULONG MaxCompletionQueueDepth;
  ULONG InlineRequestThreshold;
  ULONG LargeRequestThreshold;
  ULONG MaxCallerData;
  ULONG MaxCalleeData;
  ULONG AdapterFlags;
} ND2_ADAPTER_INFO32;

typedef enum _ND2_REQUEST_TYPE {
  Nd2RequestTypeReceive = 0,
  Nd2RequestTypeSend = 1,
  Nd2RequestTypeBind = 2,
  Nd2RequestTypeInvalidate = 3,
  Nd2RequestTypeRead = 4,
  Nd2RequestTypeWrite = 5
} ND2_REQUEST_TYPE;

typedef struct _ND2_RESULT {
  HRESULT Status;
  ULONG BytesTransferred;  // of a Receive; otherwise without meaning
  VOID* QueuePairContext;
  VOID* RequestContext;
  ND2_REQUEST_TYPE RequestType;
} ND2_RESULT;

typedef struct _ND2_SGE {
  VOID* Buffer;
  ULONG BufferLength;
  UINT32 MemoryRegionToken;
} ND2_SGE;

// The layout holds for 64-bit code; ND_LAYOUT is silent elsewhere.
#if defined(__cplusplus)
#define ND_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define ND_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
#define ND_LAYOUT(type, member, offset) \
  ND_STATIC_ASSERT(sizeof(void*) != 8 || offsetof(type, member) == (offset), #type "." #member " is misplaced")
#define ND_LAYOUT_SIZE(type, size) ND_STATIC_ASSERT(sizeof(void*) != 8 || sizeof(type) == (size), #type " has another size")

ND_LAYOUT(ND2_ADAPTER_INFO, InfoVersion, 0);
ND_LAYOUT(ND2_ADAPTER_INFO, VendorId, 4);
ND_LAYOUT(ND2_ADAPTER_INFO, DeviceId, 6);
ND_LAYOUT(ND2_ADAPTER_INFO, AdapterId, 8);
ND_LAYOUT(ND2_ADAPTER_INFO, MaxRegistrationSize, 16);
ND_LAYOUT(ND2_ADAPTER_INFO, MaxWindowSize, 24);
ND_LAYOUT(ND2_ADAPTER_INFO, MaxInitiatorSge, 32);
ND_LAYOUT(ND2_ADAPTER_INFO, MaxReceiveSge, 36);
ND_LAYOUT(ND2_ADAPTER_INFO, MaxReadSge, 40);
ND_LAYOUT(ND2_ADAPTER_INFO, MaxTransferLength, 44);
ND_LAYOUT(ND2_ADAPTER_INFO, MaxInlineDataSize, 48);
ND_LAYOUT(ND2_ADAPTER_INFO, MaxInboundReadLimit, 52);
ND_LAYOUT(ND2_ADAPTER_INFO, MaxOutboundReadLimit, 56);
ND_LAYOUT(ND2_ADAPTER_INFO, MaxReceiveQueueDepth, 60);
ND_LAYOUT(ND2_ADAPTER_INFO, MaxInitiatorQueueDepth, 64);
ND_LAYOUT(ND2_ADAPTER_INFO, MaxSharedReceiveQueueDepth, 68);
ND_LAYOUT(ND2_ADAPTER_INFO, MaxCompletionQueueDepth, 72);
ND_LAYOUT(ND2_ADAPTER_INFO, InlineRequestThreshold, 76);
ND_LAYOUT(ND2_ADAPTER_INFO, LargeRequestThreshold, 80);
ND_LAYOUT(ND2_ADAPTER_INFO, MaxCallerData, 84);
ND_LAYOUT(ND2_ADAPTER_INFO, MaxCalleeData, 88);
ND_LAYOUT(ND2_ADAPTER_INFO, AdapterFlags, 92);
ND_LAYOUT_SIZE(ND2_ADAPTER_INFO, 96);

ND_LAYOUT(ND2_ADAPTER_INFO32, AdapterId, 8);
ND_LAYOUT(ND2_ADAPTER_INFO32, MaxRegistrationSize, 16);
ND_LAYOUT(ND2_ADAPTER_INFO32, MaxWindowSize, 20);
ND_LAYOUT(ND2_ADAPTER_INFO32, MaxInitiatorSge, 24);
ND_LAYOUT(ND2_ADAPTER_INFO32, MaxTransferLength, 36);
ND_LAYOUT(ND2_ADAPTER_INFO32, MaxReceiveQueueDepth, 52);
ND_LAYOUT(ND2_ADAPTER_INFO32, MaxCallerData, 76);
ND_LAYOUT(ND2_ADAPTER_INFO32, AdapterFlags, 84);
ND_LAYOUT_SIZE(ND2_ADAPTER_INFO32, 88);

ND_LAYOUT(ND2_RESULT, Status, 0);
ND_LAYOUT(ND2_RESULT, BytesTransferred, 4);
ND_LAYOUT(ND2_RESULT, QueuePairContext, 8);
ND_LAYOUT(ND2_RESULT, RequestContext, 16);
ND_LAYOUT(ND2_RESULT, RequestType, 24);
ND_LAYOUT_SIZE(ND2_RESULT, 32);
ND_STATIC_ASSERT(sizeof(ND2_REQUEST_TYPE) == 4, "the request type is an int");

ND_LAYOUT(ND2_SGE, Buffer, 0);
ND_LAYOUT(ND2_SGE, BufferLength, 8);
ND_LAYOUT(ND2_SGE, MemoryRegionToken, 12);
ND_LAYOUT_SIZE(ND2_SGE, 16);

// What NetworkDirect takes from the surroundings, and lies in the same memory.
ND_LAYOUT(OVERLAPPED, Internal, 0);
ND_LAYOUT(OVERLAPPED, InternalHigh, 8);
ND_LAYOUT(OVERLAPPED, Offset, 16);
ND_LAYOUT(OVERLAPPED, OffsetHigh, 20);
ND_LAYOUT(OVERLAPPED, Pointer, 16);
ND_LAYOUT(OVERLAPPED, hEvent, 24);
ND_LAYOUT_SIZE(OVERLAPPED, 32);
ND_LAYOUT(SOCKET_ADDRESS, lpSockaddr, 0);
ND_LAYOUT(SOCKET_ADDRESS, iSockaddrLength, 8);
ND_LAYOUT_SIZE(SOCKET_ADDRESS, 16);
ND_LAYOUT(SOCKET_ADDRESS_LIST, iAddressCount, 0);
ND_LAYOUT(SOCKET_ADDRESS_LIST, Address, 8);
ND_LAYOUT_SIZE(SOCKET_ADDRESS_LIST, 24);
ND_LAYOUT_SIZE(GUID, 16);
ND_STATIC_ASSERT(sizeof(HRESULT) == 4 && sizeof(ULONG) == 4 && sizeof(USHORT) == 2 && sizeof(BOOL) == 4, "integers of another width");
ND_STATIC_ASSERT(sizeof(SIZE_T) == sizeof(void*) && sizeof(HANDLE) == sizeof(void*) && sizeof(KAFFINITY) == sizeof(void*),
                 "pointer-sized types of another width");
