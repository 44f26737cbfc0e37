#include "model/auth/host_auth.h"

#include <algorithm>
#include <utility>

#include "model/auth/fault_points.h"
#include "model/auth/formulas.h"

namespace fb::auth {

using fabrics::AuthChallenge;
using fabrics::AuthFailureReport;
using fabrics::AuthMessage;
using fabrics::AuthNegotiate;
using fabrics::AuthReply;
using fabrics::AuthSuccess1;
using fabrics::AuthSuccess2;

namespace {

constexpr std::uint8_t kWrongLength = 16;
constexpr std::size_t kPrefix = 16;  // compared in place of a whole value
constexpr std::uint8_t kReservedId = 0xFF;

bool all_zero(const Bytes& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

bool is_one(const Bytes& bytes) {
  return !bytes.empty() && bytes.back() == 1 && std::all_of(bytes.begin(), bytes.end() - 1, [](std::uint8_t byte) { return byte == 0; });
}

/// For a deviation.
Bytes one_of_length(std::size_t bytes) {
  Bytes made(bytes);
  made.back() = 1;
  return made;
}

template <class Id>
bool among(const std::vector<Id>& offered, std::uint8_t id) {
  return std::find(offered.begin(), offered.end(), static_cast<Id>(id)) != offered.end();
}

template <class Id>
std::vector<std::uint8_t> ids_of(const std::vector<Id>& offered) {
  std::vector<std::uint8_t> ids;
  for (const Id id : offered) ids.push_back(static_cast<std::uint8_t>(id));
  return ids;
}

}  // namespace

HostAuth::HostAuth(HostAuthConfig config, NonceSource& nonces, Departs departs)
    : config_(std::move(config)), nonces_(nonces), departs_(std::move(departs)) {
  if (!secure()) return;
  std::erase(config_.groups, DhGroup::null);
  std::erase(config_.hashes, AuthHash::sha_512);  // no cipher suite goes with it
}

HostStep HostAuth::begin() {
  t_id_ = nonces_.transaction();
  sc_c_ = static_cast<std::uint8_t>(config_.secure_channel);
  if (departs(point::host_negotiate_sc_c)) {
    sc_c_ = static_cast<std::uint8_t>(SecureChannel::new_tls_psk);
  }
  AuthNegotiate negotiate{t_id_, sc_c_, {}};
  negotiate.protocols.push_back({.hashes = ids_of(config_.hashes), .groups = ids_of(config_.groups)});
  auto& offer = negotiate.protocols.front();
  if (departs(point::host_negotiate_hash)) offer.hashes.push_back(kReservedId);
  if (departs(point::host_negotiate_group)) offer.groups.push_back(kReservedId);
  if (departs(point::host_negotiate_empty)) offer.hashes.clear();
  if (departs(point::host_negotiate_protocol)) offer.authid = kReservedId;
  Bytes message = negotiate.emit();
  if (departs(point::host_negotiate_napd)) ++message[7];
  if (departs(point::host_negotiate_reserved)) message[2] = 0xFF;
  state_ = State::challenge_awaited;
  return {std::move(message), true};
}

bool HostAuth::rejects(std::string_view at, AuthFailure reason, std::string why) {
  if (departs(at)) return false;
  reason_ = reason;
  why_ = std::move(why);
  state_ = State::failed;
  return true;
}

HostStep HostAuth::failure2() const {
  AuthFailureReport report;
  report.from_host = true;
  report.t_id = t_id_;
  report.rcodeex = static_cast<std::uint8_t>(departs(point::host_failure2_reason) ? AuthFailure::protocol_not_usable : reason_);
  return {report.emit(), false};
}

std::optional<HostStep> HostAuth::on_message(ByteView message) {
  const AuthMessage kind = fabrics::auth_message_of(message);
  if (kind == AuthMessage::failure1) return on_failure1(message);
  if (state_ == State::challenge_awaited && kind == AuthMessage::challenge) {
    return on_challenge(message);
  }
  if (state_ == State::success1_awaited && kind == AuthMessage::success1) {
    return on_success1(message);
  }
  const std::string_view wanted = state_ == State::challenge_awaited ? "a Challenge" : "a Success1";
  if (rejects(point::host_takes_message, AuthFailure::incorrect_message,
              "the controller sent " + std::string(name_of(kind)) + " instead of " + std::string(wanted))) {
    return failure2();
  }
  state_ = State::done;
  return std::nullopt;
}

std::optional<HostStep> HostAuth::on_failure1(ByteView message) {
  const bool late = state_ == State::success1_awaited;
  if (departs(point::host_failure1_ignored) || (late && departs(point::host_takes_failure_late))) {
    state_ = State::done;
    return std::nullopt;
  }
  const auto report = AuthFailureReport::parse(message);
  state_ = State::failed;
  reason_ = report ? static_cast<AuthFailure>(report->rcodeex) : AuthFailure::failed;
  why_ = "the controller refused: " + std::string(name_of(reason_));
  return std::nullopt;
}

// ---- Challenge ----

bool HostAuth::dh_value_good(const Bytes& value) {
  const auto bad = AuthFailure::incorrect_payload;
  if (group_ == DhGroup::null) {
    return value.empty() || !rejects(point::host_takes_no_dh, bad, "a DH value with the NULL group");
  }
  if (value.empty()) {
    return !rejects(point::host_takes_no_dh, bad, "the Challenge has no DH value");
  }
  if (value.size() % 4 != 0 || value.size() > group_bytes(group_)) {
    return !rejects(point::host_takes_no_dh, bad, "the controller's DH value has a wrong length");
  }
  if (value.front() == 0 && departs(point::host_refuses_leading_zero)) {
    reason_ = bad;
    why_ = "the controller's DH value begins with 0";
    return false;
  }
  if (dh_value_usable(group_, value)) return true;
  const auto at = all_zero(value) ? point::host_takes_dh_zero : is_one(value) ? point::host_takes_dh_one : point::host_takes_dh_largest;
  return !rejects(at, bad, "the controller's DH value is none");
}

bool HostAuth::challenge_good(const AuthChallenge& challenge) {
  const auto bad = AuthFailure::incorrect_payload;
  if (challenge.t_id != t_id_ && rejects(point::host_takes_t_id, bad, "the Challenge belongs to another transaction")) {
    return false;
  }
  const bool known_hash = hash_bytes(static_cast<AuthHash>(challenge.hash)) != 0;
  if (!among(config_.hashes, challenge.hash) &&
      (rejects(point::host_takes_hash, bad, "the Challenge names a hash that was not offered") || !known_hash)) {
    return false;
  }
  hash_ = static_cast<AuthHash>(challenge.hash);
  const auto group = static_cast<DhGroup>(challenge.group);
  const bool known_group = group == DhGroup::null || group_bytes(group) != 0;
  if (!among(config_.groups, challenge.group) &&
      (rejects(point::host_takes_group, bad, "the Challenge names a DH group that was not offered") || !known_group)) {
    return false;
  }
  group_ = group;
  if (challenge.hl != hash_bytes(hash_) && rejects(point::host_takes_hl, bad, "HL of the Challenge does not fit its hash")) {
    return false;
  }
  if (challenge.seqnum == 0 && rejects(point::host_takes_seqnum, bad, "S1 is 0")) return false;
  return dh_value_good(challenge.dh_value);
}

std::optional<HostStep> HostAuth::on_challenge(ByteView message) {
  const auto challenge = AuthChallenge::parse(message);
  if (!challenge) {
    if (rejects(point::host_takes_truncated, AuthFailure::incorrect_payload, "the Challenge is truncated")) {
      return failure2();
    }
    state_ = State::done;
    return std::nullopt;
  }
  if (!challenge_good(*challenge)) {
    // A deviation may go on with a hash or a group that nobody knows: that cannot be computed.
    state_ = State::failed;
    if (reason_ == AuthFailure::none) reason_ = AuthFailure::incorrect_payload;
    return failure2();
  }
  s1_ = challenge->seqnum;
  c1_ = challenge->challenge;
  peer_value_ = challenge->dh_value;
  return reply();
}

HostStep HostAuth::reply() {
  const bool mutual = config_.controller_secret.has_value();
  AuthReply reply;
  reply.t_id = t_id_;
  reply.hl = static_cast<std::uint8_t>(hash_bytes(hash_));
  c2_.assign(hash_bytes(hash_), 0);
  s2_ = 0;
  if (mutual || secure() || departs(point::host_reply_unasked)) {
    do {
      nonces_.fill(c2_);
    } while (c2_ == c1_);
    reply.cvalid = 1;
  }
  if (mutual) s2_ = nonces_.sequence_number();
  if (departs(point::host_reply_c2_repeats)) c2_.assign(c2_.size(), 0x5A);
  if (departs(point::host_reply_c2)) c2_ = c1_;
  if (departs(point::host_reply_seqnum)) s2_ = 0;
  if (mutual && departs(point::host_reply_cvalid)) {
    reply.cvalid = 0;
    c2_.assign(c2_.size(), 0);
  }
  reply.challenge = c2_;
  reply.seqnum = s2_;
  if (group_ != DhGroup::null) {
    const Bytes exponent = nonces_.exponent();
    reply.dh_value = departs(point::host_reply_dh_one) ? one_of_length(group_bytes(group_)) : dh_public(group_, exponent);
    session_key_ = session_key(hash_, dh_shared(group_, exponent, peer_value_));
  } else if (departs(point::host_reply_dh_null)) {
    reply.dh_value = nonces_.bytes(group_bytes(DhGroup::ffdhe2048));
  }
  const Bytes key = config_.secret.key_of(config_.hostnqn);
  const Bytes augmented = augmented_challenge(hash_, group_, session_key_, c1_);
  const ResponseInput input{augmented, s1_, t_id_, sc_c_, config_.hostnqn, config_.subnqn};
  reply.response = departs(point::host_reply_response) ? controller_response(hash_, key, input) : host_response(hash_, key, input);
  if (departs(point::host_reply_t_id)) ++reply.t_id;
  if (departs(point::host_reply_hl)) reply.hl = kWrongLength;
  state_ = State::success1_awaited;
  return {reply.emit(), true};
}

// ---- Success1 ----

bool HostAuth::response_good(const AuthSuccess1& success) const {
  const Bytes key = config_.controller_secret->key_of(config_.subnqn);
  const Bytes augmented = augmented_challenge(hash_, group_, session_key_, c2_);
  const Bytes expected = controller_response(hash_, key, {augmented, s2_, t_id_, sc_c_, config_.hostnqn, config_.subnqn});
  if (departs(point::host_takes_response_prefix) && success.response.size() >= kPrefix) {
    return equal_in_constant_time(ByteView{expected}.first(kPrefix), ByteView{success.response}.first(kPrefix));
  }
  return equal_in_constant_time(expected, success.response);
}

std::optional<HostStep> HostAuth::on_success1(ByteView message) {
  const auto bad = AuthFailure::incorrect_payload;
  const auto success = AuthSuccess1::parse(message);
  if (!success) {
    if (rejects(point::host_takes_truncated, bad, "the Success1 is truncated")) return failure2();
    state_ = State::done;
    return std::nullopt;
  }
  if (success->t_id != t_id_ && rejects(point::host_takes_t_id, bad, "the Success1 belongs to another transaction")) {
    return failure2();
  }
  if (success->hl != hash_bytes(hash_) && rejects(point::host_takes_success1_hl, bad, "HL of the Success1 does not fit the hash")) {
    return failure2();
  }
  const bool mutual = config_.controller_secret.has_value();
  if (mutual && success->rvalid == 0 &&
      rejects(point::host_takes_no_response, AuthFailure::failed, "the controller did not authenticate itself")) {
    return failure2();
  }
  if (mutual && success->rvalid != 0 && !response_good(*success) &&
      rejects(point::host_takes_response, AuthFailure::failed, "the controller's response is wrong: it does not know the secret")) {
    return failure2();
  }
  state_ = State::done;
  if (secure()) {
    psk_ = GeneratedPsk{generated_psk(hash_, session_key_, c1_, c2_), hash_, config_.hostnqn, config_.subnqn};
  }
  if (!mutual || departs(point::host_success2_omitted)) return std::nullopt;
  AuthSuccess2 done{t_id_};
  if (departs(point::host_success2_t_id)) ++done.t_id;
  return HostStep{done.emit(), false};
}

}  // namespace fb::auth
