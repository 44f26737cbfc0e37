// Directives: which there are, and enabling them.
#include "conformance/cases/nvme/directive_scene.h"

namespace fb::conformance {

namespace {

namespace dp = nvme::directive_parameters;
using nvme::DirectiveType;

constexpr auto kReservedType = static_cast<DirectiveType>(0x0E);

}  // namespace

CONFORMANCE_CASE(identify_directive_is_there, "nvme.directives.claim", roles::controller, needs(has_directives), needs(has_namespace),
                 having_directives) {
  DirectiveScene scene(bench, check);
  const auto page = scene.parameters();
  check.that(DirectiveScene::has(page, dp::supported.offset, DirectiveType::identify), "the Identify directive is supported");
  check.that(DirectiveScene::has(page, dp::enabled.offset, DirectiveType::identify), "the Identify directive is enabled");
}

CONFORMANCE_CASE(enabled_directives_are_supported, "nvme.directives.enabled", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives) {
  DirectiveScene scene(bench, check);
  const auto page = scene.parameters();
  for (std::size_t i = 0; i < 32; ++i) {
    const unsigned supported = page.bytes()[dp::supported.offset + i], enabled = page.bytes()[dp::enabled.offset + i];
    check.equal("types of byte " + std::to_string(i) + " that are enabled without being supported", enabled & ~supported, 0u);
  }
}

CONFORMANCE_CASE(directives_do_not_persist, "nvme.directives.persistent", roles::controller, needs(has_directives), needs(has_namespace),
                 having_directives) {
  DirectiveScene scene(bench, check);
  check.equal("persistent types 0 and 1", scene.parameters().bytes()[dp::persistent.offset] & 3u, 0u);
}

CONFORMANCE_CASE(unknown_directives_are_refused, "nvme.directives.type", roles::controller, needs(has_directives), needs(has_namespace),
                 having_directives, reaches{"directive.type"}) {
  DirectiveScene scene(bench, check);
  check.status(scene.admin().send(host::directive_receive(scene.nsid, kReservedType, 1, 4096), 4096).wait(), sc::invalid_field,
               "Directive Receive");
  check.status(scene.admin().send(host::directive_send(scene.nsid, kReservedType, 1)).wait(), sc::invalid_field, "Directive Send");
}

CONFORMANCE_CASE(reserved_directive_operations_are_refused, "nvme.directives.operation", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives, reaches{"directive.operation"}) {
  DirectiveScene scene(bench, check);
  constexpr std::uint8_t kReserved = 0xEE;
  const auto receive = host::directive_receive(scene.nsid, DirectiveType::identify, kReserved, 4096);
  check.refused(scene.admin().send(receive, 4096).wait(), "Directive Receive, operation EEh");
  const auto send = host::directive_send(scene.nsid, DirectiveType::identify, kReserved);
  check.refused(scene.admin().send(send).wait(), "Directive Send, operation EEh");
}

CONFORMANCE_CASE(directives_are_those_of_a_namespace, "nvme.directives.namespace", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives, reaches{"directive.nsid", "directive.nsid.inactive"}) {
  DirectiveScene scene(bench, check);
  const auto legal = one_of(sc::invalid_namespace_or_format, sc::invalid_field);
  const std::uint32_t limit = bench.declared().identify().get(nvme::id_ctrl::nn);
  check.precondition(limit < nvme::kAllNamespaces - 1, "an NSID is beyond NN");
  check.status(scene.parameters(limit + 1), legal, "an NSID beyond NN");
  const auto list = scene.admin().send(host::identify(nvme::Cns::active_namespace_list), nvme::kIdentifySize).wait();
  check.precondition_success(list, "Identify, active namespaces");
  const std::uint32_t inactive = lowest_inactive(list.data);
  if (inactive <= limit) check.status(scene.parameters(inactive), legal, "an inactive NSID");
}

CONFORMANCE_CASE(disabled_directives_are_refused, "nvme.directives.disabled", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives, reaches{"directive.disabled"}) {
  DirectiveScene scene(bench, check);
  scene.need_streams();
  check.precondition(!scene.enabled(), "streams are disabled");
  check.status(scene.streams_of(scene.nsid), sc::invalid_field, "Directive Receive");
  check.status(scene.release(1), sc::invalid_field, "Directive Send");
}

CONFORMANCE_CASE(directives_are_enabled_and_disabled, "nvme.directives.enable", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives) {
  DirectiveScene scene(bench, check);
  scene.need_streams();
  if (!check.success(scene.enable(DirectiveType::streams), "Directive Send, Enable Directive")) return;
  check.that(scene.enabled(), "streams are enabled", "they are not");
  if (!check.success(scene.enable(DirectiveType::streams, false), "Directive Send, disabling")) return;
  check.that(!scene.enabled(), "streams are disabled again", "they are enabled");
  // For all namespaces at once.
  const auto list = scene.admin().send(host::identify(nvme::Cns::active_namespace_list), nvme::kIdentifySize).wait();
  check.precondition_success(list, "Identify, active namespaces");
  const std::uint32_t first = scene.nsid;
  for (const bool on : {true, false}) {
    scene.nsid = nvme::kAllNamespaces;
    const auto reply = scene.enable(DirectiveType::streams, on);
    scene.nsid = first;
    // There may be too few resources for every namespace and host.
    if (on && reply.answered() && reply.status().code() == sc::stream_allocation_failed) return;
    if (!check.success(reply, on ? "enabling for all namespaces" : "disabling for all namespaces")) return;
    for (const std::uint32_t nsid : nvme::read_namespace_list(list.data)) {
      scene.nsid = nsid;
      check.equal("streams are enabled in namespace " + std::to_string(nsid), scene.enabled(), on);
    }
    scene.nsid = first;
  }
}

CONFORMANCE_CASE(identify_directive_cannot_be_switched, "nvme.directives.enable.identify", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives, reaches{"directive.enable"}) {
  DirectiveScene scene(bench, check);
  check.status(scene.enable(DirectiveType::identify, true), sc::invalid_field, "enabling it");
  check.status(scene.enable(DirectiveType::identify, false), sc::invalid_field, "disabling it");
}

CONFORMANCE_CASE(unknown_directives_cannot_be_enabled, "nvme.directives.enable.unsupported", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives, reaches{"directive.enable"}) {
  DirectiveScene scene(bench, check);
  check.status(scene.enable(kReservedType), sc::invalid_field);
}

CONFORMANCE_CASE(directive_parameters_are_of_one_namespace, "nvme.directives.broadcast", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives, reaches{"directive.nsid.broadcast"}) {
  DirectiveScene scene(bench, check);
  check.status(scene.parameters(nvme::kAllNamespaces), sc::invalid_field);
}

CONFORMANCE_CASE(directives_are_those_of_the_host, "nvme.directives.controllers", roles::controller, needs(has_directives),
                 needs(has_namespace), needs(shares_its_namespace), having_directives) {
  DirectiveScene scene(bench, check);
  DirectiveScene other(bench, check);
  scene.enable_streams();
  check.that(other.enabled(), "streams are enabled at the host's other controller", "they are not");
  scene.disable_streams();
}

CONFORMANCE_CASE(directives_are_not_those_of_other_hosts, "nvme.directives.hosts", roles::controller, needs(has_directives),
                 needs(has_namespace), needs(shares_its_namespace), having_directives) {
  DirectiveScene scene(bench, check);
  host::HostId stranger = kBenchHostId;
  stranger[0] ^= 0xFF;
  DirectiveScene other(bench, check, {.hostnqn = std::string(kOtherHost), .hostid = stranger});
  scene.enable_streams();
  check.that(!other.enabled(), "streams are disabled for the other host", "they are enabled");
  scene.disable_streams();
}

CONFORMANCE_CASE(directives_are_disabled_by_a_reset, "nvme.directives.reset", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  scene.manager.association.disable();
  scene.manager.association.enable();
  check.that(!scene.enabled(), "streams are disabled", "they are enabled");
  if (shares_its_namespace(bench.declared())) return;
  // Those of another host stay.
  host::HostId stranger = kBenchHostId;
  stranger[0] ^= 0xFF;
  DirectiveScene other(bench, check, {.hostid = stranger});
  other.enable_streams();
  other.open_stream(3);
  const auto open = other.open();
  scene.manager.association.disable();
  scene.manager.association.enable();
  check.that(other.enabled(), "streams of another host are enabled", "they are disabled");
  check.that(other.open() == open, "streams of another host are open", "they are closed");
  other.disable_streams();
}

CONFORMANCE_CASE(directives_outlive_the_reset_of_one_controller, "nvme.directives.reset.other", roles::controller, needs(has_directives),
                 needs(has_namespace), needs(shares_its_namespace), having_directives) {
  DirectiveScene scene(bench, check);
  DirectiveScene other(bench, check);
  scene.enable_streams();
  scene.manager.association.disable();
  scene.manager.association.enable();
  check.that(other.enabled(), "streams are enabled at the other controller", "they are disabled");
  other.disable_streams();
}

}  // namespace fb::conformance
