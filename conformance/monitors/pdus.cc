// The form of NVMe/TCP PDUs, the opening of a connection, digests.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "conformance/monitors/judge.h"
#include "conformance/monitors/per_index.h"
#include "wire/tcp/kickstart.h"

namespace fb::monitors {

namespace {

using tcp::PduType;
namespace flag = tcp::pdu_flags;

class Pdus final : public Judge {
 public:
  using Judge::Judge;
  unsigned hears() const override { return heard::pdus; }

  void on_pdu(const PduSeen& seen) override {
    TcpFlow& flow = seen.flow;
    State& state = states_[flow.index];
    const bool us = seen.to_controller;
    if (state.stopped[us]) return;
    if (is_usual(seen, state)) return;
    if (seen.broken) {
      if (flow.certain[us]) {
        blame(Rule::tcp_plen, seen, fmt::format("PLEN {} with HLEN {}", seen.common.get(tcp::pdu::plen), seen.common.get(tcp::pdu::hlen)));
      }
      state.stopped[us] = true;
      return;
    }
    // Kickstart discovery (NVMe Base 2.1): what it looks like is not known well enough to be judged.
    if (tcp::is_kickstart(seen.pdu[0]) && tcp::is_kickstart_request(seen.pdu[0]) == us) {
      state.any[us] = true;
      return;
    }
    const std::size_t before = said_;
    const tcp::PduShape* const shape = tcp::shape_of(seen.pdu[0]);
    judged(Rule::tcp_type);
    if (shape == nullptr || shape->to_controller != us) {
      blame(Rule::tcp_type, seen, fmt::format("type {:02X}h{}", seen.pdu[0], shape == nullptr ? "" : " is for the other direction"));
    } else {
      judge_order(seen, state);
      judge_form(seen, *shape);
      if (said_ == before) judge_digests(seen);
      if (said_ == before) judge_opening(seen);
      if (said_ == before) remember(seen, *shape, state);
    }
    // What is said behind something wrong may be its consequence.
    if (said_ != before) state.stopped[us] = true;
    if (shape != nullptr && (shape->type == PduType::h2c_term_req || shape->type == PduType::c2h_term_req)) {
      state.ended[us] = true;
      flow.queue->suspect = true;
    }
    state.any[us] = true;
  }

 private:
  struct State {
    bool stopped[2] = {false, false}, any[2] = {false, false}, ended[2] = {false, false};
    bool icreq = false, icresp = false;
    std::array<std::uint64_t, 16> usual[2] = {};  // common headers of PDUs that were right, by place_of
  };

  // Most PDUs have the common header of one that was judged before, and with the same one the same form: what is
  // left is the length that a header of data tells again.
  bool is_usual(const PduSeen& seen, const State& state) {
    if (seen.broken || state.ended[seen.to_controller]) return false;
    const std::uint64_t word = load_le<std::uint64_t>(seen.pdu.data());
    return word == state.usual[seen.to_controller][place_of(seen)] && tells_its_length(seen);
  }

  static void remember(const PduSeen& seen, const tcp::PduShape& shape, State& state) {
    const bool opens_or_ends = seen.type() < PduType::capsule_cmd;
    const std::uint8_t pdo = seen.common.get(tcp::pdu::pdo);
    const bool padded = pdo != 0 && pdo != shape.hlen;
    if (!seen.flow.agreed() || opens_or_ends || padded || seen.header_digest() || seen.data_digest()) return;
    state.usual[seen.to_controller][place_of(seen)] = load_le<std::uint64_t>(seen.pdu.data());
  }

  static std::size_t place_of(const PduSeen& seen) { return (seen.pdu[0] & 7u) | (seen.common.get(tcp::pdu::pdo) != 0 ? 8u : 0u); }

  static bool tells_its_length(const PduSeen& seen) {
    const bool data = seen.type() == PduType::h2c_data || seen.type() == PduType::c2h_data;
    return !data || View<tcp::DataPdu>{seen.header}.get(tcp::data_pdu::length) == seen.data_bytes;
  }

  [[gnu::cold]] void blame(Rule rule, const PduSeen& seen, std::string text) {
    ++said_;
    say(rule, seen.at, *seen.flow.queue, fmt::format("{}: {}", tcp::name_of(seen.type()), text));
  }

