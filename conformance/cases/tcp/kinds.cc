// All of a kind: every field of every PDU with digests on and off, at each alignment and number of R2Ts, for short and long
// transfers, of several commands at once; and PDUs that are nearly right, on the first R2T and on the second.
#include <bit>
#include <functional>
#include <map>
#include <numeric>

#include "conformance/cases/tcp/scene.h"
#include "conformance/runner/embedded.h"

namespace fb::conformance::tcp_cases {

namespace {

/// Data that comes and goes in several PDUs; a real product is taken as it is.
const furnished in_pieces{[](EmbeddedSetup& setup) {
  setup.tcp.c2h_data_bytes = 16384;
  setup.tcp.r2t_bytes = 8192;
}};

struct Terms {
  bool header_digest, data_digest;
  std::uint8_t hpda;
  std::uint32_t maxr2t;
};

/// What one command asks for and gets, PDU by PDU.
struct Progress {
  std::uint16_t cid = 0;
  Bytes data;                  ///< of a write: what is sent; of a read: what has come
  std::size_t bytes = 0;       ///< of the command
  std::vector<Transfer> r2ts;  ///< open ones
  std::size_t asked = 0;
  std::size_t answered = 0;
  bool done = false;
};

/// An I/O queue whose PDUs are all looked at.
class Watched {
 public:
  Watched(ControllerBench& bench, Check& check, const Terms& terms)
      : bench_(bench), check_(check), terms_(terms), io_(open_io(bench, request_of(terms))) {
    const auto& greeting = raw().greeting();
    check.equal("HDGST of the ICResp", greeting.get(tcp::ic_resp::hdgst_enable) && !terms.header_digest, false);
    check.equal("DDGST of the ICResp", greeting.get(tcp::ic_resp::ddgst_enable) && !terms.data_digest, false);
    header_digest_ = greeting.get(tcp::ic_resp::hdgst_enable);
    data_digest_ = greeting.get(tcp::ic_resp::ddgst_enable);
  }
  RawTcp& raw() { return *io_.raw; }
  void leave() { io_.association.admin().disconnect(); }

  void write(std::uint16_t cid, Bytes data) {
    Progress& progress = begin(cid, data.size());
    progress.data = std::move(data);
    raw().send_command(write_command(bench_, blocks_of(progress.bytes), cid));
  }
  void read(std::uint16_t cid, std::size_t bytes) {
    begin(cid, bytes);
    raw().send_command(read_command(bench_, blocks_of(bytes), cid));
  }
  const Progress& of(std::uint16_t cid) { return commands_[cid]; }

  /// Looks at what comes until every command is done. R2Ts are served in H2CData of `step` bytes, the newest first.
  bool finish(std::uint32_t step) {
    while (std::any_of(commands_.begin(), commands_.end(), [](const auto& one) { return !one.second.done; })) {
      if (const auto pdu = raw().next(open_ > 0 ? patience_for_more() : RawTcp::kPatience)) {
        if (!look(*pdu)) return false;
        continue;
      }
      ++waits_;
      most_open_ = std::max(most_open_, open_);
      if (!check_.that(open_ > 0 && !raw().closed(), "commands go on", raw().instead())) return false;
      for (auto at = commands_.rbegin(); at != commands_.rend(); ++at) {
        Progress& progress = at->second;
        if (progress.r2ts.empty()) continue;
        const Transfer r2t = progress.r2ts.front();
        progress.r2ts.erase(progress.r2ts.begin());
        --open_;
        serve_r2t(raw(), r2t, progress.data, std::min(step, h2c_data_max(raw())), progress.cid);
        progress.answered += r2t.length;
      }
    }
    return true;
  }

 private:
  static Record<tcp::IcReq> request_of(const Terms& terms) {
    auto request = with_digests(terms.header_digest, terms.data_digest);
    request.set(tcp::ic_req::hpda, terms.hpda).set(tcp::ic_req::maxr2t, terms.maxr2t);
    return request;
  }
  std::uint32_t blocks_of(std::size_t bytes) const { return static_cast<std::uint32_t>(bytes / bench_.declared().block_bytes); }
  Progress& begin(std::uint16_t cid, std::size_t bytes) {
    Progress& progress = commands_[cid];
    progress = {};
    progress.cid = cid;
    progress.bytes = bytes;
    return progress;
  }

