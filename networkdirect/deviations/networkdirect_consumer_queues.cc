// What a careless consumer of NetworkDirect does with queue pairs and completion queues.
#include "model/deviations/deviation.h"

namespace fb::deviations {

DEVIATION(nd_consumer_posts_unconnected, "networkdirect.consumer.post-connected", Product::nd_consumer,
          "sends on a queue pair that is not connected", Departs{"post.unconnected"});
DEVIATION(nd_consumer_posts_after_a_failure, "networkdirect.consumer.post-after-failure", Product::nd_consumer,
          "goes on posting after a request has failed", Departs{"post.after_failure"});
DEVIATION(nd_consumer_makes_shallow_queue_pairs, "networkdirect.consumer.queue-depth", Product::nd_consumer,
          "posts more than its queue pair was created for", Departs{"queue_pair.shallow"});
DEVIATION(nd_consumer_takes_no_results, "networkdirect.consumer.queue-results", Product::nd_consumer,
          "takes no results and goes on posting", Departs{"completion_queue.results_untaken"});
DEVIATION(nd_consumer_receives_beside_the_shared_queue, "networkdirect.consumer.receive-shared", Product::nd_consumer,
          "posts a Receive on a queue pair with a shared receive queue", Departs{"post.receive_beside_shared_queue"});
DEVIATION(nd_consumer_reads_without_a_limit, "networkdirect.consumer.read-limit", Product::nd_consumer,
          "reads on a connection for which it asked no reads", Departs{"connector.no_reads"});
DEVIATION(nd_consumer_has_no_room_for_inline_data, "networkdirect.consumer.inline-room", Product::nd_consumer,
          "sends inline on a queue pair without room for it", Departs{"queue_pair.no_inline"});
DEVIATION(nd_consumer_asks_for_unknown_notices, "networkdirect.consumer.notify-type", Product::nd_consumer,
          "asks for a notification of a type that there is not", Departs{"completion_queue.notify_type"});
DEVIATION(nd_consumer_makes_shallow_completion_queues, "networkdirect.consumer.completion-room", Product::nd_consumer,
          "creates completion queues for one result", Departs{"completion_queue.shallow"});
DEVIATION(nd_consumer_makes_empty_completion_queues, "networkdirect.consumer.completion-depth", Product::nd_consumer,
          "creates completion queues for no result", Departs{"completion_queue.depth_zero"});

}  // namespace fb::deviations
