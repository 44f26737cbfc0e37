// Copy.
#include "conformance/cases/nvme/copy_scene.h"
#include "conformance/runner/arranger.h"

namespace fb::conformance {

namespace {

bool plain(const BlockLayout& layout) { return layout.metadata_bytes == 0 && layout.data_bytes == 512; }

}  // namespace

CONFORMANCE_CASE(copy_has_limits, "nvme.copy.limits", roles::controller, needs(has_namespace), copies) {
  IoScene scene(bench);
  const auto reply = scene.association.admin().send(host::identify(nvme::Cns::identify_namespace, scene.nsid), 4096).wait();
  check.precondition_success(reply, "Identify Namespace");
  const View<nvme::IdentifyNamespace> id{reply.data};
  check.that(id.get(nvme::id_ns::mssrl) != 0, "MSSRL is not 0", "it is");
  check.that(id.get(nvme::id_ns::mcl) != 0, "MCL is not 0", "it is");
  const auto controller = scene.association.admin().send(host::identify(nvme::Cns::controller), 4096).wait();
  check.precondition_success(controller, "Identify Controller");
  const auto formats = View<nvme::IdentifyController>{controller.data}.get(nvme::id_ctrl::cdfs);
  check.that(formats != 0, "CDFS names a descriptor format", "it is 0");
}

CONFORMANCE_CASE(copy_writes_the_source, "nvme.copy.data", roles::controller, needs(has_namespace), copies, needs(has_copy_format<0>)) {
  CopyScene scene(bench, check);
  const Bytes data = scene.prepare(check, kFrom, 0x71, kCount);
  scene.prepare(check, kTo, 0x72, kCount);
  if (!check.success(scene.copy_to(kTo, {{.slba = kFrom, .blocks = kCount}}), "Copy")) return;
  const auto reply = scene.read(kTo, kCount);
  if (check.success(reply, "Read")) check.bytes("the destination", reply.data, data);
}

CONFORMANCE_CASE(copy_keeps_the_order_of_ranges, "nvme.copy.order", roles::controller, needs(has_namespace), copies,
                 needs(has_copy_format<0>)) {
  CopyScene scene(bench, check);
  if (scene.ranges < 2) throw CannotArrange{"the product copies one range at once"};
  const Bytes high = scene.prepare(check, kFrom + 100, 0x73, 2);
  const Bytes low = scene.prepare(check, kFrom, 0x74, 3);
  if (!check.success(scene.copy_to(kTo, {{.slba = kFrom + 100, .blocks = 2}, {.slba = kFrom, .blocks = 3}}), "Copy")) {
    return;
  }
  const auto reply = scene.read(kTo, 5);
  if (!check.success(reply, "Read")) return;
  check.bytes("range 0", ByteView{reply.data}.first(high.size()), high);
  check.bytes("range 1", ByteView{reply.data}.subspan(high.size()), low);
  // Many ranges of one block each, the last block first.
  const std::uint64_t most = bench.declared().transfer_max();
  const std::uint64_t fits = most == 0 ? 64 : most / scene.block_bytes;
  const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>({64, scene.ranges, scene.total_blocks, fits}));
  const Bytes blocks = scene.prepare(check, kFrom, 0x75, count);
  std::vector<CopySource> sources;
  Bytes expected;
  for (std::uint32_t i = count; i-- > 0;) {
    sources.push_back({.slba = kFrom + i, .blocks = 1});
    const ByteView block = scene.block(blocks, i);
    expected.insert(expected.end(), block.begin(), block.end());
  }
  if (!check.success(scene.copy_to(kTo, sources), "Copy of " + std::to_string(count) + " ranges")) return;
  const auto copied = scene.read(kTo, count);
  if (check.success(copied, "Read")) check.bytes("the blocks of all ranges", copied.data, expected);
}

