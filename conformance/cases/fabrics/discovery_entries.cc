// Discovery log entries against the connection that they were read over, against each other and against what the subsystem does;
// what they reserve; the Identify of a discovery controller.
#include <fmt/format.h>

#include "conformance/cases/fabrics/discovery_scene.h"
#include "conformance/cases/reserved.h"
#include "conformance/runner/embedded_controller.h"
#include "wire/fabrics/transports.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

using fabrics::AddressFamily;
using fabrics::SubsystemType;
using fabrics::TransportType;
using Entry = View<fabrics::DiscoveryEntry>;
namespace treq = fabrics::treq_bits;

constexpr ReservedBits kHeader[] = {{"DLPF", 18, 1, 0xF8}, reserved_bytes(19, 19), reserved_bytes(24, 1023)};
constexpr ReservedBits kEntry[] = {{"TREQ", 3, 1, 0xC0}, {"EFLAGS", 10, 2, 0xFFF8}, reserved_bytes(12, 31), reserved_bytes(64, 255)};
constexpr ReservedBits kTcpPart[] = {reserved_bytes(769, 1023)};
constexpr ReservedBits kRdmaPart[] = {reserved_bytes(771, 775), reserved_bytes(778, 1023)};

std::uint32_t declared_version(RawAssociation& association) { return static_cast<std::uint32_t>(association.property(prop::vs)); }

TransportType own_transport(ControllerBench& bench) { return fabrics::transport_named(bench.transport()).type; }

/// Where an entry of RDMA or TCP leads; nothing when its address cannot be read.
std::optional<Endpoint> place_of(const Entry& entry) {
  const auto address = IpAddress::parse(text_of(entry.get(de::traddr)));
  const auto port = fabrics::decimal_port(entry.get(de::trsvcid));
  if (!address || !port) return std::nullopt;
  return Endpoint{*address, *port};
}

bool is_ip(const Entry& entry) {
  const AddressFamily family = entry.get(de::adrfam);
  return family == AddressFamily::ipv4 || family == AddressFamily::ipv6;
}

AddressFamily family_of(const IpAddress& address) { return address.is_v4() ? AddressFamily::ipv4 : AddressFamily::ipv6; }

/// Says where it leads.
std::string text_of_entry(const Entry& entry) {
  return fmt::format("TRTYPE {}, ADRFAM {}, TRADDR {}, TRSVCID {}", static_cast<unsigned>(entry.get(de::trtype)),
                     static_cast<unsigned>(entry.get(de::adrfam)), text_of(entry.get(de::traddr)), text_of(entry.get(de::trsvcid)));
}

bool leads_here(ControllerBench& bench, const Entry& entry) {
  const auto place = place_of(entry);
  return place && *place == bench.at() && entry.get(de::trtype) == own_transport(bench) &&
         entry.get(de::adrfam) == family_of(bench.at().address);
}

/// The entries of the bench's subsystem.
std::vector<Entry> own_entries(ControllerBench& bench, Check& check, const Bytes& log) {
  std::vector<Entry> own;
  for (const Entry& entry : entries_of(log)) {
    if (name_in(entry) == bench.nqn() && entry.get(de::subtype) == SubsystemType::nvm) own.push_back(entry);
  }
  check.precondition(!own.empty(), "the log lists the subsystem");
  return own;
}

/// Connect over the transport that an entry names, to the address that it names.
bool is_served_at(ControllerBench& bench, const Entry& entry) {
  const auto place = place_of(entry);
  if (!place || entry.get(de::trtype) != own_transport(bench) || entry.get(de::adrfam) != family_of(place->address)) return false;
  host::RawQueue& queue = bench.unconnected_queue({.to = *place});
  const auto made = queue.connect_transport().wait_for(10_s);
  if (!made || !made->connected) return false;
  const auto reply = queue.send(bench.connect_command()).wait_for(10_s);
  return reply && reply->ok();
}

/// What is behind a text: fill, and nothing else.
bool is_filled(ByteView field, bool spaces) {
  const auto end = std::find_if(field.begin(), field.end(), [&](std::uint8_t byte) { return byte == 0 || (spaces && byte == ' '); });
  return std::all_of(end, field.end(), [&](std::uint8_t byte) { return byte == 0 || (spaces && byte == ' '); });
}
bool is_printable(ByteView field) {
  return std::all_of(field.begin(), field.end(), [](std::uint8_t byte) { return byte == 0 || (byte >= 0x20 && byte <= 0x7E); });
}

