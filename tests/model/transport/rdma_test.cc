// NVMe over RDMA, both sides, over each device there is.
#include <gtest/gtest.h>

#include "model/transport/fault_points.h"
#include "model/transport/rdma_rules.h"
#include "tests/model/transport/rdma_bench.h"

namespace fb::transport {
namespace {

using testing::HostQueue;
using testing::MakeDevices;
using testing::pattern;
using testing::RdmaBench;
using testing::TargetQueue;
namespace sc = nvme::sc;

struct Rdma : ::testing::TestWithParam<MakeDevices> {
  RdmaBench bench{GetParam()};
};

nvme::Sqe with_sgl(std::uint8_t opcode, std::uint16_t cid, std::size_t bytes, const nvme::SglDescriptor& descriptor) {
  nvme::Sqe sqe = HostQueue::make(opcode, cid, bytes);
  const auto raw = descriptor.bytes();
  sqe.set(nvme::sqe::sgl1, ByteView{raw});
  return sqe;
}

TEST_P(Rdma, ConnectTellsBothSides) {
  auto admin = bench.connect(0);
  ASSERT_TRUE(admin->connected);
  EXPECT_EQ(admin->facts.controller_receive_entries, 31);
  EXPECT_EQ(admin->facts.reads_by_host, 0);
  EXPECT_EQ(bench.last_queue().channel->requested_qid(), 0);
  EXPECT_EQ(bench.last_queue().channel->entries(), 32u);
  EXPECT_EQ(bench.last_queue().channel->peer().address, bench.devices->host().address());
  const Bytes& req = bench.target_hooks.in["req"];
  ASSERT_GE(req.size(), 32u);
  EXPECT_EQ(to_hex(ByteView{req}.first(12)), "0000000020001f0000000000");
  const Bytes& rep = bench.host_hooks.in["rep"];
  ASSERT_GE(rep.size(), 32u);
  EXPECT_EQ(to_hex(ByteView{rep}.first(6)), "00001f000000");
  EXPECT_EQ(bench.controller->connections(), 1u);
}

TEST_P(Rdma, EverySizeBothWays) {
  auto host = bench.connect(1);
  const std::size_t sizes[] = {0, 1, 3, 64, 192, 193, 511, 4095, 4096, 4097, 65535, 131072, 1u << 20};
  for (const std::size_t size : sizes) {
    for (const bool in_capsule : {true, false}) {
      Bytes out = pattern(static_cast<std::uint32_t>(size), size);
      ASSERT_TRUE(host->write(3, out, in_capsule));
      bench.run();
      EXPECT_EQ(bench.last_queue().written, out) << size;
      const bool carried = in_capsule && size > 0 && size <= 4096;
      EXPECT_EQ(bench.last_queue().last_in_capsule.size(), carried ? size : 0u);
    }
    Bytes in(size);
    ASSERT_TRUE(host->read(4, in, 9));
    bench.run();
    EXPECT_EQ(in, pattern(9, size)) << size;
  }
  EXPECT_EQ(host->answers.size(), 3 * std::size(sizes));
  EXPECT_EQ(host->released.size(), host->answers.size());
  EXPECT_TRUE(host->ends.empty());
  for (const auto& answer : host->answers) EXPECT_TRUE(answer.status.ok());
}

TEST_P(Rdma, AllSlotsAtOnceManyTimes) {
  auto host = bench.connect(1, 128);
  std::vector<Bytes> buffers(128, Bytes(8192));
  int left = 3000, done = 0;
  host->on_free = [&](std::uint16_t slot) {
    if (slot % 2 == 0) {
      EXPECT_EQ(buffers[slot], pattern(slot, 8192));
    }
    ++done;
    if (--left < 0) return;
    if (slot % 2 == 0) {
      std::fill(buffers[slot].begin(), buffers[slot].end(), std::uint8_t{0});
      EXPECT_TRUE(host->read(slot, buffers[slot], slot));
    } else {
      EXPECT_TRUE(host->write(slot, buffers[slot]));
    }
  };
  for (std::uint16_t slot = 0; slot < 128; ++slot) host->read(slot, buffers[slot], slot);
  bench.run();
  EXPECT_EQ(done, 3128);
  EXPECT_TRUE(host->ends.empty());
}

TEST_P(Rdma, InvalidationIsAskedForHonouredOrMadeUpFor) {
  Bytes data = pattern(1, 8192);
  auto asks = bench.connect(1);
  asks->write(0, data, false);
  bench.run();
  ASSERT_EQ(asks->answers.size(), 1u);
  EXPECT_TRUE(asks->answers[0].facts.invalidated);

  // The controller may leave it to the host.
  bench.target_hooks.set("rdma.invalidate.never");
  for (int i = 0; i < 3; ++i) {
    asks->write(0, data, false);
    bench.run();
  }
  EXPECT_EQ(asks->answers.size(), 4u);
  EXPECT_FALSE(asks->answers[3].facts.invalidated);
  EXPECT_EQ(asks->released.size(), 4u);
  bench.target_hooks.on.clear();

  auto does_not = bench.connect(2, 32, false);
  for (int i = 0; i < 3; ++i) {
    does_not->write(0, data, false);
    bench.run();
    EXPECT_EQ(bench.last_queue().last_sqe[39], 0x40);
  }
  EXPECT_EQ(does_not->answers.size(), 3u);
  EXPECT_FALSE(does_not->answers[2].facts.invalidated);
  EXPECT_EQ(does_not->released.size(), 3u);

  bench.target_hooks.set("rdma.invalidate.not_asked");
  does_not->write(0, data, false);
  bench.run();
  ASSERT_EQ(does_not->answers.size(), 4u);
  EXPECT_TRUE(does_not->answers[3].facts.invalidated);
  EXPECT_TRUE(does_not->ends.empty());
}

TEST_P(Rdma, AnotherKeyInvalidatedEndsTheConnection) {
  for (const bool ignores : {false, true}) {
    bench.target_hooks.on.clear();
    auto host = bench.connect(1);
    Bytes held(4096), data(4096);
    // A command in progress whose key will be the wrong one.
    bench.last_queue().hold_pushed = true;
    host->read(7, held, 1);
    bench.run();
    bench.last_queue().hold_pushed = false;
    bench.target_hooks.set("rdma.invalidate.wrong_key");
    if (ignores) bench.host_hooks.set("rdma.host.invalidate.ignore_bogus");
    host->read(8, data, 2);
    bench.run();
    if (ignores) {
      EXPECT_TRUE(host->ends.empty());
      EXPECT_EQ(host->answers.size(), 1u);
    } else {
      ASSERT_EQ(host->ends.size(), 1u);
      EXPECT_EQ(host->ends[0].kind, ChannelEnd::Kind::lost);
      EXPECT_NE(host->ends[0].text.find("bogus remote invalidation"), std::string::npos);
      EXPECT_TRUE(host->answers.empty());
      EXPECT_EQ(bench.last_queue().ended.size(), 1u);
    }
  }
}

TEST_P(Rdma, LastKeyOfAList) {
  auto host = bench.connect(1);
  Bytes first = pattern(1, 300), second = pattern(2, 700);
  const auto a = host->channel->expose(10, first);
  const auto b = host->channel->expose(11, second);
  Bytes list;
  for (const auto& d : {nvme::SglDescriptor::keyed(a.address, 300, a.key, true), nvme::SglDescriptor::keyed(b.address, 700, b.key, true)}) {
    const auto raw = d.bytes();
    list.insert(list.end(), raw.begin(), raw.end());
  }
  const auto descriptor = nvme::SglDescriptor::list_in_capsule(0, 2);
  host->raw(with_sgl(testing::kWrite, 90, 1000, descriptor), list);
  bench.run();
  Bytes both = first;
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(bench.last_queue().written, both);
  ASSERT_EQ(host->answers.size(), 1u);
  EXPECT_EQ(host->answers[0].facts.invalidated_key, b.key);
  EXPECT_FALSE(host->channel->release(10, {}));
  EXPECT_TRUE(host->channel->release(11, {}));
  bench.run();
  EXPECT_EQ(host->released.back(), 10);

  const auto c = host->channel->expose(10, first);
  const auto d = host->channel->expose(11, second);
  EXPECT_NE(c.key, a.key);
  list.clear();
  for (const auto& k : {nvme::SglDescriptor::keyed(c.address, 300, c.key, true), nvme::SglDescriptor::keyed(d.address, 700, d.key, true)}) {
    const auto raw = k.bytes();
    list.insert(list.end(), raw.begin(), raw.end());
  }
  bench.target_hooks.set("rdma.invalidate.first_key");
  host->raw(with_sgl(testing::kRead, 91, 1000, descriptor), list);
  bench.run();
  const Bytes expected = pattern(0, 1000);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), expected.begin()));
  EXPECT_TRUE(std::equal(second.begin(), second.end(), expected.begin() + 300));
  ASSERT_EQ(host->answers.size(), 2u);
  EXPECT_EQ(host->answers[1].facts.invalidated_key, c.key);
}

