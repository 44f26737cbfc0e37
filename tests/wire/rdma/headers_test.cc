#include "wire/rdma/headers.h"

#include <gtest/gtest.h>

#include <string>

#include "wire/rdma/psn.h"
#include "wire/rdma/syndrome.h"

namespace fb::roce {
namespace {

TEST(Psn, DistanceIsSignedWithinHalfTheRange) {
  static_assert(psn_distance(5, 3) == 2);
  static_assert(psn_distance(3, 5) == -2);
  static_assert(psn_distance(0, 0xFFFFFF) == 1);
  static_assert(psn_distance(0xFFFFFF, 0) == -1);
  // ePSN + 2^23 - 1 is new, ePSN + 2^23 is old.
  static_assert(psn_distance(psn_add(10, 0x7FFFFF), 10) == 0x7FFFFF);
  static_assert(psn_before(psn_add(10, 0x800000), 10));
  static_assert(packets_of(0, 256) == 1 && packets_of(256, 256) == 1 && packets_of(257, 256) == 2);
  static_assert(mtu_bytes(1) == 256 && mtu_bytes(5) == 4096 && mtu_bytes(0) == 0 && mtu_bytes(6) == 0);
}

TEST(Headers, BthReadsAVector) {
  const Bytes packet = from_hex(
      "0c00ffff0000001280000001"
      "00007f0000001000"
      "00001234"
      "00002000");
  const View<Bth> b{packet};
  EXPECT_EQ(b.get(bth::opcode), Opcode::read_request);
  EXPECT_EQ(b.get(bth::pkey), 0xFFFF);
  EXPECT_EQ(b.get(bth::destqp), 0x12u);
  EXPECT_TRUE(b.get(bth::ackreq));
  EXPECT_EQ(b.get(bth::psn), 1u);
  const View<Reth> r{ByteView{packet}.subspan(12)};
  EXPECT_EQ(r.get(reth::va), 0x7F0000001000u);
  EXPECT_EQ(r.get(reth::rkey), 0x1234u);
  EXPECT_EQ(r.get(reth::dmalen), 8192u);
}

TEST(Headers, BthFlagsStandInByteOne) {
  Record<Bth> b;
  b.set(bth::se, true).set(bth::padcnt, 3u).set(bth::psn, 0x123456u).set(bth::ackreq, true);
  EXPECT_EQ(to_hex(b.bytes()),
            "00b0000000000000"
            "80123456" +
                std::string());
  b.set(bth::se, false).set(bth::padcnt, 0u).set(bth::migreq, true).set(bth::tver, 5u);
  EXPECT_EQ(b.bytes()[1], 0x45);
}

TEST(Opcodes, HeaderBytesFollowFromTheHeaders) {
  EXPECT_EQ(facts_of(Opcode::send_only).header_bytes, 12);
  EXPECT_EQ(facts_of(Opcode::write_only_with_immediate).header_bytes, 32);
  EXPECT_EQ(facts_of(Opcode::atomic_acknowledge).header_bytes, 24);
  EXPECT_EQ(facts_of(Opcode::compare_and_swap).header_bytes, 40);
  EXPECT_EQ(facts_of(Opcode::read_response_middle).header_bytes, 12);
  EXPECT_EQ(facts_of(Opcode::ud_send_only).header_bytes, 20);
  int known = 0;
  for (int code = 0; code < 256; ++code) known += facts_of(static_cast<std::uint8_t>(code)).known();
  EXPECT_EQ(known, 26);
  EXPECT_FALSE(facts_of(std::uint8_t{0x15}).known());
}

TEST(Syndrome, RnrTimersAndCredits) {
  EXPECT_EQ(rnr_delay(0), Duration::us(655360));
  EXPECT_EQ(rnr_delay(1), Duration::us(10));
  EXPECT_EQ(rnr_delay(12), Duration::us(640));
  EXPECT_EQ(rnr_delay(25), Duration::us(61440));
  EXPECT_EQ(rnr_delay(31), Duration::us(491520));
  EXPECT_EQ(credits_of(4), 4u);
  EXPECT_EQ(credits_of(5), 6u);
  EXPECT_EQ(credits_of(6), 8u);
  EXPECT_EQ(credits_of(7), 12u);
  EXPECT_EQ(credits_of(20), 1024u);
  EXPECT_EQ(credits_of(29), 24576u);
  EXPECT_EQ(credits_of(30), 32768u);
  EXPECT_EQ(ack_timeout(14), Duration::ns(67108864));
  EXPECT_EQ(ack_timeout(0), Duration::forever());
  EXPECT_EQ(nak_syndrome(NakCode::remote_access_error), 0x62);
  EXPECT_EQ(rnr_syndrome(0), 0x20);
  EXPECT_EQ(kind_of_syndrome(0x1F), SyndromeKind::ack);
  EXPECT_EQ(kind_of_syndrome(0x45), SyndromeKind::reserved);
  EXPECT_EQ(name_of_syndrome(0x60), "NAK PSN sequence error");
}

}  // namespace
}  // namespace fb::roce
