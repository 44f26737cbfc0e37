// Log page 1Fh: controllers of the same host that have lost it.
#include "conformance/cases/nvme/ccr_scene.h"

namespace fb::conformance {

namespace {

constexpr std::uint32_t kNotices = nvme::event_config_bits::lost_host;

void set_up_static(EmbeddedSetup& setup) {
  set_up_ccr(setup);
  setup.subsystem.controllers = subsystem::ControllerModel::static_controllers;
}
const furnished kStatic{&set_up_static};

/// The controller that was lost, connected once more; INCONCLUSIVE where the product gives another one.
RawAssociation& come_back(CcrScene& scene, Check& check, std::uint16_t cntlid) {
  AssociationOptions options;
  options.cntlid = cntlid;
  RawAssociation& back = scene.another(options);
  check.precondition(back.cntlid() == cntlid, "the same controller can be connected to again");
  return back;
}

bool has_entry(const std::vector<nvme::LostHostEntry>& entries, std::uint16_t cntlid) {
  return std::ranges::any_of(entries, [cntlid](const nvme::LostHostEntry& one) { return one.cntlid == cntlid; });
}

/// A controller loses its host, serves it again and loses it once more; gives its CNTLID.
std::uint16_t lose_twice(CcrScene& scene, Check& check) {
  RawAssociation& first = scene.another();
  const std::uint16_t cntlid = first.cntlid();
  scene.lose(first);
  scene.need_lost_entry(scene.source, cntlid);
  scene.lose(come_back(scene, check, cntlid));
  scene.wait(kSettled);
  return cntlid;
}

}  // namespace

CONFORMANCE_CASE(lost_host_is_reported, "nvme.ccr.lost.entry", roles::controller, needs(reports_lost_hosts), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& gone = scene.another();
  RawAssociation& third = scene.another();
  scene.lose(gone);
  for (RawAssociation* const one : {&scene.source, &third}) {
    const auto entry = scene.lost_entry(*one, gone.cntlid());
    check.require(entry.has_value(), "log page 1Fh of each other controller has an entry for one that lost its host");
    check.equal("loss count", unsigned{entry->losses}, 1u);
  }
}

CONFORMANCE_CASE(lost_host_entry_has_the_ciu, "nvme.ccr.lost.ciu", roles::controller, needs(reports_lost_hosts), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& gone = scene.another();
  const Instance instance = scene.instance(gone);
  scene.lose(gone);
  check.equal("CIU of the entry", scene.need_lost_entry(scene.source, gone.cntlid()).ciu, instance.ciu);
}

CONFORMANCE_CASE(lost_host_log_is_about_others, "nvme.ccr.lost.itself", roles::controller, needs(reports_lost_hosts), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& gone = scene.another();
  scene.lose(gone);
  scene.need_lost_entry(scene.source, gone.cntlid());
  check.that(!has_entry(scene.lost(scene.source), scene.source.cntlid()), "log page 1Fh does not list the controller that is asked",
             "it does");
}

CONFORMANCE_CASE(lost_host_is_not_told_to_others, "nvme.ccr.lost.host", roles::controller, needs(reports_lost_hosts), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& stranger = scene.of_other_host();
  RawAssociation& gone = scene.another();
  scene.lose(gone);
  scene.need_lost_entry(scene.source, gone.cntlid());
  check.that(!has_entry(scene.lost(stranger), gone.cntlid()), "a controller of another host has no entry", "it has one");
}

CONFORMANCE_CASE(lost_host_is_announced, "nvme.ccr.lost.event", roles::controller, needs(reports_lost_hosts), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& gone = scene.another();
  scene.listen(scene.source, kNotices);
  auto request = scene.request_event(scene.source);
  scene.lose(gone);
  scene.need_lost_entry(scene.source, gone.cntlid());
  const auto reply = request.wait_for(kSoon);
  check.require(reply.has_value(), "an event comes with the entry");
  check.require_success(*reply, "Asynchronous Event Request");
  check.equal("event", nvme::Event::from_dw0(reply->dw0()), kLostHostEvent);
}

CONFORMANCE_CASE(lost_host_event_has_to_be_enabled, "nvme.ccr.lost.disabled", roles::controller, needs(reports_lost_hosts), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& gone = scene.another();
  scene.listen(scene.source, 0);
  auto request = scene.request_event(scene.source);
  scene.lose(gone);
  scene.need_lost_entry(scene.source, gone.cntlid());
  check.that(!request.wait_for(kSilence).has_value(), "no event comes", "one does");
}

CONFORMANCE_CASE(lost_host_entries_go_when_read, "nvme.ccr.lost.cleared", roles::controller, needs(reports_lost_hosts), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& gone = scene.another();
  scene.lose(gone);
  scene.need_lost_entry(scene.source, gone.cntlid());
  (void)scene.lost(scene.source, false);
  check.equal("entries after a read with RAE 0", scene.lost(scene.source).size(), std::size_t{0});
}

CONFORMANCE_CASE(lost_host_entries_stay_with_rae, "nvme.ccr.lost.retained", roles::controller, needs(reports_lost_hosts), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& gone = scene.another();
  scene.lose(gone);
  scene.need_lost_entry(scene.source, gone.cntlid());
  (void)scene.lost(scene.source, true);
  check.that(has_entry(scene.lost(scene.source), gone.cntlid()), "an entry stays after a read with RAE 1", "it is gone");
  // A command for another controller is none for this one.
  if (bench.declared().identify().get(nvme::id_ctrl::ccrl) == 0) return;
  RawAssociation& second = scene.another();
  // A static controller that was lost is free again.
  if (second.cntlid() == gone.cntlid()) return;
  const Instance of_second = scene.instance(second);
  scene.lose(second);
  scene.need_lost_entry(scene.source, second.cntlid());
  (void)scene.send({gone.cntlid(), of_second.ciu, of_second.cirn});
  check.that(has_entry(scene.lost(scene.source), second.cntlid()), "an entry stays after Cross-Controller Reset of another controller",
             "it is gone");
}

CONFORMANCE_CASE(lost_host_entries_go_with_a_reset, "nvme.ccr.lost.reset", roles::controller, needs(reports_lost_hosts), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& gone = scene.another();
  scene.lose(gone);
  scene.need_lost_entry(scene.source, gone.cntlid());
  scene.source.disable();
  scene.source.enable();
  check.equal("entries after a Controller Reset", scene.lost(scene.source).size(), std::size_t{0});
}

CONFORMANCE_CASE(shutdown_is_no_loss, "nvme.ccr.lost.orderly", roles::controller, needs(reports_lost_hosts), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& leaving = scene.another();
  Record<fabrics::Cc> cc = record_from_integer<fabrics::Cc>(leaving.enabling_cc());
  cc.set(fabrics::cc::en, true).set(fabrics::cc::shn, fabrics::ShutdownNotification::normal);
  check.precondition_success(leaving.set_property(fabrics::property::cc, integer_of(cc)), "CC.SHN");
  constexpr std::uint32_t kShst = 3u << 2, kDone = 2u << 2;
  check.precondition(leaving.wait_csts(kShst, kDone, Duration::s(30)), "the shutdown completes");
  scene.lose(leaving);
  check.that(!scene.lost_entry(scene.source, leaving.cntlid(), kSettled).has_value(), "a shutdown is no loss of communication",
             "log page 1Fh has an entry");
}

CONFORMANCE_CASE(ccr_is_no_loss, "nvme.ccr.lost.by-reset", roles::controller, needs(reports_lost_hosts), needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& impacted = scene.another();
  RawAssociation& bystander = scene.another();
  scene.reset_ok(scene.instance(impacted));
  check.that(!scene.lost_entry(bystander, impacted.cntlid(), kSettled).has_value(),
             "a controller that was reset by Cross-Controller Reset has not lost its host", "log page 1Fh has an entry");
}

CONFORMANCE_CASE(lost_host_losses_are_counted, "nvme.ccr.lost.count", roles::controller, needs(reports_lost_hosts), kStatic) {
  CcrScene scene(bench, check);
  const std::uint16_t cntlid = lose_twice(scene, check);
  check.equal("loss count after two losses", unsigned{scene.need_lost_entry(scene.source, cntlid).losses}, 2u);
  scene.lose(come_back(scene, check, cntlid));
  scene.wait(kSettled);
  check.equal("loss count after three losses", unsigned{scene.need_lost_entry(scene.source, cntlid).losses}, 3u);
}

CONFORMANCE_CASE(lost_host_has_one_entry, "nvme.ccr.lost.once", roles::controller, needs(reports_lost_hosts), kStatic) {
  CcrScene scene(bench, check);
  const std::uint16_t cntlid = lose_twice(scene, check);
  const auto entries = scene.lost(scene.source);
  const auto same = std::ranges::count_if(entries, [&](const nvme::LostHostEntry& one) { return one.cntlid == cntlid; });
  check.equal("entries for a controller that was lost twice", static_cast<unsigned>(same), 1u);
}

CONFORMANCE_CASE(lost_hosts_are_in_order, "nvme.ccr.lost.order", roles::controller, needs(reports_lost_hosts), having_ccr) {
  CcrScene scene(bench, check);
  RawAssociation& first = scene.another();
  RawAssociation& second = scene.another();
  scene.lose(second);
  scene.need_lost_entry(scene.source, second.cntlid());
  scene.lose(first);
  scene.need_lost_entry(scene.source, first.cntlid());
  const auto entries = scene.lost(scene.source);
  check.require(entries.size() >= 2, "log page 1Fh has two entries", std::to_string(entries.size()));
  check.equal("controller of the last entry", entries.back().cntlid, first.cntlid());
}

CONFORMANCE_CASE(silent_host_is_lost, "nvme.ccr.lost.keep-alive", roles::controller, needs(reports_lost_hosts), needs(has_keep_alive),
                 having_ccr) {
  CcrScene scene(bench, check);
  AssociationOptions options;
  options.kato_ms = 2000;
  RawAssociation& silent = scene.another(options);
  // Any traffic may count, a timeout is rounded up to KAS, and CQT may pass before the controller has stopped.
  const auto identify = bench.declared().identify();
  const std::int64_t unit_ms = std::max<std::int64_t>(identify.get(nvme::id_ctrl::kas), 1) * 100;
  const Duration katt = Duration::ms((*options.kato_ms + unit_ms - 1) / unit_ms * unit_ms);
  const Duration within = katt * 3 + Duration::ms(identify.get(nvme::id_ctrl::cqt)) + kSoon;
  check.require(scene.lost_entry(scene.source, silent.cntlid(), within).has_value(),
                "log page 1Fh has an entry for a controller whose keep alive timer expired");
}

}  // namespace fb::conformance
