// Flexible Data Placement: what a product claims, its configurations, and how one of them is enabled.
#include <fmt/format.h>

#include "conformance/cases/nvme/fdp_scene.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

namespace {

using nvme::FeatureSelect;
using nvme::LogPage;

bool supports_page(host::RawQueue& admin, Check& check, LogPage page) {
  const auto reply = admin.send(host::get_log(LogPage::supported_pages, nvme::SupportedPages::size), nvme::SupportedPages::size).wait();
  check.require_success(reply, "Get Log Page 00h");
  return (reply.data[4 * static_cast<std::size_t>(page)] & 1) != 0;
}
Bytes feature_effects(host::RawQueue& admin, Check& check) {
  const auto reply = admin.send(host::get_log(LogPage::feature_effects, nvme::FeatureEffects::size), nvme::FeatureEffects::size).wait();
  check.require_success(reply, "Get Log Page 12h");
  return reply.data;
}
std::uint32_t effect_of(const Bytes& page, nvme::FeatureId id) {
  return load_le<std::uint32_t>(page.data() + 4 * static_cast<std::size_t>(id));
}
/// The groups, at most the first four.
std::vector<std::uint16_t> some_groups(FdpScene& scene) {
  auto groups = scene.endurance.groups();
  groups.resize(std::min<std::size_t>(groups.size(), 4));
  return groups;
}

}  // namespace

CONFORMANCE_CASE(fdp_products_have_endurance_groups, "nvme.fdp.claim", roles::controller, needs(is_version_2), having_fdp) {
  RawAssociation& association = bench.associate();
  const auto reply = association.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait();
  check.require_success(reply, "Identify Controller");
  const std::uint32_t ctratt = View<nvme::IdentifyController>{reply.data}.get(nvme::id_ctrl::ctratt);
  const bool logs = supports_page(association.admin(), check, LogPage::fdp_configurations);
  const bool claims = (ctratt & nvme::ctratt_bits::flexible_data_placement) != 0;
  check.equal("CTRATT bit 19 (FDPS), as log page 20h is supported", claims, logs);
  if (claims) check.that((ctratt & nvme::ctratt_bits::endurance_groups) != 0, "CTRATT bit 4 (Endurance Groups) is set too");
}

CONFORMANCE_CASE(fdp_excludes_fixed_capacity_management, "nvme.fdp.claim.fixed-capacity", roles::controller, needs(kHasFdp), having_fdp) {
  RawAssociation& association = bench.associate();
  const auto reply = association.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait();
  check.require_success(reply, "Identify Controller");
  const std::uint32_t ctratt = View<nvme::IdentifyController>{reply.data}.get(nvme::id_ctrl::ctratt);
  check.equal("CTRATT bit 11 (Fixed Capacity Management)", ctratt & nvme::ctratt_bits::fixed_capacity_management, 0u);
}

CONFORMANCE_CASE(fdp_products_have_its_log_pages, "nvme.fdp.claim.log-pages", roles::controller, needs(kHasFdp), having_fdp) {
  RawAssociation& association = bench.associate();
  for (const LogPage page : {LogPage::fdp_configurations, LogPage::reclaim_unit_handle_usage, LogPage::fdp_statistics, LogPage::fdp_events,
                             LogPage::feature_effects}) {
    check.that(supports_page(association.admin(), check, page), fmt::format("log page {:02X}h is supported", lid_of(page)));
  }
}

CONFORMANCE_CASE(fdp_products_have_its_features, "nvme.fdp.claim.features", roles::controller, needs(kHasFdp), having_fdp) {
  RawAssociation& association = bench.associate();
  const Bytes page = feature_effects(association.admin(), check);
  check.that((effect_of(page, nvme::FeatureId::flexible_data_placement) & 1) != 0, "feature 1Dh is supported");
  check.that((effect_of(page, nvme::FeatureId::fdp_events) & 1) != 0, "feature 1Eh is supported");
}

CONFORMANCE_CASE(fdp_feature_is_of_an_endurance_group, "nvme.fdp.feature.scope", roles::controller, needs(kHasFdp), having_fdp) {
  RawAssociation& association = bench.associate();
  const std::uint32_t effect = effect_of(feature_effects(association.admin(), check), nvme::FeatureId::flexible_data_placement);
  check.equal("scope of feature 1Dh", effect >> 20, std::uint32_t{nvme::scope_bits::endurance_group});
}

