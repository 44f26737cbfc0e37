// Identify: what a controller says of itself and of its namespaces.
#include <fmt/format.h>

#include "conformance/cases/nvme/scene.h"
#include "wire/fabrics/transports.h"

namespace fb::conformance {

namespace {

using nvme::Cns;

constexpr std::size_t kPage = nvme::kIdentifySize;

host::RawReply identify(RawAssociation& association, Cns cns, std::uint32_t nsid = 0) {
  return association.admin().send(host::identify(cns, nsid), kPage).wait();
}

bool all_zero(ByteView data) {
  return std::all_of(data.begin(), data.end(), [](std::uint8_t byte) { return byte == 0; });
}

/// The list after `start`: ascending, above it, and nothing behind its end.
std::vector<std::uint32_t> check_active_list(Check& check, const host::RawReply& reply, std::uint32_t start) {
  check.require_success(reply);
  const std::vector<std::uint32_t> ids = nvme::read_namespace_list(reply.data);
  std::uint32_t before = start;
  for (const std::uint32_t id : ids) {
    check.that(id > before, "each identifier is above the one before it and the one asked for",
               std::to_string(id) + " comes after " + std::to_string(before));
    before = id;
  }
  check.that(all_zero(ByteView{reply.data}.subspan(ids.size() * 4)), "zeroes follow the list");
  return ids;
}

}  // namespace

CONFORMANCE_CASE(identify_names_the_connected_controller, "nvme.identify.controller.cntlid", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto reply = identify(association, Cns::controller);
  check.require_success(reply);
  const View<nvme::IdentifyController> id{reply.data};
  check.equal("CNTLID", id.get(nvme::id_ctrl::cntlid), association.cntlid());
  check.equal("SUBNQN", text_of(id.get(nvme::id_ctrl::subnqn)), bench.nqn());
}

CONFORMANCE_CASE(identify_fills_its_page, "nvme.identify.whole", roles::controller) {
  RawAssociation& association = bench.associate();
  // What is not written keeps what was there before.
  Bytes pages[2];
  for (const bool second : {false, true}) {
    host::RawCommand command{.sqe = host::as_sqe(host::identify(Cns::controller)),
                             .data = Bytes(kPage, second ? std::uint8_t{0x5A} : std::uint8_t{0xA5}),
                             .direction = transport::Direction::from_controller};
    const auto reply = association.admin().send_command(std::move(command)).wait();
    check.require_success(reply);
    pages[second] = reply.data;
  }
  std::size_t untouched = 0;
  for (std::size_t at = 0; at < kPage; ++at) untouched += pages[0][at] == 0xA5 && pages[1][at] == 0x5A;
  check.equal("bytes of the page that were not written", untouched, 0u);
}

CONFORMANCE_CASE(identify_tells_of_firmware_slots, "nvme.identify.firmware-slots", roles::controller) {
  const auto reply = identify(bench.associate(), Cns::controller);
  check.require_success(reply);
  const unsigned frmw = View<nvme::IdentifyController>{reply.data}.get(nvme::id_ctrl::frmw);
  check.between("firmware slots of FRMW", frmw >> nvme::frmw_bits::slots_shift & 7, 1u, 7u);
}

CONFORMANCE_CASE(identify_strings_are_ascii, "nvme.identify.controller.text", roles::controller) {
  const auto reply = identify(bench.associate(), Cns::controller);
  check.require_success(reply);
  const View<nvme::IdentifyController> id{reply.data};
  const auto judge = [&](const std::string& name, ByteView field) {
    const bool ascii = std::all_of(field.begin(), field.end(), [](std::uint8_t byte) { return byte >= 0x20 && byte <= 0x7E; });
    check.that(ascii, name + " is ASCII, filled up with spaces", words(field));
  };
  judge("the serial number", id.get(nvme::id_ctrl::sn));
  judge("the model number", id.get(nvme::id_ctrl::mn));
  judge("the firmware revision", id.get(nvme::id_ctrl::fr));
}

CONFORMANCE_CASE(identify_version_is_that_of_the_property, "nvme.identify.controller.version", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto vs = association.property(fabrics::property::vs);
  const auto reply = identify(association, Cns::controller);
  check.require_success(reply);
  check.equal("VER", View<nvme::IdentifyController>{reply.data}.get(nvme::id_ctrl::ver), static_cast<std::uint32_t>(vs));
}

CONFORMANCE_CASE(identify_entry_sizes_are_those_of_the_nvm_command_set, "nvme.identify.controller.entry-sizes", roles::controller) {
  const auto reply = identify(bench.associate(), Cns::controller);
  check.require_success(reply);
  const View<nvme::IdentifyController> id{reply.data};
  check.equal("required submission queue entry size, 2^n", id.get(nvme::id_ctrl::sqes_min), 6u);
  check.that(id.get(nvme::id_ctrl::sqes_max) >= 6, "the largest is not smaller", words(id.get(nvme::id_ctrl::sqes_max)));
  check.equal("required completion queue entry size, 2^n", id.get(nvme::id_ctrl::cqes_min), 4u);
  check.that(id.get(nvme::id_ctrl::cqes_max) >= 4, "the largest is not smaller", words(id.get(nvme::id_ctrl::cqes_max)));
}

CONFORMANCE_CASE(identify_announces_possible_capsules, "nvme.identify.controller.fabrics", roles::controller) {
  const auto reply = identify(bench.associate(), Cns::controller);
  check.require_success(reply);
  const View<nvme::IdentifyController> id{reply.data};
  check.that(id.get(nvme::id_ctrl::ioccsz) >= 4, "IOCCSZ is at least 4", words(id.get(nvme::id_ctrl::ioccsz)));
  // One unit is the completion alone, and RDMA has nothing else in a response capsule.
  const auto iorcsz = id.get(nvme::id_ctrl::iorcsz);
  if (bench.transport() == fabrics::kRdma) {
    check.equal("IORCSZ", iorcsz, 1);
  } else {
    check.that(iorcsz >= 1, "IORCSZ is at least 1", words(iorcsz));
  }
  check.that(id.get(nvme::id_ctrl::maxcmd) != 0, "MAXCMD is not 0");
}

CONFORMANCE_CASE(identify_announces_keyed_sgls, "nvme.identify.controller.sgls", roles::controller, over_rdma) {
  const auto reply = identify(bench.associate(), Cns::controller);
  check.require_success(reply);
  const std::uint32_t sgls = View<nvme::IdentifyController>{reply.data}.get(nvme::id_ctrl::sgls);
  check.equal("SGLS bits 1:0", sgls & 3, nvme::sgls_bits::supported);
  check.that((sgls & nvme::sgls_bits::keyed) != 0, "SGLS bit 2 (keyed) is set");
}

CONFORMANCE_CASE(identify_refuses_an_unknown_cns, "nvme.identify.unknown-cns", roles::controller, reaches{"identify.cns"}) {
  constexpr auto kReservedCns = static_cast<Cns>(0x7F);
  check.status(identify(bench.associate(), kReservedCns), sc::invalid_field);
}

CONFORMANCE_CASE(active_namespace_list_ascends_behind_its_start, "nvme.identify.active-list", roles::controller, needs(has_namespace)) {
  RawAssociation& association = bench.associate();
  const auto all = check_active_list(check, identify(association, Cns::active_namespace_list), 0);
  check.require(!all.empty(), "the first active namespace is listed");
  check.precondition(all.size() < nvme::kNamespaceListMax, "all active namespaces fit into one list");
  bench.step("the list behind the first namespace");
  const auto rest = check_active_list(check, identify(association, Cns::active_namespace_list, all.front()), all.front());
  check.equal("identifiers behind the first", rest.size(), all.size() - 1);
}

CONFORMANCE_CASE(listed_namespaces_are_known, "nvme.identify.active-known", roles::controller) {
  constexpr std::size_t kTried = 16;
  RawAssociation& association = bench.associate();
  const auto list = identify(association, Cns::active_namespace_list);
  check.precondition_success(list, "the active namespace list");
  const std::vector<std::uint32_t> ids = nvme::read_namespace_list(list.data);
  check.precondition(!ids.empty(), "there is an active namespace");
  for (std::size_t i = 0; i < std::min(ids.size(), kTried); ++i) {
    const auto reply = identify(association, Cns::identify_namespace, ids[i]);
    check.require(reply.answered(), "Identify of an active namespace is answered");
    check.that(!nvme::same_code(reply.status(), sc::invalid_namespace_or_format),
               fmt::format("Identify knows namespace {}, which is active", ids[i]), nvme::to_string(reply.status()));
  }
}

CONFORMANCE_CASE(active_namespace_list_cannot_start_at_the_end, "nvme.identify.active-list-limit", roles::controller,
                 reaches{"identify.list.start"}) {
  RawAssociation& association = bench.associate();
  for (const std::uint32_t start : {0xFFFFFFFEu, 0xFFFFFFFFu}) {
    check.status(identify(association, Cns::active_namespace_list, start), sc::invalid_namespace_or_format);
  }
}

CONFORMANCE_CASE(identify_namespace_sizes_are_ordered, "nvme.identify.namespace-sizes", roles::controller, needs(has_namespace)) {
  const auto reply = identify(bench.associate(), Cns::identify_namespace, bench.nsid());
  check.require_success(reply);
  const View<nvme::IdentifyNamespace> ns{reply.data};
  const std::uint64_t size = ns.get(nvme::id_ns::nsze);
  const std::uint64_t capacity = ns.get(nvme::id_ns::ncap);
  check.that(size >= capacity, "NSZE is not below NCAP", words(size) + " and " + words(capacity));
  check.that(capacity >= ns.get(nvme::id_ns::nuse), "NCAP is not below NUSE", words(capacity) + " and " + words(ns.get(nvme::id_ns::nuse)));
  const unsigned format = nvme::format_in_use(reply.data);
  const std::uint64_t formats = ns.get(nvme::id_ns::nlbaf).count() + ns.get(nvme::id_ns::nulbaf);
  check.require(format < formats, "FLBAS names a format that exists", words(format));
  const unsigned shift = nvme::lba_format_at(reply.data, format).get(nvme::lba_format::lbads);
  check.that(shift >= 9, "a block has at least 512 bytes (LBADS 9)", words(shift));
}

CONFORMANCE_CASE(identify_of_an_inactive_namespace_is_empty, "nvme.identify.namespace-inactive", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto list = identify(association, Cns::active_namespace_list);
  check.precondition_success(list, "Identify, active namespace list");
  const std::uint32_t nn = bench.declared().identify().get(nvme::id_ctrl::nn);
  const std::uint32_t inactive = lowest_inactive(list.data);
  check.precondition(inactive <= nn, "every namespace identifier up to NN is active");
  const auto reply = identify(association, Cns::identify_namespace, inactive);
  check.require_success(reply, "Identify of a valid namespace identifier that is inactive");
  check.that(all_zero(reply.data), "the data is zero");
}

CONFORMANCE_CASE(namespace_descriptors_are_well_formed, "nvme.identify.descriptors", roles::controller, needs(has_namespace)) {
  RawAssociation& association = bench.associate();
  const auto reply = identify(association, Cns::namespace_id_descriptors, bench.nsid());
  check.require_success(reply);
  nvme::NamespaceIdWalk walk(reply.data);
  nvme::NamespaceId id;
  unsigned found = 0;
  unsigned command_sets = 0;
  while (walk.next(id)) {
    ++found;
    command_sets += id.type == nvme::NamespaceIdType::csi;
    const std::size_t wanted = nvme::namespace_id_length(id.type);
    if (wanted == 0) {
      check.fails("descriptor type", {"1 to 4"}, words(static_cast<unsigned>(id.type)));
    } else {
      check.equal("length of a descriptor of type " + words(static_cast<unsigned>(id.type)), id.id.size(), wanted);
    }
  }
  check.that(!walk.damaged(), "the descriptors end inside the data");
  check.that(found > 0, "there is a descriptor");
  const auto cap = record_from_integer<fabrics::Cap>(association.property(fabrics::property::cap));
  const bool several = (cap.get(fabrics::cap::css) & fabrics::cap_css_bits::io_command_sets) != 0;
  check.that(several ? command_sets == 1 : command_sets <= 1, "the command set is among them with CAP.CSS.IOCSS, and never twice",
             words(command_sets));
}

CONFORMANCE_CASE(independent_identify_agrees_with_the_namespace, "nvme.identify.independent-namespace", roles::controller,
                 needs(has_namespace)) {
  RawAssociation& association = bench.associate();
  const auto reply = identify(association, Cns::independent_namespace, bench.nsid());
  if (!bench.declared().version_at_least(2, 0)) {
    check.status(reply, one_of(sc::success, sc::invalid_field));
    return;
  }
  check.require_success(reply);
  const auto classic = identify(association, Cns::identify_namespace, bench.nsid());
  check.precondition_success(classic, "Identify Namespace");
  const View<nvme::IdentifyNamespaceIndependent> own{reply.data};
  const View<nvme::IdentifyNamespace> ns{classic.data};
  check.that((own.get(nvme::id_ns_independent::nstat) & nvme::kNstatReady) != 0, "NSTAT.NRDY is set for a namespace that is ready");
  check.equal("NMIC", own.get(nvme::id_ns_independent::nmic), ns.get(nvme::id_ns::nmic));
  check.equal("ANAGRPID", own.get(nvme::id_ns_independent::anagrpid), ns.get(nvme::id_ns::anagrpid));
}

}  // namespace fb::conformance
