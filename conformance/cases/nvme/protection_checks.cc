// Protection information: what is checked on the way out, by Compare and Verify, and what other commands leave.
#include "conformance/cases/nvme/protection_scene.h"

namespace fb::conformance {

namespace {

constexpr std::uint64_t kLba = 136;
constexpr std::uint32_t kCount = 3;
/// PIC bit 3: formats may leave their guard to QPIF.
constexpr std::uint8_t kQualifiedFormats = 1u << 3;

std::optional<std::string> identifies_nvm_namespaces(const Declared& declared) {
  const auto elbas = nvme::ctratt_bits::extended_lba_formats;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::ctratt) & elbas) != 0) return {};
  return "CTRATT bit 15 (extended LBA formats) is clear";
}

Bytes identify_namespace(ProtectedScene& scene, Check& check, std::uint32_t nsid) {
  const auto reply = scene.association.admin().send(host::identify(nvme::Cns::identify_namespace, nsid), 4096).wait();
  check.precondition_success(reply, "Identify Namespace");
  return reply.data;
}

}  // namespace

CONFORMANCE_CASE(protection_types_are_offered, "nvme.protection.identify.type", roles::controller, protected_namespaces,
                 needs(has_layout<&any_protected>)) {
  ProtectedScene scene(bench, &any_protected);
  for (const host::NamespaceFacts& facts : bench.declared().namespaces) {
    if (!facts.layout.is_protected()) continue;
    const Bytes page = identify_namespace(scene, check, facts.nsid);
    const View<nvme::IdentifyNamespace> id{page};
    const unsigned type = id.get(nvme::id_ns::dps) & nvme::dps_bits::type_mask;
    check.between("protection type", type, 1u, 3u);
    check.that(type > 3 || type == 0 || (id.get(nvme::id_ns::dpc) >> (type - 1) & 1) != 0, "DPC has the bit of the type", "it does not");
  }
}

CONFORMANCE_CASE(protection_has_room, "nvme.protection.identify.room", roles::controller, protected_namespaces,
                 needs(has_layout<&any_protected>)) {
  ProtectedScene scene(bench, &any_protected);
  for (const host::NamespaceFacts& facts : bench.declared().namespaces) {
    if (!facts.layout.is_protected()) continue;
    const Bytes page = identify_namespace(scene, check, facts.nsid);
    const std::uint32_t metadata = nvme::lba_format_at(page, nvme::format_in_use(page)).get(nvme::lba_format::ms);
    check.that(metadata >= facts.layout.tuple_bytes(), "the metadata has room for the tags", std::to_string(metadata) + " bytes");
  }
}

CONFORMANCE_CASE(protection_stands_where_it_may, "nvme.protection.identify.position", roles::controller, protected_namespaces,
                 needs(has_layout<&any_protected>)) {
  ProtectedScene scene(bench, &any_protected);
  for (const host::NamespaceFacts& facts : bench.declared().namespaces) {
    if (!facts.layout.is_protected()) continue;
    const Bytes page = identify_namespace(scene, check, facts.nsid);
    const View<nvme::IdentifyNamespace> id{page};
    const bool first = (id.get(nvme::id_ns::dps) & nvme::dps_bits::first_bytes) != 0;
    const unsigned bit = first ? nvme::dpc_bits::first_bytes : nvme::dpc_bits::last_bytes;
    check.that((id.get(nvme::id_ns::dpc) & bit) != 0, "DPC has the bit of the place", "it does not");
  }
}

