// What a centralized discovery controller is, and its Discovery log.
#include <algorithm>
#include <map>

#include "conformance/cases/discovery/scene.h"

namespace fb::conformance {

using namespace discovery_cases;

namespace {

constexpr auto kDeregister = RegistrationTask::deregister_entries;
constexpr std::uint8_t kExtended = fabrics::discovery_lsp_bits::extended, kAllSubsystems = fabrics::discovery_lsp_bits::all_subsystems;

View<nvme::IdentifyController> identify(Check& check, RawAssociation& association, Bytes& page) {
  const auto reply = answered(check, association.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait());
  check.require_success(reply, "Identify Controller");
  page = reply.data;
  return View<nvme::IdentifyController>{page};
}

fabrics::RegistrationData a_disk(const ControllerBench& bench) { return of_direct({disk_entry(bench, {.nqn = kDisk})}); }

/// A subsystem with a label.
fabrics::RegistrationData a_labelled_disk(const ControllerBench& bench) {
  const fabrics::Attribute label = fabrics::label("a registered disk, by its label");
  return of_direct({fabrics::extended(disk_entry(bench, {.nqn = kDisk}), {&label, 1})}, EntryFormat::extended);
}

/// Where the record of the labelled disk begins in a log with extended entries; 0: nowhere.
std::size_t place_of_disk(const Bytes& log) {
  for (std::size_t at = 1024; at + fabrics::ExtendedEntry::size <= log.size(); at += 4) {
    const ByteView name = ByteView{log}.subspan(at + de::subnqn.offset);
    if (name.size() >= kDisk.size() && std::equal(kDisk.begin(), kDisk.end(), name.begin())) return at;
  }
  return 0;
}

/// The log as it is with EXTDLPE, with room behind its end.
Bytes read_extended(Check& check, RawAssociation& association) {
  return read_page(check, association, nvme::LogPage::discovery, 16384, kExtended | fabrics::discovery_lsp_bits::all_subsystems);
}

/// A notice of that log page comes, or none does.
bool hears(Check& check, Op<host::RawReply>& request, std::uint8_t info, nvme::LogPage page) {
  const auto reply = request.wait_for(5_s);
  if (!reply) return false;
  check.require_success(*reply, "Asynchronous Event Request");
  const nvme::Event expected{nvme::EventType::notice, info, static_cast<std::uint8_t>(page)};
  return check.equal("the event", nvme::Event::from_dw0(reply->dw0()), expected);
}

/// Reads so many entries from `at` on, each of which is a basic or an extended one, and one at least an extended one, so that the last
/// ends with the log. False: there is no such way to read them.
bool read_entries(ByteView log, std::size_t at, std::uint64_t count, std::map<std::size_t, std::size_t>& length_at) {
  if (count == 0) {
    const auto is_extended = [](const auto& one) { return one.second > fabrics::DiscoveryEntry::size; };
    return at == log.size() && std::ranges::any_of(length_at, is_extended);
  }
  for (const EntryFormat format : {EntryFormat::extended, EntryFormat::basic}) {
    const std::size_t length = fabrics::entry_length(log, at, format);
    if (length == 0) continue;
    length_at[at] = length;
    if (read_entries(log, at + length, count - 1, length_at)) return true;
    length_at.erase(at);
  }
  return false;
}

struct ExtendedLog {
  Bytes log;
  std::size_t at = 0;      ///< the entry of the subsystem
  std::size_t length = 0;  ///< TEL
};
/// The log with extended entries, of a subsystem with a label.
ExtendedLog log_as_it_is(Check& check, RawAssociation& association) {
  ExtendedLog made{read_extended(check, association)};
  check.precondition((made.log[dh::dlpf.offset] & fabrics::dlpf_bits::extended) != 0, "the log has extended entries");
  made.at = place_of_disk(made.log);
  check.require(made.at != 0, "the log lists the subsystem");
  const View<fabrics::DiscoveryHeader> header{made.log};
  constexpr std::uint64_t kFew = 16;  // there are two ways to read each of them
  check.precondition(header.get(dh::numrec) <= kFew, "the log has few entries");
  std::map<std::size_t, std::size_t> length_at;
  const ByteView whole = ByteView{made.log}.first(std::min<std::size_t>(header.get(dh::tdlpl), made.log.size()));
  check.require(read_entries(whole, 1024, header.get(dh::numrec), length_at),
                "NUMREC entries, with TEL where they are extended, end at TDLPL");
  made.length = length_at[made.at];
  check.precondition(made.length > fabrics::DiscoveryEntry::size, "its entry is an extended one");
  return made;
}
/// A direct discovery controller registers a subsystem with a label, and reads the log.
ExtendedLog log_of_a_labelled_disk(ControllerBench& bench, Check& check) {
  RawAssociation& association = join(bench, check, kDirect);
  registered(check, association, a_labelled_disk(bench));
  return log_as_it_is(check, association);
}

}  // namespace

CONFORMANCE_CASE(cdc_reports_its_type, "discovery.cdc.identify", roles::cdc, a_cdc) {
  Bytes page;
  const auto found = identify(check, join(bench, check, kHost), page);
  check.equal("DCTYPE", static_cast<unsigned>(found.get(nvme::id_ctrl::dctype)), 2u);
  check.equal("CNTRLTYPE", static_cast<unsigned>(found.get(nvme::id_ctrl::cntrltype)), 2u);
}

CONFORMANCE_CASE(cdc_lists_its_commands, "discovery.cdc.commands", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kHost);
  const Bytes page = read_page(check, association, nvme::LogPage::commands_effects, nvme::CommandEffects::size);
  constexpr auto kOpcode = static_cast<std::size_t>(nvme::AdminOpcode::discovery_information_management);
  const View<nvme::CommandEffect> effect{ByteView{page}.subspan(nvme::command_effects::acs.offset + kOpcode * 4, 4)};
  check.that(effect.get(nvme::command_effect::csupp), "CSUPP of opcode 21h is 1", "it is 0");
  const ByteView of_io = ByteView{page}.subspan(nvme::command_effects::iocs.offset, nvme::command_effects::iocs.size);
  for (std::size_t opcode = 0; opcode < of_io.size() / nvme::CommandEffect::size; ++opcode) {
    const View<nvme::CommandEffect> one{of_io.subspan(opcode * nvme::CommandEffect::size, nvme::CommandEffect::size)};
    check.that(!one.get(nvme::command_effect::csupp), "CSUPP of I/O opcode " + words(static_cast<std::uint8_t>(opcode)) + " is 0",
               "it is 1");
  }
}

