// Namespace Attachment.
#include "conformance/cases/nvme/namespace_scene.h"
#include "conformance/runner/embedded_controller.h"

namespace fb::conformance {

namespace {

using nvme::Cns;

const arranged with_attachment{"a product that attaches namespaces",
                               [](EmbeddedSetup& setup) { setup.subsystem.namespace_management.supported = true; }};
const arranged with_three_attachments{"a product that attaches three namespaces to a controller",
                                      [](EmbeddedSetup& setup) { setup.subsystem.namespace_management.attachments_max = 3; }};

const AssociationOptions kOther{.hostnqn = std::string(kOtherHost)};

}  // namespace

CONFORMANCE_CASE(attached_namespace_takes_io, "nvme.namespace.attach", roles::controller, with_attachment, needs(manages_namespaces)) {
  Manager manager(bench, check);
  const std::uint32_t nsid = manager.made();
  if (!check.success(manager.attach(nsid, {manager.cntlid()}), "Namespace Attachment")) return;
  check.that(manager.active(nsid), "the namespace is active");
  check.that(Manager::holds(manager.controllers_of(nsid), manager.cntlid()), "the controller is in its list");
  const Bytes data = pattern(0x71, 8, kFirstBlockBytes);
  check.success(manager.write(nsid, 0, data), "Write");
  const auto read = manager.read(nsid, 0, 8);
  if (check.success(read, "Read")) check.bytes("the blocks", read.data, data);
}

CONFORMANCE_CASE(attachment_is_to_the_controllers_named, "nvme.namespace.attach.named", roles::controller, with_attachment,
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  Manager other(bench, check, kOther);
  const std::uint32_t nsid = manager.made();
  check.precondition_success(manager.attach(nsid, {other.cntlid()}), "Namespace Attachment");
  check.that(other.active(nsid), "the namespace is active at the controller named");
  check.that(!manager.active(nsid), "the namespace is not active at another one");
}

CONFORMANCE_CASE(attachment_twice_is_refused, "nvme.namespace.attach.twice", roles::controller, needs(manages_namespaces),
                 needs(has_namespace), reaches{"namespace.attachment.attached"}) {
  Manager manager(bench, check);
  check.status(manager.attach(bench.nsid(), {manager.cntlid()}), sc::namespace_already_attached);
}

CONFORMANCE_CASE(private_namespace_has_one_controller, "nvme.namespace.attach.private", roles::controller, with_attachment,
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  Manager other(bench, check, kOther);
  const std::uint32_t nsid = manager.made_and_attached({.nmic = 0});
  check.status(manager.attach(nsid, {other.cntlid()}), sc::namespace_is_private, "a second controller");
  check.that(!other.active(nsid), "the namespace is not active at the second controller");
  check.precondition_success(manager.detach(nsid, {manager.cntlid()}), "detachment");
  check.success(manager.attach(nsid, {other.cntlid()}), "another controller after the first was detached");
}

CONFORMANCE_CASE(shared_namespace_has_several_controllers, "nvme.namespace.attach.shared", roles::controller, with_attachment,
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  Manager other(bench, check, kOther);
  const std::uint32_t nsid = manager.made_and_attached();
  if (!check.success(manager.attach(nsid, {other.cntlid()}), "a second controller")) return;
  const Bytes data = manager.prepare(nsid, 0x44);
  const auto read = other.read(nsid, 0, 8);
  if (check.success(read, "Read at the second controller")) check.bytes("what the first wrote", read.data, data);
}

CONFORMANCE_CASE(attachment_to_an_unknown_controller_is_refused, "nvme.namespace.attach.controller", roles::controller,
                 needs(manages_namespaces), needs(has_namespace), reaches{"namespace.attachment.list"}) {
  Manager manager(bench, check);
  const auto known = nvme::read_controller_list(manager.page(Cns::controller_list));
  std::uint16_t id = 0xFFE0;  // high, and none of the reserved ones
  while (Manager::holds(known, id)) --id;
  check.status(manager.attach(bench.nsid(), {id}), sc::controller_list_invalid);
}

CONFORMANCE_CASE(attachment_of_what_is_not_there_is_refused, "nvme.namespace.attach.unallocated", roles::controller,
                 needs(manages_namespaces), reaches{"namespace.attachment.unallocated"}) {
  Manager manager(bench, check);
  const std::uint32_t nsid = unallocated_nsid(manager, bench, check);
  check.status(manager.attach(nsid, {manager.cntlid()}), one_of(sc::invalid_namespace_or_format, sc::invalid_field));
}

CONFORMANCE_CASE(attachment_of_all_is_refused, "nvme.namespace.attach.broadcast", roles::controller, needs(manages_namespaces),
                 reaches{"namespace.attachment.nsid"}) {
  Manager manager(bench, check);
  check.status(manager.attach(nvme::kAllNamespaces, {manager.cntlid()}), one_of(sc::invalid_namespace_or_format, sc::invalid_field));
}

CONFORMANCE_CASE(attachment_refuses_a_reserved_selection, "nvme.namespace.attach.select", roles::controller, needs(manages_namespaces),
                 reaches{"namespace.attachment.select"}) {
  Manager manager(bench, check);
  // One that is not attached: a controller that took the selection for Attach would succeed.
  auto command = host::attach_namespace(manager.made());
  command.set(nvme::namespace_attachment_sqe::sel, 0xFu);
  const Bytes list = Manager::controllers({manager.cntlid()});
  check.refused(manager.admin().send(command, list).wait());
}

CONFORMANCE_CASE(attachment_is_announced, "nvme.namespace.attach.announced", roles::controller, with_attachment,
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  Manager other(bench, check, kOther);
  const std::uint32_t nsid = manager.made();
  listen_for_namespaces(other, check);
  auto request = other.admin().send(host::async_event_request());
  check.precondition_success(manager.attach(nsid, {other.cntlid()}), "Namespace Attachment");
  is_told(other, request, nsid, check);
}

CONFORMANCE_CASE(attachment_without_access_is_refused, "nvme.namespace.attach.ana", roles::controller, with_attachment,
                 needs(manages_namespaces), needs(reports_ana), reaches{"namespace.attachment.ana"}) {
  Manager manager(bench, check);
  const std::uint32_t nsid = manager.made();
  const Bytes page = manager.page(Cns::allocated_namespace, nsid);
  const std::uint32_t group = View<nvme::IdentifyNamespace>{page}.get(nvme::id_ns::anagrpid);
  bench.subsystem().set_ana_state(group, nvme::AnaState::persistent_loss);
  check.status(manager.attach(nsid, {manager.cntlid()}), sc::ana_attach_failed);
}

CONFORMANCE_CASE(attachments_have_a_limit, "nvme.namespace.attach.limit", roles::controller, with_three_attachments,
                 needs(manages_namespaces), reaches{"namespace.attachment.limit"}) {
  Manager manager(bench, check);
  const std::uint32_t limit = bench.declared().identify().get(nvme::id_ctrl::maxcna);
  check.precondition(limit != 0 && limit < 16, "MAXCNA can be reached");
  std::size_t active = manager.list(Cns::active_namespace_list).size();
  for (; active < limit; ++active) {
    check.success(manager.attach(manager.made(), {manager.cntlid()}), "an attachment within MAXCNA");
  }
  check.status(manager.attach(manager.made(), {manager.cntlid()}), sc::namespace_attachment_limit_exceeded);
}

CONFORMANCE_CASE(attachment_outlives_a_reset, "nvme.namespace.attach.kept", roles::controller, with_attachment, needs(manages_namespaces)) {
  Manager manager(bench, check);
  const std::uint32_t nsid = manager.made_and_attached();
  manager.association.disable();
  manager.association.enable();
  check.that(manager.active(nsid), "the namespace is active after the reset");
}

CONFORMANCE_CASE(detached_namespace_is_allocated_still, "nvme.namespace.detach", roles::controller, with_attachment,
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  const std::uint32_t nsid = manager.made_and_attached();
  if (!check.success(manager.detach(nsid, {manager.cntlid()}), "detachment")) return;
  check.that(!manager.active(nsid), "the namespace is not active");
  check.that(manager.allocated(nsid), "the namespace is allocated");
}

CONFORMANCE_CASE(detached_namespace_takes_no_io, "nvme.namespace.detach.io", roles::controller, with_attachment,
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  const std::uint32_t nsid = manager.made_and_attached();
  manager.prepare(nsid, 0x21);
  check.precondition_success(manager.detach(nsid, {manager.cntlid()}), "detachment");
  const auto legal = one_of(sc::invalid_field, sc::invalid_namespace_or_format);
  check.status(manager.read(nsid, 0, 8), legal, "Read");
  check.status(manager.write(nsid, 0, pattern(0x22, 8, kFirstBlockBytes)), legal, "Write");
}

CONFORMANCE_CASE(detached_namespace_keeps_its_data, "nvme.namespace.detach.data", roles::controller, with_attachment,
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  const std::uint32_t nsid = manager.made_and_attached();
  const Bytes data = manager.prepare(nsid, 0x2B);
  check.precondition_success(manager.detach(nsid, {manager.cntlid()}), "detachment");
  check.precondition_success(manager.attach(nsid, {manager.cntlid()}), "Namespace Attachment");
  const auto read = manager.read(nsid, 0, 8);
  if (check.success(read, "Read")) check.bytes("the blocks", read.data, data);
}

CONFORMANCE_CASE(detachment_is_from_the_controllers_named, "nvme.namespace.detach.others", roles::controller, with_attachment,
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  Manager other(bench, check, kOther);
  const std::uint32_t nsid = manager.made();
  check.precondition_success(manager.attach(nsid, {manager.cntlid(), other.cntlid()}), "Namespace Attachment");
  const Bytes data = other.prepare(nsid, 0x66);
  check.precondition_success(manager.detach(nsid, {manager.cntlid()}), "detachment");
  check.that(other.active(nsid), "the namespace is active at the other controller");
  const auto read = other.read(nsid, 0, 8);
  if (check.success(read, "Read at the other controller")) check.bytes("the blocks", read.data, data);
}

CONFORMANCE_CASE(detachment_of_what_is_not_attached_is_refused, "nvme.namespace.detach.missing", roles::controller, with_attachment,
                 needs(manages_namespaces), reaches{"namespace.attachment.not_attached"}) {
  Manager manager(bench, check);
  check.status(manager.detach(manager.made(), {manager.cntlid()}), sc::namespace_not_attached);
}

CONFORMANCE_CASE(ana_log_tells_of_attached_namespaces, "nvme.namespace.detach.ana", roles::controller, with_attachment,
                 needs(manages_namespaces), needs(reports_ana)) {
  Manager manager(bench, check);
  const std::uint32_t nsid = manager.made_and_attached();
  const auto in_log = [&] {
    const auto reply = manager.admin().send(host::get_log(nvme::LogPage::ana, 4096), 4096).wait();
    check.precondition_success(reply, "Get Log Page");
    nvme::AnaWalk walk(reply.data);
    nvme::AnaGroup group;
    bool found = false;
    while (walk.next(group)) found = found || Manager::holds(group.namespaces, nsid);
    return found;
  };
  check.that(in_log(), "the ANA log names the namespace while it is attached");
  check.precondition_success(manager.detach(nsid, {manager.cntlid()}), "detachment");
  check.that(!in_log(), "the ANA log does not name the namespace once it is detached");
}

}  // namespace fb::conformance
