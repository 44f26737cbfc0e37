// What the TLS cases share: products with TLS, and keys for them.
#pragma once

#include "conformance/runner/controller_bench.h"
#include "conformance/runner/host_bench.h"
#include "conformance/runner/raw_tls.h"
#include "model/auth/host_auth.h"

namespace fb::conformance::tls_cases {

using transport::ChannelSecurity;

/// One key for everybody. SHA-256, so that the mandatory cipher suite goes with it.
inline auth::PskStore keys() {
  auto store = auth::PskStore::parse("NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:", "the keys of the bench");
  return std::move(store).value();
}

/// The port takes nothing without TLS; both sides have the key.
inline void tls_required(EmbeddedSetup& setup) {
  setup.security = ChannelSecurity::required;
  setup.controller_keys = keys();
  setup.host_keys = keys();
  setup.connect.tls = host::TlsUse::always;
}
/// The port takes both kinds.
inline void tls_offered(EmbeddedSetup& setup) {
  tls_required(setup);
  setup.security = ChannelSecurity::offered;
}
inline auth::Secret concat_secret() { return {Bytes(32, 0x3C), auth::AuthHash::sha_256}; }
/// The port takes both kinds, nobody has a key, and authentication makes one.
inline void concatenating(EmbeddedSetup& setup) {
  setup.security = ChannelSecurity::offered;
  setup.subsystem.authentication.secrets = {{"*", concat_secret(), {}}};
  setup.subsystem.authentication.secure_channel = true;
  setup.subsystem.authentication.groups = {auth::DhGroup::ffdhe2048};
  setup.connect.authentication.secret = concat_secret();
  setup.connect.authentication.secure_channel = true;
  setup.connect.authentication.groups = {auth::DhGroup::ffdhe2048};
}
/// TLS is there already, and authentication besides.
inline void tls_and_authentication(EmbeddedSetup& setup) {
  tls_required(setup);
  setup.subsystem.authentication.secrets = {{"*", concat_secret(), {}}};
  setup.subsystem.authentication.secure_channel = true;
  setup.connect.authentication.secret = concat_secret();
  setup.connect.authentication.secure_channel = true;
}

/// Answered by a ServerHello of TLS 1.3 with our PSK.
inline TlsAnswer expect_served(Check& check, RawTls& raw) {
  const TlsAnswer said = raw.answer();
  check.require(said.kind == TlsAnswer::Kind::server_hello, "a ServerHello", said.text());
  check.equal("version", said.version, tls_number::kTls13);
  check.that(said.psk, "the PSK is chosen", said.text());
  return said;
}
inline void expect_refused(Check& check, RawTls& raw, std::string_view what) {
  const TlsAnswer said = raw.answer();
  check.that(said.refuses(), what, said.text());
  check.that(raw.wait_closed(), "the connection ends", "it stays");
}

/// A well-behaved transaction that asks for a PSK; empty psk: `why` says what went wrong.
struct Concatenation {
  std::optional<auth::GeneratedPsk> psk;
  std::string why;
  std::optional<fabrics::AuthFailureReport> failure;
};
inline Concatenation ask_for_psk(ControllerBench& bench, host::RawQueue& queue) {
  Concatenation outcome;
  if (!bench.authentication().secret) throw CannotArrange{"the bench has no secret"};
  auth::HostAuth machine({std::string(kBenchHostNqn),
                          bench.nqn(),
                          *bench.authentication().secret,
                          {},
                          {auth::AuthHash::sha_256},
                          {auth::DhGroup::ffdhe2048, auth::DhGroup::ffdhe3072},
                          auth::SecureChannel::new_tls_psk},
                         bench.nonces());
  std::optional<auth::HostStep> step = machine.begin();
  while (step) {
    const auto sent = queue.send(host::authentication_send(step->message.size()), step->message).wait();
    if (!sent.ok()) throw CannotArrange{"Authentication Send is not taken"};
    if (!step->answered) break;
    const auto got = queue.send(host::authentication_receive(fabrics::kAuthMessageMax), fabrics::kAuthMessageMax).wait();
    if (!got.ok()) throw CannotArrange{"Authentication Receive brings nothing"};
    outcome.failure = fabrics::AuthFailureReport::parse(got.data);
    step = machine.on_message(got.data);
  }
  outcome.psk = machine.psk();
  outcome.why = machine.why();
  return outcome;
}

}  // namespace fb::conformance::tls_cases