TEST_P(Rdma, SglLongerThanTheTransferMovesOnlyTheTransfer) {
  auto host = bench.connect(1);
  Bytes memory(8192, 0xEE);
  const auto there = host->channel->expose(5, memory);
  host->raw(with_sgl(testing::kRead, 5, 512, nvme::SglDescriptor::keyed(there.address, 8192, there.key)));
  bench.run();
  ASSERT_EQ(host->answers.size(), 1u);
  Bytes expected(8192, 0xEE);
  const Bytes data = pattern(0, 512);
  std::copy(data.begin(), data.end(), expected.begin());
  EXPECT_EQ(memory, expected);
}

TEST_P(Rdma, BadSglsGetStatusesAndTheQueueGoesOn) {
  auto host = bench.connect(1);
  const auto status = [&](const nvme::SglDescriptor& descriptor, ByteView behind = {}) {
    host->raw(with_sgl(testing::kWrite, 99, 512, descriptor), behind);
    bench.run();
    return host->answers.empty() ? sc::internal_error : host->answers.back().status;
  };
  EXPECT_EQ(status(nvme::SglDescriptor::transport(512)), sc::sgl_descriptor_type_invalid);
  EXPECT_EQ(status(nvme::SglDescriptor::keyed(0, 100, 1)), sc::data_sgl_length_invalid);
  EXPECT_EQ(status(nvme::SglDescriptor::in_capsule(0, 512)), sc::sgl_offset_invalid);
  EXPECT_EQ(status(nvme::SglDescriptor::list_in_capsule(0, 17), Bytes(17 * 16)), sc::invalid_number_of_sgl_descriptors);
  EXPECT_EQ(status(nvme::SglDescriptor::in_capsule(0, 512), Bytes(512)), nvme::Status{});
  auto admin = bench.connect(0);
  admin->raw(with_sgl(testing::kWrite, 1, 512, nvme::SglDescriptor::in_capsule(0, 512)));
  bench.run();
  EXPECT_EQ(admin->answers.at(0).status, sc::sgl_descriptor_type_invalid);
  EXPECT_TRUE(host->ends.empty());
}

