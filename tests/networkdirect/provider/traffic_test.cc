#include "tests/networkdirect/provider/rig.h"

namespace fb::networkdirect {
namespace {

class Traffic : public testing::Test {
 protected:
  Traffic() { connection.connect(); }
  Rig rig;
  Connection connection{rig};
  Connection::End& a = connection.a;
  Connection::End& b = connection.b;

  std::vector<ND2_RESULT> results_a() { return rig.a.results(*a.queue.get()); }
  std::vector<ND2_RESULT> results_b() { return rig.b.results(*b.queue.get()); }
};

void* tag(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

TEST_F(Traffic, ASendArrivesWithAllThatAResultSays) {
  std::string text = "hello";
  std::copy(text.begin(), text.end(), a.memory.begin());
  ND2_SGE to = b.sge(100, 64), from = a.sge(0, 5);
  ASSERT_EQ(b.qp->Receive(tag(11), &to, 1), ND_SUCCESS);
  ASSERT_EQ(a.qp->Send(tag(22), &from, 1, 0), ND_SUCCESS);
  rig.settle();
  const auto sent = results_a(), received = results_b();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].Status, ND_SUCCESS);
  EXPECT_EQ(sent[0].RequestType, Nd2RequestTypeSend);
  EXPECT_EQ(sent[0].RequestContext, tag(22));
  EXPECT_EQ(sent[0].QueuePairContext, &a);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].Status, ND_SUCCESS);
  EXPECT_EQ(received[0].RequestType, Nd2RequestTypeReceive);
  EXPECT_EQ(received[0].RequestContext, tag(11));
  EXPECT_EQ(received[0].QueuePairContext, &b);
  EXPECT_EQ(received[0].BytesTransferred, 5u);
  EXPECT_EQ(std::string(b.memory.begin() + 100, b.memory.begin() + 105), text);
}

TEST_F(Traffic, AReadAndAWriteMoveDataByPointerAndToken) {
  for (std::size_t i = 0; i < 4096; ++i) b.memory[i] = static_cast<std::uint8_t>(i * 7);
  const UINT64 there = reinterpret_cast<std::uintptr_t>(b.memory.data());
  ND2_SGE sink = a.sge(0, 4096);
  ASSERT_EQ(a.qp->Read(tag(1), &sink, 1, there, b.region->GetRemoteToken(), 0), ND_SUCCESS);
  rig.settle();
  EXPECT_TRUE(std::equal(a.memory.begin(), a.memory.begin() + 4096, b.memory.begin()));
  ASSERT_EQ(a.qp->Write(tag(2), &sink, 1, there + 8192, b.region->GetRemoteToken(), 0), ND_SUCCESS);
  rig.settle();
  EXPECT_TRUE(std::equal(a.memory.begin(), a.memory.begin() + 4096, b.memory.begin() + 8192));
  const auto done = results_a();
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].RequestType, Nd2RequestTypeRead);
  EXPECT_EQ(done[1].RequestType, Nd2RequestTypeWrite);
  EXPECT_TRUE(results_b().empty());
}

TEST_F(Traffic, InlineDataIsTakenInTheCallWhateverItsToken) {
  std::uint8_t mine[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  ND2_SGE to = b.sge(0, 64);
  ND2_SGE pieces[2] = {{mine, 4, 0xDEADBEEF}, {mine + 4, 4, 0}};
  ASSERT_EQ(b.qp->Receive(nullptr, &to, 1), ND_SUCCESS);
  ASSERT_EQ(a.qp->Send(nullptr, pieces, 2, ND_OP_FLAG_INLINE), ND_SUCCESS);
  std::fill(std::begin(mine), std::end(mine), 0xEE);
  rig.settle();
  EXPECT_EQ(results_b().at(0).BytesTransferred, 8u);
  EXPECT_EQ(b.memory[0], 1);
  EXPECT_EQ(b.memory[7], 8);
  std::vector<std::uint8_t> large(65);
  ND2_SGE too_large = {large.data(), 65, 0};
  EXPECT_EQ(a.qp->Send(nullptr, &too_large, 1, ND_OP_FLAG_INLINE), ND_BUFFER_OVERFLOW);
}

TEST_F(Traffic, SilentRequestsFreeTheirPlaceWithTheNextThatSpeaks) {
  ND2_SGE none = a.sge(0, 0);
  const UINT64 there = reinterpret_cast<std::uintptr_t>(b.memory.data());
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 15; ++i) {
      ASSERT_EQ(a.qp->Write(nullptr, &none, 1, there, b.region->GetRemoteToken(), ND_OP_FLAG_SILENT_SUCCESS), ND_SUCCESS) << round;
    }
    ASSERT_EQ(a.qp->Write(tag(5), &none, 1, there, b.region->GetRemoteToken(), 0), ND_SUCCESS);
    EXPECT_EQ(a.qp->Write(tag(6), &none, 1, there, b.region->GetRemoteToken(), 0), ND_NO_MORE_ENTRIES);
    rig.settle();
    const auto done = results_a();
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].RequestContext, tag(5));
  }
}

