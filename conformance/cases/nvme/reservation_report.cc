// Reservation Report, and what outlives a loss of power.
#include <fmt/format.h>

#include "conformance/cases/nvme/reservation_scene.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

namespace {

constexpr ReservationType kExclusive = ReservationType::write_exclusive;
constexpr ReservationType kAll = ReservationType::write_exclusive_all_registrants;
const needs exclusive{claims_types<kExclusive>};
const needs persistence{persists_through_power_loss};

constexpr std::size_t kEntry = nvme::RegisteredController::size;

const arranges with_persistence{{Request::power_cycle},
                                [](EmbeddedSetup& setup) { setup.subsystem.reservations = setup.subsystem.reservations_persist = true; }};

/// As it was found, at the end of the case.
class RestoredPersistence {
 public:
  explicit RestoredPersistence(ReservationScene& scene) : scene_(scene), before_(scene.report().persists) {}
  ~RestoredPersistence() { set(before_).wait_for(kSoon); }
  RestoredPersistence(const RestoredPersistence&) = delete;
  RestoredPersistence& operator=(const RestoredPersistence&) = delete;
  Op<host::RawReply> set(bool on) {
    auto command = host::set_features(nvme::FeatureId::reservation_persistence, on ? 1 : 0);
    command.set(nvme::sqe::nsid, scene_.nsid());
    return scene_.association(0).admin().send(command);
  }

 private:
  ReservationScene& scene_;
  bool before_;
};

void lose_power(ControllerBench& bench, ReservationScene& scene, std::size_t hosts) {
  bench.arranger().power_cycle();
  for (std::size_t i = 0; i < hosts; ++i) scene.rejoin(i);
}

}  // namespace

CONFORMANCE_CASE(rescap_is_the_same_in_both, "nvme.reservation.report.rescap", roles::controller, reservations, needs(is_version_2)) {
  RawAssociation& association = bench.associate();
  const auto reply = association.admin().send(host::identify(nvme::Cns::independent_namespace, bench.nsid()), 4096).wait();
  check.precondition_success(reply, "Identify, CNS 08h");
  check.equal("RESCAP in CNS 08h", View<nvme::IdentifyNamespaceIndependent>{reply.data}.get(nvme::id_ns_independent::rescap),
              bench.declared().identify_namespace().get(nvme::id_ns::rescap));
}

CONFORMANCE_CASE(report_refuses_the_short_form, "nvme.reservation.report.eds", roles::controller, reservations,
                 reaches{"reservation.report.eds"}) {
  ReservationScene scene(bench, check, 1);
  auto command = host::reservation_report(scene.nsid(), 1024);
  command.set(nvme::reservation_sqe::eds, false);
  check.status(scene.io(0).send(command, 1024).wait(), sc::host_identifier_inconsistent_format);
}

CONFORMANCE_CASE(report_counts_what_does_not_fit, "nvme.reservation.report.length", roles::controller, reservations) {
  ReservationScene scene(bench, check, 2);
  scene.all_registered(2);
  for (const std::size_t entries : {0u, 1u}) {
    const std::size_t bytes = nvme::ReservationStatus::size + entries * kEntry;
    const auto reply = scene.io(0).send(host::reservation_report(scene.nsid(), bytes), bytes).wait();
    if (!check.success(reply, "Reservation Report of " + std::to_string(bytes) + " bytes")) continue;
    const ReservationReport report = scene.parse(reply.data);
    check.equal("REGSTRNT", report.registrants, 2u);
    for (const auto& entry : report.entries) {
      check.that(entry.hostid == scene.hostid(0) || entry.hostid == scene.hostid(1), "the registrant is one of both");
    }
  }
}

CONFORMANCE_CASE(report_names_the_holder, "nvme.reservation.report.holder", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 2);
  scene.held(kExclusive, 2);
  const bool dynamic = (bench.declared().identify().get(nvme::id_ctrl::fcatt) & nvme::fcatt_bits::static_controllers) == 0;
  for (const auto& entry : scene.report().entries) {
    const bool holds = entry.hostid == scene.hostid(0);
    const std::string who = holds ? "the holder" : "the other";
    check.equal("RCSTS bit 0 of " + who, entry.holder, holds);
    const std::uint16_t own = scene.association(holds ? 0 : 1).cntlid();
    check.equal("CNTLID of " + who, entry.cntlid, dynamic ? one_of(own, nvme::kNoRegisteredController) : one_of(own));
  }
}

