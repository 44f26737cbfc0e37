// Reservation Acquire without preemption, Reservation Release.
#include "conformance/cases/nvme/reservation_scene.h"

namespace fb::conformance {

namespace {

constexpr ReservationType kExclusive = ReservationType::write_exclusive;
const needs exclusive{claims_types<kExclusive>};

/// A type that the product has, other than `type`.
ReservationType other_type(Check& check, const Declared& declared, ReservationType type) {
  for (const ReservationType other : kReservationTypes) {
    if (other != type && claims_type(declared, other)) return other;
  }
  check.inconclusive("there is one type of reservation alone");
}

}  // namespace

CONFORMANCE_CASE(acquire_gives_every_type, "nvme.reservation.acquire.types", roles::controller, reservations) {
  ReservationScene scene(bench, check, 1);
  scene.registered(0, scene.key(0));
  for (const ReservationType type : kReservationTypes) {
    if (!claims_type(bench.declared(), type)) continue;
    check.success(scene.acquire(0, type), "Acquire " + std::string(name_of(type)));
    scene.is_held_by(0, type);
    check.precondition_success(scene.release(0, type), "Release");
  }
}

CONFORMANCE_CASE(acquire_refuses_who_is_not_registered, "nvme.reservation.acquire.unregistered", roles::controller, exclusive,
                 reaches{"reservation.key"}) {
  ReservationScene scene(bench, check, 1);
  check.status(scene.acquire(0, kExclusive), sc::reservation_conflict);
  scene.is_held(ReservationType::none);
}

CONFORMANCE_CASE(acquire_refuses_a_wrong_key, "nvme.reservation.acquire.wrong-key", roles::controller, exclusive,
                 reaches{"reservation.key"}) {
  ReservationScene scene(bench, check, 1);
  scene.registered(0, scene.key(0));
  check.status(scene.acquire(0, kExclusive, scene.kOtherKey), sc::reservation_conflict);
  scene.is_held(ReservationType::none);
}

CONFORMANCE_CASE(acquire_refuses_what_another_holds, "nvme.reservation.acquire.held", roles::controller, reservations,
                 reaches{"reservation.held"}) {
  ReservationScene scene(bench, check, 2);
  scene.all_registered(2);
  for (const ReservationType type : kReservationTypes) {
    // Of all registrants the other one is a holder too.
    if (of_all_registrants(type) || !claims_type(bench.declared(), type)) continue;
    check.precondition_success(scene.acquire(0, type), "Acquire");
    check.status(scene.acquire(1, type), sc::reservation_conflict, "Acquire of " + std::string(name_of(type)));
    scene.is_held_by(0, type);
    check.precondition_success(scene.release(0, type), "Release");
  }
}

CONFORMANCE_CASE(acquire_again_changes_nothing, "nvme.reservation.acquire.again", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 1);
  scene.held(kExclusive);
  check.success(scene.acquire(0, kExclusive));
  scene.is_held_by(0, kExclusive);
}

CONFORMANCE_CASE(acquire_changes_no_type, "nvme.reservation.acquire.other-type", roles::controller, exclusive,
                 reaches{"reservation.held"}) {
  ReservationScene scene(bench, check, 1);
  const ReservationType other = other_type(check, bench.declared(), kExclusive);
  scene.held(kExclusive);
  check.status(scene.acquire(0, other), sc::reservation_conflict);
  scene.is_held(kExclusive);
}

CONFORMANCE_CASE(acquire_refuses_a_reserved_type, "nvme.reservation.acquire.reserved-type", roles::controller, reservations,
                 reaches{"reservation.type"}) {
  ReservationScene scene(bench, check, 1);
  scene.registered(0, scene.key(0));
  for (const unsigned type : {7u, 0xFFu}) {
    check.refused(scene.acquire(0, static_cast<ReservationType>(type)), "type " + std::to_string(type));
  }
  scene.is_held(ReservationType::none);
}

CONFORMANCE_CASE(acquire_refuses_to_ignore_the_key, "nvme.reservation.acquire.iekey", roles::controller, exclusive,
                 reaches{"reservation.iekey"}) {
  ReservationScene scene(bench, check, 1);
  scene.registered(0, scene.key(0));
  auto command = host::reservation_acquire(scene.nsid(), AcquireAction::acquire, kExclusive);
  command.set(nvme::reservation_sqe::iekey, true);
  check.status(scene.send(0, command, host::reservation_keys(scene.key(0), 0)), sc::invalid_field);
  scene.is_held(ReservationType::none);
}

CONFORMANCE_CASE(acquire_refuses_a_reserved_action, "nvme.reservation.acquire.action", roles::controller, exclusive,
                 reaches{"reservation.action"}) {
  ReservationScene scene(bench, check, 2);
  for (const std::size_t host : {0u, 1u}) scene.registered(host, scene.key(host));
  auto command = host::reservation_acquire(scene.nsid(), AcquireAction::acquire, kExclusive);
  // Keys with which each action that is defined would succeed.
  for (const unsigned action : {3u, 7u}) {
    command.set(nvme::reservation_sqe::action, action);
    check.refused(scene.send(0, command, host::reservation_keys(scene.key(0), scene.key(1))), "action " + std::to_string(action));
  }
  scene.is_held(ReservationType::none);
}

