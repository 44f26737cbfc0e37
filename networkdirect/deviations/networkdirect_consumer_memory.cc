// What a careless consumer of NetworkDirect does with memory and with the buffers of requests.
#include "model/deviations/deviation.h"

namespace fb::deviations {

DEVIATION(nd_consumer_registers_nothing, "networkdirect.consumer.register-nothing", Product::nd_consumer, "registers no bytes",
          Departs{"region.empty"});
DEVIATION(nd_consumer_registers_twice, "networkdirect.consumer.register-twice", Product::nd_consumer,
          "registers a second buffer with a region", Departs{"region.registered_twice"});
DEVIATION(nd_consumer_asks_tokens_early, "networkdirect.consumer.token-before-register", Product::nd_consumer,
          "asks for a token before it registers", Departs{"region.token_early"});
DEVIATION(nd_consumer_deregisters_twice, "networkdirect.consumer.deregister-unregistered", Product::nd_consumer,
          "deregisters a region twice", Departs{"region.deregistered_twice"});
DEVIATION(nd_consumer_deregisters_in_flight, "networkdirect.consumer.deregister-in-use", Product::nd_consumer,
          "deregisters memory that a request uses", Departs{"region.deregistered_in_flight"});
DEVIATION(nd_consumer_releases_registered_regions, "networkdirect.consumer.deregister-first", Product::nd_consumer,
          "releases regions that are registered", Departs{"region.released_registered"});
DEVIATION(nd_consumer_invents_tokens, "networkdirect.consumer.buffer-token", Product::nd_consumer,
          "gives buffers tokens that no region has", Departs{"post.bad_token"});
DEVIATION(nd_consumer_gives_stale_tokens, "networkdirect.consumer.buffer-registered", Product::nd_consumer,
          "gives buffers the token of a region that it has deregistered", Departs{"post.stale_token"});
DEVIATION(nd_consumer_goes_beyond_regions, "networkdirect.consumer.buffer-range", Product::nd_consumer, "gives buffers beyond their region",
          Departs{"post.beyond_region"});
DEVIATION(nd_consumer_receives_into_read_only_memory, "networkdirect.consumer.buffer-writable", Product::nd_consumer,
          "receives into memory that it registered for reading", Departs{"region.local_write_missing"});
DEVIATION(nd_consumer_reads_into_no_sink, "networkdirect.consumer.read-sink", Product::nd_consumer, "reads into memory that is no sink",
          Departs{"region.read_sink_missing"});
DEVIATION(nd_consumer_gives_too_many_buffers, "networkdirect.consumer.buffer-count", Product::nd_consumer,
          "gives a request too many buffers", Departs{"post.too_many_sges"});
DEVIATION(nd_consumer_changes_buffers, "networkdirect.consumer.buffer-unchanged", Product::nd_consumer,
          "changes the buffer of a Send that is on its way", Departs{"post.buffer_changed"});
DEVIATION(nd_consumer_turns_tokens_round, "networkdirect.consumer.remote-token", Product::nd_consumer, "gives remote tokens in host order",
          Departs{"post.token_in_host_order"});

}  // namespace fb::deviations
