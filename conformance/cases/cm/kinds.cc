// Every message of the connection manager, field by field: what is nearly right has no effect, what is right has it at both
// ends of its range, and connections do not disturb each other.
#include <set>

#include "conformance/cases/cm/exchange.h"

namespace fb::conformance {
namespace {

using cm::Attribute;
namespace reason = rdma::reject_reason;
constexpr std::string_view kNoChoice = "the interface chooses what its program does not";

/// A good REQ that is nobody's copy.
cm::Mad good_req(RdmaBench& bench, const RawRequest& request = {.mtu_code = 1}) { return bench.peer().make_req(request); }

void nobody_asked(RdmaBench& bench, Check& check, std::string_view what) {
  check.equal(std::string("connections that the listener was asked for after ") + std::string(what), bench.product().requests_seen(), 0);
}

/// Each of the MADs, all at once, has no answer of this kind.
void unanswered(RdmaBench& bench, Check& check, const std::vector<cm::Mad>& mads, Attribute answer, std::string_view what) {
  for (const cm::Mad& mad : mads) bench.peer().send_mad(mad);
  const auto seen = bench.peer().wait_mad(answer, kAnswerTime);
  expect(check, !seen, what, "no " + std::string(cm::name_of(answer)), words_of_mad(seen));
  bench.peer().mads().clear();
}

/// The MAD with one bit of its comm IDs changed, for each of them.
std::vector<cm::Mad> with_other_ids(const cm::Mad& mad, bool local_too = true) {
  std::vector<cm::Mad> mads;
  for (unsigned bit = 0; bit < 32; ++bit) {
    for (const bool local : {false, true}) {
      if (local && !local_too) continue;
      cm::Mad other = mad;
      auto ids = other.message<cm::Ids>();
      if (local) {
        ids.set(cm::ids::local_comm_id, ids.get(cm::ids::local_comm_id) ^ 1u << bit);
      } else {
        ids.set(cm::ids::remote_comm_id, ids.get(cm::ids::remote_comm_id) ^ 1u << bit);
      }
      mads.push_back(other);
    }
  }
  for (const bool local : {false, true}) {
    if (local && !local_too) continue;
    cm::Mad nobody = mad;
    auto ids = nobody.message<cm::Ids>();
    if (local) {
      ids.set(cm::ids::local_comm_id, 0u);
    } else {
      ids.set(cm::ids::remote_comm_id, 0u);
    }
    mads.push_back(nobody);
  }
  return mads;
}

cm::Mad rtu_of(const RawConnectionFacts& facts) {
  cm::Mad mad(Attribute::rtu, facts.tid);
  mad.message<cm::Rtu>().set(cm::rtu::local_comm_id, facts.local_comm_id).set(cm::rtu::remote_comm_id, facts.remote_comm_id);
  return mad;
}

cm::Mad rej_of(const RawConnectionFacts& facts, cm::About about, std::uint16_t why, ByteView data = {}) {
  cm::Mad mad(Attribute::rej, facts.tid);
  mad.message<cm::Rej>()
      .set(cm::rej::local_comm_id, facts.local_comm_id)
      .set(cm::rej::remote_comm_id, facts.remote_comm_id)
      .set(cm::rej::about, about)
      .set(cm::rej::reason, why)
      .set(cm::rej::private_data, data);
  return mad;
}

cm::Mad mra_of(const RawConnectionFacts& facts, cm::About about, std::uint8_t service_timeout) {
  cm::Mad mad(Attribute::mra, facts.tid);
  mad.message<cm::Mra>()
      .set(cm::mra::local_comm_id, facts.local_comm_id)
      .set(cm::mra::remote_comm_id, facts.remote_comm_id)
      .set(cm::mra::about, about)
      .set(cm::mra::service_timeout, service_timeout);
  return mad;
}

/// 4.096 microseconds times 2^code, which a connection manager may round.
Duration cm_time(unsigned code) { return Duration::ns(std::int64_t{4096} << code); }

VerbsQueue& product_asks(RdmaBench& bench, const rdma::ConnectionParameters& parameters = RdmaBench::good_parameters()) {
  return bench.product().connect({bench.peer_address(), kPlainPort}, parameters);
}

cm::Mad req_of(RdmaBench& bench, Check& check) {
  const auto req = bench.peer().wait_mad(Attribute::req, Duration::s(10));
  check.precondition(req.has_value(), "the product sent no connection request");
  return *req;
}

}  // namespace

CONFORMANCE_CASE(each_value_of_a_mad_header_counts, "cm.mad.every-value", roles::responder, sends_malformed) {
  bench.product().listen(kNvmePort);
  for (const std::size_t at : {0u, 1u, 2u, 3u, 16u, 17u}) {
    std::vector<cm::Mad> mads;
    const cm::Mad good = good_req(bench);
    for (unsigned value = 0; value < 256; ++value) {
      if (value == good.bytes()[at]) continue;
      if (at == 3 && value == 1) continue;  // Get, which is answered
      cm::Mad mad = good_req(bench);
      mad.mutable_bytes()[at] = static_cast<std::uint8_t>(value);
      mads.push_back(mad);
    }
    unanswered(bench, check, mads, Attribute::rep, "REQs with another byte " + std::to_string(at) + " of the MAD header");
  }
  const cm::Mad mad = good_req(bench);
  for (unsigned bit = 0; bit < 32; ++bit) bench.peer().send_mad(mad, roce::kGsiQkey ^ 1u << bit);
  const auto seen = bench.peer().wait_mad(kAnswerTime);
  expect(check, !seen, "REQs whose Q_Key differs in one bit", "silence", words_of_mad(seen));
  nobody_asked(bench, check, "them");
  bench.peer().send_mad(mad);
  mad_of(bench, check, Attribute::rep, "answer to the right REQ");
}

CONFORMANCE_CASE(each_byte_that_names_the_service_counts, "cm.req.every-name", roles::responder, sends_malformed,
                 furnished(&on_a_near_network)) {
  bench.product().listen(kNvmePort);
  const auto rejected = [&](const cm::Mad& req, std::initializer_list<std::uint16_t> reasons, const std::string& what) {
    rejected_with(bench, check, req, reasons, what);
  };
  for (std::size_t bit = 0; bit < 64; ++bit) {
    cm::Mad req = good_req(bench);
    auto fields = req.message<cm::Req>();
    fields.set(cm::req::service_id, fields.get(cm::req::service_id) ^ std::uint64_t{1} << bit);
    rejected(req, {reason::invalid_service_id, reason::invalid_transport_type, reason::unsupported},
             "answer to a REQ whose service ID differs in bit " + std::to_string(bit));
  }
  for (std::size_t at = 0; at < 16; ++at) {
    cm::Mad req = good_req(bench);
    auto gid = bench.address().bytes();
    gid[at] ^= 0x01;
    req.message<cm::Req>().set(cm::req::primary_remote_gid, gid);
    bench.peer().send_mad(req);
    const auto rej = bench.peer().wait_mad(kAnswerTime);
    expect(check, !rej || attribute_of(*rej) == Attribute::rej, "answer to a REQ for a GID that differs in byte " + std::to_string(at),
           "REJ or silence", words_of_mad(rej));
  }
  for (const cm::Transport transport : {cm::Transport::uc, cm::Transport::rd, cm::Transport::extended}) {
    cm::Mad req = good_req(bench);
    req.message<cm::Req>().set(cm::req::transport, transport);
    rejected(req, {reason::invalid_transport_type, reason::unsupported, reason::consumer_defined},
             "answer to a REQ for another transport service");
  }
  for (std::uint8_t code = 0; code < 16; ++code) {
    if (code >= 1 && code <= 5) continue;
    rejected(good_req(bench, {.mtu_code = code}), {reason::invalid_mtu, reason::unsupported, reason::consumer_defined},
             "answer to a REQ with path MTU code " + std::to_string(code));
  }
  const std::size_t destination = bench.address().is_v4() ? 32 : 20;
  for (std::size_t at = 0; at < cm::IpHeader::size; ++at) {
    if (at != 0 && at != 1 && at < destination) continue;
    for (unsigned bit = 0; bit < 8; ++bit) {
      if (at == 1 && bit < 4) continue;  // reserved
      cm::Mad req = good_req(bench);
      Bytes data = copy(seen_as<cm::Req>(req).get(cm::req::private_data));
      data[at] ^= static_cast<std::uint8_t>(1u << bit);
      req.message<cm::Req>().set(cm::req::private_data, data);
      rejected(req, {reason::consumer_defined, reason::unsupported},
               "answer to a REQ whose IP addressing header differs in byte " + std::to_string(at));
    }
  }
  nobody_asked(bench, check, "them");
  for (const std::uint8_t code : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    bench.peer().send_mad(good_req(bench, {.mtu_code = code}));
    mad_of(bench, check, Attribute::rep, "answer to a good REQ");
  }
}

CONFORMANCE_CASE(what_a_req_says_is_kept, "cm.req.every-value", roles::responder) {
  struct Row {
    std::uint8_t mtu_code, responder_resources, initiator_depth;
    std::uint32_t psn;
    std::uint64_t guid;
  };
  constexpr Row kRows[] = {{1, 0, 0, 0, 1},
                           {2, 1, 2, 1, 0x0200000000001234},
                           {3, 2, 1, 0x7FFFFF, 0xFFFFFFFFFFFFFFFF},
                           {4, 16, 3, 0x800000, 0x1234567800000000},
                           {5, 3, 16, 0xFFFFFF, 0x12345678}};
  for (const Row& row : kRows) {
    bench.step("a connection with other values");
    RawRequest request = {.psn = row.psn,
                          .ca_guid = row.guid,
                          .responder_resources = row.responder_resources,
                          .initiator_depth = row.initiator_depth,
                          .mtu_code = row.mtu_code,
                          .ack_timeout = 18};
    request.port = kPlainPort;
    const auto c = bench.connect_to_product({.private_data = pattern(cm::kRepConsumerBytes)}, request);
    bench.peer().inbox().clear();
    const auto rep = seen_as<cm::Rep>(c.facts.reply);
    check.between("READs that the product serves", unsigned{rep.get(cm::rep::responder_resources)}, 0u, unsigned{row.initiator_depth});
    check.between("READs that the product has in flight", unsigned{rep.get(cm::rep::initiator_depth)}, 0u,
                  unsigned{row.responder_resources});
    if (bench.embedded()) {
      check.equal("READs that the product serves", rep.get(cm::rep::responder_resources), std::min<std::uint8_t>(16, row.initiator_depth));
      check.equal("READs that the product has in flight", rep.get(cm::rep::initiator_depth),
                  std::min<std::uint8_t>(16, row.responder_resources));
    }
    check.bytes("private data of the REP", rep.get(cm::rep::private_data), pattern(cm::kRepConsumerBytes));
    check.equal("its transaction", tid_of(c.facts.reply), c.facts.tid);
    auto& memory = bench.product().memory(3 * 4096);
    const std::size_t mtu = roce::mtu_bytes(row.mtu_code);
    c.queue->post_send({}, memory, 0, static_cast<std::uint32_t>(mtu + 1));
    for (std::uint32_t i = 0; i < 2; ++i) {
      const auto packet = next_packet(bench, check, "a SEND of the product", "a SEND");
      if (!packet) return;
      check.equal("its queue pair", packet->qpn, c.facts.local_qpn);
      check.equal("its PSN", packet->psn, roce::psn_add(c.facts.receive_psn, i));
      check.equal("bytes in a packet", packet->payload.size(), i == 0 ? mtu : 1);
    }
    bench.peer().send(c.facts.acknowledge(roce::psn_add(c.facts.receive_psn, 1), 1));
    const auto done = c.queue->wait_send(kAnswerTime);
    check.that(done && done->status == rdma::CompletionStatus::success, "the SEND completes", "it does not");
    serves_send(bench, check, c, 0, 0, "a SEND to the product");
    if (row.initiator_depth > 0) {
      bench.peer().send(read_request(c, 1, {memory.address(), memory.rkey(), static_cast<std::uint32_t>(2 * mtu)}));
      for (int i = 0; i < 2; ++i) {
        const auto packet = next_packet(bench, check, "a read response", "a read response");
        if (!packet) return;
        check.equal("bytes in a packet", packet->payload.size(), mtu);
      }
    }
  }
}

CONFORMANCE_CASE(a_req_of_another_device_is_no_copy, "cm.req.same-ids", roles::responder, beyond_interfaces(kNoChoice)) {
  bench.product().listen(kNvmePort);
  // Equal comm IDs and queue pair numbers of unequal devices, and the other way round.
  const RawRequest base = {.comm_id = 0x11112222, .qpn = 0x3333, .ca_guid = 0xA, .mtu_code = 1};
  RawRequest other_device = base, other_connection = base, high_bits = base;
  other_device.ca_guid = 0xB;
  other_connection.comm_id ^= 0x80000000;
  other_connection.qpn ^= 0x800000;
  high_bits.ca_guid = 0x100000000000000A;
  std::set<std::uint32_t> ids, numbers, psns;
  for (const RawRequest& request : {base, other_device, other_connection, high_bits}) {
    bench.peer().send_mad(bench.peer().make_req(request));
    const auto rep = mad_of(bench, check, Attribute::rep, "answer to a REQ of its own");
    if (!rep) return;
    ids.insert(seen_as<cm::Rep>(*rep).get(cm::rep::local_comm_id));
    numbers.insert(seen_as<cm::Rep>(*rep).get(cm::rep::local_qpn));
    check.equal("comm ID that the REP answers", seen_as<cm::Rep>(*rep).get(cm::rep::remote_comm_id), request.comm_id);
  }
  check.equal("comm IDs of the product", ids.size(), 4u);
  check.equal("queue pairs of the product", numbers.size(), 4u);
  check.equal("connections that the listener was asked for", bench.product().requests_seen(), 4);
}

CONFORMANCE_CASE(messages_of_other_connections_change_nothing, "cm.ids.every-bit", roles::responder, sends_malformed) {
  bench.product().listen(kNvmePort);
  const cm::Mad req = good_req(bench, {.mtu_code = 1, .cm_timeout = 18});
  bench.peer().send_mad(req);
  const auto rep = mad_of(bench, check, Attribute::rep, "answer to the REQ");
  if (!rep) return;
  const RawConnectionFacts facts = bench.peer().facts_from(req, *rep);
  VerbsQueue* queue = bench.product().accepted();
  check.precondition(queue != nullptr, "the product did not accept a good connection request");
  for (const cm::Mad& mad : with_other_ids(rtu_of(facts))) bench.peer().send_mad(mad);
  for (const cm::Mad& mad : with_other_ids(rej_of(facts, cm::About::rep, reason::consumer_defined))) bench.peer().send_mad(mad);
  for (const cm::Mad& mad : with_other_ids(make_dreq(bench, facts))) bench.peer().send_mad(mad);
  for (const cm::Mad& mad : with_other_ids(make_drep(make_dreq(bench, facts)))) bench.peer().send_mad(mad);
  check.that(!queue->wait_event(ConnectionEvent::established, Duration::ms(20)), "an RTU with another comm ID establishes nothing",
             "it does");
  check.that(!queue->happened(ConnectionEvent::rejected) && !queue->happened(ConnectionEvent::disconnected),
             "a REJ or DREQ with another comm ID ends nothing", "it does");
  bench.peer().send_mad(rtu_of(facts));
  check.that(queue->wait_event(ConnectionEvent::established, kAnswerTime), "the right RTU establishes the connection", "it does not");
  bench.step("the same on the established connection");
  for (const cm::Mad& mad : with_other_ids(rej_of(facts, cm::About::rep, reason::consumer_defined))) bench.peer().send_mad(mad);
  for (const cm::Mad& mad : with_other_ids(make_dreq(bench, facts))) bench.peer().send_mad(mad);
  for (unsigned bit = 0; bit < 24; ++bit) {
    cm::Mad dreq = make_dreq(bench, facts);
    dreq.message<cm::Dreq>().set(cm::dreq::remote_qpn, facts.remote_qpn ^ 1u << bit);
    bench.peer().send_mad(dreq);
  }
  bench.peer().send_mad(make_drep(make_dreq(bench, facts)));
  bench.world().run_for(Duration::ms(20));
  check.that(!queue->happened(ConnectionEvent::disconnected), "what names another connection ends nothing", "it does");
  bench.peer().mads().clear();
  RcConnection c;
  c.facts = facts;
  c.queue = queue;
  serves_send(bench, check, c, 0, 0, "a SEND afterwards");
  bench.peer().send_mad(make_dreq(bench, facts));
  if (!mad_of(bench, check, Attribute::drep, "answer to the right DREQ")) return;
  check.that(queue->wait_event(ConnectionEvent::disconnected, kAnswerTime), "the right DREQ ends the connection", "it does not");
}

CONFORMANCE_CASE(a_drep_of_another_connection_answers_nothing, "cm.drep.ids", roles::responder, lasts(Duration::s(30)), sends_malformed,
                 beyond_interfaces(kNoChoice)) {
  const auto c = bench.connect_to_product({}, {.port = kPlainPort, .cm_timeout = 14});
  c.queue->qp().disconnect();
  const auto dreq = mad_of(bench, check, Attribute::dreq, "what the product says when its program disconnects");
  if (!dreq) return;
  for (const cm::Mad& mad : with_other_ids(make_drep(*dreq))) bench.peer().send_mad(mad);
  check.that(!c.queue->wait_event(ConnectionEvent::disconnected, Duration::ms(5)), "a DREP with another comm ID ends nothing", "it does");
  bench.peer().send_mad(make_drep(*dreq));
  check.that(c.queue->wait_event(ConnectionEvent::disconnected, kAnswerTime), "the right DREP ends the connection", "it does not");
}

CONFORMANCE_CASE(a_rep_is_repeated_as_the_req_says, "cm.rep.every-timeout", roles::responder, lasts(Duration::s(60))) {
  bench.product().listen(kNvmePort);
  for (const std::uint8_t code : {std::uint8_t{9}, std::uint8_t{12}, std::uint8_t{14}}) {
    for (const std::uint8_t retries : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{3}, std::uint8_t{15}}) {
      cm::Mad req = good_req(bench, {.mtu_code = 1, .cm_timeout = code});
      req.message<cm::Req>().set(cm::req::max_cm_retries, retries);
      bench.peer().send_mad(req);
      const std::string what = "with timeout code " + std::to_string(code) + " and " + std::to_string(retries) + " retries";
      unsigned copies = 0;
      Instant last = bench.world().now();
      std::optional<cm::Mad> first;
      std::optional<cm::Mad> mad;
      while ((mad = bench.peer().wait_mad(Duration::s(2))) && attribute_of(*mad) == Attribute::rep) {
        if (first) {
          check.bytes("the repeated REP", mad->bytes(), first->bytes());
          check.between("time until the REP comes again " + what, bench.world().now() - last, cm_time(code) * 9 / 10 - bench.jitter(),
                        cm_time(code) * 4 + Duration::ms(100));
        } else {
          first = mad;
        }
        last = bench.world().now();
        ++copies;
      }
      check.equal("REPs " + what, copies, retries + 1u);
      if (!expect(check, mad && attribute_of(*mad) == Attribute::rej, "after the REPs", "REJ 4", words_of_mad(mad))) return;
      const auto rej = seen_as<cm::Rej>(*mad);
      check.equal("reason", rej.get(cm::rej::reason), reason::timeout);
      check.equal("remote comm ID of the REJ", rej.get(cm::rej::remote_comm_id), seen_as<cm::Req>(req).get(cm::req::local_comm_id));
      check.equal("local comm ID of the REJ", rej.get(cm::rej::local_comm_id), seen_as<cm::Rep>(*first).get(cm::rep::local_comm_id));
    }
  }
}

