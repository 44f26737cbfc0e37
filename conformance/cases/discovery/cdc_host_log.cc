// The Host Discovery log (71h) and the AVE Discovery log (72h): NVMe Base 2.3, 5.2.12.3.4 and 5.2.12.3.5.
#include "conformance/cases/discovery/scene.h"

namespace fb::conformance {

using namespace discovery_cases;

namespace {

constexpr auto kHosts = nvme::LogPage::host_discovery;

/// A host with a long name's worth of text in its label, registered.
fabrics::RegistrationData a_host(const ControllerBench& bench, const Party& party = kHost) {
  return of_host(party, {host_entry(bench, party, "192.0.2.71", {fabrics::label("host of the bench")})});
}

RawAssociation& registered_host(ControllerBench& bench, Check& check) {
  RawAssociation& association = join(bench, check, kHost);
  registered(check, association, a_host(bench));
  return association;
}

bool has_flag(const Bytes& log) { return (log[hh::hdlpf.offset] & fabrics::hdlpf_bits::all_hosts) != 0; }

/// The next notice of a change of a discovery log within five seconds.
std::optional<nvme::Event> heard(Check& check, Op<host::RawReply>& request, Duration limit = 5_s) {
  const auto reply = request.wait_for(limit);
  if (!reply) return std::nullopt;
  check.require_success(*reply, "Asynchronous Event Request");
  return nvme::Event::from_dw0(reply->dw0());
}

/// An observer with the event of the Host Discovery log enabled, and a request under way.
Op<host::RawReply> listens(Check& check, RawAssociation& association, std::uint32_t bits) {
  want_events(check, association, bits);
  (void)read_hosts(check, association, false);
  auto request = association.admin().send(host::async_event_request());
  expect_association(check, association);
  return request;
}

bool ncc_of(ByteView record) { return (View<fabrics::HostEntry>{record}.get(de::eflags) & fabrics::eflags_bits::no_cdc_connectivity) != 0; }

/// The AVE Discovery log, where there is one.
Bytes read_aves(ControllerBench& bench, Check& check) {
  RawAssociation& association = join(bench, check, kHost);
  check.precondition(parameter_of(check, association, nvme::LogPage::ave_discovery).has_value(), "log page 72h");
  const Bytes log = read_page(check, association, nvme::LogPage::ave_discovery, 8192);
  check.precondition(View<fabrics::AveLogHeader>{log}.get(fabrics::ave_log_header::numrec) != 0, "an AVE");
  return log;
}
std::vector<Bytes> aves_of(Check& check, const Bytes& log) {
  return records_of(check, log, fabrics::ave_entry::tel.offset, fabrics::AveEntry::size);
}

}  // namespace

// ---- the header ----

CONFORMANCE_CASE(cdc_host_log_counts_its_records, "discovery.cdc.host-log.numrec", roles::cdc, a_cdc) {
  RawAssociation& association = registered_host(bench, check);
  const Bytes log = read_hosts(check, association);
  const std::size_t length = View<fabrics::HostLogHeader>{log}.get(hh::thdlpl);
  std::size_t end = 1024;
  for (const Bytes& record : host_records(check, log)) end += record.size();
  check.equal("the end of the last of NUMREC records", end, length);
}

CONFORMANCE_CASE(cdc_host_log_has_format_0, "discovery.cdc.host-log.recfmt", roles::cdc, a_cdc) {
  const Bytes header = read_page(check, registered_host(bench, check), kHosts, 1024);
  check.equal("RECFMT", View<fabrics::HostLogHeader>{header}.get(hh::recfmt), 0u);
}

CONFORMANCE_CASE(cdc_host_log_gives_its_length, "discovery.cdc.host-log.length", roles::cdc, a_cdc) {
  RawAssociation& association = registered_host(bench, check);
  const Bytes log = read_page(check, association, kHosts, 8192, fabrics::host_log_lsp_bits::all_hosts);
  std::size_t end = 1024;
  for (const Bytes& record : host_records(check, log)) end += record.size();
  check.equal("THDLPL", View<fabrics::HostLogHeader>{log}.get(hh::thdlpl), end);
}

CONFORMANCE_CASE(cdc_host_log_counts_a_registration, "discovery.cdc.host-log.genctr", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kHost);
  const std::uint64_t before = genctr_of(check, association, kHosts);
  registered(check, association, a_host(bench));
  needs_a_view_of_hosts(bench, check, association, kHost.nqn);
  const std::uint64_t after = genctr_of(check, association, kHosts);
  check.that(after != before, "GENCTR is another after a host registered", std::to_string(after));
  // Others may register at the same time.
  if (bench.embedded()) check.equal("GENCTR", after, before + 1);
  const auto moved = of_host(kHost, {host_entry(bench, kHost), host_entry(bench, kHost, "192.0.2.72")});
  check.precondition_success(send_task(check, association, RegistrationTask::update, moved), "Update");
  const std::uint64_t updated = genctr_of(check, association, kHosts);
  check.that(updated != after, "GENCTR is another after a host updated its entry", std::to_string(updated));
  if (bench.embedded()) check.equal("GENCTR after Update", updated, after + 1);
}

