// Cross-Controller Reset: operations in progress, log page 1Eh, and the event of their end.
#include "conformance/cases/nvme/ccr_scene.h"

namespace fb::conformance {

namespace {

using nvme::CcrRetry;
using nvme::CcrStatus;
using nvme::kRemoveCompleted;
constexpr std::uint32_t kNotices = nvme::event_config_bits::cross_controller_reset;

/// An operation that was in progress after its command, and is over.
CcrEnd completed(CcrScene& scene, Check& check, const Instance& of) {
  const auto reply = scene.send(of);
  check.precondition_success(reply, "Cross-Controller Reset");
  check.precondition(!CcrScene::immediate(reply), "the operation lasts longer than its command");
  const CcrEnd end = scene.finish(reply, of.cntlid);
  check.precondition(end.entry.status != CcrStatus::in_progress, "the operation ends");
  return end;
}

void set_up_failing_ccr(EmbeddedSetup& setup) {
  set_up_ccr(setup);
  setup.subsystem.cross_controller_reset.reaches_others = false;
}
const arranged kFailing{"operations that fail", &set_up_failing_ccr};

}  // namespace

CONFORMANCE_CASE(ccr_in_progress_has_an_entry, "nvme.ccr.progress.entry", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  const Instance impacted = scene.instance(scene.another());
  const auto reply = scene.send(impacted);
  check.precondition_success(reply, "Cross-Controller Reset");
  check.precondition(!CcrScene::immediate(reply), "the operation lasts longer than its command");
  check.that(!scene.entries().empty(), "log page 1Eh has an entry", "it has none");
}

CONFORMANCE_CASE(ccr_entry_names_the_impacted_controller, "nvme.ccr.progress.icid", roles::controller, needs(resets_others),
                 having_slow_ccr) {
  CcrScene scene(bench, check);
  const Instance impacted = scene.instance(scene.another());
  scene.begin(impacted);
  const auto entries = scene.entries();
  check.require(entries.size() == 1, "log page 1Eh has one entry", std::to_string(entries.size()));
  check.equal("ICID of the entry", entries[0].icid, impacted.cntlid);
}

CONFORMANCE_CASE(ccr_entry_has_the_ciu_of_the_command, "nvme.ccr.progress.ciu", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  const Instance impacted = scene.instance(scene.another());
  scene.begin(impacted);
  const auto entries = scene.entries();
  check.require(entries.size() == 1, "log page 1Eh has one entry", std::to_string(entries.size()));
  check.equal("CIU of the entry", entries[0].ciu, impacted.ciu);
}

CONFORMANCE_CASE(ccr_in_progress_is_not_begun_again, "nvme.ccr.progress.again", roles::controller, needs(resets_others), having_slow_ccr,
                 reaches{"cross_controller_reset.in_progress"}) {
  CcrScene scene(bench, check);
  const Instance impacted = scene.instance(scene.another());
  scene.begin(impacted);
  const auto again = scene.send(impacted);
  scene.needs_progress(impacted.cntlid);
  check.status(again, sc::ccr_in_progress);
}

CONFORMANCE_CASE(ccr_in_progress_stays_in_the_log, "nvme.ccr.progress.stays", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  const Instance impacted = scene.instance(scene.another());
  scene.begin(impacted);
  const auto reported = scene.entry(impacted.cntlid, kRemoveCompleted);
  check.precondition(reported.has_value() && reported->status == CcrStatus::in_progress, "the operation is in progress still");
  check.that(scene.entry(impacted.cntlid).has_value(), "Remove Completed leaves an operation in progress", "its entry is gone");
}

CONFORMANCE_CASE(ccr_limit_is_kept, "nvme.ccr.limit.exceeded", roles::controller, needs(resets_others), having_slow_ccr,
                 reaches{"cross_controller_reset.limit"}) {
  CcrScene scene(bench, check);
  const unsigned limit = bench.declared().identify().get(nvme::id_ctrl::ccrl);
  check.precondition(limit <= 8, "CCRL is at most 8");
  std::vector<Instance> all;
  for (unsigned i = 0; i <= limit; ++i) all.push_back(scene.instance(scene.another()));
  for (unsigned i = 0; i < limit; ++i) scene.begin(all[i]);
  const auto beyond = scene.send(all[limit]);
  scene.needs_progress(all[0].cntlid);
  check.status(beyond, sc::ccr_limit_exceeded);
}

CONFORMANCE_CASE(ccr_limit_can_be_reached, "nvme.ccr.limit.reached", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  const unsigned limit = bench.declared().identify().get(nvme::id_ctrl::ccrl);
  check.precondition(limit <= 8, "CCRL is at most 8");
  std::vector<Instance> all;
  for (unsigned i = 0; i < limit; ++i) all.push_back(scene.instance(scene.another()));
  for (unsigned i = 0; i < limit; ++i) check.success(scene.send(all[i]), fmt::format("operation {} of {}", i + 1, limit));
}

CONFORMANCE_CASE(ccr_limit_is_for_operations_in_progress, "nvme.ccr.limit.free", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  const unsigned limit = bench.declared().identify().get(nvme::id_ctrl::ccrl);
  check.precondition(limit <= 8, "CCRL is at most 8");
  for (unsigned i = 0; i < limit; ++i) completed(scene, check, scene.instance(scene.another()));
  check.success(scene.send(scene.instance(scene.another())), "an operation after as many as CCRL have ended");
}

CONFORMANCE_CASE(ccr_in_progress_ends, "nvme.ccr.completed.ends", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  const CcrEnd end = scene.reset(scene.instance(scene.another()));
  check.equal("status of the operation", unsigned(end.entry.status), unsigned(CcrStatus::success));
  // Two that are in progress together.
  if (bench.declared().identify().get(nvme::id_ctrl::ccrl) < 2) return;
  const Instance both[] = {scene.instance(scene.another()), scene.instance(scene.another())};
  const auto first = scene.send(both[0]);
  scene.wait(Duration::ms(100));
  const auto second = scene.send(both[1]);
  check.equal("status of the first of two", unsigned(scene.finish(first, both[0].cntlid).entry.status), unsigned(CcrStatus::success));
  check.equal("status of the second of two", unsigned(scene.finish(second, both[1].cntlid).entry.status), unsigned(CcrStatus::success));
}

CONFORMANCE_CASE(ccr_entry_is_validated, "nvme.ccr.completed.validated", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  const CcrEnd end = completed(scene, check, scene.instance(scene.another()));
  check.precondition(end.entry.status == CcrStatus::success, "the operation succeeds");
  check.that(end.entry.validated, "V of the entry is set", "it is clear");
}

CONFORMANCE_CASE(ccr_entry_names_the_reset, "nvme.ccr.completed.initiated", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  const CcrEnd end = completed(scene, check, scene.instance(scene.another()));
  check.precondition(end.entry.status == CcrStatus::success, "the operation succeeds");
  check.that(end.entry.reset_initiated, "CLRI of the entry is set", "it is clear");
}

CONFORMANCE_CASE(ccr_success_needs_no_retry, "nvme.ccr.completed.retry", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  const CcrEnd end = completed(scene, check, scene.instance(scene.another()));
  check.precondition(end.entry.status == CcrStatus::success, "the operation succeeds");
  check.equal("RETRY of the entry", unsigned(end.entry.retry), unsigned(CcrRetry::no));
}

CONFORMANCE_CASE(ccr_end_is_announced, "nvme.ccr.event.sent", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  scene.listen(scene.source, kNotices);
  auto request = scene.request_event(scene.source);
  scene.begin(scene.instance(scene.another()));
  const auto reply = request.wait_for(kCcrPatience);
  check.require(reply.has_value(), "an event comes when the operation ends");
  check.require_success(*reply, "Asynchronous Event Request");
  check.equal("event information", unsigned(nvme::Event::from_dw0(reply->dw0()).info), unsigned(kCcrEvent.info));
}

CONFORMANCE_CASE(ccr_event_names_the_log, "nvme.ccr.event.log", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  scene.listen(scene.source, kNotices);
  auto request = scene.request_event(scene.source);
  scene.begin(scene.instance(scene.another()));
  const auto reply = request.wait_for(kCcrPatience);
  check.precondition(reply.has_value() && reply->ok(), "an event comes when the operation ends");
  check.equal("event", nvme::Event::from_dw0(reply->dw0()), kCcrEvent);
}

CONFORMANCE_CASE(ccr_event_has_to_be_enabled, "nvme.ccr.event.disabled", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  scene.listen(scene.source, 0);
  auto request = scene.request_event(scene.source);
  completed(scene, check, scene.instance(scene.another()));
  check.that(!request.wait_for(kSilence).has_value(), "no event comes", "one does");
}

CONFORMANCE_CASE(ccr_event_comes_again, "nvme.ccr.event.again", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  scene.listen(scene.source, kNotices);
  const Instance both[] = {scene.instance(scene.another()), scene.instance(scene.another())};
  for (const Instance& one : both) {
    auto request = scene.request_event(scene.source);
    scene.begin(one);
    const auto reply = request.wait_for(kCcrPatience);
    const bool came = reply.has_value() && reply->ok();
    if (&one == &both[0])
      check.precondition(came, "an event comes when the first operation ends");
    else
      check.that(came, "an event comes when the second operation ends", "none comes");
    (void)scene.entries();
  }
}

CONFORMANCE_CASE(ccr_completed_entries_can_be_removed, "nvme.ccr.remove.gone", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  const Instance impacted = scene.instance(scene.another());
  completed(scene, check, impacted);
  (void)scene.entries(kRemoveCompleted);
  check.that(!scene.entry(impacted.cntlid).has_value(), "an entry is gone after Remove Completed", "it is there still");
}

CONFORMANCE_CASE(ccr_removed_entries_are_reported, "nvme.ccr.remove.reported", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  const Instance impacted = scene.instance(scene.another());
  completed(scene, check, impacted);
  check.that(scene.entry(impacted.cntlid, kRemoveCompleted).has_value(), "the page read with Remove Completed has the entry",
             "it does not");
}

CONFORMANCE_CASE(ccr_reading_removes_nothing, "nvme.ccr.remove.unasked", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  const Instance impacted = scene.instance(scene.another());
  scene.begin(impacted);
  scene.wait(Duration::s(3));
  (void)scene.entries();
  check.that(scene.entry(impacted.cntlid).has_value(), "an entry stays when the page is read without Remove Completed", "it is gone");
}

CONFORMANCE_CASE(ccr_entry_goes_with_the_next_command, "nvme.ccr.remove.replaced", roles::controller, needs(resets_others),
                 having_slow_ccr) {
  CcrScene scene(bench, check);
  const Instance impacted = scene.instance(scene.another());
  completed(scene, check, impacted);
  // The instance is gone: this one is over at once, or has an entry of its own.
  const auto again = scene.send(impacted);
  check.precondition_success(again, "a second Cross-Controller Reset");
  const auto entries = scene.entries();
  const auto same = std::ranges::count_if(entries, [&](const nvme::CcrEntry& one) { return one.icid == impacted.cntlid; });
  check.equal("entries for the controller", static_cast<unsigned>(same), CcrScene::immediate(again) ? 0u : 1u);
}

CONFORMANCE_CASE(ccr_entries_go_with_a_reset_of_the_source, "nvme.ccr.remove.reset", roles::controller, needs(resets_others),
                 having_slow_ccr) {
  CcrScene scene(bench, check);
  const Instance impacted = scene.instance(scene.another());
  completed(scene, check, impacted);
  scene.source.disable();
  scene.source.enable();
  check.that(!scene.entry(impacted.cntlid).has_value(), "an entry is gone after a Controller Reset of the source", "it is there still");
}

CONFORMANCE_CASE(ccr_log_counts_its_entries, "nvme.ccr.log.count", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  const Instance first = scene.instance(scene.another()), second = scene.instance(scene.another());
  check.precondition(scene.entries().empty(), "log page 1Eh is empty");
  completed(scene, check, first);
  const auto reply = scene.send(second);
  check.precondition_success(reply, "Cross-Controller Reset");
  check.precondition(!CcrScene::immediate(reply), "the operation lasts longer than its command");
  check.equal("NE after two operations", scene.entries().size(), std::size_t{2});
}

CONFORMANCE_CASE(ccr_log_ends_with_zeroes, "nvme.ccr.log.rest", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  const Bytes page = scene.read(scene.source, nvme::LogPage::cross_controller_reset).data;
  const std::size_t used = 8 + 8 * nvme::read_ccr_log(page).size();
  const auto rest = std::find_if(page.begin() + static_cast<std::ptrdiff_t>(used), page.end(), [](std::uint8_t byte) { return byte != 0; });
  check.that(rest == page.end(), "entries that are not valid are zero", fmt::format("byte {} is not", rest - page.begin()));
}

CONFORMANCE_CASE(ccr_log_is_of_one_source, "nvme.ccr.log.source", roles::controller, needs(resets_others), having_slow_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& bystander = scene.another();
  scene.begin(scene.instance(scene.another()));
  const auto there = nvme::read_ccr_log(scene.read(bystander, nvme::LogPage::cross_controller_reset).data);
  check.equal("entries in log page 1Eh of a controller that was sent no command", there.size(), std::size_t{0});
}

CONFORMANCE_CASE(ccr_failure_has_an_entry, "nvme.ccr.failed.entry", roles::controller, needs(resets_others), kFailing) {
  CcrScene scene(bench, check);
  const CcrEnd end = scene.reset(scene.instance(scene.another()));
  check.that(!end.immediate, "the completion has IRS clear", "it is set");
  check.equal("status of the operation", unsigned(end.entry.status), unsigned(CcrStatus::failed));
}

CONFORMANCE_CASE(ccr_failure_without_validation, "nvme.ccr.failed.validated", roles::controller, needs(resets_others), kFailing) {
  CcrScene scene(bench, check);
  const CcrEnd end = scene.reset(scene.instance(scene.another()));
  check.that(!end.entry.validated && !end.entry.reset_initiated, "V and CLRI of the entry are clear", "one of them is set");
}

CONFORMANCE_CASE(ccr_alternate_means_retry, "nvme.ccr.failed.alternate", roles::controller, needs(resets_others), kFailing) {
  CcrScene scene(bench, check);
  const CcrEnd end = scene.reset(scene.instance(scene.another()));
  check.precondition(end.entry.status == CcrStatus::failed, "the operation fails");
  const bool named = end.entry.acid != nvme::kNoAlternateController;
  check.that(!named || end.entry.retry == CcrRetry::alternate, "RETRY is 1 where ACID names a controller",
             fmt::format("ACID {:#x}, RETRY {}", end.entry.acid, unsigned(end.entry.retry)));
}

}  // namespace fb::conformance
