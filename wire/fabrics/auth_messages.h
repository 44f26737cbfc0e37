// The messages of in-band authentication that travel in Authentication Send and Receive: the common
// ones and those of DH-HMAC-CHAP. Parsers survive any bytes: what is shorter than it claims is no
// message. emit() says whatever the value holds, legal or not.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/layout.h"

namespace fb::fabrics {

enum class AuthType : std::uint8_t { common = 0x00, dh_hmac_chap = 0x01 };

/// Bytes that hold the longest message (a Reply of the 8192-bit group) with room to spare.
inline constexpr std::uint32_t kAuthMessageMax = 4096;
inline constexpr std::size_t kAuthProtocolDescriptorBytes = 64;
inline constexpr std::size_t kAuthListMax = 30;

enum class AuthMessage : std::uint8_t {
  negotiate,
  challenge,
  reply,
  success1,
  success2,
  failure1,
  failure2,
  unknown,
};
std::string_view name_of(AuthMessage message);
/// Which message the bytes claim to be.
AuthMessage auth_message_of(ByteView bytes);

enum class AuthProtocolId : std::uint8_t { dh_hmac_chap = 1 };
enum class AuthHash : std::uint8_t { sha_256 = 1, sha_384 = 2, sha_512 = 3 };
enum class DhGroup : std::uint8_t {
  null = 0,
  ffdhe2048 = 1,
  ffdhe3072 = 2,
  ffdhe4096 = 3,
  ffdhe6144 = 4,
  ffdhe8192 = 5,
};
/// SC_C: whether, and how, a TLS channel follows.
enum class SecureChannel : std::uint8_t { none = 0, new_tls_psk = 2, replace_tls_psk = 3 };
/// RCODEEX with RCODE 1.
enum class AuthFailure : std::uint8_t {
  none = 0,
  failed = 1,
  protocol_not_usable = 2,
  secure_channel_mismatch = 3,
  hash_not_usable = 4,
  group_not_usable = 5,
  incorrect_payload = 6,
  incorrect_message = 7,
};
inline constexpr std::uint8_t kAuthFailureReason = 1;

std::string_view name_of(AuthHash hash);
std::string_view name_of(DhGroup group);
std::string_view name_of(AuthFailure reason);

namespace auth_field {
inline constexpr Le<"auth_type", 0, std::uint8_t> auth_type{};
inline constexpr Le<"auth_id", 1, std::uint8_t> auth_id{};
inline constexpr Le<"t_id", 4, std::uint16_t> t_id{};
inline constexpr Le<"sc_c", 6, std::uint8_t> sc_c{};
inline constexpr Le<"napd", 7, std::uint8_t> napd{};
inline constexpr Le<"hl", 6, std::uint8_t> hl{};
inline constexpr Le<"hash_id", 8, std::uint8_t> hash_id{};
inline constexpr Le<"dhg_id", 9, std::uint8_t> dhg_id{};
inline constexpr Le<"cvalid", 8, std::uint8_t> cvalid{};
inline constexpr Le<"rvalid", 8, std::uint8_t> rvalid{};
inline constexpr Le<"dhvlen", 10, std::uint16_t> dhvlen{};
inline constexpr Le<"seqnum", 12, std::uint32_t> seqnum{};
inline constexpr Le<"rcode", 6, std::uint8_t> rcode{};
inline constexpr Le<"rcodeex", 7, std::uint8_t> rcodeex{};
// A protocol descriptor.
inline constexpr Le<"authid", 0, std::uint8_t> authid{};
inline constexpr Le<"halen", 2, std::uint8_t> halen{};
inline constexpr Le<"dhlen", 3, std::uint8_t> dhlen{};
inline constexpr BytesField<"hash_ids", 4, kAuthListMax> hash_ids{};
inline constexpr BytesField<"dhg_ids", 34, kAuthListMax> dhg_ids{};
}  // namespace auth_field

/// The fixed beginnings; what follows has the lengths that they name.
template <std::size_t Size, auto... Fields>
using AuthHead = Layout<Size, auth_field::auth_type, auth_field::auth_id, auth_field::t_id, Fields...>;
using AnyAuthHead = AuthHead<6>;
using AuthNegotiateHead = AuthHead<8, auth_field::sc_c, auth_field::napd>;
using AuthProtocolDescriptor = Layout<kAuthProtocolDescriptorBytes, auth_field::authid, auth_field::halen, auth_field::dhlen,
                                      auth_field::hash_ids, auth_field::dhg_ids>;
using AuthChallengeHead = AuthHead<16, auth_field::hl, auth_field::hash_id, auth_field::dhg_id, auth_field::dhvlen, auth_field::seqnum>;
using AuthReplyHead = AuthHead<16, auth_field::hl, auth_field::cvalid, auth_field::dhvlen, auth_field::seqnum>;
using AuthSuccess1Head = AuthHead<16, auth_field::hl, auth_field::rvalid>;
using AuthSuccess2Message = AuthHead<16>;
using AuthFailureMessage = AuthHead<8, auth_field::rcode, auth_field::rcodeex>;

/// One offer: a protocol with the hashes and groups that may be used.
struct AuthProtocol {
  std::uint8_t authid = static_cast<std::uint8_t>(AuthProtocolId::dh_hmac_chap);
  std::vector<std::uint8_t> hashes;
  std::vector<std::uint8_t> groups;
};

struct AuthNegotiate {
  std::uint16_t t_id = 0;
  std::uint8_t sc_c = 0;
  std::vector<AuthProtocol> protocols;

