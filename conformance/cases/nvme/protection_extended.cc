// Protection information that Format NVM makes, and the wide forms that a host has to enable.
#include "conformance/cases/nvme/protection_scene.h"
#include "conformance/runner/embedded_controller.h"

namespace fb::conformance {

namespace {

constexpr std::uint64_t kLba = 40;
constexpr std::uint32_t kCount = 3;
constexpr Prinfo kInsert{.act = true};

const arranged a_formattable_namespace{"a namespace that may be formatted with protection information", [](EmbeddedSetup& setup) {
                                         setup.subsystem.format = true;
                                         setup.subsystem.metadata = true;
                                       }};

struct FormatChoice {
  unsigned number = 0;
  BlockLayout layout;
};

/// The first format of the namespace that fits, if it were protected so.
FormatChoice choose_format(RawAssociation& association, Check& check, std::uint32_t nsid, std::uint8_t type, bool first,
                           LayoutPredicate fits) {
  const auto reply = association.admin().send(host::identify(nvme::Cns::identify_namespace, nsid), 4096).wait();
  check.precondition_success(reply, "Identify Namespace");
  const auto wide = association.admin().send(host::identify(nvme::Cns::command_set_namespace, nsid), 4096).wait();
  const auto formats = View<nvme::IdentifyNamespace>{reply.data}.get(nvme::id_ns::nlbaf).count();
  for (unsigned i = 0; i < formats; ++i) {
    const auto format = nvme::lba_format_at(reply.data, i);
    BlockLayout layout{.data_bytes = 1u << format.get(nvme::lba_format::lbads),
                       .metadata_bytes = format.get(nvme::lba_format::ms),
                       .protection_type = type,
                       .tuple_first = first};
    if (wide.ok()) {
      const auto tags = element<nvme::ExtendedLbaFormat>(wide.data, nvme::id_ns_nvm::elbaf, i);
      layout.guard = tags.get(nvme::extended_lba_format::pif);
      layout.storage_tag_bits = static_cast<std::uint8_t>(tags.get(nvme::extended_lba_format::sts));
    }
    if (layout.metadata_bytes >= layout.tuple_bytes() && fits(layout)) return {i, layout};
  }
  throw CannotArrange{"the product has no such format"};
}

Record<nvme::FormatSqe> format_with(std::uint32_t nsid, const FormatChoice& choice) {
  auto command = host::format_nvm(nsid, choice.number);
  command.set(nvme::format_sqe::pi, choice.layout.protection_type)
      .set(nvme::format_sqe::pil, choice.layout.tuple_first)
      .set(nvme::format_sqe::mset, true);
  return command;
}

std::uint32_t add_namespace(ControllerBench& bench) {
  const auto added = bench.subsystem().add_namespace({.blocks = 8192});
  BENCH_ASSERT(added.ok(), "the arranged product has room for a namespace");
  return (*added)->nsid();
}

std::optional<std::string> enables_extended_formats(const Declared& declared) {
  const auto elbas = nvme::ctratt_bits::extended_lba_formats;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::ctratt) & elbas) != 0) return {};
  return "CTRATT bit 15 (extended LBA formats) is clear";
}

void inserts_tuples(ProtectedScene& scene, Check& check, const ProtectionTags& first) {
  ProtectionTags tags = first;
  const Bytes data = pattern(0x61, kCount, scene.layout.data_bytes);
  if (!check.success(scene.write(kLba, data, kInsert, tags), "Write with PRACT")) return;
  const Bytes medium = scene.look(check, kLba, kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const ByteView block = scene.block(medium, i);
    const auto tuple = nvme::read_tuple(scene.layout, block);
    check.equal("guard", tuple.guard, nvme::guard_of(scene.layout, block));
    check.equal("application tag", tuple.tags.application, tags.application);
    check.equal("storage tag", tuple.tags.storage, tags.storage);
    check.equal("reference tag", tuple.tags.reference, tags.reference);
    nvme::advance_tags(scene.layout, tags);
  }
}

}  // namespace

CONFORMANCE_CASE(protection_is_formatted, "nvme.protection.format.type", roles::controller, a_formattable_namespace) {
  const std::uint32_t nsid = add_namespace(bench);
  RawAssociation& association = bench.associate();
  host::RawQueue& io = association.open_io();
  for (const std::uint8_t type : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    const bool first = type == 2;
    const FormatChoice choice = choose_format(association, check, nsid, type, first,
                                              [](const BlockLayout& layout) { return !layout.extended() && !layout.tuple_alone(); });
    if (!check.success(association.admin().send(format_with(nsid, choice)).wait(), "Format NVM")) return;
    const auto reply = association.admin().send(host::identify(nvme::Cns::identify_namespace, nsid), 4096).wait();
    check.precondition_success(reply, "Identify Namespace");
    const View<nvme::IdentifyNamespace> id{reply.data};
    check.equal("DPS", unsigned{id.get(nvme::id_ns::dps)}, type | (first ? nvme::dps_bits::first_bytes : 0u));
    check.equal("format in use", nvme::format_in_use(reply.data), choice.number);
    // A guard of the host's is good where the controller thinks it stands.
    Bytes block = pattern(0x62, 1, choice.layout.bytes());
    nvme::protect(choice.layout, block, {.reference = kLba});
    auto write = host::as_sqe(host::write(nsid, kLba, 1));
    write.edit<nvme::ReadWriteSqe>().set(nvme::rw_sqe::prchk_guard, true);
    check.success(io.send(write, block).wait(), "Write with a good guard");
    block[0] ^= 1;
    check.status(io.send(write, block).wait(), sc::guard_check_error, "Write with a wrong guard");
  }
}

