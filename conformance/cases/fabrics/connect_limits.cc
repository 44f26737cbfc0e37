// Connect: values at the edges of what a controller announces, and what its response repeats.
#include <fmt/format.h>

#include "conformance/cases/fabrics/discovery_scene.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

/// The most entries that the bench has room for.
constexpr std::uint32_t kBenchEntries = 1024;

/// Of the discovery log entry that leads to the subsystem; nothing where no discovery service answers here.
std::optional<unsigned> requirements_of(ControllerBench& bench, Check& check) {
  const auto probe = try_connect(bench, bench.connect_command({.subnqn = std::string(fabrics::kDiscoveryNqn)}));
  if (!probe.ok()) return std::nullopt;
  RawAssociation& association = connect_discovery(bench);
  const Bytes log = read_log(bench, check, association);
  for (const auto& entry : entries_of(log)) {
    if (name_in(entry) == bench.nqn() && entry.get(de::subtype) == fabrics::SubsystemType::nvm) return entry.get(de::treq);
  }
  return std::nullopt;
}

std::uint32_t timeout_after_connect(ControllerBench& bench, Check& check, std::uint32_t asked) {
  RawAssociation& association = bench.associate({.kato_ms = asked});
  const auto reply = association.admin().send(host::get_features(nvme::FeatureId::keep_alive_timer)).wait();
  check.precondition_success(reply, "Get Features of the keep alive timer");
  return reply.dw0();
}

const furnished takes_zero_host_identifiers{[](EmbeddedSetup& setup) { setup.subsystem.allow_zero_hostid = true; }};

void judge_zero_host_identifier(ControllerBench& bench, Check& check) {
  const auto listed = requirements_of(bench, check);
  const auto reply = answered(check, try_connect(bench, bench.connect_command({.hostid = host::HostId{}})));
  const bool supported = listed && (*listed & fabrics::treq_bits::zero_host_id) != 0;
  if (supported) return void(check.success(reply, "Connect with a Host Identifier of 0, which TREQ.ZHIDS announces"));
  check.status(reply, one_of(sc::connect_invalid_parameters, sc::connect_invalid_host),
               "Connect with a Host Identifier of 0, which TREQ.ZHIDS does not announce");
}

}  // namespace

CONFORMANCE_CASE(connect_refuses_host_identifier_0, "fabrics.connect.hostid.zero", roles::controller) {
  judge_zero_host_identifier(bench, check);
}

CONFORMANCE_CASE(connect_takes_host_identifier_0_where_announced, "fabrics.connect.hostid.zero-announced", roles::controller,
                 takes_zero_host_identifiers) {
  const auto listed = requirements_of(bench, check);
  check.precondition(listed && (*listed & fabrics::treq_bits::zero_host_id) != 0, "TREQ.ZHIDS announces a Host Identifier of 0");
  judge_zero_host_identifier(bench, check);
}

CONFORMANCE_CASE(io_connect_names_the_controller, "fabrics.connect.io-cntlid", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto reply = answered(check, association.io_transport().send(association.io_connect()).wait());
  check.require_success(reply, "Connect of an I/O queue");
  check.equal("CNTLID in the response", reply.as<fabrics::ConnectReply>().get(fabrics::connect_reply::cntlid), association.cntlid());
}

CONFORMANCE_CASE(io_connect_takes_what_mqes_claims, "fabrics.connect.sqsize.claimed", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto cap = record_from_integer<fabrics::Cap>(association.property(prop::cap));
  const auto claimed = static_cast<std::uint32_t>(cap.get(fabrics::cap::mqes).count());
  const auto entries = static_cast<std::uint16_t>(std::min(claimed, kBenchEntries));
  host::RawQueue& queue = bench.unconnected_queue({.qid = 1, .entries = entries, .cntlid = association.cntlid()});
  const host::RawConnection made = queue.connect_transport().wait();
  const std::string what = fmt::format("a queue of {} entries, of {} that CAP.MQES claims", entries, claimed);
  check.require(made.connected, "the connection for " + what + " is accepted", made.end.text);
  check.success(answered(check, queue.send(association.io_connect(1, entries)).wait()), "Connect of " + what);
}

CONFORMANCE_CASE(keep_alive_timeout_is_the_next_multiple, "fabrics.keep-alive.next-multiple", roles::controller, needs{&keep_alive}) {
  const std::uint32_t grain = std::uint32_t{bench.declared().identify().get(nvme::id_ctrl::kas)} * 100;
  check.precondition(grain > 0, "the product says its keep alive granularity");
  // Where a controller takes no such timeout it sets its least one: a longer one is asked for then.
  std::uint32_t least = 60 * grain;
  if (const std::uint32_t kept = timeout_after_connect(bench, check, least); kept > least) least = kept / grain * grain * 2;
  for (const std::uint32_t asked : {least, least + 1, least + grain - 1}) {
    const std::uint32_t kept = timeout_after_connect(bench, check, asked);
    const std::uint32_t rounded = (asked + grain - 1) / grain * grain;
    check.equal(fmt::format("the timeout after Connect with KATO {} ms", asked), kept, rounded);
    RawAssociation& association = bench.associate({.kato_ms = least * 2});
    const auto set = association.admin().send(host::set_features(nvme::FeatureId::keep_alive_timer, asked)).wait();
    check.precondition_success(set, "Set Features, Keep Alive Timer");
    const auto reply = association.admin().send(host::get_features(nvme::FeatureId::keep_alive_timer)).wait();
    check.precondition_success(reply, "Get Features, Keep Alive Timer");
    check.equal(fmt::format("the timeout after Set Features with KATO {} ms", asked), reply.dw0(), rounded);
  }
}

}  // namespace fb::conformance