CONFORMANCE_CASE(cdc_host_log_counts_a_deregistration, "discovery.cdc.host-log.genctr.removed", roles::cdc, a_cdc) {
  RawAssociation& association = registered_host(bench, check);
  needs_a_view_of_hosts(bench, check, association, kHost.nqn);
  const std::uint64_t before = genctr_of(check, association, kHosts);
  deregistered(check, association, a_host(bench));
  check.that(genctr_of(check, association, kHosts) != before, "GENCTR is another after De-Register");
}

CONFORMANCE_CASE(cdc_host_log_is_the_same_while_nothing_changes, "discovery.cdc.host-log.genctr.stable", roles::cdc, a_cdc) {
  RawAssociation& association = registered_host(bench, check);
  const Bytes first = read_hosts(check, association);
  const Bytes second = read_hosts(check, association);
  if (std::equal(first.begin() + 8, first.end(), second.begin() + 8, second.end())) {
    check.equal("GENCTR of a log of the same content", load_le<std::uint64_t>(second.data()), load_le<std::uint64_t>(first.data()));
  } else {
    check.inconclusive("something else changes the log");
    return;
  }
  if (!bench.embedded()) return;
  // No command here changes the log.
  const auto same = [&](std::string_view what) {
    check.bytes("the log after " + std::string(what), read_hosts(check, association), second);
  };
  check.precondition_success(send_task(check, association, RegistrationTask::register_entries, a_host(bench)), "Register again");
  same("Register of what is registered");
  check.refused(send_task(check, association, RegistrationTask::update, a_host(bench)), "Update with one entry");
  same("a refused Update");
}

// ---- entries ----

CONFORMANCE_CASE(cdc_host_log_names_the_host, "discovery.cdc.host-log.name", roles::cdc, a_cdc) {
  RawAssociation& association = registered_host(bench, check);
  bool listed = false;
  std::string names;
  for (const Bytes& record : host_records(check, read_hosts(check, association))) {
    listed = listed || nqn_in(record) == kHost.nqn;
    names += (names.empty() ? "" : ", ") + nqn_in(record);
  }
  check.that(listed, "HOSTNQN of a record is the name that was registered", names);
}

CONFORMANCE_CASE(cdc_host_log_has_the_address, "discovery.cdc.host-log.address", roles::cdc, a_cdc) {
  RawAssociation& association = registered_host(bench, check);
  const Bytes record = host_record(check, association, kHost.nqn);
  const View<fabrics::HostEntry> entry{record};
  check.equal("TRADDR", address_in(record), std::string("192.0.2.71"));
  check.equal("ADRFAM", static_cast<unsigned>(entry.get(de::adrfam)), 1u);
  check.equal("TRTYPE", static_cast<unsigned>(entry.get(de::trtype)),
              static_cast<unsigned>(fabrics::transport_named(bench.transport()).type));
}

CONFORMANCE_CASE(cdc_host_log_has_the_host_identifier, "discovery.cdc.host-log.identifier", roles::cdc, a_cdc) {
  RawAssociation& association = registered_host(bench, check);
  const auto attributes = fabrics::attributes_of(host_record(check, association, kHost.nqn));
  check.require(attributes.has_value(), "TEL and NUMEXAT count the attributes of the record");
  const auto found = std::find_if(attributes->begin(), attributes->end(),
                                  [](const auto& one) { return one.type == fabrics::AttributeType::host_identifier; });
  check.require(found != attributes->end(), "there is a Host Identifier");
  check.bytes("the Host Identifier", found->value, identifier_of(kHost).value);
}

