#include "tests/networkdirect/ndk/verifier/rig.h"

namespace fb::ndk::verifier {
namespace {

using Objects = Watched;

TEST_F(Objects, AnHonestConsumer) {
  a.make_usual();
  b.make_usual();
  ASSERT_EQ(b.receive(1, 0, 512), STATUS_SUCCESS);
  rig.connect();
  ASSERT_EQ(a.send(2, 0, 512), STATUS_SUCCESS);
  rig.settle();
  ASSERT_EQ(b.results().size(), 1u);
  const auto sent = a.results();
  ASSERT_EQ(sent.size(), 1u);
  // Contexts are the consumer's own.
  EXPECT_EQ(sent[0].QPContext, &a);
  EXPECT_EQ(sent[0].RequestContext, Side::word(2));
  EXPECT_EQ(a.request([&](auto c, PVOID x) { return a.connector->Dispatch->NdkDisconnect(a.connector, c, x); }), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(b.disconnected, 1);
  EXPECT_EQ(b.request([&](auto c, PVOID x) { return b.connector->Dispatch->NdkDisconnect(b.connector, c, x); }), STATUS_SUCCESS);
  EXPECT_GT(verifier(a).living_objects(), 0u);
  leave();
  EXPECT_EQ(verifier(a).living_objects() + verifier(b).living_objects(), 0u);
}

TEST_F(Objects, CalledAfterTheirClose) {
  NDK_PD* const pd = a.make_pd();
  a.close(pd);
  NDK_MR* region = nullptr;
  Answer& answer = a.answer();
  EXPECT_EQ(pd->Dispatch->NdkCreateMr(pd, 0, &Answer::on_create, &answer, &region), STATUS_INVALID_HANDLE);
  EXPECT_EQ(found(), Names{"use_after_close"});
}

TEST_F(Objects, ClosedTwice) {
  NDK_PD* const pd = a.make_pd();
  a.close(pd);
  EXPECT_EQ(a.begin_close(pd).inline_status, STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"closed_twice"});
}

TEST_F(Objects, ArgumentsThatAreNot) {
  a.make_usual();
  NDK_QP* place = nullptr;
  Answer& answer = a.answer();
  const auto create = [&](NDK_CQ* cq) {
    EXPECT_EQ(a.pd->Dispatch->NdkCreateQp(a.pd, cq, a.cq, nullptr, 8, 8, 1, 1, 0, &Answer::on_create, &answer, &place),
              STATUS_INVALID_PARAMETER);
  };
  create(nullptr);
  EXPECT_EQ(found(), Names{"argument_null"});
  create(reinterpret_cast<NDK_CQ*>(a.mr));
  EXPECT_EQ(found(), Names{"argument_foreign"});
  NDK_CQ nobodys = {};
  create(&nobodys);
  EXPECT_EQ(found(), Names{"argument_foreign"});
  NDK_CQ* const closed = a.make_cq(8);
  a.close(closed);
  create(closed);
  EXPECT_EQ(found(), Names{"argument_closed"});
  NDK_PD* domain = nullptr;
  EXPECT_EQ(a.adapter->Dispatch->NdkCreatePd(a.adapter, &Answer::on_create, &answer, nullptr), STATUS_INVALID_PARAMETER);
  EXPECT_EQ(a.adapter->Dispatch->NdkCreatePd(a.adapter, nullptr, &answer, &domain), STATUS_SUCCESS);
  EXPECT_EQ(found(), (Names{"argument_null", "completion_missing"}));
}

TEST_F(Objects, OfAnotherAdapterOrDomain) {
  a.make_usual();
  NDK_ADAPTER* inner = nullptr;
  ASSERT_EQ(a.provider->open({2, 1}, &inner), NDIS_STATUS_SUCCESS);
  NDK_ADAPTER* const mine = std::exchange(a.adapter, &verifier(a).wrap(*inner));
  NDK_CQ* const other = a.make_cq(8);
  Answer& answer = a.answer();
  NDK_QP* place = nullptr;
  EXPECT_EQ(a.pd->Dispatch->NdkCreateQp(a.pd, other, a.cq, nullptr, 8, 8, 1, 1, 0, &Answer::on_create, &answer, &place),
            STATUS_INVALID_PARAMETER);
  EXPECT_EQ(found(), Names{"argument_of_other_adapter"});
  a.close(other);
  verifier(a).close(*std::exchange(a.adapter, mine), [&](NDK_ADAPTER& given) { a.provider->close(&given); });
  NDK_PD* const first = std::exchange(a.pd, a.make_pd());
  NDK_SRQ* const srq = a.make_srq(8, 0);
  EXPECT_EQ(first->Dispatch->NdkCreateQpWithSrq(first, a.cq, a.cq, srq, nullptr, 8, 1, 0, &Answer::on_create, &answer, &place),
            STATUS_INVALID_PARAMETER);
  EXPECT_EQ(found(), Names{"argument_of_other_domain"});
}

TEST_F(Objects, ClosedWithoutACallback) {
  NDK_PD* const pd = a.make_pd();
  pd->Dispatch->NdkClosePd(&pd->Header, nullptr, nullptr);
  EXPECT_EQ(found(), Names{"completion_missing"});
}

TEST_F(Objects, LeftOnTheAdapter) {
  a.make_pd();
  a.make_cq(8);
  a.make_cq(8);
  mapping(a);
  const auto leaks = close_adapter(a);
  ASSERT_EQ(leaks.size(), 3u);
  EXPECT_EQ(leaks[0].kind, "completion queue");
  EXPECT_EQ(leaks[0].objects, 2u);
  EXPECT_EQ(leaks[2].kind, "mapping");
  EXPECT_EQ(found(), (Names{"leaked_object", "lam_leaked"}));
}

TEST_F(Objects, AdaptersAreClosedOnceAndOutsideOfCallbacks) {
  a.pd = a.make_pd();
  Answer& answer = a.answer();
  answer.then = [&] { verifier(a).close(*a.adapter, [](NDK_ADAPTER&) {}); };
  Side& side = a;
  side.make_usual();
  found();
  // A callback that certainly comes: of a registration.
  NDK_MR* const region = a.make_mr();
  MDL mdl;
  MmInitializeMdl(&mdl, a.memory.data(), 64);
  region->Dispatch->NdkRegisterMr(region, &mdl, 64, 0, &Answer::on_request, &answer);
  rig.settle();
  const Names names = found();
  EXPECT_NE(std::ranges::find(names, "adapter_closed_in_callback"), names.end());
  EXPECT_NE(std::ranges::find(names, "irql_too_high"), names.end());
  verifier(a).close(*a.adapter, [](NDK_ADAPTER&) {});
  EXPECT_EQ(found(), Names{"adapter_closed_twice"});
}

TEST_F(Objects, AdaptersThatStayOpen) {
  EXPECT_EQ(verifier(a).finish().size(), 1u);
  EXPECT_EQ(found(), Names{"adapter_not_closed"});
  close_adapter(a);
  EXPECT_TRUE(verifier(a).finish().empty());
}

TEST_F(Objects, ThatAreNoAdapter) {
  verifier(a).close(*watches[1].inner, [](NDK_ADAPTER&) { FAIL(); });
  EXPECT_EQ(found(), Names{"argument_foreign"});
}

TEST_F(Objects, CalledAtTheWrongLevel) {
  NDK_ADAPTER_INFO info = {};
  ULONG size = sizeof info;
  {
    const IrqlRaiser raiser(a.kernel);
    a.make_pd();
    EXPECT_EQ(findings.story(), "");
    a.adapter->Dispatch->NdkQueryAdapterInfo(a.adapter, &info, &size);
  }
  EXPECT_EQ(found(), Names{"irql_too_high"});
  const IrqlRaiser higher(a.kernel, DISPATCH_LEVEL + 1);
  a.make_pd();
  EXPECT_EQ(found(), Names{"irql_too_high"});
}

class Old : public Watched {
 protected:
  static ProviderOptions options() {
    ProviderOptions made;
    made.version = {1, 1};
    return made;
  }
  Old() : Watched(options(), {1, 1}) {}
};

TEST_F(Old, FunctionsAndFlagsThatCameLater) {
  a.make_usual();
  b.make_usual();
  NDK_RESULT_EX results[1];
  EXPECT_EQ(a.cq->Dispatch->NdkGetCqResultsEx(a.cq, results, 1), 0u);
  EXPECT_EQ(found(), Names{"function_of_later_version"});
  EXPECT_EQ(a.qp->Dispatch->NdkSendAndInvalidate(a.qp, nullptr, nullptr, 0, 0, 1), STATUS_NOT_SUPPORTED);
  EXPECT_EQ(found(), Names{"function_of_later_version"});
  Answer& answer = a.answer();
  a.connector = a.make_connector();
  const NDK_CONNECTOR_DISPATCH& table = *a.connector->Dispatch;
  EXPECT_EQ(table.NdkCompleteConnectEx(a.connector, nullptr, nullptr, &Answer::on_request, &answer), STATUS_NOT_SUPPORTED);
  EXPECT_EQ(found(), Names{"function_of_later_version"});
  EXPECT_EQ(table.NdkAcceptEx(a.connector, a.qp, 1, 1, nullptr, 0, nullptr, nullptr, &Answer::on_request, &answer), STATUS_NOT_SUPPORTED);
  EXPECT_EQ(found(), Names{"function_of_later_version"});
  EXPECT_EQ(a.send(1, 0, 8, NDK_OP_FLAG_DEFER), STATUS_INVALID_PARAMETER);
  EXPECT_EQ(found(), (Names{"flags_of_later_version", "post_unconnected"}));
  EXPECT_EQ(answer.calls, 0);
}

/// Handlers of a miniport that come into a registry watched.
TEST_F(Objects, ComeOutOfARegistryWatched) {
  NDIS_NDK_PROVIDER_CHARACTERISTICS plain = {};
  plain.Header = {NDIS_OBJECT_TYPE_NDK_PROVIDER_CHARACTERISTICS, 1, sizeof plain};
  plain.OpenNDKAdapterHandler = [](NDIS_HANDLE context, PNDIS_OPEN_NDK_ADAPTER_PARAMETERS parameters, NDK_ADAPTER** adapter) {
    return static_cast<Provider*>(context)->open(parameters->Version, adapter);
  };
  plain.CloseNDKAdapterHandler = [](NDIS_HANDLE context, NDK_ADAPTER* adapter) { static_cast<Provider*>(context)->close(adapter); };
  const Verifier::Handlers watched = verifier(a).wrap(plain, a.provider.get());
  NDIS_NDK_CAPABILITIES capabilities = {};
  NDIS_MINIPORT_ADAPTER_NDK_ATTRIBUTES attributes = {};
  attributes.Header = {NDIS_OBJECT_TYPE_MINIPORT_ADAPTER_NDK_ATTRIBUTES, 1, sizeof attributes};
  attributes.Enabled = 1;
  attributes.NdkCapabilities = &capabilities;
  Registry registry(a.kernel);
  ASSERT_TRUE(registry.add("watched", 1, watched.characteristics, attributes, watched.context).ok());
  NDK_ADAPTER* adapter = nullptr;
  ASSERT_EQ(registry.open("watched", {2, 1}, &adapter), NDIS_STATUS_SUCCESS);
  NDK_ADAPTER* const mine = std::exchange(a.adapter, adapter);
  a.make_pd();
  a.adapter = mine;
  registry.close(adapter);
  EXPECT_EQ(found(), Names{"leaked_object"});
}

TEST_F(Objects, RulesCanBeLeftOutAndAreNotRepeatedForEver) {
  Findings others;
  Verifier some(a.kernel, {.without = {Rule::use_after_close}, .repeats = 2}, others);
  NDK_ADAPTER* inner = nullptr;
  ASSERT_EQ(a.provider->open({2, 1}, &inner), NDIS_STATUS_SUCCESS);
  NDK_ADAPTER* const mine = std::exchange(a.adapter, &some.wrap(*inner));
  NDK_CQ* const cq = a.make_cq(8);
  for (int i = 0; i < 5; ++i) cq->Dispatch->NdkArmCq(cq, 9);
  EXPECT_EQ(others.all.size(), 2u);
  EXPECT_EQ(others.all[0].object, "completion queue 1");
  a.close(cq);
  cq->Dispatch->NdkArmCq(cq, 1);
  EXPECT_EQ(others.all.size(), 2u);
  EXPECT_GE(some.calls(), 8u);
  some.close(*std::exchange(a.adapter, mine), [&](NDK_ADAPTER& given) { a.provider->close(&given); });
}

TEST(NdkVerifierRules, AreNamedOnceAndSayWhatTheyAre) {
  std::set<std::string_view> names;
  for (const RuleEntry& entry : rules()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_EQ(find_rule(entry.name), &entry);
    EXPECT_FALSE(entry.section.empty());
    EXPECT_TRUE(entry.sentence.ends_with('.')) << entry.name;
  }
  EXPECT_EQ(find_rule("none"), nullptr);
}

}  // namespace
}  // namespace fb::ndk::verifier
