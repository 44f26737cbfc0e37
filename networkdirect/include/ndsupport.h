#pragma once
// The helper library between a program and the providers: which addresses there are, and an adapter for one
// of them. Every function but the first fails with ND_DEVICE_NOT_READY before NdStartup.

#include "ndspi.h"

// How a provider stands in the Winsock catalogue: its entry is hidden and carries the NetworkDirect flag,
// and offers at least these services, as socket type -1 and protocol 0. The version of the entry is
// ND_VERSION_2.
#ifndef PFL_NETWORKDIRECT_PROVIDER
#define PFL_NETWORKDIRECT_PROVIDER 0x00000010
#endif
#define ND_CATALOG_SERVICE_FLAGS 0x0000008E   // guaranteed delivery and order, message oriented, connect data
#define ND_CATALOG_PROVIDER_FLAGS 0x00000014  // hidden, NetworkDirect
#define ND_CATALOG_SOCKET_TYPE (-1)

// NdQueryAddressList
#define ND_QUERY_EXCLUDE_EMULATOR_ADDRESSES 0x00000001
#define ND_QUERY_EXCLUDE_NDv1_ADDRESSES 0x00000002
#define ND_QUERY_EXCLUDE_NDv2_ADDRESSES 0x00000004

#define ND_HELPER_API WINAPI

#ifdef __cplusplus
extern "C" {
#endif

// Counted: as many NdCleanup as NdStartup.
HRESULT ND_HELPER_API NdStartup(VOID);
HRESULT ND_HELPER_API NdCleanup(VOID);
// Unloads the libraries of providers that no longer have objects.
VOID ND_HELPER_API NdFlushProviders(VOID);

HRESULT ND_HELPER_API NdQueryAddressList(DWORD flags, SOCKET_ADDRESS_LIST* pAddressList, SIZE_T* pcbAddressList);
// The local address from which the remote one is reached.
HRESULT ND_HELPER_API NdResolveAddress(const struct sockaddr* pRemoteAddress, SIZE_T cbRemoteAddress, struct sockaddr* pLocalAddress,
                                       SIZE_T* pcbLocalAddress);
HRESULT ND_HELPER_API NdCheckAddress(const struct sockaddr* pAddress, SIZE_T cbAddress);
HRESULT ND_HELPER_API NdOpenAdapter(REFIID iid, const struct sockaddr* pLocalAddress, SIZE_T cbLocalAddress, VOID** ppAdapter);

#ifdef __cplusplus
}
#endif

// What a provider's library exports. The class is its ProviderId in the catalogue; the interface asked for is
// IID_IND2Provider itself or IID_IClassFactory, and both are answered.
typedef HRESULT(STDAPICALLTYPE* ND_DLL_GET_CLASS_OBJECT)(REFCLSID rclsid, REFIID riid, LPVOID* ppv);
typedef HRESULT(STDAPICALLTYPE* ND_DLL_CAN_UNLOAD_NOW)(VOID);
