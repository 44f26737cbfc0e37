// Consumers that write NDK by hand, watched: the sides of the provider's rig with their adapters wrapped.
#pragma once

#include "tests/networkdirect/ndk/provider/rig.h"
#include "tests/networkdirect/ndk/verifier/watch.h"

namespace fb::ndk::verifier {

using ndk::testing::Address;
using ndk::testing::Answer;
using ndk::testing::kAddressA;
using ndk::testing::kAddressB;
using ndk::testing::kPort;
using ndk::testing::options_of;
using ndk::testing::Side;

/// A mapping as a consumer keeps it.
struct Lam {
  std::vector<std::uint64_t> storage = std::vector<std::uint64_t>(64);
  ULONG size = 512;
  ULONG offset = 0;
  NDK_LOGICAL_ADDRESS_MAPPING* get() { return reinterpret_cast<NDK_LOGICAL_ADDRESS_MAPPING*>(storage.data()); }
};

class Watched : public ::testing::Test {
 protected:
  using Names = std::vector<std::string>;

  explicit Watched(const ProviderOptions& options = {}, NDK_VERSION version = {2, 1}) : rig(options, version) {
    for (Side* side : {&a, &b}) {
      Watch& watch = watches[side == &a ? 0 : 1];
      watch.inner = side->adapter;
      watch.verifier = std::make_unique<Verifier>(side->kernel, VerifierOptions{}, findings);
      side->adapter = &watch.verifier->wrap(*watch.inner);
    }
  }
  ~Watched() override {
    for (Side* side : {&a, &b}) {
      side->left = true;
      if (watches[side == &a ? 0 : 1].inner != nullptr) close_adapter(*side);
    }
  }
  Verifier& verifier(const Side& side) { return *watches[&side == &a ? 0 : 1].verifier; }
  /// However much is left on it.
  std::vector<Leak> close_adapter(Side& side) {
    NDK_ADAPTER* const inner = std::exchange(watches[&side == &a ? 0 : 1].inner, nullptr);
    return verifier(side).close(*side.adapter, [&](NDK_ADAPTER& given) {
      EXPECT_EQ(&given, inner);
      side.provider->close(inner);
    });
  }
  Names found() { return findings.take(); }

  /// Both ends as an honest consumer leaves them: nothing may have been found that was not asked for.
  void leave() {
    for (Side* side : {&a, &b}) {
      if (side->cq != nullptr) side->cq->Dispatch->NdkArmCq(side->cq, NDK_CQ_NOTIFY_ANY);
      if (side->connector != nullptr) side->close(std::exchange(side->connector, nullptr));
      if (side->qp != nullptr) side->close(std::exchange(side->qp, nullptr));
      if (side->mr != nullptr) deregister(*side, side->mr);
      side->close_usual();
      EXPECT_TRUE(close_adapter(*side).empty());
    }
    EXPECT_EQ(findings.story(), "");
  }
  NTSTATUS deregister(Side& side, NDK_MR* region) {
    return side.request([&](auto c, PVOID x) { return region->Dispatch->NdkDeregisterMr(region, c, x); });
  }
  NTSTATUS initialize(Side& side, NDK_MR* region, ULONG pages = 8, bool remote = true) {
    return side.request(
        [&](auto c, PVOID x) { return region->Dispatch->NdkInitializeFastRegisterMr(region, pages, remote ? 1 : 0, c, x); });
  }
  NDK_MR* fast_region(Side& side, ULONG pages = 8, bool remote = true) {
    NDK_MR* const region = side.make_mr(true);
    EXPECT_EQ(initialize(side, region, pages, remote), STATUS_SUCCESS);
    return region;
  }
  NTSTATUS build(Side& side, Lam& lam, MDL* mdl, SIZE_T length) {
    return side.request([&](auto c, PVOID x) {
      return side.adapter->Dispatch->NdkBuildLAM(side.adapter, mdl, length, c, x, lam.get(), &lam.size, &lam.offset);
    });
  }
  Lam mapping(Side& side, std::size_t at = 0, std::size_t bytes = 4096) {
    Lam lam;
    MDL mdl;
    MmInitializeMdl(&mdl, side.memory.data() + at, bytes);
    EXPECT_EQ(build(side, lam, &mdl, bytes), STATUS_SUCCESS);
    return lam;
  }
  void release(Side& side, Lam& lam) { side.adapter->Dispatch->NdkReleaseLAM(side.adapter, lam.get()); }
  static constexpr ULONG kRights = NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE;
  NTSTATUS fast_register(Side& side, NDK_MR* region, Lam& lam, SIZE_T length = 2048, ULONG flags = kRights) {
    const auto base = std::uintptr_t{0x7000000} + lam.offset;
    return side.qp->Dispatch->NdkFastRegister(side.qp, Side::word(50), region, lam.get()->AdapterPageCount, lam.get()->AdapterPageArray,
                                              lam.offset, length, reinterpret_cast<PVOID>(base), flags);
  }
  NTSTATUS invalidate(Side& side, NDK_OBJECT_HEADER& object) {
    return side.qp->Dispatch->NdkInvalidate(side.qp, Side::word(51), &object, 0);
  }
  /// Everything that is on its way comes, and its results are taken.
  void settle() {
    rig.settle();
    for (Side* side : {&a, &b}) {
      if (side->cq != nullptr) side->results();
    }
  }

  struct Watch {
    NDK_ADAPTER* inner = nullptr;
    std::unique_ptr<Verifier> verifier;
  };
  Findings findings;
  Watch watches[2];
  ndk::testing::Rig rig;
  Side& a = rig.a;
  Side& b = rig.b;
};

/// The adapter says that it cannot do certain things.
template <ULONG Flags>
class Lacking : public Watched {
 protected:
  Lacking() {
    table = *watches[0].inner->Dispatch;
    ask = std::exchange(table.NdkQueryAdapterInfo, &Lacking::query);
    watches[0].inner->Dispatch = &table;
    a.adapter = &verifier(a).wrap(*watches[0].inner);
  }
  static NTSTATUS query(NDK_ADAPTER* adapter, NDK_ADAPTER_INFO* info, ULONG* size) {
    const NTSTATUS status = ask(adapter, info, size);
    if (status == STATUS_SUCCESS) info->AdapterFlags &= ~Flags;
    return status;
  }
  static inline NDK_ADAPTER_DISPATCH table;
  static inline NDK_FN_QUERY_ADAPTER_INFO ask = nullptr;
};

}  // namespace fb::ndk::verifier