// ---- Release ----

CONFORMANCE_CASE(release_ends_the_reservation, "nvme.reservation.release.holder", roles::controller, reservations) {
  ReservationScene scene(bench, check, 2);
  scene.registered(0, scene.key(0));
  for (const ReservationType type : kReservationTypes) {
    if (!claims_type(bench.declared(), type)) continue;
    check.precondition_success(scene.acquire(0, type), "Acquire");
    check.success(scene.release(0, type), "Release of " + std::string(name_of(type)));
    scene.is_held(ReservationType::none);
    scene.is_registered(0, scene.key(0));
    check.success(scene.write(1, 8, 1), "Write of another host afterwards");
  }
}

CONFORMANCE_CASE(release_of_another_changes_nothing, "nvme.reservation.release.other", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 2);
  scene.held(kExclusive, 2);
  check.success(scene.release(1, kExclusive));
  scene.is_held_by(0, kExclusive);
}

CONFORMANCE_CASE(release_of_nothing, "nvme.reservation.release.nothing", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 1);
  scene.registered(0, scene.key(0));
  check.success(scene.release(0, kExclusive));
  scene.is_registered(0, scene.key(0));
}

CONFORMANCE_CASE(release_refuses_another_type, "nvme.reservation.release.type", roles::controller, exclusive,
                 reaches{"reservation.release.type"}) {
  ReservationScene scene(bench, check, 1);
  const ReservationType other = other_type(check, bench.declared(), kExclusive);
  scene.held(kExclusive);
  check.refused(scene.release(0, other));
  scene.is_held_by(0, kExclusive);
}

CONFORMANCE_CASE(release_refuses_who_is_not_registered, "nvme.reservation.release.unregistered", roles::controller, exclusive,
                 reaches{"reservation.key"}) {
  ReservationScene scene(bench, check, 2);
  scene.held(kExclusive);
  check.status(scene.release(1, kExclusive), sc::reservation_conflict);
  scene.is_held_by(0, kExclusive);
}

CONFORMANCE_CASE(release_refuses_a_wrong_key, "nvme.reservation.release.wrong-key", roles::controller, exclusive,
                 reaches{"reservation.key"}) {
  ReservationScene scene(bench, check, 1);
  scene.held(kExclusive);
  check.status(scene.release(0, kExclusive, scene.kOtherKey), sc::reservation_conflict);
  scene.is_held_by(0, kExclusive);
}

CONFORMANCE_CASE(release_refuses_to_ignore_the_key, "nvme.reservation.release.iekey", roles::controller, exclusive,
                 reaches{"reservation.iekey"}) {
  ReservationScene scene(bench, check, 1);
  scene.held(kExclusive);
  auto command = host::reservation_release(scene.nsid(), ReleaseAction::release, kExclusive);
  command.set(nvme::reservation_sqe::iekey, true);
  check.status(scene.send(0, command, host::reservation_key(scene.key(0))), sc::invalid_field);
  scene.is_held_by(0, kExclusive);
}

CONFORMANCE_CASE(release_refuses_a_reserved_action, "nvme.reservation.release.action", roles::controller, exclusive,
                 reaches{"reservation.action"}) {
  ReservationScene scene(bench, check, 1);
  scene.held(kExclusive);
  auto command = host::reservation_release(scene.nsid(), ReleaseAction::release, kExclusive);
  for (const unsigned action : {2u, 7u}) {
    command.set(nvme::reservation_sqe::action, action);
    check.refused(scene.send(0, command, host::reservation_key(scene.key(0))), "action " + std::to_string(action));
  }
  scene.is_held_by(0, kExclusive);
}

CONFORMANCE_CASE(clear_ends_everything, "nvme.reservation.clear.all", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 3);
  scene.held(kExclusive, 3);
  check.success(scene.clear(1, scene.key(1)), "Clear by who does not hold the reservation");
  const ReservationReport report = scene.report();
  check.equal("type of the reservation", report.type, ReservationType::none);
  check.equal("registrants", report.registrants, 0u);
}

CONFORMANCE_CASE(clear_refuses_who_is_not_registered, "nvme.reservation.clear.unregistered", roles::controller, exclusive,
                 reaches{"reservation.key"}) {
  ReservationScene scene(bench, check, 2);
  scene.held(kExclusive);
  check.status(scene.clear(1, scene.key(1)), sc::reservation_conflict);
  scene.is_held_by(0, kExclusive);
}

CONFORMANCE_CASE(clear_refuses_a_wrong_key, "nvme.reservation.clear.wrong-key", roles::controller, exclusive, reaches{"reservation.key"}) {
  ReservationScene scene(bench, check, 2);
  scene.held(kExclusive, 2);
  check.status(scene.clear(1, scene.kOtherKey), sc::reservation_conflict);
  scene.is_held_by(0, kExclusive);
}

}  // namespace fb::conformance
