// Reservation Acquire that preempts.
#include "conformance/cases/nvme/reservation_scene.h"
#include "conformance/runner/embedded_controller.h"

namespace fb::conformance {

namespace {

constexpr ReservationType kExclusive = ReservationType::write_exclusive;
constexpr ReservationType kRegistrants = ReservationType::write_exclusive_registrants_only;
constexpr ReservationType kAll = ReservationType::write_exclusive_all_registrants;
const needs exclusive{claims_types<kExclusive>};
const needs of_all{claims_types<kAll>};

constexpr Duration kLatency = Duration::ms(40);
const arranged with_slow_commands{"commands that take their time", [](EmbeddedSetup& setup) { setup.subsystem.io_latency = kLatency; }};

}  // namespace

CONFORMANCE_CASE(preempt_takes_the_reservation, "nvme.reservation.preempt.holder", roles::controller,
                 needs(claims_types<kExclusive, kRegistrants>)) {
  ReservationScene scene(bench, check, 3);
  scene.held(kExclusive, 3);
  check.success(scene.preempt(1, scene.key(0), kRegistrants));
  scene.is_held_by(1, kRegistrants);
  scene.is_not_registered(0);
  scene.is_registered(2, scene.key(2));
  check.status(scene.write(0, 8, 1), sc::reservation_conflict, "Write of the host that was preempted");
  check.success(scene.write(1, 8, 1), "Write of the new holder");
}

CONFORMANCE_CASE(preempt_ends_another_registration, "nvme.reservation.preempt.registrant", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 3);
  scene.held(kExclusive, 3);
  check.success(scene.preempt(1, scene.key(2), kExclusive));
  scene.is_not_registered(2);
  scene.is_registered(1, scene.key(1));
  scene.is_held_by(0, kExclusive);
}

CONFORMANCE_CASE(preempt_of_oneself_changes_the_type, "nvme.reservation.preempt.self", roles::controller,
                 needs(claims_types<kExclusive, kRegistrants>)) {
  ReservationScene scene(bench, check, 2);
  scene.held(kExclusive, 2);
  check.success(scene.preempt(0, scene.key(0), kRegistrants));
  scene.is_held_by(0, kRegistrants);
  scene.is_registered(0, scene.key(0));
  scene.is_registered(1, scene.key(1));
}

CONFORMANCE_CASE(preempt_without_a_reservation, "nvme.reservation.preempt.no-reservation", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 3);
  scene.all_registered(3);
  check.success(scene.preempt(1, scene.key(0), kExclusive));
  scene.is_not_registered(0);
  scene.is_registered(2, scene.key(2));
  scene.is_held(ReservationType::none);
}

CONFORMANCE_CASE(preempt_refuses_who_is_not_registered, "nvme.reservation.preempt.unregistered", roles::controller, exclusive,
                 reaches{"reservation.key"}) {
  ReservationScene scene(bench, check, 2);
  scene.held(kExclusive);
  check.status(scene.preempt(1, scene.key(0), kExclusive), sc::reservation_conflict);
  scene.is_held_by(0, kExclusive);
}

CONFORMANCE_CASE(preempt_refuses_key_zero, "nvme.reservation.preempt.zero", roles::controller, exclusive,
                 reaches{"reservation.preempt.zero"}) {
  ReservationScene scene(bench, check, 2);
  scene.held(kExclusive, 2);
  check.status(scene.preempt(1, 0, kExclusive), one_of(sc::invalid_field, sc::reservation_conflict));
  scene.is_held_by(0, kExclusive);
  scene.is_registered(0, scene.key(0));
}

CONFORMANCE_CASE(preempt_of_all_registrants, "nvme.reservation.preempt.all", roles::controller, of_all) {
  ReservationScene scene(bench, check, 3);
  for (const ReservationType type : {kAll, ReservationType::exclusive_access_all_registrants}) {
    if (!claims_type(bench.declared(), type)) continue;
    scene.held(type, 3);
    check.success(scene.preempt(1, 0, type), "Preempt of key 0, " + std::string(name_of(type)));
    for (const std::size_t host : {0u, 2u}) scene.is_not_registered(host);
    scene.is_held_by(1, type);
    check.precondition_success(scene.clear(1, scene.key(1)), "Clear");
  }
}

