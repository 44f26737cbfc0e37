// A look at memory that may not be there any more.
#pragma once

#include "base/bytes.h"

namespace fb {

/// Copies what is at `at` into `into`; false if some of it is not mapped. The system reads, not this code: an owner may have freed
/// the memory, which sanitizers would be right to complain of.
bool peek_memory(const void* at, MutableBytes into);
#if !defined(_WIN32)
/// The same where process_vm_readv() is forbidden (containers) or missing (emulators of one process).
bool peek_memory_through_a_pipe(const void* at, MutableBytes into);
#endif

}  // namespace fb
