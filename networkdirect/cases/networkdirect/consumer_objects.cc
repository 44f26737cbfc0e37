// Whether consumers deal rightly with the objects of a provider.
#include "networkdirect/cases/networkdirect/consumer_scene.h"

namespace fb::conformance {
namespace {

/// Objects of every kind that a consumer makes without being asked for windows.
void use_all_objects(NdConsumer& nd) {
  nd.connect({.shared_receives = true});
  nd.connect_from_peer();
}

void connect(NdConsumer& nd) { nd.connect(); }

}  // namespace

CONFORMANCE_CASE(nd_consumer_leaves_released_objects_alone, "networkdirect.consumer.use-after-release", roles::consumer) {
  keeps(bench, check, Rule::use_after_release,
        {{"memory region", "Release"},
         {"queue pair", "Release"},
         {"completion queue", "Release"},
         {"shared receive queue", "Release"},
         {"connector", "Release"},
         {"listener", "Release"},
         {"adapter", "Release"}},
        use_all_objects);
}

CONFORMANCE_CASE(nd_consumer_releases_once, "networkdirect.consumer.release-once", roles::consumer) {
  keeps(bench, check, Rule::release_too_often, {{"adapter", "Release"}, {"connector", "Release"}}, use_all_objects);
}

CONFORMANCE_CASE(nd_consumer_releases_everything, "networkdirect.consumer.release-all", roles::consumer) {
  keeps(bench, check, Rule::leaked_object,
        {{"memory region", "Release"},
         {"queue pair", "Release"},
         {"completion queue", "Release"},
         {"shared receive queue", "Release"},
         {"connector", "Release"},
         {"listener", "Release"},
         {"adapter", "Release"}},
        use_all_objects);
}

CONFORMANCE_CASE(nd_consumer_releases_the_adapter_last, "networkdirect.consumer.adapter-last", roles::consumer) {
  keeps(bench, check, Rule::adapter_released_first, {{"adapter", "Release"}, {"memory region", "Release"}}, use_all_objects);
}

CONFORMANCE_CASE(nd_consumer_keeps_queues_of_queue_pairs, "networkdirect.consumer.queues-after-pairs", roles::consumer) {
  keeps(bench, check, Rule::queue_released_first, {{"completion queue", "Release"}, {"queue pair", "Release"}}, use_all_objects);
}

CONFORMANCE_CASE(nd_consumer_passes_what_is_needed, "networkdirect.consumer.argument-given", roles::consumer) {
  keeps(bench, check, Rule::argument_null, {{"adapter", "CreateQueuePair"}, {"connector", "Connect"}}, connect);
}

CONFORMANCE_CASE(nd_consumer_passes_objects_of_the_right_kind, "networkdirect.consumer.argument-kind", roles::consumer) {
  keeps(bench, check, Rule::argument_foreign, {{"adapter", "CreateQueuePair"}, {"connector", "Connect"}}, connect);
}

CONFORMANCE_CASE(nd_consumer_keeps_adapters_apart, "networkdirect.consumer.argument-adapter", roles::consumer) {
  keeps(bench, check, Rule::argument_of_other_adapter, {{"adapter", "CreateQueuePair"}}, [](NdConsumer& nd) {
    nd.connect();
    const auto other = nd.another_device();
    const auto domain = other->allocate_protection_domain();
    rdma::QueuePairOptions options;
    options.send_queue = options.receive_queue = &nd.program().queue();
    other->create_queue_pair(*domain, options);  // which the consumer is free to refuse
  });
}

CONFORMANCE_CASE(nd_consumer_passes_living_objects, "networkdirect.consumer.argument-living", roles::consumer) {
  keeps(bench, check, Rule::argument_released, {{"adapter", "CreateQueuePair"}, {"connector", "Connect"}}, connect);
}

CONFORMANCE_CASE(nd_consumer_uses_the_adapters_file, "networkdirect.consumer.file", roles::consumer) {
  keeps(bench, check, Rule::file_foreign, {{"adapter", "CreateCompletionQueue"}, {"adapter", "CreateConnector"}}, connect);
}

CONFORMANCE_CASE(nd_consumer_knows_the_form_of_the_info, "networkdirect.consumer.info-version", roles::consumer) {
  keeps(bench, check, Rule::info_version_wrong, {{"adapter", "Query"}}, [](NdConsumer& nd) { nd.program(); });
}

CONFORMANCE_CASE(nd_consumer_keeps_within_limits, "networkdirect.consumer.limits", roles::consumer) {
  keeps(bench, check, Rule::adapter_limit_exceeded,
        {{"adapter", "CreateCompletionQueue"}, {"adapter", "CreateQueuePairWithSrq"}, {"shared receive queue", "Modify"}},
        [](NdConsumer& nd) {
          NdLine& line = nd.connect({.shared_receives = true});
          NdProgram& program = nd.program();
          for (int i = 0; i < 4; ++i) must(program.receive(line), "the consumer takes a Receive");
          program.shared().arm_limit(2);
          exchange(nd, line);
        });
}

CONFORMANCE_CASE(nd_consumer_gives_known_flags, "networkdirect.consumer.flags", roles::consumer) {
  keeps(bench, check, Rule::flags_unknown, {{"queue pair", "Send"}, {"queue pair", "Read"}, {"queue pair", "Write"}}, [](NdConsumer& nd) {
    NdLine& line = nd.connect();
    rdma::SendRequest solicited = nd.towards_peer(rdma::SendOpcode::rdma_write);
    solicited.solicited = true;
    nd.program().perform(line, solicited);
    access_memory(nd, line);
    exchange(nd, line);
  });
}

}  // namespace fb::conformance
