// Secrets that are not needed any more.
#pragma once

#include <cstddef>

namespace fb::auth {

/// Zeros, even where nobody reads them afterwards.
void cleanse(void* bytes, std::size_t size);

}  // namespace fb::auth
