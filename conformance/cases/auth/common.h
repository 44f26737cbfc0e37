// What the authentication cases share: products that demand it, and a transaction made by hand.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "conformance/cases/auth/raw_messages.h"
#include "conformance/reference/dhchap.h"
#include "conformance/runner/controller_bench.h"
#include "model/auth/policy.h"

namespace fb::conformance::auth_cases {

using auth::AuthHash;
using auth::DhGroup;
using fabrics::AuthFailure;
using fabrics::AuthMessage;

/// A connection that is to end does so within this time.
inline constexpr Duration kEndSoon = Duration::s(5);

inline auth::Secret host_secret() { return {Bytes(32, 0x3C), AuthHash::sha_256}; }
inline auth::Secret controller_secret() { return {Bytes(48, 0xC3), AuthHash::sha_384}; }

/// The emulated subsystem knows any host by one secret, and has one of its own.
inline void demanding(EmbeddedSetup& setup) { setup.subsystem.authentication.secrets = {{"*", host_secret(), controller_secret()}}; }

/// The key of a secret for the host or controller with this NQN.
inline Bytes key_of(const auth::Secret& secret, std::string_view nqn) {
  return reference::key_of(secret.bytes(), secret.transform() ? static_cast<std::uint8_t>(*secret.transform()) : 0, nqn);
}

inline std::optional<std::string> mutual(const Declared& declared) {
  if (declared.mutual_authentication) return std::nullopt;
  return "the controller's own secret is not known";
}

inline std::vector<std::uint8_t> ids(std::initializer_list<DhGroup> groups) {
  std::vector<std::uint8_t> made;
  for (const DhGroup group : groups) made.push_back(static_cast<std::uint8_t>(group));
  return made;
}

inline std::vector<std::uint8_t> every_group() {
  std::vector<std::uint8_t> made;
  for (const DhGroup group : auth::all_groups()) made.push_back(static_cast<std::uint8_t>(group));
  return made;
}

/// What a message is, in words that are the same in every run.
inline std::string message_words(ByteView bytes) {
  std::string words(name_of(fabrics::auth_message_of(bytes)));
  if (const auto report = decoded<AuthFailureReport>(bytes)) {
    words += ": " + std::string(name_of(static_cast<AuthFailure>(report->rcodeex)));
  }
  return words;
}

/// One transaction on a queue whose Connect was answered, message by message.
class Exchange {
 public:
  /// Offers every group, or one alone: a product may be set up to use any.
  Exchange(ControllerBench& bench, Check& check, host::RawQueue& queue, std::optional<DhGroup> group = {})
      : bench_(bench), check_(check), queue_(queue) {
    if (!bench.authentication().secret) throw CannotArrange{"the product demands no authentication"};
    negotiate.t_id = bench.nonces().transaction();
    negotiate.protocols.push_back({.hashes = {1, 2, 3}, .groups = group ? ids({*group}) : every_group()});
  }

  /// What will be sent; may be altered before.
  AuthNegotiate negotiate;
  AuthChallenge challenge;      ///< what came
  AuthReply reply;              ///< what will be sent
  bool judges_support = false;  ///< a hash or group that the product does not take is what the case is about

  host::RawReply send(ByteView message) { return queue_.send(host::authentication_send(message.size()), message).wait(); }
  host::RawReply receive(std::size_t bytes = fabrics::kAuthMessageMax) {
    return queue_.send(host::authentication_receive(bytes), bytes).wait();
  }
  /// Sends; anything but success is a FAIL that ends the case.
  void say(ByteView message) {
    const host::RawReply answer = send(message);
    check_.require_success(answer, "status of Authentication Send");
  }
  /// The message that is due.
  Bytes ask() {
    const host::RawReply answer = receive();
    check_.require_success(answer, "status of Authentication Receive");
    return answer.data;
  }

