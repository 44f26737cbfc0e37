#include "tests/networkdirect/verifier/rig.h"

namespace fb::networkdirect::verifier {
namespace {

class Overlapped : public Watched {
 protected:
  Overlapped() { make_ends(); }
  networkdirect::Request request;
};

TEST_F(Overlapped, None) {
  EXPECT_EQ(a.queue->Notify(ND_CQ_NOTIFY_ANY, nullptr), ND_INVALID_PARAMETER);
  EXPECT_EQ(a.queue->GetOverlappedResult(nullptr, FALSE), ND_INVALID_PARAMETER_1);
  EXPECT_EQ(findings.all.size(), 2u);
  EXPECT_EQ(found(), Names{"overlapped_null"});
}

TEST_F(Overlapped, UsedAgainWhilePending) {
  ASSERT_EQ(a.queue->Notify(ND_CQ_NOTIFY_ANY, &request), ND_PENDING);
  a.region->Deregister(&request);
  EXPECT_EQ(found(), Names{"overlapped_reused"});
}

TEST_F(Overlapped, ChangedWhilePending) {
  ASSERT_EQ(a.queue->Notify(ND_CQ_NOTIFY_ANY, &request), ND_PENDING);
  EXPECT_EQ(a.queue->GetOverlappedResult(&request, FALSE), ND_PENDING);
  EXPECT_EQ(story(), "");
  Waitable other;
  request.hEvent = other.hEvent;
  EXPECT_EQ(a.queue->GetOverlappedResult(&request, FALSE), ND_PENDING);
  EXPECT_EQ(found(), Names{"overlapped_changed"});
  a.queue->CancelOverlappedRequests();
}

TEST_F(Overlapped, NeverUsed) {
  EXPECT_EQ(a.queue->GetOverlappedResult(&request, FALSE), ND_SUCCESS);
  EXPECT_EQ(found(), Names{"result_of_unknown_request"});
  ASSERT_EQ(a.queue->Notify(ND_CQ_NOTIFY_ANY, &request), ND_PENDING);
  EXPECT_EQ(b.queue->GetOverlappedResult(&request, FALSE), ND_PENDING);
  EXPECT_EQ(found(), Names{"result_of_unknown_request"});
}

TEST_F(Overlapped, OfACallThatFailed) {
  EXPECT_EQ(a.connector->CompleteConnect(&request), ND_CONNECTION_INVALID);
  found();
  a.connector->GetOverlappedResult(&request, FALSE);
  EXPECT_EQ(found(), Names{"result_of_failed_call"});
}

TEST_F(Overlapped, AskedOfAnotherObject) {
  ASSERT_EQ(a.queue->Notify(ND_CQ_NOTIFY_ANY, &request), ND_PENDING);
  EXPECT_EQ(a.region->GetOverlappedResult(&request, FALSE), ND_PENDING);
  EXPECT_EQ(findings.all.at(0).rule->severity, Severity::advice);
  EXPECT_EQ(found(), Names{"result_from_other_object"});
}

TEST_F(Overlapped, ItsResultNotTaken) {
  ASSERT_EQ(a.queue->Notify(ND_CQ_NOTIFY_ANY, &request), ND_PENDING);
  a.queue->CancelOverlappedRequests();
  ASSERT_EQ(a.queue->Notify(ND_CQ_NOTIFY_ANY, &request), ND_PENDING);
  EXPECT_EQ(found(), Names{"result_not_taken"});
}

TEST_F(Overlapped, WaitedForWithoutAnEvent) {
  Waitable waitable;
  ASSERT_EQ(a.queue->Notify(ND_CQ_NOTIFY_ANY, &waitable), ND_PENDING);
  ASSERT_EQ(a.queue->Notify(ND_CQ_NOTIFY_ANY, &request), ND_PENDING);
  a.queue->CancelOverlappedRequests();
  EXPECT_EQ(a.queue->GetOverlappedResult(&waitable, TRUE), ND_CANCELED);
  EXPECT_EQ(story(), "");
  EXPECT_EQ(a.queue->GetOverlappedResult(&request, TRUE), ND_CANCELED);
  EXPECT_EQ(found(), Names{"wait_without_event"});
}

TEST_F(Overlapped, NotifiedOfSomethingUnknown) {
  EXPECT_EQ(a.queue->Notify(3, &request), ND_INVALID_PARAMETER_1);
  EXPECT_EQ(found(), Names{"notify_type_unknown"});
}

}  // namespace
}  // namespace fb::networkdirect::verifier
