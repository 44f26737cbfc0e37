// The rdma::Device over NDK: over a provider over softroce, against another such device or a plain softroce.
#include "tests/networkdirect/ndk/consumer/rig.h"

namespace fb::ndk {
namespace {

using rdma::CompletionOpcode;
using rdma::CompletionStatus;
using rdma::QpState;
using rdma::SendOpcode;
using testing::DeviceRig;
using testing::End;
using testing::kWays;
using testing::pattern;
using testing::Way;

/// Each way of a provider to answer, and each version.
class Ndk : public ::testing::TestWithParam<Way> {};

INSTANTIATE_TEST_SUITE_P(Ways, Ndk, ::testing::ValuesIn(kWays), [](const auto& way) { return std::string(way.param.name); });

TEST_P(Ndk, ConnectsWithPrivateDataAndReadLimits) {
  DeviceRig rig(GetParam());
  rig.a->request_data = pattern(1, 40);
  rig.b->reply_data = pattern(2, 30);
  rig.connect();
  EXPECT_EQ(rig.a->established, 1);
  EXPECT_EQ(rig.b->established, 1);
  ASSERT_GE(rig.b->asked.size(), 40u);
  EXPECT_EQ(Bytes(rig.b->asked.begin(), rig.b->asked.begin() + 40), rig.a->request_data);
  ASSERT_GE(rig.a->told.size(), 30u);
  EXPECT_EQ(Bytes(rig.a->told.begin(), rig.a->told.begin() + 30), rig.b->reply_data);
  EXPECT_EQ(rig.b->asked_reads, std::pair(4, 8));
  EXPECT_EQ(rig.b->asked_by.address, rig.a->device.address());
  EXPECT_EQ(rig.a->facts.peer.address, rig.b->device.address());
  EXPECT_EQ(rig.a->qp->state(), QpState::ready_to_send);
}

TEST_P(Ndk, SendsAndReceives) {
  DeviceRig rig(GetParam());
  rig.connect();
  rig.a->fill(3);
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 7, 512, 3000));
  ASSERT_TRUE(rig.a->post(SendOpcode::send, 8, 0, 100, [](auto& request) {
    request.inline_data = true;
    request.signaled = false;
  }));
  rig.run();
  ASSERT_EQ(rig.a->all.size(), 1u);
  EXPECT_EQ(rig.a->all[0].id, 7u);
  EXPECT_EQ(rig.a->all[0].opcode, CompletionOpcode::send);
  EXPECT_EQ(rig.a->all[0].qp_context, rig.a.get());
  ASSERT_EQ(rig.b->all.size(), 2u);
  EXPECT_EQ(rig.b->all[0].id, 100u);
  EXPECT_EQ(rig.b->all[0].opcode, CompletionOpcode::receive);
  EXPECT_EQ(rig.b->all[0].byte_length, 3000u);
  EXPECT_EQ(rig.b->all[1].byte_length, 100u);
}

TEST_P(Ndk, WritesAndReads) {
  DeviceRig rig(GetParam());
  rig.connect();
  rig.a->fill(3);
  const Bytes before = rig.a->memory;
  const auto to_b = [&](rdma::SendRequest& request) {
    request.remote_address = rig.b->region->address() + 8192;
    request.rkey = rig.b->region->rkey();
  };
  ASSERT_TRUE(rig.a->post(SendOpcode::rdma_write, 1, 100, 20000, to_b));
  ASSERT_TRUE(rig.a->post(SendOpcode::rdma_read, 2, 30000, 20000, [&](auto& request) {
    to_b(request);
    request.fence = true;
  }));
  rig.run();
  ASSERT_EQ(rig.a->count(CompletionStatus::success), 2u);
  EXPECT_EQ(rig.a->all[1].opcode, CompletionOpcode::rdma_read);
  EXPECT_TRUE(std::equal(before.begin() + 100, before.begin() + 20100, rig.b->memory.begin() + 8192));
  EXPECT_TRUE(std::equal(before.begin() + 100, before.begin() + 20100, rig.a->memory.begin() + 30000));
}

