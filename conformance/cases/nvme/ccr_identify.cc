// Cross-Controller Reset: what a controller says of it, and of its instance.
#include "conformance/cases/nvme/ccr_scene.h"

namespace fb::conformance {

namespace {

using nvme::LogPage;

bool page_listed(Check& check, host::RawQueue& admin, LogPage page) {
  const auto reply = admin.send(host::get_log(LogPage::supported_pages, nvme::SupportedPages::size), nvme::SupportedPages::size).wait();
  check.require_success(reply, "Get Log Page 00h");
  return element<nvme::SupportedPage>(reply.data, nvme::supported_pages::lids, lid_of(page)).get(nvme::supported_page::lsupp);
}

bool command_listed(Check& check, host::RawQueue& admin) {
  const auto reply = admin.send(host::get_log(LogPage::commands_effects, nvme::CommandEffects::size), nvme::CommandEffects::size).wait();
  check.precondition_success(reply, "Get Log Page 05h");
  constexpr auto kOpcode = static_cast<std::size_t>(nvme::AdminOpcode::cross_controller_reset);
  return element<nvme::CommandEffect>(reply.data, nvme::command_effects::acs, kOpcode).get(nvme::command_effect::csupp);
}

std::uint32_t events_of(CcrScene& scene, Check& check) {
  const auto page = scene.source.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait();
  check.require_success(page, "Identify Controller");
  return View<nvme::IdentifyController>{page.data}.get(nvme::id_ctrl::oaes);
}

/// A discovery controller under the well-known name, enabled.
RawAssociation& discovery_controller(ControllerBench& bench) {
  AssociationOptions options;
  options.subnqn = std::string(fabrics::kDiscoveryNqn);
  return bench.associate(options);
}

std::optional<std::string> has_discovery(const Declared& declared) {
  if (!declared.known || declared.discovery) return {};
  return "there is no discovery service at this port";
}

/// Becomes ready once more, in the same association.
void ready_again(RawAssociation& association) {
  association.disable();
  association.enable();
}

std::uint8_t next_ciu(std::uint8_t ciu) { return ciu == 0xFF ? std::uint8_t{1} : static_cast<std::uint8_t>(ciu + 1); }

}  // namespace

CONFORMANCE_CASE(ccr_controller_has_a_ciu, "nvme.ccr.identify.ciu", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  check.that(scene.instance(scene.source).ciu != 0, "CIU is not 0", "it is 0");
}

CONFORMANCE_CASE(ccr_controller_has_a_cirn, "nvme.ccr.identify.cirn", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  check.that(scene.instance(scene.source).cirn != 0, "CIRN is not 0", "it is 0");
}

CONFORMANCE_CASE(ccr_controller_has_a_cqt, "nvme.ccr.identify.cqt", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  const auto page = scene.source.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait();
  check.require_success(page, "Identify Controller");
  check.that(View<nvme::IdentifyController>{page.data}.get(nvme::id_ctrl::cqt) != 0, "CQT is not 0", "it is 0");
}

CONFORMANCE_CASE(ccr_limit_is_four_or_more, "nvme.ccr.identify.limit", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  const auto page = scene.source.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait();
  check.require_success(page, "Identify Controller");
  const unsigned limit = View<nvme::IdentifyController>{page.data}.get(nvme::id_ctrl::ccrl);
  check.that(limit >= 4, "CCRL is 4 or more", std::to_string(limit));
}

CONFORMANCE_CASE(ccr_command_is_in_the_effects_log, "nvme.ccr.support.command", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  check.that(command_listed(check, scene.source.admin()), "Cross-Controller Reset is supported according to log page 05h", "it is not");
}

CONFORMANCE_CASE(ccr_log_is_supported, "nvme.ccr.support.log", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  check.that(page_listed(check, scene.source.admin(), LogPage::cross_controller_reset), "log page 1Eh is in the list of supported pages",
             "it is not");
}

CONFORMANCE_CASE(ccr_event_is_claimed, "nvme.ccr.support.event", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  check.that((events_of(scene, check) & nvme::event_config_bits::cross_controller_reset) != 0, "OAES bit 20 is set", "it is clear");
}

CONFORMANCE_CASE(ccr_lost_host_log_is_supported, "nvme.ccr.support.lost-log", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  check.that(page_listed(check, scene.source.admin(), LogPage::lost_host), "log page 1Fh is in the list of supported pages", "it is not");
}

CONFORMANCE_CASE(ccr_lost_host_event_is_claimed, "nvme.ccr.support.lost-event", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  check.that((events_of(scene, check) & nvme::event_config_bits::lost_host) != 0, "OAES bit 21 is set", "it is clear");
}

CONFORMANCE_CASE(ccr_is_nothing_for_the_discovery_service, "nvme.ccr.support.discovery", roles::controller, needs(has_discovery),
                 having_ccr) {
  RawAssociation& association = discovery_controller(bench);
  const auto pages =
      association.admin().send(host::get_log(LogPage::supported_pages, nvme::SupportedPages::size), nvme::SupportedPages::size).wait();
  check.precondition_success(pages, "Get Log Page 00h");
  for (const LogPage page : {LogPage::cross_controller_reset, LogPage::lost_host}) {
    const auto listed = element<nvme::SupportedPage>(pages.data, nvme::supported_pages::lids, lid_of(page));
    check.that(!listed.get(nvme::supported_page::lsupp),
               fmt::format("log page {:02X}h is not in the list of supported pages", lid_of(page)), "it is");
  }
}

CONFORMANCE_CASE(ciu_grows_with_each_becoming_ready, "nvme.ccr.instance.ciu", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  for (unsigned round = 0; round < 3; ++round) {
    const Instance before = scene.instance(scene.source);
    check.precondition(before.ciu != 0, "CIU is not 0");
    ready_again(scene.source);
    check.equal("CIU after a Controller Reset", scene.instance(scene.source).ciu, next_ciu(before.ciu));
  }
}

CONFORMANCE_CASE(cirn_is_another_after_a_reset, "nvme.ccr.instance.cirn", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  const Instance before = scene.instance(scene.source);
  check.precondition(before.cirn != 0, "CIRN is not 0");
  ready_again(scene.source);
  check.that(scene.instance(scene.source).cirn != before.cirn, "CIRN is another after a Controller Reset", "it is the same");
}

CONFORMANCE_CASE(cirn_is_no_counter, "nvme.ccr.instance.unpredictable", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  std::uint64_t values[4];
  for (std::uint64_t& value : values) {
    value = scene.instance(scene.source).cirn;
    ready_again(scene.source);
  }
  const bool constant = values[1] - values[0] == values[2] - values[1] && values[2] - values[1] == values[3] - values[2];
  check.precondition(values[0] != values[1], "CIRN changes");
  check.that(!constant, "the values of CIRN do not grow by a constant",
             fmt::format("each is {} above the one before", values[1] - values[0]));
}

CONFORMANCE_CASE(cirn_of_two_controllers_differs, "nvme.ccr.instance.apart", roles::controller, needs(resets_others), having_ccr) {
  CcrScene scene(bench, check);
  const Instance one = scene.instance(scene.source), other = scene.instance(scene.another());
  check.precondition(one.cirn != 0 && other.cirn != 0, "CIRN is not 0");
  check.that(one.cirn != other.cirn, "two controllers have different values in CIRN", "they have the same");
}

CONFORMANCE_CASE(instance_lasts_as_long_as_the_controller_is_ready, "nvme.ccr.instance.lasts", roles::controller, needs(resets_others),
                 having_ccr) {
  CcrScene scene(bench, check);
  const Instance before = scene.instance(scene.source);
  RawAssociation& other = scene.another();
  ready_again(other);
  scene.wait(Duration::ms(50));
  const Instance after = scene.instance(scene.source);
  check.equal("CIU after a reset of another controller", after.ciu, before.ciu);
  check.equal("CIRN after a reset of another controller", after.cirn, before.cirn);
}

}  // namespace fb::conformance