CONFORMANCE_CASE(every_registrant_is_reported_as_holder, "nvme.reservation.report.each-holder", roles::controller, reservations) {
  constexpr std::size_t kHosts = 3;
  ReservationScene scene(bench, check, kHosts);
  scene.all_registered(kHosts);
  for (const ReservationType type : kReservationTypes) {
    if (!claims_type(bench.declared(), type) || of_all_registrants(type)) continue;
    for (std::size_t host = 0; host < kHosts; ++host) {
      const std::string what = std::string(name_of(type)) + " of host " + std::to_string(host);
      check.require_success(scene.acquire(host, type), "Acquire, " + what);
      // As long as the report is, and not a byte more.
      const std::size_t bytes = nvme::ReservationStatus::size + kHosts * kEntry;
      const auto reply = scene.io(host).send(host::reservation_report(scene.nsid(), bytes), bytes).wait();
      if (check.success(reply, "Reservation Report, " + what)) {
        check.require(reply.data.size() >= bytes, "Reservation Report is as long as its entries are, " + what);
        const ReservationReport report = scene.parse(reply.data);
        check.equal("registrants in the report, " + what, report.entries.size(), kHosts);
        for (std::size_t i = 0; i < kHosts; ++i) {
          const auto its = std::find_if(report.entries.begin(), report.entries.end(),
                                        [&](const auto& entry) { return entry.hostid == scene.hostid(i); });
          check.require(its != report.entries.end(), "HOSTID of host " + std::to_string(i) + " is reported, " + what);
          check.equal("RKEY of host " + std::to_string(i) + ", " + what, its->key, scene.key(i));
          check.equal("RCSTS bit 0 of host " + std::to_string(i) + ", " + what, its->holder, i == host);
        }
      }
      check.require_success(scene.release(host, type), "Release, " + what);
    }
  }
}

CONFORMANCE_CASE(report_names_all_holders, "nvme.reservation.report.all-holders", roles::controller, needs(claims_types<kAll>)) {
  ReservationScene scene(bench, check, 2);
  scene.held(kAll, 2);
  for (const std::size_t host : {0u, 1u}) scene.is_held_by(host, kAll);
}

CONFORMANCE_CASE(generation_counts_registrations, "nvme.reservation.report.generation", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 3);
  std::uint32_t last = scene.report().generation;
  const auto changed = [&](const host::RawReply& reply, std::string_view what) {
    check.precondition_success(reply, what);
    const std::uint32_t now = scene.report().generation;
    check.that(now != last, "GEN is another one after " + std::string(what), "GEN stays " + words(last));
    last = now;
  };
  changed(scene.register_key(0, scene.key(0)), "Register");
  changed(scene.register_key(1, scene.key(1)), "Register of another host");
  changed(scene.register_key(2, scene.key(2)), "Register of a third host");
  changed(scene.preempt(0, scene.key(2), kExclusive), "Preempt");
  changed(scene.unregister(1, scene.key(1)), "Unregister");
  changed(scene.clear(0, scene.key(0)), "Clear");
}

CONFORMANCE_CASE(generation_does_not_count_reservations, "nvme.reservation.report.generation-stays", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 2);
  scene.all_registered(1);
  const std::uint32_t before = scene.report().generation;
  check.precondition_success(scene.acquire(0, kExclusive), "Acquire");
  check.equal("GEN after Acquire", scene.report().generation, before);
  check.precondition_success(scene.release(0, kExclusive), "Release");
  check.equal("GEN after Release", scene.report().generation, before);
  check.refused(scene.acquire(1, kExclusive), "Acquire of a host that is not registered");
  check.equal("GEN after what was refused", scene.report().generation, before);
}