CONFORMANCE_CASE(cdc_knows_the_commands_of_zoning, "discovery.cdc.zoning", roles::cdc, a_cdc, reaches{"zoning.disabled"}) {
  RawAssociation& association = join(bench, check, kHost);
  for (const auto opcode :
       {nvme::AdminOpcode::fabric_zoning_receive, nvme::AdminOpcode::fabric_zoning_lookup, nvme::AdminOpcode::fabric_zoning_send}) {
    const auto reply = answered(check, association.admin().send(host::any_command(static_cast<std::uint8_t>(opcode))).wait());
    check.that(!same_code(reply.status(), sc::invalid_opcode), "opcode " + words(static_cast<std::uint8_t>(opcode)) + " is known",
               nvme::to_string(reply.status()));
  }
}

CONFORMANCE_CASE(cdc_has_the_log_of_pull_requests, "discovery.cdc.pull-log.listed", roles::cdc, a_cdc) {
  const auto listed = parameter_of(check, join(bench, check, kHost), nvme::LogPage::pull_model_request);
  check.that(listed.has_value(), "Supported Log Pages lists 73h", "it does not");
}

CONFORMANCE_CASE(cdc_gives_the_length_of_the_log_of_pull_requests, "discovery.cdc.pull-log.length", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kHost);
  check.precondition(parameter_of(check, association, nvme::LogPage::pull_model_request).has_value(), "log page 73h");
  const Bytes page = read_page(check, association, nvme::LogPage::pull_model_request, fabrics::PullRequestLog::size);
  const View<fabrics::PullRequestLog> log{page};
  check.that(log.get(fabrics::pull_request_log::tpdrpl) >= fabrics::PullRequestLog::size, "TPDRPL counts the header",
             words(log.get(fabrics::pull_request_log::tpdrpl)));
  check.between("ORI", unsigned{log.get(fabrics::pull_request_log::ori)}, 0u, 4u);
}

