// Secrets of DH-HMAC-CHAP in their interchange form "DHHC-1:hh:BASE64:", and the files that hold them.
// What is wrong with one is said without showing any of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/auth/nonces.h"

namespace fb::auth {

/// 32, 48 or 64 bytes, and the hash with which a key is made of them. Wiped when it goes.
class Secret {
 public:
  Secret(Bytes bytes, std::optional<AuthHash> transform) : bytes_(std::move(bytes)), transform_(transform) {}
  Secret(const Secret&) = default;
  Secret(Secret&&) = default;
  Secret& operator=(const Secret&) = default;
  Secret& operator=(Secret&&) = default;
  ~Secret();

  static Result<Secret> parse(std::string_view text);
  static Secret generate(NonceSource& nonces, std::size_t bytes, std::optional<AuthHash> transform);

  ByteView bytes() const { return bytes_; }
  std::optional<AuthHash> transform() const { return transform_; }
  /// The key of the entity with this NQN.
  Bytes key_of(std::string_view nqn) const;
  /// The interchange form.
  std::string text() const;

 private:
  Bytes bytes_;
  std::optional<AuthHash> transform_;
};

/// What two sides know of each other: the host's secret and, for bidirectional authentication, the
/// controller's.
struct SecretPair {
  std::string hostnqn = "*";  ///< "*": any host
  Secret host;
  std::optional<Secret> controller = {};
};

/// The entry for a host: one with its name, or else one for any host. Null when there is none.
const SecretPair* secrets_of(const std::vector<SecretPair>& known, std::string_view hostnqn);

/// Lines "HOSTNQN SECRET [CONTROLLER-SECRET]" or "SECRET [CONTROLLER-SECRET]" ("*" for any host); empty
/// lines and those that begin with # are skipped. `name` is for the Problem.
Result<std::vector<SecretPair>> parse_secrets(std::string_view text, std::string_view name);
/// The same from a file that nobody but its owner may read or write (0600).
Result<std::vector<SecretPair>> read_secret_file(const std::string& path);

}  // namespace fb::auth
