#include "cli/drive/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/drive/refused.h"

namespace fb::drive {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

std::vector<std::string> all(Lines& lines) {
  std::vector<std::string> got;
  while (const auto line = lines.next()) got.push_back(*line);
  return got;
}

TEST(Lines, AreTheSameHoweverTheyArrive) {
  const std::string text = "one\n\ntwo\nthree";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    Lines lines;
    std::vector<std::string> got;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      lines.hear(std::string_view(text).substr(at, piece));
      for (const std::string& line : all(lines)) got.push_back(line);
    }
    EXPECT_THAT(got, ElementsAre("one", "", "two")) << piece;
  }
}

TEST(Lines, OneThatIsTooLongIsNone) {
  Lines lines;
  lines.hear(std::string(Lines::kLineMax, 'x'));
  EXPECT_TRUE(all(lines).empty());
  EXPECT_FALSE(lines.endless());
  lines.hear("x");
  EXPECT_TRUE(all(lines).empty());
  EXPECT_TRUE(lines.endless());
}

TEST(Lines, ManyAreNoLongOne) {
  Lines lines;
  for (int n = 0; n < 3; ++n) {
    lines.hear(std::string(Lines::kLineMax / 2, 'x') + "\n");
    EXPECT_EQ(all(lines).size(), 1u);
    EXPECT_FALSE(lines.endless());
  }
}

TEST(Request, HasANumberAndAWord) {
  const auto request = request_of(R"({"id":7,"do":"read","nsid":1})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->id, 7u);
  EXPECT_EQ(request->what, "read");
  EXPECT_EQ(request->body["nsid"], 1);
  EXPECT_EQ(request_of(R"({"id":7})")->what, "");
  EXPECT_EQ(request_of(R"({"id":7,"do":[]})")->what, "");
}

TEST(Request, WithoutANumberCannotBeAnswered) {
  const std::string deep = R"({"id":)" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}";
  for (const std::string line : {"", "{", "7", "[]", "null", R"({"do":"read"})", R"({"id":"7","do":"read"})", R"({"id":-7})",
                                 R"({"id":7.5})", R"({"id":null})", deep.c_str()}) {
    EXPECT_FALSE(request_of(line)) << line.substr(0, 40);
  }
}

TEST(Hello, NamesTheBench) {
  const Bench bench = bench_of({{"transport", "tcp"}, {"traddr", "::1"}, {"trsvcid", 4420}});
  EXPECT_EQ(bench.trsvcid, "4420");
  EXPECT_EQ(bench_of({{"transport", "rdma"}, {"traddr", "::1"}, {"trsvcid", "4420"}}).trsvcid, "4420");
  EXPECT_THROW(bench_of({{"transport", "fc"}, {"traddr", "::1"}, {"trsvcid", 4420}}), Refused);
  EXPECT_THROW(bench_of({{"transport", "tcp"}, {"traddr", "::1"}}), json::exception);
  EXPECT_THROW(bench_of({{"transport", "tcp"}, {"traddr", "::1"}, {"trsvcid", json::array()}}), json::exception);
}

TEST(Connect, IsNvmeClisCommand) {
  const Bench bench{"tcp", "192.0.2.8", "4420"};
  EXPECT_THAT(connect_words({{"subnqn", "nqn.x"}}, bench),
              ElementsAre("connect", "--output-format=json", "--transport=tcp", "--traddr=192.0.2.8", "--trsvcid=4420", "--nqn=nqn.x",
                          "--duplicate-connect", "--reconnect-delay=1", "--ctrl-loss-tmo=10"));
  const auto words = connect_words({{"subnqn", "nqn.x"},
                                    {"traddr", "192.0.2.9"},
                                    {"trsvcid", 4421},
                                    {"io_queues", 2},
                                    {"queue_entries", 32},
                                    {"kato_ms", 5001},
                                    {"hdr_digest", true},
                                    {"data_digest", false},
                                    {"dhchap_secret", "DHHC-1:00:x:"}},
                                   bench);
  for (const char* const word : {"--traddr=192.0.2.9", "--trsvcid=4421", "--nr-io-queues=2", "--queue-size=32", "--keep-alive-tmo=6",
                                 "--hdr-digest", "--dhchap-secret=DHHC-1:00:x:"}) {
    EXPECT_THAT(words, Contains(word));
  }
  EXPECT_THAT(words, Not(Contains("--data-digest")));
  EXPECT_THAT(connect_words({{"subnqn", "nqn.x"}, {"kato_ms", 0}}, bench), Not(Contains("--keep-alive-tmo=0")));
}

TEST(Connect, AnEmptyValueIsNoFlag) {
  const Bench bench{"tcp", "192.0.2.8", "4420"};
  const auto words = connect_words({{"subnqn", ""}, {"traddr", ""}}, bench);
  EXPECT_THAT(words, Contains("--nqn="));
  EXPECT_THAT(words, Contains("--traddr="));
}

TEST(Connect, IsTheKernelsLineWithTls) {
  const Bench bench{"tcp", "192.0.2.8", "4420"};
  const Name name{"nqn.host", "0f-0f"};
  EXPECT_EQ(connect_line({{"subnqn", "nqn.x"}, {"io_queues", 2}, {"kato_ms", 5000}, {"hdr_digest", true}}, bench, name),
            "transport=tcp,traddr=192.0.2.8,trsvcid=4420,nqn=nqn.x,duplicate_connect,reconnect_delay=1,ctrl_loss_tmo=10,"
            "nr_io_queues=2,keep_alive_tmo=5,hdr_digest,hostnqn=nqn.host,hostid=0f-0f,tls");
  for (const char* const subnqn : {"nqn.x,hostnqn=nqn.y", "nqn.x\nnqn=nqn.y"}) {
    EXPECT_THROW(connect_line({{"subnqn", subnqn}}, bench, name), Refused) << "one value is no other option";
  }
}

TEST(Connect, RefusesOtherTypes) {
  const Bench bench{"tcp", "192.0.2.8", "4420"};
  for (const json& wrong : {json{{"subnqn", 7}}, json::object(), json{{"subnqn", "n"}, {"io_queues", json::array()}},
                            json{{"subnqn", "n"}, {"hdr_digest", "yes"}}, json{{"subnqn", "n"}, {"kato_ms", "long"}}}) {
    EXPECT_THROW(connect_words(wrong, bench), json::exception) << wrong;
  }
}

TEST(Outcome, IsWhatBecameOfTheWork) {
  EXPECT_EQ(outcome_of([] { return json{{"data", "00"}}; }), (json{{"ok", true}, {"data", "00"}}));
  EXPECT_EQ(outcome_of([]() -> json { throw Refused("no"); }), (json{{"ok", false}, {"text", "no"}}));
  EXPECT_EQ(outcome_of([]() -> json { throw Refused("no", 1, 0x80); }), (json{{"ok", false}, {"text", "no"}, {"sct", 1}, {"sc", 0x80}}));
  EXPECT_EQ(outcome_of([]() -> json { throw std::runtime_error("broken"); }), (json{{"ok", false}, {"text", "broken"}}));
}

TEST(Outcome, IsOneLineWhateverAProgramSaid) {
  const std::string line = to_line(refusal("two\nlines \xff"));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_TRUE(json::parse(line)["text"].get<std::string>().starts_with("two\nlines "));
}

}  // namespace
}  // namespace fb::drive
