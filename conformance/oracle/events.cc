// Asynchronous events, and what Abort says of the commands that it names.
#include <fmt/format.h>

#include <map>
#include <optional>

#include "conformance/oracle/subjects.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/logs.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::EventType;
namespace info = nvme::event_info;
namespace enables = nvme::event_config_bits;

/// The bit of feature 0Bh that enables a notice.
std::optional<std::uint32_t> enabling(std::uint8_t notice) {
  switch (notice) {
    case info::notice_namespace_attribute:
      return enables::namespace_attribute;
    case info::notice_firmware_activation:
      return enables::firmware_activation;
    case info::notice_telemetry:
      return enables::telemetry;
    case info::notice_ana_change:
      return enables::ana_change;
    case info::notice_lba_status:
      return enables::lba_status;
    case info::notice_endurance_group:
      return enables::endurance_group;
    case info::notice_zone_descriptor:
      return enables::zone_descriptor;
    case info::notice_discovery_log:
      return enables::discovery_log;
    case info::notice_cross_controller_reset:
      return enables::cross_controller_reset;
    case info::notice_lost_host:
      return enables::lost_host;
    default:
      return std::nullopt;
  }
}

/// The log page that an event sends the host to, of those events that have one.
std::optional<nvme::LogPage> page_of(const nvme::Event& event) {
  using nvme::LogPage;
  if (event.type == EventType::error) return LogPage::error_information;
  if (event.type == EventType::smart) return LogPage::smart;
  if (event.type == EventType::command_set) {
    switch (event.info) {
      case info::command_set_reservation:
        return LogPage::reservation_notification;
      case info::command_set_sanitize_completed:
      case info::command_set_sanitize_unexpected:
      case info::command_set_sanitize_media_verification:
        return LogPage::sanitize_status;
      default:
        return std::nullopt;
    }
  }
  if (event.type != EventType::notice) return std::nullopt;
  switch (event.info) {
    case info::notice_namespace_attribute:
      return LogPage::changed_namespaces;
    case info::notice_firmware_activation:
      return LogPage::firmware_slot;
    case info::notice_telemetry:
      return LogPage::telemetry_controller;
    case info::notice_ana_change:
      return LogPage::ana;
    case info::notice_lba_status:
      return LogPage::lba_status;
    case info::notice_endurance_group:
      return LogPage::endurance_group_events;
    case info::notice_zone_descriptor:
      return LogPage::changed_zones;
    case info::notice_discovery_log:
      return LogPage::discovery;
    case info::notice_cross_controller_reset:
      return LogPage::cross_controller_reset;
    case info::notice_lost_host:
      return LogPage::lost_host;
    default:
      return std::nullopt;
  }
}

/// Telemetry is claimed by LPA instead.
bool claimed_by_oaes(std::uint32_t bit) { return bit != enables::telemetry; }

class Events final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    State& state = states_[one.controller];
    if (one.is(AdminOpcode::async_event_request)) ++state.requests;
    if (is_configuration(one) && one.is(AdminOpcode::set_features) && state.ever_enabled) {
      *state.ever_enabled |= one.command<nvme::SetFeaturesSqe>().get(nvme::features_sqe::cdw11);
    }
  }

  void on_answer(const Exchange& one) override {
    State& state = states_[one.controller];
    if (one.is(AdminOpcode::identify)) on_identify(state, one);
    if (is_configuration(one) && one.is(AdminOpcode::get_features)) on_get(state, one);
    if (is_configuration(one) && one.is(AdminOpcode::set_features) && one.ok()) ++state.sets;
    if (!one.is(AdminOpcode::async_event_request)) return;
    if (one.ok()) judge_enabled(state, one);
    if (one.ok()) judge_event(state, one);
    judge_limit(state, one);
    --state.requests;
  }

  void on_abandoned(const Exchange& one) override {
    if (one.is(AdminOpcode::async_event_request)) --states_[one.controller].requests;
  }
  void on_controller(const Controller& controller) override {
    if (controller.declared.size() >= nvme::kIdentifySize) claim(states_[&controller], controller.declared);
  }
  void on_controller_end(const Controller& controller) override { states_.erase(&controller); }
  void on_reset(const Controller& controller) override { states_[&controller].ever_enabled.reset(); }
  void on_unsure(const Subsystem* subsystem) override {
    for (auto& [controller, state] : states_) {
      if (subsystem == nullptr || controller->subsystem == subsystem) state.ever_enabled.reset();
    }
  }

 private:
  struct State {
    unsigned requests = 0;                           // outstanding
    std::optional<unsigned> requests_max = {};       // AERL + 1
    std::optional<std::uint32_t> claimed = {};       // OAES
    std::optional<std::uint32_t> ever_enabled = {};  // bits of feature 0Bh that are or were set, since it was read
    unsigned sets = 0;
  };

  static bool is_configuration(const Exchange& one) {
    if (!one.is(AdminOpcode::set_features) && !one.is(AdminOpcode::get_features)) return false;
    return one.command<nvme::SetFeaturesSqe>().get(nvme::features_sqe::fid) ==
           static_cast<std::uint8_t>(nvme::FeatureId::async_event_configuration);
  }

  static void on_identify(State& state, const Exchange& one) {
    const auto command = one.command<nvme::IdentifySqe>();
    const ByteView page = one.data_in(nvme::kIdentifySize);
    if (!one.ok() || page.empty() || command.get(nvme::identify_sqe::cns) != static_cast<std::uint8_t>(nvme::Cns::controller)) return;
    claim(state, page);
  }
  static void claim(State& state, ByteView page) {
    state.requests_max = View<nvme::IdentifyController>{page}.get(nvme::id_ctrl::aerl).raw() + 1u;
    state.claimed = View<nvme::IdentifyController>{page}.get(nvme::id_ctrl::oaes);
  }

  // A value that was set before may have let an event wait that is reported yet.
  static void on_get(State& state, const Exchange& one) {
    const bool current = one.command<nvme::GetFeaturesSqe>().get(nvme::features_sqe::sel) == nvme::FeatureSelect::current;
    if (one.ok() && current && state.sets == 0 && !state.ever_enabled) state.ever_enabled = one.answer().get(nvme::cqe::dw0);
  }

  void judge_enabled(const State& state, const Exchange& one) {
    const nvme::Event event = nvme::Event::from_dw0(one.answer().get(nvme::cqe::dw0));
    const auto bit = event.type == EventType::notice ? enabling(event.info) : std::nullopt;
    if (!state.ever_enabled || !bit) return;
    judged(Rule::oracle_event_enabled);
    if ((*state.ever_enabled & *bit) != 0) return;
    say(Rule::oracle_event_enabled,
        fmt::format("{} is reported, and bit {:#x} of Asynchronous Event Configuration was not set", to_string(event), *bit));
  }

  /// What the event is about, whoever enabled it.
  void judge_event(const State& state, const Exchange& one) {
    const nvme::Event event = nvme::Event::from_dw0(one.answer().get(nvme::cqe::dw0));
    if (const auto page = page_of(event)) {
      judged(Rule::oracle_event_enabled);
      if (static_cast<nvme::LogPage>(event.lid) != *page) {
        say(Rule::oracle_event_enabled,
            fmt::format("{} is reported, and its log page is {:02X}h", to_string(event), static_cast<unsigned>(*page)));
      }
    }
    const auto bit = event.type == EventType::notice ? enabling(event.info) : std::nullopt;
    if (!state.claimed || !bit || !claimed_by_oaes(*bit)) return;
    judged(Rule::oracle_event_enabled);
    if ((*state.claimed & *bit) != 0) return;
    say(Rule::oracle_event_enabled, fmt::format("{} is reported, and OAES does not have bit {:#x}", to_string(event), *bit));
  }

  void judge_limit(const State& state, const Exchange& one) {
    if (!state.requests_max) return;
    judged(Rule::oracle_event_limit);
    const bool refused = nvme::same_code(one.status(), nvme::sc::async_event_request_limit_exceeded);
    if (!refused || state.requests > *state.requests_max) return;
    say(Rule::oracle_event_limit, fmt::format("an Asynchronous Event Request is refused with {} outstanding, and AERL allows {}",
                                              state.requests, *state.requests_max));
  }

  std::map<const Controller*, State, ByNumber> states_;
};