/// The subsystem serves a host that does not authenticate.
bool serves_anybody(ControllerBench& bench) {
  if (bench.authentication().secret) return false;
  const auto connected = bench.raw_queue().send(bench.connect_command()).wait();
  if (!connected.ok() || connected.as<fabrics::ConnectReply>().get(fabrics::connect_reply::authreq) != 0) return false;
  return bench.associate().admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait().ok();
}

}  // namespace

CONFORMANCE_CASE(discovery_entry_leads_to_the_subsystem, "fabrics.discovery.leads-back", roles::controller, needs{&discovery_service}) {
  RawAssociation& association = connect_discovery(bench);
  const Bytes log = read_log(bench, check, association);
  const std::vector<Entry> own = own_entries(bench, check, log);
  const bool here = std::any_of(own.begin(), own.end(), [&](const Entry& entry) { return leads_here(bench, entry); });
  if (here) return void(check.that(true, "an entry leads to where the subsystem is connected"));
  // It may be reached by an address that it does not know, through a translation; then the address that it knows has to serve.
  bool served = false;
  for (const Entry& entry : own) served = served || is_served_at(bench, entry);
  check.that(served, fmt::format("an entry leads to the subsystem over {} at {}", bench.transport(), to_string(bench.at())),
             text_of_entry(own.front()));
}

CONFORMANCE_CASE(discovery_lists_every_port, "fabrics.discovery.leads-back", roles::controller,
                 arranged("a second port of the subsystem", [](EmbeddedSetup&) {})) {
  constexpr std::uint16_t kSecondPort = 11;
  const Endpoint ports[] = {bench.at(), bench.product().add_port(kSecondPort)};
  RawAssociation& association = connect_discovery(bench);
  const Bytes log = read_log(bench, check, association);
  const std::vector<Entry> own = own_entries(bench, check, log);
  std::vector<Entry> found;
  for (const Endpoint& port : ports) {
    const auto at = std::find_if(own.begin(), own.end(), [&](const Entry& entry) { return place_of(entry) == port; });
    check.require(at != own.end(), "an entry leads to the port at " + to_string(port), text_of_entry(own.front()));
    check.that(is_served_at(bench, *at), "the subsystem is served at " + to_string(port), text_of_entry(*at));
    found.push_back(*at);
  }
  check.equal("PORTID of the second port", found[1].get(de::portid), kSecondPort);
  check.that(found[0].get(de::portid) != kSecondPort, "the ports have a PORTID each", text_of_entry(found[0]));
  check.equal("CNTLID of the second entry", found[1].get(de::cntlid), found[0].get(de::cntlid));
  check.equal("ASQSZ of the second entry", found[1].get(de::asqsz), found[0].get(de::asqsz));
}

CONFORMANCE_CASE(discovery_addresses_are_of_their_family, "fabrics.discovery.address-family", roles::controller,
                 needs{&discovery_service}) {
  RawAssociation& association = connect_discovery(bench);
  const Bytes log = read_log(bench, check, association);
  bool any = false;
  for (const Entry& entry : entries_of(log)) {
    if (!is_ip(entry)) continue;
    any = true;
    const auto address = IpAddress::parse(text_of(entry.get(de::traddr)));
    if (!check.that(address.has_value(), "TRADDR is an IP address where ADRFAM says so", text_of_entry(entry))) continue;
    check.that(entry.get(de::adrfam) == family_of(*address), "TRADDR is of the family that ADRFAM names", text_of_entry(entry));
    check.that(*address != IpAddress{} && text_of(entry.get(de::traddr)) != "0.0.0.0", "TRADDR is an address that a host can connect to",
               text_of_entry(entry));
  }
  check.precondition(any, "the log lists an IP address");
}

