// Memory regions and windows.
#include <sys/mman.h>

#include "networkdirect/provider/extension.h"
#include "tests/networkdirect/provider/rig.h"

namespace fb::networkdirect {
namespace {

void* tag(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

TEST(Memory, RegistrationJudgesItsBuffer) {
  Rig rig;
  Ref<IND2MemoryRegion> region;
  ASSERT_EQ(rig.a.adapter->CreateMemoryRegion(IID_IND2MemoryRegion, rig.a.file, region.out()), ND_SUCCESS);
  std::uint8_t memory[64] = {};
  Request request;
  EXPECT_EQ(region->Register(nullptr, 0, 0, &request), ND_INVALID_PARAMETER);
  EXPECT_EQ(region->Register(memory, 0, 0, &request), ND_INVALID_BUFFER_SIZE);
  EXPECT_EQ(region->Register(nullptr, 64, 0, &request), ND_ACCESS_VIOLATION);
  EXPECT_EQ(region->Register(tag(4096), 64, 0, &request), ND_ACCESS_VIOLATION);
  EXPECT_EQ(region->Register(memory, ~std::size_t{0}, 0, &request), ND_INVALID_PARAMETER);
  EXPECT_EQ(region->Register(memory, 64, 0x100, &request), ND_INVALID_PARAMETER_3);
  EXPECT_EQ(region->Register(memory, 64, 0, nullptr), ND_INVALID_PARAMETER_4);
  EXPECT_EQ(region->Deregister(&request), ND_INVALID_DEVICE_STATE);
  ASSERT_EQ(region->Register(memory, 64, 0, &request), ND_PENDING);
  EXPECT_EQ(request.status(), ND_SUCCESS);
  EXPECT_EQ(region->Register(memory, 64, 0, &request), ND_INVALID_DEVICE_STATE);
  ASSERT_EQ(region->Deregister(&request), ND_PENDING);
  EXPECT_EQ(request.status(), ND_SUCCESS);
  ASSERT_EQ(region->Register(memory, 64, 0, &request), ND_PENDING);
  EXPECT_EQ(rig.a.drain_port().size(), 3u);
}

TEST(Memory, ALongBufferWithAHoleIsRefused) {
  constexpr std::size_t kBytes = 4u << 20;
  auto* memory = static_cast<std::uint8_t*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  munmap(memory + (3u << 20), 4096);
  Rig rig;
  Ref<IND2MemoryRegion> region;
  ASSERT_EQ(rig.a.adapter->CreateMemoryRegion(IID_IND2MemoryRegion, rig.a.file, region.out()), ND_SUCCESS);
  Request request;
  EXPECT_EQ(region->Register(memory, kBytes, 0, &request), ND_ACCESS_VIOLATION);
  EXPECT_EQ(region->Register(memory, 3u << 20, 0, &request), ND_PENDING);
  munmap(memory, kBytes);
}

TEST(Memory, PeersUseTheAddressThatTheExtensionSets) {
  Rig rig;
  Connection c(rig);
  c.connect();
  Ref<IFabricbenchMemoryRegion> region;
  ASSERT_EQ(rig.b.adapter->CreateMemoryRegion(IID_IFabricbenchMemoryRegion, rig.b.file, region.out()), ND_SUCCESS);
  std::vector<std::uint8_t> memory(4096, 3);
  Request request;
  ASSERT_EQ(region->RegisterAt(memory.data(), memory.size(), 0x1000, Connection::kAll, &request), ND_PENDING);
  ND2_SGE mine = c.a.sge(0, 4096);
  ASSERT_EQ(c.a.qp->Read(nullptr, &mine, 1, 0x1000, region->GetRemoteToken(), 0), ND_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.a.results(*c.a.queue.get()).at(0).Status, ND_SUCCESS);
  EXPECT_EQ(c.a.memory[4095], 3);
  // Locally it is the pointer as ever.
  ND2_SGE local = {memory.data(), 64, region->GetLocalToken()};
  ASSERT_EQ(c.b.qp->Receive(nullptr, &local, 1), ND_SUCCESS);
  ASSERT_EQ(c.a.qp->Send(nullptr, &mine, 0, 0), ND_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.b.results(*c.b.queue.get()).at(0).Status, ND_SUCCESS);
}

class Windows : public testing::Test {
 protected:
  Windows() {
    connection.connect();
    EXPECT_EQ(rig.b.adapter->CreateMemoryWindow(IID_IND2MemoryWindow, window.out()), ND_SUCCESS);
    plain = rig.b.region(memory.data(), memory.size(), ND_MR_FLAG_ALLOW_LOCAL_WRITE);
  }
  HRESULT access(bool read, std::size_t offset, ULONG length, UINT32 token) {
    ND2_SGE mine = a.sge(0, length);
    const UINT64 there = reinterpret_cast<std::uintptr_t>(memory.data()) + offset;
    EXPECT_EQ(read ? a.qp->Read(nullptr, &mine, 1, there, token, 0) : a.qp->Write(nullptr, &mine, 1, there, token, 0), ND_SUCCESS);
    rig.settle(Duration::s(5));
    return rig.a.results(*a.queue.get()).at(0).Status;
  }
  std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(8192, 9);
  Rig rig;
  Connection connection{rig};
  Connection::End& a = connection.a;
  Connection::End& b = connection.b;
  Ref<IND2MemoryWindow> window;
  Ref<IND2MemoryRegion> plain;  // without remote rights
};

TEST_F(Windows, GiveAccessToAPartOfARegionUntilTheyAreInvalidated) {
  ASSERT_EQ(b.qp->Bind(tag(1), plain.get(), window.get(), memory.data() + 4096, 1024, ND_OP_FLAG_ALLOW_READ | ND_OP_FLAG_ALLOW_WRITE),
            ND_SUCCESS);
  const UINT32 token = window->GetRemoteToken();  // valid before the completion
  rig.settle();
  const auto bound = rig.b.results(*b.queue.get());
  ASSERT_EQ(bound.size(), 1u);
  EXPECT_EQ(bound[0].RequestType, Nd2RequestTypeBind);
  EXPECT_EQ(access(true, 4096, 1024, token), ND_SUCCESS);
  EXPECT_EQ(access(false, 4096, 1024, token), ND_SUCCESS);
  Request request;
  EXPECT_EQ(plain->Deregister(&request), ND_DEVICE_BUSY);
  ASSERT_EQ(b.qp->Invalidate(tag(2), window.get(), 0), ND_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.b.results(*b.queue.get()).at(0).RequestType, Nd2RequestTypeInvalidate);
  EXPECT_EQ(plain->Deregister(&request), ND_PENDING);
  EXPECT_EQ(access(true, 4096, 64, token), ND_ACCESS_VIOLATION);
}

TEST_F(Windows, AccessBeyondThemIsFatal) {
  ASSERT_EQ(b.qp->Bind(nullptr, plain.get(), window.get(), memory.data(), 1024, ND_OP_FLAG_ALLOW_READ | ND_OP_FLAG_SILENT_SUCCESS),
            ND_SUCCESS);
  rig.settle();
  EXPECT_TRUE(rig.b.results(*b.queue.get()).empty());
  EXPECT_EQ(access(true, 0, 1025, window->GetRemoteToken()), ND_ACCESS_VIOLATION);
}

TEST_F(Windows, RightsAreThoseOfTheBind) {
  ASSERT_EQ(b.qp->Bind(nullptr, plain.get(), window.get(), memory.data(), 1024, ND_OP_FLAG_ALLOW_READ), ND_SUCCESS);
  rig.settle();
  EXPECT_EQ(access(false, 0, 64, window->GetRemoteToken()), ND_ACCESS_VIOLATION);
}

TEST_F(Windows, BelongToTheQueuePairThatBoundThem) {
  // Another connection of the same two adapters.
  auto queue = rig.a.completion_queue();
  auto qp_a = rig.a.queue_pair(*queue.get());
  auto qp_b = rig.b.queue_pair(*b.queue.get());
  auto connector_a = rig.a.connector();
  auto connector_b = rig.b.connector();
  Request connect, request, accept, complete;
  const Address from(rig.a.ip()), to(rig.b.ip(), Connection::kPort);
  ASSERT_EQ(connector_a->Bind(from.get(), from.length), ND_SUCCESS);
  ASSERT_EQ(connector_a->Connect(qp_a.get(), to.get(), to.length, 1, 1, nullptr, 0, &connect), ND_PENDING);
  ASSERT_EQ(connection.listener->GetConnectionRequest(connector_b.get(), &request), ND_PENDING);
  ASSERT_EQ(rig.finish(request), ND_SUCCESS);
  ASSERT_EQ(connector_b->Accept(qp_b.get(), 1, 1, nullptr, 0, &accept), ND_PENDING);
  ASSERT_EQ(rig.finish(connect), ND_SUCCESS);
  ASSERT_EQ(connector_a->CompleteConnect(&complete), ND_PENDING);
  ASSERT_EQ(rig.finish(accept), ND_SUCCESS);
  ASSERT_EQ(b.qp->Bind(nullptr, plain.get(), window.get(), memory.data(), 1024, ND_OP_FLAG_ALLOW_READ), ND_SUCCESS);
  rig.settle();
  ND2_SGE mine = a.sge(0, 64);
  ASSERT_EQ(qp_a->Read(nullptr, &mine, 1, reinterpret_cast<std::uintptr_t>(memory.data()), window->GetRemoteToken(), 0), ND_SUCCESS);
  rig.settle(Duration::s(5));
  EXPECT_EQ(rig.a.results(*queue.get()).at(0).Status, ND_ACCESS_VIOLATION);
  EXPECT_EQ(access(true, 0, 64, window->GetRemoteToken()), ND_SUCCESS);
}

TEST_F(Windows, BindsAreJudgedInTheCall) {
  auto readable = rig.b.region(memory.data(), memory.size(), 0);
  EXPECT_EQ(b.qp->Bind(nullptr, readable.get(), window.get(), memory.data(), 64, ND_OP_FLAG_ALLOW_WRITE), ND_ACCESS_VIOLATION);
  EXPECT_EQ(b.qp->Bind(nullptr, plain.get(), window.get(), memory.data() + 8190, 64, ND_OP_FLAG_ALLOW_READ), ND_ACCESS_VIOLATION);
  EXPECT_EQ(b.qp->Bind(nullptr, plain.get(), window.get(), memory.data(), 64, ND_OP_FLAG_INLINE), ND_INVALID_PARAMETER_6);
  EXPECT_EQ(b.qp->Bind(nullptr, window.get(), window.get(), memory.data(), 64, 0), ND_INVALID_PARAMETER_2);
  EXPECT_EQ(b.qp->Bind(nullptr, plain.get(), plain.get(), memory.data(), 64, 0), ND_INVALID_PARAMETER_3);
  EXPECT_EQ(b.qp->Bind(nullptr, plain.get(), window.get(), memory.data(), 64, 0), ND_SUCCESS);  // without any right
}

TEST_F(Windows, InvalidatingWhatIsNotBoundFailsByCompletion) {
  ASSERT_EQ(b.qp->Invalidate(tag(3), window.get(), 0), ND_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.b.results(*b.queue.get()).at(0).Status, ND_INVALID_DEVICE_REQUEST);
}

TEST_F(Windows, GoWithTheirQueuePair) {
  ASSERT_EQ(b.qp->Bind(nullptr, plain.get(), window.get(), memory.data(), 64, ND_OP_FLAG_ALLOW_READ), ND_SUCCESS);
  rig.settle();
  b.qp.reset();
  Request request;
  EXPECT_EQ(plain->Deregister(&request), ND_PENDING);
}

}  // namespace
}  // namespace fb::networkdirect
