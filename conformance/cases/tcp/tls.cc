// TLS on the controller's side: the handshake up to the ServerHello, by hand.
#include "conformance/cases/tcp/tls_common.h"
#include "wire/tcp/pdu.h"

namespace fb::conformance {

using namespace tls_cases;
using namespace tls_number;

namespace {

/// Sends a hello on a connection of its own.
struct Attempt {
  explicit Attempt(ControllerBench& bench) : bench_(bench), raw(bench.world(), bench.plain_streams(), bench.local()) {
    raw.connect(bench.at());
  }
  void say(const TlsHello& hello, const auth::TlsPsk* psk, bool binder_right = true) {
    Rng random = bench_.random("tls.hello");
    raw.send(client_hello(hello, psk, random, binder_right));
  }

 private:
  ControllerBench& bench_;

 public:
  RawTls raw;
};

std::optional<std::string> sha_256(const ControllerBench&, const auth::TlsPsk& psk) {
  if (psk.hash == auth::PskHash::sha_256) return std::nullopt;
  return "the key that the bench was given goes with SHA-384";
}

auth::TlsPsk psk_for(ControllerBench& bench, Check& check, int version = 0) {
  auth::TlsPsk psk = bench.tls_psk(version);
  if (const auto why = sha_256(bench, psk)) check.inconclusive(*why);
  return psk;
}

}  // namespace

CONFORMANCE_CASE(tls_1_2_is_not_spoken, "tcp.tls.version", roles::controller, over_tls{&tls_required}) {
  Attempt attempt(bench);
  // What a client of TLS 1.2 with a PSK would offer.
  attempt.say({.versions = {kTls12}, .suites = {0x00A8}, .groups = {}, .modes = {}}, nullptr);
  expect_refused(check, attempt.raw, "a client without TLS 1.3 is refused");
}

CONFORMANCE_CASE(tls_serves_the_mandatory_suite, "tcp.tls.suite.aes-128", roles::controller, over_tls{&tls_required}) {
  const auth::TlsPsk psk = psk_for(bench, check);
  Attempt attempt(bench);
  attempt.say({.modes = {kPskKe, kPskDheKe}}, &psk);
  check.equal("cipher suite", expect_served(check, attempt.raw).suite, kAes128GcmSha256);
}

CONFORMANCE_CASE(tls_suite_goes_with_the_key, "tcp.tls.suite.hash", roles::controller, over_tls{&tls_required}) {
  const auth::TlsPsk psk = psk_for(bench, check);
  Attempt attempt(bench);
  attempt.say({.suites = {kAes256GcmSha384, kAes128GcmSha256}, .modes = {kPskKe, kPskDheKe}}, &psk);
  check.equal("cipher suite", expect_served(check, attempt.raw).suite, kAes128GcmSha256);
}

CONFORMANCE_CASE(tls_serves_psk_alone, "tcp.tls.mode.psk-ke", roles::controller, over_tls{&tls_required}) {
  const auth::TlsPsk psk = psk_for(bench, check);
  Attempt attempt(bench);
  attempt.say({.groups = {}, .modes = {kPskKe}}, &psk);
  check.equal("group of a key share", expect_served(check, attempt.raw).group, 0);
}

CONFORMANCE_CASE(tls_serves_psk_with_ffdhe3072, "tcp.tls.mode.psk-dhe-ke", roles::controller, over_tls{&tls_required}) {
  const auth::TlsPsk psk = psk_for(bench, check);
  Attempt attempt(bench);
  attempt.say({}, &psk);
  check.equal("group of the key share", expect_served(check, attempt.raw).group, kFfdhe3072);
}

CONFORMANCE_CASE(tls_refuses_an_unknown_identity, "tcp.tls.identity.unknown", roles::controller, over_tls{&tls_required}) {
  auth::TlsPsk psk = psk_for(bench, check);
  psk.identity = "somebody else";
  if (bench.embedded()) {
    // What a product that looks no identity up would use.
    const auth::PskStore all = keys();
    psk.key = all.any()->key;
  }
  Attempt attempt(bench);
  attempt.say({.modes = {kPskKe, kPskDheKe}}, &psk);
  expect_refused(check, attempt.raw, "an identity that nobody has is refused");
}

CONFORMANCE_CASE(tls_knows_identities_of_version_0, "tcp.tls.identity.version-0", roles::controller, over_tls{&tls_required}) {
  const auth::TlsPsk psk = psk_for(bench, check, 0);
  Attempt attempt(bench);
  attempt.say({.modes = {kPskKe, kPskDheKe}}, &psk);
  expect_served(check, attempt.raw);
}

CONFORMANCE_CASE(tls_knows_identities_of_version_1, "tcp.tls.identity.version-1", roles::controller, over_tls{&tls_required}) {
  const auth::TlsPsk psk = psk_for(bench, check, 1);
  Attempt attempt(bench);
  attempt.say({.modes = {kPskKe, kPskDheKe}}, &psk);
  expect_served(check, attempt.raw);
}

CONFORMANCE_CASE(tls_compares_the_digest_of_an_identity, "tcp.tls.identity.digest", roles::controller, over_tls{&tls_required}) {
  auth::TlsPsk psk = psk_for(bench, check, 1);
  auto whose = auth::PskIdentity::parse(psk.identity);
  check.precondition(whose && !whose->digest.empty(), "the identity has a digest");
  whose->digest[0] = whose->digest[0] == 'A' ? 'B' : 'A';
  psk.identity = whose->text();
  Attempt attempt(bench);
  attempt.say({.modes = {kPskKe, kPskDheKe}}, &psk);
  expect_refused(check, attempt.raw, "an identity with another digest is refused");
}

CONFORMANCE_CASE(tls_refuses_a_wrong_binder, "tcp.tls.binder", roles::controller, over_tls{&tls_required}) {
  const auth::TlsPsk psk = psk_for(bench, check);
  Attempt attempt(bench);
  attempt.say({.modes = {kPskKe, kPskDheKe}}, &psk, false);
  expect_refused(check, attempt.raw, "a client without the key is refused");
}

CONFORMANCE_CASE(tls_refuses_a_client_without_psk, "tcp.tls.psk-only", roles::controller, over_tls{&tls_required}) {
  Attempt attempt(bench);
  attempt.say({.modes = {}}, nullptr);
  expect_refused(check, attempt.raw, "a client without a PSK is refused");
}

CONFORMANCE_CASE(tls_port_takes_no_plain_icreq, "tcp.tls.plain", roles::controller, over_tls{&tls_required}) {
  Attempt attempt(bench);
  Record<tcp::IcReq> request;
  request.set(tcp::pdu::type, tcp::PduType::ic_req);
  attempt.raw.send(tcp::build_pdu(request.bytes(), {}, false, false));
  check.that(attempt.raw.wait_closed(), "the connection ends", "it stays");
  const Bytes& said = attempt.raw.all();
  check.that(said.empty() || said[0] != static_cast<std::uint8_t>(tcp::PduType::ic_resp), "no ICResp without TLS", "an ICResp");
}

}  // namespace fb::conformance
