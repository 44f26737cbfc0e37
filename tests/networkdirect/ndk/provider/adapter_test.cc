// Opening and closing adapters: versions, what they tell, levels, leaks; and the registry.
#include "tests/networkdirect/ndk/provider/rig.h"

namespace fb::ndk {
namespace {

using testing::Departs;
using testing::kAddressA;
using testing::Rig;
using testing::Side;

struct One {
  explicit One(const ProviderOptions& options = {}) : side(*world, network.add_host("a", kAddressA), "a", options) {}
  std::unique_ptr<World> world = World::make_virtual(1);
  net::SimNetwork network{*world};
  Side side;
};

struct Opening {
  NDK_VERSION provider, asked, got;
  bool good;
};

TEST(Adapter, NegotiatesVersions) {
  const Opening table[] = {
      {{1, 1}, {1, 0}, {1, 1}, true}, {{1, 1}, {1, 1}, {1, 1}, true}, {{1, 1}, {1, 2}, {}, false},    {{1, 1}, {2, 0}, {}, false},
      {{1, 2}, {1, 0}, {1, 2}, true}, {{1, 2}, {1, 2}, {1, 2}, true}, {{1, 2}, {1, 3}, {}, false},    {{1, 2}, {2, 0}, {}, false},
      {{2, 0}, {2, 0}, {2, 0}, true}, {{2, 0}, {2, 1}, {}, false},    {{2, 0}, {1, 1}, {1, 2}, true}, {{2, 1}, {3, 0}, {}, false},
      {{2, 1}, {2, 0}, {2, 1}, true}, {{2, 1}, {2, 1}, {2, 1}, true}, {{2, 1}, {1, 2}, {1, 2}, true}, {{2, 1}, {0, 1}, {}, false},
  };
  for (const Opening& each : table) {
    SCOPED_TRACE(std::to_string(each.provider.Major) + "." + std::to_string(each.provider.Minor) + " asked for " +
                 std::to_string(each.asked.Major) + "." + std::to_string(each.asked.Minor));
    ProviderOptions options;
    options.version = each.provider;
    One one(options);
    NDK_ADAPTER* adapter = nullptr;
    const NDIS_STATUS status = one.side.provider->open(each.asked, &adapter);
    ASSERT_EQ(status, each.good ? NDIS_STATUS_SUCCESS : NDIS_STATUS_BAD_VERSION);
    if (!each.good) continue;
    EXPECT_EQ(adapter->Header.Version.Major, each.got.Major);
    EXPECT_EQ(adapter->Header.Version.Minor, each.got.Minor);
    EXPECT_EQ(adapter->Header.ObjectType, NdkObjectTypeAdapter);
    one.side.provider->close(adapter);
  }
}

TEST(Adapter, TablesEndWhereTheVersionEnded) {
  for (const NDK_VERSION version : {NDK_VERSION{1, 1}, NDK_VERSION{1, 2}, NDK_VERSION{2, 0}, NDK_VERSION{2, 1}}) {
    ProviderOptions options;
    options.version = version;
    Rig rig(options, version);
    rig.a.make_usual();
    rig.a.connector = rig.a.make_connector();
    const bool has_12 = version.Major == 2 || version.Minor >= 2;
    const bool has_21 = version.Major == 2 && version.Minor == 1;
    EXPECT_EQ(rig.a.cq->Dispatch->NdkGetCqResultsEx != nullptr, has_12);
    EXPECT_EQ(rig.a.qp->Dispatch->NdkSendAndInvalidate != nullptr, has_12);
    EXPECT_EQ(rig.a.connector->Dispatch->NdkAcceptEx != nullptr, has_21);
    EXPECT_EQ(rig.a.connector->Dispatch->NdkCompleteConnectEx != nullptr, has_21);
    EXPECT_EQ(rig.a.qp->Header.Version.Minor, version.Minor);
    EXPECT_EQ(rig.a.qp->Header.ObjectType, NdkObjectTypeQp);
    EXPECT_EQ(rig.a.qp->Header.NdkReserved.rf[0], nullptr);
    ULONG size = 0;
    NDK_ADAPTER_INFO info = {};
    EXPECT_EQ(rig.a.adapter->Dispatch->NdkQueryAdapterInfo(rig.a.adapter, nullptr, &size), STATUS_BUFFER_TOO_SMALL);
    EXPECT_EQ(size, version.Major == 1 ? NDK_ADAPTER_INFO_SIZE_1 : sizeof info);
    EXPECT_EQ(rig.a.adapter->Dispatch->NdkQueryAdapterInfo(rig.a.adapter, &info, &size), STATUS_SUCCESS);
    EXPECT_EQ(info.RdmaTechnology, version.Major == 1 ? NdkUndefined : NdkRoCEv2);
    EXPECT_EQ((info.AdapterFlags & NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED) != 0, has_12);
    EXPECT_GE(info.FRMRPageCount, 16u);
    rig.close();
  }
}

TEST(Adapter, NoEntryIsNull) {
  Rig rig;
  rig.a.make_usual();
  const auto all_set = [](const auto& table) {
    const auto* entries = reinterpret_cast<void* const*>(&table);
    return std::all_of(entries, entries + sizeof table / sizeof(void*), [](void* entry) { return entry != nullptr; });
  };
  EXPECT_TRUE(all_set(*rig.a.adapter->Dispatch));
  EXPECT_TRUE(all_set(*rig.a.pd->Dispatch));
  EXPECT_TRUE(all_set(*rig.a.cq->Dispatch));
  EXPECT_TRUE(all_set(*rig.a.mr->Dispatch));
  EXPECT_TRUE(all_set(*rig.a.qp->Dispatch));
  rig.a.connector = rig.a.make_connector();
  EXPECT_TRUE(all_set(*rig.a.connector->Dispatch));
  rig.a.listener = rig.a.make_listener();
  EXPECT_TRUE(all_set(*rig.a.listener->Dispatch));
  rig.close();
}

TEST(Adapter, HasOneExtension) {
  Rig rig;
  NDK_EXTENSION_INTERFACE found = {};
  GUID ours = kChosenAddressExtension;
  GUID other = {1, 2, 3, {4}};
  const auto query = rig.a.adapter->Dispatch->NdkQueryExtension;
  EXPECT_EQ(query(&rig.a.adapter->Header, &other, {1, 0}, &found), STATUS_NOT_SUPPORTED);
  EXPECT_EQ(query(&rig.a.adapter->Header, &ours, {2, 0}, &found), STATUS_NOT_SUPPORTED);
  EXPECT_EQ(query(&rig.a.adapter->Header, &ours, {1, 0}, &found), STATUS_SUCCESS);
  rig.a.make_usual();
  EXPECT_EQ(rig.a.qp->Dispatch->NdkQueryExtension(&rig.a.qp->Header, &ours, {1, 0}, &found), STATUS_NOT_SUPPORTED);
  // Local SGEs go by pointer, the peer by the address that was chosen.
  rig.b.make_usual();
  NDK_MR* region = rig.a.make_mr();
  MDL mdl;
  MmInitializeMdl(&mdl, rig.a.memory.data(), 4096);
  EXPECT_EQ(rig.a.request([&](auto c, PVOID x) {
    return static_cast<const ChosenAddressDispatch*>(found.Dispatch)->RegisterMrAt(region, &mdl, 4096, 0x123450, Side::kAllRights, c, x);
  }),
            STATUS_SUCCESS);
  rig.connect();
  rig.b.memory[5] = 77;
  const UINT32 token = region->Dispatch->NdkGetRemoteTokenFromMr(region);
  ASSERT_EQ(rig.b.write(1, 0, 100, 0x123450 + 200, token), STATUS_SUCCESS);
  rig.settle();
  ASSERT_EQ(rig.b.results().at(0).Status, STATUS_SUCCESS);
  EXPECT_EQ(rig.a.memory[205], 77);
  rig.a.local = region->Dispatch->NdkGetLocalTokenFromMr(region);
  ASSERT_EQ(rig.b.receive(1, 100, 100), STATUS_SUCCESS);
  ASSERT_EQ(rig.a.send(1, 200, 100), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.b.memory[105], 77);
  rig.a.close(region);
  rig.close();
}

TEST(Adapter, LevelsAreChecked) {
  Rig rig;
  ULONG size = 0;
  rig.a.adapter->Dispatch->NdkQueryAdapterInfo(rig.a.adapter, nullptr, &size);
  EXPECT_TRUE(rig.a.kernel.findings().empty());
  {
    const IrqlRaiser raiser(rig.a.kernel);
    rig.a.adapter->Dispatch->NdkQueryAdapterInfo(rig.a.adapter, nullptr, &size);
    rig.a.pd = rig.a.make_pd();  // permitted
  }
  ASSERT_EQ(rig.a.kernel.findings().size(), 1u);
  EXPECT_EQ(rig.a.kernel.findings()[0].rule, kernel_rule::kIrql);
  EXPECT_EQ(rig.a.kernel.findings()[0].function, "NdkQueryAdapterInfo");
  EXPECT_EQ(rig.a.kernel.findings()[0].irql, DISPATCH_LEVEL);
  {
    const IrqlRaiser raiser(rig.a.kernel, 5);
    rig.a.make_cq(1);
    EXPECT_EQ(rig.a.kernel.findings().back().text, "NdkCreateCq was called at IRQL 5 and permits DISPATCH_LEVEL");
  }
  EXPECT_EQ(rig.a.kernel.irql(), PASSIVE_LEVEL);
  rig.a.left = true;
}

TEST(Adapter, CallbacksRunAtDispatchLevel) {
  Rig rig(testing::options_of(Answers::later));
  rig.make_and_connect();
  for (const auto& answer : rig.a.answers) EXPECT_EQ(answer.irql, DISPATCH_LEVEL);
  EXPECT_EQ(rig.b.connect_irql, DISPATCH_LEVEL);
  rig.b.cq->Dispatch->NdkArmCq(rig.b.cq, NDK_CQ_NOTIFY_ANY);
  rig.b.receive(1, 0, 100);
  rig.a.send(1, 0, 100);
  rig.settle();
  EXPECT_EQ(rig.b.notify_irql, DISPATCH_LEVEL);
  rig.close();
}

TEST(Adapter, CloseTellsWhatIsLeft) {
  One one;
  one.side.open();
  one.side.make_usual();
  one.side.left = true;
  const LeakReport report = one.side.provider->close(one.side.adapter);
  ASSERT_EQ(report.size(), 4u);
  EXPECT_EQ(name_of(report[0].type), "Qp");
  EXPECT_EQ(report[0].count, 1u);
  ASSERT_EQ(one.side.kernel.findings().size(), 1u);
  EXPECT_EQ(one.side.kernel.findings()[0].text, "adapter 'a' was closed with objects on it: 1 Qp, 1 Cq, 1 Mr, 1 Pd");
}

TEST(Adapter, CloseWaitsForWhatIsClosing) {
  ProviderOptions options = testing::options_of(Answers::later);
  options.answer_delay = Duration::ms(3);
  One one(options);
  one.side.open();
  one.side.pd = one.side.make_pd();
  const auto& closing = one.side.begin_close(one.side.pd);
  EXPECT_EQ(closing.calls, 0);
  EXPECT_TRUE(one.side.provider->close(one.side.adapter).empty());
  EXPECT_EQ(closing.calls, 1);
  EXPECT_EQ(one.side.provider->open_adapters(), 0u);
  one.side.left = true;
}

TEST(Registry, OpensByNameAndByIndex) {
  One one;
  Registry registry(one.side.kernel);
  ASSERT_TRUE(one.side.provider->add_to(registry, "default", 7));
  EXPECT_FALSE(one.side.provider->add_to(registry, "default", 8));
  EXPECT_FALSE(one.side.provider->add_to(registry, "other", 7));
  NDK_ADAPTER* first = nullptr;
  NDK_ADAPTER* second = nullptr;
  EXPECT_EQ(registry.open("nobody", {2, 0}, &first), NDIS_STATUS_ADAPTER_NOT_READY);
  EXPECT_EQ(registry.open("default", {3, 0}, &first), NDIS_STATUS_BAD_VERSION);
  ASSERT_EQ(registry.open("default", {2, 0}, &first), NDIS_STATUS_SUCCESS);
  const WSK_PROVIDER_NDK_DISPATCH& wsk = Registry::wsk_dispatch();
  EXPECT_EQ(wsk.WskOpenNdkAdapter(registry.wsk_client(), {2, 0}, 9, &second), NDIS_STATUS_ADAPTER_NOT_READY);
  ASSERT_EQ(wsk.WskOpenNdkAdapter(registry.wsk_client(), {2, 0}, 7, &second), STATUS_SUCCESS);
  EXPECT_NE(first, second);
  EXPECT_EQ(registry.miniports().at(0).open, 2u);
  EXPECT_EQ(registry.miniports().at(0).capabilities.NdkInfo->MaxCallerData, 56u);
  EXPECT_FALSE(registry.remove("default"));
  registry.close(second);  // opened the other way
  ASSERT_EQ(one.side.kernel.findings().size(), 1u);
  EXPECT_EQ(one.side.kernel.findings()[0].rule, kernel_rule::kNotOpen);
  wsk.WskCloseNdkAdapter(registry.wsk_client(), second);
  registry.close(first);
  registry.close(first);
  EXPECT_EQ(one.side.kernel.findings().size(), 2u);
  EXPECT_TRUE(registry.remove("default"));
}

TEST(Registry, DisablingWaitsForTheLastAdapter) {
  One one;
  Registry registry(one.side.kernel);
  ASSERT_TRUE(one.side.provider->add_to(registry, "default", 1, false));
  NDK_ADAPTER* adapter = nullptr;
  EXPECT_EQ(registry.open("default", {2, 0}, &adapter), NDIS_STATUS_ADAPTER_NOT_READY);
  EXPECT_EQ(registry.set_state("default", true), STATUS_SUCCESS);
  ASSERT_EQ(registry.open("default", {2, 0}, &adapter), NDIS_STATUS_SUCCESS);
  std::vector<bool> told;
  EXPECT_EQ(registry.set_state("default", false, [&](bool off) { told.push_back(off); }), STATUS_PENDING);
  NDK_ADAPTER* other = nullptr;
  EXPECT_EQ(registry.open("default", {2, 0}, &other), NDIS_STATUS_ADAPTER_NOT_READY);
  EXPECT_TRUE(told.empty());
  registry.close(adapter);
  EXPECT_EQ(told, std::vector<bool>{true});
  EXPECT_EQ(registry.set_state("default", false), STATUS_SUCCESS);
  EXPECT_EQ(registry.set_state("nobody", false), STATUS_INVALID_PARAMETER);
}

TEST(Registry, SwitchingOnAgainEndsTheWait) {
  One one;
  Registry registry(one.side.kernel);
  ASSERT_TRUE(one.side.provider->add_to(registry, "default", 1));
  NDK_ADAPTER* adapter = nullptr;
  ASSERT_EQ(registry.open("default", {2, 0}, &adapter), NDIS_STATUS_SUCCESS);
  std::vector<bool> told;
  EXPECT_EQ(registry.set_state("default", false, [&](bool off) { told.push_back(off); }), STATUS_PENDING);
  EXPECT_EQ(registry.set_state("default", true), STATUS_SUCCESS);
  EXPECT_EQ(told, std::vector<bool>{false});
  registry.close(adapter);
  EXPECT_EQ(told.size(), 1u);
}

}  // namespace
}  // namespace fb::ndk