CONFORMANCE_CASE(fdp_products_have_its_commands, "nvme.fdp.claim.commands", roles::controller, needs(kHasFdp), having_fdp) {
  RawAssociation& association = bench.associate();
  const auto reply =
      association.admin().send(host::get_log(LogPage::commands_effects, nvme::CommandEffects::size), nvme::CommandEffects::size).wait();
  check.require_success(reply, "Get Log Page 05h");
  for (const auto opcode : {nvme::IoOpcode::io_management_receive, nvme::IoOpcode::io_management_send}) {
    const std::size_t at = nvme::command_effects::iocs.offset + 4 * static_cast<std::size_t>(opcode);
    check.that((reply.data[at] & 1) != 0, fmt::format("I/O command {:02X}h is supported", static_cast<unsigned>(opcode)));
  }
}

// ---- log page 20h ----

CONFORMANCE_CASE(fdp_configurations_fill_their_size, "nvme.fdp.configurations.size", roles::controller, needs(kHasFdp), having_fdp) {
  FdpScene scene(bench, check);
  for (const std::uint16_t group : some_groups(scene)) {
    const auto log = scene.configurations(group);
    check.that(!log.damaged, fmt::format("the descriptors of group {} lie within SZE, and hold what they count", group));
    std::size_t bytes = nvme::FdpConfigurationsHeader::size;
    for (const auto& one : log.configurations) bytes += one.size;
    if (!log.damaged) check.equal("SZE, as the header and the descriptors", std::size_t{log.size}, bytes);
  }
}

CONFORMANCE_CASE(fdp_configuration_descriptors_hold_their_handles, "nvme.fdp.configurations.descriptor", roles::controller, needs(kHasFdp),
                 having_fdp) {
  FdpScene scene(bench, check);
  for (const std::uint16_t group : some_groups(scene)) {
    const Bytes bytes = scene.configuration_bytes(group);
    const View<nvme::FdpConfigurationDescriptor> first{
        ByteView{bytes}.subspan(nvme::FdpConfigurationsHeader::size, nvme::FdpConfigurationDescriptor::size)};
    const std::size_t handles = first.get(nvme::fdp_configuration::nruh);
    const std::size_t holds = nvme::FdpConfigurationDescriptor::size + handles * 4 + first.get(nvme::fdp_configuration::vss);
    check.equal("DSZE of the first descriptor, as what it holds, up to 8 bytes", std::size_t{first.get(nvme::fdp_configuration::dsze)},
                (holds + 7) / 8 * 8);
  }
}

CONFORMANCE_CASE(fdp_configurations_have_version_zero, "nvme.fdp.configurations.version", roles::controller, needs(kHasFdp), having_fdp) {
  FdpScene scene(bench, check);
  for (const std::uint16_t group : some_groups(scene))
    check.equal("VER of log page 20h", unsigned{scene.configurations(group).version}, 0u);
}

CONFORMANCE_CASE(fdp_configurations_have_handles, "nvme.fdp.configurations.handles", roles::controller, needs(kHasFdp), having_fdp) {
  FdpScene scene(bench, check);
  for (const std::uint16_t group : some_groups(scene)) {
    for (const auto& one : scene.configurations(group).configurations) {
      check.that(!one.handles.empty() && one.reclaim_groups != 0, "NRUH and NRG are not 0",
                 fmt::format("{} handles, {} reclaim groups", one.handles.size(), one.reclaim_groups));
    }
  }
}

CONFORMANCE_CASE(fdp_handles_have_a_type, "nvme.fdp.configurations.type", roles::controller, needs(kHasFdp), having_fdp) {
  FdpScene scene(bench, check);
  for (const std::uint16_t group : some_groups(scene)) {
    for (const auto& one : scene.configurations(group).configurations) {
      for (const auto type : one.handles) {
        const auto value = static_cast<unsigned>(type);
        check.that(value == 1 || value == 2 || value >= 0xC0, "RUHT is a type", std::to_string(value));
      }
    }
  }
}

CONFORMANCE_CASE(fdp_identifiers_have_a_limit, "nvme.fdp.configurations.identifiers", roles::controller, needs(kHasFdp), having_fdp) {
  FdpScene scene(bench, check);
  for (const std::uint16_t group : some_groups(scene)) {
    for (const auto& one : scene.configurations(group).configurations) {
      const std::uint64_t product = std::uint64_t{one.reclaim_groups} * one.handles.size();
      check.that(one.identifiers_max <= product, "MAXPIDS is below the product of NRG and NRUH",
                 fmt::format("MAXPIDS {}, product {}", one.identifiers_max - 1, product));
    }
  }
}

