// The side that is asked, further rules: what a request may ask for, and what the answers have to say.
#include "conformance/cases/cm/exchange.h"

namespace fb::conformance {
namespace {

using cm::Attribute;
namespace reason = rdma::reject_reason;

const IpAddress kNobody = IpAddress::v4(10, 0, 0, 99);

bool is(const std::optional<cm::Mad>& mad, Attribute attribute) { return mad && attribute_of(*mad) == attribute; }

/// A good REQ to a product that listens for it.
cm::Mad req_to_listener(RdmaBench& bench, const ListenTerms& terms = {}, RawRequest request = {.mtu_code = 1}) {
  bench.product().listen(kNvmePort, terms);
  return bench.peer().make_req(request);
}

/// From a peer that gives up, and does not know the product's ID.
cm::Mad timeout_rej_of(const cm::Mad& req) {
  const auto asked = seen_as<cm::Req>(req);
  std::array<std::uint8_t, 8> guid = {};
  store_be<std::uint64_t>(guid.data(), asked.get(cm::req::local_ca_guid));
  cm::Mad rej(Attribute::rej, tid_of(req));
  rej.message<cm::Rej>()
      .set(cm::rej::local_comm_id, asked.get(cm::req::local_comm_id))
      .set(cm::rej::about, cm::About::other)
      .set(cm::rej::reason, reason::timeout)
      .set(cm::rej::info_length, 8)
      .set(cm::rej::info, guid);
  return rej;
}

void nobody_asked(RdmaBench& bench, Check& check) {
  check.equal("connections that the listener was asked for", bench.product().requests_seen(), 0);
}

void small_port(EmbeddedSetup& setup) { setup.mtu_code_max = 2; }

/// What a CM timeout code stands for at least; the exact value is 4.096 microseconds times 2^code.
Duration cm_time(unsigned code) { return Duration::ms(std::int64_t{1} << (code - 8)); }

void over_ipv6(EmbeddedSetup& setup) {
  setup.bench_address = IpAddress::v6({0xFD, 0x0C, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x03});
  setup.product_address = IpAddress::v6({0xFD, 0x0C, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x04});
}

/// Loopback, the unspecified address, multicast; and over IPv4 this network and broadcast.
void impossible_sources_are_rejected(RdmaBench& bench, Check& check) {
  const bool v4 = bench.address().is_v4();
  const IpAddress sources_v4[] = {IpAddress::v4(127, 0, 0, 1), IpAddress::v4(127, 9, 9, 9), IpAddress::v4(0, 0, 0, 0),
                                  IpAddress::v4(0, 1, 2, 3),   IpAddress::v4(224, 0, 0, 1), IpAddress::v4(255, 255, 255, 255)};
  const IpAddress sources_v6[] = {IpAddress::v6({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}),
                                  IpAddress::v6({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
                                  IpAddress::v6({0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})};
  bench.product().listen(kNvmePort);
  for (const IpAddress& source : v4 ? std::span<const IpAddress>{sources_v4} : std::span<const IpAddress>{sources_v6}) {
    cm::Mad req = bench.peer().make_req({.mtu_code = 1});
    Bytes data = copy(seen_as<cm::Req>(req).get(cm::req::private_data));
    const auto form = cm::ip_header_form(source);
    std::copy(form.begin(), form.end(), data.begin() + 4);
    req.message<cm::Req>().set(cm::req::private_data, data);
    rejected_with(bench, check, req, {reason::consumer_defined, reason::unsupported},
                  "answer to a REQ from " + to_string(source) + ", as its IP addressing header says");
  }
  nobody_asked(bench, check);
}

}  // namespace

CONFORMANCE_CASE(a_listener_serves_its_own_port_space, "cm.req.port-space", roles::responder, reaches{"cm.rej.sent"}) {
  cm::Mad req = req_to_listener(bench);
  req.message<cm::Req>().set(cm::req::service_id, cm::service_id_of(kNvmePort, cm::kUdpPortSpace));
  rejected_with(bench, check, req, {reason::invalid_service_id, reason::invalid_transport_type, reason::unsupported},
                "answer to a REQ for that port of the UDP port space");
  nobody_asked(bench, check);
}

CONFORMANCE_CASE(a_rejected_gid_comes_with_a_good_one, "cm.req.foreign-gid.info", roles::responder) {
  cm::Mad req = req_to_listener(bench);
  req.message<cm::Req>().set(cm::req::primary_remote_gid, kNobody.bytes());
  bench.peer().send_mad(req);
  const auto answer = bench.peer().wait_mad(kAnswerTime);
  check.precondition(is(answer, Attribute::rej) && seen_as<cm::Rej>(*answer).get(cm::rej::reason) == reason::invalid_gid,
                     "the product does not reject with reason 12");
  const auto rej = seen_as<cm::Rej>(*answer);
  const auto info = rej.get(cm::rej::info);
  check.equal("length of the additional information", unsigned{rej.get(cm::rej::info_length)}, 16u);
  const bool some = std::any_of(info.begin(), info.begin() + 16, [](std::uint8_t b) { return b != 0; });
  check.that(some, "the additional information is a GID", "it is zero");
}

CONFORMANCE_CASE(a_reserved_path_mtu_is_rejected, "cm.req.mtu", roles::responder) {
  bench.product().listen(kNvmePort);
  for (const std::uint8_t code : {std::uint8_t{0}, std::uint8_t{6}, std::uint8_t{15}}) {
    rejected_with(bench, check, bench.peer().make_req({.mtu_code = code}),
                  {reason::invalid_mtu, reason::unsupported, reason::consumer_defined}, "answer to a REQ with a reserved path MTU");
  }
  nobody_asked(bench, check);
}

CONFORMANCE_CASE(a_path_mtu_beyond_the_port_is_rejected, "cm.req.mtu", roles::responder,
                 arranged("a port whose path MTU is 512", &small_port)) {
  bench.product().listen(kNvmePort);
  for (const std::uint8_t code : {std::uint8_t{3}, std::uint8_t{4}, std::uint8_t{5}}) {
    rejected_with(bench, check, bench.peer().make_req({.mtu_code = code}),
                  {reason::invalid_mtu, reason::unsupported, reason::consumer_defined},
                  "answer to a REQ for a path MTU of " + std::to_string(roce::mtu_bytes(code)));
  }
  bench.peer().send_mad(bench.peer().make_req({.mtu_code = 2}));
  mad_of(bench, check, Attribute::rep, "answer to a REQ for a path MTU of 512");
}

CONFORMANCE_CASE(a_rejected_path_mtu_comes_with_a_good_one, "cm.req.mtu.info", roles::responder,
                 arranged("a port whose path MTU is 512", &small_port)) {
  bench.peer().send_mad(req_to_listener(bench, {}, {.mtu_code = 5}));
  const auto answer = bench.peer().wait_mad(kAnswerTime);
  check.precondition(is(answer, Attribute::rej) && seen_as<cm::Rej>(*answer).get(cm::rej::reason) == reason::invalid_mtu,
                     "the product does not reject with reason 26");
  const auto rej = seen_as<cm::Rej>(*answer);
  check.equal("length of the additional information", unsigned{rej.get(cm::rej::info_length)}, 1u);
  check.between("path MTU that would do", unsigned{rej.get(cm::rej::info)[0]}, 1u, 2u);
}

CONFORMANCE_CASE(an_ip_header_of_the_other_ip_version_is_rejected, "cm.req.ip-header-address", roles::responder) {
  cm::Mad req = req_to_listener(bench);
  Bytes data = copy(seen_as<cm::Req>(req).get(cm::req::private_data));
  data[1] = 0x50;
  req.message<cm::Req>().set(cm::req::private_data, data);
  rejected_with(bench, check, req, {reason::consumer_defined, reason::unsupported},
                "answer to a REQ with IP version 5 in its IP addressing header");
  nobody_asked(bench, check);
}

CONFORMANCE_CASE(a_loopback_source_is_rejected, "cm.req.ip-header-address", roles::responder) {
  impossible_sources_are_rejected(bench, check);
}

CONFORMANCE_CASE(an_impossible_ipv6_source_is_rejected, "cm.req.ip-header-address", roles::responder, furnished{&over_ipv6}) {
  impossible_sources_are_rejected(bench, check);
}

CONFORMANCE_CASE(a_rep_goes_to_the_primary_local_gid, "cm.answer.return-path", roles::responder) {
  RawRoce& elsewhere = bench.another_peer();
  elsewhere.send_mad(req_to_listener(bench));
  const auto astray = elsewhere.wait_mad(kAnswerTime);
  const auto answer = bench.peer().wait_mad(Duration::ms(1));
  check.precondition(is(answer, Attribute::rep) || is(astray, Attribute::rep),
                     "the product does not accept a REQ that came from another address");
  expect(check, !is(astray, Attribute::rep), "where the REP goes", "the primary local GID of the REQ", "the source of the packet");
}

CONFORMANCE_CASE(an_impossible_alternate_path_is_not_accepted, "cm.req.alternate-path", roles::responder) {
  cm::Mad req = req_to_listener(bench);
  req.message<cm::Req>()
      .set(cm::req::alternate_local_lid, 0xFFFF)
      .set(cm::req::alternate_remote_lid, 0xFFFF)
      .set(cm::req::alternate_local_gid, bench.peer_address().bytes())
      .set(cm::req::alternate_remote_gid, kNobody.bytes())
      .set(cm::req::alternate_hop_limit, 64)
      .set(cm::req::alternate_ack_timeout, 14);
  bench.peer().send_mad(req);
  const auto answer = bench.peer().wait_mad(kAnswerTime);
  check.precondition(is(answer, Attribute::rep) || is(answer, Attribute::rej), "the REQ is not answered");
  if (is(answer, Attribute::rej)) {
    check.that(true, "the REQ is rejected");
    return;
  }
  check.equal("what became of the alternate path", seen_as<cm::Rep>(*answer).get(cm::rep::failover),
              one_of(cm::Failover::not_supported, cm::Failover::rejected));
}

CONFORMANCE_CASE(a_rep_names_its_req, "cm.rep.echoes", roles::responder) {
  const cm::Mad req = req_to_listener(bench);
  bench.peer().send_mad(req);
  const auto answer = mad_of(bench, check, Attribute::rep, "answer to the REQ");
  if (!answer) return;
  const auto rep = seen_as<cm::Rep>(*answer);
  check.equal("remote comm ID of the REP", rep.get(cm::rep::remote_comm_id), seen_as<cm::Req>(req).get(cm::req::local_comm_id));
  check.equal("transaction of the REP", tid_of(*answer), tid_of(req));
  check.that(rep.get(cm::rep::local_comm_id) != 0, "the comm ID of the REP is not 0");
  check.that(rep.get(cm::rep::local_ca_guid) != 0, "the CA GUID of the REP is not 0");
  if (bench.bare() && bench.product().accepted() != nullptr) {
    check.equal("queue pair", rep.get(cm::rep::local_qpn), bench.product().accepted()->qp().number());
  }
}

CONFORMANCE_CASE(a_rep_carries_what_its_program_says, "cm.rep.private-data", roles::responder) {
  const Bytes said = pattern(20);
  bench.peer().send_mad(req_to_listener(bench, {.private_data = said}));
  const auto rep = mad_of(bench, check, Attribute::rep, "answer to the REQ");
  if (!rep) return;
  const auto data = seen_as<cm::Rep>(*rep).get(cm::rep::private_data);
  check.bytes("private data of the REP", ByteView{data}.first(said.size()), said);
}

CONFORMANCE_CASE(a_rej_carries_what_its_program_says, "cm.rej.consumer", roles::responder, reaches{"cm.rej.sent"}) {
  const Bytes said = pattern(20);
  const cm::Mad req = req_to_listener(bench, {.accept = false, .private_data = said});
  bench.peer().send_mad(req);
  const auto answer = mad_of(bench, check, Attribute::rej, "answer to a REQ that the program rejects");
  if (!answer) return;
  const auto rej = seen_as<cm::Rej>(*answer);
  check.equal("reason", rej.get(cm::rej::reason), reason::consumer_defined);
  check.equal("message that is rejected", rej.get(cm::rej::about), cm::About::req);
  check.equal("remote comm ID of the REJ", rej.get(cm::rej::remote_comm_id), seen_as<cm::Req>(req).get(cm::req::local_comm_id));
  check.equal("transaction of the REJ", tid_of(*answer), tid_of(req));
  const auto data = rej.get(cm::rej::private_data);
  check.bytes("private data of the REJ", ByteView{data}.first(said.size()), said);
  // A copy, as it comes where the REJ was lost, is a request of its own.
  rejected_with(bench, check, req, {reason::consumer_defined}, "answer to a copy of the REQ that was rejected");
}

CONFORMANCE_CASE(a_rej_carries_data_of_any_length, "cm.rej.consumer-length", roles::responder) {
  bench.product().listen(kNvmePort, {.hold = true});
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{92}, std::size_t{136}, cm::kRejConsumerBytes - 1, cm::kRejConsumerBytes}) {
    const cm::Mad req = bench.peer().make_req({.mtu_code = 1});
    bench.peer().send_mad(req);
    auto& held = bench.product().requests();
    bench.world().run_until([&] { return !held.empty(); }, kAnswerTime);
    check.precondition(!held.empty(), "the program hears of the request");
    const Bytes said = pattern(length);
    held.front()->reject(reason::consumer_defined, said);
    held.clear();
    const std::string what = "a REJ with " + std::to_string(length) + " bytes of private data";
    const auto answer = mad_of(bench, check, Attribute::rej, what);
    if (!answer) return;
    const auto rej = seen_as<cm::Rej>(*answer);
    check.equal("reason of " + what, rej.get(cm::rej::reason), reason::consumer_defined);
    check.bytes("private data of " + what, ByteView{rej.get(cm::rej::private_data)}.first(length), said);
    check.equal("comm ID in the REJ", rej.get(cm::rej::remote_comm_id), seen_as<cm::Req>(req).get(cm::req::local_comm_id));
  }
}

CONFORMANCE_CASE(receives_come_back_when_no_connection_comes_about, "cm.attempt.flushes", roles::responder, lasts(Duration::s(60)),
                 beyond_interfaces("the interface ends attempts by its own timers")) {
  enum class End : std::uint8_t { silence, consumer_reject, timeout_reject };
  bench.product().listen(kNvmePort, {.receives = 3});
  for (const End end : {End::silence, End::consumer_reject, End::timeout_reject}) {
    cm::Mad req = bench.peer().make_req({.mtu_code = 1, .cm_timeout = 13});
    req.message<cm::Req>().set(cm::req::max_cm_retries, 2);
    bench.peer().send_mad(req);
    // What belongs to the attempt before may still be on its way.
    auto rep = bench.peer().wait_mad(kAnswerTime);
    while (rep && tid_of(*rep) != tid_of(req)) rep = bench.peer().wait_mad(kAnswerTime);
    const bool answered = rep && attribute_of(*rep) == Attribute::rep;
    if (!expect(check, answered, "answer to the REQ", "REP", words_of_mad(rep))) return;
    VerbsQueue* const queue = bench.product().accepted();
    check.precondition(queue != nullptr, "the product did not accept a good connection request");
    if (end != End::silence) {
      cm::Mad rej(Attribute::rej, tid_of(req));
      rej.message<cm::Rej>()
          .set(cm::rej::local_comm_id, seen_as<cm::Req>(req).get(cm::req::local_comm_id))
          .set(cm::rej::remote_comm_id, seen_as<cm::Rep>(*rep).get(cm::rep::local_comm_id))
          .set(cm::rej::about, cm::About::rep)
          .set(cm::rej::reason, end == End::timeout_reject ? reason::timeout : reason::consumer_defined);
      bench.peer().send_mad(rej);
    }
    const std::string what = end == End::silence           ? "a REP that nobody answers"
                             : end == End::consumer_reject ? "a REP that is rejected"
                                                           : "a REP that is rejected for a timeout";
    for (std::uint64_t id = 0; id < 3; ++id) {
      const auto done = queue->wait_receive(Duration::s(10));
      if (!expect(check, done.has_value(), "receives after " + what, "each comes back", "one does not")) return;
      check.equal("the receive that comes back after " + what, done->id, id);
      check.equal("its status after " + what, done->status, rdma::CompletionStatus::flushed);
    }
    bench.world().run_for(Duration::ms(5));  // the product may say that it gives up
    bench.peer().mads().clear();
  }
}

CONFORMANCE_CASE(a_rep_is_not_repeated_too_early, "cm.rep.repeat-time", roles::responder, reaches{"cm.resend"}) {
  constexpr std::uint8_t kCode = 16;
  bench.peer().send_mad(req_to_listener(bench, {}, {.mtu_code = 1, .cm_timeout = kCode}));
  if (!mad_of(bench, check, Attribute::rep, "answer to the REQ")) return;
  const Instant first = bench.world().now();
  const auto second = bench.peer().wait_mad(Attribute::rep, Duration::s(10));
  check.precondition(second.has_value(), "the product does not repeat its REP");
  check.between("time until the REP comes again", bench.world().now() - first, cm_time(kCode) - bench.jitter(), Duration::forever());
}

CONFORMANCE_CASE(a_rep_is_not_repeated_too_often, "cm.rep.repeat-count", roles::responder, lasts(Duration::s(30)), reaches{"cm.resend"}) {
  constexpr unsigned kRetries = 2;
  cm::Mad req = req_to_listener(bench, {}, {.mtu_code = 1, .cm_timeout = 13});
  req.message<cm::Req>().set(cm::req::max_cm_retries, kRetries);
  bench.peer().send_mad(req);
  unsigned replies = 0;
  while (bench.peer().wait_mad(Attribute::rep, Duration::s(10))) ++replies;
  check.precondition(replies > 1, "the product does not repeat its REP");
  check.between("REPs, the first one included", replies, 1u, kRetries + 1);
}

CONFORMANCE_CASE(an_unconfirmed_connection_is_given_up_aloud, "cm.give-up.said", roles::responder, lasts(Duration::s(40)),
                 reaches{"cm.give_up"}) {
  cm::Mad req = req_to_listener(bench, {}, {.mtu_code = 1, .cm_timeout = 13});
  req.message<cm::Req>().set(cm::req::max_cm_retries, 2);
  bench.peer().send_mad(req);
  if (!mad_of(bench, check, Attribute::rep, "answer to the REQ")) return;
  const auto rej = bench.peer().wait_mad(Attribute::rej, Duration::s(20));
  if (!expect(check, rej.has_value(), "end of the attempt", "REJ 4", "silence")) return;
  check.equal("reason", seen_as<cm::Rej>(*rej).get(cm::rej::reason), reason::timeout);
}

CONFORMANCE_CASE(a_rej_for_a_timeout_ends_the_attempt, "cm.rej.timeout.obeyed", roles::responder, lasts(Duration::s(30))) {
  const cm::Mad req = req_to_listener(bench, {}, {.mtu_code = 1, .cm_timeout = 16});
  bench.peer().send_mad(req);
  if (!mad_of(bench, check, Attribute::rep, "answer to the REQ")) return;
  bench.step("the REP got lost, and the bench gives up: it does not know the product's ID");
  bench.peer().send_mad(timeout_rej_of(req));
  const auto more = bench.peer().wait_mad(Attribute::rep, Duration::s(10));
  expect(check, !more, "after the REJ", "no further REP", "the REP again");
  bench.step("the bench gives up before the program has decided, and its queue pair asks once more");
  constexpr std::uint16_t kOtherPort = kNvmePort + 1;
  bench.product().listen(kOtherPort, {.hold = true});
  const cm::Mad undecided = bench.peer().make_req({.port = kOtherPort, .mtu_code = 1, .cm_timeout = 16});
  bench.peer().send_mad(undecided);
  const bool held = bench.world().run_until([&] { return !bench.product().requests().empty(); }, kAnswerTime);
  check.precondition(held, "the program hears of the request");
  bench.peer().send_mad(timeout_rej_of(undecided));
  bench.world().run_for(Duration::s(5));
  bench.peer().mads().clear();
  const std::uint32_t qpn = seen_as<cm::Req>(undecided).get(cm::req::local_qpn);
  bench.peer().send_mad(bench.peer().make_req({.port = kOtherPort, .qpn = qpn, .mtu_code = 1, .cm_timeout = 16}));
  const auto refused = bench.peer().wait_mad(Attribute::rej, kAnswerTime);
  expect(check, !refused, "answer to a REQ of a queue pair whose attempt has ended", "no REJ", words_of_mad(refused));
}

CONFORMANCE_CASE(an_rtu_of_another_connection_confirms_nothing, "cm.rtu.ids", roles::responder, reaches{"cm.drop.rtu_unknown"}) {
  const cm::Mad req = req_to_listener(bench, {}, {.mtu_code = 1, .cm_timeout = 16});
  bench.peer().send_mad(req);
  const auto rep = mad_of(bench, check, Attribute::rep, "answer to the REQ");
  if (!rep) return;
  const RawConnectionFacts facts = bench.peer().facts_from(req, *rep);
  RawConnectionFacts other = facts;
  other.local_comm_id ^= 0x01010101;
  bench.peer().send_rtu(other);
  VerbsQueue* queue = bench.product().accepted();
  check.precondition(queue != nullptr, "the product did not accept a good connection request");
  expect(check, !queue->wait_event(ConnectionEvent::established, kAnswerTime),
         "the connection after an RTU that names another comm ID of ours", "not established", "established");
  bench.peer().send_rtu(facts);
  check.that(queue->wait_event(ConnectionEvent::established, kAnswerTime), "the right RTU establishes it");
}

CONFORMANCE_CASE(an_mra_names_its_req, "cm.mra.fields", roles::responder) {
  const cm::Mad req = req_to_listener(bench, {.hold = true});
  bench.peer().send_mad(req);
  auto mra = bench.peer().wait_mad(kAnswerTime);
  if (!mra) {
    bench.step("the program thinks about it; the REQ again");
    bench.peer().send_mad(req);
    mra = bench.peer().wait_mad(kAnswerTime);
  }
  check.precondition(is(mra, Attribute::mra), "the product sends no MRA");
  const auto said = seen_as<cm::Mra>(*mra);
  check.equal("remote comm ID of the MRA", said.get(cm::mra::remote_comm_id), seen_as<cm::Req>(req).get(cm::req::local_comm_id));
  check.equal("message that the MRA is about", said.get(cm::mra::about), cm::About::req);
  check.equal("transaction of the MRA", tid_of(*mra), tid_of(req));
}

}  // namespace fb::conformance
