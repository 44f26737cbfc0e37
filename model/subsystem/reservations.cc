#include "model/subsystem/reservations.h"

#include <algorithm>

namespace fb::subsystem {

using nvme::excludes_readers;
using nvme::of_all_registrants;
using nvme::of_registrants_only;
using nvme::ReservationNotice;
using nvme::ReservationType;

const ReservationTable::Registrant* ReservationTable::find(const HostId& host) const {
  const auto at = std::find_if(registrants_.begin(), registrants_.end(), [&](const Registrant& one) { return one.host == host; });
  return at == registrants_.end() ? nullptr : &*at;
}

bool ReservationTable::any_with(std::uint64_t key) const {
  return std::any_of(registrants_.begin(), registrants_.end(), [&](const Registrant& one) { return one.key == key; });
}

bool ReservationTable::holds(const HostId& host) const {
  if (!held()) return false;
  return of_all_registrants(type_) ? registered(host) : holder_ == host;
}

bool ReservationTable::allows(const HostId& host, Access access) const {
  if (!held() || holds(host)) return true;
  if (access == Access::read && !excludes_readers(type_)) return true;
  return of_registrants_only(type_) && registered(host);
}

// ---- what must not be done ----

Objection ReservationTable::check_key(const HostId& host, std::uint64_t key) const {
  const Registrant* const own = find(host);
  return own != nullptr && own->key == key ? Objection::none : Objection::key;
}

Objection ReservationTable::may_register(const HostId& host, std::uint64_t key) const {
  return registered(host) ? check_key(host, key) : Objection::none;
}

Objection ReservationTable::may_unregister(const HostId& host, std::uint64_t key, bool ignore_key) const {
  return ignore_key ? Objection::none : check_key(host, key);
}

Objection ReservationTable::may_replace(const HostId& host, std::uint64_t key, bool ignore_key) const {
  return ignore_key ? Objection::none : check_key(host, key);
}

Objection ReservationTable::may_acquire(const HostId& host, std::uint64_t key, ReservationType type) const {
  if (check_key(host, key) != Objection::none) return Objection::key;
  return !held() || (holds(host) && type == type_) ? Objection::none : Objection::held;
}

Objection ReservationTable::may_preempt(const HostId& host, std::uint64_t key, std::uint64_t victim) const {
  if (check_key(host, key) != Objection::none) return Objection::key;
  if (held() && of_all_registrants(type_) && victim == 0) return Objection::none;
  if (any_with(victim)) return Objection::none;
  return held() && victim == 0 ? Objection::zero_key : Objection::unknown_key;
}

Objection ReservationTable::may_release(const HostId& host, std::uint64_t key, ReservationType type) const {
  if (check_key(host, key) != Objection::none) return Objection::key;
  return holds(host) && type != type_ ? Objection::type : Objection::none;
}

Objection ReservationTable::may_clear(const HostId& host, std::uint64_t key) const { return check_key(host, key); }

// ---- doing it ----

void ReservationTable::tell_others(ReservationEffects& effects, const HostId& host, ReservationNotice what) const {
  for (const Registrant& one : registrants_) {
    if (one.host != host) effects.notices.push_back({one.host, what});
  }
}

void ReservationTable::hold(const HostId& host, ReservationType type) {
  type_ = type;
  holder_ = host;
}

void ReservationTable::register_key(const HostId& host, std::uint64_t key, const ReservationFaults& faults) {
  const auto at = std::find_if(registrants_.begin(), registrants_.end(), [&](const Registrant& one) { return one.host == host; });
  if (at == registrants_.end()) {
    registrants_.push_back({host, key});
  } else {
    at->key = key;
  }
  count(faults);
}

ReservationEffects ReservationTable::unregister(const HostId& host, const ReservationFaults& faults) {
  ReservationEffects effects;
  const bool held_it = holds(host);
  std::erase_if(registrants_, [&](const Registrant& one) { return one.host == host; });
  count(faults);
  const bool others_hold = of_all_registrants(type_) && !registrants_.empty();
  const bool ends = (held_it && !others_hold) || (held() && faults.dies_with_any);
  if (!ends || faults.outlives_holder) return effects;
  const ReservationType ended = type_;
  type_ = ReservationType::none;
  if (of_registrants_only(ended)) tell_others(effects, host, ReservationNotice::reservation_released);
  return effects;
}

void ReservationTable::acquire(const HostId& host, ReservationType type, const ReservationFaults& faults) {
  if (!faults.acquires_nothing) hold(host, type);
  if (faults.generation_runs) ++generation_;
}

void ReservationTable::preempt_registrants(ReservationEffects& effects, const HostId& host, std::uint64_t victim, bool all, bool spare) {
  const auto ends = [&](const Registrant& one) {
    if (one.host == host) return !spare && one.key == victim;
    return all || one.key == victim;
  };
  for (const Registrant& one : registrants_) {
    if (!ends(one) || one.host == host) continue;
    effects.notices.push_back({one.host, ReservationNotice::registration_preempted});
    effects.preempted.push_back(one.host);
  }
  std::erase_if(registrants_, ends);
}

ReservationEffects ReservationTable::preempt(const HostId& host, std::uint64_t victim, ReservationType type,
                                             const ReservationFaults& faults) {
  ReservationEffects effects;
  const ReservationType before = type_;
  const bool all = held() && of_all_registrants(type_);
  const Registrant* const holder = held() && !all ? find(holder_) : nullptr;
  // The reservation changes hands: all its holders lose it, or the one whose key is given does.
  const bool moves = all ? victim == 0 : holder != nullptr && holder->key == victim;
  if (!faults.preempts_no_registrants) {
    preempt_registrants(effects, host, victim, all && victim == 0, moves);
  }
  count(faults);
  if (moves) {
    if (faults.preempts_no_holder) return effects;
    hold(host, type);
    if (before != type && !faults.keeps_change_of_type) tell_others(effects, host, ReservationNotice::reservation_released);
  } else if (all && registrants_.empty()) {
    type_ = ReservationType::none;
  }
  return effects;
}

ReservationEffects ReservationTable::release(const HostId& host, const ReservationFaults& faults) {
  ReservationEffects effects;
  if (faults.generation_runs) ++generation_;
  if (!held() || faults.releases_nothing || (!holds(host) && !faults.anybody_releases)) return effects;
  const ReservationType ended = type_;
  type_ = ReservationType::none;
  const bool all = of_all_registrants(ended) && !faults.keeps_release_of_all;
  if (of_registrants_only(ended) || all || faults.tells_every_release) {
    tell_others(effects, host, ReservationNotice::reservation_released);
  }
  return effects;
}

ReservationEffects ReservationTable::clear(const HostId& host, const ReservationFaults& faults) {
  ReservationEffects effects;
  tell_others(effects, host, ReservationNotice::reservation_preempted);
  type_ = ReservationType::none;
  if (!faults.clears_no_registrants) registrants_.clear();
  count(faults);
  return effects;
}

void ReservationTable::on_power_loss() {
  mask_ = 0;
  if (!persists_) forget_all();
}

void ReservationTable::forget_all() {
  registrants_.clear();
  type_ = ReservationType::none;
  generation_ = 0;
}

// ---- the log ----

void ReservationLog::add(ReservationNotice what, std::uint32_t nsid) {
  // 0 is the count of an empty page.
  if (++count_ == 0) count_ = 1;
  if (entries_.size() < kEntriesMax) entries_.push_back({count_, what, nsid});
}

Bytes ReservationLog::page(bool counted) const {
  namespace rn = nvme::reservation_notification;
  Record<nvme::ReservationNotification> page;
  if (!entries_.empty()) {
    const Entry& oldest = entries_.front();
    page.set(rn::lpc, counted ? oldest.count : 0).set(rn::rnlpt, oldest.what).set(rn::nalp, entries_.size() - 1).set(rn::nsid, oldest.nsid);
  }
  return Bytes(page.bytes().begin(), page.bytes().end());
}

void ReservationLog::pop() {
  if (!entries_.empty()) entries_.pop_front();
}

void ReservationLog::clear() {
  entries_.clear();
  count_ = 0;
}

}  // namespace fb::subsystem
