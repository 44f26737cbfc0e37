// What one command moves at most.
#pragma once

#include <cstdint>

namespace fb::transport {

/// For ControllerFabricOptions::transfer_bytes_max of a listener that has no bound of its own: MDTS alone counts. Larger than
/// any command of a namespace (65,536 blocks of 4 KiB with metadata), and than what an MDTS of 19 allows.
inline constexpr std::uint32_t kLargestTransfer = 1u << 31;

}  // namespace fb::transport
