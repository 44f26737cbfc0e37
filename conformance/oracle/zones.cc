// Zones: their states and write pointers, where Zone Append writes, and how many may be open and active.
#include <fmt/format.h>

#include <map>
#include <optional>

#include "conformance/oracle/subjects.h"
#include "wire/nvme/zones.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::IoOpcode;
using nvme::ZoneFacts;
using nvme::ZoneReporting;
using nvme::ZoneSendAction;
using nvme::ZoneState;
namespace za = nvme::zone_attribute_bits;

bool is_open(ZoneState state) { return state == ZoneState::implicitly_opened || state == ZoneState::explicitly_opened; }
bool is_active(ZoneState state) { return is_open(state) || state == ZoneState::closed; }
bool is_dead(ZoneState state) { return state == ZoneState::read_only || state == ZoneState::offline; }
bool is_writable(ZoneState state) { return state == ZoneState::empty || is_active(state); }

bool writes_zone(const Exchange& one) {
  return one.is(IoOpcode::write) || one.is(IoOpcode::write_zeroes) || one.is(IoOpcode::write_uncorrectable) ||
         one.is(IoOpcode::zone_append);
}
bool writes_any_zone(const Exchange& one) { return one.is(IoOpcode::copy); }

/// What an action makes of a zone; nothing where it is refused.
std::optional<ZoneState> step(ZoneState state, ZoneSendAction action) {
  switch (action) {
    case ZoneSendAction::close:
      return is_active(state) ? std::optional(ZoneState::closed) : std::nullopt;
    case ZoneSendAction::finish:
      return is_dead(state) ? std::nullopt : std::optional(ZoneState::full);
    case ZoneSendAction::open:
      return is_writable(state) ? std::optional(ZoneState::explicitly_opened) : std::nullopt;
    case ZoneSendAction::reset:
      return is_dead(state) ? std::nullopt : std::optional(ZoneState::empty);
    case ZoneSendAction::offline:
      return is_dead(state) ? std::optional(ZoneState::offline) : std::nullopt;
    case ZoneSendAction::set_descriptor_extension:
      return state == ZoneState::empty ? std::optional(ZoneState::closed) : std::nullopt;
    default:
      return std::nullopt;
  }
}
/// Select All takes zones in this state.
bool all_takes(ZoneState state, ZoneSendAction action) {
  switch (action) {
    case ZoneSendAction::close:
      return is_open(state);
    case ZoneSendAction::finish:
      return is_active(state);
    case ZoneSendAction::open:
      return state == ZoneState::closed;
    case ZoneSendAction::reset:
      return is_active(state) || state == ZoneState::full;
    case ZoneSendAction::offline:
      return state == ZoneState::read_only;
    default:
      return false;
  }
}

/// What a controller may make of a zone by itself: it closes one that it opened, finishes one that is active and says so, and
/// loses one to its medium.
bool may_become(ZoneState from, const ZoneFacts& now) {
  if (from == now.state || now.state == ZoneState::offline) return true;
  if (now.state == ZoneState::read_only) return from != ZoneState::offline;
  if (now.state == ZoneState::closed) return from == ZoneState::implicitly_opened;
  return now.state == ZoneState::full && is_active(from) && (now.attributes & za::finished_by_controller) != 0;
}

/// The state of the zones that an option selects; nothing for those that select others.
std::optional<ZoneState> selected(ZoneReporting option) {
  switch (option) {
    case ZoneReporting::empty:
      return ZoneState::empty;
    case ZoneReporting::implicitly_opened:
      return ZoneState::implicitly_opened;
    case ZoneReporting::explicitly_opened:
      return ZoneState::explicitly_opened;
    case ZoneReporting::closed:
      return ZoneState::closed;
    case ZoneReporting::full:
      return ZoneState::full;
    case ZoneReporting::read_only:
      return ZoneState::read_only;
    case ZoneReporting::offline:
      return ZoneState::offline;
    default:
      return std::nullopt;
  }
}

