// NVMe/TCP with TLS: the points are those of sim/tls and of the side that holds the keys.
#include "model/deviations/deviation.h"
#include "wire/fabrics/transports.h"

namespace fb::deviations {

#define CONTROLLER(name, requirement, what, effect) DEVIATION(name, requirement, Product::controller, what, effect, fabrics::kTcp)
#define HOST(name, requirement, what, point) DEVIATION(name, requirement, Product::host, what, Departs{point}, fabrics::kTcp)

CONTROLLER(tls_serves_1_2, "tcp.tls.version", "serves clients of TLS 1.2", Departs{"tcp.tls.server.version"});
CONTROLLER(tls_no_sha256, "tcp.tls.suite.aes-128", "has no TLS_AES_128_GCM_SHA256", Departs{"tcp.tls.server.no_sha256"});
CONTROLLER(tls_other_hash, "tcp.tls.suite.hash", "takes a suite of another hash than the key's", Departs{"tcp.tls.server.other_hash"});
CONTROLLER(tls_no_psk_ke, "tcp.tls.mode.psk-ke", "demands Diffie-Hellman", Departs{"tcp.tls.server.no_psk_ke"});
CONTROLLER(tls_no_ffdhe3072, "tcp.tls.mode.psk-dhe-ke", "does not know ffdhe3072", Departs{"tcp.tls.server.no_ffdhe3072"});
CONTROLLER(tls_serves_strangers, "tcp.tls.identity.unknown", "has one key for whoever comes", Departs{"tcp.tls.server.identity"});
CONTROLLER(tls_no_identity_v0, "tcp.tls.identity.version-0", "knows version 1 of identities alone", Departs{"tcp.tls.server.identity_v0"});
CONTROLLER(tls_no_identity_v1, "tcp.tls.identity.version-1", "knows version 0 of identities alone", Departs{"tcp.tls.server.identity_v1"});
CONTROLLER(tls_ignores_digest, "tcp.tls.identity.digest", "does not look at the digest of an identity", Departs{"tcp.tls.server.digest"});
CONTROLLER(tls_wrong_binder_stays, "tcp.tls.binder", "leaves a client without the key connected", Departs{"tcp.tls.server.stays.binder"});
CONTROLLER(tls_no_psk_stays, "tcp.tls.psk-only", "leaves a client without a PSK connected", Departs{"tcp.tls.server.stays.no_psk"});
CONTROLLER(tls_serves_plain, "tcp.tls.plain", "serves plain connections on a TLS port", Departs{"tcp.tls.server.plain"});
CONTROLLER(tls_any_host, "tcp.tls.connect.hostnqn", "takes a Connect in another host's name", Tolerate{"connect.tls.hostnqn"});
CONTROLLER(tls_any_subsystem, "tcp.tls.connect.subnqn", "takes a Connect to another subsystem", Tolerate{"connect.tls.subnqn"});
CONTROLLER(tls_plain_io_queue, "tcp.tls.connect.io-queue", "takes a plain I/O queue beside a TLS admin queue", Tolerate{"connect.io.tls"});
CONTROLLER(tls_not_in_treq, "tcp.tls.discovery.treq", "does not say that TLS is required", Departs{"tcp.discovery.tls.treq"});
CONTROLLER(tls_not_in_tsas, "tcp.tls.discovery.sectype", "does not say that there is TLS", Departs{"tcp.discovery.tls.sectype"});
CONTROLLER(tls_psk_forgotten, "tcp.tls.concat.psk", "does not keep the PSK of a transaction", Departs{"tcp.tls.psk.forgotten"});
CONTROLLER(tls_new_psk_over_tls, "tcp.tls.concat.over-tls", "makes a new PSK over TLS", Departs{"auth.negotiate.sc_c"});
CONTROLLER(tls_psk_for_ever, "tcp.tls.concat.lifetime", "keeps generated PSKs for ever", Departs{"tcp.tls.psk.kept"});

HOST(tls_host_plain, "tcp.tls.host.first", "connects without TLS", "tcp.tls.client.plain");
HOST(tls_host_old, "tcp.tls.host.version", "offers TLS 1.2 alone", "tcp.tls.client.version_1_2");
HOST(tls_host_1_2, "tcp.tls.host.version-1-3-alone", "offers TLS 1.2 too", "tcp.tls.client.version");
HOST(tls_host_no_sha256, "tcp.tls.host.suite", "does not offer TLS_AES_128_GCM_SHA256", "tcp.tls.client.no_sha256");
HOST(tls_host_no_psk_ke, "tcp.tls.host.mode.psk-ke", "offers psk_dhe_ke alone", "tcp.tls.client.no_psk_ke");
HOST(tls_host_no_ffdhe3072, "tcp.tls.host.group", "does not offer ffdhe3072", "tcp.tls.client.no_ffdhe3072");
HOST(tls_host_early_data, "tcp.tls.host.early-data", "sends 0-RTT data", "tcp.tls.client.early_data");
HOST(tls_host_identity_order, "tcp.tls.host.identity", "names the subsystem first", "tcp.tls.client.identity_order");
HOST(tls_host_identity_type, "tcp.tls.host.identity", "says that its key was generated", "tcp.tls.client.identity_type");
HOST(tls_host_identity_hash, "tcp.tls.host.identity-hash", "names another hash", "tcp.tls.client.identity_hash");
HOST(tls_host_digest, "tcp.tls.host.identity-digest", "makes the digest up", "tcp.tls.client.digest");
HOST(tls_host_key, "tcp.tls.host.binder", "derives another key", "tcp.tls.client.key");
HOST(tls_host_takes_1_2, "tcp.tls.host.server-version", "does not leave a server of TLS 1.2", "tcp.tls.client.stays.version");
HOST(tls_host_ignores_treq, "tcp.tls.host.required", "connects without TLS although it is required", "tcp.host.discovery.tls_ignored");
HOST(tls_host_plain_io, "tcp.tls.host.io-queue", "connects I/O queues without TLS", "tcp.host.tls.io_plain");
HOST(tls_host_asks_no_psk, "tcp.tls.host.concat.asks", "does not ask for a secure channel", "tcp.host.concat.not_asked");
HOST(tls_host_stays_plain, "tcp.tls.host.concat.channel", "goes on without TLS", "tcp.host.concat.stays");

}  // namespace fb::deviations
