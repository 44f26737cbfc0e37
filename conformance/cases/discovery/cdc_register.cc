// What a centralized discovery controller does with registrations: NVMe Base 2.3, 5.4.4.
#include "conformance/cases/discovery/scene.h"
#include "conformance/runner/embedded_controller.h"

namespace fb::conformance {

using namespace discovery_cases;

namespace {

constexpr auto kRegister = RegistrationTask::register_entries;
constexpr auto kDeregister = RegistrationTask::deregister_entries;
constexpr auto kUpdate = RegistrationTask::update;

const arranged with_room_for_three{"a discovery controller with room for three entries", [](EmbeddedSetup& setup) {
                                     make_cdc(setup);
                                     setup.central.entries_max = 3;
                                   }};

constexpr std::string_view kAddresses[] = {"192.0.2.71", "192.0.2.72", "192.0.2.73"};

std::vector<Bytes> three_entries(const ControllerBench& bench) {
  std::vector<Bytes> entries;
  for (const std::string_view address : kAddresses) entries.push_back(host_entry(bench, kHost, address));
  return entries;
}

/// The addresses of a host's records, in ascending order.
std::vector<std::string> addresses_of(Check& check, RawAssociation& association, std::string_view nqn) {
  std::vector<std::string> found;
  for (const Bytes& record : hosts_named(check, association, nqn)) found.push_back(address_in(record));
  std::sort(found.begin(), found.end());
  return found;
}
void expect_addresses(Check& check, RawAssociation& association, std::vector<std::string> expected, std::string_view when) {
  const auto found = addresses_of(check, association, kHost.nqn);
  std::string text;
  for (const std::string& one : found) text += (text.empty() ? "" : ", ") + one;
  std::string wanted;
  for (const std::string& one : expected) wanted += (wanted.empty() ? "" : ", ") + one;
  check.that(found == expected, "the records of the host " + std::string(when) + ": " + wanted, text.empty() ? "none" : text);
}

/// Records of `nqn` in the Discovery log, one after each registration.
void expect_disk(Check& check, RawAssociation& association, std::size_t count, std::string_view when) {
  check.equal("entries of the registered subsystem " + std::string(when), registered_disks(check, association, kDisk).size(), count);
}

constexpr fabrics::EntryKeyType kReservedKey = static_cast<EntryKeyType>(0x11);

}  // namespace

// ---- Register ----

CONFORMANCE_CASE(cdc_records_a_host, "discovery.cdc.register.host", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kHost);
  check.require_success(send_task(check, association, kRegister, of_host(kHost, {host_entry(bench, kHost)})), "Register");
  expect_addresses(check, association, {"192.0.2.71"}, "after Register");
}

CONFORMANCE_CASE(cdc_records_a_subsystem, "discovery.cdc.register.subsystem", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kDirect);
  const Bytes entry = disk_entry(bench, {.nqn = kDisk});
  check.require_success(send_task(check, association, kRegister, of_direct({entry})), "Register");
  expect_disk(check, association, 1, "after Register");
  auto local = of_direct({disk_entry(bench, {.nqn = kDisk2})});
  local.port_local = true;
  check.require_success(send_task(check, association, kRegister, local), "Register with PORTLCL 1");
  check.equal("entries of a subsystem that was registered with PORTLCL 1", registered_disks(check, association, kDisk2).size(),
              std::size_t{1});
}

CONFORMANCE_CASE(cdc_records_an_extended_entry_of_a_subsystem, "discovery.cdc.register.subsystem-extended", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kDirect);
  const fabrics::Attribute label = fabrics::label("a registered disk");
  const Bytes entry = fabrics::extended(disk_entry(bench, {.nqn = kDisk}), {&label, 1});
  check.require_success(send_task(check, association, kRegister, of_direct({entry}, EntryFormat::extended)), "Register");
  expect_disk(check, association, 1, "after Register");
}

