// Namespace Management: creation and deletion.
#include "conformance/cases/nvme/copy_scene.h"
#include "conformance/cases/nvme/namespace_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

namespace {

using nvme::Cns;

const arranged with_management{"a product that makes namespaces",
                               [](EmbeddedSetup& setup) { setup.subsystem.namespace_management.supported = true; }};
const arranged with_management_of_2_1{"a product of revision 2.1 that makes namespaces", [](EmbeddedSetup& setup) {
                                        setup.subsystem.namespace_management.supported = true;
                                        setup.subsystem.version = std::max(setup.subsystem.version, fabrics::version(2, 1, 0));
                                      }};
const arranged with_two_namespaces_at_most{"a product with room for two namespaces",
                                           [](EmbeddedSetup& setup) { setup.subsystem.namespaces_max = 2; }};
const arranged without_thin_provisioning{"a product without thin provisioning",
                                         [](EmbeddedSetup& setup) { setup.subsystem.namespace_management.thin_provisioning = false; }};

std::optional<std::string> takes_ana_groups(const Declared& declared) {
  const auto bit = nvme::anacap_bits::group_id_managed;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::anacap) & bit) != 0) return {};
  return "ANACAP bit 7 (ANAGRPID of a creation) is clear";
}

/// A creation that must fail. What is made all the same is deleted.
void refuses_creation(Manager& manager, Check& check, const Shape& shape, const OneOf<nvme::Status>& legal, std::string_view what) {
  const auto reply = manager.create(shape);
  check.status(reply, legal, what);
  if (reply.ok()) manager.remove(reply.dw0());
}

/// Small, and in the format of the first namespace.
Shape modest(ControllerBench& bench) {
  Shape shape{.nsze = 1024, .ncap = 1024, .lbaf = nvme::format_in_use(bench.declared().name_space), .nmic = 0};
  shape.extended = bench.declared().identify_namespace().get(nvme::id_ns::flbas_extended);
  return shape;
}

}  // namespace

CONFORMANCE_CASE(namespace_management_refuses_a_reserved_selection, "nvme.namespace.select.reserved", roles::controller,
                 needs(manages_namespaces), needs(has_namespace)) {
  Manager manager(bench, check);
  auto command = host::create_namespace();
  command.set(nvme::namespace_management_sqe::sel, 0xFu);
  const auto reply = manager.admin().send(command, Manager::described(modest(bench))).wait();
  check.refused(reply);
  if (reply.ok()) manager.remove(reply.dw0());
}

CONFORMANCE_CASE(creation_for_an_unknown_command_set_is_refused, "nvme.namespace.create.command-set", roles::controller,
                 needs(manages_namespaces), needs(has_namespace), needs(is_version_2), reaches{"namespace.create.csi"}) {
  Manager manager(bench, check);
  constexpr std::uint8_t kReservedSet = 0x2F;
  auto command = host::create_namespace();
  command.set(nvme::namespace_management_sqe::csi, kReservedSet);
  const auto reply = manager.admin().send(command, Manager::described(modest(bench))).wait();
  check.refused(reply, "Namespace Management, create, CSI 2Fh");
  if (reply.ok()) manager.remove(reply.dw0());
}

CONFORMANCE_CASE(created_namespace_is_allocated, "nvme.namespace.create", roles::controller, with_management, needs(manages_namespaces)) {
  Manager manager(bench, check);
  check.precondition(manager.unallocated_bytes() >= Shape{}.ncap * kFirstBlockBytes, "there is room for a namespace");
  const auto before = manager.list(Cns::allocated_namespace_list);
  const auto reply = manager.create({});
  if (!check.success(reply, "Namespace Management, create")) return;
  const std::uint32_t nsid = reply.dw0();
  check.that(!Manager::holds(before, nsid), "the NSID was free");
  const auto after = manager.list(Cns::allocated_namespace_list);
  check.that(Manager::holds(after, nsid), "NSID " + std::to_string(nsid) + " of the completion is allocated");
  check.equal("allocated namespaces", after.size(), before.size() + 1);
}

CONFORMANCE_CASE(created_namespace_is_attached_to_nobody, "nvme.namespace.create.detached", roles::controller, with_management,
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  const std::uint32_t nsid = manager.made();
  check.that(!manager.active(nsid), "the namespace is not active");
  check.equal("controllers of the namespace", manager.controllers_of(nsid).size(), 0u);
}

