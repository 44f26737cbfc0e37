#include "conformance/runner/raw_roce.h"

#include <gtest/gtest.h>

#include "sim/net/network.h"

namespace fb::conformance {
namespace {

using namespace literals;

// Sent by a Linux 6.1 kernel: IP header, UDP header, packet, ICRC.
struct Vector {
  const char* name;
  const char* hex;
};
constexpr Vector kVectors[] = {
    {"send only, pad 3",
     "4500003800004000401126b70a0000010a000002c0de12b70020000004b0ffff0000001280123456"
     "68656c6c6f0000004a4d3ddb"},
    {"acknowledge",
     "45000030314640004011f5660a0700020a070001fa1b12b7001c00001100ffff0000036b00acb2d4"
     "1f000001e6b33b59"},
    {"send with invalidate",
     "45000040314a40004011f5520a0700020a070001fa1b12b7002c00001700ffff0000036b80000701"
     "1234ab01010000000000000001000000070000003d94d86d"},
};

TEST(RawRoce, ComputesTheIcrcOfKernelPackets) {
  for (const Vector& vector : kVectors) {
    const Bytes bytes = from_hex(vector.hex);
    ASSERT_GT(bytes.size(), 32u);
    const auto address = [&](std::size_t at) { return IpAddress::v4(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]); };
    const Endpoint source{address(12), load_be<std::uint16_t>(&bytes[20])};
    const Endpoint destination{address(16), load_be<std::uint16_t>(&bytes[22])};
    const IpFacts ip{.id = load_be<std::uint16_t>(&bytes[4])};
    const ByteView packet = ByteView(bytes).subspan(28, bytes.size() - 32);
    EXPECT_EQ(icrc_of(source, destination, ip, packet), load_le<std::uint32_t>(&bytes[bytes.size() - 4])) << vector.name;
    const auto parsed = parse_roce(ByteView(bytes).subspan(28));
    ASSERT_TRUE(parsed) << vector.name;
    EXPECT_EQ(to_hex(to_bytes(*parsed)), to_hex(packet)) << vector.name;
  }
}

TEST(RawRoce, ShortPacketsAreNoPackets) {
  const Bytes bytes = from_hex(kVectors[1].hex);
  for (std::size_t size = 0; size < bytes.size() - 28; ++size) {
    EXPECT_FALSE(parse_roce(ByteView(bytes).subspan(28, size))) << size;
  }
}

TEST(RawRoce, TwoOfThemConnectByHand) {
  auto world = World::make_virtual(1);
  net::SimNetwork network(*world);
  const IpAddress a = IpAddress::v4(10, 0, 0, 1), b = IpAddress::v4(10, 0, 0, 2);
  net::SimHost& left = network.add_host("left", a);
  net::SimHost& right = network.add_host("right", b);
  RawRoce active(*world, left, a, b), passive(*world, right, b, a);

  RawRequest request;
  request.private_data = {1, 2, 3};
  const cm::Mad req = active.make_req(request);
  active.send_mad(req);
  const auto arrived = passive.wait_mad(cm::Attribute::req, 1_s);
  ASSERT_TRUE(arrived);
  EXPECT_EQ(*arrived, req);
  const RawConnectionFacts theirs = passive.accept(*arrived, {.psn = 0xFFFFFF});
  const auto rep = active.wait_mad(cm::Attribute::rep, 1_s);
  ASSERT_TRUE(rep);
  const RawConnectionFacts ours = active.facts_from(req, *rep);
  EXPECT_EQ(ours.send_psn, theirs.receive_psn);
  EXPECT_EQ(ours.receive_psn, theirs.send_psn);
  EXPECT_EQ(ours.remote_qpn, theirs.local_qpn);

  active.send(ours.request(roce::Opcode::send_only, 1, {1, 2, 3, 4, 5}));
  const auto packet = passive.wait_packet(1_s);
  ASSERT_TRUE(packet);
  EXPECT_TRUE(packet->icrc_good);
  EXPECT_EQ(packet->psn, 0u);  // wrapped
  EXPECT_EQ(packet->payload, (Bytes{1, 2, 3, 4, 5}));
  EXPECT_TRUE(passive.silent_for(1_s));

  active.send(ours.request(roce::Opcode::send_only, 2), {.good_icrc = false});
  const auto bad = passive.wait_packet(1_s);
  ASSERT_TRUE(bad);
  EXPECT_FALSE(bad->icrc_good);
}

}  // namespace
}  // namespace fb::conformance
