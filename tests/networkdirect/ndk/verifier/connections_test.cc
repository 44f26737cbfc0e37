#include "tests/networkdirect/ndk/verifier/rig.h"

namespace fb::ndk::verifier {
namespace {

class Connections : public Watched {
 protected:
  void make() {
    a.make_usual();
    b.make_usual();
    rig.listen();
  }
  Answer& complete() { return rig.begin_complete(); }
  NTSTATUS reject(Side& side, ULONG bytes = 0) { return side.connector->Dispatch->NdkReject(side.connector, data, bytes); }
  NTSTATUS disconnect(Side& side) {
    return side.request([&](auto c, PVOID x) { return side.connector->Dispatch->NdkDisconnect(side.connector, c, x); });
  }
  NTSTATUS connection_data(Side& side) {
    ULONG bytes = 0;
    return side.connector->Dispatch->NdkGetConnectionData(side.connector, nullptr, nullptr, nullptr, &bytes);
  }
  std::uint8_t data[4096] = {};
};

TEST_F(Connections, AddressesThatAreNone) {
  make();
  a.connector = a.make_connector();
  Address from(kAddressA, 0), to(kAddressB, kPort);
  Answer& answer = a.answer();
  const auto connect = [&](ULONG length) {
    return a.connector->Dispatch->NdkConnect(a.connector, a.qp, from.get(), length, to.get(), to.length, 1, 1, nullptr, 0,
                                             &Answer::on_request, &answer);
  };
  EXPECT_EQ(connect(4), STATUS_INVALID_ADDRESS);
  EXPECT_EQ(found(), Names{"address_wrong"});
  from.get()->sa_family = 77;
  EXPECT_EQ(connect(from.length), STATUS_INVALID_ADDRESS);
  EXPECT_EQ(found(), Names{"address_wrong"});
}

TEST_F(Connections, ConnectedTwice) {
  make();
  rig.ask();
  rig.begin_connect();
  EXPECT_EQ(found(), (Names{"connect_twice", "queue_pair_reused"}));
}

TEST_F(Connections, AFailedAttemptMayBeRepeated) {
  make();
  Answer& first = rig.begin_connect(kPort + 1);
  a.wait(first);
  EXPECT_EQ(first.end(), STATUS_CONNECTION_REFUSED);
  connection_data(a);
  EXPECT_EQ(findings.story(), "");
  // Some cards do not permit it.
  rig.ask();
  EXPECT_EQ(found(), Names{"connector_refused_reused"});
}

TEST_F(Connections, AnAttemptThatWasNoneDoesNotCount) {
  make();
  rig.begin_connect(kPort, 0, {data, sizeof data});
  EXPECT_EQ(found(), Names{"private_data_too_long"});
  rig.ask();
  EXPECT_EQ(findings.story(), "");
}

TEST_F(Connections, TwoFromOnePort) {
  make();
  rig.begin_connect(kPort, 51000);
  EXPECT_EQ(findings.story(), "");
  NDK_CONNECTOR* const first = std::exchange(a.connector, a.make_connector());
  NDK_QP* const other = std::exchange(a.qp, nullptr);
  a.qp = a.make_qp();
  EXPECT_EQ(rig.begin_connect(kPort, 51000).end(), STATUS_SHARING_VIOLATION);
  EXPECT_EQ(found(), Names{"ports_shared"});
  // Once the first is gone the port is the second's; another remote port is another matter.
  a.close(first);
  a.close(other);
  rig.begin_connect(kPort, 51000);
  EXPECT_EQ(findings.story(), "");
}

TEST_F(Connections, ReceivesOnceThePeerMaySend) {
  rig.make_and_connect();
  EXPECT_EQ(findings.story(), "") << "who never receives misses nothing";
  for (Side* side : {&a, &b}) {
    side->receive(1, 0, 64);
    side->receive(2, 0, 64);
    EXPECT_EQ(findings.all.size(), 1u);
    EXPECT_EQ(found(), Names{"receives_late"});
  }
}

TEST_F(Connections, ReceivesInTime) {
  for (Side* side : {&a, &b}) {
    side->make_usual();
    side->receive(1, 0, 64);
  }
  rig.connect();
  a.receive(2, 0, 64);
  EXPECT_EQ(findings.story(), "");
}

TEST_F(Connections, RequestsAreNotConnected) {
  make();
  rig.ask();
  std::swap(a.connector, b.connector);
  Address from(kAddressB, 0), to(kAddressA, kPort);
  Answer& answer = b.answer();
  a.connector->Dispatch->NdkConnect(a.connector, b.qp, from.get(), from.length, to.get(), to.length, 1, 1, nullptr, 0, &Answer::on_request,
                                    &answer);
  EXPECT_EQ(found(), Names{"connect_of_request"});
  std::swap(a.connector, b.connector);
}

TEST_F(Connections, AQueuePairForOneConnection) {
  make();
  Answer& connecting = rig.ask();
  rig.begin_accept();
  a.wait(connecting);
  NDK_CONNECTOR* const first = std::exchange(a.connector, a.make_connector());
  rig.begin_connect();
  EXPECT_EQ(found(), Names{"queue_pair_reused"});
  a.close(std::exchange(a.connector, first));
}

TEST_F(Connections, TooMuchPrivateData) {
  make();
  rig.begin_connect(kPort, 0, {data, sizeof data});
  EXPECT_EQ(found(), Names{"private_data_too_long"});
  rig.ask();
  rig.begin_accept(1, 1, {data, sizeof data});
  EXPECT_EQ(found(), Names{"private_data_too_long"});
  EXPECT_NE(reject(b, sizeof data), STATUS_SUCCESS);
  EXPECT_EQ(found(), Names{"private_data_too_long"});
  // Refused at once, the request can still be answered.
  EXPECT_EQ(reject(b), STATUS_SUCCESS);
  EXPECT_EQ(findings.story(), "");
}

TEST_F(Connections, CompletedAtTheWrongTime) {
  make();
  Answer& connecting = rig.ask();
  complete();
  EXPECT_EQ(found(), Names{"complete_connect_misplaced"});
  Answer& accepting = rig.begin_accept();
  a.wait(connecting);
  Answer& completing = complete();
  complete();
  EXPECT_EQ(found(), Names{"complete_connect_twice"});
  a.wait(completing);
  b.wait(accepting);
  complete();
  EXPECT_EQ(found(), Names{"complete_connect_twice"});
}

TEST_F(Connections, AcceptedAtTheWrongTime) {
  make();
  b.connector = b.make_connector();
  rig.begin_accept();
  EXPECT_EQ(found(), Names{"accept_misplaced"});
  b.close(std::exchange(b.connector, nullptr));
  rig.ask();
  rig.begin_accept();
  rig.begin_accept();
  EXPECT_EQ(found(), Names{"accept_twice"});
  reject(b);
  EXPECT_EQ(found(), Names{"reject_after_accept"});
}

TEST_F(Connections, RejectedAtTheWrongTime) {
  make();
  b.connector = b.make_connector();
  reject(b);
  EXPECT_EQ(found(), Names{"reject_misplaced"});
  b.close(std::exchange(b.connector, nullptr));
  Answer& connecting = rig.ask();
  EXPECT_EQ(reject(b), STATUS_SUCCESS);
  EXPECT_EQ(findings.story(), "");
  reject(b);
  EXPECT_EQ(found(), Names{"rejected_twice"});
  rig.begin_accept();
  EXPECT_EQ(found(), Names{"accept_misplaced"});
  a.wait(connecting);
}

TEST_F(Connections, RepliesMayBeRejected) {
  make();
  Answer& connecting = rig.ask();
  rig.begin_accept();
  a.wait(connecting);
  EXPECT_EQ(reject(a), STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(findings.story(), "");
  complete();
  EXPECT_EQ(found(), Names{"complete_connect_misplaced"});
}

TEST_F(Connections, DataAreAskedForInTime) {
  make();
  a.connector = a.make_connector();
  connection_data(a);
  EXPECT_EQ(found(), Names{"connection_data_early"});
  Answer& connecting = rig.ask();
  connection_data(a);
  EXPECT_EQ(found(), Names{"connection_data_early"});
  EXPECT_EQ(connection_data(b), STATUS_SUCCESS);
  Answer& accepting = rig.begin_accept();
  connection_data(b);
  EXPECT_EQ(found(), Names{"connection_data_late"});
  a.wait(connecting);
  EXPECT_EQ(connection_data(a), STATUS_SUCCESS);
  EXPECT_EQ(findings.story(), "");
  Answer& completing = complete();
  a.wait(completing);
  b.wait(accepting);
  connection_data(a);
  EXPECT_EQ(found(), Names{"connection_data_late"});
}

TEST_F(Connections, DisconnectedAtTheWrongTime) {
  make();
  a.connector = a.make_connector();
  disconnect(a);
  EXPECT_EQ(found(), Names{"disconnect_unconnected"});
  a.close(std::exchange(a.connector, nullptr));
  b.close(std::exchange(b.listener, nullptr));
  rig.connect();
  EXPECT_EQ(disconnect(a), STATUS_SUCCESS);
  rig.settle();
  disconnect(a);
  EXPECT_EQ(found(), Names{"disconnected_twice"});
  // The other end has been told, and says goodbye as well.
  EXPECT_EQ(disconnect(b), STATUS_SUCCESS);
  EXPECT_EQ(findings.story(), "");
}

TEST_F(Connections, RequestsAndRepliesThatNobodyAnswers) {
  make();
  Answer& first = rig.ask();
  b.close(std::exchange(b.connector, nullptr));
  EXPECT_EQ(found(), Names{"request_unanswered"});
  a.wait(first);
  a.close(std::exchange(a.connector, nullptr));
  Answer& second = rig.ask();
  rig.begin_accept();
  a.wait(second);
  ASSERT_EQ(second.end(), STATUS_SUCCESS);
  a.close(std::exchange(a.connector, nullptr));
  EXPECT_EQ(found(), Names{"reply_unanswered"});
}

TEST_F(Connections, ClosedWithoutAWord) {
  rig.make_and_connect();
  a.close(std::exchange(a.connector, nullptr));
  EXPECT_EQ(found(), Names{"closed_connected"});
}

TEST_F(Connections, NobodyWantsToHearOfTheEnd) {
  make();
  Answer& connecting = rig.ask();
  Answer& accepting = b.begin(
      [&](auto c, PVOID x) { return b.connector->Dispatch->NdkAccept(b.connector, b.qp, 1, 1, nullptr, 0, nullptr, nullptr, c, x); });
  EXPECT_EQ(found(), Names{"disconnect_event_missing"});
  a.wait(connecting);
  a.request([&](auto c, PVOID x) { return a.connector->Dispatch->NdkCompleteConnectEx(a.connector, nullptr, nullptr, c, x); });
  EXPECT_EQ(found(), Names{"disconnect_event_missing"});
  b.wait(accepting);
}

TEST_F(Connections, ListeningTwiceAndAskedTooEarly) {
  b.listener = b.make_listener();
  Address at;
  b.listener->Dispatch->NdkGetLocalAddress(b.listener, at.get(), &at.length);
  EXPECT_EQ(found(), Names{"listener_address_early"});
  ASSERT_EQ(b.listen(kPort), STATUS_SUCCESS);
  b.listen(kPort + 1);
  EXPECT_EQ(found(), Names{"listen_twice"});
  at.length = sizeof at.storage;
  EXPECT_EQ(b.listener->Dispatch->NdkGetLocalAddress(b.listener, at.get(), &at.length), STATUS_SUCCESS);
  EXPECT_EQ(b.listener->Dispatch->NdkGetLocalAddress(b.listener, at.get(), nullptr), STATUS_INVALID_PARAMETER);
  EXPECT_EQ(found(), Names{"argument_null"});
  b.listener->Dispatch->NdkControlConnectEvents(b.listener, 1);
  EXPECT_EQ(findings.story(), "");
}

TEST_F(Connections, SharedEndpointsAreObjectsToo) {
  make();
  NDK_SHARED_ENDPOINT* const endpoint = a.make_endpoint(5000);
  a.connector = a.make_connector();
  Address to(kAddressB, kPort);
  Answer& connecting = a.begin([&](auto c, PVOID x) {
    return a.connector->Dispatch->NdkConnectWithSharedEndpoint(a.connector, a.qp, endpoint, to.get(), to.length, 1, 1, nullptr, 0, c, x);
  });
  rig.settle();
  EXPECT_EQ(b.asked, 1);
  EXPECT_EQ(reject(b), STATUS_SUCCESS);
  a.wait(connecting);
  a.begin_close(endpoint);
  EXPECT_EQ(findings.story(), "");
  a.begin([&](auto c, PVOID x) {
    return a.connector->Dispatch->NdkConnectWithSharedEndpoint(a.connector, a.qp, endpoint, to.get(), to.length, 1, 1, nullptr, 0, c, x);
  });
  EXPECT_EQ(found(), Names{"argument_closed"});
}

}  // namespace
}  // namespace fb::ndk::verifier
