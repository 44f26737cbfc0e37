// The host's side of one queue's authentication, without I/O: it says what to send and whether an answer
// is to be fetched; what was fetched goes in.
//
//   HostAuth auth(config, nonces);
//   std::optional<HostStep> step = auth.begin();
//   while (step) { send(step->message); if (!step->answered) break; step = auth.on_message(receive()); }
#pragma once

#include "model/auth/fault_points.h"
#include "model/auth/policy.h"

namespace fb::auth {

struct HostAuthConfig {
  std::string hostnqn;
  std::string subnqn;
  Secret secret;
  /// Set: the controller has to authenticate too.
  std::optional<Secret> controller_secret;
  std::vector<AuthHash> hashes;
  std::vector<DhGroup> groups;  ///< NULL, and of the hashes SHA-512, is left out for a secure channel
  SecureChannel secure_channel = SecureChannel::none;
};

/// Something to send.
struct HostStep {
  Bytes message;
  bool answered = true;  ///< an Authentication Receive follows
};

class HostAuth {
 public:
  enum class State : std::uint8_t { idle, challenge_awaited, success1_awaited, done, failed };

  HostAuth(HostAuthConfig config, NonceSource& nonces, Departs departs = {});

  HostStep begin();
  /// What to send next; nothing when the transaction is over.
  std::optional<HostStep> on_message(ByteView message);

  State state() const { return state_; }
  bool done() const { return state_ == State::done; }
  AuthFailure reason() const { return reason_; }
  /// One line about the failure.
  const std::string& why() const { return why_; }
  std::uint16_t t_id() const { return t_id_; }
  /// Set at the end of a transaction with a secure channel.
  const std::optional<GeneratedPsk>& psk() const { return psk_; }

 private:
  bool departs(std::string_view at) const { return departs_ && departs_(at); }
  bool rejects(std::string_view at, AuthFailure reason, std::string why);
  HostStep failure2() const;
  bool secure() const { return config_.secure_channel != SecureChannel::none; }
  std::optional<HostStep> on_challenge(ByteView message);
  bool challenge_good(const fabrics::AuthChallenge& challenge);
  bool dh_value_good(const Bytes& value);
  HostStep reply();
  std::optional<HostStep> on_success1(ByteView message);
  bool response_good(const fabrics::AuthSuccess1& success) const;
  std::optional<HostStep> on_failure1(ByteView message);

  HostAuthConfig config_;
  NonceSource& nonces_;
  Departs departs_;
  State state_ = State::idle;
  AuthFailure reason_ = AuthFailure::none;
  std::string why_;
  std::uint16_t t_id_ = 0;
  std::uint8_t sc_c_ = 0;
  AuthHash hash_ = AuthHash::sha_256;
  DhGroup group_ = DhGroup::null;
  std::uint32_t s1_ = 0;
  std::uint32_t s2_ = 0;
  Bytes c1_;
  Bytes c2_;
  Bytes peer_value_;
  Bytes session_key_;
  std::optional<GeneratedPsk> psk_;
};

}  // namespace fb::auth
