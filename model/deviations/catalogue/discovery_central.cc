// Centralized discovery: registrations, and the logs that tell of them.
#include "model/deviations/deviation.h"

namespace fb::deviations {

namespace sc = nvme::sc;

// ---- what a centralized discovery controller is ----

DEVIATION(cdc_is_direct, "discovery.cdc.identify", Product::controller, "reports DCTYPE 1", Departs{"sub.cdc.type"});
DEVIATION(cdc_hides_its_command, "discovery.cdc.commands", Product::controller,
          "does not list Discovery Information Management in the effects log", Departs{"sub.cdc.effects"});
DEVIATION(cdc_without_zoning, "discovery.cdc.zoning", Product::controller, "answers Fabric Zoning commands with Invalid Opcode",
          AnswerWith{"zoning.disabled", sc::invalid_opcode});
DEVIATION(cdc_without_pull_log, "discovery.cdc.pull-log.listed", Product::controller, "does not list log page 73h",
          Departs{"sub.cdc.log73.missing"});
DEVIATION(cdc_pull_log_of_no_length, "discovery.cdc.pull-log.length", Product::controller, "reports TPDRPL 0",
          Departs{"sub.cdc.log73.length"});
DEVIATION(cdc_without_extended_entries, "discovery.cdc.extended.supported", Product::controller, "reports EXTDLPES 0",
          Departs{"sub.cdc.extended.missing"});
DEVIATION(cdc_claims_port_local, "discovery.cdc.port-local", Product::controller, "reports PLEOS 1", Departs{"sub.cdc.port_local"});
DEVIATION(cdc_claims_no_host_events, "discovery.cdc.events", Product::controller, "does not claim Host Discovery Log Page Change",
          Departs{"sub.cdc.events.missing"});

// ---- Register, De-Register, Update ----

DEVIATION(cdc_forgets_a_host, "discovery.cdc.register.host", Product::controller, "does not record a host that registers",
          Departs{"sub.registration.lost"});
DEVIATION(cdc_forgets_a_subsystem, "discovery.cdc.register.subsystem", Product::controller, "does not record a basic entry",
          Departs{"sub.registration.lost.basic"});
DEVIATION(cdc_forgets_an_extended_entry, "discovery.cdc.register.subsystem-extended", Product::controller,
          "does not record an extended entry of a subsystem", Departs{"sub.registration.lost.extended"});
DEVIATION(cdc_records_the_first_entry, "discovery.cdc.register.several", Product::controller, "records the first entry of a command alone",
          Departs{"sub.registration.first"});
DEVIATION(cdc_records_twice, "discovery.cdc.register.again", Product::controller, "lists an entry twice that is registered again",
          Departs{"sub.registration.twice"});
DEVIATION(cdc_keeps_what_was_registered_first, "discovery.cdc.register.again", Product::controller,
          "keeps the old content of an entry that is registered again", Departs{"sub.registration.stale"});
DEVIATION(cdc_has_one_entry_an_entity, "discovery.cdc.register.other-key", Product::controller,
          "replaces the entry of an entity by its next one", Departs{"sub.registration.entity"});
DEVIATION(cdc_counts_portid_in_a_key, "discovery.cdc.register.key.address", Product::controller, "compares PORTID although EKTYPE is 5Fh",
          Departs{"sub.registration.key.port"});
DEVIATION(cdc_counts_traddr_in_a_key, "discovery.cdc.register.key.port-id", Product::controller, "compares TRADDR although EKTYPE is 3Fh",
          Departs{"sub.registration.key.address"});
DEVIATION(cdc_registers_nothing, "discovery.cdc.register.none", Product::controller, "accepts Register with NUMENT 0",
          Tolerate{"registration.register.none"});
DEVIATION(cdc_names_another_reason_for_nothing, "discovery.cdc.register.none", Product::controller,
          "refuses Register with NUMENT 0 with Invalid Discovery Information",
          AnswerWith{"registration.register.none", sc::invalid_discovery_information});
DEVIATION(cdc_takes_more_than_fits, "discovery.cdc.register.capacity", Product::controller, "accepts entries beyond its capacity",
          Tolerate{"registration.capacity"});
DEVIATION(cdc_is_full_for_another_reason, "discovery.cdc.register.capacity", Product::controller,
          "refuses entries beyond its capacity with Invalid Field in Command", AnswerWith{"registration.capacity", sc::invalid_field});
DEVIATION(cdc_loses_the_last_room, "discovery.cdc.register.room", Product::controller, "does not record the last entry that fits",
          Departs{"sub.registration.last"});
DEVIATION(cdc_lists_no_address, "discovery.cdc.register.null-address", Product::controller, "lists a TRADDR of NULL as it is",
          Departs{"sub.registration.address"});
DEVIATION(cdc_takes_two_without_address, "discovery.cdc.register.null-address.twice", Product::controller,
          "accepts two entries with a TRADDR of NULL", Tolerate{"registration.address.twice"});
DEVIATION(cdc_drops_who_leaves, "discovery.cdc.register.retained", Product::controller, "drops registrations when the host leaves",
          Departs{"sub.registration.dropped"});
DEVIATION(cdc_drops_at_reset, "discovery.cdc.register.reset", Product::controller, "drops registrations at a controller reset",
          Departs{"sub.registration.reset"});
DEVIATION(cdc_ignores_deregistration, "discovery.cdc.deregister.entry", Product::controller, "De-Register succeeds without effect",
          Departs{"sub.deregistration.ignored"});
DEVIATION(cdc_removes_all, "discovery.cdc.deregister.others", Product::controller, "De-Register removes all entries of the entity",
          Departs{"sub.deregistration.all"});
DEVIATION(cdc_removes_the_first, "discovery.cdc.deregister.several", Product::controller, "De-Register removes the first entry alone",
          Departs{"sub.deregistration.first"});
DEVIATION(cdc_removes_what_is_equal, "discovery.cdc.deregister.key", Product::controller,
          "De-Register compares fields that are not of the key", Departs{"sub.deregistration.whole"});
DEVIATION(cdc_deregisters_nothing, "discovery.cdc.deregister.none", Product::controller, "accepts De-Register with NUMENT 0",
          Tolerate{"registration.deregister.none"});
DEVIATION(cdc_update_adds, "discovery.cdc.update.replaces", Product::controller, "Update keeps the old entry",
          Departs{"sub.registration.update.adds"});
DEVIATION(cdc_update_compares_all, "discovery.cdc.update.key", Product::controller, "Update compares fields that are not of the key",
          Departs{"sub.registration.update.key"});
DEVIATION(cdc_updates_any_number, "discovery.cdc.update.two", Product::controller, "accepts Update with another number of entries than two",
          Tolerate{"registration.update.two"});

// ---- what is refused ----

DEVIATION(cdc_takes_a_reserved_task, "discovery.cdc.task.reserved", Product::controller, "accepts reserved values of TAS",
          Tolerate{"registration.task"});
DEVIATION(cdc_takes_a_reserved_format, "discovery.cdc.format.reserved", Product::controller, "accepts reserved values of ENTFMT",
          Tolerate{"registration.format"});
DEVIATION(cdc_takes_a_reserved_type, "discovery.cdc.type.reserved", Product::controller, "accepts reserved values of ETYPE",
          Tolerate{"registration.type"});
DEVIATION(cdc_takes_port_local_of_a_host, "discovery.cdc.host.port-local", Product::controller, "accepts PORTLCL of a host",
          Tolerate{"registration.port_local"});
DEVIATION(cdc_takes_a_reserved_key, "discovery.cdc.key.reserved", Product::controller, "accepts reserved values of EKTYPE",
          Tolerate{"registration.key"});
DEVIATION(cdc_takes_a_host_by_port, "discovery.cdc.host.key", Product::controller, "accepts EKTYPE 3Fh of a host",
          Tolerate{"registration.host.key"});
DEVIATION(cdc_takes_a_basic_host, "discovery.cdc.host.format", Product::controller, "accepts basic entries of a host",
          Tolerate{"registration.host.format"});
DEVIATION(cdc_takes_no_attributes, "discovery.cdc.host.attributes", Product::controller, "accepts a host with NUMEXAT 0",
          Tolerate{"registration.host.attributes"});
DEVIATION(cdc_takes_no_identifier, "discovery.cdc.host.identifier", Product::controller, "accepts a host without a Host Identifier",
          Tolerate{"registration.host.identifier"});
DEVIATION(cdc_takes_an_identifier, "discovery.cdc.subsystem.identifier", Product::controller, "accepts a subsystem with a Host Identifier",
          Tolerate{"registration.subsystem.identifier"});
DEVIATION(cdc_takes_odd_attributes, "discovery.cdc.attribute.length", Product::controller,
          "accepts attributes whose length is no multiple of four", Tolerate{"registration.attribute.length"});
DEVIATION(cdc_takes_a_cut_entry, "discovery.cdc.entry.length", Product::controller, "accepts an entry that ends beyond the data",
          Tolerate{"registration.entry.length"});
DEVIATION(cdc_takes_cut_data, "discovery.cdc.data.length", Product::controller, "accepts a TDL beyond the data",
          Tolerate{"registration.length"});
DEVIATION(cdc_fails_on_fields, "discovery.cdc.host.fields", Product::controller,
          "answers fields of subsystems in an entry of a host with Internal Error",
          AnswerWith{"registration.host.fields", sc::internal_error});

// ---- the Discovery log ----

DEVIATION(cdc_counts_no_registration, "discovery.cdc.log.genctr", Product::controller, "GENCTR stays when a subsystem is registered",
          Departs{"sub.registration.genctr"});
DEVIATION(cdc_silent_about_subsystems, "discovery.cdc.log.event", Product::controller, "sends no event when a subsystem is registered",
          Departs{"sub.registration.event"});
DEVIATION(cdc_silent_about_removals, "discovery.cdc.log.event.removed", Product::controller,
          "sends no event when a subsystem is de-registered", Departs{"sub.registration.event.removed"});
DEVIATION(cdc_misses_who_left, "discovery.cdc.log.ncc", Product::controller, "NCC stays 0 when the DDC is gone",
          Departs{"sub.registration.ncc"});
DEVIATION(cdc_lists_referrals_as_subsystems, "discovery.cdc.log.fields", Product::controller, "lists every entry with SUBTYPE 2",
          Departs{"sub.registration.subtype"});
DEVIATION(cdc_loses_the_service, "discovery.cdc.log.fields", Product::controller, "lists entries without TRSVCID",
          Departs{"sub.registration.fields"});
DEVIATION(cdc_hides_extended_entries, "discovery.cdc.log.extended.flag", Product::controller, "EXTEND is 0 with extended entries",
          Departs{"sub.discovery.extended.flag"});
DEVIATION(cdc_counts_basic_entries, "discovery.cdc.log.extended.length", Product::controller, "TDLPL counts entries of 1,024 bytes",
          Departs{"sub.discovery.extended.length"});
DEVIATION(cdc_extends_unasked, "discovery.cdc.log.extended.asked", Product::controller, "sends extended entries without EXTDLPE",
          Departs{"sub.discovery.extended.unasked"});
DEVIATION(cdc_entry_of_a_basic_length, "discovery.cdc.log.extended.entry", Product::controller, "TEL of an extended entry is 1,024",
          Departs{"sub.discovery.extended.tel"});
DEVIATION(cdc_loses_attributes, "discovery.cdc.log.extended.attributes", Product::controller, "lists extended entries without attributes",
          Departs{"sub.discovery.extended.attributes"});

// ---- the Host Discovery log ----

DEVIATION(cdc_host_log_one_too_many, "discovery.cdc.host-log.numrec", Product::controller, "NUMREC is one too high",
          Departs{"sub.host_log.count"});
DEVIATION(cdc_host_log_other_format, "discovery.cdc.host-log.recfmt", Product::controller, "RECFMT is 1", Departs{"sub.host_log.format"});
DEVIATION(cdc_host_log_without_header, "discovery.cdc.host-log.length", Product::controller, "THDLPL counts no header",
          Departs{"sub.host_log.length"});
DEVIATION(cdc_host_log_stands_still, "discovery.cdc.host-log.genctr", Product::controller, "GENCTR stays when a host registers",
          Departs{"sub.host_log.genctr"});
DEVIATION(cdc_host_log_counts_by_two, "discovery.cdc.host-log.genctr", Product::controller, "GENCTR rises by two",
          Departs{"sub.host_log.genctr.two"});
DEVIATION(cdc_host_log_misses_removals, "discovery.cdc.host-log.genctr.removed", Product::controller, "GENCTR stays at De-Register",
          Departs{"sub.host_log.genctr.removed"});
DEVIATION(cdc_host_log_runs, "discovery.cdc.host-log.genctr.stable", Product::controller, "GENCTR rises when the log is read",
          Departs{"sub.host_log.genctr.runs"});
DEVIATION(cdc_host_log_cuts_names, "discovery.cdc.host-log.name", Product::controller, "cuts HOSTNQN", Departs{"sub.host_log.name"});
DEVIATION(cdc_host_log_without_address, "discovery.cdc.host-log.address", Product::controller, "lists hosts without TRADDR",
          Departs{"sub.host_log.address"});
DEVIATION(cdc_host_log_of_nobody, "discovery.cdc.host-log.identifier", Product::controller, "lists a Host Identifier of 0",
          Departs{"sub.host_log.identifier"});
DEVIATION(cdc_host_log_first_attribute, "discovery.cdc.host-log.attributes", Product::controller, "lists the first attribute alone",
          Departs{"sub.host_log.attributes"});
DEVIATION(cdc_host_log_with_service, "discovery.cdc.host-log.reserved", Product::controller, "lists TRSVCID of hosts",
          Departs{"sub.host_log.reserved"});
DEVIATION(cdc_host_log_fixed_length, "discovery.cdc.host-log.tel", Product::controller, "TEL is 1,032 whatever follows",
          Departs{"sub.host_log.tel"});
DEVIATION(cdc_host_log_misses_who_left, "discovery.cdc.host-log.ncc", Product::controller, "NCC of a host that left is 0",
          Departs{"sub.host_log.ncc"});
DEVIATION(cdc_host_log_misses_who_is_here, "discovery.cdc.host-log.ncc.connected", Product::controller, "NCC of a connected host is 1",
          Departs{"sub.host_log.ncc.set"});
DEVIATION(cdc_host_log_of_its_own, "discovery.cdc.host-log.all", Product::controller, "leaves out other hosts with ALLHOSTE",
          Departs{"sub.host_log.filter"});
DEVIATION(cdc_host_log_without_flag, "discovery.cdc.host-log.all.flag", Product::controller, "ALLHOST is 0 with ALLHOSTE",
          Departs{"sub.host_log.flag"});
DEVIATION(cdc_host_log_always_whole, "discovery.cdc.host-log.all.true", Product::controller, "ALLHOST is 1 although hosts are left out",
          Departs{"sub.host_log.flag.always"});
DEVIATION(cdc_host_log_unclaimed, "discovery.cdc.host-log.all.supported", Product::controller, "honors ALLHOSTE and reports ALLHOSTES 0",
          Departs{"sub.host_log.supported"});
DEVIATION(cdc_silent_about_hosts, "discovery.cdc.host-log.event", Product::controller, "sends no event when a host registers",
          Departs{"sub.host_log.event"});
DEVIATION(cdc_event_of_another_log, "discovery.cdc.host-log.event.page", Product::controller,
          "names log page 70h in Host Discovery Log Page Change", Departs{"sub.host_log.event.page"});
DEVIATION(cdc_silent_about_hosts_that_go, "discovery.cdc.host-log.event.removed", Product::controller,
          "sends no event when a host is de-registered", Departs{"sub.host_log.event.removed"});
DEVIATION(cdc_tells_everybody, "discovery.cdc.host-log.event.asked", Product::controller,
          "sends Host Discovery Log Page Change to hosts that did not enable it", Departs{"sub.host_log.event.unasked"});

// ---- the AVE Discovery log ----

DEVIATION(cdc_ave_one_too_many, "discovery.cdc.ave.numrec", Product::controller, "NUMREC is one too high", Departs{"sub.ave_log.count"});
DEVIATION(cdc_ave_without_header, "discovery.cdc.ave.length", Product::controller, "TADLPL counts no header",
          Departs{"sub.ave_log.length"});
DEVIATION(cdc_ave_entry_without_records, "discovery.cdc.ave.records", Product::controller, "TEL counts no transport records",
          Departs{"sub.ave_log.entry"});
DEVIATION(cdc_ave_entry_of_no_records, "discovery.cdc.ave.records", Product::controller, "NUMATR is 0", Departs{"sub.ave_log.records"});
DEVIATION(cdc_ave_of_another_family, "discovery.cdc.ave.family", Product::controller, "AVEADRFAM of an IPv6 address is 1",
          Departs{"sub.ave_log.family"});

// ---- a direct discovery controller ----

DEVIATION(ddc_is_central, "discovery.ddc.identify", Product::controller, "reports DCTYPE 2", Departs{"sub.ddc.type"});
DEVIATION(ddc_has_pull_log, "discovery.ddc.pull-log", Product::controller, "lists log page 73h", Departs{"sub.ddc.log73"});
DEVIATION(ddc_lists_other_ports, "discovery.ddc.port-local.entries", Product::controller, "lists other ports with PLEO",
          Departs{"sub.discovery.port_local"});
DEVIATION(ddc_lists_the_first_port, "discovery.ddc.port-local.this-port", Product::controller,
          "lists its first port with PLEO whichever is asked", Departs{"sub.discovery.port_local.first"});
DEVIATION(ddc_without_port_flag, "discovery.ddc.port-local.flag", Product::controller, "PORTLCL is 0 with PLEO",
          Departs{"sub.discovery.port_local.flag"});
DEVIATION(ddc_always_port_local, "discovery.ddc.port-local.true", Product::controller, "PORTLCL is 1 without PLEO",
          Departs{"sub.discovery.port_local.always"});
DEVIATION(ddc_port_local_unasked, "discovery.ddc.port-local.asked", Product::controller, "lists its own port alone without PLEO",
          Departs{"sub.discovery.port_local.unasked"});
DEVIATION(ddc_hides_with_allsube, "discovery.ddc.all.entries", Product::controller, "leaves out subsystems with ALLSUBE",
          Departs{"sub.discovery.all"});
DEVIATION(ddc_without_all_flag, "discovery.ddc.all.flag", Product::controller, "ALLSUBS is 0 with ALLSUBE",
          Departs{"sub.discovery.all.flag"});
DEVIATION(ddc_always_whole, "discovery.ddc.all.true", Product::controller, "ALLSUBS is 1 without ALLSUBE",
          Departs{"sub.discovery.all.always"});
DEVIATION(ddc_hides_nothing, "discovery.ddc.all.asked", Product::controller, "lists what the host may not use without ALLSUBE",
          Departs{"sub.discovery.all.unasked"});
DEVIATION(ddc_all_of_every_port, "discovery.ddc.all.port-local", Product::controller, "ALLSUBE makes PLEO void",
          Departs{"sub.discovery.all.local"});
DEVIATION(ddc_claims_nothing, "discovery.ddc.parameter", Product::controller, "reports LIDSP 0 and honors LSP",
          Departs{"sub.discovery.lidsp"});
DEVIATION(ddc_sets_ncc, "discovery.ddc.ncc", Product::controller, "sets NCC", Departs{"sub.discovery.ncc"});
DEVIATION(ddc_forgets_a_host, "discovery.ddc.register.host", Product::controller, "does not record a host that registers",
          Departs{"sub.registration.lost"});
DEVIATION(ddc_records_the_first_host, "discovery.ddc.register.centralized", Product::controller,
          "records the first of the hosts that a centralized discovery controller registers", Departs{"sub.registration.first"});
DEVIATION(ddc_hides_changes, "discovery.ddc.event", Product::controller,
          "does not announce changes of its log to a reader with a keep alive timeout", Departs{"sub.discovery.unannounced"});

// ---- controllers of NVM subsystems ----

DEVIATION(io_takes_registrations, "discovery.io.management", Product::controller, "has Discovery Information Management",
          Departs{"sub.io.registration"});
DEVIATION(io_has_host_log, "discovery.io.host-log", Product::controller, "has the Host Discovery log", Departs{"sub.io.host_log"});
DEVIATION(io_has_discovery_log, "discovery.io.discovery-log", Product::controller, "has the Discovery log",
          Departs{"sub.io.discovery_log"});

}  // namespace fb::deviations