CONFORMANCE_CASE(cdc_records_each_entry_of_a_command, "discovery.cdc.register.several", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kHost);
  check.require_success(send_task(check, association, kRegister, of_host(kHost, three_entries(bench))), "Register of three entries");
  expect_addresses(check, association, {"192.0.2.71", "192.0.2.72", "192.0.2.73"}, "after Register");
}

CONFORMANCE_CASE(cdc_takes_what_is_registered_again, "discovery.cdc.register.again", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kDirect);
  registered(check, association, of_direct({disk_entry(bench, {.nqn = kDisk, .asqsz = 32})}));
  const auto again = of_direct({disk_entry(bench, {.nqn = kDisk, .asqsz = 64})});
  check.require_success(send_task(check, association, kRegister, again), "Register of an entry with the same key");
  const auto found = registered_disks(check, association, kDisk);
  check.require(found.size() == 1, "there is one entry with this key", std::to_string(found.size()));
  check.equal("ASQSZ of the entry", View<fabrics::DiscoveryEntry>{found[0]}.get(de::asqsz), 64u);
}

CONFORMANCE_CASE(cdc_adds_an_entry_of_another_key, "discovery.cdc.register.other-key", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kHost);
  registered(check, association, of_host(kHost, {host_entry(bench, kHost, kAddresses[0])}));
  registered(check, association, of_host(kHost, {host_entry(bench, kHost, kAddresses[1])}));
  expect_addresses(check, association, {"192.0.2.71", "192.0.2.72"}, "after two commands");
}

CONFORMANCE_CASE(cdc_leaves_portid_out_of_a_key_of_addresses, "discovery.cdc.register.key.address", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kDirect);
  registered(check, association, of_direct({disk_entry(bench, {.nqn = kDisk, .portid = 1})}));
  registered(check, association, of_direct({disk_entry(bench, {.nqn = kDisk, .portid = 2})}));
  expect_disk(check, association, 1, "that differ in PORTID alone, EKTYPE 5Fh");
}

CONFORMANCE_CASE(cdc_leaves_traddr_out_of_a_key_of_ports, "discovery.cdc.register.key.port-id", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kDirect);
  for (const std::string_view address : {kAddresses[0], kAddresses[1]}) {
    const Bytes entry = disk_entry(bench, {.nqn = kDisk, .traddr = address, .portid = 7});
    registered(check, association, of_direct({entry}, EntryFormat::basic, EntryKeyType::port_id));
  }
  expect_disk(check, association, 1, "that differ in TRADDR alone, EKTYPE 3Fh");
}

CONFORMANCE_CASE(cdc_refuses_to_register_nothing, "discovery.cdc.register.none", roles::cdc, a_cdc, reaches{"registration.register.none"}) {
  RawAssociation& association = join(bench, check, kHost);
  check.status(send_task(check, association, kRegister, of_host(kHost, {})), sc::invalid_field, "Register with NUMENT 0");
}

CONFORMANCE_CASE(cdc_refuses_more_entries_than_it_has_room_for, "discovery.cdc.register.capacity", roles::cdc, with_room_for_three) {
  RawAssociation& association = join(bench, check, kHost);
  auto entries = three_entries(bench);
  entries.push_back(host_entry(bench, kHost, "192.0.2.74"));
  check.status(send_task(check, association, kRegister, of_host(kHost, entries)), sc::insufficient_discovery_resources,
               "Register of four entries with room for three");
}

CONFORMANCE_CASE(cdc_fills_its_last_room, "discovery.cdc.register.room", roles::cdc, with_room_for_three) {
  RawAssociation& association = join(bench, check, kHost);
  check.require_success(send_task(check, association, kRegister, of_host(kHost, three_entries(bench))),
                        "Register of as many as there is room for");
  expect_addresses(check, association, {"192.0.2.71", "192.0.2.72", "192.0.2.73"}, "after Register");
  check.require_success(send_task(check, association, kRegister, of_host(kHost, three_entries(bench))),
                        "Register of the same entries again, with no room for others");
  expect_addresses(check, association, {"192.0.2.71", "192.0.2.72", "192.0.2.73"}, "after Register of the same entries");
}

