#include "tests/networkdirect/ndk/verifier/rig.h"

namespace fb::ndk::verifier {
namespace {

using Requests = Watched;

TEST_F(Requests, BuffersThatAreNotWhatTheyShould) {
  a.make_usual();
  NDK_MR* const unwritable = a.make_mr();
  Bytes bytes(4096);
  ASSERT_EQ(a.register_mr(unwritable, bytes, 0), STATUS_SUCCESS);
  const auto receive = [&](void* at, ULONG length, UINT32 token) {
    NDK_SGE sge = {};
    sge.VirtualAddress = at;
    sge.Length = length;
    sge.MemoryRegionToken = token;
    EXPECT_EQ(a.qp->Dispatch->NdkReceive(a.qp, nullptr, &sge, 1), STATUS_SUCCESS);
  };
  receive(a.memory.data(), 8, 0x12345678);
  EXPECT_EQ(found(), Names{"sge_token_unknown"});
  receive(a.memory.data() + a.memory.size() - 4, 8, a.local);
  EXPECT_EQ(found(), Names{"sge_outside_region"});
  receive(bytes.data(), 8, a.local);
  EXPECT_EQ(found(), Names{"sge_outside_region"});
  const UINT32 others = unwritable->Dispatch->NdkGetLocalTokenFromMr(unwritable);
  receive(bytes.data(), 8, others);
  EXPECT_EQ(found(), Names{"sge_not_writable"});
  ASSERT_EQ(deregister(a, unwritable), STATUS_SUCCESS);
  found();
  receive(bytes.data(), 8, others);
  EXPECT_EQ(found(), Names{"sge_token_invalid"});
  receive(nullptr, 0, 0x99);
  EXPECT_EQ(findings.story(), "");
}

TEST_F(Requests, TokensOfOtherSorts) {
  a.make_usual();
  // A region whose two tokens differ: the extension makes such.
  GUID id = kChosenAddressExtension;
  NDK_EXTENSION_INTERFACE extension = {};
  ASSERT_EQ(a.adapter->Dispatch->NdkQueryExtension(&a.adapter->Header, &id, kChosenAddressVersion, &extension), STATUS_SUCCESS);
  NDK_MR* const region = a.make_mr();
  MDL mdl;
  MmInitializeMdl(&mdl, a.memory.data(), 4096);
  ASSERT_EQ(a.request([&](auto c, PVOID x) {
    return static_cast<const ChosenAddressDispatch*>(extension.Dispatch)
        ->RegisterMrAt(region, &mdl, 4096, 0x100000, Side::kAllRights, c, x);
  }),
            STATUS_SUCCESS);
  const UINT32 remote = region->Dispatch->NdkGetRemoteTokenFromMr(region);
  ASSERT_NE(remote, region->Dispatch->NdkGetLocalTokenFromMr(region));
  NDK_SGE sge = a.sge(0, 8);
  sge.MemoryRegionToken = remote;
  a.qp->Dispatch->NdkReceive(a.qp, nullptr, &sge, 1);
  EXPECT_EQ(found(), Names{"sge_token_remote"});
  NDK_PD* const first = std::exchange(a.pd, a.make_pd());
  NDK_QP* const other = a.make_qp();
  sge.MemoryRegionToken = a.local;
  other->Dispatch->NdkReceive(other, nullptr, &sge, 1);
  EXPECT_EQ(found(), Names{"sge_of_other_domain"});
  a.pd = first;
  id.Data1 ^= 1;
  EXPECT_EQ(a.adapter->Dispatch->NdkQueryExtension(&a.adapter->Header, &id, kChosenAddressVersion, &extension), STATUS_NOT_SUPPORTED);
}

TEST_F(Requests, LogicalAddressesThatAreNotMapped) {
  a.make_usual();
  UINT32 token = 0;
  a.pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(a.pd, &token);
  Lam lam = mapping(a, 0, 6000);
  NDK_SGE sge = {};
  sge.LogicalAddress = lam.get()->AdapterPageArray[0];
  sge.LogicalAddress.QuadPart += lam.offset;
  sge.Length = 100;
  sge.MemoryRegionToken = token;
  ASSERT_EQ(a.qp->Dispatch->NdkReceive(a.qp, nullptr, &sge, 1), STATUS_SUCCESS);
  EXPECT_EQ(findings.story(), "");
  release(a, lam);
  EXPECT_EQ(found(), Names{"lam_released_in_use"});
  a.qp->Dispatch->NdkReceive(a.qp, nullptr, &sge, 1);
  EXPECT_EQ(found(), Names{"sge_logical_unmapped"});
}

TEST_F(Requests, MoreThanTheQueueTakes) {
  rig.make_and_connect();
  std::vector<NDK_SGE> many(5, a.sge(0, 8));
  EXPECT_NE(a.qp->Dispatch->NdkSend(a.qp, nullptr, many.data(), 5, 0), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"sge_count_exceeded"});
  EXPECT_NE(a.qp->Dispatch->NdkReceive(a.qp, nullptr, many.data(), 5), STATUS_SUCCESS);
  EXPECT_EQ(found(), (Names{"sge_count_exceeded", "receives_late"}));
  many.assign(200, a.sge(0, 8));
  EXPECT_NE(a.qp->Dispatch->NdkRead(a.qp, nullptr, many.data(), 200, b.at(0), b.remote, 0), STATUS_SUCCESS);
  EXPECT_EQ(found(), (Names{"sge_count_exceeded", "read_sge_count_exceeded"}));
  EXPECT_NE(a.send(1, 0, 65, NDK_OP_FLAG_INLINE), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"inline_too_long"});
  many.assign(4, a.sge(0, 0xFFFFFFFF));
  EXPECT_NE(a.qp->Dispatch->NdkSend(a.qp, nullptr, many.data(), 4, 0), STATUS_SUCCESS);
  EXPECT_EQ(found(), (Names{"sge_outside_region", "transfer_too_long"}));
  EXPECT_EQ(a.qp->Dispatch->NdkSend(a.qp, nullptr, nullptr, 1, 0), STATUS_INVALID_PARAMETER);
  EXPECT_EQ(found(), Names{"argument_null"});
  for (int i = 0; i < 33; ++i) a.receive(1, 0, 8);
  EXPECT_EQ(found(), Names{"queue_depth_exceeded"});
}

