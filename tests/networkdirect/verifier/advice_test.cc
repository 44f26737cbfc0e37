// What works with one card and not with the next: allowed, or at least common, and advised against.
#include "tests/networkdirect/verifier/rig.h"

namespace fb::networkdirect::verifier {
namespace {

class Advice : public Watched {
 protected:
  Advice() : Watched(VerifierOptions{}) { make_ends(); }
  networkdirect::Request connecting, accepting, completing, request;
  void advised(std::string_view rule) {
    for (const Finding& finding : findings.all) EXPECT_EQ(finding.rule->severity, Severity::advice) << finding.rule->name;
    EXPECT_EQ(found(), Names{std::string(rule)});
  }
};

TEST_F(Advice, ARefusedConnectorIsUsedAgain) {
  ask(connecting);
  ASSERT_EQ(b.connector->Reject(nullptr, 0), ND_SUCCESS);
  ASSERT_EQ(finish(a.connector, connecting), ND_CONNECTION_REFUSED);
  EXPECT_EQ(story(), "");
  ASSERT_EQ(connect(a.connector, a.qp.get(), &connecting), ND_PENDING);
  advised("connector_refused_reused");
}

TEST_F(Advice, AnotherConnectorAfterARefusal) {
  ask(connecting);
  ASSERT_EQ(b.connector->Reject(nullptr, 0), ND_SUCCESS);
  ASSERT_EQ(finish(a.connector, connecting), ND_CONNECTION_REFUSED);
  auto other = rig.a.connector();
  ASSERT_EQ(bind(other, rig.a), ND_SUCCESS);
  ASSERT_EQ(connect(other, a.qp.get(), &connecting), ND_PENDING);
  EXPECT_EQ(story(), "");
}

TEST_F(Advice, TwoConnectionsFromOnePort) {
  const Address from(rig.a.ip(), 51000);
  auto other = rig.a.connector();
  auto pair = rig.a.queue_pair(*a.queue.get());
  ASSERT_EQ(a.connector->Bind(from.get(), from.length), ND_SUCCESS);
  ASSERT_EQ(other->Bind(from.get(), from.length), ND_SUCCESS);
  ASSERT_EQ(connect(a.connector, a.qp.get(), &connecting), ND_PENDING);
  EXPECT_EQ(story(), "");
  EXPECT_EQ(connect(other, pair.get(), &request), ND_ADDRESS_ALREADY_EXISTS);
  advised("ports_shared");
  // Once the first is gone the port is the second's.
  a.connector.reset();
  ASSERT_EQ(connect(other, pair.get(), &request), ND_PENDING);
  EXPECT_EQ(story(), "");
}

TEST_F(Advice, ConnectionDataAfterTheAnswer) {
  ask(connecting);
  ULONG in = 0, out = 0, bytes = 0;
  EXPECT_EQ(b.connector->GetReadLimits(&in, &out), ND_SUCCESS);
  EXPECT_EQ(b.connector->GetPrivateData(nullptr, &bytes), ND_BUFFER_OVERFLOW);
  ASSERT_EQ(b.connector->Accept(b.qp.get(), 0, 0, nullptr, 0, &accepting), ND_PENDING);
  EXPECT_EQ(story(), "");
  EXPECT_EQ(b.connector->GetReadLimits(&in, &out), ND_SUCCESS);
  advised("connection_data_late");
  ASSERT_EQ(finish(a.connector, connecting), ND_SUCCESS);
  EXPECT_EQ(a.connector->GetPrivateData(nullptr, &bytes), ND_BUFFER_OVERFLOW);
  ASSERT_EQ(a.connector->CompleteConnect(&completing), ND_PENDING);
  EXPECT_EQ(story(), "");
  a.connector->GetPrivateData(nullptr, &bytes);
  advised("connection_data_late");
}

TEST_F(Advice, ReceivesOnceThePeerMaySend) {
  join();
  EXPECT_EQ(story(), "") << "who never receives misses nothing";
  for (End* end : {&a, &b}) {
    ND2_SGE into = end->sge(0, 64);
    ASSERT_EQ(end->qp->Receive(nullptr, &into, 1), ND_SUCCESS);
    ASSERT_EQ(end->qp->Receive(nullptr, &into, 1), ND_SUCCESS);
    EXPECT_EQ(findings.all.size(), 1u);
    advised("receives_late");
  }
}

TEST_F(Advice, ReceivesInTime) {
  for (End* end : {&a, &b}) {
    ND2_SGE into = end->sge(0, 64);
    ASSERT_EQ(end->qp->Receive(nullptr, &into, 1), ND_SUCCESS);
  }
  join();
  ND2_SGE into = a.sge(0, 64);
  ASSERT_EQ(a.qp->Receive(nullptr, &into, 1), ND_SUCCESS);
  EXPECT_EQ(story(), "");
}

}  // namespace
}  // namespace fb::networkdirect::verifier
