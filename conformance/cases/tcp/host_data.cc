// What the host sends: capsules, and H2CData for R2Ts.
#include <map>
#include <numeric>

#include "conformance/cases/tcp/host_scene.h"

namespace fb::conformance {

namespace {

using namespace tcp_host_cases;

constexpr std::size_t kSgl = 8 + 24;  // in a capsule PDU
constexpr int kDigestFlags = flag::hdgstf | flag::ddgstf;

/// Every command capsule of some ordinary life, with its queue.
struct SeenCapsule {
  std::uint16_t qid;
  SeenPdu pdu;
  std::uint32_t nsid() const { return load_le<std::uint32_t>(&pdu.bytes[8 + 4]); }
  std::uint8_t sgl_type() const { return pdu.bytes[kSgl + 15]; }
  std::uint64_t sgl_address() const { return load_le<std::uint64_t>(&pdu.bytes[kSgl]); }
  std::uint32_t sgl_length() const { return load_le<std::uint32_t>(&pdu.bytes[kSgl + 8]); }
};

std::vector<SeenCapsule> live(Scene& scene, Check& check) {
  scene.connect();
  HostBench& bench = scene.bench;
  for (const std::uint32_t bytes : {512u, 4096u, 8192u, kLarge}) {
    Bytes& data = bench.keep(pattern(bytes));
    bench.product().write(bench.nsid(), 0, data).wait_for(kLong);
    bench.product().read(bench.nsid(), 0, data).wait_for(kLong);
  }
  std::vector<SeenCapsule> seen;
  for (const auto& c : scene.middle.connections()) {
    for (const SeenPdu& pdu : c->said()) {
      if (!pdu.is(PduType::capsule_cmd)) continue;
      check.require(pdu.bytes.size() >= tcp::CapsuleCmd::size, "a capsule has a whole command", pdu.text());
      seen.push_back({c->qid().value_or(0), pdu});
    }
  }
  check.precondition(seen.size() > 4, "the host sends commands");
  return seen;
}

bool data_behind(const SeenPdu& pdu) { return pdu.pdo() != 0; }
bool moves_data(const SeenPdu& pdu) {
  const std::uint8_t opcode = opcode_of(pdu.bytes);
  return opcode == kWrite || opcode == kRead;
}

/// CPDA is 15 on every connection: data begins at a multiple of 64.
void ask_for_alignment(Scene& scene) {
  scene.middle.to_host = [](Connection&, std::vector<Bytes>& pdus) {
    if (is(pdus.front(), PduType::ic_resp)) pdus.front()[10] = 15;
  };
}

void expect_padding(Check& check, const SeenPdu& pdu) {
  check.equal("PDO of " + pdu.text(), pdu.pdo(), 128u - (pdu.hlen() <= 64 ? 64u : 0u));
  const std::size_t head = pdu.hlen() + (pdu.has(flag::hdgstf) ? tcp::kDigestBytes : 0);
  if (pdu.pdo() < head || pdu.pdo() > pdu.bytes.size()) return;
  const auto begin = ByteView(pdu.bytes).subspan(head, pdu.pdo() - head);
  check.bytes("padding", begin, Bytes(begin.size()));
}

/// Data begins at the first multiple of the alignment behind the header, whatever CPDA is.
void expect_every_alignment(HostBench& bench, Check& check, PduType type) {
  Scene scene(bench);
  for (const unsigned cpda : {0u, 1u, 2u, 7u, 16u, 17u, 30u, 31u}) {
    scene.middle.to_host = [cpda](Connection&, std::vector<Bytes>& pdus) {
      if (is(pdus.front(), PduType::ic_resp)) pdus.front()[10] = static_cast<std::uint8_t>(cpda);
    };
    const std::size_t before = scene.middle.connections().size();
    scene.connect();
    for (const std::uint32_t bytes : {512u, kLarge}) bench.product().write(bench.nsid(), 0, bench.keep(pattern(bytes))).wait_for(kLong);
    std::size_t found = 0;
    for (std::size_t i = before; i < scene.middle.connections().size(); ++i) {
      for (const SeenPdu& pdu : scene.middle.connections()[i]->said()) {
        if (!pdu.is(type) || !data_behind(pdu)) continue;
        ++found;
        const std::size_t head = pdu.hlen() + (pdu.has(flag::hdgstf) ? tcp::kDigestBytes : 0), unit = 4 * (std::size_t{cpda} + 1);
        check.equal("PDO with CPDA " + std::to_string(cpda) + " of " + pdu.text(), std::size_t{pdu.pdo()}, (head + unit - 1) / unit * unit);
      }
    }
    check.precondition(found > 0, "the host sends PDUs with data");
    bench.product().disconnect().wait_for(kLong);
  }
}

const std::vector<Asked> kWhole = {{0x4242, 0, kLarge}};

}  // namespace

// ---- capsules ----

CONFORMANCE_CASE(tcp_host_capsules_have_their_lengths, "tcp.host.capsule.shape", roles::host) {
  Scene scene(bench);
  for (const SeenCapsule& seen : live(scene, check)) {
    const SeenPdu& pdu = seen.pdu;
    check.equal("HLEN", pdu.hlen(), 72u);
    check.equal("flags but those of digests", pdu.flags() & ~kDigestFlags, 0);
    if (!data_behind(pdu)) continue;
    const std::size_t tail = pdu.has(flag::ddgstf) ? tcp::kDigestBytes : 0;
    check.that(pdu.pdo() >= 72 && pdu.pdo() % 4 == 0, "PDO behind the command, in dwords", pdu.text());
    check.equal("PLEN: header, padding and the data of the descriptor", pdu.bytes.size(), pdu.pdo() + seen.sgl_length() + tail);
  }
}

CONFORMANCE_CASE(tcp_host_describes_in_capsule_data, "tcp.host.sgl.in-capsule", roles::host) {
  Scene scene(bench);
  std::size_t found = 0;
  for (const SeenCapsule& seen : live(scene, check)) {
    if (!data_behind(seen.pdu)) continue;
    ++found;
    check.equal("descriptor: Data Block with an offset", seen.sgl_type(), 0x01);
    check.equal("offset in the capsule", seen.sgl_address(), 0u);
  }
  check.precondition(found > 0, "the host sends data in capsules");
}

CONFORMANCE_CASE(tcp_host_describes_other_data, "tcp.host.sgl.transport", roles::host) {
  Scene scene(bench);
  std::size_t found = 0;
  for (const SeenCapsule& seen : live(scene, check)) {
    // A host looks for partitions of the other namespaces, too, whose blocks are larger.
    if (data_behind(seen.pdu) || seen.qid == 0 || !moves_data(seen.pdu) || seen.nsid() != bench.nsid()) continue;
    ++found;
    const std::uint32_t blocks = load_le<std::uint16_t>(&seen.pdu.bytes[8 + 48]) + 1u;
    check.equal("descriptor: Transport Data Block", seen.sgl_type(), 0x5A);
    check.equal("length in the descriptor", seen.sgl_length(), blocks * 512);
  }
  check.precondition(found > 0, "the host moves data outside of capsules");
}

CONFORMANCE_CASE(tcp_host_keeps_to_the_capsule_size, "tcp.host.capsule.room", roles::host) {
  Scene scene(bench);
  std::uint32_t ioccsz = 0;
  bench.script.data_out = [&](const CommandContext& command, MutableBytes data) {
    const bool controller = command.sqe[0] == 0x06 && command.sqe[40] == 0x01;
    if (command.qid != 0 || !controller || data.size() != 4096) return;
    // A little less than a whole number of blocks, so that what is a little too long is found out.
    ioccsz = load_le<std::uint32_t>(&data[1792]) - 1;
    store_le(&data[1792], ioccsz);
  };
  const auto all = live(scene, check);
  check.precondition(ioccsz >= 4, "the host reads Identify Controller");
  for (const SeenCapsule& seen : all) {
    const bool io = seen.qid != 0 && opcode_of(seen.pdu.bytes) != 0x7F;
    const std::size_t most = io ? ioccsz * 16 - 64 : tcp::kAdminInCapsuleMax;
    if (!data_behind(seen.pdu)) continue;
    check.that(seen.pdu.data().size() <= most, "data that fits into the capsule",
               std::to_string(seen.pdu.data().size()) + " of " + std::to_string(most));
  }
}

CONFORMANCE_CASE(tcp_host_aligns_in_capsule_data, "tcp.host.capsule.alignment", roles::host) {
  Scene scene(bench);
  ask_for_alignment(scene);
  std::size_t found = 0;
  for (const SeenCapsule& seen : live(scene, check)) {
    if (!data_behind(seen.pdu)) continue;
    ++found;
    expect_padding(check, seen.pdu);
  }
  check.precondition(found > 0, "the host sends data in capsules");
}

CONFORMANCE_CASE(tcp_host_aligns_in_capsule_data_to_every_cpda, "tcp.host.capsule.alignment", roles::host) {
  expect_every_alignment(bench, check, PduType::capsule_cmd);
}

// ---- H2CData ----

CONFORMANCE_CASE(tcp_host_waits_for_r2t, "tcp.host.h2cdata.after-r2t", roles::host) {
  Scene scene(bench);
  scene.connect();
  Bytes& data = bench.keep(pattern(kLarge));
  scene.catch_command(kWrite);
  auto writing = bench.product().write(bench.nsid(), 2000, data);
  Connection& c = scene.needed(check, "the host writes");
  bench.run_until([] { return false; }, 2_s);
  check.equal("H2CData before an R2T", c.count(PduType::h2c_data), 0u);
  c.reset();
  writing.wait_for(kLong);
}

CONFORMANCE_CASE(tcp_host_data_has_its_lengths, "tcp.host.h2cdata.shape", roles::host) {
  Scene scene(bench);
  scene.connect();
  for (const SeenPdu& pdu : fetch(scene, check, kLarge, kWhole).all()) {
    check.equal("HLEN", pdu.hlen(), 24u);
    check.equal("flags but LAST_PDU and those of digests", pdu.flags() & ~(flag::last_pdu | kDigestFlags), 0);
    check.that(pdu.pdo() >= 24 && pdu.pdo() % 4 == 0, "PDO behind the header, in dwords", pdu.text());
    check.equal("DATAL", std::size_t{pdu.as<tcp::DataPdu>().get(dp::length)}, pdu.data().size());
  }
}

CONFORMANCE_CASE(tcp_host_data_names_its_command, "tcp.host.h2cdata.cccid", roles::host) {
  Scene scene(bench);
  scene.connect();
  const Fetched fetched = fetch(scene, check, kLarge, kWhole);
  for (const SeenPdu& pdu : fetched.all()) {
    check.equal("CCCID", pdu.as<tcp::DataPdu>().get(dp::cccid), fetched.cid);
  }
}

CONFORMANCE_CASE(tcp_host_data_names_its_r2t, "tcp.host.h2cdata.ttag", roles::host) {
  Scene scene(bench);
  scene.connect();
  const Fetched fetched = fetch(scene, check, kLarge, {{0xBEEF, 0, 8192}, {0x0001, 8192, kLarge - 8192}});
  for (const SeenPdu& pdu : fetched.answers[0]) {
    check.equal("TTAG of the first R2T's data", pdu.as<tcp::DataPdu>().get(dp::ttag), 0xBEEF);
  }
  for (const SeenPdu& pdu : fetched.answers[1]) {
    check.equal("TTAG of the second R2T's data", pdu.as<tcp::DataPdu>().get(dp::ttag), 1);
  }
}

CONFORMANCE_CASE(tcp_host_data_follows_the_r2t, "tcp.host.h2cdata.contiguous", roles::host) {
  Scene scene(bench);
  scene.middle.to_host = [](Connection&, std::vector<Bytes>& pdus) {
    if (is(pdus.front(), PduType::ic_resp)) store_le<std::uint32_t>(&pdus.front()[12], 4096);
  };
  scene.connect();
  const std::vector<Asked> asked = {{1, 0, 4096}, {2, 4096, 12288}, {3, 16384, kLarge - 16384}};
  const Fetched fetched = fetch(scene, check, kLarge, asked);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    std::uint32_t next = asked[i].offset;
    for (const SeenPdu& pdu : fetched.answers[i]) {
      check.equal("DATAO", pdu.as<tcp::DataPdu>().get(dp::offset), next);
      next += static_cast<std::uint32_t>(pdu.data().size());
    }
    check.equal("end of the data", next, asked[i].offset + asked[i].length);
  }
}

