// What controllers get wrong around their queues, properties and timers, without that anything else shows it.
#include <algorithm>

#include "conformance/cases/fabrics/common.h"
#include "conformance/runner/arranger.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

constexpr std::uint32_t kKatoMs = 2000;
constexpr std::uint32_t kRdy = 1, kShst = 0xC, kShstComplete = 0x8;
constexpr std::uint32_t kNormal = 1u << 14, kAbrupt = 2u << 14;

std::uint16_t sqhd(const host::RawReply& reply) { return reply.cqe.get(nvme::cqe::sqhd); }

host::RawReply get_timeout(RawAssociation& association) {
  return association.admin().send(host::get_features(nvme::FeatureId::keep_alive_timer)).wait();
}
/// The timeout as the controller keeps it.
Duration timeout_of(RawAssociation& association) {
  const host::RawReply reply = get_timeout(association);
  if (!reply.ok() || reply.dw0() == 0) throw CannotArrange{"there is no keep alive timeout to read"};
  return Duration::ms(reply.dw0());
}

/// CC.SHN, then SHST = 10b; false when it does not come in the time of RTD3E, or in ten seconds.
bool shut_down(ControllerBench& bench, Check& check, RawAssociation& association, std::uint32_t how) {
  const auto cc = static_cast<std::uint32_t>(association.property(prop::cc));
  const std::uint32_t rtd3e = bench.declared().identify().get(nvme::id_ctrl::rtd3e);
  // RTD3E is what a shutdown typically takes, without the way there and back.
  const Duration limit = std::max<Duration>(10_s, Duration::us(rtd3e));
  check.require_success(answered(check, association.set_property(prop::cc, cc | how)), "Property Set of CC.SHN");
  return association.wait_csts(kShst, kShstComplete, limit);
}

std::optional<std::string> traffic_based(const Declared& declared) {
  const auto bit = nvme::ctratt_bits::traffic_based_keep_alive;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::ctratt) & bit) != 0) return {};
  return "CTRATT bit 6 (traffic based keep alive) is clear";
}
std::optional<std::string> subsystem_reset(const Declared& declared) {
  if (!declared.known || declared.capabilities().get(fabrics::cap::nssrs)) return {};
  return "CAP.NSSRS is clear";
}
const furnished with_traffic{[](EmbeddedSetup& setup) { setup.subsystem.traffic_based_keep_alive = true; }};
const furnished with_subsystem_reset{[](EmbeddedSetup& setup) { setup.subsystem.subsystem_reset = true; }};

/// The association has gone, or its controller is not ready any more.
bool is_reset(RawAssociation& association) {
  if (association.admin().has_ended()) return true;
  const host::RawReply csts = association.admin().send(host::property_get(prop::csts)).wait();
  return !csts.answered() || (csts.ok() && (csts.value() & kRdy) == 0);
}

/// A shall of the text. SPDK answers with the code of Connect.
const auto kNoSuchProperty = one_of(sc::invalid_field);

/// A queue of this number for a Connect, its transport not connected yet.
host::RawQueue& queue_for(ControllerBench& bench, const RawAssociation& association, const host::ConnectCommand& connect,
                          std::uint16_t qid) {
  return bench.unconnected_queue({.qid = qid,
                                  .entries = static_cast<std::uint16_t>(connect.sqe.get(cs::sqsize).count()),
                                  .cntlid = association.cntlid(),
                                  .in_capsule_bytes = bench.declared().in_capsule_bytes});
}

}  // namespace

CONFORMANCE_CASE(responses_carry_the_identifier_of_their_command, "fabrics.completion.identifier", roles::controller) {
  host::RawQueue& queue = bench.raw_queue();
  auto connect = bench.connect_command();
  connect.sqe.set(fabrics::sqe::cid, 0x3A51);
  const auto connected = queue.send(connect).wait_for(5_s);
  check.require(connected.has_value(), "Connect is answered by its identifier", "no response has it");
  answered(check, *connected, "Connect");
  check.precondition_success(*connected, "Connect");
  auto get = host::property_get(prop::vs);
  get.set(fabrics::sqe::cid, 0x8005);
  const auto reply = queue.send(get).wait_for(5_s);
  check.require(reply.has_value(), "Property Get is answered by its identifier", "no response has it");
  answered(check, *reply, "Property Get");
  const auto zero = queue.send_command({.sqe = host::as_sqe(host::property_get(prop::vs)), .keep_cid = true}).wait_for(5_s);
  check.require(zero.has_value(), "Property Get of identifier 0 is answered", "no response has it");
  answered(check, *zero, "Property Get of identifier 0");
}

