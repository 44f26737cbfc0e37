#include "conformance/report/page.h"

#include <gtest/gtest.h>

#include <zlib.h>

#include <nlohmann/json.hpp>

#include "conformance/report/matrix.h"
#include "conformance/report/page_parts.h"
#include "conformance/report/page_tables.h"
#include "conformance/runner/waivers.h"

namespace fb::conformance {
namespace {

using evidence::Said;

constexpr std::string_view kHostile = "</script><!--<img src=x onerror=alert(1)>&\x80";

const CaseInfo kCase{"connect_refuses", "fabrics.connect.sqsize.minimum", Role::controller, nullptr, {}, ""};

Said arrow(std::int64_t us, std::string label) {
  Said said;
  said.time = Instant::at_ns(us * 1000);
  said.from = "10.0.0.1";
  said.to = "10.0.0.2";
  said.layer = "nvme";
  said.fields = {{"command", label}, {"CID", std::to_string(us)}};
  said.label = std::move(label);
  return said;
}

Said words(std::string layer, std::string label) {
  Said said;
  said.layer = std::move(layer);
  said.label = std::move(label);
  return said;
}

nlohmann::json data_of(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

/// Five characters for four bytes; n bytes at the end have n + 1.
Bytes from_base85(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%()*+,-./:;=?@[]^_{|";
  Bytes bytes;
  for (std::size_t at = 0; at < text.size(); at += 5) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 5; ++i) value = value * 85 + (at + i < text.size() ? kDigits.find(text[at + i]) : 84);
    for (std::size_t i = 0; i < std::min<std::size_t>(5, text.size() - at) - 1; ++i) {
      bytes.push_back(static_cast<std::uint8_t>(value >> (24 - 8 * i)));
    }
  }
  return bytes;
}

/// What pack() made.
nlohmann::json unpacked(const std::string& page, const std::string& name) {
  const std::string begin = "id=\"packed-" + name + "\">";
  const std::size_t from = page.find(begin) + begin.size();
  const Bytes bytes = from_base85(std::string_view(page).substr(from, page.find("</script>", from) - from));
  std::string text(64 << 20, ' ');
  uLongf size = static_cast<uLongf>(text.size());
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(text.data()), &size, bytes.data(), static_cast<uLong>(bytes.size())), Z_OK);
  return nlohmann::json::parse(text.substr(0, size));
}

RunResult hostile_run() {
  RunResult run;
  CaseResult result;
  result.info = &kCase;
  result.transport = "tcp";
  result.verdict = Verdict::fail;
  result.reason = kHostile;
  result.findings = {{std::string(kHostile), {std::string(kHostile)}, std::string(kHostile)}};
  run.cases.push_back(result);
  return run;
}

TEST(Page, HoldsWhateverAProductSaysAsData) {
  const ReportFacts facts{~0ULL, std::string(kHostile), {}, "2026-11-21T00:00:00Z", 0.5};
  const std::string page = page_html(hostile_run(), facts);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("<!--"), std::string::npos);
  const auto data = data_of(page);
  const std::string shown = "</script><!--<img src=x onerror=alert(1)>&\xEF\xBF\xBD";  // what is no UTF-8 is said to be
  EXPECT_EQ(data["dut"], shown);
  EXPECT_EQ(data["cases"][0]["reason"], shown);
  EXPECT_EQ(data["cases"][0]["findings"][0], nlohmann::json::array({shown, {shown}, shown}));
  EXPECT_EQ(data["seed"], "18446744073709551615");
}

TEST(Page, NeedsNothingFromElsewhere) {
  for (const PagePart& part : page_parts()) {
    EXPECT_EQ(part.text.find("src="), std::string_view::npos) << part.name;
    EXPECT_EQ(part.text.find("innerHTML"), std::string_view::npos) << part.name;
    EXPECT_EQ(part.text.find("url("), std::string_view::npos) << part.name;
    // A name, not an address; and what a link that a waiver brings begins with.
    const bool names_svg = part.name == "base.js" || part.name == "case.js";
    EXPECT_EQ(part.text.find("http") != std::string_view::npos && !part.text.starts_with("<!doctype"), names_svg) << part.name;
  }
}

TEST(Page, CarriesTheWholeLedger) {
  const auto data = data_of(page_html(hostile_run(), {}));
  const auto& requirement = data["requirements"][data["cases"][0]["requirement"].get<std::size_t>()];
  EXPECT_EQ(requirement["id"], "fabrics.connect.sqsize.minimum");
  EXPECT_FALSE(requirement["text"].get<std::string>().empty());
}

