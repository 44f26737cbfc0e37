#include "cli/host_nbft.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <netpacket/packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/ip_scope.h"
#include "base/or_throw.h"
#include "cli/host_session.h"
#include "cli/usage.h"
#include "sim/capture/frame.h"
#include "sim/capture/pcapng.h"
#include "sim/net/resolve.h"
#include "sim/net/udp_socket.h"
#include "wire/fabrics/nbft.h"
#include "wire/fabrics/transports.h"
#include "wire/nvme/identify_misc.h"

namespace fb::cli {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::uint8_t kManual = 1, kDhcp = 3;  // origins of a configuration

struct NbftArguments {
  HostArguments host;
  std::string file;
  std::string output = "NBFT";
  bool json = false;
};

// ------------------------------------------------------------------------------------------------- writing

struct FreeAddresses {
  void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

/// The interface of this machine that has the address: MAC address and length of the subnet mask.
void describe_interface(nbft::Interface& made) {
  // One of ours where the interface has none, such as the loopback interface.
  const auto own = capture::mac_of(made.address);
  std::ranges::copy(own, made.mac.begin());
  made.prefix = made.address.is_v4() ? 32 : 128;
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return;
  const std::unique_ptr<ifaddrs, FreeAddresses> list(found);
  const auto address_in = [](const sockaddr* from) -> std::optional<IpAddress> {
    if (from == nullptr || (from->sa_family != AF_INET && from->sa_family != AF_INET6)) return std::nullopt;
    net::socket_detail::SocketAddress copy;
    std::memcpy(copy.get(), from, from->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    const auto end = copy.endpoint();
    return end ? std::optional(without_scope(end->address)) : std::nullopt;
  };
  std::string name;
  for (const ifaddrs* one = list.get(); one != nullptr; one = one->ifa_next) {
    if (address_in(one->ifa_addr) != without_scope(made.address)) continue;
    name = one->ifa_name;
    if (const auto mask = address_in(one->ifa_netmask)) {
      unsigned bits = 0;
      for (const std::uint8_t byte : mask->bytes()) bits += static_cast<unsigned>(std::popcount(byte));
      made.prefix = static_cast<std::uint8_t>(made.address.is_v4() ? bits - 16 : bits);  // of ::ffff:a.b.c.d
    }
  }
  for (const ifaddrs* one = list.get(); one != nullptr; one = one->ifa_next) {
    if (name != one->ifa_name || one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_PACKET) continue;
    sockaddr_ll link = {};
    std::memcpy(&link, one->ifa_addr, sizeof link);
    if (link.sll_halen == 6 && std::any_of(link.sll_addr, link.sll_addr + 6, [](auto byte) { return byte != 0; })) {
      std::copy_n(link.sll_addr, 6, made.mac.begin());
    }
  }
}

/// What a discovery service says of the subsystem; nothing where the URL names it.
std::optional<host::DiscoveredEntry> discovered(HostSession& session, const std::string& nqn) {
  if (!session.url().nqn.empty()) return std::nullopt;
  for (const host::DiscoveredEntry& entry : session.discover(false).entries) {
    if (entry.subnqn == nqn) return entry;
  }
  return std::nullopt;
}

int write_table(HostSession& session, const NbftArguments& arguments) {
  const host::Controller& controller = session.connect();
  const std::string nqn = session.subsystem_nqn();
  const auto entry = discovered(session, nqn);
  const Endpoint to = entry ? entry->to : session.url().to;

  nbft::Table table;
  table.oem_id = "FBENCH";
  table.oem_table_id = "NVMEBOOT";
  table.host_id = session.host().options().hostid;
  table.host_nqn = session.host().options().hostnqn;
  table.host_id_configured = table.host_nqn_configured = true;
  nbft::Interface& from = table.interfaces.emplace_back();
  from.origin = kManual;
  from.address = without_scope(local_host(arguments.host.local, to).address);
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) == 0) from.host_name = name;
  describe_interface(from);
  if (entry) {
    table.services.push_back({1, 1, "nvme+tcp://" + to_string(session.url().to) + "/", std::string(fabrics::kDiscoveryNqn)});
  }
  for (const host::Namespace* space : session.host().namespaces()) {
    nbft::BootNamespace& one = table.namespaces.emplace_back();
    one.index = static_cast<std::uint16_t>(table.namespaces.size());
    one.address = without_scope(to.address);
    one.service = std::to_string(to.port);
    one.nqn = nqn;
    one.port_id = entry ? entry->portid : 0;
    one.nsid = space->nsid();
    if (const Bytes& identity = space->facts().identity; !identity.empty()) {
      one.nid_type = identity[0];
      std::copy_n(identity.begin() + 1, std::min<std::size_t>(one.nid.size(), identity.size() - 1), one.nid.begin());
    }
    one.discovery = entry ? 1 : 0;
    one.header_digest = arguments.host.header_digest;
    one.data_digest = arguments.host.data_digest;
    one.discovered = entry.has_value();
    one.availability = nbft::BootNamespace::Availability::available;
    one.cntlid = controller.facts().cntlid;
  }
  const Bytes bytes = nbft::build(table);
  const std::size_t count = table.namespaces.size();
  or_throw(capture::write_atomically(arguments.output, bytes));
  if (arguments.json) {
    const Json json = {
        {"file", arguments.output}, {"bytes", bytes.size()}, {"namespaces", count}, {"nqn", nqn}, {"address", to_string(to)}};
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{}: {} bytes, {} of {} at {}\n", arguments.output, bytes.size(), counted(count, "namespace"), nqn, to_string(to));
  }
  return exit_code::good;
}

// ------------------------------------------------------------------------------------------------- reading

nbft::Table read_table(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError(path + ": cannot be read: " + std::strerror(errno));
  const Bytes bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  auto table = nbft::parse(bytes);
  if (!table) throw UserError(path + ": " + table.error().text);
  return std::move(table).value();
}

std::string hex(ByteView bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

/// "uuid 12345678-...", "nguid ...", "eui64 ..."; nothing for a type that is none.
std::string nid_text(const nbft::BootNamespace& one) {
  const std::string digits = hex(one.nid);
  switch (static_cast<nvme::NamespaceIdType>(one.nid_type)) {
    case nvme::NamespaceIdType::eui64:
      return "eui64 " + digits.substr(0, 16);
    case nvme::NamespaceIdType::nguid:
      return "nguid " + digits;
    case nvme::NamespaceIdType::uuid:
      return fmt::format("uuid {}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4), digits.substr(12, 4), digits.substr(16, 4),
                         digits.substr(20));
    default:
      return {};
  }
}

/// "tcp://[2001:db8::7]:4420/NQN"
std::string url_of(const nbft::BootNamespace& one) {
  const std::string address = to_string(one.address);
  return fmt::format("tcp://{}:{}/{}", one.address.is_v4() ? address : "[" + address + "]", one.service, one.nqn);
}

std::string_view name_of(nbft::BootNamespace::Availability availability) {
  using enum nbft::BootNamespace::Availability;
  return availability == available ? "available" : availability == unavailable ? "unavailable" : "not indicated";
}

std::string mac_text(const nbft::Interface& one) {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", one.mac[0], one.mac[1], one.mac[2], one.mac[3], one.mac[4], one.mac[5]);
}

Json table_json(const nbft::Table& table) {
  Json json = {{"host",
                {{"nqn", table.host_nqn},
                 {"id", hex(table.host_id)},
                 {"nqn_configured", table.host_nqn_configured},
                 {"id_configured", table.host_id_configured}}},
               {"interfaces", Json::array()},
               {"discovery", Json::array()},
               {"namespaces", Json::array()},
               {"remarks", table.remarks}};
  for (const nbft::Interface& one : table.interfaces) {
    Json made = {
        {"index", one.index},         {"address", to_string(one.address)}, {"prefix", one.prefix}, {"mac", mac_text(one)},
        {"vlan", one.vlan},           {"gateway", to_string(one.gateway)}, {"origin", one.origin}, {"route_metric", one.route_metric},
        {"host_name", one.host_name}, {"default_route", one.default_route}};
    made["dns"] = {to_string(one.dns[0]), to_string(one.dns[1])};
    if (one.dhcp_server) made["dhcp_server"] = to_string(*one.dhcp_server);
    json["interfaces"].push_back(std::move(made));
  }
  for (const nbft::DiscoveryService& one : table.services) {
    json["discovery"].push_back({{"index", one.index}, {"interface", one.host_interface}, {"uri", one.uri}, {"nqn", one.nqn}});
  }
  for (const nbft::BootNamespace& one : table.namespaces) {
    Json made = {{"index", one.index},
                 {"transport", fabrics::kTcp},
                 {"address", to_string(one.address)},
                 {"service", one.service},
                 {"nqn", one.nqn},
                 {"nsid", one.nsid},
                 {"id", nid_text(one)},
                 {"port_id", one.port_id},
                 {"cntlid", one.cntlid},
                 {"interface", one.host_interface},
                 {"more_interfaces", one.more_interfaces},
                 {"discovery", one.discovery},
                 {"header_digest", one.header_digest},
                 {"data_digest", one.data_digest},
                 {"discovered", one.discovered},
                 {"availability", name_of(one.availability)}};
    if (one.asqsz) made["asqsz"] = *one.asqsz;
    if (!one.dhcp_root_path.empty()) made["dhcp_root_path"] = one.dhcp_root_path;
    json["namespaces"].push_back(std::move(made));
  }
  return json;
}

int show_table(const NbftArguments& arguments) {
  const nbft::Table table = read_table(arguments.file);
  if (arguments.json) {
    fmt::print("{}\n", table_json(table).dump(2));
    return exit_code::good;
  }
  fmt::print("host {}\n", table.host_nqn);
  for (const nbft::Interface& one : table.interfaces) {
    fmt::print("interface {}  {}/{}  {}{}{}\n", one.index, to_string(one.address), one.prefix, mac_text(one),
               one.vlan == 0 ? "" : fmt::format("  VLAN {}", one.vlan), one.origin == kDhcp || one.dhcp_server ? "  DHCP" : "");
  }
  for (const nbft::DiscoveryService& one : table.services) fmt::print("discovery {}  {}  {}\n", one.index, one.uri, one.nqn);
  for (const nbft::BootNamespace& one : table.namespaces) {
    std::string id = nid_text(one);
    if (!id.empty()) id = ", " + id;
    fmt::print("namespace {}  {}\n  NSID {}{}, {}{}{}\n", one.index, url_of(one), one.nsid, id, name_of(one.availability),
               one.header_digest ? ", header digest" : "", one.data_digest ? ", data digest" : "");
  }
  for (const std::string& remark : table.remarks) fmt::print("remark: {}\n", remark);
  return exit_code::good;
}

/// Connects to one of the table; whether the namespace is there.
bool is_there(const nbft::Table& table, const nbft::BootNamespace& wanted, const NbftArguments& arguments) {
  HostArguments host = arguments.host;
  host.url = url_of(wanted);
  host.hostnqn = table.host_nqn;
  host.hostid = table.host_id;
  host.header_digest = wanted.header_digest;
  host.data_digest = wanted.data_digest;
  HostSession session(host);
  session.connect();
  for (const host::Namespace* space : session.host().namespaces()) {
    const Bytes& identity = space->facts().identity;
    const bool same_id = !identity.empty() && identity[0] == wanted.nid_type &&
                         std::equal(identity.begin() + 1, identity.end(), wanted.nid.begin(),
                                    wanted.nid.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(16, identity.size() - 1)));
    const bool same_nsid = wanted.nsid == 0 || space->nsid() == wanted.nsid;
    if (same_nsid && (wanted.nid_type == 0 || same_id)) {
      if (!arguments.json) {
        fmt::print("namespace {}: {} blocks of {} bytes at {}\n", wanted.index, space->blocks(), space->block_bytes(), host.url);
      }
      return true;
    }
  }
  std::fprintf(stderr, "fabricbench: %s has no namespace %u with %s\n", host.url.c_str(), wanted.nsid, nid_text(wanted).c_str());
  return false;
}

int connect_table(const NbftArguments& arguments) {
  const nbft::Table table = read_table(arguments.file);
  if (table.namespaces.empty()) throw UserError(arguments.file + ": the table names no namespace");
  bool all = true;
  Json json = Json::array();
  const auto tell = [&](const nbft::BootNamespace& one, std::string_view outcome) {
    json.push_back({{"index", one.index}, {"url", url_of(one)}, {"nsid", one.nsid}, {"outcome", outcome}});
  };
  for (const nbft::BootNamespace& one : table.namespaces) {
    if (one.nqn == fabrics::kDiscoveryNqn) {
      if (!arguments.json) fmt::print("namespace {}: not known yet; it is left to discovery at {}\n", one.index, url_of(one));
      tell(one, "left to discovery");
      continue;
    }
    try {
      const bool there = is_there(table, one, arguments);
      tell(one, there ? "there" : "not there");
      all = all && there;
    } catch (const UserError& problem) {
      std::fprintf(stderr, "fabricbench: namespace %u: %s\n", one.index, problem.what());
      tell(one, "no connection");
      all = false;
    }
  }
  if (arguments.json) fmt::print("{}\n", Json{{"namespaces", std::move(json)}}.dump(2));
  return all ? exit_code::good : exit_code::red;
}

void add_common(CLI::App& command, HostArguments& arguments) {
  command.add_option("--local", arguments.local, "The host's own address")->type_name("HOST");
  add_authentication(command, arguments.authentication);
  add_tls_host(command, arguments.tls);
  command.add_option("--capture", arguments.capture, "Write a capture here at the end, with the TLS keys")->type_name("FILE");
}

}  // namespace

