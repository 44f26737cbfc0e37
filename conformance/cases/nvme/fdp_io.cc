// Flexible Data Placement: where writes go, I/O Management Receive and Send, and the statistics.
#include <fmt/format.h>

#include "conformance/cases/nvme/fdp_scene.h"

namespace fb::conformance {

namespace {

namespace st = nvme::fdp_statistics;

/// Blocks that fit into the unit of a handle in all reclaim groups together.
std::uint64_t left_of(FdpScene& scene, std::uint32_t nsid, unsigned handle) {
  std::uint64_t blocks = 0;
  for (const nvme::HandleStatus& one : scene.statuses(nsid)) {
    if (nvme::placement_handle_of(one.id, scene.configuration.group_bits) == handle) blocks += one.blocks_left;
  }
  return blocks;
}
/// The units of the namespace are empty, or at least have room: what is written there shows.
void need_room(FdpScene& scene, Check& check, std::uint32_t nsid, std::uint64_t blocks) {
  for (const nvme::HandleStatus& one : scene.statuses(nsid)) {
    check.precondition(one.blocks_left > blocks, "the reclaim units have room for the writes of the case");
  }
}

/// A Write of eight blocks to a namespace with two placement handles: it is in the unit of `handle`, and not in the other's.
void expect_write_in(FdpScene& scene, Check& check, std::uint32_t nsid, std::optional<std::uint16_t> id, unsigned handle) {
  need_room(scene, check, nsid, 8);
  const std::uint64_t room[] = {left_of(scene, nsid, 0), left_of(scene, nsid, 1)};
  scene.written(nsid, 0, 8, id);
  check.equal(fmt::format("room of placement handle {} after a Write of 8 blocks", handle), left_of(scene, nsid, handle), room[handle] - 8);
  check.equal(fmt::format("room of placement handle {}", 1 - handle), left_of(scene, nsid, 1 - handle), room[1 - handle]);
}

}  // namespace

// ---- writes ----

CONFORMANCE_CASE(fdp_write_goes_to_its_handle, "nvme.fdp.write.handle", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  (void)scene.group(2);
  const std::uint32_t nsid = scene.made({0, 1});
  scene.directed(nsid);
  expect_write_in(scene, check, nsid, scene.id(0, 1), 1);
}

CONFORMANCE_CASE(fdp_write_goes_to_its_reclaim_group, "nvme.fdp.write.group", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  (void)scene.group();
  check.precondition(scene.configuration.reclaim_groups > 1, "there are several reclaim groups");
  const std::uint32_t nsid = scene.made({0});
  scene.directed(nsid);
  need_room(scene, check, nsid, 8);
  const unsigned last = scene.configuration.reclaim_groups - 1;
  const std::uint64_t before = scene.left(nsid, scene.id(last, 0)), other = scene.left(nsid, scene.id(0, 0));
  scene.written(nsid, 0, 8, scene.id(last, 0));
  check.equal("room in the last reclaim group after a Write of 8 blocks", scene.left(nsid, scene.id(last, 0)), before - 8);
  check.equal("room in reclaim group 0", scene.left(nsid, scene.id(0, 0)), other);
}

CONFORMANCE_CASE(fdp_undirected_write_goes_to_handle_zero, "nvme.fdp.write.undirected", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  (void)scene.group(2);
  const std::uint32_t nsid = scene.made({1, 0});
  scene.directed(nsid);
  expect_write_in(scene, check, nsid, {}, 0);
}

CONFORMANCE_CASE(fdp_identifier_counts_with_the_directive_alone, "nvme.fdp.write.disabled", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  (void)scene.group(2);
  const std::uint32_t nsid = scene.made({0, 1});
  check.precondition(!scene.directive_bit(nsid, nvme::directive_parameters::enabled.offset), "the directive is disabled");
  expect_write_in(scene, check, nsid, scene.id(0, 1), 0);
}

CONFORMANCE_CASE(fdp_invalid_identifier_is_no_error, "nvme.fdp.write.invalid", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  (void)scene.group(2);
  const std::uint32_t nsid = scene.made({0, 1});
  scene.directed(nsid);
  check.success(scene.write(nsid, 0, 8, scene.invalid_handle(2)), "Write with a placement handle that the namespace does not have");
}

CONFORMANCE_CASE(fdp_invalid_identifier_loses_nothing, "nvme.fdp.write.invalid.data", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  (void)scene.group(2);
  const std::uint32_t nsid = scene.made({0, 1});
  scene.directed(nsid);
  scene.written(nsid, 0, 8, scene.id(0, 1));
  check.precondition_success(scene.write(nsid, 0, 8, scene.invalid_handle(2), 0x77), "Write with an invalid placement identifier");
  const auto reply = scene.manager.read(nsid, 0, 8);
  check.require_success(reply, "Read");
  check.bytes("data of the Write", reply.data, pattern(0x77, 8, kFirstBlockBytes));
}

// ---- I/O Management Receive ----

CONFORMANCE_CASE(fdp_status_has_every_reclaim_group, "nvme.fdp.status.groups", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  std::vector<unsigned> groups;
  for (const nvme::HandleStatus& one : scene.statuses(nsid))
    groups.push_back(nvme::reclaim_group_of(one.id, scene.configuration.group_bits));
  check.precondition(scene.configuration.reclaim_groups <= 64, "the status has room");
  check.equal("descriptors of a namespace with one placement handle", groups.size(), std::size_t{scene.configuration.reclaim_groups});
}

CONFORMANCE_CASE(fdp_status_has_every_handle, "nvme.fdp.status.handles", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  (void)scene.group(2);
  const std::uint32_t nsid = scene.made({0, 1});
  std::vector<unsigned> handles;
  for (const nvme::HandleStatus& one : scene.statuses(nsid)) {
    const unsigned handle = nvme::placement_handle_of(one.id, scene.configuration.group_bits);
    if (!Manager::holds(handles, handle)) handles.push_back(handle);
  }
  check.equal("placement handles in the status", handles.size(), std::size_t{2});
}

CONFORMANCE_CASE(fdp_status_is_in_order, "nvme.fdp.status.order", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  (void)scene.group(2);
  const std::uint32_t nsid = scene.made({1, 0});
  const unsigned bits = scene.configuration.group_bits;
  std::vector<std::pair<unsigned, unsigned>> order;
  for (const nvme::HandleStatus& one : scene.statuses(nsid)) {
    order.emplace_back(nvme::placement_handle_of(one.id, bits), nvme::reclaim_group_of(one.id, bits));
  }
  check.that(std::is_sorted(order.begin(), order.end()), "descriptors ascend by placement handle, then by reclaim group");
}

CONFORMANCE_CASE(fdp_status_names_the_reclaim_unit_handle, "nvme.fdp.status.handle-id", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  (void)scene.group(2);
  const std::uint32_t nsid = scene.made({1, 0});
  for (const nvme::HandleStatus& one : scene.statuses(nsid)) {
    const unsigned handle = nvme::placement_handle_of(one.id, scene.configuration.group_bits);
    check.equal("RUHID", unsigned{one.handle}, handle == 0 ? 1u : 0u);
  }
}

CONFORMANCE_CASE(fdp_status_counts_blocks, "nvme.fdp.status.room", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  scene.directed(nsid);
  need_room(scene, check, nsid, 24);
  const std::uint64_t before = scene.left(nsid, scene.id(0, 0));
  scene.written(nsid, 0, 16, scene.id(0, 0));
  check.equal("RUAMW after a Write of 16 blocks", scene.left(nsid, scene.id(0, 0)), before - 16);
  scene.written(nsid, 64, 8, scene.id(0, 0));
  check.equal("RUAMW after a Write of 8 more", scene.left(nsid, scene.id(0, 0)), before - 24);
}

CONFORMANCE_CASE(fdp_empty_unit_is_about_as_large_as_told, "nvme.fdp.status.nominal", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  const std::uint64_t nominal = scene.configuration.unit_bytes / kFirstBlockBytes;
  for (const nvme::HandleStatus& one : scene.statuses(nsid)) {
    check.that(one.blocks_left <= 2 * nominal, "RUAMW is at most about RUNS",
               fmt::format("{} blocks, nominal {}", one.blocks_left, nominal));
  }
}

CONFORMANCE_CASE(fdp_status_ends_with_zeroes, "nvme.fdp.status.rest", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  const std::size_t size = scene.status_bytes(1);
  const auto reply = scene.status(nsid, size + 256);
  check.require_success(reply, "I/O Management Receive");
  const bool zero =
      std::all_of(reply.data.begin() + static_cast<std::ptrdiff_t>(size), reply.data.end(), [](std::uint8_t b) { return b == 0; });
  check.that(zero, "bytes beyond the data structure are 0");
}

CONFORMANCE_CASE(fdp_short_status_is_its_beginning, "nvme.fdp.status.short", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  (void)scene.group(2);
  const std::uint32_t nsid = scene.made({0, 1});
  const auto whole = scene.status(nsid, scene.status_bytes(2)), begin = scene.status(nsid, 32);
  check.require_success(whole, "I/O Management Receive");
  check.require_success(begin, "I/O Management Receive of 32 bytes");
  check.bytes("first 32 bytes", ByteView{begin.data}.first(32), ByteView{whole.data}.first(32));
}

CONFORMANCE_CASE(fdp_status_leaves_reserved_bytes_zero, "nvme.fdp.status.reserved", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  const auto reply = scene.status(nsid, scene.status_bytes(1));
  check.require_success(reply, "I/O Management Receive");
  check.bytes("bytes 13:0", ByteView{reply.data}.first(14), Bytes(14));
}

CONFORMANCE_CASE(fdp_status_is_of_one_namespace, "nvme.fdp.status.namespace", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp, reaches{"io_management.receive.nsid"}) {
  FdpScene scene(bench, check);
  (void)scene.made({0});
  check.status(scene.status(0, 64), sc::invalid_namespace_or_format, "NSID 0");
  check.status(scene.status(nvme::kAllNamespaces, 64), sc::invalid_namespace_or_format, "NSID FFFFFFFFh");
}

CONFORMANCE_CASE(fdp_reserved_receive_operation_is_refused, "nvme.fdp.status.operation", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp, reaches{"io_management.receive.operation"}) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  auto command = host::reclaim_unit_handle_status(nsid, 64);
  command.set(nvme::io_management_sqe::mo, 2u);
  check.refused(scene.io().send(command, 64).wait(), "I/O Management Receive with MO 02h");
}

