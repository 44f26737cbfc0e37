// What a connection manager does not have to serve: it says no, and goes on.
#include "conformance/cases/cm/exchange.h"

namespace fb::conformance {
namespace {

using cm::Attribute;
using cm::Method;

}  // namespace

CONFORMANCE_CASE(a_get_of_classportinfo_is_answered, "cm.mad.class-port-info", roles::responder) {
  bench.product().listen(kNvmePort);
  cm::Mad get(Attribute::class_port_info, std::uint64_t{bench.peer().fresh_id()} << 32);
  get.header().set(cm::mad::method, Method::get);
  bench.peer().send_mad(get);
  const auto answer = bench.peer().wait_mad(kAnswerTime);
  if (!expect(check, answer.has_value(), "answer to Get(ClassPortInfo)", "a GetResp", "silence")) return;
  const View<cm::MadHeader> header{answer->bytes()};
  check.equal("method of the answer", header.get(cm::mad::method), Method::get_response);
  check.equal("transaction of the answer", header.get(cm::mad::tid), tid_of(get));
}

CONFORMANCE_CASE(an_impossible_alternate_path_is_not_loaded, "cm.lap.refused", roles::responder) {
  const auto c = bench.connect_to_product();
  cm::Mad lap(Attribute::lap, std::uint64_t{bench.peer().fresh_id()} << 32);
  lap.message<cm::Lap>()
      .set(cm::lap::local_comm_id, c.facts.local_comm_id)
      .set(cm::lap::remote_comm_id, c.facts.remote_comm_id)
      .set(cm::lap::remote_qpn, c.facts.remote_qpn)
      .set(cm::lap::alternate_local_lid, 0xFFFF)
      .set(cm::lap::alternate_remote_lid, 0xFFFF)
      .set(cm::lap::alternate_local_gid, bench.peer_address().bytes())
      .set(cm::lap::alternate_remote_gid, IpAddress::v4(10, 0, 0, 99).bytes())
      .set(cm::lap::hop_limit, 64);
  bench.peer().send_mad(lap);
  // Nobody has to serve alternate paths over RoCE; who does has none to an address that is not its own.
  const auto answer = bench.peer().wait_mad(kAnswerTime);
  const bool loaded =
      answer && attribute_of(*answer) == Attribute::apr && seen_as<cm::Apr>(*answer).get(cm::apr::status) == cm::AprStatus::loaded;
  expect(check, !loaded, "answer to a LAP for a GID of nobody", "silence, or a refusal", "APR: loaded");
  serves_send(bench, check, c, 0, 0, "a SEND after the LAP");
}

CONFORMANCE_CASE(a_datagram_service_that_is_not_there_is_refused, "cm.sidr.refused", roles::responder) {
  bench.product().listen(kNvmePort);
  const std::uint32_t id = bench.peer().fresh_id();
  const std::uint64_t service = cm::service_id_of(4999, cm::kUdpPortSpace);
  cm::Mad ask(Attribute::sidr_req, std::uint64_t{bench.peer().fresh_id()} << 32);
  Record<cm::IpHeader> ip;
  ip.set(cm::ip_header::ip_version, 4)
      .set(cm::ip_header::source_port, 49152)
      .set(cm::ip_header::source, cm::ip_header_form(bench.peer_address()))
      .set(cm::ip_header::destination, cm::ip_header_form(bench.address()));
  ask.message<cm::SidrReq>()
      .set(cm::sidr_req::request_id, id)
      .set(cm::sidr_req::pkey, 0xFFFF)
      .set(cm::sidr_req::service_id, service)
      .set(cm::sidr_req::private_data, ip.bytes());
  bench.peer().send_mad(ask);
  const auto answer = mad_of(bench, check, Attribute::sidr_rep, "answer to a SIDR_REQ");
  if (!answer) return;
  const auto said = seen_as<cm::SidrRep>(*answer);
  check.equal("request that the answer names", said.get(cm::sidr_rep::request_id), id);
  check.that(said.get(cm::sidr_rep::status) != cm::SidrStatus::valid, "the answer names no queue pair", "it does");
}

}  // namespace fb::conformance
