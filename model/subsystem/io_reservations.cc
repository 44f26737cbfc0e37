// Reservation Register, Acquire, Release and Report; what a reservation keeps other hosts from; notifications.
#include <algorithm>

#include "model/subsystem/command_fault_points.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"
#include "wire/nvme/reservation.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace rs = nvme::reservation_sqe;
using nvme::AcquireAction;
using nvme::IoOpcode;
using nvme::RegisterAction;
using nvme::ReleaseAction;
using nvme::ReservationType;

namespace {

const Check& check_of(Objection objection) {
  switch (objection) {
    case Objection::held:
      return check::reservation_held;
    case Objection::type:
      return check::reservation_release_type;
    case Objection::unknown_key:
      return check::reservation_preempt_unknown;
    case Objection::zero_key:
      return check::reservation_preempt_zero;
    default:
      return check::reservation_key;
  }
}

ReservationType type_in(const Command& command) { return static_cast<ReservationType>(command.as<nvme::ReservationSqe>().get(rs::rtype)); }

bool is_type(ReservationType type) {
  return type >= ReservationType::write_exclusive && type <= ReservationType::exclusive_access_all_registrants;
}

/// The last action that each command has.
unsigned last_action(IoOpcode opcode) { return static_cast<unsigned>(opcode == IoOpcode::reservation_release ? unsigned{1} : 2); }

}  // namespace

HostId ReservationCommands::reservation_host() const {
  if (!departs(departure::reservation_of_controller)) return controller_.host_.hostid;
  HostId of_controller = {};
  store_le(of_controller.data(), controller_.cntlid_);
  return of_controller;
}

ReservationFaults ReservationCommands::reservation_faults() const {
  if (subsystem_.unhooked()) return {};
  return {.acquires_nothing = departs(departure::reservation_acquire_lost),
          .outlives_holder = departs(departure::reservation_outlives_holder),
          .dies_with_any = departs(departure::reservation_dies_with_any),
          .preempts_no_holder = departs(departure::reservation_preempt_lost),
          .preempts_no_registrants = departs(departure::reservation_preempt_kept),
          .clears_no_registrants = departs(departure::reservation_clear_kept),
          .anybody_releases = departs(departure::reservation_release_any),
          .releases_nothing = departs(departure::reservation_release_lost),
          .tells_every_release = departs(departure::reservation_notice_exclusive),
          .keeps_release_of_all = departs(departure::reservation_release_all),
          .keeps_change_of_type = departs(departure::reservation_type_silent),
          .generation_stays = departs(departure::reservation_gen_stays),
          .generation_runs = departs(departure::reservation_gen_runs)};
}

bool ReservationCommands::reservation_allows(const Command& command, const Namespace& ns, Access access) {
  // Commands that come out of band are no host's.
  if (!ns.reservations().held() || command.queue->out_of_band()) return true;
  const ReservationTable& table = ns.reservations();
  const HostId host = reservation_host();
  bool allowed = table.allows(host, access);
  if (departs(departure::reservation_registrants_refused)) {
    allowed = allowed && (table.holds(host) || !table.registered(host));
  }
  if (departs(departure::reservation_reads_refused)) allowed = allowed && table.holds(host);
  if (departs(departure::reservation_holder_refused)) {
    allowed = allowed && (access == Access::write || !nvme::excludes_readers(table.type()));
  }
  return allowed || !command.queue->refuse(command, check::reservation_conflict);
}

// ---- the commands ----

void ReservationCommands::reservation(const Command& command) {
  Queue& queue = *command.queue;
  Namespace* ns = nullptr;
  if (!controller_.io_.find_namespace(command, ns)) return;
  if (ns == nullptr) return queue.complete(command, sc::success);  // a deviation went on
  if (!controller_.io_.check_path(command, *ns)) return;
  const auto opcode = static_cast<IoOpcode>(command.opcode());
  if (opcode == IoOpcode::reservation_report) return reservation_report(command, *ns);
  const auto sqe = command.as<nvme::ReservationSqe>();
  const unsigned action = sqe.get(rs::action);
  if (action > last_action(opcode) && queue.refuse(command, check::reservation_action)) return;
  if (opcode == IoOpcode::reservation_register) {
    const auto change = static_cast<nvme::PersistChange>(sqe.get(rs::cptpl));
    const bool possible = change == nvme::PersistChange::none || change == nvme::PersistChange::clear ||
                          (change == nvme::PersistChange::set && subsystem_.options().reservations_persist);
    if (!possible && queue.refuse(command, check::reservation_cptpl)) return;
  } else if (sqe.get(rs::iekey) && queue.refuse(command, check::reservation_iekey)) {
    return;
  }
  const bool takes_type = opcode == IoOpcode::reservation_acquire;
  if (takes_type && !is_type(type_in(command)) && queue.refuse(command, check::reservation_type)) return;
  const bool releases = opcode == IoOpcode::reservation_release;
  const std::size_t bytes = releases ? nvme::ReservationKey::size : nvme::ReservationKeys::size;
  if (queue.stage(command, bytes)) queue.pull(command);
}

