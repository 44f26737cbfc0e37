// The controller's side of one queue's authentication, without I/O: messages from the host go in,
// messages due come out.
//
//   ControllerAuth auth(config, nonces);
//   auth.on_message(negotiate);          auto challenge = auth.take_message();
//   auth.on_message(reply);              auto success1 = auth.take_message();
#pragma once

#include "model/auth/fault_points.h"
#include "model/auth/policy.h"

namespace fb::auth {

struct ControllerAuthConfig {
  std::string hostnqn;
  std::string subnqn;
  /// Null: this host has no secret here, and cannot authenticate.
  std::optional<Secret> host_secret;
  /// Null: a host that wants the controller to authenticate fails.
  std::optional<Secret> controller_secret;
  std::vector<AuthHash> hashes;  ///< the first one that the host offers is chosen
  std::vector<DhGroup> groups;
  bool new_tls_psk = false;      ///< SC_C may be NEWTLSPSK on this queue and channel
  bool replace_tls_psk = false;  ///< SC_C may be REPLACETLSPSK
};

class ControllerAuth {
 public:
  enum class State : std::uint8_t {
    idle,           ///< no transaction
    challenge_due,  ///< Negotiate was good
    reply_awaited,
    success1_due,  ///< Reply was good
    success2_awaited,
    failure1_due,
    failed,  ///< Failure1 was taken, or Failure2 came: the connection is to end
  };

  ControllerAuth(ControllerAuthConfig config, NonceSource& nonces, Departs departs = {});

  void on_message(ByteView message);
  /// The message for the host's Authentication Receive; nothing when none is due.
  std::optional<Bytes> take_message();
  bool message_due() const;
  /// A first transaction that did not end in time has failed; a later one is forgotten.
  void time_out();

  State state() const { return state_; }
  bool in_transaction() const { return state_ != State::idle && state_ != State::failed; }
  bool failed() const { return state_ == State::failed; }
  /// True from the end of the first good transaction on, until one fails.
  bool authenticated() const { return authenticated_; }
  /// Transactions that have ended well.
  unsigned completed() const { return completed_; }
  AuthFailure reason() const { return reason_; }
  /// Of the last transaction that ended well with SC_C other than 0.
  const std::optional<GeneratedPsk>& psk() const { return psk_; }

 private:
  bool departs(std::string_view at) const { return departs_ && departs_(at); }
  /// True: the transaction has failed for this reason. False: a deviation lets it pass.
  bool rejects(std::string_view at, AuthFailure reason);
  void fail(AuthFailure reason);
  void succeed();
  void on_negotiate(ByteView message);
  bool choose(const fabrics::AuthNegotiate& negotiate);
  bool secure_channel_acceptable() const;
  void on_reply(ByteView message);
  bool dh_value_good(const Bytes& value);
  bool response_good(const fabrics::AuthReply& reply);
  void prepare_response(const fabrics::AuthReply& reply);
  void on_success2(ByteView message);
  Bytes make_challenge();
  Bytes make_success1();
  Bytes make_failure1() const;

  ControllerAuthConfig config_;
  NonceSource& nonces_;
  Departs departs_;
  State state_ = State::idle;
  bool authenticated_ = false;
  unsigned completed_ = 0;
  AuthFailure reason_ = AuthFailure::none;

  // Of the transaction.
  std::uint16_t t_id_ = 0;
  std::uint8_t sc_c_ = 0;
  AuthHash hash_ = AuthHash::sha_256;
  DhGroup group_ = DhGroup::null;
  std::uint32_t s1_ = 0;
  Bytes c1_;
  Bytes exponent_;
  Bytes session_key_;
  Bytes c2_;
  bool response_wanted_ = false;
  Bytes response_;
  std::optional<GeneratedPsk> psk_;
};

}  // namespace fb::auth
