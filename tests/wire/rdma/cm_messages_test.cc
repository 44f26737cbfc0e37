#include <gtest/gtest.h>

#include "base/rng.h"
#include "wire/rdma/cm_messages.h"

namespace fb::cm {
namespace {

// A whole REQ of Linux nvme-rdma as captured: IPv4, UDP, BTH, DETH, MAD, ICRC.
constexpr std::string_view kLinuxReqPacket =
    "4500013468b240004011bcf60a0700020a070001d87212b7012000006400ffff00000001800000b280010000000000010107020300000000000000022246fe1a"
    "00100000000000001afe4622000000000000000001061144505400fffe07000200000000000000000000228000000000000000a1fce069a7ffff57f0ffffffff"
    "00000000000000000000ffff0a07000200000000000000000000ffff0a0700018b2fb00000400098000000000000000000000000000000000000000000000000"
    "00000000000000000000000000000000000000000040cb690000000000000000000000000a0700020000000000000000000000000a0700010000000020001f00"
    "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000853be67a";

Bytes linux_req() {
  const Bytes packet = from_hex(kLinuxReqPacket);
  const std::size_t before = 20 + 8 + 12 + 8;
  EXPECT_EQ(packet.size(), before + kMadBytes + 4);
  return {packet.begin() + static_cast<std::ptrdiff_t>(before), packet.end() - 4};
}

TEST(CmMessages, LinuxReqDecodes) {
  const Bytes bytes = linux_req();
  const View<MadHeader> header{bytes};
  EXPECT_EQ(header.get(mad::base_version), 1);
  EXPECT_EQ(header.get(mad::management_class), kCmClass);
  EXPECT_EQ(header.get(mad::class_version), kCmClassVersion);
  EXPECT_EQ(header.get(mad::method), Method::send);
  EXPECT_EQ(header.get(mad::tid), 0x000000022246fe1au);
  EXPECT_EQ(header.get(mad::attribute), Attribute::req);

  const auto message = message_of<Req>(bytes);
  EXPECT_EQ(message.get(req::local_comm_id), 0x1afe4622u);
  EXPECT_EQ(message.get(req::service_id), service_id_of(4420));
  EXPECT_EQ(message.get(req::local_ca_guid), 0x505400fffe070002u);
  EXPECT_EQ(message.get(req::local_qpn), 0x22u);
  EXPECT_EQ(message.get(req::responder_resources), 128);
  EXPECT_EQ(message.get(req::initiator_depth), 0);
  EXPECT_EQ(message.get(req::remote_cm_timeout), 20);
  EXPECT_EQ(message.get(req::transport), Transport::rc);
  EXPECT_EQ(message.get(req::flow_control), 1);
  EXPECT_EQ(message.get(req::starting_psn), 0xfce069u);
  EXPECT_EQ(message.get(req::local_cm_timeout), 20);
  EXPECT_EQ(message.get(req::retry_count), 7);
  EXPECT_EQ(message.get(req::pkey), 0xFFFF);
  EXPECT_EQ(message.get(req::path_mtu), 5);
  EXPECT_EQ(message.get(req::rnr_retry_count), 7);
  EXPECT_EQ(message.get(req::max_cm_retries), 15);
  EXPECT_EQ(message.get(req::srq), 0);
  EXPECT_EQ(from_gid(message.get(req::primary_local_gid)), IpAddress::v4(10, 7, 0, 2));
  EXPECT_EQ(from_gid(message.get(req::primary_remote_gid)), IpAddress::v4(10, 7, 0, 1));
  EXPECT_EQ(message.get(req::primary_flow_label), 0x8b2fbu);
  EXPECT_EQ(message.get(req::primary_hop_limit), 64);
  EXPECT_EQ(message.get(req::primary_ack_timeout), 19);
  EXPECT_EQ(message.get(req::alternate_local_lid), 0);

  const View<IpHeader> ip{message.get(req::private_data)};
  EXPECT_EQ(ip.get(ip_header::ip_version), 4);
  EXPECT_EQ(ip.get(ip_header::source_port), 0xcb69);
  EXPECT_EQ(from_ip_header(ip.get(ip_header::source), true), IpAddress::v4(10, 7, 0, 2));
  EXPECT_EQ(from_ip_header(ip.get(ip_header::destination), true), IpAddress::v4(10, 7, 0, 1));
  // (source port * 31 + destination port) & 0xFFFFF is the flow label that Linux announces.
  EXPECT_EQ((0xcb69u * 31 + 4420) & 0xFFFFF, 0x8b2fbu);
}

// Every field read and set again into an empty message gives the captured bytes: no field is
// missing, none lies elsewhere for writing than for reading.
template <class L>
Record<L> copied_field_by_field(ByteView from) {
  Record<L> to;
  L::for_each([&](auto field) {
    using F = decltype(field);
    if constexpr (F::is_bytes) {
      to.set(field, F::get(from.data()));
    } else {
      F::set_raw(to.mutable_bytes().data(), F::get_raw(from.data()));
    }
  });
  return to;
}

TEST(CmMessages, LinuxReqEncodesToTheSameBytes) {
  const Bytes bytes = linux_req();
  Bytes again;
  const auto header = copied_field_by_field<MadHeader>(bytes);
  const auto message = copied_field_by_field<Req>(ByteView{bytes}.subspan(kMadHeaderBytes));
  again.insert(again.end(), header.bytes().begin(), header.bytes().end());
  again.insert(again.end(), message.bytes().begin(), message.bytes().end());
  EXPECT_EQ(to_hex(again), to_hex(bytes));
}

TEST(CmMessages, BitFieldsLieWhereTheSpecificationPutsThem) {
  Record<Req> r;
  r.set(req::remote_cm_timeout, 0x1F).set(req::transport, 3);
  EXPECT_EQ(r.bytes()[43], 0xFE);
  r.set(req::primary_flow_label, 0xABCDE);
  EXPECT_EQ(to_hex(r.bytes().subspan(88, 3)), "abcde0");
  r.set(req::alternate_flow_label, 0x12345);
  EXPECT_EQ(to_hex(r.bytes().subspan(132, 3)), "123450");
  Record<Rep> p;
  p.set(rep::target_ack_delay, 15).set(rep::failover, Failover::not_supported).set(rep::flow_control, 1);
  p.set(rep::rnr_retry_count, 7).set(rep::srq, 1);
  EXPECT_EQ(to_hex(p.bytes().subspan(26, 2)), "7bf0");
  Record<Rej> j;
  j.set(rej::about, About::other).set(rej::info_length, 16).set(rej::reason, 12);
  EXPECT_EQ(to_hex(j.bytes().subspan(8, 4)), "8020000c");
  Record<Mra> m;
  m.set(mra::about, About::rep).set(mra::service_timeout, 24);
  EXPECT_EQ(to_hex(m.bytes().subspan(8, 2)), "40c0");
  Record<Lap> l;
  l.set(lap::flow_label, 0xABCDE).set(lap::sl, 5).set(lap::ack_timeout, 31);
  EXPECT_EQ(to_hex(l.bytes().subspan(56, 8)), "abcde000000050f8");
}

TEST(CmMessages, ReservedBitsAreNobodys) {
  EXPECT_EQ(Req::reserved_bits(4), 0xFF);
  EXPECT_EQ(Req::reserved_bits(24), 0xFF);
  EXPECT_EQ(Req::reserved_bits(90), 0x0F);
  EXPECT_EQ(Req::reserved_bits(91), 0xC0);
  EXPECT_EQ(Req::reserved_bits(94), 0x07);
  EXPECT_EQ(Dreq::reserved_bits(11), 0xFF);
  EXPECT_EQ(first_reserved_set<Req>(ByteView{linux_req()}.subspan(kMadHeaderBytes)), std::nullopt);
}

TEST(CmMessages, ServiceIds) {
  static_assert(service_id_of(4420) == 0x0000000001061144);
  static_assert(service_id_of(4420, kUdpPortSpace) == 0x0000000001111144);
  static_assert(port_of(0x0000000001061144) == 4420);
  static_assert(!port_of(0x0000000001111144));
  static_assert(!port_of(0x0000000101061144));
  static_assert(!port_of(0x8000000001061144));
}

TEST(CmMessages, AddressesHaveTwoForms) {
  const IpAddress v4 = IpAddress::v4(10, 7, 0, 2);
  EXPECT_EQ(to_hex(v4.bytes()), "00000000000000000000ffff0a070002");
  EXPECT_EQ(to_hex(ip_header_form(v4)), "0000000000000000000000000a070002");
  EXPECT_EQ(from_ip_header(ip_header_form(v4), true), v4);
  const IpAddress v6 = *IpAddress::parse("fd00::1");
  EXPECT_EQ(ip_header_form(v6), v6.bytes());
  EXPECT_EQ(from_ip_header(ip_header_form(v6), false), v6);
}

TEST(CmMessages, DescribesWhatItSees) {
  const std::string text = describe_mad(linux_req());
  EXPECT_TRUE(text.starts_with("REQ tid=0x22246fe1a local_comm_id=0x1afe4622 service_id=0x1061144")) << text;
  EXPECT_NE(text.find("primary_local_gid=10.7.0.2"), std::string::npos) << text;
  EXPECT_EQ(text.find("vendor_id"), std::string::npos) << "zero fields are left out";

  Mad reject{Attribute::rej, 7};
  reject.message<Rej>().set(rej::remote_comm_id, 5).set(rej::reason, 10);
  EXPECT_EQ(describe_mad(reject.bytes()), "REJ tid=7 remote_comm_id=5 reason=0xa (stale connection)");
  reject.header().set(mad::base_version, 2).set(mad::attribute, 0x0999);
  EXPECT_TRUE(describe_mad(reject.bytes()).starts_with("attribute id=0x999 base_version=2 tid=7"));
}

TEST(CmMessages, DescribesAnyBytes) {
  Rng rng(1, "describe");
  EXPECT_EQ(describe_mad({}), "MAD of 0 bytes (truncated)");
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes(rng.between(200, 300));
    rng.fill(bytes);
    if (bytes.size() > 18) {
      bytes[16] = 0;
      bytes[17] = static_cast<std::uint8_t>(rng.below(0x20));
    }
    EXPECT_FALSE(describe_mad(bytes).empty());
  }
}

}  // namespace
}  // namespace fb::cm
