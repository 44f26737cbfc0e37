// What the bench's own RDMA device cannot do.
#pragma once

#include <optional>
#include <string>

#include "conformance/runner/declared.h"

namespace fb::conformance::fabrics_cases {

/// Of memory that user space registered a kernel's device lets nobody invalidate the key.
inline std::optional<std::string> keys_can_be_invalidated(const Declared& declared) {
  if (!declared.known || declared.rdma.remote_invalidation) return {};
  return "the bench's own RDMA device (--device) has no keys that a peer could invalidate";
}

}  // namespace fb::conformance::fabrics_cases
