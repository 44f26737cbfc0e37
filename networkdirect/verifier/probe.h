// Looks at memory of which it is not known whether it is still there.
#pragma once

#include <optional>

#include <ndspi.h>

namespace fb::networkdirect::verifier {

/// A copy; empty when the bytes are not readable.
std::optional<OVERLAPPED> peek(const OVERLAPPED* at);
/// Whether all these bytes are mapped.
bool mapped(const void* memory, SIZE_T bytes);

}  // namespace fb::networkdirect::verifier
