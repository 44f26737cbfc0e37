// Zone Management Send, descriptor extensions, and the resources of zones.
#include "conformance/cases/nvme/zone_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {

namespace {

const OneOf<nvme::Status> kDead = one_of(sc::invalid_zone_state_transition, sc::zone_is_offline);

void make(ControllerBench& bench, const ZoneScene& scene, std::uint64_t start, ZoneState state) {
  subsystem::Namespace& ns = *bench.subsystem().find_namespace(scene.nsid());
  const std::size_t index = ns.zones()->index_of(start);
  if (state == ZoneState::read_only) bench.subsystem().make_zone_read_only(ns, index);
  if (state == ZoneState::offline) bench.subsystem().take_zone_offline(ns, index);
}

}  // namespace

CONFORMANCE_CASE(open_opens_explicitly, "nvme.zones.send.open", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  if (!check.success(scene.send(ZoneSendAction::open, scene.zone(0)), "Open Zone")) return;
  scene.is(scene.zone(0), ZoneState::explicitly_opened);
  scene.close(scene.zone(0));
  scene.precondition(scene.zone(0), ZoneState::closed);
  if (!check.success(scene.send(ZoneSendAction::open, scene.zone(0)), "Open Zone of a closed zone")) return;
  scene.is(scene.zone(0), ZoneState::explicitly_opened, "state of a zone that was closed");
}

CONFORMANCE_CASE(open_opens_what_is_open_implicitly, "nvme.zones.send.open.implicit", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(0), 2);
  if (!check.success(scene.send(ZoneSendAction::open, scene.zone(0)), "Open Zone")) return;
  scene.is(scene.zone(0), ZoneState::explicitly_opened);
  check.equal("write pointer", scene.pointer(scene.zone(0)), scene.zone(0) + 2);
}

CONFORMANCE_CASE(full_zone_is_not_opened, "nvme.zones.send.open.full", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  scene.finish(scene.zone(0));
  check.status(scene.send(ZoneSendAction::open, scene.zone(0)), sc::invalid_zone_state_transition, "Open Zone");
}

CONFORMANCE_CASE(close_closes, "nvme.zones.send.close", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  scene.open(scene.zone(0));
  scene.fill(scene.zone(1), 2);
  for (const std::size_t i : {0u, 1u}) {
    if (!check.success(scene.send(ZoneSendAction::close, scene.zone(i)), "Close Zone")) return;
    scene.is(scene.zone(i), ZoneState::closed);
  }
  check.success(scene.send(ZoneSendAction::close, scene.zone(1)), "Close Zone of a closed zone");
}

CONFORMANCE_CASE(close_needs_an_open_zone, "nvme.zones.send.close.state", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  check.status(scene.send(ZoneSendAction::close, scene.zone(0)), sc::invalid_zone_state_transition, "an empty zone");
  scene.finish(scene.zone(1));
  check.status(scene.send(ZoneSendAction::close, scene.zone(1)), sc::invalid_zone_state_transition, "a full zone");
}

CONFORMANCE_CASE(finish_fills, "nvme.zones.send.finish", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(1), 2);
  for (const std::size_t i : {0u, 1u}) {
    if (!check.success(scene.send(ZoneSendAction::finish, scene.zone(i)), "Finish Zone")) return;
    scene.is(scene.zone(i), ZoneState::full);
  }
  check.success(scene.send(ZoneSendAction::finish, scene.zone(0)), "Finish Zone of a full zone");
}

CONFORMANCE_CASE(reset_empties, "nvme.zones.send.reset", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(0), 3);
  scene.fill(scene.zone(1), 3);
  scene.finish(scene.zone(1));
  for (const std::size_t i : {0u, 1u, 2u}) {
    if (!check.success(scene.send(ZoneSendAction::reset, scene.zone(i)), "Reset Zone")) return;
    const nvme::ZoneFacts zone = scene.look(scene.zone(i));
    check.equal("state of the zone", zone.state, ZoneState::empty);
    check.equal("write pointer", zone.write_pointer, scene.zone(i));
  }
}