  void judge_order(const PduSeen& seen, State& state) {
    const bool us = seen.to_controller;
    const PduType type = seen.type();
    judged(Rule::tcp_after_termreq);
    if (state.ended[us]) return blame(Rule::tcp_after_termreq, seen, "comes behind a TermReq");
    if (!seen.flow.from_start || !seen.flow.queue->whole) {
      if (type == PduType::ic_req) state.icreq = true;
      if (type == PduType::ic_resp) state.icresp = true;
      return;
    }
    judged(us ? Rule::tcp_icreq_first : Rule::tcp_icresp_order);
    if (type == PduType::ic_req) judged(Rule::tcp_icreq_once);
    if (type == PduType::ic_req) {
      if (state.icreq) return blame(Rule::tcp_icreq_once, seen, "there was one before");
      if (state.any[us]) return blame(Rule::tcp_icreq_first, seen, "is not the first PDU");
      state.icreq = true;
    } else if (us && type != PduType::h2c_term_req && !state.icresp) {
      return blame(Rule::tcp_icreq_first, seen, state.icreq ? "comes before ICResp" : "comes before ICReq");
    }
    if (type == PduType::ic_resp) {
      if (state.icresp) return blame(Rule::tcp_icresp_order, seen, "there was one before");
      if (!state.icreq) return blame(Rule::tcp_icresp_order, seen, "there was no ICReq");
      state.icresp = true;
    } else if (!us && type != PduType::c2h_term_req && !state.icresp) {
      return blame(Rule::tcp_icresp_order, seen, "comes before ICResp");
    }
  }

  void judge_form(const PduSeen& seen, const tcp::PduShape& shape) {
    const std::uint8_t hlen = seen.common.get(tcp::pdu::hlen);
    const std::uint8_t pdo = seen.common.get(tcp::pdu::pdo);
    const std::uint8_t flags = seen.common.get(tcp::pdu::flags);
    const std::uint32_t plen = seen.common.get(tcp::pdu::plen);
    judged(Rule::tcp_hlen, Rule::tcp_flags, Rule::tcp_plen);
    if (hlen != shape.hlen) return blame(Rule::tcp_hlen, seen, fmt::format("HLEN {}, not {}", hlen, shape.hlen));
    // In ICReq one bit of them asks for kickstart discovery (KDCONN of NVMe Base 2.1); which one has not been read.
    if (shape.type == PduType::ic_req && std::has_single_bit(flags)) return;
    if ((flags & ~shape.flags) != 0) return blame(Rule::tcp_flags, seen, fmt::format("flags {:02X}h", flags));
    const bool term = shape.type == PduType::h2c_term_req || shape.type == PduType::c2h_term_req;
    if (term) {
      if (plen > tcp::kTermReqMax) blame(Rule::tcp_plen, seen, fmt::format("PLEN {}", plen));
      return;
    }
    const std::size_t digest = seen.header_digest() ? tcp::kDigestBytes : 0;
    const bool carries = shape.data && pdo != 0;
    if (!carries) {
      if (plen != hlen + digest) return blame(Rule::tcp_plen, seen, fmt::format("PLEN {} without data, not {}", plen, hlen + digest));
      if (pdo != 0 && shape.type != PduType::capsule_cmd) blame(Rule::tcp_pdo, seen, fmt::format("PDO {} without data", pdo));
      return;
    }
    judge_data(seen, hlen + digest, pdo, plen);
  }

  void judge_data(const PduSeen& seen, std::size_t header, std::size_t pdo, std::size_t plen) {
    judged(Rule::tcp_pdo);
    if (pdo > header) judged(Rule::tcp_padding);
    const std::size_t tail = seen.data_digest() ? tcp::kDigestBytes : 0;
    if (pdo < header || pdo + tail > plen) return blame(Rule::tcp_pdo, seen, fmt::format("PDO {} in a PDU of {} bytes", pdo, plen));
    if (seen.flow.agreed()) {
      const std::size_t unit = tcp::alignment_of(std::min(seen.to_controller ? seen.flow.cpda : seen.flow.hpda, tcp::kAlignmentMax));
      if (pdo % unit != 0) return blame(Rule::tcp_pdo, seen, fmt::format("PDO {} is no multiple of {}", pdo, unit));
    }
    for (std::size_t at = header; at < pdo; ++at) {
      if (seen.pdu[at] == 0) continue;
      return blame(Rule::tcp_padding, seen, fmt::format("byte {} in front of the data is {:02X}h", at, seen.pdu[at]));
    }
    if (tells_its_length(seen)) return;
    blame(Rule::tcp_plen, seen,
          fmt::format("PLEN {} leaves {} bytes for data, DATAL is {}", plen, seen.data_bytes,
                      View<tcp::DataPdu>{seen.header}.get(tcp::data_pdu::length)));
  }

