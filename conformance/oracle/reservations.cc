// Reservations: who is registered with which key, who holds what, what that keeps other hosts from, and the generation.
#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>

#include "conformance/oracle/subjects.h"
#include "wire/nvme/reservation.h"

namespace fb::oracle {

namespace {

using nvme::AcquireAction;
using nvme::AdminOpcode;
using nvme::IoOpcode;
using nvme::RegisterAction;
using nvme::ReleaseAction;
using nvme::ReservationType;
namespace rs = nvme::reservation_sqe;

using HostId = std::array<std::uint8_t, 16>;

bool changes_reservations(const Exchange& one) {
  return one.is(IoOpcode::reservation_register) || one.is(IoOpcode::reservation_acquire) || one.is(IoOpcode::reservation_release);
}
bool is_read(const Exchange& one) {
  return one.is(IoOpcode::read) || one.is(IoOpcode::compare) || one.is(IoOpcode::verify) || one.is(IoOpcode::zone_management_receive);
}
bool is_write(const Exchange& one) {
  return one.is(IoOpcode::write) || one.is(IoOpcode::write_zeroes) || one.is(IoOpcode::write_uncorrectable) ||
         one.is(IoOpcode::dataset_management) || one.is(IoOpcode::flush) || one.is(IoOpcode::copy) || one.is(IoOpcode::zone_append) ||
         one.is(IoOpcode::zone_management_send);
}
/// A Copy may meet a reservation of the namespace that it reads from, too.
bool meets_others(const Exchange& one) { return one.is(IoOpcode::copy); }

/// The registrants of a namespace and its reservation.
struct Table {
  std::map<HostId, std::uint64_t> keys = {};
  ReservationType type = ReservationType::none;
  HostId holder = {};  ///< of a reservation that is not of all registrants
  bool operator==(const Table&) const = default;

  bool held() const { return type != ReservationType::none; }
  bool of_all() const { return nvme::of_all_registrants(type); }
  bool registered(const HostId& host) const { return keys.contains(host); }
  bool has_key(const HostId& host, std::uint64_t key) const {
    const auto own = keys.find(host);
    return own != keys.end() && own->second == key;
  }
  bool holds(const HostId& host) const { return held() && (of_all() ? registered(host) : holder == host); }
  bool allows(const HostId& host, bool writes) const {
    if (!held() || holds(host) || (!writes && !nvme::excludes_readers(type))) return true;
    return nvme::of_registrants_only(type) && registered(host);
  }
  void hold(const HostId& host, ReservationType as) {
    type = as;
    holder = of_all() ? HostId{} : host;
  }
  void release() { hold({}, ReservationType::none); }
};

/// Whether the generation becomes another one.
enum class Counts : std::uint8_t { no, yes, perhaps };

/// What a command that changes reservations comes to.
struct Outcome {
  enum class Is : std::uint8_t { unclear, success, conflict } is = Is::unclear;
  Table after = {};
  Counts counts = Counts::perhaps;
};

Outcome refused() { return {.is = Outcome::Is::conflict}; }
Outcome done(Table after, Counts counts) { return {Outcome::Is::success, std::move(after), counts}; }

Outcome registering(const Table& table, const HostId& host, RegisterAction action, bool ignore, std::uint64_t current, std::uint64_t key) {
  Table after = table;
  const bool registered = table.registered(host);
  if (action == RegisterAction::register_key) {
    if (registered && !table.has_key(host, key)) return refused();
    if (key == 0) return {};
    after.keys[host] = key;
    return done(std::move(after), registered ? Counts::perhaps : Counts::yes);
  }
  if (action != RegisterAction::unregister_key && action != RegisterAction::replace_key) return {};
  if (!ignore && !table.has_key(host, current)) return refused();
  if (!registered) return {};
  if (action == RegisterAction::replace_key) {
    if (key == 0) return {};
    after.keys[host] = key;
    return done(std::move(after), Counts::perhaps);
  }
  const bool held_it = table.holds(host);
  after.keys.erase(host);
  if (held_it && (!table.of_all() || after.keys.empty())) after.release();
  return done(std::move(after), Counts::yes);
}

Outcome preempting(const Table& table, const HostId& host, ReservationType type, std::uint64_t victim) {
  const bool all = table.of_all() && victim == 0;
  // Who names its own key ends its own registration too, unless it takes the reservation.
  const bool takes = all || (table.held() && !table.of_all() && table.has_key(table.holder, victim));
  if (!takes && (victim == 0 || table.has_key(host, victim))) return {};
  Table after = table;
  const std::size_t ended = std::erase_if(after.keys, [&](const auto& one) { return one.first != host && (all || one.second == victim); });
  if (!takes && ended == 0) return table.of_all() ? refused() : Outcome{};
  if (takes) after.hold(host, type);
  return done(std::move(after), Counts::yes);
}

Outcome acquiring(const Table& table, const HostId& host, AcquireAction action, ReservationType type, std::uint64_t current,
                  std::uint64_t victim) {
  if (!table.has_key(host, current)) return refused();
  if (action == AcquireAction::preempt || action == AcquireAction::preempt_and_abort) return preempting(table, host, type, victim);
  if (action != AcquireAction::acquire) return {};
  if (table.held() && (!table.holds(host) || table.type != type)) return refused();
  Table after = table;
  if (!table.held()) after.hold(host, type);
  return done(std::move(after), Counts::no);
}

Outcome releasing(const Table& table, const HostId& host, ReleaseAction action, ReservationType type, std::uint64_t current) {
  if (!table.has_key(host, current)) return refused();
  if (action == ReleaseAction::clear) return done({}, Counts::yes);
  if (action != ReleaseAction::release || (table.holds(host) && table.type != type)) return {};
  Table after = table;
  if (table.holds(host)) after.release();
  return done(std::move(after), Counts::no);
}

class Reservations final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    last_ = one.began;
    if (!changes_reservations(one)) return;
    State& state = state_of(one);
    if (state.open++ != 0) state.mixed = true;
    state.touched = one.began;
  }

