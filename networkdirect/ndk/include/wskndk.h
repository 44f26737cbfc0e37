#pragma once
// How a consumer in the kernel comes by an adapter: Winsock Kernel hands out these two functions when its
// client asks with the control code below.

#include "ndkpi.h"

#if !NDK_IN_KERNEL
#if !defined(_WIN32)
typedef ULONG NET_IFINDEX;
#else
#include <ifdef.h>
#endif
typedef PVOID PWSK_CLIENT;
#endif

#define WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH ((ULONG)0x4E444B44)  // "NDKD"

typedef NTSTATUS(WINAPI* PFN_WSK_NDK_OPEN_ADAPTER)(PWSK_CLIENT Client, NDK_VERSION NdkVersion, NET_IFINDEX IfIndex,
                                                   NDK_ADAPTER** ppNdkAdapter);
typedef VOID(WINAPI* PFN_WSK_NDK_CLOSE_ADAPTER)(PWSK_CLIENT Client, NDK_ADAPTER* pNdkAdapter);

typedef struct _WSK_PROVIDER_NDK_DISPATCH {
  PFN_WSK_NDK_OPEN_ADAPTER WskOpenNdkAdapter;
  PFN_WSK_NDK_CLOSE_ADAPTER WskCloseNdkAdapter;
} WSK_PROVIDER_NDK_DISPATCH, *PWSK_PROVIDER_NDK_DISPATCH;

NDK_LAYOUT(WSK_PROVIDER_NDK_DISPATCH, WskOpenNdkAdapter, 0);
NDK_LAYOUT(WSK_PROVIDER_NDK_DISPATCH, WskCloseNdkAdapter, 8);
NDK_LAYOUT_SIZE(WSK_PROVIDER_NDK_DISPATCH, 16);