CONFORMANCE_CASE(an_mra_delays_the_rep_as_it_says, "cm.mra.every-timeout", roles::responder, lasts(Duration::s(60)),
                 reaches{"cm.mra.received"}, furnished(&on_a_near_network)) {
  bench.product().listen(kNvmePort);
  for (const std::uint8_t code : {std::uint8_t{14}, std::uint8_t{18}, std::uint8_t{20}}) {
    const cm::Mad req = good_req(bench, {.mtu_code = 1, .cm_timeout = 12});
    bench.peer().send_mad(req);
    const auto rep = mad_of(bench, check, Attribute::rep, "answer to the REQ");
    if (!rep) return;
    const RawConnectionFacts facts = bench.peer().facts_from(req, *rep);
    // None of these asks for time on this connection.
    for (const cm::Mad& mad : with_other_ids(mra_of(facts, cm::About::rep, 31))) bench.peer().send_mad(mad);
    for (const cm::About about : {cm::About::req, cm::About::other, static_cast<cm::About>(3)})
      bench.peer().send_mad(mra_of(facts, about, 31));
    const auto again = bench.peer().wait_mad(Attribute::rep, Duration::s(1));
    if (!expect(check, again.has_value(), "after MRAs of other connections", "the REP again", "silence")) return;
    bench.peer().send_mad(mra_of(facts, cm::About::rep, code));
    const Instant from = bench.world().now();
    const auto later = bench.peer().wait_mad(Attribute::rep, Duration::s(60));
    if (!expect(check, later.has_value(), "after an MRA with service timeout " + std::to_string(code), "the REP again", "silence")) return;
    check.between("time until the REP comes again, with service timeout " + std::to_string(code), bench.world().now() - from,
                  cm_time(code) * 9 / 10 - bench.jitter(), cm_time(code) * 2 + Duration::s(10));
    bench.peer().send_mad(rtu_of(facts));
    check.that(bench.product().accepted()->wait_event(ConnectionEvent::established, kAnswerTime), "the RTU establishes the connection",
               "it does not");
  }
}