CONFORMANCE_CASE(sqhd_is_not_ahead_of_the_host, "fabrics.flow-control.not-ahead", roles::controller) {
  constexpr std::uint16_t kEntries = 16;
  host::RawQueue& queue = bench.raw_queue({.entries = kEntries});
  const host::RawReply connected = answered(check, queue.send(bench.connect_command({.entries = kEntries})).wait());
  check.precondition_success(connected, "Connect");
  check.between<unsigned>("SQHD after Connect", sqhd(connected), 0, 1);
  for (unsigned sent = 2; sent < 8; ++sent) {
    const host::RawReply reply = answered(check, queue.send(host::property_get(prop::vs)).wait());
    check.between<unsigned>("SQHD after " + std::to_string(sent) + " commands", sqhd(reply), 0, sent);
  }
}

CONFORMANCE_CASE(every_granted_queue_can_be_connected, "fabrics.connect.qid.granted", roles::controller) {
  constexpr std::uint32_t kAsked = 64;
  RawAssociation& association = bench.associate();
  const auto command = host::set_features(nvme::FeatureId::number_of_queues, (kAsked - 1) << 16 | (kAsked - 1));
  const host::RawReply reply = association.admin().send(command).wait();
  check.precondition_success(reply, "Set Features, Number of Queues");
  const std::uint32_t granted = std::min(reply.dw0() & 0xFFFF, reply.dw0() >> 16) + 1;
  const auto qid = static_cast<std::uint16_t>(std::min(granted, kAsked));
  auto connect = association.io_connect(qid);
  host::RawQueue& queue = queue_for(bench, association, connect, qid);
  const host::RawConnection made = queue.connect_transport().wait();
  check.require(made.connected, "the transport of queue " + std::to_string(qid) + " is connected", made.end.text);
  const host::RawReply connected = answered(check, queue.send(connect).wait());
  check.precondition(!nvme::same_code(connected.status(), sc::controller_busy), "the product has room for the queue");
  check.success(connected, "Connect of queue " + std::to_string(qid) + ", the last that was granted");
}

CONFORMANCE_CASE(queue_beyond_the_granted_is_refused, "fabrics.connect.qid.above-granted", roles::controller) {
  RawAssociation& association = bench.associate();
  const host::RawReply reply = association.admin().send(host::set_features(nvme::FeatureId::number_of_queues, 0)).wait();
  check.precondition_success(reply, "Set Features, Number of Queues");
  // Who is asked for one queue may grant as many as there are.
  const std::uint32_t granted = std::max(reply.dw0() & 0xFFFF, reply.dw0() >> 16) + 1;
  check.precondition(granted < 0xFFFE, "not every queue identifier is granted");
  const auto qid = static_cast<std::uint16_t>(granted + 1);
  auto connect = association.io_connect(qid);
  host::RawQueue& queue = queue_for(bench, association, connect, qid);
  const host::RawConnection made = queue.connect_transport().wait();
  if (!made.connected) {  // over RDMA the request names the queue, and may be rejected for it
    check.that(true, "queue " + std::to_string(qid) + " is refused");
    return;
  }
  const host::RawReply connected = answered(check, queue.send(connect).wait());
  check.status(connected, one_of(sc::connect_invalid_parameters, sc::invalid_queue_identifier),
               "Connect of queue " + std::to_string(qid) + ", one more than was granted");
}

CONFORMANCE_CASE(reset_clears_the_shutdown_status, "fabrics.reset.shutdown-status", roles::controller) {
  RawAssociation& association = bench.associate();
  check.precondition(shut_down(bench, check, association, kNormal), "the shutdown completes");
  check.precondition((association.property(prop::cc) & 1) != 0, "CC.EN is 1 after a shutdown, so that it can be reset");
  const Duration limit = ready_limit(association);
  check.require_success(answered(check, association.set_property(prop::cc, 0)), "Property Set of CC");
  check.precondition(association.wait_csts(kRdy, 0, limit), "CSTS.RDY is 0 within CAP.TO");
  check.equal("CSTS.SHST after the reset", association.property(prop::csts) & kShst, 0u);
}

