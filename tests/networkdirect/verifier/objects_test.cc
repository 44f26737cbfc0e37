#include "tests/networkdirect/verifier/rig.h"

namespace fb::networkdirect::verifier {
namespace {

class Objects : public Watched {};

TEST_F(Objects, UseAfterTheLastReleaseIsAFindingAndNoCrash) {
  make_ends();
  IND2CompletionQueue* const queue = b.queue.get();
  IND2QueuePair* const qp = b.qp.get();
  IND2MemoryRegion* const region = b.region.get();
  deregister(b.region);
  release(b);
  ND2_RESULT result = {};
  networkdirect::Request request;
  EXPECT_EQ(queue->GetResults(&result, 1), 0u);
  EXPECT_EQ(queue->Notify(ND_CQ_NOTIFY_ANY, &request), ND_INVALID_HANDLE);
  EXPECT_EQ(queue->AddRef(), 0u);
  EXPECT_EQ(qp->Send(nullptr, nullptr, 0, 0), ND_INVALID_HANDLE);
  EXPECT_EQ(region->GetLocalToken(), 0u);
  ASSERT_EQ(findings.all.size(), 5u);
  EXPECT_EQ(findings.all[0].object, "completion queue 2");
  EXPECT_EQ(findings.all[3].text, "Send");
  EXPECT_LT(findings.all[0].call, findings.all[1].call);
  EXPECT_EQ(found(), Names{"use_after_release"});
}

TEST_F(Objects, ReleaseTooOften) {
  auto view = window(rig.a);
  IND2MemoryWindow* const raw = view.get();
  EXPECT_EQ(raw->AddRef(), 2u);
  EXPECT_EQ(raw->Release(), 1u);
  EXPECT_EQ(view.reset(), 0u);
  EXPECT_EQ(story(), "");
  EXPECT_EQ(raw->Release(), 0u);
  EXPECT_EQ(found(), Names{"release_too_often"});
}

/// Releases an object from inside of a call on it: the sink's turn is over by then, a world's event does it.
TEST_F(Objects, ReleasedDuringACall) {
  make_ends();
  Waitable notify;
  ASSERT_EQ(a.queue->Notify(ND_CQ_NOTIFY_ANY, &notify), ND_PENDING);
  IND2CompletionQueue* const queue = a.queue.leave();
  struct Event {
    IND2CompletionQueue* queue;
    void run() { queue->Release(); }
  } event{queue};
  a.qp.reset();
  Timer<Event, &Event::run> timer{"test.release", event};
  rig.world->loop().schedule_after(timer, Duration::us(5));
  EXPECT_EQ(queue->GetOverlappedResult(&notify, TRUE), ND_CANCELED);
  EXPECT_EQ(found(), Names{"released_during_call"});
  EXPECT_EQ(queue->Release(), 0u);
  EXPECT_EQ(found(), Names{"release_too_often"});
}

TEST_F(Objects, NullWhereAPointerMustBe) {
  make_ends();
  void* out = nullptr;
  ND2_SGE none = {};
  networkdirect::Request request;
  EXPECT_EQ(a.queue->GetResults(nullptr, 4), 0u);
  EXPECT_EQ(a.qp->Send(nullptr, nullptr, 1, 0), ND_INVALID_PARAMETER_2);
  EXPECT_EQ(a.qp->Receive(nullptr, nullptr, 1), ND_INVALID_PARAMETER_2);
  EXPECT_EQ(listener->GetConnectionRequest(nullptr, &request), ND_INVALID_PARAMETER_1);
  EXPECT_EQ(rig.a.adapter->CreateMemoryWindow(IID_IND2MemoryWindow, nullptr), ND_INVALID_PARAMETER);
  EXPECT_EQ(rig.a.adapter->CreateQueuePair(IID_IND2QueuePair, nullptr, a.queue.get(), nullptr, 1, 1, 1, 1, 0, &out),
            ND_INVALID_PARAMETER_2);
  EXPECT_EQ(rig.a.adapter->Query(nullptr, nullptr), ND_INVALID_PARAMETER_2);
  EXPECT_EQ(a.connector->Bind(nullptr, 16), ND_INVALID_PARAMETER_1);
  EXPECT_EQ(findings.all.size(), 8u);
  EXPECT_EQ(found(), Names{"argument_null"});
  EXPECT_EQ(a.qp->Send(nullptr, &none, 0, 0), ND_CONNECTION_INVALID);
  found();
}

TEST_F(Objects, ForeignObjects) {
  make_ends();
  void* out = nullptr;
  int nothing = 0;
  networkdirect::Request request;
  EXPECT_EQ(listener->GetConnectionRequest(reinterpret_cast<IUnknown*>(&nothing), &request), ND_INVALID_PARAMETER_1);
  EXPECT_EQ(found(), Names{"argument_foreign"});
  EXPECT_EQ(rig.a.adapter->CreateQueuePair(IID_IND2QueuePair, a.qp.get(), a.queue.get(), nullptr, 1, 1, 1, 1, 0, &out),
            ND_INVALID_PARAMETER_2);
  EXPECT_EQ(found(), Names{"argument_foreign"});
  EXPECT_EQ(rig.a.adapter->CreateQueuePair(IID_IND2QueuePair, b.queue.get(), a.queue.get(), nullptr, 1, 1, 1, 1, 0, &out),
            ND_INVALID_PARAMETER_2);
  EXPECT_EQ(found(), Names{"argument_of_other_adapter"});
  IND2Connector* const gone = b.connector.get();
  b.connector.reset();
  EXPECT_EQ(listener->GetConnectionRequest(gone, &request), ND_INVALID_PARAMETER_1);
  EXPECT_EQ(found(), Names{"argument_released"});
}

TEST_F(Objects, FilesOfOthers) {
  Ref<IND2CompletionQueue> queue;
  EXPECT_EQ(rig.a.adapter->CreateCompletionQueue(IID_IND2CompletionQueue, rig.b.file, 4, 0, 0, queue.out()), ND_SUCCESS);
  EXPECT_EQ(found(), Names{"file_foreign"});
  EXPECT_EQ(rig.a.adapter->CreateCompletionQueue(IID_IND2CompletionQueue, nullptr, 4, 0, 0, queue.out()), ND_INVALID_HANDLE);
  EXPECT_EQ(found(), Names{"file_foreign"});
}

TEST_F(Objects, OrdersOfReleaseThatAreLegalAndUnwise) {
  make_ends();
  a.queue.reset();
  EXPECT_EQ(findings.all.at(0).rule->severity, Severity::advice);
  EXPECT_EQ(found(), Names{"queue_released_first"});
  rig.a.adapter.reset();
  EXPECT_EQ(found(), Names{"adapter_released_first"});
}

TEST_F(Objects, WhatIsLeftInTheEndIsListedByKind) {
  make_ends();
  auto first = window(rig.a), second = window(rig.a);
  release(b);
  found();
  const auto leaks = verifier->finish();
  std::string text;
  for (const Leak& leak : leaks) text += leak.kind + " " + std::to_string(leak.objects) + "; ";
  EXPECT_EQ(text, "provider 2; adapter 2; completion queue 1; memory region 1; memory window 2; queue pair 1; connector 1; listener 1; ");
  EXPECT_EQ(verifier->living_objects(), 11u);
  EXPECT_EQ(findings.all.at(4).text, "2 not released: 1 (1 references), 2 (1 references)");
  EXPECT_EQ(found(), Names{"leaked_object"});
  // Left behind on purpose: the verifier lets go of them.
  first.leave();
  second.leave();
  a.qp.leave();
}

TEST_F(Objects, AdaptersSayWhatTheyCan) {
  ND2_ADAPTER_INFO info = {};
  ULONG bytes = sizeof info;
  info.InfoVersion = 0;
  rig.a.adapter->Query(&info, &bytes);
  EXPECT_EQ(found(), Names{"info_version_wrong"});
  void* out = nullptr;
  EXPECT_EQ(rig.a.adapter->CreateCompletionQueue(IID_IND2CompletionQueue, rig.a.file, 1u << 30, 0, 0, &out), ND_INVALID_PARAMETER_3);
  EXPECT_EQ(found(), Names{"adapter_limit_exceeded"});
}

TEST(Rules, EveryRuleHasItsEntry) {
  std::set<std::string_view> names;
  for (const RuleEntry& entry : rules()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.section.empty()) << entry.name;
    EXPECT_TRUE(entry.sentence.ends_with('.')) << entry.name;
    EXPECT_EQ(find_rule(entry.name), &entry);
  }
  EXPECT_GE(names.size(), 25u);
  EXPECT_EQ(find_rule("none"), nullptr);
}

class Lenient : public Watched {
 protected:
  Lenient() : Watched({.without = {Rule::release_too_often}, .repeats = 2}) {}
};

TEST_F(Lenient, RulesMayBeLeftOutAndDoNotRepeatForEver) {
  auto view = window(rig.a);
  IND2MemoryWindow* const raw = view.get();
  view.reset();
  raw->Release();
  EXPECT_EQ(story(), "");
  for (int i = 0; i < 5; ++i) raw->GetRemoteToken();
  EXPECT_EQ(findings.all.size(), 2u);
}

}  // namespace
}  // namespace fb::networkdirect::verifier
