// Every message of RC, all sizes around the packet borders, all path MTUs: content, completions,
// lengths.
#include <ostream>

#include "tests/sim/rdma/softroce/rig.h"

namespace fb::softroce {
namespace {

using rdma::CompletionOpcode;
using rdma::CompletionStatus;
using rdma::SendOpcode;

class MessageSizes : public testing::TestWithParam<std::uint8_t> {
 protected:
  static RigOptions options() {
    RigOptions o;
    o.mtu_code = GetParam();
    o.memory = 3 << 20;
    o.psn_a = 0xFFFFFE;  // wraps soon
    return o;
  }
  static std::vector<std::uint32_t> sizes() {
    const std::uint32_t mtu = roce::mtu_bytes(GetParam());
    return {0, 1, 3, 4, mtu - 1, mtu, mtu + 1, 2 * mtu, 5 * mtu + 3, 1 << 20};
  }
};

TEST_P(MessageSizes, Send) {
  Rig rig(options());
  rig.a.fill(1);
  std::uint64_t id = 0;
  for (const std::uint32_t size : sizes()) {
    ASSERT_TRUE(rig.b.post_receive(100 + id, 7, 1 << 20));
    ASSERT_TRUE(rig.a.post(SendOpcode::send, id, 13, size));
    ASSERT_TRUE(rig.settle());
    const auto sent = rig.a.sends();
    const auto received = rig.b.receives();
    ASSERT_EQ(sent.size(), 1u) << size;
    ASSERT_EQ(received.size(), 1u) << size;
    EXPECT_EQ(sent[0].status, CompletionStatus::success);
    EXPECT_EQ(sent[0].id, id);
    EXPECT_EQ(sent[0].opcode, CompletionOpcode::send);
    EXPECT_EQ(sent[0].qp_context, &rig.a);
    EXPECT_EQ(received[0].status, CompletionStatus::success);
    EXPECT_EQ(received[0].id, 100 + id);
    EXPECT_EQ(received[0].byte_length, size);
    EXPECT_FALSE(received[0].has_immediate || received[0].has_invalidate || received[0].solicited);
    EXPECT_TRUE(same(rig.a.bytes(13, size), rig.b.bytes(7, size)));
    ++id;
  }
  EXPECT_EQ(rig.a.device->counters().rewinds, 0u);
}

TEST_P(MessageSizes, WriteTakesNoReceive) {
  Rig rig(options());
  rig.a.fill(2);
  for (const std::uint32_t size : sizes()) {
    ASSERT_TRUE(rig.a.post_to(rig.b, SendOpcode::rdma_write, 1, 5, size, 1001));
    ASSERT_TRUE(rig.settle());
    const auto sent = rig.a.sends();
    ASSERT_EQ(sent.size(), 1u) << size;
    EXPECT_EQ(sent[0].status, CompletionStatus::success);
    EXPECT_EQ(sent[0].opcode, CompletionOpcode::rdma_write);
    EXPECT_TRUE(same(rig.a.bytes(5, size), rig.b.bytes(1001, size)));
    EXPECT_TRUE(rig.b.receives().empty());
  }
}

TEST_P(MessageSizes, WriteWithImmediate) {
  Rig rig(options());
  rig.a.fill(3);
  for (const std::uint32_t size : sizes()) {
    ASSERT_TRUE(rig.b.post_receive(9, 0, 0));
    ASSERT_TRUE(
        rig.a.post_to(rig.b, SendOpcode::rdma_write_with_immediate, 1, 5, size, 1001, [](auto& r) {
          r.immediate = 0x01020304;
          r.solicited = true;
        }));
    ASSERT_TRUE(rig.settle());
    const auto received = rig.b.receives();
    ASSERT_EQ(received.size(), 1u) << size;
    EXPECT_EQ(received[0].opcode, CompletionOpcode::receive_rdma_with_immediate);
    EXPECT_EQ(received[0].byte_length, size);
    EXPECT_TRUE(received[0].has_immediate && received[0].solicited);
    EXPECT_EQ(received[0].immediate, 0x01020304u);
    EXPECT_TRUE(same(rig.a.bytes(5, size), rig.b.bytes(1001, size)));
    EXPECT_EQ(rig.a.sends().size(), 1u);
  }
}

TEST_P(MessageSizes, Read) {
  Rig rig(options());
  rig.b.fill(4);
  for (const std::uint32_t size : sizes()) {
    ASSERT_TRUE(rig.a.post_to(rig.b, SendOpcode::rdma_read, 1, 11, size, 17));
    ASSERT_TRUE(rig.settle());
    const auto sent = rig.a.sends();
    ASSERT_EQ(sent.size(), 1u) << size;
    EXPECT_EQ(sent[0].status, CompletionStatus::success);
    EXPECT_EQ(sent[0].opcode, CompletionOpcode::rdma_read);
    EXPECT_EQ(sent[0].byte_length, size);
    EXPECT_TRUE(same(rig.a.bytes(11, size), rig.b.bytes(17, size)));
  }
  EXPECT_EQ(rig.a.device->counters().implied_naks, 0u);
}

INSTANTIATE_TEST_SUITE_P(Mtu, MessageSizes, testing::Values(1, 2, 3, 4, 5));

TEST(Messages, ImmediateInvalidateAndSolicited) {
  Rig rig;
  rig.a.fill(1);
  rig.b.post_receive(1, 0, 4096);
  rig.b.post_receive(2, 0, 4096);
  rig.a.post(SendOpcode::send_with_immediate, 1, 0, 3000, [](auto& r) {
    r.immediate = 0xA1B2C3D4;
    r.solicited = true;
  });
  rig.settle();
  auto received = rig.b.receives();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_TRUE(received[0].has_immediate && received[0].solicited);
  EXPECT_EQ(received[0].immediate, 0xA1B2C3D4u);
  EXPECT_EQ(received[0].byte_length, 3000u);

  // A fast-registered region at b that a invalidates.
  auto fast = rig.b.domain->allocate_fast_region(8192);
  const std::uint32_t key = (fast->rkey() & ~0xFFu) | 0x42;
  rdma::SendRequest registration;
  registration.opcode = SendOpcode::fast_register;
  registration.region = fast.get();
  registration.memory = MutableBytes{rig.b.memory}.subspan(8192, 8192);
  registration.iova = 0xff3beddac1071000;
  registration.access =
      rdma::Access::local_write | rdma::Access::remote_write | rdma::Access::remote_read;
  registration.key_byte = 0x42;
  ASSERT_TRUE(rig.b.qp->post_send(registration));
  rig.settle();
  auto sent = rig.b.sends();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, CompletionStatus::success);
  EXPECT_EQ(sent[0].opcode, CompletionOpcode::fast_register);
  EXPECT_EQ(fast->rkey(), key);
  EXPECT_EQ(fast->address(), 0xff3beddac1071000);

