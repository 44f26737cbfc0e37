#include "conformance/runner/replay.h"

#include <gtest/gtest.h>

#include "conformance/runner/product.h"

namespace fb::conformance {
namespace {

TEST(ReplayToken, SurvivesTheRoundTrip) {
  const ReplayToken plain{"connect_refuses_sqsize_zero", "0.1.0", 1, "embedded", {}};
  EXPECT_EQ(parse_replay_token(to_string(plain)).value(), plain);
  const ReplayToken full{"a:b,c%d e", "9", ~std::uint64_t{0}, "rdma://[fd00::1]:4420/nqn.2026-01.a:b", {"one", "t,w:o"}};
  EXPECT_EQ(parse_replay_token(to_string(full)).value(), full);
  ReplayToken in_lane = plain;
  in_lane.lane = "io-queue-3";
  EXPECT_EQ(parse_replay_token(to_string(in_lane)).value(), in_lane);
  EXPECT_EQ(to_string(plain).find("lane"), std::string::npos) << "a token of a run without lanes is what it was";
  EXPECT_EQ(to_string(full).find_first_of(" \"'$&"), std::string::npos) << "safe in a shell";
}

TEST(ReplayToken, WhatIsNoneSaysSo) {
  const std::string good = to_string(ReplayToken{"connect", "0.1.0", 7, "embedded", {"dev"}});
  for (std::size_t cut = 0; cut < good.size(); ++cut) {
    EXPECT_FALSE(parse_replay_token(good.substr(0, cut))) << cut;
  }
  std::string changed = good;
  changed[changed.find("seed=7") + 5] = '8';
  EXPECT_FALSE(parse_replay_token(changed));
  const auto wrong = parse_replay_token("not-a-token");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().text.find("not-a-token"), std::string::npos);
}

TEST(ProductUrl, NamesWhatIsWrong) {
  const FabricUrl url = parse_fabric_url("rdma://[fd00::2]:4420/nqn.2026-01.org.example:disk").value();
  EXPECT_EQ(url.to.port, 4420);
  EXPECT_FALSE(url.to.address.is_v4());
  EXPECT_EQ(url.nqn, "nqn.2026-01.org.example:disk");
  for (const char* wrong : {"rdma://", "rdma://1.2.3.4", "rdma://1.2.3.4:99999", "rdma://1.2.3.4:0", "rdma://:4420", "rdma://1.2.3.4:4420x",
                            "rdma://[fd00::2]", "1.2.3.4:4420"}) {
    const auto parsed = parse_fabric_url(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_NE(parsed.error().text.find(wrong), std::string::npos);
  }
  EXPECT_EQ(parse_fabric_url("rdma://1.2.3.4:4420/disk").value().nqn, "disk") << "labs use names that are no NQN";
  for (const auto& [typed, meant] :
       {std::pair{"127.0.0.1", "'tcp://127.0.0.1:4420'"}, std::pair{"tcp//1.2.3.4:4421", "'tcp://1.2.3.4:4421'"},
        std::pair{"fd00::2", "'tcp://[fd00::2]:4420'"}, std::pair{"http://1.2.3.4", "'tcp://1.2.3.4:4420'"}}) {
    EXPECT_NE(parse_product(typed, "").error().text.find(meant), std::string::npos) << parse_product(typed, "").error().text;
  }
  EXPECT_TRUE(parse_product("embedded", "").value().embedded);
  EXPECT_NE(parse_product("gopher://1.2.3.4", "").error().text.find("gopher"), std::string::npos);
  EXPECT_FALSE(parse_product("rdma://127.0.0.2:4420", "127.0.0.2")) << "both sides need port 4791";
  EXPECT_FALSE(parse_product("rdma://127.0.0.2:4420", "::1"));
  EXPECT_FALSE(parse_product("rdma://127.0.0.2:4420", "eth0"));
  EXPECT_TRUE(parse_product("rdma://127.0.0.2:4420", "127.0.0.3"));
  EXPECT_EQ(parse_product("host:drive --it", "127.0.0.3").value().command, "drive --it");
  EXPECT_FALSE(parse_product("host:", "127.0.0.3"));
  EXPECT_FALSE(parse_product("host:drive", "")) << "the host has to know where to go";
}

TEST(ProductUrl, APortMayBeKnown) {
  const struct {
    const char* text;
    std::uint16_t port;
  } rows[] = {{"tcp://1.2.3.4", 8009},
              {"tcp://[fd00::2]", 8009},
              {"tcp://1.2.3.4/nqn.2014-08.org.nvmexpress.discovery", 8009},
              {"tcp://1.2.3.4/nqn.2026-01.org.example:disk", 4420},
              {"rdma://1.2.3.4", 4420},
              {"tcp://1.2.3.4:4421", 4421}};
  for (const auto& row : rows) {
    const auto url = parse_fabric_url(row.text, UrlPort::known);
    ASSERT_TRUE(url) << row.text;
    EXPECT_EQ(url->to.port, row.port) << row.text;
  }
  for (const char* wrong : {"tcp://", "tcp://1.2.3", "tcp://1.2.3.4:", "tcp:///nqn.2026-01.org.example:disk"}) {
    EXPECT_FALSE(parse_fabric_url(wrong, UrlPort::known)) << wrong;
  }
}

}  // namespace
}  // namespace fb::conformance