CONFORMANCE_CASE(reset_takes_the_data_away, "nvme.zones.send.reset.data", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(0), 4, 0x66);
  if (!check.success(scene.send(ZoneSendAction::reset, scene.zone(0)), "Reset Zone")) return;
  is_gone(check, scene.read(scene.zone(0), 4), scene.data(0x66, 4), "the data from before");
}

CONFORMANCE_CASE(offline_takes_read_only_zones, "nvme.zones.send.offline", roles::controller, failing_zones, zones) {
  ZoneScene scene(bench, check);
  make(bench, scene, scene.zone(0), ZoneState::read_only);
  if (!check.success(scene.send(ZoneSendAction::offline, scene.zone(0)), "Offline Zone")) return;
  scene.is(scene.zone(0), ZoneState::offline);
  check.success(scene.send(ZoneSendAction::offline, scene.zone(0)), "Offline Zone of an offline zone");
}

CONFORMANCE_CASE(offline_takes_no_other_zone, "nvme.zones.send.offline.state", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(1), 2);
  scene.finish(scene.zone(2));
  for (const std::size_t i : {0u, 1u, 2u}) {
    check.status(scene.send(ZoneSendAction::offline, scene.zone(i)), sc::invalid_zone_state_transition, "Offline Zone");
  }
}

CONFORMANCE_CASE(offline_zones_stay, "nvme.zones.send.dead", roles::controller, failing_zones, zones) {
  ZoneScene scene(bench, check);
  make(bench, scene, scene.zone(0), ZoneState::offline);
  for (const ZoneSendAction action : {ZoneSendAction::open, ZoneSendAction::close, ZoneSendAction::finish, ZoneSendAction::reset}) {
    check.status(scene.send(action, scene.zone(0)), kDead, "an action on an offline zone");
  }
  scene.is(scene.zone(0), ZoneState::offline);
}

CONFORMANCE_CASE(zone_is_named_by_its_start, "nvme.zones.send.start", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(0), 2);
  check.status(scene.send(ZoneSendAction::reset, scene.zone(0) + 1), sc::invalid_field, "a block within the zone");
  scene.is_implicit(scene.zone(0));
}

CONFORMANCE_CASE(reserved_send_action_is_refused, "nvme.zones.send.action", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  check.refused(scene.send(static_cast<ZoneSendAction>(0x00), scene.zone(0)), "Zone Send Action 00h");
  check.refused(scene.send(static_cast<ZoneSendAction>(0x7E), scene.zone(0)), "Zone Send Action 7Eh");
}

CONFORMANCE_CASE(reset_of_all_empties_all, "nvme.zones.send.all.reset", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(0), 2);
  scene.open(scene.zone(1));
  scene.finish(scene.zone(2));
  // The last zone of the namespace too, if it can be written.
  const std::uint64_t last = scene.facts.blocks / scene.size() * scene.size() - scene.size();
  const bool written = last > scene.zone(2) && scene.write(last, 1).ok();
  if (!check.success(scene.send(ZoneSendAction::reset, 3, true), "Reset Zone of all")) return;
  for (const std::size_t i : {0u, 1u, 2u}) scene.is(scene.zone(i), ZoneState::empty);
  if (written) scene.is(last, ZoneState::empty, "state of the last zone");
}

CONFORMANCE_CASE(reset_of_all_empties_closed_zones, "nvme.zones.send.all.reset-closed", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(0), 2);
  scene.close(scene.zone(0));
  scene.precondition(scene.zone(0), ZoneState::closed);
  if (!check.success(scene.send(ZoneSendAction::reset, 0, true), "Reset Zone of all")) return;
  scene.is(scene.zone(0), ZoneState::empty, "state of a zone that was closed");
}