CONFORMANCE_CASE(discovery_texts_are_filled_up, "fabrics.discovery.padding", roles::controller, needs{&discovery_service},
                 with_a_referral) {
  RawAssociation& association = connect_discovery(bench);
  const Bytes log = read_log(bench, check, association);
  for (const Entry& entry : entries_of(log)) {
    check.that(is_filled(entry.get(de::subnqn), false), "zeroes follow the name in SUBNQN", words(ByteView{entry.get(de::subnqn)}));
    // ASCII text is filled up with spaces; zeroes are common, and tell a host the same.
    const ByteView address = entry.get(de::traddr), service = entry.get(de::trsvcid);
    check.that(is_filled(address, true), "spaces or zeroes follow the address in TRADDR", words(address));
    check.that(is_filled(service, true), "spaces or zeroes follow the text in TRSVCID", words(service));
    check.that(is_printable(address) && is_printable(service), "TRADDR and TRSVCID are ASCII");
  }
}

CONFORMANCE_CASE(discovery_log_reserves_what_is_reserved, "fabrics.discovery.reserved", roles::controller, needs{&discovery_service},
                 with_a_referral) {
  RawAssociation& association = connect_discovery(bench);
  const Bytes log = read_log(bench, check, association);
  const std::uint32_t vs = declared_version(association);
  check_reserved(check, "the discovery log header", log, kHeader, vs);
  for (const Entry& entry : entries_of(log)) {
    check_reserved(check, "a discovery log entry", entry.bytes(), kEntry, vs);
    if (entry.get(de::trtype) == TransportType::tcp) check_reserved(check, "TSAS of TCP", entry.bytes(), kTcpPart, vs);
    if (entry.get(de::trtype) == TransportType::rdma) check_reserved(check, "TSAS of RDMA", entry.bytes(), kRdmaPart, vs);
  }
  const View<fabrics::DiscoveryHeader> header{log};
  const std::uint32_t length = header.get(dh::tdlpl);
  check.that(length == 0 || length == log.size(), "TDLPL is the length of the log, or 0", words(length));
  check.equal("DLPF.EXTEND of a log without extended entries", header.get(dh::dlpf) & fabrics::dlpf_bits::extended, 0);
}

CONFORMANCE_CASE(discovery_requirements_are_defined, "fabrics.discovery.treq", roles::controller, needs{&discovery_service}) {
  RawAssociation& association = connect_discovery(bench);
  const Bytes log = read_log(bench, check, association);
  for (const Entry& entry : entries_of(log)) {
    const unsigned bits = entry.get(de::treq);
    check.that((bits & treq::secure_channel_mask) != treq::secure_channel_mask, "TREQ.TSC is not reserved", "11b");
    check.that((bits & treq::authentication_mask) != treq::authentication_mask, "TREQ.TASC is not reserved", "11b");
    if (entry.get(de::trtype) != TransportType::tcp) continue;
    const auto security = View<fabrics::TcpDiscoveryEntry>{entry.bytes()}.get(de::sectype);
    check.that(security <= fabrics::TcpSecurity::tls_1_3, "SECTYPE is defined", words(static_cast<unsigned>(security)));
    check.that((bits & treq::secure_channel_mask) != treq::secure_channel_required || security != fabrics::TcpSecurity::none,
               "SECTYPE names a protocol where TREQ.TSC says that a secure channel is required");
  }
  bench.step("the connection of the bench");
  const bool open = serves_anybody(bench), plain = open && bench.tls() == nullptr;
  for (const Entry& entry : own_entries(bench, check, log)) {
    if (!leads_here(bench, entry)) continue;
    const unsigned bits = entry.get(de::treq);
    if (plain) {
      check.that((bits & treq::secure_channel_mask) != treq::secure_channel_required,
                 "TREQ.TSC requires no secure channel of a port that serves connections without one");
    }
    if (open) {
      check.that((bits & treq::authentication_mask) == 0, "TREQ.TASC requires no authentication of a port that serves hosts without it");
    }
    if ((bits & treq::disable_sq_flow_control) == 0) {
      const auto reply = try_connect(bench, bench.connect_command({.cattr = fabrics::cattr_bits::disable_sq_flow_control}));
      if (reply.ok()) {
        check.that(reply.cqe.get(nvme::cqe::sqhd) != nvme::kSqFlowControlDisabled,
                   "SQ flow control stays on where TREQ.SQFCD says that it is required", "SQHD FFFFh");
      }
    }
  }
}