// ---- I/O Management Send ----

CONFORMANCE_CASE(fdp_update_refers_to_an_empty_unit, "nvme.fdp.update.empty", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  scene.directed(nsid);
  const std::uint16_t id = scene.id(0, 0);
  need_room(scene, check, nsid, 8);
  const std::uint64_t before = scene.left(nsid, id);
  scene.written(nsid, 0, 8, id);
  check.precondition(scene.left(nsid, id) + 8 == before, "the Write went into the unit");
  check.success(scene.update(nsid, {id}), "I/O Management Send");
  const std::uint64_t left = scene.left(nsid, id);
  check.that(left > before - 8, "RUAMW after the update is that of another unit", std::to_string(left));
}

CONFORMANCE_CASE(fdp_update_takes_every_identifier, "nvme.fdp.update.list", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  (void)scene.group(2);
  check.precondition(scene.configuration.identifiers_max >= 2, "MAXPIDS allows two identifiers");
  const std::uint32_t nsid = scene.made({0, 1});
  scene.directed(nsid);
  need_room(scene, check, nsid, 8);
  const std::uint16_t ids[] = {scene.id(0, 0), scene.id(0, 1)};
  for (const std::uint16_t id : ids) scene.written(nsid, id == ids[0] ? 0 : 8, 8, id);
  const std::uint64_t full = scene.left(nsid, ids[1]);
  check.success(scene.update(nsid, {ids[0], ids[1]}), "I/O Management Send with two identifiers");
  check.that(scene.left(nsid, ids[1]) > full, "the second identifier refers to another unit");
}

