// What a side is willing to do, and what it made of a transaction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/auth/secret.h"

namespace fb::auth {

/// In the order in which they are offered, or preferred.
inline const std::vector<AuthHash>& all_hashes() {
  static const std::vector<AuthHash> all = {AuthHash::sha_256, AuthHash::sha_384, AuthHash::sha_512};
  return all;
}
inline const std::vector<DhGroup>& all_groups() {
  static const std::vector<DhGroup> all = {DhGroup::null,      DhGroup::ffdhe2048, DhGroup::ffdhe3072,
                                           DhGroup::ffdhe4096, DhGroup::ffdhe6144, DhGroup::ffdhe8192};
  return all;
}

/// The PSK that a transaction with secure channel concatenation has made: for a TLS channel between
/// these two. `hash` goes into its identity.
struct GeneratedPsk {
  Bytes psk;
  AuthHash hash = AuthHash::sha_256;
  std::string hostnqn;
  std::string subnqn;
};

}  // namespace fb::auth
