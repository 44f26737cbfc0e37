// The requester against an endpoint that a test plays by hand.
#include <gtest/gtest.h>

#include <set>

#include "tests/model/mi/rig.h"

namespace fb::mi {
namespace {

using test::kDriveEid;
using test::Rig;
using test::RigOptions;

/// Answers each request with what `answer` makes of it; nothing: silence.
struct Played final : mctp::MessageHandler {
  explicit Played(Rig& in) : rig(in) { rig.drive_end.set_handler(mctp::MessageType::nvme_mi, this, 65536); }
  ~Played() { rig.drive_end.set_handler(mctp::MessageType::nvme_mi, nullptr, 0); }
  void on_message(const mctp::Incoming& message) override {
    requests.emplace_back(message.body.begin(), message.body.end());
    tags.push_back(message.tag.value);
    for (Bytes& reply : answer(ByteView{message.body})) {
      rig.drive_end.send(
          {.destination = message.source, .to = {}, .source = 0, .tag = {message.tag.value, false}, .unit = 64, .body = std::move(reply)});
    }
  }
  Rig& rig;
  std::vector<Bytes> requests;
  std::vector<unsigned> tags;
  std::function<std::vector<Bytes>(ByteView)> answer;
};

Bytes checked(Bytes body) {
  append_mic(body);
  return body;
}
Bytes checked(const char* hex) { return checked(from_hex(hex)); }

struct Wrong {
  const char* rule;
  Bytes answer;
};

std::vector<Wrong> wrong_answers() {
  Bytes mic = checked("8488000000000000");
  mic.back() ^= 1;
  return {
      {"response.size.minimum", checked("84880000000000")},
      {"response.size.minimum", {}},
      {"response.mic", mic},
      {"response.type", checked("0488000000000000")},
      {"response.direction", checked("8408000000000000")},
      {"response.kind", checked("8490000000000000")},
      {"response.slot", checked("8489000000000000")},
      {"response.header.reserved", checked("8488000100000000")},
      {"response.header.reserved", checked("848c000000000000")},
      {"response.status", checked("8488000009000000")},
      {"response.size.error", checked("848800000300000000000000")},
      {"response.error.reserved", checked("8488000003000100")},
  };
}

TEST(Requester, WhatIsWrongWithAnAnswer) {
  Rig rig;
  Played played(rig);
  for (const Wrong& entry : wrong_answers()) {
    if (entry.answer.empty()) continue;
    played.answer = [&](ByteView) { return std::vector<Bytes>{entry.answer}; };
    const Reply reply = rig.requester.command(kDriveEid, Opcode::configuration_get, 2).wait();
    EXPECT_EQ(reply.outcome, Outcome::violation) << entry.rule;
    ASSERT_TRUE(reply.violation) << entry.rule;
    EXPECT_EQ(reply.violation->rule, entry.rule);
    EXPECT_FALSE(reply.ok());
  }
  played.answer = [](ByteView) { return std::vector<Bytes>{checked("8488000000000000")}; };
  EXPECT_TRUE(rig.requester.command(kDriveEid, Opcode::configuration_get, 2).wait().ok()) << "and it goes on";
}

TEST(Requester, PrimitivesHaveOneForm) {
  Rig rig;
  Played played(rig);
  std::uint8_t wrong = 1;
  std::size_t extra = 0;
  played.answer = [&](ByteView request) {
    Bytes body = from_hex("8480000000000000");
    body[5] = static_cast<std::uint8_t>(request[5] + wrong);
    body.resize(body.size() + extra);
    return std::vector<Bytes>{checked(body)};
  };
  EXPECT_EQ(rig.requester.primitive(kDriveEid, Primitive::pause).wait().violation->rule, "response.primitive.tag");
  wrong = 0;
  extra = 4;
  EXPECT_EQ(rig.requester.primitive(kDriveEid, Primitive::pause).wait().violation->rule, "response.primitive.size");
}

TEST(Requester, AdminAnswersHaveACompletion) {
  Rig rig;
  Played played(rig);
  played.answer = [](ByteView) { return std::vector<Bytes>{checked("8490000000000000")}; };
  const auto page = rig.requester.identify(kDriveEid, 1, nvme::Cns::controller).wait();
  EXPECT_EQ(page.reply.violation->rule, "response.size.success");
  played.answer = [](ByteView) {
    return std::vector<Bytes>{checked(Bytes{0x84, 0x90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})};
  };
  EXPECT_EQ(rig.requester.identify(kDriveEid, 1, nvme::Cns::controller).wait().reply.violation->rule, "admin.data.size");
}

TEST(Requester, DataStructuresThatLie) {
  Rig rig;
  Played played(rig);
  const auto violation = [&](const char* hex, auto call) {
    played.answer = [hex](ByteView) { return std::vector<Bytes>{checked(hex)}; };
    const auto answer = call();
    EXPECT_FALSE(answer.ok()) << hex;
    return answer.reply.violation ? std::string(answer.reply.violation->rule) : std::string("none");
  };
  const auto list = [&] { return rig.requester.read_controllers(kDriveEid, 1).wait(); };
  EXPECT_EQ(violation("8488000000060000"
                      "030001000200",
                      list),
            "controller_list.count");
  EXPECT_EQ(violation("8488000000060000"
                      "020002000100",
                      list),
            "controller_list.order");
  EXPECT_EQ(violation("8488000000060000"
                      "020001000100",
                      list),
            "controller_list.order");
  EXPECT_EQ(violation("8488000000040000"
                      "01000000",
                      list),
            "controller_list.order");
  EXPECT_EQ(violation("8488000000080000"
                      "01000100",
                      list),
            "data_structure.length");
  EXPECT_EQ(violation("8488000000000000"
                      "00",
                      [&] { return rig.requester.poll_subsystem(kDriveEid).wait(); }),
            "subsystem_poll.size");
  EXPECT_EQ(violation("8488000000000200"
                      "00",
                      [&] { return rig.requester.poll_controllers(kDriveEid, {}).wait(); }),
            "controller_poll.entries");
  const std::string info =
      "8488000000200000"
      "0002000000" +
      std::string(52, '0') + "01";
  EXPECT_EQ(violation(info.c_str(), [&] { return rig.requester.read_subsystem(kDriveEid).wait(); }), "data_structure.reserved");
  EXPECT_EQ(violation("8488000000000000"
                      "0102",
                      [&] { return rig.requester.read_vpd(kDriveEid, 0, 4).wait(); }),
            "vpd_read.size");
}

TEST(Requester, SilenceAndLateAnswers) {
  Rig rig;
  Played played(rig);
  played.answer = [](ByteView) { return std::vector<Bytes>{}; };
  const Instant before = rig.world.now();
  const Reply reply = rig.requester.command(kDriveEid, Opcode::configuration_get, 2).wait();
  EXPECT_EQ(reply.outcome, Outcome::timed_out);
  EXPECT_EQ((rig.world.now() - before).count_ms(), 5000);
  // What comes now belongs to nobody.
  rig.drive_end.send(
      {.destination = 8, .to = {}, .source = 0, .tag = {reply.tag.value, false}, .unit = 64, .body = checked("8488000000000000")});
  rig.world.run_for(Duration::ms(10));
  EXPECT_EQ(rig.requester.strays(), 0u) << "the port knows that already";
}

TEST(Requester, MoreProcessingRequired) {
  Rig rig;
  Played played(rig);
  std::vector<Bytes> answers = {checked("8488000001000a00")};
  played.answer = [&](ByteView) { return answers; };
  Instant before = rig.world.now();
  Reply reply = rig.requester.command(kDriveEid, Opcode::configuration_get, 2).wait();
  EXPECT_EQ(reply.outcome, Outcome::timed_out);
  EXPECT_EQ(reply.more_processing, 1u);
  EXPECT_EQ((rig.world.now() - before).count_ms(), 6000) << "what it asked for, and the usual time";
  answers.push_back(checked("8488000000000000"));
  reply = rig.requester.command(kDriveEid, Opcode::configuration_get, 2).wait();
  EXPECT_TRUE(reply.ok());
  EXPECT_EQ(reply.more_processing, 1u);
  EXPECT_EQ(reply.more_time, 10u);
  answers.insert(answers.begin(), checked("8488000001000a00"));
  reply = rig.requester.command(kDriveEid, Opcode::configuration_get, 2).wait();
  EXPECT_EQ(reply.violation->rule, "response.more_processing.once");
  rig.world.run_for(Duration::ms(1));  // what else it sent belongs to nobody
  answers = {checked("8488000001000000")};
  before = rig.world.now();
  (void)rig.requester.command(kDriveEid, Opcode::configuration_get, 2).wait();
  EXPECT_EQ((rig.world.now() - before).count_ms(), 10000) << "no estimate: the usual time again";
  answers = {checked("849000000100010000000000"
                     "0000000000000000"),
             checked("8490000003000000")};
  EXPECT_EQ(rig.requester.identify(kDriveEid, 1, nvme::Cns::controller).wait().reply.status(), Status::invalid_opcode)
      << "two drives send it as long as an Admin response";
}

TEST(Requester, CommandsToOneSlotWaitTheirTurn) {
  Rig rig;
  Played played(rig);
  played.answer = [](ByteView) { return std::vector<Bytes>{}; };
  auto first = rig.requester.command(kDriveEid, Opcode::configuration_get, 2);
  auto second = rig.requester.command(kDriveEid, Opcode::configuration_get, 2);
  auto other = rig.requester.command(kDriveEid, Opcode::configuration_get, 2, 0, {}, {.slot = 1});
  auto state = rig.requester.primitive(kDriveEid, Primitive::get_state);
  rig.world.run_for(Duration::ms(1));
  EXPECT_EQ(played.requests.size(), 3u);
  EXPECT_EQ(std::set<unsigned>(played.tags.begin(), played.tags.end()).size(), 3u) << "each with a tag of its own";
  (void)first.wait();
  rig.world.run_for(Duration::ms(1));
  EXPECT_EQ(played.requests.size(), 4u);
  (void)second.wait();
}

TEST(Requester, MoreThanEightWaitForATag) {
  Rig rig;
  Played played(rig);
  played.answer = [](ByteView) { return std::vector<Bytes>{}; };
  std::vector<Op<Reply>> ops;
  for (int i = 0; i < 12; ++i) ops.push_back(rig.requester.primitive(kDriveEid, Primitive::get_state));
  rig.world.run_for(Duration::ms(1));
  EXPECT_EQ(played.requests.size(), 8u);
  for (auto& op : ops) EXPECT_EQ(op.wait().outcome, Outcome::timed_out);
  EXPECT_EQ(played.requests.size(), 12u);
}

TEST(Requester, GoesAwayWithRequestsUnderWay) {
  auto rig = std::make_unique<Rig>();
  Op<Reply> op = rig->requester.command(kDriveEid, Opcode::vpd_read, 0, 16);
  auto log = rig->requester.get_log(kDriveEid, 1, 2, 512, nvme::kAllNamespaces, 4);
  rig.reset();
  EXPECT_FALSE(op.settled());
}

TEST(Requester, RawBytesAndWhatComesBack) {
  Rig rig;
  const auto answers = rig.requester
                           .send_raw({.peer = kDriveEid,
                                      .to = {},
                                      .message = checked("84080000"
                                                         "00000000"
                                                         "00000000"
                                                         "00000000"),
                                      .tag = {}})
                           .wait();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].size(), 44u);
  EXPECT_TRUE(rig.requester.send_raw({.peer = kDriveEid, .to = {}, .message = {0x84}, .tag = {}}).wait().empty());
}

// Twice the same is the same to the last event.
TEST(Requester, RunsAreReproducible) {
  const auto run = [] {
    RigOptions options;
    options.timing = true;
    options.endpoint.latency = Duration::ms(3);
    Rig rig(options);
    auto a = rig.requester.get_log(kDriveEid, 1, 2, 512);
    auto b = rig.requester.command(kDriveEid, Opcode::vpd_read, 0, 256, {}, {.slot = 1});
    (void)a.wait();
    (void)b.wait();
    rig.disk.set_temperature(350);
    (void)rig.requester.poll_subsystem(kDriveEid).wait();
    (void)rig.requester.reset_subsystem(kDriveEid).wait();
    return rig.world.digest();
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace fb::mi
