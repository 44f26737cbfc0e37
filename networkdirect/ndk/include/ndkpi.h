#pragma once
// The kernel provider interface of NetworkDirect: objects, each a header and a table of functions that take
// the object first. A function with a completion callback may return STATUS_PENDING; the callback then runs
// exactly once, perhaps before the function has returned. With any other status it never runs.
//
// Every function and callback may be called at DISPATCH_LEVEL or below, except NdkQueryAdapterInfo, which
// waits and needs PASSIVE_LEVEL.

#include "ndkinfo.h"

typedef enum _NDK_OBJECT_TYPE {
  NdkObjectTypeUndefined = 0,
  NdkObjectTypeAdapter = 1,
  NdkObjectTypeQp = 2,
  NdkObjectTypeCq = 3,
  NdkObjectTypeMr = 4,
  NdkObjectTypeMw = 5,
  NdkObjectTypePd = 6,
  NdkObjectTypeSharedEndpoint = 7,
  NdkObjectTypeConnector = 8,
  NdkObjectTypeListener = 9,
  NdkObjectTypeSrq = 10,
  NdkObjectTypeMax = 11
} NDK_OBJECT_TYPE;

// The consumer's until the object is closed; the provider gives it as zeroes.
typedef struct _NDK_OBJECT_HEADER_RESERVED_BLOCK {
  PVOID rf[4];
} NDK_OBJECT_HEADER_RESERVED_BLOCK;

typedef struct _NDK_OBJECT_HEADER {
  NDK_VERSION Version;  // the provider's
  NDK_OBJECT_TYPE ObjectType;
  NDK_OBJECT_HEADER_RESERVED_BLOCK NdkReserved;
} NDK_OBJECT_HEADER;

typedef struct _NDK_ADAPTER NDK_ADAPTER;
typedef struct _NDK_PD NDK_PD;
typedef struct _NDK_CQ NDK_CQ;
typedef struct _NDK_MR NDK_MR;
typedef struct _NDK_MW NDK_MW;
typedef struct _NDK_SRQ NDK_SRQ;
typedef struct _NDK_QP NDK_QP;
typedef struct _NDK_CONNECTOR NDK_CONNECTOR;
typedef struct _NDK_LISTENER NDK_LISTENER;
typedef struct _NDK_SHARED_ENDPOINT NDK_SHARED_ENDPOINT;

// NdkArmCq
#define NDK_CQ_NOTIFY_ERRORS 0
#define NDK_CQ_NOTIFY_ANY 1
#define NDK_CQ_NOTIFY_SOLICITED 2

// NdkRegisterMr. Remote write includes local write.
#define NDK_MR_FLAG_ALLOW_LOCAL_READ 0x00000000
#define NDK_MR_FLAG_ALLOW_LOCAL_WRITE 0x00000001
#define NDK_MR_FLAG_ALLOW_REMOTE_READ 0x00000002
#define NDK_MR_FLAG_ALLOW_REMOTE_WRITE 0x00000005
#define NDK_MR_FLAG_RDMA_READ_SINK 0x00000008

// Requests of a queue pair. Not the values of the ND_OP_FLAG_ names.
#define NDK_OP_FLAG_SILENT_SUCCESS 0x00000001
#define NDK_OP_FLAG_READ_FENCE 0x00000002
#define NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT 0x00000004
#define NDK_OP_FLAG_ALLOW_REMOTE_READ 0x00000008
#define NDK_OP_FLAG_ALLOW_LOCAL_WRITE 0x00000010
#define NDK_OP_FLAG_ALLOW_REMOTE_WRITE 0x00000030
#define NDK_OP_FLAG_INLINE 0x00000040
#define NDK_OP_FLAG_RDMA_READ_SINK 0x00000080
#if NDK_HEADER_VERSION >= NDK_VERSION_1_2
// One document prints 0x200 for this flag; that value is NDK_OP_FLAG_DEFER.
#define NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE 0x00000100
#define NDK_OP_FLAG_DEFER 0x00000200
#endif

