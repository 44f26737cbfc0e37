// Programs that drive hosts: what they may say, and what becomes of those that say something else, end or do not end.
#include "conformance/runner/driven_host.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/result.h"
#include "conformance/runner/check.h"

namespace fb::conformance {
namespace {

/// A shell program that says hello, and then does `rest`.
std::string after_hello(std::string_view can, std::string_view rest) {
  return "read hello; echo '{\"id\":0,\"ok\":true,\"name\":\"test\",\"can\":" + std::string(can) + "}'; " + std::string(rest);
}

struct Driven {
  explicit Driven(const std::string& command) : host(*world, command, "tcp", connect) {}
  std::unique_ptr<World> world = World::make_real(1);
  host::ConnectOptions connect;
  DrivenHost host;
};

std::string why_not(const std::string& command) {
  try {
    Driven driven(command);
  } catch (const UserError& error) {
    return error.what();
  }
  return "it is taken";
}

TEST(DrivenHost, SaysWhoItIs) {
  Driven driven(after_hello(R"(["connect","dhchap"])", "cat >/dev/null"));
  EXPECT_EQ(driven.host.hello().name, "test");
  EXPECT_EQ(driven.host.hello().can, (std::vector<std::string>{"connect", "dhchap"}));
  EXPECT_FALSE(driven.host.joins_paths());
  EXPECT_TRUE(driven.host.why_gone().empty());
}

TEST(DrivenHost, IsRefusedWithAReason) {
  EXPECT_EQ(why_not("read hello; echo '{\"id\":0,\"ok\":false,\"text\":\"no nvme-cli\"}'; cat >/dev/null"),
            "the host's program: there is no host: no nvme-cli");
  EXPECT_EQ(why_not("exit 3"), "the host's program: it has ended with exit code 3");
  EXPECT_EQ(why_not("kill -9 $$"), "the host's program: it was ended by signal 9");
  EXPECT_EQ(why_not("echo hello world; cat >/dev/null"), "the host's program: it says what answers no request: hello world");
  EXPECT_EQ(why_not("read hello; echo '{\"id\":0,\"ok\":1}'; cat >/dev/null"),
            "the host's program: its answer has members of other types: {\"id\":0,\"ok\":1}");
  EXPECT_EQ(why_not(after_hello(R"(["connect","tls"])", "cat >/dev/null")),
            "the host's program: it can do 'tls', and names no 'hostnqn', which keys are for");
  EXPECT_EQ(why_not("echo '{\"id\":7,\"ok\":true}'; cat >/dev/null"),
            "the host's program: it says what answers no request: {\"id\":7,\"ok\":true}");
}

TEST(DrivenHost, IsAskedForNothingThatItDoesNotKnow) {
  Driven driven(after_hello(R"(["connect"])", "cat >/dev/null"));
  EXPECT_THROW(driven.host.reset(), NotOffered);
  EXPECT_THROW(driven.host.flush(1), NotOffered);
}

TEST(DrivenHost, AnswersInAnyOrder) {
  Driven driven(after_hello(R"(["reset","discover"])",
                            "read a; read b; echo '{\"id\":2,\"ok\":true}'; "
                            "echo '{\"id\":1,\"ok\":false,\"text\":\"busy\",\"sct\":1,\"sc\":2}'; cat >/dev/null"));
  Op<HostOutcome> first = driven.host.reset();
  Op<HostOutcome> second = driven.host.discover();
  EXPECT_TRUE(second.wait().ok);
  const HostOutcome outcome = first.wait();
  EXPECT_FALSE(outcome.ok);
  EXPECT_EQ(outcome.text, "busy");
  EXPECT_EQ(outcome.status, nvme::Status::make(1, 2));
}

TEST(DrivenHost, IsToldWhereToConnect) {
  // It answers with what it was told.
  Driven driven(after_hello(R"(["connect"])",
                            "read asked; echo \"{\\\"id\\\":1,\\\"ok\\\":false,\\\"text\\\":\\\"$(echo \"$asked\" | tr -d '\"')\\\"}\"; "
                            "cat >/dev/null"));
  driven.connect.to = {IpAddress::v4(192, 0, 2, 1), 4420};
  driven.connect.subnqn = "nqn.2026-11.org.example:x";
  driven.connect.disable_sq_flow_control = true;
  HostUnderTest::Request request;
  request.io_queues = 3;
  const HostOutcome told = driven.host.connect(request).wait();
  EXPECT_EQ(told.text,
            "{disable_sqflow:true,do:connect,id:1,io_queues:3,kato_ms:5000,queue_entries:128,"
            "subnqn:nqn.2026-11.org.example:x,traddr:192.0.2.1,trsvcid:4420}");
}

TEST(DrivenHost, IsToldItsKey) {
  const std::string key = "NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:";
  const auto world = World::make_real(1);
  host::ConnectOptions connect;
  connect.to = {IpAddress::v4(192, 0, 2, 1), 4420};
  connect.subnqn = "nqn.2026-11.org.example:x";
  DrivenHost host(*world,
                  "read hello; echo '{\"id\":0,\"ok\":true,\"can\":[\"connect\",\"tls\"],\"hostnqn\":\"nqn.2026-11.org.example:h\"}'; "
                  "for id in 1 2; do read asked; "
                  "echo \"{\\\"id\\\":$id,\\\"ok\\\":false,\\\"text\\\":\\\"$(echo \"$asked\" | tr -d '\"')\\\"}\"; done; cat >/dev/null",
                  "tcp", connect,
                  {.keys = auth::PskStore::parse("nqn.2026-11.org.example:h nqn.2026-11.org.example:x " + key, "test").value()});
  EXPECT_EQ(host.hostnqn(), "nqn.2026-11.org.example:h");
  EXPECT_EQ(host.connect({}).wait().text.find("tls_key"), std::string::npos) << "not unless it is asked for";
  connect.tls = host::TlsUse::always;
  EXPECT_NE(host.connect({}).wait().text.find("tls_key:" + key), std::string::npos);
  connect.subnqn = "nqn.2026-11.org.example:other";
  EXPECT_THROW(host.connect({}), CannotArrange);
}

TEST(DrivenHost, ReadsAndWrites) {
  Driven driven(after_hello(R"(["read","write"])",
                            "read a; echo '{\"id\":1,\"ok\":true,\"data\":\"0a0B\"}'; read b; "
                            "echo '{\"id\":2,\"ok\":false}'; read c; echo '{\"id\":3,\"ok\":true,\"data\":\"0a\"}'; cat >/dev/null"));
  Bytes data(2);
  EXPECT_TRUE(driven.host.read(1, 0, data).wait().ok());
  EXPECT_EQ(data, (Bytes{0x0A, 0x0B}));
  EXPECT_EQ(driven.host.write(1, 0, data).wait(), HostUnderTest::kUntold);
  EXPECT_EQ(driven.host.read(1, 0, data).wait(), HostUnderTest::kUntold);
  EXPECT_EQ(driven.host.why_gone(), "it has read 1 bytes where 2 were asked for");
}

TEST(DrivenHost, IsNotBelievedAfterNonsense) {
  Driven driven(after_hello(R"(["flush"])", "read a; read b; echo '{\"id\":2,\"ok\":\"yes\"}'; cat >/dev/null"));
  Op<nvme::Status> first = driven.host.flush(1), second = driven.host.flush(1);
  EXPECT_EQ(second.wait(), HostUnderTest::kUntold);
  EXPECT_EQ(first.wait(), HostUnderTest::kUntold);
  EXPECT_TRUE(driven.host.why_gone().starts_with("its answer has members of other types"));
}

TEST(DrivenHost, ThatEndsAnswersWhatIsOpen) {
  Driven driven(after_hello(R"(["connect","flush"])", "read asked; exit 1"));
  Op<HostOutcome> connecting = driven.host.connect({});
  const HostOutcome outcome = connecting.wait();
  EXPECT_FALSE(outcome.ok);
  EXPECT_EQ(outcome.text, "the host's program: it has ended with exit code 1");
  EXPECT_EQ(driven.host.flush(1).wait(), HostUnderTest::kUntold) << "and what comes later";
  EXPECT_EQ(driven.host.why_gone(), "it has ended with exit code 1");
}

struct Lines final : DriverListener {
  void on_line(std::string_view line) override { said.emplace_back(line); }
  void on_end(const std::string& why) override { end = why; }
  std::vector<std::string> said;
  std::string end;
};

TEST(DriverProcess, TakesLongLinesWhileNobodyReads) {
  const auto world = World::make_real(1);
  Lines lines;
  DriverProcess process(*world, "sleep 0.05; cat", lines);
  const std::string longest(1 << 20, 'x');
  for (int i = 0; i < 4; ++i) process.send(longest + std::to_string(i));
  EXPECT_TRUE(world->run_until([&] { return lines.said.size() == 4; }, Duration::s(10)));
  EXPECT_EQ(lines.said.back(), longest + "3");
  EXPECT_TRUE(process.end(Duration::s(10)));
  EXPECT_EQ(lines.end, "it has ended with exit code 0");
}

TEST(DriverProcess, ThatDoesNotEndIsEnded) {
  const auto world = World::make_real(1);
  Lines lines;
  const auto start = std::chrono::steady_clock::now();
  {
    DriverProcess process(*world, "sleep 100 & wait", lines);
    EXPECT_FALSE(process.end(Duration::ms(30)));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(50));
}

TEST(DriverProcess, SendsNothingToWhoIsGone) {
  const auto world = World::make_real(1);
  Lines lines;
  DriverProcess process(*world, "exit 0", lines);
  world->run_until([&] { return !lines.end.empty(); }, Duration::s(10));
  process.send("hello");  // no signal ends the test
  EXPECT_EQ(lines.end, "it has ended with exit code 0");
}

}  // namespace
}  // namespace fb::conformance
