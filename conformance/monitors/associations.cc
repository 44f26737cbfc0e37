// What holds among the queues of an association: keep alive, readiness, properties, events.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>

#include "conformance/monitors/by_cid.h"
#include "conformance/monitors/judge.h"
#include "conformance/monitors/per_index.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/property.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/features.h"
#include "wire/nvme/sqe.h"

namespace fb::monitors {

namespace {

using nvme::AdminOpcode;
using nvme::FabricsType;

class Associations final : public Judge {
 public:
  using Judge::Judge;
  unsigned hears() const override { return heard::capsules; }

  void on_command(const CommandSeen& seen) override {
    if (!seen.at.genuine()) return;
    if (seen.queue.qid.value_or(1) == 0) {
      on_admin_command(seen);
    } else {
      on_io_command(seen);
    }
  }

  void on_completion(const CompletionSeen& seen) override {
    if (!seen.queue.certain() || seen.queue.qid.value_or(1) != 0 || !seen.at.genuine()) return;
    State& state = state_of(seen.queue);
    const View<nvme::CqeLayout> cqe{seen.cqe};
    const Pending* const found = state.open.find(cqe.get(nvme::cqe::cid));
    if (found == nullptr) return;
    const Pending pending = *found;
    state.open.erase(cqe.get(nvme::cqe::cid));
    if (!cqe.get(nvme::cqe::status).ok()) return;
    if (pending.event) return on_event(seen, state, cqe.get(nvme::cqe::dw0));
    if (pending.connect) {
      associations_[{seen.queue.controller.address, seen.queue.host.address, cqe.get(nvme::cqe::dw0) & 0xFFFF}] = seen.queue.index;
    }
    if (pending.keep_alive_time) state.kato_ms = *pending.keep_alive_time;
    if (pending.property_get) on_property(seen, state, *pending.property_get, pending.eight);
  }

  bool completion_in_order(const CompletionSeen& seen) const override {
    if (!seen.queue.certain() || seen.queue.qid.value_or(1) != 0 || !seen.at.genuine()) return true;
    const State& state = *states_.find(seen.queue.index);
    const View<nvme::CqeLayout> cqe{seen.cqe};
    const Pending* const pending = state.open.find(cqe.get(nvme::cqe::cid));
    if (pending == nullptr || !cqe.get(nvme::cqe::status).ok()) return true;
    if (pending->event) return state.masked.count(cqe.get(nvme::cqe::dw0) & kEventBits) == 0;
    if (pending->property_get != fabrics::property::csts) return true;
    const bool ready = (View<fabrics::PropertyGetReply>{seen.cqe}.get(fabrics::property_reply::value) & 1) != 0;
    return !ready || state.enabled;
  }

 private:
  static constexpr std::uint32_t kEventBits = 0x00FFFF07;
  struct Pending {
    bool connect = false, event = false, eight = false;
    std::optional<std::uint32_t> property_get = {};
    std::optional<std::uint32_t> keep_alive_time = {};
    void clear() { *this = {}; }
  };
  struct State {
    ByCid<Pending> open;
    Queue* queue = nullptr;
    State* admin = nullptr;  // of an I/O queue
    std::uint64_t kato_ms = 0;
    Instant heard;
    bool enabled = false, ready = false;
    std::map<std::uint32_t, std::uint64_t> constant;  // properties, by offset
    std::set<std::uint32_t> masked;                   // events, by their words
  };

  State& state_of(const Queue& queue) { return states_[queue.index]; }

  // The admin queue that an I/O queue belongs to.
  State* admin_of(const Queue& queue, std::uint32_t cntlid) {
    const auto found = associations_.find({queue.controller.address, queue.host.address, cntlid});
    return found == associations_.end() ? nullptr : &states_[found->second];
  }

  void on_io_command(const CommandSeen& seen) {
    const bool fabrics = seen.sqe[0] == nvme::kFabricsOpcode;
    const auto type = static_cast<FabricsType>(seen.sqe[4]);
    if (fabrics && seen.queue.qid && seen.queue.cntlid) judged(Rule::nvme_property_queue);
    if (fabrics && seen.queue.qid && seen.queue.cntlid && (type == FabricsType::property_get || type == FabricsType::property_set)) {
      say(Rule::nvme_property_queue, seen.at, fmt::format("a property command on I/O queue {}", *seen.queue.qid));
    }
    if (fabrics && type == FabricsType::connect && seen.data.size() >= fabrics::ConnectData::size) {
      const std::uint32_t cntlid = View<fabrics::ConnectData>{seen.data}.get(fabrics::connect_data::cntlid);
      const State* admin = admin_of(seen.queue, cntlid);
      if (complete_ && admin != nullptr && admin->queue->certain()) judged(Rule::nvme_io_before_ready);
      if (complete_ && admin != nullptr && admin->queue->certain() && !admin->ready && seen.queue.qid) {
        say(Rule::nvme_io_before_ready, seen.at,
            fmt::format("Connect to I/O queue {} of controller {}, whose CSTS.RDY was not seen", *seen.queue.qid, cntlid));
      }
    }
    if (!seen.queue.cntlid) return;
    State& state = state_of(seen.queue);
    if (state.admin == nullptr) state.admin = admin_of(seen.queue, *seen.queue.cntlid);
    if (state.admin != nullptr) state.admin->heard = seen.at.time;
  }

