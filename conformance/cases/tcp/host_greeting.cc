// ICReq as the host says it, and what it makes of ICResp.
#include "conformance/cases/tcp/host_scene.h"

namespace fb::conformance {

namespace {

using namespace tcp_host_cases;

/// The first PDU that the host says to anybody.
SeenPdu needed_icreq(Scene& scene, Check& check) {
  scene.bench.product().connect({}).wait_for(60_s);
  const auto& all = scene.middle.connections();
  check.precondition(!all.empty(), "the host connects");
  check.precondition(!all.front()->said().empty(), "the host says something");
  const SeenPdu first = all.front()->said().front();
  check.require(first.is(PduType::ic_req), "the first PDU is ICReq", first.text());
  check.require(first.bytes.size() == tcp::IcReq::size, "PLEN of ICReq is 128", first.text());
  return first;
}

/// The host is greeted with a bad ICResp on its first connection.
struct Refused {
  std::string what;
  std::function<void(Bytes&)> change;  ///< of ICResp
};
void expect_refusals(HostBench& bench, Check& check, const std::vector<Refused>& all, const std::vector<Fatal>& allowed,
                     bool (*applies)(const Connection&) = nullptr, std::string_view needed = {}) {
  Scene scene(bench);
  const auto& connections = scene.middle.connections();
  for (const Refused& one : all) {
    const std::size_t number = connections.size();
    scene.middle.to_host = [&one, number](Connection& c, std::vector<Bytes>& pdus) {
      if (c.number() != number || !is(pdus.front(), PduType::ic_resp)) return;
      one.change(pdus.front());
      const Bytes last = std::exchange(pdus, {}).front();
      c.cut_off();
      c.say(last);
    };
    auto connecting = bench.product().connect({});
    bench.run_until([&] { return connections.size() > number; }, 10_s);
    check.precondition(connections.size() > number, "the host connects");
    Connection& c = *connections[number];
    bench.run_until([&] { return !c.said().empty(); }, 10_s);
    check.precondition(!c.said().empty(), "the host says ICReq");
    if (applies != nullptr) check.precondition(applies(c), needed);
    expect_host_ends(check, c, bench.world(), one.what, allowed);
    check.equal("capsules after it", c.count(PduType::capsule_cmd), 0u);
    c.reset();
    connecting.wait_for(kLong);
  }
}
void expect_refusal(HostBench& bench, Check& check, std::string_view what, std::function<void(Bytes&)> change,
                    const std::vector<Fatal>& allowed) {
  expect_refusals(bench, check, {{std::string(what), std::move(change)}}, allowed);
}

template <class T>
std::function<void(Bytes&)> put(std::size_t at, T value) {
  return [at, value](Bytes& pdu) { store_le<T>(&pdu[at], value); };
}

}  // namespace

CONFORMANCE_CASE(tcp_host_says_nothing_but_icreq_before_icresp, "tcp.host.icreq.first", roles::host) {
  Scene scene(bench);
  Bytes held;
  scene.middle.to_host = [&](Connection& c, std::vector<Bytes>& pdus) {
    if (c.number() == 0 && is(pdus.front(), PduType::ic_resp)) held = std::exchange(pdus, {}).front();
  };
  auto connecting = bench.product().connect({});
  bench.run_until([&] { return !held.empty(); }, 10_s);
  check.precondition(!held.empty(), "the host says an ICReq that is answered");
  bench.run_until([] { return false; }, 2_s);
  Connection& c = *scene.middle.connections().front();
  check.that(c.said().front().is(PduType::ic_req), "the first PDU is ICReq", c.said().front().text());
  check.equal("PDUs before ICResp", c.said().size(), 1u);
  c.say(held);
  connecting.wait_for(kLong);
}

CONFORMANCE_CASE(tcp_host_says_icreq_once, "tcp.host.icreq.once", roles::host) {
  Scene scene(bench);
  scene.connect();
  bench.product().flush(bench.nsid()).wait_for(kLong);
  Bytes& data = bench.keep(Bytes(4096));
  bench.product().read(bench.nsid(), 0, data).wait_for(kLong);
  for (const auto& c : scene.middle.connections()) {
    check.equal("ICReqs of one connection", c->count(PduType::ic_req), 1u);
  }
}

CONFORMANCE_CASE(tcp_host_says_a_whole_icreq, "tcp.host.icreq.shape", roles::host) {
  Scene scene(bench);
  const SeenPdu first = needed_icreq(scene, check);
  check.equal("HLEN", first.hlen(), 128u);
  check.equal("PDO", first.pdo(), 0u);
  check.equal("PFV", first.as<tcp::IcReq>().get(tcp::ic_req::pfv), 0);
}

CONFORMANCE_CASE(tcp_host_asks_for_an_alignment_that_can_be, "tcp.host.icreq.hpda", roles::host) {
  Scene scene(bench);
  const SeenPdu first = needed_icreq(scene, check);
  check.between<unsigned>("HPDA", first.as<tcp::IcReq>().get(tcp::ic_req::hpda), 0, tcp::kAlignmentMax);
}

CONFORMANCE_CASE(tcp_host_leaves_reserved_bytes_of_icreq_zero, "tcp.host.icreq.reserved", roles::host) {
  Scene scene(bench);
  const SeenPdu first = needed_icreq(scene, check);
  check.equal("flags", first.flags(), 0);
  check.equal("reserved bits of the digest byte", first.bytes[11] & 0xFC, 0);
  check.bytes("bytes 16 to 127", ByteView(first.bytes).subspan(16), Bytes(112));
}

CONFORMANCE_CASE(tcp_host_does_not_wait_for_icresp_for_ever, "tcp.host.icresp.timeout", roles::host, lasts(130_s)) {
  Scene scene(bench);
  scene.middle.to_host = [](Connection& c, std::vector<Bytes>& pdus) {
    if (c.number() == 0) pdus.clear();
  };
  auto connecting = bench.product().connect({});
  bench.run_until([&] { return !scene.middle.connections().empty(); }, 10_s);
  check.precondition(!scene.middle.connections().empty(), "the host connects");
  Connection& c = *scene.middle.connections().front();
  bench.run_until([&] { return !c.said().empty(); }, 10_s);
  check.precondition(!c.said().empty(), "the host says ICReq");
  c.cut_off();  // the bench's controller has a patience of its own
  bench.run_until([&] { return c.ended(); }, 120_s);
  check.that(c.ended(), "the host ends the connection in two minutes", "it still waits");
  c.reset();
  connecting.wait_for(kLong);
}

CONFORMANCE_CASE(tcp_host_refuses_another_format, "tcp.host.icresp.pfv", roles::host, sends_malformed) {
  expect_refusals(bench, check,
                  {{"an ICResp with PFV 1", put<std::uint16_t>(8, 1)}, {"an ICResp with PFV 0100h", put<std::uint16_t>(8, 0x0100)}},
                  {{FatalStatus::invalid_header_field, 8}, {FatalStatus::unsupported_parameter, 8}});
}

CONFORMANCE_CASE(tcp_host_refuses_cpda_40, "tcp.host.icresp.cpda", roles::host, sends_malformed) {
  expect_refusal(bench, check, "an ICResp with CPDA 40", put<std::uint8_t>(10, 40),
                 {{FatalStatus::invalid_header_field, 10}, {FatalStatus::unsupported_parameter, 10}});
}

CONFORMANCE_CASE(tcp_host_refuses_digests_it_did_not_ask_for, "tcp.host.icresp.digest-unasked", roles::host, sends_malformed) {
  const auto asks_for_none = [](const Connection& c) {
    return !c.ic_req().get(tcp::ic_req::hdgst_enable) && !c.ic_req().get(tcp::ic_req::ddgst_enable);
  };
  expect_refusals(bench, check,
                  {{"an ICResp that enables both digests", put<std::uint8_t>(11, 3)},
                   {"an ICResp that enables the header digest", put<std::uint8_t>(11, 1)},
                   {"an ICResp that enables the data digest", put<std::uint8_t>(11, 2)}},
                  {{FatalStatus::invalid_header_field, 11}}, asks_for_none, "the host asks for no digest");
}

CONFORMANCE_CASE(tcp_host_refuses_maxh2cdata_0, "tcp.host.icresp.maxh2cdata", roles::host, sends_malformed) {
  expect_refusal(bench, check, "an ICResp with MAXH2CDATA 0", put<std::uint32_t>(12, 0),
                 {{FatalStatus::invalid_header_field, 12}, {FatalStatus::unsupported_parameter, 12}});
}

CONFORMANCE_CASE(tcp_host_refuses_or_keeps_to_a_small_maxh2cdata, "tcp.host.icresp.maxh2cdata-small", roles::host) {
  Scene scene(bench);
  scene.middle.to_host = [](Connection&, std::vector<Bytes>& pdus) {
    if (is(pdus.front(), PduType::ic_resp)) store_le<std::uint32_t>(&pdus.front()[12], 512);
  };
  const auto connected = bench.product().connect({}).wait_for(kLong);
  check.require(connected.has_value(), "connecting ends", "it still goes on");
  if (!connected->ok) return;  // refused, as it may
  const Fetched fetched = fetch(scene, check, kLarge, {{9, 0, kLarge}});
  for (const SeenPdu& pdu : fetched.all()) {
    check.that(pdu.data().size() <= 512, "at most 512 bytes in one H2CData", pdu.text());
  }
}

CONFORMANCE_CASE(tcp_host_keeps_to_the_maxh2cdata_of_each_queue, "tcp.host.h2cdata.each-queue", roles::host) {
  const auto most_of = [](const Connection& c) { return 4096u * static_cast<std::uint32_t>(1 + c.number() % 4); };
  Scene scene(bench);
  scene.middle.to_host = [&](Connection& c, std::vector<Bytes>& pdus) {
    if (is(pdus.front(), PduType::ic_resp)) store_le<std::uint32_t>(&pdus.front()[12], most_of(c));
  };
  scene.connect({.io_queues = 3});
  std::vector<Op<nvme::Status>> writes;
  for (std::size_t i = 0; i < 12; ++i) writes.push_back(bench.product().write(bench.nsid(), i * 128, bench.keep(pattern(kLarge))));
  for (auto& write : writes) write.wait_for(kLong);
  std::size_t queues = 0;
  for (const auto& c : scene.middle.connections()) {
    std::size_t sent = 0;
    for (const SeenPdu& pdu : c->said()) {
      if (!is(pdu.bytes, PduType::h2c_data)) continue;
      ++sent;
      check.that(pdu.data().size() <= most_of(*c),
                 "at most " + std::to_string(most_of(*c)) + " bytes in one H2CData of connection " + std::to_string(c->number()),
                 pdu.text());
    }
    queues += sent > 0;
  }
  check.precondition(queues >= 2, "the host sends H2CData on two queues");
}

CONFORMANCE_CASE(tcp_host_refuses_icresp_of_132_bytes, "tcp.host.icresp.length", roles::host, sends_malformed) {
  const auto longer = [](Bytes& pdu) {
    pdu.resize(132);
    store_le<std::uint32_t>(&pdu[4], 132);
  };
  expect_refusal(bench, check, "an ICResp with PLEN 132", longer, {{FatalStatus::invalid_header_field, 4}});
}

CONFORMANCE_CASE(tcp_host_takes_no_response_before_icresp, "tcp.host.sequence", roles::host, sends_malformed) {
  const auto early = [](Bytes& pdu) {
    Record<tcp::CapsuleResp> header;
    header.set(tcp::pdu::type, PduType::capsule_resp);
    const Bytes first = tcp::build_pdu(header.bytes(), {}, false, false);
    pdu.insert(pdu.begin(), first.begin(), first.end());
  };
  expect_refusal(bench, check, "a response before ICResp", early,
                 {{FatalStatus::sequence_error, 0}, {FatalStatus::invalid_header_field, 0}});
}

CONFORMANCE_CASE(tcp_host_takes_no_second_icresp, "tcp.host.sequence", roles::host, sends_malformed) {
  Scene scene(bench);
  Connection& c = scene.connect();
  c.cut_off();
  c.say(c.ic_resp().bytes());
  expect_host_ends(check, c, bench.world(), "a second ICResp", {{FatalStatus::sequence_error, 0}, {FatalStatus::invalid_header_field, 0}});
}

CONFORMANCE_CASE(tcp_host_has_a_connection_for_each_queue, "tcp.host.connection.per-queue", roles::host) {
  Scene scene(bench);
  scene.connect({.io_queues = 2});
  Bytes& data = bench.keep(Bytes(512));
  bench.product().read(bench.nsid(), 1000, data).wait_for(kLong);
  const auto& all = scene.middle.connections();
  check.that(all.size() >= 2, "the admin queue and an I/O queue", std::to_string(all.size()));
  for (const auto& c : all) {
    std::size_t connects = 0;
    for (const SeenPdu& pdu : c->said()) {
      if (is_command(pdu.bytes, 0x7F) && pdu.bytes[12] == 0x01) ++connects;
    }
    check.equal("Connects of one connection", connects, 1u);
    check.that(c->qid().has_value() && scene.middle.of_queue(*c->qid()) == c.get(), "one connection of a queue", "two");
  }
}

}  // namespace fb::conformance
