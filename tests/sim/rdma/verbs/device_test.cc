// The device on a device of this machine's kernel, which talks to itself. Without one nothing of this runs here; the cells
// verbs-device-* of ci/interop run it in guests, over rdma_rxe.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/or_throw.h"
#include "conformance/runner/verbs_user.h"
#include "sim/rdma/verbs/device_list.h"
#include "sim/rdma/verbs/verbs_device.h"

namespace fb::verbs {
namespace {

using conformance::ConnectionEvent;
using conformance::ListenTerms;
using conformance::VerbsMemory;
using conformance::VerbsQueue;
using conformance::VerbsUser;
using rdma::CompletionStatus;
using rdma::SendOpcode;

constexpr Duration kSoon = Duration::s(10);
constexpr std::uint16_t kPort = 7471;

struct Found {
  std::string name;
  IpAddress address;
};

/// The first device that can talk to itself over IPv4.
std::optional<Found> find_device() {
  for (const DeviceFacts& one : or_throw(list_devices())) {
    const auto address = std::ranges::find_if(one.addresses, &IpAddress::is_v4);
    if (one.active && address != one.addresses.end()) return Found{one.name, *address};
  }
  return std::nullopt;
}

rdma::ConnectionParameters parameters() {
  rdma::ConnectionParameters made;
  made.responder_resources = made.initiator_depth = 4;
  return made;
}

class VerbsDevice : public testing::Test {
 protected:
  void SetUp() override {
    const auto found = find_device();
    if (!found) GTEST_SKIP() << "no RDMA device here";
    found_ = *found;
    active_device = or_throw(open_device(*world, {found->name, found->address}));
    passive_device = or_throw(open_device(*world, {found->name, found->address}));
    active = std::make_unique<VerbsUser>(*world, *active_device);
    passive = std::make_unique<VerbsUser>(*world, *passive_device);
  }

  Endpoint there(std::uint16_t port = kPort) const { return {found_.address, port}; }

  /// The active side of a connection; the passive one is passive->accepted().
  VerbsQueue& connect(const ListenTerms& terms = {}) {
    passive->listen(kPort, terms);
    VerbsQueue& queue = active->connect(there(), parameters());
    EXPECT_TRUE(queue.wait_event(ConnectionEvent::established, kSoon));
    EXPECT_TRUE(world->run_until([&] { return passive->accepted() != nullptr; }, kSoon));
    EXPECT_TRUE(passive->accepted()->wait_event(ConnectionEvent::established, kSoon));
    return queue;
  }

  static void expect_success(const std::optional<rdma::Completion>& completion) {
    ASSERT_TRUE(completion);
    EXPECT_EQ(completion->status, CompletionStatus::success) << name_of(completion->status);
  }

