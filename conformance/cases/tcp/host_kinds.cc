// All of a kind as a host meets it: R2Ts and C2HData in many pieces, at both ends of their ranges.
#include "conformance/cases/tcp/host_scene.h"

namespace fb::conformance {

namespace {

using namespace tcp_host_cases;

constexpr std::uint32_t kBytes = 4096;

constexpr host_with kAsksForDigests{"digests", &with_digests};

std::size_t commands_of(const Connection& c) { return c.count(PduType::capsule_cmd); }

/// Reads whose data come in pieces of many lengths.
void reads_in_pieces(HostBench& bench, Check& check) {
  Scene scene(bench);
  scene.connect();
  scene.catch_command(kRead);
  // Each queue that a read has come on, with the commands of it so far: from then on the case is the controller of it.
  std::vector<std::pair<Connection*, std::size_t>> mine;
  unsigned seed = 0;
  for (const std::vector<std::uint32_t>& pieces :
       {std::vector<std::uint32_t>{4096}, {4, 4092}, {4092, 4}, {512, 4, 1000, 2580}, {1024, 1024, 1024, 1020, 4}}) {
    scene.caught = nullptr;
    for (auto& [one, commands] : mine) commands = commands_of(*one);
    Bytes& data = bench.keep(Bytes(kBytes));
    auto reading = bench.product().read(bench.nsid(), 0, data);
    const auto asked = [&]() -> Connection* {
      const auto again = std::find_if(mine.begin(), mine.end(), [](const auto& one) { return commands_of(*one.first) > one.second; });
      return again != mine.end() ? again->first : scene.caught;
    };
    bench.run_until([&] { return asked() != nullptr; }, 10_s);
    Connection* const c = asked();
    check.precondition(c != nullptr, "the host reads");
    if (c == scene.caught) {
      mine.emplace_back(c, 0);
    } else {
      scene.cid = cid_of(c->said().back().bytes);
    }
    const Bytes sent = pattern(kBytes, ++seed);
    std::uint32_t at = 0;
    for (const std::uint32_t piece : pieces) {
      const std::uint8_t flags = at + piece == kBytes ? flag::last_pdu : std::uint8_t{0};
      c->say(data_header(PduType::c2h_data, scene.cid, at, piece, flags), ByteView(sent).subspan(at, piece));
      at += piece;
    }
    c->respond(scene.cid);
    const auto status = reading.wait_for(20_s);
    check.require(status.has_value(), "the read ends", "it still waits");
    check.success(*status, "read");
    check.bytes("data of the read", data, sent);
  }
}

}  // namespace

CONFORMANCE_CASE(tcp_host_serves_each_r2t, "tcp.host.r2t.every-range", roles::host) {
  Scene scene(bench);
  scene.connect();
  // Unequal lengths, and tags at both ends of their range: the second R2T is like the first.
  const std::vector<Asked> asked = {
      {0, 0, 4}, {0xFFFF, 4, 508}, {1, 512, 8192}, {0x8000, 8704, 4100}, {0x00FF, 12804, 64}, {0xFF00, 12868, kLarge - 12868}};
  const Fetched fetched = fetch(scene, check, kLarge, asked);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    std::uint32_t expected = asked[i].offset;
    for (const SeenPdu& pdu : fetched.answers[i]) {
      const auto view = pdu.as<tcp::DataPdu>();
      check.equal("CCCID of " + pdu.text(), view.get(dp::cccid), fetched.cid);
      check.equal("TTAG of " + pdu.text(), view.get(dp::ttag), asked[i].ttag);
      check.equal("DATAO of " + pdu.text(), view.get(dp::offset), expected);
      check.equal("DATAL of " + pdu.text(), view.get(dp::length), pdu.data().size());
      check.that(pdu.data().size() <= fetched.maxh2cdata, "MAXH2CDATA is kept to", pdu.text());
      expected += static_cast<std::uint32_t>(pdu.data().size());
      check.equal("LAST_PDU of " + pdu.text(), pdu.has(flag::last_pdu), expected == asked[i].offset + asked[i].length);
      if (view.get(dp::offset) + pdu.data().size() > fetched.data.size()) return;
      check.bytes("data of an R2T", pdu.data(), ByteView(fetched.data).subspan(view.get(dp::offset), pdu.data().size()));
    }
    check.equal("end of the data of an R2T", expected, asked[i].offset + asked[i].length);
  }
}

CONFORMANCE_CASE(tcp_host_puts_each_piece_in_its_place, "tcp.host.c2hdata.every-piece", roles::host) { reads_in_pieces(bench, check); }

CONFORMANCE_CASE(tcp_host_puts_each_piece_with_a_digest_in_its_place, "tcp.host.c2hdata.every-piece", roles::host, kAsksForDigests) {
  reads_in_pieces(bench, check);
}

}  // namespace fb::conformance