CONFORMANCE_CASE(cdc_host_log_has_each_attribute, "discovery.cdc.host-log.attributes", roles::cdc, a_cdc) {
  RawAssociation& association = registered_host(bench, check);
  const auto attributes = fabrics::attributes_of(host_record(check, association, kHost.nqn));
  check.require(attributes.has_value(), "TEL and NUMEXAT count the attributes of the record");
  const fabrics::Attribute label = fabrics::label("host of the bench");
  check.that(std::find(attributes->begin(), attributes->end(), label) != attributes->end(), "the admin label is listed",
             std::to_string(attributes->size()) + " attributes without it");
}

CONFORMANCE_CASE(cdc_host_log_clears_what_is_reserved, "discovery.cdc.host-log.reserved", roles::cdc, a_cdc) {
  RawAssociation& association = registered_host(bench, check);
  const Bytes log = read_hosts(check, association);
  const auto zero = [](ByteView bytes) { return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; }); };
  check.that(zero(ByteView{log}.subspan(24, 1000)), "bytes 24 to 1023 of the header are 0");
  check.that((log[hh::hdlpf.offset] & 0xFE) == 0, "bits 7 to 1 of HDLPF are 0");
  const Bytes record = host_record(check, association, kHost.nqn);
  check.that(zero(ByteView{record}.subspan(2, 8)), "bytes 2 to 9 of the record are 0");
  check.that(zero(ByteView{record}.subspan(12, 244)), "bytes 12 to 255 of the record are 0");
  const unsigned flags = View<fabrics::HostEntry>{record}.get(de::eflags);
  check.equal("reserved bits of EFLAGS", flags & ~unsigned{fabrics::eflags_bits::no_cdc_connectivity}, 0u);
}

CONFORMANCE_CASE(cdc_host_log_gives_the_length_of_a_record, "discovery.cdc.host-log.tel", roles::cdc, a_cdc) {
  RawAssociation& association = registered_host(bench, check);
  const Bytes log = read_page(check, association, kHosts, 8192, fabrics::host_log_lsp_bits::all_hosts);
  std::size_t at = 1024;
  while (at + fabrics::HostEntry::size <= log.size() && nqn_in(ByteView{log}.subspan(at)) != kHost.nqn) at += 4;
  check.require(at + fabrics::HostEntry::size <= log.size(), "the log lists the host");
  const std::size_t length = fabrics::entry_length(log, at, EntryFormat::extended);
  check.require(length != 0, "TEL is at least 1,032 and ends within the log");
  check.that(fabrics::attributes_of(ByteView{log}.subspan(at, length)).has_value(), "TEL and NUMEXAT count the attributes of the record");
}

CONFORMANCE_CASE(cdc_host_log_marks_who_has_left, "discovery.cdc.host-log.ncc", roles::cdc, a_cdc) {
  RawAssociation& association = registered_host(bench, check);
  RawAssociation& other = join(bench, check, kOther);
  const auto look = [&](bool left, std::string_view when) {
    check.equal("NCC " + std::string(when), ncc_of(host_record(check, other, kHost.nqn)), left);
    return load_le<std::uint64_t>(read_hosts(check, other).data());
  };
  const std::uint64_t first = look(false, "while the host is connected");
  association.admin().disconnect();
  bench.world().run_for(1_s);
  const std::uint64_t second = look(true, "after the host left");
  check.that(first != second, "GENCTR is another after NCC changed", words(second));
  return_of(bench, kHost);
  const std::uint64_t third = look(false, "after the host has returned");
  check.that(second != third, "GENCTR is another after NCC changed again", words(third));
}

CONFORMANCE_CASE(cdc_host_log_knows_who_is_connected, "discovery.cdc.host-log.ncc.connected", roles::cdc, a_cdc) {
  check.that(!ncc_of(host_record(check, registered_host(bench, check), kHost.nqn)), "NCC is 0 while the host is connected", "it is 1");
}

// ---- all hosts ----

CONFORMANCE_CASE(cdc_host_log_lists_all_hosts_if_asked, "discovery.cdc.host-log.all", roles::cdc, a_cdc) {
  RawAssociation& association = registered_host(bench, check);
  RawAssociation& other = join(bench, check, kOther);
  registered(check, other, a_host(bench, kOther));
  for (RawAssociation* one : {&association, &other}) {
    const auto records = host_records(check, read_hosts(check, *one));
    check.that(named(records, kHost.nqn).size() == 1 && named(records, kOther.nqn).size() == 1, "each host sees both with ALLHOSTE",
               std::to_string(records.size()) + " records");
  }
}

