// Registration, logical addresses, the privileged token, fast registration, windows.
#include "tests/networkdirect/ndk/provider/rig.h"

namespace fb::ndk {
namespace {

using testing::options_of;
using testing::Rig;
using testing::Side;

class Memory : public ::testing::TestWithParam<Answers> {
 protected:
  Rig rig{options_of(GetParam())};

  struct Lam {
    std::vector<std::uint64_t> room = std::vector<std::uint64_t>(512);
    ULONG size = 512 * 8;
    ULONG offset = 0;
    NDK_LOGICAL_ADDRESS_MAPPING* get() { return reinterpret_cast<NDK_LOGICAL_ADDRESS_MAPPING*>(room.data()); }
    const NDK_LOGICAL_ADDRESS* pages() { return reinterpret_cast<const NDK_LOGICAL_ADDRESS*>(room.data() + 2); }
  };
  static NTSTATUS build(Side& side, Lam& lam, MDL& mdl, SIZE_T length) {
    return side.request([&](auto c, PVOID x) {
      return side.adapter->Dispatch->NdkBuildLAM(side.adapter, &mdl, length, c, x, lam.get(), &lam.size, &lam.offset);
    });
  }
  static NTSTATUS initialize(Side& side, NDK_MR* region, ULONG pages, bool remote) {
    return side.request(
        [&](auto c, PVOID x) { return region->Dispatch->NdkInitializeFastRegisterMr(region, pages, remote ? 1 : 0, c, x); });
  }
  static constexpr ULONG kRemoteAll = NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE;
};
INSTANTIATE_TEST_SUITE_P(Ways, Memory, ::testing::Values(Answers::natural, Answers::before_return, Answers::later, Answers::random));

TEST_P(Memory, RegistersChainsThatLieSideBySide) {
  rig.a.pd = rig.a.make_pd();
  NDK_MR* mr = rig.a.make_mr();
  MDL mdls[3];
  for (std::size_t i = 0; i < 3; ++i) {
    MmInitializeMdl(&mdls[i], rig.a.memory.data() + i * 5000, 5000);
    mdls[i].Next = i < 2 ? &mdls[i + 1] : nullptr;
  }
  const auto reg = [&](SIZE_T length, ULONG flags) {
    return rig.a.request([&](auto c, PVOID x) { return mr->Dispatch->NdkRegisterMr(mr, mdls, length, flags, c, x); });
  };
  EXPECT_EQ(reg(15001, 0), STATUS_INVALID_PARAMETER);
  EXPECT_EQ(reg(15000, 0x100), STATUS_INVALID_PARAMETER);
  EXPECT_EQ(mr->Dispatch->NdkGetLocalTokenFromMr(mr), 0u);
  EXPECT_EQ(reg(15000, 0), STATUS_SUCCESS);
  EXPECT_NE(mr->Dispatch->NdkGetLocalTokenFromMr(mr), 0u);
  EXPECT_EQ(reg(15000, 0), STATUS_INVALID_DEVICE_REQUEST);
  const auto deregister = [&] { return rig.a.request([&](auto c, PVOID x) { return mr->Dispatch->NdkDeregisterMr(mr, c, x); }); };
  EXPECT_EQ(deregister(), STATUS_SUCCESS);
  EXPECT_EQ(deregister(), STATUS_INVALID_DEVICE_REQUEST);
  MmInitializeMdl(&mdls[1], rig.a.memory.data() + 5001, 4999);
  mdls[1].Next = &mdls[2];
  EXPECT_EQ(reg(15000, 0), STATUS_INVALID_PARAMETER);
  EXPECT_EQ(reg(5000, 0), STATUS_SUCCESS);
  rig.a.close(mr);
  rig.close();
}

TEST_P(Memory, RightsAreThoseOfTheFlags) {
  rig.make_and_connect();
  NDK_MR* readable = rig.b.make_mr();
  ASSERT_EQ(rig.b.register_mr(readable, rig.b.memory, NDK_MR_FLAG_ALLOW_REMOTE_READ), STATUS_SUCCESS);
  const UINT32 token = readable->Dispatch->NdkGetRemoteTokenFromMr(readable);
  ASSERT_EQ(rig.a.read(1, 0, 64, rig.b.at(0), token), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.a.results().at(0).Status, STATUS_SUCCESS);
  ASSERT_EQ(rig.a.write(2, 0, 64, rig.b.at(0), token), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.a.results().at(0).Status, STATUS_ACCESS_VIOLATION);
  rig.settle();
  EXPECT_EQ(rig.a.disconnected, 1);  // fatal for the connection, on both sides
  EXPECT_EQ(rig.b.disconnected, 1);
  rig.b.close(readable);
  rig.close();
}

TEST_P(Memory, LamTellsItsSizeAndPages) {
  MDL mdl;
  MmInitializeMdl(&mdl, rig.a.memory.data() + 100, 9000);
  ULONG size = 0;
  ULONG offset = 0;
  const auto build_lam = rig.a.adapter->Dispatch->NdkBuildLAM;
  EXPECT_EQ(build_lam(rig.a.adapter, &mdl, 9000, &testing::Answer::on_request, nullptr, nullptr, &size, &offset), STATUS_BUFFER_TOO_SMALL);
  const ULONG pages = (MmGetMdlByteOffset(&mdl) + 9000 + PAGE_SIZE - 1) >> PAGE_SHIFT;
  EXPECT_EQ(size, 16 + 8 * pages);
  Lam lam;
  ASSERT_EQ(build(rig.a, lam, mdl, 9000), STATUS_SUCCESS);
  EXPECT_EQ(lam.get()->AdapterPageCount, pages);
  EXPECT_EQ(lam.offset, MmGetMdlByteOffset(&mdl));
  for (ULONG i = 0; i < pages; ++i) {
    EXPECT_EQ(lam.pages()[i].QuadPart % PAGE_SIZE, 0);
    EXPECT_GE(static_cast<std::uint64_t>(lam.pages()[i].QuadPart), std::uint64_t{1} << 51);  // no pointer
  }
  rig.a.adapter->Dispatch->NdkReleaseLAM(rig.a.adapter, lam.get());
  rig.a.adapter->Dispatch->NdkReleaseLAM(rig.a.adapter, lam.get());
  MDL far;
  MmInitializeMdl(&far, rig.a.memory.data() + 30000, 100);
  mdl.Next = &far;
  EXPECT_EQ(build(rig.a, lam, mdl, 9100), STATUS_INVALID_PARAMETER);
}

TEST_P(Memory, PrivilegedTokenTakesLogicalAddresses) {
  rig.make_and_connect();
  Bytes unregistered(10000, 0x3C);
  MDL mdl;
  MmInitializeMdl(&mdl, unregistered.data(), unregistered.size());
  Lam lam;
  ASSERT_EQ(build(rig.a, lam, mdl, unregistered.size()), STATUS_SUCCESS);
  UINT32 token = 0;
  rig.a.pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(rig.a.pd, &token);
  NDK_SGE sges[2] = {};
  sges[0].LogicalAddress.QuadPart = lam.pages()[0].QuadPart + lam.offset;
  sges[0].Length = PAGE_SIZE - lam.offset;
  sges[1].LogicalAddress = lam.pages()[1];
  sges[1].Length = 1000;
  sges[0].MemoryRegionToken = sges[1].MemoryRegionToken = token;
  const ULONG total = sges[0].Length + sges[1].Length;
  ASSERT_EQ(rig.b.receive(1, 0, 8192), STATUS_SUCCESS);
  ASSERT_EQ(rig.a.qp->Dispatch->NdkSend(rig.a.qp, nullptr, sges, 2, 0), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.a.results().at(0).Status, STATUS_SUCCESS);
  EXPECT_EQ(rig.b.results().at(0).BytesTransferred, total);
  EXPECT_EQ(rig.b.memory[total - 1], 0x3C);
  // A pointer is no logical address.
  sges[0].VirtualAddress = unregistered.data();
  ASSERT_EQ(rig.a.qp->Dispatch->NdkSend(rig.a.qp, nullptr, sges, 1, 0), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.a.results().at(0).Status, STATUS_ACCESS_VIOLATION);
  rig.a.adapter->Dispatch->NdkReleaseLAM(rig.a.adapter, lam.get());
  rig.close();
}

TEST_P(Memory, FastRegistersAndInvalidates) {
  rig.make_and_connect();
  NDK_MR* fast = rig.a.make_mr(true);
  EXPECT_EQ(initialize(rig.a, fast, 1u << 20, true), STATUS_IMPLEMENTATION_LIMIT);
  ASSERT_EQ(initialize(rig.a, fast, 8, true), STATUS_SUCCESS);
  EXPECT_EQ(initialize(rig.a, fast, 8, true), STATUS_INVALID_DEVICE_REQUEST);
  const UINT32 token = fast->Dispatch->NdkGetRemoteTokenFromMr(fast);
  MDL mdl;
  MmInitializeMdl(&mdl, rig.a.memory.data() + 77, 20000);
  Lam lam;
  ASSERT_EQ(build(rig.a, lam, mdl, 20000), STATUS_SUCCESS);
  for (std::uint64_t round = 0; round < 3; ++round) {
    const std::uint64_t base = 0x7000000 * (round + 1) + lam.offset;
    const auto* table = rig.a.qp->Dispatch;
    const auto reg = [&](ULONG count, ULONG offset, SIZE_T length, std::uint64_t at, ULONG flags) {
      return table->NdkFastRegister(rig.a.qp, Side::word(5), fast, count, lam.pages(), offset, length, Side::word(at), flags);
    };
    const ULONG count = lam.get()->AdapterPageCount;
    EXPECT_EQ(reg(count, lam.offset, 20000, base + 1, kRemoteAll), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(reg(count, lam.offset, 30000, base, kRemoteAll), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(reg(9, lam.offset, 20000, base, kRemoteAll), STATUS_INVALID_PARAMETER);
    ASSERT_EQ(reg(count, lam.offset, 20000, base, kRemoteAll), STATUS_SUCCESS);
    rig.settle();
    auto done = rig.a.results();
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].Type, NdkOperationTypeFastRegister);
    EXPECT_EQ(fast->Dispatch->NdkGetRemoteTokenFromMr(fast), token);  // read once, good for ever
    rig.b.memory[9] = static_cast<std::uint8_t>(round + 1);
    ASSERT_EQ(rig.b.write(1, 0, 100, base + 1000, token), STATUS_SUCCESS);
    rig.settle();
    EXPECT_EQ(rig.b.results().at(0).Status, STATUS_SUCCESS);
    EXPECT_EQ(rig.a.memory[77 + 1009], round + 1);
    ASSERT_EQ(table->NdkInvalidate(rig.a.qp, Side::word(6), &fast->Header, 0), STATUS_SUCCESS);
    rig.settle();
    done = rig.a.results();
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].Type, NdkOperationTypeInvalidate);
    EXPECT_EQ(done[0].Status, STATUS_SUCCESS);
  }
  EXPECT_EQ(rig.a.qp->Dispatch->NdkInvalidate(rig.a.qp, nullptr, &rig.a.mr->Header, 0), STATUS_INVALID_PARAMETER);
  // Once more is once too often.
  ASSERT_EQ(rig.a.qp->Dispatch->NdkInvalidate(rig.a.qp, nullptr, &fast->Header, 0), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.a.results().at(0).Status, STATUS_INVALID_DEVICE_REQUEST);
  rig.a.adapter->Dispatch->NdkReleaseLAM(rig.a.adapter, lam.get());
  rig.a.close(fast);
  rig.close();
}

