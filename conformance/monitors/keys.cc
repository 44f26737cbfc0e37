// What a controller does with the keys that commands hand to it (NVMe/RDMA).
#include <fmt/format.h>

#include <vector>

#include "conformance/monitors/by_cid.h"
#include "conformance/monitors/judge.h"
#include "conformance/monitors/per_index.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"

namespace fb::monitors {

namespace {

using nvme::DataDirection;
using nvme::SglDescriptor;
using nvme::SglType;

constexpr std::size_t kFormerKept = 256;

class Keys final : public Judge {
 public:
  using Judge::Judge;
  unsigned hears() const override { return heard::rdma_capsules | heard::rdma_messages; }

  void on_command(const CommandSeen& seen) override {
    if (!seen.queue.certain()) return;
    const View<nvme::SqeLayout> sqe{seen.sqe};
    Command& command = state_of(seen.queue).open.put(sqe.get(nvme::sqe::cid));
    command.cid = sqe.get(nvme::sqe::cid);
    command.direction = nvme::direction_of(seen.sqe[0] == nvme::kFabricsOpcode ? seen.sqe[4] : seen.sqe[0]);
    const SglDescriptor first = SglDescriptor::parse(sqe.get(nvme::sqe::sgl1));
    if (first.type == SglType::keyed_data_block) {
      command.ranges.push_back(first);
    } else if (first.type == SglType::last_segment && first.subtype == nvme::sgl_subtype::offset) {
      for (std::size_t at = first.address; at + SglDescriptor::kSize <= seen.data.size() && at < first.address + first.length;
           at += SglDescriptor::kSize) {
        const SglDescriptor one = SglDescriptor::parse(seen.data.subspan(at));
        if (one.type == SglType::keyed_data_block) command.ranges.push_back(one);
      }
    } else if (first.type == SglType::segment) {
      command.unclear = true;
    }
  }

  void on_completion(const CompletionSeen& seen) override {
    if (!seen.queue.certain()) return;
    State& state = state_of(seen.queue);
    const std::uint16_t cid = View<nvme::CqeLayout>{seen.cqe}.get(nvme::cqe::cid);
    const Command* const found = state.open.find(cid);
    if (found == nullptr) return;
    if (seen.invalidates && !found->unclear) judge_invalidate(seen, *found, *seen.invalidates);
    for (const SglDescriptor& range : found->ranges) {
      if (state.former.size() < kFormerKept) state.former.emplace_back();
      state.former[state.next_former++ % kFormerKept] = {range.key, cid};
    }
    state.open.erase(cid);
  }

  void on_rdma_message(const RdmaMessageSeen& seen) override {
    if (is_judged(seen)) judge_use(seen, *seen.half.queue, way_of(seen));
  }

  bool message_in_order(const RdmaMessageSeen& seen) const override {
    return !is_judged(seen) || allowed(*states_.find(seen.half.queue->index), seen, way_of(seen));
  }

 private:
  struct Command {
    std::uint16_t cid = 0;
    DataDirection direction = DataDirection::none;
    bool unclear = false;
    std::vector<SglDescriptor> ranges;
    void clear() {
      unclear = false;
      ranges.clear();
    }
  };
  struct Former {
    std::uint32_t key = 0;
    std::uint16_t cid = 0;
  };
  struct State {
    ByCid<Command> open;
    std::vector<Former> former;  // keys of commands that are completed, the oldest written over
    std::size_t next_former = 0;
  };

  State& state_of(const Queue& queue) { return states_[queue.index]; }

  static DataDirection way_of(const RdmaMessageSeen& seen) {
    return seen.kind == roce::OpcodeKind::read_request ? DataDirection::host_to_controller : DataDirection::controller_to_host;
  }

  static bool is_judged(const RdmaMessageSeen& seen) {
    if (seen.kind != roce::OpcodeKind::read_request && seen.kind != roce::OpcodeKind::write) return false;
    const RdmaHalf& half = seen.half;
    if (half.by_host || half.connection == nullptr || half.queue == nullptr || !half.whole || !seen.at.genuine()) return false;
    return half.queue->certain() && half.back != nullptr && half.back->whole && half.back->ahead == 0 && seen.length != 0;
  }

  static bool holds(const SglDescriptor& range, std::uint64_t va, std::uint64_t length) {
    return va >= range.address && va - range.address <= range.length && length <= range.length - (va - range.address);
  }

  static bool allowed(const State& state, const RdmaMessageSeen& seen, DataDirection way) {
    bool found = false;
    state.open.each([&](std::uint16_t, const Command& command) {
      if (found || command.unclear) {
        found = true;
        return;
      }
      if (command.direction != way && command.direction != DataDirection::bidirectional) return;
      for (const SglDescriptor& range : command.ranges) found = found || (range.key == seen.rkey && holds(range, seen.va, seen.length));
    });
    return found;
  }

  void judge_use(const RdmaMessageSeen& seen, Queue& queue, DataDirection way) {
    judged(Rule::rdma_key_unknown, Rule::rdma_key_range, Rule::rdma_key_direction, Rule::rdma_key_late);
    State& state = state_of(queue);
    if (allowed(state, seen, way)) return;
    const std::string what = fmt::format("a {} of {} bytes at {:#x} under key {:#x}",
                                         way == DataDirection::host_to_controller ? "READ" : "WRITE", seen.length, seen.va, seen.rkey);
    const Command* same_key = nullptr;
    const Command* same_range = nullptr;
    state.open.each([&](std::uint16_t, const Command& command) {
      for (const SglDescriptor& range : command.ranges) {
        if (range.key != seen.rkey) continue;
        same_key = &command;
        if (holds(range, seen.va, seen.length)) same_range = &command;
      }
    });
    if (same_range != nullptr) {
      return say(Rule::rdma_key_direction, seen.at, queue, what + fmt::format(": command {} moves data the other way", same_range->cid));
    }
    if (same_key != nullptr) {
      return say(Rule::rdma_key_range, seen.at, queue, what + fmt::format(": outside of the descriptors of command {}", same_key->cid));
    }
    for (const Former& former : state.former) {
      if (former.key != seen.rkey) continue;
      return say(Rule::rdma_key_late, seen.at, queue, what + fmt::format(", after the response to command {}", former.cid));
    }
    say(Rule::rdma_key_unknown, seen.at, queue, what + ", which no outstanding command has");
  }

  void judge_invalidate(const CompletionSeen& seen, const Command& command, std::uint32_t key) {
    judged(Rule::rdma_invalidate);
    for (const SglDescriptor& range : command.ranges) {
      if (range.key == key && range.subtype == nvme::sgl_subtype::invalidate_key) return;
    }
    say(Rule::rdma_invalidate, seen.at, seen.queue,
        fmt::format("the response to command {} invalidates key {:#x}, which no descriptor of it asks for", command.cid, key));
  }

  PerIndex<State> states_;
};

}  // namespace

std::unique_ptr<Judge> judge_of_keys(Findings& findings, bool complete) { return std::make_unique<Keys>(findings, complete); }

}  // namespace fb::monitors