CONFORMANCE_CASE(generation_counts_by_one, "nvme.reservation.report.generation-step", roles::controller, reservations) {
  ReservationScene scene(bench, check, 3);
  const std::uint32_t before = scene.report().generation;
  check.precondition_success(scene.register_key(0, scene.key(0)), "Register");
  check.equal("GEN after Register", scene.report().generation, before + 1);
  check.precondition_success(scene.replace(0, scene.key(0), scene.kOtherKey), "Replace");
  check.equal("GEN after Replace", scene.report().generation, before + 2);
  const auto ignored = scene.replace(0, ~scene.kOtherKey, scene.key(0), true);
  if (ignored.ok()) check.equal("GEN after Replace with IEKEY", scene.report().generation, before + 3);
  const std::uint64_t key = ignored.ok() ? scene.key(0) : scene.kOtherKey;
  const std::uint32_t then = scene.report().generation;
  // More than a byte counts.
  constexpr std::uint32_t kMany = 260;
  for (std::uint32_t i = 0; i < kMany; ++i) check.precondition_success(scene.replace(0, key, key), "Replace");
  check.equal("GEN after 260 of Replace", scene.report().generation, then + kMany);
  for (const std::size_t host : {1u, 2u}) scene.registered(host, scene.key(host));
  check.precondition_success(scene.unregister(2, scene.key(2)), "Unregister of a host that holds nothing");
  check.equal("GEN after Unregister", scene.report().generation, then + kMany + 3);
  if (!claims_type(bench.declared(), kExclusive)) return;
  check.precondition_success(scene.preempt(1, key, kExclusive), "Preempt");
  check.equal("GEN after Preempt", scene.report(1).generation, then + kMany + 4);
  check.precondition_success(scene.clear(1, scene.key(1)), "Clear");
  check.equal("GEN after Clear", scene.report(1).generation, then + kMany + 5);
}

// ---- persistence ----

CONFORMANCE_CASE(register_changes_persistence, "nvme.reservation.persistence.register", roles::controller, persistence) {
  ReservationScene scene(bench, check, 1);
  RestoredPersistence restored(scene);
  const auto change = [&](PersistChange how, bool expected) {
    const std::string what = "CPTPL " + std::to_string(static_cast<unsigned>(how));
    check.success(scene.register_key(0, scene.key(0), how), "Register with " + what);
    check.equal("PTPLS after " + what, scene.report().persists, expected);
  };
  change(PersistChange::set, true);
  change(PersistChange::none, true);
  change(PersistChange::clear, false);
  change(PersistChange::none, false);
}

CONFORMANCE_CASE(every_register_action_changes_persistence, "nvme.reservation.persistence.every-action", roles::controller, persistence) {
  ReservationScene scene(bench, check, 2);
  RestoredPersistence restored(scene);
  scene.all_registered(2);
  const std::uint64_t key = scene.key(0);
  for (const RegisterAction action : {RegisterAction::register_key, RegisterAction::replace_key, RegisterAction::unregister_key}) {
    for (const bool on : {true, false}) {
      check.precondition_success(restored.set(!on).wait(), "Set Features, Reservation Persistence");
      const auto command = host::reservation_register(scene.nsid(), action, on ? PersistChange::set : PersistChange::clear);
      const bool names_current = action != RegisterAction::register_key;
      const auto reply = scene.send(0, command, host::reservation_keys(names_current ? key : 0, key));
      const std::string what = fmt::format("RREGA {} and CPTPL {}", static_cast<unsigned>(action), on ? 3 : 2);
      check.require_success(reply, "Reservation Register with " + what);
      check.equal("PTPLS after " + what, scene.report(1).persists, on);
      if (action == RegisterAction::unregister_key) scene.registered(0, key);
    }
  }
}

CONFORMANCE_CASE(register_refuses_a_reserved_change, "nvme.reservation.persistence.reserved", roles::controller, reservations,
                 reaches{"reservation.cptpl"}) {
  ReservationScene scene(bench, check, 1);
  check.status(scene.register_key(0, scene.key(0), PersistChange::reserved), sc::invalid_field);
}

CONFORMANCE_CASE(feature_changes_persistence, "nvme.reservation.persistence.feature", roles::controller, persistence) {
  ReservationScene scene(bench, check, 1);
  RestoredPersistence restored(scene);
  for (const bool on : {true, false}) {
    check.success(restored.set(on).wait(), "Set Features");
    check.equal("PTPLS", scene.report().persists, on);
    auto command = host::get_features(nvme::FeatureId::reservation_persistence);
    command.set(nvme::sqe::nsid, scene.nsid());
    const auto got = scene.association(0).admin().send(command).wait();
    if (check.success(got, "Get Features")) check.equal("PTPL", got.dw0() & 1, on ? 1u : 0u);
  }
}