CONFORMANCE_CASE(each_reason_of_a_rej_is_reported, "cm.active.every-reason", roles::requester, beyond_interfaces(kNoChoice)) {
  for (std::uint16_t why = 1; why <= 35; ++why) {
    for (const std::size_t size : {std::size_t{0}, cm::kRejConsumerBytes}) {
      VerbsQueue& queue = product_asks(bench);
      const cm::Mad req = req_of(bench, check);
      const Bytes said = pattern(size, static_cast<std::uint8_t>(why));
      cm::Mad rej = bench.peer().make_rej(req, why, said);
      // What is in the additional information is the consumer's own.
      const Bytes info{1};
      if (why == reason::consumer_defined) rej.message<cm::Rej>().set(cm::rej::info_length, 1).set(cm::rej::info, ByteView{info});
      for (const cm::Mad& mad : with_other_ids(rej, false)) bench.peer().send_mad(mad);
      bench.world().run_for(Duration::ms(2));
      check.that(!queue.happened(ConnectionEvent::rejected), "a REJ of another REQ ends nothing", "it does");
      bench.peer().send_mad(rej);
      const std::string what = "after REJ " + std::to_string(why);
      if (!check.that(queue.wait_event(ConnectionEvent::rejected, kAnswerTime), "the program hears of the rejection " + what,
                      "it does not"))
        return;
      check.equal("the reason " + what, queue.reject_reason(), why);
      check.bytes("the private data " + what, ByteView(queue.private_data()).first(std::min(size, queue.private_data().size())), said);
      const auto more = bench.peer().wait_mad(Duration::ms(5));
      expect(check, !more, what, "silence", words_of_mad(more));
    }
  }
}

