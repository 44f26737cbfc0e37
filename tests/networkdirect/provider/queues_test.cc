// Completion queues, their notifications, shared receive queues, flushes.
#include "tests/networkdirect/provider/rig.h"

namespace fb::networkdirect {
namespace {

void* tag(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

class Queues : public testing::Test {
 protected:
  Queues() { connection.connect(); }
  void send(ULONG flags = 0) {
    ND2_SGE to = b.sge(0, 64);
    ASSERT_EQ(b.qp->Receive(nullptr, &to, 1), ND_SUCCESS);
    ASSERT_EQ(a.qp->Send(nullptr, nullptr, 0, flags | ND_OP_FLAG_SILENT_SUCCESS), ND_SUCCESS);
    rig.settle();
  }
  Rig rig;
  Connection connection{rig};
  Connection::End& a = connection.a;
  Connection::End& b = connection.b;
};

TEST_F(Queues, OneCompletionAnswersEveryRequestInOrderAndOnlyOnce) {
  std::vector<Request> requests(3);
  for (Request& request : requests) ASSERT_EQ(b.queue->Notify(ND_CQ_NOTIFY_ANY, &request), ND_PENDING);
  EXPECT_TRUE(rig.b.drain_port().empty());
  send();
  const auto packets = rig.b.drain_port();
  ASSERT_EQ(packets.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(packets[i].overlapped, &requests[i]);
  // The entry has told of itself: it does not do so again.
  Request later;
  ASSERT_EQ(b.queue->Notify(ND_CQ_NOTIFY_ANY, &later), ND_PENDING);
  EXPECT_EQ(later.status(), ND_PENDING);
  send();
  EXPECT_EQ(later.status(), ND_SUCCESS);
}

TEST_F(Queues, ARequestThatComesLateIsAnsweredAtOnce) {
  send();
  Request request;
  ASSERT_EQ(b.queue->Notify(ND_CQ_NOTIFY_ANY, &request), ND_PENDING);
  EXPECT_EQ(request.status(), ND_SUCCESS);
  // What was taken is no news.
  EXPECT_EQ(rig.b.results(*b.queue.get()).size(), 1u);
  send();
  EXPECT_EQ(rig.b.results(*b.queue.get()).size(), 1u);
  Request quiet;
  ASSERT_EQ(b.queue->Notify(ND_CQ_NOTIFY_ANY, &quiet), ND_PENDING);
  EXPECT_EQ(quiet.status(), ND_PENDING);
  EXPECT_EQ(b.queue->CancelOverlappedRequests(), ND_SUCCESS);  // the request goes before the queue
}

TEST_F(Queues, SolicitedWaitsForASolicitedSendOrAnError) {
  Request solicited, errors;
  ASSERT_EQ(b.queue->Notify(ND_CQ_NOTIFY_SOLICITED, &solicited), ND_PENDING);
  send();
  EXPECT_EQ(solicited.status(), ND_PENDING);
  send(ND_OP_FLAG_SEND_AND_SOLICIT_EVENT);
  EXPECT_EQ(solicited.status(), ND_SUCCESS);
  Request again;
  ASSERT_EQ(b.queue->Notify(ND_CQ_NOTIFY_ERRORS, &errors), ND_PENDING);
  send(ND_OP_FLAG_SEND_AND_SOLICIT_EVENT);
  EXPECT_EQ(errors.status(), ND_PENDING);
  // With ANY beside it, it ends with that.
  Request any;
  ASSERT_EQ(b.queue->Notify(ND_CQ_NOTIFY_ANY, &any), ND_PENDING);  // answered at once, and the other with it
  EXPECT_EQ(any.status(), ND_SUCCESS);
  EXPECT_EQ(errors.status(), ND_SUCCESS);
  EXPECT_EQ(b.queue->Notify(3, &any), ND_INVALID_PARAMETER_1);
}

TEST_F(Queues, CancelIsDequeuedAtOnceInOrder) {
  std::vector<Request> requests(5);
  for (Request& request : requests) ASSERT_EQ(a.queue->Notify(ND_CQ_NOTIFY_ANY, &request), ND_PENDING);
  ASSERT_EQ(a.queue->CancelOverlappedRequests(), ND_SUCCESS);
  const auto packets = rig.a.drain_port();
  ASSERT_EQ(packets.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(packets[i].overlapped, &requests[i]);
    EXPECT_FALSE(packets[i].good);
    EXPECT_EQ(a.connector->GetOverlappedResult(&requests[i], FALSE), ND_CANCELED);  // another object of the adapter
  }
}

TEST_F(Queues, FlushBringsEveryRequestBackBeforeItTells) {
  Rig alone;
  auto queue = alone.a.completion_queue();
  auto qp = alone.a.queue_pair(*queue.get(), tag(77));
  std::vector<std::uint8_t> memory(128);
  auto region = alone.a.region(memory.data(), memory.size(), ND_MR_FLAG_ALLOW_LOCAL_WRITE);
  ND2_SGE sge = {memory.data(), 128, region->GetLocalToken()};
  ASSERT_EQ(qp->Receive(tag(1), &sge, 1), ND_SUCCESS);
  ASSERT_EQ(qp->Receive(tag(2), &sge, 1), ND_SUCCESS);
  Request request;
  ASSERT_EQ(queue->Notify(ND_CQ_NOTIFY_ANY, &request), ND_PENDING);
  ASSERT_EQ(qp->Flush(), ND_SUCCESS);
  EXPECT_EQ(alone.finish(request), ND_SUCCESS);
  const auto done = alone.a.results(*queue.get());
  ASSERT_EQ(done.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(done[i].Status, ND_CANCELED);
    EXPECT_EQ(done[i].RequestContext, tag(i + 1));
    EXPECT_EQ(done[i].QueuePairContext, tag(77));
    EXPECT_EQ(done[i].RequestType, Nd2RequestTypeReceive);
  }
}

TEST_F(Queues, FlushOfAConnectedPairCancelsBothQueuesOfThisPairAlone) {
  ND2_SGE to = a.sge(0, 64);
  ASSERT_EQ(a.qp->Receive(tag(1), &to, 1), ND_SUCCESS);
  auto other = rig.a.queue_pair(*a.queue.get(), tag(88));
  ASSERT_EQ(other->Receive(tag(2), &to, 1), ND_SUCCESS);
  ASSERT_EQ(a.qp->Flush(), ND_SUCCESS);
  rig.settle();
  const auto done = rig.a.results(*a.queue.get());
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].RequestContext, tag(1));
  EXPECT_EQ(done[0].Status, ND_CANCELED);
}

TEST_F(Queues, ResizeKeepsEveryEntryAndRefusesToLoseOne) {
  for (int i = 0; i < 10; ++i) send();
  EXPECT_EQ(b.queue->Resize(9), ND_BUFFER_OVERFLOW);
  EXPECT_EQ(b.queue->Resize(0), ND_INVALID_PARAMETER);
  EXPECT_EQ(b.queue->Resize(0xFFFFFFFF), ND_INVALID_PARAMETER);
  EXPECT_EQ(b.queue->Resize(10), ND_SUCCESS);
  EXPECT_EQ(b.queue->Resize(4096), ND_SUCCESS);
  EXPECT_EQ(rig.b.results(*b.queue.get()).size(), 10u);
}

TEST_F(Queues, AnOverrunKillsTheQueueAndItsPairs) {
  Rig small;
  Connection c(small, 1);
  c.connect();
  Request notified;
  // More results than any queue of that depth has room for.
  std::vector<ND2_RESULT> taken(1);
  for (int i = 0; i < 400; ++i) {
    ASSERT_EQ(c.a.qp->Write(nullptr, nullptr, 0, 0, 0, 0), ND_SUCCESS) << i;
    small.settle(Duration::us(100));
    if (c.a.queue->Notify(ND_CQ_NOTIFY_ERRORS, &notified) == ND_BUFFER_OVERFLOW) break;
    c.a.queue->CancelOverlappedRequests();
  }
  EXPECT_EQ(c.a.queue->Notify(ND_CQ_NOTIFY_ANY, &notified), ND_BUFFER_OVERFLOW);
}

TEST_F(Queues, SharedReceivesServeSeveralPairsAndTellWhenTheyRunLow) {
  Rig shared_rig;
  Side& side = shared_rig.b;
  Ref<IND2SharedReceiveQueue> shared;
  ASSERT_EQ(side.adapter->CreateSharedReceiveQueue(IID_IND2SharedReceiveQueue, side.file, 8, 2, 3, 0, 0, shared.out()), ND_SUCCESS);
  Connection c(shared_rig);
  Ref<IND2QueuePair> qp;
  ASSERT_EQ(
      side.adapter->CreateQueuePairWithSrq(IID_IND2QueuePair, c.b.queue.get(), c.b.queue.get(), shared.get(), tag(5), 8, 2, 0, qp.out()),
      ND_SUCCESS);
  c.b.qp = std::move(qp);
  ND2_SGE sge = c.b.sge(0, 64);
  EXPECT_EQ(c.b.qp->Receive(nullptr, &sge, 1), ND_INVALID_DEVICE_REQUEST);
  for (std::uintptr_t i = 0; i < 8; ++i) ASSERT_EQ(shared->Receive(tag(100 + i), &sge, 1), ND_SUCCESS);
  EXPECT_EQ(shared->Receive(nullptr, &sge, 1), ND_NO_MORE_ENTRIES);
  EXPECT_EQ(shared->Modify(7, 0), ND_BUFFER_OVERFLOW);
  c.connect();
  Request low, low_too;
  ASSERT_EQ(shared->Notify(&low), ND_PENDING);
  ASSERT_EQ(shared->Notify(&low_too), ND_PENDING);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(c.a.qp->Send(nullptr, nullptr, 0, 0), ND_SUCCESS);
  shared_rig.settle();
  EXPECT_EQ(low.status(), ND_PENDING);
  ASSERT_EQ(c.a.qp->Send(nullptr, nullptr, 0, 0), ND_SUCCESS);
  shared_rig.settle();
  EXPECT_EQ(low.status(), ND_SUCCESS);
  EXPECT_EQ(low_too.status(), ND_SUCCESS);
  const auto done = side.results(*c.b.queue.get());
  ASSERT_EQ(done.size(), 6u);
  for (std::uintptr_t i = 0; i < 6; ++i) {
    EXPECT_EQ(done[i].RequestContext, tag(100 + i));
    EXPECT_EQ(done[i].QueuePairContext, tag(5));
  }
  // Without a receive the sender waits, for a shared queue may be filled by somebody else.
  for (int i = 0; i < 3; ++i) ASSERT_EQ(c.a.qp->Send(nullptr, nullptr, 0, 0), ND_SUCCESS);
  shared_rig.settle(Duration::s(20));
  ASSERT_EQ(shared->Receive(tag(200), &sge, 1), ND_SUCCESS);
  shared_rig.settle(Duration::s(2));
  EXPECT_EQ(side.results(*c.b.queue.get()).back().RequestContext, tag(200));
}

}  // namespace
}  // namespace fb::networkdirect