CONFORMANCE_CASE(created_namespace_is_as_asked_for, "nvme.namespace.create.attributes", roles::controller, with_management,
                 needs(manages_namespaces)) {
  namespace id = nvme::id_ns;
  Manager manager(bench, check);
  for (const Shape& shape :
       {Shape{.nsze = 4096, .ncap = 4096, .lbaf = 0, .nmic = 1}, Shape{.nsze = 512, .ncap = 512, .lbaf = 1, .nmic = 0}}) {
    const Bytes page = manager.page(Cns::allocated_namespace, manager.made(shape));
    const View<nvme::IdentifyNamespace> ns{page};
    check.equal("NSZE", ns.get(id::nsze), shape.nsze);
    check.equal("NCAP", ns.get(id::ncap), shape.ncap);
    check.equal("format in use", nvme::format_in_use(page), shape.lbaf);
    check.equal("NMIC", ns.get(id::nmic), shape.nmic);
    // Without thin provisioning NUSE may always equal NCAP.
    check.that(ns.get(id::nuse) <= shape.ncap, "NUSE is at most NCAP", std::to_string(ns.get(id::nuse)));
  }
  const auto identify = bench.declared().identify();
  const bool chooses = !reports_ana(bench.declared()) && (identify.get(nvme::id_ctrl::anacap) & nvme::anacap_bits::group_id_managed) != 0;
  if (!chooses) return;
  const std::uint32_t last = identify.get(nvme::id_ctrl::anagrpmax);
  for (const std::uint32_t group : {std::uint32_t{1}, std::min<std::uint32_t>(2, last), last}) {
    const Bytes page = manager.page(Cns::allocated_namespace, manager.made({.anagrpid = group}));
    check.equal("ANAGRPID", View<nvme::IdentifyNamespace>{page}.get(id::anagrpid), group);
  }
}

CONFORMANCE_CASE(creation_takes_capacity, "nvme.namespace.create.capacity", roles::controller, with_management,
                 needs(has_no_endurance_groups), needs(manages_namespaces)) {
  Manager manager(bench, check);
  const std::uint64_t before = manager.unallocated_bytes();
  const std::uint32_t nsid = manager.made({.nsze = 8192, .ncap = 8192});
  const std::uint64_t between = manager.unallocated_bytes();
  check.that(between <= before - 8192 * kFirstBlockBytes, "UNVMCAP is lower by the capacity of the namespace",
             words(between) + " after " + words(before));
  check.precondition_success(manager.remove(nsid), "Namespace Management, delete");
  check.equal("UNVMCAP after the deletion", manager.unallocated_bytes(), before);
  // All that is left, which a real product may not be able to give. Capacity may be given in steps of 1 MiB.
  constexpr std::uint64_t kStep = 1 << 20;
  if (!bench.embedded() || before < kStep) return;
  const std::uint64_t whole = before / kStep * kStep / kFirstBlockBytes;
  const auto all = manager.create({.nsze = whole, .ncap = whole});
  if (!check.success(all, "Namespace Management that takes all of UNVMCAP")) return;
  check.that(manager.unallocated_bytes() < kStep, "nothing is left", words(manager.unallocated_bytes()));
  check.precondition_success(manager.remove(all.dw0()), "Namespace Management, delete");
}

CONFORMANCE_CASE(created_namespaces_have_names_of_their_own, "nvme.namespace.create.names", roles::controller, with_management,
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  const auto names = [&](std::uint32_t nsid) {
    const Bytes page = manager.page(Cns::allocated_namespace, nsid);
    return Bytes(page.begin() + nvme::id_ns::nguid.offset, page.begin() + nvme::id_ns::lbaf.offset);
  };
  const std::uint32_t first = manager.made();
  const Bytes of_first = names(first);
  const std::uint32_t second = manager.made();
  check.that(names(second) != of_first, "two namespaces differ in NGUID and EUI-64");
  check.precondition_success(manager.remove(first), "Namespace Management, delete");
  const std::uint32_t third = manager.made();
  check.precondition(third == first, "the NSID is used again");
  check.that(names(third) != of_first, "a namespace differs from an earlier one of its NSID in NGUID and EUI-64");
}

CONFORMANCE_CASE(created_namespace_is_empty, "nvme.namespace.create.empty", roles::controller, with_management, needs(manages_namespaces)) {
  Manager manager(bench, check);
  const std::uint32_t first = manager.made_and_attached();
  const Bytes data = manager.prepare(first, 0x5D);
  check.precondition_success(manager.remove(first), "Namespace Management, delete");
  const std::uint32_t second = manager.made_and_attached();
  is_gone(check, manager.read(second, 0, 8), data, "the data of a deleted namespace");
}