  rig.a.post(SendOpcode::rdma_write, 2, 0, 100, [&](auto& r) {
    r.remote_address = 0xff3beddac1071000 + 8092;
    r.rkey = key;
  });
  rig.a.post(SendOpcode::send_with_invalidate, 3, 0, 16, [&](auto& r) { r.invalidate_rkey = key; });
  rig.settle();
  received = rig.b.receives();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_TRUE(received[0].has_invalidate);
  EXPECT_EQ(received[0].invalidated_rkey, key);
  EXPECT_TRUE(same(rig.a.bytes(0, 100), rig.b.bytes(16384 - 100, 100)));
  EXPECT_EQ(rig.a.sends().size(), 3u);

  // Used after that, the key is unknown.
  rig.a.post(SendOpcode::rdma_write, 4, 0, 8, [&](auto& r) {
    r.remote_address = 0xff3beddac1071000;
    r.rkey = key;
  });
  rig.settle();
  sent = rig.a.sends();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, CompletionStatus::remote_access_error);
}

TEST(Messages, AtomicsReturnTheOriginalValue) {
  Rig rig;
  store_le<std::uint64_t>(&rig.b.memory[64], 40);
  rig.a.post_to(rig.b, SendOpcode::fetch_and_add, 1, 0, 8, 64, [](auto& r) { r.swap_or_add = 2; });
  rig.a.post_to(rig.b, SendOpcode::compare_and_swap, 2, 8, 8, 64, [](auto& r) {
    r.compare = 42;
    r.swap_or_add = 0x1122334455667788;
  });
  rig.a.post_to(rig.b, SendOpcode::compare_and_swap, 3, 16, 8, 64, [](auto& r) {
    r.compare = 42;
    r.swap_or_add = 7;
  });
  rig.settle();
  const auto sent = rig.a.sends();
  ASSERT_EQ(sent.size(), 3u);
  for (const auto& c : sent) EXPECT_EQ(c.status, CompletionStatus::success);
  EXPECT_EQ(load_le<std::uint64_t>(&rig.a.memory[0]), 40u);
  EXPECT_EQ(load_le<std::uint64_t>(&rig.a.memory[8]), 42u);
  EXPECT_EQ(load_le<std::uint64_t>(&rig.a.memory[16]), 0x1122334455667788u);
  EXPECT_EQ(load_le<std::uint64_t>(&rig.b.memory[64]), 0x1122334455667788u);
}