  void judge_digests(const PduSeen& seen) {
    const tcp::PduShape& shape = *tcp::shape_of(seen.pdu[0]);
    if (!shape.digests || !seen.flow.agreed()) return;
    if (seen.header_digest() != seen.flow.header_digest) {
      return blame(Rule::tcp_flags, seen, seen.header_digest() ? "a header digest that was not agreed on" : "the header digest is missing");
    }
    const bool data = seen.data_bytes != 0;
    if (seen.data_digest() != (seen.flow.data_digest && data)) {
      return blame(Rule::tcp_flags, seen, seen.data_digest() ? "a data digest that was not agreed on" : "the data digest is missing");
    }
    if (seen.header_digest()) judged(Rule::tcp_hdgst);
    if (seen.data_digest()) judged(Rule::tcp_ddgst);
    if (seen.header_digest()) {
      const std::uint32_t there = load_le<std::uint32_t>(&seen.pdu[seen.header.size()]);
      if (const std::uint32_t right = tcp::crc32c(seen.header); right != there) {
        return blame(Rule::tcp_hdgst, seen, fmt::format("header digest {:08x}, computed {:08x}", there, right));
      }
    }
    if (seen.data_digest()) {
      const std::uint32_t there = load_le<std::uint32_t>(&seen.pdu[seen.pdu.size() - tcp::kDigestBytes]);
      if (const std::uint32_t right = tcp::crc32c(seen.data); right != there) {
        blame(Rule::tcp_ddgst, seen, fmt::format("data digest {:08x}, computed {:08x}", there, right));
      }
    }
  }

  void judge_opening(const PduSeen& seen) {
    const bool request = seen.type() == PduType::ic_req;
    if (!request && seen.type() != PduType::ic_resp) return;
    const View<tcp::IcReq> view{seen.header};
    const Rule fields = request ? Rule::tcp_icreq_fields : Rule::tcp_icresp_fields;
    judged(fields);
    if (view.get(tcp::ic_req::pfv) != 0) return blame(fields, seen, fmt::format("PFV {}", view.get(tcp::ic_req::pfv)));
    if (view.get(tcp::ic_req::hpda) > tcp::kAlignmentMax) {
      return blame(fields, seen, fmt::format("alignment {}", view.get(tcp::ic_req::hpda)));
    }
    const bool reserved = (seen.header[11] & ~3) != 0 ||
                          std::any_of(seen.header.begin() + 16, seen.header.end(), [](std::uint8_t byte) { return byte != 0; });
    if (reserved) return blame(fields, seen, "reserved bytes are not zero");
    if (request) return;
    judged(Rule::tcp_icresp_maxh2cdata);
    if (seen.flow.ic_req) judged(Rule::tcp_icresp_digests);
    const std::uint32_t most = View<tcp::IcResp>{seen.header}.get(tcp::ic_resp::maxh2cdata);
    if (most < 4096 || most % 4 != 0) return blame(Rule::tcp_icresp_maxh2cdata, seen, fmt::format("MAXH2CDATA {}", most));
    if (seen.flow.ic_req &&
        ((seen.flow.header_digest && !seen.flow.asked_header_digest) || (seen.flow.data_digest && !seen.flow.asked_data_digest))) {
      blame(Rule::tcp_icresp_digests, seen, "turns a digest on that was not asked for");
    }
  }

  PerIndex<State> states_;
  std::size_t said_ = 0;
};

}  // namespace

std::unique_ptr<Judge> judge_of_pdus(Findings& findings, bool complete) { return std::make_unique<Pdus>(findings, complete); }

}  // namespace fb::monitors