void ReservationCommands::reservation_data(const Command& command) {
  Queue& queue = *command.queue;
  Namespace* ns = nullptr;
  if (!controller_.io_.find_namespace(command, ns)) return;        // it went away
  if (ns == nullptr) return queue.complete(command, sc::success);  // a deviation went on
  Bytes data(command.data().begin(), command.data().end());
  data.resize(nvme::ReservationKeys::size);
  const View<nvme::ReservationKeys> keys{data};
  const std::uint64_t current = keys.get(nvme::reservation_keys::crkey);
  const std::uint64_t other = keys.get(nvme::reservation_keys::other);
  switch (static_cast<IoOpcode>(command.opcode())) {
    case IoOpcode::reservation_register:
      return reservation_register(command, *ns, current, other);
    case IoOpcode::reservation_acquire:
      return reservation_acquire(command, *ns, current, other);
    default:
      return reservation_release(command, *ns, current);
  }
}

/// For deviations: registrations that are good.
bool ReservationCommands::register_refused(const ReservationTable& table, const HostId& host, std::uint64_t key) const {
  if (departs(departure::reservation_register_once) && table.registered(host)) return true;
  if (!departs(departure::reservation_keys_unique)) return false;
  const auto& all = table.registrants();
  return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.host != host && one.key == key; });
}

void ReservationCommands::reservation_register(const Command& command, Namespace& ns, std::uint64_t current, std::uint64_t key) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::ReservationSqe>();
  const auto action = static_cast<RegisterAction>(sqe.get(rs::action));
  const bool ignore = sqe.get(rs::iekey) && !departs(departure::reservation_iekey_ignored);
  ReservationTable& table = ns.reservations();
  const HostId host = reservation_host();
  Objection objection = Objection::none;
  if (action == RegisterAction::register_key) objection = table.may_register(host, key);
  if (action == RegisterAction::unregister_key) objection = table.may_unregister(host, current, ignore);
  if (action == RegisterAction::replace_key) objection = table.may_replace(host, current, ignore);
  if (action == RegisterAction::register_key && register_refused(table, host, key)) objection = Objection::key;
  if (objection != Objection::none && queue.refuse(command, check_of(objection))) return;
  ReservationEffects effects;
  if (action == RegisterAction::unregister_key) {
    effects = table.unregister(host, reservation_faults());
  } else {
    table.register_key(host, key, reservation_faults());
  }
  const auto change = static_cast<nvme::PersistChange>(sqe.get(rs::cptpl));
  if (!departs(departure::reservation_cptpl_ignored)) {
    if (change == nvme::PersistChange::clear) table.set_persists(false);
    if (change == nvme::PersistChange::set) table.set_persists(true);
  }
  queue.complete(command, sc::success);
  announce_reservation(ns, effects);
}

void ReservationCommands::reservation_acquire(const Command& command, Namespace& ns, std::uint64_t current, std::uint64_t victim) {
  Queue& queue = *command.queue;
  const auto action = static_cast<AcquireAction>(command.as<nvme::ReservationSqe>().get(rs::action));
  const ReservationType type = type_in(command);
  ReservationTable& table = ns.reservations();
  const HostId host = reservation_host();
  Objection objection =
      action == AcquireAction::acquire ? table.may_acquire(host, current, type) : table.may_preempt(host, current, victim);
  const bool again = action == AcquireAction::acquire && table.holds(host);
  if (again && departs(departure::reservation_acquire_once)) objection = Objection::held;
  if (objection != Objection::none && queue.refuse(command, check_of(objection))) return;
  ReservationEffects effects;
  if (action == AcquireAction::acquire) {
    table.acquire(host, type, reservation_faults());
  } else {
    effects = table.preempt(host, victim, type, reservation_faults());
  }
  if (action == AcquireAction::preempt_and_abort) abort_preempted(ns.nsid(), effects);
  queue.complete(command, sc::success);
  announce_reservation(ns, effects);
}

