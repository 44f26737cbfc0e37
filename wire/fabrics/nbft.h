// The NVMe Boot Firmware Table (NVM Express Boot Specification 1.0): what firmware has connected to over NVMe/TCP, for the
// operating system. An ACPI table: a header, descriptors, and a heap of strings and addresses. Little endian.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/result.h"
#include "wire/layout.h"

namespace fb::nbft {

enum class StructureId : std::uint8_t {
  control = 1,
  host = 2,
  interface_ = 3,
  subsystem_namespace = 4,
  security = 5,
  discovery = 6,
  interface_transport = 7,
  extended_information = 9,
};

inline constexpr std::uint8_t kTcp = 3;  ///< transport type; the specification has no other

namespace reference {
inline constexpr Le<"offset", 0, std::uint32_t> offset{};
inline constexpr Le<"length", 4, std::uint16_t> length{};
}  // namespace reference
/// Where an object of the heap is, from the beginning of the table.
using Reference = Layout<6, reference::offset, reference::length>;

namespace header {
inline constexpr BytesField<"signature", 0, 4> signature{};
inline constexpr Le<"length", 4, std::uint32_t> length{};
inline constexpr Le<"major_revision", 8, std::uint8_t> major_revision{};
inline constexpr Le<"checksum", 9, std::uint8_t> checksum{};
inline constexpr BytesField<"oem_id", 10, 6> oem_id{};
inline constexpr BytesField<"oem_table_id", 16, 8> oem_table_id{};
inline constexpr Le<"oem_revision", 24, std::uint32_t> oem_revision{};
inline constexpr Le<"creator_id", 28, std::uint32_t> creator_id{};
inline constexpr Le<"creator_revision", 32, std::uint32_t> creator_revision{};
inline constexpr Le<"heap_offset", 36, std::uint32_t> heap_offset{};
inline constexpr Le<"heap_length", 40, std::uint32_t> heap_length{};
inline constexpr BytesField<"driver_dev_path_sig", 44, 6> driver_dev_path_sig{};
inline constexpr Le<"minor_revision", 50, std::uint8_t> minor_revision{};
}  // namespace header
using Header = Layout<64, header::signature, header::length, header::major_revision, header::checksum, header::oem_id, header::oem_table_id,
                      header::oem_revision, header::creator_id, header::creator_revision, header::heap_offset, header::heap_length,
                      header::driver_dev_path_sig, header::minor_revision>;

namespace control {
inline constexpr Le<"structure_id", 0, std::uint8_t, StructureId> structure_id{};
inline constexpr Le<"major_revision", 1, std::uint8_t> major_revision{};
inline constexpr Le<"minor_revision", 2, std::uint8_t> minor_revision{};
inline constexpr Le<"csl", 4, std::uint16_t> csl{};
inline constexpr Le<"flags", 6, std::uint8_t> flags{};
inline constexpr BytesField<"hdesc", 8, 6> hdesc{};
inline constexpr Le<"hsv", 14, std::uint8_t> hsv{};
// Four lists: offset, length of a descriptor, their version, their number.
inline constexpr Le<"hfio", 16, std::uint32_t> hfio{};
inline constexpr Le<"hfil", 20, std::uint16_t> hfil{};
inline constexpr Le<"hfiv", 22, std::uint8_t> hfiv{};
inline constexpr Le<"num_hfi", 23, std::uint8_t> num_hfi{};
inline constexpr Le<"ssnso", 24, std::uint32_t> ssnso{};
inline constexpr Le<"ssnsl", 28, std::uint16_t> ssnsl{};
inline constexpr Le<"ssnsv", 30, std::uint8_t> ssnsv{};
inline constexpr Le<"num_ssns", 31, std::uint8_t> num_ssns{};
inline constexpr Le<"seco", 32, std::uint32_t> seco{};
inline constexpr Le<"secl", 36, std::uint16_t> secl{};
inline constexpr Le<"secv", 38, std::uint8_t> secv{};
inline constexpr Le<"num_sec", 39, std::uint8_t> num_sec{};
inline constexpr Le<"disco", 40, std::uint32_t> disco{};
inline constexpr Le<"discl", 44, std::uint16_t> discl{};
inline constexpr Le<"discv", 46, std::uint8_t> discv{};
inline constexpr Le<"num_disc", 47, std::uint8_t> num_disc{};
}  // namespace control
using Control = Layout<64, control::structure_id, control::major_revision, control::minor_revision, control::csl, control::flags,
                       control::hdesc, control::hsv, control::hfio, control::hfil, control::hfiv, control::num_hfi, control::ssnso,
                       control::ssnsl, control::ssnsv, control::num_ssns, control::seco, control::secl, control::secv, control::num_sec,
                       control::disco, control::discl, control::discv, control::num_disc>;

/// Bit 0 of the flags of every descriptor.
inline constexpr std::uint8_t kValid = 1u << 0;

namespace host {
inline constexpr Le<"structure_id", 0, std::uint8_t, StructureId> structure_id{};
inline constexpr Le<"flags", 1, std::uint8_t> flags{};
inline constexpr BytesField<"host_id", 2, 16> host_id{};
inline constexpr BytesField<"host_nqn_obj", 18, 6> host_nqn_obj{};
}  // namespace host
using HostDescriptor = Layout<32, host::structure_id, host::flags, host::host_id, host::host_nqn_obj>;

namespace host_flags {
inline constexpr std::uint8_t host_id_configured = 1u << 1;
inline constexpr std::uint8_t host_nqn_configured = 1u << 2;
}  // namespace host_flags

namespace hfi {
inline constexpr Le<"structure_id", 0, std::uint8_t, StructureId> structure_id{};
inline constexpr Le<"index", 1, std::uint8_t> index{};
inline constexpr Le<"flags", 2, std::uint8_t> flags{};
inline constexpr Le<"trtype", 3, std::uint8_t> trtype{};
inline constexpr BytesField<"trinfo_obj", 16, 6> trinfo_obj{};
}  // namespace hfi
using InterfaceDescriptor = Layout<32, hfi::structure_id, hfi::index, hfi::flags, hfi::trtype, hfi::trinfo_obj>;

namespace hfi_tcp {
inline constexpr Le<"structure_id", 0, std::uint8_t, StructureId> structure_id{};
inline constexpr Le<"version", 1, std::uint8_t> version{};
inline constexpr Le<"trtype", 2, std::uint8_t> trtype{};
inline constexpr Le<"trinfo_version", 3, std::uint8_t> trinfo_version{};
inline constexpr Le<"hfi_index", 4, std::uint16_t> hfi_index{};
inline constexpr Le<"flags", 6, std::uint8_t> flags{};
inline constexpr Le<"pci_sbdf", 7, std::uint32_t> pci_sbdf{};
inline constexpr BytesField<"mac_addr", 11, 6> mac_addr{};
inline constexpr Le<"vlan", 17, std::uint16_t> vlan{};
inline constexpr Le<"ip_origin", 19, std::uint8_t> ip_origin{};
inline constexpr BytesField<"ip_address", 20, 16> ip_address{};
inline constexpr Le<"subnet_mask_prefix", 36, std::uint8_t> subnet_mask_prefix{};
inline constexpr BytesField<"ip_gateway", 37, 16> ip_gateway{};
inline constexpr Le<"route_metric", 54, std::uint16_t> route_metric{};
inline constexpr BytesField<"primary_dns", 56, 16> primary_dns{};
inline constexpr BytesField<"secondary_dns", 72, 16> secondary_dns{};
inline constexpr BytesField<"dhcp_server", 88, 16> dhcp_server{};
inline constexpr BytesField<"host_name_obj", 104, 6> host_name_obj{};
}  // namespace hfi_tcp
using InterfaceTcp = Layout<128, hfi_tcp::structure_id, hfi_tcp::version, hfi_tcp::trtype, hfi_tcp::trinfo_version, hfi_tcp::hfi_index,
                            hfi_tcp::flags, hfi_tcp::pci_sbdf, hfi_tcp::mac_addr, hfi_tcp::vlan, hfi_tcp::ip_origin, hfi_tcp::ip_address,
                            hfi_tcp::subnet_mask_prefix, hfi_tcp::ip_gateway, hfi_tcp::route_metric, hfi_tcp::primary_dns,
                            hfi_tcp::secondary_dns, hfi_tcp::dhcp_server, hfi_tcp::host_name_obj>;

namespace hfi_tcp_flags {
inline constexpr std::uint8_t global_route = 1u << 1;
inline constexpr std::uint8_t dhcp_override = 1u << 2;
}  // namespace hfi_tcp_flags

namespace ssns {
inline constexpr Le<"structure_id", 0, std::uint8_t, StructureId> structure_id{};
inline constexpr Le<"index", 1, std::uint16_t> index{};
inline constexpr Le<"flags", 3, std::uint16_t> flags{};
inline constexpr Le<"trtype", 5, std::uint8_t> trtype{};
inline constexpr Le<"trflags", 6, std::uint16_t> trflags{};
inline constexpr Le<"primary_discovery_ctrl_index", 8, std::uint8_t> primary_discovery_ctrl_index{};
inline constexpr BytesField<"subsys_traddr_obj", 10, 6> subsys_traddr_obj{};
inline constexpr BytesField<"subsys_trsvcid_obj", 16, 6> subsys_trsvcid_obj{};
inline constexpr Le<"subsys_port_id", 22, std::uint16_t> subsys_port_id{};
inline constexpr Le<"nsid", 24, std::uint32_t> nsid{};
inline constexpr Le<"nidt", 28, std::uint8_t> nidt{};
inline constexpr BytesField<"nid", 29, 16> nid{};
inline constexpr Le<"security_desc_index", 45, std::uint8_t> security_desc_index{};
inline constexpr Le<"primary_hfi_desc_index", 46, std::uint8_t> primary_hfi_desc_index{};
inline constexpr BytesField<"secondary_hfi_assoc_obj", 48, 6> secondary_hfi_assoc_obj{};
inline constexpr BytesField<"subsys_ns_nqn_obj", 54, 6> subsys_ns_nqn_obj{};
inline constexpr BytesField<"ssns_extended_info_desc_obj", 60, 6> ssns_extended_info_desc_obj{};
}  // namespace ssns
using NamespaceDescriptor =
    Layout<128, ssns::structure_id, ssns::index, ssns::flags, ssns::trtype, ssns::trflags, ssns::primary_discovery_ctrl_index,
           ssns::subsys_traddr_obj, ssns::subsys_trsvcid_obj, ssns::subsys_port_id, ssns::nsid, ssns::nidt, ssns::nid,
           ssns::security_desc_index, ssns::primary_hfi_desc_index, ssns::secondary_hfi_assoc_obj, ssns::subsys_ns_nqn_obj,
           ssns::ssns_extended_info_desc_obj>;

namespace ssns_flags {
inline constexpr std::uint16_t extended_information = 1u << 4;
inline constexpr std::uint16_t discovered = 1u << 6;
inline constexpr std::uint16_t available = 1u << 7;
inline constexpr std::uint16_t unavailable = 1u << 8;
}  // namespace ssns_flags
namespace ssns_trflags {
inline constexpr std::uint16_t in_use = 1u << 0;
inline constexpr std::uint16_t header_digest = 1u << 1;
inline constexpr std::uint16_t data_digest = 1u << 2;
}  // namespace ssns_trflags

namespace ssns_extended {
inline constexpr Le<"structure_id", 0, std::uint8_t, StructureId> structure_id{};
inline constexpr Le<"version", 1, std::uint8_t> version{};
inline constexpr Le<"ssns_index", 2, std::uint16_t> ssns_index{};
inline constexpr Le<"flags", 4, std::uint32_t> flags{};
inline constexpr Le<"cntlid", 8, std::uint16_t> cntlid{};
inline constexpr Le<"asqsz", 10, std::uint16_t> asqsz{};
inline constexpr BytesField<"dhcp_root_path_str_obj", 12, 6> dhcp_root_path_str_obj{};
}  // namespace ssns_extended
using ExtendedInformation = Layout<18, ssns_extended::structure_id, ssns_extended::version, ssns_extended::ssns_index, ssns_extended::flags,
                                   ssns_extended::cntlid, ssns_extended::asqsz, ssns_extended::dhcp_root_path_str_obj>;

inline constexpr std::uint32_t kAsqszConfigured = 1u << 1;

namespace discovery {
inline constexpr Le<"structure_id", 0, std::uint8_t, StructureId> structure_id{};
inline constexpr Le<"flags", 1, std::uint8_t> flags{};
inline constexpr Le<"index", 2, std::uint8_t> index{};
inline constexpr Le<"hfi_index", 3, std::uint8_t> hfi_index{};
inline constexpr Le<"sec_index", 4, std::uint8_t> sec_index{};
inline constexpr BytesField<"discovery_ctrl_addr_obj", 6, 6> discovery_ctrl_addr_obj{};
inline constexpr BytesField<"discovery_ctrl_nqn_obj", 12, 6> discovery_ctrl_nqn_obj{};
}  // namespace discovery
using DiscoveryDescriptor = Layout<32, discovery::structure_id, discovery::flags, discovery::index, discovery::hfi_index,
                                   discovery::sec_index, discovery::discovery_ctrl_addr_obj, discovery::discovery_ctrl_nqn_obj>;

// ------------------------------------------------------------------------------------------------ as values

/// A network interface of the host, with its configuration of IP.
struct Interface {
  std::uint8_t index = 1;
  std::uint32_t pci_routing_id = 0;
  std::array<std::uint8_t, 6> mac = {};
  std::uint16_t vlan = 0;   ///< 0: none
  std::uint8_t origin = 0;  ///< of the configuration; 0: not given, 1: manual, 3: DHCP
  IpAddress address;
  std::uint8_t prefix = 0;  ///< bits of the subnet mask
  IpAddress gateway = IpAddress::v4(0, 0, 0, 0);
  std::uint16_t route_metric = 0;
  IpAddress dns[2] = {IpAddress::v4(0, 0, 0, 0), IpAddress::v4(0, 0, 0, 0)};
  std::optional<IpAddress> dhcp_server = {};  ///< there: DHCP has configured the interface
  std::string host_name = {};
  bool default_route = false;
  bool operator==(const Interface&) const = default;
};

struct DiscoveryService {
  std::uint8_t index = 1;
  std::uint8_t host_interface = 0;  ///< by its index; 0: none
  std::string uri;                  ///< "nvme+tcp://192.0.2.7:8009/"
  std::string nqn;
  bool operator==(const DiscoveryService&) const = default;
};

/// A namespace, and how it is reached.
struct BootNamespace {
  std::uint16_t index = 1;
  IpAddress address;    ///< of the subsystem's port
  std::string service;  ///< "4420"
  std::string nqn;
  std::uint16_t port_id = 0;
  std::uint32_t nsid = 0;  ///< 0: not given
  std::uint8_t nid_type = 0;
  std::array<std::uint8_t, 16> nid = {};
  std::uint8_t host_interface = 1;
  std::vector<std::uint8_t> more_interfaces = {};
  std::uint8_t discovery = 0;  ///< by its index; 0: none
  bool header_digest = false;
  bool data_digest = false;
  bool discovered = false;
  enum class Availability : std::uint8_t { not_indicated, available, unavailable } availability = Availability::not_indicated;
  std::uint16_t cntlid = 0;
  std::optional<std::uint16_t> asqsz = {};  ///< as configured
  std::string dhcp_root_path = {};
  bool operator==(const BootNamespace&) const = default;
};

struct Table {
  std::string oem_id, oem_table_id;
  std::array<std::uint8_t, 16> host_id = {};
  std::string host_nqn;
  bool host_id_configured = false, host_nqn_configured = false;
  std::vector<Interface> interfaces = {};
  std::vector<DiscoveryService> services = {};
  std::vector<BootNamespace> namespaces = {};
  /// What is not as it should be but does not keep the rest from being read, one line each.
  std::vector<std::string> remarks = {};
};

/// Any bytes. The Problem says why it is no such table: too short, signature, checksum, revision, places outside of it.
Result<Table> parse(ByteView bytes);
/// At most 255 of each list; remarks are left out.
Bytes build(const Table& table);

}  // namespace fb::nbft