CONFORMANCE_CASE(abrupt_shutdown_completes, "fabrics.shutdown.abrupt", roles::controller) {
  RawAssociation& association = bench.associate();
  const bool complete = shut_down(bench, check, association, kAbrupt);
  check.that(complete, "CSTS.SHST is 10b within RTD3E, or ten seconds", "CSTS is " + words(association.property(prop::csts)));
}

CONFORMANCE_CASE(host_may_take_its_time_to_enable, "fabrics.keep-alive.before-enable", roles::controller, needs{&keep_alive}, lasts{30_s}) {
  RawAssociation& association = bench.associate({.enable = false, .kato_ms = kKatoMs});
  bench.world().run_for(30_s);
  expect_association(check, association, "the association outlasts the timeout of a controller that is not enabled");
}

CONFORMANCE_CASE(shutdown_stops_the_keep_alive_timer, "fabrics.keep-alive.after-shutdown", roles::controller, needs{&keep_alive},
                 lasts{20_s}) {
  RawAssociation& association = bench.associate({.kato_ms = kKatoMs});
  const Duration timeout = timeout_of(association);
  check.precondition(shut_down(bench, check, association, kNormal), "the shutdown completes");
  const bool left = association.admin().ended().wait_for(timeout / 2).has_value();
  check.precondition(!left, "the controller does not disconnect because of the shutdown itself");
  const Duration slack = Duration::ms(bench.declared().identify().get(nvme::id_ctrl::cqt));
  bench.world().run_for(timeout * 3 + slack);
  expect_association(check, association, "the association outlasts the timeout of a controller that is shut down");
}

CONFORMANCE_CASE(commands_keep_the_association, "fabrics.keep-alive.traffic", roles::controller, with_traffic, needs{&keep_alive},
                 needs{&traffic_based}, lasts{20_s}) {
  RawAssociation& association = bench.associate({.kato_ms = kKatoMs});
  const Duration timeout = timeout_of(association);
  for (unsigned i = 0; i < 10; ++i) {
    const Instant last = bench.world().now();
    bench.world().run_for(timeout / 2);
    leave_if_late(check, bench.world().now() - last, timeout);
    check.require_success(answered(check, get_timeout(association)), "Get Features within the timeout");
  }
  expect_association(check, association);
}

CONFORMANCE_CASE(io_commands_keep_the_association, "fabrics.keep-alive.traffic", roles::controller, with_traffic, needs{&keep_alive},
                 needs{&traffic_based}, needs{&a_namespace}, lasts{40_s}) {
  RawAssociation& association = bench.associate({.kato_ms = kKatoMs});
  const Duration timeout = timeout_of(association);
  for (host::RawQueue* const queue : open_queues(bench, association)) {
    for (unsigned i = 0; i < 5; ++i) {
      const Instant last = bench.world().now();
      bench.world().run_for(timeout / 2);
      leave_if_late(check, bench.world().now() - last, timeout);
      check.require_success(answered(check, queue->send(host::flush(bench.nsid())).wait()),
                            "Flush on I/O queue " + std::to_string(queue->options().qid) + " within the timeout");
    }
  }
  expect_association(check, association, "the association outlasts commands on its I/O queues alone");
}

CONFORMANCE_CASE(silence_after_commands_ends_the_association, "fabrics.keep-alive.silence", roles::controller, with_traffic,
                 needs{&keep_alive}, needs{&traffic_based}, lasts{20_s}) {
  RawAssociation& association = bench.associate({.kato_ms = kKatoMs});
  const Duration timeout = timeout_of(association);
  check.require_success(answered(check, get_timeout(association)), "Get Features");
  const Duration latest = timeout * 2 + Duration::ms(bench.declared().identify().get(nvme::id_ctrl::cqt)) + 1_s;
  check.that(association.admin().ended().wait_for(latest).has_value(), "the connection ends within 2 x KATT + CQT of the last command",
             "it stays");
}