CONFORMANCE_CASE(protection_formats_are_possible, "nvme.protection.identify.formats", roles::controller, protected_namespaces,
                 needs(has_layout<&any_protected>), needs(identifies_nvm_namespaces)) {
  ProtectedScene scene(bench, &any_protected);
  const Bytes page = identify_namespace(scene, check, scene.nsid);
  const auto formats = View<nvme::IdentifyNamespace>{page}.get(nvme::id_ns::nlbaf).count();
  const auto reply = scene.association.admin().send(host::identify(nvme::Cns::command_set_namespace, scene.nsid), 4096).wait();
  if (!check.success(reply, "Identify, CNS 05h")) return;
  const auto pic = View<nvme::IdentifyNamespaceNvm>{reply.data}.get(nvme::id_ns_nvm::pic);
  const bool qualified = (pic & kQualifiedFormats) != 0;
  for (unsigned i = 0; i < std::min<std::uint64_t>(formats, nvme::kLbaFormatsMax); ++i) {
    const auto format = element<nvme::ExtendedLbaFormat>(reply.data, nvme::id_ns_nvm::elbaf, i);
    const auto guard = format.get(nvme::extended_lba_format::pif);
    const unsigned bits = format.get(nvme::extended_lba_format::sts);
    // 11b leaves the format to QPIF, where PIC says that there is such a field.
    if (guard == ProtectionFormat::reserved && qualified) continue;
    check.that(guard != ProtectionFormat::reserved, "PIF is not 11b without PIC.QPIFS", "it is");
    const bool wide = guard == ProtectionFormat::guard_32;
    const unsigned most = wide ? 64 : guard == ProtectionFormat::guard_64 ? 48 : 32;
    check.between("storage tag bits of format " + std::to_string(i), bits, wide ? 16u : 0u, most);
  }
}

CONFORMANCE_CASE(protection_read_checks_the_guard, "nvme.protection.read.guard", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const ProtectionTags tags = scene.tags_at(kLba);
  Bytes whole = scene.whole(0x41, scene.count(kCount), tags);
  scene.block(whole, 1)[100] ^= 4;
  scene.plant(check, kLba, whole);
  check.status(scene.read(kLba, scene.count(kCount), {.guard = true}, tags), sc::guard_check_error, "a wrong guard");
  check.success(scene.read(kLba, 1, {.guard = true}, tags), "the block before it");
}

CONFORMANCE_CASE(protection_read_checks_the_application_tag, "nvme.protection.read.application", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  scene.plant(check, kLba, scene.whole(0x42, scene.count(kCount), scene.tags_at(kLba, 0x1000)));
  check.success(scene.read(kLba, scene.count(kCount), kAllChecks, scene.tags_at(kLba, 0x1000)), "the right tag");
  check.status(scene.read(kLba, scene.count(kCount), {.application = true}, scene.tags_at(kLba, 0x1001)), sc::application_tag_check_error,
               "another tag");
}

CONFORMANCE_CASE(protection_read_checks_reference_tags, "nvme.protection.read.reference", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<2>>)) {
  ProtectedScene scene(bench, &alone<2>);
  ProtectionTags tags{.reference = 0x1000};
  scene.plant(check, kLba, scene.whole(0x43, scene.count(kCount), tags));
  check.success(scene.read(kLba, scene.count(kCount), {.reference = true}, tags), "the right tags");
  // Two blocks later the third tag is the first.
  check.success(scene.read(kLba + 2, 1, {.reference = true}, {.reference = 0x1002}), "the third block");
  tags.reference = 0x1001;
  check.status(scene.read(kLba, scene.count(kCount), {.reference = true}, tags), sc::reference_tag_check_error, "other tags");
}

CONFORMANCE_CASE(protection_tag_of_ones_is_not_checked, "nvme.protection.escape", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  Bytes whole = scene.whole(0x44, scene.count(kCount), scene.tags_at(kLba, 0x55));
  nvme::write_tuple(scene.layout, scene.block(whole, 1), 0x1111, {.application = 0xFFFF, .reference = 4});
  if (!check.success(scene.write(kLba, whole, kAllChecks, scene.tags_at(kLba, 0x55)), "Write")) return;
  check.success(scene.read(kLba, scene.count(kCount), kAllChecks, scene.tags_at(kLba, 0x55)), "Read");
}

