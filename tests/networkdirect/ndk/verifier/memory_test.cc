#include "tests/networkdirect/ndk/verifier/rig.h"

namespace fb::ndk::verifier {
namespace {

using Memory = Watched;

TEST_F(Memory, MdlsThatDoNotDescribeIt) {
  a.pd = a.make_pd();
  NDK_MR* const region = a.make_mr();
  const auto begin = [&](MDL* mdl, SIZE_T length) {
    return a.request([&](auto c, PVOID x) { return region->Dispatch->NdkRegisterMr(region, mdl, length, 0, c, x); });
  };
  EXPECT_EQ(begin(nullptr, 64), STATUS_INVALID_PARAMETER);
  EXPECT_EQ(found(), Names{"mdl_empty"});
  MDL mdl, apart;
  MmInitializeMdl(&mdl, a.memory.data(), 64);
  EXPECT_EQ(begin(&mdl, 65), STATUS_INVALID_PARAMETER);
  EXPECT_EQ(found(), Names{"mdl_too_short"});
  MmInitializeMdl(&apart, a.memory.data() + 100, 64);
  mdl.Next = &apart;
  EXPECT_EQ(begin(&mdl, 128), STATUS_INVALID_PARAMETER);
  EXPECT_EQ(found(), Names{"mdl_not_contiguous"});
  // What is not asked for may lie where it likes.
  EXPECT_EQ(begin(&mdl, 64), STATUS_SUCCESS);
  EXPECT_EQ(deregister(a, region), STATUS_SUCCESS);
  EXPECT_EQ(findings.story(), "");
  Lam lam;
  EXPECT_EQ(build(a, lam, nullptr, 64), STATUS_INVALID_PARAMETER);
  EXPECT_EQ(found(), Names{"mdl_empty"});
  MmInitializeMdl(&apart, a.memory.data() + 64, 64);
  EXPECT_EQ(begin(&mdl, 128), STATUS_SUCCESS);
  EXPECT_EQ(findings.story(), "");
}

class Pending : public Watched {
 protected:
  Pending() : Watched(options_of(Answers::later)) {}
};

TEST_F(Pending, MdlsThatChangeOnTheWay) {
  a.pd = a.make_pd();
  NDK_MR* const region = a.make_mr();
  MDL mdl;
  MmInitializeMdl(&mdl, a.memory.data(), 64);
  Answer& registering = a.begin([&](auto c, PVOID x) { return region->Dispatch->NdkRegisterMr(region, &mdl, 64, 0, c, x); });
  mdl.ByteCount = 32;
  a.wait(registering);
  EXPECT_EQ(found(), Names{"mdl_changed_in_flight"});
  Lam lam;
  mdl.ByteCount = 64;
  Answer& building = a.begin(
      [&](auto c, PVOID x) { return a.adapter->Dispatch->NdkBuildLAM(a.adapter, &mdl, 64, c, x, lam.get(), &lam.size, &lam.offset); });
  ++mdl.ByteOffset;
  a.wait(building);
  EXPECT_EQ(building.end(), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"mdl_changed_in_flight"});
}

TEST_F(Pending, TokensBeforeThereAreAny) {
  a.pd = a.make_pd();
  NDK_MR* const region = a.make_mr();
  region->Dispatch->NdkGetLocalTokenFromMr(region);
  EXPECT_EQ(found(), Names{"token_before_registration"});
  MDL mdl;
  MmInitializeMdl(&mdl, a.memory.data(), 64);
  Answer& registering = a.begin([&](auto c, PVOID x) { return region->Dispatch->NdkRegisterMr(region, &mdl, 64, 0, c, x); });
  region->Dispatch->NdkGetRemoteTokenFromMr(region);
  EXPECT_EQ(found(), Names{"token_before_registration"});
  a.wait(registering);
  region->Dispatch->NdkGetLocalTokenFromMr(region);
  EXPECT_EQ(findings.story(), "");
}

TEST_F(Memory, MappingsOfNobodyAndTwice) {
  Lam lam;
  release(a, lam);
  EXPECT_EQ(found(), Names{"lam_unknown"});
  lam = mapping(a);
  release(a, lam);
  EXPECT_EQ(findings.story(), "");
  release(a, lam);
  EXPECT_EQ(found(), Names{"lam_released_twice"});
}

TEST_F(Memory, MappingsThatWereChanged) {
  Lam lam = mapping(a, 0, 9000);
  lam.get()->AdapterPageArray[1].QuadPart += 4096;
  release(a, lam);
  EXPECT_EQ(found(), Names{"lam_changed"});
  const auto leaks = close_adapter(a);
  EXPECT_TRUE(leaks.empty());
}

TEST_F(Memory, MappingsThatAreInUse) {
  rig.make_and_connect();
  NDK_MR* const region = fast_region(a);
  Lam lam = mapping(a);
  ASSERT_EQ(fast_register(a, region, lam), STATUS_SUCCESS);
  settle();
  release(a, lam);
  EXPECT_EQ(found(), Names{"lam_released_in_use"});
}

TEST_F(Memory, MappingsAreFreeWhenTheInvalidationIsDone) {
  rig.make_and_connect();
  NDK_MR* const region = fast_region(a);
  Lam lam = mapping(a);
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(fast_register(a, region, lam), STATUS_SUCCESS);
    ASSERT_EQ(invalidate(a, region->Header), STATUS_SUCCESS);
    settle();
  }
  release(a, lam);
  Lam second = mapping(a);
  ASSERT_EQ(fast_register(a, region, second), STATUS_SUCCESS);
  settle();
  ASSERT_EQ(invalidate(a, region->Header), STATUS_SUCCESS);
  EXPECT_EQ(findings.story(), "");
  release(a, second);
  EXPECT_EQ(found(), Names{"lam_released_in_use"});
}