TEST_P(Ndk, FastRegistersAndTheKeyStays) {
  DeviceRig rig(GetParam());
  rig.connect();
  auto fast = rig.a->domain->allocate_fast_region(1 << 16);
  const std::uint32_t key = fast->rkey();
  Bytes target(9000);
  for (std::uint64_t round = 0; round < 3; ++round) {
    // Wherever in their pages the memory and the address lie.
    const MutableBytes piece = MutableBytes{target}.subspan(round * 7, 8000);
    const std::uint64_t iova = 0x1000000 + round * 100;
    ASSERT_TRUE(rig.a->post(SendOpcode::fast_register, 10 + round, 0, 0, [&](auto& request) {
      request.region = fast.get();
      request.memory = piece;
      request.iova = iova;
      request.access = rdma::Access::local_write | rdma::Access::remote_write;
    }));
    rig.run();
    EXPECT_EQ(fast->rkey(), key);
    rig.b->fill(static_cast<std::uint32_t>(round));
    ASSERT_TRUE(rig.b->post(SendOpcode::rdma_write, 20 + round, 0, 8000, [&](auto& request) {
      request.remote_address = iova;
      request.rkey = key;
    }));
    rig.run();
    EXPECT_TRUE(std::equal(piece.begin(), piece.end(), rig.b->memory.begin()));
    ASSERT_TRUE(rig.a->post(SendOpcode::local_invalidate, 30 + round, 0, 0, [&](auto& request) { request.invalidate_rkey = key; }));
    rig.run();
  }
  EXPECT_EQ(rig.a->count(CompletionStatus::success), 6u);
  EXPECT_EQ(rig.a->find(10)->opcode, CompletionOpcode::fast_register);
  EXPECT_EQ(rig.a->find(30)->opcode, CompletionOpcode::local_invalidate);
}

TEST_P(Ndk, HearsOfRemoteInvalidation) {
  DeviceRig rig(GetParam());
  rig.connect();
  if (!rig.a->device.limits().remote_invalidation) {
    EXPECT_FALSE(rig.a->post(SendOpcode::send_with_invalidate, 1, 0, 16));
    return;
  }
  auto fast = rig.b->domain->allocate_fast_region(1 << 16);
  Bytes target(5000);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(rig.b->post(SendOpcode::fast_register, 10, 0, 0, [&](auto& request) {
      request.region = fast.get();
      request.memory = target;
      request.iova = 0x5000000;
      request.access = rdma::Access::local_write | rdma::Access::remote_write;
      request.signaled = false;
    }));
    rig.run();
    ASSERT_TRUE(rig.a->post(SendOpcode::send_with_invalidate, 11, 0, 16, [&](auto& request) { request.invalidate_rkey = fast->rkey(); }));
    rig.run();
    ASSERT_FALSE(rig.b->all.empty());
    EXPECT_TRUE(rig.b->all.back().has_invalidate);
    EXPECT_EQ(rig.b->all.back().invalidated_rkey, fast->rkey());
  }
}

TEST_P(Ndk, SharedReceiveQueueWithItsLimit) {
  DeviceRig rig(GetParam(), {.shared_queue = true});
  rig.b->receives = 8;
  rig.connect();
  rig.b->shared->arm_limit(7);
  rig.run();
  EXPECT_EQ(rig.b->limits, 0);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(rig.a->post(SendOpcode::send, i, 0, 64));
  rig.run();
  EXPECT_EQ(rig.b->all.size(), 3u);
  EXPECT_EQ(rig.b->find(102)->byte_length, 64u);
  EXPECT_EQ(rig.b->limits, 1);
}

TEST_P(Ndk, DisconnectFlushesBothEnds) {
  DeviceRig rig(GetParam());
  rig.connect();
  ASSERT_TRUE(rig.a->post_receive(1));
  rig.a->qp->disconnect();
  rig.run();
  EXPECT_EQ(rig.a->disconnected, 1);
  EXPECT_EQ(rig.b->disconnected, 1);
  EXPECT_EQ(rig.a->errors + rig.b->errors, 0);
  EXPECT_EQ(rig.a->count(CompletionStatus::flushed), 2u);
  EXPECT_EQ(rig.b->count(CompletionStatus::flushed), 4u);
  EXPECT_EQ(rig.b->qp->state(), QpState::error);
  // Whatever comes later is flushed at once.
  ASSERT_TRUE(rig.b->post(SendOpcode::send, 50, 0, 10));
  rig.run();
  EXPECT_EQ(rig.b->find(50)->status, CompletionStatus::flushed);
}

TEST_P(Ndk, RefusalsComeWithTheirPrivateData) {
  DeviceRig rig(GetParam());
  rig.b->refuse = true;
  rig.b->reply_data = pattern(4, 20);
  rig.connect();
  EXPECT_EQ(rig.a->rejected, rdma::reject_reason::consumer_defined);
  ASSERT_GE(rig.a->told.size(), 20u);
  EXPECT_EQ(Bytes(rig.a->told.begin(), rig.a->told.begin() + 20), rig.b->reply_data);
}

TEST_P(Ndk, NobodyListens) {
  DeviceRig rig(GetParam());
  rig.a->make_qp();
  rig.a->connect({rig.b->device.address(), 9999});
  rig.run();
  EXPECT_EQ(rig.a->rejected, rdma::reject_reason::invalid_service_id);
}

TEST_P(Ndk, NobodyAnswers) {
  DeviceRig rig(GetParam());
  rig.a->make_qp();
  rig.a->connect({IpAddress::v4(10, 0, 0, 77), 4420});
  rig.run();
  EXPECT_EQ(rig.a->unreachable, 1);
}