  void on_abandoned(const Exchange& one) override {
    last_ = one.ended;
    if (!changes_reservations(one)) return;
    State& state = state_of(one);
    --state.open;
    state.doubtful = true;  // it may be carried out at any time
  }

  void on_answer(const Exchange& one) override {
    last_ = one.ended;
    const bool renews = one.is(AdminOpcode::namespace_management) || one.is(AdminOpcode::firmware_commit) ||
                        one.is(AdminOpcode::nvme_mi_send) || one.is(AdminOpcode::capacity_management);
    if (renews) return on_unsure(one.controller->subsystem);
    if (one.admin() || one.fabrics() || one.nsid() == nvme::kAllNamespaces) return;
    if (changes_reservations(one)) return on_change(one);
    if (one.is(IoOpcode::reservation_report)) return on_report(one);
    judge_access(one);
  }

  void on_unsure(const Subsystem* subsystem) override {
    std::erase_if(states_, [&](const auto& of) { return subsystem == nullptr || of.first.first == subsystem->number; });
    unsure_ = last_;
  }

 private:
  struct State {
    std::optional<Table> table = {};
    std::optional<std::uint32_t> generation = {};
    bool counted = false;  // it is another one now
    unsigned open = 0;     // commands under way that change it
    bool mixed = false;    // several were under way at once
    bool doubtful = false;
    std::uint64_t touched = 0;  // in the order of everything
    std::uint64_t packet = 0;   // that it follows from
    void forget() {
      table.reset();
      generation.reset();
    }
  };

  State& state_of(const Exchange& one) { return states_[{one.subsystem().number, one.nsid()}]; }
  bool is_steady(const State& state, const Exchange& one) const {
    return !state.doubtful && state.open == 0 && state.touched < one.began && unsure_ < one.began;
  }

