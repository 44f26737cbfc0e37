// Reservation Register, and whose a registration is.
#include "conformance/cases/nvme/reservation_scene.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {

namespace {

const needs exclusive{claims_types<ReservationType::write_exclusive>};
const arranged without_reservations{"a product without reservations", [](EmbeddedSetup& setup) { setup.subsystem.reservations = false; }};

}  // namespace

CONFORMANCE_CASE(register_makes_a_registrant, "nvme.reservation.register.new", roles::controller, reservations) {
  ReservationScene scene(bench, check, 2);
  check.require_success(scene.register_key(1, scene.key(1)));
  const ReservationReport report = scene.report();
  check.equal("registrants", report.registrants, 1u);
  check.equal("type of the reservation", report.type, ReservationType::none);
  scene.is_registered(1, scene.key(1));
}

CONFORMANCE_CASE(register_with_the_same_key_again, "nvme.reservation.register.again", roles::controller, reservations) {
  ReservationScene scene(bench, check, 1);
  scene.registered(0, scene.key(0));
  check.success(scene.register_key(0, scene.key(0)));
  scene.is_registered(0, scene.key(0));
}

CONFORMANCE_CASE(register_refuses_a_second_key, "nvme.reservation.register.other-key", roles::controller, reservations,
                 reaches{"reservation.key"}) {
  ReservationScene scene(bench, check, 1);
  scene.registered(0, scene.key(0));
  check.status(scene.register_key(0, scene.kOtherKey), sc::reservation_conflict);
  scene.is_registered(0, scene.key(0));
}

CONFORMANCE_CASE(register_takes_a_key_that_another_host_has, "nvme.reservation.register.same-key", roles::controller, reservations) {
  ReservationScene scene(bench, check, 2);
  scene.registered(0, scene.kOtherKey);
  check.success(scene.register_key(1, scene.kOtherKey));
  for (const std::size_t host : {0u, 1u}) scene.is_registered(host, scene.kOtherKey);
  check.precondition_success(scene.unregister(1, scene.kOtherKey), "Unregister of one of them");
  scene.is_registered(0, scene.kOtherKey);
}

CONFORMANCE_CASE(register_refuses_a_reserved_action, "nvme.reservation.register.action", roles::controller, reservations,
                 reaches{"reservation.action"}) {
  ReservationScene scene(bench, check, 1);
  auto command = host::reservation_register(scene.nsid(), RegisterAction::register_key);
  for (const unsigned action : {3u, 7u}) {
    command.set(nvme::reservation_sqe::action, action);
    check.refused(scene.send(0, command, host::reservation_keys(0, scene.key(0))), "action " + std::to_string(action));
  }
  scene.is_not_registered(0);
}

CONFORMANCE_CASE(replace_changes_the_key, "nvme.reservation.replace.key", roles::controller, reservations) {
  ReservationScene scene(bench, check, 1);
  scene.registered(0, scene.key(0));
  check.success(scene.replace(0, scene.key(0), scene.kOtherKey));
  scene.is_registered(0, scene.kOtherKey);
}

CONFORMANCE_CASE(replace_refuses_a_wrong_key, "nvme.reservation.replace.wrong-key", roles::controller, reservations,
                 reaches{"reservation.key"}) {
  ReservationScene scene(bench, check, 1);
  scene.registered(0, scene.key(0));
  check.status(scene.replace(0, scene.kOtherKey, scene.kOtherKey), sc::reservation_conflict);
  scene.is_registered(0, scene.key(0));
}

CONFORMANCE_CASE(replace_refuses_who_is_not_registered, "nvme.reservation.replace.unregistered", roles::controller, reservations,
                 reaches{"reservation.key"}) {
  ReservationScene scene(bench, check, 1);
  check.status(scene.replace(0, scene.key(0), scene.kOtherKey), sc::reservation_conflict);
  scene.is_not_registered(0);
}

CONFORMANCE_CASE(replace_may_ignore_the_key, "nvme.reservation.replace.iekey", roles::controller, reservations) {
  ReservationScene scene(bench, check, 1);
  scene.registered(0, scene.key(0));
  check.success(scene.replace(0, 0, scene.kOtherKey, true));
  scene.is_registered(0, scene.kOtherKey);
}

CONFORMANCE_CASE(unregister_ends_a_registration, "nvme.reservation.unregister.key", roles::controller, reservations) {
  ReservationScene scene(bench, check, 2);
  scene.all_registered(2);
  check.success(scene.unregister(1, scene.key(1)));
  scene.is_not_registered(1);
  scene.is_registered(0, scene.key(0));
}

CONFORMANCE_CASE(unregister_refuses_a_wrong_key, "nvme.reservation.unregister.wrong-key", roles::controller, reservations,
                 reaches{"reservation.key"}) {
  ReservationScene scene(bench, check, 1);
  scene.registered(0, scene.key(0));
  check.status(scene.unregister(0, scene.kOtherKey), sc::reservation_conflict);
  scene.is_registered(0, scene.key(0));
}

CONFORMANCE_CASE(unregister_refuses_who_is_not_registered, "nvme.reservation.unregister.unregistered", roles::controller, reservations,
                 reaches{"reservation.key"}) {
  ReservationScene scene(bench, check, 1);
  check.status(scene.unregister(0, scene.key(0)), sc::reservation_conflict);
}