CONFORMANCE_CASE(copy_leaves_the_rest, "nvme.copy.source", roles::controller, needs(has_namespace), copies, needs(has_copy_format<0>)) {
  CopyScene scene(bench, check);
  const Bytes source = scene.prepare(check, kFrom, 0x75, kCount);
  const Bytes around = scene.prepare(check, kTo - 1, 0x76, kCount + 2);
  if (!check.success(scene.copy_to(kTo, {{.slba = kFrom, .blocks = kCount}}), "Copy")) return;
  check.bytes("the source", scene.read(kFrom, kCount).data, source);
  check.bytes("the block before", scene.read(kTo - 1, 1).data, scene.block(around, 0));
  check.bytes("the block behind", scene.read(kTo + kCount, 1).data, scene.block(around, kCount + 1));
}

CONFORMANCE_CASE(copy_counts_ranges, "nvme.copy.ranges", roles::controller, needs(has_namespace), copies, needs(has_copy_format<0>)) {
  CopyScene scene(bench, check);
  if (scene.ranges >= 128 || scene.total_blocks <= scene.ranges) throw CannotArrange{"as many ranges as can be said"};
  const std::vector<CopySource> many(scene.ranges + 1, {.slba = kFrom, .blocks = 1});
  check.status(scene.copy_to(kTo, many), sc::command_size_limit_exceeded, "a range too many");
  const std::vector<CopySource> most(scene.ranges, {.slba = kFrom, .blocks = 1});
  check.success(scene.copy_to(kTo, most), "as many as MSRC says");
}

CONFORMANCE_CASE(copy_bounds_a_range, "nvme.copy.range-length", roles::controller, needs(has_namespace), copies,
                 needs(has_copy_format<0>)) {
  CopyScene scene(bench, check);
  const std::uint32_t beyond = scene.range_blocks + 1;
  if (beyond > 65536 || 2 * beyond > scene.blocks) throw CannotArrange{"the namespace holds no such range"};
  check.status(scene.copy_to(beyond, {{.slba = 0, .blocks = beyond}}), sc::command_size_limit_exceeded, "a block more than MSSRL");
}

CONFORMANCE_CASE(copy_bounds_all_ranges, "nvme.copy.total", roles::controller, needs(has_namespace), copies, needs(has_copy_format<0>)) {
  CopyScene scene(bench, check);
  // One block more, not a whole range.
  const std::vector<CopySource> sources = ranges_of(scene, std::uint64_t{scene.total_blocks} + 1);
  check.status(scene.copy_to(scene.range_blocks, sources), sc::command_size_limit_exceeded, "more blocks than MCL");
}

CONFORMANCE_CASE(copy_source_ends_with_the_namespace, "nvme.copy.source-range", roles::controller, needs(has_namespace), copies,
                 needs(has_copy_format<0>)) {
  CopyScene scene(bench, check);
  check.status(scene.copy_to(kTo, {{.slba = scene.blocks - 1, .blocks = 2}}), sc::lba_out_of_range, "beyond the end");
  check.status(scene.copy_to(kTo, {{.slba = ~std::uint64_t{0}, .blocks = 2}}), sc::lba_out_of_range, "around the end");
}

CONFORMANCE_CASE(copy_destination_ends_with_the_namespace, "nvme.copy.destination-range", roles::controller, needs(has_namespace), copies,
                 needs(has_copy_format<0>)) {
  CopyScene scene(bench, check);
  check.status(scene.copy_to(scene.blocks - 1, {{.slba = kFrom, .blocks = 2}}), sc::lba_out_of_range, "beyond the end");
}