CONFORMANCE_CASE(what_a_rep_says_is_kept, "cm.active.every-value", roles::requester, sends_malformed, furnished(&on_a_near_network)) {
  struct Row {
    std::uint32_t psn;
    std::uint8_t responder_resources, initiator_depth;
  };
  for (const Row& row : {Row{0, 1, 0}, Row{1, 2, 1}, Row{0x7FFFFF, 3, 2}, Row{0x800000, 16, 16}, Row{0xFFFFFF, 255, 255}}) {
    bench.step("a connection with other values");
    rdma::ConnectionParameters parameters = RdmaBench::good_parameters();
    const Bytes ours = pattern(cm::kReqConsumerBytes), theirs = pattern(cm::kRepConsumerBytes, 0x33);
    parameters.private_data = ours;
    bench.world().run_for(Duration::ms(1));
    bench.peer().inbox().clear();
    VerbsQueue& queue = product_asks(bench, parameters);
    const cm::Mad req = req_of(bench, check);
    const RawRoce::RawReply reply = {
        .private_data = theirs, .psn = row.psn, .responder_resources = row.responder_resources, .initiator_depth = row.initiator_depth};
    check.bytes("private data of the REQ", ByteView(seen_as<cm::Req>(req).get(cm::req::private_data)).subspan(cm::IpHeader::size), ours);
    RcConnection c;
    c.queue = &queue;
    c.facts = bench.peer().accept(req, reply);
    const auto rtu = mad_of(bench, check, Attribute::rtu, "answer to the REP");
    if (!rtu) return;
    check.equal("local comm ID of the RTU", seen_as<cm::Rtu>(*rtu).get(cm::rtu::local_comm_id), c.facts.remote_comm_id);
    check.equal("remote comm ID of the RTU", seen_as<cm::Rtu>(*rtu).get(cm::rtu::remote_comm_id), c.facts.local_comm_id);
    check.equal("transaction of the RTU", tid_of(*rtu), c.facts.tid);
    if (!check.that(queue.wait_event(ConnectionEvent::established, kAnswerTime), "the connection is established", "it is not")) return;
    check.bytes("private data that the program gets",
                ByteView(queue.private_data()).first(std::min(theirs.size(), queue.private_data().size())), theirs);
    auto& memory = bench.product().memory(64);
    queue.post_receive(memory, 0, 0, 64);
    const unsigned wanted = std::min<unsigned>(16, row.responder_resources);
    for (std::uint64_t id = 0; id < 18; ++id) {
      rdma::SendRequest request;
      request.id = id;
      request.opcode = rdma::SendOpcode::rdma_read;
      queue.post_send(request, memory, 0, 8);
    }
    unsigned reads = 0;
    while (const auto packet = bench.peer().wait_packet(Duration::ms(5))) {
      if (!expect(check, packet->opcode == roce::Opcode::read_request && packet->psn == roce::psn_add(c.facts.receive_psn, reads),
                  "a READ of the product", "a READ request with the next PSN", packet->describe())) {
        return;
      }
      ++reads;
    }
    if (bench.embedded()) {
      check.equal("READs in flight", reads, wanted);
    } else {
      check.between("READs in flight", reads, 1u, wanted);
    }
    bench.peer().send(c.request(roce::Opcode::send_only, 0, pattern(16)));
    const auto got = queue.wait_receive(kAnswerTime);
    check.that(got && got->status == rdma::CompletionStatus::success, "a SEND with the PSN of the REQ arrives", "it does not");
  }
}