CONFORMANCE_CASE(cdc_fills_in_the_address_that_a_host_leaves_out, "discovery.cdc.register.null-address", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kHost);
  Bytes entry = host_entry(bench, kHost);
  std::fill_n(entry.begin() + de::traddr.offset, de::traddr.size, std::uint8_t{0});
  const IpAddress ours = bench.local();
  if (!ours.is_v4()) MutableView<fabrics::DiscoveryEntry>{entry}.set(de::adrfam, fabrics::AddressFamily::ipv6);
  check.require_success(send_task(check, association, kRegister, of_host(kHost, {entry})), "Register with a TRADDR of NULL");
  const Bytes record = host_record(check, association, kHost.nqn);
  const auto listed = IpAddress::parse(address_in(record));
  // Behind an address translation the controller sees another one.
  check.that(listed.has_value(), "TRADDR is an address", address_in(record));
  if (bench.embedded()) check.equal("TRADDR", address_in(record), to_string(ours));
  deregistered(check, association, of_host(kHost, {entry}));
}

CONFORMANCE_CASE(cdc_refuses_two_entries_without_an_address, "discovery.cdc.register.null-address.twice", roles::cdc, a_cdc,
                 reaches{"registration.address.twice"}) {
  RawAssociation& association = join(bench, check, kHost);
  std::vector<Bytes> entries;
  for (const std::string_view service : {"4420", "4421"}) {
    Bytes entry = entry_of(bench, {.nqn = kHost.nqn, .traddr = "", .trsvcid = service}, true);
    std::fill_n(entry.begin() + de::traddr.offset, de::traddr.size, std::uint8_t{0});
    const fabrics::Attribute identifier = identifier_of(kHost);
    entries.push_back(fabrics::extended(entry, {&identifier, 1}));
  }
  check.status(send_task(check, association, kRegister, of_host(kHost, entries)), sc::invalid_field,
               "Register of two entries with a TRADDR of NULL");
}

CONFORMANCE_CASE(cdc_keeps_what_a_host_registered_when_it_leaves, "discovery.cdc.register.retained", roles::cdc, a_cdc) {
  RawAssociation& first = join(bench, check, kHost);
  RawAssociation& other = join(bench, check, kOther);
  registered(check, first, of_host(kHost, {host_entry(bench, kHost)}));
  first.admin().disconnect();
  bench.world().run_for(100_ms);
  expect_addresses(check, other, {"192.0.2.71"}, "after its association ended");
}

CONFORMANCE_CASE(cdc_keeps_registrations_through_a_reset, "discovery.cdc.register.reset", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kHost);
  registered(check, association, of_host(kHost, {host_entry(bench, kHost)}));
  association.disable();
  association.enable();
  expect_addresses(check, association, {"192.0.2.71"}, "after a Controller Reset");
}

// ---- De-Register ----

CONFORMANCE_CASE(cdc_removes_what_is_deregistered, "discovery.cdc.deregister.entry", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kHost);
  const auto entries = of_host(kHost, {host_entry(bench, kHost)});
  registered(check, association, entries);
  check.require_success(send_task(check, association, kDeregister, entries), "De-Register");
  expect_addresses(check, association, {}, "after De-Register");
}

CONFORMANCE_CASE(cdc_keeps_the_other_entries, "discovery.cdc.deregister.others", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kHost);
  registered(check, association, of_host(kHost, three_entries(bench)));
  const auto one = of_host(kHost, {host_entry(bench, kHost, kAddresses[1])});
  check.require_success(send_task(check, association, kDeregister, one), "De-Register of one entry");
  expect_addresses(check, association, {"192.0.2.71", "192.0.2.73"}, "after De-Register of another");
}

