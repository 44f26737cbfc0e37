#pragma once
// The few notions of the Windows kernel that NDK speaks of, for programs in user space. A driver has included
// the kernel's own headers before; then this one adds nothing. Types of the Windows interface come from
// winsock2.h, on Linux from the project's layer.

#if defined(_NTDDK_) || defined(_NTIFS_) || defined(_WDMDDK_)
#define NDK_IN_KERNEL 1
#include <ws2def.h>
#else
#define NDK_IN_KERNEL 0
#include <winsock2.h>
#include <ws2tcpip.h>

#include <stddef.h>
#include <stdint.h>

typedef LONG NTSTATUS;
#ifndef NT_SUCCESS
#define NT_SUCCESS(status) (((NTSTATUS)(status)) >= 0)
#endif

typedef LARGE_INTEGER PHYSICAL_ADDRESS, *PPHYSICAL_ADDRESS;

// Windows guards this one itself; whoever comes first defines it.
#ifndef ___GROUP_AFFINITY_DEFINED
#define ___GROUP_AFFINITY_DEFINED
typedef struct _GROUP_AFFINITY {
  KAFFINITY Mask;
  WORD Group;
  WORD Reserved[3];
} GROUP_AFFINITY, *PGROUP_AFFINITY;
#endif

// The levels at which code runs. Nothing waits above PASSIVE_LEVEL.
typedef UCHAR KIRQL, *PKIRQL;
#ifndef PASSIVE_LEVEL
#define PASSIVE_LEVEL 0
#define APC_LEVEL 1
#define DISPATCH_LEVEL 2
#endif

// Everywhere in the interface a page is this large, whatever the machine underneath.
#ifndef PAGE_SIZE
#define PAGE_SIZE 0x1000
#endif
#ifndef PAGE_SHIFT
#define PAGE_SHIFT 12
#endif

// A described piece of memory, chained. Its members are nobody's business but these functions': the kernel's
// own structure has others, and drivers go through the functions of the same names there.
typedef struct _MDL {
  struct _MDL* Next;
  VOID* StartVa;
  ULONG ByteCount;
  ULONG ByteOffset;
} MDL, *PMDL;

static inline VOID MmInitializeMdl(MDL* mdl, VOID* baseVa, SIZE_T length) {
  const uintptr_t offset = (uintptr_t)baseVa & (PAGE_SIZE - 1);
  mdl->Next = NULL;
  mdl->StartVa = (VOID*)((uintptr_t)baseVa - offset);
  mdl->ByteCount = (ULONG)length;
  mdl->ByteOffset = (ULONG)offset;
}
// To compute with, not to read through.
static inline VOID* MmGetMdlVirtualAddress(const MDL* mdl) { return (VOID*)((uintptr_t)mdl->StartVa + mdl->ByteOffset); }
static inline ULONG MmGetMdlByteCount(const MDL* mdl) { return mdl->ByteCount; }
static inline ULONG MmGetMdlByteOffset(const MDL* mdl) { return mdl->ByteOffset; }
#endif