TEST_F(Memory, ThePeerInvalidatesToo) {
  a.make_usual();
  b.make_usual();
  ASSERT_EQ(a.receive(1, 0, 64), STATUS_SUCCESS);
  rig.connect();
  NDK_MR* const region = fast_region(a);
  Lam lam = mapping(a);
  ASSERT_EQ(fast_register(a, region, lam), STATUS_SUCCESS);
  settle();
  const UINT32 token = region->Dispatch->NdkGetRemoteTokenFromMr(region);
  ASSERT_EQ(b.qp->Dispatch->NdkSendAndInvalidate(b.qp, nullptr, nullptr, 0, 0, token), STATUS_SUCCESS);
  rig.settle();
  // Whoever asks without types hears nothing of it, and it is so all the same.
  NDK_RESULT plain[4];
  EXPECT_EQ(a.cq->Dispatch->NdkGetCqResults(a.cq, plain, 4), 1u);
  release(a, lam);
  Lam second = mapping(a);
  ASSERT_EQ(fast_register(a, region, second), STATUS_SUCCESS);
  EXPECT_EQ(findings.story(), "");
}

TEST_F(Memory, RegionsOfTheWrongSort) {
  a.pd = a.make_pd();
  NDK_MR* const fast = a.make_mr(true);
  NDK_MR* const plain = a.make_mr();
  EXPECT_NE(a.register_mr(fast, a.memory, 0), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"register_of_fast_region"});
  EXPECT_NE(initialize(a, plain), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"initialize_of_plain_region"});
  EXPECT_NE(deregister(a, fast), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"deregister_of_fast_region"});
}