CONFORMANCE_CASE(cdc_supports_extended_entries, "discovery.cdc.extended.supported", roles::cdc, a_cdc) {
  const auto parameter = parameter_of(check, join(bench, check, kHost), nvme::LogPage::discovery);
  check.require(parameter.has_value(), "Supported Log Pages lists 70h");
  check.that((*parameter & kExtended) != 0, "EXTDLPES is 1", words(*parameter));
}

CONFORMANCE_CASE(cdc_claims_no_port_local_entries, "discovery.cdc.port-local", roles::cdc, a_cdc) {
  const auto parameter = parameter_of(check, join(bench, check, kHost), nvme::LogPage::discovery);
  check.require(parameter.has_value(), "Supported Log Pages lists 70h");
  check.that((*parameter & fabrics::discovery_lsp_bits::port_local) == 0, "PLEOS is 0", words(*parameter));
}

CONFORMANCE_CASE(cdc_announces_both_logs, "discovery.cdc.events", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kHost);
  Bytes page;
  const std::uint32_t oaes = identify(check, association, page).get(nvme::id_ctrl::oaes);
  check.that((oaes & nvme::event_config_bits::discovery_log) != 0, "OAES has Discovery Log Page Change", words(oaes));
  if (!parameter_of(check, association, nvme::LogPage::host_discovery)) return;
  check.that((oaes & nvme::event_config_bits::host_discovery) != 0, "OAES has Host Discovery Log Page Change", words(oaes));
}

// ---- the Discovery log ----

CONFORMANCE_CASE(cdc_counts_a_registered_subsystem, "discovery.cdc.log.genctr", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kDirect);
  const std::uint64_t before = genctr_of(check, association, nvme::LogPage::discovery);
  registered(check, association, a_disk(bench));
  needs_a_view(bench, check, association, kDisk);
  const std::uint64_t after = genctr_of(check, association, nvme::LogPage::discovery);
  check.that(after != before, "GENCTR is another after a subsystem was registered", std::to_string(after));
  // Others may register at the same time.
  if (bench.embedded()) check.equal("GENCTR", after, before + 1);
  const auto moved = of_direct({disk_entry(bench, {.nqn = kDisk}), disk_entry(bench, {.nqn = kDisk, .traddr = "192.0.2.72"})});
  const auto disk = of_direct({disk_entry(bench, {.nqn = kDisk, .traddr = "192.0.2.72"})});
  registered(check, association, of_direct({disk_entry(bench, {.nqn = kDisk})}));
  const std::uint64_t added = genctr_of(check, association, nvme::LogPage::discovery);
  if (bench.embedded()) check.equal("GENCTR after Register of the same entry", added, after);
  check.precondition_success(send_task(check, association, RegistrationTask::update, moved), "Update");
  const std::uint64_t updated = genctr_of(check, association, nvme::LogPage::discovery);
  check.that(updated != added, "GENCTR is another after an entry was updated", std::to_string(updated));
  if (bench.embedded()) check.equal("GENCTR after Update", updated, added + 1);
  deregistered(check, association, disk);
  const std::uint64_t removed = genctr_of(check, association, nvme::LogPage::discovery);
  check.that(removed != updated, "GENCTR is another after a subsystem was deregistered", std::to_string(removed));
  if (!bench.embedded()) return;
  check.equal("GENCTR after De-Register", removed, updated + 1);
  deregistered(check, association, disk);
  check.equal("GENCTR after De-Register of what is not registered", genctr_of(check, association, nvme::LogPage::discovery), removed);
}

