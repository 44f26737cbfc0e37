// What a controller answers to NVMe/TCP PDUs that faults changed on the way: a fatal error ends the connection with a
// C2HTermReq, a wrong data digest fails one command (NVMe/TCP Transport 1.0, 3.5.1 and 3.5.2).
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>

#include "conformance/monitors/judge.h"
#include "conformance/monitors/per_index.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"

namespace fb::monitors {

namespace {

using tcp::PduType;

/// An end that comes later may have another reason, such as the keep alive timer.
constexpr Duration kSoon = Duration::s(1);

class TcpAnswers final : public Judge {
 public:
  using Judge::Judge;
  unsigned hears() const override { return heard::pdus | heard::segments | heard::tcp_capsules; }

  void on_pdu(const PduSeen& seen) override {
    State& state = flows_[seen.flow.index];
    if (state.over || !seen.flow.agreed() || !seen.flow.from_start) return;
    if (seen.to_controller) return on_host(seen, state);
    if (seen.type() == PduType::c2h_term_req) {
      if (state.wrong && state.wrong->cid) {
        say(state.wrong->rule, seen.at, fmt::format("{}, and a C2HTermReq ends the connection", state.wrong->what));
      }
      return finish(seen.flow, state);
    }
    if (seen.type() == PduType::r2t && seen.header.size() >= tcp::DataPdu::size) {
      state.tags.insert(View<tcp::DataPdu>{seen.header}.get(tcp::data_pdu::ttag));
    }
  }

  void on_completion(const CompletionSeen& seen) override {
    const auto found = waiting_.find({seen.queue.host, seen.queue.controller});
    if (found == waiting_.end()) return;
    State& state = flows_[found->second];
    if (state.over || !state.wrong || !state.wrong->cid) return;
    if (View<nvme::CqeLayout>{seen.cqe}.get(nvme::cqe::cid) != *state.wrong->cid) return;
    if (View<nvme::CqeLayout>{seen.cqe}.get(nvme::cqe::status).ok()) {
      say(state.wrong->rule, seen.at, fmt::format("{}, and the command succeeds", state.wrong->what));
    }
    state.wrong.reset();
    waiting_.erase(found);
  }

  void on_segment(const SegmentSeen& seen) override {
    if ((seen.tcp.flags & (tcp_flag::fin | tcp_flag::rst)) == 0 || waiting_.empty()) return;
    // The host's end goes before: whatever the controller does then is no answer.
    if (const auto by_host = waiting_.find({seen.at.from, seen.at.to}); by_host != waiting_.end()) {
      flows_[by_host->second].over = true;
      waiting_.erase(by_host);
      return;
    }
    const auto found = waiting_.find({seen.at.to, seen.at.from});
    if (found == waiting_.end()) return;
    State& state = flows_[found->second];
    if (!state.over && state.wrong && seen.at.time - state.wrong->time < kSoon) {
      say(state.wrong->rule, seen.at,
          fmt::format("{}, and the connection ends{}", state.wrong->what, state.wrong->cid ? "" : " without a C2HTermReq"));
    }
    state.over = true;
    waiting_.erase(found);
  }

 private:
  struct Wrong {
    Rule rule{};
    std::string what;
    std::optional<std::uint16_t> cid;  // of the command that fails; none: a fatal error
    Instant time;
  };
  struct State {
    std::optional<Wrong> wrong;    // not answered yet
    std::set<std::uint16_t> tags;  // that R2Ts gave
    bool over = false;
  };
  using Ends = std::pair<Party, Party>;  // host, controller

  void finish(const TcpFlow& flow, State& state) {
    state.over = true;
    waiting_.erase({flow.host, flow.controller});
  }

  void on_host(const PduSeen& seen, State& state) {
    std::optional<Wrong> wrong = wrong_of(seen, state);
    const bool unclear = seen.broken || seen.type() == PduType::h2c_term_req || tcp::shape_of(seen.pdu[0]) == nullptr;
    // What answers the second error is not known.
    if (unclear || (wrong && state.wrong)) return finish(seen.flow, state);
    if (!wrong) return;
    judged(wrong->rule);
    state.wrong = std::move(wrong);
    waiting_[{seen.flow.host, seen.flow.controller}] = seen.flow.index;
  }

  static std::optional<Wrong> wrong_of(const PduSeen& seen, const State& state) {
    if (seen.broken) return {};
    const bool h2c = seen.type() == PduType::h2c_data;
    if (seen.header_digest() && seen.flow.header_digest && seen.pdu.size() >= seen.header.size() + tcp::kDigestBytes) {
      if (tcp::crc32c(seen.header) != load_le<std::uint32_t>(&seen.pdu[seen.header.size()])) {
        return Wrong{
            Rule::tcp_answers_header_digest, fmt::format("the header digest of {} is wrong", tcp::name_of(seen.type())), {}, seen.at.time};
      }
    }
    if (h2c && seen.header.size() >= tcp::DataPdu::size) {
      const std::uint16_t tag = View<tcp::DataPdu>{seen.header}.get(tcp::data_pdu::ttag);
      if (!state.tags.contains(tag)) {
        return Wrong{Rule::tcp_answers_transfer_tag, fmt::format("H2CData has TTAG {}, which no R2T gave", tag), {}, seen.at.time};
      }
    }
    const bool capsule = seen.type() == PduType::capsule_cmd && seen.header.size() >= tcp::kCommonHeaderBytes + nvme::SqeLayout::size;
    if ((!h2c && !capsule) || !seen.data_digest() || !seen.flow.data_digest || seen.data.empty()) return {};
    if (tcp::crc32c(seen.data) == load_le<std::uint32_t>(&seen.pdu[seen.pdu.size() - tcp::kDigestBytes])) return {};
    const std::uint16_t cid = h2c ? View<tcp::DataPdu>{seen.header}.get(tcp::data_pdu::cccid)
                                  : View<nvme::SqeLayout>{seen.header.subspan(tcp::kCommonHeaderBytes)}.get(nvme::sqe::cid);
    return Wrong{h2c ? Rule::tcp_answers_h2c_digest : Rule::tcp_answers_capsule_digest,
                 fmt::format("the data digest of {} of command {} is wrong", tcp::name_of(seen.type()), cid), cid, seen.at.time};
  }

  PerIndex<State> flows_;
  std::map<Ends, std::size_t> waiting_;  // flows with a PDU that is not answered
};

}  // namespace

std::unique_ptr<Judge> judge_of_tcp_answers(Findings& findings, bool complete) { return std::make_unique<TcpAnswers>(findings, complete); }

}  // namespace fb::monitors