void ReservationCommands::reservation_release(const Command& command, Namespace& ns, std::uint64_t current) {
  Queue& queue = *command.queue;
  const auto action = static_cast<ReleaseAction>(command.as<nvme::ReservationSqe>().get(rs::action));
  ReservationTable& table = ns.reservations();
  const HostId host = reservation_host();
  const Objection objection =
      action == ReleaseAction::clear ? table.may_clear(host, current) : table.may_release(host, current, type_in(command));
  if (objection != Objection::none && queue.refuse(command, check_of(objection))) return;
  const ReservationEffects effects =
      action == ReleaseAction::clear ? table.clear(host, reservation_faults()) : table.release(host, reservation_faults());
  queue.complete(command, sc::success);
  announce_reservation(ns, effects);
}

void ReservationCommands::reservation_report(const Command& command, const Namespace& ns) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::ReservationReportSqe>();
  const bool extended = sqe.get(rs::eds);
  if (departs(departure::reservation_guards_all) && !reservation_allows(command, ns, Access::read)) return;
  // Over Fabrics every host identifier has 128 bits.
  if (!extended && queue.refuse(command, check::reservation_eds)) return;
  const std::uint64_t asked = sqe.get(rs::numd).count() * std::uint64_t{4};
  if (!controller_.transfer_fits(asked) && queue.refuse(command, check::reservation_length)) return;
  const Bytes page = reservation_status(ns, extended, asked);
  const std::size_t bytes = static_cast<std::size_t>(std::min<std::uint64_t>(asked, page.size()));
  if (!queue.stage(command, bytes)) return;
  std::copy_n(page.begin(), bytes, command.data().begin());
  queue.complete_with_data(command, bytes);
}

Bytes ReservationCommands::reservation_status(const Namespace& ns, bool extended, std::uint64_t room) const {
  namespace st = nvme::reservation_status;
  namespace rc = nvme::registered_controller;
  const ReservationTable& table = ns.reservations();
  const std::size_t header = extended ? nvme::ReservationStatus::size : nvme::ShortReservationStatus::size;
  const std::size_t each = extended ? nvme::RegisteredController::size : nvme::ShortRegisteredController::size;
  Bytes page(header + each * table.registrants().size());
  std::size_t counted = table.registrants().size();
  if (departs(departure::reservation_report_cut)) {
    counted = room < header ? 0 : std::min<std::size_t>(counted, static_cast<std::size_t>(room - header) / each);
  }
  MutableView<nvme::ShortReservationStatus>{MutableBytes{page}.first(nvme::ShortReservationStatus::size)}
      .set(st::gen, table.generation())
      .set(st::rtype, table.type())
      .set(st::regstrnt, counted)
      .set(st::ptpls, table.persists() ? 1u : 0u);
  // Hosts of dynamic controllers have no controller that would be theirs for longer than an association.
  const bool is_static = subsystem_.options().controllers == ControllerModel::static_controllers;
  std::size_t at = header;
  for (const ReservationTable::Registrant& one : table.registrants()) {
    std::uint16_t cntlid = nvme::kNoRegisteredController;
    for (const auto& [id, controller] : subsystem_.controllers()) {
      const bool its = is_static && controller->in_association() && controller->reservations_.reservation_host() == one.host;
      if (its && cntlid == nvme::kNoRegisteredController) cntlid = id;
    }
    const MutableBytes entry = MutableBytes{page}.subspan(at, each);
    if (extended) {
      MutableView<nvme::RegisteredController>{entry}
          .set(rc::cntlid, cntlid)
          .set(rc::holder, table.holds(one.host))
          .set(rc::rkey, one.key)
          .set(rc::hostid, ByteView{one.host});
    } else {
      namespace src = nvme::short_registered_controller;
      MutableView<nvme::ShortRegisteredController>{entry}
          .set(rc::cntlid, cntlid)
          .set(rc::holder, table.holds(one.host))
          .set(src::rkey, one.key)
          .set(src::hostid, ByteView{one.host}.first(src::hostid.size));
    }
    at += each;
  }
  return page;
}

