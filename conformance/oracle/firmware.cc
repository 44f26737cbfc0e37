// Firmware slots: what a commit changes in them, what it does not, and the revision that runs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "conformance/oracle/subjects.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/logs.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::CommitAction;

constexpr unsigned kSlots = 7;
constexpr std::size_t kRevision = 8;

/// Done, whether or not it takes a reset to make it run.
bool is_done(const Exchange& one) {
  const nvme::Status status = one.status();
  return one.ok() || same_code(status, nvme::sc::firmware_needs_conventional_reset) ||
         same_code(status, nvme::sc::firmware_needs_subsystem_reset) || same_code(status, nvme::sc::firmware_needs_controller_reset);
}

class Firmware final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    last_ = one.began;
    if (one.is(AdminOpcode::firmware_commit)) on_commit_of_others(one, one.began);
    if (one.is(nvme::FabricsType::property_set)) on_activation(one.controller->subsystem, one.began);
  }
  void on_abandoned(const Exchange& one) override {
    last_ = one.ended;
    if (one.is(AdminOpcode::firmware_commit)) forget(one.controller->subsystem);
  }
  void on_answer(const Exchange& one) override {
    last_ = one.ended;
    if (one.subsystem().discovery) return;
    if (one.is(nvme::FabricsType::property_set)) return on_activation(one.controller->subsystem, one.ended);
    if (one.is(AdminOpcode::firmware_commit)) return on_commit(one);
    if (one.is(AdminOpcode::nvme_mi_send)) return forget(one.controller->subsystem);
    if (!one.ok()) return;
    if (one.is(AdminOpcode::identify)) on_identify(one);
    if (one.is(AdminOpcode::get_log_page)) on_log(one);
  }
  void on_controller_end(const Controller& controller) override {
    states_.erase(&controller);
    on_activation(controller.subsystem, last_);
  }
  void on_unsure(const Subsystem* subsystem) override { forget(subsystem); }

 private:
  using Revision = std::array<std::uint8_t, kRevision>;
  struct Slots {
    unsigned active = 0, next = 0;
    std::array<Revision, kSlots> revisions = {};
  };
  struct State {
    std::optional<Slots> slots = {};
    std::optional<Revision> running = {};
    std::uint8_t replaced = 0;  // bits of slots whose revision may be another
    bool activated = false;     // the active slot and the next one may be others
    std::uint64_t touched = 0, packet = 0, packet_of_running = 0;
  };

  template <class Visit>
  void each(const Subsystem* subsystem, Visit&& visit) {
    for (auto& [controller, state] : states_) {
      if (subsystem == nullptr || controller->subsystem == subsystem) visit(*controller, state);
    }
  }
  void forget(const Subsystem* subsystem) {
    each(subsystem, [&](const Controller&, State& state) { state = {.touched = last_}; });
  }
  /// A reset may make another image run, on all controllers of the subsystem.
  void on_activation(const Subsystem* subsystem, std::uint64_t order) {
    each(subsystem, [&](const Controller&, State& state) {
      state.activated = true;
      state.running.reset();
      state.touched = order;
    });
  }
  /// Controllers of one subsystem share their slots, or belong to several domains.
  void on_commit_of_others(const Exchange& one, std::uint64_t order) {
    states_.try_emplace(one.controller);
    each(one.controller->subsystem, [&](const Controller& controller, State& state) {
      if (&controller != one.controller) state = {};
      state.touched = order;
    });
  }

  void on_commit(const Exchange& one) {
    on_commit_of_others(one, one.ended);
    State& state = states_[one.controller];
    const auto command = one.command<nvme::FirmwareCommitSqe>();
    const CommitAction action = command.get(nvme::firmware_commit_sqe::ca);
    const unsigned slot = command.get(nvme::firmware_commit_sqe::fs);
    const bool boot = action == CommitAction::replace_boot_partition || action == CommitAction::activate_boot_partition;
    if (boot) return;
    if (!is_done(one)) {
      state = {.touched = one.ended};
      return;
    }
    // The controller chooses a slot where 0 is given.
    if (action != CommitAction::activate) state.replaced = static_cast<std::uint8_t>(slot == 0 ? 0xFF : state.replaced | 1u << slot);
    if (action != CommitAction::replace) state.activated = true;
    if (action == CommitAction::activate_at_once) state.running.reset();
  }

  void on_identify(const Exchange& one) {
    const auto command = one.command<nvme::IdentifySqe>();
    const ByteView page = one.data_in(nvme::kIdentifySize);
    if (page.empty() || command.get(nvme::identify_sqe::cns) != static_cast<std::uint8_t>(nvme::Cns::controller)) return;
    State& state = states_[one.controller];
    if (state.touched >= one.began) return;
    Revision read = {};
    std::copy_n(page.begin() + nvme::id_ctrl::fr.offset, kRevision, read.begin());
    if (state.running) {
      judged(Rule::oracle_firmware_running);
      if (*state.running != read) {
        say(Rule::oracle_firmware_running,
            fmt::format("FR is another than by packet {}, without a reset or an activation", state.packet_of_running));
      }
    }
    state.running = read;
    state.packet_of_running = one.packet;
  }

  void on_log(const Exchange& one) {
    const auto get = one.command<nvme::GetLogPageSqe>();
    const ByteView log = one.data_in(nvme::FirmwareSlots::size);
    const bool whole = nvme::log_offset(get) == 0 && !get.get(nvme::get_log_sqe::ot) && !log.empty();
    if (get.get(nvme::get_log_sqe::lid) != static_cast<std::uint8_t>(nvme::LogPage::firmware_slot) || !whole) return;
    State& state = states_[one.controller];
    if (state.touched >= one.began) return;
    const View<nvme::FirmwareSlots> view{log};
    Slots slots{view.get(nvme::firmware_slots::cafsi), view.get(nvme::firmware_slots::nrafsi), {}};
    for (std::size_t i = 0; i < kSlots; ++i) {
      std::copy_n(view.get(nvme::firmware_slots::frs).begin() + static_cast<std::ptrdiff_t>(i * kRevision), kRevision,
                  slots.revisions[i].begin());
    }
    if (state.slots) judge(state, slots);
    state.slots = slots;
    state.replaced = 0;
    state.activated = false;
    state.packet = one.packet;
  }

  void judge(const State& state, const Slots& slots) {
    judged(Rule::oracle_firmware_slots);
    for (unsigned i = 0; i < kSlots; ++i) {
      const bool changed = slots.revisions[i] != state.slots->revisions[i];
      if (!changed || (state.replaced >> (i + 1) & 1) != 0) continue;
      say(Rule::oracle_firmware_slots,
          fmt::format("firmware slot {} has another revision than by packet {}, and nothing was committed to it", i + 1, state.packet));
    }
    if (state.activated || (slots.active == state.slots->active && slots.next == state.slots->next)) return;
    say(Rule::oracle_firmware_slots,
        fmt::format("firmware slot {} is active and {} next; by packet {} {} is active and {} next, and none was activated", slots.active,
                    slots.next, state.packet, state.slots->active, state.slots->next));
  }

  std::map<const Controller*, State, ByNumber> states_;
  std::uint64_t last_ = 0;
};

}  // namespace

std::unique_ptr<Subject> follow_firmware(Reporter& reporter, bool complete) { return std::make_unique<Firmware>(reporter, complete); }

}  // namespace fb::oracle