CONFORMANCE_CASE(cdc_announces_a_registered_subsystem, "discovery.cdc.log.event", roles::cdc, a_cdc) {
  RawAssociation& direct = join(bench, check, kDirect);
  RawAssociation& association = join(bench, check, kHost);
  (void)subsystems(check, association);
  auto event = association.admin().send(host::async_event_request());
  expect_association(check, association);
  registered(check, direct, a_disk(bench));
  needs_a_view(bench, check, association, kDisk);
  check.that(hears(check, event, nvme::event_info::notice_discovery_log, nvme::LogPage::discovery),
             "a Discovery Log Page Change within 5 s of the registration", "none");
}

CONFORMANCE_CASE(cdc_announces_a_deregistered_subsystem, "discovery.cdc.log.event.removed", roles::cdc, a_cdc) {
  RawAssociation& direct = join(bench, check, kDirect);
  RawAssociation& association = join(bench, check, kHost);
  registered(check, direct, a_disk(bench));
  needs_a_view(bench, check, association, kDisk);
  (void)subsystems(check, association);
  auto first = association.admin().send(host::async_event_request());
  // A notice of the registration may still be on its way.
  if (first.wait_for(1_s)) {
    (void)subsystems(check, association);
    first = association.admin().send(host::async_event_request());
  }
  expect_association(check, association);
  check.precondition_success(send_task(check, direct, kDeregister, a_disk(bench)), "De-Register");
  check.that(hears(check, first, nvme::event_info::notice_discovery_log, nvme::LogPage::discovery),
             "a Discovery Log Page Change within 5 s of De-Register", "none");
}

CONFORMANCE_CASE(cdc_marks_the_subsystem_of_who_has_left, "discovery.cdc.log.ncc", roles::cdc, a_cdc) {
  RawAssociation& direct = join(bench, check, kDirect);
  RawAssociation& association = join(bench, check, kHost);
  registered(check, direct, a_disk(bench));
  const auto flag = [&](std::string_view when, bool expected) {
    const auto found = registered_disks(check, association, kDisk);
    check.require(found.size() == 1, "the Discovery log lists the subsystem " + std::string(when));
    const unsigned eflags = View<fabrics::DiscoveryEntry>{found[0]}.get(de::eflags);
    check.equal("NCC " + std::string(when), (eflags & fabrics::eflags_bits::no_cdc_connectivity) != 0, expected);
    return load_le<std::uint64_t>(read_page(check, association, nvme::LogPage::discovery, 1024, kAllSubsystems).data());
  };
  const std::uint64_t first = flag("while the DDC is connected", false);
  direct.admin().disconnect();
  bench.world().run_for(1_s);
  const std::uint64_t second = flag("after it left", true);
  check.that(first != second, "GENCTR is another after NCC changed", words(second));
  return_of(bench, kDirect);
  const std::uint64_t third = flag("after it has returned", false);
  check.that(second != third, "GENCTR is another after NCC changed again", words(third));
}