TEST_P(Rdma, CapsulesOfAWrongLengthEndTheConnection) {
  auto admin = bench.connect(0);
  admin->channel->send_raw(Bytes(65));
  bench.run();
  EXPECT_EQ(admin->ends.size(), 1u);
  EXPECT_EQ(bench.last_queue().ended.size(), 1u);
  EXPECT_EQ(bench.last_queue().commands, 0u);
  auto io = bench.connect(1);
  io->channel->send_raw(Bytes(63));
  bench.run();
  EXPECT_EQ(io->ends.size(), 1u);
  EXPECT_EQ(bench.last_queue().commands, 0u);
  auto large = bench.connect(2);
  large->channel->send_raw(Bytes(64 + 4096 + 1));
  bench.run();
  EXPECT_EQ(large->ends.size(), 1u);
  EXPECT_EQ(bench.last_queue().commands, 0u);
}

TEST_P(Rdma, BadKeysEndTheConnectionOnBothSides) {
  auto host = bench.connect(1);
  host->raw(with_sgl(testing::kWrite, 1, 512, nvme::SglDescriptor::keyed(0x1000, 512, 0x99900)));
  bench.run();
  EXPECT_EQ(host->ends.size(), 1u);
  EXPECT_EQ(bench.last_queue().ended.size(), 1u);
  EXPECT_TRUE(host->answers.empty());
  // The listener goes on.
  auto again = bench.connect(1);
  Bytes data = pattern(3, 5000);
  again->write(0, data);
  bench.run();
  EXPECT_EQ(bench.last_queue().written, data);
}

