// Submission and completion on a queue, whatever carries it.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/monitors/by_cid.h"
#include "conformance/monitors/judge.h"
#include "conformance/monitors/per_index.h"
#include "wire/fabrics/property.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"

namespace fb::monitors {

namespace {

using nvme::FabricsType;

/// Whether DW0 and DW1 of the completion may hold something: what is not known here may use them, and so may Read, which is
/// Retrieve in the Key Value command set.
bool uses_dwords(const Queue& queue, ByteView sqe) {
  using nvme::AdminOpcode;
  if (sqe[0] == nvme::kFabricsOpcode) {
    const auto type = static_cast<FabricsType>(sqe[4]);
    return type != FabricsType::property_set && type != FabricsType::disconnect;
  }
  if (!queue.qid) return true;
  if (*queue.qid != 0) {
    using nvme::IoOpcode;
    switch (static_cast<IoOpcode>(sqe[0])) {
      case IoOpcode::flush:
      case IoOpcode::write:
      case IoOpcode::compare:
      case IoOpcode::write_zeroes:
      case IoOpcode::dataset_management:
      case IoOpcode::verify: return false;
      default: return true;
    }
  }
  switch (static_cast<AdminOpcode>(sqe[0])) {
    case AdminOpcode::get_log_page:
    case AdminOpcode::identify:
    case AdminOpcode::keep_alive:
    case AdminOpcode::format_nvm: return false;
    default: return true;
  }
}

class Queues final : public Judge {
 public:
  using Judge::Judge;
  unsigned hears() const override { return heard::capsules | heard::successes; }

  void on_command(const CommandSeen& seen) override {
    Queue& queue = seen.queue;
    if (!queue.certain() || !seen.at.genuine()) return;
    State& state = state_of(queue);
    const View<nvme::SqeLayout> sqe{seen.sqe};
    const std::uint16_t cid = sqe.get(nvme::sqe::cid);
    judge_connect(seen, state, cid);
    judge_fuse(seen, state, sqe.get(nvme::sqe::fuse));
    const bool prp = sqe.get(nvme::sqe::psdt) == nvme::Psdt::prp && seen.sqe[0] != nvme::kFabricsOpcode;
    if (prp && has_data(sqe)) {
      say(Rule::nvme_psdt, seen.at, fmt::format("command {} says that its data pointer is a PRP", cid));
    }
    // A Controller Reset ends what is outstanding without a completion (NVMe Base 2.3, section 3.7.2).
    if (disables(seen.sqe)) {
      state.ended.take(state.open);
      state.with_dwords = {};
    }
    if (!state.open.add(cid)) {
      return say(Rule::nvme_cid_reuse, seen.at, queue, fmt::format("command identifier {} is outstanding", cid));
    }
    state.used.add(cid);
    if (uses_dwords(queue, seen.sqe)) state.with_dwords.add(cid);
    ++state.tail;
    if (!queue.flow_control || queue.entries == 0) return;
    const std::uint64_t taken = *queue.flow_control ? state.tail - state.head : state.open.size();
    if (taken > queue.entries - 1) {
      say(Rule::nvme_queue_full, seen.at, queue,
          fmt::format("command {} is number {} in a queue of {} entries", cid, taken, queue.entries));
    }
  }

  void on_completion(const CompletionSeen& seen) override {
    Queue& queue = seen.queue;
    if (!queue.certain() || !seen.at.genuine()) return;
    State& state = state_of(queue);
    const View<nvme::CqeLayout> cqe{seen.cqe};
    const std::uint16_t cid = cqe.get(nvme::cqe::cid);
    if (cqe.get(nvme::cqe::phase) != 0) {
      say(Rule::nvme_completion_phase, seen.at, fmt::format("the response to command {} has its phase bit set", cid));
    }
    const bool with_dwords = state.with_dwords.size() != 0 && state.with_dwords.remove(cid);
    if (!completed(seen.at, queue, state, cid)) return;
    if (!with_dwords && (cqe.get(nvme::cqe::dw0) | cqe.get(nvme::cqe::dw1)) != 0) {
      say(Rule::nvme_completion_dwords, seen.at,
          fmt::format("the response to command {} has DW0 {:08X}h and DW1 {:08X}h, which the command does not use", cid,
                      cqe.get(nvme::cqe::dw0), cqe.get(nvme::cqe::dw1)));
    }
    const bool connect = cid == state.connect_cid && state.connecting;
    if (connect) {
      state.connecting = false;
      state.connected = cqe.get(nvme::cqe::status).ok();
      if (!state.connected) return;
    }
    judge_head(seen, state, cqe.get(nvme::cqe::sqhd), connect);
  }

