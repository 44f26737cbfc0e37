// What responders say: acknowledgements, MSNs, READ responses.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "conformance/monitors/judge.h"
#include "conformance/monitors/per_index.h"
#include "wire/rdma/psn.h"
#include "wire/rdma/syndrome.h"

namespace fb::monitors {

namespace {

using roce::OpcodeKind;

constexpr std::size_t kMessagesKept = 512;
constexpr std::size_t kReadsKept = 64;

class RdmaAnswers final : public Judge {
 public:
  using Judge::Judge;
  unsigned hears() const override { return heard::roce_packets | heard::rdma_messages; }

  void on_roce_packet(const RocePacketSeen& seen) override {
    if (!seen.at.genuine()) {
      changed_.insert(seen.at.from.address);
      return;
    }
    if (seen.half == nullptr || !seen.icrc_good) return;
    if (seen.facts.kind == OpcodeKind::read_request) remember_read(seen);
    if (!seen.facts.is_response() || seen.half->back == nullptr) return;
    const RdmaHalf& asked = *seen.half->back;
    State& state = states_[asked.index];
    if (state.suspect || (!changed_.empty() && changed_.count(asked.from.address) != 0)) return;
    const std::uint32_t before = said_;
    judge_answer(seen, asked, state);
    state.suspect = said_ != before;
  }

  void on_rdma_message(const RdmaMessageSeen& seen) override {
    State& state = states_[seen.half.index];
    const bool waits = seen.kind == OpcodeKind::send || seen.kind == OpcodeKind::write;
    // A READ counts when it is begun.
    const std::uint32_t end = waits ? roce::psn_add(seen.half.expected, roce::kPsnMask) : seen.first_psn;
    if (state.ends.empty()) state.ends.resize(kMessagesKept);
    state.ends[state.messages++ % kMessagesKept] = end;
  }

 private:
  struct Read {
    std::uint32_t psn = 0, count = 0, length = 0;
  };
  struct State {
    bool suspect = false;
    std::uint64_t messages = 0;
    std::vector<std::uint32_t> ends;  // last PSNs of the newest messages, the oldest written over
    std::vector<Read> reads;          // the newest, the oldest written over
    std::size_t next_read = 0;
  };

  void remember_read(const RocePacketSeen& seen) {
    if (seen.half->mtu == 0) return;
    const std::uint32_t length = View<roce::Reth>{ByteView{seen.reth, roce::Reth::size}}.get(roce::reth::dmalen);
    State& state = states_[seen.half->index];
    if (state.reads.size() < kReadsKept) state.reads.emplace_back();
    state.reads[state.next_read++ % kReadsKept] = {seen.psn(), roce::packets_of(length, seen.half->mtu), length};
  }

  void judge_answer(const RocePacketSeen& seen, const RdmaHalf& asked, const State& state) {
    const bool known = asked.connection != nullptr && asked.whole && asked.psn_known;
    if (!known) return;
    const auto kind = seen.aeth == nullptr ? roce::SyndromeKind::ack : roce::kind_of_syndrome(*seen.aeth);
    const std::int32_t beyond = roce::psn_distance(seen.psn(), asked.expected);
    if (!complete_ && beyond >= 0) return;  // the capture lacks what was asked
    if (complete_) {
      judged(Rule::rdma_ack_beyond);
      const bool sequence_nak = kind == roce::SyndromeKind::nak &&
                                roce::value_of_syndrome(*seen.aeth) == static_cast<std::uint8_t>(roce::NakCode::psn_sequence_error);
      if (asked.ahead == 0 && (beyond > 0 || (beyond == 0 && !sequence_nak))) {
        return blame(
            Rule::rdma_ack_beyond, seen, asked,
            fmt::format("{} of PSN {}, but the next request will be the first with PSN {}", seen.facts.name, seen.psn(), asked.expected));
      }
    }
    if (seen.facts.kind == OpcodeKind::read_response) judge_read(seen, asked, state);
    if (seen.aeth != nullptr && kind == roce::SyndromeKind::ack) judge_msn(seen, asked, state);
  }

  void judge_read(const RocePacketSeen& seen, const RdmaHalf& asked, const State& state) {
    bool asked_for = false;
    // The newest first: it is mostly the one that is answered.
    for (std::size_t back = 1; back <= state.reads.size(); ++back) {
      const Read& read = state.reads[(state.next_read - back) % state.reads.size()];
      const std::int32_t place = roce::psn_distance(seen.psn(), read.psn);
      if (place < 0 || place >= static_cast<std::int32_t>(read.count)) continue;
      asked_for = true;
      judged(Rule::rdma_read_form);
      if (complete_) judged(Rule::rdma_read_asked);
      if (fits(seen, read, static_cast<std::uint32_t>(place), asked.mtu)) return;
    }
    if (complete_) judged(Rule::rdma_read_asked);
    if (asked_for) {
      blame(Rule::rdma_read_form, seen, asked,
            fmt::format("{} PSN {} with {} bytes fits none of the READs of this PSN", seen.facts.name, seen.psn(), seen.payload.size()));
    } else if (complete_ && state.reads.size() < kReadsKept) {
      blame(Rule::rdma_read_asked, seen, asked, fmt::format("{} PSN {}, which no READ has taken", seen.facts.name, seen.psn()));
    }
  }

  static bool fits(const RocePacketSeen& seen, const Read& read, std::uint32_t place, std::uint32_t mtu) {
    const bool first = place == 0, last = place + 1 == read.count;
    if (seen.facts.first != first || seen.facts.last != last) return false;
    const std::uint32_t size = last ? read.length - place * mtu : mtu;
    return seen.payload.size() == size;
  }

  void judge_msn(const RocePacketSeen& seen, const RdmaHalf& asked, const State& state) {
    judged(Rule::rdma_msn);
    const std::uint32_t msn = View<roce::Aeth>{ByteView{seen.aeth, roce::Aeth::size}}.get(roce::aeth::msn);
    const std::int32_t above = roce::psn_distance(msn, state.messages & roce::kPsnMask);
    // Messages that end behind this PSN need not be complete; with a gap of our own, more may be.
    const std::uint64_t kept = std::min<std::uint64_t>(state.messages, kMessagesKept);
    std::uint32_t open = 0;
    while (open < kept && roce::psn_distance(state.ends[(state.messages - 1 - open) % kMessagesKept], seen.psn()) > 0) ++open;
    const bool oldest_known = state.messages == kept || open < kept;
    if (asked.ahead == 0 && above > 0) {
      blame(Rule::rdma_msn, seen, asked, fmt::format("MSN {} after {} requests", msn, state.messages));
    } else if (oldest_known && above < -static_cast<std::int32_t>(open)) {
      blame(Rule::rdma_msn, seen, asked,
            fmt::format("MSN {} with an acknowledgement of PSN {}, up to which {} requests are complete", msn, seen.psn(),
                        state.messages - open));
    }
  }

  [[gnu::cold]] void blame(Rule rule, const RocePacketSeen& seen, const RdmaHalf& asked, std::string text) {
    ++said_;
    say(rule, seen.at, std::move(text));
    if (asked.queue != nullptr) asked.queue->suspect = true;
  }

  PerIndex<State> states_;
  std::set<IpAddress> changed_;
  std::uint32_t said_ = 0;
};

}  // namespace

std::unique_ptr<Judge> judge_of_rdma_answers(Findings& findings, bool complete) {
  return std::make_unique<RdmaAnswers>(findings, complete);
}

}  // namespace fb::monitors