  /// Nothing when descriptors are missing, or a list is longer than its room.
  static std::optional<AuthNegotiate> parse(ByteView bytes);
  Bytes emit() const;
};

struct AuthChallenge {
  std::uint16_t t_id = 0;
  std::uint8_t hl = 0;
  std::uint8_t hash = 0;
  std::uint8_t group = 0;
  std::uint32_t seqnum = 0;
  Bytes challenge;  ///< C1, HL bytes
  Bytes dh_value;   ///< DHVLEN bytes

  static std::optional<AuthChallenge> parse(ByteView bytes);
  Bytes emit() const;
};

struct AuthReply {
  std::uint16_t t_id = 0;
  std::uint8_t hl = 0;
  std::uint8_t cvalid = 0;
  std::uint32_t seqnum = 0;
  Bytes response;   ///< R1, HL bytes
  Bytes challenge;  ///< C2, HL bytes
  Bytes dh_value;

  static std::optional<AuthReply> parse(ByteView bytes);
  Bytes emit() const;
};

struct AuthSuccess1 {
  std::uint16_t t_id = 0;
  std::uint8_t hl = 0;
  std::uint8_t rvalid = 0;
  Bytes response;  ///< R2, HL bytes; may be absent when it is not valid

  static std::optional<AuthSuccess1> parse(ByteView bytes);
  Bytes emit() const;
};

struct AuthSuccess2 {
  std::uint16_t t_id = 0;

  static std::optional<AuthSuccess2> parse(ByteView bytes);
  Bytes emit() const;
};

/// AUTH_Failure1 (from the controller) or AUTH_Failure2 (from the host).
struct AuthFailureReport {
  bool from_host = false;
  std::uint16_t t_id = 0;
  std::uint8_t rcode = kAuthFailureReason;
  std::uint8_t rcodeex = 0;

  static std::optional<AuthFailureReport> parse(ByteView bytes);
  Bytes emit() const;
};

/// "AUTH_Negotiate t_id=1 sc_c=0 hashes=SHA-256,SHA-384 groups=NULL,ffdhe2048". Challenges and
/// responses are named by their lengths alone. Any bytes can be described.
std::string describe_auth_message(ByteView bytes);

}  // namespace fb::fabrics
