// What befalls zones: reservations, write protection, resets, losses of power, Format NVM, sanitize operations; and
// zoned namespaces that are made by command.
#include <fmt/format.h>

#include "conformance/cases/nvme/namespace_scene.h"
#include "conformance/cases/nvme/reset.h"
#include "conformance/cases/nvme/zone_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/reservation.h"

namespace fb::conformance {

namespace {

const OneOf<ZoneState> kFresh = one_of(ZoneState::empty, ZoneState::offline);
const OneOf<ZoneState> kNotOpen = one_of(ZoneState::closed, ZoneState::full);

constexpr std::uint64_t kKey = 0x5A4F4E45;

/// Another host holds the namespace of the scene while this lives.
class Holder {
 public:
  Holder(ControllerBench& bench, Check& check, std::uint32_t nsid, nvme::ReservationType type = nvme::ReservationType::write_exclusive)
      : nsid_(nsid) {
    AssociationOptions other;
    other.hostnqn = kOtherHost;
    other.hostid.fill(0x4A);
    RawAssociation& association = bench.associate(other);
    select_zones(association);
    io_ = &association.open_io();
    const auto keys = host::reservation_keys(0, kKey);
    const auto joined = io_->send(host::reservation_register(nsid, nvme::RegisterAction::register_key), keys).wait();
    check.precondition_success(joined, "Reservation Register");
    const auto held =
        io_->send(host::reservation_acquire(nsid, nvme::AcquireAction::acquire, type), host::reservation_keys(kKey, 0)).wait();
    check.precondition_success(held, "Reservation Acquire");
  }
  ~Holder() {
    const auto leave = host::reservation_register(nsid_, nvme::RegisterAction::unregister_key);
    io_->send(leave, host::reservation_keys(kKey, 0)).wait();
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

 private:
  std::uint32_t nsid_;
  host::RawQueue* io_ = nullptr;
};

/// The namespace of the scene is write protected while this lives.
class WriteProtected {
 public:
  WriteProtected(ZoneScene& scene, Check& check) : scene_(scene) {
    check.precondition_success(set(nvme::WriteProtection::write_protected), "Set Features");
  }
  ~WriteProtected() { set(nvme::WriteProtection::none); }
  WriteProtected(const WriteProtected&) = delete;
  WriteProtected& operator=(const WriteProtected&) = delete;

 private:
  host::RawReply set(nvme::WriteProtection how) {
    auto command = host::set_features(nvme::FeatureId::namespace_write_protection, static_cast<std::uint32_t>(how));
    command.set(nvme::sqe::nsid, scene_.nsid());
    return scene_.admin().send(command).wait();
  }
  ZoneScene& scene_;
};

std::optional<std::string> write_protects(const Declared& declared) {
  const auto bit = nvme::nwpc_bits::write_protect;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::nwpc) & bit) != 0) return {};
  return "NWPC bit 0 is clear";
}
std::optional<std::string> formats(const Declared& declared) {
  const auto bit = nvme::oacs_bits::format_nvm;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & bit) != 0) return {};
  return "OACS bit 1 (Format NVM) is clear";
}
std::optional<std::string> erases_blocks(const Declared& declared) {
  const auto bit = nvme::sanicap_bits::block_erase;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::sanicap) & bit) != 0) return {};
  return "SANICAP does not have block erase";
}

/// Zone 0 is open implicitly, zone 1 explicitly and written, zone 2 full.
void use_zones(ZoneScene& scene) {
  scene.fill(scene.zone(0), 3, 0x61);
  scene.open(scene.zone(1));
  scene.fill(scene.zone(1), 2, 0x62);
  scene.finish(scene.zone(2));
}

void lose_power(ControllerBench& bench, ZoneScene& scene) {
  bench.subsystem().power_cycle();
  scene.rejoin();
}

}  // namespace

