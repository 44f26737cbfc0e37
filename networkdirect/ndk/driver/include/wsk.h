#pragma once
// Winsock Kernel as far as drivers come by NDK adapters with it: they register as a client, capture the provider, and ask it for
// WSK_PROVIDER_NDK_DISPATCH with the control code of wskndk.h. There are no sockets: those functions are null.

#include "ntddk.h"

#include "wskndk.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define MAKE_WSK_VERSION(major, minor) ((USHORT)((major) << 8 | ((minor)&0xFF)))
#define WSK_MAJOR_VERSION(version) ((UCHAR)((version) >> 8))
#define WSK_MINOR_VERSION(version) ((UCHAR)(version))
#define WSK_NO_WAIT 0
#define WSK_INFINITE_WAIT 0xFFFFFFFF

typedef struct _WSK_CLIENT_DISPATCH {
  USHORT Version;
  USHORT Reserved;
  NTSTATUS(WINAPI* WskClientEvent)(PVOID clientContext, ULONG eventType, PVOID information, SIZE_T informationLength);
} WSK_CLIENT_DISPATCH, *PWSK_CLIENT_DISPATCH;

typedef struct _WSK_CLIENT_NPI {
  PVOID ClientContext;
  const WSK_CLIENT_DISPATCH* Dispatch;
} WSK_CLIENT_NPI, *PWSK_CLIENT_NPI;

typedef struct _WSK_REGISTRATION {
  ULONG64 ReservedRegistrationState;
  PVOID ReservedRegistrationContext;
  KSPIN_LOCK ReservedRegistrationLock;
} WSK_REGISTRATION, *PWSK_REGISTRATION;

typedef NTSTATUS(WINAPI* PFN_WSK_CONTROL_CLIENT)(PWSK_CLIENT client, ULONG controlCode, SIZE_T inputSize, PVOID input, SIZE_T outputSize,
                                                 PVOID output, SIZE_T* outputReturned, PIRP irp);
typedef PVOID PFN_WSK_NOT_THERE;

typedef struct _WSK_PROVIDER_DISPATCH {
  USHORT Version;
  USHORT Reserved;
  PFN_WSK_NOT_THERE WskSocket;
  PFN_WSK_NOT_THERE WskSocketConnect;
  PFN_WSK_CONTROL_CLIENT WskControlClient;
  PFN_WSK_NOT_THERE WskGetAddressInfo;
  PFN_WSK_NOT_THERE WskFreeAddressInfo;
  PFN_WSK_NOT_THERE WskGetNameInfo;
} WSK_PROVIDER_DISPATCH, *PWSK_PROVIDER_DISPATCH;

typedef struct _WSK_PROVIDER_NPI {
  PWSK_CLIENT Client;
  const WSK_PROVIDER_DISPATCH* Dispatch;
} WSK_PROVIDER_NPI, *PWSK_PROVIDER_NPI;

NTSTATUS WskRegister(PWSK_CLIENT_NPI clientNpi, PWSK_REGISTRATION registration);
NTSTATUS WskCaptureProviderNPI(PWSK_REGISTRATION registration, ULONG waitTimeout, PWSK_PROVIDER_NPI providerNpi);
VOID WskReleaseProviderNPI(PWSK_REGISTRATION registration);
VOID WskDeregister(PWSK_REGISTRATION registration);

#if defined(__cplusplus)
}
#endif
