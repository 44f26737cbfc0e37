#include "tests/networkdirect/verifier/rig.h"

namespace fb::networkdirect::verifier {
namespace {

void* tag(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

class Honest : public Watched {};

TEST_F(Honest, AWholeLifeFindsNothing) {
  ND2_ADAPTER_INFO info = {};
  info.InfoVersion = ND_VERSION_2;
  ULONG bytes = sizeof info;
  ASSERT_EQ(rig.a.adapter->Query(&info, &bytes), ND_SUCCESS);
  info.InfoVersion = 1;
  ASSERT_EQ(rig.a.adapter->Query(&info, &bytes), ND_SUCCESS);
  make_ends();
  ND2_SGE to = b.sge(0, 64), from = a.sge(0, 64);
  ASSERT_EQ(b.qp->Receive(tag(1), &to, 1), ND_SUCCESS);
  join();
  networkdirect::Request notify;
  ASSERT_EQ(b.queue->Notify(ND_CQ_NOTIFY_ANY, &notify), ND_PENDING);
  ASSERT_EQ(a.qp->Send(tag(2), &from, 1, 0), ND_SUCCESS);
  ASSERT_EQ(finish(b.queue, notify), ND_SUCCESS);
  rig.settle();
  const auto received = rig.b.results(*b.queue.get()), sent = rig.a.results(*a.queue.get());
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].RequestContext, tag(1));
  EXPECT_EQ(received[0].QueuePairContext, &b);
  EXPECT_EQ(received[0].BytesTransferred, 64u);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].RequestContext, tag(2));
  EXPECT_EQ(sent[0].QueuePairContext, &a);
  // A window, and reads and writes through it.
  auto view = window(rig.b);
  ASSERT_EQ(b.qp->Bind(tag(3), b.region.get(), view.get(), b.memory.data() + 4096, 4096, ND_OP_FLAG_ALLOW_READ | ND_OP_FLAG_ALLOW_WRITE),
            ND_SUCCESS);
  const UINT32 token = view->GetRemoteToken();
  rig.settle();
  const UINT64 there = reinterpret_cast<std::uintptr_t>(b.memory.data()) + 4096;
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(a.qp->Write(nullptr, &from, 1, there, token, ND_OP_FLAG_SILENT_SUCCESS), ND_SUCCESS);
    ASSERT_EQ(a.qp->Read(tag(4), &from, 1, there, token, 0), ND_SUCCESS);
    rig.settle();
    ASSERT_EQ(rig.a.results(*a.queue.get()).at(0).RequestContext, tag(4));
  }
  ASSERT_EQ(b.qp->Invalidate(tag(5), view.get(), 0), ND_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.b.results(*b.queue.get()).size(), 2u);
  view.reset();
  part();
  leave();
  for (Side* side : {&rig.a, &rig.b}) {
    EXPECT_EQ(side->adapter.reset(), 0u);
    EXPECT_EQ(side->provider.reset(), 0u);
  }
  EXPECT_TRUE(verifier->finish().empty());
  EXPECT_EQ(verifier->living_objects(), 0u);
  EXPECT_EQ(story(), "");
}

TEST_F(Honest, PendingRequestsMayEndWithTheirObject) {
  make_ends();
  networkdirect::Request notify, request;
  ASSERT_EQ(a.queue->Notify(ND_CQ_NOTIFY_ANY, &notify), ND_PENDING);
  auto connector = rig.b.connector();
  ASSERT_EQ(listener->GetConnectionRequest(connector.get(), &request), ND_PENDING);
  listener.reset();
  EXPECT_EQ(request.status(), ND_CANCELED);
  // The same memory serves again.
  ASSERT_EQ(b.queue->Notify(ND_CQ_NOTIFY_ANY, &request), ND_PENDING);
  ASSERT_EQ(b.queue->CancelOverlappedRequests(), ND_SUCCESS);
  EXPECT_EQ(b.queue->GetOverlappedResult(&request, FALSE), ND_CANCELED);
  connector.reset();
  leave();
  EXPECT_EQ(notify.status(), ND_CANCELED);
  EXPECT_EQ(story(), "");
}

