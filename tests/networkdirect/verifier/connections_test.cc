#include "tests/networkdirect/verifier/rig.h"

namespace fb::networkdirect::verifier {
namespace {

class Connections : public Watched {
 protected:
  Connections() { make_ends(); }
  networkdirect::Request connecting, accepting, completing, request;
};

TEST_F(Connections, BoundTwice) {
  ASSERT_EQ(bind(a.connector, rig.a), ND_SUCCESS);
  EXPECT_TRUE(FAILED(bind(a.connector, rig.a)));
  EXPECT_EQ(found(), Names{"bound_twice"});
  const Address at(rig.b.ip(), 7001);
  EXPECT_TRUE(FAILED(listener->Bind(at.get(), at.length)));
  EXPECT_EQ(found(), Names{"bound_twice"});
}

TEST_F(Connections, ConnectedUnbound) {
  EXPECT_TRUE(FAILED(connect(a.connector, a.qp.get(), &request)));
  EXPECT_EQ(found(), Names{"connect_before_bind"});
}

TEST_F(Connections, OneConnectorForTwo) {
  ask(connecting);
  auto other = rig.a.queue_pair(*a.queue.get());
  EXPECT_EQ(connect(a.connector, other.get(), &request), ND_CONNECTION_ACTIVE);
  EXPECT_EQ(found(), Names{"connector_reused"});
  EXPECT_EQ(listener->GetConnectionRequest(b.connector.get(), &request), ND_CONNECTION_ACTIVE);
  EXPECT_EQ(found(), Names{"connector_reused"});
  ASSERT_EQ(b.connector->Accept(b.qp.get(), 0, 0, nullptr, 0, &accepting), ND_PENDING);
  EXPECT_EQ(b.connector->Accept(b.qp.get(), 0, 0, nullptr, 0, &request), ND_CONNECTION_INVALID);
  EXPECT_EQ(found(), Names{"connector_reused"});
}

TEST_F(Connections, OneQueuePairForTwo) {
  ask(connecting);
  auto other = rig.a.connector();
  ASSERT_EQ(bind(other, rig.a), ND_SUCCESS);
  EXPECT_EQ(connect(other, a.qp.get(), &request), ND_CONNECTION_ACTIVE);
  EXPECT_EQ(found(), Names{"queue_pair_reused"});
}

TEST_F(Connections, AQueuePairAfterItsConnection) {
  join();
  part();
  auto other = rig.a.connector();
  ASSERT_EQ(bind(other, rig.a), ND_SUCCESS);
  EXPECT_EQ(story(), "");
  EXPECT_TRUE(FAILED(connect(other, a.qp.get(), &request)));
  EXPECT_EQ(found(), Names{"queue_pair_reused"});
}

TEST_F(Connections, AQueuePairAfterAnAcceptThatFailed) {
  ask(connecting);
  ASSERT_EQ(b.connector->Accept(b.qp.get(), 0, 0, nullptr, 0, &accepting), ND_PENDING);
  ASSERT_EQ(finish(a.connector, connecting), ND_SUCCESS);
  ASSERT_EQ(a.connector->Reject(nullptr, 0), ND_SUCCESS);
  EXPECT_EQ(finish(b.connector, accepting), ND_CONNECTION_REFUSED);
  auto other = rig.b.connector();
  ASSERT_EQ(bind(other, rig.b), ND_SUCCESS);
  EXPECT_EQ(story(), "");
  EXPECT_TRUE(FAILED(connect(other, b.qp.get(), &request)));
  EXPECT_EQ(found(), Names{"queue_pair_reused"});
}

TEST_F(Connections, CompletedTooEarly) {
  EXPECT_EQ(a.connector->CompleteConnect(&request), ND_CONNECTION_INVALID);
  EXPECT_EQ(found(), Names{"complete_connect_misplaced"});
  ask(connecting);
  EXPECT_EQ(a.connector->CompleteConnect(&completing), ND_CONNECTION_INVALID);
  EXPECT_EQ(findings.all.at(0).text, "CompleteConnect: Connect is pending");
  EXPECT_EQ(found(), Names{"complete_connect_misplaced"});
}

TEST_F(Connections, AcceptedOrRejectedWithoutARequest) {
  EXPECT_EQ(b.connector->Accept(b.qp.get(), 0, 0, nullptr, 0, &accepting), ND_CONNECTION_INVALID);
  EXPECT_EQ(found(), Names{"accept_without_request"});
  EXPECT_EQ(b.connector->Reject(nullptr, 0), ND_CONNECTION_INVALID);
  EXPECT_EQ(found(), Names{"reject_misplaced"});
  ASSERT_EQ(listener->GetConnectionRequest(b.connector.get(), &request), ND_PENDING);
  EXPECT_EQ(b.connector->Accept(b.qp.get(), 0, 0, nullptr, 0, &accepting), ND_CONNECTION_INVALID);
  EXPECT_EQ(found(), Names{"accept_without_request"});
}

TEST_F(Connections, AskedForThePeersWordsTooEarly) {
  ULONG length = 0;
  EXPECT_EQ(a.connector->GetPrivateData(nullptr, &length), ND_CONNECTION_INVALID);
  EXPECT_EQ(a.connector->GetReadLimits(nullptr, nullptr), ND_CONNECTION_INVALID);
  EXPECT_EQ(findings.all.size(), 2u);
  EXPECT_EQ(found(), Names{"connection_data_early"});
  ask(connecting);
  a.connector->GetPrivateData(nullptr, &length);
  EXPECT_EQ(found(), Names{"connection_data_early"});
  b.connector->GetPrivateData(nullptr, &length);
  EXPECT_EQ(story(), "");
}

TEST_F(Connections, TooMuchToSay) {
  ASSERT_EQ(bind(a.connector, rig.a), ND_SUCCESS);
  EXPECT_EQ(connect(a.connector, a.qp.get(), &request, 0, 57), ND_INVALID_BUFFER_SIZE);
  EXPECT_EQ(found(), Names{"private_data_too_long"});
  EXPECT_EQ(connect(a.connector, a.qp.get(), &request, 0, 56), ND_PENDING);
  EXPECT_EQ(story(), "");
}

TEST_F(Connections, DisconnectedWithoutAConnectionOrTwice) {
  EXPECT_EQ(a.connector->Disconnect(&request), ND_CONNECTION_INVALID);
  EXPECT_EQ(a.connector->NotifyDisconnect(&request), ND_CONNECTION_INVALID);
  EXPECT_EQ(findings.all.size(), 2u);
  EXPECT_EQ(found(), Names{"disconnect_unconnected"});
  join();
  part();
  EXPECT_EQ(story(), "");
  EXPECT_EQ(a.connector->Disconnect(&request), ND_CONNECTION_INVALID);
  EXPECT_EQ(found(), Names{"disconnect_unconnected"});
  // Each end may say so once, whoever was first.
  EXPECT_EQ(b.connector->Disconnect(&request), ND_PENDING);
  EXPECT_EQ(finish(b.connector, request), ND_SUCCESS);
  EXPECT_EQ(story(), "");
  EXPECT_EQ(b.connector->Disconnect(&request), ND_CONNECTION_INVALID);
  EXPECT_EQ(found(), Names{"disconnect_unconnected"});
}

TEST_F(Connections, RequestsAndRepliesLeftUnanswered) {
  ask(connecting);
  b.connector.reset();
  EXPECT_EQ(found(), Names{"request_abandoned"});
  EXPECT_EQ(finish(a.connector, connecting), ND_CONNECTION_REFUSED);
  a.connector = rig.a.connector();
  b.connector = rig.b.connector();
  ASSERT_EQ(bind(a.connector, rig.a), ND_SUCCESS);
  ASSERT_EQ(connect(a.connector, a.qp.get(), &connecting), ND_PENDING);
  ASSERT_EQ(listener->GetConnectionRequest(b.connector.get(), &request), ND_PENDING);
  ASSERT_EQ(finish(listener, request), ND_SUCCESS);
  ASSERT_EQ(b.connector->Accept(b.qp.get(), 0, 0, nullptr, 0, &accepting), ND_PENDING);
  ASSERT_EQ(finish(a.connector, connecting), ND_SUCCESS);
  a.connector.reset();
  EXPECT_EQ(findings.all.at(0).rule->severity, Severity::advice);
  EXPECT_EQ(found(), Names{"reply_abandoned"});
}

TEST_F(Connections, NobodyWantedToKnowOfTheEnd) {
  ask(connecting);
  ASSERT_EQ(b.connector->Accept(b.qp.get(), 0, 0, nullptr, 0, &accepting), ND_PENDING);
  ASSERT_EQ(finish(a.connector, connecting), ND_SUCCESS);
  ASSERT_EQ(a.connector->CompleteConnect(&completing), ND_PENDING);
  ASSERT_EQ(finish(a.connector, completing), ND_SUCCESS);
  EXPECT_EQ(story(), "");
  a.connector.reset();
  EXPECT_EQ(found(), Names{"notify_disconnect_missing"});
}

TEST_F(Connections, ReleasedInPlaceOfADisconnect) {
  join();
  a.connector.reset();
  EXPECT_EQ(findings.all.at(0).rule->severity, Severity::advice);
  EXPECT_EQ(found(), Names{"connection_abandoned"});
  // The other side knows by now that it is over.
  EXPECT_EQ(finish(b.connector, b.disconnected), ND_SUCCESS);
  b.connector.reset();
  EXPECT_EQ(story(), "");
}

TEST_F(Connections, CallsAreCounted) {
  join();
  std::uint64_t binds = 0, connects = 0, pending = 0;
  for (const Called& one : verifier->tally()) {
    if (one.kind == "connector" && one.method == "Bind") binds += one.calls;
    if (one.kind != "connector" || one.method != "Connect") continue;
    connects += one.calls;
    pending += one.pending;
  }
  EXPECT_EQ(binds, 1u);
  EXPECT_EQ(connects, 1u);
  EXPECT_EQ(pending, 1u);
}

/// As programs do that look at their port alone and never ask for a result.
TEST_F(Connections, CompletionsThatOnlyThePortSaw) {
  ASSERT_EQ(bind(a.connector, rig.a), ND_SUCCESS);
  ASSERT_EQ(connect(a.connector, a.qp.get(), &connecting), ND_PENDING);
  ASSERT_EQ(listener->GetConnectionRequest(b.connector.get(), &request), ND_PENDING);
  rig.finish(request);
  ASSERT_EQ(b.connector->Accept(b.qp.get(), 0, 0, nullptr, 0, &accepting), ND_PENDING);
  rig.finish(connecting);
  ASSERT_EQ(a.connector->CompleteConnect(&completing), ND_PENDING);
  rig.finish(accepting);
  ASSERT_EQ(a.connector->NotifyDisconnect(&a.disconnected), ND_PENDING);
  ASSERT_EQ(a.qp->Send(nullptr, nullptr, 0, 0), ND_SUCCESS);
  EXPECT_EQ(story(), "");
}

/// The same with one OVERLAPPED for all that a connector does.
TEST_F(Connections, AnOverlappedThatServesOneRequestAfterTheOther) {
  ASSERT_EQ(bind(a.connector, rig.a), ND_SUCCESS);
  ASSERT_EQ(connect(a.connector, a.qp.get(), &connecting), ND_PENDING);
  ASSERT_EQ(listener->GetConnectionRequest(b.connector.get(), &request), ND_PENDING);
  ASSERT_EQ(finish(listener, request), ND_SUCCESS);
  ASSERT_EQ(b.connector->Accept(b.qp.get(), 0, 0, nullptr, 0, &accepting), ND_PENDING);
  rig.finish(connecting);
  ASSERT_EQ(a.connector->CompleteConnect(&connecting), ND_PENDING);
  rig.finish(connecting);
  ASSERT_EQ(a.connector->NotifyDisconnect(&connecting), ND_PENDING);
  ASSERT_EQ(a.connector->Disconnect(&request), ND_PENDING);
  ASSERT_EQ(finish(a.connector, request), ND_SUCCESS);
  EXPECT_EQ(found(), Names{"result_not_taken"});
}

TEST_F(Connections, MemoryWhoseOverlappedServesAnother) {
  std::vector<std::uint8_t> memory(4096);
  auto region = empty_region(rig.a);
  ASSERT_EQ(region->Register(memory.data(), memory.size(), 0, &request), ND_PENDING);
  rig.finish(request);
  ASSERT_EQ(a.queue->Notify(ND_CQ_NOTIFY_ANY, &request), ND_PENDING);
  EXPECT_EQ(found(), Names{"result_not_taken"});
  EXPECT_NE(region->GetLocalToken(), 0u);
  networkdirect::Request deregistering;
  ASSERT_EQ(region->Deregister(&deregistering), ND_PENDING);
  ASSERT_EQ(finish(region, deregistering), ND_SUCCESS);
  EXPECT_EQ(story(), "");
}

TEST_F(Connections, Listeners) {
  Ref<IND2Listener> other;
  ASSERT_EQ(rig.b.adapter->CreateListener(IID_IND2Listener, rig.b.file, other.out()), ND_SUCCESS);
  EXPECT_TRUE(FAILED(other->Listen(0)));
  EXPECT_EQ(found(), Names{"listen_before_bind"});
  EXPECT_TRUE(FAILED(other->GetConnectionRequest(b.connector.get(), &request)));
  EXPECT_EQ(found(), Names{"request_before_listen"});
  EXPECT_TRUE(FAILED(listener->Listen(0)));
  EXPECT_EQ(found(), Names{"listen_twice"});
}

}  // namespace
}  // namespace fb::networkdirect::verifier