CONFORMANCE_CASE(protection_of_blocks_never_written, "nvme.protection.format.readable", roles::controller, a_formattable_namespace) {
  const std::uint32_t nsid = add_namespace(bench);
  RawAssociation& association = bench.associate();
  host::RawQueue& io = association.open_io();
  Bytes full(8 * 512);
  check.precondition_success(io.send(host::write(nsid, 0, 8), full).wait(), "Write");
  const FormatChoice choice = choose_format(association, check, nsid, 1, false, &alone<1>);
  check.precondition_success(association.admin().send(format_with(nsid, choice)).wait(), "Format NVM");
  auto read = host::as_sqe(host::read(nsid, 0, 4));
  read.edit<nvme::ReadWriteSqe>()
      .set(nvme::rw_sqe::prchk_guard, true)
      .set(nvme::rw_sqe::prchk_app, true)
      .set(nvme::rw_sqe::prchk_ref, true);
  nvme::set_command_tags(read.edit<nvme::SqeLayout>(), choice.layout, {.application = 9, .reference = 0});
  check.success(io.send(read, 4 * choice.layout.bytes()).wait(), "Read with all checks");
}

CONFORMANCE_CASE(protection_extended_formats_are_enabled_first, "nvme.protection.format.extended", roles::controller,
                 a_formattable_namespace, needs(enables_extended_formats)) {
  const std::uint32_t nsid = add_namespace(bench);
  RawAssociation& association = bench.associate();
  const FormatChoice choice =
      choose_format(association, check, nsid, 1, false, [](const BlockLayout& layout) { return layout.extended(); });
  check.status(association.admin().send(format_with(nsid, choice)).wait(), sc::invalid_namespace_or_format, "before LBAFEE");
  Record<nvme::HostBehavior> behavior;
  behavior.set(nvme::host_behavior::lbafee, 1);
  const auto set = host::set_features(nvme::FeatureId::host_behavior_support, 0);
  check.precondition_success(association.admin().send(set, behavior.bytes()).wait(), "LBAFEE");
  check.success(association.admin().send(format_with(nsid, choice)).wait(), "with LBAFEE");
}

CONFORMANCE_CASE(protection_extended_is_disabled, "nvme.protection.extended.disabled", roles::controller, protected_namespaces,
                 needs(has_layout<&guarded<ProtectionFormat::guard_64>>)) {
  ProtectedScene scene(bench, &guarded<ProtectionFormat::guard_64>, false);
  check.refused(scene.read(kLba, 1, {}, {}), "Read without LBAFEE");
  scene.enable_extended();
  check.success(scene.read(kLba, 1, {}, {}), "Read with LBAFEE");
}

CONFORMANCE_CASE(protection_guard_64, "nvme.protection.extended.guard-64", roles::controller, protected_namespaces,
                 needs(has_layout<&guarded<ProtectionFormat::guard_64>>)) {
  ProtectedScene scene(bench, &guarded<ProtectionFormat::guard_64>);
  inserts_tuples(scene, check, scene.tags_at(kLba, 0x3131));
}

CONFORMANCE_CASE(protection_guard_32, "nvme.protection.extended.guard-32", roles::controller, protected_namespaces,
                 needs(has_layout<&guarded<ProtectionFormat::guard_32>>)) {
  ProtectedScene scene(bench, &guarded<ProtectionFormat::guard_32>);
  ProtectionTags tags = scene.tags_at(kLba, 0x3232);
  tags.storage = 0x5A;
  inserts_tuples(scene, check, tags);
}

CONFORMANCE_CASE(protection_storage_tags, "nvme.protection.extended.storage", roles::controller, protected_namespaces,
                 needs(has_layout<&guarded<ProtectionFormat::guard_32>>)) {
  ProtectedScene scene(bench, &guarded<ProtectionFormat::guard_32>);
  ProtectionTags tags = scene.tags_at(kLba, 1);
  tags.storage = 0x77;
  scene.plant(check, kLba, scene.whole(0x63, kCount, tags));
  check.success(scene.read(kLba, kCount, {.guard = true, .storage = true}, tags), "the right storage tag");
  tags.storage = 0x76;
  check.status(scene.read(kLba, kCount, {.guard = true, .storage = true}, tags), sc::storage_tag_check_error, "another storage tag");
  check.success(scene.read(kLba, kCount, {.guard = true}, tags), "another one without STC");
}

}  // namespace fb::conformance