TEST_F(Traffic, WhatIsWrongWithACallIsSaidInTheCall) {
  ND2_SGE one = a.sge(0, 4);
  ND2_SGE many[6] = {one, one, one, one, one, one};
  EXPECT_EQ(a.qp->Send(nullptr, &one, 1, 0x100), ND_INVALID_PARAMETER_4);
  EXPECT_EQ(a.qp->Send(nullptr, &one, 1, ND_OP_FLAG_ALLOW_READ), ND_INVALID_PARAMETER_4);
  EXPECT_EQ(a.qp->Write(nullptr, &one, 1, 0, 0, ND_OP_FLAG_ALLOW_WRITE), ND_INVALID_PARAMETER_6);
  EXPECT_EQ(a.qp->Read(nullptr, &one, 1, 0, 0, ND_OP_FLAG_INLINE), ND_INVALID_PARAMETER_6);
  EXPECT_EQ(a.qp->Send(nullptr, many, 6, 0), ND_DATA_OVERRUN);
  EXPECT_EQ(a.qp->Receive(nullptr, many, 6), ND_DATA_OVERRUN);
  EXPECT_EQ(a.qp->Send(nullptr, many, 5, 0), ND_SUCCESS);  // one more than asked for
  EXPECT_EQ(a.qp->Send(nullptr, nullptr, 0, 0), ND_SUCCESS);
}

struct LocalFault {
  const char* name;
  ULONG offset;
  ULONG length;
  bool bad_token;
};

TEST(TrafficFaults, LocalBuffersFailByCompletionAndEndTheConnection) {
  for (const LocalFault& fault : {LocalFault{"past the end", (1 << 16) - 4, 8, false}, LocalFault{"unknown token", 0, 8, true}}) {
    Rig rig;
    Connection c(rig);
    c.connect();
    ND2_SGE sge = c.a.sge(fault.offset, fault.length);
    if (fault.bad_token) sge.MemoryRegionToken ^= 0x5500;
    ND2_SGE waiting = c.a.sge(0, 64);
    ASSERT_EQ(c.a.qp->Receive(tag(9), &waiting, 1), ND_SUCCESS);
    ASSERT_EQ(c.a.qp->Send(tag(1), &sge, 1, 0), ND_SUCCESS) << fault.name;
    rig.settle(Duration::s(10));
    const auto done = rig.a.results(*c.a.queue.get());
    ASSERT_EQ(done.size(), 2u) << fault.name;
    EXPECT_EQ(done[0].Status, ND_ACCESS_VIOLATION) << fault.name;
    EXPECT_EQ(done[1].Status, ND_CANCELED) << fault.name;
    EXPECT_EQ(c.a.qp->Send(tag(2), &waiting, 1, 0), ND_SUCCESS);
    rig.settle();
    EXPECT_EQ(rig.a.results(*c.a.queue.get()).at(0).Status, ND_CANCELED) << fault.name;
  }
}