CONFORMANCE_CASE(tcp_host_sends_no_more_than_the_r2t_asks, "tcp.host.h2cdata.r2tl", roles::host) {
  Scene scene(bench);
  scene.connect();
  const Fetched fetched = fetch(scene, check, kLarge, {{7, 0, 8192}, {8, 8192, 512}});
  const std::size_t asked[] = {8192, 512};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& answer = fetched.answers[i];
    const auto sum = std::accumulate(answer.begin(), answer.end(), std::size_t{0},
                                     [](std::size_t n, const SeenPdu& pdu) { return n + pdu.data().size(); });
    check.equal("bytes for an R2T", sum, asked[i]);
  }
}

CONFORMANCE_CASE(tcp_host_sends_the_data_of_its_buffer, "tcp.host.h2cdata.data", roles::host) {
  Scene scene(bench);
  scene.connect();
  const Fetched fetched = fetch(scene, check, kLarge, {{7, 0, 8192}, {8, 8192, kLarge - 8192}});
  Bytes sent;
  for (const SeenPdu& pdu : fetched.all()) sent.insert(sent.end(), pdu.data().begin(), pdu.data().end());
  check.bytes("data of the write", sent, fetched.data);
}

CONFORMANCE_CASE(tcp_host_marks_the_last_data, "tcp.host.h2cdata.last", roles::host) {
  Scene scene(bench);
  scene.middle.to_host = [](Connection&, std::vector<Bytes>& pdus) {
    if (is(pdus.front(), PduType::ic_resp)) store_le<std::uint32_t>(&pdus.front()[12], 4096);
  };
  scene.connect();
  for (const auto& answer : fetch(scene, check, kLarge, {{1, 0, 16384}, {2, 16384, 16384}}).answers) {
    for (std::size_t i = 0; i < answer.size(); ++i) {
      check.equal("LAST_PDU of PDU " + std::to_string(i + 1) + " of " + std::to_string(answer.size()), answer[i].has(flag::last_pdu),
                  i + 1 == answer.size());
    }
  }
}

