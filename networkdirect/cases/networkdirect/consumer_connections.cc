// Whether consumers deal rightly with connectors and listeners.
#include "networkdirect/cases/networkdirect/consumer_scene.h"

namespace fb::conformance {
namespace {

void connect(NdConsumer& nd) { nd.connect(); }

void connect_from_peer(NdConsumer& nd) { nd.connect_from_peer(); }

void connect_both_ways(NdConsumer& nd) {
  nd.connect();
  nd.connect_from_peer();
}

void disconnect(NdConsumer& nd, NdLine& line) {
  line.qp().disconnect();
  nd.program().wait("the end of the connection", [&] { return line.disconnected > 0; });
}

}  // namespace

CONFORMANCE_CASE(nd_consumer_binds_once, "networkdirect.consumer.bind-once", roles::consumer) {
  keeps(bench, check, Rule::bound_twice, {{"connector", "Bind"}, {"listener", "Bind"}}, connect_both_ways);
}

CONFORMANCE_CASE(nd_consumer_binds_before_it_connects, "networkdirect.consumer.bind-first", roles::consumer) {
  keeps(bench, check, Rule::connect_before_bind, {{"connector", "Connect"}}, connect);
}

CONFORMANCE_CASE(nd_consumer_uses_a_connector_for_one_connection, "networkdirect.consumer.connector-once", roles::consumer) {
  keeps(bench, check, Rule::connector_reused, {{"connector", "Connect"}, {"connector", "Accept"}, {"listener", "GetConnectionRequest"}},
        connect_both_ways);
}

CONFORMANCE_CASE(nd_consumer_connects_a_queue_pair_once, "networkdirect.consumer.queue-pair-once", roles::consumer) {
  keeps(bench, check, Rule::queue_pair_reused, {{"connector", "Connect"}, {"connector", "Disconnect"}}, [](NdConsumer& nd) {
    disconnect(nd, nd.connect());
    nd.connect();
  });
}

CONFORMANCE_CASE(nd_consumer_completes_after_the_reply, "networkdirect.consumer.complete-once", roles::consumer) {
  keeps(bench, check, Rule::complete_connect_misplaced, {{"connector", "CompleteConnect"}}, connect);
}

CONFORMANCE_CASE(nd_consumer_completes_what_it_connects, "networkdirect.consumer.complete-connect", roles::consumer) {
  NdConsumer& nd = bench.nd();
  nd.connect();
  check.equal("calls of CompleteConnect for one connection", nd.called("connector", "CompleteConnect").calls, 1u);
}

CONFORMANCE_CASE(nd_consumer_accepts_what_was_asked, "networkdirect.consumer.accept-request", roles::consumer) {
  keeps(bench, check, Rule::accept_without_request, {{"connector", "Accept"}}, connect_from_peer);
}

CONFORMANCE_CASE(nd_consumer_rejects_what_is_unanswered, "networkdirect.consumer.reject-open", roles::consumer) {
  keeps(bench, check, Rule::reject_misplaced, {{"connector", "Reject"}, {"connector", "Accept"}}, [](NdConsumer& nd) {
    connect_both_ways(nd);
    nd.program().answer(NdAnswer::reject);
    VerbsQueue& asking = nd.peer_asks();
    must(asking.wait_event(ConnectionEvent::rejected, Duration::s(10)), "the program refuses a connection");
  });
}

CONFORMANCE_CASE(nd_consumer_asks_what_the_peer_said_in_time, "networkdirect.consumer.data-in-time", roles::consumer) {
  keeps(bench, check, Rule::connection_data_early, {{"connector", "GetReadLimits"}, {"connector", "GetPrivateData"}}, connect_both_ways);
}

CONFORMANCE_CASE(nd_consumer_sends_private_data_that_fit, "networkdirect.consumer.private-data", roles::consumer) {
  keeps(bench, check, Rule::private_data_too_long, {{"connector", "Connect"}}, [](NdConsumer& nd) {
    const Bytes data(32, 0x5A);
    rdma::ConnectionParameters parameters = nd_parameters();
    parameters.private_data = data;
    nd.peer_listens();
    must(nd.program().ask(nd.peer_at(), parameters).established > 0, "a connection with private data");
  });
}

CONFORMANCE_CASE(nd_consumer_disconnects_connections, "networkdirect.consumer.disconnect-once", roles::consumer) {
  keeps(bench, check, Rule::disconnect_unconnected, {{"connector", "Disconnect"}, {"connector", "NotifyDisconnect"}},
        [](NdConsumer& nd) { disconnect(nd, nd.connect()); });
}

CONFORMANCE_CASE(nd_consumer_disconnects_before_it_lets_go, "networkdirect.consumer.disconnect-first", roles::consumer) {
  keeps(bench, check, Rule::connection_abandoned, {{"connector", "NotifyDisconnect", true}, {"connector", "Release"}}, [](NdConsumer& nd) {
    NdLine& line = nd.connect();
    exchange(nd, line);
    nd.program().let_go(line);
  });
}

CONFORMANCE_CASE(nd_consumer_answers_replies, "networkdirect.consumer.reply-answered", roles::consumer) {
  keeps(bench, check, Rule::reply_abandoned, {{"connector", "Connect", true}, {"connector", "Release"}}, [](NdConsumer& nd) {
    nd.peer_listens();
    rdma::ConnectionParameters parameters = nd_parameters();
    parameters.hold_reply = true;
    NdLine& line = nd.program().ask(nd.peer_at(), parameters);
    must(line.accepted > 0, "a reply that waits for an answer");
    nd.program().let_go(line);
  });
}

CONFORMANCE_CASE(nd_consumer_answers_requests, "networkdirect.consumer.request-answered", roles::consumer) {
  keeps(bench, check, Rule::request_abandoned, {{"listener", "GetConnectionRequest", true}, {"connector", "Release"}}, [](NdConsumer& nd) {
    NdProgram& program = nd.program();
    program.listen(NdConsumer::kProgramPort, NdAnswer::keep);
    nd.peer_asks();
    program.wait_requests(1);
    program.requests().clear();
    program.pass(Duration::ms(10));
  });
}

CONFORMANCE_CASE(nd_consumer_asks_to_be_told_of_the_end, "networkdirect.consumer.notify-disconnect", roles::consumer) {
  keeps(bench, check, Rule::notify_disconnect_missing, {{"connector", "CompleteConnect"}, {"connector", "Accept"}}, connect_both_ways);
}

CONFORMANCE_CASE(nd_consumer_asks_what_the_peer_said_before_it_answers, "networkdirect.consumer.data-before-answer", roles::consumer) {
  keeps(bench, check, Rule::connection_data_late, {{"connector", "CompleteConnect"}, {"connector", "Accept"}}, connect_both_ways);
}

CONFORMANCE_CASE(nd_consumer_tries_again_with_another_connector, "networkdirect.consumer.connector-after-refusal", roles::consumer) {
  keeps(bench, check, Rule::connector_refused_reused, {{"connector", "Connect"}}, [](NdConsumer& nd) {
    NdLine& line = nd.program().ask(nd.peer_at());
    must(line.rejected > 0, "a refusal, for nobody listens");
    nd.peer_listens();
    nd.program().ask(line, nd.peer_at(), nd_parameters());
    nd.connect();
  });
}

CONFORMANCE_CASE(nd_consumer_connects_from_different_ports, "networkdirect.consumer.own-port", roles::consumer) {
  keeps(bench, check, Rule::ports_shared, {{"connector", "Bind"}, {"connector", "Connect"}}, [](NdConsumer& nd) {
    nd.connect();
    nd.connect();
  });
}

CONFORMANCE_CASE(nd_consumer_receives_from_the_beginning, "networkdirect.consumer.receive-first", roles::consumer) {
  keeps(bench, check, Rule::receives_late, {{"queue pair", "Receive"}, {"connector", "CompleteConnect"}, {"connector", "Accept"}},
        [](NdConsumer& nd) {
          nd.peer_listens();
          NdProgram& program = nd.program();
          NdLine& line = program.line();
          must(program.receive(line), "the consumer takes a Receive before it connects");
          program.ask(line, nd.peer_at(), nd_parameters());
          must(line.established > 0, "a connection");
          exchange(nd, line);
          nd.connect_from_peer();
        });
}

CONFORMANCE_CASE(nd_consumer_binds_before_it_listens, "networkdirect.consumer.listen-bound", roles::consumer) {
  keeps(bench, check, Rule::listen_before_bind, {{"listener", "Listen"}}, connect_from_peer);
}

CONFORMANCE_CASE(nd_consumer_listens_once, "networkdirect.consumer.listen-once", roles::consumer) {
  keeps(bench, check, Rule::listen_twice, {{"listener", "Listen"}}, connect_from_peer);
}

CONFORMANCE_CASE(nd_consumer_listens_before_it_asks, "networkdirect.consumer.listen-first", roles::consumer) {
  keeps(bench, check, Rule::request_before_listen, {{"listener", "GetConnectionRequest", true}}, connect_from_peer);
}

}  // namespace fb::conformance
