// Flexible Data Placement: namespaces with placement handles, and the use of reclaim unit handles.
#include <fmt/format.h>

#include "conformance/cases/nvme/fdp_scene.h"

namespace fb::conformance {

namespace {

using nvme::ReclaimUnitHandleUse;

std::uint16_t count_of(const FdpScene& scene) { return static_cast<std::uint16_t>(scene.configuration.handles.size()); }

/// No namespace of others is in the group.
void need_group_alone(FdpScene& scene, Check& check, unsigned handles) {
  const std::uint16_t group = scene.group(handles);
  check.precondition(!Manager::holds(scene.used_groups(), group), "the endurance group has no namespaces");
}

}  // namespace

CONFORMANCE_CASE(fdp_namespace_has_the_handles_of_its_list, "nvme.fdp.namespace.handles", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  need_group_alone(scene, check, 3);
  const std::uint16_t last = static_cast<std::uint16_t>(count_of(scene) - 1);
  const std::uint32_t nsid = scene.made({last, 0, 1});
  const std::uint16_t expected[] = {last, 0, 1};
  for (const nvme::HandleStatus& one : scene.statuses(nsid)) {
    const unsigned handle = nvme::placement_handle_of(one.id, scene.configuration.group_bits);
    if (!check.that(handle < 3, "the namespace has three placement handles", std::to_string(handle))) continue;
    check.equal(fmt::format("reclaim unit handle of placement handle {}", handle), one.handle, expected[handle]);
  }
}

CONFORMANCE_CASE(fdp_list_is_at_most_as_long_as_there_are_handles, "nvme.fdp.namespace.count", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp, reaches{"namespace.create.placement.count"}) {
  FdpScene scene(bench, check);
  (void)scene.group();
  FdpScene::Handles list;
  for (std::uint16_t handle = 0; handle <= std::min<std::size_t>(count_of(scene), 128); ++handle) {
    list.push_back(std::min(handle, static_cast<std::uint16_t>(count_of(scene) - 1)));
  }
  check.status(scene.create(list), sc::invalid_placement_handle_list);
}

CONFORMANCE_CASE(fdp_list_has_handles_that_exist, "nvme.fdp.namespace.range", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp, reaches{"namespace.create.placement.range"}) {
  FdpScene scene(bench, check);
  (void)scene.group();
  check.status(scene.create({count_of(scene)}), sc::invalid_placement_handle_list);
  check.status(scene.create({0xFFFF}), sc::invalid_placement_handle_list);
}

CONFORMANCE_CASE(fdp_list_has_each_handle_once, "nvme.fdp.namespace.twice", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp, reaches{"namespace.create.placement.twice"}) {
  FdpScene scene(bench, check);
  (void)scene.group(3);
  check.status(scene.create({1, 0, 1}), sc::invalid_placement_handle_list);
}

CONFORMANCE_CASE(fdp_list_may_have_every_handle, "nvme.fdp.namespace.whole", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  need_group_alone(scene, check, 1);
  FdpScene::Handles list;
  for (std::uint16_t handle = 0; handle < std::min<std::size_t>(count_of(scene), 128); ++handle) list.push_back(handle);
  check.success(scene.create(list), "Namespace Management with every reclaim unit handle");
}

CONFORMANCE_CASE(fdp_controller_chooses_a_free_handle, "nvme.fdp.namespace.chosen", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  need_group_alone(scene, check, 3);
  (void)scene.made({0, 1});
  const std::uint32_t nsid = scene.made({});
  const auto statuses = scene.statuses(nsid);
  check.require(!statuses.empty(), "the namespace has a placement handle");
  for (const nvme::HandleStatus& one : statuses) {
    check.equal("placement handle", nvme::placement_handle_of(one.id, scene.configuration.group_bits), 0u);
    check.that(one.handle > 1 && one.handle < count_of(scene), "the reclaim unit handle is one that no host has chosen",
               std::to_string(one.handle));
  }
}

CONFORMANCE_CASE(fdp_chosen_handle_is_shared, "nvme.fdp.namespace.chosen.shared", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  need_group_alone(scene, check, 2);
  const std::uint32_t first = scene.made({}), second = scene.made({});
  const auto one = scene.statuses(first), other = scene.statuses(second);
  check.require(!one.empty() && !other.empty(), "both namespaces have a placement handle");
  check.equal("reclaim unit handle of the second namespace, as of the first", other[0].handle, one[0].handle);
}

CONFORMANCE_CASE(fdp_chosen_handle_is_not_for_hosts, "nvme.fdp.namespace.taken", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp, reaches{"namespace.create.placement.taken"}) {
  FdpScene scene(bench, check);
  need_group_alone(scene, check, 2);
  const auto statuses = scene.statuses(scene.made({}));
  check.require(!statuses.empty(), "the namespace has a placement handle");
  check.status(scene.create({statuses[0].handle}), sc::invalid_placement_handle_list);
}

CONFORMANCE_CASE(fdp_controller_needs_a_free_handle, "nvme.fdp.namespace.none", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp, reaches{"namespace.create.placement.none"}) {
  FdpScene scene(bench, check);
  need_group_alone(scene, check, 1);
  check.precondition(count_of(scene) <= 128, "one namespace can have every reclaim unit handle");
  FdpScene::Handles list;
  for (std::uint16_t handle = 0; handle < count_of(scene); ++handle) list.push_back(handle);
  (void)scene.made(list);
  check.status(scene.create({}), sc::invalid_placement_handle_list);
}

CONFORMANCE_CASE(fdp_shared_handles_need_one_format, "nvme.fdp.namespace.format", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp, reaches{"namespace.create.placement.format"}) {
  FdpScene scene(bench, check);
  need_group_alone(scene, check, 2);
  (void)scene.made({0});
  Shape other;
  other.lbaf = 1;
  other.nsze = other.ncap = 256;
  const Bytes common = scene.manager.page(nvme::Cns::identify_namespace, nvme::kAllNamespaces);
  const bool has = View<nvme::IdentifyNamespace>{common}.get(nvme::id_ns::nlbaf).count() > 1;
  const unsigned metadata = load_le<std::uint16_t>(common.data() + nvme::id_ns::lbaf.offset + 4);
  check.precondition(has && metadata == 0, "LBA format 1 exists and has no metadata");
  check.status(scene.create({1, 0}, other), sc::invalid_format);
}

CONFORMANCE_CASE(fdp_shared_handles_keep_their_format, "nvme.fdp.namespace.reformat", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp, reaches{"format.placement"}) {
  FdpScene scene(bench, check);
  need_group_alone(scene, check, 1);
  const std::uint32_t nsid = scene.made({0});
  (void)scene.made({0});
  const bool formats = (bench.declared().identify().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::format_nvm) != 0;
  const Bytes page = scene.manager.page(nvme::Cns::identify_namespace, nsid);
  const unsigned metadata = load_le<std::uint16_t>(page.data() + nvme::id_ns::lbaf.offset + 4);
  const bool has = View<nvme::IdentifyNamespace>{page}.get(nvme::id_ns::nlbaf).count() > 1 && metadata == 0;
  check.precondition(formats && has, "Format NVM and LBA format 1 exist");
  check.status(scene.admin().send(host::format_nvm(nsid, 1)).wait(), sc::invalid_format);
}

CONFORMANCE_CASE(fdp_handles_may_be_shared, "nvme.fdp.namespace.shared", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  need_group_alone(scene, check, 2);
  const std::uint32_t most = scene.configuration.namespaces;
  check.precondition(most != 1, "the configuration allows two namespaces");
  (void)scene.made({0, 1});
  check.success(scene.create({1}), "Namespace Management with a handle that another namespace of that format has");
  if (most < 2 || most > 8) return;
  for (std::uint32_t count = 2; count < most; ++count) {
    if (!scene.create({1}).ok()) return;
  }
  check.refused(scene.create({1}), "Namespace Management, create, beyond NNS namespaces");
}

CONFORMANCE_CASE(fdp_list_is_ignored_without_it, "nvme.fdp.namespace.ignored", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint16_t group = scene.empty_group();
  Bytes data = Manager::described({});
  MutableView<nvme::IdentifyNamespace>{data}.set(nvme::id_ns::endgid, group);
  const std::uint16_t list[] = {0xFFFF, 0xFFFF};
  nvme::write_placement_handles(data, list);
  const auto reply = scene.admin().send(host::create_namespace(), data).wait();
  check.success(reply, "Namespace Management in a group where Flexible Data Placement is disabled");
  if (reply.ok()) (void)scene.manager.remove(reply.dw0());
}

// ---- log page 21h ----

CONFORMANCE_CASE(fdp_usage_has_every_handle, "nvme.fdp.usage.count", roles::controller, needs(kHasFdp), having_fdp) {
  FdpScene scene(bench, check);
  (void)scene.group();
  check.equal("NRUH of log page 21h, as in the configuration", load_le<std::uint16_t>(scene.usage().data()), count_of(scene));
}

CONFORMANCE_CASE(fdp_usage_tells_handles_of_hosts, "nvme.fdp.usage.host", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  need_group_alone(scene, check, 2);
  (void)scene.made({1});
  check.equal("RUHA of the handle of the namespace", static_cast<unsigned>(scene.use_of(1)), 1u);
}

CONFORMANCE_CASE(fdp_usage_tells_handles_of_the_controller, "nvme.fdp.usage.controller", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  need_group_alone(scene, check, 1);
  const auto statuses = scene.statuses(scene.made({}));
  check.require(!statuses.empty(), "the namespace has a placement handle");
  check.equal("RUHA of the handle of the namespace", static_cast<unsigned>(scene.use_of(statuses[0].handle)), 2u);
}

CONFORMANCE_CASE(fdp_usage_tells_unused_handles, "nvme.fdp.usage.unused", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  need_group_alone(scene, check, 3);
  (void)scene.made({1});
  check.equal("RUHA of handle 0", static_cast<unsigned>(scene.use_of(0)), 0u);
  check.equal("RUHA of handle 2", static_cast<unsigned>(scene.use_of(2)), 0u);
}

CONFORMANCE_CASE(fdp_usage_ends_with_the_namespace, "nvme.fdp.usage.deleted", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  need_group_alone(scene, check, 2);
  const std::uint32_t nsid = scene.made({1});
  check.precondition(scene.use_of(1) == ReclaimUnitHandleUse::host_specified, "the handle is in use");
  scene.remove(nsid);
  check.equal("RUHA of the handle of a deleted namespace", static_cast<unsigned>(scene.use_of(1)), 0u);
}

// ---- the directive ----

CONFORMANCE_CASE(fdp_directive_is_supported, "nvme.fdp.directive.claim", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  check.that(scene.directive_bit(nsid, nvme::directive_parameters::supported.offset), "Data Placement is among the supported directives");
}

CONFORMANCE_CASE(fdp_directive_is_said_to_persist, "nvme.fdp.directive.persists", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  check.that(scene.directive_bit(nsid, nvme::directive_parameters::persistent.offset),
             "Data Placement persists across controller level resets");
}

CONFORMANCE_CASE(fdp_directive_is_enabled_by_the_host, "nvme.fdp.directive.enable", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  check.success(scene.direct(nsid), "Directive Send, Enable Directive");
  check.that(scene.directive_bit(nsid, nvme::directive_parameters::enabled.offset), "Data Placement is enabled");
}

CONFORMANCE_CASE(fdp_directive_can_be_disabled, "nvme.fdp.directive.disable", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  scene.directed(nsid);
  check.success(scene.direct(nsid, false), "Directive Send, disabling the directive");
  check.that(!scene.directive_bit(nsid, nvme::directive_parameters::enabled.offset), "Data Placement is disabled");
}

CONFORMANCE_CASE(fdp_directive_outlives_a_reset, "nvme.fdp.directive.reset", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  scene.directed(nsid);
  scene.manager.association.disable();
  scene.manager.association.enable();
  check.that(scene.directive_bit(nsid, nvme::directive_parameters::enabled.offset), "Data Placement is enabled after a controller reset");
}

CONFORMANCE_CASE(fdp_directive_is_not_for_all_namespaces, "nvme.fdp.directive.broadcast", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp, reaches{"directive.placement.broadcast"}) {
  FdpScene scene(bench, check);
  (void)scene.made({0});
  check.status(scene.direct(nvme::kAllNamespaces), sc::invalid_namespace_or_format);
}

CONFORMANCE_CASE(fdp_directive_has_no_operations, "nvme.fdp.directive.operations", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp, reaches{"directive.placement.operation"}) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  const auto sent = scene.admin().send(host::directive_send(nsid, nvme::DirectiveType::data_placement, 1)).wait();
  check.status(sent, sc::invalid_field, "Directive Send");
  const auto received = scene.admin().send(host::directive_receive(nsid, nvme::DirectiveType::data_placement, 1, 32), 32).wait();
  check.status(received, sc::invalid_field, "Directive Receive");
}

CONFORMANCE_CASE(fdp_excludes_streams, "nvme.fdp.directive.streams", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp, reaches{"directive.streams.placed"}) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  const bool streams = (scene.directives(nsid)[nvme::directive_parameters::supported.offset] & 2) != 0;
  check.precondition(streams, "the product has streams");
  check.status(scene.admin().send(host::enable_directive(nsid, nvme::DirectiveType::streams, true)).wait(), sc::invalid_field);
}

}  // namespace fb::conformance