CONFORMANCE_CASE(preempt_of_some_of_all_registrants, "nvme.reservation.preempt.some", roles::controller, of_all) {
  ReservationScene scene(bench, check, 3);
  for (const ReservationType type : {kAll, ReservationType::exclusive_access_all_registrants}) {
    if (!claims_type(bench.declared(), type)) continue;
    for (const std::size_t host : {0u, 2u}) scene.registered(host, scene.kOtherKey);
    scene.registered(1, scene.key(1));
    check.precondition_success(scene.acquire(1, type), "Reservation Acquire");
    check.success(scene.preempt(1, scene.kOtherKey, type), "Preempt of some, " + std::string(name_of(type)));
    for (const std::size_t host : {0u, 2u}) scene.is_not_registered(host);
    scene.is_held_by(1, type);
    check.precondition_success(scene.clear(1, scene.key(1)), "Clear");
  }
}

CONFORMANCE_CASE(preempt_refuses_a_key_that_nobody_has, "nvme.reservation.preempt.unknown", roles::controller, of_all,
                 reaches{"reservation.preempt.unknown"}) {
  ReservationScene scene(bench, check, 2);
  scene.held(kAll, 2);
  check.status(scene.preempt(1, scene.kOtherKey, kAll), sc::reservation_conflict);
  scene.is_held(kAll);
  scene.is_registered(0, scene.key(0));
}

CONFORMANCE_CASE(preempt_and_abort_ends_commands, "nvme.reservation.preempt.abort", roles::controller, with_slow_commands) {
  ReservationScene scene(bench, check, 2);
  const Bytes before = pattern(0x31, 1, scene.block_bytes());
  constexpr std::uint64_t kLbas[] = {8, 16, 24, 32, 40, 48};
  for (const std::uint64_t lba : kLbas) check.precondition_success(scene.write(0, lba, 0x31), "Write");
  host::RawQueue& second = scene.association(0).open_io(bench.io_qid(1));
  host::RawQueue& other = scene.second_association(0).open_io();
  scene.held(ReservationType::exclusive_access, 2);
  // The Acquire comes first and is carried out first; then there is a Write on its way.
  auto acquire =
      scene.io(1).send(host::reservation_acquire(scene.nsid(), AcquireAction::preempt_and_abort, ReservationType::exclusive_access),
                       host::reservation_keys(scene.key(1), scene.key(0)));
  scene.io(1).world().run_for(kLatency / 2);
  std::vector<Op<host::RawReply>> writes;
  // Two on each of its queues: of one controller, and of another one.
  host::RawQueue* const queues[] = {&scene.io(0), &second, &other, &scene.io(0), &second, &other};
  for (host::RawQueue* const queue : queues) {
    const auto command = host::write(scene.nsid(), kLbas[writes.size()], 1);
    writes.push_back(queue->send(command, pattern(0x77, 1, scene.block_bytes())));
  }
  const auto acquired = acquire.wait_for(kSoon);
  check.require(acquired.has_value(), "Reservation Acquire is answered");
  check.require_success(*acquired, "Preempt and Abort");
  const auto which = [](std::size_t i) {
    return (i < 3 ? ", first on its I/O queue " : ", second on its I/O queue ") + std::to_string(i % 3 + 1);
  };
  // Their answers may be under way. The Reads take the time in which a Write that goes on would end too.
  scene.io(1).world().run_for(kLatency / 4);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const auto written = writes[i].wait_for(Duration::ms(1));
    check.require(written.has_value(), "the Write of the host that was preempted" + which(i) + " has ended with the Acquire");
    check.refused(*written, "that Write" + which(i));
  }
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const auto read = scene.read(1, kLbas[i]);
    if (check.success(read, "Read of the new holder")) check.bytes("the block of the Write" + which(i), read.data, before);
  }
}

}  // namespace fb::conformance