TEST_P(Memory, RemoteRightsNeedRemoteAccess) {
  rig.make_and_connect();
  NDK_MR* fast = rig.a.make_mr(true);
  ASSERT_EQ(initialize(rig.a, fast, 8, false), STATUS_SUCCESS);
  MDL mdl;
  MmInitializeMdl(&mdl, rig.a.memory.data(), 4096);
  Lam lam;
  ASSERT_EQ(build(rig.a, lam, mdl, 4096), STATUS_SUCCESS);
  const auto reg = [&](ULONG flags) {
    return rig.a.qp->Dispatch->NdkFastRegister(rig.a.qp, nullptr, fast, lam.get()->AdapterPageCount, lam.pages(), lam.offset, 4096,
                                               Side::word(0x10000 + lam.offset), flags);
  };
  EXPECT_EQ(reg(NDK_OP_FLAG_ALLOW_REMOTE_READ), STATUS_ACCESS_VIOLATION);
  EXPECT_EQ(reg(NDK_OP_FLAG_ALLOW_REMOTE_WRITE), STATUS_ACCESS_VIOLATION);
  EXPECT_EQ(reg(NDK_OP_FLAG_ALLOW_LOCAL_WRITE), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.a.results().size(), 1u);
  rig.a.adapter->Dispatch->NdkReleaseLAM(rig.a.adapter, lam.get());
  rig.a.close(fast);
  rig.close();
}

