// TLS on the host's side: what its ClientHello says, and what it makes of what it is told.
#include "conformance/cases/auth/host_common.h"
#include "conformance/cases/tcp/tls_common.h"
#include "wire/fabrics/discovery_log.h"

namespace fb::conformance {

using namespace tls_cases;
using namespace tls_number;

namespace {

using auth_cases::host_messages;
using auth_cases::kConnect;

constexpr std::uint8_t kGetLogPage = 0x02, kDiscoveryLog = 0x70;
constexpr std::size_t kLogHeader = 1024;

constexpr host_with kOverTls{"tls", &tls_required};
constexpr host_with kConcatenates{"tls_concat", &concatenating};

/// A host begins to connect to a listener that only looks.
struct Beginning {
  explicit Beginning(HostBench& bench) : Beginning(bench, bench.between()) {}
  RawTls raw;
  Op<HostOutcome> attempt;

 private:
  Beginning(HostBench& bench, const HostBench::Between& place)
      : raw(bench.world(), place.host, place.at.address), attempt(bench.product().connect({.at = raw.listen(place.at.port)})) {}
};

/// The same with a host that uses TLS.
struct Seen : Beginning {
  Seen(HostBench& bench, Check& check) : Beginning(bench) {
    auto first = raw.hello();
    check.precondition(first.has_value() && first->well_formed, "the host begins with a ClientHello");
    hello = std::move(*first);
  }
  TlsHello hello;
};

template <class T>
bool holds(const std::vector<T>& all, T one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// What the host should know of the key: the same store, the same names.
auth::TlsPsk expected_psk(HostBench& bench, int version) {
  return keys().for_pair(bench.product().hostnqn(), bench.nqn(), version).value();
}

auth::PskIdentity shown(const Seen& seen, Check& check) {
  check.require(seen.hello.identities.size() == 1 || seen.hello.identities.size() == 2, "one identity or one for each hash",
                std::to_string(seen.hello.identities.size()));
  const auto whose = auth::PskIdentity::parse(seen.hello.identities.front());
  check.require(whose.has_value(), "an identity of NVMe", seen.hello.identities.front());
  return *whose;
}

std::string identity_of_queue(HostBench& bench, std::size_t index) {
  const auto& queues = bench.identities();
  return index < queues.size() ? queues[index] : std::string();
}

/// The port requires TLS, the host has no keys.
void host_without_keys(EmbeddedSetup& setup) {
  tls_required(setup);
  setup.host_keys = {};
  setup.connect.tls = host::TlsUse::never;
  // The discovery service itself has to be reached.
  setup.security = ChannelSecurity::offered;
}

}  // namespace

CONFORMANCE_CASE(tls_host_begins_with_a_hello, "tcp.tls.host.first", roles::host, kOverTls) {
  Beginning host(bench);
  const auto hello = host.raw.hello();
  check.precondition(!host.raw.all().empty(), "the host begins to connect");
  check.that(hello.has_value() && hello->well_formed, "the first bytes are a ClientHello", "byte 0 is " + words(host.raw.all()[0]));
}

CONFORMANCE_CASE(tls_host_offers_1_3, "tcp.tls.host.version", roles::host, kOverTls) {
  const Seen seen(bench, check);
  check.that(holds(seen.hello.versions, kTls13), "TLS 1.3 is offered");
  for (const std::uint16_t version : seen.hello.versions) {
    check.that(version >= kTls12 || (version & 0x0F0F) == 0x0A0A, "no version before 1.2", words(version));
  }
}

CONFORMANCE_CASE(tls_host_offers_1_3_alone, "tcp.tls.host.version-1-3-alone", roles::host, kOverTls) {
  const Seen seen(bench, check);
  check.equal("versions offered", seen.hello.versions.size(), 1u);
}

CONFORMANCE_CASE(tls_host_offers_the_mandatory_suite, "tcp.tls.host.suite", roles::host, kOverTls) {
  const Seen seen(bench, check);
  check.that(holds(seen.hello.suites, kAes128GcmSha256), "TLS_AES_128_GCM_SHA256 is offered");
}

CONFORMANCE_CASE(tls_host_offers_both_modes, "tcp.tls.host.mode.psk-ke", roles::host, kOverTls) {
  const Seen seen(bench, check);
  check.that(holds(seen.hello.modes, kPskKe), "psk_ke is offered");
  check.that(holds(seen.hello.modes, kPskDheKe), "psk_dhe_ke is offered");
}

CONFORMANCE_CASE(tls_host_offers_ffdhe3072, "tcp.tls.host.group", roles::host, kOverTls) {
  const Seen seen(bench, check);
  check.that(holds(seen.hello.groups, kFfdhe3072), "ffdhe3072 is offered");
}

CONFORMANCE_CASE(tls_host_sends_no_early_data, "tcp.tls.host.early-data", roles::host, kOverTls) {
  const Seen seen(bench, check);
  check.that(!seen.hello.early_data, "no early data is announced");
}

CONFORMANCE_CASE(tls_host_names_itself_and_the_subsystem, "tcp.tls.host.identity", roles::host, kOverTls) {
  const Seen seen(bench, check);
  const auth::PskIdentity whose = shown(seen, check);
  check.equal("HOSTNQN", whose.hostnqn, bench.product().hostnqn());
  check.equal("SUBNQN", whose.subnqn, bench.nqn());
  check.that(whose.origin == auth::PskOrigin::retained, "type R", "type G");
  check.equal("a text of that form", seen.hello.identities.front(), whose.text());
}

CONFORMANCE_CASE(tls_host_names_the_hash_of_its_key, "tcp.tls.host.identity-hash", roles::host, kOverTls) {
  const Seen seen(bench, check);
  const auth::PskIdentity whose = shown(seen, check);
  check.require(!seen.hello.binders.empty(), "a binder", "none");
  check.equal("bytes of the binder", seen.hello.binders.front().size(), auth::psk_bytes(whose.hash));
}

CONFORMANCE_CASE(tls_host_shows_the_digest, "tcp.tls.host.identity-digest", roles::host, kOverTls) {
  const Seen seen(bench, check);
  const auth::PskIdentity whose = shown(seen, check);
  check.precondition(whose.version == 1, "the identity is of version 1");
  check.equal("identity", seen.hello.identities.front(), expected_psk(bench, 1).identity);
}

CONFORMANCE_CASE(tls_host_binds_its_key, "tcp.tls.host.binder", roles::host, kOverTls) {
  const Seen seen(bench, check);
  check.require(!seen.hello.binders.empty(), "a binder", "none");
  const auto whose = auth::PskIdentity::parse(seen.hello.identities.front());
  const Bytes expected = binder_of(expected_psk(bench, whose ? whose->version : 1), seen.hello.up_to_binders);
  check.bytes("binder", seen.hello.binders.front(), expected);
}

CONFORMANCE_CASE(tls_host_leaves_a_server_of_1_2, "tcp.tls.host.server-version", roles::host, kOverTls) {
  Seen seen(bench, check);
  check.precondition(!holds(seen.hello.versions, kTls12), "the host offers TLS 1.3 alone");
  // A ServerHello of TLS 1.2 with a suite of that version, and secure renegotiation.
  Bytes record = {kHandshake, 3, 3, 0, 49, 2, 0, 0, 45, 3, 3};
  record.resize(record.size() + 32, 0x5A);
  record.insert(record.end(), {0, 0xC0, 0x2F, 0, 0, 5, 0xFF, 0x01, 0, 1, 0});
  seen.raw.send(record);
  check.that(seen.raw.wait_closed(5_s), "the host ends the connection", "it waits for more");
  const auto outcome = seen.attempt.wait_for(30_s);
  check.that(!outcome || !outcome->ok, "the host does not connect", "it connected");
}

CONFORMANCE_CASE(tls_host_refuses_plain_where_tls_is_required, "tcp.tls.host.required", roles::host,
                 host_with{"connect_discovered", &host_without_keys}) {
  // The entry of the NVM subsystem, the first, says that it requires a secure channel.
  bench.script.data_out = [](const CommandContext& command, MutableBytes data) {
    constexpr std::size_t kTreq = kLogHeader + 3;
    if (command.sqe[0] != kGetLogPage || command.sqe[40] != kDiscoveryLog) return;
    const auto offset = load_le<std::uint64_t>(command.sqe.data() + 48);
    if (offset > kTreq || kTreq - offset >= data.size()) return;
    std::uint8_t& treq = data[kTreq - offset];
    treq = static_cast<std::uint8_t>((treq & ~fabrics::treq_bits::secure_channel_mask) | fabrics::treq_bits::secure_channel_required);
  };
  bench.product().connect_discovered().wait_for(30_s);
  // A host that has a key for this subsystem all the same may come over TLS.
  const auto connects = bench.fabrics_commands(kConnect);
  check.precondition(!connects.empty(), "the host asks the discovery service");
  std::size_t plain = 0;
  for (std::size_t i = 0; i < std::min(connects.size(), bench.identities().size()); ++i) {
    if (connects[i]->data.size() < fabrics::ConnectData::size) continue;
    const View<fabrics::ConnectData> data{connects[i]->data};
    const auto subnqn = fabrics::terminated_text(data.get(fabrics::connect_data::subnqn));
    if (subnqn == bench.nqn() && bench.identities()[i].empty()) ++plain;
  }
  check.equal("queues of the subsystem that come without TLS", plain, 0u);
}

CONFORMANCE_CASE(tls_host_secures_io_queues, "tcp.tls.host.io-queue", roles::host, host_with{"tls", &tls_offered}) {
  bench.product().connect({.io_queues = 2}).wait_for(30_s);
  check.precondition(!identity_of_queue(bench, 0).empty(), "the admin queue comes over TLS");
  check.precondition(bench.identities().size() >= 2, "I/O queues connect");
  for (std::size_t i = 1; i < bench.identities().size(); ++i) {
    check.that(!identity_of_queue(bench, i).empty(), "an I/O queue comes over TLS", "it came without");
  }
  bench.step("a Controller Reset");
  const std::size_t before = bench.identities().size();
  bench.product().reset().wait_for(60_s);
  check.precondition(bench.identities().size() > before + 1, "queues connect again after the reset");
  for (std::size_t i = before; i < bench.identities().size(); ++i) {
    check.that(!identity_of_queue(bench, i).empty(), "an I/O queue comes over TLS after a Controller Reset", "it came without");
  }
}

CONFORMANCE_CASE(tls_host_asks_for_a_psk, "tcp.tls.host.concat.asks", roles::host, kConcatenates) {
  bench.product().connect({}).wait_for(30_s);
  const auto asked = host_messages<fabrics::AuthNegotiate>(bench);
  check.precondition(!asked.empty(), "the host begins a transaction");
  check.equal("SC_C", asked.front().sc_c, static_cast<std::uint8_t>(fabrics::SecureChannel::new_tls_psk));
}

CONFORMANCE_CASE(tls_host_comes_back_with_the_psk, "tcp.tls.host.concat.channel", roles::host, kConcatenates) {
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  check.precondition(!host_messages<fabrics::AuthReply>(bench).empty(), "the host replies to a Challenge");
  check.that(outcome && outcome->ok, "the host connects", outcome ? outcome->text : "no outcome");
  const auto& identities = bench.identities();
  check.require(identities.size() >= 2, "it comes back", "it stays on its first connection");
  for (std::size_t i = 1; i < identities.size(); ++i) {
    const auto whose = auth::PskIdentity::parse(identities[i]);
    check.require(whose.has_value(), "with an identity", "without TLS");
    check.that(whose->origin == auth::PskOrigin::generated, "of type G", identities[i]);
    check.equal("HOSTNQN", whose->hostnqn, bench.product().hostnqn());
    check.equal("SUBNQN", whose->subnqn, bench.nqn());
  }
}

}  // namespace fb::conformance
