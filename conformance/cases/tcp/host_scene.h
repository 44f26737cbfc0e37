// What the TCP host cases share: a host whose connections go through the middle, commands that are
// answered by the case in the controller's place, and PDUs for it to say.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "conformance/runner/host_bench.h"
#include "conformance/runner/tcp_middle.h"

namespace fb::conformance::tcp_host_cases {

namespace flag = tcp::pdu_flags;
namespace dp = tcp::data_pdu;
using tcp::FatalStatus;
using tcp::PduType;
using Connection = TcpMiddle::Connection;

inline constexpr std::uint8_t kFlush = 0x00, kWrite = 0x01, kRead = 0x02;
/// More than goes into a capsule of the bench's controller.
inline constexpr std::uint32_t kLarge = 32768;
inline constexpr Duration kLong = 60_s;
/// For a command that has been judged, so that the next case does not find it.
inline constexpr Duration kGoodbye = 15_s;

inline Bytes pattern(std::size_t bytes, unsigned seed = 1) {
  Bytes made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::uint8_t>(i * 11 + i / 256 + seed);
  return made;
}

inline std::uint8_t opcode_of(const Bytes& capsule) { return capsule[8]; }
inline std::uint16_t cid_of(const Bytes& capsule) { return load_le<std::uint16_t>(&capsule[10]); }
inline bool is(const Bytes& pdu, PduType type) {
  return pdu.size() >= tcp::kCommonHeaderBytes && pdu[0] == static_cast<std::uint8_t>(type);
}
inline bool is_command(const Bytes& pdu, std::uint8_t opcode) {
  return is(pdu, PduType::capsule_cmd) && pdu.size() >= tcp::CapsuleCmd::size && opcode_of(pdu) == opcode;
}

struct Scene {
  explicit Scene(HostBench& the_bench) : Scene(the_bench, the_bench.between()) {}
  Scene(HostBench& the_bench, const HostBench::Between& between)
      : bench(the_bench), middle(the_bench.world(), between.host, between.at, the_bench.at()) {
    bench.connect_options().to = middle.at();
  }

  /// The I/O connection of a host that has connected.
  Connection& connect(const HostUnderTest::Request& request = {}) {
    bench.connect_product(request);
    Connection* io = middle.of_queue(1);
    if (io == nullptr) throw CannotArrange{"the host connects no I/O queue 1"};
    return *io;
  }
  /// ICResp of the first connection, changed.
  void greet_with(std::function<void(Bytes&)> change, bool cut_off) {
    middle.to_host = [change, cut_off](Connection& c, std::vector<Bytes>& pdus) {
      if (c.number() != 0 || !is(pdus.front(), PduType::ic_resp)) return;
      change(pdus.front());
      if (!cut_off) return;
      const Bytes last = std::exchange(pdus, {}).front();
      c.cut_off();
      c.say(last);
    };
  }
  /// The next command of this opcode on an I/O queue gets no further: from then on the case is the
  /// controller of its connection.
  void catch_command(std::uint8_t opcode) {
    middle.to_controller = [this, opcode](Connection& c, std::vector<Bytes>& pdus) {
      if (caught != nullptr || c.qid().value_or(0) == 0 || !is_command(pdus.front(), opcode)) return;
      caught = &c;
      cid = cid_of(pdus.front());
      pdus.clear();
      c.cut_off();
    };
  }
  Connection& needed(Check& check, std::string_view what) {
    bench.run_until([&] { return caught != nullptr; }, 10_s);
    check.precondition(caught != nullptr, what);
    return *caught;
  }

