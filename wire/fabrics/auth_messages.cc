#include "wire/fabrics/auth_messages.h"

#include <fmt/format.h>

namespace fb::fabrics {

namespace {

namespace af = auth_field;

constexpr std::uint8_t kNegotiate = 0x00, kFailure2 = 0xF0, kFailure1 = 0xF1;
constexpr std::uint8_t kChallenge = 0x01, kReply = 0x02, kSuccess1 = 0x03, kSuccess2 = 0x04;

template <class L>
Record<L> head_of(AuthType type, std::uint8_t id, std::uint16_t t_id) {
  Record<L> head;
  head.set(af::auth_type, static_cast<std::uint8_t>(type)).set(af::auth_id, id).set(af::t_id, t_id);
  return head;
}

Bytes joined(std::initializer_list<ByteView> parts) {
  Bytes out;
  for (const ByteView part : parts) {
    for (const std::uint8_t byte : part) out.push_back(byte);
  }
  return out;
}

Bytes copy_of(ByteView bytes) { return {bytes.begin(), bytes.end()}; }

std::uint16_t length_of(const Bytes& bytes) { return static_cast<std::uint16_t>(bytes.size()); }

}  // namespace

AuthMessage auth_message_of(ByteView bytes) {
  if (bytes.size() < 2) return AuthMessage::unknown;
  if (bytes[0] == static_cast<std::uint8_t>(AuthType::common)) {
    switch (bytes[1]) {
      case kNegotiate:
        return AuthMessage::negotiate;
      case kFailure1:
        return AuthMessage::failure1;
      case kFailure2:
        return AuthMessage::failure2;
      default:
        return AuthMessage::unknown;
    }
  }
  if (bytes[0] != static_cast<std::uint8_t>(AuthType::dh_hmac_chap)) return AuthMessage::unknown;
  switch (bytes[1]) {
    case kChallenge:
      return AuthMessage::challenge;
    case kReply:
      return AuthMessage::reply;
    case kSuccess1:
      return AuthMessage::success1;
    case kSuccess2:
      return AuthMessage::success2;
    default:
      return AuthMessage::unknown;
  }
}

// ---- Negotiate ----

std::optional<AuthNegotiate> AuthNegotiate::parse(ByteView bytes) {
  const auto head = View<AuthNegotiateHead>::over(bytes);
  if (!head || auth_message_of(bytes) != AuthMessage::negotiate) return std::nullopt;
  const std::size_t count = head->get(af::napd);
  if (bytes.size() < AuthNegotiateHead::size + count * AuthProtocolDescriptor::size) {
    return std::nullopt;
  }
  AuthNegotiate made{head->get(af::t_id), head->get(af::sc_c), {}};
  for (std::size_t i = 0; i < count; ++i) {
    const View<AuthProtocolDescriptor> at{bytes.subspan(AuthNegotiateHead::size + i * AuthProtocolDescriptor::size)};
    const std::size_t hashes = at.get(af::halen);
    const std::size_t groups = at.get(af::dhlen);
    if (hashes > kAuthListMax || groups > kAuthListMax) return std::nullopt;
    const ByteView hash_ids = ByteView{at.get(af::hash_ids)}.first(hashes);
    const ByteView dhg_ids = ByteView{at.get(af::dhg_ids)}.first(groups);
    made.protocols.push_back({at.get(af::authid), copy_of(hash_ids), copy_of(dhg_ids)});
  }
  return made;
}

Bytes AuthNegotiate::emit() const {
  auto head = head_of<AuthNegotiateHead>(AuthType::common, kNegotiate, t_id);
  head.set(af::sc_c, sc_c).set(af::napd, static_cast<std::uint8_t>(protocols.size()));
  Bytes out = copy_of(head.bytes());
  for (const AuthProtocol& protocol : protocols) {
    Record<AuthProtocolDescriptor> at;
    at.set(af::authid, protocol.authid)
        .set(af::halen, static_cast<std::uint8_t>(protocol.hashes.size()))
        .set(af::dhlen, static_cast<std::uint8_t>(protocol.groups.size()))
        .set(af::hash_ids, ByteView{protocol.hashes})
        .set(af::dhg_ids, ByteView{protocol.groups});
    out = joined({out, at.bytes()});
  }
  return out;
}

// ---- Challenge, Reply ----

std::optional<AuthChallenge> AuthChallenge::parse(ByteView bytes) {
  const auto head = View<AuthChallengeHead>::over(bytes);
  if (!head || auth_message_of(bytes) != AuthMessage::challenge) return std::nullopt;
  const std::size_t hl = head->get(af::hl);
  const std::size_t dhvlen = head->get(af::dhvlen);
  const ByteView rest = bytes.subspan(AuthChallengeHead::size);
  if (rest.size() < hl + dhvlen) return std::nullopt;
  return AuthChallenge{head->get(af::t_id),   head->get(af::hl),       head->get(af::hash_id),           head->get(af::dhg_id),
                       head->get(af::seqnum), copy_of(rest.first(hl)), copy_of(rest.subspan(hl, dhvlen))};
}

Bytes AuthChallenge::emit() const {
  auto head = head_of<AuthChallengeHead>(AuthType::dh_hmac_chap, kChallenge, t_id);
  head.set(af::hl, hl).set(af::hash_id, hash).set(af::dhg_id, group).set(af::dhvlen, length_of(dh_value)).set(af::seqnum, seqnum);
  return joined({head.bytes(), challenge, dh_value});
}

std::optional<AuthReply> AuthReply::parse(ByteView bytes) {
  const auto head = View<AuthReplyHead>::over(bytes);
  if (!head || auth_message_of(bytes) != AuthMessage::reply) return std::nullopt;
  const std::size_t hl = head->get(af::hl);
  const std::size_t dhvlen = head->get(af::dhvlen);
  const ByteView rest = bytes.subspan(AuthReplyHead::size);
  if (rest.size() < 2 * hl + dhvlen) return std::nullopt;
  return AuthReply{head->get(af::t_id),
                   head->get(af::hl),
                   head->get(af::cvalid),
                   head->get(af::seqnum),
                   copy_of(rest.first(hl)),
                   copy_of(rest.subspan(hl, hl)),
                   copy_of(rest.subspan(2 * hl, dhvlen))};
}

Bytes AuthReply::emit() const {
  auto head = head_of<AuthReplyHead>(AuthType::dh_hmac_chap, kReply, t_id);
  head.set(af::hl, hl).set(af::cvalid, cvalid).set(af::dhvlen, length_of(dh_value)).set(af::seqnum, seqnum);
  return joined({head.bytes(), response, challenge, dh_value});
}

// ---- Success, Failure ----

std::optional<AuthSuccess1> AuthSuccess1::parse(ByteView bytes) {
  const auto head = View<AuthSuccess1Head>::over(bytes);
  if (!head || auth_message_of(bytes) != AuthMessage::success1) return std::nullopt;
  AuthSuccess1 made{head->get(af::t_id), head->get(af::hl), head->get(af::rvalid), {}};
  const ByteView rest = bytes.subspan(AuthSuccess1Head::size);
  // Some controllers end the message here when there is no response in it.
  if (rest.size() < made.hl) return made.rvalid == 0 ? std::optional{made} : std::nullopt;
  made.response = copy_of(rest.first(made.hl));
  return made;
}

Bytes AuthSuccess1::emit() const {
  auto head = head_of<AuthSuccess1Head>(AuthType::dh_hmac_chap, kSuccess1, t_id);
  head.set(af::hl, hl).set(af::rvalid, rvalid);
  return joined({head.bytes(), response});
}

std::optional<AuthSuccess2> AuthSuccess2::parse(ByteView bytes) {
  const auto head = View<AuthSuccess2Message>::over(bytes);
  if (!head || auth_message_of(bytes) != AuthMessage::success2) return std::nullopt;
  return AuthSuccess2{head->get(af::t_id)};
}

Bytes AuthSuccess2::emit() const { return copy_of(head_of<AuthSuccess2Message>(AuthType::dh_hmac_chap, kSuccess2, t_id).bytes()); }

std::optional<AuthFailureReport> AuthFailureReport::parse(ByteView bytes) {
  const auto message = View<AuthFailureMessage>::over(bytes);
  const AuthMessage kind = auth_message_of(bytes);
  if (!message || (kind != AuthMessage::failure1 && kind != AuthMessage::failure2)) {
    return std::nullopt;
  }
  return AuthFailureReport{kind == AuthMessage::failure2, message->get(af::t_id), message->get(af::rcode), message->get(af::rcodeex)};
}

Bytes AuthFailureReport::emit() const {
  auto message = head_of<AuthFailureMessage>(AuthType::common, from_host ? kFailure2 : kFailure1, t_id);
  message.set(af::rcode, rcode).set(af::rcodeex, rcodeex);
  return copy_of(message.bytes());
}

// ---- words ----

std::string_view name_of(AuthMessage message) {
  switch (message) {
    case AuthMessage::negotiate:
      return "AUTH_Negotiate";
    case AuthMessage::challenge:
      return "DH-HMAC-CHAP_Challenge";
    case AuthMessage::reply:
      return "DH-HMAC-CHAP_Reply";
    case AuthMessage::success1:
      return "DH-HMAC-CHAP_Success1";
    case AuthMessage::success2:
      return "DH-HMAC-CHAP_Success2";
    case AuthMessage::failure1:
      return "AUTH_Failure1";
    case AuthMessage::failure2:
      return "AUTH_Failure2";
    case AuthMessage::unknown:
      return "unknown message";
  }
  return "unknown message";
}

std::string_view name_of(AuthHash hash) {
  switch (hash) {
    case AuthHash::sha_256:
      return "SHA-256";
    case AuthHash::sha_384:
      return "SHA-384";
    case AuthHash::sha_512:
      return "SHA-512";
  }
  return "reserved hash";
}

std::string_view name_of(DhGroup group) {
  switch (group) {
    case DhGroup::null:
      return "NULL";
    case DhGroup::ffdhe2048:
      return "ffdhe2048";
    case DhGroup::ffdhe3072:
      return "ffdhe3072";
    case DhGroup::ffdhe4096:
      return "ffdhe4096";
    case DhGroup::ffdhe6144:
      return "ffdhe6144";
    case DhGroup::ffdhe8192:
      return "ffdhe8192";
  }
  return "reserved group";
}

std::string_view name_of(AuthFailure reason) {
  switch (reason) {
    case AuthFailure::none:
      return "no reason";
    case AuthFailure::failed:
      return "Authentication failed";
    case AuthFailure::protocol_not_usable:
      return "Authentication protocol not usable";
    case AuthFailure::secure_channel_mismatch:
      return "Secure channel concatenation mismatch";
    case AuthFailure::hash_not_usable:
      return "Hash function not usable";
    case AuthFailure::group_not_usable:
      return "DH group not usable";
    case AuthFailure::incorrect_payload:
      return "Incorrect payload";
    case AuthFailure::incorrect_message:
      return "Incorrect protocol message";
  }
  return "reserved reason";
}

namespace {

template <class Id>
std::string list_of(const std::vector<std::uint8_t>& ids) {
  std::string out;
  for (const std::uint8_t id : ids) {
    if (!out.empty()) out += ',';
    out += name_of(static_cast<Id>(id));
  }
  return out.empty() ? "none" : out;
}

std::string describe_negotiate(const AuthNegotiate& message) {
  std::string out = fmt::format("sc_c={}", message.sc_c);
  for (const AuthProtocol& protocol : message.protocols) {
    out += fmt::format(" authid={} hashes={} groups={}", protocol.authid, list_of<AuthHash>(protocol.hashes),
                       list_of<DhGroup>(protocol.groups));
  }
  return out;
}

std::string describe_body(AuthMessage kind, ByteView bytes) {
  switch (kind) {
    case AuthMessage::negotiate:
      if (const auto m = AuthNegotiate::parse(bytes)) return describe_negotiate(*m);
      break;
    case AuthMessage::challenge:
      if (const auto m = AuthChallenge::parse(bytes)) {
        return fmt::format("hl={} hash={} group={} dhvlen={} seqnum={:#x}", m->hl, name_of(static_cast<AuthHash>(m->hash)),
                           name_of(static_cast<DhGroup>(m->group)), m->dh_value.size(), m->seqnum);
      }
      break;
    case AuthMessage::reply:
      if (const auto m = AuthReply::parse(bytes)) {
        return fmt::format("hl={} cvalid={} dhvlen={} seqnum={:#x}", m->hl, m->cvalid, m->dh_value.size(), m->seqnum);
      }
      break;
    case AuthMessage::success1:
      if (const auto m = AuthSuccess1::parse(bytes)) {
        return fmt::format("hl={} rvalid={}", m->hl, m->rvalid);
      }
      break;
    case AuthMessage::failure1:
    case AuthMessage::failure2:
      if (const auto m = AuthFailureReport::parse(bytes)) {
        return fmt::format("rcode={} rcodeex={} ({})", m->rcode, m->rcodeex, name_of(static_cast<AuthFailure>(m->rcodeex)));
      }
      break;
    case AuthMessage::success2:
      if (AuthSuccess2::parse(bytes)) return {};
      break;
    case AuthMessage::unknown:
      return {};
  }
  return fmt::format("(malformed, {} bytes)", bytes.size());
}

}  // namespace

std::string describe_auth_message(ByteView bytes) {
  const AuthMessage kind = auth_message_of(bytes);
  std::string out{name_of(kind)};
  if (bytes.size() >= AnyAuthHead::size) {
    if (kind == AuthMessage::unknown) out += fmt::format(" {:02X}h/{:02X}h", bytes[0], bytes[1]);
    out += fmt::format(" t_id={}", View<AnyAuthHead>{bytes}.get(af::t_id));
  }
  const std::string body = describe_body(kind, bytes);
  return body.empty() ? out : out + ' ' + body;
}

}  // namespace fb::fabrics
