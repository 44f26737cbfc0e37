// What this project's provider offers beyond NDK, to consumers that ask for it with NdkQueryExtension of an adapter, a
// protection domain or a memory region: memory that the peer sees at an address of the consumer's choice. By NDK it is
// the virtual address, which differs from run to run; a world whose packets must be the same each time cannot have that.
#pragma once

#include <ndkpi.h>

namespace fb::ndk {

/// {7D0A6E5B-33C1-4F0C-9B58-64A1F0C2D7E4}, version 1.0.
inline constexpr GUID kChosenAddressExtension = {0x7D0A6E5B, 0x33C1, 0x4F0C, {0x9B, 0x58, 0x64, 0xA1, 0xF0, 0xC2, 0xD7, 0xE4}};
inline constexpr NDK_VERSION kChosenAddressVersion = {1, 0};

/// What NDK_EXTENSION_INTERFACE::Dispatch points to.
struct ChosenAddressDispatch {
  /// As NdkRegisterMr. Peers, and windows bound in the region, count from `address`; local SGEs name the memory by its
  /// virtual addresses as ever. The local and the remote token differ.
  NTSTATUS(*RegisterMrAt)
  (NDK_MR* pNdkMr, MDL* Mdl, SIZE_T Length, UINT64 address, ULONG Flags, NDK_FN_REQUEST_COMPLETION RequestCompletion, PVOID RequestContext);
};

}  // namespace fb::ndk