CONFORMANCE_CASE(reservation_guards_zones, "nvme.zones.reservation.write", roles::controller, zoned_namespaces, zones, appends,
                 needs(claims_oncs<nvme::oncs_bits::reservations>)) {
  ZoneScene scene(bench, check);
  {
    const Holder other(bench, check, scene.nsid());
    check.status(scene.append(scene.zone(0), 1), sc::reservation_conflict, "Zone Append");
    check.status(scene.send(ZoneSendAction::open, scene.zone(0)), sc::reservation_conflict, "Zone Management Send");
  }
  const auto page = scene.admin().send(host::identify(nvme::Cns::identify_namespace, scene.nsid()), nvme::kIdentifySize).wait();
  check.precondition_success(page, "Identify Namespace");
  const auto exclusive = nvme::ReservationType::exclusive_access;
  const unsigned types = View<nvme::IdentifyNamespace>{page.data}.get(nvme::id_ns::rescap);
  if ((types >> static_cast<unsigned>(exclusive) & 1) == 0) return;
  const Holder other(bench, check, scene.nsid(), exclusive);
  check.status(scene.report(0, 256), sc::reservation_conflict, "Zone Management Receive with Exclusive Access of another host");
}

CONFORMANCE_CASE(reservation_lets_zones_be_reported, "nvme.zones.reservation.read", roles::controller, zoned_namespaces, zones,
                 needs(claims_oncs<nvme::oncs_bits::reservations>)) {
  ZoneScene scene(bench, check);
  const Holder other(bench, check, scene.nsid());
  check.success(scene.report(0, 256), "Zone Management Receive");
}

CONFORMANCE_CASE(write_protected_zones_are_left_alone, "nvme.zones.write-protected.send", roles::controller, zoned_namespaces, zones,
                 needs(write_protects)) {
  ZoneScene scene(bench, check);
  const WriteProtected lasting(scene, check);
  check.status(scene.send(ZoneSendAction::open, scene.zone(0)), sc::namespace_write_protected, "Zone Management Send");
}

CONFORMANCE_CASE(write_protection_fills_active_zones, "nvme.zones.write-protected.zones", roles::controller, zoned_namespaces, zones,
                 needs(write_protects)) {
  ZoneScene scene(bench, check);
  use_zones(scene);
  const WriteProtected lasting(scene, check);
  scene.is(scene.zone(0), ZoneState::full, "state of a zone that was open implicitly");
  scene.is(scene.zone(1), ZoneState::full, "state of a zone that was open explicitly");
}

CONFORMANCE_CASE(controller_reset_leaves_zones, "nvme.zones.reset.controller", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  use_zones(scene);
  scene.association.disable();
  let_go(bench, *scene.io);
  scene.association.enable();
  select_zones(scene.association);
  scene.io = &scene.association.open_io();
  check.equal("write pointer", scene.pointer(scene.zone(1)), scene.zone(1) + 2);
  scene.is(scene.zone(1), ZoneState::explicitly_opened);
  scene.is(scene.zone(2), ZoneState::full, "state of a full zone");
  check.equal("write pointer of a zone that was open implicitly", scene.pointer(scene.zone(0)), scene.zone(0) + 3);
}

CONFORMANCE_CASE(subsystem_reset_closes_zones, "nvme.zones.reset.subsystem", roles::controller, failing_zones, zones) {
  ZoneScene scene(bench, check);
  use_zones(scene);
  ZoneScene other(bench, check, reads_across);
  use_zones(other);
  bench.subsystem().reset_subsystem();
  other.rejoin();
  for (const std::size_t i : {0u, 1u}) {
    const std::string which = i == 0 ? "implicitly" : "explicitly";
    check.equal("state of a zone of another namespace that was open " + which, other.state(other.zone(i)), kNotOpen);
  }
  scene.rejoin();
  check.equal("state of a zone that was open implicitly", scene.state(scene.zone(0)), kNotOpen);
  check.equal("state of a zone that was open explicitly", scene.state(scene.zone(1)), kNotOpen);
  scene.is(scene.zone(2), ZoneState::full, "state of a full zone");
  const auto reply = scene.read(scene.zone(0), 3);
  if (check.success(reply, "Read")) check.bytes("what was written", reply.data, scene.data(0x61, 3));
}