  /// How long more R2Ts are waited for before one is served. A real product shows soon how many it keeps open, and some ask
  /// for 512 bytes at a time.
  Duration patience_for_more() const {
    constexpr unsigned kWaitsToLearn = 20;
    const bool learned = !bench_.virtual_time() && waits_ >= kWaitsToLearn && open_ >= most_open_;
    return learned ? 1_ms : 50_ms;
  }

  bool look(const SeenPdu& pdu) {
    if (pdu.is(PduType::c2h_term_req)) return check_.that(false, "commands go on", raw().instead());
    const bool data = pdu.is(PduType::c2h_data);
    const std::size_t hlen = data || pdu.is(PduType::r2t) || pdu.is(PduType::capsule_resp) ? 24 : 0;
    if (!check_.equal("HLEN of " + pdu.text(), pdu.hlen(), hlen)) return false;
    check_.equal("HDGSTF of " + pdu.text(), pdu.has(flag::hdgstf), header_digest_);
    check_.equal("DDGSTF of " + pdu.text(), pdu.has(flag::ddgstf), data && data_digest_);
    check_.that(pdu.header_digest_good(), "its header digest is right", pdu.text());
    const std::size_t head = hlen + (header_digest_ ? tcp::kDigestBytes : 0);
    if (data) return look_at_data(pdu, head);
    check_.equal("PDO of " + pdu.text(), pdu.pdo(), 0u);
    check_.equal("PLEN of " + pdu.text(), pdu.bytes.size(), head);
    return pdu.is(PduType::r2t) ? look_at_r2t(pdu) : look_at_response(pdu);
  }

  bool look_at_data(const SeenPdu& pdu, std::size_t head) {
    const auto view = pdu.as<tcp::DataPdu>();
    const auto found = commands_.find(view.get(tcp::data_pdu::cccid));
    if (!check_.that(found != commands_.end() && !found->second.done, "CCCID names an open command", pdu.text())) return false;
    Progress& progress = found->second;
    check_.that(pdu.data_digest_good(), "its data digest is right", pdu.text());
    check_.equal("DATAO", view.get(tcp::data_pdu::offset), progress.data.size());
    check_.equal("DATAL", view.get(tcp::data_pdu::length), pdu.data().size());
    const std::size_t alignment = tcp::alignment_of(terms_.hpda);
    check_.that(pdu.pdo() >= head && pdu.pdo() % alignment == 0, "PDO keeps to HPDA", pdu.text());
    const ByteView pad = ByteView(pdu.bytes).subspan(head, pdu.pdo() - head);
    check_.bytes("padding", pad, Bytes(pad.size()));
    check_.equal("PLEN", pdu.bytes.size(), pdu.pdo() + pdu.data().size() + (data_digest_ ? tcp::kDigestBytes : 0));
    const ByteView part = pdu.data();
    progress.data.insert(progress.data.end(), part.begin(), part.end());
    check_.equal("LAST_PDU of " + pdu.text(), pdu.has(flag::last_pdu), progress.data.size() == progress.bytes);
    // Whether it may say so is another rule's: no response follows.
    if (pdu.has(flag::success) && progress.data.size() == progress.bytes) progress.done = true;
    return check_.that(progress.data.size() <= progress.bytes, "no more data than asked for", pdu.text());
  }

  bool look_at_r2t(const SeenPdu& pdu) {
    const auto view = pdu.as<tcp::DataPdu>();
    const auto found = commands_.find(view.get(tcp::data_pdu::cccid));
    if (!check_.that(found != commands_.end() && !found->second.done, "CCCID names an open command", pdu.text())) return false;
    Progress& progress = found->second;
    const Transfer r2t{view.get(tcp::data_pdu::ttag), view.get(tcp::data_pdu::offset), view.get(tcp::data_pdu::length)};
    check_.equal("R2TO", r2t.offset, progress.asked);
    if (!check_.that(r2t.length > 0 && r2t.length <= progress.bytes - progress.asked, "R2TL is within the write", pdu.text())) return false;
    for (const auto& [cid, other] : commands_) {
      for (const Transfer& open : other.r2ts) check_.that(open.ttag != r2t.ttag, "no two open R2Ts have one TTAG", pdu.text());
    }
    progress.asked += r2t.length;
    progress.r2ts.push_back(r2t);
    ++open_;
    return check_.between("open R2Ts of one command", progress.r2ts.size(), std::size_t{1}, std::size_t{terms_.maxr2t} + 1);
  }