TEST_P(Memory, ScatteredPagesBehaveAsOneRegion) {
  rig.make_and_connect();
  NDK_MR* fast = rig.a.make_mr(true);
  ASSERT_EQ(initialize(rig.a, fast, 8, true), STATUS_SUCCESS);
  // Two whole pages that do not lie side by side, the later first.
  const std::size_t first = PAGE_SIZE - (rig.a.at(0) & (PAGE_SIZE - 1));
  std::uint8_t* const low = rig.a.memory.data() + first;
  std::uint8_t* const high = low + 3 * PAGE_SIZE;
  MDL mdls[2];
  MmInitializeMdl(&mdls[0], high, PAGE_SIZE);
  MmInitializeMdl(&mdls[1], low, PAGE_SIZE);
  Lam lams[2];
  ASSERT_EQ(build(rig.a, lams[0], mdls[0], PAGE_SIZE), STATUS_SUCCESS);
  ASSERT_EQ(build(rig.a, lams[1], mdls[1], PAGE_SIZE), STATUS_SUCCESS);
  const NDK_LOGICAL_ADDRESS pages[2] = {lams[0].pages()[0], lams[1].pages()[0]};
  const std::uint64_t base = 0x50000000;
  ASSERT_EQ(rig.a.qp->Dispatch->NdkFastRegister(rig.a.qp, nullptr, fast, 2, pages, 0, 2 * PAGE_SIZE, Side::word(base), kRemoteAll),
            STATUS_SUCCESS);
  rig.settle();
  ASSERT_EQ(rig.a.results().at(0).Status, STATUS_SUCCESS);
  const UINT32 token = fast->Dispatch->NdkGetRemoteTokenFromMr(fast);
  // The peer writes across the boundary; we see it when we hear of it.
  for (std::size_t i = 0; i < 200; ++i) rig.b.memory[i] = static_cast<std::uint8_t>(i + 1);
  ASSERT_EQ(rig.b.write(1, 0, 200, base + PAGE_SIZE - 100, token), STATUS_SUCCESS);
  ASSERT_EQ(rig.a.receive(9, 60000, 10), STATUS_SUCCESS);
  ASSERT_EQ(rig.b.send(2, 0, 1), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.b.results().size(), 2u);
  EXPECT_EQ(rig.a.results().size(), 1u);
  EXPECT_EQ(high[PAGE_SIZE - 100], 1);
  EXPECT_EQ(low[0], 101);
  EXPECT_EQ(low[99], 200);
  // We write, tell, and the peer reads.
  low[50] = 0xEE;
  ASSERT_EQ(rig.b.receive(3, 50000, 10), STATUS_SUCCESS);
  ASSERT_EQ(rig.a.send(3, 60000, 1), STATUS_SUCCESS);
  rig.settle();
  ASSERT_EQ(rig.b.read(4, 1000, 100, base + PAGE_SIZE, token), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.b.memory[1050], 0xEE);
  EXPECT_EQ(rig.b.memory[1000], 101);
  ASSERT_EQ(rig.a.qp->Dispatch->NdkInvalidate(rig.a.qp, nullptr, &fast->Header, 0), STATUS_SUCCESS);
  rig.settle();
  for (Lam& lam : lams) rig.a.adapter->Dispatch->NdkReleaseLAM(rig.a.adapter, lam.get());
  low[0] = 1;  // ours alone again
  rig.a.results();
  EXPECT_EQ(low[0], 1);
  rig.a.close(fast);
  rig.close();
}