CONFORMANCE_CASE(cdc_removes_each_entry_of_a_command, "discovery.cdc.deregister.several", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kHost);
  registered(check, association, of_host(kHost, three_entries(bench)));
  const auto two = of_host(kHost, {host_entry(bench, kHost, kAddresses[0]), host_entry(bench, kHost, kAddresses[2])});
  check.require_success(send_task(check, association, kDeregister, two), "De-Register of two entries");
  expect_addresses(check, association, {"192.0.2.72"}, "after De-Register of two others");
  registered(check, association, of_host(kHost, three_entries(bench)));
  check.require_success(send_task(check, association, kDeregister, of_host(kHost, three_entries(bench))), "De-Register of all three");
  expect_addresses(check, association, {}, "after De-Register of all three");
}

CONFORMANCE_CASE(cdc_deregisters_by_the_entry_key, "discovery.cdc.deregister.key", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kDirect);
  registered(check, association, of_direct({disk_entry(bench, {.nqn = kDisk, .portid = 3, .asqsz = 32})}));
  const auto like = of_direct({disk_entry(bench, {.nqn = kDisk, .portid = 4, .asqsz = 128})});
  check.require_success(send_task(check, association, kDeregister, like), "De-Register");
  expect_disk(check, association, 0, "after De-Register with the same key");
}

CONFORMANCE_CASE(cdc_refuses_to_deregister_nothing, "discovery.cdc.deregister.none", roles::cdc, a_cdc,
                 reaches{"registration.deregister.none"}) {
  RawAssociation& association = join(bench, check, kHost);
  check.status(send_task(check, association, kDeregister, of_host(kHost, {})), sc::invalid_field, "De-Register with NUMENT 0");
}

// ---- Update ----

CONFORMANCE_CASE(cdc_replaces_what_is_updated, "discovery.cdc.update.replaces", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kHost);
  registered(check, association, of_host(kHost, {host_entry(bench, kHost, kAddresses[0])}));
  const auto change = of_host(kHost, {host_entry(bench, kHost, kAddresses[0]), host_entry(bench, kHost, kAddresses[1])});
  check.require_success(send_task(check, association, kUpdate, change), "Update");
  expect_addresses(check, association, {"192.0.2.72"}, "after Update");
  // The record that this names has gone: no text says what is answered, or recorded.
  send_task(check, association, kUpdate, change);
  expect_association(check, association, "after an Update of a record that is not there");
}

CONFORMANCE_CASE(cdc_updates_by_the_entry_key, "discovery.cdc.update.key", roles::cdc, a_cdc) {
  RawAssociation& association = join(bench, check, kDirect);
  registered(check, association, of_direct({disk_entry(bench, {.nqn = kDisk, .portid = 3, .asqsz = 32})}));
  const auto change = of_direct({disk_entry(bench, {.nqn = kDisk, .portid = 9, .asqsz = 128}),
                                 disk_entry(bench, {.nqn = kDisk, .traddr = kAddresses[1], .portid = 3, .asqsz = 64})});
  check.require_success(send_task(check, association, kUpdate, change), "Update");
  const auto found = registered_disks(check, association, kDisk);
  check.require(found.size() == 1, "there is one entry of the subsystem", std::to_string(found.size()));
  check.equal("TRADDR of the entry", address_in(found[0]), std::string(kAddresses[1]));
}

CONFORMANCE_CASE(cdc_updates_with_two_entries_alone, "discovery.cdc.update.two", roles::cdc, a_cdc, reaches{"registration.update.two"}) {
  RawAssociation& association = join(bench, check, kHost);
  registered(check, association, of_host(kHost, {host_entry(bench, kHost)}));
  check.status(send_task(check, association, kUpdate, of_host(kHost, {host_entry(bench, kHost)})), sc::invalid_field,
               "Update with NUMENT 1");
  check.status(send_task(check, association, kUpdate, of_host(kHost, three_entries(bench))), sc::invalid_field, "Update with NUMENT 3");
}

// ---- what is refused ----