class Zones final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    last_ = one.began;
    if (changes_all(one)) return forget(one.controller->subsystem, one.began, changes_limits(one));
    each_touched(one, [&](Zone& zone) {
      if (zone.open++ != 0) zone.mixed = true;
      zone.touched = one.began;
    });
  }

  void on_abandoned(const Exchange& one) override {
    last_ = one.ended;
    each_touched(one, [](Zone& zone) { zone.lost = true; });  // it may be carried out at any time
  }

  void on_answer(const Exchange& one) override {
    last_ = one.ended;
    if (changes_all(one)) return forget(one.controller->subsystem, one.ended, changes_limits(one));
    if (one.ok() && one.is(AdminOpcode::identify)) on_identify(one);
    if (one.ok() && one.is(IoOpcode::zone_management_receive)) return on_report(one);
    each_touched(one, [&](Zone& zone) { on_changed(one, zone); });
  }

  void on_controller_end(const Controller& controller) override { forget(controller.subsystem, last_, false); }
  void on_unsure(const Subsystem* subsystem) override { forget(subsystem, last_); }

 private:
  struct Zone {
    std::uint64_t start = 0, capacity = 0, write_pointer = 0;
    ZoneState state = ZoneState::empty;
    bool known = true, resized = false, lost = false;
    bool random = false;        // it has a Zone Random Write Area, or may have one: the write pointer tells little
    unsigned open = 0;          // commands under way that change it
    bool mixed = false;         // several were under way at once
    std::uint64_t touched = 0;  // in the order of everything
    std::uint64_t packet = 0;   // that it follows from
  };
  struct State {
    std::map<std::uint64_t, Zone> zones = {};  // by their start
    bool complete = false;                     // all of them
    std::optional<std::uint64_t> active_max = {}, open_max = {};
  };

  static bool changes_all(const Exchange& one) {
    return one.is(AdminOpcode::namespace_management) || one.is(AdminOpcode::format_nvm) || one.is(AdminOpcode::sanitize) ||
           one.is(AdminOpcode::set_features) || one.is(AdminOpcode::firmware_commit) || one.is(AdminOpcode::capacity_management) ||
           one.is(AdminOpcode::nvme_mi_send) || one.is(nvme::FabricsType::property_set);
  }
  /// Limits stay as long as the namespace does.
  static bool changes_limits(const Exchange& one) {
    return one.is(AdminOpcode::namespace_management) || one.is(AdminOpcode::format_nvm) || one.is(AdminOpcode::firmware_commit);
  }
  void forget(const Subsystem* subsystem, std::uint64_t order, bool limits = true) {
    for (auto& [of, state] : states_) {
      if (subsystem != nullptr && of.first != subsystem->number) continue;
      state.zones.clear();
      state.complete = false;
      if (limits) state.active_max = state.open_max = {};
    }
    forgotten_ = order;
  }

  /// Those of its zones that are known. Blocks beyond the capacity of one are not known to be its.
  template <class Visit>
  void each_touched(const Exchange& one, Visit&& visit) {
    const bool sends = one.is(IoOpcode::zone_management_send);
    if (!sends && !writes_zone(one) && !writes_any_zone(one)) return;
    const auto found = states_.find({one.subsystem().number, one.nsid()});
    if (found == states_.end()) return;
    auto& zones = found->second.zones;
    if (writes_any_zone(one) || (sends && one.command<nvme::ZoneSendSqe>().get(nvme::zone_send_sqe::select_all))) {
      for (auto& [start, zone] : zones) visit(zone);
      return;
    }
    const std::uint64_t slba = one.command<nvme::ReadWriteSqe>().get(nvme::rw_sqe::slba);
    const auto next = zones.upper_bound(slba);
    if (next == zones.begin()) return;
    Zone& zone = std::prev(next)->second;
    if (slba - zone.start < zone.capacity) visit(zone);
  }

  void on_changed(const Exchange& one, Zone& zone) {
    const bool alone = zone.open == 1 && !zone.mixed && zone.known && !zone.lost;
    if (zone.open == 0) {
      zone.lost = true;  // the command began before the zone was known
    } else if (--zone.open == 0) {
      zone.mixed = false;
    }
    zone.touched = one.ended;
    if (!alone || writes_any_zone(one) || zone.random) {
      zone.known = false;
    } else if (one.is(IoOpcode::zone_management_send)) {
      on_sent(one, zone);
    } else {
      one.ok() ? on_written(one, zone) : on_refused(one, zone);
    }
  }

  void on_written(const Exchange& one, Zone& zone) {
    judged(Rule::oracle_zone_write);
    const bool append = one.is(IoOpcode::zone_append);
    const auto reply = one.answer();
    const std::uint64_t at = append ? reply.get(nvme::cqe::dw0) | std::uint64_t{reply.get(nvme::cqe::dw1)} << 32
                                    : one.command<nvme::ReadWriteSqe>().get(nvme::rw_sqe::slba);
    const std::uint64_t blocks = blocks_of(one);
    const bool fits = is_writable(zone.state) && at == zone.write_pointer && blocks <= room_of(zone);
    if (!fits) {
      zone.known = false;
      return say(Rule::oracle_zone_write, fmt::format("{} of {} blocks succeeds at LBA {}; zone {} is {}", nvme::io_opcode_name(one.sqe[0]),
                                                      blocks, at, zone.start, describe(zone)));
    }
    zone.write_pointer += blocks;
    if (room_of(zone) == 0) {
      zone.state = ZoneState::full;
    } else if (zone.state != ZoneState::explicitly_opened) {
      zone.state = ZoneState::implicitly_opened;
    }
    zone.packet = one.packet;
  }

  void on_refused(const Exchange& one, Zone& zone) {
    const nvme::Status status = one.status();
    judge_resources(one, zone, status);
    const bool append = one.is(IoOpcode::zone_append);
    const bool in_place = append || one.command<nvme::ReadWriteSqe>().get(nvme::rw_sqe::slba) == zone.write_pointer;
    const bool elsewhere = same_code(status, nvme::sc::zone_invalid_write), full = same_code(status, nvme::sc::zone_is_full),
               beyond = same_code(status, nvme::sc::zone_boundary_error);
    const bool nothing_done = elsewhere || full || beyond || is_refusal(status);
    if (!nothing_done) zone.known = false;
    if (!is_writable(zone.state)) return;
    judged(Rule::oracle_zone_write);
    const bool wrong =
        (elsewhere && in_place) || (beyond && in_place && blocks_of(one) <= room_of(zone)) || (full && zone.state == ZoneState::empty);
    if (!wrong) return;
    say(Rule::oracle_zone_write, fmt::format("{} of {} blocks completes with {}; zone {} is {}", nvme::io_opcode_name(one.sqe[0]),
                                             blocks_of(one), to_string(status), zone.start, describe(zone)));
  }

  /// Refused before anything was changed.
  static bool is_refusal(const nvme::Status& status) {
    return same_code(status, nvme::sc::invalid_zone_state_transition) || same_code(status, nvme::sc::too_many_active_zones) ||
           same_code(status, nvme::sc::too_many_open_zones) || same_code(status, nvme::sc::invalid_field) ||
           same_code(status, nvme::sc::lba_out_of_range) || same_code(status, nvme::sc::reservation_conflict);
  }

  /// A controller has the resources that it claims: active zones that are known are no fewer than those that there are.
  void judge_resources(const Exchange& one, const Zone& wanted, const nvme::Status& status) {
    const bool active = same_code(status, nvme::sc::too_many_active_zones), open = same_code(status, nvme::sc::too_many_open_zones);
    if (!active && !open) return;
    const State& state = states_[{one.subsystem().number, one.nsid()}];
    const auto& limit = active ? state.active_max : state.open_max;
    if (!limit || !state.complete) return;
    std::uint64_t count = 0;
    for (const auto& [start, zone] : state.zones) {
      if (!zone.known || zone.lost || zone.open != 0 || zone.touched > one.began) {
        if (&zone != &wanted) return;
      }
      if (&zone != &wanted && (active ? is_active(zone.state) : is_open(zone.state))) ++count;
    }
    judged(Rule::oracle_zone_resources);
    if (count < *limit) {
      say(Rule::oracle_zone_resources, fmt::format("{} completes with {}, and {} of {} zones are {}", nvme::io_opcode_name(one.sqe[0]),
                                                   to_string(status), count, *limit, active ? "active" : "open"));
    }
  }

  void on_sent(const Exchange& one, Zone& zone) {
    const auto command = one.command<nvme::ZoneSendSqe>();
    const ZoneSendAction action = command.get(nvme::zone_send_sqe::zsa);
    const bool all = command.get(nvme::zone_send_sqe::select_all);
    if (!one.ok()) {
      if (all || !is_refusal(one.status())) zone.known = false;
      if (!all) judge_resources(one, zone, one.status());
      return;
    }
    if (command.get(nvme::zone_send_sqe::zrwaa) || action == ZoneSendAction::flush_explicit_zrwa) {
      zone.known = false;
      zone.random = true;
      return;
    }
    if (all && !all_takes(zone.state, action)) return;
    const auto next = step(zone.state, action);
    if (!all && action != ZoneSendAction::offline) judged(Rule::oracle_zone_state);
    if (!next) {
      zone.known = false;
      if (all || action == ZoneSendAction::offline) return;
      return say(Rule::oracle_zone_state, fmt::format("Zone Management Send with action {:02X}h succeeds; zone {} is {}",
                                                      static_cast<unsigned>(action), zone.start, describe(zone)));
    }
    if (action == ZoneSendAction::reset) {
      zone.write_pointer = zone.start;
      zone.resized = true;  // its capacity may be another
    }
    zone.state = *next;
    zone.packet = one.packet;
  }

  // ---- reports ----

  void on_identify(const Exchange& one) {
    const auto command = one.command<nvme::IdentifySqe>();
    const ByteView page = one.data_in(nvme::kIdentifySize);
    if (page.empty() || command.get(nvme::identify_sqe::cns) != static_cast<std::uint8_t>(nvme::Cns::command_set_namespace) ||
        command.get(nvme::identify_sqe::csi) != static_cast<std::uint8_t>(nvme::CommandSet::zoned)) {
      return;
    }
    const View<nvme::IdentifyNamespaceZoned> zoned{page};
    State& state = states_[{one.subsystem().number, one.nsid()}];
    const auto limit = [](std::uint32_t raw) {
      return raw == nvme::kNoZoneLimit ? std::optional<std::uint64_t>{} : std::optional(std::uint64_t{raw} + 1);
    };
    state.active_max = limit(zoned.get(nvme::id_ns_zoned::mar));
    state.open_max = limit(zoned.get(nvme::id_ns_zoned::mor));
  }

  void on_report(const Exchange& one) {
    const auto command = one.command<nvme::ZoneReceiveSqe>();
    const ByteView data = one.in.front();
    const auto action = command.get(nvme::zone_receive_sqe::zra);
    const bool extended = action == nvme::ZoneReceiveAction::extended_report;
    // Of a report with extensions, whose size may not be known, only the first zone.
    constexpr std::size_t kOneZone = nvme::ZoneReportHeader::size + nvme::ZoneDescriptor::size;
    if (!extended && action != nvme::ZoneReceiveAction::report) return;
    if (data.size() < (extended ? kOneZone : nvme::ZoneReportHeader::size)) return;
    const std::vector<ZoneFacts> zones = nvme::read_zone_report(data, extended ? data.size() - kOneZone : 0);
    judge_selection(one, command, zones);
    if (forgotten_ >= one.began) return;
    State& state = states_[{one.subsystem().number, one.nsid()}];
    for (const ZoneFacts& facts : zones) on_zone(one, state, facts);
    const std::uint64_t count = View<nvme::ZoneReportHeader>{data.first(nvme::ZoneReportHeader::size)}.get(nvme::zone_report::nzones);
    const bool all = command.get(nvme::zone_receive_sqe::zrasf) == ZoneReporting::all && !command.get(nvme::zone_receive_sqe::partial) &&
                     command.get(nvme::zone_receive_sqe::slba) == 0 && count == zones.size() && !extended;
    if (!all) return;
    state.complete = true;
    judge_limits(state, zones);
  }

  void judge_selection(const Exchange& one, const View<nvme::ZoneReceiveSqe>& command, const std::vector<ZoneFacts>& zones) {
    const auto wanted = selected(command.get(nvme::zone_receive_sqe::zrasf));
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < zones.size(); ++i) {
      const ZoneFacts& zone = zones[i];
      judged(Rule::oracle_zone_report);
      const bool wrong_state = wanted && zone.state != *wanted;
      // The first may begin before SLBA, and contain it.
      const bool wrong_place = i != 0 && (zone.start <= before || zone.start <= command.get(nvme::zone_receive_sqe::slba));
      before = zone.start;
      if (!wrong_state && !wrong_place) continue;
      return say(Rule::oracle_zone_report,
                 fmt::format("the report of zones of namespace {:#x} from LBA {} on with option {:02X}h has, as "
                             "number {}, the zone at {}, which is {}",
                             one.nsid(), command.get(nvme::zone_receive_sqe::slba), one.sqe[53], i, zone.start, nvme::name_of(zone.state)));
    }
  }

  void on_zone(const Exchange& one, State& state, const ZoneFacts& facts) {
    const auto [at, made] = state.zones.try_emplace(facts.start);
    Zone& zone = at->second;
    if (zone.lost || zone.open != 0 || zone.touched >= one.began) return;
    if (!made && zone.known) judge_zone(zone, facts);
    const std::uint64_t touched = zone.touched;
    zone = {.start = facts.start,
            .capacity = facts.capacity,
            .write_pointer = facts.write_pointer,
            .state = facts.state,
            .known = (facts.attributes & za::zrwa_valid) == 0,
            .random = (facts.attributes & za::zrwa_valid) != 0,
            .touched = touched,
            .packet = one.packet};
  }

  void judge_zone(const Zone& zone, const ZoneFacts& facts) {
    judged(Rule::oracle_zone_state);
    const bool pointer = is_writable(facts.state) && facts.write_pointer != zone.write_pointer;
    if (may_become(zone.state, facts) && !pointer && (zone.resized || facts.capacity == zone.capacity)) return;
    say(Rule::oracle_zone_state,
        fmt::format("zone {} is reported as {} with write pointer {} and capacity {}; by packet {} it is {}", zone.start,
                    nvme::name_of(facts.state), facts.write_pointer, facts.capacity, zone.packet, describe(zone)));
  }

  void judge_limits(const State& state, const std::vector<ZoneFacts>& zones) {
    std::uint64_t active = 0, open = 0;
    for (const ZoneFacts& zone : zones) {
      active += is_active(zone.state) ? 1 : 0;
      open += is_open(zone.state) ? 1 : 0;
    }
    const bool judges = state.active_max || state.open_max;
    if (judges) judged(Rule::oracle_zone_resources);
    if ((state.active_max && active > *state.active_max) || (state.open_max && open > *state.open_max)) {
      say(Rule::oracle_zone_resources, fmt::format("{} zones are active and {} open, above MAR or MOR", active, open));
    }
  }

  static std::uint64_t blocks_of(const Exchange& one) { return one.command<nvme::ReadWriteSqe>().get(nvme::rw_sqe::nlb).count(); }
  static std::uint64_t room_of(const Zone& zone) { return zone.start + zone.capacity - zone.write_pointer; }
  static std::string describe(const Zone& zone) {
    return fmt::format("{} with write pointer {} and capacity {}, by packet {}", nvme::name_of(zone.state), zone.write_pointer,
                       zone.capacity, zone.packet);
  }

  std::map<std::pair<std::uint64_t, std::uint32_t>, State> states_;  // by subsystem and namespace
  std::uint64_t last_ = 0, forgotten_ = 0;
};

}  // namespace

std::unique_ptr<Subject> follow_zones(Reporter& reporter, bool complete) { return std::make_unique<Zones>(reporter, complete); }

}  // namespace fb::oracle