TEST_F(Requests, FlagsThatThereAreNot) {
  rig.make_and_connect();
  EXPECT_NE(a.send(1, 0, 8, 0x8000), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"op_flags_unknown"});
  EXPECT_NE(a.read(1, 0, 8, b.at(0), b.remote, NDK_OP_FLAG_INLINE), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"op_flags_misplaced"});
  EXPECT_NE(a.write(1, 0, 8, b.at(0), b.remote, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"op_flags_misplaced"});
}

TEST_F(Requests, BeforeAConnectionAndAfterIt) {
  a.make_usual();
  b.make_usual();
  EXPECT_NE(a.send(1, 0, 8), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"post_unconnected"});
  rig.connect();
  // Nobody has posted a receive: the peer's retries run out.
  ASSERT_EQ(a.write(1, 0, 8, b.at(0), b.remote ^ 0xFFFF00), STATUS_SUCCESS);
  settle();
  EXPECT_EQ(findings.story(), "");
  a.send(2, 0, 8);
  EXPECT_EQ(found(), Names{"post_after_end"});
}

TEST_F(Requests, BetweenTheAnswerAndItsCompletion) {
  a.make_usual();
  b.make_usual();
  rig.listen();
  Answer& connecting = rig.ask();
  Answer& accepting = rig.begin_accept();
  EXPECT_EQ(b.send(1, 0, 8), STATUS_CONNECTION_INVALID);
  EXPECT_EQ(found(), Names{"post_unconnected"});
  a.wait(connecting);
  Answer& completing = rig.begin_complete();
  a.wait(completing);
  b.wait(accepting);
  EXPECT_EQ(a.send(1, 0, 8), STATUS_SUCCESS);
  EXPECT_EQ(findings.story(), "");
}

TEST_F(Requests, ReadsWithoutALimit) {
  a.make_usual();
  b.make_usual();
  rig.listen();
  Answer& connecting = rig.ask();
  Answer& accepting = rig.begin_accept(16, 0);
  a.wait(connecting);
  rig.begin_complete();
  b.wait(accepting);
  rig.settle();
  b.read(1, 0, 8, a.at(0), a.remote);
  EXPECT_EQ(found(), Names{"read_without_limit"});
}