CONFORMANCE_CASE(cdc_refuses_a_reserved_task, "discovery.cdc.task.reserved", roles::cdc, a_cdc, reaches{"registration.task"}) {
  RawAssociation& association = join(bench, check, kHost);
  for (const unsigned task : {3u, 15u}) {
    const auto entries = of_host(kHost, {host_entry(bench, kHost)});
    check.status(send_task(check, association, static_cast<RegistrationTask>(task), entries), sc::invalid_field,
                 "TAS " + std::to_string(task));
  }
}

CONFORMANCE_CASE(cdc_refuses_a_reserved_format, "discovery.cdc.format.reserved", roles::cdc, a_cdc, reaches{"registration.format"}) {
  RawAssociation& association = join(bench, check, kDirect);
  for (const unsigned format : {0u, 3u}) {
    auto entries = of_direct({disk_entry(bench, {.nqn = kDisk})});
    entries.entfmt = static_cast<EntryFormat>(format);
    check.refused(send_task(check, association, kRegister, entries), "ENTFMT " + std::to_string(format));
  }
}

CONFORMANCE_CASE(cdc_refuses_a_reserved_entity_type, "discovery.cdc.type.reserved", roles::cdc, a_cdc, reaches{"registration.type"}) {
  RawAssociation& association = join(bench, check, kHost);
  for (const unsigned type : {0u, 4u}) {
    auto entries = of_host(kHost, {host_entry(bench, kHost)});
    entries.etype = static_cast<EntityType>(type);
    check.refused(send_task(check, association, kRegister, entries), "ETYPE " + std::to_string(type));
  }
}

CONFORMANCE_CASE(cdc_refuses_port_local_of_a_host, "discovery.cdc.host.port-local", roles::cdc, a_cdc, reaches{"registration.port_local"}) {
  RawAssociation& association = join(bench, check, kHost);
  auto entries = of_host(kHost, {host_entry(bench, kHost)});
  entries.port_local = true;
  check.status(send_task(check, association, kRegister, entries), sc::invalid_field, "Register with ETYPE 1 and PORTLCL 1");
}

CONFORMANCE_CASE(cdc_refuses_a_reserved_key_type, "discovery.cdc.key.reserved", roles::cdc, a_cdc, reaches{"registration.key"}) {
  RawAssociation& association = join(bench, check, kDirect);
  const auto entries = of_direct({disk_entry(bench, {.nqn = kDisk})}, EntryFormat::basic, kReservedKey);
  check.refused(send_task(check, association, kRegister, entries), "Register with EKTYPE 11h");
}

CONFORMANCE_CASE(cdc_refuses_a_host_with_a_key_of_ports, "discovery.cdc.host.key", roles::cdc, a_cdc, reaches{"registration.host.key"}) {
  RawAssociation& association = join(bench, check, kHost);
  auto entries = of_host(kHost, {host_entry(bench, kHost)});
  entries.ektype = EntryKeyType::port_id;
  check.refused(send_task(check, association, kRegister, entries), "Register of a host with EKTYPE 3Fh");
}

CONFORMANCE_CASE(cdc_refuses_a_basic_entry_of_a_host, "discovery.cdc.host.format", roles::cdc, a_cdc, reaches{"registration.host.format"}) {
  RawAssociation& association = join(bench, check, kHost);
  auto entries = of_host(kHost, {entry_of(bench, {.nqn = kHost.nqn}, true)});
  entries.entfmt = EntryFormat::basic;
  check.refused(send_task(check, association, kRegister, entries), "Register of a host with ENTFMT 1");
}

CONFORMANCE_CASE(cdc_refuses_a_host_without_attributes, "discovery.cdc.host.attributes", roles::cdc, a_cdc,
                 reaches{"registration.host.attributes"}) {
  RawAssociation& association = join(bench, check, kHost);
  const auto entries = of_host(kHost, {fabrics::extended(entry_of(bench, {.nqn = kHost.nqn}, true), {})});
  check.status(send_task(check, association, kRegister, entries), sc::invalid_discovery_information, "Register with ETYPE 1 and NUMEXAT 0");
}

