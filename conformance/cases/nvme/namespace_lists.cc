// What Identify tells of namespaces that are allocated, and of the controllers that they are attached to.
#include "conformance/cases/nvme/namespace_scene.h"

namespace fb::conformance {

namespace {

using nvme::Cns;

template <class T>
bool ascends(const std::vector<T>& ids) {
  return std::adjacent_find(ids.begin(), ids.end(), [](T a, T b) { return a >= b; }) == ids.end();
}

bool all_zero(ByteView data) {
  return std::all_of(data.begin(), data.end(), [](std::uint8_t byte) { return byte == 0; });
}

const furnished of_version_2_1{
    [](EmbeddedSetup& setup) { setup.subsystem.version = std::max(setup.subsystem.version, fabrics::version(2, 1, 0)); }};

}  // namespace

CONFORMANCE_CASE(namespace_management_comes_with_attachment, "nvme.namespace.claim", roles::controller, needs(manages_namespaces),
                 needs(claims_lpa<nvme::lpa_bits::commands_effects>)) {
  RawAssociation& association = bench.associate();
  const auto log = association.admin().send(host::get_log(nvme::LogPage::commands_effects, 4096), nvme::CommandEffects::size).wait();
  check.precondition_success(log, "Get Log Page");
  for (const auto opcode : {nvme::AdminOpcode::namespace_management, nvme::AdminOpcode::namespace_attachment}) {
    const auto code = static_cast<std::uint8_t>(opcode);
    const auto effect = element<nvme::CommandEffect>(log.data, nvme::command_effects::acs, code);
    check.equal("CSUPP of " + std::string(nvme::admin_opcode_name(code)), effect.get(nvme::command_effect::csupp), true);
  }
}

CONFORMANCE_CASE(allocated_namespaces_hold_the_active_ones, "nvme.namespace.allocated.list", roles::controller, needs(manages_namespaces),
                 needs(has_namespace)) {
  Manager manager(bench, check);
  const auto reply = manager.identify(Cns::allocated_namespace_list);
  check.require_success(reply);
  const auto allocated = nvme::read_namespace_list(reply.data);
  check.that(ascends(allocated), "the list ascends");
  if (allocated.size() == nvme::kNamespaceListMax) return;  // there are more, which do not fit
  for (const std::uint32_t nsid : manager.list(Cns::active_namespace_list)) {
    check.that(Manager::holds(allocated, nsid), "NSID " + std::to_string(nsid) + ", which is active, is in the list");
  }
}

CONFORMANCE_CASE(allocated_namespaces_begin_behind_the_nsid, "nvme.namespace.allocated.start", roles::controller, needs(manages_namespaces),
                 needs(has_namespace)) {
  Manager manager(bench, check);
  const auto all = manager.list(Cns::allocated_namespace_list);
  check.precondition(!all.empty() && all.size() < nvme::kNamespaceListMax, "all allocated namespaces fit into one list");
  const auto rest = manager.list(Cns::allocated_namespace_list, all.front());
  check.equal("NSIDs behind the first", rest.size(), all.size() - 1);
  check.that(!Manager::holds(rest, all.front()), "the first is not listed again");
}

CONFORMANCE_CASE(allocated_identify_agrees_with_the_active_one, "nvme.namespace.allocated.identify", roles::controller,
                 needs(manages_namespaces), needs(has_namespace)) {
  namespace id = nvme::id_ns;
  Manager manager(bench, check);
  const auto reply = manager.identify(Cns::allocated_namespace, bench.nsid());
  check.require_success(reply);
  const Bytes classic = manager.page(Cns::identify_namespace, bench.nsid());
  const View<nvme::IdentifyNamespace> mine{reply.data}, theirs{classic};
  check.equal("NSZE", mine.get(id::nsze), theirs.get(id::nsze));
  check.equal("NCAP", mine.get(id::ncap), theirs.get(id::ncap));
  check.equal("NMIC", mine.get(id::nmic), theirs.get(id::nmic));
  check.equal("format in use", nvme::format_in_use(reply.data), nvme::format_in_use(classic));
}

CONFORMANCE_CASE(allocated_identify_of_nothing_is_empty, "nvme.namespace.allocated.unallocated", roles::controller,
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  const auto reply = manager.identify(Cns::allocated_namespace, unallocated_nsid(manager, bench, check));
  const auto legal = one_of(sc::success, sc::invalid_namespace_or_format, sc::invalid_field);
  if (check.status(reply, legal) && reply.ok()) check.that(all_zero(reply.data), "the data is zero");
  // There is no such namespace, whatever is created.
  const std::uint32_t most = bench.declared().identify().get(nvme::id_ctrl::nn);
  for (const std::uint32_t nsid : {most + 1, 0xFFFFFFFEu}) {
    if (nsid <= most || nsid == nvme::kAllNamespaces) continue;
    check.refused(manager.identify(Cns::allocated_namespace, nsid), "CNS 11h of namespace " + words(nsid) + ", which is invalid");
  }
}

CONFORMANCE_CASE(namespace_controllers_name_this_one, "nvme.namespace.controllers.list", roles::controller, needs(manages_namespaces),
                 needs(has_namespace)) {
  Manager manager(bench, check);
  const auto reply = manager.identify(Cns::namespace_controller_list, bench.nsid());
  check.require_success(reply);
  const auto ids = nvme::read_controller_list(reply.data);
  check.that(ascends(ids), "the list ascends");
  check.that(Manager::holds(ids, manager.cntlid()) || ids.size() == nvme::kControllerListMax,
             "this controller, at which the namespace is active, is in the list");
}

CONFORMANCE_CASE(namespace_controllers_begin_with_cntid, "nvme.namespace.controllers.start", roles::controller, needs(manages_namespaces),
                 needs(has_namespace)) {
  Manager manager(bench, check);
  const auto above = static_cast<std::uint16_t>(manager.cntlid() + 1);
  const auto reply = manager.identify(Cns::namespace_controller_list, bench.nsid(), above);
  check.require_success(reply);
  for (const std::uint16_t id : nvme::read_controller_list(reply.data)) {
    check.that(id >= above, "controller " + std::to_string(id) + " is not below CNTID");
  }
}

CONFORMANCE_CASE(namespace_controllers_are_of_the_subsystem, "nvme.namespace.controllers.known", roles::controller,
                 needs(manages_namespaces), needs(has_namespace)) {
  Manager manager(bench, check);
  const auto reply = manager.identify(Cns::namespace_controller_list, bench.nsid());
  check.require_success(reply);
  const auto all = nvme::read_controller_list(manager.page(Cns::controller_list));
  check.precondition(all.size() < nvme::kControllerListMax, "all controllers fit into one list");
  for (const std::uint16_t id : nvme::read_controller_list(reply.data)) {
    check.that(Manager::holds(all, id), "controller " + std::to_string(id) + " is one of the subsystem");
  }
}

CONFORMANCE_CASE(what_namespaces_have_in_common, "nvme.namespace.common", roles::controller, of_version_2_1, needs(manages_namespaces),
                 needs(has_namespace)) {
  Manager manager(bench, check);
  const auto reply = manager.identify(Cns::identify_namespace, nvme::kAllNamespaces);
  check.require_success(reply);
  check.equal("NSZE", View<nvme::IdentifyNamespace>{reply.data}.get(nvme::id_ns::nsze), 0u);
  const unsigned format = nvme::format_in_use(bench.declared().name_space);
  check.equal("size of a block in the format of the first namespace", nvme::lba_format_at(reply.data, format).get(nvme::lba_format::lbads),
              nvme::lba_format_at(bench.declared().name_space, format).get(nvme::lba_format::lbads));
  if (!bench.declared().version_at_least(2, 1)) return;
  const auto independent = manager.identify(Cns::independent_namespace, nvme::kAllNamespaces);
  if (!check.success(independent, "CNS 08h of all namespaces")) return;
  const ByteView data{independent.data};
  check.equal("NSFEAT of CNS 08h of all namespaces", unsigned{data[0]}, 0u);
  check.that(all_zero(data.subspan(2, 7)), "RESCAP, FPI, ANAGRPID and NSATTR of CNS 08h of all namespaces are 0",
             to_hex(data.subspan(2, 7)));
  check.that(all_zero(data.subspan(10, 4)), "NVMSETID and ENDGID of CNS 08h of all namespaces are 0", to_hex(data.subspan(10, 4)));
}

CONFORMANCE_CASE(unallocated_capacity_is_part_of_the_total, "nvme.namespace.capacity", roles::controller, needs(manages_namespaces)) {
  Manager manager(bench, check);
  const Bytes page = manager.page(Cns::controller);
  const auto number = [&](std::size_t offset) {  // 16 bytes, low half first
    return std::pair{load_le<std::uint64_t>(page.data() + offset + 8), load_le<std::uint64_t>(page.data() + offset)};
  };
  const auto total = number(nvme::id_ctrl::tnvmcap.offset);
  const auto free = number(nvme::id_ctrl::unvmcap.offset);
  check.that(free <= total, "UNVMCAP is at most TNVMCAP", words(free.second) + " and " + words(total.second));
}

}  // namespace fb::conformance
