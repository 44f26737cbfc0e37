// How consumers deal with memory regions.
#include "networkdirect/cases/networkdirect/consumer_scene.h"

namespace fb::conformance {

CONFORMANCE_CASE(nd_consumer_registers_something, "networkdirect.consumer.register-nothing", roles::consumer) {
  keeps(bench, check, Rule::register_nothing, {{"memory region", "RegisterAt"}}, [](NdConsumer& nd) { nd.program(); });
}

CONFORMANCE_CASE(nd_consumer_registers_one_buffer, "networkdirect.consumer.register-twice", roles::consumer) {
  keeps(bench, check, Rule::register_twice, {{"memory region", "RegisterAt"}}, [](NdConsumer& nd) { nd.program(); });
}

CONFORMANCE_CASE(nd_consumer_asks_tokens_of_registered_memory, "networkdirect.consumer.token-before-register", roles::consumer) {
  keeps(bench, check, Rule::token_before_register, {{"memory region", "GetLocalToken"}, {"memory region", "GetRemoteToken"}},
        [](NdConsumer& nd) { nd.program(); });
}

CONFORMANCE_CASE(nd_consumer_deregisters_what_it_registered, "networkdirect.consumer.deregister-unregistered", roles::consumer) {
  keeps(bench, check, Rule::deregister_unregistered, {{"memory region", "Deregister"}}, [](NdConsumer& nd) { nd.program(); });
}

CONFORMANCE_CASE(nd_consumer_keeps_memory_in_use_registered, "networkdirect.consumer.deregister-in-use", roles::consumer) {
  keeps(bench, check, Rule::deregister_in_use, {{"queue pair", "Write"}, {"memory region", "Deregister"}}, [](NdConsumer& nd) {
    NdLine& line = nd.connect();
    access_memory(nd, line);
  });
}

CONFORMANCE_CASE(nd_consumer_deregisters_before_the_release, "networkdirect.consumer.deregister-first", roles::consumer) {
  keeps(bench, check, Rule::region_released_registered, {{"memory region", "RegisterAt"}, {"memory region", "Release"}},
        [](NdConsumer& nd) { nd.program(); });
}

CONFORMANCE_CASE(nd_consumer_names_buffers_by_their_tokens, "networkdirect.consumer.buffer-token", roles::consumer) {
  keeps(bench, check, Rule::sge_token_unknown, {{"queue pair", "Send"}, {"queue pair", "Receive"}},
        [](NdConsumer& nd) { exchange(nd, nd.connect()); });
}

CONFORMANCE_CASE(nd_consumer_uses_buffers_that_are_registered, "networkdirect.consumer.buffer-registered", roles::consumer) {
  keeps(bench, check, Rule::sge_token_deregistered, {{"queue pair", "Send"}, {"memory region", "Deregister"}}, [](NdConsumer& nd) {
    nd.program().another_region().reset();
    exchange(nd, nd.connect());
  });
}

CONFORMANCE_CASE(nd_consumer_uses_buffers_within_their_region, "networkdirect.consumer.buffer-range", roles::consumer) {
  keeps(bench, check, Rule::sge_outside_region, {{"queue pair", "Send"}, {"queue pair", "Receive"}},
        [](NdConsumer& nd) { exchange(nd, nd.connect()); });
}

CONFORMANCE_CASE(nd_consumer_receives_into_memory_for_it, "networkdirect.consumer.buffer-writable", roles::consumer) {
  keeps(bench, check, Rule::sge_not_writable, {{"queue pair", "Receive"}}, [](NdConsumer& nd) { exchange(nd, nd.connect()); });
}

CONFORMANCE_CASE(nd_consumer_reads_into_sinks, "networkdirect.consumer.read-sink", roles::consumer) {
  keeps(bench, check, Rule::read_sink_missing, {{"queue pair", "Read"}}, [](NdConsumer& nd) { access_memory(nd, nd.connect()); });
}

CONFORMANCE_CASE(nd_consumer_gives_no_more_buffers_than_agreed, "networkdirect.consumer.buffer-count", roles::consumer) {
  keeps(bench, check, Rule::sge_count_exceeded, {{"queue pair", "Send"}, {"queue pair", "Receive"}},
        [](NdConsumer& nd) { exchange(nd, nd.connect()); });
}

CONFORMANCE_CASE(nd_consumer_leaves_buffers_alone, "networkdirect.consumer.buffer-unchanged", roles::consumer) {
  NdConsumer& nd = bench.nd();
  NdLine& line = nd.connect();
  const Bytes sent(nd.program().memory().begin(), nd.program().memory().begin() + 2000);
  must(nd.program().perform(line, {}, 0, 2000).status == rdma::CompletionStatus::success, "a Send succeeds");
  must(nd.peer_accepted().wait_receive(Duration::s(1)).has_value(), "the message comes");
  check.bytes("the message", nd.peer().received(0, sent.size()), sent);
}

CONFORMANCE_CASE(nd_consumer_gives_remote_tokens_as_they_came, "networkdirect.consumer.remote-token", roles::consumer) {
  NdConsumer& nd = bench.nd();
  NdLine& line = nd.connect();
  const auto done = nd.program().perform(line, nd.towards_peer(rdma::SendOpcode::rdma_write, 4096), 1, 64);
  check.that(done.status == rdma::CompletionStatus::success, "a Write to the peer's memory succeeds");
  check.bytes("what was written", ByteView(nd.peer_memory().bytes).subspan(4096, 64), ByteView(nd.program().memory()).subspan(1, 64));
}

}  // namespace fb::conformance