CONFORMANCE_CASE(copy_knows_its_formats, "nvme.copy.format", roles::controller, needs(has_namespace), copies) {
  CopyScene scene(bench, check);
  const unsigned formats = bench.declared().identify().get(nvme::id_ctrl::cdfs);
  for (unsigned format = 0; format < 16; ++format) {
    if ((formats >> format & 1) != 0) continue;
    auto sqe = host::as_sqe(host::copy(scene.nsid, scene.at(kTo), 1, format));
    // How long a range of a format is that nobody has defined, a product may find out first.
    constexpr unsigned kDefined = 4;
    const auto legal = format < kDefined ? one_of(sc::invalid_field) : one_of(sc::invalid_field, sc::data_sgl_length_invalid);
    check.status(scene.io.send(sqe, Bytes(nvme::copy_range_bytes(format))).wait(), legal, "format " + std::to_string(format));
  }
}

CONFORMANCE_CASE(copy_across_is_enabled_first, "nvme.copy.format.disabled", roles::controller, needs(has_namespace), copies,
                 copies_across) {
  CopyScene scene(bench, check);
  const std::vector<CopySource> sources{{.nsid = scene.nsid, .slba = kFrom, .blocks = 1}};
  check.status(scene.copy_to(kTo, sources, {.format = 2}), sc::invalid_field, "before CDFE");
  if (has_copy_format<3>(bench.declared())) return;
  // Each format has a bit of its own.
  Record<nvme::HostBehavior> behavior;
  behavior.set(nvme::host_behavior::cdfe, 0x8u);
  const auto enable = host::set_features(nvme::FeatureId::host_behavior_support, 0);
  check.precondition_success(scene.association.admin().send(enable, behavior.bytes()).wait(), "Set Features 16h, CDFE bit 3");
  check.status(scene.copy_to(kTo, sources, {.format = 2}), sc::invalid_field, "with CDFE bit 3 alone");
}

CONFORMANCE_CASE(copy_minds_write_protection, "nvme.copy.write-protected", roles::controller, arranges{{Request::write_protect}},
                 needs(has_namespace), copies) {
  CopyScene scene(bench, check);
  bench.arranger().write_protect(scene.nsid, true);
  check.status(scene.copy_to(kTo, {{.slba = kFrom, .blocks = 1}}), sc::namespace_write_protected, "Copy");
}

CONFORMANCE_CASE(copy_of_deallocated_blocks, "nvme.copy.deallocated", roles::controller, needs(has_namespace), copies,
                 needs(has_copy_format<0>), needs(claims_oncs<nvme::oncs_bits::dataset_management>)) {
  CopyScene scene(bench, check);
  scene.prepare(check, kFrom, 0x77, kCount);
  scene.prepare(check, kTo, 0x78, kCount);
  const auto range = host::dsm_range(scene.at(kFrom), kCount);
  check.precondition_success(scene.io.send(host::deallocate(scene.nsid, 1), range.bytes()).wait(), "Deallocate");
  if (!check.success(scene.copy_to(kTo, {{.slba = kFrom, .blocks = kCount}}), "Copy")) return;
  const auto source = scene.read(kFrom, kCount);
  check.precondition_success(source, "Read of the source");
  check.bytes("the destination", scene.read(kTo, kCount).data, source.data);
}

CONFORMANCE_CASE(copy_of_unreadable_blocks, "nvme.copy.uncorrectable", roles::controller, needs(has_namespace), copies,
                 needs(has_copy_format<0>), needs(claims_oncs<nvme::oncs_bits::write_uncorrectable>)) {
  CopyScene scene(bench, check);
  scene.prepare(check, kFrom, 0x79, kCount);
  check.precondition_success(scene.io.send(host::write_uncorrectable(scene.nsid, scene.at(kFrom + 1), 1)).wait(), "Write Uncorrectable");
  check.status(scene.copy_to(kTo, {{.slba = kFrom, .blocks = kCount}}), sc::unrecovered_read_error, "Copy");
  scene.prepare(check, kFrom, 0x79, kCount);
}