CONFORMANCE_CASE(protection_type_3_needs_both_tags_of_ones, "nvme.protection.escape.type-3", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<3>>)) {
  ProtectedScene scene(bench, &alone<3>);
  Bytes whole = scene.whole(0x45, 1, {});
  nvme::write_tuple(scene.layout, scene.block(whole, 0), 0x1111, {.application = 0xFFFF, .reference = 0xFFFFFFFF});
  check.success(scene.write(kLba, whole, {.guard = true}, {}), "both tags of ones");
  nvme::write_tuple(scene.layout, scene.block(whole, 0), 0x1111, {.application = 0xFFFF, .reference = 1});
  check.status(scene.write(kLba, whole, {.guard = true}, {}), sc::guard_check_error, "the application tag alone");
}

CONFORMANCE_CASE(protection_type_3_compares_no_reference, "nvme.protection.type-3.reference", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<3>>)) {
  ProtectedScene scene(bench, &alone<3>);
  scene.plant(check, kLba, scene.whole(0x46, scene.count(kCount), {.reference = 77}));
  check.status(scene.read(kLba, scene.count(kCount), {.reference = true}, {.reference = 5}),
               one_of(sc::success, sc::invalid_protection_information), "a reference tag check");
}

CONFORMANCE_CASE(protection_type_1_begins_with_the_lba, "nvme.protection.initial-reference", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const ProtectionTags wrong = scene.tags_at(kLba + 1);
  scene.plant(check, kLba, scene.whole(0x47, scene.count(kCount), wrong));
  check.status(scene.read(kLba, scene.count(kCount), {.reference = true}, wrong), sc::invalid_protection_information, "Read");
  check.status(scene.write(kLba, scene.whole(0x48, scene.count(kCount), wrong), {.reference = true}, wrong),
               sc::invalid_protection_information, "Write");
  // All of the tag counts, each byte of it.
  for (unsigned byte = 0; byte < 4; ++byte) {
    ProtectionTags near = scene.tags_at(kLba);
    near.reference ^= std::uint64_t{1} << (8 * byte + byte);
    check.status(scene.write(kLba, scene.whole(0x48, scene.count(kCount), near), {.reference = true}, near),
                 sc::invalid_protection_information, "Write, another byte " + std::to_string(byte));
  }
}

CONFORMANCE_CASE(protection_compare_checks_the_host, "nvme.protection.compare.host", roles::controller, protected_namespaces,
                 needs(claims_oncs<nvme::oncs_bits::compare>), needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const ProtectionTags tags = scene.tags_at(kLba, 2);
  Bytes whole = scene.whole(0x49, scene.count(kCount), tags);
  scene.plant(check, kLba, whole);
  const auto tuple = nvme::read_tuple(scene.layout, scene.block(whole, 1));
  nvme::write_tuple(scene.layout, scene.block(whole, 1), tuple.guard ^ 1, tuple.tags);
  check.status(scene.compare(kLba, whole, {.guard = true}, tags), sc::guard_check_error, "a wrong guard");
}

CONFORMANCE_CASE(protection_compare_checks_the_medium, "nvme.protection.compare.medium", roles::controller, protected_namespaces,
                 needs(claims_oncs<nvme::oncs_bits::compare>), needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const ProtectionTags tags = scene.tags_at(kLba, 2);
  const Bytes good = scene.whole(0x4A, scene.count(kCount), tags);
  Bytes bad = good;
  auto tuple = nvme::read_tuple(scene.layout, scene.block(bad, 2));
  nvme::write_tuple(scene.layout, scene.block(bad, 2), tuple.guard ^ 1, tuple.tags);
  scene.plant(check, kLba, bad);
  check.status(scene.compare(kLba, good, {.guard = true}, tags), sc::guard_check_error, "a wrong guard");
}

CONFORMANCE_CASE(protection_compare_compares_data, "nvme.protection.compare.data", roles::controller, protected_namespaces,
                 needs(claims_oncs<nvme::oncs_bits::compare>), needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const ProtectionTags tags = scene.tags_at(kLba, 3);
  const Bytes whole = scene.whole(0x4B, scene.count(kCount), tags);
  scene.plant(check, kLba, whole);
  check.success(scene.compare(kLba, whole, kAllChecks, tags), "the same blocks");
  check.status(scene.compare(kLba, scene.whole(0x4C, scene.count(kCount), tags), kAllChecks, tags), sc::compare_failure,
               "other blocks with good tags");
}