CONFORMANCE_CASE(fdp_identifiers_name_every_reclaim_group, "nvme.fdp.configurations.groups", roles::controller, needs(kHasFdp),
                 having_fdp) {
  FdpScene scene(bench, check);
  for (const std::uint16_t group : some_groups(scene)) {
    for (const auto& one : scene.configurations(group).configurations) {
      check.that(one.reclaim_groups <= 1 || one.group_bits != 0, "RGIF is not 0 with several reclaim groups",
                 std::to_string(one.reclaim_groups));
    }
  }
}

CONFORMANCE_CASE(fdp_configurations_limit_namespaces, "nvme.fdp.configurations.namespaces", roles::controller, needs(kHasFdp), having_fdp) {
  FdpScene scene(bench, check);
  const auto identify = bench.declared().identify();
  const std::uint32_t mnan = identify.get(nvme::id_ctrl::mnan), most = mnan != 0 ? mnan : identify.get(nvme::id_ctrl::nn);
  for (const std::uint16_t group : some_groups(scene)) {
    for (const auto& one : scene.configurations(group).configurations) {
      check.that(one.namespaces <= most, "NNS is at most MNAN, or NN", fmt::format("{}, and {}", one.namespaces, most));
    }
  }
}

namespace {

const furnished without_write_cache{[](EmbeddedSetup& setup) {
  set_up_fdp(setup);
  setup.subsystem.volatile_write_cache = false;
}};

}  // namespace

CONFORMANCE_CASE(fdp_write_caches_are_identified, "nvme.fdp.configurations.write-cache", roles::controller, needs(kHasFdp),
                 without_write_cache) {
  FdpScene scene(bench, check);
  const Bytes page = scene.manager.page(nvme::Cns::controller);
  const bool present = (View<nvme::IdentifyController>{page}.get(nvme::id_ctrl::vwc) & nvme::vwc_bits::present) != 0;
  for (const std::uint16_t group : some_groups(scene)) {
    for (const auto& one : scene.configurations(group).configurations) {
      check.that(!one.write_cache || present, "VWC has bit 0 set where FDPVWC is");
    }
  }
}

CONFORMANCE_CASE(fdp_configurations_are_of_groups_that_exist, "nvme.fdp.configurations.unknown-group", roles::controller, needs(kHasFdp),
                 having_fdp, reaches{"log.fdp.group"}) {
  FdpScene scene(bench, check);
  const auto groups = scene.endurance.groups();
  std::uint16_t group = 1;
  while (Manager::holds(groups, group)) ++group;
  check.refused(scene.log(LogPage::fdp_configurations, group, 16), "Get Log Page 20h of a group that does not exist");
}

// ---- feature 1Dh ----

CONFORMANCE_CASE(fdp_can_be_enabled, "nvme.fdp.enable", roles::controller, needs(kHasFdp), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint16_t group = scene.empty_group();
  (void)scene.group();
  check.equal("FDPE in Get Features 1Dh", scene.value(group) & 1, 1u);
}

CONFORMANCE_CASE(fdp_tells_its_configuration, "nvme.fdp.enable.index", roles::controller, needs(kHasFdp), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint16_t group = scene.empty_group();
  const auto log = scene.configurations(group);
  std::size_t last = log.configurations.size();
  while (last != 0 && !log.configurations[last - 1].valid) --last;
  check.precondition(last > 1, "there is a valid configuration beyond the first");
  check.precondition_success(scene.set(group, true, static_cast<unsigned>(last - 1)), "Set Features 1Dh");
  const std::uint32_t value = scene.value(group);
  check.precondition_success(scene.set(group, false, 0), "Set Features 1Dh");
  check.equal("FDPCIDX in Get Features 1Dh", value >> 8 & 0xFF, static_cast<std::uint32_t>(last - 1));
}