CONFORMANCE_CASE(creation_beyond_the_capacity_is_refused, "nvme.namespace.create.too-large", roles::controller, with_management,
                 needs(has_no_endurance_groups), needs(manages_namespaces), reaches{"namespace.create.capacity"}) {
  Manager manager(bench, check);
  const std::uint64_t blocks = manager.unallocated_bytes() / kFirstBlockBytes + 1;
  check.status(manager.create({.nsze = blocks, .ncap = blocks}), sc::namespace_insufficient_capacity);
}

CONFORMANCE_CASE(creation_beyond_the_number_is_refused, "nvme.namespace.create.too-many", roles::controller, with_two_namespaces_at_most,
                 needs(manages_namespaces), reaches{"namespace.create.identifier"}) {
  Manager manager(bench, check);
  check.precondition(manager.list(Cns::allocated_namespace_list).size() == bench.declared().identify().get(nvme::id_ctrl::nn),
                     "there are as many namespaces as may be");
  check.precondition(manager.unallocated_bytes() >= Shape{}.ncap * kFirstBlockBytes, "there is room for a namespace");
  check.status(manager.create({}), sc::namespace_identifier_unavailable);
  // The last of the identifiers is one of them.
  check.precondition_success(manager.remove(manager.list(Cns::allocated_namespace_list).back()), "Namespace Management, delete");
  check.success(manager.create({}), "creation of as many namespaces as may be");
  check.status(manager.create({}), sc::namespace_identifier_unavailable, "creation of one more");
}

CONFORMANCE_CASE(creation_in_an_unknown_format_is_refused, "nvme.namespace.create.format", roles::controller, needs(manages_namespaces),
                 needs(has_namespace), reaches{"namespace.create.format"}) {
  Manager manager(bench, check);
  const View<nvme::IdentifyNamespace> ns = bench.declared().identify_namespace();
  const auto count = static_cast<unsigned>(ns.get(nvme::id_ns::nlbaf).count() + ns.get(nvme::id_ns::nulbaf));
  check.precondition(count < 16, "there is a number of four bits without a format");
  Shape shape = modest(bench);
  shape.lbaf = count;
  refuses_creation(manager, check, shape, one_of(sc::invalid_format), "the format behind the last");
}

CONFORMANCE_CASE(creation_with_less_capacity_needs_thin_provisioning, "nvme.namespace.create.thin", roles::controller,
                 without_thin_provisioning, needs(manages_namespaces), reaches{"namespace.create.thin"}) {
  Manager manager(bench, check);
  const Bytes common = manager.page(Cns::identify_namespace, nvme::kAllNamespaces);
  const unsigned features = View<nvme::IdentifyNamespace>{common}.get(nvme::id_ns::nsfeat);
  check.precondition((features & nvme::nsfeat_bits::thin_provisioning) == 0, "NSFEAT bit 0 is clear");
  check.status(manager.create({.nsze = 4096, .ncap = 2048}), sc::thin_provisioning_not_supported);
}

CONFORMANCE_CASE(creation_with_more_capacity_than_size_is_refused, "nvme.namespace.create.order", roles::controller,
                 needs(manages_namespaces), needs(has_namespace), reaches{"namespace.create.size"}) {
  Manager manager(bench, check);
  Shape shape = modest(bench);
  shape.ncap = shape.nsze * 2;
  const auto reply = manager.create(shape);
  check.refused(reply, "NCAP of twice NSZE");
  if (reply.ok()) manager.remove(reply.dw0());
}

CONFORMANCE_CASE(creation_of_nothing_is_refused, "nvme.namespace.create.nothing", roles::controller, needs(manages_namespaces),
                 needs(has_namespace), reaches{"namespace.create.size"}) {
  Manager manager(bench, check);
  Shape shape = modest(bench);
  shape.nsze = shape.ncap = 0;
  const auto reply = manager.create(shape);
  check.refused(reply, "NSZE and NCAP 0");
  if (reply.ok()) manager.remove(reply.dw0());
}

CONFORMANCE_CASE(creation_in_an_unknown_ana_group_is_refused, "nvme.namespace.create.ana-group", roles::controller,
                 needs(manages_namespaces), needs(has_namespace), needs(reports_ana), needs(takes_ana_groups),
                 reaches{"namespace.create.ana_group"}) {
  Manager manager(bench, check);
  const std::uint32_t groups = bench.declared().identify().get(nvme::id_ctrl::anagrpmax);
  check.precondition(groups != 0xFFFFFFFF, "there is a group identifier above ANAGRPMAX");
  Shape shape = modest(bench);
  shape.anagrpid = groups + 1;
  refuses_creation(manager, check, shape, one_of(sc::ana_group_identifier_invalid, sc::invalid_field), "ANAGRPID above ANAGRPMAX");
}

