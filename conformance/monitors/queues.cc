// Submission and completion on a queue, whatever carries it.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/monitors/by_cid.h"
#include "conformance/monitors/judge.h"
#include "conformance/monitors/per_index.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/nqn.h"
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
      case IoOpcode::verify:
        return false;
      default:
        return true;
    }
  }
  switch (static_cast<AdminOpcode>(sqe[0])) {
    case AdminOpcode::get_log_page:
    case AdminOpcode::identify:
    case AdminOpcode::keep_alive:
    case AdminOpcode::format_nvm:
      return false;
    default:
      return true;
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
    judged(Rule::nvme_cid_reuse);
    judge_connect(seen, state, cid);
    judge_fuse(seen, state, sqe.get(nvme::sqe::fuse));
    judge_pointer(seen, sqe, cid);
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
    judged(Rule::nvme_queue_full);
    const std::uint64_t taken = taken_of(queue, state);
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
    judged(Rule::nvme_completion_phase);
    if (cqe.get(nvme::cqe::phase) != 0) {
      say(Rule::nvme_completion_phase, seen.at, fmt::format("the response to command {} has its phase bit set", cid));
    }
    const bool with_dwords = state.with_dwords.size() != 0 && state.with_dwords.remove(cid);
    if (!completed(seen.at, queue, state, cid)) return;
    if (!with_dwords) judged(Rule::nvme_completion_dwords);
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
    // With SQ flow control on it is the controller's fault that there is no SQHD; what was answered was fetched.
    if (completed(seen.at, *seen.flow.queue, state, cid)) state.sqhd_owed = true;
  }

  bool command_in_order(const CommandSeen& seen) const override {
    const Queue& queue = seen.queue;
    if (!queue.certain() || !seen.at.genuine()) return true;
    const State& state = *states_.find(queue.index);
    if (is_connect(seen.sqe) ? state.connected || state.connecting : !state.connected) return false;
    if (disables(seen.sqe)) return true;
    if (state.open.has(View<nvme::SqeLayout>{seen.sqe}.get(nvme::sqe::cid))) return false;
    if (!queue.flow_control || queue.entries == 0) return true;
    return taken_of(queue, state) + 1 <= queue.entries - 1;
  }

  bool completion_in_order(const CompletionSeen& seen) const override {
    const Queue& queue = seen.queue;
    if (!queue.certain() || !seen.at.genuine()) return true;
    const State& state = *states_.find(queue.index);
    const View<nvme::CqeLayout> cqe{seen.cqe};
    const std::uint16_t cid = cqe.get(nvme::cqe::cid);
    if (state.ended.has(cid)) return true;
    if (!state.open.has(cid)) return false;
    const bool counts = queue.flow_control.value_or(false) && queue.entries != 0 && state.connected;
    return !counts || head_of(queue, state, cqe.get(nvme::cqe::sqhd)) <= state.tail;
  }

 private:
  struct State {
    CidSet open;
    CidSet used;
    CidSet with_dwords;                // of `open`: may say something in its completion
    CidSet ended;                      // may be completed all the same: on its way
    std::uint64_t head = 0, tail = 0;  // counted, not wrapped
    bool sqhd_owed = false;            // since `head`, SUCCESS has ended commands without SQHD
    bool any = false, connecting = false, connected = false;
    std::uint16_t connect_cid = 0;
    bool fused_first = false;
    std::uint16_t fused_cid = 0;
  };

  State& state_of(const Queue& queue) { return states_[queue.index]; }

  static bool is_connect(ByteView sqe) {
    return sqe[0] == nvme::kFabricsOpcode && sqe[4] == static_cast<std::uint8_t>(FabricsType::connect);
  }

  /// Entries of the submission queue that are taken.
  static std::uint64_t taken_of(const Queue& queue, const State& state) {
    return *queue.flow_control && !state.sqhd_owed ? state.tail - state.head : state.open.size();
  }

  /// The head that SQHD stands for, counted and not wrapped.
  static std::uint64_t head_of(const Queue& queue, const State& state, std::uint16_t sqhd) {
    const auto head = static_cast<std::uint32_t>(state.head % queue.entries);
    std::uint64_t next = state.head + (sqhd % queue.entries + queue.entries - head) % queue.entries;
    // More than a round of the queue may have gone by.
    while (state.sqhd_owed && next + queue.entries <= state.tail) next += queue.entries;
    return next;
  }

  /// A Property Set that writes CC with EN = 0.
  static bool disables(ByteView sqe) {
    if (sqe[0] != nvme::kFabricsOpcode || sqe[4] != static_cast<std::uint8_t>(FabricsType::property_set)) return false;
    return load_le<std::uint32_t>(&sqe[44]) == fabrics::property::cc && (sqe[48] & 1) == 0;
  }

  static bool has_data(const View<nvme::SqeLayout>& sqe) {
    const auto sgl = sqe.get(nvme::sqe::sgl1);
    return std::any_of(sgl.begin(), sgl.end(), [](std::uint8_t byte) { return byte != 0; });
  }

  // How the command says where its data is. A command without data has a pointer too.
  void judge_pointer(const CommandSeen& seen, const View<nvme::SqeLayout>& sqe, std::uint16_t cid) {
    const auto psdt = sqe.get(nvme::sqe::psdt);
    const bool fabrics = seen.sqe[0] == nvme::kFabricsOpcode;
    const bool moves = nvme::direction_of(fabrics ? seen.sqe[4] : seen.sqe[0]) != nvme::DataDirection::none;
    const bool data = has_data(sqe);
    if (fabrics) {
      judged(Rule::nvme_psdt_fabrics);
      if (psdt == nvme::Psdt::prp) {
        say(Rule::nvme_psdt_fabrics, seen.at, fmt::format("command {} has PSDT 00b, which Linux's target refuses", cid));
      }
    } else if (moves && data) {
      judged(Rule::nvme_psdt);
      if (psdt == nvme::Psdt::prp) say(Rule::nvme_psdt, seen.at, fmt::format("command {} says that its data pointer is a PRP", cid));
    } else {
      judged(Rule::nvme_psdt_no_data);
      if (psdt == nvme::Psdt::prp) {
        say(Rule::nvme_psdt_no_data, seen.at, fmt::format("command {} (opcode {:02X}h) has no data, and PSDT 00b", cid, seen.sqe[0]));
      }
    }
    if (moves) return;
    judged(Rule::nvme_no_data_descriptor);
    if (!data) {
      say(Rule::nvme_no_data_descriptor, seen.at,
          fmt::format("command {} has 16 zero bytes for a descriptor{}", cid, seen.queue.tcp ? "" : ", which Linux's target refuses"));
    }
  }

  void judge_connect_fields(const CommandSeen& seen) {
    const View<fabrics::ConnectSqe> connect{seen.sqe};
    if (seen.queue.hsqsize) {
      judged(Rule::rdma_connect_sqsize);
      const unsigned sqsize = connect.get(fabrics::connect_sqe::sqsize).raw();
      if (sqsize > *seen.queue.hsqsize) {
        say(Rule::rdma_connect_sqsize, seen.at, fmt::format("SQSIZE {}, and the REQ has HSQSIZE {}", sqsize, *seen.queue.hsqsize));
      }
    }
    if (seen.data.size() < fabrics::ConnectData::size) return;
    const auto hostnqn = fabrics::terminated_text(View<fabrics::ConnectData>{seen.data}.get(fabrics::connect_data::hostnqn));
    if (!hostnqn || !hostnqn->starts_with(fabrics::kUuidNqnPrefix)) return;
    judged(Rule::nvme_hostnqn_uuid);
    if (!fabrics::valid_nqn(*hostnqn)) say(Rule::nvme_hostnqn_uuid, seen.at, fmt::format("HOSTNQN \"{}\"", *hostnqn));
  }

  void judge_connect(const CommandSeen& seen, State& state, std::uint16_t cid) {
    judged(Rule::nvme_connect_first);
    if (is_connect(seen.sqe)) {
      judged(Rule::nvme_connect_once);
      judge_connect_fields(seen);
      if (state.connected || state.connecting) {
        say(Rule::nvme_connect_once, seen.at, seen.queue,
            fmt::format("command {} is a Connect to a queue that {} connected", cid, state.connected ? "is" : "is being"));
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
    if (state.fused_first || fuse == nvme::Fuse::second) judged(Rule::nvme_fused);
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
    judged(Rule::nvme_completion_unknown, Rule::nvme_completion_twice);
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
    judged(*queue.flow_control ? Rule::nvme_sqhd : Rule::nvme_sqhd_off);
    if (!*queue.flow_control) {
      if (!connect && sqhd != 0) say(Rule::nvme_sqhd_off, seen.at, fmt::format("SQHD is {} although flow control is off", sqhd));
      return;
    }
    const std::uint32_t entries = queue.entries;
    const auto head = static_cast<std::uint32_t>(state.head % entries);
    const std::uint64_t next = head_of(queue, state, sqhd);
    state.sqhd_owed = false;
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
