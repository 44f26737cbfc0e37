// Enable, controller reset and shutdown.
#include <algorithm>

#include "conformance/cases/fabrics/common.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

constexpr std::uint32_t kRdy = 1, kCfs = 2, kShst = 0xC, kShstComplete = 0x8;

host::RawReply identify(Check& check, RawAssociation& association) {
  const auto command = host::identify(nvme::Cns::controller);
  return answered(check, association.admin().send(command, 4096).wait());
}

/// CC.SHN = 01b, then SHST = 10b; false when it does not come in the time of RTD3E, or in ten seconds.
bool shut_down(ControllerBench& bench, Check& check, RawAssociation& association) {
  const auto cc = static_cast<std::uint32_t>(association.property(prop::cc));
  const std::uint32_t rtd3e = bench.declared().identify().get(nvme::id_ctrl::rtd3e);
  // RTD3E is what a shutdown typically takes, without the way there and back.
  const Duration limit = std::max<Duration>(10_s, Duration::us(rtd3e));
  check.require_success(answered(check, association.set_property(prop::cc, cc | 1u << 14)), "Property Set of CC.SHN");
  return association.wait_csts(kShst, kShstComplete, limit);
}

}  // namespace

CONFORMANCE_CASE(enable_makes_ready, "fabrics.enable.ready", roles::controller) {
  RawAssociation& association = any_controller(bench);
  expect_enable(check, association);
  check.equal("CSTS.CFS", association.property(prop::csts) & kCfs, 0u);
  check.equal("CC.EN reads back", association.property(prop::cc) & 1, 1u);
}

CONFORMANCE_CASE(enable_with_bad_entry_size_is_not_ready, "fabrics.enable.bad-entry-size", roles::controller) {
  RawAssociation& association = bench.associate({.enable = false});
  auto cc = record_from_integer<fabrics::Cc>(association.enabling_cc());
  cc.set(fabrics::cc::iosqes, 2u).set(fabrics::cc::iocqes, 1u);
  const host::RawReply reply = answered(check, association.set_property(prop::cc, integer_of(cc)));
  if (!reply.ok()) {
    check.refused(reply, "Property Set of CC");
    return;
  }
  if (!association.wait_csts(kRdy, kRdy, 500_ms)) {
    check.that(true, "CSTS.RDY stays 0");
    return;
  }
  const host::RawReply io = association.io_transport().send(association.io_connect()).wait();
  check.refused(io, "CSTS.RDY became 1: an I/O Connect");
}

CONFORMANCE_CASE(admin_command_before_enable_is_refused, "fabrics.enable.admin-before", roles::controller,
                 reaches{"admin.controller.ready"}) {
  RawAssociation& association = bench.associate({.enable = false});
  check.status(identify(check, association), sc::command_sequence_error, "Identify before CC.EN");
}

CONFORMANCE_CASE(io_queue_is_gone_after_reset, "fabrics.enable.io-after-disable", roles::controller, needs{&a_namespace}) {
  RawAssociation& association = bench.associate();
  const std::vector<host::RawQueue*> queues = open_queues(bench, association);
  association.disable();
  association.enable();
  for (host::RawQueue* const queue : queues) {
    const auto reply = queue->send(host::flush(bench.nsid())).wait_for(500_ms);
    const bool executed = reply && reply->answered() && reply->status().ok();
    check.that(!executed, "queue " + std::to_string(queue->options().qid) + " from before the reset executes nothing", "Flush succeeded");
  }
}

CONFORMANCE_CASE(reset_clears_ready, "fabrics.reset.clears-ready", roles::controller) {
  RawAssociation& association = bench.associate();
  expect_disable(check, association);
  expect_association(check, association, "the admin queue serves Fabrics commands after the reset");
}

CONFORMANCE_CASE(controller_works_again_after_reset, "fabrics.reset.reenable", roles::controller) {
  RawAssociation& association = bench.associate();
  for (const std::string_view which : {"the reset", "a second reset"}) {
    expect_disable(check, association);
    expect_enable(check, association);
    const host::RawReply page = identify(check, association);
    if (!check.success(page, "Identify after " + std::string(which))) continue;
    check.equal("CNTLID after " + std::string(which), View<nvme::IdentifyController>{page.data}.get(nvme::id_ctrl::cntlid),
                association.cntlid());
  }
  const host::RawReply reply = association.io_transport().send(association.io_connect()).wait();
  check.success(answered(check, reply), "I/O Connect after the reset");
}

CONFORMANCE_CASE(reset_drops_event_requests, "fabrics.reset.drops-aer", roles::controller) {
  RawAssociation& association = bench.associate();
  association.admin().post({.sqe = host::async_event_request()});
  expect_association(check, association);
  auto next = association.admin().next_response();
  check.precondition(!next.wait_for(100_ms), "no event is waiting for a request");
  expect_disable(check, association);
  const auto reply = next.wait_for(100_ms);
  const bool completed = reply && reply->answered();
  check.that(!completed, "an event request that was outstanding is not completed", completed ? nvme::to_string(reply->status()) : "");
}

CONFORMANCE_CASE(shutdown_completes, "fabrics.shutdown.normal", roles::controller) {
  RawAssociation& association = bench.associate();
  const bool complete = shut_down(bench, check, association);
  check.that(complete, "CSTS.SHST is 10b within RTD3E, or ten seconds", "CSTS is " + words(association.property(prop::csts)));
}

CONFORMANCE_CASE(only_fabrics_commands_after_shutdown, "fabrics.shutdown.only-fabrics", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto queues = bench.nsid() != 0 ? open_queues(bench, association) : std::vector<host::RawQueue*>{};
  check.precondition(shut_down(bench, check, association), "the shutdown completes");
  check.refused(identify(check, association), "Identify after the shutdown");
  for (host::RawQueue* const io : queues) {
    const auto flushed = io->send(host::flush(bench.nsid())).wait_for(500_ms);
    const bool executed = flushed && flushed->answered() && flushed->status().ok();
    check.that(!executed, "I/O queue " + std::to_string(io->options().qid) + " executes nothing after the shutdown", "Flush succeeded");
  }
  expect_association(check, association, "Property Get is served after the shutdown");
}

CONFORMANCE_CASE(controller_works_again_after_shutdown, "fabrics.shutdown.restart", roles::controller) {
  RawAssociation& association = bench.associate();
  check.precondition(shut_down(bench, check, association), "the shutdown completes");
  expect_disable(check, association);
  expect_enable(check, association);
  check.equal("CSTS.SHST after the restart", association.property(prop::csts) & kShst, 0u);
  check.success(identify(check, association), "Identify after the restart");
}

}  // namespace fb::conformance
