#include "wire/fabrics/auth_messages.h"

#include <gtest/gtest.h>

namespace fb::fabrics {
namespace {

AuthNegotiate negotiate() {
  AuthNegotiate made{0x1234, 2, {}};
  made.protocols.push_back({.hashes = {1, 3}, .groups = {0, 1, 5}});
  return made;
}

TEST(AuthMessages, NegotiateHasItsPlaces) {
  const Bytes bytes = negotiate().emit();
  ASSERT_EQ(bytes.size(), 72u);
  EXPECT_EQ(to_hex(ByteView{bytes}.first(16)),
            "0000000034120201"
            "0100020301030000");
  EXPECT_EQ(bytes[8 + 34], 0);
  EXPECT_EQ(bytes[8 + 35], 1);
  EXPECT_EQ(bytes[8 + 36], 5);
  const auto read = AuthNegotiate::parse(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->t_id, 0x1234);
  EXPECT_EQ(read->sc_c, 2);
  ASSERT_EQ(read->protocols.size(), 1u);
  EXPECT_EQ(read->protocols[0].hashes, (std::vector<std::uint8_t>{1, 3}));
  EXPECT_EQ(read->protocols[0].groups, (std::vector<std::uint8_t>{0, 1, 5}));
}

TEST(AuthMessages, NegotiateRefusesWhatIsNotThere) {
  Bytes bytes = negotiate().emit();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(AuthNegotiate::parse(ByteView{bytes}.first(length)).has_value()) << length;
  }
  bytes[7] = 2;  // a second descriptor that is not there
  EXPECT_FALSE(AuthNegotiate::parse(bytes).has_value());
  bytes[7] = 1;
  bytes[10] = 31;  // HALEN
  EXPECT_FALSE(AuthNegotiate::parse(bytes).has_value());
}

TEST(AuthMessages, ChallengeAndReplyThereAndBack) {
  const AuthChallenge challenge{7, 32, 1, 1, 0xA0B0C0D0, Bytes(32, 0x11), Bytes(256, 0x22)};
  const Bytes sent = challenge.emit();
  ASSERT_EQ(sent.size(), 16u + 32 + 256);
  EXPECT_EQ(to_hex(ByteView{sent}.first(17)),
            "0101000007002000"
            "01010001d0c0b0a0"
            "11");
  const auto read = AuthChallenge::parse(sent);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->challenge, challenge.challenge);
  EXPECT_EQ(read->dh_value, challenge.dh_value);
  EXPECT_EQ(read->seqnum, 0xA0B0C0D0u);

  const AuthReply reply{7, 48, 1, 5, Bytes(48, 0x33), Bytes(48, 0x44), Bytes(384, 0x55)};
  const Bytes answer = reply.emit();
  ASSERT_EQ(answer.size(), 16u + 96 + 384);
  EXPECT_EQ(to_hex(ByteView{answer}.first(16)),
            "0102000007003000"
            "0100800105000000");
  for (std::size_t length = 0; length < answer.size(); ++length) {
    ASSERT_FALSE(AuthReply::parse(ByteView{answer}.first(length)).has_value()) << length;
  }
  const auto back = AuthReply::parse(answer);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->response, reply.response);
  EXPECT_EQ(back->challenge, reply.challenge);
  EXPECT_EQ(back->dh_value, reply.dh_value);
}

TEST(AuthMessages, EndsOfATransaction) {
  const Bytes success1 = AuthSuccess1{9, 32, 1, Bytes(32, 0x66)}.emit();
  EXPECT_EQ(to_hex(ByteView{success1}.first(17)),
            "0103000009002000"
            "0100000000000000"
            "66");
  EXPECT_FALSE(AuthSuccess1::parse(ByteView{success1}.first(47)).has_value());
  Bytes without = success1;
  without[8] = 0;
  EXPECT_TRUE(AuthSuccess1::parse(ByteView{without}.first(16)).has_value());

  EXPECT_EQ(to_hex(AuthSuccess2{9}.emit()), "01040000090000000000000000000000");
  EXPECT_EQ(to_hex(AuthFailureReport{false, 9, 1, 6}.emit()), "00f1000009000106");
  EXPECT_EQ(to_hex(AuthFailureReport{true, 9, 1, 7}.emit()), "00f0000009000107");
  const auto report = AuthFailureReport::parse(AuthFailureReport{true, 9, 1, 7}.emit());
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->from_host);
  EXPECT_EQ(report->rcodeex, 7);
}

TEST(AuthMessages, InWords) {
  EXPECT_EQ(describe_auth_message(negotiate().emit()),
            "AUTH_Negotiate t_id=4660 sc_c=2 authid=1 hashes=SHA-256,SHA-512 "
            "groups=NULL,ffdhe2048,ffdhe8192");
  EXPECT_EQ(describe_auth_message(AuthFailureReport{false, 9, 1, 4}.emit()),
            "AUTH_Failure1 t_id=9 rcode=1 rcodeex=4 (Hash function not usable)");
  EXPECT_EQ(describe_auth_message(AuthSuccess2{9}.emit()), "DH-HMAC-CHAP_Success2 t_id=9");
  const std::string words = describe_auth_message(AuthReply{7, 32, 1, 5, Bytes(32, 0x33), Bytes(32, 0x44), {}}.emit());
  EXPECT_EQ(words, "DH-HMAC-CHAP_Reply t_id=7 hl=32 cvalid=1 dhvlen=0 seqnum=0x5");
  EXPECT_EQ(describe_auth_message({}), "unknown message");
}

}  // namespace
}  // namespace fb::fabrics