TEST_P(Memory, WindowsOpenForOneQueuePair) {
  rig.make_and_connect();
  NDK_MW* window = rig.b.make_mw();
  NDK_MR* plain = rig.b.make_mr();
  ASSERT_EQ(rig.b.register_mr(plain, rig.b.memory, NDK_MR_FLAG_ALLOW_LOCAL_WRITE), STATUS_SUCCESS);
  const auto* table = rig.b.qp->Dispatch;
  const auto bind = [&](std::size_t offset, SIZE_T length, ULONG flags) {
    return table->NdkBind(rig.b.qp, Side::word(1), plain, window, rig.b.memory.data() + offset, length, flags);
  };
  EXPECT_EQ(bind(60000, 6000, NDK_OP_FLAG_ALLOW_REMOTE_READ), STATUS_ACCESS_VIOLATION);
  UINT32 last = 0;
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(bind(1000, 500, NDK_OP_FLAG_ALLOW_REMOTE_WRITE | NDK_OP_FLAG_ALLOW_REMOTE_READ), STATUS_SUCCESS);
    const UINT32 token = window->Dispatch->NdkGetRemoteTokenFromMw(window);
    EXPECT_NE(token, last);
    last = token;
    rig.settle();
    EXPECT_EQ(rig.b.results().at(0).Type, NdkOperationTypeBind);
    EXPECT_EQ(rig.b.request([&](auto c, PVOID x) { return plain->Dispatch->NdkDeregisterMr(plain, c, x); }), STATUS_DEVICE_BUSY);
    ASSERT_EQ(rig.a.write(1, 0, 500, rig.b.at(1000), token), STATUS_SUCCESS);
    rig.settle();
    EXPECT_EQ(rig.a.results().at(0).Status, STATUS_SUCCESS);
    ASSERT_EQ(table->NdkInvalidate(rig.b.qp, nullptr, &window->Header, 0), STATUS_SUCCESS);
    rig.settle();
    EXPECT_EQ(rig.b.results().at(0).Status, STATUS_SUCCESS);
  }
  ASSERT_EQ(bind(1000, 500, NDK_OP_FLAG_ALLOW_REMOTE_WRITE), STATUS_SUCCESS);
  rig.settle();
  ASSERT_EQ(rig.a.write(1, 0, 500, rig.b.at(1001), window->Dispatch->NdkGetRemoteTokenFromMw(window)), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.a.results().at(0).Status, STATUS_ACCESS_VIOLATION);
  rig.b.close(window);  // bound
  rig.b.close(plain);
  rig.close();
}