// An address as the adapter sees it, of a whole page or within one.
typedef PHYSICAL_ADDRESS NDK_LOGICAL_ADDRESS;

typedef struct _NDK_LOGICAL_ADDRESS_MAPPING {
  PVOID AdapterContext;  // the provider's
  ULONG AdapterPageCount;
  NDK_LOGICAL_ADDRESS AdapterPageArray[1];  // AdapterPageCount of them
} NDK_LOGICAL_ADDRESS_MAPPING;

// With the privileged token the address is logical, otherwise virtual and within a registered region.
typedef struct _NDK_SGE {
  union {
    PVOID VirtualAddress;
    NDK_LOGICAL_ADDRESS LogicalAddress;
  };
  ULONG Length;
  UINT32 MemoryRegionToken;
} NDK_SGE;

typedef struct _NDK_RESULT {
  NTSTATUS Status;
  ULONG BytesTransferred;  // of a receive
  PVOID QPContext;
  PVOID RequestContext;
} NDK_RESULT;

#if NDK_HEADER_VERSION >= NDK_VERSION_1_2
// The lowest bit tells a receive from a request of one's own.
typedef enum _NDK_OPERATION_TYPE {
  NdkOperationTypeReceive = 1,
  NdkOperationTypeReceiveAndInvalidate = 0x8001,
  NdkOperationTypeSend = 2,
  NdkOperationTypeFastRegister = 4,
  NdkOperationTypeBind = 8,
  NdkOperationTypeInvalidate = 16,
  NdkOperationTypeRead = 32,
  NdkOperationTypeWrite = 64
} NDK_OPERATION_TYPE;

// In 64-bit code the error code of version 2.1 lies where padding was.
typedef struct _NDK_RESULT_EX {
  NTSTATUS Status;
  ULONG BytesTransferred;
  PVOID QPContext;
  PVOID RequestContext;
  NDK_OPERATION_TYPE Type;
#if NDK_HEADER_VERSION >= NDK_VERSION_2_1
  ULONG ProviderErrorCode;
#endif
  ULONG_PTR TypeSpecificCompletionOutput;  // NdkOperationTypeReceiveAndInvalidate: the token
} NDK_RESULT_EX;
#endif

// Callbacks of the consumer.
typedef VOID (*NDK_FN_CLOSE_COMPLETION)(PVOID Context);
typedef VOID (*NDK_FN_REQUEST_COMPLETION)(PVOID Context, NTSTATUS Status);
typedef VOID (*NDK_FN_CREATE_COMPLETION)(PVOID Context, NTSTATUS Status, NDK_OBJECT_HEADER* pNdkObject);
typedef VOID (*NDK_FN_CQ_NOTIFICATION_CALLBACK)(PVOID CqNotificationContext, NTSTATUS CqStatus);
typedef VOID (*NDK_FN_SRQ_NOTIFICATION_CALLBACK)(PVOID SrqNotificationContext, NTSTATUS SrqStatus);
typedef VOID (*NDK_FN_CONNECT_EVENT_CALLBACK)(PVOID ConnectEventContext, NDK_CONNECTOR* pNdkConnector);
typedef VOID (*NDK_FN_DISCONNECT_EVENT_CALLBACK)(PVOID DisconnectEventContext);
#if NDK_HEADER_VERSION >= NDK_VERSION_2_1
// A reason of 0 is unknown; others are the provider's own.
typedef VOID (*NDK_FN_DISCONNECT_EVENT_CALLBACK_EX)(PVOID DisconnectEventContext, ULONG ProviderDisconnectReason);
#endif

// Functions of any object. No extension is defined.
typedef struct _NDK_EXTENSION_INTERFACE {
  CONST VOID* Dispatch;
} NDK_EXTENSION_INTERFACE;