CONFORMANCE_CASE(tcp_host_keeps_to_maxh2cdata, "tcp.host.h2cdata.maxh2cdata", roles::host) {
  Scene scene(bench);
  scene.middle.to_host = [](Connection&, std::vector<Bytes>& pdus) {
    if (is(pdus.front(), PduType::ic_resp)) store_le<std::uint32_t>(&pdus.front()[12], 8192);
  };
  scene.connect();
  for (const SeenPdu& pdu : fetch(scene, check, kLarge, kWhole).all()) {
    check.that(pdu.data().size() <= 8192, "at most 8192 bytes in one H2CData", pdu.text());
  }
}

CONFORMANCE_CASE(tcp_host_aligns_h2cdata, "tcp.host.h2cdata.alignment", roles::host) {
  Scene scene(bench);
  ask_for_alignment(scene);
  scene.connect();
  for (const SeenPdu& pdu : fetch(scene, check, kLarge, kWhole).all()) expect_padding(check, pdu);
}

CONFORMANCE_CASE(tcp_host_aligns_h2cdata_to_every_cpda, "tcp.host.h2cdata.alignment", roles::host) {
  expect_every_alignment(bench, check, PduType::h2c_data);
}

CONFORMANCE_CASE(tcp_host_leaves_reserved_bytes_of_data_zero, "tcp.host.h2cdata.reserved", roles::host) {
  Scene scene(bench);
  scene.connect();
  for (const SeenPdu& pdu : fetch(scene, check, kLarge, kWhole).all()) {
    check.equal("bytes 20 to 23", load_le<std::uint32_t>(&pdu.bytes[20]), 0u);
  }
}