TEST_F(Honest, CompletionsGoToTheConsumersPort) {
  make_ends();
  rig.a.drain_port();
  networkdirect::Request notify;
  ASSERT_EQ(a.queue->Notify(ND_CQ_NOTIFY_ANY, &notify), ND_PENDING);
  ASSERT_EQ(a.queue->CancelOverlappedRequests(), ND_SUCCESS);
  const auto packets = rig.a.drain_port();
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_FALSE(packets[0].good);
  EXPECT_EQ(packets[0].overlapped, &notify);
  EXPECT_EQ(a.queue->GetOverlappedResult(&notify, TRUE), ND_CANCELED);
  EXPECT_EQ(found(), Names{"wait_without_event"});
  leave();
}

TEST_F(Honest, ARefusedConnectorMayTryAgain) {
  make_ends();
  networkdirect::Request connecting, again;
  ask(connecting);
  ASSERT_EQ(b.connector->Reject("no", 2), ND_SUCCESS);
  ASSERT_EQ(finish(a.connector, connecting), ND_CONNECTION_REFUSED);
  ULONG length = 0;
  EXPECT_EQ(a.connector->GetPrivateData(nullptr, &length), ND_BUFFER_OVERFLOW);
  ASSERT_EQ(connect(a.connector, a.qp.get(), &again), ND_PENDING);
  ASSERT_EQ(a.connector->CancelOverlappedRequests(), ND_SUCCESS);
  ASSERT_EQ(finish(a.connector, again), ND_CANCELED);
  EXPECT_EQ(found(), Names{"connector_refused_reused"}) << "advice, and nothing else";
  leave();
  EXPECT_EQ(story(), "");
}

TEST_F(Honest, SharedReceiveQueuesGiveContextsBack) {
  make_ends();
  Ref<IND2SharedReceiveQueue> shared;
  ASSERT_EQ(rig.b.adapter->CreateSharedReceiveQueue(IID_IND2SharedReceiveQueue, rig.b.file, 8, 2, 0, 0, 0, shared.out()), ND_SUCCESS);
  ASSERT_EQ(
      rig.b.adapter->CreateQueuePairWithSrq(IID_IND2QueuePair, b.queue.get(), b.queue.get(), shared.get(), tag(77), 8, 2, 0, b.qp.out()),
      ND_SUCCESS);
  ND2_SGE to = b.sge(0, 64), from = a.sge(0, 64);
  ASSERT_EQ(shared->Receive(tag(1), &to, 1), ND_SUCCESS);
  join();
  ASSERT_EQ(a.qp->Send(tag(2), &from, 1, 0), ND_SUCCESS);
  rig.settle();
  const auto received = rig.b.results(*b.queue.get());
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].RequestContext, tag(1));
  EXPECT_EQ(received[0].QueuePairContext, tag(77));
  part();
  shared.reset();
  leave();
  EXPECT_EQ(story(), "");
}

TEST_F(Honest, InterfacesAreThoseOfTheObject) {
  make_ends();
  void* out = nullptr;
  EXPECT_EQ(a.queue->QueryInterface(IID_IND2Overlapped, &out), ND_SUCCESS);
  EXPECT_EQ(out, a.queue.get());
  EXPECT_EQ(a.queue->Release(), 1u);
  EXPECT_EQ(a.queue->QueryInterface(IID_IND2Connector, &out), E_NOINTERFACE);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(a.region->QueryInterface(IID_IFabricbenchMemoryRegion, &out), ND_SUCCESS);
  EXPECT_EQ(a.region->Release(), 1u);
  EXPECT_EQ(rig.a.adapter->CreateMemoryWindow(IID_IND2Connector, &out), E_NOINTERFACE);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(verifier->wrap_provider(*rig.a.provider.get(), IID_IClassFactory, &out), E_NOINTERFACE);
  leave();
  EXPECT_EQ(story(), "");
}

}  // namespace
}  // namespace fb::networkdirect::verifier
