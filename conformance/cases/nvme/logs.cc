// Get Log Page.
#include "conformance/cases/nvme/scene.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/embedded_controller.h"

namespace fb::conformance {

namespace {

using nvme::LogPage;

constexpr std::uint8_t kExtended = nvme::lpa_bits::extended_data;
constexpr std::uint8_t kReservedPage = 0x6F;

/// Reads a whole log page without clearing events.
host::RawReply read_log(RawAssociation& association, std::uint8_t lid, std::uint32_t bytes, std::uint64_t offset = 0) {
  auto command = host::get_log(lid, bytes, offset);
  command.set(nvme::get_log_sqe::rae, true);
  return association.admin().send(command, bytes).wait();
}
host::RawReply read_log(RawAssociation& association, LogPage page, std::uint32_t bytes, std::uint64_t offset = 0) {
  return read_log(association, lid_of(page), bytes, offset);
}

/// Pages that can be read without any parameter of their own, and how long they are.
struct PlainPage {
  LogPage page;
  std::uint32_t bytes;
};
constexpr PlainPage kPlainPages[] = {
    {LogPage::supported_pages, 1024},    {LogPage::error_information, 4096}, {LogPage::smart, 512},     {LogPage::firmware_slot, 512},
    {LogPage::changed_namespaces, 4096}, {LogPage::commands_effects, 4096},  {LogPage::self_test, 564}, {LogPage::ana, 4096},
    {LogPage::feature_effects, 1024}};

struct OptionalCommand {
  std::uint8_t opcode;
  std::uint16_t bit;
};
constexpr OptionalCommand kOptionalAdmin[] = {{0x80, nvme::oacs_bits::format_nvm},
                                              {0x10, nvme::oacs_bits::firmware},
                                              {0x11, nvme::oacs_bits::firmware},
                                              {0x14, nvme::oacs_bits::self_test},
                                              {0x81, nvme::oacs_bits::security},
                                              {0x82, nvme::oacs_bits::security},
                                              {0x19, nvme::oacs_bits::directives},
                                              {0x1A, nvme::oacs_bits::directives},
                                              {0x1C, nvme::oacs_bits::virtualization},
                                              {0x86, nvme::oacs_bits::get_lba_status},
                                              {0x0D, nvme::oacs_bits::namespace_management},
                                              {0x15, nvme::oacs_bits::namespace_management}};
constexpr OptionalCommand kOptionalIo[] = {{0x05, nvme::oncs_bits::compare},
                                           {0x04, nvme::oncs_bits::write_uncorrectable},
                                           {0x09, nvme::oncs_bits::dataset_management},
                                           {0x08, nvme::oncs_bits::write_zeroes},
                                           {0x0C, nvme::oncs_bits::verify},
                                           {0x19, nvme::oncs_bits::copy},
                                           {0x0D, nvme::oncs_bits::reservations},
                                           {0x0E, nvme::oncs_bits::reservations},
                                           {0x11, nvme::oncs_bits::reservations},
                                           {0x15, nvme::oncs_bits::reservations}};
/// Since 2.0 a controller may have these up to a size limit without the bit of ONCS, which stands for no limit.
bool may_be_limited(std::uint8_t opcode) {
  constexpr std::uint8_t kLimited[] = {0x04, 0x08, 0x09, 0x0C};
  return std::find(std::begin(kLimited), std::end(kLimited), opcode) != std::end(kLimited);
}
constexpr std::uint8_t kMandatoryAdmin[] = {0x02, 0x06, 0x08, 0x09, 0x0A, 0x0C};
constexpr std::uint8_t kMandatoryIo[] = {0x01, 0x02};

/// Entry `index` of the error log that names this command, or nothing.
std::optional<View<nvme::ErrorEntry>> find_error(ByteView log, std::uint16_t cid) {
  for (std::size_t at = 0; at + nvme::ErrorEntry::size <= log.size(); at += nvme::ErrorEntry::size) {
    const View<nvme::ErrorEntry> entry{log.subspan(at, nvme::ErrorEntry::size)};
    if (entry.get(nvme::error_entry::error_count) != 0 && entry.get(nvme::error_entry::sqid) == 0 &&
        entry.get(nvme::error_entry::cid) == cid) {
      return entry;
    }
  }
  return std::nullopt;
}

}  // namespace

CONFORMANCE_CASE(log_refuses_an_unknown_page, "nvme.log.unknown", roles::controller, reaches{"log.lid"}) {
  check.status(read_log(bench.associate(), kReservedPage, 512), one_of(sc::invalid_log_page, sc::invalid_field));
}

CONFORMANCE_CASE(supported_log_pages_are_those_that_can_be_read, "nvme.log.supported-pages", roles::controller, needs(is_version_2)) {
  RawAssociation& association = bench.associate();
  const auto list = read_log(association, LogPage::supported_pages, nvme::SupportedPages::size);
  check.require_success(list);
  for (const auto& [page, bytes] : kPlainPages) {
    const auto entry = element<nvme::SupportedPage>(list.data, nvme::supported_pages::lids, lid_of(page));
    const std::string what = "Get Log Page " + words(lid_of(page));
    const auto reply = read_log(association, page, bytes);
    if (entry.get(nvme::supported_page::lsupp)) {
      check.success(reply, what + ", which is listed");
    } else {
      check.status(reply, one_of(sc::invalid_log_page, sc::invalid_field), what + ", which is not listed");
    }
  }
}

CONFORMANCE_CASE(log_refuses_an_offset_beyond_the_page, "nvme.log.offset-beyond", roles::controller, needs(claims_lpa<kExtended>),
                 reaches{"log.offset"}) {
  check.status(read_log(bench.associate(), LogPage::smart, 512, 1u << 20), sc::invalid_field);
}

CONFORMANCE_CASE(log_at_an_offset_holds_the_bytes_of_the_page, "nvme.log.offset", roles::controller,
                 needs(claims_lpa<kExtended | nvme::lpa_bits::commands_effects>)) {
  RawAssociation& association = bench.associate();
  const auto whole = read_log(association, LogPage::commands_effects, nvme::CommandEffects::size);
  check.require_success(whole);
  for (const std::uint32_t offset : {24u, 1024u, 4092u}) {
    const std::uint32_t length = nvme::CommandEffects::size - offset;
    const auto part = read_log(association, LogPage::commands_effects, length, offset);
    check.require_success(part);
    check.bytes("log page at offset " + std::to_string(offset), part.data, ByteView{whole.data}.subspan(offset, length));
  }
}

CONFORMANCE_CASE(failed_command_leaves_an_error_entry, "nvme.log.error-entry", roles::controller) {
  constexpr std::uint16_t kCid = 0x5A17;
  RawAssociation& association = bench.associate();
  auto wrong = host::identify(static_cast<nvme::Cns>(0x7F));
  wrong.set(nvme::sqe::cid, kCid);
  const auto refused = association.admin().send(wrong, nvme::kIdentifySize).wait();
  check.precondition(!refused.ok(), "Identify of an unknown CNS succeeded");
  check.precondition(refused.status().more(), "the status came without the More bit");
  // So many that any MDTS has room for them; the latest stand first.
  const std::uint64_t entries = std::min<std::uint64_t>(bench.declared().identify().get(nvme::id_ctrl::elpe).count(), 64);
  const auto log = read_log(association, LogPage::error_information, static_cast<std::uint32_t>(entries * nvme::ErrorEntry::size));
  check.require_success(log);
  const auto entry = find_error(log.data, kCid);
  check.require(entry.has_value(), "an entry names queue 0 and the command's identifier");
  check.status(entry->get(nvme::error_entry::status), refused.status().code(), "status in the entry");
}

CONFORMANCE_CASE(smart_log_is_plausible, "nvme.log.smart", roles::controller) {
  const auto reply = read_log(bench.associate(), LogPage::smart, nvme::SmartLog::size);
  check.require_success(reply);
  const View<nvme::SmartLog> log{reply.data};
  // Base 2.3 gives bit 6 a meaning, an indeterminate personality.
  const unsigned reserved = bench.declared().version_at_least(2, 3) ? 0x80 : 0xC0;
  check.equal("reserved bits of the critical warning", log.get(nvme::smart::cw) & reserved, 0u);
  check.between<unsigned>("available spare, percent", log.get(nvme::smart::avsp), 0, 100);
  check.between<unsigned>("its threshold, percent", log.get(nvme::smart::avspt), 0, 100);
  const unsigned kelvin = log.get(nvme::smart::ctemp);
  check.that(kelvin == 0 || (kelvin > 200 && kelvin < 500), "the temperature is in kelvins", words(kelvin));
}

CONFORMANCE_CASE(smart_log_of_one_namespace_only_where_claimed, "nvme.log.smart-namespace", roles::controller, needs(has_namespace)) {
  auto command = host::get_log(lid_of(LogPage::smart), 512, 0, bench.nsid());
  command.set(nvme::get_log_sqe::rae, true);
  const auto reply = bench.associate().admin().send(command, 512).wait();
  const std::uint8_t lpa = bench.declared().identify().get(nvme::id_ctrl::lpa);
  if ((lpa & nvme::lpa_bits::smart_per_namespace) != 0) {
    check.success(reply);
  } else {
    check.status(reply, sc::invalid_field);
  }
}

CONFORMANCE_CASE(effects_log_agrees_with_identify, "nvme.log.effects", roles::controller,
                 needs(claims_lpa<nvme::lpa_bits::commands_effects>)) {
  const auto reply = read_log(bench.associate(), LogPage::commands_effects, nvme::CommandEffects::size);
  check.require_success(reply);
  const auto listed = [&](const auto& table, std::uint8_t opcode) {
    return element<nvme::CommandEffect>(reply.data, table, opcode).get(nvme::command_effect::csupp);
  };
  const auto id = bench.declared().identify();
  for (const std::uint8_t opcode : kMandatoryAdmin) {
    check.equal("CSUPP of " + std::string(nvme::admin_opcode_name(opcode)), listed(nvme::command_effects::acs, opcode), true);
  }
  for (const OptionalCommand& one : kOptionalAdmin) {
    check.equal("CSUPP of " + std::string(nvme::admin_opcode_name(one.opcode)), listed(nvme::command_effects::acs, one.opcode),
                (id.get(nvme::id_ctrl::oacs) & one.bit) != 0);
  }
  for (const std::uint8_t opcode : kMandatoryIo) {
    check.equal("CSUPP of " + std::string(nvme::io_opcode_name(opcode)), listed(nvme::command_effects::iocs, opcode), true);
  }
  for (const OptionalCommand& one : kOptionalIo) {
    const bool claimed = (id.get(nvme::id_ctrl::oncs) & one.bit) != 0;
    if (!claimed && bench.declared().version_at_least(2, 0) && may_be_limited(one.opcode)) continue;
    check.equal("CSUPP of " + std::string(nvme::io_opcode_name(one.opcode)), listed(nvme::command_effects::iocs, one.opcode), claimed);
  }
}

CONFORMANCE_CASE(changed_namespace_is_listed_once_and_cleared, "nvme.log.changed-namespaces", roles::controller,
                 arranges{{Request::namespace_resize}}) {
  RawAssociation& association = bench.associate();
  const std::uint32_t nsid = bench.nsid();
  const auto command = host::get_log(LogPage::changed_namespaces, 4096);
  association.admin().send(command, 4096).wait();
  bench.arranger().resize_namespace(nsid);
  bench.arranger().resize_namespace(nsid);
  const auto first = association.admin().send(command, 4096).wait();
  check.require_success(first);
  check.that(nvme::read_namespace_list(first.data) == std::vector<std::uint32_t>{nsid}, "the list names the changed namespace, once");
  const auto second = association.admin().send(command, 4096).wait();
  check.require_success(second);
  check.that(nvme::read_namespace_list(second.data).empty(), "the list is empty once it was read");
}

CONFORMANCE_CASE(ana_log_ascends_and_lists_active_namespaces, "nvme.log.ana", roles::controller, needs(reports_ana)) {
  RawAssociation& association = bench.associate();
  const std::uint64_t most = bench.declared().transfer_max();
  const auto bytes = static_cast<std::uint32_t>(most == 0 ? 65536 : std::min<std::uint64_t>(most, 65536));
  const auto reply = read_log(association, LogPage::ana, bytes);
  check.require_success(reply);
  const auto list = association.admin().send(host::identify(nvme::Cns::active_namespace_list), 4096).wait();
  check.precondition_success(list, "Identify, active namespace list");
  const auto active = nvme::read_namespace_list(list.data);
  check.precondition(active.size() < nvme::kNamespaceListMax, "all active namespaces fit into one list");
  nvme::AnaWalk walk(reply.data);
  nvme::AnaGroup group;
  std::uint32_t group_before = 0;
  while (walk.next(group)) {
    check.that(group.id > group_before, "group identifiers ascend", words(group.id));
    group_before = group.id;
    std::uint32_t before = 0;
    for (const std::uint32_t nsid : group.namespaces) {
      check.that(nsid > before, "namespace identifiers ascend in a group", words(nsid));
      check.that(std::find(active.begin(), active.end(), nsid) != active.end(), "the namespaces listed are active", words(nsid));
      before = nsid;
    }
  }
  check.precondition(!walk.damaged() || bytes == 65536, "the log fits into one transfer");
  check.that(!walk.damaged(), "the groups end inside of the log");
  check.that(group_before != 0, "there is a group");
}

CONFORMANCE_CASE(ana_log_with_groups_only_names_no_namespace, "nvme.log.ana-groups-only", roles::controller, needs(reports_ana)) {
  auto command = host::get_log(LogPage::ana, 4096);
  command.set(nvme::get_log_sqe::rae, true).set(nvme::get_log_sqe::lsp, nvme::kAnaGroupsOnly);
  const auto reply = bench.associate().admin().send(command, 4096).wait();
  check.require_success(reply);
  nvme::AnaWalk walk(reply.data);
  nvme::AnaGroup group;
  unsigned groups = 0;
  while (walk.next(group)) {
    ++groups;
    check.equal("namespaces in group " + std::to_string(group.id), group.namespaces.size(), 0);
  }
  check.that(groups > 0, "there is a group");
}

CONFORMANCE_CASE(health_log_tells_what_is, "nvme.log.smart-values", roles::controller,
                 arranges{{Request::percentage_used, Request::available_spare, Request::temperature}}) {
  constexpr std::uint8_t kUsed = 37, kSpare = 81;
  RawAssociation& association = bench.associate();
  const auto kelvin = static_cast<std::uint16_t>(bench.declared().kelvin + 3);
  bench.arranger().percentage_used(kUsed);
  bench.arranger().available_spare(kSpare);
  bench.arranger().temperature(kelvin);
  const auto reply = association.admin().send(host::get_log(nvme::LogPage::smart, nvme::SmartLog::size), nvme::SmartLog::size).wait();
  check.require_success(reply, "Get Log Page 02h");
  const View<nvme::SmartLog> log{reply.data};
  check.equal("Percentage Used", unsigned{log.get(nvme::smart::pused)}, unsigned{kUsed});
  check.equal("Available Spare", unsigned{log.get(nvme::smart::avsp)}, unsigned{kSpare});
  check.equal("Composite Temperature", unsigned{log.get(nvme::smart::ctemp)}, unsigned{kelvin});
}

}  // namespace fb::conformance