  /// Negotiates; what comes must be a Challenge.
  const AuthChallenge& get_challenge() {
    say(encoded(negotiate));
    const Bytes bytes = ask();
    const auto parsed = decoded<AuthChallenge>(bytes);
    if (!parsed && !judges_support) no_matter_of_policy(bytes);
    check_.require(parsed.has_value(), "the answer to AUTH_Negotiate is a Challenge", message_words(bytes));
    challenge = *parsed;
    const auto& offered = negotiate.protocols.back().groups;
    check_.require(std::find(offered.begin(), offered.end(), challenge.group) != offered.end(), "the group of the Challenge was offered",
                   std::string(name_of(static_cast<DhGroup>(challenge.group))) + " was not");
    return challenge;
  }
  /// The reply of a host that behaves; `mutual` asks for R2.
  AuthReply& make_reply(bool mutual = false) {
    const std::size_t length = reference::hash_bytes(challenge.hash);
    check_.require(length != 0 && challenge.challenge.size() == length, "the Challenge has a hash of ours and its length");
    reply = {};
    reply.t_id = negotiate.t_id;
    reply.hl = static_cast<std::uint8_t>(length);
    reply.challenge.assign(length, 0);
    if (challenge.group != 0) set_exponent(bench_.nonces().exponent());
    if (mutual) {
      reply.cvalid = 1;
      reply.seqnum = bench_.nonces().sequence_number();
      reply.challenge = bench_.nonces().bytes(length);
    }
    sign();
    return reply;
  }
  /// Another exponent y; sign() must follow.
  void set_exponent(const Bytes& exponent) {
    check_.require(challenge.dh_value.size() <= reference::group_bytes(challenge.group), "the DH value of the Challenge fits its group",
                   std::to_string(challenge.dh_value.size()) + " bytes");
    reply.dh_value = reference::dh_public(challenge.group, exponent);
    set_shared(reference::dh_power(challenge.group, challenge.dh_value, exponent));
  }
  /// g^xy, where it is known without any exponent.
  void set_shared(const Bytes& shared) { shared_ = shared; }
  const Bytes& shared() const { return shared_; }
  /// What R1 is computed from, over the transaction as it stands.
  reference::Response first_response() const {
    const auth::Secret& secret = *bench_.authentication().secret;
    return {challenge.hash, key_of(secret, kBenchHostNqn), challenge.challenge, shared_, challenge.seqnum, negotiate.t_id,
            negotiate.sc_c, std::string(kBenchHostNqn),    bench_.nqn()};
  }
  /// R1 over the transaction as it stands.
  void sign() { reply.response = first_response().of_host(); }
  /// R2 as it has to be.
  Bytes expected_response() const {
    const auth::Secret& secret = *bench_.authentication().controller_secret;
    return reference::Response{challenge.hash, key_of(secret, bench_.nqn()), reply.challenge, shared_, reply.seqnum, negotiate.t_id,
                               negotiate.sc_c, std::string(kBenchHostNqn),   bench_.nqn()}
        .of_controller();
  }
  /// Sends the reply; what comes must be a Success1.
  AuthSuccess1 get_success1() {
    say(encoded(reply));
    const Bytes bytes = ask();
    const auto parsed = decoded<AuthSuccess1>(bytes);
    check_.require(parsed.has_value(), "the answer to a good Reply is a Success1", message_words(bytes));
    return *parsed;
  }
  /// From Negotiate to Success1 (and Success2).
  AuthSuccess1 run(bool mutual = false) {
    get_challenge();
    make_reply(mutual);
    const AuthSuccess1 success = get_success1();
    if (mutual) say(encoded(AuthSuccess2{negotiate.t_id}));
    return success;
  }

  /// The message that is due is AUTH_Failure1 for one of these reasons.
  void expect_failure1(std::initializer_list<AuthFailure> reasons) {
    const Bytes bytes = ask();
    const auto report = decoded<AuthFailureReport>(bytes);
    check_.require(report.has_value() && !report->from_host, "the answer is an AUTH_Failure1", message_words(bytes));
    std::vector<std::string> expected;
    bool holds = false;
    for (const AuthFailure reason : reasons) {
      expected.emplace_back(name_of(reason));
      holds = holds || report->rcodeex == static_cast<std::uint8_t>(reason);
    }
    if (holds) {
      check_.that(true, "RCODEEX");
    } else {
      check_.fails("RCODEEX", expected,
                   std::string(name_of(static_cast<AuthFailure>(report->rcodeex))) + " (" + std::to_string(report->rcodeex) + ")");
    }
  }
  void refused(ByteView message, std::initializer_list<AuthFailure> reasons) {
    say(message);
    expect_failure1(reasons);
  }
  /// The connection ends by itself.
  void expect_end(std::string_view what) {
    bench_.world().run_until([&] { return queue_.has_ended(); }, kEndSoon);
    check_.that(queue_.has_ended(), what, "it is still there after " + to_string(kEndSoon));
  }
  bool ended() const { return queue_.has_ended(); }
  host::RawQueue& queue() { return queue_; }

 private:
  /// INCONCLUSIVE where the product takes none of the hashes or groups that the case offers.
  void no_matter_of_policy(ByteView bytes) {
    const auto report = decoded<AuthFailureReport>(bytes);
    const auto reason = report ? static_cast<AuthFailure>(report->rcodeex) : AuthFailure::failed;
    const bool policy = reason == AuthFailure::hash_not_usable || reason == AuthFailure::group_not_usable;
    check_.precondition(!policy, "the product's policy admits a hash and a group that the case offers");
  }

  ControllerBench& bench_;
  Check& check_;
  host::RawQueue& queue_;
  Bytes shared_;
};

/// An admin queue whose Connect was answered, and nothing else yet.
inline host::RawQueue& connected_queue(ControllerBench& bench, std::optional<std::uint32_t> kato_ms = {}) {
  return bench.associate({.enable = false, .authenticate = false, .kato_ms = kato_ms}).admin();
}

/// DH values that nobody may send, with g^xy as the other side would compute it.
inline Bytes small_number(std::size_t bytes, std::uint8_t value) {
  Bytes made(bytes);
  made.back() = value;
  return made;
}

/// p - 1.
inline Bytes largest_dh_value(std::uint8_t group) {
  Bytes made = reference::dh_prime(group);
  made.back() = static_cast<std::uint8_t>(made.back() - 1);  // p is odd
  return made;
}
/// From 2 to p - 2.
inline bool usable_dh_value(std::uint8_t group, Bytes value) {
  const std::size_t length = reference::group_bytes(group);
  if (value.size() > length) return false;
  value.insert(value.begin(), length - value.size(), 0);
  return value > small_number(length, 1) && value < largest_dh_value(group);
}

}  // namespace fb::conformance::auth_cases