TEST(TrafficFaults, RemoteFaultsAreTheInitiatorsAndFlushThePeersReceives) {
  struct Case {
    const char* name;
    bool read;
    UINT64 offset;
    ULONG length;
    UINT32 token_change;
  };
  for (const Case& fault :
       {Case{"write past the end", false, (1 << 16) - 4, 8, 0}, Case{"read past the end", true, (1 << 16) - 4, 8, 0},
        Case{"write with a bad token", false, 0, 8, 0x00550000}, Case{"read with a bad token", true, 0, 8, 0x00550000}}) {
    Rig rig;
    Connection c(rig);
    c.connect();
    ND2_SGE waiting = c.b.sge(0, 64), sge = c.a.sge(0, fault.length);
    ASSERT_EQ(c.b.qp->Receive(tag(9), &waiting, 1), ND_SUCCESS);
    const UINT64 there = reinterpret_cast<std::uintptr_t>(c.b.memory.data()) + fault.offset;
    const UINT32 token = c.b.region->GetRemoteToken() ^ fault.token_change;
    ASSERT_EQ(fault.read ? c.a.qp->Read(tag(1), &sge, 1, there, token, 0) : c.a.qp->Write(tag(1), &sge, 1, there, token, 0), ND_SUCCESS);
    rig.settle(Duration::s(10));
    EXPECT_EQ(rig.a.results(*c.a.queue.get()).at(0).Status, ND_ACCESS_VIOLATION) << fault.name;
    const auto there_done = rig.b.results(*c.b.queue.get());
    ASSERT_EQ(there_done.size(), 1u) << fault.name;
    EXPECT_EQ(there_done[0].Status, ND_CANCELED) << fault.name;
  }
}

TEST(TrafficFaults, AReceiveThatIsTooSmallFailsBothSides) {
  Rig rig;
  Connection c(rig);
  c.connect();
  ND2_SGE to = c.b.sge(0, 1023), from = c.a.sge(0, 1024);
  ASSERT_EQ(c.b.qp->Receive(tag(1), &to, 1), ND_SUCCESS);
  ASSERT_EQ(c.a.qp->Send(tag(2), &from, 1, 0), ND_SUCCESS);
  rig.settle(Duration::s(10));
  EXPECT_EQ(rig.b.results(*c.b.queue.get()).at(0).Status, ND_DATA_OVERRUN);
  EXPECT_EQ(rig.a.results(*c.a.queue.get()).at(0).Status, ND_DATA_OVERRUN);
}

TEST(TrafficFaults, ASendWithoutAReceiveTimesOutAndTheReceiverSeesNothing) {
  Rig rig;
  Connection c(rig);
  c.connect();
  ND2_SGE from = c.a.sge(0, 64);
  ASSERT_EQ(c.a.qp->Send(tag(2), &from, 1, 0), ND_SUCCESS);
  rig.settle(Duration::s(10));
  EXPECT_EQ(rig.a.results(*c.a.queue.get()).at(0).Status, ND_IO_TIMEOUT);
  EXPECT_TRUE(rig.b.results(*c.b.queue.get()).empty());
}

TEST_F(Traffic, AReadWithAFenceBeforeASendIsSeenByIt) {
  // The send takes the bytes that the read brings.
  std::fill(b.memory.begin(), b.memory.begin() + 4096, 0x5A);
  ND2_SGE to = b.sge(8192, 4096), mine = a.sge(0, 4096);
  ASSERT_EQ(b.qp->Receive(nullptr, &to, 1), ND_SUCCESS);
  ASSERT_EQ(a.qp->Read(nullptr, &mine, 1, reinterpret_cast<std::uintptr_t>(b.memory.data()), b.region->GetRemoteToken(),
                       ND_OP_FLAG_SILENT_SUCCESS),
            ND_SUCCESS);
  ASSERT_EQ(a.qp->Send(nullptr, &mine, 1, ND_OP_FLAG_READ_FENCE), ND_SUCCESS);
  rig.settle();
  EXPECT_EQ(b.memory[8192], 0x5A);
  EXPECT_EQ(b.memory[8192 + 4095], 0x5A);
}

TEST_F(Traffic, DestructionInAnyOrderReportsNothingMore) {
  ND2_SGE to = b.sge(0, 64);
  ASSERT_EQ(b.qp->Receive(nullptr, &to, 1), ND_SUCCESS);
  EXPECT_EQ(b.queue.reset(), 0u);  // in front of what stands on it
  EXPECT_EQ(b.connector.reset(), 0u);
  EXPECT_EQ(b.qp.reset(), 0u);
  EXPECT_EQ(b.region.reset(), 0u);
  rig.settle(Duration::s(10));
  EXPECT_EQ(a.qp->Send(nullptr, nullptr, 0, 0), ND_SUCCESS);  // the peer has gone: cancelled
  rig.settle();
  EXPECT_EQ(results_a().at(0).Status, ND_CANCELED);
}

}  // namespace
}  // namespace fb::networkdirect
