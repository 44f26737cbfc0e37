// What the bench's own RDMA device cannot do.
#pragma once

#include <optional>
#include <string>

#include "conformance/runner/declared.h"

namespace fb::conformance::fabrics_cases {

/// Only keys of fast registrations can; a kernel's device has none for user space.
inline std::optional<std::string> keys_can_be_invalidated(const Declared& declared) {
  if (!declared.known || declared.rdma.fast_registration) return {};
  return "the bench's own RDMA device (--device) has no keys that a peer could invalidate";
}

/// Only our own device tells.
inline std::optional<std::string> counts_rnr_naks(const Declared& declared) {
  if (!declared.known || declared.rdma.fast_registration) return {};
  return "the bench's own RDMA device (--device) does not count RNR NAKs";
}

/// A kernel's device takes addresses as they are in user space.
inline std::optional<std::string> chooses_addresses(const Declared& declared) {
  if (!declared.known || declared.rdma.fast_registration) return {};
  return "the bench's own RDMA device (--device) has no memory at addresses of its choice";
}

}  // namespace fb::conformance::fabrics_cases