TEST_P(Rdma, RejectsAreReported) {
  const auto refused = [&](std::uint16_t qid, std::uint16_t entries) {
    auto host = bench.connect(qid, entries);
    if (host->ends.size() != 1 || host->connected) return std::pair{0, 0};
    EXPECT_EQ(host->ends[0].kind, ChannelEnd::Kind::refused);
    return std::pair<int, int>{host->ends[0].cm_reason, host->ends[0].status};
  };
  EXPECT_EQ(refused(65, 32), (std::pair{28, 3}));
  EXPECT_EQ(refused(0, 33), (std::pair{28, 4}));
  EXPECT_EQ(refused(1, 129), (std::pair{28, 4}));
  bench.host_hooks.set("rdma.host.request.recfmt");
  EXPECT_EQ(refused(0, 32), (std::pair{28, 2}));
  bench.host_hooks.on.clear();
  bench.host_hooks.set("rdma.host.request.hrqsize");
  EXPECT_EQ(refused(0, 32), (std::pair{28, 5}));
  bench.host_hooks.on.clear();
  bench.host_hooks.set("rdma.host.request.responder_resources");
  EXPECT_EQ(refused(0, 32), (std::pair{28, 7}));
  EXPECT_EQ(bench.controller->connections(), 0u);
  HostQueue elsewhere(*bench.host_fabric);
  Endpoint to = bench.controller->local();
  to.port = 4421;
  bench.host_hooks.on.clear();
  elsewhere.channel->connect(to, {});
  bench.run();
  ASSERT_EQ(elsewhere.ends.size(), 1u);
  EXPECT_EQ(elsewhere.ends[0].cm_reason, 8);
  EXPECT_FALSE(RdmaControllerFabric::start(*bench.world, bench.devices->target(), bench.options, bench.target).ok());
}

TEST_P(Rdma, EitherSideMayEnd) {
  auto host = bench.connect(1);
  host->hold(0);
  bench.run();
  host->channel->disconnect();
  bench.run();
  ASSERT_EQ(host->ends.size(), 1u);
  EXPECT_EQ(host->ends[0].kind, ChannelEnd::Kind::closed);
  EXPECT_EQ(bench.last_queue().ended.size(), 1u);
  EXPECT_FALSE(host->hold(1));

  auto second = bench.connect(2);
  bench.last_queue().channel->close();
  bench.run();
  ASSERT_EQ(second->ends.size(), 1u);
  EXPECT_EQ(second->ends[0].kind, ChannelEnd::Kind::lost);
  EXPECT_TRUE(bench.last_queue().ended.empty());

  auto third = bench.connect(3);
  bench.last_queue().destroy_on_end = true;
  third->destroy_on_response = true;
  Bytes data(4096);
  third->read(0, data, 1);
  bench.run();
  EXPECT_EQ(third->channel, nullptr);
  EXPECT_EQ(bench.last_queue().ended.size(), 1u);
  auto fourth = bench.connect(4);
  fourth->destroy_on_end = true;
  bench.target.queues.back().reset();
  bench.run();
  EXPECT_EQ(fourth->channel, nullptr);
  // The same channel may connect again.
  host->connected = false;
  ChannelOptions options;
  host->channel->connect(bench.controller->local(), options);
  bench.run();
  EXPECT_TRUE(host->connected);
}