CONFORMANCE_CASE(fdp_is_enabled_group_by_group, "nvme.fdp.enable.group", roles::controller, needs(kHasFdp), having_fdp) {
  FdpScene scene(bench, check);
  const auto used = scene.used_groups();
  const auto groups = scene.endurance.groups();
  const std::uint16_t group = scene.empty_group();
  std::vector<std::uint32_t> before;
  for (const std::uint16_t one : groups) before.push_back(scene.value(one));
  check.precondition_success(scene.set(group, true, 0), "Set Features 1Dh");
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::uint32_t expected = groups[i] == group ? 1u : before[i];
    check.equal(fmt::format("Get Features 1Dh of group {}", groups[i]), scene.value(groups[i]) & 0xFF01, expected & 0xFF01);
  }
  check.precondition_success(scene.set(group, false, 0), "Set Features 1Dh");
}

CONFORMANCE_CASE(fdp_default_is_disabled, "nvme.fdp.feature.default", roles::controller, needs(kHasFdp), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint16_t group = scene.group();
  check.equal("default value", scene.value(group, FeatureSelect::default_value), 0u);
}

CONFORMANCE_CASE(fdp_is_saved, "nvme.fdp.feature.saved", roles::controller, needs(kHasFdp), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint16_t group = scene.group();
  const std::uint32_t current = scene.value(group);
  check.equal("saved value, as the current one", scene.value(group, FeatureSelect::saved), current);
}

CONFORMANCE_CASE(fdp_feature_is_saveable, "nvme.fdp.feature.saveable", roles::controller, needs(kHasFdp), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t capabilities = scene.value(scene.group(), FeatureSelect::capabilities);
  check.that((capabilities & nvme::feature_capability_bits::saveable) != 0, "feature 1Dh is saveable", std::to_string(capabilities));
}

CONFORMANCE_CASE(fdp_is_changed_with_save_alone, "nvme.fdp.feature.save-bit", roles::controller, needs(kHasFdp), having_fdp,
                 reaches{"feature.fdp.save"}) {
  FdpScene scene(bench, check);
  const std::uint16_t oncs = bench.declared().identify().get(nvme::id_ctrl::oncs);
  check.precondition((oncs & nvme::oncs_bits::save_and_select) != 0, "ONCS has SSFS");
  const std::uint16_t group = scene.empty_group();
  auto command = host::set_fdp(group, true, 0);
  command.set(nvme::features_sqe::sv, false);
  const auto reply = scene.admin().send(command).wait();
  check.status(reply, sc::invalid_field);
  if (reply.ok()) (void)scene.set(group, false, 0);
}

CONFORMANCE_CASE(fdp_outlives_a_reset, "nvme.fdp.feature.persistent", roles::controller, needs(kHasFdp), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint16_t group = scene.group();
  const std::uint32_t before = scene.value(group);
  scene.manager.association.disable();
  scene.manager.association.enable();
  check.equal("Get Features 1Dh after a controller reset", scene.value(group), before);
}

CONFORMANCE_CASE(fdp_is_not_enabled_beside_namespaces, "nvme.fdp.enable.namespaces", roles::controller, needs(kHasFdp),
                 needs(has_namespace), having_fdp, reaches{"feature.fdp.namespaces"}) {
  FdpScene scene(bench, check);
  check.status(scene.set(scene.plain_group(), true, 0), sc::command_sequence_error);
}

CONFORMANCE_CASE(fdp_is_not_disabled_under_namespaces, "nvme.fdp.disable.namespaces", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp, reaches{"feature.fdp.namespaces"}) {
  FdpScene scene(bench, check);
  (void)scene.made({0});
  check.status(scene.set(scene.group(), false, 0), sc::command_sequence_error);
}

CONFORMANCE_CASE(fdp_same_value_can_be_set_again, "nvme.fdp.enable.same", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  (void)scene.made({0});
  const std::uint32_t value = scene.value(scene.group());
  check.success(scene.set(scene.group(), true, value >> 8 & 0xFF), "Set Features 1Dh with the value that it has");
}

CONFORMANCE_CASE(fdp_can_be_disabled, "nvme.fdp.disable", roles::controller, needs(kHasFdp), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint16_t group = scene.empty_group();
  check.precondition_success(scene.set(group, true, 0), "Set Features 1Dh");
  check.precondition((scene.value(group) & 1) == 1, "Flexible Data Placement is enabled");
  check.success(scene.set(group, false, 0), "Set Features 1Dh");
  check.equal("FDPE in Get Features 1Dh", scene.value(group) & 1, 0u);
}

