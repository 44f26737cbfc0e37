// Personalities of the provider: their words, and what each switch changes.
#include "networkdirect/ndk/provider/behaviour.h"

#include "tests/networkdirect/ndk/provider/rig.h"

namespace fb::ndk {
namespace {

using testing::Answer;
using testing::kPort;
using testing::Rig;
using testing::Side;

ProviderOptions options_for(std::string_view text) { return parse_behaviour(text).value(); }

TEST(Behaviour, WordsAreTakenOneAfterTheOther) {
  const ProviderOptions made = options_for("connectx-3,answers=later,-refused-spent,+no-resize,MaxCqDepth=64");
  EXPECT_EQ(made.answers, Answers::later);
  EXPECT_FALSE(made.points.contains(departure::kRefusalSpends));
  EXPECT_TRUE(made.points.contains(departure::kNoResize));
  EXPECT_TRUE(made.points.contains(departure::kReadBytesReported));
  const ProviderOptions strict = options_for("strict");
  EXPECT_EQ(strict.answers, Answers::random);
  EXPECT_TRUE(strict.notify_inside_arm);
  EXPECT_TRUE(strict.scattered_logical_pages);
  EXPECT_TRUE(options_for("").points.empty());
  EXPECT_TRUE(options_for("document").points.empty());
}

TEST(Behaviour, WhatIsNoWordIsNamed) {
  for (const std::string_view wrong : {"connectx-4", "+no-such", "answers=never", "MaxCqDepth=many", "Depth=1", "strict,document"}) {
    const auto parsed = parse_behaviour(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_NE(parsed.error().text.find("'"), std::string::npos);
  }
}

TEST(Behaviour, EverySwitchIsNamedOnce) {
  std::set<std::string_view> names, points;
  for (const Switch& one : switches()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_TRUE(points.insert(one.point).second) << one.point;
  }
  for (const Personality& one : personalities()) {
    for (const std::string_view name : one.switches) EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(Behaviour, LimitsAreLowered) {
  Rig rig(options_for("MaxCqDepth=16,MaxInitiatorRequestSge=2,MaxRegistrationSize=4096,MaxCallerData=1000000"));
  NDK_ADAPTER_INFO info = {};
  ULONG size = sizeof info;
  ASSERT_EQ(rig.a.adapter->Dispatch->NdkQueryAdapterInfo(rig.a.adapter, &info, &size), STATUS_SUCCESS);
  EXPECT_EQ(info.MaxCqDepth, 16u);
  EXPECT_EQ(info.MaxInitiatorRequestSge, 2u);
  EXPECT_EQ(info.MaxReadRequestSge, 2u);
  EXPECT_EQ(info.MaxRegistrationSize, 4096u);
  EXPECT_EQ(info.MaxCallerData, 56u) << "no limit is raised";
  rig.a.make_cq(17, STATUS_INVALID_PARAMETER);
  rig.a.close(rig.a.make_cq(16));
}

TEST(Behaviour, WhatIsMissingIsToldOf) {
  Rig rig(options_for("+no-resize,+no-moderation,+no-read-invalidate"));
  NDK_ADAPTER_INFO info = {};
  ULONG size = sizeof info;
  ASSERT_EQ(rig.a.adapter->Dispatch->NdkQueryAdapterInfo(rig.a.adapter, &info, &size), STATUS_SUCCESS);
  EXPECT_EQ(info.AdapterFlags & (NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED | NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED |
                                 NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED),
            0u);
  rig.make_and_connect();
  Side& a = rig.a;
  EXPECT_EQ(a.request([&](auto c, PVOID x) { return a.cq->Dispatch->NdkResizeCq(a.cq, 16, c, x); }), STATUS_NOT_SUPPORTED);
  EXPECT_EQ(a.cq->Dispatch->NdkControlCqInterruptModeration(a.cq, 10, 4), STATUS_NOT_SUPPORTED);
  EXPECT_EQ(a.read(1, 0, 8, rig.b.at(0), rig.b.remote, NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE), STATUS_NOT_SUPPORTED);
  rig.close();
}

TEST(Behaviour, ReadsTellTheirLengthAndFailOtherwise) {
  for (const bool other : {false, true}) {
    Rig rig(options_for(other ? "+read-bytes,+local-violation-data-error" : "document"));
    rig.make_and_connect();
    Side& a = rig.a;
    ASSERT_EQ(a.read(1, 0, 77, rig.b.at(0), rig.b.remote), STATUS_SUCCESS);
    ASSERT_EQ(a.write(2, 0, 78, rig.b.at(0), rig.b.remote), STATUS_SUCCESS);
    rig.settle();
    auto results = a.results();
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[0].BytesTransferred, other ? 77u : 0u);
    EXPECT_EQ(results[1].BytesTransferred, 0u);
    ASSERT_EQ(a.write(3, a.memory.size() - 1, 2, rig.b.at(0), rig.b.remote), STATUS_SUCCESS);
    rig.settle();
    results = a.results();
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].Status == static_cast<NTSTATUS>(0xC000003E), other);
    EXPECT_NE(results[0].Status, STATUS_SUCCESS);
    rig.close();
  }
}

TEST(Behaviour, ARefusalMaySpendTheConnector) {
  for (const bool spends : {false, true}) {
    Rig rig(options_for(spends ? "connectx-3" : "document"));
    rig.a.make_usual();
    rig.b.make_usual();
    Answer& first = rig.begin_connect(kPort + 1);
    rig.a.wait(first);
    EXPECT_EQ(first.end(), STATUS_CONNECTION_REFUSED);
    rig.listen();
    EXPECT_EQ(rig.begin_connect().inline_status, spends ? STATUS_CONNECTION_ACTIVE : STATUS_PENDING);
    if (!spends) rig.world->run_until([&] { return rig.b.asked > 0; }, Duration::s(5));
    // The queue pair is as good as before, with another connector.
    if (spends) {
      rig.a.close(std::exchange(rig.a.connector, rig.a.make_connector()));
      rig.ask();
    }
    EXPECT_EQ(rig.b.asked, 1);
    rig.close();
  }
}

TEST(Behaviour, APortMayBeShared) {
  for (const bool shared : {false, true}) {
    Rig rig(options_for(shared ? "+ports-shared" : "document"));
    rig.a.make_usual();
    rig.b.make_usual();
    rig.listen();
    EXPECT_EQ(rig.begin_connect(kPort, 51000).inline_status, STATUS_PENDING);
    NDK_CONNECTOR* const first = std::exchange(rig.a.connector, rig.a.make_connector());
    NDK_QP* const pair = std::exchange(rig.a.qp, rig.a.make_qp());
    EXPECT_EQ(rig.begin_connect(kPort, 51000).inline_status, shared ? STATUS_PENDING : STATUS_SHARING_VIOLATION);
    rig.a.close(first);
    rig.a.close(pair);
    rig.close();
  }
}

TEST(Behaviour, AConnectionMayBeWaitedForLong) {
  for (const bool patient : {false, true}) {
    Rig rig(options_for(patient ? "+unreachable-patient" : "document"));
    Side& a = rig.a;
    a.make_usual();
    a.connector = a.make_connector();
    const Instant before = rig.world->now();
    testing::Address from(testing::kAddressA, 0), to(IpAddress::v4(10, 0, 0, 77), kPort);
    Answer& connecting = a.begin([&](auto c, PVOID x) {
      return a.connector->Dispatch->NdkConnect(a.connector, a.qp, from.get(), from.length, to.get(), to.length, 1, 1, nullptr, 0, c, x);
    });
    a.wait(connecting);
    EXPECT_EQ(connecting.end(), STATUS_IO_TIMEOUT);
    const Duration waited = rig.world->now() - before;
    if (patient) {
      EXPECT_EQ(waited, Duration::s(99));
    } else {
      EXPECT_LT(waited, Duration::s(99));
    }
    rig.a.close_usual();
  }
}

TEST(Behaviour, ALengthMayBeZero) {
  for (const bool zero : {false, true}) {
    Rig rig(options_for(zero ? "+data-length-zero" : "document"));
    rig.a.make_usual();
    rig.b.make_usual();
    rig.listen();
    const std::uint8_t said[] = {1, 2, 3};
    rig.ask(said);
    std::uint8_t room[500] = {};
    NDK_CONNECTOR* const connector = rig.b.connector;
    const auto ask = [&](ULONG length) {
      EXPECT_EQ(connector->Dispatch->NdkGetConnectionData(connector, nullptr, nullptr, room, &length), STATUS_SUCCESS);
      return length;
    };
    ULONG exact = 0;
    connector->Dispatch->NdkGetConnectionData(connector, nullptr, nullptr, nullptr, &exact);
    EXPECT_EQ(ask(exact), exact);
    EXPECT_EQ(ask(exact + 1), zero ? 0 : exact);
    EXPECT_EQ(room[2], 3);
    rig.close();
  }
}

}  // namespace
}  // namespace fb::ndk
