// The messages of the connection manager (InfiniBand chapter 12) and the header that the IP addressing
// service puts before the private data of a REQ (annex A11). Offsets count from the end of the MAD
// header. "local" and "remote" are always seen from the sender of the message.
#pragma once

#include "base/ip.h"
#include "wire/rdma/mad.h"

namespace fb::cm {

// Every message begins with the sender's communication ID and, but for the REQ, the receiver's.
namespace ids {
inline constexpr Be<"local_comm_id", 0, std::uint32_t> local_comm_id{};
inline constexpr Be<"remote_comm_id", 4, std::uint32_t> remote_comm_id{};
}  // namespace ids
using Ids = Layout<8, ids::local_comm_id, ids::remote_comm_id>;

enum class Transport : std::uint8_t { rc = 0, uc = 1, rd = 2, extended = 3 };

namespace req {
inline constexpr Be<"local_comm_id", 0, std::uint32_t> local_comm_id{};
inline constexpr Be<"vendor_id", 5, U24> vendor_id{};
inline constexpr Be<"service_id", 8, std::uint64_t> service_id{};
inline constexpr Be<"local_ca_guid", 16, std::uint64_t> local_ca_guid{};
inline constexpr Be<"local_qkey", 28, std::uint32_t> local_qkey{};
inline constexpr Be<"local_qpn", 32, U24> local_qpn{};
inline constexpr Be<"responder_resources", 35, std::uint8_t> responder_resources{};
inline constexpr Be<"local_eecn", 36, U24> local_eecn{};
inline constexpr Be<"initiator_depth", 39, std::uint8_t> initiator_depth{};
inline constexpr Be<"remote_eecn", 40, U24> remote_eecn{};
inline constexpr BeBits<"remote_cm_timeout", 43, std::uint8_t, 7, 3> remote_cm_timeout{};
inline constexpr BeBits<"transport", 43, std::uint8_t, 2, 1, Transport> transport{};
inline constexpr BeBits<"flow_control", 43, std::uint8_t, 0, 0> flow_control{};
inline constexpr Be<"starting_psn", 44, U24> starting_psn{};
inline constexpr BeBits<"local_cm_timeout", 47, std::uint8_t, 7, 3> local_cm_timeout{};
inline constexpr BeBits<"retry_count", 47, std::uint8_t, 2, 0> retry_count{};
inline constexpr Be<"pkey", 48, std::uint16_t> pkey{};
inline constexpr BeBits<"path_mtu", 50, std::uint8_t, 7, 4> path_mtu{};
inline constexpr BeBits<"rdc_exists", 50, std::uint8_t, 3, 3> rdc_exists{};
inline constexpr BeBits<"rnr_retry_count", 50, std::uint8_t, 2, 0> rnr_retry_count{};
inline constexpr BeBits<"max_cm_retries", 51, std::uint8_t, 7, 4> max_cm_retries{};
inline constexpr BeBits<"srq", 51, std::uint8_t, 3, 3> srq{};
inline constexpr BeBits<"extended_transport", 51, std::uint8_t, 2, 0> extended_transport{};

inline constexpr Be<"primary_local_lid", 52, std::uint16_t> primary_local_lid{};
inline constexpr Be<"primary_remote_lid", 54, std::uint16_t> primary_remote_lid{};
inline constexpr BytesField<"primary_local_gid", 56, 16> primary_local_gid{};
inline constexpr BytesField<"primary_remote_gid", 72, 16> primary_remote_gid{};
inline constexpr BeBits<"primary_flow_label", 88, U24, 23, 4> primary_flow_label{};
inline constexpr BeBits<"primary_rate", 91, std::uint8_t, 5, 0> primary_rate{};
inline constexpr Be<"primary_traffic_class", 92, std::uint8_t> primary_traffic_class{};
inline constexpr Be<"primary_hop_limit", 93, std::uint8_t> primary_hop_limit{};
inline constexpr BeBits<"primary_sl", 94, std::uint8_t, 7, 4> primary_sl{};
inline constexpr BeBits<"primary_subnet_local", 94, std::uint8_t, 3, 3> primary_subnet_local{};
inline constexpr BeBits<"primary_ack_timeout", 95, std::uint8_t, 7, 3> primary_ack_timeout{};

// The alternate path is absent when its local LID is 0.
inline constexpr Be<"alternate_local_lid", 96, std::uint16_t> alternate_local_lid{};
inline constexpr Be<"alternate_remote_lid", 98, std::uint16_t> alternate_remote_lid{};
inline constexpr BytesField<"alternate_local_gid", 100, 16> alternate_local_gid{};
inline constexpr BytesField<"alternate_remote_gid", 116, 16> alternate_remote_gid{};
inline constexpr BeBits<"alternate_flow_label", 132, U24, 23, 4> alternate_flow_label{};
inline constexpr BeBits<"alternate_rate", 135, std::uint8_t, 5, 0> alternate_rate{};
inline constexpr Be<"alternate_traffic_class", 136, std::uint8_t> alternate_traffic_class{};
inline constexpr Be<"alternate_hop_limit", 137, std::uint8_t> alternate_hop_limit{};
inline constexpr BeBits<"alternate_sl", 138, std::uint8_t, 7, 4> alternate_sl{};
inline constexpr BeBits<"alternate_subnet_local", 138, std::uint8_t, 3, 3> alternate_subnet_local{};
inline constexpr BeBits<"alternate_ack_timeout", 139, std::uint8_t, 7, 3> alternate_ack_timeout{};

inline constexpr BytesField<"private_data", 140, 92> private_data{};
}  // namespace req

using Req = Layout<kMessageBytes, req::local_comm_id, req::vendor_id, req::service_id, req::local_ca_guid, req::local_qkey, req::local_qpn,
                   req::responder_resources, req::local_eecn, req::initiator_depth, req::remote_eecn, req::remote_cm_timeout,
                   req::transport, req::flow_control, req::starting_psn, req::local_cm_timeout, req::retry_count, req::pkey, req::path_mtu,
                   req::rdc_exists, req::rnr_retry_count, req::max_cm_retries, req::srq, req::extended_transport, req::primary_local_lid,
                   req::primary_remote_lid, req::primary_local_gid, req::primary_remote_gid, req::primary_flow_label, req::primary_rate,
                   req::primary_traffic_class, req::primary_hop_limit, req::primary_sl, req::primary_subnet_local, req::primary_ack_timeout,
                   req::alternate_local_lid, req::alternate_remote_lid, req::alternate_local_gid, req::alternate_remote_gid,
                   req::alternate_flow_label, req::alternate_rate, req::alternate_traffic_class, req::alternate_hop_limit,
                   req::alternate_sl, req::alternate_subnet_local, req::alternate_ack_timeout, req::private_data>;

/// REP.failover: what became of the alternate path of the REQ.
enum class Failover : std::uint8_t { accepted = 0, not_supported = 1, rejected = 2 };

namespace rep {
inline constexpr Be<"local_comm_id", 0, std::uint32_t> local_comm_id{};
inline constexpr Be<"remote_comm_id", 4, std::uint32_t> remote_comm_id{};
inline constexpr Be<"local_qkey", 8, std::uint32_t> local_qkey{};
inline constexpr Be<"local_qpn", 12, U24> local_qpn{};
inline constexpr Be<"vendor_id_high", 15, std::uint8_t> vendor_id_high{};
inline constexpr Be<"local_eecn", 16, U24> local_eecn{};
inline constexpr Be<"vendor_id_middle", 19, std::uint8_t> vendor_id_middle{};
inline constexpr Be<"starting_psn", 20, U24> starting_psn{};
inline constexpr Be<"vendor_id_low", 23, std::uint8_t> vendor_id_low{};
inline constexpr Be<"responder_resources", 24, std::uint8_t> responder_resources{};
inline constexpr Be<"initiator_depth", 25, std::uint8_t> initiator_depth{};
inline constexpr BeBits<"target_ack_delay", 26, std::uint8_t, 7, 3> target_ack_delay{};
inline constexpr BeBits<"failover", 26, std::uint8_t, 2, 1, Failover> failover{};
inline constexpr BeBits<"flow_control", 26, std::uint8_t, 0, 0> flow_control{};
inline constexpr BeBits<"rnr_retry_count", 27, std::uint8_t, 7, 5> rnr_retry_count{};
inline constexpr BeBits<"srq", 27, std::uint8_t, 4, 4> srq{};
inline constexpr Be<"local_ca_guid", 28, std::uint64_t> local_ca_guid{};
inline constexpr BytesField<"private_data", 36, 196> private_data{};
}  // namespace rep

using Rep =
    Layout<kMessageBytes, rep::local_comm_id, rep::remote_comm_id, rep::local_qkey, rep::local_qpn, rep::vendor_id_high, rep::local_eecn,
           rep::vendor_id_middle, rep::starting_psn, rep::vendor_id_low, rep::responder_resources, rep::initiator_depth,
           rep::target_ack_delay, rep::failover, rep::flow_control, rep::rnr_retry_count, rep::srq, rep::local_ca_guid, rep::private_data>;

/// RTU and DREP look the same.
namespace rtu {
inline constexpr Be<"local_comm_id", 0, std::uint32_t> local_comm_id{};
inline constexpr Be<"remote_comm_id", 4, std::uint32_t> remote_comm_id{};
inline constexpr BytesField<"private_data", 8, 224> private_data{};
}  // namespace rtu
using Rtu = Layout<kMessageBytes, rtu::local_comm_id, rtu::remote_comm_id, rtu::private_data>;
namespace drep = rtu;
using Drep = Rtu;

/// Which message a MRA or a REJ speaks about. For an MRA, 2 is a LAP.
enum class About : std::uint8_t { req = 0, rep = 1, other = 2 };

namespace mra {
inline constexpr Be<"local_comm_id", 0, std::uint32_t> local_comm_id{};
inline constexpr Be<"remote_comm_id", 4, std::uint32_t> remote_comm_id{};
inline constexpr BeBits<"about", 8, std::uint8_t, 7, 6, About> about{};
inline constexpr BeBits<"service_timeout", 9, std::uint8_t, 7, 3> service_timeout{};
inline constexpr BytesField<"private_data", 10, 222> private_data{};
}  // namespace mra
using Mra = Layout<kMessageBytes, mra::local_comm_id, mra::remote_comm_id, mra::about, mra::service_timeout, mra::private_data>;

namespace rej {
inline constexpr Be<"local_comm_id", 0, std::uint32_t> local_comm_id{};
inline constexpr Be<"remote_comm_id", 4, std::uint32_t> remote_comm_id{};
inline constexpr BeBits<"about", 8, std::uint8_t, 7, 6, About> about{};
inline constexpr BeBits<"info_length", 9, std::uint8_t, 7, 1> info_length{};
inline constexpr Be<"reason", 10, std::uint16_t> reason{};
inline constexpr BytesField<"info", 12, 72> info{};
inline constexpr BytesField<"private_data", 84, 148> private_data{};
}  // namespace rej
using Rej =
    Layout<kMessageBytes, rej::local_comm_id, rej::remote_comm_id, rej::about, rej::info_length, rej::reason, rej::info, rej::private_data>;

namespace dreq {
inline constexpr Be<"local_comm_id", 0, std::uint32_t> local_comm_id{};
inline constexpr Be<"remote_comm_id", 4, std::uint32_t> remote_comm_id{};
inline constexpr Be<"remote_qpn", 8, U24> remote_qpn{};
inline constexpr BytesField<"private_data", 12, 220> private_data{};
}  // namespace dreq
using Dreq = Layout<kMessageBytes, dreq::local_comm_id, dreq::remote_comm_id, dreq::remote_qpn, dreq::private_data>;

namespace lap {
inline constexpr Be<"local_comm_id", 0, std::uint32_t> local_comm_id{};
inline constexpr Be<"remote_comm_id", 4, std::uint32_t> remote_comm_id{};
inline constexpr Be<"remote_qpn", 12, U24> remote_qpn{};
inline constexpr BeBits<"remote_cm_timeout", 15, std::uint8_t, 7, 3> remote_cm_timeout{};
inline constexpr Be<"alternate_local_lid", 20, std::uint16_t> alternate_local_lid{};
inline constexpr Be<"alternate_remote_lid", 22, std::uint16_t> alternate_remote_lid{};
inline constexpr BytesField<"alternate_local_gid", 24, 16> alternate_local_gid{};
inline constexpr BytesField<"alternate_remote_gid", 40, 16> alternate_remote_gid{};
inline constexpr BeBits<"flow_label", 56, U24, 23, 4> flow_label{};
inline constexpr Be<"traffic_class", 59, std::uint8_t> traffic_class{};
inline constexpr Be<"hop_limit", 60, std::uint8_t> hop_limit{};
inline constexpr BeBits<"rate", 61, std::uint8_t, 5, 0> rate{};
inline constexpr BeBits<"sl", 62, std::uint8_t, 7, 4> sl{};
inline constexpr BeBits<"subnet_local", 62, std::uint8_t, 3, 3> subnet_local{};
inline constexpr BeBits<"ack_timeout", 63, std::uint8_t, 7, 3> ack_timeout{};
inline constexpr BytesField<"private_data", 64, 168> private_data{};
}  // namespace lap
using Lap =
    Layout<kMessageBytes, lap::local_comm_id, lap::remote_comm_id, lap::remote_qpn, lap::remote_cm_timeout, lap::alternate_local_lid,
           lap::alternate_remote_lid, lap::alternate_local_gid, lap::alternate_remote_gid, lap::flow_label, lap::traffic_class,
           lap::hop_limit, lap::rate, lap::sl, lap::subnet_local, lap::ack_timeout, lap::private_data>;

enum class AprStatus : std::uint8_t { loaded = 0, invalid_comm_id = 1, unsupported = 2, rejected = 3 };

namespace apr {
inline constexpr Be<"local_comm_id", 0, std::uint32_t> local_comm_id{};
inline constexpr Be<"remote_comm_id", 4, std::uint32_t> remote_comm_id{};
inline constexpr Be<"info_length", 8, std::uint8_t> info_length{};
inline constexpr Be<"status", 9, std::uint8_t, AprStatus> status{};
inline constexpr BytesField<"info", 12, 72> info{};
inline constexpr BytesField<"private_data", 84, 148> private_data{};
}  // namespace apr
using Apr = Layout<kMessageBytes, apr::local_comm_id, apr::remote_comm_id, apr::info_length, apr::status, apr::info, apr::private_data>;

namespace sidr_req {
inline constexpr Be<"request_id", 0, std::uint32_t> request_id{};
inline constexpr Be<"pkey", 4, std::uint16_t> pkey{};
inline constexpr Be<"service_id", 8, std::uint64_t> service_id{};
inline constexpr BytesField<"private_data", 16, 216> private_data{};
}  // namespace sidr_req
using SidrReq = Layout<kMessageBytes, sidr_req::request_id, sidr_req::pkey, sidr_req::service_id, sidr_req::private_data>;

enum class SidrStatus : std::uint8_t { valid = 0, unsupported = 1, rejected = 2, no_qp = 3, redirect = 4, unsupported_version = 5 };

namespace sidr_rep {
inline constexpr Be<"request_id", 0, std::uint32_t> request_id{};
inline constexpr Be<"status", 4, std::uint8_t, SidrStatus> status{};
inline constexpr Be<"info_length", 5, std::uint8_t> info_length{};
inline constexpr Be<"qpn", 8, U24> qpn{};
inline constexpr Be<"service_id", 12, std::uint64_t> service_id{};
inline constexpr Be<"qkey", 20, std::uint32_t> qkey{};
inline constexpr BytesField<"info", 24, 72> info{};
inline constexpr BytesField<"private_data", 96, 136> private_data{};
}  // namespace sidr_rep
using SidrRep = Layout<kMessageBytes, sidr_rep::request_id, sidr_rep::status, sidr_rep::info_length, sidr_rep::qpn, sidr_rep::service_id,
                       sidr_rep::qkey, sidr_rep::info, sidr_rep::private_data>;

// ---------------------------------------------------------------- IP addressing service (A11)

/// First bytes of the REQ's private data; what is left of it belongs to the consumer.
namespace ip_header {
inline constexpr BeBits<"major", 0, std::uint8_t, 7, 4> major{};
inline constexpr BeBits<"minor", 0, std::uint8_t, 3, 0> minor{};
inline constexpr BeBits<"ip_version", 1, std::uint8_t, 7, 4> ip_version{};
inline constexpr Be<"source_port", 2, std::uint16_t> source_port{};
inline constexpr BytesField<"source", 4, 16> source{};
inline constexpr BytesField<"destination", 20, 16> destination{};
}  // namespace ip_header
using IpHeader = Layout<36, ip_header::major, ip_header::minor, ip_header::ip_version, ip_header::source_port, ip_header::source,
                        ip_header::destination>;

/// What the consumer has in a REQ.
inline constexpr std::size_t kReqConsumerBytes = 92 - IpHeader::size;
inline constexpr std::size_t kRepConsumerBytes = 196;
inline constexpr std::size_t kRejConsumerBytes = 148;

/// Service ID of a port in the TCP (0x06) or UDP (0x11) port space.
inline constexpr std::uint8_t kTcpPortSpace = 0x06;
inline constexpr std::uint8_t kUdpPortSpace = 0x11;
constexpr std::uint64_t service_id_of(std::uint16_t port, std::uint8_t protocol = kTcpPortSpace) {
  return std::uint64_t{1} << 24 | std::uint64_t{protocol} << 16 | port;
}
/// The port behind a service ID of that port space, or nothing.
constexpr std::optional<std::uint16_t> port_of(std::uint64_t service_id, std::uint8_t protocol = kTcpPortSpace) {
  const auto port = static_cast<std::uint16_t>(service_id & 0xFFFF);
  if (service_id != service_id_of(port, protocol)) return std::nullopt;
  return port;
}

/// The 16 bytes of an address in the IP header: IPv4 behind twelve zero bytes. GIDs differ: there
/// IPv4 is ::ffff-mapped, which is IpAddress::bytes().
constexpr std::array<std::uint8_t, 16> ip_header_form(const IpAddress& address) {
  std::array<std::uint8_t, 16> bytes = address.bytes();
  if (address.is_v4()) bytes[10] = bytes[11] = 0;
  return bytes;
}
/// The inverse. Of an IPv4 address only the last four bytes count.
constexpr IpAddress from_ip_header(std::span<const std::uint8_t, 16> field, bool v4) {
  if (v4) return IpAddress::v4(field[12], field[13], field[14], field[15]);
  std::array<std::uint8_t, 16> bytes = {};
  std::copy(field.begin(), field.end(), bytes.begin());
  return IpAddress::v6(bytes);
}
constexpr IpAddress from_gid(std::span<const std::uint8_t, 16> gid) { return from_ip_header(gid, false); }

/// Reject reasons in words, for logs ("no listener", "stale connection" ...).
std::string_view name_of_reject_reason(std::uint16_t reason);

}  // namespace fb::cm