TEST_F(Memory, RegistrationsAndTheirEnds) {
  a.pd = a.make_pd();
  NDK_MR* const region = a.make_mr();
  EXPECT_NE(deregister(a, region), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"deregister_unregistered"});
  EXPECT_NE(a.register_mr(region, a.memory, 0x40), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"register_flags_unknown"});
  MDL mdl;
  MmInitializeMdl(&mdl, a.memory.data(), 64);
  const SIZE_T much = (SIZE_T{1} << 40) + 1;
  EXPECT_NE(a.request([&](auto c, PVOID x) { return region->Dispatch->NdkRegisterMr(region, &mdl, much, 0, c, x); }), STATUS_SUCCESS);
  EXPECT_EQ(found(), (Names{"mdl_too_short", "registration_too_long"}));
  ASSERT_EQ(a.register_mr(region, a.memory, 0), STATUS_SUCCESS);
  EXPECT_NE(a.register_mr(region, a.memory, 0), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"registered_twice"});
  a.close(region);
  EXPECT_EQ(found(), Names{"region_closed_registered"});
}

TEST_F(Memory, DeregisteredInUse) {
  a.make_usual();
  ASSERT_EQ(a.receive(1, 0, 64), STATUS_SUCCESS);
  deregister(a, a.mr);
  EXPECT_EQ(found(), Names{"deregister_in_use"});
}

TEST_F(Memory, DeregisteredAfterAFlush) {
  a.make_usual();
  ASSERT_EQ(a.receive(1, 0, 64), STATUS_SUCCESS);
  a.qp->Dispatch->NdkFlush(a.qp);
  EXPECT_EQ(deregister(a, a.mr), STATUS_SUCCESS);
  EXPECT_EQ(findings.story(), "");
}

TEST_F(Memory, FastRegionsAndTheirPages) {
  a.pd = a.make_pd();
  NDK_MR* const region = a.make_mr(true);
  EXPECT_NE(initialize(a, region, 0), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"initialize_pages_wrong"});
  EXPECT_NE(initialize(a, region, 1u << 30), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"initialize_pages_wrong"});
  EXPECT_EQ(initialize(a, region), STATUS_SUCCESS);
  EXPECT_NE(initialize(a, region), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"initialized_twice"});
}

TEST_F(Memory, FastRegistrationsThatCannotBe) {
  rig.make_and_connect();
  NDK_MR* const empty = a.make_mr(true);
  NDK_MR* const region = fast_region(a, 1);
  NDK_MR* const local = fast_region(a, 8, false);
  Lam lam = mapping(a);
  Lam large = mapping(a, 0, 3 * 4096);
  EXPECT_NE(fast_register(a, a.mr, lam), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"fast_register_of_plain_region"});
  EXPECT_NE(fast_register(a, empty, lam), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"fast_region_uninitialized"});
  EXPECT_NE(fast_register(a, region, large), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"fast_pages_exceeded"});
  ++large.offset;
  const auto straight = reinterpret_cast<PVOID>(std::uintptr_t{0x7000000} + large.offset - 1);
  EXPECT_NE(a.qp->Dispatch->NdkFastRegister(a.qp, nullptr, local, 1, lam.get()->AdapterPageArray, large.offset, 8, straight, 0),
            STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"fast_offset_wrong"});
  EXPECT_NE(fast_register(a, local, lam, 1 << 20, NDK_OP_FLAG_ALLOW_LOCAL_WRITE), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"fast_length_exceeded"});
  EXPECT_EQ(fast_register(a, local, lam), STATUS_ACCESS_VIOLATION);
  EXPECT_EQ(found(), Names{"fast_remote_denied"});
  NDK_LOGICAL_ADDRESS nowhere = {};
  nowhere.QuadPart = 0x123000;
  EXPECT_NE(a.qp->Dispatch->NdkFastRegister(a.qp, nullptr, local, 1, &nowhere, 0, 8, nullptr, 0), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"fast_page_unknown"});
}

TEST_F(Memory, ValidIsRegisteredAndInvalidIsInvalidatedNotAgain) {
  rig.make_and_connect();
  NDK_MR* const region = fast_region(a);
  Lam lam = mapping(a);
  ASSERT_EQ(fast_register(a, region, lam), STATUS_SUCCESS);
  fast_register(a, region, lam);
  EXPECT_EQ(found(), Names{"fast_register_of_valid_region"});
}

