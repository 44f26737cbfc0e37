#include <memory>

#if !defined(_WIN32)
#include <sys/mman.h>
#endif

#include "tests/networkdirect/verifier/rig.h"

namespace fb::networkdirect::verifier {
namespace {

class Memory : public Watched {
 protected:
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(8192);
  networkdirect::Request request;
};

TEST_F(Memory, RegisteringNothing) {
  auto made = empty_region(rig.a);
  EXPECT_EQ(made->Register(nullptr, 0, 0, &request), ND_INVALID_PARAMETER);
  EXPECT_EQ(made->Register(bytes.data(), 0, 0, &request), ND_INVALID_BUFFER_SIZE);
  EXPECT_EQ(findings.all.size(), 2u);
  EXPECT_EQ(found(), Names{"register_nothing"});
}

TEST_F(Memory, RegisteringTwice) {
  auto made = region(rig.a, bytes.data(), bytes.size());
  networkdirect::Request again;
  EXPECT_TRUE(FAILED(made->Register(bytes.data(), 4096, 0, &again)));
  EXPECT_EQ(found(), Names{"register_twice"});
  deregister(made);
  EXPECT_EQ(story(), "");
}

TEST_F(Memory, FlagsThatThereAreNot) {
  auto made = empty_region(rig.a);
  EXPECT_EQ(made->Register(bytes.data(), 4096, 0x100, &request), ND_INVALID_PARAMETER_3);
  EXPECT_EQ(found(), Names{"flags_unknown"});
}

TEST_F(Memory, TokensBeforeThereIsARegion) {
  auto made = empty_region(rig.a);
  made->GetLocalToken();
  made->GetRemoteToken();
  EXPECT_EQ(findings.all.size(), 2u);
  EXPECT_EQ(found(), Names{"token_before_register"});
}

TEST_F(Memory, DeregisteringWhatIsNotRegistered) {
  auto made = empty_region(rig.a);
  EXPECT_TRUE(FAILED(made->Deregister(&request)));
  EXPECT_EQ(found(), Names{"deregister_unregistered"});
}

TEST_F(Memory, DeregisteredWhileARequestUsesIt) {
  make_ends();
  ND2_SGE sge = a.sge(0, 64);
  ASSERT_EQ(a.qp->Receive(nullptr, &sge, 1), ND_SUCCESS);
  EXPECT_EQ(a.region->Deregister(&request), ND_PENDING);
  EXPECT_EQ(finish(a.region, request), ND_SUCCESS);
  EXPECT_EQ(found(), Names{"deregister_in_use"});
}

TEST_F(Memory, DeregisteredAfterAFlushAndAfterTheQueuePair) {
  make_ends();
  ND2_SGE mine = a.sge(0, 64), yours = b.sge(0, 64);
  ASSERT_EQ(a.qp->Receive(nullptr, &mine, 1), ND_SUCCESS);
  ASSERT_EQ(b.qp->Receive(nullptr, &yours, 1), ND_SUCCESS);
  ASSERT_EQ(a.qp->Flush(), ND_SUCCESS);
  b.qp.reset();
  deregister(a.region);
  deregister(b.region);
  EXPECT_EQ(story(), "");
}

TEST_F(Memory, ReleasedWhileRegistered) {
  auto made = region(rig.a, bytes.data(), bytes.size());
  made.reset();
  EXPECT_EQ(found(), Names{"region_released_registered"});
}

#if !defined(_WIN32)
TEST_F(Memory, UnmappedWhileRegistered) {
  void* const pages = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  auto made = region(rig.a, pages, 8192);
  munmap(pages, 8192);
  deregister(made);
  EXPECT_EQ(found(), Names{"region_memory_unmapped"});
}
#endif

TEST_F(Memory, BuffersThatAreNotWhatTheyShould) {
  make_ends();
  join();
  auto other = region(rig.a, bytes.data(), bytes.size(), ND_MR_FLAG_ALLOW_REMOTE_READ);
  const UINT32 others = other->GetLocalToken(), mine = a.region->GetLocalToken();
  const auto send = [&](const ND2_SGE& sge) { EXPECT_EQ(a.qp->Receive(nullptr, &sge, 1), ND_SUCCESS); };
  send({a.memory.data(), 8, 0x12345678});
  EXPECT_EQ(found(), Names{"sge_token_unknown"});
  send({a.memory.data() + a.memory.size() - 4, 8, mine});
  EXPECT_EQ(found(), Names{"sge_outside_region"});
  send({bytes.data(), 8, mine});
  EXPECT_EQ(found(), Names{"sge_outside_region"});
  send({bytes.data(), 8, others});
  EXPECT_EQ(found(), Names{"sge_not_writable"});
  deregister(other);
  EXPECT_EQ(found(), Names{"deregister_in_use"});
  send({bytes.data(), 8, others});
  EXPECT_EQ(found(), Names{"sge_token_deregistered"});
  send({nullptr, 0, 0});
  EXPECT_EQ(story(), "");
}

TEST_F(Memory, SinksOfReads) {
  make_ends();
  join();
  auto plain = region(rig.a, bytes.data(), bytes.size(), ND_MR_FLAG_ALLOW_LOCAL_WRITE);
  ND2_SGE sge = {bytes.data(), 8, plain->GetLocalToken()};
  const UINT64 there = reinterpret_cast<std::uintptr_t>(b.memory.data());
  ASSERT_EQ(a.qp->Read(nullptr, &sge, 1, there, b.region->GetRemoteToken(), 0), ND_SUCCESS);
  EXPECT_EQ(found(), Names{"read_sink_missing"});
}

class Windows : public Watched {
 protected:
  Windows() {
    make_ends();
    join();
    view = window(rig.a);
  }
  HRESULT bind_window(Ref<IND2MemoryRegion>& in, const void* at, SIZE_T length, ULONG flags = ND_OP_FLAG_ALLOW_READ) {
    const HRESULT status = a.qp->Bind(nullptr, in.get(), view.get(), at, length, flags);
    rig.settle();
    return status;
  }
  Ref<IND2MemoryWindow> view;
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(8192);
};

TEST_F(Windows, InARegionThatIsNone) {
  auto none = empty_region(rig.a);
  EXPECT_TRUE(FAILED(bind_window(none, bytes.data(), 64)));
  EXPECT_EQ(found(), Names{"bind_unregistered"});
}

TEST_F(Windows, BeyondTheRegion) {
  EXPECT_EQ(bind_window(a.region, a.memory.data() + 4, a.memory.size()), ND_ACCESS_VIOLATION);
  EXPECT_EQ(found(), Names{"bind_outside_region"});
}

TEST_F(Windows, WithMoreRightsThanTheRegion) {
  auto plain = region(rig.a, bytes.data(), bytes.size(), ND_MR_FLAG_ALLOW_REMOTE_READ);
  EXPECT_EQ(bind_window(plain, bytes.data(), 64, ND_OP_FLAG_ALLOW_WRITE), ND_ACCESS_VIOLATION);
  EXPECT_EQ(found(), Names{"bind_rights_missing"});
}

TEST_F(Windows, WithNoRights) {
  EXPECT_EQ(bind_window(a.region, a.memory.data(), 64, 0), ND_SUCCESS);
  EXPECT_EQ(findings.all.at(0).rule->severity, Severity::advice);
  EXPECT_EQ(found(), Names{"bind_grants_nothing"});
}

TEST_F(Windows, BoundAgain) {
  ASSERT_EQ(bind_window(a.region, a.memory.data(), 64), ND_SUCCESS);
  EXPECT_EQ(story(), "");
  bind_window(a.region, a.memory.data(), 64);
  EXPECT_EQ(found(), Names{"bind_of_bound_window"});
}

TEST_F(Windows, InvalidatedUnboundOrElsewhere) {
  auto other = rig.a.queue_pair(*a.queue.get());
  ASSERT_EQ(bind_window(a.region, a.memory.data(), 64), ND_SUCCESS);
  EXPECT_EQ(other->Invalidate(nullptr, view.get(), 0), ND_CONNECTION_INVALID);
  EXPECT_EQ(found(), (Names{"post_unconnected", "window_of_other_queue_pair"}));
  ASSERT_EQ(a.qp->Invalidate(nullptr, view.get(), 0), ND_SUCCESS);
  rig.settle();
  EXPECT_EQ(story(), "");
  ASSERT_EQ(a.qp->Invalidate(nullptr, view.get(), 0), ND_SUCCESS);
  EXPECT_EQ(found(), Names{"window_not_bound"});
}

TEST_F(Windows, TokensOfUnboundOnes) {
  view->GetRemoteToken();
  EXPECT_EQ(found(), Names{"window_token_invalid"});
  ASSERT_EQ(bind_window(a.region, a.memory.data(), 64), ND_SUCCESS);
  view->GetRemoteToken();
  EXPECT_EQ(story(), "");
  ASSERT_EQ(a.qp->Invalidate(nullptr, view.get(), 0), ND_SUCCESS);
  view->GetRemoteToken();
  EXPECT_EQ(found(), Names{"window_token_invalid"});
}

TEST_F(Windows, TheirRegionDeregistered) {
  ASSERT_EQ(bind_window(a.region, a.memory.data(), 64), ND_SUCCESS);
  networkdirect::Request request;
  EXPECT_EQ(a.region->Deregister(&request), ND_DEVICE_BUSY);
  EXPECT_EQ(found(), Names{"deregister_with_windows"});
}

}  // namespace
}  // namespace fb::networkdirect::verifier