  std::unique_ptr<World> world = World::make_real(1);
  Found found_;
  std::unique_ptr<rdma::Device> active_device, passive_device;
  std::unique_ptr<VerbsUser> active, passive;
};

TEST_F(VerbsDevice, WritesReadsAndSendsMoveTheBytes) {
  VerbsQueue& queue = connect();
  constexpr std::uint32_t kBytes = 100'000;
  VerbsMemory& ours = active->memory(2 * kBytes);
  VerbsMemory& theirs = passive->memory(kBytes);
  std::ranges::fill(theirs.bytes, std::uint8_t{0});
  rdma::SendRequest request;
  request.opcode = SendOpcode::rdma_write;
  request.remote_address = theirs.address();
  request.rkey = theirs.rkey();
  ASSERT_TRUE(queue.post_send(request, ours, 3, kBytes));
  expect_success(queue.wait_send(kSoon));
  EXPECT_TRUE(std::equal(theirs.bytes.begin(), theirs.bytes.end(), ours.bytes.begin() + 3));

  std::ranges::fill(ours.bytes, std::uint8_t{0});
  request.opcode = SendOpcode::rdma_read;
  ASSERT_TRUE(queue.post_send(request, ours, 5, kBytes));
  const auto read = queue.wait_send(kSoon);
  expect_success(read);
  EXPECT_EQ(read->opcode, rdma::CompletionOpcode::rdma_read);
  EXPECT_TRUE(std::equal(theirs.bytes.begin(), theirs.bytes.end(), ours.bytes.begin() + 5));

  rdma::SendRequest send;
  send.inline_data = true;
  ASSERT_TRUE(queue.post_send(send, ours, 5, 64));
  expect_success(queue.wait_send(kSoon));
  const auto received = passive->accepted()->wait_receive(kSoon);
  expect_success(received);
  EXPECT_EQ(received->byte_length, 64u);
  EXPECT_TRUE(std::ranges::equal(passive->received(received->id, 64), ByteView{ours.bytes}.subspan(5, 64)));
}

TEST_F(VerbsDevice, ImmediateDataArrive) {
  VerbsQueue& queue = connect();
  VerbsMemory& ours = active->memory(64);
  rdma::SendRequest request;
  request.opcode = SendOpcode::send_with_immediate;
  request.immediate = 0x01020304;
  ASSERT_TRUE(queue.post_send(request, ours, 0, 16));
  const auto received = passive->accepted()->wait_receive(kSoon);
  expect_success(received);
  EXPECT_TRUE(received->has_immediate);
  EXPECT_EQ(received->immediate, 0x01020304u);
}

TEST_F(VerbsDevice, AtomicsWhereTheDeviceHasThem) {
  if (!active_device->limits().atomics) GTEST_SKIP() << "the device has no atomics";
  VerbsQueue& queue = connect();
  VerbsMemory& ours = active->memory(16);
  VerbsMemory& theirs = passive->memory(16);
  store_le<std::uint64_t>(theirs.bytes.data(), 40);
  rdma::SendRequest request;
  request.opcode = SendOpcode::fetch_and_add;
  request.remote_address = theirs.address();
  request.rkey = theirs.rkey();
  request.swap_or_add = 2;
  ASSERT_TRUE(queue.post_send(request, ours, 0, 8));
  expect_success(queue.wait_send(kSoon));
  EXPECT_EQ(load_le<std::uint64_t>(ours.bytes.data()), 40u);
  request.opcode = SendOpcode::compare_and_swap;
  request.compare = 42;
  request.swap_or_add = 9;
  ASSERT_TRUE(queue.post_send(request, ours, 0, 8));
  expect_success(queue.wait_send(kSoon));
  EXPECT_EQ(load_le<std::uint64_t>(ours.bytes.data()), 42u);
  EXPECT_EQ(load_le<std::uint64_t>(theirs.bytes.data()), 9u);
}

TEST_F(VerbsDevice, ASharedReceiveQueueServesAndSaysWhenItRunsLow) {
  struct Low final : rdma::SharedReceiveHandler {
    void on_limit(rdma::SharedReceiveQueue&) override { ++times; }
    int times = 0;
  } low;
  const auto queue = passive_device->create_shared_receive_queue(passive->domain(), 16, &low);
  ASSERT_NE(queue, nullptr);
  queue->arm_limit(17);
  EXPECT_TRUE(world->run_until([&] { return low.times == 1; }, kSoon)) << "it never has so many";

  ListenTerms terms;
  terms.queue.shared_receives = true;
  VerbsQueue& peer = connect(terms);
  VerbsMemory& ours = active->memory(64);
  ASSERT_TRUE(peer.post_send({}, ours, 0, 32));
  expect_success(peer.wait_send(kSoon));
  const auto received = passive->accepted()->wait_receive(kSoon);
  expect_success(received);
  EXPECT_EQ(received->byte_length, 32u);
}

TEST_F(VerbsDevice, TheLimitOfAUsedSharedReceiveQueueIsTold) {
  struct Low final : rdma::SharedReceiveHandler {
    void on_limit(rdma::SharedReceiveQueue&) override { ++times; }
    int times = 0;
  } low;
  struct Taker final : rdma::ListenHandler {
    void on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) override { request->accept(*qp, parameters()); }
    rdma::QueuePair* qp = nullptr;
  } taker;
  VerbsMemory& memory = passive->memory(1024);
  const auto shared = passive_device->create_shared_receive_queue(passive->domain(), 16, &low);
  const auto completions = passive_device->create_completion_queue(32);
  rdma::QueuePairOptions options;
  options.send_queue = options.receive_queue = completions.get();
  options.shared_receive_queue = shared.get();
  const auto qp = passive_device->create_queue_pair(passive->domain(), options);
  ASSERT_NE(qp, nullptr);
  taker.qp = qp.get();
  const auto listener = or_throw(passive_device->listen(kPort, taker));
  for (std::uint64_t id = 0; id < 4; ++id) {
    const rdma::Sge sge = memory.region->sge(64 * id, 64);
    ASSERT_TRUE(shared->post_receive({id, {&sge, 1}}));
  }
  EXPECT_FALSE(qp->post_receive({9, {}})) << "its receives are the shared queue's";
  shared->arm_limit(3);
  VerbsQueue& queue = active->connect(there(), parameters());
  ASSERT_TRUE(queue.wait_event(ConnectionEvent::established, kSoon));
  VerbsMemory& ours = active->memory(64);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.post_send({}, ours, 0, 8));
  EXPECT_TRUE(world->run_until([&] { return low.times == 1; }, kSoon));
}

