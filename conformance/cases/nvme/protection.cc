// Protection information: what is inserted, stripped, passed on, and checked on the way in.
#include "conformance/cases/nvme/protection_scene.h"

namespace fb::conformance {

namespace {

constexpr std::uint64_t kLba = 72;
constexpr std::uint32_t kCount = 4;
constexpr Prinfo kInsert{.act = true};

/// A Write of blocks in which one tag is not what the command says.
host::RawReply write_damaged(ProtectedScene& scene, const Prinfo& info, std::size_t index, void (*damage)(nvme::ProtectionTuple&)) {
  const ProtectionTags tags = scene.tags_at(kLba, 0x1234);
  Bytes data = scene.whole(0x21, scene.count(kCount), tags);
  auto tuple = nvme::read_tuple(scene.layout, scene.block(data, index));
  damage(tuple);
  nvme::write_tuple(scene.layout, scene.block(data, index), tuple.guard, tuple.tags);
  return scene.write(kLba, data, info, tags);
}

}  // namespace

CONFORMANCE_CASE(metadata_is_interleaved, "nvme.metadata.interleaved", roles::controller, protected_namespaces,
                 needs(has_layout<&any_metadata>)) {
  ProtectedScene scene(bench, &any_metadata);
  for (const host::NamespaceFacts& facts : bench.declared().namespaces) {
    if (facts.layout.metadata_bytes == 0) continue;
    const auto reply = scene.association.admin().send(host::identify(nvme::Cns::identify_namespace, facts.nsid), 4096).wait();
    check.precondition_success(reply, "Identify Namespace");
    const View<nvme::IdentifyNamespace> id{reply.data};
    check.that(id.get(nvme::id_ns::flbas_extended), "FLBAS bit 4 is set", "it is clear");
    check.that((id.get(nvme::id_ns::mc) & nvme::mc_bits::extended) != 0, "MC bit 0 is set", "it is clear");
  }
}

CONFORMANCE_CASE(metadata_is_kept, "nvme.metadata.kept", roles::controller, protected_namespaces,
                 needs(has_layout<&unprotected_metadata>)) {
  ProtectedScene scene(bench, &unprotected_metadata);
  const Bytes data = pattern(0x31, scene.count(kCount), scene.layout.bytes());
  if (!check.success(scene.write(kLba, data, {}, {}), "Write")) return;
  const auto reply = scene.read(kLba, scene.count(kCount), {}, {});
  if (check.success(reply, "Read")) check.bytes("blocks with metadata", reply.data, data);
}

CONFORMANCE_CASE(protection_inserts_guards, "nvme.protection.insert.guard", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const Bytes data = pattern(0x32, scene.count(kCount), scene.layout.data_bytes);
  if (!check.success(scene.write(kLba, data, kInsert, scene.tags_at(kLba)), "Write with PRACT")) return;
  const Bytes medium = scene.look(check, kLba, scene.count(kCount));
  for (std::size_t i = 0; i < scene.count(kCount); ++i) {
    const ByteView block = scene.block(medium, i);
    check.bytes("data", block.first(scene.layout.data_bytes), ByteView{data}.subspan(i * scene.layout.data_bytes, scene.layout.data_bytes));
    check.equal("guard", nvme::read_tuple(scene.layout, block).guard, nvme::guard_of(scene.layout, block));
  }
}

CONFORMANCE_CASE(protection_inserts_the_application_tag, "nvme.protection.insert.application", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const Bytes data = pattern(0x33, scene.count(kCount), scene.layout.data_bytes);
  const auto reply = scene.write(kLba, data, kInsert, scene.tags_at(kLba, 0x4711));
  if (check.success(reply, "Write with PRACT")) {
    has_tags(check, scene, scene.look(check, kLba, scene.count(kCount)), scene.tags_at(kLba, 0x4711));
  }
}

CONFORMANCE_CASE(protection_inserts_reference_tags_that_count, "nvme.protection.insert.reference", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const Bytes data = pattern(0x34, scene.count(kCount), scene.layout.data_bytes);
  const auto reply = scene.write(kLba, data, kInsert, scene.tags_at(kLba));
  if (check.success(reply, "Write with PRACT")) {
    has_tags(check, scene, scene.look(check, kLba, scene.count(kCount)), scene.tags_at(kLba));
  }
}

CONFORMANCE_CASE(protection_type_2_begins_anywhere, "nvme.protection.insert.reference", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<2>>)) {
  ProtectedScene scene(bench, &alone<2>);
  const Bytes data = pattern(0x35, scene.count(kCount), scene.layout.data_bytes);
  const ProtectionTags tags{.application = 3, .reference = 0x00C0FFEE};
  const auto reply = scene.write(kLba, data, kInsert, tags);
  if (check.success(reply, "Write with PRACT")) has_tags(check, scene, scene.look(check, kLba, scene.count(kCount)), tags);
}