TEST_P(Rdma, ManyCommandsWaitForTheirTurn) {
  // More data pieces than the send queue holds at once.
  auto host = bench.connect(1, 16);
  std::vector<Bytes> memory(16, Bytes(1600));
  Bytes list;
  bench.last_queue().hold_pushed = true;
  for (std::uint16_t slot = 0; slot < 16; ++slot) {
    const auto there = host->channel->expose(slot, memory[slot]);
    list.clear();
    for (std::uint32_t i = 0; i < 16; ++i) {
      const auto raw = nvme::SglDescriptor::keyed(there.address + i * 100, 100, there.key).bytes();
      list.insert(list.end(), raw.begin(), raw.end());
    }
    host->raw(with_sgl(testing::kRead, slot, 1600, nvme::SglDescriptor::list_in_capsule(0, 16)), list);
    bench.run();
  }
  EXPECT_EQ(bench.last_queue().held.size(), 16u);
  bench.last_queue().release_held();
  bench.run();
  EXPECT_EQ(host->answers.size(), 16u);
  for (const Bytes& m : memory) EXPECT_EQ(m, pattern(0, 1600));

  bench.last_queue().hold_pushed = false;
  for (std::uint16_t slot = 0; slot < 16; ++slot) {
    const auto there = host->channel->expose(slot, memory[slot]);
    list.clear();
    for (std::uint32_t i = 0; i < 16; ++i) {
      const auto raw = nvme::SglDescriptor::keyed(there.address + i * 100, 100, there.key).bytes();
      list.insert(list.end(), raw.begin(), raw.end());
    }
    host->raw(with_sgl(testing::kWrite, slot, 1600, nvme::SglDescriptor::list_in_capsule(0, 16)), list);
  }
  bench.run();
  EXPECT_EQ(host->answers.size(), 32u);
  EXPECT_EQ(bench.last_queue().written, pattern(0, 1600));
  EXPECT_TRUE(host->ends.empty());
}

TEST_P(Rdma, DroppedAndEarlyAnsweredCommands) {
  auto host = bench.connect(1);
  Bytes data = pattern(1, 1u << 20);
  bench.last_queue().hold_pulled = true;
  host->write(0, data);
  bench.run();
  ASSERT_EQ(bench.last_queue().held.size(), 1u);
  bench.last_queue().channel->drop(*bench.last_queue().held[0]);
  bench.last_queue().held.clear();
  EXPECT_EQ(bench.controller->staging_used(), 0u);
  bench.last_queue().hold_pulled = false;
  Bytes more = pattern(2, 100);
  for (std::uint16_t slot = 1; slot < 32; ++slot) host->write(slot, more);
  bench.run();
  EXPECT_EQ(host->answers.size(), 31u);
}

TEST_P(Rdma, AbortedWhileTheHostIsBeingRead) {
  for (const bool answers : {true, false}) {
    auto host = bench.connect(1, 8);
    TargetQueue& queue = bench.last_queue();
    queue.during_pull = [&](ArrivedCommand& command) {
      if (answers) return queue.finish(command, sc::abort_requested);
      queue.channel->drop(command);
    };
    Bytes data = pattern(1, 300000), small = pattern(2, 5000);
    for (std::uint16_t slot = 0; slot < 8; ++slot) host->write(slot, data);
    bench.run();
    EXPECT_EQ(host->answers.size(), answers ? 8u : 0u);
    EXPECT_TRUE(queue.written.empty());
    EXPECT_EQ(bench.controller->staging_used(), 0u);
    queue.during_pull = nullptr;
    if (answers) {
      EXPECT_EQ(host->released.size(), 8u);
      host->write(0, small);
      bench.run();
      EXPECT_EQ(queue.written, small);
    }
    EXPECT_TRUE(host->ends.empty());
  }
}