CONFORMANCE_CASE(copy_says_how_far_it_came, "nvme.copy.progress", roles::controller, needs(has_namespace), copies,
                 needs(has_copy_format<0>)) {
  CopyScene scene(bench, check);
  if (scene.ranges < 2) throw CannotArrange{"the product copies one range at once"};
  const Bytes data = scene.prepare(check, kFrom, 0x7A, 2);
  scene.prepare(check, kTo, 0x7B, 4);
  const auto reply = scene.copy_to(kTo, {{.slba = kFrom, .blocks = 2}, {.slba = scene.blocks - 1, .blocks = 2}});
  if (!check.refused(reply, "Copy with a range beyond the end")) return;
  check.between("Dword 0", reply.dw0(), 0u, 1u);
  if (reply.dw0() == 1) check.bytes("range 0", scene.read(kTo, 2).data, data);
}

CONFORMANCE_CASE(copy_takes_another_namespace, "nvme.copy.across", roles::controller, more_namespaces, copies, copies_across,
                 needs(has_another_like_the_first)) {
  CopyScene scene(bench, check);
  scene.enable_across();
  const std::uint32_t other = second_of(bench);
  const Bytes data = pattern(0x7C, kCount, scene.block_bytes);
  check.precondition_success(scene.io.send(host::write(other, kFrom, kCount), data).wait(), "Write");
  scene.prepare(check, kTo, 0x7D, kCount);
  const std::vector<CopySource> sources{{.nsid = other, .slba = kFrom, .blocks = kCount}};
  if (!check.success(scene.copy_to(kTo, sources, {.format = 2}), "Copy")) return;
  check.bytes("the destination", scene.read(kTo, kCount).data, data);
  // Of several ranges each is of the namespace that it names.
  if (scene.ranges < 2) return;
  const Bytes own = scene.prepare(check, kFrom + kCount, 0x7E, kCount);
  const std::vector<CopySource> both{{.nsid = scene.nsid, .slba = kFrom + kCount, .blocks = kCount},
                                     {.nsid = other, .slba = kFrom, .blocks = kCount}};
  if (!check.success(scene.copy_to(kTo, both, {.format = 2}), "Copy from both namespaces")) return;
  check.bytes("the range of this namespace", scene.read(kTo, kCount).data, own);
  check.bytes("the range of the other namespace", scene.read(kTo + kCount, kCount).data, data);
}

CONFORMANCE_CASE(copy_from_no_namespace, "nvme.copy.across.invalid", roles::controller, needs(has_namespace), copies, copies_across) {
  CopyScene scene(bench, check);
  scene.enable_across();
  for (const std::uint32_t nsid : {0u, 0xFFFFFFFFu}) {
    check.status(scene.copy_to(kTo, {{.nsid = nsid, .slba = kFrom, .blocks = 1}}, {.format = 2}), sc::invalid_namespace_or_format,
                 "NSID " + std::to_string(nsid));
  }
}

CONFORMANCE_CASE(copy_from_an_inactive_namespace, "nvme.copy.across.inactive", roles::controller, needs(has_namespace), copies,
                 copies_across) {
  CopyScene scene(bench, check);
  scene.enable_across();
  const auto list = scene.association.admin().send(host::identify(nvme::Cns::active_namespace_list), 4096).wait();
  check.precondition_success(list, "the list of active namespaces");
  const std::uint32_t inactive = lowest_inactive(list.data);
  if (inactive > bench.declared().identify().get(nvme::id_ctrl::nn)) throw CannotArrange{"all NSIDs are active"};
  check.status(scene.copy_to(kTo, {{.nsid = inactive, .slba = kFrom, .blocks = 1}}, {.format = 2}), sc::invalid_field, "an inactive NSID");
}