CONFORMANCE_CASE(protection_reference_tags_roll_over, "nvme.protection.insert.rollover", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<2>>)) {
  ProtectedScene scene(bench, &alone<2>);
  const ProtectionTags tags{.reference = 0xFFFFFFFE};
  const Bytes data = pattern(0x36, scene.count(kCount), scene.layout.data_bytes);
  if (!check.success(scene.write(kLba, data, kInsert, tags), "Write with PRACT")) return;
  has_tags(check, scene, scene.look(check, kLba, scene.count(kCount)), tags);
  check.success(scene.read(kLba, scene.count(kCount), {.guard = true, .reference = true}, tags), "Read with checks");
}

CONFORMANCE_CASE(protection_insertion_checks_nothing, "nvme.protection.insert.unchecked", roles::controller, protected_namespaces,
                 needs(has_layout<&beside>)) {
  ProtectedScene scene(bench, &beside);
  const ProtectionTags tags = scene.tags_at(kLba, 0x0815);
  Bytes data = scene.whole(0x37, scene.count(kCount), tags);
  for (std::size_t i = 0; i < scene.count(kCount); ++i) {
    nvme::write_tuple(scene.layout, scene.block(data, i), 0xDEAD, {.application = 1, .reference = 99});
  }
  const Prinfo info{.act = true, .guard = true, .application = true, .reference = true};
  if (!check.success(scene.write(kLba, data, info, tags), "Write with PRACT and checks")) return;
  has_tags(check, scene, scene.look(check, kLba, scene.count(kCount)), tags);
}

CONFORMANCE_CASE(protection_keeps_metadata_beside_it, "nvme.protection.insert.beside", roles::controller, protected_namespaces,
                 needs(has_layout<&beside>)) {
  ProtectedScene scene(bench, &beside);
  const ProtectionTags tags = scene.tags_at(kLba, 5);
  const Bytes data = pattern(0x38, scene.count(kCount), scene.layout.bytes());
  if (!check.success(scene.write(kLba, data, kInsert, tags), "Write with PRACT")) return;
  const Bytes medium = scene.look(check, kLba, scene.count(kCount));
  has_tags(check, scene, medium, tags);
  for (std::size_t i = 0; i < scene.count(kCount); ++i) {
    check.bytes("data and metadata before the tags", scene.block(medium, i).first(scene.layout.tuple_at()),
                scene.block(data, i).first(scene.layout.tuple_at()));
  }
  const auto passed = scene.read(kLba, scene.count(kCount), {.act = true, .guard = true}, tags);
  if (check.success(passed, "Read with PRACT")) check.bytes("whole blocks", passed.data, medium);
}

CONFORMANCE_CASE(protection_stands_first, "nvme.protection.first", roles::controller, protected_namespaces, needs(has_layout<&in_front>)) {
  ProtectedScene scene(bench, &in_front);
  const ProtectionTags tags = scene.tags_at(kLba, 6);
  const Bytes data = pattern(0x39, scene.count(kCount), scene.layout.bytes());
  if (!check.success(scene.write(kLba, data, kInsert, tags), "Write with PRACT")) return;
  const Bytes medium = scene.look(check, kLba, scene.count(kCount));
  has_tags(check, scene, medium, tags);
  const std::size_t behind = scene.layout.tuple_at() + scene.layout.tuple_bytes();
  check.bytes("metadata behind the tags", scene.block(medium, 1).subspan(behind), scene.block(data, 1).subspan(behind));
}