CONFORMANCE_CASE(open_of_all_opens_closed_zones, "nvme.zones.send.all.open", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check, plainly_zoned, 4);
  for (const std::size_t i : {0u, 1u}) {
    scene.fill(scene.zone(i), 2);
    scene.close(scene.zone(i));
  }
  scene.fill(scene.zone(2), 2);
  scene.precondition(scene.zone(0), ZoneState::closed);
  scene.precondition(scene.zone(1), ZoneState::closed);
  scene.precondition(scene.zone(2), ZoneState::implicitly_opened);
  const auto reply = scene.send(ZoneSendAction::open, 0, true);
  check.precondition(!nvme::same_code(reply.status(), sc::too_many_open_zones), "three zones can be open");
  if (!check.success(reply, "Open Zone of all")) return;
  for (const std::size_t i : {0u, 1u}) {
    scene.is(scene.zone(i), ZoneState::explicitly_opened, "state of a zone that was closed");
  }
  scene.is_implicit(scene.zone(2), "state of a zone that was open");
  scene.is(scene.zone(3), ZoneState::empty, "state of an empty zone");
}

CONFORMANCE_CASE(offline_of_all_takes_read_only_zones, "nvme.zones.send.all.offline", roles::controller, failing_zones, zones) {
  ZoneScene scene(bench, check);
  for (const std::size_t i : {0u, 1u}) make(bench, scene, scene.zone(i), ZoneState::read_only);
  if (!check.success(scene.send(ZoneSendAction::offline, 0, true), "Offline Zone of all")) return;
  for (const std::size_t i : {0u, 1u}) {
    scene.is(scene.zone(i), ZoneState::offline, "state of a zone that was read only");
  }
  scene.is(scene.zone(2), ZoneState::empty, "state of an empty zone");
}

CONFORMANCE_CASE(read_only_zones_stay, "nvme.zones.send.read-only", roles::controller, failing_zones, zones) {
  ZoneScene scene(bench, check);
  make(bench, scene, scene.zone(0), ZoneState::read_only);
  for (const ZoneSendAction action : {ZoneSendAction::open, ZoneSendAction::close, ZoneSendAction::finish, ZoneSendAction::reset}) {
    check.status(scene.send(action, scene.zone(0)), one_of(sc::invalid_zone_state_transition, sc::zone_is_read_only),
                 "action " + std::to_string(static_cast<unsigned>(action)) + " on a zone that is read only");
  }
  scene.is(scene.zone(0), ZoneState::read_only);
}

CONFORMANCE_CASE(close_of_all_closes_all, "nvme.zones.send.all.close", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  scene.fill(scene.zone(0), 2);
  scene.open(scene.zone(1));
  if (!check.success(scene.send(ZoneSendAction::close, 0, true), "Close Zone of all")) return;
  for (const std::size_t i : {0u, 1u}) scene.is(scene.zone(i), ZoneState::closed);
  scene.is(scene.zone(2), ZoneState::empty, "state of a zone that was not open");
}

CONFORMANCE_CASE(finish_of_all_leaves_empty_zones, "nvme.zones.send.all.finish", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check, plainly_zoned, 4);
  scene.fill(scene.zone(0), 2);
  scene.open(scene.zone(1));
  scene.fill(scene.zone(2), 2);
  scene.close(scene.zone(2));
  if (!check.success(scene.send(ZoneSendAction::finish, 0, true), "Finish Zone of all")) return;
  for (const std::size_t i : {0u, 1u, 2u}) scene.is(scene.zone(i), ZoneState::full);
  scene.is(scene.zone(3), ZoneState::empty, "state of an empty zone");
}

// ---- descriptor extensions ----