CONFORMANCE_CASE(protection_is_verified, "nvme.protection.verify", roles::controller, protected_namespaces,
                 needs(claims_oncs<nvme::oncs_bits::verify>), needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const ProtectionTags tags = scene.tags_at(kLba, 4);
  Bytes whole = scene.whole(0x4D, scene.count(kCount), tags);
  scene.plant(check, kLba, whole);
  const auto verify = [&](const ProtectionTags& expected) {
    return scene.io.send(scene.command(nvme::IoOpcode::verify, kLba, scene.count(kCount), kAllChecks, expected)).wait();
  };
  check.success(verify(tags), "good tags");
  check.status(verify(scene.tags_at(kLba, 5)), sc::application_tag_check_error, "another application tag");
  scene.block(whole, 2)[0] ^= 1;
  scene.plant(check, kLba, whole);
  check.status(verify(tags), sc::guard_check_error, "a wrong guard");
}

CONFORMANCE_CASE(protection_of_zeroes, "nvme.protection.write-zeroes", roles::controller, protected_namespaces,
                 needs(claims_oncs<nvme::oncs_bits::write_zeroes>), needs(has_layout<&beside>)) {
  ProtectedScene scene(bench, &beside);
  const ProtectionTags tags = scene.tags_at(kLba, 0x22);
  scene.plant(check, kLba, scene.whole(0x4E, scene.count(kCount), scene.tags_at(kLba)));
  const auto zero = scene.command(nvme::IoOpcode::write_zeroes, kLba, scene.count(kCount), {.act = true}, tags);
  if (!check.success(scene.io.send(zero).wait(), "Write Zeroes with PRACT")) return;
  const auto reply = scene.read(kLba, scene.count(kCount), kAllChecks, tags);
  if (!check.success(reply, "Read with all checks")) return;
  check.bytes("data", scene.block(reply.data, 1).first(scene.layout.data_bytes), Bytes(scene.layout.data_bytes));
  check.equal("application tag", nvme::read_tuple(scene.layout, scene.block(reply.data, 1)).tags.application, 0x22);
}

CONFORMANCE_CASE(protection_of_deallocated_blocks, "nvme.protection.deallocated", roles::controller, protected_namespaces,
                 needs(claims_oncs<nvme::oncs_bits::dataset_management>), needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const ProtectionTags tags = scene.tags_at(kLba, 0x23);
  scene.plant(check, kLba, scene.whole(0x4F, scene.count(kCount), tags));
  const auto range = host::dsm_range(kLba, scene.count(kCount));
  check.precondition_success(scene.io.send(host::deallocate(scene.nsid, 1), range.bytes()).wait(), "Deallocate");
  check.success(scene.read(kLba, scene.count(kCount), kAllChecks, tags), "Read with all checks");
}

CONFORMANCE_CASE(protection_is_ignored_where_there_is_none, "nvme.protection.absent", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  const auto& namespaces = bench.declared().namespaces;
  if (namespaces.empty() || namespaces.front().layout.is_protected()) {
    throw CannotArrange{"the first namespace has protection information"};
  }
  const Bytes data = scene.prepare(check, 0, 0x50, 2);
  auto read = host::as_sqe(host::read(scene.nsid, scene.at(0), 2));
  read.edit<nvme::ReadWriteSqe>()
      .set(nvme::rw_sqe::pract, true)
      .set(nvme::rw_sqe::prchk_guard, true)
      .set(nvme::rw_sqe::prchk_app, true)
      .set(nvme::rw_sqe::prchk_ref, true);
  const auto reply = scene.io.send(read, data.size()).wait();
  if (check.success(reply, "Read with PRINFO of ones")) check.bytes("blocks", reply.data, data);
}

}  // namespace fb::conformance