  void on_admin_command(const CommandSeen& seen) {
    Queue& queue = seen.queue;
    if (!queue.certain()) return;
    State& state = state_of(queue);
    state.queue = &queue;
    const View<nvme::SqeLayout> sqe{seen.sqe};
    if (state.kato_ms != 0) {
      judged(Rule::nvme_keep_alive);
      // Controllers count in coarse steps, which they tell their hosts in data that is not looked into.
      const auto limit = Duration::ms(static_cast<std::int64_t>(state.kato_ms) * 2) + kGranularity;
      if (seen.at.time - state.heard > limit) {
        say(Rule::nvme_keep_alive, seen.at,
            fmt::format("{} without a command, the keep alive time is {} ms", to_string(seen.at.time - state.heard), state.kato_ms));
      }
    }
    state.heard = seen.at.time;
    Pending pending;
    const std::uint8_t opcode = seen.sqe[0];
    if (opcode == nvme::kFabricsOpcode) {
      switch (static_cast<FabricsType>(seen.sqe[4])) {
        case FabricsType::connect:
          pending.connect = true;
          pending.keep_alive_time = View<fabrics::ConnectSqe>{seen.sqe}.get(fabrics::connect_sqe::kato);
          break;
        case FabricsType::property_set:
          on_property_set(seen, state);
          break;
        case FabricsType::property_get: {
          const View<fabrics::PropertyGetSqe> get{seen.sqe};
          pending.property_get = get.get(fabrics::property_sqe::ofst);
          pending.eight = get.get(fabrics::property_sqe::size) == fabrics::PropertySize::eight;
          break;
        }
        default:
          break;
      }
    } else if (opcode == static_cast<std::uint8_t>(AdminOpcode::async_event_request)) {
      pending.event = true;
    } else if (opcode == static_cast<std::uint8_t>(AdminOpcode::set_features)) {
      const View<nvme::SetFeaturesSqe> set{seen.sqe};
      if (set.get(nvme::features_sqe::fid) == kKeepAliveTimer) pending.keep_alive_time = set.get(nvme::features_sqe::cdw11);
    } else if (opcode == static_cast<std::uint8_t>(AdminOpcode::get_log_page)) {
      const std::uint8_t lid = View<nvme::GetLogPageSqe>{seen.sqe}.get(nvme::get_log_sqe::lid);
      std::erase_if(state.masked, [lid](std::uint32_t event) { return (event >> 16 & 0xFF) == lid; });
    }
    state.open.put(sqe.get(nvme::sqe::cid)) = pending;
  }

  void on_property_set(const CommandSeen& seen, State& state) {
    judged(Rule::nvme_property_read_only);
    const View<fabrics::PropertySetSqe> set{seen.sqe};
    const std::uint32_t offset = set.get(fabrics::property_sqe::ofst);
    if (offset == fabrics::property::cap || offset == fabrics::property::vs || offset == fabrics::property::csts) {
      say(Rule::nvme_property_read_only, seen.at, fmt::format("Property Set of offset {:02X}h", offset));
    }
    if (offset == fabrics::property::nssr) state.masked.clear();
    if (offset != fabrics::property::cc) return;
    const bool enable = (set.get(fabrics::property_sqe::value) & 1) != 0;
    if (enable) state.enabled = true;
    if (!enable) state.ready = false;
    // When it is enabled too: an event may still have been on its way when it was disabled.
    state.masked.clear();
  }

  void on_property(const CompletionSeen& seen, State& state, std::uint32_t offset, bool eight) {
    std::uint64_t value = View<fabrics::PropertyGetReply>{seen.cqe}.get(fabrics::property_reply::value);
    if (!eight) value &= 0xFFFFFFFF;
    if (offset == fabrics::property::csts) {
      judged(Rule::nvme_ready_early);
      const bool ready = (value & 1) != 0;
      if (ready && !state.enabled) {
        say(Rule::nvme_ready_early, seen.at, seen.queue, fmt::format("CSTS is {:#x}, and CC.EN was never set", value));
      }
      state.ready = ready;
    }
    // The timeout of CAP may follow the ready mode that CC.CRIME selects.
    if (offset == fabrics::property::cap) value &= ~std::uint64_t{0xFF000000};
    const bool whole = (offset == fabrics::property::cap && eight) || (offset == fabrics::property::vs && !eight);
    if (!whole) return;
    const auto [known, fresh] = state.constant.emplace(offset, value);
    if (!fresh) judged(Rule::nvme_property_stable);
    if (!fresh && known->second != value) {
      say(Rule::nvme_property_stable, seen.at, seen.queue,
          fmt::format("the property at {:02X}h is {:#x}, and was {:#x}", offset, value, known->second));
    }
  }

  void on_event(const CompletionSeen& seen, State& state, std::uint32_t dw0) {
    const std::uint32_t event = dw0 & kEventBits;
    // Without a log page nothing ends the mask; vendors may do as they like.
    constexpr std::uint32_t kVendor = 7;
    if ((event >> 16 & 0xFF) == 0 || (event & 7) == kVendor) return;
    judged(Rule::nvme_event_masked);
    if (!state.masked.insert(event).second) {
      say(Rule::nvme_event_masked, seen.at, seen.queue,
          fmt::format("event {:#x} again, and log page {:02X}h was not read in between", dw0, event >> 16 & 0xFF));
    }
  }

  static constexpr std::uint8_t kKeepAliveTimer = 0x0F;
  static constexpr Duration kGranularity = Duration::s(60);
  PerIndex<State> states_;
  std::map<std::tuple<IpAddress, IpAddress, std::uint32_t>, std::size_t> associations_;
};

}  // namespace

std::unique_ptr<Judge> judge_of_associations(Findings& findings, bool complete) {
  return std::make_unique<Associations>(findings, complete);
}

}  // namespace fb::monitors
