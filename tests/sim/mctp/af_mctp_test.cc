#include "sim/mctp/af_mctp.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "wire/mctp/kernel.h"

namespace fb::mctp {
namespace {

// What the header of Linux says of the structures.
static_assert(kernel::Address::size == 12 && kernel::TagControl::size == 4 && kernel::TagControl2::size == 12);

// A kernel with MCTP: sockets are event descriptors, so that the loop hears of what is put into them.
struct FakeKernel final : KernelCalls {
  int open_socket() override {
    if (refuses != 0) return -refuses;
    const int fd = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
    inbox[fd];
    return fd;
  }
  int bind_to(int, ByteView address) override {
    bound.push_back(to_hex(address));
    return bind_result;
  }
  ssize_t send_to(int fd, ByteView address, ByteView payload) override {
    last_fd = fd;
    sent.push_back(to_hex(address) + ":" + to_hex(payload));
    return send_result < 0 ? send_result : static_cast<ssize_t>(payload.size());
  }
  ssize_t receive(int fd, MutableBytes address, MutableBytes payload) override {
    auto& box = inbox[fd];
    if (box.empty()) return -EAGAIN;
    std::uint64_t count = 0;
    EXPECT_EQ(read(fd, &count, sizeof count), 8);
    const auto [from, bytes] = box.front();
    box.erase(box.begin());
    std::copy(from.begin(), from.end(), address.begin());
    std::copy(bytes.begin(), bytes.end(), payload.begin());
    return static_cast<ssize_t>(bytes.size());
  }
  int control(int, unsigned long request, MutableBytes argument) override {
    requests.push_back(request);
    if (request == kernel::kAllocTag2) {
      if (old_kernel) return -EINVAL;
      if (tag_result < 0) return tag_result;
      MutableView<kernel::TagControl2>{argument}.set(kernel::tag_control2::tag, 0x18 | next_tag++);
    }
    if (request == kernel::kAllocTag) {
      MutableView<kernel::TagControl>{argument}.set(kernel::tag_control::tag, 0x18 | next_tag++);
    }
    return 0;
  }
  void close_socket(int fd) override {
    inbox.erase(fd);
    close(fd);
  }
  void arrive(int fd, Eid from, std::uint8_t type, std::uint8_t tag, Bytes payload) {
    Record<kernel::Address> address;
    address.set(kernel::address::family, std::uint16_t{45})
        .set(kernel::address::network, 1u)
        .set(kernel::address::eid, from)
        .set(kernel::address::type, type)
        .set(kernel::address::tag, tag);
    inbox[fd].push_back({Bytes(address.bytes().begin(), address.bytes().end()), std::move(payload)});
    const std::uint64_t one = 1;
    EXPECT_EQ(write(fd, &one, sizeof one), 8);
  }
  int refuses = 0;
  int bind_result = 0;
  int send_result = 0;
  int tag_result = 0;
  bool old_kernel = false;
  std::uint8_t next_tag = 3;
  int last_fd = -1;
  std::vector<std::string> bound, sent;
  std::vector<unsigned long> requests;
  std::map<int, std::vector<std::pair<Bytes, Bytes>>> inbox;
};

struct Inbox final : MessageHandler {
  void on_message(const Incoming& message) override {
    bodies.push_back(to_hex(message.body));
    tags.push_back(message.tag);
    sources.push_back(message.source);
  }
  void on_sent(SendId id, bool delivered) override { sent.push_back({id, delivered}); }
  void on_drop(Drop why) override { drops.push_back(why); }
  std::vector<std::string> bodies;
  std::vector<Tag> tags;
  std::vector<Eid> sources;
  std::vector<std::pair<SendId, bool>> sent;
  std::vector<Drop> drops;
};

Outgoing request_to(Eid eid, Tag tag) {
  Outgoing out;
  out.destination = eid;
  out.tag = tag;
  out.body = from_hex("840800aabb");
  return out;
}

TEST(AfMctp, AskAndBeAnswered) {
  const auto world = World::make_real(1);
  FakeKernel fake;
  auto port = AfMctpPort::open(*world, {.network = 1, .eid = 8}, &fake);
  ASSERT_TRUE(port.ok());
  Inbox inbox;
  (*port)->set_handler(MessageType::nvme_mi, &inbox, 4224);
  EXPECT_TRUE(fake.bound.empty()) << "who only asks binds nothing";
  const Tag tag = *(*port)->take_tag(9);
  const SendId id = (*port)->send(request_to(9, tag));
  world->run_until([&] { return !inbox.sent.empty(); }, Duration::s(5));
  EXPECT_EQ(inbox.sent[0], std::make_pair(id, true));
  // Family 45, network 1, EID 9, type with its IC bit, the kernel's tag; the payload without its first byte.
  EXPECT_EQ(fake.sent, std::vector<std::string>{"2d00000001000000"
                                                "09841b00"
                                                ":0800aabb"});
  fake.arrive(fake.last_fd, 9, 0x84, 3, from_hex("8800"));
  fake.arrive(fake.last_fd, 9, 0x84, 4, from_hex("8801"));
  fake.arrive(fake.last_fd, 10, 0x84, 3, from_hex("8802"));
  world->run_until([&] { return inbox.drops.size() == 2; }, Duration::s(5));
  EXPECT_EQ(inbox.bodies, std::vector<std::string>{"848800"});
  EXPECT_EQ(inbox.tags[0], (Tag{tag.value, false})) << "as we named it";
  EXPECT_EQ(inbox.drops, std::vector<Drop>(2, Drop::unexpected_tag));
  (*port)->send(request_to(9, tag));
  EXPECT_EQ(fake.requests, std::vector<unsigned long>{kernel::kAllocTag2}) << "the tag is kept";
  (*port)->release_tag(9, tag);
  EXPECT_EQ(fake.requests.back(), kernel::kDropTag2);
}

TEST(AfMctp, ListensAndAnswers) {
  const auto world = World::make_real(1);
  FakeKernel fake;
  auto port = AfMctpPort::open(*world, {.network = 3, .eid = 8, .listens = true}, &fake);
  ASSERT_TRUE(port.ok());
  Inbox inbox;
  (*port)->set_handler(MessageType::nvme_mi, &inbox, 8);
  EXPECT_EQ(fake.bound, std::vector<std::string>{"2d00000003000000ff040000"});
  const int fd = fake.inbox.begin()->first;
  fake.arrive(fd, 20, 0x84, 0x0D, from_hex("0800"));
  fake.arrive(fd, 20, 0x84, 0x0D, from_hex("0001020304050607"));  // above what is taken
  world->run_until([&] { return fake.inbox[fd].empty(); }, Duration::s(5));
  ASSERT_EQ(inbox.bodies, std::vector<std::string>{"840800"});
  EXPECT_EQ(inbox.tags[0], (Tag{5, true}));
  (*port)->send(request_to(20, {5, false}));
  EXPECT_EQ(fake.sent.back(), "2d0000000300000014840500:0800aabb");
  EXPECT_TRUE(fake.requests.empty()) << "answers need no tag of ours";
}

TEST(AfMctp, OlderKernelsHaveTheOlderTagCalls) {
  const auto world = World::make_real(1);
  FakeKernel fake;
  fake.old_kernel = true;
  auto port = AfMctpPort::open(*world, {}, &fake);
  Inbox inbox;
  (*port)->set_handler(MessageType::nvme_mi, &inbox, 4224);
  const Tag tag = *(*port)->take_tag(9);
  (*port)->send(request_to(9, tag));
  (*port)->release_tag(9, tag);
  EXPECT_EQ(fake.requests, (std::vector<unsigned long>{kernel::kAllocTag2, kernel::kAllocTag, kernel::kDropTag}));
}

TEST(AfMctp, WhatCannotBeSentIsTold) {
  const auto world = World::make_real(1);
  FakeKernel fake;
  auto port = AfMctpPort::open(*world, {}, &fake);
  Inbox inbox;
  (*port)->set_handler(MessageType::nvme_mi, &inbox, 4224);
  fake.send_result = -EHOSTUNREACH;
  (*port)->send(request_to(9, *(*port)->take_tag(9)));
  world->run_until([&] { return inbox.sent.size() == 1; }, Duration::s(5));
  EXPECT_EQ((*port)->last_problem(), "AF_MCTP: cannot send to EID 9 of network 1: No route to host");
  fake.tag_result = -EBUSY;
  (*port)->send(request_to(9, *(*port)->take_tag(9)));
  world->run_until([&] { return inbox.sent.size() == 2; }, Duration::s(5));
  EXPECT_FALSE(inbox.sent[0].second || inbox.sent[1].second);
  EXPECT_EQ((*port)->last_problem(), "AF_MCTP: no tag towards EID 9: Device or resource busy");
}

TEST(AfMctp, AKernelWithoutIt) {
  const auto world = World::make_real(1);
  FakeKernel fake;
  fake.refuses = EAFNOSUPPORT;
  const auto port = AfMctpPort::open(*world, {}, &fake);
  ASSERT_FALSE(port.ok());
  EXPECT_EQ(port.error().text, "AF_MCTP: this kernel has no MCTP (it was built without CONFIG_MCTP)");
  // The kernel of this machine has it or has it not; either is told.
  const auto real = AfMctpPort::open(*world);
  EXPECT_TRUE(real.ok() || real.error().text.starts_with("AF_MCTP: "));
}

}  // namespace
}  // namespace fb::mctp