CONFORMANCE_CASE(fdp_update_takes_its_identifiers_alone, "nvme.fdp.update.alone", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  (void)scene.group(2);
  const std::uint32_t nsid = scene.made({0, 1});
  scene.directed(nsid);
  need_room(scene, check, nsid, 8);
  scene.written(nsid, 0, 8, scene.id(0, 0));
  scene.written(nsid, 8, 8, scene.id(0, 1));
  const std::uint64_t other = scene.left(nsid, scene.id(0, 1));
  check.success(scene.update(nsid, {scene.id(0, 0)}), "I/O Management Send");
  check.equal("RUAMW of the other placement handle", scene.left(nsid, scene.id(0, 1)), other);
}

CONFORMANCE_CASE(fdp_update_keeps_to_the_reclaim_group, "nvme.fdp.update.group", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  (void)scene.group();
  check.precondition(scene.configuration.reclaim_groups > 1, "there are several reclaim groups");
  const std::uint32_t nsid = scene.made({0});
  scene.directed(nsid);
  need_room(scene, check, nsid, 8);
  const std::uint16_t first = scene.id(0, 0), last = scene.id(scene.configuration.reclaim_groups - 1, 0);
  scene.written(nsid, 0, 8, first);
  scene.written(nsid, 8, 8, last);
  const std::uint64_t kept = scene.left(nsid, first), full = scene.left(nsid, last);
  check.success(scene.update(nsid, {last}), "I/O Management Send");
  check.that(scene.left(nsid, last) > full, "the identifier of the last reclaim group refers to another unit");
  check.equal("RUAMW in reclaim group 0", scene.left(nsid, first), kept);
}