  bool look_at_response(const SeenPdu& pdu) {
    const nvme::Cqe cqe{ByteView(pdu.bytes).subspan(tcp::kCommonHeaderBytes)};
    const auto found = commands_.find(cqe.get(nvme::cqe::cid));
    if (!check_.that(found != commands_.end() && !found->second.done, "CID names an open command", pdu.text())) return false;
    found->second.done = true;
    check_.success(cqe.get(nvme::cqe::status), "a read or write");
    return check_.equal("bytes that a command has moved",
                        std::max(found->second.answered, found->second.asked == 0 ? found->second.data.size() : 0), found->second.bytes);
  }

  ControllerBench& bench_;
  Check& check_;
  Terms terms_;
  IoQueue io_;
  bool header_digest_ = false, data_digest_ = false;
  std::map<std::uint16_t, Progress> commands_;
  std::size_t open_ = 0;
  std::size_t most_open_ = 0;  ///< when no more came
  unsigned waits_ = 0;         ///< for more R2Ts, in which none came
};

/// Lengths of transfers: a block, around what a capsule, a PDU and an R2T hold, beyond 64 KiB, and up to `longest`.
std::vector<std::size_t> lengths(ControllerBench& bench, std::size_t longest = 0) {
  const std::size_t block = bench.declared().block_bytes;
  std::vector<std::size_t> wanted = {block, 8192, 8192 + block, 32768 + block, 65536 + block};
  if (longest != 0) wanted.push_back(longest);
  std::vector<std::size_t> found;
  for (const std::size_t bytes : wanted) {
    const std::size_t whole = std::max(within_mdts(bench, static_cast<std::uint32_t>(bytes)) / block * block, block);
    if (found.empty() || found.back() != whole) found.push_back(whole);
  }
  return found;
}

/// Values of a byte that a case tries: all in virtual time. A real product may take its time to close each connection, so it
/// gets the ends, the neighbours of `right`, and what differs from it in one bit.
std::vector<unsigned> values_of_a_byte(ControllerBench& bench, unsigned right) {
  std::vector<unsigned> values(256);
  std::iota(values.begin(), values.end(), 0u);
  if (bench.virtual_time()) return values;
  std::erase_if(values, [right](unsigned value) {
    const bool end = value == 0 || value == 255;
    const bool near = value + 1 >= right && value <= right + 1;
    return !end && !near && !std::has_single_bit(value ^ right);
  });
  return values;
}

Bytes property_capsule(const RawTcp& raw) {
  nvme::Sqe sqe = host::as_sqe(host::property_get(fabrics::property::vs));
  sqe.set(nvme::sqe::cid, kCid + 1);
  return raw.build(RawTcp::capsule(sqe.bytes()));
}
Bytes connect_capsule(const RawTcp& raw, ControllerBench& bench) {
  const host::ConnectCommand connect = bench.connect_command();
  const auto command = with_sgl(connect.sqe, SglDescriptor::in_capsule(0, fabrics::ConnectData::size));
  return raw.build(RawTcp::capsule(command.bytes()), connect.data.bytes());
}

}  // namespace

CONFORMANCE_CASE(each_pdu_is_right_in_each_field, "tcp.pdu.every-field", roles::controller, needs{&a_namespace}, in_pieces) {
  constexpr Terms kTerms[] = {{false, false, 0, 0}, {true, false, 3, 1}, {false, true, 31, 2}, {true, true, 0, 3}, {true, true, 31, 0}};
  std::uint8_t seed = 0;
  for (const Terms& terms : kTerms) {
    bench.step("another combination of digests, alignment and number of R2Ts");
    Watched queue(bench, check, terms);
    // All of MDTS with both digests, which are computed in pieces.
    const bool longest = terms.header_digest && terms.data_digest && terms.maxr2t != 0;
    for (const std::size_t bytes : lengths(bench, longest ? std::size_t{2} << 20 : 0)) {
      for (const std::uint32_t step : {4u * 129, 0xFFFFFFFFu}) {
        if (step < 4096 && bytes > 9000) continue;
        const Bytes data = pattern(bytes, ++seed);
        queue.write(kCid, data);
        if (!queue.finish(step)) return;
        queue.read(kCid + 1, bytes);
        if (!queue.finish(step) || !check.bytes("what is read back", queue.of(kCid + 1).data, data)) return;
      }
    }
    queue.leave();
  }
}

CONFORMANCE_CASE(commands_in_turn_get_their_own_data, "tcp.data.several-commands", roles::controller, needs{&a_namespace}, in_pieces) {
  for (const Terms& terms : {Terms{false, false, 0, 0}, Terms{true, true, 7, 1}}) {
    Watched queue(bench, check, terms);
    const std::size_t bytes = lengths(bench).back();
    const Bytes data = pattern(bytes, 9);
    // All write the same, so that their order does not matter; each has R2Ts and tags of its own.
    constexpr std::uint16_t kCids[] = {0, 1, 0x00FF, 0x0100, 0x7FFF, 0xFFFE};
    for (const std::uint16_t cid : kCids) queue.write(cid, data);
    if (!queue.finish(4096)) return;
    for (const std::uint16_t cid : kCids) queue.read(cid, bytes);
    if (!queue.finish(4096)) return;
    for (const std::uint16_t cid : kCids) check.bytes("what one of several reads brings", queue.of(cid).data, data);
    // Nearly as many short ones as the queue has entries.
    const auto count = static_cast<std::uint16_t>(std::min(bench.declared().queue_entries_max(), 32u) - 2);
    const Bytes few = pattern(lengths(bench).front(), 11);
    for (std::uint16_t i = 0; i < count; ++i) queue.write(static_cast<std::uint16_t>(0x200 + i), few);
    if (!queue.finish(4096)) return;
    for (std::uint16_t i = 0; i < count; ++i) queue.read(static_cast<std::uint16_t>(0x200 + i), few.size());
    if (!queue.finish(4096)) return;
    for (std::uint16_t i = 0; i < count; ++i) {
      check.bytes("what one of many reads brings", queue.of(static_cast<std::uint16_t>(0x200 + i)).data, few);
    }
    queue.leave();
  }
}

CONFORMANCE_CASE(no_h2cdata_is_taken_for_another, "tcp.h2cdata.every-value", roles::controller, needs{&a_namespace}, in_pieces,
                 sends_malformed) {
  struct Row {
    std::string what;
    std::uint16_t ttag = 0, cccid = 0;  ///< bits that differ
    std::uint32_t offset = 0;           ///< added
    std::vector<Fatal> allowed;
    bool longer = false;
  };
  std::vector<Row> rows;
  const std::vector<Fatal> out_of_place = {{FatalStatus::data_out_of_range}, {FatalStatus::sequence_error}};
  for (unsigned bit = 0; bit < 16; ++bit) {
    rows.push_back({"TTAG with another bit " + std::to_string(bit),
                    static_cast<std::uint16_t>(1u << bit),
                    0,
                    0,
                    {{FatalStatus::invalid_header_field, 10}, {FatalStatus::sequence_error}}});
    rows.push_back({"CCCID with another bit " + std::to_string(bit),
                    0,
                    static_cast<std::uint16_t>(1u << bit),
                    0,
                    {{FatalStatus::invalid_header_field, 8}}});
  }
  for (const std::uint32_t offset : {4u, 512u, 0x10000u, 0x80000000u, 0xFFFFFFFCu, 0xFFFFFE00u}) {
    rows.push_back({"DATAO that differs by " + std::to_string(static_cast<std::int32_t>(offset)), 0, 0, offset, out_of_place});
  }
  rows.push_back({"a dword beyond the R2T", 0, 0, 0, {{FatalStatus::data_out_of_range}, {FatalStatus::limit_exceeded}}, true});
  std::size_t turn = 0;
  for (const Row& row : rows) {
    IoQueue io = open_io(bench);
    RawTcp& raw = *io.raw;
    const std::uint32_t blocks = blocks_for(bench, within_mdts(bench, 32768));
    const Bytes data = pattern(std::size_t{blocks} * bench.declared().block_bytes, 3);
    raw.send_command(write_command(bench, blocks));
    Transfer r2t = needed_r2t(raw);
    const bool several = r2t.length < data.size();
    std::string what = "H2CData of the first R2T: " + row.what;
    if (several && turn++ % 2 == 0) {
      serve_r2t(raw, r2t, data, h2c_data_max(raw));
      r2t = needed_r2t(raw);
      what = "H2CData of the second R2T: " + row.what;
    }
    Transfer wrong = r2t;
    wrong.ttag ^= row.ttag;
    const std::uint32_t length = row.longer ? r2t.length + 4 : std::min(r2t.length, 512u);
    raw.send(h2c_data(wrong, r2t.offset + row.offset, length, row.longer, kCid ^ row.cccid), pattern(length, 1));
    expect_fatal(check, raw, what, row.allowed);
    if (io.association.admin().connected()) io.association.admin().disconnect();
  }
}

CONFORMANCE_CASE(each_value_of_a_capsule_header_counts, "tcp.pdu.every-value", roles::controller, sends_malformed) {
  const auto fatal = [&](RawTcp& raw, const Bytes& pdu, const std::string& what,
                         std::vector<Fatal> allowed = {{FatalStatus::invalid_header_field}}) {
    raw.send(ByteView(pdu));
    expect_fatal(check, raw, what, allowed, pdu);
  };
  for (const unsigned type : values_of_a_byte(bench, 0x04)) {
    // Those that a host may send have other lengths, and cases of their own.
    if (type == 0x00 || type == 0x02 || type == 0x04 || type == 0x06) continue;
    auto raw = greeted(bench);
    Bytes pdu = property_capsule(*raw);
    pdu[0] = static_cast<std::uint8_t>(type);
    fatal(*raw, pdu, "a PDU of type " + std::to_string(type), {{FatalStatus::invalid_header_field}, {FatalStatus::sequence_error}});
  }
  for (const unsigned hlen : values_of_a_byte(bench, 72)) {
    if (hlen == 72) continue;
    auto raw = greeted(bench);
    Bytes pdu = property_capsule(*raw);
    pdu[2] = static_cast<std::uint8_t>(hlen);
    fatal(*raw, pdu, "a capsule with HLEN " + std::to_string(hlen));
  }
  for (const std::uint32_t plen : {0u, 1u, 8u, 64u, 71u, 73u, 75u}) {
    auto raw = greeted(bench);
    Bytes pdu = property_capsule(*raw);
    store_le<std::uint32_t>(&pdu[4], plen);
    pdu.resize(std::max<std::size_t>(pdu.size(), plen));
    fatal(*raw, pdu, "a capsule without data with PLEN " + std::to_string(plen));
  }
  for (const unsigned pdo : values_of_a_byte(bench, 72)) {
    if (pdo >= 80) break;
    auto raw = greeted(bench);
    const std::size_t alignment = tcp::alignment_of(raw->greeting().get(tcp::ic_resp::cpda));
    if (pdo >= 72 && pdo % alignment == 0) continue;
    Bytes pdu = connect_capsule(*raw, bench);
    pdu[3] = static_cast<std::uint8_t>(pdo);
    fatal(*raw, pdu, "a capsule with data at PDO " + std::to_string(pdo));
  }
}

CONFORMANCE_CASE(each_value_of_an_h2cdata_header_counts, "tcp.pdu.every-value", roles::controller, needs{&a_namespace}, in_pieces,
                 sends_malformed) {
  struct Row {
    std::string what;
    std::function<void(Bytes&)> corrupt;
  };
  std::vector<Row> rows;
  for (const unsigned hlen : {0u, 8u, 23u, 25u, 28u, 72u, 255u}) {
    rows.push_back({"HLEN " + std::to_string(hlen), [hlen](Bytes& pdu) { pdu[2] = static_cast<std::uint8_t>(hlen); }});
  }
  for (const unsigned flags : {unsigned{flag::hdgstf}, unsigned{flag::ddgstf}}) {
    rows.push_back({"flags " + std::to_string(flags), [flags](Bytes& pdu) { pdu[1] = static_cast<std::uint8_t>(pdu[1] | flags); }});
  }
  rows.push_back({"a PDO within its header", [](Bytes& pdu) { pdu[3] = 20; }});
  rows.push_back({"a PLEN of its header alone", [](Bytes& pdu) { store_le<std::uint32_t>(&pdu[4], 24); }});
  // No alignment that a controller may ask for has a data offset that is no multiple of 4.
  for (const unsigned more : {1u, 2u, 3u}) {
    rows.push_back({"a PDO that is no multiple of 4, by " + std::to_string(more), [more](Bytes& pdu) {
                      pdu.insert(pdu.begin() + pdu[3], more, 0);
                      pdu[3] = static_cast<std::uint8_t>(pdu[3] + more);
                      store_le<std::uint32_t>(&pdu[4], static_cast<std::uint32_t>(pdu.size()));
                    }});
  }
  const std::uint32_t blocks = blocks_for(bench, within_mdts(bench, 32768));
  for (const Row& row : rows) {
    IoQueue io = open_io(bench);
    RawTcp& raw = *io.raw;
    raw.send_command(write_command(bench, blocks));
    const Transfer r2t = needed_r2t(raw);
    const std::uint32_t length = std::min(r2t.length, 512u);
    Bytes pdu = raw.build(h2c_data(r2t, r2t.offset, length, length == r2t.length), pattern(length, 1));
    row.corrupt(pdu);
    raw.send(ByteView(pdu));
    expect_fatal(check, raw, "H2CData with " + row.what, {{FatalStatus::invalid_header_field}}, pdu);
    if (io.association.admin().connected()) io.association.admin().disconnect();
  }
}

CONFORMANCE_CASE(each_value_of_an_icreq_counts, "tcp.icreq.every-value", roles::controller, sends_malformed) {
  const auto fatal = [&](const Bytes& pdu, std::uint32_t fei, const std::string& what) {
    const auto raw = connected(bench);
    raw->send(ByteView(pdu));
    expect_fatal(check, *raw, what, {{FatalStatus::invalid_header_field, fei}}, pdu);
  };
  const auto icreq = [](const Record<tcp::IcReq>& request) { return tcp::build_pdu(request.bytes(), {}, false, false); };
  for (const unsigned hpda : values_of_a_byte(bench, tcp::kAlignmentMax)) {
    auto request = RawTcp::ic_req();
    request.set(tcp::ic_req::hpda, hpda);
    if (hpda > tcp::kAlignmentMax) {
      fatal(icreq(request), 10, "an ICReq with HPDA " + std::to_string(hpda));
    } else {
      expect_greeting(bench, check, request);
    }
  }
  for (unsigned bit = 0; bit < 16; ++bit) {
    auto request = RawTcp::ic_req();
    request.set(tcp::ic_req::pfv, 1u << bit);
    fatal(icreq(request), 8, "an ICReq with bit " + std::to_string(bit) + " of PFV");
  }
  for (const unsigned hlen : {0u, 8u, 24u, 72u, 127u, 129u, 255u}) {
    Bytes pdu = icreq(RawTcp::ic_req());
    pdu[2] = static_cast<std::uint8_t>(hlen);
    fatal(pdu, 2, "an ICReq with HLEN " + std::to_string(hlen));
  }
  for (const std::uint32_t plen : {0u, 8u, 127u, 129u, 132u, 0x80000080u, 0x8000u}) {
    Bytes pdu = icreq(RawTcp::ic_req());
    store_le<std::uint32_t>(&pdu[4], plen);
    fatal(pdu, 4, "an ICReq with PLEN " + std::to_string(plen));
  }
  for (const bool header : {false, true}) {
    for (const bool data : {false, true}) {
      for (const std::uint32_t maxr2t : {0u, 1u, 0xFFFFu, 0xFFFFFFFFu}) {
        auto request = with_digests(header, data);
        request.set(tcp::ic_req::maxr2t, maxr2t);
        const auto raw = connected(bench);
        raw->send(request);
        const auto answer = raw->next(PduType::ic_resp);
        check.require(answer.has_value(), "an ICResp", raw->instead());
        const auto view = answer->as<tcp::IcResp>();
        check.that(header || !view.get(tcp::ic_resp::hdgst_enable), "no header digest unasked", answer->text());
        check.that(data || !view.get(tcp::ic_resp::ddgst_enable), "no data digest unasked", answer->text());
        check.between("CPDA", unsigned{view.get(tcp::ic_resp::cpda)}, 0u, 31u);
        check.between("MAXH2CDATA", view.get(tcp::ic_resp::maxh2cdata), 4096u, 0xFFFFFFFFu);
        raw->close();
      }
    }
  }
}

CONFORMANCE_CASE(each_bit_of_a_digest_counts, "tcp.digest.every-bit", roles::controller, sends_malformed) {
  {
    const auto raw = greeted(bench, with_digests(true, true));
    check.precondition(raw->greeting().get(tcp::ic_resp::hdgst_enable) && raw->greeting().get(tcp::ic_resp::ddgst_enable),
                       "the controller grants both digests");
  }
  for (unsigned bit = 0; bit < 32; ++bit) {
    const auto raw = greeted(bench, with_digests(true, true));
    Bytes pdu = property_capsule(*raw);
    pdu[72 + bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    raw->send(ByteView(pdu));
    expect_fatal(check, *raw, "a header digest that differs in bit " + std::to_string(bit),
                 {{FatalStatus::header_digest_error, load_le<std::uint32_t>(&pdu[72])}}, pdu);
  }
  for (const std::size_t at : {std::size_t{8}, std::size_t{10}, std::size_t{48}, std::size_t{71}}) {
    const auto raw = greeted(bench, with_digests(true, true));
    Bytes pdu = property_capsule(*raw);
    pdu[at] ^= 0x01;
    raw->send(ByteView(pdu));
    expect_fatal(check, *raw, "a header of which byte " + std::to_string(at) + " has changed", {{FatalStatus::header_digest_error}}, pdu);
  }
  const auto raw = greeted(bench, with_digests(true, true));
  const std::size_t begin = connect_capsule(*raw, bench)[3];
  const std::size_t size = connect_capsule(*raw, bench).size();
  std::vector<std::pair<std::size_t, std::uint8_t>> flips;
  for (unsigned bit = 0; bit < 32; ++bit) flips.push_back({size - 4 + bit / 8, static_cast<std::uint8_t>(1u << bit % 8)});
  for (const std::size_t at : {begin, begin + 1, begin + 511, begin + 1000, size - 5}) flips.push_back({at, std::uint8_t{0x80}});
  for (const auto& [at, bits] : flips) {
    Bytes pdu = connect_capsule(*raw, bench);
    pdu[at] ^= bits;
    raw->send(ByteView(pdu));
    expect_status(check, *raw, one_of(sc::transient_transport_error), "a Connect of which byte " + std::to_string(at) + " has changed");
  }
  raw->send(ByteView(connect_capsule(*raw, bench)));
  expect_status(check, *raw, one_of(nvme::Status{}), "the right Connect afterwards");
}

CONFORMANCE_CASE(a_termreq_of_any_length_ends_the_connection, "tcp.termreq.every-length", roles::controller, sends_malformed) {
  std::vector<std::uint32_t> lengths = {0, 8, 23, 24, 25, 151, 152, 153, 1024};
  // A real product may take 30 seconds for each that is legal.
  if (!bench.virtual_time()) lengths = {0, 23, 24, 153};
  for (const std::uint32_t plen : lengths) {
    auto raw = greeted(bench);
    Record<tcp::TermReq> header;
    header.set(tcp::pdu::type, PduType::h2c_term_req)
        .set(tcp::pdu::hlen, tcp::TermReq::size)
        .set(tcp::pdu::plen, plen)
        .set(tcp::term_req::fes, FatalStatus::sequence_error);
    Bytes pdu(header.bytes().begin(), header.bytes().end());
    pdu.resize(std::max<std::size_t>(plen, 24));
    raw->send(ByteView(pdu));
    const std::string what = "an H2CTermReq with PLEN " + std::to_string(plen);
    const auto answer = raw->next(Duration::s(5));
    const bool silent = check.that(!answer.has_value(), "no PDU in answer to " + what, answer ? answer->text() : "");
    // Who sends a TermReq waits for its receiver to end the connection.
    if (!silent && !bench.virtual_time()) return;
    check.that(raw->wait_closed(Duration::s(35)), "the connection ends after " + what, "it stays open");
  }
}

}  // namespace fb::conformance::tcp_cases
