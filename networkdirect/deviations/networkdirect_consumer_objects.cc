// What a careless consumer of NetworkDirect does with the objects of a provider and with its adapter.
#include "model/deviations/deviation.h"

namespace fb::deviations {

DEVIATION(nd_consumer_calls_a_released_adapter, "networkdirect.consumer.use-after-release", Product::nd_consumer,
          "queries an adapter that it has released", Departs{"adapter.used_after_release"});
DEVIATION(nd_consumer_calls_a_released_region, "networkdirect.consumer.use-after-release", Product::nd_consumer,
          "asks a released region for its token", Departs{"region.used_after_release"});
DEVIATION(nd_consumer_calls_a_released_completion_queue, "networkdirect.consumer.use-after-release", Product::nd_consumer,
          "asks a released completion queue for results", Departs{"completion_queue.used_after_release"});
DEVIATION(nd_consumer_calls_a_released_shared_queue, "networkdirect.consumer.use-after-release", Product::nd_consumer,
          "posts on a released shared receive queue", Departs{"shared_queue.used_after_release"});
DEVIATION(nd_consumer_calls_a_released_queue_pair, "networkdirect.consumer.use-after-release", Product::nd_consumer,
          "flushes a released queue pair", Departs{"queue_pair.used_after_release"});
DEVIATION(nd_consumer_calls_a_released_connector, "networkdirect.consumer.use-after-release", Product::nd_consumer,
          "asks a released connector for its read limits", Departs{"connector.used_after_release"});
DEVIATION(nd_consumer_calls_a_released_listener, "networkdirect.consumer.use-after-release", Product::nd_consumer,
          "asks a released listener for its address", Departs{"listener.used_after_release"});
DEVIATION(nd_consumer_releases_the_adapter_twice, "networkdirect.consumer.release-once", Product::nd_consumer,
          "releases one reference of the adapter twice", Departs{"adapter.released_twice"});
DEVIATION(nd_consumer_leaks_the_adapter, "networkdirect.consumer.release-all", Product::nd_consumer, "never releases the adapter",
          Departs{"adapter.leaked"});
DEVIATION(nd_consumer_leaks_regions, "networkdirect.consumer.release-all", Product::nd_consumer, "never releases memory regions",
          Departs{"region.leaked"});
DEVIATION(nd_consumer_leaks_completion_queues, "networkdirect.consumer.release-all", Product::nd_consumer,
          "never releases completion queues", Departs{"completion_queue.leaked"});
DEVIATION(nd_consumer_leaks_shared_queues, "networkdirect.consumer.release-all", Product::nd_consumer,
          "never releases shared receive queues", Departs{"shared_queue.leaked"});
DEVIATION(nd_consumer_leaks_queue_pairs, "networkdirect.consumer.release-all", Product::nd_consumer, "never releases queue pairs",
          Departs{"queue_pair.leaked"});
DEVIATION(nd_consumer_leaks_connectors, "networkdirect.consumer.release-all", Product::nd_consumer, "never releases connectors",
          Departs{"connector.leaked"});
DEVIATION(nd_consumer_leaks_listeners, "networkdirect.consumer.release-all", Product::nd_consumer, "never releases listeners",
          Departs{"listener.leaked"});
DEVIATION(nd_consumer_releases_the_adapter_first, "networkdirect.consumer.adapter-last", Product::nd_consumer,
          "keeps a region longer than the adapter", Departs{"adapter.released_first"});
DEVIATION(nd_consumer_releases_queue_pairs_last, "networkdirect.consumer.queues-after-pairs", Product::nd_consumer,
          "keeps queue pairs longer than their completion queues", Departs{"queue_pair.released_last"});
DEVIATION(nd_consumer_gives_no_receive_queue, "networkdirect.consumer.argument-given", Product::nd_consumer,
          "creates queue pairs without a receive completion queue", Departs{"queue_pair.without_queue"});
DEVIATION(nd_consumer_connects_no_queue_pair, "networkdirect.consumer.argument-given", Product::nd_consumer,
          "calls Connect without a queue pair", Departs{"connector.without_queue_pair"});
DEVIATION(nd_consumer_gives_an_adapter_for_a_queue, "networkdirect.consumer.argument-kind", Product::nd_consumer,
          "passes the adapter for a completion queue", Departs{"queue_pair.foreign_queue"});
DEVIATION(nd_consumer_mixes_adapters, "networkdirect.consumer.argument-adapter", Product::nd_consumer,
          "creates a queue pair on the completion queue of another adapter", Departs{"queue_pair.queue_of_other_adapter"});
DEVIATION(nd_consumer_gives_a_released_queue, "networkdirect.consumer.argument-living", Product::nd_consumer,
          "creates queue pairs on a released completion queue", Departs{"queue_pair.released_queue"});
DEVIATION(nd_consumer_gives_no_file, "networkdirect.consumer.file", Product::nd_consumer, "creates completion queues without a file",
          Departs{"completion_queue.foreign_file"});
DEVIATION(nd_consumer_asks_for_another_info, "networkdirect.consumer.info-version", Product::nd_consumer,
          "queries the adapter for a version that there is not", Departs{"adapter.info_version"});
DEVIATION(nd_consumer_asks_for_deep_completion_queues, "networkdirect.consumer.limits", Product::nd_consumer,
          "asks for a completion queue that is too deep", Departs{"completion_queue.too_deep"});
DEVIATION(nd_consumer_asks_for_deep_shared_queues, "networkdirect.consumer.limits", Product::nd_consumer,
          "asks for a shared receive queue that is too deep", Departs{"shared_queue.too_deep"});
DEVIATION(nd_consumer_asks_for_a_large_threshold, "networkdirect.consumer.limits", Product::nd_consumer,
          "asks for a threshold beyond the depth", Departs{"shared_queue.threshold_too_large"});
DEVIATION(nd_consumer_asks_for_deep_queue_pairs, "networkdirect.consumer.limits", Product::nd_consumer,
          "asks for a queue pair that is too deep", Departs{"queue_pair.too_deep"});
DEVIATION(nd_consumer_registers_with_unknown_flags, "networkdirect.consumer.flags", Product::nd_consumer,
          "registers memory with a flag that there is not", Departs{"region.unknown_flag"});
DEVIATION(nd_consumer_posts_with_unknown_flags, "networkdirect.consumer.flags", Product::nd_consumer,
          "posts requests with a flag that there is not", Departs{"post.unknown_flag"});
DEVIATION(nd_consumer_reads_inline, "networkdirect.consumer.flags", Product::nd_consumer, "posts a Read with inline data",
          Departs{"post.read_inline"});
DEVIATION(nd_consumer_solicits_with_a_write, "networkdirect.consumer.flags", Product::nd_consumer, "posts a Write that solicits an event",
          Departs{"post.write_solicited"});

}  // namespace fb::deviations