CONFORMANCE_CASE(fdp_configuration_must_exist, "nvme.fdp.enable.unknown-index", roles::controller, needs(kHasFdp), having_fdp,
                 reaches{"feature.fdp.index"}) {
  FdpScene scene(bench, check);
  const std::uint16_t group = scene.empty_group();
  const std::size_t count = scene.configurations(group).configurations.size();
  check.precondition(count <= 0xFF, "an index names no configuration");
  const auto reply = scene.set(group, true, static_cast<unsigned>(count));
  check.refused(reply, "Set Features 1Dh with an index that no configuration has");
  if (reply.ok()) (void)scene.set(group, false, 0);
}

CONFORMANCE_CASE(fdp_group_must_exist, "nvme.fdp.enable.unknown-group", roles::controller, needs(kHasFdp), having_fdp,
                 reaches{"feature.fdp.group"}) {
  FdpScene scene(bench, check);
  const auto groups = scene.endurance.groups();
  std::uint16_t group = 1;
  while (Manager::holds(groups, group)) ++group;
  check.refused(scene.set(group, true, 0), "Set Features 1Dh of a group that does not exist");
}

// ---- what is refused while it is disabled ----

CONFORMANCE_CASE(fdp_usage_needs_it_enabled, "nvme.fdp.disabled.usage", roles::controller, needs(kHasFdp), having_fdp,
                 reaches{"log.fdp.usage.disabled"}) {
  FdpScene scene(bench, check);
  check.status(scene.log(LogPage::reclaim_unit_handle_usage, scene.empty_group(), 16), sc::fdp_disabled);
}

CONFORMANCE_CASE(fdp_statistics_need_it_enabled, "nvme.fdp.disabled.statistics", roles::controller, needs(kHasFdp), having_fdp,
                 reaches{"log.fdp.statistics.disabled"}) {
  FdpScene scene(bench, check);
  check.status(scene.log(LogPage::fdp_statistics, scene.empty_group(), 64), sc::fdp_disabled);
}

CONFORMANCE_CASE(fdp_events_need_it_enabled, "nvme.fdp.disabled.events", roles::controller, needs(kHasFdp), having_fdp,
                 reaches{"log.fdp.events.disabled"}) {
  FdpScene scene(bench, check);
  check.status(scene.log(LogPage::fdp_events, scene.empty_group(), 64), sc::fdp_disabled);
}

CONFORMANCE_CASE(fdp_event_types_need_it_enabled, "nvme.fdp.disabled.get-events", roles::controller, needs(kHasFdp), needs(has_namespace),
                 having_fdp, reaches{"feature.fdp_events.get.disabled"}) {
  FdpScene scene(bench, check);
  (void)scene.plain_group();
  check.status(scene.get_types(bench.nsid(), 0), sc::fdp_disabled);
}

CONFORMANCE_CASE(fdp_events_cannot_be_enabled_without_it, "nvme.fdp.disabled.set-events", roles::controller, needs(kHasFdp),
                 needs(has_namespace), having_fdp, reaches{"feature.fdp_events.set.disabled"}) {
  FdpScene scene(bench, check);
  (void)scene.plain_group();
  check.status(scene.enable_event(bench.nsid(), 0, nvme::FdpEventType::not_fully_written), sc::fdp_disabled);
}

CONFORMANCE_CASE(fdp_handle_status_needs_it_enabled, "nvme.fdp.disabled.status", roles::controller, needs(kHasFdp), needs(has_namespace),
                 having_fdp, reaches{"io_management.receive.disabled"}) {
  FdpScene scene(bench, check);
  (void)scene.plain_group();
  check.status(scene.status(bench.nsid(), 64), sc::fdp_disabled);
}

CONFORMANCE_CASE(fdp_handle_update_needs_it_enabled, "nvme.fdp.disabled.update", roles::controller, needs(kHasFdp), needs(has_namespace),
                 having_fdp, reaches{"io_management.send.disabled"}) {
  FdpScene scene(bench, check);
  (void)scene.plain_group();
  check.status(scene.update(bench.nsid(), {0}), sc::fdp_disabled);
}

CONFORMANCE_CASE(fdp_directive_needs_it_enabled, "nvme.fdp.disabled.directive", roles::controller, needs(kHasFdp), needs(has_namespace),
                 having_fdp, reaches{"directive.placement.disabled"}) {
  FdpScene scene(bench, check);
  (void)scene.plain_group();
  check.status(scene.direct(bench.nsid()), sc::fdp_disabled);
}

}  // namespace fb::conformance