CONFORMANCE_CASE(copy_onto_itself, "nvme.copy.across.overlap", roles::controller, needs(has_namespace), copies, copies_across) {
  CopyScene scene(bench, check);
  scene.enable_across();
  check.status(scene.copy_to(kFrom + 2, {{.nsid = scene.nsid, .slba = kFrom, .blocks = kCount}}, {.format = 2}), sc::overlapping_io_range,
               "two blocks in common");
  check.status(scene.copy_to(kFrom, {{.nsid = scene.nsid, .slba = kFrom + 2, .blocks = kCount}}, {.format = 2}), sc::overlapping_io_range,
               "two blocks in common, the source behind");
  if (scene.ranges >= 2) {
    const std::vector<CopySource> second{{.nsid = scene.nsid, .slba = kFrom + 200, .blocks = 1},
                                         {.nsid = scene.nsid, .slba = kFrom + 1, .blocks = 1}};
    check.status(scene.copy_to(kFrom, second, {.format = 2}), sc::overlapping_io_range, "the second of two sources in the destination");
  }
  check.success(scene.copy_to(kFrom + kCount, {{.nsid = scene.nsid, .slba = kFrom, .blocks = kCount}}, {.format = 2}),
                "Copy of a source that ends where the destination begins");
  check.success(scene.copy_to(kFrom, {{.nsid = scene.nsid, .slba = kFrom + kCount, .blocks = kCount}}, {.format = 2}),
                "Copy of a source that begins where the destination ends");
}

CONFORMANCE_CASE(copy_of_other_blocks, "nvme.copy.across.incompatible", roles::controller, more_namespaces, copies, copies_across,
                 needs(has_layout<&unprotected_metadata>)) {
  CopyScene scene(bench, check);
  scene.enable_across();
  const host::NamespaceFacts* const other = find_namespace(bench.declared(), &unprotected_metadata);
  if (other == nullptr || other->layout == scene.layout) throw CannotArrange{"all namespaces have the same blocks"};
  check.status(scene.copy_to(kTo, {{.nsid = other->nsid, .slba = kFrom, .blocks = 1}}, {.format = 2}), sc::incompatible_namespace_or_format,
               "blocks with metadata");
}

CONFORMANCE_CASE(copy_passes_tags_on, "nvme.copy.protection.pass", roles::controller, protected_namespaces, copies,
                 needs(has_copy_format<0>), needs(has_layout<&alone<2>>)) {
  ProtectedScene scene(bench, &alone<2>);
  const ProtectionTags tags{.application = 0x77, .reference = 1000};
  const Bytes whole = scene.whole(0x81, kCount, tags);
  scene.plant(check, kFrom, whole);
  const std::vector<CopySource> sources{{.slba = kFrom, .blocks = kCount, .tags = tags}};
  // Another application tag for the write, which is not to be looked at: it must not be stored either.
  const ProtectionTags written{.application = 0x11, .application_mask = 0, .reference = 1000};
  const CopyOrder order{.read = kAllChecks, .write = kAllChecks, .tags = written};
  if (!check.success(copy(scene.io, scene.nsid, scene.layout, kTo, sources, order), "Copy")) return;
  check.bytes("the destination with its tags", scene.look(check, kTo, kCount), whole);
}

CONFORMANCE_CASE(copy_replaces_tags, "nvme.copy.protection.replace", roles::controller, protected_namespaces, copies,
                 needs(has_copy_format<0>), needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  scene.plant(check, kFrom, scene.whole(0x82, kCount, scene.tags_at(kFrom, 1)));
  const std::vector<CopySource> sources{{.slba = kFrom, .blocks = kCount, .tags = scene.tags_at(kFrom, 1)}};
  const CopyOrder order{.read = {.act = true, .guard = true}, .write = {.act = true}, .tags = scene.tags_at(kTo, 0x99)};
  if (!check.success(copy(scene.io, scene.nsid, scene.layout, kTo, sources, order), "Copy")) return;
  has_tags(check, scene, scene.look(check, kTo, kCount), scene.tags_at(kTo, 0x99));
}

