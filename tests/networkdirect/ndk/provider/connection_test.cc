// Connectors, listeners, shared endpoints, ports.
#include "tests/networkdirect/ndk/provider/rig.h"

namespace fb::ndk {
namespace {

using testing::Address;
using testing::Answer;
using testing::kAddressA;
using testing::kAddressB;
using testing::kPort;
using testing::options_of;
using testing::Rig;
using testing::Side;

class Connection : public ::testing::TestWithParam<Answers> {
 protected:
  Rig rig{options_of(GetParam())};
  void SetUp() override {
    rig.a.make_usual();
    rig.b.make_usual();
  }
  static NTSTATUS data_of(NDK_CONNECTOR* connector, ULONG* inbound, ULONG* outbound, void* data, ULONG* bytes) {
    return connector->Dispatch->NdkGetConnectionData(connector, inbound, outbound, data, bytes);
  }
  static NTSTATUS reject(NDK_CONNECTOR* connector, const Bytes& data) {
    return connector->Dispatch->NdkReject(connector, const_cast<std::uint8_t*>(data.data()), static_cast<ULONG>(data.size()));
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, Connection, ::testing::Values(Answers::natural, Answers::before_return, Answers::later));

TEST_P(Connection, DataLimitsAndAddressesOfBothSides) {
  rig.listen();
  const Bytes said(40, 0xA1);
  Answer& connecting = rig.ask(said);
  ULONG inbound = 0;
  ULONG outbound = 0;
  ULONG length = 0;
  NDK_CONNECTOR* passive = rig.b.connector;
  ASSERT_EQ(data_of(passive, &inbound, &outbound, nullptr, &length), STATUS_SUCCESS);
  EXPECT_EQ(length, 56u);  // what the transport has, not what was said
  EXPECT_EQ(inbound, 8u);  // the peer's outbound limit is our inbound one
  EXPECT_EQ(outbound, 4u);
  Bytes data(56);
  ULONG some = 10;
  EXPECT_EQ(data_of(passive, nullptr, nullptr, data.data(), &some), STATUS_BUFFER_TOO_SMALL);
  EXPECT_EQ(some, 56u);
  EXPECT_EQ(data[9], 0xA1);
  EXPECT_EQ(data[10], 0);
  EXPECT_EQ(data_of(passive, nullptr, nullptr, data.data(), &length), STATUS_SUCCESS);
  EXPECT_EQ(data[39], 0xA1);
  Address peer;
  ASSERT_EQ(passive->Dispatch->NdkGetPeerAddress(passive, peer.get(), &peer.length), STATUS_SUCCESS);
  EXPECT_GE(peer.port(), 49152);
  Address local;
  ULONG nothing = 0;
  EXPECT_EQ(passive->Dispatch->NdkGetLocalAddress(passive, nullptr, &nothing), STATUS_BUFFER_TOO_SMALL);
  EXPECT_EQ(nothing, sizeof(SOCKADDR_IN));
  ASSERT_EQ(passive->Dispatch->NdkGetLocalAddress(passive, local.get(), &local.length), STATUS_SUCCESS);
  EXPECT_EQ(local.port(), kPort);

  EXPECT_EQ(rig.begin_accept(1, 1, Bytes(500)).inline_status, STATUS_INVALID_BUFFER_SIZE);
  Answer& accepting = rig.begin_accept(3, 100, Bytes(20, 0xB2));
  EXPECT_EQ(data_of(passive, nullptr, nullptr, nullptr, &nothing), STATUS_INVALID_DEVICE_STATE);
  rig.a.wait(connecting);
  ASSERT_EQ(connecting.end(), STATUS_SUCCESS);
  ASSERT_EQ(data_of(rig.a.connector, &inbound, &outbound, nullptr, &length), STATUS_SUCCESS);
  EXPECT_EQ(inbound, 4u);
  EXPECT_EQ(outbound, 3u);
  data.resize(length);
  ASSERT_EQ(data_of(rig.a.connector, nullptr, nullptr, data.data(), &length), STATUS_SUCCESS);
  EXPECT_EQ(data[19], 0xB2);
  EXPECT_EQ(accepting.calls, 0);  // until it is completed
  Address own;
  ASSERT_EQ(rig.a.connector->Dispatch->NdkGetLocalAddress(rig.a.connector, own.get(), &own.length), STATUS_SUCCESS);
  EXPECT_EQ(own.port(), peer.port());
  Answer& completing = rig.begin_complete();
  rig.a.wait(completing);
  rig.b.wait(accepting);
  EXPECT_EQ(accepting.end(), STATUS_SUCCESS);
  EXPECT_EQ(data_of(rig.a.connector, nullptr, nullptr, nullptr, &length), STATUS_INVALID_DEVICE_STATE);
  EXPECT_EQ(rig.begin_complete().inline_status, STATUS_CONNECTION_INVALID);
  rig.close();
}

TEST_P(Connection, RefusalLeavesConnectorAndQueuePairAsTheyWere) {
  Answer& nobody = rig.begin_connect();
  rig.a.wait(nobody);
  EXPECT_EQ(nobody.end(), STATUS_CONNECTION_REFUSED);
  rig.listen();
  Answer& refused = rig.ask();
  EXPECT_EQ(reject(rig.b.connector, Bytes(200)), STATUS_INVALID_BUFFER_SIZE);
  EXPECT_EQ(reject(rig.b.connector, Bytes(30, 7)), STATUS_SUCCESS);
  EXPECT_EQ(reject(rig.b.connector, {}), STATUS_CONNECTION_INVALID);
  rig.a.wait(refused);
  EXPECT_EQ(refused.end(), STATUS_CONNECTION_REFUSED);
  ULONG length = 148;
  Bytes data(148);
  ASSERT_EQ(data_of(rig.a.connector, nullptr, nullptr, data.data(), &length), STATUS_SUCCESS);
  EXPECT_EQ(data[29], 7);
  rig.b.close(std::exchange(rig.b.connector, nullptr));
  // The same connector and queue pair, once more.
  Answer& again = rig.ask();
  Answer& accepting = rig.begin_accept();
  rig.a.wait(again);
  ASSERT_EQ(again.end(), STATUS_SUCCESS);
  rig.a.wait(rig.begin_complete());
  rig.b.wait(accepting);
  EXPECT_EQ(accepting.end(), STATUS_SUCCESS);
  rig.close();
}

TEST_P(Connection, TheActiveSideMayRefuseTheReply) {
  rig.listen();
  Answer& connecting = rig.ask();
  Answer& accepting = rig.begin_accept();
  rig.a.wait(connecting);
  ASSERT_EQ(connecting.end(), STATUS_SUCCESS);
  EXPECT_EQ(reject(rig.a.connector, Bytes(5, 1)), STATUS_SUCCESS);
  rig.b.wait(accepting);
  EXPECT_EQ(accepting.end(), STATUS_CONNECTION_ABORTED);
  rig.close();
}

TEST_P(Connection, WhoGoesBeforeTheReplyAbortsTheAccept) {
  rig.listen();
  rig.ask();
  rig.a.close(std::exchange(rig.a.connector, nullptr));
  rig.settle();
  Answer& accepting = rig.begin_accept();
  rig.b.wait(accepting);
  EXPECT_EQ(accepting.end(), STATUS_CONNECTION_ABORTED);
  rig.close();
}

TEST_P(Connection, CloseOfAConnectorCancelsWhatPends) {
  rig.listen();
  Answer& connecting = rig.ask();
  int order = 0;
  int connect_at = 0;
  int close_at = 0;
  connecting.then = [&] { connect_at = ++order; };
  Answer& closing = rig.a.begin_close(std::exchange(rig.a.connector, nullptr));
  closing.then = [&] { close_at = ++order; };
  EXPECT_EQ(closing.inline_status, STATUS_PENDING);
  rig.a.wait(closing);
  EXPECT_EQ(connecting.end(), STATUS_CANCELLED);
  EXPECT_LT(connect_at, close_at);
  rig.close();
}

TEST_P(Connection, NobodyThere) {
  if (rig.a.connector == nullptr) rig.a.connector = rig.a.make_connector();
  Address from(kAddressA, 0);
  Address to(IpAddress::v4(10, 9, 9, 9), 1);
  const auto connect = [&](Address& source, Address& target) -> Answer& {
    return rig.a.begin([&](auto c, PVOID x) {
      return rig.a.connector->Dispatch->NdkConnect(rig.a.connector, rig.a.qp, source.get(), source.length, target.get(), target.length, 1,
                                                   1, nullptr, 0, c, x);
    });
  };
  Answer& lost = connect(from, to);
  rig.a.wait(lost);
  EXPECT_EQ(lost.end(), STATUS_IO_TIMEOUT);
  Address foreign(kAddressB, 0);
  EXPECT_EQ(connect(foreign, to).inline_status, STATUS_INVALID_ADDRESS);
  Address any(IpAddress::v4(0, 0, 0, 0), 0);
  EXPECT_EQ(connect(from, any).inline_status, STATUS_INVALID_ADDRESS);
  SOCKADDR_IN6 six = {};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(1);
  six.sin6_addr.s6_addr[15] = 1;
  std::memcpy(&to.storage, &six, to.length = sizeof six);
  EXPECT_EQ(connect(from, to).inline_status, STATUS_NETWORK_UNREACHABLE);
  rig.close();
}

TEST_P(Connection, DisconnectFlushesHereAndTellsThere) {
  rig.connect();
  for (std::uintptr_t i = 0; i < 3; ++i) {
    ASSERT_EQ(rig.a.receive(i, 0, 10), STATUS_SUCCESS);
    ASSERT_EQ(rig.b.receive(i, 0, 10), STATUS_SUCCESS);
  }
  EXPECT_EQ(rig.a.request([&](auto c, PVOID x) { return rig.a.connector->Dispatch->NdkDisconnect(rig.a.connector, c, x); }),
            STATUS_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.a.results().size(), 3u);
  EXPECT_EQ(rig.a.disconnected, 0);  // our own
  EXPECT_EQ(rig.b.disconnected, 1);
  EXPECT_EQ(rig.b.reason, 1u);
  // What the peer did is no flush of ours.
  EXPECT_TRUE(rig.b.results().empty());
  ASSERT_EQ(rig.b.receive(3, 0, 10), STATUS_SUCCESS);
  EXPECT_TRUE(rig.b.results().empty());
  EXPECT_EQ(rig.b.request([&](auto c, PVOID x) { return rig.b.connector->Dispatch->NdkDisconnect(rig.b.connector, c, x); }),
            STATUS_SUCCESS);
  const auto flushed = rig.b.results();
  ASSERT_EQ(flushed.size(), 4u);
  EXPECT_EQ(flushed[3].Status, STATUS_CANCELLED);
  EXPECT_EQ(rig.b.begin([&](auto c, PVOID x) { return rig.b.connector->Dispatch->NdkDisconnect(rig.b.connector, c, x); }).inline_status,
            STATUS_CONNECTION_INVALID);
  rig.close();
}

TEST_P(Connection, AQueuePairServesOneConnection) {
  rig.connect();
  NDK_CONNECTOR* other = rig.a.make_connector();
  Address from(kAddressA, 0);
  Address to(kAddressB, kPort);
  EXPECT_EQ(rig.a
                .begin([&](auto c, PVOID x) {
                  return other->Dispatch->NdkConnect(other, rig.a.qp, from.get(), from.length, to.get(), to.length, 1, 1, nullptr, 0, c, x);
                })
                .inline_status,
            STATUS_CONNECTION_ACTIVE);
  EXPECT_EQ(rig.begin_connect().inline_status, STATUS_CONNECTION_ACTIVE);
  rig.a.close(other);
  rig.close();
}

TEST_P(Connection, ListenersPortsAndPauses) {
  rig.b.listener = rig.b.make_listener();
  Address at;
  EXPECT_EQ(rig.b.listener->Dispatch->NdkGetLocalAddress(rig.b.listener, at.get(), &at.length), STATUS_INVALID_DEVICE_STATE);
  ASSERT_EQ(rig.b.listen(0), STATUS_SUCCESS);
  ASSERT_EQ(rig.b.listener->Dispatch->NdkGetLocalAddress(rig.b.listener, at.get(), &at.length), STATUS_SUCCESS);
  const std::uint16_t port = at.port();
  EXPECT_GE(port, 49152);
  EXPECT_EQ(rig.b.listen(0), STATUS_INVALID_DEVICE_STATE);
  NDK_LISTENER* first = std::exchange(rig.b.listener, rig.b.make_listener());
  EXPECT_EQ(rig.b.listen(port), STATUS_SHARING_VIOLATION);
  Address foreign(kAddressA, 5);
  EXPECT_EQ(rig.b.request(
                [&](auto c, PVOID x) { return rig.b.listener->Dispatch->NdkListen(rig.b.listener, foreign.get(), foreign.length, c, x); }),
            STATUS_INVALID_ADDRESS);
  first->Dispatch->NdkControlConnectEvents(first, 1);
  Answer& paused = rig.begin_connect(port);
  rig.a.wait(paused);
  EXPECT_EQ(paused.end(), STATUS_CONNECTION_REFUSED);
  EXPECT_EQ(rig.b.asked, 0);
  first->Dispatch->NdkControlConnectEvents(first, 0);
  rig.begin_connect(port);
  rig.world->run_until([&] { return rig.b.asked == 1; }, Duration::s(5));
  // Its port is taken until the connector is closed too.
  Answer& closing = rig.b.begin_close(first);
  rig.world->run_for(Duration::ms(10));
  EXPECT_EQ(closing.calls, 0);
  EXPECT_EQ(rig.b.listen(port), STATUS_SHARING_VIOLATION);
  rig.b.close(std::exchange(rig.b.connector, nullptr));
  rig.b.wait(closing);
  EXPECT_EQ(rig.b.listen(port), STATUS_SUCCESS);
  rig.close();
}

TEST_P(Connection, SharedEndpointsServeSeveralPeers) {
  rig.listen();
  NDK_SHARED_ENDPOINT* endpoint = rig.a.make_endpoint(0);
  Address at;
  ASSERT_EQ(endpoint->Dispatch->NdkGetLocalAddress(endpoint, at.get(), &at.length), STATUS_SUCCESS);
  EXPECT_GE(at.port(), 49152);
  rig.a.make_endpoint(at.port(), STATUS_SHARING_VIOLATION);
  rig.a.connector = rig.a.make_connector();
  EXPECT_EQ(rig.begin_connect(kPort, at.port()).inline_status, STATUS_SHARING_VIOLATION);
  const auto connect = [&](NDK_CONNECTOR* connector, NDK_QP* qp, std::uint16_t port) -> Answer& {
    Address to(kAddressB, port);
    return rig.a.begin([&](auto c, PVOID x) {
      return connector->Dispatch->NdkConnectWithSharedEndpoint(connector, qp, endpoint, to.get(), to.length, 1, 1, nullptr, 0, c, x);
    });
  };
  Answer& first = connect(rig.a.connector, rig.a.qp, kPort);
  NDK_CONNECTOR* other = rig.a.make_connector();
  NDK_QP* qp = rig.a.make_qp();
  EXPECT_EQ(connect(other, qp, kPort).inline_status, STATUS_ADDRESS_ALREADY_EXISTS);
  Answer& second = connect(other, qp, kPort + 1);
  rig.a.wait(second);
  EXPECT_EQ(second.end(), STATUS_CONNECTION_REFUSED);
  rig.world->run_until([&] { return rig.b.asked == 1; }, Duration::s(5));
  Address peer;
  rig.b.connector->Dispatch->NdkGetPeerAddress(rig.b.connector, peer.get(), &peer.length);
  EXPECT_EQ(peer.port(), at.port());
  Answer& closing = rig.a.begin_close(endpoint);
  EXPECT_EQ(closing.inline_status, STATUS_PENDING);
  rig.a.close(std::exchange(rig.a.connector, nullptr));
  EXPECT_TRUE(first.done());
  rig.a.close(other);
  rig.a.wait(closing);
  rig.a.close(rig.a.make_endpoint(at.port()));
  rig.a.close(qp);
  rig.close();
}

TEST_P(Connection, SourcePortsAreExclusiveUntilTheConnectorIsClosed) {
  rig.listen();
  rig.a.connector = rig.a.make_connector();
  rig.begin_connect(kPort, 50000);
  rig.world->run_until([&] { return rig.b.asked == 1; }, Duration::s(5));
  NDK_CONNECTOR* first = std::exchange(rig.a.connector, rig.a.make_connector());
  NDK_QP* qp = std::exchange(rig.a.qp, rig.a.make_qp());
  EXPECT_EQ(rig.begin_connect(kPort, 50000).inline_status, STATUS_SHARING_VIOLATION);
  rig.a.close(first);
  EXPECT_EQ(rig.begin_connect(kPort, 50000).inline_status, STATUS_PENDING);
  rig.a.close(qp);
  rig.close();
}

TEST_P(Connection, ClosesFromInsideCallbacks) {
  rig.listen();
  Answer& connecting = rig.begin_connect();
  Answer* closing = nullptr;
  connecting.then = [&] {
    closing = &rig.a.begin_close(std::exchange(rig.a.connector, nullptr));
    EXPECT_EQ(closing->inline_status, STATUS_PENDING);  // its callback has not returned
  };
  rig.b.then_asked = [&](NDK_CONNECTOR* connector) {
    EXPECT_EQ(reject(connector, {}), STATUS_SUCCESS);
    rig.b.begin_close(connector);
  };
  rig.settle();
  ASSERT_NE(closing, nullptr);
  EXPECT_EQ(closing->calls, 1);
  EXPECT_EQ(connecting.end(), STATUS_CONNECTION_REFUSED);
  rig.close();
}

}  // namespace
}  // namespace fb::ndk