CONFORMANCE_CASE(unregister_may_ignore_the_key, "nvme.reservation.unregister.iekey", roles::controller, reservations) {
  ReservationScene scene(bench, check, 2);
  scene.all_registered(2);
  check.success(scene.unregister(1, 0, true));
  scene.is_not_registered(1);
}

CONFORMANCE_CASE(unregister_of_the_holder_releases, "nvme.reservation.unregister.holder", roles::controller, reservations) {
  ReservationScene scene(bench, check, 2);
  for (const ReservationType type : kReservationTypes) {
    if (of_all_registrants(type) || !claims_type(bench.declared(), type)) continue;
    scene.held(type, 2);
    check.success(scene.unregister(0, scene.key(0)), "unregister the holder of " + std::string(name_of(type)));
    scene.is_held(ReservationType::none);
    check.success(scene.write(1, 8, 1), "Write of the other host afterwards");
  }
}

CONFORMANCE_CASE(unregister_of_another_releases_nothing, "nvme.reservation.unregister.other", roles::controller, reservations, exclusive) {
  ReservationScene scene(bench, check, 2);
  scene.held(ReservationType::write_exclusive, 2);
  check.success(scene.unregister(1, scene.key(1)));
  scene.is_held_by(0, ReservationType::write_exclusive);
}

CONFORMANCE_CASE(last_registrant_ends_a_reservation_of_all, "nvme.reservation.unregister.all", roles::controller,
                 needs(claims_types<ReservationType::write_exclusive_all_registrants>)) {
  ReservationScene scene(bench, check, 3);
  scene.all_registered(2);
  check.precondition_success(scene.acquire(0, ReservationType::write_exclusive_all_registrants), "Acquire");
  check.success(scene.unregister(0, scene.key(0)), "unregister the first of two");
  scene.is_held(ReservationType::write_exclusive_all_registrants);
  check.status(scene.write(2, 8, 1), sc::reservation_conflict, "Write of a host that is not registered");
  check.success(scene.unregister(1, scene.key(1)), "unregister the last");
  scene.is_held(ReservationType::none);
}

CONFORMANCE_CASE(registration_is_of_the_host, "nvme.reservation.identity.host", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 2);
  scene.registered(0, scene.key(0));
  RawAssociation& second = scene.second_association(0);
  const ReservationType type = ReservationType::write_exclusive;
  const auto acquired =
      second.open_io()
          .send(host::reservation_acquire(scene.nsid(), AcquireAction::acquire, type), host::reservation_keys(scene.key(0), 0))
          .wait();
  check.success(acquired, "Reservation Acquire at the host's other controller");
  scene.is_held_by(0, type);
  check.success(scene.write(0, 8, 1), "Write at the first controller");
}

CONFORMANCE_CASE(registration_outlives_the_association, "nvme.reservation.identity.association", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 2);
  const ReservationType type = ReservationType::write_exclusive;
  scene.registered(1, scene.key(1));
  check.precondition_success(scene.acquire(1, type), "Reservation Acquire");
  scene.association(1).admin().disconnect();
  check.precondition(scene.association(1).admin().ended().wait_for(kSoon).has_value(), "the connection ends");
  scene.rejoin(1);
  scene.is_held_by(1, type);
  scene.is_registered(1, scene.key(1));
  check.success(scene.write(1, 8, 1), "Write of the holder");
}

CONFORMANCE_CASE(registration_outlives_a_reset, "nvme.reservation.identity.reset", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 2);
  const ReservationType type = ReservationType::write_exclusive;
  scene.registered(1, scene.key(1));
  check.precondition_success(scene.acquire(1, type), "Reservation Acquire");
  scene.association(1).disable();
  scene.rejoin(1);
  scene.is_held_by(1, type);
  scene.is_registered(1, scene.key(1));
}

CONFORMANCE_CASE(registration_outlives_a_subsystem_reset, "nvme.reservation.identity.subsystem-reset", roles::controller, reservations,
                 arranges{{Request::subsystem_reset}}) {
  ReservationScene scene(bench, check, 2);
  scene.held(ReservationType::exclusive_access);
  bench.arranger().subsystem_reset();
  for (const std::size_t host : {0u, 1u}) scene.rejoin(host);
  scene.is_held_by(0, ReservationType::exclusive_access);
  check.status(scene.read(1, 8), sc::reservation_conflict, "Read of another host");
}

CONFORMANCE_CASE(no_reservation_commands_without_support, "nvme.reservation.unsupported", roles::controller, without_reservations) {
  IoScene scene(bench);
  const auto said = [&](const auto& command, ByteView data) { return scene.io.send(command, data).wait(); };
  const Bytes keys = host::reservation_keys(1, 2);
  check.status(said(host::reservation_register(scene.nsid, RegisterAction::register_key), keys), sc::invalid_opcode);
  check.status(said(host::reservation_acquire(scene.nsid, AcquireAction::acquire, ReservationType::write_exclusive), keys),
               sc::invalid_opcode);
  check.status(said(host::reservation_release(scene.nsid, ReleaseAction::clear), host::reservation_key(1)), sc::invalid_opcode);
  check.status(scene.io.send(host::reservation_report(scene.nsid, 64), 64).wait(), sc::invalid_opcode);
}

}  // namespace fb::conformance
