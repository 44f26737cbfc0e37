// MCTP control messages (DSP0236 1.3.1, sections 11 and 12). A structure here is a whole message from the
// byte with IC and type: requests begin their data at byte 3, responses at byte 4, behind the completion
// code. Big endian.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/mctp/packet.h"

namespace fb::mctp::control {

/// A control message is one packet of the baseline unit.
inline constexpr std::size_t kMessageMax = kBaselineUnit;
inline constexpr std::size_t kRequestHeader = 3;
inline constexpr std::size_t kResponseHeader = 4;
inline constexpr std::uint8_t kInstances = 32;

enum class Command : std::uint8_t {
  set_endpoint_id = 0x01,
  get_endpoint_id = 0x02,
  get_endpoint_uuid = 0x03,
  get_version_support = 0x04,
  get_message_type_support = 0x05,
  get_vendor_support = 0x06,
  resolve_endpoint_id = 0x07,
  allocate_endpoint_ids = 0x08,
  routing_information_update = 0x09,
  get_routing_table = 0x0A,
  prepare_for_discovery = 0x0B,
  endpoint_discovery = 0x0C,
  discovery_notify = 0x0D,
  get_network_id = 0x0E,
  query_hop = 0x0F,
  resolve_uuid = 0x10,
  query_rate_limit = 0x11,
  request_tx_rate_limit = 0x12,
  update_rate_limit = 0x13,
  query_supported_interfaces = 0x14,
};
/// From here on commands belong to a transport.
inline constexpr std::uint8_t kTransportSpecificFirst = 0xF0;
std::string_view name_of(Command command);

enum class Completion : std::uint8_t {
  success = 0x00,
  error = 0x01,
  invalid_data = 0x02,
  invalid_length = 0x03,
  not_ready = 0x04,
  unsupported_command = 0x05,
  /// Get MCTP Version Support: the message type is not supported. Routing Information Update: no space.
  command_specific = 0x80,
};
std::string_view name_of(Completion code);

namespace header {
inline constexpr LeBits<"ic", 0, std::uint8_t, 7, 7, bool> ic{};
inline constexpr LeBits<"type", 0, std::uint8_t, 6, 0, MessageType> type{};
inline constexpr LeBits<"rq", 1, std::uint8_t, 7, 7, bool> request{};
inline constexpr LeBits<"d", 1, std::uint8_t, 6, 6, bool> datagram{};
inline constexpr LeBits<"reserved", 1, std::uint8_t, 5, 5> reserved{};
inline constexpr LeBits<"instance", 1, std::uint8_t, 4, 0> instance{};
inline constexpr Le<"command", 2, std::uint8_t, Command> command{};
}  // namespace header
template <std::size_t Size, auto... Fields>
using RequestLayout = Layout<Size, header::ic, header::type, header::request, header::datagram, header::reserved, header::instance,
                             header::command, Fields...>;
using RequestHeader = RequestLayout<kRequestHeader>;

namespace response {
inline constexpr Le<"completion", 3, std::uint8_t, Completion> completion{};
}  // namespace response
template <std::size_t Size, auto... Fields>
using ResponseLayout = RequestLayout<Size, response::completion, Fields...>;
using ResponseHeader = ResponseLayout<kResponseHeader>;

// ------------------------------------------------------------------------------------- 01h, 02h, 03h

enum class SetOperation : std::uint8_t { set = 0, force = 1, reset = 2, set_discovered = 3 };
namespace set_eid {
inline constexpr LeBits<"operation", 3, std::uint8_t, 1, 0, SetOperation> operation{};
inline constexpr Le<"eid", 4, std::uint8_t> eid{};
}  // namespace set_eid
using SetEid = RequestLayout<5, set_eid::operation, set_eid::eid>;

enum class Assignment : std::uint8_t { accepted = 0, rejected = 1 };
enum class PoolState : std::uint8_t { none = 0, needed = 1, allocated = 2 };
namespace set_eid_response {
inline constexpr LeBits<"assignment", 4, std::uint8_t, 5, 4, Assignment> assignment{};
inline constexpr LeBits<"pool", 4, std::uint8_t, 1, 0, PoolState> pool{};
inline constexpr Le<"eid", 5, std::uint8_t> eid{};
inline constexpr Le<"pool_size", 6, std::uint8_t> pool_size{};
}  // namespace set_eid_response
using SetEidResponse =
    ResponseLayout<7, set_eid_response::assignment, set_eid_response::pool, set_eid_response::eid, set_eid_response::pool_size>;

enum class EndpointType : std::uint8_t { simple = 0, bridge = 1 };
enum class IdType : std::uint8_t { dynamic_only = 0, static_supported = 1, static_same = 2, static_different = 3 };
namespace get_eid_response {
inline constexpr Le<"eid", 4, std::uint8_t> eid{};
inline constexpr LeBits<"endpoint_type", 5, std::uint8_t, 5, 4, EndpointType> endpoint_type{};
inline constexpr LeBits<"id_type", 5, std::uint8_t, 1, 0, IdType> id_type{};
inline constexpr Le<"medium", 6, std::uint8_t> medium{};
}  // namespace get_eid_response
using GetEidResponse =
    ResponseLayout<7, get_eid_response::eid, get_eid_response::endpoint_type, get_eid_response::id_type, get_eid_response::medium>;

using Uuid = std::array<std::uint8_t, 16>;
namespace uuid_response {
inline constexpr BytesField<"uuid", 4, 16> uuid{};
}  // namespace uuid_response
/// Get Endpoint UUID and Get Network ID answer alike.
using UuidResponse = ResponseLayout<20, uuid_response::uuid>;

// ------------------------------------------------------------------------------------- 04h, 05h, 06h

/// Asks for the version of the base specification.
inline constexpr std::uint8_t kVersionOfBase = 0xFF;
namespace get_version {
inline constexpr Le<"type", 3, std::uint8_t> type{};
}  // namespace get_version
using GetVersion = RequestLayout<4, get_version::type>;

/// One supported version, as the wire has it: BCD digits, Fh in front of a single one; the update number
/// FFh says "any"; alpha is 0 or a letter.
struct Version {
  std::uint8_t major = 0xF1;
  std::uint8_t minor = 0xF0;
  std::uint8_t update = 0xFF;
  std::uint8_t alpha = 0;
  auto operator<=>(const Version&) const = default;
};
/// "1.3.1"; what is not BCD is shown in hexadecimal.
std::string to_string(const Version& version);

/// Get MCTP Version Support and Get Message Type Support answer with a count and a list behind it.
namespace count_response {
inline constexpr Le<"count", 4, std::uint8_t> count{};
}  // namespace count_response
using CountResponse = ResponseLayout<5, count_response::count>;

namespace get_vendor {
inline constexpr Le<"selector", 3, std::uint8_t> selector{};
}  // namespace get_vendor
using GetVendor = RequestLayout<4, get_vendor::selector>;
inline constexpr std::uint8_t kSelectorEnd = 0xFF;

enum class VendorFormat : std::uint8_t { pci = 0, iana = 1 };
namespace vendor_response {
inline constexpr Le<"next", 4, std::uint8_t> next{};
inline constexpr Le<"format", 5, std::uint8_t, VendorFormat> format{};
}  // namespace vendor_response
/// Followed by the vendor's id, 2 bytes (PCI) or 4 (IANA), and 2 bytes of command set.
using VendorResponse = ResponseLayout<6, vendor_response::next, vendor_response::format>;

// ------------------------------------------------------------------------------------- 07h, 08h, 0Fh

namespace resolve_eid {
inline constexpr Le<"eid", 3, std::uint8_t> eid{};
}  // namespace resolve_eid
using ResolveEid = RequestLayout<4, resolve_eid::eid>;
namespace resolve_eid_response {
/// The bridge through which it is reached; the endpoint itself when it is on the same bus.
inline constexpr Le<"eid", 4, std::uint8_t> eid{};
}  // namespace resolve_eid_response
/// Followed by a physical address.
using ResolveEidResponse = ResponseLayout<5, resolve_eid_response::eid>;

enum class AllocateOperation : std::uint8_t { allocate = 0, force = 1, query = 2 };
namespace allocate {
inline constexpr LeBits<"operation", 3, std::uint8_t, 1, 0, AllocateOperation> operation{};
inline constexpr Le<"count", 4, std::uint8_t> count{};
inline constexpr Le<"first", 5, std::uint8_t> first{};
}  // namespace allocate
using Allocate = RequestLayout<6, allocate::operation, allocate::count, allocate::first>;
namespace allocate_response {
inline constexpr LeBits<"status", 4, std::uint8_t, 1, 0, Assignment> status{};
inline constexpr Le<"pool_size", 5, std::uint8_t> pool_size{};
inline constexpr Le<"first", 6, std::uint8_t> first{};
}  // namespace allocate_response
using AllocateResponse = ResponseLayout<7, allocate_response::status, allocate_response::pool_size, allocate_response::first>;

namespace query_hop {
inline constexpr Le<"target", 3, std::uint8_t> target{};
inline constexpr Le<"type", 4, std::uint8_t> type{};
}  // namespace query_hop
using QueryHop = RequestLayout<5, query_hop::target, query_hop::type>;
namespace query_hop_response {
/// 0: not through this bridge. The target itself: the last hop.
inline constexpr Le<"next", 4, std::uint8_t> next{};
inline constexpr Le<"type", 5, std::uint8_t> type{};
/// Units above the baseline in steps of 16 bytes: 0 is 64.
inline constexpr Be<"incoming", 6, std::uint16_t> incoming{};
inline constexpr Be<"outgoing", 8, std::uint16_t> outgoing{};
}  // namespace query_hop_response
using QueryHopResponse =
    ResponseLayout<10, query_hop_response::next, query_hop_response::type, query_hop_response::incoming, query_hop_response::outgoing>;

// ------------------------------------------------------------------------------------ 09h, 0Ah, 10h

enum class RouteType : std::uint8_t {
  endpoint = 0,
  bridge_and_range = 1,
  bridge = 2,
  range = 3,  ///< EIDs behind a bridge, without the bridge itself
};
namespace routing_update {
inline constexpr Le<"count", 3, std::uint8_t> count{};
}  // namespace routing_update
using RoutingUpdate = RequestLayout<4, routing_update::count>;
/// An entry of an update; a physical address of the bus's length follows.
namespace update_entry {
inline constexpr LeBits<"type", 0, std::uint8_t, 3, 0, RouteType> type{};
inline constexpr Le<"size", 1, std::uint8_t> size{};
inline constexpr Le<"first", 2, std::uint8_t> first{};
}  // namespace update_entry
using UpdateEntry = Layout<3, update_entry::type, update_entry::size, update_entry::first>;

namespace get_routing {
inline constexpr Le<"handle", 3, std::uint8_t> handle{};
}  // namespace get_routing
using GetRouting = RequestLayout<4, get_routing::handle>;
namespace routing_response {
inline constexpr Le<"next", 4, std::uint8_t> next{};
inline constexpr Le<"count", 5, std::uint8_t> count{};
}  // namespace routing_response
/// Of Get Routing Table Entries and of Resolve UUID; entries follow.
using RoutingResponse = ResponseLayout<6, routing_response::next, routing_response::count>;
inline constexpr std::uint8_t kHandleEnd = 0xFF;

namespace table_entry {
inline constexpr Le<"size", 0, std::uint8_t> size{};
inline constexpr Le<"first", 1, std::uint8_t> first{};
inline constexpr LeBits<"type", 2, std::uint8_t, 7, 6, RouteType> type{};
inline constexpr LeBits<"static", 2, std::uint8_t, 5, 5, bool> is_static{};
inline constexpr LeBits<"port", 2, std::uint8_t, 4, 0> port{};
inline constexpr Le<"binding", 3, std::uint8_t> binding{};
inline constexpr Le<"medium", 4, std::uint8_t> medium{};
inline constexpr Le<"address_size", 5, std::uint8_t> address_size{};
}  // namespace table_entry
/// The physical address follows, most significant byte first.
using TableEntry = Layout<6, table_entry::size, table_entry::first, table_entry::type, table_entry::is_static, table_entry::port,
                          table_entry::binding, table_entry::medium, table_entry::address_size>;

namespace resolve_uuid {
inline constexpr BytesField<"uuid", 3, 16> uuid{};
inline constexpr Le<"handle", 19, std::uint8_t> handle{};
}  // namespace resolve_uuid
using ResolveUuid = RequestLayout<20, resolve_uuid::uuid, resolve_uuid::handle>;
namespace uuid_entry {
inline constexpr Le<"eid", 0, std::uint8_t> eid{};
inline constexpr Le<"binding", 1, std::uint8_t> binding{};
inline constexpr Le<"medium", 2, std::uint8_t> medium{};
inline constexpr Le<"address_size", 3, std::uint8_t> address_size{};
}  // namespace uuid_entry
using UuidEntry = Layout<4, uuid_entry::eid, uuid_entry::binding, uuid_entry::medium, uuid_entry::address_size>;

// -------------------------------------------------------------------------------------- 11h to 14h

namespace rate_response {
inline constexpr Be<"buffer", 4, std::uint32_t> buffer{};
inline constexpr Be<"receive_max", 8, std::uint32_t> receive_max{};
inline constexpr Be<"limit_max", 12, std::uint32_t> limit_max{};
inline constexpr Be<"limit_min", 16, std::uint32_t> limit_min{};
inline constexpr Be<"burst_max", 20, U24> burst_max{};
inline constexpr Be<"burst", 23, U24> burst{};
inline constexpr Be<"rate", 26, std::uint32_t> rate{};
inline constexpr LeBits<"supported", 30, std::uint8_t, 0, 0, bool> supported{};
inline constexpr LeBits<"unrequested_only", 30, std::uint8_t, 1, 1, bool> unrequested_only{};
}  // namespace rate_response
using RateResponse = ResponseLayout<31, rate_response::buffer, rate_response::receive_max, rate_response::limit_max,
                                    rate_response::limit_min, rate_response::burst_max, rate_response::burst, rate_response::rate,
                                    rate_response::supported, rate_response::unrequested_only>;

namespace rate_request {
inline constexpr Be<"burst", 3, U24> burst{};
inline constexpr Be<"rate", 6, std::uint32_t> rate{};
}  // namespace rate_request
/// Request TX Rate Limit and Update Rate Limit.
using RateRequest = RequestLayout<10, rate_request::burst, rate_request::rate>;
namespace tx_rate_response {
inline constexpr Be<"burst", 4, std::uint32_t> burst{};
inline constexpr Be<"rate", 8, std::uint32_t> rate{};
}  // namespace tx_rate_response
using TxRateResponse = ResponseLayout<12, tx_rate_response::burst, tx_rate_response::rate>;

/// Physical transport bindings (DSP0239 1.11.1).
enum class BindingId : std::uint8_t {
  smbus = 0x01,
  pcie_vdm = 0x02,
  usb = 0x03,
  kcs = 0x04,
  serial = 0x05,
  i3c = 0x06,
  mmbi = 0x07,
  pcc = 0x08,
  ucie = 0x09,
  vendor = 0xFF,
};
/// Physical media, as routing tables name them (DSP0239 1.11.1).
enum class MediumId : std::uint8_t {
  unspecified = 0x00,
  smbus_100k = 0x01,
  smbus_or_i2c_100k = 0x02,
  i2c_100k = 0x03,
  fast_400k = 0x04,         ///< SMBus 3.0 or I2C, Fast-mode
  fast_plus_1m = 0x05,      ///< SMBus 3.0 or I2C, Fast-mode Plus
  high_speed_3400k = 0x06,  ///< I2C, High-speed mode
  pcie_1_1 = 0x08,
  pcie_2_0 = 0x09,
  pcie_2_1 = 0x0A,
  pcie_3 = 0x0B,
  pcie_4 = 0x0C,
  pcie_5 = 0x0D,  ///< or CXL 1.x, 2.x
  pcie_6 = 0x0E,  ///< Non-Flit Mode
  pci = 0x0F,
  usb_1_1 = 0x10,
  usb_2_0 = 0x11,
  usb_3_0 = 0x12,
  nc_si_rbt = 0x18,
  ucie = 0x19,
  pcc = 0x1A,
  kcs_legacy = 0x20,
  kcs_pci = 0x21,
  serial_host_legacy = 0x22,
  serial_host_pci = 0x23,
  serial = 0x24,  ///< asynchronous, between management controllers and devices
  i3c_basic = 0x30,
  pcie_6_flit = 0x40,  ///< or CXL 3.x
};

// ------------------------------------------------------------------------------------------- making

/// A request of `command` with its data; `datagram` asks for no answer.
Bytes make_request(Command command, std::uint8_t instance, ByteView data = {}, bool datagram = false);
/// The response to a request that has at least its header, with data only when it succeeded.
Bytes make_response(ByteView request, Completion completion, ByteView data = {});

/// "Get Endpoint ID request 3", "Set Endpoint ID response 0 success"; any bytes will do.
std::string describe_message(ByteView message);

}  // namespace fb::mctp::control