CONFORMANCE_CASE(subsystem_reset_keeps_descriptor_extensions, "nvme.zones.reset.subsystem", roles::controller, failing_zones,
                 needs(has_zoned<has_extensions>)) {
  ZoneScene scene(bench, check, has_extensions);
  const Bytes data = pattern(0x23, 1, scene.facts.zones.extension_bytes);
  // One zone stays closed, the other is open; nothing is written to either.
  for (const std::size_t i : {0u, 1u}) scene.done(scene.extend(scene.zone(i), data), "Set Zone Descriptor Extension");
  scene.open(scene.zone(1));
  bench.subsystem().reset_subsystem();
  scene.rejoin();
  for (const std::size_t i : {0u, 1u}) {
    const std::string which = i == 0 ? " of a zone that was closed" : " of a zone that was open explicitly";
    const nvme::ZoneFacts zone = scene.look(scene.zone(i));
    check.equal("state" + which, zone.state, kNotOpen);
    check.that((zone.attributes & nvme::zone_attribute_bits::descriptor_extension) != 0, "ZDEV is 1" + which, "it is 0");
    check.bytes("the extension" + which, zone.extension, data);
  }
}

CONFORMANCE_CASE(shutdown_closes_zones, "nvme.zones.reset.shutdown", roles::controller, failing_zones, zones) {
  ZoneScene scene(bench, check);
  use_zones(scene);
  auto cc = record_from_integer<fabrics::Cc>(scene.association.property(fabrics::property::cc));
  cc.set(fabrics::cc::shn, fabrics::ShutdownNotification::normal);
  check.precondition_success(scene.association.set_property(fabrics::property::cc, integer_of(cc)), "Property Set");
  constexpr std::uint32_t kShst = 0xC, kComplete = 0x8;
  check.precondition(scene.association.wait_csts(kShst, kComplete, 10_s), "the shutdown completes");
  scene.rejoin();
  check.equal("state of a zone that was open implicitly", scene.state(scene.zone(0)), kNotOpen);
  check.equal("state of a zone that was open explicitly", scene.state(scene.zone(1)), kNotOpen);
  scene.is(scene.zone(2), ZoneState::full, "state of a full zone");
}

CONFORMANCE_CASE(power_loss_leaves_write_pointers, "nvme.zones.power.pointer", roles::controller,
                 arranged("a loss of power",
                          [](EmbeddedSetup& setup) {
                            add_zoned_namespaces(setup);
                            setup.subsystem.volatile_write_cache = setup.subsystem.power_loss_forgets = true;
                          }),
                 zones) {
  ZoneScene scene(bench, check);
  use_zones(scene);
  check.precondition_success(scene.io->send(host::flush(scene.nsid())).wait(), "Flush");
  lose_power(bench, scene);
  const nvme::ZoneFacts zone = scene.look(scene.zone(0));
  check.equal("state of a zone that was open", zone.state, kNotOpen);
  if (zone.state == ZoneState::closed) {
    check.that(zone.write_pointer >= scene.zone(0) + 3, "the write pointer is behind what was flushed", "it is before");
  }
  const auto reply = scene.read(scene.zone(0), 3);
  if (check.success(reply, "Read")) check.bytes("what was flushed", reply.data, scene.data(0x61, 3));
}

CONFORMANCE_CASE(format_empties_zones, "nvme.zones.format", roles::controller, zoned_namespaces, zones, needs(formats)) {
  ZoneScene scene(bench, check);
  use_zones(scene);
  const auto reply = scene.admin().send(host::format_nvm(scene.nsid(), scene.facts.lba_format)).wait();
  check.precondition_success(reply, "Format NVM");
  for (const std::size_t i : {0u, 1u, 2u}) check.equal("state of a zone", scene.state(scene.zone(i)), kFresh);
}

namespace {

/// A sanitize operation and its end; false where it is refused.
bool sanitize(ControllerBench& bench, Check& check, ZoneScene& scene, const Record<nvme::SanitizeSqe>& command) {
  if (!scene.admin().send(command).wait().ok()) return false;
  for (Duration waited; waited < 600_s; waited = waited + 500_ms) {
    const auto log = scene.admin().send(host::get_log(nvme::LogPage::sanitize_status, 512), 512).wait();
    check.precondition_success(log, "Get Log Page");
    const auto state = View<nvme::SanitizeLog>{log.data}.get(nvme::sanitize_log::sos);
    if (state != nvme::SanitizeState::in_progress) break;
    bench.world().run_for(500_ms);
  }
  return true;
}

}  // namespace