CONFORMANCE_CASE(a_rep_of_another_req_answers_nothing, "cm.active.rep-every-bit", roles::requester, sends_malformed) {
  VerbsQueue& queue = product_asks(bench);
  const cm::Mad req = req_of(bench, check);
  const RawRoce::RawReply reply = {.responder_resources = 16};
  RawConnectionFacts facts;
  facts.local_comm_id = bench.peer().fresh_id();
  facts.remote_comm_id = seen_as<cm::Req>(req).get(cm::req::local_comm_id);
  facts.local_qpn = bench.peer().fresh_id();
  facts.remote_qpn = seen_as<cm::Req>(req).get(cm::req::local_qpn);
  facts.tid = tid_of(req);
  const cm::Mad rep = bench.peer().make_rep(facts, reply);
  unanswered(bench, check, with_other_ids(rep, false), Attribute::rtu, "REPs to other REQs");
  check.that(!queue.happened(ConnectionEvent::established), "none of them establishes anything", "one does");
  bench.peer().send_mad(rep);
  mad_of(bench, check, Attribute::rtu, "answer to the right REP");
  check.that(queue.wait_event(ConnectionEvent::established, kAnswerTime), "the right REP establishes the connection", "it does not");
  bench.step("the REP again, and that of another connection");
  bench.peer().send_mad(rep);
  mad_of(bench, check, Attribute::rtu, "answer to the repeated REP");
}