CONFORMANCE_CASE(thin_namespace_takes_its_capacity_and_no_more, "nvme.namespace.create.thin-full", roles::controller, with_management,
                 needs(manages_namespaces), reaches{"io.capacity"}) {
  Manager manager(bench, check);
  const std::uint32_t nsid = manager.made_and_attached({.nsze = 4096, .ncap = 16});
  const Bytes data = pattern(0x33, 8, kFirstBlockBytes);
  for (const std::uint64_t lba : {1000u, 2000u}) {
    const auto reply = manager.write(nsid, lba, data);
    if (reply.ok()) continue;
    // A write may allocate more blocks than it names.
    check.status(reply, sc::capacity_exceeded, "blocks within NCAP");
    throw CannotArrange{"the product allocates more blocks than are written"};
  }
  check.success(manager.write(nsid, 1000, data), "blocks that are allocated");
  check.status(manager.write(nsid, 3000, data), sc::capacity_exceeded, "the block behind NCAP");
  if (!claims_oncs<nvme::oncs_bits::copy>(bench.declared()) && !has_copy_format<0>(bench.declared())) {
    const Bytes source = nvme::write_copy_source({.slba = 1000, .blocks = 1}, 0, {});
    check.status(manager.io().send(host::copy(nsid, 3000, 1), source).wait(), sc::capacity_exceeded, "a Copy to the block behind NCAP");
    check.success(manager.io().send(host::copy(nsid, 2000, 1), source).wait(), "a Copy to a block that is allocated");
  }
  const Bytes page = manager.page(Cns::identify_namespace, nsid);
  check.equal("NUSE", View<nvme::IdentifyNamespace>{page}.get(nvme::id_ns::nuse), 16u);
}

CONFORMANCE_CASE(deleted_namespace_is_gone, "nvme.namespace.delete", roles::controller, with_management, needs(manages_namespaces)) {
  Manager manager(bench, check);
  const std::uint32_t nsid = manager.made();
  if (!check.success(manager.remove(nsid), "Namespace Management, delete")) return;
  check.that(!manager.allocated(nsid), "the namespace is not allocated");
  check.that(!manager.active(nsid), "the namespace is not active");
}

CONFORMANCE_CASE(attached_namespace_may_be_deleted, "nvme.namespace.delete.attached", roles::controller, with_management,
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  Manager other(bench, check, {.hostnqn = std::string(kOtherHost)});
  const std::uint32_t nsid = manager.made();
  check.precondition_success(manager.attach(nsid, {manager.cntlid(), other.cntlid()}), "Namespace Attachment");
  if (!check.success(manager.remove(nsid), "Namespace Management, delete")) return;
  check.that(!manager.active(nsid), "the namespace is not active at the controller that deleted it");
  check.that(!other.active(nsid), "the namespace is not active at another one");
}

CONFORMANCE_CASE(deleted_namespace_takes_no_io, "nvme.namespace.delete.io", roles::controller, with_management, needs(manages_namespaces)) {
  Manager manager(bench, check);
  const std::uint32_t nsid = manager.made_and_attached();
  manager.prepare(nsid, 0x21);
  check.precondition_success(manager.remove(nsid), "Namespace Management, delete");
  const auto legal = one_of(sc::invalid_field, sc::invalid_namespace_or_format);
  check.status(manager.read(nsid, 0, 8), legal, "Read");
  check.status(manager.write(nsid, 0, pattern(0x22, 8, kFirstBlockBytes)), legal, "Write");
}

CONFORMANCE_CASE(deletion_of_all_namespaces, "nvme.namespace.delete.all", roles::controller, with_management, needs(manages_namespaces)) {
  Manager manager(bench, check);
  manager.made();
  if (!check.success(manager.remove(nvme::kAllNamespaces), "deletion of all")) return;
  check.equal("allocated namespaces", manager.list(Cns::allocated_namespace_list).size(), 0u);
  check.equal("active namespaces", manager.list(Cns::active_namespace_list).size(), 0u);
  check.success(manager.remove(nvme::kAllNamespaces), "deletion of all where there are none");
}