CONFORMANCE_CASE(timeout_of_zero_means_no_timer, "fabrics.keep-alive.disabled", roles::controller, needs{&keep_alive}, lasts{45_s}) {
  RawAssociation& association = bench.associate({.kato_ms = 0});
  bench.world().run_for(45_s);
  expect_association(check, association, "the association outlasts a silence");
}

CONFORMANCE_CASE(new_timeout_takes_effect, "fabrics.keep-alive.set", roles::controller, needs{&keep_alive}, lasts{20_s}) {
  RawAssociation& association = bench.associate({.kato_ms = kKatoMs});
  const Duration before = timeout_of(association);
  const auto longer = static_cast<std::uint32_t>((before * 10).count_ms());
  const auto command = host::set_features(nvme::FeatureId::keep_alive_timer, longer);
  check.precondition_success(association.admin().send(command).wait(), "Set Features, Keep Alive Timer");
  check.precondition(timeout_of(association) >= before * 6, "the new timeout is kept");
  bench.world().run_for(before * 4);
  expect_association(check, association, "the association outlasts its first timeout");
}

CONFORMANCE_CASE(cc_reads_as_written, "fabrics.property.cc-reads-back", roles::controller) {
  RawAssociation& association = bench.associate({.enable = false});
  const std::uint32_t written = association.enabling_cc();
  check.require_success(answered(check, association.set_property(prop::cc, written)), "Property Set of CC");
  check.precondition(association.wait_csts(kRdy, kRdy, ready_limit(association)), "CSTS.RDY is 1 within CAP.TO");
  check.equal("CC", static_cast<std::uint32_t>(association.property(prop::cc)), written);
}

CONFORMANCE_CASE(property_set_refuses_reserved_offset, "fabrics.property.set-unknown", roles::controller, reaches{"property.offset"}) {
  RawAssociation& association = bench.associate({.enable = false});
  constexpr std::uint32_t kDoorbell = 0x1000, kNowhere = 0xFFFFFFF0;
  for (const std::uint32_t offset : {kDoorbell, kNowhere}) {
    check.status(answered(check, association.set_property(offset, 0)), kNoSuchProperty, "Property Set at " + words(offset));
  }
  expect_association(check, association);
}

CONFORMANCE_CASE(property_set_refuses_wrong_width, "fabrics.property.set-wrong-width", roles::controller, reaches{"property.size"}) {
  RawAssociation& association = bench.associate();
  const std::uint64_t before = association.property(prop::cc);
  auto command = host::property_set(prop::cc, 0);
  command.set(fabrics::property_sqe::size, fabrics::PropertySize::eight);
  check.status(answered(check, association.admin().send(command).wait()), kNoSuchProperty, "Property Set of CC with 8 bytes");
  check.equal("CC afterwards", association.property(prop::cc), before);
}

CONFORMANCE_CASE(nssr_resets_the_subsystem, "fabrics.property.nssr-resets", roles::controller, with_subsystem_reset,
                 needs{&subsystem_reset}) {
  RawAssociation& association = bench.associate();
  // A dynamic controller, and a subsystem with more than one, has a second for this host.
  const auto second = try_connect(bench, bench.connect_command());
  RawAssociation* const other = second.ok() ? &bench.associate() : nullptr;
  const Duration limit = ready_limit(association) + 1_s;
  const host::RawReply reply = association.set_property(prop::nssr, fabrics::kNssrValue);
  check.precondition(!reply.answered() || reply.ok(), "Property Set of NSSR is taken");
  const Instant end = bench.world().now() + limit;
  for (RawAssociation* const one : {&association, other}) {
    if (one == nullptr) continue;
    bool reset = is_reset(*one);
    while (!reset && bench.world().now() < end) {
      bench.world().run_for(50_ms);
      reset = is_reset(*one);
    }
    const std::string which = one == &association ? "the association" : "the association of another controller";
    check.that(reset, which + " ends, or CSTS.RDY is 0", "the controller goes on");
  }
  if (!bench.embedded()) return;
  // CSTS.NSSRO is of a reset while there was power, and not of the power.
  bench.arranger().power_cycle();
  bench.world().run_for(1_s);
  check.equal("CSTS.NSSRO after a power cycle", bench.associate().property(prop::csts) >> 4 & 1, 0u);
}

}  // namespace fb::conformance