  void on_change(const Exchange& one) {
    State& state = state_of(one);
    // The command began before the state was forgotten.
    if (state.open == 0 || unsure_ >= one.began) state.doubtful = true;
    if (state.open != 0) --state.open;
    const bool alone = !state.mixed && !state.doubtful;
    state.touched = one.ended;
    if (state.open == 0) state.mixed = false;
    if (!alone || !state.table) return state.forget();
    const Outcome expected = outcome_of(one, *state.table);
    if (expected.is != Outcome::Is::unclear) judge_outcome(state, one, expected);
    if (!one.ok()) {
      const bool nothing_done =
          nvme::same_code(one.status(), nvme::sc::reservation_conflict) || nvme::same_code(one.status(), nvme::sc::invalid_field);
      if (!nothing_done) state.forget();
      return;
    }
    if (expected.is != Outcome::Is::success) return state.forget();
    state.table = expected.after;
    state.packet = one.packet;
    if (expected.counts == Counts::perhaps) state.generation.reset();
    if (expected.counts == Counts::yes) state.counted = true;
  }

  static Outcome outcome_of(const Exchange& one, const Table& table) {
    const auto command = one.command<nvme::ReservationSqe>();
    const ByteView data = one.data_out();
    const bool releases = one.is(IoOpcode::reservation_release);
    if (data.size() < (releases ? nvme::ReservationKey::size : nvme::ReservationKeys::size)) return {};
    const std::uint64_t current = load_le<std::uint64_t>(data.data());
    const std::uint64_t other = releases ? 0 : load_le<std::uint64_t>(data.data() + nvme::reservation_keys::other.offset);
    const HostId& host = one.controller->hostid;
    const unsigned action = command.get(rs::action);
    const bool ignore = command.get(rs::iekey);
    const auto type = static_cast<ReservationType>(command.get(rs::rtype));
    if (one.is(IoOpcode::reservation_register)) {
      return registering(table, host, static_cast<RegisterAction>(action), ignore, current, other);
    }
    if (ignore) return {};
    return releases ? releasing(table, host, static_cast<ReleaseAction>(action), type, current)
                    : acquiring(table, host, static_cast<AcquireAction>(action), type, current, other);
  }

  void judge_outcome(const State& state, const Exchange& one, const Outcome& expected) {
    judged(Rule::oracle_reservation_keys);
    const bool conflict = nvme::same_code(one.status(), nvme::sc::reservation_conflict);
    const bool expects_conflict = expected.is == Outcome::Is::conflict;
    if (expects_conflict ? !one.ok() : !conflict) return;
    say(Rule::oracle_reservation_keys,
        fmt::format("{} with action {} to namespace {:#x} completes with {}, and by packet {} its registrants and reservation {} it",
                    nvme::io_opcode_name(one.sqe[0]), one.command<nvme::ReservationSqe>().get(rs::action), one.nsid(),
                    to_string(one.status()), state.packet, expects_conflict ? "forbid" : "allow"));
  }

  void judge_access(const Exchange& one) {
    const bool writes = is_write(one);
    if (!writes && !is_read(one)) return;
    const auto found = states_.find({one.subsystem().number, one.nsid()});
    if (found == states_.end() || !found->second.table || !is_steady(found->second, one)) return;
    const Table& table = *found->second.table;
    const bool allowed = table.allows(one.controller->hostid, writes);
    judged(Rule::oracle_reservation_access);
    const bool conflict = nvme::same_code(one.status(), nvme::sc::reservation_conflict);
    if (allowed ? !conflict || meets_others(one) : !one.ok()) return;
    say(Rule::oracle_reservation_access,
        fmt::format("{} of a host that {} completes with {} on namespace {:#x} with {}, by packet {}", nvme::io_opcode_name(one.sqe[0]),
                    table.holds(one.controller->hostid)        ? "holds the reservation"
                    : table.registered(one.controller->hostid) ? "is registered"
                                                               : "is not registered",
                    to_string(one.status()), one.nsid(), nvme::name_of(table.type), found->second.packet));
  }