CONFORMANCE_CASE(protection_is_stripped, "nvme.protection.strip", roles::controller, protected_namespaces, needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const ProtectionTags tags = scene.tags_at(kLba, 7);
  const Bytes whole = scene.whole(0x3A, scene.count(kCount), tags);
  scene.plant(check, kLba, whole);
  const auto reply = scene.read(kLba, scene.count(kCount), {.act = true, .guard = true, .application = true, .reference = true}, tags);
  if (!check.success(reply, "Read with PRACT")) return;
  for (std::size_t i = 0; i < scene.count(kCount); ++i) {
    check.bytes("data of block " + std::to_string(i), ByteView{reply.data}.subspan(i * scene.layout.data_bytes, scene.layout.data_bytes),
                scene.block(whole, i).first(scene.layout.data_bytes));
  }
}

CONFORMANCE_CASE(protection_is_checked_before_it_is_stripped, "nvme.protection.strip.checks", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const ProtectionTags tags = scene.tags_at(kLba, 8);
  Bytes whole = scene.whole(0x3B, scene.count(kCount), tags);
  scene.block(whole, 2)[5] ^= 1;
  scene.plant(check, kLba, whole);
  check.status(scene.read(kLba, scene.count(kCount), {.act = true, .guard = true}, tags), sc::guard_check_error, "a wrong guard");
  check.status(scene.read(kLba, 2, {.act = true, .application = true}, scene.tags_at(kLba, 9)), sc::application_tag_check_error,
               "another application tag");
}

CONFORMANCE_CASE(protection_is_passed_on, "nvme.protection.pass", roles::controller, protected_namespaces, needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  ProtectionTags tags = scene.tags_at(kLba, 0xABCD);
  const Bytes whole = scene.whole(0x3C, scene.count(kCount), tags);
  // The command's own application tag is another one: it says what to look for, not what to store.
  tags.application = 0;
  tags.application_mask = 0;
  if (!check.success(scene.write(kLba, whole, kAllChecks, tags), "Write of good tags")) return;
  const auto reply = scene.read(kLba, scene.count(kCount), kAllChecks, tags);
  if (check.success(reply, "Read with checks")) check.bytes("blocks with tags", reply.data, whole);
}

CONFORMANCE_CASE(protection_write_checks_the_guard, "nvme.protection.write.guard", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const auto spoil = [](nvme::ProtectionTuple& tuple) { tuple.guard ^= 0x8000; };
  check.status(write_damaged(scene, {.guard = true}, 2, spoil), sc::guard_check_error, "a wrong guard");
}

CONFORMANCE_CASE(protection_write_checks_the_application_tag, "nvme.protection.write.application", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const auto spoil = [](nvme::ProtectionTuple& tuple) { tuple.tags.application ^= 1; };
  check.status(write_damaged(scene, {.application = true}, 1, spoil), sc::application_tag_check_error, "another application tag");
}

CONFORMANCE_CASE(protection_write_checks_reference_tags, "nvme.protection.write.reference", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const auto spoil = [](nvme::ProtectionTuple& tuple) { ++tuple.tags.reference; };
  check.status(write_damaged(scene, {.reference = true}, 0, spoil), sc::reference_tag_check_error, "the first block");
  check.status(write_damaged(scene, {.reference = true}, 3, spoil), sc::reference_tag_check_error, "the last block");
}

CONFORMANCE_CASE(protection_write_checks_only_what_is_asked, "nvme.protection.write.unchecked", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  const auto spoil_all = [](nvme::ProtectionTuple& tuple) {
    tuple.guard ^= 1;
    tuple.tags.application ^= 1;
    ++tuple.tags.reference;
  };
  check.success(write_damaged(scene, {}, 1, spoil_all), "no check");
  const auto guard = [](nvme::ProtectionTuple& tuple) { tuple.guard ^= 1; };
  check.success(write_damaged(scene, {.application = true, .reference = true}, 1, guard), "checks of the tags alone");
}

CONFORMANCE_CASE(protection_compares_the_tag_under_its_mask, "nvme.protection.mask", roles::controller, protected_namespaces,
                 needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  ProtectionTags tags = scene.tags_at(kLba, 0x12FF);
  scene.plant(check, kLba, scene.whole(0x3D, scene.count(kCount), tags));
  tags.application = 0x1200;
  tags.application_mask = 0xFF00;
  check.success(scene.read(kLba, scene.count(kCount), {.application = true}, tags), "a difference beside the mask");
  tags.application_mask = 0xFF01;
  check.status(scene.read(kLba, scene.count(kCount), {.application = true}, tags), sc::application_tag_check_error,
               "a difference within the mask");
}

}  // namespace fb::conformance
