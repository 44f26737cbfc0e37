// Get Features and Set Features.
#include "conformance/cases/nvme/scene.h"

namespace fb::conformance {

namespace {

using nvme::FeatureId;
using nvme::FeatureSelect;

constexpr std::uint8_t kReservedFeature = 0x6F;
constexpr std::uint32_t kExtendedHostId = 1;

host::RawReply get(RawAssociation& association, FeatureId id) { return association.admin().send(host::get_features(id)).wait(); }
host::RawReply set(RawAssociation& association, FeatureId id, std::uint32_t value) {
  return association.admin().send(host::set_features(id, value)).wait();
}
host::RawReply get_host_id(RawAssociation& association, std::uint32_t cdw11, std::size_t bytes) {
  return association.admin().send(host::get_features(FeatureId::host_identifier, FeatureSelect::current, cdw11), bytes).wait();
}

constexpr FeatureId kMandatory[] = {FeatureId::arbitration, FeatureId::power_management, FeatureId::temperature_threshold,
                                    FeatureId::number_of_queues, FeatureId::async_event_configuration};

/// Which has to know who its hosts are; others may do without the feature.
bool reserves(ControllerBench& bench) { return !claims_oncs<nvme::oncs_bits::reservations>(bench.declared()); }

/// The product has the Host Identifier; INCONCLUSIVE where it may do without, and does.
void needs_host_identifier(ControllerBench& bench, Check& check, const host::RawReply& reply) {
  const bool absent = reply.answered() && nvme::same_code(reply.status(), sc::invalid_field);
  check.precondition(reserves(bench) || !absent, "the product has the Host Identifier, or reservations that need it");
}

}  // namespace

// Nothing here is malformed, but tshark 4.0 has a defect: it stumbles over every answer with an
// Arbitration value.
CONFORMANCE_CASE(mandatory_features_are_readable, "nvme.features.mandatory", roles::controller, sends_malformed) {
  RawAssociation& association = bench.associate();
  for (const FeatureId id : kMandatory) {
    check.success(get(association, id), nvme::feature_name(static_cast<std::uint8_t>(id)));
  }
  if (bench.declared().identify().get(nvme::id_ctrl::kas) != 0) {
    check.success(get(association, FeatureId::keep_alive_timer), "Keep Alive Timer");
  }
  if (bench.nsid() != 0) {
    // Of the NVM command set, and of one namespace.
    auto recovery = host::get_features(FeatureId::error_recovery);
    recovery.set(nvme::sqe::nsid, bench.nsid());
    check.success(association.admin().send(recovery).wait(), "Error Recovery");
  }
  if (reserves(bench)) {
    check.success(get_host_id(association, kExtendedHostId, nvme::kHostIdentifierSize), "Host Identifier");
  }
}

CONFORMANCE_CASE(features_refuse_an_unknown_identifier, "nvme.features.unknown", roles::controller, reaches{"feature.fid"}) {
  RawAssociation& association = bench.associate();
  const auto id = static_cast<FeatureId>(kReservedFeature);
  check.status(get(association, id), sc::invalid_field, "Get Features");
  check.status(set(association, id, 0), sc::invalid_field, "Set Features");
}

CONFORMANCE_CASE(features_refuse_to_save_what_cannot_be_saved, "nvme.features.not-saveable", roles::controller,
                 needs(claims_oncs<nvme::oncs_bits::save_and_select>)) {
  RawAssociation& association = bench.associate();
  for (const FeatureId id :
       {FeatureId::async_event_configuration, FeatureId::power_management, FeatureId::number_of_queues, FeatureId::host_behavior_support}) {
    const auto capabilities = association.admin().send(host::get_features(id, FeatureSelect::capabilities)).wait();
    const bool saveable = (capabilities.dw0() & nvme::feature_capability_bits::saveable) != 0;
    if (!capabilities.ok() || saveable) continue;
    auto command = host::set_features(id, 0);
    command.set(nvme::features_sqe::sv, true);
    const Bytes data(id == FeatureId::host_behavior_support ? nvme::HostBehavior::size : 0);
    check.status(association.admin().send(command, data).wait(), sc::feature_not_saveable);
    return;
  }
  check.precondition(false, "a feature cannot be saved");
}

CONFORMANCE_CASE(changeable_features_take_their_value_again, "nvme.features.changeable", roles::controller,
                 needs(claims_oncs<nvme::oncs_bits::save_and_select>)) {
  RawAssociation& association = bench.associate();
  bool any = false;
  for (const FeatureId id : {FeatureId::power_management, FeatureId::temperature_threshold, FeatureId::async_event_configuration}) {
    const auto capabilities = association.admin().send(host::get_features(id, FeatureSelect::capabilities)).wait();
    const auto before = get(association, id);
    constexpr auto kChangeable = nvme::feature_capability_bits::changeable;
    if (!capabilities.ok() || (capabilities.dw0() & kChangeable) == 0 || !before.ok()) continue;
    any = true;
    const std::string name(nvme::feature_name(static_cast<std::uint8_t>(id)));
    if (!check.success(set(association, id, before.dw0()), "Set Features of " + name)) continue;
    check.equal(name + " afterwards", get(association, id).dw0(), before.dw0());
  }
  check.precondition(any, "there is a feature that is changeable");
}

CONFORMANCE_CASE(number_of_queues_refuses_ffff, "nvme.features.number-of-queues-invalid", roles::controller) {
  RawAssociation& association = bench.associate();
  for (const std::uint32_t value : {0x0000FFFFu, 0xFFFF0000u, 0xFFFFFFFFu}) {
    check.status(set(association, FeatureId::number_of_queues, value), sc::invalid_field);
  }
}

CONFORMANCE_CASE(number_of_queues_refused_once_a_queue_exists, "nvme.features.number-of-queues-late", roles::controller) {
  RawAssociation& association = bench.associate();
  constexpr std::uint32_t kMany = 0x00FE'00FE;  // as many as there are, for the case's queue may be the last
  check.precondition_success(set(association, FeatureId::number_of_queues, kMany), "Set Features");
  association.open_io();
  check.status(set(association, FeatureId::number_of_queues, kMany), sc::command_sequence_error);
}

CONFORMANCE_CASE(host_identifier_cannot_be_changed, "nvme.features.host-identifier-set", roles::controller) {
  RawAssociation& association = bench.associate();
  const Bytes other(nvme::kHostIdentifierSize, 0xA5);
  const auto reply = association.admin().send(host::set_features(FeatureId::host_identifier, kExtendedHostId), other).wait();
  needs_host_identifier(bench, check, reply);
  check.status(reply, sc::command_sequence_error);
}

CONFORMANCE_CASE(host_identifier_reads_as_connected, "nvme.features.host-identifier-get", roles::controller) {
  const auto reply = get_host_id(bench.associate(), kExtendedHostId, nvme::kHostIdentifierSize);
  needs_host_identifier(bench, check, reply);
  check.require_success(reply);
  check.bytes("Host Identifier", reply.data, kBenchHostId);
}

CONFORMANCE_CASE(short_host_identifier_is_refused, "nvme.features.host-identifier-64", roles::controller) {
  check.status(get_host_id(bench.associate(), 0, nvme::kShortHostIdentifierSize), sc::invalid_field);
}

CONFORMANCE_CASE(keep_alive_timeout_reads_back_rounded_up, "nvme.features.keep-alive-get", roles::controller, needs(has_keep_alive)) {
  const std::uint32_t unit_ms = bench.declared().identify().get(nvme::id_ctrl::kas) * 100u;
  check.precondition(unit_ms > 0, "the product says its keep alive granularity");
  const std::uint32_t asked_ms = 12'000 / unit_ms * unit_ms + unit_ms / 2;
  RawAssociation& association = bench.associate({.kato_ms = asked_ms});
  const auto reply = get(association, FeatureId::keep_alive_timer);
  check.require_success(reply);
  check.that(reply.dw0() >= asked_ms, "the timeout is not below the one of the Connect",
             words(reply.dw0()) + " instead of " + words(asked_ms));
  check.equal("remainder of the timeout by the granularity", reply.dw0() % unit_ms, 0u);
}

}  // namespace fb::conformance
