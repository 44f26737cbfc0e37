#pragma once
// How NDIS and a miniport agree on NDK: what the miniport can do, and the two handlers by which an adapter is
// opened and closed. A model for drivers; only what the project's registry needs of it.

#include "ndkpi.h"

#if defined(_WIN32)
#include <ntddndis.h>
#else
// The header of every structure of NDIS.
typedef struct _NDIS_OBJECT_HEADER {
  UCHAR Type;
  UCHAR Revision;
  USHORT Size;
} NDIS_OBJECT_HEADER, *PNDIS_OBJECT_HEADER;
typedef int NDIS_STATUS, *PNDIS_STATUS;
#endif

// ntddndis.h has these too, but not for every program.
#ifndef NDIS_NDK_CAPABILITIES_REVISION_1
#define NDIS_NDK_CAPABILITIES_REVISION_1 1
#define NDIS_OBJECT_TYPE_NDK_PROVIDER_CHARACTERISTICS 0xB2
#define NDIS_OBJECT_TYPE_MINIPORT_ADAPTER_NDK_ATTRIBUTES 0xB3

typedef ULONG NDIS_NIC_SWITCH_ID;
typedef ULONG NDIS_NIC_SWITCH_VPORT_ID;

// A BOOLEAN: the adapter's NDK is to be switched on or off. Switching off is done when the last adapter
// object is closed.
#define OID_NDK_SET_STATE 0xFC040201
#define OID_NDK_STATISTICS 0xFC040202
#define OID_NDK_CONNECTIONS 0xFC040203
#define OID_NDK_LOCAL_ENDPOINTS 0xFC040204

typedef struct _NDIS_NDK_CAPABILITIES {
  NDIS_OBJECT_HEADER Header;
  ULONG Flags;
  ULONG MaxQpCount;
  ULONG MaxCqCount;
  ULONG MaxMrCount;
  ULONG MaxPdCount;
  ULONG MaxInboundReadLimit;
  ULONG MaxOutboundReadLimit;
  ULONG MaxMwCount;
  ULONG MaxSrqCount;
  ULONG64 MissingCounterMask;
  NDK_ADAPTER_INFO* NdkInfo;
} NDIS_NDK_CAPABILITIES, *PNDIS_NDK_CAPABILITIES;
#endif

#if !NDK_IN_KERNEL
typedef PVOID NDIS_HANDLE, *PNDIS_HANDLE;

#define NDIS_STATUS_SUCCESS ((NDIS_STATUS)0x00000000)
#define NDIS_STATUS_RESOURCES ((NDIS_STATUS)0xC000009A)
#define NDIS_STATUS_BAD_VERSION ((NDIS_STATUS)0xC0010004)
#define NDIS_STATUS_ADAPTER_NOT_READY ((NDIS_STATUS)0xC0010011)
#endif

// Keywords of the adapter in the registry.
#define NDK_KEYWORD_NETWORK_DIRECT "*NetworkDirect"
#define NDK_KEYWORD_NETWORK_DIRECT_TECHNOLOGY "*NetworkDirectTechnology"

// The version is the major one and the lowest minor one that the consumer can live with. Some descriptions put
// an NDIS_OBJECT_HEADER first; the published structure has none.
typedef struct _NDIS_OPEN_NDK_ADAPTER_PARAMETERS {
  NDK_VERSION Version;
#if NDK_HEADER_VERSION >= NDK_VERSION_2_0
  NDIS_NIC_SWITCH_ID SwitchId;
  NDIS_NIC_SWITCH_VPORT_ID VPortId;
#endif
} NDIS_OPEN_NDK_ADAPTER_PARAMETERS, *PNDIS_OPEN_NDK_ADAPTER_PARAMETERS;

// Both at PASSIVE_LEVEL. Closing waits for every descendant to be closed and every callback to have
// returned, so it must not be called from one.
typedef NDIS_STATUS (*OPEN_NDK_ADAPTER_HANDLER)(NDIS_HANDLE MiniportAdapterContext, PNDIS_OPEN_NDK_ADAPTER_PARAMETERS Parameters,
                                                NDK_ADAPTER** ppNdkAdapter);
typedef VOID (*CLOSE_NDK_ADAPTER_HANDLER)(NDIS_HANDLE MiniportAdapterContext, NDK_ADAPTER* pNdkAdapter);

typedef struct _NDIS_NDK_PROVIDER_CHARACTERISTICS {
  NDIS_OBJECT_HEADER Header;
  ULONG Flags;
  OPEN_NDK_ADAPTER_HANDLER OpenNDKAdapterHandler;
  CLOSE_NDK_ADAPTER_HANDLER CloseNDKAdapterHandler;
} NDIS_NDK_PROVIDER_CHARACTERISTICS, *PNDIS_NDK_PROVIDER_CHARACTERISTICS;

typedef struct _NDIS_MINIPORT_ADAPTER_NDK_ATTRIBUTES {
  NDIS_OBJECT_HEADER Header;
  BOOLEAN Enabled;
  PNDIS_NDK_CAPABILITIES NdkCapabilities;
} NDIS_MINIPORT_ADAPTER_NDK_ATTRIBUTES, *PNDIS_MINIPORT_ADAPTER_NDK_ATTRIBUTES;

NDK_LAYOUT_SIZE(NDIS_OBJECT_HEADER, 4);
NDK_LAYOUT(NDIS_NDK_CAPABILITIES, Flags, 4);
NDK_LAYOUT(NDIS_NDK_CAPABILITIES, MaxQpCount, 8);
NDK_LAYOUT(NDIS_NDK_CAPABILITIES, MaxSrqCount, 36);
NDK_LAYOUT(NDIS_NDK_CAPABILITIES, MissingCounterMask, 40);
NDK_LAYOUT(NDIS_NDK_CAPABILITIES, NdkInfo, 48);
NDK_LAYOUT_SIZE(NDIS_NDK_CAPABILITIES, 56);
NDK_LAYOUT(NDIS_NDK_PROVIDER_CHARACTERISTICS, OpenNDKAdapterHandler, 8);
NDK_LAYOUT(NDIS_NDK_PROVIDER_CHARACTERISTICS, CloseNDKAdapterHandler, 16);
NDK_LAYOUT_SIZE(NDIS_NDK_PROVIDER_CHARACTERISTICS, 24);
NDK_LAYOUT(NDIS_MINIPORT_ADAPTER_NDK_ATTRIBUTES, Enabled, 4);
NDK_LAYOUT(NDIS_MINIPORT_ADAPTER_NDK_ATTRIBUTES, NdkCapabilities, 8);
NDK_LAYOUT_SIZE(NDIS_MINIPORT_ADAPTER_NDK_ATTRIBUTES, 16);
#if NDK_HEADER_VERSION >= NDK_VERSION_2_0
NDK_LAYOUT(NDIS_OPEN_NDK_ADAPTER_PARAMETERS, SwitchId, 4);
NDK_LAYOUT(NDIS_OPEN_NDK_ADAPTER_PARAMETERS, VPortId, 8);
NDK_LAYOUT_SIZE(NDIS_OPEN_NDK_ADAPTER_PARAMETERS, 12);
#else
NDK_LAYOUT_SIZE(NDIS_OPEN_NDK_ADAPTER_PARAMETERS, 4);
#endif