CONFORMANCE_CASE(fdp_update_has_at_most_maxpids, "nvme.fdp.update.count", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp, reaches{"io_management.send.count"}) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  check.precondition(scene.configuration.identifiers_max <= 1024, "a list may be too long");
  const std::vector<std::uint16_t> ids(static_cast<std::size_t>(scene.configuration.identifiers_max) + 1, scene.id(0, 0));
  check.status(scene.update(nsid, ids), sc::invalid_field);
}

CONFORMANCE_CASE(fdp_update_may_have_maxpids, "nvme.fdp.update.most", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  check.precondition(scene.configuration.identifiers_max <= 1024, "the list is short");
  const std::vector<std::uint16_t> ids(static_cast<std::size_t>(scene.configuration.identifiers_max), scene.id(0, 0));
  check.success(scene.update(nsid, ids), "I/O Management Send with as many identifiers as MAXPIDS allows");
}

CONFORMANCE_CASE(fdp_update_checks_the_reclaim_group, "nvme.fdp.update.unknown-group", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp, reaches{"io_management.send.group"}) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  const auto& now = scene.configuration;
  check.precondition(now.reclaim_groups > 1 && now.reclaim_groups < 1u << now.group_bits, "an identifier can name no reclaim group");
  check.status(scene.update(nsid, {scene.id(now.reclaim_groups, 0)}), sc::invalid_field);
}

CONFORMANCE_CASE(fdp_update_checks_the_handle, "nvme.fdp.update.unknown-handle", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp, reaches{"io_management.send.handle"}) {
  FdpScene scene(bench, check);
  (void)scene.group(2);
  const std::uint32_t nsid = scene.made({0, 1});
  check.status(scene.update(nsid, {scene.invalid_handle(2)}), sc::invalid_field);
  if (scene.configuration.identifiers_max < 2) return;
  // Where a list has one that is invalid, none of it is carried out.
  scene.directed(nsid);
  need_room(scene, check, nsid, 8);
  scene.written(nsid, 0, 8, scene.id(0, 0));
  const std::uint64_t left = scene.left(nsid, scene.id(0, 0));
  check.status(scene.update(nsid, {scene.id(0, 0), scene.invalid_handle(2)}), sc::invalid_field,
               "a valid identifier before an invalid one");
  check.equal("RUAMW of the valid identifier", scene.left(nsid, scene.id(0, 0)), left);
}

