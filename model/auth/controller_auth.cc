#include "model/auth/controller_auth.h"

#include <algorithm>
#include <utility>

#include "model/auth/fault_points.h"
#include "model/auth/formulas.h"

namespace fb::auth {

using fabrics::AuthChallenge;
using fabrics::AuthFailureReport;
using fabrics::AuthMessage;
using fabrics::AuthNegotiate;
using fabrics::AuthProtocol;
using fabrics::AuthReply;
using fabrics::AuthSuccess1;
using fabrics::AuthSuccess2;

namespace {

constexpr std::uint8_t kWrongLength = 16;
constexpr std::size_t kPrefix = 16;  // compared in place of a whole value

template <class Id>
bool offers(const std::vector<std::uint8_t>& offered, Id id) {
  return std::find(offered.begin(), offered.end(), static_cast<std::uint8_t>(id)) != offered.end();
}

/// The first of ours that is among theirs.
template <class Id>
std::optional<Id> first_common(const std::vector<Id>& ours, const std::vector<std::uint8_t>& theirs) {
  for (const Id id : ours) {
    if (offers(theirs, id)) return id;
  }
  return std::nullopt;
}

template <class Id>
Id first_not_offered(std::initializer_list<Id> candidates, const std::vector<std::uint8_t>& theirs) {
  for (const Id id : candidates) {
    if (!offers(theirs, id)) return id;
  }
  return *candidates.begin();
}

std::uint16_t t_id_of(ByteView message) {
  const auto head = View<fabrics::AnyAuthHead>::over(message);
  return head ? head->get(fabrics::auth_field::t_id) : std::uint16_t{0};
}

bool all_zero(const Bytes& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

bool is_one(const Bytes& bytes) {
  return !bytes.empty() && bytes.back() == 1 && std::all_of(bytes.begin(), bytes.end() - 1, [](std::uint8_t byte) { return byte == 0; });
}

bool same_t_id(std::uint16_t one, std::uint16_t other, bool low_byte) { return low_byte ? (one & 0xFF) == (other & 0xFF) : one == other; }

Bytes key_of(const Secret& secret, std::string_view nqn, bool always_sha_256) {
  if (!always_sha_256) return secret.key_of(nqn);
  return Secret({secret.bytes().begin(), secret.bytes().end()}, AuthHash::sha_256).key_of(nqn);
}

}  // namespace

ControllerAuth::ControllerAuth(ControllerAuthConfig config, NonceSource& nonces, Departs departs)
    : config_(std::move(config)), nonces_(nonces), departs_(std::move(departs)) {}

bool ControllerAuth::rejects(std::string_view at, AuthFailure reason) {
  if (departs(at)) return false;
  fail(reason);
  return true;
}

void ControllerAuth::fail(AuthFailure reason) {
  reason_ = reason;
  authenticated_ = false;
  state_ = State::failure1_due;
}

void ControllerAuth::succeed() {
  state_ = State::idle;
  authenticated_ = true;
  ++completed_;
  if (sc_c_ != 0 && !c2_.empty()) {
    psk_ = GeneratedPsk{generated_psk(hash_, session_key_, c1_, c2_), hash_, config_.hostnqn, config_.subnqn};
  }
}

bool ControllerAuth::message_due() const {
  return state_ == State::challenge_due || state_ == State::success1_due || state_ == State::failure1_due;
}

void ControllerAuth::time_out() {
  if (!authenticated_ || departs(point::timeout_again)) {
    reason_ = AuthFailure::failed;
    state_ = State::failed;
  } else {
    state_ = State::idle;
  }
}

// ---- messages in ----

void ControllerAuth::on_message(ByteView message) {
  const AuthMessage kind = fabrics::auth_message_of(message);
  if (kind == AuthMessage::failure2 && in_transaction()) {
    if (departs(point::failure2_ignored)) return;
    reason_ = AuthFailure::failed;
    authenticated_ = false;
    state_ = State::failed;
    return;
  }
  switch (state_) {
    case State::idle:
      if (kind == AuthMessage::negotiate) return on_negotiate(message);
      t_id_ = t_id_of(message);
      break;
    case State::reply_awaited:
      if (kind == AuthMessage::reply) return on_reply(message);
      break;
    case State::success2_awaited:
      if (kind == AuthMessage::success2) return on_success2(message);
      break;
    case State::failed:
      return;
    default:
      break;
  }
  rejects(point::sequence, AuthFailure::incorrect_message);
}

bool ControllerAuth::secure_channel_acceptable() const {
  switch (static_cast<SecureChannel>(sc_c_)) {
    case SecureChannel::none:
      return true;
    case SecureChannel::new_tls_psk:
      return config_.new_tls_psk;
    case SecureChannel::replace_tls_psk:
      return config_.replace_tls_psk;
  }
  return false;
}

void ControllerAuth::on_negotiate(ByteView message) {
  t_id_ = t_id_of(message);
  std::optional<AuthNegotiate> negotiate = AuthNegotiate::parse(message);
  if (!negotiate) {
    if (rejects(point::negotiate_payload, AuthFailure::incorrect_payload)) return;
    negotiate.emplace();
    negotiate->t_id = t_id_;
    negotiate->protocols.push_back({.hashes = {1, 2, 3}, .groups = {0}});
  }
  sc_c_ = negotiate->sc_c;
  c2_.clear();
  session_key_.clear();
  if (!secure_channel_acceptable() && rejects(point::negotiate_sc_c, AuthFailure::secure_channel_mismatch)) {
    return;
  }
  if (choose(*negotiate)) state_ = State::challenge_due;
}

/// The first descriptor that can be used; when none can, why the first of our protocol cannot.
bool ControllerAuth::choose(const AuthNegotiate& negotiate) {
  std::vector<AuthHash> hashes = config_.hashes;
  if (sc_c_ != 0) std::erase(hashes, AuthHash::sha_512);  // no cipher suite of TLS goes with it
  const AuthProtocol* first = nullptr;
  for (const AuthProtocol& offer : negotiate.protocols) {
    const bool ours = offer.authid == static_cast<std::uint8_t>(fabrics::AuthProtocolId::dh_hmac_chap);
    if (!ours && departs(point::negotiate_first_only)) break;
    if (!ours) continue;
    if (first == nullptr) first = &offer;
    const bool null_for_tls = sc_c_ != 0 && offers(offer.groups, DhGroup::null);
    const auto hash = first_common(hashes, offer.hashes);
    const auto group = first_common(config_.groups, offer.groups);
    if (hash && group && (!null_for_tls || departs(point::negotiate_null_group))) {
      hash_ = departs(point::challenge_hash) ? first_not_offered({AuthHash::sha_512, AuthHash::sha_384, AuthHash::sha_256}, offer.hashes)
                                             : *hash;
      group_ = departs(point::challenge_group) ? first_not_offered({DhGroup::ffdhe3072, DhGroup::ffdhe2048}, offer.groups) : *group;
      return true;
    }
  }
  const AuthProtocol nothing{.hashes = {1}, .groups = {0}};
  if (first == nullptr) {
    if (rejects(point::negotiate_protocol, AuthFailure::protocol_not_usable)) return false;
    first = &nothing;
  }
  const auto hash = first_common(hashes, first->hashes);
  if (!hash && rejects(point::negotiate_hash, AuthFailure::hash_not_usable)) return false;
  const auto group = first_common(config_.groups, first->groups);
  if (!group && rejects(point::negotiate_group, AuthFailure::group_not_usable)) return false;
  if (hash && group && first != &nothing) {  // NULL among the groups for a secure channel
    fail(AuthFailure::group_not_usable);
    return false;
  }
  hash_ = hash.value_or(AuthHash::sha_256);
  group_ = group.value_or(DhGroup::null);
  return true;
}

bool ControllerAuth::dh_value_good(const Bytes& value) {
  const auto bad = AuthFailure::incorrect_payload;
  if (group_ == DhGroup::null) {
    return value.empty() || !rejects(point::reply_dh_length, bad);
  }
  if (value.empty()) return !rejects(point::reply_dh_missing, bad);
  if (value.size() % 4 != 0 || value.size() > group_bytes(group_)) {
    return !rejects(point::reply_dh_length, bad);
  }
  if (dh_value_usable(group_, value)) return true;
  if (all_zero(value)) return !rejects(point::reply_dh_zero, bad);
  if (is_one(value)) return !rejects(point::reply_dh_one, bad);
  return !rejects(point::reply_dh_largest, bad);
}

bool ControllerAuth::response_good(const AuthReply& reply) {
  if (!config_.host_secret) return false;
  const Bytes key = key_of(*config_.host_secret, config_.hostnqn, departs(point::key_sha_256));
  const Bytes augmented = augmented_challenge(hash_, group_, session_key_, c1_);
  const Bytes expected = host_response(hash_, key, {augmented, s1_, t_id_, sc_c_, config_.hostnqn, config_.subnqn});
  if (departs(point::reply_response_prefix) && reply.response.size() >= kPrefix) {
    return equal_in_constant_time(ByteView{expected}.first(kPrefix), ByteView{reply.response}.first(kPrefix));
  }
  return equal_in_constant_time(expected, reply.response);
}

void ControllerAuth::prepare_response(const AuthReply& reply) {
  const Bytes key = key_of(*config_.controller_secret, config_.subnqn, departs(point::key_sha_256));
  const Bytes augmented = augmented_challenge(hash_, group_, session_key_, c2_);
  const ResponseInput input{augmented, reply.seqnum, t_id_, sc_c_, config_.hostnqn, config_.subnqn};
  response_ = departs(point::success1_response) ? host_response(hash_, key, input) : controller_response(hash_, key, input);
}

void ControllerAuth::on_reply(ByteView message) {
  std::optional<AuthReply> reply = AuthReply::parse(message);
  const auto bad = AuthFailure::incorrect_payload;
  if (!reply) {
    fail(departs(point::reply_payload) ? AuthFailure::failed : bad);
    return;
  }
  // The form of everything comes before any computation.
  if (!same_t_id(reply->t_id, t_id_, departs(point::reply_t_id_low)) && rejects(point::reply_t_id, bad)) return;
  if (reply->hl != hash_bytes(hash_) && rejects(point::reply_hl, bad)) return;
  if (reply->cvalid > 1 && rejects(point::reply_cvalid, bad)) return;
  if (sc_c_ != 0 && reply->cvalid == 0 && rejects(point::reply_cvalid, bad)) return;
  if (!dh_value_good(reply->dh_value)) return;
  const bool challenges = reply->cvalid != 0;
  const bool in_part = departs(point::reply_c2_prefix) && reply->challenge.size() >= kPrefix;
  const bool repeats = in_part ? std::equal(c1_.begin(), c1_.begin() + kPrefix, reply->challenge.begin()) : reply->challenge == c1_;
  if (challenges && repeats && rejects(point::reply_c2_repeats_c1, AuthFailure::failed)) {
    return;
  }
  if (group_ != DhGroup::null) {
    Bytes shared = dh_shared(group_, exponent_, reply->dh_value);
    if (departs(point::reply_shared_stripped)) {
      shared.erase(shared.begin(), std::find_if(shared.begin(), shared.end(), [](std::uint8_t byte) { return byte != 0; }));
    }
    session_key_ = session_key(hash_, shared);
  }
  if (!response_good(*reply) && rejects(point::reply_response, AuthFailure::failed)) return;
  response_wanted_ = challenges && reply->seqnum != 0;
  if (challenges) c2_ = reply->challenge;
  response_.assign(hash_bytes(hash_), 0);
  if (response_wanted_) {
    if (!config_.controller_secret) return fail(AuthFailure::failed);
    prepare_response(*reply);
  }
  state_ = State::success1_due;
}

void ControllerAuth::on_success2(ByteView message) {
  const auto success = AuthSuccess2::parse(message);
  const bool good = success && same_t_id(success->t_id, t_id_, departs(point::reply_t_id_low));
  if (!good && rejects(point::success2_t_id, AuthFailure::incorrect_payload)) return;
  succeed();
}

// ---- messages out ----

std::optional<Bytes> ControllerAuth::take_message() {
  switch (state_) {
    case State::challenge_due:
      state_ = State::reply_awaited;
      return make_challenge();
    case State::success1_due: {
      const Bytes message = make_success1();
      if (response_wanted_ && !departs(point::success1_early)) {
        state_ = State::success2_awaited;
      } else {
        succeed();
      }
      return message;
    }
    case State::failure1_due:
      state_ = State::failed;
      return make_failure1();
    default:
      return std::nullopt;
  }
}

Bytes ControllerAuth::make_challenge() {
  if (completed_ == 0 || c1_.size() != hash_bytes(hash_) || !departs(point::challenge_again)) {
    s1_ = departs(point::challenge_seqnum_stays) ? 0x1234 : nonces_.sequence_number();
    c1_ = nonces_.bytes(hash_bytes(hash_));
  }
  if (departs(point::challenge_seqnum)) s1_ = 0;
  if (departs(point::challenge_repeats)) c1_.assign(c1_.size(), 0x5A);
  AuthChallenge challenge;
  challenge.t_id = t_id_;
  challenge.hl = static_cast<std::uint8_t>(hash_bytes(hash_));
  challenge.hash = static_cast<std::uint8_t>(hash_);
  challenge.group = static_cast<std::uint8_t>(group_);
  challenge.seqnum = s1_;
  challenge.challenge = c1_;
  if (group_ != DhGroup::null) {
    exponent_ = nonces_.exponent();
    challenge.dh_value = dh_public(group_, exponent_);
    if (departs(point::challenge_dh_one)) {
      challenge.dh_value.assign(challenge.dh_value.size(), 0);
      challenge.dh_value.back() = 1;
    }
    if (departs(point::challenge_dh_short)) {
      challenge.dh_value.insert(challenge.dh_value.begin(), std::uint8_t{0});
    }
  } else if (departs(point::challenge_dh_null)) {
    challenge.dh_value = nonces_.bytes(group_bytes(DhGroup::ffdhe2048));
  }
  if (departs(point::challenge_t_id)) ++challenge.t_id;
  if (departs(point::challenge_hl)) challenge.hl = kWrongLength;
  Bytes message = challenge.emit();
  if (departs(point::challenge_reserved)) message[2] = message[7] = 0xFF;
  return message;
}

Bytes ControllerAuth::make_success1() {
  AuthSuccess1 success;
  success.t_id = t_id_;
  success.hl = static_cast<std::uint8_t>(hash_bytes(hash_));
  success.rvalid = response_wanted_ ? 1 : 0;
  success.response = response_;
  if (departs(point::success1_t_id)) ++success.t_id;
  if (departs(point::success1_hl)) success.hl = kWrongLength;
  if (response_wanted_ && departs(point::success1_rvalid)) success.rvalid = 0;
  if (!response_wanted_ && departs(point::success1_rvalid_unasked)) success.rvalid = 1;
  return success.emit();
}

Bytes ControllerAuth::make_failure1() const {
  AuthFailureReport report;
  report.t_id = t_id_;
  report.rcodeex = static_cast<std::uint8_t>(reason_);
  if (departs(point::failure1_t_id)) ++report.t_id;
  if (departs(point::failure1_rcode)) report.rcode = 2;
  if (departs(point::failure1_reason)) {
    report.rcodeex = static_cast<std::uint8_t>(AuthFailure::failed);
  }
  return report.emit();
}

}  // namespace fb::auth