CONFORMANCE_CASE(cdc_host_log_says_that_it_has_all_hosts, "discovery.cdc.host-log.all.flag", roles::cdc, a_cdc) {
  RawAssociation& association = registered_host(bench, check);
  check.that(has_flag(read_hosts(check, association)), "ALLHOST is 1 with ALLHOSTE", "it is 0");
}

CONFORMANCE_CASE(cdc_host_log_claims_all_hosts_with_all_of_them, "discovery.cdc.host-log.all.true", roles::cdc, a_cdc) {
  registered_host(bench, check);
  RawAssociation& other = join(bench, check, kOther);
  const Bytes own = read_hosts(check, other, false);
  const std::size_t listed = host_records(check, own).size(), all = host_records(check, read_hosts(check, other)).size();
  check.that(!has_flag(own) || listed == all, "ALLHOST is 1 only where no host is left out",
             std::to_string(listed) + " of " + std::to_string(all) + " records");
}

CONFORMANCE_CASE(cdc_host_log_claims_what_it_honors, "discovery.cdc.host-log.all.supported", roles::cdc, a_cdc) {
  RawAssociation& association = registered_host(bench, check);
  const auto parameter = parameter_of(check, association, kHosts);
  check.require(parameter.has_value(), "Supported Log Pages lists 71h");
  const bool flag = has_flag(read_page(check, association, kHosts, 1024, fabrics::host_log_lsp_bits::all_hosts));
  check.that(!flag || (*parameter & 1) != 0, "ALLHOSTES is 1 where a log comes with ALLHOST", "it is 0");
}

// ---- events ----

CONFORMANCE_CASE(cdc_announces_a_host_that_registers, "discovery.cdc.host-log.event", roles::cdc, a_cdc) {
  RawAssociation& other = join(bench, check, kOther);
  RawAssociation& association = join(bench, check, kHost);
  auto request = listens(check, other, kLogEvents);
  registered(check, association, a_host(bench));
  needs_a_view_of_hosts(bench, check, other, kHost.nqn);
  const auto event = heard(check, request);
  check.require(event.has_value(), "a notice within 5 s of the registration");
  check.equal("its type", static_cast<unsigned>(event->type), 2u);
  check.equal("its information", unsigned{event->info}, 0xF1u);
}

CONFORMANCE_CASE(cdc_names_the_host_log_in_its_notice, "discovery.cdc.host-log.event.page", roles::cdc, a_cdc) {
  RawAssociation& other = join(bench, check, kOther);
  RawAssociation& association = join(bench, check, kHost);
  auto request = listens(check, other, kLogEvents);
  registered(check, association, a_host(bench));
  const auto event = heard(check, request);
  check.precondition(event.has_value() && event->info == nvme::event_info::notice_host_discovery_log, "a notice of the registration");
  check.equal("the log page of the notice", unsigned{event->lid}, 0x71u);
}

CONFORMANCE_CASE(cdc_announces_a_host_that_deregisters, "discovery.cdc.host-log.event.removed", roles::cdc, a_cdc) {
  RawAssociation& association = registered_host(bench, check);
  RawAssociation& other = join(bench, check, kOther);
  needs_a_view_of_hosts(bench, check, other, kHost.nqn);
  auto request = listens(check, other, kLogEvents);
  deregistered(check, association, a_host(bench));
  const auto event = heard(check, request);
  check.that(event.has_value() && event->info == nvme::event_info::notice_host_discovery_log,
             "a Host Discovery Log Page Change within 5 s of De-Register");
}

CONFORMANCE_CASE(cdc_announces_hosts_to_who_asked_alone, "discovery.cdc.host-log.event.asked", roles::cdc, a_cdc) {
  RawAssociation& other = join(bench, check, kOther);
  RawAssociation& association = join(bench, check, kHost);
  auto request = listens(check, other, nvme::event_config_bits::discovery_log);
  registered(check, association, a_host(bench));
  const auto event = heard(check, request, 2_s);
  check.that(!event.has_value() || event->info != nvme::event_info::notice_host_discovery_log,
             "no Host Discovery Log Page Change without bit 30 of the event configuration", "there was one");
}

// ---- AVE ----

