// Reserved bits of the Identify data structures.
#include "conformance/cases/nvme/scene.h"
#include "conformance/cases/reserved.h"

namespace fb::conformance {

namespace {

using nvme::Cns;

// What Base 2.2 reserves of Identify Controller. Bytes 135 to 143, 388 to 395 and 1807 are left out: 2.3 has fields there, and
// a product may have them before it declares that revision.
constexpr ReservedBits kController[] = {
    {"CMIC", 76, 1, 0xF0},     {"OAES", 92, 4, 0x77C404FF}, {"CTRATT", 96, 4, 0xFFF00000}, {"BPCAP", 102, 1, 0xF8},
    reserved_bytes(103, 103),  reserved_bytes(108, 109),    {"PLSI", 110, 1, 0xFC},        {"CRCAP", 134, 1, 0xFC},
    reserved_bytes(144, 252),  {"NVMSR", 253, 1, 0xFC},     {"MEC", 255, 1, 0xFC},         {"OACS", 256, 2, 0xF000},
    {"FRMW", 260, 1, 0xC0},    {"LPA", 261, 1, 0x80},       {"AVSCC", 264, 1, 0xFE},       {"APSTA", 265, 1, 0xFE},
    {"RPMBS", 312, 4, 0xFFC0}, {"DSTO", 318, 1, 0xFC},      {"HCTMA", 322, 2, 0xFFFE},     {"SANICAP", 328, 4, 0x1FFFFFF0},
    {"ANACAP", 343, 1, 0x20},  {"KPIOC", 358, 1, 0xFC},     reserved_bytes(359, 359),      reserved_bytes(362, 367),
    {"TMPTHHA", 384, 1, 0xF8}, reserved_bytes(385, 385),    reserved_bytes(396, 511),      {"ONCS", 520, 2, 0xE000},
    {"FUSES", 522, 2, 0xFFFE}, {"FNA", 524, 1, 0xF0},       {"VWC", 525, 1, 0xF8},         {"ICSVSCC", 530, 1, 0xFE},
    {"NWPC", 531, 1, 0xF8},    {"CDFS", 534, 2, 0xFFE0},    {"SGLS", 536, 4, 0xFFC000F8},  {"TRATTR", 576, 1, 0xF8},
    reserved_bytes(577, 577),  reserved_bytes(588, 767),    reserved_bytes(1024, 1791),    {"FCATT", 1802, 1, 0xFC},
    {"OFCS", 1804, 2, 0xFFFE}, reserved_bytes(1808, 2047),
};

// Of a power state descriptor.
constexpr ReservedBits kPowerState[] = {
    reserved_bytes(2, 2),         {"MXPS and NOPS", 3, 1, 0xFC}, {"RRT", 12, 1, 0xE0},   {"RRL", 13, 1, 0xE0},
    {"RWT", 14, 1, 0xE0},         {"RWL", 15, 1, 0xE0},          {"IPS", 18, 1, 0x3F},   reserved_bytes(19, 19),
    {"APW and APS", 22, 1, 0x38}, {"EPFVTS", 27, 1, 0xF0},       reserved_bytes(28, 31),
};

// Of Identify Namespace of the NVM command set 1.2.
constexpr ReservedBits kNamespace[] = {
    {"FLBAS", 26, 1, 0x80}, {"MC", 27, 1, 0xFC},     {"DPC", 28, 1, 0xE0},    {"DPS", 29, 1, 0xF0},
    {"NMIC", 30, 1, 0xFC},  {"DLFEAT", 33, 1, 0xE0}, {"KPIOS", 81, 1, 0xFC},  reserved_bytes(83, 83),
    reserved_bytes(88, 91), reserved_bytes(96, 98),  {"NSATTR", 99, 1, 0xFE},
};
constexpr std::uint32_t kFormatReserved = 0xFC000000;

// Of the page that no command set owns.
constexpr ReservedBits kIndependent[] = {
    {"NSFEAT", 0, 1, 0xC7}, {"NMIC", 1, 1, 0xFC}, {"NSATTR", 8, 1, 0xFE}, reserved_bytes(9, 9), {"NSTAT", 14, 1, 0xF8},
};

// Of the NVM command set's own page of a namespace.
constexpr ReservedBits kNamespaceNvm[] = {
    {"PIC", 8, 1, 0xF0},
    {"PIFA", 9, 1, 0xF8},
    reserved_bytes(10, 11),
    reserved_bytes(296, 4095),
};

// And of a controller. KPIOCAP and AOCS came with version 1.1 of it.
constexpr ReservedBits kControllerNvm[] = {
    {"KPIOCAP", 16, 1, 0xFC},
    {"AOCS", 18, 2, 0xFFFE},
    reserved_bytes(25, 4095),
};

host::RawReply identify(RawAssociation& association, Cns cns, std::uint32_t nsid = 0) {
  return association.admin().send(host::identify(cns, nsid), nvme::kIdentifySize).wait();
}

std::optional<std::string> discovery_service(const Declared& declared) {
  if (!declared.known || declared.discovery) return std::nullopt;
  return "there is no discovery service at this port";
}

std::uint32_t declared_version(RawAssociation& association) {
  return static_cast<std::uint32_t>(association.property(fabrics::property::vs));
}

}  // namespace

CONFORMANCE_CASE(identify_controller_reserves_what_is_reserved, "nvme.identify.controller.reserved", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto reply = identify(association, Cns::controller);
  check.require_success(reply);
  check_reserved(check, "Identify Controller", reply.data, kController, declared_version(association));
}

CONFORMANCE_CASE(discovery_identify_reserves_what_is_reserved, "nvme.identify.discovery.reserved", roles::controller,
                 needs(discovery_service)) {
  RawAssociation& association = bench.associate({.subnqn = std::string(fabrics::kDiscoveryNqn)});
  const auto reply = identify(association, Cns::controller);
  check.require_success(reply);
  check_reserved(check, "Identify Controller", reply.data, kController, declared_version(association));
}

CONFORMANCE_CASE(power_states_reserve_what_is_reserved, "nvme.identify.power-states.reserved", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto reply = identify(association, Cns::controller);
  check.require_success(reply);
  const View<nvme::IdentifyController> id{reply.data};
  const std::size_t states = id.get(nvme::id_ctrl::npss).count();
  check.require(states <= 32, "NPSS counts at most 32 power states", words(states));
  const std::uint32_t vs = declared_version(association);
  const ByteView descriptors = id.get(nvme::id_ctrl::psd);
  for (std::size_t i = 0; i < states; ++i) {
    const ByteView one = descriptors.subspan(i * nvme::PowerState::size, nvme::PowerState::size);
    check_reserved(check, fmt::format("power state {}", i), one, kPowerState, vs);
  }
}

CONFORMANCE_CASE(identify_namespace_reserves_what_is_reserved, "nvme.identify.namespace.reserved", roles::controller,
                 needs(has_namespace)) {
  RawAssociation& association = bench.associate();
  const auto reply = identify(association, Cns::identify_namespace, bench.nsid());
  check.require_success(reply);
  const std::uint32_t vs = declared_version(association);
  check_reserved(check, "Identify Namespace", reply.data, kNamespace, vs);
  const View<nvme::IdentifyNamespace> ns{reply.data};
  const std::uint64_t formats = ns.get(nvme::id_ns::nlbaf).count() + ns.get(nvme::id_ns::nulbaf);
  for (unsigned i = 0; i < std::min<std::uint64_t>(formats, nvme::kLbaFormatsMax); ++i) {
    const ReservedBits row[] = {{"RP", static_cast<std::uint16_t>(nvme::id_ns::lbaf.offset + 4 * i), 4, kFormatReserved}};
    check_reserved(check, fmt::format("LBA format {}", i), reply.data, row, vs);
  }
}

CONFORMANCE_CASE(independent_identify_reserves_what_is_reserved, "nvme.identify.independent.reserved", roles::controller,
                 needs(has_namespace), needs(is_version_2)) {
  RawAssociation& association = bench.associate();
  const auto reply = identify(association, Cns::independent_namespace, bench.nsid());
  check.precondition_success(reply, "Identify of the page that no command set owns");
  const std::uint32_t vs = declared_version(association);
  check_reserved(check, "the independent Identify Namespace", reply.data, kIndependent, vs);
}

CONFORMANCE_CASE(command_set_pages_reserve_what_is_reserved, "nvme.identify.command-set.reserved", roles::controller, needs(has_namespace),
                 needs(is_version_2)) {
  RawAssociation& association = bench.associate();
  const std::uint32_t vs = declared_version(association);
  const auto ns = identify(association, Cns::command_set_namespace, bench.nsid());
  const auto controller = identify(association, Cns::command_set_controller);
  check.precondition(ns.ok() || controller.ok(), "the NVM command set has an Identify page of its own");
  if (ns.ok()) check_reserved(check, "the NVM command set's Identify Namespace", ns.data, kNamespaceNvm, vs);
  if (controller.ok()) check_reserved(check, "the NVM command set's Identify Controller", controller.data, kControllerNvm, vs);
}

CONFORMANCE_CASE(namespace_descriptors_reserve_what_is_reserved, "nvme.identify.descriptors-reserved", roles::controller,
                 needs(has_namespace)) {
  RawAssociation& association = bench.associate();
  const auto reply = identify(association, Cns::namespace_id_descriptors, bench.nsid());
  check.require_success(reply);
  std::size_t at = 0;
  while (at + 4 <= reply.data.size() && reply.data[at + 1] != 0) {
    check.equal(fmt::format("bytes 3:2 of the descriptor of type {}", reply.data[at]), load_le<std::uint16_t>(&reply.data[at + 2]), 0);
    at += 4u + reply.data[at + 1];
  }
  const ByteView rest = ByteView{reply.data}.subspan(std::min(at, reply.data.size()));
  check.that(std::all_of(rest.begin(), rest.end(), [](std::uint8_t byte) { return byte == 0; }), "zeroes follow the last descriptor");
}

CONFORMANCE_CASE(features_reserve_what_is_reserved, "nvme.features.reserved", roles::controller) {
  struct Feature {
    nvme::FeatureId fid;
    std::uint32_t mask;
  };
  constexpr Feature kFeatures[] = {{nvme::FeatureId::arbitration, 0x000000F8},
                                   {nvme::FeatureId::power_management, 0xFFFFFF00},
                                   {nvme::FeatureId::temperature_threshold, 0xFE000000},
                                   {nvme::FeatureId::volatile_write_cache, 0xFFFFFFFE},
                                   {nvme::FeatureId::async_event_configuration, 0x07F00000}};
  RawAssociation& association = bench.associate();
  const std::uint32_t vs = declared_version(association);
  bool any = false;
  for (const Feature& feature : kFeatures) {
    const auto reply = association.admin().send(host::get_features(feature.fid)).wait();
    if (!reply.ok()) continue;
    any = true;
    const ReservedBits row[] = {{nvme::feature_name(static_cast<std::uint8_t>(feature.fid)), 0, 4, feature.mask}};
    check_reserved(check, "Get Features", reply.cqe.bytes(), row, vs);
  }
  check.precondition(any, "Get Features tells of one of these features");
}

}  // namespace fb::conformance