CONFORMANCE_CASE(connection_requests_are_kept_apart, "cm.req.several", roles::responder, sends_malformed, beyond_interfaces(kNoChoice)) {
  constexpr std::size_t kCount = 5;
  bench.product().listen(kNvmePort);
  std::vector<cm::Mad> reqs;
  for (std::size_t i = 0; i < kCount; ++i)
    reqs.push_back(good_req(bench, {.psn = static_cast<std::uint32_t>(0x100 * i), .mtu_code = 1, .cm_timeout = 20}));
  for (const cm::Mad& req : reqs) bench.peer().send_mad(req);
  std::vector<RawConnectionFacts> facts;
  std::vector<VerbsQueue*> queues;
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto rep = mad_of(bench, check, Attribute::rep, "answer to a REQ among others");
    if (!rep) return;
    const auto asked = std::find_if(reqs.begin(), reqs.end(), [&](const cm::Mad& req) {
      return seen_as<cm::Req>(req).get(cm::req::local_comm_id) == seen_as<cm::Rep>(*rep).get(cm::rep::remote_comm_id);
    });
    check.require(asked != reqs.end(), "a REP answers one of the REQs", "it answers none");
    check.equal("transaction of the REP", tid_of(*rep), tid_of(*asked));
    facts.push_back(bench.peer().facts_from(*asked, *rep));
  }
  for (const std::size_t i : {3u, 0u, 4u, 1u}) bench.peer().send_rtu(facts[i]);
  bench.world().run_for(Duration::ms(5));
  bench.step("the last one is confirmed by data, the third ends");
  bench.peer().send_mad(make_dreq(bench, facts[4]));
  const auto drep = mad_of(bench, check, Attribute::drep, "answer to the DREQ of one of them");
  if (!drep) return;
  check.equal("connection that the DREP is of", seen_as<cm::Drep>(*drep).get(cm::drep::remote_comm_id), facts[4].local_comm_id);
  for (const std::size_t i : {0u, 1u, 2u, 3u}) {
    RocePacket write = facts[i].request(roce::Opcode::write_only, 0);
    write.reth.emplace();
    bench.peer().send(write);
    const auto ack = next_packet(bench, check, "answer on a connection beside one that has ended", "an ACK");
    if (!ack) return;
    check.equal("queue pair of the answer", ack->qpn, facts[i].local_qpn);
  }
  bench.peer().send(facts[4].request(roce::Opcode::send_only, 0, pattern(4)));
  silence(bench, check, "a SEND on the connection that has ended");
}

