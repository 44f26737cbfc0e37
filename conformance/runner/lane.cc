#include "conformance/runner/lane.h"

#include <algorithm>
#include <tuple>

#include "base/suggest.h"
#include "conformance/runner/case.h"
#include "conformance/runner/declared.h"
#include "conformance/runner/embedded.h"
#include "conformance/runner/managed_setup.h"
#include "conformance/runner/product.h"
#include "conformance/runner/questions.h"
#include "model/drive/variants.h"
#include "networkdirect/ndk/provider/provider.h"
#include "networkdirect/provider/behaviour.h"
#include "wire/fabrics/transports.h"

namespace fb::conformance {

namespace {

using Earlier = Surroundings::Earlier;

// ---- which cases a lane concerns ----

bool controllers(const CaseInfo& info, std::string_view) { return info.role == Role::controller; }
/// What is asked is the same over every fabric.
bool controllers_of_nvme(const CaseInfo& info, std::string_view transport) {
  return info.role == Role::controller && info.suite() == "nvme" && transport == fabrics::kTcp;
}
bool hosts(const CaseInfo& info, std::string_view) { return info.role == Role::host; }
bool fabrics(const CaseInfo& info, std::string_view) { return info.role == Role::controller || info.role == Role::host; }
bool namespaces_of_controllers(const CaseInfo& info, std::string_view) { return info.role == Role::controller && info.suite() != "auth"; }
bool endpoints(const CaseInfo& info, std::string_view) { return info.role == Role::endpoint; }
bool endpoints_and_requesters(const CaseInfo& info, std::string_view) {
  return info.role == Role::endpoint || info.role == Role::management_requester;
}
bool bus_owners(const CaseInfo& info, std::string_view) { return info.role == Role::bus; }
/// A line has two ends.
bool endpoints_on_buses(const CaseInfo& info, std::string_view transport) { return endpoints(info, transport) && transport != "serial"; }
bool nd_providers(const CaseInfo& info, std::string_view transport) { return info.role == Role::provider && transport == "nd"; }
bool ndk_providers(const CaseInfo& info, std::string_view transport) { return info.role == Role::provider && transport == "ndk"; }
bool wrapping(const CaseInfo& info, std::string_view transport) {
  return info.role == Role::controller || info.role == Role::requester || info.role == Role::responder ||
         (info.role == Role::host && transport == fabrics::kRdma) || programs(info.role);
}
bool rdma_devices(const CaseInfo& info, std::string_view) { return info.role == Role::requester || info.role == Role::responder; }
/// Whatever has queue pairs of its own.
bool devices_and_ndk_providers(const CaseInfo& info, std::string_view transport) {
  return rdma_devices(info, transport) || ndk_providers(info, transport);
}
bool fabrics_and_providers(const CaseInfo& info, std::string_view transport) {
  return fabrics(info, transport) || info.role == Role::provider;
}
/// Whatever has an IP address.
bool addressed(const CaseInfo& info, std::string_view transport) {
  return fabrics(info, transport) || rdma_devices(info, transport) || programs(info.role);
}

// ---- what a lane needs ----

template <unsigned Queues>
std::optional<std::string> grants(const Declared& declared) {
  if (declared.io_queues >= Queues) return std::nullopt;
  return "the product grants " + std::to_string(declared.io_queues) + " I/O queues";
}
std::optional<std::string> several_namespaces(const Declared& declared) {
  if (declared.namespaces.size() >= 2) return std::nullopt;
  return "the product has no second namespace";
}

// ---- what a lane changes of the emulated product ----

/// The namespaces of a case have other identifiers, and others precede them, which differ in size, format and sharing.
void number_namespaces(EmbeddedSetup& setup) {
  // A case that arranges how many there may be, or where they lie, has them as it arranged them.
  constexpr std::uint32_t kRoom = 64;
  if (setup.subsystem.namespaces_max < kRoom || setup.subsystem.endurance.supported()) return;
  const auto taken = [&](std::uint32_t nsid) {
    return std::any_of(setup.namespaces.begin(), setup.namespaces.end(), [&](const auto& one) { return one.nsid == nsid; });
  };
  std::uint32_t nsid = 3;
  for (subsystem::NamespaceOptions& one : setup.namespaces) {
    if (one.nsid != 0) continue;
    while (taken(nsid)) nsid += 2;
    one.nsid = nsid;
  }
  subsystem::NamespaceOptions large, little;
  large.nsid = 1;
  large.block_bytes = 4096;
  large.blocks = 100'000;
  little.nsid = 2;
  little.blocks = 3000;
  little.shared = false;
  if (!taken(large.nsid)) setup.namespaces.push_back(std::move(large));
  if (!taken(little.nsid)) setup.namespaces.push_back(std::move(little));
}

// Lanes that change nothing of the product have an emulated one that differs from the usual in what the specification leaves to it:
// what only one kind of product has is met without a lane of its own.

void use_streams_and_limits(EmbeddedSetup& setup) {
  setup.subsystem.directives.streams = 2;
  setup.subsystem.verify_limit = 7;
  setup.subsystem.write_zeroes_limit = 6;
  for (subsystem::NamespaceOptions& one : setup.namespaces) {
    one.limits = {.atomic_power_fail = 16,
                  .boundary_power_fail = 64,
                  .optimal_boundary = 256,
                  .write_granularity = 8,
                  .write_alignment = 8,
                  .optimal_write = 32};
  }
}
void use_endurance_groups(EmbeddedSetup& setup) {
  setup.subsystem.endurance = {.groups = 3};
  setup.subsystem.namespace_management.capacity_bytes = std::uint64_t{1} << 32;
  setup.subsystem.telemetry = {.area_1_end = 1, .area_2_end = 2, .area_3_end = 4};
}
void use_generous_limits(EmbeddedSetup& setup) {
  setup.subsystem.admin_entries_max = 128;
  setup.subsystem.io_entries_max = 1024;
  setup.subsystem.abort_limit = setup.subsystem.aer_limit = 16;
  setup.subsystem.error_entries = 256;
  setup.subsystem.cqt_ms = 5000;
  setup.subsystem.firmware_update = {.slots = 7, .slot_1_read_only = false, .activates_at_once = false, .granularity = 1};
}
void use_small_limits(EmbeddedSetup& setup) {
  setup.subsystem.abort_limit = 1;
  setup.subsystem.aer_limit = 3;
  setup.subsystem.error_entries = 3;
  setup.subsystem.reservations_persist = false;
  setup.subsystem.copy.formats = 0xD;  // without 1h, which is for wide guards
}
void use_static_controllers(EmbeddedSetup& setup) {
  constexpr std::uint16_t kFirst = 7, kStep = 3, kControllers = 64;
  setup.subsystem.controllers = subsystem::ControllerModel::static_controllers;
  setup.subsystem.static_cntlids.clear();
  for (std::uint16_t i = 0; i < kControllers; ++i) {
    setup.subsystem.static_cntlids.push_back(static_cast<std::uint16_t>(kFirst + kStep * i));
  }
}
void use_no_capsule_data(EmbeddedSetup& setup) {
  setup.subsystem.flow_control_may_be_off = false;
  setup.fabric.in_capsule_bytes = 0;
}
void use_traffic_based_keep_alive(EmbeddedSetup& setup) {
  setup.subsystem.traffic_based_keep_alive = true;
  setup.fabric.msdbd = 1;
}
void use_digests(EmbeddedSetup& setup) {
  setup.tcp_host.header_digest = setup.tcp_host.data_digest = true;
  setup.tcp_host.maxr2t = 3;
}
void use_alignment(EmbeddedSetup& setup) {
  setup.tcp.cpda = 31;
  setup.tcp_host.hpda = 31;
}
void use_steps_and_long_erases(EmbeddedSetup& setup) {
  setup.subsystem.namespace_management.granularity_bytes = 1 << 20;
  setup.subsystem.sanitize = {.no_deallocate_inhibited = true, .crypto_erase_time = Duration::s(5)};
  setup.subsystem.self_test = {.short_time = Duration::s(120), .extended_minutes = 600};
}

void use_ipv6(EmbeddedSetup& setup) {
  setup.bench_address = IpAddress::v6({0xFD, 0x0B, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01});
  setup.product_address = IpAddress::v6({0xFD, 0x0B, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02});
}

/// A case that arranges TLS itself keeps its own arrangement. Where a case looks at the PDUs of a host, the bench reads them from a
/// plain connection.
bool tcp_without_tls(const CaseInfo& info, std::string_view transport) {
  return fabrics(info, transport) && transport == fabrics::kTcp && !info.options.tls && !info.requirement.starts_with("tcp.tls") &&
         !info.requirement.starts_with("tcp.host");
}
void use_tls(EmbeddedSetup& setup) {
  if (setup.transport != fabrics::kTcp || setup.security != transport::ChannelSecurity::none) return;
  const auto keys = [] {
    return auth::PskStore::parse("NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:", "the keys of the lane").value();
  };
  setup.security = transport::ChannelSecurity::required;
  setup.controller_keys = keys();
  setup.host_keys = keys();
  setup.connect.tls = host::TlsUse::always;
  // What this lane is about comes after the handshake, of which a large group would be most of its time.
  setup.tls.groups = {tls::Group::x25519};
}

/// LBAs, byte offsets and sizes beyond 32 bits; nothing of it lies in memory.
void use_a_large_namespace(EmbeddedSetup& setup) {
  constexpr std::uint64_t kBlocks = std::uint64_t{1} << 35;
  setup.subsystem.namespace_management.capacity_bytes = kBlocks * 4096;
  if (!setup.namespaces.empty()) setup.namespaces.front().blocks = kBlocks;
}

/// The same for zones, which hold as much as they would.
void spread_zones(EmbeddedSetup& setup) {
  constexpr std::uint64_t kTimes = std::uint64_t{1} << 26;
  for (subsystem::NamespaceOptions& one : setup.namespaces) {
    if (one.zones.zone_blocks == 0) continue;
    if (one.zones.capacity == 0) one.zones.capacity = one.zones.zone_blocks;
    one.zones.zone_blocks *= kTimes;
    one.blocks *= kTimes;
  }
}

void begin_near_wrap(EmbeddedSetup& setup) { setup.engine.near_wrap = true; }

/// NVMe-MI is not the first message type that the endpoint supports.
void support_other_types(EmbeddedSetup& setup) {
  auto& types = setup.managed->drive.node.types;
  types.insert(types.begin(), {0x01, {{0xF1, 0xF1, 0xFF, 0}}});
  types.push_back({0x05, {{0xF1, 0xF0, 0xFF, 0}, {0xF1, 0xF2, 0xF1, 0}}});
}

/// Several ports of either kind, controllers, functions and namespaces, no two numbers of which are equal.
void use_an_uneven_drive(EmbeddedSetup& setup) {
  using mi::FunctionKind;
  using mi::PortType;
  mi::DriveOptions& drive = setup.managed->drive;
  mi::find_drive_variant("revision_2_1")->vary(drive);
  drive.device.ports = {
      {.type = PortType::pcie, .unit_max = 192},
      {.type = PortType::two_wire, .unit_max = 224, .frequency_max = mi::kFrequency1M, .vpd_address = 0xA2, .endpoint_address = 0x3A},
      {.type = PortType::pcie, .unit_max = 128, .link_speeds = 0x07, .link_speed = 3, .link_width = 2},
      {.type = PortType::two_wire,
       .unit_max = 96,
       .frequency_max = mi::kFrequency100k,
       .vpd_address = 0xA4,
       .endpoint_address = 0x5C,
       .basic_management = false},
  };
  drive.device.device_id = 0x2ABC;
  drive.device.subsystem_id = 0x3DEF;
  drive.device.functions = {{7, FunctionKind::physical}, {0x105, FunctionKind::virtual_function}};
  drive.subsystem.vid = 0x1B36;
  drive.subsystem.ssvid = 0x8086;
  drive.subsystem.static_cntlids = {3, 7, 0x105};
  drive.namespaces.resize(3);
  drive.namespaces[1].blocks = 3000;
  drive.namespaces[2].blocks = 100'000;
  drive.namespaces[2].block_bytes = 4096;
}
void use_the_second_port(EmbeddedSetup& setup) {
  use_an_uneven_drive(setup);
  mi::DriveOptions& drive = setup.managed->drive;
  std::swap(drive.device.ports[0].unit_max, drive.device.ports[2].unit_max);
  std::swap(drive.device.ports[1], drive.device.ports[3]);
}
/// The owner of a network has another EID, and a pool that does not follow it.
void use_other_eids(EmbeddedSetup& setup) {
  setup.managed->network.owner_eid = 0x50;
  setup.managed->network.pool_first = 0x62;
  setup.managed->network.pool_size = 100;
}
void use_revision_1_1(EmbeddedSetup& setup) { mi::find_drive_variant("revision_1_1")->vary(setup.managed->drive); }
void use_revision_1_2(EmbeddedSetup& setup) { mi::find_drive_variant("revision_1_2")->vary(setup.managed->drive); }

/// Whatever can come in one piece comes in several: R2Ts, data PDUs, packets, RDMA Reads and Writes.
void cut_transfers(EmbeddedSetup& setup) {
  setup.tcp.maxh2cdata = 4096;
  setup.tcp.r2t_bytes = 1024;
  setup.tcp.c2h_data_bytes = 512;
  setup.tcp.success_flag = false;
  setup.mtu_code_max = 1;
}

std::vector<Lane> make_lanes() {
  std::vector<Lane> all;
  all.push_back({.name = "plain", .text = "The usual surroundings: I/O queue 1, the first namespace, one host", .third_party = true});
  all.push_back({.name = "io-queue-2",
                 .text = "The first I/O queue of a case is queue 2",
                 .concerns = controllers,
                 .around = {.io_queue = 2},
                 .vary = use_streams_and_limits,
                 .needs = grants<2>,
                 .third_party = true});
  all.push_back({.name = "io-queue-3",
                 .text = "The first I/O queue of a case is queue 3",
                 .concerns = controllers,
                 .around = {.io_queue = 3},
                 .vary = use_endurance_groups,
                 .needs = grants<3>,
                 .third_party = true});
  all.push_back({.name = "io-queue-last",
                 .text = "The first I/O queue of a case is the last that the controller grants",
                 .concerns = controllers,
                 .around = {.io_queue = Surroundings::kLastQueue},
                 .vary = use_generous_limits,
                 .needs = grants<4>,
                 .third_party = true});
  all.push_back({.name = "other-namespace",
                 .text = "Another namespace than the first, among several of unequal size, format and sharing",
                 .concerns = fabrics,
                 .around = {.other_namespace = true},
                 .settle = number_namespaces,
                 .needs = several_namespaces,
                 .third_party = true});
  all.push_back({.name = "second-controller",
                 .text = "The controller of a case is not the first: another host is connected",
                 .concerns = fabrics,
                 .around = {.neighbour = true},
                 .third_party = true});
  all.push_back({.name = "busy-neighbour",
                 .text = "Another host is connected and sends commands meanwhile",
                 .concerns = controllers,
                 .around = {.neighbour = true, .busy = true},
                 .vary = use_traffic_based_keep_alive,
                 .third_party = true});
  all.push_back({.name = "after-shutdown",
                 .text = "The host had an association before, and shut the controller down",
                 .concerns = controllers,
                 .around = {.earlier = Earlier::shut_down},
                 .vary = use_static_controllers,
                 .third_party = true});
  all.push_back({.name = "after-loss",
                 .text = "The host had an association before, which was lost without a shutdown",
                 .concerns = controllers,
                 .around = {.earlier = Earlier::lost},
                 .vary = use_no_capsule_data,
                 .third_party = true});
  all.push_back({.name = "after-reset",
                 .text = "The controller was reset (CC.EN 1, 0, 1) after an I/O queue was used",
                 .concerns = controllers,
                 .around = {.reset = true},
                 .vary = use_steps_and_long_erases,
                 .third_party = true});
  all.push_back({.name = kQuestionsLane,
                 .text = "Identify, log pages and features are read before the case and after it",
                 .concerns = controllers_of_nvme});
  all.push_back({.name = "second-port",
                 .text = "Through another port of the subsystem",
                 .concerns = fabrics,
                 .around = {.second_port = true},
                 .vary = use_small_limits});
  all.push_back({.name = "last-blocks",
                 .text = "The last blocks of a namespace of 2^35 blocks",
                 .concerns = namespaces_of_controllers,
                 .around = {.last_blocks = true},
                 .vary = use_a_large_namespace,
                 .settle = spread_zones});
  all.push_back({.name = "near-wrap",
                 .text = "Queue heads, CIDs, PSNs, queue pair numbers and keys begin near their wrap",
                 .concerns = wrapping,
                 .around = {.near_wrap = true},
                 .vary = begin_near_wrap});
  all.push_back({.name = "small-pieces",
                 .text = "Transfers come in many pieces: R2Ts of 1 KiB, data PDUs of 512 bytes, packets of 256 bytes",
                 .concerns = fabrics_and_providers,
                 .vary = cut_transfers});
  all.push_back({.name = "long-transfers",
                 .text = "Transfers of 64 KiB and one block",
                 .concerns = namespaces_of_controllers,
                 .around = {.transfer_bytes = 65536},
                 .third_party = true});
  all.push_back({.name = "longest-transfers",
                 .text = "Transfers as long as MDTS allows",
                 .concerns = namespaces_of_controllers,
                 .around = {.transfer_bytes = Surroundings::kMdts},
                 .third_party = true});
  all.push_back({.name = "host-queues",
                 .text = "The host uses three I/O queues if one would be enough for the case",
                 .concerns = hosts,
                 .around = {.host_queues = 3},
                 .vary = use_digests,
                 .third_party = true});
  all.push_back({.name = "after-reconnect",
                 .text = "The host lost its association and connected again",
                 .concerns = hosts,
                 .around = {.reconnect = true},
                 .vary = use_alignment});
  all.push_back({.name = "other-connection",
                 .text = "The device already has another connection",
                 .concerns = devices_and_ndk_providers,
                 .around = {.other_connection = true},
                 .third_party = true});
  all.push_back({.name = "mi-other-slot",
                 .text = "Command slots 0 and 1 are swapped",
                 .concerns = endpoints,
                 .around = {.other_slot = true},
                 .third_party = true});
  all.push_back({.name = "mi-other-eid",
                 .text = "The management endpoint has EID 200",
                 .concerns = endpoints,
                 .around = {.eid = 200},
                 .third_party = false});
  all.push_back({.name = "mi-near-wrap",
                 .text = "Message tags and packet sequence numbers begin near their wrap",
                 .concerns = endpoints_and_requesters,
                 .around = {.near_wrap = true},
                 .third_party = false});
  all.push_back({.name = "mi-after-reset",
                 .text = "The management endpoint was used, and reset, before",
                 .concerns = endpoints,
                 .around = {.reset = true},
                 .third_party = false});
  all.push_back({.name = "mi-other-types",
                 .text = "The endpoint supports further message types, one of them before NVMe-MI",
                 .concerns = endpoints,
                 .vary = support_other_types});
  all.push_back({.name = "mi-uneven-drive",
                 .text = "A drive of NVMe-MI 2.1 with four ports, three controllers, three namespaces, and unequal numbers",
                 .concerns = endpoints,
                 .vary = use_an_uneven_drive});
  all.push_back({.name = "mi-second-port",
                 .text = "The management endpoint is at the second port of its kind; the device has another one at the first",
                 .concerns = endpoints_on_buses,
                 .around = {.neighbour = true, .second_port = true},
                 .vary = use_the_second_port});
  all.push_back({.name = "mi-busy-neighbour",
                 .text = "Other management controllers talk to the endpoint, and to another one of the device, at the same time",
                 .concerns = endpoints_on_buses,
                 .around = {.neighbour = true, .busy = true}});
  all.push_back({.name = "mctp-other-eids",
                 .text = "The owner of the network has EID 80 and a pool of 100 EIDs from 98 on",
                 .concerns = bus_owners,
                 .vary = use_other_eids});
  all.push_back({.name = "mctp-second-bus",
                 .text = "The bus is the second of its owner, which has another one",
                 .concerns = bus_owners,
                 .around = {.second_port = true}});
  all.push_back({.name = "mi-revision-1-1", .text = "An endpoint of NVMe-MI 1.1", .concerns = endpoints, .vary = use_revision_1_1});
  all.push_back({.name = "mi-revision-1-2", .text = "An endpoint of NVMe-MI 1.2", .concerns = endpoints, .vary = use_revision_1_2});
  for (const auto& [name, text, answers] :
       {std::tuple("nd-at-once", "Requests that can end in their call do so", networkdirect::Answers::at_once),
        std::tuple("nd-drawn", "Each request ends in its call or pends, as drawn", networkdirect::Answers::drawn)}) {
    all.push_back({.name = name, .text = text, .concerns = nd_providers, .around = {.answers = static_cast<std::uint8_t>(answers)}});
  }
  for (const auto& [name, text, answers] :
       {std::tuple("ndk-at-once", "Calls that may pend complete immediately", ndk::Answers::at_once),
        std::tuple("ndk-later", "Calls that may pend do; the callback comes later", ndk::Answers::later),
        std::tuple("ndk-drawn", "Calls complete immediately, later or before they return, at random", ndk::Answers::random)}) {
    all.push_back({.name = name, .text = text, .concerns = ndk_providers, .around = {.answers = static_cast<std::uint8_t>(answers)}});
  }
  all.push_back({.name = "tls", .text = "Over TLS", .concerns = tcp_without_tls, .vary = use_tls});
  all.push_back({.name = "ipv6", .text = "Over IPv6", .concerns = addressed, .vary = use_ipv6});
  return all;
}

std::string names_of(const std::vector<Lane>& lanes) {
  std::string text;
  for (const Lane& lane : lanes) text += (text.empty() ? "" : ", ") + std::string(lane.name);
  return text;
}

}  // namespace

const std::vector<Lane>& all_lanes() {
  static const std::vector<Lane> lanes = make_lanes();
  return lanes;
}

const Lane& plain_lane() { return all_lanes().front(); }

Result<std::vector<const Lane*>> select_lanes(const std::vector<std::string>& names, const Product& product) {
  std::vector<const Lane*> chosen;
  // No other host can be put beside one that somebody else drives.
  const auto allowed = [&](const Lane& lane) {
    return product.embedded || (lane.third_party && !(product.is_host() && lane.around.neighbour));
  };
  for (const std::string& name : names) {
    const auto lane = std::find_if(all_lanes().begin(), all_lanes().end(), [&](const Lane& one) { return one.name == name; });
    if (name == "all") {
      for (const Lane& one : all_lanes()) {
        if (allowed(one)) chosen.push_back(&one);
      }
    } else if (lane == all_lanes().end()) {
      std::vector<std::string_view> words;
      for (const Lane& one : all_lanes()) words.push_back(one.name);
      return Failure{Problem{"no lane '" + name + "'; known are: " + names_of(all_lanes()) + did_you_mean(name, words)}};
    } else if (!allowed(*lane)) {
      return Failure{Problem{"lane " + name + " needs an embedded product; it is not possible with " + product.url}};
    } else {
      chosen.push_back(&*lane);
    }
  }
  // In the order of the list, each once.
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

std::optional<std::string> excepted(const Lane& lane, const CaseInfo& info, std::string_view transport) {
  if (lane.plain()) return std::nullopt;
  for (const LaneException& one : lane_exceptions()) {
    if (std::ranges::count(one.lanes, lane.name) == 0 || std::ranges::count(one.cases, info.name) == 0) continue;
    if (one.transport.empty() || one.transport == transport) return std::string(one.reason);
  }
  return std::nullopt;
}

}  // namespace fb::conformance