  void on_report(const Exchange& one) {
    State& state = state_of(one);
    if (!one.ok() || !is_steady(state, one) || !one.command<nvme::ReservationReportSqe>().get(rs::eds)) return;
    const ByteView data = one.in.front();
    if (data.size() < nvme::ReservationStatus::size) return;
    const View<nvme::ReservationStatus> header{data.first(nvme::ReservationStatus::size)};
    judge_generation(state, one, header.get(nvme::reservation_status::gen));
    const std::size_t entries = header.get(nvme::reservation_status::regstrnt);
    if (data.size() < nvme::ReservationStatus::size + nvme::RegisteredController::size * entries) return;
    const auto reported = table_of(data);
    if (state.table) {
      judged(Rule::oracle_reservation_report);
      if (!reported) {
        say(Rule::oracle_reservation_report,
            fmt::format("Reservation Report of namespace {:#x} has two keys for a host, or holders that {} has not", one.nsid(),
                        nvme::name_of(header.get(nvme::reservation_status::rtype))));
      } else if (*state.table != *reported) {
        say(Rule::oracle_reservation_report, difference(one, state, *reported));
      }
    }
    state.table = reported;
    state.packet = one.packet;
  }

  void judge_generation(State& state, const Exchange& one, std::uint32_t reported) {
    if (state.generation) {
      judged(Rule::oracle_reservation_generation);
      if (state.counted == (*state.generation == reported)) {
        say(Rule::oracle_reservation_generation,
            fmt::format("GEN of namespace {:#x} is {} after {}, and its registrants were {} since", one.nsid(), reported, *state.generation,
                        state.counted ? "changed" : "not changed"));
      }
    }
    state.generation = reported;
    state.counted = false;
  }

  /// Of a report that is whole. A host may have several controllers; nothing where the report contradicts itself.
  static std::optional<Table> table_of(ByteView data) {
    namespace st = nvme::reservation_status;
    namespace rc = nvme::registered_controller;
    constexpr std::size_t kEach = nvme::RegisteredController::size;
    const View<nvme::ReservationStatus> header{data.first(nvme::ReservationStatus::size)};
    const std::size_t entries = header.get(st::regstrnt);
    Table table;
    table.type = header.get(st::rtype);
    std::size_t holders = 0;
    for (std::size_t i = 0; i < entries; ++i) {
      const View<nvme::RegisteredController> entry{data.subspan(nvme::ReservationStatus::size + kEach * i, kEach)};
      HostId host = {};
      std::copy_n(entry.get(rc::hostid).begin(), host.size(), host.begin());
      const auto [known, added] = table.keys.emplace(host, entry.get(rc::rkey));
      if (!added && known->second != entry.get(rc::rkey)) return std::nullopt;
      if (!entry.get(rc::holder)) continue;
      holders += added ? 1 : 0;
      if (!table.of_all()) table.holder = host;
    }
    // Of a reservation of all registrants known products report one of them as its holder.
    const std::size_t least = table.held() ? 1 : 0, most = table.of_all() ? table.keys.size() : least;
    return holders >= least && holders <= most ? std::optional(table) : std::nullopt;
  }

  static std::string difference(const Exchange& one, const State& state, const Table& reported) {
    const Table& table = *state.table;
    const auto describe = [](const Table& of) {
      std::string text = fmt::format("{}, {} registrants", nvme::name_of(of.type), of.keys.size());
      for (const auto& [host, key] : of.keys) {
        text += fmt::format(", host ..{:02x} with key {:#x}{}", host.back(), key, of.holds(host) ? " (holder)" : "");
      }
      return text;
    };
    return fmt::format("Reservation Report of namespace {:#x} has {}; by packet {} and before it is {}", one.nsid(), describe(reported),
                       state.packet, describe(table));
  }

  std::map<std::pair<std::uint64_t, std::uint32_t>, State> states_;  // by subsystem and namespace
  std::uint64_t last_ = 0, unsure_ = 0;
};

}  // namespace

std::unique_ptr<Subject> follow_reservations(Reporter& reporter, bool complete) {
  return std::make_unique<Reservations>(reporter, complete);
}

}  // namespace fb::oracle