// Each point at which the controller may depart is asked for, and what it breaks is seen.
TEST_P(Rdma, ControllerDepartures) {
  const auto read = [&](std::string_view point, std::size_t sgl_bytes, Bytes& memory) {
    bench.target_hooks.on.clear();
    auto host = bench.connect(1);
    bench.target_hooks.set(point);
    memory.assign(sgl_bytes, 0xEE);
    const auto there = host->channel->expose(5, memory);
    host->raw(
        with_sgl(testing::kRead, 5, 512, nvme::SglDescriptor::keyed(there.address, static_cast<std::uint32_t>(sgl_bytes), there.key)));
    bench.run();
    EXPECT_GT(bench.target_hooks.on[std::string(point)], 0) << point;
    return host;
  };
  Bytes memory;
  EXPECT_EQ(read("rdma.response.two_sends", 512, memory)->ends.size(), 1u);
  EXPECT_EQ(read("rdma.response.longer", 512, memory)->ends.size(), 1u);
  EXPECT_EQ(read("rdma.data.beyond_length", 8192, memory)->answers.size(), 1u);
  EXPECT_NE(memory[520], 0xEE);
  EXPECT_EQ(read("rdma.data.beyond_length", 512, memory)->ends.size(), 1u);
  EXPECT_EQ(read("rdma.data.short", 512, memory)->answers.size(), 1u);
  EXPECT_EQ(memory[511], 0xEE);

  // The data comes when the response has been seen.
  bench.target_hooks.on.clear();
  auto host = bench.connect(1);
  host->auto_release = false;
  bench.target_hooks.set("rdma.data.after_response");
  Bytes late(1u << 20);
  host->read(0, late, 3);
  bench.world->run_until([&] { return !host->answers.empty(); }, Duration::s(10));
  EXPECT_NE(late, pattern(3, late.size()));
  host = bench.connect(2);
  bench.target_hooks.on.clear();
  bench.target_hooks.set("rdma.data.again_after_response");
  host->read(0, late, 3);
  bench.run();
  // The key is gone by then.
  EXPECT_EQ(host->answers.size(), 1u);
  EXPECT_EQ(host->ends.size(), 1u);
}

TEST_P(Rdma, ControllerDeparturesOnConnect) {
  bench.target_hooks.set("rdma.accept.recfmt");
  bench.target_hooks.set("rdma.accept.crqsize");
  bench.target_hooks.set("rdma.accept.responder_resources");
  bench.host_hooks.set("rdma.host.request.initiator_depth");  // more than it asks for it is not given
  auto host = bench.connect(0);
  EXPECT_EQ(to_hex(ByteView{bench.host_hooks.in["rep"]}.first(4)), "01002700");
  EXPECT_EQ(host->facts.reads_by_host, 4);
  bench.target_hooks.set("rdma.reject.qid");
  EXPECT_TRUE(bench.connect(65)->connected);
  bench.target_hooks.on.clear();
  bench.target_hooks.set("rdma.reject.status");
  EXPECT_EQ(bench.connect(65)->ends.at(0).status, 0x43);
  bench.target_hooks.set("rdma.reject.reason");
  EXPECT_EQ(bench.connect(65)->ends.at(0).cm_reason, 3);
  bench.target_hooks.on.clear();
  bench.target_hooks.set("rdma.capsule.short");
  bench.target_hooks.set("rdma.capsule.admin_room");
  host = bench.connect(0);
  host->channel->send_raw(Bytes(40));
  Bytes sqe(100);
  host->channel->send_raw(sqe);
  bench.run();
  EXPECT_EQ(bench.last_queue().commands, 2u);
}