typedef NTSTATUS (*NDK_FN_QUERY_EXTENSION_INTERFACE)(NDK_OBJECT_HEADER* pNdkObject, GUID* ExtensionInterfaceId,
                                                     NDK_VERSION ExtensionInterfaceVersion, NDK_EXTENSION_INTERFACE* pExtensionInterface);
// Never fails: done now, or STATUS_PENDING and CloseCompletion as the last callback of the object.
typedef NTSTATUS (*NDK_FN_CLOSE_OBJECT)(NDK_OBJECT_HEADER* pNdkObject, NDK_FN_CLOSE_COMPLETION CloseCompletion, PVOID RequestContext);

// Adapter.
typedef NTSTATUS (*NDK_FN_QUERY_ADAPTER_INFO)(NDK_ADAPTER* pNdkAdapter, NDK_ADAPTER_INFO* pInfo, ULONG* pBufferSize);
typedef NTSTATUS (*NDK_FN_CREATE_CQ)(NDK_ADAPTER* pNdkAdapter, ULONG CqDepth, NDK_FN_CQ_NOTIFICATION_CALLBACK CqNotification,
                                     PVOID CqNotificationContext, GROUP_AFFINITY* Affinity, NDK_FN_CREATE_COMPLETION CreateCompletion,
                                     PVOID RequestContext, NDK_CQ** ppNdkCq);
typedef NTSTATUS (*NDK_FN_CREATE_PD)(NDK_ADAPTER* pNdkAdapter, NDK_FN_CREATE_COMPLETION CreateCompletion, PVOID RequestContext,
                                     NDK_PD** ppNdkPd);
typedef NTSTATUS (*NDK_FN_CREATE_SHARED_ENDPOINT)(NDK_ADAPTER* pNdkAdapter, PSOCKADDR pAddress, ULONG AddressLength,
                                                  NDK_FN_CREATE_COMPLETION CreateCompletion, PVOID RequestContext,
                                                  NDK_SHARED_ENDPOINT** ppNdkSharedEndpoint);
typedef NTSTATUS (*NDK_FN_CREATE_CONNECTOR)(NDK_ADAPTER* pNdkAdapter, NDK_FN_CREATE_COMPLETION CreateCompletion, PVOID RequestContext,
                                            NDK_CONNECTOR** ppNdkConnector);
typedef NTSTATUS (*NDK_FN_CREATE_LISTENER)(NDK_ADAPTER* pNdkAdapter, NDK_FN_CONNECT_EVENT_CALLBACK ConnectEvent, PVOID ConnectEventContext,
                                           NDK_FN_CREATE_COMPLETION CreateCompletion, PVOID RequestContext, NDK_LISTENER** ppNdkListener);
typedef NTSTATUS (*NDK_FN_BUILD_LAM)(NDK_ADAPTER* pNdkAdapter, MDL* Mdl, SIZE_T Length, NDK_FN_REQUEST_COMPLETION RequestCompletion,
                                     PVOID RequestContext, NDK_LOGICAL_ADDRESS_MAPPING* pNdkLAM, ULONG* pLAMSize, ULONG* pFBO);
typedef VOID (*NDK_FN_RELEASE_LAM)(NDK_ADAPTER* pNdkAdapter, NDK_LOGICAL_ADDRESS_MAPPING* pNdkLAM);

// Protection domain.
typedef NTSTATUS (*NDK_FN_CREATE_MR)(NDK_PD* pNdkPd, BOOLEAN FastRegister, NDK_FN_CREATE_COMPLETION CreateCompletion, PVOID RequestContext,
                                     NDK_MR** ppNdkMr);
typedef NTSTATUS (*NDK_FN_CREATE_MW)(NDK_PD* pNdkPd, NDK_FN_CREATE_COMPLETION CreateCompletion, PVOID RequestContext, NDK_MW** ppNdkMw);
typedef NTSTATUS (*NDK_FN_CREATE_SRQ)(NDK_PD* pNdkPd, ULONG SrqDepth, ULONG MaxReceiveRequestSge, ULONG NotifyThreshold,
                                      NDK_FN_SRQ_NOTIFICATION_CALLBACK SrqNotification, PVOID SrqNotificationContext,
                                      GROUP_AFFINITY* Affinity, NDK_FN_CREATE_COMPLETION CreateCompletion, PVOID RequestContext,
                                      NDK_SRQ** ppNdkSrq);
