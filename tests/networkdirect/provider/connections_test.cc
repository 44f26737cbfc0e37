#include "tests/networkdirect/provider/rig.h"

namespace fb::networkdirect {
namespace {

constexpr HRESULT kAlreadyAssociated = static_cast<HRESULT>(0xC0000238);
constexpr HRESULT kBadNetworkName = static_cast<HRESULT>(0xC00000CC);

std::string data_of(IND2Connector& connector) {
  ULONG length = 0;
  EXPECT_EQ(connector.GetPrivateData(nullptr, &length), ND_BUFFER_OVERFLOW);
  std::string data(length, '\0');
  EXPECT_EQ(connector.GetPrivateData(data.data(), &length), ND_SUCCESS);
  return data;
}

TEST(Connections, PrivateDataAndReadLimitsCrossInBothDirections) {
  Rig rig;
  Connection c(rig);
  Request connect, accept, complete;
  c.ask(connect, "ask", 6);
  EXPECT_EQ(data_of(*c.b.connector.get()).substr(0, 4), std::string("ask\0", 4));
  char part[2] = {};
  ULONG length = 2;
  EXPECT_EQ(c.b.connector->GetPrivateData(part, &length), ND_BUFFER_OVERFLOW);
  EXPECT_EQ(part[1], 's');
  EXPECT_EQ(length, 56u);
  ULONG inbound = 0, outbound = 0;
  EXPECT_EQ(c.b.connector->GetReadLimits(&inbound, &outbound), ND_SUCCESS);
  EXPECT_EQ(inbound, 6u);
  EXPECT_EQ(outbound, 6u);
  sockaddr_in peer = {};
  ULONG bytes = sizeof peer;
  EXPECT_EQ(c.b.connector->GetPeerAddress(reinterpret_cast<struct sockaddr*>(&peer), &bytes), ND_SUCCESS);
  sockaddr_in local = {};
  bytes = sizeof local;
  EXPECT_EQ(c.a.connector->GetLocalAddress(reinterpret_cast<struct sockaddr*>(&local), &bytes), ND_SUCCESS);
  EXPECT_EQ(peer.sin_port, local.sin_port);
  EXPECT_EQ(peer.sin_addr.s_addr, local.sin_addr.s_addr);
  EXPECT_GE(ntohs(local.sin_port), 49152);

  ASSERT_EQ(c.b.connector->Accept(c.b.qp.get(), 2, 100000, "yes", 3, &accept), ND_PENDING);
  ASSERT_EQ(rig.finish(connect), ND_SUCCESS);
  EXPECT_EQ(accept.status(), ND_PENDING);  // until CompleteConnect
  EXPECT_EQ(data_of(*c.a.connector.get()).substr(0, 4), std::string("yes\0", 4));
  EXPECT_EQ(c.a.connector->GetReadLimits(&inbound, &outbound), ND_SUCCESS);
  EXPECT_EQ(inbound, 6u);
  EXPECT_EQ(outbound, 2u);
  EXPECT_EQ(c.a.qp->Send(nullptr, nullptr, 0, 0), ND_CONNECTION_INVALID);
  ASSERT_EQ(c.a.connector->CompleteConnect(&complete), ND_PENDING);
  EXPECT_EQ(rig.finish(complete), ND_SUCCESS);
  EXPECT_EQ(rig.finish(accept), ND_SUCCESS);
}

TEST(Connections, TheActiveSideMayTakeItsTime) {
  Rig rig;
  Connection c(rig);
  Request connect, accept, complete;
  c.ask(connect);
  rig.settle(Duration::s(300));
  ASSERT_EQ(c.b.connector->Accept(c.b.qp.get(), 0, 0, nullptr, 0, &accept), ND_PENDING);
  ASSERT_EQ(rig.finish(connect), ND_SUCCESS);
  rig.settle(Duration::s(60));
  ASSERT_EQ(c.a.connector->CompleteConnect(&complete), ND_PENDING);
  EXPECT_EQ(rig.finish(complete), ND_SUCCESS);
  EXPECT_EQ(rig.finish(accept), ND_SUCCESS);
}

TEST(Connections, ARefusalReachesTheActiveSideWithItsDataAndItMayTryAgain) {
  Rig rig;
  Connection c(rig);
  Request connect;
  c.ask(connect);
  ASSERT_EQ(c.b.connector->Reject("no", 2), ND_SUCCESS);
  EXPECT_EQ(rig.finish(connect), ND_CONNECTION_REFUSED);
  EXPECT_EQ(data_of(*c.a.connector.get()).substr(0, 3), std::string("no\0", 3));
  EXPECT_EQ(c.b.connector->Reject(nullptr, 0), ND_CONNECTION_INVALID);
  // Again, without another Bind, and with the same queue pair.
  c.b.connector = rig.b.connector();
  Request again, request, accept, complete;
  const Address to(rig.b.ip(), Connection::kPort);
  ASSERT_EQ(c.a.connector->Connect(c.a.qp.get(), to.get(), to.length, 0, 0, nullptr, 0, &again), ND_PENDING);
  ASSERT_EQ(c.listener->GetConnectionRequest(c.b.connector.get(), &request), ND_PENDING);
  ASSERT_EQ(rig.finish(request), ND_SUCCESS);
  ASSERT_EQ(c.b.connector->Accept(c.b.qp.get(), 0, 0, nullptr, 0, &accept), ND_PENDING);
  ASSERT_EQ(rig.finish(again), ND_SUCCESS);
  ASSERT_EQ(c.a.connector->CompleteConnect(&complete), ND_PENDING);
  EXPECT_EQ(rig.finish(accept), ND_SUCCESS);
}

TEST(Connections, TheActiveSideRejectsAReplyAndAcceptIsRefused) {
  for (const bool by_release : {false, true}) {
    Rig rig;
    Connection c(rig);
    Request connect, accept;
    c.ask(connect);
    ASSERT_EQ(c.b.connector->Accept(c.b.qp.get(), 0, 0, nullptr, 0, &accept), ND_PENDING);
    ASSERT_EQ(rig.finish(connect), ND_SUCCESS);
    if (by_release) {
      EXPECT_EQ(c.a.connector.reset(), 0u);
    } else {
      EXPECT_EQ(c.a.connector->Reject(nullptr, 0), ND_SUCCESS);
    }
    EXPECT_EQ(rig.finish(accept), ND_CONNECTION_REFUSED) << by_release;
  }
}

/// Nothing gets through.
struct Silence final : net::LinkFilter {
  net::Verdict on_packet(net::PacketContext&) override { return net::Verdict::dropped(); }
};

TEST(Connections, CompleteConnectTellsATimeoutFromAWithdrawal) {
  for (const bool timeout : {false, true}) {
    Rig rig;
    Connection c(rig);
    Silence silence;
    Request connect, accept, complete;
    c.ask(connect);
    ASSERT_EQ(c.b.connector->Accept(c.b.qp.get(), 0, 0, nullptr, 0, &accept), ND_PENDING);
    ASSERT_EQ(rig.finish(connect), ND_SUCCESS);
    if (timeout) {
      // The accepting side hears of nobody who needs more time, and gives up.
      rig.network.set_filter(rig.host_a, rig.host_b, &silence);
      EXPECT_EQ(rig.finish(accept), ND_IO_TIMEOUT);
    } else {
      c.b.connector.reset();
      c.b.qp.reset();
    }
    rig.settle();
    EXPECT_EQ(c.a.connector->CompleteConnect(&complete), timeout ? ND_IO_TIMEOUT : ND_CONNECTION_INVALID);
    const Address to(rig.b.ip(), Connection::kPort);
    EXPECT_TRUE(FAILED(c.a.connector->Connect(c.a.qp.get(), to.get(), to.length, 0, 0, nullptr, 0, &complete)));
  }
}

TEST(Connections, NobodyListens) {
  Rig rig;
  Connection c(rig);
  c.listener.reset();
  Request connect;
  const Address from(rig.a.ip()), to(rig.b.ip(), Connection::kPort);
  ASSERT_EQ(c.a.connector->Bind(from.get(), from.length), ND_SUCCESS);
  ASSERT_EQ(c.a.connector->Connect(c.a.qp.get(), to.get(), to.length, 0, 0, nullptr, 0, &connect), ND_PENDING);
  EXPECT_EQ(rig.finish(connect), ND_CONNECTION_REFUSED);
  const Address nowhere(IpAddress::v4(10, 0, 0, 77), 1), nothing(IpAddress::v4(0, 0, 0, 0), 1);
  ASSERT_EQ(c.a.connector->Connect(c.a.qp.get(), nowhere.get(), nowhere.length, 0, 0, nullptr, 0, &connect), ND_PENDING);
  EXPECT_EQ(rig.finish(connect), ND_IO_TIMEOUT);
  EXPECT_EQ(c.a.connector->Connect(c.a.qp.get(), nothing.get(), nothing.length, 0, 0, nullptr, 0, &connect), kBadNetworkName);
}

TEST(Connections, EachStateHasItsAnswers) {
  Rig rig;
  Request request, connect;  // `connect` is pending up to the end of its connector
  Connection c(rig);
  const Address from(rig.a.ip()), to(rig.b.ip(), Connection::kPort);
  IND2Connector& connector = *c.a.connector.get();
  const auto try_all = [&](std::vector<HRESULT> expected) {
    EXPECT_EQ(connector.CompleteConnect(&request), expected[0]);
    EXPECT_EQ(connector.Accept(c.a.qp.get(), 0, 0, nullptr, 0, &request), expected[1]);
    EXPECT_EQ(connector.Reject(nullptr, 0), expected[2]);
    EXPECT_EQ(connector.NotifyDisconnect(&request), expected[3]);
    EXPECT_EQ(connector.Disconnect(&request), expected[4]);
  };
  const std::vector<HRESULT> invalid(5, ND_CONNECTION_INVALID);
  try_all(invalid);
  EXPECT_EQ(connector.Connect(c.a.qp.get(), to.get(), to.length, 0, 0, nullptr, 0, &request), ND_INVALID_DEVICE_STATE);
  ASSERT_EQ(connector.Bind(from.get(), from.length), ND_SUCCESS);
  EXPECT_EQ(connector.Bind(from.get(), from.length), kAlreadyAssociated);
  try_all(invalid);
  ASSERT_EQ(connector.Connect(c.a.qp.get(), to.get(), to.length, 0, 0, nullptr, 0, &connect), ND_PENDING);
  try_all(invalid);
  EXPECT_EQ(connector.Connect(c.a.qp.get(), to.get(), to.length, 0, 0, nullptr, 0, &request), ND_CONNECTION_ACTIVE);
  // Another connector with the same queue pair.
  auto second = rig.a.connector();
  ASSERT_EQ(second->Bind(from.get(), from.length), ND_SUCCESS);
  EXPECT_EQ(second->Connect(c.a.qp.get(), to.get(), to.length, 0, 0, nullptr, 0, &request), ND_CONNECTION_ACTIVE);
  std::string large(57, 'x');
  auto qp = rig.a.queue_pair(*c.a.queue.get());
  EXPECT_EQ(second->Connect(qp.get(), to.get(), to.length, 0, 0, large.data(), 57, &request), ND_INVALID_BUFFER_SIZE);
  EXPECT_EQ(second->Connect(qp.get(), to.get(), to.length, 0, 0, reinterpret_cast<void*>(8), 8, &request), ND_ACCESS_VIOLATION);
  EXPECT_EQ(second->Connect(nullptr, to.get(), to.length, 0, 0, nullptr, 0, &request), ND_INVALID_PARAMETER_1);
  EXPECT_EQ(second->Connect(c.a.queue.get(), to.get(), to.length, 0, 0, nullptr, 0, &request), ND_INVALID_PARAMETER_1);
}

TEST(Connections, DisconnectIsSeenByThePeerAndFlushesBoth) {
  Rig rig;
  Connection c(rig);
  c.connect();
  ND2_SGE at_a = c.a.sge(0, 64), at_b = c.b.sge(0, 64);
  ASSERT_EQ(c.a.qp->Receive(nullptr, &at_a, 1), ND_SUCCESS);
  ASSERT_EQ(c.b.qp->Receive(nullptr, &at_b, 1), ND_SUCCESS);
  Request notified, disconnect;
  ASSERT_EQ(c.b.connector->NotifyDisconnect(&notified), ND_PENDING);
  rig.settle();
  EXPECT_EQ(notified.status(), ND_PENDING);
  ASSERT_EQ(c.a.connector->Disconnect(&disconnect), ND_PENDING);
  EXPECT_EQ(rig.finish(disconnect), ND_SUCCESS);
  EXPECT_EQ(rig.finish(notified), ND_SUCCESS);
  rig.settle();
  EXPECT_EQ(rig.a.results(*c.a.queue.get()).at(0).Status, ND_CANCELED);
  EXPECT_EQ(rig.b.results(*c.b.queue.get()).at(0).Status, ND_CANCELED);
  EXPECT_EQ(c.a.connector->Disconnect(&disconnect), ND_CONNECTION_INVALID);
  EXPECT_EQ(c.b.connector->Disconnect(&disconnect), ND_PENDING);
  c.rig.finish(disconnect);
  EXPECT_EQ(c.b.connector->GetOverlappedResult(&disconnect, FALSE), ND_SUCCESS);
  EXPECT_EQ(c.b.connector->Disconnect(&disconnect), ND_CONNECTION_INVALID);
  Request late;
  EXPECT_EQ(c.b.connector->NotifyDisconnect(&late), ND_PENDING);
  EXPECT_EQ(late.status(), ND_SUCCESS);
}

TEST(Connections, CancelEndsWhatIsPendingInOrderBeforeItReturns) {
  Rig rig;
  Connection c(rig);
  std::vector<Ref<IND2Connector>> connectors;
  std::vector<Request> requests(4);
  for (Request& request : requests) {
    connectors.push_back(rig.b.connector());
    ASSERT_EQ(c.listener->GetConnectionRequest(connectors.back().get(), &request), ND_PENDING);
  }
  EXPECT_EQ(c.listener->GetConnectionRequest(connectors[0].get(), &requests[0]), ND_CONNECTION_ACTIVE);
  rig.b.drain_port();
  ASSERT_EQ(c.listener->CancelOverlappedRequests(), ND_SUCCESS);
  const auto packets = rig.b.drain_port();
  ASSERT_EQ(packets.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_FALSE(packets[i].good);
    EXPECT_EQ(packets[i].overlapped, &requests[i]);
    EXPECT_EQ(requests[i].status(), ND_CANCELED);
  }
  Request connect;
  const Address from(rig.a.ip()), to(rig.b.ip(), Connection::kPort);
  ASSERT_EQ(c.a.connector->Bind(from.get(), from.length), ND_SUCCESS);
  ASSERT_EQ(c.a.connector->Connect(c.a.qp.get(), to.get(), to.length, 0, 0, nullptr, 0, &connect), ND_PENDING);
  ASSERT_EQ(c.a.connector->CancelOverlappedRequests(), ND_SUCCESS);
  EXPECT_EQ(connect.status(), ND_CANCELED);
}

TEST(Connections, ListenersKeepTheirPortsAndTheirOrder) {
  Rig rig;
  auto listener = rig.b.listener(7100);
  const Address at(rig.b.ip(), 7100);
  Ref<IND2Listener> other;
  ASSERT_EQ(rig.b.adapter->CreateListener(IID_IND2Listener, rig.b.file, other.out()), ND_SUCCESS);
  sockaddr_in said = {};
  ULONG bytes = sizeof said;
  EXPECT_EQ(other->GetLocalAddress(reinterpret_cast<struct sockaddr*>(&said), &bytes), ND_INVALID_DEVICE_STATE);
  EXPECT_EQ(other->Listen(0), ND_INVALID_DEVICE_STATE);
  EXPECT_EQ(other->Bind(at.get(), at.length), ND_SHARING_VIOLATION);
  const Address any(IpAddress::v4(0, 0, 0, 0));
  EXPECT_EQ(other->Bind(any.get(), any.length), ND_SUCCESS);
  EXPECT_EQ(other->Bind(any.get(), any.length), kAlreadyAssociated);
  EXPECT_EQ(other->Listen(0), ND_SUCCESS);
  EXPECT_TRUE(FAILED(other->Listen(0)));
  EXPECT_EQ(other->GetLocalAddress(reinterpret_cast<struct sockaddr*>(&said), &bytes), ND_SUCCESS);
  EXPECT_GE(ntohs(said.sin_port), 49152);
  listener.reset();
  auto again = rig.b.listener(7100);
}

TEST(Connections, ABacklogThatIsFullRefuses) {
  Rig rig;
  auto listener = rig.b.listener(7100, 2);
  auto queue = rig.a.completion_queue();
  std::vector<Ref<IND2QueuePair>> qps;
  std::vector<Request> requests(3);  // pending up to the end of their connectors
  std::vector<Ref<IND2Connector>> connectors;
  const Address from(rig.a.ip()), to(rig.b.ip(), 7100);
  for (Request& request : requests) {
    qps.push_back(rig.a.queue_pair(*queue.get()));
    connectors.push_back(rig.a.connector());
    ASSERT_EQ(connectors.back()->Bind(from.get(), from.length), ND_SUCCESS);
    ASSERT_EQ(connectors.back()->Connect(qps.back().get(), to.get(), to.length, 0, 0, nullptr, 0, &request), ND_PENDING);
  }
  rig.settle(Duration::s(1));
  EXPECT_EQ(requests[0].status(), ND_PENDING);
  EXPECT_EQ(requests[1].status(), ND_PENDING);
  EXPECT_EQ(requests[2].status(), ND_CONNECTION_REFUSED);
  listener.reset();  // with its requests unanswered
  EXPECT_EQ(rig.finish(requests[0]), ND_CONNECTION_REFUSED);
}

TEST(Connections, ConnectorsGoFromAnyState) {
  for (int stage = 0; stage < 4; ++stage) {
    for (const bool queue_pair_first : {false, true}) {
      Rig rig;
      Connection c(rig);
      Request connect, accept, complete;
      if (stage > 0) c.ask(connect);
      if (stage > 1) {
        ASSERT_EQ(c.b.connector->Accept(c.b.qp.get(), 0, 0, nullptr, 0, &accept), ND_PENDING);
        rig.settle();
      }
      if (stage > 2) {
        ASSERT_EQ(c.a.connector->CompleteConnect(&complete), ND_PENDING);
      }
      if (queue_pair_first) {
        EXPECT_EQ(c.a.qp.reset(), 0u);
      }
      EXPECT_EQ(c.a.connector.reset(), 0u);
      EXPECT_TRUE(stage == 0 || connect.status() != ND_PENDING);
      EXPECT_EQ(c.b.connector.reset(), 0u);
      EXPECT_EQ(c.b.qp.reset(), 0u);
      EXPECT_TRUE(stage < 2 || accept.status() != ND_PENDING);
      rig.settle(Duration::s(100));
    }
  }
  EXPECT_EQ(living_objects(), 0u);
}

}  // namespace
}  // namespace fb::networkdirect
