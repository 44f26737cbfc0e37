// Keys and identities of TLS by a second source, and identities that are wrong by as little as can be.
#include <set>

#include "conformance/cases/auth/common.h"
#include "conformance/cases/tcp/tls_common.h"

namespace fb::conformance {

using namespace tls_cases;
using namespace tls_number;

namespace {

constexpr std::string_view kOtherHost = "nqn.2014-08.org.nvmexpress:uuid:5f0c9e52-7a7c-4be0-9d5e-2f3b8a5d6e02";

/// Configured PSKs as users write them: transformed with SHA-256 and SHA-384, one more with SHA-256, and such that are retained
/// ones already.
constexpr std::string_view kTransformed[] = {"NVMeTLSkey-1:01:ERITFBUWFxgZGhscHR4fICEiIyQlJicoKSorLC0uLzDdfoE4:",
                                             "NVMeTLSkey-1:02:QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVpbXF1eX2BhYmNkZWZnaGlqa2xtbm9wGzkt+w==:",
                                             "NVMeTLSkey-1:01:gYKDhIWGh4iJiouMjY6PkJGSk5SVlpeYmZqbnJ2en6DAC5bC:"};
constexpr std::string_view kPlain[] = {"NVMeTLSkey-1:00:ISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0Dc1bqW:",
                                       "NVMeTLSkey-1:00:UVJTVFVWV1hZWltcXV5fYGFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6e3x9fn+Ar+PWWg==:"};

template <const auto& Texts>
void with_keys(EmbeddedSetup& setup) {
  tls_required(setup);
  std::string lines;
  for (const std::string_view text : Texts) lines += std::string(text) + "\n";
  setup.controller_keys = auth::PskStore::parse(lines, "the keys of the bench").value();
  setup.host_keys = auth::PskStore::parse(lines, "the keys of the bench").value();
}

/// The embedded product's keys are those of the case, a real one's the one that the bench was given.
template <const auto& Texts>
std::vector<std::string> key_texts(ControllerBench& bench) {
  if (bench.embedded()) return {std::begin(Texts), std::end(Texts)};
  const auth::ConfiguredPsk* const known = bench.tls() ? bench.tls()->store().configured_for(kBenchHostNqn, bench.nqn()) : nullptr;
  if (known == nullptr) throw CannotArrange{"the bench was given a derived key"};
  return {known->text()};
}

auth::TlsPsk as_psk(const reference::TlsKey& key) {
  return {key.identity, key.key, key.key.size() == 32 ? auth::PskHash::sha_256 : auth::PskHash::sha_384};
}

reference::TlsKey key_from(std::string_view text, int version, std::string_view hostnqn, std::string_view subnqn) {
  const reference::Configured psk = reference::configured_psk(text);
  const std::uint8_t hash = psk.bytes.size() == 32 ? 1 : 2;
  return reference::tls_key(version, 'R', hash, reference::retained_psk(psk.bytes, psk.transform, hostnqn), hostnqn, subnqn);
}

/// A hello with both suites, and what comes back.
TlsAnswer try_key(ControllerBench& bench, const auth::TlsPsk& psk, bool* closed = nullptr, const std::function<void(Bytes&)>& alter = {}) {
  RawTls raw(bench.world(), bench.plain_streams(), bench.local());
  raw.connect(bench.at());
  Rng random = bench.random("tls.hello");
  Bytes record = client_hello({.suites = {kAes256GcmSha384, kAes128GcmSha256}, .modes = {kPskKe, kPskDheKe}}, &psk, random, true);
  if (alter) alter(record);
  raw.send(record);
  const TlsAnswer answer = raw.answer();
  if (closed != nullptr) *closed = raw.wait_closed();
  return answer;
}

void expect_key_known(ControllerBench& bench, Check& check, const reference::TlsKey& key) {
  const auth::TlsPsk psk = as_psk(key);
  const TlsAnswer answer = try_key(bench, psk);
  check.that(answer.kind == TlsAnswer::Kind::server_hello && answer.psk, "a ServerHello with the PSK of " + key.identity, answer.text());
  check.equal("cipher suite", answer.suite, key.key.size() == 32 ? kAes128GcmSha256 : kAes256GcmSha384);
}

void expect_key_unknown(ControllerBench& bench, Check& check, const reference::TlsKey& key, std::string_view what) {
  bool closed = false;
  const TlsAnswer answer = try_key(bench, as_psk(key), &closed);
  check.that(answer.refuses() && closed, "refused: " + std::string(what), answer.text());
}

template <const auto& Texts>
void knows_each(ControllerBench& bench, Check& check) {
  std::set<std::string> names;
  for (const std::string& text : key_texts<Texts>(bench)) {
    for (const int version : {0, 1}) {
      const reference::TlsKey key = key_from(text, version, kBenchHostNqn, bench.nqn());
      // An identity of version 0 has no digest: it means the first of the keys with its hash.
      const bool other = version == 0 && !names.insert(key.identity).second;
      if (!other) expect_key_known(bench, check, key);
    }
  }
}

/// A transaction of this host that makes a PSK; what both sides then have. With SC_C 0 it makes none: the PSK that it would have
/// made, or nothing if the controller refuses.
std::optional<reference::TlsKey> generate(ControllerBench& bench, Check& check, std::uint8_t hash, std::string_view hostnqn,
                                          std::uint8_t sc_c = 2) {
  using namespace auth_cases;
  host::HostId hostid = kBenchHostId;
  if (hostnqn != kBenchHostNqn) hostid.back() ^= 0xFF;
  RawAssociation& association =
      bench.associate({.enable = false, .authenticate = false, .hostnqn = std::string(hostnqn), .hostid = hostid});
  Exchange exchange(bench, check, association.admin(), DhGroup::ffdhe2048);
  exchange.negotiate.sc_c = sc_c;
  exchange.negotiate.protocols[0].hashes = {hash};
  if (sc_c == 0) {
    exchange.say(encoded(exchange.negotiate));
    const auto challenge = decoded<AuthChallenge>(exchange.ask());
    if (!challenge) return std::nullopt;
    exchange.challenge = *challenge;
  } else {
    exchange.get_challenge();
  }
  // A challenge without a wish for a response.
  exchange.make_reply(true).seqnum = 0;
  reference::Response first = exchange.first_response();
  first.hostnqn = hostnqn;
  first.key = key_of(*bench.authentication().secret, hostnqn);
  exchange.reply.response = first.of_host();
  exchange.get_success1();
  const Bytes psk = reference::generated_psk(hash, exchange.shared(), exchange.challenge.challenge, exchange.reply.challenge);
  association.admin().disconnect();
  return reference::tls_key(1, 'G', hash, psk, hostnqn, bench.nqn());
}

struct NearMiss {
  std::string_view what;
  void (*alter)(std::string& identity);
};

/// Places in "NVMe1R01 HOSTNQN SUBNQN DIGEST".
std::size_t end_of_word(const std::string& text, unsigned word) {
  std::size_t at = text.find(' ');
  for (; word > 0; --word) at = text.find(' ', at + 1);
  return std::min(at, text.size());
}
void change(std::string& text, std::size_t at) { text[at] = text[at] == 'B' ? 'C' : 'B'; }

constexpr NearMiss kNearMisses[] = {
    {"another version", [](std::string& t) { t[4] = t[4] == '0' ? '1' : '0'; }},
    {"a version that is reserved", [](std::string& t) { t[4] = '2'; }},
    {"a generated key for a retained one", [](std::string& t) { t[5] = 'G'; }},
    {"the hash indicator of SHA-384", [](std::string& t) { t[7] = t[7] == '1' ? '2' : '1'; }},
    {"a hash indicator that is reserved", [](std::string& t) { t[7] = '3'; }},
    {"small letters at its beginning", [](std::string& t) { t[0] = 'n'; }},
    {"one more word", [](std::string& t) { t += " x"; }},
    {"a character less", [](std::string& t) { t.pop_back(); }},
    {"another character in its middle", [](std::string& t) { change(t, t.size() / 2); }},
};
/// Of an identity whose digest vouches for the names.
constexpr NearMiss kNearDigests[] = {
    {"another end of the host NQN", [](std::string& t) { change(t, end_of_word(t, 1) - 1); }},
    {"a host NQN without its last character", [](std::string& t) { t.erase(end_of_word(t, 1) - 1, 1); }},
    {"another end of the subsystem NQN", [](std::string& t) { change(t, end_of_word(t, 2) - 1); }},
    {"a subsystem NQN without its last character", [](std::string& t) { t.erase(end_of_word(t, 2) - 1, 1); }},
    {"another first character of the digest", [](std::string& t) { change(t, end_of_word(t, 2) + 1); }},
    {"another character near the end of the digest", [](std::string& t) { change(t, t.size() - 4); }},
    {"half of the digest", [](std::string& t) { t.resize(end_of_word(t, 2) + 1 + 22); }},
    {"no digest", [](std::string& t) { t.resize(end_of_word(t, 2)); }},
};

}  // namespace

CONFORMANCE_CASE(tls_keys_follow_their_formulas, "auth.tls.identity.formula", roles::controller, over_tls{&with_keys<kTransformed>},
                 over_tcp) {
  knows_each<kTransformed>(bench, check);
}

CONFORMANCE_CASE(tls_keys_without_transform_are_retained_ones, "auth.tls.identity.untransformed", roles::controller,
                 over_tls{&with_keys<kPlain>}, over_tcp) {
  knows_each<kPlain>(bench, check);
}

CONFORMANCE_CASE(tls_refuses_each_near_identity, "auth.tls.identity.near-miss", roles::controller, over_tls{&with_keys<kTransformed>},
                 over_tcp) {
  for (const std::string& text : key_texts<kTransformed>(bench)) {
    for (const int version : {0, 1}) {
      const reference::TlsKey good = key_from(text, version, kBenchHostNqn, bench.nqn());
      const auto refuse = [&](const NearMiss& near) {
        reference::TlsKey other = good;
        near.alter(other.identity);
        expect_key_unknown(bench, check, other, near.what);
      };
      for (const NearMiss& near : kNearMisses) refuse(near);
      if (version == 0) continue;
      for (const NearMiss& near : kNearDigests) refuse(near);
    }
  }
}

CONFORMANCE_CASE(tls_compares_every_byte_of_a_binder, "auth.tls.binder.every-byte", roles::controller, over_tls{&with_keys<kTransformed>},
                 over_tcp) {
  for (const std::string& text : key_texts<kTransformed>(bench)) {
    const auth::TlsPsk psk = as_psk(key_from(text, 1, kBenchHostNqn, bench.nqn()));
    for (const std::size_t from_end : {std::size_t{1}, psk.key.size() / 2, psk.key.size()}) {
      bool closed = false;
      const TlsAnswer answer = try_key(bench, psk, &closed, [&](Bytes& record) { record[record.size() - from_end] ^= 1; });
      check.that(answer.refuses() && closed, "refused: a binder with another byte " + std::to_string(psk.key.size() - from_end),
                 answer.text());
    }
  }
}

CONFORMANCE_CASE(tls_generated_psk_follows_its_formula, "auth.tls.concat.formula", roles::controller,
                 arranged{"a product that concatenates TLS", &concatenating}, over_tcp) {
  for (const std::uint8_t hash : {std::uint8_t{1}, std::uint8_t{2}}) {
    const reference::TlsKey key = *generate(bench, check, hash, kBenchHostNqn);
    expect_key_known(bench, check, key);
    reference::TlsKey retained = key;
    retained.identity[5] = 'R';
    expect_key_unknown(bench, check, retained, "a retained key for a generated one");
    const auto unasked = generate(bench, check, hash, kBenchHostNqn, 0);
    if (unasked) expect_key_unknown(bench, check, *unasked, "the PSK of a transaction with SC_C 0");
  }
}

CONFORMANCE_CASE(tls_keeps_a_generated_psk_for_each_host, "auth.tls.concat.each-host", roles::controller,
                 arranged{"a product that concatenates TLS", &concatenating}, over_tcp, lasts{602_s}) {
  const reference::TlsKey first = *generate(bench, check, 1, kBenchHostNqn);
  bench.world().run_for(1_s);
  const reference::TlsKey second = *generate(bench, check, 1, kOtherHost);
  expect_key_known(bench, check, first);
  expect_key_known(bench, check, second);
  bench.world().run_for(601_s);
  expect_key_unknown(bench, check, first, "the PSK of the first host after its lifetime");
  expect_key_unknown(bench, check, second, "the PSK of the other host after its lifetime");
}

}  // namespace fb::conformance
