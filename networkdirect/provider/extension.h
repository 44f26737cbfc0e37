// What this provider offers beyond the interface, for consumers that ask for it: memory that the peer sees at an address of
// the consumer's choice. By the interface it is the virtual address, which differs from run to run; a world whose packets
// must be the same each time cannot have that.
#pragma once

#include <ndspi.h>

DEFINE_GUID(IID_IFabricbenchMemoryRegion, 0x0E8F3C52, 0x6A1D, 0x4B7E, 0x9C, 0x35, 0x52, 0xD0, 0x1B, 0x7A, 0xF4, 0x61);

// The object is the same, and so is its reference count.
#undef INTERFACE
#define INTERFACE IFabricbenchMemoryRegion
DECLARE_INTERFACE_(IFabricbenchMemoryRegion, IND2MemoryRegion) {
  // As Register; remote addresses count from `remoteAddress`, those of windows in the region too. Local buffers
  // are named by their pointers as ever.
  STDMETHOD(RegisterAt)(THIS_ const VOID* pBuffer, SIZE_T cbBuffer, UINT64 remoteAddress, ULONG flags, OVERLAPPED* pOverlapped) PURE;
};
#undef INTERFACE