TEST(Ladder, KeepsBeginFailureAndEndAndCountsTheRest) {
  std::vector<Said> said;
  for (int i = 0; i < 500; ++i) {
    if (i == 250) said.push_back(words("note", "failed: status: Success"));
    said.push_back(arrow(i, "Read"));
    if (i % 10 == 0) said.push_back(words("state", "ready -> resetting"));
  }
  const Ladder ladder = make_ladder(said, 7, {20, 5, 10, 0, false});
  EXPECT_EQ(ladder.rows.size(), 20u + 11u + 10u);
  EXPECT_EQ(ladder.rest, 7u);
  std::uint64_t gaps = 0;
  bool failure = false;
  for (const Ladder::Row& row : ladder.rows) {
    gaps += row.gap;
    failure = failure || ladder.texts[row.label].starts_with(kFailedWords);
  }
  EXPECT_TRUE(failure);
  EXPECT_EQ(gaps, 501u - 41u);
  EXPECT_EQ(ladder.lanes.size(), 2u);
}

TEST(Ladder, CanBeShortenedAndStillCountsAndKeepsTime) {
  std::vector<Said> said;
  for (int i = 0; i < 300; ++i) {
    if (i == 150) said.push_back(words("note", "failed: status"));
    said.push_back(arrow(i, "Read"));
  }
  said[150].time = said[149].time;
  const Ladder whole = make_ladder(said, 3, {1000, 0, 0, 0, true});
  const Ladder less = shortened(whole, {10, 4, 10, 0, true});
  ASSERT_EQ(less.rows.size(), 10u + 9u + 10u);
  std::int64_t end_ns = 0;
  std::uint64_t gaps = 0;
  for (const Ladder::Row& row : less.rows) {
    end_ns += row.wait_ns;
    gaps += row.gap;
  }
  EXPECT_EQ(end_ns, 299'000);
  EXPECT_EQ(gaps, 301u - 29u);
  EXPECT_EQ(less.rest, 3u);
}

TEST(Ladder, KeepsWhatFaultsStruckAndSaysThemOnce) {
  std::vector<Said> said;
  for (int i = 0; i < 300; ++i) {
    if (i == 150) said.push_back(words("fault", "drop packet 150"));
    said.push_back(arrow(i, "Read"));
    if (i == 150) said.back().struck = "drop packet 150; dropped by filter";
  }
  const Ladder ladder = make_ladder(said, 0, {10, 0, 10, 3, true});
  ASSERT_EQ(ladder.rows.size(), 10u + 7u + 10u);
  EXPECT_EQ(ladder.texts[ladder.rows[13].struck], "drop packet 150; dropped by filter");
  for (const Ladder::Row& row : ladder.rows) EXPECT_GE(row.to, 0) << "the fault's own words are left out";
}

TEST(Ladder, KeepsAllOfAShortExchange) {
  const std::vector<Said> said = {words("state", "a -> b"), arrow(1, "Connect"), arrow(2, "Connect")};
  const Ladder ladder = make_ladder(said, 0, kLadderOfPass);
  ASSERT_EQ(ladder.rows.size(), 3u);
  EXPECT_EQ(ladder.rows[0].to, -1);
  EXPECT_EQ(ladder.rows[2].wait_ns, 1000);
  EXPECT_EQ(ladder.rows[1].label, ladder.rows[2].label);
}

TEST(Tables, ShareTextsBetweenCases) {
  PageTables tables;
  const Ladder ladder = make_ladder({arrow(1, "Connect"), arrow(2, "Connect")}, 0, kLadderOfPass);
  const auto first = tables.ladder_json(ladder);
  const auto second = tables.ladder_json(ladder);
  EXPECT_EQ(first, second);
  nlohmann::ordered_json page;
  tables.finish(page);
  EXPECT_EQ(page["shapes"].size(), 1u);
  EXPECT_EQ(page["fields"].size(), 3u);  // nothing, and two that differ in CID
  EXPECT_EQ(std::count(page["text"].begin(), page["text"].end(), "Connect"), 1);
}

TEST(Tables, LeaveOutOfLabelsWhatFieldsHave) {
  PageTables tables;
  const auto numbered = [](std::uint32_t psn) {
    Said one = arrow(psn, "ACK PSN=" + std::to_string(psn));
    one.fields = {{"PSN", std::to_string(psn)}};
    return one;
  };
  // A part of a longer number is no value, and a short one is not worth it.
  Said longer = arrow(7, "ACK PSN=123456");
  longer.fields = {{"PSN", "12345"}};
  Said shorter = arrow(8, "ACK PSN=12");
  shorter.fields = {{"PSN", "12"}};
  const Ladder ladder = make_ladder({numbered(123456), numbered(123457), longer, shorter}, 0, kLadderOfPass);
  (void)tables.ladder_json(ladder);
  nlohmann::ordered_json page;
  tables.finish(page);
  const auto count = [&](const std::string& text) { return std::count(page["text"].begin(), page["text"].end(), text); };
  EXPECT_EQ(count("ACK PSN=\x01"
                  "0"),
            1);
  EXPECT_EQ(count("ACK PSN=123456"), 1);  // the third
  EXPECT_EQ(count("ACK PSN=12"), 1);
}

TEST(Transitions, AreReadFromTheWordsOfTheTrace) {
  TransitionCounts counts;
  counts.see("controller.state", "1: ready -> resetting");
  counts.see("cm.state", "connection 0000abcd: idle -> req_sent (send_req)");
  counts.see("qp.state", "qp 0x000011 INIT -> RTR: path known");
  counts.see("host.state", "idle -> connecting (attempt)");
  counts.see("host.state", "another attempt in 10 s");
  EXPECT_EQ(counts.of("controller.state", "ready", "resetting"), 1u);
  EXPECT_EQ(counts.of("cm.state", "idle", "req_sent"), 1u);
  EXPECT_EQ(counts.of("qp.state", "INIT", "RTR"), 1u);
  EXPECT_EQ(counts.of("host.state", "idle", "connecting"), 1u);
  for (const StateMachine& machine : state_machines()) EXPECT_GE(machine.allowed.size(), 5u) << machine.name;
}

TEST(Edges, CountWhatIsSmallestAndLargest) {
  EdgeCounts counts;
  std::uint8_t sqe[64] = {};
  const auto see = [&](std::uint16_t cid) {
    nvme::sqe::cid.set(sqe, cid);
    counts.see(EdgeFieldId::command_cid, nvme::sqe::cid, sqe);
  };
  for (const unsigned cid : {0u, 0u, 1u, 2u, 0x1234u, 0xFFFDu, 0xFFFEu, 0xFFFFu}) see(static_cast<std::uint16_t>(cid));
  const std::uint64_t expected[] = {2, 1, 1, 1};
  for (std::size_t edge = 0; edge < kEdgesOfField; ++edge) {
    EXPECT_EQ(counts.of(EdgeFieldId::command_cid, edge), expected[edge]) << edge_text(16, edge);
  }
  EXPECT_EQ(edge_text(64, 3), "max (ffffffffffffffffh)");
}

// Whatever a product does: a thousand cases that fail after long exchanges stay below ten megabytes.
TEST(Page, StaysSmallWhenEverythingFails) {
  constexpr std::size_t kCases = 1000, kEvents = 600;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kCases; ++i) names.push_back("case_" + std::to_string(i));
  std::vector<CaseInfo> infos;
  for (const std::string& name : names) infos.push_back({name, kCase.requirement, Role::controller, nullptr, {}, ""});
  Gatherer gathered(true);
  RunResult run;
  for (const CaseInfo& info : infos) {
    const auto watcher = gathered.watch(info, "tcp", "plain");
    for (std::size_t i = 0; i < kEvents; ++i) {
      const std::string text = i == kEvents / 2 ? "failed: status" : std::string(info.name) + " says word number " + std::to_string(i);
      TraceEvent event;
      event.kind = TraceKind::note;
      event.time = Instant::at_ns(static_cast<std::int64_t>(i) * 12'345);
      event.text = text;
      watcher->on_event(event);
    }
    CaseResult result;
    result.info = &info;
    result.transport = "tcp";
    result.verdict = Verdict::fail;
    watcher->finished(result);
    run.cases.push_back(std::move(result));
  }
  const std::string page = page_html(run, {}, &gathered);
  EXPECT_LT(page.size(), 3'000'000u);
  EXPECT_EQ(data_of(page)["count"], kCases);
  EXPECT_EQ(unpacked(page, "list")["cases"].size(), kCases);
  const auto ladders = unpacked(page, "exchange")["ladders"];
  EXPECT_GT(ladders[0]["rows"].get<std::size_t>(), 350u) << "the first ones in full";
  EXPECT_LT(ladders[kCases - 1]["rows"].get<std::size_t>(), 60u);
}

TEST(Matrix, SaysWhichFolderIsWrong) {
  const auto page = matrix_html({"/nonexistent/report"}, "matrix.html");
  ASSERT_FALSE(page);
  EXPECT_NE(page.error().text.find("/nonexistent/report"), std::string::npos);
}

}  // namespace
}  // namespace fb::conformance
