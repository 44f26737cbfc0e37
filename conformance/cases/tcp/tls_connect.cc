// What a controller makes of who came over TLS, what its discovery log says about it, and keys that
// authentication makes.
#include "conformance/cases/tcp/tls_common.h"
#include "wire/fabrics/discovery_log.h"

namespace fb::conformance {

using namespace tls_cases;

namespace {

constexpr std::string_view kOtherHost = "nqn.2014-08.org.nvmexpress:uuid:5f0c9e52-7a7c-4be0-9d5e-2f3b8a5d6eff";

Bytes first_entry(ControllerBench& bench, Check& check) {
  RawAssociation& service = bench.associate({.subnqn = std::string(fabrics::kDiscoveryNqn)});
  const auto command = host::get_log(nvme::LogPage::discovery, 2 * fabrics::DiscoveryEntry::size, 0);
  const auto reply = service.admin().send(command, 2 * fabrics::DiscoveryEntry::size).wait();
  check.precondition_success(reply, "the discovery log");
  check.precondition(View<fabrics::DiscoveryHeader>{reply.data}.get(fabrics::discovery_header::numrec) > 0,
                     "the discovery log has an entry");
  return {reply.data.begin() + fabrics::DiscoveryEntry::size, reply.data.end()};
}

/// An admin queue, and a transaction on it that makes a PSK.
auth::GeneratedPsk made_psk(ControllerBench& bench) {
  RawAssociation& first = bench.associate({.enable = false, .authenticate = false});
  Concatenation made = ask_for_psk(bench, first.admin());
  if (!made.psk) throw CannotArrange{"no PSK was made: " + made.why};
  first.admin().disconnect();
  return *made.psk;
}

/// A queue over TLS with that PSK; not connected where it is not known.
host::RawQueue& with_psk(ControllerBench& bench, const auth::GeneratedPsk& made) {
  if (bench.tls() == nullptr) throw CannotArrange{"the bench speaks no TLS"};
  bench.tls()->keep(made);
  return bench.plain_queue({.secured = true, .hostnqn = std::string(kBenchHostNqn), .subnqn = bench.nqn()});
}

}  // namespace

CONFORMANCE_CASE(tls_connect_names_another_host, "tcp.tls.connect.hostnqn", roles::controller, over_tls{&tls_required}) {
  host::RawQueue& queue = bench.raw_queue();
  const auto reply = queue.send(bench.connect_command({.hostnqn = std::string(kOtherHost)})).wait();
  check.refused(reply);
}

CONFORMANCE_CASE(tls_connect_names_another_subsystem, "tcp.tls.connect.subnqn", roles::controller, over_tls{&tls_required}) {
  host::RawQueue& queue = bench.raw_queue();
  const auto reply = queue.send(bench.connect_command({.subnqn = std::string(fabrics::kDiscoveryNqn)})).wait();
  check.refused(reply);
}

CONFORMANCE_CASE(tls_association_has_no_plain_io_queue, "tcp.tls.connect.io-queue", roles::controller,
                 arranged{"a port with and without TLS", &tls_offered}) {
  host::RawQueue& admin = bench.plain_queue({.secured = true, .hostnqn = std::string(kBenchHostNqn), .subnqn = bench.nqn()});
  check.precondition(admin.connect_transport().wait().connected, "the admin queue connects over TLS");
  const host::ConnectCommand command = bench.connect_command();
  const auto accepted = admin.send(command).wait();
  check.precondition_success(accepted, "Connect");
  RawAssociation association(bench, admin, command, accepted.as<fabrics::ConnectReply>().get(fabrics::connect_reply::cntlid));
  association.enable();
  const auto granted = admin.send(host::set_features(nvme::FeatureId::number_of_queues, 1u << 16 | 1u)).wait();
  const bool second = granted.ok() && (granted.dw0() & 0xFFFF) >= 1 && (granted.dw0() >> 16) >= 1;
  for (const std::uint16_t qid : {std::uint16_t{1}, std::uint16_t{2}}) {
    if (qid > 1 && !second) break;
    host::RawQueue& plain = association.io_transport(qid);
    check.refused(plain.send(association.io_connect(qid)).wait(), "Connect of I/O queue " + std::to_string(qid) + " without TLS");
  }
}

CONFORMANCE_CASE(tls_required_stands_in_treq, "tcp.tls.discovery.treq", roles::controller, over_tls{&tls_required}) {
  const Bytes entry = first_entry(bench, check);
  const unsigned treq = View<fabrics::DiscoveryEntry>{entry}.get(fabrics::discovery_entry::treq);
  check.equal("secure channel bits of TREQ", treq & fabrics::treq_bits::secure_channel_mask, fabrics::treq_bits::secure_channel_required);
}

CONFORMANCE_CASE(tls_stands_in_tsas, "tcp.tls.discovery.sectype", roles::controller, over_tls{&tls_required}) {
  const Bytes entry = first_entry(bench, check);
  const auto sectype = View<fabrics::TcpDiscoveryEntry>{entry}.get(fabrics::discovery_entry::sectype);
  check.equal("SECTYPE", static_cast<unsigned>(sectype), static_cast<unsigned>(fabrics::TcpSecurity::tls_1_3));
}

CONFORMANCE_CASE(tls_takes_the_psk_that_authentication_made, "tcp.tls.concat.psk", roles::controller,
                 arranged{"a product that concatenates TLS", &concatenating}) {
  const auth::GeneratedPsk made = made_psk(bench);
  host::RawQueue& queue = with_psk(bench, made);
  const auto connection = queue.connect_transport().wait();
  check.require(connection.connected, "the PSK opens a TLS connection", connection.end.text);
  const auto accepted = queue.send(bench.connect_command()).wait();
  check.require_success(accepted, "Connect over it");
  check.equal("AUTHREQ", accepted.as<fabrics::ConnectReply>().get(fabrics::connect_reply::authreq), 0);
}

CONFORMANCE_CASE(tls_makes_no_new_psk_over_tls, "tcp.tls.concat.over-tls", roles::controller,
                 arranged{"a product with TLS and authentication", &tls_and_authentication}) {
  RawAssociation& association = bench.associate({.enable = false, .authenticate = false});
  const Concatenation asked = ask_for_psk(bench, association.admin());
  check.require(asked.failure.has_value(), "AUTH_Failure1", asked.psk ? "a PSK was made" : asked.why);
  check.equal("RCODEEX", asked.failure->rcodeex, static_cast<std::uint8_t>(fabrics::AuthFailure::secure_channel_mismatch));
}

CONFORMANCE_CASE(tls_forgets_a_generated_psk, "tcp.tls.concat.lifetime", roles::controller,
                 arranged{"a product that concatenates TLS", &concatenating}, lasts{601_s}) {
  const auth::GeneratedPsk made = made_psk(bench);
  bench.world().run_for(601_s);
  host::RawQueue& queue = with_psk(bench, made);
  const auto connection = queue.connect_transport().wait();
  check.that(!connection.connected, "the PSK is discarded after ten minutes", "it opens a connection");
}

}  // namespace fb::conformance