// ---- what others notice of it ----

/// Commands of hosts whose registrations were preempted are not carried out any more.
void ReservationCommands::abort_preempted(std::uint32_t nsid, const ReservationEffects& effects) {
  if (departs(departure::reservation_preempt_no_abort)) return;
  for (const HostId& host : effects.preempted) {
    for (const auto& [id, controller] : subsystem_.controllers()) {
      if (!controller->in_association() || controller->reservations_.reservation_host() != host) continue;
      const std::vector<Queue*> queues = controller->io_queues_;
      for (Queue* const queue : queues) {
        for (transport::ArrivedCommand* const victim : queue->held_of(nsid)) {
          if (!queue->holds(victim)) continue;
          // One half of a fused pair takes the other with it.
          transport::ArrivedCommand* const partner = queue->partner({queue, victim});
          queue->complete({queue, victim}, sc::aborted_preempt_and_abort);
          if (partner != nullptr && queue->alive()) queue->complete({queue, partner}, sc::aborted_failed_fused);
        }
      }
    }
  }
}

void ReservationCommands::announce_reservation(const Namespace& ns, const ReservationEffects& effects) {
  if (departs(departure::reservation_notice_silent)) return;
  std::vector<ReservationEffects::Notice> notices = effects.notices;
  if (departs(departure::reservation_notice_self) && !notices.empty()) {
    notices.push_back({reservation_host(), notices.front().what});
  }
  for (const ReservationEffects::Notice& notice : notices) {
    const std::uint32_t bit = 1u << static_cast<unsigned>(notice.what);
    const std::uint32_t known = departs(departure::reservation_mask_first) ? 1u << 1 : nvme::kReservationNoticeMask;
    const bool masked = (ns.reservations().mask() & bit & known) != 0;
    if (masked && !departs(departure::reservation_mask_ignored)) continue;
    for (const auto& [id, controller] : subsystem_.controllers()) {
      const bool meant = controller->reservations_.reservation_host() == notice.host ||
                         (controller.get() != &controller_ && departs(departure::reservation_notice_all));
      if (!controller->in_association() || !meant) continue;
      controller->on_reservation_notice(ns.nsid(), notice.what);
      if (departs(departure::reservation_notice_one)) break;
    }
  }
}

void Controller::on_reservation_notice(std::uint32_t nsid, nvme::ReservationNotice what) {
  if (departs(departure::reservation_notice_type)) {
    const bool released = what == nvme::ReservationNotice::reservation_released;
    what = released ? nvme::ReservationNotice::registration_preempted : nvme::ReservationNotice::reservation_released;
  }
  reservation_log_.add(what, nsid);
  raise({nvme::EventType::command_set, nvme::event_info::command_set_reservation,
         static_cast<std::uint8_t>(nvme::LogPage::reservation_notification)});
}

/// For a deviation.
void ReservationCommands::end_registrations() {
  const HostId host = reservation_host();
  for (const auto& [nsid, ns] : subsystem_.namespaces()) ns->reservations().unregister(host);
}

// ---- features 82h and 83h ----

void FeatureCommands::set_reservation_feature(const Command& command, nvme::FeatureId fid, std::uint32_t value) {
  Queue& queue = *command.queue;
  const bool persistence = fid == nvme::FeatureId::reservation_persistence;
  const bool possible = !persistence || (value & 1) == 0 || subsystem_.options().reservations_persist;
  if (!possible && queue.refuse(command, check::reservation_persistence)) return;
  for (const auto& [nsid, ns] : subsystem_.namespaces()) {
    const bool all = command.nsid() == nvme::kAllNamespaces;
    const bool wide = !persistence && departs(departure::reservation_mask_wide);
    if (!all && command.nsid() != nsid && !wide) continue;
    if (persistence) {
      ns->reservations().set_persists((value & 1) != 0);
    } else {
      ns->reservations().set_mask(value & nvme::kReservationNoticeMask);
      if (all && departs(departure::reservation_mask_narrow)) break;
    }
  }
  queue.complete(command, sc::success);
}

}  // namespace fb::subsystem