CONFORMANCE_CASE(refusals_name_what_they_refuse, "cm.services.fields", roles::responder) {
  const auto c = bench.connect_to_product();
  for (unsigned bit = 0; bit <= 32; ++bit) {
    cm::Mad lap(Attribute::lap, std::uint64_t{bench.peer().fresh_id()} << 32);
    const std::uint32_t remote = c.facts.remote_comm_id ^ (bit < 32 ? 1u << bit : 0u);
    lap.message<cm::Lap>()
        .set(cm::lap::local_comm_id, c.facts.local_comm_id)
        .set(cm::lap::remote_comm_id, remote)
        .set(cm::lap::remote_qpn, c.facts.remote_qpn);
    bench.peer().send_mad(lap);
    const auto answer = bench.peer().wait_mad(kAnswerTime);
    if (!answer && !bench.embedded()) check.inconclusive("alternate paths are not answered, and may not be served");
    if (!expect(check, answer && attribute_of(*answer) == Attribute::apr, "answer to a LAP", "APR", words_of_mad(answer))) return;
    const auto apr = seen_as<cm::Apr>(*answer);
    check.equal("remote comm ID of the APR", apr.get(cm::apr::remote_comm_id), c.facts.local_comm_id);
    check.equal("local comm ID of the APR", apr.get(cm::apr::local_comm_id), remote);
    check.equal("transaction of the APR", tid_of(*answer), tid_of(lap));
    check.that(apr.get(cm::apr::status) != cm::AprStatus::loaded, "the alternate path is not loaded", "it is");
    if (bit < 32) {
      check.equal("status of the APR", apr.get(cm::apr::status), cm::AprStatus::invalid_comm_id);
    } else {
      check.that(apr.get(cm::apr::status) != cm::AprStatus::invalid_comm_id,
                 "the APR for a LAP that names the connection does not report an invalid communication ID", "it does");
    }
  }
  for (const std::uint64_t service : {cm::service_id_of(4999, cm::kUdpPortSpace), std::uint64_t{0x1122334455667788}}) {
    cm::Mad ask(Attribute::sidr_req, std::uint64_t{bench.peer().fresh_id()} << 32);
    const std::uint32_t id = 0x80000000u | bench.peer().fresh_id();
    ask.message<cm::SidrReq>().set(cm::sidr_req::request_id, id).set(cm::sidr_req::pkey, 0xFFFF).set(cm::sidr_req::service_id, service);
    bench.peer().send_mad(ask);
    const auto answer = mad_of(bench, check, Attribute::sidr_rep, "answer to a SIDR_REQ");
    if (!answer) return;
    const auto said = seen_as<cm::SidrRep>(*answer);
    check.equal("request of the SIDR_REP", said.get(cm::sidr_rep::request_id), id);
    check.equal("service of the SIDR_REP", said.get(cm::sidr_rep::service_id), service);
    check.equal("queue pair of the SIDR_REP", said.get(cm::sidr_rep::qpn), 0u);
    check.equal("transaction of the SIDR_REP", tid_of(*answer), tid_of(ask));
    check.that(said.get(cm::sidr_rep::status) != cm::SidrStatus::valid, "the service is refused", "it is not");
  }
  cm::Mad get(Attribute::class_port_info, 0x1122334455667788);
  get.header().set(cm::mad::method, cm::Method::get);
  bench.peer().send_mad(get);
  const auto answer = bench.peer().wait_mad(kAnswerTime);
  if (!expect(check, answer.has_value(), "answer to Get(ClassPortInfo)", "a GetResp", "silence")) return;
  check.equal("transaction of the answer", tid_of(*answer), tid_of(get));
  check.equal("attribute of the answer", attribute_of(*answer), Attribute::class_port_info);
  const auto info = cm::message_of<cm::ClassPortInfo>(answer->bytes());
  check.equal("base version", info.get(cm::class_port_info::base_version), cm::kMadBaseVersion);
  check.equal("class version", info.get(cm::class_port_info::class_version), cm::kCmClassVersion);
  check.that((info.get(cm::class_port_info::capability_mask) & cm::class_port_info::kReliableConnectionCapable) != 0,
             "the connection manager serves reliable connections", "it says that it does not");
  const auto header = View<cm::MadHeader>{answer->bytes()};
  check.equal("status of the answer", header.get(cm::mad::status), 0);
  cm::Mad other(static_cast<Attribute>(0x0002), 0x99);
  other.header().set(cm::mad::method, cm::Method::get);
  bench.peer().send_mad(other);
  const auto refusal = bench.peer().wait_mad(kAnswerTime);
  if (bench.embedded() && expect(check, refusal.has_value(), "answer to a Get of another attribute", "a GetResp", "silence")) {
    check.equal("its status", View<cm::MadHeader>{refusal->bytes()}.get(cm::mad::status), cm::kStatusMethodAttributeUnsupported);
  }
}

}  // namespace fb::conformance