TEST_F(Requests, MoreThanTheQueueHolds) {
  rig.make_and_connect();
  for (int i = 0; i < 33; ++i) a.write(1, 0, 8, b.at(0), b.remote);
  EXPECT_EQ(found(), Names{"queue_depth_exceeded"});
}

TEST_F(Requests, BesideASharedQueue) {
  a.make_usual();
  a.srq = a.make_srq(8, 0);
  NDK_QP* const shared = a.make_qp();
  EXPECT_NE(shared->Dispatch->NdkReceive(shared, nullptr, nullptr, 0), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"receive_beside_shared"});
  for (int i = 0; i < 8; ++i) EXPECT_EQ(a.receive(1, 0, 64), STATUS_SUCCESS);
  EXPECT_EQ(a.receive(1, 0, 64), STATUS_NO_MORE_ENTRIES);
  EXPECT_EQ(found(), Names{"queue_depth_exceeded"});
  std::vector<NDK_SGE> many(5, a.sge(0, 8));
  EXPECT_NE(a.srq->Dispatch->NdkSrqReceive(a.srq, nullptr, many.data(), 5), STATUS_SUCCESS);
  EXPECT_EQ(found(), (Names{"sge_count_exceeded", "queue_depth_exceeded"}));
}

TEST_F(Requests, ChainsWithoutAnEnd) {
  rig.make_and_connect();
  ASSERT_EQ(a.write(1, 0, 8, b.at(0), b.remote, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
  ASSERT_EQ(a.write(2, 0, 8, b.at(0), b.remote), STATUS_SUCCESS);
  ASSERT_EQ(b.write(1, 0, 8, a.at(0), a.remote, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
  for (Side* side : {&b, &a}) {
    side->request([&](auto c, PVOID x) { return side->connector->Dispatch->NdkDisconnect(side->connector, c, x); });
    EXPECT_EQ(found(), side == &b ? Names{"deferred_without_end"} : Names{});
  }
}

TEST_F(Requests, ChainsThatTheirQueuePairDoesNotSurvive) {
  rig.make_and_connect();
  ASSERT_EQ(a.write(1, 0, 8, b.at(0), b.remote, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
  a.begin_close(std::exchange(a.qp, nullptr));
  EXPECT_EQ(found(), (Names{"deferred_without_end", "closed_connected"}));
}

using WithoutInvalidation = Lacking<NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED>;

TEST_F(WithoutInvalidation, ReadsThatInvalidate) {
  rig.make_and_connect();
  a.read(1, 0, 8, b.at(0), b.remote, NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE);
  EXPECT_EQ(found(), Names{"read_invalidate_unsupported"});
}

using WithSinks = Lacking<NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED>;

TEST_F(WithSinks, BuffersOfReads) {
  rig.make_and_connect();
  ASSERT_EQ(a.read(1, 0, 8, b.at(0), b.remote), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"read_sink_missing"});
  settle();
  ASSERT_EQ(deregister(a, a.mr), STATUS_SUCCESS);
  ASSERT_EQ(a.register_mr(a.mr, a.memory, Side::kAllRights | NDK_MR_FLAG_RDMA_READ_SINK), STATUS_SUCCESS);
  a.local = a.mr->Dispatch->NdkGetLocalTokenFromMr(a.mr);
  ASSERT_EQ(a.read(1, 0, 8, b.at(0), b.remote), STATUS_SUCCESS);
  EXPECT_EQ(findings.story(), "");
}

TEST_F(Requests, ReadsThatInvalidateMakeInvalid) {
  rig.make_and_connect();
  NDK_MR* const region = fast_region(a);
  Lam lam = mapping(a);
  ASSERT_EQ(fast_register(a, region, lam), STATUS_SUCCESS);
  NDK_SGE sge = {};
  sge.VirtualAddress = reinterpret_cast<PVOID>(std::uintptr_t{0x7000000} + lam.offset);
  sge.Length = 100;
  sge.MemoryRegionToken = region->Dispatch->NdkGetLocalTokenFromMr(region);
  ASSERT_EQ(a.qp->Dispatch->NdkRead(a.qp, nullptr, &sge, 1, b.at(0), b.remote, NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE), STATUS_SUCCESS);
  EXPECT_EQ(findings.story(), "");
  a.qp->Dispatch->NdkSend(a.qp, nullptr, &sge, 1, 0);
  EXPECT_EQ(found(), Names{"sge_token_invalid"});
}

}  // namespace
}  // namespace fb::ndk::verifier