CONFORMANCE_CASE(copy_checks_the_source, "nvme.copy.protection.checks", roles::controller, protected_namespaces, copies,
                 needs(has_copy_format<0>), needs(has_layout<&alone<1>>)) {
  for (const LayoutPredicate fits : {&alone<1>, &guarded<ProtectionFormat::guard_32>, &guarded<ProtectionFormat::guard_64>}) {
    const host::NamespaceFacts* const facts = find_namespace(bench.declared(), fits);
    if (facts == nullptr) continue;
    // Sources with wide guards have a descriptor format of their own.
    const bool wide = facts->layout.guard != ProtectionFormat::guard_16;
    if (wide && has_copy_format<1>(bench.declared())) continue;
    bench.step("another kind of guard");
    ProtectedScene scene(bench, fits);
    const std::string kind = wide ? " of a wide guard" : "";
    const auto read = [&](const Prinfo& info, const ProtectionTags& tags) {
      const std::vector<CopySource> sources{{.slba = kFrom, .blocks = kCount, .tags = tags}};
      Prinfo acting = info;
      acting.act = true;
      const CopyOrder order{.format = wide ? 1u : 0u, .read = acting, .write = {.act = true}, .tags = scene.tags_at(kTo)};
      return copy(scene.io, scene.nsid, scene.layout, kTo, sources, order);
    };
    const ProtectionTags right = scene.tags_at(kFrom, 1);
    Bytes whole = scene.whole(0x83, kCount, right);
    scene.plant(check, kFrom, whole);
    check.success(read(kAllChecks, right), "the right tags" + kind);
    check.status(read({.application = true}, scene.tags_at(kFrom, 2)), sc::application_tag_check_error, "another application tag" + kind);
    ProtectionTags other = right;
    ++other.reference;
    check.refused(read({.reference = true}, other), "another reference tag" + kind);
    scene.block(whole, 3)[7] ^= 2;
    scene.plant(check, kFrom, whole);
    check.status(read({.guard = true}, right), sc::guard_check_error, "a wrong guard" + kind);
    const auto identified = scene.association.admin().send(host::identify(nvme::Cns::identify_namespace, scene.nsid), 4096).wait();
    check.precondition_success(identified, "Identify Namespace");
    if (View<nvme::IdentifyNamespace>{identified.data}.get(nvme::id_ns::msrc).count() < 2) continue;  // one range at once
    // Of the second of two ranges.
    const std::vector<CopySource> sources{{.slba = kFrom, .blocks = 1, .tags = right},
                                          {.slba = kFrom + 1, .blocks = kCount - 1, .tags = scene.tags_at(kFrom + 1, 1)}};
    const CopyOrder order{
        .format = wide ? 1u : 0u, .read = {.act = true, .guard = true}, .write = {.act = true}, .tags = scene.tags_at(kTo)};
    check.status(copy(scene.io, scene.nsid, scene.layout, kTo, sources, order), sc::guard_check_error,
                 "a wrong guard in the second of two ranges" + kind);
  }
}

CONFORMANCE_CASE(copy_acts_on_both_sides, "nvme.copy.protection.differs", roles::controller, protected_namespaces, copies,
                 needs(has_copy_format<0>), needs(has_layout<&alone<1>>)) {
  ProtectedScene scene(bench, &alone<1>);
  scene.plant(check, kFrom, scene.whole(0x84, kCount, scene.tags_at(kFrom)));
  const std::vector<CopySource> sources{{.slba = kFrom, .blocks = kCount}};
  const auto tags = scene.tags_at(kTo);
  check.status(copy(scene.io, scene.nsid, scene.layout, kTo, sources, {.read = {.act = true}, .tags = tags}), sc::invalid_field,
               "PRACT of the read alone");
  check.status(copy(scene.io, scene.nsid, scene.layout, kTo, sources, {.write = {.act = true}, .tags = tags}), sc::invalid_field,
               "PRACT of the write alone");
}