TEST_F(VerbsDevice, ARefusalCarriesItsWords) {
  ListenTerms terms;
  terms.accept = false;
  terms.private_data = {1, 2, 3, 4};
  passive->listen(kPort, terms);
  VerbsQueue& queue = active->connect(there(), parameters());
  ASSERT_TRUE(queue.wait_event(ConnectionEvent::rejected, kSoon));
  EXPECT_EQ(queue.reject_reason(), rdma::reject_reason::consumer_defined);
  ASSERT_GE(queue.private_data().size(), 4u);
  EXPECT_TRUE(std::equal(terms.private_data.begin(), terms.private_data.end(), queue.private_data().begin()));
}

TEST_F(VerbsDevice, ARefusedQueuePairMayTryAgain) {
  VerbsQueue& queue = active->connect(there(7999), parameters());
  ASSERT_TRUE(queue.wait_event(ConnectionEvent::rejected, kSoon));
  EXPECT_EQ(queue.reject_reason(), rdma::reject_reason::invalid_service_id) << "nobody listens there";
  passive->listen(kPort);
  queue.qp().connect(there(), parameters());
  EXPECT_TRUE(queue.wait_event(ConnectionEvent::established, kSoon));
}

TEST_F(VerbsDevice, ARequestThatIsDroppedIsRefused) {
  ListenTerms terms;
  terms.hold = true;
  passive->listen(kPort, terms);
  const std::uint8_t words[] = {9, 8, 7};
  rdma::ConnectionParameters asked = parameters();
  asked.private_data = words;
  VerbsQueue& queue = active->connect(there(), asked);
  ASSERT_TRUE(world->run_until([&] { return !passive->requests().empty(); }, kSoon));
  const rdma::ConnectionFacts& facts = passive->requests().front()->facts();
  ASSERT_GE(facts.private_data.size(), 3u);
  EXPECT_TRUE(std::equal(words, words + 3, facts.private_data.begin()));
  EXPECT_EQ(facts.peer.address, found_.address);
  EXPECT_EQ(facts.responder_resources, 4u);
  EXPECT_EQ(facts.initiator_depth, 4u);
  passive->requests().clear();
  EXPECT_TRUE(queue.wait_event(ConnectionEvent::rejected, kSoon));
}

/// Says what it hears, one word each.
struct Listener final : rdma::ConnectionHandler {
  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts&) override { heard += "established "; }
  void on_accepted(rdma::QueuePair&, const rdma::ConnectionFacts&) override { heard += "accepted "; }
  void on_rejected(rdma::QueuePair&, std::uint16_t, ByteView) override { heard += "rejected "; }
  void on_unreachable(rdma::QueuePair&) override { heard += "unreachable "; }
  void on_disconnected(rdma::QueuePair&) override { heard += "disconnected "; }
  void on_queue_error(rdma::QueuePair&) override { heard += "error "; }
  std::string heard;
};

TEST_F(VerbsDevice, AReplyCanBeHeldBack) {
  for (const bool confirms : {true, false}) {
    const std::uint16_t port = confirms ? 7501 : 7502;
    passive->listen(port);
    const auto completions = active_device->create_completion_queue(8);
    Listener listener;
    rdma::QueuePairOptions options;
    options.send_queue = options.receive_queue = completions.get();
    options.handler = &listener;
    const auto qp = active_device->create_queue_pair(active->domain(), options);
    rdma::ConnectionParameters held = parameters();
    held.hold_reply = true;
    qp->connect(there(port), held);
    ASSERT_TRUE(world->run_until([&] { return listener.heard == "accepted "; }, kSoon)) << listener.heard;
    const std::uint8_t words[] = {5};
    if (confirms) {
      qp->confirm();
      EXPECT_TRUE(world->run_until([&] { return listener.heard == "accepted established "; }, kSoon)) << listener.heard;
      EXPECT_TRUE(passive->accepted()->wait_event(ConnectionEvent::established, kSoon));
    } else {
      qp->refuse(rdma::reject_reason::consumer_defined, words);
      EXPECT_TRUE(passive->accepted()->wait_event(ConnectionEvent::rejected, kSoon));
      EXPECT_EQ(listener.heard, "accepted ");
    }
  }
}

TEST_F(VerbsDevice, ADisconnectIsHeardAndFlushes) {
  VerbsQueue& queue = connect();
  VerbsMemory& ours = active->memory(64);
  ASSERT_TRUE(queue.post_receive(ours, 77, 0, 64));
  queue.qp().disconnect();
  EXPECT_TRUE(queue.wait_event(ConnectionEvent::disconnected, kSoon));
  EXPECT_TRUE(passive->accepted()->wait_event(ConnectionEvent::disconnected, kSoon));
  const auto flushed = queue.wait_receive(kSoon);
  ASSERT_TRUE(flushed);
  EXPECT_EQ(flushed->status, CompletionStatus::flushed);
  EXPECT_EQ(flushed->id, 77u);
  const auto theirs = passive->accepted()->wait_receive(kSoon);
  ASSERT_TRUE(theirs);
  EXPECT_EQ(theirs->status, CompletionStatus::flushed);
  EXPECT_FALSE(queue.happened(ConnectionEvent::queue_error)) << "it was asked for";
  rdma::SendRequest after;
  after.id = 78;
  ASSERT_TRUE(queue.post_send(after, ours, 0, 8)) << "in error, requests are taken and flushed";
  const auto late = queue.wait_send(kSoon);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->status, CompletionStatus::flushed);
}

