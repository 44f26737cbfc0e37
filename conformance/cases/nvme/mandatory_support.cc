// What every I/O controller has: pages of Identify, log pages, features.
#include <map>

#include "conformance/cases/nvme/scene.h"

namespace fb::conformance {

namespace {

using nvme::Cns;
using nvme::FeatureId;

host::RawReply identify(RawAssociation& association, Cns cns, std::uint32_t nsid = 0, std::uint8_t csi = 0) {
  auto command = host::identify(cns, nsid);
  command.set(nvme::identify_sqe::csi, csi);
  return association.admin().send(command, nvme::kIdentifySize).wait();
}
std::optional<std::string> is_version_1_4(const Declared& declared) {
  if (!declared.known || declared.version_at_least(1, 4)) return {};
  return "VS is below 1.4";
}
std::optional<std::string> has_command_sets(const Declared& declared) {
  constexpr unsigned kBoth = fabrics::cap_css_bits::io_command_sets | fabrics::cap_css_bits::nvm;
  if (!declared.known || (declared.capabilities().get(fabrics::cap::css) & kBoth) == kBoth) return {};
  return "CAP.CSS bit 6 (I/O command sets) or bit 0 (the NVM command set) is clear";
}
std::optional<std::string> says_of_flushes(const Declared& declared) {
  const unsigned vwc = declared.identify().get(nvme::id_ctrl::vwc) >> 1 & 3;
  if (!declared.known || vwc >= 2) return {};
  return "VWC bits 2:1 do not say what Flush of all namespaces does";
}
/// A command set that nobody has.
constexpr std::uint8_t kReservedSet = 0x1F;

/// The names of a namespace, EUI-64, NGUID and UUID as far as they are not zero.
std::vector<Bytes> names_of(RawAssociation& association, std::uint32_t nsid, Check& check) {
  std::vector<Bytes> names;
  const auto add = [&](ByteView name) {
    if (std::any_of(name.begin(), name.end(), [](std::uint8_t byte) { return byte != 0; })) {
      names.emplace_back(name.begin(), name.end());
    }
  };
  const auto page = identify(association, Cns::identify_namespace, nsid);
  check.precondition_success(page, "Identify Namespace");
  add(ByteView{page.data}.subspan(nvme::id_ns::eui64.offset, 8));
  add(ByteView{page.data}.subspan(nvme::id_ns::nguid.offset, 16));
  const auto descriptors = identify(association, Cns::namespace_id_descriptors, nsid);
  if (!descriptors.ok()) return names;
  for (std::size_t at = 0; at + 4 < descriptors.data.size();) {
    const std::size_t length = descriptors.data[at + 1];
    if (length == 0 || at + 4 + length > descriptors.data.size()) break;
    const bool uuid = descriptors.data[at] == static_cast<std::uint8_t>(nvme::NamespaceIdType::uuid);
    if (uuid) add(ByteView{descriptors.data}.subspan(at + 4, length));
    at += 4 + length;
  }
  return names;
}

}  // namespace

CONFORMANCE_CASE(controller_says_that_it_does_io, "nvme.identify.controller-type", roles::controller, needs(is_version_1_4)) {
  const auto reply = identify(bench.associate(), Cns::controller);
  check.require_success(reply);
  check.equal("CNTRLTYPE", unsigned{reply.data[nvme::id_ctrl::cntrltype.offset]}, 1u);
}

CONFORMANCE_CASE(namespaces_are_within_nn, "nvme.identify.namespace-count", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto controller = identify(association, Cns::controller);
  check.require_success(controller, "Identify Controller");
  const View<nvme::IdentifyController> id{controller.data};
  const auto list = identify(association, Cns::active_namespace_list);
  check.require_success(list, "Identify, active namespaces");
  const auto ids = nvme::read_namespace_list(list.data);
  for (const std::uint32_t nsid : ids) {
    check.that(nsid <= id.get(nvme::id_ctrl::nn), "active namespaces are within NN", std::to_string(nsid));
  }
  const std::uint32_t most = id.get(nvme::id_ctrl::mnan);
  if (most != 0) check.that(ids.size() <= most, "there are no more than MNAN", std::to_string(ids.size()));
}

CONFORMANCE_CASE(nvm_command_set_is_identified, "nvme.identify.command-set", roles::controller, needs(is_version_2), needs(has_namespace)) {
  RawAssociation& association = bench.associate();
  check.success(identify(association, Cns::command_set_namespace, bench.nsid()), "CNS 05h");
  check.success(identify(association, Cns::command_set_controller), "CNS 06h");
  const auto list = identify(association, Cns::command_set_active_namespace_list);
  if (check.success(list, "CNS 07h")) {
    const auto ids = nvme::read_namespace_list(list.data);
    check.that(std::find(ids.begin(), ids.end(), bench.nsid()) != ids.end(), "CNS 07h lists the namespace");
  }
  check.success(identify(association, Cns::independent_namespace, bench.nsid()), "CNS 08h");
}

CONFORMANCE_CASE(command_set_combinations_have_nvm, "nvme.identify.command-set-vector", roles::controller, needs(is_version_2),
                 needs(has_command_sets)) {
  auto command = host::identify(Cns::command_set_combinations);
  command.set(nvme::identify_sqe::cntid, 0xFFFFu);
  const auto reply = bench.associate().admin().send(command, nvme::kIdentifySize).wait();
  check.require_success(reply, "Identify, command set combinations");
  bool found = false;
  for (std::size_t at = 0; at + 8 <= reply.data.size(); at += 8) found = found || (reply.data[at] & 1) != 0;
  check.that(found, "a combination has the NVM command set", "none has");
}

CONFORMANCE_CASE(unknown_command_sets_are_not_identified, "nvme.identify.command-set-unknown", roles::controller, needs(is_version_2),
                 needs(has_namespace), reaches{"identify.csi"}) {
  RawAssociation& association = bench.associate();
  const auto legal = one_of(sc::invalid_field, sc::invalid_io_command_set);
  check.status(identify(association, Cns::command_set_controller, 0, kReservedSet), legal, "CNS 06h");
  check.status(identify(association, Cns::command_set_namespace, bench.nsid(), kReservedSet), legal, "CNS 05h");
  check.status(identify(association, Cns::command_set_user_data_format, 0, kReservedSet), legal, "CNS 0Ah");
  // Those that exist, and are in no combination of this controller.
  auto command = host::identify(Cns::command_set_combinations);
  command.set(nvme::identify_sqe::cntid, 0xFFFFu);
  const auto sets = association.admin().send(command, nvme::kIdentifySize).wait();
  if (!sets.ok()) return;
  std::uint64_t known = 0;
  for (std::size_t at = 0; at + 8 <= sets.data.size(); at += 8) known |= load_le<std::uint64_t>(sets.data.data() + at);
  for (const auto set : {nvme::CommandSet::key_value, nvme::CommandSet::zoned}) {
    const auto csi = static_cast<std::uint8_t>(set);
    if ((known >> csi & 1) == 0)
      check.status(identify(association, Cns::command_set_controller, 0, csi), legal, "CNS 06h, CSI " + words(csi));
  }
}

CONFORMANCE_CASE(namespaces_have_names, "nvme.identify.names", roles::controller, needs(has_namespace)) {
  RawAssociation& association = bench.associate();
  check.that(!names_of(association, bench.nsid(), check).empty(), "the namespace has a name", "EUI-64, NGUID and UUID are zero");
}

CONFORMANCE_CASE(names_are_unique, "nvme.identify.names-unique", roles::controller, needs(has_two_namespaces)) {
  RawAssociation& association = bench.associate();
  const auto list = identify(association, Cns::active_namespace_list);
  check.precondition_success(list, "Identify, active namespaces");
  const auto ids = nvme::read_namespace_list(list.data);
  check.precondition(ids.size() >= 2, "there are two namespaces");
  check.precondition(!names_of(association, ids.front(), check).empty(), "namespaces have names");
  // One namespace may have the same value as its NGUID and as its UUID.
  std::map<Bytes, std::uint32_t> owners;
  for (const std::uint32_t nsid : ids) {
    for (const Bytes& name : names_of(association, nsid, check)) {
      const std::uint32_t owner = owners.try_emplace(name, nsid).first->second;
      check.that(owner == nsid, "names are of one namespace", to_hex(name) + " is of another one too");
    }
  }
}

CONFORMANCE_CASE(mandatory_features_are_claimed, "nvme.log.feature-effects", roles::controller, needs(is_version_2)) {
  const auto reply = bench.associate().admin().send(host::get_log(nvme::LogPage::feature_effects, 1024), 1024).wait();
  check.require_success(reply, "Get Log Page 12h");
  std::vector<FeatureId> needed = {FeatureId::arbitration, FeatureId::power_management, FeatureId::temperature_threshold,
                                   FeatureId::number_of_queues, FeatureId::async_event_configuration};
  // Of the NVM command set.
  if (bench.nsid() != 0) needed.push_back(FeatureId::error_recovery);
  const bool reserves = !claims_oncs<nvme::oncs_bits::reservations>(bench.declared());
  if (reserves) needed.push_back(FeatureId::host_identifier);
  for (const FeatureId id : needed) {
    const auto fid = static_cast<std::uint8_t>(id);
    check.that((reply.data[std::size_t{4} * fid] & 1) != 0, std::string(nvme::feature_name(fid)) + " is claimed", "FSUPP is clear");
  }
}

CONFORMANCE_CASE(index_offsets_are_refused_where_there_are_none, "nvme.log.offset-type", roles::controller, needs(is_version_2),
                 reaches{"log.offset_type"}) {
  RawAssociation& association = bench.associate();
  const auto pages = association.admin().send(host::get_log(nvme::LogPage::supported_pages, 1024), 1024).wait();
  check.precondition_success(pages, "Get Log Page 00h");
  constexpr auto kPage = lid_of(nvme::LogPage::smart);
  check.precondition((pages.data[std::size_t{4} * kPage] & 2) == 0, "log page 02h knows no indexes");
  auto command = host::get_log(nvme::LogPage::smart, 512);
  command.set(nvme::get_log_sqe::ot, true);
  check.status(association.admin().send(command, 512).wait(), sc::invalid_field);
}

// Nothing here is malformed, but tshark 4.0 reads on where a log page is cut.
CONFORMANCE_CASE(logs_are_read_in_any_length, "nvme.log.length", roles::controller, sends_malformed) {
  RawAssociation& association = bench.associate();
  const auto read = [&](std::uint32_t bytes) {
    return association.admin().send(host::get_log(nvme::LogPage::firmware_slot, bytes), bytes).wait();
  };
  const auto whole = read(512);
  check.precondition_success(whole, "Get Log Page 03h");
  for (const std::uint32_t bytes : {4u, 12u, 64u, 100u}) {
    const auto part = read(bytes);
    if (!check.success(part, std::to_string(bytes) + " bytes")) continue;
    check.bytes("the first " + std::to_string(bytes) + " bytes", part.data, ByteView{whole.data}.first(bytes));
  }
}

CONFORMANCE_CASE(controller_features_are_not_of_namespaces, "nvme.features.not-namespace-specific", roles::controller, needs(has_namespace),
                 reaches{"feature.namespace_specific"}) {
  auto command = host::set_features(FeatureId::async_event_configuration, 0);
  command.set(nvme::sqe::nsid, bench.nsid());
  check.status(bench.associate().admin().send(command).wait(), sc::feature_not_namespace_specific);
}

CONFORMANCE_CASE(there_is_no_host_memory_buffer, "nvme.features.host-memory-buffer", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto reply = identify(association, Cns::controller);
  check.require_success(reply, "Identify Controller");
  check.equal("HMPRE", View<nvme::IdentifyController>{reply.data}.get(nvme::id_ctrl::hmpre), 0u);
  check.refused(association.admin().send(host::get_features(FeatureId::host_memory_buffer)).wait(), "Get Features, Host Memory Buffer");
}

CONFORMANCE_CASE(there_are_no_interrupts, "nvme.features.interrupts", roles::controller) {
  RawAssociation& association = bench.associate();
  for (const FeatureId id : {FeatureId::interrupt_coalescing, FeatureId::interrupt_vector_configuration}) {
    check.status(association.admin().send(host::get_features(id)).wait(), sc::invalid_field,
                 nvme::feature_name(static_cast<std::uint8_t>(id)));
  }
}

CONFORMANCE_CASE(flush_of_all_is_as_claimed, "nvme.flush.all", roles::controller, needs(has_namespace), needs(says_of_flushes)) {
  RawAssociation& association = bench.associate();
  const auto reply = identify(association, Cns::controller);
  check.require_success(reply, "Identify Controller");
  const bool executed = (View<nvme::IdentifyController>{reply.data}.get(nvme::id_ctrl::vwc) >> 1 & 3) == 3;
  check.status(association.open_io().send(host::flush(nvme::kAllNamespaces)).wait(),
               executed ? nvme::Status{} : sc::invalid_namespace_or_format, "Flush of all namespaces");
}

}  // namespace fb::conformance
