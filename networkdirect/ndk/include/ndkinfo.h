#pragma once
// Versions of NDK, and what an adapter tells about itself.

// A toolchain may have a header of this name that stops at version 1.2; this one stands in its place.
#ifndef _NDKINFO_H_
#define _NDKINFO_H_

#include "ndk_kernel.h"

// The version whose tables and structures these headers show: major in the high byte. Everything is there
// unless a program asks for less, to be compiled as it would have been in its day.
#define NDK_VERSION_1_1 0x0101
#define NDK_VERSION_1_2 0x0102
#define NDK_VERSION_2_0 0x0200
#define NDK_VERSION_2_1 0x0201
#ifndef NDK_HEADER_VERSION
#define NDK_HEADER_VERSION NDK_VERSION_2_1
#endif

// Version 1.2 added the fifth.
#define NDK_ADAPTER_FLAG_IN_ORDER_DMA_SUPPORTED 0x00000001
#define NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED 0x00000002
#define NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED 0x00000004
#define NDK_ADAPTER_FLAG_MULTI_ENGINE_SUPPORTED 0x00000008
#define NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED 0x00000010
#define NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED 0x00000100
#define NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED 0x00010000

typedef struct {
  USHORT Major;
  USHORT Minor;
} NDK_VERSION;

#if NDK_HEADER_VERSION >= NDK_VERSION_2_0
typedef enum _NDK_RDMA_TECHNOLOGY {
  NdkUndefined = 0,
  NdkiWarp = 1,
  NdkInfiniBand = 2,
  NdkRoCE = 3,
  NdkRoCEv2 = 4,
  NdkMaxTechnology = 5
} NDK_RDMA_TECHNOLOGY;
#endif

typedef struct _NDK_ADAPTER_INFO {
  NDK_VERSION Version;
  UINT32 VendorId;
  UINT32 DeviceId;
  SIZE_T MaxRegistrationSize;
  SIZE_T MaxWindowSize;
  ULONG FRMRPageCount;
  ULONG MaxInitiatorRequestSge;
  ULONG MaxReceiveRequestSge;
  ULONG MaxReadRequestSge;
  ULONG MaxTransferLength;
  ULONG MaxInlineDataSize;
  ULONG MaxInboundReadLimit;
  ULONG MaxOutboundReadLimit;
  ULONG MaxReceiveQueueDepth;
  ULONG MaxInitiatorQueueDepth;
  ULONG MaxSrqDepth;
  ULONG MaxCqDepth;
  ULONG LargeRequestThreshold;
  ULONG MaxCallerData;
  ULONG MaxCalleeData;
  ULONG AdapterFlags;
#if NDK_HEADER_VERSION >= NDK_VERSION_2_0
  NDK_RDMA_TECHNOLOGY RdmaTechnology;
#endif
} NDK_ADAPTER_INFO;

// What a consumer of version 1 has room for.
#define NDK_ADAPTER_INFO_SIZE_1 96

// The layout holds for 64-bit code; NDK_LAYOUT is silent elsewhere.
#if defined(__cplusplus)
#define NDK_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define NDK_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
#define NDK_LAYOUT(type, member, offset) \
  NDK_STATIC_ASSERT(sizeof(void*) != 8 || offsetof(type, member) == (offset), #type "." #member " is misplaced")
#define NDK_LAYOUT_SIZE(type, size) NDK_STATIC_ASSERT(sizeof(void*) != 8 || sizeof(type) == (size), #type " has another size")

NDK_LAYOUT(NDK_VERSION, Major, 0);
NDK_LAYOUT(NDK_VERSION, Minor, 2);
NDK_LAYOUT_SIZE(NDK_VERSION, 4);
NDK_LAYOUT(NDK_ADAPTER_INFO, Version, 0);
NDK_LAYOUT(NDK_ADAPTER_INFO, VendorId, 4);
NDK_LAYOUT(NDK_ADAPTER_INFO, DeviceId, 8);
NDK_LAYOUT(NDK_ADAPTER_INFO, MaxRegistrationSize, 16);
NDK_LAYOUT(NDK_ADAPTER_INFO, MaxWindowSize, 24);
NDK_LAYOUT(NDK_ADAPTER_INFO, FRMRPageCount, 32);
NDK_LAYOUT(NDK_ADAPTER_INFO, MaxInitiatorRequestSge, 36);
NDK_LAYOUT(NDK_ADAPTER_INFO, MaxReceiveRequestSge, 40);
NDK_LAYOUT(NDK_ADAPTER_INFO, MaxReadRequestSge, 44);
NDK_LAYOUT(NDK_ADAPTER_INFO, MaxTransferLength, 48);
NDK_LAYOUT(NDK_ADAPTER_INFO, MaxInlineDataSize, 52);
NDK_LAYOUT(NDK_ADAPTER_INFO, MaxInboundReadLimit, 56);
NDK_LAYOUT(NDK_ADAPTER_INFO, MaxOutboundReadLimit, 60);
NDK_LAYOUT(NDK_ADAPTER_INFO, MaxReceiveQueueDepth, 64);
NDK_LAYOUT(NDK_ADAPTER_INFO, MaxInitiatorQueueDepth, 68);
NDK_LAYOUT(NDK_ADAPTER_INFO, MaxSrqDepth, 72);
NDK_LAYOUT(NDK_ADAPTER_INFO, MaxCqDepth, 76);
NDK_LAYOUT(NDK_ADAPTER_INFO, LargeRequestThreshold, 80);
NDK_LAYOUT(NDK_ADAPTER_INFO, MaxCallerData, 84);
NDK_LAYOUT(NDK_ADAPTER_INFO, MaxCalleeData, 88);
NDK_LAYOUT(NDK_ADAPTER_INFO, AdapterFlags, 92);
#if NDK_HEADER_VERSION >= NDK_VERSION_2_0
NDK_LAYOUT(NDK_ADAPTER_INFO, RdmaTechnology, NDK_ADAPTER_INFO_SIZE_1);
NDK_LAYOUT_SIZE(NDK_ADAPTER_INFO, 104);
#else
NDK_LAYOUT_SIZE(NDK_ADAPTER_INFO, NDK_ADAPTER_INFO_SIZE_1);
#endif

#endif