typedef NTSTATUS (*NDK_FN_CREATE_QP)(NDK_PD* pNdkPd, NDK_CQ* pReceiveCq, NDK_CQ* pInitiatorCq, PVOID QPContext, ULONG ReceiveQueueDepth,
                                     ULONG InitiatorQueueDepth, ULONG MaxReceiveRequestSge, ULONG MaxInitiatorRequestSge,
                                     ULONG InlineDataSize, NDK_FN_CREATE_COMPLETION CreateCompletion, PVOID RequestContext,
                                     NDK_QP** ppNdkQp);
typedef NTSTATUS (*NDK_FN_CREATE_QP_WITH_SRQ)(NDK_PD* pNdkPd, NDK_CQ* pReceiveCq, NDK_CQ* pInitiatorCq, NDK_SRQ* pSrq, PVOID QPContext,
                                              ULONG InitiatorQueueDepth, ULONG MaxInitiatorRequestSge, ULONG InlineDataSize,
                                              NDK_FN_CREATE_COMPLETION CreateCompletion, PVOID RequestContext, NDK_QP** ppNdkQp);
typedef VOID (*NDK_FN_GET_PRIVILEGED_MEMORY_REGION_TOKEN)(NDK_PD* pNdkPd, UINT32* pToken);

// Completion queue.
typedef NTSTATUS (*NDK_FN_RESIZE_CQ)(NDK_CQ* pNdkCq, ULONG CqDepth, NDK_FN_REQUEST_COMPLETION RequestCompletion, PVOID RequestContext);
typedef VOID (*NDK_FN_ARM_CQ)(NDK_CQ* pNdkCq, ULONG TriggerType);
typedef ULONG (*NDK_FN_GET_CQ_RESULTS)(NDK_CQ* pNdkCq, NDK_RESULT Results[], ULONG nResults);
// Microseconds, and entries. No moderation: 0, or a count of 1. Both unlimited is refused.
typedef NTSTATUS (*NDK_FN_CONTROL_CQ_INTERRUPT_MODERATION)(NDK_CQ* pNdkCq, ULONG ModerationInterval, ULONG ModerationCount);
#if NDK_HEADER_VERSION >= NDK_VERSION_1_2
typedef ULONG (*NDK_FN_GET_CQ_RESULTS_EX)(NDK_CQ* pNdkCq, NDK_RESULT_EX Results[], ULONG nResults);
#endif

// Memory regions and windows.
typedef NTSTATUS (*NDK_FN_REGISTER_MR)(NDK_MR* pNdkMr, MDL* Mdl, SIZE_T Length, ULONG Flags, NDK_FN_REQUEST_COMPLETION RequestCompletion,
                                       PVOID RequestContext);
typedef NTSTATUS (*NDK_FN_DEREGISTER_MR)(NDK_MR* pNdkMr, NDK_FN_REQUEST_COMPLETION RequestCompletion, PVOID RequestContext);
typedef NTSTATUS (*NDK_FN_INITIALIZE_FAST_REGISTER_MR)(NDK_MR* pNdkMr, ULONG AdapterPageCount, BOOLEAN RemoteAccess,
                                                       NDK_FN_REQUEST_COMPLETION RequestCompletion, PVOID RequestContext);
typedef UINT32 (*NDK_FN_GET_REMOTE_TOKEN_FROM_MR)(NDK_MR* pNdkMr);
typedef UINT32 (*NDK_FN_GET_LOCAL_TOKEN_FROM_MR)(NDK_MR* pNdkMr);
typedef UINT32 (*NDK_FN_GET_REMOTE_TOKEN_FROM_MW)(NDK_MW* pNdkMw);

