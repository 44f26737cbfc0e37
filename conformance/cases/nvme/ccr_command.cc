// Cross-Controller Reset: the command, and what it does to both controllers.
#include "conformance/cases/nvme/ccr_scene.h"

namespace fb::conformance {

namespace {

using nvme::CcrStatus;

/// The instance is not the one that there is: nothing is reset, and the operation succeeds without validation.
void resets_nothing(CcrScene& scene, Check& check, RawAssociation& impacted, const Instance& asked, std::string_view what) {
  const CcrEnd end = scene.reset(asked);
  const bool untold = end.entry.status == CcrStatus::failed && !end.entry.validated;
  if (!untold) check.equal(fmt::format("status of the operation with {}", what), unsigned(end.entry.status), unsigned(CcrStatus::success));
  check.that(scene.alive(impacted), fmt::format("a controller is not reset by a command with {}", what), "its association ends");
}

void says_not_validated(CcrScene& scene, Check& check, const Instance& asked) {
  const CcrEnd end = scene.reset(asked);
  check.that(!end.entry.validated, "V is clear", "it is set");
}

constexpr std::uint64_t kUpper = std::uint64_t{1} << 47;

}  // namespace

CONFORMANCE_CASE(ccr_ends_the_other_association, "nvme.ccr.reset.association", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& impacted = scene.another();
  host::RawQueue& io = impacted.open_io();
  scene.reset_ok(scene.instance(impacted));
  check.that(scene.ends(impacted.admin()), "the admin queue of the impacted controller ends", "it does not");
  check.that(scene.ends(io), "the I/O queue of the impacted controller ends", "it does not");
}

CONFORMANCE_CASE(ccr_stops_all_commands, "nvme.ccr.reset.commands", roles::controller, needs(resets_others), needs(has_namespace),
                 having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& impacted = scene.another();
  host::RawQueue& io = impacted.open_io();
  host::RawQueue& safe = scene.source.open_io();
  const std::uint32_t bytes = bench.declared().block_bytes;
  const Bytes before = pattern(1, 1, bytes), late = pattern(77, 1, bytes);
  const std::uint64_t lba = bench.first_lba() + 9;
  check.precondition_success(safe.send(host::write(bench.nsid(), lba, 1), before).wait(), "Write");
  scene.reset_ok(scene.instance(impacted));
  if (!io.has_ended()) (void)io.send(host::write(bench.nsid(), lba, 1), late).wait_for(kSilence);
  const auto now = safe.send(host::read(bench.nsid(), lba, 1), bytes).wait();
  check.require_success(now, "Read");
  check.bytes("the block after a write to the controller that was reset", now.data, before);
}

CONFORMANCE_CASE(ccr_resets_no_third_controller, "nvme.ccr.reset.others", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& impacted = scene.another();
  RawAssociation& third = scene.another();
  scene.reset_ok(scene.instance(impacted));
  check.that(scene.alive(third), "a third controller goes on", "its association ends");
}

CONFORMANCE_CASE(ccr_leaves_the_source_as_it_is, "nvme.ccr.reset.source", roles::controller, needs(resets_others), needs(has_namespace),
                 having_ccr) {
  CcrScene scene(bench, check);
  host::RawQueue& io = scene.source.open_io();
  RawAssociation& impacted = scene.another();
  scene.reset_ok(scene.instance(impacted));
  const auto reply = io.send(host::flush(bench.nsid())).wait_for(kSoon);
  check.require(reply.has_value(), "the I/O queue of the source goes on");
  check.success(*reply, "Flush");
}

CONFORMANCE_CASE(ccr_result_is_validated, "nvme.ccr.result.validated", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  const CcrEnd end = scene.reset_ok(scene.instance(scene.another()));
  check.that(end.entry.validated, "V is set where the instance is the one asked for", "it is clear");
}

CONFORMANCE_CASE(ccr_result_names_the_reset, "nvme.ccr.result.initiated", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  const CcrEnd end = scene.reset_ok(scene.instance(scene.another()));
  check.that(end.entry.reset_initiated, "CLRI is set where the controller was reset", "it is clear");
}

CONFORMANCE_CASE(ccr_result_has_no_reserved_bits, "nvme.ccr.result.reserved", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  const auto reply = scene.send(scene.instance(scene.another()));
  check.require_success(reply, "Cross-Controller Reset");
  check.equal("bits 31:3 of DW0", reply.dw0() & nvme::kCcrReplyReserved, 0u);
}

CONFORMANCE_CASE(ccr_result_or_entry, "nvme.ccr.result.complete", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  const Instance impacted = scene.instance(scene.another());
  const auto reply = scene.send(impacted);
  check.require_success(reply, "Cross-Controller Reset");
  if (CcrScene::immediate(reply)) return;
  check.that(scene.entry(impacted.cntlid).has_value(), "without IRS, log page 1Eh has an entry", "it has none");
}

CONFORMANCE_CASE(ccr_immediate_result_has_no_entry, "nvme.ccr.result.no-entry", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  const Instance impacted = scene.instance(scene.another());
  const auto reply = scene.send(impacted);
  check.precondition_success(reply, "Cross-Controller Reset");
  check.precondition(CcrScene::immediate(reply), "the operation is over before its command");
  check.that(!scene.entry(impacted.cntlid).has_value(), "log page 1Eh has no entry for it", "it has one");
}

CONFORMANCE_CASE(ccr_immediate_result_raises_no_event, "nvme.ccr.result.no-event", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  scene.listen(scene.source, nvme::event_config_bits::cross_controller_reset);
  auto request = scene.request_event(scene.source);
  const auto reply = scene.send(scene.instance(scene.another()));
  check.precondition_success(reply, "Cross-Controller Reset");
  check.precondition(CcrScene::immediate(reply), "the operation is over before its command");
  check.that(!request.wait_for(kSilence).has_value(), "no event comes", "one does");
}

CONFORMANCE_CASE(ccr_of_itself_is_refused, "nvme.ccr.itself", roles::controller, needs(resets_others), having_ccr,
                 reaches{"cross_controller_reset.itself"}) {
  CcrScene scene(bench, check);
  check.status(scene.send(scene.instance(scene.source)), sc::invalid_field);
  check.that(scene.alive(scene.source), "the association goes on", "it ends");
}

CONFORMANCE_CASE(ccr_compares_ciu, "nvme.ccr.mismatch.ciu", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& impacted = scene.another();
  const Instance is = scene.instance(impacted);
  check.precondition(is.ciu != 0, "CIU is not 0");
  for (const std::uint8_t other :
       {static_cast<std::uint8_t>(is.ciu - 1), static_cast<std::uint8_t>(is.ciu ^ 0x80), static_cast<std::uint8_t>(is.ciu ^ 0x10)}) {
    if (other == 0) continue;
    resets_nothing(scene, check, impacted, {is.cntlid, other, is.cirn}, "another CIU");
  }
}

CONFORMANCE_CASE(ccr_compares_cirn, "nvme.ccr.mismatch.cirn", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& impacted = scene.another();
  const Instance is = scene.instance(impacted);
  check.precondition(is.cirn != 0, "CIRN is not 0");
  resets_nothing(scene, check, impacted, {is.cntlid, is.ciu, is.cirn ^ 1}, "another CIRNL");
}

CONFORMANCE_CASE(ccr_compares_all_of_cirn, "nvme.ccr.mismatch.cirn-upper", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& impacted = scene.another();
  const Instance is = scene.instance(impacted);
  check.precondition(is.cirn != 0, "CIRN is not 0");
  for (const unsigned bit : {32u, 47u, 48u, 63u}) {
    resets_nothing(scene, check, impacted, {is.cntlid, is.ciu, is.cirn ^ (std::uint64_t{1} << bit)}, "another CIRNU");
  }
  resets_nothing(scene, check, impacted, {is.cntlid, is.ciu, is.cirn ^ kUpper}, "another CIRNU");
}

CONFORMANCE_CASE(ccr_spares_other_hosts, "nvme.ccr.mismatch.host", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& impacted = scene.of_other_host();
  const Instance is = scene.instance(impacted);
  resets_nothing(scene, check, impacted, is, "the instance of another host's controller");
  // One whose name differs in its last character.
  AssociationOptions near;
  near.hostnqn.back() = near.hostnqn.back() == '0' ? '1' : '0';
  near.hostid.back() ^= 0xFF;
  RawAssociation& neighbour = bench.associate(near);
  resets_nothing(scene, check, neighbour, scene.instance(neighbour), "the instance of a host whose name is near");
}

CONFORMANCE_CASE(ccr_of_an_old_instance_does_nothing, "nvme.ccr.mismatch.earlier", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& impacted = scene.another();
  const Instance earlier = scene.instance(impacted);
  impacted.disable();
  impacted.enable();
  resets_nothing(scene, check, impacted, earlier, "CIU and CIRN from before a Controller Reset");
}

CONFORMANCE_CASE(ccr_of_another_instance_is_not_validated, "nvme.ccr.mismatch.validated", roles::controller, needs(resets_others),
                 having_ccr) {
  CcrScene scene(bench, check);
  const Instance is = scene.instance(scene.another());
  says_not_validated(scene, check, {is.cntlid, is.ciu, is.cirn ^ 1});
}

CONFORMANCE_CASE(ccr_of_another_instance_initiates_nothing, "nvme.ccr.mismatch.initiated", roles::controller, needs(resets_others),
                 having_ccr) {
  CcrScene scene(bench, check);
  const Instance is = scene.instance(scene.another());
  const CcrEnd end = scene.reset({is.cntlid, is.ciu, is.cirn ^ 1});
  check.that(!end.entry.reset_initiated, "CLRI is clear", "it is set");
}

CONFORMANCE_CASE(ccr_of_another_instance_succeeds, "nvme.ccr.mismatch.success", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  const Instance is = scene.instance(scene.another());
  check.success(scene.send({is.cntlid, is.ciu, is.cirn ^ 1}), "Cross-Controller Reset with another CIRN");
}

CONFORMANCE_CASE(ccr_of_nobody_is_executed, "nvme.ccr.absent.unknown", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  const std::uint16_t nobody = static_cast<std::uint16_t>(scene.source.cntlid() ^ 0x2A5A);
  const CcrEnd end = scene.reset({nobody, 3, 0x123456789});
  check.that(!end.entry.validated && !end.entry.reset_initiated, "V and CLRI are clear", "one of them is set");
}

CONFORMANCE_CASE(ccr_of_a_closed_association_is_executed, "nvme.ccr.absent.gone", roles::controller, needs(resets_others),
                 furnished([](EmbeddedSetup& setup) {
                   set_up_ccr(setup);
                   setup.subsystem.controllers = subsystem::ControllerModel::static_controllers;
                 })) {
  CcrScene scene(bench, check);
  RawAssociation& impacted = scene.another();
  const Instance is = scene.instance(impacted);
  scene.lose(impacted);
  scene.wait(kSettled);
  check.success(scene.send(is), "Cross-Controller Reset of a controller whose association has ended");
}

CONFORMANCE_CASE(ccr_host_comes_back_as_another_instance, "nvme.ccr.reset.again", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  const Instance before = scene.instance(scene.another());
  scene.reset_ok(before);
  scene.wait(kSettled);
  const Instance after = scene.instance(scene.another());
  check.that(after.cirn != before.cirn, "the controller of a new association has another CIRN", "it has the one from before");
}

}  // namespace fb::conformance