/// This memory stands on the wire from there on, whatever its pointers are.
struct MovedOnTheWire final : ProviderHooks {
  static constexpr std::uint64_t kWire = 0x500000000;
  std::uint64_t on_the_wire(std::uint64_t address) override { return address - base < length ? kWire + (address - base) : address; }
  std::uint64_t base = 0, length = 0;
};

TEST(MemoryOnTheWire, HooksChooseTheAddress) {
  MovedOnTheWire moved;
  ProviderOptions options;
  options.hooks = &moved;
  Rig rig(options);
  moved.base = reinterpret_cast<std::uintptr_t>(rig.b.memory.data());
  moved.length = rig.b.memory.size();
  rig.a.make_usual();
  rig.b.make_usual();
  rig.connect();
  rig.b.memory[5] = 0x77;
  ASSERT_EQ(rig.a.read(1, 100, 16, rig.b.at(0), rig.b.remote), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.a.results().at(0).Status, STATUS_SUCCESS);
  EXPECT_EQ(rig.a.memory[105], 0x77);
  ASSERT_EQ(rig.a.write(2, 200, 16, MovedOnTheWire::kWire + 300, rig.b.remote), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.a.results().at(0).Status, STATUS_SUCCESS);
  // Local buffers go by their pointers as ever.
  ASSERT_EQ(rig.b.receive(3, 1000, 16), STATUS_SUCCESS);
  ASSERT_EQ(rig.a.send(4, 100, 16), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.b.memory[1005], 0x77);
  rig.close();
}

}  // namespace
}  // namespace fb::ndk
