// What a careless consumer of NetworkDirect does with memory windows.
#include "model/deviations/deviation.h"

namespace fb::deviations {

DEVIATION(nd_consumer_binds_in_empty_regions, "networkdirect.consumer.window-registered", Product::nd_consumer,
          "binds windows in regions without memory", Departs{"window.bound_unregistered"});
DEVIATION(nd_consumer_binds_beyond_regions, "networkdirect.consumer.window-range", Product::nd_consumer,
          "binds windows that are larger than their region", Departs{"window.beyond_region"});
DEVIATION(nd_consumer_opens_read_only_memory, "networkdirect.consumer.window-rights", Product::nd_consumer,
          "binds windows for writing in memory for reading", Departs{"window.write_unasked"});
DEVIATION(nd_consumer_grants_nothing, "networkdirect.consumer.window-grants", Product::nd_consumer, "binds windows without any right",
          Departs{"window.grants_nothing"});
DEVIATION(nd_consumer_binds_twice, "networkdirect.consumer.window-once", Product::nd_consumer, "binds a window twice",
          Departs{"window.bound_twice"});
DEVIATION(nd_consumer_invalidates_twice, "networkdirect.consumer.window-bound", Product::nd_consumer, "invalidates a window twice",
          Departs{"window.invalidated_unbound"});
DEVIATION(nd_consumer_invalidates_elsewhere, "networkdirect.consumer.window-own-pair", Product::nd_consumer,
          "invalidates windows on another queue pair", Departs{"window.invalidated_elsewhere"});
DEVIATION(nd_consumer_asks_window_tokens_early, "networkdirect.consumer.window-token", Product::nd_consumer,
          "asks for a window's token before it binds", Departs{"window.token_early"});
DEVIATION(nd_consumer_deregisters_under_windows, "networkdirect.consumer.deregister-bound", Product::nd_consumer,
          "deregisters regions in which a window is bound", Departs{"region.deregistered_with_window"});

}  // namespace fb::deviations
