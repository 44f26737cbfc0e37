// Fields of Identify that have to agree with each other, with the property that they repeat, or with what the subsystem does.
#include <fmt/format.h>

#include "conformance/cases/nvme/scene.h"

namespace fb::conformance {

namespace {

using nvme::Cns;
namespace id = nvme::id_ctrl;
namespace ns = nvme::id_ns;
namespace own = nvme::id_ns_independent;

// Bits without a name elsewhere.
constexpr std::uint32_t kReadRecoveryLevels = 1u << 3;
constexpr std::uint32_t kFlexibleDataPlacement = 1u << 19;
constexpr std::uint8_t kAnaGroupIdManaged = nvme::anacap_bits::group_id_managed;
constexpr std::uint32_t kEnduranceEvents = 1u << 14, kAnaEvents = 1u << 11;
constexpr std::uint32_t kDiscoveryEvents = 1u << 31;

host::RawReply identify(RawAssociation& association, Cns cns, std::uint32_t nsid = 0) {
  return association.admin().send(host::identify(cns, nsid), nvme::kIdentifySize).wait();
}

Bytes controller_page(Check& check, RawAssociation& association) {
  auto reply = identify(association, Cns::controller);
  check.require_success(reply, "Identify Controller");
  return std::move(reply.data);
}

/// "A without B".
void implies(Check& check, bool first, bool second, std::string_view what) { check.that(!first || second, what); }

bool all_zero(ByteView data) {
  return std::all_of(data.begin(), data.end(), [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

CONFORMANCE_CASE(temperature_thresholds_ascend, "nvme.identify.temperatures", roles::controller) {
  const Bytes page = controller_page(check, bench.associate());
  const View<nvme::IdentifyController> controller{page};
  const unsigned warning = controller.get(id::wctemp), critical = controller.get(id::cctemp);
  // 0 says that the threshold is not reported.
  check.that(warning == 0 || critical == 0 || warning <= critical, "WCTEMP is not above CCTEMP",
             "WCTEMP " + words(warning) + ", CCTEMP " + words(critical));
  const unsigned least = controller.get(id::mntmt), most = controller.get(id::mxtmt);
  check.that(least == 0 || most == 0 || least <= most, "MNTMT is not above MXTMT", "MNTMT " + words(least) + ", MXTMT " + words(most));
}

CONFORMANCE_CASE(controller_attributes_agree_with_their_fields, "nvme.identify.attributes", roles::controller) {
  const Bytes page = controller_page(check, bench.associate());
  const View<nvme::IdentifyController> controller{page};
  const std::uint32_t ctratt = controller.get(id::ctratt);
  const std::uint32_t oncs = controller.get(id::oncs), oacs = controller.get(id::oacs);
  const auto attribute = [&](std::uint32_t bit) { return (ctratt & bit) != 0; };
  implies(check, (oncs & nvme::oncs_bits::reservations) != 0, attribute(nvme::ctratt_bits::host_id_128),
          "CTRATT.HIDS is set with ONCS.RESERVS: hosts of Fabrics have identifiers of 128 bits");
  implies(check, attribute(nvme::ctratt_bits::namespace_granularity), (oacs & nvme::oacs_bits::namespace_management) != 0,
          "CTRATT.NG is set only with OACS.NMS");
  implies(check, attribute(nvme::ctratt_bits::multi_domain), controller.get(id::domainid) != 0, "DID is not 0 with CTRATT.MDS");
  implies(check, controller.get(id::domainid) != 0, attribute(nvme::ctratt_bits::multi_domain), "DID is 0 without CTRATT.MDS");
  implies(check, attribute(nvme::ctratt_bits::endurance_groups), controller.get(id::endgidmax) != 0, "ENDGIDMAX is not 0 with CTRATT.EGS");
  implies(check, attribute(nvme::ctratt_bits::nvm_sets), controller.get(id::nsetidmax) != 0, "NSETIDMAX is not 0 with CTRATT.NSETS");
  implies(check, attribute(kReadRecoveryLevels), (controller.get(id::rrls) & 0x8010) == 0x8010,
          "RRLS has levels 4 and 15 with CTRATT.RRLVLS");
  implies(check, attribute(kFlexibleDataPlacement), !attribute(nvme::ctratt_bits::fixed_capacity_management),
          "CTRATT.FCM is clear with CTRATT.FDPS");
}

CONFORMANCE_CASE(optional_events_belong_to_what_is_supported, "nvme.identify.events", roles::controller) {
  const Bytes page = controller_page(check, bench.associate());
  const View<nvme::IdentifyController> controller{page};
  const std::uint32_t oaes = controller.get(id::oaes);
  implies(check, (oaes & kAnaEvents) != 0, (controller.get(id::cmic) & nvme::cmic_bits::ana_reporting) != 0,
          "OAES.ANACN is set only with CMIC.ANARS");
  implies(check, (oaes & kEnduranceEvents) != 0, (controller.get(id::ctratt) & nvme::ctratt_bits::endurance_groups) != 0,
          "OAES.EGEAN is set only with CTRATT.EGS");
  check.equal("OAES.DLPCN of a controller that is no discovery controller", (oaes & kDiscoveryEvents) != 0, false);
}

CONFORMANCE_CASE(format_attributes_agree, "nvme.identify.format-attributes", roles::controller) {
  const Bytes page = controller_page(check, bench.associate());
  const View<nvme::IdentifyController> controller{page};
  const unsigned fna = controller.get(id::fna);
  const bool refuses_all = (fna & nvme::fna_bits::no_broadcast_format) != 0;
  implies(check, refuses_all, (fna & nvme::fna_bits::erase_all_namespaces) == 0, "FNA.SENS is clear with FNA.FNVMBS");
  implies(check, refuses_all, (fna & nvme::fna_bits::format_all_namespaces) == 0, "FNA.FNS is clear with FNA.FNVMBS");
  const unsigned nwpc = controller.get(id::nwpc);
  implies(check, (nwpc & ~unsigned{nvme::nwpc_bits::write_protect}) != 0, (nwpc & nvme::nwpc_bits::write_protect) != 0,
          "NWPC.WPUPCS and PWPS are clear without NWPC.NWPWPS");
  implies(check, (controller.get(id::anacap) & kAnaGroupIdManaged) != 0,
          (controller.get(id::oacs) & nvme::oacs_bits::namespace_management) != 0, "ANACAP.ANAGIDS is set only with OACS.NMS");
  const std::uint32_t sanicap = controller.get(id::sanicap);
  constexpr std::uint32_t kOperations = nvme::sanicap_bits::crypto_erase | nvme::sanicap_bits::block_erase | nvme::sanicap_bits::overwrite;
  implies(check, sanicap != 0, (sanicap & kOperations) != 0, "SANICAP is 0 where no sanitize operation is supported");
  check.that(sanicap >> 30 != 3, "SANICAP.NODMMAS is not reserved", "it is 11b");
}

CONFORMANCE_CASE(namespaces_of_several_controllers_are_shared, "nvme.identify.sharing", roles::controller, needs(has_namespace)) {
  RawAssociation& first = bench.associate();
  RawAssociation& second = bench.associate();
  check.precondition(second.cntlid() != first.cntlid(), "the two associations are with two controllers");
  const Bytes page = controller_page(check, first);
  check.that((View<nvme::IdentifyController>{page}.get(id::cmic) & nvme::cmic_bits::multiple_controllers) != 0,
             "CMIC.MCTRS is set where there are two controllers");
  const auto attached = [&](RawAssociation& association) {
    const auto list = identify(association, Cns::active_namespace_list);
    check.precondition_success(list, "the active namespace list");
    return nvme::read_namespace_list(list.data);
  };
  const std::vector<std::uint32_t> here = attached(first), there = attached(second);
  bool any = false;
  for (const std::uint32_t nsid : here) {
    if (std::find(there.begin(), there.end(), nsid) == there.end()) continue;
    any = true;
    const auto space = identify(first, Cns::identify_namespace, nsid);
    if (!space.ok()) continue;  // of another command set
    check.that((View<nvme::IdentifyNamespace>{space.data}.get(ns::nmic) & nvme::nmic_bits::shared) != 0,
               fmt::format("NMIC.SHRNS of namespace {}, which two controllers have, is set", nsid));
  }
  check.precondition(any, "a namespace is attached to both controllers");
}

CONFORMANCE_CASE(identify_namespace_agrees_with_the_controller, "nvme.identify.namespace.agreement", roles::controller,
                 needs(has_namespace)) {
  RawAssociation& association = bench.associate();
  const Bytes page = controller_page(check, association);
  const View<nvme::IdentifyController> controller{page};
  const auto reply = identify(association, Cns::identify_namespace, bench.nsid());
  check.require_success(reply, "Identify Namespace");
  const View<nvme::IdentifyNamespace> space{reply.data};
  const std::uint32_t ctratt = controller.get(id::ctratt);
  const bool ana = (controller.get(id::cmic) & nvme::cmic_bits::ana_reporting) != 0;
  const std::uint32_t group = space.get(ns::anagrpid);
  if (ana) {
    check.between("ANAGRPID", group, 1u, std::max(controller.get(id::anagrpmax), 1u));
  } else {
    check.equal("ANAGRPID without ANA reporting", group, 0u);
  }
  if ((ctratt & nvme::ctratt_bits::nvm_sets) == 0) check.equal("NVMSETID without NVM sets", space.get(ns::nvmsetid), 0);
  if ((ctratt & nvme::ctratt_bits::endurance_groups) == 0) check.equal("ENDGID without endurance groups", space.get(ns::endgid), 0);
  implies(check, space.get(ns::rescap) != 0, (controller.get(id::oncs) & nvme::oncs_bits::reservations) != 0,
          "RESCAP is 0 without ONCS.RESERVS");
  const unsigned nmic = space.get(ns::nmic);
  implies(check, (nmic & nvme::nmic_bits::dispersed) != 0, (nmic & nvme::nmic_bits::shared) != 0, "NMIC.SHRNS is set with NMIC.DISNS");
  const unsigned type = space.get(ns::dps) & nvme::dps_bits::type_mask;
  check.that(type <= 3, "DPS names a type of protection information", words(type));
  if (type >= 1 && type <= 3) {
    check.that((space.get(ns::dpc) >> (type - 1) & 1) != 0, "DPC has the type of protection information that is in use",
               "type " + words(type) + " is in use");
    const unsigned metadata = nvme::lba_format_at(reply.data, nvme::format_in_use(reply.data)).get(nvme::lba_format::ms);
    check.that(metadata >= 8, "a format with protection information has metadata for it", words(metadata) + " bytes");
  }
  if (space.get(ns::flbas_extended) && nvme::lba_format_at(reply.data, nvme::format_in_use(reply.data)).get(nvme::lba_format::ms) != 0) {
    check.that((space.get(ns::mc) & nvme::mc_bits::extended) != 0, "MC.MTELBAS is set where metadata is part of the block");
  }
  const std::uint64_t formats = space.get(ns::nlbaf).count() + space.get(ns::nulbaf);
  for (unsigned i = 0; i < std::min<std::uint64_t>(formats, nvme::kLbaFormatsMax); ++i) {
    const unsigned shift = nvme::lba_format_at(reply.data, i).get(nvme::lba_format::lbads);
    check.that(shift == 0 || shift >= 9, fmt::format("LBADS of format {} is at least 9, or 0 where it is not available", i), words(shift));
  }
}

CONFORMANCE_CASE(independent_identify_repeats_the_namespace, "nvme.identify.independent.agreement", roles::controller, needs(has_namespace),
                 needs(is_version_2)) {
  RawAssociation& association = bench.associate();
  const auto reply = identify(association, Cns::independent_namespace, bench.nsid());
  check.precondition_success(reply, "Identify of the page that no command set owns");
  const auto classic = identify(association, Cns::identify_namespace, bench.nsid());
  check.precondition_success(classic, "Identify Namespace");
  const View<nvme::IdentifyNamespaceIndependent> one{reply.data};
  const View<nvme::IdentifyNamespace> space{classic.data};
  check.equal("NMIC", one.get(own::nmic), space.get(ns::nmic));
  check.equal("RESCAP", one.get(own::rescap), space.get(ns::rescap));
  check.equal("FPI", one.get(own::fpi) & 0x80, space.get(ns::fpi) & 0x80);
  check.equal("ANAGRPID", one.get(own::anagrpid), space.get(ns::anagrpid));
  check.equal("NSATTR", one.get(own::nsattr), space.get(ns::nsattr));
  check.equal("NVMSETID", one.get(own::nvmsetid), space.get(ns::nvmsetid));
  check.equal("ENDGID", one.get(own::endgid), space.get(ns::endgid));
  check.that((one.get(own::nstat) >> 1 & 3) != 1, "NSTAT.IOI is not reserved", "it is 01b");
}

CONFORMANCE_CASE(no_identifier_of_a_namespace_is_zero, "nvme.identify.names-nonzero", roles::controller, needs(has_namespace)) {
  const auto reply = identify(bench.associate(), Cns::namespace_id_descriptors, bench.nsid());
  check.require_success(reply);
  nvme::NamespaceIdWalk walk(reply.data);
  nvme::NamespaceId one;
  std::vector<unsigned> types;
  bool named = false;
  while (walk.next(one)) {
    const auto type = static_cast<unsigned>(one.type);
    check.that(std::find(types.begin(), types.end(), type) == types.end(), "each type of descriptor comes once",
               "type " + words(type) + " comes twice");
    types.push_back(type);
    if (type < 1 || type > 3) continue;
    named = true;
    static constexpr std::string_view kNames[] = {"EUI64", "NGUID", "UUID"};
    check.that(!all_zero(one.id), fmt::format("the {} is not 0", kNames[type - 1]));
  }
  check.that(named, "a descriptor of type 1, 2 or 3 names the namespace");
}

CONFORMANCE_CASE(identify_controller_ignores_cntid, "nvme.identify.cntid-unused", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto usual = identify(association, Cns::controller);
  check.precondition_success(usual, "Identify Controller");
  for (const std::uint16_t cntid : {std::uint16_t{1}, std::uint16_t{0x5A5A}, std::uint16_t{0xFFFF}}) {
    auto command = host::identify(Cns::controller);
    command.set(nvme::identify_sqe::cntid, cntid);
    const auto reply = association.admin().send(command, nvme::kIdentifySize).wait();
    if (!check.success(reply, fmt::format("Identify Controller with CNTID {}", cntid))) continue;
    check.equal("CNTLID of the page", View<nvme::IdentifyController>{reply.data}.get(id::cntlid), association.cntlid());
  }
}

}  // namespace fb::conformance
