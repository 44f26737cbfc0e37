// What a controller says of zoned namespaces, and which commands it has for them.
#include "conformance/cases/nvme/namespace_scene.h"
#include "conformance/cases/nvme/zone_scene.h"

namespace fb::conformance {

namespace {

Bytes page_of(Check& check, host::RawQueue& admin, const Record<nvme::IdentifySqe>& command) {
  const auto reply = admin.send(command, nvme::kIdentifySize).wait();
  check.require_success(reply, "Identify");
  return reply.data;
}

/// For cases that are not about the page itself.
Bytes combinations(Check& check, host::RawQueue& admin) {
  const auto reply = admin.send(host::identify(nvme::Cns::command_set_combinations), nvme::kIdentifySize).wait();
  check.precondition_success(reply, "Identify");
  return reply.data;
}

/// The first that is there and has none.
std::optional<std::uint32_t> combination_without_zones(ByteView page) {
  for (std::uint32_t i = 0; i < nvme::kCommandSetCombinationsMax; ++i) {
    const std::uint64_t sets = nvme::command_set_combination(page, i);
    if (sets != 0 && (sets >> kZonedSet & 1) == 0) return i;
  }
  return std::nullopt;
}

const arranged zones_to_attach{"zoned namespaces that are attached and detached", [](EmbeddedSetup& setup) {
                                 add_zoned_namespaces(setup);
                                 setup.subsystem.namespace_management.supported = true;
                               }};

/// An association with CC.CSS as given, and an I/O queue.
struct Selected {
  Selected(ControllerBench& bench, fabrics::CommandSetSelected css) : association(bench.associate({.enable = false})) {
    auto cc = record_from_integer<fabrics::Cc>(association.enabling_cc());
    cc.set(fabrics::cc::css, css);
    association.set_property(fabrics::property::cc, integer_of(cc));
    if (!association.wait_csts(1, 1, 20_s)) throw CannotArrange{"the controller is not ready with this CC.CSS"};
  }
  RawAssociation& association;
};

/// None of the set's commands does anything. Afterwards the host that selects it finds the zone as it was.
void does_nothing(Check& check, host::RawQueue& io, std::uint32_t nsid, std::uint64_t start) {
  check.refused(io.send(host::zone_send(nsid, ZoneSendAction::open, start)).wait(), "Zone Management Send");
  check.refused(io.send(host::zone_report(nsid, start, 128), 128).wait(), "Zone Management Receive");
}

}  // namespace

CONFORMANCE_CASE(zoned_namespace_names_its_command_set, "nvme.zones.identify.csi", roles::controller, zoned_namespaces,
                 needs(has_zoned<plainly_zoned>)) {
  ZoneScene scene(bench, check);
  // That a host found it so says that the product can; the list of descriptors is read once more.
  const Bytes page = page_of(check, scene.admin(), host::identify(nvme::Cns::namespace_id_descriptors, scene.nsid()));
  nvme::NamespaceIdWalk walk{page};
  int csi = -1;
  for (nvme::NamespaceId id; walk.next(id);) {
    if (id.type == nvme::NamespaceIdType::csi && !id.id.empty()) csi = id.id[0];
  }
  check.equal("CSI of the namespace", csi, int{kZonedSet});
}

CONFORMANCE_CASE(list_of_zoned_namespaces_has_just_those, "nvme.zones.identify.list", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  const auto command = identify_zoned(nvme::Cns::command_set_active_namespace_list);
  const auto reply = scene.admin().send(command, nvme::kIdentifySize).wait();
  check.precondition_success(reply, "Identify of CNS 07h");
  const auto ids = nvme::read_namespace_list(reply.data);
  for (const host::NamespaceFacts& facts : bench.declared().zoned_namespaces) {
    check.that(std::find(ids.begin(), ids.end(), facts.nsid) != ids.end(), "the list has each zoned namespace");
  }
  for (const host::NamespaceFacts& facts : bench.declared().namespaces) {
    check.that(std::find(ids.begin(), ids.end(), facts.nsid) == ids.end(), "the list has no other namespace");
  }
}

CONFORMANCE_CASE(combination_has_zones, "nvme.zones.identify.combination", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  auto command = host::identify(nvme::Cns::command_set_combinations);
  command.set(nvme::identify_sqe::cntid, 0xFFFF);
  const Bytes page = page_of(check, scene.admin(), command);
  bool has = false;
  for (std::size_t i = 0; i < nvme::kCommandSetCombinationsMax; ++i) {
    has = has || (nvme::command_set_combination(page, i) >> kZonedSet & 1) != 0;
  }
  check.that(has, "a combination has the bit of the Zoned Namespace command set", "none has");
}

CONFORMANCE_CASE(zoned_page_is_of_zoned_namespaces, "nvme.zones.identify.other-set", roles::controller, zoned_namespaces, zones,
                 needs(has_namespace)) {
  ZoneScene scene(bench, check);
  const auto reply = scene.admin().send(identify_zoned(nvme::Cns::command_set_namespace, bench.nsid()), nvme::kIdentifySize).wait();
  check.status(reply, sc::invalid_io_command_set, "the page of a namespace that is not zoned");
}

CONFORMANCE_CASE(zoned_namespace_consists_of_zones, "nvme.zones.identify.size", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  const Bytes page = page_of(check, scene.admin(), identify_zoned(nvme::Cns::command_set_namespace, scene.nsid()));
  const auto format = element<nvme::LbaFormatExtension>(page, nvme::id_ns_zoned::lbafe, scene.facts.lba_format);
  const std::uint64_t size = format.get(nvme::lba_format_extension::zsze);
  check.require(size != 0, "ZSZE is not 0", "it is");
  check.equal("blocks behind the last whole zone", scene.facts.blocks % size, 0u);
}

CONFORMANCE_CASE(open_zones_are_active_zones, "nvme.zones.identify.resources", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  const Bytes page = page_of(check, scene.admin(), identify_zoned(nvme::Cns::command_set_namespace, scene.nsid()));
  const View<nvme::IdentifyNamespaceZoned> zoned{page};
  const bool within = zoned.get(nvme::id_ns_zoned::mor) <= zoned.get(nvme::id_ns_zoned::mar);
  check.that(within, "MOR is at most MAR", "it is more");
}

CONFORMANCE_CASE(append_limit_is_within_mdts, "nvme.zones.identify.append-limit", roles::controller, zoned_namespaces, zones,
                 needs(limits_transfers)) {
  ZoneScene scene(bench, check);
  const Bytes page = page_of(check, scene.admin(), identify_zoned(nvme::Cns::command_set_controller));
  const unsigned zasl = View<nvme::IdentifyControllerZoned>{page}.get(nvme::id_ctrl_zoned::zasl);
  check.that(zasl <= bench.declared().identify().get(nvme::id_ctrl::mdts), "ZASL is at most MDTS", "it is more");
}

CONFORMANCE_CASE(effects_log_has_zone_management, "nvme.zones.effects", roles::controller, zoned_namespaces, zones,
                 needs(claims_lpa<nvme::lpa_bits::commands_effects>)) {
  ZoneScene scene(bench, check);
  auto command = host::get_log(nvme::LogPage::commands_effects, nvme::CommandEffects::size);
  command.set(nvme::get_log_sqe::csi, kZonedSet);
  const auto reply = scene.admin().send(command, nvme::CommandEffects::size).wait();
  check.require_success(reply, "Get Log Page");
  for (const nvme::IoOpcode opcode : {nvme::IoOpcode::zone_management_send, nvme::IoOpcode::zone_management_receive}) {
    const auto code = static_cast<std::size_t>(opcode);
    const auto effect = element<nvme::CommandEffect>(reply.data, nvme::command_effects::iocs, code);
    check.that(effect.get(nvme::command_effect::csupp),
               std::string(nvme::io_opcode_name(static_cast<std::uint8_t>(opcode))) + " is supported", "it is not");
  }
}

CONFORMANCE_CASE(zone_commands_are_for_zoned_namespaces, "nvme.zones.commands.other-set", roles::controller, zoned_namespaces, zones,
                 needs(has_namespace)) {
  ZoneScene scene(bench, check);
  does_nothing(check, *scene.io, bench.nsid(), 0);
}

CONFORMANCE_CASE(zone_commands_need_their_set_selected, "nvme.zones.commands.unselected", roles::controller, zoned_namespaces, zones) {
  std::uint64_t start = 0;
  std::uint32_t nsid = 0;
  {
    ZoneScene scene(bench, check);
    start = scene.zone(0);
    nsid = scene.nsid();
  }
  Selected host(bench, fabrics::CommandSetSelected::nvm);
  does_nothing(check, host.association.open_io(), nsid, start);
}

CONFORMANCE_CASE(zone_commands_need_their_set_in_the_profile, "nvme.zones.commands.profile", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  const auto without = combination_without_zones(combinations(check, scene.admin()));
  if (!without) throw CannotArrange{"every combination has zones"};
  auto& other = bench.associate();
  const auto set = other.admin().send(host::set_features(nvme::FeatureId::io_command_set_profile, *without)).wait();
  check.precondition_success(set, "Set Features");
  does_nothing(check, other.open_io(), scene.nsid(), scene.zone(0));
}

CONFORMANCE_CASE(combination_that_is_not_there_is_refused, "nvme.zones.profile.rejected", roles::controller, zoned_namespaces, zones) {
  ZoneScene scene(bench, check);
  const Bytes page = combinations(check, scene.admin());
  for (std::uint32_t i = 0; i < nvme::kCommandSetCombinationsMax; ++i) {
    if (nvme::command_set_combination(page, i) != 0) continue;
    const auto set = scene.admin().send(host::set_features(nvme::FeatureId::io_command_set_profile, i)).wait();
    check.status(set, sc::io_command_set_combination_rejected, "the first combination that is not there");
    return;
  }
  throw CannotArrange{"all combinations are there"};
}

CONFORMANCE_CASE(effects_log_is_of_command_sets_that_are_there, "nvme.zones.effects.unknown", roles::controller, zoned_namespaces, zones,
                 needs(claims_lpa<nvme::lpa_bits::commands_effects>), reaches{"log.csi"}) {
  ZoneScene scene(bench, check);
  constexpr std::uint8_t kReservedSet = 0x2F;
  auto command = host::get_log(nvme::LogPage::commands_effects, nvme::CommandEffects::size);
  command.set(nvme::get_log_sqe::csi, kReservedSet);
  check.refused(scene.admin().send(command, nvme::CommandEffects::size).wait(), "Get Log Page 05h of CSI 2Fh");
}

CONFORMANCE_CASE(attachment_needs_the_command_set_enabled, "nvme.namespace.attach.command-set", roles::controller, zones_to_attach, zones,
                 reaches{"namespace.attachment.command_set"}) {
  ZoneScene scene(bench, check);
  Manager other(bench, check);
  const std::vector<std::uint16_t> alone = {other.cntlid()};
  check.precondition_success(other.detach(scene.nsid(), alone), "Namespace Attachment, detach");
  const auto without = combination_without_zones(combinations(check, scene.admin()));
  check.precondition(without.has_value(), "a combination of command sets has no zones");
  const auto set = host::set_features(nvme::FeatureId::io_command_set_profile, *without);
  check.precondition_success(other.admin().send(set).wait(), "Set Features");
  check.status(other.attach(scene.nsid(), alone), sc::io_command_set_not_enabled);
}

}  // namespace fb::conformance