CONFORMANCE_CASE(copy_inserts_tags, "nvme.copy.protection.insert", roles::controller, more_namespaces, copies, copies_across,
                 needs(has_layout<&alone<1>>), needs(has_layout<&plain>)) {
  ProtectedScene scene(bench, &alone<1>);
  CopyScene first(bench, check);
  first.enable_across();
  const host::NamespaceFacts* const from = find_namespace(bench.declared(), &plain);
  if (from == nullptr || from->layout.data_bytes != scene.layout.data_bytes) throw CannotArrange{"other block sizes"};
  const Bytes data = pattern(0x85, kCount, 512);
  check.precondition_success(first.io.send(host::write(from->nsid, kFrom, kCount), data).wait(), "Write");
  const std::vector<CopySource> sources{{.nsid = from->nsid, .slba = kFrom, .blocks = kCount}};
  const CopyOrder order{.format = 2, .write = {.act = true}, .tags = scene.tags_at(kTo, 0x5F)};
  if (!check.success(copy(first.io, scene.nsid, scene.layout, kTo, sources, order), "Copy")) return;
  const Bytes medium = scene.look(check, kTo, kCount);
  check.bytes("data", scene.block(medium, 1).first(512), ByteView{data}.subspan(512, 512));
  has_tags(check, scene, medium, scene.tags_at(kTo, 0x5F));
}

CONFORMANCE_CASE(copy_strips_tags, "nvme.copy.protection.strip", roles::controller, more_namespaces, copies, copies_across,
                 needs(has_layout<&alone<1>>), needs(has_layout<&plain>)) {
  ProtectedScene scene(bench, &alone<1>);
  CopyScene first(bench, check);
  first.enable_across();
  const host::NamespaceFacts* const to = find_namespace(bench.declared(), &plain);
  if (to == nullptr || to->layout.data_bytes != scene.layout.data_bytes) throw CannotArrange{"other block sizes"};
  const ProtectionTags tags = scene.tags_at(kFrom, 3);
  const Bytes whole = scene.whole(0x86, kCount, tags);
  scene.plant(check, kFrom, whole);
  const std::vector<CopySource> sources{{.nsid = scene.nsid, .slba = kFrom, .blocks = kCount, .tags = tags}};
  const CopyOrder order{.format = 2, .read = {.act = true, .guard = true}};
  const auto reply = copy(first.io, to->nsid, to->layout, kTo, sources, order, &scene.layout);
  if (!check.success(reply, "Copy")) return;
  const auto read = first.io.send(host::read(to->nsid, kTo, kCount), kCount * 512).wait();
  check.precondition_success(read, "Read");
  for (std::size_t i = 0; i < kCount; ++i) {
    check.bytes("data of block " + std::to_string(i), ByteView{read.data}.subspan(i * 512, 512), scene.block(whole, i).first(512));
  }
}

CONFORMANCE_CASE(copy_format_has_room_for_tags, "nvme.copy.protection.format", roles::controller, protected_namespaces, copies,
                 needs(has_copy_format<0>), needs(has_copy_format<1>), needs(has_layout<&guarded<ProtectionFormat::guard_64>>)) {
  ProtectedScene scene(bench, &guarded<ProtectionFormat::guard_64>);
  scene.plant(check, kFrom, scene.whole(0x87, kCount, scene.tags_at(kFrom)));
  const std::vector<CopySource> sources{{.slba = kFrom, .blocks = kCount, .tags = scene.tags_at(kFrom)}};
  const CopyOrder narrow{.read = {.act = true}, .write = {.act = true}, .tags = scene.tags_at(kTo)};
  check.status(copy(scene.io, scene.nsid, scene.layout, kTo, sources, narrow), sc::invalid_namespace_or_format, "format 0h");
  const CopyOrder wide{
      .format = 1, .read = {.act = true, .guard = true, .reference = true}, .write = {.act = true}, .tags = scene.tags_at(kTo, 0x44)};
  if (!check.success(copy(scene.io, scene.nsid, scene.layout, kTo, sources, wide), "format 1h")) return;
  has_tags(check, scene, scene.look(check, kTo, kCount), scene.tags_at(kTo, 0x44));
}

}  // namespace fb::conformance
