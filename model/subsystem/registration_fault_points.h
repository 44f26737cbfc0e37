// More of what fault_points.h lists: what is registered with a discovery controller. The self-test of the suite shows that each
// of these is asked for.
#pragma once

#include "model/subsystem/fault_points.h"

namespace fb::subsystem {

// clang-format off

#define FB_REGISTRATION_FAULT_POINTS(X)                                                                                  \
  X(cdc_type, "sub.cdc.type", "DCTYPE of a centralized discovery controller is 1")                                       \
  X(ddc_type, "sub.ddc.type", "DCTYPE of a direct discovery controller is 2")                                            \
  X(cdc_command_missing, "sub.cdc.effects", "Discovery Information Management is not in the effects log")                \
  X(cdc_pull_log_missing, "sub.cdc.log73.missing", "log page 73h is not in the list of supported pages")                 \
  X(cdc_pull_log_length, "sub.cdc.log73.length", "TPDRPL of log page 73h is 0")                                          \
  X(ddc_pull_log, "sub.ddc.log73", "a direct discovery controller lists log page 73h")                                   \
  X(cdc_extended_missing, "sub.cdc.extended.missing", "EXTDLPES of a centralized discovery controller is 0")             \
  X(cdc_port_local, "sub.cdc.port_local", "PLEOS of a centralized discovery controller is 1")                            \
  X(cdc_events_missing, "sub.cdc.events.missing", "OAES has no Host Discovery Log Page Change")                          \
  X(reg_lost, "sub.registration.lost", "a host that registers is not recorded")                                          \
  X(reg_lost_basic, "sub.registration.lost.basic", "a basic entry that is registered is not recorded")                   \
  X(reg_lost_extended, "sub.registration.lost.extended", "an extended entry of a subsystem is not recorded")             \
  X(reg_first, "sub.registration.first", "the first entry of a command alone is registered")                             \
  X(reg_last_lost, "sub.registration.last", "the last of the entries that fit is not recorded")                          \
  X(reg_twice, "sub.registration.twice", "an entry that is registered again is there twice")                             \
  X(reg_stale, "sub.registration.stale", "an entry that is registered again keeps what it had")                          \
  X(reg_entity, "sub.registration.entity", "an entry of an entity replaces its others")                                  \
  X(reg_key_port, "sub.registration.key.port", "PORTID counts in a key that is based on TRADDR")                         \
  X(reg_key_address, "sub.registration.key.address", "TRADDR counts in a key that is based on PORTID")                   \
  X(reg_remove_ignored, "sub.deregistration.ignored", "De-Register succeeds without effect")                             \
  X(reg_remove_all, "sub.deregistration.all", "De-Register removes all entries of the entity")                           \
  X(reg_remove_first, "sub.deregistration.first", "De-Register removes the first of its entries alone")                  \
  X(reg_remove_whole, "sub.deregistration.whole", "De-Register compares fields that are not of the key")                 \
  X(reg_update_adds, "sub.registration.update.adds", "Update adds the new entry and keeps the old one")                  \
  X(reg_update_key, "sub.registration.update.key", "Update compares fields that are not of the key")                     \
  X(reg_address_lost, "sub.registration.address", "a TRADDR of NULL is listed as it is")                                 \
  X(reg_dropped, "sub.registration.dropped", "what a host has registered goes with its association")                     \
  X(reg_reset, "sub.registration.reset", "a controller reset drops what was registered")                                 \
  X(reg_subtype, "sub.registration.subtype", "entries of subsystems are listed with SUBTYPE 2 whatever they say")        \
  X(reg_fields_cut, "sub.registration.fields", "TRSVCID of a registered subsystem is listed empty")                      \
  X(reg_genctr, "sub.registration.genctr", "GENCTR of the Discovery log stays when a subsystem is registered")           \
  X(reg_event, "sub.registration.event", "no Discovery Log Page Change when a subsystem is registered")                  \
  X(reg_event_removed, "sub.registration.event.removed", "no Discovery Log Page Change when a subsystem is de-registered") \
  X(reg_ncc, "sub.registration.ncc", "NCC stays 0 when who registered a subsystem is gone")                              \
  X(host_log_count, "sub.host_log.count", "NUMREC of the Host Discovery log is one too high")                            \
  X(host_log_format, "sub.host_log.format", "RECFMT of the Host Discovery log is 1")                                     \
  X(host_log_length, "sub.host_log.length", "THDLPL counts no header")                                                   \
  X(host_log_genctr, "sub.host_log.genctr", "GENCTR of the Host Discovery log stays")                                    \
  X(host_log_genctr_start, "sub.host_log.genctr.two", "GENCTR of the Host Discovery log rises by two")                   \
  X(host_log_genctr_removed, "sub.host_log.genctr.removed", "GENCTR of the Host Discovery log stays at De-Register")     \
  X(host_log_genctr_runs, "sub.host_log.genctr.runs", "GENCTR of the Host Discovery log rises when it is read")          \
  X(host_log_name, "sub.host_log.name", "HOSTNQN of the Host Discovery log is cut to 64 bytes")                          \
  X(host_log_address, "sub.host_log.address", "TRADDR of the Host Discovery log is empty")                               \
  X(host_log_identifier, "sub.host_log.identifier", "the Host Identifier of an entry is 0")                              \
  X(host_log_attributes, "sub.host_log.attributes", "an entry of the Host Discovery log has its first attribute alone")  \
  X(host_log_reserved, "sub.host_log.reserved", "TRSVCID stays in an entry of the Host Discovery log")                   \
  X(host_log_tel, "sub.host_log.tel", "TEL of the Host Discovery log is 1,032 whatever follows")                         \
  X(host_log_ncc, "sub.host_log.ncc", "NCC of a host that is not connected is 0")                                        \
  X(host_log_ncc_set, "sub.host_log.ncc.set", "NCC of a host that is connected is 1")                                    \
  X(host_log_filter, "sub.host_log.filter", "ALLHOSTE does not list other hosts")                                        \
  X(host_log_flag, "sub.host_log.flag", "ALLHOST is 0 where all hosts are listed")                                       \
  X(host_log_flag_always, "sub.host_log.flag.always", "ALLHOST is 1 where hosts are left out")                           \
  X(host_log_supported, "sub.host_log.supported", "ALLHOSTES is 0 although ALLHOSTE is honored")                         \
  X(host_event, "sub.host_log.event", "no Host Discovery Log Page Change when a host registers")                         \
  X(host_event_removed, "sub.host_log.event.removed", "no Host Discovery Log Page Change when a host is de-registered")  \
  X(host_event_page, "sub.host_log.event.page", "Host Discovery Log Page Change names log page 70h")                     \
  X(host_event_unasked, "sub.host_log.event.unasked", "Host Discovery Log Page Change comes to whom did not ask")        \
  X(ave_count, "sub.ave_log.count", "NUMREC of the AVE Discovery log is one too high")                                   \
  X(ave_length, "sub.ave_log.length", "TADLPL counts no header")                                                         \
  X(ave_entry, "sub.ave_log.entry", "TEL of an AVE entry counts no transport records")                                   \
  X(ave_family, "sub.ave_log.family", "AVEADRFAM of an IPv6 address is 1")                                               \
  X(ave_records, "sub.ave_log.records", "NUMATR of an AVE entry is 0")                                                   \
  X(log_extended_flag, "sub.discovery.extended.flag", "EXTEND is 0 although entries are extended")                       \
  X(log_extended_length, "sub.discovery.extended.length", "TDLPL counts entries of 1,024 bytes alone")                   \
  X(log_extended_unasked, "sub.discovery.extended.unasked", "extended entries come without EXTDLPE")                     \
  X(log_extended_tel, "sub.discovery.extended.tel", "TEL of an extended entry is 1,024")                                 \
  X(log_extended_attributes, "sub.discovery.extended.attributes", "extended entries have no attributes")                 \
  X(log_port_local, "sub.discovery.port_local", "PLEO lists what is at other ports too")                                 \
  X(log_port_local_flag, "sub.discovery.port_local.flag", "PORTLCL is 0 where the port's own entries are listed")        \
  X(log_port_local_always, "sub.discovery.port_local.always", "PORTLCL is 1 without PLEO")                               \
  X(log_port_local_unasked, "sub.discovery.port_local.unasked", "the port's own entries alone are listed without PLEO")  \
  X(log_all, "sub.discovery.all", "ALLSUBE leaves out what the host may not use")                                        \
  X(log_all_flag, "sub.discovery.all.flag", "ALLSUBS is 0 where all entries are listed")                                 \
  X(log_all_always, "sub.discovery.all.always", "ALLSUBS is 1 without ALLSUBE")                                          \
  X(log_all_unasked, "sub.discovery.all.unasked", "what the host may not use is listed without ALLSUBE")                 \
  X(log_all_local, "sub.discovery.all.local", "ALLSUBE makes PLEO void")                                                 \
  X(log_parameter, "sub.discovery.lidsp", "LIDSP of the Discovery log is 0 although the bits of LSP are honored")        \
  X(log_ncc, "sub.discovery.ncc", "a direct discovery controller sets NCC")                                              \
  X(log_port_local_own, "sub.discovery.port_local.first", "PLEO lists what is at the first port, whichever is asked")    \
  X(io_registers, "sub.io.registration", "a controller of an NVM subsystem has Discovery Information Management")       \
  X(io_host_log, "sub.io.host_log", "a controller of an NVM subsystem has the Host Discovery log")                       \
  X(io_discovery_log, "sub.io.discovery_log", "a controller of an NVM subsystem has the Discovery log")

// clang-format on

namespace departure {
#define FB_POINT(id, name, text) inline constexpr std::string_view id = name;
FB_REGISTRATION_FAULT_POINTS(FB_POINT)
#undef FB_POINT
}  // namespace departure

inline constexpr FaultPoint kRegistrationFaultPoints[] = {
#define FB_POINT(id, name, text) {departure::id, text},
    FB_REGISTRATION_FAULT_POINTS(FB_POINT)
#undef FB_POINT
};

}  // namespace fb::subsystem
