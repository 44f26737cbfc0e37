// Whether consumers deal rightly with queue pairs and completion queues.
#include "networkdirect/cases/networkdirect/consumer_scene.h"

namespace fb::conformance {
namespace {

constexpr int kBurst = 8;

/// Requests that are on their way together.
void burst(NdConsumer& nd, NdLine& line) {
  NdProgram& program = nd.program();
  for (int i = 0; i < kBurst; ++i) {
    must(program.post(line, nd.towards_peer(rdma::SendOpcode::rdma_write)), "the consumer takes as many requests as it was asked for");
  }
  for (int i = 0; i < kBurst; ++i) must(program.completion().has_value(), "every request completes");
}

}  // namespace

CONFORMANCE_CASE(nd_consumer_posts_when_connected, "networkdirect.consumer.post-connected", roles::consumer) {
  keeps(bench, check, Rule::post_unconnected, {{"queue pair", "Send"}}, [](NdConsumer& nd) {
    NdLine& line = nd.program().line();
    nd.program().post(line, {});  // which the consumer is free to refuse
    nd.peer_listens();
    nd.program().ask(line, nd.peer_at(), nd_parameters());
    exchange(nd, line);
  });
}

CONFORMANCE_CASE(nd_consumer_posts_nothing_after_a_failure, "networkdirect.consumer.post-after-failure", roles::consumer) {
  keeps(bench, check, Rule::post_after_failure, {{"queue pair", "Write"}}, [](NdConsumer& nd) {
    NdLine& line = nd.connect();
    rdma::SendRequest astray = nd.towards_peer(rdma::SendOpcode::rdma_write);
    astray.rkey ^= 0xFF00;
    must(nd.program().perform(line, astray).status != rdma::CompletionStatus::success, "a Write to nowhere fails");
    nd.program().post(line, {});
    nd.program().completion(Duration::ms(50));
  });
}

CONFORMANCE_CASE(nd_consumer_makes_queues_deep_enough, "networkdirect.consumer.queue-depth", roles::consumer) {
  keeps(bench, check, Rule::queue_depth_exceeded, {{"queue pair", "Write"}}, [](NdConsumer& nd) { burst(nd, nd.connect()); });
}

CONFORMANCE_CASE(nd_consumer_takes_results_as_it_posts, "networkdirect.consumer.queue-results", roles::consumer) {
  keeps(bench, check, Rule::queue_depth_presumed, {{"queue pair", "Write"}, {"completion queue", "GetResults"}}, [](NdConsumer& nd) {
    NdLine& line = nd.connect();
    for (int i = 0; i < 4 * kBurst; ++i) {
      must(nd.program().post(line, nd.towards_peer(rdma::SendOpcode::rdma_write)), "the consumer takes a request");
      // Nothing may come of a consumer that takes no results.
      nd.program().completion(Duration::ms(2));
    }
  });
}

CONFORMANCE_CASE(nd_consumer_posts_shared_receives, "networkdirect.consumer.receive-shared", roles::consumer) {
  keeps(bench, check, Rule::receive_on_shared, {{"adapter", "CreateQueuePairWithSrq"}, {"shared receive queue", "Receive"}},
        [](NdConsumer& nd) {
          NdLine& line = nd.connect({.shared_receives = true});
          const rdma::Sge sge = nd.program().region().sge(0, 64);
          line.qp().post_receive({77, {&sge, 1}});  // which the consumer is free to refuse
          exchange(nd, line);
        });
}

CONFORMANCE_CASE(nd_consumer_asks_for_reads_before_it_reads, "networkdirect.consumer.read-limit", roles::consumer) {
  keeps(bench, check, Rule::read_without_limit, {{"queue pair", "Read"}}, [](NdConsumer& nd) { access_memory(nd, nd.connect()); });
}

CONFORMANCE_CASE(nd_consumer_makes_room_for_inline_data, "networkdirect.consumer.inline-room", roles::consumer) {
  keeps(bench, check, Rule::inline_too_long, {{"queue pair", "Send"}}, [](NdConsumer& nd) {
    NdLine& line = nd.connect();
    must(nd.program().device().limits().max_inline_bytes >= 16, "an adapter with inline data");
    rdma::SendRequest copied;
    copied.inline_data = true;
    nd.program().perform(line, copied, 0, 16);
  });
}

CONFORMANCE_CASE(nd_consumer_asks_for_notices_of_a_known_type, "networkdirect.consumer.notify-type", roles::consumer) {
  keeps(bench, check, Rule::notify_type_unknown, {{"completion queue", "Notify", true}}, [](NdConsumer& nd) {
    NdLine& line = nd.connect();
    nd.program().watch();
    must(nd.program().post(line, {}), "the consumer takes a Send");
    nd.program().wait("a notice", [&] { return nd.program().told() > 0; });
  });
}

CONFORMANCE_CASE(nd_consumer_makes_completion_queues_deep_enough, "networkdirect.consumer.completion-room", roles::consumer) {
  keeps(bench, check, Rule::completion_queue_shallow, {{"queue pair", "Write"}}, [](NdConsumer& nd) { burst(nd, nd.connect()); });
}

CONFORMANCE_CASE(nd_consumer_makes_completion_queues_with_room, "networkdirect.consumer.completion-depth", roles::consumer) {
  keeps(bench, check, Rule::completion_queue_empty, {{"adapter", "CreateCompletionQueue"}},
        [](NdConsumer& nd) { burst(nd, nd.connect()); });
}

}  // namespace fb::conformance