TEST(Messages, InlineDataAndSgeListsAndUnsignaled) {
  Rig rig;
  rig.a.fill(5);
  const Bytes before = rig.a.memory;
  rig.b.post_receive(1, 0, 4096);
  rig.b.post_receive(2, 4096, 4096);
  rig.a.post(SendOpcode::send, 1, 0, 200, [](auto& r) {
    r.inline_data = true;
    r.signaled = false;
  });
  rig.a.fill(6);  // inline data was copied at post time
  const rdma::Sge sges[] = {rig.a.region->sge(1, 10), rig.a.region->sge(500, 1500),
                            rig.a.region->sge(100, 0), rig.a.region->sge(20, 7)};
  rdma::SendRequest request;
  request.id = 2;
  request.sges = sges;
  ASSERT_TRUE(rig.a.qp->post_send(request));
  rig.settle();
  const auto sent = rig.a.sends();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].id, 2u);
  EXPECT_TRUE(same(rig.b.bytes(0, 200), ByteView{before}.first(200)));
  EXPECT_TRUE(same(rig.b.bytes(4096, 10), rig.a.bytes(1, 10)));
  EXPECT_TRUE(same(rig.b.bytes(4106, 1500), rig.a.bytes(500, 1500)));
  EXPECT_TRUE(same(rig.b.bytes(5606, 7), rig.a.bytes(20, 7)));
}

TEST(Messages, Ipv6) {
  RigOptions o;
  o.address_a = *IpAddress::parse("fd00::1");
  o.address_b = *IpAddress::parse("fd00::2");
  Rig rig(o);
  rig.a.fill(1);
  rig.b.post_receive(1, 0, 8192);
  rig.a.post(SendOpcode::send, 1, 0, 5000);
  rig.settle();
  EXPECT_EQ(rig.b.receives().size(), 1u);
  EXPECT_TRUE(same(rig.a.bytes(0, 5000), rig.b.bytes(0, 5000)));
}

TEST(Messages, FenceWaitsForReadsAndReadDepthIsKept) {
  RigOptions o;
  o.depth = 2;
  Rig rig(o);
  rig.b.fill(1);
  for (std::uint64_t i = 0; i < 6; ++i) {
    rig.a.post_to(rig.b, SendOpcode::rdma_read, i, 100 * i, 100, 100 * i);
  }
  // The fenced write sends what the reads have fetched.
  rig.a.post_to(rig.b, SendOpcode::rdma_write, 6, 0, 600, 2000, [](auto& r) { r.fence = true; });
  rig.settle();
  EXPECT_EQ(rig.a.sends().size(), 7u);
  EXPECT_TRUE(same(rig.b.bytes(0, 600), rig.b.bytes(2000, 600)));
}

TEST(Messages, SharedReceiveQueueAndLimitEvent) {
  RigOptions o;
  o.shared_receive_queue = true;
  Rig rig(o);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(rig.b.post_receive(i, 100 * i, 100));
  rig.b.shared->arm_limit(3);
  rig.a.post(SendOpcode::send, 1, 0, 10);
  rig.settle();
  EXPECT_EQ(rig.b.limits, 0);
  rig.a.post(SendOpcode::send, 2, 0, 10);
  rig.settle();
  EXPECT_EQ(rig.b.limits, 1);
  rig.a.post(SendOpcode::send, 3, 0, 10);
  rig.settle();
  EXPECT_EQ(rig.b.limits, 1);  // one-shot
  const auto received = rig.b.receives();
  ASSERT_EQ(received.size(), 3u);
  EXPECT_EQ(received[2].id, 2u);
  // In error, what is left stays for others.
  rig.b.qp->fail();
  EXPECT_TRUE(rig.b.receives().empty());
}

TEST(Messages, WindowPacesALongWrite) {
  RigOptions o;
  o.mtu_code = 1;
  o.engine.window_packets = 8;
  o.memory = 1 << 20;
  Rig rig(o);
  rig.a.fill(9);
  rig.a.post_to(rig.b, SendOpcode::rdma_write, 1, 0, 1 << 19, 0);
  // One-way time is 5 us: within it, not more than the window is on its way.
  rig.world->run_for(Duration::us(4));
  EXPECT_EQ(rig.a.device->counters().packets_sent, 8u);
  rig.settle();
  EXPECT_EQ(rig.a.sends().size(), 1u);
  EXPECT_TRUE(same(rig.a.bytes(0, 1 << 19), rig.b.bytes(0, 1 << 19)));
}

}  // namespace
}  // namespace fb::softroce