TEST_P(Ndk, AReplyIsHeldAndConfirmedOrRefused) {
  for (const bool confirm : {true, false}) {
    DeviceRig rig(GetParam());
    rig.a->parameters.hold_reply = true;
    rig.b->reply_data = pattern(4, 20);
    rig.connect();
    EXPECT_EQ(rig.a->accepted, 1);
    EXPECT_EQ(rig.a->established + rig.b->established, 0);
    if (confirm) {
      rig.a->qp->confirm();
    } else {
      rig.a->qp->refuse(rdma::reject_reason::consumer_defined, pattern(5, 10));
    }
    rig.run();
    EXPECT_EQ(rig.a->established, confirm ? 1 : 0);
    EXPECT_EQ(rig.b->established, confirm ? 1 : 0);
    EXPECT_EQ(rig.b->rejected, confirm ? 0 : rdma::reject_reason::consumer_defined);
  }
}

TEST_P(Ndk, ThePeerHearsTheSourcePort) {
  DeviceRig rig(GetParam());
  rig.a->parameters.source_port = 50123;
  rig.connect();
  EXPECT_EQ(rig.b->asked_by.port, 50123);
}

TEST_P(Ndk, ForbiddenAccessEndsTheConnection) {
  DeviceRig rig(GetParam());
  rig.connect();
  rig.a->post(SendOpcode::rdma_write, 1, 0, 64, [&](auto& request) {
    request.remote_address = rig.b->region->address() + rig.b->memory.size();
    request.rkey = rig.b->region->rkey();
  });
  rig.run();
  ASSERT_NE(rig.a->find(1), nullptr);
  EXPECT_EQ(rig.a->find(1)->status, CompletionStatus::remote_access_error);
  EXPECT_EQ(rig.a->errors, 1);
  EXPECT_EQ(rig.a->qp->state(), QpState::error);
}

TEST_P(Ndk, UnknownLocalKeysShowInTheCompletion) {
  DeviceRig rig(GetParam(), {.misuse = true});
  rig.connect();
  const rdma::Sge sge{0x4000, 64, 0xBAD00};
  rdma::SendRequest request;
  request.id = 3;
  request.sges = {&sge, 1};
  ASSERT_TRUE(rig.a->qp->post_send(request));
  rig.run();
  ASSERT_NE(rig.a->find(3), nullptr);
  EXPECT_EQ(rig.a->find(3)->status, CompletionStatus::local_protection_error);
}

TEST_P(Ndk, TooLongASendEndsBothEnds) {
  DeviceRig rig(GetParam());
  rig.connect();
  rig.a->post(SendOpcode::send, 1, 0, 5000);
  rig.run();
  EXPECT_EQ(rig.a->find(1)->status, CompletionStatus::remote_invalid_request);
  EXPECT_EQ(rig.b->find(100)->status, CompletionStatus::local_length_error);
}

TEST_P(Ndk, WhatItCannotItRefuses) {
  DeviceRig rig(GetParam());
  rig.connect();
  for (const SendOpcode opcode :
       {SendOpcode::send_with_immediate, SendOpcode::rdma_write_with_immediate, SendOpcode::compare_and_swap, SendOpcode::fetch_and_add}) {
    EXPECT_FALSE(rig.a->post(opcode, 1, 0, 8));
  }
  const rdma::DeviceLimits limits = rig.a->device.limits();
  EXPECT_FALSE(limits.chosen_key_bytes);
  EXPECT_FALSE(limits.immediate_data);
  EXPECT_FALSE(limits.atomics);
}

/// Everything is destroyed at once, in the middle of it all: nothing stays with the provider.
TEST_P(Ndk, DestructionAtAnyTimeLeavesNothing) {
  for (int steps = 0; steps < 60; steps += 3) {
    DeviceRig rig(GetParam());
    rig.a->make_qp();
    rig.b->listen();
    rig.a->post_receive(1);
    rig.a->connect({rig.b->device.address(), 4420});
    for (int i = 0; i < steps; ++i) rig.world->loop().step(rig.world->now() + Duration::s(1));
    if (rig.a->established > 0) rig.a->post(SendOpcode::send, 1, 0, 2000);
    rig.a.reset();
    rig.b.reset();
    EXPECT_TRUE(rig.end()) << steps;
  }
}

TEST_P(Ndk, QueuePairsAreMadeInsideEvents) {
  // The passive end's are, in on_connection_request(); here with many at once, and data at the first moment.
  DeviceRig rig(GetParam());
  rig.b->listen();
  std::vector<std::unique_ptr<End>> ends;
  for (int i = 0; i < 5; ++i) {
    ends.push_back(std::make_unique<End>(rig.a->device));
    End& end = *ends.back();
    end.make_qp();
    end.then = [&end] { EXPECT_TRUE(end.post(SendOpcode::send, 1, 0, 100)); };
    end.connect({rig.b->device.address(), 4420});
    rig.run();
    EXPECT_EQ(end.established, 1);
    EXPECT_EQ(end.count(CompletionStatus::success), 1u);
  }
  ends.clear();
  rig.run();
}

}  // namespace
}  // namespace fb::ndk