// Shared receive queue. Of both numbers 0 leaves what is.
typedef NTSTATUS (*NDK_FN_MODIFY_SRQ)(NDK_SRQ* pNdkSrq, ULONG SrqDepth, ULONG NotifyThreshold, NDK_FN_REQUEST_COMPLETION RequestCompletion,
                                      PVOID RequestContext);
typedef NTSTATUS (*NDK_FN_SRQ_RECEIVE)(NDK_SRQ* pNdkSrq, PVOID RequestContext, CONST NDK_SGE* pSgl, ULONG nSge);

// Queue pair. A status other than success: nothing was done and no result follows.
typedef VOID (*NDK_FN_FLUSH)(NDK_QP* pNdkQp);
typedef NTSTATUS (*NDK_FN_SEND)(NDK_QP* pNdkQp, PVOID RequestContext, CONST NDK_SGE* pSgl, ULONG nSge, ULONG Flags);
typedef NTSTATUS (*NDK_FN_RECEIVE)(NDK_QP* pNdkQp, PVOID RequestContext, CONST NDK_SGE* pSgl, ULONG nSge);
typedef NTSTATUS (*NDK_FN_BIND)(NDK_QP* pNdkQp, PVOID RequestContext, NDK_MR* pMr, NDK_MW* pMw, PVOID VirtualAddress, SIZE_T Length,
                                ULONG Flags);
typedef NTSTATUS (*NDK_FN_FAST_REGISTER)(NDK_QP* pNdkQp, PVOID RequestContext, NDK_MR* pMr, ULONG AdapterPageCount,
                                         CONST NDK_LOGICAL_ADDRESS* AdapterPageArray, ULONG FBO, SIZE_T Length, PVOID BaseVirtualAddress,
                                         ULONG Flags);
typedef NTSTATUS (*NDK_FN_INVALIDATE)(NDK_QP* pNdkQp, PVOID RequestContext, NDK_OBJECT_HEADER* pNdkMrOrMw, ULONG Flags);
typedef NTSTATUS (*NDK_FN_READ)(NDK_QP* pNdkQp, PVOID RequestContext, CONST NDK_SGE* pSgl, ULONG nSge, UINT64 RemoteAddress,
                                UINT32 RemoteToken, ULONG Flags);
typedef NTSTATUS (*NDK_FN_WRITE)(NDK_QP* pNdkQp, PVOID RequestContext, CONST NDK_SGE* pSgl, ULONG nSge, UINT64 RemoteAddress,
                                 UINT32 RemoteToken, ULONG Flags);
#if NDK_HEADER_VERSION >= NDK_VERSION_1_2
typedef NTSTATUS (*NDK_FN_SEND_AND_INVALIDATE)(NDK_QP* pNdkQp, PVOID RequestContext, CONST NDK_SGE* pSgl, ULONG nSge, ULONG Flags,
                                               UINT32 RemoteToken);
#endif

// Connector.
typedef NTSTATUS (*NDK_FN_CONNECT)(NDK_CONNECTOR* pNdkConnector, NDK_QP* pNdkQp, PSOCKADDR pSrcAddress, ULONG SrcAddressLength,
                                   PSOCKADDR pDestAddress, ULONG DestAddressLength, ULONG InboundReadLimit, ULONG OutboundReadLimit,
                                   PVOID pPrivateData, ULONG PrivateDataLength, NDK_FN_REQUEST_COMPLETION RequestCompletion,
                                   PVOID RequestContext);
typedef NTSTATUS (*NDK_FN_CONNECT_WITH_SHARED_ENDPOINT)(NDK_CONNECTOR* pNdkConnector, NDK_QP* pNdkQp,
                                                        NDK_SHARED_ENDPOINT* pNdkSharedEndpoint, PSOCKADDR pDestAddress,
                                                        ULONG DestAddressLength, ULONG InboundReadLimit, ULONG OutboundReadLimit,
                                                        PVOID pPrivateData, ULONG PrivateDataLength,
                                                        NDK_FN_REQUEST_COMPLETION RequestCompletion, PVOID RequestContext);