// Status codes that NDK functions, callbacks and completions use. Windows may have some of them already.
#ifndef STATUS_SUCCESS
#define STATUS_SUCCESS ((NTSTATUS)0x00000000)
#endif
#ifndef STATUS_PENDING
#define STATUS_PENDING ((NTSTATUS)0x00000103)
#endif
#ifndef STATUS_BUFFER_OVERFLOW
#define STATUS_BUFFER_OVERFLOW ((NTSTATUS)0x80000005)
#endif
#ifndef STATUS_DEVICE_BUSY
#define STATUS_DEVICE_BUSY ((NTSTATUS)0x80000011)
#endif
#ifndef STATUS_NO_MORE_ENTRIES
#define STATUS_NO_MORE_ENTRIES ((NTSTATUS)0x8000001A)
#endif
#ifndef STATUS_UNSUCCESSFUL
#define STATUS_UNSUCCESSFUL ((NTSTATUS)0xC0000001)
#endif
#ifndef STATUS_ACCESS_VIOLATION
#define STATUS_ACCESS_VIOLATION ((NTSTATUS)0xC0000005)
#endif
#ifndef STATUS_INVALID_HANDLE
#define STATUS_INVALID_HANDLE ((NTSTATUS)0xC0000008)
#endif
#ifndef STATUS_INVALID_PARAMETER
#define STATUS_INVALID_PARAMETER ((NTSTATUS)0xC000000D)
#endif
#ifndef STATUS_INVALID_DEVICE_REQUEST
#define STATUS_INVALID_DEVICE_REQUEST ((NTSTATUS)0xC0000010)
#endif
#ifndef STATUS_NO_MEMORY
#define STATUS_NO_MEMORY ((NTSTATUS)0xC0000017)
#endif
#ifndef STATUS_BUFFER_TOO_SMALL
#define STATUS_BUFFER_TOO_SMALL ((NTSTATUS)0xC0000023)
#endif
#ifndef STATUS_INVALID_PARAMETER_MIX
#define STATUS_INVALID_PARAMETER_MIX ((NTSTATUS)0xC0000030)
#endif
#ifndef STATUS_DATA_OVERRUN
#define STATUS_DATA_OVERRUN ((NTSTATUS)0xC000003C)
#endif
#ifndef STATUS_DATA_ERROR
#define STATUS_DATA_ERROR ((NTSTATUS)0xC000003E)
#endif
#ifndef STATUS_SHARING_VIOLATION
#define STATUS_SHARING_VIOLATION ((NTSTATUS)0xC0000043)
#endif
#ifndef STATUS_INSUFFICIENT_RESOURCES
#define STATUS_INSUFFICIENT_RESOURCES ((NTSTATUS)0xC000009A)
#endif
#ifndef STATUS_DEVICE_NOT_READY
#define STATUS_DEVICE_NOT_READY ((NTSTATUS)0xC00000A3)
#endif
#ifndef STATUS_IO_TIMEOUT
#define STATUS_IO_TIMEOUT ((NTSTATUS)0xC00000B5)
#endif
#ifndef STATUS_NOT_SUPPORTED
#define STATUS_NOT_SUPPORTED ((NTSTATUS)0xC00000BB)
#endif
#ifndef STATUS_INTERNAL_ERROR
#define STATUS_INTERNAL_ERROR ((NTSTATUS)0xC00000E5)
#endif
#ifndef STATUS_CANCELLED
#define STATUS_CANCELLED ((NTSTATUS)0xC0000120)
#endif
#ifndef STATUS_REMOTE_RESOURCES
#define STATUS_REMOTE_RESOURCES ((NTSTATUS)0xC000013D)
#endif
#ifndef STATUS_INVALID_ADDRESS
#define STATUS_INVALID_ADDRESS ((NTSTATUS)0xC0000141)
#endif
#ifndef STATUS_INVALID_DEVICE_STATE
#define STATUS_INVALID_DEVICE_STATE ((NTSTATUS)0xC0000184)
#endif
#ifndef STATUS_INVALID_BUFFER_SIZE
#define STATUS_INVALID_BUFFER_SIZE ((NTSTATUS)0xC0000206)
#endif
#ifndef STATUS_TOO_MANY_ADDRESSES
#define STATUS_TOO_MANY_ADDRESSES ((NTSTATUS)0xC0000209)
#endif
#ifndef STATUS_ADDRESS_ALREADY_EXISTS
#define STATUS_ADDRESS_ALREADY_EXISTS ((NTSTATUS)0xC000020A)
#endif
#ifndef STATUS_CONNECTION_DISCONNECTED
#define STATUS_CONNECTION_DISCONNECTED ((NTSTATUS)0xC000020C)
#endif
#ifndef STATUS_CONNECTION_REFUSED
#define STATUS_CONNECTION_REFUSED ((NTSTATUS)0xC0000236)
#endif
#ifndef STATUS_ADDRESS_ALREADY_ASSOCIATED
#define STATUS_ADDRESS_ALREADY_ASSOCIATED ((NTSTATUS)0xC0000238)
#endif
#ifndef STATUS_CONNECTION_INVALID
#define STATUS_CONNECTION_INVALID ((NTSTATUS)0xC000023A)
#endif
#ifndef STATUS_CONNECTION_ACTIVE
#define STATUS_CONNECTION_ACTIVE ((NTSTATUS)0xC000023B)
#endif
#ifndef STATUS_NETWORK_UNREACHABLE
#define STATUS_NETWORK_UNREACHABLE ((NTSTATUS)0xC000023C)
#endif
#ifndef STATUS_HOST_UNREACHABLE
#define STATUS_HOST_UNREACHABLE ((NTSTATUS)0xC000023D)
#endif
#ifndef STATUS_CONNECTION_ABORTED
#define STATUS_CONNECTION_ABORTED ((NTSTATUS)0xC0000241)
#endif
#ifndef STATUS_DEVICE_REMOVED
#define STATUS_DEVICE_REMOVED ((NTSTATUS)0xC00002B6)
#endif
#ifndef STATUS_IMPLEMENTATION_LIMIT
#define STATUS_IMPLEMENTATION_LIMIT ((NTSTATUS)0xC000042B)
#endif
