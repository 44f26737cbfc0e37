// TLS 1.3 by hand, as far as the first flights go: a ClientHello that says anything, with a binder that is
// right or wrong, and what comes back for it; and the other side, which sees what a client offers. What
// goes on behind the hellos is encrypted, and nobody's business here.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/runner/check.h"
#include "model/auth/psk.h"
#include "sim/core/world.h"
#include "sim/net/stream.h"

namespace fb::conformance {

namespace tls_number {
inline constexpr std::uint16_t kTls12 = 0x0303, kTls13 = 0x0304;
inline constexpr std::uint16_t kAes128GcmSha256 = 0x1301, kAes256GcmSha384 = 0x1302;
inline constexpr std::uint16_t kFfdhe3072 = 0x0101, kSecp384r1 = 24;
inline constexpr std::uint8_t kPskKe = 0, kPskDheKe = 1;
inline constexpr std::uint8_t kAlert = 21, kHandshake = 22;
}  // namespace tls_number

/// What a ClientHello says.
struct TlsHello {
  std::vector<std::uint16_t> versions = {tls_number::kTls13};
  std::vector<std::uint16_t> suites = {tls_number::kAes128GcmSha256};
  std::vector<std::uint16_t> groups = {tls_number::kFfdhe3072};
  std::vector<std::uint8_t> modes = {tls_number::kPskDheKe};
  std::vector<std::string> identities = {};
  std::vector<std::uint16_t> shares = {};  ///< groups with a key share
  bool early_data = false;
  bool well_formed = true;
  Bytes up_to_binders = {};  ///< what the binders are computed over
  std::vector<Bytes> binders = {};

  /// From the handshake message of a client.
  static TlsHello parse(ByteView message);
};

/// A record with a ClientHello that shows `psk` (none: no key at all). ffdhe3072 has a key share where it
/// is among the groups. A wrong binder is one of another key.
Bytes client_hello(const TlsHello& hello, const auth::TlsPsk* psk, Rng& random, bool binder_right = true);
/// The binder that a hello must have for its first identity.
Bytes binder_of(const auth::TlsPsk& psk, ByteView up_to_binders);

struct TlsRecord {
  std::uint8_t type = 0;
  Bytes body;
};

/// What a server said first.
struct TlsAnswer {
  enum class Kind : std::uint8_t { server_hello, alert, closed, other, silence } kind = Kind::silence;
  std::uint8_t alert = 0;
  std::uint16_t version = 0;
  std::uint16_t suite = 0;
  std::uint16_t group = 0;  ///< 0: no key share
  bool psk = false;
  std::string text() const;
  bool refuses() const { return kind == Kind::alert || kind == Kind::closed; }
};

class RawTls final : private net::StreamHandler, private net::StreamAcceptor {
 public:
  static constexpr Duration kPatience = Duration::s(15);

  RawTls(World& world, net::StreamHost& host, const IpAddress& local);
  ~RawTls();

  /// CannotArrange when there is no TCP connection to be had.
  void connect(const Endpoint& to);
  /// Waits for clients; the first one counts. CannotArrange where there is no listening.
  Endpoint listen(std::uint16_t port);
  void send(ByteView bytes);
  std::optional<TlsRecord> next(Duration limit = kPatience);
  TlsAnswer answer(Duration limit = kPatience);
  /// The client's first bytes as a hello; nothing when they are none.
  std::optional<TlsHello> hello(Duration limit = kPatience);
  bool wait_closed(Duration limit = kPatience);
  const Bytes& all() const { return all_; }

 private:
  void on_stream(std::unique_ptr<net::Stream> stream) override;
  void on_connected() override { connected_ = true; }
  void on_readable() override;
  void on_writable() override {}
  void on_flush() override {}
  void on_end(const net::StreamEnd& end) override;

  World& world_;
  net::StreamHost& host_;
  IpAddress local_;
  std::unique_ptr<net::StreamListener> listener_;
  std::unique_ptr<net::Stream> stream_;
  bool connected_ = false;
  bool closed_ = false;
  std::string why_;
  Bytes all_;
  std::size_t taken_ = 0;
};

}  // namespace fb::conformance