CONFORMANCE_CASE(cdc_lists_a_subsystem_as_it_was_registered, "discovery.cdc.log.fields", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kDirect);
  const Bytes entry = disk_entry(
      bench, {.nqn = kDisk, .traddr = "192.0.2.72", .trsvcid = "8009", .portid = 513, .subtype = SubsystemType::referral, .asqsz = 48});
  registered(check, association, of_direct({entry}));
  const auto found = registered_disks(check, association, kDisk);
  check.require(found.size() == 1, "the Discovery log lists the entry");
  const View<fabrics::DiscoveryEntry> seen{found[0]}, sent{entry};
  check.equal("TRTYPE", static_cast<unsigned>(seen.get(de::trtype)), static_cast<unsigned>(sent.get(de::trtype)));
  check.equal("ADRFAM", static_cast<unsigned>(seen.get(de::adrfam)), 1u);
  check.equal("SUBTYPE", static_cast<unsigned>(seen.get(de::subtype)), 1u);
  check.equal("PORTID", seen.get(de::portid), 513u);
  check.equal("CNTLID", seen.get(de::cntlid), 0xFFFFu);
  check.equal("ASQSZ", seen.get(de::asqsz), 48u);
  check.equal("TRADDR", address_in(found[0]), std::string("192.0.2.72"));
  check.equal("TRSVCID", text_in(seen.get(de::trsvcid)), std::string("8009"));
}

// ---- extended entries ----

CONFORMANCE_CASE(cdc_flags_extended_entries, "discovery.cdc.log.extended.flag", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kDirect);
  registered(check, association, a_labelled_disk(bench));
  const Bytes log = read_extended(check, association);
  const std::size_t at = place_of_disk(log);
  check.require(at != 0, "the log lists the subsystem");
  const bool extended =
      fabrics::attributes_of(ByteView{log}.subspan(at, fabrics::entry_length(log, at, EntryFormat::extended))).has_value();
  check.precondition(extended, "its entry is an extended one");
  check.that((log[dh::dlpf.offset] & fabrics::dlpf_bits::extended) != 0, "EXTEND of the log is 1", "it is 0");
}

CONFORMANCE_CASE(cdc_gives_the_length_of_a_log_with_extended_entries, "discovery.cdc.log.extended.length", roles::cdc, a_cdc) {
  const auto [log, at, length] = log_of_a_labelled_disk(bench, check);
  const std::uint32_t tdlpl = View<fabrics::DiscoveryHeader>{log}.get(dh::tdlpl);
  check.that(tdlpl >= at + length, "TDLPL counts the whole entry", words(tdlpl));
}

CONFORMANCE_CASE(cdc_sends_no_extended_entries_unasked, "discovery.cdc.log.extended.asked", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kDirect);
  registered(check, association, a_labelled_disk(bench));
  registered(check, association, of_direct({disk_entry(bench, {.nqn = kDisk2})}));
  const Bytes header = read_page(check, association, nvme::LogPage::discovery, 1024);
  check.that((header[dh::dlpf.offset] & fabrics::dlpf_bits::extended) == 0, "EXTEND is 0 without EXTDLPE", "it is 1");
  check.equal("entries of 1,024 bytes of the one subsystem", registered_disks(check, association, kDisk).size(), std::size_t{1});
  check.equal("entries of 1,024 bytes of the other", registered_disks(check, association, kDisk2).size(), std::size_t{1});
}

CONFORMANCE_CASE(cdc_gives_the_length_of_an_extended_entry, "discovery.cdc.log.extended.entry", roles::cdc, a_cdc) {
  const auto [log, at, length] = log_of_a_labelled_disk(bench, check);
  check.that(length >= fabrics::ExtendedEntry::size, "TEL is at least 1,032", words(length));
  check.that(fabrics::attributes_of(ByteView{log}.subspan(at, length)).has_value(), "TEL and NUMEXAT count the attributes of the entry");
}

CONFORMANCE_CASE(cdc_lists_the_attributes_of_a_subsystem, "discovery.cdc.log.extended.attributes", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kDirect);
  const auto data = a_labelled_disk(bench);
  registered(check, association, data);
  const auto [log, at, length] = log_as_it_is(check, association);
  const auto found = fabrics::attributes_of(ByteView{log}.subspan(at, length));
  check.require(found.has_value(), "the entry has attributes");
  const auto sent = fabrics::attributes_of(data.entries[0]);
  check.that(*found == *sent, "the attributes are those that were registered", std::to_string(found->size()) + " others");
}

}  // namespace fb::conformance