  void on_success(const PduSeen& seen) override {
    if (!seen.flow.queue->certain()) return;
    State& state = state_of(*seen.flow.queue);
    const std::uint16_t cid = View<tcp::DataPdu>{seen.header}.get(tcp::data_pdu::cccid);
    completed(seen.at, *seen.flow.queue, state, cid);
  }

 private:
  struct State {
    CidSet open;
    CidSet used;
    CidSet with_dwords;  // of `open`: may say something in its completion
    CidSet ended;  // may be completed all the same: on its way
    std::uint64_t head = 0, tail = 0;  // counted, not wrapped
    bool any = false, connecting = false, connected = false;
    std::uint16_t connect_cid = 0;
    bool fused_first = false;
    std::uint16_t fused_cid = 0;
  };

  State& state_of(const Queue& queue) { return states_[queue.index]; }

  /// A Property Set that writes CC with EN = 0.
  static bool disables(ByteView sqe) {
    if (sqe[0] != nvme::kFabricsOpcode || sqe[4] != static_cast<std::uint8_t>(FabricsType::property_set)) return false;
    return load_le<std::uint32_t>(&sqe[44]) == fabrics::property::cc && (sqe[48] & 1) == 0;
  }

  static bool has_data(const View<nvme::SqeLayout>& sqe) {
    const auto sgl = sqe.get(nvme::sqe::sgl1);
    return std::any_of(sgl.begin(), sgl.end(), [](std::uint8_t byte) { return byte != 0; });
  }

  void judge_connect(const CommandSeen& seen, State& state, std::uint16_t cid) {
    const bool connect = seen.sqe[0] == nvme::kFabricsOpcode && seen.sqe[4] == static_cast<std::uint8_t>(FabricsType::connect);
    if (connect) {
      if (state.connected || state.connecting) {
        say(Rule::nvme_connect_once, seen.at, seen.queue, fmt::format("command {} is a Connect to a queue that {} connected", cid,
                                                                     state.connected ? "is" : "is being"));
      }
      state.connecting = true;
      state.connect_cid = cid;
    } else if (!state.connected) {
      say(Rule::nvme_connect_first, seen.at, seen.queue,
          fmt::format("command {} (opcode {:02X}h) comes {}", cid, seen.sqe[0],
                      state.connecting ? "before the response to Connect" : "before a Connect"));
    }
    state.any = true;
  }

  void judge_fuse(const CommandSeen& seen, State& state, nvme::Fuse fuse) {
    if (state.fused_first && fuse != nvme::Fuse::second) {
      say(Rule::nvme_fused, seen.at, seen.queue,
          fmt::format("the first of a fused pair, command {}, is not followed by the second", state.fused_cid));
    } else if (!state.fused_first && fuse == nvme::Fuse::second) {
      say(Rule::nvme_fused, seen.at, seen.queue, "the second of a fused pair without the first");
    }
    state.fused_first = fuse == nvme::Fuse::first;
    state.fused_cid = View<nvme::SqeLayout>{seen.sqe}.get(nvme::sqe::cid);
  }

  bool completed(const Sight& at, Queue& queue, State& state, std::uint16_t cid) {
    if (state.open.remove(cid)) return true;
    if (state.ended.has(cid)) return false;
    if (state.used.has(cid)) {
      say(Rule::nvme_completion_twice, at, queue, fmt::format("command {} was completed before", cid));
    } else {
      say(Rule::nvme_completion_unknown, at, queue, fmt::format("there was no command {}", cid));
    }
    return false;
  }

  void judge_head(const CompletionSeen& seen, State& state, std::uint16_t sqhd, bool connect) {
    const Queue& queue = seen.queue;
    if (!queue.flow_control || queue.entries == 0) return;
    if (!*queue.flow_control) {
      if (!connect && sqhd != 0) say(Rule::nvme_sqhd_off, seen.at, fmt::format("SQHD is {} although flow control is off", sqhd));
      return;
    }
    const std::uint32_t entries = queue.entries;
    const auto head = static_cast<std::uint32_t>(state.head % entries);
    const std::uint64_t next = state.head + (sqhd % entries + entries - head) % entries;
    if (sqhd >= entries || next > state.tail) {
      return say(Rule::nvme_sqhd, seen.at, seen.queue,
                 fmt::format("SQHD {} after {}, with {} commands sent to a queue of {} entries", sqhd, head, state.tail, entries));
    }
    state.head = next;
  }

  PerIndex<State> states_;
};

}  // namespace

std::unique_ptr<Judge> judge_of_queues(Findings& findings, bool complete) { return std::make_unique<Queues>(findings, complete); }

}  // namespace fb::monitors