/// What Abort returns, against what became of the command that it names.
class Aborts final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    open_[place_of(one)] = one.number;
    if (!one.is(AdminOpcode::abort)) return;
    const auto command = one.command<nvme::AbortSqe>();
    const Place named{one.controller->number, command.get(nvme::abort_sqe::sqid), command.get(nvme::abort_sqe::abort_cid)};
    const auto target = open_.find(named);
    aborts_[one.number] = {target == open_.end() ? 0 : target->second, {}};
  }

  void on_answer(const Exchange& one) override {
    open_.erase(place_of(one));
    for (auto& [number, abort] : aborts_) {
      if (abort.target != one.number) continue;
      abort.became = one.status();
    }
    if (const auto claimed = claimed_.find(one.number); claimed != claimed_.end()) {
      claimed_.erase(claimed);
      judge_aborted(one, one.status());
    }
    const auto found = aborts_.find(one.number);
    if (found == aborts_.end()) return;
    const Aborting abort = found->second;
    aborts_.erase(found);
    if (!one.ok()) return;
    const bool done = (one.answer().get(nvme::cqe::dw0) & nvme::kAbortNotDone) == 0;
    if (!done) return;
    judged(Rule::oracle_abort);
    const auto command = one.command<nvme::AbortSqe>();
    if (abort.target == 0) {
      say(Rule::oracle_abort, fmt::format("Abort says that command {} of queue {} was aborted, and there was none outstanding",
                                          command.get(nvme::abort_sqe::abort_cid), command.get(nvme::abort_sqe::sqid)));
    } else if (abort.became) {
      judge_aborted(one, *abort.became);
    } else {
      claimed_[abort.target] = true;
    }
  }

  void on_abandoned(const Exchange& one) override {
    open_.erase(place_of(one));
    aborts_.erase(one.number);
    claimed_.erase(one.number);
    std::erase_if(aborts_, [&](const auto& abort) { return abort.second.target == one.number; });
  }

 private:
  struct Place {
    std::uint64_t controller = 0;
    std::uint16_t sqid = 0, cid = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Aborting {
    std::uint64_t target = 0;  // 0: none was outstanding
    std::optional<nvme::Status> became = {};
  };

  static Place place_of(const Exchange& one) { return {one.controller->number, *one.queue->qid, one.command().get(nvme::sqe::cid)}; }

  void judge_aborted(const Exchange& one, nvme::Status became) {
    if (nvme::same_code(became, nvme::sc::abort_requested)) return;
    say(Rule::oracle_abort,
        fmt::format("Abort says that a command was aborted, and it completes with {} (packet {})", to_string(became), one.packet));
  }

  std::map<Place, std::uint64_t> open_;
  std::map<std::uint64_t, Aborting> aborts_;
  std::map<std::uint64_t, bool> claimed_;
};

}  // namespace

std::unique_ptr<Subject> follow_events(Reporter& reporter, bool complete) { return std::make_unique<Events>(reporter, complete); }
std::unique_ptr<Subject> follow_aborts(Reporter& reporter, bool complete) { return std::make_unique<Aborts>(reporter, complete); }

}  // namespace fb::oracle