TEST_F(VerbsDevice, AWrongKeyEndsTheQueuePair) {
  VerbsQueue& queue = connect();
  VerbsMemory& ours = active->memory(64);
  VerbsMemory& theirs = passive->memory(64, rdma::Access::local_write);
  rdma::SendRequest request;
  request.opcode = SendOpcode::rdma_write;
  request.remote_address = theirs.address();
  request.rkey = theirs.rkey();
  ASSERT_TRUE(queue.post_send(request, ours, 0, 64));
  const auto failed = queue.wait_send(kSoon);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->status, CompletionStatus::remote_access_error) << name_of(failed->status);
  EXPECT_EQ(queue.state(), rdma::QpState::error);
  EXPECT_TRUE(queue.wait_event(ConnectionEvent::queue_error, kSoon));
}

TEST_F(VerbsDevice, AFullQueueTakesNoMore) {
  VerbsQueue& queue = connect();
  VerbsMemory& ours = active->memory(64);
  int taken = 0;
  while (taken < 100'000 && queue.qp().post_receive({})) ++taken;
  EXPECT_GE(taken, 64);
  EXPECT_LT(taken, 100'000);
  rdma::Sge sges[64] = {};
  rdma::SendRequest request;
  request.sges = sges;
  EXPECT_FALSE(queue.qp().post_send(request)) << "more pieces than it was made for";
  request = {};
  request.opcode = SendOpcode::fast_register;
  EXPECT_FALSE(queue.post_send(request, ours, 0, 0));
}

TEST_F(VerbsDevice, NobodyAtAnAddressIsUnreachable) {
  auto bytes = found_.address.bytes();
  bytes[15] = bytes[15] == 253 ? 252 : 253;
  VerbsQueue& queue = active->connect({IpAddress::v6(bytes), kPort}, parameters());
  EXPECT_TRUE(queue.wait_event(ConnectionEvent::unreachable, Duration::s(30)));
}

/// Counts, and takes what there is.
struct Counter final : rdma::CompletionHandler {
  explicit Counter(rdma::CompletionQueue& q) : queue(q) { queue.request_notify(*this); }
  void on_completions() override {
    ++calls;
    rdma::Completion one[4];
    for (std::size_t n = queue.poll(one); n > 0; n = queue.poll(one)) taken += n;
    queue.request_notify(*this);
  }
  rdma::CompletionQueue& queue;
  std::size_t calls = 0, taken = 0;
};

TEST_F(VerbsDevice, CompletionsAreToldAsleepAndPolled) {
  VerbsQueue& queue = connect();
  VerbsMemory& ours = active->memory(64);
  Counter sends(queue.send_queue()), receives(passive->accepted()->receive_queue());
  std::size_t wanted = 0;
  for (const bool busy : {false, true, false}) {
    world->real_loop()->set_busy_poll(busy);
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(queue.post_send({}, ours, 0, 8));
      ++wanted;
      EXPECT_TRUE(world->run_until([&] { return sends.taken == wanted && receives.taken == wanted; }, kSoon)) << wanted;
    }
  }
  EXPECT_LE(sends.calls, wanted);
  sends.queue.cancel_notify();
  receives.queue.cancel_notify();
}

TEST_F(VerbsDevice, TwoDoNotListenOnOnePort) {
  passive->listen(kPort);
  struct Nobody final : rdma::ListenHandler {
    void on_connection_request(std::unique_ptr<rdma::ConnectionRequest>) override {}
  } nobody;
  const auto second = active_device->listen(kPort, nobody);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text.find("address already in use"), std::string::npos) << second.error().text;
}

TEST_F(VerbsDevice, WhatCannotBeRegisteredIsSaid) {
  try {
    active->domain().register_memory({static_cast<std::uint8_t*>(nullptr), 4096}, rdma::Access::local_write);
    FAIL() << "there is no memory";
  } catch (const UserError& problem) {
    EXPECT_NE(std::string(problem.what()).find("4096 bytes"), std::string::npos) << problem.what();
  }
}

TEST_F(VerbsDevice, AnAddressOfSomebodyElseIsNamed) {
  const auto other = open_device(*world, {found_.name, IpAddress::v4(203, 0, 113, 9)});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().text.find("203.0.113.9 is no address of the device"), std::string::npos) << other.error().text;
  EXPECT_NE(other.error().text.find(to_string(found_.address)), std::string::npos) << other.error().text;
}

}  // namespace
}  // namespace fb::verbs