CONFORMANCE_CASE(cdc_ave_log_counts_its_records, "discovery.cdc.ave.numrec", roles::cdc, a_cdc) {
  const Bytes log = read_aves(bench, check);
  check.equal("RECFMT", View<fabrics::AveLogHeader>{log}.get(fabrics::ave_log_header::recfmt), 0u);
  for (const Bytes& record : aves_of(check, log)) {
    const std::string name = text_in(View<fabrics::AveEntry>{record}.get(fabrics::ave_entry::avenqn));
    check.that(fabrics::valid_nqn(name), "each record has an AVENQN", name);
  }
}

CONFORMANCE_CASE(cdc_ave_log_gives_its_length, "discovery.cdc.ave.length", roles::cdc, a_cdc) {
  const Bytes log = read_aves(bench, check);
  std::size_t end = 1024;
  for (const Bytes& record : aves_of(check, log)) end += record.size();
  check.equal("TADLPL", View<fabrics::AveLogHeader>{log}.get(fabrics::ave_log_header::tadlpl), end);
}

CONFORMANCE_CASE(cdc_ave_log_counts_transport_records, "discovery.cdc.ave.records", roles::cdc, a_cdc) {
  const Bytes log = read_aves(bench, check);
  std::size_t at = 1024;
  for (std::uint64_t i = 0; i < View<fabrics::AveLogHeader>{log}.get(fabrics::ave_log_header::numrec); ++i) {
    check.require(log.size() - at >= fabrics::AveEntry::size, "the record lies within the log");
    const View<fabrics::AveEntry> entry{ByteView{log}.subspan(at)};
    const std::size_t tel = entry.get(fabrics::ave_entry::tel);
    check.equal("TEL of a record", tel, fabrics::AveEntry::size + entry.get(fabrics::ave_entry::numatr) * fabrics::AveRecord::size);
    check.require(tel >= fabrics::AveEntry::size && tel <= log.size() - at, "TEL ends within the log");
    at += tel;
  }
  if (!bench.embedded()) return;
  // Those that the product was set up with.
  EmbeddedSetup known;
  make_cdc(known);
  const std::vector<Bytes> records = aves_of(check, log);
  check.require(records.size() == known.central.aves.size(), "a record of each AVE", std::to_string(records.size()));
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& ave = known.central.aves[i];
    const std::string of = " of AVE " + std::to_string(i + 1);
    check.equal("AVENQN" + of, text_in(View<fabrics::AveEntry>{records[i]}.get(fabrics::ave_entry::avenqn)), ave.nqn);
    for (std::size_t k = 0; k < ave.at.size(); ++k) {
      namespace ar = fabrics::ave_record;
      const ByteView record = ByteView{records[i]}.subspan(fabrics::AveEntry::size + k * fabrics::AveRecord::size);
      const auto address = ave.at[k].address.bytes();
      const bool v4 = ave.at[k].address.is_v4();
      const ByteView bytes = v4 ? ByteView{address}.last(4) : ByteView{address};
      const std::string which = " of address " + std::to_string(k + 1) + of;
      check.bytes("AVETRADDR" + which, record.subspan(ar::avetraddr.offset, bytes.size()), bytes);
      check.equal("AVETRSVCID" + which, View<fabrics::AveRecord>{record}.get(ar::avetrsvcid), ave.at[k].port);
    }
  }
}

CONFORMANCE_CASE(cdc_ave_log_gives_the_family_of_an_address, "discovery.cdc.ave.family", roles::cdc, a_cdc) {
  namespace ar = fabrics::ave_record;
  const Bytes log = read_aves(bench, check);
  for (const Bytes& record : aves_of(check, log)) {
    for (std::size_t at = fabrics::AveEntry::size; at + fabrics::AveRecord::size <= record.size(); at += fabrics::AveRecord::size) {
      const View<fabrics::AveRecord> one{ByteView{record}.subspan(at)};
      const auto family = static_cast<unsigned>(one.get(ar::aveadrfam));
      check.between("AVEADRFAM", family, 1u, 2u);
      const ByteView rest = one.get(ar::avetraddr).subspan(4);
      const bool zero = std::all_of(rest.begin(), rest.end(), [](std::uint8_t byte) { return byte == 0; });
      check.that(family != 1 || zero, "an address of AVEADRFAM 1 has four bytes, and zeroes behind", words(rest));
      check.that(one.get(ar::avetrsvcid) != 0, "AVETRSVCID is a port", "0");
    }
  }
}

}  // namespace fb::conformance