CONFORMANCE_CASE(sanitize_empties_zones, "nvme.zones.sanitize", roles::controller, zoned_namespaces, zones, needs(erases_blocks)) {
  ZoneScene scene(bench, check);
  use_zones(scene);
  check.precondition(sanitize(bench, check, scene, host::sanitize(nvme::SanitizeAction::block_erase)), "Sanitize succeeds");
  for (const std::size_t i : {0u, 1u, 2u}) check.equal("state of a zone", scene.state(scene.zone(i)), kFresh);
  // Without deallocation the pattern of the operation may stay, in zones that are full.
  if ((bench.declared().identify().get(nvme::id_ctrl::sanicap) & nvme::sanicap_bits::no_deallocate_inhibited) != 0) return;
  auto kept = host::sanitize(nvme::SanitizeAction::block_erase);
  kept.set(nvme::sanitize_sqe::ndas, true);
  if (!sanitize(bench, check, scene, kept)) return;
  for (const std::size_t i : {0u, 1u, 2u}) {
    const nvme::ZoneFacts zone = scene.look(scene.zone(i));
    check.equal("state of a zone after an operation without deallocation", zone.state,
                one_of(ZoneState::empty, ZoneState::offline, ZoneState::full));
    if (zone.state == ZoneState::full) check.success(scene.read(zone.start, 1), "Read of a zone that the operation has filled");
  }
}

CONFORMANCE_CASE(zoned_namespace_is_made_by_command, "nvme.zones.create", roles::controller,
                 arranged("room for a zoned namespace", &add_zoned_namespaces), zones, needs(manages_namespaces)) {
  Manager manager(bench, check);
  select_zones(manager.association);
  const auto common = identify_zoned(nvme::Cns::command_set_namespace, nvme::kAllNamespaces);
  const Bytes page = manager.admin().send(common, nvme::kIdentifySize).wait().data;
  check.precondition(page.size() == nvme::kIdentifySize, "the zones of namespaces that are made are known");
  const Bytes formats = manager.page(nvme::Cns::identify_namespace, nvme::kAllNamespaces);
  const auto count = static_cast<unsigned>(View<nvme::IdentifyNamespace>{formats}.get(nvme::id_ns::nlbaf).count());
  bool any = false;
  for (unsigned format = 0; format < std::min(count, 16u); ++format) {
    const std::uint64_t size =
        element<nvme::LbaFormatExtension>(page, nvme::id_ns_zoned::lbafe, format).get(nvme::lba_format_extension::zsze);
    // Where there is metadata, and not with the data, no namespace can be made over Fabrics.
    const bool plain = nvme::lba_format_at(formats, format).get(nvme::lba_format::ms) == 0;
    if (size == 0 || !plain) continue;
    auto command = host::create_namespace();
    command.set(nvme::namespace_management_sqe::csi, kZonedSet);
    const auto made = manager.admin().send(command, Manager::described({.nsze = 4 * size, .ncap = 4 * size, .lbaf = format})).wait();
    if (nvme::same_code(made.status(), sc::namespace_insufficient_capacity)) continue;
    const std::string which = fmt::format(" in format {}", format);
    if (!check.success(made, "Namespace Management, create" + which)) return;
    any = true;
    check.precondition_success(manager.attach(made.dw0(), {manager.cntlid()}), "Namespace Attachment");
    const auto own = manager.admin().send(identify_zoned(nvme::Cns::command_set_namespace, made.dw0()), nvme::kIdentifySize).wait();
    if (check.success(own, "Identify of its zones" + which)) {
      const auto zones_of = element<nvme::LbaFormatExtension>(own.data, nvme::id_ns_zoned::lbafe, format);
      check.equal("ZSZE of the namespace" + which, zones_of.get(nvme::lba_format_extension::zsze), size);
    }
    const auto report = manager.io().send(host::zone_report(made.dw0(), 0, 512), 512).wait();
    if (!check.success(report, "Zone Management Receive" + which)) return;
    const auto list = nvme::read_zone_report(report.data);
    check.equal("zones" + which, list.size(), 4u);
    for (std::size_t i = 0; i < list.size(); ++i) {
      check.equal("state of a zone" + which, list[i].state, kFresh);
      check.equal(fmt::format("first block of zone {}", i) + which, list[i].start, i * size);
    }
    check.precondition_success(manager.remove(made.dw0()), "Namespace Management, delete");
  }
  if (!any) check.inconclusive("there is no room for a namespace");
}

}  // namespace fb::conformance