CONFORMANCE_CASE(persistence_of_all_is_of_each, "nvme.reservation.persistence.feature-all", roles::controller, persistence,
                 needs(has_two_namespaces)) {
  ReservationScene scene(bench, check, 1);
  const auto send = [&](Record<nvme::SetFeaturesSqe> command, std::uint32_t nsid) {
    command.set(nvme::sqe::nsid, nsid);
    return scene.association(0).admin().send(command).wait();
  };
  const auto get = [&](std::uint32_t nsid) {
    auto command = host::get_features(nvme::FeatureId::reservation_persistence);
    command.set(nvme::sqe::nsid, nsid);
    return scene.association(0).admin().send(command).wait();
  };
  const auto set = [](bool on) { return host::set_features(nvme::FeatureId::reservation_persistence, on ? 1 : 0); };
  std::vector<std::pair<std::uint32_t, bool>> before;
  for (const host::NamespaceFacts& facts : bench.declared().namespaces) {
    const auto reply = get(facts.nsid);
    // A namespace need not support reservations.
    if (reply.ok()) before.emplace_back(facts.nsid, (reply.dw0() & 1) != 0);
  }
  check.precondition(before.size() >= 2, "two namespaces have the feature");
  for (const bool on : {true, false}) {
    for (const auto& [nsid, was] : before) check.precondition_success(send(set(!on), nsid), "Set Features of one namespace");
    if (!check.success(send(set(on), nvme::kAllNamespaces), "Set Features of all namespaces")) continue;
    for (const auto& [nsid, was] : before) {
      const auto got = get(nsid);
      if (check.success(got, "Get Features")) check.equal("PTPL of namespace " + std::to_string(nsid), got.dw0() & 1, on ? 1u : 0u);
    }
  }
  for (const auto& [nsid, was] : before) (void)send(set(was), nsid);
}

CONFORMANCE_CASE(power_loss_ends_registrations, "nvme.reservation.persistence.lost", roles::controller, with_persistence, reservations) {
  ReservationScene scene(bench, check, 2);
  check.precondition_success(scene.register_key(0, scene.key(0), PersistChange::clear), "Register");
  check.precondition_success(scene.acquire(0, kExclusive), "Acquire");
  lose_power(bench, scene, 2);
  const ReservationReport report = scene.report();
  check.equal("registrants", report.registrants, 0u);
  check.equal("type of the reservation", report.type, ReservationType::none);
  check.success(scene.write(1, 8, 1), "Write of the other host");
}

CONFORMANCE_CASE(power_loss_spares_what_persists, "nvme.reservation.persistence.kept", roles::controller, with_persistence,
                 needs(persists_through_power_loss)) {
  ReservationScene scene(bench, check, 2);
  check.precondition_success(scene.register_key(0, scene.key(0), PersistChange::set), "Register");
  scene.registered(1, scene.key(1));
  check.precondition_success(scene.acquire(1, kExclusive), "Acquire");
  // Each namespace keeps its own registrants.
  std::vector<std::uint32_t> others;
  for (const host::NamespaceFacts& facts : bench.declared().namespaces) {
    if (facts.nsid == scene.nsid()) continue;
    const auto command = host::reservation_register(facts.nsid, RegisterAction::register_key, PersistChange::set);
    if (scene.send(1, command, host::reservation_keys(0, scene.key(1))).ok()) others.push_back(facts.nsid);
  }
  lose_power(bench, scene, 2);
  scene.is_held_by(1, kExclusive);
  for (const std::size_t host : {0u, 1u}) scene.is_registered(host, scene.key(host));
  check.equal("PTPLS", scene.report().persists, true);
  check.status(scene.write(0, 8, 1), sc::reservation_conflict, "Write of the other host");
  for (const std::uint32_t nsid : others) {
    const auto reply = scene.io(1).send(host::reservation_report(nsid, 128), 128).wait();
    const std::string what = "namespace " + std::to_string(nsid);
    if (!check.success(reply, "Reservation Report of " + what)) continue;
    check.equal("registrants of " + what, scene.parse(reply.data).registrants, 1u);
    const auto leave = host::reservation_register(nsid, RegisterAction::unregister_key, PersistChange::clear);
    check.success(scene.send(1, leave, host::reservation_keys(scene.key(1), 0)), "Unregister from " + what);
  }
}

}  // namespace fb::conformance
