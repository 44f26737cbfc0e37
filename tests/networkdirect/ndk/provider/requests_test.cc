// Flags of requests, refusals, failures, flushing.
#include "tests/networkdirect/ndk/provider/rig.h"

namespace fb::ndk {
namespace {

using testing::options_of;
using testing::Rig;
using testing::Side;

struct Connected {
  Rig rig;
  explicit Connected(const ProviderOptions& options = {}, NDK_VERSION version = {2, 1}) : rig(options, version) {
    rig.make_and_connect();
    for (std::uintptr_t i = 0; i < 20; ++i) EXPECT_EQ(rig.b.receive(100 + i, 1000 * i, 1000), STATUS_SUCCESS);
  }
};

TEST(Requests, SilentSuccessSaysNothing) {
  Connected t;
  EXPECT_EQ(t.rig.a.send(1, 0, 10, NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
  EXPECT_EQ(t.rig.a.send(2, 0, 10), STATUS_SUCCESS);
  EXPECT_EQ(t.rig.a.send(3, 0, 10, NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
  t.rig.settle();
  const auto done = t.rig.a.results();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].RequestContext, Side::word(2));
  EXPECT_EQ(t.rig.b.results().size(), 3u);
  // Failures always speak.
  EXPECT_EQ(t.rig.a.write(4, 0, 10, 0x1234, 0x55AA00, NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
  t.rig.settle();
  const auto failed = t.rig.a.results();
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].Status, STATUS_ACCESS_VIOLATION);
  t.rig.close();
}

TEST(Requests, FullQueueRefuses) {
  Connected t;
  for (std::uintptr_t i = 0; i < 32; ++i) ASSERT_EQ(t.rig.a.write(i, 0, 8, t.rig.b.at(0), t.rig.b.remote), STATUS_SUCCESS);
  EXPECT_EQ(t.rig.a.write(99, 0, 8, t.rig.b.at(0), t.rig.b.remote), STATUS_NO_MORE_ENTRIES);
  t.rig.settle();
  const auto done = t.rig.a.results();
  ASSERT_EQ(done.size(), 32u);
  for (std::uintptr_t i = 0; i < 32; ++i) EXPECT_EQ(done[i].RequestContext, Side::word(i));
  EXPECT_EQ(t.rig.a.write(99, 0, 8, t.rig.b.at(0), t.rig.b.remote), STATUS_SUCCESS);
  t.rig.settle();
  EXPECT_EQ(t.rig.a.results().size(), 1u);
  t.rig.close();
}

TEST(Requests, InlineDataIsCopiedAtOnceAndNeedsNoToken) {
  Connected t;
  std::uint8_t pieces[6][8];
  NDK_SGE sges[6] = {};
  for (int i = 0; i < 6; ++i) {  // more than the queue pair takes otherwise
    std::fill_n(pieces[i], 8, static_cast<std::uint8_t>(i + 1));
    sges[i].VirtualAddress = pieces[i];
    sges[i].Length = 8;
    sges[i].MemoryRegionToken = 0xBAD;
  }
  ASSERT_EQ(t.rig.a.qp->Dispatch->NdkSend(t.rig.a.qp, nullptr, sges, 6, NDK_OP_FLAG_INLINE), STATUS_SUCCESS);
  ASSERT_EQ(t.rig.a.qp->Dispatch->NdkWrite(t.rig.a.qp, nullptr, sges, 6, t.rig.b.at(50000), t.rig.b.remote, NDK_OP_FLAG_INLINE),
            STATUS_SUCCESS);
  for (auto& piece : pieces) std::fill_n(piece, 8, std::uint8_t{0});
  t.rig.settle();
  EXPECT_EQ(t.rig.b.memory[47], 6);
  EXPECT_EQ(t.rig.b.memory[50008], 2);
  sges[0].Length = 65;
  EXPECT_EQ(t.rig.a.qp->Dispatch->NdkSend(t.rig.a.qp, nullptr, sges, 1, NDK_OP_FLAG_INLINE), STATUS_BUFFER_OVERFLOW);
  EXPECT_EQ(t.rig.a.qp->Dispatch->NdkSend(t.rig.a.qp, nullptr, sges, 6, 0), STATUS_DATA_OVERRUN);
  EXPECT_EQ(t.rig.a.qp->Dispatch->NdkRead(t.rig.a.qp, nullptr, sges, 1, t.rig.b.at(0), t.rig.b.remote, NDK_OP_FLAG_INLINE),
            STATUS_INVALID_PARAMETER);
  EXPECT_EQ(t.rig.a.qp->Dispatch->NdkSend(t.rig.a.qp, nullptr, nullptr, 0, NDK_OP_FLAG_INLINE), STATUS_SUCCESS);
  t.rig.settle();
  EXPECT_EQ(t.rig.a.results().size(), 3u);
  t.rig.close();
}

TEST(Requests, DeferredOnesGoWithTheNextOrWithARefusal) {
  Connected t;
  ASSERT_EQ(t.rig.a.send(1, 0, 10, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
  ASSERT_EQ(t.rig.a.send(2, 0, 10, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
  t.rig.settle();
  EXPECT_TRUE(t.rig.b.results().empty());
  ASSERT_EQ(t.rig.a.send(3, 0, 10), STATUS_SUCCESS);
  t.rig.settle();
  EXPECT_EQ(t.rig.b.results().size(), 3u);
  auto done = t.rig.a.results();
  ASSERT_EQ(done.size(), 3u);
  EXPECT_EQ(done[0].RequestContext, Side::word(1));
  ASSERT_EQ(t.rig.a.send(4, 0, 10, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
  EXPECT_EQ(t.rig.a.send(5, 0, 10, 0x8000), STATUS_INVALID_PARAMETER);
  t.rig.settle();
  EXPECT_EQ(t.rig.b.results().size(), 1u);
  EXPECT_EQ(t.rig.a.results().size(), 1u);
  ASSERT_EQ(t.rig.a.send(6, 0, 10, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
  t.rig.a.qp->Dispatch->NdkFlush(t.rig.a.qp);
  done = t.rig.a.results();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].Status, STATUS_CANCELLED);
  t.rig.close();
}

TEST(Requests, FlagsOfLaterVersionsAreUnknownBefore) {
  ProviderOptions options;
  options.version = {1, 1};
  Rig rig(options, {1, 1});
  rig.a.make_usual();
  rig.b.make_usual();
  rig.listen();
  auto& connecting = rig.ask();
  auto& accepting = rig.b.begin([&](auto c, PVOID x) {
    return rig.b.connector->Dispatch->NdkAccept(rig.b.connector, rig.b.qp, 4, 4, nullptr, 0, &Side::on_disconnect, &rig.b, c, x);
  });
  rig.a.wait(connecting);
  auto& completing = rig.begin_complete();
  rig.a.wait(completing);
  rig.b.wait(accepting);
  ASSERT_EQ(accepting.end(), STATUS_SUCCESS);
  EXPECT_EQ(rig.a.send(1, 0, 10, NDK_OP_FLAG_DEFER), STATUS_INVALID_PARAMETER);
  EXPECT_EQ(rig.a.read(1, 0, 10, rig.b.at(0), rig.b.remote, NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE), STATUS_INVALID_PARAMETER);
  rig.close();
}

struct Fast {
  Fast(Rig& r, Side& s, std::size_t at, SIZE_T bytes) : rig(r), side(s), length(bytes) {
    mr = side.make_mr(true);
    EXPECT_EQ(side.request([&](auto c, PVOID x) { return mr->Dispatch->NdkInitializeFastRegisterMr(mr, 8, 1, c, x); }), STATUS_SUCCESS);
    MDL mdl;
    MmInitializeMdl(&mdl, side.memory.data() + at, bytes);
    ULONG size = sizeof room;
    ULONG offset = 0;
    EXPECT_EQ(side.request([&](auto c, PVOID x) {
      return side.adapter->Dispatch->NdkBuildLAM(side.adapter, &mdl, bytes, c, x, lam(), &size, &offset);
    }),
              STATUS_SUCCESS);
    base = 0x90000000 + offset;
    EXPECT_EQ(side.qp->Dispatch->NdkFastRegister(
                  side.qp, nullptr, mr, lam()->AdapterPageCount, reinterpret_cast<NDK_LOGICAL_ADDRESS*>(room + 2), offset, bytes,
                  Side::word(base), NDK_OP_FLAG_ALLOW_REMOTE_WRITE | NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_SILENT_SUCCESS),
              STATUS_SUCCESS);
    rig.settle();
    token = mr->Dispatch->NdkGetRemoteTokenFromMr(mr);
  }
  ~Fast() {
    side.adapter->Dispatch->NdkReleaseLAM(side.adapter, lam());
    side.close(mr);
  }
  NDK_LOGICAL_ADDRESS_MAPPING* lam() { return reinterpret_cast<NDK_LOGICAL_ADDRESS_MAPPING*>(room); }
  Rig& rig;
  Side& side;
  SIZE_T length;
  NDK_MR* mr = nullptr;
  std::uint64_t room[16] = {};
  std::uint64_t base = 0;
  UINT32 token = 0;
};

TEST(Requests, SendAndInvalidateInvalidatesAtThePeer) {
  Connected t;
  {
    Fast fast(t.rig, t.rig.b, 40000, 4000);
    ASSERT_EQ(t.rig.a.write(1, 0, 100, fast.base, fast.token), STATUS_SUCCESS);
    const NDK_SGE one = t.rig.a.sge(0, 10);
    ASSERT_EQ(t.rig.a.qp->Dispatch->NdkSendAndInvalidate(t.rig.a.qp, nullptr, &one, 1, 0, fast.token), STATUS_SUCCESS);
    t.rig.settle();
    const auto sent = t.rig.a.results();
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_EQ(sent[1].Type, NdkOperationTypeSend);
    const auto got = t.rig.b.results();
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].Type, NdkOperationTypeReceiveAndInvalidate);
    EXPECT_EQ(got[0].TypeSpecificCompletionOutput, fast.token);
    // A token that is not valid aborts the connection.
    ASSERT_EQ(t.rig.a.qp->Dispatch->NdkSendAndInvalidate(t.rig.a.qp, nullptr, &one, 1, 0, fast.token), STATUS_SUCCESS);
    t.rig.settle();
    EXPECT_EQ(t.rig.b.results().at(0).Status, STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(t.rig.a.disconnected, 1);
    EXPECT_EQ(t.rig.b.disconnected, 1);
    EXPECT_EQ(t.rig.b.reason, 2u);
  }
  t.rig.close();
}

TEST(Requests, ReadInvalidatesItsSink) {
  Connected t;
  {
    Fast fast(t.rig, t.rig.a, 40000, 4000);
    t.rig.b.memory[7] = 9;
    NDK_SGE sink = {};
    sink.VirtualAddress = Side::word(fast.base);
    sink.Length = 100;
    sink.MemoryRegionToken = fast.mr->Dispatch->NdkGetLocalTokenFromMr(fast.mr);
    ASSERT_EQ(t.rig.a.qp->Dispatch->NdkRead(t.rig.a.qp, Side::word(3), &sink, 1, t.rig.b.at(0), t.rig.b.remote,
                                            NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE),
              STATUS_SUCCESS);
    ASSERT_EQ(t.rig.a.send(4, 0, 1), STATUS_SUCCESS);
    t.rig.settle();
    const auto done = t.rig.a.results();
    ASSERT_EQ(done.size(), 2u);
    EXPECT_EQ(done[0].Type, NdkOperationTypeRead);
    EXPECT_EQ(done[0].Status, STATUS_SUCCESS);
    EXPECT_EQ(t.rig.a.memory[40007], 9);
    ASSERT_EQ(t.rig.a.qp->Dispatch->NdkInvalidate(t.rig.a.qp, nullptr, &fast.mr->Header, 0), STATUS_SUCCESS);
    t.rig.settle();
    EXPECT_EQ(t.rig.a.results().at(0).Status, STATUS_INVALID_DEVICE_REQUEST);
  }
  t.rig.close();
}

TEST(Requests, AFailedReadThatInvalidatesTellsOnce) {
  Connected t;
  {
    Fast fast(t.rig, t.rig.a, 40000, 4000);
    NDK_SGE sink = {};
    sink.VirtualAddress = Side::word(fast.base);
    sink.Length = 100;
    sink.MemoryRegionToken = fast.mr->Dispatch->NdkGetLocalTokenFromMr(fast.mr);
    ASSERT_EQ(
        t.rig.a.qp->Dispatch->NdkRead(t.rig.a.qp, Side::word(3), &sink, 1, t.rig.b.at(0), 0x123456, NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE),
        STATUS_SUCCESS);
    ASSERT_EQ(t.rig.a.send(4, 0, 1), STATUS_SUCCESS);
    t.rig.settle();
    const auto done = t.rig.a.results();
    ASSERT_EQ(done.size(), 2u);
    EXPECT_EQ(done[0].Status, STATUS_ACCESS_VIOLATION);
    EXPECT_EQ(done[0].Type, NdkOperationTypeRead);
    EXPECT_EQ(done[1].Status, STATUS_CANCELLED);
    EXPECT_EQ(done[1].RequestContext, Side::word(4));
  }
  t.rig.close();
}

TEST(Requests, FlushBeforeConnectingLeavesTheQueuePairGood) {
  Rig rig;
  rig.a.make_usual();
  rig.b.make_usual();
  EXPECT_EQ(rig.a.send(1, 0, 10), STATUS_CONNECTION_INVALID);
  ASSERT_EQ(rig.a.receive(1, 0, 100), STATUS_SUCCESS);
  ASSERT_EQ(rig.a.receive(2, 0, 100), STATUS_SUCCESS);
  rig.a.cq->Dispatch->NdkArmCq(rig.a.cq, NDK_CQ_NOTIFY_ANY);
  rig.a.qp->Dispatch->NdkFlush(rig.a.qp);
  rig.settle();
  EXPECT_EQ(rig.a.notified, 1);
  const auto flushed = rig.a.results();
  ASSERT_EQ(flushed.size(), 2u);
  EXPECT_EQ(flushed[1].Status, STATUS_CANCELLED);
  EXPECT_EQ(flushed[1].RequestContext, Side::word(2));
  ASSERT_EQ(rig.a.receive(3, 0, 100), STATUS_SUCCESS);
  rig.connect();
  ASSERT_EQ(rig.b.send(1, 0, 10), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.a.results().at(0).RequestContext, Side::word(3));
  rig.close();
}

TEST(Requests, FlushCancelsEverythingInOrder) {
  Connected t;
  for (std::uintptr_t i = 0; i < 5; ++i) ASSERT_EQ(t.rig.b.read(i, 0, 100, t.rig.a.at(0), t.rig.a.remote), STATUS_SUCCESS);
  t.rig.b.qp->Dispatch->NdkFlush(t.rig.b.qp);
  const auto flushed = t.rig.b.results();
  ASSERT_EQ(flushed.size(), 25u);
  for (std::uintptr_t i = 0; i < 25; ++i) {
    EXPECT_EQ(flushed[i].Status, STATUS_CANCELLED);
    EXPECT_EQ(flushed[i].RequestContext, Side::word(i < 5 ? i : 95 + i));
  }
  t.rig.settle();
  EXPECT_TRUE(t.rig.b.results().empty());
  ASSERT_EQ(t.rig.b.receive(1, 0, 10), STATUS_SUCCESS);  // accepted, and cancelled
  EXPECT_EQ(t.rig.b.results().at(0).Status, STATUS_CANCELLED);
  t.rig.close();
}

TEST(Requests, StatusesOfFailures) {
  {
    Connected t;  // longer than the receive
    ASSERT_EQ(t.rig.a.send(1, 0, 1001), STATUS_SUCCESS);
    t.rig.settle();
    EXPECT_EQ(t.rig.b.results().at(0).Status, STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(t.rig.a.results().at(0).Status, STATUS_DATA_OVERRUN);
    t.rig.close();
  }
  {
    Connected t;  // a local key that is none
    t.rig.a.local ^= 0x10000;
    ASSERT_EQ(t.rig.a.send(1, 0, 10), STATUS_SUCCESS);
    t.rig.settle();
    EXPECT_EQ(t.rig.a.results().at(0).Status, STATUS_ACCESS_VIOLATION);
    t.rig.close();
  }
  {
    Connected t;  // no receive in the end
    for (std::uintptr_t i = 0; i < 21; ++i) ASSERT_EQ(t.rig.a.send(i, 0, 10), STATUS_SUCCESS);
    t.rig.settle();
    const auto done = t.rig.a.results();
    ASSERT_EQ(done.size(), 21u);
    EXPECT_EQ(done[20].Status, STATUS_IO_TIMEOUT);
    EXPECT_EQ(t.rig.b.results().size(), 20u);
    t.rig.close();
  }
}

}  // namespace
}  // namespace fb::ndk