CONFORMANCE_CASE(extension_is_kept, "nvme.zones.extension.set", roles::controller, zoned_namespaces, needs(has_zoned<has_extensions>)) {
  ZoneScene scene(bench, check, has_extensions);
  const Bytes data = pattern(0x21, 1, scene.facts.zones.extension_bytes);
  if (!check.success(scene.extend(scene.zone(0), data), "Set Zone Descriptor Extension")) return;
  const nvme::ZoneFacts zone = scene.look(scene.zone(0));
  check.equal("state of the zone", zone.state, ZoneState::closed);
  check.that((zone.attributes & nvme::zone_attribute_bits::descriptor_extension) != 0, "ZDEV is 1", "it is 0");
  check.bytes("the extension", zone.extension, data);
  // It stays with its zone until that is empty; others have their own.
  const Bytes second = pattern(0x22, 1, scene.facts.zones.extension_bytes);
  check.precondition_success(scene.extend(scene.zone(1), second), "Set Zone Descriptor Extension");
  scene.open(scene.zone(0));
  scene.finish(scene.zone(0));
  scene.fill(scene.zone(1), 2);
  auto command = host::zone_report(scene.nsid(), scene.zone(0), scene.room(2));
  command.set(nvme::zone_receive_sqe::zra, nvme::ZoneReceiveAction::extended_report);
  const auto reply = scene.io->send(command, scene.room(2)).wait();
  check.require_success(reply, "Zone Management Receive, Extended Report Zones");
  for (const nvme::ZoneFacts& one : nvme::read_zone_report(reply.data, scene.facts.zones.extension_bytes)) {
    const bool first = one.start == scene.zone(0);
    if (!first && one.start != scene.zone(1)) continue;
    const std::string which = first ? " of a zone that was finished" : " of a zone that was written";
    check.that((one.attributes & nvme::zone_attribute_bits::descriptor_extension) != 0, "ZDEV is 1" + which, "it is 0");
    check.bytes("the extension" + which, one.extension, first ? data : second);
  }
}

CONFORMANCE_CASE(extension_needs_an_empty_zone, "nvme.zones.extension.state", roles::controller, zoned_namespaces,
                 needs(has_zoned<has_extensions>)) {
  ZoneScene scene(bench, check, has_extensions);
  scene.fill(scene.zone(0), 2);
  const Bytes data = pattern(0x22, 1, scene.facts.zones.extension_bytes);
  check.status(scene.extend(scene.zone(0), data), sc::invalid_zone_state_transition, "of an open zone");
}

CONFORMANCE_CASE(extension_is_of_one_zone, "nvme.zones.extension.all", roles::controller, zoned_namespaces,
                 needs(has_zoned<has_extensions>)) {
  ZoneScene scene(bench, check, has_extensions);
  const Bytes data = pattern(0x23, 1, scene.facts.zones.extension_bytes);
  check.status(scene.extend(scene.zone(0), data, true), sc::invalid_field, "of all zones");
}

CONFORMANCE_CASE(extension_needs_room, "nvme.zones.extension.unsupported", roles::controller, zoned_namespaces,
                 needs(has_zoned<has_no_extensions>)) {
  ZoneScene scene(bench, check, has_no_extensions);
  check.status(scene.extend(scene.zone(0), Bytes(64, 1)), sc::invalid_field, "where there are no extensions");
}

CONFORMANCE_CASE(reset_takes_the_extension_away, "nvme.zones.extension.reset", roles::controller, zoned_namespaces,
                 needs(has_zoned<has_extensions>)) {
  ZoneScene scene(bench, check, has_extensions);
  const Bytes data = pattern(0x24, 1, scene.facts.zones.extension_bytes);
  scene.done(scene.extend(scene.zone(0), data), "Set Zone Descriptor Extension");
  if (!check.success(scene.send(ZoneSendAction::reset, scene.zone(0)), "Reset Zone")) return;
  const unsigned attributes = scene.look(scene.zone(0)).attributes;
  check.that((attributes & nvme::zone_attribute_bits::descriptor_extension) == 0, "ZDEV is 0", "it is 1");
}

// ---- resources ----