  HostBench& bench;
  TcpMiddle middle;
  Connection* caught = nullptr;
  std::uint16_t cid = 0;
};

inline Record<tcp::DataPdu> data_header(PduType type, std::uint16_t cid, std::uint32_t offset, std::uint32_t length, std::uint8_t flags = 0,
                                        std::uint16_t ttag = 0) {
  Record<tcp::DataPdu> header;
  header.set(tcp::pdu::type, type)
      .set(tcp::pdu::flags, flags)
      .set(dp::cccid, cid)
      .set(dp::ttag, ttag)
      .set(dp::offset, offset)
      .set(dp::length, length);
  return header;
}
inline Record<tcp::DataPdu> r2t(std::uint16_t cid, std::uint16_t ttag, std::uint32_t offset, std::uint32_t length) {
  return data_header(PduType::r2t, cid, offset, length, 0, ttag);
}

/// What the bench says in the controller's place to a command that it caught.
using Say = std::function<void(Connection&, std::uint16_t cid)>;

/// The host reads or writes, and is told something that it must not take.
inline void expect_end_of_command(HostBench& bench, Check& check, std::uint8_t opcode, std::uint32_t bytes, std::string_view after,
                                  const Say& say, const std::vector<Fatal>& allowed) {
  Scene scene(bench);
  scene.connect();
  Bytes& data = bench.keep(pattern(bytes));
  scene.catch_command(opcode);
  auto doing = opcode == kRead ? bench.product().read(bench.nsid(), 0, data) : bench.product().write(bench.nsid(), 0, data);
  Connection& c = scene.needed(check, "the host sends its command");
  say(c, scene.cid);
  expect_host_ends(check, c, bench.world(), after, allowed);
  c.reset();
  doing.wait_for(kGoodbye);
}

/// The data that the host sends for R2Ts, one after the other.
struct Asked {
  std::uint16_t ttag;
  std::uint32_t offset, length;
};
struct Fetched {
  std::vector<std::vector<SeenPdu>> answers;  ///< H2CData behind each R2T
  std::uint16_t cid = 0;
  Bytes data;  ///< of the buffer
  bool header_digest = false;
  std::uint32_t maxh2cdata = 0;

  std::vector<SeenPdu> all() const {
    std::vector<SeenPdu> flat;
    for (const auto& one : answers) flat.insert(flat.end(), one.begin(), one.end());
    return flat;
  }
};

inline Fetched fetch(Scene& scene, Check& check, std::size_t bytes, const std::vector<Asked>& asked) {
  HostBench& bench = scene.bench;
  Fetched fetched;
  fetched.data = pattern(bytes, 5);
  scene.catch_command(kWrite);
  auto writing = bench.product().write(bench.nsid(), 0, bench.keep(fetched.data));
  Connection& c = scene.needed(check, "the host writes");
  fetched.cid = scene.cid;
  fetched.maxh2cdata = c.ic_resp().get(tcp::ic_resp::maxh2cdata);
  fetched.header_digest = c.ic_resp().get(tcp::ic_resp::hdgst_enable);
  for (const Asked& one : asked) {
    const std::size_t before = c.said().size();
    c.say(r2t(scene.cid, one.ttag, one.offset, one.length));
    const auto arrived = [&] {
      std::size_t sum = 0;
      for (std::size_t i = before; i < c.said().size(); ++i) sum += c.said()[i].data().size();
      return sum;
    };
    bench.run_until([&] { return arrived() >= one.length || c.ended(); }, 10_s);
    bench.run_until([&] { return c.ended(); }, 20_ms);  // what comes too much
    fetched.answers.emplace_back();
    for (std::size_t i = before; i < c.said().size(); ++i) {
      if (c.said()[i].is(PduType::h2c_data)) fetched.answers.back().push_back(c.said()[i]);
    }
    check.require(!fetched.answers.back().empty(), "H2CData for an R2T",
                  c.count(PduType::h2c_term_req) > 0 ? "H2CTermReq"
                  : c.ended()                        ? "the connection ended"
                                                     : "silence");
  }
  c.respond(scene.cid);
  writing.wait_for(kGoodbye);
  return fetched;
}

inline void with_digests(EmbeddedSetup& setup) {
  setup.tcp_host.header_digest = true;
  setup.tcp_host.data_digest = true;
}

}  // namespace fb::conformance::tcp_host_cases