typedef NTSTATUS (*NDK_FN_COMPLETE_CONNECT)(NDK_CONNECTOR* pNdkConnector, NDK_FN_DISCONNECT_EVENT_CALLBACK DisconnectEvent,
                                            PVOID DisconnectEventContext, NDK_FN_REQUEST_COMPLETION RequestCompletion,
                                            PVOID RequestContext);
typedef NTSTATUS (*NDK_FN_ACCEPT)(NDK_CONNECTOR* pNdkConnector, NDK_QP* pNdkQp, ULONG InboundReadLimit, ULONG OutboundReadLimit,
                                  PVOID pPrivateData, ULONG PrivateDataLength, NDK_FN_DISCONNECT_EVENT_CALLBACK DisconnectEvent,
                                  PVOID DisconnectEventContext, NDK_FN_REQUEST_COMPLETION RequestCompletion, PVOID RequestContext);
typedef NTSTATUS (*NDK_FN_REJECT)(NDK_CONNECTOR* pNdkConnector, PVOID pPrivateData, ULONG PrivateDataLength);
typedef NTSTATUS (*NDK_FN_GET_CONNECTION_DATA)(NDK_CONNECTOR* pNdkConnector, ULONG* pInboundReadLimit, ULONG* pOutboundReadLimit,
                                               PVOID pPrivateData, ULONG* pPrivateDataLength);
typedef NTSTATUS (*NDK_FN_GET_LOCAL_ADDRESS)(NDK_CONNECTOR* pNdkConnector, PSOCKADDR pAddress, ULONG* pAddressLength);
typedef NTSTATUS (*NDK_FN_GET_PEER_ADDRESS)(NDK_CONNECTOR* pNdkConnector, PSOCKADDR pAddress, ULONG* pAddressLength);
typedef NTSTATUS (*NDK_FN_DISCONNECT)(NDK_CONNECTOR* pNdkConnector, NDK_FN_REQUEST_COMPLETION RequestCompletion, PVOID RequestContext);
#if NDK_HEADER_VERSION >= NDK_VERSION_2_1
typedef NTSTATUS (*NDK_FN_COMPLETE_CONNECT_EX)(NDK_CONNECTOR* pNdkConnector, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX DisconnectEvent,
                                               PVOID DisconnectEventContext, NDK_FN_REQUEST_COMPLETION RequestCompletion,
                                               PVOID RequestContext);
typedef NTSTATUS (*NDK_FN_ACCEPT_EX)(NDK_CONNECTOR* pNdkConnector, NDK_QP* pNdkQp, ULONG InboundReadLimit, ULONG OutboundReadLimit,
                                     PVOID pPrivateData, ULONG PrivateDataLength, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX DisconnectEvent,
                                     PVOID DisconnectEventContext, NDK_FN_REQUEST_COMPLETION RequestCompletion, PVOID RequestContext);
#endif

// Listener and shared endpoint. While paused a listener is as good as none.
typedef NTSTATUS (*NDK_FN_LISTEN)(NDK_LISTENER* pNdkListener, PSOCKADDR pAddress, ULONG AddressLength,
                                  NDK_FN_REQUEST_COMPLETION RequestCompletion, PVOID RequestContext);
typedef NTSTATUS (*NDK_FN_GET_LISTENER_LOCAL_ADDRESS)(NDK_LISTENER* pNdkListener, PSOCKADDR pAddress, ULONG* pAddressLength);
typedef VOID (*NDK_FN_CONTROL_CONNECT_EVENTS)(NDK_LISTENER* pNdkListener, BOOLEAN Pause);
typedef NTSTATUS (*NDK_FN_GET_SHARED_ENDPOINT_LOCAL_ADDRESS)(NDK_SHARED_ENDPOINT* pNdkSharedEndpoint, PSOCKADDR pAddress,
                                                             ULONG* pAddressLength);

#include "ndk_dispatch.h"
