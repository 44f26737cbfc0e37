#include "sim/mctp/serial_fd.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sim/mctp/network.h"

namespace fb::mctp {
namespace {

struct Inbox final : MessageHandler {
  void on_message(const Incoming& message) override { bodies.emplace_back(message.body.begin(), message.body.end()); }
  void on_sent(SendId, bool delivered) override { sent.push_back(delivered); }
  std::vector<Bytes> bodies;
  std::vector<bool> sent;
};

DeviceOptions drive() {
  DeviceOptions device;
  device.types = {{0x04, {{0xF1, 0xF2, 0xFF, 0}}}};
  return device;
}

// An owner and a device on two bindings: EID, types, and a long message whose bytes all need escaping.
void expect_conversation(World& world, Binding& left, Binding& right) {
  SimpleDevice owner(world, left, {}, {.name = "owner", .eid = 8});
  // A process on a busy machine stands still for longer than others wait for the next packet of a message.
  SimpleDevice device(world, right, drive(), {.name = "device", .reassembles_as_linux = true});
  auto& requester = owner.control().requester();
  const auto set = requester.ask({kNullEid, {}}, control::Command::set_endpoint_id, {0, 9}).wait();
  ASSERT_TRUE(set.ok());
  EXPECT_EQ(device.endpoint().eid(), 9);
  const auto types = requester.ask({9, {}}, control::Command::get_message_type_support).wait();
  EXPECT_EQ(to_hex(types.data()), "0104");
  Inbox at_owner, at_device;
  owner.endpoint().set_handler(MessageType::nvme_mi, &at_owner, 4224);
  device.endpoint().set_handler(MessageType::nvme_mi, &at_device, 4224);
  Outgoing out;
  out.destination = 9;
  out.tag = {0, true};
  out.body = Bytes(4224, serial::kFlag);
  out.body[0] = 0x84;
  owner.endpoint().send(out);
  world.run_until([&] { return !at_device.bodies.empty(); }, Duration::s(10));
  ASSERT_EQ(at_device.bodies.size(), 1u);
  EXPECT_EQ(at_device.bodies[0], out.body);
  world.run_until([&] { return !at_owner.sent.empty(); }, Duration::s(10));
  EXPECT_EQ(at_owner.sent, std::vector<bool>{true});
}

TEST(SerialFd, OverASocketPair) {
  const auto world = World::make_real(1);
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  SerialFd left(*world, ends[0]);
  SerialFd right(*world, ends[1]);
  expect_conversation(*world, left, right);
  EXPECT_EQ(right.counters().all_faults(), 0u);
}

// 66 packets of 64 bytes, each byte of them escaped: no faster than the line.
TEST(SerialFd, APacedOneTakesItsTime) {
  const auto world = World::make_real(1);
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  SerialFd left(*world, ends[0], {.baud = 921'600, .paced = true});
  SerialFd right(*world, ends[1]);
  const Instant begin = world->now();
  expect_conversation(*world, left, right);
  const std::int64_t least_ms = 66 * (2 * 64 + 10) * 10 * 1000 / 921'600;
  EXPECT_GE((world->now() - begin).count_ms(), least_ms);
}

TEST(SerialFd, OverAPseudoTerminal) {
  const auto world = World::make_real(1);
  auto left = SerialFd::open_pty(*world);
  if (!left) GTEST_SKIP() << left.error().text;
  auto right = SerialFd::open(*world, (*left)->peer_path());
  ASSERT_TRUE(right.ok()) << right.error().text;
  expect_conversation(*world, **left, **right);
}

TEST(SerialFd, OverAListeningSocket) {
  const auto world = World::make_real(1);
  char folder[] = "/tmp/mctp_serial_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/line";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  const int listening = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listening, 1), 0);
  auto left = SerialFd::open(*world, path);
  ASSERT_TRUE(left.ok()) << left.error().text;
  SerialFd right(*world, accept(listening, nullptr, nullptr));
  expect_conversation(*world, **left, right);
  close(listening);
  unlink(path.c_str());
  rmdir(folder);
}

TEST(SerialFd, NoiseIsPassedOver) {
  const auto world = World::make_real(1);
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  SerialFd left(*world, ends[0]);
  SerialFd right(*world, ends[1]);
  left.send_frame(from_hex("00ff7e02017e0105aabbcc7e"));
  world->run_until([&] { return right.counters().bytes == 12; }, Duration::s(5));
  EXPECT_EQ(right.counters().all_faults(), 2u);
  world->run_for(Duration::ms(2));
  expect_conversation(*world, left, right);
}

TEST(SerialFd, WhenTheOtherSideGoes) {
  const auto world = World::make_real(1);
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  SerialFd left(*world, ends[0]);
  SimpleDevice owner(*world, left, {}, {.name = "owner", .eid = 8});
  close(ends[1]);
  world->run_until([&] { return left.hung_up(); }, Duration::s(5));
  EXPECT_TRUE(left.hung_up());
  const auto reply = owner.control().requester().ask({9, {}}, control::Command::get_endpoint_id).wait();
  EXPECT_EQ(reply.end, ControlEnd::not_delivered);
}

TEST(SerialFd, ProblemsNameThePath) {
  const auto world = World::make_real(1);
  const auto none = SerialFd::open(*world, "/nonexistent/tty");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().text, "/nonexistent/tty: cannot open: No such file or directory");
  const auto rate = SerialFd::open(*world, "/dev/null", {.baud = 12345});
  ASSERT_FALSE(rate.ok());
  EXPECT_EQ(rate.error().text, "/dev/null: 12345 baud is no rate that is known");
}

}  // namespace
}  // namespace fb::mctp