CONFORMANCE_CASE(cdc_refuses_a_host_without_identifier, "discovery.cdc.host.identifier", roles::cdc, a_cdc,
                 reaches{"registration.host.identifier"}) {
  RawAssociation& association = join(bench, check, kHost);
  const fabrics::Attribute label = fabrics::label("no identifier");
  const auto entries = of_host(kHost, {fabrics::extended(entry_of(bench, {.nqn = kHost.nqn}, true), {&label, 1})});
  check.refused(send_task(check, association, kRegister, entries), "Register of a host without a Host Identifier");
}

CONFORMANCE_CASE(cdc_refuses_a_subsystem_with_host_identifier, "discovery.cdc.subsystem.identifier", roles::cdc, a_cdc,
                 reaches{"registration.subsystem.identifier"}) {
  RawAssociation& association = join(bench, check, kDirect);
  const fabrics::Attribute identifier = identifier_of(kDirect);
  const Bytes entry = fabrics::extended(disk_entry(bench, {.nqn = kDisk}), {&identifier, 1});
  check.refused(send_task(check, association, kRegister, of_direct({entry}, EntryFormat::extended)),
                "Register of a subsystem with a Host Identifier");
}

CONFORMANCE_CASE(cdc_refuses_an_attribute_of_odd_length, "discovery.cdc.attribute.length", roles::cdc, a_cdc,
                 reaches{"registration.attribute.length"}) {
  RawAssociation& association = join(bench, check, kHost);
  const fabrics::Attribute odd{fabrics::AttributeType::label_ascii, Bytes{'o', 'd', 'd', '.', '.', 0}};
  const auto entries = of_host(kHost, {host_entry(bench, kHost, kAddresses[0], {odd})});
  check.status(send_task(check, association, kRegister, entries), sc::invalid_field, "Register with EXATLEN 6");
}

CONFORMANCE_CASE(cdc_refuses_an_entry_beyond_the_data, "discovery.cdc.entry.length", roles::cdc, a_cdc,
                 reaches{"registration.entry.length"}) {
  RawAssociation& association = join(bench, check, kHost);
  Bytes entry = host_entry(bench, kHost);
  MutableView<fabrics::ExtendedEntry>{entry}.set(ee::tel, static_cast<std::uint32_t>(entry.size() + 4096));
  check.refused(send_task(check, association, kRegister, of_host(kHost, {entry})), "Register of an entry that ends beyond the data");
  const std::vector<Bytes> cut = {host_entry(bench, kHost), Bytes(100)};
  check.refused(send_task(check, association, kRegister, of_host(kHost, cut)), "Register of two entries, the second of 100 bytes");
}

CONFORMANCE_CASE(cdc_refuses_more_data_than_there_is, "discovery.cdc.data.length", roles::cdc, a_cdc, reaches{"registration.length"}) {
  RawAssociation& association = join(bench, check, kHost);
  Bytes data = of_host(kHost, {host_entry(bench, kHost)}).bytes();
  MutableView<fabrics::RegistrationHeader>{data}.set(rg::tdl, static_cast<std::uint32_t>(data.size() + 4096));
  check.refused(send_task(check, association, kRegister, data), "Register with TDL beyond the data");
}

CONFORMANCE_CASE(cdc_knows_what_is_of_subsystems_alone, "discovery.cdc.host.fields", roles::cdc, a_cdc,
                 reaches{"registration.host.fields"}) {
  RawAssociation& association = join(bench, check, kHost);
  Bytes entry = host_entry(bench, kHost);
  MutableView<fabrics::DiscoveryEntry>{entry}.set(de::portid, 7u).set(de::asqsz, 32u);
  check.status(send_task(check, association, kRegister, of_host(kHost, {entry})), one_of(sc::invalid_discovery_information, sc::success),
               "Register of a host with PORTID and ASQSZ");
}

}  // namespace fb::conformance