CONFORMANCE_CASE(deletion_of_what_is_not_there_is_refused, "nvme.namespace.delete.unallocated", roles::controller,
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  const auto legal = one_of(sc::invalid_namespace_or_format, sc::invalid_field);
  check.status(manager.remove(unallocated_nsid(manager, bench, check)), legal, "an NSID that is not allocated");
  check.status(manager.remove(0), legal, "NSID 0");
  const std::uint32_t limit = bench.declared().identify().get(nvme::id_ctrl::nn);
  if (limit < 0xFFFFFFF0) check.status(manager.remove(limit + 1), legal, "an NSID beyond NN");
}

CONFORMANCE_CASE(protected_namespace_is_not_deleted, "nvme.namespace.delete.write-protected", roles::controller, with_management,
                 needs(manages_namespaces), reaches{"namespace.delete.write_protected"}) {
  Manager manager(bench, check);
  const std::uint32_t nsid = manager.made_and_attached();
  const Bytes data = manager.prepare(nsid, 0x19);
  auto protect = host::set_features(nvme::FeatureId::namespace_write_protection, 1);
  protect.set(nvme::sqe::nsid, nsid);
  check.precondition_success(manager.admin().send(protect).wait(), "Set Features, write protection");
  check.status(manager.remove(nsid), sc::namespace_write_protected);
  // Nor with all others.
  if (bench.embedded()) check.status(manager.remove(nvme::kAllNamespaces), sc::namespace_write_protected, "deletion of all");
  const auto read = manager.read(nsid, 0, 8);
  if (check.success(read, "Read")) check.bytes("its data", read.data, data);
}

CONFORMANCE_CASE(deletion_is_announced_to_others, "nvme.namespace.delete.announced", roles::controller, with_management_of_2_1,
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  Manager other(bench, check, {.hostnqn = std::string(kOtherHost)});
  const std::uint32_t nsid = manager.made();
  check.precondition_success(manager.attach(nsid, {other.cntlid(), manager.cntlid()}), "Namespace Attachment");
  listen_for_namespaces(other, check);
  auto request = other.admin().send(host::async_event_request());
  listen_for_namespaces(manager, check);
  auto own = manager.admin().send(host::async_event_request());
  check.precondition_success(manager.remove(nsid), "Namespace Management, delete");
  is_told(other, request, nsid, check);
  const auto told = own.wait_for(kSilence);
  const bool of_namespaces = told && told->ok() && (told->dw0() & 0xFFFF) == 0x0002u;
  // Earlier revisions do not say so.
  if (bench.declared().version_at_least(2, 1))
    check.that(!of_namespaces, "no event of a changed namespace comes to the controller that deleted it", "one comes");
  // Two that are deleted before the list is read, and a controller behind the first that gets the event.
  Manager third(bench, check, {.hostnqn = std::string(kOtherHost)});
  const std::uint32_t both[] = {manager.made(), manager.made()};
  for (const std::uint32_t one : both) {
    check.precondition_success(manager.attach(one, {other.cntlid(), third.cntlid()}), "Namespace Attachment");
  }
  listen_for_namespaces(third, check);
  auto another = third.admin().send(host::async_event_request());
  for (const std::uint32_t one : both) check.precondition_success(manager.remove(one), "Namespace Management, delete");
  check.require(another.wait_for(kSoon).has_value(), "an event comes to a third controller");
  const auto log = third.admin().send(host::get_log(nvme::LogPage::changed_namespaces, 4096), 4096).wait();
  if (!check.success(log, "Get Log Page")) return;
  const auto changed = nvme::read_namespace_list(log.data);
  for (const std::uint32_t one : both) {
    check.that(Manager::holds(changed, one), "the changed namespace list of a third controller has NSID " + std::to_string(one));
  }
}

CONFORMANCE_CASE(overflow_of_the_changed_list, "nvme.namespace.changed.overflow", roles::controller,
                 arranged("a product of 1,100 namespaces", [](EmbeddedSetup& setup) { setup.subsystem.namespaces_max = 1100; })) {
  RawAssociation& association = bench.associate();
  for (std::uint32_t i = 0; i < 1025; ++i) {
    const auto added = bench.subsystem().add_namespace({.blocks = 8});
    BENCH_ASSERT(added.ok(), "the arranged product has room for a namespace");
  }
  const auto log = association.admin().send(host::get_log(nvme::LogPage::changed_namespaces, 4096), 4096).wait();
  if (!check.success(log, "Get Log Page")) return;
  const auto ids = nvme::read_namespace_list(log.data);
  check.equal("entries", ids.size(), 1u);
  check.equal("first entry", ids.empty() ? 0u : ids.front(), nvme::kTooManyChangedNamespaces);
}

}  // namespace fb::conformance