CONFORMANCE_CASE(discovery_flags_belong_to_their_entries, "fabrics.discovery.eflags", roles::controller, needs{&discovery_service}) {
  RawAssociation& association = connect_discovery(bench);
  const Bytes log = read_log(bench, check, association);
  bool persistent = false;
  for (const Entry& entry : entries_of(log)) {
    const unsigned flags = entry.get(de::eflags);
    const SubsystemType type = entry.get(de::subtype);
    check.that(type != SubsystemType::nvm || (flags & fabrics::eflags_bits::persistent_connections) == 0,
               "EFLAGS.EPCSD is clear in the entry of an NVM subsystem");
    check.that(type == SubsystemType::current_discovery || (flags & fabrics::eflags_bits::duplicate_information) == 0,
               "EFLAGS.DUPRETINFO is clear in an entry that does not describe this discovery subsystem");
    persistent = persistent || (type == SubsystemType::current_discovery && leads_here(bench, entry) &&
                                (flags & fabrics::eflags_bits::persistent_connections) != 0);
  }
  if (!persistent) return;
  bench.step("a persistent connection");
  const auto reply = try_connect(bench, bench.connect_command({.kato_ms = 60000, .subnqn = std::string(fabrics::kDiscoveryNqn)}));
  check.success(answered(check, reply), "Connect with a keep alive timeout where EFLAGS.EPCSD is set");
}

CONFORMANCE_CASE(discovery_log_stays_while_its_counter_does, "fabrics.discovery.stable", roles::controller, needs{&discovery_service}) {
  RawAssociation& association = connect_discovery(bench);
  const Bytes first = read_log(bench, check, association);
  for (unsigned i = 0; i < 2; ++i) {
    const Bytes again = read_log(bench, check, association);
    check.precondition(genctr(again) == genctr(first), "the log does not change meanwhile");
    check.bytes("the log, read again under one GENCTR", again, first);
  }
}

CONFORMANCE_CASE(discovery_entries_name_a_port_once, "fabrics.discovery.portid", roles::controller, needs{&discovery_service}) {
  RawAssociation& association = connect_discovery(bench);
  const Bytes log = read_log(bench, check, association);
  const auto entries = entries_of(log);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const Entry &one = entries[i], &other = entries[k];
      const bool same = name_in(one) == name_in(other) && one.get(de::trtype) == other.get(de::trtype) && place_of(one) &&
                        place_of(one) == place_of(other) && one.get(de::subtype) == other.get(de::subtype);
      if (!same) continue;
      check.equal("PORTID of two entries with one transport address", one.get(de::portid), other.get(de::portid));
      const std::uint16_t cntlid = one.get(de::cntlid);
      check.that(cntlid < fabrics::kAnyStaticController || cntlid != other.get(de::cntlid),
                 "a transport address of a subsystem is listed once for any controller", text_of_entry(one));
    }
  }
  check.that(true, "each transport address belongs to one port");
}

CONFORMANCE_CASE(discovery_controller_says_who_it_is, "fabrics.discovery.identity", roles::controller, needs{&discovery_service}) {
  RawAssociation& association = connect_discovery(bench);
  const std::uint32_t vs = declared_version(association);
  const auto reply = answered(check, association.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait());
  check.require_success(reply, "Identify");
  const View<nvme::IdentifyController> id{reply.data};
  check.equal("CNTLID", id.get(nvme::id_ctrl::cntlid), association.cntlid());
  check.equal("VER", id.get(nvme::id_ctrl::ver), vs);
  check.that(id.get(nvme::id_ctrl::maxcmd) != 0, "MAXCMD is not 0", "0");
  const auto type = static_cast<unsigned>(id.get(nvme::id_ctrl::dctype));
  check.that(type <= 2 || vs > kReservedTables, "DCTYPE is defined", words(type));
  const auto name = fabrics::terminated_text(id.get(nvme::id_ctrl::subnqn));
  check.require(name.has_value() && fabrics::valid_nqn(*name), "SUBNQN is an NQN", words(ByteView{id.get(nvme::id_ctrl::subnqn)}));
  const Bytes log = read_log(bench, check, association);
  for (const Entry& entry : entries_of(log)) {
    if (entry.get(de::subtype) == SubsystemType::current_discovery) check.equal("SUBNQN of its own entry", name_in(entry), *name);
  }
  if (*name == fabrics::kDiscoveryNqn) return;
  bench.step("the name that it has of its own");
  const auto by_name = answered(check, try_connect(bench, bench.connect_command({.subnqn = *name})));
  check.success(by_name, "Connect to the discovery subsystem by the SUBNQN of its Identify");
}

}  // namespace fb::conformance