TEST_P(Rdma, HostDepartures) {
  auto sent = [&](std::string_view point, std::uint16_t qid, std::size_t size) {
    bench.host_hooks.on.clear();
    bench.host_hooks.set(point);
    auto host = bench.connect(qid);
    Bytes data = pattern(1, size);
    host->write(0, data);
    bench.run();
    EXPECT_GT(bench.host_hooks.on[std::string(point)], 0) << point;
    return std::pair{host->ends.size(), bench.host_hooks.last_out.size()};
  };
  EXPECT_EQ(sent("rdma.host.capsule.admin_in_capsule", 0, 512), (std::pair{1ul, 576ul}));
  EXPECT_EQ(sent("rdma.host.capsule.too_long", 1, 5000), (std::pair{1ul, 5064ul}));
  EXPECT_EQ(sent("rdma.host.sgl.keyed_length", 1, 8192).first, 0ul);
  EXPECT_EQ(load_le<std::uint32_t>(&bench.last_queue().last_sqe[32]) & 0xFFFFFF, 4096u);
  const auto request = [&](std::string_view point, std::size_t at) {
    bench.host_hooks.on.clear();
    bench.host_hooks.set(point);
    bench.connect(1);
    return load_le<std::uint16_t>(&bench.target_hooks.in["req"][at]);
  };
  EXPECT_EQ(request("rdma.host.request.qid", 2), 2);
  EXPECT_EQ(request("rdma.host.request.hsqsize", 6), 15);
  EXPECT_EQ(request("rdma.host.request.cntlid", 8), 0x5A5);

  // A key that nobody invalidated still opens the host's memory.
  bench.host_hooks.on.clear();
  bench.host_hooks.set("rdma.host.invalidate.no_local");
  auto host = bench.connect(3, 32, false);
  Bytes data(4096);
  host->read(0, data, 1);
  bench.run();
  bench.target_hooks.set("rdma.data.again_after_response");
  for (int i = 0; i < 3; ++i) {
    host->read(0, data, 1);
    bench.run();
  }
  EXPECT_EQ(host->answers.size(), 4u);
  EXPECT_TRUE(host->ends.empty());

  // The memory of a command that is over: open to the controller, or not.
  for (const bool careless : {true, false}) {
    bench.host_hooks.on.clear();
    bench.target_hooks.on.clear();
    if (careless) bench.host_hooks.set("rdma.host.invalidate.no_local");
    bench.target_hooks.set("rdma.invalidate.never");
    auto queue = bench.connect(4);
    Bytes one(4096), two(4096);
    queue->read(0, one, 1);
    bench.run();
    EXPECT_EQ(one, pattern(1, one.size()));
    bench.target_hooks.set("rdma.data.left_key");
    queue->read(1, two, 2);
    bench.run();
    EXPECT_EQ(one, pattern(careless ? 2 : 1, one.size()));
    EXPECT_EQ(queue->ends.size(), careless ? 0u : 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(Over, Rdma, ::testing::Values(&testing::make_fake, &testing::make_soft),
                         [](const auto& made) { return made.param == &testing::make_fake ? "fake" : "softroce"; });

// ---- over the fake device alone ----

TEST(RdmaFake, ShortPrivateDataIsRefused) {
  RdmaBench bench;
  bench.host_hooks.set("rdma.host.request.length");
  auto host = bench.connect(0);
  ASSERT_EQ(host->ends.size(), 1u);
  EXPECT_EQ(host->ends[0].status, 1);
}

TEST(RdmaFake, NoResources) {
  RdmaBench bench;
  auto& target = static_cast<fake::FakeDevice&>(bench.devices->target());
  target.queue_pairs_left = 0;
  EXPECT_EQ(bench.connect(0)->ends.at(0).status, 6);
  auto& host = static_cast<fake::FakeDevice&>(bench.devices->host());
  host.queue_pairs_left = 0;
  const auto alone = bench.connect(0);
  EXPECT_EQ(alone->ends.at(0).kind, ChannelEnd::Kind::lost);
}

/// Kills the connection after each number of work requests in turn, until the whole exchange survives.
TEST(RdmaFake, LossAtEveryStep) {
  for (const std::size_t shared : {std::size_t{64} << 20, std::size_t{1}}) {
    bool survived = false;
    for (std::uint64_t step = 0; !survived; ++step) {
      ASSERT_LT(step, 200u);
      ControllerFabricOptions options;
      options.receive_memory_max = shared;
      RdmaBench bench(testing::make_fake, options);
      auto host = bench.connect(1);
      ASSERT_TRUE(host->connected);
      bench.devices->network()->dies_after = step;
      Bytes out = pattern(1, 9000), in(9000), small = pattern(2, 100);
      host->write(0, out);
      host->read(1, in, 5);
      host->write(2, small);
      host->hold(3);
      bench.run();
      bench.last_queue().release_held();
      bench.run();
      survived = host->ends.empty();
      if (survived) {
        EXPECT_EQ(host->answers.size(), 4u);
        EXPECT_EQ(in, pattern(5, 9000));
      } else {
        EXPECT_EQ(host->ends.size(), 1u) << step;
        EXPECT_EQ(host->ends[0].kind, ChannelEnd::Kind::lost);
        EXPECT_LE(bench.last_queue().ended.size(), 1u) << step;
      }
      host.reset();
      bench.run();
      bench.target.queues.clear();
      bench.run();
      EXPECT_EQ(bench.controller->staging_used(), 0u) << step;
      EXPECT_EQ(bench.controller->connections(), 0u);
      EXPECT_EQ(bench.controller->shared_receives_posted(), bench.controller->shared_receives()) << step;
    }
  }
}

TEST(RdmaFake, ThousandQueuesOfDepth128StaySmall) {
  ControllerFabricOptions options;
  options.io_queues_max = 1000;
  RdmaBench bench(testing::make_fake, options);
  std::vector<std::unique_ptr<HostQueue>> hosts;
  for (std::uint16_t q = 1; q <= 1000; ++q) hosts.push_back(bench.connect(q, 128));
  Bytes data(128 * 4096);
  for (auto& host : hosts) {
    ASSERT_TRUE(host->connected);
    const auto number = static_cast<std::size_t>(&host - hosts.data());
    if (number % 10 != 0) continue;
    TargetQueue& queue = *bench.target.queues[number];
    queue.data_source = [](MutableBytes) {};
    queue.hold_pushed = true;  // so that every entry has its staging memory at once
    for (std::uint16_t slot = 0; slot < 128; ++slot) {
      host->read(slot, MutableBytes{data}.subspan(slot * 4096u, 4096), slot);
    }
    bench.run();
    queue.release_held();
    bench.run();
    ASSERT_EQ(host->answers.size(), 128u);
  }
  EXPECT_LE(bench.controller->memory_held(), 100u << 20);
}

TEST(RdmaFake, SharedReceivesTakeTurnsAndStayBounded) {
  ControllerFabricOptions options;
  options.io_queues_max = 1000;
  options.receive_memory_max = 4u << 20;
  RdmaBench bench(testing::make_fake, options);
  std::vector<std::unique_ptr<HostQueue>> hosts;
  for (std::uint16_t q = 1; q <= 40; ++q) hosts.push_back(bench.connect(q, 128));
  EXPECT_LE(bench.controller->shared_receives() * (64 + 4096), 4u << 20);
  EXPECT_GE(bench.controller->shared_receives(), 896u);
  std::vector<Bytes> data;
  for (int i = 0; i < 128; ++i) data.push_back(pattern(static_cast<std::uint32_t>(i), 4096));
  for (auto& host : hosts) {
    for (std::uint16_t slot = 0; slot < 128; ++slot) host->write(slot, data[slot]);
  }
  bench.run();
  for (auto& host : hosts) EXPECT_EQ(host->answers.size(), 128u);
  for (auto& queue : bench.target.queues) EXPECT_EQ(queue->written, data[127]);
  // More commands than entries end their queue, and leave the buffers to the others.
  auto& greedy = *hosts[0];
  for (std::uint16_t i = 0; i < 200; ++i) greedy.raw(HostQueue::make(testing::kHold, i, 0));
  bench.run();
  EXPECT_EQ(greedy.ends.size(), 1u);
  hosts.clear();
  bench.target.queues.clear();
  bench.run();
  EXPECT_EQ(bench.controller->shared_receives_posted(), bench.controller->shared_receives());
}

}  // namespace
}  // namespace fb::transport