TEST_F(Memory, InvalidationsThatCannotBe) {
  rig.make_and_connect();
  EXPECT_NE(invalidate(a, a.mr->Header), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"invalidate_of_plain_region"});
  invalidate(a, a.make_mr(true)->Header);
  EXPECT_EQ(found(), Names{"fast_region_uninitialized"});
  invalidate(a, fast_region(a)->Header);
  EXPECT_EQ(found(), Names{"invalidate_of_invalid_region"});
}

TEST_F(Memory, AfterAFailureNobodyKnows) {
  rig.make_and_connect();
  NDK_MR* const region = fast_region(a);
  invalidate(a, region->Header);
  settle();
  found();
  Lam lam = mapping(a);
  fast_register(a, region, lam);
  EXPECT_EQ(found(), Names{"post_after_end"});
}

TEST_F(Memory, WindowsWhereTheyCannotBe) {
  rig.make_and_connect();
  NDK_MW* const window = a.make_mw();
  NDK_MR* const unwritable = a.make_mr();
  const auto bind = [&](NDK_MR* region, std::size_t at, SIZE_T length, ULONG flags) {
    a.qp->Dispatch->NdkBind(a.qp, nullptr, region, window, a.memory.data() + at, length, flags);
  };
  bind(fast_region(a), 0, 64, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  EXPECT_EQ(found(), Names{"bind_of_fast_region"});
  bind(unwritable, 0, 64, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  EXPECT_EQ(found(), Names{"bind_unregistered"});
  bind(a.mr, a.memory.size() - 8, 64, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  EXPECT_EQ(found(), Names{"bind_outside_region"});
  ASSERT_EQ(a.register_mr(unwritable, a.memory, NDK_MR_FLAG_ALLOW_REMOTE_READ), STATUS_SUCCESS);
  bind(unwritable, 0, 64, NDK_OP_FLAG_ALLOW_REMOTE_WRITE);
  EXPECT_EQ(found(), Names{"bind_rights_missing"});
  bind(a.mr, 0, SIZE_T{1} << 40, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  EXPECT_EQ(found(), (Names{"bind_outside_region", "window_too_long"}));
  bind(a.mr, 0, 64, 0);
  EXPECT_EQ(found(), Names{"bind_grants_nothing"});
}

TEST_F(Memory, WindowsAreBoundOnceAndInvalidatedOnce) {
  rig.make_and_connect();
  NDK_MW* const window = a.make_mw();
  const auto bind = [&] {
    return a.qp->Dispatch->NdkBind(a.qp, nullptr, a.mr, window, a.memory.data(), 64, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  };
  ASSERT_EQ(bind(), STATUS_SUCCESS);
  settle();
  NDK_QP* const first = std::exchange(a.qp, a.make_qp());
  invalidate(a, window->Header);
  EXPECT_EQ(found(), (Names{"window_of_other_queue_pair", "post_unconnected"}));
  std::swap(a.qp, const_cast<NDK_QP*&>(first));
  deregister(a, a.mr);
  EXPECT_EQ(found(), Names{"deregister_with_windows"});
  ASSERT_EQ(invalidate(a, window->Header), STATUS_SUCCESS);
  settle();
  EXPECT_EQ(findings.story(), "");
  ASSERT_EQ(bind(), STATUS_SUCCESS);
  bind();
  EXPECT_EQ(found(), Names{"window_bound_already"});
}

TEST_F(Memory, WindowsThatAreNotBound) {
  rig.make_and_connect();
  invalidate(a, a.make_mw()->Header);
  EXPECT_EQ(found(), Names{"window_not_bound"});
}

}  // namespace
}  // namespace fb::ndk::verifier
