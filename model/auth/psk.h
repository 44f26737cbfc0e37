// Pre-shared keys of NVMe/TCP with TLS (TCP transport 1.1, 3.6.1): the interchange form
// "NVMeTLSkey-1:hh:BASE64:", what is derived from it for a host and a subsystem, the identities under
// which TLS knows the result, and the file that holds such keys. What is wrong with a key is said
// without showing any of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/auth/nonces.h"

namespace fb::auth {

/// The hash of the cipher suite that a PSK goes with; the number is the one in identities.
enum class PskHash : std::uint8_t {
  sha_256 = 1,  ///< TLS_AES_128_GCM_SHA256
  sha_384 = 2   ///< TLS_AES_256_GCM_SHA384
};
std::size_t psk_bytes(PskHash hash);  // 32 or 48

/// How HKDF's info is composed. Old versions of libnvme left the length bytes out and wrote the length
/// little endian; peers that were given keys by them need the same.
enum class PskDerivation : std::uint8_t { specified, old_libnvme };

/// Where the input of a TLS PSK comes from: configured by somebody, or made by DH-HMAC-CHAP.
enum class PskOrigin : char { retained = 'R', generated = 'G' };

/// A configured PSK: 32 or 48 bytes, and the hash of its transform into a retained PSK. Wiped when it
/// goes.
class ConfiguredPsk {
 public:
  ConfiguredPsk(Bytes bytes, std::optional<PskHash> transform);
  ConfiguredPsk(const ConfiguredPsk&) = default;
  ConfiguredPsk(ConfiguredPsk&&) = default;
  ConfiguredPsk& operator=(const ConfiguredPsk&) = default;
  ConfiguredPsk& operator=(ConfiguredPsk&&) = default;
  ~ConfiguredPsk();

  static Result<ConfiguredPsk> parse(std::string_view text);
  /// Without a transform the length chooses the hash that the key goes with.
  static ConfiguredPsk generate(NonceSource& nonces, PskHash goes_with, bool transform);

  ByteView bytes() const { return bytes_; }
  std::optional<PskHash> transform() const { return transform_; }
  PskHash goes_with() const;
  /// The retained PSK of a host: the configured one where there is no transform.
  Bytes retained(std::string_view hostnqn, PskDerivation how = PskDerivation::specified) const;
  /// The interchange form.
  std::string text() const;

 private:
  Bytes bytes_;
  std::optional<PskHash> transform_;
};

/// What the words of an identity say: "NVMe0R01 HOSTNQN SUBNQN", from version 1 on with a digest.
struct PskIdentity {
  int version = 0;
  PskOrigin origin = PskOrigin::retained;
  PskHash hash = PskHash::sha_256;
  std::string hostnqn;
  std::string subnqn;
  std::string digest = {};

  static std::optional<PskIdentity> parse(std::string_view text);
  std::string text() const;
};

/// What TLS is given. Wiped when it goes.
struct TlsPsk {
  std::string identity;
  Bytes key;
  PskHash hash = PskHash::sha_256;

  TlsPsk(std::string name, Bytes bytes, PskHash goes_with) : identity(std::move(name)), key(std::move(bytes)), hash(goes_with) {}
  TlsPsk(const TlsPsk&) = default;
  TlsPsk(TlsPsk&&) = default;
  TlsPsk& operator=(const TlsPsk&) = default;
  TlsPsk& operator=(TlsPsk&&) = default;
  ~TlsPsk();
};

/// The digest of version 1: BASE64 of an HMAC that only holders of the input PSK can compute.
std::string psk_digest(PskHash hash, ByteView input, std::string_view hostnqn, std::string_view subnqn);

/// TLS PSK and identity of an input PSK (retained or generated). `whose.digest` is computed here. Fails
/// where an identity of version 0 is longer than the 255 bytes that HKDF takes.
Result<TlsPsk> derive_tls_psk(PskIdentity whose, ByteView input, PskDerivation how = PskDerivation::specified);

/// The keys of a host or a target.
class PskStore {
 public:
  /// Lines "HOSTNQN SUBNQN KEY" with a configured PSK ("*" for any name; both left out mean any), or
  /// "IDENTITY KEY" with a TLS PSK that was derived elsewhere; empty lines and those that begin with #
  /// are skipped. `name` is for the Problem.
  static Result<PskStore> parse(std::string_view text, std::string_view name);
  /// The same from a file that nobody but its owner may read or write (0600).
  static Result<PskStore> read_file(const std::string& path);

  void set_derivation(PskDerivation how) { how_ = how; }
  /// Adds a generated or otherwise derived PSK, in place of one with the same identity.
  void add(TlsPsk psk);
  void remove(std::string_view identity);

  /// The key with which a host speaks to a subsystem: the line that names both, or else the first one
  /// that admits them.
  Result<TlsPsk> for_pair(std::string_view hostnqn, std::string_view subnqn, int version) const;
  /// The configured key among them, by the same choice; null where there is none.
  const ConfiguredPsk* configured_for(std::string_view hostnqn, std::string_view subnqn) const;
  bool empty() const { return lines_.empty() && ready_.empty(); }
  /// The key of the line that comes first, for two names of no matter: for a deviation.
  std::optional<TlsPsk> any() const;
  /// The key behind an identity that a host offers.
  std::optional<TlsPsk> find(std::string_view identity) const;

 private:
  struct Line {
    std::string hostnqn;
    std::string subnqn;
    ConfiguredPsk psk;
    bool admits(std::string_view host, std::string_view subsystem) const;
    bool names_both() const { return hostnqn != "*" && subnqn != "*"; }
  };
  Result<void> take(std::vector<std::string_view> words);
  const Line* line_for(std::string_view hostnqn, std::string_view subnqn) const;
  Result<TlsPsk> derive(const Line& line, PskIdentity whose) const;

  std::vector<Line> lines_;
  std::vector<TlsPsk> ready_;
  PskDerivation how_ = PskDerivation::specified;
};

}  // namespace fb::auth
