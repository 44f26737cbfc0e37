// The form and the order of RDMA packets, as their sender put them on the wire.
#include <fmt/format.h>

#include <set>

#include "conformance/monitors/judge.h"
#include "conformance/monitors/per_index.h"
#include "wire/rdma/psn.h"

namespace fb::monitors {

namespace {

using roce::OpcodeKind;

class RdmaPackets final : public Judge {
 public:
  using Judge::Judge;
  unsigned hears() const override { return heard::roce_packets; }

  void on_roce_packet(const RocePacketSeen& seen) override {
    const Sight& at = seen.at;
    if (!at.genuine()) {
      changed_.insert(at.from.address);
      return;
    }
    if (!judge_icrc(seen) || !seen.facts.known()) return;
    judge_form(seen);
    if (seen.half != nullptr && !seen.facts.is_response()) judge_request(seen);
  }

 private:
  struct State {
    bool suspect = false;
    std::uint32_t read_psn = 0, read_count = 0;  // of the last READ
  };

  // Adapters compute ICRCs behind where captures are taken: only who has sent a right one is held to it.
  bool judge_icrc(const RocePacketSeen& seen) {
    const IpAddress& from = seen.at.from.address;
    if (seen.icrc_good) {
      judged(Rule::rdma_icrc);
      if (!complete_) seals_.insert(from);
      return true;
    }
    if (complete_ || seals_.count(from) != 0) {
      say(Rule::rdma_icrc, seen.at, fmt::format("{} PSN {}: the ICRC is wrong", seen.facts.name, seen.psn()));
    }
    return false;
  }

  void judge_form(const RocePacketSeen& seen) {
    judged(Rule::rdma_version);
    if (!seen.pad.empty()) judged(Rule::rdma_pad_zero);
    if (seen.facts.payload) judged(Rule::rdma_pad_count);
    if (const auto version = seen.bth.get(roce::bth::tver); version != 0) {
      say(Rule::rdma_version, seen.at, fmt::format("the transport version is {}", version));
    }
    for (const std::uint8_t byte : seen.pad) {
      if (byte == 0) continue;
      say(Rule::rdma_pad_zero, seen.at, fmt::format("PSN {}: a pad byte is {:#04x}", seen.psn(), byte));
      break;
    }
    if (!seen.facts.payload) return;
    const bool odd = (seen.payload.size() + seen.pad.size()) % 4 != 0;
    const bool early = !seen.facts.last && !seen.pad.empty() && seen.facts.kind != OpcodeKind::datagram;
    if (odd || early) {
      say(Rule::rdma_pad_count, seen.at,
          fmt::format("{} PSN {}: {} bytes of payload and {} of pad", seen.facts.name, seen.psn(), seen.payload.size(), seen.pad.size()));
    }
  }

  void judge_request(const RocePacketSeen& seen) {
    const RdmaHalf& half = *seen.half;
    State& state = states_[half.index];
    if (state.suspect) return;
    const std::size_t before = said_;
    judge_psn(seen, half, state);
    if (seen.order == PsnOrder::next && half.whole && !half.adrift) judge_message(seen, half);
    state.suspect = said_ != before;
    if (seen.facts.kind == OpcodeKind::read_request && seen.order != PsnOrder::repeated && half.mtu != 0) {
      const std::uint32_t length = View<roce::Reth>{ByteView{seen.reth, roce::Reth::size}}.get(roce::reth::dmalen);
      state.read_psn = seen.psn();
      state.read_count = roce::packets_of(length, half.mtu);
    }
  }

  void judge_psn(const RocePacketSeen& seen, const RdmaHalf& half, const State& state) {
    const bool sends = seen.facts.kind == OpcodeKind::send || seen.facts.kind == OpcodeKind::write;
    if (sends && state.read_count > 1) judged(Rule::rdma_psn_of_read);
    if (seen.order == PsnOrder::repeated && sends && state.read_count > 1) {
      const std::int32_t place = roce::psn_distance(seen.psn(), state.read_psn);
      if (place > 0 && place < static_cast<std::int32_t>(state.read_count)) {
        blame(Rule::rdma_psn_of_read, seen,
              fmt::format("{} has PSN {}, but the READ of PSN {} takes {} of them", seen.facts.name, seen.psn(), state.read_psn,
                          state.read_count));
        return;
      }
    }
    if (!complete_ || half.connection == nullptr || seen.at.late) return;
    if (seen.order == PsnOrder::next) judged(half.any ? Rule::rdma_psn_next : Rule::rdma_psn_first);
    if (seen.order == PsnOrder::next || seen.order == PsnOrder::unknown || changed_.count(seen.at.from.address) != 0) return;
    judged(half.any ? Rule::rdma_psn_next : Rule::rdma_psn_first);
    if (!half.any && !half.inside) {
      blame(Rule::rdma_psn_first, seen, fmt::format("the first request has PSN {}, announced was {}", seen.psn(), half.first_psn));
    } else if (seen.order == PsnOrder::ahead && half.ahead == 0) {
      blame(Rule::rdma_psn_next, seen, fmt::format("a request with PSN {} where {} is next", seen.psn(), seen.expected));
    }
  }

  void judge_message(const RocePacketSeen& seen, const RdmaHalf& half) {
    judged(Rule::rdma_order);
    const bool parts = seen.facts.kind == OpcodeKind::send || seen.facts.kind == OpcodeKind::write;
    const auto kind = static_cast<std::uint8_t>(seen.facts.kind);
    const bool begins = seen.facts.first || !parts;
    if (begins == half.inside || (!begins && half.kind != kind)) {
      blame(Rule::rdma_order, seen,
            fmt::format("{} PSN {} {}", seen.facts.name, seen.psn(),
                        half.inside ? "inside of a message that is not ended" : "without the beginning of its message"));
      return;
    }
    if (!parts || half.mtu == 0) return;
    judged(Rule::rdma_size);
    const std::size_t size = seen.payload.size();
    const bool wrong = seen.facts.last ? size > half.mtu || (size == 0 && !seen.facts.first) : size != half.mtu;
    if (wrong) {
      blame(Rule::rdma_size, seen,
            fmt::format("{} PSN {} carries {} bytes, the path MTU is {}", seen.facts.name, seen.psn(), size, half.mtu));
      return;
    }
    if (seen.facts.kind != OpcodeKind::write) return;
    judged(Rule::rdma_dma_length);
    std::uint32_t announced = half.dmalen;
    if (seen.reth != nullptr) announced = View<roce::Reth>{ByteView{seen.reth, roce::Reth::size}}.get(roce::reth::dmalen);
    const std::uint64_t carried = (seen.facts.first ? 0 : half.length) + size;
    if (seen.facts.last ? carried != announced : carried > announced) {
      blame(Rule::rdma_dma_length, seen, fmt::format("a WRITE of {} bytes has carried {} with PSN {}", announced, carried, seen.psn()));
    }
  }

  [[gnu::cold]] void blame(Rule rule, const RocePacketSeen& seen, std::string text) {
    ++said_;
    say(rule, seen.at, std::move(text));
    if (seen.half->queue != nullptr) seen.half->queue->suspect = true;
  }

  std::set<IpAddress> seals_;
  std::set<IpAddress> changed_;  // packets of theirs were changed on the way: their PSNs are not known
  PerIndex<State> states_;
  std::size_t said_ = 0;
};

}  // namespace

std::unique_ptr<Judge> judge_of_rdma_packets(Findings& findings, bool complete) {
  return std::make_unique<RdmaPackets>(findings, complete);
}

}  // namespace fb::monitors
