// What a controller does with the keys that commands hand to it (NVMe/RDMA).
#include <fmt/format.h>

#include <deque>
#include <map>
#include <vector>

#include "conformance/monitors/judge.h"
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

  void on_command(const CommandSeen& seen) override {
    if (seen.queue.tcp || !seen.queue.certain()) return;
    const View<nvme::SqeLayout> sqe{seen.sqe};
    Command command;
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
    state_of(seen.queue).open[command.cid] = std::move(command);
  }

  void on_completion(const CompletionSeen& seen) override {
    if (seen.queue.tcp || !seen.queue.certain()) return;
    State& state = state_of(seen.queue);
    const std::uint16_t cid = View<nvme::CqeLayout>{seen.cqe}.get(nvme::cqe::cid);
    const auto found = state.open.find(cid);
    if (found == state.open.end()) return;
    if (seen.invalidates && !found->second.unclear) judge_invalidate(seen, found->second, *seen.invalidates);
    state.former.push_back(std::move(found->second));
    if (state.former.size() > kFormerKept) state.former.pop_front();
    state.open.erase(found);
  }

  void on_rdma_message(const RdmaMessageSeen& seen) override {
    const bool reads = seen.kind == roce::OpcodeKind::read_request;
    if (!reads && seen.kind != roce::OpcodeKind::write) return;
    const RdmaHalf& half = seen.half;
    if (half.by_host || half.connection == nullptr || half.queue == nullptr || !half.whole || !seen.at.genuine()) return;
    if (!half.queue->certain() || half.back == nullptr || !half.back->whole || half.back->ahead != 0 || seen.length == 0) return;
    judge_use(seen, *half.queue, reads ? DataDirection::host_to_controller : DataDirection::controller_to_host);
  }

 private:
  struct Command {
    std::uint16_t cid = 0;
    DataDirection direction = DataDirection::none;
    bool unclear = false;
    std::vector<SglDescriptor> ranges;
  };
  struct State {
    std::map<std::uint16_t, Command> open;
    std::deque<Command> former;
  };

  State& state_of(const Queue& queue) {
    if (states_.size() <= queue.index) states_.resize(queue.index + 1);
    return states_[queue.index];
  }

  static bool holds(const SglDescriptor& range, std::uint64_t va, std::uint64_t length) {
    return va >= range.address && va - range.address <= range.length && length <= range.length - (va - range.address);
  }

  void judge_use(const RdmaMessageSeen& seen, Queue& queue, DataDirection way) {
    const State& state = state_of(queue);
    const std::string what = fmt::format("a {} of {} bytes at {:#x} under key {:#x}",
                                         way == DataDirection::host_to_controller ? "READ" : "WRITE", seen.length, seen.va, seen.rkey);
    const Command* same_key = nullptr;
    for (const auto& [cid, command] : state.open) {
      if (command.unclear) return;
      for (const SglDescriptor& range : command.ranges) {
        if (range.key != seen.rkey) continue;
        same_key = &command;
        if (!holds(range, seen.va, seen.length)) continue;
        if (command.direction == way || command.direction == DataDirection::bidirectional) return;
        return say(Rule::rdma_key_direction, seen.at, queue, what + fmt::format(": command {} moves data the other way", cid));
      }
    }
    if (same_key != nullptr) {
      return say(Rule::rdma_key_range, seen.at, queue, what + fmt::format(": outside of the descriptors of command {}", same_key->cid));
    }
    for (auto former = state.former.rbegin(); former != state.former.rend(); ++former) {
      for (const SglDescriptor& range : former->ranges) {
        if (range.key != seen.rkey) continue;
        return say(Rule::rdma_key_late, seen.at, queue, what + fmt::format(", after the response to command {}", former->cid));
      }
    }
    say(Rule::rdma_key_unknown, seen.at, queue, what + ", which no outstanding command has");
  }

  void judge_invalidate(const CompletionSeen& seen, const Command& command, std::uint32_t key) {
    for (const SglDescriptor& range : command.ranges) {
      if (range.key == key && range.subtype == nvme::sgl_subtype::invalidate_key) return;
    }
    say(Rule::rdma_invalidate, seen.at, seen.queue,
        fmt::format("the response to command {} invalidates key {:#x}, which no descriptor of it asks for", command.cid, key));
  }

  std::vector<State> states_;
};

}  // namespace

std::unique_ptr<Judge> judge_of_keys(Findings& findings, bool complete) { return std::make_unique<Keys>(findings, complete); }

}  // namespace fb::monitors