CONFORMANCE_CASE(fdp_reserved_send_operation_is_refused, "nvme.fdp.update.operation", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp, reaches{"io_management.send.operation"}) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  auto command = host::reclaim_unit_handle_update(nsid, 1);
  command.set(nvme::io_management_sqe::mo, 2u);
  check.refused(scene.io().send(command, Bytes(2)).wait(), "I/O Management Send with MO 02h");
}

// ---- statistics ----

CONFORMANCE_CASE(fdp_statistics_count_host_bytes, "nvme.fdp.statistics.host", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  const std::uint64_t before = scene.counter(st::hbmw);
  scene.written(nsid, 0, 16, {});
  scene.written(nsid, 0, 16, {});
  check.equal("HBMW after 32 blocks", scene.counter(st::hbmw), before + 32 * kFirstBlockBytes);
}

CONFORMANCE_CASE(fdp_statistics_count_write_zeroes, "nvme.fdp.statistics.zeroes", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), needs(claims_oncs<nvme::oncs_bits::write_zeroes>), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  const std::uint64_t before = scene.counter(st::hbmw);
  check.precondition_success(scene.io().send(host::write_zeroes(nsid, 0, 16)).wait(), "Write Zeroes");
  check.equal("HBMW after Write Zeroes of 16 blocks", scene.counter(st::hbmw), before + 16 * kFirstBlockBytes);
}

CONFORMANCE_CASE(fdp_media_are_written_as_hosts_write, "nvme.fdp.statistics.media", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  const std::uint64_t host = scene.counter(st::hbmw), media = scene.counter(st::mbmw);
  scene.written(nsid, 0, 64, {});
  check.precondition_success(scene.io().send(host::flush(nsid)).wait(), "Flush");
  const std::uint64_t written = scene.counter(st::hbmw) - host, moved = scene.counter(st::mbmw) - media;
  check.that(moved >= written, "MBMW grows at least as HBMW does", fmt::format("{} bytes of {}", moved, written));
}

CONFORMANCE_CASE(fdp_statistics_begin_anew, "nvme.fdp.statistics.cleared", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  scene.written(nsid, 0, 16, {});
  check.precondition(scene.counter(st::hbmw) != 0, "HBMW has grown");
  scene.remove(nsid);
  const std::uint16_t group = scene.group();
  const auto index = scene.value(group) >> 8 & 0xFF;
  const unsigned other = scene.configurations(group).configurations.size() > 1 ? (index == 0 ? 1u : 0u) : index;
  check.precondition(other != index, "there is another configuration");
  check.precondition_success(scene.set(group, true, other), "Set Features 1Dh with another configuration");
  check.equal("HBMW after the change", scene.counter(st::hbmw), 0u);
  check.equal("MBMW after the change", scene.counter(st::mbmw), 0u);
}

CONFORMANCE_CASE(fdp_statistics_outlive_namespaces, "nvme.fdp.statistics.deleted", roles::controller, needs(kHasFdp),
                 needs(manages_namespaces), having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  scene.written(nsid, 0, 16, {});
  const std::uint64_t before = scene.counter(st::hbmw);
  check.precondition(before != 0, "HBMW has grown");
  scene.remove(nsid);
  check.equal("HBMW after the deletion of the namespace", scene.counter(st::hbmw), before);
}

CONFORMANCE_CASE(fdp_statistics_outlive_a_reset, "nvme.fdp.statistics.reset", roles::controller, needs(kHasFdp), needs(manages_namespaces),
                 having_fdp) {
  FdpScene scene(bench, check);
  const std::uint32_t nsid = scene.made({0});
  scene.written(nsid, 0, 16, {});
  const std::uint64_t before = scene.counter(st::hbmw);
  check.precondition(before != 0, "HBMW has grown");
  scene.manager.association.disable();
  scene.manager.association.enable();
  const std::uint64_t after = scene.counter(st::hbmw);
  check.that(after >= before, "HBMW after a controller reset", std::to_string(after));
}

}  // namespace fb::conformance