CONFORMANCE_CASE(tcp_host_serves_r2ts_of_several_commands, "tcp.host.r2t.commands", roles::host) {
  Scene scene(bench);
  scene.connect();
  // Two callers of a host are in no order: a command is known by its blocks.
  const std::uint64_t lbas[] = {0, 256};
  std::map<std::uint64_t, std::uint16_t> caught;
  scene.middle.to_controller = [&](Connection& c, std::vector<Bytes>& pdus) {
    if (caught.size() == 2 || c.qid().value_or(0) == 0 || !is_command(pdus.front(), kWrite)) return;
    const auto slba = load_le<std::uint64_t>(&pdus.front()[8 + 40]);
    if (slba != lbas[0] && slba != lbas[1]) return;
    if (scene.caught != nullptr && scene.caught != &c) caught.clear();  // what the other connection had under way ended with it
    caught[slba] = cid_of(pdus.front());
    scene.caught = &c;
    pdus.clear();
  };
  const Bytes sent[] = {pattern(kLarge, 10), pattern(kLarge, 99)};
  Op<nvme::Status> writes[] = {bench.product().write(bench.nsid(), lbas[0], bench.keep(sent[0])),
                               bench.product().write(bench.nsid(), lbas[1], bench.keep(sent[1]))};
  bench.run_until([&] { return caught.size() == 2; }, 10_s);
  check.precondition(caught.size() == 2, "the host has two writes under way");
  const std::uint16_t cids[] = {caught[lbas[0]], caught[lbas[1]]};
  Connection& c = *scene.caught;
  check.precondition(!c.ended(), "the connection lasts");
  c.cut_off();
  // The second first, and both at once.
  Bytes both = c.build(r2t(cids[1], 0x22, 0, kLarge));
  const Bytes other = c.build(r2t(cids[0], 0x11, 0, kLarge));
  both.insert(both.end(), other.begin(), other.end());
  c.say(both);
  Bytes got[2];
  const auto gather = [&] {
    got[0].clear();
    got[1].clear();
    for (const SeenPdu& pdu : c.said()) {
      if (!pdu.is(PduType::h2c_data)) continue;
      const auto view = pdu.as<tcp::DataPdu>();
      const std::size_t which = view.get(dp::cccid) == cids[0] ? 0 : 1;
      check.equal("TTAG", view.get(dp::ttag), which == 0 ? 0x11 : 0x22);
      got[which].insert(got[which].end(), pdu.data().begin(), pdu.data().end());
    }
    return got[0].size() + got[1].size();
  };
  const auto arrived = [&] {
    std::size_t sum = 0;
    for (const SeenPdu& pdu : c.said()) sum += pdu.is(PduType::h2c_data) ? pdu.data().size() : 0;
    return sum;
  };
  bench.run_until([&] { return arrived() >= 2 * kLarge || c.ended(); }, 10_s);
  gather();
  check.bytes("data of the first write", got[0], sent[0]);
  check.bytes("data of the second write", got[1], sent[1]);
  for (const std::uint16_t cid : cids) c.respond(cid);
  for (auto& write : writes) write.wait_for(kLong);
}

}  // namespace fb::conformance