CONFORMANCE_CASE(active_zones_are_limited, "nvme.zones.limits.active", roles::controller, zoned_namespaces,
                 needs(has_zoned<limits_active>)) {
  const std::uint32_t most = zoned_of(bench.declared(), limits_active).zones.max_active;
  ZoneScene scene(bench, check, limits_active, most + 1);
  for (std::uint32_t i = 0; i < most; ++i) {
    scene.fill(scene.zone(i), 1);
    scene.close(scene.zone(i));
  }
  check.status(scene.write(scene.zone(most), 1), sc::too_many_active_zones, "a write to one more zone");
  check.status(scene.send(ZoneSendAction::open, scene.zone(most)), sc::too_many_active_zones, "Open Zone of one more");
}

CONFORMANCE_CASE(open_zones_are_limited, "nvme.zones.limits.open", roles::controller, zoned_namespaces, needs(has_zoned<limits_open>)) {
  const std::uint32_t most = zoned_of(bench.declared(), limits_open).zones.max_open;
  ZoneScene scene(bench, check, limits_open, most + 1);
  for (std::uint32_t i = 0; i < most; ++i) scene.open(scene.zone(i));
  check.status(scene.write(scene.zone(most), 1), sc::too_many_open_zones, "a write to one more zone");
  check.status(scene.send(ZoneSendAction::open, scene.zone(most)), sc::too_many_open_zones, "Open Zone of one more");
}

CONFORMANCE_CASE(written_zones_are_counted, "nvme.zones.limits.counted", roles::controller, zoned_namespaces,
                 needs(has_zoned<limits_open>)) {
  const std::uint32_t most = zoned_of(bench.declared(), limits_open).zones.max_open;
  ZoneScene scene(bench, check, limits_open, most + 1);
  // The controller closes one that it has opened by itself, or refuses the last write.
  for (std::uint32_t i = 0; i < most; ++i) scene.fill(scene.zone(i), 1);
  scene.write(scene.zone(most), 1);
  std::uint32_t open = 0;
  for (std::uint32_t i = 0; i <= most; ++i) {
    const ZoneState state = scene.state(scene.zone(i));
    if (state == ZoneState::implicitly_opened || state == ZoneState::explicitly_opened) ++open;
  }
  check.between("zones that are open", open, 1u, most);
}

CONFORMANCE_CASE(refused_open_changes_nothing, "nvme.zones.limits.refused", roles::controller, zoned_namespaces,
                 needs(has_zoned<limits_open>)) {
  const std::uint32_t most = zoned_of(bench.declared(), limits_open).zones.max_open;
  ZoneScene scene(bench, check, limits_open, most + 1);
  for (std::uint32_t i = 0; i < most; ++i) scene.open(scene.zone(i));
  check.precondition(!scene.send(ZoneSendAction::open, scene.zone(most)).ok(), "one zone more cannot be opened");
  scene.is(scene.zone(most), ZoneState::empty, "state of the zone that was not opened");
  scene.is(scene.zone(0), ZoneState::explicitly_opened, "state of a zone that was open");
}

CONFORMANCE_CASE(ended_zones_give_resources_back, "nvme.zones.limits.freed", roles::controller, zoned_namespaces,
                 needs(has_zoned<limits_open>)) {
  const std::uint32_t most = zoned_of(bench.declared(), limits_open).zones.max_open;
  ZoneScene scene(bench, check, limits_open, most + 1);
  if (most < 2) throw CannotArrange{"one zone may be open"};
  for (std::uint32_t i = 0; i < most; ++i) scene.open(scene.zone(i));
  scene.finish(scene.zone(0));
  check.success(scene.send(ZoneSendAction::open, scene.zone(most)), "Open Zone after another was finished");
  scene.done(scene.send(ZoneSendAction::reset, scene.zone(1)), "Reset Zone");
  check.success(scene.send(ZoneSendAction::open, scene.zone(1)), "Open Zone after one was reset");
}

}  // namespace fb::conformance