void add_nbft(CLI::App& host, Outcome& outcome) {
  CLI::App* nbft = host.add_subcommand("nbft", "NVMe Boot Firmware Table: write, show, connect");
  nbft->require_subcommand(1);
  set_help(*nbft, "  fabricbench host nbft show /sys/firmware/acpi/tables/NBFT\n", exit_codes("success", "a namespace is not there"));
  auto arguments = std::make_shared<NbftArguments>();

  CLI::App* write = nbft->add_subcommand("write", "Connect, and write a table that names all namespaces");
  write->add_option("url", arguments->host.url, "tcp://HOST[:PORT][/NQN]; without an NQN the table names the discovery service too")
      ->required()
      ->type_name("URL");
  write->add_option("--output", arguments->output, "The table; default: NBFT in the current folder")->type_name("FILE");
  write->add_option("--hostnqn", arguments->host.hostnqn, "NQN of this host")->type_name("NQN");
  write->add_flag("--hdr-digest", arguments->host.header_digest, "Header digests");
  write->add_flag("--data-digest", arguments->host.data_digest, "Data digests");
  add_common(*write, arguments->host);
  write->add_flag("--json", arguments->json, "Print the result as one JSON document");
  set_help(*write, "  fabricbench host nbft write tcp://192.0.2.7:4420 --output NBFT\n  nvme nbft show --nbft-path .\n",
           exit_codes("written", "the connection was lost"));
  write->callback([arguments, &outcome] {
    if (or_throw(conformance::parse_fabric_url(arguments->host.url, conformance::UrlPort::known)).transport != fabrics::kTcp) {
      throw UserError(arguments->host.url + ": a boot table is for NVMe/TCP; use tcp://HOST:PORT");
    }
    HostSession session(arguments->host);
    outcome.code = write_table(session, *arguments);
  });

  CLI::App* show = nbft->add_subcommand("show", "Print a table");
  show->add_option("file", arguments->file, "The table, such as /sys/firmware/acpi/tables/NBFT")->required()->type_name("FILE");
  show->add_flag("--json", arguments->json, "Print it as JSON");
  set_help(*show, "  fabricbench host nbft show /sys/firmware/acpi/tables/NBFT\n", exit_codes("shown", "never"));
  show->callback([arguments, &outcome] { outcome.code = show_table(*arguments); });

  CLI::App* connect = nbft->add_subcommand("connect", "Connect to all that a table names, as an operating system does at boot");
  connect->add_option("file", arguments->file, "The table")->required()->type_name("FILE");
  add_common(*connect, arguments->host);
  connect->add_flag("--json", arguments->json, "Print the result as one JSON document");
  set_help(*connect, "  fabricbench host nbft connect NBFT\n", exit_codes("every namespace is there", "a namespace is not there"));
  connect->callback([arguments, &outcome] { outcome.code = connect_table(*arguments); });
}

}  // namespace fb::cli
